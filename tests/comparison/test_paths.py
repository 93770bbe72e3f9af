"""Paths of workloads: bounds, verdicts, reasons, simulated times, margins, groups in a thread."""

from __future__ import annotations

import dataclasses
import sys
import tomllib
from collections import Counter, defaultdict
from pathlib import Path as FilePath
from random import Random
from typing import Any

import numpy as np
import pytest
from reference import pipelines as twin

import gpusched as gs
from gpusched.comparison import analyses
from gpusched.comparison.documents import run_document
from gpusched.comparison.path_runs import TaskJobs, path_run
from gpusched.comparison.released_tasks import Links, links_of
from gpusched.model.workload.workload_document import workload_parts

pytestmark = [pytest.mark.python, pytest.mark.numbers]

EXAMPLES = FilePath(__file__).parents[2] / "notebooks"
ORIN = gs.Platform(
    "AGX Orin", cpus=4, launch_latency="10us", slowdown=1.05, context_switch="100us",
    update_cost="50us", server_overhead="20us",
)  # fmt: skip


def lidar() -> gs.Workload:
    return gs.Workload.load(EXAMPLES / "lidar_to_brake.toml")


def without_jitter(w: gs.Workload) -> gs.Workload:
    return w.replace(tasks=[task if task.after else task.replace(jitter=0) for task in w])


# Bounds and verdicts


def test_a_lidar_point_to_the_brake() -> None:
    answer = gs.analyze(lidar(), ORIN, "one_stream")
    assert answer.schedulable and answer.method == "holistic"
    assert [path.bound for path in answer.paths] == [338_220, 275_710, 71_220]
    path = answer.path("obstacle to brake")
    assert path.times is not None and path.times.latency == path.times.reaction - 100_000
    assert path.slack == 161_780 and path.met
    assert [leg.tasks[0] for leg in path.legs] == ["lidar", "planner", "control"]
    assert answer.why("obstacle to brake") == (
        "obstacle to brake: reaction of 338.22ms of 500ms: the next lidar 100ms later; lidar to "
        "prediction 79.22ms (58.2ms own, 2ms jitter, 19.02ms waiting); the next planner 100ms "
        "later, planner 27ms; the next control 30ms later, control 2ms. 230ms of 338.22ms are "
        "periods; if prediction released planner, 100ms of them would go, and other waits might "
        "grow."
    )
    assert answer.tightest_path is not None
    assert answer.tightest_path.path.name == "traffic light to brake"
    assert "the tightest is the path traffic light to brake: age of 275.71ms" in answer.why()
    assert 'sources of "obstacle to brake" release a job every period' in answer.assumptions
    assert not any("cloud to objects" in text for text in answer.assumptions)
    assert answer.queues == {"detector": 1, "tracker": 1, "prediction": 1}
    with pytest.raises(KeyError, match="paths: got 'x'"):
        answer.path("x")


@pytest.mark.parametrize(
    ("way", "options", "bounds"),
    [
        ("mpcp", {}, (336_250, 263_740, 77_250)),
        ("fmlp_plus", {}, (327_740, 259_730, 68_740)),
        ("gpu_server", {}, (336_370, 288_250, 77_370)),
        ("gcaps", {}, (320_330, 266_240, 61_330)),
    ],
)
def test_one_thread_runs_the_group(way: str, options: Any, bounds: Any) -> None:
    answer = gs.analyze(lidar(), ORIN, way, triggered="one", **options)
    assert answer.schedulable
    assert answer.workload.names == ("lidar to prediction", "camera", "planner", "control")
    said = "lidar, detector, tracker and prediction run one after the other in one thread"
    assert said in answer.assumptions
    assert tuple(path.bound for path in answer.paths) == bounds


