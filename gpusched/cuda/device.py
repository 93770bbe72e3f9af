"""A device in use, and runs of kernels and copies on it with their recorded times."""

from __future__ import annotations

import os
import threading
from collections.abc import Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from gpusched import _core
from gpusched._support.arguments import Int64Array, frozen, integer, one_of
from gpusched._support.registry import enumeration
from gpusched.cuda.driver import driver, image, launch_offsets, limits, why_not
from gpusched.io.block_log import BlockLog
from gpusched.model.gpu import GPU, occupancy
from gpusched.model.gpus.gpu_presets import fields_of_preset

KINDS = enumeration("cuda.operation")
INVALID_VALUE = 1
WARM_NS = 50_000_000
"""Time for which a device is kept busy before calibration."""
STREAM_KINDS = enumeration("cuda.stream_kind")
_opening = threading.Lock()


@dataclass(frozen=True)
class Operation:
    """A spin kernel, a copy or a memset to launch.

    >>> kernel = gs.cuda.Operation(stream=0, blocks=4, threads=256, ns=10_000, name="camera")
    >>> kernel.kind, kernel.blocks
    ('kernel', 4)

    Attributes
    ----------
    stream
        Index of the stream.
    blocks, threads, regs, smem
        For a kernel: number of blocks, threads per block, minimum registers per thread (the variant
        of the kernel with the fewest registers that are at least this many is used; 0 for the
        smallest), and bytes of dynamic shared memory per block.
    ns
        Minimum time of each block by the clock of the device, independent of interference.
    iterations
        Number of arithmetic steps of each thread, whose time depends on interference; see
        ``Device.iterations``.
    bytes
        For a kernel, the size of the memory that its steps read and write; for other operations,
        the number of bytes copied or set. Copies and memsets of one stream use the same memory.
    at
        Earliest time of the launch, in ns after the start of the run.
    cluster
        For a kernel, blocks of a cluster, 1 to 16, a divisor of ``blocks``; 1: no clusters. Sizes
        above 1 need compute capability 9.0.
    trigger, programmatic
        Programmatic dependent launch, from compute capability 9.0 on: time after a block's start at
        which it lets the next kernel of its stream start, in ns, less than ``ns`` (0: at its end);
        and whether this kernel starts at the triggers of the one before it.
    graph
        Handle of an instantiated graph (CUgraphExec), such as one captured by PyTorch or CuPy on
        this device. It is not checked; an invalid handle crashes the process.
    kind
        "kernel", "copy_in", "copy_out", "memset" or "graph".
    name
        Name in logs.
    """

    stream: int = 0
    blocks: int = 1
    threads: int = 32
    regs: int = 0
    smem: int = 0
    ns: int = 0
    iterations: int = 0
    bytes: int = 0
    at: int = 0
    graph: int = 0
    cluster: int = 1
    trigger: int = 0
    programmatic: bool = False
    kind: str = "kernel"
    name: str = ""


@dataclass(frozen=True)
class Stream:
    """A stream.

    ``kind`` is "non_blocking", "blocking" (synchronises with the NULL stream) or "null" (the NULL
    stream itself). A smaller ``priority`` is a higher priority. ``partition`` is the index of its
    green context in a run with several.

    >>> gs.cuda.Stream(priority=-1).kind
    'non_blocking'
    """

    priority: int = 0
    kind: str = "non_blocking"
    partition: int = 0


