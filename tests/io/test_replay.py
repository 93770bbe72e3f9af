"""Logs of blocks simulated again, and held against the log: launches, agreement, explanations."""

from __future__ import annotations

import itertools
import pickle
import random
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from test_examiner import example, simulation, small_gpu
from test_rules import arbitrary, fitting

import gpusched as gs
from gpusched.io import Agreement, BlockLog, agreement, read_examiner, write_examiner

MS = 10**6
# 80 SMs of a V100, with the split of L1 and shared memory of its capability.
V100 = gs.GPU(sms=80, threads_per_sm=2048, blocks_per_sm=32, smem_per_sm=96 * 1024, cc=(7, 0))
SMALL = gs.GPU(sms=1, threads_per_sm=1024, blocks_per_sm=16)


def log_of(run: gs.simulate.Hierarchy, **changes: Any) -> BlockLog:
    """A log of the blocks of a run."""
    launches, blocks = run.launches, run.blocks
    assert blocks is not None
    stream = launches.stream
    columns = {
        "name": launches.name,
        "stream": stream,
        "launch": launches.time,
        "priority": launches.stream_priority[stream],
        "context": launches.stream_context[stream],
        "stream_name": launches.stream_name,
        **{key: getattr(launches, key) for key in ("blocks", "threads", "regs", "smem")},
        **{key: getattr(blocks, key) for key in ("kernel", "block", "sm", "start", "end")},
    }
    return BlockLog(**(columns | changes))


def replayed(log: BlockLog, gpu: gs.GPU, tolerance: int = 0, **options: Any) -> Agreement:
    run = gs.simulate.hierarchy(log.launches(**options).launches, gpu, channels=0)
    return agreement(run, log, tolerance=tolerance)


# Launches of a log -------------------------------------------------------------------------------


def test_a_simulated_log_replays_exactly() -> None:
    """Random systems with priorities, interference and every limit: each block at its time on its
    SM, and also when the clock is another one."""
    for seed in range(150):
        gpu = small_gpu(random.Random(seed))
        log = simulation(seed, gpu)
        found = replayed(log, gpu)
        assert found.exact, seed
        assert not found.start_error.any() and not found.end_error.any()
        assert not found.block_start_error.any() and found.same_sm.all()
        assert found.kernels_within == found.blocks_within == found.blocks_on_sm == 1.0
        assert found.why() == "" and found.differences == ()
        shift = random.Random(seed).choice([-(10**15), 7, 10**18])
        values = log.__reduce__()[1][0] | {"joined": None}
        times = {key: getattr(log, key) + shift for key in ("launch", "start", "end")}
        again = BlockLog(**(values | times))
        assert again.launches().origin == log.launches().origin + shift
        assert again.launches().launches == log.launches().launches
        assert replayed(again, gpu).exact, seed


def test_a_log_survives_the_files_and_replays_exactly(tmp_path: Path) -> None:
    gpu = small_gpu(random.Random(3))
    write_examiner(tmp_path, simulation(3, gpu), gpu)
    assert replayed(read_examiner(tmp_path), gpu).exact


def test_contexts_need_a_time_slice() -> None:
    launches = gs.Launches([0, 0], [100, 100], stream=[0, 1], threads=1024, stream_context=[0, 1])
    run = gs.simulate.hierarchy(launches, SMALL, timeslice=30)
    log = log_of(run)
    made = log.launches()
    assert made.launches.contexts == 2
    assert any("time slices of the 2 contexts" in sentence for sentence in made.assumptions)
    with pytest.raises(ValueError, match="timeslice: got None"):
        gs.simulate.hierarchy(made.launches, SMALL)


def test_latency_is_added_and_never_negative() -> None:
    log = BlockLog(["a", "b"], [0, 1], [0, 500], 1, 32, 0, 0, [0, 1], 0, 0, [40, 535], [300, 900])
    # The longest on an idle GPU; the second kernel had started by then.
    assert log.launches().launches.time.tolist() == [40, 535]
    assert log.launches(latency=36).launches.time.tolist() == [36, 535]
    assert log.launches(latency=7).launches.time.tolist() == [7, 507]
    assert replayed(log, SMALL).exact
    assert log.launches(latency=0).launches.time.tolist() == [0, 500]
    assert log.launches(latency=[40, 35]).launches.time.tolist() == [40, 535]
    assert log.launches(latency=[40, 35]).origin == 0
    assert "40 ns after" in log.launches().assumptions[0]
    assert "35 to 40 ns after" in log.launches(latency=[40, 35]).assumptions[0]
    for wrong, error, message in (
        (-1, ValueError, r"latency: got -1"),
        ([1, 2, 3], ValueError, r"latency: got shape \(3,\), expected one number"),
        (2**59, OverflowError, r"latency: got 576460752303423488, expected less than 2\*\*59"),
        (1.5, ValueError, "latency"),
        ("1", (TypeError, ValueError), "latency"),
    ):
        with pytest.raises(error, match=message):
            log.launches(latency=wrong)


