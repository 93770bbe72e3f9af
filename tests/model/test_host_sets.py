"""Single sets of `HostTasks`: the core's quick construction agrees with the check in Python.

The core takes most sets in one call and leaves all others, among them every set that is refused, to
the check in Python. Each input is made with both: equal sets, or the same error.
"""

from collections.abc import Callable
from random import Random
from typing import Any

import numpy as np
import pytest

import gpusched as gs
from gpusched import _core

pytestmark = pytest.mark.python

ROWS = ("deadline", "jitter", "priority", "offset", "core", "segments")


def outcome(make: Callable[[], gs.HostTasks]) -> object:
    """Everything about a set, or its error."""
    try:
        made = make()
    except (ValueError, TypeError, OverflowError) as error:
        return type(error), str(error)
    for key, array in made._arrays().items():
        assert not array.flags.writeable and array.flags.c_contiguous, key
    arrays = {key: (a.dtype, a.shape, a.tobytes()) for key, a in made._arrays().items()}
    return arrays, made.name, list(made._derived)


def both(make: Callable[[], gs.HostTasks], monkeypatch: pytest.MonkeyPatch) -> tuple[object, bool]:
    """The outcome with and without the core, and whether the core took the set."""
    quick, taken = _core.host_set, []

    def counted(*given: Any, **row: Any) -> object:
        found = quick(*given, **row)
        taken.append(found is not None)
        return found

    monkeypatch.setattr(_core, "host_set", counted)
    found = outcome(make)
    monkeypatch.setattr(_core, "host_set", lambda *given, **row: None)
    monkeypatch.setattr(_core, "host_segments", lambda jobs: None)
    assert outcome(make) == found
    monkeypatch.undo()
    return found, any(taken)


def column(r: Random, shape: tuple[int, ...], low: int, high: int, odd: float) -> Any:
    """Numbers as lists, or as arrays, now and then with one that is odd."""
    array = np.array([r.randint(low, high) for _ in range(int(np.prod(shape)))]).reshape(shape)
    if r.random() < odd and array.size:
        array.flat[r.randrange(array.size)] = r.choice((-1, 0, 2**61, -(2**63), 50))
    if array.ndim and r.random() < 0.5:
        return array.tolist()
    if r.random() < odd:
        return r.choice((None, array.astype(np.int32), array * 1.0, array * 0.5, "x", [[1], 2]))
    return array if array.ndim else int(array)


def axes(given: Any) -> int:
    try:
        return int(np.ndim(given))
    except ValueError:  # lists of different lengths
        return 0


def arguments(r: Random, odd: float) -> dict[str, Any]:
    n, width, columns = r.randint(1, 5), r.randint(0, 3), r.randint(1, 3)
    given: dict[str, Any] = {"period": column(r, (n,), 50, 90, odd)}
    given["cpu"] = column(r, r.choice(((n, width + 1), (n,))), 0, 9, odd)
    if axes(given["cpu"]) == 1 and r.random() < 0.9:
        width = 0
    shapes = ((), (n,), (n, width))
    for key in ("copy_in", "copy_out"):
        if r.random() < 0.7:
            given[key] = column(r, r.choice(shapes), 0, min(width, 1) * 4, odd)
    if r.random() < 0.8:
        shape = r.choice((*shapes, (n, width, columns)))
        given["kernel"] = column(r, shape, 0, min(width, 1) * 6, odd)
        if len(shape) == 3 and isinstance(given["kernel"], np.ndarray) and r.random() < 0.8:
            given["kernel"] = -np.sort(-given["kernel"], axis=-1)
    lows = {"deadline": (40, 90), "jitter": (0, 9), "core": (-1, 3), "segments": (width, width)}
    for key in ROWS:
        if r.random() < 0.3:
            low, high = lows.get(key, (0, 9))
            given[key] = column(r, r.choice(((), (n,))), low, high, odd)
    if "segments" in given and r.random() < 0.5:  # fewer, and 0 beyond
        counts = np.array([r.randint(0, width) for _ in range(n)])
        given["segments"] = counts
        for key, more in (("cpu", 1), ("copy_in", 0), ("copy_out", 0), ("kernel", 0)):
            if axes(given.get(key, 0)) > 1 and r.random() < 0.9:
                given[key] = np.array(given[key])
                beyond = np.arange(given[key].shape[1]) >= counts[:, None] + more
                given[key][beyond] = 0
    if r.random() < 0.2:
        given["sm"] = [r.sample(range(4), r.randint(0, 3)) for _ in range(n)]
    if r.random() < 0.1:
        given["name"] = [f"n{i}" for i in range(n)]
    return given


@pytest.mark.parametrize("odd", [0, 0.1])
def test_columns(odd: float, monkeypatch: pytest.MonkeyPatch) -> None:
    r, taken, refused = Random(f"columns {odd}"), 0, 0
    for _ in range(400):
        given = arguments(r, odd)
        found, quick = both(lambda given=given: gs.HostTasks(**given), monkeypatch)  # type: ignore[misc]
        taken += quick
        refused += isinstance(found, tuple) and len(found) == 2
    assert taken > 80
    assert refused > 20


def job(r: Random, odd: float) -> Any:
    """A list of segments in order of execution."""

    def time() -> Any:
        return r.choice((-1, 2.0, 2**63, True, "x", [3])) if r.random() < odd else r.randint(0, 9)

    found: list[Any] = []
    for _ in range(r.randint(1, 3)):
        if r.random() < 0.8:
            found.append(time())
        if r.random() < 0.7:
            first = r.randint(5, 9)
            kernel = r.choice((time(), [first, *sorted((r.randint(0, 5), 2), reverse=True)]))
            found.append(r.choice((tuple, list))((time(), kernel, time())))
        elif r.random() > odd:
            break
    return r.choice((found, tuple(found), found if odd else [*found[:1]] or [1]))


@pytest.mark.parametrize("odd", [0, 0.03])
def test_segments(odd: float, monkeypatch: pytest.MonkeyPatch) -> None:
    r, taken, refused = Random(f"segments {odd}"), 0, 0
    for _ in range(400):
        jobs = [job(r, odd) for _ in range(r.randint(1, 4))]
        periods = [r.randint(50, 90) for _ in range(len(jobs) + (r.random() < odd))]

        def make(periods: Any = periods, jobs: Any = jobs) -> gs.HostTasks:
            return gs.HostTasks.from_segments(periods, jobs)

        found, quick = both(make, monkeypatch)
        taken += quick
        refused += isinstance(found, tuple) and len(found) == 2
    assert taken > 80
    assert odd == 0 or refused > 20


def test_what_another_thread_sees_later_is_not_the_input() -> None:
    period, cpu = np.array([50, 60]), np.array([[3, 4], [5, 6]])
    hosts = gs.HostTasks(period, cpu, kernel=7)
    period[:], cpu[:] = 1, 0
    assert hosts.period.tolist() == [50, 60] and hosts.cpu.tolist() == [[3, 4], [5, 6]]


@pytest.mark.parametrize(
    "jobs", [[], "ab", None, [[]], [[1, (1, [], 1)]], [[1, 2]], [[(1, 2)]], [[-1]], [[True]]]
)
def test_jobs_that_the_core_leaves_to_python(jobs: object) -> None:
    assert _core.host_segments(jobs) is None
    assert _core.host_segments([[1, (1, [3], 1)], [1]]) is not None
