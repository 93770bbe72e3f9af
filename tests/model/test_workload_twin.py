"""Views of random workloads against a slow twin that was written from their documentation."""

from __future__ import annotations

from itertools import product
from random import Random
from typing import Any

import numpy as np
import pytest
from reference import workload_views as twin

import gpusched as gs

pytestmark = [pytest.mark.python, pytest.mark.numbers]

SEEDS = range(80)


def stated_time(gpu: gs.GPU, kernel: gs.Kernel) -> int:
    """The time of a kernel alone, which observed runs do not round up to ticks in each wave."""
    time = twin.whole_time(gpu, kernel)
    if kernel.block_time is not None or not kernel.has_shape:
        return time
    return twin.looked_up(kernel.sms, gpu.sms) if kernel.sms else kernel.time


def random_case(seed: int) -> tuple[gs.Workload, gs.Platform]:
    """Any order of segments, so that copies stand without kernels, and all facts."""
    random = Random(seed)
    gpu = gs.GPU(
        sms=random.randrange(1, 6), threads_per_sm=1024, blocks_per_sm=random.choice((4, 32))
    )
    platform = gs.Platform(
        gpu,
        cpus=random.randrange(1, 5),
        launch_latency=random.choice((0, 0, 3)),
        context_switch=random.choice((0, 2)),
        priority_levels=random.choice((None, 2)),
        copy_engines=random.choice((None, 1, 2, 2, 3) if seed % 20 else (0,)),
    )
    processes = random.random() < 0.2
    streams, priorities = random.random() < 0.5, random.random() < 0.5

    def segment() -> Any:
        kind: Any = random.choice((gs.CPU, gs.CopyIn, gs.CopyOut, gs.Kernel, gs.Kernel, gs.Kernel))
        time, repeat = random.randrange(1, 50), random.choice((1, 1, 2, 3))
        if kind is gs.CPU:
            return gs.CPU(time, repeat=repeat)
        if random.random() < 0.05:
            return gs.Sync()
        if kind is gs.CopyIn or kind is gs.CopyOut:
            by = random.choice(("engine", "cpu"))
            waits: dict[str, Any] = {}
            if by == "engine" and random.random() < 0.2:
                waits = random.choice(({"blocking": True}, {"staged": time}))
            return kind(time, by=by, repeat=repeat, **waits)
        facts: dict[str, Any] = {}
        if random.random() < 0.9:
            facts = {
                "blocks": random.randrange(1, 60),
                "threads": random.randrange(1, 1025),
                "regs": random.choice((0, 32, 40)),
                "smem": random.choice((0, 1000, 40000)),
            }
        if facts and random.random() < 0.2:
            facts["block_time"] = random.randrange(1, 20)
            time = random.choice((None, random.randrange(facts["block_time"], 99)))
        if random.random() < 0.2:
            keys = random.sample(range(1, 6), random.randrange(1, 4))
            keys = sorted({*keys, *([1] if random.random() < 0.5 else [])})
            times = sorted((random.randrange(1, 99) for _ in keys), reverse=True)
            facts["sms"] = dict(zip(keys, times, strict=True))
        if not facts and random.random() < 0.5:
            facts["sms"] = random.choice((0.25, "1/3", 1))
        return gs.Kernel(time, **facts, repeat=repeat)

    def task(i: int) -> gs.Task:
        facts: dict[str, Any] = {}
        if random.random() < 0.3:
            facts["deadline"] = random.randrange(1, 2000)
        if random.random() < 0.3:
            facts["offset"] = random.randrange(30)
        if random.random() < 0.02:
            facts["jitter"] = 1
        if random.random() < 0.3:
            facts["core"] = random.randrange(4)
        if processes:
            facts["process"] = random.choice(("p", "q"))
        if streams and random.random() < 0.95:
            facts["stream_priority"] = random.randrange(3)
        if priorities and random.random() < 0.95:
            facts["priority"] = random.randrange(3)
        segments = [segment() for _ in range(random.randrange(1, 6))]
        if all(isinstance(part, gs.Sync) for part in segments):
            segments.append(gs.CPU(1))
        return gs.Task(f"t{i}", random.randrange(1, 2000), segments, **facts)

    return gs.Workload([task(i) for i in range(random.randrange(1, 5))], "us"), platform


