"""Every stage of the search alone: agreement with brute force, and proofs of what it refuses."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import pytest
from reference import pbs_brute, pbs_refutation
from test_search import random_set

from gpusched import _core

# Stages to skip, as GS_PBS_SEARCH_SKIP_* in csrc/pbs/search.h.
EDF, DIVE, RATES, INTERVAL, CLASSES, OUTER, WINDOWS = (1 << i for i in range(7))
TRIES, POINTS, SWEEPS, SHORT, WHOLE, REDUCE = (1 << i for i in range(7, 13))
QUICK = EDF | DIVE | RATES | INTERVAL
MIXES = {
    "all": 0,
    "points": QUICK | CLASSES | TRIES | SWEEPS,
    "points and prices off": QUICK | CLASSES | WINDOWS | TRIES | SWEEPS,
    "sweeps": QUICK | CLASSES | POINTS | SHORT,
    "short rounds": QUICK | CLASSES | SHORT,
    "rounds after classes": QUICK | OUTER | SHORT,
    "rounds after outer": QUICK | SHORT,
    "sweeps after classes": QUICK | OUTER | POINTS | SHORT,
    "groups and cores": QUICK | REDUCE | SHORT,
    "rates and windows": EDF | DIVE | INTERVAL | CLASSES,
}


def ask(case: Any, skip: int, idling: bool, proof: bool = True, **options: Any) -> Any:
    """The core's (answer, stage, frames, proof)."""
    period, deadline, offset, completion = case
    rows = [np.array([x], dtype=np.int64) for x in (period, deadline, offset, completion)]
    given: dict[str, Any] = {
        "idling": idling, "thorough": False, "policy": False, "policy_limit": 0,
        "states": 0, "bytes": 0, "seconds": 0.0, "stop": None, "proof": proof, "skip": skip,
    }  # fmt: skip
    columns, frames, reason, _ = _core.pbs_search(*rows, None, **given | options)
    return int(columns[0][0]), int(columns[1][0]), frames, reason


def holes(rng: np.random.Generator, case: Any) -> Any:
    """The case with a table that is not monotone, and longer times."""
    completion = list(case[3])
    for mask in range(1, len(completion)):
        if mask & (mask - 1) == 0:
            completion[mask] += int(rng.integers(0, 3))
        elif rng.random() < 0.5:
            completion[mask] = int(rng.integers(0, max(completion) + 4))
    return (*case[:3], completion)


def check(case: Any, skip: int, idling: bool) -> tuple[bool, str]:
    """Compares one answer with brute force; returns it and the kind of proof."""
    period, deadline, offset, completion = case
    expected = pbs_brute.search(period, deadline, completion, offset, idling=idling)
    answer, _, frames, proof = ask(case, skip, idling)
    assert answer == (expected is not None), (case, skip, idling)
    if answer:
        rows = list(zip(*(x.tolist() for x in frames), strict=True))
        broken = pbs_brute.replay(rows, period, deadline, completion, offset, idling=idling)
        assert broken == [], (case, skip, idling)
        assert proof is None
        return True, ""
    wrong = pbs_refutation.violations(proof, period, deadline, offset, completion, idling)
    assert wrong == [], (case, skip, idling, proof)
    return False, proof["kind"]


@pytest.mark.parametrize("kind", ["implicit", "constrained", "offsets", "long"])
@pytest.mark.parametrize("mix", MIXES)
def test_every_mix_of_stages_agrees_with_brute_force(mix: str, kind: str) -> None:
    rng = np.random.default_rng([len(mix), len(kind)])
    answers: Counter[bool] = Counter()
    for i in range(60):
        case = random_set(rng, int(rng.integers(1, 5)), kind)
        case = holes(rng, case) if i % 2 else case
        answers[check(case, MIXES[mix], bool(rng.integers(2)))[0]] += 1
    assert min(answers[True], answers[False]) > 2
