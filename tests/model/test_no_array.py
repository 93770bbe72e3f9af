"""Objects of several columns, which NumPy is not to turn into one array of objects."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

import gpusched as gs

KERNELS = gs.KernelTasks(period=[4, 5], wcet=[1, 3])
OBJECTS: dict[str, Any] = {
    "KernelTasks": KERNELS,
    "KernelChains": gs.KernelChains(period=[60], block_time=[[4, 2]]),
    "HostTasks": gs.HostTasks.from_segments([9], [[2, (1, 3, 1), 1]]),
    "Workload": gs.Workload([gs.Task("a", period=9, segments=[gs.CPU(2)])]),
    "Launches": gs.Launches([0, 0], [3, 4]),
    "BatchTable": gs.BatchTable([0, 1, 3, 4]),
    "Schedule": gs.pbs.search(KERNELS, gs.BatchTable([0, 1, 3, 4])).schedule,
}


@pytest.mark.parametrize("kind", OBJECTS)
def test_an_array_of_it_is_refused_with_its_columns(kind: str) -> None:
    held = OBJECTS[kind]
    expected = (
        rf"got {kind}, expected one of its columns \((\.[a-z]|\[task\.period).*\.to_frame\(\)\)"
    )
    for make in (np.asarray, np.array, lambda x: np.array([x, x]), lambda x: np.asarray(x, float)):
        with pytest.raises(TypeError, match=f"^array: {expected}$"):
            make(held)
    with pytest.raises(TypeError, match=f"^period: {expected}$"):
        gs.KernelTasks(period=held, wcet=[1, 1])


@pytest.mark.parametrize("kind", OBJECTS)
def test_the_columns_that_the_message_names_exist(kind: str) -> None:
    held = OBJECTS[kind]
    for name in re.findall(r"\.(\w+)", type(held)._INSTEAD.replace("task.period", "")):
        assert hasattr(held, name), name


def test_sets_can_be_values_of_a_grid() -> None:
    def size(*, tasks: Any, count: int, first: int, seed: Any) -> dict[str, Any]:
        return {"size": np.full(count, tasks.n)}

    table = gs.sweep(
        size, {"tasks": [KERNELS, KERNELS[:1]]}, count=2, workers=1, progress=False, key="size"
    )
    assert [held.n for held in table.columns["tasks"]] == [2, 1]
