"""Argument checks shared by all packages: conversion to arrays, numbers, names, choices, seeds.

Messages read ``name[row]: got <value>, expected <what>``.

A call of NumPy is not interrupted by signals, and takes seconds for some gigabytes: large arrays
are handled in pieces, between which Python checks for Ctrl-C. Arrays of at most one piece are
handled by a single call.
"""

from __future__ import annotations

import contextlib
import math
import operator
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, ClassVar, NoReturn, TypeVar

import numpy as np
import numpy.typing as npt

from gpusched._support.text import shown

PIECE = 1 << 20
"""Entries of a piece: some milliseconds of a copy."""


def parts(shape: tuple[int, ...]) -> Iterator[tuple[Any, ...]]:
    """Indices of pieces that make up an array of this shape, in order.

    >>> [index for index in parts((4, 5))]
    [(Ellipsis,)]
    >>> [index[0] for index in parts((3, PIECE // 2))]
    [slice(0, 2, None), slice(2, 4, None)]
    """
    if math.prod(shape) <= PIECE:
        yield (...,)
        return
    row = math.prod(shape[1:])
    if row <= PIECE:
        step = PIECE // row
        for begin in range(0, shape[0], step):
            yield (slice(begin, begin + step),)
    else:
        for i in range(shape[0]):
            for rest in parts(shape[1:]):
                yield (i, *rest)


def copied(array: npt.NDArray[Any], dtype: npt.DTypeLike) -> npt.NDArray[Any]:
    """A new array with the numbers of another, converted as by ``astype``."""
    if array.size <= PIECE:
        return array.astype(dtype)
    made: npt.NDArray[Any] = np.empty(array.shape, dtype)
    for part in parts(array.shape):
        made[part] = array[part]
    return made


def joined(rows: list[npt.NDArray[Any]]) -> npt.NDArray[Any]:
    """Arrays behind each other, as by ``concatenate``; they are of one dtype.

    Raises
    ------
    ValueError
        Different shapes beyond the first axis.
    """
    if len({row.shape[1:] for row in rows}) > 1:
        raise ValueError("rows of different shapes")
    made: npt.NDArray[Any] = np.empty((sum(map(len, rows)), *rows[0].shape[1:]), rows[0].dtype)
    begin = 0
    for row in rows:
        made[begin : begin + len(row)] = row
        begin += len(row)
    return made


def spread(array: npt.NDArray[Any], shape: tuple[int, ...]) -> npt.NDArray[Any]:
    """The array broadcast to a shape, C-contiguous; the array itself if it already is.

    Raises
    ------
    ValueError
        A shape that it cannot be broadcast to.
    """
    if array.shape == shape and array.flags.c_contiguous:
        return array
    if array.ndim == 0 and math.prod(shape) <= PIECE:
        return np.full(shape, array)
    wide = np.broadcast_to(array, shape)
    return np.ascontiguousarray(wide) if wide.size <= PIECE else copied(wide, wide.dtype)


def held_bytes(*objects: object) -> int:
    """Memory of the arrays that objects of the package, and what they hold, refer to.

    >>> held_bytes([np.zeros(4), {"half": np.zeros(2)}])
    48
    """
    seen: set[int] = set()
    total, stack = 0, list(objects)
    while stack:
        one = stack.pop()
        while isinstance(one, np.ndarray) and isinstance(one.base, np.ndarray):
            one = one.base
        if id(one) in seen:
            continue
        seen.add(id(one))
        if isinstance(one, np.ndarray):
            total += one.nbytes
        elif isinstance(one, Mapping):
            stack += one.values()
        elif isinstance(one, (list, tuple)):
            stack += one
        elif type(one).__module__.startswith("gpusched."):
            names = [name for of in type(one).__mro__ for name in getattr(of, "__slots__", ())]
            stack += [getattr(one, name, None) for name in names]
            stack += getattr(one, "__dict__", {}).values()
    return total


def same_numbers(count: int, value: float) -> npt.NDArray[np.float64]:
    """A row of one number."""
    if count <= PIECE:
        return np.full(count, value)
    return copied(np.broadcast_to(np.float64(value), (count,)), np.float64)


