"""Random small programs for the attack on verdicts (`verdict_attack`), by kind.

Each kind is a shape for which a verdict was wrong once, with random numbers around those of the
program that showed it, so that some are guaranteed, some late, and some impossible; "general"
draws all facts, and "costs" and "instances" all costs and GPU instances. Times are a few ticks.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from itertools import groupby
from random import Random
from typing import Any

from known_programs import known_programs

import gpusched as gs

PERIODS = (8, 10, 12, 15, 16, 20, 24, 30, 40)
Case = tuple[gs.Workload, gs.Platform]


# Parts --------------------------------------------------------------------------------------------


def gpu(rng: Random, sms: int | None = None) -> gs.GPU:
    """A GPU of 1 to 3 SMs of 1,024 threads and 8 blocks."""
    count = rng.choice((1, 2, 2, 3)) if sms is None else sms
    return gs.GPU(sms=count, threads_per_sm=1024, blocks_per_sm=8)


def platform(rng: Random, cpus: int | None = None, sms: int | None = None, **more: Any) -> Any:
    """A platform of 1 to 3 CPUs, mostly with a single copy engine, without costs and slowdown."""
    facts = {"slowdown": None, "copy_engines": rng.choice((1, 1, 2)), **more}
    return gs.Platform(gpu(rng, sms), cpus=rng.randint(1, 3) if cpus is None else cpus, **facts)


def kernel(rng: Random, time: int, blocks: int | None = None) -> gs.Kernel:
    """A kernel of 1 block of 256 threads, now and then of more."""
    if blocks is None:
        blocks = rng.choice((1, 1, 1, 2, 4, 6))
    return gs.Kernel(max(1, time), blocks=blocks, threads=rng.choice((256, 256, 512, 1024)))


def near(rng: Random, time: int, low: float = 0.5, high: float = 1.5) -> int:
    """A time around another one, at least 1."""
    return max(1, round(time * rng.uniform(low, high)))


def task(rng: Random, name: str, period: int, segments: list[gs.Segment], **facts: Any) -> gs.Task:
    """A task; facts that are None are not given."""
    given = {key: value for key, value in facts.items() if value is not None}
    return gs.Task(name, period, segments, **given)


def placed(rng: Random, tasks: list[gs.Task], cpus: int) -> gs.Workload:
    """A workload, in a quarter of all cases with a core for each task."""
    if rng.random() < 0.25:
        tasks = [one.replace(core=rng.randrange(cpus)) for one in tasks]
    return gs.Workload(tasks)


# Kinds of VERDICTS, in its order ------------------------------------------------------------------


def cpu_only_late(rng: Random) -> Case:
    """A task of CPU work alone, with a deadline around its work, beside kernels and many CPUs."""
    cpu = rng.randint(2, 7)
    tasks = [
        task(rng, "control", 10, [gs.CPU(cpu)], deadline=near(rng, cpu, 0.8, 1.4)),
        task(rng, "det", 20, [kernel(rng, rng.randint(1, 4))]),
    ]
    return gs.Workload(tasks), platform(rng, rng.choice((1, 2, 3, 8)))


def cpu_only_together(rng: Random) -> Case:
    """Several tasks of CPU work alone, with short deadlines and offsets, beside a kernel."""
    p = platform(rng, rng.choice((1, 1, 2)))
    tasks = []
    for i in range(rng.randint(2, 3)):
        cpu = rng.randint(2, 6)
        offset = rng.choice((0, rng.randrange(6)))
        due = cpu + rng.randint(0, 4)
        tasks.append(
            task(rng, f"c{i}", rng.choice((12, 20, 24)), [gs.CPU(cpu)], deadline=due, offset=offset)
        )
    tasks.append(task(rng, "k", 20, [kernel(rng, rng.randint(1, 4))]))
    return placed(rng, tasks, p.cpus), p


def cpu_demand(rng: Random) -> Case:
    """A long piece of CPU work with a deadline within its period, beside a frequent one."""
    p = platform(rng, rng.choice((1, 1, 2)))
    often, rare = rng.randint(1, 6), rng.randint(5, 25)
    tasks = [
        task(rng, "a", 10, [gs.CPU(often), kernel(rng, 1)]),
        task(
            rng, "b", 60, [gs.CPU(rare), kernel(rng, 1)],
            deadline=min(60, rare + 1 + rng.randint(0, 25)),
        ),
    ]  # fmt: skip
    return placed(rng, tasks, p.cpus), p


def cpu_then_kernel(rng: Random) -> Case:
    """CPU work that must leave time for its kernel, with offsets, on one CPU."""
    tasks = []
    for i in range(rng.randint(2, 3)):
        cpu, time = rng.randint(1, 5), rng.randint(1, 2)
        due = cpu + time + rng.randint(0, 5)
        tasks.append(
            task(
                rng, f"t{i}", 20, [gs.CPU(cpu), kernel(rng, time)], deadline=min(20, due),
                offset=rng.choice((0, i, rng.randrange(8))),
            )
        )  # fmt: skip
    p = platform(rng, rng.choice((1, 1, 1, 2)))
    return placed(rng, tasks, p.cpus), p


def stream_overload(rng: Random) -> Case:
    """Copies around a kernel, a deadline beyond the period, and a stream around full load."""
    a, b, c = rng.randint(1, 5), rng.randint(1, 4), rng.randint(1, 5)
    period = max(2, a + b + c + rng.randint(-4, 3))
    tasks = [
        task(
            rng, "A", period, [gs.CopyIn(a), kernel(rng, b), gs.CopyOut(c)],
            deadline=rng.randint(period, 3 * period),
        ),
        task(rng, "B", rng.choice((40, 60)), [kernel(rng, rng.randint(1, 3))]),
    ]  # fmt: skip
    return gs.Workload(tasks), platform(rng, 2)


def copies_around(rng: Random) -> Case:
    """Copies around a kernel with a deadline beyond the period, beside another task on one SM."""
    period = rng.randint(7, 12)
    tasks = [
        task(
            rng, "A", period,
            [gs.CopyIn(rng.randint(1, 3)), kernel(rng, rng.randint(1, 4), 4),
             gs.CopyOut(rng.randint(1, 4))],
            deadline=rng.randint(period, 2 * period),
        ),
        task(rng, "B", rng.choice((18, 36)), [kernel(rng, rng.randint(1, 6), 4)]),
    ]  # fmt: skip
    return gs.Workload(tasks), platform(rng, 2, sms=1)


def engine_overload(rng: Random) -> Case:
    """A copy around the period with a deadline far beyond it, beside a chain."""
    period = rng.randint(6, 10)
    copy = max(1, period + rng.randint(-4, 1))
    tasks = [
        task(
            rng, "A", period, [gs.CopyIn(copy), kernel(rng, rng.randint(1, 3))],
            deadline=rng.randint(period, 5 * period),
        ),
        task(rng, "B", 60, [kernel(rng, 1) for _ in range(rng.randint(1, 3))]),
    ]  # fmt: skip
    return gs.Workload(tasks), platform(rng, 2)


def long_copy(rng: Random) -> Case:
    """A rare long copy beside a frequent short one."""
    tasks = [
        task(rng, "A", 80, [gs.CopyIn(rng.randint(5, 30)), kernel(rng, rng.randint(1, 6))]),
        task(
            rng, "B", 20, [gs.CopyIn(1), kernel(rng, rng.randint(1, 3))],
            deadline=rng.choice((None, rng.randint(4, 20))),
        ),
    ]  # fmt: skip
    p = platform(rng, 2)
    return placed(rng, tasks, p.cpus), p


def camera_recorder(rng: Random) -> Case:
    """A long copy out behind CPU work, in no section with a kernel, beside a short section."""
    tasks = [
        task(
            rng, "camera", 40,
            [gs.CPU(near(rng, 2)), gs.CopyIn(near(rng, 1)), kernel(rng, near(rng, 4), 4),
             gs.CopyOut(1)],
            deadline=rng.randint(10, 30),
        ),
        task(
            rng, "recorder", 120,
            [gs.CPU(near(rng, 2)), kernel(rng, near(rng, 5), 4), gs.CPU(near(rng, 3)),
             gs.CopyOut(near(rng, 20))],
        ),
    ]  # fmt: skip
    p = platform(rng, 2)
    return placed(rng, tasks, p.cpus), p


def many_copies(rng: Random) -> Case:
    """Several copies in a section, beside sections of long copies."""
    short: list[gs.Segment] = [gs.CopyIn(1) for _ in range(rng.randint(2, 4))]
    if rng.random() < 0.4:
        short = [gs.CopyIn(1, repeat=len(short))]
    long = rng.randint(2, 8)
    part = [gs.CopyIn(long), kernel(rng, 1), gs.CopyOut(long)]
    tasks = [
        task(rng, "A", 80, [*short, kernel(rng, 1)], deadline=rng.randint(8, 40)),
        task(rng, "B", 80, part * rng.randint(1, 2)),
    ]
    p = platform(rng, 2)
    return placed(rng, tasks, p.cpus), p


def batch_copies(rng: Random) -> Case:
    """A long copy before a kernel, beside a short copy before a chain with a short deadline."""
    tasks = [
        task(rng, "A", 40, [gs.CopyIn(rng.randint(2, 16)), kernel(rng, 1)]),
        task(
            rng, "B", 40, [gs.CopyIn(1), *(kernel(rng, 1) for _ in range(rng.randint(1, 2)))],
            deadline=rng.randint(3, 20), offset=rng.choice((0, 0, rng.randrange(5))),
        ),
    ]  # fmt: skip
    return gs.Workload(tasks), platform(rng, 2)


def switches(rng: Random) -> Case:
    """Switches between contexts that take as long as the kernels, with and without processes."""
    named = rng.random() < 0.5
    tasks = [
        task(
            rng, "A", 100, [gs.CPU(1), kernel(rng, rng.randint(2, 8))],
            process="a" if named else None,
        ),
        task(
            rng, "B", rng.choice((12, 20, 25)), [gs.CPU(1), kernel(rng, rng.randint(1, 3))],
            process="b" if named else None,
        ),
    ]  # fmt: skip
    switch = rng.choice((1, 2, 4, 8))
    return gs.Workload(tasks), platform(rng, 2, context_switch=switch, timeslice=rng.randint(1, 6))


def profile_share(rng: Random) -> Case:
    """A kernel with a profile of times by SMs, and a share of MPS."""
    most = rng.randint(8, 40)
    tasks = [
        task(
            rng, "a", 80,
            [gs.Kernel(blocks=rng.choice((1, 2, 4)), threads=256,
                       sms={1: most, 2: rng.randint(2, most)})],
            process="a", deadline=rng.randint(most // 2, 80),
        ),
        task(rng, "b", 80, [kernel(rng, rng.randint(1, 8))], process="b"),
    ]  # fmt: skip
    shares = {"a": rng.choice((30, 50, 70)), **({"b": 50} if rng.random() < 0.3 else {})}
    return gs.Workload(tasks), platform(rng, 2, sms=2, mps=shares)


def tight_lock(rng: Random) -> Case:
    """CPU work around kernels with small numbers and tight deadlines, on two cores."""
    tasks = [
        task(
            rng, "a", 14,
            [gs.CPU(rng.randint(1, 3)), kernel(rng, rng.randint(1, 4)), gs.CPU(rng.randint(1, 3))],
            priority=1, core=0,
        ),
        task(
            rng, "b", 10, [gs.CPU(rng.randint(1, 2)), kernel(rng, rng.randint(1, 2))],
            deadline=rng.randint(3, 10), priority=0, core=rng.randrange(2),
        ),
    ]  # fmt: skip
    return gs.Workload(tasks), platform(rng, 2)


def coarse_ticks(rng: Random) -> Case:
    """A kernel of several waves whose time is no multiple of them, with a deadline near it."""
    time = rng.randint(3, 20)
    tasks = [
        task(
            rng, "a", 24, [gs.Kernel(time, blocks=rng.randint(2, 24), threads=512)],
            deadline=min(24, time + rng.randint(0, 4)),
        )
    ]  # fmt: skip
    if rng.random() < 0.5:
        tasks.append(task(rng, "b", 48, [kernel(rng, rng.randint(1, 3))]))
    return gs.Workload(tasks), platform(rng, 2)


def fine_ticks(rng: Random) -> Case:
    """As `coarse_ticks` with times of hundreds of ticks, alone or nearly so."""
    time = rng.randint(400, 900)
    tasks = [
        task(
            rng, "a", 1000, [gs.Kernel(time, blocks=rng.randint(2, 40), threads=512)],
            deadline=time + rng.choice((0, 0, 1, 3)),
        )
    ]  # fmt: skip
    if rng.random() < 0.3:
        tasks.append(task(rng, "c", 1000, [gs.CPU(rng.randint(100, 900))]))
    return gs.Workload(tasks), platform(rng, rng.choice((1, 2)))


def cpu_partition(rng: Random) -> Case:
    """CPU work alone that fits on two CPUs, but not however it is divided."""
    tasks = []
    for i in range(rng.randint(3, 4)):
        period = rng.choice((20, 30))
        parts: list[gs.Segment] = [gs.CPU(rng.randint(5, 13))]
        if rng.random() < 0.3:
            parts.append(gs.CPU(rng.randint(1, 3)))
        tasks.append(task(rng, f"t{i}", period, parts))
    if rng.random() < 0.5:
        tasks[0] = task(rng, "t0", 20, [gs.CPU(rng.randint(2, 8)), kernel(rng, 1)])
    return gs.Workload(tasks), platform(rng, 2)


def cpu_between(rng: Random) -> Case:
    """CPU work between the kernels of a chain, long enough for others' kernels; a slowdown."""
    period = 20
    tasks = [
        task(
            rng, "A", period,
            [kernel(rng, rng.randint(1, 3)), gs.CPU(rng.randint(4, 12)),
             kernel(rng, rng.randint(1, 3))],
        ),
        task(
            rng, "B", period, [kernel(rng, rng.randint(3, 9))], deadline=rng.randint(9, period),
        ),
    ]  # fmt: skip
    return gs.Workload(tasks), platform(rng, 2, slowdown=rng.choice((None, 1.5, 3)))


