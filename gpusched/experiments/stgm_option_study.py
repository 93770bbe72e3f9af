"""Sensitivity of the figures of [RTCSA19] to the choices that the paper leaves open."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from gpusched._draw import axes as plot
from gpusched._support.arguments import integer
from gpusched._support.progress import Progress
from gpusched._support.results import Results
from gpusched._support.text import shown
from gpusched.experiments.stgm_figures import CPUS, SMS, arguments, shares, table_of
from gpusched.study.execution import Execution
from gpusched.study.shardable import shardable
from gpusched.study.stored_study import StoredStudy

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["OPTIONS", "Options", "stgm_options"]

OPTIONS: Mapping[str, tuple[str, Mapping[str, Any]]] = {
    "as drawn": ("table", {}),
    "lock or server: all SMs": ("same", {}),
    "C/G and U hold on all SMs": ("table", {"at": None}),
    "U counts the CPU alone": ("table", {"utilization_of": "cpu"}),
    "equal segments": ("table", {"split": "even"}),
    "copies cut at random": ("table", {"copies": "random"}),
    "priorities at random": ("table", {"priority": "index"}),
}
"""Open choices, one changed at a time: ``baselines``, and arguments of ``gs.generate.stgm``."""


class Options(Results):
    """Table of ``stgm_options``.

    >>> table = gs.experiments.stgm_options(n=8, count=10, tests="STGM suspend", progress=False)
    >>> list(table.columns)[:5], len(table)
    (['option', 'n', 'cpus', 'sms', 'test'], 7)
    """

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw a row per choice and a mark per test; returns the axes."""
        options = list(dict.fromkeys(self["option"].tolist()))
        names = list(dict.fromkeys(self["test"].tolist()))
        ax = plot.axes(ax, (7.6, 1.4 + len(options) * max(0.42, 0.07 * len(names))))
        for index, name in enumerate(names):
            rows = self.where(test=name)
            y = np.array([options.index(option) for option in rows["option"].tolist()])
            x = rows["schedulable"] * 100
            error = np.abs(np.stack([rows["schedulable_low"], rows["schedulable_high"]]) * 100 - x)
            shift = (index - (len(names) - 1) / 2) * (0.5 if len(names) < 8 else 0.75) / len(names)
            again = index >= len(plot.MARKERS)  # colours repeat: hollow marks
            ax.errorbar(
                x, y + shift, xerr=error, color=plot.color(index), label=name, linestyle="none",
                marker=plot.MARKERS[index % len(plot.MARKERS)], markersize=5, linewidth=1,
                markerfacecolor="white" if again else plot.color(index),
            )  # fmt: skip
        ax.set_yticks(range(len(options)), options)
        ax.set_ylim(len(options) - 0.4, -0.6)
        ax.set_xlim(-3, 103)
        ax.set_xlabel("schedulable task sets (%)")
        ax.legend(frameon=False, fontsize=8, loc="upper left", bbox_to_anchor=(1, 1))
        plot.grid(ax)
        return ax


@shardable
def stgm_options(
    n: int = 12,
    count: int = 2000,
    seed: Any = 1,
    *,
    cpus: int = CPUS,
    sms: int = SMS,
    tests: str | Iterable[str] = ("STGM suspend", "STGM busy", "MPCP suspend", "FMLP+ suspend",
                                  "GPU server"),
    options: Mapping[str, tuple[str, Mapping[str, Any]]] = OPTIONS,
    server_overhead: int = 50,
    executor: Any = None,
    workers: int | None = None,
    progress: Progress = None,
    store: str | os.PathLike[str] | None = None,
    shard: tuple[int, int] | None = None,
) -> Options | StoredStudy:  # fmt: skip
    """Compute shares of schedulable sets of [RTCSA19] with one open choice changed at a time.

    >>> table = gs.experiments.stgm_options(n=8, count=10, tests="STGM suspend", progress=False)
    >>> table["option"].tolist()[:2]
    ['as drawn', 'lock or server: all SMs']

    Parameters
    ----------
    n, count, seed, cpus, sms, tests, server_overhead, executor, workers, progress, store, shard
        As in ``stgm_fig4``; one number of tasks.
    options
        Maps labels to the argument ``baselines`` of ``stgm_fig4`` and to arguments of
        ``gs.generate.stgm``.

    Returns
    -------
    Options or StoredStudy
        Rows with columns option, n, cpus, sms, test, count, schedulable, schedulable_low,
        schedulable_high.
    """
    _check(options)
    points = [
        {
            **{"n": integer(n, "tasks"), "cpus": integer(cpus, "cpus"), "sms": integer(sms, "sms")},
            **{"baselines": baselines, "sets": arguments(sets)},
        }
        for baselines, sets in options.values()
    ]
    found = shares(
        "gs.experiments.stgm_options",
        points,
        count,
        seed,
        tests,
        Execution(executor, workers, progress, None, store, shard),
        {"server_overhead": server_overhead},
    )
    if isinstance(found, StoredStudy):
        return found
    table = table_of(points, found, [[row] for row in range(len(points))])
    labels = np.repeat(list(options), len(table["n"]) // len(points))
    return Options({"option": labels, **table})


def _check(options: Any) -> None:
    if not isinstance(options, Mapping):
        raise TypeError(f"options: got {shown(options)}, expected a dict of pairs")
    if not options:
        raise ValueError("options: got no entries, expected at least one")
    for label, choice in options.items():
        if not isinstance(choice, (tuple, list)) or len(choice) != 2:
            raise TypeError(
                f"options[{label!r}]: got {shown(choice)}, expected a pair of baselines and a dict"
            )
