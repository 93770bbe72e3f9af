"""Necessary conditions of a workload: known programs, plain twin, all schedules, the core."""

from __future__ import annotations

import random
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from amounts import cases
from native import positional
from reference import any_schedule, demand

import gpusched as gs
from gpusched import _core
from gpusched.comparison.verdicts.necessary_conditions import (
    broken_conditions,
    serial_gpu_overloads,
)

FITS, EXCEEDED, SPENT = range(3)
SMALL = gs.GPU(sms=2, threads_per_sm=1024, blocks_per_sm=8)


def kernel(time: int | str, blocks: int = 1) -> gs.Kernel:
    return gs.Kernel(time, blocks=blocks, threads=256)


def platform(cpus: int = 2, **changes: Any) -> gs.Platform:
    return gs.Platform(SMALL, cpus=cpus, slowdown=None, **{"copy_engines": 1, **changes})


def broken(tasks: list[gs.Task], on: gs.Platform, tick: str = "ns") -> list[str]:
    w = gs.Workload(tasks, tick=tick)
    return list(broken_conditions(w, on.at(w.tick)))


# Programs with a known answer ---------------------------------------------------------------------


def test_a_job_alone() -> None:
    tasks = [
        gs.Task("control", 10, [gs.CPU(6)], deadline=5),
        gs.Task("det", 20, [kernel(1)]),
    ]
    sentence = "control: a job alone takes 6ns, more than its deadline of 5ns"
    assert broken(tasks, platform(8)) == [sentence]
    assert broken([tasks[0].replace(deadline=6), tasks[1]], platform(8)) == []


def test_cpu_work_of_jobs_with_offsets() -> None:
    tasks = [
        gs.Task("a", 20, [gs.CPU(6)], deadline=6),
        gs.Task("b", 20, [gs.CPU(4)], deadline=5, offset=3),
        gs.Task("det", 20, [kernel(1)]),
    ]
    assert broken(tasks, platform(1)) == [
        "a, b: 10ns of CPU work must run within 8ns (from 0ns to 8ns), the platform has 1 CPU"
    ]
    assert broken(tasks, platform(2)) == []
    assert broken([tasks[0], tasks[1].replace(offset=5), tasks[2]], platform(1)) == []
    pinned = [tasks[0].replace(core=1), tasks[1].replace(core=1), tasks[2]]
    assert broken(pinned, platform(2)) == [
        "a, b: 10ns of CPU work must run within 8ns (from 0ns to 8ns), core 1 is 1 CPU"
    ]
    pinned[1] = pinned[1].replace(core=0)
    assert broken(pinned, platform(2)) == []


def test_cpu_work_of_several_jobs() -> None:
    w = [
        gs.Task("a", "10ms", [gs.CPU("6ms"), kernel("500us")]),
        gs.Task("b", "100ms", [gs.CPU("35ms"), kernel("500us")], deadline="50ms"),
    ]
    on = gs.Platform("A100", cpus=1)
    assert broken(w, on, "us") == [
        "a, b: 65ms of CPU work must run within 49.5ms (from 0ns to 49.5ms), the platform has 1 CPU"
    ]
    w[1] = w[1].replace(segments=[gs.CPU("19ms"), kernel("500us")])
    assert broken(w, on, "us") == []
    found = gs.compare(gs.Workload(w, tick="us"), on, ways=["streams"])
    assert found.impossible == ()


def test_cpu_work_that_must_leave_time_for_kernels() -> None:
    tasks = [
        gs.Task(name, 20, [gs.CPU(4), kernel(1)], deadline=6, offset=offset)
        for name, offset in (("a", 0), ("b", 1))
    ]
    assert broken(tasks, platform(1)) == [
        "a, b: 8ns of CPU work must run within 6ns (from 0ns to 6ns), the platform has 1 CPU"
    ]
    assert broken(tasks, platform(2)) == []
    later = [tasks[0], tasks[1].replace(offset=3)]
    assert broken(later, platform(1)) == []


def test_cpu_work_of_which_a_part_must_run_in_an_interval() -> None:
    """Two tasks take both CPUs for 10 ticks, and the third can wait for two of them only."""
    tasks = [gs.Task(f"t{i}", 30, [gs.CPU(10)], deadline=10) for i in range(2)]
    tasks.append(gs.Task("more", 30, [gs.CPU(3)], deadline=12))
    assert broken(tasks, platform(2)) == [
        "t0, t1, more: 21ns of CPU work must run within 10ns (from 0ns to 10ns), the platform has "
        "2 CPUs"
    ]
    assert broken([*tasks[:2], tasks[2].replace(deadline=13)], platform(2)) == []