def many_kernels(rng: Random) -> Case:
    """More kernels than a batch table has, beside a frequent kernel."""
    count = rng.choice((6, 12, 24, 25, 26))
    p = platform(rng, 2)
    fill = gs.Kernel(1, blocks=p.sms, threads=1024)
    tasks = [
        task(rng, "fast", 10, [fill], deadline=rng.randint(2, 6)),
        task(rng, "net", rng.choice((30, 60)), [fill.replace(repeat=count)]),
    ]
    if rng.random() < 0.5:
        tasks[1] = tasks[1].replace(segments=[fill] * count)
    return gs.Workload(tasks), p


def networks(rng: Random) -> Case:
    """Jobs of more kernels than a batch table has rows, of several shapes, beside frequent ones."""
    p = platform(rng, 5, rng.choice((2, 4)), slowdown=rng.choice((None, 1.3)))
    tasks = []
    for i in range(rng.randint(1, 2)):
        count = rng.randint(13, 40)
        kernels = [kernel(rng, rng.randint(1, 3)) for _ in range(count)]
        if rng.random() < 0.3:
            kernels[rng.randrange(count)] = kernel(rng, 2).replace(repeat=rng.randint(2, 9))
        period = rng.choice((240, 480))
        tasks.append(task(rng, f"net{i}", period, [*kernels]))
    for i in range(rng.randint(1, 3)):
        time = rng.randint(1, 6)
        period = rng.choice((30, 40, 60))
        tasks.append(
            task(rng, f"t{i}", period, [kernel(rng, time)], deadline=rng.randint(12, period))
        )
    return gs.Workload(tasks), p


