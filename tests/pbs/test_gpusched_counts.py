"""Figure 5 of [RTNS24] with the listing: options, counts of the unmerged graph."""

import numpy as np
import pytest

import gpusched as gs
from gpusched import experiments
from gpusched._support.arguments import spawn
from gpusched.experiments.gpusched_figures import draw_sets, draw_tables
from gpusched.experiments.gpusched_search_figures import count_paths

pytestmark = pytest.mark.numbers


@pytest.fixture(scope="module")
def sets():
    tasks = draw_sets(4, 0.9, 12, 0, spawn(3))
    return tasks, draw_tables(tasks, "large", 0, spawn(3))


@pytest.mark.parametrize("variant", ["sound", "paper"])
def test_paths_are_the_vertices_of_the_unmerged_graph(sets, variant):
    tasks, table = sets
    for i in range(12):
        found = gs.pbs.graph.search(
            tasks[i], table[i], variant=variant, merge=False, first_only=False, depth=8
        )
        counts = found.per_depth[:9].tolist()
        assert count_paths(tasks[i], table[i], 8, False) == counts + [0] * (9 - len(counts))


def test_every_order_of_submission_is_a_path():
    tasks = gs.KernelTasks(period=[9, 9, 9], wcet=[1, 1, 1])
    table = gs.BatchTable(completion=[0, 1, 1, 2, 1, 2, 2, 3])
    assert count_paths(tasks, table, 3, False) == [1, 3, 9, 13]
    # Two jobs: 6 in turn and 6 ordered pairs. Three: 6 in turn, 6 a pair and one, 6 one and a
    # pair, 6 ordered triples.
    assert count_paths(tasks, table, 3, True) == [1, 3, 12, 24]


def test_figure_5c_of_the_listing():
    table = experiments.gpusched_fig5("c", 3, variant="paper", orders=True, progress=False)
    assert sorted(set(table["merging"].tolist())) == [False, True]
    assert np.all(table.where(merging=False)["cut"] == 0)
    one = experiments.gpusched_fig5("c", 3, merge=False, progress=False)
    assert set(one["merging"].tolist()) == {False}
    many = table.where(merging=False)["vertices"]
    assert np.all(many >= one["vertices"]) and many[-1] > one["vertices"][-1]
    one.plot()


def test_figure_5a_names_the_part_that_decided():
    table = experiments.gpusched_fig5("a", 4, utilizations=[0.4], progress=False, variant="paper")
    assert set(table.where(method="interval")["stage"].tolist()) <= set(gs.pbs.search_answer.STAGES)
    assert set(table.where(method="graph")["stage"].tolist()) == {"graph"}


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"variant": "printed"}, ValueError, "variant: got 'printed', expected one of sound"),
        ({"merge": 1}, TypeError, "merge: got 1, expected True or False"),
        ({"orders": "yes"}, TypeError, "orders: got 'yes', expected True or False"),
    ],
)
def test_refused_options(options, error, message):
    with pytest.raises(error, match=message):
        experiments.gpusched_fig5("c", 1, progress=False, **options)
