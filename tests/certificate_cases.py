"""Certificates for random small sets: true ones, damaged ones, and the twin's verdict on them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, fields, replace
from functools import cached_property
from math import lcm
from typing import Any

import numpy as np
from reference import pbs_dead_states, pbs_proof

import gpusched as gs

LIMIT = 2**61 - 1  # of the numbers in prices
NOTHING = 2**63 - 1  # as `latest`
WIDE = [-(2**63), -(2**61), -1, 0, 1, 2**31, 2**59, 2**61, NOTHING]


@dataclass(frozen=True)
class Case:
    """A task set with its table, as lists."""

    period: list[int]
    deadline: list[int]
    offset: list[int]
    completion: list[int]

    @property
    def n(self) -> int:
        return len(self.period)

    @property
    def horizon(self) -> int:
        return lcm(*self.period)

    @property
    def ends_in_time(self) -> bool:
        rows = zip(self.period, self.deadline, self.offset, strict=True)
        return all(o + d <= p for p, d, o in rows)

    def objects(self) -> tuple[gs.KernelTasks, gs.BatchTable]:
        return self._objects

    @cached_property
    def _objects(self) -> tuple[gs.KernelTasks, gs.BatchTable]:
        wcet = [self.completion[1 << i] for i in range(self.n)]
        tasks = gs.KernelTasks(self.period, wcet, deadline=self.deadline, offset=self.offset)
        return tasks, gs.BatchTable(completion=self.completion)

    def part(self, tasks: list[int]) -> Case:
        """Some of the tasks, with the least times of their batches."""
        columns = (self.period, self.deadline, self.offset)
        rows = ([column[i] for i in tasks] for column in columns)
        return Case(*rows, pbs_proof.restricted(self.completion, tasks))


MENUS = ([4, 6, 12], [3, 6, 9], [4, 8], [5, 10], [2, 3, 4], [16, 24], [20])


def random_case(rng: np.random.Generator, most: int = 4, menus: Any = MENUS) -> Case:
    """A small set of every kind: deadlines of any length, offsets, tables with holes that are not
    monotone."""
    n = int(rng.integers(1, most + 1))
    menu = menus[rng.integers(len(menus))]
    period = [int(rng.choice(menu)) for _ in range(n)]
    kind = rng.integers(3)
    deadline = list(period)
    if kind:
        high = [p if kind == 1 else 2 * p + 1 for p in period]
        deadline = [
            int(rng.integers(max(1, p // 2), h + 1)) for p, h in zip(period, high, strict=True)
        ]
    offset = [int(rng.integers(4)) * int(rng.random() < 0.3) for _ in range(n)]
    longest = max(3, int(np.mean(period) * rng.uniform(1, 2)) // (1 + n // 2))
    completion = [0] * (1 << n)
    for mask in range(1, 1 << n):
        alone = mask & (mask - 1) == 0
        if alone or rng.random() < 0.7:
            completion[mask] = int(rng.integers(1, longest + (1 if alone else 3)))
    return Case(period, deadline, offset, completion)


def random_windows(rng: np.random.Generator, case: Case) -> list[tuple[int, list[int], int]]:
    """Windows of a proof, with the best prices of small sets or valid ones at random."""
    windows = []
    for _ in range(int(rng.integers(0, 4))):
        window = int(rng.integers(1, case.horizon + max(case.deadline) + 1))
        if case.n <= 3 and rng.random() < 0.7:
            prices, scale = best_prices(case, window)
        else:
            prices = [int(rng.integers(-3, 12)) for _ in range(case.n)]
            least = (
                -(-sum(prices[i] for i in pbs_proof.members(mask)) // time)
                for mask, time in enumerate(case.completion)
                if time
            )
            scale = max(1, *least)
        windows.append((window, prices, scale))
    return windows


def best_prices(case: Case, window: int) -> tuple[list[int], int]:
    rows = list(zip(case.period, case.deadline, case.offset, strict=True))
    last = case.horizon - 1
    must = [pbs_proof.count(o, p, min(window - d, last)) for p, d, o in rows]
    may = [pbs_proof.count(o, p, min(window - 1, last)) for p, d, o in rows]
    return pbs_dead_states.best_prices(case.completion, must, may)


def dead_states(
    entries: list[Any], windows: list[tuple[int, list[int], int]], n: int
) -> gs.pbs.DeadStates:
    """The certificate of the entries of `pbs_dead_states`."""
    spans = [span for entry in entries for span in entry[3]]
    return gs.pbs.DeadStates(
        window=[w[0] for w in windows],
        prices=np.array([w[1] for w in windows], np.int64).reshape(-1, n),
        scale=[w[2] for w in windows],
        start=[e[0] for e in entries],
        pending=np.array([e[1] for e in entries], np.int64).reshape(-1, n),
        latest=[NOTHING if e[2] is None else e[2] for e in entries],
        span_begin=np.cumsum([0, *(len(e[3]) for e in entries)]),
        span_first=[first for first, _ in spans],
        span_last=[last for _, last in spans],
    )


def certificates(
    rng: np.random.Generator, case: Case, idling: bool, horizon: int | None = None
) -> Iterator[gs.pbs.Certificate]:
    """Certificates of all kinds that hold for a set; none for one that is schedulable."""
    states = pbs_dead_states.DeadStates(
        case.period, case.deadline, case.offset, case.completion, horizon
    )
    entries = states.entries(idling, spans_only=bool(rng.random() < 0.3))
    if entries is None:
        return
    order = rng.permutation(len(entries))
    interval = pbs_dead_states.dead_interval(*_lists(case), horizon)
    if interval is not None:
        yield gs.pbs.DeadInterval(*interval)
    yield dead_states([entries[i] for i in order], random_windows(rng, case), case.n)
    if case.n <= 3:
        window = int(rng.choice([case.horizon, rng.integers(1, case.horizon + 1)]))
        price, scale = best_prices(case, window)
        found = gs.pbs.Overload(tuple(price), scale, 2.0, window)
        if pbs_proof.least_worth(*_rows(case), [0] * case.n, window, price) not in (None, 0):
            yield found
            yield replace(found, window=None)


def _rows(case: Case) -> tuple[list[int], list[int], list[int], int]:
    return case.period, case.deadline, case.offset, case.horizon


def subsets(
    rng: np.random.Generator, case: Case, idling: bool = True, most: int = 3
) -> Iterator[gs.pbs.InfeasibleSubset]:
    """Certificates by some of the tasks; without idling they may be none."""
    for _ in range(2):
        size = int(rng.integers(1, min(case.n, most) + 1))
        tasks = sorted(rng.choice(case.n, size, replace=False).tolist())
        part = case.part(tasks)
        horizon = part.horizon if part.ends_in_time else case.horizon
        for proof in certificates(rng, part, idling, horizon):
            yield gs.pbs.InfeasibleSubset(tuple(tasks), proof)


def verdict_of_twin(
    certificate: gs.pbs.Certificate, case: Case, idling: bool, repeating: bool
) -> str | None:
    """None where the certificate holds, else what is wrong."""
    tasks = None
    if isinstance(certificate, gs.pbs.InfeasibleSubset):
        tasks, certificate = list(certificate.tasks), certificate.proof
    proof: dict[str, Any] = {"repeating": repeating}
    if isinstance(certificate, gs.pbs.Overload):
        check = pbs_proof.check_prices
        numbers = [*certificate.price, certificate.scale, certificate.window or 0]
        if max(map(abs, numbers)) >= LIMIT:
            return "numbers out of range"
        proof |= {"window": certificate.window, "prices": list(certificate.price)}
        proof["scale"] = certificate.scale
    elif isinstance(certificate, gs.pbs.DeadInterval):
        check = pbs_proof.check_interval
        proof |= {"start": certificate.start, "end": certificate.end}
        proof |= {"tasks": list(certificate.tasks), "least": certificate.least}
    else:
        assert isinstance(certificate, gs.pbs.DeadStates)
        check = pbs_proof.check_states
        c = {f.name: getattr(certificate, f.name).tolist() for f in fields(certificate)}
        numbers = [*certificate.prices.ravel().tolist(), *c["scale"], *c["window"], 0]
        numbers += c["span_last"]
        if max(map(abs, numbers)) >= LIMIT:
            return "numbers out of range"
        spans = list(zip(c["span_first"], c["span_last"], strict=True))
        cuts = zip(c["span_begin"], c["span_begin"][1:], strict=False)
        latest = [None if x >= LIMIT else x for x in c["latest"]]
        entries = zip(
            c["start"], map(tuple, c["pending"]), latest, [spans[a:b] for a, b in cuts], strict=True
        )
        windows = list(zip(c["window"], c["prices"], c["scale"], strict=True))
        proof |= {"windows": windows, "entries": list(entries), "idling": idling}
    if tasks is not None:
        proof |= {"tasks": tasks, "check": check} if check is not pbs_proof.check_interval else {}
        if check is pbs_proof.check_interval:  # which has tasks of its own
            return _interval_of_subset(case, tasks, proof)
        check = pbs_proof.check_subset
    return check(*_lists(case), case.horizon, **proof)


def _lists(case: Case) -> tuple[list[int], list[int], list[int], list[int]]:
    return case.period, case.deadline, case.offset, case.completion


def _interval_of_subset(case: Case, tasks: list[int], proof: dict[str, Any]) -> str | None:
    if not pbs_proof.are_tasks(tasks, case.n):
        return f"tasks {tasks}"
    part = case.part(tasks)
    horizon = part.horizon if part.ends_in_time else case.horizon
    return pbs_proof.check_interval(*_lists(part), horizon, **proof)


def holds(certificate: gs.pbs.Certificate, case: Case, idling: bool, repeating: bool) -> bool:
    """The verdict of both checks, which have to agree."""
    wrong = verdict_of_twin(certificate, case, idling, repeating)
    try:
        certificate.verify(*case.objects(), idling=idling, repeating=repeating)
    except gs.pbs.CertificateError as error:
        assert wrong is not None, (case, certificate, idling, repeating, str(error))
        return False
    assert wrong is None, (case, certificate, idling, repeating, wrong)
    return True


def damaged(rng: np.random.Generator, certificate: gs.pbs.Certificate) -> gs.pbs.Certificate:
    """A certificate with one random change; it may still hold."""
    if isinstance(certificate, gs.pbs.InfeasibleSubset):
        if rng.random() < 0.8:
            return replace(certificate, proof=damaged(rng, certificate.proof))
        tasks = list(certificate.tasks)
        tasks[rng.integers(len(tasks))] += int(rng.choice([-1, 1]))
        return replace(certificate, tasks=tuple(tasks))
    if isinstance(certificate, gs.pbs.DeadStates):
        return _damaged_states(rng, certificate)
    values = {f.name: getattr(certificate, f.name) for f in fields(certificate)}
    name = str(rng.choice([key for key in values if key != "demand"]))
    value = values[name]
    if value == ():
        return certificate
    if isinstance(value, tuple):
        row = list(value)
        at = rng.integers(len(row))
        if rng.random() < 0.2:
            row[at], row[0] = row[0], row[at]
        else:
            row[at] = _changed(rng, row[at])
        values[name] = tuple(row)
    elif value is None:
        values[name] = int(rng.integers(0, 40))
    else:
        values[name] = _changed(rng, value)
    return type(certificate)(**values)


def _changed(rng: np.random.Generator, value: int) -> int:
    if rng.random() < 0.1:
        return int(rng.choice(WIDE))
    changed = value + int(rng.choice([-2, -1, 1, 2]))
    return max(-(2**63), min(changed, 2**63 - 1))


def _damaged_states(rng: np.random.Generator, given: gs.pbs.DeadStates) -> gs.pbs.DeadStates:
    values = {f.name: getattr(given, f.name).copy() for f in fields(given)}
    n = given.pending.shape[1]
    kind = rng.integers(8)
    if kind == 0 and len(given.start):  # an entry is dropped, or given twice
        e = int(rng.integers(len(given.start)))
        keep = np.ones(len(given.start), np.int64)
        keep[e] = 2 * int(rng.random() < 0.3)
        return _entries_kept(values, keep)
    if kind == 1 and len(given.span_first):  # a span is widened or narrowed
        s = int(rng.integers(len(given.span_first)))
        values[str(rng.choice(["span_first", "span_last"]))][s] += int(rng.choice([-1, 1]))
        return gs.pbs.DeadStates(**values)
    if kind == 2:  # tasks are swapped
        a, b = rng.integers(n, size=2)
        name = str(rng.choice(["pending", "prices"]))
        values[name][:, [a, b]] = values[name][:, [b, a]]
        return gs.pbs.DeadStates(**values)
    names = [key for key, value in values.items() if value.size and key != "span_begin"]
    name = str(
        rng.choice(["latest" if kind == 3 and "latest" in names else str(rng.choice(names))])
    )
    at = tuple(int(rng.integers(length)) for length in values[name].shape)
    values[name][at] = _changed(rng, int(values[name][at]))
    return gs.pbs.DeadStates(**values)


def _entries_kept(values: dict[str, Any], times: Any) -> gs.pbs.DeadStates:
    """Each entry so many times, with its spans."""
    begin = values["span_begin"]
    rows = np.repeat(np.arange(len(times)), times)
    spans = [np.arange(begin[r], begin[r + 1]) for r in rows]
    chosen = np.concatenate([*spans, np.array([], np.int64)])
    for key in ("start", "pending", "latest"):
        values[key] = values[key][rows]
    values["span_begin"] = np.cumsum([0, *map(len, spans)])
    values["span_first"] = values["span_first"][chosen]
    values["span_last"] = values["span_last"][chosen]
    return gs.pbs.DeadStates(**values)


def garbage(rng: np.random.Generator, case: Case) -> gs.pbs.Certificate:
    """A certificate of small random numbers."""
    n, horizon = case.n, case.horizon
    if rng.random() < 0.2:
        price = rng.integers(-5, 15, n)
        window = None if rng.random() < 0.5 else int(rng.integers(0, 2 * horizon))
        return gs.pbs.Overload(price, int(rng.integers(0, 5)), 2.0, window)
    if rng.random() < 0.2:
        start = int(rng.integers(0, horizon))
        tasks = np.flatnonzero(rng.random(n) < 0.7)
        return gs.pbs.DeadInterval(
            start, start + int(rng.integers(0, 9)), tasks, int(rng.integers(20))
        )
    entries: dict[Any, Any] = {}
    starts = sorted(
        {
            0,
            *(
                r
                for p, o in zip(case.period, case.offset, strict=True)
                for r in range(o, horizon, p)
            ),
        }
    )
    for _ in range(int(rng.integers(1, 30))):
        start = int(rng.choice(starts)) if entries else 0
        released = [
            pbs_proof.count(o, p, start) for p, o in zip(case.period, case.offset, strict=True)
        ]
        pending = (
            tuple(int(rng.integers(0, min(a, 2) + 1)) for a in released)
            if entries
            else tuple(released)
        )
        first = start + int(rng.integers(0, 2))
        spans = [(first, first + int(rng.integers(0, 3)))] if rng.random() < 0.3 else []
        entries[start, pending] = (start, pending, start - int(rng.integers(0, 3)), spans)
    return dead_states(list(entries.values()), random_windows(rng, case), n)
