"""One device in use, and runs of kernels and copies on it with all that they recorded."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Any

import numpy as np

from gpusched import _core
from gpusched._support.arguments import Int64Array, frozen, integer, one_of
from gpusched.cuda.driver import driver, image, limits, why_not
from gpusched.io.block_log import BlockLog
from gpusched.model.gpu import GPU, occupancy

KINDS = ("kernel", "copy_in", "copy_out", "memset", "graph")
INVALID_VALUE = 1
WARM_NS = 50_000_000
"""How long a device is kept busy before work is calibrated on it."""
STREAM_KINDS = ("blocking", "non_blocking", "null")


@dataclass(frozen=True)
class Operation:
    """A spin kernel, a copy or a memset to launch.

    Attributes
    ----------
    stream
        The index of its stream.
    blocks, threads, regs, smem
        Of a kernel: blocks, threads per block, the least registers per thread (the kernel's
        variant with the fewest that has them is taken; 0: the smallest one), and bytes of dynamic
        shared memory per block.
    ns
        How long each block takes at least, by the device's clock: this time does not depend on
        what else runs.
    iterations
        Steps of arithmetic that each thread does, whose time does depend on it; see
        ``Device.iterations``.
    bytes
        Of a kernel the memory that its steps read and write, of others what is copied or set: the
        copies and memsets of one stream use the same memory.
    at
        ns after the begin of the run before which it is not launched.
    graph
        The handle of an instantiated graph (CUgraphExec), such as one captured by PyTorch or CuPy
        on this device. It is launched as it is, and a wrong one crashes the process.
    kind
        "kernel", "copy_in", "copy_out", "memset" or "graph".
    name
        For logs.
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
    kind: str = "kernel"
    name: str = ""


@dataclass(frozen=True)
class Stream:
    """A stream: "non_blocking", "blocking" (it and the NULL stream wait for each other) or "null"
    (the NULL stream itself); a smaller priority is more urgent."""

    priority: int = 0
    kind: str = "non_blocking"


@dataclass(frozen=True, eq=False, repr=False)
class Run:
    """What R repetitions of N operations with B blocks recorded; times in ns, arrays int64.

    Attributes
    ----------
    begin, end
        Host: before the first launch, and after the wait for all; shape ``(R,)``.
    called, returned
        Host: before and after the launch of each operation; ``(R, N)``.
    block_start, block_end, block_sm
        Device: of each block, kernel after kernel; ``(R, B)``.
    kernel, block
        The operation of each block and its number in the grid; ``(B,)``.
    regs
        Registers per thread that each operation's kernel has; ``(N,)``.
    sms
        SMs of the green context, 0 where all of the device was used.
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
        """From the first launch to the return of the wait, ``(R,)``."""
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
        """Device: when each kernel's first block started, ``(R, N)``; -1 for others."""
        return self._reduced(np.minimum, self.block_start)

    @property
    def dispatched(self) -> Int64Array:
        """Device: when each kernel's last block started, ``(R, N)``; -1 for others."""
        return self._reduced(np.maximum, self.block_start)

    @property
    def last(self) -> Int64Array:
        """Device: when each kernel's last block ended, ``(R, N)``; -1 for others."""
        return self._reduced(np.maximum, self.block_end)

    @property
    def resident_at_once(self) -> Any:
        """Whether at some instant all blocks of all kernels were there, ``(R,)`` of bool."""
        if not len(self.kernel):
            return np.ones(len(self), np.bool_)
        return self.block_start.max(axis=1) < self.block_end.min(axis=1)

    def sm(self, operation: int, repeat: int = 0) -> list[int]:
        """The SMs of a kernel's blocks, in block order."""
        sms: list[int] = self.block_sm[repeat, self.kernel == operation].tolist()
        return sms

    @property
    def clock_offset(self) -> tuple[int, int]:
        """Bounds on host minus device time: no block starts before its launch is called, and
        none ends after the wait for it returns. Of all repetitions: in a long run, in which one
        clock gains on the other, the bounds cross."""
        return self._offset(slice(None))

    def _offset(self, rows: slice) -> tuple[int, int]:
        if not len(self.kernel):
            raise ValueError("this run has no kernels, whose blocks know the device's time")
        low = int((self.called[rows, self.kernel] - self.block_start[rows]).max())
        high = int((self.end[rows, None] - self.block_end[rows]).min())
        return low, high

    def log(self, repeat: int = 0) -> BlockLog:
        """One repetition as a log; launches are put on the device's clock by the middle of its
        bounds on the ``clock_offset``, and no later than the kernel's first block."""
        if not 0 <= integer(repeat, "repeat") < len(self):
            raise ValueError(f"repeat = {repeat}: there are {len(self)} repetitions")
        rows = [i for i, op in enumerate(self.operations) if op.kind == "kernel"]
        number = {i: row for row, i in enumerate(rows)}
        ops = [self.operations[i] for i in rows]
        offset = sum(self._offset(slice(repeat, repeat + 1))) // 2
        launch = np.minimum(self.called[repeat] - offset, self.first[repeat])[rows]
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
    """Shapes of blocks (rows of threads, registers, shared memory in bytes), how many of each an
    SM holds by our arithmetic, and by the driver's; int64 arrays."""

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
        """The rows that differ: threads, registers, shared memory, ours, the driver's."""
        rows = np.flatnonzero(self.ours != self.driver)
        columns = [getattr(self, f.name)[rows].tolist() for f in fields(self)]
        return [(a, b, c, d, e) for a, b, c, d, e in zip(*columns, strict=True)]


