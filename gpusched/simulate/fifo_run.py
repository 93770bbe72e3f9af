"""Simulation of kernels whose blocks start in FIFO order (``gs.simulate.fifo``).

The model of [ECRTS17]: m threads, and kernels whose blocks start in FIFO order; or SMs, to which a
placement rule assigns the blocks. With ``KernelChains``, jobs run several kernels one after the
other and streams have priorities, which is the model of ``gs.analysis.priority_streams``.
``fifo_responses`` simulates stacks of task sets and keeps only the largest responses.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from fractions import Fraction
from typing import Any, Literal

import numpy as np

from gpusched import _core
from gpusched._support.arguments import (
    Int64Array,
    flag,
    instance,
    int_array,
    integer,
    one_of,
    seed_key,
    set_number,
    ticks,
)
from gpusched._support.budget import Budget, Progress, as_budget, within_seconds
from gpusched._support.registry import enumeration, limit
from gpusched.model.block_placement import PLACEMENTS
from gpusched.model.fifo_model import ORDERS, Order, refuse_derived_block_time
from gpusched.model.gpu import GPU, WARP_THREADS, as_gpu
from gpusched.model.kernel_chains import KernelChains
from gpusched.model.kernel_tasks import KernelTasks
from gpusched.simulate.fifo_result import OUTCOMES, FifoResponses, FifoRun, Waves
from gpusched.simulate.run_arguments import (
    GivenReleases,
    Releases,
    execution_shares,
    gap_share,
    is_one,
    per_set,
    read_releases,
    trigger_bits,
    victim_per_set,
)
from gpusched.simulate.run_results import run_to_end

Draw = Literal["job", "wave", "block"]
Settle = Literal["no", "note", "stop"]

LATEST = limit("simulate.latest")  # no simulated job is released at or after it
_SETTLE_TASKS = limit("simulate.fifo_settle_tasks")
DRAWS = enumeration("simulate.fifo_draw")
_TRIGGERS = enumeration("simulate.fifo_trigger")
SETTLE = enumeration("simulate.fifo_settle")


def check_task_set(tasks: Any) -> None:
    """Refuse anything but kernel tasks and chains."""
    if not isinstance(tasks, KernelChains):
        instance(tasks, KernelTasks, "tasks")


def core_columns(
    tasks: KernelTasks | KernelChains, least: Int64Array, most: Int64Array, latency: Any
) -> dict[str, Any]:
    """The core's columns of kernels: per task; for chains, those of all tasks in sequence."""
    columns: dict[str, Any] = {"block_time": most, "least": least}
    columns |= {name: getattr(tasks, name) for name in ("blocks", "threads", "regs", "smem")}
    low, high = execution_shares(latency, "latency", name="latency", zero=True)
    if not isinstance(tasks, KernelChains):
        if low != 1:
            raise ValueError(f"latency: got {latency!r:.60} without chains, expected KernelChains")
        return columns | {"begin": None, "latency": None, "soonest": None}
    columns["soonest"] = _scaled(tasks.latency, low, up=True)
    columns["latency"] = np.maximum(_scaled(tasks.latency, high, up=False), columns["soonest"])
    has = tasks.block_time > 0
    lead = has.shape[:-2]
    order = np.argsort(~has.reshape(*lead, -1), axis=-1, kind="stable")  # kernels first
    columns = {
        name: np.take_along_axis(column.reshape(*lead, -1), order, axis=-1)
        for name, column in columns.items()
    }
    begin = np.zeros((*lead, has.shape[-2] + 1), np.int64)
    np.cumsum(has.sum(axis=-1), axis=-1, out=begin[..., 1:])
    if not tasks.is_stack:
        columns = {name: column[: begin[-1]] for name, column in columns.items()}
    return columns | {"begin": begin}


def check_chain_options(order: str, until: Any, settle: Any) -> None:
    """Refuse options that chains do not have."""
    if order != "hardware":
        raise ValueError(f"order: got {order!r}, expected 'hardware' with chains")
    if until is None:
        raise ValueError("until: got None, expected the end of the releases of chains")
    if settle not in (None, False, "no"):
        raise ValueError(f"settle: got {settle!r:.60}, expected 'no' with chains")


def _threads(threads: Any) -> int:
    m = integer(threads, "threads")
    if not 1 <= m < 2**31:
        raise ValueError(f"threads: got {m}, expected 1 to 2**31 - 1")
    return m


