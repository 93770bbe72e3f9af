"""Switches between contexts: their cost under GCAPS, and when a time slice ends."""

from __future__ import annotations

import random
from itertools import product
from typing import Any

import numpy as np
import pytest
from amounts import QUICK, cases
from context_vectors import hosts_of, tasks_of

import gpusched as gs

pytestmark = pytest.mark.numbers

MODES = ("suspend", "busy")
KERNEL = 3


def turns(run: Any) -> list[tuple[int, int, int]]:
    """Task, start and end of each turn on the GPU."""
    log = run.intervals
    rows = zip(log.task, log.start, log.end, log.what == KERNEL, strict=True)
    return sorted((int(i), int(a), int(b)) for i, a, b, kernel in rows if kernel)


def by_launches(w: gs.Workload, platform: gs.Platform, until: int) -> list[tuple[int, int, int]]:
    """Task, job and end of each job in the simulation of launches, a process for each task."""
    apart = w.replace(tasks=[task.replace(process=task.name) for task in w])
    view = apart.launches(platform, until)
    run = gs.simulate.hierarchy(
        view.launches,
        platform.gpu,
        timeslice=platform.timeslice,
        context_switch=platform.context_switch,
    )
    ends: dict[tuple[int, int], int] = {}
    for i, job, end in zip(view.task.tolist(), view.job.tolist(), run.end.tolist(), strict=True):
        behind = sum(part.time for part in w[i].segments[-1:] if isinstance(part, gs.CPU))
        ends[i, job] = max(ends.get((i, job), 0), end + behind)
    return sorted((*job, end) for job, end in ends.items())


def gcaps(rows: Any, offset: list[int], until: int | None = None, **options: Any) -> Any:
    hosts = hosts_of(tasks_of(*rows)).replace(offset=offset)
    way = gs.ways.Gcaps(**{"context_switch": 5} | options)
    until = max(offset) + 1 if until is None else until
    return gs.simulate.host(hosts, int(hosts.core.max()) + 1, way, until=until)


@pytest.mark.parametrize("mode", MODES)
def test_a_preemption_pays_two_switches(mode: str) -> None:
    """The first context pays none; the one that preempts it does, and the way back."""
    rows = [(0, 100, [0, 0], [(0, 3, 0)]), (1, 100, [0, 0], [(0, 10, 0)])]
    run = gcaps(rows, [4, 0], mode=mode)
    assert turns(run) == [(0, 9, 12), (1, 0, 4), (1, 17, 23)]
    assert run.worst.tolist() == [8, 23]
    waits = run.waits(1, 0)
    causes = dict(zip(waits.label.tolist(), (waits.end - waits.start).tolist(), strict=False))
    assert waits.label.tolist() == ["own", "switch", "GPU", "switch", "own"] and causes["GPU"] == 3


@pytest.mark.parametrize("mode", MODES)
def test_an_interrupted_switch_is_paid_again(mode: str) -> None:
    """Task 0 preempts task 1 while the GPU switches to it; then the switch to 1 is whole."""
    rows = [
        (0, 100, [0, 0], [(0, 2, 0)]),
        (1, 100, [0, 0], [(0, 3, 0)]),
        (2, 100, [0, 0], [(0, 10, 0)]),
    ]
    run = gcaps(rows, [6, 4, 0], mode=mode)
    assert turns(run) == [(0, 11, 13), (1, 18, 21), (2, 0, 4), (2, 26, 32)]
    again = gcaps(rows, [10, 4, 0], mode=mode)  # 1 has been served, and pays the way back
    assert turns(again) == [(0, 15, 17), (1, 9, 10), (1, 22, 24), (2, 0, 4), (2, 29, 35)]


def test_a_switch_in_vain_without_another_kernel() -> None:
    """Task 0 opens a segment without a kernel: the switch to 1 begins again, whole."""
    rows = [
        (0, 100, [0, 0], [(3, 0, 0)]),
        (1, 100, [0, 0], [(0, 4, 0)]),
        (2, 100, [0, 0], [(0, 2, 0)]),
    ]
    assert turns(gcaps(rows, [5, 2, 0]))[0] == (1, 13, 17)  # 2 to 5 in vain, from 8 to 13
    # Where the GPU is at the context already, nothing is paid.
    assert turns(gcaps(rows[:2], [2, 0])) == [(1, 0, 2), (1, 5, 7)]


def test_first_updates_end_switches_and_others_do_not() -> None:
    rows = [
        (0, 200, [0, 0], [(0, 2, 0)]),
        (1, 200, [0, 0], [(0, 4, 0)]),
        (2, 200, [0, 0], [(0, 6, 0)]),
    ]
    run = gcaps(rows, [6, 0, 100], update_cost=4, context_switch=5)
    # 1 runs from 4, stops at 6, 0 is open at 10 and switches to 15; its end update ends at 21.
    assert turns(run)[:3] == [(0, 15, 17), (1, 4, 6), (1, 26, 28)]
    for stall in (False, True):  # the update of 2 is less urgent: it stops the kernel, no switch
        run = gcaps(rows, [100, 6, 0], update_cost=4, context_switch=9, stall=stall)
        assert turns(run)[1:3] == [(1, 19, 23), (2, 4, 6)]


