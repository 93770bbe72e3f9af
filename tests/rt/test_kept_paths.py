"""``gs.kept`` for tasks that others release, and for paths: simulated runs as logs, and faults."""

from __future__ import annotations

import json
import random
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from commands import run as command
from runs import Events

import gpusched as gs
from gpusched.comparison.path_runs import PathRun
from gpusched.simulate.machine_result import MachineRun

MS = 10**6
PARTS = [gs.CPU("2ms")]


def log_of(run: gs.WorkloadRun, *, lost: int = 0, since: int = 0) -> gs.io.RunLog:
    """The log that a program with the jobs of a simulation leaves; ``since``: from there on."""
    assert isinstance(run.detail, MachineRun)
    jobs, workload = run.detail.jobs, run.workload
    made = Events(workload.names)
    columns = (jobs.task, jobs.number, jobs.arrival, jobs.release, jobs.start, jobs.end)
    for i, number, arrival, release, start, end in zip(*(c.tolist() for c in columns), strict=True):
        value = release if workload[i].after else arrival
        if start >= since:
            made.add(MS + start, "release", i, number, MS + value)
        if end >= since:
            made.add(MS + end, "complete", i, number)
    return made.log(lost=lost)


def same(found: PathRun, expected: PathRun) -> bool:
    keys = ("latency", "reaction", "age", "held_age", "jobs", "output_jobs")
    shifted = (found.samples - MS).tolist() == expected.samples.tolist()
    return shifted and all(
        np.ma.allequal(getattr(found, key), getattr(expected, key)) for key in keys
    )


def test_simulated_runs_are_kept_and_have_the_same_paths() -> None:
    sys.path.insert(0, str(Path(__file__).parents[2] / "benchmarks"))
    from pipeline_falsification import random_platform, random_workload

    counts: Counter[str] = Counter()
    for seed in range(250):
        draw = random.Random(f"kept paths {seed}")
        workload, platform = random_workload(draw), random_platform(draw)
        way = draw.choice(
            ("one_stream", "streams", "mpcp", "fmlp_plus", "gpu_server", "stgm", "srm")
        )
        cores = [draw.randrange(platform.cpus) for _ in workload]
        tasks = [task.replace(core=core) for task, core in zip(workload, cores, strict=True)]
        workload = gs.Workload(tasks, tick="ns", paths=workload.paths)
        try:
            answer = gs.analyze(workload, platform, way)
        except gs.NotApplicable:
            continue
        if not answer.accepted:
            continue
        run = gs.observe(workload, platform, way, until=700, seed=seed)
        if run.grain > 1:  # times between two ns
            continue
        log = log_of(run)
        found = gs.kept(answer, log)
        assert found.kept, (seed, way, str(found))
        for path, bound in zip(found.paths, found.path_bound.tolist(), strict=True):
            name = path.path.name
            assert same(path, run.path(name)), (seed, name)
            assert bound == (answer.path(name).bound or -1)
            assert path.largest is None or path.largest <= bound
            counts[name] += len(path)
        cut = draw.randint(1, 400)
        late = gs.kept(answer, log_of(run, lost=1, since=cut))
        # Tasks with few jobs have none in the log.
        assert faults(late) <= {"no job"}, (seed, cut, str(late))
        for path, whole in zip(late.paths, found.paths, strict=True):
            assert not Counter(path.values.tolist()) - Counter(whole.values.tolist())
            counts["cut"] += len(path)
        counts["after"] += any(task.after for task in workload)
    assert min(counts.values()) > 40 and counts["latency"] > 400, counts


def pipeline(**more: Any) -> gs.Workload:
    """Two tasks that one releases, the second by every second job, and one that reads."""
    tasks = [
        gs.Task("camera", "20ms", PARTS, jitter="1ms"),
        gs.Task("detector", segments=PARTS, after="camera"),
        gs.Task("recorder", segments=PARTS, after=["camera", "detector"], every=2),
        gs.Task("control", "10ms", PARTS, reads="detector", offset=more.pop("offset", 0)),
    ]
    paths = [
        gs.Path("objects", ["camera", "detector"], "10ms"),
        gs.Path("command", ["camera", "detector", "control"], "60ms", **more),
    ]
    return gs.Workload(tasks, tick="us", paths=paths)


