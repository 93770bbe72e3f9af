"""Figures 8 and 9 of [ECRTS24]: shares of schedulable sets with a GPU context per task or a lock.

Y. Wang, C. Liu, D. Wong, H. Kim: GCAPS: GPU Context-Aware Preemptive Priority-based Scheduling for
Real-Time Tasks, ECRTS 2024, with the parameters of the code published by its authors. Their
figures also include best-effort tasks, which these models do not have.
"""

from __future__ import annotations

import functools
import math
import os
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from gpusched._draw import axes as plot
from gpusched._support.arguments import integer, one_of, real, some_of, spawn
from gpusched._support.budget import Progress
from gpusched._support.results import Results
from gpusched._support.text import shown
from gpusched.study.engine import named_columns, run
from gpusched.study.execution import Execution
from gpusched.study.points import seeds_of
from gpusched.study.stored_study import StoredStudy
from gpusched.study.sweeps import shardable

if TYPE_CHECKING:
    from gpusched._draw.axes import AxesArray, AxesLike

SOUND, PRINTED, LEVELS, SIMULATED = "sound", "printed", "GPU priorities", "simulated"
_TITLES = {"gcaps": "GCAPS", "time_slices": "time slices", "mpcp": "MPCP", "fmlp_plus": "FMLP+"}
_MODES = ("suspend", "busy")


def _tests(form: str, tests: Iterable[str]) -> dict[str, tuple[str, str, str]]:
    end = "" if form == SOUND else f", {form}"
    return {f"{_TITLES[test]} {mode}{end}": (test, mode, form) for test in tests for mode in _MODES}


GCAPS_TESTS: Mapping[str, tuple[str, str, str]] = {
    **_tests(SOUND, _TITLES),
    **_tests(LEVELS, ["gcaps"]),
    **_tests(PRINTED, ["gcaps", "time_slices"]),
    **_tests(SIMULATED, _TITLES),
}
"""Curves of ``gcaps_fig8``: test, mode and form. "sound": the tests of ``gs.analysis``; "GPU
priorities": with GPU priorities found by ``gs.analysis.assign_priorities`` (Figure 9); "printed":
the equations of the paper, which are unsound; "simulated": no deadline is missed in a simulation in
which all tasks are released together; no sound test can exceed this share."""

GCAPS_PUBLISHED: Mapping[str, float] = {
    "MPCP suspend": 0.0,
    "MPCP busy": 0.0,
    "FMLP+ suspend": 0.06,
    "FMLP+ busy": 0.05,
    "GCAPS suspend": 0.05,
    "GCAPS busy": 0.08,
    "time slices suspend": 0.02,
    "time slices busy": 0.01,
}
"""Shares published by the authors with their code, for 100 sets of six tasks per core without
best-effort tasks, by their own tests; for GCAPS with GPU priorities if these help."""

_AXES: Mapping[str, tuple[str, str, Sequence[float]]] = {
    "tasks": ("tasks", "tasks per core", tuple(range(1, 9))),
    "gpu_ratio": ("gpu_ratio", "GPU time per CPU time (G / C)", tuple(i / 10 for i in range(11))),
    "utilization": ("utilization", "utilization of a core", tuple(i / 10 for i in range(1, 11))),
    "cpus": ("cpus", "cores", tuple(range(1, 10))),
    "gpu_share": ("gpu_share", "share of tasks that use the GPU", tuple(i / 10 for i in range(11))),
}
_HORIZON = 4  # longest periods that a simulation takes
_SETS = 64  # in a chunk, for a short time to an interrupt
_PANELS = {
    SOUND: "sound tests",
    PRINTED: "printed tests (unsound)",
    SIMULATED: "simulated, none late",
}


