"""Scenarios and counts of Figure 5 of [RTNS10]: table, figures, the observations of section 5.2."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from gpusched._draw import axes as plot
from gpusched._support.arguments import FloatArray, Int64Array, frozen, integer, one_of
from gpusched._support.results import Results, wilson
from gpusched._support.text import shown
from gpusched.generate.elliott_sets import PERIODS, UTILIZATIONS

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from gpusched._draw.axes import AxesArray, AxesLike

GPU_SHARES = (0.25, 0.5, 0.75)
LETTERS = "abcdefghi"
"""Letters of the nine panels of Figure 5."""


class Scenario(NamedTuple):
    """Parameters of a distribution of task sets, one of the paper's 270 combinations.

    >>> gs.experiments.SCENARIOS[0]
    Scenario(number=0, utilization='light', periods='short', gpu=0.25, share=0.0)
    """

    number: int
    utilization: str
    periods: str
    gpu: float
    share: float

    @property
    def title(self) -> str:
        return (
            f"{self.utilization}, {self.periods} periods, {self.gpu:.0%} of a job on the GPU, "
            f"{self.share:.0%} to {self.share + 0.1:.0%} of the tasks"
        )


SCENARIOS = tuple(
    Scenario(number, *of)
    for number, of in enumerate(
        itertools.product(UTILIZATIONS, PERIODS, GPU_SHARES, (k / 10 for k in range(10)))
    )
)
"""All scenarios: 3 intervals of utilizations, 3 of periods, 3 GPU shares of a job (``gpu``), and 10
intervals of the share of tasks that use the GPU (``share`` to ``share`` + 0.1)."""


def find(utilization: str, periods: str, gpu: float, share: float) -> int:
    for of in SCENARIOS:
        if of[1:4] == (utilization, periods, gpu) and abs(of.share - share) < 0.01:
            return of.number
    raise ValueError(f"share: got {share} with periods {periods!r}, expected a scenario")


def printed(periods: str) -> list[int]:
    """Numbers of the scenarios of the nine panels, (a) to (i)."""
    return [find(u, periods, g, 0.3) for u in UTILIZATIONS for g in GPU_SHARES]


def numbers_of(scenarios: Any, periods: str) -> tuple[int, ...]:
    one_of(periods, PERIODS, "periods")
    if scenarios is None:
        return tuple(printed(periods))
    if isinstance(scenarios, str):
        one_of(scenarios, ("all",), "scenarios")
        return tuple(range(len(SCENARIOS)))
    if isinstance(scenarios, Scenario) or not isinstance(scenarios, Iterable):
        raise TypeError(f"scenarios: got {shown(scenarios)}, expected a list of numbers")
    numbers = tuple(
        integer(s.number if isinstance(s, Scenario) else s, "scenarios") for s in scenarios
    )
    if not numbers:
        raise ValueError("scenarios: got none, expected at least one")
    for number in numbers:
        if not 0 <= number < len(SCENARIOS):
            raise ValueError(f"scenarios: got {number}, expected 0 to {len(SCENARIOS) - 1}")
    if len(set(numbers)) != len(numbers):
        raise ValueError(f"scenarios: got {shown(scenarios)}, expected no number twice")
    return numbers


_FEW = 100  # sets of a bin below which it is ignored

METHODS = ("SRM", "Container", "SRM with FMLP", "SRM or Container")


@dataclass(frozen=True, eq=False, repr=False)
class ElliottStudy(Results):
    """Result of ``elliott_fig5``: its table, and the counts.

    >>> table = gs.experiments.elliott_fig5([0], count=1000, progress=False)
    >>> list(table.columns)[:5], len(table)
    (['scenario', 'utilization', 'periods', 'gpu', 'share'], 256)

    Attributes
    ----------
    scenarios
        Numbers of the S scenarios, in order.
    sets
        Number of task sets per bin of the utilization, int64 ``(S, bins)``.
    without
        Number of those of ``sets`` in which no task uses the GPU; all methods schedule them.
    passed
        Number of schedulable sets, ``(S, curves, bins)``, in the order of ``curves``.
    eighths
        Histogram, ``(S, 257)``, of the largest speed-up for which the CPUs alone schedule a set:
        entry k counts k / 8 to (k + 1) / 8, the last entry 32 and more.
    fates
        Numbers of draws that were accepted, had no task, had only one task that uses the GPU,
        (unused), or exceeded the GPU: ``(S, 5)``.
    tasks
        Number of tasks in all counted sets, ``(S,)``.
    curves
        Names of the methods and of the CPUs alone.
    settings
        The arguments of the call.
    """

    scenarios: tuple[int, ...]
    sets: Int64Array
    without: Int64Array
    passed: Int64Array
    eighths: Int64Array
    fates: Int64Array
    tasks: Int64Array
    curves: tuple[str, ...]
    settings: Mapping[str, Any]

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in ("sets", "without", "passed", "eighths", "fates", "tasks"):
            frozen(getattr(self, name))

    def answer(self) -> Results:
        """Return the smallest speed-ups with which a GPU schedules more sets than the CPUs alone.

        The table is about sets with tasks that use the GPU. It has one row per scenario with the
        columns scenario, utilization, periods, gpu, share, sets, the share of schedulable sets of
        each curve, and for X = SRM, Container and "SRM or Container"

        - "X from": the smallest of the speed-ups from which on X schedules more sets than the CPUs
          alone, NaN if there is none;
        - "X break-even": the speed-up at which both schedule equally many sets, interpolated in the
          histogram ``eighths``, NaN from 32 on.
        """
        columns: dict[str, list[Any]] = {}
        speed_ups = list(self.settings["speed_ups"])
        for s, number in enumerate(self.scenarios):
            of = SCENARIOS[number]
            rest = int(self.without[s].sum())
            total = int(self.sets[s].sum()) - rest
            schedulable = self.passed[s].sum(axis=1) - rest
            line: dict[str, Any] = {"scenario": number, **_parameters(of), "sets": total}
            for name, found in zip(self.curves, schedulable.tolist(), strict=True):
                line[name] = found / total if total else float("nan")
            for name in ("SRM", "Container", "SRM or Container"):
                found = int(schedulable[METHODS.index(name)])
                alone = schedulable[len(METHODS) :].tolist()
                better = [c for c, n in zip(speed_ups, alone, strict=True) if found > n]
                line[f"{name} from"] = float(min(better)) if better else float("nan")
                line[f"{name} break-even"] = _break_even(self.eighths[s], rest, found)
            for name, value in line.items():
                columns.setdefault(name, []).append(value)
        return Results({name: np.array(values) for name, values in columns.items()})

    def observations(self) -> Results:
        """Check the paper's six observations on these numbers.

        Requires the nine printed scenarios (of one interval of periods, with a share of 30 to 40 %)
        and the speed-ups 4 and 8. The table has the columns observation, statement, holds and
        numbers. "More" compares all sets of a scenario that have tasks that use the GPU.
        """
        return _observations(self)

    def curve(
        self, number: int, name: str
    ) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
        """One curve of a scenario: middles of the bins, share, low, high; bins with sets only."""
        rows = self.where(scenario=number, curve=name)
        middle = (rows["low"] + rows["high"]) / 2
        return middle, rows["schedulable"], rows["schedulable_low"], rows["schedulable_high"]

    def plot(
        self, axes: AxesLike | None = None, *, periods: str | None = None, share: float = 0.3
    ) -> AxesArray:
        """Draw Figure 5: nine panels, rows by task utilization, columns by GPU share.

        ``periods`` and ``share`` select scenarios of a larger study. Returns the array of axes.
        """
        periods = self._periods() if periods is None else periods
        chosen = [[find(u, periods, g, share) for g in GPU_SHARES] for u in UTILIZATIONS]
        missing = [k for row in chosen for k in row if k not in self.scenarios]
        if len(missing) == 9:
            raise ValueError(
                f"share: got {share} with periods {periods!r}, expected a scenario of the study"
            )
        axes = plot.panels(axes, (3, 3), (11.0, 9.0), sharex=True, sharey=True)
        flat = [number for row in chosen for number in row]
        for ax, number, letter in zip(axes.ravel(), flat, LETTERS, strict=True):
            of = SCENARIOS[number]
            self._panel(ax, number, markers=True)
            ax.set_title(f"({letter}) {of.utilization}, {of.gpu:.0%} on the GPU", fontsize=10)
            plot.grid(ax)
        for ax in axes[-1]:
            ax.set_xlabel("system utilization")
        for ax in axes[:, 0]:
            ax.set_ylabel("schedulable sets (%)")
        handles, labels = axes[0, 0].get_legend_handles_labels()
        axes[0, 0].figure.legend(
            handles, labels, frameon=False, ncols=len(labels), loc="outside upper center"
        )
        return axes

    def plot_all(self) -> AxesArray:
        """Draw a small panel per scenario and return the array of axes.

        A row has one utilization, period interval and GPU share; columns vary the share of tasks
        that use the GPU.
        """
        rows = list(dict.fromkeys(SCENARIOS[k][1:4] for k in self.scenarios))
        shares = sorted({SCENARIOS[k].share for k in self.scenarios})
        shape = (len(rows), len(shares))
        size = (1.5 * len(shares) + 1.4, 1.05 * len(rows) + 0.8)
        axes = plot.panels(None, shape, size, sharex=True, sharey=True)
        for ax in axes.ravel():
            ax.set_visible(False)
        for number in self.scenarios:
            of = SCENARIOS[number]
            ax = axes[rows.index(of[1:4]), shares.index(of.share)]
            ax.set_visible(True)
            self._panel(ax, number, markers=False)
            ax.tick_params(labelsize=7)
            ax.set_xticks(np.linspace(0, self.settings["cpus"], 3))
            plot.grid(ax)
        for row, (utilization, periods, gpu) in zip(axes, rows, strict=True):
            row[0].set_ylabel(f"{utilization}\n{periods}\n{gpu:.0%}", fontsize=8)
            row[0].set_visible(True)
        for ax, share in zip(axes[0], shares, strict=True):
            ax.set_title(f"{share:.0%} to {share + 0.1:.0%}", fontsize=9)
            ax.set_visible(True)
        handles, labels = axes[0, 0].get_legend_handles_labels()
        axes[0, 0].figure.legend(
            handles, labels, frameon=False, ncols=min(6, len(labels)), loc="outside upper center"
        )
        return axes

    def plot_answer(self, axes: AxesLike | None = None, *, periods: str | None = None) -> AxesArray:
        """Draw break-even speed-ups over the share of tasks that use the GPU; returns the axes.

        There is one column per interval of utilizations, with SRM in the upper and Container in
        the lower row. ``periods``: default "moderate", or the interval of a study without it.
        Returns the array of axes.
        """
        periods = self._periods() if periods is None else periods
        table = self.answer().where(periods=periods)
        if not len(table):
            raise ValueError(f"periods: got {periods!r}, expected those of a scenario of the study")
        axes = plot.panels(axes, (2, 3), (10.5, 6.0), sharex=True, sharey=True)
        for (row, column), ax in np.ndenumerate(axes):
            method, utilization = METHODS[row], list(UTILIZATIONS)[column]
            for index, gpu in enumerate(GPU_SHARES):
                rows = table.where(utilization=utilization, gpu=gpu)
                ax.plot(
                    (rows["share"] + 0.05) * 100,
                    rows[f"{method} break-even"],
                    color=plot.color(index),
                    marker=plot.MARKERS[index],
                    markersize=5,
                    label=f"{gpu:.0%} of a job on the GPU",
                )
            ax.set_yscale("log", base=2)
            ax.set_ylim(0.9, 36)
            ax.set_yticks([1, 2, 4, 8, 16, 32], ["1", "2", "4", "8", "16", "32"])
            ax.set_title(f"{method}, {utilization} tasks", fontsize=10)
            factors = table.where(utilization=utilization)[f"{method} break-even"]
            if len(factors) and np.isnan(factors).all():
                middle = {"ha": "center", "va": "center", "transform": ax.transAxes}
                ax.text(0.5, 0.5, "never", color=plot.MUTED, **middle)
            plot.grid(ax)
        for ax in axes[-1]:
            ax.set_xlabel("tasks that use the GPU (%)")
        for ax in axes[:, 0]:
            ax.set_ylabel("break-even speed-up")
        axes[0, 0].legend(frameon=False, fontsize=9)
        return axes

    def _periods(self) -> str:
        """The interval of periods to draw."""
        held = {SCENARIOS[k].periods for k in self.scenarios}
        return "moderate" if "moderate" in held else min(held)

    def _panel(self, ax: Axes, number: int, markers: bool) -> None:
        names = [*METHODS[:2], *self.curves[len(METHODS) :]]
        for index, name in enumerate(names):
            x, y, low, high = self.curve(number, name)
            style: dict[str, Any] = {"linewidth": 2.0 if index < 2 else 1.2}
            if not markers:
                style |= {"marker": "", "linewidth": 1.4 if index < 2 else 0.8}
            else:
                style["markersize"] = 3.5
            plot.band(ax, x, y * 100, low * 100, high * 100, name, index, **style)
        ax.set_xlim(0, self.settings["cpus"])
        ax.set_ylim(-4, 104)


def _parameters(of: Scenario) -> dict[str, Any]:
    return {
        "utilization": of.utilization,
        "periods": of.periods,
        "gpu": of.gpu,
        "share": of.share,
    }


def table_of(
    numbers: tuple[int, ...],
    counts: dict[str, Int64Array],
    speed_ups: tuple[int, ...],
    settings: dict[str, Any],
    without_gpu: bool,
) -> ElliottStudy:
    curves = (*METHODS, *(f"CPUs, c = {c}" for c in speed_ups))
    less = np.zeros_like(counts["without"]) if without_gpu else counts["without"]
    of = counts["sets"] - less
    s, c, b = np.nonzero(np.broadcast_to((of > 0)[:, None], counts["passed"].shape))
    sets = of[s, b]
    passed = counts["passed"][s, c, b] - less[s, b]
    edges = np.linspace(0, settings["cpus"], settings["bins"] + 1)
    columns: dict[str, Any] = {"scenario": np.array(numbers)[s]}
    for name in ("utilization", "periods", "gpu", "share"):
        columns[name] = np.array([getattr(SCENARIOS[k], name) for k in numbers])[s]
    low, high = _wilson(passed, sets)
    columns |= {
        "curve": np.array(curves)[c],
        "low": edges[b],
        "high": edges[b + 1],
        "sets": sets,
        "schedulable": passed / sets,
        "schedulable_low": low,
        "schedulable_high": high,
    }
    return ElliottStudy(
        columns,
        scenarios=numbers,
        **counts,
        curves=curves,
        settings=settings | {"without_gpu": without_gpu},
    )


def _wilson(passed: Int64Array, sets: Int64Array) -> tuple[FloatArray, FloatArray]:
    """``wilson`` for arrays of counts."""
    low, high = np.zeros(len(sets)), np.ones(len(sets))
    for size in np.unique(sets):
        at = sets == size
        low[at], high[at] = wilson(passed[at], int(size))
    return low, high


def _break_even(eighths: Int64Array, without: int, found: int) -> float:
    """Least speed-up with which the CPUs alone schedule fewer than ``found`` sets."""
    histogram = eighths.astype(float)
    histogram[-1] -= without
    above = np.append(np.cumsum(histogram[::-1])[::-1], 0.0)  # sets schedulable at k / 8
    below = np.flatnonzero(above[: len(eighths)] < found)
    if not below.size:
        return float("nan")
    k = int(below[0])
    if k == 0:
        return 0.0
    return float((k - 1 + (above[k - 1] - found) / (above[k - 1] - above[k])) / 8)


# The paper's observations -------------------------------------------------------------------------


def _observations(study: ElliottStudy) -> Results:
    """The paper's six observations: statements, whether they hold, and the numbers."""
    periods = {SCENARIOS[k].periods for k in study.scenarios}
    for name in ("moderate", *sorted(periods)):
        numbers = printed(name) if name in periods else []
        if numbers and set(numbers) <= set(study.scenarios):
            break
    else:
        raise ValueError("scenarios: expected the nine printed ones of one interval of periods")
    missing = {4, 8} - set(study.settings["speed_ups"])
    if missing:
        raise ValueError(f"speed_ups: expected 4 and 8 among them, got none of {sorted(missing)}")
    panel = dict(zip(LETTERS, numbers, strict=True))
    table = study.answer()
    share = {
        (letter, name): float(table.where(scenario=number)[name][0])
        for letter, number in panel.items()
        for name in study.curves
    }
    lines: list[tuple[int, str, bool, str]] = []

    def say(observation: int, statement: str, holds: bool, numbers: str) -> None:
        lines.append((observation, statement, bool(holds), numbers))

    def letters(chosen: Iterable[str]) -> str:
        return ", ".join(f"({letter})" for letter in chosen) or "none"

    def beats(name: str, c: int) -> list[str]:
        return [p for p in panel if share[p, name] > share[p, f"CPUs, c = {c}"]]

    eight = {name: beats(name, 8) for name in ("SRM", "Container", "SRM or Container")}
    four = beats("SRM or Container", 4)
    say(
        1,
        "SRM and Container both schedule more than the CPUs alone at c = 8, in all panels",
        len(eight["SRM"]) == len(eight["Container"]) == 9,
        f"SRM in {letters(eight['SRM'])}; Container in {letters(eight['Container'])}",
    )
    say(
        1,
        "SRM or Container schedules more than the CPUs alone at c = 8, in all panels",
        len(eight["SRM or Container"]) == 9,
        f"in {letters(eight['SRM or Container'])}",
    )
    say(
        1,
        "a speed-up of 4 suffices in (b), (c), (e), (f)",
        {"b", "c", "e", "f"} <= set(four),
        f"in {letters(four)}",
    )
    more = [p for p in panel if share[p, "Container"] > share[p, "SRM"]]
    say(
        2,
        "Container schedules more than SRM in (a), (b), (c), (e), (f)",
        {"a", "b", "c", "e", "f"} <= set(more),
        f"in {letters(more)}",
    )
    half = {p: _half(study, number, "SRM") for p, number in panel.items()}
    say(
        3,
        "SRM reaches further the heavier the tasks: in (a), (d), (g) half of the sets are "
        "schedulable up to a utilization of about 2, 3, 3.5 (to within 0.25)",
        half["a"] < half["d"] < half["g"]
        and all(abs(half[p] - u) <= 0.25 for p, u in (("a", 2.0), ("d", 3.0), ("g", 3.5))),
        ", ".join(f"({p}) {half[p]:.2f}" for p in "adg"),
    )
    reach = {p: _half(study, panel[p], "Container") for p in "abcdef"}
    srm = [half[p] for p in "abcdef"]
    spread = max(reach.values()) - min(reach.values())
    say(
        4,
        "Container hardly depends on tasks and GPU share: its half-way points in (a) to (f) "
        "differ by less than 0.5, a quarter of SRM's",
        spread < 0.5 and spread < (max(srm) - min(srm)) / 4,
        f"Container {min(reach.values()):.2f} to {max(reach.values()):.2f}, "
        f"SRM {min(srm):.2f} to {max(srm):.2f}",
    )
    heavy = [share[p, "Container"] for p in "ghi"]
    say(
        5,
        "Container schedules no set of heavy tasks that uses the GPU",
        max(heavy) == 0,
        ", ".join(f"({p}) {x:.3%}" for p, x in zip("ghi", heavy, strict=True)),
    )
    gap = share["d", "SRM"] - share["d", "Container"]
    ahead = [p for p in "abcdef" if share[p, "Container"] > share[p, "SRM"]]
    say(
        6,
        "with light and medium tasks Container is ahead in most panels, and within a tenth of "
        "the sets in (d)",
        len(ahead) >= 4 and gap < 0.1,
        f"ahead in {letters(ahead)}; in (d) SRM {share['d', 'SRM']:.1%}, "
        f"Container {share['d', 'Container']:.1%}",
    )
    names = ("observation", "statement", "holds", "numbers")
    return Results(
        {n: np.array(column) for n, column in zip(names, zip(*lines, strict=True), strict=True)}
    )


def _half(study: ElliottStudy, number: int, name: str) -> float:
    """Utilization up to which half of the sets are schedulable.

    Bins with fewer than 100 sets are ignored. The value is interpolated linearly between the middle
    of the last bin with a share of one half or more and the middle of the next bin.
    """
    rows = study.where(scenario=number, curve=name)
    rows = Results({key: column[rows["sets"] >= _FEW] for key, column in rows.columns.items()})
    x, y = (rows["low"] + rows["high"]) / 2, rows["schedulable"]
    enough = np.flatnonzero(y >= 0.5)
    if not enough.size:
        return 0.0
    k = int(enough[-1])
    if k + 1 == len(x):
        return float(x[k])
    return float(x[k] + (y[k] - 0.5) / (y[k] - y[k + 1]) * (x[k + 1] - x[k]))