PLATFORM = gs.Platform("Xavier", cpus=4)


def answer_of(**more: Any) -> gs.WorkloadAnswer:
    answer = gs.analyze(pipeline(**more), PLATFORM, "mpcp")
    assert answer.accepted
    return answer


def run_of(cycles: int = 6, *, phase: int = 0, slow: int = 0) -> Events:
    """All jobs from their releases on, 2 ms each; control jobs ``phase`` later."""
    made = Events(pipeline().names)
    for job in range(cycles):
        at = 20 * MS * job
        for task in range(2):
            made.add(at, "release", task, job, at)
            at += 2 * MS + slow * (task == 1)
            made.add(at, "complete", task, job)
        if job % 2 == 0:
            made.add(at, "release", 2, job // 2, at)
            made.add(at + 2 * MS, "complete", 2, job // 2)
        for k in range(2):
            at = 20 * MS * job + 10 * MS * k + phase
            made.add(at, "release", 3, 2 * job + k, at)
            made.add(at + 2 * MS, "complete", 3, 2 * job + k)
    return made


def faults(found: gs.Kept) -> set[str]:
    return {finding.rule for finding in (*found.broken, *found.exceeded)}


def test_a_pipeline_that_keeps_its_bounds() -> None:
    answer = answer_of()
    found = gs.kept(answer, run_of().log())
    assert found.kept, found
    objects, control = found.paths
    assert objects.latency.tolist() == [4 * MS] * 6 and objects.tick == 1
    # The result is there at 4 ms, read at 10 ms, and control ends 2 ms later.
    assert set(control.latency.tolist()) == {12 * MS} and control.path.deadline == 60 * MS
    assert control.worst() == {"camera": 0, "detector": 0, "control": 1}
    bounds = [answer.path(k).bound for k in range(2)]
    assert found.path_bound.tolist() == [1000 * bound for bound in bounds if bound is not None]
    assert found.why() == "27 jobs and 2 paths kept their bounds, and no condition was broken."
    assert found.why("command") == (
        "command: latency 12ms of 60ms, through the jobs camera 0, detector 0, control 1, for a "
        "bound of 17ms."
    )
    with pytest.raises(KeyError, match="task"):
        found.why("nosuch")


def test_a_path_that_exceeds_its_bound_by_a_nanosecond() -> None:
    answer = answer_of()
    bound = int(answer.path("objects").bound or 0) * 1000
    for late, allowed, expected in ((0, 0, 0), (1, 0, 1), (2, 1, 0), (3, 1, 1)):
        made = run_of(slow=bound - 4 * MS + late)
        found = gs.kept(answer, made.log(), tolerance=allowed)
        exceeded = [f for f in found.exceeded if f.rule == "path" and f.task == "objects"]
        assert len(exceeded) == expected, (late, allowed)
        if expected:  # the path has two tasks, for each of which the tolerance counts
            assert (exceeded[0].value, exceeded[0].limit) == (bound + late, bound)
            assert str(exceeded[0]).startswith(
                f"objects: latency {gs.kept(answer, made.log()).paths[0].largest / 1e6:.9g}ms "  # type: ignore[operator]
                "through the jobs camera "
            )


def change(fault: str) -> Events:
    """The run with one fault."""
    made = run_of()
    rows = made.rows
    at = {row[1:4]: k for k, row in enumerate(rows)}
    if fault in ("too early", "too late"):
        k, shift = at["release", 1, 2], MS if fault == "too late" else -MS
        rows[k] = (rows[k][0] + shift, *rows[k][1:4], rows[k][4] + shift)
    elif fault == "too soon":
        rows.pop(at["complete", 0, 3])
    elif fault == "left out":
        rows[:] = [row for row in rows if row[2:4] != (1, 3)]
    elif fault == "not released":
        rows[:] = [row for row in rows if not (row[2] == 1 and row[3] >= 4)]
    elif fault == "seldom":
        rows[:] = [
            (row[0] + 5 * MS, *row[1:4], row[4] + 5 * MS) if row[2] == 3 and row[3] > 6 else row
            for row in rows
        ]
    elif fault == "jitter":
        k = at["release", 0, 2]
        rows[k] = (rows[k][0] + MS + 1, *rows[k][1:])
    elif fault == "backwards":
        k = at["release", 3, 5]
        rows[k] = (rows[k][0] - 30 * MS, *rows[k][1:])
    return made


@pytest.mark.parametrize(
    ("fault", "rule", "text"),
    [
        ("too early", "release", "detector, job 2: released 1ms before the end of camera, job 2,"),
        ("too late", "release", "detector, job 2: released 1ms after the end of camera, job 2,"),
        ("too soon", "release", "detector, job 3: released before camera, job 3, had ended"),
        ("left out", "release", "detector, job 4: released behind job 2, expected jobs in"),
        ("not released", "response", "detector, job 4: response at least "),
        ("seldom", "release", "control, job 7: released 15ms after job 6, command has at most 10"),
        ("jitter", "release jitter", "camera, job 2: released 1.000001ms after its arrival"),
        ("backwards", "release", "control, job 5: started before job 4, expected jobs in"),
    ],
)
def test_a_fault_is_named(fault: str, rule: str, text: str) -> None:
    found = gs.kept(answer_of(), change(fault).log())
    texts = [str(f) for f in (*found.broken, *found.exceeded) if f.rule == rule]
    assert any(one.startswith(text) for one in texts), found


def test_given_phases_are_compared() -> None:
    """With control 5 ms behind the camera the bound is that of these offsets alone."""
    answer = answer_of(phases="given", offset="5ms")
    assert gs.kept(answer, run_of(phase=5 * MS).log()).kept
    found = gs.kept(answer, run_of(phase=3 * MS).log())
    assert found.verdict == "condition broken" and faults(found) == {"phase", "path"}
    assert "control, job 0: released -2ms from its offset to camera, command has" in str(found)
    assert gs.kept(answer, run_of(phase=3 * MS).log(), tolerance=2 * MS).kept
    assert gs.kept(answer_of(), run_of(phase=3 * MS).log()).kept


def test_numbers_that_begin_late_and_far_apart() -> None:
    """A ring has the last jobs; their numbers are kept, and are no sizes of arrays."""
    made, base = run_of(), 2 * 10**12
    shift = {0: base, 1: base, 2: base // 2, 3: 2 * base}
    made.rows = [(*row[:3], row[3] + shift[row[2]], row[4]) for row in made.rows]
    found = gs.kept(answer_of(), made.log(lost=5))
    assert found.kept and found.paths[1].jobs[0].tolist() == [base + 1, base + 1, 2 * base + 3]
    made.add(200 * MS, "release", 0, 10**18, 200 * MS)
    with pytest.raises(ValueError, match=r"log.job: got jobs \d+ and 1000000000000000000 of cam"):
        gs.kept(answer_of(), made.log())


def test_the_command_has_paths(tmp_path: Path) -> None:
    answer_of().save(tmp_path / "answer.npz")
    run_of().log().save(tmp_path / "run.gslog")
    arguments = (str(tmp_path / "answer.npz"), str(tmp_path / "run.gslog"))
    done = command(tmp_path, "kept", *arguments)
    assert done.returncode == 0
    last = done.stdout.splitlines()[-1]
    assert last.split() == ["command", "latency", "6", "12", "ms", "17", "ms"]
    done = command(tmp_path, "kept", *arguments, "--json")
    assert json.loads(done.stdout)["paths"][0] == {
        "path": "objects", "kind": "latency", "times": 6, "largest": 4 * MS, "bound": 5 * MS,
    }  # fmt: skip
