"""Offsets of sources on one clock with which paths are short.

Ends of tasks hold for all offsets, so that for given ends the bounds of paths alone depend on them.
A link of a path loses no time if the source behind it is later than the one before it by the
*lead* of the link, E - A: the latest end before it less the earliest release behind it. Arrivals of
both repeat every gcd of their periods, so that all offsets beyond the lead by a multiple of that
gcd are as good for the link, but not for the whole path.

If links connect the sources without a circle, and those of two sources go one way, some best
offsets are the lead of a link later (and multiples of the gcd) for each pair of sources: let all
links of a pair lose time for every job. With the sources on the far side of the pair earlier by the
least of these times, every job reads what it read before, and no path is longer. These offsets are
all compared if they are few; otherwise a local search moves one source at a time.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from random import Random
from typing import Any

from gpusched._support.budget import raise_if_stopped
from gpusched._support.text import clip
from gpusched.analysis.path_times import path_bounds
from gpusched.comparison.path_answers import PathAnswer, ends_of, is_timed, legs_of
from gpusched.comparison.workload_answer import WorkloadAnswer
from gpusched.model.workload.links import KINDS, sources_of
from gpusched.model.workload.time_units import MOST_TICKS, time_with_unit
from gpusched.model.workload.workloads import Workload

__all__ = ["OffsetChoice"]

_MOST_COMPARED = 2_000
"""Most offsets that are compared for one answer."""

_MOST_NEAR = 16
"""Most multiples of a gcd that are tried for a link in one move of the local search."""

Offsets = dict[str, int]


@dataclass(frozen=True)
class _Link:
    """The last task of a leg and the first one of the next leg, with their sources, which differ.

    ``step``: the gcd of the times between two results of both legs.
    """

    before: str
    behind: str
    last: str
    first: str
    step: int


class OffsetChoice:
    """The choice of offsets for the sources of the paths of a workload with given phases.

    One source of those that links connect keeps its offset, as the others are relative to it.

    Attributes
    ----------
    names
        The sources whose offsets are chosen; none if no path with given phases reads from one
        source to another.
    whole
        Whether no other offsets are better for the ends of an answer: all that can be best are
        compared.
    """

    def __init__(self, workload: Workload, of: str = "all", seed: int = 0) -> None:
        """``of``: the path whose bound is to be small; "all": the largest share of a deadline."""
        self._source, self._of, self._seed = sources_of(workload.tasks), of, seed
        self._cycle: dict[str, int] = {}  # after which the arrivals of all legs of a source repeat
        self._links = self._links_of(workload)
        self._behind = self._order(workload)
        self.names = tuple(self._behind)
        pairs = {(link.before, link.behind) for link in self._links}
        open_ended = len(pairs) == len(self.names)
        one_way = not any((behind, before) in pairs for before, behind in pairs)
        short = max(self._cycle.values(), default=0) < MOST_TICKS
        self.whole = open_ended and one_way and short and self._count() <= _MOST_COMPARED

    def _links_of(self, workload: Workload) -> list[_Link]:
        """The links between sources of the paths with given phases."""
        found: dict[_Link, None] = {}
        for path in (path for path in workload.paths if is_timed(path, workload)):
            for one, two in pairwise(legs_of(path, workload)):
                before, behind = self._source[one[-1].name], self._source[two[0].name]
                if before == behind:
                    continue
                step = math.gcd(one[-1].period, two[-1].period)
                found[_Link(before, behind, one[-1].name, two[0].name, step)] = None
                for name, leg in ((before, one), (behind, two)):
                    self._cycle[name] = math.lcm(self._cycle.get(name, 1), leg[-1].period)
        return list(found)

    def _order(self, workload: Workload) -> dict[str, tuple[list[_Link], int]]:
        """The sources, each behind one to which it is linked: these links, and the range of its
        offset. The first source of those that are connected is left out."""
        found: dict[str, tuple[list[_Link], int]] = {}
        placed: dict[str, int] = {}  # by the number of the first source
        for first in (task.name for task in workload if task.name in self._cycle):
            if first in placed:
                continue
            root = placed[first] = len(placed)
            known = self._cycle[first]  # arrivals of all that are placed repeat after it
            while True:
                near = [link for link in self._links if self._is_open(link, placed, root)]
                if not near:
                    break
                name = near[0].behind if near[0].before in placed else near[0].before
                links = [link for link in near if name in (link.before, link.behind)]
                found[name] = (links, math.gcd(known, self._cycle[name]))
                placed[name], known = root, math.lcm(known, self._cycle[name])
        return found

    @staticmethod
    def _is_open(link: _Link, placed: dict[str, int], root: int) -> bool:
        """Whether one of its sources is placed, and the other one is not."""
        ends = [placed.get(name) for name in (link.before, link.behind)]
        return ends.count(root) == 1 and ends.count(None) == 1

    def _count(self) -> int:
        """Number of offsets that are the lead of a link later than others."""
        return math.prod(
            sum(span // link.step for link in links) for links, span in self._behind.values()
        )

    def offsets(self, workload: Workload) -> tuple[int, ...]:
        """The offsets of the sources that are chosen, in a workload."""
        return tuple(workload[name].offset for name in self.names)

    def applied(self, offsets: Sequence[int], workload: Workload) -> Workload:
        """A workload with other offsets of these sources."""
        of = dict(zip(self.names, offsets, strict=True))
        return workload.replace(
            tasks=[t.replace(offset=of[t.name]) if t.name in of else t for t in workload]
        )

    def changes(self, before: Workload, after: Workload) -> tuple[str, ...]:
        """The offsets that differ, a phrase each."""
        return tuple(
            f"{clip(name, 60)}: offset {time_with_unit(new, after.tick_ns)} instead of "
            f"{time_with_unit(old, before.tick_ns)}"
            for name, old, new in zip(
                self.names, self.offsets(before), self.offsets(after), strict=True
            )
            if old != new
        )

    def best(self, answer: WorkloadAnswer, stop: Any = None) -> tuple[int, ...]:
        """The best offsets found for the ends of an answer; its own if none are better.

        Raises Cancelled or BudgetSpent once ``stop`` is set.
        """
        sources = {name: answer.workload[name].offset for name in self._cycle}
        key = self._key_of(answer.paths)
        lead = self._leads(answer)
        best, least = sources, key(sources)
        if self.whole:
            tried = self._tight(lead, {n: o for n, o in sources.items() if n not in self._behind})
        else:
            tried = self._near(lead, sources, key)
        for offsets in tried:
            raise_if_stopped(stop)
            if (of := key(offsets)) < least:
                best, least = offsets, of
        return tuple(best[name] for name in self.names)

    def _leads(self, answer: WorkloadAnswer) -> dict[_Link, int]:
        """The lead of each link whose last task has a bound."""
        ends = answer.ends or ends_of(answer.response, answer.bounded)
        index = answer.workload.index
        return {
            link: int(ends.end[index(link.last)] - ends.earliest[index(link.first)])
            for link in self._links
            if ends.end[index(link.last)] >= 0
        }

    def _key_of(self, paths: Sequence[PathAnswer]) -> Callable[[Offsets], tuple[Fraction, ...]]:
        """Late paths, then the aim, the largest share, the sum of bounds: all have to be small."""
        given = [path for path in paths if path.is_timed and path.legs]
        columns = [
            (
                [leg.period for leg in path.legs],
                [leg.end for leg in path.legs],
                [leg.earliest for leg in path.legs],
            )
            for path in given
        ]
        sources = [[self._source[leg.tasks[0]] for leg in path.legs] for path in given]
        known: dict[tuple[int, ...], tuple[Fraction, ...]] = {}

        def key(offsets: Offsets) -> tuple[Fraction, ...]:
            values = tuple(offsets[name] for name in self._cycle)
            if values in known:
                return known[values]
            worst = goal = total = Fraction(0)
            for path, legs, names in zip(given, columns, sources, strict=True):
                at = [offsets.get(name, 0) for name in names]
                bound = path_bounds(*legs, at)[KINDS.index(path.path.kind)]
                total += bound
                if path.path.deadline is not None:
                    worst = max(worst, Fraction(bound, path.path.deadline))
                if path.path.name == self._of:
                    goal = Fraction(bound)
            known[values] = max(worst, Fraction(1)), goal, worst, total
            return known[values]

        return key

    def _tight(self, lead: dict[_Link, int], offsets: Offsets) -> Iterator[Offsets]:
        """All offsets that are the lead of a link later than those of the sources before them."""
        name = next((one for one in self.names if one not in offsets), None)
        if name is None:
            yield offsets
            return
        links, span = self._behind[name]
        values = {
            value % span
            for link in links
            if link in lead
            for value in self._later(link, lead[link], name, offsets, range(span // link.step))
        }
        for value in sorted(values) or (0,):
            yield from self._tight(lead, {**offsets, name: value})

    @staticmethod
    def _later(
        link: _Link, lead: int, name: str, offsets: Offsets, multiples: Sequence[int]
    ) -> list[int]:
        """Offsets of one source of a link that are its lead from the other one."""
        first = offsets[link.before] + lead if name == link.behind else offsets[link.behind] - lead
        return [first + link.step * k for k in multiples]

    def _near(
        self,
        lead: dict[_Link, int],
        start: Offsets,
        key: Callable[[Offsets], tuple[Fraction, ...]],
    ) -> Iterator[Offsets]:
        """Offsets of a local search from the given ones, and from random ones once it stands."""
        random, left, at = Random(self._seed), _MOST_COMPARED, start
        while True:
            least, moved = key(at), False
            for name in self.names:
                for value in self._moves(name, lead, at, random):
                    if not left:
                        return
                    left -= 1
                    tried = {**at, name: value % self._cycle[name] % MOST_TICKS}
                    yield tried
                    if (of := key(tried)) < least:
                        at, least, moved = tried, of, True
            if not moved:
                at = {**start, **{name: self._anywhere(name, random) for name in self.names}}

    def _anywhere(self, name: str, random: Random) -> int:
        return random.randrange(min(self._cycle[name], MOST_TICKS))

    def _moves(
        self, name: str, lead: dict[_Link, int], offsets: Offsets, random: Random
    ) -> Iterator[int]:
        for link, time in lead.items():
            if name in (link.before, link.behind):
                count = self._cycle[name] // link.step
                most = min(count, _MOST_NEAR)
                drawn = (random.randrange(count) for _ in range(most))
                multiples = range(count) if count == most else list(drawn)
                yield from self._later(link, time, name, offsets, multiples)
        yield self._anywhere(name, random)
