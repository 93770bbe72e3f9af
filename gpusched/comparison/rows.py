"""Rows of a comparison: one way of sharing the GPU, its test and its simulation."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from gpusched._support.arguments import instance
from gpusched._support.budget import Budget, spent
from gpusched._support.results import Frozen
from gpusched.comparison.analyses import Request, with_costs
from gpusched.comparison.derived_models import Gaps
from gpusched.comparison.margins import GrownModels, Growth, Margin
from gpusched.comparison.saved_values import FieldValues, within
from gpusched.comparison.verdicts.gpu_rules import Rule
from gpusched.comparison.workload_answer import WorkloadAnswer, verdict_word
from gpusched.comparison.workload_run import WorkloadRun
from gpusched.deploy.deployability import deployable
from gpusched.model.workload.links import Path
from gpusched.model.workload.platforms import Platform
from gpusched.model.workload.workloads import Workload
from gpusched.ways.way import WAYS, OptionValue, Way, as_way, label_of

_SHARED = ("workload", "platform")  # of a row, its answer and its run
_LIMITS = ("states", "bytes", "seconds")  # of a budget


@dataclass(frozen=True)
class RowPath:
    """A path in a row: its bound by the test and its largest simulated time, in ticks or None.

    ``p99``: the time that 99 % of the simulated ones do not exceed; ``late``: how many exceed the
    deadline.
    """

    path: Path
    bound: int | None
    observed: int | None
    p99: int | None = None
    late: int | None = None

    @property
    def slack(self) -> int | None:
        """Deadline minus bound; without a bound, minus the largest simulated time."""
        due, took = self.path.deadline, self.observed if self.bound is None else self.bound
        return None if due is None or took is None else due - took


@dataclass(frozen=True, eq=False, repr=False)
class Row(Frozen):
    """One way of sharing the GPU, in one mode.

    Attributes
    ----------
    way, options
        The way of sharing the GPU, with its ``name``, its ``title`` and the costs that were given
        with it, which are also those of the row's platform; and its other options.
    answer
        Answer of its test; None if there is no test, or if the model cannot express the workload.
    why_no_answer
        The reason why there is no answer; "" if there is one.
    run
        The simulated jobs; None if nothing was simulated, or if the model cannot express the
        workload.
    why_no_run
        The reason why there is no run; "" if there is one or if none was requested.
    impossible
        Sentences on why no way can meet all deadlines, as of the comparison; often none.
    """

    way: Way
    options: Mapping[str, OptionValue]
    workload: Workload = field(repr=False)
    platform: Platform = field(repr=False)
    gaps: Gaps
    budget: Budget | None
    answer: WorkloadAnswer | None
    why_no_answer: str
    run: WorkloadRun | None
    why_no_run: str
    impossible: tuple[str, ...] = ()

    @property
    def label(self) -> str:
        """Way and given parameters, such as "mpcp (busy)" or "gcaps (busy, update_cost=1ms)"."""
        return label_of(self.way.name, {**self.options, **self.way.given})

    @property
    def deploy(self) -> str:
        """Level of ``gs.deployable`` on the platform's GPU: "code", "root", "patch" or "none"."""
        return deployable(self.way, self.platform.gpu).level

    @property
    def claim(self) -> str:
        """Strength of its test; "simulation" for a row with a run and no answer, else ""."""
        if self.answer is not None:
            return self.answer.claim
        return "" if self.run is None else "simulation"

    @property
    def schedulable(self) -> bool | None:
        """True if the test guarantees all deadlines, False if one is missed, else None.

        It is False if no way can meet the deadlines, if the test shows a miss, or if a deadline is
        missed in a simulation that the program allows. It is None if the row is conditional or
        undecided, or if nothing could be run.
        """
        if self.impossible:
            return False
        if self.answer is not None and self.answer.schedulable is not None:
            return self.answer.schedulable
        return None if self.run is None else self.run.schedulable

    @property
    def conditional(self) -> bool:
        """Whether all deadlines are guaranteed under conditions that are not shown."""
        return self.schedulable is None and self.answer is not None and self.answer.conditional

    @property
    def verdict(self) -> str:
        """The result in words: "guaranteed", "conditional", "undecided", "not schedulable" or
        "impossible".

        "not applicable" if the way does not exist on the platform or its model cannot express the
        workload; "no test" for a way without a test that was not simulated. "undecided" also if the
        budget was spent before its test and its simulation.
        """
        if self.impossible:
            return "impossible"
        if self.answer is None and self.run is None and not self._is_spent:
            return "not applicable" if self.way.test_method or self.why_no_run else "no test"
        return verdict_word(self.schedulable, conditional=self.conditional)

    @property
    def _is_spent(self) -> bool:
        """Whether the budget did not suffice for an answer or a run."""
        texts = {str(spent(which)) for which in ("bytes", "seconds")}
        return not texts.isdisjoint((self.why_no_answer, self.why_no_run))

    @property
    def tightest(self) -> int | None:
        """Index of the task that the row is about; None if nothing is known of any.

        It is a task that is late in the simulation (if the test guarantees nothing), or else that
        of the test, or, without one, of the simulation.
        """
        if self._is_seen_late and self.run is not None:
            return self.run.tightest
        if self.answer is not None and self.answer.tightest is not None:
            return self.answer.tightest
        return None if self.run is None else self.run.tightest

    @property
    def paths(self) -> tuple[RowPath, ...]:
        """The paths of the workload: bounds and largest simulated times."""
        bounds = () if self.answer is None else self.answer.paths
        runs = () if self.run is None else self.run.paths
        found = []
        for i, path in enumerate(self.workload.paths):
            bound = bounds[i].bound if bounds else None
            if not runs or not len(seen := runs[i]):
                found.append(RowPath(path, bound, None))
                continue
            of_run = (seen.largest, seen.percentile(99), seen.late_count)
            found.append(RowPath(path, bound, *of_run))
        return tuple(found)

    @property
    def tightest_path(self) -> RowPath | None:
        """The path that the row is about; None if it is about a task.

        It is one that is late in the simulation, if no job is and the test guarantees nothing, or
        else the one of the test that is tighter than all tasks.
        """
        if not self.workload.paths:
            return None
        of = {path.path.name: path for path in self.paths}
        if self._is_seen_late and self.run is not None:
            late = self.run.late_paths
            return of[late[0]] if late and not self.run.late.any() else None
        tightest = None if self.answer is None else self.answer.tightest_path
        return None if tightest is None else of[tightest.path.name]

    @property
    def _is_seen_late(self) -> bool:
        """Whether a simulated job or path is late, and the test guarantees nothing."""
        if self.answer is not None and (self.answer.accepted or self.answer.conditional):
            return self.schedulable is False
        return self.run is not None and self.run.has_misses

    @property
    def rules(self) -> tuple[Rule, ...]:
        """Rules of GPUs that are inferred or hints, on which the row rests."""
        found = () if self.answer is None else self.answer.rules
        if self.run is not None:
            found = (*found, *self.run.rules)
        return tuple(dict.fromkeys(found))

    def why(self) -> str:
        """Explain the verdict."""
        answer, run = self.answer, self.run
        if self.impossible:
            return f"No way keeps all deadlines: {self.impossible[0]}."
        if answer is not None and answer.schedulable is not None:
            return answer.why()
        if run is not None and run.schedulable is False:
            return f"Simulated: {run.why()}"
        seen = self.why_no_run if run is None else f"simulated: {run.why()}"
        if answer is not None:
            if self._is_seen_late:
                return f"{answer.why()} Simulated: {run.why()}" if run else answer.why()
            return answer.why()
        return "; ".join(filter(None, dict.fromkeys((self.why_no_answer, seen))))

    def growth(self, what: str = "all", models: GrownModels | None = None) -> Growth:
        """The test as a function of the factor by which times grow."""
        request = Request(self.options, self.gaps, self.budget)
        return Growth(
            self.workload, self.platform, self.way, request, what, answer=self.answer, models=models
        )

    def margin(self, what: str = "all") -> Margin:
        """Factor by which times can grow while the test accepts; see ``gs.margin``."""
        return self.growth(what).margin()

    def __repr__(self) -> str:
        return f"<Row: {self.label}, {self.verdict}>"


