"""Public functions of ``gs.cuda``; those with a ``device`` open it for the call if needed."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Literal

from gpusched.cuda import driver
from gpusched.cuda.device import Device, Operation, from_limits

if TYPE_CHECKING:
    from gpusched.cuda.measurement import Measurement, PartitionTimes
    from gpusched.cuda.player import Played
    from gpusched.cuda.probes.probe_run import Probe
    from gpusched.model.gpu import GPU
    from gpusched.model.kernel_tasks import KernelTasks
    from gpusched.model.schedule import Schedule
    from gpusched.pbs.policy import Policy


def why_not() -> str | None:
    """Return the reason why no device can be used, as a sentence; None if one can be used.

    >>> reason = gs.cuda.why_not()
    >>> reason is None or reason == " ".join(reason.split())
    True
    """
    return driver.why_not()


def is_available() -> bool:
    """Return whether a device can be used.

    >>> gs.cuda.is_available() == (gs.cuda.why_not() is None)
    True
    """
    return why_not() is None


def devices() -> tuple[str, ...]:
    """Return the names of the devices, in the order of their indices.

    >>> names = gs.cuda.devices() if gs.cuda.is_available() else ()
    >>> len(names) > 0 or not gs.cuda.is_available()
    True
    """
    return driver.names()


def gpu(index: int = 0) -> GPU:
    """Return the GPU of a CUDA device, with the limits that its driver reports.

    What a driver does not report (hardware channels, SMs of GPCs, SM order) is that of the preset
    with the name of the device, if there is one. The SM order is otherwise an assumption (evens,
    then odds); ``gs.cuda.probe`` measures it.

    >>> gpu = gs.cuda.gpu() if gs.cuda.is_available() else gs.GPU.preset("Xavier")
    >>> gpu.sms > 0
    True

    Raises
    ------
    CudaError
        There is no driver.
    ValueError
        There is no device with this index.
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
    """Measure the completion time and the eligibility of every batch of tasks.

    Method of [RTNS24], section 4.2: the kernels of a batch are submitted one after the other, each
    to its own stream. A sample is the time from before the first submission to the return of the
    wait for all kernels. A batch of two or more is eligible if there is an order of submission in
    which all blocks of all kernels were resident at the same time in each of ``checks`` runs, which
    use longer kernels of the same shapes.

    >>> tasks = gs.KernelTasks([10**6, 10**6], block_time=[10**4, 10**4], threads=64)
    >>> if gs.cuda.is_available():
    ...     table = gs.cuda.measure(tasks, repeats=5).table()

    Parameters
    ----------
    tasks
        One set of up to 10 tasks, whose blocks, threads, regs, smem and block_time are used.
    device
        A ``Device``, or the index of one, which is opened for the call.
    repeats
        Number of samples per batch.
    orders
        Maximum number of orders of submission that are tried per batch.
    checks
        Number of runs per order of submission.
    tick
        Length of a tick of the task set in ns.
    timed
        True: blocks take their time by the clock, independent of interference. False: they do an
        amount of work that takes this time alone, and slow each other down.
    footprint
        Bytes of memory that the work of each kernel reads and writes, one number or one per task.
    graphs
        CUgraphExec handles by task, launched instead of a spin kernel: CuPy's ``graphExec`` of a
        captured graph, or PyTorch's ``raw_cuda_graph_exec()`` in versions that have it. The graph
        must outlive the call. Eligibility is then derived from the declared shapes by placement
        (``BatchTable.from_gpu``).
    stop
        Writable buffer of one byte; a value other than 0 cancels the measurement.

    Returns
    -------
    Measurement
        Samples and eligibility of all batches; ``table()`` gives a ``BatchTable``.

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
    """Execute a schedule or a run-time policy on a device.

    Method of [RTNS24], section 4.1: each task has a stream; a dispatcher thread submits one batch
    per frame and waits for it.

    >>> tasks = gs.KernelTasks([10**6], wcet=[10**5], threads=64)
    >>> found = gs.pbs.search(tasks, gs.BatchTable.from_dict(1, {(0,): 10**5}))
    >>> if gs.cuda.is_available():
    ...     played = gs.cuda.play(found.schedule)

    Parameters
    ----------
    plan
        A ``Schedule`` of one hyperperiod, or the ``Policy`` of ``gs.pbs.search(..., policy=True)``.
    device
        A ``Device``, or the index of one, which is opened for the call.
    strategy
        "table": a frame starts at its planned time, or later when the previous one ends.
        "reclaim": a frame starts when the previous one has ended and its jobs are released.
        "policy": the policy chooses the batches; if no batch is safe, the most urgent job runs
        alone. Default: "table" for a schedule, "policy" for a policy.
    tick, timed, footprint, graphs
        As in ``measure``.
    kernels
        The operations to launch instead of spin kernels or graphs, one per task (for chains, one
        per kernel; these are played and recorded as the tasks ``tasks.rows``).
    cycles
        Number of hyperperiods.
    wait
        Method of waiting for the end of a batch: "context" (cuCtxSynchronize, as in the paper),
        "streams" (each stream of the batch), or "poll" (busy waiting).
    awake
        Time before a planned start, in ns, at which the dispatcher changes from sleeping to
        polling the clock.
    lead
        Time from the start of the thread to tick 0, in ns.
    realtime
        SCHED_FIFO priority of the thread, 1 to 99; 0 leaves it unchanged.
    lock_memory
        Whether to lock the memory of the process (mlockall) during the call. Memory that was locked
        before is also unlocked afterwards (munlockall), because the system has one lock per
        process.
    stop
        Writable buffer of one byte; a value other than 0 cancels the playback.

    Returns
    -------
    Played
        Times of all frames and jobs.

    Raises
    ------
    CudaError, ValueError, gpusched.Cancelled
    OSError
        The system does not permit real-time priority or locked memory.
    """
    from gpusched.cuda import player
    from gpusched.model.kernel_chains import rows_of
    from gpusched.model.schedule import Schedule
    from gpusched.pbs.policy import Policy

    if not isinstance(plan, Schedule | Policy):
        raise TypeError(f"plan: got {type(plan).__name__}, expected a Schedule or a Policy")
    with _opened(device) as opened:
        made = (
            player.operations(
                opened,
                rows_of(plan.tasks),
                tick=tick,
                timed=timed,
                footprint=footprint,
                graphs=graphs,
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
    """Measure the device's SM order and interference, and check the placement rules.

    Sources: [RTAS20] for placement and interference; [RTSS17] for queues and priorities.

    >>> if gs.cuda.is_available():
    ...     found = gs.cuda.probe(quick=True)

    Parameters
    ----------
    device
        A ``Device``, or the index of one, which is opened for the call.
    quick
        Whether to run fewer cases.
    processes
        Numbers of other processes that copy beside a kernel, in turn (Figure 7), each 1 to 64.
    say
        Function that is called with a line after each probe, such as ``print``.

    Returns
    -------
    Probe
        One finding per probe.

    Raises
    ------
    CudaError
    """
    from gpusched.cuda.probes import probe_run

    with _opened(device) as opened:
        return probe_run.probe(opened, quick=quick, say=say or (lambda _: None), others=processes)


def partition_times(
    kernels: Sequence[Operation] | KernelTasks,
    device: Device | int = 0,
    *,
    sms: Sequence[int] | None = None,
    repeats: int = 20,
    tick: int = 1,
    stop: Any = None,
) -> PartitionTimes:
    """Measure execution times of kernels on k SMs ([RTCSA19], Figure 3), in green contexts.

    >>> tasks = gs.KernelTasks([10**6], block_time=[10**4], threads=64)
    >>> if gs.cuda.is_available() and gs.cuda.gpu().cc >= (9, 0):
    ...     times = gs.cuda.partition_times(tasks, repeats=5)

    Parameters
    ----------
    kernels
        Operations, or a task set, whose ``block_time`` is the work of a block in ticks.
    device
        A ``Device``, or the index of one, which is opened for the call.
    sms
        Numbers of SMs of the partitions; the driver rounds them up. Default: all SMs, and the
        multiples of the unit of its compute capability (8 from 9.0 on) that the driver supports.
    repeats
        Number of samples per kernel and partition.
    tick
        Length of a tick of the task set in ns.
    stop
        Writable buffer of one byte; a value other than 0 cancels the measurement.

    Returns
    -------
    PartitionTimes
        Samples of each kernel on each partition.

    Raises
    ------
    ValueError
        A partition has more SMs than the device, or the driver has no streams of green contexts
        (before CUDA 12.5).
    CudaError
    """
    from gpusched.cuda import measurement
    from gpusched.cuda.player import operations

    with _opened(device) as opened:
        made = (
            list(kernels)
            if isinstance(kernels, Sequence)
            else operations(opened, kernels, tick=tick)
        )
        return measurement.partition_times(opened, made, sms, repeats, stop)


@contextmanager
def _opened(device: Device | int) -> Iterator[Device]:
    """The device; one given by its index is closed at the end of the block."""
    if isinstance(device, Device):
        yield device
        return
    with Device(device) as opened:
        yield opened