def hardware(threads: Any, gpu: Any) -> tuple[int, GPU | None]:
    """Number of threads, and the GPU (None for a pool of threads)."""
    if gpu is None:
        return _threads(threads), None
    if threads is not None:
        raise ValueError("threads: got both threads and gpu, expected one of them")
    device = as_gpu(gpu)
    return device.sms * device.warps_per_sm * WARP_THREADS, device


def sm_arguments(
    device: GPU | None, placement: str, regs: Int64Array, smem: Int64Array
) -> dict[str, Any]:
    """The core's arguments about SMs."""
    pool = device is None
    return {
        "regs": None if pool else regs,
        "smem": None if pool else smem,
        "limits": None if device is None else device._limits,
        "sm_order": None if device is None else device.sm_order,
        "placement": PLACEMENTS[placement],
    }


def given_releases(
    releases: Any, times: Any, tasks: KernelTasks | KernelChains, closer: bool, until: Any
) -> tuple[GivenReleases | None, Any]:
    """The given releases, or None, and the bound on them; with releases, by default all."""
    if releases is None:
        if times is not None:
            raise ValueError("times: got times without releases, expected both or neither")
        if closer:
            raise ValueError("closer: got True without releases, expected False")
        return None, until
    given = read_releases(releases, times, tasks, closer, LATEST)
    return given, int(given.release.max(initial=0)) + 1 if until is None else until


def refuse_beside(refused: bool, name: str, value: Any, beside: str = "releases") -> None:
    """Refuse an option that contradicts ``releases`` or ``times``."""
    if refused:
        raise ValueError(f"{name}: got {value!r:.60} beside {beside}, expected one of them")


def shared_streams(stream: Any, n: int, order: str, victim: int) -> Int64Array | None:
    """Streams numbered from 0; None if no two tasks share one."""
    if stream is None:
        return None
    given = int_array(stream, "stream")
    if given.shape != (n,):
        raise ValueError(f"stream: got shape {given.shape}, expected one number per task ({n})")
    names, numbers = np.unique(given, return_inverse=True)
    if len(names) == n:
        return None
    if order == "overlap":
        raise ValueError("stream: got shared streams, expected none with order='overlap'")
    if victim >= 0:
        raise ValueError("stream: got shared streams, expected none with a victim")
    return numbers.astype(np.int64)


def block_times(tasks: KernelTasks | KernelChains, execution: Any) -> tuple[Int64Array, Int64Array]:
    """The shortest and the longest time of a block."""
    low, high = execution_shares(execution, "block_time")
    least = np.maximum(_scaled(tasks.block_time, low, up=True), 1)
    return least, np.maximum(_scaled(tasks.block_time, high, up=False), least)


def release_slack(tasks: KernelTasks | KernelChains, gap: Any) -> Int64Array:
    """The most ticks that are added to each period, for sporadic releases."""
    share = gap_share(gap, "gap")
    try:
        slack = _scaled(tasks.period, share, up=False)
        if int(slack.max(initial=0)) < LATEST:
            return slack
    except OverflowError:
        pass
    longest = int(tasks.period.max())
    raise OverflowError(
        f"gap: got {gap}, expected a share of the longest period ({longest}) below 2**59 ticks"
    )


