"""Reading of Kineto's JSON piece by piece: members of the document, needed events of its list.

The core finds where events begin and end and which are needed; the JSON library decodes these
alone. Memory is that of a piece, of the largest event (at most 512 MiB between two events), and of
what the taker keeps. Errors are those of decoding the whole text at once: a damaged text first,
then its JSON, then its events. Numbers are integers or exact decimals, never floats.
"""

from __future__ import annotations

import codecs
import json
from collections.abc import Iterable
from decimal import ROUND_HALF_EVEN, Context, Decimal
from typing import Any, NamedTuple, Protocol

import numpy as np

from gpusched import _core
from gpusched._support.arguments import Int64Array
from gpusched.io.traces.trace_tables import INT64_MAX

_WIDE = Context(prec=60)


def nanoseconds(value: Any) -> int | None:
    """Microseconds as nanoseconds, exact for up to three decimals, else rounded.

    None for what is not a number, or one of 30 digits or more.
    """
    if isinstance(value, Decimal) and value.is_finite() and value.adjusted() < 30:
        # With an explicit context: the caller's may round to fewer digits.
        return int(value.scaleb(3, _WIDE).to_integral_value(ROUND_HALF_EVEN, _WIDE))
    if isinstance(value, int) and not isinstance(value, bool):
        return value * 1000
    return None


def whole(value: Any) -> int | None:
    """A JSON number as an int when it is whole (256 or 256.0), else None."""
    if isinstance(value, Decimal) and value.is_finite() and value.adjusted() < 30:
        return int(value) if value == value.to_integral_value() else None
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def correlation(args: Any) -> int:
    """The number that a call and what it launched have in common; -1 without one."""
    number = integer_argument(args, "correlation")
    return -1 if number is None or number < 0 else number


def integer_argument(args: Any, field: str) -> int | None:
    """An integer of 64 bits among the arguments of an event; None for anything else."""
    value = whole(args.get(field)) if isinstance(args, dict) else None
    return value if value is not None and abs(value) <= INT64_MAX else None


def distinct_pairs(first: Int64Array, second: Int64Array) -> tuple[Int64Array, Int64Array]:
    """Places of the first of equal pairs of values, and the number of the pair of each row."""
    numbers = [np.unique(values, return_inverse=True)[1] for values in (first, second)]
    pairs = numbers[0] * (len(second) + 1) + numbers[1]
    _, place, pair = np.unique(pairs, return_index=True, return_inverse=True)
    return place, pair


_SPENT, _OPENED, _, _WRONG, _OTHER = range(5)  # reasons to stop, of csrc/io/event_scan.h
_START = 0
# Text that leads a parser to each place of csrc/io/event_scan.h.
_BEFORE = ("", "{", '{"":""', '{"":[', '{"":[""', "{}")
_AMONG_EVENTS = (3, 4)  # places
_MEMBERS = ("traceEvents", "times", "deviceProperties")  # that are kept
_SPACE = b" \t\r\n"
_MOST_HELD = 1 << 29
_ERRORS = (ValueError, ArithmeticError, RecursionError)

_decode = json.JSONDecoder(parse_float=Decimal).decode


class NotJson(ValueError):
    """Text that is not UTF-8 or JSON, or that the JSON library refuses."""


# Kinds of fields, of csrc/io/event_scan.h; the value of a missing field that is optional.
TEXT, IDENTIFIER, THOUSANDTHS, INTEGER, PRODUCT = range(5)
ABSENT = -(2**63)


class Field(NamedTuple):
    """A field of an event, or of its arguments ("args.key"), that is at least a number."""

    key: bytes
    kind: int
    least: int = ABSENT + 1
    optional: bool = False


class Selection(NamedTuple):
    """Needed events: (category, beginning of the name, group), and the fields of each group."""

    wanted: tuple[tuple[bytes, bytes, int], ...]
    fields: tuple[tuple[Field, ...], ...]


