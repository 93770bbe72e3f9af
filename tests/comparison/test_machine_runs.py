"""Deployments that the machine plays: cores, orders of units, plans, and the logs of late jobs."""

from __future__ import annotations

import pytest

import gpusched as gs
from gpusched.comparison.derived_models import DerivedModels
from gpusched.comparison.machine_runs import machine_choices
from gpusched.simulate import MachineRun

ONE = gs.GPU(sms=1, threads_per_sm=1024, blocks_per_sm=8)


def kernel(time: int, blocks: int = 1) -> gs.Kernel:
    return gs.Kernel(time, blocks=blocks, threads=1024)


def test_a_late_job_on_chosen_cores_is_no_refutation() -> None:
    """Threads and a CPU-only task: on two CPUs one choice of cores is as good as another."""
    w = gs.Workload(
        [
            gs.Task("a", 20, [gs.CPU(1), kernel(4)], deadline=7),
            gs.Task("b", 100, [kernel(30)]),
            gs.Task("c", 40, [gs.CPU(8)]),
        ]
    )
    run = gs.observe(w, gs.Platform(ONE, cpus=2, slowdown=None), "streams")
    assert isinstance(run.detail, MachineRun)
    assert run.late.any()
    assert [short for short, _ in run.limits] == ["chosen cores"]
    assert run.schedulable is None
    stated = w.replace(tasks=[t.replace(core=int(t.name == "c")) for t in w])
    given = gs.observe(stated, gs.Platform(ONE, cpus=2, slowdown=None), "streams")
    assert given.limits == ()
    assert given.schedulable is False


@pytest.mark.parametrize("way", ["gcaps", "mpcp"])
def test_cores_of_tests_with_cores_are_chosen_in_any_case(way: str) -> None:
    """Even if each task has a core of its own."""
    w = gs.Workload([gs.Task(n, 60, [gs.CPU(1), kernel(20)]) for n in "ab"])
    models = DerivedModels(w, gs.Platform(ONE, cpus=2, slowdown=None))
    assert [short for short, _ in machine_choices(models, way, {}, None, 100).limits] == [
        "chosen cores"
    ]
    assert machine_choices(models, "streams", {}, None, 100).limits == ()


def test_the_order_of_units_is_in_the_ticks_of_the_run() -> None:
    """Three waves in a tick: the answer and the run have finer ticks, and so have the tails."""
    tasks = [
        gs.Task("a", 60, [gs.CPU(2), kernel(7, blocks=3), gs.CPU(5)]),
        gs.Task("b", 90, [gs.CPU(3), kernel(8, blocks=3), gs.CPU(1)]),
    ]
    w, p = gs.Workload(tasks), gs.Platform(ONE, cpus=1, slowdown=None)
    answer = gs.analyze(w, p, "edf_serial")
    assert answer.accepted
    assert answer.method == "holistic"
    models = DerivedModels(w, p).refined("edf_serial", test=False)
    choices = machine_choices(models, "edf_serial", {}, answer, 100)
    behind = gs.analysis.HOLISTIC_TERMS.index("behind")
    terms = answer.detail.terms[:, behind]
    assert choices.arguments["tails"] == (terms * models.grain // answer.grain).tolist()
    assert all(5 * models.grain <= t for t in choices.arguments["tails"][:1])
    assert all(t <= 60 * models.grain for t in choices.arguments["tails"])
    run = gs.observe(w, p, "edf_serial")
    assert (run.worst <= answer.response).all()


def test_short_runs_with_late_jobs_say_what_they_waited_for() -> None:
    w = gs.Workload(
        [
            gs.Task("a", 20, [gs.CPU(1), kernel(4)], deadline=7, core=0),
            gs.Task("b", 100, [kernel(30)], core=0),
            gs.Task("c", 40, [gs.CPU(8)], core=0),
        ]
    )
    p = gs.Platform(ONE, cpus=1, slowdown=None)
    row = gs.compare(w, p, ways=["streams"])[0]
    assert row.run is not None
    assert row.run.detail.operations is not None
    assert "waited" in row.run.why("a")
    long = gs.observe(w, p, "streams", until=10**6, timeline=False)
    assert long.late.any()
    assert long.detail.operations is None
