"""Reductions: agreement with NumPy and exact fractions, independence of order and grouping."""

import itertools
import json
import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

import gpusched as gs
from gpusched._support.results import wilson
from gpusched.study.point_results import PerSet
from gpusched.study.reductions import (
    Extremes,
    Histogram,
    Mean,
    Quantiles,
    Reduction,
    Share,
    Weighted,
    added,
    quotient,
    sum_of,
)

pytestmark = pytest.mark.python

FLOATS = hnp.arrays(np.float64, st.integers(1, 60), elements=st.floats(width=64))
FINITE = hnp.arrays(
    np.float64, st.integers(1, 60), elements=st.floats(allow_nan=False, allow_infinity=False)
)
VERDICTS = hnp.arrays(np.int8, st.integers(1, 40), elements=st.integers(-1, 1))


def exact(values):
    return sum(map(Fraction, values.tolist()), Fraction())


def value(state):
    return Fraction(state[0]) * Fraction(2) ** state[1]


@given(FINITE)
def test_sums_are_exact(values):
    assert value(sum_of(values)) == exact(values)
    assert value(sum_of(np.tile(values, 3))) == 3 * exact(values)
    state = sum_of(values)
    assert state == [0, 0] or state[0] % 2 == 1


@given(
    hnp.arrays(st.sampled_from([np.int64, np.uint64, np.int8, np.uint16, np.float32, np.bool_]), 40)
)
def test_sums_of_other_types_are_exact(values):
    if values.dtype.kind == "f":
        values = values[np.isfinite(values)]
    for part in (values, values[:3]):
        assert value(sum_of(part)) == exact(part)


def test_sums_at_the_ends_of_the_ranges():
    assert value(sum_of(np.full(1000, np.iinfo(np.int64).min))) == -1000 * 2**63
    assert value(sum_of(np.full(1000, 2**64 - 1, np.uint64))) == 1000 * (2**64 - 1)
    ends = np.array([5e-324, 1.7976931348623157e308, -1.7976931348623157e308] * 20)
    assert value(sum_of(ends)) == 20 * Fraction(5e-324)
    assert quotient(sum_of(ends), [20, 0]) == 5e-324
    assert math.isnan(quotient([1, 0], [0, 0]))


@given(FINITE, st.data())
def test_sums_do_not_depend_on_the_grouping(values, data):
    cut = data.draw(st.integers(0, values.size))
    assert added(sum_of(values[:cut]), sum_of(values[cut:])) == sum_of(values[::-1])


ALL = [Mean(), Extremes(), Histogram([-1, 0, 2.5]), Quantiles(0, 0.5, 1), Weighted("w")]


def columns(reduction, state):
    return reduction.columns("q", json.loads(json.dumps(state)))  # as a store has it


def same(one, other):
    return one.keys() == other.keys() and all(
        np.array_equal(one[name], other[name], equal_nan=True) for name in one
    )


@pytest.mark.long
@pytest.mark.parametrize("reduction", ALL, ids=lambda one: type(one).__name__)
@given(FLOATS, st.data())
def test_states_join_to_the_same_in_any_order_and_grouping(reduction, values, data):
    cuts = sorted(data.draw(st.lists(st.integers(0, values.size), max_size=4)))
    pieces = [piece for piece in np.split(values, cuts) if piece.size]
    states = []
    for piece in data.draw(st.permutations(pieces)):
        weights = np.abs(np.where(np.isfinite(piece), piece, 1.0))
        states.append(reduction.reduce(piece, {"q": piece, "w": weights}))
    weights = np.abs(np.where(np.isfinite(values), values, 1.0))
    whole = reduction.reduce(values, {"q": values, "w": weights})
    while len(states) > 1:
        at = data.draw(st.integers(0, len(states) - 2))
        states[at : at + 2] = [reduction.join(states[at], states[at + 1])]
    assert same(columns(reduction, states[0]), columns(reduction, whole))


@given(FLOATS)
def test_means_are_those_of_numpy_rounded_once(values):
    found = columns(Mean(), Mean().reduce(values, {}))["q"]
    with np.errstate(all="ignore"):
        special = values[~np.isfinite(values)].sum()
    if special != 0:
        assert found == special or (math.isnan(found) and math.isnan(special))
    else:
        assert found == float(exact(values) / values.size)


