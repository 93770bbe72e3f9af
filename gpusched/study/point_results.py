"""Results of calls as states, states as columns; results of a point, and when its sampling ends.

`PerSet` is for functions that return one value for each task set, `Totals` for functions that
return counts of their own, which are added. A `Chunk` has the results of a call.
"""

from __future__ import annotations

import bisect
import json
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from gpusched._support.arguments import integer, real
from gpusched._support.text import shown
from gpusched.study.reductions import Reduction, usual

KINDS = "biuf"  # of the types of arrays: truth values, integers and floats

State = dict[str, Any]
"""Summary of a number of task sets, of values that JSON holds."""

Arrays = Mapping[str, npt.NDArray[Any]]


class Chunk(NamedTuple):
    """Results of the task sets ``first`` .. ``first + size - 1`` of the point with the key.

    ``machine`` is the digest of the machine's description, ``ended`` the time at the end of the
    call in seconds since 1970; they are records alone.
    """

    point: str
    first: int
    size: int
    state: State
    arrays: Arrays | None
    machine: str = ""
    ended: float = 0.0


class Accumulator(Protocol):
    """States of the results of calls."""

    def arrays(self, result: Any, size: int) -> Arrays:
        """The arrays of a result for ``size`` task sets; ValueError for other results."""

    def state(self, arrays: Arrays) -> State:
        """The state of a result's arrays."""

    def joined(self, parts: Sequence[Arrays]) -> Arrays | None:
        """The arrays of several results joined; None if their states could differ."""

    def join(self, one: State, other: State) -> State:
        """The joined state of two sets of task sets; ValueError if they do not fit together."""

    def holds(self, state: State, size: int) -> bool:
        """Whether a state that was stored can be one of ``size`` task sets."""


class PerSet:
    """States of functions that return an array with one value for each task set.

    ``reduce`` has the reductions of some quantities; the others have their default reduction.
    """

    def __init__(self, reduce: Mapping[str, Sequence[Reduction]]) -> None:
        self.reduce = reduce
        self._kinds = {
            name: "".join(kind for kind in KINDS if all(kind in one.kinds for one in chosen))
            for name, chosen in reduce.items()
        }
        self._own = all(_is_own(one) for chosen in reduce.values() for one in chosen)

    def arrays(self, result: Any, size: int) -> Arrays:
        if type(result) is not dict and not isinstance(result, Mapping):
            raise ValueError(f"got {type(result).__name__}, expected a dict of arrays")
        arrays = {}
        for name, values in result.items():
            if not isinstance(name, str):
                raise ValueError(f"got the name {shown(name)}, expected a string")
            array = values
            if type(values) is not np.ndarray:
                if np.ma.is_masked(values):
                    raise ValueError(
                        f"{name!r}: got masked values, expected an array without (filled)"
                    )
                if hasattr(values, "accepted"):
                    kind = type(values).__name__
                    raise ValueError(f"{name!r}: got a {kind}, expected an array, as its accepted")
                array = np.asarray(values)
            if array.shape != (size,):
                raise ValueError(f"{name!r}: got shape {array.shape}, expected ({size},)")
            kinds, dtype = self._kinds.get(name, KINDS), array.dtype
            if dtype.kind not in kinds:
                raise ValueError(f"{name!r}: got dtype {dtype}, expected {_words(kinds)}")
            if dtype.kind == "f" and dtype.itemsize > 8:
                with np.errstate(over="ignore"):
                    array = array.astype(np.float64)
            arrays[name] = array
        for name in self.reduce:
            if name not in arrays:
                raise ValueError(f"got {shown(sorted(arrays))}, expected {name!r} (in reduce)")
        return arrays

    def state(self, arrays: Arrays) -> State:
        found = {}
        for name, values in arrays.items():
            chosen = self.reduce.get(name) or (usual(values),)
            try:
                found[name] = [[type(one).__name__, _state(one, values, arrays)] for one in chosen]
            except ValueError as error:
                raise ValueError(f"{name!r}: {error}") from None
        return found

    def joined(self, parts: Sequence[Arrays]) -> Arrays | None:
        names = list(parts[0])
        if not self._own or any(list(part) != names for part in parts):
            return None
        arrays = {}
        for name in names:
            held = [part[name] for part in parts]
            dtype = held[0].dtype
            if any([array.dtype != dtype for array in held]):
                return None
            arrays[name] = np.concatenate(held)
        return arrays

    def join(self, one: State, other: State) -> State:
        if one.keys() != other.keys():
            raise ValueError(f"got {sorted(other)}, expected {sorted(one)}")
        joined = {}
        for name, states in one.items():
            pairs = []
            for (kind, a), (other_kind, b), reduction in zip(
                states, other[name], self.reductions(name, states), strict=True
            ):
                if kind != other_kind:
                    raise ValueError(
                        f"{name!r}: got verdicts and other numbers, expected one of them"
                    )
                try:
                    pairs.append([kind, _asked(reduction, reduction.join, a, b)])
                except ValueError as error:
                    raise ValueError(f"{name!r}: {error}") from None
            joined[name] = pairs
        return joined

    def holds(self, state: State, size: int) -> bool:
        return state.keys() >= self.reduce.keys() and all(
            self._holds(name, states, size) for name, states in state.items()
        )

    def _holds(self, name: str, states: Any, size: int) -> bool:
        if not isinstance(states, list) or not all(
            isinstance(pair, list) and len(pair) == 2 and isinstance(pair[0], str)
            for pair in states
        ):
            return False
        kinds = [kind for kind, _ in states]
        if name not in self.reduce and (len(kinds) != 1 or kinds[0] not in _USUAL):
            return False
        chosen = self.reductions(name, states)
        return kinds == [type(one).__name__ for one in chosen] and all(
            _asked(one, one.holds, state, size)
            for one, (_, state) in zip(chosen, states, strict=True)
        )

    def reductions(self, name: str, states: Any) -> Sequence[Reduction]:
        """The reductions that made the states of a quantity."""
        return self.reduce.get(name) or _USUAL[states[0][0]]

    def columns(self, name: str, states: Any) -> dict[str, Any]:
        """Columns of a quantity with its states."""
        columns: dict[str, Any] = {}
        for reduction, (_, state) in zip(self.reductions(name, states), states, strict=True):
            for column, value in _asked(reduction, reduction.columns, name, state).items():
                if column in columns:
                    raise ValueError(f"reduce[{name!r}]: got two reductions with {column!r}")
                columns[column] = value
        return columns


