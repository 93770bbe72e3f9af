"""The scheduling hierarchy: observed schedules, waiting reasons, pictures, errors."""

from __future__ import annotations

import itertools
import json
import pickle
import xml.etree.ElementTree as ElementTree
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from reference import occupancy

import gpusched as gs
from gpusched import _core
from gpusched.simulate import hierarchy_timeline, run_results
from gpusched.simulate.hierarchy_result import Deadlock, Hierarchy
from gpusched.simulate.hierarchy_tables import REASONS

# Of Amert et al.: two SMs as in a TX2.
TX2 = gs.GPU(sms=2, threads_per_sm=2048, blocks_per_sm=32, smem_per_sm=65536)
KB = 1024


@pytest.fixture(autouse=True)
def close_figures() -> Iterator[None]:
    yield
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    from matplotlib import pyplot

    pyplot.close("all")


def spans(run: Hierarchy) -> list[tuple[int, int]]:
    return list(zip(run.first.tolist(), run.end.tolist(), strict=True))


def contexts(copy_engines: int = 1) -> Hierarchy:
    """Two applications that take turns, with a copy each."""
    work = gs.Launches.build()
    one, other = work.stream(), work.stream(context=1)
    work.kernel(one, blocks=4, threads=512, duration=250, name="long")
    work.kernel(other, blocks=2, threads=256, duration=120, at=30, name="other")
    work.copy_out(other, duration=40)
    work.copy_in(one, duration=50, at=0)
    return gs.simulate.hierarchy(work.done(), TX2, timeslice=[100, 50], copy_engines=copy_engines)


def random_launches(rng: np.random.Generator, n: int = 40, **more: Any) -> gs.Launches:
    """Kernels and copies of two contexts."""
    duration = rng.integers(1, 60, n)
    return gs.Launches(
        np.sort(rng.integers(0, 500, n)),
        duration,
        longest=duration + rng.integers(0, 2, n) * 20,
        kind=rng.choice(3, n, p=[0.8, 0.1, 0.1]),
        stream=rng.integers(0, 6, n),
        blocks=rng.integers(1, 30, n),
        threads=32 * rng.integers(1, 33, n),
        smem=rng.choice([0, 0, 4096, 30000], n),
        stream_context=[0, 0, 0, 0, 1, 1],
        stream_priority=[0, -1, 0, 0, 0, -2],
        stream_kind=["null", "blocking", "blocking", "non_blocking", "null", "blocking"],
        **more,
    )


# Published observations


def test_rtss_2017_without_priorities() -> None:
    work = gs.Launches.build()
    s = [work.stream() for _ in range(3)]
    work.kernel(s[0], blocks=6, threads=768, duration=100)
    work.kernel(s[0], blocks=2, threads=512, duration=100)
    work.kernel(s[1], blocks=4, threads=256, smem=32 * KB, duration=100, at=20)
    work.kernel(s[2], blocks=2, threads=256, smem=32 * KB, duration=100, at=40)
    run = gs.simulate.hierarchy(work.done(), TX2)
    assert spans(run) == [(0, 200), (200, 300), (100, 200), (200, 300)]
    assert run.blocks is not None
    of_first = run.blocks.start[run.blocks.kernel == 0]
    assert of_first.tolist() == [0] * 4 + [100] * 2
    assert run.why(0).splitlines() == [
        "waited 0 .. 100 for room for its other blocks: no SM has enough free warps, until SM 0 "
        "had room"
    ]
    assert run.why(1).splitlines() == [
        "waited 0 .. 200 for kernel 0, which is before it in stream 0"
    ]
    assert run.why(2).splitlines() == ["waited 20 .. 100 behind kernel 0 in the queue"]
    assert run.why(3).splitlines() == [
        "waited 40 .. 100 behind kernel 2 in the queue",
        "waited 100 .. 200 for room: no SM has enough free shared memory, until SM 0 had room",
    ]
    assert run.overlap(0, 2) == run.overlap(2, 0) == 100 and run.overlap(2, 3) == 0
    assert run.response.tolist() == [200, 300, 180, 260]
    assert run.outcome == "done" and run.deadlock is None and run.reason is None
    assert run.now == 300 and run.started == 14
    assert run.slices.start.tolist() == [0] and run.slices.end.tolist() == [300]
    assert repr(run) == "<Hierarchy: 4 kernels on 2 SMs; all ended by 300>"


def test_rtss_2017_with_priorities() -> None:
    work = gs.Launches.build()
    low, high, also = work.stream(), work.stream(priority=-1), work.stream(priority=-1)
    work.kernel(low, blocks=8, threads=1024, duration=50)
    work.kernel(high, blocks=16, threads=1024, duration=50, at=20)
    work.kernel(also, blocks=16, threads=1024, duration=50, at=50)
    run = gs.simulate.hierarchy(work.done(), TX2)
    assert spans(run) == [(0, 500), (50, 250), (250, 450)]
    assert run.blocks is not None
    mine = run.blocks.kernel == 0
    assert run.blocks.start[mine].tolist() == [0] * 4 + [450] * 4
    assert run.why(0).splitlines()[1:] == [
        "waited 20 .. 200 for kernel 1, which is more urgent",
        "waited 200 .. 400 for kernel 2, which is more urgent",
        "waited 400 .. 450 for room for its other blocks: no SM has enough free warps, until SM 0 "
        "had room",
    ]


