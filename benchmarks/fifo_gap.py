"""Bounds of FIFO scheduling where theory is loose: Theorem A, and utilizations between beta and m.

Part 1: random sets of 6 tasks (as in yang_bounds) in release order. Of the tasks with a bound, the
theorem whose bound is the least one, and the largest simulated response over that bound: the same
patterns as in yang_bounds, among them releases made to delay each task. Theorem A alone beside it.

Part 2: random sets of 4 tasks whose utilization lies between the saturation level beta and m.
Periods divide 120 units, so a periodic schedule repeats or diverges soon: the share of either over
an infinite horizon for synchronous releases and for random offsets, and the tasks that have a bound
nevertheless. No theorem covers a whole set there, but for sequential streams that never queue.

    python benchmarks/fifo_gap.py [--count 400] [--save]       # about two minutes
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from machine import describe

import gpusched as gs

RESULT = Path(__file__).parent / "results" / "fifo_gap.txt"
M = 4096
PERIODS = 1000 * np.array([20, 24, 30, 40, 60, 120])


def observed(tasks: gs.KernelTasks, order: str, seed: int) -> np.ndarray:
    """Largest responses in a periodic run, and in one made to delay each task."""
    until = 12 * tasks.period.max(axis=1)
    worst = gs.simulate.fifo_responses(tasks, M, order, until).worst
    for victim in range(tasks.n):
        options = {"victim": victim, "triggers": ("head", "tail", "end"), "seed": seed}
        worst = np.maximum(
            worst, gs.simulate.fifo_responses(tasks, M, order, until, **options).worst
        )
    return worst


def tightness(count: int, seed: int) -> Iterator[str]:
    yield "Release order, 6 tasks: least bound by theorem (share of all tasks; observed / bound)"
    yield "  U/m   A refined or V2      A, one job         A                  Theorem A alone"
    for share in (0.1, 0.2, 0.3, 0.4, 0.5, 0.6):
        tasks = gs.generate.fifo(6, share, M, count=count, seed=seed)
        best = gs.analysis.fifo_bound(tasks, M, order="release")
        alone = gs.analysis.fifo_bound(tasks, M, order="release", theorems=["A"])
        seen = observed(tasks, "release", seed)
        names = np.array(gs.analysis.THEOREMS)[best.theorem_code]
        cells = []
        for chosen in (("A refined", "V2", "fits"), ("A, one job",), ("A",)):
            rows = np.isin(names, chosen)
            cells.append(_cell(rows, seen, best))
        rows = alone.bounded
        yield f"  {share:3.1f}  {'  '.join(cells)}   {_cell(rows, seen, alone)}"


def _cell(rows: np.ndarray, seen: np.ndarray, bound: gs.analysis.FifoBound) -> str:
    if not rows.any():
        return f"{0:5.1f} %          "
    ratio = seen[rows] * bound.denominator[rows] / bound.numerator[rows]
    assert ratio.max() <= 1
    return f"{100 * rows.mean():5.1f} % {ratio.mean():.3f} {ratio.max():.2f}"


def between(count: int, seed: int) -> Iterator[str]:
    yield "beta < U <= m, 4 tasks: outcomes over an infinite horizon, tasks with a bound"
    yield "  order      sets   synchronous: repeat  diverge  open   offsets: repeat  diverge  open"
    yield "             and tasks with a bound"
    rng = np.random.default_rng(seed)
    shape = (20 * count, 4)
    period = rng.choice(PERIODS, shape)
    threads = 32 * rng.integers(1, 33, shape)
    blocks = rng.integers(1, 9, shape)
    part = rng.dirichlet(np.ones(4), shape[0]) * rng.uniform(0.7, 1.0, (shape[0], 1)) * M
    time = np.maximum(1, (part * period / (blocks * threads)).astype(np.int64))
    tasks = gs.KernelTasks(period, block_time=time, blocks=blocks, threads=threads)
    for order in gs.analysis.ORDERS:
        limit = gs.analysis.fifo_bound(tasks, M, order=order)
        chosen = (limit.saturation > 0) & (limit.utilization > limit.saturation)
        chosen &= limit.utilization <= M
        rows = np.flatnonzero(chosen)[:count]
        some = tasks[rows]
        shifted = some.replace(offset=rng.integers(0, 20_000, some.period.shape))
        cells = []
        for pattern in (some, shifted):
            budget = gs.Budget(states=20_000)
            outcome = gs.simulate.fifo_responses(pattern, M, order, budget=budget).outcome
            names = np.asarray(outcome).astype(str)
            parts = [100 * np.mean(names == name) for name in ("repeats", "diverges", "budget")]
            cells.append("  ".join(f"{part:6.1f} %" for part in parts))
        share = 100 * limit.bounded[rows].mean()
        yield f"  {order:9s} {len(rows):5d}   {cells[0]}   {cells[1]}   bound {share:5.1f} %"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--count", type=int, default=400, help="sets for each row")
    parser.add_argument("--seed", type=int, default=2017)
    parser.add_argument("--save", action="store_true", help=f"write results/{RESULT.name}, too")
    options = parser.parse_args()
    lines = [describe(), f"{options.count} sets per row, m = {M}, seed {options.seed}", ""]
    print("\n".join(lines))
    for part in (tightness, between):
        for line in part(options.count, options.seed):
            lines.append(line)
            print(line, flush=True)
        lines.append("")
    if options.save:
        RESULT.write_text("\n".join(lines))


if __name__ == "__main__":
    main()