def _is_own(reduction: Reduction) -> bool:
    """Whether a reduction is part of the package."""
    return type(reduction).__module__ == Reduction.__module__


def _asked(reduction: Reduction, method: Callable[..., Any], *arguments: Any) -> Any:
    """Answer of a method of a reduction; errors in user code become ValueError."""
    if _is_own(reduction):
        return method(*arguments)
    try:
        return method(*arguments)
    except ValueError:
        raise
    except Exception as error:
        where = f"{type(reduction).__name__}.{method.__name__}"
        raise ValueError(f"{where}: {type(error).__name__}: {error}") from error


def _state(reduction: Reduction, values: npt.NDArray[Any], arrays: Arrays) -> Any:
    """State of a chunk, as a store would return it."""
    state = _asked(reduction, reduction.reduce, values, arrays)
    if _is_own(reduction):
        return state
    try:
        return json.loads(json.dumps(state))
    except (TypeError, ValueError) as error:
        raise ValueError(
            f"{type(reduction).__name__}.reduce: got the state {shown(state)}, expected numbers, "
            f"strings, lists and dicts as JSON holds them ({error})"
        ) from None


_USUAL: dict[str, tuple[Reduction]] = {
    type(one).__name__: (one,) for one in (usual(np.zeros(0, np.bool_)), usual(np.zeros(0)))
}


def _words(kinds: str) -> str:
    if kinds == KINDS:
        return "truth values, verdicts or numbers"
    return "truth values or verdicts" if kinds == "bi" else f"a dtype of kind {kinds!r}"


