"""Sweeps: evaluation of a function on many task sets for each point of a grid of parameters.

The function gets chunks of task sets and returns arrays, so that a chunk is one call into C. The
result depends on the seed only, not on the chunks, the workers or their order::

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

# Chunks per worker, for an even load and regular progress; and the largest number of sets of a
# chunk, which limits its memory.
_CHUNKS_PER_WORKER = 8
_LARGEST_CHUNK = 1024


class SweepError(RuntimeError):
    """Failure of the function at a point; ``point`` has its parameters, ``__cause__`` the error."""

    def __init__(self, message: str, point: Mapping[str, Any]) -> None:
        super().__init__(message, dict(point))
        self.point = dict(point)

    def __str__(self) -> str:
        return str(self.args[0])


@dataclass(frozen=True, eq=False, repr=False)
class Sweep(Results):
    """Result of a sweep: a tidy table with one row per point of the grid.

    Attributes
    ----------
    columns
        The grid's parameters, ``count`` (task sets per point), and for each quantity q that the
        function returned its mean in column q. For booleans and verdicts (int8: 1 yes, 0 no, -1
        undecided), ``q_low`` and ``q_high`` are the 95 % confidence interval (Wilson); for
        verdicts, q is the share of 1, ``q_undecided`` the share of -1, and the interval covers the
        cases that none and that all of the undecided sets are 1.
    values
        The values of each quantity, arrays of shape (points, count).
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
        """Draw quantities over a parameter of the grid.

        Each combination of the other parameters has its own lines. Confidence intervals are drawn
        as bands.

        Parameters
        ----------
        quantities
            Names of quantities; default those with a confidence interval, or else all.
        x
            The parameter; default the numeric one with the most values.
        ax
            A Matplotlib axes; None for a new figure.

        Returns
        -------
        matplotlib.axes.Axes

        Raises
        ------
        ValueError
            An unknown quantity or parameter, or no numeric parameter.
        """
        from gpusched._draw import axes as plot

        names = list(self.columns)
        parameters = names[: names.index("count")]
        numbers = [p for p in parameters if self[p].dtype.kind in "iuf"]
        if x is None and not numbers:
            raise ValueError(
                "x: got None, expected a parameter (no parameter of the grid is numeric)"
            )
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

    Unlike ``SeedSequence.spawn``, it does not change the parent: equal keys give equal children.
    """
    if not isinstance(seed, np.random.SeedSequence):
        if isinstance(seed, np.random.Generator):
            seed = np.random.SeedSequence(seed_key(seed).tolist())
        else:
            seed_key(seed)  # raises for a value that is not a seed
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
    """Call ``function`` for ``count`` task sets at every point of a grid.

    Parameters
    ----------
    function
        Called as ``function(count=, first=, seed=, **point)``; returns a dict of arrays of length
        ``count``, one entry for each of the task sets ``first`` .. ``first + count - 1`` of
        ``seed``. A set must not depend on its chunk; those of ``gs.generate`` do not. A function
        with a parameter ``stop`` gets a byte that is set to 1 when the sweep ends early, to be
        passed on, for example to ``gs.pbs.search``; None where workers share no memory.
    grid
        The values of each parameter; the points are all combinations, the last parameter varying
        fastest.
    count
        Task sets per point.
    seed
        An int, a ``SeedSequence``, a ``Generator`` or None (fresh entropy). Point number i gets
        child i of it.
    chunk
        Task sets per call; default chosen by the number of workers.
    executor
        Any ``concurrent.futures.Executor``, which is not shut down; default a pool of ``workers``
        threads. For processes the function must be picklable.
    workers
        Threads of the default pool; default the number of CPUs that this process may use.
    progress
        A callable (done, total) in task sets, called in this thread; or True or False to show or
        hide a progress bar, by default shown in a terminal (requires tqdm).
    store
        An SQLite file for finished chunks. With the same arguments, an interrupted or killed sweep
        resumes from it and returns the same table. ``count`` may grow; workers and chunks may
        change. The function is identified by its name and body, not by functions that it calls:
        when these change, use another file. Requires an int or a ``SeedSequence`` as ``seed``.

    Returns
    -------
    Sweep
        One row per point of the grid.

    Raises
    ------
    SweepError
        The function raised, or did not return arrays of length ``count`` with the same names at
        all points. The error has the point. No part of the sweep keeps running.
    KeyboardInterrupt
        On Ctrl-C, after running chunks were told to stop and the others were cancelled.
    ValueError
        A parameter without values, a count or chunk below 1, a store without a seed.
    gpusched.StoreError
        A store of another sweep or version, damaged or in use; it is not changed.
    """
    count = integer(count, "count")
    if not isinstance(grid, Mapping):
        raise TypeError(f"grid: got {type(grid).__name__}, expected a dict of lists")
    names = list(grid)
    axes = {name: _choice(name, choice) for name, choice in grid.items()}
    for name, choice in axes.items():
        if not choice:
            raise ValueError(f"grid[{name!r}]: got no values, expected at least one")
    for name in ("count", "first", "seed", "stop"):
        if name in axes:
            raise ValueError(
                f"grid: got the parameter {name!r}, expected another name (the sweep passes it)"
            )
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
            raise ValueError(
                f"function: got a quantity {name!r}, expected another name than the columns'"
            )
        columns.update(summary(name, array))
    return Sweep(columns, values)


def summary(name: str, values: npt.NDArray[Any]) -> dict[str, npt.NDArray[Any]]:
    """Columns of ``Sweep`` for a quantity; ``values`` has shape (points, count)."""
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
    """Results of ``function`` at every point, as arrays of shape (points, count).

    ``seeds`` has one seed per point; ``largest`` limits the default size of chunks; ``kept`` is the
    store from which finished chunks are taken and to which new ones are added. The other
    parameters are those of ``sweep``.
    """
    # Imported with the first sweep, so that ``import gpusched`` is fast.
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
    """(first set, number of sets) of each finished chunk of a point, in order."""
    return [(first, len(next(iter(part[first].values()), ()))) for first in sorted(part)]


def _missing(
    pieces: Sequence[tuple[int, int]], count: int, chunk: int
) -> Iterator[tuple[int, int]]:
    """(first set, number of sets) of each chunk that is missing for ``count`` sets."""
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
    """The arrays of a chunk; ``SweepError`` for a failure or a wrong length."""
    where = f"at {_describe(point)}, task sets {first} to {first + size - 1}"
    try:
        result = future.result()
    except Exception as error:
        raise SweepError(f"{where}: {type(error).__name__}: {error}", point) from error
    if not isinstance(result, Mapping):
        raise SweepError(f"{where}: got {type(result).__name__}, expected a dict of arrays", point)
    arrays = {name: np.asarray(values) for name, values in result.items()}
    for name, array in arrays.items():
        if array.shape != (size,):
            raise SweepError(
                f"{where}: {name!r}: got shape {array.shape}, expected ({size},)", point
            )
    return arrays


def _joined(
    points: Sequence[Mapping[str, Any]], parts: list[dict[int, Chunk]]
) -> dict[str, npt.NDArray[Any]]:
    names = list(parts[0][0])
    for point, chunks in zip(points, parts, strict=True):
        for arrays in chunks.values():
            if set(arrays) != set(names):
                raise SweepError(
                    f"at {_describe(point)}: got {sorted(arrays)}, expected {sorted(names)}",
                    point,
                )
    return {
        name: np.stack([np.concatenate([c[k][name] for k in sorted(c)]) for c in parts])
        for name in names
    }


def _column(values: list[Any]) -> npt.NDArray[Any]:
    """The grid's values as a column, of dtype object unless all are numbers or all text."""
    if all(isinstance(v, (bool, int, float, np.generic)) for v in values) or all(
        isinstance(v, str) for v in values
    ):
        return np.array(values)
    column = np.empty(len(values), dtype=object)
    column[:] = values
    return column


def _describe(point: Mapping[str, Any]) -> str:
    return ", ".join(f"{name}={value!r:.60}" for name, value in point.items()) or "the only point"
