"""Drawings of the links between tasks: places, routes, SVG, Matplotlib, text, commands."""

from __future__ import annotations

import re
from itertools import pairwise
from pathlib import Path
from random import Random
from xml.etree import ElementTree

import pytest
from commands import ORIN, refused
from commands import run as command

import gpusched as gs
from gpusched.model.workload.link_layout import drawing_of, lines_of, places, routes

pytestmark = pytest.mark.python

EXAMPLES = Path(__file__).parents[2] / "notebooks"
WORK = [gs.CPU(1)]


def example(name: str) -> gs.Workload:
    return gs.Workload.load(EXAMPLES / f"{name}.toml")


def random_workload(random: Random, most: int = 24) -> gs.Workload:
    """Trees of tasks that release each other, and readings in any direction."""
    tasks: list[gs.Task] = []
    count = random.randint(1, most)
    names = [f"t{i}" for i in range(count)]
    for i, name in enumerate(names):
        others = [other for other in names if other != name]
        reads = random.sample(others, min(len(others), random.choice([0, 0, 1, 2])))
        if i and random.random() < 0.6:
            after = names[random.randrange(i)]
            reads = [other for other in reads if other != after]
            every = random.choice([1, 2])
            tasks.append(gs.Task(name, None, WORK, after=after, every=every, reads=reads or None))
        else:
            tasks.append(gs.Task(name, 10, WORK, reads=reads or None))
    return gs.Workload(tasks, tick="us")


def links_in(w: gs.Workload) -> set[tuple[str, str, bool]]:
    after = {(name, task.name, False) for task in w for name in task.after}
    return after | {(name, task.name, True) for task in w for name in task.reads}


def test_places_of_tasks() -> None:
    found = places(example("endoscope").tasks)
    assert found == {
        "capture": (0, 0), "converter": (1, 0), "inference": (2, 0), "postprocessor": (3, 0),
        "visualizer": (4, 0), "recorder": (1, 1), "report": (4, 1),
    }  # fmt: skip
    loop = [gs.Task("a", 9, WORK, reads="b"), gs.Task("b", 9, WORK, reads="a")]
    assert sorted(places(gs.Workload(loop).tasks).values()) == [(0, 0), (1, 0)]
    many = [gs.Task("t0", 9, WORK)]
    many += [gs.Task(f"t{i}", None, WORK, after=f"t{i - 1}") for i in range(1, 3000)]
    assert len(places(gs.Workload(many).tasks)) == 100


def test_nothing_is_in_the_way_of_a_link() -> None:
    long_ones = back = 0
    for seed in range(150):
        w = random_workload(Random(f"routes {seed}"))
        at = places(w.tasks)
        assert len(set(at.values())) == len(at) == len(w), "two tasks in one place"
        assert all(at[t.name][0] > at[name][0] for t in w for name in t.after)
        found = routes(w.tasks, at)
        assert {(r.source, r.target, r.reads) for r in found} == links_in(w)
        used: dict[tuple[int, int], str] = {}
        for route in found:
            (x, y), (to_x, to_y) = at[route.source], at[route.target]
            if not route.rows:
                assert to_x <= x
                back += 1
                continue
            assert (route.rows[0], route.rows[-1]) == (y, to_y) and len(route.rows) == to_x - x + 1
            for column, row in enumerate(route.rows[1:-1], start=x + 1):
                assert (column, row) not in at.values()
                assert used.setdefault((column, row), route.source) == route.source
                long_ones += 1
    assert long_ones > 300 and back > 100


def test_curves_lead_from_frame_to_frame() -> None:
    for seed in range(60):
        w = random_workload(Random(f"curves {seed}"))
        drawn = drawing_of(w.tasks, {task.name: 3 + i % 20 for i, task in enumerate(w)})
        boxes = list(drawn.boxes.values())
        for box in boxes:
            assert box.width / 2 < box.x < drawn.width - box.width / 2
            assert box.height / 2 < box.y < drawn.height - box.height / 2
        for route, curve in drawn.curves.items():
            assert len(curve) % 3 == 1
            assert all(0 <= x <= drawn.width and 0 <= y <= drawn.height for x, y in curve)
            first, last = drawn.boxes[route.source], drawn.boxes[route.target]
            if route.rows:
                assert curve[0] == (first.x + first.width / 2, first.y)
                assert curve[-1] == pytest.approx((last.x - last.width / 2, last.y))
                assert all(a[0] <= b[0] + 1e-9 for a, b in pairwise(curve))
            else:
                assert curve[0] == (first.x, first.y - first.height / 2)
                assert curve[-1] == (last.x, last.y - last.height / 2)


