"""Sweeps as datasets of xarray, where it is installed: axes, orders, units, refusals."""

from __future__ import annotations

import doctest
import sys
from typing import Any

import numpy as np
import pytest

import gpusched as gs
from gpusched.study import sweep_table
from gpusched.study.sweep_table import Sweep

pytestmark = pytest.mark.python

KERNELS = gs.KernelTasks(period=[4, 5], wcet=[1, 3])


def numbers(*, tasks: Any, level: int, count: int, first: int, seed: Any) -> dict[str, Any]:
    x = np.arange(first, first + count) * level + tasks.n
    return {"x": x, "even": x % 2 == 0}


def swept(**options: Any) -> Sweep:
    grid = {"tasks": [KERNELS, KERNELS[:1]], "level": [3, 1, 2]}
    table = gs.sweep(
        numbers, grid, count=4, seed=1, key="numbers", workers=1, progress=False, **options
    )
    assert isinstance(table, Sweep)
    return table


def test_an_axis_for_each_parameter() -> None:
    pytest.importorskip("xarray")
    histogram = gs.reductions.Histogram([0, 4, 8, 12])
    table = swept(keep=True, reduce={"x": [gs.reductions.Mean(), histogram]})
    data = table.to_xarray({"level": "ms", "x": "ns"})
    assert dict(data.sizes) == {"tasks": 2, "level": 3, "set": 4} | {
        name: size for name, size in data.sizes.items() if str(name).startswith("x_")
    }
    assert data["level"].values.tolist() == [3, 1, 2] and data["level"].attrs == {"units": "ms"}
    assert [held.n for held in data["tasks"].values] == [2, 1]
    for row, tasks in enumerate(table["tasks"]):
        at = {"tasks": [t is tasks for t in data["tasks"].values].index(True)}
        point = data.isel(at).sel(level=table["level"][row])
        for name in ("count", "x", "even", "even_low", "even_high"):
            assert point[name].item() == table[name][row], name
        assert np.array_equal(point["x_values"], table.values["x"][row])
        for name, array in table.arrays.items():
            assert np.array_equal(point[name], array[row])
    assert data["x"].attrs == {"units": "ns"} and data["even"].attrs == {"units": "1"}
    assert data["even_high"].attrs["long_name"] == "even, upper end of the 95 % interval"
    assert data["count"].dtype == np.int64


def test_rows_in_any_order() -> None:
    pytest.importorskip("xarray")
    table = swept()
    turned = Sweep({name: column[::-1] for name, column in table.columns.items()}, {}, {})
    data, other = table.to_xarray(), turned.to_xarray()
    for level in (1, 2, 3):
        assert np.array_equal(data["x"].sel(level=level), other["x"].sel(level=level)[::-1])


def test_a_grid_without_parameters() -> None:
    pytest.importorskip("xarray")

    def one(*, count: int, first: int, seed: Any) -> dict[str, Any]:
        return {"x": np.ones(count)}

    table = gs.sweep(one, {}, count=2, seed=1, key="one", workers=1, progress=False)
    assert isinstance(table, Sweep)
    assert table.to_xarray()["x"].item() == 1.0


def test_refusals() -> None:
    pytest.importorskip("xarray")
    table = swept()
    with pytest.raises(ValueError, match=r"^units: got 'speed', expected one of tasks, level, "):
        table.to_xarray({"speed": "GHz"})
    part = Sweep({name: column[:5] for name, column in table.columns.items()}, {}, {})
    with pytest.raises(ValueError, match=r"^points: got 5, expected all 6 of a grid$"):
        part.to_xarray()
    twice = Sweep(table.columns, {"x": np.ones((6, 4))}, {"x_values": np.ones((6, 2))})
    with pytest.raises(ValueError, match=r"^columns: got 'x_values' twice, expected different"):
        twice.to_xarray()


def test_without_xarray(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "xarray", None)
    with pytest.raises(ImportError, match=r"^to_xarray needs xarray: pip install xarray$"):
        swept().to_xarray()


def test_the_examples_run() -> None:
    pytest.importorskip("xarray")
    assert doctest.testmod(sweep_table, extraglobs={"gs": gs}).failed == 0
