"""Configurations of cuda_scheduling_examiner as launches: libraries, iterations, refusals."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from test_replay import V100, log_of

import gpusched as gs
from gpusched.io import Replay, agreement, read_examiner, read_examiner_config, write_examiner

pytestmark = pytest.mark.python

MS = 10**6


def spin(label: str = "K", ns: Any = 5 * MS, **other: Any) -> dict[str, Any]:
    """A benchmark of timer_spin."""
    return {
        "filename": "./bin/timer_spin.so", "log_name": f"{label}.json", "label": label,
        "thread_count": 1024, "block_count": 2, "data_size": 0, "additional_info": ns, **other,
    }  # fmt: skip


def of(library: str, info: Any, label: str = "K", **other: Any) -> dict[str, Any]:
    return spin(label, info, filename=f"./bin/{library}.so", **other)


def write(path: Path, *benchmarks: Any, **settings: Any) -> Path:
    head = {"name": "test", "max_iterations": 1, "max_time": 0, "cuda_device": 0}
    path.write_text(json.dumps(head | {"benchmarks": list(benchmarks)} | settings))
    return path


def read(folder: Path, *benchmarks: Any, **settings: Any) -> Replay:
    return read_examiner_config(write(folder / "config.json", *benchmarks, **settings))


def test_spins(tmp_path: Path) -> None:
    replay = read(
        tmp_path,
        spin("one"),
        spin("two", "7000000", release_time=0.2),
        spin("three", None, release_time=0.000_000_001, block_count=[5, 1, 1], thread_count=[96]),
        {**spin("four", ""), "release_time": -1},
        spin("five", 0, stream_priority=-1),
        of("sharedmem_timer_spin", {"duration": 9, "shared_memory_size": 8192}, "six"),
    )
    launches = replay.launches
    assert launches.name == ("one", "two", "three", "four", "five", "six") == launches.stream_name
    assert launches.duration.tolist() == [5 * MS, 7 * MS, 10 * MS, 10 * MS, 1, 9]
    assert launches.time.tolist() == [0, 200 * MS, 1, 0, 0, 0]
    assert launches.blocks.tolist() == [2, 2, 5, 2, 2, 2]
    assert launches.threads.tolist() == [1024, 1024, 96, 1024, 1024, 1024]
    assert launches.smem.tolist() == [0, 0, 0, 0, 0, 32768]
    assert launches.stream_priority.tolist() == [0, 0, 0, 0, -1, 0]
    assert launches.stream_kind.tolist() == [0, 0, 0, 0, 1, 0]
    assert launches.contexts == 1 and replay.origin == 0
    assert "release times" in replay.assumptions[0]


def test_priorities_that_no_gpu_has_are_the_default(tmp_path: Path) -> None:
    launches = read(tmp_path, *(spin(str(p), stream_priority=p) for p in (-100, 1, 0, -5, -6)))
    assert launches.launches.stream_priority.tolist() == [0, 0, 0, -5, 0]
    assert launches.launches.stream_kind.tolist() == [0, 0, 1, 1, 0]


def test_the_second_run_of_the_v100(tmp_path: Path) -> None:
    """Kernels of several streams, with delays after the launch before and shared memory; and its
    prediction against a log of the run."""
    kernels = [
        [("K1", 6, 768, 0, 0), ("K2", 2, 512, 0, 0), ("K3", 2, 1024, 0, 0)],
        [("K4", 4, 256, 8192, 0.2), ("K6", 2, 512, 0, 3.0)],
        [("K5", 2, 256, 8192, 0)],
    ]
    benchmarks = [
        of(
            "multikernel",
            [
                {"kernel_label": name, "duration": 1000 * MS, "block_count": blocks,
                 "thread_count": threads, "shared_memory_size": words, "delay": delay}
                for name, blocks, threads, words, delay in stream
            ],
            f"stream {number}",
            thread_count=0,
            block_count=0,
            release_time=0.4 if number == 3 else 0,
        )
        for number, stream in enumerate(kernels, start=1)
    ]  # fmt: skip
    launches = read(tmp_path, *benchmarks).launches
    assert launches.name == ("K1", "K2", "K3", "K4", "K6", "K5")
    assert (launches.time // MS).tolist() == [0, 0, 0, 200, 3200, 400]
    assert launches.smem.tolist() == [0, 0, 0, 32768, 0, 32768]
    assert launches.stream.tolist() == [0, 0, 0, 1, 1, 2]
    run = gs.simulate.hierarchy(launches, V100)
    log = log_of(run)
    of_kernel = [set(log.sm[log.kernel == kernel].tolist()) for kernel in range(6)]
    assert not (of_kernel[3] | of_kernel[5]) & of_kernel[0]
    # The tool's logs of these benchmarks, in the same order, have the same rows.
    (tmp_path / "logs").mkdir()
    paths = write_examiner(tmp_path / "logs", log, V100)
    assert agreement(run, read_examiner(paths), origin=0).exact
    # The same as older versions write it.
    text = of("multikernel", "K1,1000000000,6,768,K2,1000000000,2,512,K3,1000000000,2,1024")
    old = read(tmp_path, text).launches
    assert old.name == ("K1", "K2", "K3") and old.blocks.tolist() == [6, 2, 2]


def test_actions_of_a_stream(tmp_path: Path) -> None:
    def action(label: str, delay: float = 0, **parameters: Any) -> dict[str, Any]:
        return {"type": "kernel", "label": label, "delay": delay, "parameters": parameters}

    actions = [
        action("A", duration=5),
        action("B", 0.5, duration=6, block_count=9, thread_count=64, shared_memory_size=4096),
        {"type": "synchronize", "label": "wait"},
        action("C", duration=7, type="timer_spin"),
    ]
    first = of("stream_action", {"use_null_stream": True, "actions": actions}, "S")
    launches = read(tmp_path, first, spin("other")).launches
    assert launches.name == ("A", "B", "C", "other")
    assert launches.time.tolist() == [0, 500 * MS, 500 * MS, 0]
    assert launches.blocks.tolist() == [2, 9, 2, 2]
    assert launches.smem.tolist() == [0, 16384, 0, 0]
    assert launches.stream_kind.tolist() == [2, 0]
    for broken, message in (
        ({"type": "memcpy"}, r"actions\[3\]: type: got 'memcpy', expected kernel"),
        ({"type": "synchronize", "parameters": {"device": True}}, "type: got 'synchronize'"),
        (action("D", duration=1, type="counter_spin"), "parameters: type: got 'counter_spin'"),
        (action("D", 0.1, duration=1), "delay: got 0.1, expected none after a synchronize"),
        (action("D"), "parameters: duration .*: got nothing"),
        (7, r"actions\[3\]: got 7, expected an object"),
        ({"type": "kernel", "parameters": 3}, "parameters: got 3, expected an object"),
    ):
        wrong = of("stream_action", {"actions": [*actions[:3], broken]})
        with pytest.raises(ValueError, match=message):
            read(tmp_path, wrong)


def test_null_streams_of_a_process_are_one(tmp_path: Path) -> None:
    two = [of("timer_spin_default_stream", MS, name) for name in "ab"]
    launches = read(tmp_path, two[0], spin("c"), two[1]).launches
    assert launches.stream.tolist() == [0, 1, 0]
    assert launches.stream_kind.tolist() == [2, 0]
    apart = read(tmp_path, two[0], spin("c"), two[1], use_processes=True)
    assert apart.launches.stream_context.tolist() == [0, 1, 2]
    assert apart.launches.stream_kind.tolist() == [2, 0, 2]
    assert any("share the GPU by time slices" in said for said in apart.assumptions)


def test_iterations_follow_each_other(tmp_path: Path) -> None:
    replay = read(
        tmp_path, spin("a", 3), spin("b", 5, max_iterations=2, release_time=1e-9), max_iterations=3
    )
    launches = replay.launches
    assert launches.name == ("a", "a", "a", "b", "b")
    assert launches.stream.tolist() == [0, 0, 0, 1, 1]
    assert launches.time.tolist() == [0, 0, 0, 1, 1]
    assert not any(launches.after)
    run = gs.simulate.hierarchy(launches, V100)
    assert run.first.tolist() == [0, 3, 6, 1, 6]
    together = read(
        tmp_path,
        spin("a", 3),
        spin("b", 5, release_time=1e-9),
        max_iterations=2,
        sync_every_iteration=True,
    )
    assert together.launches.after == ((), (1 - 1, 2), (), (0, 2))
    run = gs.simulate.hierarchy(together.launches, V100)
    assert run.first.tolist() == [0, 6, 1, 6]
    assert "all benchmarks end theirs" in together.assumptions[1]
    fewer = read_examiner_config(tmp_path / "config.json", iterations=1)
    assert len(fewer.launches) == 2 and not any(fewer.launches.after)


def test_times_that_the_caller_knows(tmp_path: Path) -> None:
    benchmarks = [of("counter_spin", 10**8, "count"), of("mandelbrot", None, "set"), spin("known")]
    path = write(tmp_path / "c", *benchmarks)
    with pytest.raises(ValueError, match=r"'count': filename: got 'counter_spin', whose time is"):
        read_examiner_config(path)
    given = {"count": 7, "set": 8, "known": 9}
    replay = read_examiner_config(path, durations=given)
    assert replay.launches.duration.tolist() == [7, 8, 9]
    with pytest.raises(ValueError, match="durations: got 'other', expected labels of benchmarks"):
        read_examiner_config(path, durations=given | {"other": 1})
    for wrong in (-1, 0, 2**59, "x", None, 1.5):
        with pytest.raises((TypeError, ValueError), match=r"durations\['set'\]: got"):
            read_examiner_config(path, durations=given | {"set": wrong})  # type: ignore[dict-item]
    numpy = given | {"set": np.int64(8)}
    assert read_examiner_config(path, durations=numpy).launches == replay.launches  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="durations: got int"):
        read_examiner_config(path, durations=3)  # type: ignore[arg-type]


def test_settings_that_change_nothing_or_are_told(tmp_path: Path) -> None:
    replay = read(
        tmp_path,
        spin("a", mps_thread_percentage=50, colour="red"),
        spin("b", sm_mask="0x0", cpu_core=2),
        {"filename": "./bin/cpu_random_walk.so", "label": "walk"},
        use_processes=True,
        max_time=3,
        max_iterations=2,
        speed=1,
    )
    assert len(replay.launches) == 4 and replay.launches.contexts == 2
    for sentence in (
        "limits of MPS are ignored: 'a'",
        "benchmarks on the CPU are left out: 'walk'",
        "unknown settings are ignored: 'colour', 'speed'",
        "max_time is not reached",
    ):
        assert sentence in replay.assumptions


@pytest.mark.parametrize(
    ("benchmark", "message"),
    [
        (3, r"benchmarks\[0\]: got 3, expected an object"),
        ({"label": "x"}, r"benchmarks\[0\]: filename: got nothing, expected the path of a library"),
        (spin(label="x") | {"label": 4}, "label: got 4, expected text"),
        (of("task_host", {}), "filename: got './bin/task_host.so', expected a benchmark, not a ne"),
        (spin(ns=-1), r"additional_info \(timer_spin\): got -1, expected ns from 0 to 2\*\*59 - 1"),
        (spin(ns="fast"), "additional_info .*: got 'fast'"),
        (spin(ns=10**30), "additional_info .*: got 1000000000000000000000000000000"),
        (spin(ns={"duration": 3}), "additional_info .*: got {'duration': 3}"),
        (spin(block_count=0), "'K': block_count: got 0, expected a positive number, or up to thr"),
        (spin(block_count=[1, 2, 3, 4]), r"block_count: got \[1, 2, 3, 4\]"),
        (spin(block_count=[2**20, 2**20]), r"block_count: got .*, expected a product below 2"),
        (spin(thread_count=None), "thread_count: got nothing"),
        (spin(thread_count=True), "thread_count: got True"),
        (spin(release_time="soon"), "release_time: got 'soon', expected seconds"),
        (spin(release_time=1e30), "release_time: got 1E\\+30, expected seconds"),
        (spin(stream_priority="high"), "stream_priority: got 'high', expected an integer"),
        (spin(max_iterations=-1), "max_iterations: got -1, expected a number of iterations"),
        (spin(max_iterations=0), r"max_iterations: got 0, expected a limit \(or give iterations="),
        (spin(max_iterations=10**6 + 1), "got 1000001 launches, expected at most 1000000"),
        (spin(sm_mask="0xff"), "sm_mask: got '0xff', expected no mask: SM masks are not simulated"),
        (of("sharedmem_timer_spin", 5), "additional_info: got 5, expected an object with duration"),
        (
            of("sharedmem_timer_spin", {"duration": 1, "shared_memory_size": -1}),
            "shared_memory_size: got -1",
        ),
        (of("multikernel", "K,1,2"), "additional_info: got 'K,1,2', expected four parts per"),
        (of("multikernel", []), r"additional_info: got \[\], expected a list of kernels"),
        (of("multikernel", [4]), r"additional_info\[0\]: got 4, expected an object"),
        (of("multikernel", [{"kernel_label": 3}]), r"additional_info\[0\]: label: got 3"),
        (
            of("multikernel", [{"kernel_label": "K", "copy_in_count": 9}]),
            "copy_in_count: got 9, expected no copies, which have no known time",
        ),
        (
            of("multikernel", "K,1,1,32,L,1,1,32", max_iterations=2)
            | {"additional_info": [{"kernel_label": "K", "duration": 1, "block_count": 1,
                                    "thread_count": 32, "delay": 0.1}]},
            "max_iterations: got 2, expected 1 for kernels with delays",
        ),
        (of("stream_action", {"actions": []}), r"actions: got \[\], expected at least one kernel"),
        (of("stream_action", None), "additional_info: got nothing, expected an object with a list"),
        (
            of("stream_action", {"use_null_stream": 1, "actions": []}),
            "use_null_stream: got 1, expected true or false",
        ),
        ({"filename": "cpu_random_walk.so"}, "benchmarks: got none that use the GPU"),
    ],
)  # fmt: skip
def test_benchmarks_that_are_refused(tmp_path: Path, benchmark: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        read(tmp_path, benchmark)


def test_iterations_beside_a_null_stream_are_refused(tmp_path: Path) -> None:
    null = of("timer_spin_default_stream", MS, "null")
    with pytest.raises(ValueError, match="'a': max_iterations: got 2, expected 1 beside a NULL"):
        read(tmp_path, spin("a", max_iterations=2), null)
    assert len(read(tmp_path, spin("a", max_iterations=2, stream_priority=0), null).launches) == 3
    assert len(read(tmp_path, null, max_iterations=4).launches) == 4


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[]", "got JSON without a list of benchmarks"),
        ('{"benchmarks": {}}', "got JSON without a list of benchmarks"),
        ('{"benchmarks": []}', "benchmarks: got none, expected at least one"),
        ('{"times": [{}]}', r"\(gs.io.read_examiner reads logs\)"),
        ("{", "expected JSON"),
        ("[" * 100_000, "expected JSON: nested too deeply"),
        ('{"benchmarks": [1], "max_iterations": "many"}', "max_iterations: got 'many'"),
        ('{"benchmarks": [1], "max_iterations": 1e999999}', "max_iterations: got"),
        ('{"benchmarks": [1], "max_iterations": NaN}', "max_iterations: got nan"),
        ('{"benchmarks": [1], "max_time": NaN}', "max_time: got nan, expected seconds"),
        ('{"benchmarks": [1], "use_processes": 1}', "use_processes: got 1, expected true or false"),
    ],
)
def test_files_that_are_no_configurations(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "config.json"
    path.write_text(text)
    with pytest.raises(ValueError, match=message) as error:
        read_examiner_config(path)
    assert str(path) in str(error.value)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**70), 2**70) | st.floats() | st.text(max_size=3)
    | st.sampled_from(["kernel", "timer_spin", "K,1,1,32", "10"]),
    lambda inner: st.lists(inner, max_size=3)
    | st.dictionaries(
        st.sampled_from(["type", "duration", "kernel_label", "label", "actions", "parameters",
                         "block_count", "thread_count", "delay", "shared_memory_size"]),
        inner,
        max_size=5,
    ),
    max_leaves=12,
)  # fmt: skip
KEYS = (
    *("filename", "label", "thread_count", "block_count", "additional_info", "max_iterations"),
    *("max_time", "release_time", "stream_priority", "sm_mask", "mps_thread_percentage"),
)


@pytest.mark.long
@pytest.mark.long
@given(
    st.sampled_from(["timer_spin", "sharedmem_timer_spin", "multikernel", "stream_action", "x"]),
    st.dictionaries(st.sampled_from(KEYS), JSON, max_size=3),
    st.dictionaries(
        st.sampled_from(["use_processes", "sync_every_iteration", "max_iterations", "name"]),
        JSON,
        max_size=2,
    ),
)
def test_any_values_are_read_or_refused(
    tmp_path_factory: pytest.TempPathFactory,
    library: str,
    changes: dict[str, Any],
    settings: dict[str, Any],
) -> None:
    path = tmp_path_factory.getbasetemp() / "any.json"
    write(path, of(library, 5) | changes, spin("other"), **settings)
    try:
        replay = read_examiner_config(path)
    except ValueError as error:
        assert str(path) in str(error) or str(error).startswith("duration")
        assert ": got" in str(error)
    else:
        assert len(replay.launches) >= 2


def test_arguments(tmp_path: Path) -> None:
    path = write(tmp_path / "c", spin())
    with pytest.raises(ValueError, match="iterations: got 0, expected a positive number"):
        read_examiner_config(path, iterations=0)
    with pytest.raises(ValueError, match="bytes"):
        read_examiner_config(path, max_bytes=10)
    with pytest.raises(FileNotFoundError):
        read_examiner_config(tmp_path / "none")
    with pytest.raises(TypeError, match="path"):
        read_examiner_config(3)  # type: ignore[arg-type]
