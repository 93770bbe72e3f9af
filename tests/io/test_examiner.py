"""Logs of blocks: files of cuda_scheduling_examiner, and violations of the rules."""

from __future__ import annotations

import json
import pickle
import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hierarchy_systems import fits, random_system, simulated

import gpusched as gs
from gpusched.io import check_rules, read_examiner, write_examiner
from gpusched.io.block_log import BlockLog

COLUMNS = ("stream", "threads", "regs", "smem", "blocks")


def small_gpu(rng: random.Random) -> gs.GPU:
    sms = rng.randint(1, 4)
    order = list(range(sms))
    rng.shuffle(order)
    return gs.GPU(
        sms=sms,
        threads_per_sm=32 * rng.choice([4, 8, 16]),
        blocks_per_sm=rng.randint(1, 6),
        regs_per_sm=rng.choice([4096, 8192]),
        smem_per_sm=rng.choice([1024, 2048]),
        sm_order=order,
        carveout_rule=rng.choice(["ignore", "match", "at_least"]),
        carveouts=rng.choice([[0, 512, 1024, 2048], [256, 1024], [2048]]),
        resident_grids=rng.choice([1, 2, 3, 4, 128, 128, 128]),
    )


def simulation(seed: int, gpu: gs.GPU, contexts: int = 1) -> BlockLog:
    """A log of the core's simulator: kernels alone, whose times are all different.

    The rows are in the order of streams and launches, as in files that are read.
    """
    rng = random.Random(seed)
    while True:
        system = random_system(rng, launches=20, limits=gpu._limits.tolist())
        if len(system["timeslice"]) <= contexts:
            break
    n = len(system["time"])
    time = rng.sample(range(3 * n), n)
    rows = sorted(range(n), key=lambda k: (system["stream"][k], time[k]))
    used = sorted(set(system["stream"]))
    system |= {
        "sm_order": gpu.sm_order.tolist(),
        "policy": "most_room",
        "channels": 0,
        "resident_grids": gpu.resident_grids,
        "kind": [0] * n,
        "after": None,
        "carveout": None,  # a preferred one is in no log, as what follows is
        **dict.fromkeys(("graph", "programmatic", "trigger", "cooperative", "cluster")),
        **dict.fromkeys(("partition", "partition_sms", "partition_limit", "own_queues")),
        "stream_kind": [1] * len(system["context"]),
        "time": [time[k] for k in rows],
    }
    for key in (*COLUMNS, "duration"):
        system[key] = [system[key][k] for k in rows]
    if system["interference"]:
        system["interference"] = [system["interference"][k] for k in rows]
    result = simulated(system)
    kernel, block, sm, start, end = zip(*result["blocks"], strict=True)
    of_stream = {key: [system[key][s] for s in system["stream"]] for key in ("priority", "context")}
    numbers = sorted(set(of_stream["context"]))
    return BlockLog(
        name=[f"kernel {k}" for k in rows],
        launch=system["time"],
        kernel=kernel,
        block=block,
        sm=sm,
        start=start,
        end=end,
        priority=of_stream["priority"],
        context=[numbers.index(c) for c in of_stream["context"]],
        **{key: system[key] for key in COLUMNS[1:]},
        stream=[used.index(s) for s in system["stream"]],
    )


def changed(log: BlockLog, **columns: Any) -> BlockLog:
    values = log.__reduce__()[1][0] | {"joined": None}
    return BlockLog(**(values | columns))


@pytest.mark.long
@pytest.mark.parametrize("contexts", [1, 3])
def test_a_simulated_log_survives_the_files_and_breaks_no_rule(
    tmp_path: Path, contexts: int
) -> None:
    for seed in range(40):
        gpu = small_gpu(random.Random(seed))
        log = simulation(seed, gpu, contexts)
        folder = tmp_path / str(seed)
        folder.mkdir()
        paths = write_examiner(folder, log, gpu)
        assert read_examiner(paths) == log
        assert read_examiner(folder) == log
        assert check_rules(read_examiner(folder), gpu) == [], seed
        assert check_rules(log, gpu, tolerance=2) == [], seed


def test_late_starts_and_early_ends_within_the_tolerance_break_no_rule() -> None:
    """Whatever the scheduler did right stays right when each time is moved by a bit."""
    # 1099 and 1252: two kernels that join together, and that the log cannot tell apart.
    for seed in (*range(60), 1099, 1252):
        rng = np.random.default_rng(seed)
        gpu = small_gpu(random.Random(seed))
        log = simulation(seed, gpu, 3)
        start = 10 * log.start + rng.integers(0, 5, len(log.start))
        end = 10 * log.end - rng.integers(0, 5, len(log.start))
        measured = changed(log, launch=10 * log.launch, start=start, end=end)
        assert check_rules(measured, gpu, tolerance=9) == [], seed


