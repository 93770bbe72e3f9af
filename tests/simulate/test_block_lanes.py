"""Pictures of blocks on SMs: heights, positions, mean warps against a slow twin, sizes."""

from __future__ import annotations

from fractions import Fraction
from xml.etree import ElementTree

import numpy as np
import pytest

import gpusched as gs
from gpusched._draw.axes import PALETTE, TimeAxis
from gpusched._draw.block_lanes import (
    BlockColumns,
    BlockLanes,
    Flights,
    NameColors,
    block_lanes,
    mean_warps,
    raster,
)
from gpusched._draw.timeline import Lane, Raster, Timeline

pytestmark = pytest.mark.python

AXIS = TimeAxis(1, "time (ticks)")


def columns(rows: list[tuple[int, ...]], threads: list[int], sms: int = 2) -> BlockColumns:
    """Blocks of rows (kernel, sm, start, end)."""
    table = np.array(rows, np.int64).reshape(-1, 4).T
    names = tuple("abcdefghij"[: len(threads)])
    number = np.arange(len(rows))
    zero = np.zeros(len(threads), np.int64)
    kernel, sm, start, end = table
    return BlockColumns(
        kernel, number, sm, start, end, names, np.array(threads), zero, sms=sms, warps=64
    )


def drawn(log: BlockColumns, since: int = 0, until: int | None = None) -> BlockLanes:
    last = int(log.end.max(initial=1))
    return block_lanes([log], NameColors(log.name), AXIS, since, until, last)


def test_heights_are_shares_of_the_warps() -> None:
    log = columns([(0, 0, 0, 10), (1, 0, 4, 9), (2, 0, 4, 6), (0, 1, 0, 5)], [1024, 256, 33])
    found = {(p.name[0], p.lane): p for p in drawn(log).pieces}
    heights = {
        key: [Fraction(bottom - top).limit_denominator(10**6) for top, bottom in piece.spans]
        for key, piece in found.items()
    }
    whole = Fraction(92, 100)
    assert heights == {
        ("a", 0): [whole * 32 / 64],
        ("b", 0): [whole * 8 / 64],
        ("c", 0): [whole * 2 / 64],
        ("a", 1): [whole * 32 / 64],
    }
    assert found["a", 0].spans[0] == pytest.approx((0.5, 0.96))
    assert found["b", 0].spans[0] == pytest.approx((0.5 - 0.92 / 8, 0.5))


def test_a_block_stays_where_it_starts_and_the_lowest_place_is_taken() -> None:
    # b's place is free when d starts, which is as high; c stays above it.
    rows = [(0, 0, 0, 20), (1, 0, 0, 5), (2, 0, 0, 20), (3, 0, 5, 9)]
    pieces = {p.name[0]: p for p in drawn(columns(rows, [512, 512, 512, 512])).pieces}
    assert len(pieces) == 4 and all(len(p.spans) == 1 for p in pieces.values())
    assert pieces["d"].spans == pieces["b"].spans
    assert pieces["c"].spans[0][1] <= pieces["d"].spans[0][0] + 1e-9


def test_flights_are_grouped_in_any_order_of_the_log() -> None:
    rng = np.random.default_rng(1)
    rows = [tuple(row) for row in rng.integers([0, 0, 0, 3], [3, 3, 3, 6], (200, 4))]
    log = columns(rows, [32, 64, 96], 3)
    flights = Flights.of(log, np.arange(200))
    expected: dict[tuple[int, ...], int] = {}
    for row in rows:
        expected[row] = expected.get(row, 0) + 1
    parts = (flights.kernel, flights.sm, flights.start, flights.end)
    assert dict(zip(zip(*parts, strict=True), flights.blocks, strict=True)) == expected
    assert (np.diff(flights.start) >= 0).all()
    assert [rows[k] for k in flights.first] == list(zip(*parts, strict=True))


