"""Fields of saved answers about workloads: workloads and platforms as values, checks of others."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt

from gpusched._support.arguments import flag, instance, integer, integer64, one_of, real
from gpusched._support.text import shown
from gpusched.model.gpus.mps_shares import share_values
from gpusched.model.workload.platforms import Platform
from gpusched.model.workload.time_units import Duration, tick_of
from gpusched.model.workload.workload_document import parts_document, workload_parts
from gpusched.model.workload.workloads import Workload
from gpusched.ways.way import OptionValue, Way, as_way

# Errors of constructors and properties for values that are wrong; most begin with a name.
_NAMED = re.compile(r"\w[\w.\[\]]*: got ")
_WRONG = (ArithmeticError, AttributeError, LookupError, RecursionError, TypeError, ValueError)


def workload_values(workload: Workload) -> dict[str, Any]:
    """The document of a workload, as ``Workload.save`` writes it, with its notes.

    A workload in ticks that are a fraction of a ns is written as one in ticks of 1 ns, with the
    length of its ticks under ``finer``.
    """
    parts, finer = workload._parts(), {}
    if isinstance(parts.tick, Fraction):
        finer = {"finer": parts.tick}
        tasks = tuple(task._ticks_as(1) for task in parts.tasks)
        paths = tuple(path._ticks_as(1) for path in parts.paths)
        parts = parts._replace(tasks=tasks, tick=1, paths=paths)
    return {**parts_document(parts), **finer}


def _workload_of(values: Any) -> Workload:
    if not isinstance(values, dict) or "finer" not in values:
        return Workload._made(*workload_parts(values))
    finer = values["finer"]
    if not isinstance(finer, Fraction) or finer <= 0 or finer.denominator == 1:
        raise ValueError(f"finer: got {shown(finer)}, expected a positive Fraction of a ns")
    parts = workload_parts({key: value for key, value in values.items() if key != "finer"})
    tasks = (task._ticks_as(finer) for task in parts.tasks)
    paths = tuple(path._ticks_as(finer) for path in parts.paths)
    return Workload._made(tasks, finer, parts.notes, parts.observed, paths)


def platform_values(platform: Platform) -> dict[str, Any]:
    """The arguments of a platform, times as ticks or as text, and the length of its tick."""
    tick = platform._tick
    values = platform._given() | {"tick": tick if isinstance(tick, Fraction) else platform.tick}
    if platform.mps is not None:
        values["mps"] = tuple(share_values(platform.mps).items())
    return {k: v.text if isinstance(v, Duration) else v for k, v in values.items()}


def _platform_of(values: object) -> Platform:
    instance(values, dict, "values")
    assert isinstance(values, dict)
    given = FieldValues(values)
    keys = [key.removeprefix("_") for key in Platform._KEYS]
    # Files of versions before these facts lack them.
    added = {
        "mps_partitions": None,
        "channels": None,
        "workqueue": "shared",
        "sm_coscheduling": True,
        "bandwidth": None,
        **dict.fromkeys(("launch_cpu", "graph_launch_cpu", "kernel_gap", "wake_latency"), 0),
    }
    lacking = {key: value for key, value in added.items() if key not in values}
    tick = given.take("tick")
    arguments = lacking | {key: given.take(key) for key in keys if key not in lacking}
    given.done()
    made = Platform(**arguments)
    if isinstance(tick, Fraction):
        if tick <= 0:
            raise ValueError(f"tick: got {shown(tick)}, expected a positive length")
        return made._at(tick)
    return made if tick is None else made._at(tick_of(tick))


@contextmanager
def within(name: str) -> Iterator[None]:
    """Name the field in which a value is wrong: raises ValueError that begins with ``name``."""
    try:
        yield
    except _WRONG as error:
        joint = "." if _NAMED.match(str(error)) else ": "
        raise ValueError(f"{name}{joint}{error}") from None


class FieldValues:
    """Values of a saved object, each of which is checked when it is taken.

    A missing or wrong one raises ValueError, TypeError or OverflowError that begins with its name.
    """

    def __init__(self, values: Mapping[str, Any]) -> None:
        self._left = dict(values)

    def take(self, name: str) -> Any:
        """A value of any kind."""
        if name not in self._left:
            raise ValueError(f"{name}: got none, expected one")
        return self._left.pop(name)

    def done(self) -> None:
        """Raise ValueError for a value that was not taken."""
        for name in self._left:
            raise ValueError(f"{shown(name)}: got an unknown field, expected no such field")

    def text(self, name: str) -> str:
        """A string."""
        value = self.take(name)
        instance(value, str, name)
        return str(value)

    def choice(self, name: str, known: Iterable[str]) -> Any:
        """One of several strings."""
        value = self.take(name)
        one_of(value, known, name)
        return value

    def flag(self, name: str) -> bool:
        """True or False."""
        return flag(self.take(name), name)

    def count(self, name: str) -> int:
        """A whole number from 0 that fits 64 bits."""
        number = integer64(self.take(name), name)
        if number < 0:
            raise ValueError(f"{name}: got {shown(number)}, expected a non-negative number")
        return number

    def grain(self, name: str = "grain") -> int:
        """A number of finer ticks in a tick; 1 in files that do not have it."""
        number = self.count(name) if name in self._left else 1
        if number < 1:
            raise ValueError(f"{name}: got {number}, expected a positive number")
        return number

    def seconds(self, name: str = "seconds") -> float:
        """A wall-clock time."""
        return real(self.take(name), name)

    def fraction(self, name: str) -> Fraction | None:
        """An exact fraction, or None."""
        value = self.take(name)
        instance(value, (Fraction, type(None)), name)
        found: Fraction | None = value
        return found

    def texts(self, name: str) -> tuple[str, ...]:
        """A tuple of strings."""
        return tuple(self._items(name, str))

    def numbers(self, name: str, below: int) -> tuple[int, ...]:
        """A tuple of different whole numbers from 0, less than ``below``."""
        found = tuple(integer(item, name) for item in self._items(name, int))
        if len(set(found)) < len(found) or any(not 0 <= item < below for item in found):
            raise ValueError(
                f"{name}: got {shown(found)}, expected different numbers from 0 to {below - 1}"
            )
        return found

    def cores(self, name: str, tasks: int) -> tuple[int, ...]:
        """A core for each task, or none; none in files that do not have it."""
        items = self._items(name, int) if name in self._left else ()
        found = tuple(integer64(item, name) for item in items)
        if found and (len(found) != tasks or min(found) < 0):
            raise ValueError(
                f"{name}: got {shown(found)}, expected no core, or one for each of {tasks} tasks"
            )
        return found

    def dicts(self, name: str) -> tuple[dict[str, Any], ...]:
        """A tuple of the values of several objects."""
        return tuple(self._items(name, dict))

    def _items(self, name: str, kind: type) -> Iterator[Any]:
        value = self.take(name)
        instance(value, tuple, name)
        for i, item in enumerate(value):
            instance(item, kind, f"{name}[{i}]")
            yield item

    def array(self, name: str, dtype: npt.DTypeLike, length: int | None = None) -> Any:
        """An array of one dimension, of a type and length."""
        value = self.take(name)
        instance(value, np.ndarray, name)
        shape = (value.shape[:1] or (0,)) if length is None else (length,)
        if value.dtype != dtype or value.shape != shape:
            raise ValueError(
                f"{name}: got {value.dtype} of shape {value.shape}, expected {np.dtype(dtype)} of "
                f"shape {shape}"
            )
        return value

    def options(self, name: str = "options") -> dict[str, OptionValue]:
        """Options of a method by name: text, numbers, flags, numbers of tasks, or a way."""
        value = self.take(name)
        instance(value, dict, name)
        for key, item in value.items():
            instance(key, str, name)
            kinds = (tuple,) if key == "gpu_priority" else (str, int, Way)
            instance(item, kinds, f"{name}.{key}")
        if isinstance(value.get("within"), str):  # version 0.1: the inner way's options beside it
            with within(name):
                value = {"within": as_way(value.pop("within"), argument="within", **value)}
        found: dict[str, OptionValue] = value
        return found

    def workload(self, name: str = "workload") -> Workload:
        """The workload of `workload_values`, or a workload itself."""
        value = self.take(name)
        if isinstance(value, Workload):
            return value
        with within(name):
            return _workload_of(value)

    def platform(self, name: str = "platform") -> Platform:
        """The platform of `platform_values`, or a platform itself."""
        value = self.take(name)
        if isinstance(value, Platform):
            return value
        with within(name):
            return _platform_of(value)
