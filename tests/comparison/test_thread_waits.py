"""Programs of hosts: waits between operations, blocking and staged copies, work on DLAs."""

from __future__ import annotations

import pickle
from pathlib import Path
from random import Random
from typing import Any

import pytest
from machine_programs import play_machine

import gpusched as gs

pytestmark = [pytest.mark.python, pytest.mark.numbers]

GPU = gs.GPU(2, 1024, 8, copy_engines=1)
STREAMED = ("one_stream", "streams", "priority_streams", "mps", "time_slices")
LOCKS = ("mpcp", "fmlp_plus", "gpu_server", "stgm", "gcaps", "srm")


def kernel(time: int) -> gs.Kernel:
    return gs.Kernel(time, blocks=2, threads=1024)


def platform(**given: Any) -> gs.Platform:
    return gs.Platform(GPU, **{"cpus": 3, "slowdown": None, **given})


def of(*segments: gs.Segment, **facts: Any) -> gs.Task:
    return gs.Task(facts.pop("name", "a"), facts.pop("period", 200), list(segments), **facts)


WORK = gs.Workload(
    [
        of(gs.CPU(3), gs.CopyIn(4, staged=5), kernel(9), gs.Sync(name="half"), kernel(7)),
        of(
            gs.CopyIn(2, blocking=True, repeat=2),
            gs.DLA(8, on=1),
            gs.CopyOut(3, staged=6),
            name="b",
        ),
    ],
    tick="us",
)


def test_files_and_tables_keep_what_hosts_do(tmp_path: Path) -> None:
    for name in ("w.toml", "w.json"):
        WORK.save(tmp_path / name)
        assert gs.Workload.load(tmp_path / name) == WORK
    assert gs.Workload.from_frame(WORK.to_frame()) == WORK
    assert pickle.loads(pickle.dumps(WORK)) == WORK
    old = (tmp_path / "w.toml").read_text().replace("version = 2", "version = 1")
    (tmp_path / "old.toml").write_text(old)
    with pytest.raises(ValueError, match=r"task\[0\].segments\[1\].*version = 2"):
        gs.Workload.load(tmp_path / "old.toml")
    assert gs.analyze(WORK, platform(), "streams").workload == WORK
    assert gs.observe(WORK, platform(), "streams", until="1ms").workload == WORK


def test_a_wait_needs_a_cpu_behind_it() -> None:
    """Behind a wait, the second kernel is launched when its thread has a CPU again."""
    for wait, ends in ((False, 12), (True, 14)):
        parts = [kernel(5), gs.Sync(), kernel(5)] if wait else [kernel(5), kernel(5)]
        urgent = of(gs.CPU(7), name="u", priority=0, offset=2, core=0)
        w = gs.Workload([of(*parts, core=0, priority=1), urgent])
        run = gs.observe(w, platform(cpus=1), "streams", until=100)
        answer = gs.analyze(w, platform(cpus=1), "streams")
        assert run.worst[0] == ends - (0 if wait else 2)
        assert answer.response[0] >= run.worst[0]


@pytest.mark.parametrize("way", [*STREAMED, *LOCKS])
def test_copies_that_wait_are_what_they_stand_for(way: str) -> None:
    written = gs.Workload(
        [
            of(gs.CPU(3), gs.Sync(), gs.CPU(5), gs.CopyIn(4), kernel(9), gs.Sync(), kernel(7)),
            of(*[gs.CopyIn(2), gs.Sync()] * 2, gs.DLA(8, on=1), gs.CopyOut(3), gs.Sync(), gs.CPU(6),
               name="b"),
        ],
        tick="us",
    )  # fmt: skip
    one, other = (gs.analyze(w, platform(), way) for w in (WORK, written))
    assert one.response.tolist() == other.response.tolist()
    assert one.verdict == other.verdict
    runs = [gs.observe(w, platform(), way, until="1ms") for w in (WORK, written)]
    assert runs[0].worst.tolist() == runs[1].worst.tolist()


