"""Base of all answers to a schedulability question: verdict, response times, slack, reasons.

All methods of ``gs.pbs`` and ``gs.analysis`` return objects of classes derived from `Answer`, for a
single task set and for a stack of sets alike.
"""

from __future__ import annotations

import operator
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from dataclasses import fields
from types import MappingProxyType
from typing import (
    TYPE_CHECKING,
    Any,
    ClassVar,
    Literal,
    Protocol,
    Self,
    SupportsIndex,
    TypeAlias,
    TypeVar,
    runtime_checkable,
)

import numpy as np
import numpy.typing as npt

from gpusched._support.arguments import Int64Array, frozen, task_number
from gpusched._support.results import Frozen, Saved, same
from gpusched._support.tabular import Tabular, frame_of
from gpusched._support.text import TICKS, clip, escape, plural, shown
from gpusched.model.workload.time_units import time_in_text

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

    from gpusched.model.host_tasks import HostTasks
    from gpusched.model.kernel_chains import KernelChains
    from gpusched.model.kernel_tasks import KernelTasks
    from gpusched.model.programs import Programs


@runtime_checkable
class MaybeStack(Protocol):
    """Protocol of fields that may be stacks: task sets and batch tables."""

    @property
    def is_stack(self) -> bool: ...
    def _sets(self, index: Any) -> Self: ...


class Stackable(Protocol):
    """Protocol of answers for a set or a stack of sets."""

    @property
    def is_stack(self) -> bool: ...
    def __len__(self) -> int: ...
    def __getitem__(self, index: Any, /) -> Self: ...


Of = TypeVar("Of", bound=Stackable)


def sets_at(answer: Stackable, index: Any) -> int | slice | npt.NDArray[Any]:
    """Index of one set in the answer for a stack, or an index that selects several sets.

    Raises TypeError for the answer for a single set and for other kinds of index, and IndexError
    for a set that does not exist.
    """
    if not answer.is_stack:
        raise TypeError("answer: got an index for a single set, expected a stack")
    return _position(index, len(answer))


def sets_of(answer: Of) -> Iterator[Of]:
    """The answers for the sets of a stack; TypeError for a single set."""
    if not answer.is_stack:
        raise TypeError("answer: got a single set, expected a stack to iterate over")
    return (answer[i] for i in range(len(answer)))


def _position(index: Any, count: int) -> int | slice | npt.NDArray[Any]:
    if isinstance(index, slice):
        return index
    if isinstance(index, (list, np.ndarray)) and np.ndim(index) == 1:
        array = np.asarray(index)
        if array.dtype == np.bool_ and len(array) != count:
            raise IndexError(f"sets: got a mask of {len(array)}, expected {count} entries")
        if array.dtype != np.bool_ and array.size:
            return np.array([_number(i, count) for i in array.tolist()], np.int64)
        return np.flatnonzero(array) if array.size else np.zeros(0, np.int64)
    return _number(index, count)


def _number(index: Any, count: int) -> int:
    try:
        if isinstance(index, (bool, np.bool_)):
            raise TypeError
        number = operator.index(index)
    except TypeError:
        raise TypeError(
            f"sets: got {shown(index)}, expected a number, a slice, numbers or a mask of sets"
        ) from None
    if not -count <= number < count:
        raise IndexError(f"sets: got {number}, expected a number below {count}")
    return number % count


def part_of(value: Any, at: int | slice | npt.NDArray[Any], n: int | None = None) -> Any:
    """A field of some sets of a stack; cut to n tasks if n is given (sets of different sizes)."""
    if isinstance(value, np.ndarray):
        part = value[at]
        if n is not None and value.ndim > 1:  # a row per task
            part = part[:n] if isinstance(at, int) else part[:, :n]
        return part.copy() if isinstance(part, np.ndarray) else part.item()
    if isinstance(value, MaybeStack):
        return value._sets(at) if value.is_stack else value
    if isinstance(value, Mapping):
        return {key: part_of(part, at, n) for key, part in value.items()}
    return value


Claim = Literal["exact", "sufficient", "necessary", "simulation"]
BoolArray: TypeAlias = npt.NDArray[np.bool_]
Times: TypeAlias = "np.ma.MaskedArray[tuple[int, ...], np.dtype[np.int64]]"
"""Ticks per task, masked where there is no value."""

