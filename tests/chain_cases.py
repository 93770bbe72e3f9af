"""Random small systems of chains with their tables, as lists and as objects."""

from __future__ import annotations

from dataclasses import dataclass
from math import lcm
from typing import Any

import numpy as np
from reference import pbs_proof

import gpusched as gs

PERIODS = (4, 5, 6, 8, 10, 12, 16, 24)


@dataclass(frozen=True)
class Chains:
    """Tasks with their numbers of kernels, and the time of every batch of kernels."""

    period: list[int]
    deadline: list[int]
    offset: list[int]
    kernels: list[int]
    completion: list[int]

    @property
    def rows(self) -> list[int]:
        """The task of each kernel."""
        return [i for i, count in enumerate(self.kernels) for _ in range(count)]

    @property
    def system(self) -> tuple[list[int], ...]:
        """The arguments of the twin."""
        return self.period, self.deadline, self.offset, self.kernels, self.completion

    def objects(self) -> tuple[gs.KernelChains, gs.BatchTable]:
        alone = iter([self.completion[1 << j] for j in range(sum(self.kernels))])
        times = [[next(alone) for _ in range(count)] for count in self.kernels]
        chains = gs.KernelChains(self.period, times, deadline=self.deadline, offset=self.offset)
        return chains, gs.BatchTable(self.completion)

    def disproved(self, proof: Any, idling: bool) -> str | None:
        """The fault that the twin finds in a certificate of this system; None where it holds."""
        columns = (self.period, self.deadline, self.offset)
        rows = [[column[i] for i in self.rows] for column in columns]
        horizon, more, check = lcm(*self.period), {}, None
        if isinstance(proof, gs.pbs.InfeasibleSubset):
            more, proof, idling = {"tasks": list(proof.tasks)}, proof.proof, True
        if isinstance(proof, gs.pbs.Overload):
            check = pbs_proof.check_prices
            given: dict[str, Any] = {"window": proof.window, "scale": proof.scale}
            given["prices"] = list(proof.price)
        elif isinstance(proof, gs.pbs.DeadInterval):
            check = pbs_proof.check_interval
            given = {"start": proof.start, "end": proof.end, "least": proof.least}
            if more:  # both have tasks
                return None
            given["tasks"] = list(proof.tasks)
        else:
            check = pbs_proof.check_states
            given = self._states(proof, idling) | ({} if more else {"chains": self._chains()})
        if more:
            given |= more | {"check": check}
            check = pbs_proof.check_subset
        return check(*rows, self.completion, horizon, **given)  # type: ignore[no-any-return]

    def _chains(self) -> list[list[int]]:
        return [[j for j, i in enumerate(self.rows) if i == k] for k in range(len(self.kernels))]

    @staticmethod
    def _states(proof: gs.pbs.DeadStates, idling: bool) -> dict[str, Any]:
        begin = proof.span_begin.tolist()
        spans = list(zip(proof.span_first.tolist(), proof.span_last.tolist(), strict=True))
        latest = [None if x == 2**63 - 1 else x for x in proof.latest.tolist()]
        columns = (proof.start.tolist(), proof.pending.tolist(), latest, begin[:-1], begin[1:])
        entries = [(s, p, x, spans[a:b]) for s, p, x, a, b in zip(*columns, strict=True)]
        priced = (proof.window.tolist(), proof.prices.tolist(), proof.scale.tolist())
        windows = list(zip(*priced, strict=True))
        return {"windows": windows, "entries": entries, "idling": idling}


def random_chains(rng: np.random.Generator, most: int = 3, kernels: int = 7) -> Chains:
    """Up to ``most`` tasks of one to three kernels; deadlines of any length, offsets, tables with
    holes that are not monotone."""
    while True:
        n = int(rng.integers(1, most + 1))
        counts = rng.integers(1, 4, n).tolist()
        period = rng.choice(PERIODS, n).tolist()
        if sum(counts) <= kernels and lcm(*period) <= 48:
            break
    late = rng.random() < 0.3
    deadline = [int(rng.integers(max(1, p // 2), (2 if late else 1) * p + 1)) for p in period]
    offset = [int(rng.integers(p + 1)) if rng.random() < 0.3 else 0 for p in period]
    task = [i for i, count in enumerate(counts) for _ in range(count)]
    completion = [0] * (1 << len(task))
    for mask in range(1, 1 << len(task)):
        rows = [j for j in range(len(task)) if mask >> j & 1]
        if len(rows) == 1:
            share = counts[task[rows[0]]] + int(rng.integers(3))
            completion[mask] = int(rng.integers(1, max(1, period[task[rows[0]]] // share) + 1))
        elif len({task[j] for j in rows}) == len(rows) and rng.random() < 0.8:
            alone = [completion[1 << j] for j in rows]
            completion[mask] = int(rng.integers(max(1, max(alone) - 1), sum(alone) + 1))
    return Chains(period, deadline, offset, counts, completion)
