"""Random workloads and platforms whose tests accept about as often as they reject.

Times are a few ticks, so that equal instants are common, and periods have small common multiples,
so that exact tests end. A case has a style: single kernels (which every model can express),
pipelines of copies and kernels, chains with CPU work between, or all facts at once.
"""

from __future__ import annotations

from random import Random
from typing import Any

import gpusched as gs
from gpusched.model.gpus.gpu_presets import static_partition_unit

PERIODS = (6, 8, 10, 12, 15, 16, 20, 24, 30, 40, 48, 60, 80, 120)
STYLES = ("single", "single", "pipeline", "chain", "facts")


def random_gpu(random: Random) -> gs.GPU:
    """A small GPU, now and then a preset."""
    if random.random() < 0.1:
        return gs.GPU.preset(random.choice(gs.GPU.presets()))
    return gs.GPU(
        sms=random.choice((1, 1, 2, 3, 4, 8)),
        threads_per_sm=random.choice((1024, 2048)),
        blocks_per_sm=random.choice((4, 32)),
    )


def random_platform(random: Random, style: str) -> gs.Platform:
    """A platform, often without overheads."""
    costs: dict[str, Any] = {}
    if style == "facts" or random.random() < 0.2:
        costs = {
            "launch_latency": random.choice((0, 1)),
            "context_switch": random.choice((0, 1)),
            "server_overhead": random.choice((0, 1)),
            "update_cost": random.choice((0, 1)),
            "priority_levels": random.choice((None, 2, 4)),
        }
    return gs.Platform(
        random_gpu(random),
        cpus=random.randrange(1, 5),
        timeslice=random.randrange(1, 9),
        slowdown=random.choice((None, (1.1, 1.4), 1.5, 2.5)),
        **costs,
    )


def kernel(random: Random, gpu: gs.GPU, time: int, style: str) -> gs.Kernel:
    """A kernel of about this time: from one block to several waves."""
    shape: dict[str, Any] = {
        "blocks": random.choice((1, 1, 2, gpu.sms, 2 * gpu.sms, 3 * gpu.sms + 1)),
        "threads": random.choice((1, 32, 128, 256, 500, 512, 1024)),
    }
    if random.random() < 0.2:
        shape |= {"regs": random.choice((0, 32, 63)), "smem": random.choice((0, 1000, 16384))}
    if style == "facts":
        if random.random() < 0.1:
            shape = {}
        if random.random() < 0.2:
            counts = sorted({1, *random.sample(range(1, gpu.sms + 1), min(gpu.sms, 2))})
            times = sorted((random.randrange(1, 2 * time + 1) for _ in counts), reverse=True)
            return gs.Kernel(time, **shape, sms=dict(zip(counts, times, strict=True)))
        if shape and random.random() < 0.2:
            return gs.Kernel(block_time=random.randrange(1, time + 1), **shape)
    return gs.Kernel(time, **shape)


def job(random: Random, gpu: gs.GPU, total: int, style: str) -> list[gs.Segment]:
    """Segments that take about so many ticks."""

    def part(share: float) -> int:
        return max(1, round(total * share * random.uniform(0.5, 1.5)))

    if style == "facts" and random.random() < 0.15:
        return [gs.CPU(part(0.8))]
    before = [gs.CPU(part(0.2))] if random.random() < 0.5 else []
    behind = [gs.CPU(part(0.2))] if random.random() < 0.3 else []
    if style == "single":
        return [*before, kernel(random, gpu, part(0.6), style), *behind]
    found: list[gs.Segment] = [*before]
    for number in range(random.randrange(1, 4)):
        if number and style != "pipeline" and random.random() < 0.6:
            found.append(gs.CPU(part(0.1)))
        if random.random() < 0.4:
            found.append(gs.CopyIn(part(0.1), by=random.choice(("engine", "engine", "cpu"))))
        repeat = random.choice((1, 1, 1, 2))
        found.append(kernel(random, gpu, part(0.25), style).replace(repeat=repeat))
        if random.random() < 0.3:
            found.append(gs.CopyOut(part(0.1), by=random.choice(("engine", "engine", "cpu"))))
    return [*found, *behind]


