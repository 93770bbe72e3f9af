"""Necessary conditions of a workload: demands that no way of sharing the GPU can meet.

Each condition compares a demand with what exists: a job with its deadline, the work that cannot be
outside an interval with the capacity in it, the work per period with the capacity in the long run.
Jobs are released periodically from the offsets, which sporadic tasks allow too, and run exactly
their stated times, kernels as if they were alone on the whole GPU. What a way of sharing adds
(waiting, waves of whole ticks, slowdown, switches, launch latencies) only makes jobs longer.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import lcm
from operator import le
from typing import NamedTuple

import numpy as np

from gpusched import _core
from gpusched._support.registry import enumeration
from gpusched._support.text import clip, plural
from gpusched.comparison.tasks_in_parts import platform_of_instance
from gpusched.model.gpu import GPU, WARP_THREADS
from gpusched.model.gpus.gpu_fields import DIRECTIONS, possible_directions
from gpusched.model.gpus.gpu_presets import MOST_DLAS
from gpusched.model.views.derived_view import listed, runs_on_cpu, uses_engine
from gpusched.model.workload.kernel_waves import KernelTimes
from gpusched.model.workload.periodic_task import Task
from gpusched.model.workload.platforms import Platform
from gpusched.model.workload.segments import DLA, CopyIn, CopyOut, Kernel, Segment
from gpusched.model.workload.time_units import time_with_unit
from gpusched.model.workload.workloads import Workload

_EXCEEDED = enumeration("analysis.demand_verdict").index("exceeded")
_STEPS = 1 << 19  # of a search for an interval, some 30 ms
_MOST = 2**60 - 2  # largest number that the search takes
_RESOURCES = ("threads", "blocks", "registers", "bytes of shared memory")

Times = Sequence[Sequence[KernelTimes | None]]


class _Part(NamedTuple):
    """A segment of a task's jobs.

    ``time`` is the least time of all its repetitions. No schedule that meets the deadlines starts
    it earlier than ``begin`` or ends it later than ``end``, after the release of the job.
    """

    task: Task
    segment: Segment
    kernel: KernelTimes | None
    time: int
    begin: int
    end: int


class _Piece(NamedTuple):
    """Work that recurs with a task's period: ``start`` and ``window`` are those of its first job.

    ``rate`` is the most work in a tick.
    """

    task: Task
    start: int
    window: int
    work: Fraction
    rate: Fraction


@dataclass(frozen=True, slots=True)
class _Excess:
    """Work that has to be done within ``until - start`` ticks, and the tasks that it belongs to."""

    start: int
    until: int
    work: Fraction
    tasks: tuple[str, ...]


def broken_conditions(workload: Workload, platform: Platform) -> tuple[str, ...]:
    """Sentences that explain why no way of sharing the GPU can meet all deadlines.

    There is a sentence for each job that takes longer than its deadline, alone, and at most one
    for each overloaded resource: all CPUs, a core, a copy engine, a DLA, the stream of a task (in
    the long run), and the threads, blocks, registers and shared memory of the GPU. Without a
    sentence nothing is said: the conditions are necessary, and the search for intervals has a
    budget.

    Times of the platform are ticks of the workload. See the module for the assumptions.
    """
    try:
        times = workload.kernel_times(platform)
    except (ValueError, OverflowError):
        return ()  # the rows say why
    parts = _parts(workload, times)
    return (
        *_long_jobs(workload, parts),
        *_cpu_overloads(workload, parts, platform.cpus),
        *_engine_overloads(workload, parts, platform),
        *_dla_overloads(workload, parts),
        *_stream_overloads(workload, parts),
        *_block_overloads(workload, parts, platform),
    )


def serial_gpu_overloads(workload: Workload, platform: Platform) -> list[str]:
    """Sentence about kernels that cannot end in time if no two of them run at once.

    Kernels count with their stated times on the whole GPU; copies may overlap with kernels.
    """
    pieces = [
        _in_time(part)
        for part in _parts_where_known(workload, platform)
        if isinstance(part.segment, Kernel)
    ]
    if (load := _load(pieces)) > 1:
        return [f"kernels that exclude each other need {_above(load, 1)} GPUs, there is 1"]
    found = _excess(pieces, 1)
    what = "kernels that exclude each other"
    return [] if found is None else [f"{_sentence(workload, found, what)}, there is 1 GPU"]


# Parts and pieces


def _parts(workload: Workload, times: Times) -> list[_Part]:
    """The segments of all tasks; a kernel of unknown time takes none.

    In a job that is too long by itself no part has a window: ``end`` is ``begin``.
    """
    found = []
    for task, of_task in zip(workload, times, strict=True):
        spent = [
            _least_time(segment, of) * segment.repeat
            for segment, of in zip(task.segments, of_task, strict=True)
        ]
        begin, behind = 0, sum(spent)
        too_long = behind > task.deadline
        for segment, of, time in zip(task.segments, of_task, spent, strict=True):
            behind -= time
            end = begin if too_long else task.deadline - behind
            found.append(_Part(task, segment, of, time, begin, end))
            begin += time
    return found


def _parts_where_known(workload: Workload, platform: Platform) -> list[_Part]:
    try:
        times: Times = workload.kernel_times(platform)
    except (ValueError, OverflowError):
        times = [[None] * len(task.segments) for task in workload]
    return _parts(workload, times)


def _least_time(segment: Segment, of: KernelTimes | None) -> int:
    """Ticks of one repetition; of a kernel, those on the whole GPU as stated, or by its blocks."""
    if not isinstance(segment, Kernel):
        return segment.time
    if of is None:
        return 0
    return of.time if of.stated is None else min(of.stated, of.time)


def _in_time(part: _Part) -> _Piece:
    """A part that takes its time on one of the resource's units."""
    start, window = part.task.offset + part.begin, part.end - part.begin
    return _Piece(part.task, start, window, Fraction(part.time), Fraction(1))


