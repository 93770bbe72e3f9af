"""Claims of [RTNS24], sections 1 and 2: GPU, tasks, batches, scheduler."""

from __future__ import annotations

import itertools
import math

import numpy as np

from benchmarks.papers.claim import Claim, Finding, Size, found
from benchmarks.papers.rtns24.gpusched_shared import (
    EXAMPLE,
    example_search,
    example_tasks,
    named,
    occupancy,
    schedules_of,
)
from gpusched.model.batch_table import BatchTable
from gpusched.model.block_placement import place
from gpusched.model.gpu import GPU
from gpusched.model.kernel_tasks import KernelTasks
from gpusched.model.launches import Launches

__all__ = ["MODEL_CLAIMS"]

_TWO_SMS = GPU(sms=2, threads_per_sm=256, blocks_per_sm=32)


def _sizes(size: Size) -> Finding:
    names = ("TX2", "Xavier", "Orin", "H100")
    sms = {name: GPU.preset(name).sms for name in names}
    holds = max(sms.values()) > 100 and min(sms.values()) < 16 <= sorted(sms.values())[-2]
    text = ", ".join(f"{name} {count}" for name, count in sms.items())
    return found(holds, f"SMs of presets: {text}.", sms, reading=True)


def _streams(size: Size) -> Finding:
    from gpusched import simulate

    runs = {}
    for name, stream in (("one stream", [0, 0]), ("two streams", [0, 1])):
        launches = Launches([0, 0], [10, 10], stream=stream, blocks=[1, 1], threads=[64, 64])
        runs[name] = simulate.hierarchy(launches, _TWO_SMS).first.tolist()
    holds = runs["one stream"] == [0, 10] and runs["two streams"] == [0, 0]
    text = f"Starts of two kernels of 10 ticks: {named(runs['one stream'])} in one stream; "
    return found(holds, f"{text}{named(runs['two streams'])} in two.", runs)


def _one_kernel(size: Size) -> Finding:
    sm = place("pbs2024", [16], [32]).sm.tolist()
    loads = [sm.count(k) for k in range(8)]
    holds = len(set(sm[:8])) == 8 and len(set(loads)) == 1
    text = f"16 blocks on 8 SMs go to SMs {named(sm)}: each SM gets one in turn."
    return found(holds, text, {"sm": sm})


def _any_oracle(size: Size) -> Finding:
    from gpusched import pbs
    from gpusched._support.arguments import spawn
    from gpusched.experiments.gpusched_figures import draw_sets, draw_tables

    count = size.count(20, 500)
    tasks = draw_sets(4, 1.0, count, 0, spawn(7))
    table = draw_tables(tasks, "mixed", 0, spawn(7))
    same = sum(
        pbs.search(tasks[i], table[i]).schedulable
        == pbs.search(tasks[i], BatchTable(completion=table[i].completion.tolist())).schedulable
        for i in range(count)
    )
    text = f"{same} of {count} answers are the same for a table of a GPU's placement and for its "
    return found(same == count, f"{text}numbers alone.", {"sets": count, "same": same})


def _jobs(size: Size) -> Finding:
    schedule = example_search().schedule
    assert schedule is not None
    jobs = schedule.jobs()
    period, deadline = np.array(EXAMPLE.period), np.array(EXAMPLE.deadline)
    holds = bool(
        np.all(jobs.release == jobs.job * period[jobs.task])
        and np.all(jobs.deadline == jobs.release + deadline[jobs.task])
        and example_tasks().hyperperiod == math.lcm(*EXAMPLE.period)
    )
    hyperperiod = int(example_tasks().hyperperiod)
    text = f"{len(jobs)} jobs of the example arrive at k T and are due D later; H = {hyperperiod}."
    return found(holds, text, {"jobs": len(jobs), "hyperperiod": hyperperiod})


