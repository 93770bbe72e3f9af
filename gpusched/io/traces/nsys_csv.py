"""Traces of Nsight Systems: the CSV of ``nsys stats -r cuda_gpu_trace --format csv``.

Older versions call the report gputrace. Headers name the units, which depend on ``--timeunit`` and
the version; without a unit, times are ns and sizes bytes. Numbers are read as decimals, never as
floats. Sizes in MB have three decimals, so that shared memory is known to 500 bytes only: it is
taken as the multiple of 1,024 bytes that is written like this, or else of 128.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterator, Sequence
from decimal import ROUND_HALF_EVEN, Context, Decimal, InvalidOperation
from itertools import count, islice
from typing import TYPE_CHECKING, Any, cast

import numpy as np
from numpy.typing import NDArray

from gpusched._support.arguments import Int64Array
from gpusched._support.text import UNITS, shown
from gpusched.io.traces.nsys_sqlite import preset
from gpusched.io.traces.nsys_tables import Shapes
from gpusched.io.traces.trace import Trace
from gpusched.io.traces.trace_tables import INT64_MAX, NO_CALL, TraceEvents, column

if TYPE_CHECKING:
    from gpusched.model.gpu import GPU

_TIMES = {**UNITS, "μs": 10**3, "nsec": 1, "usec": 10**3, "msec": 10**6, "sec": 10**9}
_SIZES = {
    **{"b": 1, "byte": 1, "bytes": 1, "kb": 10**3, "mb": 10**6, "gb": 10**9},
    **{"kib": 2**10, "mib": 2**20, "gib": 2**30},
}
_SHAPE = ("GrdX", "GrdY", "GrdZ", "BlkX", "BlkY", "BlkZ")
_UNITS = {"Start": _TIMES, "Duration": _TIMES, "StcSMem": _SIZES, "DymSMem": _SIZES}
_NEEDED = (*_UNITS, *_SHAPE, "Reg/Trd", "Device", "Ctx", "Strm", "Name")
_UNIT = re.compile(r"\(([^()]*)\)$")  # at the end of a header
_NUMBER = re.compile(r"\((\d{1,9})\)$")  # at the end of a device's name
_EMPTY = ("", "-")
_DECIMALS = 3  # of a size that nsys has rounded
_MULTIPLES = (1024, 128)  # bytes; sizes of shared memory are usually multiples
_WIDE = Context(prec=60)
_CHUNK = 2048  # small enough for the processor's cache


def start(data: bytes) -> int | None:
    """Offset of the report's line of headers, after any lines of text; None without one."""
    at = data.find(b"GrdX")
    while at >= 0:
        line = data.rfind(b"\n", 0, at) + 1
        end = data.find(b"\n", at)
        names = {name.strip(b'"\r ') for name in data[line : None if end < 0 else end].split(b",")}
        if {b"GrdX", b"GrdY", b"BlkX", b"Name"} <= names:
            return line
        at = -1 if end < 0 else data.find(b"GrdX", end)
    return None


