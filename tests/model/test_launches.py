"""Launches: columns, recording, errors."""

from __future__ import annotations

import pickle
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import gpusched as gs
from gpusched.model.launches import KINDS, STREAM_KINDS


def recorded() -> gs.Launches:
    work = gs.Launches.build(bandwidth=12)
    camera = work.stream(priority=-1, name="camera")
    default = work.stream(kind="null", context=1)
    first = work.copy_in(camera, bytes=640 * 480 + 1)
    edges = work.kernel(camera, blocks=16, threads=256, duration=30, longest=40, name="edges")
    work.kernel(default, blocks=2, block_times=[3, 4], at=10, after=edges)
    work.copy_out(default, duration=7, after=[first, edges])
    work.kernel(camera, duration=5, interference=(1.7, 1, 1.0001, 2), regs=32, smem=512)
    return work.done()


def test_recorder() -> None:
    launches = recorded()
    assert len(launches) == launches.n == 5
    assert [KINDS[code] for code in launches.kind] == [
        *("copy_in", "kernel", "kernel", "copy_out", "kernel")
    ]
    assert launches.time.tolist() == [0, 0, 10, 10, 10]
    assert launches.stream.tolist() == [0, 0, 1, 1, 0]
    assert launches.duration.tolist() == [25601, 30, 3, 7, 5]  # rounded up
    assert launches.longest.tolist() == [25601, 40, 4, 7, 5]
    assert launches.after == ((), (), (1,), (0, 1), ())
    assert launches.block_times is not None
    assert [None if t is None else t.tolist() for t in launches.block_times] == [
        *(None, None, [3, 4], None, None)
    ]
    assert launches.interference is not None
    assert launches.interference.tolist() == [[1000] * 4] * 4 + [[1700, 1000, 1001, 2000]]
    assert launches.name == ("copy in 0", "edges", "kernel 2", "copy out 3", "kernel 4")
    assert launches.stream_name == ("camera", "NULL stream")
    assert launches.stream_priority.tolist() == [-1, 0]
    assert launches.stream_context.tolist() == [0, 1] and launches.contexts == 2
    assert [STREAM_KINDS[code] for code in launches.stream_kind] == ["blocking", "null"]
    assert launches.blocks.tolist() == [0, 16, 2, 0, 1]
    assert launches.regs.tolist() == [0, 0, 0, 0, 32]
    assert repr(launches) == "<Launches: 3 kernels and 2 copies in 2 streams of 2 contexts>"


def test_a_recorder_goes_on() -> None:
    work = gs.Launches.build()
    stream = work.stream()
    work.kernel(stream, duration=3, at=5)
    one = work.done()
    work.kernel(stream, duration=4)
    two = work.done()
    assert one.time.tolist() == [5] and two.time.tolist() == [5, 5]
    assert repr(work) == "<Recorder: 2 launches in 1 streams>"


def test_equality_pickle_frame_html() -> None:
    launches = recorded()
    again = pickle.loads(pickle.dumps(launches))
    assert again == launches == recorded()
    assert not again.time.flags.writeable
    assert launches != gs.Launches([0], 1) and launches != 3
    times = gs.Launches([0, 0], 5, blocks=2, block_times=[[1, 2], None])
    assert times != gs.Launches([0, 0], 5, blocks=2, block_times=[[1, 3], None])
    assert times != gs.Launches([0, 0], 5, blocks=2, block_times=[None, [1, 2]])
    pytest.importorskip("pandas")
    frame = launches.to_frame()
    assert frame["kind"].tolist()[0] == "copy_in" and frame["after"][3] == (0, 1)
    assert frame["stream_kind"].tolist() == ["blocking"] * 2 + ["null"] * 2 + ["blocking"]
    many = gs.Launches(range(1000), 1, name=[f"<{i}>" for i in range(1000)])
    assert "&lt;0&gt;" in many._repr_html_() and "and 960 more launches" in many._repr_html_()
    assert len(many._repr_html_()) < 20_000


def test_columns() -> None:
    launches = gs.Launches([3, 1], [5, 6], kind=[0, "copy_out"], threads=[64, 0])
    assert launches.kind.tolist() == [0, 2] and launches.threads.tolist() == [64, 0]
    assert launches.streams == 1
    assert gs.Launches([], 1).n == 0
    assert gs.Launches([1, 2], 3, stream=[0, 4]).streams == 5
    assert gs.Launches([1], 3, stream_priority=[0, 1, 2]).streams == 3
    thousandths = gs.Launches([0], 3, interference=[[1000, 1500, 2000, 1000]])
    assert thousandths == gs.Launches([0], 3, interference=(1, 1.5, 2, Fraction(1)))
    whole = gs.Launches([0], 3, interference=(4, 2, 1, 1))
    assert whole.interference is not None and whole.interference.tolist() == [
        [4000, 2000, 1000, 1000]
    ]
    copies = gs.Launches([0, 0], kind="copy_in", bytes=[10, 20], bandwidth=0.3, duration=[0, 9])
    assert copies.duration.tolist() == [34, 9]