# Two SMs of 64 warps, three streams, of which the last one is urgent.
GPU = gs.GPU(sms=2, threads_per_sm=2048, blocks_per_sm=32, smem_per_sm=65536)
EXAMPLE = {
    "name": ["first", "second", "urgent", "again"],
    "stream": [0, 1, 2, 0],
    "launch": [0, 10, 120, 20],
    "blocks": [4, 4, 2, 1],
    "threads": [1024, 1024, 512, 256],
    "regs": [0, 0, 0, 0],
    "smem": [0, 0, 0, 0],
    "priority": [0, 0, -1, 0],
    "kernel": [0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 3],
    "block": [0, 1, 2, 3, 0, 1, 2, 3, 0, 1, 0],
    "sm": [0, 1, 0, 1, 0, 1, 0, 1, 0, 1, 0],
    "start": [0, 0, 0, 0, 100, 100, 100, 100, 200, 200, 200],
    "end": [100, 100, 100, 100, 200, 200, 200, 200, 250, 260, 300],
}


def example(**columns: Any) -> BlockLog:
    return BlockLog(**(EXAMPLE | columns))


def put(key: str, *changes: tuple[int, int]) -> dict[str, list[int]]:
    column = list(EXAMPLE[key])
    for row, value in changes:
        column[row] = value
    return {key: column}


def test_the_example_keeps_all_rules() -> None:
    log = example()
    assert log.joined.tolist() == [0, 10, 120, 100]
    assert (log.first.tolist(), log.dispatched.tolist(), log.ended.tolist()) == (
        [0, 100, 200, 200],
        [0, 100, 200, 200],
        [100, 200, 260, 300],
    )
    assert check_rules(log, GPU) == []


@pytest.mark.parametrize(
    ("columns", "rule", "event", "said"),
    [
        # The urgent kernel's blocks the other way round: of equal SMs the first one comes first.
        (put("sm", (8, 1), (9, 0)), "placement", (2, 0, 200), "SM 0 has room for 4"),
        (put("sm", (10, 1)), "placement", (3, 0, 200), "SM 0 has room for 6"),
        # Three blocks of 32 warps on one SM.
        (put("sm", (6, 1)), "limits", (1, 3, 100), "64 warps for it: 64 are taken, 32 needed"),
        # A block of the second kernel while the first one fills the GPU.
        (put("start", (4, 50)), "limits", (1, 0, 50), "64 warps for it: 64 are taken"),
        # The second kernel of the first stream while the first one runs.
        (put("start", (10, 90)), "stream", (3, 0, 90), "before kernel 0 of its stream ends at 100"),
        (put("launch", (2, 210)), "stream", (2, 0, 200), "before its launch at 210"),
        # Not in the order of the queue.
        (put("launch", (0, -5), (1, -9)), "queue", (0, 0, 0), "kernel 1 ahead in its queue"),
        # The last kernel while the urgent one waits, which had room as well.
        (put("start", (8, 220), (9, 220)) | put("end", (8, 270), (9, 270)), "priority",
         (3, 0, 200), "kernel 2 of priority -1 waits from 120 to 220"),
        (put("start", (8, 220), (9, 220)) | put("end", (8, 270), (9, 270)), "idle",
         (2, 0, 200), "has room from 200 on, but starts at 220"),
        (put("start", (10, 230)), "idle", (3, 0, 200), "has room from 200 on, but starts at 230"),
    ],
)  # fmt: skip
def test_broken_logs_are_caught(
    columns: dict[str, Any], rule: str, event: tuple[int, int, int], said: str
) -> None:
    found = check_rules(example(**columns), GPU)
    of_rule = [v for v in found if v.rule == rule]
    assert (of_rule[0].kernel, of_rule[0].block, of_rule[0].time) == event
    assert said in of_rule[0].message
    name = EXAMPLE["name"][event[0]]
    assert str(of_rule[0]).startswith(f"{rule}: block {event[1]} of {name} (kernel {event[0]}, ")


