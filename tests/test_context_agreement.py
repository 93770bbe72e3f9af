"""Agreement of the tests with a context per task in C with their slow twins."""

from __future__ import annotations

import random

import numpy as np
import pytest
from context_vectors import VECTORS, split_name
from reference.context_tests import gcaps, time_slices
from test_host_agreement import columns, cores, nothing, same
from test_reference_host_tests import random_set

from gpusched import _core

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


def sets(rng, count):
    """Stacks of sets of one size on 1 to 3 cores."""
    for _ in range(count):
        n, cpus = rng.randint(1, 6), rng.randint(1, 3)
        load = rng.choice([(30, 90), (60, 200), (100, 400), (300, 900)])
        stack = [random_set(rng, n, 3, 2, T=load, least=rng.randint(0, 1)) for _ in range(4)]
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


def run(
    stack, method, mode, way, paper, sms, *, slice=0, cost=0, switch=0, stall=False, levels=None
):
    return _core.host_context_test(
        *(columns(stack), cores(stack), None if levels is None else np.array(levels)),
        **{"method": method, "cpus": 3, "sms": sms, "mode": mode, "fixed_point": way},
        **{"paper": paper, "slice": slice, "cost": cost, "switch": switch, "stall": stall},
        stop=nothing,
    )


@pytest.mark.parametrize("paper", [False, True])
@pytest.mark.parametrize("mode", [0, 1])
def test_time_slices(mode, paper):
    rng, fine = random.Random(f"slices {mode} {paper}"), 0
    for stack in sets(rng, 60):
        way = 1 if paper else rng.randrange(3)
        L, theta, sms = rng.randint(1, 9), rng.randint(0, 3), rng.randint(1, 2)
        answer = run(stack, "time_slices", mode, way, paper, sms, slice=L, cost=theta)
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
    for stack in sets(rng, 60):
        way = 1 if paper else rng.randrange(3)
        eps, sms = rng.randint(0, 3), rng.randint(1, 2)
        stall = not paper and rng.random() < 0.3
        theta = 0 if paper else rng.choice([0, 1, 2, 5])
        levels = [None] * len(stack)
        if way < 2 and rng.random() < 0.5:
            levels = [gpu_priorities(rng, tasks) for tasks in stack]
        answer = run(
            *(stack, "gcaps", mode, way, paper, sms),
            **{"cost": eps, "switch": theta, "stall": stall},
            levels=None if levels[0] is None else levels,
        )
        variant = "paper" if paper else "sound"
        found = [
            gcaps(tasks, eps, MODES[mode], variant, WAYS[way], sms, level, stall, theta=theta)
            for tasks, level in zip(stack, levels, strict=True)
        ]
        same(answer, found)
        fine += answer[0].sum()
    assert fine > 30


def test_unknown_methods_and_options():
    stack = next(sets(random.Random(1), 1))
    for change, message in (
        ({"method": "edf"}, "method: got 'edf', expected a test with a context per task"),
        ({"mode": 2}, "mode: got 2, expected 0 .suspend. or 1 .busy."),
        ({"way": 4}, "fixed_point: got 4, expected 0 .joint."),
        ({"paper": True}, "fixed_point: got 0, expected 1 .one pass. for the printed equations"),
    ):
        options = {"method": "gcaps", "mode": 0, "way": 0, "paper": False, "sms": 1} | change
        with pytest.raises(ValueError, match=message):
            run(stack, **options)
