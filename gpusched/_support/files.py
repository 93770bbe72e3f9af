"""Files that are whole or not there: written beside their place and then moved into it."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from typing import IO, Any


@contextlib.contextmanager
def replacing(path: str | os.PathLike[str], mode: str = "wb", **options: Any) -> Iterator[IO[Any]]:
    """A new file to write to, which replaces ``path`` when the block ends without an exception.

    It is written under another name in the same folder. When anything fails (also an interrupt)
    it is removed, and a file that was there stays as it was. Where ``path`` is a link, what it
    points to is replaced. Raises OSError that names ``path``, not the file beside it.
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
    """Operating system errors inside the block are about ``path``."""
    try:
        yield
    except OSError as error:
        raise OSError(error.errno, error.strerror, os.fspath(path)) from None
