"""Paper 004: how much faster must a GPU be than a CPU to pay for its analysis?

G. A. Elliott, J. H. Anderson: Globally Scheduled Real-Time Multiprocessor Systems with GPUs,
RTNS 2010. Its Figure 5 shows nine of 270 scenarios; here are all of them.
"""

from __future__ import annotations

import contextlib
import itertools
import os
import zlib
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass
from queue import SimpleQueue
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np

from gpusched import _core, plot
from gpusched._check import Int64Array, frozen, integer, one_of, seed_key
from gpusched._generate_elliott import PERIODS, UTILIZATIONS, scenario
from gpusched._progress import Progress, reporter
from gpusched._text import shown
from gpusched.results import Results, wilson
from gpusched.sweep import _cpus, _interrupts, spawn

if TYPE_CHECKING:
    from concurrent.futures import Future

    from gpusched._study_store import Store

__all__ = ["SCENARIOS", "ElliottStudy", "Scenario", "elliott_fig5"]

SPEED_UPS = (2, 4, 8, 16)
GPU_SHARES = (0.25, 0.5, 0.75)
METHODS = ("SRM", "Container", "SRM with FMLP", "SRM or Container")
_CHUNK = 100_000  # sets: the same however many workers there are, so that a store fits any of them
_MOST = 10**9  # sets of a scenario: their chunks are listed
_EIGHTHS, _FATES = 8 * 32 + 1, 5
_LETTERS = "abcdefghi"


class Scenario(NamedTuple):
    """What task sets are drawn from: one of the 270 combinations of the paper."""

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
"""All scenarios: 3 intervals of utilizations, 3 of periods, 3 shares of a job on the GPU (``gpu``),
and 10 intervals of the share of the tasks with GPU (``share`` to ``share`` + 0.1)."""


