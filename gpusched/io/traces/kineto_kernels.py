"""Kernel events of Kineto's JSON as columns of launches."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from typing import Any, NoReturn, cast

import numpy as np

from gpusched._support.arguments import Int64Array
from gpusched._support.text import shown
from gpusched.io.traces.hip_launches import HipLaunches
from gpusched.io.traces.kineto_document import Rows
from gpusched.io.traces.kineto_numbers import (
    correlation,
    decoded_column,
    integer_argument,
    integers,
    nanosecond_column,
    nanoseconds,
    whole,
)
from gpusched.io.traces.trace_tables import INT64_MAX, column

__all__ = ["KERNEL_CATEGORIES", "KERNEL_FIELDS", "Kernels"]

# Older versions write the category with a capital letter.
KERNEL_CATEGORIES = ("kernel", "Kernel")

_OCCUPANCY = "est. achieved occupancy %"
# The integers of a kernel, in the order of the columns of a launch.
_INTEGERS = ("registers per thread", "shared memory", "device", "context", "stream")
_NOT_NEGATIVE = 3  # of them
_NOT_OF_ROCM = ("registers per thread", "shared memory", "context")  # which ROCm does not write
_PRIORITY = "priority"  # of the stream, in newer versions
_ARGUMENTS = ("grid", "block", _PRIORITY, *_INTEGERS, _OCCUPANCY, "correlation")
KERNEL_FIELDS = tuple(
    field.encode() for field in ("name", "ts", "dur", *(f"args.{key}" for key in _ARGUMENTS))
)


class Kernels:
    """Kernels in the order in which they were added, which need not be that of the file."""

    def __init__(self, source: str) -> None:
        self.source = source
        self.names: list[str] = []
        self.known: dict[str, str] = {}
        self.parts: list[Int64Array] = []  # index in the file, launch, correlation number
        self.without_grid: list[tuple[int, str, int]] = []  # index, name, duration
        self.priorities: dict[tuple[int, int], int] = {}  # by context and stream
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
            self.priorities.setdefault((row[-3], row[-2]), priority)
        self.names.append(self.known.setdefault(name, name))
        self.parts.append(np.array([[index, *row, correlation(kernel.args)]], np.int64).T)

    def add_shapeless(self, index: int, event: dict[str, Any]) -> None:
        """Add a kernel without a grid: with that of its launch call, or with no blocks and threads.

        ``ValueError`` as by ``add``.
        """
        kernel = _Event(self.source, index, self.launches.completed(event) or event)
        self._put(index, kernel)
        if kernel.shapeless:
            self.without_grid.append((index, self.names[-1], int(self.parts[-1][2, 0])))

    def add_columns(self, rows: Rows) -> bool:
        """Add events by their fields, when all are regular; else none is added."""
        name, ts, dur, *rest = rows.texts
        names, grid, block, priority, *others = map(decoded_column, (name, *rest))
        if not (set(map(type, names)) <= {str} and all(names)):
            return False
        start, duration = nanosecond_column(ts), nanosecond_column(dur)
        if start is None or duration is None:
            return False
        numbers = [integers(values) for values in others[:-2]]
        reported, calls = (_integers_or_none(values) for values in others[-2:])
        known = [_products(grid), _products(block), *numbers, reported, calls]
        table = [values for values in known if values is not None]
        if len(table) < len(known) or not _in_range(start, duration, table[2:-2]):
            return False
        if np.min(table[-2]) < 0 and any(value is not None and value < 0 for value in others[-2]):
            return False
        if any(value is not None for value in priority):
            for *where, value in set(zip(others[3], others[4], map(whole, priority), strict=True)):
                if value is not None and abs(value) <= INT64_MAX:
                    self.priorities.setdefault((where[0], where[1]), value)
        self.names += map(self.known.setdefault, names, names)
        table[-1] = np.maximum(table[-1], -1)
        self.parts.append(np.array([rows.place, start, duration, *table]))
        return True

    def __len__(self) -> int:
        return len(self.names)

    def table(self) -> tuple[Any, ...]:
        """Names and columns of a launch and correlation numbers, in the order of the file."""
        indices, *columns = np.concatenate(self.parts, axis=1)
        names = np.empty(len(self.names), dtype=object)
        names[:] = self.names
        order = np.argsort(indices, kind="stable")
        return (column(names[order], object), *(column(values[order]) for values in columns))


def _in_range(start: Int64Array, duration: Int64Array, numbers: list[Int64Array]) -> bool:
    """True when times and the integers of kernels are such that `_Event` takes them."""
    least = [np.min(values) for values in numbers]
    return bool(
        min(np.min(start), *least) >= -INT64_MAX
        and min(np.min(duration), *least[:_NOT_NEGATIVE]) >= 0
        and not np.any(start > INT64_MAX - duration)
    )


def _integers_or_none(values: Sequence[Any]) -> Int64Array | None:
    """The values, with -1 for None; None unless the others are ints of 64 bits."""
    return integers([-1 if value is None else value for value in values])


def _products(values: Sequence[Any]) -> Int64Array | None:
    """Products of three positive integers each; None where one is something else."""
    if set(map(type, values)) != {list} or set(map(len, values)) != {3}:
        return None
    flat = integers(list(itertools.chain.from_iterable(values)))
    if flat is None or np.min(flat) < 1:
        return None
    sides = flat.reshape(-1, 3)
    if np.max(np.multiply.reduce(sides.astype(float), axis=1)) >= 2.0**62:
        return None
    product: Int64Array = np.multiply.reduce(sides, axis=1)
    return product


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
