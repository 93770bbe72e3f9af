"""Points of a grid: one text for equal values, seeds and keys by values."""

import enum
import functools
import math
import subprocess
import sys
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import gpusched as gs
from gpusched.study.points import axes_of, canonical, key_of, points_of, seeds_of, spawn

pytestmark = pytest.mark.python


class Color(enum.Enum):
    RED = 1
    BLUE = 2


@dataclass(frozen=True)
class Setting:
    a: int
    b: str


class Plain:
    def __init__(self, a):
        self.a = a


EQUAL = [
    (1, 1.0, np.int64(1), np.float32(1), Fraction(1), Decimal(1), np.uint8(1)),
    (0.5, np.float64(0.5), np.float32(0.5), Fraction(1, 2), Decimal("0.5")),
    (0, -0.0, 0.0),
    (math.nan, float("nan"), np.float64("nan")),
    (math.inf, np.float32("inf"), Decimal("Infinity")),
    (True, np.True_),
    (None,),
    ("a", np.str_("a")),
    (b"a", bytearray(b"a")),
    ((1, 2), [1.0, 2], range(1, 3)),
    ({1, 2}, frozenset([2, 1])),
    ({"a": 1, "b": 2}, {"b": 2, "a": 1.0}),
    (np.array([1, 2]), np.array([1.0, 2.0])),
    (Color.RED,),
    (Setting(1, "x"), Setting(1, "x")),
    (Plain(1), Plain(1.0)),
    (functools.partial(max, 1), functools.partial(max, 1)),
    (gs.GPU(8, 1024, 32), gs.GPU(8, 1024, 32)),
]
DISTINCT = [one[0] for one in EQUAL] + [
    *("1", 2, 10**400, 1e300, -1, Color.BLUE, Setting(2, "x"), Setting(1, "y"), Plain(2), max, min),
    *(functools.partial(max, 2), functools.partial(min, 1), np.array([[1, 2]]), (1, (2,)), b""),
    *(gs.GPU(9, 1024, 32), len, "None", "True", np.array([1, 3]), {"a": 1}, [], (None,), gs.GPU),
]


@pytest.mark.parametrize("values", EQUAL, ids=lambda values: repr(values[0])[:30])
def test_equal_values_have_one_text(values):
    assert len({canonical(value, "x") for value in values}) == 1


def test_different_values_have_different_texts():
    texts = [canonical(value, "x") for value in DISTINCT]
    assert len(set(texts)) == len(texts)


@given(
    st.floats(allow_nan=False, allow_infinity=False),
    st.floats(allow_nan=False, allow_infinity=False),
)
def test_floats_have_one_text_exactly_when_they_are_equal(one, other):
    assert (canonical(one, "x") == canonical(other, "x")) == (one == other)


def test_values_without_contents_to_compare_are_refused():
    nested = []
    for _ in range(1000):
        nested = [nested]
    cycle = []
    cycle.append(cycle)
    for value, message in (
        (
            (i for i in ()),
            r"x: got <generator.*, expected a value whose contents can be compared, or s",
        ),
        (nested, "x: got values nested more than 50 deep, expected fewer"),
        (cycle, "x: got values nested more than 50 deep, expected fewer"),
    ):
        with pytest.raises(ValueError, match=message):
            canonical(value, "x")


def seeds(grid, names=None, seed=1):
    axes = axes_of(grid, ())
    points = points_of(axes)
    states = [
        tuple(one.generate_state(4).tolist())
        for one in seeds_of(spawn(seed), points, axes if names is None else names)
    ]
    return {
        tuple(sorted((k, repr(v)) for k, v in p.items())): s
        for p, s in zip(points, states, strict=True)
    }


def test_seeds_depend_on_values_and_not_on_places():
    small = seeds({"a": [2, 3], "b": ["x"]})
    large = seeds({"b": ["w", "x"], "a": [1, 3, 2]})
    assert small.items() <= large.items()
    assert len(set(large.values())) == 6
    assert set(seeds({"a": [2, 3], "b": ["x"]}, seed=2).values()).isdisjoint(small.values())


def test_seeds_by_some_parameters_only():
    found = seeds({"a": [1, 2], "method": ["x", "y", "z"]}, ["a"])
    assert len(set(found.values())) == 2
    alone = seeds({"a": [1, 2]})
    assert set(found.values()) == set(alone.values()), "as without the other parameters"


def test_seeds_and_keys_are_the_same_in_every_process():
    point = "{'a': 0.1, 'b': ('x', frozenset(['p', 'q', 'r']))}"
    code = (
        "from gpusched.study.points import key_of, seeds_of, spawn\n"
        f"point = {point}\n"
        "seed, = seeds_of(spawn(5), [point], point)\n"
        "print(key_of(point), *seed.generate_state(2))"
    )
    here = eval(point)
    (seed,) = seeds_of(spawn(5), [here], here)
    expected = [key_of(here), *map(str, seed.generate_state(2))]
    for salt in ("0", "1"):
        found = subprocess.run(
            [sys.executable, "-c", code],
            capture_output=True,
            text=True,
            check=True,
            env={**__import__("os").environ, "PYTHONHASHSEED": salt},
        )
        assert found.stdout.split() == expected


def test_the_same_sets_for_several_methods():
    def study(*, n, method, count, first, seed):
        words = [spawn(seed, first + i).generate_state(1)[0] / 2**32 for i in range(count)]
        return {"u": np.array(words)}

    grid = {"method": ["one", "two"], "n": [4, 8]}
    table = gs.sweep(study, grid, count=5, seed=1, seed_by="n", keep=True, progress=False)
    values = table.values["u"]
    assert np.array_equal(values[0], values[2]) and np.array_equal(values[1], values[3])
    assert not np.array_equal(values[0], values[1])


def test_grids_that_are_refused():
    for grid, error, message in (
        ({"a": [1, True]}, None, ""),
        (
            {"a": ["x", "x"]},
            ValueError,
            r"grid\['a'\]: got 'x' and 'x' \(values 0 and 1\), expected",
        ),
        (
            {"a": [lambda: 1, lambda: 2]},
            ValueError,
            r"grid\['a'\]: got <function.*values that differ",
        ),
        ({3: [1]}, TypeError, "grid: got the parameter 3, expected a string"),
    ):
        if error is None:
            axes_of(grid, ())
        else:
            with pytest.raises(error, match=message):
                axes_of(grid, ())