def test_a_dla_serves_one_task_at_a_time() -> None:
    w = gs.Workload([of(gs.DLA(10), name=n, period=100) for n in "abc"])
    run = gs.observe(w, platform(), "streams", until=100)
    assert sorted(run.worst.tolist()) == [10, 20, 30]
    assert gs.analyze(w, platform(), "streams").response.tolist() == [30, 30, 30]
    apart = w.replace(tasks=[of(gs.DLA(10, on=k), name=t.name) for k, t in enumerate(w)])
    assert gs.observe(apart, platform(), "streams", until=100).worst.tolist() == [10, 10, 10]
    beside = gs.Workload([of(kernel(10)), of(gs.DLA(10), name="b")])
    assert gs.observe(beside, platform(), "streams", until=100).worst.tolist() == [10, 10]


@pytest.mark.parametrize("way", STREAMED)
def test_guarantees_beside_dlas_are_conditional(way: str) -> None:
    """The GPU and the DLAs share a memory; the times of a task alone are its own."""
    w = gs.Workload([of(kernel(10)), of(gs.DLA(10), name="b")])
    answer = gs.analyze(w, platform(), way)
    assert answer.verdict == "conditional"
    assert [one.premise for one in answer.conditions] == ["dla_times"]
    assert gs.analyze(w[1:], platform(), way).verdict == "guaranteed"


def test_an_overloaded_dla_is_impossible() -> None:
    w = gs.Workload([of(gs.DLA(6), name=n, period=10) for n in "ab"])
    found = gs.compare(w, platform(), ways=["streams", "mpcp"], progress=False)
    assert found.schedulable is False
    assert any("work on DLA 0 needs 1.2 of it" in text for text in found.impossible)


@pytest.mark.parametrize(
    ("made", "said"),
    [
        (lambda: gs.CopyIn(3, by="cpu", blocking=True), "blocking: got it of a copy by the CPU"),
        (lambda: gs.CopyOut(3, by="cpu", staged=3), "staged: got it of a copy by the CPU"),
        (lambda: gs.CopyIn(3, staged=0), "staged: got 0"),
        (lambda: gs.CopyIn(3, blocking=True, repeat=10_001), "repeat: got 10001 of a copy"),
        (lambda: gs.CopyIn({"p50": 2, "largest": 4, "count": 9}, blocking=True, repeat=2),
         "repeat: got 2 of a copy for which its thread waits, with a distribution"),
        (lambda: gs.DLA(3, on=4), "on: got 4, expected 0 to 3"),
        (lambda: gs.Engine(3, on="dla9"), "on: got 'dla9'"),
        (lambda: gs.Engine(3, on="dla0", sms=.5), "sms: got 0.5 of an engine on dla0"),
        (lambda: gs.Sync().replace(time=3), "time: got one of a Sync"),
        (lambda: of(gs.Sync()), "segments: got waits alone"),
        (lambda: of(gs.CPU(1), gs.CopyIn(3, blocking=True), launches="graph"),
         r"segments\[1\].blocking: got it with launches='graph'"),
        (lambda: gs.Workload([of(gs.DLA(3))]).hosts(gs.Platform("A100"), sms="all"),
         "a: got work on DLA 0, expected one of those of the A100, which has 0"),
        (lambda: gs.Workload([of(kernel(3), gs.Sync(), kernel(3))]).launches(platform(), 99),
         "a: got a wait of its thread between GPU segments"),
    ],
)  # fmt: skip
def test_refusals(made: Any, said: str) -> None:
    with pytest.raises((ValueError, TypeError), match=said):
        made()


def random_parts(rng: Random, waits: bool) -> list[gs.Segment]:
    parts: list[gs.Segment] = []
    for _ in range(rng.randint(1, 5)):
        time, kind = rng.randint(1, 9), rng.random()
        if kind < 0.25:
            parts.append(gs.CPU(time))
        elif kind < 0.5:
            staged = rng.randint(1, 5) if waits and rng.random() < 0.3 else None
            blocking = waits and rng.random() < 0.5
            copy = rng.choice((gs.CopyIn, gs.CopyOut))
            parts.append(copy(time, blocking=blocking, staged=staged))
        elif kind < 0.65:
            parts.append(gs.DLA(time, on=rng.randrange(2)))
        else:
            parts.append(gs.Kernel(block_time=time, blocks=rng.randint(1, 4), threads=512))
        if rng.random() < 0.3:
            parts.append(gs.Sync())
    return parts


