"""Computation of a study: its calls, on any executor, with a store and for one shard.

The size of a call follows the measured time of earlier calls; results do not depend on it.
`run` is for studies of the package, such as the figures of the papers, with given points and seeds.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pickle import PicklingError
from typing import TYPE_CHECKING, Any

import numpy as np

from gpusched._support.arguments import integer, spawn
from gpusched._support.budget import reporter
from gpusched.study.execution import Execution, SweepError, worker_count
from gpusched.study.identity.module_origins import package_version
from gpusched.study.point_results import (
    Accumulator,
    Chunk,
    PerSet,
    PointResults,
    State,
    StoredMisfit,
    Width,
)
from gpusched.study.points import Point, canonical, describe, joined_notes, key_of, plain_point
from gpusched.study.sweep_definition import Definition, Identity, experiment_identity, seed_words
from gpusched.study.workers import Call, Done, Failure, LostWorker, Workers, perform

if TYPE_CHECKING:
    from gpusched.study.store import Store
    from gpusched.study.stored_study import StoredStudy


_SECONDS = 0.1  # that a call should take
_SHORT = 0.001  # seconds that calls may take at the end, whatever is left
_FIRST = 16  # task sets of a call before anything was measured
_GROWTH = 8  # of a call over the one that was measured
_LARGEST = 1 << 16  # task sets of a call, which bounds its memory

Place = tuple[int, int, int]  # of a call: index of the point, first set, number of sets


@dataclass(frozen=True)
class Work:
    """A computation: one function at points, for the same number of sets at each.

    Attributes
    ----------
    function
        Called as ``function(count=, first=, seed=, **point)``, with ``stop=`` if it accepts it.
    points, seeds
        The points and the seed of each.
    count
        Number of task sets of each point; with ``stop``, the maximum.
    accumulator
        Makes states from results.
    keep
        Whether to keep the arrays of all sets.
    definition
        Everything that determines the results, for a store; None without one.
    notes
        Notes for the store.
    stop
        Criterion for ending the sampling of a point.
    columns
        Function that returns the columns of a state, on which the criterion is evaluated;
        ValueError for a state without a table, which ends the study at its first result.
    largest
        Maximum number of task sets of a call; None for the planner's own limit.
    identity
        Identity of a study with a store, which workers verify.
    spot_check
        Whether a set of each point is computed again in another chunk.
    """

    function: Callable[..., Any]
    points: Sequence[Point]
    seeds: Sequence[np.random.SeedSequence]
    count: int
    accumulator: Accumulator
    keep: bool = False
    definition: Definition | None = None
    notes: Mapping[str, Any] | None = None
    stop: Width | None = None
    columns: Callable[[State], Mapping[str, Any]] | None = None
    largest: int | None = None
    identity: Identity | None = None
    spot_check: bool = False


def compute(work: Work, execution: Execution) -> list[PointResults]:
    """Results of each point.

    Raises
    ------
    SweepError
        The function failed or returned invalid results, or a worker was lost.
    gpusched.StoreError
        The store belongs to another study or version, is damaged, or is in use.
    """
    results = [
        PointResults(work.accumulator, first, end, work.stop, work.columns)
        for first, end in _ranges(work, execution.shard)
    ]
    if execution.store is None:
        _run(work, execution, results, [], None)
        return results
    from gpusched.study.store import open_file
    from gpusched.study.store_files import StoreError

    keys = [key_of(point) for point in work.points]
    with open_file(execution.store, work.definition) as store:
        by_key = dict(zip(keys, results, strict=True))
        for chunk in store.chunks(work.accumulator.holds):
            if chunk.point in by_key:
                by_key[chunk.point].store(chunk)
        store.write(
            {key: plain_point(point) for key, point in zip(keys, work.points, strict=True)},
            joined_notes(store.notes, work.notes or {}),
        )
        try:
            _run(work, execution, results, keys, store)
        except StoredMisfit as error:
            raise StoreError(f"{store.path}: got chunks that do not fit: {error}") from None
    return results


def _ranges(work: Work, shard: tuple[int, int] | None) -> Iterator[tuple[int, int]]:
    """The range of task sets of each point: those of the shard, all without one."""
    part, of = shard or (0, 1)
    for index in range(len(work.points)):
        if work.stop is None:
            yield work.count * part // of, work.count * (part + 1) // of
        else:  # the decision to stop needs all sets of a point
            yield 0, work.count if index % of == part else 0


def _run(
    work: Work,
    execution: Execution,
    results: Sequence[PointResults],
    keys: Sequence[str],
    store: Store | None,
) -> None:
    takes_stop = _takes_stop(work.function)
    threads = worker_count(execution.workers)
    with Workers(execution.executor, threads, patient=takes_stop) as pool:
        planner = Planner(execution.chunk, work.largest, pool.width)
        options = {"stop": pool.flag} if takes_stop else {}
        for index in range(len(results)):
            _plan(work, planner, results, index)
        done = sum(result.count for result in results)
        unchecked = set(range(len(results))) if work.spot_check else set()
        total = None
        if work.stop is None:
            total = sum(result.end - result.first for result in results)

        def next_call() -> tuple[Place, Call] | None:
            place = planner.next()
            if place is None:
                return None
            index, first, size, each = place
            checked = index in unchecked
            unchecked.discard(index)
            return (index, first, size), Call(
                work.function,
                work.accumulator,
                work.points[index],
                options,
                work.seeds[index],
                first,
                size,
                each,
                work.keep,
                pool.flag,
                work.identity,
                work.count if checked else 0,
            )

        unseen = True
        wait = _never if store is None else store.due
        with reporter(execution.progress, total, "set", initial=done) as report:
            try:
                for (index, first, size), answer in pool.run(perform, next_call, wait):
                    result, computed, seconds = results[index], 0, 0.0
                    for part in answer.parts:
                        try:
                            if unseen and work.columns is not None:
                                work.columns(part.state)
                            unseen = False
                            result.add(part.first, part.size, part.state, part.arrays)
                        except ValueError as error:
                            raise _misfit(error, work.points[index]) from None
                        computed += part.size
                        seconds += part.seconds
                        if store is not None:
                            chunk = Chunk(keys[index], *part[:4], ended=part.ended)
                            store.add(chunk, part.seconds, answer.machine)
                    if answer.foreign is not None:
                        raise _foreign(work, answer, work.points[index])
                    if answer.failure is not None:
                        raise _failure(answer.failure, work.points[index])
                    planner.measured(index, computed, seconds)
                    if computed < size:
                        planner.put_back(index, first + computed, first + size)
                    if result.round_done:
                        _plan(work, planner, results, index)
                    done += computed
                    report(done)
            except LostWorker as lost:
                raise _loss(lost, work.points) from lost.error


def _takes_stop(function: Callable[..., Any]) -> bool:
    # Imported with the first sweep, so that ``import gpusched`` is fast.
    import inspect

    try:
        return "stop" in inspect.signature(function).parameters
    except ValueError:  # a function made in C
        return False


def _never() -> None:
    return None


def _plan(work: Work, planner: Planner, results: Sequence[PointResults], index: int) -> None:
    try:
        ranges = results[index].next_round()
    except StoredMisfit:
        raise
    except ValueError as error:
        raise _misfit(error, work.points[index]) from None
    for first, end in ranges:
        planner.add(index, first, end)


def _misfit(error: ValueError, point: Point) -> SweepError:
    """The error for results of a point that do not fit each other, or the stopping criterion."""
    return SweepError(f"at {describe(point)}: {error}", point)


def _failure(failure: Failure, point: Point) -> SweepError:
    where = _where(point, failure.first, failure.size)
    error = SweepError(f"{where}: {failure.message}", point)
    error.__cause__ = failure.error
    if failure.trace:
        error.add_note(f"In the worker:\n{failure.trace}")
    return error


def _foreign(work: Work, answer: Done, point: Point) -> SweepError:
    """The error for a worker that would compute another function."""
    from gpusched.study.identity.function_identity import difference

    assert work.identity is not None and answer.foreign is not None
    found = difference(work.identity.parts, answer.foreign)
    listed = "; ".join(found[:4]) + ("; and more" if len(found) > 4 else "")
    where = dict(answer.machine)["machine"]
    return SweepError(
        f"at {describe(point)}: a worker on {where} has another function: {listed}; start workers "
        "after the last change, with the same files and versions",
        point,
    )


def _where(point: Point, first: int, size: int) -> str:
    return f"at {describe(point)}, task sets {first} to {first + size - 1}"


def _loss(lost: LostWorker, points: Sequence[Point]) -> SweepError:
    """The error for a lost worker, with the calls that may have caused it."""
    running = [_where(points[index], first, size) for index, first, size in lost.keys[:3]]
    more = f", or in one of {len(lost.keys) - 3} more calls" if len(lost.keys) > 3 else ""
    what = "a worker was lost"
    if isinstance(lost.error, PicklingError):
        what = "the function cannot be sent to another process, expected one of a module"
    return SweepError(f"{' or '.join(running)}{more}: {what} ({lost})", points[lost.keys[0][0]])


class Planner:
    """Work that has not been given out, in order.

    Parameters
    ----------
    chunk
        Task sets of a call; None to choose it by measured times.
    largest
        Most task sets of a call when ``chunk`` is None, and of calls that come together.
    width
        Number of workers.
    """

    def __init__(self, chunk: int | None, largest: int | None, width: int) -> None:
        self._chunk = chunk
        self._largest = _LARGEST if largest is None else largest
        self._width = width
        self._todo: deque[tuple[int, int, int]] = deque()
        self._left = 0
        self._rates: dict[int, tuple[float, int]] = {}  # seconds per set, sets of that call
        self._rate: tuple[float, int] | None = None  # of the latest call of any point

    def add(self, point: int, first: int, end: int) -> None:
        """Add the task sets ``first`` .. ``end - 1`` of a point."""
        self._todo.append((point, first, end))
        self._left += end - first

    def put_back(self, point: int, first: int, end: int) -> None:
        """Add task sets that were given out and not computed, as the next."""
        self._todo.appendleft((point, first, end))
        self._left += end - first

    def measured(self, point: int, size: int, seconds: float) -> None:
        """Note the time of the calls for ``size`` task sets."""
        self._rate = self._rates[point] = (seconds / size, size)

    def next(self) -> tuple[int, int, int, int] | None:
        """The next calls as (point, first, size, task sets of each).

        None when everything has been given out. Short calls of a given size come several at a time,
        for about a millisecond.
        """
        if not self._todo:
            return None
        point, first, end = self._todo.popleft()
        each = self._chunk or min(end - first, self._size(point))
        size = each if self._chunk is None else min(end - first, each * self._calls(point, each))
        if first + size < end:
            self._todo.appendleft((point, first + size, end))
        self._left -= size
        return point, first, size, each

    def _calls(self, point: int, each: int) -> int:
        """Number of calls of a given size that follow each other in a worker.

        It may be too large for a point that was not measured, since a worker stops in time.
        """
        known = self._rates.get(point) or self._rate
        if known is None:
            return 1
        rate, measured = known
        most = min(_GROWTH * measured, self._largest, -(-self._left // (2 * self._width)))
        if rate * most > _SHORT:
            most = int(_SHORT / rate)
        return max(1, most // each)

    def _size(self, point: int) -> int:
        own = self._rates.get(point)
        known = own or self._rate
        if known is None:
            size = short = _FIRST
        else:
            rate, measured = known
            most = _GROWTH * measured if own else max(measured // _GROWTH, _FIRST)
            size = most if rate * most <= _SECONDS else int(_SECONDS / rate)
            short = size if rate * size <= _SHORT else int(_SHORT / rate)
        # Towards the end, calls are so short that the workers finish together.
        even = max(short, -(-self._left // (2 * self._width)))
        return max(1, min(size, even, self._largest))


def run(
    function: Callable[..., Any],
    points: Sequence[Point],
    seeds: Sequence[np.random.SeedSequence],
    *,
    count: int,
    execution: Execution,
    name: str,
    seed: Any,
    settings: Mapping[str, Any],
    accumulator: Accumulator | None = None,
    keep: bool = True,
    largest: int | None = None,
) -> list[PointResults] | StoredStudy:
    """Results of ``function`` at every point; with a shard, the store of the shard.

    Parameters
    ----------
    function, points, seeds, count, keep, largest
        As in ``Work``. Equal points have equal seeds, and are computed once.
    execution
        Parameters of the execution.
    name
        The public name of the study, such as ``"gs.experiments.stgm_fig4"``.
    seed
        The seed from which ``seeds`` were derived.
    settings
        Everything else that determines the results, under names that ``gs.sweep`` does not use in
        its stores.
    accumulator
        Default: ``PerSet({})``, the default reductions of arrays with one value for each set.
    """
    number = integer(count, "count")
    if number < 1:
        raise ValueError(f"count: got {number}, expected at least 1")
    if not points:
        raise ValueError(f"{name}: got no point, expected at least one")
    definition = None
    if execution.store is not None:
        definition = {
            "study": name,
            "gpusched": package_version().version,
            "seed": seed_words(seed, spawn(seed)),
            "keep": keep,
            **{setting: _plain(value, setting) for setting, value in settings.items()},
        }
    keys = [key_of(point) for point in points]
    places = {key: index for index, key in reversed(list(enumerate(keys)))}
    chosen = sorted(places.values())
    work = Work(
        function,
        [points[index] for index in chosen],
        [seeds[index] for index in chosen],
        number,
        accumulator or PerSet({}),
        keep=keep,
        definition=definition,
        identity=None if definition is None else experiment_identity(),
        notes={"count": number},
        largest=largest,
    )
    results = compute(work, execution)
    if execution.store is not None and execution.shard is not None:
        from gpusched.study.stored_study import open_store

        return open_store(execution.store)
    found = dict(zip(chosen, results, strict=True))
    return [found[places[key]] for key in keys]


def named_columns(state: State | None, name: str) -> dict[str, dict[str, Any]]:
    """Columns of each quantity of a state of ``PerSet({})``, called ``name``, ``name_low`` etc."""
    accumulator = PerSet({})
    return {
        quantity: accumulator.columns(name, states) for quantity, states in (state or {}).items()
    }


def _plain(value: Any, name: str) -> Any:
    """A setting as JSON holds it; what is more than lists of numbers and text becomes a text."""
    if isinstance(value, np.generic):
        value = value.item()
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    if isinstance(value, (list, tuple)):
        return [_plain(one, name) for one in value]
    return canonical(value, name)
