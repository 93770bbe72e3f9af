"""Search for runs above the bounds of processes of several tasks in time slices.

Small random programs, in which processes of one or more tasks have the GPU in turns and the kernels
of a process share the SMs in its slices, are played by the machine: with costs of launches and
switches, shared cores, jitter, both orders of turns, threads that suspend or spin. First releases
climb towards the bound that comes closest. With ``--less`` so many ticks are taken off each bound,
which the search has to notice.

    python benchmarks/process_falsification.py [--programs 2000] [--runs 50] [--seed 0] [--less 0]
"""

from __future__ import annotations

import argparse
from random import Random
from typing import Any

import numpy as np
from bounds_attack import varied

import gpusched as gs
from gpusched.comparison.derived_models import DerivedModels
from gpusched.comparison.machine_models import machine_model
from gpusched.simulate.machine_run import run_machine

COSTS = ("launch_latency", "launch_cpu", "graph_launch_cpu", "kernel_gap", "wake_latency")


def segments(rng: Random) -> list[gs.Segment]:
    found: list[gs.Segment] = []
    for _ in range(rng.randint(1, 5)):
        draw, time = rng.random(), rng.randint(1, 6)
        if draw < 0.25 and not (found and isinstance(found[-1], gs.CPU)):
            found.append(gs.CPU(time))
        elif draw < 0.42:
            found.append(rng.choice((gs.CopyIn, gs.CopyOut))(time))
        else:
            shape = {"blocks": rng.randint(1, 5), "threads": rng.choice((256, 512, 1024))}
            found.append(gs.Kernel(block_time=time, **shape))
    return found


def program(seed: int) -> tuple[gs.Workload, gs.Platform]:
    """2 to 5 tasks in up to three processes."""
    rng = Random(f"processes {seed}")
    n, cpus, costly, processes = rng.randint(2, 5), rng.randint(1, 3), rng.random() < 0.5, "xyz"
    ranks, processes = rng.sample(range(n), n), processes[: rng.randint(1, 3)]
    tasks = []
    for i in range(n):
        period = rng.randint(25, 160)
        tasks.append(
            gs.Task(
                f"t{i}", period, segments(rng), deadline=period * rng.choice((1, 1, 2)),
                jitter=rng.choice((0, 0, rng.randint(1, period // 2))), core=rng.randrange(cpus),
                priority=ranks[i], process=rng.choice(processes),
                launches=rng.choice(("async", "graph", "sync")),
            )
        )  # fmt: skip
    costs: dict[str, Any] = {key: rng.choice((0, 0, 1)) for key in COSTS if costly}
    platform = gs.Platform(
        gs.GPU(rng.randint(1, 2), 1024, 8), cpus=cpus, slowdown=None,
        copy_engines=rng.choice((1, 1, 2)), timeslice=rng.randint(1, 6),
        ring=rng.choice(("fifo", "cyclic")), context_switch=rng.choice((0, 0, 1, 2)), **costs,
    )  # fmt: skip
    return gs.Workload(tasks), platform


def bounds_of(w: gs.Workload, p: gs.Platform, mode: Any) -> gs.analysis.HolisticBound:
    names = sorted({str(task.process) for task in w})
    tasks = w.programs(p).tasks.with_placement(
        part=[names.index(str(task.process)) for task in w], channel=list(range(len(w)))
    )
    return gs.analysis.holistic(
        tasks, "time_slices", gpu=p.gpu, launches=[task.launches or "async" for task in w],
        mode=mode, latency=p.launch_latency, launch_cpu=p.launch_cpu,
        graph_launch_cpu=p.graph_launch_cpu, kernel_gap=p.kernel_gap, wake_latency=p.wake_latency,
        timeslice=p.timeslice, context_switch=p.context_switch,
    )  # fmt: skip


def attack(seed: int, runs: int, less: int) -> tuple[np.ndarray, np.ndarray, int, str]:
    """Bounds, the largest responses seen, the runs, and a sentence on what exceeds a bound."""
    rng = Random(f"runs {seed}")
    w, p = program(seed)
    mode = rng.choice(("suspend", "busy"))
    answer = bounds_of(w, p, mode)
    bound = np.where(answer.bounded, answer.bound - less, 2**60)
    best, most, seen = np.zeros(len(w), np.int64), -1.0, np.zeros(len(w), np.int64)
    if not answer.bounded.any():
        return bound, seen, 0, ""
    model = machine_model(
        DerivedModels(w, p), "time_slices", until=5 * max(task.period for task in w),
        cores=[task.core for task in w], mode=mode, ring=p.ring, channels=0,
    )  # fmt: skip
    for k in range(runs):
        offset = best.copy()
        if k % 2:
            i = rng.randrange(len(w))
            offset[i] = max(0, offset[i] + rng.choice((-1, 1, rng.randint(-w[i].period, 5))))
        elif k:
            offset = np.array([rng.randrange(task.period) for task in w], np.int64)
        run = run_machine(varied(model, rng, "time_slices", offset), log=(), seed=k, progress=False)
        seen = np.maximum(seen, run.worst)
        if (run.worst > bound).any():
            return bound, seen, k + 1, f"{(seed, k)}: {run.worst.tolist()} > {bound.tolist()}"
        if (share := float((run.worst / bound).max())) >= most:
            best, most = offset, share
    return bound, seen, runs, ""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--programs", type=int, default=2000)
    parser.add_argument("--runs", type=int, default=50, help="of each program")
    parser.add_argument("--seed", type=int, default=0, help="of the first program")
    parser.add_argument("--less", type=int, default=0, help="ticks that are taken off each bound")
    options = parser.parse_args()
    runs, shares, wrong = 0, list[float](), list[str]()
    for seed in range(options.seed, options.seed + options.programs):
        bound, seen, count, text = attack(seed, options.runs, options.less)
        known = bound < 2**60
        shares += (seen[known] / bound[known]).tolist()
        runs += count
        wrong += [text] if text else []
    print(
        f"{options.programs:,} programs, {len(shares):,} bounds, {runs:,} runs; largest responses "
        f"are {np.mean(shares):.2f} of their bounds on average, {sum(s == 1 for s in shares):,} "
        "reach them"
    )
    print("nothing above a bound" if not wrong else f"{len(wrong)} above a bound:")
    print("\n".join(wrong[:20]))
    raise SystemExit(bool(wrong))


if __name__ == "__main__":
    main()
