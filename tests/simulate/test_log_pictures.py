"""Pictures and traces of logs of blocks, alone and above a simulation of their kernels."""

from __future__ import annotations

import json
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest

import gpusched as gs
from gpusched.io.block_log import BlockLog

pytestmark = pytest.mark.python

SVG = "{http://www.w3.org/2000/svg}"
LAUNCHES = gs.Launches(
    [0, 10, 60, 150, 160],
    [100, 60, 50, 80, 40],
    stream=[0, 1, 2, 0, 1],
    blocks=[16, 12, 40, 8, 20],
    threads=[256, 512, 128, 1024, 384],
    name=list("abcab"),
)


def log_of(
    run: gs.simulate.Hierarchy, later: int | np.ndarray = 0, origin: int = 0, longer: int = 0
) -> BlockLog:
    """A run as a log, some of whose blocks start later or take longer."""
    ran, launches = run.blocks, run.launches
    assert ran is not None
    order = np.random.default_rng(1).permutation(len(ran))
    start = ran.start + later + origin
    end = ran.end + later + longer + origin
    return BlockLog(
        list(launches.name),
        launches.stream,
        launches.time + origin,
        launches.blocks,
        launches.threads,
        launches.regs,
        launches.smem,
        *(column[order] for column in (ran.kernel, ran.block, ran.sm, start, end)),
    )


@pytest.fixture(scope="module")
def run() -> gs.simulate.Hierarchy:
    return gs.simulate.hierarchy(LAUNCHES, "Xavier")


def boxes(picture: gs._draw.timeline.Timeline) -> list[tuple[object, ...]]:
    return sorted(
        (p.lane, p.start, p.end, p.color, tuple(sorted(p.spans)), p.label) for p in picture.pieces
    )


def test_a_log_is_drawn_as_the_run_that_it_is_of(run: gs.simulate.Hierarchy) -> None:
    log = log_of(run)
    options = (None, 0, None, None, None, 0)
    found, expected = log._picture("sm", "Xavier", *options), run._picture("sm", None, 0, None)
    assert boxes(found) == boxes(expected)
    assert (found.lanes, found.keys, found.title) == (expected.lanes, expected.keys, expected.title)
    streams, of_run = log._picture("stream", None, *options), run._picture("stream", None, 0, None)
    kernels = [p for p in of_run.pieces if p.style == "run"]
    assert len(streams.pieces) == 5 and streams.marks == of_run.marks
    assert boxes(streams) == sorted(
        (p.lane, p.start, p.end, p.color, tuple(p.spans), p.label) for p in kernels
    )
    assert log._repr_svg_() == log.to_svg()


def test_the_axis_begins_at_the_first_instant(run: gs.simulate.Hierarchy) -> None:
    origin = 1695835573023613251
    log = log_of(run, origin=origin)
    options = ("sm", "Xavier", "ns", None, None, None, None, 0)
    found, expected = log._picture(*options), log_of(run)._picture(*options)
    assert boxes(found) == boxes(expected) and found.end == expected.end
    assert found.notes == (f"0 is {origin} of the log", *expected.notes)
    window = log.to_svg(since=origin + 150, until=origin + 200)
    assert "c: " not in window and "a: " in window
    with pytest.raises(ValueError, match=r"until: got 5, expected more than 1695835573023613251"):
        log.to_svg(until=5)