class File:
    """Content of such a file; ``start`` is the offset of its headers. Raises ``ValueError``."""

    def __init__(self, source: str, data: bytes, start: int) -> None:
        self.source, self.data, self.start = source, data, start
        self.above = data.count(b"\n", 0, start)
        self.names: dict[int, str] = {}
        self.rounded: dict[str, int] = {}  # sizes as written, and as taken

    def launches(self) -> Trace:
        """The launches of all devices, in the order of the file."""
        rows = self._rows()
        self._headers(next(rows, (0, []))[1])
        parts: dict[str, list[Any]] = {key: [] for key in (*_NEEDED, "line")}
        while chunk := list(islice(rows, _CHUNK)):
            lines, cells = zip(*chunk, strict=True)
            parts["line"].append(np.array(lines))
            columns = dict(zip(self.places, zip(*cells, strict=True), strict=True))
            for key in _NEEDED:
                convert = self._shared if key in ("Device", "Name") else self._numbers
                parts[key].append(convert(key, columns[key], lines))
        if not parts["line"]:
            raise ValueError(f"{self.source}: got a report without kernels, expected at least one")
        of = {key: np.concatenate(those) for key, those in parts.items()}

        shapes = Shapes(lambda i: self._where(int(of["line"][i])))
        for key in ("Start", "Duration", "Reg/Trd"):
            shapes.at_least(of[key], 0, key)
        late = of["Start"] > INT64_MAX - of["Duration"]
        shapes.refuse(late, of["Start"], "Start", "a time that, with Duration, fits 64 bits of ns")
        shapes.refuse(of["Name"] == "", of["Name"], "Name", "a name")
        return Trace(
            name=column(of["Name"], object),
            start=column(of["Start"]),
            duration=column(of["Duration"]),
            blocks=shapes.product({key: of[key] for key in _SHAPE[:3]}),
            threads=shapes.product({key: of[key] for key in _SHAPE[3:]}),
            regs=column(of["Reg/Trd"]),
            smem=shapes.sum({key: of[key] for key in ("StcSMem", "DymSMem")}),
            device=self._devices(of["Device"]),
            context=column(of["Ctx"]),
            stream=column(of["Strm"]),
            occupancy=column(np.full(len(of["Name"]), -1)),
            call=column(np.full(len(of["Name"]), NO_CALL)),
            notes=self._notes(),
        )

    def beside_kernels(self) -> TraceEvents:
        """No events, for a report has none."""
        reason = "got a report of kernels, expected the database of nsys export --type sqlite"
        return TraceEvents(missing=f"{self.source}: {reason}")

    def gpu(self, device: int) -> GPU | None:
        """The preset of the device's name; None when there is none."""
        return preset(self.names.get(device, ""))

    def _notes(self) -> tuple[str, ...]:
        taken = [f"{cell} as {size:,}" for cell, size in self.rounded.items()]
        if not taken:
            return ()
        return (
            "the report rounds sizes of shared memory, which are taken as multiples of 1,024 "
            f"bytes, or else of 128: {', '.join(taken[:4])}{', ...' if taken[4:] else ''} bytes "
            "(the database of nsys export --type sqlite has the exact sizes)",
        )

    def _rows(self) -> Iterator[tuple[int, list[str]]]:
        """Headers and rows of kernels, each with the number of its line."""
        stream = io.BytesIO(self.data)
        stream.seek(self.start)
        table = csv.reader(io.TextIOWrapper(stream, "utf-8-sig", newline=""), strict=True)
        blank = False
        try:
            head = next(table)
            yield self.above + table.line_num, head
            shape = [self.places[key] for key in _SHAPE]
            first = shape[0]
            for row in table:
                if len(row) == len(head):
                    if row[first] not in _EMPTY or any(row[i] not in _EMPTY for i in shape):
                        yield self.above + table.line_num, row
                    # The others are copies and memsets.
                elif not row:
                    blank = True
                elif blank:
                    break  # text that nsys prints after the report
                else:
                    what = f"got {len(row)} fields, expected {len(head)}"
                    raise ValueError(f"{self._where(self.above + table.line_num)}: {what}")
        except csv.Error as error:
            where = self._where(self.above + table.line_num)
            raise ValueError(f"{where}: expected CSV: {error}") from error
        except UnicodeDecodeError:
            try:
                self.data.decode()
            except UnicodeDecodeError as error:
                line = self.data.count(b"\n", 0, error.start) + 1
                raise ValueError(f"{self._where(line)}: expected UTF-8") from None
            raise

    def _headers(self, head: list[str]) -> None:
        """Set the index of each column, its unit and the factor of this."""
        self.units: dict[str, str] = {}
        self.places: dict[str, int] = {}
        self.worth: dict[str, int] = {}
        self.texts: dict[str, str] = {}
        where = self._where(self.above + 1)
        for i, cell in enumerate(head):
            name, unit = _parted(_UNIT, cell.strip())
            if self.places.setdefault(name, i) != i:
                name = f"{name} (column {i + 1})"  # each row's cells are found by these keys
                self.places[name] = i
            if name in _UNITS and unit is not None:
                worth = _UNITS[name].get(unit.strip().lower())
                if worth is None:
                    raise ValueError(
                        f"{where}: {name!r}: got the unit {shown(unit)}, expected one of "
                        f"{', '.join(_UNITS[name])}"
                    )
                self.worth[name], self.units[name] = worth, unit.strip()
        if missing := [key for key in _NEEDED if key not in self.places]:
            raise ValueError(f"{where}: got headers without {', '.join(missing)}")

    def _where(self, line: int) -> str:
        return f"{self.source}: line {line}"

    def _shared(self, _: str, cells: Sequence[str], __: Sequence[int]) -> NDArray[np.object_]:
        """A column of text; equal texts share one object."""
        texts = np.empty(len(cells), dtype=object)
        texts[:] = [self.texts.setdefault(cell, cell) for cell in cells]
        return texts

    def _numbers(self, key: str, cells: Sequence[str], lines: Sequence[int]) -> Int64Array:
        """A column of numbers, in ns, bytes or as counts."""
        worth = self.worth.get(key, 1)
        try:
            if worth == 1:
                return np.array(list(map(int, cells)), dtype=np.int64)
            return np.array([int(cell) * worth for cell in cells], dtype=np.int64)
        except (ValueError, OverflowError):
            known: dict[str, int] = {}
            for cell, line in zip(cells, lines, strict=True):
                if cell not in known:
                    known[cell] = self._number(key, cell, worth, self._where(line))
            return np.array([known[cell] for cell in cells], dtype=np.int64)

    def _number(self, key: str, cell: str, worth: int, where: str) -> int:
        try:
            value = Decimal(cell)
        except InvalidOperation:
            raise ValueError(f"{where}: {key!r}: got {shown(cell)}, expected a number") from None
        if not value.is_finite() or value.adjusted() >= 30:
            raise ValueError(f"{where}: {key!r}: got {shown(cell)}, expected a number of 64 bits")
        if key not in _UNITS and value != value.to_integral_value():
            raise ValueError(f"{where}: {key!r}: got {shown(cell)}, expected an integer")
        scaled = _WIDE.multiply(value, Decimal(worth))
        number = int(scaled.to_integral_value(ROUND_HALF_EVEN, _WIDE))
        rounded = _UNITS.get(key) is _SIZES and value.as_tuple().exponent == -_DECIMALS
        if rounded and number > 0:
            written, number = number, _plausible(number, worth // 10**_DECIMALS)
            if number != written:
                self.rounded[f"{cell} {self.units[key]}"] = number
        if abs(number) > INT64_MAX:
            raise ValueError(f"{where}: {key!r}: got {shown(cell)}, expected a number of 64 bits")
        return number

    def _devices(self, cells: NDArray[np.object_]) -> Int64Array:
        """Device numbers: the number at the end of a device's name, else the next free number."""
        number_of: dict[str, int] = {}
        bare = []
        for cell in dict.fromkeys(cells.tolist()):
            name, number = _parted(_NUMBER, cell)
            if number is None:
                bare.append(cell)
            else:
                number_of[cell] = int(number)
                self.names.setdefault(int(number), name)
        for cell in bare:
            number_of[cell] = next(n for n in count() if n not in self.names)
            self.names[number_of[cell]] = cell
        return cast(Int64Array, column([number_of[cell] for cell in cells.tolist()]))


def _parted(end: re.Pattern[str], cell: str) -> tuple[str, str | None]:
    """A cell without the end in parentheses, and what stands in these; None without such an end."""
    found = end.search(cell)
    return (cell, None) if found is None else (cell[: found.start()].rstrip(), found[1])


def _plausible(size: int, step: int) -> int:
    """The size that was rounded to a multiple of ``step`` bytes: the nearest one, within the
    rounding, that is a multiple of 1,024 bytes, or else of 128."""
    for multiple in _MULTIPLES:
        near = (2 * size + multiple) // (2 * multiple) * multiple
        if 2 * abs(near - size) <= step:
            return near
    return size
