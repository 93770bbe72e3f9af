"""Claims of [RTCSA19], section IV-C: Algorithm 1."""

from __future__ import annotations

import functools
from fractions import Fraction
from typing import Any

import numpy as np

from benchmarks.papers.claim import Claim, Finding, Size, found
from benchmarks.papers.rtcsa19.stgm_example import listed
from gpusched import analysis, generate
from gpusched.analysis.verdict import Verdict
from gpusched.experiments.stgm_choices import stgm_allocators
from gpusched.model.host_tasks import HostTasks

__all__ = ["ALGORITHM_CLAIMS"]

CPUS, SMS = 3, 5  # of the random sets
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


def passes(hosts: HostTasks, cores: list[int], cpus: int, core: int) -> bool:
    """Whether all tasks of a core pass the test; tasks without a core (-1) get one of their own."""
    places = [cpus + i if c < 0 else c for i, c in enumerate(cores)]
    placed = hosts.with_placement(core=places, sm=hosts.sm)
    response = analysis.stgm(placed, cpus + hosts.n).response
    own = np.array(places) == core
    late = np.ma.filled(response > hosts.deadline, True)
    return not bool(late[own].any())


def by_worst_fit(hosts: HostTasks, cpus: int) -> bool:
    """Whether each core is the least loaded one that passes, by falling utilization."""
    share = hosts.utilization("suspend")
    loads, cores = [Fraction(0)] * cpus, [-1] * hosts.n
    for task in sorted(range(hosts.n), key=lambda i: (-share[i], i)):
        for core in sorted(range(cpus), key=lambda p: (loads[p], p)):
            tried = [core if i == task else c for i, c in enumerate(cores)]
            if passes(hosts, tried, cpus, core):
                break
        else:
            return False
        if core != int(hosts.core[task]):
            return False
        cores[task] = core
        loads[core] += share[task]
    return True


def consecutive(hosts: HostTasks) -> bool:
    """Whether the SMs of the tasks follow each other, modulo the number of SMs."""
    sms, first = hosts.sm.shape[-1], 0
    for task in np.flatnonzero(hosts.segments > 0).tolist():
        held = set(np.flatnonzero(hosts.sm[task]).tolist())
        if held != {(first + k) % sms for k in range(len(held))}:
            return False
        first = (first + len(held)) % sms
    return True


@functools.cache
def allocated(size: Size) -> tuple[HostTasks, Any]:
    """Random sets on three cores and five SMs; some pass in a later round, many never."""
    sets = generate.stgm(
        *(6, size.count(300, 3000), 1),
        cpus=CPUS,
        sms=SMS,
        utilization=(0.3, 0.6),
        gpu_ratio=(0.5, 1),
    )
    return sets, analysis.stgm_allocate(sets, CPUS, SMS)


def whole(size: Size) -> Finding:
    answer = analysis.stgm_allocate(plateau(), 2, 4)
    hosts = answer.hosts
    response = analysis.stgm(hosts, 2).response.tolist()
    same = response == answer.response.tolist()
    in_time = all(r <= d for r, d in zip(response, hosts.deadline.tolist(), strict=True))
    cores, sms = hosts.core.tolist(), hosts.sm.sum(axis=-1).tolist()
    text = (
        f"four tasks, accepted after {rounds_of(answer)} rounds: cores {listed(cores)} with "
        f"{listed(sms)} SMs; the test gives the responses {listed(response)}, all in time"
    )
    holds = bool(answer.accepted) and same and in_time and by_worst_fit(hosts, 2)
    values = {"cores": cores, "response": response, "rounds": int(rounds_of(answer))}
    return found(holds, text, values, reading=True)


