"""Answer of ``gs.choose``: the chosen values, and the verdict with and without them."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, ClassVar

from gpusched._support.arguments import instance
from gpusched._support.results import Frozen, Saved
from gpusched._support.text import clip, escape, plural, shown
from gpusched.comparison.margins import Margin
from gpusched.comparison.saved_values import FieldValues
from gpusched.comparison.workload_answer import WorkloadAnswer
from gpusched.model.gpus.mps_shares import SMs
from gpusched.model.workload.platforms import Platform
from gpusched.model.workload.time_units import time_with_unit
from gpusched.model.workload.workloads import Workload

__all__ = ["AIMS", "KINDS", "Choice", "check_aimed"]

AIMS = ("margin", "change", "paths")
"""Aims of a search: the largest margin, the fewest changes, or the shortest paths."""

KINDS = (
    *("sms", "levels", "slices", "gpu_priorities", "cores", "priorities", "offsets", "instances"),
)
"""Values that can be chosen."""

_SHOWN = 12


@dataclass(frozen=True, eq=False, repr=False)
class Choice(Saved, Frozen):
    """Values chosen for a program, and its answer with them; see ``gs.choose``.

    >>> kernel = gs.Kernel("2ms", blocks=32, threads=512)
    >>> w = gs.Workload([
    ...     gs.Task("camera", "10ms", [gs.CPU("1ms"), kernel], deadline="6ms"),
    ...     gs.Task("map", "40ms", [gs.CPU("1ms"), gs.Kernel("9ms", blocks=64, threads=512)]),
    ... ], tick="us")
    >>> found = gs.choose(w, gs.Platform("AGX Orin", cpus=2), "green_contexts", what=["sms"])
    >>> found.verdict, found.platform.green_contexts
    ('guaranteed', ((('camera',), 12), (('map',), 4)))
    >>> found.arguments
    '--green-contexts camera=12,map=4'

    `save` and `load` keep it in a file:

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     found.save(f"{folder}/choice")
    ...     gs.Choice.load(f"{folder}/choice") == found
    True

    Attributes
    ----------
    answer
        The answer of ``gs.analyze`` for the program with the chosen values. Where none is
        guaranteed, they are those with the largest factor of times, or those of the start.
    before
        The answer for the program as it was; None where the test did not apply.
    refused
        Why it did not; "" if it did.
    margin
        The margin with the chosen values, as of ``gs.margin``.
    what, aim
        The kinds of values that were chosen, and what is best.
    changes
        What differs from the start of the search, a phrase each.
    tested, total
        Number of choices that were tested, and of all; ``total`` is None beyond a billion.
    whole
        Whether the search left no choice that could be better: it tested all choices, or all with
        as few changes.
    seconds
        Wall-clock time of the call; not compared by ``==``.
    of
        With the aim "paths", the path that has to be short; "all" for all of them.
    """

    _KIND: ClassVar[str] = "Choice"
    _PARTS: ClassVar[tuple[type[Saved], ...]] = (
        WorkloadAnswer,
        *WorkloadAnswer._PARTS,
        Margin,
        *Margin._PARTS,
    )

    answer: WorkloadAnswer
    before: WorkloadAnswer | None
    refused: str
    margin: Margin
    what: tuple[str, ...]
    aim: str
    changes: tuple[str, ...]
    tested: int
    total: int | None
    whole: bool
    seconds: float = field(compare=False)
    of: str = "all"

    @classmethod
    def _from_fields(cls, values: dict[str, Any]) -> Choice:
        given = FieldValues(values)
        answer, before, margin, total = map(given.take, ("answer", "before", "margin", "total"))
        instance(answer, WorkloadAnswer, "answer")
        instance(before, (WorkloadAnswer, type(None)), "before")
        instance(margin, Margin, "margin")
        made = cls(
            answer=answer,
            before=before,
            refused=given.text("refused"),
            margin=margin,
            what=given.texts("what"),
            aim=given.choice("aim", AIMS),
            changes=given.texts("changes"),
            tested=given.count("tested"),
            total=None if total is None else FieldValues({"total": total}).count("total"),
            whole=given.flag("whole"),
            seconds=given.seconds(),
            of=given.text("of") if "of" in values else "all",  # not in version 0.1
        )
        given.done()
        if made.of != "all":
            check_aimed(made.of, made.workload)
        if not set(made.what) <= set(KINDS):
            raise ValueError(f"what: got {made.what!r:.80}, expected some of {', '.join(KINDS)}")
        if (made.before is None) != bool(made.refused):
            raise ValueError("refused: got an answer and a reason for none, expected one of them")
        return made

    @property
    def workload(self) -> Workload:
        """The workload with the chosen values; ``choice.workload.save("chosen.toml")`` keeps it."""
        return self.answer.workload

    @property
    def platform(self) -> Platform:
        """The platform with the chosen values."""
        return self.answer.platform

    @property
    def way(self) -> str:
        """The way of sharing the GPU."""
        return self.answer.way

    @property
    def accepted(self) -> bool:
        """Whether the test guarantees every deadline with the chosen values."""
        return self.answer.accepted

    @property
    def schedulable(self) -> bool | None:
        """As in the answer: True if accepted, False if a miss is shown, else None."""
        return self.answer.schedulable

    @property
    def verdict(self) -> str:
        """The verdict with the chosen values, in words."""
        return self.answer.verdict

    @property
    def optimal(self) -> bool:
        """Whether no choice is better by ``aim`` under this test. False: the best one found."""
        return self.whole and self.accepted

    @property
    def arguments(self) -> str:
        """Options of ``gpusched check`` with the chosen SMs, instances or slices; "" for none.

        Levels, cores, offsets and priorities of CPUs and GPU are in the workload.
        """
        found = list(_options(self.platform)) if {"sms", "instances"} & set(self.what) else []
        if "slices" in self.what:
            tick = self.workload._tick
            ticks = self.platform._at(tick).timeslice
            found.append(f"--timeslice {time_with_unit(ticks, tick)}")
        return " ".join(found)

    def why(self) -> str:
        """Explain how good the choice is, and what the search has shown."""
        if self.answer.impossible:
            return self.answer.why()
        number = self._number()
        if not self.accepted:
            said = f"None of {number} is guaranteed by this test"
            if self.answer.conditional:
                said += "; the best of them is, under conditions"
            elif self.margin.factor is not None:
                said += f"; with the closest one found, {self.margin}"
            return f"{said}. That a test accepts none does not show that a job is late."
        if self.aim == "change" and self.whole:
            return "No guaranteed choice has fewer changes, and none with as many a larger margin."
        if self.aim == "change":
            return f"Of {number}, it is the one with the fewest changes; others may have fewer."
        best = "a larger margin"
        if self.aim == "paths":
            best = "shorter paths, by the largest share of a deadline"
            if self.of != "all":
                best = f"a smaller bound of {clip(self.of, 60)}"
        if self.whole:
            return f"Of {number}, none has {best}."
        return f"It is the best of {number}; others may have {best}."

    def _number(self) -> str:
        """Numbers of tested choices and of all, in words."""
        if "offsets" not in self.what:
            return _choices(self.tested, self.total, whole=self.whole)
        if self.what == ("offsets",):
            return "all offsets" if self.whole else "the offsets of a local search"
        number = _choices(self.tested, self.total, whole=self.whole)
        return f"{number}, each with {'any' if self.whole else 'the best found'} offsets"

    def __repr__(self) -> str:
        best = "optimal" if self.optimal else "best found"
        return f"<Choice: {self.verdict} ({self.answer.label}; {best}, {self.tested:,} tested)>"

    def __str__(self) -> str:
        return "\n".join(self._lines())

    def _lines(self) -> Iterator[str]:
        verdict = "not applicable" if self.before is None else self.before.verdict
        yield f"{self.answer.label}: {self.verdict}; before: {verdict}"
        for text in self.changes[:_SHOWN]:
            yield f"- {text}"
        if len(self.changes) > _SHOWN:
            yield f"- and {plural(len(self.changes) - _SHOWN, 'more change')}"
        if not self.changes:
            yield "- nothing changes"
        if self.accepted or self.answer.conditional:
            yield f"margin: {self.margin}"
        before = () if self.before is None else self.before.paths
        for i, path in enumerate(self.answer.paths[:_SHOWN]):
            old = before[i].bound if before else None
            side = "" if old is None else f"; before: {time_with_unit(old, path.tick)}"
            yield f"{path.line()}{side}"
        yield self.why()

    def _repr_html_(self) -> str:
        head, *rest = self._lines()
        items = "".join(f"<li>{escape(clip(t[2:], 300))}</li>" for t in rest if t[:2] == "- ")
        said = "".join(f"<p>{escape(clip(t, 600))}</p>" for t in rest if t[:2] != "- ")
        return f"<p>{escape(head)}</p><ul>{items}</ul>{said}{self.answer._repr_html_()}"


def check_aimed(of: str, workload: Workload) -> None:
    """Raise ValueError for a path that a workload does not have."""
    names = [path.name for path in workload.paths]
    if of not in names:
        known = clip(", ".join(names), 200) or "none, as there are no paths"
        raise ValueError(f"of: got {shown(of)}, expected 'all' or a path: {known}")


def _choices(tested: int, total: int | None, *, whole: bool) -> str:
    """Numbers of tested choices and of all, in words."""
    if whole and total is not None:
        return f"all {total:,} choices" if total != 1 else "1 choice"
    of = "more than a billion" if total is None else f"{total:,}"
    return f"{tested:,} tested choices of {of}"


def _options(platform: Platform) -> Iterator[str]:
    """Options of commands for the parts of a platform."""
    if platform.mps is not None:
        shares = (
            f"{name}={share.count}SMs" if isinstance(share, SMs) else f"{name}={share}"
            for name, share in platform.mps
        )
        yield f"--mps {shlex.quote(','.join(shares))}"
    parts = {"mps-partitions": platform.mps_partitions, "green-contexts": platform.green_contexts}
    for option, entries in parts.items():
        if entries is not None:
            sizes = (
                f"{'+'.join(names)}={sms if isinstance(sms, int) else len(sms)}"
                for names, sms in entries
            )
            yield f"--{option} {shlex.quote(','.join(sizes))}"
    if platform.mig is not None:
        yield f"--mig {shlex.quote(','.join(platform.mig))}"