@dataclass(frozen=True, eq=False, repr=False)
class ElliottStudy(Results):
    """The table of ``elliott_fig5`` (see there) with the counts behind it.

    Attributes
    ----------
    scenarios
        The numbers of the scenarios, in order; S of them.
    sets
        Task sets by bin of the utilization, int64 ``(S, bins)``.
    without
        Those of them without GPU-using tasks, which all methods schedule.
    passed
        Of all of them, those that are schedulable: ``(S, curves, bins)``, in the order of
        ``curves``.
    eighths
        How many sets the CPUs alone schedule up to which speed-up: entry k counts those for which
        the largest one is from k / 8 to (k + 1) / 8, the last one those from 32 on; ``(S, 257)``.
    fates
        Draws that were taken, that had no task, one GPU-using task, (not used), too much for the
        GPU: ``(S, 5)``.
    tasks
        In all counted sets: ``(S,)``.
    curves
        The names of the methods and of the CPUs alone.
    settings
        The arguments.
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
        """From which speed-up on does a GPU schedule more than the CPUs alone?

        Of the sets with GPU-using tasks, one row per scenario with columns scenario, utilization,
        periods, gpu, share, sets, what share of the sets each curve schedules, and for SRM,
        Container and either of them ("SRM or Container")

        - "X from": the least of the speed-ups from which on X schedules more sets than the CPUs
          alone, NaN where it never does;
        - "X break-even": the speed-up at which they schedule equally many, from the histogram of
          all sets (in eighths, linear between them), NaN from 32 on.
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
        """The paper's six observations as statements about these numbers.

        Needs the nine printed scenarios (of one interval of periods, with a share of 30 to 40 %).
        Rows with columns observation, statement, holds and numbers. "More" compares all sets with
        GPU-using tasks of a scenario.
        """
        return _observations(self)

    def curve(self, number: int, name: str) -> tuple[Any, Any, Any, Any]:
        """Middle of the bins, share, low and high of one curve of a scenario, where there are
        sets."""
        rows = self.where(scenario=number, curve=name)
        middle = (rows["low"] + rows["high"]) / 2
        return middle, rows["schedulable"], rows["schedulable_low"], rows["schedulable_high"]

    def plot(self, axes: Any = None, *, periods: str | None = None, share: float = 0.3) -> Any:
        """Draws Figure 5: nine panels, task utilization down, GPU share across, and returns the
        array of axes.

        ``periods`` and ``share`` choose among the scenarios of a larger study.
        """
        periods = self._periods() if periods is None else periods
        chosen = [[_find(u, periods, g, share) for g in GPU_SHARES] for u in UTILIZATIONS]
        missing = [k for row in chosen for k in row if k not in self.scenarios]
        if len(missing) == 9:
            raise ValueError(f"no scenario with periods {periods!r} and a share of {share}")
        if axes is None:
            axes = plot.pyplot().subplots(
                3, 3, figsize=(11.0, 9.0), sharex=True, sharey=True, layout="constrained"
            )[1]
        axes = np.asarray(axes, dtype=object)
        if axes.shape != (3, 3):
            raise ValueError(f"axes: shape {axes.shape}, must be (3, 3)")
        for at, number in np.ndenumerate(np.array(chosen)):
            ax, of = axes[at], SCENARIOS[number]
            self._panel(ax, int(number), markers=True)
            letter = _LETTERS[3 * at[0] + at[1]]
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

    def plot_all(self) -> Any:
        """Draws every scenario small, in rows of one utilization, period interval and GPU share,
        the share of GPU-using tasks across, and returns the array of axes."""
        rows = list(dict.fromkeys(SCENARIOS[k][1:4] for k in self.scenarios))
        shares = sorted({SCENARIOS[k].share for k in self.scenarios})
        axes = plot.pyplot().subplots(
            len(rows),
            len(shares),
            figsize=(1.5 * len(shares) + 1.4, 1.05 * len(rows) + 0.8),
            sharex=True,
            sharey=True,
            squeeze=False,
            layout="constrained",
        )[1]
        for ax in axes.flat:
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

    def plot_answer(self, axes: Any = None, *, periods: str | None = None) -> Any:
        """Draws the break-even speed-ups over the share of GPU-using tasks: a column for each
        interval of utilizations, SRM above and Container below, and returns the array of axes.

        ``periods``: moderate unless given, or what a study without those has.
        """
        periods = self._periods() if periods is None else periods
        table = self.answer().where(periods=periods)
        if not len(table):
            raise ValueError(f"no scenario with periods {periods!r}")
        if axes is None:
            axes = plot.pyplot().subplots(
                2, 3, figsize=(10.5, 6.0), sharex=True, sharey=True, layout="constrained"
            )[1]
        axes = np.asarray(axes, dtype=object)
        if axes.shape != (2, 3):
            raise ValueError(f"axes: shape {axes.shape}, must be (2, 3)")
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
        """Those to show."""
        held = {SCENARIOS[k].periods for k in self.scenarios}
        return "moderate" if "moderate" in held else min(held)

    def _panel(self, ax: Any, number: int, markers: bool) -> None:
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


