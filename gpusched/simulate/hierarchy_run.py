"""Simulation of the scheduling hierarchy (``gs.simulate.hierarchy``)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Literal

import numpy as np

from gpusched import _core
from gpusched._support.arguments import (
    Int64Array,
    at_least,
    flag,
    frozen,
    instance,
    int_array,
    integer,
    one_of,
    seed_key,
)
from gpusched._support.budget import Budget, Progress, as_budget, within_seconds
from gpusched.model.block_placement import PLACEMENTS
from gpusched.model.gpu import GPU, as_gpu
from gpusched.model.gpus.gpu_fields import copy_engines_of, engine_directions, gpcs_of
from gpusched.model.kernel_tasks import KernelTasks
from gpusched.model.launch_columns import KERNEL
from gpusched.model.launches import Launches
from gpusched.simulate.hierarchy_result import Hierarchy
from gpusched.simulate.hierarchy_tables import Blocks, Slices, Waits
from gpusched.simulate.run_results import run_to_end

Engines = int | Sequence[str] | None
GpcSizes = int | Sequence[int] | None

DIRECTION_NUMBERS = {"in": 1, "out": 2, "both": 3}
"""The core's numbers of the directions of a copy engine."""

_PORTABLE_CLUSTER = 8  # blocks, and SMs of a GPC where that is unknown
_USUAL_CHANNELS = 8


def directions_of(given: Any, gpu: GPU) -> tuple[str, ...]:
    """The direction of each copy engine; those of the GPU for None."""
    engines = gpu.copy_engines if given is None else copy_engines_of(given, complete=False)
    if given is not None and engines == 0:
        raise ValueError("copy_engines: got 0, expected a positive number")
    return engine_directions(engines) or ("both",)


def gpc_sizes(given: Any, gpu: GPU, launches: Launches) -> tuple[int, ...] | None:
    """SMs of each GPC; None if they are unknown and do not matter to the launches.

    Unknown GPCs have 8 SMs for launches with clusters.
    """
    known = gpu.sms_per_gpc if given is None else gpcs_of(given, gpu.sms)
    if known is None:
        _refuse_unknown_gpcs(launches)
        return _equal(_PORTABLE_CLUSTER, gpu.sms) if (launches.cluster > 1).any() else None
    return _equal(known, gpu.sms) if isinstance(known, int) else known


def _equal(size: int, sms: int) -> tuple[int, ...]:
    """GPCs of one size; the last one has the remaining SMs."""
    return tuple(min(size, sms - first) for first in range(0, sms, size))


def _refuse_unknown_gpcs(launches: Launches) -> None:
    """Refuse launches whose run depends on the GPCs, if these are unknown."""
    for i in np.flatnonzero(launches.cluster > _PORTABLE_CLUSTER)[:1].tolist():
        raise ValueError(
            f"cluster[{i}]: got {launches.cluster[i]}, expected at most {_PORTABLE_CLUSTER}, as "
            "the GPCs of the GPU are unknown (sms_per_gpc gives them)"
        )
    factors = launches.interference
    if factors is None:
        return
    differ = (launches.kind == KERNEL) & (factors[:, 1] != factors[:, 2])
    for i in np.flatnonzero(differ)[:1].tolist():
        one, other = factors[i, 1:3].tolist()
        raise ValueError(
            "sms_per_gpc: got None, expected the SMs of a GPC, or of each: the GPCs of the GPU "
            f"are unknown, and interference[{i}] differs between SMs of one GPC and of others "
            f"({one / 1000:g}, {other / 1000:g})"
        )


def assumptions(
    launches: Launches,
    gpu: GPU,
    *,
    copy_engines: Any,
    sms_per_gpc: Any,
    channels: Any,
    shared_channels: bool,
) -> tuple[str, ...]:
    """Sentences on what is assumed for what neither the arguments nor the GPU say."""
    said = []
    copies = launches.kind != KERNEL
    several = len({*launches.kind[copies].tolist()}) > 1 or len({*launches.stream[copies]}) > 1
    if copy_engines is None and gpu.copy_engines is None and several:
        said.append("the copy engines of the GPU are unknown: one serves both directions")
    if sms_per_gpc is None and gpu.sms_per_gpc is None and (launches.cluster > 1).any():
        said.append(f"the GPCs of the GPU are unknown: they have {_PORTABLE_CLUSTER} SMs each")
    homes = launches.stream_context if shared_channels else launches.stream_partition
    most = int(np.bincount(homes).max())
    if channels is None and gpu.channels is None and most > _USUAL_CHANNELS:
        said.append(
            f"the channels of the GPU are unknown: no limit on channels is assumed for {most} "
            "streams"
        )
    return tuple(said)


