"""Rules of the scheduling hierarchy: the core against its twin, launch latency, scenarios."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest
from amounts import QUICK, cases
from reference import rule_check
from test_examiner import EXAMPLE, GPU, example, put, simulation, small_gpu

import gpusched as gs
from gpusched import _core
from gpusched.io import BlockLog, check_rules, read_examiner, read_scenarios, write_examiner

pytestmark = pytest.mark.numbers

RULES = ("grids", "idle", "limits", "placement", "priority", "queue", "stream")


def both(
    log: BlockLog, gpu: gs.GPU, tolerance: int, latency: int, placement: bool
) -> list[rule_check.Finding]:
    """The findings of the twin; the core has to find the same."""
    expected = rule_check.check(log, gpu, tolerance, placement, latency)
    found = check_rules(log, gpu, tolerance, "most_room" if placement else None, latency)
    assert [(v.rule, v.kernel, v.block, v.time, v.message) for v in found] == expected
    return expected


def arbitrary(rng: random.Random, gpu: gs.GPU) -> BlockLog:
    """A log of blocks at random times on random SMs: most break many rules."""
    kernels = rng.randint(0, 6)
    span = rng.choice([3, 12, 60])
    grid = [rng.randint(1, 7) for _ in range(kernels)]
    kernel = [k for k, blocks in enumerate(grid) for _ in range(blocks)]
    block = [b for blocks in grid for b in range(blocks)]
    rows = list(range(len(kernel)))
    rng.shuffle(rows)
    at = [rng.randrange(span) for _ in range(kernels)]
    start = [at[k] + rng.choice([0, 0, 0, 1, rng.randrange(span)]) for k in kernel]
    few = rng.random() < 0.5
    return BlockLog(
        name=[f"kernel {k}" for k in range(kernels)],
        stream=[rng.randrange(3) + 64 * (rng.random() < 0.3) for _ in range(kernels)],
        launch=[t - rng.choice([0, 0, 1, 5]) for t in at],
        blocks=grid,
        threads=[32 * rng.randint(1, gpu.threads_per_sm // 32) for _ in range(kernels)],
        regs=[rng.choice([0, 0, 4, 8]) for _ in range(kernels)],
        smem=[rng.choice([0, 0, 256, 600]) for _ in range(kernels)],
        kernel=[kernel[r] for r in rows],
        block=[block[r] for r in rows],
        sm=[rng.randrange(gpu.sms) for _ in rows],
        start=[start[r] for r in rows],
        end=[start[r] + rng.choice([0, 1, 2, rng.randrange(span)]) for r in rows],
        priority=[0 if few else rng.randrange(3) for _ in range(kernels)],
        context=[0 if few else rng.randrange(2) for _ in range(kernels)],
        joined=None if rng.random() < 0.7 else [rng.randrange(span) for _ in range(kernels)],
    )


def options(rng: random.Random) -> tuple[int, int, bool]:
    return rng.choice([0, 0, 1, 3, 10]), rng.choice([0, 0, 0, 2, 20]), rng.random() < 0.9


def fitting(log: BlockLog, gpu: gs.GPU) -> bool:
    fits = gs.occupancy(gpu, log.threads, log.regs, log.smem)
    return bool(np.all(fits > 0))


@pytest.mark.long
def test_arbitrary_logs_as_the_twin() -> None:
    rules = set()
    for seed in range(cases(600)):
        rng = random.Random(seed)
        gpu = small_gpu(rng)
        log = arbitrary(rng, gpu)
        if fitting(log, gpu):
            rules |= {v.rule for v in both(log, gpu, *options(rng))}
    assert rules == set(RULES) or QUICK


@pytest.mark.long
def test_simulated_and_damaged_logs_as_the_twin() -> None:
    rules = set()
    for seed in range(cases(60)):
        rng = random.Random(seed)
        gpu = small_gpu(rng)
        log = simulation(seed, gpu, rng.choice([1, 1, 3]))
        tolerance, latency, placement = options(rng)
        both(log, gpu, tolerance, latency, placement)
        values = log.__reduce__()[1][0] | {"joined": None}
        noise = np.random.default_rng(seed)
        size = rng.choice([1, 5, 30])
        start = 10 * log.start + noise.integers(0, size, len(log.start))
        end = np.maximum(start, 10 * log.end - noise.integers(0, size, len(log.start)))
        sm = log.sm.copy()
        for row in noise.integers(0, len(sm), rng.randrange(3)).tolist():
            sm[row] = rng.randrange(gpu.sms)
        late = 10 * log.launch - noise.integers(0, 40, len(log))
        values |= {"start": start, "end": end, "sm": sm, "launch": late}
        rules |= {v.rule for v in both(BlockLog(**values), gpu, tolerance, latency, placement)}
    assert rules >= {"idle", "limits", "placement", "queue"} or QUICK


def test_blocks_of_no_length_as_the_twin() -> None:
    """Blocks that end as they start, at every edge of the tolerance."""
    gpu = gs.GPU(sms=2, threads_per_sm=128, blocks_per_sm=2, smem_per_sm=2048)
    for seed in range(300):
        rng = random.Random(seed)
        n = rng.randint(1, 7)
        start = [rng.randint(0, 4) for _ in range(n)]
        log = BlockLog(
            name=["a", "b"],
            stream=[0, rng.randrange(2)],
            launch=0,
            blocks=[n, 1],
            threads=[rng.choice([32, 64]), 96],
            regs=0,
            smem=0,
            kernel=[0] * n + [1],
            block=[*rng.sample(range(n), n), 0],
            sm=[rng.randrange(2) for _ in range(n + 1)],
            start=[*start, 2],
            end=[*(s + rng.choice([0, 0, 1, 2]) for s in start), 2],
        )
        both(log, gpu, rng.choice([0, 1, 2]), 0, True)


# Launch latency ----------------------------------------------------------------------------------


def test_a_launch_takes_time() -> None:
    """A kernel on an idle GPU, 60 ticks after its launch."""
    log = BlockLog(["k"], 0, 100, 1, 64, 0, 0, [0], 0, 0, 160, 200)
    assert [v.rule for v in check_rules(log, GPU)] == ["idle"]
    assert [v.rule for v in check_rules(log, GPU, latency=59)] == ["idle"]
    assert check_rules(log, GPU, latency=60) == []
    assert check_rules(log, GPU, latency="log") == []
    # It does not explain a start before the launch.
    early = BlockLog(["k"], 0, 100, 1, 64, 0, 0, [0], 0, 0, 40, 200)
    assert [v.rule for v in check_rules(early, GPU, latency=10**6)] == ["stream"]


def test_an_urgent_kernel_may_still_be_under_way() -> None:
    late = put("start", (8, 220), (9, 220)) | put("end", (8, 270), (9, 270))
    assert {v.rule for v in check_rules(example(**late), GPU)} >= {"priority", "idle"}
    # Launched at 120: with 100 ticks it may have arrived at 220, when it starts.
    assert check_rules(example(**late), GPU, placement=None, latency=100) == []
    found = check_rules(example(**late), GPU, placement=None, latency=70)
    assert [v.rule for v in found] == ["idle", "priority"]


def test_kernels_may_arrive_in_another_order() -> None:
    swapped = put("launch", (0, -5), (1, -9))
    assert [v.rule for v in check_rules(example(**swapped), GPU)][-1] == "queue"
    assert check_rules(example(**swapped), GPU, latency=9) == []


def test_latency_allows_more_and_never_less() -> None:
    """Every violation with an allowance is one without it, for times with a tolerance."""
    for seed in range(300):
        rng = random.Random(seed)
        gpu = small_gpu(rng)
        log = arbitrary(rng, gpu)
        if fitting(log, gpu):
            known = {
                rule: {(v.kernel, v.block) for v in check_rules(log, gpu, 2) if v.rule == rule}
                for rule in RULES
            }
            for v in check_rules(log, gpu, 2, latency=9):
                if v.rule in ("limits", "stream", "placement", "queue"):
                    assert (v.kernel, v.block) in known[v.rule]


def test_the_latency_of_a_log() -> None:
    columns: dict[str, Any] = {"blocks": 1, "threads": 32, "regs": 0, "smem": 0, "block": 0}
    kernel = {"name": ["a", "b", "c"], "stream": [0, 1, 2], "kernel": [0, 1, 2], "sm": 0}
    # b waits for nothing; c is launched while b runs.
    log = BlockLog(
        **columns, **kernel, launch=[0, 100, 150], start=[30, 170, 400], end=[90, 300, 500]
    )
    assert log.launch_latency() == 70
    # None is launched on an idle GPU.
    busy = BlockLog(**columns, **kernel, launch=[0, 0, 0], start=[0, -10, -5], end=[90, 300, 500])
    assert busy.launch_latency() is None
    assert BlockLog([], [], [], [], [], [], [], [], [], [], [], []).launch_latency() is None
    assert [v.rule for v in check_rules(busy, GPU, latency="log")].count("stream") == 2


@pytest.mark.parametrize(
    ("latency", "error", "said"),
    [
        (-1, ValueError, "latency: got -1, expected a non-negative number"),
        (2**62, OverflowError, "latency: got .*, expected less than 2"),
        ("some", TypeError, "latency: got 'some', expected an integer"),
    ],
)
def test_latencies_that_are_refused(latency: Any, error: type[Exception], said: str) -> None:
    with pytest.raises(error, match=said):
        check_rules(example(), GPU, latency=latency)


# Scenarios ---------------------------------------------------------------------------------------


def test_scenarios_are_never_merged(tmp_path: Any) -> None:
    good, bad = example(scenario="good"), example(scenario="bad", **put("sm", (10, 1)))
    for log in (good, bad):
        (tmp_path / log.scenario).mkdir()
        for path in write_examiner(tmp_path / log.scenario, log):
            path.rename(tmp_path / f"{log.scenario}_{path.name}")
    logs = read_scenarios(tmp_path)
    assert list(logs) == ["bad", "good"]
    order = ("stream", "launch", "kernel", "block")
    assert {key: len(logs["good"].kernel) for key in order} == dict.fromkeys(order, 11)
    found = check_rules(logs, GPU)
    assert [(v.scenario, v.rule) for v in found] == [("bad", "placement")]
    assert str(found[0]).startswith("bad: placement: block 0 of again")
    assert check_rules(list(logs.values()), GPU) == found
    with pytest.raises(ValueError, match=r"paths: got 2 scenarios, 'bad' and 'good' among them"):
        read_examiner(tmp_path)
    one = sorted(tmp_path.glob("good_*.json"))
    assert read_examiner(one).scenario == "good"
    assert list(read_scenarios(one, regs=[8, 16, 24])["good"].regs) == [8, 8, 16, 24]


def test_names_of_scenarios(tmp_path: Any) -> None:
    write_examiner(tmp_path, example(scenario="own"))
    assert read_examiner(tmp_path).scenario == "own"
    paths = write_examiner(tmp_path, example(scenario="own"), scenario="given")
    assert read_examiner(tmp_path).scenario == "given"
    text = paths[0].read_text().replace('"scenario_name": "given"', '"scenario_name": 3')
    paths[0].write_text(text)
    with pytest.raises(ValueError, match=r"stream_0\.json: scenario_name: got 3, expected a str"):
        read_scenarios(tmp_path)
    with pytest.raises(TypeError, match="scenario: got 3, expected a string"):
        example(scenario=3)


# Columns of other lengths, at the lowest level ---------------------------------------------------


def test_columns_that_are_refused() -> None:
    kernels = [np.array(EXAMPLE["launch"])] * 8
    blocks = [np.array(EXAMPLE["kernel"])] * 5
    options = {"tolerance": 0, "latency": 0, "placement": True, "resident_grids": 0}
    for bad_kernels, bad_blocks, said in (
        (kernels[:7], blocks, "kernels: got 7 columns, expected 8"),
        (kernels, [*blocks, blocks[0]], "blocks: got 6 columns, expected 5"),
        ([*kernels[:7], kernels[0][:2]], blocks, "context"),
        (kernels, [*blocks[:4], blocks[0][:2]], "end"),
    ):
        with pytest.raises(ValueError, match=said):
            _core.rules_check(
                GPU._limits, GPU.sm_order, tuple(bad_kernels), tuple(bad_blocks), **options
            )
