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


def in_processes(names: str) -> gs.Workload:
    return WORKLOAD.replace(tasks=[
        task.replace(process=name, period=4 * task.period, deadline=None)
        for task, name in zip(pinned(), names, strict=True)
    ])  # fmt: skip


@pytest.mark.parametrize("names", ["ppq", "pqp", "pqq", "ppp"])
def test_tasks_of_a_process_share_its_slices(names: str) -> None:
    answer = gs.analyze(in_processes(names), PLATFORM, "time_slices")
    assert answer.accepted and answer.method == "holistic"
    assert any("share the SMs in its slices" in text for text in answer.derivation)
    parts = [sorted(set(names)).index(name) for name in names]
    assert answer.detail.tasks.part.tolist() == parts and answer.detail.sharing == "in_turns"
    for ring in ("fifo", "cyclic"):
        run = gs.observe(in_processes(names), PLATFORM.replace(ring=ring), "time_slices")
        assert (run.worst <= answer.response).all() and run.worst.min() > 0
    [row] = gs.compare(in_processes(names), PLATFORM, ways=["time_slices"])
    assert row.answer is not None and row.answer.response.tolist() == answer.response.tolist()
    slowed = gs.analyze(in_processes(names), PLATFORM.replace(slowdown=1.5), "time_slices")
    assert (slowed.response > answer.response).all()
    assert any("kernels take 1.5 times" in text for text in slowed.derivation)


def test_kernels_of_a_process_do_not_exclude_each_other() -> None:
    """Two kernels that fit beside each other and need more than a GPU in turns."""
    kernel = gs.Kernel(60, blocks=4, threads=256)
    tasks = [gs.Task(name, 100, [kernel], process="p") for name in "ab"]
    w = gs.Workload([*tasks, gs.Task("c", 1000, [kernel], process="q")])
    row = gs.analyze(w, PLATFORM.replace(timeslice=10, context_switch=0), "time_slices")
    assert not row.rejected and not row.accepted
    alone = gs.analyze(w.replace(tasks=tasks), PLATFORM, "time_slices")
    assert alone.accepted


def test_what_the_tests_do_not_cover_is_refused() -> None:
    with pytest.raises(ValueError, match="control: got a process that another task is in"):
        gs.analyze(in_processes("ppq"), PLATFORM, "gcaps")
    with pytest.raises(gs.NotApplicable, match="got 3 streams in a process, expected at most 2"):
        gs.analyze(in_processes("ppp"), PLATFORM.replace(channels=2), "time_slices")
    with pytest.raises(gs.NotApplicable, match="kernel"):
        gs.analyze(whole_kernels(in_processes("ppq")), PLATFORM, "time_slices")
    copying = WORKLOAD.replace(tasks=[
        task.replace(segments=[gs.CopyIn(10), *task.segments]) for task in WORKLOAD
    ])  # fmt: skip
    rows = gs.compare(copying, PLATFORM, ways=["time_slices", "gcaps"])
    assert [row.label for row in rows] == ["time_slices", "gcaps (suspend)", "gcaps (busy)"]
    for row in rows:  # each copy of 10, next to no kernel, waits for two others
        assert row.answer is not None and row.answer.accepted
        assert row.answer.detail.hosts.kernel[:, 0].tolist() == [[30]] * 3
        assert any("each copy waits for one copy" in text for text in row.answer.derivation)
