"""Verdicts that do not depend on the tick: the same programs in ticks of 1 ms, 1 us and 1 ns."""

from __future__ import annotations

import tempfile
from fractions import Fraction
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pytest
from amounts import cases

import gpusched as gs
from gpusched.comparison.finer_ticks import grain_of

SMALL = gs.GPU(sms=2, threads_per_sm=1024, blocks_per_sm=8)
TICKS = ("ms", "us", "ns")
NS = {"ms": 10**6, "us": 10**3, "ns": 1}


def program(random: Random, tick: str, processes: bool) -> gs.Workload:
    """A program of one to four tasks whose times are whole ms."""

    def kernel() -> gs.Kernel:
        time, blocks = random.randrange(1, 16), random.choice((1, 2, 7, 16, 17, 40, 90))
        return gs.Kernel(f"{time}ms", blocks=blocks, threads=random.choice((64, 256, 1024)))

    tasks = []
    for i in range(random.randrange(1, 5)):
        segments: list[Any] = [kernel() for _ in range(random.choice((1, 1, 2)))]
        if random.random() < 0.5:
            segments.insert(0, gs.CPU(f"{random.randrange(1, 4)}ms"))
        if random.random() < 0.2:
            segments.insert(0, gs.CopyIn("1ms"))
        period = random.choice((40, 60, 80, 120))
        deadline = random.randrange(15, period + 1)
        tasks.append(
            gs.Task(
                f"t{i}",
                f"{period}ms",
                segments,
                deadline=f"{deadline}ms",
                process=f"p{i}" if processes else None,
            )
        )
    return gs.Workload(tasks, tick)


def platform_of(random: Random, w: gs.Workload) -> gs.Platform:
    names = [task.name for task in w]
    shares = {name: random.choice((50, 100)) for name in names if w[name].process}
    green = {names[0]: 8, tuple(names[1:]): 8} if len(names) > 1 else {names[0]: 8}
    return gs.Platform(
        "AGX Orin" if random.random() < 0.6 else "A30",
        cpus=4,
        slowdown=random.choice((None, (1.1, 1.4), 1.25)),
        launch_latency=random.choice((0, 0, "1ms")),
        mps={f"p{name[1:]}": share for name, share in shares.items()} or None,
        green_contexts=green,
    )


def in_ns(values: Any, tick: str) -> list[int | None]:
    return [None if value is np.ma.masked else int(value) * NS[tick] for value in values]


