"""FIFO simulation on SMs: twin, the hierarchy simulation, kernels alone, bounds, refusals."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from reference import fifo as twin
from reference.hierarchy import carveout, footprint

import gpusched as gs
from gpusched import simulate
from gpusched.model.block_placement import PLACEMENTS
from gpusched.model.fifo_model import ORDERS

pytestmark = pytest.mark.numbers

JOBS = ("task", "job", "release", "start", "dispatched", "end")
WAVES = ("task", "job", "blocks", "start", "end", "sm")
"""Columns in the order of the twin's rows."""


def rows(table: Any, *names: str) -> list[tuple[int, ...]]:
    return list(zip(*(getattr(table, name).tolist() for name in names), strict=True))


def random_gpu(chance: np.random.Generator) -> gs.GPU:
    sms = int(chance.integers(1, 5))
    return gs.GPU(
        sms=sms,
        threads_per_sm=int(chance.choice([128, 256, 416])),
        blocks_per_sm=int(chance.integers(2, 8)),
        regs_per_sm=16384,
        smem_per_sm=8192,
        sm_order=chance.permutation(sms),
        carveout_rule=str(chance.choice(["ignore", "match", "at_least"])),
        carveouts=[0, 2048, 4096, 8192][int(chance.integers(2)) :],
    )


