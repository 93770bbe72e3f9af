"""``gs.kept``: runs that keep an answer, and each fault by its name, with the job and the value."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pytest
from commands import run
from hypothesis import given
from hypothesis import strategies as st
from runs import FRAMES, Events, Section, locked, played

import gpusched as gs

MS = 10**6


def kernel(time: str) -> gs.Kernel:
    return gs.Kernel(time, blocks=8, threads=256)


WORKLOAD = gs.Workload(
    [
        gs.Task("a", "10ms", [gs.CPU("1ms"), kernel("2ms"), gs.CPU("500us")]),
        gs.Task("b", "20ms", [gs.CPU("1ms"), kernel("3ms"), kernel("1ms")]),
    ],
    tick="us",
)
PLATFORM = gs.Platform("Xavier", cpus=2)


def answer_of(way: str, workload: gs.Workload = WORKLOAD) -> gs.WorkloadAnswer:
    return gs.analyze(workload, PLATFORM, way)


LOCKED = answer_of("mpcp")


def run_of(hold: int = 2 * MS) -> Events:
    """Two jobs of each task under the lock, with room in all bounds."""
    made = Events(("a", "b"))
    for task, job, at in ((0, 0, 0), (1, 0, 0), (0, 1, 10 * MS), (0, 2, 20 * MS), (1, 1, 20 * MS)):
        begin = at + MS + task * 2 * MS + 10
        takes = 2 * MS if task == 0 else 3 * MS
        made.add(at, "release", task, job, at)
        made.add(at + MS, "request", task, job, 1 - task)
        made.add(begin, "acquire", task, job, begin)
        end = begin + (hold if task == 0 else takes)
        made.add(end, "release_lock", task, job)
        made.add(end, "cpu", task, job, MS)
        made.add(end + MS // 10, "complete", task, job)
    return made


def faults(found: gs.Kept) -> set[str]:
    return {finding.rule for finding in (*found.broken, *found.exceeded)}


def test_a_run_within_all_bounds() -> None:
    found = gs.kept(LOCKED, run_of().log())
    assert found.kept and found.verdict == "kept", found
    assert found.jobs.tolist() == [3, 2]
    assert found.response.tolist() == [3 * MS + 10 + MS // 10, 6 * MS + 10 + MS // 10]
    assert found.bound.tolist() == [int(r) * 1000 for r in LOCKED.response]
    assert found.why() == "5 jobs kept their bounds, and no condition was broken."
    said = gs.kept(LOCKED, run_of().log(), tolerance=10 * MS).why()
    assert said.endswith("and no condition was broken, with a tolerance of 10ms.")
    assert found.why("a").startswith("a: response at most 3.10001ms in 3 jobs, for a bound of ")
    table = found.to_frame()
    assert list(table.columns) == ["task", "jobs", "response", "bound", "slack", "findings"]
    assert table["slack"].tolist() == (found.bound - found.response).tolist()
    assert repr(found) == "<Kept: kept (mpcp (suspend); 5 jobs of 2 tasks)>"


def test_conditions_that_no_log_shows_are_named() -> None:
    shared = gs.Platform("Xavier", cpus=1)  # a way that takes CPU work as undelayed
    answer = gs.analyze(WORKLOAD, shared, "edf_parallel")
    assert answer.verdict == "conditional"
    made = Events(("a", "b"))
    for task, end in ((0, 9 * MS), (1, 5 * MS)):
        made.add(0, "release", task, 0, 0)
        made.add(end, "complete", task, 0)
    found = gs.kept(answer, made.log())
    assert found.verdict == "bound exceeded"
    assert found.conditions == tuple(condition.text for condition in answer.conditions)
    assert all(text in found.why() for text in found.conditions)
    assert gs.kept(LOCKED, run_of().log()).conditions == ()


def test_a_bound_that_is_exceeded_by_a_nanosecond() -> None:
    bound = int(LOCKED.response[0]) * 1000
    for late in (0, 1):
        made = Events(("a",))
        made.add(0, "release", 0, 0, 0)
        made.add(bound + late, "complete", 0, 0)
        found = [f for f in gs.kept(LOCKED, made.log()).exceeded if f.rule == "response"]
        assert len(found) == late
        if late:
            assert (found[0].task, found[0].job, found[0].value) == ("a", 0, bound + 1)
            assert found[0].limit == bound
        assert not gs.kept(LOCKED, made.log(), tolerance=1).exceeded


def change(change: str) -> Events:
    """A run with one fault."""
    made = run_of()
    rows = made.rows
    if change == "segment":
        return run_of(hold=3 * 2 * MS)
    at = {row[1:4]: k for k, row in enumerate(rows)}
    if change == "release":
        rows[at["release", 0, 1]] = (9 * MS, "release", 0, 1, 9 * MS)
    elif change == "release jitter":
        rows[at["release", 0, 1]] = (10 * MS + 200_000, "release", 0, 1, 10 * MS)
    elif change == "CPU time":
        made.add(5 * MS, "cpu", 0, 0, MS)
    elif change == "two holders":
        k = at["acquire", 1, 0]
        rows[k] = (2 * MS, "acquire", 1, 0, 2 * MS)
    elif change == "urgency":
        for k, row in enumerate(rows):
            if row[1] == "request":
                rows[k] = (*row[:4], row[2])
    elif change == "holder died":
        made.add(MS + 20, "owner_died", 0, 0)
    elif change == "skipped":
        made.add(25 * MS, "skip", 1, 1)
    elif change == "segments":
        made.add(24 * MS, "request", 0, 2, 1)
        made.add(29 * MS, "acquire", 0, 2, 29 * MS)
        made.add(29 * MS + 1, "release_lock", 0, 2)
    elif change == "not completed":
        rows.pop(at["complete", 0, 1])
    elif change == "no job":
        rows[:] = [row for row in rows if row[2] == 0]
    elif change == "response":
        made.add(19 * MS, "request", 1, 2, 0)
        made.add(40 * MS, "release", 1, 2, 40 * MS)
        made.add(60 * MS, "request", 0, 3, 1)
    return made


@pytest.mark.parametrize(
    ("fault", "text"),
    [
        ("segment", "a, job 0: GPU segment 0 took 6ms, the answer counts 2ms (3 times)"),
        ("release", "a, job 1: released 9ms after job 0, the workload says at least 10ms"),
        ("release jitter", "a, job 1: released 200us after its arrival, the workload says at most"),
        ("CPU time", "a, job 0: 2ms of CPU time, the workload says 1.5ms"),
        ("two holders", "b, job 0: got the GPU 1.00001ms before a, job 0, gave it back, expected"),
        ("urgency", "b: urgency 1, expected less than that of a, 0, which has the higher priority"),
        ("holder died", "a, job 0: a holder of the lock died before it, expected that none does"),
        ("skipped", "b, job 1: was not run, or gave up waiting, expected that every job runs"),
        ("segments", "a, job 2: 2 GPU segments, the workload has 1"),
        ("not completed", "a, job 1: was released and not completed, unlike later ones, expected"),
        ("no job", "b: no job with its release and completion in the log, expected some"),
        ("response", "b, job 2: response at least 20ms, the bound is "),
    ],
)
def test_a_fault_is_named(fault: str, text: str) -> None:
    found = gs.kept(LOCKED, change(fault).log())
    assert fault in faults(found)
    assert any(str(finding).startswith(text) for finding in (*found.broken, *found.exceeded)), found
    assert found.verdict == ("bound exceeded" if fault == "response" else "condition broken")


SECTIONS = st.lists(
    st.tuples(st.integers(0, 2), st.integers(0, 400), st.integers(1, 60)), min_size=2, max_size=12
)


@given(SECTIONS, st.booleans(), st.integers(0, 11))
def test_the_order_of_a_lock(
    drawn: list[tuple[int, int, int]], by_priority: bool, wrong: int
) -> None:
    """Right orders are right; where another one is served first, someone was overtaken."""
    names = ("a", "b", "c")
    times = sorted({3 * asks for _, asks, _ in drawn})
    counts = [0, 0, 0]
    sections = []
    for (task, _, takes), asks in zip(drawn, times, strict=False):
        sections.append(Section(task, counts[task], asks, takes))
        counts[task] += 1
    tasks = [
        gs.Task(name, f"{10 * (i + 1)}ms", [gs.CPU("1ms"), kernel("1ms")])
        for i, name in enumerate(names)
    ]
    answer = answer_of("mpcp" if by_priority else "fmlp_plus", gs.Workload(tasks, tick="us"))
    urgency = [2, 1, 0]
    right = gs.kept(answer, locked(names, sections, urgency, by_priority).log())
    assert not {"order", "two holders", "urgency"} & faults(right), right
    one = locked(names, sections, urgency, by_priority, wrong)
    if one.rows != locked(names, sections, urgency, by_priority).rows:
        assert "order" in faults(gs.kept(answer, one.log()))


@pytest.mark.parametrize("first", ["a", "b"])
@pytest.mark.parametrize(("since", "right"), [(1, "a"), (2, "ab"), (3, "b")])
def test_the_order_of_instants_less_the_work_behind(since: int, right: str, first: str) -> None:
    """a has 1 ms of work behind its kernel: it is due 39 ms after its release, b after 41 ms."""
    tasks = [
        gs.Task("a", "100ms", [kernel("1ms"), gs.CPU("1ms")], deadline="40ms", core=0),
        gs.Task("b", "100ms", [kernel("1ms")], deadline="41ms", core=1),
        gs.Task("c", "100ms", [kernel("5ms")], core=2),
    ]
    answer = gs.analyze(gs.Workload(tasks, "us"), gs.Platform("Xavier", cpus=3), "edf_serial")
    assert answer.accepted
    base, made = 10 * MS, Events(answer.workload.names)
    for task, time in ((2, 0), (1, 0), (0, since * MS)):
        made.add(base + time, "release", task, 0, base + time)
        made.add(base + time, "request", task, 0)
    order = [2, *((0, 1) if first == "a" else (1, 0))]
    for task, (begin, end) in zip(order, ((0, 5), (5, 6), (6, 7)), strict=True):
        made.add(base + begin * MS, "acquire", task, 0, base + begin * MS)
        made.add(base + end * MS, "release_lock", task, 0)
        made.add(base + end * MS + (task == 0) * MS, "complete", task, 0)
    made.rows.sort(key=lambda row: row[0])
    found = gs.kept(answer, made.log())
    assert faults(found) == (set() if first in right else {"order"}), found


# Schedules

TASKS = gs.KernelTasks([10, 20, 20], wcet=[2, 5, 4], name=["a", "b", "c"])
TABLE = gs.BatchTable.from_dict(
    3, {(0,): 2, (1,): 5, (2,): 4, (0, 1): 6, (0, 2): 5, (1, 2): 7, (0, 1, 2): 9}
)
FOUND = gs.pbs.search(TASKS, TABLE).schedule
assert FOUND is not None
PLAN = FOUND.with_tick("ms")


@given(st.integers(0, 2**32), st.booleans())
def test_a_plan_in_its_order_is_kept(seed: int, early: bool) -> None:
    """Batches that end early, and the next ones that begin early, keep every planned end."""
    log = played(PLAN, 3, random.Random(seed), early=early).log()
    found = gs.kept(PLAN, log)
    assert found.kept, found
    assert found.jobs.sum() == 3 * sum(len(PLAN.members(f)) for f in range(len(PLAN)))


def test_the_answer_of_a_search_has_its_plan() -> None:
    tasks = [
        gs.Task("a", "10ms", [gs.CPU("1ms"), kernel("2ms")]),
        gs.Task("b", "20ms", [kernel("3ms"), gs.CPU("1ms")]),
    ]
    answer = answer_of("pbs", gs.Workload(tasks, tick="us"))
    assert answer.schedule is not None
    plan = answer.schedule.with_tick("us")
    log = played(plan, 2, random.Random(1), early=False).log()
    assert faults(gs.kept(answer, log)) <= {"release"}  # of GPU work, behind its CPU work
    assert gs.kept(plan, log).kept


def plan_fault(fault: str) -> Events:
    made = played(PLAN, 2, random.Random(3), early=False)
    rows = made.rows
    first = next(k for k, row in enumerate(rows) if row[1] == "frame")
    if fault == "batch":  # the first two batches exchange their jobs
        last = max(row[0] for row in rows)
        own = [k for k, row in enumerate(rows) if row[1] == "submit"]
        one, other = own[0], next(k for k in own if rows[k][2] != rows[own[0]][2])
        rows[one], rows[other] = (
            (rows[one][0], *rows[other][1:]),
            (rows[other][0], *rows[one][1:]),
        )
        assert last
    elif fault == "batch length":
        k = next(k for k, row in enumerate(rows) if row[1:4] == ("frame_done", FRAMES, 7))
        rows[k] = (rows[k][0] + 1, *rows[k][1:])
    elif fault == "dispatch":
        for k, row in enumerate(rows[: len(PLAN.members(0)) * 4 + 2]):
            rows[k] = (row[0] + 2 * (row[1] in ("frame", "submit")), *row[1:])
    elif fault == "readiness":
        i, job = next((row[2], row[3]) for row in rows if row[1] == "submit")
        made.add(rows[first][0] + 5, "ready", i, job)
    elif fault == "skipped":
        made.add(rows[first][0], "skip", 0, 0)
    elif fault == "plan":
        k = [k for k, row in enumerate(rows) if row[1] == "frame"][1]
        rows[k] = (*rows[k][:4], rows[k][4] + MS)
    elif fault == "release":
        rows[first] = (rows[first][0] - 5, *rows[first][1:])
    elif fault == "stopped":
        made.add(rows[-1][0], "abort", 0, 3)
    return made


@pytest.mark.parametrize(
    "fault",
    ["batch", "batch length", "dispatch", "readiness", "skipped", "plan", "release", "stopped"],
)
def test_a_fault_of_a_player_is_named(fault: str) -> None:
    assert fault in faults(gs.kept(PLAN, plan_fault(fault).log()))


def test_a_frame_that_did_not_run_is_named() -> None:
    made = played(PLAN, 2, random.Random(3))
    made.rows = [row for row in made.rows if not (row[2] == FRAMES and row[3] == 1)]
    found = gs.kept(PLAN, made.log())
    assert any(f.rule == "batch" and f.job == 1 for f in found.broken)


def test_overwritten_events_are_told() -> None:
    text = str(gs.kept(LOCKED, run_of().log(lost=7)))
    assert text.endswith("7 events of the log were lost.")


@pytest.mark.parametrize(
    ("call", "kind", "text"),
    [
        (lambda: gs.kept(LOCKED, Events(("x",), [(0, "cpu", 0, 0, 0)]).log()), ValueError, "log.n"),
        (lambda: gs.kept(FOUND, run_of().log()), ValueError, "answer: got a schedule without tick"),
        (lambda: gs.kept(LOCKED, 3), TypeError, "log"),
        (lambda: gs.kept(3, run_of().log()), TypeError, "answer"),
        (lambda: gs.kept(LOCKED, run_of().log(), tolerance=-1), ValueError, "tolerance: got -1"),
        (lambda: gs.kept(LOCKED, run_of().log()).why("x"), KeyError, "task"),
    ],
)
def test_refusals(call: Any, kind: type[Exception], text: str) -> None:
    with pytest.raises(kind, match=text):
        call()


def test_the_command(tmp_path: Path) -> None:
    """Exit codes and documents; the log is a file that a program left."""
    PLAN.save(tmp_path / "plan.json")
    played(PLAN, 2, random.Random(1)).log().save(tmp_path / "run.gslog")
    arguments = [str(tmp_path / "plan.json"), str(tmp_path / "run.gslog")]
    done = run(tmp_path, "kept", *arguments, "--trace", str(tmp_path / "run.json"))
    assert done.returncode == 0 and done.stdout.startswith("schedule: kept. "), done
    assert (tmp_path / "run.json").read_text().startswith('{"traceEvents"')
    plan_fault("dispatch").log().save(tmp_path / "run.gslog")
    done = run(tmp_path, "kept", *arguments, "--json")
    assert done.returncode == 3 and '"rule": "dispatch"' in done.stdout
    assert run(tmp_path, "kept", *arguments, "--tolerance", "1us").returncode == 0
    assert run(tmp_path, "kept", *arguments, "--tolerance", "1").returncode in (0, 2, 3)
    assert run(tmp_path, "kept", arguments[0], arguments[0]).returncode == 2


@pytest.mark.parametrize(
    ("cpus", "ends", "found"),
    [
        (1, [(0, 4 * MS)], set()),  # the other task has the core until then
        (2, [(0, 4 * MS)], {"release jitter"}),  # another core
        (1, [(0, 3 * MS)], {"release jitter"}),  # the core is free before
        (1, [(0, MS), (2 * MS, 4 * MS)], {"release jitter"}),  # and in between
        (1, [(0, 2 * MS), (2 * MS, 4 * MS)], set()),
    ],
)
def test_a_thread_that_waits_for_its_core(
    cpus: int, ends: list[tuple[int, int]], found: set[str]
) -> None:
    """It wakes when the jobs of other tasks on the core have ended, which is no release jitter."""
    tasks = [gs.Task(name, "10ms", [gs.CPU("1ms")], core=i % cpus) for i, name in enumerate("ab")]
    workload = gs.Workload([*tasks, gs.Task("c", "10ms", [kernel("1ms")], core=0)], tick="us")
    answer = gs.analyze(workload, gs.Platform("Xavier", cpus=2), "mpcp")
    made = Events(("a", "b", "c"))
    for job, (begin, end) in enumerate(ends):
        made.add(begin, "release", 0, job, begin)
        made.add(end, "complete", 0, job)
    made.add(4 * MS + 1000, "release", 1, 0, 1)
    made.add(5 * MS, "complete", 1, 0)
    rules = {f.rule for f in gs.kept(answer, made.log(), tolerance=1000).broken if f.task == "b"}
    assert rules == found


@pytest.mark.parametrize(
    ("way", "cpus", "facts"),
    [
        ("srm", 1, {}),
        ("srm", 2, {}),
        ("container", 2, {}),
        ("gpu_server", 2, {"server_overhead": 3}),
    ],
)
def test_threads_without_a_core_and_beside_the_server_may_wake_late(
    way: str, cpus: int, facts: dict[str, Any]
) -> None:
    """Other threads may have their CPUs, the server among them, which the log does not have."""
    tasks = [
        gs.Task("a", 100, [gs.CPU(5), gs.Kernel(10)], priority=1),
        gs.Task("b", 150, [gs.CPU(5), gs.Kernel(20), gs.CPU(3)], priority=2),
        gs.Task("c", 170, [gs.CPU(5)], priority=3),
    ]
    workload, platform = gs.Workload(tasks, tick="ns"), gs.Platform("Xavier", cpus=cpus, **facts)
    answer = gs.analyze(workload, platform, way)
    jobs = gs.observe(workload, platform, way, until=5000).detail.jobs
    assert (jobs.start > jobs.release).any()
    made = Events(workload.names)
    columns = (jobs.task, jobs.number, jobs.arrival, jobs.start, jobs.end)
    for i, number, arrival, start, end in zip(*(c.tolist() for c in columns), strict=True):
        made.add(MS + start, "release", i, number, MS + arrival)
        made.add(MS + end, "complete", i, number)
    found = gs.kept(answer, made.log())
    assert found.kept, found


def lost_run(first: int) -> set[str]:
    """The faults of a log with lost events, in which "b" wakes late on the core of "a"."""
    tasks = [gs.Task(name, "10ms", [gs.CPU("4ms")], core=0) for name in "ab"]
    workload = gs.Workload([*tasks, gs.Task("c", "10ms", [kernel("1ms")], core=1)], tick="us")
    answer = gs.analyze(workload, gs.Platform("Xavier", cpus=2), "mpcp")
    made = Events(("a", "b", "c"))
    for job in range(first, 3):
        at = MS + 10 * MS * job
        made.add(at, "release", 0, job, at)
        made.add(at + MS, "complete", 0, job)
    for job, at, due in ((0, MS, MS), (1, 14 * MS, 11 * MS)):
        made.add(at, "release", 1, job, due)
        made.add(at + MS, "complete", 1, job)
    return faults(gs.kept(answer, made.log(lost=1))) - {"no job"}


def test_a_thread_that_waits_for_a_lost_job() -> None:
    """The other task may have had the core until the first event that is left of it."""
    assert lost_run(2) == set()
    assert lost_run(1) == lost_run(0) == {"release jitter"}  # it was free from 12 ms on


def test_segments_behind_a_lost_one() -> None:
    """A job whose first segment is lost may be in its second, longer one."""
    job = [kernel("1ms"), gs.CPU("1ms"), kernel("3ms")]
    workload = gs.Workload([gs.Task("a", "20ms", job)], tick="us")
    answer = gs.analyze(workload, gs.Platform("Xavier", cpus=1), "mpcp")
    for took, found in ((3 * MS, set[str]()), (3 * MS + 1, {"segment"})):
        made = Events(("a",))
        made.add(MS, "acquire", 0, 0, MS)
        made.add(MS + took, "release_lock", 0, 0)
        assert faults(gs.kept(answer, made.log(lost=1))) - {"no job"} == found
        assert "segment" in faults(gs.kept(answer, made.log()))


@pytest.mark.parametrize(("launches", "calls"), [("async", 5), ("sync", 5), ("graph", 2)])
def test_calls_are_cpu_time(launches: Any, calls: int) -> None:
    """The thread's clock counts the calls that the answer counts."""
    job = [gs.CPU("1ms"), *[kernel("1ms")] * 4, gs.Sync(), kernel("1ms"), gs.CPU("1ms")]
    workload = gs.Workload([gs.Task("a", "40ms", job, launches=launches)], tick="us")
    costs = gs.Platform("Xavier", launch_cpu="6us", graph_launch_cpu="6us", wake_latency="9us")
    answer = gs.analyze(workload, costs, "streams")
    for more, found in ((0, set[str]()), (1, {"CPU time"})):
        made = Events(("a",))
        made.add(MS, "release", 0, 0, MS)
        made.add(MS + 7 * MS, "cpu", 0, 0, 2 * MS + calls * 6_000 + more)
        made.add(MS + 7 * MS, "complete", 0, 0)
        assert faults(gs.kept(answer, made.log())) == found


