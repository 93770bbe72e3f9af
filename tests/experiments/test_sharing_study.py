"""The study of all ways of sharing a GPU: its shares against comparisons, picture, text, errors."""

from __future__ import annotations

from typing import Any

import matplotlib
import numpy as np
import pytest

import gpusched as gs
from gpusched._support.arguments import spawn
from gpusched.experiments import SHARING_WAYS, sharing
from gpusched.experiments.sharing_study import _system

matplotlib.use("Agg")
pytestmark = pytest.mark.python


def test_shares_are_those_of_comparisons() -> None:
    """Systems are drawn again by hand, and one way at a time is asked."""
    platform, ways, count = gs.Platform("A100", cpus=4), ("streams", "stgm", "pbs"), 4
    table = sharing((0.5, 1.3), 4, count, seed=7, ways=ways, workers=1)
    for index, utilization in enumerate((0.5, 1.3)):
        systems = [_system(utilization, 4, platform, 0.0, spawn(7, index, i)) for i in range(count)]
        for way in ways:
            found = [gs.compare(w, platform, ways=[way]) for w in systems]
            row = table.where(utilization=utilization, way=way)
            sure = np.mean([any(r.schedulable for r in rows) for rows in found])
            late = np.mean([all(r.schedulable is False for r in rows) for rows in found])
            assert (row["guaranteed"][0], row["late"][0]) == (sure, late)
            assert row["refused"][0] == 0 and row["conditional"][0] == 0
    assert table["guaranteed"].max() > table["guaranteed"].min()
    assert (table["guaranteed"] + table["late"] <= 1).all()


def test_shared_cpus_and_exact_times_are_conditions() -> None:
    few = sharing((0.3,), 3, 4, ways=("streams", "pbs"), platform=gs.Platform("A100", cpus=2))
    own = sharing((0.3,), 3, 4, ways=("streams", "pbs", "edf_serial"))
    for way in ("pbs", "streams"):  # whose tests count who shares the CPUs
        row = few.where(way=way)
        both = row["guaranteed"][0] + row["conditional"][0]
        assert both == own.where(way=way)["guaranteed"][0] and row["guaranteed"][0] > 0
    exact = own.where(way="edf_serial")
    assert exact["guaranteed"][0] > 0 and exact["conditional"][0] > 0


def test_every_way_knows_the_systems() -> None:
    """No model refuses them, with copies or without."""
    table = sharing((0.2,), 3, 3)
    assert set(table["way"]) == set(SHARING_WAYS) and not table["refused"].any()
    assert table.where(way="time_slices")["guaranteed"][0] == 1
    copies = sharing((0.2,), 3, 3, ways="time_slices", copies=0.1)
    assert copies["guaranteed"][0] == 1 and not copies["refused"].any()


def test_utilization_is_that_of_the_kernels() -> None:
    system = _system(0.9, 5, gs.Platform("A100", cpus=4), 0.0, spawn(1))
    kernels = [[s.time for s in task.segments if isinstance(s, gs.Kernel)] for task in system]
    total = sum(sum(times) / task.period for times, task in zip(kernels, system, strict=True))
    assert total == pytest.approx(0.9, abs=1e-3)


def test_picture_and_text() -> None:
    table = sharing((0.4, 0.8), 3, 2, ways=("mpcp", "pbs", "mig", "stgm", "gcaps"))
    axes = table.plot()
    assert axes.shape == (2, 4)
    assert [ax.get_title() for ax in axes.flat if ax.get_visible()] == [
        *("lock, MPCP", "batches, PBS", "MIG instances", "SMs divided, STGM", "GCAPS")
    ]
    lines = table.to_text().splitlines()
    said = "guaranteed/guaranteed under conditions/late in percent of 2 systems of 3 tasks"
    assert lines[0] == said and len(lines) == 7


@pytest.mark.parametrize(
    ("given", "error", "message"),
    [
        ({"ways": "stream"}, ValueError, "ways: got 'stream', expected one of one_stream, "),
        ({"copies": 2}, ValueError, "copies: got 2, expected a share from 0 to 1"),
        ({"platform": "A100"}, TypeError, "platform: got str, expected Platform"),
        ({"utilizations": ()}, ValueError, "got no point, expected at least one"),
        ({"n": 0}, gs.SweepError, "n: got 0, expected"),
    ],
)
def test_errors(given: dict[str, Any], error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        sharing(**{"utilizations": (0.4,), "n": 2, "count": 1} | given)
