"""Effects of choices on the figures of [RTCSA19]: options that the paper leaves open, allocators.

``stgm_options`` varies the choices that the paper leaves open; ``stgm_allocators`` compares
Algorithm 1 with an exhaustive search of allocations.
"""

from __future__ import annotations

import functools
import os
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from gpusched._draw import axes as plot
from gpusched._support.arguments import integer, one_of, spawn
from gpusched._support.budget import Progress
from gpusched._support.results import Results
from gpusched._support.text import shown
from gpusched.experiments.stgm_figures import (
    CPUS,
    SETS,
    SMS,
    arguments,
    points_of,
    shares,
    table_of,
)
from gpusched.study.engine import named_columns, run
from gpusched.study.execution import Execution
from gpusched.study.stored_study import StoredStudy
from gpusched.study.sweeps import shardable

if TYPE_CHECKING:
    from matplotlib.axes import Axes

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
    _check_options(options)
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


def _check_options(options: Any) -> None:
    if not isinstance(options, Mapping):
        raise TypeError(f"options: got {shown(options)}, expected a dict of pairs")
    if not options:
        raise ValueError("options: got no entries, expected at least one")
    for label, choice in options.items():
        if not isinstance(choice, (tuple, list)) or len(choice) != 2:
            raise TypeError(
                f"options[{label!r}]: got {shown(choice)}, expected a pair of baselines and a dict"
            )


ALLOCATORS: Mapping[str, Mapping[str, Any] | None] = {
    "exhaustive": None,
    "apart, then Algorithm 1": {"apart": True},
    "Algorithm 1": {},
    "line 24 as printed": {"printed": ("line 24",)},
    "load as printed": {"printed": ("load",)},
    "line 16 as printed": {"printed": ("line 16",)},
    "line 26 as printed": {"printed": ("line 26",)},
}
"""Methods that choose cores and SMs: arguments of ``gs.analysis.stgm_allocate``; None: all
allocations are searched."""


_COLORS = (0, 1, 2, 3, 4, 5, 7)  # without yellow, which is faint for a dashed line
_HOLLOW: dict[str, Any] = {"markerfacecolor": "white", "markersize": 6, "linestyle": "none"}