def test_an_svg_drawing() -> None:
    w = example("endoscope")
    drawn = w.to_svg()
    root = ElementTree.fromstring(drawn)
    texts = [found.text for found in root.iter("{http://www.w3.org/2000/svg}text")]
    assert set(w.names) <= set(texts) and {"60Hz", "10Hz", "x2"} <= set(texts)
    assert {"glass to glass: latency at most 16.666ms", "releases", "is read by"} <= set(texts)
    assert drawn.count("stroke-dasharray") == 2  # of the reading, and of the key
    assert (
        drawn in w._repr_html_()
        and "<svg" not in w.replace(tasks=[gs.Task("a", 9, WORK)], paths=[])._repr_html_()
    )
    hostile = gs.Task('<b>&"', 9, WORK)
    path = gs.Path("</svg>", ['<b>&"'])
    odd = gs.Workload([hostile], tick="us", paths=[path]).to_svg()
    ElementTree.fromstring(odd)
    assert odd.count("</svg>") == 1


def test_large_workloads_say_what_is_not_drawn() -> None:
    names = [f"t{i}" for i in range(120)]
    many = [gs.Task(name, 9, WORK, reads=names[:i] or None) for i, name in enumerate(names)]
    w = gs.Workload(many, tick="us", paths=[gs.Path(f"p{i}", ["t0"]) for i in range(15)])
    drawn = w.to_svg()
    for text in ("20 more tasks", f"{120 * 119 // 2 - 400:,} more links", "3 more paths"):
        assert f"{text} not drawn" in drawn
    assert len(drawn) < 500_000
    lines = lines_of(w._parts())
    assert lines[-1] == "and 20 more tasks" and len(lines) == 202


def test_a_picture_of_the_links() -> None:
    pyplot = pytest.importorskip("matplotlib.pyplot")
    w = example("endoscope")
    ax = w.plot()
    texts = [text.get_text() for text in ax.texts]
    assert {"capture\n60Hz", "converter", "x2", "tools on screen: held age at most 250ms"} <= {
        *texts
    }
    small = pyplot.subplots(figsize=(3, 2))[1]
    assert w.plot(small) is small
    assert small.texts[0].get_fontsize() < ax.texts[0].get_fontsize()
    for of in (ax, small):
        of.figure.canvas.draw()
        pyplot.close(of.figure)


def test_links_as_text() -> None:
    assert lines_of(example("endoscope")._parts()) == [
        "capture 60Hz ┬─> converter ─> inference ─> postprocessor ┬─> visualizer",
        "             │                                           └┄> report 10Hz",
        "             ├─> visualizer (above)",
        "             └─> recorder x2",
    ]
    long = "b" * 60
    tasks = [gs.Task("a", 9, WORK, reads="c" * 60), gs.Task(long, None, WORK, after="a")]
    tasks.append(gs.Task("c" * 60, 8, WORK, reads=long))
    assert lines_of(gs.Workload(tasks, tick="us")._parts()) == [
        "a 9us",
        f"└─> {long[:39]}…",
        f"    └┄> {'c' * 39}… 8us",
        "        └┄> a 9us (above)",
    ]


def arrows_in(lines: list[str], names: list[str]) -> set[tuple[str, str, bool]]:
    """The links that lines of either form show, found by the places of their characters."""
    found: set[tuple[str, str, bool]] = set()
    starts: list[tuple[int, int, str]] = []  # line, place behind the name, name
    for at, line in enumerate(lines):
        for part in re.finditer(r"t\d+", line):
            arrow = line[: part.start()]
            if arrow.strip():
                kind = arrow[-3] == "┄"
                corner = arrow.rstrip("> ")[:-1]
                if corner[-1:] in "├└":
                    column, above = len(corner) - 1, at - 1
                    while lines[above][column] not in "┬" and not re.match(
                        r"t\d+", lines[above][column:]
                    ):
                        assert lines[above][column] in "│├"
                        above -= 1
                    before = [
                        name for row, place, name in starts if row == above and place <= column
                    ]
                    source = before[-1]
                else:
                    source = starts[-1][2]
                found.add((source, part[0], kind))
            starts.append((at, part.start(), part[0]))
    assert {name for *_, name in starts} == set(names)
    return found


@pytest.mark.parametrize("widest", [0, 100, 10**6])
def test_lines_show_all_links(widest: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gpusched.model.workload.link_layout._WIDEST", widest)
    for seed in range(80):
        w = random_workload(Random(f"lines {seed}"), 12)
        assert arrows_in(lines_of(w._parts()), list(w.names)) == links_in(w), seed


def test_the_check_command_draws_and_prints(tmp_path: Path) -> None:
    check = ("check", EXAMPLES / "endoscope.toml", *ORIN, "--way", "one_stream")
    shown = command(tmp_path, *check, "--graph", "--output", "links.svg")
    assert (
        "\ncapture 60Hz ┬─> converter" in shown.stdout
        and "┬─>" not in command(tmp_path, *check).stdout
    )
    assert (tmp_path / "links.svg").read_text("utf-8") == example("endoscope").to_svg()
    room = command(tmp_path, *check, "--margin", "glass to glass").stdout
    assert "margin: one_stream: everything for glass to glass may take" in room
    assert "--json; --output draws the links" in refused(tmp_path, *check, "--graph", "--json")
    pytest.importorskip("matplotlib")
    assert "answers are saved in .npz" in refused(tmp_path, *check, "--output", "links.foo")
    command(tmp_path, *check, "--json", "--output", "links.png")
    assert (tmp_path / "links.png").read_bytes().startswith(b"\x89PNG")
