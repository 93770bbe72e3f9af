"""Distributions of times: values, files, frames, scaling, quantiles, samples."""

from __future__ import annotations

import json
import pickle
import tomllib
from fractions import Fraction
from pathlib import Path
from random import Random
from typing import Any

import pytest
from amounts import QUICK, cases

import gpusched as gs
from gpusched.model.workload.distributions import exceedance

KEYS = ("p0", "p2.5", "p50", "p90", "p99", "p99.9", "p99.999")
TIMES: dict[str, Any] = {"p50": "3ms", "p99": "4.1ms", "largest": "5ms", "count": 12_000}


def distribution(rng: Random, most: int = 10**6) -> dict[str, Any]:
    """Some quantiles, the largest, and perhaps a count."""
    keys = sorted(rng.sample(range(len(KEYS)), rng.randint(0, 4)))
    times = sorted(rng.randint(1, most) for _ in range(len(keys) + 1))
    found: dict[str, Any] = {KEYS[k]: times[i] for i, k in enumerate(keys)}
    found["largest"] = times[-1]
    if not keys or rng.random() < 0.5:
        found["count"] = rng.randint(1, 10**6)
    return found


def random_segment(rng: Random) -> gs.Segment:
    given, repeat = distribution(rng), rng.randint(1, 3)
    kind = rng.randrange(5)
    if kind == 0:
        return gs.CPU(given, repeat=repeat)
    if kind in (1, 2):
        return (gs.CopyIn, gs.CopyOut)[kind - 1](given, by=rng.choice(("cpu", "engine")))
    shape: dict[str, Any] = {"blocks": 3, "threads": 64} if kind == 3 else {}
    return gs.Kernel(given, repeat=repeat, name="k", **shape)


def random_workload(rng: Random) -> gs.Workload:
    return gs.Workload(
        [
            gs.Task(f"t{i}", 10**8, [random_segment(rng) for _ in range(rng.randint(1, 4))])
            for i in range(rng.randint(1, 3))
        ],
        tick=rng.choice(("ns", "us")),
    )


def test_round_trips_are_exact(tmp_path: Path) -> None:
    for seed in range(cases(60)):
        w = random_workload(Random(seed))
        for suffix in ("toml", "json"):
            path = tmp_path / f"w.{suffix}"
            w.save(path)
            assert gs.Workload.load(path) == w
            text = path.read_text("utf-8")
            document = tomllib.loads(text) if suffix == "toml" else json.loads(text)
            assert document["version"] == 2
        assert gs.Workload.from_frame(w.to_frame()) == w
        assert pickle.loads(pickle.dumps(w)) == w
        for task in w:
            for part in task.segments:
                assert part.replace(name="other").distribution == part.distribution
                assert eval(repr(part), vars(gs)) != part  # it has no tick
                assert gs.Workload([gs.Task("a", 10**9, [eval(repr(part), vars(gs))])], w.tick)[
                    0
                ].segments == (part,)