class GcapsSchedulability(Results):
    """Table of ``gcaps_fig8``.

    >>> tests = ["time slices suspend"]
    >>> table = gs.experiments.gcaps_fig8("tasks", [2], count=10, tests=tests, progress=False)
    >>> list(table.columns)[:4], len(table)
    (['parameter', 'value', 'test', 'count'], 1)
    """

    def plot(self, axes: AxesLike | None = None) -> AxesArray:
        """Draw one diagram for each form of the tests; returns the array of axes."""
        names = list(dict.fromkeys(self["test"].tolist()))
        panels = {
            title: [name for name in names if _panel(name) == form]
            for form, title in _PANELS.items()
        }
        panels = {title: panel for title, panel in panels.items() if panel}
        size = (4.2 * len(panels), 4.6)
        grid = plot.panels(axes, (1, len(panels)), size, sharex=True, sharey=True)
        parameter = str(self["parameter"][0])
        cells: list[Any] = list(grid.flat)
        for ax, (title, panel) in zip(cells, panels.items(), strict=True):
            for name in panel:
                test, mode, form = GCAPS_TESTS[name]
                rows = self.where(test=name)
                low, high = rows["schedulable_low"] * 100, rows["schedulable_high"] * 100
                line = "-" if mode == "suspend" else (0, (5, 2))
                own = {"markerfacecolor": "white"} if form == LEVELS else {}
                label = name.removesuffix(f", {form}") if form in _PANELS else name
                index = list(_TITLES).index(test)
                options = {"linestyle": line, "markersize": 4, **own}
                share = rows["schedulable"] * 100
                plot.band(ax, rows["value"], share, low, high, label, index, **options)
            ax.set_title(title, fontsize=11)
            ax.set_xlabel(_AXES[parameter][1])
            ax.set_ylim(-3, 103)
            below = {"loc": "upper center", "bbox_to_anchor": (0.5, -0.16), "ncols": 2}
            ax.legend(frameon=False, fontsize=8, handlelength=3, **below)
            plot.grid(ax)
        cells[0].set_ylabel("schedulable task sets (%)")
        return grid

    def to_text(self) -> str:
        """Return the shares as plain text, with a line per test and a column per point."""
        points = list(dict.fromkeys(self["value"].tolist()))
        label = _AXES[str(self["parameter"][0])][1]
        lines = [
            f"schedulable share of {int(self['count'][0])} sets a point",
            f"{label:<33}" + "".join(f"{point:>7g}" for point in points),
        ]
        for name in dict.fromkeys(self["test"].tolist()):
            rows = self.where(test=name)
            lines.append(f"{name:<33}" + "".join(f"{s:>7.3f}" for s in rows["schedulable"]))
        return "\n".join(lines) + "\n"


def _panel(name: str) -> str:
    form = GCAPS_TESTS[name][2]
    return SOUND if form == LEVELS else form


@shardable
def gcaps_fig8(
    vary: str = "utilization",
    values: Sequence[float] | None = None,
    count: int = 1000,
    seed: Any = 1,
    *,
    tests: str | Iterable[str] = tuple(GCAPS_TESTS),
    timeslice: int = 1000,
    context_switch: int = 200,
    update_cost: int = 1000,
    sets: Mapping[str, Any] | None = None,
    executor: Any = None,
    workers: int | None = None,
    progress: Progress = None,
    store: str | os.PathLike[str] | None = None,
    shard: tuple[int, int] | None = None,
) -> GcapsSchedulability | StoredStudy:
    """Compute Figures 8 and 9 of [ECRTS24]: shares of schedulable sets over one parameter.

    The task sets are those of ``gs.generate.gcaps``, the same for every test. Times are in
    microseconds.

    Parameters
    ----------
    vary
        The varied parameter: "tasks" (of a core), "gpu_ratio", "utilization" (of a core), "cpus" or
        "gpu_share"; the others keep the ranges of Table 3.
    values
        Distinct values of the parameter, each of which replaces its range. Default: those of the
        published code; for "tasks", 1 to 8 per core. The sets of a value do not depend on the
        other values.
    count, seed
        Number of task sets per point (1,000 in the paper), and seed; equal seeds give equal tables.
    tests
        Names in ``GCAPS_TESTS``.
    timeslice, context_switch
        Length of a time slice, and cost of a switch between contexts (1 ms and 0.2 ms in the
        published code).
    update_cost
        Cost of an update of GCAPS (1 ms).
    sets
        Further arguments of ``gs.generate.gcaps``.
    executor, workers, progress, store, shard
        As in ``gs.sweep``. Points and sets may be added to a store.

    Returns
    -------
    GcapsSchedulability or StoredStudy
        Rows with columns parameter, value, test, count, schedulable (share of the sets),
        schedulable_low and schedulable_high (95 % confidence); ``to_text()`` gives plain text.

    Raises
    ------
    ValueError
        A parameter or test is unknown; there are no values, a value occurs twice, is not finite,
        or, for "tasks" and "cpus", is not a whole number.
    gpusched.SweepError
        The generator or a test refuses a value, such as a utilization above 1.

    >>> found = gs.experiments.gcaps_fig8("tasks", [2, 4], count=50, tests=["time slices suspend"])
    >>> found["value"].tolist(), found["count"].tolist()
    ([2.0, 4.0], [50, 50])
    """
    one_of(vary, tuple(_AXES), "vary")
    names = list(some_of(tests, GCAPS_TESTS, "tests"))
    if not names:
        raise ValueError("tests: got no names, expected at least one")
    if sets is not None and not isinstance(sets, Mapping):
        raise TypeError(f"sets: got {shown(sets)}, expected a dict of arguments of gcaps")
    points = [{"value": value} for value in _values(vary, values)]
    root = spawn(seed)
    fixed: dict[str, Any] = {
        "vary": vary,
        "tests": names,
        "timeslice": integer(timeslice, "timeslice"),
        "context_switch": integer(context_switch, "context_switch"),
        "update_cost": integer(update_cost, "update_cost"),
        "sets": dict(sets or {}),
    }
    found = run(
        functools.partial(_schedulable, **fixed),
        points,
        seeds_of(root, points, ["value"]),
        count=count,
        execution=Execution(executor, workers, progress, None, store, shard),
        name="gs.experiments.gcaps_fig8",
        seed=seed,
        settings=fixed,
        keep=False,
        largest=_SETS,
    )
    if isinstance(found, StoredStudy):
        return found
    columns: dict[str, list[Any]] = {}
    for point, result in zip(points, found, strict=True):
        for name, held in named_columns(result.state, "schedulable").items():
            row = {"parameter": vary, "value": point["value"], "test": name, "count": result.count}
            for key, value in {**row, **held}.items():
                columns.setdefault(key, []).append(value)
    return GcapsSchedulability({name: np.array(column) for name, column in columns.items()})