def test_idle_gaps_and_one_user() -> None:
    """After a gap the context of the last kernel goes on for nothing."""
    rows = [(0, 30, [1, 1], [(0, 3, 0)]), (1, 200, [0, 0], [(0, 2, 0)])]
    run = gcaps(rows, [0, 65], until=70)
    assert turns(run) == [(0, 1, 4), (0, 31, 34), (0, 61, 64), (1, 70, 72)]
    assert gcaps(rows[:1], [0], until=70).worst.tolist() == [5]
    hosts = hosts_of(tasks_of(*rows))
    assert gs.analysis.gcaps(hosts, context_switch=5).response.tolist() == [10, 20]
    assert gs.analysis.gcaps(hosts[:1], context_switch=5).response.tolist() == [5]


def test_terms() -> None:
    """One switch of its own, two for each segment of a more urgent task."""
    rows = [
        (0, 400, [1, 20, 1], [(0, 3, 0), (0, 2, 0)]),
        (1, 400, [1, 1], [(0, 4, 0)]),
    ]
    hosts = hosts_of(tasks_of(*rows))
    for mode in MODES:
        plain = gs.analysis.gcaps(hosts, mode=mode)
        more = gs.analysis.gcaps(hosts, context_switch=7, mode=mode)
        hold = 4 * 7 if mode == "suspend" else 3 * 7  # the response, and the way back
        assert (more.response - plain.response).tolist() == [14, 7 + hold]
        assert (more.terms["own"] - plain.terms["own"]).tolist() == [14, 7]
    # Busy, on one core: the segments of a more urgent job cost the same.
    hosts = hosts.replace(core=[0, 0])
    more = gs.analysis.gcaps(hosts, context_switch=7, mode="busy")
    plain = gs.analysis.gcaps(hosts, mode="busy")
    assert (more.response - plain.response).tolist() == [14, 7 + 4 * 7]


def test_the_printed_equations_have_no_switch() -> None:
    hosts = hosts_of(tasks_of((0, 90, [1, 1], [(0, 3, 0)]), (1, 90, [1, 1], [(0, 3, 0)])))
    with pytest.raises(
        ValueError, match="context_switch: got 2, expected 0 for the printed equations"
    ):
        gs.analysis.gcaps(hosts, context_switch=2, variant="paper")
    for wrong, error in ((-1, ValueError), (2**60, OverflowError)):
        with pytest.raises(error, match=f"context_switch: got {wrong}"):
            gs.analysis.gcaps(hosts, context_switch=wrong)


def random_sets(rng: np.random.Generator, count: int) -> gs.HostTasks:
    """Sets of 2 to 5 tasks with small integers on 1 to 3 cores, of low load."""
    n, cores = int(rng.integers(2, 6)), int(rng.integers(1, 4))
    segments = rng.integers(0, 3, (count, n))
    j = np.arange(3)
    cpu = rng.integers(0, 4, (count, n, 3)) * (j <= segments[..., None])
    on = (j[:2] < segments[..., None]).astype(np.int64)
    copy_in, copy_out = (rng.integers(0, 2, on.shape) * on for _ in range(2))
    kernel = rng.integers(0, 6, on.shape) * on
    work = cpu.sum(-1) + copy_in.sum(-1) + copy_out.sum(-1) + kernel.sum(-1)
    cpu[..., 0] += work == 0
    period = np.maximum(work, 1) * rng.integers(3, 20, (count, n)) + rng.integers(0, 9, (count, n))
    return gs.HostTasks(
        period,
        cpu,
        copy_in,
        kernel[..., None],
        copy_out,
        segments=segments,
        priority=np.argsort(np.argsort(period, axis=1, kind="stable"), axis=1),
        core=rng.integers(0, cores, (count, n)),
    )


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("protocol", ["gcaps", "time_slices"])
def test_no_response_above_a_bound(protocol: str, mode: str) -> None:
    """Thousands of random sets with large switches, offsets, gaps and early completion."""
    rng = np.random.default_rng([8, protocol == "gcaps", mode == "busy"])
    accepted = attained = 0
    for _ in range(cases(14)):
        hosts = random_sets(rng, 150)
        switch = int(rng.choice([1, 2, 4, 9]))
        options: dict[str, Any] = {"timeslice": int(rng.integers(1, 6))}
        if protocol == "gcaps":
            options = {"update_cost": int(rng.choice([0, 0, 1, 2]))}
            options["stall"] = bool(rng.random() < 0.3)
        options |= {"mode": mode, "context_switch": switch}
        answer = getattr(gs.analysis, protocol)(hosts, 3, **options)
        seen = np.zeros(hosts.period.shape, np.int64)
        for k in range(24):
            moved = hosts.replace(offset=rng.integers(0, 12 + k * 4, hosts.period.shape))
            victim = int(rng.integers(-1, hosts.n))
            found = gs.simulate.host_responses(
                moved,
                3,
                gs.ways.as_way(protocol, **options),
                until=400,
                execution=(0, 1) if k % 3 == 0 else 1.0,
                releases=[0, 0, 0.4][k % 3],
                victim=victim if victim >= 0 and k % 2 else None,
                seed=k,
            )
            seen = np.maximum(seen, found.worst)
        good = answer.accepted
        bound = answer.response.filled(-1)
        assert (seen[good] <= bound[good]).all()
        accepted += int(good.sum())
        attained += int(((seen == bound) & (hosts.segments > 0))[good].sum())
    assert (accepted > 400 and attained > 100) or QUICK


