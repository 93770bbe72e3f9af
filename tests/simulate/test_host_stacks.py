"""Stacks of sets of different sizes: their parts, and the tests' answers for them."""

from __future__ import annotations

import dataclasses
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from task_set_strategies import host_tasks

import gpusched as gs
from gpusched.model.host_tasks import HostTasks, container_period

pytestmark = pytest.mark.numbers

ONE = HostTasks.from_segments(
    [60, 80, 120], [[3, (1, [6, 4], 1), 2], [5, (2, 9, 1), 1], [10]], core=[0, 1, 0]
)
TWO = HostTasks.from_segments([50, 40], [[4], [5, (1, 3, 1)]], core=[0, 1])
STACK = HostTasks.stack([ONE, TWO])


# Stacks


def test_a_stack_of_different_sizes() -> None:
    assert STACK.is_stack and STACK.is_ragged and len(STACK) == 2 and STACK.n == 3
    assert STACK.sizes.tolist() == [3, 2]
    assert STACK.is_task.tolist() == [[True] * 3, [True, True, False]]
    assert STACK.period.tolist() == [[60, 80, 120], [50, 40, 0]]
    assert STACK.priority.tolist() == [[0, 1, 2], [1, 0, 0]]
    assert STACK.core.tolist() == [[0, 1, 0], [0, 1, -1]]
    assert STACK.name == ("task 0", "task 1", "task 2")
    assert STACK[0] == ONE and STACK[1].n == 2 and list(STACK[1].name) == ["task 0", "task 1"]
    assert STACK[1].period.tolist() == TWO.period.tolist() and STACK[1].is_task.all()
    assert STACK[1].cpu_time.tolist() == TWO.cpu_time.tolist()
    assert STACK.hyperperiod == [ONE.hyperperiod, TWO.hyperperiod]
    assert STACK.utilization("busy", sms=1)[1].tolist() == [0.08, 0.25, 0.0]
    assert container_period(STACK).tolist() == [60, 40]
    assert repr(STACK) == "<HostTasks: 2 sets of 2 to 3 tasks>"
    assert STACK._repr_html_() == "<p>HostTasks: 2 sets of 2 to 3 tasks</p>"
    assert STACK.is_placed is False
    assert STACK.with_placement(core=0, sm=[[[0]] * 3] * 2).is_placed
    assert STACK.with_placement(core=7).core.tolist() == [[7, 7, 7], [7, 7, -1]]


def test_parts_have_no_more_rows_than_needed() -> None:
    last = STACK[1:]
    assert last.period.shape == (1, 2) and not last.is_ragged and last[0] == STACK[1]
    assert len(last._columns()) == 9 and len(STACK._columns()) == 10
    assert STACK[[1, 0, 1]].sizes.tolist() == [2, 3, 2]
    assert STACK[np.array([False, True])] == last
    assert len(STACK[[]]) == 0 and not STACK[[]].is_ragged
    assert STACK[-1] == STACK[1]


def test_selected_tasks_are_in_every_set() -> None:
    assert STACK.select([1, 0]).period.tolist() == [[80, 60], [40, 50]]
    assert STACK["task 1"].sizes.tolist() == [1, 1]
    with pytest.raises(ValueError, match=r"^tasks: got 'task 2', expected tasks of every set; set"):
        STACK.select([0, 2])


def test_the_constructor_takes_sizes() -> None:
    given: dict[str, Any] = {
        "period": [[60, 80, 120], [50, 40, -7]],
        "cpu": [[[5], [6], [10]], [[4], [5], [0]]],
        "deadline": [[60, 70, 120], [50, 30, 0]],
    }
    hosts = HostTasks(**given, sizes=[3, 2])
    assert hosts.period.tolist() == [[60, 80, 120], [50, 40, 0]]
    assert hosts.priority.tolist() == [[0, 1, 2], [1, 0, 0]]
    assert hosts[1] == HostTasks([50, 40], [4, 5], deadline=[50, 30])
    assert hosts.replace(deadline=hosts.period).priority.tolist() == [[0, 1, 2], [1, 0, 0]]
    assert hosts.replace(period=hosts.period * 2).sizes.tolist() == [3, 2]
    assert dataclasses.replace(hosts, core=1).core.tolist() == [[1, 1, 1], [1, 1, -1]]
    assert HostTasks([60, 80], [[[3], [4]]], sizes=[2]).is_ragged is False
    cases: list[tuple[Any, str]] = [
        ([3], r"^sizes: got shape \(1,\), expected \(2,\), one per set"),
        ([3, 4], r"^sizes\[1\]: got 4, expected 1 to 3 tasks"),
        ([0, 3], r"^sizes\[0\]: got 0, expected 1 to 3 tasks"),
        ([2, 2], r"^sizes: got at most 2, expected 3 of the largest set"),
        ([3, 3], r"^period\[1, 2\]: got -7, expected a positive number"),
    ]
    for sizes, message in cases:
        with pytest.raises(ValueError, match=message):
            HostTasks(**given, sizes=sizes)
    with pytest.raises(ValueError, match=r"^cpu\[1, 1\]: got a job of no time"):
        HostTasks(given["period"], [[[5], [6], [10]], [[4], [0], [0]]], sizes=[3, 2])


