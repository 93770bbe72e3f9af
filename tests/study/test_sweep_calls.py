"""Short calls of sweeps, of which a worker makes several before it answers."""

import os
import signal
import threading
import time
from collections import Counter

import numpy as np
import pytest

import gpusched as gs
from gpusched.study import workers
from gpusched.study.engine import Planner
from gpusched.study.point_results import PerSet
from gpusched.study.reductions import Mean, Reduction
from gpusched.study.workers import Call, perform

pytestmark = pytest.mark.python


@pytest.fixture(autouse=True)
def patient(monkeypatch):
    """A worker makes all calls that were planned, however slow the machine is."""
    monkeypatch.setattr(workers, "_SECONDS", 1e9)


def sweep(function, **options):
    return gs.sweep(
        function,
        {"x": [1, 2]},
        **{"count": 600, "seed": 1, "progress": False, "spot_check": False, **options},
    )


def squares(*, x, count, first, seed):
    return {"v": x * np.arange(first, first + count) ** 2.0}


def call(function, size, each, keep=False, reduce=None, flag=None):
    accumulator = PerSet(reduce or {})
    seed = np.random.SeedSequence(1)
    return Call(function, accumulator, {"x": 1}, {}, seed, 10, size, each, keep, flag)


@pytest.mark.parametrize("chunk", [1, 3, 7])
@pytest.mark.parametrize("workers", [1, 3])
def test_every_set_is_computed_once_in_calls_of_the_given_size(chunk, workers):
    made = []

    def function(*, x, count, first, seed):
        made.append((x, first, count))
        return squares(x=x, count=count, first=first, seed=seed)

    table = sweep(function, chunk=chunk, workers=workers, keep=True)
    assert table == sweep(squares, keep=True)
    sizes = Counter()
    for x, first, count in made:
        sizes.update((x, k) for k in range(first, first + count))
        assert count <= chunk
    assert sizes == Counter((x, k) for x in (1, 2) for k in range(600))
    assert sum(count < chunk for _, _, count in made) <= 2 * (600 % chunk > 0)


def test_several_calls_have_one_state_and_the_arrays_of_all():
    done = perform(call(squares, 20, 3, keep=True))
    assert done.failure is None
    (part,) = done.parts
    assert (part.first, part.size) == (10, 20)
    assert part.arrays["v"].tolist() == [k * k for k in range(10, 30)]
    assert part.state == PerSet({}).state(part.arrays)


def test_arrays_of_different_types_keep_their_own_states():
    def function(*, x, count, first, seed):
        return {"v": np.full(count, first, np.float32 if first == 12 else np.int64)}

    parts = perform(call(function, 4, 1, keep=True)).parts
    assert [part.arrays["v"].dtype.kind for part in parts] == ["i", "i", "f", "i"]
    assert [part.first for part in parts] == [10, 11, 12, 13]

    def mixed(*, x, count, first, seed):
        return {"v": np.ones(count, np.bool_ if first < 300 else np.float64)}

    with pytest.raises(gs.SweepError, match=r"at x=1: 'v': got verdicts and other numbers, exp"):
        sweep(mixed, chunk=1, workers=1)


class Calls(Reduction):
    """Number of calls, which the reductions of the package could not see."""

    def reduce(self, values, others):
        return 1

    def join(self, one, other):
        return one + other

    def columns(self, name, state):
        return {f"{name}_calls": state}


def test_reductions_of_the_users_see_every_call():
    table = sweep(squares, chunk=4, reduce={"v": [Mean(), Calls()]})
    assert table["v_calls"].tolist() == [150, 150]


def test_memory_that_is_used_again_by_short_calls():
    memory = np.zeros(1)

    def function(*, x, count, first, seed):
        memory[0] = x * first
        return {"v": memory}

    table = sweep(function, chunk=1, workers=1, keep=True)
    assert table.values["v"].tolist() == [list(range(600)), list(range(0, 1200, 2))]
    assert table["v"].tolist() == [299.5, 599.0]


def failing_at(set_, error):
    def function(*, x, count, first, seed):
        if x == 2 and first <= set_ < first + count:
            if isinstance(error, Exception):
                raise error
            return {"v": error}
        return {"v": np.ones(count, np.int8)}

    return function