@pytest.mark.parametrize(
    ("way", "mode", "bounds"),
    [
        ("mpcp", "suspend", (338_250, 275_740, 71_250)),
        ("mpcp", "busy", (348_760, 276_750, 81_760)),
        ("fmlp_plus", "suspend", (338_250, 275_740, 71_250)),
        ("fmlp_plus", "busy", (340_250, 272_740, 73_250)),
        ("stgm", "busy", (342_700, 278_790, 75_700)),
        ("gpu_server", "suspend", (338_530, 275_940, 71_370)),
    ],
)
def test_stages_of_a_line_do_not_delay_each_other(way: str, mode: str, bounds: Any) -> None:
    """Every task ends within a period of the source, so jobs of one arrival alone are pending."""
    options: Any = {} if way == "gpu_server" else {"mode": mode}
    answer = gs.analyze(lidar(), ORIN, way, **options)
    assert answer.accepted and tuple(path.bound for path in answer.paths) == bounds
    assert answer.ends is not None
    stages = answer.ends.end.tolist()[:4]
    assert max(stages) <= 100_000
    # Each stage begins at the latest end of the one before it.
    assert np.diff(stages).tolist() == answer.response.tolist()[1:4]
    assert answer.detail.terms["release"].tolist() == [2_000, 0, 0, 0, 0, 0, 0]


def test_stages_that_overlap_the_next_arrival_delay_each_other() -> None:
    """The end of the last one is 12 after an arrival, of which there is one every 10."""
    tasks = [
        gs.Task("a", 10, [gs.CPU(4)], priority=0),
        gs.Task("b", None, [gs.CPU(4)], priority=1, after="a", deadline=9),
        gs.Task("c", None, [gs.CPU(4)], priority=2, after="b", deadline=9),
    ]
    apart = gs.analyze(gs.Workload(tasks[:2]), gs.Platform("AGX Orin", cpus=1), "mpcp")
    assert apart.accepted and apart.ends is not None and apart.ends.end.tolist() == [4, 8]
    late = gs.analyze(gs.Workload(tasks), gs.Platform("AGX Orin", cpus=2), "mpcp")
    assert not late.accepted


def test_why_a_stage_is_late() -> None:
    answer = gs.analyze(lidar(), ORIN, "mpcp")
    assert answer.assumptions[-1].startswith("sources of") and any(
        text.startswith("a task that others release counts as") for text in answer.assumptions
    )
    late = gs.analyze(lidar(), ORIN, "stgm")
    assert late.schedulable is None and not late.bounded.any()
    assert "jitter of its release" in late.why()


def test_gcaps_takes_tasks_that_release_each_other() -> None:
    for mode, bounds in (
        ("suspend", (336_490, 278_240, 69_490)),
        ("busy", (354_340, 278_440, 71_340)),
    ):
        answer = gs.analyze(lidar(), ORIN, "gcaps", mode=mode)
        assert answer.accepted and tuple(path.bound for path in answer.paths) == bounds
        assert answer.detail.terms["release"].tolist() == [2_000, 0, 0, 0, 0, 0, 0]
        with pytest.raises(ValueError, match=r"jitter\[0\]: got 2000, expected 0, since the model"):
            gs.analyze(lidar(), ORIN.replace(context_switch=0), "gcaps", mode=mode, variant="paper")


def test_recipes_for_tasks_that_others_release() -> None:
    assert "prediction" in str(gs.recipe(gs.analyze(lidar(), ORIN, "one_stream")))
    found = gs.recipe(gs.analyze(lidar(), ORIN, "one_stream", triggered="one"))
    assert "lidar to prediction" in str(found)
    kernel = gs.Kernel("5ms", blocks=8, threads=256)
    w = gs.Workload([gs.Task("a", "50ms", [kernel]), gs.Task("b", None, [kernel], after="a")])
    plan = gs.analyze(w, ORIN.replace(launch_latency="10us"), "pbs")
    assert plan.accepted
    with pytest.raises(ValueError, match=r"b: got a task that others .* under a plan; triggered="):
        gs.recipe(plan)


def test_an_endoscope() -> None:
    """Apart, the recorder delays the frame by its copy alone; one thread runs it in every job."""
    w = gs.Workload.load(EXAMPLES / "endoscope.toml")
    answer = gs.analyze(w, ORIN, "one_stream")
    assert answer.accepted and [path.bound for path in answer.paths] == [11_650, 140_017]
    one = gs.analyze(w, ORIN, "stgm", mode="busy", triggered="one")
    assert one.accepted and [path.bound for path in one.paths] == [16_591, 149_868]
    assert any("recorder in every job" in text for text in one.assumptions)


