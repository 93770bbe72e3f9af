"""Factors by which times can grow while a test still accepts them (``gs.margin``)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import Any, ClassVar, Protocol

from gpusched._support.arguments import instance, one_of
from gpusched._support.budget import (
    Budget,
    BudgetSpent,
    as_budget,
    is_late,
    share_of,
    within_seconds,
)
from gpusched._support.growth_factors import (
    factor_in_steps,
    factor_text,
    factors_beyond,
    largest_factor,
)
from gpusched._support.results import Saved
from gpusched._support.text import clip, shown
from gpusched.analysis.holistic_answer import HolisticBound
from gpusched.analysis.sensitivity import breakdown
from gpusched.analysis.verdict import Verdict
from gpusched.comparison.analyses import (
    SEARCH_BUDGET,
    Allocation,
    Request,
    Triggered,
    analyzed,
    asked_way,
    costs_of,
    grouped,
    options_of,
    timed,
    with_costs,
)
from gpusched.comparison.derived_models import DerivedModels, Gaps
from gpusched.comparison.saved_values import FieldValues
from gpusched.comparison.workload_answer import WorkloadAnswer
from gpusched.model.workload.platforms import Platform
from gpusched.model.workload.segments import Kernel
from gpusched.model.workload.workloads import Workload
from gpusched.ways.way import WAYS, OptionValue, Way, label_of

__all__ = [
    "GrownModels",
    "Growth",
    "Margin",
    "Settle",
    "growing_times",
    "grown",
    "margin",
    "settled_answer",
]

Settle = Callable[[WorkloadAnswer], Workload]
"""The workload of an answer with values that are chosen by this answer."""


@dataclass(frozen=True)
class Margin(Saved):
    """Factor by which times can grow while a test accepts a workload; see ``gs.margin``.

    >>> kernel = gs.Kernel("2ms", blocks=8, threads=256)
    >>> w = gs.Workload([gs.Task("camera", "10ms", [kernel])], tick="us")
    >>> margin = gs.margin(w, gs.Platform("Xavier"), "streams")
    >>> margin.factor, margin.way
    (Fraction(5, 1), 'streams')

    `save` and `load` keep it in a file:

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     margin.save(f"{folder}/margin")
    ...     gs.Margin.load(f"{folder}/margin") == margin
    True

    Attributes
    ----------
    way, options
        The way of sharing the GPU, and its options.
    what
        What grows: "all", "kernels", or the name of a task.
    factor
        The largest accepted factor: the exact maximum if ``exact``, otherwise the largest one of
        those that were tested. None if no factor was accepted.
    failed
        If ``exact``, None: every larger factor fails with what was ``chosen``. Otherwise the next
        larger factor that was tested, which failed; None if no factor up to 64 failed.
    exact
        Whether the test is proven to be monotone (if it accepts a factor, it accepts every smaller
        one), and no seconds of a budget were spent.
    tested
        Number of analyses that were run, of the workload and of tasks derived from it.
    conditional
        Whether the workload with its times multiplied by ``factor`` is guaranteed under conditions
        only.
    of
        What has to be in time: "all", or the name of a path.
    chosen
        If ``exact``: what the test chose for the workload itself and all larger times keep
        ("cores", "SMs", "cores and SMs"); with other choices they may be longer. "" if nothing was.
    """

    _KIND: ClassVar[str] = "Margin"
    _PARTS: ClassVar[tuple[type[Saved], ...]] = (Way,)

    way: str
    options: Mapping[str, OptionValue]
    what: str
    factor: Fraction | None
    failed: Fraction | None
    exact: bool
    tested: int
    conditional: bool = False
    of: str = "all"
    chosen: str = ""

    @property
    def label(self) -> str:
        """Way and given parameters, such as "mpcp (busy)"."""
        return label_of(self.way, self.options)

    @classmethod
    def _from_fields(cls, values: dict[str, Any]) -> Margin:
        given = FieldValues(values)
        made = cls(
            way=given.choice("way", (way.name for way in WAYS)),
            options=given.options(),
            what=given.text("what"),
            factor=given.fraction("factor"),
            failed=given.fraction("failed"),
            exact=given.flag("exact"),
            tested=given.count("tested"),
            conditional=given.flag("conditional"),
            of=given.text("of") if "of" in values else "all",  # not in version 0.1
            chosen=given.text("chosen") if "chosen" in values else "",  # nor is this
        )
        given.done()
        return made

    @property
    def at_most(self) -> str:
        """That an exact factor is the largest, and with which choices."""
        return f"and no longer{f' with the chosen {self.chosen}' if self.chosen else ''}"

    def __str__(self) -> str:
        grows = "everything" if self.what == "all" else clip(self.what, 60)
        grows += "" if self.of == "all" else f" for {clip(self.of, 60)}"
        if self.factor is None:
            return f"{self.label}: none of the {self.tested} factors tested for {grows} is accepted"
        known = f"{self.label}: {grows} may take {factor_text(self.factor)} times as long"
        known += " under its conditions" if self.conditional else ""
        if self.exact:
            return f"{known}, {self.at_most}"
        if self.failed is None:
            return f"{known}; no larger factor was tested"
        return f"{known}; {factor_text(self.failed)} is not accepted ({self.tested} factors tested)"


def margin(
    workload: Workload,
    platform: Platform,
    way: Way | str,
    what: str = "all",
    *,
    of: str = "all",
    gaps: Gaps = "occupy",
    triggered: Triggered = "apart",
    times: str = "largest",
    budget: Budget | None = None,
    stop: Any = None,
    **options: OptionValue,
) -> Margin:
    """Find the largest factor by which times can grow while a test accepts a workload.

    >>> w = gs.Workload([
    ...     gs.Task("camera", "40ms", [gs.CPU("2ms"), gs.Kernel("5ms", blocks=32, threads=256)]),
    ...     gs.Task("planner", "80ms", [gs.CPU("9ms"), gs.Kernel("8ms", blocks=8, threads=128)]),
    ... ], tick="us")
    >>> found = gs.margin(w, gs.Platform("AGX Orin", cpus=2), "mpcp")
    >>> found.factor, found.exact
    (Fraction(13333, 5000), True)
    >>> print(found)
    mpcp (suspend): everything may take 2.6666 times as long, and no longer with the chosen cores

    Parameters
    ----------
    workload, platform, way, gaps, triggered, times, stop, options
        As in `analyze`. With a quantile, such as ``times="p99"``, the times of that quantile grow;
        all guarantees are then conditional on it, and so is the factor.
    budget
        A ``gs.Budget`` for the whole call, whose ``states`` limit each exact search. Default:
        200,000 states and 32 MiB for each search. Each test gets half of the seconds that are left;
        a factor whose test does not end is not accepted, and the result is then not ``exact``.
    what
        The times that are scaled together: "all" times of the workload, those of its "kernels", or
        all times of one task, given by its name. Overheads of the platform are not scaled. Scaled
        times are rounded up to whole ticks. Least times (``best``) are not scaled.
    of
        What has to be in time: "all" tasks and paths, or the name of a path, whose bound has to be
        within its deadline.

    Returns
    -------
    Margin
        The factor is exact for mpcp, fmlp_plus, gpu_server, stgm, time_slices and gcaps, whose
        tests are monotone in every time; cores and SMs are then those chosen for the unscaled
        workload. For the other ways, it is an accepted factor of which the next one, 1 % larger, is
        not accepted.

    Raises
    ------
    The errors of `analyze`; ValueError also for an unknown ``what``, and for a workload without
    times of that kind.
    """
    instance(workload, Workload, "workload")
    instance(platform, Platform, "platform")
    one_of(gaps, ("refuse", "occupy"), "gaps")
    workload = grouped(timed(workload, times), triggered)
    if not isinstance(of, str):
        raise TypeError(f"of: got {shown(of)}, expected 'all' or the name of a path")
    if of != "all" and workload.path(of).deadline is None:
        raise ValueError(f"of: got {shown(of)}, a path without a deadline, expected one with it")
    searched = SEARCH_BUDGET if budget is None else budget
    memory = None if budget is None else as_budget(budget).bytes
    way = asked_way(way, options)
    request = Request(options_of(way), gaps, searched, stop, memory=memory)
    return Growth(workload, with_costs(platform, way), way, request, what, of=of).margin()


class ModelsByFactor(Protocol):
    """Models of a workload whose times are multiplied by a factor."""

    def at(
        self, workload: Workload, platform: Platform, what: str, factor: Fraction
    ) -> DerivedModels:
        """The models for a factor."""

    def forget(self) -> None:
        """Let go of models that are not needed again."""


class GrownModels:
    """Models of a workload whose times are multiplied by a factor, kept for the last factor."""

    def __init__(self) -> None:
        self._of: tuple[Any, ...] = ()
        self._models: DerivedModels | None = None

    def at(
        self, workload: Workload, platform: Platform, what: str, factor: Fraction
    ) -> DerivedModels:
        """The models for a factor."""
        asked = (workload, platform, what, factor)
        if self._models is None or self._of != asked:
            self.forget()
            self._models, self._of = DerivedModels(grown(workload, what, factor), platform), asked
        return self._models

    def forget(self) -> None:
        """Let go of the models."""
        if self._models is not None:
            self._models.forget()
        self._models = None


class Growth:
    """Test of a workload whose times are multiplied by a factor.

    Monotone tests keep the cores and SMs that they chose for the unscaled workload.
    """

    def __init__(
        self,
        workload: Workload,
        platform: Platform,
        way: Way,
        request: Request,
        what: str,
        *,
        conditional: bool = False,
        answer: WorkloadAnswer | None = None,
        of: str = "all",
        settle: Settle | None = None,
        models: ModelsByFactor | None = None,
    ) -> None:
        """``conditional``: a factor that the test accepts under conditions only counts, too.

        ``of``: the path that has to be in time; "all": all tasks and paths.

        ``settle`` chooses values anew for each factor that is not accepted without.

        ``answer``: that for the workload itself, if it is known.

        ``models``: those that tests of other ways use, too.
        """
        limits = as_budget(request.budget)
        stop = within_seconds(request.stop, limits.seconds)
        request = replace(request, stop=stop, reasons=False)
        self.tested = 0
        self._of, self._settle = of, settle
        self.grown = workload
        """That of the largest factor that was accepted, with the values chosen for it."""
        self._failed: list[Fraction] = []
        self._spent = False  # the time of a test
        self._times = growing_times(workload, what)
        self._models: ModelsByFactor = GrownModels() if models is None else models
        self._asked = (workload, platform, way, what)
        if answer is None:
            given = DerivedModels(workload, platform)
            answer = self._within(lambda asked: analyzed(given, way, asked), request)
        self._options = request.options if answer is None else answer.options
        observed = workload.observed  # of a quantile, all guarantees are conditional
        self._conditional = conditional or (answer is not None and answer.conditional)
        self._conditional |= observed is not None and observed.quantile < 1
        self._most, self._under = Fraction(0), False  # accepted; whether under conditions only
        exact = way.monotone and request.options.get("variant", "sound") == "sound"
        exact = exact and not any(task.best for task in workload)
        detail, kept = None if answer is None else answer.detail, None
        self._verdict = detail if isinstance(detail, Verdict) else None
        if isinstance(detail, HolisticBound):  # of which waits for SMs are rounded to ticks
            exact = exact and detail.rule != "streams" and detail.sharing != "in_turns"
        if exact and isinstance(detail, (Verdict, HolisticBound)):
            kept = Allocation.of(detail)
            exact = not (kept.core < 0).any()  # otherwise there is no allocation to keep
        self._exact = exact
        self._chosen = ""
        if exact:
            self._chosen = _chosen(workload, platform, request, kept)
            options = {name: value for name, value in request.options.items() if name != "apart"}
            request = replace(request, options=options, allocation=kept)
        self._request = request

    def accepts(self, factor: Fraction) -> bool:
        """Whether the test accepts the workload with its times multiplied by a factor."""
        workload, platform, way, what = self._asked

        def tested(asked: Request) -> WorkloadAnswer:
            models = self._models.at(workload, platform, what, factor)
            if self._settle is None and self._of == "all" and not self._conditional:
                asked = replace(asked, guaranteed=True)
            return settled_answer(models, way, asked, self._holds, self._settle)

        if is_late(self._request.stop):
            self._spent = True
            return False
        self.tested += 1
        try:
            answer = self._within(tested, self._request)
        except (ValueError, OverflowError):
            answer = None
        if answer is not None and self._holds(answer):
            if factor > self._most:
                self._most, self._under, self.grown = factor, answer.conditional, answer.workload
            return True
        self._failed.append(factor)
        return False

    def _holds(self, answer: WorkloadAnswer) -> bool:
        """Whether what has to be in time is."""
        if answer.accepted or (self._conditional and answer.conditional):
            return True
        return self._of != "all" and answer.path(self._of).met

    def _within(
        self, test: Callable[[Request], WorkloadAnswer], request: Request
    ) -> WorkloadAnswer | None:
        """The answer of a test with half of the time that is left; None if that is too little."""
        asked = replace(request, stop=share_of(request.stop, 2))
        try:
            return test(asked)
        except BudgetSpent:
            self._spent = True
            return None

    def margin(self, accepted: Fraction | None = None) -> Margin:
        """The largest factor that the test accepts; see `margin`.

        ``accepted``: a factor that is known to be accepted.
        """
        _, _, way, what = self._asked
        if self._exact:
            factor, failed = largest_factor(self.accepts, self._times, self.guess), None
            if self._spent:
                failed = min(self._failed, default=None)
        else:
            factor, failed = factor_in_steps(self.accepts, accepted)
        self._models.forget()
        exact = self._exact and not self._spent
        return Margin(
            way.name, {**self._options, **costs_of(way)}, what, factor, failed, exact, self.tested,
            factor is not None and self._under, self._of, self._chosen if exact else "",
        )  # fmt: skip

    def margin_above(self, factor: Fraction | None) -> Margin | None:
        """The margin if the test accepts the next factor above a given one, otherwise None."""
        above = factors_beyond(factor, self._times if self._exact else None)[0]
        return self.margin(above) if self.accepts(above) else None

    @cached_property
    def guess(self) -> Fraction | None:
        """The breakdown factor of the tasks of an exact test; None without one.

        It is the answer if their times are those of the workload. Times that were derived from
        these, with overheads or per wave of blocks, grow slightly differently.
        """
        what, verdict = self._asked[-1], self._verdict
        if (
            verdict is None
            or not self._exact
            or self._of != "all"
            or (what not in ("all", "kernels") and what not in verdict.hosts.name)
        ):
            return None
        scale = what if what in ("all", "kernels") else verdict.hosts.name.index(what)
        try:
            found = breakdown(
                verdict.hosts,
                verdict.way,
                scale,
                cpus=verdict.cpus,
                sms=verdict.sms,
                stop=self._request.stop,
            )
        except (ValueError, OverflowError):  # the derived tasks do not have these times
            return None
        except BudgetSpent:
            self._spent = True
            return None
        self.tested += int(found.tests)
        return None if found.unlimited or found.numerator == 0 else Fraction(found.factor)


def _chosen(
    workload: Workload, platform: Platform, request: Request, kept: Allocation | None
) -> str:
    """Cores or SMs that a test chose for a workload, if it had more than one choice."""
    if kept is None:
        return ""
    open_ = any(task.core is None for task in workload) and len(workload) > 1
    open_ |= kept.server is not None and "server" not in request.options
    found = ["cores"] if open_ and platform.cpus > 1 else []
    found += ["SMs"] if kept.sm is not None and len(workload) > 1 else []
    return " and ".join(found)


def settled_answer(
    models: DerivedModels,
    way: Way,
    request: Request,
    holds: Callable[[WorkloadAnswer], bool],
    settle: Settle | None,
) -> WorkloadAnswer:
    """The answer for a workload or, where it does not hold, for the one that is settled by it."""
    answer = analyzed(models, way, request)
    if settle is None or holds(answer) or (other := settle(answer)) == models.given.workload:
        return answer
    settled = DerivedModels(other, models.given.platform)
    try:
        return analyzed(settled, way, request)
    finally:
        settled.forget()


def growing_times(workload: Workload, what: object) -> list[int]:
    """The distinct times that grow; ValueError if there are none."""
    if not isinstance(what, str):
        raise TypeError(f"what: got {shown(what)}, expected 'all', 'kernels' or a task's name")
    if what not in ("all", "kernels") and what not in workload:
        names = clip(", ".join(workload.names), 200)
        raise ValueError(f"what: got {shown(what)}, expected 'all', 'kernels' or one of {names}")
    tasks = [task for task in workload if what in ("all", "kernels", task.name)]
    found: set[int] = set()
    for task in tasks:
        for part in task.segments:
            if not isinstance(part, Kernel):
                found |= set() if what == "kernels" else {part.time}
                continue
            found |= {part.time} if part.has_time else set()
            found |= set() if part.block_time is None else {part.block_time}
            found |= set((part.sms or {}).values())
    found.discard(0)
    if not found:
        raise ValueError(f"what: got {shown(what)}, expected times that can grow, found none")
    return sorted(found)


def grown(workload: Workload, what: str, factor: Fraction) -> Workload:
    """The workload with times of a kind multiplied by a factor."""
    if what == "kernels":
        return workload.scaled(kernels=factor)
    if what == "all":
        return workload.scaled(kernels=factor, cpu=factor, copies=factor)
    one = workload.scaled(kernels=factor, cpu=factor, copies=factor)[what]
    return workload.replace(tasks=[one if task.name == what else task for task in workload])
