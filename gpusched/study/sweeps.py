"""Sweeps: one function, a grid of parameters, many task sets for each point of it.

The function gets chunks of task sets and answers with arrays, so a chunk is one call into C.
What comes out depends on the seed alone, never on how the work was divided::

    def schedulable(*, utilization, n, count, first, seed, stop=None):
        tasks = gs.generate.gpusched(n, utilization, count=count, seed=seed, first=first)
        table = gs.BatchTable.from_gpu(tasks, "pbs2024", "large", seed=seed, first=first)
        return {"pbs": gs.pbs.search(tasks, table, stop=stop).schedulable}

    gs.sweep(schedulable, {"utilization": [0.8, 1.0, 1.2], "n": [4, 6, 8]}, count=1000, seed=1)
"""

from __future__ import annotations

import contextlib
import itertools
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from gpusched._support.arguments import frozen, integer, one_of, seed_key
from gpusched._support.progress import Progress, reporter
from gpusched._support.results import Results, wilson
from gpusched._support.text import clip
from gpusched.study.workers import Workers, worker_count

if TYPE_CHECKING:
    from concurrent.futures import Executor, Future

    from gpusched.study.store import Store

__all__ = ["Sweep", "SweepError", "spawn", "sweep"]

Chunk = Mapping[str, npt.NDArray[Any]]

# How many chunks each worker gets: enough for an even load and a moving progress bar. And how
# many sets a chunk has at most, since what it is computed from is in memory at once.
_CHUNKS_PER_WORKER = 8
_LARGEST_CHUNK = 1024


class SweepError(RuntimeError):
    """The function failed at a point: ``point`` is its parameters, ``__cause__`` the error."""

    def __init__(self, message: str, point: Mapping[str, Any]) -> None:
        super().__init__(message, dict(point))
        self.point = dict(point)

    def __str__(self) -> str:
        return str(self.args[0])


@dataclass(frozen=True, eq=False, repr=False)
class Sweep(Results):
    """A tidy table with one row per point of the grid.

    ``columns`` has the grid's parameters, ``count`` (task sets per point), and for each quantity q
    that the function returned its mean in column q. Booleans and verdicts (int8: 1 yes, 0 no, -1
    undecided) have in ``q_low`` and ``q_high`` the 95 % confidence interval (Wilson), and verdicts
    in ``q_undecided`` the share of -1: q is the share of what was proved, and the interval reaches
    from no undecided set being a yes to all of them.

    ``values`` maps each quantity to what the function returned, an array of shape (points, count).
    ``to_frame()`` makes a pandas table, ``save_csv(path)`` a file, ``plot()`` a picture.
    """

    values: Mapping[str, npt.NDArray[Any]]

    def __post_init__(self) -> None:
        super().__post_init__()
        for array in self.values.values():
            frozen(array)
        object.__setattr__(self, "values", MappingProxyType(dict(self.values)))

    def __reduce__(self) -> Any:
        return (Sweep, (dict(self.columns), dict(self.values)))

    def plot(self, *quantities: str, x: str | None = None, ax: Any = None) -> Any:
        """Draws quantities over a parameter of the grid, and returns the axes.

        ``quantities``: what the function returned; unless given, what has a confidence interval,
        which is drawn as a band, or else everything. ``x``: the parameter; unless given, the one
        with the most values of those that are numbers. Every combination of the others has lines
        of its own. Raises ValueError for what there is not, and where no parameter is a number.
        """
        from gpusched._draw import axes as plot

        names = list(self.columns)
        parameters = names[: names.index("count")]
        numbers = [p for p in parameters if self[p].dtype.kind in "iuf"]
        if x is None and not numbers:
            raise ValueError("x: no parameter of the grid is a number")
        over = max(numbers, key=lambda p: len(np.unique(self[p]))) if x is None else x
        one_of(over, parameters, "x")
        for name in quantities:
            one_of(name, self.values, "quantities")
        chosen = quantities or [q for q in self.values if f"{q}_low" in names] or [*self.values]
        others = [p for p in parameters if p != over]
        lines: dict[str, list[int]] = {}
        for row in range(len(self)):
            label = ", ".join(f"{p} = {clip(str(self[p][row]), 30)}" for p in others)
            lines.setdefault(label, []).append(row)
        ax = plot.axes(ax)
        for index, (name, label) in enumerate(itertools.product(chosen, lines)):
            rows = np.array(lines[label])
            if self[over].dtype.kind in "iuf":
                rows = rows[np.argsort(self[over][rows], kind="stable")]
            y = self[name][rows]
            low, high = (self.columns.get(f"{name}_{end}", self[name]) for end in ("low", "high"))
            words = [name] * (len(chosen) > 1) + [label] * bool(label)
            plot.band(ax, self[over][rows], y, low[rows], high[rows], ": ".join(words), index)
        ax.set_xlabel(over)
        ax.set_ylabel(chosen[0] if len(chosen) == 1 else "mean")
        if len(chosen) * len(lines) > 1:
            ax.legend(frameon=False, fontsize=9)
        plot.grid(ax)
        return ax


