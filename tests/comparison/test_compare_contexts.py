"""Workloads whose tasks have a GPU context each: time slices and GCAPS in comparisons."""

from __future__ import annotations

from fractions import Fraction

import pytest

import gpusched as gs

WORKLOAD = gs.Workload([
    gs.Task("control", 1000, [gs.CPU(50), gs.Kernel(40, blocks=8, threads=256), gs.CPU(10)]),
    gs.Task("camera", 2000, [gs.CPU(100), gs.Kernel(300, blocks=64, threads=512), gs.CPU(20)]),
    gs.Task("map", 9000, [gs.CPU(400), gs.Kernel(1500, blocks=900, threads=1024)]),
])  # fmt: skip
PLATFORM = gs.Platform("AGX Orin", cpus=3, timeslice=100, context_switch=5, update_cost=4)


def pinned(w: gs.Workload = WORKLOAD) -> gs.Workload:
    return w.replace(tasks=[task.replace(core=i) for i, task in enumerate(w)])


def whole_kernels(w: gs.Workload) -> gs.Workload:
    """Kernels with their stated times, which no waves of blocks round up."""
    return w.replace(
        tasks=[
            task.replace(
                segments=[
                    gs.Kernel(part.time) if isinstance(part, gs.Kernel) else part
                    for part in task.segments
                ]
            )
            for task in w
        ]
    )


def test_answers_are_those_of_the_tests() -> None:
    """Costs come from the platform; a task's process is its own."""
    hosts = pinned(whole_kernels(WORKLOAD)).hosts(PLATFORM, sms="all").tasks
    for mode in ("suspend", "busy"):
        gcaps = gs.analyze(pinned(), PLATFORM, "gcaps", mode=mode)
        costs = {"update_cost": 4, "context_switch": 5, "mode": mode}
        expected = gs.analysis.gcaps(hosts, 3, **costs)  # type: ignore[arg-type]
        assert gcaps.accepted and gcaps.response.tolist() == expected.response.tolist()
        assert gcaps.response[0] == 50 + 40 + 10 + 4 * 4 + 5
    sliced = gs.analyze(pinned(), PLATFORM, "time_slices")
    found = gs.analysis.time_slices(hosts, 3, timeslice=100, context_switch=5)
    assert sliced.accepted and sliced.response.tolist() == found.response.tolist()
    assert any("a process of its own" in text for text in sliced.assumptions)
    stalled = gs.analyze(pinned(), PLATFORM, "gcaps", mode="busy", stall=True)
    assert (stalled.response >= gcaps.response).all()


def test_cores_are_chosen_where_there_are_none() -> None:
    answer = gs.analyze(WORKLOAD, PLATFORM.replace(cpus=2), "gcaps")
    assert answer.accepted and sorted(set(answer.detail.hosts.core.tolist())) == [0, 1]
    assert any("worst fit" in text for text in answer.assumptions)


def test_simulations_stay_within_the_bounds() -> None:
    for method, options in (("gcaps", {"mode": "suspend"}), ("gcaps", {"mode": "busy"}),
                            ("time_slices", {})):  # fmt: skip
        answer = gs.analyze(pinned(), PLATFORM, method, **options)
        run = gs.observe(pinned(), PLATFORM, method, until=90_000, **options)
        assert (run.worst <= answer.response).all() and run.worst.min() > 0
        assert not run.late.any()
    run = gs.observe(pinned(), PLATFORM, "gcaps", stall=True)
    assert run.worst[1] > gs.observe(pinned(), PLATFORM.replace(context_switch=0), "gcaps").worst[1]
    of_test = {"variant": "paper", "fixed_point": "one_pass"}
    runs = [gs.observe(pinned(), PLATFORM, "time_slices", **given) for given in ({}, of_test)]
    assert runs[0].response.tolist() == runs[1].response.tolist()


