"""Rules of the scheduling hierarchy: the core against its twin, launch latency, scenarios."""

from __future__ import annotations

import random

import numpy as np
from reference import rule_check
from test_examiner import simulation, small_gpu

import gpusched as gs
from gpusched.io import BlockLog, check_rules

RULES = ("idle", "limits", "placement", "priority", "queue", "stream")


def both(
    log: BlockLog, gpu: gs.GPU, tolerance: int, latency: int, placement: bool
) -> list[rule_check.Finding]:
    """What the twin finds, after the core has found the same."""
    expected = rule_check.check(log, gpu, tolerance, placement, latency)
    found = check_rules(log, gpu, tolerance, "most_room" if placement else None, latency)
    assert [(v.rule, v.kernel, v.block, v.time, v.message) for v in found] == expected
    return expected


def arbitrary(rng: random.Random, gpu: gs.GPU) -> BlockLog:
    """A log of blocks at random times on random SMs: most break many rules."""
    kernels = rng.randint(0, 6)
    span = rng.choice([3, 12, 60])
    grid = [rng.randint(1, 7) for _ in range(kernels)]
    kernel = [k for k, blocks in enumerate(grid) for _ in range(blocks)]
    block = [b for blocks in grid for b in range(blocks)]
    rows = list(range(len(kernel)))
    rng.shuffle(rows)
    at = [rng.randrange(span) for _ in range(kernels)]
    start = [at[k] + rng.choice([0, 0, 0, 1, rng.randrange(span)]) for k in kernel]
    few = rng.random() < 0.5
    return BlockLog(
        name=[f"kernel {k}" for k in range(kernels)],
        stream=[rng.randrange(3) + 64 * (rng.random() < 0.3) for _ in range(kernels)],
        launch=[t - rng.choice([0, 0, 1, 5]) for t in at],
        blocks=grid,
        threads=[32 * rng.randint(1, gpu.threads_per_sm // 32) for _ in range(kernels)],
        regs=[rng.choice([0, 0, 4, 8]) for _ in range(kernels)],
        smem=[rng.choice([0, 0, 256, 600]) for _ in range(kernels)],
        kernel=[kernel[r] for r in rows],
        block=[block[r] for r in rows],
        sm=[rng.randrange(gpu.sms) for _ in rows],
        start=[start[r] for r in rows],
        end=[start[r] + rng.choice([0, 1, 2, rng.randrange(span)]) for r in rows],
        priority=[0 if few else rng.randrange(3) for _ in range(kernels)],
        context=[0 if few else rng.randrange(2) for _ in range(kernels)],
        joined=None if rng.random() < 0.7 else [rng.randrange(span) for _ in range(kernels)],
    )


def options(rng: random.Random) -> tuple[int, int, bool]:
    return rng.choice([0, 0, 1, 3, 10]), rng.choice([0, 0, 0, 2, 20]), rng.random() < 0.9


def fitting(log: BlockLog, gpu: gs.GPU) -> bool:
    fits = gs.occupancy(gpu, log.threads, log.regs, log.smem)
    return bool(np.all(fits > 0))


def test_arbitrary_logs_as_the_twin() -> None:
    rules = set()
    for seed in range(1500):
        rng = random.Random(seed)
        gpu = small_gpu(rng)
        log = arbitrary(rng, gpu)
        if fitting(log, gpu):
            rules |= {v.rule for v in both(log, gpu, *options(rng))}
    assert rules == set(RULES)


def test_simulated_and_damaged_logs_as_the_twin() -> None:
    rules = set()
    for seed in range(150):
        rng = random.Random(seed)
        gpu = small_gpu(rng)
        log = simulation(seed, gpu, rng.choice([1, 1, 3]))
        tolerance, latency, placement = options(rng)
        both(log, gpu, tolerance, latency, placement)
        values = log.__reduce__()[1][0] | {"joined": None}
        noise = np.random.default_rng(seed)
        size = rng.choice([1, 5, 30])
        start = 10 * log.start + noise.integers(0, size, len(log.start))
        end = np.maximum(start, 10 * log.end - noise.integers(0, size, len(log.start)))
        sm = log.sm.copy()
        for row in noise.integers(0, len(sm), rng.randrange(3)).tolist():
            sm[row] = rng.randrange(gpu.sms)
        late = 10 * log.launch - noise.integers(0, 40, len(log))
        values |= {"start": start, "end": end, "sm": sm, "launch": late}
        rules |= {v.rule for v in both(BlockLog(**values), gpu, tolerance, latency, placement)}
    assert rules >= {"idle", "limits", "placement", "queue"}
