"""Sweeps: evaluation of a function on many task sets for each point of a grid of parameters.

The function receives chunks of task sets and returns arrays, so that a chunk is one call into C.
The result depends only on the seed, not on chunks, workers or their order::

    def schedulable(*, utilization, n, count, first, seed, stop=None):
        tasks = gs.generate.gpusched(n, utilization, count=count, seed=seed, first=first)
        table = gs.BatchTable.from_gpu(tasks, "pbs2024", "large", seed=seed, first=first)
        return {"pbs": gs.pbs.search(tasks, table, stop=stop).schedulable}

    gs.sweep(schedulable, {"utilization": [0.8, 1.0, 1.2], "n": [4, 6, 8]}, count=1000, seed=1)
"""

from __future__ import annotations

import dis
import os
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from types import CodeType, FunctionType, MethodType, ModuleType
from typing import TYPE_CHECKING, Any, ParamSpec, Protocol, TypeVar, cast, overload

import numpy.typing as npt

from gpusched._support.arguments import integer, one_of, spawn
from gpusched._support.budget import Progress
from gpusched._support.text import shown
from gpusched.study.execution import Execution
from gpusched.study.point_results import PerSet, Width, values_of
from gpusched.study.points import axes_of, plain_value, points_of, seeds_of
from gpusched.study.reductions import Reduction
from gpusched.study.sweep_table import Sweep, columns_of, table_of

if TYPE_CHECKING:
    from gpusched.study.stored_study import StoredStudy


P = ParamSpec("P")
R = TypeVar("R", covariant=True)


class Shardable(Protocol[P, R]):
    """Type of a study's function: with ``shard=`` it returns the store of the shard."""

    @overload
    def __call__(self, *args: Any, shard: tuple[int, int], **options: Any) -> StoredStudy: ...
    @overload
    def __call__(self, *args: P.args, **options: P.kwargs) -> R: ...


