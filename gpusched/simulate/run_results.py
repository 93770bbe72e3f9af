"""Common parts of simulations: runs in slices to their ends, tables of results, responses."""

from __future__ import annotations

import math
from dataclasses import dataclass, fields
from fractions import Fraction
from time import monotonic
from typing import TYPE_CHECKING, Any, ClassVar, Protocol, Self

import numpy as np
import numpy.typing as npt

from gpusched._support.arguments import Int64Array, real, task_number
from gpusched._support.budget import Budget, Progress, reporter
from gpusched._support.registry import enumeration
from gpusched._support.results import Frozen, Results, Saved
from gpusched._support.tabular import Tabular, frame_of, optional
from gpusched._support.text import escape, named, plural

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes


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


_MOST_DOTS = 20_000


@dataclass(frozen=True, eq=False, repr=False)
class Table(Tabular, Saved, Frozen):
    """Columns of equal length: read-only arrays."""

    _OPTIONAL: ClassVar[tuple[str, ...]] = ()
    """Columns in which -1 means that there is no value."""

    def __len__(self) -> int:
        return len(getattr(self, fields(self)[0].name))

    def _table(self) -> dict[str, Any]:
        columns = {f.name: getattr(self, f.name) for f in fields(self)}
        return {k: optional(v) if k in self._OPTIONAL else v for k, v in columns.items()}

    def to_frame(self) -> pd.DataFrame:
        """Return the columns as a pandas table; NA instead of -1."""
        return frame_of(self._table())

    def __repr__(self) -> str:
        return f"<{type(self).__name__}: {len(self)} rows>"

    def _repr_html_(self) -> str:
        return Results(self._table())._repr_html_()