@pytest.mark.parametrize("way", STREAMED)
def test_no_bound_is_exceeded(way: str) -> None:
    rng = Random(f"waits {way}")
    checked = 0
    while checked < 8:
        tasks = []
        for i in range(3):
            form: Any = rng.choice(("async", "sync", "graph", None))
            parts, period = random_parts(rng, form != "graph"), rng.choice((100, 150, 200))
            facts = {"core": i % 2, "priority": i, "launches": form, "stream_priority": i}
            tasks.append(gs.Task(f"t{i}", period, parts, **facts))
        w = gs.Workload(tasks)
        names = ("launch_latency", "launch_cpu", "graph_launch_cpu", "kernel_gap", "wake_latency")
        p = platform(cpus=2, timeslice=5, context_switch=1, **{n: rng.randint(0, 3) for n in names})
        answer = gs.analyze(w, p, way)
        if answer.rejected or any(one.premise != "dla_times" for one in answer.conditions):
            continue
        checked += 1
        for k in range(10):
            moved = [task.replace(offset=rng.randrange(task.period)) for task in w]
            options = {"low": rng.choice((0.0, 0.5, 1)), "gap": rng.choice((0, 0.5))}
            run = play_machine(
                w.replace(tasks=moved), p, way, until=900, ties="draw", seed=k, **options
            )
            assert (run.worst <= answer.response).all(), (tasks, k)


# Blocks that wait for each other --------------------------------------------------------------


def grid(barrier: Any, blocks: int = 4, **facts: Any) -> gs.Kernel:
    return gs.Kernel(10, blocks=blocks, threads=512, barrier=barrier, **facts)


BESIDE = of(gs.Kernel(20, blocks=1, threads=512), name="b")


@pytest.mark.parametrize("barrier", ["cooperative", "plain"])
def test_blocks_that_wait_for_each_other_all_fit(barrier: Any, tmp_path: Path) -> None:
    w = gs.Workload([of(grid(barrier), gs.Kernel(2, blocks=1, threads=32)), BESIDE])
    w.save(tmp_path / "w.toml")
    assert gs.Workload.load(tmp_path / "w.toml") == gs.Workload.from_frame(w.to_frame()) == w
    more = gs.Workload([of(gs.CPU(1), grid(barrier, 5))])
    said = r"a: segments\[1\]: got 5 blocks that wait for each other, expected at most the 4 that"
    with pytest.raises(ValueError, match=said):
        gs.analyze(more, platform(), "one_stream")
    for way in (*STREAMED, *LOCKS, "pbs", "edf_serial"):
        if way in ("one_stream", "time_slices", "edf_serial", "mpcp", "fmlp_plus", "gcaps", "srm"):
            answer = gs.analyze(w, platform(), way)
            plain = w.replace(tasks=[of(grid(None), w[0].segments[1]), BESIDE])
            assert answer.response.tolist() == gs.analyze(plain, platform(), way).response.tolist()
            run = gs.observe(w, platform(), way, until=200)
            assert (run.worst <= answer.response).all()
        elif way != "gpu_server":
            word = "a plain launch" if barrier == "plain" else "a cooperative launch"
            with pytest.raises(gs.NotApplicable, match=word):
                gs.analyze(w, platform(), way)


@pytest.mark.parametrize("way", ["one_stream", "time_slices", "edf_serial", "streams"])
def test_cooperative_launches_beside_kernels_that_are_known_by_their_times(way: str) -> None:
    """Blocks that meet no other kernel start on an empty GPU, as those of any other launch do."""
    w, plain = (
        gs.Workload([of(grid(barrier), gs.Kernel(7)), of(gs.Kernel(20), name="b")])
        for barrier in ("cooperative", None)
    )
    runs = [gs.observe(one, platform(), way, until=300) for one in (w, plain)]
    assert runs[0].end.tolist() == runs[1].end.tolist() and len(runs[0]) > 2


def test_a_cooperative_launch_waits_until_all_of_its_blocks_fit() -> None:
    for barrier, end in ((None, 25), ("cooperative", 30)):
        w = gs.Workload([of(grid(barrier), offset=5), BESIDE])
        run = gs.observe(w, platform(), "streams", until=50)
        assert run.end[run.task == 0].tolist() == [end]
    plain = gs.Workload([of(grid("plain"), offset=5), BESIDE])
    with pytest.raises(ValueError, match="can be a deadlock"):
        gs.observe(plain, platform(), "streams", until=50)
    with pytest.raises(ValueError, match="barrier: got 'plain' without blocks"):
        gs.Kernel(3, barrier="plain")
