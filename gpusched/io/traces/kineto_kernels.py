"""Kernel events of Kineto's JSON as columns of launches."""

from __future__ import annotations

import math
from typing import Any, NoReturn, cast

import numpy as np

from gpusched._support.arguments import Int64Array
from gpusched._support.text import shown
from gpusched.io.traces.hip_launches import HipLaunches
from gpusched.io.traces.kineto_document import (
    ABSENT,
    INTEGER,
    PRODUCT,
    TEXT,
    THOUSANDTHS,
    Field,
)
from gpusched.io.traces.kineto_numbers import (
    correlation,
    distinct_pairs,
    integer_argument,
    nanoseconds,
    whole,
)
from gpusched.io.traces.trace_tables import INT64_MAX, Names, column

__all__ = ["KERNEL_CATEGORIES", "KERNEL_FIELDS", "Kernels"]

# Older versions write the category with a capital letter.
KERNEL_CATEGORIES = ("kernel", "Kernel")

_OCCUPANCY = "est. achieved occupancy %"
# The integers of a kernel, in the order of the columns of a launch.
_INTEGERS = ("registers per thread", "shared memory", "device", "context", "stream")
_NOT_NEGATIVE = 3  # of them
_NOT_OF_ROCM = ("registers per thread", "shared memory", "context")  # which ROCm does not write
_PRIORITY = "priority"  # of the stream, in newer versions
KERNEL_FIELDS = (
    Field(b"name", TEXT),
    Field(b"ts", THOUSANDTHS),
    Field(b"dur", THOUSANDTHS, 0),
    Field(b"args.grid", PRODUCT, 1),
    Field(b"args.block", PRODUCT, 1),
    *(
        Field(f"args.{key}".encode(), INTEGER, 0 if i < _NOT_NEGATIVE else -INT64_MAX)
        for i, key in enumerate(_INTEGERS)
    ),
    Field(f"args.{_OCCUPANCY}".encode(), INTEGER, 0, optional=True),
    Field(b"args.correlation", INTEGER, optional=True),
    Field(f"args.{_PRIORITY}".encode(), INTEGER, optional=True),
)


class Kernels:
    """Kernels in the order in which they were added, which need not be that of the file."""

    def __init__(self, source: str) -> None:
        self.source = source
        self.known: dict[str, str] = {}
        self.names: list[Names] = []
        self.parts: list[Int64Array] = []  # index in the file, launch, correlation number
        self.without_grid: list[tuple[int, str, int]] = []  # index, name, duration
        self.seen: dict[tuple[int, int], tuple[int, int]] = {}  # by context and stream, the first
        self.amd = ""  # the kind of the first kernel that ROCm recorded
        self.launches = HipLaunches()
        self.shapeless: list[tuple[int, dict[str, Any]]] = []  # whose calls may know the grid

    def add(self, index: int, event: dict[str, Any]) -> None:
        """Add a decoded event; ``ValueError`` with file, event and field for a damaged one."""
        kernel = _Event(self.source, index, event)
        if kernel.shapeless:
            self.shapeless.append((index, event))
        else:
            self._put(index, kernel)

    def _put(self, index: int, kernel: _Event) -> None:
        self.amd = self.amd or kernel.amd
        name, *row = kernel.row()
        if (priority := integer_argument(kernel.args, _PRIORITY)) is not None:
            self._see((row[-3], row[-2]), (index, priority))
        self.names.append(column([self.known.setdefault(name, name)], object))
        self.parts.append(np.array([[index, *row, correlation(kernel.args)]], np.int64).T)

    def add_shapeless(self, index: int, event: dict[str, Any]) -> None:
        """Add a kernel without a grid: with that of its launch call, or with no blocks and threads.

        ``ValueError`` as by ``add``.
        """
        kernel = _Event(self.source, index, self.launches.completed(event) or event)
        self._put(index, kernel)
        if kernel.shapeless:
            self.without_grid.append((index, self.names[-1][0], int(self.parts[-1][2, 0])))

    def add_columns(self, *values: *tuple[Int64Array, *tuple[Any, ...]]) -> None:
        """Add events: places in the file, the values of ``KERNEL_FIELDS``, the texts."""
        place, name, *numbers, occupancy, call, priority, texts = values
        if not len(place):
            return
        names = np.array([self.known.setdefault(text, text) for text in texts], object)
        self.names.append(names[name])
        calls = np.maximum(call, -1)
        self.parts.append(np.array([place, *numbers, np.maximum(occupancy, -1), calls]))
        has = priority != ABSENT
        context, stream, place, priority = (v[has] for v in (*numbers[-2:], place, priority))
        for i in distinct_pairs(context, stream)[0].tolist():
            self._see((int(context[i]), int(stream[i])), (int(place[i]), int(priority[i])))

    def _see(self, stream: tuple[int, int], found: tuple[int, int]) -> None:
        self.seen[stream] = min(self.seen.get(stream, found), found)

    def __bool__(self) -> bool:
        return bool(self.parts)

    def priorities(self) -> dict[tuple[int, int], int]:
        """Priorities of streams by context and stream, where kernels tell them."""
        return {stream: priority for stream, (_, priority) in self.seen.items()}

    def table(self) -> tuple[Any, ...]:
        """Names and columns of a launch and correlation numbers, in the order of the file."""
        indices, *columns = np.concatenate(self.parts, axis=1)
        names = np.concatenate(self.names)
        order = np.argsort(indices, kind="stable")
        return (column(names[order], object), *(column(values[order]) for values in columns))


