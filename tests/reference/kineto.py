"""Kineto's JSON read at once: the slow twin of ``gpusched.io.traces.kineto``.

The JSON library decodes the whole text, and every event is looked at one by one, in the order of
the file.
"""

from __future__ import annotations

import gzip
import json
import math
from decimal import Decimal
from typing import Any, NoReturn

from gpusched._support.text import shown
from gpusched.io.traces.kineto_document import nanoseconds, whole
from gpusched.io.traces.trace_tables import (
    COPY_IN,
    COPY_ON_DEVICE,
    COPY_OTHER,
    COPY_OUT,
    MEMSET,
    OF_STREAM,
    OF_THREAD,
)

INT64_MAX = 2**63 - 1
KERNEL = ("kernel", "Kernel")
CALLS = ("cuda_runtime", "Runtime", "cuda_driver", "hip_runtime")
HIP = ("cuda_runtime", "hip_runtime")
HIP_LAUNCHES = ("hipLaunch", "hipExt", "hipModuleLaunch", "hipHcc")
COPIES = ("gpu_memcpy", "Memcpy")
MEMSETS = ("gpu_memset", "Memset")
ON_CPU, ON_GPU = "user_annotation", "gpu_user_annotation"
OPERATORS = ("cpu_op", "Operator")
STEP, BACKWARD = "ProfilerStep#", "autograd::engine::evaluate_function"
DIRECTIONS = {"HtoD": COPY_IN, "DtoH": COPY_OUT, "DtoD": COPY_ON_DEVICE}
INTEGERS = ("registers per thread", "shared memory", "device", "context", "stream")


def read(source: str, data: bytes) -> dict[str, Any]:
    """Lists of launches, calls, ranges and transfers, before they are sorted or linked.

    Raises the ``ValueError`` of ``File.launches``, except for what is no trace at all.
    """
    packed = data.startswith(b"\x1f\x8b")
    if not data:
        raise ValueError(f"{source}: got an empty file, expected a trace")
    inside = "expected JSON in the gzip" if packed else "expected JSON"
    if packed:
        data = gzip.decompress(data)
    if not data.strip():
        raise ValueError(f"{source}: got nothing but blanks, expected a trace")
    if not data[:100].lstrip(b"\xef\xbb\xbf \t\r\n").startswith((b"{", b"[")):
        inside += " of the PyTorch profiler, or a trace of Nsight Systems"
    try:
        document = json.loads(data.decode("utf-8-sig"), parse_float=Decimal)
    except RecursionError:
        raise ValueError(f"{source}: {inside}: nested too deeply") from None
    except (ValueError, ArithmeticError) as error:
        raise ValueError(f"{source}: {inside}: {str(error)[:200]}") from error
    parts = document if isinstance(document, dict) else {}
    events = parts.get("traceEvents")
    if isinstance(parts.get("times"), list) and events is None:
        raise ValueError(
            f"{source}: got a log of cuda_scheduling_examiner, expected a trace (read it with "
            "gs.io.read_examiner)"
        )
    if not isinstance(events, list):
        raise ValueError(
            f"{source}: got JSON without a list of traceEvents, expected a trace of the PyTorch "
            "profiler"
        )
    return {"deviceProperties": parts.get("deviceProperties"), **_launches(source, events)}


def _launches(source: str, events: list[Any]) -> dict[str, Any]:
    kernels, without = [], 0
    for index, event in enumerate(events):
        if not isinstance(event, dict):
            where = f"{source}: traceEvents[{index}]"
            raise ValueError(f"{where}: got {shown(event)}, expected an object")
        if event.get("cat") in KERNEL and event.get("ph") == "X":
            args = event.get("args")
            if isinstance(args, dict) and args and None in (args.get("grid"), args.get("block")):
                shapes = _shapes_of_calls(events, correlation(args))
                grid, block = shapes[0] if len(shapes) == 1 else (None, None)
                without += len(shapes) != 1
                event = {**event, "args": {**args, "grid": grid, "block": block}}
            one = _Event(source, index, event, "kernel")
            kernels.append((*one.kernel(), correlation(args)))
    if not kernels:
        raise ValueError(
            f"{source}: got no kernels among {len(events)} events, expected at least one"
        )
    beside = _Beside(source)
    try:
        for index, event in enumerate(events):
            beside.add(index, event)
        missing = ""
    except ValueError as error:
        beside, missing = _Beside(source), str(error)
    return {"kernels": kernels, "without": without, "missing": missing, **vars(beside)}


