"""Times drawn from distributions: their twin, their quantiles, and the probability of late jobs."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from hashlib import blake2b
from math import comb
from random import Random
from typing import Any

import numpy as np
import pytest
from amounts import cases
from reference.drawn_times import at, first_number, from_quantiles

import gpusched as gs
from gpusched._support.arguments import seed_key
from gpusched._support.results import wilson
from gpusched.comparison.derived_models import DerivedModels
from gpusched.comparison.machine_models import machine_model
from gpusched.simulate.machine_run import run_machine

pytestmark = [pytest.mark.python, pytest.mark.numbers]

GPU = gs.GPU(sms=2, threads_per_sm=1024, blocks_per_sm=8)
MACHINE = gs.Platform(GPU, cpus=2, slowdown=None)
TIMES = {"p0": 1000, "p50": 3000, "p99": 4100, "largest": 5000, "count": 12_000}


def one_task(part: gs.Segment, period: Any = "10ms") -> gs.Workload:
    return gs.Workload([gs.Task("a", period, [part])], "us")


def beyond(count: int, found: int, p: float) -> float:
    """Probability that a binomial number is as far from its mean, on one side, as the found one."""
    terms = [Fraction(p) ** k * (1 - Fraction(p)) ** (count - k) for k in range(count + 1)]
    low = sum(comb(count, k) * terms[k] for k in range(found + 1))
    return float(min(low, 1 - low + comb(count, found) * terms[found]))


@pytest.mark.parametrize("way", ["streams", "mpcp", "mps", "pbs", "mig", "gcaps"])
@pytest.mark.parametrize("shape", [{}, {"blocks": 2, "threads": 64}])
def test_drawn_times_have_the_quantiles(way: str, shape: dict[str, Any]) -> None:
    """A job alone takes what is drawn; 400 draws, by exact binomial limits of one in a million."""
    platform = gs.Platform("A100", cpus=2)
    times = {"p10": 1500, "p50": 2000, "p90": 9000, "largest": 9500}
    w = one_task(gs.Kernel(times, **shape), "20ms")
    if way == "mig":
        platform = platform.replace(mig=["7g.40gb"])
    took = gs.observe(w, platform, way, until="8s", seed=11).response.filled(-1)
    assert len(took) == 400
    # The largest instance has 98 of the 108 SMs.
    scale = Fraction(2 if way == "mig" and not shape else 1)
    for share, time in ((0.1, 1500), (0.5, 2000), (0.9, 9000)):
        assert beyond(400, int((took <= time * scale).sum()), share) > 1e-6
    assert took.min() >= 1500 and took.max() <= 9500 * scale
    assert ((took > 2000 * scale) & (took < 9000 * scale)).sum() > 100  # between quantiles, too


def test_the_mean_between_two_quantiles_is_their_middle() -> None:
    took = gs.observe(one_task(gs.CPU(TIMES)), MACHINE, "mpcp", until="100s", seed=5).response
    low = took[took <= 3000].compressed()
    assert len(low) > 4000 and low.min() > 1000
    assert abs(low.mean() - 2000.5) < 5 * (2000 / 12**0.5) / len(low) ** 0.5


@pytest.mark.parametrize("draw", ["operation", "job"])
def test_the_core_draws_as_its_twin(draw: str) -> None:
    """A job alone takes the sum of the twin's draws for its parts."""
    for seed in range(cases(40)):
        rng = Random(seed)
        parts: list[gs.Segment] = []
        for _ in range(rng.randint(1, 5)):
            times = sorted(rng.randint(1, 900) for _ in range(4))
            given = dict(zip(("p5", "p50", "p99.9", "largest"), times, strict=True))
            if rng.random() < 0.3:
                given.pop("p5")
            parts.append(
                rng.choice(
                    (
                        gs.CPU(times[0]),
                        gs.CPU(given, repeat=rng.randint(1, 3)),
                        gs.CopyIn(given),
                        gs.Kernel(given, blocks=2, threads=64, repeat=rng.randint(1, 3)),
                        gs.Kernel({**given, "p0": 1}),
                    )
                )
            )
        w = gs.Workload([gs.Task("a", 100_000, parts)], "us")
        index = seed % 3
        run = gs.observe(w, MACHINE, "mpcp", until="1s", seed=seed, index=index, draw=draw)
        base = first_number(seed_key(seed).tolist(), index, 4)
        name = int.from_bytes(blake2b(b"a", digest_size=8).digest(), "little") >> 1
        expected = []
        for job in range(10):
            bits, item, took = at(at(base, name), job), 0, 0
            for part in parts:
                part = gs.Workload([gs.Task("a", 10**6, [part])], "us")[0].segments[0]
                own = bits if draw == "job" else at(at(bits, item), 0)
                one = part.distribution
                pairs = [] if one is None else list(one.quantiles)
                place = Fraction(own >> 1, 2**63)
                time = part.time if one is None else from_quantiles(pairs, part.time, place)
                took += part.repeat * time
                item += part.repeat
            expected.append(took)
        assert run.response.tolist() == expected, seed