def test_a_kernel_that_something_else_held_up_is_launched_when_it_joined() -> None:
    """The second kernel of stream 0 joined at 400 for a reason that is not in the log; the third
    one, which was launched before that, stays behind it."""
    log = BlockLog(
        ["a", "b", "c"],
        0,
        [0, 10, 20],
        1,
        32,
        0,
        0,
        [0, 1, 2],
        0,
        0,
        [0, 400, 500],
        [100, 500, 600],
        joined=[0, 400, 500],
    )
    made = log.launches()
    assert made.launches.time.tolist() == [0, 400, 400]
    assert any("1 of 3 kernels" in sentence for sentence in made.assumptions)
    assert replayed(log, SMALL).exact
    # Rows in another order than the launches: a tick more keeps the order of the stream.
    order = [2, 1, 0]
    values = log.__reduce__()[1][0]
    turned = values | {
        key: np.asarray(values[key])[order]
        for key in (
            "name",
            "stream",
            "launch",
            "blocks",
            "threads",
            "regs",
            "smem",
            "priority",
            "context",
            "joined",
        )
    }
    turned["kernel"] = [2, 1, 0]
    again = BlockLog(**turned)
    assert again.launches().launches.time.tolist() == [401, 400, 0]
    assert replayed(again, SMALL).exact


def test_a_block_of_no_length_takes_a_tick() -> None:
    log = BlockLog(["a"], 0, 0, 2, 32, 0, 0, [0, 0], [1, 0], 0, [0, 0], [5, 0])
    made = log.launches()
    assert made.launches.block_times is not None
    times = made.launches.block_times[0]
    assert times is not None and times.tolist() == [1, 5]
    assert any("1 of 2 blocks ended when they started" in said for said in made.assumptions)
    assert replayed(log, SMALL).block_start_error.tolist() == [0, 0]


@pytest.mark.parametrize(
    ("columns", "error", "message"),
    [
        ({"priority": [0, -1, -1, -2]}, ValueError, r"priority\[0\]: got 0, expected -2"),
        ({"context": [1, 0, 0, 0]}, ValueError, r"context\[0\]: got 1, expected 0"),
        ({"launch": [0, 10, 120, -(2**59)]}, OverflowError, r"launch\[2\]: got 120, expected less"),
        ({"start": [-(2**62)] + [0] * 10}, OverflowError, r"start\[0\]: got -4611686018427387904"),
        ({"joined": [0, 0, 2**62, 0]}, OverflowError, r"joined\[2\]: got 4611686018427387904"),
    ],
)
def test_logs_that_cannot_be_simulated(columns: Any, error: Any, message: str) -> None:
    with pytest.raises(error, match=message):
        example(**columns).launches()


def test_an_empty_log() -> None:
    empty = BlockLog([], [], [], [], [], [], [], [], [], [], [], [])
    with pytest.raises(ValueError, match="log: got no kernels"):
        empty.launches()


# The two runs of a V100 that only the split of L1 and shared memory explains ----------------------