def test_a_path_that_is_too_long_guarantees_nothing() -> None:
    w = lidar()
    short = w.replace(paths=[w.path(0).replace(deadline="338ms"), *w.paths[1:]])
    answer = gs.analyze(short, ORIN, "one_stream")
    assert answer.schedulable is None and answer.bounded.all()
    assert answer.why().startswith(
        "obstacle to brake: reaction of 338.22ms for a deadline of 338ms"
    )
    assert not answer.path(0).met and answer.path(0).slack == -220
    held = w.replace(paths=[w.path(0).replace(deadline=None)])
    assert gs.analyze(held, ORIN, "one_stream").accepted
    assert gs.analyze(held, ORIN, "one_stream").tightest_path is None


def test_a_queue_that_is_too_short_guarantees_nothing() -> None:
    tasks = [
        gs.Task("a", 10, [gs.CPU(1)], jitter=15, deadline=30, priority=0),
        gs.Task("b", None, [gs.CPU(1), gs.Kernel(5)], after="a", deadline=30, priority=1, queue=1,
                best=6),
    ]  # fmt: skip
    platform = gs.Platform(gs.GPU(1, 1024, 8), cpus=1)
    answer = gs.analyze(gs.Workload(tasks), platform, "one_stream")
    assert answer.why() == "b: up to 2 results of a wait, and queue is 1."
    assert answer.schedulable is None
    wide = gs.Workload([tasks[0], tasks[1].replace(queue=2)])
    assert gs.analyze(wide, platform, "one_stream").accepted


def test_given_phases_shorten_a_path() -> None:
    """The planner's and the control's offsets at the ends before them."""
    w = lidar()
    tasks = {"planner": 80_000, "control": 17_000}
    given = w.replace(
        tasks=[t.replace(offset=tasks[t.name]) if t.name in tasks else t for t in w],
        paths=[w.path(0).replace(phases="given")],
    )
    free, timed = (gs.analyze(one, ORIN, "one_stream").path(0) for one in (w, given))
    assert free.bound is not None and timed.bound is not None
    assert timed.bound <= free.bound - 100_000
    assert "later, planner" not in timed.why()


def test_periods_of_rates_are_the_longest_ones_in_paths() -> None:
    """In ticks of 1 ms, 30 jobs at 30 Hz take 1 s, and not 30 times 33 ms."""
    work = [gs.CPU("1ms")]
    tasks = [
        gs.Task("a", rate="30Hz", segments=work),
        gs.Task("b", after="a", every=30, segments=work),
        gs.Task("c", "33ms", work, reads=["a", "b"]),
    ]
    paths = [
        gs.Path("b to c", ["a", "b", "c"], "2s", "age"),
        gs.Path("a to c", ["a", "c"], "200ms", phases="given"),
    ]
    w = gs.Workload(tasks, "ms", paths=paths)
    answer = gs.analyze(w, gs.Platform("AGX Orin", cpus=3), "one_stream")
    ends = [int(one) for one in answer.ends.end] if answer.ends else []
    assert answer.path(0).bound == 1000 + ends[1] + ends[2]
    # 30 Hz and 33 ms drift apart, though both have 33 ticks: any phase comes.
    assert answer.path(1).bound == ends[0] + ends[2] + 33 and not answer.path(1).is_timed
    assert 'sources of "a to c" release a job every period' in answer.assumptions
    with pytest.raises(ValueError, match="whose periods are whole ticks"):
        gs.choose(w, gs.Platform("AGX Orin", cpus=3), "one_stream", what=["offsets"])
    exact = w.replace(tasks=[t.replace(rate="31.25Hz") if t.name == "a" else t for t in w])
    assert gs.analyze(exact, gs.Platform("AGX Orin", cpus=3), "one_stream").path(1).is_timed


def test_a_path_without_a_bound_names_the_task() -> None:
    work = [gs.CPU(3), gs.Kernel(2)]
    w = gs.Workload(
        [gs.Task("a", 5, work), gs.Task("b", 5, work, reads="a")],
        paths=[gs.Path("a to b", ["a", "b"], 20)],
    )
    platform = gs.Platform(gs.GPU(1, 1024, 8), cpus=1)
    answer = gs.analyze(w, platform, "one_stream")
    assert answer.path("a to b").bound is None
    assert "no bound; one_stream bounds no response of" in answer.why("a to b")


def test_answers_with_paths_are_saved(tmp_path: FilePath) -> None:
    answer = gs.analyze(lidar(), ORIN, "one_stream")
    answer.save(tmp_path / "answer")
    again = gs.WorkloadAnswer.load(tmp_path / "answer")
    assert again == answer and again.ends is not None and answer.ends is not None
    assert again.ends.end.tolist() == answer.ends.end.tolist()
    assert [path.bound for path in again.paths] == [path.bound for path in answer.paths]


