"""Simulations of the core, run in slices to their ends: budgets, progress, interruption."""

from __future__ import annotations

from dataclasses import dataclass
from time import monotonic
from typing import Any, Protocol

from gpusched._support.budget import Budget
from gpusched._support.progress import Progress, reporter
from gpusched._support.registry import enumeration

_REASONS = (None, *enumeration("core.status")[1:4])
# Waves, instants or blocks of a slice, between which the progress is reported: some milliseconds.
_SLICE = 1 << 16


class Simulation(Protocol):
    """A simulation of the core: ``_core.FifoSimulation`` and its like."""

    def run(
        self, *, steps: int, states: int, bytes: int, seconds: float, stop: Any
    ) -> tuple[int, bool, int, int, int]: ...


@dataclass(frozen=True)
class Ended:
    """State of a simulation at its end; ``reason`` is the budget that was used up, or None."""

    reason: str | None
    now: int
    count: int  # jobs released, or launches ended
    steps: int


def run_to_end(
    simulation: Simulation,
    budget: Budget,
    progress: Progress,
    stop: Any,
    *,
    total: int | None,
    unit: str,
    steps_are_states: bool = False,
) -> Ended:
    """Run a simulation to its end, or until the budget is used up.

    Parameters
    ----------
    simulation
        A simulation that has not ended.
    budget
        Its limits; ``states`` limits the jobs, or with ``steps_are_states`` the steps.
    progress, total, unit
        As in ``reporter``; ``unit`` is "tick" of the simulated time, or the unit of
        ``Ended.count``.
    stop
        None, or a writable buffer of one byte that another thread sets to stop the run.
    """
    began = monotonic()
    status, done, now, count, steps, seconds = 0, False, 0, 0, 0, 0.0
    states = 0 if steps_are_states else budget.states or 0
    # The deadlines of the jobs are a column besides the six of the core.
    size = 0 if budget.bytes is None else max(1, budget.bytes * 6 // 7)
    with reporter(progress, total, unit, delay=1.0) as report:
        while not done and status == 0:
            most = _SLICE
            if steps_are_states and budget.states is not None:
                most = min(most, budget.states - steps)
            if budget.seconds is not None:
                seconds = budget.seconds - (monotonic() - began)
            if most <= 0 or (budget.seconds is not None and seconds <= 0):
                status = _REASONS.index("states" if most <= 0 else "seconds")
                break
            status, done, now, count, steps = simulation.run(
                steps=most, states=states, bytes=size, seconds=seconds, stop=stop
            )
            reached = now if unit == "tick" else count
            report(reached if total is None else min(reached, total))
    return Ended(_REASONS[status], now, count, steps)
