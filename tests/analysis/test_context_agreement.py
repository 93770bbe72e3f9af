"""Agreement of the tests with a context per task in C with their slow twins."""

from __future__ import annotations

import random

import numpy as np
import pytest
from context_vectors import VECTORS, split_name
from reference.context_tests import gcaps, time_slices
from test_host_agreement import placed, same
from test_reference_host_tests import random_set

pytestmark = pytest.mark.numbers

WAYS = ("joint", "one_pass", "free")
MODES = ("suspend", "busy")


@pytest.mark.parametrize("key", VECTORS)
def test_the_twin_has_the_vectors(key):
    vector = VECTORS[key]
    for name, bounds in vector.bounds.items():
        test, options = split_name(name)
        variant = options.get("variant", "sound")
        way = "free" if "order_free" in options else options.get("fixed_point", "joint")
        if test == "gcaps":
            stall = options.get("stall", False)
            found = gcaps(vector.tasks, vector.eps, options["mode"], variant, way, stall=stall)
        else:
            costs = (vector.L, vector.theta)
            found = time_slices(vector.tasks, *costs, options["mode"], variant, way)
        assert found.W == bounds, name


def sets(rng, count, jitter=False):
    """Stacks of sets of one size on 1 to 3 cores."""
    for _ in range(count):
        n, cpus = rng.randint(1, 6), rng.randint(1, 3)
        load = rng.choice([(30, 90), (60, 200), (100, 400), (300, 900)])
        options = {"T": load, "least": rng.randint(0, 1), "jitter": jitter and rng.random() < 0.7}
        stack = [random_set(rng, n, 3, 2, **options) for _ in range(4)]
        for tasks in stack:
            for t in tasks:
                t.core = rng.randrange(cpus)
        yield stack


def gpu_priorities(rng, tasks):
    """Priorities in the order of the CPU priorities on each core."""
    found, left, level = [0] * len(tasks), sorted(range(len(tasks)), key=lambda i: tasks[i].prio), 0
    while left:
        core = rng.choice(sorted({tasks[i].core for i in left}))
        first = next(i for i in left if tasks[i].core == core)
        found[first] = level
        level += rng.randint(1, 4)
        left.remove(first)
    return found


@pytest.mark.parametrize("paper", [False, True])
@pytest.mark.parametrize("mode", [0, 1])
def test_time_slices(mode, paper):
    rng, fine = random.Random(f"slices {mode} {paper}"), 0
    for stack in sets(rng, 100, jitter=not paper):
        way = 1 if paper else rng.randrange(3)
        L, theta, sms = rng.randint(1, 9), rng.randint(0, 3), rng.randint(1, 2)
        options = {"mode": mode, "variant": int(paper), "fixed_point": way, "sms": sms}
        answer = placed(stack, "time_slices", **options, timeslice=L, context_switch=theta)
        variant = "paper" if paper else "sound"
        same(
            answer,
            [time_slices(t, L, theta, MODES[mode], variant, WAYS[way], sms) for t in stack],
        )
        fine += answer[0].sum()
    assert fine > 30


@pytest.mark.parametrize("paper", [False, True])
@pytest.mark.parametrize("mode", [0, 1])
def test_gcaps(mode, paper):
    rng, fine = random.Random(f"gcaps {mode} {paper}"), 0
    for stack in sets(rng, 100, jitter=not paper):
        way = 1 if paper else rng.randrange(3)
        eps, sms = rng.randint(0, 3), rng.randint(1, 2)
        stall = not paper and rng.random() < 0.3
        theta = 0 if paper else rng.choice([0, 1, 2, 5])
        levels = [None] * len(stack)
        if way < 2 and rng.random() < 0.5:
            levels = [gpu_priorities(rng, tasks) for tasks in stack]
        answer = placed(
            *(stack, "gcaps"),
            **{"mode": mode, "variant": int(paper), "fixed_point": way, "sms": sms},
            **{"update_cost": eps, "context_switch": theta, "stall": stall},
            levels=None if levels[0] is None else np.array(levels),
        )
        variant = "paper" if paper else "sound"
        found = [
            gcaps(tasks, eps, MODES[mode], variant, WAYS[way], sms, level, stall, theta=theta)
            for tasks, level in zip(stack, levels, strict=True)
        ]
        same(answer, found)
        fine += answer[0].sum()
    assert fine > 30


def test_unknown_ways_and_options():
    stack = next(sets(random.Random(1), 1))
    for change, message in (
        ({"way": "edf"}, "way: got 'edf', expected a way with a test of tasks with cores"),
        ({"mode": 2}, "mode: got 2, expected 0 .suspend., 1 .busy."),
        ({"fixed_point": 4}, "fixed_point: got 4, expected 0 .joint."),
        ({"variant": 2}, "variant: got 2, expected 0 .sound. or a printed form"),
        ({"variant": 1, "context_switch": 1}, "context_switch: got 1, expected 0 for the printed"),
    ):
        with pytest.raises(ValueError, match=message):
            placed(stack, **{"way": "gcaps"} | change)
    stack[-1][0].J = 1
    for way in ("gcaps", "time_slices"):
        with pytest.raises(
            ValueError, match=r"jitter.*: got 1, expected 0, since the model has no"
        ):
            placed(stack, way, variant=1, fixed_point=1, timeslice=3)
