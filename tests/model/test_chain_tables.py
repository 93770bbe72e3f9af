"""Batch tables, schedules and workloads of chains of kernels."""

from __future__ import annotations

import pickle
from pathlib import Path

import numpy as np
import pytest

import gpusched as gs
from gpusched.model.chain_tables import alone_on

XAVIER = gs.GPU.preset("xavier")
CHAINS = gs.KernelChains([10, 20], [[2, 3], [6, 4]], latency=1, name=["lane", "map"])
TABLE = gs.BatchTable.from_dict(
    CHAINS, {(0,): 2, (1,): 3, (2,): 6, (3,): 4, (0, 2): 6, ("lane[0]", "map[1]"): 4}
)


def random_shapes(rng: np.random.Generator) -> gs.KernelChains:
    kernels = rng.integers(1, 4, int(rng.integers(1, 4))).tolist()

    def column(low: int, high: int, step: int = 1) -> list[list[int]]:
        return [(step * rng.integers(low, high, count)).tolist() for count in kernels]

    return gs.KernelChains(
        [100] * len(kernels),
        column(1, 9),
        column(1, 60),
        column(1, 20, 32),
        int(rng.integers(3)),
        smem=column(0, 40, 1000),
    )


def test_placement_is_that_of_the_rows() -> None:
    """A table of chains is one of their kernels without the batches of two kernels of a task."""
    rng = np.random.default_rng(3)
    orders = 0
    for _ in range(60):
        chains = random_shapes(rng)
        table = gs.BatchTable.from_gpu(chains, XAVIER, slowdown=1.3)
        free = gs.BatchTable.from_gpu(alone_on(chains.rows, XAVIER), XAVIER, slowdown=1.3)
        task = chains.places[0]
        for mask in range(1, 1 << table.n):
            rows = [j for j in range(table.n) if mask >> j & 1]
            apart = len(set(task[rows].tolist())) == len(rows)
            assert table.completion[mask] == (free.completion[mask] if apart else 0)
            if table.completion[mask]:
                assert sorted(table.submission_order(mask)) == rows
        assert gs.BatchTable(table.completion, table.undecided, table.order) == table
        orders += table.order is not None
    assert orders > 0


def test_draws_belong_to_the_set_and_its_number() -> None:
    chains = random_shapes(np.random.default_rng(5))
    stack = chains.replace(
        **{key: np.stack([getattr(chains, key)] * 3) for key in (*chains._ARRAYS,)}
    )
    tables = gs.BatchTable.from_gpu(stack, XAVIER, slowdown=(1.1, 1.9), seed=7)
    for i in range(3):
        assert tables[i] == gs.BatchTable.from_gpu(
            chains, XAVIER, slowdown=(1.1, 1.9), seed=7, first=i
        )
    assert not np.array_equal(tables.completion[0], tables.completion[1]) or chains.n == 1


