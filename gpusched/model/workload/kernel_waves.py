"""Times of kernels on a GPU: waves, the time of a block, the time on some of the SMs.

Every view of a workload uses these times, so that a kernel takes equally long in all models:

- an SM holds ``resident`` blocks of a kernel at once; on k SMs the kernel runs in
  ``ceil(blocks / (k * resident))`` waves;
- a block takes ``ceil(time / waves on all SMs)`` ticks unless its time is given; a time and a block
  time that are both given have to agree;
- on k SMs, the time of a kernel is its number of waves there times the time of a block. On all SMs
  this exceeds the stated time by less than one tick per wave;
- with a measured profile, the time on k SMs is that of the largest number of SMs in the profile
  that is at most k, and no less than the time on all SMs;
- a kernel without a shape, which fills m SMs (all, or its share, rounded up), takes
  ``ceil(m / k)`` times its time on k of them: if it is n equal blocks, of which r fit an SM, in
  ``w = ceil(n / (m * r))`` waves on m SMs, then ``n <= w * m * r``, and on k SMs it has
  ``ceil(n / (k * r)) <= w * ceil(m / k)`` waves.

Kernels that run together get max-min shares of the bandwidth (``csrc/model/bandwidth.h``). The
factor of a kernel is largest beside the most demanding kernel of every other task, as it does not
fall with the demand of any other one. This is a model of what slows kernels, and no bound.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import ceil

import numpy as np

from gpusched import _core
from gpusched._support.text import plural
from gpusched.model.gpu import GPU, WARP_THREADS, occupancy
from gpusched.model.gpus.gpu_fields import rate_text
from gpusched.model.workload.platforms import Platform
from gpusched.model.workload.segments import Kernel
from gpusched.model.workload.time_units import MOST_TICKS, TickLength, time_with_unit

ON_FEWER_SMS = (
    "a kernel without blocks and threads takes at most ceil(m / k) times its time on k of the m "
    "SMs that it fills, as one of equal blocks does"
)
"""Assumption where kernels run on fewer SMs than they are known to fill."""

_NOTES = 20
_MOST_WARPS = 32  # of a block


@dataclass(frozen=True, slots=True)
class KernelTimes:
    """Times of one kernel on a GPU, in ticks.

    ``where`` names the kernel in messages. ``sms`` is the number of SMs of the GPU, 0 without one.
    ``resident`` is the number of its blocks that fit an SM, 0 for a kernel without a shape.
    ``stated`` is its time on all SMs as given, None where only the time of a block is; ``time`` is
    the one to be used. ``block_time`` is None for a kernel without a shape, or without a GPU.
    """

    kernel: Kernel
    where: str
    sms: int
    resident: int
    stated: int | None
    time: int
    block_time: int | None

    @property
    def waves(self) -> int:
        """Waves on all SMs; 1 for a kernel without a shape."""
        return self.waves_on(self.sms) if self.resident else 1

    @property
    def filled(self) -> int:
        """SMs that a kernel without a shape fills: all, or its share of them, rounded up."""
        return ceil((self.kernel.share or 1) * self.sms)

    @property
    def demand(self) -> int | None:
        """Bytes per second that the kernel moves alone, rounded up; None if unknown."""
        kernel = self.kernel
        if kernel.bytes is None or kernel._tick is None:
            return kernel.bandwidth
        return ceil(Fraction(kernel.bytes * 10**9) / (self.least * kernel._tick))

    @property
    def least(self) -> int:
        """The stated time or ``time``, whichever is shorter."""
        return self.time if self.stated is None else min(self.stated, self.time)

    @property
    def excess(self) -> int:
        """Ticks by which ``time`` differs from the stated time."""
        return 0 if self.stated is None else self.time - self.stated

    def waves_on(self, sms: int) -> int:
        """Number of waves on the given number of SMs.

        Raises ValueError for a kernel without a shape, and for a number of SMs below 1.
        """
        self._check(sms)
        if not self.resident or self.kernel.blocks is None:
            raise ValueError(
                f"{self.where}: got no blocks and threads, expected them for a number of waves"
            )
        return -(-self.kernel.blocks // (min(sms, self.sms) * self.resident))

    def on(self, sms: int) -> int:
        """Time on the given number of SMs; on more SMs than the GPU has, the time on all of them.

        Raises ValueError if the time cannot be derived from what is given about the kernel, and
        OverflowError for 2**60 ticks or more.
        """
        self._check(sms)
        if sms >= self.sms > 0:
            return self.time
        if profile := self.kernel.sms:
            return max(_looked_up(profile, sms, self.where), self.time)
        if not self.sms:
            raise ValueError(
                f"{self.where}: got a time on all SMs, expected a GPU for the time on {sms} of them"
            )
        if self.block_time is None:
            return _fitting(-(-self.filled // sms) * self.time, self.where)
        return _fitting(self.waves_on(sms) * self.block_time, self.where)

    def block_on(self, sms: int) -> Fraction:
        """The time of a block on the given number of SMs, not rounded.

        Without a profile it is the same on any number of SMs. Raises ValueError for a kernel
        without a shape, and for a profile that does not cover the number.
        """
        given = self.kernel.block_time
        if self.kernel.sms and (given is None or sms < self.sms):
            time = _looked_up(self.kernel.sms, min(sms, self.sms), self.where)
            if given is None:
                return Fraction(time, self.waves_on(sms))
            return max(Fraction(max(time, self.time), self.waves_on(sms)), Fraction(given))
        if given is None and self.stated is not None:
            return Fraction(self.stated, self.waves)
        return Fraction(self.needed_block_time())

    def slowest_block(self, sms: int) -> Fraction:
        """The longest time of a block on 1, 2, ... up to the given number of SMs, not rounded.

        It is the time of a block if other kernels leave any of these numbers of SMs. For a kernel
        without a profile it is the same on each of them.

        Raises ValueError for a profile that does not cover all of these numbers of SMs.
        """
        profile, given = self.kernel.sms, self.kernel.block_time
        if not profile:
            return self.block_on(sms)
        keys, last = sorted(profile), min(sms, self.sms)
        if keys[0] > 1:
            raise ValueError(
                f"{self.where}: got a profile from {keys[0]} SMs on, expected one from 1 SM on; "
                "while other kernels run, fewer SMs may be free"
            )
        found = Fraction(0 if given is None else given)
        for k, after in zip(keys, [*keys[1:], last + 1], strict=True):
            if k <= last:  # of all numbers of SMs with this time, the largest has the fewest waves
                found = max(found, Fraction(profile[k], self.waves_on(min(after - 1, last))))
        return found

    def profile(self) -> list[int]:
        """The times on 1, 2, ... SMs, up to all of the GPU."""
        return [self.on(k) for k in range(1, self.sms + 1)]

    def needed_block_time(self) -> int:
        """Time of a block; ValueError for a kernel without a shape, or without a GPU."""
        if self.block_time is None:
            missing = "blocks and threads" if self.sms else "GPU of the platform"
            raise ValueError(f"{self.where}: got no {missing}, expected it for a time of blocks")
        return self.block_time

    def _check(self, sms: int) -> None:
        if sms < 1:
            raise ValueError(f"{self.where}: got {sms} SMs, expected a positive number")


def kernel_times(
    kernels: Sequence[Kernel], gpu: GPU | None, where: Sequence[str] | None = None
) -> list[KernelTimes]:
    """Times of kernels on a GPU.

    Parameters
    ----------
    kernels
        Kernels whose times are ticks.
    gpu
        The GPU; None: kernels have their stated times and no waves.
    where
        Names of the kernels in messages. Default: ``kernels[0]``, ...

    Raises
    ------
    ValueError
        No block of a kernel fits an SM, the SMs do not hold all blocks that wait for each other,
        the time of a kernel on the GPU cannot be derived from what is given about it, or its time
        and its block time contradict each other.
    OverflowError
        A kernel takes 2**60 ticks or more.

    >>> from gpusched.model.workload.kernel_waves import kernel_times
    >>> gpu = gs.GPU(sms=4, threads_per_sm=1024, blocks_per_sm=32)
    >>> [times] = kernel_times([gs.Kernel(100, blocks=10, threads=1024)], gpu)
    >>> times.waves, times.block_time, times.time, times.profile()
    (3, 34, 102, [340, 170, 136, 102])
    """
    labels = [f"kernels[{i}]" for i in range(len(kernels))] if where is None else where
    if gpu is None:
        return [_without_gpu(kernel, at) for kernel, at in zip(kernels, labels, strict=True)]
    resident = _resident(kernels, gpu)
    return [
        _times(kernel, at, gpu, resident.get((kernel.threads, kernel.regs, kernel.smem), 0))
        for kernel, at in zip(kernels, labels, strict=True)
    ]


def excess_notes(times: Iterable[KernelTimes], tick: TickLength) -> list[str]:
    """Sentences about kernels whose times differ from the stated ones; ``tick`` is in ns."""
    differ = [of for of in times if of.excess]
    notes = []
    for of in differ[:_NOTES]:
        assert of.block_time is not None and of.stated is not None
        more = "more" if of.excess > 0 else "less"
        notes.append(
            f"{of.where}: {of.waves} waves of {time_with_unit(of.block_time, tick)} take "
            f"{time_with_unit(of.time, tick)}, {time_with_unit(abs(of.excess), tick)} {more} than "
            f"the stated {time_with_unit(of.stated, tick)}"
        )
    if len(differ) > _NOTES:
        most = max(abs(of.excess) for of in differ[_NOTES:])
        notes.append(
            f"{len(differ) - _NOTES} more kernels differ from their stated times, by at most "
            f"{time_with_unit(most, tick)}"
        )
    return notes


def of_whole_sms(kernel: Kernel, gpu: GPU, sms: int) -> Kernel | None:
    """A kernel without a shape as one wave of blocks that use all warps of so many SMs.

    None if no blocks can.
    """
    warps = gpu.warps_per_sm
    sizes = range(min(warps, _MOST_WARPS), 0, -1)  # warps of a block
    whole = [k for k in sizes if warps % k == 0 and warps // k <= gpu.blocks_per_sm]
    if not whole:
        return None
    profile = kernel.sms
    return Kernel(
        None if profile else kernel.time,
        blocks=sms * (warps // whole[0]),
        threads=whole[0] * WARP_THREADS,
        sms=profile,
        repeat=kernel.repeat,
        name=kernel.name,
    )


def _resident(kernels: Sequence[Kernel], gpu: GPU) -> dict[tuple[int | None, int, int], int]:
    """Blocks on an SM by threads, registers and shared memory."""
    shapes = sorted({(k.threads, k.regs, k.smem) for k in kernels if k.threads is not None})
    if not shapes:
        return {}
    columns = np.array(shapes, np.int64).T
    found = occupancy(gpu, columns[0], columns[1], columns[2])
    return dict(zip(shapes, found.tolist(), strict=True))


def _times(kernel: Kernel, where: str, gpu: GPU, resident: int) -> KernelTimes:
    profile = kernel.sms
    stated = kernel.time if kernel.has_time else None
    if profile:
        stated = _looked_up(profile, gpu.sms, where)
    if kernel.blocks is None:
        assert stated is not None
        return KernelTimes(kernel, where, gpu.sms, 0, stated, stated, None)
    if resident == 0:
        raise ValueError(
            f"{where}: got blocks of {kernel.threads} threads, {kernel.regs} registers per thread "
            f"and {kernel.smem} bytes of shared memory, expected blocks that fit an SM of "
            f"{gpu.name or 'the GPU'}"
        )
    waves = -(-kernel.blocks // (gpu.sms * resident))
    if kernel.barrier is not None and waves > 1:
        ends = "is a deadlock" if kernel.barrier == "plain" else "fails"
        raise ValueError(
            f"{where}: got {kernel.blocks} blocks that wait for each other, expected at most the "
            f"{gpu.sms * resident} that {plural(gpu.sms, 'SM')} of {gpu.name or 'the GPU'} hold at "
            f"once: a {kernel.barrier} launch of more {ends}"
        )
    block_time = kernel.block_time
    if block_time is None:
        assert stated is not None
        block_time = -(-stated // waves)
    elif kernel.has_time and not 0 <= waves * block_time - kernel.time < waves:
        raise ValueError(
            f"{where}: got {kernel._text_of('time')} and a block time of "
            f"{kernel._text_of('block_time')}, which make {kernel._shown(waves * block_time)} in "
            f"{plural(waves, 'wave')} on {gpu.name or 'the GPU'}, expected one of them, or values "
            "that agree"
        )
    time = _fitting(waves * block_time, where)
    return KernelTimes(kernel, where, gpu.sms, resident, stated, time, block_time)


def _without_gpu(kernel: Kernel, where: str) -> KernelTimes:
    profile = kernel.sms
    if profile:
        time = profile[max(profile)]
    elif kernel.has_time:
        time = kernel.time
    else:
        raise ValueError(f"{where}: got block_time alone, expected a platform with a GPU")
    return KernelTimes(kernel, where, 0, 0, time, time, None)


def _looked_up(profile: dict[int, int], sms: int, where: str) -> int:
    """The time of the largest number of SMs that is at most ``sms``."""
    keys = [k for k in profile if k <= sms]
    if not keys:
        raise ValueError(
            f"{where}: got a profile from {min(profile)} SMs on, expected one that includes {sms}"
        )
    return profile[max(keys)]


def _fitting(time: int, where: str) -> int:
    if time > MOST_TICKS:
        raise OverflowError(f"{where}: got more than 2**60 ticks, expected less")
    return time


Times = Sequence[Sequence[KernelTimes | None]]


def demands(times: Times, platform: Platform) -> list[list[int]] | None:
    """Bytes per second that the kernels of each task move, one for each of its segments.

    None if the platform has no slowdown or no known bandwidth, or if not all kernels say it.

    Raises ValueError for a kernel that moves more than the bandwidth.
    """
    capacity = platform.bandwidth
    if capacity is None or platform.slowdown[1] == 1:
        return None
    found = []
    for row in times:
        own = []
        for of in row:
            if of is None:
                continue
            if (demand := of.demand) is None:
                return None
            if demand > capacity:
                raise ValueError(
                    f"{of.where}: got a traffic of {rate_text(demand)}, expected at most the "
                    f"{rate_text(capacity)} of the platform (bandwidth=)"
                )
            own.append(demand)
        found.append(own)
    return found


def slowdowns(demand: Sequence[Sequence[int]], capacity: int) -> list[list[Fraction]]:
    """The largest factor of each kernel, beside one kernel of every other task.

    >>> from gpusched.model.workload.kernel_waves import slowdowns
    >>> [[str(of) for of in row] for row in slowdowns([[900, 100], [600]], 1000)]
    [['9/5', '1'], ['6/5']]
    """
    largest = [max(own, default=0) for own in demand]
    known: dict[tuple[int, int], Fraction] = {}

    def factor(task: int, own: int) -> Fraction:
        if (task, own) not in known:
            row = np.array([own, *largest[:task], *largest[task + 1 :]], np.int64)
            above, below = _core.bandwidth_slowdowns(row, capacity)
            known[task, own] = Fraction(int(above[0]), int(below[0]))
        return known[task, own]

    return [[factor(i, own) for own in row] for i, row in enumerate(demand)]