def spawn(seed: Any, *key: int) -> np.random.SeedSequence:
    """The child ``key`` of a seed (an int, a SeedSequence, a Generator or None).

    Unlike ``SeedSequence.spawn`` it does not change the parent: the same key is the same child.
    """
    if not isinstance(seed, np.random.SeedSequence):
        if isinstance(seed, np.random.Generator):
            seed = np.random.SeedSequence(seed_key(seed).tolist())
        else:
            seed_key(seed)  # refuses what is no seed
            seed = np.random.SeedSequence(seed)
    return np.random.SeedSequence(
        entropy=seed.entropy, spawn_key=(*seed.spawn_key, *key), pool_size=seed.pool_size
    )


def sweep(
    function: Callable[..., Chunk],
    grid: Mapping[str, Sequence[Any]],
    *,
    count: int,
    seed: Any = None,
    chunk: int | None = None,
    executor: Executor | None = None,
    workers: int | None = None,
    progress: Progress = None,
    store: str | os.PathLike[str] | None = None,
) -> Sweep:
    """Calls ``function`` for ``count`` task sets at every point of a grid.

    Parameters
    ----------
    function
        Called as ``function(count=, first=, seed=, **point)``; returns a dict of arrays of length
        ``count``, one entry for each of the task sets ``first`` .. ``first + count - 1`` of
        ``seed``. A set must be the same whatever the chunk it comes in, as those of
        ``gs.generate`` are. A function with a parameter ``stop`` gets a byte that is set to 1 when
        the sweep is to end early, for the parameter of that name of ``gs.pbs.search``; it gets
        None where workers share no memory.
    grid
        The values of each parameter; the points are their combinations, the last one varying
        fastest.
    count
        Task sets per point.
    seed
        An int, a ``SeedSequence``, a ``Generator`` or None (fresh entropy). Point number i gets
        child i of it.
    chunk
        Task sets per call; chosen from the number of workers unless given.
    executor
        Any ``concurrent.futures.Executor``, not shut down afterwards; a pool of ``workers``
        threads unless given. For processes the function must be picklable.
    workers
        Threads of the default pool: the CPUs this process may use unless given.
    progress
        A callable (done, total) in task sets, called in this thread; or whether to show a progress
        bar, by default in a terminal (with tqdm; without it none is shown).
    store
        A file (SQLite) to keep what is done in: called again in the same way, a sweep that was
        interrupted or killed goes on from there, to the same table. ``count`` may grow, workers and
        chunks may change. The function is known by its name and its body, not by what it calls:
        where that has changed, take another file. Needs a ``seed`` that can be named again.

    Raises
    ------
    SweepError
        The function raised, or returned something else than equally long arrays with the same
        names everywhere; it carries the point. Nothing of the sweep goes on running.
    KeyboardInterrupt
        On Ctrl-C, after the running chunks were told to stop and the others were cancelled.
    ValueError
        A grid with a parameter without values, a count or chunk below 1, a store without a seed.
    gpusched.StoreError
        A store of another sweep or version, damaged or in use; it is left as it was.
    """
    count = integer(count, "count")
    if not isinstance(grid, Mapping):
        raise TypeError(f"grid: must be a dict of lists, got {type(grid).__name__}")
    names = list(grid)
    axes = {name: _choice(name, choice) for name, choice in grid.items()}
    for name, choice in axes.items():
        if not choice:
            raise ValueError(f"grid[{name!r}]: has no values")
    for name in ("count", "first", "seed", "stop"):
        if name in axes:
            raise ValueError(f"grid[{name!r}]: the sweep itself passes {name}")
    points = [dict(zip(names, p, strict=True)) for p in itertools.product(*axes.values())]
    root = spawn(seed)
    seeds = [spawn(root, index) for index in range(len(points))]
    opened: Any = contextlib.nullcontext()
    if store is not None:
        from gpusched.study.store import open_store
        from gpusched.study.sweep_definition import definition

        opened = open_store(store, definition(function, axes, seed, root))
    with opened as kept:
        values = run(
            function,
            points,
            seeds,
            count=count,
            chunk=chunk,
            executor=executor,
            workers=workers,
            progress=progress,
            kept=kept,
        )
    columns: dict[str, Any] = {name: _column([p[name] for p in points]) for name in names}
    columns["count"] = np.full(len(points), count)
    for name, array in values.items():
        if name in columns:
            raise ValueError(f"the function returns {name!r}, which is a column already")
        columns.update(summary(name, array))
    return Sweep(columns, values)


def summary(name: str, values: npt.NDArray[Any]) -> dict[str, npt.NDArray[Any]]:
    """The columns that sum up a quantity: ``values`` has shape (points, count). See ``Sweep``."""
    count = values.shape[1]
    if values.dtype not in (np.bool_, np.int8):
        return {name: values.mean(axis=1)}
    yes = (values == 1).sum(axis=1)
    unknown = (values == -1).sum(axis=1)
    columns = {
        name: yes / count,
        f"{name}_low": wilson(yes, count)[0],
        f"{name}_high": wilson(yes + unknown, count)[1],
    }
    if values.dtype == np.int8:
        columns[f"{name}_undecided"] = unknown / count
    return columns


