"""Claims of [RTNS24], sections 4 to 6.1: use of a schedule, set-up of the experiments."""

from __future__ import annotations

import math

import numpy as np

from benchmarks.papers.claim import Claim, Finding, Size, found
from benchmarks.papers.rtns24.gpusched_shared import (
    frames_of,
    occupancy,
    schedules_of,
)
from benchmarks.papers.rtns24.gpusched_states import example_sets
from gpusched._support.arguments import spawn
from gpusched.experiments.gpusched_figures import draw_sets, draw_tables
from gpusched.model.batch_table import BatchTable
from gpusched.model.gpu import GPU
from gpusched.model.kernel_tasks import KernelTasks

__all__ = ["USE_CLAIMS"]


def _early_starts(size: Size) -> Finding:
    """Batches in the order of the table, each as soon as the last one ended and its jobs exist."""
    rng = np.random.default_rng(1)
    jobs = late = later = 0
    for one, schedule in schedules_of(size.count(80, 1000)):
        n = len(one.period)
        time, executed = 0, [0] * n
        for end, batch in zip(schedule.end.tolist(), schedule.batch.tolist(), strict=True):
            members = [i for i in range(n) if batch >> i & 1]
            time = max([time, *(executed[i] * one.period[i] for i in members)])
            time += int(rng.integers(1, one.completion[batch] + 1))
            later += time > end
            for i in members:
                late += time > executed[i] * one.period[i] + one.deadline[i]
                executed[i] += 1
                jobs += 1
    text = (
        f"{jobs} jobs of batches that end early: {late} miss deadlines, {later} frames end later "
    )
    values = {"jobs": jobs, "late": late, "later": later}
    return found(late == later == 0 and jobs > 0, f"{text}than in the table.", values)


def _sleeps(size: Size) -> Finding:
    """Batches at the times of the table."""
    from gpusched.model.schedule import ScheduleError

    schedules = frames = refused = 0
    for _, schedule in schedules_of(size.count(80, 1000)):
        schedules += 1
        frames += len(schedule)
        try:
            schedule.validate()
        except ScheduleError:
            refused += 1
    text = f"{schedules} tables with {frames} frames, each started at its time: {refused} miss a "
    text += "deadline or start a batch before the last one has ended."
    values = {"schedules": schedules, "frames": frames, "refused": refused}
    return found(refused == 0 < schedules, text, values)


def _stops(size: Size) -> Finding:
    from gpusched import pbs

    counts = []
    for one in example_sets(size.count(60, 600)):
        tasks = KernelTasks(period=one.period, deadline=one.deadline, wcet=1)
        table = BatchTable(completion=one.completion)
        first, every = (
            pbs.graph.search(tasks, table, first_only=only).vertices for only in (True, False)
        )
        counts.append((first, every))
    first, every = np.sum(counts, axis=0).tolist()
    text = f"{len(counts)} sets: {first} vertices up to the first schedule, {every} in all."
    return found(first < every, text, {"first": first, "all": every}, reading=True)


def _deterministic(size: Size) -> Finding:
    from gpusched import pbs

    count = size.count(20, 200)
    tasks = draw_sets(5, 1.0, count, 0, spawn(1))
    table = draw_tables(tasks, "mixed", 0, spawn(1))
    runs = [pbs.edf_parallel(tasks, table).accepted.tolist() for _ in range(2)]
    frames = greedy = 0
    for i in range(count):
        schedule = pbs.edf_parallel(tasks[i], table[i]).schedule
        assert schedule is not None
        rows = tasks[i].period.tolist(), tasks[i].deadline.tolist()
        for _, chosen, due in frames_of(schedule, *rows):
            batch = 0
            for k in sorted(due, key=due.__getitem__):
                if table[i].completion[batch | 1 << k]:
                    batch |= 1 << k
            frames += 1
            greedy += chosen == batch
    same = runs[0] == runs[1]
    text = f"{count} sets, equal answers twice: {same}. {greedy} of {frames} batches take each "
    text += "ready job in EDF order that leaves the batch eligible."
    values = {"sets": count, "frames": frames, "greedy": greedy}
    return found(same and greedy == frames > 0, text, values)