def test_files_follow_the_schema(tmp_path: Path) -> None:
    jsonschema = pytest.importorskip("jsonschema")
    path = Path(gs.__file__).parent / "model/workload/workload.schema.json"
    checker = jsonschema.Draft202012Validator(json.loads(path.read_text("utf-8")))
    head = '[[task]]\nname = "a"\nperiod = "1ms"\nsegments = [{{ {} }}]\n'
    for text, good in (
        ("cpu = { p50 = 2, largest = 3 }", True),
        ("copy_in = { largest = 3, count = 2 }", True),
        ('kernel = { "p99.9" = "3us", largest = "4us", count = 2 }', True),
        ("cpu = { largest = 3 }", False),
        ("cpu = { p50 = 3 }", False),
        ("cpu = { p100 = 3, largest = 4 }", False),
        ("cpu = { p50 = 3, largest = 4, mean = 3 }", False),
        ("cpu = { p50 = 0, largest = 4 }", False),
        ("cpu = { p50 = 1, largest = 4, count = 0 }", False),
    ):
        for version in (1, 2):
            file = tmp_path / "w.toml"
            file.write_text(f"version = {version}\n{head.format(text)}", "utf-8")
            document = tomllib.loads(file.read_text("utf-8"))
            assert checker.is_valid(document) == (good and version == 2), text
            if good and version == 2:
                assert gs.Workload.load(file)[0].segments[0].distribution is not None
                continue
            expected = "got a distribution in a document of version 1" if good else ": got "
            with pytest.raises(ValueError, match=r"task\[0\].segments\[0\].*" + expected):
                gs.Workload.load(file)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({}, r"time\.largest: got none"),
        ({"largest": 3}, "time: got only the largest, expected quantiles or a count, too"),
        ({"p50": 3}, r"time\.largest: got none"),
        ({"p50": 3, "largest": 2}, r"time\.largest: got 2, expected at least 3, the time of p50"),
        ({"p99": 8, "p50": 9, "largest": 9}, r"time\.p99: got 8, expected at least 9, the time of"),
        ({"p50": "1ms", "largest": "9us"}, r"time\.largest: got '9us', expected at least '1ms'"),
        ({"p50": 5, "largest": "2us"}, r"time\.largest: got 2, expected at least 5"),
        ({"p50": 3, "p50.0": 3, "largest": 3}, "time: got p50 twice"),
        ({"p100": 3, "largest": 3}, "time: got the key 'p100', expected p0 to"),
        ({"p-1": 3, "largest": 3}, "time: got the key 'p-1'"),
        ({"p" + "9" * 500: 3, "largest": 3}, "time: got the key 'p999"),
        ({50: 3, "largest": 3}, "time: got the key 50"),
        ({"p50": 0, "largest": 3}, r"time\.p50: got 0, expected a positive time"),
        ({"p50": -(2**70), "largest": 3}, r"time\.p50: got -"),
        ({"p50": 2**60, "largest": 2**60}, r"time\.p50: got 1152921504606846976, expected less"),
        ({"p50": 1.5, "largest": 3}, r"time\.p50: got 1\.5"),
        ({"p50": None, "largest": 3}, r"time\.p50: got None"),
        ({"p50": 3, "largest": 3, "count": 0}, r"time\.count: got 0, expected 1 to 2\*\*53"),
        ({"p50": 3, "largest": 3, "count": 2**60}, r"time\.count: got 1152921504606846976, exp"),
        ({"p50": 3, "largest": 3, "count": "9"}, r"time\.count: got '9'"),
        ({"p50": "1ns", "largest": "9us"}, r"time\.p50: got '1ns', expected a whole number of"),
    ],
)
def test_what_is_refused(given: dict[Any, Any], message: str) -> None:
    for make in (gs.CPU, gs.CopyIn, gs.Kernel):
        with pytest.raises((ValueError, TypeError, OverflowError), match=message):
            gs.Workload([gs.Task("a", 100, [make(given)])], "us")


def test_other_times_of_kernels_exclude_distributions() -> None:
    with pytest.raises(ValueError, match="block_time: got one with a distribution"):
        gs.Kernel(TIMES, blocks=2, threads=32, block_time="1ms")
    with pytest.raises(ValueError, match="sms: got one with a distribution"):
        gs.Kernel(TIMES, sms={1: "1ms"})
    assert gs.Kernel(TIMES, sms=0.5).share == Fraction(1, 2)


def test_the_largest_time_is_the_time() -> None:
    """Models and tests see what they see without a distribution."""
    w = gs.Workload(
        [gs.Task("a", "40ms", [gs.CPU(TIMES), gs.Kernel(TIMES, blocks=9, threads=512)])], "us"
    )
    plain = gs.Workload(
        [gs.Task("a", "40ms", [gs.CPU("5ms"), gs.Kernel("5ms", blocks=9, threads=512)])], "us"
    )
    assert w != plain and w.replace(tick="ns")["a"].cpu_time == 5_000_000
    platform = gs.Platform("Xavier", cpus=2)
    for way in ("streams", "mpcp", "pbs", "stgm"):
        one, other = (gs.analyze(each, platform, way) for each in (w, plain))
        assert one.schedulable is True
        assert one.response.tolist() == other.response.tolist()