def test_sets_with_other_names_are_refused() -> None:
    with pytest.raises(ValueError, match=r"^name: got 'radar', expected 'task 0' as in the first"):
        HostTasks.stack([TWO.replace(name=["radar", "map"]), ONE])
    named = HostTasks.stack([TWO.replace(name=["a", "b"]), ONE.replace(name=["a", "b", "c"])])
    assert named[0].name == ("a", "b") and named["a"].period.tolist() == [[50], [60]]


def test_a_table_of_sets_with_other_names_is_refused() -> None:
    frame = STACK.to_frame()
    assert frame.groupby("set")["task"].nunique().tolist() == [3, 2]
    assert frame["cpu"].tolist() == [3, 2, 5, 1, 10, 4, 5, 0]
    frame.loc[frame["set"].eq(1) & frame["task"].eq(1), "name"] = "radar"
    with pytest.raises(
        ValueError, match=r"^frame: name\[4\]: got 'radar', expected 'task 1' as in"
    ):
        HostTasks.from_frame(frame)


@pytest.mark.long
@settings(deadline=None)
@given(sets=st.lists(host_tasks(stacks=False, named=False), min_size=1, max_size=4))
def test_a_stack_is_its_sets(sets: list[HostTasks], tmp_path_factory: Any) -> None:
    stack = HostTasks.stack(sets)
    assert stack.sizes.tolist() == [one.n for one in sets]
    for one, part in zip(sets, stack, strict=True):
        assert HostTasks.stack([one, stack])[0] == part  # with the widths of the stack
        for key in ("period", "deadline", "priority", "offset", "core", "segments"):
            assert getattr(part, key).tolist() == getattr(one, key).tolist()
        assert part.cpu_time.tolist() == one.cpu_time.tolist()
        assert part.gpu_time(1).tolist() == one.gpu_time(1).tolist()
    beyond = ~stack.is_task
    for key in HostTasks._ARRAYS:
        assert (getattr(stack, key)[beyond] == (-1 if key == "core" else 0)).all()
    assert HostTasks.stack(stack) == stack == stack[:] == stack[list(range(len(sets)))]
    assert HostTasks.from_frame(stack.to_frame()) == stack
    assert pickle.loads(pickle.dumps(stack)) == stack
    assert stack.replace() == stack == dataclasses.replace(stack)
    path = Path(tmp_path_factory.getbasetemp()) / "host stack"
    stack.save(path)
    again = HostTasks.load(path)
    assert again == stack and again._derived.keys() == stack._derived.keys()


def test_sets_that_were_saved_without_sizes() -> None:
    fields = ONE._fields()
    del fields["sizes"]
    fields["derived"] = tuple(key for key in fields["derived"] if key != "sizes")
    assert HostTasks._from_fields(fields) == ONE


# Answers

CPUS, SMS = 3, 4
STGM_VARIANTS = ("sound", "paper")


def drawn(sizes: list[int], seed: int, most: float = 0.35) -> HostTasks:
    """A placed stack; set i has sizes[i] tasks, and SMs that overlap."""
    rng = np.random.default_rng(seed)
    sets = []
    for i, n in enumerate(sizes):
        one = gs.generate.stgm(n, seed=seed, first=i, sms=SMS, utilization=(0.02, most))
        sm = rng.random((n, SMS)) < 0.4
        sm[np.arange(n), rng.integers(0, SMS, n)] = True
        sets.append(one.with_placement(core=rng.integers(0, CPUS, n), sm=sm))
    return HostTasks.stack(sets)


