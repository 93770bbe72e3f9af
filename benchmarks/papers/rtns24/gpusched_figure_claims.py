"""Claims of [RTNS24], section 6.2 and the abstract: figure 4, shares of schedulable sets."""

from __future__ import annotations

import numpy as np

from benchmarks.papers.claim import Claim, Finding, Size, found
from benchmarks.papers.claim_pictures import figure_svg
from gpusched.experiments.gpusched_figures import (
    SCHEDULERS,
    UTILIZATIONS,
    Schedulability,
    gpusched_fig4,
)

__all__ = ["ABSTRACT", "FIGURE_CLAIMS"]


def _figure_4(size: Size, panel: str | None = None, count: int = 50) -> Schedulability:
    # A table each time: the sets take a second, and checks may run alone.
    table = gpusched_fig4(panel, count=size.count(count, 50), workers=size.workers, progress=False)
    assert isinstance(table, Schedulability)
    return table


def _shares(table: Schedulability, panel: str) -> dict[str, np.ndarray]:
    return {
        name: np.asarray(table.where(panel=panel, scheduler=name)["schedulable"])
        for name in SCHEDULERS
    }


def _panel(panel: str, size: Size) -> Finding:
    table = _figure_4(size, panel)
    shares = _shares(table, panel)
    best, serial, parallel = (shares[name] for name in SCHEDULERS)
    dominates = bool(np.all(best >= serial) and np.all(best >= parallel))
    high = np.array(UTILIZATIONS) > 0.7
    gain = best - np.maximum(serial, parallel)
    holds = dominates and float(gain[high].max()) > float(gain[~high].max())
    text = f"GPUSched is never below the others; its largest lead is {gain.max():.0%}. Mean share: "
    text += ", ".join(f"{name} {row.mean():.0%}" for name, row in shares.items())
    text += f". No set is schedulable above {np.array(UTILIZATIONS)[best > 0].max():g}."
    values = {name: row.tolist() for name, row in shares.items()}
    return found(holds, text, values, figure_svg(table.plot), reading=True)


def _figure_4a(size: Size) -> Finding:
    return _panel("a", size)


def _figure_4b(size: Size) -> Finding:
    return _panel("b", size)


def _figure_4c(size: Size) -> Finding:
    return _panel("c", size)


def _outperforms(size: Size) -> Finding:
    table = _figure_4(size, count=30)
    mean = {name: float(np.mean(table.where(scheduler=name)["schedulable"])) for name in SCHEDULERS}
    holds = mean["GPUSched"] > max(mean["EDFserial"], mean["EDFParallel"])
    text = ", ".join(f"{name} {share:.1%}" for name, share in mean.items())
    return found(holds, f"Schedulable share of all sets of Figure 4: {text}.", mean)


def _parallel(size: Size) -> Finding:
    table = _figure_4(size)
    share, gap = {}, {}
    for panel in "abc":
        shares = _shares(table, panel)
        share[panel] = float(np.mean(shares["EDFParallel"]))
        gap[panel] = float(np.mean(shares["GPUSched"])) - share[panel]
    above = _shares(table, "a")
    better = float(np.mean(above["EDFParallel"] - above["EDFserial"]))
    holds = share["a"] > share["c"] > share["b"]
    text = (
        f"Mean share of EDFParallel: {share['a']:.1%} with small slowdowns, {share['c']:.1%} with "
    )
    text += f"mixed and {share['b']:.1%} with large ones; that of GPUSched is larger by "
    text += f"{gap['a']:.1%}, {gap['c']:.1%} and {gap['b']:.1%}. With small slowdowns EDFParallel "
    text += f"is {better:+.1%} from EDFserial."
    values = {**share, **{f"gap_{panel}": row for panel, row in gap.items()}}
    return found(holds, text, {**values, "over_serial": better}, reading=True)


_FIG4 = ("gs.experiments.gpusched_fig4",)
_RANGE = "In the range where sets are schedulable; from 1.6 on none is."

FIGURE_CLAIMS = (
    Claim(
        "Figure 4a",
        "small slowdowns",
        "Share of schedulable sets of 5 tasks over utilizations 0.2 to 2.0, 50 sets a point: "
        "GPUSched is above both others as the utilization grows.",
        _FIG4,
        "agrees in this reading",
        _RANGE,
        _figure_4a,
    ),
    Claim(
        "Figure 4b",
        "large slowdowns",
        "The same with factors from 1.7 to 1.9.",
        _FIG4,
        "agrees in this reading",
        _RANGE,
        _figure_4b,
    ),
    Claim(
        "Figure 4c",
        "mixed slowdowns",
        "The same with factors from 1.1 to 1.9.",
        _FIG4,
        "agrees in this reading",
        _RANGE,
        _figure_4c,
    ),
    Claim(
        "Section 6.2",
        "EDFParallel and interference",
        "EDFParallel does well with small interference; with more of it its results become hard to "
        "foresee.",
        _FIG4,
        "agrees in this reading",
        "Read as its share of schedulable sets, which falls with the interference. With small "
        "interference it is about level with EDFserial. 'Hard to foresee' is not defined.",
        _parallel,
    ),
)

ABSTRACT = Claim(
    "Abstract",
    "PBS against both others",
    "PBS schedules more sets than running kernels one by one, and than running all at once.",
    _FIG4,
    "agrees",
    "",
    _outperforms,
)