def test_blocks_that_differ_are_marked(run: gs.simulate.Hierarchy) -> None:
    assert run.blocks is not None
    later = np.zeros(len(run.blocks), np.int64)
    later[run.blocks.kernel == 3] = 7
    log = log_of(run, later, origin=1000)
    picture = log._picture("sm", None, None, None, None, run, None, 6)
    marked = [p for p in picture.pieces if p.differs]
    assert {p.name[:11] for p in marked} == {"measured: a", "simulated: "}
    assert {(p.lane % 2, p.start) for p in marked} == {(0, 157), (1, 150)}
    assert all(p.times == {"differs by up to": 7} for p in marked)
    assert picture.notes[-2:] == (
        "8 of 96 blocks differ in time by more than 6 ticks",
        "0 are on another SM",
    )
    assert [key.text for key in picture.keys] == ["a", "b", "c", "differs"]
    assert [lane.name for lane in picture.lanes][:4] == ["0", "", "1", ""]
    (share,) = picture.rasters
    assert picture.lanes[share.lane].name == "differing"
    used = np.flatnonzero((share.values >= 0).any(axis=0)) * picture.end / share.values.shape[1]
    assert 155 <= used.min() < 158 and 234 < used.max() <= 237
    calm = log._picture("sm", None, None, None, None, run, None, 7)
    assert not any(p.differs for p in calm.pieces)
    text = log.to_svg(against=run, tolerance=6)
    assert text.count("differs by up to 7") == len(marked)
    by_stream = log._picture("stream", None, None, None, None, run, None, 6)
    assert [(p.name, p.start) for p in by_stream.pieces if p.differs] == [
        ("measured: a", 157),
        ("simulated: a", 150),
    ]


def test_a_shift_moves_the_run(run: gs.simulate.Hierarchy) -> None:
    log = log_of(run, origin=1000)
    for shift, marked in ((None, False), (1000, False), (990, True)):
        picture = log._picture("sm", None, None, None, None, run, shift, 9)
        assert any(p.differs for p in picture.pieces) == marked
        first = [min(p.start for p in picture.pieces if p.lane % 2 == side) for side in (0, 1)]
        assert first == ([10, 0] if shift == 990 else [0, 0])
    assert log._picture("sm", None, None, None, None, run, 990, 9).notes[0] == "0 is 990 of the log"


def test_blocks_on_other_sms_are_counted(run: gs.simulate.Hierarchy) -> None:
    log = log_of(run)
    moved = BlockLog(
        *(getattr(log, key) for key in ("name", "stream", "launch", "blocks", "threads")),
        *(log.regs, log.smem, log.kernel, log.block, (log.sm + 1) % 8, log.start, log.end),
    )
    assert "0 of 96 blocks differ in time; 96 are on another SM" in moved.to_svg(against=run)


