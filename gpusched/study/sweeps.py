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

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy.typing as npt

from gpusched._support.arguments import integer, one_of
from gpusched._support.progress import Progress
from gpusched._support.text import shown
from gpusched.study.accumulators import PerSet
from gpusched.study.execution import Execution
from gpusched.study.points import axes_of, points_of, seeds_of, spawn
from gpusched.study.reductions import Reduction
from gpusched.study.shardable import shardable
from gpusched.study.sweep_table import Sweep, columns_of, table_of
from gpusched.study.width import Width

if TYPE_CHECKING:
    from gpusched.study.stored_study import StoredStudy

__all__ = ["sweep"]

Chunk = Mapping[str, npt.NDArray[Any]]

_PASSED = ("count", "first", "seed", "stop")  # by the sweep to the function


@shardable
def sweep(
    function: Callable[..., Chunk],
    grid: Mapping[str, Sequence[Any]],
    *,
    count: int,
    seed: Any = None,
    seed_by: Iterable[str] | None = None,
    reduce: Mapping[str, Reduction | Sequence[Reduction]] | None = None,
    keep: bool = False,
    stop: Width | None = None,
    key: str | None = None,
    chunk: int | None = None,
    executor: Any = None,
    workers: int | None = None,
    progress: Progress = None,
    store: str | os.PathLike[str] | None = None,
    shard: tuple[int, int] | None = None,
) -> Sweep | StoredStudy:
    """Call ``function`` for ``count`` task sets at every point of a grid.

    >>> def bounded(*, utilization, count, first, seed):
    ...     tasks = gs.generate.fifo(5, utilization, count=count, first=first, seed=seed)
    ...     bound = gs.analysis.fifo_bound(tasks, threads=4096)
    ...     return {"bounded": bound.bounded.all(axis=1)}
    >>> table = gs.sweep(bounded, {"utilization": [0.2, 0.6]}, count=100, seed=1)
    >>> table["bounded"].tolist()
    [0.98, 0.57]

    Parameters
    ----------
    function
        Called as ``function(count=, first=, seed=, **point)``; returns a dict of arrays of length
        ``count``, one entry for each of the task sets ``first`` .. ``first + count - 1`` of
        ``seed``. That is the ``SeedSequence`` of the point, an equal one in each call. A set must
        not depend on its chunk: those of ``gs.generate`` with this ``first`` and ``seed`` do not,
        and a function that reads ``seed`` but not ``first`` gets a warning. Two generators with the
        same seed draw related numbers; give each its own of ``seed.spawn(2)``. A function with a
        parameter ``stop`` gets a byte that is set to 1 when the sweep ends early, to be passed on,
        for example to ``gs.pbs.search``; None where workers share no memory.
    grid
        The values of each parameter; the points are all combinations, the last parameter varying
        fastest.
    count
        Task sets per point; with ``stop``, at most.
    seed
        An int, a ``SeedSequence``, a ``Generator`` or None (fresh entropy). Each point gets a child
        of it that depends on the values of the point's parameters: 1, 1.0 and ``np.int64(1)`` are
        one value. Points that are added to the grid leave the sets of the others as they are.
    seed_by
        Names of the parameters on which a point's seed depends; default all. With the parameters
        of the generator alone, points that differ in the others (methods, say) have the same sets.
    reduce
        What is kept of a quantity, by its name: a reduction of ``gs.reductions`` or a list of them.
        Default ``Share`` for truth values and verdicts, otherwise ``Mean``. Memory and stores do
        not grow with ``count``.
    keep
        Keep the values of all task sets, too, as ``values`` of the table.
    stop
        ``gs.Width``: sample each point until its confidence intervals are that narrow.
    key
        Identity of the function for a store, in place of its code and all that the code reads; for
        functions that cannot be identified. Another key is another study: change it whenever the
        function computes other numbers.
    chunk
        Task sets per call; default such that a call takes about 0.1 s, by the time of earlier ones.
        A worker makes short calls of a given size one after the other, for a few milliseconds,
        before their results are collected.
    executor
        A ``concurrent.futures.Executor``, such as a pool of processes, loky's or mpi4py's, or a
        Dask ``Client``; it is not shut down. Default a pool of ``workers`` threads. For processes
        the function must be picklable; processes of a ``ProcessPoolExecutor`` should ignore Ctrl-C
        (``initializer=signal.signal, initargs=(signal.SIGINT, signal.SIG_IGN)``), since one that
        ends while it holds a lock leaves the pool waiting.
    workers
        Threads of the default pool; default the number of CPUs that this process may use.
    progress
        A callable (done, total) in task sets, called in this thread (total is None with ``stop``);
        or True or False to show or hide a progress bar, by default shown in a terminal or a
        notebook (requires tqdm).
    store
        An SQLite file for finished chunks. With the same function, an interrupted or killed sweep
        resumes from it and returns the same table; ``count`` and a grid of numbers and text may
        grow or shrink, ``stop``, workers and chunks may change. Other objects of the grid, lists
        too, belong to the study. The function is identified by its code, defaults,
        closure and object, and by the globals and functions of yours that the code reads, wherever
        they are; packages by their versions. Not by the contents of files that it opens. A chunk
        that took 0.1 s or more is on the disk when the next call is planned, others within 0.1 s:
        a kill loses no more, besides the calls that are running. Requires an int or a
        ``SeedSequence`` as ``seed``. ``gs.open_store`` shows what is in the file.
    shard
        (i, k): compute part i of k, i from 0, in a store of its own; returns the
        ``gs.StoredStudy``. ``gs.merge`` joins the stores of all parts.

    Returns
    -------
    Sweep
        One row per point of the grid.

    Raises
    ------
    SweepError
        The function raised, or did not return arrays of numbers of length ``count`` with the same
        names at all points; or a worker was lost. The error has the point. No part of the sweep
        keeps running.
    KeyboardInterrupt
        On Ctrl-C, after running chunks were told to stop and the others were cancelled.
    ValueError
        A parameter without values or with a value given twice, a count or chunk below 1, a store
        without a seed, a function that cannot be identified for a store (use ``key``).
    gpusched.StoreError
        A store of another function, seed or version, with the parts that differ; or one that is
        damaged or in use. It is not changed.
    """
    # The engine is imported with the first sweep, so that ``gs.sweep`` is there at once.
    from gpusched.study.engine import Work, compute
    from gpusched.study.identity.seed_use import warn_of_repeated_sets
    from gpusched.study.point_results import values_of

    number = integer(count, "count")
    if number < 1:
        raise ValueError(f"count: got {number}, expected at least 1")
    warn_of_repeated_sets(function, number)
    execution = Execution(executor, workers, progress, chunk, store, shard)
    axes = axes_of(grid, _PASSED)
    accumulator = PerSet(_reductions(reduce))
    if stop is not None and not isinstance(stop, Width):
        raise TypeError(f"stop: got {shown(stop)}, expected gs.Width or None")
    if stop is not None and keep:
        raise ValueError("keep: got True with stop, expected one of them (counts differ)")
    if seed_by is None:
        seeded = list(axes)
    else:
        seeded = [seed_by] if isinstance(seed_by, str) else sorted(set(seed_by))
        for name in seeded:
            one_of(name, axes, "seed_by")
    points = points_of(axes)
    root = spawn(seed)
    definition = notes = None
    if store is not None:
        from gpusched.study.notes import plain_value
        from gpusched.study.sweep_definition import definition_of

        by = None if seed_by is None else seeded
        definition = definition_of(function, axes, seed, root, by, accumulator, keep, key)
        notes = {
            "axes": {name: [plain_value(v) for v in values] for name, values in axes.items()},
            "count": number,
            "name": getattr(function, "__qualname__", type(function).__qualname__),
            "stop": None if stop is None else [stop.width, stop.quantity, stop.first],
        }
    work = Work(
        function,
        points,
        seeds_of(root, points, seeded),
        number,
        accumulator,
        keep=keep,
        definition=definition,
        notes=notes,
        stop=stop,
        columns=lambda state: columns_of(accumulator, state, [*axes, "count"]),
    )
    results = compute(work, execution)
    if store is not None and shard is not None:
        from gpusched.study.stored_study import open_store

        return open_store(store)
    values = values_of(results) if keep else {}
    states = [result.state or {} for result in results]
    counts = [result.count for result in results]
    return table_of(points, counts, states, accumulator, values)


def _reductions(given: Any) -> dict[str, list[Reduction]]:
    if given is None:
        return {}
    if not isinstance(given, Mapping):
        raise TypeError(f"reduce: got {shown(given)}, expected a dict of reductions")
    found = {}
    for name, chosen in given.items():
        listed = [chosen] if isinstance(chosen, Reduction) else chosen
        if not isinstance(listed, (list, tuple)) or not listed:
            listed = [None]
        if not all(isinstance(one, Reduction) for one in listed):
            raise TypeError(
                f"reduce[{name!r}]: got {shown(chosen)}, expected a reduction of gs.reductions or "
                "a list of them"
            )
        found[name] = list(listed)
    return found