def shardable(function: Callable[P, R | StoredStudy]) -> Shardable[P, R]:
    """Type a function so that it returns a ``StoredStudy`` with ``shard=`` only; unchanged."""
    return cast("Shardable[P, R]", function)


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
    depends: Iterable[str | os.PathLike[str] | ModuleType] = (),
    spot_check: bool = True,
    chunk: int | None = None,
    executor: Any = None,
    workers: int | None = None,
    progress: Progress = None,
    store: str | os.PathLike[str] | None = None,
    shard: tuple[int, int] | None = None,
) -> Sweep | StoredStudy:
    """Evaluate a function on ``count`` task sets at every point of a grid of parameters.

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
        Called as ``function(count=, first=, seed=, **point)``. It returns a dict of arrays of
        length ``count``, with one entry for each of the task sets ``first`` ..
        ``first + count - 1`` of ``seed``. ``seed`` is the ``SeedSequence`` of the point, equal in
        each call. A set must not depend on its chunk; sets of ``gs.generate`` with this ``first``
        and ``seed`` do not. A function that reads ``seed`` but not ``first`` causes a warning. Two
        generators with the same seed draw related numbers; give each its own child from
        ``seed.spawn(2)``. A function with a parameter ``stop`` receives a byte that is set to 1
        when the sweep ends early, to be passed on, for example to ``gs.pbs.search``; None if
        workers share no memory.
    grid
        The values of each parameter. The points are all combinations, with the last parameter
        varying fastest.
    count
        Number of task sets per point; with ``stop``, the maximum.
    seed
        An int, a ``SeedSequence``, a ``Generator`` or None (fresh entropy). The seed of each point
        is derived from it and from the values of the point's parameters, where 1, 1.0 and
        ``np.int64(1)`` are equal. Adding points to the grid does not change the sets of the others.
    seed_by
        Names of the parameters on which the seed of a point depends. Default: all. If only the
        parameters of the generator are given, points that differ in other parameters (such as
        methods) have the same sets.
    reduce
        Statistics to keep of a quantity, by its name: a reduction of ``gs.reductions`` or a list of
        reductions. Default: ``Share`` for booleans and verdicts, otherwise ``Mean``. Memory and
        stores do not grow with ``count``.
    keep
        Whether to keep the values of all task sets as well, as ``values`` of the table.
    stop
        A ``gs.Width``: sample each point until its confidence intervals are that narrow.
    key
        Identity of the function in a store, instead of its code and everything that the code reads;
        for functions that cannot be identified. Another key means another study: change it whenever
        the function computes different numbers.
    depends
        What the function depends on without showing it in its code, as part of the study in a
        store: paths of files and folders (by their contents), modules (by their variables and
        code), and variables of the environment, written ``"$NAME"``. Workers compare them, too.
    spot_check
        Whether one set of each point is computed a second time, in another chunk: the sweep fails
        if the results differ, as of a function that draws once per chunk. Floats may differ by
        1e-9 of their size.
    chunk
        Number of task sets per call. Default: such that a call takes about 0.1 s, estimated from
        earlier calls. If it is given and calls are short, a worker makes several of them, for a few
        milliseconds, before their results are collected.
    executor
        A ``concurrent.futures.Executor``, such as a pool of processes or those of loky and mpi4py,
        or a Dask ``Client``; it is not shut down. Default: a pool of ``workers`` threads. With
        processes, the function must be picklable. Processes of a ``ProcessPoolExecutor`` should
        ignore Ctrl-C (``initializer=signal.signal, initargs=(signal.SIGINT, signal.SIG_IGN)``),
        because a process that ends while it holds a lock leaves the pool waiting.
    workers
        Number of threads of the default pool. Default: the number of CPUs that this process may
        use.
    progress
        A callable (done, total), in task sets, called in this thread (total is None with ``stop``),
        or a bool that turns a progress bar on or off; by default a bar appears in a terminal or a
        notebook. Bars need tqdm.
    store
        Path of an SQLite file for finished chunks. An interrupted or killed sweep with the same
        function resumes from it and returns the same table. ``count`` and a grid of numbers and
        text may grow or shrink; ``stop``, workers and chunks may change. Other objects in the grid,
        including lists, are part of the study and must not change. The function is identified by
        its code, defaults, closure and object, by your globals and functions that the code reads,
        wherever they are defined, and by ``depends``; Python, NumPy and other packages by their
        versions, gpusched, unless it is installed, by its files. Workers in other processes must
        have the same function, or the sweep fails. See Notes for what is not noticed. A chunk that
        took 0.1 s or more is written before the next call is planned, others within 0.1 s; if the
        process is killed, only these and the running calls are lost. Requires an int or a
        ``SeedSequence`` as ``seed``. ``gs.open_store`` shows the contents of the file, with the
        machines, versions and times of the computation.
    shard
        A pair (i, k): compute part i of k, with i from 0, in a store of its own, and return the
        ``gs.StoredStudy``. ``gs.merge`` joins the stores of all parts.

    Returns
    -------
    Sweep
        A table with one row per point of the grid.

    Raises
    ------
    SweepError
        The function raised an exception, or did not return arrays of numbers of length ``count``
        with the same names at all points, or a worker was lost. The error has the point. No part
        of the sweep keeps running.
    KeyboardInterrupt
        On Ctrl-C, after running chunks were told to stop and the others were cancelled.
    ValueError
        A parameter has no values or a value twice, a count or chunk is below 1, a store is used
        without a seed, or a function cannot be identified for a store (use ``key``).
    gpusched.StoreError
        The store belongs to another function, seed or version (the message lists the parts that
        differ), or it is damaged or in use. It is not changed.

    Notes
    -----
    A store does not notice changes of the following; name what a function reads of them in
    ``depends``, or change ``key``:

    - files, folders, databases and sockets that the function reads, and variables of the
      environment;
    - the clock, the process's number, the machine's name and speed, the number of CPUs and threads,
      the state of the operating system and of hardware;
    - programs that it starts;
    - the state of libraries: ``random.seed``, ``np.random.seed``, ``np.seterr``,
      ``np.set_printoptions``, ``decimal.getcontext``, the locale, warning filters, the recursion
      limit, and objects of a library's classes that stand in its modules;
    - functions inside a library that another part of the library calls and that were replaced;
    - files of an installed package, of Python or of NumPy that were edited, and libraries in C that
      these load (BLAS);
    - values that ``functools.cache``, ``functools.cached_property`` or a generator already hold;
    - attributes that a class computes in ``__getattr__`` or ``__reduce__`` without saying so, and
      what a C extension of yours keeps;
    - names of functions, annotations, docstrings and line numbers, where a function reads them of
      itself;
    - a worker's state that changes after its first chunk, and the object identities, hashes of text
      and addresses that differ from process to process.
    """
    # The engine is imported with the first sweep, so that ``gs.sweep`` is there at once.
    from gpusched.study.engine import Work, compute

    number = integer(count, "count")
    if number < 1:
        raise ValueError(f"count: got {number}, expected at least 1")
    _warn_of_repeated_sets(function, number)
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
    definition = notes = identity = None
    if store is not None:
        from gpusched.study.sweep_definition import definition_of

        by = None if seed_by is None else seeded
        definition, identity = definition_of(
            function, axes, seed, root, by, accumulator, keep, key, depends
        )
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
        identity=identity,
        spot_check=spot_check,
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


_KINDS = ("FAST", "DEREF", "CLOSURE")  # of variables in the names of instructions


def _warn_of_repeated_sets(function: Callable[..., Any], count: int) -> None:
    """Warn of a Python function of several sets that reads its ``seed`` but not its ``first``.

    Each of its calls would draw the sets from the first one on.
    """
    plain = function.__func__ if isinstance(function, MethodType) else function
    if count == 1 or not isinstance(plain, FunctionType):
        return
    code = plain.__code__
    named = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
    read = set(_variables_read(code))
    if "first" in named and "seed" in read and "first" not in read:
        warnings.warn(
            f"{plain.__qualname__}: reads its seed but not `first`, so all of its calls may draw "
            "the same task sets; pass first= on, as to gs.generate",
            stacklevel=3,
        )


def _variables_read(code: CodeType) -> Iterator[str]:
    """Names of local variables that the code reads, with those that inner functions read."""
    for instruction in dis.get_instructions(code):
        name = instruction.opname  # also one that stores a variable and loads another
        if "LOAD_" in name and any(kind in name for kind in _KINDS):
            value = instruction.argval  # of several variables in one instruction: a tuple
            yield from value if isinstance(value, tuple) else (str(value),)