def _values(vary: str, values: Any) -> list[float]:
    if values is None:
        return [float(value) for value in _AXES[vary][2]]
    if isinstance(values, str) or not isinstance(values, Iterable):
        raise TypeError(f"values: got {shown(values)}, expected a list of numbers")
    found = [real(value, f"values[{i}]") for i, value in enumerate(values)]
    for i, value in enumerate(found):
        if not math.isfinite(value):
            raise ValueError(f"values[{i}]: got {value}, expected a finite number")
        if vary in ("tasks", "cpus") and not value.is_integer():
            raise ValueError(f"values[{i}]: got {value}, expected a whole number")
        if value in found[:i]:
            raise ValueError(f"values[{i}]: got {value} twice, expected values that differ")
    if not found:
        raise ValueError("values: got no values, expected at least one")
    return found


def _schedulable(
    *,
    value: float,
    vary: str,
    tests: list[str],
    timeslice: int,
    context_switch: int,
    update_cost: int,
    sets: dict[str, Any],
    count: int,
    first: int,
    seed: np.random.SeedSequence,
    stop: bytearray | None = None,
) -> Mapping[str, npt.NDArray[Any]]:
    """Sets that each test accepts, or of which no simulated job is late."""
    from gpusched import analysis, generate, simulate
    from gpusched.analysis.placed_tests import run_test
    from gpusched.ways.way import as_way

    one: Any = int(value) if vary == "cpus" else (value, value)
    if vary == "tasks":
        one = (int(value), int(value))
    hosts = generate.gcaps(count, seed, first, **{**sets, vary: one})
    own: dict[str, dict[str, Any]] = {
        "gcaps": {"update_cost": update_cost},
        "time_slices": {"timeslice": timeslice, "context_switch": context_switch},
    }
    answers = {}
    for name in tests:
        test, mode, form = GCAPS_TESTS[name]
        way = as_way(test, mode=mode, **own.get(test, {}))
        if form == LEVELS:
            found = analysis.assign_priorities(hosts, way, of="gpu", stop=stop)
            answers[name] = found.verdict.accepted
        elif form == SIMULATED:
            cores = int(hosts.core.max(initial=0)) + 1
            until = _HORIZON * hosts.period.max(axis=-1)
            runs = simulate.host_responses(hosts, cores, way, until=until, sms=1, stop=stop)
            answers[name] = ~runs.late_count.any(axis=-1)
        else:
            if form == PRINTED:
                way = way.replace(variant="paper", fixed_point="one_pass")
            answers[name] = run_test(hosts, way, stop=stop).accepted
    return answers