def test_from_schedule() -> None:
    tasks = gs.KernelTasks(
        [4, 5, 10], [1, 3, 3], blocks=[1, 2, 3], threads=64, name=["a", "b", "c"]
    )
    order = np.full((8, 3), -1)
    for mask in range(8):
        members = [i for i in (2, 0, 1) if mask >> i & 1]
        order[mask, : len(members)] = members
    table = gs.BatchTable([0, 1, 3, 4, 3, 4, 4, 6], order=order)
    schedule = gs.pbs.search(tasks, table).schedule
    launches = gs.Launches.from_schedule(schedule)
    frames = [schedule.members(frame) for frame in range(len(schedule))]
    assert (2, 1) in frames  # not by index
    assert launches.stream.tolist() == [i for batch in frames for i in batch]
    assert launches.name == tuple("abc"[i] for i in launches.stream)
    assert launches.time.tolist() == [
        start for start, batch in zip(schedule.start.tolist(), frames, strict=True) for _ in batch
    ]
    assert launches.stream_name == ("a", "b", "c") and launches.streams == 3
    # Where the plan is right, every kernel ends within its frame, whatever the GPU.
    ends = np.repeat(schedule.end, [len(batch) for batch in frames])
    assert (gs.simulate.hierarchy(launches, "Xavier").end <= ends).all()
    slow = gs.Launches.from_schedule(schedule, interference=[1, 3, 3, 1])
    assert (gs.simulate.hierarchy(slow, "Xavier").end > ends).any()
    with pytest.raises(TypeError, match="schedule: got NoneType, expected Schedule"):
        gs.Launches.from_schedule(None)  # type: ignore[arg-type]
    empty = gs.Schedule([], [], [], tasks)
    assert gs.Launches.from_schedule(empty).n == 0


def test_from_tasks() -> None:
    tasks = gs.KernelTasks(
        [4, 6], block_time=[1, 2], blocks=[3, 1], priority=[1, 0], offset=[0, 2], name=["a", "b"]
    )
    launches = gs.Launches.from_tasks(tasks, 13)
    assert launches.time.tolist() == [0, 2, 4, 8, 8, 12]
    assert launches.name == ("a", "b", "a", "b", "a", "a")
    assert launches.stream.tolist() == [0, 1, 0, 1, 0, 0]
    assert launches.duration.tolist() == [1, 2, 1, 2, 1, 1]
    assert launches.stream_name == ("a", "b")
    shared = gs.Launches.from_tasks(tasks, 13, stream=[0, 0])
    assert shared.streams == 1 and shared.time.tolist() == launches.time.tolist()
    assert gs.Launches.from_tasks(tasks, 0).n == 0
    stack = gs.KernelTasks([[4, 6]] * 2, 1)
    with pytest.raises(ValueError, match="tasks: got a stack of 2 sets, expected one set"):
        gs.Launches.from_tasks(stack, 10)
    assert gs.Launches.from_tasks(tasks, 13.0) == launches
    with pytest.raises(ValueError, match="until: got -1, expected a non-negative number"):
        gs.Launches.from_tasks(tasks, -1)
    with pytest.raises(
        ValueError, match="until: got 1000000000000 with 416666666667 launches, expected"
    ):
        gs.Launches.from_tasks(tasks, 10**12)