def random_tasks(chance: np.random.Generator, sets: int | None = None) -> gs.KernelTasks:
    n = int(chance.integers(1, 6))
    shape = (n,) if sets is None else (sets, n)
    period = chance.choice([12, 24, 36], shape)
    return gs.KernelTasks(
        period=period,
        block_time=chance.integers(1, np.maximum(2, period // 2)),
        blocks=chance.integers(1, 9, shape),
        threads=chance.integers(1, 129, shape),
        regs=chance.choice([0, 24, 40, 64], shape),
        smem=chance.choice([0, 1000, 3000], shape),
        offset=chance.integers(0, 20, shape) * chance.integers(0, 2, shape),
        priority=chance.integers(0, 3, shape),
    )


def sms_of(gpu: gs.GPU, tasks: gs.KernelTasks, policy: str) -> twin.SMs:
    takes, wanted = [], []
    for threads, regs, smem in rows(tasks, "threads", "regs", "smem"):
        take, usable = footprint(gpu._limits.tolist(), threads, regs, smem)
        takes.append((*take, usable))
        wanted.append(carveout(gpu._limits.tolist(), threads, regs, smem))
    limits = (gpu.warps_per_sm, gpu.blocks_per_sm, 0, gpu.smem_per_sm)
    order, rule = gpu.sm_order.tolist(), gpu.carveout_rule
    return twin.SMs(limits, order, policy, takes, rule, wanted)


def twin_of(run: Any, until: int, **options: Any) -> Any:
    tasks = run.tasks
    return twin.simulate(
        *(getattr(tasks, k).tolist() for k in ("period", "block_time", "blocks", "threads")),
        *(0, run.order, until),
        offset=tasks.offset.tolist(),
        priority=tasks.priority.tolist(),
        sms=sms_of(run.gpu, tasks, run.placement),
        **options,
    )


# The twin


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("policy", PLACEMENTS)
def test_agrees_with_the_twin(order: Any, policy: str) -> None:
    chance = np.random.default_rng([ORDERS.index(order), PLACEMENTS[policy]])
    for _ in range(60):
        gpu, tasks = random_gpu(chance), random_tasks(chance)
        run = simulate.fifo(tasks, gpu=gpu, placement=policy, order=order, until=80)
        expected = twin_of(run, 80)
        assert rows(run, *JOBS) == expected["jobs"]
        assert rows(run.waves, *WAVES) == expected["waves"]
        assert run.gpu == gpu and run.threads == gpu.sms * gpu.warps_per_sm * 32


@pytest.mark.parametrize("draw", ["job", "wave", "block"])
def test_agrees_with_the_twin_where_numbers_are_drawn(draw: Any) -> None:
    chance = np.random.default_rng(3)
    for index in range(20):
        gpu, tasks = random_gpu(chance), random_tasks(chance)
        options: dict[str, Any] = {"execution": (0.25, 1), "gap": 0.5, "draw": draw}
        run = simulate.fifo(tasks, gpu=gpu, until=90, seed=5, index=index, **options)
        times: dict[tuple[int, int], list[int]] = {}
        for task, job, blocks, start, end, _ in rows(run.waves, *WAVES):
            times.setdefault((task, job), []).extend([end - start] * blocks)
            assert blocks == 1 or draw != "block"
            if draw == "wave":  # one time on all SMs
                with_it = (run.waves.task == task) & (run.waves.job == job)
                with_it &= run.waves.start == start
                assert np.unique(run.waves.end[with_it]).tolist() == [end]
        releases = [run.release[run.task == i].tolist() for i in range(tasks.n)]
        expected = twin_of(
            run, 90, releases=releases, actual=lambda i, j, k, times=times: times[i, j][k]
        )
        assert rows(run, *JOBS) == expected["jobs"]


# Other models


@pytest.mark.parametrize("policy", PLACEMENTS)
def test_agrees_with_the_hierarchy_simulation(policy: str) -> None:
    """Single jobs, each in a stream of its own of one context, are the same in both."""
    chance = np.random.default_rng(17)
    for _ in range(40):
        gpu, tasks = random_gpu(chance), random_tasks(chance)
        tasks = tasks.replace(offset=chance.permutation(tasks.n) * 2, priority=0)
        run = simulate.fifo(
            tasks, gpu=gpu, placement=policy, releases=tasks.offset[:, None], settle="no"
        )
        launches = gs.Launches(
            tasks.offset,
            kind="kernel",
            stream=np.arange(tasks.n),
            blocks=tasks.blocks,
            threads=tasks.threads,
            regs=tasks.regs,
            smem=tasks.smem,
            duration=tasks.block_time,
        )
        other = simulate.hierarchy(launches, gpu, placement=policy)
        assert run.end[np.argsort(run.task)].tolist() == other.end.tolist()
        assert run.start[np.argsort(run.task)].tolist() == other.first.tolist()
        blocks = {(k, sm, t): 0 for k, sm, t in rows(other.blocks, "kernel", "sm", "start")}
        for key in rows(other.blocks, "kernel", "sm", "start"):
            blocks[key] += 1
        waves = rows(run.waves, "task", "sm", "start", "blocks")
        assert {wave[:3]: wave[3] for wave in waves} == blocks


@pytest.mark.long
@pytest.mark.parametrize("name", gs.GPU.presets())
def test_a_kernel_alone_ends_at_the_same_tick_in_every_model(name: str) -> None:
    """Waves of blocks: batch table, FIFO on SMs, hierarchy, host simulation on all SMs."""
    gpu = gs.GPU.preset(name)
    chance = np.random.default_rng(sum(map(ord, name)))
    for _ in range(60):
        shape: dict[str, Any] = {
            "threads": int(chance.integers(1, 1025)),
            "regs": int(chance.choice([0, 16, 32])),
            "smem": int(chance.choice([0, 100, 4096, 20000])),
        }
        resident = gs.occupancy(gpu, **shape)
        blocks = int(chance.integers(1, 4 * gpu.sms * resident + 2))
        block_time, waves = int(chance.integers(1, 1000)), -(-blocks // (gpu.sms * resident))
        time = waves * block_time
        tasks = gs.KernelTasks([2 * time], wcet=time, block_time=block_time, blocks=blocks, **shape)
        policy = str(chance.choice(list(PLACEMENTS)))
        run = simulate.fifo(tasks, gpu=gpu, placement=policy, until=1)
        launches = gs.Launches(
            [0], kind="kernel", stream=[0], blocks=[blocks], duration=[block_time], **shape
        )
        hierarchy = simulate.hierarchy(launches, gpu, placement=policy, blocks=False)
        hosts = gs.HostTasks([2 * time], cpu=[[0, 0]], kernel=[[time]], core=[0])
        host = simulate.host(hosts, 1, "mpcp", until=1)
        table = gs.BatchTable.from_gpu(tasks, gpu)
        ends = [run.end[0], hierarchy.end[0], host.end[0], table.completion[1]]
        assert ends == [time] * 4


@pytest.mark.parametrize("order", ORDERS)
def test_no_response_exceeds_the_bound(order: Any) -> None:
    chance = np.random.default_rng(23)
    bounded = 0
    for _ in range(25):
        gpu, tasks = random_gpu(chance), random_tasks(chance, sets=12)
        tasks = tasks.replace(period=tasks.period * int(chance.integers(1, 8)))
        bound = gs.analysis.fifo_bound(tasks, gpu=gpu, order=order)
        bounded += int(bound.bounded.sum())
        for options in ({}, {"victim": 0}, {"execution": (0.5, 1), "gap": 0.3, "draw": "block"}):
            for policy in PLACEMENTS:
                found = simulate.fifo_responses(
                    tasks, None, order, 3000, gpu=gpu, placement=policy, seed=1, **options
                )
                limits = -(-bound.numerator // np.maximum(bound.denominator, 1))
                assert (found.worst <= limits)[bound.bounded].all()
    assert bounded > 100


# Infinite horizon


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("policy", PLACEMENTS)
def test_what_is_said_about_all_jobs_is_seen_later(order: Any, policy: str) -> None:
    chance = np.random.default_rng([29, PLACEMENTS[policy]])
    seen = set()
    for _ in range(15):
        gpu, tasks = random_gpu(chance), random_tasks(chance)
        options: dict[str, Any] = {"gpu": gpu, "placement": policy, "waves": False}
        run = simulate.fifo(tasks, None, order, budget=gs.Budget(states=5000), **options)
        seen.add(run.outcome)
        if run.outcome == "budget":
            continue
        far = run.cycle_from + 4 * run.cycle_length
        later = simulate.fifo(tasks, None, order, far, settle="no", **options)
        further = simulate.fifo(
            tasks, None, order, far + 8 * run.cycle_length, settle="no", **options
        )
        if run.outcome == "repeats":
            np.testing.assert_array_equal(further.worst, run.worst)
        else:
            assert (further.worst > later.worst)[run.grows].all()
    assert "repeats" in seen


def test_stacks_are_the_same() -> None:
    chance = np.random.default_rng(31)
    gpu, tasks = random_gpu(chance), random_tasks(chance, sets=20)
    options: dict[str, Any] = {"gpu": gpu, "execution": (0.5, 1), "draw": "wave", "seed": 3}
    found = simulate.fifo_responses(tasks, until=200, **options)
    for i in range(20):
        run = simulate.fifo(tasks[i], until=200, index=i, **options)
        assert run.worst.tolist() == found.worst[i].tolist()
        assert len(run.waves) == found.waves[i]


# Results


def test_pictures_traces_and_files(tmp_path: Path) -> None:
    tasks = gs.KernelTasks([100, 120], block_time=[10, 30], blocks=[40, 2], threads=[512, 250])
    run = simulate.fifo(tasks, gpu="AGX Orin", until=400)
    assert "on 16 SMs" in repr(run) and run.waves.to_frame().columns[-1] == "sm"
    picture = run.to_svg()
    assert "on SM 15" in picture and ">SM" in picture
    assert run.plot().get_ylabel() == "SM"
    run.to_chrome_trace(tmp_path / "trace.json")
    events = json.loads((tmp_path / "trace.json").read_text())["traceEvents"]
    names = {event["args"].get("name") for event in events if event["ph"] == "M"}
    assert {"jobs", "SM 0", "SM 15"} <= names
    run.save(tmp_path / "run")
    assert type(run).load(tmp_path / "run") == run
    many = simulate.fifo(tasks.replace(blocks=[600, 2]), gpu=gs.GPU(300, 1024, 32), until=1)
    assert "SMs 192 to 299 are not shown" in many.to_svg()
    assert simulate.fifo(tasks, 4096, until=1).waves.sm is None


def test_refusals() -> None:
    tasks = gs.KernelTasks([100, 120], block_time=[10, 30], threads=[512, 1056])
    with pytest.raises(ValueError, match=r"threads\[1\]: got 1056, expected a block that"):
        simulate.fifo(tasks, gpu="TX2", until=10)
    with pytest.raises(ValueError, match=r"set 1: threads\[1\]: got 1056"):
        simulate.fifo_responses(
            gs.KernelTasks([[100] * 2] * 2, block_time=1, threads=[[32, 32], [32, 1056]]),
            gpu="TX2",
            until=10,
        )
    with pytest.raises(ValueError, match="threads: got both threads and gpu, expected one"):
        simulate.fifo(tasks, 4096, gpu="TX2", until=10)
    with pytest.raises(TypeError, match="threads: got None, expected an integer"):
        simulate.fifo(tasks, until=10)
    with pytest.raises(ValueError, match="placement: got 'last', expected one of most_room"):
        simulate.fifo(tasks, gpu="TX2", placement="last", until=10)


def test_block_times_taken_from_wcet() -> None:
    """The time of a kernel of several waves is not that of its blocks."""
    tasks = gs.KernelTasks(period=[90, 30], wcet=[1, 10], blocks=[1, 10], threads=[32, 1024])
    message = r"block_time\[1\]: got 10, taken from wcet, but .* needs 5 waves on this GPU"
    gpu = gs.GPU(sms=2, threads_per_sm=1024, blocks_per_sm=32)
    for call in (simulate.fifo, simulate.fifo_responses, gs.analysis.fifo_bound):
        for on in ({"threads": 2048}, {"gpu": gpu}):
            with pytest.raises(ValueError, match=message):
                call(tasks, **on)
    with pytest.raises(ValueError, match=message):
        gs.analysis.fifo_limit(tasks, 2048)
    with pytest.raises(ValueError, match=r"set 0: block_time\[0\]"):
        gs.analysis.fifo_bound(gs.KernelTasks([[90, 30]], wcet=[1, 10], blocks=10), threads=2)
    given = tasks.replace(block_time=[1, 2])
    assert simulate.fifo(given, 2048).worst.tolist() == [1, 11]
    assert simulate.fifo(tasks, 10240).worst.tolist() == [1, 11]
