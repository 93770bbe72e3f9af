"""Graphs and programmatic launches: schedules worked out by hand, columns, recording, errors."""

from __future__ import annotations

import json
import random
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hierarchy_systems import System, random_system, simulated
from reference import hierarchy
from test_hierarchy_twin import TWO_SMS, both, spans, system_of

import gpusched as gs
from gpusched._draw.block_lanes import side_by_side
from gpusched._support.saved_files import save_arrays

AFTER, STREAM = hierarchy.AFTER, hierarchy.STREAM
TX2 = gs.GPU(sms=2, threads_per_sm=2048, blocks_per_sm=32, smem_per_sm=65536)


def small(**given: Any) -> System:
    """A system of kernels of one small block each, in two streams, unless something is given."""
    n = len(given["duration"])
    usual = {"limits": TWO_SMS, "context": [0, 0], "time": [0] * n, "stream": [0] * n}
    return system_of(**usual | {"blocks": [1] * n, "threads": [32] * n} | given)


def waits_of(result: Any, launch: int) -> list[tuple[int, ...]]:
    """Waits of a launch by time: (why, blocker, from, to)."""
    found = [w[1:3] + w[4:] for w in result["waits"] if w[0] == launch]
    return sorted(found, key=lambda wait: wait[2])


# Graphs


def test_a_graph_takes_one_place_in_its_stream() -> None:
    """A kernel; a copy, two kernels beside each other, a copy; a kernel."""
    result = both(
        small(
            kind=[0, 1, 0, 0, 2, 0],
            duration=[5, 3, 10, 6, 2, 4],
            graph=[-1, 7, 7, 7, 7, -1],
            after=[[], [], [1], [1], [2, 3], []],
        )
    )
    assert spans(result) == [(0, 5), (5, 8), (8, 18), (8, 14), (18, 20), (20, 24)]
    assert result["head"] == [0, 5, 5, 5, 5, 20]
    assert waits_of(result, 3) == [(STREAM, 0, 0, 5), (AFTER, 1, 5, 8)]
    assert waits_of(result, 4) == [(STREAM, 0, 0, 5), (AFTER, 2, 5, 18)]
    assert waits_of(result, 5) == [(STREAM, 4, 0, 20)]


def test_what_is_behind_a_graph_waits_for_the_last_node_that_has_not_ended() -> None:
    result = both(small(duration=[9, 4, 6, 1], graph=[2, 2, 2, -1]))
    assert spans(result) == [(0, 9), (0, 4), (0, 6), (9, 10)]
    assert waits_of(result, 3) == [(STREAM, 2, 0, 6), (STREAM, 0, 6, 9)]


def test_a_graph_is_launched_where_its_first_node_stands() -> None:
    """The kernel between the rows of the graph is behind all of it."""
    result = both(small(duration=[5, 3, 5], graph=[0, -1, 0], after=[[], [], [0]]))
    assert spans(result) == [(0, 5), (10, 13), (5, 10)]


@pytest.mark.parametrize("stream_kind", [[2, 0], [0, 2]])
def test_a_graph_and_the_null_stream(stream_kind: list[int]) -> None:
    """The NULL stream's kernel waits for the whole graph, and a graph in it is waited for."""
    result = both(
        small(
            time=[0, 0, 1],
            stream=[0, 0, 1],
            duration=[9, 6, 2],
            graph=[0, 0, -1],
            stream_kind=stream_kind,
        )
    )
    assert spans(result) == [(0, 9), (0, 6), (9, 11)]
    blockers = [1, 0] if stream_kind == [2, 0] else [0]  # the last one, or the oldest
    assert [w[1] for w in waits_of(result, 2)] == blockers


def test_a_graph_is_one_kernel_in_its_channel() -> None:
    """Behind a kernel that fills the GPU; before one that waits for its last node to start."""
    result = both(
        small(
            channels=1,
            context=[0, 0, 0],
            stream=[0, 1, 1, 1, 2],
            time=[0, 1, 1, 1, 2],
            duration=[10, 4, 4, 3, 1],
            blocks=[5, 1, 1, 1, 1],
            threads=[1024, 32, 32, 32, 32],
            graph=[-1, 0, 0, 0, -1],
            after=[[], [], [], [1], []],
        )
    )
    assert result["joined"] == [0, 10, 10, 14, 14]
    assert spans(result) == [(0, 20), (10, 14), (10, 14), (14, 17), (14, 15)]
    assert waits_of(result, 2) == [(hierarchy.CHANNEL, 0, 1, 10)]
    assert waits_of(result, 4) == [(hierarchy.CHANNEL, 3, 2, 14)]


