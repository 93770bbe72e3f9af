"""Sets of tasks and stacks of such sets: selection, joining, equality, pickling; columns of parts.

Base of `KernelTasks` and `HostTasks`. A set remembers which of its fields were derived from others
(a deadline from the period, say), so that a change derives them anew.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, ClassVar, Self, SupportsIndex

import numpy as np
import numpy.typing as npt

from gpusched._support.arguments import Int64Array, NoArray, at_least, frozen, int_array, task_names
from gpusched._support.results import Frozen, Saved
from gpusched._support.tabular import Tabular
from gpusched._support.text import clip, shown

Index = (
    SupportsIndex
    | slice
    | str
    | Sequence[int]
    | Sequence[str]
    | npt.NDArray[np.integer[Any]]
    | npt.NDArray[np.bool_]
)
"""Selection of sets or tasks: a number, a slice, numbers, a bool mask, a name or names."""


class TaskSet(NoArray, Tabular, Saved, Frozen):
    """Base of sets of tasks: one set of n tasks, or a stack of N sets.

    A set is indexed like a list of its tasks, and a stack like a list of its sets; in both, names
    select tasks. All results are objects of the same class. All sets of a stack have n tasks. If a
    class allows sets of different sizes, n is the size of the largest set, and smaller sets have
    unused rows after their tasks.
    """

    _INSTEAD = ".period, .deadline, ..., or .to_frame()"

    _ARRAYS: ClassVar[tuple[str, ...]]
    """Fields that are arrays; their leading axes are those of ``period``."""

    _RAGGED: ClassVar[bool] = False
    """Whether the sets of a stack may differ in size; the class then has a field ``sizes``."""

    period: Int64Array
    name: tuple[str, ...]
    _derived: Mapping[str, Any]  # the fields that were derived, with their values

    # Sizes

    @property
    def n(self) -> int:
        """Number of tasks in a set; for a stack, in the largest set."""
        return int(self.period.shape[-1])

    @property
    def is_stack(self) -> bool:
        """Whether this is a stack of sets."""
        return self.period.ndim == 2

    @property
    def is_ragged(self) -> bool:
        """Whether this is a stack of sets that differ in size."""
        return False

    @property
    def is_task(self) -> npt.NDArray[np.bool_]:
        """Whether each row is a task, in the shape of ``period``; False for unused rows."""
        return np.ones(self.period.shape, np.bool_)

    def __len__(self) -> int:
        """Number of sets in a stack, of tasks in a single set."""
        return int(self.period.shape[0])

    @property
    def hyperperiod(self) -> Any:  # int or list[int]; a union would burden users of single sets
        """Least common multiple of the periods: an int, or a list of N ints for a stack."""
        rows = np.where(self.is_task, self.period, 1)
        values = [math.lcm(*row) for row in np.atleast_2d(rows).tolist()]
        return values if self.is_stack else values[0]

    # Parts

    def __iter__(self) -> Iterator[Self]:
        """The sets of a stack; the tasks of a single set, each as a set of one task."""
        return (self[i] for i in range(len(self)))

    def __contains__(self, item: object) -> bool:
        """Whether a task of this name, or an equal set or task, is in it."""
        if isinstance(item, str):
            return item in self.name
        return any(part == item for part in self)

    def __getitem__(self, index: Index) -> Self:
        """Tasks of a set, or sets of a stack.

        Parameters
        ----------
        index
            Of a single set: a task's number, a slice, numbers or a bool mask. Of a stack: the
            same for sets, where a number selects one set and everything else a stack. Of both: the
            name of a task, or a list of names, which select tasks (of every set of a stack, which
            need to have them).

        Raises
        ------
        IndexError, KeyError
            A number or a name that does not exist.
        ValueError
            No task, or the same task twice.
        TypeError
            An index of another type.
        """
        if not self.is_stack or isinstance(index, str) or _are_names(index):
            return self.select(index)
        if isinstance(index, slice):
            return self._sets(index)
        numbers = _numbers(index, len(self), "set")
        return self._sets(numbers if isinstance(numbers, int) else np.array(numbers, np.int64))

    def select(self, tasks: Index) -> Self:
        """Select tasks by index, slice, indices, bool mask, name or names.

        For a stack, the same tasks of every set are selected: ``stack.select([0, 2])``. Priorities
        that were derived are derived anew for the selected tasks. Raises the errors of indexing.
        """
        names: Any = [tasks] if isinstance(tasks, str) else tasks
        if _are_names(names):
            numbers = [self._number(name) for name in names]
        elif isinstance(tasks, slice):
            numbers = list(range(self.n))[tasks]
        else:
            found = _numbers(tasks, self.n, "task")
            numbers = [found] if isinstance(found, int) else found
        if not numbers:
            raise ValueError(f"tasks: got {shown(tasks)}, expected at least one of {self.n} tasks")
        if twice := _repeated(numbers):
            raise ValueError(f"tasks: got {self.name[twice[0]]!r:.60} twice, expected it once")
        without = np.argwhere(~self.is_task[..., max(numbers)])
        if len(without):
            raise ValueError(
                f"tasks: got {self.name[max(numbers)]!r:.60}, expected tasks of every set; set "
                f"{without[0][0]} has fewer"
            )
        axis = self.period.ndim - 1
        arrays = {key: np.take(getattr(self, key), numbers, axis) for key in self._ARRAYS}
        return self._derive(arrays, tuple(self.name[i] for i in numbers), self._derived)

    def _number(self, name: str) -> int:
        if (count := self.name.count(name)) != 1:
            known = clip(", ".join(self.name), 200)
            many = f", the name of {count} tasks" if count else ""
            raise KeyError(f"tasks: got {name!r:.60}{many}, expected one of {known}")
        return self.name.index(name)

    def _sets(self, index: int | slice | Int64Array) -> Self:
        arrays = {key: np.ascontiguousarray(getattr(self, key)[index]) for key in self._ARRAYS}
        return self._made(arrays, self.name, self._derived)

    def _arrays(self) -> dict[str, npt.NDArray[Any]]:
        """The arrays that make an equal set."""
        return {key: getattr(self, key) for key in self._ARRAYS}

    # Joining

    def __add__(self, other: Self) -> Self:
        """Join two sets into one: the tasks of the first, then those of the second.

        A field is derived anew where it had been derived in both sets. Names that both sets left
        to be derived are numbered through.

        Raises
        ------
        ValueError
            A name that is in both sets; priorities that were given in one set and derived in the
            other.
        TypeError
            Stacks, or sets of different classes.
        """
        if type(other) is not type(self):
            return NotImplemented
        if self.is_stack or other.is_stack:
            kind = type(self).__name__
            raise TypeError(f"tasks: got a stack, expected single sets; join with {kind}.stack")
        derived = [key for key in self._derived if key in other._derived]
        if "priority" in {*self._derived, *other._derived} - {*derived}:
            raise ValueError(
                "priority: got given ones in one set and derived ones in the other, expected the "
                "same in both; see replace(priority=...)"
            )
        names = self.name + other.name
        if "name" in derived:
            names = task_names(None, len(names))
        elif twice := _repeated(names):
            raise ValueError(
                f"name: got {twice[0]!r:.60} twice, expected different names; see replace(name=...)"
            )
        one, two = self._alike([self, other])
        arrays = {key: np.concatenate([one[key], two[key]]) for key in self._ARRAYS}
        return self._derive(arrays, names, derived)

    @classmethod
    def stack(cls, sets: Iterable[Self]) -> Self:
        """Join sets, and stacks of sets, into one stack.

        Sets of `KernelTasks` must have the same number of tasks. The names of the tasks must agree;
        those of a smaller set must be the first names of the larger ones.

        Raises
        ------
        ValueError
            There are no sets, the sets differ in size although the class requires equal sizes, or
            names differ.
        TypeError
            An object is of another class.
        """
        if isinstance(sets, cls) and not sets.is_stack:
            raise TypeError(f"sets: got one set, expected a sequence of {cls.__name__}, as [tasks]")
        parts = list(sets)
        names = max((part.name for part in parts if isinstance(part, cls)), key=len, default=())
        for i, part in enumerate(parts):
            if not isinstance(part, cls):
                found = type(part).__name__
                raise TypeError(f"sets[{i}]: got {found}, expected {cls.__name__}")
            if part.n != parts[0].n and not cls._RAGGED:
                raise ValueError(f"sets[{i}]: got {part.n} tasks, expected {parts[0].n}")
            if part.name != names[: part.n]:
                at, name = next(
                    (at, name) for at, name in enumerate(part.name) if name != names[at]
                )
                raise ValueError(
                    f"name: got {name!r:.60}, expected {names[at]!r:.60} as in the first "
                    f"{'of the largest sets' if cls._RAGGED else 'set'}; see replace(name=...)"
                )
        if not parts:
            raise ValueError("sets: got none, expected at least one")
        derived = [key for key in parts[0]._derived if all(key in p._derived for p in parts)]
        return cls._made(cls._stacked(parts), names, derived)

    @classmethod
    def _stacked(cls, parts: Sequence[Self]) -> dict[str, npt.NDArray[Any]]:
        """The arrays of sets and stacks, one set behind the other."""
        columns = [
            column if part.is_stack else {key: array[None] for key, array in column.items()}
            for part, column in zip(parts, cls._alike(parts), strict=True)
        ]
        return {key: np.concatenate([each[key] for each in columns]) for key in columns[0]}

    @classmethod
    def _alike(cls, parts: Sequence[Self]) -> list[dict[str, npt.NDArray[Any]]]:
        """The arrays of sets, brought to sizes that can be concatenated."""
        return [part._arrays() for part in parts]

    # Making sets of arrays that were checked before

    @classmethod
    def _derive(
        cls, arrays: dict[str, npt.NDArray[Any]], name: tuple[str, ...], derived: Iterable[str]
    ) -> Self:
        """A set of arrays whose tasks are other ones than before."""
        return cls._made(arrays, name, derived)

    @classmethod
    def _made(
        cls, arrays: Mapping[str, npt.NDArray[Any]], name: tuple[str, ...], derived: Iterable[str]
    ) -> Self:
        """A set of arrays that are known to be right; they are not copied."""
        made = object.__new__(cls)
        for key, array in arrays.items():
            object.__setattr__(made, key, frozen(array))
        object.__setattr__(made, "name", name)
        made._remember(derived)
        return made

    def _remember(self, derived: Iterable[str]) -> None:
        """Note which fields were derived, once all are set."""
        kept = {key: getattr(self, key) for key in derived}
        if "name" in kept and self.name != task_names(None, self.n):
            del kept["name"]
        object.__setattr__(self, "_derived", kept)

    def _given(self) -> dict[str, Any]:
        """The fields that were not derived: what the constructor needs to make an equal set."""
        keys = (*self._arrays(), "name")
        return {key: getattr(self, key) for key in keys if key not in self._derived}

    def _table(self) -> dict[str, Any]:
        """One row per task of every set: set, task, name, numbers of tasks."""
        sets, n = np.atleast_2d(self.period).shape
        columns: dict[str, Any] = {}
        if self.is_stack:
            columns["set"] = np.repeat(np.arange(sets), n)
        columns["task"] = np.tile(np.arange(n), sets)
        columns["name"] = np.tile(np.array(self.name, dtype=object), sets)
        for key in self._ARRAYS:
            if getattr(self, key).ndim == self.period.ndim:
                columns[key] = getattr(self, key).ravel()
        return columns

    # As any object

    def __eq__(self, other: object) -> bool:
        if type(other) is not type(self):
            return NotImplemented
        one, two = self._arrays(), other._arrays()
        return self.name == other.name and all(np.array_equal(one[key], two[key]) for key in one)

    __hash__ = None

    def __reduce__(self) -> Any:
        return (type(self)._made, (self._arrays(), self.name, tuple(self._derived)))

    def _fields(self) -> dict[str, Any]:
        return self._arrays() | {"name": self.name, "derived": tuple(self._derived)}

    @classmethod
    def _from_fields(cls, values: dict[str, Any]) -> Self:
        derived = values.pop("derived")
        made = cls(**values)
        if not isinstance(derived, tuple) or not {*derived} <= {*made._arrays(), "name"}:
            raise ValueError(f"derived: got {shown(derived)}, expected names of fields")
        made._remember(derived)
        return made


def unless_derived(given: Any, key: str, derived: Mapping[str, Any] | None) -> Any:
    """An argument of a constructor, or None if ``dataclasses.replace`` passes a derived value.

    ``dataclasses.replace`` passes all fields of the old object, also those in ``derived``.
    """
    return None if derived and given is derived.get(key) else given


def _are_names(index: Any) -> bool:
    if isinstance(index, np.ndarray):
        return index.dtype.kind in "US" or (index.dtype == object and _are_names(index.tolist()))
    return isinstance(index, (list, tuple)) and bool(index) and isinstance(index[0], str)


def _numbers(index: Any, count: int, what: str) -> int | list[int]:
    """Positions from 0, of ``count`` tasks or sets."""
    if not isinstance(index, (list, np.ndarray)) or np.ndim(index) == 0:
        return _position(index, count, what)
    array = np.asarray(index)
    if array.ndim == 1 and array.dtype == np.bool_:
        if len(array) != count:
            raise IndexError(f"{what}s: got a mask of {len(array)}, expected {count} entries")
        return [int(i) for i in np.flatnonzero(array)]
    return [_position(item, count, what) for item in (index if array.ndim == 1 else [index])]


def _position(index: Any, count: int, what: str) -> int:
    expected = f"expected a number, a slice, numbers, a mask or names of {what}s"
    try:
        if isinstance(index, (bool, np.bool_)):
            raise TypeError
        number = operator.index(index)
    except TypeError:
        raise TypeError(f"{what}s: got {shown(index)}, {expected}") from None
    if not -count <= number < count:
        raise IndexError(f"{what}s: got {number}, expected a number below {count}")
    return number % count


def _repeated(items: Sequence[Any]) -> list[Any]:
    """The first item that is there twice, if any."""
    seen = set()
    for item in items:
        if item in seen:
            return [item]
        seen.add(item)
    return []


Column = npt.ArrayLike | Sequence[Any]


def padded(
    column: Any,
    key: str,
    shape: tuple[int, ...],
    has: npt.NDArray[np.bool_] | None,
    of: tuple[str, str],
) -> Int64Array:
    """A column of parts of jobs with one row per task, 0 beyond the last part of a task.

    ``has``: which entries are parts; None for the column that says so. ``of``: the name of that
    column, and what a part is.
    """
    first, part = of
    if len(shape) == 2 or isinstance(column, np.ndarray):
        array = int_array(column, key)
        if has is None and (array.ndim != len(shape) + 1 or array.shape[:-1] != shape):
            raise ValueError(
                f"{key}: got shape {array.shape}, expected {shape} and an axis for the {part}s"
            )
        try:
            return array if has is None else np.broadcast_to(array, has.shape).copy()
        except ValueError:
            assert has is not None
            raise ValueError(
                f"{key}: got shape {array.shape}, expected {has.shape} as of {first}"
            ) from None
    if has is None and (not _is_list(column) or len(column) != shape[0]):
        raise ValueError(f"{key}: got {shown(column)}, expected a sequence for each task")
    if not _is_list(column):
        column = [column] * shape[0]
    if len(column) != shape[0]:
        raise ValueError(f"{key}: got {len(column)} entries, expected {shape[0]}, one per task")
    rows = []
    for i, row in enumerate(column):
        count = None if has is None else int(has[i].sum())
        if has is not None and not _is_list(row):
            row = [row] * int(has[i].sum())
        if not _is_list(row) or len(row) == 0:
            raise ValueError(
                f"{key}[{i}]: got {shown(row)}, expected the numbers of the task's {part}s"
            )
        numbers = int_array(row, f"{key}[{i}]")
        if numbers.ndim != 1 or (count is not None and len(numbers) != count):
            raise ValueError(
                f"{key}[{i}]: got {len(numbers)} numbers, expected {count}, one per {part}"
            )
        if has is None:
            at_least(numbers, 1, f"{key}[{i}]")
        rows.append(numbers)
    most = max(map(len, rows)) if has is None else has.shape[-1]
    return np.array([np.pad(row, (0, most - len(row))) for row in rows], np.int64)


def _is_list(value: Any) -> bool:
    return isinstance(value, (Sequence, np.ndarray)) and not isinstance(value, (str, bytes))


def refuse_gaps(array: Int64Array, has: npt.NDArray[np.bool_], of: tuple[str, str]) -> None:
    """Refuse negative times, tasks without parts, and parts behind a 0; ``of`` as in `padded`."""
    first, part = of
    at_least(array, 0, first)
    wrong = np.argwhere(~has[..., :1].all(axis=-1) | (has[..., 1:] & ~has[..., :-1]).any(axis=-1))
    if len(wrong):
        where = tuple(wrong[0].tolist())
        raise ValueError(
            f"{first}{list(where)}: got {shown(array[where].tolist())}, expected the times of "
            f"at least one {part}, and 0 behind the last one only"
        )