def test_rtss_2017_priority_inversion() -> None:
    work = gs.Launches.build()
    for k in range(7):
        work.kernel(work.stream(), threads=512, duration=100, at=10 * k)
    work.kernel(work.stream(priority=-1), threads=1024, duration=50, at=65)
    work.kernel(work.stream(), threads=512, duration=100, at=70)
    run = gs.simulate.hierarchy(work.done(), TX2)
    assert run.first.tolist() == [*range(0, 70, 10), 110, 110]
    assert run.blocks is not None
    where = dict(zip(run.blocks.kernel.tolist(), run.blocks.sm.tolist(), strict=True))
    assert where[7] == 1 and where[8] == 0


@pytest.mark.parametrize(
    "gpu",
    [gs.GPU.preset("threads4096"), gs.GPU(sms=1, threads_per_sm=4096, blocks_per_sm=64)],
    ids=["two SMs", "one SM"],
)
def test_paper_000(gpu: gs.GPU) -> None:
    """Examples 1 and 2, times by ten; K5 starts when K3 ends (the paper's text has K4)."""
    tasks = gs.KernelTasks(
        [80, 160, 170, 180],
        block_time=[38, 60, 60, 112],
        blocks=[1, 7, 1, 5],
        threads=[1024, 512, 1024, 512],
        name=["K1", "K2", "K3", "K4"],
    )
    run = gs.simulate.hierarchy(gs.Launches.from_tasks(tasks, 81), gpu)
    assert spans(run) == [(0, 38), (0, 98), (60, 120), (60, 172), (120, 158)]
    assert run.dispatched.tolist() == [0, 38, 60, 60, 120]
    fifo = gs.simulate.fifo(tasks, 4096, until=81)
    assert run.first.tolist() == fifo.start.tolist()
    assert run.end.tolist() == fifo.end.tolist()


# Agreement with other parts


@pytest.mark.parametrize("policy", ["most_room", "olmedo", "round_robin"])
def test_one_instant_is_placed_as_place_does(policy: str) -> None:
    rng = np.random.default_rng(5)
    gpu = gs.GPU.preset("Xavier")
    stopped = 0
    for _ in range(60):
        n = int(rng.integers(1, 7))
        blocks, threads = rng.integers(1, 40, n), rng.integers(1, 1025, n)
        regs, smem = rng.choice([0, 32, 64], n), rng.choice([0, 0, 3000, 20000], n)
        launches = gs.Launches(
            [0] * n, 10, stream=range(n), blocks=blocks, threads=threads, regs=regs, smem=smem
        )
        run = gs.simulate.hierarchy(launches, gpu, placement=policy)
        placed = gs.place(gpu, blocks, threads, regs, smem, placement=policy)
        assert run.blocks is not None
        now = run.blocks.start == 0
        order = np.lexsort((run.blocks.block[now], run.blocks.kernel[now]))
        there = placed.sm >= 0
        assert run.blocks.kernel[now][order].tolist() == placed.kernel[there].tolist()
        assert run.blocks.sm[now][order].tolist() == placed.sm[there].tolist()
        stopped += not placed.all_placed
    assert stopped > 10


def test_one_sm_is_the_fifo_model() -> None:
    """Threads alone on one SM, periodic kernels: gs.simulate.fifo's hardware order."""
    rng = np.random.default_rng(11)
    backlogs = 0
    for k in range(40):
        n, m = int(rng.integers(2, 7)), int(rng.integers(4, 12))
        # Times without common factors: jobs that join at one instant would join by task index
        # there, and by release here.
        tasks = gs.KernelTasks(
            period=rng.integers(10**6, 10**7, n),
            block_time=rng.integers(10**5, 3 * 10**6, n),
            blocks=rng.integers(1, 7, n),
            threads=32 * rng.integers(1, m + 1, n).clip(max=32),
            offset=rng.integers(0, 10**6, n) if k % 2 else 0,
            priority=rng.integers(0, 3, n),
        )
        until = 4 * 10**7
        fifo = gs.simulate.fifo(tasks, 32 * m, until=until, settle="no")
        gpu = gs.GPU(sms=1, threads_per_sm=32 * m, blocks_per_sm=1000)
        run = gs.simulate.hierarchy(gs.Launches.from_tasks(tasks, until), gpu)
        assert run.outcome == "done"
        assert run.launches.time.tolist() == fifo.release.tolist()
        assert run.launches.stream.tolist() == fifo.task.tolist()
        for ours, theirs in (("first", "start"), ("dispatched", "dispatched"), ("end", "end")):
            assert getattr(run, ours).tolist() == getattr(fifo, theirs).tolist()
        backlogs += bool((run.head > run.launches.time).any())
    assert backlogs > 10


