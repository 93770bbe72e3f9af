"""Warning for a studied function that draws the same task sets in every call."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest

import gpusched as gs

pytestmark = pytest.mark.python


def repeated(*, x: float, count: int, first: int, seed: Any) -> dict[str, Any]:
    return {"a": np.random.default_rng(seed).random(count) < x}


def passed_on(*, x: float, count: int, first: int, seed: Any) -> dict[str, Any]:
    def draw() -> Any:
        return np.random.default_rng(seed).random(first + count)[first:]

    return {"a": draw() < x}


def stored_first(*, x: float, count: int, first: int, seed: Any) -> dict[str, Any]:
    total = count
    whole = np.random.default_rng(seed).random(first + total)
    return {"a": whole[first:] < x}


def without_numbers(*, x: float, count: int, first: int, seed: Any) -> dict[str, Any]:
    return {"a": np.full(count, x > 0.5)}


def all_names(**given: Any) -> dict[str, Any]:
    return {"a": np.random.default_rng(given["seed"]).random(given["count"]) < given["x"]}


class Study:
    def repeated(self, *, x: float, count: int, first: int, seed: Any) -> dict[str, Any]:
        return repeated(x=x, count=count, first=0, seed=seed)


@pytest.mark.parametrize("function", [repeated, Study().repeated])
def test_a_function_that_does_not_read_first(function: Any) -> None:
    with pytest.warns(UserWarning, match=r"repeated: reads its seed but not `first`"):
        gs.sweep(function, {"x": [0.5]}, count=10, seed=1, progress=False)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        gs.sweep(function, {"x": [0.5]}, count=1, seed=1, progress=False)  # there is one set


@pytest.mark.parametrize("function", [passed_on, stored_first, without_numbers, all_names])
def test_other_functions(function: Any) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        gs.sweep(function, {"x": [0.5]}, count=10, seed=1, progress=False)
