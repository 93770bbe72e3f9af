"""Jobs of more kernels than a table has rows: where they are cut into units."""

from __future__ import annotations

import functools
from collections.abc import Iterator
from fractions import Fraction
from itertools import combinations, pairwise, product
from pathlib import Path
from random import Random

import pytest

import gpusched as gs
from gpusched.model.views.kernel_view import cut_points

pytestmark = pytest.mark.numbers

PLATFORM = gs.Platform("AGX Orin", cpus=8)


def divisions(times: list[int]) -> Iterator[list[int]]:
    """All divisions of a chain into units, as numbers of kernels."""
    inner = range(1, len(times))
    for count in range(len(times)):
        for cuts in combinations(inner, count):
            yield [end - begin for begin, end in pairwise([0, *cuts, len(times)])]


def unit_times(units: list[int], times: list[int]) -> list[int]:
    ends = [sum(units[:k]) for k in range(len(units) + 1)]
    return [sum(times[begin:end]) for begin, end in pairwise(ends)]


def badness(units: list[list[int]], times: list[list[int]], slack: list[int]) -> Fraction:
    """The largest quotient of a unit and the least slack of the other tasks."""
    worst = Fraction(0)
    for i, (sizes, of_task) in enumerate(zip(units, times, strict=True)):
        others = [max(1, one) for k, one in enumerate(slack) if k != i]
        worst = max(worst, Fraction(max(unit_times(sizes, of_task)), min(others)))
    return worst


def test_no_division_is_better() -> None:
    """Against all divisions of all chains."""
    random, divided = Random(2), 0
    for _ in range(250):
        counts = [random.randrange(1, 6) for _ in range(random.randrange(2, 4))]
        times = [[random.randrange(1, 12) for _ in range(count)] for count in counts]
        deadlines = [sum(of) + random.randrange(-3, 40) for of in times]
        most = random.randrange(len(times), sum(counts) + 2)
        found = cut_points(times, deadlines, most)
        assert [sum(sizes) for sizes in found] == counts and sum(map(len, found)) <= most
        slack = [due - sum(of) for due, of in zip(deadlines, times, strict=True)]
        ways = [
            list(units) for units in product(*map(divisions, times)) if sum(map(len, units)) <= most
        ]
        least = min(badness(units, times, slack) for units in ways)
        assert badness(found, times, slack) == least
        spare = most - sum(map(len, found))
        for of_task, sizes in zip(times, found, strict=True):  # nor is one of a single chain
            longest = {
                tuple(units): max(unit_times(units, of_task)) for units in divisions(of_task)
            }
            reach = [units for units in longest if len(units) <= len(sizes) + spare]
            assert longest[tuple(sizes)] == min(longest[units] for units in reach)
        divided += max(map(len, found)) > 1
    assert divided > 150


def test_one_chain_needs_no_cut_and_more_chains_than_units_are_refused() -> None:
    assert cut_points([[3, 4, 5]], [20], 2) == [[3]]
    assert cut_points([[3], [4, 5]], [20, 20], 2) == [[1], [2]]
    with pytest.raises(ValueError, match="got 3 with kernels, expected at most 2"):
        cut_points([[1]] * 3, [9] * 3, 2)
    large = [[2**40 + i for i in range(200)], [1], [2**50]]
    found = cut_points(large, [2**52, 2**51, 2**52], 24)
    assert sum(map(len, found)) <= 24 and found[1:] == [[1], [1]]


def networks(seed: int, counts: tuple[int, ...], frequent: int) -> gs.Workload:
    """Jobs of many kernels beside frequent ones of one kernel."""
    random, tasks = Random(seed), []
    for i, count in enumerate(counts):
        kernels = [
            gs.Kernel(random.randrange(20, 200), blocks=random.choice((8, 16, 32, 64)), threads=256)
            for _ in range(count)
        ]
        total = sum(kernel.time for kernel in kernels)
        tasks.append(gs.Task(f"net{i}", next(p for p in PERIODS if p > 6 * total), kernels))
    for i in range(frequent):
        time = random.randrange(100, 600)
        kernel = gs.Kernel(time, blocks=random.choice((4, 8, 16)), threads=256)
        tasks.append(gs.Task(f"t{i}", random.choice((5_000, 10_000)), [kernel]))
    return gs.Workload(tasks, "us")


PERIODS = (20_000, 40_000, 80_000, 160_000, 320_000)