@pytest.mark.parametrize(
    ("error", "message"),
    [
        (ZeroDivisionError("no"), "ZeroDivisionError: no"),
        (np.array([1, 3], np.int8), "'v': got 3, expected verdicts"),
        (np.zeros(3), r"'v': got shape \(3,\), expected \(2,\)"),
    ],
)
def test_a_failure_among_short_calls_names_the_call(tmp_path, error, message):
    store = tmp_path / "store"
    with pytest.raises(gs.SweepError, match=rf"^at x=2, task sets 400 to 401: {message}"):
        sweep(failing_at(400, error), chunk=2, workers=1, store=store, key="k")
    # The results before it are kept.
    assert gs.open_store(store).sets[0] == 600 and gs.open_store(store).sets[1] >= 400


def test_the_first_of_several_failures_is_reported():
    def function(*, x, count, first, seed):
        if first == 15:
            raise ZeroDivisionError("later")
        return {"v": np.full(count, 3 if first == 13 else 1, np.int8)}

    done = perform(call(function, 8, 1))
    assert [(part.first, part.size) for part in done.parts] == [(10, 1), (11, 1), (12, 1)]
    assert (done.failure.first, done.failure.message[:10]) == (13, "'v': got 3")


def test_a_worker_answers_when_a_call_was_long(monkeypatch):
    monkeypatch.undo()

    def function(*, x, count, first, seed):
        if first == 12:
            time.sleep(0.01)
        return squares(x=x, count=count, first=first, seed=seed)

    done = perform(call(function, 20, 1))
    assert done.failure is None
    assert sum(part.size for part in done.parts) <= 3

    def slow(*, x, count, first, seed):
        if first % 100 == 50:
            time.sleep(0.01)
        return squares(x=x, count=count, first=first, seed=seed)

    assert sweep(slow, chunk=1, keep=True) == sweep(squares, keep=True)


def test_every_call_has_a_seed_of_its_own():
    kept = []

    def function(*, x, count, first, seed):
        kept.append(seed)
        with pytest.raises(ValueError, match="read-only"):
            seed.pool[0] = 0
        (child,) = seed.spawn(1)
        return {"v": np.full(count, np.random.default_rng(child).random())}

    with pytest.warns(UserWarning, match="reads its seed but not `first`"):
        table = sweep(function, chunk=1, workers=1, keep=True)
    assert all(len(set(row)) == 1 for row in table.values["v"].tolist())
    assert len({id(seed) for seed in kept}) == 1200
    assert {seed.n_children_spawned for seed in kept} == {1}
    first = kept[0]
    again = np.random.SeedSequence(first.entropy, spawn_key=first.spawn_key)
    assert first.generate_state(4).tolist() == again.generate_state(4).tolist()


def test_no_call_begins_after_the_end_of_the_sweep():
    flag = bytearray(1)

    def function(*, x, count, first, seed):
        flag[0] = first == 12
        return squares(x=x, count=count, first=first, seed=seed)

    assert sum(part.size for part in perform(call(function, 20, 1, flag=flag)).parts) == 3


@pytest.mark.skipif(os.name != "posix", reason="sends a signal")
def test_an_interrupt_among_short_calls_ends_all_of_them():
    made, main, before = [], threading.main_thread(), set(threading.enumerate())

    def function(*, x, count, first, seed):
        made.append(first)
        if len(made) == 300:
            signal.pthread_kill(main.ident, signal.SIGINT)
        return squares(x=x, count=count, first=first, seed=seed)

    with pytest.raises(KeyboardInterrupt):
        sweep(function, count=10**6, chunk=1, workers=2)
    for thread in set(threading.enumerate()) - before:
        thread.join()
    assert 300 <= len(made) < 10**6


def test_planner_gives_out_short_calls_together():
    planner = Planner(2, None, width=1)
    planner.add(0, 0, 2001)
    assert planner.next() == (0, 0, 2, 2)
    planner.measured(0, 2, 2e-6)
    assert planner.next() == (0, 2, 16, 2)
    planner.measured(0, 16, 0.016)
    assert planner.next() == (0, 18, 2, 2), "calls of a millisecond each"
    planner.put_back(0, 18, 20)
    assert planner.next() == (0, 18, 2, 2)
    planner.measured(0, 1000, 1e-6)
    assert planner.next() == (0, 20, 990, 2), "half of the rest"
    planner.measured(0, 1000, 1e-6)
    while (call := planner.next()) is not None:
        last = call
    assert last == (0, 2000, 1, 2)


def test_planner_uses_measures_of_other_points_for_short_calls():
    planner = Planner(1, 50, width=1)
    planner.add(0, 0, 10)
    planner.add(1, 0, 1000)
    assert [planner.next() for _ in range(10)] == [(0, k, 1, 1) for k in range(10)]
    planner.measured(0, 10, 1e-5)
    assert planner.next() == (1, 0, 50, 1), "at most the largest number of sets"