_QUEUES = ("shared", "own")
_RELEASES = ("dispatched", "ended")
# Of contexts, the most urgent last.
_LEVELS = ("low", "medium", "high")
_MOST_TURNS = 2**24
_FIRST_WITH_CLUSTERS = (9, 0)  # compute capability


def hierarchy(
    launches: Launches,
    gpu: GPU | str,
    *,
    placement: str = "most_room",
    copy_engines: Engines = None,
    channels: int | None = None,
    shared_channels: bool = False,
    channel_release: Literal["dispatched", "ended"] = "dispatched",
    timeslice: Any = None,
    context_priority: Any = None,
    runlist: Any = None,
    context_switch: int = 0,
    sms_per_gpc: GpcSizes = None,
    queues: str | None = None,
    blocks: bool = True,
    seed: Any = None,
    index: int = 0,
    budget: Budget | None = None,
    progress: Progress = None,
    stop: Any = None,
) -> Hierarchy:
    """Simulate kernels and copies under NVIDIA's scheduling hierarchy.

    [RTAS20], section III; the queue rules are those of [RTSS17], the false dependencies those of
    Bakita and Anderson (RTAS 2024). A launch joins the FIFO queue of its stream. At the head of the
    stream it waits for the launches given by ``after``, for the rules of the NULL stream, and for
    its channel. Then a kernel joins the queue of its context for its stream's priority, and a copy
    waits for a copy engine. Only the kernel at the head of the non-empty queue of the highest
    priority may start blocks, each on the SM that the placement rule chooses. A block that does not
    fit blocks everything behind it and everything of lower priority. A kernel leaves the queue when
    all its blocks have started. Running blocks are interrupted only by the end of the time slice of
    their context, which freezes them.

    A CUDA graph takes one place in its stream. All its nodes are at the head when everything before
    the graph has ended; each joins its queue when the nodes that it depends on have ended; and the
    next launch of the stream follows when all nodes have ended. A graph is assumed to occupy its
    channel like a single kernel, because the launch and the end of a graph pass through the channel
    of its stream: its kernels wait for those launched before it in the channel, and later kernels
    wait until all kernels of the graph are fully dispatched. Among each other, the nodes need no
    channel, as they run on internal streams of the driver.

    A programmatic kernel is at the head when all blocks of its primary, the kernel before it, have
    started and have triggered or ended. The trigger of a block is delayed while a time slice
    freezes the block or interference slows it down. The next launch waits for both kernels and for
    all before them.

    Streams may belong to partitions of their context (``Launches.stream_partition``): clients of
    MPS or green contexts. Their blocks start only on the SMs of the partition, and on at most as
    many SMs at the same time as its limit allows. Each partition has its own rules of the NULL
    stream, and its own channels unless these are shared; carve-outs of SMs, interference and copy
    engines are shared.

    A copy engine serves the copies of all contexts one at a time: of those that wait and have a
    direction of the engine, the one that joined first. If several idle engines could serve a copy,
    one that serves a single direction does before one that serves both, of these the first.

    A cooperative kernel starts all its blocks at the same time, and blocks what is behind it like
    any other kernel until it can. The blocks of a cluster start together on SMs of one GPC: the GPC
    that can host the most further clusters of the kernel, and among equals the first in the order
    of SMs. That choice is inferred, not documented. Both kinds are refused if they could not start
    even on an empty GPU.

    At most ``gpu.resident_grids`` kernels of a context are resident at the same time, each from the
    start of its first block to the end of its last one, also while the context has no time slice.
    NVIDIA documents this number (see ``GPU``); the rest of this paragraph is inferred. The kernels
    of all partitions of the context count, as do the nodes of graphs and programmatic kernels
    beside their primaries. Copies do not count, nor do kernels of other contexts, because one
    context at a time has the GPU. While the limit is reached, a kernel at the head of its queue
    that is not resident waits until a resident kernel ends, and delays its queue like a kernel
    without room; resident kernels of lower priority continue to start blocks. The kernel that is
    served first takes the free place, if it has room.

    Events at the same time are processed in this order: blocks and copies end; operations are
    launched; those that may join their queues do so in the order of launch; contexts change; blocks
    start. The nodes of a graph are launched one after the other, in the place of its first node.

    >>> work = gs.Launches.build()
    >>> a = work.kernel(work.stream(), blocks=4, threads=512, duration=900)
    >>> b = work.kernel(work.stream(), blocks=4, threads=256, duration=300, at=100)
    >>> gpu = gs.GPU(sms=2, threads_per_sm=1024, blocks_per_sm=16)
    >>> run = gs.simulate.hierarchy(work.done(), gpu)
    >>> run.end.tolist(), run.overlap(a, b)
    ([900, 1200], 0)

    Parameters
    ----------
    launches
        Kernels and copies, with the times of their launches.
    gpu
        A ``GPU``, or the name of a preset.
    placement
        Rule that chooses the SM of a block: "most_room", "olmedo" or "round_robin", as in
        ``gs.place``.
    copy_engines
        The direction of each engine: a sequence of "in" (host to device), "out" and "both", at most
        64. Or a number: 1 for one engine that serves both directions, 2 or more for one engine per
        direction, since the further engines of a GPU do not let copies of one direction overlap
        (three copies in at once take turns on an H100, which has 3 engines). Default: those of the
        GPU, and one for both directions if they are unknown.
    channels
        Number of hardware queues for the kernels of each partition (by default, of each context),
        which are assigned to its streams in turn. A kernel waits until those launched before it in
        its channel are fully dispatched. 0: no limit. Default: as many as the GPU has, and no limit
        if that is unknown.
    shared_channels
        Whether the partitions of a context have these channels together: its streams then take them
        in turn, in their order, and a kernel may wait for one of another partition. Green contexts
        share the work queues of the device by default, so that work in one may wait for work in
        another (CUDA programming guide, green contexts). Clients of MPS have their own queues, and
        so do green contexts with a balanced configuration of work queues (CUDA 13.1 or later).
    channel_release
        Event at which a kernel frees its channel for the next one: "dispatched" (all its blocks
        have started; Bakita and Anderson, RTAS 2024) or "ended". Which of them holds on a given GPU
        is to be measured.
    timeslice
        Length of time slices in ticks, one number or one per context; required if there are several
        contexts.
    context_priority
        "low", "medium" or "high", for all contexts or for each: how often a context gets a slice in
        a round. A round has one slice for each low context; before each of them, one for each
        medium context; and before each slice of a medium or low context, one for each high context.
        The driver of NVIDIA's embedded boards lays out its runlist in this way. If the lowest level
        is empty, the next one takes its place.
    runlist
        The round as indices of contexts, instead of ``context_priority``. If neither is given, each
        context has one slice. A context without work is skipped.
    context_switch
        Ticks between the time slices of two contexts.
    sms_per_gpc
        GPCs, for ``launches.interference`` and clusters: the number of SMs of each, which have
        consecutive ids. One number for all, where the last GPC has the remaining SMs, or a sequence
        whose sum is the number of SMs. Default: those of the GPU. If they are unknown, 8 SMs are
        assumed for clusters of at most 8 blocks, which CUDA calls portable.
    queues
        "shared": the partitions of a context share its queues of kernels, so that a kernel that
        does not fit blocks those of other partitions. "own": each partition has its own queues;
        among the kernels at their heads, the one of the highest priority starts blocks first, then
        that of the partition with the smaller number. Default: partitions with ``partition_sms``
        (green contexts) have their own queues, and the other partitions of a context (clients of
        MPS, which CUDA treats as streams of one context) share theirs; whether GPUs behave so can
        only be found by measurement.
    blocks
        Whether to keep the log of blocks, for pictures of SMs, occupancy and traces.
    seed, index
        Seed (an int, a ``SeedSequence``, a ``Generator`` or None), and index of the run under it.
        Random numbers depend only on these, the launch and the block, and not on the order of
        execution.
    budget
        A ``gs.Budget``, whose ``states`` limits the blocks. Default: 2 GiB.
    progress
        A callable (ended, launches), or a bool that turns a progress bar on or off; by default a
        bar appears in a terminal or a notebook after one second. Bars need tqdm.
    stop
        Writable buffer of one byte, such as ``bytearray(1)``. The call ends when another thread
        sets the byte to 1.

    Returns
    -------
    Hierarchy
        Times, SMs and waits of all launches. If launches wait for each other, this is a result as
        well: ``outcome`` is "deadlock". ``assumptions`` says what was unknown of the GPU.

    Raises
    ------
    ValueError, OverflowError, TypeError
        A block does not fit an SM; a cooperative launch has more blocks than the SMs that it may
        use can hold; no GPC can hold a cluster; clusters are used on a GPU of a compute capability
        below 9.0; the GPCs are unknown, and clusters have more than 8 blocks or interference
        depends on the GPC; sizes of GPCs do not add up to the SMs; no copy engine has the direction
        of a copy; SMs do not exist; a priority is unknown; the runlist lacks a context; a time
        exceeds 2**59 ticks; the arguments are in the wrong order. The message names the launch and
        the value.
    gpusched.Cancelled
        ``stop`` was set, or the seconds of the budget were spent (the message tells) before the
        launches were read.
    """
    if isinstance(launches, (GPU, str)) or isinstance(gpu, Launches):
        raise TypeError(
            f"launches: got {type(launches).__name__}, expected Launches; the order is "
            "hierarchy(launches, gpu)"
        )
    gpu = as_gpu(gpu)
    hint = "Launches.from_tasks(tasks, until)" if isinstance(launches, KernelTasks) else ""
    instance(launches, Launches, "launches", hint)
    _check_clusters(launches, gpu)
    one_of(placement, PLACEMENTS, "placement")
    contexts = launches.contexts
    slices = _timeslices(timeslice, contexts)
    rounds = _round(context_priority, runlist, contexts)
    engines = directions_of(copy_engines, gpu)
    sizes = gpc_sizes(sms_per_gpc, gpu, launches)
    together = flag(shared_channels, "shared_channels")
    one_of(channel_release, _RELEASES, "channel_release")
    limit = integer((gpu.channels or 0) if channels is None else channels, "channels")
    budget = as_budget(budget)
    stop = within_seconds(stop, budget.seconds)
    number = integer(index, "index")
    if not 0 <= number < 2**63:
        raise ValueError(f"index: got {number}, expected 0 to 2**63 - 1")
    cost = integer(context_switch, "context_switch")
    for name, value in (("channels", limit), ("context_switch", cost)):
        if not -(2**63) <= value < 2**63:
            raise OverflowError(f"{name}: got {value}, expected a number that fits 64 bits")
    given_begin, given = _ragged(launches.block_times)
    after_begin, after = _ragged(launches.after if any(launches.after) else None)
    early = bool(launches.programmatic.any())  # without, triggers change nothing
    simulation = _core.hierarchy_open(
        gpu._limits,
        gpu.sm_order,
        policy=PLACEMENTS[placement],
        copy_engines=np.array([DIRECTION_NUMBERS[each] for each in engines], dtype=np.int64),
        channels=limit,
        shared_channels=together,
        channels_until_end=channel_release == "ended",
        resident_grids=gpu.resident_grids,
        context_switch=cost,
        timeslice=slices,
        runlist=rounds,
        context=launches.stream_context,
        priority=launches.stream_priority,
        stream_kind=launches.stream_kind,
        time=launches.time,
        kind=launches.kind,
        stream=launches.stream,
        blocks=launches.blocks,
        threads=launches.threads,
        regs=launches.regs,
        smem=launches.smem,
        least=launches.duration,
        most=launches.longest,
        given_begin=given_begin,
        given=given,
        after_begin=after_begin,
        after=after,
        interference=None if launches.interference is None else launches.interference.ravel(),
        carveout=launches.carveout,
        graph=launches.graph if (launches.graph >= 0).any() else None,
        programmatic=launches.programmatic if early else None,
        trigger=launches.trigger if early and (launches.trigger >= 0).any() else None,
        **_partitions(launches, queues),
        cooperative=launches.cooperative if launches.cooperative.any() else None,
        cluster=launches.cluster if (launches.cluster > 1).any() else None,
        sms_per_gpc=None if sizes is None else np.array(sizes, dtype=np.int64),
        key=seed_key(seed),
        index=number,
        log_blocks=flag(blocks, "blocks"),
        stop=stop,
    )
    ended = run_to_end(
        simulation,
        budget,
        progress,
        stop,
        total=len(launches),
        unit="launch",
        steps_are_states=True,
    )
    head, joined, first, dispatched, end, why, since, blocker, engine = simulation.ops()
    waiting = np.flatnonzero(why >= 0)
    nowhere = np.full(len(waiting), -1)
    columns = (waiting, why[waiting], blocker[waiting], nowhere, since[waiting], nowhere.copy())
    outcome = "deadlock" if ended.count < len(launches) else "done"
    if ended.reason:
        outcome = "budget"
    return Hierarchy(
        launches=launches,
        gpu=gpu,
        placement=placement,
        copy_engines=engines,
        channels=limit or None,
        timeslice=None if timeslice is None else frozen(slices),
        runlist=None if rounds is None else frozen(rounds),
        context_switch=cost,
        sms_per_gpc=sizes,
        head=head,
        joined=joined,
        first=first,
        dispatched=dispatched,
        end=end,
        blocks=Blocks(*simulation.blocks()) if blocks else None,
        waits=Waits(*simulation.waits()),
        pending=Waits(*columns),
        slices=Slices(*simulation.slices()),
        outcome=outcome,
        reason=ended.reason,
        now=ended.now,
        started=ended.steps,
        engine=engine,
        queues=queues,
        shared_channels=together,
        channel_release=channel_release,
        assumptions=assumptions(
            launches,
            gpu,
            copy_engines=copy_engines,
            sms_per_gpc=sms_per_gpc,
            channels=channels,
            shared_channels=together,
        ),
    )


