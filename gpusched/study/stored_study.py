"""Contents of a store, readable without the function of its study, and merging of stores."""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from gpusched._support.arguments import MAX_BYTES
from gpusched._support.text import clip, escape, shown
from gpusched.study.point_results import Chunk, PerSet, PointResults, State, Width, values_of
from gpusched.study.points import describe, joined_notes, shown_value, value_key
from gpusched.study.store import check_same, open_file
from gpusched.study.store_files import StoreError
from gpusched.study.sweep_definition import reductions_of
from gpusched.study.sweep_table import Sweep, columns_of, table_of


class StoredStudy:
    """Contents of a store, or of several stores joined by ``gs.merge``.

    >>> import tempfile
    >>> from pathlib import Path
    >>> def halves(*, x, count, first, seed):
    ...     return {"y": np.full(count, x / 2)}
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder, "a.db")
    ...     _ = gs.sweep(halves, {"x": [1, 2]}, count=4, seed=1, store=path, key="halves")
    ...     study = gs.open_store(path)
    ...     study.count, study.points
    (4, [{'x': 1}, {'x': 2}])

    Attributes
    ----------
    study
        ``"gs.sweep"``, or the name of an experiment.
    name
        Name of the function of a sweep.
    definition
        Everything that determines the results, by name, as JSON values.
    count
        The largest number of task sets per point that was requested.
    points
        The parameters of each point. Objects in the grid are replaced by dicts with their text.
    sets
        Number of finished task sets of each point.
    machines
        What the finished sets were computed on: dicts with the name, system and versions of a
        machine, its number of ``sets``, and ``first`` and ``last``, the times at which the first
        and the last of its chunks ended (UTC).
    missing
        Ranges that remain to be computed for ``count`` sets at each point: (point, first set,
        number of sets).
    """

    def __init__(
        self,
        definition: Mapping[str, Any],
        notes: Mapping[str, Any],
        points: Mapping[str, Any],
        chunks: Iterable[Chunk],
        accumulator: PerSet | None,
    ) -> None:
        self.definition = dict(definition)
        self.study = str(definition.get("study"))
        self.name = str(notes.get("name", self.study))
        self.count = int(notes.get("count", 0))
        self._notes = notes
        keys = _ordered(points, notes.get("axes", {}))
        self.points: list[dict[str, Any]] = [points[key] for key in keys]
        self._accumulator = accumulator or PerSet({})
        stop = notes.get("stop")
        self._results = {
            key: PointResults(
                self._accumulator,
                0,
                self.count,
                Width(*stop) if stop else None,
                lambda state: columns_of(self._accumulator, state),
            )
            for key in keys
        }
        self._joins = accumulator is not None
        made: dict[str, list[Chunk]] = {}
        for chunk in chunks:
            made.setdefault(chunk.machine, []).append(chunk._replace(state={}, arrays=None))
            state = chunk.state if self._joins else {}
            self._results[chunk.point].store(
                Chunk(chunk.point, chunk.first, chunk.size, state, chunk.arrays)
            )
        self.missing = [
            (point, first, end - first)
            for point, result in zip(self.points, self._results.values(), strict=True)
            for first, end in result.next_round()
        ]
        self.sets = [result.count for result in self._results.values()]
        self.machines = [
            _machine(notes.get(f"machine {digest}", {}), made[digest]) for digest in sorted(made)
        ]

    @property
    def complete(self) -> bool:
        """Whether nothing is missing."""
        return not self.missing

    def table(self) -> Sweep:
        """Return the table of a complete sweep, as ``gs.sweep`` returns it for the same grid.

        Objects in the grid are replaced by their text.

        Raises
        ------
        StoreError
            The sweep is incomplete; or the store belongs to an experiment, or to a sweep with
            user-defined reductions. To get these results from the store, call the function again
            with the same arguments and ``store=``.
        """
        if not self._joins:
            what = "an experiment" if self.study != "gs.sweep" else "reductions of your own"
            call = self.study if self.study != "gs.sweep" else "gs.sweep"
            raise StoreError(
                f"{self.study}: got a store of {what}, expected a sweep; call {call} with store="
            )
        if self.missing:
            raise StoreError(
                f"{self.name}: {self._missing_text()}; the call that made the store computes them"
            )
        if not self.points or not all(self.sets):
            raise StoreError(f"{self.name}: got no point or no task set, expected at least one")
        results = list(self._results.values())
        points = [
            {name: shown_value(value) for name, value in point.items()} for point in self.points
        ]
        states = [result.state or {} for result in results]
        with _judged(self.name):
            values = values_of(results) if self.definition.get("keep") else {}
            return table_of(points, self.sets, states, self._accumulator, values)

    def _missing_text(self) -> str:
        point, first, size = self.missing[0]
        more = f" and {len(self.missing) - 1} more ranges" if len(self.missing) > 1 else ""
        return f"missing at {describe(point)}: task sets {first} to {first + size - 1}{more}"

    def __repr__(self) -> str:
        state = "complete" if self.complete else self._missing_text()
        return (
            f"<StoredStudy of {self.name}: {len(self.points)} points, {sum(self.sets)} task sets, "
            f"{state}>"
        )

    def _repr_html_(self) -> str:
        rows = "".join(
            f"<tr><td>{escape(describe(point))}</td><td>{sets}</td></tr>"
            for point, sets in list(zip(self.points, self.sets, strict=True))[:_SHOWN]
        )
        rest = len(self.points) - _SHOWN
        note = f"<p>and {rest} more points</p>" if rest > 0 else ""
        return (
            f"<p>{escape(repr(self)[1:-1])}</p><table><tr><th>point</th><th>task sets</th></tr>"
            f"{rows}</table>{note}"
        )


