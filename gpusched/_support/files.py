"""Atomic file replacement (temporary file, then rename)."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from typing import IO, Any


@contextlib.contextmanager
def replacing(path: str | os.PathLike[str], mode: str = "wb", **options: Any) -> Iterator[IO[Any]]:
    """Open a temporary file that replaces ``path`` when the block ends without an exception.

    The temporary file is in the same folder. On an exception or an interrupt it is removed, and an
    existing file at ``path`` is unchanged. Where ``path`` is a symbolic link, its target is
    replaced.

    Raises
    ------
    OSError
        A failed open or rename; the error names ``path``, not the temporary file.
    """
    target = os.path.realpath(path)
    unfinished = os.path.join(os.path.dirname(target), f".{os.urandom(16).hex()}.tmp")
    try:
        with _blaming(path):
            file = open(unfinished, mode.replace("w", "x"), **options)
        with file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        with _blaming(path):
            os.replace(unfinished, target)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(unfinished)
        raise


@contextlib.contextmanager
def _blaming(path: str | os.PathLike[str]) -> Iterator[None]:
    """Re-raise operating system errors of the block with ``path`` as their file name."""
    try:
        yield
    except OSError as error:
        raise OSError(error.errno, error.strerror, os.fspath(path)) from None
