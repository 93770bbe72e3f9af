"""Random small programs for the machine under each way of sharing, with all that may be given.

The twin and the package differ on purpose where the rules leave a choice, and no program has these:
levels of equal deadlines under priority_streams; copies of tasks outside of all green contexts;
times of kernels on GPU instances, which the package converts; GPU priorities of some tasks only
under gcaps; several processes under streams, which the package refuses.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from math import lcm
from random import Random
from typing import Any

import gpusched as gs
from gpusched.comparison.derived_models import DerivedModels
from gpusched.comparison.machine_models import machine_model
from gpusched.simulate.machine_run import MachineLogs, run_machine

UNTIL = 240
PERIODS = (15, 20, 24, 30, 40, 60)
HYPERPERIOD = lcm(*PERIODS)
LOCKS = (
    *("mpcp", "fmlp_plus", "srm", "omlp", "driver", "edf_serial", "stgm", "gpu_server"),
    "container",
)
ENGINES = (("in", "out", "both"), ("both", "in", "out"), ("both", "both"), ("out", "in", "in"))
PROCESSES = (
    *("time_slices", "mps", "mps_static"),
    *(way for way in LOCKS if way not in ("stgm", "gpu_server")),
)
PARTS = ("mps", "mps_static", "green_contexts", "stgm")
WAYS = (
    *("streams", "one_stream", "priority_streams", "mps", "mps_static", "green_contexts"),
    *("time_slices", "gcaps", *LOCKS, "pbs", "mig"),
)


def play_machine(
    workload: gs.Workload,
    platform: gs.Platform,
    way: str,
    *,
    log: Any = ("jobs",),
    seed: Any = None,
    budget: gs.Budget | None = None,
    **options: Any,
) -> MachineLogs:
    """A workload on the machine; options as those of `machine_model`, times in ticks."""
    model = machine_model(DerivedModels(workload, platform), way, **options)
    return run_machine(model, log=log, seed=seed, budget=budget, progress=False)


@dataclass(frozen=True)
class MachineProgram:
    """A workload on a platform under a way, with options that the twin and the package share."""

    workload: gs.Workload
    platform: gs.Platform
    way: str
    until: int = UNTIL
    options: Mapping[str, Any] = field(default_factory=dict)


def gpu(rng: Random) -> gs.GPU:
    """A GPU of 1 to 4 SMs, now and then with few channels, few kernels at once, or carve-outs."""
    sms = rng.randint(1, 4)
    given: dict[str, Any] = {}
    if rng.random() < 0.3:
        given["sm_order"] = rng.sample(range(sms), sms)
    if rng.random() < 0.4:
        given["channels"] = rng.choice((1, 2, 3))
    if rng.random() < 0.2:
        given["resident_grids"] = rng.randint(1, 2)
    if rng.random() < 0.2:
        given |= {"carveout_rule": rng.choice(("match", "at_least", "ignore"))}
        given |= {"carveouts": (0, 16384, 32768, 65536)}
    blocks = rng.choice((2, 4, 8))
    return gs.GPU(sms=sms, threads_per_sm=1024, blocks_per_sm=blocks, **given)


def kernel(rng: Random, time: int, sms: int, way: str) -> gs.Kernel:
    """A kernel, mostly with a shape, now and then with memory, registers or a profile."""
    if rng.random() < 0.1:
        return gs.Kernel(time)
    if rng.random() < (
        0.3 if way == "mps" else 0.05
    ):  # known on any number of SMs, without a shape
        return gs.Kernel(sms={k: time + sms - k for k in range(1, sms + 1)})
    shape: dict[str, Any] = {"blocks": rng.randint(1, 7), "threads": rng.choice((64, 256, 512))}
    if rng.random() < 0.3:
        shape |= {"regs": rng.choice((0, 32, 64)), "smem": rng.choice((0, 9_000, 30_000))}
    if rng.random() < 0.1:
        counts = {k: time * (sms - k + 1) for k in range(1, sms + 1)}
        return gs.Kernel(**shape, sms=counts)
    return gs.Kernel(block_time=time, repeat=rng.choice((1, 1, 1, 2)), **shape)


def segments(rng: Random, sms: int, way: str) -> list[gs.Segment]:
    """1 to 6 segments; kernels have times on the SMs that the way gives them."""
    found: list[gs.Segment] = []
    most = rng.choice((2, 6, 6, 12))
    for _ in range(rng.randint(1, 6)):
        time, kind = rng.randint(1, most), rng.random()
        if kind < 0.25:
            found.append(gs.CPU(time, repeat=rng.choice((1, 1, 2))))
        elif kind < 0.5:
            by = rng.choice(("engine", "engine", "engine", "cpu"))
            found.append(rng.choice((gs.CopyIn, gs.CopyOut))(time, by=by))
        else:
            one = kernel(rng, time, sms, way)
            while (way == "mig" and (not one.has_shape or one.sms)) or (
                way in PARTS and not (one.has_shape or one.sms)
            ):
                one = kernel(rng, time, sms, way)
            found.append(one)
        if rng.random() < 0.15:
            found.append(gs.Sync())
        if way != "mig" and rng.random() < 0.1:
            found.append(gs.DLA(time, on=rng.choice((0, 0, 3))))
    return found


def halves(rng: Random, names: list[str], sms: int) -> dict[tuple[str, ...], int]:
    """Names in one or two parts of a GPU, and the SMs of each."""
    if sms < 2 or len(names) < 2 or rng.random() < 0.2:
        return {tuple(names): sms}
    first = rng.randint(1, sms - 1)
    cut = rng.randint(1, len(names) - 1)
    return {tuple(names[:cut]): first, tuple(names[cut:]): sms - first}


def frames(rng: Random, workload: gs.Workload) -> list[tuple[int, int, list[tuple[int, int, int]]]]:
    """A table of all kernels of the hyperperiod, roughly in the order of releases."""
    rows = []
    behind: dict[str, int] = {}
    for i, task in enumerate(workload):  # those that others release, behind these
        behind[task.name] = max([task.offset, *(behind[name] + 4 for name in task.after)])
        count = sum(one.repeat for one in task.kernels)
        for job in range(workload.hyperperiod // task.period):
            start = behind[task.name] + job * task.period
            rows += [(start + rng.random() + k, i, job, k) for k in range(count)]
    rows.sort(key=lambda row: row[0] + (0 if rng.random() < 0.8 else rng.randint(-5, 5)))
    table, at = [], 0
    while at < len(rows):
        some = rows[at : at + rng.randint(1, 3)]
        at += len(some)
        start = int(max(row[0] for row in some)) + rng.choice((0, 0, 1, 4))
        table.append((start, start, [row[1:] for row in some]))
    if rng.random() < 0.2:  # frames without kernels hold nothing
        table.insert(rng.randint(0, len(table)), (rng.randint(0, 60), 0, []))
    starts = sorted(row[0] for row in table)
    return [(start, start, row[2]) for start, row in zip(starts, table, strict=True)]


def releases(rng: Random, workload: gs.Workload) -> list[list[tuple[int, int]]]:
    """Periodic arrivals with releases that are up to half a period later, in order."""
    found = []
    for task in workload:
        own, last = [], 0
        for arrival in range(task.offset, UNTIL, task.period):
            last = max(last, arrival + rng.randint(0, task.period // 2))
            own.append((arrival, last))
        found.append(own)
    return found


def times(rng: Random, workload: gs.Workload) -> list[list[list[int]]]:
    """Times of the segments of the first jobs, of which some are beyond the whole times."""
    found = []
    for task in workload:
        count = sum(part.repeat for part in task.segments)
        jobs = rng.randint(0, UNTIL // task.period)
        found.append([[rng.randint(1, 8) for _ in range(count)] for _ in range(jobs)])
    return found


def random_program(way: str, seed: int) -> MachineProgram:
    """A program of up to 4 tasks under a way; the same for the same way and number."""
    rng = Random(f"{way} {seed}")
    device = gs.GPU.preset("A30") if way == "mig" else gpu(rng)
    sms, cpus, n = device.sms, rng.randint(1, 3), rng.choice((1, 2, 3, 3, 4, 4))
    order, urgent = rng.sample(range(n), n), rng.sample(range(n), n)
    if rng.random() < 0.3:  # some are equal
        order = [rng.randrange(2) for _ in range(n)]
    has = {key: rng.random() < 0.4 for key in ("priority", "gpu", "level", "core", "process")}
    tasks = []
    for i in range(n):
        period = rng.choice(PERIODS)
        given: dict[str, Any] = {"deadline": rng.randint(period // 2, 2 * period)}
        given["offset"] = rng.choice((0, 0, rng.randint(0, 10)))
        if has["priority"]:
            given["priority"] = order[i]
        if has["gpu"]:
            given["gpu_priority"] = urgent[i]
        if has["core"]:
            given["core"] = rng.randrange(cpus)
        if has["process"] and way in PROCESSES:
            given["process"] = rng.choice("PQ")
        given["launches"] = rng.choice((None, "async", "sync", "graph"))
        parts = segments(rng, sms, way)
        tasks.append(gs.Task(f"t{i}", period, parts, **given))
    same = len({task.deadline for task in tasks}) < n  # which twin and package order differently
    if (way in ("priority_streams", "mig") and same) or (
        way in ("priority_streams", "green_contexts") and has["level"]
    ):
        tasks = [
            # Streams outside of green contexts have no priority in the twin.
            task.replace(stream_priority=rng.randint(-1, 1) if task.kernels else 0)
            for task in tasks
        ]
    workload = gs.Workload(tasks)
    users = [task.name for task in workload if task.kernels]
    facts: dict[str, Any] = {"timeslice": rng.randint(1, 8), "ring": rng.choice(("fifo", "cyclic"))}
    for key in ("launch_latency", "context_switch", "update_cost", "server_overhead"):
        facts[key] = rng.choice((0, 0, 1, 2, rng.randint(0, 8)))
    for key in ("launch_cpu", "graph_launch_cpu", "kernel_gap", "wake_latency"):
        facts[key] = rng.choice((0, 0, 0, 1, rng.randint(1, 4)))
    if way != "mig":
        facts["copy_engines"] = rng.choice((1, 1, 2, 2, *ENGINES))
    if rng.random() < 0.2:
        facts["channels"] = rng.choice((0, 1, 2))
    options: dict[str, Any] = {"mode": rng.choice(("suspend", "busy", "spin"))}
    if way in ("mps_static", "green_contexts"):
        if not users:
            return random_program(way, seed + 1_000_003)
        of_client = [workload[name].process or name for name in users]
        names = list(dict.fromkeys(of_client)) if way == "mps_static" else users
        parts_of = halves(rng, names, sms)
        facts["mps_partitions" if way == "mps_static" else "green_contexts"] = parts_of
        if way == "mps_static":  # SMs in chunks of one
            device = device.replace(cc=None)
        facts["workqueue"] = rng.choice(("shared", "balanced"))
        options["queues"] = rng.choice(("own", "own", "shared"))
    if way == "mps":
        clients = {task.process or task.name for task in workload}
        facts["mps"] = {
            name: rng.choice((30, 50, 100, gs.SMs(1)))
            for name in sorted(clients)
            if rng.random() < 0.7
        } or None
    if way == "mig":
        facts["mig"] = rng.choice((["1g.6gb", "2g.12gb"], ["1g.6gb", "1g.6gb"], ["4g.24gb"]))
        options["instances"] = [rng.randrange(len(facts["mig"])) for _ in range(n)]
        options["within"] = rng.choice(("streams", "priority_streams", "one_stream"))
    if way == "stgm":
        options["sms"] = [
            None if rng.random() < 0.2 else sorted(rng.sample(range(sms), rng.randint(1, sms)))
            for _ in range(n)
        ]
    if way == "gpu_server":
        options["server_core"] = rng.choice((None, *range(cpus)))
    if way == "gcaps":
        options["stall"] = rng.random() < 0.4
    if way == "container":
        options["server_period"] = rng.randint(1, 12)
        options["server_budget"] = rng.randint(1, options["server_period"])
    if rng.random() < 0.35:
        workload = linked(rng, workload)
    if way == "edf_serial":
        options["tails"] = [rng.choice((0, 0, rng.randint(0, 20))) for _ in range(n)]
    if way == "pbs":
        options["table"] = frames(rng, workload)
    if rng.random() < 0.3 and way != "container":
        options["cpu"] = rng.choice(("partitioned", "global_fp", "global_edf"))
    if rng.random() < 0.4:
        options["releases"] = releases(rng, workload)
    if rng.random() < 0.4:
        options["times"] = times(rng, workload)
    if rng.random() < 0.3:
        options["last"] = rng.randrange(n)
    if rng.random() < 0.2:
        options["lone_copies"] = "free"
    if rng.random() < 0.3:
        options["channel_release"] = "ended"
    platform = gs.Platform(device, cpus=cpus, slowdown=None, **facts)
    if way in LOCKS and rng.random() < 0.1:  # kernels with their times on an unknown GPU
        platform = platform.replace(gpu=None)
        options.pop("sms", None)
        workload = workload.replace(
            tasks=[task.replace(segments=list(map(_timed, task.segments))) for task in workload]
        )
    return MachineProgram(workload, platform, way, UNTIL, options)


def linked(rng: Random, workload: gs.Workload) -> gs.Workload:
    """The tasks, some of which are released by some of those in front of them."""
    tasks: list[gs.Task] = []
    source: dict[str, tuple[str, int]] = {}  # and the jobs of it for one of the task
    for task in workload:
        alike: list[str] = []
        if tasks and rng.random() < 0.7:
            first = rng.choice(tasks).name
            alike = [name for name, of in source.items() if of == source[first]]
            alike = [name for name in alike if name == first or rng.random() < 0.5]
        every = rng.choice((1, 1, 2))
        source[task.name] = (task.name, 1)
        if alike:
            task = task.replace(period=None, offset=0, after=alike, every=every)
            root, step = source[alike[0]]
            source[task.name] = (root, step * every)
        tasks.append(task)
    return workload.replace(tasks=tasks)


def _timed(part: gs.Segment) -> gs.Segment:
    return gs.Kernel(3, repeat=part.repeat) if isinstance(part, gs.Kernel) else part
