"""GPU instances whose tasks share CPUs: bounds by hand, the twin, attacks on the machine."""

from __future__ import annotations

import itertools
from dataclasses import replace
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pytest
from reference import program as twin

import gpusched as gs
from gpusched.comparison import whole_programs
from gpusched.comparison.derived_models import DerivedModels
from gpusched.comparison.instances.instance_tests import COUNTED
from gpusched.comparison.machine_models import machine_model
from gpusched.simulate.machine_run import run_machine

pytestmark = [pytest.mark.python, pytest.mark.numbers]

HALVES = gs.Platform("A30", cpus=1, slowdown=None, mig=["2g.12gb", "2g.12gb"])
MACHINE = twin.Machine(sms=28, threads=2048)  # an instance of HALVES


def block(time: int, blocks: int = 28) -> gs.Kernel:
    return gs.Kernel(block_time=time, blocks=blocks, threads=1024)


def by_hand(**facts: Any) -> gs.Workload:
    return gs.Workload(
        [
            gs.Task("a", 40, [gs.CPU(3), block(4)], deadline=20, **facts),
            gs.Task("b", 60, [gs.CPU(5), gs.CopyIn(6), block(7), gs.CPU(2)], deadline=45),
            gs.Task("log", 100, [gs.CPU(10)]),
        ]
    )


def test_bounds_by_hand() -> None:
    """One CPU: a takes 3 + 4. b takes 20, and a may be once in its way, with 3. Both are once in
    the way of the 10 of log, b with 5 + 2."""
    answer = gs.mig(by_hand(), HALVES, "one_stream")
    assert answer.accepted and answer.response.tolist() == [7, 23, 20] and not answer.conditions
    assert sorted(part.tasks for part in answer.parts) == [(0,), (1,)] and answer.core == (0, 0, 0)
    assert answer.bounded.all() and COUNTED in answer.assumptions
    b = answer.parts[int(answer.instance[1])].answer
    assert b.detail.parts("b") == dict.fromkeys(b.detail.parts(0), 0) | {"own": 20, "cpu": 3}
    assert answer.why("log") == "log: response at most 20ns; it has no GPU work."
    # With a release jitter of a, which its bound has in it, there may be two of its jobs.
    late = gs.mig(by_hand(jitter=13), HALVES, "one_stream")
    assert late.accepted and late.response.tolist() == [20, 23, 20]
    tight = gs.mig(by_hand(jitter=14), HALVES, "one_stream")
    assert tight.verdict == "undecided" and not tight.parts and "No GPU instance" in tight.why()


def test_ways_with_a_test_of_their_own_are_no_longer_conditional() -> None:
    for way in ("streams", "priority_streams", "mps"):
        answer = gs.mig(by_hand(), HALVES, way)
        assert answer.accepted and (answer.response >= [7, 23, 20]).all()
        assert answer.response[0] == 7
    given = gs.mig(by_hand(), HALVES, "edf_serial")  # whose dispatcher the holistic test lacks
    assert given.conditional and [one.premise for one in given.conditions] == ["cpu_alone"]
    alone = gs.mig(by_hand(), HALVES.replace(cpus=3))  # nothing is shared
    assert alone.accepted and alone.core == () and alone.response[2] == 10
    # A job of 30 ticks of CPU work keeps no one else's deadline.
    long = by_hand() + gs.Workload([gs.Task("long", 100, [gs.CPU(30)], deadline=19)])
    assert not gs.mig(long, HALVES).accepted


def test_runs_have_the_cores_of_the_answer(tmp_path: Path) -> None:
    two = HALVES.replace(cpus=2)
    answer = gs.analyze(by_hand(), two, "mig", within="one_stream")
    assert answer.accepted and isinstance(answer.detail, gs.MigAllocation)
    run = gs.observe(by_hand(), two, "mig", within="one_stream", until=1000)
    cpu = run.detail.cpu
    assert cpu is not None
    for task, core in zip(cpu.task.tolist(), cpu.cpu.tolist(), strict=True):
        assert core == answer.detail.core[task]
    assert (run.worst <= answer.response).all() and len(set(run.detail.instances)) == 2
    (row,) = gs.compare(by_hand(), two, ways=[gs.ways.Mig(within="one_stream")]).rows
    assert row.schedulable and row.run is not None and not row.run.has_misses
    answer.detail.save(tmp_path / "answer")
    again = gs.MigAllocation.load(tmp_path / "answer")
    assert again == answer.detail and again.core == answer.detail.core


def test_what_is_refused() -> None:
    shares = HALVES.replace(mps={"a": 50})
    with pytest.raises(ValueError, match=r"mps: got {'a': 50}, expected no shares of clients"):
        gs.mig(by_hand(), shares, "mps")
    some = by_hand().replace(tasks=[t.replace(core=0) if t.name == "a" else t for t in by_hand()])
    with pytest.raises(ValueError, match="expected one as of other tasks, or none for all"):
        gs.mig(some, HALVES, "one_stream")
    with pytest.raises(
        ValueError, match="log: got no response bound within its deadline on core 0"
    ):
        gs.mig(
            by_hand() + gs.Workload([gs.Task("c", 9, [gs.CPU(9)], deadline=9)]),
            HALVES,
            "one_stream",
        )


# Random programs ----------------------------------------------------------------------------------


