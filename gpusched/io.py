"""Traces of real programs: which kernels ran, how large they are, how long they took.

    trace = gs.io.read_trace("step.pt.trace.json.gz")       # PyTorch profiler (Kineto)
    tasks = trace.choose(5).tasks()                         # five of its kernels as periodic tasks

Every time is an integer number of nanoseconds. A duration in a trace is what one launch took from
its first block's start to its last block's end, beside whatever else ran on the GPU meanwhile: it
is no execution time of the kernel alone, and never that of one of its blocks.
"""

from __future__ import annotations

import gzip
import html
import json
import math
import operator
import os
import re
import zlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields, replace
from decimal import ROUND_HALF_EVEN, Context, Decimal
from fractions import Fraction
from typing import TYPE_CHECKING, Any, NoReturn, SupportsIndex, TypeVar, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray

from gpusched._check import Int64Array, frozen

if TYPE_CHECKING:
    from gpusched.gpu import GPU
    from gpusched.tasks import KernelTasks

__all__ = [
    "OccupancyAgreement",
    "Trace",
    "TraceKernels",
    "harmonic_periods",
    "occupancy_agreement",
    "read_trace",
]

Names = NDArray[np.object_]

INT64_MAX = 2**63 - 1
LABEL_LENGTH = 40
PERIOD_STEP = 50_000
HYPERPERIOD_RATIO = 48

OPT_IN = "opt-in shared memory above 48 KiB: profiler reports 0"
NOT_REPORTED = "not reported"
DIFFERS = "differs"