def first_round(size: Size) -> Finding:
    """One SM each at first, and no more rounds than SMs can be added."""
    sets, answer = allocated(size)
    gpu = sets.segments > 0
    once = answer.accepted & (answer.rounds == 1)
    single = bool((answer.hosts.sm.sum(axis=-1)[once] == gpu[once]).all())
    spare = 1 + (SMS - 1) * gpu.sum(axis=-1) - answer.rounds
    later = int((answer.accepted & ~once).sum())
    text = (
        f"of {len(sets)} sets {int(once.sum())} pass in the first round, with one SM for each "
        f"task, and {later} in a later one; "
        f"{'no' if spare.min() >= 0 else 'a'} set takes more rounds than SMs can be added"
    )
    values = {"first round": int(once.sum()), "later": later, "single": single}
    return found(single and once.any() and later > 0 and int(spare.min()) >= 0, text, values)


def lines_10_to_13(size: Size) -> Finding:
    """Sets of which a task has several SMs, across the last one or not."""
    _, answer = allocated(size)
    rows = np.flatnonzero(answer.accepted & (answer.rounds > 1)).tolist()
    hosts = [answer.hosts[k] for k in rows]
    right = sum(consecutive(one) for one in hosts)
    around = sum(
        bool((one.sm[:, 0] & one.sm[:, -1] & (one.sm.sum(axis=-1) < SMS)).any()) for one in hosts
    )
    text = (
        f"of {len(rows)} sets that pass in a later round {right} have consecutive SMs; in {around} "
        "of them a task has the last SM and the first"
    )
    values = {"sets": len(rows), "consecutive": right, "around": around}
    return found(right == len(rows) and around > 0, text, values)


def lines_14_and_15(size: Size) -> Finding:
    _, answer = allocated(size)
    rows = np.flatnonzero(answer.accepted).tolist()[: size.count(40, 400)]
    right = sum(by_worst_fit(answer.hosts[k], CPUS) for k in rows)
    text = (
        f"of {len(rows)} allocations {right} give each task, by falling utilization, the least "
        "loaded core on which all tasks pass"
    )
    return found(
        right == len(rows) > 0, text, {"sets": len(rows), "worst fit": right}, reading=True
    )


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
        f"two tasks (5 every 10, 2 every 4) on one core: "
        f"{'accepted' if answer.accepted else 'not accepted'}, and the test of both then "
        f"{'passes' if check.accepted else 'fails'}; {unsafe:.1%} of random sets are accepted and "
        "then fail the test of all tasks"
    )
    return found(bool(check.accepted), text, {"own": response, "unsafe": unsafe})


def line_17(size: Size) -> Finding:
    hosts = plateau()
    by_line = [c / t for c, t in zip(hosts.cpu_time, hosts.period, strict=True)]
    by_model = [float(u) for u in hosts.utilization("suspend", sms=4)]
    text = (
        f"utilizations of lines 16 and 17 {listed(round(float(u), 3) for u in by_line)}, of "
        f"section III {listed(round(u, 3) for u in by_model)}"
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
        f"with the gain as written in the text {'accepted' if accepted[0] else 'not accepted'} "
        f"after {rounds[0]} rounds; with the sign of "
        f"line 24, which picks the task that gains least, "
        f"{'accepted' if accepted[1] else 'not accepted'} after {rounds[1]}"
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
        (*ALLOCATE, "gs.analysis.stgm"), "agrees in this reading",
        "The lines below that differ are corrected.", whole,
    ),
    Claim(
        "Algorithm 1", "one SM each, and an end",
        "Every GPU-using task begins with one SM; the number of rounds is limited by the SMs that "
        "can be added.",
        ALLOCATE, "agrees", "", first_round,
    ),
    Claim(
        "Algorithm 1, lines 10 to 13", "consecutive SMs",
        "A task gets SMs that follow each other and those of the task before, modulo N_SM.",
        ALLOCATE, "agrees", "", lines_10_to_13,
    ),
    Claim(
        "Algorithm 1, lines 14 and 15", "worst fit, decreasing",
        "Tasks are placed by falling utilization, each on the least loaded core that takes it.",
        (*ALLOCATE, "gs.analysis.stgm"), "agrees in this reading",
        "Loads and utilizations are those of section III, and a core takes a task if all of its "
        "tasks pass (see lines 16 and 17).",
        lines_14_and_15,
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