def _machine(described: Mapping[str, str], chunks: Sequence[Chunk]) -> dict[str, Any]:
    ends = [
        datetime.fromtimestamp(at, UTC).isoformat(timespec="seconds")
        for at in (min(chunk.ended for chunk in chunks), max(chunk.ended for chunk in chunks))
    ]
    sets = sum(chunk.size for chunk in chunks)
    return {**described, "sets": sets, "first": ends[0], "last": ends[1]}


def _same(one: Chunk, other: Chunk) -> bool:
    """Whether two results for the same task sets are equal, bit for bit."""
    if json.dumps(one.state) != json.dumps(other.state):  # NaN is equal to itself
        return False
    kept, more = one.arrays or {}, other.arrays or {}
    return kept.keys() == more.keys() and all(
        kept[name].dtype == more[name].dtype and kept[name].tobytes() == more[name].tobytes()
        for name in kept
    )


_SHOWN = 40


def _ordered(points: Mapping[str, Any], axes: Mapping[str, Sequence[Any]]) -> list[str]:
    """Keys of the points in the order of the grid; those of an experiment by their values."""
    places = {
        name: {value_key(v): i for i, v in enumerate(values)} for name, values in axes.items()
    }

    def place(key: str) -> tuple[Any, ...]:
        point = points[key]
        known = [places[name].get(value_key(point.get(name)), 0) for name in places]
        return (*known, repr(point), key)

    return sorted(points, key=place)


def _accumulator(definition: Mapping[str, Any]) -> PerSet | None:
    """The accumulator of a sweep with the package's reductions; None for other studies."""
    if definition.get("study") != "gs.sweep":
        return None
    known = reductions_of(definition.get("reduce", {}))
    return None if known is None else PerSet(known)


def _anything(state: State, size: int) -> bool:
    """Any state holds of a study whose states are only shown by the function that made them."""
    return True


@contextlib.contextmanager
def _judged(path: str) -> Iterator[None]:
    """Refuse a store whose values are not those of a study."""
    try:
        yield
    except (TypeError, ValueError) as error:
        raise StoreError(f"{path}: got a damaged store: {clip(str(error), 200)}") from None


