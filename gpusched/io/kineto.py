"""Traces of the PyTorch profiler: Kineto's JSON, plain or in gzip.

Microseconds, whole or fractional, become nanoseconds exactly: numbers are read as decimals, never
as floats.
"""

from __future__ import annotations

import json
import math
from decimal import ROUND_HALF_EVEN, Context, Decimal
from typing import TYPE_CHECKING, Any, NoReturn, cast

from gpusched._support.text import shown
from gpusched.io.trace import INT64_MAX, Trace, column

if TYPE_CHECKING:
    from gpusched.model.gpu import GPU

# Older versions write the category with a capital letter.
_KERNEL = ("kernel", "Kernel")
_OTHER: dict[str, Any] = {}
_WIDE = Context(prec=60)


class File:
    """A file of this format, its content unpacked; a ValueError with the path for any other."""

    def __init__(self, source: str, data: bytes, packed: bool) -> None:
        self.source = source
        self.document = _load(source, data, packed)
        parts = self.document if isinstance(self.document, dict) else {}
        events = parts.get("traceEvents")
        if isinstance(parts.get("times"), list) and events is None:
            raise ValueError(
                f"{source}: a log of cuda_scheduling_examiner: gs.io.read_examiner reads it"
            )
        if not isinstance(events, list):
            raise ValueError(
                f"{source}: no list of traceEvents: not a trace of the PyTorch profiler"
            )
        self.events = events

    def launches(self) -> Trace:
        """The launches of all devices, in the order of the file."""
        rows = []
        for index, event in enumerate(self.events):
            if not isinstance(event, dict):
                where = f"{self.source}: traceEvents[{index}]"
                raise ValueError(f"{where} is {shown(event)}, not an object")
            if event.get("cat") in _KERNEL and event.get("ph") == "X":
                rows.append(_Event(self.source, index, event).row())
        if not rows:
            raise ValueError(f"{self.source}: no kernels among its {len(self.events)} events")
        names, *columns = zip(*rows, strict=True)
        return Trace(column(names, object), *map(column, columns))

    def gpu(self, device: int) -> GPU | None:
        """The GPU that the file describes as this device, None when it describes none at all."""
        return _described_gpu(self.source, self.document.get("deviceProperties"), device)


def like_json(data: bytes) -> bool:
    """Whether these bytes start as such a file does."""
    return data[:100].lstrip(b"\xef\xbb\xbf \t\r\n").startswith((b"{", b"["))


def _drop_others(value: dict[str, Any]) -> dict[str, Any]:
    """Events that are no kernels become one empty object while the file is parsed.

    They are nine in ten, and to keep them all would take several times the memory and the time.
    """
    return _OTHER if "ph" in value and value.get("cat") not in _KERNEL else value


def _load(source: str, data: bytes, packed: bool) -> Any:
    """The document, of its events only the kernels; decimals are exact."""
    inside = "the gzip holds no valid JSON" if packed else "not valid JSON"
    if not like_json(data):
        # Whoever reads a file of another kind needs to know what would have been right.
        inside = f"neither a trace of the PyTorch profiler nor of Nsight Systems: {inside}"
    try:
        text = data.decode("utf-8-sig")
        return json.loads(text, parse_float=Decimal, object_hook=_drop_others)
    except RecursionError:
        raise ValueError(f"{source}: {inside}: nested too deeply") from None
    except (ValueError, ArithmeticError) as error:
        # Text that stops early, that is no UTF-8, or a number beyond what Python converts.
        raise ValueError(f"{source}: {inside}: {str(error)[:200]}") from error


class _Event:
    """One kernel event while it is taken apart; knows how to say what is wrong with it."""

    def __init__(self, source: str, index: int, event: dict[str, Any]) -> None:
        self.source, self.index, self.event = source, index, event
        args = event.get("args")
        self.args: dict[str, Any] = args if isinstance(args, dict) else {}

    def row(self) -> tuple[Any, ...]:
        """The launch's entries in the order of Trace's arrays."""
        name = self.event.get("name")
        if not isinstance(name, str) or not name:
            self.fail("name", name, "must be the kernel's name")
        if not self.args:
            self.fail("args", self.event.get("args"), "must be an object with the kernel's data")
        start, duration = self.time("ts"), self.time("dur")
        if duration < 0:
            self.fail("dur", self.event["dur"], "must not be negative")
        if start + duration > INT64_MAX:
            self.fail("ts", self.event["ts"], "plus dur must fit in 64 bits of nanoseconds")
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
        """Microseconds as nanoseconds, exactly where the file has three decimals at most."""
        value = self.event.get(field)
        if isinstance(value, Decimal) and value.is_finite() and value.adjusted() < 30:
            # In a context of our own: the caller's may round to fewer digits.
            time = int(value.scaleb(3, _WIDE).to_integral_value(ROUND_HALF_EVEN, _WIDE))
        elif isinstance(value, int) and not isinstance(value, bool):
            time = value * 1000
        else:
            self.fail(field, value, "must be a time in microseconds")
        if abs(time) > INT64_MAX:
            self.fail(field, self.event[field], "must fit in 64 bits of nanoseconds")
        return time

    def integer(self, field: str, least: int = -INT64_MAX, absent: int | None = None) -> int:
        value = self.args.get(field)
        if value is None and absent is not None:
            return absent
        whole = _whole(value)
        if whole is None:
            self.fail(field, value, "must be an integer")
        if not least <= whole <= INT64_MAX:
            self.fail(field, value, f"must be at least {least} and fit in 64 bits")
        return whole

    def product(self, field: str) -> int:
        """The product of three positive integers: blocks of a grid, threads of a block."""
        value = self.args.get(field)
        sides = [_whole(v) for v in value] if isinstance(value, list) else []
        if len(sides) != 3 or any(side is None or side < 1 for side in sides):
            self.fail(field, value, "must be three positive integers")
        product = math.prod(cast(list[int], sides))
        if product > INT64_MAX:
            self.fail(field, value, "must have a product that fits in 64 bits")
        return product

    def fail(self, field: str, value: Any, rule: str) -> NoReturn:
        where = f"{self.source}: traceEvents[{self.index}], kernel {shown(self.event.get('name'))}"
        absent = value is None and field not in self.event and field not in self.args
        found = "is missing" if absent else f"is {shown(value)}"
        raise ValueError(f"{where}: {field!r} {found}, {rule}")


def _described_gpu(source: str, properties: Any, device: int) -> GPU | None:
    """The GPU that the file describes, None when it describes none at all."""
    from gpusched.model.gpu import GPU

    if not properties:
        return None
    if not isinstance(properties, list) or not all(isinstance(p, dict) for p in properties):
        raise ValueError(f"{source}: deviceProperties is no list of objects: give gpu=")
    ids = [_whole(p.get("id", position)) for position, p in enumerate(properties)]
    if device not in ids:
        raise ValueError(f"{source}: deviceProperties lacks device {device}: give gpu=")
    try:
        return GPU.from_properties(properties[ids.index(device)])
    except (ValueError, TypeError, OverflowError) as error:
        raise ValueError(f"{source}: device {device}: {error}: give gpu=") from error


def _whole(value: Any) -> int | None:
    """A JSON number that is an integer (also written as 256.0), or None."""
    if isinstance(value, Decimal) and value.is_finite() and value.adjusted() < 30:
        return int(value) if value == value.to_integral_value() else None
    return value if isinstance(value, int) and not isinstance(value, bool) else None