# Comparisons


def test_a_comparison_of_paths(tmp_path: FilePath) -> None:
    w = lidar()
    short = w.replace(paths=[w.path(0).replace(deadline="200ms"), *w.paths[1:]])
    found = gs.compare(short, ORIN, ways=["one_stream", "srm"], progress=False)
    row = found["one_stream"]
    assert row.schedulable is False and row.tightest_path is not None
    assert row.tightest_path.observed == 252_000 and row.tightest_path.slack == -138_220
    assert row.why().startswith("Simulated: obstacle to brake: reaction 252ms, more than its dead")
    assert "obstacle to brake" in str(found) and "252ms of 200ms" in str(found)
    assert found["srm"].answer is None
    assert "triggered tasks" in found["srm"].why_no_answer
    document: Any = found.document(margin=False)
    assert document["rows"][0]["paths"][0] == {
        "path": "obstacle to brake", "kind": "reaction", "deadline": 200_000, "bound": 338_220,
        "slack": -138_220, "p99": 252_000, "observed": 252_000, "late": 28,
    }  # fmt: skip
    assert document["workload"]["path"][0]["name"] == "obstacle to brake"
    found.save(tmp_path / "found")
    again = gs.Comparison.load(tmp_path / "found")
    assert again == found and again[0].paths == found[0].paths
    one = gs.compare(
        without_jitter(w), ORIN, ways=["one_stream", "mpcp"], progress=False, triggered="one"
    )
    assert [row.schedulable for row in one] == [True] * 4
    assert one.workload.names[0] == "lidar to prediction"
    assert "<table" in found._repr_html_() and "obstacle to brake" in found.to_html(margin=False)


def test_advice_for_a_path() -> None:
    w = lidar()
    short = w.replace(paths=[w.path(0).replace(deadline="300ms")])
    found = gs.compare(short, ORIN, ways=["one_stream"], simulate=False, progress=False)
    advice = found.advice()
    assert advice is not None
    assert "the deadline of obstacle to brake is 375ms instead of 300ms" in str(advice)


def test_the_margin_of_a_path() -> None:
    w = without_jitter(lidar())
    of = gs.margin(w, ORIN, "mpcp", of="obstacle to brake", triggered="one")
    assert of.exact and of.of == "obstacle to brake" and of.factor is not None
    scaled = w.scaled(*[of.factor] * 3)
    longer = w.scaled(*[of.factor * 1001 / 1000] * 3)
    bounds = [gs.analyze(one, ORIN, "mpcp", triggered="one").path(0) for one in (scaled, longer)]
    assert bounds[0].met and not bounds[1].met
    assert "everything for obstacle to brake may take" in str(of)
    assert of.factor >= gs.margin(w, ORIN, "mpcp", triggered="one").factor  # type: ignore[operator]
    with pytest.raises(KeyError, match="paths: got 'x'"):
        gs.margin(w, ORIN, "one_stream", of="x")
    with pytest.raises(TypeError, match="of: got 0, expected 'all' or the name of a path"):
        gs.margin(w, ORIN, "one_stream", of=0)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="triggered: got 'two', expected one of apart, one"):
        gs.analyze(w, ORIN, "mpcp", triggered="two")  # type: ignore[arg-type]


def test_groups_in_one_thread_need_one_of_each() -> None:
    tasks = [
        gs.Task("a", 9, [gs.CPU(1)], core=0),
        gs.Task("b", None, [gs.CPU(1)], after="a", core=1),
    ]
    with pytest.raises(ValueError, match="b: got core 1, expected that of a, 0; one thread runs"):
        gs.Workload(tasks).in_one_thread()
    loop = [
        gs.Task("a", 9, [gs.CPU(1)]),
        gs.Task("b", 9, [gs.CPU(1)], reads="a"),
        gs.Task("c", None, [gs.CPU(1)], after="a", reads="b"),
    ]
    w = gs.Workload(loop, paths=[gs.Path("p", ["a", "b", "c"])])
    with pytest.raises(ValueError, match="got a path that comes back to a to c"):
        w.in_one_thread()
    assert w.replace(paths=()).in_one_thread()["a to c"].reads == ("b",)
    every = loop[2].replace(every=2, reads=None, best=1)
    merged = gs.Workload([*loop[:2], every]).in_one_thread()["a to c"]
    assert merged.best == 0 and merged.deadline == 9 and merged.cpu_time == 2