def test_a_job_that_is_shorter_than_its_least_time() -> None:
    """Bounds of paths rest on least times."""
    tasks = [
        gs.Task("a", "20ms", [gs.CPU("5ms")], best="2ms"),
        gs.Task("b", "20ms", [kernel("1ms")]),
    ]
    answer = gs.analyze(gs.Workload(tasks, tick="us"), gs.Platform("Xavier", cpus=2), "mpcp")
    for took, found in ((2 * MS, set[str]()), (2 * MS - 1, {"least time"})):
        made = Events(("a", "b"))
        for task in range(2):
            made.add(MS, "release", task, 0, MS)
            made.add(MS + (took if task == 0 else MS), "complete", task, 0)
        broken = gs.kept(answer, made.log())
        assert faults(broken) == found, broken
        assert gs.kept(answer, made.log(), tolerance=1).kept


@pytest.mark.parametrize("shaken", [False, True])
@pytest.mark.parametrize("late", [0, 1])
def test_responses_count_from_the_start_of_a_period(shaken: bool, late: int) -> None:
    """A player logs the release of the GPU work of a task without handshake; the thread of another
    task logs the arrival. The bound is that of the whole job."""
    tasks = gs.KernelTasks([10], wcet=[2], offset=[3], name=["a"])
    plan = gs.Schedule([4], [6], [1], tasks).with_tick("ms")
    ms, made = 10**6, Events(("a",))
    released = 0 if shaken else 3 * ms
    made.add(released, "release", 0, 0, released)
    if shaken:
        made.add(3 * ms, "ready", 0, 0)
    made.add(4 * ms, "frame", FRAMES, 0, 4 * ms)
    made.add(4 * ms, "submit", 0, 0)
    made.add((6 + late) * ms, "gpu_end", 0, 0)
    made.add((6 + late) * ms, "complete", 0, 0)
    made.add((6 + late) * ms, "frame_done", FRAMES, 0, 6 * ms)
    found = gs.kept(plan, made.log())
    assert found.bound.tolist() == [6 * ms]
    assert found.response.tolist() == [(6 + late) * ms]
    assert ("response" in {finding.rule for finding in found.exceeded}) == bool(late)
    assert found.kept == (not late)
