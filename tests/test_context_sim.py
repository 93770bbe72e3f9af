"""gs.simulate.host with a context per task: agreement with the slow twin, examples, errors."""

from __future__ import annotations

import random
from itertools import groupby

import numpy as np
import pytest
from reference.context_sim import simulate
from reference.host_sim import Job, worst
from test_context_agreement import gpu_priorities, sets
from test_host_agreement import columns, cores, nothing

from gpusched import _core

NUMBER = {"time_slices": 7, "gcaps": 8}
MODES = ("suspend", "busy")
CPU, COPY_IN, KERNEL, COPY_OUT = 1, 2, 3, 4  # GS_SIMULATE_HOST_DOES_*


def simulated(tasks, protocol, mode, *, offset, shares, key, sms, cost, levels=None, **options):
    """The core's jobs and intervals of one set."""
    if levels is not None:
        options["gpu_priority"] = np.array([levels])
    capsule = _core.host_open(
        *(columns([tasks]), np.array([offset]), cores([tasks]), None),
        **{"cpus": 3, "sms": sms, "policy": 0, "gpu": NUMBER[protocol], "mode": mode},
        **{"server": np.array([0]), "overhead": cost, "shares": np.array(shares)},
        **{"until": np.array([4 * max(t.T for t in tasks)]), "victim": np.array([-1])},
        **{"triggers": 0, "key": np.array([key, 0, 0, 0], np.uint64), "index": 0},
        **{"log_intervals": True, "stop": nothing},
        **options,
    )
    while not capsule.run(steps=1000, states=0, bytes=0, seconds=0.0, stop=nothing)[1]:
        pass
    jobs = np.stack(capsule.jobs(), axis=1).tolist()
    return sorted(jobs), np.stack(capsule.intervals(), axis=1).tolist()


def lengths(tasks, sms, intervals):
    """Times of each job's parts, all of them positive: (task, number) -> (cpu, gpu)."""
    rows = sorted(row for row in intervals if row[2] in (CPU, COPY_IN, KERNEL, COPY_OUT))
    taken = {}
    for job, of_job in groupby(rows, key=lambda row: (row[0], row[1])):
        ordered = sorted(of_job, key=lambda row: row[4])
        parts = [
            (what, sum(end - start for *_, start, end in same))
            for what, same in groupby(ordered, key=lambda row: row[2])
        ]
        full = Job(*job, 0, *worst(tasks[job[0]], sms))
        cpu, gpu = [], []
        for most in full.cpu:
            cpu.append(parts.pop(0)[1] if most > 0 and parts and parts[0][0] == CPU else 0)
            if len(gpu) < len(full.gpu):
                whats, times = zip(*(parts.pop(0) for _ in range(3)), strict=True)
                assert whats == (COPY_IN, KERNEL, COPY_OUT)
                gpu.append(times)
        assert not parts
        taken[job] = cpu, gpu
    return taken


@pytest.mark.parametrize("mode", [0, 1])
@pytest.mark.parametrize("protocol", NUMBER)
def test_the_simulator_job_by_job(protocol, mode):
    rng, jobs = random.Random(f"{protocol} {mode}"), 0
    full, gaps, less = (1, 1, 1, 1, 0, 1), (1, 1, 1, 1, 1, 5), (0, 1, 1, 1, 0, 1)
    for stack in sets(rng, 14):
        for tasks in stack:
            sms = rng.randint(1, 2)
            times = [time for t in tasks for g in worst(t, sms)[1] for time in g]
            some = all(time > 0 for time in times)
            core, twin, levels = {}, {}, None
            cost = rng.choice([0, 0, 1, 2, 3])
            if protocol == "time_slices":
                ring = rng.choice(["fifo", "cyclic"])
                core = {"slice": rng.randint(1, 9), "ring": ("fifo", "cyclic").index(ring)}
                twin = {"slice": core["slice"], "ring": ring, "theta": cost}
            else:
                core["stall"] = rng.random() < 0.3
                levels = gpu_priorities(rng, tasks) if rng.random() < 0.5 else None
                twin = {"eps": cost, "stall": core["stall"], "gpu_prio": levels}
            near = rng.random() < 0.5
            rows, intervals = simulated(
                *(tasks, protocol, mode),
                offset=[rng.randint(0, 15 if near else t.T) for t in tasks],
                shares=rng.choice((full, gaps, less) if some else (full, gaps)),
                **{"key": rng.getrandbits(60), "sms": sms, "cost": cost, "levels": levels},
                **core,
            )
            taken = lengths(tasks, sms, intervals) if some else None
            found = simulate(
                tasks,
                [[r for i, _, r, _, _ in rows if i == task] for task in range(len(tasks))],
                taken and (lambda i, number, taken=taken: taken[i, number]),
                sms,
                **{"protocol": protocol, "mode": MODES[mode], **twin},
            )
            assert rows == [
                [j.task, j.number, j.release, -1 if j.start is None else j.start, j.finish]
                for j in found
            ]
            jobs += len(rows)
    assert jobs > 500
