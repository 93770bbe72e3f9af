"""Timelines: windows, labels and tooltips of the model; lanes and events of traces."""

from __future__ import annotations

import json
import tracemalloc
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

from gpusched._draw import chrome_trace, svg
from gpusched._draw.lanes import Placement, spans, split
from gpusched._draw.timeline import (
    Counter,
    Lane,
    Mark,
    Piece,
    Rows,
    Timeline,
    in_window,
    window,
)

pytestmark = pytest.mark.python


def test_windows() -> None:
    assert window(0, None) == (0, None) and window(np.int64(3), 4) == (3, 4)
    start = np.array([5, 0, 0, 7, 9])
    end = np.array([6, 4, 9, 9, 12])
    shown, stop, hidden = in_window(start, end, 0, None, 12, (10, 20))
    assert shown.tolist() == [1, 2, 0, 3, 4] and (stop, hidden) == (12, 0)
    shown, stop, hidden = in_window(start, end, 0, None, 12, (3, 20))
    assert shown.tolist() == [1, 2, 0] and (stop, hidden) == (7, 2)
    shown, stop, hidden = in_window(start, end, 0, None, 12, (1, 20))  # both that start at 0
    assert shown.tolist() == [1, 2] and (stop, hidden) == (5, 3)
    shown, stop, hidden = in_window(start, end, 8, 10, 12, (10, 20))
    assert shown.tolist() == [2, 3, 4] and (stop, hidden) == (10, 0)
    none = np.zeros(0, np.int64)
    assert in_window(none, none, 4, None, 1, (3, 5))[1:] == (5, 0)


def test_labels_leave_room_for_each_other() -> None:
    lanes = (*(Lane(str(k), height=4) for k in range(10)), Lane("copies", height=4))
    line = Timeline(lanes, ())
    assert [text for _, text in line.labels(4)] == [*"0123456789", "copies"]
    shown = line.labels(11)
    assert [text for _, text in shown] == ["0", "3", "6", "copies"]
    assert all(b[0] - a[0] >= 11 for a, b in pairwise(shown))
    scale = Timeline((Lane("threads", height=100, scale=((1.0, "0"), (0.0, "8"))),), ())
    assert scale.labels(11) == [(0.0, "8"), (100.0, "0")]


def test_labels_are_beside_crosses() -> None:
    piece = Piece(0, 10, 30, "camera #1", 0, label="1")
    mark = Mark(0, 14, "miss")
    line = Timeline((Lane("camera"),), (piece,), end=40, marks=(mark,))
    assert line.label_span(piece, line.misses()) == (14, 30)
    assert piece.tip(line.axis) == "camera #1, 10 to 30"
    waiting = Piece(0, 10, 30, "x", 0, late=True, unfinished=True, times={"release": 4, "no": None})
    assert waiting.tip(line.axis) == "x, 10 to the end, release 4 (late)"


def test_the_largest_run_of_rectangles_has_the_label() -> None:
    boxes = spans(split([(0, 2), (4, 4), (9, 1)], 2), 10)
    assert Piece(0, 0, 1, "", 0, spans=boxes).place() == pytest.approx((0.2, 0.6))


def test_blocks_keep_their_threads() -> None:
    placement = Placement(8)
    assert placement.place(0, 10, 2, 2) == [(0, 4)]
    assert placement.place(1, 3, 1, 2) == [(4, 2)]
    assert placement.place(3, 9, 2, 2) == [(4, 4)]
    assert placement.place(10, 12, 1, 8) == [(0, 8)]


def events_of(line: Timeline, tick: int = 1) -> list[dict[str, object]]:
    return list(chrome_trace.timeline_events(line, tick))


def test_overlapping_pieces_get_lanes_of_their_own() -> None:
    lanes = (Lane("a", "one"), Lane("b", "one"), Lane("c", "two"))
    rows = [(0, 0, 10), (0, 2, 5), (0, 5, 12), (0, 10, 11), (1, 0, 3), (2, 1, 1)]
    line = Timeline(lanes, tuple(Piece(k, a, b, f"{a}", 0) for k, a, b in rows))
    events = events_of(line)
    names = {(e["pid"], e["tid"]): e["args"]["name"] for e in events if e["name"] == "thread_name"}
    assert list(names.values()) == ["a", "b", "c", "a (2)"]
    placed = [names[e["pid"], e["tid"]] for e in events if e["ph"] == "X"]
    assert placed == ["a", "a (2)", "a (2)", "a", "b", "c"]


def test_times_of_a_trace_are_in_its_unit() -> None:
    piece = Piece(0, 3, 5, "x", 0, times={"release": 1, "finish": None}, args={"job": 7})
    count = Counter("GPU", "busy", 4, {"busy": 2})
    line = Timeline((Lane("x", "GPU"),), (piece,), counters=(count,))
    event, counter = events_of(line, 1000)[-2:]
    assert (event["ts"], event["dur"]) == (3, 2) and counter["ts"] == 4
    assert event["args"] == {"job": 7, "release": 1000, "finish": None}


def test_a_trace_is_streamed(tmp_path: Path) -> None:
    def pieces() -> Iterator[Piece]:
        for k in range(20_000):
            yield Piece(0, k, k + 1, f"job {k}", 0, args={"text": "x" * 100})

    line = Timeline((Lane("a", "GPU"),), Rows(pieces))
    tracemalloc.start()
    chrome_trace.write_timeline(line, tmp_path / "t.json")
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert (tmp_path / "t.json").stat().st_size > 3_000_000 > 4 * peak
    assert len(json.loads((tmp_path / "t.json").read_text())["traceEvents"]) == 20_002


@pytest.mark.parametrize("tick", [0, -1])
def test_ticks_are_positive(tick: int, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=f"tick: got {tick}, expected at least 1 ns"):
        chrome_trace.write_timeline(Timeline((), ()), tmp_path / "t.json", tick)


def test_nothing_is_drawn_outside_the_window() -> None:
    pieces = tuple(Piece(0, k, k + 1, f"p{k}", 0) for k in range(10))
    text = svg.svg(Timeline((Lane("a"),), pieces, since=3, end=5))
    assert "p3, 3 to 4" in text and "p4, 4 to 5" in text
    assert "p2," not in text and "p5," not in text
