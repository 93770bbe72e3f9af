"""Pictures of FIFO runs: every block is drawn, none overlap, the text is legible."""

from __future__ import annotations

import xml.etree.ElementTree as ElementTree
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import gpusched as gs
from gpusched.simulate import fifo_timeline

pytestmark = pytest.mark.python

EXAMPLE = gs.KernelTasks(
    period=[80, 160, 170, 180],
    block_time=[38, 60, 60, 112],
    blocks=[1, 7, 1, 5],
    threads=[1024, 512, 1024, 512],
    name=["camera", "detection", "lanes <&>", "a name that is far too long for any legend"],
)


@pytest.fixture(autouse=True)
def close_figures() -> Iterator[None]:
    yield
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    from matplotlib import pyplot

    pyplot.close("all")


def runs() -> Iterator[Any]:
    yield gs.simulate.fifo(EXAMPLE, 4096, until=81)
    chance = np.random.default_rng(3)
    for k in range(12):
        period = chance.choice([10, 15, 20, 40], 4)
        tasks = gs.KernelTasks(
            period=period,
            block_time=chance.integers(1, period),
            blocks=chance.integers(1, 6, 4),
            threads=chance.integers(1, 8, 4),
        )
        order = ("hardware", "release", "strict", "overlap")[k % 4]
        options = {"execution": (0.2, 1), "draw": "block", "seed": k} if k > 6 else {}
        yield gs.simulate.fifo(tasks, 13, order, until=150, **options)


def test_blocks_do_not_cover_each_other() -> None:
    torn = 0
    for run in runs():
        for since in (0, 40):
            drawn = fifo_timeline.picture(run, None, since, None)
            width = run.tasks.threads
            area = 0
            boxes = []
            for piece in drawn.pieces:
                assert piece.lane == 0
                start, end = drawn.cut(piece)
                sides = [[round((1 - share) * run.threads) for share in s] for s in piece.spans]
                assert sum(high - low for high, low in sides) == piece.args["threads"]
                torn += any(high - low != width[piece.color] for high, low in sides)
                for high, low in sides:
                    assert 0 <= low < high <= run.threads
                    boxes.append((low, high, start, end))
                    area += (high - low) * (end - start)
            for k, (low, high, start, end) in enumerate(boxes):
                for other in boxes[:k]:
                    apart = high <= other[0] or other[1] <= low
                    assert apart or end <= other[2] or other[3] <= start
            if since == 0 and not drawn.notes:
                waves = run.waves
                busy = (waves.blocks * width[waves.task] * (waves.end - waves.start)).sum()
                assert area == busy
    assert torn > 5  # blocks that no run of adjacent threads could hold


@pytest.mark.long
def test_plot() -> None:
    pytest.importorskip("matplotlib")
    from legible import assert_legible

    for run in runs():
        shown = assert_legible(run.plot().figure)
        assert {"threads", "time (ticks); numbers: jobs", "release"} <= set(shown)
    run = gs.simulate.fifo(EXAMPLE, 4096, until=81)
    shown = assert_legible(run.plot(labels={(0, 0): "K1", (0, 1): "K5"}, unit="us").figure)
    assert {"K1", "K5", "camera", "a name that is far too long…", "time (µs)"} <= set(shown)
    assert "late" not in shown
    window = assert_legible(run.plot(since=90, until=130).figure)
    assert "1" in window and "release" in window
    axes = run.plot()
    assert run.plot(axes) is axes


@pytest.mark.long
def test_long_runs_are_cut() -> None:
    pytest.importorskip("matplotlib")
    from legible import assert_legible

    tasks = gs.generate.fifo(12, 0.9, seed=5)
    run = gs.simulate.fifo(tasks, 4096, until=10**10)
    assert len(run.waves) > 3 * fifo_timeline.SHOWN_WAVES[0]
    shown = assert_legible(run.plot(unit="us").figure)
    drawn = fifo_timeline.picture(run, None, 0, None)
    cut = f"{len(run.waves) - len(tuple(drawn.pieces))} more waves are not shown"
    assert any(text.endswith(cut) for text in shown)
    assert cut in run.to_svg()
    assert len(run.to_svg()) < 400_000
    assert len(run.to_svg(until=10**10)) < 1_500_000
    wide = gs.KernelTasks(period=[10], block_time=9, blocks=2**20)
    many = gs.simulate.fifo(wide, 2**20, until=100)
    assert len(many.to_svg()) < 20_000
    assert_legible(many.plot().figure)