def test_three_streams_of_which_the_third_needs_another_carveout() -> None:
    """Kernels of 80 blocks and no shared memory, then one of 320 blocks with 40 KB: it waits for
    the end of the second, although there is room from the end of the first on."""
    launches = gs.Launches(
        [0, 1_100_000, 2_100_000],
        [2000 * MS, 3000 * MS, 4000 * MS],
        stream=[0, 1, 2],
        blocks=[80, 80, 320],
        threads=1024,
        smem=[0, 0, 40960],
        name=["K1", "K2", "K3"],
    )
    measured = log_of(gs.simulate.hierarchy(launches, V100))
    started, blocks = np.unique(measured.start[measured.kernel == 2], return_counts=True)
    assert started.tolist() == [3001_100_000, 7001_100_000] and blocks.tolist() == [160, 160]
    assert replayed(measured, V100).exact
    # By room alone, it would start a second earlier; the log violates the rules of such a GPU.
    by_room = replace(V100, carveout_rule="ignore")
    found = replayed(measured, by_room, tolerance=MS)
    assert found.start_error.tolist() == [0, 0, -1001_100_000]
    assert found.worst == 2 and not found.exact
    assert [(d.kernel, d.rule) for d in found.differences] == [(2, "idle")]
    assert "has room from 2000000000 on, but starts at 3001100000" in found.why()
    # The other way round: a GPU that ignores carve-outs, simulated with them.
    other = log_of(gs.simulate.hierarchy(launches, by_room))
    late = replayed(other, V100, tolerance=MS)
    assert [(d.kernel, d.rule, d.error) for d in late.differences] == [
        (2, "carveout", 1001_100_000)
    ]
    assert "it waits from 2100000 to 3001100000 (carveout)" in late.why(2)


def test_kernels_with_shared_memory_avoid_the_sms_of_those_without() -> None:
    launches = gs.Launches(
        np.array([0, 0, 0, 200, 400, 3200]) * MS,
        1000 * MS,
        stream=[0, 0, 0, 1, 2, 1],
        blocks=[6, 2, 2, 4, 2, 2],
        threads=[768, 512, 1024, 256, 256, 512],
        smem=[0, 0, 0, 32768, 32768, 0],
        name=["K1", "K2", "K3", "K4", "K5", "K6"],
    )
    measured = log_of(gs.simulate.hierarchy(launches, V100))
    of = [set(measured.sm[measured.kernel == kernel].tolist()) for kernel in range(6)]
    assert not (of[3] | of[4]) & of[0]
    assert measured.first[3] == 200 * MS and measured.first[4] == 400 * MS
    assert replayed(measured, V100).exact
    by_room = replayed(measured, replace(V100, carveout_rule="ignore"))
    assert not by_room.start_error.any()
    assert by_room.blocks_on_sm < 1
    # Clocks and launches of a measurement: a tolerance of 1 ms covers them, SMs stay the same.
    noise = np.random.default_rng(0)
    start = measured.start + noise.integers(0, 30_000, len(measured.start))
    end = np.maximum(start, measured.end + noise.integers(0, 30_000, len(start)))
    blurred = log_of(
        gs.simulate.hierarchy(launches, V100), launch=launches.time - 100_000, start=start, end=end
    )
    found = replayed(blurred, V100, tolerance=MS)
    assert found.exact and found.kernels_within == 1.0
    assert not replayed(blurred, V100, tolerance=10).exact


def twin(run: gs.simulate.Hierarchy, log: BlockLog, origin: int) -> dict[str, list[Any]]:
    """Errors and SMs, block by block."""
    blocks = run.blocks
    assert blocks is not None
    rows = zip(blocks.kernel, blocks.block, blocks.sm, blocks.start, blocks.end, strict=True)
    ran = {(int(k), int(b)): (int(sm), int(s), int(e)) for k, b, sm, s, e in rows}
    errors, same = [], []
    starts: dict[int, list[tuple[int, int]]] = {}
    ends: dict[int, list[tuple[int, int]]] = {}
    rows = zip(log.kernel, log.block, log.sm, log.start, log.end, strict=True)
    for k, b, sm, start, end in ((int(v) for v in row) for row in rows):
        on, begun, done = ran[k, b]
        errors.append(begun + origin - start)
        same.append(on == sm)
        starts.setdefault(k, []).append((begun + origin, start))
        ends.setdefault(k, []).append((done + origin, end))
    return {
        "block_start_error": errors,
        "same_sm": same,
        "start_error": [
            min(a for a, _ in starts[k]) - min(b for _, b in starts[k]) for k in range(len(log))
        ],
        "end_error": [
            max(a for a, _ in ends[k]) - max(b for _, b in ends[k]) for k in range(len(log))
        ],
    }


