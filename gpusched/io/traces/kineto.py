"""Traces of the PyTorch profiler: Kineto's JSON, plain or compressed with gzip.

Microseconds, whole or fractional, are converted to nanoseconds exactly: numbers are read as
decimals, never as floats.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from decimal import Decimal
from typing import TYPE_CHECKING, Any, NoReturn, cast

import numpy as np

from gpusched._support.arguments import Int64Array
from gpusched._support.text import shown
from gpusched.io.traces.kineto_events import KinetoEvent, beside_kernels, correlation, kept_event
from gpusched.io.traces.kineto_numbers import nanoseconds, whole
from gpusched.io.traces.trace import Trace
from gpusched.io.traces.trace_events import NO_CALL, TraceEvents
from gpusched.io.traces.trace_tables import INT64_MAX, column

if TYPE_CHECKING:
    from gpusched.model.gpu import GPU

# Older versions write the category with a capital letter.
_KERNEL = ("kernel", "Kernel")
_OTHER: dict[str, Any] = {}


class File:
    """Content of such a file, uncompressed; ``ValueError`` with the path for another format."""

    def __init__(self, source: str, data: bytes, packed: bool) -> None:
        self.source = source
        self.backward: set[tuple[Any, Any]] = set()  # process and thread of backward passes
        self.document = _load(source, data, packed, self._drop_others)
        parts = self.document if isinstance(self.document, dict) else {}
        events = parts.get("traceEvents")
        if isinstance(parts.get("times"), list) and events is None:
            raise ValueError(
                f"{source}: got a log of cuda_scheduling_examiner, expected a trace (read it with "
                "gs.io.read_examiner)"
            )
        if not isinstance(events, list):
            raise ValueError(
                f"{source}: got JSON without a list of traceEvents, expected a trace of the "
                "PyTorch profiler"
            )
        self.events = events

    def launches(self) -> Trace:
        """The launches of all devices, in the order of the file."""
        rows, numbers = [], []
        for index, event in enumerate(self.events):
            if isinstance(event, KinetoEvent):
                continue
            if not isinstance(event, dict):
                where = f"{self.source}: traceEvents[{index}]"
                raise ValueError(f"{where}: got {shown(event)}, expected an object")
            if event.get("cat") in _KERNEL and event.get("ph") == "X":
                kernel = _Event(self.source, index, event)
                rows.append(kernel.row())
                numbers.append(correlation(kernel.args))
        if not rows:
            raise ValueError(
                f"{self.source}: got no kernels among {len(self.events)} events, expected at least "
                "one"
            )
        names, *columns = zip(*rows, strict=True)
        launched: Int64Array = column(numbers)
        try:
            self.beside, calls = beside_kernels(self.source, self.events, launched, self.backward)
            call = calls.of(launched)
        except ValueError as error:
            self.beside, call = TraceEvents(missing=str(error)), np.full(len(rows), NO_CALL)
        return Trace(column(names, object), *[*map(column, columns), column(call)])

    def beside_kernels(self) -> TraceEvents:
        """The events beside the kernels, once these are read; the reason where there are none."""
        return self.beside

    def gpu(self, device: int) -> GPU | None:
        """The GPU that the file describes as this device; None when it describes no device."""
        return _described_gpu(self.source, self.document.get("deviceProperties"), device)

    def _drop_others(self, value: dict[str, Any]) -> Any:
        """Replace other events than kernels by the needed fields while the file is parsed.

        They are about nine in ten events, most of which are not needed; keeping them would take
        several times the memory.
        """
        if "ph" in value and value.get("cat") not in _KERNEL:
            return kept_event(value, self.backward) or _OTHER
        return value


def like_json(data: bytes) -> bool:
    """True when the bytes start as JSON does."""
    return data[:100].lstrip(b"\xef\xbb\xbf \t\r\n").startswith((b"{", b"["))


def _load(source: str, data: bytes, packed: bool, hook: Callable[[dict[str, Any]], Any]) -> Any:
    """The document, with the events that are needed and exact decimals."""
    inside = "expected JSON in the gzip" if packed else "expected JSON"
    if not like_json(data):
        inside += " of the PyTorch profiler, or a trace of Nsight Systems"
    try:
        text = data.decode("utf-8-sig")
        return json.loads(text, parse_float=Decimal, object_hook=hook)
    except RecursionError:
        raise ValueError(f"{source}: {inside}: nested too deeply") from None
    except (ValueError, ArithmeticError) as error:
        # Truncated text, text that is not UTF-8, or a number with too many digits for Python.
        raise ValueError(f"{source}: {inside}: {str(error)[:200]}") from error


class _Event:
    """One kernel event. Errors name the file, the event, the kernel and the field."""

    def __init__(self, source: str, index: int, event: dict[str, Any]) -> None:
        self.source, self.index, self.event = source, index, event
        args = event.get("args")
        self.args: dict[str, Any] = args if isinstance(args, dict) else {}

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
            self.product("grid"),
            self.product("block"),
            self.integer("registers per thread", 0),
            self.integer("shared memory", 0),
            self.integer("device", 0),
            self.integer("context"),
            self.integer("stream"),
            self.integer("est. achieved occupancy %", 0, absent=-1),
        )

    def time(self, field: str) -> int:
        """Microseconds as nanoseconds; exact for up to three decimals, else rounded."""
        time = nanoseconds(self.event.get(field))
        if time is None:
            self.fail(field, self.event.get(field), "a time in microseconds")
        if abs(time) > INT64_MAX:
            self.fail(field, self.event[field], "a time that fits 64 bits of ns")
        return time

    def integer(self, field: str, least: int = -INT64_MAX, absent: int | None = None) -> int:
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


def _described_gpu(source: str, properties: Any, device: int) -> GPU | None:
    """The GPU that the file describes as ``device``; None when it describes no device."""
    from gpusched.model.gpu import GPU

    if not properties:
        return None
    if not isinstance(properties, list) or not all(isinstance(p, dict) for p in properties):
        raise ValueError(
            f"{source}: deviceProperties: got {shown(properties)}, expected a list of objects "
            "(or give gpu=)"
        )
    ids = [whole(p.get("id", position)) for position, p in enumerate(properties)]
    if device not in ids:
        raise ValueError(
            f"{source}: deviceProperties: got devices {shown(ids)}, expected device {device} "
            "(or give gpu=)"
        )
    try:
        return GPU.from_properties(properties[ids.index(device)])
    except (ValueError, TypeError, OverflowError) as error:
        raise ValueError(f"{source}: device {device}: {error} (or give gpu=)") from error
