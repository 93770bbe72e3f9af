"""Choice of cores: all assignments compared with a twin, verdicts with brute force."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from reference.core_choice import all_choices, any_accepted

import gpusched as gs
from gpusched.comparison.core_choice import assignments, count_of_assignments, with_cores


@pytest.mark.parametrize("items", range(1, 7))
@pytest.mark.parametrize("cpus", range(1, 6))
def test_assignments_are_all_of_them_once(items: int, cpus: int) -> None:
    rows = [tuple(row) for row in assignments(items, cpus).tolist()]
    assert rows == sorted(all_choices(items, cpus))
    assert count_of_assignments(items, cpus) == len(rows)


def test_counts_of_many_assignments() -> None:
    assert count_of_assignments(8, 4) == 2795
    assert count_of_assignments(31, 2) is None  # 2**30
    assert count_of_assignments(30, 2) == 2**29
    assert count_of_assignments(1000, 1000) is None
    assert count_of_assignments(1000, 1) == 1


def random_hosts(rng: np.random.Generator, n: int) -> gs.HostTasks:
    jobs: list[list[Any]] = []
    for _ in range(n):
        if rng.random() < 0.5:
            jobs.append([int(rng.integers(2, 12))])
        else:
            gpu = (int(rng.integers(0, 2)), int(rng.integers(1, 6)), int(rng.integers(0, 2)))
            jobs.append([int(rng.integers(1, 6)), gpu, int(rng.integers(1, 4))])
    return gs.HostTasks.from_segments(rng.integers(20, 40, n).tolist(), jobs)


TESTS: dict[str, Any] = {
    "mpcp": (gs.analysis.mpcp, {}),
    "fmlp_plus": (gs.analysis.fmlp_plus, {"mode": "busy"}),
    "gpu_server": (gs.analysis.gpu_server, {"server_overhead": 1}),
    "gcaps": (gs.analysis.gcaps, {"update_cost": 1}),
    "time_slices": (gs.analysis.time_slices, {"timeslice": 4, "context_switch": 1}),
}


@pytest.mark.parametrize("name", TESTS)
def test_choices_are_those_of_brute_force(name: str) -> None:
    test, options = TESTS[name]
    serves = name == "gpu_server"
    rng = np.random.default_rng(17)
    seen = set()
    for _ in range(45):
        n, cpus = int(rng.integers(2, 6)), int(rng.integers(2, 4))
        hosts = random_hosts(rng, n)

        def several(stack: Any, server: Any, cpus: int = cpus) -> Any:
            more = {} if server is None else {"server": server}
            return test(stack, cpus, **options, **more)

        def one(cores: Sequence[int], hosts: Any = hosts, n: int = n, cpus: int = cpus) -> bool:
            more = {"server": cores[n]} if serves else {}
            return bool(test(hosts.replace(core=cores[:n]), cpus, **options, **more).accepted)

        way: Any = gs.ways.GpuServer(server_overhead=1) if serves else "mpcp"
        placed = gs.analysis.partition(hosts, cpus, way)
        choice = with_cores(hosts, cpus, several, placed)
        expected = any_accepted(n + serves, cpus, one)
        assert choice.accepted == expected
        cores = [*choice.core.tolist(), *([choice.server] if serves else [])]
        assert one(cores) == expected
        assert choice.total == len(all_choices(n + serves, cpus))
        if choice.by_worst_fit:
            assert choice.core.tolist() == placed.hosts.core.tolist()
        else:
            assert choice.tried == choice.total
            assert "all" in choice.sentence and "does not accept" in choice.sentence
        seen.add((choice.accepted, choice.by_worst_fit))
    assert len(seen) == 3  # worst fit, another choice, none


def test_rules_are_tried_where_assignments_are_many() -> None:
    """Tasks that first fit packs into full cores, and worst fit does not."""
    period = [10] * 12
    cpu = [6, 6, 6, 6, 4, 4, 4, 4, 5, 5, 5, 5]
    hosts = gs.HostTasks(period, cpu=cpu)
    placed = gs.analysis.partition(hosts, 6)
    choice = with_cores(hosts, 6, lambda stack, _: gs.analysis.mpcp(stack, 6), placed, most=100)
    assert choice.accepted and choice.tried < 10
    late = gs.HostTasks(period, cpu=[9] * 12)
    placed = gs.analysis.partition(late, 6)
    choice = with_cores(late, 6, lambda stack, _: gs.analysis.mpcp(stack, 6), placed, most=100)
    assert not choice.accepted and choice.by_worst_fit
    assert f"none of {choice.tried} of {choice.total:,} assignments" in choice.sentence


def test_eight_tasks_on_four_cpus_take_few_calls() -> None:
    hosts = gs.HostTasks([10] * 8, cpu=[6] * 8)  # no choice is accepted
    placed = gs.analysis.partition(hosts, 4)
    sizes: list[int] = []

    def decide(stack: Any, _: Any) -> Any:
        sizes.append(len(stack))
        return gs.analysis.mpcp(stack, 4)

    choice = with_cores(hosts, 4, decide, placed)
    assert choice.tried == choice.total == 2795
    assert sum(sizes) >= 2795 and len(sizes) < 10  # in stacks, not one by one


def cpu_only() -> gs.Workload:
    """Four tasks of which worst fit puts two on a core that are late there."""
    return gs.Workload(
        [
            gs.Task("a", 20, [gs.CPU(9)]),
            gs.Task("b", 30, [gs.CPU(12)]),
            gs.Task("c", 30, [gs.CPU(10)]),
            gs.Task("d", 20, [gs.CPU(8), gs.CPU(3)]),
        ]
    )


@pytest.mark.parametrize("way", ["mpcp", "fmlp_plus", "gpu_server", "gcaps", "time_slices"])
def test_another_choice_is_accepted_where_worst_fit_is_not(way: str) -> None:
    platform = gs.Platform("Xavier", cpus=2, timeslice=5)
    answer = gs.analyze(cpu_only(), platform, way)
    assert answer.schedulable is True
    assert answer.detail.hosts.core.tolist() == [0, 1, 1, 0]  # type: ignore[union-attr]
    assert any("cores are chosen among all" in text for text in answer.assumptions)
    row = gs.compare(cpu_only(), platform, ways=[way])[0]
    assert row.schedulable is True
    if row.run is not None:
        assert not row.run.late.any()


def test_tests_of_chosen_cores_reject_nothing() -> None:
    """No choice is accepted: undecided, as the tests are sufficient."""
    w = gs.Workload([gs.Task(name, 20, [gs.CPU(11)]) for name in "abc"])
    for way in ("mpcp", "fmlp_plus", "gpu_server", "gcaps"):
        answer = gs.analyze(w, gs.Platform("Xavier", cpus=2), way)
        assert answer.schedulable is None and not answer.rejected
        assert any("the test accepts none of the" in text for text in answer.assumptions)


def test_given_cores_are_kept() -> None:
    given = zip(cpu_only(), (1, 1, 0, 0), strict=True)
    w = gs.Workload([task.replace(core=core) for task, core in given])
    answer = gs.analyze(w, gs.Platform("Xavier", cpus=2), "mpcp")
    assert answer.schedulable is None
    assert not any("cores are chosen" in text for text in answer.assumptions)


def at_larger_factors(w: gs.Workload, on: gs.Platform, way: str, factor: Fraction) -> list[bool]:
    factors = [factor * Fraction(step, 100) for step in (101, 102, 105, 110, 120)]
    grown = [w.scaled(kernels=f, cpu=f, copies=f) for f in factors]
    return [gs.analyze(one, on, way).accepted for one in grown]


def test_margins_say_with_which_choices_they_are_the_largest() -> None:
    """With others than those chosen for the workload itself, times may be longer."""
    counts: Counter[tuple[bool, bool]] = Counter()
    for seed in range(16):
        draw = random.Random(f"margins {seed}")
        cpus, given = draw.randint(1, 2), draw.random() < 0.5
        tasks = [
            gs.Task(
                name,
                draw.choice((100, 150, 200, 300)),
                [
                    gs.CPU(draw.randint(1, 30)),
                    gs.Kernel(draw.randint(1, 20), blocks=draw.choice((4, 16, 40)), threads=256),
                    gs.CPU(draw.randint(1, 30)),
                ],
                core=draw.randrange(cpus) if given else None,
            )
            for name in "abc"
        ]
        w, on = gs.Workload(tasks, tick="us"), gs.Platform("AGX Orin", cpus=cpus)
        for way in ("mpcp", "gcaps", "stgm"):
            if way == "stgm" and given:
                continue  # it chooses cores itself
            found = gs.margin(w, on, way)
            if found.factor is None or not found.exact:
                continue
            chosen = "cores" if cpus > 1 and not given else ""
            if way == "stgm":
                chosen = "cores and SMs" if chosen else "SMs"
            assert found.chosen == chosen, (seed, way)
            more = any(at_larger_factors(w, on, way, found.factor))
            assert chosen or not more, (seed, way)
            counts[bool(chosen), more] += 1
            end = f", and no longer{f' with the chosen {chosen}' if chosen else ''}"
            assert str(found).endswith(end)
    assert counts[True, True] > 0 and counts[True, False] > 0 and counts[False, False] > 9, counts