def long_kernel_copy(rng: Random) -> Case:
    """A kernel and a copy out whose sum is around the period."""
    period = rng.randint(8, 14)
    time = rng.randint(2, 8)
    copy = max(1, period - time + rng.randint(-3, 1))
    tasks = [
        task(
            rng, "A", period, [kernel(rng, time), gs.CopyOut(copy)],
            deadline=period if rng.random() < 0.5 else rng.randint(period, 3 * period),
        )
    ]  # fmt: skip
    if rng.random() < 0.5:
        tasks.append(task(rng, "B", 2 * period, [kernel(rng, rng.randint(1, 3))]))
    return gs.Workload(tasks), platform(rng, 2)


def early_end(rng: Random) -> Case:
    """Kernels whose order by deadlines changes when one ends early."""
    tasks = [
        task(
            rng, f"t{i}", rng.choice((4, 12, 12)), [kernel(rng, rng.randint(1, 4))],
            offset=rng.choice((0, 0, rng.randrange(4))),
        )
        for i in range(3)
    ]  # fmt: skip
    return gs.Workload(tasks), platform(rng, 3)


def block_time(rng: Random) -> Case:
    """A kernel with a time and a time of a block, which may contradict each other."""
    time = rng.randint(2, 20)
    first = gs.Kernel(
        time, blocks=rng.choice((1, 4, 8)), threads=512, block_time=rng.randint(1, time)
    )
    tasks = [
        task(rng, "a", 24, [first], deadline=rng.randint(4, 24)),
        task(rng, "b", 24, [kernel(rng, rng.randint(1, 4))]),
    ]
    return gs.Workload(tasks), platform(rng, 2)