@dataclass(frozen=True, eq=False, repr=False)
class Run:
    """Record of R repetitions of N operations with B blocks; times in ns, int64 arrays.

    >>> kernel = gs.cuda.Operation(stream=0, blocks=4, threads=256, ns=10_000)
    >>> if gs.cuda.is_available():
    ...     with gs.cuda.Device(0) as device:
    ...         run = device.run([kernel], [gs.cuda.Stream()])

    Attributes
    ----------
    begin, end
        Host time before the first launch, and after the final wait; shape ``(R,)``.
    called, returned
        Host time before and after the launch of each operation; ``(R, N)``.
    block_start, block_end, block_sm
        Device time of the start and end of each block, and its SM, ordered by kernel; ``(R, B)``.
    kernel, block
        The operation that each block belongs to, and its number in the grid; ``(B,)``.
    regs
        Registers per thread of each operation's kernel; ``(N,)``.
    sms
        Number of SMs of each green context; 0 if the whole device was used.
    """

    operations: tuple[Operation, ...]
    streams: tuple[Stream, ...]
    begin: Int64Array
    end: Int64Array
    called: Int64Array
    returned: Int64Array
    block_start: Int64Array
    block_end: Int64Array
    block_sm: Int64Array
    kernel: Int64Array
    block: Int64Array
    regs: Int64Array
    sms: int

    def __len__(self) -> int:
        return len(self.begin)

    def __repr__(self) -> str:
        return f"<Run: {len(self.operations)} operations, {len(self)} times>"

    @property
    def elapsed(self) -> Int64Array:
        """Time from the first launch to the return of the wait, ``(R,)``."""
        return self.end - self.begin

    def _reduced(self, function: np.ufunc, values: Int64Array) -> Int64Array:
        kernels = [i for i, op in enumerate(self.operations) if op.kind == "kernel"]
        result = np.full((len(self), len(self.operations)), -1, np.int64)
        if kernels:
            first = np.searchsorted(self.kernel, kernels)
            result[:, kernels] = function.reduceat(values, first, axis=1)
        return result

    @property
    def first(self) -> Int64Array:
        """Device: start of each kernel's first block, ``(R, N)``; -1 for other operations."""
        return self._reduced(np.minimum, self.block_start)

    @property
    def dispatched(self) -> Int64Array:
        """Device: start of each kernel's last block, ``(R, N)``; -1 for other operations."""
        return self._reduced(np.maximum, self.block_start)

    @property
    def last(self) -> Int64Array:
        """Device: end of each kernel's last block, ``(R, N)``; -1 for other operations."""
        return self._reduced(np.maximum, self.block_end)

    @property
    def resident_at_once(self) -> npt.NDArray[np.bool_]:
        """Whether all blocks of all kernels were resident at the same time, ``(R,)``."""
        if not len(self.kernel):
            return np.ones(len(self), np.bool_)
        return np.asarray(self.block_start.max(axis=1) < self.block_end.min(axis=1))

    def sm(self, operation: int, repeat: int = 0) -> list[int]:
        """The SMs of a kernel's blocks, in block order."""
        sms: list[int] = self.block_sm[repeat, self.kernel == operation].tolist()
        return sms

    @property
    def clock_offset(self) -> tuple[int, int]:
        """Lower and upper bound of host time minus device time, in ns, over all repetitions.

        No block starts before the call of its launch, and none ends after the return of the wait.
        In a long run, clock drift can make the lower bound exceed the upper one.
        """
        return self._offset(slice(None))

    def _offset(self, rows: slice) -> tuple[int, int]:
        if not len(self.kernel):
            raise ValueError(
                "operations: got no kernel, expected at least one to compare the clocks"
            )
        low = int((self.called[rows, self.kernel] - self.block_start[rows]).max())
        high = int((self.end[rows, None] - self.block_end[rows]).min())
        return low, high

    def log(self, repeat: int = 0) -> BlockLog:
        """Return the block log of one repetition.

        Launch times are converted to the clock of the device by a line, as the clocks drift apart
        in a long repetition; they are not later than the kernel's first block.
        """
        if not 0 <= integer(repeat, "repeat") < len(self):
            raise ValueError(f"repeat: got {repeat}, expected 0 to {len(self) - 1}")
        rows = [i for i, op in enumerate(self.operations) if op.kind == "kernel"]
        number = {i: row for row, i in enumerate(rows)}
        ops = [self.operations[i] for i in rows]
        first, last = self.first[repeat, rows], self.last[repeat, rows]
        called = self.called[repeat, rows]
        self._offset(slice(repeat, repeat + 1))  # refuses a run without kernels
        offset, _ = launch_offsets(called, first, last, int(self.end[repeat]))
        launch = np.minimum(called - offset, first)
        used = sorted({op.stream for op in ops})
        return BlockLog(
            name=[op.name or f"kernel {i}" for i, op in zip(rows, ops, strict=True)],
            stream=[used.index(op.stream) for op in ops],
            launch=launch,
            blocks=[op.blocks for op in ops],
            threads=[op.threads for op in ops],
            regs=self.regs[rows],
            smem=[op.smem for op in ops],
            kernel=[number[i] for i in self.kernel.tolist()],
            block=self.block,
            sm=self.block_sm[repeat],
            start=self.block_start[repeat],
            end=self.block_end[repeat],
            priority=[self.streams[op.stream].priority for op in ops],
            stream_name=[f"stream {s}" for s in used],
        )