def row_values(row: Row) -> dict[str, Any]:
    """The values of a row to be saved, without the workload and the platform of its comparison."""
    budget = row.budget
    return {
        "way": row.way.name,
        "costs": dict(row.way.given),
        "options": dict(row.options),
        "gaps": row.gaps,
        "budget": None if budget is None else {name: getattr(budget, name) for name in _LIMITS},
        "answer": _own_values(row.answer, row),
        "why_no_answer": row.why_no_answer,
        "run": _own_values(row.run, row),
        "why_no_run": row.why_no_run,
    }


def _own_values(of_row: WorkloadAnswer | WorkloadRun | None, row: Row) -> dict[str, Any] | None:
    """The values of an answer or a run, without what it shares with its row."""
    if of_row is None:
        return None
    shared = [name for name in _SHARED if getattr(of_row, name) is getattr(row, name)]
    return {name: value for name, value in of_row._fields().items() if name not in shared}


def row_of(
    values: Mapping[str, Any],
    workload: Workload,
    platform: Platform,
    impossible: tuple[str, ...],
) -> Row:
    """The row of `row_values`, in a comparison of a workload on a platform."""
    given = FieldValues(values)
    way = as_way(given.choice("way", (way.name for way in WAYS)))
    if "costs" in values:  # else of version 0.1
        costs = given.take("costs")
        instance(costs, dict, "costs")
        way = way.replace(**costs)
        platform = with_costs(platform, way)
    limits, parts = given.take("budget"), {}
    for name, kind in (("answer", WorkloadAnswer), ("run", WorkloadRun)):
        found = given.take(name)
        if found is not None:
            instance(found, dict, name)
            with within(name):
                found = kind._from_file({"workload": workload, "platform": platform, **found})
                if found.way != way.name or found.workload != workload:
                    raise ValueError(f"way: got another way or workload, expected {way.name}")
        parts[name] = found
    if limits is not None:
        instance(limits, dict, "budget")
    made = Row(
        way=way,
        options=given.options(),
        workload=workload,
        platform=platform,
        gaps=given.choice("gaps", ("refuse", "occupy")),
        budget=None if limits is None else Budget(**limits),
        answer=parts["answer"],
        why_no_answer=given.text("why_no_answer"),
        run=parts["run"],
        why_no_run=given.text("why_no_run"),
        impossible=impossible,
    )
    given.done()
    return made
