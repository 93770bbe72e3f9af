"""The longest times of CPU work on shared cores, against threads that run tick by tick."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass

import pytest

import gpusched as gs
from gpusched.comparison.delayed_programs import DelayedPrograms, delayed_programs
from gpusched.comparison.derived_models import DerivedModels

KERNEL = {"blocks": 1, "threads": 32}


def delayed(tasks: Sequence[gs.Task], cpus: int = 1) -> DelayedPrograms | None:
    workload = gs.Workload(list(tasks), tick="us")
    return delayed_programs(DerivedModels(workload, gs.Platform("RTX 3080", cpus=cpus)))


def times(found: DelayedPrograms) -> dict[str, list[int]]:
    """Times of the CPU work of each task, in order."""
    return {
        task.name: [part.time for part in task.segments if isinstance(part, gs.CPU)]
        for task in found.models.workload
    }


def test_by_hand():
    """Work of 3 below (T = D = 10, C = 4): L = 3 + ceil((L + 10 - 4) / 10) 4 = 11."""
    found = delayed(
        [
            gs.Task("urgent", 10, [gs.CPU(2), gs.Kernel(2, **KERNEL), gs.CPU(2)]),
            gs.Task("slow", 100, [gs.CPU(3), gs.Kernel(4, **KERNEL), gs.CPU(3)]),
            gs.Task("alone", 200, [gs.CPU(5)]),
        ]
    )
    assert found is not None
    # alone: L = 5 + ceil((L + 6) / 10) 4 + ceil((L + 94) / 100) 6: 5, 19, 29, 33, 33.
    assert found.alone == {"alone": 33}
    assert times(found) == {"urgent": [2, 2], "slow": [11, 11], "alone": [5]}


def test_the_wait_before_a_first_launch_counts_a_release_at_its_end():
    """Empty work: L = (floor((L + 8) / 10) + 1) 2 = 4, where the ceiling gives 2 + 2 at 2."""
    urgent = gs.Task("urgent", 10, [gs.CPU(2)])
    slow = gs.Task("slow", 50, [gs.Kernel(4, **KERNEL)])
    found = delayed([urgent, slow])
    assert found is not None
    assert times(found)["slow"] == [4]
    # With a core of its own it waits for nothing.
    apart = delayed([urgent.replace(core=0), slow.replace(core=1)], cpus=2)
    assert apart is not None
    assert times(apart)["slow"] == []
    assert apart.core == {"urgent": 0, "slow": 1}


def test_work_that_may_exceed_a_deadline_has_no_longest_time():
    urgent = gs.Task("urgent", 10, [gs.CPU(6)])
    assert delayed([urgent, gs.Task("slow", 100, [gs.CPU(10)], deadline=30)]) is None
    late = gs.Task("late", 10, [gs.CPU(1)], deadline=12)
    assert delayed([late]) is None
    assert delayed([late.replace(deadline=10, jitter=1)]) is None


# Threads tick by tick -----------------------------------------------------------------------------


@dataclass
class Drawn:
    """A task of one core: CPU work of its pieces, between waits for the GPU."""

    period: int
    pieces: list[int]

    @property
    def task(self) -> gs.Task:
        parts: list[gs.CPU | gs.Kernel] = []
        for k, piece in enumerate(self.pieces):
            parts += [gs.Kernel(1, **KERNEL)] if k else []
            parts += [gs.CPU(piece)] if piece else []
        return gs.Task(f"task {id(self)}", self.period, parts)


def longest_observed(tasks: Sequence[Drawn], rng: random.Random, until: int) -> dict[str, int]:
    """The longest time of each piece of work, "i.k"; up to the first late job.

    Waits for the GPU and the gaps between releases are drawn. Lower indices are more urgent. An
    empty piece ends once its thread is the most urgent one that is ready.
    """
    seen: dict[str, int] = {}
    release = [rng.randrange(task.period) for task in tasks]
    job: list[tuple[int, int, int, int] | None] = [None] * len(tasks)  # piece, ready, left, arrival
    for now in range(until):
        for i, task in enumerate(tasks):
            if now == release[i]:
                if job[i] is not None:
                    return seen
                job[i] = (0, now, task.pieces[0], now)
                release[i] = now + task.period + rng.choice((0, 0, 0, rng.randrange(4)))
        ran = False
        for i, task in enumerate(tasks):
            while not ran and (of := job[i]) is not None and of[1] <= now:
                piece, ready, left, arrival = of
                if left:
                    job[i] = (piece, ready, left - 1, arrival)
                    ran = True
                if left > 1:
                    break
                end = now + ran
                key = f"{i}.{piece}"
                seen[key] = max(seen.get(key, 0), end - ready)
                if end - arrival > task.period:
                    return seen
                if piece + 1 == len(task.pieces):
                    job[i] = None
                else:
                    wait = rng.choice((1, 1, 2, rng.randrange(1, task.period)))
                    job[i] = (piece + 1, end + wait, task.pieces[piece + 1], arrival)
    return seen


@pytest.mark.parametrize("seed", range(8))
def test_no_work_takes_longer_while_all_keep_their_deadlines(seed: int):
    rng = random.Random(f"delayed {seed}")
    checked = reached = 0
    for _ in range(60):
        tasks = [
            Drawn(
                period=rng.choice((6, 8, 10, 12, 16, 24)),
                pieces=[rng.choice((0, 1, 1, 2)) for _ in range(rng.choice((1, 2, 2, 3)))],
            )
            for _ in range(rng.choice((2, 3)))
        ]
        tasks = sorted((of for of in tasks if sum(of.pieces)), key=lambda of: of.period)
        if not tasks or (found := delayed([of.task for of in tasks])) is None:
            continue
        bound: dict[str, int] = {}
        for i, (of, task) in enumerate(zip(tasks, found.models.workload, strict=True)):
            if len(of.pieces) == 1:
                bound[f"{i}.0"] = found.alone[task.name]
                continue
            # Between kernels no work is left out, but for the first: a last or a middle empty
            # piece is none of the thread.
            parts = iter([part.time for part in task.segments if isinstance(part, gs.CPU)])
            for k, piece in enumerate(of.pieces):
                if piece or (k == 0 and isinstance(task.segments[0], gs.CPU)):
                    bound[f"{i}.{k}"] = next(parts)
        for _ in range(20):
            for key, time in longest_observed(tasks, rng, 400).items():
                if key in bound:
                    checked += 1
                    assert time <= bound[key], (tasks, key)
                    reached += time == bound[key]
    assert checked > 400
    assert reached > checked // 10


def test_not_below_the_responses_of_the_holistic_test():
    """Programs of CPU work alone: bounds from deadlines are no smaller than from responses."""
    rng = random.Random("delayed and holistic")
    compared = 0
    for _ in range(300):
        tasks = [
            gs.Task(f"t{i}", rng.choice((10, 15, 20, 40)), [gs.CPU(rng.randrange(1, 6))])
            for i in range(3)
        ]
        found = delayed(tasks)
        if found is None:
            continue
        answer = gs.analysis.holistic(
            gs.Programs(
                period=[task.period for task in tasks],
                kind=[["cpu"]] * 3,
                time=[[task.cpu_time] for task in tasks],
            ),
            "one_stream",
        )
        assert answer.accepted
        compared += 1
        for task, response in zip(tasks, answer.response.tolist(), strict=True):
            assert response <= found.alone[task.name]
    assert compared > 50