def test_waves_and_latency_count_alone() -> None:
    chains = gs.KernelChains([100], [[5, 7]], blocks=[[1, 1000]], threads=1024, latency=[[2, 0]])
    table = gs.BatchTable.from_gpu(chains, XAVIER)
    at_once = XAVIER.sms * gs.occupancy(XAVIER, 1024)
    assert table.completion.tolist() == [0, 7, 7 * -(-1000 // at_once), 0]


def test_slowdown_function_sees_tasks_and_kernels() -> None:
    seen = []

    def factor(batch: tuple[tuple[int, int], ...]) -> float | None:
        seen.append(batch)
        return None if batch == ((0, 1), (1, 1)) else 1.25

    table = gs.BatchTable.from_slowdown(CHAINS, factor)
    assert sorted(seen) == [
        ((0, 0), (1, 0)), ((0, 0), (1, 1)), ((0, 1), (1, 0)), ((0, 1), (1, 1))
    ]  # fmt: skip
    assert table.completion.tolist() == [0, 3, 4, 0, 7, 9, 9, 0, 5, 7, 0, 0, 0, 0, 0, 0]
    tasks = gs.KernelTasks([9, 9], [2, 3])
    assert gs.BatchTable.from_slowdown(tasks, lambda batch: len(batch)).completion.tolist() == [
        0, 2, 3, 6
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (lambda: gs.BatchTable.from_slowdown(CHAINS, lambda _: 0.5), ValueError, r"\{0, 2\}.*0.5"),
        (lambda: gs.BatchTable.from_slowdown(CHAINS, lambda _: "x"), ValueError, "factor"),
        (lambda: gs.BatchTable.from_slowdown(CHAINS, 1.5), TypeError, "a function of the batch"),
        (lambda: gs.BatchTable.from_slowdown([1], lambda _: 1), TypeError, "KernelTasks or Kernel"),
        (
            lambda: gs.BatchTable.from_slowdown(
                gs.KernelChains([9, 9], [[2**59], [2**59]]), lambda _: 4
            ),
            OverflowError,
            r"slowdown\[\{0, 1\}\]",
        ),
        (
            lambda: gs.BatchTable.from_gpu(CHAINS.replace(threads=2048), XAVIER),
            ValueError,
            r"threads\[lane\[0\]\]: got a block that fits no SM",
        ),
        (
            lambda: gs.BatchTable.from_gpu(gs.KernelChains([9], [[1] * 25]), XAVIER),
            ValueError,
            "25 kernels in a set, expected at most 24",
        ),
    ],
)
def test_tables_refuse(make: object, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        make()  # type: ignore[operator]


def plan() -> gs.Schedule:
    answer = gs.pbs.search(CHAINS, TABLE)
    assert answer.schedule is not None
    return answer.schedule


def test_a_schedule_knows_job_and_kernel(tmp_path: Path) -> None:
    made = plan()
    runs, jobs = made.runs(), made.jobs()
    assert (len(runs), len(jobs)) == (6, 3)
    ran = sorted(zip(runs.task.tolist(), runs.job.tolist(), runs.kernel.tolist(), strict=True))
    assert ran == [(0, 0, 0), (0, 0, 1), (0, 1, 0), (0, 1, 1), (1, 0, 0), (1, 0, 1)]
    for task, job, start, finish in zip(jobs.task, jobs.job, jobs.start, jobs.end, strict=True):
        own = np.flatnonzero((runs.task == task) & (runs.job == job))
        assert (start, finish) == (runs.start[own].min(), runs.end[own].max())
    frame = made.to_frame()
    assert len(frame) == len(made)
    assert [len(x) for x in frame["kernels"]] == [len(x) for x in frame["tasks"]]
    made.save(tmp_path / "plan.json")
    assert gs.Schedule.load(tmp_path / "plan.json") == made
    assert pickle.loads(pickle.dumps(made)) == made
    assert repr(made).startswith("<Schedule: ")
    assert len(made.late_jobs()) == 0
    assert made.horizon == 20
    assert made.runs().to_frame()["kernel"].tolist() == runs.kernel.tolist()


def test_pictures_name_kernels(tmp_path: Path) -> None:
    made = plan()
    assert "map #0, kernel 1" in made.to_svg()
    assert ">0.1<" in made.to_svg()
    made.to_chrome_trace(tmp_path / "plan.json")
    assert "lane #1, kernel 0" in (tmp_path / "plan.json").read_text(encoding="utf-8")
    launches = gs.Launches.from_schedule(made)
    assert launches.to_frame()["name"].tolist()[0].startswith(("lane[", "map["))


@pytest.mark.parametrize(
    ("frames", "rule", "text"),
    [
        (([0, 3], [3, 5], [2, 1]), "not ready", r"a kernel before its turn \(lane\[1\]\), at 0"),
        (([0], [2], [3]), "ineligible", "not eligible"),
        (([0, 2], [2, 4], [1, 1]), "not ready", r"\(lane\[0\]\)"),
        (([0, 2, 5], [2, 5, 11], [1, 2, 4]), "unfinished", r"\(lane\[0\]\)"),
        (([0, 2, 8], [2, 8, 11], [1, 4, 2]), "miss", r"\(lane\[1\]\), at 10"),
        (([0, 4], [2, 7], [1, 2]), "idle", "at 2"),
    ],
)
def test_validation_keeps_the_order(
    frames: tuple[list[int], list[int], list[int]], rule: str, text: str
) -> None:
    with pytest.raises(gs.ScheduleError, match=text) as caught:
        gs.Schedule(*frames, CHAINS, TABLE).validate()
    assert caught.value.rule == rule
    assert caught.value.task in (0, 1, None)


def test_rows_and_places() -> None:
    assert CHAINS.rows.name == ("lane[0]", "lane[1]", "map[0]", "map[1]")
    assert CHAINS.rows.wcet.tolist() == [3, 4, 7, 5]
    assert [of.tolist() for of in CHAINS.places] == [[0, 0, 1, 1], [0, 1, 0, 1]]
    assert CHAINS._chained().tolist() == [0b101]
    stack = gs.KernelChains([[9, 9]] * 2, np.array([[[1, 2], [3, 0]], [[1, 0], [2, 3]]]))
    assert stack._chained().tolist() == [0b001, 0b010]
    assert stack.rows.name == ("kernel 0", "kernel 1", "kernel 2")
    with pytest.raises(TypeError, match="got a stack"):
        _ = stack.places


# Workloads ----------------------------------------------------------------------------------------

PLATFORM = gs.Platform("Xavier", cpus=2, slowdown=1.4)


def kernel(time: int, blocks: int = 4, repeat: int = 1) -> gs.Kernel:
    return gs.Kernel(time, blocks=blocks, threads=256, repeat=repeat)


def test_chains_of_a_workload_are_kept() -> None:
    parts = [gs.CPU(2), kernel(5), gs.CopyIn(2), kernel(3, repeat=2), gs.CPU(4)]
    w = gs.Workload([gs.Task("a", 60, parts), gs.Task("b", 30, [kernel(4)])])
    view = w.batches(PLATFORM, chains="keep")
    assert view.tasks.kernels.tolist() == [3, 1]
    assert view.tasks.latency.tolist() == [[0, 2, 0], [0, 0, 0]]
    assert (view.tasks.offset[0], view.tasks.deadline[0]) == (2, 60 - 2 - 4)
    assert view.table.completion[[1, 2, 4, 8, 9]].tolist() == [5, 5, 3, 4, 7]
    assert view.table.completion[3] == 0
    answer = gs.analyze(w, PLATFORM, "pbs")
    assert isinstance(answer.detail.tasks, gs.KernelChains)
    assert answer.schedule is not None
    fine = answer.detail.response.tolist()[0]
    assert answer.response.tolist()[0] == -(-fine // answer.grain) + 6


def test_work_between_kernels_is_refused_or_counts() -> None:
    w = gs.Workload([gs.Task("a", 60, [kernel(5), gs.CPU(7), kernel(3)])])
    with pytest.raises(ValueError, match="a: got 7ns of CPU work between kernels"):
        w.batches(PLATFORM, chains="keep")
    view = w.batches(PLATFORM, chains="keep", gaps="occupy")
    assert view.tasks.latency.tolist() == [[0, 7]]
    assert any("CPU work between" in said for said in view.assumptions)


def test_a_long_kernel_of_one_task_is_no_obstacle_any_more() -> None:
    """As units, 'a' holds the GPU for 40; kernel by kernel, 'b' comes between."""
    w = gs.Workload(
        [gs.Task("a", 100, [kernel(20, 128), kernel(20, 128)]),
         gs.Task("b", 50, [kernel(10, 128)], deadline=35)]
    )  # fmt: skip
    platform = PLATFORM.replace(slowdown=1)
    fused = w.batches(platform)
    late = fused.tasks.replace(offset=[0, 1])
    assert gs.pbs.search(late, fused.table).schedulable is False
    kept = w.batches(platform, chains="keep")
    assert gs.pbs.search(kept.tasks.replace(offset=[0, 1]), kept.table).schedulable is True


def test_units_stay_where_kernels_are_too_many_or_worse() -> None:
    many = gs.Workload([gs.Task("a", 900, [kernel(20, repeat=25)])])
    with pytest.raises(ValueError, match="25 kernels in the jobs of all tasks"):
        many.batches(PLATFORM, chains="keep")
    answer = gs.analyze(many, PLATFORM, "pbs")
    assert answer.schedulable is True
    assert answer.units == {"a": (25,)} and answer.detail.schedule.batch.tolist() == [1]
    # As units both run beside each other for 21; kernel by kernel 22 are needed.
    other = gs.Workload(
        [
            gs.Task("a", 21, [kernel(10), kernel(1), kernel(10)]),
            gs.Task("b", 21, [kernel(1), kernel(10), kernel(1)]),
        ]
    )
    platform = PLATFORM.replace(slowdown=1)
    kept = other.batches(platform, chains="keep")
    assert gs.pbs.search(kept.tasks, kept.table).schedulable is False
    found = gs.analyze(other, platform.replace(cpus=2), "pbs")
    assert [each.premise for each in found.conditions] == ["frames_start_together"]