class Allocators(Results):
    """Table of ``stgm_allocators``.

    >>> table = gs.experiments.stgm_allocators([4], count=10, progress=False)
    >>> list(table.columns)[:5], len(table)
    (['n', 'cpus', 'sms', 'mode', 'allocator'], 7)
    """

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw the share of sets with an allocation that passes the test; returns the axes.

        Hollow marks are sets that the algorithm as printed accepts, including sets that fail the
        test. Marks of one number of tasks are drawn side by side.
        """
        ax = plot.axes(ax, (8.6, 4.4))
        names = list(dict.fromkeys(self["allocator"].tolist()))
        unsafe = False
        for index, name in enumerate(names):
            rows = self.where(allocator=name)
            x = rows["n"] + (index - (len(names) - 1) / 2) * 0.6 / len(names)
            y, mark = rows["found"] * 100, plot.MARKERS[index % len(plot.MARKERS)]
            error = np.abs(np.stack([rows["found_low"], rows["found_high"]]) * 100 - y)
            style: dict[str, Any] = {
                "color": plot.color(_COLORS[index % len(_COLORS)]),
                "marker": mark,
            }
            line = "-" if "printed" not in name else (0, (3, 2))
            ax.errorbar(
                *(x, y, error), **style, label=name, linestyle=line, linewidth=0.8,
                elinewidth=1.2, markersize=5,
            )  # fmt: skip
            if rows["unsafe"].any():
                accepted, unsafe = rows["accepted"] * 100, True
                ax.plot(x, accepted, **style, **_HOLLOW)
        if unsafe:
            ax.plot([], [], color=plot.INK, marker="o", **_HOLLOW, label="accepted, unsafe or not")
        ax.set_xticks(sorted(set(self["n"].tolist())))
        ax.set_xlabel("tasks in a set")
        ax.set_ylabel("sets with a valid allocation (%)")
        ax.legend(frameon=False, fontsize=9, loc="upper left", bbox_to_anchor=(1, 1))
        plot.grid(ax, "y")
        return ax


@shardable
def stgm_allocators(
    tasks: Sequence[int] = (4, 5, 6, 7, 8, 9),
    count: int = 1000,
    seed: Any = 1,
    *,
    cpus: int = 2,
    sms: int = 3,
    mode: str = "suspend",
    allocators: Mapping[str, Mapping[str, Any] | None] = ALLOCATORS,
    states: int = 200_000,
    sets: Mapping[str, Any] | None = None,
    executor: Any = None,
    workers: int | None = None,
    progress: Progress = None,
    store: str | os.PathLike[str] | None = None,
    shard: tuple[int, int] | None = None,
) -> Allocators | StoredStudy:
    """Compute shares of sets for which a method finds cores and SMs that pass the STGM test.

    The systems are small ones drawn by Table I of [RTCSA19], for which all allocations can be
    tried.

    >>> table = gs.experiments.stgm_allocators([4], count=10, progress=False)
    >>> table["accepted"].tolist()
    [1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0]

    Parameters
    ----------
    tasks, count, seed, cpus, sms, sets, executor, workers, progress, store, shard
        As in ``stgm_fig4``.
    mode
        "suspend" or "busy".
    allocators
        Maps labels to arguments of ``gs.analysis.stgm_allocate``, or to None for
        ``gs.analysis.stgm_exhaustive``; omit the latter for systems that are too large for it.
    states
        Budget of the exhaustive search for each set.

    Returns
    -------
    Allocators or StoredStudy
        Rows with columns n, cpus, sms, mode, allocator, count, found (share of sets with an
        allocation that passes the test), found_low and found_high (95 % confidence; the upper limit
        assumes an allocation for all undecided sets), accepted (share accepted by the algorithm),
        unsafe (accepted, but fails the test), missed (share of sets for which this method finds no
        allocation, but the exhaustive search does, or, if that is undecided, another method; NaN
        without that search) and undecided (share, of the exhaustive search).
    """
    one_of(mode, ("suspend", "busy"), "mode")
    _check_allocators(allocators)
    points = [{"n": n} for n in points_of(tasks, "tasks")]
    root = spawn(seed)
    fixed: dict[str, Any] = {
        "cpus": cpus,
        "sms": sms,
        "mode": mode,
        "states": states,
        "sets": arguments(sets),
    }
    found = run(
        functools.partial(_allocated, allocators=dict(allocators), **fixed),
        points,
        [spawn(root, point["n"]) for point in points],
        count=count,
        execution=Execution(executor, workers, progress, None, store, shard),
        name="gs.experiments.stgm_allocators",
        seed=seed,
        settings={"allocators": list(allocators.items()), **fixed},
        keep=False,
        largest=SETS,
    )
    if isinstance(found, StoredStudy):
        return found
    searched = any(how is None for how in allocators.values())
    columns: dict[str, list[Any]] = {}
    for point, result in zip(points, found, strict=True):
        held = named_columns(result.state, "share")
        for name in allocators:
            line = {
                "n": point["n"],
                **{"cpus": cpus, "sms": sms, "mode": mode, "allocator": name, "count": count},
                "found": held[f"found {name}"]["share"],
                "found_low": held[f"found {name}"]["share_low"],
                "found_high": held[f"possible {name}"]["share_high"],
                "accepted": held[f"accepted {name}"]["share"],
                "unsafe": held[f"unsafe {name}"]["share"],
                "missed": held[f"missed {name}"]["share"] if searched else float("nan"),
                "undecided": held[f"undecided {name}"]["share"],
            }
            for key, value in line.items():
                columns.setdefault(key, []).append(value)
    return Allocators({name: np.array(column) for name, column in columns.items()})


def _allocated(
    *,
    n: int,
    cpus: int,
    sms: int,
    mode: Any,
    allocators: dict[str, Mapping[str, Any] | None],
    states: int,
    sets: dict[str, Any],
    count: int,
    first: int,
    seed: np.random.SeedSequence,
    stop: bytearray | None = None,
) -> Mapping[str, npt.NDArray[Any]]:
    """Truth values of each method, by the names of the columns.

    "found": accepted, and the allocation passes the test; "possible": found or undecided;
    "missed": not found, but by another method.
    """
    from gpusched import analysis, generate

    hosts = generate.stgm(n, count, seed, first, **{"cpus": cpus, "sms": sms} | sets)
    answers: dict[str, npt.NDArray[np.bool_]] = {}
    for name, how in allocators.items():
        if how is None:
            chosen = analysis.stgm_exhaustive(hosts, cpus, sms, mode=mode, states=states, stop=stop)
        else:
            chosen = analysis.stgm_allocate(hosts, cpus, sms, mode=mode, stop=stop, **how)
        undecided = chosen.spent & ~chosen.accepted
        accepted = chosen.accepted & ~chosen.spent
        placed = np.flatnonzero(accepted & (chosen.hosts.core >= 0).all(axis=1))
        passed = np.zeros(count, dtype=bool)
        if len(placed):
            some = chosen.hosts[placed]
            passed[placed] = analysis.stgm(some, cpus, sms, mode=mode, stop=stop).accepted
        answers[f"accepted {name}"] = accepted
        answers[f"undecided {name}"] = undecided
        answers[f"found {name}"] = passed
        answers[f"possible {name}"] = passed | undecided
        answers[f"unsafe {name}"] = accepted & ~passed
    exists = np.any([answers[f"found {name}"] for name in allocators], axis=0)
    for name in allocators:
        answers[f"missed {name}"] = exists & ~answers[f"found {name}"]
    return answers


def _check_allocators(allocators: Any) -> None:
    if not isinstance(allocators, Mapping):
        raise TypeError(f"allocators: got {shown(allocators)}, expected a dict of dicts")
    if not allocators:
        raise ValueError("allocators: got no entries, expected at least one")
    for label, how in allocators.items():
        if how is not None and not isinstance(how, Mapping):
            raise TypeError(
                f"allocators[{label!r}]: got {shown(how)}, expected a dict of arguments of "
                "stgm_allocate, or None"
            )
