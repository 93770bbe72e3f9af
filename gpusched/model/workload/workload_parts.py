"""Contents of a workload as files and frames give them; the observed share of GPU time."""

from __future__ import annotations

from fractions import Fraction
from typing import Any, NamedTuple

from gpusched._support.arguments import integer64, is_sequence, real
from gpusched._support.text import shown
from gpusched.model.workload.path import Path
from gpusched.model.workload.periodic_task import Task
from gpusched.model.workload.time_units import TickLength, as_factor, time_with_unit

__all__ = ["ObservedTime", "Parts", "observed_time", "together"]


class ObservedTime(NamedTuple):
    """GPU time observed in a recording, and how much of it is in the jobs of a workload, in ns.

    ``quantile``: the share of the recorded jobs, for each part, that take no more than its time.

    >>> workload = gs.io.read_trace("tests/data/pipeline.pt.trace.json").workload("kernel")
    >>> print(workload.observed)
    94 % of the observed GPU time (4.68368ms of 4.978848ms)
    """

    gpu_ns: int
    kept_ns: int
    quantile: float = 1.0

    @property
    def share(self) -> Fraction:
        """The part of the observed time that the jobs contain."""
        return Fraction(self.kept_ns, self.gpu_ns) if self.gpu_ns else Fraction(1)

    def __str__(self) -> str:
        """The share, rounded down to a tenth of a percent, and both times."""
        return (
            f"{int(1000 * self.share) / 10:g} % of the observed GPU time "
            f"({time_with_unit(self.kept_ns, 1)} of {time_with_unit(self.gpu_ns, 1)})"
        )


def observed_time(given: Any) -> ObservedTime | None:
    """The argument ``observed`` of a workload: two numbers of ns and a quantile, or None."""
    if given is None:
        return None
    parts = list(given) if is_sequence(given) else []
    if len(parts) not in (2, 3):
        raise TypeError(f"observed: got {shown(given)}, expected gpu_ns, kept_ns and quantile")
    gpu, kept = integer64(parts[0], "observed.gpu_ns"), integer64(parts[1], "observed.kept_ns")
    if not 0 <= kept <= gpu:
        raise ValueError(f"observed.kept_ns: got {kept}, expected 0 to gpu_ns, {gpu}")
    part = parts[2] if len(parts) == 3 else 1
    read = as_factor if isinstance(part, str) else real
    quantile = float(read(part, "observed.quantile"))
    if not 0 < quantile <= 1:
        raise ValueError(
            f"observed.quantile: got {shown(part)}, expected more than 0 and at most 1"
        )
    return ObservedTime(gpu, kept, quantile)


def together(one: ObservedTime | None, other: ObservedTime | None) -> ObservedTime | None:
    """Of the jobs of both, the smaller share and the smaller quantile."""
    both = [of for of in (one, other) if of is not None]
    if not both:
        return None
    least = min(both, key=lambda of: of.share)
    return least._replace(quantile=min(of.quantile for of in both))


class Parts(NamedTuple):
    """Tasks in ticks of ``tick`` ns, notes, the share of observed GPU time, and paths."""

    tasks: tuple[Task, ...]
    tick: TickLength
    notes: tuple[str, ...]
    observed: ObservedTime | None
    paths: tuple[Path, ...] = ()