def test_one_stream_and_one_engine() -> None:
    other = gs.Task("B", 100, [kernel(1)])
    task = gs.Task("A", 8, [gs.CopyIn(5), kernel(3), gs.CopyOut(5)], deadline=20)
    stream = "A: kernels and copies of a job take 13ns in the task's stream, more than its period "
    assert broken([task, other], platform()) == [
        "copies need 1.25 copy engines, there is 1",
        f"{stream}of 8ns",
    ]
    assert broken([task, other], platform(copy_engines=2)) == [f"{stream}of 8ns"]
    by_cpu = task.replace(segments=[gs.CopyIn(5, by="cpu"), kernel(3), gs.CopyOut(5)])
    assert broken([by_cpu, other], platform(copy_engines=2)) == []
    task = gs.Task("A", 8, [gs.CopyIn(9), kernel(3)], deadline=40)
    assert broken([task, other], platform())[0] == "copies need 1.125 copy engines, there is 1"
    assert broken([task, other], platform(copy_engines=2))[0] == (
        "copies to the GPU need 1.125 copy engines, there is 1"
    )


def test_copies_in_an_interval() -> None:
    tasks = [
        gs.Task(name, 100, [gs.CopyIn(5), kernel(2), gs.CopyOut(1)], deadline=9, offset=i)
        for i, name in enumerate("abc")
    ]
    assert broken(tasks[:2], platform()) == [
        "a, b: 10ns of copies must run within 7ns (from 0ns to 7ns), there is 1 copy engine"
    ]
    spread = [task.replace(offset=10 * i) for i, task in enumerate(tasks)]
    assert broken(spread, platform()) == []
    # Seven instances have engines of their own.
    on = gs.Platform("A100", cpus=8)
    assert broken(tasks, on) == []
    assert "b, c: 10ns of copies to the GPU" not in " ".join(broken(tasks, on))
    whole = broken(tasks, on.replace(mig=["7g.40gb"], copy_engines=2))
    assert whole[0].startswith("a, b, c: 11ns of copies must") and "have 2 copy" in whole[0]


def test_blocks_of_kernels() -> None:
    """A kernel takes 6 ticks of all of the GPU, another one as much."""
    big = kernel(6, blocks=8)
    tasks = [gs.Task("a", 10, [big], deadline=9), gs.Task("b", 10, [big], deadline=9, offset=1)]
    assert broken(tasks, platform()) == ["kernels need 1.2 times the GPU's threads"]
    rare = [task.replace(period=100, deadline=9) for task in tasks]
    assert broken(rare, platform()) == [
        "a, b: kernels need 1.2 times the GPU's threads within 10ns (from 0ns to 10ns)"
    ]
    half = [task.replace(segments=[kernel(6, blocks=4)]) for task in tasks]
    assert broken(half, platform()) == []
    w = gs.Workload(half)
    assert serial_gpu_overloads(w, platform()) == [
        "kernels that exclude each other need 1.2 GPUs, there is 1"
    ]
    w = gs.Workload([task.replace(period=100, deadline=9) for task in half])
    assert serial_gpu_overloads(w, platform()) == [
        "a, b: 12ns of kernels that exclude each other must run within 10ns (from 0ns to 10ns), "
        "there is 1 GPU"
    ]
    assert serial_gpu_overloads(w[:1], platform()) == []


def test_resources_of_blocks() -> None:
    gpu = gs.GPU(sms=1, threads_per_sm=2048, blocks_per_sm=4, regs_per_sm=65536, smem_per_sm=40960)
    on = gs.Platform(gpu, slowdown=None)

    def resources(**shape: int) -> list[str]:
        k = gs.Kernel(9, blocks=2, **{"threads": 32, **shape})
        return broken([gs.Task(f"t{i}", 10, [k]) for i in range(3)], on)

    assert resources() == ["kernels need 1.35 times the GPU's blocks"]
    assert resources(threads=512) == [
        "kernels need 1.35 times the GPU's threads", "kernels need 1.35 times the GPU's blocks"
    ]  # fmt: skip
    assert "kernels need 1.35 times the GPU's registers" in resources(threads=256, regs=64)
    assert "kernels need 1.35 times the GPU's bytes of shared memory" in resources(smem=10240)


