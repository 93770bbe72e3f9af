"""Search for responses above the bounds of priority streams.

Small random sets (2 to 4 tasks in 1 to 3 levels, chains of up to 3 kernels, 1 to 8 threads or 2 to
3 SMs, periods of a few dozen ticks, so that equal instants are common) are simulated under release
patterns made to hurt. A search starts with random offsets and a mode: periodic or sporadic
releases, blocks that end early, latencies below the largest ones, or an adversary that releases the
other tasks when kernels of a victim join their queue, start their last block, or end. It then
climbs: offsets are changed, and a change that does not lower the response of one task is kept.
Theorem A is checked alone, without the refinement by M. For Theorem O each task has eight streams,
and sets count in which no bound exceeds eight periods: a later job of a stream would wait in it.
The table says how close responses come to the bounds, and how many reach them. The tests run a
sixtieth of the default, which takes about nine minutes; results/ holds ten million patterns for
each theorem.

    python benchmarks/priority_streams_falsification.py [--sets 2000] [--theorem M] [--save]
"""

from __future__ import annotations

import argparse
import sys
import time
from fractions import Fraction
from pathlib import Path

import numpy as np
from machine import describe

import gpusched as gs

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parent / "tests"))

from reference import priority_streams as slow  # noqa: E402

BATCH = 100  # sets in one call, at most
STARTS, STEPS = 5, 40
STREAMS = 8  # of a task whose jobs overlap
# Name of a row, levels, kernels and latency at most, SMs, theorem.
ROWS = (
    ("M, single kernels", 3, 1, 0, 1, "M"),
    ("M, chains", 3, 3, 0, 1, "M"),
    ("M, chains with latencies", 3, 3, 2, 1, "M"),
    ("M, one level, chains with latencies", 1, 3, 2, 1, "M"),
    ("M, 2 SMs, chains with latencies", 3, 3, 2, 2, "M"),
    ("M, 3 SMs, chains with latencies", 3, 3, 2, 3, "M"),
    ("A alone, one level", 1, 2, 1, 1, "A"),
    ("A alone, top of several levels", 3, 2, 1, 1, "A"),
    ("O, overlapping jobs", 3, 1, 0, 1, "O"),
)


def random_sets(rng, batch, levels, kernels, latest, sms, theorem):
    """A stack of sets of one size, and the threads of the pool or of each SM."""
    n = int(rng.integers(2, 5))
    shape = (batch, n, kernels)
    m = np.full(batch, rng.integers(2, 5)) if sms > 1 else rng.integers(1, 9, batch)
    blocks = rng.integers(1, 5, shape)
    threads = rng.integers(1, m[:, None, None] + 1, shape)
    block_time = rng.integers(1, 13, shape)
    block_time[np.arange(kernels) >= rng.integers(1, kernels + 1, (batch, n, 1))] = 0
    work = (blocks * threads * block_time).sum(axis=-1)
    most = 0.3 if theorem == "A" else 1.1
    load = rng.uniform(0.1, most, (batch, 1)) * m[:, None] * sms
    share = rng.dirichlet(np.ones(n), batch) * load
    period = np.maximum(np.round(work / np.maximum(share, 1e-3)), 1).astype(np.int64)
    tasks = gs.KernelChains(
        np.minimum(period, 2000),
        block_time,
        blocks,
        threads,
        rng.integers(0, latest + 1, shape),
        priority=rng.integers(0, levels, (batch, n)),
    )
    return tasks, m


def twin_tasks(tasks):
    """A set as the slow bounds take it."""
    found = []
    for i in range(tasks.n):
        q = int(tasks.kernels[i])
        columns = (tasks.blocks, tasks.threads, tasks.block_time)
        kernels = list(zip(*(column[i, :q].tolist() for column in columns), strict=True))
        latency = tasks.latency[i, :q].tolist()
        found.append(slow.task(int(tasks.priority[i]), int(tasks.period[i]), kernels, latency))
    return found


def bounds_of(tasks, m, sms, theorem):
    """Numerators and denominators, 0 without a bound."""
    over, under = np.zeros(tasks.period.shape, np.int64), np.zeros(tasks.period.shape, np.int64)
    for s in range(len(m)):
        if theorem == "A":
            level = int(tasks.priority[s].min())
            given = twin_tasks(tasks[s])
            found = slow.theorem_a(given, level, int(m[s]), sms, [None] * len(given)).items()
        else:
            answer = gs.analysis.priority_streams(
                tasks[s], int(m[s]), sms=sms, overlap=theorem == "O"
            )
            found = enumerate(answer.exact)
        for i, bound in found:
            if bound is not None:
                over[s, i], under[s, i] = Fraction(bound).as_integer_ratio()
    return over, under


def random_mode(rng, batch, n):
    """The options of a search."""
    options = {"seed": int(rng.integers(2**62))}
    if rng.random() < 0.5:
        options["gap"] = float(rng.choice([0.1, 1.0]))
    if rng.random() < 0.4:
        options["execution"] = (float(rng.choice([0.0, 0.5, 0.9])), 1.0)
        options["draw"] = str(rng.choice(["job", "wave", "block"]))
    if rng.random() < 0.4:
        options["latency"] = (0.0, float(rng.choice([0.0, 1.0])))
    if rng.random() < 0.5:
        options["victim"] = rng.integers(0, n, batch)
        kinds = rng.permutation(["head", "tail", "end"])
        options["triggers"] = kinds[: rng.integers(1, 4)].tolist()
    return options