def elliott_fig5(
    scenarios: Literal["all"] | Iterable[int | Scenario] | None = None,
    count: int = 1_000_000,
    seed: Any = 1,
    *,
    periods: Literal["short", "moderate", "long"] = "moderate",
    cpus: int = 4,
    speed_ups: Sequence[int] = SPEED_UPS,
    bins: int = 40,
    variant: Literal["sound", "paper"] = "sound",
    rounding: Literal["nearest", "down", "up"] = "nearest",
    overhead: float = 0.05,
    without_gpu: bool = False,
    store: str | os.PathLike[str] | None = None,
    executor: Executor | None = None,
    workers: int | None = None,
    progress: Progress = None,
) -> ElliottStudy:
    """Paper 004, Figure 5: SRM, Container and CPUs alone on random task sets.

    Sets are those of ``gs.generate.elliott``; every method sees the same ones. Schedulable is a set
    with bounded tardiness for every task: by ``gs.analysis.srm`` with whichever lock does it, by
    ``gs.analysis.container``, or by ``gs.analysis.cpu_only`` for each speed-up. Verdicts are exact.
    The system utilization is that of the jobs' whole work, CPU and GPU: sum of (e + s) / p.

    Drawing and testing is one loop in C; about a fifth of a microsecond per set on average.

    Parameters
    ----------
    scenarios
        ``None``: the nine printed panels; ``"all"``: all 270; or numbers in ``SCENARIOS``. The
        paper does not say which ``periods`` its panels show.
    count
        Sets per scenario; a million in the paper.
    seed
        As in ``gs.sweep``; a scenario's sets do not depend on which others are asked for.
    cpus, overhead, rounding
        As in ``gs.generate.elliott``.
    speed_ups
        Whole numbers c: how much longer a CPU takes for a kernel; at most 16 of them.
    bins
        Of the utilization, from 0 to ``cpus``.
    variant
        Of ``gs.analysis.srm``.
    without_gpu
        Whether the table counts sets without GPU-using tasks, too. All methods schedule them, and
        observation 5 speaks of sets that have some.
    store
        A file (SQLite) to keep what is done in, from which an interrupted or killed study goes on
        with the same final numbers. It may also be extended: more scenarios, more sets.
    executor, workers, progress
        As in ``gs.sweep``; the bar shows the time left.

    Returns
    -------
    ElliottStudy
        Rows with columns scenario, utilization, periods, gpu, share, curve (SRM, Container, SRM
        with FMLP, SRM or Container, CPUs at c = 2, ...), low and high (of the bin), sets,
        schedulable (share), schedulable_low, schedulable_high (95 % confidence); bins without sets
        are missing. ``plot()`` draws the nine panels, ``plot_all()`` all of them, ``answer()`` and
        ``plot_answer()`` say from which speed-up on a GPU pays, ``observations()`` checks what the
        paper observes.

    Raises
    ------
    ValueError
        Numbers that are no scenarios, a count below 1 or above 10^9, speed-ups that are not whole
        and positive or given twice, no CPU; a store without a seed that can be named again.
    gpusched._study_store.StoreError
        A store of another study or version, damaged or in use; it is left as it was.
    KeyboardInterrupt
        On Ctrl-C, after what is done was stored.
    """
    numbers = _numbers(scenarios, periods)
    total = integer(count, "count")
    if total < 1:
        raise ValueError(f"count = {total}: must be at least 1")
    if total > _MOST:
        raise ValueError(f"count = {total}: must be at most {_MOST}")
    if workers is not None and integer(workers, "workers") < 1:
        raise ValueError(f"workers = {workers}: must be at least 1")
    one_of(variant, ("sound", "paper"), "variant")
    parts = integer(bins, "bins")
    if not 1 <= parts <= 10_000:
        raise ValueError(f"bins = {parts}: must be 1 to 10000")
    if not isinstance(speed_ups, Iterable):
        raise TypeError(f"speed_ups = {shown(speed_ups)}: must be a list of whole numbers")
    factors = tuple(integer(c, "speed_ups") for c in speed_ups)
    if len(set(factors)) != len(factors):
        raise ValueError(f"speed_ups = {factors}: one is given twice")
    if len(factors) > 16 or any(not 1 <= c <= 10**6 for c in factors):
        raise ValueError(f"speed_ups = {factors}: must be up to 16 whole numbers from 1 to 10^6")
    if store is not None and seed is None:
        raise ValueError("seed: a study that is to be resumed needs one")
    tests = (variant == "paper", np.array(factors, np.int64), parts)
    arguments = {
        k: scenario(
            SCENARIOS[k].utilization,
            SCENARIOS[k].periods,
            SCENARIOS[k].gpu,
            (SCENARIOS[k].share, SCENARIOS[k].share + 0.1),
            cpus,
            overhead,
            rounding,
            True,
        )
        for k in numbers
    }
    root = spawn(seed)
    settings = {
        "cpus": integer(cpus, "cpus"),
        "speed_ups": list(factors),
        "bins": parts,
        "variant": variant,
        "rounding": rounding,
        "overhead": float(overhead),
    }
    definition = {
        "study": "elliott_fig5",
        "numbers": _fingerprint(),
        "seed": [f"{word:016x}" for word in seed_key(root).tolist()],
        **settings,
    }
    shape = _Shape(parts, len(METHODS) + len(factors))
    opened: Any = contextlib.nullcontext()
    if store is not None:
        from gpusched._study_store import open_store

        opened = open_store(store, definition, shape.length)
    chunks = [
        (k, first, min(_CHUNK, total - first)) for k in numbers for first in range(0, total, _CHUNK)
    ]
    with opened as kept:
        found = _collect(chunks, arguments, root, tests, kept, executor, workers, progress)
    sums = np.zeros((len(numbers), shape.length), np.int64)
    row = {number: s for s, number in enumerate(numbers)}
    for chunk in chunks:
        sums[row[chunk[0]]] += found[chunk]
    return _study(numbers, shape.split(sums), factors, settings | {"count": total}, without_gpu)


