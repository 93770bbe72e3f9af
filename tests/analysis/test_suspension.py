"""Joint fixed point and split treatment of suspension of the tests for partitioned tasks."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from reference import host_tests as ht
from reference.host_tests import Task

import gpusched as gs

sys.path.insert(0, str(Path(__file__).parents[2] / "benchmarks"))

from host_falsification import random_system

pytestmark = pytest.mark.numbers

TESTS: list[tuple[str, dict[str, Any]]] = [
    *[("stgm", {"mode": mode}) for mode in ("suspend", "busy")],
    *[("mpcp", {"mode": mode}) for mode in ("suspend", "busy", "spin")],
    *[("fmlp_plus", {"mode": mode}) for mode in ("suspend", "busy")],
    ("gpu_server", {}),
]
SUSPENDED = ("stgm", "mpcp", "fmlp_plus", "gpu_server")


def verdicts(test: str, system: Any, options: dict[str, Any]) -> dict[tuple[str, str], Any]:
    """The verdicts of all ways, with the plain one first."""
    if test == "gpu_server":
        options = {**options, "server": system.server, "server_overhead": system.overhead}
    found = {}
    for fixed_point in ("one_pass", "joint"):
        for suspension in ("jitter", "split"):
            way = {"fixed_point": fixed_point, "suspension": suspension}
            if test == "stgm":
                del way["fixed_point"]
            run = getattr(gs.analysis, test)
            answer = run(system.hosts, system.cpus, system.sms, **options, **way)
            found[fixed_point, suspension] = answer
    return found


@pytest.mark.parametrize(("test", "options"), TESTS)
def test_bounds_are_never_worse(test: str, options: dict[str, Any]) -> None:
    rng = np.random.default_rng(16)
    less = 0
    for _ in range(20):
        found = list(verdicts(test, random_system(rng, 100), options).values())
        plain, both = found[0], found[-1]
        for answer in found[1:]:
            use = plain.accepted
            assert not (use & ~answer.accepted).any()
            assert (answer.response.data[use] <= plain.response.data[use]).all()
            assert (both.response.data[use] <= answer.response.data[use]).all()
        less += int((both.response.data[use] < plain.response.data[use]).sum())
    still = options.get("mode") == "spin" or (test, options.get("mode")) == ("stgm", "busy")
    assert (less == 0) == still


def test_joint_bounds_do_not_depend_on_deadlines() -> None:
    rng = np.random.default_rng(17)
    for test, options in TESTS:
        system = random_system(rng, 200)
        answer = verdicts(test, system, options)["joint", "split"]
        tight = system.hosts.replace(
            deadline=np.where(answer.accepted[:, None], answer.response, system.hosts.deadline)
        )
        system.hosts = tight
        again = verdicts(test, system, options)["joint", "split"]
        if test == "stgm" or options.get("mode") != "spin":
            assert (again.accepted >= answer.accepted).all()
            use = answer.accepted
            assert (again.response.data[use] == answer.response.data[use]).all()


# A job of task 0 that is released at the end of a CPU segment of task 1 comes before its request.
LATE = {"period": [3, 40], "jobs": [[1], [2, (0, 5, 0), 1]]}


@pytest.mark.parametrize("test", SUSPENDED)
def test_a_release_at_the_end_of_a_cpu_segment_counts(test: str) -> None:
    hosts = gs.HostTasks.from_segments(LATE["period"], LATE["jobs"], core=[0, 0], sm=[[0], [0]])
    bounds = {
        suspension: getattr(gs.analysis, test)(hosts, suspension=suspension).response.tolist()
        for suspension in ("jitter", "split")
    }
    seen = gs.simulate.host(hosts, 1, test, until=12).worst.tolist()
    assert bounds == {"jitter": [1, 12], "split": [1, 11]} and seen == [1, 11]
    # With ceil((L + R - x) / T) jobs in an interval before a GPU segment, 10 would be claimed.
    higher, own = (1, 1, 3), Task(40, [2, 1], [(0, 5, 0)], None, 1, 0)
    assert ht.interval_jobs(own, 0, [higher]) == [3]
    lengths = [next(w for w in range(1, 40) if w >= c + ht.cdiv(w, 3)) for c in own.cpu]
    assert lengths == [3, 2] and 8 + sum(ht.cdiv(length, 3) for length in lengths) == 10


def test_refusals() -> None:
    hosts = gs.HostTasks.from_segments(LATE["period"], LATE["jobs"], core=[0, 0], sm=[[0], [0]])
    for test in SUSPENDED:
        with pytest.raises(ValueError, match="suspension: got 'both', expected one of"):
            getattr(gs.analysis, test)(hosts, suspension="both")
        if test != "stgm":
            with pytest.raises(ValueError, match="fixed_point: got 'least', expected one of"):
                getattr(gs.analysis, test)(hosts, fixed_point="least")


def test_near_the_limit() -> None:
    most = 2**57
    hosts = gs.HostTasks.from_segments(
        [2**58, 2**58, 2**58], [[1], [most // 4, (0, most // 4, 0), 1], [0, (1, 1, 1), 1]],
        core=[0, 0, 0], sm=[[0]] * 3,
    )  # fmt: skip
    for test in SUSPENDED:
        found = getattr(gs.analysis, test)(hosts, suspension="split")
        assert found.accepted and found.response[1] < 2**59


def test_breakdown_and_priorities_take_both_ways() -> None:
    hosts = gs.HostTasks.from_segments([12, 60], [[4], [2, (1, 20, 1), 2]], core=[0, 0])
    for ways in ({}, {"suspension": "jitter"}, {"fixed_point": "one_pass"}):
        found = gs.analysis.breakdown(hosts, "mpcp", **ways)
        assert gs.analysis.mpcp(found.scaled(), **ways).accepted
        chosen = gs.analysis.assign_priorities(hosts, "mpcp", **ways)
        assert chosen.accepted and chosen.response.tolist() == (
            gs.analysis.mpcp(chosen.hosts, **ways).response.tolist()
        )
    plain = gs.analysis.breakdown(hosts, "mpcp", suspension="jitter").factor
    assert gs.analysis.breakdown(hosts, "mpcp").factor >= plain
