"""Functions of sweeps that use memory, seeds, arrays and reductions in unusual ways."""

import math

import numpy as np
import pytest

import gpusched as gs
from gpusched.study.reductions import Extremes, Mean, Reduction


def sweep(function, **options):
    return gs.sweep(
        function, {"x": [1, 2]}, **{"count": 12, "seed": 1, "progress": False, **options}
    )


@pytest.mark.parametrize("stored", [False, True])
def test_results_in_memory_that_is_used_again(tmp_path, stored):
    memory = np.zeros(12)

    def function(*, x, count, first, seed):
        memory[:count] = x * np.arange(first, first + count)
        return {"v": memory[:count]}

    store = {"store": tmp_path / "s", "key": "memory"} if stored else {}
    for _ in range(2):
        table = sweep(function, chunk=5, workers=1, keep=True, **store)
        assert table.values["v"].tolist() == [list(range(12)), list(range(0, 24, 2))]


def spawning(*, x, count, first, seed):
    children = seed.spawn(first + count)[first:]
    return {"v": np.array([np.random.default_rng(child).random() for child in children])}


def test_every_call_begins_with_the_same_seed():
    assert sweep(spawning, keep=True, chunk=5) == sweep(spawning, keep=True, chunk=12)


def returning(value):
    return lambda *, x, count, first, seed: {"v": value(first, count)}


def test_masked_values_are_refused():
    masked = returning(lambda first, count: np.ma.array(np.ones(count), mask=np.arange(count) == 1))
    with pytest.raises(gs.SweepError, match="'v': got masked values, expected"):
        sweep(masked)
    assert sweep(returning(lambda first, count: np.ma.ones(count)))["v"].tolist() == [1, 1]


def test_long_doubles_are_rounded_to_doubles(tmp_path):
    large = np.longdouble(2) ** 1023
    wide = returning(lambda first, count: np.full(count, large * 4))
    table = sweep(wide, count=40, reduce={"v": [Mean(), Extremes()]}, store=tmp_path / "s", key="w")
    expected = [float(large * 4)] * 2
    assert table["v"].tolist() == table["v_min"].tolist() == expected


def test_extremes_have_no_negative_zero():
    signed = returning(lambda first, count: np.where(np.arange(count) + first, 0.0, -0.0))
    for chunk in (1, 12):
        table = sweep(signed, chunk=chunk, reduce={"v": Extremes()})
        ends = [*table["v_min"], *table["v_max"]]
        assert [math.copysign(1, end) for end in ends] == [1] * 4


class Unreadable:
    def __array__(self, *arguments, **options):
        raise RuntimeError("no values")


def test_errors_of_results_name_the_point():
    for value, text in ((Unreadable(), "RuntimeError: no values"), ("x", "'v': got shape")):
        with pytest.raises(gs.SweepError, match=rf"at x=1, task sets \d+ to \d+: {text}"):
            sweep(returning(lambda first, count, value=value: value))
    with pytest.raises(gs.SweepError, match="got the name 0, expected a string"):
        sweep(lambda *, x, count, first, seed: {0: np.ones(count)})


class Untold(Exception):
    def __str__(self):
        raise RuntimeError("no text")


@pytest.mark.parametrize("error", [SystemExit(3), Untold()])
def test_a_function_that_exits_or_raises_an_error_without_text(error):
    def function(*, x, count, first, seed):
        raise error

    with pytest.raises(gs.SweepError, match=rf"sets 0 to 11: {type(error).__name__}") as caught:
        sweep(function, chunk=12)
    assert caught.value.__cause__ is error


def test_a_function_without_a_signature():
    with pytest.raises(gs.SweepError, match=r"at x=1, task sets .*: TypeError"):
        sweep(max)
    with pytest.raises(TypeError, match=r"grid\['x'\]: got array\(3\), expected a list of values"):
        gs.sweep(max, {"x": np.array(3)}, count=1)


class Own(Reduction):
    """A reduction of which one method is replaced."""

    def __init__(self, **methods):
        self.methods = methods

    def reduce(self, values, others):
        return self.methods.get("reduce", lambda values: [int(values.sum()), (1, 2)])(values)

    def join(self, one, other):
        return self.methods.get("join", lambda a, b: [a[0] + b[0], a[1]])(one, other)

    def columns(self, name, state):
        return self.methods.get("columns", lambda state: {"sum": state[0]})(state)


def fail(*_):
    raise TypeError("broken")


@pytest.mark.parametrize("method", ["reduce", "join", "columns"])
def test_errors_of_reductions_name_them(method):
    ones = returning(lambda first, count: np.ones(count))
    with pytest.raises(gs.SweepError, match=f"Own.{method}: TypeError: broken"):
        sweep(ones, chunk=5, reduce={"v": Own(**{method: fail})})


def test_states_of_reductions_are_those_of_a_store():
    states = []

    def columns(state):
        states.append(state)
        return {"sum": state[0]}

    ones = returning(lambda first, count: np.ones(count))
    assert sweep(ones, reduce={"v": Own(columns=columns)})["sum"].tolist() == [12, 12]
    assert states[-1] == [12, [1, 2]]
    with pytest.raises(gs.SweepError, match=r"Own.reduce: got the state .*, expected numbers"):
        sweep(ones, reduce={"v": Own(reduce=lambda values: np.int64(1))})


@pytest.mark.parametrize(
    ("result", "text"),
    [
        ({"x": 1}, "got a quantity with the column 'x', expected another name"),
        ({"count": 1}, "got a quantity with the column 'count', expected another name"),
        ({"q": True, "q_low": 1}, "got two quantities with the column 'q_low'"),
    ],
)
def test_columns_that_collide_end_a_sweep_with_its_first_call(result, text):
    calls = []

    def function(*, x, count, first, seed):
        calls.append(first)
        return {name: np.full(count, value) for name, value in result.items()}

    with pytest.raises(gs.SweepError, match=f"at x=1: .*{text}"):
        sweep(function, count=10**6, chunk=1, workers=1)
    assert len(calls) < 1000
