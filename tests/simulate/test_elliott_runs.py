"""Table 2 and Figure 6 of [RTNS10]: simulations of the lock, the driver and a container."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

import gpusched as gs
from gpusched.experiments import (
    CATEGORIES,
    PRINTED_TABLE2,
    RUN_METHODS,
    SCENARIOS,
    elliott_fig6,
    elliott_table2,
)

pytestmark = pytest.mark.numbers


@pytest.fixture(scope="module")
def table():
    return elliott_table2(180, seed=1, seconds=10, progress=False)


@pytest.mark.long
def test_what_the_paper_finds(table):
    def of(category, method, name):
        return table.where(category=category, method=method)[name].item()

    assert [of(c, "SRM", "sets") for c in CATEGORIES] == np.bincount(table.category).tolist()
    # Observation 1: little or no cost where analysis finds a set schedulable.
    assert of("easy", "SRM", "response") < 1.02 * of("easy", "Driver", "response")
    assert of("easy", "SRM", "tardiness") < 0.001
    # Observation 2: the lock controls tardiness; the driver does not.
    for category in ("difficult", "unable"):
        assert of(category, "SRM", "response") < of(category, "Driver", "response")
        assert 10 * of("difficult", "SRM", "tardiness") < of("difficult", "Driver", "tardiness")
    assert of("difficult", "SRM", "over") == 0 < of("difficult", "Driver", "over")
    # A server that idles during kernels is later than one that does not.
    for category in CATEGORIES[:2]:
        idling, working = (of(category, name, "response") for name in reversed(RUN_METHODS[2:]))
        assert working < idling


@pytest.mark.long
def test_rows_are_means_of_sets(table):
    assert len(table) == 12 and table.response.shape == (180, 4)
    k = 7
    scenario = SCENARIOS[table.scenario[k]]
    tasks = gs.generate.elliott(
        *(scenario.utilization, scenario.periods, scenario.gpu),
        (scenario.share, scenario.share + 0.1), seed=1, first=k, empty=False,
    )  # fmt: skip
    run = gs.simulate.host(tasks, 4, "driver", until=10**10, intervals=False)
    periods = tasks.period[run.task]
    assert table.response[k, 1] == ((run.end - run.release) / periods).mean()
    assert table.worst[k, 1] == (np.maximum(run.end - run.deadline, 0) / periods).max()
    assert table.fits[k] == gs.analysis.container(tasks, 4).accepted
    easy = gs.analysis.srm(tasks, 4).accepted
    assert table.category[k] == (0 if easy else 1 if table.worst[k, 0] <= 1 else 2)
    row = table.where(category="difficult", method="Container")
    these = (table.category == 1) & table.fits
    assert row["tardiness"].item() == table.tardiness[these, 2].mean()
    again = pickle.loads(pickle.dumps(table))
    assert again == table and (again.worst == table.worst).all()


@pytest.mark.long
def test_readings_of_the_table(table):
    """Categories by each method's own run, suspending jobs, overruns."""
    options = {"seed": 1, "seconds": 10, "progress": False}
    own = elliott_table2(180, categories="own", **options)
    assert (own.worst == table.worst).all() and (own.category == table.category).all()
    for m, method in enumerate(RUN_METHODS[:2]):
        late = own.worst[:, m] > 1
        for word, these in (("difficult", ~late), ("unable", late)):
            row = own.where(category=word, method=method)
            these = these & (own.category > 0)
            assert row["sets"].item() == these.sum()
            assert row["response"].item() == own.response[these, m].mean()
            assert row["over"].item() == (these.sum() if word == "unable" else 0)
    calm = elliott_table2(40, waiting="suspend", **options)
    assert (calm.response[:, 0] == table.response[:40, 0]).all()
    assert calm.tardiness[:, 1].max() < 1 < table.tardiness[:40, 1].max()
    over = elliott_table2(20, overrun=0.1, **options)
    tasks = gs.generate.elliott(
        *(SCENARIOS[over.scenario[3]][1:4]),
        (SCENARIOS[over.scenario[3]].share, SCENARIOS[over.scenario[3]].share + 0.1),
        seed=1, first=3, empty=False,
    )  # fmt: skip
    longer = tasks.replace(**{
        name: -(-np.asarray(getattr(tasks, name)) * 11 // 10)
        for name in ("cpu", "copy_in", "kernel", "copy_out")
    })  # fmt: skip
    run = gs.simulate.host(longer, 4, gs.ways.Srm(lock="omlp"), until=10**10, intervals=False)
    assert over.response[3, 0] == ((run.end - run.release) / tasks.period[run.task]).mean()
    assert over.settings["overrun"] == 0.1 and over.settings["waiting"] == "spin"


def test_the_printed_table():
    """Response less tardiness is at most a period, and at least a job's work."""
    for (category, _), (response, tardiness) in PRINTED_TABLE2.items():
        assert 0.1 < response - tardiness <= 1
        assert (response > 1) == (category == "unable")


def test_the_drivers_tardiness_grows():
    growth = elliott_fig6(seconds=5)
    late = {}
    assert set(growth["method"]) == {"SRM", "Driver"}  # it does not fit into a container
    for method in RUN_METHODS[:2]:
        rows = growth.where(method=method)
        half = len(rows) // 2
        late[method] = [rows["tardiness"][:half].max(), rows["tardiness"][half:].max()]
    assert late["Driver"][1] > 1.5 * late["Driver"][0] > 5 * late["SRM"][1]
    same = elliott_fig6(growth.settings["number"], seconds=5)
    assert same == growth and same.task == growth.task


def test_pictures(table):
    axes = table.plot()
    assert axes[0].get_xticklabels()[0].get_text().startswith("easy\n")
    assert len(axes[0].patches) == 12
    ax = elliott_fig6(0, seconds=1).plot()
    assert [line.get_label() for line in ax.lines] == list(RUN_METHODS)
    from matplotlib import pyplot

    pyplot.close(axes[0].figure)
    pyplot.close(ax.figure)


def test_heavy_tasks():
    """Below a share of a fifth no set has two GPU-using tasks; the other scenarios take turns."""
    table = elliott_table2(73, utilization="heavy", seconds=0.05, progress=False)
    shares = np.array([SCENARIOS[number].share for number in table.scenario])
    assert len(set(table.scenario.tolist())) == 72 and shares.min() == 0.2
    assert table.scenario[72] == table.scenario[0] and not table.fits.any()
    assert np.isnan(table.where(method="Container")["response"]).all()
    with pytest.raises(TypeError, match="seconds: got 'long', expected a number"):
        elliott_table2(1, seconds="long")


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"count": 0}, "count: got 0, expected a positive number"),
        ({"utilization": "none"}, "utilization: got 'none', expected one of light,"),
        ({"seconds": 0}, r"seconds: got 0\.0, expected at least a nanosecond"),
        ({"seconds": 1e-12}, "seconds: got 1e-12, expected at least a"),
        ({"seconds": float("nan")}, "seconds: got nan, expected at least a nanosecond"),
        ({"utilization": "heavy", "cpus": 1}, "utilization: got 'heavy', expected one with"),
        ({"categories": "mine"}, "categories: got 'mine', expected one of lock, own"),
        ({"waiting": "busy"}, "waiting: got 'busy', expected one of spin, suspend"),
        ({"overrun": -0.1}, r"overrun: got -0\.1, expected a share, from 0 to 1"),
        ({"overrun": 0.0001}, r"overrun: got 0\.0001, expected a multiple of 0\.001"),
        ({"cpus": 0, "count": 1}, r"cpus: got 0, expected 1 to 2\*\*31 - 1 CPUs"),
    ],
)
def test_refusals(changes, message):
    with pytest.raises(ValueError, match=message):
        elliott_table2(**changes)