def run(
    function: Callable[..., Chunk],
    points: Sequence[Mapping[str, Any]],
    seeds: Sequence[np.random.SeedSequence],
    *,
    count: int,
    chunk: int | None = None,
    largest: int = _LARGEST_CHUNK,
    executor: Executor | None = None,
    workers: int | None = None,
    progress: Progress = None,
    kept: Store | None = None,
) -> dict[str, npt.NDArray[Any]]:
    """What ``function`` returns at every point, as arrays of shape (points, count).

    Each point has its seed in ``seeds``; ``largest`` bounds the chunks that are chosen here; what
    is done is in ``kept``, and goes there. The rest is as in ``sweep``.
    """
    # Imported with the first sweep: gpusched itself should load quickly.
    import inspect

    for name, number in (("count", count), ("chunk", chunk)):
        if number is not None and integer(number, name) < 1:
            raise ValueError(f"{name}: got {number}, expected at least 1")
    threads = worker_count(workers)
    if chunk is None:
        chunk = -(-len(points) * count // (_CHUNKS_PER_WORKER * threads))
        chunk = min(chunk, largest)
    chunk = min(chunk, count)
    takes_stop = "stop" in inspect.signature(function).parameters
    parts: list[dict[int, Chunk]] = [{} for _ in points]
    for (index, first, _), arrays in {} if kept is None else kept.done.items():
        if index < len(points) and first < count:
            parts[index][first] = {name: array[: count - first] for name, array in arrays.items()}
    done = sum(size for part in parts for _, size in _pieces(part))
    with (
        Workers(executor, threads, patient=takes_stop) as pool,
        reporter(progress, len(points) * count, "set", initial=done) as report,
    ):
        options = {"stop": pool.flag} if takes_stop else {}
        calls = (
            (
                (index, first, size),
                {"count": size, "first": first, "seed": seeds[index], **options, **point},
            )
            for index, point in enumerate(points)
            for first, size in _missing(_pieces(parts[index]), count, chunk)
        )
        for (index, first, size), future in pool.run(function, calls):
            parts[index][first] = _checked(future, points[index], first, size)
            if kept is not None:
                kept.add((index, first, size), parts[index][first])
            done += size
            report(done)
    return _joined(points, parts)


def _pieces(part: Mapping[int, Chunk]) -> list[tuple[int, int]]:
    """(first set, number of sets) of each chunk of a point that is there, in order."""
    return [(first, len(next(iter(part[first].values()), ()))) for first in sorted(part)]


def _missing(
    pieces: Sequence[tuple[int, int]], count: int, chunk: int
) -> Iterator[tuple[int, int]]:
    """(first set, number of sets) of what is still to do for ``count`` sets."""
    at = 0
    for first, size in [*pieces, (count, 0)]:
        yield from ((k, min(chunk, first - k)) for k in range(at, first, chunk))
        at = first + size


def _choice(name: str, choice: Any) -> list[Any]:
    """The values of a parameter of the grid."""
    if isinstance(choice, (str, bytes)) or not isinstance(choice, Iterable):
        raise TypeError(f"grid[{name!r}]: got {choice!r:.60}, expected a list of values")
    return list(choice)


def _checked(future: Future[Chunk], point: Mapping[str, Any], first: int, size: int) -> Chunk:
    """A chunk's arrays, of the right length."""
    where = f"at {_describe(point)}, task sets {first} to {first + size - 1}"
    try:
        result = future.result()
    except Exception as error:
        raise SweepError(f"{where}: {type(error).__name__}: {error}", point) from error
    if not isinstance(result, Mapping):
        raise SweepError(f"{where}: returned {type(result).__name__}, not a dict of arrays", point)
    arrays = {name: np.asarray(values) for name, values in result.items()}
    for name, array in arrays.items():
        if array.shape != (size,):
            raise SweepError(f"{where}: {name!r} has shape {array.shape}, must be ({size},)", point)
    return arrays


def _joined(
    points: Sequence[Mapping[str, Any]], parts: list[dict[int, Chunk]]
) -> dict[str, npt.NDArray[Any]]:
    names = list(parts[0][0])
    for point, chunks in zip(points, parts, strict=True):
        for arrays in chunks.values():
            if set(arrays) != set(names):
                raise SweepError(
                    f"at {_describe(point)}: returned {sorted(arrays)}, elsewhere {sorted(names)}",
                    point,
                )
    return {
        name: np.stack([np.concatenate([c[k][name] for k in sorted(c)]) for c in parts])
        for name in names
    }


def _column(values: list[Any]) -> npt.NDArray[Any]:
    """The grid's values as a column; what is no number or text stays an object."""
    if all(isinstance(v, (bool, int, float, np.generic)) for v in values) or all(
        isinstance(v, str) for v in values
    ):
        return np.array(values)
    column = np.empty(len(values), dtype=object)
    column[:] = values
    return column


def _describe(point: Mapping[str, Any]) -> str:
    return ", ".join(f"{name}={value!r:.60}" for name, value in point.items()) or "the only point"
