"""Twin of the exploration of all integer schedules: every schedule of a short time, one by one.

Releases at each integer instant before a horizon, a period apart or more; each part of each job
takes each time from 1 to its worst case; every task, or none, has its requests ordered last. Each
schedule is simulated by the public simulator.
"""

from __future__ import annotations

from itertools import product

import numpy as np

import gpusched as gs


def release_rows(period, horizon, first=0):
    """All ascending lists of instants before the horizon that are at least a period apart."""
    yield []
    for instant in range(first, horizon):
        for later in release_rows(period, horizon, instant + period):
            yield [instant, *later]


def job_times(hosts, i):
    """All execution times of a job: tuples of CPU segment, copy in, kernel, copy out, ..."""
    worst = [int(hosts.cpu[i, 0])]
    for j in range(int(hosts.segments[i])):
        worst += [hosts.copy_in[i, j], hosts.kernel[i, j, 0], hosts.copy_out[i, j]]
        worst += [hosts.cpu[i, j + 1]]
    return list(product(*(range(1, w + 1) if w > 0 else (0,) for w in worst)))


def earliest_missed_deadline(hosts, horizon, cpus, way):
    """The earliest deadline, up to the horizon, that a schedule misses; None where none does."""
    earliest = None
    times = [job_times(hosts, i) for i in range(hosts.n)]
    all_releases = [list(release_rows(int(p), horizon)) for p in hosts.period]
    for rows in product(*all_releases):
        jobs = [i for i, row in enumerate(rows) for _ in row]
        for drawn in product(*(times[i] for i in jobs)):
            given = [
                np.array([t for i, t in zip(jobs, drawn, strict=True) if i == k], dtype=np.int64)
                for k in range(hosts.n)
            ]
            shaped = [g.reshape(-1, len(times[k][0])) for k, g in enumerate(given)]
            for victim in (None, *range(hosts.n)):
                run = gs.simulate.host(
                    hosts,
                    cpus,
                    way,
                    releases=rows,
                    execution=shaped,
                    victim=victim,
                    intervals=False,
                )
                for deadline in run.deadline[run.late].tolist():
                    if deadline <= horizon and (earliest is None or deadline < earliest):
                        earliest = deadline
    return earliest
