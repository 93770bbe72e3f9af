"""Arguments that the simulators of releases share: releases, values per set, shares, victims."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import numpy.typing as npt

from gpusched._support.arguments import Int64Array, int_array, integer, is_sequence, real, some_of
from gpusched._support.text import shown
from gpusched.model.jobs import Jobs
from gpusched.model.kernel_chains import KernelChains
from gpusched.model.kernel_tasks import KernelTasks

if TYPE_CHECKING:
    import pandas as pd

Releases: TypeAlias = (
    "Sequence[npt.ArrayLike] | npt.NDArray[Any] | Mapping[str, npt.ArrayLike] | Jobs | pd.DataFrame"
)
"""Release times: one row per task, columns ``task`` and ``time``, or the jobs of a run."""

_FORMS = "a row of times per task, columns task and time, or the jobs of a run"


@dataclass(frozen=True)
class GivenReleases:
    """Releases in rows of different lengths: those of task i are ``release[begin[i]:begin[i+1]]``.

    Attributes
    ----------
    begin
        Offsets of the rows, (n + 1,).
    release
        Release times in ticks, ascending for each task.
    given
        Block times of these jobs; None if they were not given.
    """

    begin: Int64Array
    release: Int64Array
    given: Int64Array | None


def read_releases(
    releases: Any, times: Any, tasks: KernelTasks | KernelChains, closer: bool | None, latest: int
) -> GivenReleases:
    """Read and check ``releases`` and ``times`` as ``gs.simulate.fifo`` takes them.

    ``closer``: whether releases may be closer than the period; None if the caller has no such
    option. ``latest``: the time before which all releases must be. Raises ValueError, OverflowError
    and TypeError with row and value.
    """
    entry_of_time: Callable[[int], str]
    if isinstance(releases, (Jobs, Mapping)) or hasattr(releases, "columns"):
        task, time, entry, order = _columns(releases, tasks.n)
        given = None if times is None else int_array(times, "times")
        if given is not None and given.shape != time.shape:
            raise ValueError(f"times: got shape {given.shape}, expected {time.shape}")
        time, given = time[order], None if given is None else given[order]
        task, entry_of_time = task[order], lambda k: f"times[{order[k]}]"
    else:
        rows = _rows(releases, tasks.n, "releases")
        task = np.repeat(np.arange(tasks.n), [len(row) for row in rows])
        time = np.concatenate(rows)
        given = None
        if times is not None:
            durations = _rows(times, tasks.n, "times")
            for i, (row, other) in enumerate(zip(durations, rows, strict=True)):
                if row.shape != other.shape:
                    raise ValueError(
                        f"times[{i}]: got {len(row)} entries, expected one per release "
                        f"({len(other)})"
                    )
            given = np.concatenate(durations)
        entry, entry_of_time = _entry("releases", rows), _entry("times", rows)
    begin = np.searchsorted(task, np.arange(tasks.n + 1)).astype(np.int64)
    _check_times(time, task, tasks, closer, latest, entry)
    if given is not None:
        most = tasks.block_time[task]
        if (wrong := np.flatnonzero((given < 1) | (given > most))).size:
            k = int(wrong[0])
            raise ValueError(
                f"{entry_of_time(k)}: got {given[k]}, expected 1 to {most[k]}, the block_time of "
                f"task {task[k]}"
            )
    return GivenReleases(begin, np.ascontiguousarray(time), given)


def _columns(
    releases: Any, n: int
) -> tuple[Int64Array, Int64Array, Callable[[int], str], Int64Array]:
    """Task and instant of each release, the name of entry k in order, and that order: by task."""
    if isinstance(releases, Jobs):
        column, task, time = "release", releases.task, releases.release
    else:
        column = "time"
        for name in ("task", column):
            if name not in releases:
                raise ValueError(f"releases: got no column {name!r}, expected {_FORMS}")
        task = int_array(releases["task"], "releases.task")
        time = int_array(releases[column], "releases.time")
    if task.ndim != 1 or task.shape != time.shape:
        raise ValueError(
            f"releases: got columns of shapes {task.shape} and {time.shape}, expected one length"
        )
    if (wrong := np.flatnonzero((task < 0) | (task >= n))).size:
        k = int(wrong[0])
        raise ValueError(
            f"releases.task[{k}]: got {task[k]}, expected 0 to {n - 1}, a task's index"
        )
    order = np.argsort(task, kind="stable")
    return task, time, lambda k: f"releases.{column}[{order[k]}]", order


def _rows(given: Any, n: int, name: str) -> list[Int64Array]:
    if not is_sequence(given):
        raise TypeError(f"{name}: got {shown(given)}, expected {_FORMS}")
    rows = list(given)
    if len(rows) != n:
        raise ValueError(f"{name}: got {len(rows)} rows, expected one per task ({n})")
    arrays = [int_array(row, f"{name}[{i}]") for i, row in enumerate(rows)]
    for i, row in enumerate(arrays):
        if row.ndim != 1:
            raise ValueError(f"{name}[{i}]: got shape {row.shape}, expected a row of times")
    return arrays


def _entry(name: str, rows: list[Int64Array]) -> Callable[[int], str]:
    """The name of entry k of all rows."""
    ends = np.cumsum([len(row) for row in rows])

    def entry(k: int) -> str:
        i = int(np.searchsorted(ends, k, side="right"))
        return f"{name}[{i}][{k - int(ends[i]) + len(rows[i])}]"

    return entry


def _check_times(
    time: Int64Array,
    task: Int64Array,
    tasks: KernelTasks | KernelChains,
    closer: bool | None,
    latest: int,
    entry: Callable[[int], str],
) -> None:
    if (wrong := np.flatnonzero(time < 0)).size:
        k = int(wrong[0])
        raise ValueError(f"{entry(k)}: got {time[k]}, expected a number of at least 0")
    if (wrong := np.flatnonzero(time >= latest)).size:
        k = int(wrong[0])
        raise OverflowError(f"{entry(k)}: got {time[k]}, expected less than {latest}")
    apart = np.zeros_like(time) if closer else tasks.period[task]
    short = (np.diff(time) < apart[1:]) & (np.diff(task) == 0)
    if (wrong := np.flatnonzero(short)).size:
        k = int(wrong[0]) + 1
        before, i = int(time[k - 1]), int(task[k])
        if closer or time[k] < before:
            least = f"at least {before}, the release before it (times of a task in order)"
        else:
            least = (
                f"at least {before + int(tasks.period[i])}, a period ({tasks.period[i]}) after the "
                f"release before it at {before}"
            )
            if closer is not None:
                least += "; closer=True allows it"
        raise ValueError(f"{entry(k)}: got {time[k]}, expected {least}")


def is_one(value: Any, name: str) -> bool:
    """Whether this is one value for all sets, as opposed to one per set."""
    try:
        return np.ndim(value) == 0
    except ValueError:  # rows of different lengths
        raise ValueError(f"{name}: got {shown(value)}, expected one value or one per set") from None


def per_set(value: Any, sets: int, name: str) -> Int64Array:
    """One number per set, (sets,)."""
    array = int_array(value, name)
    if array.shape not in ((), (sets,)):
        raise ValueError(
            f"{name}: got shape {array.shape}, expected one number, or one per set ({sets})"
        )
    return np.ascontiguousarray(np.broadcast_to(array, (sets,)))


def victim_per_set(victim: Any, sets: int, n: int) -> Int64Array:
    """Index of each set's victim, (sets,); -1: none (None for all sets, -1 in a row of them)."""
    one = is_one(victim, "victim")
    given = victim
    if one:
        given = -1 if victim is None else integer(victim, "victim")
    victims = per_set(given, sets, "victim")
    wrong = np.flatnonzero((victims >= n) | (victims < (0 if one else -1)))
    if victim is not None and wrong.size:
        i = int(wrong[0])
        which = "" if one else f"[{i}]"
        raise ValueError(f"victim{which}: got {victims[i]}, expected 0 to {n - 1}, a task's index")
    return victims


