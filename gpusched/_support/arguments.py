"""Arguments into arrays: what is accepted, and how a refusal names the offender."""

from __future__ import annotations

import operator
from collections.abc import Iterable
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

Int64Array = npt.NDArray[np.int64]
FloatArray = npt.NDArray[np.float64]

_LIMIT = 2**63
# What is no time; a time that is no whole number wants a smaller unit.
_COUNTS = (
    *("blocks", "threads", "regs", "smem", "priority", "stream", "core", "sms", "segments", "load"),
    *("order", "sm_order", "stream_priority", "stream_context", "runlist", "bytes", "server"),
    *("victim", "block_sizes"),
)

Array = TypeVar("Array", bound=npt.NDArray[Any])


def int_array(value: Any, name: str) -> Int64Array:
    """``value`` as a new int64 array.

    Floating-point numbers are taken when they are whole; anything else raises a ``ValueError``
    (``OverflowError`` beyond 64 bits, ``TypeError`` for what is no number) that names the entry.
    """
    try:
        array = np.asarray(value)
        if array.dtype.kind == "f" and isinstance(value, (list, tuple)):
            array = np.asarray(value, dtype=object)  # [4, 2**63]: a float would lose digits
    except ValueError as error:  # rows of different lengths
        raise ValueError(f"{name}: {error}") from None
    if array.dtype.kind in "USb":  # no numbers; among numbers, ["1", 2], the text is named
        array = np.asarray(value, dtype=object)
    if array.dtype.kind == "O":  # Python integers beyond 64 bits, or mixed content
        exact = np.empty(array.shape, np.int64)
        for index, item in np.ndenumerate(array):
            exact[index] = _whole(item, name, index)
        return exact
    if array.dtype.kind == "f":
        whole = np.isfinite(array) & (array == np.trunc(array))
        _refuse(~whole, array, name, _whole_number(name))
        _refuse(np.abs(array) >= 2.0**63, array, name, "does not fit 64 bits", OverflowError)
        return array.astype(np.int64)
    if array.dtype.kind == "u":
        _refuse(array >= _LIMIT, array, name, "does not fit 64 bits", OverflowError)
        return array.astype(np.int64)
    if array.dtype.kind == "i":
        return array.astype(np.int64)
    if array.size == 0:
        return array.astype(np.int64)
    raise TypeError(f"{name}: must be numbers, got dtype {array.dtype}")


def at_least(array: Int64Array, least: int, name: str) -> None:
    """Raises a ``ValueError`` that names the first entry below ``least``."""
    what = {0: "must not be negative", 1: "must be positive"}.get(least, f"must be >= {least}")
    _refuse(array < least, array, name, what)


def frozen(array: Array) -> Array:
    """The array, made read-only."""
    array.flags.writeable = False
    return array


def instance(value: Any, kind: type, name: str, hint: str = "") -> None:
    """A ``TypeError`` that names it, and says what might help, for what is none of ``kind``."""
    if not isinstance(value, kind):
        wanted = f"{name}: must be {kind.__name__}, not {type(value).__name__}"
        raise TypeError(f"{wanted} ({hint})" if hint else wanted)


def names(given: Any, name: str, usual: list[str], each: str) -> tuple[str, ...]:
    """``given`` as strings, one per ``each`` (task, launch, ...); the usual ones for None."""
    if given is None:
        return tuple(usual)
    wanted = f"{name}: must be {len(usual)} strings, one per {each}"
    if isinstance(given, str) or not isinstance(given, Iterable):
        raise TypeError(wanted)
    found = tuple(given)
    if len(found) != len(usual) or not all(isinstance(one, str) for one in found):
        raise ValueError(wanted)
    return found


def task_names(given: Any, n: int) -> tuple[str, ...]:
    """The names of n tasks; "task 0", ... for None."""
    return names(given, "name", [f"task {i}" for i in range(n)], "task")


def integer(value: Any, name: str) -> int:
    """``value`` as an int; a ``TypeError`` that names it for what is none, and for a bool."""
    try:
        if isinstance(value, bool):
            raise TypeError
        return operator.index(value)
    except TypeError:
        raise TypeError(f"{name} = {repr(value)[:60]}: must be an integer") from None


def ticks(value: Any, name: str) -> int:
    """One time as an int, which may be written as a whole float (1e6), as times in arrays may."""
    array = int_array(value, name)
    if array.ndim:
        raise TypeError(f"{name}: must be one number, has shape {array.shape}")
    return int(array)


def integer64(value: Any, name: str) -> int:
    """As ``integer``; an ``OverflowError`` that names it for what the core cannot take."""
    number = integer(value, name)
    if not -_LIMIT <= number < _LIMIT:
        shown = "" if number.bit_length() > 200 else f" = {number}"
        raise OverflowError(f"{name}{shown}: does not fit 64 bits")
    return number


