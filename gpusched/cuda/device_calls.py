"""Functions of ``gs.cuda``: what devices there are, and calls that open one for their length."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Literal

from gpusched.cuda import driver
from gpusched.cuda.device import Device, Operation, from_limits

if TYPE_CHECKING:
    from gpusched.cuda.measurement import Measurement
    from gpusched.cuda.partitions import PartitionTimes
    from gpusched.cuda.player import Played
    from gpusched.cuda.probes.probe_run import Probe
    from gpusched.model.gpu import GPU
    from gpusched.model.kernel_tasks import KernelTasks
    from gpusched.model.schedule import Schedule
    from gpusched.pbs.policy import Policy

__all__ = [
    "devices",
    "gpu",
    "is_available",
    "measure",
    "partition_times",
    "play",
    "probe",
    "why_not",
]


def why_not() -> str | None:
    """Why there is no device to use, in a sentence; None when there is one."""
    return driver.why_not()


def is_available() -> bool:
    """Whether there is a device to use."""
    return why_not() is None


def devices() -> tuple[str, ...]:
    """The names of the devices, in the order of their indices; empty without any."""
    return driver.names()


def gpu(index: int = 0) -> GPU:
    """The GPU of the CUDA device with that index, by what its driver says.

    The SM order is an assumption (evens then odds) until ``gs.cuda.probe`` has measured it. Raises
    ``gs.cuda.CudaError`` where there is no driver, and ValueError for an index that is not there.
    """
    return from_limits(*driver.limits(index))


def measure(
    tasks: KernelTasks,
    device: Device | int = 0,
    *,
    repeats: int = 100,
    orders: int = 24,
    checks: int = 3,
    tick: int = 1,
    timed: bool = False,
    footprint: Any = 0,
    graphs: Mapping[int, int] | None = None,
    stop: Any = None,
) -> Measurement:
    """Measures when every batch of the tasks ends, and which may run at all.

    The GPUSched paper, section 4.2: the kernels of a batch are submitted one after the other, each
    in a stream of its own, and waited for together; the time from before the first submission to
    the return of the wait is a sample. A batch of two or more is eligible when all blocks of all
    its kernels were there at one instant, in every one of ``checks`` runs of an order of submission
    with kernels of the same shape that last long enough to be told apart.

    Parameters
    ----------
    tasks
        One set of up to 10 tasks; blocks, threads, regs, smem and block_time make the kernels.
    device
        A `Device`, or the index of one that is opened for the call.
    repeats
        Samples of each batch.
    orders
        The most orders of submission to try for a batch, until one is eligible.
    tick
        ns of a tick of the task set.
    timed
        Kernels that take their time by the clock, whatever runs beside them; unless set, they do
        as much work as takes the time when alone, and slow each other.
    footprint
        Bytes of memory that each kernel's work reads and writes, one number or one per task.
    graphs
        CUgraphExec handles by task, launched instead of a spin kernel: of a captured graph, CuPy's
        ``graphExec``, or PyTorch's ``raw_cuda_graph_exec()`` where its version has it. The graph
        must outlive the call. Eligibility then follows from the declared shapes by placement
        (``BatchTable.from_gpu``).

    Raises
    ------
    CudaError, ValueError, gpusched.Cancelled
    """
    from gpusched.cuda import measurement
    from gpusched.cuda.player import operations

    with _opened(device) as opened:
        kernels = operations(
            opened, tasks, tick=tick, timed=timed, footprint=footprint, graphs=graphs
        )
        return measurement.measure(opened, tasks, kernels, repeats, orders, checks, tick, stop)


def play(
    plan: Schedule | Policy,
    device: Device | int = 0,
    *,
    strategy: Literal["table", "reclaim", "policy"] | None = None,
    tick: int = 1,
    cycles: int = 1,
    timed: bool = False,
    footprint: Any = 0,
    graphs: Mapping[int, int] | None = None,
    kernels: Sequence[Operation] | None = None,
    wait: Literal["context", "streams", "poll"] = "context",
    awake: int = 200_000,
    lead: int = 10_000_000,
    realtime: int = 0,
    lock_memory: bool = False,
    stop: Any = None,
) -> Played:
    """Plays a schedule on a device, or follows a run-time policy.

    The GPUSched paper, section 4.1: each task has a stream, a frame submits one batch and waits for
    it. A thread of its own does that.

    Parameters
    ----------
    plan
        A `Schedule` of one hyperperiod, or the `Policy` of ``gs.pbs.search(..., policy=True)``.
    strategy
        "table": every frame starts at its instant, or as soon after it as the one before is done.
        "reclaim": as soon as the frame before it is done and its jobs are released. "policy": what
        the policy says; when nothing is safe any more, the most urgent job runs alone. By default
        "table" or "policy".
    tick, timed, footprint, graphs
        As in `measure`. ``kernels``: the operations to launch, one per task, instead.
    cycles
        How many hyperperiods.
    wait
        For the end of a batch: "context" (cuCtxSynchronize, as the paper does it), "streams" (each
        stream of the batch), or "poll" (asking them without a pause).
    awake
        The dispatcher stops sleeping so many ns before an instant, and looks at the clock.
    lead
        ns from the start of the thread to tick 0.
    realtime
        SCHED_FIFO priority of the thread, 1 to 99; 0: as it is.
    lock_memory
        Whether the process' memory is locked (mlockall) meanwhile. The system keeps one lock for
        all of it: what you had locked before is unlocked afterwards, too (munlockall).

    Raises
    ------
    CudaError, ValueError, gpusched.Cancelled
    OSError
        The system grants no real-time priority, or no locked memory.
    """
    from gpusched.cuda import player
    from gpusched.model.schedule import Schedule
    from gpusched.pbs.policy import Policy

    if not isinstance(plan, Schedule | Policy):
        raise TypeError(f"plan: must be a Schedule or a Policy, not {type(plan).__name__}")
    with _opened(device) as opened:
        made = (
            player.operations(
                opened, plan.tasks, tick=tick, timed=timed, footprint=footprint, graphs=graphs
            )
            if kernels is None
            else list(kernels)
        )
        return player.play(
            plan,
            opened,
            strategy,
            tick,
            cycles,
            made,
            wait,
            awake,
            lead,
            realtime,
            lock_memory,
            stop,
        )


def probe(
    device: Device | int = 0,
    *,
    quick: bool = False,
    processes: Sequence[int] = (),
    say: Callable[[str], None] | None = None,
) -> Probe:
    """Measures the device's SM order and interference, and checks the placement rules.

    Parameters
    ----------
    quick
        Fewer cases.
    processes
        How many other processes copy beside a kernel, in turn (Figure 7), each 1 to 64.
    say
        Gets a line for every probe when it is done, such as ``print``.

    Raises
    ------
    CudaError
    """
    from gpusched.cuda.probes import probe_run

    with _opened(device) as opened:
        return probe_run.probe(
            opened, quick=quick, say=say or (lambda _: None), processes=processes
        )


def partition_times(
    kernels: Sequence[Operation] | KernelTasks,
    device: Device | int = 0,
    *,
    sms: Sequence[int] | None = None,
    repeats: int = 20,
    tick: int = 1,
    stop: Any = None,
) -> PartitionTimes:
    """Measures how long kernels take on k SMs (the STGM paper, Figure 3), in green contexts.

    Parameters
    ----------
    kernels
        Operations, or a task set (whose ``block_time`` is the work of a block, in ticks).
    sms
        The sizes of partitions to ask for; the driver rounds them up. Unless given, all SMs and
        those multiples of 8 that the driver can make.

    Raises
    ------
    ValueError
        More SMs than there are, or a driver without green contexts (older than CUDA 12.4).
    CudaError
    """
    from gpusched.cuda import partitions
    from gpusched.cuda.player import operations

    with _opened(device) as opened:
        made = (
            list(kernels)
            if isinstance(kernels, Sequence)
            else operations(opened, kernels, tick=tick)
        )
        return partitions.partition_times(opened, made, sms, repeats, stop)


@contextmanager
def _opened(device: Device | int) -> Iterator[Device]:
    """The device, closed afterwards if it was opened for this."""
    if isinstance(device, Device):
        yield device
        return
    with Device(device) as opened:
        yield opened
