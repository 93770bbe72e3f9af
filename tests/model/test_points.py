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
from gpusched._support.arguments import spawn
from gpusched.study.points import (
    axes_of,
    canonical,
    column_of,
    describe,
    key_of,
    plain_value,
    points_of,
    seeds_of,
)

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
            r"x: got <generator.*, expected a value whose contents can be compared \(",
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
        "from gpusched._support.arguments import spawn\n"
        "from gpusched.study.points import key_of, seeds_of\n"
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


class Level(enum.IntEnum):
    LOW = 1
    HIGH = 2


class Time(float):
    unit = 1.0


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (np.timedelta64(5, "ns"), np.timedelta64(5, "Y")),
        (np.timedelta64(5, "ns"), 5),
        (np.datetime64("NaT", "ns"), None),
        (np.array([5], "m8[ns]"), np.array([5], "m8[Y]")),
        pytest.param(10**5000, 10**5000 + 1, id="digits"),
        (Decimal("1e999999999"), Decimal("1e999999998")),
        (Decimal("1e400"), math.inf),
        (np.longdouble(2) ** 2000, math.inf),
    ],
)
def test_values_that_differ(one, other):
    assert len({key_of({"x": value}) for value in (one, other)}) == 2
    assert plain_value(one) != plain_value(other)


def test_equal_numbers_of_many_digits():
    assert canonical(10**5000, "x") == canonical(Decimal("1e5000"), "x")
    assert key_of({"x": 10**5000}) != key_of({"x": Decimal("1e5000")})
    assert key_of({"x": Decimal("10e99999")}) == key_of({"x": Decimal("1e100000")})
    assert "bits" in describe({"x": 10**5000})


@pytest.mark.parametrize(
    "values",
    [
        [2**53 + 1, 0.5],
        [2**63 + 1, -1],
        ["a", "a\0"],
        [np.str_("a"), 1],
        [10**5000, 1],
        [True, math.nan],
        [np.timedelta64(5, "Y")],
        [np.datetime64(1, "ns"), np.datetime64(2, "ns")],
        list(Level),
    ],
)
def test_columns_hold_values_as_they_are(values):
    column = column_of(values)
    assert all(a == b or (a != a and b != b) for a, b in zip(column, values, strict=True))
    assert all(
        isinstance(a, str) == isinstance(b, str) for a, b in zip(column, values, strict=True)
    )


def ratio(*, x, count, first, seed):
    return {"v": np.full(count, float(x) * getattr(x, "unit", 1))}


def test_objects_that_are_numbers_belong_to_a_stored_study(tmp_path, monkeypatch):
    """The value of a member, or of an attribute of its class, may change, its name not."""

    def run(values):
        return gs.sweep(
            ratio, {"x": values}, count=2, seed=1, store=tmp_path / "s", progress=False, key="r"
        )

    run([Level.LOW, Time(2)])
    other = enum.IntEnum("Level", {"LOW": 5}, module=__name__, qualname="Level")
    with pytest.raises(gs.StoreError, match="objects is"):
        run([other.LOW, Time(2)])
    monkeypatch.setattr(Time, "unit", 3.0)
    with pytest.raises(gs.StoreError, match="objects is"):
        run([Level.LOW, Time(2)])


@pytest.mark.parametrize(
    "values", [[[0] * 50 + [i] for i in (3, 1, 2)], [3, math.nan, 1, 2], [2.5, 10**400, 1]]
)
def test_rows_of_joined_stores_are_in_the_order_of_the_grid(tmp_path, values):
    def place(*, x, count, first, seed):
        return {"v": np.full(count, next(i for i, v in enumerate(values) if v is x or v == x))}

    options = {"count": 3, "seed": 1, "progress": False, "key": "place"}
    paths = [tmp_path / str(part) for part in range(2)]
    for part, path in enumerate(paths):
        gs.sweep(place, {"x": values}, store=path, shard=(part, 2), **options)
    table = gs.merge(paths).table()
    assert table["v"].tolist() == list(range(len(values)))
    if not isinstance(values[0], list):  # other grids in one store: in the order of the values
        gs.sweep(place, {"x": values[1:]}, store=tmp_path / "a", **options)
        gs.sweep(place, {"x": values[:1]}, store=tmp_path / "b", **options)
        assert len(gs.merge([tmp_path / "a", tmp_path / "b"]).table()) == len(values)