def streams_of(tasks, offset):
    """Each task in several streams, in turns, so that its jobs may overlap."""
    period = np.repeat(tasks.period, STREAMS, axis=-1)
    turn = np.tile(np.arange(STREAMS), tasks.n)
    return gs.KernelChains(
        STREAMS * period,
        *(np.repeat(column, STREAMS, axis=1) for column in (tasks.block_time, tasks.blocks)),
        np.repeat(tasks.threads, STREAMS, axis=1),
        offset=np.repeat(offset, STREAMS, axis=-1) + turn * period,
        priority=np.repeat(tasks.priority, STREAMS, axis=-1),
    )


def simulated(tasks, m, sms, theorem, offset, until, mode):
    """The largest response of each task."""
    if theorem == "O":
        early = {key: mode[key] for key in ("seed", "execution", "draw") if key in mode}
        run = gs.simulate.fifo_responses(streams_of(tasks, offset), m, until=until, **early)
        return run.worst.reshape(*tasks.period.shape, STREAMS).max(axis=-1)
    given = tasks.replace(offset=offset)
    if sms == 1:
        return gs.simulate.fifo_responses(given, m, until=until, **mode).worst
    gpu = gs.GPU(sms, 32 * int(m[0]), 1024)  # a thread of the set is a warp
    given = given.replace(threads=32 * given.threads)
    return gs.simulate.fifo_responses(given, gpu=gpu, until=until, **mode).worst


def search(rng, tasks, m, sms, theorem):
    """The largest responses that are seen, and the number of simulations."""
    largest = np.zeros(tasks.period.shape, np.int64)
    until = 15 * tasks.period.max(axis=-1)
    batch = len(m)
    rows = np.arange(batch)
    for _ in range(STARTS):
        mode = random_mode(rng, batch, tasks.n)
        focus = rng.integers(0, tasks.n, batch)
        offset = rng.integers(0, tasks.period + 1)
        best = np.full(batch, -1)
        for _ in range(STEPS):
            tried = offset.copy()
            changed = rng.integers(0, tasks.n, batch)
            step = rng.integers(-3, 4, batch)
            far = rng.random(batch) < 0.3
            step[far] = rng.integers(-60, 61, batch)[far]
            tried[rows, changed] = np.maximum(tried[rows, changed] + step, 0)
            seen = simulated(tasks, m, sms, theorem, tried, until, mode)
            largest = np.maximum(largest, seen)
            better = seen[rows, focus] >= best
            offset[better], best[better] = tried[better], seen[rows, focus][better]
    return largest, STARTS * STEPS * batch


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sets", type=int, default=2000, help="of each kind")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--theorem", choices=["M", "A", "O"], help="its kinds of sets alone")
    parser.add_argument("--save", action="store_true", help="keep the table in benchmarks/results")
    args = parser.parse_args()
    rng = np.random.default_rng(args.seed)
    began, total, lines = time.perf_counter(), 0, []
    for name, levels, kernels, latest, sms, theorem in ROWS:
        if args.theorem not in (None, theorem):
            continue
        simulations = sets = 0
        ratios = []
        while sets < args.sets:
            tasks, m = random_sets(
                rng, min(BATCH, args.sets), levels, kernels, latest, sms, theorem
            )
            over, under = bounds_of(tasks, m, sms, theorem)
            if theorem == "O":
                under[(over > STREAMS * tasks.period * under).any(axis=1)] = 0
            largest, runs = search(rng, tasks, m, sms, theorem)
            if (wrong := np.argwhere((largest * under > over) & (under > 0))).size:
                s, i = wrong[0]
                raise SystemExit(f"{name}: violated by task {i} of {tasks[s]._arrays()}, {m[s]}")
            use = under > 0
            ratios.append(largest[use] * under[use] / over[use])
            sets, simulations = sets + len(m), simulations + runs
        ratio = np.concatenate(ratios)
        total += simulations
        lines.append(
            f"{name:36s} {sets:6d} {len(ratio):7d} {simulations:10d} {ratio.max(initial=0):6.3f}"
            f" {ratio.mean() if len(ratio) else 0:5.2f} {int((ratio == 1).sum()):7d}"
        )
        print(lines[-1], flush=True)
    head = [
        f"Falsification of the bounds of priority streams, seed {args.seed}, {describe()}",
        f"{total} simulations, {time.perf_counter() - began:.0f} s on one core: "
        "no response above a bound",
        "",
        f"{'theorem, kind of sets':36s} {'sets':>6s} {'bounds':>7s} {'simulated':>10s}"
        "  max and mean seen/bound, number reached",
    ]
    print("\n".join(head))
    if args.save:
        path = HERE / "results" / "priority_streams_falsification.txt"
        path.write_text("\n".join([*head, *lines]) + "\n")


if __name__ == "__main__":
    main()