def trigger_bits(triggers: Any, known: Sequence[str]) -> int:
    """The triggers of an adversary as a bit mask."""
    bits = sum(1 << known.index(name) for name in set(some_of(triggers, known, "triggers")))
    if bits == 0:
        raise ValueError(f"triggers: got none, expected some of {', '.join(known)}")
    return bits


def execution_shares(
    execution: Any, of: str, *, name: str = "execution", zero: bool = False
) -> tuple[Fraction, Fraction]:
    """The shortest and the longest time, as shares of ``of``; zero: whether all may be 0."""
    pair = execution if isinstance(execution, (tuple, list)) else (execution, execution)
    if len(pair) != 2:
        raise ValueError(f"{name}: got {len(pair)} numbers, expected one, or (low, high)")
    low, high = (_share(value, name) for value in pair)
    if not 0 <= low <= high <= 1 or (high == 0 and not zero):
        raise ValueError(
            f"{name}: got {repr(execution)[:60]}, expected shares of the {of}, within 0 .. 1 "
            "and in order"
        )
    return low, high


def gap_share(gap: Any, name: str) -> Fraction:
    """Longest delay of a release, as a share of the period."""
    share = _share(gap, name)
    if share < 0:
        raise ValueError(f"{name}: got {gap}, expected 0 or more")
    return share


def _share(value: Any, name: str) -> Fraction:
    """A share as an exact fraction of its decimal digits: 0.1 is a tenth."""
    if isinstance(value, Fraction):
        return value
    number = real(value, name)
    if not math.isfinite(number):
        raise ValueError(f"{name}: got {number}, expected a finite number")
    return Fraction(repr(number))
