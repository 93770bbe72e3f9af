"""Figures of [ECRTS17]: contents of the tables, legible drawings."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest

import gpusched as gs
from gpusched import experiments

pytestmark = pytest.mark.numbers

matplotlib = pytest.importorskip("matplotlib")
matplotlib.use("Agg")
from legible import assert_legible  # noqa: E402


@pytest.fixture(autouse=True)
def close_figures():
    yield
    from matplotlib import pyplot

    pyplot.close("all")


def test_figure_2():
    table = experiments.yang_fig2()
    assert table["kernel"].tolist() == ["K1", "K2", "K3", "K4", "K5"]
    assert table["start"].tolist() == [0, 0, 60, 60, 120]
    assert table["dispatched"].tolist() == [0, 38, 60, 60, 120]
    assert table["end"].tolist() == [38, 98, 120, 172, 158]
    assert table.run.order == "hardware" and table.run.outcome == "done"
    again = pickle.loads(pickle.dumps(table))
    assert again == table and again.run == table.run
    shown = assert_legible(table.plot().figure)
    assert shown.count("K2") == 2 and {"K1", "K3", "K4", "K5", "τ₁", "threads"} <= set(shown)
    assert "time (units of the paper)" in shown
    assert {"0", "12", "16", "4096"} <= set(shown)
    for order in ("release", "strict", "overlap"):
        assert experiments.yang_fig2(order)["end"].tolist() == table["end"].tolist()


def test_figure_3():
    table = experiments.yang_fig3()
    assert len(table) == 4 * 2 * 3 * 20
    assert set(table["outcome"].tolist()) == {"diverges"}
    exact = table.where(b_max=1024)
    np.testing.assert_allclose(exact["response"], exact["printed"])
    # m = 4096 is no multiple of 768: the same at first, and less afterwards.
    slower = table.where(b_max=768)
    assert (slower["response"] <= slower["printed"] + 1e-9).all()
    late = slower["job"] > 5
    assert (slower["response"][late] < slower["printed"][late] - 1e-9).all()
    np.testing.assert_allclose(slower["response"][~late], slower["printed"][~late])
    for size in (1024, 768):
        rows = table.where(b_max=size, epsilon=0.01)
        limit = 4096 - size + 1
        assert np.allclose(rows["utilization"], limit + 0.01 * (4096 // size * size))
    shown = assert_legible(table.plot()[0].figure)
    assert {"m = 4096, b_max = 768", "ε = 0.05", "1 + ε j", "job"} <= set(shown)


def test_figure_3_of_ten_threads():
    table = experiments.yang_fig3([0.1], [4], threads=10, jobs=50, orders=["release"], ticks=10)
    assert table["response"][:4].tolist() == [1.1, 1.2, 1.2, 1.3]
    assert 0.5 < (table["response"][-1] - 1.1) / 4.9 < 0.6
    axes = table.plot()
    assert len(axes) == 1
    assert_legible(axes[0].figure)
    assert list(table.plot(axes[0])) == list(axes)
    with pytest.raises(ValueError, match="axes: got 1, expected 2, for the sizes of blocks"):
        experiments.yang_fig3([0.1], jobs=2, orders=["strict"]).plot(axes)


@pytest.fixture(scope="module")
def bounds():
    options = {"utilizations": [0.2, 0.5, 0.7, 0.95], "count": 30, "seed": 4, "horizon": 8}
    return experiments.yang_bounds(**options, progress=False)


def test_bounds_have_a_row_for_every_point(bounds):
    assert len(bounds) == 4 * 4
    assert bounds.where(order="strict")["utilization"].tolist() == [0.2, 0.5, 0.7, 0.95]
    by = [name for name in bounds.columns if name.startswith("by ")]
    assert by == [f"by {name}" for name in gs.analysis.THEOREMS[1:]]
    total = sum(bounds[name] for name in by)
    np.testing.assert_allclose(total, bounds["bounded"])
    assert (bounds["sets"] <= bounds["bounded"]).all()
    assert (bounds["bounded_low"] <= bounds["bounded"]).all()
    assert (bounds["bounded"] <= bounds["bounded_high"]).all()
    none = bounds["bounded"] == 0
    for name in ("bound_median", "observed_median", "tightness_mean", "tightness_max"):
        np.testing.assert_array_equal(np.isnan(bounds[name]), none)


def test_no_response_above_its_bound(bounds):
    assert (bounds["violations"] == 0).all()
    some = bounds["bounded"] > 0
    assert (bounds["tightness_max"][some] <= 1).all()
    assert (bounds["tightness_max"][some] > 0.05).all()
    assert (bounds["observed_median"][some] <= bounds["bound_median"][some]).all()


def test_bounds_say_what_the_theorems_say(bounds):
    share = {order: bounds.where(order=order)["bounded"] for order in gs.analysis.ORDERS}
    # Overlapping jobs: bounded up to the saturation level, which is 0.79 of the threads on average.
    assert share["overlap"][:3].tolist() == [1, 1, 1] and share["overlap"][3] < 0.1
    # Streams: fewer and fewer, those of the hardware's order beyond the saturation level too.
    for order in ("hardware", "release", "strict"):
        assert (np.diff(share[order]) < 0).all() or share[order][-1] == 0
        assert share[order][0] > 0.8
    assert share["hardware"][3] > 0.2 and share["release"][3] == share["strict"][3] == 0
    assert (bounds.where(order="hardware")["sets"][3]) == 0
    assert np.allclose(bounds["saturation"], 0.79, atol=0.04)
    limit = (4096 - 1024 + 1) / 4096
    assert (bounds["saturation"] >= limit).all()


def test_bounds_depend_on_the_seed_alone(bounds):
    options = {"utilizations": [0.2, 0.5], "count": 30, "seed": 4, "horizon": 8}
    again = experiments.yang_bounds(**options, orders=["release"], workers=3, progress=False)
    first = bounds.where(order="release")
    for name in bounds.columns:
        np.testing.assert_array_equal(first[name][:2], again[name])
    assert pickle.loads(pickle.dumps(again)) == again
    other = experiments.yang_bounds(**options | {"seed": 5}, orders=["release"], progress=False)
    assert other != again


def test_bounds_as_a_picture(bounds):
    axes = bounds.plot()
    shown = assert_legible(axes[0].figure)
    assert {"hardware", "overlap", "saturation level, mean", "bound"} <= set(shown)
    assert shown.count("utilization / threads") == 2
    small = experiments.yang_bounds(
        [0.4], 2, 64, 5, orders=["strict"], sets={"block_sizes": [16, 20]}, progress=False
    )
    assert small["n"].tolist() == [2] and small["threads"].tolist() == [64]
    assert_legible(small.plot()[0].figure)
    with pytest.raises(ValueError, match="axes: got 1, expected 2, for the diagrams"):
        small.plot(axes[0])


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda e: e.yang_fig2("fifo"), "order: got 'fifo', expected one of hardware,"),
        (lambda e: e.yang_fig3(orders=["x"]), "orders: got 'x', expected one of hardware,"),
        (lambda e: e.yang_fig3([0.0]), r"epsilons: got 0\.0, expected a number between 0"),
        (
            lambda e: e.yang_fig3([0.0001]),
            r"epsilons: got 0\.0001, expected a whole number of",
        ),
        (lambda e: e.yang_fig3(b_max=[0]), "b_max: got 0, expected 1 to 4096 threads"),
        (lambda e: e.yang_fig3(b_max=[4097]), "b_max: got 4097, expected 1 to 4096 threads"),
        (lambda e: e.yang_fig3(threads=0), r"threads: got 0, expected 1 to 2\*\*31 - 1"),
        (lambda e: e.yang_fig3(jobs=0), "jobs: got 0, expected a positive number"),
        (lambda e: e.yang_fig3(ticks=0), "ticks: got 0, expected a positive number"),
        (lambda e: e.yang_bounds(orders=["x"]), "orders: got 'x', expected one of hardware,"),
        (lambda e: e.yang_fig3(orders=[]), r"orders: got \(\), expected a list of at least one"),
        (lambda e: e.yang_fig3([]), r"epsilons: got \[\], expected a list of at least one"),
        (lambda e: e.yang_fig3(b_max=512), "b_max: got 512, expected a list of at least one"),
        (lambda e: e.yang_bounds([]), r"utilizations: got \[\], expected a list of at least"),
        (lambda e: e.yang_bounds(orders="h"), "orders: got 'h', expected one of hardware,"),
        (lambda e: e.yang_bounds(horizon=0), "horizon: got 0, expected a positive number"),
        (lambda e: e.yang_bounds(count=0), "count: got 0, expected at least 1"),
    ],
)
def test_refusals(call: Any, message: str):
    with pytest.raises(ValueError, match=message):
        call(experiments)
    with pytest.raises(TypeError, match="utilizations: got 'x', expected a number"):
        experiments.yang_bounds(["x"])
    with pytest.raises(TypeError, match="epsilons: got None, expected a number"):
        experiments.yang_fig3([None])
