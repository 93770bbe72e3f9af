"""Timelines: windows, labels and tooltips of the model; lanes and events of traces."""

from __future__ import annotations

import json
import tracemalloc
from collections.abc import Iterator
from decimal import Decimal
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from gpusched._draw import chrome_trace, svg
from gpusched._draw.block_lanes import Placement, spans, split
from gpusched._draw.timeline import (
    NOTHING,
    Counter,
    CounterColumns,
    Lane,
    Mark,
    Piece,
    PieceColumns,
    Rows,
    Timeline,
    Words,
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


def in_pieces(columns: PieceColumns) -> list[Piece]:
    """The same pieces as objects."""
    pieces = []
    for row in range(len(columns.lane)):
        name = ""
        for part in columns.name:
            if isinstance(part, Words):
                name += part.words[part.index[row]]
            else:
                name += part if isinstance(part, str) else str(part[row])
        args = {key: column[row].item() for key, column in columns.args.items()}
        times = {key: int(column[row]) for key, column in columns.times.items()}
        known = {key: None if time == NOTHING else time for key, time in times.items()}
        where = (int(column[row]) for column in (columns.lane, columns.start, columns.end))
        pieces.append(Piece(*where, name, 0, times=known, args=args))
    return pieces


def parsed(line: Timeline, tick: int, path: Path) -> list[dict[str, Any]]:
    chrome_trace.write_timeline(line, path, tick)
    events: list[dict[str, Any]] = json.loads(path.read_text(), parse_float=Decimal)["traceEvents"]
    return events


@pytest.mark.long
@pytest.mark.parametrize("tick", [1, 7, 1000, 2**62])
def test_columns_are_written_as_their_pieces(tick: int, tmp_path: Path) -> None:
    """The same events, but the names of further lanes come first."""
    lanes = (Lane("a", "one"), Lane('"b" é\ud800', "one"), Lane("c", "two"))
    for seed in range(30):
        rng = np.random.default_rng(seed)
        n = int(rng.integers(0, 50))
        start = np.sort(rng.integers(-(10 ** rng.integers(1, 17)), 10**3, n))
        times = rng.integers(0, 10**6, n)
        columns = PieceColumns(
            lane=rng.integers(0, 3, n),
            start=start,
            end=start + rng.integers(0, 10 ** rng.integers(1, 12), n),
            name=('k "', Words(rng.integers(0, 2, n), ("x\\", "é")), "% #", rng.integers(-5, 5, n)),
            args={"job": rng.integers(-9, 9, n), "late": rng.random(n) < 0.5},
            times={"r\n": np.where(rng.random(n) < 0.2, NOTHING, times)} if seed % 2 else {},
        )
        group = rng.integers(0, 2, n)
        values = {"w": rng.integers(0, 9, n), "v": rng.integers(0, 9, n)}
        counters = CounterColumns(("two", "one"), group, start, "held", values)
        rows = zip(
            group.tolist(), start.tolist(), *(v.tolist() for v in values.values()), strict=True
        )
        objects = Timeline(
            lanes,
            tuple(in_pieces(columns)),
            counters=[
                Counter(("two", "one")[g], "held", at, {"w": w, "v": v}) for g, at, w, v in rows
            ],
        )
        expected = parsed(objects, tick, tmp_path / "objects.json")
        found = parsed(Timeline(lanes, (), columns=(columns, counters)), tick, tmp_path / "c.json")
        for kind in "MXC":
            of_kind = [event for event in expected if event["ph"] == kind]
            other = [event for event in found if event["ph"] == kind]
            if kind == "M":  # further lanes: by lane instead of by time
                of_kind.sort(key=str)
                other.sort(key=str)
            assert [list(event.items()) for event in other] == [
                list(event.items()) for event in of_kind
            ]
        kinds = "".join(event["ph"] for event in found)
        assert kinds == "".join(sorted(kinds, key="MXC".index))


def test_columns_are_written_in_bounded_memory(tmp_path: Path) -> None:
    n = 400_000
    start = np.arange(n)
    columns = PieceColumns(start % 8, start, start + 20, ("block ", start), {"block": start})
    tracemalloc.start()
    lanes = tuple(Lane(str(k), "GPU") for k in range(8))
    chrome_trace.write_timeline(Timeline(lanes, (), columns=(columns,)), tmp_path / "t.json")
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert (tmp_path / "t.json").stat().st_size > 30_000_000 > peak
    assert (tmp_path / "t.json").read_text().count('"ph": "X"') == n


def test_an_interrupt_while_columns_are_written(tmp_path: Path) -> None:
    def interrupted() -> Iterator[PieceColumns]:
        one = np.zeros(1, np.int64)
        yield PieceColumns(one, one, one, ("x",))
        raise KeyboardInterrupt

    for name in ("t.json", "t.json.gz"):
        with pytest.raises(KeyboardInterrupt):
            line = Timeline((Lane("a"),), (), columns=Rows(interrupted))
            chrome_trace.write_timeline(line, tmp_path / name)
    assert list(tmp_path.iterdir()) == []


def test_times_of_a_trace_are_in_its_unit() -> None:
    piece = Piece(0, 3, 5, "x", 0, times={"release": 1, "end": None}, args={"job": 7})
    count = Counter("GPU", "busy", 4, {"busy": 2})
    line = Timeline((Lane("x", "GPU"),), (piece,), counters=(count,))
    event, counter = events_of(line, 1000)[-2:]
    assert (event["ts"], event["dur"]) == (3, 2) and counter["ts"] == 4
    assert event["args"] == {"job": 7, "release": 1000, "end": None}


@pytest.mark.long
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


def test_ticks_fit_a_word(tmp_path: Path) -> None:
    with pytest.raises(OverflowError, match=r"tick: got .*, expected less than 2"):
        chrome_trace.write_timeline(Timeline((), ()), tmp_path / "t.json", 2**63)


def test_nothing_is_drawn_outside_the_window() -> None:
    pieces = tuple(Piece(0, k, k + 1, f"p{k}", 0) for k in range(10))
    text = svg.svg(Timeline((Lane("a"),), pieces, since=3, end=5))
    assert "p3, 3 to 4" in text and "p4, 4 to 5" in text
    assert "p2," not in text and "p5," not in text


@pytest.mark.parametrize(("end", "shown"), [(110, False), (600, True)])
def test_svg_label_leaves_half_of_its_piece_visible(end, shown):
    piece = Piece(lane=0, start=0, end=end, name="a: kernel", color=0, label="a: kernel")
    lane = Lane("SM", "SMs", 18.0)
    text = svg.svg(Timeline(lanes=(lane,), pieces=(piece,), since=0, end=1000))
    assert (">a: kernel</text>" in text) == shown