# The work ----------------------------------------------------------------------------------------


class _Shape:
    """How a chunk's counts lie in one array."""

    def __init__(self, bins: int, curves: int) -> None:
        self.parts = {
            "sets": (bins,),
            "without": (bins,),
            "passed": (curves, bins),
            "eighths": (_EIGHTHS,),
            "fates": (_FATES,),
            "tasks": (),
        }
        self.length = sum(int(np.prod(shape)) for shape in self.parts.values())

    def split(self, counts: Int64Array) -> dict[str, Int64Array]:
        """The parts of rows of counts."""
        ends = np.cumsum([int(np.prod(shape)) for shape in self.parts.values()])[:-1]
        pieces = np.split(counts, ends, axis=-1)
        return {
            name: piece.reshape((*counts.shape[:-1], *shape)).copy()
            for (name, shape), piece in zip(self.parts.items(), pieces, strict=True)
        }


def _chunk(key: Any, arguments: Any, tests: Any, first: int, size: int, stop: Any) -> Int64Array:
    """What a chunk counts, as one array."""
    call: Any = (key, *arguments, first, size, *tests, stop)
    *arrays, tasks = _core.elliott_study(*call)
    return np.concatenate([*(array.ravel() for array in arrays), [tasks]])


def _fingerprint() -> int:
    """Of the numbers that this version computes: what a few sets of two scenarios count."""
    crc = 0
    for k in (93, 183):
        of = SCENARIOS[k]
        arguments = scenario(
            of.utilization, of.periods, of.gpu, (of.share, 1.0), 4, 0.05, "nearest", True
        )
        tests = (False, np.array([2, 4, 8, 16]), 40)
        counts = _chunk(np.arange(4, dtype=np.uint64), arguments, tests, 0, 64, None)
        crc = zlib.crc32(counts.astype("<i8").tobytes(), crc)
    return crc


def _collect(
    chunks: Sequence[tuple[int, int, int]],
    arguments: Mapping[int, Any],
    root: np.random.SeedSequence,
    tests: Any,
    store: Store | None,
    executor: Executor | None,
    workers: int | None,
    progress: Progress,
) -> dict[tuple[int, int, int], Int64Array]:
    """The counts of all chunks, those that the store does not hold computed."""
    from concurrent.futures import ThreadPoolExecutor

    found = {} if store is None else {c: store.done[c] for c in chunks if c in store.done}
    todo = iter([chunk for chunk in chunks if chunk not in found])
    done = sum(size for _, _, size in found)
    keys = {k: seed_key(spawn(root, k)) for k in arguments}
    number = workers or _cpus()
    own = executor is None
    pool = ThreadPoolExecutor(number) if executor is None else executor
    stop = bytearray(1)
    flag = stop if isinstance(pool, ThreadPoolExecutor) else None
    ready: SimpleQueue[Future[Int64Array] | None] = SimpleQueue()
    running: dict[Future[Int64Array], tuple[int, int, int]] = {}
    window = max(32, 4 * number)
    finished = False
    total = sum(size for _, _, size in chunks)
    try:
        with (
            reporter(progress, total, "set", initial=done) as report,
            _interrupts(ready) as interrupt,
        ):
            report(done)
            while True:
                for chunk in itertools.islice(todo, window - len(running)):
                    k, first, size = chunk
                    future = pool.submit(_chunk, keys[k], arguments[k], tests, first, size, flag)
                    running[future] = chunk
                    future.add_done_callback(ready.put)
                if not running:
                    break
                arrived = ready.get()
                if arrived is None:
                    interrupt()
                    continue
                chunk = running.pop(arrived)
                try:
                    counts = arrived.result()
                except ValueError as error:
                    title = SCENARIOS[chunk[0]].title
                    raise ValueError(f"scenario {chunk[0]} ({title}): {error}") from None
                found[chunk] = counts
                if store is not None:
                    store.add(chunk, counts)
                done += chunk[2]
                report(done)
        finished = True
    finally:
        if not finished:
            stop[0] = 1
            for future in running:
                future.cancel()
        if own:
            pool.shutdown(wait=True, cancel_futures=True)
    return found