@pytest.mark.parametrize(
    ("arguments", "error", "text"),
    [
        ({"time": [0, -1]}, ValueError, r"time\[1\]: got -1, expected a non-negative number"),
        ({"time": [0.5]}, ValueError, r"time\[0\]: got 0.5, expected a whole number"),
        ({"time": 3}, ValueError, "time: got one number, expected a sequence with one entry per"),
        ({"time": [[1]]}, ValueError, "time: got 2 dimensions, expected 1"),
        (
            {"time": [2**63]},
            OverflowError,
            r"time\[0\]: got 9223372036854775808, expected a number that fits",
        ),
        ({"duration": [4, 0]}, ValueError, r"duration\[1\]: got 0, expected a positive number$"),
        ({"duration": None}, ValueError, r"duration\[0\]: got 0, expected a positive number$"),
        ({"duration": -3}, ValueError, r"duration\[0\]: got -3, expected a non-negative number"),
        ({"duration": None, "kind": "copy_in", "bytes": 4}, ValueError, "or give the bandwidth"),
        ({"kind": "memset"}, ValueError, "kind: got 'memset', expected one of kernel, copy_in"),
        ({"kind": ["kernel", "x"]}, ValueError, r"kind\[1\]: got 'x', expected one of"),
        ({"kind": [0, 3]}, ValueError, r"kind\[1\]: got 3, expected one of .*from 0 to 2"),
        (
            {"kind": [0.5, 0]},
            ValueError,
            r"kind\[0\]: got 0\.5, expected a whole number of ticks \(count in",
        ),
        ({"stream": [0, -1]}, ValueError, r"stream\[1\]: got -1, expected one of 1 streams"),
        (
            {"stream": 7, "stream_kind": [0]},
            ValueError,
            r"stream\[0\]: got 7, expected one of 1 streams",
        ),
        (
            {"stream": 2**40},
            ValueError,
            "stream: got 1099511627777 streams, expected at most 16777216",
        ),
        ({"stream_kind": "default"}, ValueError, "stream_kind: got 'default', expected one of"),
        (
            {"stream_kind": ["null"] * 2},
            ValueError,
            r"stream_kind\[1\]: got a second null stream of context 0,",
        ),
        (
            {"stream_context": [-1]},
            ValueError,
            r"stream_context\[0\]: got -1, expected a non-negative number",
        ),
        (
            {"stream_context": [2**40]},
            ValueError,
            r"stream_context\[0\]: got 1099511627776, expected less than",
        ),
        (
            {"stream_context": [0], "stream_priority": [0, 0]},
            ValueError,
            r"stream_context: got shape \(1,\), expected one number, or one",
        ),
        ({"stream_name": []}, ValueError, r"stream\[0\]: got 0, expected one of 0 streams"),
        ({"blocks": [0, 1]}, ValueError, r"blocks\[0\]: got 0, expected a positive number"),
        ({"threads": -1}, ValueError, r"threads\[0\]: got -1, expected a positive number"),
        ({"regs": [0, -1]}, ValueError, r"regs\[1\]: got -1, expected a non-negative number"),
        ({"smem": [0, -1]}, ValueError, r"smem\[1\]: got -1, expected a non-negative number"),
        (
            {"smem": [0, 1, 2]},
            ValueError,
            r"smem: got shape \(3,\), expected one number, or one for each of",
        ),
        (
            {"longest": [9, 3]},
            ValueError,
            r"longest\[1\]: got 3, expected at least the duration, 4",
        ),
        ({"after": [[], [2]]}, ValueError, r"after\[1\]: got 2, expected one of 2 launches"),
        ({"after": [None, ["x"]]}, TypeError, r"after\[1\]: got 'x', expected an integer"),
        ({"after": [1]}, ValueError, "after: got 1 entries, expected 2 as of time"),
        ({"after": 1}, TypeError, "after: got 1, expected a sequence with one entry per launch"),
        (
            {"block_times": [None, [1, 2]]},
            ValueError,
            r"block_times\[1\]: got shape \(2,\), expected one time for each of",
        ),
        (
            {"block_times": [[0], None]},
            ValueError,
            r"block_times\[0\]\[0\]: got 0, expected a positive number",
        ),
        (
            {"block_times": [[1], None], "kind": "copy_in"},
            ValueError,
            r"block_times\[0\]: got shape \(1,\), expected None for a copy",
        ),
        ({"bandwidth": 0}, ValueError, "bandwidth: got 0, expected a positive number"),
        ({"bandwidth": float("nan")}, ValueError, "bandwidth: got nan, expected a finite number"),
        (
            {"interference": [1.5, 1]},
            ValueError,
            r"interference: got shape \(2,\), expected \(4,\) or \(2, 4\)",
        ),
        (
            {"interference": [2, 0, 1, 1]},
            ValueError,
            r"interference\[1\]: got 0, expected a factor from 1 to 1000",
        ),
        (
            {"interference": [1000, 10**7, 1000, 1000]},
            ValueError,
            r"interference\[1\]: got 10000000, expected 1000 to 1000000",
        ),
        (
            {"interference": [0.5, 1, 1, 1]},
            ValueError,
            r"interference\[0\]: got 0\.5, expected a factor from 1 to 1000",
        ),
        (
            {"interference": [np.nan, 1, 1, 1]},
            ValueError,
            r"interference\[0\]: got nan, expected a finite number",
        ),
        (
            {"interference": [1, 1, 1, 1e9]},
            ValueError,
            r"interference\[3\]: got 1000000000\.0, expected a factor from 1",
        ),
        ({"name": ["a"]}, ValueError, "name: got 1 entries, expected 2 as of time"),
        (
            {"name": ["a", 3]},
            ValueError,
            r"name: got \('a', 3\), expected 2 strings, one per launch",
        ),
        (
            {"name": "ab"},
            TypeError,
            "name: got 'ab', expected a sequence with one entry per launch",
        ),
    ],
)
def test_refusals(arguments: dict[str, Any], error: type[Exception], text: str) -> None:
    good: dict[str, Any] = {"time": [0, 5], "duration": 4}
    with pytest.raises(error, match=text):
        gs.Launches(**(good | arguments))