def test_a_circle_in_a_graph_is_a_deadlock() -> None:
    result = both(small(duration=[1, 1, 1], graph=[4, 4, -1], after=[[1], [0], []]))
    assert result["deadlock"] == [(0, AFTER, 0, 1), (1, AFTER, 0, 0), (2, STREAM, 0, 1)]


@pytest.mark.parametrize("group", range(4))
def test_a_chain_of_nodes_runs_as_the_stream_does(group: int) -> None:
    """Launches of one instant and stream, as a graph whose nodes wait for each other in turn."""
    for seed in range(group, 400, 4):
        rng = random.Random(seed)
        plain = random_system(rng, latest=rng.choice([3, 40]))
        plain |= {"graph": None, "programmatic": None, "trigger": None}
        n = len(plain["time"])
        order = sorted(range(n), key=lambda i: (plain["time"][i], plain["stream"][i], i))
        columns = ("time", "stream", "kind", "duration", "blocks", "threads", "regs", "smem")
        for key in (*columns, "cooperative", "cluster"):
            plain[key] = plain[key] and [plain[key][i] for i in order]
        plain["carveout"] = plain["interference"] = plain["after"] = None
        places = [(plain["time"][i], plain["stream"][i]) for i in range(n)]
        before = [[i - 1] if i and places[i] == places[i - 1] else [] for i in range(n)]
        number = {place: k for k, place in enumerate(dict.fromkeys(places))}
        chained = plain | {"graph": [number[place] for place in places], "after": before}
        one, other = simulated(plain), simulated(chained)
        for key in ("joined", "first", "dispatched", "end", "blocks", "slices"):
            assert one[key] == other[key], (seed, key)


# Programmatic launches


def test_a_secondary_starts_at_the_last_trigger() -> None:
    """Six blocks in two waves: the second wave triggers at 12. The third kernel is ordinary."""
    result = both(
        small(
            duration=[10, 3, 1],
            blocks=[6, 1, 1],
            threads=[1024, 32, 32],
            programmatic=[0, 1, 0],
            trigger=[2, -1, -1],
        )
    )
    assert spans(result) == [(0, 20), (12, 15), (20, 21)]
    assert result["head"] == [0, 12, 20]
    assert waits_of(result, 1) == [(STREAM, 0, 0, 12)]
    assert waits_of(result, 2) == [(STREAM, 1, 0, 15), (STREAM, 0, 15, 20)]


@pytest.mark.parametrize(("trigger", "head"), [(0, 0), (5, 5), (10, 10), (99, 10), (-1, 10)])
def test_triggers(trigger: int, head: int) -> None:
    result = both(small(duration=[10, 3], programmatic=[1, 1], trigger=[trigger, 0]))
    assert result["head"] == [0, head] and spans(result) == [(0, 10), (head, head + 3)]


def test_a_secondary_competes_for_room() -> None:
    """It is behind a kernel of another stream that joined before it, and waits for SMs.

    That kernel starts its blocks at 4 and at 11, the secondary at 18 and at 20.
    """
    result = both(
        small(
            time=[0, 0, 4],
            stream=[0, 0, 1],
            duration=[20, 5, 7],
            blocks=[3, 2, 2],
            threads=[1024] * 3,
            programmatic=[0, 1, 0],
            trigger=[6, -1, -1],
        )
    )
    assert result["joined"] == [0, 6, 4]
    assert spans(result) == [(0, 20), (18, 25), (4, 18)]
    room = [(hierarchy.WARPS, -1, 11, 18), (hierarchy.WARPS, -1, 18, 20)]
    assert waits_of(result, 1) == [(STREAM, 0, 0, 6), (hierarchy.QUEUE, 2, 6, 11), *room]


def test_a_chain_of_secondaries() -> None:
    """Each starts at the triggers of the one before; what follows waits for all of them."""
    result = both(small(duration=[20, 8, 4, 1], programmatic=[0, 1, 1, 0], trigger=[1, 2, 3, 0]))
    assert spans(result) == [(0, 20), (1, 9), (3, 7), (20, 21)]
    assert waits_of(result, 3) == [(STREAM, 2, 0, 7), (STREAM, 1, 7, 9), (STREAM, 0, 9, 20)]


