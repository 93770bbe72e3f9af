"""Disagreements of the printed and of the repaired graph with the exact answer.

Random small task sets (see ``draw``; set i of a seed is the same whatever the count). For each: the
repaired graph, the paper's listing in both orders of extraction and three readings of line 23, for
the first ``--brute`` of them a brute force over all frame sequences, and with ``--interval`` the
interval engine. Prints the counts, and with ``--save`` writes them as JSON. Exits with 1 where the
exact ones differ.

    python benchmarks/graph_agreement.py --count 100000 --seed 1 --save benchmarks/results/x.json
"""

from __future__ import annotations

import argparse
import json
import math
import re
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from gpusched.model.batch_table import BatchTable
from gpusched.model.kernel_tasks import KernelTasks
from gpusched.pbs import graph

PERIODS = (2, 3, 4, 5, 6, 8, 9, 10, 12)
STATES = 20_000
Case = tuple[list[int], list[int], list[int]]


def draw(seed: int, index: int, least: int, most: int, hyperperiod: int, factors: str) -> Case:
    """Task set ``index``: periods from PERIODS, deadlines in [T/2, T] for half of the tasks and T
    for the others, times up to 3/4 of the deadline. Batches of two or more are eligible with
    probability 0.7, and take between the longest member and the sum of the members ("sum"), or
    the longest member times a factor from [1.1, 1.9], rounded up ("slowdown")."""
    rng = np.random.default_rng([seed, index])
    n = int(rng.integers(least, most + 1))
    while True:
        period = [int(p) for p in rng.choice(PERIODS, n)]
        if math.lcm(*period) <= hyperperiod:
            break
    deadline = [int(rng.integers((t + 1) // 2, t + 1)) if rng.random() < 0.5 else t for t in period]
    completion = [0] * (1 << n)
    for i, d in enumerate(deadline):
        completion[1 << i] = int(rng.integers(1, max(1, d * 3 // 4) + 1))
    for mask in range(1, 1 << n):
        alone = [completion[1 << i] for i in range(n) if mask >> i & 1]
        if len(alone) > 1 and rng.random() < 0.7:
            if factors == "sum":
                completion[mask] = int(rng.integers(max(alone), sum(alone) + 1))
            else:
                completion[mask] = math.ceil(rng.uniform(1.1, 1.9) * max(alone))
    return period, deadline, completion


def repaired(case: Case, **options: Any) -> int:
    zero = [0] * len(case[0])
    arrays = [np.array(row, dtype=np.int64) for row in (*case[:2], zero, case[2])]
    answer: int = graph._run(*arrays, **options)["schedulable"]
    return answer


def brute_force() -> Callable[[Case], int]:
    sys.path.insert(0, str(Path(__file__).parent.parent / "tests"))
    from reference import pbs_brute

    return lambda case: int(pbs_brute.search(*case) is not None)


def interval_engine() -> Callable[[Case], int]:
    from gpusched import pbs

    def answer(case: Case) -> int:
        tasks = KernelTasks(period=case[0], deadline=case[1], wcet=1)
        found = pbs.search(tasks, BatchTable(completion=case[2]), method="interval").schedulable
        return -1 if found is None else int(found)

    return answer


def compare(arguments: argparse.Namespace) -> dict[str, Any]:
    brute = brute_force() if arguments.brute else None
    interval = interval_engine() if arguments.interval else None
    shape = (arguments.least, arguments.most, arguments.hyperperiod, arguments.factors)
    result: dict[str, Any] = {"sets": arguments.count, "schedulable": 0}
    listing = {
        (order, pruning): {"false_yes": 0, "false_no": 0, "undecided": 0, "examples": []}
        for order in graph.ORDERS
        for pruning in graph.PRUNINGS
    }
    checks = {"brute": [0, 0], "interval": [0, 0]}
    began = time.perf_counter()
    for index in range(arguments.count):
        case = draw(arguments.seed, index, *shape)
        truth = repaired(case)
        result["schedulable"] += truth
        for name, engine in (("brute", brute), ("interval", interval)):
            if engine is not None and (name == "interval" or index < arguments.brute):
                checks[name][0] += 1
                checks[name][1] += engine(case) != truth
        for (order, pruning), counts in listing.items():
            said = repaired(case, variant="paper", order=order, pruning=pruning, states=STATES)
            if said == -1:
                counts["undecided"] += 1
            elif said != truth:
                counts["false_yes" if said else "false_no"] += 1
                if len(counts["examples"]) < 3:
                    counts["examples"].append(case)
    for (order, pruning), counts in listing.items():
        for kind in ("false_yes", "false_no"):
            counts[f"{kind}_per_100000"] = round(counts[kind] * 1e5 / arguments.count, 2)
        result[f"paper_{order}_{pruning}"] = counts
    for name, (compared, differing) in checks.items():
        if compared:
            result[f"repaired_against_{name}"] = {"compared": compared, "differing": differing}
    result["seconds"] = round(time.perf_counter() - began, 1)
    return result


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--count", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--least", type=int, default=2, help="fewest tasks")
    parser.add_argument("--most", type=int, default=3, help="most tasks")
    parser.add_argument("--hyperperiod", type=int, default=60, help="the longest")
    parser.add_argument("--factors", choices=("sum", "slowdown"), default="slowdown")
    parser.add_argument("--brute", type=int, default=10_000, help="how many to check by force")
    parser.add_argument("--interval", action="store_true", help="check the interval engine too")
    parser.add_argument("--save", type=Path)
    arguments = parser.parse_args()
    result = compare(arguments)
    given = {k: v for k, v in vars(arguments).items() if k != "save"}
    report = {
        "parameters": {**given, "periods": PERIODS, "paper_states_budget": STATES},
        **result,
    }
    # Lists of numbers on one line each.
    text = re.sub(r"\s+(?=[\d\]])(?<![:{}])", " ", json.dumps(report, indent=1))
    print(text)
    if arguments.save is not None:
        arguments.save.write_text(text + "\n")
    differing = [v["differing"] for k, v in report.items() if k.startswith("repaired_against")]
    return 1 if any(differing) else 0


if __name__ == "__main__":
    sys.exit(main())