class Totals:
    """States of functions that return integer arrays of any fixed shape, which are added."""

    def arrays(self, result: Any, size: int) -> Arrays:
        return {name: np.asarray(counts, np.int64) for name, counts in result.items()}

    def joined(self, parts: Sequence[Arrays]) -> Arrays | None:
        return None  # their sums may exceed 64 bits

    def state(self, arrays: Arrays) -> State:
        return {
            name: [list(counts.shape), counts.ravel().tolist()] for name, counts in arrays.items()
        }

    def join(self, one: State, other: State) -> State:
        joined = {}
        for name, (shape, counts) in one.items():
            other_shape, more = other[name]
            if shape != other_shape:
                raise ValueError(f"{name!r}: got shape {other_shape}, expected {shape}")
            joined[name] = [shape, [a + b for a, b in zip(counts, more, strict=True)]]
        return joined

    def holds(self, state: State, size: int) -> bool:
        return all(map(_is_total, state.values()))

    @staticmethod
    def counts(state: State) -> dict[str, npt.NDArray[np.int64]]:
        """The arrays of a state."""
        return {
            name: np.array(counts, np.int64).reshape(shape)
            for name, (shape, counts) in state.items()
        }


def _is_total(value: Any) -> bool:
    """Whether a value is a shape with as many integers of 64 bits."""
    return (
        isinstance(value, list)
        and len(value) == 2
        and all(isinstance(part, list) and {int} >= set(map(type, part)) for part in value)
        and all(0 <= length <= len(value[1]) for length in value[0])
        and math.prod(value[0]) == len(value[1])
        and all(-(2**62) <= number <= 2**62 for number in value[1])
    )


@dataclass(frozen=True)
class Width:
    """Criterion of ``gs.sweep``: sample points until their 95 % confidence intervals are narrow.

    The intervals are checked after ``first`` task sets and then each time the number of sets has
    grown by a quarter, so that the number of sets of a point does not depend on chunks and workers.

    Attributes
    ----------
    width
        Largest width of an interval (upper minus lower limit), above 0 and below 1.
    quantity
        The quantity whose interval is checked; None for all quantities that have one.
    first
        Number of task sets before the first check.

    Examples
    --------
    >>> import gpusched as gs
    >>> import numpy as np
    >>> def test(*, load, count, first, seed):
    ...     return {"met": np.arange(first, first + count) % 10 >= 10 * load}
    >>> table = gs.sweep(test, {"load": [0.1, 0.5]}, count=10**6, seed=1, stop=gs.Width(0.1))
    >>> table["count"].tolist()
    [157, 387]
    """

    width: float
    quantity: str | None = None
    first: int = 100

    def __post_init__(self) -> None:
        object.__setattr__(self, "width", real(self.width, "width"))
        if not 0 < self.width < 1:
            raise ValueError(f"width: got {shown(self.width)}, expected more than 0, less than 1")
        if integer(self.first, "first") < 1:
            raise ValueError(f"first: got {self.first}, expected at least 1")

    def reached(self, columns: Mapping[str, Any]) -> bool:
        """Return whether the intervals among the columns of a point are narrow enough.

        Raises ValueError if there is no interval.
        """
        names = [self.quantity] if self.quantity is not None else []
        names = names or [name[: -len("_low")] for name in columns if name.endswith("_low")]
        try:
            widths = [columns[f"{name}_high"] - columns[f"{name}_low"] for name in names]
        except KeyError:
            widths = []
        if not widths:
            what = "any quantity" if self.quantity is None else shown(self.quantity)
            raise ValueError(
                f"stop: got a width for {what}, expected a quantity with a confidence interval"
            )
        return bool(max(widths) <= self.width)