def _serial(size: Size) -> Finding:
    from gpusched import pbs

    tasks = draw_sets(5, 0.6, size.count(10, 100), 0, spawn(2))
    table = draw_tables(tasks, "mixed", 0, spawn(2))
    single = frames = late = 0
    for i in range(size.count(10, 100)):
        schedule = pbs.edf_serial(tasks[i], table[i]).schedule
        assert schedule is not None
        for _, batch, due in frames_of(
            schedule, tasks[i].period.tolist(), tasks[i].deadline.tolist()
        ):
            frames += 1
            single += batch.bit_count() == 1
            late += due[batch.bit_length() - 1] > min(due.values())
    text = (
        f"{single} of {frames} frames run one kernel, {late} while a released job has an earlier "
    )
    text += "deadline."
    values = {"frames": frames, "single": single, "not_edf": late}
    return found(single == frames > late == 0, text, values)


def _generator(size: Size) -> Finding:
    count = size.count(200, 5000)
    capacity = GPU.preset("pbs2024").sms * GPU.preset("pbs2024").blocks_per_sm
    worst, low, high, blocks = 0.0, math.inf, 0.0, 0
    for utilization in (0.2, 1.0, 2.0):
        tasks = draw_sets(5, utilization, count, 0, spawn(3))
        shares = np.asarray(tasks.wcet) / np.asarray(tasks.period)
        worst = max(worst, float(np.abs(shares.sum(axis=-1) - utilization).max()))
        low = min(low, int(np.min(tasks.period)) / 1000)
        high = max(high, int(np.max(tasks.period)) / 1000)
        part = np.maximum(1, np.floor(capacity * shares))
        blocks = max(blocks, int(np.abs(part - np.asarray(tasks.blocks)).max()))
    gpu = GPU.preset("pbs2024")
    limits = gpu.sms, gpu.threads_per_sm, gpu.blocks_per_sm
    holds = worst < 2e-4 and 400 <= low and high <= 1600 and blocks <= 1
    holds &= limits == (8, 1024, 32)
    text = f"GPU of {limits[0]} SMs of {limits[1]:,} threads and {limits[2]} blocks. "
    text += (
        f"{3 * count} sets: utilization within {worst:.1e} of the target, periods from {low:g} to "
    )
    text += f"{high:g}, blocks within {blocks} of {capacity} times the utilization."
    values = {"error": worst, "period_low": low, "period_high": high, "blocks": blocks}
    return found(holds, text, values, reading=True)


