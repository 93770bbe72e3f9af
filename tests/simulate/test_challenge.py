"""Search for late jobs: counterexamples replay, the exploration against its twin and the tests."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from challenge_systems import NAMES, WAYS, tiny_sets, verdict_of
from reference.challenge import earliest_missed_deadline

import gpusched as gs
from gpusched.simulate import Challenge

pytestmark = pytest.mark.numbers

SEARCH = gs.pbs.Budget(states=100_000)
EXPLORE = gs.pbs.Budget(states=3_000_000)
# Accepted by no lock test; a job is late.
LATE = gs.HostTasks.from_segments(
    [9, 9], [[2, (1, 3, 1), 1], [2, (1, 2, 1), 2]], core=[0, 1], name=["a", "b"]
)
# Undecided by MPCP, and schedulable.
SAFE = gs.HostTasks.from_segments([7, 9], [[2, (0, 2, 0), 1], [4]], core=[0, 0])


def check_replay(found: Any) -> None:
    """A counterexample keeps the periods and the worst cases, and has a late job."""
    run = found.run(intervals=False)
    assert run.late.any() and run.outcome == "done"
    assert sum(map(len, found.releases)) == len(run)
    for i, (row, times) in enumerate(zip(found.releases, found.times, strict=True)):
        assert (np.diff(row) >= found.hosts.period[i]).all() and (row >= 0).all()
        assert len(times) == len(row) and (times <= found.hosts.cpu.max(initial=0) + 99).all()


@pytest.mark.long
@pytest.mark.parametrize("way", WAYS, ids=NAMES)
def test_exploration_agrees_with_the_tests_and_the_search(way: gs.ways.Way) -> None:
    late = found_late = 0
    for hosts in tiny_sets(1, 16):
        verdict = verdict_of(hosts, way)
        explored = gs.simulate.challenge(hosts, 2, way, budget=EXPLORE, exhaustive=True)
        assert explored.by == "exploration" and not explored.accepted
        if explored.explored:
            assert (explored.worst <= hosts.deadline).all()
        else:
            check_replay(explored)
        if verdict.accepted:  # no miss in any schedule, and no response above the bound
            assert explored.explored, (hosts, explored)
            assert (explored.worst <= verdict.response).all()
            assert verdict.challenge().by == "test"
            continue
        searched = verdict.challenge(SEARCH, exhaustive=False)
        assert not searched.accepted
        late += explored.rejected
        found_late += searched.rejected
        if searched.rejected:
            assert explored.rejected
            check_replay(searched)
        else:
            assert (searched.worst <= hosts.deadline).all() and searched.reason == "states"
    assert late > 0 and found_late >= 0.95 * late


@pytest.mark.parametrize("way", WAYS, ids=NAMES)
def test_the_earliest_miss_is_that_of_the_twin(way: gs.ways.Way) -> None:
    way = way.replace(timeslice=1) if way.name == "time_slices" else way
    decided = set()
    for hosts in tiny_sets(4, 60, n=2, longest=5, most=1):
        if len(decided) == 2:
            break
        explored = gs.simulate.challenge(hosts, 2, way, budget=EXPLORE, exhaustive=True)
        if explored.claim in decided:
            continue
        decided.add(explored.claim)
        expected = None
        if explored.rejected:
            run = explored.run(intervals=False)
            expected = int(run.deadline[run.late].min())
        horizon = 5 if expected is None else min(expected, 6)
        earliest = earliest_missed_deadline(hosts, horizon, 2, way)
        assert earliest == (expected if expected == horizon else None)


def test_answers() -> None:
    verdict = gs.analysis.mpcp(LATE)
    found = verdict.challenge()
    assert (found.claim, found.by, found.schedulable) == ("counterexample", "exploration", False)
    check_replay(found)
    assert found.why().startswith("b: job 0, released at 0, has a response of 13 ticks, later")
    assert "5 a, which uses the GPU" in found.why()
    assert found.why("a").startswith("a: job 0")
    assert repr(found).startswith("<Challenge: counterexample by exploration (mpcp, suspend; 2 ")
    assert "<svg" in found._repr_html_()
    assert found.plot() is not None
    frame = found.to_frame()
    assert list(frame.columns[:3]) == ["set", "task", "release"] and len(frame) == 4
    safe = gs.analysis.mpcp(SAFE).challenge()
    assert (safe.claim, safe.by, safe.schedulable) == ("unknown", "exploration", None)
    assert safe.explored and safe.why().startswith("No integer schedule is late: all were visited")
    assert repr(safe).startswith("<Challenge: unknown by exploration (mpcp, suspend; 2 tasks")
    known = gs.simulate.challenge(SAFE, 1, "mpcp", accepted=True)
    assert known.accepted and known.why() == "No job is ever late: the test accepts the set."
    assert safe.worst.tolist() == [5, 8]
    unknown = gs.analysis.mpcp(SAFE).challenge(gs.pbs.Budget(states=500), exhaustive=False)
    assert (unknown.claim, unknown.schedulable, unknown.reason) == ("unknown", None, "states")
    assert unknown.why().startswith("No late job was found in ") and not unknown.explored
    for answer in (safe, unknown):
        with pytest.raises(ValueError, match="expected a counterexample"):
            answer.run()


def test_stacks(tmp_path: Any) -> None:
    stack = gs.HostTasks.stack([LATE, SAFE.replace(name=["a", "b"]), LATE])
    verdict = gs.analysis.mpcp(stack)
    found = verdict.challenge()
    assert found.claim.tolist() == ["counterexample", "unknown", "counterexample"]
    assert found.explored.tolist() == [False, True, False] and len(found) == 3
    assert not found.accepted.any()
    assert found.why().startswith("3 sets: 0 accepted, 2 with a counterexample, 1 unknown")
    for i, one in enumerate(found):
        alone = verdict[i].challenge()
        assert one.claim == alone.claim
        if one.rejected:
            check_replay(one)
            assert one == alone
    found.save(tmp_path / "found")
    assert Challenge.load(tmp_path / "found") == found
    assert "<table" in found._repr_html_()
    with pytest.raises(ValueError, match="got a stack of 3 sets, expected one, as by"):
        found.run()
    with pytest.raises(ValueError, match="got a task of a stack"):
        found.why("a")
    with pytest.raises(TypeError, match="got an index for a single set"):
        found[0][0]


def test_an_exploration_of_integers_proves_nothing_between_them() -> None:
    """No integer schedule is late; with the same times in half ticks, one is."""
    jobs = [[1, (0, 2, 0), 2], [1, (0, 1, 0), 0]]
    hosts = gs.HostTasks.from_segments(
        [14, 10], jobs, deadline=[14, 3], priority=[1, 0], core=[0, 1]
    )
    found = gs.simulate.challenge(hosts, 2, "mpcp")
    assert found.explored and found.undecided and found.schedulable is None
    assert found.worst[1] == 3
    fields = ("period", "deadline", "cpu", "copy_in", "kernel", "copy_out")
    halves = hosts.replace(**{name: 2 * getattr(hosts, name) for name in fields})
    late = gs.simulate.challenge(halves, 2, "mpcp")
    assert late.rejected and late.run().worst[1] == 7 > halves.deadline[1]


def test_the_seed_and_the_budget_decide() -> None:
    verdict = gs.analysis.fmlp_plus(LATE)
    one = verdict.challenge(SEARCH, exhaustive=False, seed=3)
    again = verdict.challenge(SEARCH, exhaustive=False, seed=3)
    assert one == again and one.by == "search"
    safe = gs.analysis.mpcp(SAFE)
    for jobs in (1, 10, 1000):
        spent = safe.challenge(gs.pbs.Budget(states=jobs), exhaustive=False)
        assert spent.claim == "unknown" and spent.jobs <= jobs + 1
    tiny = safe.challenge(gs.pbs.Budget(states=3), exhaustive=True)
    assert (tiny.claim, tiny.reason) == ("unknown", "states")


def test_parameters_of_ways_are_kept(tmp_path: Any) -> None:
    stack = gs.HostTasks.stack([LATE, LATE])
    verdict = gs.analysis.gcaps(
        stack, update_cost=2, context_switch=3, gpu_priority=[[1, 0], [0, 1]]
    )
    way = verdict.way
    assert (way.update_cost, way.context_switch, way.stall) == (2, 3, False)
    assert way.gpu_priority.tolist() == [[1, 0], [0, 1]]
    assert verdict[1].way.gpu_priority.tolist() == [0, 1]
    verdict.save(tmp_path / "verdict")
    assert gs.analysis.Verdict.load(tmp_path / "verdict") == verdict
    for one in verdict.challenge():
        check_replay(one)
    slices = gs.analysis.time_slices(LATE, timeslice=1, context_switch=2, variant="paper")
    for ring in ("fifo", "cyclic"):
        check_replay(slices.challenge(ring=ring))
    server = gs.analysis.gpu_server(stack, server_overhead=3, server=[0, 2])
    for one in server.challenge():
        assert one.way.server_overhead == 3 and one.way.server in (0, 2)
        check_replay(one)
    placed = gs.analysis.partition(LATE, 1, "gpu_server", server_overhead=4)
    assert placed.way.server_overhead == 4


def test_refusals() -> None:
    verdict = gs.analysis.mpcp(LATE)
    for given, text in (
        ({"exhaustive": 1}, "exhaustive: got 1"),
        ({"budget": 5}, "budget: got int, expected Budget"),
        ({"first": -1}, "first: got -1"),
    ):
        with pytest.raises((TypeError, ValueError), match=text):
            verdict.challenge(**given)
    with pytest.raises(
        ValueError, match="way: got 'srm', expected one of time_slices, gcaps, mpcp"
    ):
        gs.simulate.challenge(LATE, 2, gs.ways.Srm(lock="omlp"))
    large = gs.HostTasks([300], cpu=[10], core=0)
    with pytest.raises(ValueError, match="at most 8 tasks with times of at most 250 ticks"):
        gs.simulate.challenge(large, 1, "mpcp", exhaustive=True)
    with pytest.raises(ValueError, match=r"deadline\[0\]: got 9, expected at most 8, its period"):
        gs.simulate.challenge(gs.HostTasks([8], cpu=[1], core=0, deadline=[9]), 1, "mpcp")
    with pytest.raises(OverflowError, match=r"period\[0\]"):
        gs.simulate.challenge(gs.HostTasks([2**56], cpu=[1], core=0), 1, "mpcp")
    with pytest.raises(ValueError, match="core"):
        gs.analysis.stgm_allocate(gs.HostTasks([9, 9], cpu=[[6], [6]]), 1).challenge()