def _shapes_of_calls(events: list[Any], number: int) -> list[tuple[Any, Any]]:
    """Different pairs of grid and block in the calls of HIP with a correlation number."""
    shapes: list[tuple[Any, Any]] = []
    for event in events:
        if not isinstance(event, dict) or event.get("ph") != "X" or event.get("cat") not in HIP:
            continue
        name, args = event.get("name"), event.get("args")
        if not isinstance(name, str) or not name.startswith(HIP_LAUNCHES) or number < 0:
            continue
        if correlation(args) != number:
            continue
        shape = (args.get("grid"), args.get("block"))
        good = all(
            isinstance(sides, list)
            and len(sides) == 3
            and all(whole(side) is not None and whole(side) >= 1 for side in sides)
            for sides in shape
        )
        if good and shape not in shapes:
            shapes.append(shape)
    return shapes


class _Beside:
    """Calls, ranges and transfers; threads by the order of their first events."""

    def __init__(self, source: str) -> None:
        self.source = source
        self.threads: dict[tuple[Any, Any], int] = {}
        self.backward: set[tuple[Any, Any]] = set()
        self.calls: list[tuple[Any, ...]] = []
        self.ranges: list[tuple[Any, ...]] = []
        self.transfers: list[tuple[Any, ...]] = []
        self.unfinished = 0

    def add(self, index: int, event: dict[str, Any]) -> None:
        category, name, args = (event.get(key) for key in ("cat", "name", "args"))
        if not isinstance(category, str) or event.get("ph") != "X":
            return
        if category in OPERATORS and isinstance(name, str):
            key = (event.get("pid"), event.get("tid"))
            if name.startswith(BACKWARD) and all(isinstance(part, (int, str)) for part in key):
                self.backward.add(key)
            if name.startswith(STEP):
                category = ON_CPU
        one = _Event(self.source, index, event, category)
        if category in CALLS:
            waits, number = isinstance(name, str) and "ynchronize" in name, correlation(args)
            if number >= 0 or waits:
                start, duration = one.times()
                self.calls.append((start, start + duration, self.thread(one), waits, number))
        elif category in (ON_CPU, ON_GPU):
            if not isinstance(name, str) or not name:
                one.fail("name", name, "text")
            if any("\ud800" <= char <= "\udfff" for char in name):
                one.fail("name", name, "text that UTF-8 can encode")
            if event.get("dur") is None:
                self.unfinished += 1
                return
            start, duration = one.times()
            kind, place = OF_THREAD, None
            if category == ON_CPU:
                place = self.thread(one)
            else:
                kind, place = OF_STREAM, argument(args, "stream")
                if place is None and (place := whole(event.get("tid"))) is None:
                    one.fail("stream", event.get("tid"), "an integer")
            self.ranges.append((name, start, start + duration, place, kind, index))
        elif category in COPIES or category in MEMSETS:
            start, duration = one.times()
            kind = MEMSET if category in MEMSETS else COPY_OTHER
            if kind == COPY_OTHER and isinstance(name, str):
                kind = next((k for word, k in DIRECTIONS.items() if word in name), kind)
            where = [argument(args, key) or 0 for key in ("device", "context", "stream")]
            self.transfers.append((start, duration, kind, *where, correlation(args)))

    def thread(self, one: _Event) -> int:
        key = (one.event.get("pid"), one.event.get("tid"))
        for field, part in zip(("pid", "tid"), key, strict=True):
            if not isinstance(part, (int, str)):
                one.fail(field, part, "an integer or text")
        return self.threads.setdefault(key, len(self.threads))


