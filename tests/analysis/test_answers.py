"""Common properties of all answers to schedulability questions, single sets and stacks."""

from __future__ import annotations

import copy
import dataclasses
import functools
import pickle
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import gpusched as gs
from gpusched.analysis import Answer

KERNELS = gs.generate.gpusched(4, 1.1, count=8, seed=3)
TABLES = gs.BatchTable.from_utilization(KERNELS, "large", seed=3)
RNG = np.random.default_rng(5)
FIFO = gs.KernelTasks(
    period=RNG.integers(20, 60, (8, 4)),
    block_time=RNG.integers(2, 14, (8, 4)) * np.array([1, 1, 1, 1, 1, 1, 9, 9])[:, None],
    blocks=RNG.integers(1, 5, (8, 4)),
    threads=RNG.integers(1, 5, (8, 4)),
)
HOSTS = gs.generate.stgm(5, 8, seed=4, cpus=2, sms=4)
PLACED = gs.analysis.stgm_allocate(HOSTS, 2, 4).hosts
PLACED = PLACED.with_placement(core=np.maximum(PLACED.core, 0))
SMALL = gs.generate.stgm(4, 8, seed=9, cpus=2, sms=2)
SPENT = gs.Budget(states=1)

Call = Callable[[Any, Any], Answer]

# Name: the stack, the other argument of each of its sets, and the method.
METHODS: dict[str, tuple[Any, Any, Call]] = {
    "search": (KERNELS, TABLES, gs.pbs.search),
    "search, idling": (KERNELS, TABLES, lambda t, b: gs.pbs.search(t, b, idling=True)),
    "search, spent": (
        *(KERNELS, TABLES),
        lambda t, b: gs.pbs.search(t, b, thorough=True, budget=SPENT),
    ),
    "edf_serial": (KERNELS, TABLES, gs.pbs.edf_serial),
    "edf_parallel": (KERNELS, TABLES, gs.pbs.edf_parallel),
    "fifo_bound": (FIFO, None, lambda t, _: gs.analysis.fifo_bound(t, 12)),
    "fifo_limit": (FIFO, None, lambda t, _: gs.analysis.fifo_limit(t, 12)),
    "stgm": (PLACED, None, lambda h, _: gs.analysis.stgm(h, 2, 4)),
    "stgm, paper": (PLACED, None, lambda h, _: gs.analysis.stgm(h, 2, 4, variant="paper")),
    "mpcp": (PLACED, None, lambda h, _: gs.analysis.mpcp(h, 2, 4)),
    "fmlp_plus": (PLACED, None, lambda h, _: gs.analysis.fmlp_plus(h, 2, 4, mode="busy")),
    "gpu_server": (PLACED, None, lambda h, _: gs.analysis.gpu_server(h, 2, 4, server_overhead=3)),
    "partition": (HOSTS, None, lambda h, _: gs.analysis.partition(h, 2, "gpu_server")),
    "stgm_allocate": (HOSTS, None, lambda h, _: gs.analysis.stgm_allocate(h, 2, 4)),
    "stgm_exhaustive": (SMALL, None, lambda h, _: gs.analysis.stgm_exhaustive(h, 2, 2)),
    "stgm_exhaustive, spent": (
        *(SMALL, None),
        lambda h, _: gs.analysis.stgm_exhaustive(h, 2, 2, states=3),
    ),
    "srm": (HOSTS, None, lambda h, _: gs.analysis.srm(h, 2)),
    "container": (HOSTS, None, lambda h, _: gs.analysis.container(h, 2)),
    "cpu_only": (HOSTS, None, lambda h, _: gs.analysis.cpu_only(h, 2, 4)),
    "gedf_tardiness": (HOSTS, None, lambda h, _: gs.analysis.gedf_tardiness(h, 2)),
}
# Single sets only.
SINGLE: dict[str, Call] = {
    "repeating": lambda t, b: gs.pbs.search(t, b, repeating=True),
    "policy": lambda t, b: gs.pbs.search(t, b, policy=True),
    "graph": lambda t, b: gs.pbs.search(t, b, method="graph"),
    "graph, paper": lambda t, b: gs.pbs.search(t, b, method="graph", variant="paper"),
    "pbs.partition": lambda t, b: gs.pbs.partition(t, b, gpus=2),
    "pbs.partition, one": lambda t, b: gs.pbs.partition(t, b, gpus=1, idling=True),
    "pbs.partition, spent": lambda t, b: gs.pbs.partition(t, b, budget=SPENT),
    "graph.search": lambda t, b: gs.pbs.graph.search(t, b, graph=True),
    "graph.search, spent": lambda t, b: gs.pbs.graph.search(t, b, budget={"states": 1}),
}
# Fields that the answer for a stack does not keep.
LEFT_OUT = {"schedule", "certificate", "policy", "repeats", "states", "bytes", "seconds"}


