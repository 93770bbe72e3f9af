"""PBS of chains of kernels: the search, its schedules and proofs against slow twins."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from chain_cases import Chains, random_chains
from reference import pbs_chains as twin
from test_search_stages import MIXES

import gpusched as gs
from gpusched import _core
from gpusched.pbs.search_inputs import arrays_of, precedence_rows

pytestmark = pytest.mark.numbers

# Two tasks of two kernels: what may overlap decides.
LANE = gs.KernelChains([10, 20], [[2, 3], [6, 4]], name=["lane", "map"])
ALONE = {(0,): 2, (1,): 3, (2,): 6, (3,): 4}


def agree(case: Chains, idling: bool, skip: int) -> tuple[str, str]:
    """The answer of the search, by its twins, and the stage."""
    chains, table = case.objects()
    columns, frames, proof, _ = _core.pbs_search(
        *arrays_of(chains, table),
        None,
        idling=idling,
        thorough=False,
        policy=False,
        policy_limit=0,
        states=0,
        bytes=1 << 30,
        seconds=0.0,
        stop=None,
        proof=True,
        skip=skip,
        precedence=precedence_rows(chains, table),
    )
    answer, stage = int(columns[0][0]), gs.pbs.STAGES[int(columns[1][0])]
    assert answer == twin.schedulable(*case.system, idling=idling), case
    if answer:
        listed = list(zip(*(column.tolist() for column in frames), strict=True))
        assert twin.wrong(*case.system, listed, idling=idling) is None, case
        gs.Schedule(*frames, chains, table, idling).validate()
        return "yes", stage
    certificate = gs.pbs.certificates.certificate_of(proof, chains.rows)
    if certificate is None:
        return "no", stage
    certificate.verify(chains, table, idling=idling)
    assert case.disproved(certificate, idling) is None, case
    return type(certificate).__name__, stage


@pytest.mark.long
def test_search_agrees_with_brute_force() -> None:
    count: Counter[str] = Counter()
    stages = set()
    rng = np.random.default_rng(20)
    for number in range(500):
        case = random_chains(rng)
        skip = list(MIXES.values())[int(rng.integers(len(MIXES)))]
        answer, stage = agree(case, bool(number % 2), skip)
        count[answer] += 1
        stages.add(stage)
    assert count["yes"] > 150
    assert count["DeadStates"] > 30
    assert count["Overload"] > 20
    assert count["no"] < 10
    assert stages >= {"lazy", "latest_start", "overload", "core", "edf_serial"}


def test_a_core_keeps_the_hyperperiod() -> None:
    """Some of these kernels have a shorter hyperperiod, and jobs that are due after it."""
    completion = [0] * 64
    times = {1: 2, 2: 2, 4: 2, 8: 1, 10: 3, 12: 3, 16: 1, 17: 2, 20: 1, 24: 2, 26: 1}
    times |= {32: 1, 33: 3, 34: 3, 36: 3, 40: 1, 41: 4, 42: 3, 44: 2}
    for mask, time in times.items():
        completion[mask] = time
    case = Chains([10, 8, 5], [5, 4, 3], [8, 5, 0], [3, 1, 2], completion)
    agree(case, False, MIXES["groups and cores"])


def test_thorough_and_repeating_agree() -> None:
    rng = np.random.default_rng(21)
    for _ in range(150):
        case = random_chains(rng)
        chains, table = case.objects()
        answer = gs.pbs.search(chains, table, thorough=True)
        assert answer.schedulable is gs.pbs.search(chains, table).schedulable
        endless = gs.pbs.search(chains, table, repeating=True)
        if endless.accepted:
            assert answer.accepted
            endless.schedule.validate()
        if (chains.deadline + chains.offset <= chains.period).all():
            assert endless.schedulable is answer.schedulable
        if endless.certificate is not None:
            endless.certificate.verify(chains, table, repeating=True)


def test_edf_agrees_with_its_twin() -> None:
    rng = np.random.default_rng(22)
    accepted = 0
    for _ in range(400):
        case = random_chains(rng)
        chains, table = case.objects()
        for run, parallel in ((gs.pbs.edf_serial, False), (gs.pbs.edf_parallel, True)):
            meets, frames = twin.edf(*case.system, parallel)
            answer = run(chains, table)
            if answer.accepted:
                assert meets
                plan = answer.schedule
                columns = (plan.start.tolist(), plan.end.tolist(), plan.batch.tolist())
                assert list(zip(*columns, strict=True)) == frames
                accepted += 1
            else:  # a job that waits at its deadline is told before it ends late
                assert not meets
                assert 0 <= answer.late_job[0] < chains.n
    assert accepted > 100


def test_precedence_rows_one_kernel_are_tasks() -> None:
    rng = np.random.default_rng(23)
    for _ in range(60):
        case = random_chains(rng)
        if max(case.kernels) > 1:
            continue
        chains, table = case.objects()
        tasks = gs.KernelTasks(
            case.period, chains.rows.wcet, deadline=case.deadline, offset=case.offset
        )
        one, other = gs.pbs.search(chains, table), gs.pbs.search(tasks, table)
        assert (one.accepted, one.stage, one.states) == (other.accepted, other.stage, other.states)
        if one.accepted:
            assert one.schedule.batch.tolist() == other.schedule.batch.tolist()
            assert one.response.tolist() == other.response.tolist()


def test_policy_is_safe_whatever_ends_early() -> None:
    rng = np.random.default_rng(24)
    played = 0
    for _ in range(150):
        case = random_chains(rng)
        chains, table = case.objects()
        answer = gs.pbs.search(chains, table, policy=True)
        if answer.policy is None:
            continue
        play = answer.policy.play(answer.schedule, runs=5, seed=1, actual=(0.2, 1.0))
        assert not play.late_count.any()
        jobs = len(answer.schedule.jobs())
        assert (play.jobs == jobs).all()
        table_play = answer.policy.play(answer.schedule, "table", runs=1, actual=(1.0, 1.0))
        assert table_play.late_count.tolist() == [0]
        played += 1
    assert played > 40


def test_policy_takes_kernels_that_are_left() -> None:
    table = gs.BatchTable.from_dict(LANE, ALONE)
    policy = gs.pbs.search(LANE, table, policy=True).policy
    assert policy.safe(0, [1, 1, 1, 1]) == [1]  # 'map' first would leave 'lane' too late
    assert policy.safe(5, [0, 0, 1, 1]) == [4]
    with pytest.raises(ValueError, match="pending"):
        policy.safe(0, [1, 0, 0, 0])  # the second kernel before the first one
    with pytest.raises(ValueError, match="bit mask of 4 kernels"):
        policy.safe(0, 16)


def test_a_batch_needs_the_turn_of_each_kernel() -> None:
    """By hand: 'map' cannot end in 14 alone after 'lane', but beside it."""
    chains = LANE.replace(deadline=[10, 14])
    alone = gs.pbs.search(chains, gs.BatchTable.from_dict(chains, ALONE))
    assert alone.schedulable is False
    alone.certificate.verify(chains, gs.BatchTable.from_dict(chains, ALONE))
    beside = gs.BatchTable.from_dict(chains, ALONE | {("lane[0]", "map[0]"): 6})
    answer = gs.pbs.search(chains, beside)
    assert answer.schedulable is True
    assert answer.schedule.batch.tolist()[:3] in ([5, 2, 8], [5, 8, 2])
    assert answer.response.tolist() == answer.schedule.validate().jobs().response[:2].tolist()


def test_undecided_batches_leave_chains_open() -> None:
    chains = LANE.replace(deadline=[10, 14])
    sure = gs.BatchTable.from_dict(chains, ALONE)
    undecided = np.zeros(16, np.int64)
    undecided[5] = 6
    answer = gs.pbs.search(chains, gs.BatchTable(sure.completion, undecided))
    assert (answer.undecided, answer.reason) == (True, "undecided")


def test_stacks_of_chains() -> None:
    """Sets of as many kernels, however they are divided among the tasks."""
    one = gs.KernelChains([10, 20], [[2, 3], [6]])
    two = gs.KernelChains([10, 20], [[2], [3, 6]])
    stack = gs.KernelChains(
        [[10, 20]] * 2, np.array([[[2, 3], [6, 0]], [[2, 0], [3, 6]]], np.int64)
    )
    table = gs.BatchTable.from_dict(3, {(0,): 2, (1,): 3, (2,): 6, (0, 2): 7})
    assert gs.pbs.search(one, table).schedulable is True
    assert gs.pbs.search(two, table).schedulable is True
    assert gs.pbs.search(stack, table).schedulable.tolist() == [True, True]
    assert gs.pbs.edf_parallel(stack, table).schedulable.tolist() == [True, True]
    mixed = stack.replace(block_time=np.array([[[2, 3], [6, 0]], [[2, 0], [3, 0]]]))
    with pytest.raises(ValueError, match="2 kernels in set 1, expected 3"):
        gs.pbs.search(mixed, table)


@pytest.mark.parametrize(
    ("chains", "table", "message"),
    [
        (LANE, gs.BatchTable([0, 1]), "table: got one for 1 kernels, expected 4"),
        (LANE, gs.BatchTable([0, *[1] * 15]), "two kernels of a task"),
        (gs.KernelChains([9] * 2, [[1] * 13] * 2), gs.BatchTable([0, 1]), "26 kernels"),
    ],
)
def test_search_refuses_other_tables(
    chains: gs.KernelChains, table: gs.BatchTable, message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        gs.pbs.search(chains, table)


def test_the_graph_has_no_chains() -> None:
    with pytest.raises(TypeError, match="KernelTasks with method='graph'"):
        gs.pbs.search(LANE, gs.BatchTable.from_dict(LANE, ALONE), method="graph")


@pytest.mark.parametrize(
    ("chained", "message"),
    [
        ([8], "chains that end within the rows"),
        ([2], "period, deadline and offset"),
        ([-1], "bit mask of rows"),
        ([2**40], "bit mask of rows"),
        ([0, 0], "precedence"),
    ],
)
def test_core_refuses_other_chains(chained: list[int], message: str) -> None:
    table = gs.BatchTable.from_dict(LANE, ALONE)
    arrays = arrays_of(LANE, table)
    given = np.array(chained, np.int64)[:, None]
    with pytest.raises(ValueError, match=message):
        _core.pbs_edf(*arrays, parallel=False, bytes=0, seconds=0.0, stop=None, precedence=given)


def test_budgets_and_answers_of_chains_are_kept(tmp_path: object) -> None:
    table = gs.BatchTable.from_dict(LANE, ALONE)
    answer = gs.pbs.search(LANE, table, policy=True)
    path = f"{tmp_path}/answer"
    answer.save(path)
    loaded = gs.pbs.Search.load(path)
    assert loaded == answer
    assert loaded.policy == answer.policy
    spent = gs.pbs.search(LANE, table, thorough=True, budget=gs.Budget(states=1))
    assert (spent.undecided, spent.reason) == (True, "states")