def calls(hosts: HostTasks) -> dict[str, Callable[[HostTasks, Any], Any]]:
    """Every test with its options, of a stack and what belongs to some of its sets."""
    a = gs.analysis
    found: dict[str, Callable[[HostTasks, Any], Any]] = {}
    for mode in ("suspend", "busy"):
        for variant in STGM_VARIANTS:
            options: dict[str, Any] = {"mode": mode, "variant": variant}
            found[f"stgm {mode} {variant}"] = lambda h, _, o=options: a.stgm(h, CPUS, **o)
            found[f"allocate {mode} {variant}"] = lambda h, _, o=options: a.stgm_allocate(
                h, CPUS, SMS, **o
            )
        for apart, printed in ((True, ()), (False, ("line 16", "load")), (False, ("line 26",))):
            options = {"mode": mode, "apart": apart, "printed": printed}
            found[f"allocate {mode} {apart} {printed}"] = lambda h, _, o=options: a.stgm_allocate(
                h, CPUS, SMS, **o
            )
        for variant in ("sound", "gcaps"):
            options = {"mode": mode, "variant": variant}
            found[f"fmlp_plus {mode} {variant}"] = lambda h, _, o=options: a.fmlp_plus(h, CPUS, **o)
            found[f"partition fmlp_plus {mode} {variant}"] = lambda h, _, o=options: a.partition(
                h, CPUS, "fmlp_plus", **o
            )
    found["stgm paper, B_h"] = lambda h, _: a.stgm(h, CPUS, mode="busy", variant="paper, B_h")
    for mode in ("suspend", "busy", "spin"):
        found[f"mpcp {mode}"] = lambda h, _, o=mode: a.mpcp(h, CPUS, mode=o)
        found[f"partition mpcp {mode}"] = lambda h, _, o=mode: a.partition(h, CPUS, mode=o)
    server = np.arange(len(hosts)) % CPUS
    found["gpu_server"] = lambda h, at: a.gpu_server(h, CPUS, server=server[at], server_overhead=50)
    found["gpu_server apart"] = lambda h, _: a.gpu_server(h, CPUS)
    found["partition gpu_server"] = lambda h, _: a.partition(
        h, CPUS, "gpu_server", server_overhead=9
    )
    blocking = np.arange(hosts.period.size).reshape(hosts.period.shape) * 100
    for method in gs.analysis.GEDF_METHODS:
        found[f"gedf {method}"] = lambda h, at, o=method: a.gedf_tardiness(
            h, CPUS, blocking=blocking[at][..., : h.n], method=o
        )
        found[f"cpu_only {method}"] = lambda h, _, o=method: a.cpu_only(h, CPUS, 2.5, method=o)
        for variant in ("sound", "paper"):
            options = {"method": method, "variant": variant}
            for lock in ("fmlp", "omlp", "best"):
                found[f"srm {lock} {method} {variant}"] = lambda h, _, o=options, k=lock: a.srm(
                    h, CPUS, lock=k, **o
                )
            found[f"container {method} {variant}"] = lambda h, _, o=options: a.container(
                h, CPUS, whole_budget=True, **o
            )
    period = 1000 + 100 * np.arange(len(hosts))
    found["container"] = lambda h, at: a.container(h, CPUS, server_period=period[at])
    return found


def check_parts(answer: Any, hosts: HostTasks, call: Callable[[HostTasks, Any], Any]) -> None:
    """The answer for a stack is those for its sets, and nothing in the rows beyond."""
    every = np.arange(len(hosts))
    for i in every:
        alone = call(hosts[i], i)
        assert answer[i] == alone
        assert answer[i].why() == alone.why() and answer[i].assumptions == alone.assumptions
    beyond = ~hosts.is_task
    assert answer.response.mask[beyond].all() and answer.slack.mask[beyond].all()
    assert not answer.bounded[beyond].any()
    part = every[::2]
    assert answer[::2] == call(hosts[::2], part)
    mask = hosts.sizes < hosts.n
    if mask.any():
        assert answer[mask] == call(hosts[mask], every[mask])


@pytest.mark.long
@settings(deadline=None, max_examples=15)
@given(
    sizes=st.lists(st.integers(1, 7), min_size=1, max_size=5),
    seed=st.integers(0, 2**32),
    most=st.sampled_from([0.15, 0.4, 0.9]),
)
def test_answers_are_those_of_each_set(sizes: list[int], seed: int, most: float) -> None:
    hosts = drawn(sizes, seed, most)
    for call in calls(hosts).values():
        check_parts(call(hosts, np.arange(len(hosts))), hosts, call)


def test_large_sets_among_small_ones() -> None:
    """More than 64 tasks, whose sets of tasks are two words long; sharing SMs and then not."""
    hosts = drawn([70, 3, 66, 1, 5], 8, 0.05)
    for name, call in calls(hosts).items():
        if "allocate" not in name:
            check_parts(call(hosts, np.arange(len(hosts))), hosts, call)


@settings(deadline=None, max_examples=10)
@given(sizes=st.lists(st.integers(1, 4), min_size=1, max_size=4), seed=st.integers(0, 2**32))
def test_exhaustive_allocations_are_those_of_each_set(sizes: list[int], seed: int) -> None:
    hosts = drawn(sizes, seed, 0.7)
    for mode in ("suspend", "busy"):
        for states in (3, 10**6):

            def call(h: HostTasks, _: Any, o: Any = mode, s: int = states) -> Any:
                return gs.analysis.stgm_exhaustive(h, 2, 2, mode=o, states=s)

            check_parts(call(hosts, None), hosts, call)