# (name, number of the set): every method for three sets, and those for single sets.
ONES = [(name, i) for name in (*METHODS, *SINGLE) for i in (0, 3, 6)]


@functools.cache
def stack_of(name: str) -> Answer:
    tasks, more, call = METHODS[name]
    return call(tasks, more)


@functools.cache
def one_of(name: str, i: int) -> Answer:
    if name in SINGLE:
        return SINGLE[name](KERNELS[i], TABLES[i])
    tasks, more, call = METHODS[name]
    return call(tasks[i], None if more is None else more[i])


def equal(one: Any, other: Any) -> bool:
    """Equality of two fields; of masked arrays with their masks."""
    if isinstance(one, np.ma.MaskedArray):
        return np.array_equal(one.mask, other.mask) and np.array_equal(one.data, other.data)
    if isinstance(one, Mapping):
        return all(equal(value, other[key]) for key, value in one.items())
    return bool(np.all(one == other))


@pytest.mark.parametrize(("name", "i"), ONES)
def test_one_set(name: str, i: int) -> None:
    answer = one_of(name, i)
    assert isinstance(answer, Answer) and not answer.is_stack
    flags = (answer.accepted, answer.rejected, answer.undecided)
    assert all(type(flag) is bool for flag in flags) and sum(flags) == 1
    assert answer.schedulable is {0: True, 1: False, 2: None}[flags.index(True)]
    assert answer.claim in ("exact", "sufficient", "necessary", "simulation")
    if answer.claim == "sufficient" and name != "fifo_bound":
        assert not answer.rejected
    assert answer.claim != "necessary" or not answer.accepted
    assert answer.assumptions and all(text.endswith(".") for text in answer.assumptions)
    assert answer.seconds >= 0
    n = answer._tasks.n
    assert len(answer) == n
    assert answer.response.shape == answer.slack.shape == answer.bounded.shape == (n,)
    assert answer.response.dtype == answer.slack.dtype == np.int64
    assert not answer.response.mask[answer.bounded].any()
    assert (answer.slack.mask == ~answer.bounded).all()
    known = answer.bounded
    expected = answer._tasks.deadline - answer.response
    assert (answer.slack[known] == expected[known]).all()
    if answer.accepted and "deadlines" not in repr(answer):
        assert (answer.slack >= 0).all()
    # Values below the mask must not look like responses within the deadline.
    assert (np.asarray(answer.response)[answer.response.mask] > 2**62).all()
    assert (np.asarray(answer.slack)[~known] < -(2**62)).all()


@pytest.mark.parametrize("name", METHODS)
def test_a_stack(name: str) -> None:
    answer = stack_of(name)
    assert isinstance(answer, Answer) and answer.is_stack and len(answer) == 8
    flags = (answer.accepted, answer.rejected, answer.undecided)
    assert all(flag.shape == (8,) and flag.dtype == np.bool_ for flag in flags)
    assert (np.sum(flags, axis=0) == 1).all()
    assert (answer.schedulable == answer.accepted).all()
    n = answer._tasks.n
    assert answer.response.shape == answer.slack.shape == answer.bounded.shape == (8, n)