def _closed(size: Size) -> Finding:
    from gpusched.pbs import graph

    tasks, table = KernelTasks(period=[3], wcet=[2]), BatchTable(completion=[0, 2])
    closed, open_ = (
        graph.search(tasks, table, variant=variant).schedulable for variant in ("printed", "paper")
    )
    text = "One task with T = 3, C = 2: the closed interval makes its first job ready again at its "
    text += f"end, and the listing answers {closed}; with (t1, t2] it answers {open_}."
    return found(closed == open_, text, {"closed": bool(closed), "half_open": bool(open_)})


def _example_2_1(size: Size) -> Finding:
    first = place(_TWO_SMS, [4, 1], [64, 192])
    second = place(_TWO_SMS, [1, 4], [192, 64])
    two, large, rest = first.sm[:4].tolist(), int(first.sm[4]), second.sm[1:].tolist()
    holds = two.count(0) == two.count(1) == 2 and large == -1 and second.all_placed
    text = f"J1 first: its blocks on SMs {named(two)}, J2 does not fit. J2 first: its block on SM "
    text += f"{int(second.sm[0])}, the blocks of J1 on SMs {named(rest)}; everything fits."
    reading = rest != [1, 1, 1, 1]
    values = {"first": first.sm.tolist(), "second": second.sm.tolist()}
    return found(bool(holds), text, values, reading=reading)


def _permutations(size: Size) -> Finding:
    tasks = KernelTasks(period=[10, 10], wcet=[1, 1], blocks=[4, 1], threads=[64, 192])
    table = BatchTable.from_gpu(tasks, _TWO_SMS, slowdown=1.5)
    fits = []
    for order in itertools.permutations(range(2)):
        rows = list(order)
        fits.append(bool(place(_TWO_SMS, tasks.blocks[rows], tasks.threads[rows]).all_placed))
    holds = fits == [False, True] and table.completion[3] > 0
    text = f"J1 before J2 in Example 2.1 fits: {fits[0]}, J2 before J1: {fits[1]}; the table has "
    text += f"the batch as eligible: {bool(table.completion[3] > 0)}."
    return found(bool(holds), text, {"fits": fits})


def _boundaries(size: Size) -> Finding:
    frames = waits = 0
    for one, schedule in schedules_of(size.count(60, 600)):
        state = (0, (0,) * len(one.period))
        for start, end, batch in zip(schedule.start, schedule.end, schedule.batch, strict=True):
            state = one.started(state)
            waits += int(start) != state[0]
            frames += 1
            state = (int(end), tuple(k + (int(batch) >> i & 1) for i, k in enumerate(state[1])))
    text = f"{frames} frames of random schedules: {waits} start later than the end of the last one "
    text += "although work is ready."
    return found(waits == 0 and frames > 0, text, {"frames": frames, "late_starts": waits})


def _job_level(size: Size) -> Finding:
    schedule = example_search().schedule
    assert schedule is not None
    jobs = schedule.jobs()
    start, end = schedule.start[:, np.newaxis], schedule.end[:, np.newaxis]
    waiting = int(((start < jobs.release) & (jobs.release < end)).any(axis=0).sum())
    text = f"In a schedule of the example {waiting} of {len(jobs)} jobs arrive during a frame and "
    text += "wait for its end, although all kernels fit the GPU together."
    return found(waiting > 0, text, {"waiting": waiting})


def _frames_apart(size: Size) -> Finding:
    frames = overlaps = 0
    for _, schedule in schedules_of(size.count(60, 600)):
        frames += len(schedule)
        overlaps += int((schedule.start[1:] < schedule.end[:-1]).sum())
    text = f"{frames} frames of random schedules: {overlaps} start before the last one has ended."
    return found(overlaps == 0 < frames, text, {"frames": frames, "overlaps": overlaps})


_SEARCH = "gs.pbs.search"