def test_resources_are_named() -> None:
    for limit, regs, said in (
        ({"blocks_per_sm": 2}, 0, "2 block slots for it: 2 are taken, 1 needed"),
        ({}, 64, "65536 registers for it: 65536 are taken, 32768 needed"),
        ({"smem_per_sm": 40960}, 0, "40960 shared memory for it: 40960 are taken, 20480 needed"),
    ):
        values = {"sms": 1, "threads_per_sm": 2048, "blocks_per_sm": 32, "smem_per_sm": 98304}
        log = BlockLog(
            ["k"], 0, 0, 3, 512, regs, 20480, kernel=[0] * 3, block=[0, 1, 2], sm=0, start=0, end=9
        )
        found = check_rules(log, gs.GPU(**(values | limit)))
        assert [v.rule for v in found] == ["limits"]
        assert said in found[0].message


def test_blocks_of_different_carveouts_on_one_sm() -> None:
    """Kernels of 0 and 20 KB: with "match" they share no SM, and the second one waits for one."""
    gpu = gs.GPU.preset("V100").replace(sms=2, sm_order=[0, 1])
    log = BlockLog(["a", "b"], [0, 1], 0, 1, 128, 0, [0, 20480], [0, 1], 0, [0, 0], [0, 1], 9)
    found = check_rules(log, gpu)
    assert [v.rule for v in found] == ["idle", "limits"]
    assert "starts at 1 on SM 0, which runs blocks of another carve-out" in found[1].message
    apart = changed(log, sm=[0, 1])
    assert [v.rule for v in check_rules(apart, gpu)] == ["idle"]
    late = changed(log, start=[0, 9], end=[9, 12])
    one = gpu.replace(sms=1, sm_order=[0])
    assert check_rules(late, one) == []
    assert [v.rule for v in check_rules(late, one.replace(carveout_rule="ignore"))] == ["idle"]


def test_damage_to_simulated_logs_is_caught() -> None:
    """A block that starts a tick early, or on another SM, always breaks a rule."""
    caught = moved = 0
    for seed in range(60):
        rng = random.Random(seed)
        gpu = small_gpu(rng)
        if gpu.carveout_rule == "at_least":  # which carve-out an SM has is then in no log
            gpu = gpu.replace(carveout_rule="match")
        log = simulation(seed, gpu)
        row = rng.randrange(len(log.kernel))
        k, b = int(log.kernel[row]), int(log.block[row])
        start = log.start.copy()
        start[row] -= 1
        found = check_rules(changed(log, start=start), gpu)
        assert any((v.kernel, v.block) == (k, b) for v in found), seed
        caught += 1
        if gpu.sms > 1:
            sm = log.sm.copy()
            sm[row] = (sm[row] + 1) % gpu.sms
            found = check_rules(changed(log, sm=sm), gpu)
            assert any(
                v.rule in ("placement", "limits") and (v.kernel, v.block) == (k, b) for v in found
            ), seed
            moved += 1
    assert caught == 60
    assert moved > 20


def test_measured_times_need_a_tolerance() -> None:
    """Blocks of a real GPU start some time after others ended, and not all at once."""
    rng = random.Random(7)
    start = [t + rng.randint(1, 9) for t in EXAMPLE["start"]]
    end = [t - rng.randint(1, 9) for t in EXAMPLE["end"]]
    log = example(start=start, end=end)
    assert check_rules(log, GPU) != []
    assert check_rules(log, GPU, tolerance=20) == []
    # Violations that no delay below the tolerance explains are still found.
    late = [*start[:10], 270]
    end[10] = 300
    rules = [v.rule for v in check_rules(example(start=late, end=end), GPU, tolerance=20)]
    assert rules == ["idle"]
    swapped = example(start=start, end=end, sm=[0, 1, 0, 1, 0, 1, 0, 0, 0, 1, 0])
    assert check_rules(swapped, GPU, tolerance=20)[0].rule == "limits"


def test_contexts_share_no_queue() -> None:
    """Another application's kernel may start in between; time slices are not known."""
    late = put("start", (10, 230))
    assert check_rules(example(**late, context=[0, 0, 0, 0]), GPU) != []
    other = example(**late, context=[0, 1, 0, 0])
    assert [v.rule for v in check_rules(other, GPU)] == []


