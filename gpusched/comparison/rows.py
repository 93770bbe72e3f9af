"""Rows of a comparison: one way of sharing the GPU, its test and its simulation."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from gpusched._support.budget import Budget
from gpusched.comparison.analyses import Request
from gpusched.comparison.derived_models import Gaps
from gpusched.comparison.margins import Growth, Margin
from gpusched.comparison.ways import OptionValue, Way
from gpusched.comparison.workload_answer import WorkloadAnswer, label_of, verdict_word
from gpusched.comparison.workload_run import WorkloadRun
from gpusched.model.workload.platforms import Platform
from gpusched.model.workload.workloads import Workload

__all__ = ["Row"]


@dataclass(frozen=True, eq=False, repr=False)
class Row:
    """One way of sharing the GPU, in one mode.

    Attributes
    ----------
    way, options
        The way of sharing the GPU, with its ``name`` and ``title``, and its options.
    answer
        Answer of its test; None if there is no test, or if the model cannot express the workload.
    why_no_answer
        The reason why there is no answer; "" if there is one.
    run
        The simulated jobs; None if nothing was simulated, or if the model cannot express the
        workload.
    why_no_run
        The reason why there is no run; "" if there is one or if none was requested.
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

    @property
    def label(self) -> str:
        """Way and mode, such as "mpcp (busy)"."""
        return label_of(self.way.name, self.options)

    @property
    def claim(self) -> str:
        """Strength of its test; "simulation" for a row with a run and no answer, else ""."""
        if self.answer is not None:
            return self.answer.claim
        return "" if self.run is None else "simulation"

    @property
    def schedulable(self) -> bool | None:
        """True if the test guarantees all deadlines, False if a deadline is missed, else None.

        It is False if the test shows a miss or if a deadline is missed in the simulation, and None
        if the row is undecided or nothing could be run.
        """
        if self.answer is not None and self.answer.schedulable is not None:
            return self.answer.schedulable
        return None if self.run is None else self.run.schedulable

    @property
    def is_shown_late(self) -> bool:
        """Whether an exact or necessary test shows that a deadline is missed."""
        answer = self.answer
        return answer is not None and answer.rejected and answer.claim in ("exact", "necessary")

    @property
    def verdict(self) -> str:
        """The result in words: "schedulable", "not schedulable" or "undecided".

        "not applicable" if the model cannot express the workload; "no test" for a way without a
        test that was not simulated.
        """
        if self.answer is None and self.run is None:
            return "not applicable" if self.way.method or self.why_no_run else "no test"
        return verdict_word(self.schedulable)

    @property
    def tightest(self) -> int | None:
        """Index of the task with the least slack in the test or, without one, the simulation."""
        if self.answer is not None and self.answer.tightest is not None:
            return self.answer.tightest
        return None if self.run is None else self.run.tightest

    def why(self) -> str:
        """Explain the verdict."""
        answer, run = self.answer, self.run
        if answer is not None and answer.schedulable is not None:
            return answer.why()
        if run is not None and run.schedulable is False:
            return f"Simulated: {run.why()}"
        if answer is not None:
            return answer.why()
        seen = self.why_no_run if run is None else f"simulated: {run.why()}"
        return "; ".join(filter(None, dict.fromkeys((self.why_no_answer, seen))))

    def growth(self, what: str = "all") -> Growth:
        """The test as a function of the factor by which times grow."""
        request = Request(self.options, self.gaps, self.budget)
        return Growth(self.workload, self.platform, self.way, request, what)

    def margin(self, what: str = "all") -> Margin:
        """Factor by which times can grow while the test accepts; see ``gs.margin``."""
        return self.growth(what).margin()

    def __repr__(self) -> str:
        return f"<Row: {self.label}, {self.verdict}>"