@pytest.mark.parametrize("group", [1, 2])
@pytest.mark.parametrize("seed", range(10))
def test_means_are_those_of_a_tick_by_tick_count(seed: int, group: int) -> None:
    rng = np.random.default_rng(seed)
    start = rng.integers(0, 900, 60)
    table = (
        rng.integers(0, 3, 60),
        rng.integers(0, 3, 60),
        start,
        start + rng.integers(0, 300, 60),
    )
    log = columns(list(zip(*table, strict=True)), [32, 512, 100], 3)
    since, end = int(rng.integers(0, 400)), int(rng.integers(500, 1300))
    classes = np.array([0, 5, 0])
    found = mean_warps(log, classes, since, end, group)
    parts = min(360, end - since)
    edges = [since + (end - since) * k // parts for k in range(parts + 1)]
    rows = -(-3 // group)
    assert found.shape == (rows, len(PALETTE), parts)
    held = np.zeros((3, len(PALETTE), 1300))
    warps = [1, 16, 4]
    for kernel, sm, low, high in zip(*table, strict=True):
        held[sm, classes[kernel], low:high] += warps[kernel]
    for row in range(rows):
        sms = held[row * group : (row + 1) * group].mean(axis=0)
        for part in range(parts):
            expected = sms[:, edges[part] : edges[part + 1]].mean(axis=1)
            assert found[row, :, part] == pytest.approx(expected, abs=1e-6)


def test_cells_are_stacked_shares() -> None:
    shares = np.zeros((1, len(PALETTE), 3))
    shares[0, 0], shares[0, 2] = [0.5, 0.25, 0.001], [0.25, 0.0, 0.0]
    tall = raster(shares, 0, 32 / 1.15, "")
    counts = [np.bincount(tall.values[:, k] + 1, minlength=4)[:4].tolist() for k in range(3)]
    assert counts == [[8, 16, 0, 8], [24, 8, 0, 0], [31, 1, 0, 0]]
    assert tall.values[-1].tolist() == [0, 0, 0] and tall.values[15, 0] == 2
    thin = raster(shares, 0, 5.0, "")
    assert thin.values.shape == (2, 3) and (thin.values >= 0).all()
    names = [thin.colors[v] for v in thin.values[1]]
    assert names[0] != names[1] != names[2]  # the fewer warps, the paler
    assert sorted(names, key=lambda c: int(c[1:3], 16)) == names
    full = raster(np.eye(len(PALETTE))[None, :, :], 0, 5.0, "")
    assert [full.colors[v] for v in full.values[0]] == list(PALETTE)


@pytest.mark.parametrize("seed", range(20))
def test_rectangles_cover_each_cell_once(seed: int) -> None:
    rng = np.random.default_rng(seed)
    shape = rng.integers(1, 12, 2)
    values = rng.integers(-1, rng.integers(1, 4), shape).astype(np.int16)
    painted = np.full(shape, -1)
    image = Raster(0, 1, values, ("#000000",) * 3)
    for value, row, rows, column, wide in zip(*image.rectangles(), strict=True):
        part = painted[row : row + rows, column : column + wide]
        assert part.shape == (rows, wide) and (part == -1).all()
        part[:] = value
    assert (painted == values).all()


def h100(blocks: int) -> gs.simulate.Hierarchy:
    rng = np.random.default_rng(2)
    n = blocks // 30
    launches = gs.Launches(
        np.sort(rng.integers(0, 50 * n, n)),
        rng.integers(2000, 9000, n),
        stream=np.arange(n) % 60,
        blocks=rng.integers(1, 60, n),
        threads=rng.choice([64, 128, 256], n),
        name=[f"k{i % 8}" for i in range(n)],
    )
    return gs.simulate.hierarchy(launches, "H100")


def test_pictures_of_many_sms_are_small_and_legible() -> None:
    pytest.importorskip("matplotlib")
    from legible import assert_legible

    few, many = h100(3000), h100(60_000)
    for run in (few, many):
        text = run.to_svg()
        assert len(text) < 1_200_000 and "paler where fewer" in text
        root = ElementTree.fromstring(text)
        numbers = [e.text for e in root.iter() if e.tag.endswith("text") and e.get("text-anchor")]
        assert [t for t in numbers if t in ("0", "8", "128")].count("128") == 1
        assert {"0", "8", "16", "128"} <= set(numbers) and "12" not in numbers
    # The size is bounded by the cells, of which there are 132 * 2 * 360.
    assert len(many.to_svg(until=10**9)) < 1_200_000
    shown = assert_legible(many.plot(unit="us").figure)
    assert {"SM", "0", "8", "128"} <= {t.split(" (")[0] for t in shown}


def test_boxes_become_means_of_the_whole_window() -> None:
    n = 1500
    rows = [(0, k % 2, k, k + 2) for k in range(n)]
    log = columns(rows, [512])
    whole = drawn(log)
    assert not whole.pieces and len(whole.rasters) == 1 and whole.end == n + 1
    assert whole.title == "SM (16 of 64 warps)" and whole.notes == ["mean warps over 4 ticks"]
    assert (whole.rasters[0].values >= 0).mean() > 0.99
    window = drawn(log, 10, 600)
    assert len(window.pieces) == 591 and not window.rasters and window.notes == []


def test_no_blocks_and_blocks_of_length_0() -> None:
    empty = drawn(columns([], []))
    assert not empty.pieces and [lane.name for lane in empty.lanes] == ["0", "1"]
    log = columns([(0, 0, 5, 5), (0, 0, 5, 5), (1, 0, 5, 7)], [1024, 2048])
    shown = drawn(log)
    assert [(p.start, p.end) for p in shown.pieces] == [(5, 5), (5, 7)]
    assert len(drawn(log, 5).pieces) == 2 and len(drawn(log, 6).pieces) == 1
    assert sum(bottom - top for top, bottom in shown.pieces[1].spans) == pytest.approx(0.92)


def test_more_warps_than_an_sm_has_are_all_drawn() -> None:
    one = columns([(0, 0, 0, 9), (0, 0, 1, 9), (0, 0, 2, 9)], [1024])
    log = BlockColumns(**{**vars(one), "peak": 96})
    shown = drawn(log)
    assert shown.notes == ["up to 96 warps are on an SM that has room for 64"]
    heights = [bottom - top for piece in shown.pieces for top, bottom in piece.spans]
    assert heights == pytest.approx([0.92 / 3] * 3)


def test_numbers_of_lanes_begin_anew_below_a_heading() -> None:
    lanes = [Lane(str(k), height=6) for k in range(3)]
    both = (Lane("one", height=22), *lanes, Lane("two", height=22), *lanes)
    assert [t for _, t in Timeline(both, ()).labels(11)] == ["one", "0", "2", "two", "0", "2"]
