"""Points of sweeps whose values have equal texts: weighted means, pictures, equal tables."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest

import gpusched as gs
from gpusched.study.sweep_table import Sweep

pytestmark = pytest.mark.python

ONE = np.zeros(2000)
OTHER = ONE.copy()
OTHER[1000] = 8.0  # NumPy's text of an array leaves out its middle


def middle(*, of: Any, level: int, count: int, first: int, seed: Any) -> dict[str, Any]:
    return {"x": np.full(count, of[1000] * level)}


def swept() -> Sweep:
    grid = {"of": [ONE, OTHER], "level": [1, 3]}
    table = gs.sweep(middle, grid, count=2, seed=1, key="middle", workers=1, progress=False)
    assert isinstance(table, Sweep)
    return table


def test_weighted_means_are_of_equal_values_not_of_equal_texts() -> None:
    means = swept().weighted("x", over="level")
    assert means["x"].tolist() == [0.0, 20.0] and means["count"].tolist() == [4, 4]
    assert [held[1000] for held in means["of"]] == [0.0, 8.0]


def test_values_of_equal_texts_have_lines_of_their_own() -> None:
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    from matplotlib import pyplot

    ax = swept().plot()
    assert [line.get_ydata().tolist() for line in ax.lines] == [[0, 0], [8, 24]]
    labels = [str(line.get_label()) for line in ax.lines]
    assert labels[1] == f"{labels[0]} (2)"
    pyplot.close("all")


def test_tables_with_nan_equal_themselves() -> None:
    def nothing(*, level: int, count: int, first: int, seed: Any) -> dict[str, Any]:
        return {"x": np.full(count, np.nan)}

    table = gs.sweep(nothing, {"level": [1]}, count=2, seed=1, workers=1, keep=True, progress=False)
    assert isinstance(table, Sweep) and np.isnan(table.values["x"]).all()
    assert pickle.loads(pickle.dumps(table)) == table
    other = Sweep(table.columns, {"x": np.zeros((1, 2))}, {})
    assert other != table


def test_columns_of_arrays_and_lists_are_compared_value_by_value() -> None:
    table = swept()
    assert pickle.loads(pickle.dumps(table)) == table
    assert table.where(of=OTHER, level=3)["x"].tolist() == [24.0]
    turned = Sweep({**table.columns, "of": table["of"][::-1]}, table.values, table.arrays)
    assert turned != table

    def first(*, of: Any, count: int, first: int, seed: Any) -> dict[str, Any]:
        return {"x": np.full(count, of[0])}

    lists = gs.sweep(first, {"of": [[1, 2], [3], [4]]}, count=1, seed=1, progress=False)
    assert isinstance(lists, Sweep) and lists.where(of=[3])["x"].tolist() == [3.0]