def late_many(rng: Random) -> Case:
    """Four tasks of copies and kernels at a load at which some are late, one with much slack."""
    tasks = [task(rng, "upload", 60, [gs.CopyIn(rng.randint(1, 4)), kernel(rng, 1)])]
    for i in range(3):
        period = rng.choice((10, 12, 15))
        tasks.append(
            task(rng, f"t{i}", period, [gs.CPU(1), kernel(rng, rng.randint(1, 5), 4)])
        )  # fmt: skip
    return gs.Workload(tasks), platform(rng, rng.choice((2, 3)))


# All facts ----------------------------------------------------------------------------------------


def job(rng: Random, total: int, sms: int) -> list[gs.Segment]:
    """Segments of about this time."""

    def part(share: float) -> int:
        return near(rng, max(1, round(total * share)))

    if rng.random() < 0.12:
        return [gs.CPU(part(0.8))]
    found: list[gs.Segment] = [gs.CPU(part(0.2))] if rng.random() < 0.5 else []
    for number in range(rng.choice((1, 1, 2, 3))):
        if number and rng.random() < 0.5:
            found.append(gs.CPU(part(0.1)))
        while rng.random() < 0.3:
            by = rng.choice(("engine", "engine", "engine", "cpu"))
            found.append(gs.CopyIn(part(0.1), by=by))
        shape: Any = {"blocks": rng.choice((1, 1, 2, 3, 6)), "threads": rng.choice((128, 256, 512))}
        if rng.random() < 0.1:
            counts = {1: 2 * part(0.3), 2: part(0.3)} if sms > 1 else {1: part(0.3)}
            found.append(gs.Kernel(**shape, sms=counts))
        else:
            repeat = rng.choice((1, 1, 1, 2))
            found.append(gs.Kernel(part(0.3), **shape, repeat=repeat))
        if rng.random() < 0.25:
            by = rng.choice(("engine", "engine", "engine", "cpu"))
            found.append(gs.CopyOut(part(0.1), by=by))
    return [*found, *([gs.CPU(part(0.2))] if rng.random() < 0.3 else [])]