def _load(pieces: Iterable[_Piece]) -> Fraction:
    return sum((piece.work / piece.task.period for piece in pieces), Fraction(0))


# Intervals


def _excess(pieces: Sequence[_Piece], capacity: int) -> _Excess | None:
    """An interval with more work than capacity, if one is found.

    Jobs that others release come at instants that are not known: they count in the long run alone.
    """
    given = [p for p in pieces if p.work > 0 and p.window > 0 and not p.task.after]
    if not given:
        return None
    unit = _unit(given, capacity)
    columns = [
        [piece.task.period for piece in given],
        [piece.start for piece in given],
        [piece.window for piece in given],
        [int(piece.work * unit) for piece in given],
        [-int(-piece.rate * unit // 1) for piece in given],
    ]
    if capacity * unit > _MOST or any(value > _MOST for column in columns for value in column):
        return None
    interval = _interval(columns, capacity * unit)
    if interval is None:
        return None
    # Work whose whole window lies in an interval is easier to follow than parts of windows.
    whole = [piece._replace(rate=piece.work + 1) for piece in given]
    columns[4] = [min(work + 1, _MOST) for work in columns[3]]
    clearer = _interval(columns, capacity * unit)
    if clearer is not None:
        given, interval = whole, clearer
    due = [(piece.task.name, _due(piece, *interval)) for piece in given]
    names = tuple(dict.fromkeys(name for name, work in due if work > 0))
    return _Excess(*interval, sum((work for _, work in due), Fraction(0)), names)


def _unit(pieces: Sequence[_Piece], capacity: int) -> int:
    """Units of work in one of the capacity: all works are whole, or rounded down, rates up."""
    exact = lcm(*(piece.work.denominator for piece in pieces))
    largest = Fraction(capacity)
    for piece in pieces:
        largest = max(largest, piece.work, piece.rate)
    most = max(1, int(2**59 / largest))
    return exact if exact <= most else 1 << (most.bit_length() - 1)


def _interval(columns: Sequence[Sequence[int]], capacity: int) -> tuple[int, int] | None:
    arrays = (np.array(column, np.int64) for column in columns)
    verdict, start, until, _ = _core.demand_interval(
        *arrays, capacity=capacity, budget=_STEPS, stop=None
    )
    return (start, until) if verdict == _EXCEEDED else None


def _due(piece: _Piece, start: int, until: int) -> Fraction:
    """Work of all jobs that cannot be done outside the interval."""
    period = piece.task.period
    reach = -int(-piece.work / piece.rate // 1)  # ticks outside in which all work fits
    first = max(0, -((piece.start + reach - start) // period))  # released after start - reach
    last = (until + reach - piece.window - piece.start) // period
    inside = max(0, -((piece.start - start) // period))  # released at start or later
    ended = (until - piece.window - piece.start) // period  # ends at until or earlier
    full = max(0, ended - inside + 1)
    work = full * piece.work
    for job in [*range(first, last + 1)] if not full else [
        *range(first, inside), *range(ended + 1, last + 1)
    ]:  # fmt: skip
        release = piece.start + job * period
        outside = max(0, start - release) + max(0, release + piece.window - until)
        work += max(Fraction(0), piece.work - piece.rate * outside)
    return work


# Conditions


def _long_jobs(workload: Workload, parts: Sequence[_Part]) -> list[str]:
    alone = dict.fromkeys((task.name for task in workload), 0)
    for part in parts:
        alone[part.task.name] += part.time
    return [
        f"{clip(task.name, 60)}: a job alone takes {_text(workload, alone[task.name])}, more than "
        f"its deadline of {_text(workload, task.deadline)}"
        for task in workload
        if alone[task.name] > task.deadline
    ]


def _cpu_overloads(workload: Workload, parts: Sequence[_Part], cpus: int) -> list[str]:
    pieces = [_in_time(part) for part in parts if runs_on_cpu(part.segment)]
    found = _cpu_overload(workload, pieces, cpus, "the platform has")
    for core in sorted({task.core for task in workload if task.core is not None}):
        here = [piece for piece in pieces if piece.task.core == core]
        found += _cpu_overload(workload, here, 1, f"core {core} is")
    return found


def _cpu_overload(workload: Workload, pieces: Sequence[_Piece], cpus: int, where: str) -> list[str]:
    if (load := _load(pieces)) > cpus:
        return [f"CPU work needs {_above(load, cpus)} CPUs, {where} {cpus}"]
    found = _excess(pieces, cpus)
    if found is None:
        return []
    return [f"{_sentence(workload, found, 'CPU work')}, {where} {plural(cpus, 'CPU')}"]


def _engine_overloads(workload: Workload, parts: Sequence[_Part], platform: Platform) -> list[str]:
    """About copy engines: all of them, those for copies in, and those for copies out."""
    copies = [part for part in parts if isinstance(part.segment, (CopyIn, CopyOut))]
    copies = [part for part in copies if uses_engine(part.segment)]
    if not copies:
        return []
    choices = _engine_choices(platform)
    found = []
    for what, kinds, served in (
        ("copies", (CopyIn, CopyOut), DIRECTIONS),
        ("copies to the GPU", (CopyIn,), ("in", "both")),
        ("copies from the GPU", (CopyOut,), ("out", "both")),
    ):
        most = max(sum(direction in served for direction in engines) for engines in choices)
        if what != "copies" and all(engines == ("both",) for engines in choices):
            continue  # said of all copies
        pieces = [_in_time(part) for part in copies if isinstance(part.segment, kinds)]
        has = f"there {'is' if most == 1 else 'are'} {most}"
        if len(choices) > 1 or platform.mig is not None:
            has = f"instances of the GPU have {most}"
        if (load := _load(pieces)) > most:
            found.append(f"{what} need {_above(load, most)} copy engines, {has}")
        elif (excess := _excess(pieces, most)) is not None:
            noun = f"{has} copy engine{'s' if most > 1 else ''}"
            found.append(f"{_sentence(workload, excess, what)}, {noun}")
    return found


def _dla_overloads(workload: Workload, parts: Sequence[_Part]) -> list[str]:
    found = []
    for on in range(MOST_DLAS):
        there = [part for part in parts if isinstance(part.segment, DLA) and part.segment.on == on]
        pieces, what = list(map(_in_time, there)), f"work on DLA {on}"
        if (load := _load(pieces)) > 1:
            found.append(f"{what} needs {_above(load, 1)} of it, there is 1")
        elif (excess := _excess(pieces, 1)) is not None:
            found.append(f"{_sentence(workload, excess, what)}, there is 1")
    return found


def _engine_choices(platform: Platform) -> list[tuple[str, ...]]:
    """Directions of all engines: of the GPU, or of instances that can exist together."""
    whole, gpu = platform.copy_engines, platform.gpu
    choices = [possible_directions(whole)]
    if gpu is None or not gpu.mig_profiles():
        return choices
    if platform.mig is None:
        sets = gpu.mig_configurations()
    else:
        sets = (gpu.mig_instances(platform.mig),)
    engines: dict[str, tuple[str, ...]] = {}
    for name in {one.profile.name for instances in sets for one in instances}:
        part = platform_of_instance(platform, gpu.instance(name))
        engines[name] = possible_directions(part.copy_engines)
    choices += [
        tuple(direction for one in instances for direction in engines[one.profile.name])
        for instances in sets
    ]
    return choices


def _stream_overloads(workload: Workload, parts: Sequence[_Part]) -> list[str]:
    """About tasks whose jobs take longer in their own stream than a period."""
    busy = dict.fromkeys((task.name for task in workload), 0)
    for part in parts:
        if isinstance(part.segment, Kernel) or uses_engine(part.segment):
            busy[part.task.name] += part.time
    return [
        f"{clip(task.name, 60)}: kernels and copies of a job take "
        f"{_text(workload, busy[task.name])} in the task's stream, more than its period of "
        f"{_text(workload, task.period)}"
        for task in workload
        if busy[task.name] > task.period
    ]


def _block_overloads(workload: Workload, parts: Sequence[_Part], platform: Platform) -> list[str]:
    """About what the blocks of kernels take of the GPU, for each resource of its SMs."""
    if platform.gpu is None:
        return []
    kernels = [(part, part.kernel) for part in parts if part.kernel and part.kernel.resident]
    blocks = [_Blocks(part, of, _shares(of.kernel, platform.gpu)) for part, of in kernels]
    found = []
    for place, resource in enumerate(_RESOURCES):
        shares = [of.shares[place] for of in blocks]
        for apart in range(4):
            counted = [_usable_by_none(share, apart) for share in shares]
            if apart > 0 and all(map(le, counted, shares)):
                continue  # no more than without it
            pieces = [of.piece(share) for of, share in zip(blocks, counted, strict=True)]
            sentence = _block_overload(workload, pieces, resource)
            if sentence is not None:
                wasted = ", counting those that no other block can use" if apart else ""
                found.append(f"{sentence}{wasted}")
                break
    return found


def _block_overload(workload: Workload, pieces: Sequence[_Piece], resource: str) -> str | None:
    if (load := _load(pieces)) > 1:
        return f"kernels need {_above(load, 1)} times the GPU's {resource}"
    if (excess := _excess(pieces, 1)) is None:
        return None
    factor = _above(excess.work / (excess.until - excess.start), 1)
    names = listed(excess.tasks)
    return f"{names}: kernels need {factor} times the GPU's {resource} {_within(workload, excess)}"


class _Blocks(NamedTuple):
    """The blocks of a kernel, and the share of each of an SM's resources that a block takes."""

    part: _Part
    of: KernelTimes
    shares: tuple[Fraction, ...]

    def piece(self, share: Fraction) -> _Piece:
        """Work in ticks of the whole GPU if a block takes the given share of an SM."""
        part, kernel, sms = self.part, self.of.kernel, self.of.sms
        count = kernel.blocks or 0
        start, window = part.task.offset + part.begin, part.end - part.begin
        work = count * kernel.repeat * _block_time(self.of) * share / sms
        return _Piece(
            part.task, start, window, work, min(count, self.of.resident * sms) * share / sms
        )


def _shares(kernel: Kernel, gpu: GPU) -> tuple[Fraction, ...]:
    """Shares of an SM's resources that a block takes, in the units in which they are allocated."""
    _, warps_per_sm, blocks_per_sm, regs, smem, _, reserved, smem_unit, reg_unit = (
        int(limit) for limit in gpu._limits[:9]
    )
    warps = -(-(kernel.threads or 0) // WARP_THREADS)
    taken = (
        (warps, warps_per_sm),
        (1, blocks_per_sm),
        (warps * _rounded_up(kernel.regs * WARP_THREADS, reg_unit), regs),
        (_rounded_up(kernel.smem + reserved, smem_unit), smem),
    )
    return tuple(Fraction(amount, limit) if amount else Fraction(0) for amount, limit in taken)


def _usable_by_none(share: Fraction, apart: int) -> Fraction:
    """A share that counts what a block leaves and no other block can use, for ``apart`` > 0.

    For whole (apart + 1) share, the share itself, else that number rounded down, over ``apart``.
    Where the shares of blocks add up to at most 1, so do these: they are dual feasible functions
    (Fekete and Schepers 2001). With 1, two blocks of more than half of an SM exclude each other.
    """
    scaled = (apart + 1) * share
    return share if apart == 0 or scaled.denominator == 1 else Fraction(int(scaled), apart)


def _block_time(of: KernelTimes) -> Fraction:
    """Least time of a block, not rounded: as given, and by the waves of all measured times."""
    found = [] if of.kernel.block_time is None else [Fraction(of.kernel.block_time)]
    if profile := of.kernel.sms:
        least = min(profile)
        for sms in range(1, of.sms + 1):
            time = profile[max((k for k in profile if k <= sms), default=least)]
            found.append(Fraction(time, of.waves_on(sms)))
    elif of.stated is not None:
        found.append(Fraction(of.stated, of.waves))
    return min(found)


def _rounded_up(amount: int, unit: int) -> int:
    return -(-amount // unit) * unit if unit else amount


# Text


def _text(workload: Workload, ticks: int) -> str:
    return time_with_unit(ticks, workload.tick_ns)


def _sentence(workload: Workload, excess: _Excess, what: str) -> str:
    work = _text(workload, int(excess.work))
    return f"{listed(excess.tasks)}: {work} of {what} must run {_within(workload, excess)}"


def _within(workload: Workload, excess: _Excess) -> str:
    length, start, until = (
        _text(workload, ticks)
        for ticks in (excess.until - excess.start, excess.start, excess.until)
    )
    return f"within {length} (from {start} to {until})"


def _above(value: Fraction, bound: int) -> str:
    """A number above a bound, with as many digits as show this."""
    for digits in range(4, 18):
        text = f"{float(value):.{digits}g}"
        if Fraction(text) > bound:
            return text
    return f"more than {bound}"