# The end of a time slice


@pytest.mark.parametrize("ring", ["fifo", "cyclic"])
@pytest.mark.parametrize("mode", MODES)
def test_a_launch_at_the_end_of_a_slice(ring: str, mode: str) -> None:
    """A kernel of 10 alone, in slices of 4: the launch of another context at 4 has the next one."""
    tasks = tasks_of((0, 100, [0, 0], [(0, 10, 0)]), (1, 100, [0, 0], [(0, 3, 0)]))
    worst = []
    for at in (3, 4, 5):
        hosts = hosts_of(tasks).replace(offset=[0, at])
        way = gs.ways.TimeSlices(timeslice=4, ring=ring, mode=mode)
        worst.append(gs.simulate.host(hosts, 2, way, until=9).worst.tolist())
    assert worst == [[13, 4], [13, 3], [13, 6]]


def test_a_launch_precedes_the_context_whose_slice_ends() -> None:
    """First in, first out: 0 waits, 1 has its slice, 2 launches as it ends."""
    tasks = tasks_of(*((i, 100, [0, 0], [(0, 6, 0)]) for i in range(3)))
    hosts = hosts_of(tasks).replace(offset=[1, 0, 2])
    run = gs.simulate.host(hosts, 3, gs.ways.TimeSlices(timeslice=2), until=9)
    assert [task for task, *_ in sorted(turns(run), key=lambda row: row[1])][:6] == [
        1,
        0,
        2,
        1,
        0,
        2,
    ]


def launched(rng: random.Random) -> tuple[gs.Workload, gs.Platform]:
    """Tasks of one kernel that fills the GPU, each with a core of its own."""
    tasks, count = [], rng.randint(2, 4)
    for i in range(count):
        work: list[Any] = [gs.Kernel(rng.randint(1, 8), blocks=2, threads=1024)]
        if before := rng.randint(0, 2):
            work.insert(0, gs.CPU(before))
        first, period = rng.randint(0, 12), rng.randint(15, 60)
        tasks.append(gs.Task(f"t{i}", period, work, offset=first, core=i, priority=i))
    slice, switch = rng.randint(1, 6), rng.choice([0, 0, 1, 2])
    gpu = gs.GPU(2, 1024, 8)
    return gs.Workload(tasks), gs.Platform(gpu, cpus=count, timeslice=slice, context_switch=switch)


@pytest.mark.parametrize("mode", MODES)
def test_both_simulations_of_time_slices_agree(mode: str) -> None:
    """Job by job, with small integers, where launches often fall on the ends of slices."""
    rng, same, until = random.Random(f"slices {mode}"), 0, 120
    for _ in range(cases(150)):
        w, platform = launched(rng)
        hosts = w.hosts(platform, sms="all").tasks
        run = gs.simulate.host(
            hosts,
            platform.cpus,
            gs.ways.TimeSlices(
                timeslice=platform.timeslice,
                context_switch=platform.context_switch,
                ring="cyclic",
                mode=mode,
            ),
            until=until,
        )
        if (run.worst >= hosts.period).any():  # a job that waits for the one before launches later
            continue
        jobs = sorted(zip(run.task.tolist(), run.job.tolist(), run.end.tolist(), strict=True))
        assert jobs == by_launches(w, platform, until)
        same += 1
    assert same > 100 or QUICK


def test_offsets_of_two_kernels() -> None:
    """All offsets of two kernels: both simulations, and the bounds of the test."""
    platform = gs.Platform(gs.GPU(2, 1024, 8), cpus=2, timeslice=3, context_switch=1)
    shape = {"blocks": 2, "threads": 1024}
    for first, second in product(range(8), (0, 3, 4)):
        tasks = [
            gs.Task("a", 60, [gs.Kernel(7, **shape)], offset=first, core=0, priority=0),
            gs.Task("b", 60, [gs.Kernel(5, **shape)], offset=second, core=1, priority=1),
        ]
        w = gs.Workload(tasks)
        hosts = w.hosts(platform, sms="all").tasks
        way = gs.ways.TimeSlices(timeslice=3, context_switch=1, ring="cyclic")
        run = gs.simulate.host(hosts, 2, way, until=50)
        jobs = sorted(zip(run.task.tolist(), run.job.tolist(), run.end.tolist(), strict=True))
        assert jobs == by_launches(w, platform, 50)
        bound = gs.analysis.time_slices(hosts, 2, timeslice=3, context_switch=1)
        assert (run.worst <= bound.response).all()