@dataclass(frozen=True)
class OccupancyCheck:
    """Comparison of computed occupancies with the driver's.

    >>> check = gs.cuda.OccupancyCheck(*np.array([[256], [32], [0], [8], [8]]))
    >>> bool((check.ours == check.driver).all())
    True

    Attributes
    ----------
    threads, regs, smem
        Shapes of blocks: threads, registers per thread, bytes of shared memory; shape ``(K,)``.
    ours, driver
        Blocks per SM by ``gs.occupancy`` and by the driver; shape ``(K,)``.
    """

    threads: Int64Array
    regs: Int64Array
    smem: Int64Array
    ours: Int64Array
    driver: Int64Array

    @property
    def agrees(self) -> bool:
        """Whether there is no difference."""
        return bool((self.ours == self.driver).all())

    def differences(self) -> list[tuple[int, int, int, int, int]]:
        """Rows that differ: (threads, registers, shared memory, ours, driver)."""
        rows = np.flatnonzero(self.ours != self.driver)
        columns = [getattr(self, f.name)[rows].tolist() for f in fields(self)]
        return [(a, b, c, d, e) for a, b, c, d, e in zip(*columns, strict=True)]


@dataclass(eq=False)
class Device:
    """A CUDA device in use: its primary context, which PyTorch and CuPy share.

    >>> if gs.cuda.is_available():
    ...     with gs.cuda.Device(0) as device:
    ...         gpu = device.gpu

    Parameters
    ----------
    index
        Number of the device, from 0.
    channels
        Hardware queues for streams, 1 to 32 (CUDA_DEVICE_MAX_CONNECTIONS). It has an effect only
        before the first use of the device in this process. None for the driver's default, usually
        8.

    Raises
    ------
    CudaError
        No device can be used (see ``why_not()``), or an error of the driver.
    ValueError
        An unknown device; channels out of range, or set after the first use of the device.

    A device is used by one thread at a time, is released by ``close()`` or ``with``, and cannot be
    used in a forked process. After an error that destroyed its context, such as an illegal memory
    access, it cannot be used in this process.
    """

    index: int = 0
    channels: int | None = None
    name: str = field(init=False)
    gpu: GPU = field(init=False)
    limits: dict[str, int] = field(init=False, repr=False)
    regs: tuple[int, ...] = field(init=False, repr=False)
    priorities: tuple[int, int] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        if self.channels is not None and not 1 <= integer(self.channels, "channels") <= 32:
            raise ValueError(f"channels: got {self.channels}, expected 1 to 32")
        with _opening:  # which sets a variable of the environment that others would read
            was_active = self._open()
        if was_active and self.channels is not None:
            self.close()
            raise ValueError("channels: expected None, as this process already uses the device")

    def _open(self) -> bool:
        """Open the device; whether this process had used it before."""
        variable = "CUDA_DEVICE_MAX_CONNECTIONS"
        before = os.environ.get(variable)
        if self.channels is not None:
            os.environ[variable] = str(self.channels)
        try:  # a driver may read it when it is opened, before it creates the context
            if (reason := why_not()) is not None:
                raise _core.CudaError(reason, "", 0)
            self.name, self.limits = limits(integer(self.index, "index"))
            self.gpu = from_limits(self.name, self.limits)
            self._handle = driver().device(self.index, image())
            regs, least, greatest, was_active = self._handle.info()
        finally:
            if self.channels is not None:
                if before is None:
                    del os.environ[variable]
                else:
                    os.environ[variable] = before
        self.regs = tuple(regs.tolist())
        self.priorities = (greatest, least)
        self._steps: dict[Operation, tuple[float, float]] = {}
        return bool(was_active)

    def close(self) -> None:
        """Release the device; may be called twice."""
        self._handle.close()

    def __enter__(self) -> Device:
        return self

    def __exit__(self, *_: Any) -> None:
        self.close()

    def __reduce__(self) -> Any:
        raise TypeError("device: got one of another process, expected its index (open it there)")

    def variant(self, regs: int) -> int:
        """Index of the spin kernel with the fewest, but at least ``regs``, registers per thread."""
        fitting = [(have, i) for i, have in enumerate(self.regs) if have >= regs]
        if not fitting:
            raise ValueError(f"regs: got {regs}, expected at most {max(self.regs)}")
        return min(fitting)[1]

    def run(
        self,
        operations: Sequence[Operation],
        streams: Sequence[Stream] | None = None,
        *,
        repeats: int = 1,
        sms: int = 0,
        partitions: int = 1,
        stop: Any = None,
    ) -> Run:
        """Launch the operations in the given order and wait for all of them, ``repeats`` times.

        Parameters
        ----------
        operations
            Kernels, copies, memsets and graphs.
        streams
            The streams by index. Default: non-blocking streams of priority 0.
        repeats
            Number of repetitions R.
        sms
            Minimum number of SMs of a green context to run on; 0 for the whole device.
        partitions
            Number of green contexts of ``sms`` SMs each, which have no SM in common; each stream is
            in that of its ``partition``.
        stop
            Writable buffer of one byte; a value other than 0 cancels the run.

        Returns
        -------
        Run
            Times of all repetitions.
        """
        ops = tuple(operations)
        used = max((op.stream for op in ops), default=-1) + 1
        made = tuple(Stream() for _ in range(used)) if streams is None else tuple(streams)
        for op in ops:
            one_of(op.kind, KINDS, "kind")
        for stream in made:
            one_of(stream.kind, STREAM_KINDS, "stream kind")
        variant = [self.variant(op.regs) if op.kind == "kernel" else 0 for op in ops]

        def of_all(key: str) -> Int64Array:
            return whole([getattr(op, key) for op in ops], key)

        answer = self._handle.run(
            whole([KINDS.index(op.kind) for op in ops], "kind"),
            of_all("stream"),
            of_all("at"),
            whole(variant, "variant"),
            of_all("blocks"),
            of_all("threads"),
            of_all("smem"),
            ns=of_all("ns"),
            iterations=of_all("iterations"),
            bytes=of_all("bytes"),
            graph=of_all("graph"),
            cluster=of_all("cluster"),
            trigger=of_all("trigger"),
            programmatic=whole([int(op.programmatic) for op in ops], "programmatic"),
            stream_kind=whole([STREAM_KINDS.index(s.kind) for s in made], "stream kind"),
            stream_priority=whole([s.priority for s in made], "priority"),
            stream_partition=whole([s.partition for s in made], "partition"),
            sms=sms,
            partitions=partitions,
            repeats=repeats,
            stop=stop,
        )
        grid = [op.blocks if op.kind == "kernel" else 0 for op in ops]
        numbers = [np.arange(blocks) for blocks in grid]
        return Run(
            operations=ops,
            streams=made,
            begin=frozen(answer[0]),
            end=frozen(answer[1]),
            called=frozen(answer[2]),
            returned=frozen(answer[3]),
            block_start=frozen(answer[4]),
            block_end=frozen(answer[5]),
            block_sm=frozen(answer[6]),
            kernel=frozen(np.repeat(np.arange(len(ops)), grid)),
            block=frozen(np.concatenate([np.zeros(0, np.int64), *numbers])),
            regs=frozen(np.array(self.regs, np.int64)[variant]),
            sms=answer[7],
        )

    def iterations(self, operation: Operation, ns: int) -> int:
        """Number of steps with which each block of this kernel takes ``ns`` when it runs alone.

        It is measured with two numbers of steps, as a line through the medians of the longest
        blocks. The result is stored for each shape of kernel.
        """
        shape = replace(operation, stream=0, ns=0, iterations=0, at=0, name="")
        if not self._steps:  # an idle device starts at a lower clock rate
            wide = Operation(blocks=self.gpu.sms, threads=128, ns=WARM_NS // 10)
            self.run([wide], repeats=10)
        if shape not in self._steps:
            few, many = 2000, 2000
            t_few = self._longest(shape, few)
            while True:  # until the steps dominate the measured time
                many *= 4
                t_many = self._longest(shape, many)
                if t_many - t_few > 200_000 or many > 1 << 28:
                    break
            if t_many <= t_few:
                raise RuntimeError(
                    "iterations: got equal times for more steps (the device's clock stopped)"
                )
            each = (t_many - t_few) / (many - few)
            self._steps[shape] = each, t_few - few * each
        each, alone = self._steps[shape]
        return max(1, round((ns - alone) / each))

    def _longest(self, shape: Operation, iterations: int) -> float:
        run = self.run([replace(shape, iterations=iterations)], repeats=7)
        return float(np.median((run.block_end - run.block_start).max(axis=1)))

    def check_occupancy(
        self,
        threads: Sequence[int] = (32, 64, 96, 128, 192, 256, 320, 384, 512, 640, 768, 1024),
        smem: Sequence[int] | None = None,
    ) -> OccupancyCheck:
        """Compare computed occupancies with the driver's.

        The shapes are all combinations of block sizes, registers of the variants of the kernel, and
        bytes of shared memory (default: ten sizes up to the limit).
        """
        if smem is None:
            most = self.limits["smem_per_block"]
            smem = sorted({0, 1, 256, 1024, 3072, 5000, most // 8, most // 4, most // 2, most})
        rows = [
            (t, regs, s, self._occupancy(variant, t, s))
            for variant, regs in enumerate(self.regs)
            for t in threads
            for s in smem
        ]
        columns = np.array(rows, dtype=np.int64).T
        ours = occupancy(self.gpu, columns[0], columns[1], columns[2])
        return OccupancyCheck(*map(frozen, (*columns[:3].copy(), ours, columns[3].copy())))

    def _occupancy(self, variant: int, threads: int, smem: int) -> int:
        try:
            return self._handle.occupancy(variant, threads, smem)
        except _core.CudaError as error:
            if error.args[2] != INVALID_VALUE:
                raise
            return 0  # some drivers return an error, not 0, for a block that does not fit

    def offset(self, repeats: int = 50) -> tuple[int, int]:
        """Lower and upper bound of host minus device time in ns, measured with empty kernels."""
        return self.run([Operation()], repeats=repeats).clock_offset

    def prefer_carveout(self, percent: int | None = 100) -> None:
        """Set the carve-out for shared memory that later kernels prefer.

        Kernels with different carve-outs wait for each other ([RTAS20], section III-C2), so by
        default all kernels prefer the largest one.

        Parameters
        ----------
        percent
            Percentage of the largest carve-out, 0 to 100. None: the driver chooses a carve-out for
            each kernel.

        Raises ValueError for other numbers, and ``CudaError`` for an error of the driver.
        """
        self._handle.carveout(-1 if percent is None else integer(percent, "percent"))

    def fault(self) -> None:
        """Run a kernel that writes to address 0, as a test of error handling.

        Raises ``CudaError``; this process cannot use the device afterwards.
        """
        self._handle.fault()


def whole(values: Sequence[Any], name: str) -> Int64Array:
    """Integers as an int64 array; ``TypeError`` for a number that is not an integer."""
    return np.array([integer(v, f"{name}[{i}]") for i, v in enumerate(values)], dtype=np.int64)


def from_limits(name: str, values: dict[str, int]) -> GPU:
    """The GPU of a device: what it reports, and the rest from the preset of its name, if any."""
    cc = (values["cc_major"], values["cc_minor"])
    known = fields_of_preset(name, values["sms"], cc)
    known.pop("copy_engines", None)
    return GPU(
        sms=values["sms"],
        threads_per_sm=values["threads_per_sm"],
        blocks_per_sm=values["blocks_per_sm"],
        regs_per_sm=values["regs_per_sm"],
        regs_per_block=min(values["regs_per_block"], values["regs_per_sm"]),
        smem_per_sm=values["smem_per_sm"],
        smem_per_block=values["smem_per_block"],
        cc=cc,
        copy_engines=values["copy_engines"],
        name=name,
        **known,
    )
