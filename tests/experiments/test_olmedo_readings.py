"""Figure 3 of [RTAS20], compared placements, and slowdowns by shared bandwidth."""

from __future__ import annotations

import math
import pickle
from collections.abc import Iterator

import numpy as np
import pytest

import gpusched as gs
from gpusched import experiments
from gpusched.experiments.olmedo_contention import PAPER_POINTS

pytestmark = [pytest.mark.python, pytest.mark.numbers]

matplotlib = pytest.importorskip("matplotlib")
matplotlib.use("Agg")
from legible import assert_legible  # noqa: E402


@pytest.fixture(autouse=True)
def close_figures() -> Iterator[None]:
    yield
    from matplotlib import pyplot

    pyplot.close("all")


# Figure 3


def test_figure_3() -> None:
    table = experiments.olmedo_fig3(150)
    assert len(table) == 14 and set(table["against"].tolist()) == {"most_room"}
    for model in ("round_robin", "olmedo"):
        rate = table.where(model=model)["rate"]
        assert (np.diff(rate) > -0.05).all() and rate[-1] > 0.9
    assert table.where(model="olmedo")["rate"][0] == 0  # Definition III.1 is the most-room rule
    assert (table["rate_low"] <= table["rate"]).all() and (
        table["rate"] <= table["rate_high"]
    ).all()
    assert (np.diff(table.where(model="olmedo")["placed"]) <= 0).all()
    assert_legible(table.plot().figure)
    assert pickle.loads(pickle.dumps(table)) == table


def test_figure_3_by_hand() -> None:
    """The rate is the share of launches whose SMs differ, drawn again here."""
    from gpusched._support.arguments import spawn

    table = experiments.olmedo_fig3(60, [3], ["olmedo"], "round_robin", "equal", seed=7)
    rng = np.random.default_rng(spawn(7, 3))
    differ = whole = 0
    for _ in range(60):
        blocks, threads = rng.integers(1, 5, 1), rng.integers(1, 1025, 3)
        one, other = (
            gs.place("Xavier", blocks, threads, placement=rule)
            for rule in ("round_robin", "olmedo")
        )
        differ += one.sm.tolist() != other.sm.tolist()
        whole += one.all_placed
    assert table["rate"].tolist() == [differ / 60] and table["placed"].tolist() == [whole / 60]
    alone = experiments.olmedo_fig3(60, [2, 3], ["olmedo"], "round_robin", "equal", seed=7)
    assert alone["rate"][1] == table["rate"][0]


def test_figure_3_refuses() -> None:
    for wrong, message in (
        ({"count": 0}, "count: got 0, expected a positive number"),
        ({"streams": []}, "streams: got .*, expected a list of numbers"),
        ({"streams": [0]}, "streams: got 0, expected 1 to 1024"),
        ({"models": ["fifo"]}, "models: got 'fifo', expected one of"),
        ({"against": "gpu"}, "against: got 'gpu', expected one of"),
        ({"grids": "all"}, "grids: got 'all', expected one of each, equal"),
    ):
        with pytest.raises(ValueError, match=message):
            experiments.olmedo_fig3(**wrong)


# Tables


@pytest.mark.long
def test_table_4_with_both_placements() -> None:
    table = experiments.olmedo_table4(against="olmedo")
    literal = experiments.olmedo_table4(placement="olmedo")
    assert table["other"].tolist() == literal["same"].tolist()
    differs = table["same"] != table["other"]
    assert not (table["same"] & differs).any()
    assert ((differs & table["rule"]).sum(), (differs & ~table["rule"]).sum()) == (188, 5)
    # Without the limit of 32 blocks per SM the load balancing cells are the same.
    slots = gs.GPU.preset("Xavier").replace(blocks_per_sm=64)
    free = experiments.olmedo_table4(slots, against="olmedo")
    assert not ((free["same"] != free["other"]) & ~free["rule"]).any()
    shown = assert_legible(table.plot().figure)
    assert "not so with olmedo" in shown
    for other in (experiments.olmedo_table2, experiments.olmedo_table3):
        pairs = other(against="olmedo")
        assert (pairs["same"] == pairs["other"]).all()
    with pytest.raises(ValueError, match="against: got 'rr', expected one of most_room"):
        experiments.olmedo_table2(against="rr", most=1)


# Shared bandwidth


def test_the_papers_numbers() -> None:
    model = experiments.Bandwidth.from_paper()
    assert model.errors(PAPER_POINTS) == pytest.approx([0, 0, 0], abs=1e-9)
    assert model.factor("memset", 0) == 1 and model.factor("same GPC", math.inf) == 10
    sizes = [10**k for k in range(3, 10)]
    for by in model.weights:
        factors = [model.factor(by, size) for size in sizes]
        assert (np.diff(factors) > 0).all() and 1 <= factors[0]


