"""Holistic bounds: vectors and counterexamples, the twin, laws, refusals."""

from __future__ import annotations

from dataclasses import replace
from random import Random
from typing import Any

import numpy as np
import pytest
from program_vectors import COUNTEREXAMPLES, DETAILS, PROGRAMS, VECTORS
from reference import program as twin

import gpusched as gs
from gpusched import _core
from gpusched._support.registry import enumeration

pytestmark = pytest.mark.python

RULES = enumeration("analysis.holistic_rule")
PARTS = enumeration("analysis.holistic_parts")
LAUNCHES = enumeration("analysis.holistic_launch")
# Ways of the twin: rule and parts.
WAYS = {
    "one_stream": ("one_stream", ""),
    "streams": ("streams", ""),
    "limits": ("streams", "limits"),
    "own_parts": ("streams", "own"),
    "shared_parts": ("streams", "shared"),
    "channel_parts": ("streams", "own_blocks"),
    "time_slices": ("time_slices", ""),
    "edf_serial": ("edf_serial", ""),
    "gcaps": ("gcaps", ""),
    "processes": ("streams", "in_turns"),
}
SEGMENT = ("kind", "time", "engine", "blocks", "threads", "block_time")


def segment(one: Any, machine: twin.Machine) -> tuple[int, ...]:
    if isinstance(one, twin.Cpu):
        return (0, one.time, 0, 0, 0, 0)
    if isinstance(one, twin.Copy):
        return (1, one.time, one.engine, 0, 0, 0)
    waves = -(-one.blocks // (machine.threads // one.threads * machine.sms))
    return (2, waves * one.block_time, 0, one.blocks, one.threads, one.block_time)


def programs(way: str, machine: twin.Machine, tasks: Any) -> gs.Programs:
    rows: list[list[tuple[int, ...]]] = []
    for task in tasks:
        rows.append([])
        for one in task.segments:
            if not isinstance(one, twin.Sync):
                rows[-1].append((*segment(one, machine), 0))
            elif rows[-1]:
                rows[-1][-1] = (*rows[-1][-1][:-1], 1)
    columns: dict[str, Any] = {
        key: [[row[c] for row in job] for job in rows] for c, key in enumerate((*SEGMENT, "waits"))
    }
    apart = way in ("limits", "own_parts")
    on_gpu = [task.gpu_priority or 0 if way == "gcaps" else task.level for task in tasks]
    return gs.Programs(
        period=[task.period for task in tasks],
        **columns,
        deadline=[task.deadline for task in tasks],
        jitter=[task.jitter for task in tasks],
        core=[task.core for task in tasks],
        priority=[task.priority for task in tasks],
        level=on_gpu,
        channel=[task.channel + (100 * task.part if apart else 0) for task in tasks],
        part=[task.part for task in tasks],
    )


def bounds(
    way: str,
    machine: twin.Machine,
    tasks: Any,
    launches: str = "graph",
    waiting: str = "suspend",
    whole_ticks: bool = True,
    ended: bool = False,
    instances: bool = False,
    assumed: Any = (),
) -> list[int | None]:
    """The bounds of the core, None without one."""
    known = [-1 if one is None else one for one in assumed] or [-1] * len(tasks)
    rule, parts = WAYS[way]
    sms = machine.limits if parts == "limits" else machine.parts
    found, _, terms, _ = _core.holistic(
        **{key: array[None] for key, array in programs(way, machine, tasks)._arrays().items()},
        rule=RULES.index(rule),
        launches=np.array([LAUNCHES.index(task.launches or launches) for task in tasks], np.int64),
        busy=waiting == "spin",
        latency=machine.latency,
        launch_cpu=machine.launch_cpu,
        graph_launch_cpu=machine.graph_launch_cpu,
        kernel_gap=machine.gap,
        wake_latency=machine.wake,
        timeslice=machine.slice,
        context_switch=machine.switch,
        update_cost=machine.update,
        stall=machine.stall,
        sms=machine.sms,
        sm_threads=machine.threads,
        limits=None,
        parts=PARTS.index(parts),
        part_sms=np.array(sms, np.int64) if parts else None,
        instances=instances,
        assumed=np.array(known, np.int64) if assumed else None,
        channel_ended=ended,
        whole_ticks=whole_ticks,
        before_begin=None,
        before=None,
        best=None,
        windows=False,
        stop=None,
    )
    assert (terms >= 0).all()
    return [None if bound < 0 else bound for bound in found[0].tolist()]


def names(cases: Any) -> list[str]:
    return [case.name.replace(" ", "-").replace(",", "") for case in cases]


# Numbers ------------------------------------------------------------------------------------------

KNOWN = [vector for vector in VECTORS if vector.way in WAYS]
CASES = [case for case in (*COUNTEREXAMPLES, *DETAILS) if case.way in WAYS]


@pytest.mark.parametrize("n", range(len(PROGRAMS)), ids=["H1", "H2", "H3"])
@pytest.mark.parametrize("vector", KNOWN, ids=names(KNOWN))
def test_the_bounds_of_a_vector(vector: Any, n: int) -> None:
    system = vector.system(n)
    found = bounds(vector.way, *system, vector.launches, vector.waiting)
    if vector.way != "edf_serial":
        assert found == twin.bounds(vector.way, *system, vector.launches, vector.waiting)
    for bound, most, seen in zip(found, vector.bounds[n], vector.seen[n], strict=True):
        assert bound is not None and seen <= bound and (most is None or bound <= most)


@pytest.mark.parametrize("case", CASES, ids=names(CASES))
def test_the_bounds_of_a_case(case: Any) -> None:
    """Programs for which tempting rules claim too little."""
    options = {key: value for key, value in case.options.items() if key != "origin"}
    found = bounds(case.way, case.machine, case.tasks, **options)
    if case.options == options:
        assert {i: found[i] for i in case.bound} == case.bound
        for i, response in case.seen.items():
            bound = found[i]
            assert bound is None or bound >= response


def random_system(
    random: Random, way: str, *, instances: bool = False
) -> tuple[twin.Machine, list[twin.Task]]:
    sms, threads = random.randint(1 + (WAYS[way][1] != ""), 3), random.choice((2, 3, 4, 8))
    parts: tuple[int, ...] = ()
    limits: tuple[int, ...] = ()
    if way == "limits":
        limits = (random.randint(1, sms), random.randint(1, sms))
    elif way == "processes":
        parts = (sms, sms, sms)
    elif WAYS[way][1]:
        parts = (first := random.randint(1, sms - 1), sms - first)
    costs = dict.fromkeys(("launch_cpu", "graph_launch_cpu", "gap", "wake"), 0)
    if random.random() < 0.5:
        costs = {key: random.choice((0, 1, 2)) for key in costs}
    machine = twin.Machine(
        **costs,
        sms=sms,
        threads=threads,
        latency=random.choice((0, 0, 1, 2)),
        slice=random.randint(1, 5),
        switch=random.choice((0, 1, 2)),
        parts=parts,
        limits=limits,
    )
    n, channels, levels = (
        random.randint(1, 6),
        random.choice((1, 2, 3, 9)),
        random.choice((1, 2, 4)),
    )
    cores, ranks = random.randint(1, 3), random.sample(range(6), 6)
    forms = random.choice(((None,), (None,), ("graph", "sync", "async")))
    tasks = []
    for i in range(n):
        segments: list[Any] = []
        for _ in range(random.randint(1, 5)):
            kind = random.random()
            if kind < 0.35:
                segments.append(twin.Cpu(random.randint(1, 5)))
            elif kind < 0.55:
                engines = (0, 0, 1, 1, 2, 5)[: 4 if instances and way == "one_stream" else 6]
                segments.append(twin.Copy(random.randint(1, 5), random.choice(engines)))
            else:
                shape = (random.randint(1, 5), random.randint(1, threads), random.randint(1, 6))
                segments.append(twin.Kernel(*shape))
            if random.random() < 0.15:
                segments.append(twin.Sync())
        period = random.randint(20, 250)
        tasks.append(
            twin.Task(
                period=period,
                deadline=random.choice((period, random.randint(period // 2, 2 * period))),
                segments=tuple(segments),
                jitter=random.choice((0, 0, random.randint(0, period // 2))),
                core=random.randrange(cores),
                priority=ranks[i],
                level=random.randrange(levels),
                channel=i % channels,
                part=random.randint(0, 1) if parts or limits or instances else 0,
                launches=random.choice(forms),
            )
        )
    if way == "processes":
        tasks = [replace(t, part=random.randrange(3), channel=i) for i, t in enumerate(tasks)]
    if way == "gcaps":
        machine = replace(machine, update=random.choice((0, 0, 1, 2)), stall=random.random() < 0.3)
        if random.random() < 0.5:
            tasks = with_gpu_priorities(tasks, random)
    return machine, tasks


def with_gpu_priorities(tasks: list[twin.Task], random: Random) -> list[twin.Task]:
    """Other priorities on the GPU, in the order of each core."""
    numbers, found = random.sample(range(9), len(tasks)), list(tasks)
    for core in {task.core for task in tasks}:
        here = sorted((t.priority, i) for i, t in enumerate(tasks) if t.core == core)
        ranks = sorted(numbers[i] for _, i in here)
        for (_, i), rank in zip(here, ranks, strict=True):
            found[i] = replace(found[i], gpu_priority=rank)
    return found


@pytest.mark.parametrize("way", WAYS)
def test_the_twin_has_the_same_bounds(way: str) -> None:
    bounded = 0
    for seed in range(150):
        random = Random(f"{way} {seed}")
        machine, tasks = random_system(random, way)
        launches = random.choice(("graph", "sync", "async"))
        waiting = random.choice(("suspend", "spin"))
        waiting = "suspend" if way == "edf_serial" else waiting
        whole, ended = random.random() < 0.5, random.random() < 0.3
        options: Any = (launches, waiting, whole)
        expected = twin.bounds(way, machine, tasks, *options, ended=ended)
        found = bounds(way, machine, tasks, *options, ended)
        bounded += sum(bound is not None for bound in found)
        if waiting == "spin" and WAYS[way][0] == "streams":  # less urgent blocks count in full
            pairs = zip(found, expected, strict=True)
            assert all(f is None or (e is not None and f >= e) for f, e in pairs), seed
        elif way == "edf_serial":  # tasks without kernels have bounds below their deadlines
            assert [bound is None for bound in found] == [bound is None for bound in expected], seed
            for task, bound in zip(tasks, found, strict=True):
                assert bound is None or bound <= task.deadline
        else:
            assert found == expected, seed
    assert bounded > (20 if way == "edf_serial" else 200)


@pytest.mark.parametrize("way", ["one_stream", "own_parts", "time_slices"])
def test_the_twin_has_the_same_bounds_in_instances(way: str) -> None:
    """With CPUs that tasks of both instances share, and responses that are assumed."""
    bounded = more = 0
    for seed in range(150):
        random = Random(f"instances {way} {seed}")
        machine, tasks = random_system(random, way, instances=True)
        launches = random.choice(("graph", "sync", "async"))
        waiting = random.choice(("suspend", "spin"))
        options: Any = (launches, waiting, random.random() < 0.5)
        assumed = [task.deadline if random.random() < 0.2 else None for task in tasks]
        both: dict[str, Any] = {"instances": True, "assumed": assumed}
        expected = twin.bounds(way, machine, tasks, *options, **both)
        found = bounds(way, machine, tasks, *options, **both)
        bounded += sum(bound is not None for bound in found)
        if waiting == "spin" and way == "own_parts":  # less urgent blocks count in full
            pairs = zip(found, expected, strict=True)
            assert all(f is None or (e is not None and f >= e) for f, e in pairs), seed
            continue
        assert found == expected, seed
        # On cores of its own an instance is a GPU by itself; shared ones can only delay.
        apart = [replace(task, core=task.core + 3 * task.part) for task in tasks]
        alone = bounds(way, machine, apart, *options, **both)
        for one, bound in zip(alone, found, strict=True):
            assert bound is None or (one is not None and one <= bound), seed
        more += alone != found
    assert bounded > 200 and more > 30


def test_cpus_are_all_that_instances_share() -> None:
    """By hand: two tasks on one core, in an instance each, with a copy engine each.

    a is the more urgent one: alone it takes 3 + 2 + 4 = 9. b waits for its core, before its copy,
    for the one job of a that can be in its 5 ticks there, and behind its kernel for no second one:
    5 + 6 + 7 + 2 + 3 = 23, a kernel and a copy of a being no part of it. In one instance it waits
    for them, too, and a for what b has begun.
    """
    tasks = gs.Programs(
        period=[40, 60],
        kind=[["cpu", "copy", "kernel"], ["cpu", "copy", "kernel", "cpu"]],
        time=[[3, 2, 4], [5, 6, 7, 2]],
        part=[0, 1],
    )
    for rule, options in (("one_stream", {}), ("time_slices", {"timeslice": 100})):
        found = gs.analysis.holistic(tasks, rule, instances=True, **options)  # type: ignore[arg-type]
        assert found.bound.tolist() == [9, 23] and found.sharing == "instances"
        assert found.parts("task 1") == dict.fromkeys(found.parts(1), 0) | {"own": 20, "cpu": 3}
        one = gs.analysis.holistic(tasks, rule, **options)  # type: ignore[arg-type]
        assert (one.bound > found.bound).all()
    # That the job of a may come late delays b by a second one at the end.
    known = gs.analysis.holistic(tasks, "one_stream", instances=True, assumed=[38, -1])
    assert known.bound.tolist() == [38, 26] and known.jobs.tolist() == [0, 1]


def test_a_spinning_task_waits_in_the_instances_of_its_group() -> None:
    """By hand: h, in instance 0, spins above i, in instance 1; other, on another core, is in 0.

    Of i's 4 + 5 ticks and h's 2 + 3 the window has all, and the section of 6 of the other one
    that h waits for: 20. i itself waits for nothing in its instance.
    """
    tasks = gs.Programs(
        period=[100, 100, 100],
        kind=[["cpu", "kernel"], ["cpu", "kernel"], ["kernel"]],
        time=[[2, 3], [4, 5], [6]],
        core=[0, 0, 1],
        part=[0, 1, 0],
    )
    found = gs.analysis.holistic(tasks, "one_stream", mode="busy", instances=True)
    assert found.bound.tolist() == [11, 20, 9]


# Laws ---------------------------------------------------------------------------------------------


def drawn(seed: int, way: str = "streams") -> tuple[gs.Programs, dict[str, Any]]:
    machine, tasks = random_system(Random(f"law {way} {seed}"), way)
    options: dict[str, Any] = {"latency": machine.latency, "launch_cpu": machine.launch_cpu}
    options |= {"graph_launch_cpu": machine.graph_launch_cpu, "kernel_gap": machine.gap}
    options |= {"wake_latency": machine.wake}
    options["launches"] = [task.launches or "async" for task in tasks]
    if way == "time_slices":
        options |= {"timeslice": machine.slice, "context_switch": machine.switch}
    if way == "streams":
        options |= {"threads": machine.threads, "sms": machine.sms}
    return programs(way, machine, tasks), options


@pytest.mark.parametrize("rule", ["one_stream", "streams", "time_slices"])
def test_terms_add_up_to_the_bound(rule: Any) -> None:
    for seed in range(40):
        tasks, options = drawn(seed, rule)
        answer = gs.analysis.holistic(tasks, rule, **options)
        for i in np.flatnonzero(answer.bounded).tolist():
            window = answer.bound[i] - tasks.jitter[i] + (answer.jobs[i] - 1) * tasks.period[i]
            assert answer.terms[i].sum() == window
            assert answer.parts(i)["own"] >= answer.jobs[i] * tasks.cpu_time[i]
        assert (answer.terms[~answer.bounded] == 0).all()


@pytest.mark.parametrize("rule", ["one_stream", "time_slices"])
def test_longer_times_have_no_shorter_bounds(rule: Any) -> None:
    random = Random(3)
    for seed in range(60):
        tasks, options = drawn(seed, rule)
        time = tasks.time.copy()
        i = random.randrange(tasks.n)
        j = random.randrange(int(tasks.segments[i]))
        time[i, j] += random.randint(1, 4)
        short = gs.analysis.holistic(tasks, rule, **options)
        changed = tasks.replace(time=time)
        long = gs.analysis.holistic(changed, rule, **options)
        both = long.bounded
        assert (short.bounded | ~both).all() and (short.bound <= long.bound)[both].all()


def test_a_task_alone_takes_its_time() -> None:
    """On a GPU that holds all blocks at once, under every rule."""
    tasks = gs.Programs(
        period=[100], kind=[["cpu", "copy", "kernel", "cpu", "kernel"]], time=[[3, 2, 5, 1, 4]],
        blocks=[[0, 0, 2, 0, 1]], threads=[[0, 0, 32, 0, 32]], block_time=[[0, 0, 5, 0, 4]],
    )  # fmt: skip
    answers = [
        gs.analysis.holistic(tasks, "one_stream"),
        gs.analysis.holistic(tasks, "streams", gpu="Xavier"),
        gs.analysis.holistic(tasks, "time_slices", timeslice=2, context_switch=5),
    ]
    assert [answer.response.tolist() for answer in answers] == [[15]] * 3


def test_a_process_of_one_task_is_a_context_of_its_own() -> None:
    """Time slices with shapes say of tasks in parts of their own what they say without."""
    for seed in range(40):
        machine, tasks = random_system(Random(f"processes {seed}"), "processes")
        apart = [replace(task, part=i, level=0) for i, task in enumerate(tasks)]
        made = programs("processes", machine, apart)
        costs: dict[str, Any] = {"timeslice": machine.slice, "context_switch": machine.switch}
        costs |= {"latency": machine.latency, "kernel_gap": machine.gap}
        plain = gs.analysis.holistic(made, "time_slices", **costs)
        shapes = {"threads": machine.threads, "sms": machine.sms}
        found = gs.analysis.holistic(made, "time_slices", **costs, **shapes)
        assert found.bound.tolist() == plain.bound.tolist()
        assert found.sharing == "in_turns" and "in its slices" in found.assumptions[1]
    shared = programs("processes", machine, [replace(task, channel=0) for task in apart])
    if len(apart) > 1:
        with pytest.raises(ValueError, match=r"channel.*expected a channel for each stream"):
            gs.analysis.holistic(shared, "time_slices", **costs, **shapes)


def test_a_stack_has_the_answers_of_its_sets() -> None:
    sets = [drawn(seed, "one_stream")[0] for seed in range(40)]
    alike = [tasks for tasks in sets if tasks.n == sets[0].n]
    stack = gs.Programs.stack(alike)
    answer = gs.analysis.holistic(stack, "one_stream", latency=1)
    assert len(answer) == len(alike) > 3
    for i, tasks in enumerate(alike):
        one = gs.analysis.holistic(tasks, "one_stream", latency=1)
        assert answer[i].response.tolist() == one.response.tolist()
        assert answer[i].accepted == one.accepted


def test_names_and_rows_make_no_difference() -> None:
    for seed in range(30):
        tasks, options = drawn(seed)
        order = Random(seed).sample(range(tasks.n), tasks.n)
        found = gs.analysis.holistic(tasks, "streams", **options)
        options["launches"] = [options["launches"][i] for i in order]
        other = gs.analysis.holistic(tasks.select(order), "streams", **options)
        assert other.bound.tolist() == found.bound[order].tolist()


def test_registers_keep_blocks_out() -> None:
    """An SM holds two blocks of 256 threads by its threads, and one by its registers."""
    columns: dict[str, Any] = {"period": [1000] * 2, "kind": [["kernel"]] * 2, "time": [[10]] * 2}
    columns |= {"blocks": [[8]] * 2, "threads": [[256]] * 2, "block_time": [[10]] * 2}
    few = gs.analysis.holistic(gs.Programs(**columns), "streams", gpu="Xavier")
    many = gs.analysis.holistic(gs.Programs(**columns, regs=[[200]] * 2), "streams", gpu="Xavier")
    assert few.response.tolist() == [10, 10] and (many.response > 10).all()


# Refusals -----------------------------------------------------------------------------------------

TASKS = gs.Programs(period=[50, 60], kind=[["cpu", "kernel"]] * 2, time=[[1, 5], [2, 6]])


DLA = gs.Programs(period=[50, 60], kind=[["copy"], ["kernel"]], time=[[1], [6]], engine=[[2], [0]])


@pytest.mark.parametrize(
    ("tasks", "rule", "options", "said"),
    [
        (TASKS, "streams", {"threads": 8}, r"blocks\[\d\]: got 0, expected a positive number"),
        (TASKS, "fifo", {}, "rule: got 'fifo', expected"),
        (TASKS, "one_stream", {"threads": 8}, "threads: got it with 'one_stream'"),
        (TASKS, "one_stream", {"timeslice": 8}, "timeslice: got it with 'one_stream'"),
        (TASKS, "time_slices", {"timeslice": 0}, "timeslice: got 0, expected a positive time"),
        (TASKS, "one_stream", {"latency": -1}, "latency: got -1, expected a time"),
        (TASKS, "one_stream", {"launches": "now"}, "launches: got 'now'"),
        (TASKS, "one_stream", {"launches": ["graph"]}, "launches: got 1 forms, expected one per"),
        (TASKS, "one_stream", {"launches": ["graph", 1]}, r"launches\[1\]: got 1, expected one of"),
        (TASKS, "one_stream", {"kernel_gap": -1}, "kernel_gap: got -1, expected a time"),
        (TASKS, "one_stream", {"mode": "spin"}, "mode: got 'spin'"),
        (TASKS.replace(priority=[1, 1]), "one_stream", {"mode": "busy"}, "priority.1.: got 1"),
        (TASKS, "streams", {"threads": 8, "queues": "shared"}, "queues: got 'shared' without"),
        (TASKS, "streams", {"threads": 8, "part_sms": [1, 1]}, "part_sms: got 2 SMs in all"),
        (TASKS, "streams", {"threads": 8, "instances": True}, "instances: got it without part_sms"),
        (TASKS, "edf_serial", {"instances": True}, "instances: got 1, expected parts"),
        (TASKS, "one_stream", {"instances": True, "after": [None, 0]}, "instances: got 1, expec"),
        (DLA, "one_stream", {"instances": True}, "engine.*: got 2, expected a copy engine of the"),
        (TASKS, "one_stream", {"assumed": [-2, 5]}, r"assumed\[0\]: got -2, expected -1, or a"),
        (TASKS, "one_stream", {"assumed": [5, 2**60]}, r"assumed\[1\]: got 1152921504606846976"),
        (TASKS, "edf_serial", {"assumed": [5, -1]}, r"assumed\[0\]: got 5, expected -1"),
        (TASKS, "one_stream", {"assumed": [5, -1], "after": [None, 0]}, r"assumed\[0\]: got 5"),
        (TASKS, "one_stream", {"assumed": [[5, -1]] * 3}, "assumed: got shape"),
    ],
)
def test_what_is_refused(tasks: Any, rule: Any, options: Any, said: str) -> None:
    with pytest.raises(ValueError, match=said):
        gs.analysis.holistic(tasks, rule, **options)


def test_missing_arguments() -> None:
    with pytest.raises(TypeError, match="timeslice: got None"):
        gs.analysis.holistic(TASKS, "time_slices")
    with pytest.raises(TypeError, match="threads: got None"):
        gs.analysis.holistic(TASKS, "streams")
    with pytest.raises(TypeError, match="tasks: got KernelTasks"):
        gs.analysis.holistic(gs.KernelTasks([5], wcet=[1]), "one_stream")  # type: ignore[arg-type]


def test_an_overloaded_core_leaves_others_their_bounds() -> None:
    tasks = gs.Programs(
        period=[10, 20, 100], kind=[["cpu"], ["cpu"], ["cpu", "kernel"]],
        time=[[8], [9], [3, 5]], core=[0, 0, 1],
    )  # fmt: skip
    answer = gs.analysis.holistic(tasks, "one_stream")
    assert answer.bound.tolist() == [8, -1, 8] and not answer.accepted
    assert "longer and longer" in answer.why(1)


def test_programs_are_checked() -> None:
    with pytest.raises(ValueError, match="kind: got 'gpu', expected one of cpu, copy, kernel"):
        gs.Programs(period=[5], kind=[["gpu"]], time=[[1]])
    with pytest.raises(ValueError, match=r"time\[0\]"):
        gs.Programs(period=[5], kind=[["cpu"]], time=[[0]])
    with pytest.raises(ValueError, match="kind"):
        gs.Programs(period=[5], kind=[[3]], time=[[1]])
    tasks = gs.Programs(period=[9, 5], kind=[["cpu"], ["cpu", "copy"]], time=[[1], [2, 3]])
    assert tasks.priority.tolist() == [1, 0] and tasks.channel.tolist() == [0, 1]
    assert tasks.select([1]).channel.tolist() == [0]
    assert tasks.to_frame().kind.tolist() == ["cpu", "cpu", "copy"]
    assert (tasks[:1] + tasks[1:]).segments.tolist() == [1, 2]
    assert gs.Programs.stack([tasks, tasks]).is_stack and repr(tasks) == (
        "<Programs: 2 tasks, 3 segments>"
    )