def test_a_secondary_that_comes_late() -> None:
    """Its primary has triggered, or has ended beside the kernel before."""
    late = small(time=[0, 0, 15], duration=[30, 4, 2], programmatic=[0, 1, 1], trigger=[1, 9, 9])
    assert spans(both(late)) == [(0, 30), (1, 5), (15, 17)]


def test_a_frozen_block_triggers_later() -> None:
    """Slices of ten ticks in turns: the fifteenth tick of the primary is the 25th of the clock."""
    result = both(
        small(
            context=[0, 1],
            timeslice=[10, 10],
            stream=[0, 0, 1],
            duration=[20, 2, 30],
            programmatic=[0, 1, 0],
            trigger=[15, -1, -1],
        )
    )
    assert result["head"] == [0, 25, 0]
    assert spans(result) == [(0, 30), (25, 27), (10, 50)]


def test_interference_slows_the_way_to_the_trigger() -> None:
    """Alone for 4 ticks, then at half speed beside the other SM's kernel: 4 + 6 * 2.

    The secondary is on the SM of its primary for a tick, which does not slow it: 17 + 29 * 2.
    """
    result = both(
        small(
            time=[0, 0, 4],
            stream=[0, 0, 1],
            duration=[40, 1, 100],
            programmatic=[0, 1, 0],
            trigger=[10, -1, -1],
            interference=[[1000, 2000, 1000, 1000], [1000] * 4, [1000] * 4],
        )
    )
    assert result["head"] == [0, 16, 4]
    assert spans(result) == [(0, 75), (16, 17), (4, 104)]


def test_a_programmatic_node() -> None:
    """It follows the triggers of its primary, the nodes behind it and the stream wait for all."""
    result = both(
        small(
            duration=[10, 3, 2, 1],
            graph=[0, 0, 0, -1],
            after=[[], [0], [1], []],
            programmatic=[0, 1, 0, 0],
            trigger=[4, -1, -1, -1],
        )
    )
    assert spans(result) == [(0, 10), (4, 7), (7, 9), (10, 11)]
    assert waits_of(result, 1) == [(AFTER, 0, 0, 4)]


@pytest.mark.parametrize(
    ("given", "programmatic"),
    [
        ({}, [1, 0]),
        ({"kind": [1, 0]}, [1, 1]),
        ({"kind": [0, 1]}, [1, 1]),
        ({"graph": [0, -1]}, [0, 1]),
        ({"stream": [0, 1]}, [1, 1]),
    ],
)
def test_ordinary_launches(given: Any, programmatic: list[int]) -> None:
    """First in its stream, behind a copy or a graph, and as a copy."""
    system = small(duration=[10, 3], trigger=[1, 1], **given)
    assert both(system | {"programmatic": programmatic}) == both(system)


# Launches


def recorded() -> gs.Launches:
    work = gs.Launches.build()
    other, stream = work.stream(), work.stream(name="camera")
    work.kernel(other, duration=9, blocks=4, threads=1024, name="big")
    graph = work.graph(stream, at=5)
    into = graph.copy_in(duration=3, name="into")
    left = graph.kernel(duration=10, after=into, name="left", trigger=4)
    right = graph.kernel(duration=6, after=into, name="right")
    early = graph.kernel(duration=20, after=left, name="early", programmatic=True)
    graph.copy_out(duration=2, after=[right, early], name="out")
    work.kernel(stream, duration=20, trigger=5, name="first", at=6)
    work.kernel(stream, duration=10, programmatic=True, name="second")
    work.graph(stream)  # without nodes: no trace
    work.graph(stream, at=7).kernel(duration=1)
    return work.done()


def test_recorder() -> None:
    launches = recorded()
    assert launches.graph.tolist() == [-1, 0, 0, 0, 0, 0, -1, -1, 2]
    assert launches.programmatic.tolist() == [0, 0, 0, 0, 1, 0, 0, 1, 0]
    assert launches.trigger.tolist() == [-1, -1, 4, -1, -1, -1, 5, -1, -1]
    assert launches.time.tolist() == [0, 5, 5, 5, 5, 5, 6, 6, 7]
    run = gs.simulate.hierarchy(launches, TX2)
    assert run.first.tolist() == [0, 5, 9, 9, 13, 33, 35, 40, 55]
    assert run.why(4).splitlines() == [
        "waited 5 .. 13 until all blocks of left, its primary, have triggered or ended"
    ]
    assert run.why(7).splitlines() == [
        "waited 6 .. 40 until all blocks of first, before it in camera, have triggered or ended"
    ]
    assert run.why(6) == "waited 6 .. 35 for out, which is before it in camera"


