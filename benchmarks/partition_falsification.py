"""Search for responses above the bounds of kernel chains in partitions of the SMs.

Random systems (2 to 5 tasks in 1 to 3 levels, chains of up to 3 kernels, 2 to 4 SMs of up to 4
threads, up to 3 partitions) run in the hierarchy simulator: partitions with own or shared queues
(green contexts), and clients with limits (MPS). Each is simulated under several patterns: random
offsets, periodic or sporadic releases, blocks that end early, every placement policy. The table
says how close responses come to the bounds, and how many reach them. The tests run a small part of
this; results/ holds the default.

    python benchmarks/partition_falsification.py [--systems 20000] [--patterns 8] [--save]
"""

from __future__ import annotations

import argparse
import random
import sys
import time
from pathlib import Path

import numpy as np
from machine import describe

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parent / "tests"))

from stream_systems import KINDS, bounded, random_system, responses  # noqa: E402


def row(rng, kind, systems, patterns):
    """Bounds, simulations, and the largest response of each bounded task over its bound."""
    ratios, simulations, with_bounds = [], 0, 0
    for _ in range(systems):
        system = random_system(rng, kind, latest=0)
        exact = bounded(system, kind).exact
        if all(bound is None for bound in exact):
            continue
        with_bounds += 1
        seen = np.zeros(len(exact), np.int64)
        for _ in range(patterns):
            seen = np.maximum(seen, responses(rng, system, kind))
            simulations += 1
        for response, bound in zip(seen.tolist(), exact, strict=True):
            if bound is not None:
                if response > bound:
                    raise SystemExit(f"{kind}: {response} seen, {bound} the bound, of {system}")
                ratios.append(float(response / bound))
    return with_bounds, simulations, np.array(ratios)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--systems", type=int, default=20_000, help="of each kind")
    parser.add_argument("--patterns", type=int, default=8, help="of each system")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--save", action="store_true", help="keep the table in benchmarks/results")
    args = parser.parse_args()
    rng = random.Random(args.seed)
    began, lines = time.perf_counter(), []
    for kind in KINDS:
        systems, simulations, ratio = row(rng, kind, args.systems, args.patterns)
        lines.append(
            f"{kind:8s} {args.systems:8d} {systems:8d} {len(ratio):8d} {simulations:9d} "
            f"{ratio.max(initial=0):6.3f} {ratio.mean() if len(ratio) else 0:5.2f} "
            f"{int((ratio == 1).sum()):7d}"
        )
        print(lines[-1], flush=True)
    head = [
        f"Falsification of the bounds in partitions, seed {args.seed}, {describe()}",
        f"{time.perf_counter() - began:.0f} s on one core: no response above a bound",
        "",
        f"{'queues':8s} {'systems':>8s} {'bounded':>8s} {'bounds':>8s} {'simulated':>9s}"
        "  max and mean seen/bound, number reached",
    ]
    print("\n".join(head))
    if args.save:
        path = HERE / "results" / "partition_falsification.txt"
        path.write_text("\n".join([*head, *lines]) + "\n")


if __name__ == "__main__":
    main()