class _Event:
    """One kernel event. Errors name the file, the event, the kernel and the field."""

    def __init__(self, source: str, index: int, event: dict[str, Any]) -> None:
        self.source, self.index, self.event = source, index, event
        args = event.get("args")
        self.args: dict[str, Any] = args if isinstance(args, dict) else {}
        kind = self.args.get("kind")
        shape = self.args.get("grid"), self.args.get("block")
        self.shapeless = bool(self.args) and None in shape
        self.amd = ""  # the kind of a kernel of ROCm
        if isinstance(kind, str) and kind.startswith("Dispatch "):
            self.amd = kind if self.args.get("registers per thread") is None else ""

    def row(self) -> tuple[Any, ...]:
        """Entries of the launch, in the order of the arrays of ``Trace``."""
        name = self.event.get("name")
        if not isinstance(name, str) or not name:
            self.fail("name", name, "the kernel's name")
        if not self.args:
            self.fail("args", self.event.get("args"), "an object with the kernel's data")
        start, duration = self.time("ts"), self.time("dur")
        if duration < 0:
            self.fail("dur", self.event["dur"], "a non-negative number")
        if start + duration > INT64_MAX:
            self.fail("ts", self.event["ts"], "a time that, with dur, fits 64 bits of ns")
        return (
            name,
            start,
            duration,
            0 if self.shapeless else self.product("grid"),
            0 if self.shapeless else self.product("block"),
            *(
                self.integer(field, 0 if i < _NOT_NEGATIVE else -INT64_MAX, self.absent(field))
                for i, field in enumerate(_INTEGERS)
            ),
            self.integer(_OCCUPANCY, 0, absent=-1),
        )

    def absent(self, field: str) -> int | None:
        """The value of an integer that the event lacks; None where it must not."""
        return 0 if (self.amd or self.shapeless) and field in _NOT_OF_ROCM else None

    def time(self, field: str) -> int:
        """Microseconds as nanoseconds; exact for up to three decimals, else rounded."""
        time = nanoseconds(self.event.get(field))
        if time is None:
            self.fail(field, self.event.get(field), "a time in microseconds")
        if abs(time) > INT64_MAX:
            self.fail(field, self.event[field], "a time that fits 64 bits of ns")
        return time

    def integer(self, field: str, least: int, absent: int | None = None) -> int:
        """An integer of at least ``least``; ``absent`` when the event lacks the field."""
        value = self.args.get(field)
        if value is None and absent is not None:
            return absent
        number = whole(value)
        if number is None:
            self.fail(field, value, "an integer")
        if not least <= number <= INT64_MAX:
            self.fail(field, value, f"at least {least}, of 64 bits")
        return number

    def product(self, field: str) -> int:
        """The product of three positive integers: blocks of a grid, threads of a block."""
        value = self.args.get(field)
        sides = [whole(v) for v in value] if isinstance(value, list) else []
        if len(sides) != 3 or any(side is None or side < 1 for side in sides):
            self.fail(field, value, "three positive integers")
        product = math.prod(cast(list[int], sides))
        if product > INT64_MAX:
            self.fail(field, value, "numbers with a product that fits 64 bits")
        return product

    def fail(self, field: str, value: Any, what: str) -> NoReturn:
        """Raise a ``ValueError`` about a field; ``what`` is expected."""
        where = f"{self.source}: traceEvents[{self.index}], kernel {shown(self.event.get('name'))}"
        absent = value is None and field not in self.event and field not in self.args
        found = "nothing" if absent else shown(value)
        raise ValueError(f"{where}: {field!r}: got {found}, expected {what}")
