"""Monotone tests, Audsley's conditions and assigned priorities; results/sensitivity_campaign.txt.

Four tables, of the random sets of host_falsification.py:

1. Pairs of a set and the same set with one parameter made worse (times by a common factor, one
   cost, shorter periods, periods and deadlines in proportion), where the worse one is accepted: the
   better one must be, with responses no longer. Order-free gcaps holds the GPU for deadlines and is
   not monotone in the last one, which no breakdown factor is about.
2. Breakdown factors against a scan of all fractions at which a time changes.
3. Pairs of orders for the tests of which Audsley's algorithm is proven: a task's bound does not
   change when the more urgent or the less urgent tasks change their order (C1, C2), and does not
   exceed its deadline after the task became more urgent by one level (C3); by the twins of tests/.
4. Assigned priorities against all orders, and GPU priorities against all that agree with the cores.

With 100,000 pairs: as many for each test in tables 1 (over all parameters) and 3, a tenth of that
as fractions and orders in the others; a quarter of an hour of one core. The tests run 300 pairs.
Each table has random numbers of its own, so that --table makes one of them alone.

    python benchmarks/sensitivity_campaign.py [--pairs 100000] [--seed 1] [--table K] [--save]
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from host_falsification import random_system
from machine import describe

import gpusched as gs

sys.path.insert(0, str(Path(__file__).parent.parent / "tests"))

from reference import context_tests, host_tests
from reference.sensitivity import all_orders, scan

Options = dict[str, Any]
TESTS: list[tuple[str, Options]] = [
    *[("stgm", {"mode": mode}) for mode in ("suspend", "busy")],
    *[("mpcp", {"mode": mode}) for mode in ("suspend", "busy", "spin")],
    *[("fmlp_plus", {"mode": mode}) for mode in ("suspend", "busy")],
    ("gpu_server", {}),
    *[
        (test, {"mode": mode, **way})
        for test in ("time_slices", "gcaps")
        for mode in ("suspend", "busy")
        for way in ({}, {"fixed_point": "one_pass"}, {"order_free": True})
    ],
]
WORSE = ("all", "kernels", "copies", "cpu", "one task", "cost", "periods", "periods, deadlines")
COSTS = {"gpu_server": "server_overhead", "time_slices": "context_switch", "gcaps": "update_cost"}
PROVEN = [("stgm", "busy")]
PROVEN += [(test, mode) for test in ("time_slices", "gcaps") for mode in ("suspend", "busy")]
FIELDS = {"kernels": ["kernel"], "copies": ["copy_in", "copy_out"], "cpu": ["cpu"]}


def title(test: str, options: Options) -> str:
    words = [test, *(str(value) for key, value in options.items() if key != "order_free")]
    return " ".join(words + ["order-free"] * ("order_free" in options))


def with_costs(rng: np.random.Generator, test: str, options: Options) -> Options:
    """Options with costs: times that are no part of the tasks."""
    more: Options = {"timeslice": int(rng.integers(1, 9))} if test == "time_slices" else {}
    if test in COSTS:
        more[COSTS[test]] = int(rng.integers(0, 3))
    if test == "gcaps":
        more["context_switch"] = int(rng.choice([0, 1, 3]))
    if test == "gcaps" and "order_free" not in options:
        more["stall"] = bool(rng.random() < 0.25)
    return {**options, **more}


def grown(hosts: gs.HostTasks, names: list[str], rows: Any, over: int, under: int) -> gs.HostTasks:
    changed = {}
    for name in names:
        values = getattr(hosts, name).copy()
        values[:, rows] = -(-values[:, rows] * over // under)
        changed[name] = values
    return hosts.replace(**changed)


def worse(
    rng: np.random.Generator, hosts: gs.HostTasks, test: str, what: str, options: Options
) -> tuple[gs.HostTasks, Options, gs.HostTasks, Options]:
    """A stack and a worse one."""
    under = int(rng.integers(1, 30))
    over = under + int(rng.integers(1, 10))
    if what == "cost":
        cost = "context_switch" if test == "gcaps" and rng.random() < 0.5 else COSTS[test]
        return hosts, options, hosts, {**options, cost: options[cost] + int(rng.integers(1, 3))}
    names = FIELDS.get(what, [name for many in FIELDS.values() for name in many])
    if what == "periods":
        longer = hosts.replace(period=-(-hosts.period * over // under), deadline=hosts.deadline)
        return longer, options, hosts, options
    if what == "periods, deadlines":  # in proportion, without rounding
        fine = grown(hosts, names, slice(None), under, 1)
        rows = [{"period": k * hosts.period, "deadline": k * hosts.deadline} for k in (over, under)]
        return fine.replace(**rows[0]), options, fine.replace(**rows[1]), options
    rows = int(rng.integers(hosts.n)) if what == "one task" else slice(None)
    return hosts, options, grown(hosts, names, rows, over, under), options


def cases(rng: np.random.Generator, count: int) -> Iterator[tuple[gs.HostTasks, Options]]:
    while True:
        system = random_system(rng, count)
        yield system.hosts, {"cpus": system.cpus, "sms": system.sms}


def monotone(rng: np.random.Generator, pairs: int) -> list[str]:
    lines = [f"{'accepted when worse, of that rejected':<34}" + "".join(f"{w:>20}" for w in WORSE)]
    for test, options in TESTS:
        row = f"{title(test, options):<34}"
        for what in WORSE:
            seen = wrong = 0
            while seen < pairs and not (what == "cost" and test not in COSTS):
                hosts, platform = next(cases(rng, 256))
                asked = with_costs(rng, test, options) | platform
                if test == "gpu_server":
                    asked["server"] = rng.integers(0, platform["cpus"] + 1, 256)
                one, one_asked, other, other_asked = worse(rng, hosts, test, what, asked)
                run = getattr(gs.analysis, test)
                good, bad = run(one, **one_asked), run(other, **other_asked)
                longer = (good.response > bad.response).any(axis=1).filled(False)
                seen += int(bad.accepted.sum())
                wrong += int((bad.accepted & (~good.accepted | longer)).sum())
            row += f"{seen:>14},{wrong:>5}" if seen else f"{'-':>20}"
        lines.append(row)
    return lines


def breakdowns(rng: np.random.Generator, pairs: int) -> list[str]:
    lines = [f"{'breakdown factors':<34}{'sets':>8}{'fractions':>12}{'differ':>8}{'tests':>8}"]
    for test, options in TESTS:
        sets = tried = wrong = tests = 0
        while tried < pairs:
            hosts, platform = next(cases(rng, 1))
            asked = with_costs(rng, test, options) | platform
            scale: Any = rng.choice(["all", "kernels", "copies", "cpu", "one task"])
            scale = int(rng.integers(hosts.n)) if scale == "one task" else str(scale)
            run = getattr(gs.analysis, test)
            try:
                found = gs.analysis.breakdown(hosts[0], test, scale, **asked)
            except ValueError:  # nothing grows
                continue
            work = int((hosts.cpu_time + hosts.gpu_time(1)).min())
            most = min(8.0, hosts.deadline.max() / max(1, work) + 1)
            if found.factor > most or hosts.kernel.max() * most > 400:
                continue
            fractions, accepted = scan(
                hosts[0],
                scale,
                most,
                lambda stack, run=run, asked=asked: run(stack, **asked).accepted,
            )
            best = max((f for f, yes in zip(fractions, accepted, strict=True) if yes), default=0)
            wrong += best != found.factor or not accepted[: int(accepted.sum())].all()
            sets, tried, tests = sets + 1, tried + len(fractions), tests + found.tests
        mean = tests / max(1, sets)
        lines.append(f"{title(test, options):<34}{sets:>8}{tried:>12}{wrong:>8}{mean:>8.1f}")
    return lines


def tasks_of(hosts: gs.HostTasks, order: np.ndarray) -> list[Any]:
    """A set of the twins with priorities by an order of the tasks."""
    rank = np.argsort(order)
    found = []
    for i, count in enumerate(hosts.segments.tolist()):
        parts = zip(hosts.copy_in[i], hosts.kernel[i], hosts.copy_out[i], strict=True)
        gpu = [(int(a), e.tolist(), int(b)) for a, e, b in parts][:count]
        times = (int(hosts.period[i]), hosts.cpu[i, : count + 1].tolist(), gpu)
        place = (int(rank[i]), int(hosts.core[i]), np.flatnonzero(hosts.sm[i]).tolist())
        found.append(host_tests.Task(*times, int(hosts.deadline[i]), *place))
    return found


def bound(test: str, mode: str, asked: Options, tasks: list[Any], i: int) -> int | None:
    """The bound of one task by a twin; None beyond its deadline."""
    if test == "stgm":
        return host_tests.stgm(tasks, busy=True, only=[i]).W[i]
    if test == "gcaps":
        costs = {"eps": asked["update_cost"], "theta": asked["context_switch"]}
        run = context_tests.gcaps(tasks, mode=mode, way="free", sms=asked["sms"], only=[i], **costs)
    else:
        costs = (asked["timeslice"], asked["context_switch"], mode)
        run = context_tests.time_slices(tasks, *costs, way="free", sms=asked["sms"], only=[i])
    return run.W[i]


def conditions(rng: np.random.Generator, pairs: int) -> list[str]:
    lines = [f"{'pairs of orders, violations':<34}{'C1, C2':>20}{'C3':>20}"]
    for test, mode in PROVEN:
        counts = {"order": [0, 0], "raise": [0, 0]}
        while min(seen for seen, _ in counts.values()) < pairs:
            hosts, platform = next(cases(rng, 16))
            asked = with_costs(rng, test, {"order_free": True}) | platform
            for one in hosts:
                if (one.cpu_time + one.gpu_time() == 0).any():  # kernels that SMs make vanish
                    continue
                order = rng.permutation(one.n)
                at = int(rng.integers(one.n))
                i = int(order[at])
                before = bound(test, mode, asked, tasks_of(one, order), i)
                mixed = np.r_[rng.permutation(order[:at]), i, rng.permutation(order[at + 1 :])]
                counts["order"][0] += 1
                counts["order"][1] += bound(test, mode, asked, tasks_of(one, mixed), i) != before
                if at > 0 and before is not None:
                    raised = order.copy()
                    raised[[at - 1, at]] = raised[[at, at - 1]]
                    counts["raise"][0] += 1
                    after = bound(test, mode, asked, tasks_of(one, raised), i)
                    counts["raise"][1] += after is None
        cells = "".join(f"{seen:>14},{wrong:>5}" for seen, wrong in counts.values())
        lines.append(f"{f'{test} {mode}':<34}{cells}")
    return lines


def assignments(rng: np.random.Generator, pairs: int) -> list[str]:
    head = f"{'sets':>8}{'orders':>10}{'accepted':>10}{'deadlines':>10}{'wrong':>8}{'tests':>8}"
    lines = [f"{'assigned priorities':<34}{head}"]
    for test, options in TESTS:
        sets = orders = yes = plain = wrong = tests = 0
        while orders < pairs:
            hosts, platform = next(cases(rng, 8))
            if hosts.n > 5:
                continue
            asked = with_costs(rng, test, options) | platform
            found = gs.analysis.assign_priorities(hosts, test, **asked)
            every = all_orders(hosts.n)
            run = getattr(gs.analysis, test)
            for k, one in enumerate(hosts):
                stack = gs.HostTasks.stack([one.replace(priority=row) for row in every])
                can = bool(run(stack, **asked).accepted.any())
                wrong += can != bool(found.accepted[k]) or not found.optimal[k]
                ranks = one.replace(priority=np.argsort(np.argsort(one.deadline, kind="stable")))
                plain += bool(run(ranks, **asked).accepted)
                yes += can
            sets, orders, tests = sets + 8, orders + 8 * len(every), tests + int(found.tests.sum())
        cells = f"{sets:>8}{orders:>10}{yes:>10}{plain:>10}{wrong:>8}{tests / max(1, sets):>8.1f}"
        lines.append(f"{title(test, options):<34}{cells}")
    return lines


def gpu_orders(hosts: gs.HostTasks) -> list[np.ndarray]:
    """GPU priorities that agree with the CPU priorities of each core."""
    users = np.flatnonzero(hosts.segments)
    found = []
    for ranks in all_orders(len(users)) if len(users) else []:
        level = np.full(hosts.n, hosts.n)
        level[users] = ranks
        by_cpu = users[np.argsort(hosts.priority[users])]
        if all(
            (np.diff(level[by_cpu[hosts.core[by_cpu] == c]]) > 0).all() for c in set(hosts.core)
        ):
            found.append(level)
    return found


def gpu_assignments(rng: np.random.Generator, pairs: int) -> list[str]:
    lines = [
        f"{'GPU priorities of gcaps':<34}{'sets':>8}{'orders':>10}{'accepted':>10}{'wrong':>8}"
    ]
    for mode in ("suspend", "busy"):
        sets = orders = yes = wrong = 0
        while orders < pairs:
            hosts, platform = next(cases(rng, 8))
            if hosts.n > 5:
                continue
            update = int(rng.integers(0, 3))
            asked = {"mode": mode, "update_cost": update, **platform}
            found = gs.analysis.assign_priorities(hosts, "gcaps", of="gpu", **asked)
            for k, one in enumerate(hosts):
                tasks = tasks_of(one, np.argsort(one.priority))
                options = {"mode": mode, "way": "deadlines", "sms": platform["sms"]}
                levels = gpu_orders(one)
                can = [
                    context_tests.gcaps(tasks, update, gpu_prio=level.tolist(), **options)
                    for level in levels
                ]
                fits = any(result.schedulable for result in can)
                wrong += fits and not (found.accepted[k] and found.method[k] == "audsley")
                yes += fits
                sets, orders = sets + 1, orders + len(levels)
        lines.append(f"{f'gcaps {mode}':<34}{sets:>8}{orders:>10}{yes:>10}{wrong:>8}")
    return lines


PARTS: list[tuple[Callable[[np.random.Generator, int], list[str]], int]] = [
    (monotone, len(WORSE)),
    (breakdowns, 10),
    (conditions, 1),
    (assignments, 10),
    (gpu_assignments, 10),
]
"""Tables, and by what the number of pairs is divided for each."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--pairs", type=int, default=100_000, help="of each kind")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--table", type=int, choices=range(len(PARTS)), help="that alone, from 0")
    parser.add_argument("--save", action="store_true", help="keep the tables in benchmarks/results")
    args = parser.parse_args()
    if args.save and args.table is not None:
        parser.error("--save: got a single table, expected all")
    began = time.perf_counter()
    tables = []
    for number, (part, share) in enumerate(PARTS):
        if args.table not in (None, number):
            continue
        rng = np.random.default_rng([args.seed, number])
        tables.append("\n".join(part(rng, max(1, args.pairs // share))))
        print(tables[-1], flush=True)
    took = time.perf_counter() - began
    head = f"Sensitivity and priorities, seed {args.seed}, {describe()}"
    note = f"{args.pairs} pairs of each kind and test, {took:.0f} s on one core"
    if args.save:
        path = Path(__file__).parent / "results" / "sensitivity_campaign.txt"
        path.write_text("\n\n".join([f"{head}\n{note}", *tables]) + "\n")


if __name__ == "__main__":
    main()