# Runs


def test_the_times_of_a_run(tmp_path: FilePath) -> None:
    w = lidar()
    run = gs.observe(w, ORIN, "one_stream", until="3s")
    path = run.path("obstacle to brake")
    assert path.largest == 252_000 and path.percentile(100) == 252_000
    assert path.worst() == {
        "lidar": 3, "detector": 3, "tracker": 3, "prediction": 3, "planner": 4, "control": 15,
    }  # fmt: skip
    assert run.why("obstacle to brake").startswith("obstacle to brake: reaction 252ms of 500ms, th")
    assert len(path.latency) == len(path.reaction) and path.to_frame().shape[1] == 4
    assert not run.late_paths and not run.has_misses
    run.save(tmp_path / "run")
    assert gs.WorkloadRun.load(tmp_path / "run").path(0).largest == 252_000
    with pytest.raises(ValueError, match="q: got 101"):
        path.percentile(101)


def test_percentiles_of_paths(tmp_path: FilePath) -> None:
    """Nearest rank: by sorting, in texts and documents."""
    w = lidar()
    run = gs.observe(w, ORIN, "one_stream", until="3s", seed=7, low=0.5)
    table = run.responses_text((50, 99.5))
    for found in run.paths:
        times = np.sort(found.values)
        for q in (0, 1, 50, 95, 99.5, 100):
            assert found.percentile(q) == times[max(1, int(np.ceil(q * len(times) / 100))) - 1]
        (line,) = (line for line in table.splitlines() if line.startswith(found.path.name))
        assert line.split()[-1] == "0"
        head = line.split(")")[1].split()
        assert head[0] == f"{len(found):,}" and head[3] == f"{times[-1] / 1000:.6g}ms"
    assert len({len(line) for line in table.splitlines()}) == 1
    document: Any = run_document(run, (99.5,))
    assert document["paths"][1] == {
        "path": "traffic light to brake", "kind": "age", "deadline": 300_000,
        "count": len(run.path(1)), "percentiles": {"99.5": run.path(1).percentile(99.5)},
        "worst": run.path(1).largest, "late": 0,
    }  # fmt: skip
    assert "paths" not in run_document(gs.observe(w.replace(paths=()), ORIN, "one_stream"))