@given(VERDICTS)
def test_shares_and_their_intervals(values):
    found = columns(Share(), Share().reduce(values, {}))
    n, yes, open_ = values.size, (values == 1).sum(), (values == -1).sum()
    assert found["q"] == yes / n and found["q_undecided"] == open_ / n
    assert found["q_low"] == wilson(yes, n)[0] and found["q_high"] == wilson(yes + open_, n)[1]
    half = values.size // 2
    if half:
        parts = [Share().reduce(part, {}) for part in (values[:half], values[half:])]
        assert same(columns(Share(), Share().join(*parts)), found)
    truth = columns(Share(), Share().reduce(values == 1, {}))
    assert truth == {"q": found["q"], "q_low": found["q_low"], "q_high": wilson(yes, n)[1]}


@given(FLOATS)
def test_extremes_and_histograms(values):
    numbers = values[~np.isnan(values)]
    found = columns(Extremes(), Extremes().reduce(values, {}))
    if numbers.size:
        assert found == {"q_min": numbers.min(), "q_max": numbers.max()}
    else:
        assert all(math.isnan(one) for one in found.values())
    edges = [-1.5, 0, 3]
    counts = columns(Histogram(edges), Histogram(edges).reduce(values, {}))["q_counts"]
    limits = [-math.inf, *edges, math.inf]
    for bin_, (low, high) in enumerate(itertools.pairwise(limits)):
        inside = (numbers >= low) & ((numbers < high) | (high == math.inf))
        assert counts[bin_] == inside.sum()


@given(
    hnp.arrays(
        np.float64,
        st.integers(1, 80),
        elements=st.floats(1e-300, 1e300) | st.floats(-1e300, -1e-300),
    ),
    st.floats(0, 1),
    st.integers(0, 12),
)
def test_quantiles_are_within_their_error(values, share, bits):
    reduction = Quantiles(share, bits=bits)
    (found,) = columns(reduction, reduction.reduce(values, {})).values()
    right = np.sort(values)[max(1, math.ceil(share * values.size)) - 1]
    assert abs(found - right) <= 2.0 ** -(bits + 1) * abs(right) * (1 + 1e-12)


def test_quantiles_of_special_values():
    reduction = Quantiles(0, 0.5, 1)
    found = columns(reduction, reduction.reduce(np.array([-math.inf, 0.0, math.inf, math.nan]), {}))
    assert found == {"q_p0": -math.inf, "q_p50": 0.0, "q_p100": math.inf}
    empty = columns(reduction, reduction.reduce(np.array([math.nan]), {}))
    assert all(math.isnan(one) for one in empty.values())
    assert list(columns(Quantiles(0.999), Quantiles(0.999).reduce(np.ones(1), {}))) == ["q_p99.9"]


@given(VERDICTS, st.data())
def test_weighted_shares(values, data):
    weights = np.array(
        data.draw(st.lists(st.floats(0, 100), min_size=values.size, max_size=values.size))
    )
    found = columns(Weighted("u"), Weighted("u").reduce(values, {"u": weights}))["q_weighted"]
    total = exact(weights)
    if total == 0:
        assert math.isnan(found)
    else:
        assert found == float(exact(weights[values == 1]) / total)


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (lambda: Histogram([]), ValueError, r"edges: got \[\], expected increasing numbers"),
        (lambda: Histogram([1, 1]), ValueError, r"edges: got \[1, 1\], expected increasing"),
        (lambda: Histogram([1, math.nan]), ValueError, "edges: got .*expected increasing"),
        (lambda: Histogram(["x"]), TypeError, "edges: got 'x', expected a number"),
        (lambda: Quantiles(), ValueError, r"shares: got \(\), expected numbers from 0 to 1"),
        (lambda: Quantiles(1.5), ValueError, r"shares: got \(1\.5,\), expected numbers from 0"),
        (lambda: Quantiles(0.5, bits=30), ValueError, "bits: got 30, expected 0 to 20"),
    ],
)
def test_refusals(make, error, message):
    with pytest.raises(error, match=message):
        make()


# In sweeps ---------------------------------------------------------------------------------------


def study(*, x, count, first, seed):
    i = np.arange(first, first + count)
    return {"met": i % 4 < x, "delay": (i * 7 % 100) / 3, "load": 0.5 + i % 3, "n": i}