def open_store(path: str | os.PathLike[str], *, max_bytes: int = MAX_BYTES) -> StoredStudy:
    """Read a store without its function: the study, its points, finished and missing parts.

    Every checksum and value is verified. Neither the file nor a file beside it is modified, and the
    folder may be read-only: what a killed process left to be undone is undone in a private copy.

    Parameters
    ----------
    path
        Path of a store of ``gs.sweep`` or of an experiment.
    max_bytes
        Largest size of the file, and of what is unpacked from it. Default: 4 GiB.

    Raises
    ------
    gpusched.StoreError
        The file is not a store, has another format, is damaged, too large, or in use.
    OSError
        The file cannot be read.

    Examples
    --------
    >>> import os, tempfile
    >>> import gpusched as gs
    >>> import numpy as np
    >>> def test(*, load, count, first, seed):
    ...     return {"met": np.arange(first, first + count) % 10 >= 10 * load}
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = os.path.join(folder, "part")
    ...     part = gs.sweep(test, {"load": [0.1, 0.5]}, count=10, seed=1, store=path, shard=(0, 2))
    ...     gs.open_store(path).missing
    [({'load': 0.1}, 5, 5), ({'load': 0.5}, 5, 5)]
    """
    with open_file(path, None, max_bytes=max_bytes) as store, _judged(store.path):
        known = _accumulator(store.definition)
        chunks = store.chunks(_anything if known is None else known.holds)
        return StoredStudy(store.definition, store.notes, store.points, chunks, known)


def merge(
    stores: Iterable[str | os.PathLike[str]],
    output: str | os.PathLike[str] | None = None,
    *,
    max_bytes: int = MAX_BYTES,
) -> StoredStudy:
    """Join stores of one study, such as the shards of a sweep, in any order.

    >>> import tempfile
    >>> from pathlib import Path
    >>> def halves(*, x, count, first, seed):
    ...     return {"y": np.full(count, x / 2)}
    >>> def part(i):
    ...     return {"store": Path(folder, f"part{i}.db"), "shard": (i, 2), "key": "halves"}
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     for i in range(2):
    ...         _ = gs.sweep(halves, {"x": [1, 2]}, count=10, seed=1, **part(i))
    ...     whole = gs.merge([part(0)["store"], part(1)["store"]], Path(folder, "all.db"))
    ...     whole.table()["y"].tolist()
    [0.5, 1.0]

    Parameters
    ----------
    stores
        Paths of the stores. They may overlap; results that two of them have must be equal.
    output
        Path of a new store for the joined contents. If ``gs.sweep`` or the experiment is called
        with ``store=output``, it makes its result from it. None: no file is written.
    max_bytes
        As for ``gs.open_store``, of each of the stores.

    Returns
    -------
    StoredStudy
        ``missing`` lists what remains to be computed; ``table()`` is the table of a sweep.

    Raises
    ------
    ValueError
        There is no store.
    gpusched.StoreError
        The stores belong to different studies (the message lists the parts that differ), have
        different results for the same task sets (the function depends on more than its arguments),
        or are damaged or in use.
    OSError
        A file cannot be read, or ``output`` already exists.
    """
    if isinstance(stores, (str, bytes, os.PathLike)):
        raise TypeError(f"stores: got {shown(os.fspath(stores))}, expected a list of paths")
    paths = [os.fsdecode(path) for path in stores]
    if not paths:
        raise ValueError("stores: got no store, expected at least one")
    definition: Mapping[str, Any] = {}
    notes: dict[str, Any] = {}
    points: dict[str, Any] = {}
    chunks: dict[tuple[str, int, int], Chunk] = {}
    known: PerSet | None = None
    for index, path in enumerate(paths):
        with open_file(path, None, max_bytes=max_bytes) as store, _judged(path):
            if index == 0:
                definition, notes = store.definition, dict(store.notes)
                known = _accumulator(definition)
            check_same(store.definition, definition, path)
            notes = joined_notes(notes, store.notes)
            points.update(store.points)
            for chunk in store.chunks(_anything if known is None else known.holds):
                before = chunks.setdefault((chunk.point, chunk.first, chunk.size), chunk)
                if not _same(before, chunk):
                    where = f"{describe(store.points[chunk.point])}, from set {chunk.first}"
                    raise StoreError(
                        f"{path}: got other results than {paths[0]} or the stores after it at "
                        f"{where}: the function does not depend on its arguments alone"
                    )
    ordered = sorted(chunks.values(), key=lambda chunk: (chunk.point, chunk.first, -chunk.size))
    if output is not None:
        with open_file(output, definition, new=True) as target:
            try:
                target.write(points, notes, ordered)
            except BaseException:
                os.unlink(output)
                raise
    with _judged(" and ".join(paths[:3])):
        return StoredStudy(definition, notes, points, ordered, known)