@dataclass(frozen=True, eq=False, repr=False)
class Trace:
    """The kernel launches of one device, sorted by start: read-only arrays, one entry per launch.

    Attributes
    ----------
    name
        Full names of the kernels (object array of str).
    start, duration
        ns; ``start`` is on the file's own clock.
    blocks, threads
        Blocks of the grid, threads of one block.
    regs, smem
        Registers of one thread, bytes of shared memory of one block (static and dynamic).
    device, context, stream
        Where it ran; ``device`` is the same number everywhere.
    occupancy
        The profiler's "est. achieved occupancy %", -1 where the file has none.
    gpu
        The GPU, or None when the file does not describe it and none was given.
    source
        The path it was read from.
    """

    name: Names
    start: Int64Array
    duration: Int64Array
    blocks: Int64Array
    threads: Int64Array
    regs: Int64Array
    smem: Int64Array
    device: Int64Array
    context: Int64Array
    stream: Int64Array
    occupancy: Int64Array
    gpu: GPU | None = None
    source: str = ""

    def __len__(self) -> int:
        return len(self.name)

    def select(self, pattern: str | re.Pattern[str]) -> Trace:
        """The launches of kernels whose full name contains a match of a regular expression.

        Empty when none does. Raises ValueError for a malformed expression.
        """
        search = _searcher(pattern)
        known = {name: search(name) for name in set(self.name)}
        return _take(self, np.array([known[name] for name in self.name], dtype=bool))

    def kernels(self) -> TraceKernels:
        """The launches grouped by equal (name, blocks, threads, regs, smem), heaviest first.

        "Heaviest" is the total time of all launches; ties keep the order of the first launches.
        Raises ValueError when a total exceeds 64 bits.
        """
        groups: dict[tuple[Any, ...], list[int]] = {}
        shapes = (self.blocks, self.threads, self.regs, self.smem)
        rows = zip(self.name, *(a.tolist() for a in shapes), self.duration.tolist(), strict=True)
        for *key, duration in rows:
            groups.setdefault(tuple(key), []).append(duration)

        totals = {key: sum(times) for key, times in groups.items()}
        keys = sorted(groups, key=totals.__getitem__, reverse=True)
        if keys and totals[keys[0]] > INT64_MAX:
            raise ValueError(f"kernel {_clip(keys[0][0])}: its total time exceeds 64 bits of ns")
        times = [sorted(groups[key]) for key in keys]
        medians = [(t[(len(t) - 1) // 2] + t[len(t) // 2]) // 2 for t in times]
        names, blocks, threads, regs, smem = zip(*keys, strict=True) if keys else [()] * 5
        return TraceKernels(
            name=_column(names, object),
            label=_column(_labels(names), object),
            blocks=_column(blocks),
            threads=_column(threads),
            regs=_column(regs),
            smem=_column(smem),
            count=_column([len(t) for t in times]),
            wcet=_column([t[-1] for t in times]),
            median=_column(medians),
            total=_column([totals[key] for key in keys]),
            gpu=self.gpu,
        )

    def choose(
        self,
        count: int = 5,
        pattern: str | re.Pattern[str] | None = None,
        together: bool = True,
    ) -> TraceKernels:
        """A few kernels worth scheduling, by total time, heaviest first.

        With ``together`` and no pattern, those that fit the GPU all at once (on an empty GPU all
        their blocks are resident, see ``TraceKernels.fits``) come before heavier ones that do not:
        only they can share the GPU with others in a batch. Where fewer than ``count`` fit, the
        heaviest others fill up; each runs alone in its batches. Without ``together``, simply the
        heaviest. With ``pattern`` (a regular expression on full names), the heaviest of those that
        match, whether they fit or not. Fewer than ``count`` where the trace has no more.

        Raises ValueError when nothing matches, when no kernel can run on the GPU, and when
        ``together`` has to decide but the GPU is unknown.
        """
        count = operator.index(count)
        if count < 1:
            raise ValueError(f"count is {count}, must be at least 1")
        kernels = self.kernels()
        if pattern is not None:
            search = _searcher(pattern)
            chosen = np.flatnonzero([search(name) for name in kernels.name])[:count]
            if chosen.size == 0:
                raise ValueError(f"no kernel of the trace matches {_clip(_text(pattern))}")
        elif together:
            fits = kernels.fits()
            others = (kernels.occupancy() > 0) & ~fits
            chosen = np.flatnonzero(fits)[:count]
            fill = np.flatnonzero(others)[: count - chosen.size]
            chosen = np.sort(np.concatenate([chosen, fill]))
            if chosen.size == 0:
                raise ValueError(f"no kernel of the trace can run on {_gpu_text(self.gpu)}")
        else:
            chosen = np.arange(len(kernels))[:count]
        return _take(kernels, chosen)

    def to_frame(self) -> Any:
        """A pandas DataFrame with one row per launch; its columns are the arrays' names."""
        return _frame(self)

    def __repr__(self) -> str:
        return f"Trace({_summary(self)})"

    def _repr_html_(self) -> str:
        return f"<p>{html.escape(_summary(self))}</p>{_table(self.kernels(), 10)}"


@dataclass(frozen=True, eq=False, repr=False)
class TraceKernels:
    """Kernels of a trace: launches with equal name and shape together, heaviest first.

    All but ``gpu`` are read-only arrays with one entry per kernel.

    Attributes
    ----------
    name, label
        The full name, and a short one without namespaces and template arguments: at most 40
        characters, different for every kernel (#2, #3, ... where the short names are equal).
    blocks, threads, regs, smem
        The shape, as in ``Trace``.
    count
        Number of launches.
    wcet, median, total
        ns; the largest, the median (rounded down) and the sum of the measured durations. ``wcet``
        is the largest duration *seen*, beside whatever ran then: no bound.
    gpu
        As in ``Trace``.
    """

    name: Names
    label: Names
    blocks: Int64Array
    threads: Int64Array
    regs: Int64Array
    smem: Int64Array
    count: Int64Array
    wcet: Int64Array
    median: Int64Array
    total: Int64Array
    gpu: GPU | None = None

    def __len__(self) -> int:
        return len(self.name)

    def occupancy(self) -> Int64Array:
        """How many blocks of each kernel one empty SM hosts; 0 for a block that fits nowhere.

        Raises ValueError when the GPU is unknown.
        """
        return _occupancy(self.gpu, self)

    def fits(self) -> NDArray[np.bool_]:
        """Whether all blocks of a kernel are resident at once on the empty GPU.

        That is blocks <= SMs * occupancy. Raises ValueError when the GPU is unknown.
        """
        return np.asarray(self.blocks <= _known(self.gpu).sms * self.occupancy())

    def waves(self) -> Int64Array:
        """ceil(blocks / (SMs * occupancy)): how many times a kernel alone fills the empty GPU.

        Raises ValueError when the GPU is unknown or a kernel's block fits on no SM.
        """
        resident = _known(self.gpu).sms * self.occupancy()
        if np.any(resident == 0):
            label = self.label[np.argmin(resident)]
            raise ValueError(f"kernel {label!r}: its block fits on no SM of {_gpu_text(self.gpu)}")
        return cast(Int64Array, -(-self.blocks // resident))

    def tasks(
        self,
        periods: ArrayLike | None = None,
        deadlines: ArrayLike | None = None,
        utilization: float = 1.0,
    ) -> KernelTasks:
        """These kernels as periodic tasks, named by their labels; all times in ns.

        ``wcet`` is the largest duration the trace has. **A measured duration already contains
        whatever ran beside the kernel, and it is the time of the whole grid, not of one block**:
        take the result as a realistic example, not as a safe model of the program. When the GPU
        is known, ``block_time`` = ceil(wcet / waves), as if the grid ran in ``waves()`` rounds of
        equal blocks; otherwise it is left out, and then equals wcet.

        ``periods`` and ``deadlines`` are one number for all or one per kernel; deadlines default to
        periods. Without ``periods``, they are chosen from the trace's durations alone (they are not
        the program's) by ``harmonic_periods(wcet, utilization)``: the tasks share the utilization,
        no period is less than twice the longest execution time, and the periods are rounded up to
        few values so that the hyperperiod stays small.

        Raises ValueError for no kernels at all, a kernel with a measured duration of 0, a kernel
        whose block fits on no SM, and whatever ``KernelTasks`` refuses.
        """
        from gpusched.tasks import KernelTasks

        if len(self) == 0:
            raise ValueError("no kernels to make tasks of")
        if np.any(self.wcet < 1):
            label = self.label[np.argmin(self.wcet)]
            raise ValueError(f"kernel {label!r} has a measured duration of 0: leave it out")
        for what, values in (("periods", periods), ("deadlines", deadlines)):
            if values is not None and np.shape(values) not in ((), (len(self),)):
                raise ValueError(f"{what} must be one number, or one for each of {len(self)}")
        if periods is None:
            periods = harmonic_periods(self.wcet, utilization)
        # Without a GPU there are no waves to divide by, and KernelTasks then takes wcet itself.
        block_time = None if self.gpu is None else -(-self.wcet // self.waves())
        return KernelTasks(
            period=periods,
            wcet=self.wcet,
            deadline=deadlines,
            block_time=block_time,
            blocks=self.blocks,
            threads=self.threads,
            regs=self.regs,
            smem=self.smem,
            name=tuple(self.label),
        )

    def to_frame(self) -> Any:
        """A pandas DataFrame with one row per kernel; its columns are the arrays' names."""
        return _frame(self)

    def __repr__(self) -> str:
        shown = ", ".join(self.label[:5]) + (", ..." if len(self) > 5 else "")
        return f"TraceKernels({len(self)}: {shown})"

    def _repr_html_(self) -> str:
        return _table(self, 20)


@dataclass(frozen=True, eq=False, repr=False)
class OccupancyAgreement:
    """The profiler's occupancy beside the one computed from the GPU's limits, per launch.

    Attributes
    ----------
    expected, reported
        Whole percent, in the order of the trace; ``reported`` is -1 where the file has none.
    reason
        "" where both are equal; else why they differ, "differs" when nothing explains it.
    """

    expected: Int64Array
    reported: Int64Array
    reason: Names

    def __len__(self) -> int:
        return len(self.expected)

    def counts(self) -> dict[str, int]:
        """How many launches have each reason, "" first."""
        reasons = ("", OPT_IN, NOT_REPORTED, DIFFERS)
        return {r: n for r in reasons if (n := int(np.sum(self.reason == r)))}

    def to_frame(self) -> Any:
        """A pandas DataFrame with one row per launch."""
        return _frame(self)

    def __repr__(self) -> str:
        parts = [f"{n} {reason or 'equal'}" for reason, n in self.counts().items()]
        return f"OccupancyAgreement({'; '.join(parts) or 'empty'})"


def read_trace(
    path: str | os.PathLike[str],
    gpu: GPU | str | None = None,
    device: SupportsIndex | None = None,
) -> Trace:
    """Read the kernel launches of a trace of the PyTorch profiler (Kineto's JSON).

    Microseconds, whole or fractional, become nanoseconds exactly: numbers are read as decimals,
    never as floats. The durations contain whatever ran beside a kernel; see the module's text.

    Parameters
    ----------
    path
        A plain or a gzip file; its first bytes decide, not its name.
    gpu
        A GPU, or the name of a preset: replaces what the file says about the device. Without it,
        the device's entry of "deviceProperties" is used, with the blocks per SM of its compute
        capability; a file without such entries gives a trace whose ``gpu`` is None.
    device
        Whose kernels to read; needed when kernels ran on several devices.

    Raises
    ------
    OSError
        The file cannot be read.
    ValueError
        It is no such trace: a damaged gzip, text that is no JSON, no traceEvents, no kernels (on
        ``device``), a kernel event with a missing, non-numeric, negative or huge field, a device
        description that lacks something; or ``device`` is needed. Names the file and the offender.
    """
    source = os.fsdecode(path)
    given = _given_gpu(gpu)
    document = _load(source)
    events = document.get("traceEvents") if isinstance(document, dict) else None
    if not isinstance(events, list):
        raise ValueError(f"{source}: no list of traceEvents: not a trace of the PyTorch profiler")

    rows = []
    for index, event in enumerate(events):
        if not isinstance(event, dict):
            raise ValueError(f"{source}: traceEvents[{index}] is {_clip(event)}, not an object")
        if event.get("cat") in _KERNEL and event.get("ph") == "X":
            rows.append(_Event(source, index, event).row())
    if not rows:
        raise ValueError(f"{source}: no kernels among its {len(events)} events")
    names, *columns = zip(*rows, strict=True)
    trace = Trace(_column(names, object), *map(_column, columns))

    devices = np.unique(trace.device).tolist()
    if device is None and len(devices) > 1:
        raise ValueError(f"{source}: kernels ran on devices {_list(devices)}: choose with device=")
    device = devices[0] if device is None else operator.index(device)
    if device not in devices:
        raise ValueError(f"{source}: no kernels on device {device}, only on {_list(devices)}")
    if given is None:
        given = _described_gpu(source, document.get("deviceProperties"), device)
    order = np.argsort(trace.start, kind="stable")
    chosen = order[trace.device[order] == device]
    return replace(_take(trace, chosen), gpu=given, source=source)


def occupancy_agreement(trace: Trace) -> OccupancyAgreement:
    """Does the profiler's occupancy agree with the GPU's limits? Compared for every launch.

    The profiler's estimate is min(resident blocks per SM, blocks / SMs) * threads / threads per
    SM in whole percent, rounded half up; here it is computed exactly in integers. The profiler
    does not know of shared memory above 48 KiB, which a kernel must opt in to, and reports 0.

    Raises ValueError when the trace's GPU is unknown.
    """
    gpu = _known(trace.gpu)
    resident = np.minimum(trace.blocks, gpu.sms * _occupancy(gpu, trace))
    whole = gpu.sms * gpu.threads_per_sm
    # floor(x + 1/2) for x = 100 * resident * threads / whole
    expected = (200 * resident * trace.threads + whole) // (2 * whole)
    reason = np.full(len(trace), DIFFERS, dtype=object)
    reason[trace.occupancy < 0] = NOT_REPORTED
    reason[(trace.occupancy == 0) & (trace.smem > 48 * 1024)] = OPT_IN
    reason[trace.occupancy == expected] = ""
    return OccupancyAgreement(_column(expected), trace.occupancy, _column(reason, object))


def harmonic_periods(
    wcet: Sequence[SupportsIndex] | Int64Array,
    utilization: float = 1.0,
    step: SupportsIndex = PERIOD_STEP,
) -> Int64Array:
    """Periods for execution times such that all tasks together have about a utilization, in ns.

    Kernels cannot be interrupted, so no period is less than twice the longest execution time; the
    tasks that this makes lighter leave their share of the utilization to the others, who divide it
    evenly. The periods are rounded **up** to the next of 1, 2, 3, 4, 6, 8, 12, 16, 24, ... steps,
    so the tasks' utilization is at most the one asked for. Such periods have a hyperperiod of at
    most three times the largest; where it would exceed 48 times the smallest period, the smallest
    are raised further until it does not.

    Raises ValueError when ``utilization`` is not in (0, n], when a wcet or ``step`` is below 1, or
    when a period exceeds 64 bits.
    """
    times = [operator.index(c) for c in wcet]
    step = operator.index(step)
    if step < 1 or any(c < 1 for c in times):
        raise ValueError("step and execution times must be at least 1")
    if not 0 < utilization <= max(len(times), 1):
        raise ValueError(f"utilization is {utilization}, must be above 0 and at most {len(times)}")
    floor, rest, left = 2 * max(times, default=0), Fraction(utilization), len(times)
    periods = dict.fromkeys(times, 0)
    for c in sorted(times):  # the lightest first: they may not use their share
        periods[c] = max(floor, math.ceil(c / (rest / left)))
        rest -= Fraction(c, periods[c])
        left -= 1
    steps = [_grid(-(-periods[c] // step)) for c in times]
    while steps and math.lcm(*steps) > HYPERPERIOD_RATIO * min(steps):
        least = _grid(min(steps) + 1)
        steps = [max(s, least) for s in steps]
    if steps and max(steps) * step > INT64_MAX:
        raise ValueError("a period exceeds 64 bits of ns")
    return cast(Int64Array, _column([s * step for s in steps]))


def _grid(steps: int) -> int:
    """The next of 1, 2, 3, 4, 6, 8, 12, ... (2^k and 3 * 2^k) from ``steps`` on."""
    third = -(-steps // 3)
    return min(1 << (steps - 1).bit_length(), 3 << (third - 1).bit_length())


# The file


# Older versions write the category with a capital letter.
_KERNEL = ("kernel", "Kernel")
_OTHER: dict[str, Any] = {}


def _drop_others(value: dict[str, Any]) -> dict[str, Any]:
    """Events that are no kernels become one empty object while the file is parsed.

    They are nine in ten, and to keep them all would take several times the memory and the time.
    """
    return _OTHER if "ph" in value and value.get("cat") not in _KERNEL else value


def _load(source: str) -> Any:
    """The document in a plain or gzip file, of its events only the kernels; decimals are exact."""
    with open(source, "rb") as file:
        data = file.read()
    packed = data[:2] == b"\x1f\x8b"
    if packed:
        try:
            data = gzip.decompress(data)
        except (EOFError, OSError, zlib.error) as error:
            raise ValueError(f"{source}: damaged or truncated gzip: {error}") from error
    if data.startswith(b"SQLite format 3\0"):
        raise ValueError(f"{source}: an SQLite database (of Nsight Systems?), not a JSON trace")
    inside = "the gzip holds no valid JSON" if packed else "not valid JSON"
    try:
        text = data.decode("utf-8-sig")
        return json.loads(text, parse_float=Decimal, object_hook=_drop_others)
    except RecursionError:
        raise ValueError(f"{source}: {inside}: nested too deeply") from None
    except (ValueError, ArithmeticError) as error:
        # Text that stops early, that is no UTF-8, or a number beyond what Python converts.
        raise ValueError(f"{source}: {inside}: {str(error)[:200]}") from error


_WIDE = Context(prec=60)


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
        where = f"{self.source}: traceEvents[{self.index}], kernel {_clip(self.event.get('name'))}"
        absent = value is None and field not in self.event and field not in self.args
        found = "is missing" if absent else f"is {_clip(value)}"
        raise ValueError(f"{where}: {field!r} {found}, {rule}")


def _whole(value: Any) -> int | None:
    """A JSON number that is an integer (also written as 256.0), or None."""
    if isinstance(value, Decimal) and value.is_finite() and value.adjusted() < 30:
        return int(value) if value == value.to_integral_value() else None
    return value if isinstance(value, int) and not isinstance(value, bool) else None


# The GPU


def _given_gpu(gpu: GPU | str | None) -> GPU | None:
    from gpusched.gpu import as_gpu

    return None if gpu is None else as_gpu(gpu)


def _described_gpu(source: str, properties: Any, device: int) -> GPU | None:
    """The GPU that the file describes, None when it describes none at all."""
    from gpusched.gpu import GPU

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


def _known(gpu: GPU | None) -> GPU:
    if gpu is None:
        raise ValueError("the trace does not describe its GPU: read it with gpu=")
    return gpu


def _occupancy(gpu: GPU | None, shapes: Trace | TraceKernels) -> Int64Array:
    from gpusched.gpu import occupancy

    gpu = _known(gpu)
    resident = occupancy(gpu, threads=shapes.threads, regs=shapes.regs, smem=shapes.smem)
    return np.asarray(resident, dtype=np.int64)


def _gpu_text(gpu: GPU | None) -> str:
    if gpu is None:
        return "an unknown GPU"
    return f"{str(gpu.name)[:60] or 'a GPU'} ({gpu.sms} SMs)"


# Names


_NESTED = {"<": ">", "(": ")", "[": "]", "{": "}"}


def _short(name: str) -> str:
    """A kernel's own name: no return type, namespaces, template arguments, parameters."""
    text = re.sub(r"\((anonymous namespace|anonymous)\)|<unnamed>", "anonymous", name)
    kept: list[str] = []
    closing: list[str] = []
    for character in text:
        if closing:
            # Inside parentheses < and > may be comparisons; templates there are dropped anyway.
            if character in _NESTED and not (character == "<" and closing[-1] == ")"):
                closing.append(_NESTED[character])
            elif character == closing[-1]:
                closing.pop()
        elif character == "(" and kept:
            break
        elif character in _NESTED:
            closing.append(_NESTED[character])
        elif character.isprintable():
            kept.append(character)
    words = "".join(kept).split()
    parts = [part for part in words[-1].split("::") if part] if words else []
    short = parts[-1] if parts else ""
    if short.lower() == "kernel":
        # Says nothing: cutlass::Kernel<the_real_name> does, else at least its namespace.
        named = re.search(rf"\b{short}<([A-Za-z]\w*_\w*)[,>]", text)
        short = named[1] if named else "::".join(parts[-2:])
    return short or "".join(c for c in name if c.isprintable()).strip() or "kernel"


def _labels(names: Iterable[str]) -> list[str]:
    """Short names, all different and at most LABEL_LENGTH long."""
    used: set[str] = set()
    last: dict[str, int] = {}
    labels = []
    for name in names:
        short = _fit(_short(name), LABEL_LENGTH)
        label, number = short, last.get(short, 1)
        while label in used:
            number += 1
            suffix = f"#{number}"
            label = _fit(short, LABEL_LENGTH - len(suffix)) + suffix
        last[short] = number
        used.add(label)
        labels.append(label)
    return labels


def _fit(text: str, length: int) -> str:
    """At most ``length`` characters: the middle goes, since ends tell similar names apart."""
    if len(text) <= length:
        return text
    tail = (length - 2) // 2
    return f"{text[: length - 2 - tail]}..{text[-tail:]}"


def _searcher(pattern: str | re.Pattern[str]) -> Any:
    try:
        search = re.compile(pattern).search
    except re.error as error:
        raise ValueError(f"pattern {_clip(_text(pattern))} is malformed: {error}") from error
    return lambda name: search(name) is not None


def _text(pattern: str | re.Pattern[str]) -> str:
    return pattern if isinstance(pattern, str) else pattern.pattern


# What the classes share


Table = TypeVar("Table", Trace, TraceKernels)


def _column(values: Iterable[Any], dtype: Any = np.int64) -> Any:
    """A read-only one-dimensional array."""
    values = list(values)
    array = np.empty(len(values), dtype=dtype)
    array[:] = values
    return frozen(array)


def _take(table: Table, chosen: NDArray[Any]) -> Table:
    """The same table with only the chosen entries of every array."""
    columns = {}
    for field in fields(table):
        value = getattr(table, field.name)
        if isinstance(value, np.ndarray):
            columns[field.name] = _column(value[chosen], value.dtype)
    return replace(table, **columns)


def _frame(table: Any) -> Any:
    import pandas as pd

    columns = {f.name: getattr(table, f.name) for f in fields(table)}
    return pd.DataFrame({k: v for k, v in columns.items() if isinstance(v, np.ndarray)})


def _summary(trace: Trace) -> str:
    kernels, streams = len(set(trace.name)), len(np.unique(trace.stream))
    last = max((trace.start + trace.duration).tolist(), default=0)
    span = _seconds(last - int(trace.start[0]) if len(trace) else 0)
    where = os.path.basename(trace.source)[-60:]
    return (
        f"{len(trace)} launches of {kernels} kernels in {streams} streams over {span}, "
        f"{_gpu_text(trace.gpu)}{', ' if where else ''}{where}"
    )


def _seconds(time: int) -> str:
    for unit, size in (("s", 10**9), ("ms", 10**6), ("us", 10**3)):
        if time >= size:
            return f"{time / size:.4g} {unit}"
    return f"{time} ns"


def _table(kernels: TraceKernels, rows: int) -> str:
    heads = ("kernel", "launches", "blocks", "threads", "regs", "smem", "wcet", "median", "total")
    columns = [
        kernels.label[:rows],
        *(getattr(kernels, n)[:rows] for n in ("count", "blocks", "threads", "regs", "smem")),
        *([_seconds(t) for t in getattr(kernels, n)[:rows].tolist()] for n in heads[6:]),
    ]
    lines = ["".join(f"<th>{head}</th>" for head in heads)]
    lines += [
        "".join(f"<td>{html.escape(str(cell))}</td>" for cell in row)
        for row in zip(*columns, strict=True)
    ]
    table = "<table>" + "".join(f"<tr>{line}</tr>" for line in lines) + "</table>"
    more = len(kernels) - rows
    return table + (f"<p>and {more} more</p>" if more > 0 else "")


def _list(items: Sequence[Any]) -> str:
    shown = ", ".join(str(item) for item in items[:16])
    return shown + (", ..." if len(items) > 16 else "")


def _clip(value: Any, length: int = 60) -> str:
    """A value for an error's text, short."""
    text = str(value) if isinstance(value, (int, float, Decimal)) else repr(value)
    return text if len(text) <= length else f"{text[:length]}..."