def tasks_of(rng: Random, sms: int, cpus: int) -> list[gs.Task]:
    """1 to 4 tasks with any facts."""
    n = rng.choice((1, 2, 2, 3, 3, 4))
    load = rng.uniform(0.1, 1.1)
    order = rng.sample(range(n), n)
    given = {key: rng.random() < 0.25 for key in ("priority", "stream_priority", "core")}
    found = []
    for i in range(n):
        period = rng.choice(PERIODS)
        facts: dict[str, Any] = {}
        at = rng.random()
        if at < 0.3:
            facts["deadline"] = rng.randint(max(1, period // 2), period)
        elif at < 0.45:
            facts["deadline"] = rng.randint(period, 2 * period)
        if rng.random() < 0.25:
            facts["offset"] = rng.randrange(period)
        if rng.random() < 0.02:
            facts["jitter"] = rng.randint(1, 3)
        values = {
            "priority": order[i], "stream_priority": rng.randrange(3), "core": rng.randrange(cpus),
        }  # fmt: skip
        facts |= {key: values[key] for key, wanted in given.items() if wanted}
        total = max(1, round(period * load / n * rng.uniform(0.4, 1.6)))
        found.append(gs.Task(f"t{i}", period, job(rng, total, sms), **facts))
    return found


def general(rng: Random) -> Case:
    """Any facts, mostly without costs; now and then green contexts, shares, few channels."""
    p = platform(rng)
    sms = p.sms
    tasks = tasks_of(rng, sms, p.cpus)
    more: dict[str, Any] = {"timeslice": rng.randint(1, 8), "ring": rng.choice(("fifo", "cyclic"))}
    if rng.random() < 0.1:
        more["gpu"] = p.gpu.replace(channels=rng.choice((1, 2)))
    if rng.random() < 0.1:
        more["slowdown"] = rng.choice((1.2, 1.5))
    users = [one.name for one in tasks if one.kernels]
    if users and sms > 1 and rng.random() < 0.3:
        tasks = [one.replace(stream_priority=None) for one in tasks]
        groups: list[list[str]] = [[], []]
        for place, name in enumerate(users):
            groups[place if place < 2 else rng.randrange(2)].append(name)
        more["green_contexts"] = {tuple(group): 1 for group in groups if group}
        more["mps_partitions"] = more["green_contexts"]  # a task is a client of its name
    if rng.random() < 0.2:
        tasks = [one.replace(process=one.name) for one in tasks]
        more["mps"] = {one.name: rng.choice((30, 50, 70, 100)) for one in tasks}
    return gs.Workload(tasks), p.replace(**more)


def costs(rng: Random) -> Case:
    """As `general`, with launches, switches, updates and the server taking time."""
    w, p = general(rng)
    return w, p.replace(
        launch_latency=rng.choice((0, 1)),
        context_switch=rng.choice((0, 1, 2)),
        update_cost=rng.choice((0, 1)),
        server_overhead=rng.choice((0, 1)),
    )


def instances(rng: Random) -> Case:
    """Tasks on a GPU with instances, with blocks for one SM or more and CPU work that meets."""
    tasks = []
    for i in range(rng.randint(1, 4)):
        period = rng.choice((40, 80))
        segments: list[gs.Segment] = [gs.CPU(rng.randint(1, 6))] if rng.random() < 0.6 else []
        if rng.random() < 0.4:
            segments.append(gs.CopyIn(rng.randint(1, 5)))
        blocks = rng.choice((1, 4, 14, 28))
        segments.append(gs.Kernel(rng.randint(1, 12), blocks=blocks, threads=1024, regs=32))
        tasks.append(gs.Task(f"t{i}", period, segments, deadline=rng.randint(20, period)))
    p = gs.Platform("A30", cpus=rng.randint(1, 3), slowdown=None)
    return gs.Workload(tasks), p


def open_sections(rng: Random) -> Case:
    """Copies and kernels anywhere in sections, whose tasks may have GPU priorities; costs, jitter,
    and deadlines beyond periods."""
    n, cpus, costs = rng.randint(2, 5), rng.randint(1, 3), rng.random() < 0.6
    core = [rng.randrange(cpus) for _ in range(n)]
    ranks, levels = rng.sample(range(n), n), rng.sample(range(n), n)
    given = rng.random() < 0.4
    for at in set(core):  # in the order of the core
        here = sorted((i for i in range(n) if core[i] == at), key=lambda i: ranks[i])
        of = sorted(levels[i] for i in here)
        for i, level in zip(here, of, strict=True):
            levels[i] = level
    tasks = []
    for i in range(n):
        period = rng.randint(15, 90)
        segments: list[gs.Segment] = []
        for _ in range(rng.randint(1, 5)):
            draw, time = rng.random(), rng.randint(1, 5)
            behind = bool(segments) and not isinstance(segments[-1], gs.CPU)
            if draw < 0.25 and (behind or not segments):
                segments.append(gs.CPU(time))
            elif draw < 0.55:
                segments.append(rng.choice((gs.CopyIn, gs.CopyOut))(time))
            elif draw < 0.6 and behind:
                segments.append(gs.Sync())
            else:
                segments.append(gs.Kernel(block_time=time, blocks=1, threads=1024))
        users = any(not isinstance(part, gs.CPU) for part in segments)
        tasks.append(
            task(
                rng, f"t{i}", period, segments, core=core[i], priority=ranks[i],
                deadline=period * rng.choice((1, 1, 2, 3)),
                jitter=rng.choice((None, None, rng.randint(1, period // 2))),
                launches=rng.choice(("async", "graph")),
                gpu_priority=levels[i] if given and users else None,
            )
        )  # fmt: skip
    most = {"context_switch": 6, "update_cost": 5, "launch_latency": 2, "launch_cpu": 1}
    most |= {"graph_launch_cpu": 1, "kernel_gap": 1, "wake_latency": 1}
    more = {key: rng.choice((0, 0, rng.randint(1, top))) for key, top in most.items() if costs}
    return gs.Workload(tasks), platform(rng, cpus, 1, **more)


def shared_instances(rng: Random) -> Case:
    """Tasks on a GPU with instances that share few CPUs with each other and with CPU work alone."""
    tasks = []
    for i in range(rng.randint(2, 5)):
        period = rng.choice((60, 80, 120, 160))
        segments: list[gs.Segment] = []
        for _ in range(rng.randint(1, 2)):
            segments.append(gs.CPU(rng.randint(1, 8)))
            if rng.random() < 0.5:
                segments.append(gs.CopyIn(rng.randint(1, 5)))
            if i == 0 or rng.random() < 0.8:
                blocks = rng.choice((1, 4, 14, 28))
                segments.append(gs.Kernel(rng.randint(1, 8), blocks=blocks, threads=1024, regs=32))
            if rng.random() < 0.4:
                segments.append(gs.CopyOut(rng.randint(1, 4)))
        if rng.random() < 0.5:
            segments.append(gs.CPU(rng.randint(1, 6)))
        tasks.append(gs.Task(f"t{i}", period, segments, deadline=rng.randint(30, period)))
    p = gs.Platform("A30", cpus=rng.choice((1, 1, 1, 2)), slowdown=None)
    return placed(rng, tasks, p.cpus), p


def copying_clients(rng: Random) -> Case:
    """Tasks that only copy, in processes of kernels or of their own; few channels, much room."""
    named = rng.random() < 0.7

    def part(time: int, number: int = 1) -> list[gs.Segment]:
        return [gs.Kernel(time, blocks=1, threads=32) for _ in range(number)]

    users: list[tuple[str, list[gs.Segment], int | None]]
    users = [("P", part(rng.randint(6, 10), 2), None)]
    for _ in range(rng.randint(1, 2)):
        time = rng.randint(1, 3)
        users.append(("P", part(time), rng.choice((None, time + rng.randint(0, 3)))))
    if rng.random() < 0.5:
        users.append(("Q", part(rng.randint(1, 4)), None))
    for _ in range(rng.randint(1, 2)):
        users.append((rng.choice("PQR"), [gs.CopyIn(rng.randint(1, 4))], None))
    rng.shuffle(users)
    tasks, groups = [], dict[str, list[str]]()
    for i, (of, segments, due) in enumerate(users):
        process = of if named else None
        tasks.append(task(rng, f"t{i}", 80, segments, process=process, offset=i, deadline=due))
        if tasks[-1].kernels:
            groups.setdefault(of, []).append(f"t{i}")
    parts = {(of,) if named else tuple(names): 1 for of, names in groups.items()}
    more: dict[str, Any] = {} if named else {"green_contexts": parts, "workqueue": "balanced"}
    p = platform(rng, len(tasks), sms=2, mps_partitions=parts, **more)
    return gs.Workload(tasks), p.replace(gpu=p.gpu.replace(channels=2))


def whole_programs(rng: Random) -> Case:
    """CPU work, copies and kernels in any order; shared CPUs and channels, jitter."""
    p = platform(rng, sms=rng.choice((1, 2, 2, 3)))
    n, load, tasks = rng.choice((2, 3, 3, 4, 5)), rng.uniform(0.1, 0.7), list[gs.Task]()
    levels, pinned, heavy = rng.random() < 0.5, rng.random() < 0.3, rng.random() < 0.4
    planned = rng.random() < 0.4  # programs that pbs takes
    for i in range(n):
        period = rng.choice((20, 24, 30, 40, 45, 60, 80))
        total = max(3, round(period * load / n * rng.uniform(0.5, 1.8)))
        segments: list[gs.Segment] = []
        while total > 0:
            time = min(total, rng.randint(1, 6))
            total -= time
            draw = rng.random()
            if draw < 0.35:
                segments.append(gs.CPU(time))
            elif draw < 0.6:
                segments.append(rng.choice((gs.CopyIn, gs.CopyOut))(time))
            else:
                found = kernel(rng, time)
                if heavy:
                    regs, smem = rng.choice((0, 32, 64, 128)), rng.choice((0, 0, 9_000, 30_000))
                    found = found.replace(regs=regs, smem=smem, threads=rng.choice((128, 256)))
                segments.append(found)
        facts: dict[str, Any] = {
            "deadline": rng.choice(
                (None, period, rng.randint(10, period if planned else 2 * period))
            )
        }
        if rng.random() < 0.3 and not planned:
            facts["jitter"] = rng.randint(1, period // 2)
        if levels:
            facts["stream_priority"] = rng.randrange(3)
        if pinned:
            facts["core"] = rng.randrange(p.cpus)
        tasks.append(task(rng, f"t{i}", period, segments, **facts))
    more: dict[str, Any] = {"gpu": p.gpu.replace(channels=rng.choice((1, 2, 3, 8)))}
    more |= {"timeslice": rng.randint(1, 6), "context_switch": rng.choice((0, 0, 1, 2))}
    more |= {"launch_latency": rng.choice((0, 0, 1, 2)), "ring": rng.choice(("fifo", "cyclic"))}
    users = [one.name for one in tasks if one.kernels]
    if p.sms > 1 and len(users) > 1 and rng.random() < 0.4:
        groups: list[list[str]] = [users[::2], users[1::2]]
        more["green_contexts"] = {tuple(group): 1 for group in groups}
        more["workqueue"] = rng.choice(("shared", "balanced"))
    elif rng.random() < 0.5 and not planned:
        tasks = [one.replace(process=rng.choice("PQ")) for one in tasks]
        names = sorted({one.process for one in tasks if one.kernels and one.process})
        more["mps"] = {name: rng.choice((40, 60, 100)) for name in names}
        if p.sms > 1 and len(names) > 1:
            more["mps_partitions"] = {(name,): 1 for name in names}
    return gs.Workload(tasks), p.replace(**more)


def thread_waits(rng: Random) -> Case:
    """Jobs that wait for their operations: syncs, blocking and staged copies; work on DLAs."""
    w, p = whole_programs(rng)
    tasks, forms = [], rng.choice(((None,), ("async", "sync", "graph")))
    for one in w:
        form = rng.choice(forms)
        segments: list[gs.Segment] = []
        for part in one.segments:
            if isinstance(part, (gs.CopyIn, gs.CopyOut)) and form != "graph":
                staged = rng.randint(1, 4) if rng.random() < 0.3 else None
                part = part.replace(blocking=rng.random() < 0.4, staged=staged)
            if rng.random() < 0.15:
                segments.append(gs.DLA(rng.randint(1, 6), on=rng.randrange(2)))
            segments += [part, gs.Sync()] if rng.random() < 0.3 else [part]
        tasks.append(one.replace(segments=segments, launches=form))
    costs = {key: rng.choice((0, 0, 1)) for key in ("launch_cpu", "kernel_gap", "wake_latency")}
    return w.replace(tasks=tasks), p.replace(**costs) if rng.random() < 0.3 else p


KINDS: Mapping[str, Callable[[Random], Case]] = {
    kind.__name__: kind
    for kind in (
        cpu_only_late, cpu_only_together, cpu_demand, cpu_then_kernel, stream_overload,
        copies_around, engine_overload, long_copy, camera_recorder, many_copies, batch_copies,
        switches, profile_share, tight_lock, coarse_ticks, fine_ticks, cpu_partition, cpu_between,
        many_kernels, long_kernel_copy, early_end, block_time, late_many, general, costs, instances,
        networks, copying_clients, whole_programs, thread_waits, open_sections, shared_instances,
    )
}  # fmt: skip
"""Kinds by name: rows 1 to 23 of the list of programs with wrong verdicts, in its order, all facts
at once, jobs of many kernels, tasks that only copy, whole programs for the holistic test, these
with waits and DLAs, sections of contexts with copies, and instances that share CPUs."""


def attack_program(kind: str, index: int) -> Case:
    """A program by its kind and number; the same whatever else is run.

    The kind "known" has the programs of `known_programs` by their numbers.
    """
    if kind == "known":
        known = known_programs()
        return known[index] if index in known else known[1 + index % 13]
    w, p = KINDS[kind](Random(f"{kind} {index}"))
    ranks = Random(f"ranks {kind} {index}")
    if kind in ("general", "costs", "switches") and ranks.random() < 0.3:
        order = ranks.sample(range(len(w)), len(w))
        w = w.replace(
            tasks=[task.replace(gpu_priority=rank) for task, rank in zip(w, order, strict=True)]
        )
    for task in w:
        if _is_split_by_copies(task):
            raise ValueError(
                f"{task.name}: got a copy by the CPU between GPU operations; the package ends a "
                "GPU segment there, the machine of the tests does not"
            )
    return w, p


def _is_split_by_copies(task: gs.Task) -> bool:
    """Whether a copy by the CPU stands between GPU operations without other CPU work."""
    for work, parts in groupby(task.segments, lambda part: isinstance(part, gs.CPU)):
        by_cpu = [getattr(part, "by", "") == "cpu" for part in parts]
        if not work and False in by_cpu:
            first, last = by_cpu.index(False), len(by_cpu) - by_cpu[::-1].index(False)
            if True in by_cpu[first:last]:
                return True
    return False


def launched(case: Case, rng: Random) -> Case:
    """The program with a form of launching for each task, and with costs of launches."""
    w, p = case
    forms = rng.choice((("async",), ("graph",), ("sync",), ("async", "sync", "graph")))
    tasks = [task.replace(launches=rng.choice(forms)) for task in w]
    times = [part.time for task in w for part in task.segments if not isinstance(part, gs.Kernel)]
    most = max(1, min(times, default=4) // 2)
    keys = ("launch_cpu", "graph_launch_cpu", "kernel_gap", "wake_latency")
    costs = {key: rng.choice((0, 0, 1, rng.randint(1, most))) for key in keys}
    return w.replace(tasks=tasks), p.replace(**costs)


def delayed(case: Case, rng: Random) -> Case:
    """The program with release jitter of some tasks, where the deadline leaves room for it."""
    w, p = case
    tasks = []
    for task in w:
        room = (min(task.deadline, task.period) - task.cpu_time) // 2
        late = 0 if task.after or room < 1 or rng.random() < 0.3 else rng.randint(1, room)
        tasks.append(task.replace(jitter=late) if late else task)
    return w.replace(tasks=tasks), p