def test_occupancy_as_the_twin() -> None:
    for seed in range(200):
        rng = np.random.default_rng(seed)
        n = int(rng.integers(0, 30))
        sm, start = rng.integers(0, 4, n), rng.integers(-9, 9, n)
        end, threads = start + rng.integers(0, 6, n), rng.integers(1, 100, n)
        rows = zip(*(c.tolist() for c in _core.sm_usage(4, sm, start, end, threads)), strict=True)
        spans = zip(*(c.tolist() for c in (sm, start, end, threads)), strict=True)
        assert list(rows) == occupancy.occupancy(spans)


def test_occupancy() -> None:
    gpu = gs.GPU.preset("Xavier")
    rng = np.random.default_rng(3)
    for channels in (0, 2):
        run = gs.simulate.hierarchy(
            random_launches(rng), gpu, timeslice=70, channels=channels, seed=1
        )
        held = run.occupancy()
        assert held.warps.max() <= gpu.warps_per_sm and held.blocks.max() <= gpu.blocks_per_sm
        assert held.threads.max() <= gpu.threads_per_sm and held.warps.min() == 0
        assert (np.diff(held.sm) >= 0).all()
        busy = 0
        for s in range(gpu.sms):
            times, warps = held.of(s)
            assert (np.diff(times) > 0).all() and warps[-1] == 0
            busy += int((np.diff(times) * warps[:-1]).sum())
        # Only the context with the GPU makes progress: in all, what the blocks need.
        assert run.blocks is not None
        frozen, block, start, end = run._pieces()
        per_block = -(-run.launches.threads // 32)[run.blocks.kernel]
        needed = np.zeros(len(run.blocks), dtype=np.int64)
        np.add.at(needed, block[~frozen], (end - start)[~frozen])
        low = run.launches.duration[run.blocks.kernel]
        assert (needed >= low).all() and (needed <= run.launches.longest[run.blocks.kernel]).all()
        assert busy == (needed * per_block).sum()
        whole = np.zeros(len(run.blocks), dtype=np.int64)
        np.add.at(whole, block, end - start)
        assert (whole == run.blocks.end - run.blocks.start).all()
        assert frozen.any()
        times, total = held.total()
        assert total[-1] == 0 and int((np.diff(times) * total[:-1]).sum()) == busy
    assert len(held) == len(held.to_frame())


# Levels of the hierarchy


def test_contexts_take_turns() -> None:
    run = contexts()
    # 0: 0-100, 1: 100-150, 0: 150-250, 1: 250-300, 0: 300-350 (done), 1: 350-370
    assert spans(run) == [(0, 350), (100, 370), (400, 440), (350, 400)]
    assert spans(contexts(2)) == [(0, 350), (100, 370), (370, 410), (350, 400)]
    assert run.slices.context.tolist() == [0, 1, 0, 1, 0, 1]
    assert run.slices.end.tolist() == [100, 150, 250, 300, 350, 370]
    assert run.why(1).splitlines() == ["waited 30 .. 100 for a time slice of its context (1)"]
    assert run.why(2).splitlines()[1] == "waited 370 .. 400 behind copy in 3 at the copy engine"
    assert run.copies["launch"].tolist() == [2, 3] and len(run.kernels) == 2
    more = gs.simulate.hierarchy(
        run.launches, TX2, timeslice=[100, 50], runlist=[0, 0, 1], context_switch=5
    )
    assert more.end[:2].tolist() == [310, 385]


def test_null_stream_and_channels_in_words() -> None:
    work = gs.Launches.build()
    null, one, two = work.stream(kind="null"), work.stream(), work.stream()
    free = work.stream(kind="non_blocking")
    work.kernel(one, duration=100)
    work.kernel(null, duration=100, at=10)
    work.kernel(two, duration=100, at=20)
    work.kernel(free, duration=100, at=30)
    run = gs.simulate.hierarchy(work.done(), TX2)
    assert spans(run) == [(0, 100), (100, 200), (200, 300), (30, 130)]
    assert run.why(1).splitlines() == [
        "waited 10 .. 100 in the NULL stream for kernel 0, which was launched before it"
    ]
    assert run.why(2).splitlines() == [
        "waited 20 .. 200 for kernel 1 in the NULL stream, which was launched before it"
    ]
    assert run.why(3).splitlines() == []
    work = gs.Launches.build()
    one, two = work.stream(), work.stream()
    work.kernel(one, duration=100)
    work.kernel(one, duration=100)
    work.kernel(two, duration=100, at=10)
    run = gs.simulate.hierarchy(work.done(), TX2, channels=1)
    assert run.why(2).splitlines() == [
        "waited 10 .. 100 for all blocks of kernel 1 to start, which is before it in its channel"
    ]
    assert run.channels == 1
    assert gs.simulate.hierarchy(work.done(), TX2, channels=2).why(2).splitlines() == []


def test_every_wait_ends_where_something_begins() -> None:
    rng = np.random.default_rng(7)
    seen: set[str] = set()
    for k in range(20):
        launches = random_launches(
            rng, after=[(i - 5,) if i > 10 and i % 9 == 0 else () for i in range(40)]
        )
        run = gs.simulate.hierarchy(
            launches, gs.GPU.preset("TX2"), timeslice=40, channels=k % 3, seed=k
        )
        seen |= set(run.waits.reason.tolist())
        if run.outcome == "deadlock":
            continue
        for i in range(len(launches)):
            assert launches.time[i] <= run.head[i] <= run.joined[i] <= run.first[i]
            assert run.first[i] <= run.dispatched[i] < run.end[i]
            mine = np.flatnonzero(run.waits.launch == i)
            mine = mine[np.argsort(run.waits.start[mine], kind="stable")]
            # Until its first block starts, the waits account for all of its time.
            before = mine[run.waits.start[mine] < run.first[i]]
            ends = [int(launches.time[i]), *run.waits.end[before].tolist()]
            assert run.waits.start[before].tolist() == ends[:-1]
            assert ends[-1] == run.first[i]
            assert len(run.why(i).splitlines()) == len(mine)
    assert len(seen) >= 9, seen


def test_interference_slows_blocks() -> None:
    work = gs.Launches.build()
    one, other = work.stream(), work.stream()
    work.kernel(one, duration=100, interference=(4, 2, 1, 1))
    work.kernel(other, duration=100, at=20)
    launches = work.done()
    assert spans(gs.simulate.hierarchy(launches, TX2, sms_per_gpc=2)) == [(0, 150), (20, 120)]
    assert spans(gs.simulate.hierarchy(launches, TX2, sms_per_gpc=1)) == [(0, 100), (20, 120)]


def test_block_times() -> None:
    given = [5, 1, 9, 3]
    launches = gs.Launches([0], blocks=4, threads=1024, block_times=[given])
    run = gs.simulate.hierarchy(launches, TX2)
    assert run.blocks is not None
    assert (run.blocks.end - run.blocks.start)[np.argsort(run.blocks.block)].tolist() == given
    random = gs.Launches([0] * 50, 10, longest=20, stream=range(50), blocks=7)
    one = gs.simulate.hierarchy(random, TX2, seed=3)
    assert one == gs.simulate.hierarchy(random, TX2, seed=3)
    assert one != gs.simulate.hierarchy(random, TX2, seed=4)
    assert one != gs.simulate.hierarchy(random, TX2, seed=3, index=1)
    assert one.blocks is not None
    times = one.blocks.end - one.blocks.start
    assert times.min() == 10 and times.max() == 20


# Deadlocks


def test_deadlock() -> None:
    work = gs.Launches.build()
    a, b = work.stream(), work.stream(name="other")
    work.kernel(a, duration=10, after=1)
    work.kernel(a, duration=10)
    work.kernel(b, duration=10)
    run = gs.simulate.hierarchy(work.done(), TX2)
    assert run.outcome == "deadlock" and spans(run) == [(-1, -1), (-1, -1), (0, 10)]
    assert run.deadlock == Deadlock(
        chain=((0, "after", 1), (1, "stream", 0)),
        sentence="kernel 0 waits for kernel 1, as it was told to; kernel 1 waits for kernel 0, "
        "which is before it in stream 0: this never ends",
    )
    assert str(run.deadlock) == run.deadlock.sentence
    assert run.why(1) == "has waited since 0 for kernel 0, which is before it in stream 0"
    assert run.why() == str(run.deadlock)
    assert run.response.tolist() == [-1, -1, 10]
    assert repr(run) == "<Hierarchy: 3 kernels on 2 SMs; deadlock at 10, 2 launches not ended>"
    for by in ("sm", "stream"):
        assert "deadlock: 2 launches have not ended" in run.to_svg(by=by)


def test_a_launch_that_waits_for_itself() -> None:
    run = gs.simulate.hierarchy(gs.Launches([3], 5, after=[(0,)]), TX2)
    assert run.deadlock is not None
    assert run.deadlock.chain == ((0, "after", 0),)
    assert str(run.deadlock) == "kernel 0 waits for itself, as it was told to: this never ends"
    assert run.why(0) == "has waited since 3 for itself, as it was told to"
    assert "<svg" in run.to_svg() and "<svg" in run.to_svg(by="stream")


@pytest.mark.parametrize(
    ("priority", "runlist"),
    [
        # Before each low one: the medium ones with the high ones before each, and the high ones.
        (["low", "low", "medium", "medium", "high", "high"], "452453450452453451"),
        (["medium", "high", "medium"], "1012"),
        (["low", "high"], "10"),
        (["low", "medium", "low"], "1012"),
        ("high", "01"),
        ("low", "01"),
    ],
)
def test_priorities_of_contexts(priority: Any, runlist: str) -> None:
    n = 2 if isinstance(priority, str) else len(priority)
    work = gs.Launches([0] * n, 10, stream=range(n), stream_context=range(n))
    run = gs.simulate.hierarchy(work, TX2, timeslice=1, context_priority=priority)
    assert run.runlist is not None
    wanted = [int(c) for c in runlist]
    assert run.runlist.tolist() == wanted
    lengths = run.slices.end - run.slices.start
    assert np.repeat(run.slices.context, lengths)[: len(wanted)].tolist() == wanted


def test_the_more_urgent_context_is_done_first() -> None:
    work = gs.Launches([0, 0], 100, stream=[0, 1], stream_context=[0, 1])
    ends = {
        level: gs.simulate.hierarchy(
            work, TX2, timeslice=10, context_priority=["medium", level]
        ).end.tolist()
        for level in ("low", "medium", "high")
    }
    assert ends["medium"] == [190, 200]
    # A round has each of two contexts once, the more urgent one first.
    assert ends["low"] == [190, 200]
    assert ends["high"] == [200, 190]


def test_many_streams_in_few_channels_wait_once_each() -> None:
    """The log of waits grows with the launches, not with the streams that wait beside them."""
    n = 4000
    launches = gs.Launches(
        range(n), 50, stream=range(n), blocks=40, threads=256, stream_context=[0] * n
    )
    run = gs.simulate.hierarchy(launches, "Xavier", channels=2)
    assert run.outcome == "done"
    in_channel = run.waits.launch[run.waits.reason == "channel"]
    assert len(np.unique(in_channel)) == len(in_channel) > n // 2
    assert len(run.waits) < 4 * n


def test_a_deadlock_by_channel_and_null_stream() -> None:
    work = gs.Launches.build()
    null, one, two = work.stream(kind="null"), work.stream(), work.stream(kind="non_blocking")
    work.kernel(one, duration=10, after=1)
    work.kernel(null, duration=10)
    work.kernel(two, duration=10)
    run = gs.simulate.hierarchy(work.done(), TX2, channels=1)
    assert run.deadlock is not None
    assert run.deadlock.chain == ((0, "after", 1), (1, "null_stream", 0))
    assert run.pending.reason.tolist() == ["after", "null_stream", "channel"]
    assert (
        run.why(2)
        .splitlines()[0]
        .endswith("for all blocks of kernel 1 to start, which is before it in its channel")
    )


def test_random_deadlocks_are_rings() -> None:
    rng = np.random.default_rng(2)
    found = 0
    for _ in range(40):
        n = 12
        after = [tuple(rng.integers(0, n, int(rng.integers(0, 2))).tolist()) for _ in range(n)]
        launches = gs.Launches(rng.integers(0, 30, n), 5, stream=rng.integers(0, 4, n), after=after)
        run = gs.simulate.hierarchy(launches, TX2, channels=2)
        if run.deadlock is None:
            assert (run.end >= 0).all()
            continue
        found += 1
        chain = run.deadlock.chain
        for (_, reason, blocker), (following, _, _) in itertools.pairwise((*chain, chain[0])):
            assert reason in REASONS and blocker == following
        assert all(run.end[i] < 0 for i, _, _ in chain)
        assert len({i for i, _, _ in chain}) == len(chain)
    assert 5 < found < 40


# The result


def test_tables_pickle_and_equality() -> None:
    run = contexts()
    again = pickle.loads(pickle.dumps(run))
    assert again == run and not again.end.flags.writeable
    assert not again.blocks.sm.flags.writeable
    assert run != contexts(2) and run != 3 and run.blocks != run.waits
    bare = gs.simulate.hierarchy(run.launches, TX2, timeslice=[100, 50], blocks=False)
    assert bare.blocks is None and bare != run and bare.end.tolist() == run.end.tolist()
    assert pickle.loads(pickle.dumps(bare)) == bare
    pytest.importorskip("pandas")
    assert run.to_frame()["kind"].tolist() == ["kernel", "kernel", "copy_out", "copy_in"]
    assert run.to_frame()["response"].tolist() == run.response.tolist()
    assert len(run.blocks.to_frame()) == len(run.blocks) == 6
    assert "slice" in run.waits.to_frame()["reason"].tolist()
    assert "<td>slice</td>" in run.waits._repr_html_()
    assert repr(run.waits).startswith("<Waits: ")
    with pytest.raises(IndexError, match="launch: got 4, expected 0 to 3"):
        run.why(4)
    with pytest.raises(IndexError, match="launch: got -1, expected 0 to 3"):
        run.overlap(0, -1)
    for method in (bare.occupancy, bare.plot, bare.to_svg):
        with pytest.raises(
            ValueError, match="blocks: got a run without its log, expected one with"
        ):
            method()
    assert "<svg" in bare._repr_svg_()
    nothing = gs.simulate.hierarchy(gs.Launches([], 1), TX2)
    assert nothing.outcome == "done" and len(nothing.occupancy()) == 0
    assert "<svg" in nothing.to_svg() and "<svg" in nothing.to_svg(by="stream")


def test_slices_budgets_and_progress(monkeypatch: pytest.MonkeyPatch) -> None:
    launches = random_launches(np.random.default_rng(4))
    whole = gs.simulate.hierarchy(launches, TX2, timeslice=50, seed=1)
    assert whole.outcome == "done"
    for size in (1, 3, 100):
        monkeypatch.setattr(run_results, "_SLICE", size)
        seen: list[tuple[int, int]] = []
        run = gs.simulate.hierarchy(
            launches,
            TX2,
            timeslice=50,
            seed=1,
            progress=lambda *at, seen=seen: seen.append(at),
        )
        assert run == whole
        assert seen[-1] == (40, 40) and len(seen) > 1
    for states in (1, 10, 100):
        budget = gs.pbs.Budget(states=states)
        part = gs.simulate.hierarchy(launches, TX2, timeslice=50, seed=1, budget=budget)
        assert part.outcome == "budget" and part.reason == "states"
        assert states <= part.started < whole.started
        assert part.blocks is not None and len(part.blocks) == part.started
        done = part.blocks.end >= 0
        assert whole.blocks is not None
        assert part.blocks.start.tolist() == whole.blocks.start[: part.started].tolist()
        assert (part.blocks.end[done] == whole.blocks.end[: part.started][done]).all()
        assert part.deadlock is None and "(states)" in repr(part)
        assert part.occupancy().warps.max(initial=0) <= TX2.warps_per_sm
        for by in ("sm", "stream"):
            ElementTree.fromstring(part.to_svg(by=by))
    monkeypatch.undo()
    small = gs.simulate.hierarchy(
        gs.Launches([0], 1, blocks=10**6), TX2, budget=gs.pbs.Budget(bytes=10**6)
    )
    assert small.reason == "bytes" and small.outcome == "budget"
    short = gs.simulate.hierarchy(
        gs.Launches([0], 1, blocks=2**30), TX2, blocks=False, budget=gs.pbs.Budget(seconds=0.05)
    )
    assert short.reason == "seconds" and 0 < short.started < 2**30


# Pictures and files


@pytest.mark.python
def test_plot() -> None:
    pytest.importorskip("matplotlib")
    from legible import assert_legible

    run = contexts(2)
    shown = assert_legible(run.plot(unit="us").figure)
    rows = {"SM (32 of 64 warps)", "0", "1", "copies in", "copies out", "context"}
    assert rows | {"long", "time (µs)"} <= set(shown)
    shown = assert_legible(run.plot(by="stream").figure)
    assert {"stream 0", "stream 1", "wait: slice", "time (ticks)"} <= set(shown)
    assert_legible(run.plot(since=90, until=160).figure)
    axes = run.plot()
    assert run.plot(axes) is axes
    rng = np.random.default_rng(8)
    many = gs.simulate.hierarchy(random_launches(rng, 200), "H100", timeslice=100, channels=1)
    for by in ("sm", "stream"):
        assert_legible(many.plot(by=by).figure)


@pytest.mark.long
@pytest.mark.python
def test_svg_is_bounded_and_says_what_it_shows() -> None:
    rng = np.random.default_rng(9)
    launches = random_launches(rng, 3000)
    run = gs.simulate.hierarchy(launches, "B200", timeslice=100)
    for by, told in (("sm", "mean warps over"), ("stream", "are not shown")):
        text = run.to_svg(by=by)
        assert len(text) < 600_000 and told in text
        ElementTree.fromstring(text)
        assert len(run.to_svg(by=by, until=10**9)) < 3_000_000
    assert run._repr_svg_() == run.to_svg()
    wide = gs.simulate.hierarchy(
        gs.Launches([0] * 100, 7, stream=range(100), blocks=3000),
        gs.GPU(sms=2000, threads_per_sm=2048, blocks_per_sm=32),
    )
    assert "a row is 14 SMs" in wide.to_svg()
    assert "52 more streams are not shown" in wide.to_svg(by="stream")
    assert len(wide.to_svg()) < 400_000
    work = gs.Launches.build()
    work.kernel(work.stream(name="<a>"), duration=5, name="x & <y>")
    odd = gs.simulate.hierarchy(work.done(), TX2)
    root = ElementTree.fromstring(odd.to_svg())
    titles = [t.text for t in root.iter("{http://www.w3.org/2000/svg}title")]
    assert titles == ["x & <y>: 1 block of 32 threads on SM 0, 0 to 5"]
    ElementTree.fromstring(odd.to_svg(by="stream"))


def test_boxes_of_an_sm_do_not_cover_each_other() -> None:
    rng = np.random.default_rng(10)
    run = gs.simulate.hierarchy(random_launches(rng), "Xavier", timeslice=60)
    assert run.blocks is not None
    drawn = hierarchy_timeline.picture(run, "sm", None, 0, None)
    assert any(piece.style == "frozen" for piece in drawn.pieces)
    sms = [
        (*drawn.cut(piece), piece.lane + top, piece.lane + bottom)
        for piece in drawn.pieces
        if piece.lane < 8 and piece.style == "run"
        for top, bottom in piece.spans
    ]
    area = sum((end - start) * (bottom - top) for start, end, top, bottom in sms)
    held = run.occupancy()
    first = np.flatnonzero(np.diff(held.sm, append=-1) == 0)
    busy = ((held.time[first + 1] - held.time[first]) * held.warps[first]).sum()
    assert area * 64 / 0.92 == pytest.approx(int(busy))
    for k, (start, end, top, bottom) in enumerate(sms):
        for since, until, over, under in sms[:k]:
            apart = bottom <= over + 1e-9 or under <= top + 1e-9
            assert apart or end <= since or until <= start


def test_names_that_begin_alike_are_told_apart() -> None:
    names = [f"void at::native::vectorized_elementwise_kernel<{k}>" for k in range(3)] + ["short"]
    launches = gs.Launches([0] * 4, 5, stream=range(4), name=names)
    svg = gs.simulate.hierarchy(launches, TX2).to_svg()
    shown = [e.text for e in ElementTree.fromstring(svg).iter() if e.tag.endswith("text")]
    assert {"void at::nati…ise_kernel<0>", "void at::nati…ise_kernel<2>", "short"} <= set(shown)


def test_a_long_deadlock_is_told_at_once() -> None:
    n = 50_000
    launches = gs.Launches(range(n), 5, stream=0, after=[[n - 1]] + [[]] * (n - 1))
    deadlock = gs.simulate.hierarchy(launches, TX2).deadlock
    assert deadlock is not None and len(deadlock.chain) == n
    assert deadlock.chain[:2] == ((0, "after", n - 1), (n - 1, "stream", n - 2))


def test_memory_without_the_log_of_blocks() -> None:
    """Ten million blocks in a megabyte: what is kept grows with the launches alone."""
    launches = gs.Launches([0] * 100, 50, blocks=100_000, threads=256, stream=np.arange(100) % 8)
    run = gs.simulate.hierarchy(
        launches, "Xavier", blocks=False, budget=gs.pbs.Budget(bytes=1_000_000)
    )
    assert run.outcome == "done" and run.started == 10**7


def test_chrome_trace(tmp_path: Path) -> None:
    run = contexts(2)
    run.to_chrome_trace(tmp_path / "run.json", tick=1000)
    events = json.loads((tmp_path / "run.json").read_text())["traceEvents"]
    names = {e["args"]["name"] for e in events if e["ph"] == "M"}
    assert {"SM 0", "SM 1", "streams", "copy engines", "copies in", "contexts"} <= names
    on_sms = [e for e in events if e["ph"] == "X" and e["pid"] < 2]
    lanes = sorted((e["pid"], e["tid"], e["ts"], e["ts"] + e["dur"]) for e in on_sms)
    for a, b in itertools.pairwise(lanes):
        assert a[:2] != b[:2] or a[3] <= b[2]
    frozen, *_ = run._pieces()
    assert len(on_sms) == (~frozen).sum()
    other = next(e for e in events if e["name"] == "other" and "launch" in e["args"])
    kernel = next(e for e in events if e["ph"] == "X" and e["args"].get("waits"))
    assert kernel["name"] == "other" and kernel["ts"] == 100 and kernel["dur"] == 270
    assert kernel["args"]["waits"] == ["waited 30 .. 100 for a time slice of its context (1)"]
    assert other["args"]["launch"] == 1
    counters = [e for e in events if e["ph"] == "C" and e["pid"] == 0]
    assert [e["args"]["warps"] for e in counters] == run.occupancy().of(0)[1].tolist()
    bare = gs.simulate.hierarchy(run.launches, TX2, timeslice=100, blocks=False)
    bare.to_chrome_trace(tmp_path / "bare.json.gz")
    with pytest.raises(ValueError, match="tick: got 0, expected at least 1 ns"):
        run.to_chrome_trace(tmp_path / "no.json", tick=0)
    with pytest.raises(TypeError, match=r"tick: got .*, expected an integer"):
        run.to_chrome_trace(tmp_path / "no.json", tick=1.5)  # type: ignore[arg-type]


# Refusals

ONE = gs.Launches([0, 4], 5, stream=[0, 1])
TWO = gs.Launches([0, 4], 5, stream=[0, 1], stream_context=[0, 1])
COPIES = gs.Launches([0, 4], 5, kind=["copy_in", "copy_out"])


@pytest.mark.parametrize(
    ("launches", "options", "error", "text"),
    [
        (
            ONE,
            {"placement": "best"},
            ValueError,
            "placement: got 'best', expected one of most_room,",
        ),
        (ONE, {"copy_engines": 0}, ValueError, "copy_engines: got 0, expected a positive number"),
        (ONE, {"copy_engines": -(2**70)}, ValueError, "copy_engines: got -1180591620717411303424"),
        (ONE, {"copy_engines": True}, TypeError, "copy_engines: got True, expected an integer"),
        (ONE, {"copy_engines": "both"}, TypeError, "copy_engines: got 'both', expected a number"),
        (ONE, {"copy_engines": []}, ValueError, "copy_engines: got 0 engines, expected 1 to 64"),
        (
            ONE,
            {"copy_engines": ["in"] * 65},
            ValueError,
            "copy_engines: got 65 engines, expected",
        ),
        (
            ONE,
            {"copy_engines": ["in", "up"]},
            ValueError,
            r"copy_engines\[1\]: got 'up', expected one of in, out, both",
        ),
        (
            COPIES,
            {"copy_engines": ["in", "in"]},
            ValueError,
            r"kind\[1\]: got 2, expected a direction that a copy engine has",
        ),
        (ONE, {"shared_channels": 1}, TypeError, "shared_channels: got 1, expected True or False"),
        (ONE, {"channels": -1}, ValueError, "channels: got -1"),
        (
            ONE,
            {"channels": 2**70},
            OverflowError,
            "channels: got .*, expected a number that fits 64 bits",
        ),
        (ONE, {"context_switch": -1}, ValueError, "context_switch.*: got -1"),
        (ONE, {"sms_per_gpc": 0}, ValueError, "sms_per_gpc: got 0"),
        (ONE, {"sms_per_gpc": [2, 0]}, ValueError, r"sms_per_gpc\[1\]: got 0"),
        (ONE, {"sms_per_gpc": [1.5]}, TypeError, r"sms_per_gpc\[0\]: got 1.5"),
        (ONE, {"sms_per_gpc": "2"}, TypeError, "sms_per_gpc: got '2', expected an integer"),
        (
            ONE,
            {"sms_per_gpc": []},
            ValueError,
            r"sms_per_gpc: got \(\), 0 SMs in all, expected",
        ),
        (
            ONE,
            {"sms_per_gpc": [2, 1]},
            ValueError,
            r"sms_per_gpc: got \(2, 1\), 3 SMs in all, expected the 2 of sms",
        ),
        (ONE, {"timeslice": 0}, ValueError, "timeslice: got 0, expected a positive number"),
        (
            ONE,
            {"timeslice": [1, 2]},
            ValueError,
            r"timeslice: got shape \(2,\), expected one number",
        ),
        (ONE, {"index": -1}, ValueError, "index: got -1"),
        (ONE, {"seed": -1}, ValueError, "seed: got -1, expected a non-negative integer"),
        (TWO, {}, ValueError, "timeslice: got None, expected ticks, for 2 contexts"),
        (
            TWO,
            {"timeslice": 5, "runlist": [0]},
            ValueError,
            "runlist: got 1, expected every context at least once",
        ),
        (
            *(TWO, {"timeslice": 5, "context_priority": ["low", "urgent"]}, ValueError),
            r"context_priority\[1\]: got 'urgent', expected one",
        ),
        (
            *(TWO, {"timeslice": 5, "context_priority": ["low"]}, ValueError),
            "context_priority: got 1 entries, expected one per context",
        ),
        (
            TWO,
            {"timeslice": 5, "context_priority": 1},
            TypeError,
            "context_priority: got 1, expected one of low",
        ),
        (
            *(TWO, {"timeslice": 5, "context_priority": "low", "runlist": [0, 1]}, ValueError),
            "runlist: got one beside context_priority",
        ),
        (TWO, {"timeslice": 5, "runlist": [0, 2]}, ValueError, r"runlist\[1\]: got 2"),
        (
            gs.Launches([0, 0], 5, threads=[32, 1025]),
            {},
            ValueError,
            r"threads\[1\]: got 1025, expected at most 1024 threads in a",
        ),
        (
            gs.Launches([0], 5, smem=65537),
            {},
            ValueError,
            r"smem\[0\]: got 65537, expected at most a block's limit of",
        ),
        (
            gs.Launches([0], 5, regs=300, threads=1024),
            {},
            ValueError,
            r"regs\[0\]: got 300, expected a block of at most an SM's",
        ),
        (gs.Launches([2**60], 5), {}, OverflowError, r"time\[0\]: got 1152921504606846976"),
        (gs.Launches([0], 2**60), {}, OverflowError, r"duration\[0\]: got 1152921504606846976"),
        ("launches", {}, TypeError, "launches: got str, expected Launches"),
        (
            gs.KernelTasks([4], [1]),
            {},
            TypeError,
            "launches: got KernelTasks, expected Launches",
        ),
        (ONE, {"budget": 5}, TypeError, r"budget: got int, expected Budget \(for example"),
    ],
)
def test_refusals(
    launches: Any, options: dict[str, Any], error: type[Exception], text: str
) -> None:
    with pytest.raises(error, match=text):
        gs.simulate.hierarchy(launches, TX2, **options)


def test_pictures_refuse() -> None:
    run = gs.simulate.hierarchy(ONE, TX2)
    for arguments, message in (
        ({"since": -1}, "since: got -1"),
        ({"since": 5, "until": 5}, "until: got 5"),
        ({"unit": "min"}, "unit: got 'min', expected None"),
        ({"by": "gpc"}, "by: got 'gpc', expected one of sm, stream"),
    ):
        with pytest.raises(ValueError, match=message):
            run.to_svg(**arguments)  # type: ignore[arg-type]
    for name, value in (("since", "1"), ("until", 3.5), ("until", float("nan"))):
        with pytest.raises(TypeError, match=f"{name}: got .*, expected an integer"):
            run.to_svg(**{name: value})  # type: ignore[arg-type]