def test_fit_finds_the_parameters_of_measured_points() -> None:
    true = experiments.Bandwidth({"memcpy": 1.7, "memset": 6.2}, half=3e6)
    sizes = [512 * 1024, 5 * 10**6, 5 * 10**7, 5 * 10**8]
    points = [(by, size, true.factor(by, size)) for by in true.weights for size in sizes]
    found = experiments.Bandwidth.fit(points)
    assert found.half == pytest.approx(true.half, rel=1e-5)
    assert found.weights == pytest.approx(true.weights, rel=1e-5)
    rng = np.random.default_rng(1)
    noisy = [(by, size, slow * (1 + 0.02 * rng.standard_normal())) for by, size, slow in points]
    near = experiments.Bandwidth.fit(noisy)
    assert near.half == pytest.approx(true.half, rel=0.3)
    worse = experiments.Bandwidth(near.weights, 2 * near.half)
    assert np.square(near.errors(noisy)).sum() < np.square(worse.errors(noisy)).sum()


@pytest.mark.long
def test_figures_with_the_model() -> None:
    model = experiments.Bandwidth.from_paper()
    seven = experiments.olmedo_fig7(interference="bandwidth")
    assert set(seven["source"].tolist()) == {"bandwidth"}
    for by, most in (("memcpy", 3), ("memset", 8)):
        assert seven.where(by=by)["relative"].max() == pytest.approx(most, abs=0.002)
    eight = experiments.olmedo_fig8(interference="bandwidth", footprints=[10**6, 10**8])
    assert eight["factor"].tolist() == [
        model.factor(by, f) for by in ("memcpy", "memset") for f in (10**6, 10**8)
    ]
    nine = experiments.olmedo_fig9(interference="bandwidth")
    near, far = nine.where(by="same GPC")["relative"], nine.where(by="other GPC")["relative"]
    assert (near > far).all() and (far > 1).all() and (np.diff(near) > 0).all()
    assert near.max() < 10 and far.max() < 1.26
    mine = experiments.Bandwidth({"same GPC": 1, "other GPC": 0}, 0)
    flat = experiments.olmedo_fig9(interference="bandwidth", model=mine, footprints=[10**6])
    assert flat["relative"].tolist() == [1, 1, 2]
    for figure in (seven, eight, nine):
        assert "factors of a bandwidth model, fitted to the text's numbers" in assert_legible(
            figure.plot().figure
        )
    given = assert_legible(experiments.olmedo_fig7().plot().figure)
    assert "the factors are inputs, not results" in given


def test_bandwidth_refuses() -> None:
    fit = experiments.Bandwidth.fit
    for points, message in (
        ([], "points: got 0, expected at least 1"),
        ([("a", 1, 2)], "points: got 1, expected at least 2"),
        ([("a", 0, 1), ("a", 0, 1)], "points: got no positive finite footprint, expected one"),
        ([("a", -1, 2)], r"points\[0\]\[1\]: got -1.0, expected a non-negative number"),
        ([("a", 1, 0.5)], r"points\[0\]\[2\]: got 0.5, expected a number from 1 on"),
    ):
        with pytest.raises(ValueError, match=message):
            fit(points)
    with pytest.raises(TypeError, match=r"points\[0\]: got 3, expected \(name, footprint"):
        fit([3])  # type: ignore[list-item]
    with pytest.raises(ValueError, match="half: got -1"):
        experiments.Bandwidth({}, -1)
    with pytest.raises(ValueError, match=r"weights\['a'\]: got -1, expected a non-negative"):
        experiments.Bandwidth({"a": -1}, 1)
    with pytest.raises(ValueError, match="by: got 'b', expected one of a"):
        experiments.Bandwidth({"a": 1}, 1).factor("b", 1)
    figure = experiments.olmedo_fig8
    with pytest.raises(ValueError, match="factors: got None, expected some with interference="):
        figure()
    with pytest.raises(ValueError, match="factors: got some, expected none with interference="):
        figure({1: (1, 1)}, interference="bandwidth")
    with pytest.raises(ValueError, match="model: got a model, expected one with interference="):
        figure({1: (1, 1)}, model=experiments.Bandwidth({}, 1))
    with pytest.raises(ValueError, match="interference: got 'x', expected one of given, bandwidth"):
        figure(interference="x")
    with pytest.raises(TypeError, match="model: got int, expected Bandwidth"):
        figure(interference="bandwidth", model=3)  # type: ignore[arg-type]