def test_scaling_and_division() -> None:
    for seed in range(cases(60)):
        rng = Random(seed)
        given = distribution(rng)
        w = gs.Workload([gs.Task("a", 10**9, [gs.CPU(given)])])
        factor = Fraction(rng.randint(1, 99), rng.randint(1, 99))
        scaled = w.scaled(cpu=factor)[0].segments[0].distribution
        assert scaled is not None and scaled.count == given.get("count")
        assert scaled.largest == -(-given["largest"] * factor.numerator // factor.denominator)
        parts = rng.randint(1, 50)
        divided = gs.Engine(given, kernels=parts).distribution
        assert divided is not None
        for key, time in divided.given().items():
            if key != "count":
                assert time == -(-given[key] // parts)


def test_times_of_a_quantile() -> None:
    """Never shorter for a larger one, and not shorter than what is stated for it."""
    for seed in range(cases(60)):
        w = random_workload(Random(seed))
        has = [part.distribution for task in w for part in task.segments]
        if not any(one is not None and one.quantiles for one in has):
            with pytest.raises(ValueError, match="times: got 'p50' and no times with quantiles"):
                w.at_quantile("p50")
            continue
        before = [0] * len(has)
        for key in KEYS[1:]:
            try:
                at = w.at_quantile(key)
            except ValueError:
                continue
            assert at.observed is not None
            assert at.observed.quantile == float(Fraction(key[1:]) / 100)
            now = [part.time for task in at for part in task.segments]
            assert all(a <= b for a, b in zip(before, now, strict=True))
            for time, one in zip(now, has, strict=True):
                assert one is not None
                assert time == one.given().get(key, time) and time <= one.largest
            before = now


@pytest.mark.parametrize("key", ["p0", "p100", "99", "largest", "", "p1e1", 99, None])
def test_quantiles_that_are_refused(key: Any) -> None:
    w = gs.Workload([gs.Task("a", "10ms", [gs.CPU(TIMES)])], "us")
    with pytest.raises(
        ValueError, match=r"times: got .*, expected 'largest' or a quantile such as"
    ):
        w.at_quantile(key)


def test_no_times_with_quantiles() -> None:
    w = gs.Workload([gs.Task("a", 9, [gs.CPU({"largest": 3, "count": 8}), gs.CPU(2)])])
    with pytest.raises(ValueError, match="times: got 'p99' and no times with quantiles"):
        gs.analyze(w, gs.Platform(), "mpcp", times="p99")


def test_guarantees_of_a_quantile_are_conditional() -> None:
    """And a larger quantile has no smaller bound, nor a better verdict."""
    platform = gs.Platform("Xavier", cpus=4, slowdown=None)
    orders = {"guaranteed": 3, "conditional": 3, "undecided": 1, "not schedulable": 0}
    kept = 0
    for seed in range(cases(30)):
        rng = Random(seed)
        tasks = []
        for i in range(rng.randint(1, 3)):
            low, middle, high = sorted(rng.randint(1, 30) for _ in range(3))
            times = {"p50": low, "p99": middle, "largest": high, "count": 99}
            tasks.append(gs.Task(f"t{i}", rng.randint(40, 120), [gs.CPU(1), gs.Kernel(times)]))
        w = gs.Workload(tasks, "us")
        for way in ("mpcp", "gcaps", "fmlp_plus"):
            rank, bounds = 9, None
            for times in ("p50", "p99", "largest"):
                found = gs.analyze(w, platform, way, times=times)
                if times != "largest":
                    assert found.schedulable is not True
                    if found.conditional:
                        kept += 1
                        assert "largest_times" in [of.premise for of in found.conditions]
                        assert "independent" not in found.why()
                elif found.accepted:
                    assert "the largest of 99 samples" in found.why()
                now = orders.get(found.verdict, 0)
                assert now <= rank
                rank = now
                if bounds is not None and found.bounded.all():
                    assert (found.response >= bounds).all()
                bounds = found.response if found.bounded.all() else bounds
    assert kept > 5 or QUICK


def test_compare_takes_a_quantile() -> None:
    w = gs.Workload([gs.Task("a", "10ms", [gs.CPU("1ms"), gs.Kernel(TIMES)])], "us")
    found = gs.compare(w, gs.Platform("Xavier", cpus=1), ways=["mpcp"], times="p99")
    assert found.schedulable is None
    assert {row.answer.verdict for row in found if row.answer} == {"conditional"}
    assert found.workload["a"].kernels[0].time == 4100


def test_margins_and_choices_take_a_quantile() -> None:
    """They are those of the workload at the quantile; no factor is guaranteed without condition."""
    platform = gs.Platform("Xavier", cpus=2)
    found = set()
    for seed in range(cases(12)):
        rng = Random(seed)
        tasks = []
        for i in range(2):
            low, middle, high = sorted(rng.randint(1, 30) for _ in range(3))
            times = {"p50": low, "p99": middle, "largest": high}
            tasks.append(gs.Task(f"t{i}", rng.randint(25, 90), [gs.CPU(1), gs.Kernel(times)]))
        w = gs.Workload(tasks, "us")
        for way in ("mpcp", "streams"):
            margin = gs.margin(w, platform, way, times="p99")
            assert margin == gs.margin(w.at_quantile("p99"), platform, way)
            largest = gs.margin(w, platform, way)
            if margin.factor is None or largest.factor is None:
                continue
            assert margin.conditional and margin.factor >= largest.factor
            found.add(margin.factor < 1)  # where the quantile itself is not accepted, too
        chosen = gs.choose(w, platform, "mpcp", times="p99")
        assert chosen == gs.choose(w.at_quantile("p99"), platform, "mpcp")
        assert not chosen.accepted
    assert found == {False, True} or QUICK
    with pytest.raises(ValueError, match="times: got 'worst', expected 'largest' or a quantile"):
        gs.margin(w, platform, "mpcp", times="worst")


def test_exceedance_is_exact() -> None:
    """Of n + 1 exchangeable samples each is the largest equally often; (1 - p)^n = 1 - c."""
    for count in (1, 2, 9, 99, 12_000, 2**53):
        assert exceedance(count) * (count + 1) == pytest.approx(1, rel=1e-15)
        for confidence in (0.5, 0.95, 0.999):
            p = exceedance(count, confidence)
            assert 0 < p < 1
            if count < 10**5:
                assert float((1 - Fraction(p)) ** count) == pytest.approx(1 - confidence, rel=1e-9)
    assert exceedance(1, 0.95) == pytest.approx(0.95, rel=1e-12)
    assert exceedance(2, 0.75) == pytest.approx(0.5, rel=1e-12)
    assert exceedance(2**53, 0.95) == pytest.approx(2.995732273553991 / 2**53, rel=1e-12)


def test_exceedance_of_drawn_samples() -> None:
    """Of uniform samples, a next one exceeds the largest as often as stated, within 5 sigma."""
    rng, count, runs = Random(7), 19, 20_000
    least = exceedance(count, 0.9)
    above = high = 0
    for _ in range(runs):
        largest = max(rng.random() for _ in range(count))
        above += rng.random() > largest
        high += 1 - largest > least
    for found, p in ((above, 1 / 20), (high, 0.1)):
        assert abs(found - runs * p) < 5 * (runs * p * (1 - p)) ** 0.5


@pytest.mark.parametrize("arguments", [(0,), (-1,), (2**54,), (9, 0), (9, 1.0), (9, float("nan"))])
def test_exceedance_refuses(arguments: Any) -> None:
    with pytest.raises(ValueError, match=r"(count|confidence): got "):
        exceedance(*arguments)


def test_samples_are_said_of_the_fewest() -> None:
    w = gs.Workload(
        [
            gs.Task("a", 99, [gs.CPU({"largest": 3, "count": 50}), gs.CPU(2)]),
            gs.Task("b", 99, [gs.CPU(1), gs.Kernel({"p50": 2, "largest": 3, "count": 19})]),
        ]
    )
    assert "largest of 19 samples or more (segments[1] of b)" in w.samples
    assert "at most 0.05 on average, and of at most 0.15 at a confidence of 95 %" in w.samples
    assert w.samples in w.assumptions and not w.at_quantile("p50")[["b"]].samples


@pytest.mark.parametrize(
    ("name", "by"),
    [
        ("perception.pt.trace.json.gz", "annotation"),
        ("perception.pt.trace.json.gz", "kernel"),
        ("pipeline.pt.trace.json", "kernel"),
    ],
)
def test_distributions_of_recordings(name: str, by: Any) -> None:
    """Their quantiles are the times of the workload with that quantile."""
    trace = gs.io.read_trace(f"tests/data/{name}")
    largest, spread = trace.workload(by), trace.workload(by, distributions=True)
    times = [[part.time for part in task.segments] for task in largest]
    assert times == [[part.time for part in task.segments] for task in spread]
    half = {task.name: task for task in trace.workload(by, quantile="0.5")}
    for task in spread:
        parts = [part.distribution for part in task.segments]
        assert all(one is not None and one.count is not None for one in parts)
        own = {key for one in parts if one is not None for key in one.given()}
        assert own <= {"p0", "p50", "p90", "p99", "p99.9", "largest", "count"}
        middle = [one.at_least(Fraction(1, 2)) for one in parts if one is not None]
        if task.name in half and len(half[task.name].segments) == len(middle):
            assert middle == [part.time for part in half[task.name].segments]
    assert "samples" in spread.assumptions[-1]
    with pytest.raises(ValueError, match=r"distributions: got True with the quantile 0\.5"):
        trace.workload(by, quantile=0.5, distributions=True)


def test_bounds_of_what_is_not_guaranteed_name_their_conditions() -> None:
    """Responses beyond deadlines are bounds, too: under conditions, no more than that."""
    times = {"p50": "3ms", "p99": "4ms", "largest": "5ms"}
    w = gs.Workload([gs.Task("a", "10ms", [gs.CPU("1ms"), gs.Kernel(times)])], tick="us")
    platform = gs.Platform("AGX Orin", cpus=2)
    sure = gs.analyze(w, platform, "container")
    assert sure.verdict == "undecided" and sure.bounded.all() and "only if" not in sure.why()
    unsure = gs.analyze(w, platform, "container", times="p99")
    assert unsure.verdict == "undecided" and not unsure.bounded.any()
    assert "late (a). Its bounds hold only if no part of a job takes longer" in unsure.why()
    assert unsure.why("a").endswith("whose conditions are not shown to hold.")