class Taken(NamedTuple):
    """Needed events: those whose fields are regular by group, as columns, others whole.

    ``groups`` has the places in the list and the values of each field. Texts are numbers of an
    entry of ``texts``. ``whole`` has ranges of ``data``, and places in the list.
    """

    data: bytes
    whole: tuple[Int64Array, Int64Array, Int64Array]
    groups: tuple[tuple[Int64Array, ...], ...]
    texts: list[Any]


class Taker(Protocol):
    """Receiver of events."""

    def opened(self) -> None:
        """A list of events begins; an earlier one does not count."""

    def take(self, taken: Taken) -> None:
        """Further events."""


def decoded(taken: Taken) -> list[Any]:
    """The events that were taken whole, decoded at the depth that they have in the document."""
    ranges = zip(*(places.tolist() for places in taken.whole[:2]), strict=True)
    text = b",".join([taken.data[begin:end] for begin, end in ranges])
    return _listed(text)


def _listed(text: bytes) -> list[Any]:
    """The values between commas."""
    values: list[Any] = _decode(f'{{"":[{text.decode()}]}}')[""]
    return values


def read_document(pieces: Iterable[bytes], selection: Selection, taker: Taker) -> tuple[Any, int]:
    """The document with an empty list in the place of its events, and their number.

    Of an object, the members "traceEvents", "times" and "deviceProperties" are kept.

    Parameters
    ----------
    pieces
        Bytes, of which the first piece has at least 3 unless there are fewer.
    selection
        The needed events.
    taker
        Gets them in the order of the file.

    Raises
    ------
    NotJson
        The message is what the JSON library says about the whole text.
    """
    text = _Text()
    document = _Document(selection, taker)
    error: Exception | None = None
    for piece in pieces:
        part = text.checked(piece)
        if text.error is None and error is None:
            error = document.fed(part, text.plain, False)
    text.end()
    if text.error is None and error is None:
        error = document.fed(b"", True, True)
    if text.error is not None:
        raise NotJson(text.error)
    if isinstance(error, RecursionError):
        raise NotJson("nested too deeply")
    if error is not None:
        raise NotJson(str(error)[:200]) from error
    return document.value, document.events


class _Text:
    """Check of UTF-8 piece by piece; ``error`` is the first one, in the words of Python."""

    def __init__(self) -> None:
        self.decoder = codecs.getincrementaldecoder("utf-8")()
        self.begun = False
        self.plain = True  # the last piece is ASCII
        self.taken = 0
        self.error: str | None = None

    def checked(self, piece: bytes) -> bytes:
        """The piece, without a byte order mark at the beginning."""
        if not self.begun:
            self.begun = True
            piece = piece.removeprefix(codecs.BOM_UTF8)
        self.plain = piece.isascii()
        if self.error is None and not (self.plain and self.decoder.getstate()[0] == b""):
            self._decode(piece, False)
        self.taken += len(piece)
        return piece

    def end(self) -> None:
        if self.error is None:
            self._decode(b"", True)

    def _decode(self, piece: bytes, final: bool) -> None:
        before = len(self.decoder.getstate()[0])
        try:
            self.decoder.decode(piece, final)
        except UnicodeDecodeError as error:
            start, end = (self.taken - before + at for at in (error.start, error.end))
            what = f"byte 0x{error.object[error.start]:02x} in position {start}"
            if end - start > 1:
                what = f"bytes in position {start}-{end - 1}"
            self.error = f"'utf-8' codec can't decode {what}: {error.reason}"


