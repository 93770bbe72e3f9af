"""Claims of [RTCSA19], section IV-C: Algorithm 1."""

from __future__ import annotations

from typing import Any

import numpy as np

from gpusched import analysis, generate
from gpusched.analysis.verdict import Verdict
from gpusched.experiments.papers.claim import Claim, Finding, Size, found
from gpusched.experiments.stgm_allocator_study import stgm_allocators
from gpusched.model.host_tasks import HostTasks

__all__ = ["ALGORITHM_CLAIMS"]

ALLOCATE = ("gs.analysis.stgm_allocate",)


def plateau() -> HostTasks:
    """Four tasks on two cores and four SMs; the kernels of the third gain nothing from SMs."""
    jobs: list[list[Any]] = [
        [7, (1, [74, 48, 39, 35], 3), 7],
        [7, (2, [40, 26, 21, 19], 4), 4],
        [5, (4, [67, 67, 67, 67], 1), 2],
        [24],
    ]
    return HostTasks.from_segments([100, 200, 250, 300], jobs, priority=[0, 1, 2, 3])


def rounds_of(answer: Verdict) -> Any:
    """Rounds of an allocation."""
    assert answer.rounds is not None
    return answer.rounds


def whole(size: Size) -> Finding:
    answer = analysis.stgm_allocate(plateau(), 2, 4)
    cores, response = answer.hosts.core.tolist(), answer.response.tolist()
    holds = bool(answer.accepted) and response == [82, 81, 110, 53] and cores == [0, 1, 1, 1]
    text = f"cores {cores}, {answer.hosts.sm.sum(axis=-1).tolist()} SMs, responses {response}"
    return found(holds, text, {"cores": cores, "response": response}, reading=True)


def first_round(size: Size) -> Finding:
    """One SM each at first, consecutive ones, and no more rounds than SMs can be added."""
    sets = generate.stgm(10, size.count(200, 10_000), 1)
    answer = analysis.stgm_allocate(sets, 4, 13)
    users = (sets.segments > 0).sum(axis=-1)
    once = answer.accepted & (answer.rounds == 1)
    single = bool((answer.hosts.sm.sum(axis=-1)[once] == (sets.segments > 0)[once]).all())
    most = int((answer.rounds - (1 + 12 * users)).max())
    text = (
        f"of {len(sets)} sets {int(once.sum())} pass in the first round, each task with one SM; no "
        f"set takes more rounds than SMs can be added: {most <= 0}"
    )
    return found(single and most <= 0, text, {"first round": int(once.sum()), "single": single})


def line_16(size: Size) -> Finding:
    pair = HostTasks([10, 4], [5, 2])
    answer = analysis.stgm_allocate(pair, 1, 1, printed="line 16")
    response = int(analysis.stgm(pair.with_placement(core=0), 1).terms["own"][0])
    check = analysis.stgm(answer.hosts, 1)
    study = stgm_allocators(
        [8], size.count(100, 2000), workers=size.workers, progress=False,
        allocators={"line 16": {"printed": ("line 16",)}},
    )  # fmt: skip
    unsafe = float(study["unsafe"][0])
    text = (
        f"two tasks (5 every 10, 2 every 4) on one core: accepted {bool(answer.accepted)}, and the "
        f"test of the result {bool(check.accepted)}; {unsafe:.1%} of random sets are accepted so"
    )
    return found(bool(check.accepted), text, {"own": response, "unsafe": unsafe})


def line_17(size: Size) -> Finding:
    hosts = plateau()
    by_line = [c / t for c, t in zip(hosts.cpu_time, hosts.period, strict=True)]
    by_model = [float(u) for u in hosts.utilization("suspend", sms=4)]
    text = (
        f"utilizations of lines 16 and 17 {[round(float(u), 3) for u in by_line]}, of section III "
        f"{[round(u, 3) for u in by_model]}"
    )
    return found(bool(np.allclose(by_line, by_model)), text, {"section III": by_model})


def line_23(size: Size) -> Finding:
    sets = generate.stgm(4, size.count(100, 1000), 1, cpus=1, sms=3, utilization=(0.3, 0.6))
    rounds = [
        int(np.max(rounds_of(analysis.stgm_allocate(sets, 1, 3, printed=lines))))
        for lines in ((), ("line 23",))
    ]
    text = f"most rounds with three SMs: {rounds[0]} as corrected, {rounds[1]} as printed"
    return found(rounds[0] == rounds[1], text, {"rounds": rounds})


def line_24(size: Size) -> Finding:
    hosts = plateau()
    answers = [analysis.stgm_allocate(hosts, 2, 4, printed=p) for p in ((), ("line 24",))]
    accepted = [bool(a.accepted) for a in answers]
    rounds = [int(rounds_of(a)) for a in answers]
    text = (
        f"with the gain as written in the text accepted after {rounds[0]} rounds; with the sign of "
        f"line 24, which picks the task that gains least, {accepted[1]} after {rounds[1]}"
    )
    return found(accepted[0] == accepted[1], text, {"accepted": accepted, "rounds": rounds})


def line_26(size: Size) -> Finding:
    study = stgm_allocators(
        [8], size.count(100, 2000), workers=size.workers, progress=False,
        allocators={"line 26": {"printed": ("line 26",)}},
    )  # fmt: skip
    unsafe = float(study["unsafe"][0])
    text = f"without a reset {unsafe:.1%} of random sets are accepted and fail the test"
    return found(unsafe == 0, text, {"unsafe": unsafe})


ALGORITHM_CLAIMS = (
    Claim(
        "Algorithm 1", "allocation of SMs and cores",
        "SMs are added to tasks until worst-fit decreasing places all tasks, or none is left.",
        ALLOCATE, "agrees in this reading", "with the corrections of the lines below", whole,
    ),
    Claim(
        "Algorithm 1", "one SM each, and an end",
        "Every GPU-using task begins with one SM; the number of rounds is limited by the SMs that "
        "can be added.",
        ALLOCATE, "agrees", "", first_round,
    ),
    Claim(
        "Algorithm 1, line 16", "test of the task that is placed",
        "A task is placed where it passes its test.",
        (*ALLOCATE, "gs.experiments.stgm_allocators"), "differs",
        "a task that was placed before may no longer pass; all tasks of the core must be tested",
        line_16,
    ),
    Claim(
        "Algorithm 1, lines 16 and 17", "load of a core",
        "The load of a core is the sum of C / T.", ALLOCATE, "differs",
        "section III defines the utilization with the copies, or with the whole GPU segments",
        line_17,
    ),
    Claim(
        "Algorithm 1, line 23", "while SMs can be added",
        "SMs are added while a task has at most N_max.", ALLOCATE, "differs",
        "a task that has all SMs meets the condition, so the printed test adds one more; fewer "
        "than N_SM is meant",
        line_23,
    ),
    Claim(
        "Algorithm 1, line 24", "the task that gains most",
        "The SM goes to the largest (G(N + 1) - G(N)) / T, which the text calls the highest "
        "benefit.",
        ALLOCATE, "differs", "the difference is negative, so its largest value is the least gain",
        line_24,
    ),
    Claim(
        "Algorithm 1, line 26", "next round", "The next round starts at line 7.",
        (*ALLOCATE, "gs.experiments.stgm_allocators"), "differs",
        "loads, tasks and marks of the cores must be cleared, as in lines 4 and 5", line_26,
    ),
)  # fmt: skip
"""Claims of section IV-C, in the order of the text."""
