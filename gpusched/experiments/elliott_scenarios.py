"""The 270 scenarios of [RTNS10], section 5, from which task sets are drawn."""

from __future__ import annotations

import itertools
from collections.abc import Iterable
from typing import Any, NamedTuple

from gpusched._support.arguments import integer, one_of
from gpusched._support.text import shown
from gpusched.generate.elliott_sets import PERIODS, UTILIZATIONS

__all__ = ["GPU_SHARES", "LETTERS", "SCENARIOS", "Scenario", "find", "numbers_of", "printed"]

GPU_SHARES = (0.25, 0.5, 0.75)
LETTERS = "abcdefghi"
"""Letters of the nine panels of Figure 5."""


class Scenario(NamedTuple):
    """Parameters of a distribution of task sets, one of the paper's 270 combinations.

    >>> gs.experiments.SCENARIOS[0]
    Scenario(number=0, utilization='light', periods='short', gpu=0.25, share=0.0)
    """

    number: int
    utilization: str
    periods: str
    gpu: float
    share: float

    @property
    def title(self) -> str:
        return (
            f"{self.utilization}, {self.periods} periods, {self.gpu:.0%} of a job on the GPU, "
            f"{self.share:.0%} to {self.share + 0.1:.0%} of the tasks"
        )


SCENARIOS = tuple(
    Scenario(number, *of)
    for number, of in enumerate(
        itertools.product(UTILIZATIONS, PERIODS, GPU_SHARES, (k / 10 for k in range(10)))
    )
)
"""All scenarios: 3 intervals of utilizations, 3 of periods, 3 GPU shares of a job (``gpu``), and 10
intervals of the share of tasks that use the GPU (``share`` to ``share`` + 0.1)."""


def find(utilization: str, periods: str, gpu: float, share: float) -> int:
    for of in SCENARIOS:
        if of[1:4] == (utilization, periods, gpu) and abs(of.share - share) < 0.01:
            return of.number
    raise ValueError(f"share: got {share} with periods {periods!r}, expected a scenario")


def printed(periods: str) -> list[int]:
    """Numbers of the scenarios of the nine panels, (a) to (i)."""
    return [find(u, periods, g, 0.3) for u in UTILIZATIONS for g in GPU_SHARES]


def numbers_of(scenarios: Any, periods: str) -> tuple[int, ...]:
    one_of(periods, PERIODS, "periods")
    if scenarios is None:
        return tuple(printed(periods))
    if isinstance(scenarios, str):
        one_of(scenarios, ("all",), "scenarios")
        return tuple(range(len(SCENARIOS)))
    if isinstance(scenarios, Scenario) or not isinstance(scenarios, Iterable):
        raise TypeError(f"scenarios: got {shown(scenarios)}, expected a list of numbers")
    numbers = tuple(
        integer(s.number if isinstance(s, Scenario) else s, "scenarios") for s in scenarios
    )
    if not numbers:
        raise ValueError("scenarios: got none, expected at least one")
    for number in numbers:
        if not 0 <= number < len(SCENARIOS):
            raise ValueError(f"scenarios: got {number}, expected 0 to {len(SCENARIOS) - 1}")
    if len(set(numbers)) != len(numbers):
        raise ValueError(f"scenarios: got {shown(scenarios)}, expected no number twice")
    return numbers
