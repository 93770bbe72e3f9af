"""Search with batch times as a function, the rows of benchmarks/results/pbs_functions.txt.

Task sets as in [RTNS24], section 6.1 (``gs.generate.gpusched``), with periods of 400 to 1600 us in
nanosecond ticks; slowdowns [1.0, 1.4], [1.7, 1.9] and [1.1, 1.9], drawn for each batch. Rows "u"
are eligible by utilization, rows "p" by placement on the paper's GPU. "usual" has U in {0.8, 1.0,
1.2, 1.4, 1.6}, as in pbs_search.py, "hard" U in {2.0, 2.4, 2.8, 3.2}, around the load that batches
can take. Every schedule is replayed and every certificate verified. "share" is that of the sets
decided within the budget; wall times include the undecided sets. The kept result, with --hard 8,
took ten minutes.

The last row puts sets of 1 to 10 tasks to two rounds and to the exact search with the function's
table: the answers that differ, which must be none, and the share decided.

    python benchmarks/pbs_functions.py [--sets N] [--hard N] [--small N] [--seconds S] [--save]
"""

from __future__ import annotations

import argparse
import os
import sys
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from machine import describe

import gpusched as gs
from gpusched.pbs.exact_search import search_function

USUAL = (0.8, 1.0, 1.2, 1.4, 1.6)
HARD = (2.0, 2.4, 2.8, 3.2)
SLOWDOWNS = ((1.0, 1.4), (1.7, 1.9), (1.1, 1.9))
MIB = 1 << 20


def row(name: str, n: int, loads: Sequence[float], sets: int, seed: int, budget: gs.Budget) -> str:
    """Answers, times and memory of the sets of one line."""
    stages: Counter[str] = Counter()
    seconds: list[float] = []
    peak = 0
    unproven = 0
    for u in loads:
        for slowdown in SLOWDOWNS:
            for i in range(sets):
                tasks = gs.generate.gpusched(n, u, count=1, seed=seed, first=i)[0]
                if name[0] == "u":
                    times = gs.BatchFunction.from_utilization(tasks, slowdown, seed=seed, first=i)
                else:
                    gpu = "pbs2024"
                    times = gs.BatchFunction.from_gpu(tasks, gpu, slowdown, seed=seed, first=i)
                found = gs.pbs.search(tasks, times, budget=budget)
                seconds.append(float(found.seconds))
                peak = max(peak, int(found.bytes))
                answer = {True: "yes", False: "no", None: "open"}[found.schedulable]
                stages[answer if found.undecided else f"{answer} {found.stage}"] += 1
                if found.schedule is not None:
                    found.schedule.validate()
                if found.certificate is not None:
                    found.certificate.verify(tasks, times)
                unproven += found.rejected and found.certificate is None
    share = 1 - stages["open"] / len(seconds)
    texts = [f"{np.median(seconds):8.3f}", f"{np.percentile(seconds, 90):8.3f}"]
    by = ", ".join(f"{k} {v}" for k, v in stages.most_common() if v)
    end = f"; {unproven} noes without a certificate" if unproven else ""
    return (
        f"{name:>8} {n:3d} {len(seconds):5d} {share:7.1%} {' '.join(texts)} {max(seconds):8.3f} "
        f"{peak / MIB:8.1f}  {by}{end}"
    )


def agreement(sets: int, seed: int) -> str:
    """Small sets, against the exact search with the table of the function."""
    rng = np.random.default_rng(seed)
    decided = wrong = noes = 0
    for k in range(sets):
        n = int(rng.integers(1, 11))
        period = rng.choice([8, 12, 16, 24], n)
        share = rng.dirichlet(np.ones(n)) * rng.uniform(0.6, 3)
        wcet = np.clip((period * share).astype(np.int64), 1, period)
        shape = {"blocks": rng.integers(1, 4, n), "threads": rng.choice([64, 160, 256], n)}
        tasks = gs.KernelTasks(period=period, wcet=wcet, **shape)
        times = gs.BatchFunction.from_utilization(tasks, (1.0, 1.6), seed=k)
        if k % 2:
            gpu = gs.GPU(sms=2, threads_per_sm=512, blocks_per_sm=4)
            times = gs.BatchFunction.from_gpu(tasks, gpu, (1.0, 1.6), seed=k)
        options = {"budget": gs.Budget(), "progress": False, "stop": None, "rounds": 2}
        found = search_function(tasks, times, idling=False, **options)
        exact = gs.pbs.search(tasks, times.table()).schedulable
        decided += found.answer >= 0
        noes += found.answer == 0
        wrong += exact is not None and found.answer >= 0 and exact != (found.answer == 1)
    return (
        f"   small 1-10 {sets:4d} {decided / sets:7.1%}  {wrong} answers differ from the exact "
        f"search; {noes} noes"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sets", type=int, default=10, help="sets of a load and slowdown")
    parser.add_argument("--hard", type=int, default=3, help="the same of the hard rows")
    parser.add_argument("--small", type=int, default=2000, help="sets of the last row")
    parser.add_argument("--seed", type=int, default=2024)
    parser.add_argument("--seconds", type=float, default=60.0, help="budget of each set")
    parser.add_argument("--save", action="store_true", help="keep the rows in benchmarks/results")
    args = parser.parse_args()
    budget = gs.Budget(bytes=1024 * MIB, seconds=args.seconds)
    lines = [
        f"PBS search with a batch function, {args.seconds:g} s and 1 GiB a set, seed {args.seed}, "
        f"load {os.getloadavg()[0]:.1f}, {describe()}",
        "    sets   n count   share   50 % s   90 % s    max s peak MiB  answers",
    ]
    print("\n".join(lines), flush=True)
    rows = [("u usual", 40, USUAL, args.sets), ("p usual", 40, USUAL, max(1, args.sets // 3))]
    rows += [("u usual", 64, USUAL, max(1, args.sets // 3)), ("u hard", 40, HARD, args.hard)]
    for name, n, loads, sets in rows:
        lines.append(row(name, n, loads, sets, args.seed, budget))
        print(lines[-1], flush=True)
    lines.append(agreement(args.small, args.seed))
    print(lines[-1], flush=True)
    if args.save:
        path = Path(__file__).parent / "results" / "pbs_functions.txt"
        path.write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    sys.exit(main())
