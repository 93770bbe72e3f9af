"""Figures 3 to 5 of [RTCSA19]: kernel times by SMs, shares of schedulable sets.

S. K. Saha, Y. Xiang, H. Kim: STGM: Spatio-Temporal GPU Management for Real-Time Tasks, RTCSA 2019.
``stgm_choices`` has the effect of the choices that the paper leaves open, and the allocations that
Algorithm 1 misses.
"""

from __future__ import annotations

import functools
import os
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from gpusched._draw import axes as plot
from gpusched._support.arguments import integer, one_of, some_of, spawn
from gpusched._support.budget import Progress
from gpusched._support.results import Results
from gpusched._support.text import shown
from gpusched.study.engine import named_columns, run
from gpusched.study.execution import Execution
from gpusched.study.point_results import PerSet, PointResults
from gpusched.study.stored_study import StoredStudy
from gpusched.study.sweeps import shardable

if TYPE_CHECKING:
    from gpusched._draw.axes import AxesArray, AxesLike


STGM_TESTS: Mapping[str, tuple[str, str, str]] = {
    "STGM suspend": ("stgm", "suspend", "sound"),
    "STGM busy": ("stgm", "busy", "sound"),
    "MPCP suspend": ("mpcp", "suspend", "sound"),
    "MPCP busy": ("mpcp", "busy", "sound"),
    "MPCP spin": ("mpcp", "spin", "sound"),
    "FMLP+ suspend": ("fmlp_plus", "suspend", "sound"),
    "FMLP+ busy": ("fmlp_plus", "busy", "sound"),
    "GPU server": ("gpu_server", "suspend", "sound"),
    "STGM suspend, apart": ("stgm_apart", "suspend", "sound"),
    "STGM busy, apart": ("stgm_apart", "busy", "sound"),
    "STGM suspend, printed": ("stgm", "suspend", "paper"),
    "STGM busy, printed": ("stgm", "busy", "paper"),
    "STGM busy, printed with B_h": ("stgm", "busy", "paper, B_h"),
    "FMLP+ suspend, GCAPS code": ("fmlp_plus", "suspend", "gcaps"),
}
"""Curves of Figures 4 and 5: test, mode and variant. The last four are unsound: as printed, or as
in public code. "apart" is not in the paper: STGM with an allocator that prefers SMs for which few
tasks or none compete."""

CPUS = 4
SMS = 13
SETS = 256  # in a chunk, for a short time to an interrupt
_COLORS = {"STGM": 0, "MPCP": 1, "FMLP+": 2, "GPU": 3}
_APART = 5
_LINES = {"suspend": "-", "busy": (0, (5, 2)), "spin": (0, (1, 1.2)), "server": "-"}


STGM_READINGS: Mapping[str, Mapping[str, Any]] = {
    "one SM": {"baselines": "table", "sets": {"at": 1}},
    "lock on all SMs": {"baselines": "same", "sets": {"at": 1}},
    "13 SMs": {"baselines": "table", "sets": {"at": 13}},
    "SMs of the point": {"baselines": "table", "sets": {"at": None}},
}
"""Arguments of ``stgm_fig4`` and ``stgm_fig5`` for each reading of Table I of [RTCSA19].

The paper does not say for how many SMs a task's utilization and its ratios hold, nor on how many
SMs a kernel runs under a lock or a server. "one SM" (the default): both on one. "lock on all SMs":
Table I for one SM, locks and the server on all SMs of the point. "13 SMs": both on the whole GTX
970, of which STGM divides the point's number. "SMs of the point": both on the point's number."""