def test_arbitrary_logs_as_the_twin() -> None:
    """Logs that no GPU makes: launches keep every stream's order, and errors are those of a loop
    over the blocks; every difference is told."""
    told = set()
    for seed in range(300):
        rng = random.Random(seed)
        gpu = small_gpu(rng)
        log = arbitrary(rng, gpu)
        streams = [set(zip(log.context, log.priority, log.stream, strict=True))]
        if not len(log) or not fitting(log, gpu) or len(streams[0]) != len(np.unique(log.stream)):
            continue
        latency = rng.choice([None, 0, 3])
        made = log.launches(latency)
        assert made.launches.time.min() >= 0
        order = np.lexsort((log.launch, log.stream))
        for before, after in itertools.pairwise(order.tolist()):
            if log.stream[before] == log.stream[after]:
                times = (made.launches.time[before], before), (made.launches.time[after], after)
                assert times[0] < times[1], seed
        run = gs.simulate.hierarchy(made.launches, gpu, channels=0, timeslice=rng.randint(1, 9))
        found = agreement(run, log, tolerance=rng.choice([0, 2]))
        for key, values in twin(run, log, made.origin).items():
            assert getattr(found, key).tolist() == values, (seed, key)
        assert found.exact == (
            found.same_sm.all() and (abs(found.block_start_error) <= found.tolerance).all()
        )
        late = np.flatnonzero(abs(found.start_error) > found.tolerance).tolist()
        assert sorted(d.kernel for d in found.differences) == late
        for difference in found.differences:
            assert difference.sentence == found.why(difference.kernel) != ""
            told.add(difference.rule)
    assert told >= {"idle", "earlier", "launch", "slice", "stream", "queue", "warps"}


# Agreement ---------------------------------------------------------------------------------------


def test_errors_and_shares() -> None:
    """Kernel b starts 30 late on the GPU, and so does c, which waits for it in the log."""
    log = BlockLog(
        ["a", "b", "c"], [0, 1, 2], [0, 10, 20], 1, 1024, 0, 0, [0, 1, 2], 0, 0,
        [0, 130, 200], [100, 200, 290],
    )  # fmt: skip
    found = replayed(log, SMALL)
    assert found.start_error.tolist() == [0, -30, -30]
    assert found.end_error.tolist() == [0, -30, -30]
    assert found.kernels_within == pytest.approx(1 / 3)
    assert found.blocks_on_sm == 1.0 and found.worst == 1
    assert [(d.kernel, d.rule, d.blocker) for d in found.differences] == [
        (1, "idle", -1),
        (2, "earlier", 1),
    ]
    assert str(found.differences[1]) == (
        "c (kernel 2): measured start is 30 later: the log violates no rule here; b (kernel 1) "
        "differs before it"
    )
    assert repr(found) == (
        "<Agreement: 33.3 % of 3 kernels within 0; 33.3 % of 3 blocks start within 0, 100 % on the "
        "same SM; largest errors b (kernel 1): start -30, end -30>"
    )
    assert "has room from 100 on" in found._repr_html_()
    assert replayed(log, SMALL, tolerance=30).exact
    assert replayed(log, SMALL, tolerance=30).why(1) == ""


def test_a_simulated_start_that_is_later_names_its_wait() -> None:
    """Blocks of both kernels ran at once in the log, for which the simulated GPU has no room."""
    log = BlockLog(
        ["a", "b"], [0, 1], [0, 10], 1, 1024, 0, 0, [0, 1], 0, [0, 1], [0, 10], [100, 110]
    )
    two = replace(SMALL, sms=2, sm_order=[0, 1])
    assert replayed(log, two).exact
    run = gs.simulate.hierarchy(log.launches().launches, SMALL)
    with pytest.raises(ValueError, match=r"sm\[1\]: got 1, expected 0 to 0, an SM of the run's"):
        agreement(run, log)
    on_one = BlockLog(["a", "b"], [0, 1], [0, 10], 1, 1024, 0, 0, [0, 1], 0, 0, [0, 10], [100, 110])
    late = replayed(on_one, SMALL)
    [difference] = late.differences
    assert (difference.rule, difference.error) == ("warps", 90)
    assert difference.sentence == (
        "b (kernel 1): simulated start is 90 later: it waits from 10 to 100 (warps)"
    )


def test_a_kernel_that_did_not_wait_was_launched_later() -> None:
    early = BlockLog(["a"], 0, 25, 1, 32, 0, 0, [0], 0, 0, 10, 20)  # by clocks that differ
    [difference] = replayed(early, SMALL, latency=9).differences
    assert (difference.rule, difference.error) == ("launch", 15)
    assert "it is launched at 25 and does not wait" in difference.sentence
    log = BlockLog(["a"], 0, 0, 1, 32, 0, 0, [0], 0, 0, 10, 20)
    run = gs.simulate.hierarchy(log.launches(latency=0).launches, SMALL)
    [difference] = agreement(run, log, latency=10).differences
    assert difference.rule == "" and "no kernel differs before it" in difference.sentence
    assert agreement(run, log, latency=0).differences[0].rule == "idle"
    assert agreement(run, log, origin=10).exact


