"""Random kernel chains in partitions of a GPU, their bounds, and their largest simulated responses.

A thread is a warp of the GPU.  Kinds: "own" and "shared" queues of partitions with SMs of their
own, "limits" of the SMs that clients occupy.
"""

from itertools import pairwise
from typing import NamedTuple

import numpy as np
from reference.priority_streams import task

import gpusched as gs
from gpusched.model.block_placement import PLACEMENTS

KINDS = ("own", "shared", "limits")


class System(NamedTuple):
    tasks: list
    threads: int  # of an SM
    sms: int
    part: list  # per task
    counts: list  # per partition: its SMs, or its limit


def chains(tasks):
    return gs.KernelChains(
        period=[t.period for t in tasks],
        block_time=[[c for _, _, c in t.kernels] for t in tasks],
        blocks=[[g for g, _, _ in t.kernels] for t in tasks],
        threads=[[b for _, b, _ in t.kernels] for t in tasks],
        latency=[t.latency for t in tasks],
        priority=[t.level for t in tasks],
    )


def random_system(rng, kind, latest=2):
    """Tasks at and above what the theorems cover, every partition with one of them at least."""
    sms, threads = rng.randint(2, 4), rng.randint(1, 4)
    n = rng.randint(2, 5)
    longest, levels = rng.randint(1, 3), rng.choice([1, 1, 2, 3])
    parts = rng.randint(1, min(sms, 3, n))
    shares = [rng.random() + 0.01 for _ in range(n)]
    load = rng.uniform(0.05, 0.9) * threads * sms / sum(shares)
    tasks = []
    for share in shares:
        kernels = [
            (rng.randint(1, 6), rng.randint(1, threads), rng.randint(1, 12))
            for _ in range(rng.randint(1, longest))
        ]
        period = max(1, round(sum(g * b * c for g, b, c in kernels) / (load * share)))
        period = rng.choice([20, 30, 40]) if rng.random() < 0.2 else min(period, 5000)
        latency = [rng.randint(0, latest) for _ in kernels]
        tasks.append(task(rng.randrange(levels), period, kernels, latency))
    part = [*range(parts), *(rng.randrange(parts) for _ in range(n - parts))]
    rng.shuffle(part)
    if kind == "limits":
        return System(tasks, threads, sms, part, [rng.randint(1, sms) for _ in range(parts)])
    cuts = [0, *sorted(rng.sample(range(1, sms), parts - 1)), sms]
    counts = [b - a for a, b in pairwise(cuts)]
    return System(tasks, threads, sms, part, counts)


def bounded(system, kind):
    """The bounds of ``gs.analysis.priority_streams``."""
    tasks, threads, sms, part, counts = system
    options = {"partition_limit": counts}
    if kind != "limits":
        options = {"partition_sms": counts, "queues": kind}
    return gs.analysis.priority_streams(chains(tasks), threads, sms=sms, partition=part, **options)


def responses(rng, system, kind):
    """The largest response of each task under one pattern: offsets, gaps, blocks that end early.

    Latencies have to be 0.
    """
    tasks, threads, sms, part, counts = system
    gpu = gs.GPU(sms, 32 * threads, 1024, channels=0)
    until = 10 * max(t.period for t in tasks)
    shorter, gap = rng.choice([0, 0, 0.3]), rng.choice([0, 0, 0.4])
    jobs = []
    for i, t in enumerate(tasks):
        assert not any(t.latency)
        now = rng.randrange(t.period)
        for _ in range(30):
            if now >= until:
                break
            jobs.append((now, rng.random(), i))
            now += t.period + (rng.randrange(t.period) if rng.random() < gap else 0)
    rows = [(time, i, j) for time, _, i in sorted(jobs) for j in range(len(tasks[i].kernels))]
    shapes = np.array([tasks[i].kernels[j] for _, i, j in rows])
    times = [
        [rng.randint(1, c) if rng.random() < shorter else c for _ in range(g)]
        for g, _, c in shapes.tolist()
    ]
    ends = np.cumsum(counts).tolist()
    sets = [list(range(end - count, end)) for end, count in zip(ends, counts, strict=True)]
    launches = gs.Launches(
        [time for time, _, _ in rows],
        stream=[i for _, i, _ in rows],
        kind="kernel",
        blocks=shapes[:, 0],
        threads=32 * shapes[:, 1],
        duration=shapes[:, 2],
        block_times=times if shorter else None,
        stream_context=[0] * len(tasks),
        stream_priority=[t.level for t in tasks],
        stream_partition=part,
        partition_sms=None if kind == "limits" else sets,
        partition_limit=counts if kind == "limits" else None,
    )
    run = gs.simulate.hierarchy(
        launches,
        gpu,
        placement=rng.choice(sorted(PLACEMENTS)),
        queues=None if kind == "limits" else kind,
        blocks=False,
    )
    worst = [0] * len(tasks)
    for (time, i, j), end in zip(rows, run.end.tolist(), strict=True):
        if j == len(tasks[i].kernels) - 1:
            worst[i] = max(worst[i], end - time)
    return worst
