"""Runs with drawn times and releases: what draws depend on, stacks, percentiles, bounds."""

from __future__ import annotations

import pickle
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import partial
from random import Random
from typing import Any

import numpy as np
import pytest
from amounts import cases

import gpusched as gs
from gpusched.comparison.derived_models import DerivedModels
from gpusched.comparison.machine_models import machine_model
from gpusched.simulate.machine_run import stack_machine

pytestmark = pytest.mark.numbers

GPU = gs.GPU(sms=2, threads_per_sm=1024, blocks_per_sm=8)
MACHINE = gs.Platform(GPU, cpus=2, slowdown=None)
WAYS = ("streams", "one_stream", "mps", "time_slices", "gcaps", "mpcp", "fmlp_plus", "srm")
WAYS += ("gpu_server", "stgm", "edf_serial", "driver", "pbs", "edf_parallel")


def random_workload(rng: Random, *, most: int = 40, jitter: bool = True) -> gs.Workload:
    """Tasks with different priorities and cores, whose work seldom coincides."""
    tasks = []
    n = rng.randint(2, 4)
    for i, priority in enumerate(rng.sample(range(n), n)):
        parts: list[gs.Segment] = [gs.CPU(rng.randint(1, most))]
        for _ in range(rng.randint(1, 2)):
            if rng.random() < 0.3:  # waves of a part of a tick
                parts.append(
                    gs.Kernel(rng.randint(1, most), blocks=rng.randint(3, 7), threads=1024)
                )
                continue
            blocks = rng.randint(1, 3)
            parts.append(gs.Kernel(block_time=rng.randint(1, most), blocks=blocks, threads=512))
        if rng.random() < 0.5:
            parts.insert(1, gs.CopyIn(rng.randint(1, most)))
        period = 1009 * rng.randint(1, 4) * most // 40
        given: dict[str, Any] = {"priority": priority, "core": i % 2, "process": f"p{i}"}
        given["jitter"] = rng.randint(0, period // 4) if jitter else 0
        tasks.append(gs.Task(f"t{i}", max(period, 60), parts, **given))
    return gs.Workload(tasks)


def jobs_of(run: gs.WorkloadRun) -> dict[tuple[str, int], tuple[int, int]]:
    names = run.workload.names
    rows = zip(
        *(column.tolist() for column in (run.task, run.job, run.release, run.end)), strict=True
    )
    return {(names[task], job): (release, end) for task, job, release, end in rows}


@pytest.mark.parametrize("way", ["mpcp", "streams", "gpu_server"])
def test_draws_depend_on_names_and_jobs_alone(way: str) -> None:
    """Not on the order of tasks, nor on the length of the run."""
    for seed in range(cases(10)):
        rng = Random(seed)
        w = random_workload(rng, most=40_000)
        draws: dict[str, Any] = {"seed": seed, "index": 3, "low": 0.3}
        draws |= {"gap": 0.5, "draw": rng.choice(("operation", "block", "job"))}
        if way == "streams":
            w = w.replace(tasks=[task.replace(process=None) for task in w])
        until = 40_000_000
        run = gs.observe(w, MACHINE, way, until=until, **draws)
        found = jobs_of(run)
        tasks = list(w)
        rng.shuffle(tasks)
        assert jobs_of(gs.observe(w.replace(tasks=tasks), MACHINE, way, until=until, **draws)) == (
            found
        )
        half = jobs_of(gs.observe(w, MACHINE, way, until=until // 2, **draws))
        before = {job: times for job, times in found.items() if times[1] < until // 2}
        assert len(before) > 9
        assert before == {job: times for job, times in half.items() if times[1] < until // 2}
        again = gs.observe(w, MACHINE, way, until=until, **draws, timeline=False)
        assert jobs_of(again) == found
        assert jobs_of(gs.observe(w, MACHINE, way, until=until, **draws | {"index": 4})) != found


def test_releases_and_times_are_within_their_limits() -> None:
    w = gs.Workload(
        [
            gs.Task("a", 100, [gs.CPU(10), gs.CPU(20)], jitter=7, best=24),
            gs.Task("b", 90, [gs.CPU(20)], offset=5),
        ]
    )
    run = gs.observe(w, gs.Platform(cpus=2), "mpcp", until=200_000, seed=1, low=0.4, gap=0.1)
    jobs = run.detail.jobs
    for task, (least, most) in enumerate([(24, 30), (8, 20)]):
        mine = jobs.task == task
        late, gaps = (jobs.release - jobs.arrival)[mine], np.diff(jobs.arrival[mine])
        took = (jobs.end - jobs.release)[mine]
        assert late.min() == 0 and late.max() == w[task].jitter
        assert gaps.min() == w[task].period and gaps.max() == w[task].period * 11 // 10
        assert (took.min(), took.max()) == (least, most)
    stated = gs.observe(w, gs.Platform(cpus=2), "mpcp", until=200_000, seed=1).detail.jobs
    took = stated.end - stated.release
    assert took[stated.task == 0].min() == 24 and set(took[stated.task == 1].tolist()) == {20}
    assert (np.diff(stated.arrival[stated.task == 1]) == 90).all()


def test_parts_of_a_job_are_shortened_alike() -> None:
    w = gs.Workload([gs.Task("a", 10**6, [gs.CPU(1000), gs.Kernel(1000), gs.CPU(1000)])])
    play: dict[str, Any] = {"until": 10**8, "seed": 1, "low": 0.5}
    alike = gs.observe(w, gs.Platform(cpus=1), "mpcp", draw="job", **play).response
    apart = gs.observe(w, gs.Platform(cpus=1), "mpcp", **play).response
    assert set((alike % 3).tolist()) == {0} and set((apart % 3).tolist()) == {0, 1, 2}
    assert alike.std() > 1.5 * apart.std()  # by the root of 3


@pytest.mark.parametrize("way", WAYS)
def test_rows_of_a_stack_are_its_runs(way: str) -> None:
    """Also in finer ticks, in pieces by several threads, and as pickled."""
    for seed in range(cases(3)):
        w = random_workload(Random(f"{way} {seed}"), jitter=way not in ("pbs", "edf_parallel"))
        if way in ("streams", "one_stream", "stgm", "pbs", "edf_parallel"):
            w = w.replace(tasks=[task.replace(process=None) for task in w])
        play: dict[str, Any] = {"until": 30_000, "seed": seed, "low": 0.2}
        play |= {} if way in ("pbs", "edf_parallel") else {"gap": 0.3}
        try:
            runs = gs.observe(w, MACHINE, way, count=12, **play)
        except gs.NotApplicable:
            continue
        assert runs.worst.shape == runs.late_count.shape == (12, len(w))
        every = list(runs)
        for number, run in enumerate(every):
            assert run.worst.tolist() == runs.worst[number].tolist()
            assert run.late_count.tolist() == runs.late_count[number].tolist()
            assert run.job_count.tolist() == runs.job_count[number].tolist()
        assert jobs_of(runs[5]) == jobs_of(gs.observe(w, MACHINE, way, index=5, **play))
        assert runs.left.sum() == 0
        piece_of = partial(gs.observe, w, MACHINE, way, count=4, **play)
        with ThreadPoolExecutor(3) as threads:
            parts = [threads.submit(piece_of, index=first) for first in (0, 4, 8)]
        pieces = [part.result() for part in parts]
        assert np.concatenate([piece.worst for piece in pieces]).tolist() == runs.worst.tolist()
        copy = pickle.loads(pickle.dumps(runs))
        assert copy == runs and copy[3].end.tolist() == every[3].end.tolist()
        for q in (0, 1, 50, 95, 99, 99.9, 100):
            found = runs.percentile(q)
            for task, name in enumerate(w.names):
                took = sorted(t for run in every for t in run.response[run.task == task].tolist())
                exact = took[max(0, -(-round(10 * q) * len(took) // 1000) - 1)]
                assert exact <= found[task] <= exact + exact // 128
                assert runs.percentile(q, name) == found[task]
                assert exact >= 256 or found[task] == exact


def tight_workload(rng: Random, way: str) -> gs.Workload:
    """Tasks that use about half of the machine, as the tests of a way take them."""
    tasks = []
    n = rng.randint(2, 3)
    for i, priority in enumerate(rng.sample(range(n), n)):
        times = [rng.randint(10, 60) for _ in range(4)]
        parts: list[gs.Segment] = [gs.CPU(times[0]), gs.CopyIn(times[1])]
        for time in times[2:]:
            parts.append(gs.Kernel(block_time=time, blocks=rng.randint(1, 2), threads=1024))
        period = sum(times) * rng.randint(3, 6)
        given: dict[str, Any] = {"priority": priority, "best": rng.choice((0, sum(times) // 3))}
        given["deadline"] = period * rng.randint(5, 10) // 10
        if way in ("streams", "one_stream", "mps", "time_slices"):
            given["jitter"] = rng.choice((0, 0, period // 10))
        if way not in ("srm", "stgm"):
            given["core"] = i % 2
        if way in ("time_slices", "gcaps"):
            given["process"] = f"p{i}"
        tasks.append(gs.Task(f"t{i}", period, parts, **given))
    return gs.Workload(tasks)


def test_a_guaranteed_row_is_never_exceeded() -> None:
    """No run of any seed, with drawn times, gaps and jitter, has a response above its bound."""
    guaranteed = undecided = 0
    for seed in range(cases(15)):
        for way in WAYS:
            w = tight_workload(Random(f"{way} {seed}"), way)
            try:
                answer = gs.analyze(w, MACHINE, way, gaps="occupy", budget=gs.Budget(states=5000))
            except ValueError:
                continue
            undecided += not answer.accepted
            if not answer.accepted:
                continue
            play: dict[str, Any] = {"until": 20_000, "seed": seed, "low": 0.1}
            play["gap"] = 0 if way in ("pbs", "edf_parallel") else seed % 3 / 10
            runs = gs.observe(w, MACHINE, way, count=10, **play)
            guaranteed += 1
            worst = np.ma.filled(runs.largest, -1)
            bound = np.ma.filled(answer.response, 2**62)
            assert (worst <= bound)[answer.bounded].all(), (seed, way, worst, bound)
            assert runs.late_count.sum() == 0, (seed, way)
    assert guaranteed > 2 * cases(15) and undecided > 2 * cases(15)


def test_texts_and_tables() -> None:
    w = gs.Workload(
        [
            gs.Task("camera", 100, [gs.CPU(20), gs.Kernel(30)], deadline=60, core=0),
            gs.Task("net", 150, [gs.CPU(40)], core=0, offset=10**9),
        ]
    )
    runs = gs.observe(w, MACHINE, "mpcp", until=10**6, seed=1, count=3, low=0.5)
    assert repr(runs) == "<RunStack: mpcp (suspend), 3 runs, 30000 jobs, none late>"
    lines = str(runs).splitlines()
    assert lines[0] == "mpcp (suspend): 3 runs until 1ms"
    assert lines[2].split()[:5] == ["task", "jobs", "P50", "P95", "P99"]
    assert lines[2].split()[5:] == ["worst", "deadline", "late", "probability"]
    assert lines[4].split() == ["net", "0", "–", "–", "–", "–", "150ns", "0", "0", "to", "1"]
    assert lines[6].startswith("A job is late with the probability in the last column")
    assert len(lines) == 7
    assert runs.share_late.tolist() == [0, None]
    assert runs.percentile(50, "net") is None and runs.percentile(50).mask.tolist() == [False, True]
    assert runs.why().startswith("Run ") and "camera: job" in runs.why()
    assert runs.why("net") == "net: no job was released."
    frame = runs.to_frame()
    assert list(frame.columns) == ["run", "task", "jobs", "worst", "late"] and len(frame) == 6
    one = runs[-1]
    assert one.assumptions[-1] == (
        "releases are periodic, and times are drawn from 50 % of the whole ones on"
    )
    assert [len(runs[:2]), len(runs)] == [2, 3]
    with pytest.raises(IndexError, match="runs: got 3, expected a number below 3"):
        runs[3]
    for wrong in (-1, 101, float("nan")):
        with pytest.raises(ValueError, match="q: got"):
            runs.percentile(wrong)
        with pytest.raises(ValueError, match="q: got"):
            one.percentile(wrong)
    late = gs.observe(
        w.replace(tasks=[w[0].replace(deadline=40)]), MACHINE, "mpcp", seed=1, count=2
    )
    assert late.share_late.tolist() == [1.0] and "(100 %)" in str(late)


def test_jobs_that_have_not_ended_count_as_what_they_had_taken() -> None:
    """In a stack of runs that are cut off."""
    w = gs.Workload([gs.Task("a", 100, [gs.CPU(20)]), gs.Task("b", 70, [gs.CPU(50)])])
    model = machine_model(DerivedModels(w, gs.Platform(cpus=2)), "mpcp", until=300, end=215)
    found = stack_machine(model, 3, seed=1)
    assert found.left.tolist() == [2, 2, 2]
    assert found.worst.tolist() == [[20, 50]] * 3 and found.released.tolist() == [[3, 4]] * 3
    bins = list(zip(found.task.tolist(), found.edge.tolist(), found.count.tolist(), strict=True))
    assert bins == [(0, 15, 3), (0, 20, 6), (1, 5, 3), (1, 50, 9)]
    runs = gs.observe(w, gs.Platform(cpus=2), "mpcp", until=300, seed=1, count=3)
    assert not runs.notes
    cut = replace(runs, left=found.left, bins=np.stack([found.task, found.edge, found.count]))
    assert cut.notes == ["6 jobs had not ended and count as what they had taken."]
    assert cut.notes[0] in str(cut)
    assert cut.percentile(30).tolist() == [15, 50]


def test_budgets_and_stops() -> None:
    w = gs.Workload([gs.Task("a", 100, [gs.CPU(20), gs.Kernel(30)])])
    play: dict[str, Any] = {"until": 10_000, "seed": 1, "count": 1000, "low": 0.5}
    runs = gs.observe(w, MACHINE, "mpcp", budget=gs.Budget(states=1050), **play)
    assert runs.reason == "states" and 2 <= len(runs) <= 10
    assert runs.job_count.sum() == 100 * len(runs)
    whole = gs.observe(w, MACHINE, "mpcp", **play | {"count": len(runs)})
    assert whole.worst.tolist() == runs.worst.tolist()
    assert whole.percentile(99).tolist() == runs.percentile(99).tolist()
    assert f"The budget (states) was spent after {len(runs)} runs." in str(runs)
    with pytest.raises(gs.Cancelled, match="budget of states was spent"):
        gs.observe(w, MACHINE, "mpcp", budget=gs.Budget(states=10), **play)
    with pytest.raises(gs.Cancelled):
        gs.observe(w, MACHINE, "mpcp", stop=bytearray(b"\x01"), **play)
    told: list[tuple[int, int | None]] = []
    gs.observe(w, MACHINE, "mpcp", progress=lambda *at: told.append(at), **play)
    assert told[-1] == (1000, 1000)


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ({"low": 0.5}, "seed: got None, expected one with low="),
        ({"gap": 0.5}, "seed: got None, expected one with gap="),
        ({"index": 1}, "seed: got None, expected one with index="),
        ({"count": 2}, "seed: got None, expected one with count="),
        ({"seed": 1, "count": 0}, "count: got 0, expected a positive number"),
        (
            {"seed": 1, "count": 2, "index": 2**63 - 1},
            "count: got 2, expected a positive number, a",
        ),
        ({"seed": 1, "count": 2**70}, "count: got 1180591620717411303424, expected a positive"),
        ({"seed": 1, "low": 1.5}, "low: got 1.5, expected a share of the whole time, 0 to 1"),
        ({"seed": 1, "low": -1}, "low: got -1, expected 0 or more"),
        ({"seed": 1, "gap": 10**30}, "gap: got 10+, expected a share below"),
        ({"seed": 1, "gap": -1}, "gap: got -1, expected 0 or more"),
        ({"seed": 1, "draw": "kernel"}, "draw: got 'kernel', expected one of"),
        ({"seed": -1}, "seed: got -1, expected a non-negative integer"),
        ({"seed": 1, "index": -1}, "index: got -1"),
    ],
)
def test_refusals(more: dict[str, Any], message: str) -> None:
    w = gs.Workload([gs.Task("a", 100, [gs.CPU(20), gs.Kernel(30)])])
    with pytest.raises(ValueError, match=message):
        gs.observe(w, MACHINE, "mpcp", **more)


def test_simulations_without_draws_say_so() -> None:
    w = gs.Workload([gs.Task("a", 100, [gs.CPU(20), gs.Kernel(30, blocks=1, threads=32)])])
    with pytest.raises(gs.NotApplicable, match="a plan is for periodic releases"):
        gs.observe(w, MACHINE, "pbs", seed=1, gap=0.1)
    big = gs.Platform("A30", cpus=4)
    w = w.replace(tasks=[w[0].replace(core=0)])
    single = gs.observe(w, big, "mig", within="mpcp", seed=1, low=0.5)
    assert "from 50 %" in single.assumptions[-1] and len(set(single.response.tolist())) > 1
    with pytest.raises(gs.NotApplicable, match="count: got 2, expected None; instances are"):
        gs.observe(w, big, "mig", within="mpcp", seed=1, count=2)