def first_where(
    array: npt.NDArray[Any], wrong: Callable[[npt.NDArray[Any]], npt.NDArray[np.bool_]]
) -> tuple[int, ...] | None:
    """The index of the first entry, in C order, for which ``wrong`` holds; None if there is none.

    ``wrong`` gets pieces of the array and answers for every entry.

    >>> first_where(np.array([[3, 1], [0, 0]]), lambda part: part < 1)
    (1, 0)
    """
    if array.size <= PIECE and not wrong(array).any():  # nearly always
        return None
    for part in parts(array.shape):
        found = wrong(array[part])
        if np.any(found):
            inside = tuple(int(i) for i in np.argwhere(found)[0])
            if part == (...,):
                return inside
            *fixed, last = part
            return (*fixed, last.start + inside[0], *inside[1:])
    return None


Int64Array = npt.NDArray[np.int64]
FloatArray = npt.NDArray[np.float64]

MAX_BYTES = 4 << 30
"""Default of ``max_bytes``, the largest size of a file and of what it unpacks to: 4 GiB."""

_LIMIT = 2**63
_MOST_BITS = 10_000  # of an integer; Python writes 4,300 digits, 14,284 bits
_MOST_SETS = 2**59  # an array of NumPy has a number of bytes that fits 63 bits
_LONG = 50_000  # entries of a list that NumPy converts in some milliseconds
_FITS = "a number that fits 64 bits"
_TASK_NAMES = tuple(f"task {i}" for i in range(64))
# Arguments that are not times: the message about a fraction does not suggest a smaller unit.
_COUNTS = (
    *("blocks", "threads", "regs", "smem", "priority", "stream", "core", "sms", "segments", "load"),
    *("order", "sm_order", "stream_priority", "stream_context", "runlist", "bytes", "server"),
    *("victim", "block_sizes", "cluster", "cooperative", "stream_partition", "partition_limit"),
    *("graph", "programmatic"),
)

Array = TypeVar("Array", bound=npt.NDArray[Any])


