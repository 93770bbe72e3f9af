"""Launch calls in annotated ranges: agreement with a slow twin, refusals, many ranges."""

from __future__ import annotations

import random

import numpy as np
import pytest
from reference import trace_ranges as twin

from gpusched.io.traces.trace_jobs import (
    NONE,
    SEVERAL,
    Occurrences,
    chosen_ranges,
    owners,
    task_namer,
)
from gpusched.io.traces.trace_tables import OF_PROCESS, OF_THREAD, Ranges, TraceEvents

pytestmark = pytest.mark.python

UNIT = 10_000  # ns; ends that differ by less than 1 us count as rounded


def events_of(
    ranges: list[twin.Range], process: list[int], helpers: frozenset[int] = frozenset()
) -> TraceEvents:
    return TraceEvents(
        ranges=Ranges(
            name=np.array([r.name for r in ranges], object),
            start=np.array([r.start for r in ranges], np.int64),
            end=np.array([r.end for r in ranges], np.int64),
            thread=np.array([r.thread for r in ranges], np.int64),
            kind=np.array([OF_PROCESS if r.anywhere else OF_THREAD for r in ranges], np.int64),
            row=np.arange(len(ranges)),
        ),
        threads=[(of, i) for i, of in enumerate(process)],
        helpers=helpers,
        where="file: ranges[{}]",
    )


def nested(
    chance: random.Random, thread: int, start: int, end: int, depth: int
) -> list[twin.Range]:
    """Random ranges inside each other, or beside."""
    found = []
    while start < end and chance.random() < 0.8:
        first = chance.randint(start, end)
        last = chance.randint(first, end)
        found.append(twin.Range(chance.choice("abc"), first * UNIT, last * UNIT, thread))
        if depth:
            found += nested(chance, thread, first, last, depth - 1)
        start = last
    return found


def found_ranges(events: TraceEvents, found: Occurrences) -> list[tuple[str, int, int, int]]:
    names = [found.names[task].split(" (")[0] for task in found.task.tolist()]
    return list(zip(names, found.start.tolist(), found.end.tolist(), found.thread.tolist(),
                    strict=True))  # fmt: skip


@pytest.mark.parametrize("nesting", ["outermost", "innermost"])
@pytest.mark.parametrize("seed", range(150))
def test_assignment_agrees_with_the_twin(seed: int, nesting: str) -> None:
    chance = random.Random(f"{seed}")
    count = chance.randint(1, 5)
    process = [chance.randint(1, 2) for _ in range(count)]
    helpers = {i for i in range(count) if chance.random() < 0.25}
    ranges = [
        one
        for thread in range(count)
        if chance.random() < 0.7
        for one in nested(chance, thread, 0, 30, 2)
    ]
    for _ in range(chance.randint(0, 4)):
        first = chance.randint(0, 30)
        last = chance.randint(first, 30)
        thread = chance.randrange(count)
        ranges.append(twin.Range(chance.choice("abc"), first * UNIT, last * UNIT, thread, True))
    chance.shuffle(ranges)
    calls = [(chance.randint(-1, 31) * UNIT, chance.randrange(count)) for _ in range(60)]
    events = events_of(ranges, process, frozenset(helpers))
    try:
        kept = twin.jobs(ranges, process, helpers, nesting == "innermost")
    except ValueError:
        with pytest.raises(ValueError, match=r"^file: ranges\[\d+\]: got the range '[abc]', which"):
            chosen_ranges(events, task_namer(None, False), nesting)
        return
    found = chosen_ranges(events, task_namer(None, False), nesting)
    rows = found_ranges(events, found)
    assert sorted(rows) == sorted((r.name, r.start, r.end, r.thread) for r in kept)
    times, threads = (np.array(column, np.int64) for column in zip(*calls, strict=True))
    for call, own in zip(calls, owners(events, found, times, threads).tolist(), strict=True):
        wanted = twin.owner(*call, kept, ranges, process, helpers)
        if isinstance(wanted, str):
            assert own == {twin.NONE: NONE, twin.SEVERAL: SEVERAL}[wanted]
        else:
            assert rows[own] == (wanted.name, wanted.start, wanted.end, wanted.thread)


def test_ends_that_were_rounded_count_as_nested() -> None:
    ranges = [twin.Range("a", 0, 10_000, 0), twin.Range("b", 5_000, 11_000, 0)]
    found = chosen_ranges(events_of(ranges, [1]), task_namer(None, False), "innermost")
    assert (found.start.tolist(), found.end.tolist()) == ([5_000], [10_000])
    ranges[1] = twin.Range("b", 5_000, 11_001, 0)
    with pytest.raises(
        ValueError, match=r"ranges\[1\]: got the range 'b', which overlaps 'a' \(0\)"
    ):
        chosen_ranges(events_of(ranges, [1]), task_namer(None, False), "outermost")


def test_only_chosen_ranges_have_to_be_nested() -> None:
    ranges = [twin.Range("a", 0, 10_000, 0), twin.Range("b", 5_000, 15_000, 0)]
    found = chosen_ranges(events_of(ranges, [1]), task_namer("b", False), "outermost")
    assert found.start.tolist() == [5_000]


def test_ranges_of_one_name_on_several_threads() -> None:
    apart = [twin.Range("a", 0, 10, 0), twin.Range("a", 10, 20, 1)]
    task_of = task_namer(None, False)
    assert chosen_ranges(events_of(apart, [1, 1]), task_of, "outermost").names == ["a"]
    together = [*apart, twin.Range("a", 15, 30, 0)]
    found = chosen_ranges(events_of(together, [1, 1]), task_of, "outermost")
    assert found.names == ["a (thread 0)", "a (thread 1)"]
    found = chosen_ranges(events_of(apart, [1, 2]), task_of, "outermost")
    assert found.names == ["a (process 1)", "a (process 2)"]
    assert found.processes == ["1", "2"]


def test_many_ranges_inside_each_other() -> None:
    count = 200_000
    ranges = Ranges(
        name=np.array(["a"] * count, object),
        start=np.arange(count),
        end=2 * count - np.arange(count),
        thread=np.zeros(count, np.int64),
        kind=np.full(count, OF_THREAD),
        row=np.arange(count),
    )
    events = TraceEvents(ranges=ranges, threads=[(1, 1)], where="{}")
    found = chosen_ranges(events, task_namer(None, False), "innermost")
    assert found.start.tolist() == [count - 1]
    times = np.arange(2 * count)
    own = owners(events, found, times, np.zeros_like(times))
    assert np.flatnonzero(own == 0).tolist() == [count - 1, count]
