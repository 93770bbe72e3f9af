"""Segments of a task's job: CPU work, waits of its thread, copies and kernels."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from itertools import pairwise
from math import ceil
from typing import Any, ClassVar, Literal, TypedDict, Unpack, cast

from gpusched._support.arguments import flag, one_of
from gpusched._support.text import plural, shown
from gpusched.model.gpu import MAX_SMS
from gpusched.model.gpus.gpu_fields import as_bandwidth, as_bytes
from gpusched.model.gpus.gpu_presets import MOST_DLAS
from gpusched.model.workload.distributions import Distribution, as_distribution
from gpusched.model.workload.facts import Facts, count, label, stored_text
from gpusched.model.workload.time_units import (
    Duration,
    Stored,
    TickLength,
    Time,
    as_factor,
    as_time,
    in_ticks,
    time_with_unit,
)

MOST_REPEATS = 10**6
_COPIERS = ("engine", "cpu")
_BARRIERS = ("cooperative", "plain")
_MOST_BLOCKING = 10_000
_MOST_THREADS = 2**31 - 1
_FINEST_SHARE = 10**9


SegmentTime = Time | Mapping[str, Time] | Distribution
"""A time as an argument of a segment: ticks, text with a unit, or a distribution."""


class _Changes(TypedDict, total=False):
    time: SegmentTime
    repeat: int
    name: str


class _CopyChanges(_Changes, total=False):
    by: Literal["engine", "cpu"]
    blocking: bool
    staged: Time | None


class _DLAChanges(_Changes, total=False):
    on: int


class _KernelChanges(TypedDict, total=False):
    time: SegmentTime | None
    blocks: int | None
    threads: int | None
    regs: int
    smem: int
    block_time: Time | None
    sms: Mapping[int, Time] | float | str | Fraction | None
    bytes: int | str | None
    bandwidth: int | str | None
    barrier: Literal["cooperative", "plain"] | None
    repeat: int
    name: str


class _Timed(Facts):
    """Base of all segments: a time, a number of repetitions, a name."""

    __slots__ = ("_spread", "_time", "name", "repeat")

    _TIMES: ClassVar[frozenset[str]] = frozenset({"_time"})
    _NESTED: ClassVar[frozenset[str]] = frozenset({"_spread"})

    _time: Stored | None
    _spread: Distribution | None
    repeat: int
    name: str

    @property
    def time(self) -> int:
        """Execution time of one repetition of the segment, alone, in ticks.

        Raises ValueError if the time was given as text and the segment is not yet part of a
        `Workload`, and for a kernel whose time is not given.
        """
        return self._ticks(self._time, "time")

    @property
    def distribution(self) -> Distribution | None:
        """The distribution of the time, of which `time` is the largest; None if none is given."""
        return self._spread

    def _given(self) -> dict[str, object]:
        found = super()._given()
        spread = found.pop("spread")
        return found if spread is None else {**found, "time": spread}

    def _converted(self, key: str, value: Any, tick: TickLength) -> object:
        if key != "_spread":
            return super()._converted(key, value, tick)
        return None if value is None else value.in_ticks(self._tick, tick, "time")

    def _argument(self, key: str) -> str | None:
        if self._spread is None or key not in ("_time", "_spread"):
            return super()._argument(key)
        if key == "_spread":
            return None
        given = self._spread.given()
        return repr(given if self._tick is None else self._spread.with_units(self._tick))


def _with_distribution(time: object) -> tuple[Stored, Distribution | None]:
    """A time, the largest of a distribution, and the distribution if there is one."""
    spread = as_distribution(time, "time")
    return (as_time(time, "time") if spread is None else spread.largest), spread


class CPU(_Timed):
    """CPU work of a job.

    >>> gs.CPU("2ms", name="preprocess")
    CPU('2ms', name='preprocess')

    Parameters
    ----------
    time
        Execution time: a positive number of ticks, or text with a unit. Or a distribution: a
        mapping with quantiles, the ``largest`` time and the ``count`` of samples, such as
        ``{"p50": "3ms", "p99": "4.1ms", "largest": "5ms", "count": 12000}``. Tests take the
        largest, or a quantile that they are asked for (``gs.analyze(times="p99")``); simulations
        draw from it.
    repeat
        Number of times that the segment runs in a row, 1 to 1,000,000. Those of a segment with a
        distribution take equally long in a job, when times are drawn.
    name
        Label of the segment.

    Raises
    ------
    ValueError, TypeError, OverflowError
        An argument is invalid; the message names it.
    """

    __slots__ = ()

    _KEYS: ClassVar[tuple[str, ...]] = ("_time", "repeat", "name", "_spread")

    def __init__(self, time: SegmentTime, *, repeat: int = 1, name: str = "") -> None:
        whole, spread = _with_distribution(time)
        self._put(
            (
                whole,
                count(repeat, "repeat", 1, MOST_REPEATS),
                label(name, "name", empty=True),
                spread,
            )
        )

    def replace(self, **changes: Unpack[_Changes]) -> CPU:
        """Return a copy with some arguments changed; numbers are ticks as before."""
        return cast(CPU, _changed(self, changes))


class Sync(CPU):
    """A wait of the task's thread until all that the job has launched has ended.

    It is ``cudaStreamSynchronize`` between kernels, or of an event: what follows is launched only
    after it, once the thread has a CPU again. The thread leaves its core or spins there, as the way
    of sharing says (``mode``). CPU work waits by itself; a wait behind it changes nothing. Models
    take it for CPU work that takes no time.

    >>> gs.Sync(), gs.Sync().time
    (Sync(), 0)

    Parameters
    ----------
    name
        Label of the segment.
    """

    __slots__ = ()

    def __init__(self, *, name: str = "") -> None:
        self._put((0, 1, label(name, "name", empty=True), None))

    def replace(self, **changes: Unpack[_Changes]) -> Sync:
        """Return a copy with another ``name``; a wait has no time to change."""
        known: dict[str, object] = {"time": 0, "repeat": 1, "name": changes.get("name")}
        if others := [key for key, value in changes.items() if value != known.get(key)]:
            raise ValueError(f"{others[0]}: got one of a Sync, expected none; it takes no time")
        made = Sync(name=changes.get("name", self.name))
        return made if self._tick is None else made._at(self._tick)

    def _given(self) -> dict[str, object]:
        return {"name": self.name}

    def _argument(self, key: str) -> str | None:
        return None if key == "_time" else super()._argument(key)


class _Copy(_Timed):
    """Base of the copies."""

    __slots__ = ("_staged", "blocking", "by")

    _KEYS: ClassVar[tuple[str, ...]] = (
        *("_time", "by", "blocking", "_staged", "repeat", "name", "_spread"),
    )
    _TIMES: ClassVar[frozenset[str]] = frozenset({"_time", "_staged"})

    by: Literal["engine", "cpu"]
    blocking: bool
    _staged: Stored | None

    def __init__(
        self,
        time: SegmentTime,
        *,
        by: Literal["engine", "cpu"] = "engine",
        blocking: bool = False,
        staged: Time | None = None,
        repeat: int = 1,
        name: str = "",
    ) -> None:
        one_of(by, _COPIERS, "by")
        waits = flag(blocking, "blocking")
        for key, given in (("blocking", waits), ("staged", staged is not None)):
            if given and by == "cpu":
                raise ValueError(f"{key}: got it of a copy by the CPU, expected one by an engine")
        whole, spread = _with_distribution(time)
        times = count(repeat, "repeat", 1, MOST_REPEATS)
        if (waits or staged is not None) and times > 1:
            if times > _MOST_BLOCKING:
                raise ValueError(
                    f"repeat: got {times} of a copy for which its thread waits, expected at most "
                    f"{_MOST_BLOCKING}"
                )
            if spread is not None:
                raise ValueError(
                    f"repeat: got {times} of a copy for which its thread waits, with a "
                    "distribution, expected 1"
                )
        self._put(
            (
                whole,
                by,
                waits,
                None if staged is None else as_time(staged, "staged"),
                times,
                label(name, "name", empty=True),
                spread,
            )
        )

    @property
    def staged(self) -> int | None:
        """CPU time of staging one repetition in ticks; None for page-locked memory."""
        return None if self._staged is None else self._ticks(self._staged, "staged")

    @classmethod
    def _unsaid(cls, name: str) -> object:
        return {"by": "engine", "blocking": False}.get(name, super()._unsaid(name))

    @property
    def has_waits(self) -> bool:
        """Whether the thread waits for the copy in itself: it blocks, or the driver stages it."""
        return self.blocking or self._staged is not None


class CopyIn(_Copy):
    """A copy from host memory to the GPU.

    >>> gs.CopyIn("300us", blocking=True)
    CopyIn('300us', blocking=True)
    >>> gs.CopyIn("300us", staged="400us")
    CopyIn('300us', staged='400us')

    Parameters
    ----------
    time, repeat, name
        See `CPU`. Of a copy with ``blocking`` or ``staged`` at most 10,000 repetitions, and 1 with
        a distribution.
    by
        Unit that performs the copy: ``"engine"`` (a copy engine of the GPU) or ``"cpu"`` (the
        copy counts as CPU work).
    blocking
        Whether the thread waits until the copy has ended, and with it all that the job launched
        before, as ``cudaMemcpy`` does: the copy is followed by a `Sync`.
    staged
        CPU time for which the driver copies between pageable memory and a page-locked buffer of its
        own; ``time`` is that of the engine. Into the GPU, the thread first waits for its stream,
        then copies to the buffer, and goes on while the engine copies from there (unless
        ``blocking``); out of it, the thread waits for the engine, then copies from the buffer. The
        driver copies large memory in pieces, of which one may be staged while another is with the
        engine: then the two times together are longer than the copy. None: the memory is
        page-locked. (CUDA Runtime API, "API synchronization behavior".)

    Raises
    ------
    ValueError, TypeError, OverflowError
        An argument is invalid; the message names it.
    """

    __slots__ = ()

    def replace(self, **changes: Unpack[_CopyChanges]) -> CopyIn:
        """Return a copy with some arguments changed; numbers are ticks as before."""
        return cast(CopyIn, _changed(self, changes))


class CopyOut(_Copy):
    """A copy from the GPU to host memory; the arguments are those of `CopyIn`.

    >>> gs.CopyOut("120us").by
    'engine'
    """

    __slots__ = ()

    def replace(self, **changes: Unpack[_CopyChanges]) -> CopyOut:
        """Return a copy with some arguments changed; numbers are ticks as before."""
        return cast(CopyOut, _changed(self, changes))


class DLA(_Timed):
    """Work on a deep learning accelerator beside the GPU, such as NVIDIA's DLA on Jetson modules.

    It is in the stream of its task: it begins when what was launched before it has ended, and the
    thread waits for it as for a kernel. A DLA works for one job at a time, in the order in which
    work reaches it, and is never preempted. It shares the memory with the GPU: guarantees of
    programs in which both work at once are conditional on times that were measured side by side.

    >>> gs.DLA("20ms", on=1)
    DLA('20ms', on=1)

    Parameters
    ----------
    time, repeat, name
        See `CPU`; the time is that of the work alone on its DLA.
    on
        Number of the DLA, 0 to 3.

    Raises
    ------
    ValueError, TypeError, OverflowError
        An argument is invalid; the message names it.
    """

    __slots__ = ("on",)

    _KEYS: ClassVar[tuple[str, ...]] = ("_time", "on", "repeat", "name", "_spread")

    on: int

    def __init__(self, time: SegmentTime, *, on: int = 0, repeat: int = 1, name: str = "") -> None:
        whole, spread = _with_distribution(time)
        self._put(
            (
                whole,
                count(on, "on", 0, MOST_DLAS - 1),
                count(repeat, "repeat", 1, MOST_REPEATS),
                label(name, "name", empty=True),
                spread,
            )
        )

    @classmethod
    def _unsaid(cls, name: str) -> object:
        return 0 if name == "on" else super()._unsaid(name)

    def replace(self, **changes: Unpack[_DLAChanges]) -> DLA:
        """Return a copy with some arguments changed; numbers are ticks as before."""
        return cast(DLA, _changed(self, changes))


class Kernel(_Timed):
    """A kernel: its execution time alone on the whole GPU of the platform, and its shape.

    For a given platform, these determine the number of waves, the time of one block (the time
    divided by the number of waves, rounded up) and the time on fewer SMs. A kernel without a shape
    is known by its time alone. By default it fills the GPU: its blocks, whatever they are, take all
    SMs together, and no other kernel runs beside it. On k of m SMs it takes at most ceil(m / k)
    times its time, as any kernel of equal blocks does.

    >>> gs.Kernel("4.1ms", blocks=120, threads=256, regs=64)
    Kernel('4.1ms', blocks=120, threads=256, regs=64)
    >>> gs.Kernel(sms={1: "40ms", 4: "11ms"}).sms_text
    '1: 40ms, 4: 11ms'
    >>> gs.Kernel("34.5ms", sms=.5).share
    Fraction(1, 2)

    Parameters
    ----------
    time
        Execution time alone on all SMs, as of `CPU`. Required unless ``sms`` or ``block_time`` is
        given; a distribution excludes ``block_time`` and measured times.
    blocks, threads
        Grid size in blocks, and threads per block. Give both or neither.
    regs, smem
        Registers per thread, and bytes of shared memory per block (static plus dynamic).
    block_time
        Measured time of one block, used instead of the derived one. Requires a shape. If ``time``
        is given, too, it has to be the time of all waves on the platform's GPU, except for
        rounding to ticks.
    sms
        Measured times by number of SMs, such as ``{4: "11ms", 8: "6ms"}``, used instead of derived
        times. Between two entries, the time for the smaller number of SMs applies. Times must not
        increase with the number of SMs. Or, for a kernel with a time and without a shape, the share
        of the SMs that it needs for its full speed, above 0 and up to 1, such as ``0.5`` or
        ``"1/3"``; it leaves the others free.
    bytes, bandwidth
        Traffic with the memory of the GPU, as profilers state it (Nsight Compute: dram__bytes.sum):
        the bytes that the kernel moves (a number, or text such as ``"120MB"``), or those per second
        (``"400GB/s"``) while it runs alone. Give at most one. If all kernels of a workload have it,
        and the bandwidth of the platform is known, they slow each other as their max-min shares of
        that bandwidth say, and not by the constant factor of ``gs.Platform(slowdown=)``.
    barrier
        For a kernel whose blocks wait for each other, as in grid barriers and persistent kernels:
        ``"cooperative"`` for a cooperative launch, all blocks of which start at one instant or
        none, and ``"plain"`` for any other. It requires a shape. More blocks than the SMs hold at
        once are refused: their plain launch is a deadlock, their cooperative one fails. Kernels
        that share the SMs can keep some blocks of a plain launch out, two such launches each other
        without end: only ways in which no other kernel runs meanwhile take it. The tests of the
        other ways do not take cooperative launches either; simulations do.
    repeat, name
        See `CPU`.

    Raises
    ------
    ValueError, TypeError, OverflowError
        Arguments are invalid, contradict each other, or are missing.
    """

    __slots__ = (
        *("_block_time", "_sms", "bandwidth", "barrier", "blocks", "bytes", "regs", "smem"),
        "threads",
    )

    _KEYS: ClassVar[tuple[str, ...]] = (
        *("_time", "blocks", "threads", "regs", "smem", "_block_time", "_sms", "bytes"),
        *("bandwidth", "barrier", "repeat", "name", "_spread"),
    )
    _TIMES: ClassVar[frozenset[str]] = frozenset({"_time", "_block_time"})
    _NESTED: ClassVar[frozenset[str]] = frozenset({"_sms", "_spread"})

    blocks: int | None
    threads: int | None
    regs: int
    smem: int
    _block_time: Stored | None
    _sms: tuple[tuple[int, Stored], ...] | Fraction
    bytes: int | None
    bandwidth: int | None
    barrier: Literal["cooperative", "plain"] | None

    def __init__(
        self,
        time: SegmentTime | None = None,
        *,
        blocks: int | None = None,
        threads: int | None = None,
        regs: int = 0,
        smem: int = 0,
        block_time: Time | None = None,
        sms: Mapping[int, Time] | float | str | Fraction | None = None,
        bytes: int | str | None = None,
        bandwidth: int | str | None = None,
        barrier: Literal["cooperative", "plain"] | None = None,
        repeat: int = 1,
        name: str = "",
    ) -> None:
        if barrier is not None:
            one_of(barrier, _BARRIERS, "barrier")
            if blocks is None:
                raise ValueError(
                    f"barrier: got {barrier!r} without blocks, expected blocks and threads"
                )
        if bytes is not None and bandwidth is not None:
            raise ValueError(f"bytes: got {shown(bytes)} with bandwidth, expected one of them")
        if (blocks is None) != (threads is None):
            missing = "threads" if threads is None else "blocks"
            raise ValueError(f"{missing}: got None, expected blocks and threads, or neither")
        if blocks is None and (regs != 0 or smem != 0 or block_time is not None):
            raise ValueError(
                "blocks: got None with regs, smem or block_time, expected blocks and threads, too"
            )
        profile = () if sms is None else _profile(sms)
        if isinstance(profile, Fraction) and (blocks is not None or time is None):
            missing = "no time" if blocks is None else "blocks"
            raise ValueError(
                f"sms: got a share of the SMs with {missing}, expected it with a time alone; the "
                "blocks of a kernel say how many SMs it needs"
            )
        if time is None and block_time is None and not profile:
            raise ValueError("time: got None, expected a time, or block_time or sms in its place")
        whole, spread = (None, None) if time is None else _with_distribution(time)
        measured = block_time is not None or (isinstance(profile, tuple) and len(profile) > 0)
        if spread is not None and measured:
            other = "sms" if block_time is None else "block_time"
            raise ValueError(f"{other}: got one with a distribution of times, expected none")
        self._put(
            (
                whole,
                None if blocks is None else count(blocks, "blocks", 1),
                None if threads is None else count(threads, "threads", 1, _MOST_THREADS),
                count(regs, "regs", 0, _MOST_THREADS),
                count(smem, "smem", 0, _MOST_THREADS),
                None if block_time is None else as_time(block_time, "block_time"),
                profile,
                None if bytes is None else as_bytes(bytes, "bytes"),
                None if bandwidth is None else as_bandwidth(bandwidth, "bandwidth", 0),
                barrier,
                count(repeat, "repeat", 1, MOST_REPEATS),
                label(name, "name", empty=True),
                spread,
            )
        )
        self._check()

    @property
    def has_shape(self) -> bool:
        """Whether the grid size and the threads per block are given."""
        return self.blocks is not None

    @property
    def has_time(self) -> bool:
        """Whether the time on the whole GPU is given."""
        return self._time is not None

    @property
    def block_time(self) -> int | None:
        """Time of one block in ticks as given; None if it is derived."""
        given = self._block_time
        return None if given is None else self._ticks(given, "block_time")

    @property
    def sms(self) -> dict[int, int] | None:
        """Measured times in ticks by number of SMs, ascending; None without measurements."""
        profile = self._profile
        return {k: self._ticks(time, "sms") for k, time in profile} if profile else None

    @property
    def share(self) -> Fraction | None:
        """Share of the SMs that a kernel without a shape needs, as given; None if it is not."""
        return self._sms if isinstance(self._sms, Fraction) else None

    @property
    def sms_text(self) -> str:
        """The measured times as text, with units where they were given with units; or the share."""
        if isinstance(self._sms, Fraction):
            return _share_text(self._sms)
        return ", ".join(f"{k}: {self._shown(time)}" for k, time in self._sms)

    @property
    def _profile(self) -> tuple[tuple[int, Stored], ...]:
        return () if isinstance(self._sms, Fraction) else self._sms

    def replace(self, **changes: Unpack[_KernelChanges]) -> Kernel:
        """Return a copy with some arguments changed; numbers are ticks as before."""
        return cast(Kernel, _changed(self, changes))

    def _given(self) -> dict[str, object]:
        return {**super()._given(), "sms": self.share or dict(self._profile) or None}

    def _converted(self, key: str, value: Any, tick: TickLength) -> object:
        if key != "_sms":
            return super()._converted(key, value, tick)
        if isinstance(value, Fraction):
            return value
        return tuple((k, in_ticks(time, self._tick, tick, f"sms[{k}]")) for k, time in value)

    def _check(self) -> None:
        profile = self._profile
        for (few, slow), (many, fast) in pairwise(profile):
            if type(slow) is type(fast) and _longer(fast, slow):
                raise ValueError(
                    f"sms[{many}]: got {self._shown(fast)}, expected at most the "
                    f"{self._shown(slow)} on {plural(few, 'SM')}"
                )

        if self._time is not None and self._block_time is not None:
            if type(self._time) is type(self._block_time) and _longer(self._block_time, self._time):
                raise ValueError(
                    f"block_time: got {self._text_of('block_time')}, expected at most the time of "
                    f"the kernel, {self._text_of('time')}"
                )

    def _text_of(self, name: Literal["time", "block_time"]) -> str:
        """A time as text, with its unit if it has one."""
        time = self._time if name == "time" else self._block_time
        assert time is not None
        return self._shown(time)

    def _shown(self, time: Stored) -> str:
        if isinstance(time, Duration):
            return time.text
        return str(time) if self._tick is None else time_with_unit(time, self._tick)

    def _argument(self, key: str) -> str | None:
        if key != "_sms":
            return super()._argument(key)
        if isinstance(self._sms, Fraction):
            return repr(_share_text(self._sms))
        times = (f"{k}: {stored_text(time, self._tick)}" for k, time in self._sms)
        return f"{{{', '.join(times)}}}" if self._sms else None


def Engine(
    time: SegmentTime,
    *,
    kernels: int = 1,
    sms: Mapping[int, Time] | float | str | Fraction | None = None,
    bytes: int | str | None = None,
    bandwidth: int | str | None = None,
    on: str = "gpu",
    name: str = "",
) -> Kernel | DLA:
    """Make the segment of an inference engine that is known by its time alone.

    On the GPU it is a `Kernel` without a shape, repeated: the kernels of the engine have equal
    times, rounded up to whole ticks or, of text with a unit, nanoseconds. Their number matters for
    what a launch costs, which depends on ``launches=`` of the task, and for how often others may
    come between.

    >>> gs.Engine("34.5ms", kernels=120)
    Kernel('287500ns', repeat=120)
    >>> gs.Engine("20ms", on="dla1")
    DLA('20ms', on=1)

    Parameters
    ----------
    time
        Time of the engine alone on the GPU, as of `CPU`. Of a distribution, all kernels of a job
        take the same share.
    kernels
        Number of kernels that it launches, 1 to 1,000,000.
    sms, bytes, bandwidth
        As of `Kernel`; measured times and bytes are those of the whole engine.
    on
        ``"gpu"``, or ``"dla0"`` to ``"dla3"`` for an engine that was built for a DLA: a `DLA`, of
        which ``kernels`` are the parts, and which has no ``sms``, ``bytes`` and ``bandwidth``.
    name
        Label of the segment.

    Raises
    ------
    ValueError, TypeError, OverflowError
        An argument is invalid; the message names it.
    """
    parts = count(kernels, "kernels", 1, MOST_REPEATS)
    one_of(on, ("gpu", *_DLA_NAMES), "on")

    def divided(stored: Stored) -> Time:
        if not isinstance(stored, Duration):
            return -(-stored // parts)
        return stored.text if parts == 1 else f"{ceil(stored.ns / parts)}ns"

    given = () if sms is None else _profile(sms)
    each = given if isinstance(given, Fraction) else {k: divided(of) for k, of in given} or None
    moved = None if bytes is None else -(-as_bytes(bytes, "bytes") // parts)
    spread = as_distribution(time, "time")
    if on != "gpu":
        for key, value in (("sms", sms), ("bytes", bytes), ("bandwidth", bandwidth)):
            if value is not None:
                raise ValueError(f"{key}: got {shown(value)} of an engine on {on}, expected none")
        each_part = divided(as_time(time, "time")) if spread is None else spread.divided(parts)
        return DLA(each_part, on=_DLA_NAMES.index(on), repeat=parts, name=name)
    return Kernel(
        divided(as_time(time, "time")) if spread is None else spread.divided(parts),
        sms=each,
        bytes=moved,
        bandwidth=bandwidth,
        repeat=parts,
        name=name,
    )


_DLA_NAMES = tuple(f"dla{number}" for number in range(MOST_DLAS))

Segment = CPU | CopyIn | CopyOut | DLA | Kernel
"""A segment of a job; a `Sync` is CPU work without a time."""


def _changed(segment: Facts, changes: Mapping[str, object]) -> Facts:
    made = type(segment)(**{**segment._given(), **changes})
    return made if segment._tick is None else made._at(segment._tick)


def _profile(sms: object) -> tuple[tuple[int, Stored], ...] | Fraction:
    """Measured times by number of SMs, or a share of the SMs."""
    if isinstance(sms, (int, float, str, Fraction)):
        return _share(sms)
    if not isinstance(sms, Mapping) or not sms:
        raise TypeError(
            f"sms: got {shown(sms)}, expected times by number of SMs, or a share of them"
        )
    times = {}
    for key, time in sms.items():
        k = count(key, "sms", 1, MAX_SMS)
        times[k] = as_time(time, f"sms[{k}]")
    return tuple(sorted(times.items()))


def _share(sms: float | str | Fraction) -> Fraction:
    """A share of the SMs, exactly: of a float, that of the decimal that it is written as."""
    expected = "expected a share of the SMs above 0 and up to 1, or times by number of SMs"
    above, slash, below = sms.partition("/") if isinstance(sms, str) else (sms, "", "")
    try:
        share = as_factor(float.__repr__(above) if isinstance(above, float) else above, "sms")
        share /= as_factor(below if slash else 1, "sms")
    except (ValueError, TypeError) as error:
        raise type(error)(f"sms: got {shown(sms)}, {expected}") from None
    if not 0 < share <= 1 or share.denominator > _FINEST_SHARE:
        raise ValueError(f"sms: got {shown(sms)}, {expected}")
    return share


def _share_text(share: Fraction) -> str:
    """A share as decimal text where that is exact, and else as a fraction."""
    text = repr(float(share))
    return text if "e" not in text and Fraction(text) == share else str(share)


def _longer(one: Stored, other: Stored) -> bool:
    if isinstance(one, Duration) and isinstance(other, Duration):
        return one.ns > other.ns
    return type(one) is int and type(other) is int and one > other
