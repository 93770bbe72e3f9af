"""Answer of `breakdown`: factors, the tasks that limit them, utilizations."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field, fields
from fractions import Fraction
from typing import TYPE_CHECKING, Any, ClassVar, Self, SupportsIndex

import numpy as np
import numpy.typing as npt

from gpusched._support.arguments import Int64Array, task_number
from gpusched._support.results import Frozen, Saved, same
from gpusched._support.tabular import Tabular, frame_of, optional
from gpusched._support.text import clip, escape, shown
from gpusched.model.answer import Flags, Ticks, part_of, sets_at, sets_of
from gpusched.model.host_tasks import HostTasks
from gpusched.ways.old_values import way_of_old
from gpusched.ways.way import Way

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

__all__ = ["Breakdown"]

_GROWS = {"all": "All times", "kernels": "Kernels", "copies": "Copies", "cpu": "CPU segments"}


@dataclass(frozen=True, eq=False, repr=False)
class Breakdown(Tabular, Saved, Frozen):
    """Largest factor on execution times at which a test accepts a set; see `breakdown`.

    Values are scalars for one set, or arrays ``(N,)`` for a stack, which is indexed like an array.

    >>> jobs = [[2, (0, 2, 0), 1], [3, (0, 3, 0), 1]]
    >>> hosts = gs.HostTasks.from_segments([10, 20], jobs, core=[0, 1])
    >>> gs.analysis.breakdown(hosts, "mpcp")
    <Breakdown: factor 1, utilization 0.85 (mpcp, suspend, all)>

    Attributes
    ----------
    hosts, way, sms
        The tasks, the way of sharing the GPU whose test it is, and the number of SMs.
    scale, task
        The scaled times, "all", "kernels", "copies", "cpu" or the name of a task, and the index of
        that task (-1 if it is not a task).
    numerator, denominator
        The exact factor in lowest terms: int64. 0 / 1 if no positive factor is accepted; 1 / 1 if
        ``unlimited``.
    limiting
        Index of the task that may miss its deadline at the next larger factor; -1 for none.
    unlimited
        Whether the set is accepted and has no time that is scaled.
    utilization
        Breakdown utilization: the sum of (C + G) / T at the factor, with kernels on the SMs of the
        test; 0 if no factor is accepted.
    tests
        Number of tests that were run.
    seconds
        Wall-clock time of the call.
    """

    _KIND: ClassVar[str] = "Breakdown"
    _PARTS: ClassVar[tuple[type[Saved], ...]] = (HostTasks, Way)

    hosts: HostTasks
    way: Way
    scale: str
    sms: int
    task: int
    numerator: Ticks
    denominator: Ticks
    limiting: Ticks
    unlimited: Flags
    utilization: Any  # a float or an array, as is_stack says
    tests: Ticks
    seconds: float = field(default=0.0, compare=False)

    @classmethod
    def _from_fields(cls, values: dict[str, Any]) -> Self:
        return cls(**way_of_old(values, "test"))

    @property
    def is_stack(self) -> bool:
        """Whether this is an answer for a stack of sets."""
        return self.hosts.is_stack

    @property
    def factor(self) -> Any:  # a Fraction, inf, or an array, as is_stack says
        """The factor: a ``Fraction``, or float64 ``(N,)``; ``inf`` if ``unlimited``."""
        if not self.is_stack:
            if self.unlimited:
                return math.inf
            return Fraction(int(self.numerator), int(self.denominator))
        return np.where(self.unlimited, math.inf, self.numerator / self.denominator)

    @property
    def accepted(self) -> Flags:
        """Whether the test accepts the set as it is: a bool, or bool ``(N,)``."""
        return self.numerator >= self.denominator

    def scaled(self) -> HostTasks:
        """Return the set with its times scaled by the factor; for a single set.

        >>> hosts = gs.HostTasks.from_segments([60, 80], [[3, (1, 6, 1), 2], [5]], core=[0, 0])
        >>> found = gs.analysis.breakdown(hosts, "mpcp")
        >>> gs.analysis.mpcp(found.scaled()).schedulable
        True

        Raises
        ------
        ValueError
            The answer is for a stack, or no factor is accepted.
        OverflowError
            Kernel times on other numbers of SMs exceed 64 bits.
        """
        if self.is_stack:
            raise ValueError("breakdown: got a stack, expected one set; index it first")
        if self.numerator == 0:
            raise ValueError("factor: got 0, expected a factor that is accepted")
        chosen = {"kernels": ("kernel",), "copies": ("copy_in", "copy_out"), "cpu": ("cpu",)}
        names = [name for many in chosen.values() for name in many]
        if self.task < 0:
            names = list(chosen.get(self.scale, names))
        rows = slice(None) if self.task < 0 else self.task
        changed = {}
        for name in names:
            values = getattr(self.hosts, name).astype(object)
            values[rows] = -(-values[rows] * self.numerator // self.denominator)
            changed[name] = values.astype(np.int64)
        return self.hosts._replaced(**changed)

    def __len__(self) -> int:
        """Number of sets of a stack, or number of tasks of a single set."""
        return len(self.hosts)

    def why(self, task: int | str | None = None) -> str:
        """Explain the factor in a sentence; for a task, tell whether it limits the factor.

        Raises IndexError or ValueError for a task that does not exist and for a task of a stack.
        """
        if self.is_stack:
            if task is not None:
                raise ValueError(
                    f"task: got {shown(task)}, expected None for a stack; index it first, as in "
                    "answer[0].why(task)"
                )
            return f"{self._counts()}; answer[i].why() explains set i."
        number = None if task is None else task_number(task, self.hosts.name)
        if number is not None:
            name = clip(self.hosts.name[number], 60)
            limits = "limits" if number == self.limiting else "does not limit"
            return f"{name} {limits} the factor."
        what = _GROWS.get(self.scale) if self.task < 0 else None
        grows = what or f"The times of {clip(self.scale, 60)}"
        if self.unlimited:
            return f"{grows}: there are none, and the set is accepted."
        late = "no task"
        if self.limiting >= 0:
            late = clip(self.hosts.name[self.limiting], 60)
        if self.numerator == 0:
            return f"{grows} may not be longer than 0: {late} may miss its deadline."
        factor = self.numerator * 10**4 // self.denominator / 10**4
        text = f"{grows} may be {factor:.10g} times as long, and no longer"
        if self.limiting < 0:
            return f"{text}: times would exceed 2**60 ticks."
        return f"{text}: {late} may miss its deadline then."

    def _counts(self) -> str:
        yes = int(np.sum(self.accepted))
        return f"{yes} of {len(self)} sets accepted as they are"

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
        return type(self)(**{f.name: part_of(getattr(self, f.name), at) for f in fields(self)})

    def __iter__(self) -> Iterator[Self]:
        """Iterate over the answers for the sets of a stack."""
        return sets_of(self)

    def __eq__(self, other: object) -> bool:
        if type(other) is not type(self):
            return NotImplemented
        compared = [f.name for f in fields(self) if f.compare]
        return all(same(getattr(self, name), getattr(other, name)) for name in compared)

    __hash__ = None

    def to_frame(self) -> pd.DataFrame:
        """Return a pandas table with one row per set.

        The columns are ``set``, ``factor``, ``numerator``, ``denominator``, ``limiting`` (NA for
        none), ``unlimited``, ``utilization`` and ``tests``.
        """
        return frame_of(self._table())

    def _table(self) -> dict[str, Any]:
        limiting: Int64Array = np.atleast_1d(self.limiting)
        factor = np.atleast_1d(np.asarray(self.factor, np.float64))
        return {
            "set": np.arange(len(factor)),
            "factor": factor,
            "numerator": np.atleast_1d(self.numerator),
            "denominator": np.atleast_1d(self.denominator),
            "limiting": optional(limiting),
            "unlimited": np.atleast_1d(self.unlimited),
            "utilization": np.atleast_1d(self.utilization),
            "tests": np.atleast_1d(self.tests),
        }

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw the share of accepted sets as a function of the factor.

        Parameters
        ----------
        ax
            Matplotlib axes. Default: those of a new figure.

        Returns
        -------
        The axes.
        """
        from gpusched._draw import axes as plot

        ax = plot.axes(ax, (6.0, 3.2))
        factor = np.atleast_1d(np.asarray(self.factor, np.float64))
        known = np.sort(factor[np.isfinite(factor)])
        x = np.concatenate([[0.0], known])
        share = 100 * (len(factor) - np.arange(len(x))) / max(1, len(factor))
        ax.step(x, share, where="pre", color=plot.color(0))
        ax.axvline(1, color=plot.INK, linewidth=1)
        ax.set_xlim(0, 1.05 * max(1.0, float(x[-1])))
        ax.set_ylim(-3, 103)
        ax.set_xlabel("factor on times")
        ax.set_ylabel("accepted sets (%)")
        plot.grid(ax)
        return ax

    def __repr__(self) -> str:
        return f"<Breakdown: {self._summary()}>"

    def _repr_html_(self) -> str:
        reason = f"<p>{escape(clip(self.why(), 2000))}</p>"
        return f"<p>Breakdown: {escape(self._summary())}</p>{reason}"

    def _summary(self) -> str:
        form = f"{self.way.name}, {self.way.given.get('mode', 'suspend')}, {clip(self.scale, 40)}"
        if not self.is_stack:
            factor = float(self.factor)
            return f"factor {factor:.6g}, utilization {self.utilization:.6g} ({form})"
        known = np.asarray(self.factor)[np.isfinite(self.factor)]
        mean = f"mean factor {known.mean():.6g}, " if known.size else ""
        return f"{len(self)} sets, {mean}{self._counts()} ({form})"