def rounds(stop: Width | None, count: int) -> Iterator[int]:
    """Numbers of task sets at which a point is looked at, up to ``count``."""
    if stop is not None:
        at = stop.first
        while at < count:
            yield at
            at += -(-at // 4)
    yield count


class Coverage:
    """Disjoint ranges of task sets that are done."""

    def __init__(self) -> None:
        self._ranges: list[tuple[int, int]] = []
        self.count = 0

    def add(self, first: int, size: int) -> None:
        """Add a range that overlaps none of the others."""
        self.count += size
        end = first + size
        at = bisect.bisect(self._ranges, (first, end))
        if at < len(self._ranges) and self._ranges[at][0] == end:
            end = self._ranges.pop(at)[1]
        if at and self._ranges[at - 1][1] == first:
            self._ranges[at - 1] = (self._ranges[at - 1][0], end)
        else:
            self._ranges.insert(at, (first, end))

    def gaps(self, first: int, end: int) -> list[tuple[int, int]]:
        """The parts of ``first`` .. ``end - 1`` that are not done, as (first, end)."""
        gaps = []
        # The range before the first that begins after ``first`` may contain it.
        for at in range(max(0, bisect.bisect(self._ranges, (first,)) - 1), len(self._ranges)):
            a, b = self._ranges[at]
            if b <= first:
                continue
            if a >= end:
                break
            if a > first:
                gaps.append((first, a))
            first = b
        if first < end:
            gaps.append((first, end))
        return gaps


class StoredMisfit(ValueError):
    """Stored chunks of a point that do not fit each other."""


class PointResults:
    """Results of the task sets ``first`` .. ``end - 1`` of a point.

    Parameters
    ----------
    accumulator
        Makes and joins states.
    first, end
        The range of task sets.
    stop, columns
        When to stop before ``end``, and the columns of a state by which that is decided.

    Attributes
    ----------
    target
        The task sets before this one are computed before the point is looked at again.
    state
        State of all sets that are done; None when none is.
    """

    def __init__(
        self,
        accumulator: Accumulator,
        first: int,
        end: int,
        stop: Width | None = None,
        columns: Callable[[State], Mapping[str, Any]] | None = None,
    ) -> None:
        self._accumulator = accumulator
        self.first = first
        self.end = end
        self._stop = stop
        self._columns = columns
        self._rounds = rounds(stop, end)
        self._stored: list[Chunk] = []
        self._parts: dict[int, Arrays] = {}
        self._done = Coverage()
        self.target = first
        self.state: State | None = None

    @property
    def count(self) -> int:
        """Number of task sets that are done."""
        return self._done.count

    @property
    def round_done(self) -> bool:
        """True when all sets before ``target`` are done."""
        return self._done.count == self.target - self.first

    def store(self, chunk: Chunk) -> None:
        """Note a chunk that a store has; they come in the order of ``Store.chunks``."""
        self._stored.append(chunk)

    def next_round(self) -> list[tuple[int, int]]:
        """The ranges (first, end) to be computed next; none when the point is finished.

        Called when the ranges that it returned before are done. Raises ``ValueError`` when the
        state has no interval to decide by, ``StoredMisfit`` for chunks that do not fit.
        """
        while not self._finished():
            self.target = next(self._rounds)
            try:
                self._take()
            except ValueError as error:
                raise StoredMisfit(str(error)) from error
            gaps = self._done.gaps(self.first, self.target)
            if gaps:
                return gaps
        self._stored.clear()
        return []

    def _finished(self) -> bool:
        if self.target == self.end:
            return True
        if self._stop is None or self._columns is None or self.state is None:
            return False
        return self._stop.reached(self._columns(self.state))

    def _take(self) -> None:
        """Add what the stored chunks have of the sets before the target."""
        if not self._stored:
            return
        later = []
        for chunk in self._stored:
            end = chunk.first + chunk.size
            if end > self.target and self.target < self.end:
                later.append(chunk)
            low, high = max(chunk.first, self.first), min(end, self.target)
            for first, last in self._done.gaps(low, high):
                if (first, last) == (chunk.first, end):
                    self.add(first, chunk.size, chunk.state, chunk.arrays)
                elif chunk.arrays is not None:  # a part of the chunk, with a state of its own
                    part = slice(first - chunk.first, last - chunk.first)
                    arrays = {name: values[part] for name, values in chunk.arrays.items()}
                    self.add(first, last - first, self._accumulator.state(arrays), arrays)
        self._stored = later

    def add(self, first: int, size: int, state: State, arrays: Arrays | None) -> None:
        """Add the results of a range; ``ValueError`` when they do not fit to the others."""
        if self.state is not None:
            state = self._accumulator.join(self.state, state)
        self.state = state
        self._done.add(first, size)
        if arrays is not None:
            self._parts[first] = arrays

    def arrays(self) -> dict[str, npt.NDArray[Any]]:
        """The kept arrays of all sets that are done, in order."""
        parts = [self._parts[first] for first in sorted(self._parts)]
        return {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}


def values_of(results: Sequence[PointResults]) -> dict[str, npt.NDArray[Any]]:
    """The kept arrays of all points, stacked: arrays of shape (points, count) by name."""
    kept = [result.arrays() for result in results]
    return {name: np.stack([arrays[name] for arrays in kept]) for name in kept[0]}
