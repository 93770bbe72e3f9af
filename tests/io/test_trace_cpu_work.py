"""CPU work of jobs against a count of single ns."""

from __future__ import annotations

import random

import numpy as np
import pytest

from gpusched.io.traces.trace_jobs import IN, GpuWork, Waits, cpu_work
from gpusched.io.traces.trace_tables import Calls, TraceEvents

pytestmark = pytest.mark.python


def column(values: list[int]) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    return np.array(values, np.int64)


@pytest.mark.parametrize("seed", range(200))
def test_cpu_work_agrees_with_a_count(seed: int) -> None:
    chance = random.Random(seed)
    calls, ops, now, free = [], [], chance.randint(0, 9), 0  # calls: start, end, thread, waits
    begin = now - chance.randint(0, 5)
    for _ in range(chance.randint(0, 6)):
        returned = now + chance.randint(0, 4)
        start = max(free, now) + chance.randint(0, 5)
        free = start + chance.randint(0, 9)
        copy = chance.random() < 0.3
        if copy and chance.random() < 0.5:
            returned = free + chance.randint(0, 3)  # it blocks
        ops.append((IN if copy else 0, start, free, len(calls)))
        calls.append((now, returned, chance.choice([0, 0, 0, 1]), False))
        now = returned + chance.randint(0, 6)
        if chance.random() < 0.5:
            calls.append(
                (now, max(now, free) + chance.randint(0, 3), chance.choice([0, 0, 1]), True)
            )
            now = calls[-1][1] + chance.randint(0, 6)
    end = now + chance.randint(0, 9)

    events = TraceEvents(
        calls=Calls(*(column([c[i] for c in calls]) for i in range(3)),
                    np.array([c[3] for c in calls], bool)),
        threads=[(1, 1), (1, 2)],
    )  # fmt: skip
    zeros = column([0] * len(ops))
    kernel, starts, ends, of_call = (column([op[i] for op in ops]) for i in range(4))
    others = (zeros[:0], zeros[:0], zeros[:0] > 0)
    work = GpuWork(kernel, zeros, starts, ends, zeros, zeros, zeros, of_call, ["k"], others, [])
    rows = np.arange(len(ops)).reshape(1, -1)
    where = (column([begin]), column([end]), column([0]))
    found = cpu_work(events, work, Waits(events, work), rows, *where)

    waits = [(c[0], c[1], c[2]) for c in calls if c[3]]
    for kind, start, last, call in ops:
        if kind == IN and calls[call][1] >= last:
            waits.append((max(start, calls[call][0]), calls[call][1], calls[call][2]))

    def working(thread: int, first: int, last: int) -> int:
        return sum(
            not any(of == thread and a <= t < b for a, b, of in waits) for t in range(first, last)
        )

    def waited(thread: int, first: int, last: int) -> bool:
        return working(thread, first, last) < max(last - first, 0)

    idle_from, before, unwaited = begin, [], []
    for i, (_, start, last, call) in enumerate(ops):
        called, returned, thread, _ = calls[call]
        launched = max(called, min(returned, start))
        own = 0 if i == 0 else thread
        time = working(own, idle_from, launched)
        counts = i == 0 or any(waited(of, calls[ops[i - 1][3]][0], called) for of in (own, 0))
        before.append(time if counts else 0)
        unwaited.append(0 if counts else time)
        idle_from = max(idle_from, last) if i else last
    assert found.before.tolist() == [before]
    assert found.unwaited.tolist() == [unwaited]
    assert found.after.tolist() == [working(0, max(idle_from, begin), end)]