# As the tool writes it, with one field less per line and none of the fields that gpusched adds.
FILE = """{
"scenario_name": "Two streams",
"benchmark_name": "Timer Spin",
"label": "K1",
"max_resident_threads": 4096,
"data_size": 0,
"release_time": 0.200000,
"PID": 4213,
"TID": 4215,
"times": [{},
{"copy_in_times": [0.1,0.2], "execute_times": [0.2,0.9], "copy_out_times": [0.9,1.0],
 "cpu_times": [0.1,1.0]},
{"kernel_name": "GPUSpin", "block_count": 2, "thread_count": 512, "shared_memory": 4096,
 "cuda_launch_times": [0.200000123, 0.200030000, 0.000000000],
 "block_times": [0.200100001,0.450000000,0.200100002,0.450000033],
 "block_smids": [0,1], "cpu_core": 3}
]}"""


def test_a_file_of_the_tool(tmp_path: Path) -> None:
    path = tmp_path / "timer_spin_0.json"
    path.write_text(FILE)
    log = read_examiner(path)
    assert (log.name.tolist(), log.stream_name) == (["GPUSpin"], ("K1",))
    assert (log.launch.tolist(), log.blocks.tolist()) == ([200_000_123], [2])
    assert (log.threads.tolist(), log.smem.tolist()) == ([512], [4096])
    assert log.start.tolist() == [200_100_001, 200_100_002]
    assert log.end.tolist() == [450_000_000, 450_000_033]
    assert (log.sm.tolist(), log.regs.tolist(), log.priority.tolist()) == ([0, 1], [0], [0])
    both = read_examiner([path, path], regs=[32, 40], priority=-1)
    assert (both.regs.tolist(), both.priority.tolist()) == ([32, 40], [-1, -1])
    assert both.stream.tolist() == [0, 1]
    assert check_rules(log, GPU, tolerance=200_000) == []
    assert [v.rule for v in check_rules(log, GPU)] == ["idle"]


def test_other_processes_are_other_contexts(tmp_path: Path) -> None:
    for number, process in enumerate((30, 10, 30)):
        (tmp_path / f"{number}.json").write_text(FILE.replace("4213", str(process)))
    assert read_examiner(tmp_path).context.tolist() == [1, 0, 1]


def test_times_are_exact(tmp_path: Path) -> None:
    time = 9_123_456_789_012_345_678  # no float tells it from its neighbours
    log = BlockLog(["k"], 0, -5, 1, 32, 0, 0, [0], 0, 0, time, time + 1)
    write_examiner(tmp_path, log)
    assert read_examiner(tmp_path) == log
    assert json.loads((tmp_path / "stream_0.json").read_text())["times"][0] == {}


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ('"times": [{}', '"tames": [{}', "got JSON without a list of times, expected a log"),
        ("{}", "3", r"times\[0\]: got 3, expected an object"),
        ("]}", "", "expected JSON: Expecting ',' delimiter: line 17"),
        ('"block_count": 2', '"block_count": 2.5', r"block_count: got 2\.5, expected an integer"),
        ('"block_count": 2', '"block_count": 3', r"block_times: got \[Decimal\('0\.200100001'\),"),
        ('"block_count": 2', '"block_count": true', "block_count: got True, expected an integer"),
        ('"thread_count": 512, ', "", "thread_count: got None, expected an integer from"),
        ("[0,1]", "[0]", r"block_smids: got \[0\], expected a list of 2 numbers"),
        ("[0,1]", "[0,-1]", r"block_smids\[1\]: got -1, expected an integer from"),
        ("0.450000033", "0.2", r"block_times\[3\]: got 200000000 ns, expected at"),
        ("0.450000033", "NaN", r"block_times\[3\]: got nan, expected seconds"),
        ("0.450000033", "1e400", r"block_times\[3\]: got 1E\+400, expected seconds"),
        ("0.450000033", "9" * 400, r"block_times\[3\]: got an integer of 1329 bits,"),
        ("0.450000033", '"0.5"', r"block_times\[3\]: got '0\.5', expected seconds"),
        ("4213", "-1", "PID: got -1, expected an integer from 0 on, of 64"),
        ('"shared_memory": 4096', '"shared_memory": -1', "shared_memory: got -1, expected an"),
    ],
)
def test_files_that_are_refused(tmp_path: Path, old: str, new: str, said: str) -> None:
    path = tmp_path / "broken.json"
    assert old in FILE
    path.write_text(FILE.replace(old, new, 1) if old != "]}" else FILE[:-2])
    with pytest.raises(ValueError, match=said) as error:
        read_examiner(path)
    assert str(path) in str(error.value)


