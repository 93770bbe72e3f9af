"""Paper 000's figures: what their tables hold, and that they can be read."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest

from gpusched import experiments

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
    assert table["finish"].tolist() == [38, 98, 120, 172, 158]
    assert table.run.order == "hardware" and table.run.outcome == "done"
    again = pickle.loads(pickle.dumps(table))
    assert again == table and again.run == table.run
    shown = assert_legible(table.plot().figure)
    assert shown.count("K2") == 2 and {"K1", "K3", "K4", "K5", "τ₁", "threads", "time"} <= set(
        shown
    )
    assert {"0", "12", "16", "4096"} <= set(shown)
    for order in ("release", "strict", "overlap"):
        assert experiments.yang_fig2(order)["finish"].tolist() == table["finish"].tolist()


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
    with pytest.raises(ValueError, match="axes: 1 for 2 sizes of blocks"):
        experiments.yang_fig3([0.1], jobs=2, orders=["strict"]).plot(axes)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda e: e.yang_fig2("fifo"), "order = 'fifo': must be one of hardware"),
        (lambda e: e.yang_fig3(orders=["x"]), "orders = 'x': must be one of hardware"),
        (lambda e: e.yang_fig3([0.0]), "epsilons: 0.0 is not between 0 and 1"),
        (
            lambda e: e.yang_fig3([0.0001]),
            "epsilons: 0.0001 is no whole number of ticks, with 1000",
        ),
        (lambda e: e.yang_fig3(b_max=[0]), "b_max = 0: must be within 1 .. 4096 threads"),
        (lambda e: e.yang_fig3(b_max=[4097]), "b_max = 4097: must be within"),
        (lambda e: e.yang_fig3(threads=0), "threads = 0: must be positive"),
        (lambda e: e.yang_fig3(jobs=0), "jobs = 0: must be positive"),
        (lambda e: e.yang_fig3(ticks=0), "ticks = 0: must be positive"),
    ],
)
def test_refusals(call: Any, message: str):
    with pytest.raises(ValueError, match=message):
        call(experiments)