def test_times_are_not_below_the_least_of_the_task() -> None:
    w = gs.Workload([gs.Task("a", "10ms", [gs.CPU(TIMES)], best="2ms")], "us")
    took = gs.observe(w, MACHINE, "mpcp", until="10s", seed=5).response
    assert took.min() >= 2000 and (took < 2500).any()


def test_without_a_seed_jobs_take_the_largest_time() -> None:
    run = gs.observe(one_task(gs.CPU(TIMES)), MACHINE, "mpcp", until="1s")
    assert set(run.response.tolist()) == {5000}


def test_distributions_without_quantiles_are_whole_or_low() -> None:
    w = one_task(gs.CPU({"largest": 5000, "count": 9}))
    assert set(gs.observe(w, MACHINE, "mpcp", until="1s", seed=1).response.tolist()) == {5000}


def test_instances_one_by_one_have_no_distributions() -> None:
    platform = gs.Platform("A100", cpus=2, mig=["7g.40gb"])
    with pytest.raises(gs.NotApplicable, match="time: got distributions, expected none"):
        gs.observe(one_task(gs.Kernel(TIMES)), platform, "mig", within="mpcp", seed=1)


def test_the_probability_of_a_late_job() -> None:
    """The interval has the true one, of a job alone, in at least 93 of 100 stacks."""
    w = gs.Workload([gs.Task("a", "10ms", [gs.CPU(TIMES)], deadline=3000)], "us")
    inside, count = 0, cases(100)
    for seed in range(count):
        runs = gs.observe(w, MACHINE, "mpcp", until="40ms", seed=seed, count=30)
        (low,), (high,) = runs.late_interval
        found = wilson(float(runs.late_count.sum()) / 4, 30)
        assert (low, high) == pytest.approx((float(found[0]), float(found[1])))
        inside += low <= 0.5 <= high
        assert f"{low:.2g} to {high:.2g}" in str(runs)
        assert "over 30 runs" in str(runs)
    assert inside >= 0.93 * count


def test_runs_of_different_numbers_of_jobs_count_less() -> None:
    w = gs.Workload([gs.Task("a", "10ms", [gs.CPU(TIMES)], deadline=3000)], "us")
    runs = gs.observe(w, MACHINE, "mpcp", until="40ms", seed=1, count=30, gap=3)
    jobs = runs.job_count[:, 0].astype(float)
    assert len(set(jobs.tolist())) > 1
    share, number = float(runs.share_late[0]), float(jobs.sum() ** 2 / (jobs**2).sum())
    assert number < 30
    (low,), (high,) = runs.late_interval
    found = wilson(share * number, number)
    assert (low, high) == pytest.approx((float(found[0]), float(found[1])))


COLUMNS = ("knot_begin", "knot_rank", "knot_time", "item_drawn")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"knot_begin": [0, 3]}, "knot_rank: got 2 entries|knot_rank: .*3"),
        ({"knot_begin": [1, 2]}, r"knot_begin\[0\]: got 1, expected offsets that rise from 0"),
        ({"knot_rank": [5, 5]}, r"knot_rank\[1\]: got 5, expected ranks from 0 on that ascend"),
        ({"knot_rank": [-1, 5]}, r"knot_rank\[0\]: got -1"),
        ({"knot_time": [0, 5]}, r"knot_time\[0\]: got 0, expected positive times that ascend"),
        ({"knot_time": [7, 5]}, r"knot_time\[1\]: got 5"),
        ({"knot_time": [7, 101]}, r"knot_time\[1\]: got 101, expected .* at most item_time"),
        ({"item_drawn": [1]}, r"item_drawn\[0\]: got 1, expected the number of an item"),
        ({"item_drawn": [-1]}, r"item_drawn\[0\]: got -1"),
        ({"item_drawn": None}, "knot_begin and item_drawn: needs both or neither"),
        ({"knot_time": None}, "knot_begin and knot_time: needs both or neither"),
    ],
)
def test_the_core_refuses(change: dict[str, Any], message: str) -> None:
    w = gs.Workload([gs.Task("a", 900, [gs.CPU(100)])])
    spreads = [[[(Fraction(1, 2), Fraction(1, 2)), (Fraction(3, 4), Fraction(1))]]]
    model = machine_model(DerivedModels(w, MACHINE), "mpcp", until=9000, spreads=spreads)
    assert [len(model.columns[key]) for key in COLUMNS] == [2, 2, 2, 1]  # type: ignore[arg-type]
    given = {key: None if of is None else np.array(of, np.int64) for key, of in change.items()}
    broken = replace(model, columns={**model.columns, **given})
    with pytest.raises(ValueError, match=message):
        run_machine(broken, seed=1)