class StgmSchedulability(Results):
    """Table of ``stgm_fig4`` and ``stgm_fig5``.

    >>> table = gs.experiments.stgm_fig4([8], count=20, tests="STGM suspend", progress=False)
    >>> list(table.columns)[:5], len(table)
    (['n', 'cpus', 'sms', 'test', 'count'], 1)
    """

    def plot(self, axes: AxesLike | None = None) -> AxesArray:
        """Draw the sound tests on the left, and tests with their unsound variants on the right.

        Without unsound variants, there is one diagram. Returns the array of axes.
        """
        names = list(dict.fromkeys(self["test"].tolist()))
        wrong = [name for name in names if not _is_sound(name)]
        panels = [[name for name in names if _is_sound(name)]]
        if wrong:
            panels.append([name for name in panels[0] if _partners(name, wrong)] + wrong)
        panels = [panel for panel in panels if panel]
        if axes is None:
            axes = plot.pyplot().subplots(
                *(1, len(panels)),
                figsize=(5.0 * len(panels), 4.9),
                sharey=True,
                squeeze=False,
                layout="constrained",
            )[1][0]
        axes = np.atleast_1d(np.asarray(axes, dtype=object))
        if len(axes) != len(panels):
            raise ValueError(f"axes: got {len(axes)}, expected {len(panels)}")
        x = "sms" if len(set(self["sms"].tolist())) > 1 else "n"
        for ax, panel in zip(axes, panels, strict=True):
            for name in panel:
                rows = self.where(test=name)
                low, high = rows["schedulable_low"] * 100, rows["schedulable_high"] * 100
                options = {"linestyle": _line(name), **_unsound(name)}
                index = _APART if name.endswith("apart") else _COLORS[name.split()[0]]
                plot.band(ax, rows[x], rows["schedulable"] * 100, low, high, name, index, **options)
            ax.set_xlabel("SMs" if x == "sms" else "tasks in a set")
            ax.set_xticks(sorted(set(self[x].tolist())))
            ax.set_ylim(-3, 103)
            below = {"loc": "upper center", "bbox_to_anchor": (0.5, -0.16), "ncols": 2}
            ax.legend(frameon=False, fontsize=8, handlelength=3, **below)
            plot.grid(ax)
        axes[0].set_ylabel("schedulable task sets (%)")
        for ax, panel in zip(axes, panels, strict=True) if wrong else ():
            sound = [_is_sound(name) for name in panel]
            mixed = "sound (filled) and unsound forms (hollow)"
            title = "sound tests" if all(sound) else mixed if any(sound) else "unsound forms"
            ax.set_title(title, fontsize=11)
        return axes

    def observations(self) -> Results:
        """Check the paper's statements on Figure 4, or on Figure 5, on these numbers.

        Requires the tests "STGM suspend", "STGM busy", "MPCP suspend" and "GPU server", and at
        least two points. The table has the columns figure, statement, holds and numbers; the
        statements are those on Figure 5 if the points differ in their number of SMs.
        """
        return _observations(self)

    def to_text(self) -> str:
        """Return the shares as plain text, with a line per test and a column per point."""
        x = "sms" if len(set(self["sms"].tolist())) > 1 else "n"
        points = sorted(set(self[x].tolist()))
        label = "SMs" if x == "sms" else "tasks"
        lines = [
            f"schedulable share of {int(self['count'][0])} sets a point, "
            f"{int(self['cpus'][0])} cores",
            f"{label:<28}" + "".join(f"{point:>7}" for point in points),
        ]
        for name in dict.fromkeys(self["test"].tolist()):
            rows = self.where(test=name)
            lines.append(f"{name:<28}" + "".join(f"{s:>7.3f}" for s in rows["schedulable"]))
        return "\n".join(lines) + "\n"


def _is_sound(name: str) -> bool:
    return STGM_TESTS[name][2] == "sound"


def _partners(name: str, wrong: list[str]) -> bool:
    return any(STGM_TESTS[name][:2] == STGM_TESTS[other][:2] for other in wrong)


def _line(name: str) -> Any:
    return _LINES[name.split()[1].rstrip(",")]


def _unsound(name: str) -> dict[str, Any]:
    if _is_sound(name):
        return {"markersize": 4}
    marker = "D" if "B_h" in name else "o"
    return {"markerfacecolor": "white", "markersize": 5, "linewidth": 1, "marker": marker}