def random_workload(random: Random, most: int = 3) -> gs.Workload:
    tasks = []
    for i in range(random.randint(2, most)):
        period = random.choice((40, 60, 80, 100))
        segments: list[Any] = []
        for _ in range(random.randint(1, 2)):
            segments.append(gs.CPU(random.randint(1, 7)))
            if random.random() < 0.4:
                segments.append(gs.CopyIn(random.randint(1, 5)))
            if i == 0 or random.random() < 0.8:
                segments.append(block(random.randint(1, 6), random.choice((1, 28, 56, 90))))
        if random.random() < 0.4:
            segments.append(gs.CPU(random.randint(1, 6)))
        due = random.randint(25, period)
        tasks.append(gs.Task(f"t{i}", period, segments, deadline=due, priority=i, core=0))
    return gs.Workload(tasks)


def twin_task(task: gs.Task, part: int) -> twin.Task:
    segments: list[Any] = []
    for one in task.segments:
        if isinstance(one, gs.Kernel):
            segments.append(twin.Kernel(one.blocks or 0, one.threads or 0, one.block_time or 0))
        else:
            segments.append((twin.Cpu if isinstance(one, gs.CPU) else twin.Copy)(one.time))
    return twin.Task(
        task.period, task.deadline, tuple(segments), priority=task.priority or 0, part=part
    )


def twin_bounds(w: gs.Workload, home: Any, assumed: Any = ()) -> list[int | None]:
    tasks = [twin_task(task, part) for task, part in zip(w, home, strict=True)]
    return twin.bounds("one_stream", MACHINE, tasks, "async", instances=True, assumed=assumed)


def in_time(w: gs.Workload, found: list[int | None]) -> bool:
    return all(r is not None and r <= task.deadline for r, task in zip(found, w, strict=True))


def twin_accepts(w: gs.Workload, home: Any) -> bool:
    """Whether each instance keeps its deadlines if all other tasks keep theirs."""
    for part in {*home}:
        assumed = [
            None if one == part else task.deadline for one, task in zip(home, w, strict=True)
        ]
        if not in_time(w, twin_bounds(w, home, assumed)):
            return False
    return True


def test_the_twin_finds_the_same() -> None:
    """An assignment where there is one, and bounds no less than those of the joint fixed point."""
    accepted = equal = 0
    for seed in range(40):
        w = random_workload(Random(f"twin {seed}"))
        users = [
            i for i, task in enumerate(w) if not all(isinstance(s, gs.CPU) for s in task.segments)
        ]
        try:
            answer = gs.mig(w, HALVES, "one_stream")
        except ValueError:  # CPU work alone is late
            answer = None
        places = itertools.product(range(2), repeat=len(w))
        assert users
        exists = any(
            twin_accepts(w, [at if i in users else 2 + i for i, at in enumerate(home)])
            for home in places
        )
        if answer is None or answer.rejected:
            assert answer is not None or not exists, seed
            continue
        assert bool(answer.parts) == exists == answer.accepted, seed
        if exists:
            joint = twin_bounds(
                w, [at if at >= 0 else 2 + i for i, at in enumerate(answer.instance)]
            )
            assert in_time(w, joint)
            pairs = list(zip(answer.response.tolist(), joint, strict=True))
            assert all(ours >= least for ours, least in pairs if least is not None), seed
            accepted += len(pairs)
            equal += sum(ours == least for ours, least in pairs)
    assert accepted > 40 and equal > 0.95 * accepted


def exceeded(w: gs.Workload, answer: gs.MigAllocation, random: Random, runs: int) -> bool:
    """Whether a run on the machine has a response above its bound."""
    home = [max(at, 0) for at in answer.instance.tolist()]
    model = machine_model(
        DerivedModels(w, HALVES.replace(mig=answer.profiles)), "mig", until=1500,
        instances=home, within=answer.within, cores=[0] * len(w),
    )  # fmt: skip
    whole = np.asarray(model.columns["item_time"])
    for k in range(runs):
        columns = dict(model.columns)
        columns["offset"] = np.array([random.randrange(task.period) for task in w], np.int64)
        columns["item_least"] = whole if k % 2 else np.maximum(whole // 2, 1)
        run = run_machine(replace(model, columns=columns), log=(), seed=k, progress=False)
        if (run.worst > answer.response.filled(0)).any():
            return True
    return False


@pytest.mark.parametrize("way", ["one_stream", "streams", "mps"])
def test_no_run_exceeds_a_bound(way: str) -> None:
    accepted = 0
    for seed in range(12):
        w = random_workload(Random(f"attack {seed}"), 4)
        answer = gs.mig(w, HALVES, way) if _cpu_in_time(w, way) else None
        if answer is not None and answer.accepted:
            accepted += 1
            assert not exceeded(w, answer, Random(seed), 40), seed
    assert accepted > 3


def _cpu_in_time(w: gs.Workload, way: str) -> bool:
    try:
        return bool(gs.mig(w, HALVES, way).parts)
    except ValueError:
        return False


def test_the_attack_finds_a_wrong_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without the CPU work of tasks of other instances, runs exceed bounds."""

    def without(tasks: Any, beside: Any, arguments: Any, stop: Any) -> Any:
        return gs.analysis.holistic(tasks, **arguments, stop=stop)

    monkeypatch.setattr(whole_programs, "_tested_beside", without)
    found = accepted = 0
    for seed in range(25):
        w = random_workload(Random(f"attack {seed}"), 4)
        if _cpu_in_time(w, "one_stream"):
            answer = gs.mig(w, HALVES, "one_stream")
            accepted += answer.accepted
            found += answer.accepted and exceeded(w, answer, Random(seed), 40)
    assert accepted > 8 and found > 4