def _check_clusters(launches: Launches, gpu: GPU) -> None:
    """Refuse clusters on a GPU that is known to be too old for them."""
    if gpu.cc is None or gpu.cc >= _FIRST_WITH_CLUSTERS:
        return
    for i in np.flatnonzero(launches.cluster > 1)[:1].tolist():
        have = "{}.{}".format(*gpu.cc)
        raise ValueError(
            f"cluster[{i}]: got {launches.cluster[i]}, expected 1: clusters need compute "
            f"capability 9.0, and the GPU has {have}"
        )


def _timeslices(given: Any, contexts: int) -> Int64Array:
    if given is None:
        if contexts > 1:
            raise ValueError(f"timeslice: got None, expected ticks, for {contexts} contexts")
        return np.ones(1, dtype=np.int64)
    slices = int_array(given, "timeslice")
    if slices.shape not in ((), (contexts,)):
        raise ValueError(
            f"timeslice: got shape {slices.shape}, expected one number, or one per context "
            f"({contexts})"
        )
    at_least(slices, 1, "timeslice")
    return np.array(np.broadcast_to(slices, (contexts,)))


def _round(priority: Any, runlist: Any, contexts: int) -> Int64Array | None:
    """A round of time slices, as indices of contexts; None: one for each."""
    if priority is None:
        return None if runlist is None else int_array(runlist, "runlist")
    if runlist is not None:
        raise ValueError("runlist: got one beside context_priority, expected one of the two")
    if not isinstance(priority, Iterable):
        raise TypeError(
            f"context_priority: got {priority!r:.60}, expected one of {', '.join(_LEVELS)}, or one "
            "per context"
        )
    levels = [priority] * contexts if isinstance(priority, str) else list(priority)
    if len(levels) != contexts:
        raise ValueError(
            f"context_priority: got {len(levels)} entries, expected one per context ({contexts})"
        )
    for c, level in enumerate(levels):
        one_of(level, _LEVELS, f"context_priority[{c}]")
    low, medium, high = ([c for c in range(contexts) if levels[c] == name] for name in _LEVELS)
    slices = max(len(low), 1) * (len(medium) + 1) * (len(high) + 1)  # or a few less
    if slices > _MOST_TURNS:
        raise ValueError(
            f"context_priority: got about {slices} slices in a round, expected at most "
            f"{_MOST_TURNS}"
        )
    before = [turn for c in medium for turn in (*high, c)]
    order = [turn for c in low for turn in (*before, *high, c)] or before or high
    return np.array(order, dtype=np.int64)


