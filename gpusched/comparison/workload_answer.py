"""Answers of analyses for a workload, task by task."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, Protocol

import numpy as np
import numpy.typing as npt

from gpusched._support.arguments import Int64Array, frozen, instance
from gpusched._support.results import Frozen, Saved
from gpusched._support.tabular import Tabular, frame_of
from gpusched._support.text import UNITS, clip, plural, shown
from gpusched.analysis.fifo_answer import FifoBound
from gpusched.analysis.global_edf_verdict import GedfVerdict
from gpusched.analysis.holistic_answer import HolisticBound
from gpusched.analysis.priority_answer import PriorityStreamsBound
from gpusched.analysis.verdict import Verdict
from gpusched.comparison.derived_models import DerivedModels
from gpusched.comparison.path_answers import (
    Ends,
    PathAnswer,
    ends_of,
    path_answers,
    waiting_of,
)
from gpusched.comparison.saved_values import FieldValues, platform_values, within, workload_values
from gpusched.comparison.verdicts.gpu_rules import Rule, rules_of
from gpusched.comparison.verdicts.premises import Condition, conditions_of, conditions_values
from gpusched.model.answer import Claim, Flags, Times, missing
from gpusched.model.gpu import GPU
from gpusched.model.schedule import Schedule
from gpusched.model.views.derived_view import uses_engine
from gpusched.model.workload.platforms import Platform
from gpusched.model.workload.time_units import TickLength, tick_length, time_with_unit
from gpusched.model.workload.workloads import Workload
from gpusched.pbs.certificate_base import Certificate
from gpusched.pbs.edf import Edf
from gpusched.pbs.search_answer import Search
from gpusched.ways.way import WAYS, OptionValue, label_of

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

CLAIMS = ("exact", "sufficient", "necessary", "simulation")
"""Values of ``claim``."""

_DETAILS = (Verdict, GedfVerdict, FifoBound, PriorityStreamsBound, HolisticBound, Edf, Search)
_DETAIL_KINDS = (*(detail._KIND for detail in _DETAILS), "MigAllocation")


class _Named(Protocol):
    """Tasks that have names."""

    @property
    def name(self) -> tuple[str, ...]: ...


class Detail(Protocol):
    """Answer of a method: an ``Answer`` for a derived model, or for the workload itself."""

    @property
    def _tasks(self) -> _Named: ...
    @property
    def claim(self) -> Claim: ...
    @property
    def accepted(self) -> Flags: ...
    @property
    def rejected(self) -> Flags: ...
    @property
    def schedulable(self) -> Flags: ...
    @property
    def response(self) -> Times: ...
    @property
    def bounded(self) -> npt.NDArray[np.bool_]: ...
    @property
    def slack(self) -> Times: ...
    @property
    def seconds(self) -> float: ...
    @property
    def assumptions(self) -> tuple[str, ...]: ...
    def why(self, task: int | str | None = None) -> str: ...
    def to_frame(self) -> pd.DataFrame: ...
    def plot(self, ax: Axes | None = None, *, unit: str | None = None) -> Axes: ...
    def _repr_html_(self) -> str: ...


def _check_units(workload: Workload, name: object, sizes: Any) -> None:
    """Raise ValueError unless these are numbers of kernels that make up a job of a task."""
    if not isinstance(name, str) or name not in workload:
        raise ValueError(f"units: got {shown(name)}, expected a task of the workload")
    count = sum(kernel.repeat for kernel in workload[name].kernels)
    whole = isinstance(sizes, tuple) and all(type(size) is int and size > 0 for size in sizes)
    if not whole or sum(sizes) != count:
        raise ValueError(
            f"units[{shown(name)}]: got {shown(sizes)}, expected numbers that add up to the "
            f"{count} kernels of a job"
        )


@dataclass(frozen=True, eq=False, repr=False)
class WorkloadAnswer(Tabular, Saved, Frozen):
    """Answer of one method for a workload of n tasks on a platform; see ``gs.analyze``.

    >>> kernel = gs.Kernel("2ms", blocks=8, threads=256)
    >>> w = gs.Workload([gs.Task("camera", "10ms", [kernel])], tick="us")
    >>> answer = gs.analyze(w, gs.Platform("Xavier"), "streams")
    >>> answer.schedulable, answer.response.tolist()
    (True, [2000])

    `save` and `load` keep it in a file, with the workload, the platform and ``detail``:

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     answer.save(f"{folder}/answer")
    ...     again = gs.WorkloadAnswer.load(f"{folder}/answer")
    >>> again == answer, again.why()
    (True, 'Every job ends in time; camera, with 2ms of 10ms, has the least slack.')

    Attributes
    ----------
    workload, platform
        The arguments of the call; times of the platform are in ticks of the workload.
    way, method, options
        The way of sharing the GPU, the name of its test in ``gs.methods()``, and its options.
    claim
        Strength of the method: "exact", "sufficient" or "necessary".
    accepted, rejected
        Whether every job of every task is guaranteed to meet its deadline, and whether it is shown
        that one misses it.
    impossible
        Whether no way of sharing the GPU can meet all deadlines; the answer is then rejected.
    conditions
        The conditions of a guarantee, each a ``Condition``, if the test accepts but a premise of
        its proof is not shown; empty for every other verdict.
    response
        Response time of each task, or a bound on it, from the release of a job to the end of its
        last segment: int64 ticks ``(n,)``; masked if the method does not compute it.
    bounded
        Whether ``response`` bounds all jobs of each task (under ``conditions``): bool ``(n,)``.
    derivation
        Assumptions of the workload and of the derivation of the model, one sentence each.
    detail
        The answer of the method for the derived model: a ``Verdict``, ``FifoBound``, ``Search``,
        ``MigAllocation`` and so on. For jobs with CPU work around a kernel, its times are those of
        the kernel.
    reason
        Why the verdict differs from that of the test for its model; "" if it does not.
    seconds
        Wall-clock time of the call; not compared by ``==``.
    grain
        Number of finer ticks in a tick. The times of ``detail`` are in finer ticks, in which the
        times of blocks are whole numbers; usually 1. ``response`` is in ticks, rounded up.
    units
        Of batches: for each task whose schedule runs kernels of a job as units, the number of
        consecutive kernels in each unit. The guarantee is for a dispatcher that launches unit by
        unit. Tasks whose kernels run one by one are left out.
    ends
        Where tasks release each other, latest ends and earliest releases from the arrivals of their
        sources; else None.
    """

    _KIND: ClassVar[str] = "WorkloadAnswer"
    # `mig_allocation` adds its own: an answer for GPU instances has answers for their tasks.
    _PARTS: ClassVar[tuple[type[Saved], ...]] = (
        GPU,
        *_DETAILS,
        *(part for detail in _DETAILS for part in detail._PARTS),
    )

    workload: Workload
    platform: Platform
    way: str
    method: str
    options: Mapping[str, OptionValue]
    claim: Claim
    accepted: bool
    rejected: bool
    impossible: bool
    conditions: tuple[Condition, ...]
    response: Times
    bounded: npt.NDArray[np.bool_]
    derivation: tuple[str, ...]
    reason: str
    detail: Detail = field(repr=False)
    seconds: float = field(compare=False)
    grain: int = 1
    units: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    ends: Ends | None = None

    def _fields(self) -> dict[str, Any]:
        known = ~np.ma.getmaskarray(self.response)
        return {
            **super()._fields(),
            "workload": workload_values(self.workload),
            "platform": platform_values(self.platform),
            "options": dict(self.options),
            "units": dict(self.units),
            "conditions": conditions_values(self.conditions),
            "response": self.response.filled(0),
            "known": known,
            "ends": None
            if self.ends is None
            else {"end": self.ends.end, "earliest": self.ends.earliest},
        }

    @classmethod
    def _from_fields(cls, values: dict[str, Any]) -> WorkloadAnswer:
        given = FieldValues(values)
        workload = given.workload()
        n = len(workload)
        response, known = given.array("response", np.int64, n), given.array("known", np.bool_, n)
        made = cls(
            workload=workload,
            platform=given.platform(),
            way=given.choice("way", (way.name for way in WAYS)),
            method=given.text("method"),
            options=given.options(),
            claim=given.choice("claim", CLAIMS),
            accepted=given.flag("accepted"),
            rejected=given.flag("rejected"),
            impossible=given.flag("impossible"),
            conditions=conditions_of(given),
            response=missing(response, known),
            bounded=given.array("bounded", np.bool_, n),
            derivation=given.texts("derivation"),
            reason=given.text("reason"),
            detail=given.take("detail"),
            seconds=given.seconds(),
            grain=given.grain(),
            units=given.take("units") if "units" in values else {},  # none in version 0.1
            ends=_ends_of(given.take("ends"), n) if "ends" in values else None,
        )
        given.done()
        instance(made.units, dict, "units")
        for name, sizes in made.units.items():
            _check_units(made.workload, name, sizes)
        if made.accepted and made.rejected:
            raise ValueError("rejected: got True of an accepted answer, expected False")
        if made.impossible and not made.rejected:
            raise ValueError("impossible: got True of an answer that is not rejected")
        if made.conditions and (made.accepted or made.rejected):
            raise ValueError("conditions: got some of a decided answer, expected none")
        made._check_detail()
        return made

    def _check_detail(self) -> None:
        """Raise ValueError for an answer of other tasks, and for one that cannot be explained."""
        detail, kinds = self.detail, _DETAIL_KINDS
        instance(detail, tuple(part for part in self._PARTS if part._KIND in kinds), "detail")
        with within("detail"):
            names = set(self.workload.names)
            if getattr(detail, "is_stack", False) or not names.issuperset(detail._tasks.name):
                raise ValueError("tasks: got other tasks, expected some of the workload's")
            if len(detail.response) != len(detail.slack):
                raise ValueError("response: got another length, expected one per task")
            for text in (detail.why(), *detail.assumptions):
                instance(text, str, "assumptions")

    @property
    def schedulable(self) -> bool | None:
        """True if accepted, False if rejected, None if conditional or undecided."""
        return True if self.accepted else False if self.rejected else None

    @property
    def conditional(self) -> bool:
        """Whether all deadlines are guaranteed under `conditions` that are not shown."""
        return bool(self.conditions)

    @property
    def verdict(self) -> str:
        """The answer in words: "guaranteed", "conditional", "undecided", "not schedulable" or
        "impossible"."""
        if self.impossible:
            return "impossible"
        return verdict_word(self.schedulable, conditional=self.conditional)

    @property
    def deadline(self) -> Int64Array:
        """Relative deadlines: int64 ticks ``(n,)``."""
        return deadlines_of(self.workload)

    @property
    def assumptions(self) -> tuple[str, ...]:
        """Conditions under which the answer holds, one sentence each: those in `derivation`, and
        those of the method."""
        if isinstance(self.detail, PriorityStreamsBound):
            copies = any(uses_engine(part) for task in self.workload for part in task.segments)
            return (*self.derivation, *self.detail._assumed(copies=copies), *self._of_paths())
        return (*self.derivation, *self.detail.assumptions, *self._of_paths())

    def _of_paths(self) -> list[str]:
        """Conditions of the bounds of paths."""
        return [
            f'sources of "{clip(path.path.name, 60)}" release a job every period'
            + (" from their offsets, on one clock" if path.is_timed else "")
            for path in self.paths
            if len(path.legs) > 1
        ]

    @property
    def rules(self) -> tuple[Rule, ...]:
        """Rules of GPUs that are inferred or hints, on which the answer rests."""
        if self.way == "mig":
            of_instances: tuple[Rule, ...] = getattr(self.detail, "rules", ())
            return of_instances
        return rules_of(DerivedModels(self.workload, self.platform), self.way, run=False)

    @property
    def slack(self) -> Times:
        """Deadline minus response bound in ticks: int64 ``(n,)``; masked without a bound."""
        late = self.deadline - self.response.filled(0)
        return missing(late, self.bounded & ~np.ma.getmaskarray(self.response))

    @property
    def tightest(self) -> int | None:
        """Index of the task that `why` is about; None without bounds.

        It is a task without a bound (the one at which the test failed, if it names one), or else
        the task with the least slack.
        """
        if not (self.accepted or self.conditional) and not self.bounded.all():
            failed = getattr(self.detail, "failed", None)
            names = self.detail._tasks.name
            if (
                isinstance(failed, (int, np.integer))
                and not self.bounded[at := self.workload.index(names[int(failed)])]
            ):
                return at
            return int(np.argmin(self.bounded))
        return int(self.slack.argmin()) if self.slack.count() else None

    @cached_property
    def paths(self) -> tuple[PathAnswer, ...]:
        """The bounds of the workload's paths."""
        ends = self.ends or ends_of(self.response, self.bounded)
        if self.conditions or self.bounded.all():
            alone = self._alone() if self.workload.paths else None
        else:
            alone = None
        return path_answers(self.workload, ends, alone, self.label)

    def _alone(self) -> list[int] | None:
        """Time of a job of each task alone, in ticks; None if that is not known."""
        try:
            times = self.workload.kernel_times(self.platform)
        except (ValueError, OverflowError):
            return None
        return [
            sum(
                (part.time if of is None else of.time) * part.repeat
                for part, of in zip(task.segments, row, strict=True)
            )
            for task, row in zip(self.workload, times, strict=True)
        ]

    def path(self, path: str | int) -> PathAnswer:
        """The bound of a path by its name or its index; KeyError and IndexError for others."""
        return self.paths[self.workload.paths.index(self.workload.path(path))]

    @property
    def queues(self) -> dict[str, int]:
        """For each task that others release, the number of results that wait for it at most."""
        ends = self.ends or ends_of(self.response, self.bounded)
        return {name: most for name, (most, _) in waiting_of(self.workload, ends).items()}

    @property
    def tightest_path(self) -> PathAnswer | None:
        """The path that is tighter than all tasks: without a bound, or with the largest share of
        its deadline; None if a task is."""
        due = [path for path in self.paths if path.path.deadline is not None]
        if not due or not self.bounded.all():
            return None
        for path in due:
            if path.bound is None:
                return path
        worst = max(due, key=lambda path: path.share or 0)
        shares = [
            Fraction(int(took), task.deadline)
            for took, task in zip(self.response.filled(0), self.workload, strict=True)
        ]
        return worst if (worst.share or 0) > max(shares) else None

    @property
    def schedule(self) -> Schedule | None:
        """The schedule of a PBS method, in finer ticks (``grain``); None for other methods."""
        found = getattr(self.detail, "schedule", None)
        return found if isinstance(found, Schedule) else None

    @property
    def certificate(self) -> Certificate | None:
        """The proof by a search that no schedule exists; None for other methods."""
        found = getattr(self.detail, "certificate", None)
        return found if isinstance(found, Certificate) else None

    @property
    def setup(self) -> tuple[str, ...]:
        """Sentences on what the test chose for each task: core, SMs, priority, GPU instance.

        Empty for methods that choose nothing. The batches of PBS are in ``schedule``.
        """
        if isinstance(self.detail, HolisticBound):
            tasks = self.detail.tasks
            return tuple(
                f"{clip(name, 60)}: core {core}, priority {priority}"
                for name, core, priority in zip(
                    tasks.name, tasks.core.tolist(), tasks.priority.tolist(), strict=True
                )
            )
        if not isinstance(self.detail, Verdict):
            chosen: tuple[str, ...] = getattr(self.detail, "setup", ())
            return chosen
        hosts, found = self.detail.hosts, []
        for i, name in enumerate(hosts.name):
            parts = [f"core {hosts.core[i]}" if hosts.core[i] >= 0 else "no core"]
            parts.append(f"priority {hosts.priority[i]}")
            if self.detail.test == "stgm" and hosts.segments[i]:
                parts.append(f"SMs {_spans(np.flatnonzero(hosts.sm[i]).tolist())}")
            found.append(f"{clip(name, 60)}: {', '.join(parts)}")
        if self.detail.server is not None:
            found.append(f"GPU server: core {int(self.detail.server)}")
        return tuple(found)

    @property
    def label(self) -> str:
        """Way and given parameters, such as "mpcp (busy)"."""
        return label_of(self.way, self.options)

    def why(self, task: int | str | None = None) -> str:
        """Explain the answer in a sentence or two, for one task or the whole workload.

        ``task``: index or name of a task, or the name of a path. Raises KeyError and IndexError for
        one that does not exist.
        """
        names = [path.name for path in self.workload.paths]
        if isinstance(task, str) and task not in self.workload and task in names:
            return self.path(task).why()
        with tick_length(finer_tick(self.workload, self.grain)):
            return self._reason(task)

    def _reason(self, task: int | str | None) -> str:
        if task is None:
            if self.reason:
                return self.reason
            holds = self.accepted or self.conditional
            if self.tightest is None or not (holds or self.bounded.all()):
                return self.detail.why()
            if not holds:
                return f"{self._text(self.tightest)}, may be late."
            path = self.tightest_path
            least = f"{self._text(self.tightest)}, has the least slack."
            if path is not None:
                least = f"the tightest is the path {path.line()}."
            if samples := self.workload.samples:
                least = f"{least} {samples[0].upper()}{samples[1:]}."
            if self.accepted:
                return f"Every job ends in time; {least}"
            only = "; and ".join(map(str, self.conditions))
            return f"Every job ends in time, if {only}; {least}"
        number = self.workload.index(task)
        name = self.workload.names[number]
        known = self.detail._tasks.name
        if self.bounded[number] and known_at(self.response, number) is not None:
            due = time_with_unit(self.workload[number].deadline, self.workload.tick_ns)
            took = time_with_unit(int(self.response[number]), self.workload.tick_ns)
            only = ", under the conditions of the answer" if self.conditional else ""
            return f"{clip(name, 60)}: response at most {took}, for a deadline of {due}{only}."
        if name not in known:
            return f"{clip(name, 60)}: no bound, as it has no GPU work and CPUs are shared."
        i = known.index(name)
        said = self.detail.why(i)
        if not self.detail.bounded[i]:
            return said
        return f"{said} That is of the model of the test, whose conditions are not shown to hold."

    def _text(self, i: int) -> str:
        tick, deadline = self.workload.tick_ns, self.workload[i].deadline
        response = int(self.response[i])
        side = "of" if response <= deadline else "for a deadline of"
        return (
            f"{clip(self.workload.names[i], 60)}, with {time_with_unit(response, tick)} {side} "
            f"{time_with_unit(deadline, tick)}"
        )

    # Tables and pictures

    def to_frame(self) -> pd.DataFrame:
        """Return a pandas table with one row per task.

        The columns are ``task``, ``deadline``, ``response``, ``bounded`` and ``slack``. Times are
        in ticks; missing values are NA.
        """
        return frame_of(self._table())

    def _table(self) -> dict[str, Any]:
        return {
            "task": np.array(self.workload.names, object),
            "deadline": self.deadline,
            "response": self.response,
            "bounded": self.bounded,
            "slack": self.slack,
        }

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw the answer of the method for the derived model; see ``detail.plot``."""
        return self.detail.plot(ax, unit=tick_unit(self.workload, self.grain))

    def __repr__(self) -> str:
        return (
            f"<WorkloadAnswer: {self.verdict} ({self.label}; {plural(len(self.workload), 'task')}, "
            f"{self.claim})>"
        )

    def __str__(self) -> str:
        return f"{self.label}: {self.verdict}. {self.why()}"

    def _repr_html_(self) -> str:
        return self.detail._repr_html_()


def _ends_of(values: Any, n: int) -> Ends | None:
    """The saved ends of tasks."""
    if values is None:
        return None
    instance(values, dict, "ends")
    with within("ends"):
        given = FieldValues(values)
        made = Ends(given.array("end", np.int64, n), given.array("earliest", np.int64, n))
        given.done()
        if ((made.end < -1) | (made.earliest < 0)).any():
            raise ValueError("end: got entries out of range, expected -1 or a time")
    return made


def verdict_word(schedulable: bool | None, *, conditional: bool = False) -> str:
    """The words for True, False and None."""
    if schedulable is None:
        return "conditional" if conditional else "undecided"
    return "guaranteed" if schedulable else "not schedulable"


def deadlines_of(workload: Workload) -> Int64Array:
    """Relative deadlines of the tasks, in ticks."""
    found: Int64Array = frozen(np.array([task.deadline for task in workload], np.int64))
    return found


def known_at(values: Times, i: int) -> int | None:
    """A value as an int; None if it is masked."""
    found = values[i]
    return None if found is np.ma.masked else int(found)


def _spans(numbers: list[int]) -> str:
    """Ascending numbers as text, runs by their ends: "0-3, 6"."""
    spans: list[list[int]] = []
    for number in numbers:
        if spans and number == spans[-1][1] + 1:
            spans[-1][1] = number
        else:
            spans.append([number, number])
    return ", ".join(f"{a}-{b}" if a < b else f"{a}" for a, b in spans) or "none"


def tick_unit(workload: Workload, grain: int = 1) -> Any:
    """The unit of a tick if it is exactly one unit; None for a tick such as 10 ns.

    ``grain``: for finer ticks, of which so many make a tick. Their length in ns is a Fraction.
    """
    if workload._tick not in UNITS.values():
        return None
    return workload.tick if grain == 1 else Fraction(workload._tick) / grain


def finer_tick(workload: Workload, grain: int) -> TickLength:
    """The length in ns of finer ticks of which ``grain`` make a tick of the workload."""
    length = Fraction(workload._tick) / grain
    return int(length) if length.denominator == 1 else length