class _Document:
    """State of a scan between the pieces."""

    def __init__(self, selection: Selection, taker: Taker) -> None:
        self.selection, self.taker = selection, taker
        self.value: Any = {}
        self.place, self.events = _START, 0
        self.other: list[bytes] | None = None  # all pieces of what is not an object
        self.held: list[bytes] = []  # what was not taken yet
        self.plain = True  # all that is held is ASCII
        self.size = self.needed = 0
        # What was taken: characters, ends of lines, the character behind the last of these.
        self.characters = self.lines = self.line_start = 0

    def fed(self, piece: bytes, plain: bool, last: bool) -> Exception | None:
        """Take a further piece, `plain` when it is ASCII; the error of the JSON library, if any."""
        self.held.append(piece)
        self.plain = self.plain and plain
        self.size += len(piece)
        if self.size > _MOST_HELD:
            return ValueError(f"got a part of more than {_MOST_HELD >> 20} MiB, expected less")
        # A part that is not complete is scanned again only in twice as much.
        if self.size < self.needed and not last:
            return None
        data = b"".join(self.held)
        try:
            position = self._scan(data, last)
        except _ERRORS as error:
            return error
        rest = data[position:]
        kept = rest.lstrip(_SPACE) if self.other is None else b""
        if blank := len(rest) - len(kept):
            lines = rest.count(b"\n", 0, blank)
            self._count(rest, 0, blank, lines, rest.rfind(b"\n", 0, blank) + 1)
        self.held = [kept]
        self.plain = self.plain or kept.isascii()
        self.size = len(kept) + sum(map(len, self.other or ()))
        self.needed = 2 * self.size
        return None

    def _scan(self, data: bytes, last: bool) -> int:
        if self.other is not None:
            return self._collect(data, last)
        position: int = 0
        while True:
            before = self.place
            found = _core.event_scan(data, before, position, self.events, *self.selection, last)
            reason, self.place, after, self.events, lines, line, whole, groups, texts = found
            self._deliver(before, data, whole, groups, texts)
            if reason == _OTHER:
                self.other = []
                return self._collect(data, last)
            self._count(data, position, after, lines, line)
            position = after
            if reason == _WRONG:
                self._refuse(data, position)
            if reason == _SPENT:
                return position
            if reason == _OPENED:
                self.value["traceEvents"] = []
                self.taker.opened()

    def _deliver(
        self,
        place: int,
        data: bytes,
        whole: tuple[Int64Array, Int64Array, Int64Array],
        groups: tuple[tuple[Int64Array, ...], ...],
        texts: bytes,
    ) -> None:
        if place in _AMONG_EVENTS:
            if any(len(places) for places, *_ in (whole, *groups)):
                self.taker.take(Taken(data, whole, groups, _listed(texts)))
            return
        for begin, end in zip(*(places.tolist() for places in whole[:2]), strict=True):
            member = _decode(f"{{{data[begin:end].decode()}}}")
            self.value |= {key: value for key, value in member.items() if key in _MEMBERS}

    def _collect(self, data: bytes, last: bool) -> int:
        """Keep what is not an object to its end, and decode it as a whole."""
        assert self.other is not None
        self.other.append(data)
        if last:
            text = b"".join(self.other).decode()
            self.value = json.loads(text, parse_float=Decimal)
        return len(data)

    def _count(self, data: bytes, position: int, after: int, lines: int, line: int) -> None:
        if lines:
            self.lines += lines
            self.line_start = self.characters + self._characters(data, position, line)
        self.characters += self._characters(data, position, after)

    def _characters(self, data: bytes, begin: int, end: int) -> int:
        return end - begin if self.plain else len(data[begin:end].decode())

    def _refuse(self, data: bytes, position: int) -> None:
        """Raise the error of the JSON library for what follows the position."""
        before = _BEFORE[self.place]
        rest = data[position:].decode(errors="ignore")  # the end may cut a character
        try:
            _decode(before + rest)
        except json.JSONDecodeError as error:
            at = error.pos - len(before)
            line = self.lines + rest.count("\n", 0, at) + 1
            start = rest.rfind("\n", 0, at)
            column = at - start if start >= 0 else self.characters + at - self.line_start + 1
            place = f"line {line} column {column} (char {self.characters + at})"
            raise ValueError(f"{error.msg}: {place}") from None
        raise ValueError(f"malformed text behind character {self.characters}")