def test_nothing_to_draw() -> None:
    pytest.importorskip("matplotlib")
    from legible import assert_legible

    empty = gs.simulate.fifo(EXAMPLE, 4096, until=0)
    assert {"threads", "time (ticks)"} <= set(assert_legible(empty.plot().figure))
    run = gs.simulate.fifo(EXAMPLE, 4096, until=81)
    assert "1060" in assert_legible(run.plot(since=1000, until=1100).figure)


def test_names_are_no_formulas() -> None:
    pytest.importorskip("matplotlib")
    from legible import assert_legible

    tasks = gs.KernelTasks(period=[9, 9], block_time=8, name=["$_0 and $_1", "$\\frac$"])
    run = gs.simulate.fifo(tasks, 2, until=9)
    figure = run.plot(labels={(0, 0): "$\\x$", (1, 0): "$x$"}).figure
    assert {"$_0 and $_1", "$\\frac$", "$\\x$", "$x$"} <= set(assert_legible(figure))
    figure.canvas.draw()
    assert all(not text.get_parse_math() for text in figure.axes[0].get_legend().get_texts())


def test_more_waves_at_once_than_are_shown() -> None:
    # Each block is a wave of its own: the picture goes on until the first that is not shown.
    tasks = gs.KernelTasks(period=[1000], block_time=40, blocks=1000)
    run = gs.simulate.fifo(tasks, 500, until=1, draw="block")
    drawn = fifo_timeline.picture(run, None, 0, None)
    assert len(tuple(drawn.pieces)) == 500 > fifo_timeline.SHOWN_WAVES[0] and drawn.end == 40
    assert drawn.notes == ("500 more waves are not shown",)
    late = fifo_timeline.picture(run, None, 20, None)
    assert len(tuple(late.pieces)) == 500 and late.end == 40


def test_svg() -> None:
    for run in runs():
        ElementTree.fromstring(run.to_svg())
    text = gs.simulate.fifo(EXAMPLE, 4096, until=81)._repr_svg_()
    assert text is not None
    root = ElementTree.fromstring(text)
    titles = [t.text for t in root.iter("{http://www.w3.org/2000/svg}title")]
    assert titles[1] == "detection #0: 6 blocks of 512 threads, 0 to 60"
    assert "lanes <&>" in [t.text for t in root.iter("{http://www.w3.org/2000/svg}text")]
    late = gs.simulate.fifo(gs.KernelTasks(period=[4], block_time=6), 1, until=20)
    assert "0 to 6 (late)" in late.to_svg()
    assert gs.simulate.fifo(EXAMPLE, 4096, until=81, waves=False)._repr_svg_() is None
    assert "<svg" in gs.simulate.fifo(EXAMPLE, 4096, until=0).to_svg()


def test_refused() -> None:
    run = gs.simulate.fifo(EXAMPLE, 4096, until=81)
    for name, value in (("since", 1.5), ("since", None), ("until", float("nan")), ("until", "x")):
        with pytest.raises(TypeError, match=f"{name}: got .*, expected an integer"):
            run.to_svg(**{name: value})
    for arguments, message in (
        ({"since": -1}, "since: got -1, expected 0 or more"),
        ({"since": 5, "until": 5}, "until: got 5, expected more than since = 5"),
        ({"until": 0}, "until: got 0, expected more than since = 0"),
        ({"unit": "min"}, "unit: got 'min', expected None"),
    ):
        with pytest.raises(ValueError, match=message):
            run.to_svg(**arguments)
    bare = gs.simulate.fifo(EXAMPLE, 4096, until=81, waves=False)
    with pytest.raises(
        ValueError, match="waves: got a run without them, expected one with waves=True"
    ):
        bare.to_svg()