def test_files_that_are_not_there(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        read_examiner(tmp_path / "none.json")
    with pytest.raises(ValueError, match="paths: got the folder"):
        read_examiner(tmp_path)
    with pytest.raises(ValueError, match="paths: got no file, expected at least one"):
        read_examiner([])
    (tmp_path / "a.json").write_text(FILE)
    with pytest.raises(ValueError, match="regs: got 2 numbers, expected 1, one per file"):
        read_examiner(tmp_path, regs=[1, 2])
    with pytest.raises(FileNotFoundError):
        write_examiner(tmp_path / "nowhere", example())
    with pytest.raises(ValueError, match="priority: got several values in stream 0,"):
        write_examiner(tmp_path, example(priority=[0, 0, -1, -1]))


@pytest.mark.parametrize(
    ("columns", "said"),
    [
        (put("kernel", (10, 4)), r"kernel\[10\]: got 4, expected 0 to 3"),
        (put("block", (1, 4)), r"block\[1\]: got 4, expected 0 to 3, a block of"),
        (put("block", (1, 0)), r"block\[1\]: got 0 of kernel 0 twice, expected once"),
        (put("blocks", (3, 2)), r"blocks\[3\]: got 2, expected 1, as in the log"),
        (put("end", (0, -1)), r"end\[0\]: got -1, expected at least the block's"),
        (put("threads", (1, 0)), r"threads\[1\]: got 0, expected a positive number"),
        ({"sm": [0, 1]}, r"sm: got shape \(2,\), expected \(11,\)"),
        ({"name": ["a", "b", 3, "d"]}, r"name\[2\]: got 3, expected a string"),
        ({"stream_name": ["a"]}, "stream_name: got 1 names, expected 3"),
    ],
)
def test_logs_that_are_refused(columns: dict[str, Any], said: str) -> None:
    with pytest.raises(ValueError, match=said):
        example(**columns)


def test_times_and_streams_beyond_reason_are_refused() -> None:
    for value in (2**62, -(2**62), -(2**63)):
        with pytest.raises(OverflowError, match=rf"launch\[1\]: got {value}, expected less than"):
            check_rules(example(**put("launch", (1, value))), GPU)
    with pytest.raises(ValueError, match=rf"stream\[1\]: got {2**40}, expected less than"):
        example(**put("stream", (1, 2**40)))


def test_checks_that_are_refused() -> None:
    with pytest.raises(TypeError, match="log: got int, expected BlockLog"):
        check_rules(3, GPU)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match=r"log\[0\]: got int, expected BlockLog"):
        check_rules({"a": 3}, GPU)  # type: ignore[dict-item]
    with pytest.raises(ValueError, match="tolerance: got -1, expected a non-negative number"):
        check_rules(example(), GPU, tolerance=-1)
    with pytest.raises(OverflowError, match=f"tolerance: got {2**62}, expected less than"):
        check_rules(example(), GPU, tolerance=2**62)
    with pytest.raises(ValueError, match="placement: got 'olmedo', expected one of most_room"):
        check_rules(example(), GPU, placement="olmedo")
    with pytest.raises(ValueError, match=r"sm\[3\]: got 7, expected an SM of the GPU"):
        check_rules(example(**put("sm", (3, 7))), GPU)
    with pytest.raises(ValueError, match=r"kernel 1 \(second\): got a block that fits no SM,"):
        check_rules(example(**put("smem", (1, 10**9))), GPU)


def test_a_log_is_a_value() -> None:
    log = example()
    assert pickle.loads(pickle.dumps(log)) == log
    assert log != example(**put("sm", (0, 1)))
    assert repr(log) == "<BlockLog: 11 blocks of 4 kernels in 3 streams>"
    with pytest.raises(ValueError, match="read-only"):
        log.sm[0] = 1
    empty = BlockLog([], [], [], [], [], [], [], [], [], [], [], [])
    assert check_rules(empty, GPU) == []
    assert len(empty) == 0


def test_a_log_as_a_table() -> None:
    pytest.importorskip("pandas")
    table = example().to_frame()
    assert len(table) == 11
    assert table["name"].tolist()[-1] == "again"
    assert not np.isin("stream_name", table.columns)


def test_the_simulator_and_the_rules_agree_on_what_fits() -> None:
    rng = random.Random(1)
    for _ in range(300):
        gpu = small_gpu(rng)
        threads, regs, smem = rng.randint(1, 600), rng.randint(0, 60), rng.randint(0, 2100)
        expected = fits(gpu._limits.tolist(), threads, regs, smem)
        assert (gs.occupancy(gpu, threads, regs, smem) > 0) == expected
