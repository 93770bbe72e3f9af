"""Text of values and paths in pictures, tables and messages; paths as arguments."""

from __future__ import annotations

import contextlib
import os
import re
from collections.abc import Iterator, Sequence
from decimal import Decimal
from textwrap import wrap
from typing import Any

import numpy as np

UNITS = {"ns": 1, "us": 10**3, "µs": 10**3, "ms": 10**6, "s": 10**9}
"""Nanoseconds in a unit of time."""

TICKS = "<caption>times in ticks</caption>"
"""Caption of tables of times in HTML."""


def time_text(ns: int, digits: int) -> str:
    """A time in the largest unit in which it is 1 or more, such as 1.5 ms."""
    for unit in ("s", "ms", "us"):
        if ns >= UNITS[unit]:
            return f"{ns / UNITS[unit]:.{digits}g} {unit}"
    return f"{ns} ns"


def clip(text: str, length: int) -> str:
    """``text`` cut to ``length`` characters, with blanks for control characters."""
    return _printable(text if len(text) <= length else f"{text[: length - 1]}…")


def two_lines(text: str, length: int) -> list[str]:
    """``text`` in one or two lines of so many characters, as `clip` leaves them."""
    return [_printable(line) for line in wrap(text, length, max_lines=2, placeholder="…")]


def named(text: str, length: int = 60) -> str:
    """A name or a path in a message, cut after ``length``, its control characters escaped."""
    text = text if len(text) <= length else f"{text[:length]}..."
    return "".join(c if c.isprintable() else repr(c)[1:-1] for c in text)


def escape(text: str) -> str:
    """Text escaped for HTML, quotation marks included, with blanks for control characters."""
    import html

    return html.escape(text if text.isprintable() else "\n".join(map(_printable, text.split("\n"))))


def xml(text: str) -> str:
    """Text escaped for an SVG, with blanks for control characters (not allowed in XML)."""
    return escape(_printable(text))


def shown(value: Any, length: int = 60) -> str:
    """A value for an error message, cut after ``length`` characters."""
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, int) and value.bit_length() > 200:  # Python limits digits of str(int)
        return f"an integer of {value.bit_length()} bits"
    if isinstance(value, str):
        value = value[: length + 1]
    try:
        text = str(value) if isinstance(value, (int, float, Decimal)) else repr(value)
    except RecursionError:  # lists nested thousands deep
        text = f"a nested {type(value).__name__}"
    except ValueError:  # an integer in it has too many digits
        text = f"a {type(value).__name__} of long numbers"
    return text if len(text) <= length else f"{text[:length]}..."


def shown_names(names: Sequence[str], count: int = 5) -> str:
    """The first names for a message, and how many more there are."""
    more = len(names) - count
    text = ", ".join(shown(name) for name in names[:count])
    return f"{text} and {more} more" if more > 0 else text


def _printable(text: str) -> str:
    return text if text.isprintable() else "".join(c if c.isprintable() else " " for c in text)


def plural(count: int, noun: str) -> str:
    """A count with its noun."""
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


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