def _hyperperiods(size: Size) -> Finding:
    tasks = draw_sets(5, 1.0, size.count(500, 5000), 0, spawn(3))
    periods = np.asarray(tasks.period) // 1000
    spans = np.lcm.reduce(periods, axis=-1)
    jobs = int((spans[:, np.newaxis] // periods).sum(axis=-1).max())
    text = (
        f"Hyperperiods of {len(spans)} sets: at most {int(spans.max())}, with at most {jobs} jobs."
    )
    values = {"hyperperiod": int(spans.max()), "jobs": jobs}
    return found(int(spans.max()) <= 4800, text, values, reading=True)


def _inflated(size: Size) -> Finding:
    tasks = draw_sets(5, 0.5, size.count(40, 400), 0, spawn(4))
    completion = np.asarray(draw_tables(tasks, "large", 0, spawn(4)).completion)
    alone = np.asarray(tasks.wcet)
    batches = longer = worse = 0
    for mask in (m for m in range(32) if m.bit_count() > 1):
        members = alone[:, [i for i in range(5) if mask >> i & 1]]
        times = completion[:, mask]
        batches += int((times > 0).sum())
        longer += int((times > members.max(axis=1)).sum())
        worse += int((times > members.sum(axis=1)).sum())
    text = (
        f"Of {batches} batches {longer} take longer than their longest kernel, and {worse} longer "
    )
    text += "than their kernels one after the other."
    values = {"batches": batches, "longer": longer, "above_serial": worse}
    return found(longer > 0 and worse > 0, text, values)


def _factors(size: Size) -> Finding:
    from gpusched.model.batches import SLOWDOWNS

    tasks = draw_sets(5, 0.5, size.count(40, 400), 0, spawn(4))
    alone = np.asarray(tasks.wcet)
    values: dict[str, object] = {}
    holds = True
    for name in ("small", "large", "mixed"):
        table = draw_tables(tasks, name, 0, spawn(4))
        ratios = [
            np.asarray(table.completion)[:, mask]
            / alone[:, [i for i in range(5) if mask >> i & 1]].max(axis=1)
            for mask in range(32)
            if mask.bit_count() > 1
        ]
        some = np.concatenate(ratios)
        some = some[some > 0]
        least, most = SLOWDOWNS[name]
        values[name] = [float(some.min()), float(some.max())]
        holds &= bool(least <= some.min() and some.max() <= most + 1e-4)
    holds &= SLOWDOWNS == {
        **SLOWDOWNS,
        "small": (1.0, 1.4),
        "large": (1.7, 1.9),
        "mixed": (1.1, 1.9),
    }
    text = "; ".join(f"{name} {row[0]:.3f} to {row[1]:.3f}" for name, row in values.items())  # type: ignore[index]
    return found(holds, f"Time of a batch over its longest kernel: {text}.", values, reading=True)


USE_CLAIMS = (
    Claim(
        "Section 4.1",
        "submission of a schedule",
        "A tool submits the batches of the table, a stream for each task, and synchronises after "
        "each.",
        ("gs.cuda.play",),
        "needs hardware",
        "gs.cuda.play does it on an NVIDIA GPU.",
    ),
    Claim(
        "Section 4.1",
        "sleeping until the next entry",
        "The dispatcher may sleep until the time of the next entry, and so follow the table.",
        ("gs.pbs.search", "gs.Schedule"),
        "agrees",
        "",
        _sleeps,
    ),
    Claim(
        "Section 4.1",
        "starting batches early",
        "Instead of sleeping until the next entry, a batch may start when the last one has ended "
        "and its own jobs are released, which reclaims unused time.",
        ("gs.pbs.search", "gs.Schedule"),
        "agrees",
        "The batches of the table in their order: no frame ends later than in the table.",
        _early_starts,
    ),
    Claim(
        "Section 4.2",
        "the oracle by placement",
        "Blocks, threads, registers and shared memory of the kernels tell which of them run in "
        "parallel.",
        ("gs.BatchTable.from_gpu",),
        "agrees",
        "",
        occupancy,
    ),
    Claim(
        "Section 4.2",
        "the oracle by measurement",
        "Each combination of kernels is submitted many times, and the longest, a typical or the "
        "mean time is taken.",
        ("gs.cuda.measure",),
        "needs hardware",
        "gs.cuda.measure does it on an NVIDIA GPU.",
    ),
    Claim(
        "Section 5",
        "end at the first schedule",
        "The construction stops as soon as one schedule is found.",
        ("gs.pbs.graph.search",),
        "agrees in this reading",
        "Algorithm 1 goes on until its list is empty; first_only= selects either.",
        _stops,
    ),
    Claim(
        "Section 6",
        "EDFserial",
        "Each job has the GPU to itself, in EDF order.",
        ("gs.pbs.edf_serial",),
        "agrees",
        "",
        _serial,
    ),
    Claim(
        "Section 6",
        "EDFParallel",
        "Jobs are taken in EDF order, each if it leaves the batch eligible; the same ready jobs "
        "always give the same batch.",
        ("gs.pbs.edf_parallel",),
        "agrees",
        "",
        _deterministic,
    ),
    Claim(
        "Section 6.1",
        "task sets",
        "8 SMs of 1,024 threads and 32 blocks; periods from a list from 400 to 1600; "
        "UUniFast-Discard; occupancy in proportion to the utilization.",
        ("gs.generate.gpusched",),
        "agrees in this reading",
        "The list is not printed: 400, 480, 600, 800, 1200 and 1600 here. Occupancy is a number of "
        "blocks of 32 threads.",
        _generator,
    ),
    Claim(
        "Section 6.1",
        "hyperperiods",
        "Periods from a list keep the hyperperiods, and with them the numbers of jobs, small.",
        ("gs.generate.gpusched",),
        "agrees in this reading",
        "The list is not printed; that of the task sets here has the least common multiple 4800.",
        _hyperperiods,
    ),
    Claim(
        "Section 6.1",
        "slowdown factors",
        "Factors from [1, 1.4], [1.7, 1.9] and [1.1, 1.9] for small, large and mixed interference.",
        ("gs.BatchTable.from_gpu",),
        "agrees in this reading",
        "One factor per batch, times its longest kernel; the text prints decimal commas. [1,1,4] "
        "is read as 1 to 1.4; 1.1 to 4 would not be small.",
        _factors,
    ),
    Claim(
        "Section 6.1",
        "workload above the utilization",
        "The work that is scheduled can exceed the utilization, since concurrent kernels take "
        "longer.",
        ("gs.BatchTable.from_gpu",),
        "agrees",
        "",
        _inflated,
    ),
)