# A Python value for one set, an array for a stack; which of them is known only at run time. A type
# checker treats such a value as an array, and also accepts it where a single value is expected.
Flags: TypeAlias = "npt.NDArray[np.bool_] | Any"
Ticks: TypeAlias = "npt.NDArray[np.int64] | Any"

SHOWN_ROWS = 40
_NONE = np.iinfo(np.int64).max  # below the mask: later than any deadline


def missing(values: npt.ArrayLike, known: npt.ArrayLike, filler: int = _NONE) -> Times:
    """``values`` as a read-only masked array, masked where unknown, with ``filler`` underneath."""
    mask = ~np.asarray(known, np.bool_)
    data = np.where(mask, np.int64(filler), np.asarray(values, np.int64))
    found: Times = np.ma.array(frozen(data), mask=frozen(mask))
    return found


class Answer(Tabular, Saved, Frozen, ABC):
    """Answer of a method for one set of n tasks, or for a stack of N sets.

    If the sets of a stack differ in size, its arrays have as many rows as the largest set; unused
    rows are masked in masked arrays, and 0 or False in others. The answer for one set,
    ``answer[i]``, has only the rows of its tasks.

    >>> answer = gs.analysis.gedf_tardiness(gs.HostTasks([30, 30], cpu=[20, 20]), cpus=2)
    >>> isinstance(answer, gs.analysis.Answer), answer.schedulable, answer.claim
    (True, True, 'sufficient')

    Attributes
    ----------
    accepted
        Whether the method guarantees that all deadlines are met: a bool, or bool ``(N,)`` for a
        stack.
    rejected
        Whether a deadline miss is shown, or an exact or necessary test fails; shape as
        ``accepted``.
    seconds
        Wall-clock time of the call that computed the answer; not compared by ``==``.

    The answer for a stack is indexed like an array: ``answer[3]`` is the answer for set 3;
    ``answer[2:5]`` and ``answer[answer.accepted]`` are answers for several sets. ``len`` returns
    the number of sets for a stack, and the number of tasks for a single set.
    """

    _QUESTION: ClassVar[str] = "every deadline is met"
    _SHOWN: ClassVar[tuple[str, ...]] = ("deadline", "response", "slack")
    _PER_SET: ClassVar[bool] = False  # whether a frame has one row per set, not per task

    if TYPE_CHECKING:  # fields or properties of the classes

        @property
        def accepted(self) -> Flags: ...
        @property
        def rejected(self) -> Flags: ...
        @property
        def seconds(self) -> Any: ...
        @property
        def bounded(self) -> BoolArray: ...

    # What a class has to say

    @property
    @abstractmethod
    def _tasks(self) -> KernelTasks | KernelChains | HostTasks | Programs:
        """The task set, or the stack of them."""

    @property
    @abstractmethod
    def claim(self) -> Claim:
        """Strength of the method: "exact", "sufficient", "necessary" or "simulation"."""

    @property
    @abstractmethod
    def assumptions(self) -> tuple[str, ...]:
        """Conditions under which the answer holds, one sentence each."""

    @abstractmethod
    def _responses(self) -> tuple[Int64Array, BoolArray]:
        """Response times, and where there is one."""

    @abstractmethod
    def _reason(self) -> str:
        """`why` of a single set."""

    @abstractmethod
    def _form(self) -> str:
        """Method and platform, for the summary."""

    # What follows from it

    @property
    def is_stack(self) -> bool:
        """Whether this is an answer for a stack of sets."""
        return self._tasks.is_stack

    def __len__(self) -> int:
        """Number of sets of a stack, or number of tasks of a single set."""
        return len(self.accepted) if self.is_stack else self._tasks.n

    @property
    def undecided(self) -> Flags:
        """Whether the answer is neither accepted nor rejected: a bool, or bool ``(N,)``."""
        if self.is_stack:
            return ~(self.accepted | self.rejected)
        return not (self.accepted or self.rejected)

    @property
    def schedulable(self) -> Flags:
        """True if accepted, False if rejected, None if undecided.

        For a stack, the bool array ``accepted``; its mean is the share of guaranteed sets.
        """
        if self.is_stack:
            return self.accepted
        return True if self.accepted else False if self.rejected else None

    @property
    def response(self) -> Times:
        """Response time of each task in ticks: int64 ``(n,)`` or ``(N, n)``.

        Masked if the method does not compute it. It bounds the response times of all jobs of the
        tasks for which ``bounded`` is True.
        """
        values, known = self._responses()
        return missing(values, known)

    @property
    def slack(self) -> Times:
        """Deadline minus response-time bound in ticks: int64 ``(n,)`` or ``(N, n)``.

        Masked if ``bounded`` is False; negative if the bound exceeds the deadline.
        """
        values, _ = self._responses()
        known = self.bounded
        late = self._tasks.deadline - np.where(known, values, 0)
        return missing(late, known, -_NONE)

    def why(self, task: int | str | None = None) -> str:
        """Explain the answer in a sentence or two.

        Parameters
        ----------
        task
            Index or name of a task, to explain what is known about this task; None for the whole
            set. The answer for a stack only returns the numbers of its accepted, rejected and
            undecided sets; index it to explain one of them, ``answer[3].why()``.

        Raises
        ------
        IndexError, ValueError
            The task does not exist, or the answer is for a stack.
        """
        if self.is_stack:
            if task is not None:
                raise ValueError(
                    f"task: got {shown(task)}, expected None for a stack; index it first, as in "
                    "answer[0].why(task)"
                )
            return f"{self._counts()}; answer[i].why() explains set i."
        if task is None:
            return self._reason()
        return self._reason_of(task_number(task, self._tasks.name))

    def _reason_of(self, i: int) -> str:
        """`why` of a task of a single set."""
        name, deadline = self._name(i), int(self._tasks.deadline[i])
        values, known = self._responses()
        if not known[i]:
            return f"{name}: no response bound; its deadline is {time_in_text(deadline)}."
        response = int(values[i])
        if not self.bounded[i]:
            return (
                f"{name}: {time_in_text(response)} was computed for a deadline of "
                f"{time_in_text(deadline)}, no bound."
            )
        return f"{name}: response at most {time_in_text(response)}, {_against(response, deadline)}."

    def _tightest(self) -> str:
        """The task of a single set with the least slack, in words; "" without bounds."""
        slack = self.slack
        if not slack.count():
            return ""
        i = int(slack.argmin())
        response, deadline = int(self.response[i]), int(self._tasks.deadline[i])
        return (
            f"{self._name(i)} has the least slack, with {time_in_text(response)} of "
            f"{time_in_text(deadline)}"
        )

    def _name(self, i: int) -> str:
        return clip(self._tasks.name[i], 60)

    def _counts(self) -> str:
        """Numbers of sets by answer."""
        yes, no = int(np.sum(self.accepted)), int(np.sum(self.rejected))
        parts = [f"{yes} of {plural(len(self), 'set')} schedulable"]
        parts += [f"{no} not"] if no else []
        parts += [f"{len(self) - yes - no} undecided"] if yes + no < len(self) else []
        return ", ".join(parts)

    def _word(self) -> str:
        """The answer for a single set."""
        if self.undecided:
            return "undecided"
        return "schedulable" if self.accepted else "not schedulable"

    def _summary(self) -> str:
        return f"{self._counts() if self.is_stack else self._word()} ({self._form()})"

    # Parts of a stack

    def __getitem__(self, index: SupportsIndex | slice | npt.ArrayLike) -> Self:
        """Return the answer for one set of a stack (int), or for several (slice, indices, mask).

        Raises
        ------
        IndexError
            The set does not exist.
        TypeError
            The answer is for a single set, or the index is of another kind.
        """
        at = sets_at(self, index)
        n = self._tasks[at].n if self._tasks.is_ragged else None
        changed = {f.name: part_of(getattr(self, f.name), at, n) for f in fields(self)}
        return type(self)(**changed)

    def __iter__(self) -> Iterator[Self]:
        """Iterate over the answers for the sets of a stack."""
        return sets_of(self)

    # Tables and pictures

    def _columns(self) -> dict[str, npt.NDArray[Any]]:
        """Columns of the table: per task ``(n,)`` or ``(N, n)``, or per set."""
        tasks = self._tasks
        return {
            "deadline": np.broadcast_to(tasks.deadline, self.bounded.shape),
            "response": self.response,
            "bounded": self.bounded,
            "slack": self.slack,
        }

    def to_frame(self) -> pd.DataFrame:
        """Return a pandas table with one row per task, of every set.

        It has the columns ``set`` (for a stack), ``task``, ``name``, ``schedulable``, ``deadline``,
        ``response``, ``bounded``, ``slack``, and those of the method. Missing values are NA.
        """
        return frame_of(self._table())

    def _table(self) -> dict[str, Any]:
        sets, n = (len(self) if self.is_stack else 1), self._tasks.n
        rows = 1 if self._PER_SET else n
        columns: dict[str, Any] = {}
        if self.is_stack or self._PER_SET:
            columns["set"] = np.repeat(np.arange(sets), rows)
        if not self._PER_SET:
            columns["task"] = np.tile(np.arange(n), sets)
            columns["name"] = np.tile(np.array(self._tasks.name, dtype=object), sets)
        yes = np.repeat(np.atleast_1d(self.accepted), rows)
        columns["schedulable"] = np.ma.array(yes, mask=np.repeat(self.undecided, rows))
        for key, values in self._columns().items():
            flat = np.ravel(values)
            columns[key] = flat.astype(object) if flat.dtype.kind == "U" else flat
        if self._PER_SET or not self._tasks.is_ragged:
            return columns
        are_tasks = self._tasks.is_task.ravel()
        return {key: column[are_tasks] for key, column in columns.items()}

    def plot(self, ax: Axes | None = None, *, unit: str | None = None) -> Axes:
        """Draw response-time bounds and deadlines of a set, or a bar chart of a stack's answers.

        Parameters
        ----------
        ax
            Matplotlib axes. Default: those of a new figure.
        unit
            Length of a tick: None, "ns", "us", "ms" or "s".

        Returns
        -------
        The axes.
        """
        if self.is_stack:
            return self._plot_counts(ax)
        response = self.response.filled(0)
        return self._plot_bars(ax, unit, [("response bound", 0, response)], np.arange(len(self)))

    def _plot_counts(self, ax: Axes | None) -> Axes:
        from gpusched._draw import axes as plot

        ax = plot.axes(ax, (5.0, 2.2))
        labels = ("schedulable", "not schedulable", "undecided")
        flags = (self.accepted, self.rejected, self.undecided)
        for row, (label, flag) in enumerate(zip(labels, flags, strict=True)):
            ax.barh(row, int(np.sum(flag)), 0.62, color=plot.color((2, 5, 7)[row]), label=label)
        ax.set_yticks(range(3), labels)
        ax.set_ylim(2.6, -0.6)
        ax.set_xlim(0, max(1, len(self)))
        ax.set_xlabel("task sets")
        plot.grid(ax, "x")
        return ax

    def _plot_bars(
        self,
        ax: Axes | None,
        unit: str | None,
        parts: list[tuple[str, int, Int64Array]],
        order: Int64Array,
        late: int | None = None,
        nothing: str = "no bound",
    ) -> Axes:
        """Draw one bar per task, of parts with a label and a colour, and its deadline.

        The word ``nothing`` is shown instead of a bar of which no part is known.
        """
        from gpusched._draw import axes as plot

        tasks, order = self._tasks, order[:SHOWN_ROWS]
        ax = plot.axes(ax, (9.4, 1.0 + 0.34 * len(order)))
        axis = plot.time_axis(unit, int(tasks.deadline[order].max(initial=1)))
        y = np.arange(len(order))
        left = np.zeros(len(order))
        for label, number, values in parts:
            width = values[order] / axis.ticks
            if width.any():
                ax.barh(y, width, 0.62, left=left, color=plot.color(number), label=label)
                left += width
        unknown = np.ma.getmaskarray(self.response)[order] & (left == 0)
        for row in np.flatnonzero(unknown).tolist():
            plot.word(ax, row, nothing)
        deadline = tasks.deadline[order] / axis.ticks
        for row, task in enumerate(order.tolist()):
            color = plot.LATE if task == late else plot.INK
            ax.plot([deadline[row]] * 2, [row - 0.42, row + 0.42], color=color, linewidth=2)
        ax.plot([], [], color=plot.INK, linewidth=2, label="deadline")
        ax.set_yticks(y, [self._label(i) for i in order.tolist()], parse_math=False)
        ax.set_ylim(len(order) - 0.4, -0.6)
        ax.set_xlim(0, 1.04 * max(float(deadline.max()), float(left.max())))
        ax.set_xlabel(axis.label.replace("time", "response time"))
        ax.legend(frameon=False, fontsize=9, loc="upper left", bbox_to_anchor=(1, 1))
        plot.grid(ax, "x")
        return ax

    def _label(self, i: int) -> str:
        return clip(self._tasks.name[i], 24)

    # Text

    def __repr__(self) -> str:
        return f"<{type(self).__name__}: {self._summary()}>"

    def _repr_html_(self) -> str:
        summary = f"<p>{type(self).__name__}: {escape(self._summary())}</p>"
        if self.is_stack:
            return summary
        reason = f"<p>{escape(clip(self.why(), 2000))}</p>"
        items = "".join(f"<li>{escape(text)}</li>" for text in self.assumptions)
        note = f"<details><summary>assumptions</summary><ul>{items}</ul></details>"
        return f"{summary}{self._html_table()}{reason}{note}"

    def _html_table(self) -> str:
        columns = {key: values for key, values in self._task_columns().items()}
        names = [key for key in self._html_columns() if key in columns]
        head = "".join(f"<th>{escape(name)}</th>" for name in names)
        rows = []
        for i in self._html_order().tolist()[:SHOWN_ROWS]:
            cells = "".join(f"<td>{escape(_cell(columns[name][i]))}</td>" for name in names)
            rows.append(f"<tr><th>{escape(self._name(i))}</th>{cells}</tr>")
        more = self._tasks.n - SHOWN_ROWS
        note = f"<p>and {more} more tasks</p>" if more > 0 else ""
        return f"<table>{TICKS}<tr><th></th>{head}</tr>{''.join(rows)}</table>{note}"

    def _task_columns(self) -> dict[str, npt.NDArray[Any]]:
        return Answer._columns(self) if self._PER_SET else self._columns()

    def _html_columns(self) -> tuple[str, ...]:
        return self._SHOWN

    def _html_order(self) -> Int64Array:
        return np.arange(self._tasks.n)

    # As any object

    @classmethod
    def _made(cls, **values: Any) -> Self:
        """An answer with values of all fields, which are read-only."""
        made = object.__new__(cls)
        vars(made).update(values)
        return made

    def __post_init__(self) -> None:
        for name, value in list(vars(self).items()):
            if isinstance(value, np.ndarray):
                frozen(value)
            elif isinstance(value, (dict, MappingProxyType)):
                parts = {key: frozen(array) for key, array in value.items()}
                object.__setattr__(self, name, MappingProxyType(parts))

    def __eq__(self, other: object) -> bool:
        if type(other) is not type(self):
            return NotImplemented
        return all(
            _same(getattr(self, f.name), getattr(other, f.name)) for f in fields(self) if f.compare
        )

    __hash__ = None  # type: ignore[assignment]

    def __reduce__(self) -> Any:
        return (type(self), tuple(_plain(getattr(self, f.name)) for f in fields(self)))


def _against(response: int, deadline: int) -> str:
    left = deadline - response
    if left < 0:
        return f"{time_in_text(-left)} later than its deadline of {time_in_text(deadline)}"
    return f"{time_in_text(left)} before its deadline of {time_in_text(deadline)}"


def _cell(value: Any) -> str:
    if value is np.ma.masked:
        return "–"
    if isinstance(value, (int, np.integer)) and not isinstance(value, (bool, np.bool_)):
        return f"{int(value):,}"
    return clip(f"{value:.6g}" if isinstance(value, float) else str(value), 60)


def _same(one: Any, other: Any) -> bool:
    if isinstance(one, Mapping) and isinstance(other, Mapping):
        return one.keys() == other.keys() and all(same(one[key], other[key]) for key in one)
    return same(one, other)


def _plain(value: Any) -> Any:
    return dict(value) if isinstance(value, Mapping) else value
