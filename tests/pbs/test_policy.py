"""The run-time policy: the search's function F, no miss when jobs end early, strategies."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from reference import pbs_brute
from test_search import EXAMPLE, TABLE, as_objects, random_set

import gpusched as gs
from gpusched import _core


def test_example():
    found = gs.pbs.search(EXAMPLE, TABLE, policy=True)
    policy = found.policy
    assert policy.repeats
    start = policy.safe(0, 0b111)
    assert int(found.schedule.batch[0]) in start
    assert 0b111 not in start  # Figure 2b: all at once misses
    assert policy.next(0, 0b111) == 0
    assert policy.choose(0, 0b111) in start
    assert policy.next(0, 0) == 4  # nothing pending: the first arrival brings work
    assert policy.safe(20, 0b111) == start  # the next hyperperiod
    assert policy.next(20, 0b111) == 20
    assert policy.safe(19, 0b111) == [] and policy.next(19, 0b111) is None
    assert policy.next(19, 0) == 20  # nothing left to run before the next hyperperiod


@pytest.mark.parametrize("kind", ["implicit", "constrained", "offsets", "long"])
@pytest.mark.parametrize("idling", [False, True])
def test_the_policy_is_exactly_what_brute_force_finds_feasible(kind, idling):
    """Every reachable state, every batch: safe iff the state after it can be completed."""
    rng = np.random.default_rng([len(kind), idling, 7])
    states = 0
    while states < 300:
        period, deadline, offset, completion = case = random_set(rng, int(rng.integers(1, 4)), kind)
        tasks, table = as_objects(*case)
        found = gs.pbs.search(tasks, table, idling=idling, policy=True)
        if not found.schedulable:
            assert found.policy is None
            continue
        n, horizon = len(period), tasks.hyperperiod
        todo, seen = [(0, (0,) * n)], set()
        while todo and len(seen) < 40:
            state = todo.pop()
            if state in seen:
                continue
            seen.add(state)
            t, executed = state
            arrived = [
                min((t - offset[i]) // period[i] + 1 if t >= offset[i] else 0,
                    -(-(horizon - offset[i]) // period[i]) if offset[i] < horizon else 0)
                for i in range(n)
            ]  # fmt: skip
            pending = [a - e for a, e in zip(arrived, executed, strict=True)]
            safe = found.policy.safe(t, pending)
            for mask in range(1, 1 << n):
                members = [i for i in range(n) if mask >> i & 1]
                if completion[mask] == 0 or any(pending[i] == 0 for i in members):
                    assert mask not in safe
                    continue
                after = tuple(e + (i in members) for i, e in enumerate(executed))
                end = t + completion[mask]
                fine = all(
                    end <= offset[i] + executed[i] * period[i] + deadline[i] for i in members
                ) and pbs_brute.feasible_from(
                    period, deadline, completion, end, after, offset, idling=idling
                )
                assert (mask in safe) == fine, (case, state, mask)
                if fine:
                    todo.append((end, after))
            states += 1


@pytest.mark.parametrize("strategy", ["table", "reclaim", "policy"])
def test_nothing_misses_when_jobs_end_early(strategy):
    """1,000 runs here, 100,000 in benchmarks/pbs_policy.py."""
    tasks = gs.generate.gpusched(5, 1.0, count=40, seed=9)
    table = gs.BatchTable.from_utilization(tasks, (1.0, 1.9), seed=9)
    runs = 0
    for i in np.flatnonzero(gs.pbs.search(tasks, table).schedulable == 1)[:10]:
        found = gs.pbs.search(tasks[i], table[i], policy=True)
        for actual in ((0.05, 1.0), (0.9, 1.0), (1.0, 1.0)):
            play = found.policy.play(found.schedule, strategy, actual=actual, runs=34, seed=int(i))
            assert (play.late_count == 0).all()
            assert (play.jobs == (tasks.hyperperiod[i] // tasks.period[i]).sum()).all()
            assert (play.end <= tasks.hyperperiod[i]).all()
            runs += 34
    assert runs >= 1000


def test_ending_early_can_hurt_a_scheduler_that_never_idles():
    """States outside F are reached by ending early, and the policy waits there."""
    tasks = gs.generate.gpusched(5, 1.0, count=60, seed=21, ticks=1)
    table = gs.BatchTable.from_utilization(tasks, "mixed", seed=21)
    waited = 0
    for i in np.flatnonzero(gs.pbs.search(tasks, table).schedulable == 1):
        found = gs.pbs.search(tasks[i], table[i], policy=True)
        play = found.policy.play(found.schedule, "policy", actual=(0.1, 1.0), runs=20, seed=1)
        assert (play.late_count == 0).all()
        waited += int((play.waited > 0).sum())
    assert waited > 0


def test_exact_execution_plays_the_table():
    found = gs.pbs.search(EXAMPLE, TABLE, policy=True)
    jobs = found.schedule.jobs()
    for strategy in ("table", "reclaim"):
        play = found.policy.play(found.schedule, strategy, actual=(1, 1), runs=3, seed=0)
        assert play.end.tolist() == [found.schedule.end[-1]] * 3
        assert play.response == pytest.approx(np.mean(jobs.end - jobs.release))
        assert play.frames.tolist() == [len(found.schedule)] * 3


def test_overruns_are_reported():
    found = gs.pbs.search(EXAMPLE, TABLE, policy=True)
    for strategy in ("table", "reclaim", "policy"):
        play = found.policy.play(found.schedule, strategy, actual=(3, 4), runs=5, seed=0)
        assert (play.late_count > 0).all()


def test_a_limited_policy_is_still_safe():
    tasks = gs.generate.gpusched(6, 1.0, count=30, seed=12)
    table = gs.BatchTable.from_utilization(tasks, (1.0, 1.9), seed=12)
    smaller = 0
    for i in np.flatnonzero(gs.pbs.search(tasks, table).schedulable == 1)[:12]:
        whole = gs.pbs.search(tasks[i], table[i], policy=True).policy
        few = gs.pbs.search(tasks[i], table[i], policy=2).policy
        smaller += len(few.first) < len(whole.first)
        # Instants that it reports as safe are safe.
        everything = (1 << tasks.n) - 1
        assert set(few.safe(0, everything)) <= set(whole.safe(0, everything))
        if few.safe(0, everything):
            schedule = gs.pbs.search(tasks[i], table[i]).schedule
            play = few.play(schedule, actual=(0.3, 1.0), runs=20, seed=int(i))
            assert (play.late_count == 0).all()
    assert smaller > 0


def test_a_limited_policy_holds_the_start():
    """All spans of a class may be equally long; the limit grows until instant 0 is kept."""
    tasks = gs.KernelTasks(period=[40, 40, 60], wcet=[14, 20, 28])
    table = gs.BatchTable(completion=[0, 14, 20, 26, 28, 0, 38, 40])
    found = gs.pbs.search(tasks, table, policy=1)
    assert found.schedulable and found.policy.safe(0, 0b111)
    play = found.policy.play(found.schedule, actual=(0.2, 1.0), runs=50, seed=1)
    assert (play.late_count == 0).all()


def test_a_policy_does_not_depend_on_the_callers_arrays():
    policy = gs.pbs.search(EXAMPLE, TABLE, policy=True).policy
    rows = [np.atleast_2d(a).copy() for a in policy._arrays()]
    spans = [a.copy() for a in (policy.begin, policy.first, policy.last)]
    handle = _core.policy_open(*rows, *spans)
    before = handle.safe(0, [1, 1, 1]).tolist()
    for array in (*rows, *spans):
        array[:] = 0
    assert handle.safe(0, [1, 1, 1]).tolist() == before


def test_response_times_beyond_the_clock_are_refused():
    n = 20
    huge = [2**59 - 1] * n
    completion = np.full(2**n, 2**58)
    completion[[1 << i for i in range(n)]] = 2**50
    completion[0] = 0
    tasks = gs.KernelTasks(period=huge, wcet=2**50)
    table = gs.BatchTable(completion=completion)
    handle = _core.policy_open(
        tasks.period[None], tasks.deadline[None], tasks.offset[None], table.completion[None],
        np.zeros(2**n + 1, np.int64), np.zeros(0, np.int64), np.zeros(0, np.int64),
    )  # fmt: skip
    with pytest.raises(OverflowError, match="a response time that keeps the total below"):
        handle.play(
            strategy=1,
            start=[0],
            end=[2**58],
            batch=[2**n - 1],
            runs=1,
            key=np.zeros(4, np.uint64),
            low=3.9,
            high=3.9,
            stop=None,
        )


def test_feasible_times_of_a_state():
    policy = gs.pbs.search(EXAMPLE, TABLE, policy=True).policy
    spans = policy.feasible(0b111)
    assert (spans[:, 0] <= spans[:, 1]).all() and (np.diff(spans[:, 0]) > 0).all()
    assert spans[0].tolist()[0] == 0  # the start
    for first, last in spans.tolist():
        assert policy.next(first, 0b111) == first and policy.next(last, 0b111) == last


def test_play_depends_on_seed_and_run_alone():
    found = gs.pbs.search(EXAMPLE, TABLE, policy=True)
    few = found.policy.play(found.schedule, runs=5, seed=3)
    many = found.policy.play(found.schedule, runs=50, seed=3)
    assert few.response.tolist() == many.response[:5].tolist()
    other = found.policy.play(found.schedule, runs=50, seed=4)
    assert other.response.tolist() != many.response.tolist()


def test_policies_pickle():
    policy = gs.pbs.search(EXAMPLE, TABLE, policy=True).policy
    again = pickle.loads(pickle.dumps(policy))
    assert again.safe(0, 7) == policy.safe(0, 7)
    assert again.feasible(7).tolist() == policy.feasible(7).tolist()


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda p, s: p.safe(0, 8), "pending: got 8"),
        (lambda p, s: p.safe(0, [1, 1]), "got length .* on axis 0, expected 3"),
        (lambda p, s: p.safe(0, [2, 0, 0]), "more than can be pending"),
        (lambda p, s: p.safe(0, [-1, 0, 0]), "expected counts of at least 0"),
        (lambda p, s: p.safe(-1, 7), "instant: got -1"),
        (lambda p, s: p.play(s, "guess"), "strategy: got 'guess'"),
        (lambda p, s: p.play(s, actual=(0, 1)), "0 < low <= high"),
        (lambda p, s: p.play(s, actual=(1, float("nan"))), "0 < low <= high"),
        (lambda p, s: p.play(s, runs=-1), "runs >= 0"),
    ],
)
def test_refusals(call, message):
    found = gs.pbs.search(EXAMPLE, TABLE, policy=True)
    with pytest.raises(ValueError, match=message):
        call(found.policy, found.schedule)


def test_the_module_refuses_a_broken_policy():
    found = gs.pbs.search(EXAMPLE, TABLE, policy=True)
    p = found.policy
    row = [np.atleast_2d(a) for a in p._arrays()]
    begin = p.begin.copy()
    begin[3] = 10**12
    for arrays in ((begin, p.first, p.last), (p.begin[:-1], p.first, p.last),
                   (p.begin, p.first[:-1], p.last[:-1])):  # fmt: skip
        with pytest.raises(ValueError, match="begin"):
            _core.policy_open(*row, *arrays)
    with pytest.raises(ValueError, match=r"batch\[0\]: expected an eligible batch"):
        p._handle.play(
            strategy=0,
            start=[0],
            end=[1],
            batch=[9],
            runs=1,
            key=np.zeros(4, np.uint64),
            low=1.0,
            high=1.0,
            stop=None,
        )
    twice = [0, 1], [1, 2], [1, 1]
    five = [[x for _ in range(5) for x in column] for column in twice]
    with pytest.raises(
        ValueError, match=r"batch\[5\]: got 1, expected a batch of tasks that each have"
    ):
        p._handle.play(
            *five, strategy=0, runs=1, key=np.zeros(4, np.uint64), low=1.0, high=1.0, stop=None
        )
    with pytest.raises(TypeError):
        _core.Policy.safe(object(), 0, [0, 0, 0])
    with pytest.raises(TypeError, match=r"cannot create '\S*Policy' instances"):
        _core.Policy()
