"""Search for the values with which a test guarantees a program, by the largest margin.

All choices are tested if a budget of choices suffices for them. If it does not, a local search
changes one value for one task at a time, and prefers the task that its test says is late, or those
of the longest path. Offsets are not among these values: for each choice they follow from the ends
of its tasks.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from fractions import Fraction
from itertools import islice, product
from math import prod
from random import Random
from typing import Literal

from gpusched._support.budget import BudgetSpent, raise_if_stopped
from gpusched._support.growth_factors import factors_beyond
from gpusched.comparison.analyses import Request, analyzed
from gpusched.comparison.choosing.chosen_models import ChosenModels, ModelsOfChoice
from gpusched.comparison.choosing.offset_choice import OffsetChoice
from gpusched.comparison.choosing.open_values import OpenValue, Value
from gpusched.comparison.choosing.quick_rejection import QuickRejection, have_cores
from gpusched.comparison.derived_models import DerivedModels
from gpusched.comparison.margins import (
    Growth,
    Margin,
    Settle,
    growing_times,
    settled_answer,
)
from gpusched.comparison.workload_answer import WorkloadAnswer
from gpusched.model.workload.platforms import Platform
from gpusched.model.workload.workloads import Workload
from gpusched.ways.way import Way

__all__ = ["Aim", "ChoiceSearch", "Point", "starting_points"]

Aim = Literal["margin", "change", "paths"]
"""Aim of a search: the largest margin; the fewest changes and among these the largest margin; or
the least bounds of paths, as shares of their deadlines."""

Point = tuple[Value, ...]
"""A value of each kind that is open."""

_GUARANTEED, _CONDITIONAL, _OPEN = 2, 1, 0
_MOST_GUESSES = 24
_SORTED = 100_000  # choices that are sorted by the number of changes
_PATIENCE = 40  # moves without success before a search goes on elsewhere


class ChoiceSearch:
    """The best of the choices that were tested so far.

    Attributes
    ----------
    best, margin
        The values, and how far times can grow with them; None before a test applied.
    workload, platform
        The program with the best values.
    tested, total
        Number of choices that were tested, and of all; ``total`` is None beyond a billion.
    whole
        Whether no choice is left that could be better.
    spent
        Whether the seconds of the budget were spent.
    refused
        The reason why the test did not apply to the first choice to which it did not.
    """

    def __init__(
        self,
        program: tuple[Workload, Platform],
        way: Way,
        request: Request,
        opens: Sequence[OpenValue],
        aim: Aim,
        report: Callable[[int], object],
        offsets: OffsetChoice | None = None,
        of: str = "all",
    ) -> None:
        """``offsets``: their choice, where they are open; ``of``: the path that the aim is about,
        or "all"."""
        self._program, self._way, self._opens, self._aim = program, way, opens, aim
        self._offsets, self._of = offsets, of
        self.workload, self.platform = program
        self._request, self._report = replace(request, reasons=False), report
        self._times = growing_times(program[0], "all")
        self.best: Point | None = None
        self.margin: Margin | None = None
        self.tested, self.whole, self.spent, self.refused = 0, False, False, ""
        self._rank = _OPEN
        self._length: tuple[Fraction, ...] = ()
        self._late: tuple[str, ...] = ()
        # Factors of which a choice must have one for its margin to be larger than the best one; a
        # monotone test that accepts one of them accepts the least.
        self._beyond: list[Fraction] = []
        self._sure = offsets is None or offsets.whole
        self._monotone = (
            way.monotone
            and request.options.get("variant", "sound") == "sound"
            and not any(task.best for task in program[0])
            and have_cores(program[0], opens)
            and offsets is None
        )
        self._quick = None
        if offsets is None:
            self._quick = QuickRejection(program, way, self._request, opens)
        self._models = ChosenModels(program, way.name, opens)
        counts = [one.count for one in opens]
        known = [count for count in counts if count is not None]
        self.total = prod(known) if len(known) == len(counts) and prod(known) <= 10**9 else None

    @property
    def guaranteed(self) -> bool:
        """Whether the test guarantees the best choice."""
        return self._rank == _GUARANTEED

    def run(self, starts: Sequence[Point], most: int, seed: int) -> None:
        """Test the starts, and then all choices if they are ``most`` or fewer, else as many."""
        try:
            for start in starts:
                self._try(start)
                if self._aim == "change" and self.guaranteed:
                    break
            if self.total is not None and self.total <= most:
                self._all()
            else:
                self._locally(most, Random(seed))
        except BudgetSpent:
            self.spent = True
        finally:
            self._models.forget()

    def _all(self) -> None:
        """Test all choices, those with few changes first where these are what counts."""
        assert self.total is not None
        rows: Iterator[Point] = product(*(list(one.every()) for one in self._opens))
        if self._aim == "change" and self.total <= _SORTED:
            of = [(self.distance(row), i, row) for i, row in enumerate(rows)]
            rows = (row for _, _, row in sorted(of, key=lambda each: each[:2]))
        for row in rows:
            if self._aim == "change" and self.guaranteed:
                assert self.best is not None
                if self.distance(row) > self.distance(self.best):
                    if self.total <= _SORTED:
                        break
                    continue
            self._try(row)
        self.whole = self._sure

    def distance(self, point: Point) -> int:
        """Number of changes of a choice."""
        return sum(one.distance(value) for one, value in zip(self._opens, point, strict=True))

    def _locally(self, most: int, random: Random) -> None:
        """Change one value at a time, for at most so many choices."""
        items = self._program[0].names
        seen: set[Point] = set()
        failed, at = 0, self.best
        while self.tested < most and self.best is not None:
            if self._aim == "change" and self.guaranteed:
                self._undo(most)
                return
            if at is None or failed > _PATIENCE:
                failed, at = 0, self._away(self.best, random)
            for _ in range(20):  # a move that was not tried before
                i = random.randrange(len(self._opens))
                late = self._late and random.random() < 0.5
                among = self._late if late else items
                item = among[0] if len(among) == 1 else random.choice(among)
                moved = self._opens[i].moved(at[i], item, random)
                point = (*at[:i], moved, *at[i + 1 :])
                if point not in seen and point != self.best:
                    break
            else:
                failed = _PATIENCE + 1
                self.tested += 1  # so that few choices do not keep the search going
                continue
            seen.add(point)
            better = self._try(point)
            failed = 0 if better else failed + 1
            at = self.best if better else at

    def _away(self, point: Point, random: Random) -> Point:
        """A choice a few moves from another one."""
        for _ in range(3):
            i = random.randrange(len(self._opens))
            item = random.choice(self._program[0].names)
            point = (*point[:i], self._opens[i].moved(point[i], item, random), *point[i + 1 :])
        return point

    def _undo(self, most: int) -> None:
        """Take changes back, one by one, as long as the test guarantees the program."""
        taken = True
        while taken and self.tested < most:
            taken = False
            assert self.best is not None
            for i, one in enumerate(self._opens):
                for value in one.nearer(self.best[i]):
                    point = (*self.best[:i], value, *self.best[i + 1 :])
                    if self.tested < most and self.distance(point) < self.distance(self.best):
                        taken = self._try(point) or taken
                        if taken:
                            break
                if taken:
                    break

    def _try(self, point: Point) -> bool:
        """Test a choice; whether it is the best one now."""
        raise_if_stopped(self._request.stop)
        self.tested += 1
        self._report(self.tested)
        fewer = more = False
        if self._aim == "change" and self.guaranteed:
            assert self.best is not None
            changes = self.distance(point) - self.distance(self.best)
            fewer, more = changes < 0, changes > 0
        short = self._aim == "paths" and self._rank > _OPEN
        if more or self._is_rejected(point, once=fewer or short):
            return False
        if not (fewer or short or self._may_be_better(point)):
            return False
        found = self._answer(point, None)
        if found is None or (fewer and not found.accepted):
            return False
        rank = _rank_of(found)
        if short and (-rank, self._lengths(found)) >= (-self._rank, self._length):
            return False
        found, margin = self._with_margin(found, point)
        if self.margin is not None and not (fewer or short):
            if (rank, margin.factor or 0) <= (self._rank, self.margin.factor or 0):
                return False
        self.best, self.margin, self._rank = point, margin, rank
        beyond = factors_beyond(margin.factor, self._times if self._way.monotone else None)
        self._beyond = [min(beyond)] if self._monotone else beyond
        self.workload, self.platform = found.workload, self._models.program(point)[1]
        self._length = self._lengths(found) if self._aim == "paths" else ()
        self._late = self._tightest(found)
        return True

    def _tightest(self, found: WorkloadAnswer) -> tuple[str, ...]:
        """The tasks that are changed first: the latest one, or those of the longest path."""
        path = found.tightest_path
        if self._aim == "paths":
            path = (
                found.path(self._of)
                if self._of != "all"
                else max(found.paths, key=lambda path: path.share or 0)
            )
        if path is not None:
            return path.path.tasks
        return () if found.tightest is None else (found.workload.names[found.tightest],)

    def _is_rejected(self, point: Point, *, once: bool) -> bool:
        """Whether a test alone shows that a choice is no better than the best one.

        ``once``: it has to be accepted with its own times, and its margin does not matter.
        """
        if self._quick is None or self.margin is None:
            return False
        if once or self._rank < _GUARANTEED:
            if not self._quick.rejects(point, None):
                return False
            if once or self._rank > _OPEN:
                return True
        return all(self._quick.rejects(point, factor) for factor in self._beyond)

    def _may_be_better(self, point: Point) -> bool:
        """Whether a choice is not known to be worse than the best one, by a few tests."""
        if self.margin is None:
            return True
        if self._rank < _GUARANTEED:
            found = self._answer(point, None)
            if found is None or _rank_of(found) != self._rank:
                return found is not None and _rank_of(found) > self._rank
        return any(self._holds(point, factor) for factor in self._beyond)

    def _holds(self, point: Point, factor: Fraction) -> bool:
        """Whether times may grow by a factor, with a verdict as good as that of the best choice."""
        answer = self._answer(point, factor)
        return answer is not None and _rank_of(answer) >= self._counted

    @property
    def _counted(self) -> int:
        """The least rank that counts in the margin of a choice with the rank of the best one.

        A choice that is not guaranteed for its own times has a margin of guarantees alone, unless
        these times are a quantile.
        """
        observed = self._program[0].observed
        quantile = observed is not None and observed.quantile < 1
        return max(_CONDITIONAL, self._rank) if self._rank or quantile else _GUARANTEED

    def _with_margin(self, answer: WorkloadAnswer, point: Point) -> tuple[WorkloadAnswer, Margin]:
        """The margin of a choice, and its answer with the offsets that have the largest margin.

        As bounds grow with times, these are the best offsets for the largest factor for which there
        are any.
        """

        platform = self._models.program(point)[1]
        by_factor = ModelsOfChoice(self._models, point) if self._offsets is None else None

        def growth(answer: WorkloadAnswer, settle: Settle | None) -> Growth:
            asked = (answer.workload, platform, self._way, self._request, "all")
            return Growth(*asked, answer=answer, settle=settle, models=by_factor)

        if self._offsets is None or self._aim == "paths":
            return answer, growth(answer, None).margin()
        free = growth(answer, self._settled)
        most = free.margin()
        if most.factor is None:
            return answer, most
        offsets = self._offsets.offsets(free.grown)
        workload = self._offsets.applied(offsets, answer.workload)
        models = DerivedModels(workload, platform)
        answer = analyzed(models, self._way, self._request)
        models.forget()
        margin = growth(answer, None).margin()
        self._sure = self._sure and margin.factor == most.factor
        return answer, margin

    def _lengths(self, answer: WorkloadAnswer) -> tuple[Fraction, ...]:
        """Numbers that are least with the aim "paths": shares of deadlines, or a path's bound."""
        if self._of != "all":
            bound = answer.path(self._of).bound
            return Fraction(bound is None), Fraction(bound or 0)
        shares = (path.share for path in answer.paths)
        return tuple(sorted((share for share in shares if share is not None), reverse=True))

    def _settled(self, answer: WorkloadAnswer) -> Workload:
        """The workload of an answer with the best offsets for it."""
        assert self._offsets is not None
        offsets = self._offsets.best(answer, self._request.stop)
        return self._offsets.applied(offsets, answer.workload)

    def _answer(self, point: Point, factor: Fraction | None) -> WorkloadAnswer | None:
        """The answer for times that grow by a factor; None where the test does not apply.

        Offsets are chosen where it does not accept, or where paths have to be short.
        """

        def holds(answer: WorkloadAnswer) -> bool:
            return answer.accepted and self._aim != "paths"

        settle, request = None if self._offsets is None else self._settled, self._request
        if factor is not None and settle is None and self._counted == _GUARANTEED:
            request = replace(request, guaranteed=True)
        try:
            chosen = self._models.at(point, factor)
            return settled_answer(chosen, self._way, request, holds, settle)
        except (ValueError, OverflowError) as error:
            self.refused = self.refused or str(error)
            return None


def _rank_of(answer: WorkloadAnswer) -> int:
    return _GUARANTEED if answer.accepted else _CONDITIONAL if answer.conditional else _OPEN


def starting_points(opens: Sequence[OpenValue]) -> list[Point]:
    """The choices from which a search starts: the program's own, and guesses."""
    each = [
        [*([] if one.start is None else [one.start]), *one.guesses()] or [next(one.every())]
        for one in opens
    ]
    return list(islice(product(*each), _MOST_GUESSES))