class _Event:
    """One event; errors name file, event and field."""

    def __init__(self, source: str, index: int, event: dict[str, Any], kind: str) -> None:
        self.source, self.index, self.event, self.kind = source, index, event, kind
        args = event.get("args")
        self.args: dict[str, Any] = args if isinstance(args, dict) else {}

    def kernel(self) -> tuple[Any, ...]:
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
        blocks = threads = 0
        if self.args.get("grid") is None:  # nor a block, as of HIP graphs
            usual = {"registers per thread": 0, "shared memory": 0, "context": 0}
            self.args = usual | {key: v for key, v in self.args.items() if v is not None}
        else:
            blocks, threads = self.product("grid"), self.product("block")
        numbers = [self.integer(f, 0 if i < 3 else -INT64_MAX) for i, f in enumerate(INTEGERS)]
        occupancy = -1
        if self.args.get("est. achieved occupancy %") is not None:
            occupancy = self.integer("est. achieved occupancy %", 0)
        return name, start, duration, blocks, threads, *numbers, occupancy

    def time(self, field: str) -> int:
        time = nanoseconds(self.event.get(field))
        if time is None:
            self.fail(field, self.event.get(field), "a time in microseconds")
        if abs(time) > INT64_MAX:
            self.fail(field, self.event[field], "a time that fits 64 bits of ns")
        return time

    def times(self) -> tuple[int, int]:
        start, duration = (nanoseconds(self.event.get(field)) for field in ("ts", "dur"))
        for field, time in (("ts", start), ("dur", duration)):
            if time is None:
                self.fail(field, self.event.get(field), "a time in microseconds")
        assert start is not None and duration is not None
        if duration < 0:
            self.fail("dur", self.event["dur"], "a non-negative number")
        if max(abs(start), duration, start + duration) > INT64_MAX:
            self.fail("ts", self.event["ts"], "a time that, with dur, fits 64 bits of ns")
        return start, duration

    def integer(self, field: str, least: int) -> int:
        value = self.args.get(field)
        number = whole(value)
        if number is None and value is None and field in INTEGERS[:2] + INTEGERS[3:4]:
            kind = self.args.get("kind")
            rocm = isinstance(kind, str) and kind.startswith("Dispatch ")
            if rocm and self.args.get("registers per thread") is None:
                return 0
        if number is None:
            self.fail(field, value, "an integer")
        if not least <= number <= INT64_MAX:
            self.fail(field, value, f"at least {least}, of 64 bits")
        return number

    def product(self, field: str) -> int:
        value = self.args.get(field)
        sides = [whole(side) for side in value] if isinstance(value, list) else []
        if len(sides) != 3 or any(side is None or side < 1 for side in sides):
            self.fail(field, value, "three positive integers")
        product = math.prod(side for side in sides if side is not None)
        if product > INT64_MAX:
            self.fail(field, value, "numbers with a product that fits 64 bits")
        return product

    def fail(self, field: str, value: Any, what: str) -> NoReturn:
        name = shown(self.event.get("name"))
        where = f"{self.source}: traceEvents[{self.index}], {self.kind} {name}"
        absent = value is None
        if self.kind == "kernel":
            absent = absent and field not in self.event and field not in self.args
        found = "nothing" if absent else shown(value)
        raise ValueError(f"{where}: {field!r}: got {found}, expected {what}")


def correlation(args: Any) -> int:
    number = argument(args, "correlation")
    return -1 if number is None or number < 0 else number


def argument(args: Any, field: str) -> int | None:
    value = whole(args.get(field)) if isinstance(args, dict) else None
    return value if value is not None and abs(value) <= INT64_MAX else None