def _partitions(launches: Launches, queues: Any) -> dict[str, Any]:
    """The core's description of the partitions; none where each context is one."""
    if queues is not None:
        one_of(queues, _QUEUES, "queues")
    given = (launches.partition_sms, launches.partition_limit)
    plain = np.array_equal(launches.stream_partition, launches.stream_context)
    if plain and all(column is None for column in given):
        return dict.fromkeys(("partition", "limit", "own_queues", "set_begin", "set"))
    count = launches.partitions
    sets = [row or () for row in launches.partition_sms or [None] * count]
    limits = np.zeros(count, np.int64) if given[1] is None else launches.partition_limit
    own = [bool(row) if queues is None else queues == "own" for row in sets]
    return {
        "partition": launches.stream_partition,
        "limit": limits,
        "own_queues": np.array(own, dtype=np.int64),
        "set_begin": np.cumsum([0, *map(len, sets)], dtype=np.int64),
        "set": np.array([sm for row in sets for sm in row], dtype=np.int64),
    }


def _ragged(rows: Any) -> tuple[Int64Array | None, Int64Array | None]:
    """Offsets and entries of rows of different lengths; nothing where all are empty."""
    if rows is None or not any(row is not None and len(row) for row in rows):
        return None, None
    counts = [0 if row is None else len(row) for row in rows]
    begin = np.concatenate([[0], np.cumsum(counts, dtype=np.int64)])
    filled = [np.asarray(row, dtype=np.int64) for row in rows if row is not None and len(row)]
    return begin, np.concatenate(filled)
