"""Claims of [RTCSA19], sections II to IV-A: GPU, task model, management of SMs and kernels."""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks.papers.claim import Claim, Finding, Size, found
from benchmarks.papers.claim_pictures import figure_svg
from benchmarks.papers.rtcsa19.stgm_example import example, listed
from gpusched import generate, simulate
from gpusched.model import profiles
from gpusched.model.block_placement import place
from gpusched.model.gpu import GPU
from gpusched.model.host_tasks import HostTasks

__all__ = ["MODEL_CLAIMS"]

COPY_IN, KERNEL, COPY_OUT = 2, 3, 4  # kinds of intervals


def logged(hosts: HostTasks) -> Any:
    """Intervals of a simulation with a core for each task."""
    log = simulate.host(hosts, hosts.n, "stgm", until=100).intervals
    assert log is not None
    return log


def overlaps(log: Any, kinds: list[int]) -> int:
    """Consecutive intervals of these kinds that overlap."""
    rows = np.isin(log.what, kinds)
    order = np.argsort(log.start[rows], kind="stable")
    return int((log.start[rows][order][1:] < log.end[rows][order][:-1]).sum())


def structure(size: Size) -> Finding:
    """Blocks on every SM of a GPU, and two tasks on SMs of their own that share the copies."""
    gpu = GPU.preset("gtx970")
    filled = place(gpu, blocks=[16], threads=[1024], placement="most_room")
    used = len(set(filled.sm.tolist()))
    pair = HostTasks.from_segments(
        [100, 100], [[(2, 10, 1)]] * 2, core=[0, 1], sm=[[0], [1]], priority=[0, 1]
    )
    log = logged(pair)
    kernels, copies = overlaps(log, [KERNEL]), overlaps(log, [COPY_IN, COPY_OUT])
    text = (
        f"16 blocks occupy {used} SMs of a GTX 970; two tasks with SMs of their own run "
        f"{2 if kernels else 1} kernels and {2 if copies else 1} copy at a time"
    )
    values = {"used": used, "kernels overlap": kernels, "copies overlap": copies}
    holds = used == gpu.sms == 13 and kernels == 1 and copies == 0
    return found(holds, text, values, figure_svg(filled.plot))