def test_triggers_alone_change_nothing() -> None:
    """Not even how interference is rounded."""
    launches = gs.Launches([0, 3], [50, 70], stream=[0, 1], interference=[1.3, 1.7, 1.9, 2])
    one = gs.simulate.hierarchy(launches, TX2, sms_per_gpc=2)
    other = gs.simulate.hierarchy(launches.replace(trigger=7), TX2, sms_per_gpc=2)
    assert one.end.tolist() == other.end.tolist()


def test_columns() -> None:
    made = gs.Launches([0] * 3, 5, kind=["kernel", "copy_in", "kernel"], programmatic=True)
    assert made.programmatic.tolist() == [1, 0, 1]  # copies are not
    assert made.replace(trigger=3).trigger.tolist() == [3, -1, 3]
    assert made.replace(graph=2, programmatic=False).graph.tolist() == [2, 2, 2]
    shown = made._repr_html_()
    assert "programmatic" in shown and "graph" not in shown and "trigger" not in shown
    assert made == made.replace(programmatic=np.array([1, 0, 1]))
    assert made == made.replace(programmatic=[True, np.bool_(False), True])
    assert made != made.replace(programmatic=False)


def test_frames_and_files(tmp_path: Path) -> None:
    launches = recorded()
    path = tmp_path / "launches.gs"
    launches.save(path)
    assert gs.Launches.load(path) == launches
    run = gs.simulate.hierarchy(launches, TX2)
    run.save(path)
    assert gs.simulate.Hierarchy.load(path).launches == launches
    pytest.importorskip("pandas")
    assert gs.Launches.from_frame(launches.to_frame()) == launches


def test_files_without_the_columns_are_read(tmp_path: Path) -> None:
    launches = gs.Launches([0, 5], 3, stream=[0, 1])
    values = launches._fields()
    for key in ("graph", "programmatic", "trigger"):
        del values[key]
    path = tmp_path / "older.gs"
    save_arrays(path, launches._KIND, launches._VERSION, values)
    assert gs.Launches.load(path) == launches


TWO_NODES = {"time": [0, 0, 0], "duration": 4, "graph": [-1, 5, 5]}


@pytest.mark.parametrize(
    ("given", "error", "text"),
    [
        ({"graph": [0, -2, 0]}, ValueError, "graph[1]: got -2, expected"),
        ({"graph": [0, 1]}, ValueError, "graph: got shape (2,), expected one number, or one for"),
        ({"graph": 0.5}, ValueError, "graph: got 0.5"),
        ({"graph": "first"}, TypeError, "graph: got 'first', expected a number"),
        (
            {"time": [0, 0, 1]},
            ValueError,
            "time[2]: got 1, expected 0 as of launch 1, which is in the same graph (5)",
        ),
        (
            {"stream": [0, 1, 0]},
            ValueError,
            "stream[2]: got 0, expected 1 as of launch 1, which is in the same graph (5)",
        ),
        (
            {"programmatic": [0, 0, 1]},
            ValueError,
            "programmatic[2]: got True in graph 5 with () in after, expected one kernel of the",
        ),
        (
            {"programmatic": [0, 0, 1], "after": [(), (), (0, 1)]},
            ValueError,
            "programmatic[2]: got True in graph 5 with (0, 1) in after, expected one kernel",
        ),
        (
            {"programmatic": [0, 0, 1], "after": [(), (), (2,)]},
            ValueError,
            "programmatic[2]: got True in graph 5 with (2,) in after, expected one kernel",
        ),
        (
            {"programmatic": [0, 0, 1], "after": [(), (), (1,)], "kind": [0, 1, 0]},
            ValueError,
            "programmatic[2]: got True in graph 5 with (1,) in after, expected one kernel",
        ),
        ({"programmatic": [0, 2, 0]}, ValueError, "programmatic[1]: got 2, expected True or False"),
        ({"programmatic": -1}, ValueError, "programmatic: got -1, expected True or False"),
        ({"programmatic": ["yes"] * 3}, TypeError, "programmatic[0]: got 'yes', expected"),
        ({"programmatic": [[True]]}, ValueError, "programmatic: got 2 dimensions, expected 1"),
        ({"programmatic": [True, [1]]}, (ValueError, TypeError), "programmatic"),
        ({"programmatic": None}, TypeError, "programmatic: got None, expected a number"),
        ({"trigger": [0, -2, 0]}, ValueError, "trigger[1]: got -2, expected"),
        ({"trigger": 2**63}, OverflowError, "trigger: got 9223372036854775808, expected"),
        ({"trigger": None}, TypeError, "trigger: got None, expected a number"),
    ],
)
def test_refusals(given: dict[str, Any], error: Any, text: str) -> None:
    with pytest.raises(error, match=re.escape(text)):
        gs.Launches(**(TWO_NODES | given))


