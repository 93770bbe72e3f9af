"""Answer of ``gs.mig``: GPU instances, and the tasks of each."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import numpy as np
import numpy.typing as npt

from gpusched._support.arguments import Int64Array, frozen, instance
from gpusched._support.results import Frozen, Saved
from gpusched._support.tabular import Tabular, frame_of
from gpusched._support.text import clip, escape, plural
from gpusched.comparison.finer_ticks import ticks_up
from gpusched.comparison.saved_values import FieldValues, platform_values, within, workload_values
from gpusched.comparison.verdicts.gpu_rules import Rule
from gpusched.comparison.verdicts.premises import Condition, conditions_of, conditions_values
from gpusched.comparison.workload_answer import (
    CLAIMS,
    WorkloadAnswer,
    deadlines_of,
    known_at,
    tick_unit,
    verdict_word,
)
from gpusched.model.answer import Claim, Times, missing
from gpusched.model.gpus.mig_profiles import MigInstance, MigProfile
from gpusched.model.views.derived_view import listed
from gpusched.model.workload.platforms import Platform
from gpusched.model.workload.time_units import time_with_unit
from gpusched.model.workload.workloads import Workload
from gpusched.ways.way import WAYS, OptionValue

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

_SHOWN_ROWS = 40


class MigPart(NamedTuple):
    """A GPU instance, the indices of its tasks, and the answer for them.

    ``answer.workload`` and ``answer.platform`` are the tasks and the platform as seen in the
    instance, in the finer ticks of ``MigAllocation.grain``.
    """

    instance: MigInstance
    tasks: tuple[int, ...]
    answer: WorkloadAnswer


class _Named(NamedTuple):
    """Names of the tasks that have an instance."""

    name: tuple[str, ...]


@dataclass(frozen=True, eq=False, repr=False)
class MigAllocation(Tabular, Saved, Frozen):
    """Allocation of GPU instances to the tasks of a workload; see ``gs.mig``.

    >>> kernel = gs.Kernel("1ms", blocks=32, threads=256)
    >>> w = gs.Workload([gs.Task("camera", "8ms", [kernel])], tick="us")
    >>> answer = gs.mig(w, gs.Platform("H100"))
    >>> answer.accepted, answer.profiles, answer.instance.tolist()
    (True, ('7g.80gb',), [0])

    `save` and `load` keep it in a file, with the answers for the tasks of each instance:

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     answer.save(f"{folder}/answer")
    ...     gs.MigAllocation.load(f"{folder}/answer") == answer
    True

    Attributes
    ----------
    workload, platform
        The arguments of the call; times of the platform are in ticks of the workload.
    within, options
        The way in which the tasks of an instance share it, and the options of its test.
    claim
        Strength of that test: "exact", "sufficient" or "necessary".
    parts
        A ``MigPart`` for each GPU instance with tasks: ``instance`` (its ``profile`` and
        ``start``), ``tasks`` (their indices) and ``answer``; empty if no assignment was found.
    rejected
        Whether no way can meet the deadlines of the workload. That the test accepts no assignment
        does not show it.
    conditions
        The conditions of a guarantee, each a ``Condition``, if the test accepts every instance but
        a premise of its proof is not shown.
    spent
        Whether the search ended before all assignments were tried, because its budget was used up
        or there are too many tasks. If it is False and the workload is not accepted, the test
        accepts no assignment.
    tested
        Number of sets of tasks that were tested in an instance.
    seconds
        Wall-clock time of the call; not compared by ``==``.
    grain
        Number of finer ticks in a tick. The answers in ``parts`` are in finer ticks, in which the
        times of blocks are whole numbers; usually 1.
    """

    _KIND: ClassVar[str] = "MigAllocation"

    workload: Workload
    platform: Platform
    within: str
    options: Mapping[str, OptionValue]
    claim: Claim
    parts: tuple[MigPart, ...]
    rejected: bool
    conditions: tuple[Condition, ...]
    spent: bool
    tested: int
    seconds: float = field(compare=False)
    _left_out: Mapping[int, int | None] = field(repr=False)  # tasks, and their responses
    _said: tuple[str, ...] = field(repr=False)
    _reason: str = field(repr=False)
    grain: int = 1
    _core: tuple[int, ...] = field(default=(), repr=False)  # of each task, if the answer chose them

    def _fields(self) -> dict[str, Any]:
        return {
            **super()._fields(),
            "workload": workload_values(self.workload),
            "platform": platform_values(self.platform),
            "options": dict(self.options),
            "parts": tuple(
                {
                    "profile": asdict(part.instance.profile),
                    "start": part.instance.start,
                    "tasks": part.tasks,
                    "answer": part.answer,
                }
                for part in self.parts
            ),
            "conditions": conditions_values(self.conditions),
            "_left_out": tuple(self._left_out),
            "_left_responses": tuple(-1 if r is None else r for r in self._left_out.values()),
        }

    @classmethod
    def _from_fields(cls, values: dict[str, Any]) -> MigAllocation:
        given = FieldValues(values)
        workload = given.workload()
        within_each = given.choice("within", (way.name for way in WAYS))
        parts = []
        for i, of_part in enumerate(given.dicts("parts")):
            with within(f"parts[{i}]"):
                parts.append(_part_of(of_part, workload, within_each))
        made = cls(
            workload=workload,
            platform=given.platform(),
            within=within_each,
            options=given.options(),
            claim=given.choice("claim", CLAIMS),
            parts=tuple(parts),
            rejected=given.flag("rejected"),
            conditions=conditions_of(given),
            spent=given.flag("spent"),
            tested=given.count("tested"),
            seconds=given.seconds(),
            _left_out=_left_out_of(given, len(workload)),
            _said=given.texts("_said"),
            _reason=given.text("_reason"),
            grain=given.grain(),
            _core=given.cores("_core", len(workload)),
        )
        given.done()
        placed = sorted([*made._left_out, *(i for part in parts for i in part.tasks)])
        if parts and placed != list(range(len(workload))):
            raise ValueError("parts: got other tasks, expected each task once, or left out")
        if made.rejected and made._holds:
            raise ValueError("rejected: got True of an accepted answer, expected False")
        return made

    @property
    def accepted(self) -> bool:
        """Whether all deadlines are guaranteed: the test accepts every instance, and every premise
        of it is shown."""
        return self._holds and not self.conditions

    @property
    def conditional(self) -> bool:
        """Whether all deadlines are guaranteed under `conditions` that are not shown."""
        return self._holds and bool(self.conditions)

    @property
    def rules(self) -> tuple[Rule, ...]:
        """Rules of GPUs that are inferred or hints, on which the answers for instances rest."""
        return tuple(dict.fromkeys(rule for part in self.parts for rule in part.answer.rules))

    @property
    def _holds(self) -> bool:
        """Whether the test accepts every instance, and no other task is without a bound."""
        left = self._left_out.items()
        return bool(self.parts) and all(
            time is not None and time <= self.workload[i].deadline for i, time in left
        )

    @property
    def verdict(self) -> str:
        """The answer in words: "guaranteed", "conditional", "undecided" or "impossible"."""
        if self.rejected:
            return "impossible"
        return verdict_word(self.schedulable, conditional=self.conditional)

    @property
    def schedulable(self) -> bool | None:
        """True if accepted, False if rejected, None if conditional or undecided."""
        return True if self.accepted else False if self.rejected else None

    @property
    def profiles(self) -> tuple[str, ...]:
        """Names of the profiles of the instances with tasks, in the order of their starts."""
        return tuple(part.instance.profile.name for part in self.parts)

    @property
    def starts(self) -> tuple[int, ...]:
        """First memory slices of these instances."""
        return tuple(part.instance.start for part in self.parts)

    @property
    def instance(self) -> Int64Array:
        """Index into ``parts`` of each task's instance: int64 ``(n,)``; -1 for no instance."""
        found = np.full(len(self.workload), -1, np.int64)
        for i, part in enumerate(self.parts):
            found[list(part.tasks)] = i
        return frozen(found)

    @property
    def response(self) -> Times:
        """Response time of each task in ticks, as in ``WorkloadAnswer``: int64 ``(n,)``."""
        values, known = np.zeros(len(self.workload), np.int64), np.zeros(len(self.workload), bool)
        for part in self.parts:
            of = part.answer.response
            values[list(part.tasks)] = ticks_up(of.filled(0), self.grain)
            known[list(part.tasks)] = ~np.ma.getmaskarray(of)
        for i, time in self._left_out.items():
            if self.parts and time is not None:
                values[i], known[i] = time, True
        return missing(values, known)

    @property
    def bounded(self) -> npt.NDArray[np.bool_]:
        """Whether ``response`` bounds all jobs of each task: bool ``(n,)``."""
        found = np.zeros(len(self.workload), np.bool_)
        for part in self.parts:
            found[list(part.tasks)] = part.answer.bounded
        for i, time in self._left_out.items():
            found[i] = bool(self.parts) and time is not None
        return frozen(found)

    @property
    def slack(self) -> Times:
        """Deadline minus response bound in ticks: int64 ``(n,)``; masked without a bound."""
        late = deadlines_of(self.workload) - self.response.filled(0)
        return missing(late, self.bounded & ~np.ma.getmaskarray(self.response))

    @property
    def setup(self) -> tuple[str, ...]:
        """Sentences that name the instance of each task that has one."""
        names, at = self.workload.names, self.instance.tolist()
        return tuple(
            f"{clip(name, 60)}: {self.parts[i].instance}"
            for name, i in zip(names, at, strict=True)
            if i >= 0
        )

    @property
    def core(self) -> tuple[int, ...]:
        """The core of each task, where the answer counts that tasks share CPUs; else empty."""
        return self._core

    @property
    def assumptions(self) -> tuple[str, ...]:
        """Conditions under which the answer holds, one sentence each."""
        of_parts = (text for part in self.parts for text in part.answer.assumptions)
        return tuple(dict.fromkeys((*self._said, *of_parts)))

    @property
    def _tasks(self) -> _Named:
        names = self.workload.names
        return _Named(tuple(names[i] for i in range(len(names)) if i not in self._left_out))

    def why(self, task: int | str | None = None) -> str:
        """Explain the answer in a sentence or two, for one task or the whole workload.

        ``task``: index or name of a task. Raises KeyError and IndexError for a task that does not
        exist.
        """
        if task is None:
            if self._reason:
                return self._reason
            only = f", if {'; and '.join(map(str, self.conditions))}" if self.conditions else ""
            return f"Every job ends in time{only}; {'; '.join(map(self._shown, self.parts))}."
        number = self.workload.index(task)
        name = clip(self.workload.names[number], 60)
        if number in self._left_out:
            if (time := self._left_out[number]) is None or not self.parts:
                return f"{name}: no bound; it has no GPU work."
            took = time_with_unit(time, self.workload.tick_ns)
            return f"{name}: response at most {took}; it has no GPU work."
        at = int(self.instance[number])
        if at < 0:
            return f"{name}: without an instance; no assignment was found."
        part = self.parts[at]
        return f"In {part.instance}: {part.answer.why(self.workload.names[number])}"

    def _shown(self, part: MigPart) -> str:
        return f"{part.instance}: {listed(self.workload.names[i] for i in part.tasks)}"

    def to_frame(self) -> pd.DataFrame:
        """Return a pandas table with one row per task.

        The columns are ``task``, ``profile`` (NA without an instance), ``start``, ``sms``,
        ``deadline``, ``response``, ``bounded`` and ``slack``. Times are in ticks; missing values
        are NA.
        """
        return frame_of(self._table())

    def _table(self) -> dict[str, Any]:
        at = self.instance
        names = np.array([*self.profiles, None], object)
        places = np.array([*self.starts, 0], np.int64)
        sms = np.array([*(part.instance.profile.sms for part in self.parts), 0], np.int64)
        return {
            "task": np.array(self.workload.names, object),
            "profile": np.ma.array(names[at], mask=at < 0),
            "start": missing(places[at], at >= 0),
            "sms": missing(sms[at], at >= 0),
            "deadline": deadlines_of(self.workload),
            "response": self.response,
            "bounded": self.bounded,
            "slack": self.slack,
        }

    def plot(self, ax: Axes | None = None, *, unit: str | None = None) -> Axes:
        """Draw response bounds and deadlines, with the tasks grouped by instance.

        Parameters
        ----------
        ax
            Matplotlib axes. Default: those of a new figure.
        unit
            Length of a tick: None, "ns", "us", "ms" or "s". Default: that of the workload.

        Returns
        -------
        The axes.
        """
        from gpusched._draw import axes as plot

        at = self.instance
        order = [int(i) for i in np.argsort(at, kind="stable") if at[i] >= 0][:_SHOWN_ROWS]
        deadlines = deadlines_of(self.workload)
        ax = plot.axes(ax, (9.4, 1.0 + 0.34 * len(order)))
        last = int(deadlines[order].max(initial=1)) if order else 1
        axis = plot.time_axis(unit or tick_unit(self.workload), last)
        response, rows = self.response.filled(0), np.arange(len(order))
        for i, part in enumerate(self.parts):
            mine = [row for row, task in enumerate(order) if at[task] == i]
            width = response[[order[row] for row in mine]] / axis.ticks
            ax.barh(mine, width, 0.62, color=plot.color(i), label=str(part.instance))
        ticks = deadlines[order] / axis.ticks
        for row in rows.tolist():
            ax.plot([ticks[row]] * 2, [row - 0.42, row + 0.42], color=plot.INK, linewidth=2)
        ax.plot([], [], color=plot.INK, linewidth=2, label="deadline")
        ax.set_yticks(rows, [clip(self.workload.names[i], 24) for i in order], parse_math=False)
        ax.set_ylim(len(order) - 0.4, -0.6)
        ax.set_xlabel(axis.label.replace("time", "response time"))
        ax.legend(frameon=False, fontsize=9, loc="upper left", bbox_to_anchor=(1, 1))
        plot.grid(ax, "x")
        return ax

    def _form(self) -> str:
        shares = f"{plural(len(self.workload), 'task')}, {self.within} in each"
        return f"{self.verdict} ({', '.join([*self.profiles, shares])})"

    def __repr__(self) -> str:
        return f"<MigAllocation: {self._form()}>"

    def __str__(self) -> str:
        return f"{self.verdict}. {self.why()}"

    def _repr_html_(self) -> str:
        rows = []
        for part in self.parts:
            for i in part.tasks:
                due = time_with_unit(self.workload[i].deadline, self.workload.tick_ns)
                took = known_at(self.response, i)
                shown = "–" if took is None else time_with_unit(took, self.workload.tick_ns)
                cells = (str(part.instance), clip(self.workload.names[i], 60), shown, due)
                rows.append("".join(f"<td>{escape(cell)}</td>" for cell in cells))
        head = "<th>instance</th><th>task</th><th>response</th><th>deadline</th>"
        body = "".join(f"<tr>{row}</tr>" for row in rows[:_SHOWN_ROWS])
        table = f"<table><tr>{head}</tr>{body}</table>" if rows else ""
        more = len(rows) - _SHOWN_ROWS
        note = f"<p>and {more} more tasks</p>" if more > 0 else ""
        texts = [self._reason, *(f"Guaranteed only if {each}." for each in self.conditions)]
        reason = "".join(f"<p>{escape(text)}</p>" for text in texts if text)
        return f"<p>MigAllocation: {escape(self._form())}</p>{table}{note}{reason}"


