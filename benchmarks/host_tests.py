"""Times of the response-time tests and allocations for tasks with GPU segments.

Sets of 16 tasks on 4 cores by Table I of [RTCSA19] (gs.generate.stgm), and sets of half that
utilization, which take longer: nearly all of them pass. One call for the whole stack, its processor
time on one core; the fastest of several. Cores of the tests are those of the partition for MPCP;
STGM gets one SM per task there, round the end. Beside them, the published figures of SchedCAT for
one set with its fixpoint, from another machine, and so an order of magnitude.

Then allocations for 13 SMs: Algorithm 1 corrected, and the one that first looks for SMs of their
own for tasks, for the tasks of a core (busy) or for groups of tasks (suspend); and how often each
finds an allocation where one exists, on small systems that all of them can be tried for.

    python benchmarks/host_tests.py [--save]
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from machine import describe

import gpusched as gs
from gpusched import _core

RESULT = Path(__file__).parent / "results" / "host_tests.txt"
CPUS, SMS, TASKS = 4, 13, 16
APART = 32
SCHEDCAT = {"mpcp suspend": 102, "fmlp_plus suspend": 134}  # us, on another machine


def placed_test(
    way: str,
    hosts: Any,
    core: Any,
    sm: Any = None,
    server: Any = None,
    *,
    run: Callable[..., Any] = _core.host_placed_test,
    **more: int,
) -> Any:
    """The response-time test of a way for a stack of sets, or a search of cores by that test."""
    options = dict.fromkeys(("mode", "variant", "fixed_point", "server_overhead"), 0) | more
    return run(
        hosts,
        core,
        sm,
        server,
        None,
        None,
        way=way,
        cpus=CPUS,
        sms=SMS,
        timeslice=1000,
        context_switch=0,
        update_cost=50,
        stall=False,
        jitter=way == "stgm",  # as its function does by default
        stop=None,
        **options,
    )


def timed(call: Callable[[], Any], rounds: int) -> tuple[float, Any]:
    """The least processor time of several calls, and the answer."""
    seconds = []
    for _ in range(rounds):
        start = time.process_time()
        answer = call()
        seconds.append(time.process_time() - start)
    return min(seconds), answer


def partitioned(hosts: Any) -> Any:
    """Cores by the partition search with MPCP, and its answers."""
    return placed_test("mpcp", hosts, None, run=_core.host_partition)


def tests(sets: int, rounds: int, seed: int) -> list[str]:
    """Microseconds per set and the share that passes."""
    stacks = [
        gs.generate.stgm(TASKS, sets, seed, cpus=CPUS, sms=SMS, utilization=(0.05, most))._columns()
        for most in (0.3, 0.15)
    ]
    spread = np.zeros((sets, TASKS, SMS), np.uint8)
    spread[:, np.arange(TASKS), np.arange(TASKS) % SMS] = 1
    cores = [partitioned(h)[4] for h in stacks]
    server = np.full(sets, CPUS)
    calls: dict[str, Callable[[Any, Any], Any]] = {
        "mpcp suspend": lambda h, c: placed_test("mpcp", h, c),
        "mpcp busy": lambda h, c: placed_test("mpcp", h, c, mode=1),
        "mpcp spin": lambda h, c: placed_test("mpcp", h, c, mode=2),
        "fmlp_plus suspend": lambda h, c: placed_test("fmlp_plus", h, c),
        "fmlp_plus busy": lambda h, c: placed_test("fmlp_plus", h, c, mode=1),
        "fmlp_plus code": lambda h, c: placed_test("fmlp_plus", h, c, variant=1),
        "gpu_server": lambda h, c: placed_test(
            "gpu_server", h, c, server=server, server_overhead=50
        ),
        "slices suspend": lambda h, c: placed_test("time_slices", h, c),
        "slices one pass": lambda h, c: placed_test("time_slices", h, c, fixed_point=1),
        "slices busy": lambda h, c: placed_test("time_slices", h, c, mode=1),
        "gcaps suspend": lambda h, c: placed_test("gcaps", h, c),
        "gcaps one pass": lambda h, c: placed_test("gcaps", h, c, fixed_point=1),
        "gcaps busy": lambda h, c: placed_test("gcaps", h, c, mode=1),
        "stgm suspend": lambda h, c: placed_test("stgm", h, c, spread),
        "stgm busy": lambda h, c: placed_test("stgm", h, c, spread, mode=1),
        "stgm printed": lambda h, c: placed_test("stgm", h, c, spread, variant=1),
        "partition + mpcp": lambda h, c: partitioned(h),
    }
    lines = [
        f"{sets:,} sets of {TASKS} tasks on {CPUS} cores: us per set, share that passes",
        "",
        f"  {'':18} {'U 0.05-0.3':>14}   {'U 0.05-0.15':>14}   SchedCAT",
    ]
    for name, call in calls.items():
        cells, slowest = [], 0.0
        for hosts, core in zip(stacks, cores, strict=True):
            seconds, answer = timed(partial(call, hosts, core), rounds)
            cells.append(f"{seconds / sets * 1e6:6.2f} {100 * answer[0].mean():5.1f} %")
            slowest = max(slowest, seconds / sets * 1e6)
        peer = f"{SCHEDCAT[name]} us, {SCHEDCAT[name] / slowest:.0f} x" if name in SCHEDCAT else ""
        lines.append(f"  {name:18} {cells[0]:>14}   {cells[1]:>14}   {peer}".rstrip())
    return lines


def allocated(busy: bool, flags: int, hosts: Any) -> Any:
    return _core.host_stgm_allocate(
        hosts, cpus=CPUS, sms=SMS, busy=busy, paper=0, flags=flags, stop=None
    )


def allocations(sets: int, rounds: int, seed: int) -> list[str]:
    """Microseconds per set, of all and of those without an allocation."""
    lines = [
        f"{sets:,} sets on {CPUS} cores and {SMS} SMs: us per set, us per set that is not found",
        "schedulable, share that is",
        "",
        f"  {'':10} {'Algorithm 1, corrected':>28}   {'apart first':>28}",
    ]
    for busy in (False, True):
        for n in (8, 10, 12, 14, 16):
            hosts = gs.generate.stgm(n, sets, seed, cpus=CPUS, sms=SMS)._columns()
            cells = []
            for flags in (0, APART):
                allocate = partial(allocated, busy, flags)
                seconds, answer = timed(partial(allocate, hosts), rounds)
                failed = answer[0] == 0
                hard = tuple(np.ascontiguousarray(column[failed]) for column in hosts)
                slow, _ = timed(partial(allocate, hard), rounds)
                each = slow / max(1, failed.sum()) * 1e6
                share = 100 * (1 - failed.mean())
                cells.append(f"{seconds / sets * 1e6:8.1f} {each:8.1f} {share:7.2f} %")
            mode = "busy" if busy else "suspend"
            lines.append(f"  {mode:7} {n:2d} {cells[0]:>28}   {cells[1]:>28}")
    return lines


def missed(sets: int, seed: int) -> list[str]:
    """Of the sets with an allocation, the share for which none is found."""
    lines = [
        f"{sets:,} sets of 6 or 7 tasks, at most 4 with GPU segments, U 0.1-0.6, on 2 cores and 4",
        "SMs: with an allocation at all; of these, not found by Algorithm 1, and apart first",
        "",
    ]
    for busy in (False, True):
        for n in (6, 7):
            drawn = gs.generate.stgm(n, 4 * sets, seed, cpus=2, sms=4, utilization=(0.1, 0.6))
            chosen = np.flatnonzero((drawn.segments > 0).sum(1) <= 4)[:sets]
            hosts = tuple(np.ascontiguousarray(column[chosen]) for column in drawn._columns())
            best = (
                _core.host_stgm_exhaustive(
                    hosts, cpus=2, sms=4, busy=busy, paper=0, states=0, stop=None
                )[0]
                == 1
            )
            shares = []
            for flags in (0, APART):
                found = (
                    _core.host_stgm_allocate(
                        hosts, cpus=2, sms=4, busy=busy, paper=0, flags=flags, stop=None
                    )[0]
                    == 1
                )
                assert not (found & ~best).any()
                shares.append(f"{100 * (best & ~found).sum() / best.sum():6.2f} %")
            mode = "busy" if busy else "suspend"
            lines.append(
                f"  {mode:7} {n} tasks, {len(chosen)} sets: {100 * best.mean():6.2f} %"
                f"   missed {shares[0]}   {shares[1]}"
            )
    return lines


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--save", action="store_true", help=f"write results/{RESULT.name}, too")
    parser.add_argument("--sets", type=int, default=10_000)
    parser.add_argument("--rounds", type=int, default=5, help="the fastest counts")
    parser.add_argument("--seed", type=int, default=2002)
    options = parser.parse_args()
    lines = [describe(), f"seed {options.seed}", ""]
    lines += [*tests(options.sets, options.rounds, options.seed), ""]
    lines += [*allocations(options.sets // 5, options.rounds, options.seed), ""]
    lines += missed(options.sets // 20, options.seed)
    print("\n".join(lines))
    if options.save:
        RESULT.parent.mkdir(exist_ok=True)
        RESULT.write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