def test_many_sms_are_one_above_the_other() -> None:
    launches = gs.Launches([0, 50], [90, 30], stream=[0, 1], blocks=[264, 700], threads=512)
    run = gs.simulate.hierarchy(launches, "H100")
    log = log_of(run, longer=20)
    picture = log._picture("sm", None, None, None, None, run, None, 5)
    names = [lane.name for lane in picture.lanes]
    assert len(names) == 2 * 66 + 3
    assert names[:3] == ["measured", "0", "2"] and names[67:69] == ["simulated", "0"]
    assert [(r.lane, r.lanes) for r in picture.rasters] == [(1, 66), (68, 66), (134, 1)]
    share = picture.rasters[2].values
    assert (share[:, : share.shape[1] // 2] >= 0).all()
    assert len(log.to_svg(against=run)) < 200_000


@pytest.mark.long
def test_pictures_of_logs_are_legible(run: gs.simulate.Hierarchy) -> None:
    pytest.importorskip("matplotlib")
    from legible import assert_legible

    rng = np.random.default_rng(3)
    log = log_of(run, rng.integers(0, 9, 96), origin=10**18)
    for by in ("sm", "stream"):
        assert_legible(log.plot(by=by, unit="ns").figure)
        shown = assert_legible(log.plot(by=by, against=run, tolerance=3).figure)
        assert any("measured above, simulated below" in text for text in shown)
    ax = log.plot()
    assert log.plot(ax) is ax
    launches = gs.Launches(np.arange(300), 90, blocks=700, stream=np.arange(300) % 30, threads=512)
    wide = gs.simulate.hierarchy(launches, "H100")
    for by in ("sm", "stream"):
        assert_legible(log_of(wide, 3, 10**18).plot(by=by, against=wide).figure)


EMPTY = BlockLog([], [], [], [], [], [], [], [], [], [], [], [])
ONE = BlockLog(["<a> & $b$"], 0, 0, 1, 32, 0, 0, [0], 0, 0, 5, 9)
NO_LENGTH = BlockLog(["a", "b"], [0, 1], 0, [2, 1], 64, 0, 0, [0, 0, 1], [0, 1, 0], 0, 5, [5, 5, 7])
NEGATIVE = BlockLog(["a"], 0, -50, 1, 32, 0, 0, [0], 0, 0, -45, -9)
WIDE = BlockLog(
    ["a"], 0, 0, 2000, 32, 0, 0, np.zeros(2000, int), range(2000), range(2000), range(2000), 3000
)
CROWDED = BlockLog(["a"], 0, 0, 99, 1024, 0, 0, np.zeros(99, int), range(99), 0, 0, 50)
SPARSE = BlockLog(["a"], 0, 0, 1, 32, 0, 0, [0], 0, 2**40, 0, 9)


@pytest.mark.parametrize("log", [EMPTY, ONE, NO_LENGTH, NEGATIVE, WIDE, CROWDED])
@pytest.mark.parametrize("by", ["sm", "stream"])
def test_unusual_logs(log: BlockLog, by: str, tmp_path: Path) -> None:
    text = log.to_svg(by=by)
    ElementTree.fromstring(text)
    assert len(text) < 40_000
    log.to_chrome_trace(tmp_path / "log.json")
    json.loads((tmp_path / "log.json").read_text())


def test_refusals(run: gs.simulate.Hierarchy) -> None:
    log = log_of(run)
    bare = gs.simulate.hierarchy(LAUNCHES, "Xavier", blocks=False)
    fewer = gs.simulate.hierarchy(gs.Launches([0] * 5, 9), "Xavier")
    short = gs.simulate.hierarchy(gs.Launches([0], 9), "Xavier")
    for options, message in (
        ({"by": "block"}, "by: got 'block', expected one of sm, stream"),
        ({"gpu": "TX2"}, "gpu: got 2 SMs, expected 8 at least"),
        ({"tolerance": -1}, "tolerance: got -1, expected 0 or more"),
        ({"since": 10, "until": 10}, "until: got 10, expected more than 10"),
        ({"until": 2**70}, "window: got 1180591620717411303424, expected 1152921504606846976"),
        ({"against": bare}, "against: got a run without its log"),
        ({"against": short}, "against: got 1 launches, expected 5"),
        ({"against": fewer}, "against: got 1 blocks of launch 0 that have started, expected 16"),
        ({"against": run, "shift": 2**61}, "shift: got 2305843009213693952, expected times"),
    ):
        with pytest.raises(ValueError, match=message):
            log.to_svg(**options)
    with pytest.raises(TypeError, match="against: got 3, expected a run"):
        log.to_svg(against=3)
    with pytest.raises(ValueError, match=r"sm: got 1099511627776, expected less than 1048576 in"):
        SPARSE.to_svg()
    far = BlockLog(
        ["a", "b"], 0, [-(2**62), 2**62], 1, 32, 0, 0, [0, 1], 0, 0, [-(2**62), 2**62], 2**62 + 1
    )
    with pytest.raises(ValueError, match="end: got times from -4611686018427387904 to"):
        far.to_svg()


def test_trace_of_a_log_is_that_of_its_run(run: gs.simulate.Hierarchy, tmp_path: Path) -> None:
    log = log_of(run)
    log.to_chrome_trace(tmp_path / "log.json", gpu="Xavier", tick=1000)
    run.to_chrome_trace(tmp_path / "run.json", tick=1000)
    found, expected = (
        json.loads((tmp_path / name).read_text())["traceEvents"]
        for name in ("log.json", "run.json")
    )

    def on_sms(events: list[dict[str, object]]) -> list[str]:
        names = {e["pid"]: e["args"]["name"] for e in events if e["name"] == "process_name"}
        chosen = [e for e in events if str(names[e["pid"]]).startswith("SM")]
        return sorted(str({key: value for key, value in e.items() if key != "tid"}) for e in chosen)

    assert on_sms(found) == on_sms(expected)
    kernels = [e for e in found if e["ph"] == "X" and "launched" in e["args"]]
    assert [(e["name"], e["ts"]) for e in kernels] == [
        (LAUNCHES.name[k], int(log.first[k])) for k in np.argsort(log.first, kind="stable")
    ]
