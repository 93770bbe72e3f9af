"""Pictures: legible text, and notes about omitted parts."""

import re
import subprocess
import sys
from itertools import combinations
from xml.etree import ElementTree

import numpy as np
import pytest

import gpusched as gs
from gpusched._draw import axes as plot
from gpusched.model.schedule import Schedule
from gpusched.pbs import graph

pytestmark = pytest.mark.python

matplotlib = pytest.importorskip("matplotlib")
matplotlib.use("Agg")
from legible import assert_legible  # noqa: E402

SVG = "{http://www.w3.org/2000/svg}"

TASKS = gs.KernelTasks(period=[4, 5, 10], wcet=[1, 3, 3], name=["camera", "detector", "planner"])
BATCHES = ([0, 1, 4, 5, 9, 10, 14, 15, 18], [1, 4, 5, 9, 10, 14, 15, 18, 19])
GOOD = Schedule(*BATCHES, [1, 2, 1, 6, 1, 6, 1, 2, 1], TASKS)
LATE = Schedule([0, 6], [6, 10], [7, 3], TASKS)
WAITS = Schedule([0, 3], [3, 6], [2, 4], TASKS)


@pytest.fixture(autouse=True)
def close_figures():
    yield
    from matplotlib import pyplot

    pyplot.close("all")


def many(frames=1000):
    tasks = gs.KernelTasks(period=[2, 2 * frames], wcet=[1, 1], name=["a", "b"])
    start = 2 * np.arange(frames)
    return Schedule(start, start + 1, [1] * frames, tasks)


@pytest.mark.parametrize("schedule", [GOOD, LATE, WAITS])
def test_gantt_chart_is_legible(schedule):
    shown = assert_legible(schedule.plot().figure)
    for label in (*TASKS.name, "time (ticks); numbers: jobs", "release", "deadline"):
        assert shown.count(label) == 1
    assert ("missed deadline" in shown) == (schedule is not GOOD)
    assert ("waits " in shown) == (schedule is WAITS)


