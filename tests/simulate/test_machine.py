"""The machine of the core against its twin: every job, operation and block of random programs.

The rules are those of csrc/simulate/machine/machine.h; the twin was written without the C code.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from functools import partial
from itertools import pairwise, zip_longest
from random import Random
from typing import Any

import pytest
from amounts import cases
from machine_programs import WAYS, MachineProgram, play_machine, random_program
from reference.machine import Run
from reference.machine_ways import play

import gpusched as gs
from gpusched._support.registry import enumeration
from gpusched.simulate.machine_run import MachineLogs

pytestmark = pytest.mark.numbers

JOB = ("task", "job", "arrival", "release", "start", "end")
OPERATION = ("called", "arrived", "head", "joined", "first", "dispatched", "end")
LOGS = ("jobs", "operations", "blocks", "cpus")
SLICE = enumeration("simulate.machine_slice")
DOES = enumeration("simulate.machine_activity")
DRAWS = enumeration("simulate.machine_draw")


def rows(log: Any, *columns: str) -> list[tuple[int, ...]]:
    return list(zip(*(log[key].tolist() for key in columns), strict=True))


def contexts_of(workload: gs.Workload) -> list[Any]:
    """The twin's names of contexts where there are several, in the order of their tasks."""
    users = [i for i, task in enumerate(workload) if task.kernels]
    return list(dict.fromkeys(workload[i].process or i for i in users))


def facts_of_twin(run: Run) -> dict[str, Any]:
    """Facts of both runs: jobs, operations in the order of calls, blocks, CPUs by instant."""
    late = [task for task, _ in run.late_jobs]
    tasks = range(len(run.workload))
    return {
        "jobs": [(j.task, j.number, j.arrival, j.release, j.start, j.end) for j in run.jobs],
        "operations": [
            (
                *(op.task, op.job, op.item),
                *(op.called, op.arrived, op.head, op.joined, op.first, op.dispatched, op.ended),
            )
            for op in run.operations
        ],
        "blocks": sorted(
            (op.task, op.job, op.item, number, sms[0], start, end)
            for op in run.operations
            for number, sms, start, end in op.blocks
        ),
        "cpus": {
            (row[0], t): (row[1], row[2], row[4]) for row in run.cpu for t in range(row[5], row[6])
        },
        "slices": {
            (device, t): (contexts_of(run.workload).index(context), what == "switch to")
            for device, context, what, a, b in run.slices
            for t in range(a, b)
        },
        "worst": run.worst,
        "late": [late.count(task) for task in tasks],
        "released": [sum(job.task == task for job in run.jobs) for task in tasks],
    }


def facts_of(run: MachineLogs) -> dict[str, Any]:
    named = rows(run.operations, "task", "job", "item")
    return {
        "jobs": sorted(rows(run.jobs, *JOB)),
        "operations": rows(run.operations, "task", "job", "item", *OPERATION),
        "blocks": sorted(
            (*named[op], *row)
            for op, *row in rows(run.blocks, "operation", "block", "sm", "start", "end")
            if row[-1] >= 0
        ),
        "cpus": {
            (cpu, t): (task, job, DOES[what])
            for cpu, task, job, what, a, b in rows(
                run.cpu, "cpu", "task", "job", "what", "from", "to"
            )
            for t in range(a, b)
        },
        "slices": {
            (device, t): (context, bool(switch))
            for device, context, switch, a, b in rows(run.slices, *SLICE)
            for t in range(a, b)
        },
        "worst": run.worst.tolist(),
        "late": run.late.tolist(),
        "released": run.released.tolist(),
    }


def play_core(program: MachineProgram, end: int | None, **more: Any) -> MachineLogs:
    return play_machine(
        program.workload,
        program.platform,
        program.way,
        until=program.until,
        end=end,
        log=LOGS,
        **{**program.options, **more},
    )


def play_twin(program: MachineProgram, until: int, **more: Any) -> dict[str, Any]:
    options = {**program.options, **more}
    run = play(program.workload, program.platform, program.way, until=until, **options)
    return facts_of_twin(run)