@pytest.mark.parametrize("method", ["time_slices", "gcaps"])
def test_processes_pay_their_switches_once(method: str) -> None:
    """A task is a process of its own, named or not: the tests count the switches themselves."""
    named = pinned().replace(tasks=[task.replace(process=task.name) for task in pinned()])
    plain, same = (gs.analyze(w, PLATFORM, method) for w in (pinned(), named))
    assert plain.response.tolist() == same.response.tolist()
    runs = [gs.observe(w, PLATFORM, method, until=90_000) for w in (pinned(), named)]
    assert runs[0].worst.tolist() == runs[1].worst.tolist()
    assert named.hosts(PLATFORM, sms="all").tasks.kernel[0, 0] == 45
    assert (
        named.hosts(PLATFORM, sms="all", switches=False).tasks
        == pinned().hosts(PLATFORM, sms="all").tasks
    )


@pytest.mark.parametrize("mode", ["suspend", "busy"])
@pytest.mark.parametrize("named", [False, True])
def test_a_preemption_costs_two_switches(mode: str, named: bool) -> None:
    """The switch to B and the one back take all of B's period: A gets nothing."""
    platform = gs.Platform(gs.GPU(2, 1024, 8), cpus=2, context_switch=10)
    of = {"a": "a", "b": "b"} if named else {"a": None, "b": None}
    shape = {"blocks": 1, "threads": 256}
    a = gs.Task("A", 100, [gs.CPU(1), gs.Kernel(5, **shape)], offset=6, process=of["a"])
    b = gs.Task("B", 20, [gs.CPU(1), gs.Kernel(1, **shape)], process=of["b"])
    w = gs.Workload([a, b])
    answer = gs.analyze(w, platform, "gcaps", mode=mode)
    assert not answer.accepted and answer.bounded.tolist() == [False, True]
    assert answer.response[1] == 1 + 1 + 10
    run = gs.observe(w, platform, "gcaps", mode=mode, until=1000)
    assert run.late_count[0] == 10 and run.worst.tolist()[1] == 12
    free = gs.analyze(w, platform.replace(context_switch=0), "gcaps", mode=mode)
    assert free.accepted and free.response.tolist() == [7 + (mode == "busy"), 2]


@pytest.mark.parametrize("method", ["time_slices", "gcaps"])
def test_margins_are_exact(method: str) -> None:
    found = gs.margin(pinned(), PLATFORM, method, "kernels")
    assert found.exact and found.factor is not None and found.factor > 1
    grown = pinned().scaled(kernels=found.factor)
    assert gs.analyze(grown, PLATFORM, method).accepted
    more = pinned().scaled(kernels=found.factor + Fraction(1, 1000))
    assert not gs.analyze(more, PLATFORM, method).accepted
    unswitched = PLATFORM.replace(context_switch=0)  # the printed gcaps has no switches
    assert not gs.margin(pinned(), unswitched, method, variant="paper").exact


def test_what_the_tests_do_not_cover_is_refused() -> None:
    tasks = [task.replace(process=name) for task, name in zip(WORKLOAD, "ppq", strict=True)]
    shared = WORKLOAD.replace(tasks=tasks)
    for method in ("time_slices", "gcaps"):
        with pytest.raises(ValueError, match="control: got a process that another task is in"):
            gs.analyze(shared, PLATFORM, method)
    copying = WORKLOAD.replace(tasks=[
        task.replace(segments=[gs.CopyIn(10), *task.segments]) for task in WORKLOAD
    ])  # fmt: skip
    rows = gs.compare(copying, PLATFORM, ways=["time_slices", "gcaps"])
    assert [row.label for row in rows] == ["time_slices", "gcaps (suspend)", "gcaps (busy)"]
    for row in rows:  # each copy of 10, next to no kernel, waits for two others
        assert row.answer is not None and row.answer.accepted
        assert row.answer.detail.hosts.kernel[:, 0].tolist() == [[30]] * 3
        assert any("each copy waits for one copy" in text for text in row.answer.derivation)
