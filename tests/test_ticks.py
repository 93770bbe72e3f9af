"""Verdicts that do not depend on the tick: the same programs in ticks of 1 ms, 1 us and 1 ns."""

from __future__ import annotations

import tempfile
from fractions import Fraction
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pytest

import gpusched as gs
from gpusched.comparison.finer_ticks import grain_of

SMALL = gs.GPU(sms=2, threads_per_sm=1024, blocks_per_sm=8)
TICKS = ("ms", "us", "ns")
NS = {"ms": 10**6, "us": 10**3, "ns": 1}


def program(random: Random, tick: str, processes: bool) -> gs.Workload:
    """A program of one to four tasks whose times are whole ms."""

    def kernel() -> gs.Kernel:
        time, blocks = random.randrange(1, 16), random.choice((1, 2, 7, 16, 17, 40, 90))
        return gs.Kernel(f"{time}ms", blocks=blocks, threads=random.choice((64, 256, 1024)))

    tasks = []
    for i in range(random.randrange(1, 5)):
        segments: list[Any] = [kernel() for _ in range(random.choice((1, 1, 2)))]
        if random.random() < 0.5:
            segments.insert(0, gs.CPU(f"{random.randrange(1, 4)}ms"))
        if random.random() < 0.2:
            segments.insert(0, gs.CopyIn("1ms"))
        period = random.choice((40, 60, 80, 120))
        deadline = random.randrange(15, period + 1)
        tasks.append(
            gs.Task(
                f"t{i}",
                f"{period}ms",
                segments,
                deadline=f"{deadline}ms",
                process=f"p{i}" if processes else None,
            )
        )
    return gs.Workload(tasks, tick)


def platform_of(random: Random, w: gs.Workload) -> gs.Platform:
    names = [task.name for task in w]
    shares = {name: random.choice((50, 100)) for name in names if w[name].process}
    green = {names[0]: 8, tuple(names[1:]): 8} if len(names) > 1 else {names[0]: 8}
    return gs.Platform(
        "AGX Orin" if random.random() < 0.6 else "A30",
        cpus=4,
        slowdown=random.choice((None, (1.1, 1.4), 1.25)),
        launch_latency=random.choice((0, 0, "1ms")),
        mps={f"p{name[1:]}": share for name, share in shares.items()} or None,
        green_contexts=green,
    )


def in_ns(values: Any, tick: str) -> list[int | None]:
    return [None if value is np.ma.masked else int(value) * NS[tick] for value in values]


def agree(coarse: list[int | None], fine: list[int | None], tick: str) -> bool:
    """Whether times in ns are the same, if those of ``coarse`` are rounded up to its ticks."""
    up = [None if time is None else -(-time // NS[tick]) * NS[tick] for time in fine]
    return coarse == up


def same(seed: int) -> int:
    """Check one program; returns the number of rows with an answer in finer ticks."""
    found = {}
    for tick in TICKS:
        random = Random(seed)
        processes = random.random() < 0.3
        w = program(random, tick, processes)
        found[tick] = gs.compare(w, platform_of(random, w))
    fine = 0
    for rows in zip(*found.values(), strict=True):
        label = f"{seed}: {rows[0].label}"
        if rows[0].way.name == "container":  # its budget is a whole number of ticks
            continue
        *coarse, ns = rows
        for row, tick in zip(coarse, TICKS, strict=False):
            assert row.schedulable == ns.schedulable, label
            assert (row.answer is None) == (ns.answer is None), label
            assert (row.run is None) == (ns.run is None), label
            if row.answer is not None and ns.answer is not None:
                fine += row.answer.grain > 1
                assert (row.answer.accepted, row.answer.rejected) == (
                    ns.answer.accepted,
                    ns.answer.rejected,
                ), label
                bounds = in_ns(row.answer.response, tick), in_ns(ns.answer.response, "ns")
                assert agree(*bounds, tick), (label, tick, bounds)
            if row.run is not None and ns.run is not None:
                fine += row.run.grain > 1
                seen = in_ns(row.run.worst, tick), in_ns(ns.run.worst, "ns")
                assert agree(*seen, tick), (label, tick, seen)
        assert found["ms"].impossible == found["ns"].impossible
    return fine


def test_the_same_program_in_other_ticks() -> None:
    assert sum(map(same, range(12))) > 100


@pytest.mark.long
def test_many_programs_in_other_ticks() -> None:
    assert sum(map(same, range(100, 300))) > 1000