def agree(coarse: list[int | None], fine: list[int | None], tick: str) -> bool:
    """Whether times in ns are the same, if those of ``coarse`` are rounded up to its ticks."""
    up = [None if time is None else -(-time // NS[tick]) * NS[tick] for time in fine]
    return coarse == up


def close(coarse: list[int | None], fine: list[int | None], tick: str) -> bool:
    """Whether times agree, if ``coarse`` may be rounded up a few times."""
    both = zip(coarse, fine, strict=True)
    return all(a == b or (a and b and 0 <= a - b < 3 * NS[tick]) for a, b in both)


def same(seed: int) -> int:
    """Check one program; returns the number of rows with an answer in finer ticks."""
    found = {}
    for tick in TICKS:
        random = Random(seed)
        processes = random.random() < 0.3
        w = program(random, tick, processes)
        found[tick] = gs.compare(w, platform_of(random, w))
    fine = 0
    for rows in zip(*found.values(), strict=True):
        label = f"{seed}: {rows[0].label}"
        if rows[0].way.name == "container":  # its budget is a whole number of ticks
            continue
        *coarse, ns = rows
        for row, tick in zip(coarse, TICKS, strict=False):
            shares = row.way.name == "mps" and row.platform.mps is not None
            assert shares or row.schedulable == ns.schedulable, label
            assert (row.answer is None) == (ns.answer is None), label
            assert (row.run is None) == (ns.run is None), label
            if row.answer is not None and ns.answer is not None:
                fine += row.answer.grain > 1
                verdicts = [(of.answer.accepted, of.answer.rejected) for of in (row, ns)]
                bounds = in_ns(row.answer.response, tick), in_ns(ns.answer.response, "ns")
                if shares:  # the bound divides times, and rounds them up
                    assert close(*bounds, tick), (label, tick, bounds)
                else:
                    assert verdicts[0] == verdicts[1], label
                    assert agree(*bounds, tick), (label, tick, bounds)
            if row.run is not None and ns.run is not None:
                fine += row.run.grain > 1
                seen = in_ns(row.run.worst, tick), in_ns(ns.run.worst, "ns")
                assert agree(*seen, tick), (label, tick, seen)
        assert found["ms"].impossible == found["ns"].impossible
    return fine


def test_the_same_program_in_other_ticks() -> None:
    assert sum(map(same, range(12))) > 40


@pytest.mark.long
def test_many_programs_in_other_ticks() -> None:
    count = cases(200)
    assert sum(map(same, range(100, 100 + count))) > 3 * count


# Single programs ---------------------------------------------------------------------------------


def alone(time: str, deadline: str, tick: str) -> gs.Workload:
    kernel = gs.Kernel(time, blocks=960, threads=256)  # 10 waves on AGX Orin
    return gs.Workload([gs.Task("k", "100ms", [kernel], deadline=deadline)], tick)


ALONE = (
    *("streams", "priority_streams", "mps", "time_slices", "gcaps", "mpcp", "fmlp_plus"),
    *("gpu_server", "stgm", "srm", "edf_serial", "edf_parallel", "pbs"),
)


@pytest.mark.parametrize("case", [("15ms", "16ms", "ms"), ("14ms", "14ms", "us")])
@pytest.mark.parametrize("way", ALONE)
def test_a_kernel_alone_takes_its_stated_time(way: str, case: tuple[str, str, str]) -> None:
    w, platform = alone(*case), gs.Platform("AGX Orin", cpus=2)
    time = int(case[0][:2]) * (1000 if case[2] == "us" else 1)
    answer = gs.analyze(w, platform, way)
    assert answer.schedulable is True and answer.response.tolist() == [time]
    assert not any("waves of" in text for text in answer.assumptions)
    if way not in ("edf_serial", "edf_parallel", "pbs"):
        run = gs.observe(w, platform, way)
        assert run.worst.tolist() == [time] and run.schedulable is None


def test_a_kernel_alone_in_a_comparison() -> None:
    platform = gs.Platform("AGX Orin", cpus=2)
    c = gs.compare(alone("15ms", "16ms", "ms"), platform)
    assert c.schedulable is True and c.impossible == ()
    assert gs.compare(alone("17ms", "16ms", "ms"), platform).impossible == (
        "k: a job alone takes 17ms, more than its deadline of 16ms",
    )


def test_whole_times_of_blocks_need_no_finer_ticks() -> None:
    w = alone("20ms", "30ms", "ms")
    for way in ALONE:
        answer = gs.analyze(w, gs.Platform("AGX Orin", cpus=2), way)
        assert answer.grain == 1 and answer.detail.response.tolist() == [20]


def test_an_answer_in_finer_ticks() -> None:
    """Its sentences have the units of its ticks, and it is saved with them."""
    kernel = gs.Kernel("4ms", blocks=960, threads=1024)  # 30 waves
    tasks = [gs.Task(name, "60ms", [gs.CPU("1ms"), kernel], deadline="9ms") for name in "ab"]
    w = gs.Workload(tasks, "ms")
    platform = gs.Platform("AGX Orin", cpus=2, slowdown=1.25)
    with tempfile.TemporaryDirectory() as folder:
        for way in ("priority_streams", "pbs", "stgm"):
            answer = gs.analyze(w, platform, way)
            assert answer.grain > 1 and answer.workload == w
            answer.save(f"{folder}/answer")
            again = gs.WorkloadAnswer.load(f"{folder}/answer")
            assert again == answer and again.grain == answer.grain
        late = gs.analyze(w, platform.replace(slowdown=None), "priority_streams")
        assert late.grain == 15 and late.response.tolist() == [10, 10]
        bounds = late.detail.response.tolist()
        assert bounds == [136, 136] and late.response.tolist() == [-(-of // 15) for of in bounds]
        stgm = gs.analyze(w, platform, "stgm")
        assert stgm.schedulable is None and "comes to 11ms or more, 6ms its own" in stgm.why()
        run = gs.observe(w, platform, "streams", until="60ms")
        assert run.grain == 15 and run.detail.now == 15 * run.now
        run.save(f"{folder}/run")
        assert gs.WorkloadRun.load(f"{folder}/run") == run
        assert ">9 ms<" in run.to_svg() or "time (ms)" in run.to_svg()
        run.to_chrome_trace(f"{folder}/trace.json")
        assert '"dur": 66.666}' in Path(f"{folder}/trace.json").read_text()  # a wave


def test_waits_of_late_jobs_in_finer_ticks() -> None:
    """Waits of a late job are told in units of time, not in finer ticks."""
    kernel = gs.Kernel("4ms", blocks=960, threads=1024)
    told = set()
    for tick in TICKS:
        tasks = [gs.Task(name, "60ms", [kernel], deadline="5ms") for name in "ab"]
        w = gs.Workload(tasks, tick)
        for way in ("streams", "priority_streams", "mps"):
            run = gs.observe(w, gs.Platform("AGX Orin", cpus=2), way, until="60ms")
            told.add((way, run.why("b")))
    assert len(told) == 3
    for way, text in told:
        assert "takes 8ms, more than its deadline of 5ms" in text, way
        assert "waited 4ms of its 8ms" in text or "waited 3.933333ms of its 8ms" in text, way


def test_instances_in_finer_ticks() -> None:
    kernels = [gs.Kernel(f"{time}ms", blocks=990, threads=1024) for time in (5, 7)]
    w = gs.Workload([gs.Task(f"k{i}", "90ms", [k]) for i, k in enumerate(kernels)], "ms")
    for tick in TICKS:
        answer = gs.mig(w.replace(tick=tick), gs.Platform("A30", cpus=4))
        assert answer.accepted and answer.grain > 1
        assert in_ns(answer.response, tick) == [
            -(-time // NS[tick]) * NS[tick] for time in in_ns(answer.response, tick)
        ]
        with tempfile.TemporaryDirectory() as folder:
            answer.save(f"{folder}/answer")
            assert gs.MigAllocation.load(f"{folder}/answer") == answer
        run = gs.observe(w.replace(tick=tick), gs.Platform("A30", cpus=4), "mig", until="90ms")
        assert (run.worst <= answer.response).all()


def test_times_too_long_for_exact_ticks() -> None:
    """They are rounded up to 1 ns, whatever the tick; an exact test rejects nothing then."""
    platform = gs.Platform("AGX Orin", cpus=8, slowdown=None, channels=8)
    waves = (7, 11, 13, 17, 19, 23, 29, 31)
    found = set()
    for tick in TICKS:
        tasks = [
            gs.Task(f"k{n}", "4s", [gs.Kernel("100ms", blocks=32 * n, threads=1024)]) for n in waves
        ]
        w = gs.Workload(tasks, tick)
        answer = gs.analyze(w, platform, "priority_streams")
        assert answer.grain == NS[tick] and answer.accepted
        found.add(tuple(-(-bound * NS[tick] // 10**6) for bound in answer.response.tolist()))
    assert len(found) == 1
    late = gs.Workload([gs.Task("k", "4s", w[0].segments, deadline="100ms"), *w[1:]], "ns")
    answer = gs.analyze(late, platform, "edf_serial")
    assert answer.detail.rejected and answer.schedulable is None


def test_a_grain_is_the_least() -> None:
    w = gs.Workload([gs.Task("a", 100, [gs.CPU(1)])], "us")
    times = [Fraction(1, 3), Fraction(7, 4), Fraction(5)]
    assert grain_of(times, w, gs.Platform()) == (12, True)
    assert grain_of([Fraction(5)], w, gs.Platform()) == (1, True)
    assert grain_of([Fraction(1, 10**6 + 3)], w, gs.Platform()) == (1000, False)
    long = gs.Workload([gs.Task("a", 2**50, [gs.CPU(1)])], "us")
    assert grain_of(times, long, gs.Platform()) == (12, True)
    longer = gs.Workload([gs.Task("a", 2**53, [gs.CPU(1)])], "us")
    assert grain_of(times, longer, gs.Platform()) == (1, False)


# Measured profiles -------------------------------------------------------------------------------


def profiled(mode: str = "mps", **of_platform: Any) -> tuple[gs.Workload, gs.Platform]:
    kernel = gs.Kernel(sms={1: 100, 2: 10}, blocks=1, threads=256)
    own = {"process": "a"} if mode == "mps" else {}
    other = {"process": "b"} if mode == "mps" else {}
    return (
        gs.Workload([
            gs.Task("a", 1000, [kernel], deadline=60, **own),
            gs.Task("b", 1000, [gs.Kernel(5, blocks=1, threads=256)], **other),
        ]),
        gs.Platform(SMALL, cpus=2, slowdown=None, **of_platform),
    )  # fmt: skip


@pytest.mark.parametrize("share", [50, 100])
def test_a_profile_on_fewer_sms(share: int) -> None:
    """One SM takes 100 ticks: with a share of one SM always, else while another task has one."""
    w, platform = profiled(mps={"a": share})
    answer = gs.analyze(w, platform, "mps")
    assert answer.response[0] >= 100 and not answer.accepted
    run = gs.observe(w, platform, "mps")
    assert run.worst[0] == (100 if share == 50 else 10)
    assert (run.worst <= answer.response).all()
    alone = gs.analyze(w[:1], platform, "mps")
    assert alone.response.tolist() == [100 if share == 50 else 10]


@pytest.mark.parametrize("way", ["streams", "priority_streams"])
def test_a_profile_beside_other_streams(way: str) -> None:
    w, platform = profiled("streams")
    answer = gs.analyze(w, platform, way)
    assert answer.response[0] >= 100 and answer.schedulable is None
    assert any("longest time per wave" in text and "a" in text for text in answer.assumptions)
    assert gs.analyze(w[:1], platform, way).response.tolist() == [10]


def test_a_profile_in_a_green_context() -> None:
    w, _ = profiled("streams")
    gpu = gs.GPU(sms=4, threads_per_sm=1024, blocks_per_sm=8, cc="7.0")
    one = gs.Platform(gpu, cpus=2, slowdown=None, green_contexts={"a": 2, "b": 2})
    assert gs.analyze(w, one, "green_contexts").response.tolist() == [10, 5]
    both = one.replace(green_contexts={("a", "b"): 2})
    answer = gs.analyze(w, both, "green_contexts")
    assert answer.response[0] >= 100 and not answer.accepted
    assert (gs.observe(w, both, "green_contexts").worst <= answer.response).all()


@pytest.mark.parametrize("way", ["streams", "priority_streams"])
def test_a_profile_that_does_not_cover_few_sms(way: str) -> None:
    w, platform = profiled("streams")
    two = w.with_task(w["a"].replace(segments=[gs.Kernel(sms={2: 10}, blocks=1, threads=256)]))
    with pytest.raises(ValueError, match=r"a: segments\[0\]: got a profile from 2 SMs on"):
        gs.analyze(two, platform, way)
    assert gs.analyze(two[:1], platform, way).response.tolist() == [10]


def test_the_slowest_block_is_that_of_the_slowest_number_of_sms() -> None:
    gpu = gs.GPU(sms=6, threads_per_sm=1024, blocks_per_sm=8)
    rng = np.random.default_rng(5)
    for _ in range(200):
        keys = [1, *(rng.choice(np.arange(2, 7), int(rng.integers(0, 4)), replace=False) + 0)]
        times = np.sort(rng.integers(1, 200, len(keys)))[::-1]
        profile = dict(zip(sorted(map(int, keys)), map(int, times), strict=True))
        kernel = gs.Kernel(sms=profile, blocks=int(rng.integers(1, 90)), threads=256)
        w = gs.Workload([gs.Task("a", 9999, [kernel])])
        [[of]] = w.kernel_times(gs.Platform(gpu))
        assert of is not None
        for limit in range(1, 7):
            each = []
            for k in range(1, limit + 1):
                time = profile[max(key for key in profile if key <= k)]
                each.append(Fraction(time, of.waves_on(k)))
            assert of.slowest_block(limit) == max(each)
