"""PBS of tasks that need others: the search, its schedules and proofs against enumeration."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from chain_cases import random_chains
from reference import edf, pbs_brute, pbs_refutation
from test_search import random_set
from test_search_stages import MIXES, ask, holes

import gpusched as gs
from gpusched import _core

pytestmark = pytest.mark.numbers

KINDS = ("implicit", "constrained", "offsets", "long")
STAGES = list(MIXES.values())

FORK = gs.KernelTasks([10] * 4, [2, 3, 3, 2], deadline=8, name=["in", "left", "right", "out"])
NEEDS = [[], "in", "in", ["left", "right"]]
GPU = gs.GPU(sms=8, threads_per_sm=1024, blocks_per_sm=32)
TABLE = gs.BatchTable.from_dict(FORK, {(0,): 2, (1,): 3, (2,): 3, (3,): 2, (1, 2): 4})


def random_needs(rng: np.random.Generator, n: int, kind: str) -> tuple[Any, list[int]]:
    """A small set, half of them with any table, and in groups the masks of what tasks need."""
    case = random_set(rng, n, kind)
    period, deadline, offset, completion = holes(rng, case) if rng.random() < 0.5 else case
    needs = [0] * n
    order = rng.permutation(n).tolist()
    while order:
        size = int(rng.integers(1, n + 1))
        group, order = order[:size], order[size:]
        first = group[0]
        most = 2 * period[first] + 2 if kind == "long" else period[first]
        due = sorted(min(deadline[i], most) for i in group)
        for at, i in enumerate(group):
            period[i], offset[i], deadline[i] = period[first], offset[first], due[at]
            needs[i] = sum(1 << p for p in group[:at] if rng.random() < 0.5)
    return (period, deadline, offset, completion), needs


def objects(case: Any, needs: list[int]) -> tuple[gs.KernelGraph, gs.BatchTable]:
    period, deadline, offset, completion = case
    alone = [completion[1 << i] for i in range(len(period))]
    rows = gs.KernelTasks(period, alone, deadline=deadline, offset=offset)
    before = [[p for p in range(len(period)) if mask >> p & 1] for mask in needs]
    return gs.KernelGraph(rows, before), gs.BatchTable(completion)


def agree(case: Any, needs: list[int], idling: bool, skip: int) -> tuple[str, str]:
    """The answer of the search, by its twins, and the stage."""
    period, deadline, offset, completion = case
    told = (case, needs, idling, skip)
    masks = np.array([needs], np.int64)
    expected = pbs_brute.search(period, deadline, completion, offset, idling, needs)
    answer, stage, frames, proof = ask(case, skip, idling, precedence=masks)
    assert answer == (expected is not None), told
    if answer:
        rows = list(zip(*(x.tolist() for x in frames), strict=True))
        assert pbs_brute.replay(rows, *case[:2], completion, offset, idling, needs) == [], told
        return "yes", gs.pbs.STAGES[stage]
    wrong = pbs_refutation.violations(proof, *case, idling, needs=needs)
    assert wrong == [], (*told, proof)
    return proof["kind"], gs.pbs.STAGES[stage]


@pytest.mark.parametrize("kind", KINDS)
def test_search_agrees_with_enumeration(kind: str) -> None:
    rng = np.random.default_rng([40, len(kind)])
    count: Counter[str] = Counter()
    waits = 0
    for number in range(400):
        case, needs = random_needs(rng, int(rng.integers(2, 5)), kind)
        idling = bool(rng.integers(2))
        answer, _ = agree(case, needs, idling, STAGES[number % len(STAGES)])
        count[answer] += 1
        if answer != "yes":
            waits += pbs_brute.search(*case[:2], case[3], case[2], idling) is not None
    assert count["yes"] > 100
    assert count["closed"] > 30
    assert waits > 15  # schedulable if nothing waited


def test_all_stages_see_sets_of_needs() -> None:
    rng = np.random.default_rng(41)
    stages = {
        agree(*random_needs(rng, 4, KINDS[k % 4]), False, STAGES[k % len(STAGES)])[1]
        for k in range(300)
    }
    assert stages >= {"lazy", "latest_start", "overload", "core", "edf_serial", "depth_first"}


def test_package_agrees_with_itself() -> None:
    """Schedules and certificates of all searches, and the policy when batches end early."""
    rng = np.random.default_rng(42)
    played = refused = 0
    for number in range(240):
        case, needs = random_needs(rng, 4, KINDS[number % 4])
        graph, table = objects(case, needs)
        answer = gs.pbs.search(graph, table, policy=True)
        assert gs.pbs.search(graph, table, thorough=True).accepted is answer.accepted
        if answer.accepted:
            answer.schedule.validate()
            play = answer.policy.play(answer.schedule, runs=5, seed=1, actual=(0.2, 1.0))
            assert not play.late_count.any()
            assert (play.jobs == len(answer.schedule.jobs())).all()
            played += 1
            continue
        answer.certificate.verify(graph, table)
        if gs.pbs.search(graph.rows, table).accepted:
            with pytest.raises(gs.pbs.CertificateError):
                answer.certificate.verify(graph.rows, table)
            refused += 1
    assert played > 60
    assert refused > 10


def test_repeating_agrees_with_enumeration() -> None:
    rng = np.random.default_rng(43)
    count: Counter[tuple[str, bool]] = Counter()
    for number in range(200):
        kind = KINDS[number % 4]
        case, needs = random_needs(rng, int(rng.integers(2, 4)), kind)
        idling = bool(rng.integers(2))
        graph, table = objects(case, needs)
        answer = gs.pbs.search(graph, table, repeating=True, idling=idling)
        period, deadline, offset, completion = case
        goes_on = pbs_brute.goes_on(period, deadline, completion, offset, idling, needs)
        assert answer.schedulable is goes_on, (case, needs, idling)
        if answer.accepted:
            answer.schedule.validate()
        elif answer.certificate is not None:
            answer.certificate.verify(graph, table, repeating=True)
        count[kind, answer.accepted] += 1
    assert min(count.values()) > 5 and len(count) == 8


def test_edf_agrees_with_its_twin() -> None:
    rng = np.random.default_rng(44)
    accepted = 0
    for number in range(300):
        case, needs = random_needs(rng, int(rng.integers(2, 5)), KINDS[number % 4])
        period, deadline, offset, completion = case
        graph, table = objects(case, needs)
        for run, twin in (
            (gs.pbs.edf_serial, edf.edf_serial),
            (gs.pbs.edf_parallel, edf.edf_parallel),
        ):
            meets, frames = twin(period, deadline, completion, offset, needs)
            answer = run(graph, table)
            assert answer.accepted is meets, (case, needs)
            plan = answer.schedule
            columns = (plan.start.tolist(), plan.end.tolist(), plan.batch.tolist())
            assert list(zip(*columns, strict=True)) == frames
            accepted += meets
    assert accepted > 100


def test_chains_are_needs_of_the_row_above() -> None:
    """No deadline exceeds its period; else a chain waits for the job before it, too."""
    rng = np.random.default_rng(45)
    count: Counter[bool] = Counter()
    for _ in range(150):
        case = random_chains(rng)
        if any(d > p for p, d in zip(case.period, case.deadline, strict=True)):
            continue
        chains, table = case.objects()
        task = case.rows
        needs = [[j - 1] if j and task[j] == task[j - 1] else [] for j in range(len(task))]
        graph = gs.KernelGraph(chains.rows, needs)
        one, other = gs.pbs.search(chains, table), gs.pbs.search(graph, table)
        assert (one.accepted, one.stage) == (other.accepted, other.stage)
        count[one.accepted] += 1
    assert min(count[False], count[True]) > 20


def test_fork_and_join_by_hand() -> None:
    """in at 0, both branches at 2, out at 6; one after the other the four take 10."""
    answer = gs.pbs.search(gs.KernelGraph(FORK, NEEDS), TABLE)
    assert answer.schedule.batch.tolist() == [1, 6, 8]
    assert answer.response.tolist() == [2, 6, 6, 8]
    late = gs.KernelGraph(FORK.replace(deadline=7), NEEDS)
    refused = gs.pbs.search(late, TABLE)
    assert refused.schedulable is False
    refused.certificate.verify(late, TABLE)
    in_line = [[], "in", "left", "right"]
    for deadline, schedulable in ((10, True), (9, False)):
        chain = gs.KernelGraph(FORK.replace(deadline=deadline), in_line)
        assert gs.pbs.search(chain, TABLE).schedulable is schedulable


def test_stages_of_two_arrivals_run_together_by_hand() -> None:
    """3 + 3 every 5 ticks overload the GPU, unless 'b' of one arrival runs with 'a' of the next."""
    for deadline, schedulable in ((9, True), (8, False)):
        rows = gs.KernelTasks([5, 5], [3, 3], deadline=deadline, name=["a", "b"])
        table = gs.BatchTable.from_dict(rows, {(0,): 3, (1,): 3, (0, 1): 4})
        answer = gs.pbs.search(gs.KernelGraph(rows, [[], "a"]), table, repeating=True)
        assert answer.schedulable is schedulable
        chain = gs.KernelChains([5], [[3, 3]], deadline=deadline)
        alone = gs.pbs.search(chain, gs.BatchTable([0, 3, 3, 0]), repeating=True)
        assert alone.certificate.demand == pytest.approx(6 / 5)


def test_a_schedule_that_starts_a_task_too_early_is_refused() -> None:
    graph = gs.KernelGraph(FORK, NEEDS)
    plan = gs.Schedule([0, 2, 5], [2, 5, 8], [1, 2, 12], graph, TABLE)
    with pytest.raises(gs.ScheduleError, match="frame 2"):
        plan.validate()
    early = gs.Schedule([0, 3], [3, 5], [2, 1], graph, TABLE)
    with pytest.raises(gs.ScheduleError, match=r"frame 0 .*left"):
        early.validate()


def test_policy_takes_tasks_that_do_not_wait() -> None:
    policy = gs.pbs.search(gs.KernelGraph(FORK, NEEDS), TABLE, policy=True).policy
    assert policy.safe(0, [1, 1, 1, 1]) == [1]
    assert policy.safe(2, [0, 1, 1, 1]) == [6]
    with pytest.raises(ValueError, match="pending"):
        policy.safe(0, [1, 1, 1, 0])  # 'out' before what it needs


def test_graphs_and_answers_are_kept(tmp_path: Path) -> None:
    graph = gs.KernelGraph(FORK, NEEDS)
    graph.save(tmp_path / "graph")
    assert gs.KernelGraph.load(tmp_path / "graph") == graph
    answer = gs.pbs.search(graph, TABLE, policy=True)
    answer.save(tmp_path / "answer")
    assert gs.pbs.Search.load(tmp_path / "answer") == answer
    assert repr(graph) == "<KernelGraph: 4 tasks, 4 links>"


def test_schedules_are_read_as_they_were_written(tmp_path: Path) -> None:
    path, rng, links = tmp_path / "plan.json", np.random.default_rng(8), 0
    for number in range(300):
        case, needs = random_needs(rng, int(rng.integers(2, 6)), KINDS[number % 3])
        graph, table = objects(case, needs)
        plan = gs.pbs.search(graph, table).schedule
        if plan is None:
            continue
        made = plan.with_tick("us", overhead=number)
        made.save(path)
        assert json.loads(path.read_text())["version"] == 4
        again = gs.Schedule.load(path)
        assert again == made and again.tasks == graph
        if again.cycle is None:
            again.validate()
        links += sum(map(len, graph.needs))
    assert links > 20
    with pytest.raises(ValueError, match="tick: got None of tasks that need others, expected its"):
        gs.pbs.search(gs.KernelGraph(FORK, NEEDS), TABLE).schedule.save(path)


@pytest.mark.parametrize(
    ("rows", "needs", "message"),
    [
        (FORK, [[], 0, 0], "got 3 entries, expected 4"),
        (FORK, [[], 0, 0, [1, 4]], r"needs\[3\]: got 4, expected a task below 4"),
        (FORK, [[], 0, 0, -1], r"needs\[3\]: got -1"),
        (FORK, [[], "up", 0, []], r"needs\[1\]: got 'up', expected the name of one task"),
        (FORK, [3, 0, 0, [1, 2]], r"needs\[0\]: got a cycle"),
        (FORK, [[], 1, [], []], r"needs\[1\]: got a cycle"),
        (FORK.replace(period=[10, 10, 20, 10]), NEEDS, r"needs\[2\]: got a task with period 10"),
        (FORK.replace(offset=[0, 0, 0, 1]), NEEDS, r"needs\[3\]: got a task with offset 0"),
        (FORK.replace(deadline=[9, 8, 9, 9]), NEEDS, r"needs\[1\]: got a task with deadline 9"),
        (gs.KernelTasks.stack([FORK]), NEEDS, "got a stack"),
    ],
)
def test_other_graphs_are_refused(rows: gs.KernelTasks, needs: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        gs.KernelGraph(rows, needs)


def test_entries_and_rows_of_another_type_are_refused() -> None:
    with pytest.raises(TypeError, match=r"needs\[1\]"):
        gs.KernelGraph(FORK, [[], 0.5, [], []])  # type: ignore[list-item]
    with pytest.raises(TypeError, match="needs"):
        gs.KernelGraph(FORK, "in")
    with pytest.raises(TypeError, match="rows"):
        gs.KernelGraph(TABLE, [])  # type: ignore[arg-type]


def test_methods_without_needs_refuse_a_graph() -> None:
    """None may take the tasks as if they did not wait."""
    graph: Any = gs.KernelGraph(FORK, NEEDS)
    for call in (
        lambda: gs.pbs.search(graph, TABLE, method="graph"),
        lambda: gs.pbs.graph.search(graph, TABLE),
        lambda: gs.pbs.partition(graph, TABLE, gpus=2),
        lambda: gs.pbs.margin(graph, TABLE),
        lambda: gs.pbs.search(graph, gs.BatchFunction.from_gpu(FORK, GPU)),
        lambda: gs.simulate.fifo(graph, GPU, until=10),
        lambda: gs.analysis.fifo_bound(graph, 2048),
        lambda: gs.analysis.fifo_limit(graph, 2048),
        lambda: gs.analysis.priority_streams(graph, 2048),
        lambda: gs.Launches.from_tasks(graph, 10),
        lambda: gs.KernelChains.from_tasks(graph),
        lambda: gs.BatchTable.from_gpu(graph, GPU),
    ):
        with pytest.raises(TypeError, match=r"got KernelGraph, expected [^(]*$"):
            call()


@pytest.mark.parametrize(
    ("needs", "message"),
    [
        ([[0, 1, 1, 16]], r"needs\[3\]: got 16, expected a bit mask of rows"),
        ([[0, -1, 1, 6]], "bit mask of rows"),
        ([[8, 1, 1, 6]], "no cycle of rows"),
        ([[0, 1, 1]], "precedence"),
        ([[0, 1, 1, 6]] * 2, "precedence"),
    ],
)
def test_core_refuses_other_needs(needs: list[list[int]], message: str) -> None:
    rows = [np.array(x)[None] for x in (FORK.period, FORK.deadline, FORK.offset, TABLE.completion)]
    given = {"parallel": False, "bytes": 0, "seconds": 0.0, "stop": None}
    with pytest.raises(ValueError, match=message):
        _core.pbs_edf(*rows, **given, precedence=np.array(needs, np.int64))


@pytest.mark.parametrize("column", ["period", "deadline", "offset"])
def test_core_refuses_needs_of_rows_with_other_times(column: str) -> None:
    times = {key: np.array(getattr(FORK, key)) for key in ("period", "deadline", "offset")}
    times[column][0] += 1
    rows = [row[None] for row in (*times.values(), TABLE.completion)]
    given = {"parallel": False, "bytes": 0, "seconds": 0.0, "stop": None}
    with pytest.raises(ValueError, match="the same period and offset and no longer deadlines"):
        _core.pbs_edf(*rows, **given, precedence=np.array([[0, 1, 1, 6]]))
