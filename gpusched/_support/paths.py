"""Paths as arguments: their check, the process's own descriptors, and the name in errors."""

from __future__ import annotations

import contextlib
import os
import re
from collections.abc import Iterator

from gpusched._support.text import named, shown

__all__ = ["blaming", "own_descriptor", "path_text"]

_DESCRIPTOR = re.compile(rf"/(?:dev|proc/(?:self|thread-self|{os.getpid()}))/fd/([0-9]{{1,9}})")
_MOST_LINKS = 40  # as Linux follows
_SHOWN = 300  # characters of a path in a message


class _Path(str):
    """A path that is long or has control characters, which a message shows cut and escaped."""

    def __format__(self, spec: str) -> str:
        return format(named(self, _SHOWN), spec)

    def __repr__(self) -> str:  # in an OSError
        return shown(str(self), _SHOWN)


def path_text(path: str | os.PathLike[str], name: str = "path") -> str:
    """``path`` as a string, which an f-string shows cut and with its control characters escaped.

    Raises ``TypeError`` when it is not a string or an ``os.PathLike``, and ``ValueError`` for one
    with a null character or with one that names of files cannot have.
    """
    try:
        text = os.fsdecode(path)
    except TypeError:
        raise TypeError(f"{name}: got {shown(path)}, expected the path of a file") from None
    if "\0" in text:
        raise ValueError(f"{name}: got {shown(text)}, expected a path without a null character")
    try:
        os.fsencode(text)
    except UnicodeEncodeError:
        raise ValueError(
            f"{name}: got {shown(text)}, expected a path that this system can encode"
        ) from None
    return text if len(text) <= _SHOWN and text.isprintable() else _Path(text)


def own_descriptor(path: str) -> int | None:
    """N where ``path`` names descriptor N of this process, else None.

    Such names are /dev/stdin, /dev/stdout, /dev/stderr, /dev/fd/N and /proc/self/fd/N, and links
    to them.
    """
    for _ in range(_MOST_LINKS):
        if found := _DESCRIPTOR.fullmatch(os.path.abspath(path)):
            return int(found[1])
        try:
            path = os.path.join(os.path.dirname(path), os.readlink(path))
        except OSError:
            return None
    return None


@contextlib.contextmanager
def blaming(path: str) -> Iterator[None]:
    """Re-raise operating system errors of the block with ``path`` as their file name."""
    try:
        yield
    except OSError as error:
        raise OSError(error.errno, error.strerror or str(error), path) from None