def difference(core: dict[str, Any], twin: dict[str, Any]) -> str:
    """The first difference between the core and the twin, "" if there is none."""
    for key, expected in twin.items():
        found = core[key]
        if isinstance(expected, dict):
            for at in sorted({*expected, *found}):
                if expected.get(at) != found.get(at):
                    return f"{key} {at}: core {found.get(at)}, twin {expected.get(at)}"
        elif found != expected:
            both = zip_longest(found, expected)
            mine, other = next(pair for pair in both if pair[0] != pair[1])
            return f"{key}: core {mine}, twin {other}"
    return ""


def difference_of(program: MachineProgram) -> str:
    core = facts_of(play_core(program, program.until))
    return difference(core, play_twin(program, program.until))


@pytest.mark.parametrize("way", WAYS)
def test_random_programs(way: str) -> None:
    for seed in range(cases(25)):
        assert difference_of(random_program(way, seed)) == "", (way, seed)


@pytest.mark.parametrize("table", [[], [(0, 0, [])], [(3, 3, [])], [(3, 3, []), (5, 5, [])]])
def test_a_table_without_kernels_holds_none(table: list[Any]) -> None:
    workload = gs.Workload([gs.Task("a", 10, [gs.Kernel(2)])])
    platform = gs.Platform(gs.GPU(1, 1024, 8), slowdown=None)
    options = {"table": table, "repeat": 10}
    assert difference_of(MachineProgram(workload, platform, "pbs", 30, options)) == ""


# Drawn releases and times


def durations(run: MachineLogs, tasks: int) -> dict[tuple[int, ...], int]:
    """Times of CPU work and copies by (task, job, item), of blocks by these and their number."""
    found: Counter[tuple[int, ...]] = Counter()
    for task, job, item, what, a, b in rows(run.cpu, "task", "job", "item", "what", "from", "to"):
        if DOES[what] == "work" and task < tasks:
            found[task, job, item] += b - a
    served = rows(run.slices, *SLICE)
    named = rows(run.operations, "task", "job", "item", "first", "end")
    kernels = set()
    for op, number, start, end in rows(run.blocks, "operation", "block", "start", "end"):
        kernels.add(op)
        frozen = 0
        if served:  # no block is served while another context is, or the device switches
            [mine] = {context for _, context, switch, a, b in served if not switch and a < end <= b}
            frozen = end - start
            for _, context, switch, a, b in served:
                if context == mine and not switch:
                    frozen -= max(0, min(b, end) - max(a, start))
        found[*named[op][:3], number] = end - start - frozen
    for op, (task, job, item, first, end) in enumerate(named):
        if op not in kernels:
            found[task, job, item] = end - first
    return found


