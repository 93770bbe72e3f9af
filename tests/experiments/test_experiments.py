"""Figures of the papers: contents of the tables, legible drawings."""

import pickle

import numpy as np
import pytest

import gpusched as gs
from gpusched import experiments
from gpusched._support.results import wilson

matplotlib = pytest.importorskip("matplotlib")
matplotlib.use("Agg")
from legible import assert_legible  # noqa: E402


@pytest.fixture(scope="module")
def fig4():
    return experiments.gpusched_fig4(count=40, seed=3, progress=False)


@pytest.fixture(autouse=True)
def close_figures():
    yield
    from matplotlib import pyplot

    pyplot.close("all")


def test_figure_4_has_a_row_for_every_point(fig4):
    assert len(fig4) == 3 * 10 * 3
    assert set(fig4["scheduler"]) == set(experiments.SCHEDULERS)
    assert np.all(fig4["count"] == 40)
    assert np.all(fig4["undecided"] == 0)
    for row in range(len(fig4)):
        hits = round(fig4["schedulable"][row] * 40)
        assert fig4["schedulable"][row] == hits / 40
        assert fig4["schedulable_low"][row] == wilson(hits, 40)[0]
        assert fig4["schedulable_high"][row] == wilson(hits, 40)[1]
    assert fig4.where(panel="b")["slowdown"].tolist() == ["large"] * 30


def test_figure_4_says_what_the_paper_says(fig4):
    """GPUSched dominates; small utilizations are easy; interference hurts EDFParallel most."""
    share = {
        (p, s): fig4.where(panel=p, scheduler=s)["schedulable"]
        for p in "abc"
        for s in experiments.SCHEDULERS
    }
    for panel in "abc":
        best = share[panel, "GPUSched"]
        assert np.all(best >= share[panel, "EDFserial"])
        assert np.all(best >= share[panel, "EDFParallel"])
        assert best[0] == 1.0
    assert share["a", "EDFParallel"].sum() > share["b", "EDFParallel"].sum()
    assert share["a", "GPUSched"].sum() > share["b", "GPUSched"].sum()
    # One job a frame does not depend on the slowdown: all panels see the same sets.
    assert np.array_equal(share["a", "EDFserial"], share["b", "EDFserial"])
    # Above utilization 1, one job at a time can never do.
    assert np.all(share["a", "EDFserial"][5:] == 0)


def test_figure_4_depends_on_the_seed_alone(fig4):
    b = experiments.gpusched_fig4("b", count=40, seed=3, workers=1, progress=False)
    assert b.where(panel="b") == fig4.where(panel="b")
    other = experiments.gpusched_fig4("b", count=40, seed=4, progress=False)
    assert other != b
    assert pickle.loads(pickle.dumps(b)) == b


def test_figure_4_agrees_with_the_graph_engine():
    tasks = gs.generate.gpusched(5, 0.9, count=10, seed=5)
    table = gs.BatchTable.from_gpu(tasks, gs.GPU.preset("pbs2024"), slowdown="large", seed=6)
    fast = gs.pbs.search(tasks, table).schedulable
    for i in range(10):
        assert gs.pbs.search(tasks[i], table[i], method="graph").schedulable == fast[i]
    assert 0 < fast.sum() < 10


def test_a_spent_budget_is_shown_as_undecided():
    options = {"utilizations": [0.8], "n": 8, "count": 20, "seed": 1, "progress": False}
    full = experiments.gpusched_fig4("b", **options)
    spent = experiments.gpusched_fig4("b", **options, budget=gs.pbs.Budget(states=1))
    row = spent.where(scheduler="GPUSched")
    assert row["undecided"][0] > 0
    answer = full.where(scheduler="GPUSched")
    assert row["schedulable"][0] <= answer["schedulable"][0]
    assert row["schedulable_high"][0] >= answer["schedulable"][0]
    assert "the budget left up to" in spent.to_text()
    assert "*" not in full.to_text()


def test_figure_4_as_text_and_picture(fig4):
    text = fig4.to_text()
    assert text.count("slowdown factors") == 3
    assert text.count("\n       0.20") == 3
    assert all(len(line) <= 100 for line in text.splitlines())
    axes = fig4.plot()
    assert len(axes) == 3
    shown = assert_legible(axes[0].figure)
    for label in (*experiments.SCHEDULERS, "schedulable task sets (%)"):
        assert shown.count(label) == 1
    assert shown.count("utilization") == 3
    assert "(b) slowdown factors 1.7 to 1.9" in shown
    one = experiments.gpusched_fig4("c", utilizations=[0.5, 1], count=5, progress=False).plot()
    assert len(one) == 1
    assert_legible(one[0].figure)
    with pytest.raises(ValueError, match="axes: got 1, expected 3, for the panels"):
        fig4.plot(one)


def test_figure_5a():
    table = experiments.gpusched_fig5("a", 6, utilizations=[0.4, 1.0], progress=False)
    assert len(table) == 2 * 2 * 6
    assert np.all(table["seconds"] > 0)
    interval, graph = (table.where(method=m)["schedulable"] for m in ("interval", "graph"))
    assert np.array_equal(interval, graph)
    assert set(assert_legible(table.plot().figure)) >= {"interval", "graph", "utilization"}


def test_figure_5b():
    table = experiments.gpusched_fig5("b", 4, tasks=[2, 5, 7], progress=False)
    assert table.where(work="interval")["n"].tolist() == [2, 5, 7]
    assert table.where(work="graph")["n"].tolist() == [2, 5]
    assert table.where(work="batch table")["n"].tolist() == [2, 5, 7]
    assert np.all(table["seconds_median"] <= table["seconds_max"])
    assert set(assert_legible(table.plot().figure)) >= {"interval", "batch table", "tasks"}


def test_figure_5c():
    table = experiments.gpusched_fig5("c", 3, progress=False, budget={"states": 200_000})
    merged, alone = (table.where(merging=m) for m in (True, False))
    assert merged["depth"].tolist() == list(range(15))
    assert merged["vertices"][0] == alone["vertices"][0] == 1
    assert np.all(merged["vertices"] <= alone["vertices"])
    assert alone["vertices"][9] > 3 * merged["vertices"][9], "merging is what makes it small"
    assert np.all(merged["cut"] == 0)
    shown = assert_legible(table.plot().figure)
    assert set(shown) >= {"merging", "no merging", "executed jobs"}
    again = experiments.gpusched_fig5("c", 3, progress=False, budget={"states": 200_000})
    assert again == table


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: experiments.gpusched_fig4("d"), "panel: got 'd', expected one of a, b, c or None"),
        (lambda: experiments.gpusched_fig5("d"), "panel: got 'd', expected one of a, b, c or None"),
        (lambda: experiments.gpusched_fig5("a", methods=["x"]), "methods: got 'x', expected"),
        (lambda: experiments.gpusched_fig4(count=0), "count: got 0, expected at least 1"),
        (lambda: experiments.gpusched_fig4(seed=-1), "seed: got -1, expected a non-negative"),
    ],
)
def test_refusals(call, message):
    with pytest.raises(ValueError, match=message):
        call()
