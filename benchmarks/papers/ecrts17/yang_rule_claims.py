"""Claims of [ECRTS17], sections I to III: streams and queues, the rules, the example."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from benchmarks.papers.claim import Claim, Finding, Size, found
from benchmarks.papers.claim_pictures import figure_svg
from gpusched.experiments.yang_figures import yang_fig2

if TYPE_CHECKING:
    from gpusched._support.arguments import Int64Array
    from gpusched.model.kernel_tasks import KernelTasks
    from gpusched.simulate.fifo_result import FifoRun
    from gpusched.simulate.hierarchy_result import Hierarchy

__all__ = ["CLAIMS", "random_sets"]


def _kernels(
    time: list[int], duration: int, stream: list[int], context: list[int], channels: int = 0
) -> Hierarchy:
    """Kernels of one block of 128 threads each on a TX1, in this order.

    As many of them run at once as are ready: a TX1 runs 16, fewer than it has queues.
    """
    from gpusched import simulate
    from gpusched.model.gpu import GPU
    from gpusched.model.launches import Launches

    launches = Launches(time, duration, stream=stream, threads=128, stream_context=context)
    slices = 1000 if len(set(context)) > 1 else None
    gpu = GPU.preset("TX1").replace(resident_grids=128)
    return simulate.hierarchy(launches, gpu, channels=channels, timeslice=slices)


def _contexts(size: Size) -> Finding:
    one = _kernels([0, 0], 100, [0, 1], [0, 0]).overlap(0, 1)
    two = _kernels([0, 0], 100, [0, 1], [0, 1]).overlap(0, 1)
    return found(
        one == 100 and two == 0,
        f"Two kernels of 100 ticks overlap for {one} ticks in one context, {two} in two.",
        {"one context": one, "two contexts": two},
    )


def _granularity(size: Size) -> Finding:
    waves = yang_fig2().run.waves
    assert waves is not None
    second = waves.task == 1
    starts, blocks = waves.start[second].tolist(), waves.blocks[second].tolist()
    whole = bool((waves.end > waves.start).all())
    return found(
        starts == [0, 38] and blocks == [6, 1] and whole,
        f"K2's blocks start at {starts[0] / 10} ({blocks[0]}) and {starts[1] / 10} ({blocks[1]}); "
        "each block holds all its threads from its start to its end.",
        {"starts": starts, "blocks": blocks},
    )


def _streams(size: Size) -> Finding:
    run = _kernels([0, 0, 0], 100, [0, 0, 1], [0, 0])
    first, end = run.first.tolist(), run.end.tolist()
    return found(
        first[1] == end[0] and first[2] == 0,
        f"The second kernel of a stream starts at {first[1]}, when the first ends; that of another "
        f"stream, launched last, at {first[2]}.",
        {"first": first, "end": end},
    )


def _queues(size: Size) -> Finding:
    waits = []
    for streams in (32, 33):
        # The first stream has two kernels; each other one has one, launched after them.
        stream = [0, 0, *range(1, streams)]
        run = _kernels([0] * (streams + 1), 100, stream, [0] * streams, channels=32)
        waits.append(int(run.first[2:].max()))
    return found(
        waits == [0, 100],
        f"With 32 queues, a kernel of the 32nd stream waits for {waits[0]} ticks, one of the 33rd "
        f"for {waits[1]}: it shares a queue with a stream whose second kernel waits.",
        {"streams": [32, 33], "wait": waits},
        reading=True,
    )


def _hyper_q(size: Size) -> Finding:
    starts = {
        channels: _kernels([0, 0, 0], 100, [0, 0, 1], [0, 0], channels).first.tolist()
        for channels in (1, 32)
    }
    return found(
        starts == {1: [0, 100, 100], 32: [0, 100, 0]},
        "Two kernels of a stream and one of another, launched last: with one hardware queue, as on "
        f"Fermi, the third starts at {starts[1][2]}, with 32 at {starts[32][2]}.",
        {str(channels): first for channels, first in starts.items()},
    )


def _limits(size: Size) -> Finding:
    from gpusched.model.gpu import GPU, occupancy

    gpu = GPU.preset("TX1")
    most = gpu.sms * gpu.threads_per_sm
    widest = [name for name in GPU.presets() if occupancy(name, 1025) or not occupancy(name, 1024)]
    return found(
        most == 4096 and not widest,
        f"A TX1 holds {most} threads; of {len(GPU.presets())} GPUs none takes a block of 1,025 "
        f"threads, and {len(GPU.presets()) - len(widest)} take one of 1,024.",
        {"threads": most, "GPUs": len(GPU.presets()), "exceptions": widest},
    )


def _example(regs: int, smem: int) -> Hierarchy:
    """The kernels of Example 1 on a TX1, K5 in the stream of K1."""
    from gpusched import simulate
    from gpusched.model.launches import Launches

    launches = Launches(
        [0, 0, 0, 0, 0],
        [38, 60, 60, 112, 38],
        stream=[0, 1, 2, 3, 0],
        blocks=[1, 7, 1, 5, 1],
        threads=[1024, 512, 1024, 512, 1024],
        regs=regs,
        smem=smem,
        name=["K1", "K2", "K3", "K4", "K5"],
    )
    return simulate.hierarchy(launches, "TX1")


def _threads_only(size: Size) -> Finding:
    figure = yang_fig2()
    threads = [figure[name].tolist() for name in ("start", "dispatched", "end")]
    same = {}
    for regs, smem in ((32, 8192), (33, 8192), (32, 24 * 1024)):
        name = f"{regs} registers, {smem} bytes"
        try:
            run = _example(regs, smem)
        except ValueError:  # more registers than a block of 1,024 threads can have on a TX1
            same[name] = "refused"
            continue
        ours = [run.first.tolist(), run.dispatched.tolist(), run.end.tolist()]
        same[name] = "the same" if ours == threads else "another"
    return found(
        list(same.values()) == ["the same", "refused", "another"],
        "On a TX1 the example's schedule with registers per thread and shared memory per block, "
        "against that by threads alone: "
        + "; ".join(f"{name} {schedule}" for name, schedule in same.items())
        + ".",
        dict(same),
    )


def _head(size: Size) -> Finding:
    run = yang_fig2()
    rows = dict(zip(run["kernel"].tolist(), range(len(run)), strict=True))
    dispatched, start = int(run["dispatched"][rows["K2"]]), int(run["start"][rows["K3"]])
    later = int(run["start"][rows["K4"]])
    return found(
        dispatched == 38 and start == later == 60,
        "From 3.8 on 512 threads are free, enough for a block of K4, which is behind K3: K3 and K4 "
        f"start at {start / 10} and {later / 10}.",
        {"K2 dispatched": dispatched, "K3": start, "K4": later},
    )


def _room(size: Size) -> Finding:
    waves = yang_fig2().run.waves
    assert waves is not None
    blocks = int(waves.blocks[(waves.task == 1) & (waves.start == 0)][0])
    return found(
        blocks == (4096 - 1024) // 512 == 6,
        f"Beside K1's 1,024 threads {blocks} blocks of 512 start.",
        {"blocks": blocks},
    )


def _enqueued(size: Size) -> Finding:
    run = _example(0, 0)
    text = run.why(4).splitlines()
    return found(
        text[0].startswith("waited 0 .. 38 for K1") and run.first[4] == 120,
        f"K5, launched at 0 behind K1: {text[0]}; it starts at {run.first[4] / 10}.",
        {"why": text, "start": int(run.first[4])},
    )


def _stay(size: Size) -> Finding:
    run = _example(0, 0)
    left, end = int(run.dispatched[0]), int(run.end[0])
    waited = run.why(4).splitlines()[0]
    return found(
        left == 0 and end == 38 and waited.startswith("waited 0 .. 38 for K1"),
        f"K1 leaves the primary queue at {left / 10} and ends at {end / 10}; until then it heads "
        f"its stream: K5 behind it {waited}.",
        {"left the primary queue": left, "end": end},
        figure_svg(run.plot),
    )


def _figure_1(size: Size) -> Finding:
    run = yang_fig2()
    dispatched = run["dispatched"][:2].tolist()
    return found(
        dispatched[1] == 0,
        f"K1 leaves the primary queue at {dispatched[0] / 10}, K2 at {dispatched[1] / 10}, when "
        "its seventh block starts.",
        {"dispatched": dispatched},
        figure_svg(run.plot),
    )


def _figure_2(size: Size) -> Finding:
    run = yang_fig2()
    start, finish = run["start"][:4].tolist(), run["end"][:4].tolist()
    agrees = start == [0, 0, 60, 60] and finish == [38, 98, 120, 172]
    return found(
        agrees and run["dispatched"][1] == 38,
        "K1 runs from 0 to 3.8; six blocks of K2 start at 0, the seventh at 3.8; K3 starts at "
        f"{start[2] / 10}, K4 at {start[3] / 10}; they end at {[f / 10 for f in finish]}.",
        {"start": start, "end": finish},
        figure_svg(run.plot),
    )


def _k5(size: Size) -> Finding:
    run = yang_fig2()
    start, ends = int(run["start"][4]), run["end"].tolist()
    return found(
        start == ends[3],
        f"K3 ends at {ends[2] / 10}; beside K4's 2,560 threads 1,536 are free then, K5 needs 1,024 "
        f"and starts at {start / 10}. K4 ends at {ends[3] / 10}.",
        {"start": start, "K3 ends": ends[2], "K4 ends": ends[3]},
    )


def random_sets(count: int, seed: int) -> KernelTasks:
    """Random small sets of three tasks on 8 threads."""
    from gpusched.model.kernel_tasks import KernelTasks

    rng = np.random.default_rng(seed)
    shape = count, 3
    return KernelTasks(
        period=rng.integers(8, 40, shape),
        block_time=rng.integers(1, 8, shape),
        blocks=rng.integers(1, 5, shape),
        threads=rng.integers(1, 6, shape),
    )


def _p1(size: Size) -> Finding:
    from gpusched import simulate

    sets = random_sets(size.count(100, 5000), 1)
    broken = {"eligible": 0, "release": 0}
    jobs = 0
    for tasks in (sets[i] for i in range(len(sets))):
        run = simulate.fifo(tasks, 8, until=400, settle="no")
        jobs += len(run)
        for name, key in (("eligible", _eligible(run)), ("release", run.release)):
            ahead = key[:, None] < key[None, :]
            broken[name] += int((ahead & (run.dispatched[:, None] > run.start[None, :])).sum())
    return found(
        broken["eligible"] == 0 and broken["release"] > 0,
        f"In {len(sets)} random sets ({jobs} jobs) by rules R1 and R2, {broken['eligible']} pairs "
        "of kernels start against the order in which they became heads of their streams; "
        f"{broken['release']} pairs against the order of their releases.",
        {"sets": len(sets), "jobs": jobs, **broken},
        reading=True,
    )


def _eligible(run: FifoRun) -> Int64Array:
    """Times at which the jobs become heads of their streams."""
    eligible = run.release.copy()
    for i in set(run.task.tolist()):
        rows = np.flatnonzero(run.task == i)
        rows = rows[np.argsort(run.job[rows])]
        eligible[rows[1:]] = np.maximum(run.release[rows[1:]], run.end[rows[:-1]])
    return eligible


CLAIMS = (
    Claim(
        "Section I",
        "unused resources",
        "Programs of Parboil2 use about 30 % of a GPU's resources on average.",
        (),
        "needs hardware",
        "a measurement of another paper, of programs on a GPU",
    ),
    Claim(
        "Section I",
        "concurrent kernels",
        "Kernels of one GPU context may run concurrently.",
        ("gs.simulate.hierarchy",),
        "agrees",
        "",
        _contexts,
    ),
    Claim(
        "Section II",
        "gangs of threads, malleable kernels",
        "All threads of a block run together (a gang), while the blocks of a kernel may start at "
        "different times (malleable).",
        ("gs.experiments.yang_fig2", "gs.simulate.fifo"),
        "agrees",
        "",
        _granularity,
    ),
    Claim(
        "Section II",
        "streams",
        "Kernels of a stream run in order; those of different streams out of order or at once.",
        ("gs.simulate.hierarchy",),
        "agrees",
        "",
        _streams,
    ),
    Claim(
        "Section II",
        "32 hardware queues",
        "GPUs since Kepler have up to 32 hardware queues, so up to 32 streams have one each.",
        ("gs.simulate.hierarchy",),
        "agrees in this reading",
        "the number of queues is an input (channels=)",
        _queues,
    ),
    Claim(
        "Figure 1",
        "streams and queues at time 0",
        "When K1 and six of seven blocks of K2 run, both have left the primary queue.",
        ("gs.experiments.yang_fig2",),
        "differs",
        "A kernel with an unstarted block heads the primary queue: Example 1 itself has K3 wait "
        "for K2 by rule R1 until 3.8. K1 has left at time 0, K2 has not.",
        _figure_1,
    ),
    Claim(
        "Figure 1",
        "kernels in their streams",
        "K1 and K2 stay in the queues of their streams until they complete.",
        ("gs.simulate.hierarchy",),
        "agrees",
        "",
        _stay,
    ),
    Claim(
        "Section III",
        "limits of threads",
        "Blocks have at most 1,024 threads; a TX1 holds 4,096 threads at once.",
        ("gs.GPU", "gs.occupancy"),
        "agrees",
        "",
        _limits,
    ),
    Claim(
        "Section III",
        "threads are the only resource",
        "Registers and shared memory limit kernels, too; the paper counts threads alone.",
        ("gs.simulate.hierarchy", "gs.experiments.yang_fig2"),
        "agrees",
        "",
        _threads_only,
    ),
    Claim(
        "Rule R1a",
        "head of the primary queue",
        "Only the kernel at the head of the primary queue starts blocks.",
        ("gs.simulate.fifo",),
        "agrees",
        "",
        _head,
    ),
    Claim(
        "Rule R1b",
        "enough free threads",
        "A block starts if as many threads are free as it has.",
        ("gs.simulate.fifo",),
        "agrees",
        "",
        _room,
    ),
    Claim(
        "Rule R2",
        "head of the stream",
        "A kernel reaches the primary queue once no kernel is ahead of it in its stream: K5 when "
        "K1 ends.",
        ("gs.simulate.hierarchy",),
        "agrees",
        "",
        _enqueued,
    ),
    Claim(
        "Figure 2",
        "schedule of Example 1",
        "K1 and six blocks of K2 (seven of 512 threads) start at 0 on 4,096 threads, the last one "
        "when K1 ends; K3 waits for the threads of K2 until 6.",
        ("gs.experiments.yang_fig2",),
        "agrees",
        "",
        _figure_2,
    ),
    Claim(
        "Example 1",
        "start of K5",
        "Rule R1 lets K5 start when K4 finishes.",
        ("gs.experiments.yang_fig2",),
        "differs",
        "By rule R1 it starts when K3 finishes: 1,536 threads are free then and it needs 1,024.",
        _k5,
    ),
    Claim(
        "Section III",
        "rules of Fermi and Hyper-Q",
        "The rules are those of Fermi, with the hardware queues that GPUs have since Kepler.",
        ("gs.simulate.hierarchy",),
        "agrees",
        "",
        _hyper_q,
    ),
    Claim(
        "Section III",
        "experiments on a TX1",
        "Experiments on a TX1 in prior work confirm the rules.",
        (),
        "needs hardware",
        "the schedules that were observed are those of gs.experiments.rtss2017, of a TX2; a check "
        "needs a GPU and gs.cuda.probe",
    ),
    Claim(
        "Property P1",
        "FIFO by release",
        "Kernels start in the order of their releases, each when all blocks of earlier ones have "
        "started.",
        ("gs.simulate.fifo",),
        "agrees in this reading",
        "the release of a kernel is the instant at which it heads its stream, as the sentence "
        "before P1 says. By the releases of section IV it does not follow from R1 and R2; "
        "gs.simulate.fifo has both readings, as order='hardware' and order='strict'",
        _p1,
    ),
)