def _left_out_of(given: FieldValues, tasks: int) -> dict[int, int | None]:
    """Tasks without an instance, and their responses."""
    numbers, times = given.numbers("_left_out", tasks), given.take("_left_responses")
    instance(times, tuple, "_left_responses")
    if len(times) != len(numbers):
        raise ValueError("_left_responses: got another number than of tasks, expected one each")
    for time in times:
        instance(time, int, "_left_responses")
    return {i: None if time < 0 else time for i, time in zip(numbers, times, strict=True)}


def _part_of(values: Mapping[str, Any], workload: Workload, way: str) -> MigPart:
    """A part from its saved values."""
    given = FieldValues(values)
    profile, start = _profile_of(given.take("profile")), given.count("start")
    if start not in profile.starts:
        raise ValueError(f"start: got {start}, expected one of {listed(map(str, profile.starts))}")
    tasks, answer = given.numbers("tasks", len(workload)), given.take("answer")
    given.done()
    instance(answer, WorkloadAnswer, "answer")
    if answer.way != way or answer.workload.names != tuple(workload.names[i] for i in tasks):
        raise ValueError(f"answer: got one of {answer.label}, expected one of {way} for its tasks")
    return MigPart(MigInstance(profile, start), tasks, answer)


def _profile_of(values: object) -> MigProfile:
    """A profile from its saved values: those of the version that saved it."""
    instance(values, dict, "profile")
    assert isinstance(values, dict)
    given = FieldValues(values)
    with within("profile"):
        made = MigProfile(
            name=given.text("name"),
            sms=given.count("sms"),
            copy_engines=given.count("copy_engines"),
            compute_slices=given.count("compute_slices"),
            memory_slices=given.count("memory_slices"),
            starts=given.numbers("starts", 64),
            most=given.count("most"),
            source=given.text("source"),
            sms_known=given.flag("sms_known"),
        )
        given.done()
    return made


# An answer for a workload may be one for GPU instances, whose parts have answers again.
WorkloadAnswer._PARTS = (*WorkloadAnswer._PARTS, WorkloadAnswer, MigAllocation)
MigAllocation._PARTS = WorkloadAnswer._PARTS