def test_whole_networks_beside_urgent_kernels(tmp_path: Path) -> None:
    """Jobs of 205, 80 and 26 kernels beside five of one: as whole jobs they block for 20 ms."""
    w = networks(1, (205, 80, 26), 5)
    answer = gs.analyze(w, PLATFORM, "pbs")
    assert answer.verdict == "guaranteed"
    assert {name: sum(sizes) for name, sizes in answer.units.items()} == {
        "net0": 205,
        "net1": 80,
        "net2": 26,
    }
    assert sum(map(len, answer.units.values())) + 5 <= 24
    said = f"net0: the 205 kernels of a job run in {len(answer.units['net0'])} units of "
    assert any(text.startswith(said) for text in answer.assumptions)
    whole = w.batches(PLATFORM)
    assert gs.pbs.search(whole.tasks, whole.table).schedulable is False
    answer.save(tmp_path / "answer")
    again = gs.WorkloadAnswer.load(tmp_path / "answer")
    assert again == answer and again.units == answer.units
    [row] = gs.compare(w, PLATFORM, ways=["pbs"], simulate=False)
    assert row.answer is not None and row.answer.units == answer.units
    document = gs.compare(w, PLATFORM, ways=["pbs"], simulate=False).document()
    assert document["rows"][0]["verdict"] == "guaranteed"


def test_units_have_the_times_and_footprints_of_their_kernels() -> None:
    w = networks(3, (30, 12), 2)
    view = w.batches(PLATFORM.replace(launch_latency="2us"), chains="cut")
    chains = view.tasks
    assert sum(map(len, view.units)) == chains.kernels.sum() <= 24
    rows = iter(range(int(chains.kernels.sum())))
    for task, sizes in zip(w, view.units, strict=True):
        kernels, at = task.kernels, 0
        for size in sizes:
            row, parts = next(rows), kernels[at : at + size]
            assert chains.rows.wcet[row] == sum(part.time + 2 for part in parts)
            assert chains.rows.blocks[row] == max(part.blocks or 0 for part in parts)
            at += size
        assert at == len(kernels)
    few = networks(3, (3, 2), 2)  # every kernel by itself
    assert few.batches(PLATFORM, chains="cut").units == ((1,) * 3, (1,) * 2, (1,), (1,))
    kept = few.batches(PLATFORM, chains="keep")
    assert (kept.table == few.batches(PLATFORM, chains="cut").table) and kept.units[0] == (1, 1, 1)


def test_a_unit_beside_others_rests_on_a_condition() -> None:
    """Its later kernels begin later than the batch, and may find less room."""
    kernel = gs.Kernel(10, blocks=8, threads=256)
    w = gs.Workload(
        [
            gs.Task("a", 330, [kernel] * 30),
            gs.Task("b", 330, [gs.Kernel(290, blocks=8, threads=256)]),
        ]
    )
    answer = gs.analyze(w, PLATFORM.replace(slowdown=None), "pbs")
    assert [one.premise for one in answer.conditions] == ["frames_start_together"]
    assert answer.conditions[0].tasks == ("a",)


def test_a_miss_of_units_is_none_of_the_program() -> None:
    whole = gs.Kernel(8, blocks=16, threads=1024)
    w = gs.Workload(
        [
            gs.Task("net", 400, [whole] * 40),
            gs.Task("t", 20, [gs.Kernel(3, blocks=16, threads=1024)]),
        ]
    )
    answer = gs.analyze(w, PLATFORM.replace(slowdown=None), "pbs")
    assert answer.verdict in ("undecided", "guaranteed")
    tight = w.replace(tasks=[w[0], w[1].replace(deadline=9)])
    answer = gs.analyze(tight, PLATFORM.replace(slowdown=None), "pbs")
    assert answer.verdict == "undecided" and "consecutive ones were one unit" in answer.why()


@functools.cache
def of_one_network() -> gs.WorkloadAnswer:
    return gs.analyze(networks(3, (30,), 1), PLATFORM, "pbs")


@pytest.mark.parametrize(
    ("units", "message"),
    [
        ({"net9": (1,)}, "units: got 'net9', expected a task"),
        (
            {"net0": (1, 2)},
            r"units\['net0'\]: got \(1, 2\), expected numbers that add up to the 30",
        ),
        ({"net0": (31, -1)}, r"units\['net0'\]: got"),
        ({"net0": 30}, r"units\['net0'\]: got 30"),
        ([], "units: got list, expected dict"),
    ],
)
def test_files_with_other_units_are_refused(units: object, message: str, tmp_path: Path) -> None:
    from gpusched._support.saved_files import save_arrays

    answer = of_one_network()
    save_arrays(tmp_path / "answer", answer._KIND, 1, {**answer._fields(), "units": units})
    with pytest.raises(ValueError, match=message):
        gs.WorkloadAnswer.load(tmp_path / "answer")


def test_jobs_of_millions_of_kernels_are_not_cut() -> None:
    kernel = gs.Kernel("1us", blocks=1, threads=32, repeat=1_000_000)
    w = gs.Workload([gs.Task(f"t{i}", "20s", [kernel]) for i in range(8)], "us")
    with pytest.raises(ValueError, match="got 8,000,000 kernels in the jobs of all tasks, expect"):
        w.batches(gs.Platform("Xavier"), chains="cut")
    answer = gs.analyze(w, gs.Platform("Xavier", cpus=8, launch_latency=0), "pbs")
    assert answer.schedulable and answer.units == {task.name: (1_000_000,) for task in w}
    assert any("more than 10,000 kernels are not cut" in text for text in answer.assumptions)