def test_reductions_of_a_sweep():
    reduce = {
        "met": [Share(), Weighted("load")],
        "delay": [Mean(), Extremes(), Quantiles(0.5, 0.99), Histogram([10, 20])],
    }
    options = {"count": 500, "seed": 1, "progress": False, "reduce": reduce}
    table = gs.sweep(study, {"x": [1, 3]}, **options)
    assert list(table.columns) == [
        *("x", "count", "met", "met_low", "met_high", "met_weighted", "delay", "delay_min"),
        *("delay_max", "delay_p50", "delay_p99", "load", "n"),
    ]
    i = np.arange(500)
    load = 0.5 + i % 3
    assert table["met_weighted"].tolist() == [
        (load * (i % 4 < x)).sum() / load.sum() for x in (1, 3)
    ]
    assert table.arrays["delay_counts"].shape == (2, 4 - 0 - 1)
    assert table.arrays["delay_counts"].sum(axis=1).tolist() == [500, 500]
    assert gs.sweep(study, {"x": [1, 3]}, chunk=7, **options) == table
    assert "delay_p50" in str(table)


def test_reductions_that_do_not_fit():
    def sweep(**reduce):
        return gs.sweep(study, {"x": [1]}, count=5, seed=1, progress=False, reduce=reduce)

    for reduce, message in (
        ({"delay": Share()}, "'delay': got dtype float64, expected truth values or verdicts"),
        ({"none": Mean()}, r"got \['delay', 'load', 'met', 'n'\], expected 'none' \(in reduce\)"),
        ({"met": Weighted("weight")}, "'met': got no quantity 'weight', expected one with the"),
        ({"n": [Mean(), Mean()]}, r"reduce\['n'\]: got two reductions with 'n'"),
    ):
        with pytest.raises((gs.SweepError, ValueError), match=message):
            sweep(**reduce)


@dataclass(frozen=True)
class Above(Reduction):
    """Number of values above a limit: a reduction of a user's own."""

    limit: float

    def reduce(self, values, others):
        return int((values > self.limit).sum())

    def join(self, one, other):
        return one + other

    def columns(self, name, state):
        return {f"{name}_above": state}


def test_a_reduction_of_ones_own(tmp_path):
    options = {"count": 200, "seed": 1, "progress": False, "store": tmp_path / "s"}
    table = gs.sweep(study, {"x": [1]}, reduce={"delay": Above(10)}, **options)
    assert table["delay_above"][0] == sum((i * 7 % 100) / 3 > 10 for i in range(200))
    assert gs.sweep(study, {"x": [1]}, reduce={"delay": Above(10)}, **options) == table
    with pytest.raises(gs.StoreError, match="got another study: reduce is"):
        gs.sweep(study, {"x": [1]}, reduce={"delay": Above(11)}, **options)
    stored = gs.open_store(tmp_path / "s")
    assert stored.complete
    with pytest.raises(gs.StoreError, match="got a store of reductions of your own, expected"):
        stored.table()


def test_weighted_schedulability_over_a_parameter():
    table = gs.sweep(
        lambda *, u, m, count, first, seed: {
            "met": np.arange(first, first + count) % 10 < 12 - u * m
        },
        {"u": [2, 4], "m": [1, 2]},
        count=10,
        seed=1,
        progress=False,
    )
    weighted = table.weighted("met", over="u")
    assert weighted["m"].tolist() == [1, 2] and weighted["count"].tolist() == [20, 20]
    assert weighted["met"].tolist() == [(2 * 1.0 + 4 * 0.8) / 6, (2 * 0.8 + 4 * 0.4) / 6]
    for arguments, message in (
        (("met", "v"), "over: got 'v', expected one of u, m"),
        (("mat", "u"), "quantity: got 'mat', expected one of met"),
    ):
        with pytest.raises(ValueError, match=message):
            table.weighted(*arguments)


def test_states_are_small():
    """A state does not grow with the number of sets, so that a store of 10**9 sets is small."""
    accumulator = PerSet({"a": [Mean(), Extremes(), Quantiles(0.5), Histogram([0, 1])]})
    random = np.random.default_rng(1)
    sizes = []
    for count in (10**3, 10**5):
        arrays = accumulator.arrays(
            {"a": random.normal(5, 1, count), "b": np.ones(count, bool)}, count
        )
        sizes.append(len(json.dumps(accumulator.state(arrays))))
    assert sizes[1] < 3 * sizes[0] < 60_000