def test_recorder_refuses() -> None:
    work = gs.Launches.build()
    with pytest.raises(ValueError, match="stream: got 0, expected one of 0 streams so far"):
        work.graph(0)
    stream = work.stream()
    with pytest.raises(ValueError, match="at: got -1, expected a non-negative number"):
        work.graph(stream, at=-1)
    with pytest.raises(TypeError, match="programmatic: got 1, expected True or False"):
        work.kernel(stream, duration=1, programmatic=1)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="trigger: got None, expected an integer"):
        work.kernel(stream, duration=1, trigger=None)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("given", "text"),
    [
        ({"time": [0, 1]}, r"time\[1\]: got 1, expected the time of the other launches of its"),
        ({"stream": [0, 1]}, r"stream\[1\]: got 1, expected the stream of the other launches"),
        ({"programmatic": [0, 1]}, r"programmatic\[1\]: got 1, expected 0, as `after` is not one"),
        ({"programmatic": [0, 7], "after": [[], [1]]}, r"programmatic\[1\]: got 7, expected 0"),
        ({"programmatic": [0, 1], "after": [[], [0, 1]]}, r"programmatic\[1\]: got 1"),
        ({"programmatic": [0, 1], "after": [[], [0]], "kind": [1, 0]}, r"programmatic\[1\]: got"),
        ({"graph": [9]}, "graph: got length 1 on axis 0, expected 2"),
        ({"trigger": [9]}, "trigger: got length 1 on axis 0, expected 2"),
    ],
)
def test_the_core_refuses(given: dict[str, Any], text: str) -> None:
    with pytest.raises(ValueError, match=text):
        simulated(small(**({"duration": [3, 3], "graph": [2**62, 2**62]} | given)))


@pytest.mark.parametrize("times", [(2**59 - 2, 2**58), (2**50, 2**49)])
def test_long_triggers(times: tuple[int, int]) -> None:
    """Times at the limit; with interference the core counts in thousandths of ticks."""
    duration, trigger = times
    disturbed = {} if duration > 2**51 else {"interference": [[1000, 1000, 7000, 1000]] * 2}
    given = {"programmatic": [0, 1], "trigger": [trigger, 2**63 - 1], **disturbed}
    result = both(small(duration=[duration, 1], timeslice=[2**58], **given))
    assert result["head"] == [0, trigger] and result["end"][0] == duration


# Pictures


def test_rows_of_intervals() -> None:
    assert side_by_side([], []) == []
    assert side_by_side([0, 0, 4, 9, 9], [4, 9, 6, 12, 9]) == [
        (0, 2),
        (1, 2),
        (0, 2),
        (0, 2),
        (1, 2),
    ]


def test_pictures_by_stream(tmp_path: Path) -> None:
    run = gs.simulate.hierarchy(recorded(), TX2)
    timeline = run._picture("stream", None, 0, None)
    bars = [piece for piece in timeline.pieces if piece.style == "run"]
    boxes = [(piece.lane, piece.start, piece.end, *piece.spans[0]) for piece in bars]
    assert len(boxes) == len(run)
    for k, (lane, start, end, top, bottom) in enumerate(boxes):
        assert 0.2 <= top < bottom <= 0.72 + 1e-9
        for other in boxes[:k]:  # no bar covers another one
            apart = other[2] <= start or end <= other[1]
            assert other[0] != lane or apart or other[4] <= top + 1e-9 or bottom <= other[3] + 1e-9
    assert timeline.lanes[1].height > timeline.lanes[0].height
    waits = [piece for piece in timeline.pieces if piece.style == "wait"]
    assert {piece.name for piece in waits} == {
        "left waits for room: no SM has enough free warps, until SM 0 had room",
        "right waits behind left in the queue",
    }
    path = tmp_path / "trace.json"
    run.to_chrome_trace(path)
    events = json.loads(path.read_text())["traceEvents"]
    lanes = {e["args"]["name"] for e in events if e["name"] == "thread_name"}
    assert {"camera", "camera (2)"} <= lanes