def test_blocks_that_exclude_each_other() -> None:
    """Two blocks of more than half of an SM, and one of these beside three of more than a third."""

    def sentences(*shapes: tuple[int, int]) -> list[str]:
        return broken([
            gs.Task(f"t{i}", 10, [gs.Kernel(8, blocks=blocks, threads=threads)])
            for i, (blocks, threads) in enumerate(shapes)
        ], platform())  # fmt: skip

    wasted = "times the GPU's threads, counting those that no other block can use"
    assert sentences((2, 544), (1, 544)) == [f"kernels need 1.2 {wasted}"]
    assert sentences((2, 544), (2, 480)) == []
    assert sentences((4, 352), (1, 352)) == []  # 4 / 3 would need 5 / 4 of the SMs
    assert sentences((4, 352), (2, 352)) == [f"kernels need 1.2 {wasted}"]


def test_times_as_stated() -> None:
    """A wave of 7.5 ticks is not rounded; a measured time of a block, or on fewer SMs, is kept."""
    one = gs.GPU(sms=1, threads_per_sm=1024, blocks_per_sm=1)
    on = gs.Platform(one, slowdown=None)
    task = gs.Task("a", 15, [gs.Kernel(15, blocks=2, threads=1024)])
    assert broken([task], on) == []
    assert broken([task, gs.Task("b", 1000, [gs.Kernel(1, blocks=1, threads=32)])], on) != []
    measured = gs.Kernel(block_time=8, blocks=2, threads=1024)
    assert broken([task.replace(segments=[measured])], on)[0].startswith("a: a job alone takes 16")
    # On one SM the blocks take 100 of its ticks, on two SMs 120 of theirs.
    profile = gs.Kernel(sms={1: 100, 2: 60}, blocks=4, threads=1024)
    tasks = [gs.Task(name, 110, [profile]) for name in "ab"]
    assert broken(tasks, platform()) == []