@dataclass(eq=False)
class Device:
    """A CUDA device in use: its primary context, which PyTorch and CuPy share.

    Parameters
    ----------
    index
        Which one, from 0.
    channels
        Hardware queues for streams, 1 to 32 (CUDA_DEVICE_MAX_CONNECTIONS): works only when nothing
        in this process has used the device before. None: what the driver takes, 8 as a rule.

    Raises
    ------
    CudaError
        What ``why_not()`` says, or the driver's error.
    ValueError
        No such device; channels out of range, or too late.

    A device is used by one thread at a time, is given back by ``close()`` or ``with``, and does
    not survive a fork of the process. After an error that destroyed its context, such as a kernel
    that wrote where it must not, it can no longer be used in this process.
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
        variable = "CUDA_DEVICE_MAX_CONNECTIONS"
        before = os.environ.get(variable)
        if self.channels is not None:
            os.environ[variable] = str(self.channels)
        try:  # a driver may read it as soon as it is opened, not when it makes the context
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
        if was_active and self.channels is not None:
            self.close()
            raise ValueError("channels: this process uses the device already, it is too late")
        self.regs = tuple(regs.tolist())
        self.priorities = (greatest, least)
        self._steps: dict[Operation, tuple[float, float]] = {}

    def close(self) -> None:
        """Gives the device back; safe twice."""
        self._handle.close()

    def __enter__(self) -> Device:
        return self

    def __exit__(self, *_: Any) -> None:
        self.close()

    def __reduce__(self) -> Any:
        raise TypeError("a device belongs to its process: open it there by its index")

    def variant(self, regs: int) -> int:
        """The spin kernel with the fewest registers per thread that has at least so many."""
        fitting = [(have, i) for i, have in enumerate(self.regs) if have >= regs]
        if not fitting:
            raise ValueError(f"regs = {regs}: the largest kernel has {max(self.regs)}")
        return min(fitting)[1]

    def run(
        self,
        operations: Sequence[Operation],
        streams: Sequence[Stream] | None = None,
        *,
        repeats: int = 1,
        sms: int = 0,
        stop: Any = None,
    ) -> Run:
        """Launches the operations in their order and waits for all, ``repeats`` times.

        ``streams``: those that the operations name; as many non-blocking ones of priority 0 as are
        needed, unless given. ``sms``: run on at least so many SMs in a green context.
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
            stream_kind=whole([STREAM_KINDS.index(s.kind) for s in made], "stream kind"),
            stream_priority=whole([s.priority for s in made], "priority"),
            sms=sms,
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
        """How many steps make each block of this kernel take ``ns``, when it has the device alone.

        Measured with two numbers of steps, a line through the medians of the longest blocks; kept
        for the shape.
        """
        shape = replace(operation, stream=0, ns=0, iterations=0, at=0, name="")
        if not self._steps:  # a device that was idle runs at a lower clock at first
            wide = Operation(blocks=self.gpu.sms, threads=128, ns=WARM_NS // 10)
            self.run([wide], repeats=10)
        if shape not in self._steps:
            few, many = 2000, 2000
            t_few = self._longest(shape, few)
            while True:  # until the steps take long enough to be told from everything else
                many *= 4
                t_many = self._longest(shape, many)
                if t_many - t_few > 200_000 or many > 1 << 28:
                    break
            if t_many <= t_few:
                raise RuntimeError("more steps take no longer: the device's clock does not run")
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
        """How many blocks an SM holds, by our arithmetic and by the driver's, for a grid of block
        sizes, the registers of all variants, and bytes of shared memory (some, unless given)."""
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
            return 0  # a driver that refuses what does not fit, instead of saying that none does

    def offset(self, repeats: int = 50) -> tuple[int, int]:
        """Bounds on host minus device time in ns, from empty kernels."""
        return self.run([Operation()], repeats=repeats).clock_offset

    def fault(self) -> None:
        """Runs a kernel that writes to address 0, to see what happens: CudaError, and this process
        has lost the device."""
        self._handle.fault()


def whole(values: Sequence[Any], name: str) -> Int64Array:
    """A column; numbers that are not whole are refused, not cut."""
    return np.array([integer(v, f"{name}[{i}]") for i, v in enumerate(values)], dtype=np.int64)


def from_limits(name: str, values: dict[str, int]) -> GPU:
    return GPU(
        sms=values["sms"],
        threads_per_sm=values["threads_per_sm"],
        blocks_per_sm=values["blocks_per_sm"],
        regs_per_sm=values["regs_per_sm"],
        smem_per_sm=values["smem_per_sm"],
        smem_per_block=values["smem_per_block"],
        cc=(values["cc_major"], values["cc_minor"]),
        copy_engines=values["copy_engines"],
        name=name,
    )