def real(value: Any, name: str) -> float:
    """``value`` as a float; a ``TypeError`` that names it for what is no number."""
    try:
        if isinstance(value, (str, bytes, bool)):
            raise TypeError
        return float(value)
    except (TypeError, ValueError):
        raise TypeError(f"{name} = {repr(value)[:60]}: must be a number") from None
    except OverflowError:
        raise OverflowError(f"{name}: is too large for a floating-point number") from None


def task_number(task: Any, names: tuple[str, ...]) -> int:
    """The index of a task that is given by its index or its name."""
    if isinstance(task, str):
        one_of(task, names, "task")
        return names.index(task)
    index = integer(task, "task")
    if not 0 <= index < len(names):
        raise IndexError(f"task = {index}: the set has {len(names)} tasks")
    return index


def set_index(number: Any, sets: int | None) -> tuple[int, ...]:
    """Where the argument ``set`` of an answer points to: one of so many, or () for a single set."""
    if sets is None:
        if number is not None:
            raise ValueError(f"set = {number!r:.60}: there is only one task set, leave it out")
        return ()
    if number is None:
        raise ValueError("set: say which set of the stack")
    index = integer(number, "set")
    if not 0 <= index < sets:
        raise IndexError(f"set = {index}: the stack has {sets} sets")
    return (index,)


def set_number(value: Any, name: str = "first") -> int:
    """``value`` as the number of a task set under its seed."""
    number = integer(value, name)
    if not 0 <= number < _LIMIT:
        raise ValueError(f"{name} = {number}: must be the number of a set, within 63 bits")
    return number


def one_of(value: Any, known: Iterable[str], name: str) -> None:
    """Raises a ``ValueError`` that lists what is known, when ``value`` is none of it."""
    known = tuple(known)
    if not isinstance(value, str) or value not in known:
        raise ValueError(f"{name} = {repr(value)[:60]}: must be one of {', '.join(known)}")


def some_of(value: Any, known: Iterable[str], name: str) -> tuple[str, ...]:
    """One string, or several, as a tuple; each is one of those that are known."""
    known = tuple(known)
    try:
        given = (value,) if isinstance(value, str) else tuple(value)
    except TypeError:
        raise TypeError(
            f"{name} = {repr(value)[:60]}: must be some of {', '.join(known)}"
        ) from None
    for item in given:
        one_of(item, known, name)
    return given


def seed_key(seed: Any) -> npt.NDArray[np.uint64]:
    """Four words from an int, a ``SeedSequence``, a ``Generator`` or None (fresh entropy)."""
    if isinstance(seed, np.random.Generator):
        drawn: npt.NDArray[np.uint64] = seed.integers(0, 2**64, size=4, dtype=np.uint64)
        return drawn
    if not isinstance(seed, np.random.SeedSequence):
        if isinstance(seed, (bool, float)) or (isinstance(seed, int) and seed < 0):
            raise ValueError(f"seed = {seed!r}: must be a non-negative integer")
        try:
            seed = np.random.SeedSequence(seed)
        except (TypeError, ValueError):
            raise TypeError(
                f"seed = {repr(seed)[:60]}: must be a non-negative integer, a SeedSequence, "
                "a Generator or None"
            ) from None
    words: npt.NDArray[np.uint64] = seed.generate_state(4, np.uint64)
    return words


def _whole_number(name: str) -> str:
    if name in _COUNTS:
        return "must be a whole number"
    return "must be a whole number of ticks (count in a smaller unit)"


def _whole(item: Any, name: str, index: tuple[int, ...]) -> int:
    """One whole number of an object array; not by way of a float, which holds 53 bits only."""
    entry = _entry(name, index)
    if isinstance(item, (float, np.floating)):
        if not float(item).is_integer():
            raise ValueError(f"{entry} = {item}: {_whole_number(name)}")
    elif isinstance(item, bool) or not isinstance(item, (int, np.integer)):
        raise TypeError(f"{entry} = {repr(item)[:60]}: must be a number")
    whole = int(item)
    if not -_LIMIT <= whole < _LIMIT:
        # Python refuses to print integers of thousands of digits.
        shown = "" if isinstance(item, int) and whole.bit_length() > 200 else f" = {item}"
        raise OverflowError(f"{entry}{shown}: does not fit 64 bits")
    return whole


def _refuse(
    bad: npt.NDArray[np.bool_],
    array: npt.NDArray[Any],
    name: str,
    what: str,
    error: type[Exception] = ValueError,
) -> None:
    if bad.any():
        index = tuple(int(i) for i in np.argwhere(bad)[0])
        raise error(f"{_entry(name, index)} = {array[index]}: {what}")


def _entry(name: str, index: tuple[int, ...]) -> str:
    return f"{name}[{', '.join(map(str, index))}]" if index else name