def _scaled(times: Int64Array, share: Fraction, up: bool) -> Int64Array:
    """share times each time, exactly, rounded up or down."""
    if share == 1:
        return times
    if share == 0:
        return np.zeros_like(times)
    over, under = share.numerator, share.denominator
    more = under - 1 if up else 0
    exact = [(time * over + more) // under for time in times.ravel().tolist()]
    return np.array(exact, dtype=np.int64).reshape(times.shape)


def settling(
    settle: Any, until: Any, fixed: bool, usual: tuple[Settle, Settle]
) -> tuple[Settle, int | None]:
    """``settle`` and the bound on releases; ``usual``: defaults with and without random times."""
    last = None if until is None else ticks(until, "until")
    if last is not None and last < 0:
        raise ValueError(f"until: got {last}, expected 0 or more")
    if last is not None and last > LATEST:
        raise OverflowError(f"until: got {last}, expected at most {LATEST}")
    if isinstance(settle, bool):
        settle = "stop" if settle else "no"
    if settle is not None:
        one_of(settle, SETTLE, "settle")
    if last is None:
        if settle not in (None, "stop"):
            raise ValueError(f"until: got None, expected ticks with settle={settle!r}")
        if not fixed:
            raise ValueError(
                "until: got None, expected ticks unless releases are periodic (gap=0, no victim) "
                "and execution times constant"
            )
        return "stop", None
    if settle is None:
        return usual[fixed], last
    if settle != "no" and not fixed:
        raise ValueError(
            f"settle: got {settle!r}, expected 'no' unless releases are periodic (gap=0, no "
            "victim) and execution times constant"
        )
    chosen: Settle = settle
    return chosen, last


def check_endless(tasks: KernelTasks, order: str, where: str = "") -> None:
    """Refuse sets whose schedules the core cannot follow until they repeat."""
    hyperperiod = tasks.hyperperiod
    if 2 * hyperperiod + int(tasks.offset.max()) >= LATEST:
        raise ValueError(f"{where}until: got None, expected ticks, as the hyperperiod is too large")
    if order == "release" and tasks.n > _SETTLE_TASKS:
        raise ValueError(
            f"{where}until: got None, expected ticks with more than {_SETTLE_TASKS} "
            "tasks in order 'release'"
        )


_VERDICTS = np.array(OUTCOMES)


def fifo(
    tasks: KernelTasks | KernelChains,
    threads: int | None = None,
    order: Order = "hardware",
    until: int | None = None,
    *,
    gpu: GPU | str | None = None,
    placement: str = "most_room",
    releases: Releases | None = None,
    times: Any = None,
    closer: bool = False,
    stream: Any = None,
    execution: Any = 1.0,
    draw: Draw = "job",
    gap: float = 0.0,
    latency: Any = 1.0,
    victim: int | None = None,
    triggers: str | Iterable[str] = ("head",),
    seed: Any = None,
    index: int = 0,
    settle: Settle | bool | None = None,
    waves: bool = True,
    budget: Budget | None = None,
    progress: Progress = None,
    stop: Any = None,
) -> FifoRun:
    """Simulate kernels on a GPU that start their blocks in FIFO order.

    [ECRTS17], section III, on a pool of ``threads`` threads, or on the SMs of a ``gpu``. A job is a
    kernel of ``blocks`` blocks, each of which occupies the task's ``threads`` threads for
    ``block_time`` ticks. Only the kernel at the head of the queue may start blocks. A block starts
    as soon as enough threads are free, and runs to its end. Events at the same time are processed
    in this order: blocks end, jobs are released, blocks start. Jobs that join the queue at the same
    time are ordered by ``priority`` (smaller first), then by index.

    >>> tasks = gs.KernelTasks([100, 120], block_time=[10, 30], blocks=[9, 2], threads=[512, 256])
    >>> gs.simulate.fifo(tasks, threads=4096).worst.tolist()
    [20, 40]
    >>> run = gs.simulate.fifo(tasks, gpu="TX2", releases=[[0, 150], [5]])
    >>> run.response.tolist(), np.unique(run.waves.sm).tolist()
    ([20, 35, 20], [0, 1])

    With ``KernelChains`` a job runs several kernels. Each of them joins the queue of its stream's
    priority after a latency, and only the kernel at the head of the queue of the highest priority
    may start blocks. Such runs need ``until`` or ``releases``.

    >>> chains = gs.KernelChains([60, 10], [[1, 1, 1], [10]], latency=1, priority=[0, 1])
    >>> gs.simulate.fifo(chains, threads=1, until=60).worst.tolist()
    [24, 17]

    Parameters
    ----------
    tasks
        One task set; ``offset`` is the first release. ``wcet`` is not used; registers and shared
        memory are used only with ``gpu``. For chains, ``order``, ``stream``, ``times`` and
        ``settle`` are not available.
    threads
        Number of threads of the GPU, which any block may use (m in the paper).
    order
        Reading of FIFO. "hardware": a kernel joins the queue when it reaches the head of its stream
        (rules R1 and R2). "release": among the kernels at the heads of their streams, the one with
        the earliest release is first (section IV). "strict": all kernels queue by release, and a
        kernel that has not reached the head of its stream blocks everything behind it (property P1
        taken literally). "overlap": all kernels queue by release, each in its own stream.
    until
        End of the interval in which jobs are released, in ticks; these jobs run to their end. None:
        run until the schedule is known to repeat or to diverge, which requires periodic releases
        and constant execution times; with ``releases``, run all of them.
    gpu
        A ``GPU`` or the name of a preset, instead of ``threads``. A block then needs warps,
        registers, shared memory and a block slot of one SM, as in ``fifo_bound`` and
        ``gs.simulate.hierarchy``, and the waves have an SM. Its channels and the number of kernels
        that it runs at once (``GPU.resident_grids``) do not count here.
    placement
        Rule that chooses the SM of a block: "most_room", "olmedo" or "round_robin", as in
        ``gs.place``.
    releases
        Explicit release times in ticks instead of periodic or sporadic ones, to replay a trace or a
        counterexample: one row per task; a mapping or table with the columns ``task`` (an index)
        and ``time``; or the jobs of another run. The times of a task must be in order and, because
        the bounds assume it, at least a period apart. ``offset`` is not used.
    times
        With ``releases``: block time of each job, 1 to ``block_time``, as rows like those of
        ``releases`` or a column of the same length. Without it, ``execution`` and ``draw`` apply;
        their random numbers do not depend on the releases, so a run is replayed with its own seed.
    closer
        Whether releases of a task may be less than a period apart.
    stream
        One number per task. Tasks with equal numbers share a stream, whose jobs run one after the
        other in order of release. Default: each task has its own stream.
    execution
        Execution times of blocks as a share of ``block_time``: one number, or a pair (low, high)
        for times drawn uniformly from ceil(low block_time) .. floor(high block_time), at least one
        tick. 0.1 means exactly one tenth.
    latency
        Latencies of chains as a share of the given ones, in the same way: one number, or
        (low, high).
    draw
        Unit for which an execution time is drawn: each "job", each "wave" of blocks that start
        together, or each "block".
    gap
        For sporadic tasks: maximum extra time between two releases, as a share of the period. It is
        drawn uniformly. 0: periodic tasks.
    victim
        Index of a task under analysis. The releases of the other tasks are chosen to maximise its
        response time: they occur at the times given by ``triggers``, as far as the periods allow,
        and are queued ahead of its jobs. Its own releases do not change.
    triggers
        Events of the victim's jobs at which other tasks release jobs, one or several of: "head" (a
        job reaches the head of its stream), "tail" (its last block starts), "end". For chains,
        events of every kernel; "head" means that it joins its queue.
    seed, index
        Seed (an int, a ``SeedSequence``, a ``Generator`` or None), and index of the set under it.
        Random numbers depend only on these, the task and the job: set i of ``fifo_responses``
        behaves like ``index=i`` here.
    settle
        Whether to detect that the schedule repeats or diverges: "no", "note" (and continue until
        ``until``) or "stop" (as soon as it is known); False and True mean "no" and "stop". Default:
        "stop" without ``until``, otherwise "note" if nothing is random. Some sets never settle, and
        those whose hyperperiod exceeds 2**59 ticks cannot.
    waves
        Whether to keep the waves of blocks, for pictures and traces.
    budget
        A ``gs.Budget``, whose ``states`` limits the jobs. Default: 2 GiB.
    progress
        A callable (now, until), in ticks, or a bool that turns a progress bar on or off; by default
        a bar appears in a terminal or a notebook after one second. Bars need tqdm.
    stop
        Writable buffer of one byte, such as ``bytearray(1)``. The call ends when another thread
        sets the byte to 1.

    Returns
    -------
    FifoRun
        The jobs and waves, and what is known about later jobs.

    Raises
    ------
    ValueError
        The tasks are a stack, blocks do not fit the GPU, releases are out of order or too close,
        ``until`` is missing although the schedule cannot be known to repeat, options are unknown or
        cannot be combined, or a ``block_time`` was derived from ``wcet`` although the kernel needs
        several waves on this GPU.
    OverflowError
        Times are too large (releases: 2**59 ticks).
    gpusched.Cancelled
        ``stop`` was set.
    """
    check_task_set(tasks)
    budget = as_budget(budget)
    stop = within_seconds(stop, budget.seconds)
    if tasks.is_stack:
        raise ValueError(
            f"tasks: got a stack of {len(tasks)} sets, expected one set; fifo_responses gives the "
            "largest responses of a stack"
        )
    m, device = hardware(threads, gpu)
    one_of(placement, PLACEMENTS, "placement")
    one_of(order, ORDERS, "order")
    one_of(draw, DRAWS, "draw")
    n = tasks.n
    victims = -1 if victim is None else integer(victim, "victim")
    if victim is not None and not 0 <= victims < n:
        raise ValueError(f"victim: got {victims}, expected 0 to {n - 1}, a task's index")
    chains = isinstance(tasks, KernelChains)
    if chains:
        refuse_beside(stream is not None, "stream", stream, "chains")
        refuse_beside(times is not None, "times", times, "chains")
    streams = shared_streams(stream, n, order, victims)
    least, most = block_times(tasks, execution)
    slack = release_slack(tasks, gap)
    fixed = victim is None and not slack.any() and np.array_equal(least, most)
    given, last = given_releases(releases, times, tasks, flag(closer, "closer"), until)
    if given is not None:
        refuse_beside(victim is not None, "victim", victim)
        refuse_beside(bool(slack.any()), "gap", gap)
        drawn = not (least == tasks.block_time).all()
        refuse_beside(times is not None and drawn, "execution", execution, "times")
    kernels = core_columns(tasks, least, most, latency)
    if isinstance(tasks, KernelChains):
        check_chain_options(order, last, settle)
        chosen = "no"
    else:
        chosen, last = settling(settle, last, fixed and given is None, ("no", "note"))
        if last is None:
            check_endless(tasks, order)
        refuse_derived_block_time(tasks, m, device)
    late = np.flatnonzero(tasks.deadline >= 2**62)
    if late.size:
        i = int(late[0])
        raise OverflowError(f"deadline[{i}]: got {tasks.deadline[i]}, expected less than 2**62")
    simulation = _core.fifo_open(
        *(tasks.period, kernels["block_time"], kernels["blocks"], kernels["threads"]),
        *(tasks.offset, tasks.priority, streams, kernels["least"]),
        slack=slack,
        begin=kernels["begin"],
        latency=kernels["latency"],
        soonest=kernels["soonest"],
        **sm_arguments(device, placement, kernels["regs"], kernels["smem"]),
        release_begin=None if given is None else given.begin,
        release=None if given is None else given.release,
        given=None if given is None else given.given,
        closer=closer,
        m=m,
        order=ORDERS.index(order),
        draw=DRAWS.index(draw),
        settle=SETTLE.index(chosen),
        until=LATEST if last is None else last,
        victim=victims,
        triggers=trigger_bits(triggers, _TRIGGERS),
        key=seed_key(seed),
        index=set_number(index, "index"),
        log_waves=flag(waves, "waves"),
    )
    ended = run_to_end(simulation, budget, progress, stop, total=last, unit="tick")
    verdict, start, length, (worst, finished, grows) = simulation.result()
    task, job, release, begin, dispatched, end = simulation.jobs()
    deadline = tasks.deadline[task]
    deadline += release
    known = verdict != OUTCOMES.index("done")
    return FifoRun(
        task=task,
        job=job,
        release=release,
        deadline=deadline,
        start=begin,
        end=end,
        dispatched=dispatched,
        waves=_waves(simulation.waves(), chains) if waves else None,
        tasks=tasks,
        threads=m,
        order=order,
        outcome=str(_VERDICTS[verdict if known or ended.reason is None else -1]),
        worst=worst,
        finished=finished,
        grows=grows != 0,
        cycle_from=start if known else None,
        cycle_length=length if known else None,
        now=ended.now,
        reason=ended.reason,
        gpu=device,
        placement=None if device is None else placement,
    )


def fifo_responses(
    tasks: KernelTasks | KernelChains,
    threads: Any = None,
    order: Order = "hardware",
    until: Any = None,
    *,
    gpu: GPU | str | None = None,
    placement: str = "most_room",
    execution: Any = 1.0,
    draw: Draw = "job",
    gap: float = 0.0,
    latency: Any = 1.0,
    victim: Any = None,
    triggers: str | Iterable[str] = ("head",),
    seed: Any = None,
    first: int = 0,
    settle: Settle | bool | None = None,
    budget: Budget | None = None,
    stop: Any = None,
) -> FifoResponses:
    """Compute the largest response of each task in ``fifo`` simulations of many sets.

    All sets are simulated in a single call of C code.

    >>> tasks = gs.generate.fifo(3, 0.5, count=2, seed=1)
    >>> gs.simulate.fifo_responses(tasks, threads=4096, until=10**6).response.shape
    (2, 3)

    Parameters
    ----------
    tasks
        A stack of N sets, or one set.
    threads, until
        As in ``fifo``; one number, or one per set.
    gpu, placement, order, execution, draw, gap, latency, triggers
        As in ``fifo``, the same for all sets.
    victim
        As in ``fifo``; one index, or one per set (-1: periodic or sporadic releases).
    seed, first
        Set i uses the random numbers of set ``first + i`` of the seed.
    settle
        As in ``fifo``, but the default is "no" if ``until`` is given.
    budget
        A ``gs.Budget`` for the whole call, whose ``states`` limit the jobs of each set. Each set
        gets an equal part of the seconds that are left.
    stop
        Writable buffer of one byte, such as ``bytearray(1)``. The call ends when another thread
        sets the byte to 1.

    Returns
    -------
    FifoResponses
        Arrays (N, n), and (N,) for results about a set; one axis less for a single set.

    Raises
    ------
    ValueError, OverflowError, gpusched.Cancelled
        As in ``fifo``; the message has the index of the set.
    """
    check_task_set(tasks)
    limits = as_budget(budget)
    one_of(order, ORDERS, "order")
    one_of(draw, DRAWS, "draw")
    period, offset, priority = (
        np.atleast_2d(getattr(tasks, name)) for name in ("period", "offset", "priority")
    )
    sets, n = period.shape
    one_of(placement, PLACEMENTS, "placement")
    if gpu is None and not is_one(threads, "threads"):
        m, device = per_set(threads, sets, "threads"), None
    else:
        one, device = hardware(threads, gpu)
        m = np.full(sets, one)
    victims = victim_per_set(victim, sets, n)
    least, most = block_times(tasks, execution)
    kernels: dict[str, Any] = {
        name: None if column is None else np.atleast_2d(column)
        for name, column in core_columns(tasks, least, most, latency).items()
    }
    slack = np.atleast_2d(release_slack(tasks, gap))
    fixed = bool((victims < 0).all()) and not slack.any() and np.array_equal(least, most)
    lasts: Int64Array
    if isinstance(tasks, KernelChains):
        check_chain_options(order, until, settle)
        chosen = "no"
        lasts = per_set(until, sets, "until")
    elif is_one(until, "until"):
        chosen, last = settling(settle, until, fixed, ("no", "no"))
        lasts = np.full(sets, LATEST if last is None else last)
        if last is None:
            for i in range(sets):
                where = f"set {i}: " if tasks.is_stack else ""
                check_endless(tasks[i] if tasks.is_stack else tasks, order, where)
    else:
        lasts = per_set(until, sets, "until")
        chosen, _ = settling(settle, int(lasts.min(initial=0)), fixed, ("no", "no"))
    if isinstance(tasks, KernelTasks):
        refuse_derived_block_time(tasks, m if tasks.is_stack else m[0], device)
    worst, finished, verdict, waves = _core.fifo_responses(
        *(period, kernels["block_time"], kernels["blocks"], kernels["threads"], offset, priority),
        *(kernels["least"], slack),
        begin=kernels["begin"],
        latency=kernels["latency"],
        soonest=kernels["soonest"],
        **sm_arguments(device, placement, kernels["regs"], kernels["smem"]),
        m=m,
        order=ORDERS.index(order),
        draw=DRAWS.index(draw),
        settle=SETTLE.index(chosen),
        until=lasts,
        victim=victims,
        triggers=np.full(sets, trigger_bits(triggers, _TRIGGERS)),
        key=seed_key(seed),
        first=set_number(first),
        states=limits.states or 0,
        bytes=limits.bytes or 0,
        seconds=limits.seconds or 0.0,
        stop=stop,
    )
    outcome = _VERDICTS[verdict]
    if not tasks.is_stack:
        worst, finished, outcome, waves = worst[0], finished[0], outcome[0], waves[0]
    return FifoResponses(worst, finished, np.asarray(outcome), np.asarray(waves))


def _waves(columns: Sequence[Int64Array], chains: bool) -> Waves:
    """Columns of the core; behind those of all waves the kernel of chains, and the SM."""
    task, job, blocks, start, end, *more = columns
    kernel = more.pop(0) if chains else None
    return Waves(task, job, blocks, start, end, more[0] if more else None, kernel)
