"""The C module copies every array it is given: later writes by the caller change nothing.

A view that was made before its array became read-only can still be written to, so an array that
looks constant is not. The arrays of these tests are of that kind.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pytest
from core_answers import LATER, UNLIMITED, good, plain
from hostile_calls import named, public_names
from native import CSRC, positional

from gpusched import _core


class Lent:
    """A read-only array, and the view that still writes to it."""

    def __init__(self, value: Any) -> None:
        self.array = np.array(value)
        self.view = self.array[...]
        self.array.flags.writeable = False
        assert self.view.flags.writeable

    def spoil(self) -> None:
        """Overwrite it with what every function refuses or answers differently to."""
        kind = self.view.dtype
        self.view[...] = np.nan if kind.kind == "f" else np.iinfo(kind).min or np.iinfo(kind).max


class Asked:
    """Converts to a read-only array, after a call of `before`."""

    def __init__(self, array: Any, before: Callable[[], None]) -> None:
        self.array = array
        self.before = before

    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        self.before()
        return self.array


def lend(values: dict[str, Any]) -> dict[tuple[str, int], Lent]:
    """Every array of the arguments by its parameter and place in a tuple."""
    lent = {}
    for key, value in values.items():
        items = value if isinstance(value, tuple) else (value,)
        for at, item in enumerate(items):
            if isinstance(item, np.ndarray):
                lent[key, at] = Lent(item)
    return lent


def call(name: str, values: dict[str, Any], given: dict[tuple[str, int], Any]) -> Any:
    """Call with the given arrays in place of those of the arguments."""
    changed = dict(values)
    for key, value in values.items():
        if isinstance(value, tuple):
            changed[key] = tuple(given.get((key, at), item) for at, item in enumerate(value))
        elif (key, 0) in given:
            changed[key] = given[key, 0]
    return positional(named(name))(*changed.values())


def answers(name: str, values: dict[str, Any], lent: dict[tuple[str, int], Any]) -> list[Any]:
    return plain(name, call(name, values, lent))


def with_arrays() -> list[str]:
    """The functions of which a good call has an array."""
    return [name for name in sorted(public_names()) if lend(good(name))]


@pytest.mark.parametrize("name", with_arrays())
def test_earlier_arguments_may_change(name: str) -> None:
    # While one array is read, all those that were read before it are overwritten.
    values, lent = good(name), lend(good(name))
    expected = answers(name, values, {})
    order: list[tuple[str, int]] = []

    def read(key: tuple[str, int]) -> None:
        for before in order:
            lent[before].spoil()
        order.append(key)

    asked = {key: Asked(one.array, partial(read, key)) for key, one in lent.items()}
    assert answers(name, values, asked) == expected
    assert len(order) == len(set(order)) > 0

    # Arrays instead of what converts to them, but for the last one that is read.
    lent = lend(values)

    def spoil() -> None:
        for key in order[:-1]:
            lent[key].spoil()

    given: dict[tuple[str, int], Any] = {key: one.array for key, one in lent.items()}
    given[order[-1]] = Asked(lent[order[-1]].array, spoil)
    assert answers(name, values, given) == expected


@pytest.mark.parametrize("name", LATER)
def test_opened_objects_keep_copies(name: str) -> None:
    values, lent = good(name), lend(good(name))
    opened = call(name, values, {key: one.array for key, one in lent.items()})
    for one in lent.values():
        one.spoil()
    assert plain(name, opened) == answers(name, values, {})


def test_another_thread_writes_during_a_search() -> None:
    # Both contents are valid, and only their mixture is not: a search that checked one and went on
    # with the other would leave its memory, which a sanitizer reports.
    sets = 500
    contents = [
        (np.repeat([[40, 50, 100]], sets, 0), np.repeat([[0, 1, 3, 4, 3, 4, 4, 6]], sets, 0)),
        (np.repeat([[4, 5, 10]], sets, 0), np.repeat([[0, 4, 5, 9, 9, 0, 9, 0]], sets, 0)),
    ]
    period, table = (Lent(value) for value in contents[0])
    options: dict[str, Any] = {"idling": False, "thorough": True, "policy": False}
    options |= {"policy_limit": 0, "states": 0} | UNLIMITED
    done = threading.Event()

    def write() -> None:
        while not done.is_set():
            for content in contents:
                period.view[...], table.view[...] = content

    writer = threading.Thread(target=write)
    writer.start()
    try:
        for _ in range(50):
            given = (period.array, period.array, 0 * period.array, table.array, None)
            columns = _core.pbs_search(*given, **options)[0]
            assert set(columns[0].tolist()) <= {0, 1}
    finally:
        done.set()
        writer.join()


def test_arrays_are_read_in_one_place() -> None:
    # What arrays.c returns is a copy; py_host_set.c copies columns before it checks them.
    readers = {
        path.name
        for path in (CSRC / "python").rglob("*.c")
        if any(word in path.read_text() for word in ("PyArray_From", "PyArray_GETCONTIGUOUS"))
    }
    assert readers == {"arrays.c", "py_host_set.c"}
    buffers = {
        path.name
        for path in (CSRC / "python").rglob("*.c")
        if "PyObject_GetBuffer" in path.read_text()
    }
    assert buffers == {"call.c"}  # the stop flag