def time_of(
    lasting: dict[tuple[int, ...], int], task: int, job: int, item: int, block: int, whole: int
) -> int:
    found = lasting.get((task, job, item, block), lasting.get((task, job, item), whole))
    assert -(-3 * whole // 10) <= found <= whole
    return found


@pytest.mark.parametrize("way", [way for way in WAYS if way != "gpu_server"])
@pytest.mark.parametrize("draw", DRAWS)
def test_drawn_numbers_are_those_that_the_twin_gets(way: str, draw: str) -> None:
    """A run with drawn releases and times is the run with these; the latter are within bounds."""
    for seed in range(cases(4)):
        program = random_program(way, seed)
        rng = Random(seed)
        jittery = [
            task if task.after else task.replace(jitter=rng.randint(0, 9))
            for task in program.workload
        ]
        given = {"times", "releases"}
        options = {key: value for key, value in program.options.items() if key not in given}
        free = program.platform.replace(launch_cpu=0, graph_launch_cpu=0)
        program = replace(program, workload=gs.Workload(jittery), platform=free, options=options)
        run = play_core(program, None, seed=seed, low=0.3, gap=0.4, draw=draw)
        if (run.jobs["end"] < 0).any():  # threads that spin, or frames, wait for each other
            continue
        lasting = durations(run, len(jittery))
        releases: list[list[tuple[int, int]]] = [[] for _ in jittery]
        for task, _, arrival, release, *_ in rows(run.jobs, *JOB):
            if jittery[task].after:
                continue
            assert (
                arrival
                <= release
                <= max(arrival + jittery[task].jitter, *(pair[1] for pair in releases[task]), 0)
            )
            releases[task].append((arrival, release))
        for task, pairs in zip(jittery, releases, strict=True):
            gaps = [b - a for (a, _), (b, _) in pairwise(pairs)]
            assert all(task.period <= gap <= 1.4 * task.period for gap in gaps)

        twin = play_twin(program, run.now, releases=releases, times=partial(time_of, lasting))
        assert difference(facts_of(run), twin) == "", (way, seed)


# Launching

COSTS = ("launch_cpu", "graph_launch_cpu", "kernel_gap", "wake_latency")


def facts_as(program: MachineProgram, launches: Any, **costs: int) -> dict[str, Any]:
    """A program's run with another form of launching in all tasks, and other costs."""
    changed = replace(
        program,
        workload=program.workload.replace(launches=launches),
        platform=program.platform.replace(**costs),
    )
    return facts_of(play_core(changed, changed.until))


@pytest.mark.parametrize("way", [way for way in WAYS if way != "pbs"])
def test_sync_with_one_operation_is_async(way: str) -> None:
    """With CPU work between all operations, whatever a call costs."""
    for seed in range(cases(6)):
        program = random_program(way, seed)
        tasks = []
        for task in program.workload:
            parts = [part.replace(repeat=1) for part in task.segments]
            apart = [one for part in parts for one in (part, gs.CPU(1))]
            tasks.append(task.replace(segments=apart))
        options = {key: value for key, value in program.options.items() if key != "times"}
        program = replace(program, workload=gs.Workload(tasks), options=options)
        assert facts_as(program, "sync") == facts_as(program, "async"), (way, seed)


@pytest.mark.parametrize("way", WAYS)
def test_a_graph_is_its_operations_in_the_stream_where_calls_are_free(way: str) -> None:
    for seed in range(cases(6)):
        program, free = random_program(way, seed), {"launch_cpu": 0, "graph_launch_cpu": 0}
        assert facts_as(program, "graph", **free) == facts_as(program, "async", **free), (way, seed)


def _is_on_gpu(part: gs.Segment) -> bool:
    return isinstance(part, (gs.Kernel, gs.DLA)) or getattr(part, "by", "") == "engine"


@pytest.mark.parametrize("way", ["streams", "one_stream", "priority_streams", "time_slices"])
def test_the_call_of_a_graph_is_cpu_work_before_it(way: str) -> None:
    for seed in range(cases(6)):
        program = random_program(way, seed)
        options = {key: value for key, value in program.options.items() if key != "times"}
        program = replace(program, options=options)
        tasks = []
        for task in program.workload:
            found: list[gs.Segment] = []
            for part in task.segments:
                begins = _is_on_gpu(part) and not (found and _is_on_gpu(found[-1]))
                found += [gs.CPU(3), part] if begins else [part]
            tasks.append(task.replace(segments=found))
        written = replace(program, workload=gs.Workload(tasks))
        calls = facts_as(program, "graph", graph_launch_cpu=3)
        assert calls["jobs"] == facts_as(written, "graph", graph_launch_cpu=0)["jobs"], (way, seed)


ONE_SM = gs.GPU(1, 1024, 8, copy_engines=1)


@pytest.mark.parametrize(
    ("tasks", "before", "after", "responses"),
    [
        (  # the second kernel of b waits behind a's, and is not launched in time
            [(2, [gs.Kernel(5)]), (1, [gs.Kernel(1), gs.Kernel(1)])],
            *({"launches": "async"}, {"launches": "sync"}),
            ([6, 2], [5, 7]),
        ),
        (  # calls let b's kernel pass
            [(0, [gs.Kernel(2), gs.Kernel(5)]), (0, [gs.Kernel(3)])],
            *({}, {"launch_cpu": 1}),
            ([10, 5], [8, 11]),
        ),
        (  # graphs cost as much as a call, and less than several
            [(0, [gs.Kernel(2), gs.Kernel(5)]), (0, [gs.Kernel(3)])],
            {"launches": "graph", "launch_cpu": 1, "graph_launch_cpu": 1},
            {"launch_cpu": 1},
            ([11, 6], [8, 11]),
        ),
        (  # the first one is served later, and its thread runs when the other has done so
            [(0, [gs.Kernel(3), gs.CPU(3)]), (3, [gs.Kernel(5)])],
            *({}, {"kernel_gap": 1}),
            ([6, 8], [7, 6]),
        ),
        (
            [(0, [gs.Kernel(3), gs.CPU(3)]), (3, [gs.Kernel(5)])],
            *({}, {"wake_latency": 1}),
            ([6, 8], [7, 5]),
        ),
    ],
)
def test_a_larger_cost_can_make_a_response_smaller(
    tasks: list[Any], before: dict[str, Any], after: dict[str, Any], responses: tuple[Any, Any]
) -> None:
    """No form of launching dominates, and responses do not rise with costs."""
    for given, expected in zip((before, after), responses, strict=True):
        costs = {key: value for key, value in given.items() if key != "launches"}
        made = [
            gs.Task(name, 40, [_shaped(part) for part in parts], offset=offset, priority=i, core=0)
            for i, (name, (offset, parts)) in enumerate(zip("ab", tasks, strict=True))
        ]
        workload = gs.Workload(made, launches=given.get("launches"))
        platform = gs.Platform(ONE_SM, cpus=1, slowdown=None, **costs)
        program = MachineProgram(workload, platform, "streams", 40)
        core = facts_of(play_core(program, 40))
        assert core["worst"] == expected
        assert difference(core, play_twin(program, 40)) == ""


def _shaped(part: gs.Segment) -> gs.Segment:
    return part if isinstance(part, gs.CPU) else part.replace(blocks=1, threads=1024)


@pytest.mark.parametrize(("launches", "reported"), [("async", 735), ("graph", 83)])
def test_kernels_one_by_one_and_as_a_graph(launches: Any, reported: int) -> None:
    """117 small kernels on an RTX 5090 took 735 us one by one, and 83 us as a graph.

    With the costs that are commonly measured: 6 us of a CPU per call, and less than 1 us from one
    kernel of a graph to the next.
    """
    task = gs.Task("network", "2ms", [gs.Kernel("200ns", blocks=8, threads=256, repeat=117)])
    platform = gs.Platform(
        gs.GPU(170, 1536, 24), launch_cpu="6us", graph_launch_cpu="6us", kernel_gap="500ns"
    )
    run = play_machine(gs.Workload([task], launches=launches), platform, "streams", until=1)
    assert 0.7 * reported <= run.worst[0] / 1000 <= 1.3 * reported


@pytest.mark.parametrize("way", WAYS)
def test_slices_of_a_run_change_nothing(way: str, monkeypatch: pytest.MonkeyPatch) -> None:
    program = random_program(way, 1)
    whole = facts_of(play_core(program, None))
    monkeypatch.setattr("gpusched.simulate.run_results._SLICE", 1)
    assert facts_of(play_core(program, None)) == whole


# Refusals

KERNEL = gs.Kernel(2, blocks=1, threads=32)
ONE = gs.Workload([gs.Task("a", 10, [gs.CopyIn(1), KERNEL]), gs.Task("b", 20, [KERNEL])])
GPU = gs.GPU(2, 1024, 8, copy_engines=1)


def test_jobs_are_released_by_ends() -> None:
    """A fork and a join, one for every second job; arrivals are those of the source."""
    tasks = [
        gs.Task("camera", 10, [gs.CPU(2), KERNEL], jitter=3, core=0),
        gs.Task("left", segments=[gs.CPU(4)], after="camera", core=1),
        gs.Task("right", segments=[KERNEL], after="camera", core=0),
        gs.Task("join", segments=[gs.CPU(1)], after=["left", "right", "camera"], core=2),
        gs.Task("record", segments=[gs.CPU(3)], after="camera", every=2, core=2),
    ]
    w = gs.Workload(tasks)
    run = play_machine(w, gs.Platform(GPU, cpus=3, slowdown=None), "streams", until=100, seed=3)
    end = {(t, j): e for t, j, e in rows(run.jobs, "task", "job", "end")}
    found = {(t, j): (a, r) for t, j, a, r in rows(run.jobs, "task", "job", "arrival", "release")}
    assert sorted(found) == sorted(end) and run.released.tolist() == [10, 10, 10, 10, 5]
    for task, job in found:
        every = w[task].every
        assert found[task, job][0] == 10 * job * every
        if before := [w.index(name) for name in w[task].after]:
            assert found[task, job][1] == max(end[p, job * every] for p in before)
    assert run.worst.tolist()[4] < 10 and run.late.sum() == 0


def test_a_chain_of_threads_on_one_cpu() -> None:
    tasks = [gs.Task("a", 20, [gs.CPU(1)])]
    tasks += [gs.Task(b, segments=[gs.CPU(1)], after=a) for a, b in pairwise("abcdef")]
    for cpus in (1, 3):
        run = play_machine(gs.Workload(tasks), gs.Platform(GPU, cpus=cpus), "streams", until=20)
        assert run.jobs["end"].tolist() == [1, 2, 3, 4, 5, 6]
        assert run.worst.tolist() == [1] * 6


def test_frames_wait_for_tasks_that_others_release() -> None:
    """The frame of 'c' starts at 0, and has its kernel once 'a' has ended."""
    w = gs.Workload([ONE["a"], gs.Task("c", segments=[KERNEL], after="a")])
    table = [(0, 0, [("a", 0, 0)]), (0, 0, [("c", 0, 0)])]
    run = play_machine(w, gs.Platform(GPU), "pbs", until=1, table=table)
    ends = dict(zip(run.jobs["task"].tolist(), run.jobs["end"].tolist(), strict=True))
    assert run.jobs["release"].tolist()[1] == ends[0]
    assert ends[1] == ends[0] + KERNEL.time


@pytest.mark.parametrize(
    ("way", "options", "message"),
    [
        ("fifo", {}, "way: got 'fifo', expected one of one_stream, streams"),
        ("streams", {"mode": "wait"}, "mode: got 'wait', expected one of suspend, busy, spin"),
        ("streams", {"cores": [0]}, "cores: got 1 numbers, expected one per task"),
        ("streams", {"cores": [0, 2]}, r"cores\[1\]: got 2, expected 0 to 0"),
        ("streams", {"releases": [[]]}, "releases: got 1 rows, expected one per task"),
        ("streams", {"releases": [[5, 3], []]}, "release"),
        ("streams", {"times": [[[1]], []]}, r"times\[0\]\[0\]: got 1 times, expected one per"),
        ("streams", {"low": 2}, "low: got 2, expected shares"),
        ("streams", {"log": "all"}, "log: got 'all', expected one of jobs, operations"),
        ("stgm", {"sms": [[0]]}, "sms: got 1 sets, expected one per task"),
        ("stgm", {"sms": [[0, 2], [1]]}, r"set\[1\]: got 2, expected an SM of the device"),
        ("mig", {}, "mig: got None, expected profiles"),
        ("green_contexts", {}, "green_contexts: got None, expected the SMs"),
        ("streams", {"last": "c"}, "c"),
    ],
)
def test_refusals(way: str, options: dict[str, Any], message: str) -> None:
    with pytest.raises((ValueError, KeyError), match=message):
        play_machine(ONE, gs.Platform(GPU, slowdown=None), way, until=50, **options)


def test_copies_need_an_engine() -> None:
    with pytest.raises(ValueError, match="a: got copies on engines"):
        play_machine(ONE, gs.Platform(GPU, slowdown=None, copy_engines=0), "streams", until=50)
    with pytest.raises(ValueError, match="expected an engine for copies in"):
        gs.Platform(GPU, slowdown=None, copy_engines=("out",))


def test_budgets_end_runs() -> None:
    run = play_machine(
        ONE, gs.Platform(GPU, slowdown=None), "streams", until=10**6, budget=gs.Budget(states=100)
    )
    assert run.reason == "states" and 10 < run.released.sum() <= 101