def test_recorder_refuses() -> None:
    work = gs.Launches.build()
    with pytest.raises(
        ValueError, match=r"streams: got none, expected at least one call of stream\(\)"
    ):
        work.done()
    with pytest.raises(ValueError, match="stream: got 0, expected one of 0 streams so far"):
        work.kernel(0, duration=1)
    with pytest.raises(ValueError, match="kind: got 'slow', expected one of"):
        work.stream(kind="slow")
    stream = work.stream()
    with pytest.raises(ValueError, match="at: got -4, expected a non-negative number"):
        work.kernel(stream, duration=1, at=-4)
    with pytest.raises(ValueError, match="duration: got 0, expected a positive number"):
        work.copy_in(stream, duration=0)
    with pytest.raises(TypeError, match=r"stream: got 1.5, expected an integer"):
        work.copy_out(1.5, duration=1)  # type: ignore[arg-type]
    work.kernel(stream, duration=4, interference=(0.5, 1, 1, 1))
    with pytest.raises(
        ValueError, match=r"interference of launch 0\[0\]: got 0.5, expected a factor"
    ):
        work.done()


@pytest.mark.parametrize("priority", ["high", "0", True, None])
def test_unknown_priorities_are_named(priority: object) -> None:
    with pytest.raises(TypeError, match=r"stream_priority\[1\]: got .*, expected a number"):
        gs.Launches([0], 1, stream_priority=np.array([0, priority], dtype=object))


def test_text_among_numbers_is_named() -> None:
    with pytest.raises(TypeError, match=r"time\[1\]: got 'soon', expected a number"):
        gs.Launches([0, "soon"], 1)


def test_streams_of_tasks_are_streams() -> None:
    tasks = gs.KernelTasks(period=[4, 5], block_time=[1, 1])
    for stream, text in ((-1, "a non-negative number"), (2**40, "less than 16777216")):
        with pytest.raises(ValueError, match=rf"stream\[1\]: got {stream}, expected {text}"):
            gs.Launches.from_tasks(tasks, 20, stream=[0, stream])


def test_replace() -> None:
    launches = recorded()
    assert launches.replace() == launches
    later = launches.replace(time=launches.time + 5)
    assert later.time.tolist() == [5, 5, 15, 15, 15]
    assert later == gs.Launches.from_frame(launches.to_frame().assign(time=later.time))
    # Durations: a range stays, a fixed duration stays fixed, block times stay.
    slower = launches.replace(duration=launches.duration + 5)
    assert slower.duration.tolist() == [25606, 35, 3, 12, 10]
    assert slower.longest.tolist() == [25606, 40, 4, 12, 10]
    with pytest.raises(ValueError, match=r"longest\[1\]: got 40, expected at least the duration"):
        launches.replace(duration=50)
    assert slower.replace(longest=None).longest.tolist() == [25606, 35, 4, 12, 10]
    faster = launches.replace(bandwidth=24)
    assert faster.duration.tolist() == [12801, 30, 3, 7, 5]
    assert faster.longest.tolist() == [12801, 40, 4, 7, 5]
    whole = launches.replace(block_times=None)
    assert whole.block_times is None and whole.longest[2] == 4
    assert launches.replace(interference=None).interference is None
    assert launches.replace(after=None).after == ((),) * 5


def test_replace_derives_names_and_streams() -> None:
    launches = gs.Launches([0, 1], 4, kind=["kernel", "copy_in"])
    assert launches.replace(kind="copy_out").name == ("copy out 0", "copy out 1")
    assert launches.replace(name=["a", "b"]).replace(kind="copy_out").name == ("a", "b")
    two = launches.replace(stream=[0, 1])
    assert two.stream_name == ("stream 0", "stream 1")
    assert two.replace(stream=0).streams == 2
    assert two.replace(stream_kind=["null", "blocking"]).stream_name == ("NULL stream", "stream 1")
    with pytest.raises(ValueError, match=r"stream\[1\]: got 2, expected one of 2 streams"):
        two.replace(stream_priority=[0, -1]).replace(stream=[0, 2])
    with pytest.raises(TypeError, match="tmie"):
        launches.replace(tmie=[1, 2])  # type: ignore[call-arg]