MODEL_CLAIMS = (
    Claim(
        "Section 1",
        "numbers of SMs",
        "GPUs of average size have 16 SMs, the largest more than 100.",
        ("gs.GPU",),
        "agrees in this reading",
        "An Orin, with 16, stands for the average.",
        _sizes,
    ),
    Claim(
        "Section 1",
        "latency of concurrent kernels",
        "Kernels that run concurrently can take longer than one after the other, and one at a time "
        "leaves the GPU underused.",
        ("gs.cuda.measure",),
        "needs hardware",
        "Interference is an input of the model, and measured by gs.cuda.measure.",
    ),
    Claim(
        "Section 2.1",
        "streams",
        "A stream keeps its operations in sequence; two streams may overlap.",
        ("gs.simulate.hierarchy",),
        "agrees",
        "",
        _streams,
    ),
    Claim(
        "Section 2.1",
        "blocks of one kernel",
        "The blocks of a kernel that is alone are dispatched to the SMs round robin.",
        ("gs.place",),
        "agrees",
        "",
        _one_kernel,
    ),
    Claim(
        "Section 2.2",
        "periodic tasks and their jobs",
        "Job k of a task arrives at k T and is due D later; the hyperperiod is the least common "
        "multiple of the periods.",
        ("gs.KernelTasks", _SEARCH),
        "agrees",
        "",
        _jobs,
    ),
    Claim(
        "Section 2.2",
        "arrivals A(t1, t2), closed",
        "A(t1, t2) contains the jobs that arrive at t1 and at t2, also where Algorithm 1 adds it "
        "to the ready jobs.",
        ("gs.pbs.graph.search",),
        "differs",
        "Where the batch is taken from ready first and A is added then, from left to right, a job "
        "that starts on its arrival becomes ready again: "
        "lines 7 and 19 need (t1, t2]. The root and Algorithm 4 need the closed interval. "
        "variant='printed' is closed, variant='paper' half open.",
        _closed,
    ),
    Claim(
        "Section 2.3",
        "occupancy",
        "Blocks, threads, registers and shared memory decide whether kernels can run in parallel.",
        ("gs.BatchTable.from_gpu",),
        "agrees",
        "",
        occupancy,
    ),
    Claim(
        "Example 2.1",
        "order of submission",
        "4 blocks of 64 threads and 1 of 192 on two SMs of 256 threads: with J1 first, two blocks "
        "go to each SM and J2 does not fit; with J2 first all fit, the blocks of J1 on the second "
        "SM.",
        ("gs.place",),
        "agrees in this reading",
        "With J2 first both fit; the hardware's preference for the SM with the most room puts a "
        "block of J1 beside J2 where both SMs have equal room left, instead of all on the second.",
        _example_2_1,
    ),
    Claim(
        "Definitions 2.2 and 2.3",
        "eligible batches",
        "A batch is an order of ready jobs, and eligible if all run at once when submitted in it; "
        "every permutation of every subset has to be tried.",
        ("gs.BatchTable.from_gpu", "gs.place"),
        "agrees",
        "",
        _permutations,
    ),
    Claim(
        "Section 2.3",
        "any oracle",
        "The analysis needs only to know which batches are eligible and when they end, not how "
        "blocks are allocated.",
        (_SEARCH, "gs.BatchTable"),
        "agrees",
        "",
        _any_oracle,
    ),
    Claim(
        "Section 2.4",
        "work conserving at batch level",
        "PBS is invoked at the ends of frames, and does not keep the GPU idle to wait for more "
        "jobs.",
        (_SEARCH,),
        "agrees",
        "",
        _boundaries,
    ),
    Claim(
        "Section 2.4",
        "no preemption",
        "A decision is taken only when the last batch has ended: frames do not overlap.",
        (_SEARCH, "gs.Schedule"),
        "agrees",
        "",
        _frames_apart,
    ),
    Claim(
        "Section 2.4",
        "not work conserving at job level",
        "A job that arrives during a frame waits for its end, even if it would fit.",
        (_SEARCH,),
        "agrees",
        "",
        _job_level,
    ),
    Claim(
        "Section 2.5",
        "bounds on interference",
        "The time of each batch, up to its last job's end, is known; it may come from an analysis "
        "of the code, from measurements, or from learning.",
        ("gs.BatchTable", "gs.cuda.measure"),
        "needs hardware",
        "A table of times is the input of gs.pbs; gs.cuda.measure makes one on a GPU.",
    ),
)