def blocks(size: Size) -> Finding:
    """Fewer blocks than SMs, and more blocks than the SMs' threads allow."""
    gpu = GPU.preset("gtx970")
    capacity = 32 * gpu.warps_per_sm
    few = place(gpu, blocks=[4], threads=[256], placement="most_room")
    many = place(gpu, blocks=[200], threads=[256], placement="most_room")
    used = len(set(few.sm.tolist()))
    each = set(np.bincount(many.sm[many.sm >= 0], minlength=gpu.sms).tolist())
    threads = 256 * max(each)
    text = (
        f"4 blocks occupy {used} of {gpu.sms} SMs; of 200 blocks of 256 threads each SM holds "
        f"{listed(each)}, which are {threads} of its {capacity} threads, and the others wait"
    )
    holds = used == 4 and each == {capacity // 256} and not many.all_placed
    return found(holds, text, {"used": used, "threads": threads, "capacity": capacity})


def shrinking(size: Size) -> Finding:
    sets = generate.stgm(12, size.count(50, 1000), 1)
    grows = bool((np.diff(sets.kernel, axis=-1) > 0).any())
    measured = [10, 6, 7, 5]
    rounded = profiles.table(measured, monotone=True).times(10).tolist()
    task = HostTasks.from_segments([60], [[(1, rounded, 1)]])
    try:
        HostTasks.from_segments([60], [[(1, measured, 1)]])
        refused = False
    except ValueError:
        refused = True
    text = (
        f"no kernel of {len(sets)} random sets grows with its SMs; one that takes "
        f"{listed(measured)} on 1 to 4 SMs is refused, and accepted as {listed(rounded)}"
    )
    holds = not grows and refused and task.kernel.ravel().tolist() == rounded == [10, 7, 7, 5]
    return found(holds, text, {"sets": len(sets), "rounded": rounded})


def copy_engine(size: Size) -> Finding:
    """Requests at 0, 1 and 2, the least urgent first, on cores and SMs of their own."""
    hosts = HostTasks.from_segments(
        [100] * 3, [[(5, 20, 1)]] * 3, offset=[2, 1, 0], core=[0, 1, 2], sm=[[0], [1], [2]],
        priority=[0, 1, 2],
    )  # fmt: skip
    log = logged(hosts)
    rows = log.what == COPY_IN
    order = log.task[rows][np.argsort(log.start[rows])].tolist()
    engines = GPU.preset("gtx970").copy_engines
    text = (
        f"of three copies, requested by tasks 2, 1 and 0 in this order, those of tasks "
        f"{listed(order)} run one after the other; a GTX 970 has {engines} copy engines"
    )
    holds = order == [2, 1, 0] and overlaps(log, [COPY_IN, COPY_OUT]) == 0 and engines == 2
    return found(holds, text, {"order": order, "engines": engines}, reading=True)


def sums_of_segments(size: Size) -> Finding:
    hosts = example()
    whole, copies = hosts.gpu_time(2).tolist(), hosts.copy_time.tolist()
    sets = generate.stgm(12, size.count(50, 1000), 1)
    ends = sets.copy_in.sum(axis=-1) + sets.copy_out.sum(axis=-1)
    same = bool((sets.copy_time == ends).all()) and all(
        (sets.gpu_time(k) == ends + sets.kernel[..., k - 1].sum(axis=-1)).all()
        for k in range(1, 14)
    )
    holds = same and whole == [8, 11, 0, 20] and copies == [2, 3, 0, 6]
    text = (
        f"four tasks: G is {listed(whole)}, G^m {listed(copies)}; they are "
        f"{'' if same else 'not '}the sums over the segments in {len(sets)} random sets on 1 to 13 "
        "SMs"
    )
    return found(holds, text, {"G": whole, "G^m": copies})


def fifo_kernels(size: Size) -> Finding:
    """Three kernels that share SMs, launched in an order that is not that of the priorities."""
    hosts = HostTasks.from_segments(
        [100] * 3, [[(1, 10, 1)]] * 3, offset=[2, 0, 1], core=[0, 1, 2],
        sm=[[0], [0, 1], [0, 1]], priority=[0, 1, 2],
    )  # fmt: skip
    log = logged(hosts)
    rows = log.what == KERNEL
    order = log.task[rows][np.argsort(log.start[rows])].tolist()
    text = (
        f"task 0 is the most urgent and launches last; the kernels run in the order {listed(order)}"
    )
    holds = order == [1, 2, 0] and overlaps(log, [KERNEL]) == 0
    return found(holds, text, {"order": order})


def utilizations(size: Size) -> Finding:
    hosts = example()
    busy, suspend = (hosts.utilization(mode, sms=2) for mode in ("busy", "suspend"))
    wanted_busy = (hosts.cpu_time + hosts.gpu_time(2)) / hosts.period
    wanted = (hosts.cpu_time + hosts.copy_time) / hosts.period
    holds = np.allclose([float(u) for u in busy], wanted_busy) and np.allclose(
        [float(u) for u in suspend], wanted
    )
    shown = [round(float(u), 4) for u in suspend]
    return found(bool(holds), f"four tasks, suspending: U is {listed(shown)}", {"u": shown})


def segments(size: Size) -> Finding:
    task = HostTasks.from_segments([100], [[(1, 4, 2), (3, 5, 1)]], core=0, sm=[[0]])
    run = simulate.host(task, 1, "stgm", until=100)
    assert run.intervals is not None
    order = run.intervals.to_frame().sort_values("start")["what"].tolist()
    text = "a job of two consecutive GPU segments: " + ", ".join(order)
    return found(order == ["copy in", "kernel", "copy out"] * 2, text, {"order": order})


def at_once(size: Size) -> Finding:
    """Kernels on disjoint and on shared SMs, and the boost during a copy."""
    jobs: list[list[Any]] = [[(1, 10, 1)], [(1, 10, 1)]]
    finish = []
    for sets in ([[0], [1]], [[0], [0]]):
        pair = HostTasks.from_segments([100, 100], jobs, core=[0, 1], sm=sets)
        run = simulate.host(pair, 2, "stgm", until=100)
        finish.append(run.end.tolist())
    text = (
        f"jobs of 12 end at {listed(finish[0])} with SMs of their own and at {listed(finish[1])} "
        "with one SM"
    )
    return found(
        finish[0] == [12, 13] and finish[1] == [12, 22],
        text,
        {"apart": finish[0], "one": finish[1]},
    )


def boosted(size: Size) -> Finding:
    pair = HostTasks.from_segments(
        [100, 100], [[5], [(4, 1, 4)]], offset=[1, 0], core=0, sm=[[], [0]], priority=[0, 1]
    )
    run = simulate.host(pair, 1, "stgm", until=100)
    log = run.intervals
    assert log is not None
    own = log.task == 0
    starts = log.start[own & (log.what == 1)].tolist()
    finish = int(run.end[run.task == 0][0])
    text = f"the more urgent task is released at 1 and ends at {finish}, after both copies of 4"
    return found(finish == 1 + 5 + 8 - 1, text, {"end": finish, "starts": starts})


MODEL_CLAIMS = (
    Claim(
        "Figure 1", "structure of a GPU",
        "A GPU has several SMs, and copy engines, which all of them share.",
        ("gs.GPU", "gs.place", "gs.simulate.host"), "agrees", "", structure,
    ),
    Claim(
        "Section II-A", "blocks on SMs",
        "Few blocks leave SMs unused, and an SM holds several blocks as long as their threads fit.",
        ("gs.place",), "agrees", "", blocks,
    ),
    Claim(
        "Section II-B", "kernels that run together",
        "On an Nvidia TX1 some benchmarks take longer when they run together than alone.",
        (), "needs hardware", "It is a result of another paper, measured on a TX1.",
    ),
    Claim(
        "Section III", "one copy engine",
        "The GPU has one copy engine, which serves requests first come, first served.",
        ("gs.simulate.host", "gs.GPU"), "agrees in this reading",
        "It is an assumption, and the simulator's model. The GTX 970 of section V-A has 2 copy "
        "engines, of which the analysis makes no use.",
        copy_engine,
    ),
    Claim(
        "Section III", "kernel times",
        "G(k) does not grow with the number of SMs; measured times can be rounded up to that.",
        ("gs.HostTasks", "gs.profiles.table", "gs.generate.stgm"), "agrees", "", shrinking,
    ),
    Claim(
        "Section III", "sums over segments",
        "G(k) and G^m are the sums over the GPU segments of their times and of their copies.",
        ("gs.HostTasks", "gs.generate.stgm"), "agrees", "", sums_of_segments,
    ),
    Claim(
        "Section III", "GPU segments",
        "A segment is a copy in, a kernel and a copy out, so it uses the copy engine up to twice; "
        "GPU segments may follow each other.",
        ("gs.HostTasks", "gs.simulate.host"), "agrees", "", segments,
    ),
    Claim(
        "Section III", "utilization",
        "U is (C + G) / T for a task that spins, (C + G^m) / T for one that suspends.",
        ("gs.HostTasks",), "agrees", "", utilizations,
    ),
    Claim(
        "Section IV-A", "spatial management",
        "Blocks that find themselves on a foreign SM end at once; the rest of the grid runs on the "
        "SMs of the task.",
        (), "needs hardware", "It is a change of a kernel's code, to be observed on a device.",
    ),
    Claim(
        "Section IV-A", "temporal management",
        "A kernel with SMs of its own starts after its copy; with a shared SM it waits for the "
        "kernels launched before.",
        ("gs.simulate.host",), "agrees", "", at_once,
    ),
    Claim(
        "Section IV-A", "kernels in FIFO order",
        "Kernels that share SMs run in the order of their launches, whatever their priorities.",
        ("gs.simulate.host",), "agrees", "", fifo_kernels,
    ),
    Claim(
        "Section IV-A", "priority boosting",
        "No CPU segment of another task on the core preempts a task in its GPU segment.",
        ("gs.simulate.host",), "agrees", "", boosted,
    ),
)  # fmt: skip
"""Claims up to section IV-A, in the order of the text."""