def test_the_exhaustive_search_names_the_set_that_is_too_large() -> None:
    with pytest.raises(ValueError, match=r"^set 1: tasks: got 17, expected at most 16"):
        gs.analysis.stgm_exhaustive(drawn([3, 17], 1), 2, 2)


@pytest.mark.long
def test_elliott_sets_in_every_global_test() -> None:
    hosts = gs.generate.elliott("medium", count=60, seed=4)
    for name, call in calls(hosts).items():
        if name.startswith(("srm", "gedf", "cpu_only", "container", "partition")):
            check_parts(call(hosts, np.arange(len(hosts))), hosts, call)


def test_errors_name_set_and_task() -> None:
    late = STACK.replace(deadline=[[60, 80, 120], [50, 41, 0]])
    with pytest.raises(ValueError, match=r"^set 1: deadline\[1\]: got 41, expected a deadline"):
        gs.analysis.mpcp(late)
    with pytest.raises(ValueError, match=r"^core\[1, 0\]: got none, expected a core"):
        gs.analysis.mpcp(STACK.with_placement(core=[[0, 0, 0], [-1, 0, 0]]))
    with pytest.raises(ValueError, match=r"^set 1: sm\[1\]: got 0, expected at least one SM"):
        gs.analysis.stgm(STACK.with_placement(sm=[[[0], [0], [0]], [[0], [], [0]]]))
    with pytest.raises(ValueError, match=r"^deadline\[1, 1\]: got 41, expected 40, the period"):
        gs.analysis.srm(late, 2, method="devi_anderson")
    with pytest.raises(ValueError, match=r"^hosts: got a stack of 2 sets, expected one set"):
        gs.simulate.host(STACK, 2, until=10)


def test_an_answer_for_a_stack() -> None:
    answer = gs.analysis.mpcp(STACK)
    assert answer.response.tolist()[1][2] is None and answer.response.shape == (2, 3)
    assert all((terms[1, 2] == 0) for terms in answer.terms.values())
    frame = answer.to_frame()
    assert frame[["set", "task"]].values.tolist() == [[0, 0], [0, 1], [0, 2], [1, 0], [1, 1]]
    assert frame["response"].tolist() == answer.response.compressed().tolist()
    assert answer.why() == "2 of 2 sets schedulable; answer[i].why() explains set i."
    assert pickle.loads(pickle.dumps(answer)) == answer
    assert gs.analysis.partition(STACK, 2).hosts.core[1, 2] == -1
    tardy = gs.analysis.srm(STACK, 2)
    assert [len(row) for row in tardy.exact] == [3, 2] and tardy.meets_deadlines.tolist() == [
        gs.analysis.srm(one, 2).meets_deadlines for one in STACK
    ]
    assert len(tardy.to_frame()) == 5 and tardy.bounded.tolist()[1] == [True, True, False]


def test_answers_are_saved(tmp_path: Path) -> None:
    for answer in (gs.analysis.mpcp(STACK), gs.analysis.srm(STACK, 2)):
        answer.save(tmp_path / "answer")
        assert type(answer).load(tmp_path / "answer") == answer


# Simulations


def test_simulations_are_those_of_each_set() -> None:
    options: dict[str, Any] = {"until": 2000, "execution": (0.5, 1.0), "releases": 0.2, "seed": 3}
    hosts = drawn([4, 1, 6, 3], 5, 0.2)
    for way in ("stgm", "gpu_server", gs.ways.Srm(lock="omlp"), "container"):
        many = gs.simulate.host_responses(hosts, CPUS, way, **options)
        for i, one in enumerate(hosts):
            alone = gs.simulate.host_responses(one, CPUS, way, **options, first=i)
            assert many.worst[i, : one.n].tolist() == alone.worst.tolist()
            assert many.finished[i, : one.n].tolist() == alone.finished.tolist()
            assert not many.finished[i, one.n :].any() and not many.worst[i, one.n :].any()
            run = gs.simulate.host(one, CPUS, way, **options, index=i)
            assert run.worst.tolist() == alone.worst.tolist()


def test_the_victim_is_one_of_the_tasks_of_its_set() -> None:
    gs.simulate.host_responses(STACK, 2, "srm", until=100, victim=[2, 1])
    with pytest.raises(ValueError, match=r"victim"):
        gs.simulate.host_responses(STACK, 2, "srm", until=100, victim=[2, 2])