def test_the_wait_and_its_blocker() -> None:
    launches = gs.Launches([0, 1, 2], 50, stream=[0, 1, 2], blocks=[1, 1, 2], threads=1024)
    log = log_of(gs.simulate.hierarchy(launches, SMALL))
    found = replayed(log, SMALL)
    assert found.exact
    urgent = gs.simulate.hierarchy(
        log.launches().launches.replace(stream_priority=[0, 0, -1]), SMALL
    )
    differences = {d.kernel: d for d in agreement(urgent, log).differences}
    assert (differences[1].error, differences[1].blocker) == (100, 2)
    assert differences[1].sentence == (
        "kernel 1 (kernel 1): simulated start is 100 later: it waits for kernel 2 (kernel 2) from "
        "2 to 100 (priority), and starts at 150"
    )
    assert differences[2].error == -50


def test_more_than_ten_differences_are_counted() -> None:
    n = 15
    log = BlockLog(
        [f"k{i}" for i in range(n)], range(n), 0, 1, 32, 0, 0, range(n), 0, 0, 7, range(8, 8 + n)
    )
    found = replayed(log, SMALL, latency=0)
    assert len(found.differences) == n
    assert found.why().splitlines()[-1] == "5 more kernels differ"


def test_tables() -> None:
    gpu = small_gpu(random.Random(5))
    log = simulation(5, gpu)
    found = replayed(log, gpu)
    kernels, blocks = found.to_frame(), found.to_frame(by="block")
    assert len(kernels) == len(log) == len(found) and len(blocks) == len(log.kernel)
    assert kernels["on_sm"].tolist() == log.blocks.tolist()
    assert kernels["measured_start"].tolist() == kernels["simulated_start"].tolist()
    assert blocks["same_sm"].all() and not blocks["start_error"].any()
    with pytest.raises(ValueError, match="by: got 'sm'"):
        found.to_frame(by="sm")  # type: ignore[arg-type]
    with pytest.raises(IndexError, match="kernel: got"):
        found.why(len(log))
    assert found.start_error.flags.writeable is False
    again = pickle.loads(pickle.dumps(found))
    assert again.start_error.tolist() == found.start_error.tolist()


def test_runs_of_other_launches_are_refused() -> None:
    log = example()
    made = log.launches().launches
    gpu = gs.GPU(sms=2, threads_per_sm=2048, blocks_per_sm=32)
    run = gs.simulate.hierarchy(made, gpu)
    assert isinstance(agreement(run, log), Agreement)
    for changes, message in (
        ({"threads": [1024, 512, 512, 256]}, "launch 1: threads: got 512, the log has 1024 for 's"),
        ({"blocks": [4, 4, 2, 2], "block_times": None}, "launch 3: blocks: got 2, the log has 1"),
        ({"stream": [0, 1, 1, 0]}, "launch 2: stream: got 1, the log has 2"),
        ({"smem": 64}, "launch 0: smem: got 64, the log has 0"),
        (
            {"kind": ["kernel", "kernel", "kernel", "copy_in"], "block_times": None},
            "launch 3: got a copy",
        ),
    ):
        other = gs.simulate.hierarchy(made.replace(**changes), gpu)
        with pytest.raises(ValueError, match=f"run: {message}"):
            agreement(other, log)
    short = gs.simulate.hierarchy(gs.Launches([0], [1]), gpu)
    with pytest.raises(ValueError, match="run: got 1 launches, 4 kernels in the log; expected a"):
        agreement(short, log)
    with pytest.raises(ValueError, match="run: got a run without its blocks"):
        agreement(gs.simulate.hierarchy(made, gpu, blocks=False), log)
    spent = gs.simulate.hierarchy(made, gpu, budget=gs.Budget(states=1))
    with pytest.raises(ValueError, match="run: got the outcome 'budget', expected 'done'"):
        agreement(spent, log)
    with pytest.raises(TypeError, match="run: got BlockLog, expected the Hierarchy"):
        agreement(log, log)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="log: got Hierarchy, expected BlockLog"):
        agreement(log, run)  # type: ignore[arg-type]
    for key in ("tolerance", "latency"):
        with pytest.raises(ValueError, match=f"{key}: got -1, expected 0 to"):
            agreement(run, log, **{key: -1})
