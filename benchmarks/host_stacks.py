"""Time of custom tests over the random sets of [RTNS10], which differ in size.

gs.generate.elliott makes all sets of a scenario in one call, and a test takes them in one call. In
microseconds per set: the generation, with the part that the core spends on it; a test of the user's
own, written with NumPy over the columns of the stack; and tests of gs.analysis, the core's part and
the rest. The last line is the way set by set: a call of the generator and of the test for each.

A stack of 2,000 sets fits the caches of most machines, but for the sets of many light tasks.
Processor time of one core, the least of several rounds. Some ten seconds:

    python benchmarks/host_stacks.py [--save]
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from machine import describe

import gpusched as gs
from gpusched import _core

RESULT = Path(__file__).parent / "results" / "host_stacks.txt"
CPUS = 4
FEW = 500  # sets that are made and tested one by one


def timed(call: Callable[[], Any], rounds: int) -> tuple[float, Any]:
    """The least processor time of several calls, and the answer."""
    seconds = []
    for _ in range(rounds):
        start = time.process_time()
        answer = call()
        seconds.append(time.process_time() - start)
    return min(seconds), answer


def load(sets: gs.HostTasks) -> Any:
    """A test of the user's own: all of a job on the CPUs, their utilization at most the CPUs."""
    busy = sets.cpu_time + sets.copy_time + sets.kernel[..., 0, 0]
    share = busy / np.maximum(sets.period, 1)
    return (share.sum(axis=-1) <= CPUS) & (busy <= sets.period).all(axis=-1)


def timed_parts(call: Callable[[], Any], rounds: int) -> tuple[float, float, Any]:
    """The least processor time of several calls, the core's part of it, and the answer."""
    names = ("elliott_draw", "srm_blocking", "gedf_response", "container_response")
    kept = {name: getattr(_core, name) for name in (*names, "host_partition")}
    spent = [0.0]

    def counted(function: Callable[..., Any]) -> Callable[..., Any]:
        def run(*arguments: Any, **options: Any) -> Any:
            start = time.process_time()
            answer = function(*arguments, **options)
            spent[0] += time.process_time() - start
            return answer

        return run

    found = []
    try:
        for name, function in kept.items():
            setattr(_core, name, counted(function))
        for _ in range(rounds):
            spent[0] = 0.0
            seconds, answer = timed(call, 1)
            found.append((seconds, spent[0]))
    finally:
        for name, function in kept.items():
            setattr(_core, name, function)
    return (*min(found), answer)


def measure(utilization: str, sets: int, rounds: int) -> list[str]:
    """Microseconds per set for a scenario."""
    whole, core, stack = timed_parts(
        lambda: gs.generate.elliott(utilization, cpus=CPUS, count=sets, seed=1), rounds
    )
    own, accepted = timed(lambda: load(stack), rounds)
    us, task = 1e6 / sets, 1e9 / stack.sizes.sum()
    lines = [
        f"{utilization}: {stack.sizes.mean():.1f} tasks per set, {stack.n} at most",
        f"  {'generation':26}{whole * us:8.2f}   {core * us:8.2f} in the core, "
        f"{whole * task:.0f} ns per task",
        f"  {'own test with NumPy':26}{own * us:8.2f}   {100 * accepted.mean():5.1f} % pass",
        f"  {'generation and own test':26}{(whole + own) * us:8.2f}",
    ]
    tests: dict[str, Callable[[gs.HostTasks], Any]] = {
        "srm, FMLP": lambda s: gs.analysis.srm(s, CPUS, lock="fmlp"),
        "container": lambda s: gs.analysis.container(s, CPUS),
        "cpu_only, c = 8": lambda s: gs.analysis.cpu_only(s, CPUS, 8),
        "partition, MPCP": lambda s: gs.analysis.partition(s, CPUS),
    }
    for name, test in tests.items():
        took, inside, answer = timed_parts(lambda test=test: test(stack), rounds)
        share = 100 * answer.accepted.mean()
        lines.append(
            f"  {name:26}{took * us:8.2f}   {inside * us:8.2f} in the core, "
            f"{(took - inside) * us:5.2f} beside it   {share:5.1f} % pass"
        )

    def one_by_one() -> None:
        for number in range(FEW):
            one = gs.generate.elliott(utilization, cpus=CPUS, seed=1, first=number)
            gs.analysis.srm(one, CPUS, lock="fmlp")

    slow, _ = timed(one_by_one, 1)
    lines.append(f"  {'set by set, srm, FMLP':26}{slow * 1e6 / FEW:8.0f}")
    return lines


def main() -> None:
    parser = argparse.ArgumentParser(description="Times of tests over stacks of random host tasks.")
    parser.add_argument("--sets", type=int, default=2_000)
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--save", action="store_true", help=f"write {RESULT.name}")
    options = parser.parse_args()
    lines = [describe(), f"{options.sets:,} sets per scenario, seed 1: us per set", ""]
    for utilization in ("heavy", "medium", "light"):
        lines += [*measure(utilization, options.sets, options.rounds), ""]
    text = "\n".join(lines)
    print(text)
    if options.save:
        RESULT.write_text(text.rstrip() + "\n")


if __name__ == "__main__":
    main()