# The table ---------------------------------------------------------------------------------------


def _find(utilization: str, periods: str, gpu: float, share: float) -> int:
    for of in SCENARIOS:
        if of[1:4] == (utilization, periods, gpu) and abs(of.share - share) < 0.01:
            return of.number
    raise ValueError(f"no scenario with periods {periods!r} and a share of {share}")


def _printed(periods: str) -> list[int]:
    """The nine panels, (a) to (i)."""
    return [_find(u, periods, g, 0.3) for u in UTILIZATIONS for g in GPU_SHARES]


def _numbers(scenarios: Any, periods: str) -> tuple[int, ...]:
    one_of(periods, PERIODS, "periods")
    if scenarios is None:
        return tuple(_printed(periods))
    if isinstance(scenarios, str):
        one_of(scenarios, ("all",), "scenarios")
        return tuple(range(len(SCENARIOS)))
    if isinstance(scenarios, Scenario) or not isinstance(scenarios, Iterable):
        raise TypeError(f"scenarios = {shown(scenarios)}: must be a list of numbers")
    numbers = tuple(
        integer(s.number if isinstance(s, Scenario) else s, "scenarios") for s in scenarios
    )
    if not numbers:
        raise ValueError("scenarios: none are given")
    for number in numbers:
        if not 0 <= number < len(SCENARIOS):
            raise ValueError(f"scenarios: {number} is not one of 0 .. {len(SCENARIOS) - 1}")
    if len(set(numbers)) != len(numbers):
        raise ValueError("scenarios: one is given twice")
    return numbers


def _parameters(of: Scenario) -> dict[str, Any]:
    return {
        "utilization": of.utilization,
        "periods": of.periods,
        "gpu": of.gpu,
        "share": of.share,
    }


def _study(
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


def _wilson(passed: Int64Array, sets: Int64Array) -> tuple[Any, Any]:
    """As ``wilson``, for many counts."""
    low, high = np.zeros(len(sets)), np.ones(len(sets))
    for size in np.unique(sets):
        at = sets == size
        low[at], high[at] = wilson(passed[at], int(size))
    return low, high


def _break_even(eighths: Int64Array, without: int, found: int) -> float:
    """The speed-up from which on the CPUs alone schedule less than ``found`` sets."""
    histogram = eighths.astype(float)
    histogram[-1] -= without
    above = np.append(np.cumsum(histogram[::-1])[::-1], 0.0)  # sets schedulable at k / 8
    below = np.flatnonzero(above[:_EIGHTHS] < found)
    if not below.size:
        return float("nan")
    k = int(below[0])
    if k == 0:
        return 0.0
    return float((k - 1 + (above[k - 1] - found) / (above[k - 1] - above[k])) / 8)


def _observations(study: ElliottStudy) -> Results:
    periods = {SCENARIOS[k].periods for k in study.scenarios}
    for name in ("moderate", *sorted(periods)):
        numbers = _printed(name) if name in periods else []
        if numbers and set(numbers) <= set(study.scenarios):
            break
    else:
        raise ValueError("observations: the study does not hold the nine printed scenarios")
    missing = {4, 8} - set(study.settings["speed_ups"])
    if missing:
        raise ValueError(f"observations: need the speed-ups 4 and 8, without {sorted(missing)}")
    panel = dict(zip(_LETTERS, numbers, strict=True))
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


_FEW = 100


def _half(study: ElliottStudy, number: int, name: str) -> float:
    """Up to which utilization half of the sets are schedulable: the last bin with at least 100 sets
    and a share of one half or more; between its middle and that of the next, on a line."""
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