@shardable
def stgm_fig4(
    tasks: Sequence[int] | None = None,
    count: int = 10_000,
    seed: Any = 1,
    *,
    cpus: int = CPUS,
    sms: int = SMS,
    tests: str | Iterable[str] = tuple(STGM_TESTS),
    baselines: str = "table",
    server_overhead: int = 50,
    sets: Mapping[str, Any] | None = None,
    executor: Any = None,
    workers: int | None = None,
    progress: Progress = None,
    store: str | os.PathLike[str] | None = None,
    shard: tuple[int, int] | None = None,
) -> StgmSchedulability | StoredStudy:
    """Compute Figure 4 of [RTCSA19]: shares of schedulable task sets over the number of tasks.

    Task sets are drawn by Table I (``gs.generate.stgm``), the same for every test. For STGM, cores
    and SMs are chosen by ``gs.analysis.stgm_allocate``. For the other tests, cores, also that of
    the server, are chosen by the same worst-fit rule (``gs.analysis.partition``).

    >>> tests = ["STGM suspend", "MPCP suspend"]
    >>> table = gs.experiments.stgm_fig4([8], count=20, tests=tests, progress=False)
    >>> table["schedulable"].tolist()
    [1.0, 0.55]

    Parameters
    ----------
    tasks
        Numbers of tasks. Default: two to four per core (Table I).
    count, seed
        Number of task sets per point (10,000 in the paper), and seed; equal seeds give equal
        tables.
    cpus, sms
        Numbers of cores (Table I: 2 to 4; the figure does not say) and SMs of the GPU (13: GTX
        970).
    tests
        Names in ``STGM_TESTS``.
    baselines
        Kernel times of protocols that give the whole GPU to one task at a time. "table": the times
        of Table I, on ``at`` SMs (an argument in ``sets``; default 1), however many SMs STGM
        divides. Their curves then do not depend on the number of SMs. "same": the times on all
        ``sms`` SMs, as with a lock or a server on a real GPU. ``STGM_READINGS`` has the
        combinations of ``baselines`` and ``at`` that the text of the paper admits.
    server_overhead
        Overhead of the server, in ticks of 1 us (default 50, as measured by its authors).
    sets
        Further arguments of ``gs.generate.stgm``. ``at`` may exceed ``sms``: Table I then refers to
        more SMs than STGM may divide.
    executor, workers, progress, store, shard
        As in ``gs.sweep``. Points and sets may be added to a store.

    Returns
    -------
    StgmSchedulability or StoredStudy
        Rows with columns n, cpus, sms, test, count, schedulable (share of the sets),
        schedulable_low and schedulable_high (95 % confidence); ``to_text()`` gives plain text.
    """
    width = integer(sms, "sms")
    points = [{"n": n, "cpus": cpus, "sms": width} for n in _numbers(tasks, cpus)]
    found = shares(
        "gs.experiments.stgm_fig4",
        points,
        count,
        seed,
        tests,
        Execution(executor, workers, progress, None, store, shard),
        {"baselines": baselines, "server_overhead": server_overhead, "sets": arguments(sets)},
    )
    if isinstance(found, StoredStudy):
        return found
    return StgmSchedulability(table_of(points, found, [[row] for row in range(len(points))]))