def test_times_of_paths_in_a_stack() -> None:
    w = lidar()
    short = w.replace(paths=[*w.paths[:2], w.path(2).replace(deadline="42ms")])
    runs = gs.observe(short, ORIN, "one_stream", until="1s", count=6, seed=2, low=0.3)
    for i, path in enumerate(short.paths):
        found, apart = runs.path(path.name), [run.path(i) for run in runs]
        assert found.values.tolist() == [t for one in apart for t in one.values.tolist()]
        assert len(found) == sum(map(len, apart)) == len(found.run)
        assert found.largest == max(one.largest or 0 for one in apart)
        assert found.worst_run is not None
        assert apart[found.worst_run].largest == found.largest
        assert found.late_count == sum(one.late_count for one in apart)
        assert found.percentile(50) == sorted(found.values.tolist())[-(-len(found) // 2) - 1]
    assert 0 < runs.path(2).late_count < len(runs.path(2))
    assert repr(runs.path(2)) == f"<PathRuns: cloud to objects, {len(runs.path(2))} times>"
    assert repr(runs[0].path(2)) == "<PathRun: cloud to objects, 10 times>"
    with pytest.raises(KeyError, match="paths: got 'x'"):
        runs.path("x")
    none = gs.observe(w, ORIN, "one_stream", until="9ms", count=2, seed=2).path(0)
    assert (len(none), none.largest, none.worst_run, none.percentile(9)) == (0, None, None, None)


def test_times_of_runs_are_those_of_the_twin() -> None:
    """Chains of random small systems, looked up job by job."""
    sys.path.insert(0, str(FilePath(__file__).parents[1] / "analysis"))
    from test_pipelines import play, random_path, random_stages

    compared = 0
    for seed in range(60):
        random = Random(f"chains {seed}")
        stages = random_stages(random)
        names = [f"t{i}" for i in range(len(stages))]
        tasks = [
            gs.Task(
                names[i],
                s.period or None,
                [gs.CPU(1)],
                after=[names[p] for p in s.after] or None,
                every=s.every,
                reads=[names[p] for p in s.reads] or None,
            )
            for i, s in enumerate(stages)
        ]
        numbers = random_path(stages, random)
        path = gs.Path("p", [names[i] for i in numbers])
        w = gs.Workload(tasks, paths=[path])
        run = play(stages, random, False, 300, seed)
        jobs = {
            name: TaskJobs(*(np.array([getattr(j, key) for j in own], np.int64)
                             for key in ("arrival", "release", "start", "end")))
            for name, own in zip(names, run.jobs, strict=True)
        }  # fmt: skip
        found = path_run(w, path, jobs)
        expected = twin.chains(run, stages, numbers, 10**9)
        times = {
            "latency": found.latency.tolist(),
            "reaction": found.reaction.compressed().tolist(),
            "age": found.age.tolist(),
            "held age": found.held_age.compressed().tolist(),
        }
        for kind, values in times.items():  # ends and beginnings of runs are left out
            assert Counter(values) <= Counter(expected[kind]), (seed, kind)
            assert len(values) >= len(expected[kind]) - 8 * len(numbers), (seed, kind)
            compared += len(values)
    assert compared > 2_000


def test_random_pipelines_keep_their_bounds_on_the_machine() -> None:
    sys.path.insert(0, str(FilePath(__file__).parents[2] / "benchmarks"))
    from pipeline_falsification import attack

    seen: dict[str, dict[str, float]] = defaultdict(lambda: defaultdict(float))
    counts: Counter[str] = Counter()
    wrong: list[str] = []
    for seed in range(12):
        wrong += attack(seed, seen, counts)
    assert wrong == []
    assert counts["one_stream runs"] > 30 and counts["streams runs"] > 30


def test_phases_that_climb_exceed_no_end(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nor would they if siblings were taken for apart, but for programs that are found."""
    sys.path.insert(0, str(FilePath(__file__).parents[2] / "benchmarks"))
    from pipeline_falsification import climb

    counts: dict[str, Counter[str]] = defaultdict(Counter)
    assert [found for seed in range(16) for found in climb(seed, 30, counts)] == []
    assert counts["mpcp"]["runs"] > 60 and counts["gcaps"]["runs"] > 60

    def groups(workload: gs.Workload, hosts: gs.HostTasks) -> Links | None:
        found = links_of(workload, hosts)
        if found is None:
            return None
        same = found.source[:, None] == found.source[None, :]
        np.fill_diagonal(same, False)
        return dataclasses.replace(found, apart=same.astype(np.uint8))

    monkeypatch.setattr(analyses, "links_of", groups)
    wrong = climb(44, 5, counts)
    assert {"mpcp", "fmlp_plus"} <= {text.split("'")[1] for text in wrong}


def test_the_examples_are_files_of_version_2() -> None:
    for name in ("lidar_to_brake.toml", "endoscope.toml"):
        document = tomllib.loads((EXAMPLES / name).read_text("utf-8"))
        assert document["version"] == 2 and workload_parts(document).paths


def test_jobs_that_others_release_are_late_from_their_releases(tmp_path: FilePath) -> None:
    """The deadline of 3 counts from the release at 6, not from the arrival at 0."""
    tasks = [
        gs.Task("a", 20, [gs.CPU(6)]),
        gs.Task("b", None, [gs.CPU(2), gs.Kernel(1)], after="a", deadline=3),
        gs.Task("c", None, [gs.CPU(3)], after="b", deadline=2),
    ]
    run = gs.observe(gs.Workload(tasks), gs.Platform(gs.GPU(1, 1024, 8)), "streams", until=40)
    assert run.worst.tolist() == [6, 3, 3] and run.late_count.tolist() == [0, 0, 2]
    assert run.detail.late.tolist() == [False, False, True] * 2  # type: ignore[union-attr]
    assert run.percentile(100, "b") == 3 and run.percentile(100).tolist() == [6, 3, 3]
    assert run.release.tolist() == [0, 20, 6, 26, 9, 29]
    run.save(tmp_path / "run")
    assert gs.WorkloadRun.load(tmp_path / "run") == run
    assert "svg" in run.to_svg()