def test_long_hyperperiods_and_times() -> None:
    """Statements are right where there are too many intervals, too, or times are too long."""
    periods = [10**6 + 3 * i for i in range(12)]
    tasks = [gs.Task(f"t{i}", p, [gs.CPU(p // 13)]) for i, p in enumerate(periods)]
    tasks = [task.replace(deadline=task.period // 2) for task in tasks]
    assert "must run within" in broken(tasks, platform(1))[0]
    assert broken(tasks, platform(2)) == []
    huge = 2**59
    assert broken([gs.Task("a", huge, [gs.CPU(huge - 1)], offset=2**59)], platform(1)) == []
    many = gs.Task("a", 2**59, [gs.CPU(2**39, repeat=10**6)], deadline=2**59)
    assert broken([many, many.replace(name="b")], platform(1)) != []


def test_broken_shapes_say_nothing() -> None:
    """The rows give the reason."""
    wrong = gs.Kernel(5, blocks=1, threads=2048)
    tasks = [gs.Task("a", 10, [gs.CPU(9), wrong]), gs.Task("b", 10, [gs.CPU(9)])]
    assert broken(tasks, platform(1)) == []
    w = gs.Workload(tasks)
    assert serial_gpu_overloads(w, platform(1)) == []
    just = [gs.Task("a", 10**9, [gs.CPU(10**9)]), gs.Task("b", 10**9, [gs.CPU(1)])]
    assert broken(just, platform(1)) == ["CPU work needs 1.000000001 CPUs, the platform has 1"]


# The twin -----------------------------------------------------------------------------------------


def interval(parts: list[demand.Part], capacity: int, budget: int = 10**6) -> tuple[int, ...]:
    columns = [np.array(column, np.int64) for column in zip(*parts, strict=True)]
    found = _core.demand_interval(*columns, capacity=capacity, budget=budget, stop=None)
    return tuple(found)


def drawn_parts(chance: random.Random) -> list[demand.Part]:
    parts = []
    for _ in range(chance.randint(1, 4)):
        period = chance.choice([2, 3, 4, 6])
        window = chance.randint(1, chance.choice([3, 5, 9]))
        rate = chance.choice([1, 1, 2, 3, 20])
        work = chance.randint(0, min(rate * window, 8))
        start = chance.choice([0, chance.randint(0, 7)])
        parts.append(demand.Part(period, start, window, work, rate))
    return parts


def test_twin() -> None:
    chance = random.Random(1)
    verdicts = [0, 0]
    while min(verdicts) < 150:
        parts = drawn_parts(chance)
        least = max(1, -(-demand.load(parts).numerator // demand.load(parts).denominator))
        capacity = least + chance.choice([0, 0, 0, 1, 2])
        verdict, begin, end, _ = interval(parts, capacity)
        if verdict == EXCEEDED:
            assert demand.demand(parts, begin, end) > capacity * (end - begin)
        elif verdicts[verdict] < 150:
            assert verdict == FITS
            assert demand.excess(parts, capacity) is None, (parts, capacity)
        verdicts[verdict] += 1


def test_spent_budgets_say_nothing_wrong() -> None:
    parts = [demand.Part(1001 + 2 * i, 0, 10 * (i + 1), 10, 1) for i in range(10)]
    assert interval(parts, 1, budget=10)[0] == SPENT
    verdict, begin, end, steps = interval(parts, 1, budget=1000)
    assert verdict in (EXCEEDED, SPENT) and steps < 3000
    assert verdict == SPENT or demand.demand(parts, begin, end) > end - begin


# All schedules ------------------------------------------------------------------------------------


def drawn_segment(chance: random.Random, sms: int) -> any_schedule.Segment:
    kind = chance.choice(["cpu", "cpu", "in", "out", "kernel", "kernel"])
    if kind != "kernel":
        return any_schedule.Segment(kind, chance.choice([1, 1, 2, 3]))
    threads = chance.choice([256, 384, 512, 640, 1024])
    blocks = chance.randint(1, chance.choice([2, max(2, 3 * sms * (1024 // threads) // 2)]))
    return any_schedule.Segment(kind, chance.choice([1, 1, 2]), min(blocks, 6), threads)


def drawn_program(chance: random.Random) -> tuple[list[any_schedule.Task], int, int, int]:
    """Tasks, CPUs, copy engines and SMs."""
    sms = chance.choice([1, 1, 2])
    tasks = []
    for _ in range(chance.randint(1, 3)):
        period = chance.choice([3, 4, 6, 6, 8])
        segments = tuple(drawn_segment(chance, sms) for _ in range(chance.choice([1, 1, 2, 3])))
        deadline = max(1, period + chance.choice([-2, -1, 0, 0, 0, 1, 3]))
        offset = chance.choice([0, 0, chance.randint(0, period)])
        core = chance.choice([None, None, None, 0])
        tasks.append(any_schedule.Task(period, deadline, offset, segments, core))
    return tasks, chance.choice([1, 1, 2]), chance.choice([1, 2]), sms


def stated(segment: any_schedule.Segment, sms: int) -> Any:
    if segment.kind != "kernel":
        return {"cpu": gs.CPU, "in": gs.CopyIn, "out": gs.CopyOut}[segment.kind](segment.time)
    waves = -(-segment.blocks // (sms * (1024 // segment.threads)))
    return gs.Kernel(waves * segment.time, blocks=segment.blocks, threads=segment.threads)


def as_workload(tasks: list[any_schedule.Task], sms: int) -> gs.Workload:
    return gs.Workload(
        gs.Task(
            f"t{i}",
            task.period,
            [stated(segment, sms) for segment in task.segments],
            deadline=task.deadline,
            offset=task.offset,
            core=task.core,
        )
        for i, task in enumerate(tasks)
    )


def judged(seed: int) -> dict[str, int]:
    """Verdicts on a random program: what the conditions say, and whether there is a schedule."""
    chance = random.Random(seed)
    tasks, cpus, engines, sms = drawn_program(chance)
    w = as_workload(tasks, sms)
    gpu = gs.GPU(sms=sms, threads_per_sm=1024, blocks_per_sm=8)
    on = gs.Platform(gpu, cpus=cpus, copy_engines=engines, slowdown=None)
    impossible = broken_conditions(w, on)
    serial = [*impossible, *serial_gpu_overloads(w, on)]
    counts = {"impossible": bool(impossible), "serial": len(serial) > len(impossible)}
    counts |= {"found": 0, "no schedule": 0, "no serial schedule": 0, "spent": 0}
    for key, said, alone in (
        ("no schedule", impossible, False),
        ("no serial schedule", serial, True),
    ):
        machine = any_schedule.Machine(cpus, engines, sms, 1024, 8, alone)
        try:
            exists = any_schedule.exists(tasks, machine)
        except any_schedule.Spent:
            counts["spent"] += 1
            continue
        assert not (said and exists), (seed, said, tasks, cpus, engines, sms)
        counts[key] += not exists
        counts["found"] += exists
    return counts


def campaign(first: int, count: int) -> dict[str, int]:
    total: dict[str, int] = {}
    for seed in range(first, first + count):
        for key, value in judged(seed).items():
            total[key] = total.get(key, 0) + value
    return total


def test_no_schedule_where_it_is_impossible() -> None:
    total = campaign(0, 500)
    assert total["impossible"] > 100 and total["found"] > 100
    # Most programs without a schedule are recognised.
    assert total["impossible"] > 0.8 * total["no schedule"]


@pytest.mark.long
def test_no_schedule_where_it_is_impossible_many() -> None:
    count = cases(10_000)
    assert campaign(10_000, count)["found"] > count // 5


# The core -----------------------------------------------------------------------------------------

GOOD: dict[str, Any] = {
    "period": [4, 6],
    "start": [0, 3],
    "window": [4, 5],
    "work": [3, 4],
    "rate": [1, 1],
    "capacity": 1,
    "budget": 1000,
    "stop": None,
}


def called(**changes: Any) -> Any:
    return positional(_core.demand_interval)(*(GOOD | changes).values())


def test_core_answers() -> None:
    assert called()[0] == EXCEEDED
    none = {key: np.array([], np.int64) for key in ("period", "start", "window", "work", "rate")}
    assert called(**none) == (FITS, 0, 0, 0)
    assert called(work=[0, 0])[0] == FITS
    most = 2**60 - 2
    huge = {"period": [most] * 2, "start": [most] * 2, "window": [most] * 2}
    assert called(**huge, work=[most] * 2, rate=[1, most], capacity=1)[0] == EXCEEDED
    assert called(**huge, work=[most] * 2, rate=[1, most], capacity=most)[0] == FITS
    # Windows much longer than periods: so many jobs are open at once.
    assert called(period=[1, 1], window=[most] * 2, work=[1, 1], capacity=2)[0] == FITS
    long = {"period": [most, most - 1], "window": [most, 1], "work": [most, 1]}
    assert called(**long, rate=[1, 2], capacity=1)[0] == EXCEEDED
    long["work"][1] = 2  # which fills its window
    assert called(**long, rate=[2, 2], capacity=2)[0] == SPENT  # from 2**61 ticks on


@pytest.mark.parametrize("name", ["period", "start", "window", "work", "rate"])
def test_core_refuses_other_columns(name: str) -> None:
    for value in ([1.5, 2], "text", None, [2**63, 1], np.array([4, 5], np.uint64)):
        with pytest.raises((TypeError, ValueError), match=f"^{name}: "):
            called(**{name: value})
    for value in (4, [[4, 5]]):
        with pytest.raises(ValueError, match=f"^{name}: got . dimension"):
            called(**{name: value})
    with pytest.raises(ValueError, match="length"):
        called(**{name: [1, 1, 1]})
    with pytest.raises(ValueError, match=rf"^{name}\[1\]: got -1, expected a "):
        called(**{"work": [0, 0], name: [1, -1]})
    with pytest.raises(OverflowError, match=rf"^{name}\[1\]: got {2**60 - 1}, expected at most"):
        called(**{"work": [0, 0], name: [1, 2**60 - 1]})


@pytest.mark.parametrize(
    ("changes", "error", "text"),
    [
        ({"period": [0, 1]}, ValueError, r"period\[0\]: got 0, expected a positive number"),
        ({"work": [3, 6]}, ValueError, r"work\[1\]: got 6, expected at most the rate times the w"),
        ({"capacity": 0}, ValueError, "capacity: got 0, expected a positive number"),
        ({"capacity": 2**60}, OverflowError, f"capacity: got {2**60}, expected at most 2"),
        ({"capacity": 2**64}, OverflowError, "capacity: got"),
        ({"budget": 0}, ValueError, "budget: got 0, expected a positive number below"),
        ({"budget": 2**31}, ValueError, f"budget: got {2**31}, expected a positive number below"),
        ({"budget": 1.5}, TypeError, "budget: got 1.5, expected a whole number"),
        ({"stop": 5}, TypeError, "stop: "),
    ],
)
def test_core_refuses(changes: dict[str, Any], error: type[Exception], text: str) -> None:
    with pytest.raises(error, match=f"^{text}"):
        called(**changes)


def test_works_are_rounded_safely() -> None:
    """Shares of a third of a tick, and of denominators whose product is too long to be exact."""
    one = gs.GPU(sms=1, threads_per_sm=1024, blocks_per_sm=8)
    on = gs.Platform(one, slowdown=None)
    waves = [7, 11, 13, 17, 19, 23, 29, 31, 37, 41, 43, 47, 53, 59, 61]
    tasks = [
        gs.Task(f"t{n}", 600, [gs.Kernel(40, blocks=n, threads=1024)], deadline=600) for n in waves
    ]
    assert broken(tasks, on) == []
    assert sum(Fraction(40, 600) for _ in waves) == 1
    assert broken([*tasks, gs.Task("t", 600, [kernel(1)])], on) != []