@pytest.mark.parametrize("name", METHODS)
def test_a_stack_indexes_like_an_array(name: str) -> None:
    answer = stack_of(name)
    kind = type(answer)
    for i in (0, 3, 6):
        part, one = answer[i], one_of(name, i)
        assert type(part) is type(one) is kind and not part.is_stack
        for field in dataclasses.fields(kind):
            if field.name not in LEFT_OUT:
                assert equal(getattr(part, field.name), getattr(one, field.name)), field.name
        assert (part.accepted, part.rejected) == (one.accepted, one.rejected)
        assert part.schedulable is one.schedulable and part.claim == one.claim
        if kind is not gs.pbs.Search and kind is not gs.pbs.Edf:  # these keep no schedules
            assert part == one and part.why() == one.why() and part.why(1) == one.why(1)
            assert equal(part.response, one.response) and equal(part.slack, one.slack)
    some = answer[2:5]
    assert type(some) is kind and some.is_stack and len(some) == 3
    assert some[1] == answer[3] and answer[-1] == answer[7]
    assert answer[[2, 3, 4]] == some and len(answer[:0]) == 0
    assert len(answer[answer.accepted]) == answer.accepted.sum()
    assert [part.accepted for part in answer] == answer.accepted.tolist()
    for index, error in ((8, IndexError), ("a", TypeError), (True, TypeError), (1.5, TypeError)):
        with pytest.raises(error, match="sets: got"):
            answer[index]  # type: ignore[index]
    with pytest.raises(TypeError, match="expected a stack"):
        one_of(name, 0)[0]


@pytest.mark.parametrize(("name", "i"), [*((name, None) for name in METHODS), *ONES])
def test_words(name: str, i: int | None) -> None:
    answer = stack_of(name) if i is None else one_of(name, i)
    text = repr(answer)
    assert text.startswith(f"<{type(answer).__name__}: ") and len(text) < 200
    assert 0 < len(answer._repr_html_()) < 10_000
    why = answer.why()
    assert isinstance(why, str) and why.endswith(".") and "  " not in why
    if i is None:
        assert "sets schedulable" in text and "sets schedulable" in why
        with pytest.raises(ValueError, match="expected None for a stack"):
            answer.why(0)
        return
    words = {True: "schedulable", False: "not schedulable", None: "undecided"}
    assert f": {words[answer.schedulable]} (" in text
    for task in (0, answer._tasks.name[1]):
        assert isinstance(answer.why(task), str) and answer.why(task).endswith(".")
    with pytest.raises(IndexError):
        answer.why(99)


@pytest.mark.long
@pytest.mark.parametrize(("name", "i"), [*((name, None) for name in METHODS), *ONES])
def test_copies_and_files(name: str, i: int | None, tmp_path: Path) -> None:
    answer = stack_of(name) if i is None else one_of(name, i)
    path = tmp_path / "answer"
    answer.save(path)
    for again in (
        type(answer).load(path),
        pickle.loads(pickle.dumps(answer)),
        copy.deepcopy(answer),
    ):
        assert type(again) is type(answer) and again == answer
        assert equal(again.seconds, answer.seconds) and repr(again) == repr(answer)
        assert equal(again.response, answer.response) and again.why() == answer.why()
        for field in dataclasses.fields(again):
            value = getattr(again, field.name)
            assert not isinstance(value, np.ndarray) or not value.flags.writeable
    with pytest.raises(ValueError, match="expected a saved GPU"):
        gs.GPU.load(path)