def int_array(value: Any, name: str) -> Int64Array:
    """``value`` as a new int64 array.

    Floating-point numbers are accepted when they are whole.

    Raises
    ------
    ValueError
        A number that is not whole. The message names the entry.
    OverflowError
        A number that does not fit 64 bits.
    TypeError
        An entry that is not a number.
    """
    if type(value) is int and -_LIMIT <= value < _LIMIT:
        return np.array(value, np.int64)
    if isinstance(value, NoArray):
        raise TypeError(f"{name}: {value._refusal()}")
    if isinstance(value, np.ndarray) and _is_masked(value):
        raise ValueError(f"{name}: got {shown(value)}, expected numbers without masked ones")
    if isinstance(value, (list, tuple)) and len(value) > _LONG:
        # In parts, as Ctrl-C waits for NumPy; where one is refused, the whole says which entry.
        with contextlib.suppress(ValueError, TypeError, OverflowError):
            width = len(value[0]) if isinstance(value[0], (list, tuple)) else 1
            step = max(1, _LONG // max(1, width))
            return joined(
                [int_array(value[i : i + step], name) for i in range(0, len(value), step)]
            )
    try:
        array = np.asarray(value)
        if array.dtype.kind == "f" and isinstance(value, (list, tuple)):
            array = np.asarray(value, dtype=object)  # [4, 2**63]: a float would lose digits
    except ValueError:
        raise ValueError(
            f"{name}: got {shown(value)}, expected numbers, in rows of one length"
        ) from None
    if array.dtype.kind in "USb":  # the message names the first text in ["1", 2]
        array = np.asarray(value, dtype=object)
    if array.dtype.kind == "O":  # Python integers beyond 64 bits, or mixed content
        exact = np.empty(array.shape, np.int64)
        for index, item in np.ndenumerate(array):
            exact[index] = _whole(item, name, index)
        return exact
    if array.dtype.kind == "f":
        _refuse(array, _is_fraction, name, _whole_number(name))
        _refuse(array, _is_beyond, name, _FITS, OverflowError)
    if array.dtype.kind == "u":
        _refuse(array, lambda part: part >= _LIMIT, name, _FITS, OverflowError)
    if array.dtype.kind in "fui":
        return copied(array, np.int64)
    if array.size == 0:
        return array.astype(np.int64)
    raise TypeError(f"{name}: got dtype {array.dtype}, expected numbers")


def at_least(array: Int64Array, least: int, name: str) -> None:
    """Raise a ``ValueError`` that names the first entry below ``least``."""
    if array.ndim == 0 and array >= least:
        return
    what = {0: "a non-negative number", 1: "a positive number"}.get(least, f"at least {least}")
    _refuse(array, lambda part: part < least, name, what)


def frozen(array: Array) -> Array:
    """The array, made read-only."""
    array.flags.writeable = False
    return array


def instance(value: Any, kind: type | tuple[type, ...], name: str, hint: str = "") -> None:
    """Raise a ``TypeError`` with ``hint`` when ``value`` is not an instance of ``kind``."""
    if not isinstance(value, kind):
        kinds = kind if isinstance(kind, tuple) else (kind,)
        expected = " or ".join(one.__name__ for one in kinds)
        wanted = f"{name}: got {type(value).__name__}, expected {expected}"
        hint = _holder(value, kinds) or hint
        raise TypeError(f"{wanted} ({hint})" if hint else wanted)


def _holder(value: Any, kinds: tuple[type, ...]) -> str:
    """Hint to the field of a view or a replay that has what is expected."""
    if getattr(value, "_WHOLE", False):  # its fields alone say less than it does
        return ""
    for field in getattr(type(value), "__dataclass_fields__", ()):
        if isinstance(getattr(value, field, None), kinds):
            return f"its .{field}"
    return ""


def is_sequence(value: Any) -> bool:
    """True for what can be iterated, except text and arrays without a dimension."""
    if isinstance(value, np.ndarray):
        return value.ndim > 0
    return isinstance(value, Iterable) and not isinstance(value, (str, bytes))


def names(
    given: Any, name: str, count: int, usual: Callable[[], Iterable[str]], each: str
) -> tuple[str, ...]:
    """``given`` as a tuple of ``count`` strings, one per ``each`` (task, launch, ...).

    ``usual`` makes those for None.
    """
    if given is None:
        return tuple(usual())
    what = f"expected {count} strings, one per {each}"
    if not is_sequence(given):
        raise TypeError(f"{name}: got {shown(given)}, {what}")
    found = tuple(given)
    if len(found) != count or not all(type(one) is str or isinstance(one, str) for one in found):
        raise ValueError(f"{name}: got {shown(found)}, {what}")
    return found


def task_names(given: Any, n: int) -> tuple[str, ...]:
    """The names of n tasks; "task 0", ... for None."""
    if given is None and n <= len(_TASK_NAMES):
        return _TASK_NAMES[:n]
    return names(given, "name", n, lambda: (f"task {i}" for i in range(n)), "task")


def integer(value: Any, name: str) -> int:
    """``value`` as an int; ``TypeError`` when it is not an integer (a bool is not one).

    ``OverflowError`` for one of thousands of digits, which Python cannot write in a message.
    """
    try:
        if isinstance(value, bool):
            raise TypeError
        number = operator.index(value)
    except TypeError:
        raise TypeError(f"{name}: got {shown(value)}, expected an integer") from None
    if number.bit_length() > _MOST_BITS:
        raise OverflowError(f"{name}: got {shown(number)}, expected {_FITS}")
    return number


def ticks(value: Any, name: str) -> int:
    """One time as an int. A whole float (1e6) is accepted, as it is in arrays of times."""
    array = int_array(value, name)
    if array.ndim:
        raise TypeError(f"{name}: got shape {array.shape}, expected one number")
    return int(array)


def integer64(value: Any, name: str) -> int:
    """As ``integer``; ``OverflowError`` when the number does not fit 64 bits."""
    number = integer(value, name)
    if not -_LIMIT <= number < _LIMIT:
        raise OverflowError(f"{name}: got {shown(number)}, expected {_FITS}")
    return number


def real(value: Any, name: str) -> float:
    """``value`` as a float; ``TypeError`` when it is not a number (text and bool are not)."""
    try:
        if isinstance(value, (str, bytes, bool)) or not _may_be_real(value):
            raise TypeError
        return float(value)
    except (TypeError, ValueError):
        raise TypeError(f"{name}: got {shown(value)}, expected a number") from None
    except OverflowError:
        raise OverflowError(
            f"{name}: got {shown(value)}, expected a number that fits a double"
        ) from None


def _may_be_real(value: Any) -> bool:
    """False for values of NumPy that ``float`` takes though they are no numbers, or complex ones.

    These are times, truth values, text, and what is masked.
    """
    if not isinstance(value, (np.generic, np.ndarray)):
        return True
    masked = isinstance(value, np.ndarray) and _is_masked(value)
    return value.dtype.kind in "iufO" and not masked


def _is_masked(array: npt.NDArray[Any]) -> bool:
    return type(array) is not np.ndarray and bool(np.ma.is_masked(array))


def flag(value: Any, name: str) -> bool:
    """``value`` as a bool; ``TypeError`` when it is not one."""
    if not isinstance(value, (bool, np.bool_)):
        raise TypeError(f"{name}: got {shown(value)}, expected True or False")
    return bool(value)


def position(index: Any, count: int, name: str) -> int:
    """An index of a sequence of ``count`` entries, counted from the start.

    Negative ones count from the end. Raises ``TypeError`` and ``IndexError``.
    """
    number = integer(index, name)
    if not -count <= number < count:
        raise IndexError(f"{name}: got {shown(number)}, expected a number below {count}")
    return number % count


def task_number(task: Any, names: tuple[str, ...]) -> int:
    """The index of a task given by its index or its name."""
    if isinstance(task, str):
        one_of(task, names, "task")
        return names.index(task)
    index = integer(task, "task")
    if not 0 <= index < len(names):
        raise IndexError(f"task: got {index}, expected 0 to {len(names) - 1}")
    return index


def set_index(number: Any, sets: int | None) -> tuple[int, ...]:
    """The argument ``set`` of an answer as an array index: ``(k,)`` in a stack, else ``()``.

    ``sets`` is the number of sets of the stack, None for a single set.
    """
    if sets is None:
        if number is not None:
            raise ValueError(
                f"set: got {shown(number)}, expected None (there is only one task set)"
            )
        return ()
    if number is None:
        raise ValueError(f"set: got None, expected 0 to {sets - 1}, a set of the stack")
    index = integer(number, "set")
    if not 0 <= index < sets:
        raise IndexError(f"set: got {index}, expected 0 to {sets - 1}, a set of the stack")
    return (index,)


def set_number(value: Any, name: str = "first") -> int:
    """``value`` as the number of a task set under its seed, from 0 to 2**63 - 1."""
    number = integer(value, name)
    if not 0 <= number < _LIMIT:
        raise ValueError(
            f"{name}: got {shown(number)}, expected the number of a set, 0 to 2**63 - 1"
        )
    return number


def one_of(value: Any, known: Iterable[str], name: str) -> None:
    """Raise a ``ValueError`` that lists the choices when ``value`` is not among ``known``."""
    known = tuple(known)
    if not isinstance(value, str) or value not in known:
        raise ValueError(f"{name}: got {shown(value)}, expected one of {', '.join(known)}")


def some_of(value: Any, known: Iterable[str], name: str) -> tuple[str, ...]:
    """One or several strings as a tuple; each must be among ``known``."""
    known = tuple(known)
    try:
        given = (value,) if isinstance(value, str) else tuple(value)
    except TypeError:
        raise TypeError(
            f"{name}: got {shown(value)}, expected some of {', '.join(known)}"
        ) from None
    for item in given:
        one_of(item, known, name)
    return given


def seed_key(seed: Any) -> npt.NDArray[np.uint64]:
    """Four words from a seed, as ``seed_sequence`` reads it."""
    if isinstance(seed, np.random.Generator):
        drawn: npt.NDArray[np.uint64] = seed.integers(0, 2**64, size=4, dtype=np.uint64)
        return drawn
    words: Any = seed_sequence(seed).generate_state(4, np.uint64)  # its type is too wide
    return np.asarray(words, np.uint64)


def seed_sequence(seed: Any) -> np.random.SeedSequence:
    """The ``SeedSequence`` of an int, whole numbers in a row, a ``SeedSequence`` or None.

    A ``Generator`` draws four words of entropy, and is changed by that; None is fresh entropy.
    NumPy receives plain integers only: ``SeedSequence`` itself never ends for a ``np.matrix`` or a
    list that contains itself.
    """
    if isinstance(seed, np.random.SeedSequence):
        return seed
    if isinstance(seed, np.random.Generator):
        return np.random.SeedSequence(seed_key(seed).tolist())
    if isinstance(seed, (bool, float)) or (isinstance(seed, int) and seed < 0):
        raise ValueError(f"seed: got {shown(seed)}, expected a non-negative integer")
    try:
        return np.random.SeedSequence(None if seed is None else _entropy(seed, 0))
    except (TypeError, ValueError):
        raise TypeError(
            f"seed: got {shown(seed)}, expected a non-negative integer, a SeedSequence, "
            "a Generator or None"
        ) from None


def spawn(seed: Any, *key: int) -> np.random.SeedSequence:
    """The child ``key`` of a seed (an int, a SeedSequence, a Generator or None).

    Unlike ``SeedSequence.spawn``, it does not change the parent: equal keys give equal children.
    """
    seed = seed_sequence(seed)
    return np.random.SeedSequence(
        entropy=seed.entropy, spawn_key=(*seed.spawn_key, *key), pool_size=seed.pool_size
    )


def _entropy(seed: Any, depth: int) -> Any:
    """A seed as an integer, or as one list of those in rows that are nested at most four deep.

    Rows in rows count as one row; some versions of NumPy refuse them.
    """
    if type(seed) is np.ndarray and seed.dtype.kind in "iu":
        seed = seed.tolist()
    if isinstance(seed, (int, np.integer)) and not isinstance(seed, np.timedelta64):
        if int(seed).bit_length() > _MOST_BITS:  # NumPy takes time quadratic in its bits
            raise OverflowError(
                f"seed: got {shown(seed)}, expected integers of at most {_MOST_BITS} bits"
            )
        return int(seed)
    if type(seed) not in (list, tuple, range) or depth > 4:
        raise TypeError
    words: list[int] = []
    for part in seed:
        inner = _entropy(part, depth + 1)
        words += [inner] if isinstance(inner, int) else inner
    return words


def set_count(count: Any) -> int:
    """The number of task sets to make, 1 for None."""
    number = 1 if count is None else integer(count, "count")
    if number < 0:
        raise ValueError(f"count: got {shown(number)}, expected a non-negative number")
    if number >= _MOST_SETS:
        raise OverflowError(f"count: got {shown(number)}, expected fewer than 2**59 sets")
    return number


def _whole_number(name: str) -> str:
    if name in _COUNTS:
        return "a whole number"
    return "a whole number of ticks (count in a smaller unit)"


def _whole(item: Any, name: str, index: tuple[int, ...]) -> int:
    """One whole number of an object array, without conversion to a float of 53 bits."""
    entry = _entry(name, index)
    if isinstance(item, (float, np.floating)):
        if not float(item).is_integer():
            raise ValueError(f"{entry}: got {item}, expected {_whole_number(name)}")
    elif isinstance(item, (bool, np.timedelta64)) or not isinstance(item, (int, np.integer)):
        raise TypeError(f"{entry}: got {shown(item)}, expected a number")
    whole = int(item)
    if not -_LIMIT <= whole < _LIMIT:
        raise OverflowError(f"{entry}: got {shown(item)}, expected {_FITS}")
    return whole


def _is_fraction(array: npt.NDArray[Any]) -> npt.NDArray[np.bool_]:
    return np.asarray(~(np.isfinite(array) & (array == np.trunc(array))))


def _is_beyond(array: npt.NDArray[Any]) -> npt.NDArray[np.bool_]:
    return np.asarray(np.abs(array.astype(np.float64)) >= 2.0**63)


def _refuse(
    array: npt.NDArray[Any],
    bad: Callable[[npt.NDArray[Any]], npt.NDArray[np.bool_]],
    name: str,
    what: str,
    error: type[Exception] = ValueError,
) -> None:
    """Raise an error that names the first entry that is bad."""
    index = first_where(array, bad)
    if index is not None:
        raise error(f"{_entry(name, index)}: got {array[index]}, expected {what}")


def _entry(name: str, index: tuple[int, ...]) -> str:
    return f"{name}[{', '.join(map(str, index))}]" if index else name


class NoArray:
    """Base class of objects with several columns; ``np.asarray`` refuses them with an explanation.

    Otherwise NumPy would make an array of Python objects, one per task. A class sets ``_INSTEAD``,
    the expressions to use instead.
    """

    __slots__ = ()

    _INSTEAD: ClassVar[str]

    def __array__(self, dtype: Any = None, copy: Any = None) -> NoReturn:
        raise TypeError(f"array: {self._refusal()}")

    def _refusal(self) -> str:
        return f"got {type(self).__name__}, expected one of its columns ({self._INSTEAD})"
