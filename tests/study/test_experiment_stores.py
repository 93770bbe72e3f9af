"""Shards, stores and executors of the experiments: the same results as those of a plain call."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from concurrent.futures import Executor, Future
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import gpusched as gs
from gpusched import experiments

pytestmark = pytest.mark.python

CASES: dict[str, tuple[str, dict[str, Any]]] = {
    "elliott_fig5": ("elliott_fig5", {"scenarios": [93, 183], "count": 150_000, "bins": 8}),
    "elliott_table2": ("elliott_table2", {"count": 4, "seconds": 0.5}),
    "gpusched_fig4": ("gpusched_fig4", {"utilizations": (0.6, 1.2), "n": 3, "count": 9}),
    "gpusched_fig5a": ("gpusched_fig5", {"panel": "a", "utilizations": (0.6, 1.2), "count": 3}),
    "gpusched_fig5b": ("gpusched_fig5", {"panel": "b", "tasks": (2, 3), "count": 3}),
    "gpusched_fig5c": (
        "gpusched_fig5",
        {"panel": "c", "count": 4, "budget": {"states": 300}},
    ),
    "sharing": (
        "sharing",
        {"utilizations": (0.4, 1.2), "n": 3, "count": 3, "ways": ("mpcp", "pbs")},
    ),
    "gcaps_fig8": ("gcaps_fig8", {"values": (0.1, 0.3), "count": 5, "tests": ["MPCP busy"]}),
    "stgm_fig4": ("stgm_fig4", {"tasks": (6, 8, 8), "count": 5, "tests": ["STGM busy"]}),
    "stgm_fig5": ("stgm_fig5", {"sms": (2, 13), "count": 20, "tests": ["STGM busy"]}),
    "stgm_options": ("stgm_options", {"n": 8, "count": 5, "tests": ["STGM busy", "GPU server"]}),
    "stgm_allocators": ("stgm_allocators", {"tasks": (4, 5), "count": 7, "states": 2000}),
    "yang_bounds": (
        "yang_bounds",
        {"utilizations": (0.3, 0.9), "n": 3, "count": 5, "horizon": 4},
    ),
}
MEASURED = {"seconds", "seconds_median", "seconds_max"}
ARRAYS = ("scenario", "category", "response", "tardiness", "worst", "fits", "sets", "eighths",
          "passed", "fates", "tasks", "without")  # fmt: skip


class Copying(Executor):
    """An executor that, like a pool of processes, passes copies, and runs nothing at a time."""

    def submit(self, function: Any, /, *arguments: Any, **options: Any) -> Future[Any]:
        future: Future[Any] = Future()
        function, arguments, options = pickle.loads(pickle.dumps((function, arguments, options)))
        future.set_result(pickle.loads(pickle.dumps(function(*arguments, **options))))
        return future


def call(case: str, **options: Any) -> Any:
    name, given = CASES[case]
    return getattr(experiments, name)(**{"seed": 3, "progress": False} | given | options)


def assert_equal(found: Any, expected: Any) -> None:
    assert type(found) is type(expected)
    assert list(found.columns) == list(expected.columns)
    pairs = [(found[name], expected[name]) for name in found.columns if name not in MEASURED]
    for name in ARRAYS:
        if isinstance(getattr(expected, name, None), np.ndarray):
            pairs.append((getattr(found, name), getattr(expected, name)))
    for one, other in pairs:
        assert one.dtype == other.dtype
        np.testing.assert_array_equal(one, other)


@pytest.fixture
def idle(monkeypatch: pytest.MonkeyPatch) -> Callable[[], None]:
    """A function after which nothing can be computed."""

    def refuse(*_: Any) -> None:
        raise AssertionError("computed what is in the store")

    return lambda: monkeypatch.setattr("gpusched.study.engine.perform", refuse)


@pytest.mark.long
@pytest.mark.parametrize("case", CASES)
def test_merged_shards_are_the_whole(case: str, tmp_path: Path, idle: Callable[[], None]) -> None:
    paths = [tmp_path / "one", tmp_path / "two"]
    options: list[dict[str, Any]] = [{"workers": 2}, {"executor": Copying()}]
    for part, path in enumerate(paths):
        found = call(case, store=path, shard=(part, 2), **options[part])
        assert isinstance(found, gs.StoredStudy)
        assert found.study == f"gs.experiments.{CASES[case][0]}" and sum(found.sets) > 0
        assert not found.complete
    merged = gs.merge(paths, tmp_path / "whole")
    assert merged.complete
    expected = call(case)
    idle()
    assert_equal(call(case, store=tmp_path / "whole"), expected)


@pytest.mark.long
@pytest.mark.parametrize("case", CASES)
def test_an_interrupted_study_resumes(case: str, tmp_path: Path) -> None:
    done: list[int] = []

    def interrupt(sets: int, _: int) -> None:
        done.append(sets)
        raise KeyboardInterrupt

    path = tmp_path / "store"
    with pytest.raises(KeyboardInterrupt):
        call(case, store=path, workers=1, progress=interrupt)
    held = gs.open_store(path)
    assert sum(held.sets) == done[0] > 0 and not held.complete
    assert_equal(call(case, store=path), call(case))


def test_lists_grow_in_a_store(tmp_path: Path, idle: Callable[[], None]) -> None:
    """Panels, points and sets are added to what a store has; equal points are computed once."""
    path = tmp_path / "store"
    some = {"n": 3, "seed": 5, "progress": False}
    figure = experiments.gpusched_fig4
    figure("a", (0.5,), count=4, store=path, **some)
    expected = figure("a", (0.5, 1.0, 0.5), count=6, **some)
    assert expected["schedulable"].shape == (9,)
    assert figure("a", (0.5, 1.0, 0.5), count=6, store=path, **some) == expected
    figure(None, (0.5, 1.0, 0.5), count=6, store=path, **some)
    idle()
    assert figure("a", (0.5, 1.0, 0.5), count=6, store=path, **some) == expected


def test_a_store_of_other_settings_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "store"
    call("stgm_fig4", store=path)
    for options, text in (
        ({"seed": 4}, "got another study: seed is"),
        ({"server_overhead": 60}, "got another study: server_overhead is 50, expected 60"),
        ({"baselines": "same"}, 'baselines is "table", expected "same"'),
        ({"sets": {"at": None}}, "got another study: sets is"),
        ({"tests": ["STGM suspend"]}, "got another study: tests is"),
    ):
        with pytest.raises(gs.StoreError, match=text):
            call("stgm_fig4", store=path, **options)
    with pytest.raises(
        gs.StoreError, match=r"got a store of .gs\.experiments\.stgm_fig4., expected"
    ):
        call("stgm_fig5", store=path)
    with pytest.raises(ValueError, match="store: got None, expected a file for the results of the"):
        call("stgm_fig4", shard=(0, 2))
    with pytest.raises(ValueError, match="seed: got None, expected an int or a SeedSequence"):
        call("stgm_fig4", seed=None, store=tmp_path / "other")
    assert [one.name for one in tmp_path.iterdir()] == ["store"]


def test_a_failing_scenario_is_named() -> None:
    for executor in (None, Copying()):
        with pytest.raises(ValueError, match=r"scenario 189 \(heavy, short periods, .*\): "):
            experiments.elliott_fig5([93, 189], 10, 1, cpus=1, executor=executor, progress=False)
