"""Arrays of the C module that are one longer or shorter than the others, or have one axis more."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from core_answers import good
from test_copies import call, lend, with_arrays

# Axes with a length of their own: parameter, place in a tuple, axis. Without the last limits of a
# GPU the defaults hold; kernel times may end before the number of SMs.
OWN = {("limits", 0, 0), ("function", 3, 0), ("hosts", 7, 3)}
OWN_OF: dict[str, set[tuple[str, int]]] = {
    "bandwidth_slowdowns": {("demand", 0)},
    "elliott_study": {("speed_ups", 0)},
    "generate_fifo": {("utilization", 0), ("sizes", 0)},
    "generate_hosts": {("profiles", 0), ("profiles", 1)},
    "generate_kernels": {("utilization", 0), ("periods", 0)},
    "generate_uunifast": {("utilization", 0)},
    "hierarchy_open": {("copy_engines", 0), ("runlist", 0)},
    "holistic": {("part_sms", 0)},
    "host_assign_priorities": {("sm", 2)},
    "host_breakdown": {("sm", 2)},
    "host_partition": {("sm", 2)},
    "host_placed_test": {("sm", 2)},
    "pbs_function_table": {("tasks", 0)},
    "pbs_function_times": {("batches", 0)},
    "pbs_proof_interval": {("tasks", 0)},
    "row_text": {("values", 1), ("fixed", 0), ("texts", 0)},
}


def is_own(name: str, parameter: str, place: int, axis: int) -> bool:
    return (parameter, place, axis) in OWN or (parameter, axis) in OWN_OF.get(name, ())


def changed(array: Any, axis: int) -> Iterator[Any]:
    """The array with its first row once more, and without its last one."""
    if array.shape[axis] > 0:
        yield np.concatenate([array, array.take([0], axis)], axis)
        yield array.take(range(array.shape[axis] - 1), axis)


@pytest.mark.parametrize("name", with_arrays())
def test_lengths_are_those_of_the_others(name: str) -> None:
    values = good(name)
    for key, one in lend(values).items():
        for axis in range(one.array.ndim):
            if is_own(name, *key, axis):
                continue
            for array in changed(one.array, axis):
                with pytest.raises(ValueError, match=r"got |expected "):
                    call(name, values, {key: array})


@pytest.mark.parametrize("name", with_arrays())
def test_numbers_of_axes(name: str) -> None:
    values = good(name)
    for key, one in lend(values).items():
        array = one.array
        with pytest.raises(ValueError, match=rf"got {array.ndim + 1} dim.*, expected {array.ndim}"):
            call(name, values, {key: array[None]})
        if array.size:
            with pytest.raises(ValueError, match=rf"got {array.ndim - 1} dim"):
                call(name, values, {key: array[0]})