def both(slow: Any, view: Any) -> tuple[Any, Any]:
    """Derivations of the twin and of the view; None for both where both refuse."""
    try:
        expected = slow()
    except twin.Unsupported as error:
        with pytest.raises(ValueError, match=": got"):
            view()
        assert str(error)
        return None, None
    return expected, view()


def test_kernel_tasks_are_those_of_the_twin() -> None:
    compared = 0
    for seed in SEEDS:
        w, p = random_case(seed)
        for gaps, waits in product(("refuse", "occupy"), (False, True)):
            rows, view = both(
                lambda: twin.kernel_rows(w, p, gaps, waits),  # noqa: B023
                lambda: w.kernels(p, gaps=gaps, waits=waits),  # noqa: B023
            )
            for i, row in enumerate(rows or ()):
                compared += 1
                assert view.tasks.name[i] == row.pop("name")
                row["priority"] = row["priority"] or 0
                found = {key: int(getattr(view.tasks, key)[i]) for key in row}
                assert found == row, (seed, gaps, waits, i)
    assert compared > 50


@pytest.mark.parametrize("divided", [True, False])
def test_host_tasks_are_those_of_the_twin(divided: bool) -> None:
    compared = 0
    for seed, waits, split in product(SEEDS, (False, True), (False, True)):
        w, p = random_case(seed)
        sms: Any = "divided" if divided else "all"
        rows, view = both(
            lambda: twin.host_rows(w, p, divided, waits, split),  # noqa: B023
            lambda: w.hosts(p, sms=sms, waits=waits, split=split),  # noqa: B023
        )
        for i, row in enumerate(rows or ()):
            compared += 1
            hosts, n = view.tasks, len(row.kernel)
            assert hosts.segments[i] == n
            said = (seed, waits, split, i)
            assert hosts.cpu[i][: n + 1].tolist() == row.cpu, said
            for key in ("copy_in", "copy_out", "kernel"):
                assert getattr(hosts, key)[i][:n].tolist() == getattr(row, key), (*said, key)
    assert compared > 50


def test_launches_are_those_of_the_twin() -> None:
    compared = 0
    for seed in SEEDS:
        w, p = random_case(seed)
        try:
            view = w.launches(p, 3000)
        except ValueError:
            continue
        compared += 1
        rows = zip(view.launches.time.tolist(), view.task.tolist(), view.job.tolist(), strict=True)
        assert sorted(rows) == twin.launch_rows(w, p, 3000)
    assert compared > 10


@pytest.mark.long
def test_jobs_in_one_stream_end_one_after_the_other() -> None:
    """Observed responses against a recursion: a launch starts when the one before it has ended."""
    compared = 0
    for seed in SEEDS:
        w, p = random_case(seed)
        p = p.replace(copy_engines=1, cpus=len(w))
        w = w.replace(tasks=[task.replace(core=None) for task in w])
        try:
            run = gs.observe(w, p, "one_stream", until=3000)
        except ValueError:
            continue
        periods = np.array([task.period for task in w])
        if (run.response.filled(10**9) > periods[run.task]).any():  # jobs of a task overlap
            continue
        on_gpu = [task for task in w if not all(map(twin.by_cpu, task.segments))]
        jobs = twin.explicit(w)
        inside = [segment for task in on_gpu for segment in twin.split(jobs[task.name])[1]]
        if any(map(twin.by_cpu, inside)):  # the thread launches anew behind it
            continue
        assert p.gpu is not None
        free = 0
        expected = {}
        ready = {}
        for time, i, job in twin.launch_rows(w, p, 3000):
            ready[i, job] = time
        if len(set(ready.values())) < len(ready):  # launches that coincide have an order by cores
            continue
        order = sorted(ready.items(), key=lambda item: item[1])
        for (i, job), time in order:
            _, inner, behind = twin.split(jobs[i])
            for segment in inner:
                kernel = isinstance(segment, gs.Kernel)
                free = max(free, time) + (stated_time(p.gpu, segment) if kernel else segment.time)
            expected[i, job] = free + behind
        found = dict(
            zip(zip(run.task.tolist(), run.job.tolist(), strict=True), run.end.tolist(),
                strict=True)
        )  # fmt: skip
        ended = {(i, job): end for (i, job), end in found.items() if w[i] in on_gpu}
        assert ended == expected, seed
        for (i, job), release in zip(found, run.release.tolist(), strict=True):
            assert release == w[i].offset + job * w[i].period
        compared += 1
    assert compared > 10