@shardable
def stgm_fig5(
    sms: Sequence[int] = tuple(range(1, SMS + 1)),
    count: int = 10_000,
    seed: Any = 1,
    *,
    tasks: Sequence[int] | None = None,
    cpus: int = CPUS,
    tests: str | Iterable[str] = tuple(STGM_TESTS),
    baselines: str = "table",
    server_overhead: int = 50,
    sets: Mapping[str, Any] | None = None,
    executor: Any = None,
    workers: int | None = None,
    progress: Progress = None,
    store: str | os.PathLike[str] | None = None,
    shard: tuple[int, int] | None = None,
) -> StgmSchedulability | StoredStudy:
    """Compute Figure 5 of [RTCSA19]: shares of schedulable task sets over the number of SMs.

    Parameters and result are those of ``stgm_fig4``. A point has equally many sets of every number
    of tasks in ``tasks`` (default: two to four per core), at least ``count`` in total; the sets are
    the same for every point. According to the paper, the curves of the other protocols are almost
    constant; with ``baselines="same"`` they are not.

    >>> table = gs.experiments.stgm_fig5([2, 4], count=20, tests="STGM suspend", progress=False)
    >>> table["sms"].tolist()
    [2, 4]
    """
    numbers, widths = _numbers(tasks, cpus), points_of(sms, "sms")
    if integer(count, "count") < 1:
        raise ValueError(f"count: got {count}, expected at least 1")
    each = -(-count // len(numbers))
    points = [{"n": n, "cpus": cpus, "sms": k} for k in widths for n in numbers]
    found = shares(
        "gs.experiments.stgm_fig5",
        points,
        each,
        seed,
        tests,
        Execution(executor, workers, progress, None, store, shard),
        {"baselines": baselines, "server_overhead": server_overhead, "sets": arguments(sets)},
    )
    if isinstance(found, StoredStudy):
        return found
    groups = [
        list(range(i * len(numbers), (i + 1) * len(numbers)))
        for i in range(len(points) // len(numbers))
    ]
    return StgmSchedulability(table_of(points, found, groups))


def points_of(values: Any, name: str) -> list[int]:
    """Points of a diagram as integers; at least one."""
    if isinstance(values, str) or not isinstance(values, Iterable):
        raise TypeError(f"{name}: got {shown(values)}, expected a list of numbers")
    numbers = [integer(value, name) for value in values]
    if not numbers:
        raise ValueError(f"{name}: got no values, expected at least one")
    return numbers


def arguments(sets: Any) -> dict[str, Any]:
    """Further arguments of ``gs.generate.stgm``."""
    if sets is None:
        return {}
    if not isinstance(sets, Mapping):
        raise TypeError(f"sets: got {shown(sets)}, expected a dict of arguments of stgm")
    return dict(sets)


def _numbers(tasks: Any, cpus: int) -> list[int]:
    """Numbers of tasks; default two to four per core."""
    least = 2 * integer(cpus, "cpus")
    return points_of(range(least, 2 * least + 1) if tasks is None else tasks, "tasks")


def shares(
    study: str,
    points: Sequence[Mapping[str, Any]],
    count: int,
    seed: Any,
    tests: str | Iterable[str],
    execution: Execution,
    fixed: Mapping[str, Any],
) -> list[PointResults] | StoredStudy:
    """Shares of sets accepted by each test at every point; equal numbers of tasks, equal sets.

    Parameters
    ----------
    points
        Arguments of ``_schedulable``: ``n``, ``cpus``, ``sms`` and those of ``baselines``,
        ``server_overhead`` and ``sets`` that differ.
    fixed
        The arguments that are the same at all points.
    """
    names = list(some_of(tests, STGM_TESTS, "tests"))
    if not names:
        raise ValueError("tests: got no names, expected at least one")
    for one in (fixed, *points):
        one_of(one.get("baselines", "same"), ("same", "table"), "baselines")
    root = spawn(seed)
    return run(
        functools.partial(_schedulable, tests=names, **fixed),
        points,
        [spawn(root, point["n"]) for point in points],
        count=count,
        execution=execution,
        name=study,
        seed=seed,
        settings={"tests": names, **fixed},
        keep=False,
        largest=SETS,
    )


def _schedulable(
    *,
    n: int,
    cpus: int,
    sms: int,
    tests: list[str],
    baselines: str,
    server_overhead: int,
    sets: dict[str, Any],
    count: int,
    first: int,
    seed: np.random.SeedSequence,
    stop: bytearray | None = None,
) -> Mapping[str, npt.NDArray[Any]]:
    """Sets that each test accepts, with cores (and SMs) that it chooses."""
    from gpusched import analysis, generate
    from gpusched.ways.way import as_way

    at = sms if sets.get("at", 1) is None else integer(sets.get("at", 1), "at")
    sizes = {"cpus": cpus, "sms": max(sms, at), "at": at}
    hosts = generate.stgm(n, count, seed, first, **sets | sizes)
    whole = sms if baselines == "same" else at
    answers = {}
    for name in tests:
        test, mode, variant = STGM_TESTS[name]
        options: dict[str, Any] = {"mode": mode, "variant": variant, "stop": stop}
        if test in ("stgm", "stgm_apart"):
            options["apart"] = test == "stgm_apart"
            found = analysis.stgm_allocate(hosts, cpus, sms, **options)
        else:
            own: dict[str, Any] = {} if variant == "sound" else {"variant": variant}
            own |= {"server_overhead": server_overhead} if test == "gpu_server" else {"mode": mode}
            way = as_way(test, **own)
            found = analysis.partition(hosts, cpus, way, sms=whole, stop=stop)
        answers[name] = found.accepted
    return answers


def table_of(
    points: Sequence[Mapping[str, Any]],
    results: Sequence[PointResults],
    groups: Sequence[Sequence[int]],
) -> dict[str, npt.NDArray[Any]]:
    """One row per group of points and test; n is the mean of the group's points."""
    columns: dict[str, list[Any]] = {}
    accumulator = PerSet({})
    for rows in groups:
        state = functools.reduce(accumulator.join, (results[row].state or {} for row in rows))
        numbers = [points[row]["n"] for row in rows]
        for name, held in named_columns(state, "schedulable").items():
            line = {
                "n": numbers[0] if len(numbers) == 1 else float(np.mean(numbers)),
                "cpus": points[rows[0]]["cpus"],
                "sms": points[rows[0]]["sms"],
                "test": name,
                "count": sum(results[row].count for row in rows),
                **held,
            }
            for key, value in line.items():
                columns.setdefault(key, []).append(value)
    return {name: np.array(column) for name, column in columns.items()}


# The paper's statements on the figures ------------------------------------------------------------

_NEEDED = ("STGM suspend", "STGM busy", "MPCP suspend", "GPU server")
_LEVEL = 0.02
"""Largest range of a curve that counts as constant, as a share of the sets."""


def _observations(figure: Results) -> Results:
    """The paper's statements on a figure: which, whether they hold, and the numbers."""
    names = list(dict.fromkeys(figure["test"].tolist()))
    missing = [name for name in _NEEDED if name not in names]
    if missing:
        raise ValueError(f"tests: expected {', '.join(_NEEDED)}, got none of {', '.join(missing)}")
    x = "sms" if len(set(figure["sms"].tolist())) > 1 else "n"
    share, points = {}, []
    for name in names:
        rows = figure.where(test=name)
        order = np.argsort(rows[x], kind="stable")
        points = rows[x][order].tolist()
        share[name] = rows["schedulable"][order]
    if len(points) < 2:
        raise ValueError(f"points: got {len(points)}, expected at least 2")
    lines = _of_sms(share, points) if x == "sms" else _of_tasks(share, points)
    columns = zip(*lines, strict=True)
    names = ["statement", "holds", "numbers"]
    table = {name: np.array(column) for name, column in zip(names, columns, strict=True)}
    return Results({"figure": np.full(len(lines), 5 if x == "sms" else 4), **table})


def _others(share: Mapping[str, Any]) -> dict[str, Any]:
    """Curves of locks and the server."""
    return {name: values for name, values in share.items() if not name.startswith("STGM")}


def _of_tasks(share: Mapping[str, Any], points: list[Any]) -> list[tuple[str, bool, str]]:
    growing = [name for name, values in share.items() if (np.diff(values) > 0).any()]
    stgm, mpcp = share["STGM suspend"], share["MPCP suspend"]
    behind = [name for name, values in _others(share).items() if (values > stgm).any()]
    gap = stgm - mpcp
    at = int(gap.argmax())
    relative = np.divide(gap, mpcp, out=np.full(len(gap), np.inf), where=mpcp > 0)
    least, most = (f"{value:.0%}" for value in (relative.min(), relative.max()))
    pairs = [
        (name, name.replace("suspend", "busy"))
        for name in share
        if name in ("STGM suspend", "MPCP suspend", "FMLP+ suspend")
        and name.replace("suspend", "busy") in share
    ]
    worse = [name for name, busy in pairs if (share[name] < share[busy]).any()]
    lower = {name: float((share[name] - share[busy]).min()) for name, busy in pairs}
    return [
        (
            "with more tasks fewer sets are schedulable, under every test",
            not growing,
            f"not under {', '.join(growing)}" if growing else f"{len(share)} tests",
        ),
        (
            "STGM suspend schedules at least as many sets as every lock and the server",
            not behind,
            f"not as many as {', '.join(behind)}" if behind else f"{len(_others(share))} others",
        ),
        (
            "STGM suspend schedules at most 73 % of the sets more than MPCP (between 68 and 78)",
            bool(0.68 <= gap[at] <= 0.78),
            f"at most {gap[at]:.1%} of the sets, with {points[at]:g} tasks; relative to MPCP "
            f"{least} to {most}",
        ),
        (
            "suspending schedules at least as many sets as busy-waiting, under STGM and the locks",
            not worse,
            ", ".join(f"{name} at least {gain:+.1%}" for name, gain in lower.items()),
        ),
    ]


def _of_sms(share: Mapping[str, Any], points: list[Any]) -> list[tuple[str, bool, str]]:
    stgm, server = share["STGM suspend"], share["GPU server"]
    others = _others(share)
    best = np.max(list(others.values()), axis=0)
    ranges = {name: float(values.max() - values.min()) for name, values in others.items()}
    widest = max(ranges, key=lambda name: ranges[name])
    first = [point for point, gap in zip(points, stgm - best, strict=True) if gap > 0]
    return [
        (
            "with one SM STGM schedules fewer sets than the server",
            bool(points[0] == 1 and stgm[0] < server[0]),
            f"with {points[0]}: STGM {stgm[0]:.1%}, server {server[0]:.1%}",
        ),
        (
            "with more SMs STGM schedules clearly more sets than all others",
            bool(stgm[-1] - best[-1] > 0.1 and (np.diff(stgm) >= 0).all()),
            f"with {points[-1]}: STGM {stgm[-1]:.1%}, best of the others {best[-1]:.1%}; ahead "
            + (f"from {first[0]} on" if first else "nowhere"),
        ),
        (
            f"locks and server stay level (their curves range over less than {_LEVEL:.0%})",
            ranges[widest] < _LEVEL,
            f"{widest} ranges over {ranges[widest]:.1%}; server {server[0]:.1%} to "
            f"{server[-1]:.1%}",
        ),
    ]


class Profiles(Results):
    """Table of ``stgm_fig3``.

    >>> gs.experiments.stgm_fig3()
    <Profiles: 168 rows of gpu, benchmark, sms, time>
    """

    def plot(self, axes: AxesLike | None = None) -> AxesArray:
        """Draw one diagram per GPU and return the array of axes."""
        gpus = list(dict.fromkeys(self["gpu"].tolist()))
        size = (max(4.6, 4.4 * len(gpus)), 3.7)
        axes = plot.panels(axes, len(gpus), size, "GPUs", sharey=True)
        for ax, gpu in zip(axes, gpus, strict=True):
            rows = self.where(gpu=gpu)
            for index, name in enumerate(dict.fromkeys(rows["benchmark"].tolist())):
                one = rows.where(benchmark=name)
                style = {"marker": plot.MARKERS[index % len(plot.MARKERS)], "markersize": 4}
                ax.plot(one["sms"], one["time"], color=plot.color(index), label=name, **style)
            ax.set_title(gpu, fontsize=11, parse_math=False)
            ax.set_xlabel("SMs")
            ax.set_xticks(range(1, int(rows["sms"].max()) + 1))
            ax.set_ylim(0, 1.04)
            plot.grid(ax)
        axes[0].set_ylabel("kernel time / time on one SM")
        plot.legend(axes[-1], frameon=False, fontsize=9)
        return axes


def stgm_fig3(
    profiles: Mapping[str, Mapping[str, Any]] | None = None,
) -> Profiles:
    """Approximate Figure 3 of [RTCSA19]: kernel times over the number of SMs.

    The data of the figure are not available. The default profiles (``gs.profiles.benchmarks``) have
    shapes that follow the paper's text; measured profiles can be given instead.

    >>> table = gs.experiments.stgm_fig3().where(gpu="xavier", benchmark="backprop")
    >>> table["sms"].tolist()
    [1, 2, 3, 4, 5, 6, 7, 8]

    Parameters
    ----------
    profiles
        Maps names of GPUs to dicts of ``gs.profiles.Profile``. Default: GTX 970 and Xavier.

    Returns
    -------
    Profiles
        Rows with columns gpu, benchmark, sms and time (relative to one SM).
    """
    from gpusched.model import profiles as shapes

    if profiles is None:
        profiles = {name: shapes.benchmarks(name) for name in shapes.GPUS}
    _check(profiles)
    columns: dict[str, list[Any]] = {"gpu": [], "benchmark": [], "sms": [], "time": []}
    for gpu, named in profiles.items():
        for name, profile in named.items():
            for k, part in enumerate(profile.parts.tolist()):
                row = {"gpu": gpu, "benchmark": name, "sms": k + 1, "time": part / shapes.PARTS}
                for key, value in row.items():
                    columns[key].append(value)
    return Profiles({name: np.array(column) for name, column in columns.items()})


def _check(profiles: Any) -> None:
    from gpusched.model.profiles import Profile

    _check_dict(profiles, "profiles", "dicts of gs.profiles.Profile")
    for gpu, named in profiles.items():
        _check_dict(named, f"profiles[{gpu!r}]", "gs.profiles.Profile")
        for name, profile in named.items():
            if not isinstance(profile, Profile):
                where = f"profiles[{gpu!r}][{name!r}]"
                raise TypeError(f"{where}: got {shown(profile)}, expected a gs.profiles.Profile")


def _check_dict(value: Any, where: str, of: str) -> None:
    if not isinstance(value, Mapping):
        raise TypeError(f"{where}: got {shown(value)}, expected a dict of {of}")
    if not value:
        raise ValueError(f"{where}: got no entries, expected at least one")