@pytest.mark.parametrize(("name", "i"), [*((name, None) for name in METHODS), *ONES])
def test_frames(name: str, i: int | None) -> None:
    pandas = pytest.importorskip("pandas")
    answer = stack_of(name) if i is None else one_of(name, i)
    frame = answer.to_frame()
    assert isinstance(frame, pandas.DataFrame) and "schedulable" in frame
    sets, n = (8 if i is None else 1), answer._tasks.n
    assert len(frame) in (sets, sets * n)
    flags = frame["schedulable"].to_numpy(dtype=object)[:: len(frame) // sets]
    for k, flag in enumerate(flags):
        expected = (answer[k] if i is None else answer).schedulable
        assert flag is pandas.NA if expected is None else flag == expected


@pytest.mark.python
@pytest.mark.parametrize(("name", "i"), [*((name, None) for name in METHODS), *ONES[::3]])
def test_pictures(name: str, i: int | None) -> None:
    plt = pytest.importorskip("matplotlib.pyplot")
    answer = stack_of(name) if i is None else one_of(name, i)
    ax = answer.plot()
    figure, mine = plt.subplots()
    assert answer.plot(mine) is mine
    plt.close(figure)
    plt.close(ax.figure)


def test_every_outcome_occurs() -> None:
    seen = set()
    for name in METHODS:
        answer = stack_of(name)
        for word in ("accepted", "rejected", "undecided"):
            if getattr(answer, word).any():
                seen.add((answer.claim, word))
    assert {("exact", word) for word in ("accepted", "rejected", "undecided")} <= seen
    assert {("sufficient", word) for word in ("accepted", "rejected", "undecided")} <= seen


def test_a_policy_and_its_runs(tmp_path: Path) -> None:
    pytest.importorskip("pandas")
    plt = pytest.importorskip("matplotlib.pyplot")
    accepted = np.flatnonzero(stack_of("search").accepted)
    found = gs.pbs.search(KERNELS[accepted[0]], TABLES[accepted[0]], policy=True)
    policy = found.policy
    assert policy is not None and found.schedule is not None
    policy.save(tmp_path / "policy")
    again = gs.pbs.Policy.load(tmp_path / "policy")
    assert again == policy == copy.deepcopy(policy)
    assert again.safe(0, 0b1111) == policy.safe(0, 0b1111)
    frame = policy.to_frame()
    assert len(frame) == len(policy.first) and (frame["first"] <= frame["last"]).all()
    row = frame[frame["interval"] == 0].iloc[0]
    assert [int(row["first"]), int(row["last"])] in policy.feasible(row["pending"]).tolist()
    plt.close(policy.plot().figure)
    assert "spans" in repr(policy) and len(policy._repr_html_()) < 500
    play = policy.play(found.schedule, runs=3, seed=1)
    assert len(play.to_frame()) == len(play) == 3 and "3 runs" in repr(play)
    play.save(tmp_path / "play")
    assert gs.pbs.Play.load(tmp_path / "play") == play


@pytest.mark.long
@pytest.mark.source
def test_types_are_precise(tmp_path: Path) -> None:
    """A misspelt attribute of a result is an error to a type checker."""
    api = pytest.importorskip("mypy.api")
    code = tmp_path / "user.py"
    code.write_text(
        """
import gpusched as gs

tasks = gs.KernelTasks([4, 6], [2, 3])
table = gs.BatchTable([0, 2, 3, 4])
gs.pbs.search(tasks, table).schedulabel
gs.pbs.edf_serial(tasks, table).scheduel
gs.pbs.search(tasks, table).policy.safe(0, 3)
gs.analysis.fifo_bound(tasks, 8).bound
gs.analysis.stgm(gs.HostTasks([5], [1])).respons
share: float = float(gs.pbs.search(tasks, table).schedulable.mean())
""",
        encoding="utf-8",
    )
    text, _, _ = api.run(["--strict", str(code)])
    # mypy repeats from its cache what it said of an equal file of an earlier run.
    lines = [int(line.split(":")[1]) for line in text.splitlines() if code.name in line]
    assert sorted({*lines}) == [6, 7, 8, 9, 10], text