def divided(random: Random, workload: gs.Workload, platform: gs.Platform) -> gs.Platform:
    """The platform, often with green contexts for the tasks and shares of MPS for the processes."""
    gpu = platform.gpu
    assert gpu is not None
    changes: dict[str, Any] = {}
    processes = sorted({task.process for task in workload if task.process is not None})
    chunk = static_partition_unit(gpu.cc)
    if processes and chunk and len(processes) * chunk <= gpu.sms:
        changes["mps_partitions"] = dict.fromkeys(
            processes, gpu.sms // len(processes) // chunk * chunk
        )
    if processes and random.random() < 0.5:
        changes["mps"] = {name: random.choice((25, 50, 70, 100)) for name in processes}
    users = [
        task.name
        for task in workload
        if any(isinstance(segment, gs.Kernel) for segment in task.segments)
    ]
    least = 1 if gpu.cc is None else 8  # as every preset can have
    most = min(3, len(users), gpu.sms // least)
    if most and random.random() < 0.5:
        groups: list[list[str]] = [[] for _ in range(random.randrange(1, most + 1))]
        for place, name in enumerate(random.sample(users, len(users))):
            groups[place if place < len(groups) else random.randrange(len(groups))].append(name)
        counts = [least] * len(groups)
        for _ in range(random.randrange(gpu.sms // least - len(groups) + 1)):
            counts[random.randrange(len(groups))] += least
        named = map(tuple, groups)
        changes["green_contexts"] = dict(zip(named, counts, strict=True))
    return platform.replace(**changes) if changes else platform


def random_case(random: Random, tick: str = "ns") -> tuple[gs.Workload, gs.Platform]:
    """A workload of 1 to 8 tasks and a platform for it."""
    style = random.choice(STYLES)
    platform = random_platform(random, style)
    assert platform.gpu is not None
    n = random.choice((1, 2, 2, 3, 3, 4, 5, 6, 8))
    load = random.uniform(0.1, 1.3)
    scale = random.choice((1, 1, 3, 10))
    weights = [random.random() for _ in range(n)]
    # Facts that all tasks have, or none; in the style "facts", sometimes only some of them.
    shared = {key: random.random() < 0.3 for key in ("priority", "stream_priority", "core")}
    if style == "facts":
        shared["process"] = random.random() < 0.3
    some = style == "facts" and random.random() < 0.1
    order = random.sample(range(n), n)
    tasks = []
    for i, weight in enumerate(weights):
        period = random.choice(PERIODS) * scale
        total = max(1, round(period * load * weight / sum(weights)))
        facts: dict[str, Any] = {}
        at = random.random()
        if at < 0.3:
            facts["deadline"] = random.randrange(max(1, min(total, period)), period + 1)
        elif at < 0.4:
            facts["deadline"] = random.randrange(period, 2 * period + 1)
        if random.random() < 0.2:
            facts["offset"] = random.randrange(2 * period)
        values = {
            "priority": order[i] if random.random() < 0.95 else 0,
            "stream_priority": random.randrange(3),
            "core": random.randrange(platform.cpus),
            "process": random.choice("pq"),
        }
        for key, given in shared.items():
            if given and not (some and random.random() < 0.5):
                facts[key] = values[key]
        if style == "facts" and random.random() < 0.02:
            facts["jitter"] = 1
        segments = job(random, platform.gpu, total, style)
        if style == "facts" and tick == "ns" and random.random() < 0.1:
            tasks.append(gs.Task(f"t{i}", rate=f"{10**9 // period}Hz", segments=segments, **facts))
        else:
            tasks.append(gs.Task(f"t{i}", period, segments, **facts))
    workload = gs.Workload(tasks, tick)
    return workload, divided(random, workload, platform)