def test_gantt_chart_shows_every_job_where_it_runs():
    from matplotlib.patches import Rectangle

    ax = GOOD.plot()
    bars = [p for p in ax.patches if isinstance(p, Rectangle) and p.get_height() > 2]
    jobs = GOOD.jobs()
    assert len(bars) == len(jobs) == 11
    found = sorted(
        (p.get_x(), p.get_width(), int((p.get_y() + p.get_height() / 2) // 34)) for p in bars
    )
    rows = zip(jobs.start, jobs.end - jobs.start, jobs.task, strict=True)
    assert found == sorted((int(a), int(b), int(c)) for a, b, c in rows)
    assert [tick.get_text() for tick in ax.get_yticklabels()] == list(TASKS.name)


def test_late_jobs_are_marked():
    ax = LATE.plot()
    crosses = [line for line in ax.lines if line.get_marker() == "X"]
    places = [(x, y) for line in crosses for x, y in zip(*line.get_data(), strict=True)]
    assert sorted((float(x), int(y // 34)) for x, y in places) == [(4, 0), (5, 1), (8, 0)]
    assert sum(patch.get_hatch() is not None for patch in ax.patches) == 3


def test_gantt_chart_on_given_axes_and_up_to_a_time():
    _, ax = matplotlib.pyplot.subplots()
    assert GOOD.plot(ax, until=10) is ax
    assert ax.get_xlim() == (0, 10)
    with pytest.raises(ValueError, match="until: got 0, expected at least 1"):
        GOOD.plot(until=0)
    with pytest.raises(ValueError, match="unit: got 'h', expected None"):
        GOOD.plot(unit="h")


def test_long_schedules_are_cut_and_say_so():
    schedule = many()
    ax = schedule.plot()
    assert any("940 more frames are not shown" in text for text in assert_legible(ax.figure))
    svg = schedule.to_svg()
    assert "940 more frames are not shown" in svg
    assert len(svg) < 60_000
    # Where all frames are asked for, there are no more arrows than can be told apart.
    longer = many(5000).to_svg(until=10_000)
    assert "arrows only up to 2000" in longer
    assert "not shown" not in longer
    assert longer.count("h-7z") < 4100  # triangles of releases and deadlines


def test_long_names_are_cut():
    names = ["x" * 500, "\x00\x1b", "<&>\"'"]
    tasks = gs.KernelTasks(period=[4, 5, 10], wcet=[1, 3, 3], name=names)
    schedule = Schedule(GOOD.start, GOOD.end, GOOD.batch, tasks)
    assert_legible(schedule.plot().figure)
    ElementTree.fromstring(schedule.to_svg())


def svg_texts(text):
    root = ElementTree.fromstring(text)
    assert root.tag == f"{SVG}svg"
    return root, ["".join(t.itertext()) for t in root.iter(f"{SVG}text")]


@pytest.mark.parametrize("schedule", [GOOD, LATE, WAITS, many(), Schedule([], [], [], TASKS)])
def test_svg_is_well_formed_and_inside_its_frame(schedule):
    root, shown = svg_texts(schedule._repr_svg_())
    width, height = float(root.get("width")), float(root.get("height"))
    assert any("time (ticks)" in text for text in shown)
    for rect in root.iter(f"{SVG}rect"):
        if rect.get("width") != "100%":
            x, y = float(rect.get("x")), float(rect.get("y"))
            assert 0 <= x and x + float(rect.get("width")) <= width
            assert 0 <= y and y + float(rect.get("height")) <= height
    for text in root.iter(f"{SVG}text"):
        assert 0 <= float(text.get("x")) <= width
        assert 0 <= float(text.get("y")) <= height


def test_svg_marks_missed_deadlines():
    _, shown = svg_texts(LATE.to_svg())
    assert "missed deadline" in shown
    titles = re.findall(r"<title>([^<]*)</title>", LATE.to_svg())
    assert "camera #0 ends after its deadline 4" in titles
    assert "camera #0 waits at its deadline 4" in re.findall(
        r"<title>([^<]*)</title>", WAITS.to_svg()
    )
    assert "missed" not in GOOD.to_svg()


def test_units():
    tasks = gs.KernelTasks(period=[4_000_000], wcet=[1_500_000])
    schedule = Schedule([0], [1_500_000], [1], tasks)
    for unit, label in (("ns", "time (ms)"), ("us", "time (s)"), (None, "time (ticks)")):
        ax = schedule.plot(unit=unit)
        assert ax.get_xlabel() == f"{label}; numbers: jobs"
        assert label in schedule.to_svg(unit=unit)
        assert_legible(ax.figure)
    assert plot.time_axis("ns", 1999).label == "time (ns)"
    assert plot.time_axis("ns", 2000).label == "time (µs)"
    assert plot.time_axis("s", 10).label == "time (s)"


@pytest.mark.parametrize("last", [1, 2, 3, 7, 10, 19, 20, 99, 12345, 10**9, 2**62])
def test_time_steps_are_round_and_few(last):
    steps = plot.time_axis(None, last).steps(0, last)
    assert steps[0] == 0
    assert steps[-1] <= last
    assert 2 <= len(steps) <= 12
    assert str(steps[1]).rstrip("0") in ("1", "2", "5")


def test_colours_differ_also_for_the_colour_blind():
    """Machado et al. (2009), severity 1: the palette's colours stay apart as seen by each."""
    blind = {
        "protan": [
            [0.152286, 1.052583, -0.204868],
            [0.114503, 0.786281, 0.099216],
            [-0.003882, -0.048116, 1.051998],
        ],
        "deutan": [
            [0.367322, 0.860646, -0.227968],
            [0.280085, 0.672501, 0.047413],
            [-0.011820, 0.042940, 0.968881],
        ],
    }
    rgb = np.array([matplotlib.colors.to_rgb(c) for c in plot.PALETTE])
    linear = np.where(rgb <= 0.04045, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4)
    for matrix in ([[1, 0, 0], [0, 1, 0], [0, 0, 1]], *blind.values()):
        seen = np.clip(linear @ np.array(matrix).T, 0, 1) ** (1 / 2.2)
        for i, j in combinations(range(len(seen)), 2):
            assert np.abs(seen[i] - seen[j]).sum() > 0.15, (plot.PALETTE[i], plot.PALETTE[j])


def test_save_figure_is_whole_or_not_at_all(tmp_path):
    plot.save_figure(GOOD.plot().figure, tmp_path / "a.png")
    assert (tmp_path / "a.png").read_bytes()[:4] == b"\x89PNG"
    with pytest.raises(ValueError, match="xyz"):
        plot.save_figure(GOOD.plot().figure, tmp_path / "a.xyz")
    with pytest.raises(FileNotFoundError):
        plot.save_figure(GOOD.plot().figure, tmp_path / "no" / "a.png")
    assert [path.name for path in tmp_path.iterdir()] == ["a.png"]


def test_importing_gpusched_imports_nothing_heavy():
    code = (
        "import sys, gpusched, gpusched.model.schedule, gpusched.study.sweeps\n"
        "import gpusched.experiments\n"
        "print([m for m in ('matplotlib', 'pandas', 'tqdm', 'scipy') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


NAMES = ["$_0 and $_1", "$\\frac$"]


def named_schedule():
    kernels = gs.KernelTasks(period=[9, 9], wcet=[2, 3], name=NAMES)
    return Schedule([0, 2], [2, 5], [1, 2], kernels).plot()


def named_blocks():
    kernels = gs.KernelTasks(period=[9, 9], block_time=8, name=NAMES)
    return gs.simulate.fifo(kernels, 2, until=9).plot()


def named_hierarchy(by):
    launches = gs.Launches([0, 0], 5, stream=[0, 1], name=NAMES, stream_name=NAMES)
    return gs.simulate.hierarchy(launches, "Xavier").plot(by=by)


def named_cores():
    hosts = gs.HostTasks.from_gpu_times([60, 60], [2, 3], [9, 8], core=0, name=NAMES)
    return gs.simulate.host(hosts, 2, "gpu_server", until=60).plot()


def named_graph():
    kernels = gs.KernelTasks(period=[9, 9], wcet=[2, 3], name=NAMES)
    table = gs.BatchTable.from_dict(2, {(0,): 2, (1,): 3, (0, 1): 4})
    return graph.search(kernels, table, graph=True).graph.plot()


def named_verdict():
    hosts = gs.HostTasks.from_gpu_times([60, 60], [2, 3], [9, 8], core=0, name=NAMES)
    return gs.analysis.mpcp(hosts).plot()


def named_pipelines():
    volta = gs.experiments.ARCHITECTURES["Volta"]
    return gs.experiments.olmedo_fig6(10, architectures=dict.fromkeys(NAMES, volta)).plot()


def named_contention():
    return gs.experiments.olmedo_fig7(dict.fromkeys(NAMES, 2.0), (0, 1)).plot()


def named_profiles():
    kernel = gs.profiles.amdahl(0.9, 4)
    return gs.experiments.stgm_fig3({NAMES[0]: {NAMES[1]: kernel}}).plot()[0]


@pytest.mark.parametrize(
    "draw",
    [
        named_schedule,
        named_blocks,
        lambda: named_hierarchy("sm"),
        lambda: named_hierarchy("stream"),
        named_cores,
        named_graph,
        named_verdict,
        named_pipelines,
        named_contention,
        named_profiles,
    ],
)
def test_names_are_no_formulas(draw):
    """In every picture that shows names which users or kernels bring along."""
    from matplotlib.text import Text

    figure = draw().figure
    figure.canvas.draw()
    named = [t for t in figure.findobj(Text) if any(name in t.get_text() for name in NAMES)]
    assert {name for name in NAMES for text in named if name in text.get_text()} == set(NAMES)
    assert not any(text.get_parse_math() for text in named)


def test_svgs_leave_the_page_around_them_alone():
    kernels = gs.KernelTasks(period=[9, 9], wcet=[2, 3])
    hosts = gs.HostTasks.from_gpu_times([60, 60], [2, 3], [9, 8], core=0)
    for run in (
        GOOD,
        LATE,
        gs.simulate.fifo(kernels, 4096, until=9),
        gs.simulate.host(hosts, 2, "gpu_server", until=60),
        gs.simulate.hierarchy(gs.Launches([0, 1], 5), "Xavier"),
    ):
        root = ElementTree.fromstring(run.to_svg())
        assert root.tag == f"{SVG}svg"
        assert [node for node in root.iter() if "class" in node.attrib] == [root]
        assert root.get("class") == "gpusched"
        (style,) = root.iter(f"{SVG}style")
        media, _, rules = style.text.partition("{")
        assert media == "@media screen and (prefers-color-scheme:dark)"
        assert all(part.startswith(".gpusched") for part in rules[:-1].split("}")[:-1])


def _luminance(color: str) -> float:
    parts = [int(color[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    linear = [
        part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts
    ]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def test_every_color_is_seen_on_dark_pages() -> None:
    """A contrast of 3 to the background, which WCAG 2.1 (1.4.11) asks of graphics."""
    from gpusched._draw.axes import PALETTE
    from gpusched._draw.svg import _DARK, DARK_PAPER
    from gpusched.model.block_placement import _COLORS
    from gpusched.simulate.hierarchy_timeline import _WAITS

    for color in (*PALETTE, *_COLORS, *_WAITS.values()):
        shown = _luminance(_DARK.get(color, color))
        assert (shown + 0.05) / (_luminance(DARK_PAPER) + 0.05) >= 3, color