@dataclass(frozen=True, eq=False, repr=False)
class Responses(Tabular, Saved, Frozen):
    """Largest responses of simulated sets: columns of shape (N, n) for a stack of N sets of n
    tasks, and an outcome per set; a single set has no first axis."""

    worst: Int64Array
    finished: Int64Array
    outcome: npt.NDArray[np.str_]

    @property
    def is_stack(self) -> bool:
        """Whether this is about a stack of sets."""
        return self.worst.ndim == 2

    @property
    def response(self) -> Int64Array:
        """The largest response time of each task, ``worst``."""
        return self.worst

    def __len__(self) -> int:
        """Number of sets of a stack, or number of tasks of a single set."""
        return len(self.worst)

    def __getitem__(self, index: Any) -> Self:
        """Select sets of a stack: an index gives one set; a slice, indices or a mask a stack.

        Raises IndexError as arrays do, and TypeError for a single set.
        """
        if not self.is_stack:
            raise TypeError("index: got a single set, expected a stack of sets")
        parts = {f.name: np.asarray(getattr(self, f.name)[index]) for f in fields(self)}
        if parts["worst"].ndim not in (1, 2):
            raise IndexError(f"index: got {index!r:.60}, expected sets of a stack")
        return type(self)(**parts)

    def why(self, task: int | None = None) -> str:
        """Describe the largest response of a task; by default, the largest of all tasks.

        Raises ValueError for a stack, and IndexError for a task that the set does not have.
        """
        if self.is_stack:
            raise ValueError(f"why: got a stack of {len(self)} sets, expected one set, as by [0]")
        number = int(np.argmax(self.worst)) if task is None else task
        number = task_number(number, tuple(f"task {i}" for i in range(len(self))))
        count = int(self.finished[number])
        if count == 0:
            return f"task {number}: no job has finished ({self.outcome})"
        return (
            f"task {number}: the largest response of {plural(count, 'finished job')} is "
            f"{self.worst[number]} ticks{self._more(number)} ({self.outcome})"
        )

    def _more(self, task: int) -> str:
        return ""

    def to_frame(self) -> pd.DataFrame:
        """Return a pandas table with one row per task (and set).

        ``worst`` is NA if no job finished.
        """
        return frame_of(self._table())

    def _table(self) -> dict[str, Any]:
        sets, n = np.atleast_2d(self.worst).shape
        columns: dict[str, npt.NDArray[Any]] = {}
        if self.is_stack:
            columns["set"] = np.repeat(np.arange(sets), n)
        columns["task"] = np.tile(np.arange(n), sets)
        for field in fields(self):
            column = getattr(self, field.name)
            if column.shape == self.worst.shape:
                columns[field.name] = column.ravel()
        columns["worst"] = optional(columns["worst"], columns["finished"] > 0)
        columns["outcome"] = np.repeat(np.atleast_1d(self.outcome), n)
        return columns

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw the largest response of each task over all sets as bars, and each set as a dot.

        ``ax``: axes to draw on, by default those of a new figure. Returns the axes.
        """
        from gpusched._draw.axes import axes, color, grid

        ax = axes(ax, (6.4, 3.6))
        worst = np.atleast_2d(self.worst)
        task = np.arange(worst.shape[1])
        ax.bar(task, worst.max(axis=0, initial=0), color=color(4), width=0.7)
        if self.is_stack:
            shown = worst[: max(1, _MOST_DOTS // max(1, len(task)))]
            x = np.tile(task, len(shown))
            ax.plot(x, shown.ravel(), ".", color=color(0), markersize=3, alpha=0.4)
        ax.set_xticks(task[:: max(1, len(task) // 16)])
        ax.set_xlabel("task")
        ax.set_ylabel("largest response (ticks)")
        grid(ax, "y")
        return ax

    def _repr_html_(self) -> str:
        return f"<p>{escape(repr(self)[1:-1])}</p>" + Results(self._table())._repr_html_()


def html_of(run: Any) -> str:
    """HTML of a run: its text, followed by the picture, or by a table if there is no picture."""
    picture = run._repr_svg_()
    if picture is None:
        picture = Results(run._table())._repr_html_()
    return f"<p>{escape(repr(run)[1:-1])}</p>{picture}"


def ended(outcome: str, reason: str | None, now: int) -> str:
    """Describe the end of a run, for outcomes common to all simulators."""
    if outcome == "budget":
        return f"the budget ({reason}) was spent at {now}"
    return f"all jobs finished by {now}"


def rank_of(q: float, count: int) -> int | None:
    """The place, from 1, of the smallest of so many values that q percent do not exceed.

    None without values. Raises ValueError for a q outside 0 to 100.
    """
    if not 0 <= real(q, "q") <= 100:
        raise ValueError(f"q: got {q!r}, expected 0 to 100")
    return max(1, math.ceil(Fraction(str(q)) * count / 100)) if count else None


def percentile_of(values: Int64Array, q: float) -> int | None:
    """The smallest value that q percent do not exceed (nearest rank); None without values."""
    rank = rank_of(q, len(values))
    return None if rank is None else int(np.partition(values, rank - 1)[rank - 1])


def misses(run: Any) -> str:
    """The number of deadlines that a run misses, in words."""
    late = int(run.late.sum())
    return "no deadline missed" if late == 0 else f"{plural(late, 'deadline')} missed"


def worst_job(run: Any, task: int | str | None) -> tuple[int, int | None]:
    """A task (by default the one with the least slack) and its job with the largest response.

    The job is its row in the run; None if no job of the task finished.
    """
    response, tasks = run.response, run.tasks
    if task is None:
        slack = tasks.deadline - run.worst
        unfinished = run.late & (run.end < 0)
        slack = np.where(np.bincount(run.task[unfinished], minlength=tasks.n) > 0, -(2**62), slack)
        number = int(np.argmin(slack))
    else:
        number = task_number(task, tasks.name)
    mine = np.flatnonzero((run.task == number) & (run.end >= 0))
    if not len(mine):
        return number, None
    return number, int(mine[np.argmax(response[mine])])


def job_text(run: Any, task: int, row: int | None) -> str:
    """The beginning of a sentence about a task's job with the largest response."""
    name = run.tasks.name[task]
    waiting = np.flatnonzero((run.task == task) & (run.end < 0) & run.late)
    left = ""
    if len(waiting):
        left = f"; {plural(len(waiting), 'job')} had not finished at {run.now}, after the deadline"
    if row is None:
        return f"{name}: no job has finished by {run.now}{left}"
    return response_text(run, task, row, "the largest response") + left


def response_text(run: Any, task: int, row: int, what: str = "a response of") -> str:
    """A finished job and its response in words."""
    response, deadline = int(run.response[row]), int(run.tasks.deadline[task])
    verb = "within" if response <= deadline else "later than"
    comma = "," if what.startswith("the") else ""
    return (
        f"{named(run.tasks.name[task])}: job {run.job[row]}, released at {run.release[row]}, has "
        f"{what}{comma} {plural(response, 'tick')}, {verb} its deadline of {deadline}"
    )
