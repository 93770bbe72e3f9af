"""Random programs with little work, and platforms, for tests of recipes."""

from __future__ import annotations

import random
from functools import cache
from typing import Any

import gpusched as gs

WAYS = (
    *("mpcp", "fmlp_plus", "pbs", "edf_serial", "streams", "priority_streams", "green_contexts"),
    *(
        "mps",
        "mig",
        "gpu_server",
        "mps_static",
        "one_stream",
        "time_slices",
        "stgm",
        "edf_parallel",
    ),
)
MODES = {"mpcp": ("suspend", "busy", "spin"), "fmlp_plus": ("suspend", "busy")}


def program(draw: random.Random, way: str) -> gs.Workload:
    """Two to six tasks, each with a thousandth to a fortieth of the GPU."""
    tasks = []
    count = draw.randint(2, 6)
    for i in range(count):
        period = draw.choice([20, 40, 80])
        kernel = gs.Kernel(
            f"{draw.randint(20, period * 25)}us",
            blocks=draw.choice([1, 4, 16]),
            threads=draw.choice([64, 256]),
        )
        segments: list[Any] = [gs.CPU(f"{draw.randint(50, 900)}us")] if draw.random() < 0.7 else []
        if draw.random() < 0.4:
            segments.append(gs.CopyIn(f"{draw.randint(5, 50)}us"))
        segments.append(kernel)
        if draw.random() < 0.4:
            segments.append(gs.CPU(f"{draw.randint(50, 500)}us"))
        name = f"t{i}" if draw.random() < 0.8 else f'task "{i}" \\ é $HOME `id`'
        more: dict[str, Any] = {}
        if way == "priority_streams":
            more["stream_priority"] = draw.randint(0, 3)
        if way in ("mps", "mps_static") and draw.random() < 0.5:
            more["process"] = f"p'{i}"
        tasks.append(gs.Task(name, f"{period}ms", segments, **more))
    if way in ("mps", "mps_static") and any(task.process for task in tasks):
        tasks = [task.replace(process=task.process or "rest") for task in tasks]
    return gs.Workload(tasks, tick="us")


def platform(draw: random.Random, way: str, workload: gs.Workload) -> gs.Platform:
    """A platform on which the way exists, with parts of the GPU where it needs some."""
    names = workload.names
    processes = [task.process or task.name for task in workload]
    gpu = draw.choice(["H100", "A100", "AGX Orin", "Thor", "RTX 4090"])
    more: dict[str, Any] = {}
    if way == "mig":
        gpu = draw.choice(["H100", "A100"])
    if way == "stgm":
        gpu = "Pascal 5 SM"  # green contexts of single SMs
    if way == "mps":
        more["mps"] = {one: draw.randint(30, 100) for one in dict.fromkeys(processes)}
    if way == "mps_static":
        gpu, unit = draw.choice([("H100", 8), ("A100", 4), ("Thor", 2)])
        more["mps_partitions"] = {one: unit for one in dict.fromkeys(processes)}
    if way == "green_contexts":
        gpu, unit, total = draw.choice([("H100", 8, 132), ("A100", 2, 108), ("AGX Orin", 2, 16)])
        first = unit * draw.randint(1, 1 if gpu == "AGX Orin" else 4)
        more["green_contexts"] = {names[0]: first, tuple(names[1:]): total - first}
        more["workqueue"] = draw.choice(["shared", "balanced"])
    return gs.Platform(
        gpu, cpus=len(workload) + 1, launch_latency="5us", wake_latency="2us", **more
    )


@cache
def answer(seed: int) -> gs.WorkloadAnswer:
    """The answer for a random program, of one way after the other."""
    way, draw = WAYS[seed % len(WAYS)], random.Random(seed)
    given = program(draw, way)
    options = {"mode": draw.choice(MODES[way])} if way in MODES else {}
    return gs.analyze(given, platform(draw, way, given), gs.ways.as_way(way, **options))
