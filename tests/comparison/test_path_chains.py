"""The chain of jobs behind the largest time of a path: in pictures, traces, reports, commands."""

from __future__ import annotations

import json
from collections import Counter
from itertools import pairwise
from pathlib import Path
from random import Random
from typing import Any

import pytest
from commands import refused
from commands import run as command

import gpusched as gs
from gpusched._draw import svg
from gpusched._draw.timeline import BODY, Lane, Link, Piece, Timeline
from gpusched.comparison.path_runs import worst_chain
from gpusched.model.workload.links import KINDS
from gpusched.simulate import machine_timeline
from gpusched.simulate.machine_timeline import Chain, chain_pieces

pytestmark = pytest.mark.python

EXAMPLES = Path(__file__).parents[2] / "notebooks"
ORIN = gs.Platform("AGX Orin", cpus=4)


def example(name: str, way: str) -> gs.WorkloadRun:
    w = gs.Workload.load(EXAMPLES / f"{name}.toml")
    return gs.observe(w, ORIN, way, until="1s", timeline=True)


def chain_of(run: gs.WorkloadRun, path: str | int) -> Chain:
    found = run.path(path)
    return worst_chain(found, run.workload, run._jobs_of(found.path))


def random_run(random: Random) -> gs.WorkloadRun:
    """Lines of tasks that release each other, one of which reads the one before it."""
    tasks: list[gs.Task] = []
    names: list[str] = []
    for line in range(random.randint(1, 3)):
        period = random.choice([10, 15, 20, 40])
        for stage in range(random.randint(1, 3)):
            work: list[Any] = [gs.CPU(random.randint(1, 2))]
            if random.random() < 0.6:
                work.append(gs.Kernel(random.randint(1, 2), blocks=4, threads=256))
            if stage == 0:
                jitter = random.choice([0, 0, 3])
                reads = names[-1] if names else None
                made = gs.Task(f"t{line}", period, work, jitter=jitter, reads=reads, deadline=900)
            else:
                every = random.choice([1, 1, 2])
                made = gs.Task(
                    f"t{line}.{stage}", None, work, after=names[-1], every=every, deadline=900
                )
            tasks.append(made)
            names.append(made.name)
    low = random.randrange(len(names))
    high = random.randrange(low, len(names)) + 1
    paths = [gs.Path(kind, names[low:high], kind=kind) for kind in KINDS]
    w = gs.Workload(tasks, tick="us", paths=paths)
    way = random.choice(["one_stream", "streams", "mpcp", "time_slices", "gpu_server"])
    platform = gs.Platform("AGX Orin", cpus=4, timeslice=2, context_switch=1)
    return gs.observe(w, platform, way, until=400, timeline=True)


def test_the_parts_of_a_chain_are_its_time() -> None:
    kinds: Counter[str] = Counter()
    for seed in range(80):
        run = random_run(Random(f"chain {seed}"))
        for path in run.workload.paths:
            found = run.path(path.name)
            if found.largest is None:
                continue
            chain = chain_of(run, path.name)
            pieces = list(chain_pieces(chain, 0, run.workload.names))
            assert pieces[0].start == chain.since and pieces[-1].end == chain.end
            assert all(a.end == b.start and a.end >= a.start for a, b in pairwise(pieces))
            length = sum(piece.end - piece.start for piece in pieces)
            assert -(-length // run.grain) == found.largest, (seed, path.kind)
            jobs = {run.workload.names[stage.task]: stage.job for stage in chain.stages}
            assert jobs == found.worst()
            assert all(piece.name for piece in pieces)
            for stage, (before, name) in zip(chain.stages[1:], pairwise(path.tasks), strict=True):
                assert stage.reads == (before not in run.workload[name].after)
            kinds[path.kind] += 1
            kinds["reads"] += sum(stage.reads for stage in chain.stages)
    assert min(kinds[kind] for kind in KINDS) > 50 and kinds["reads"] > 50


def test_arrows_lead_through_the_bars_of_a_chain() -> None:
    arrows = dashed = 0
    for seed in range(60):
        run = random_run(Random(f"arrows {seed}"))
        for path in run.workload.paths:
            if run.path(path.name).largest is None:
                continue
            chain = chain_of(run, path.name)
            drawn = machine_timeline.picture(run.detail, None, 0, chain.end + 1, chain)
            jobs = {(stage.task, stage.job) for stage in chain.stages}
            names = {f"{run.workload.names[task]} #{job}" for task, job in jobs}
            bars = [piece for piece in drawn.pieces if piece.lane > 0]
            assert {p.name.split(":")[0] for p in bars if p.chained} <= names
            assert all(p.chained == (p.name.split(":")[0] in names) for p in bars)
            ends = {(p.lane, p.end) for p in bars if p.chained}
            starts = {(p.lane, p.start) for p in bars if p.chained}
            assert all((link.lane, link.time) in ends for link in drawn.links)
            assert all((link.to_lane, link.to_time) in starts for link in drawn.links)
            assert all(link.time <= link.to_time for link in drawn.links)
            assert all(a.to_time <= b.time for a, b in pairwise(drawn.links))
            readers = sum(stage.reads for stage in chain.stages)
            assert sum(link.dashed for link in drawn.links) <= readers
            arrows += len(drawn.links)
            dashed += sum(link.dashed for link in drawn.links)
    assert arrows > 300 and dashed > 40


def test_the_worst_chain_of_an_example() -> None:
    run = example("lidar_to_brake", "one_stream")
    picture = run.to_svg(path="obstacle to brake")
    assert "obstacle to brake: reaction 252ms of 500ms" in picture
    assert "an event too late for lidar #2, 200 to 300" in picture
    assert "result of prediction #3 before planner #4" in picture
    assert picture == run.to_svg(path=0) != run.to_svg()
    assert "stroke-dasharray" in picture and "stroke-dasharray" not in run.to_svg()
    chain = chain_of(run, 0)
    assert (chain.since, chain.end) == (200_000, 452_000)
    # The interval of the chain with a thirtieth on each side, or the one that is asked for.
    assert 'x="192' not in picture and run.to_svg(path=0, since=0) != picture
    early = run.to_svg(path=0, since=0, until=100_000)  # before it begins
    assert "obstacle to brake" in early and "lidar #3" not in early
    assert run.tightest_path == "traffic light to brake"
    held = example("endoscope", "time_slices").to_svg(path="tools on screen")
    assert "held until report #2 ends" in held


def test_a_chain_needs_a_timeline_and_an_output() -> None:
    run = example("lidar_to_brake", "one_stream")
    with pytest.raises(KeyError, match="paths: got 'x'"):
        run.to_svg(path="x")
    w = run.workload
    short = gs.observe(w, ORIN, "one_stream", until="20ms", timeline=True)
    with pytest.raises(ValueError, match="path: got obstacle to brake, expected one with an out"):
        short.to_svg(path="obstacle to brake")
    assert short.tightest_path == "cloud to objects"
    bare = gs.observe(w, ORIN, "one_stream", until="1s", timeline=False)
    with pytest.raises(ValueError, match="timeline: got a run without its logs"):
        bare.to_svg(path=0)


def test_traces_have_a_lane_for_each_path(tmp_path: Path) -> None:
    run = example("lidar_to_brake", "one_stream")
    run.to_chrome_trace(tmp_path / "run.trace.json")
    events = json.loads((tmp_path / "run.trace.json").read_text())["traceEvents"]
    processes = {e["pid"]: e["args"]["name"] for e in events if e["name"] == "process_name"}
    lanes = {
        (e["pid"], e["tid"]): e["args"]["name"]
        for e in events
        if e["name"] == "thread_name" and processes[e["pid"]] == "paths"
    }
    assert set(lanes.values()) == {
        "obstacle to brake: reaction 252ms of 500ms",
        "traffic light to brake: age 222ms of 300ms",
        "cloud to objects: latency 59.7ms of 100ms",
    }
    shown = [e for e in events if e["ph"] == "X" and (e["pid"], e["tid"]) in lanes]
    first = [e for e in shown if lanes[e["pid"], e["tid"]].startswith("obstacle")]
    assert sum(e["dur"] for e in first) == 252_000
    assert [e["name"] for e in first][1:3] == ["lidar #3", "detector #3"]
    jobs = [e for e in events if e["ph"] == "X" and processes[e["pid"]] == "jobs"]
    assert len(jobs) == len(run)
    bare = gs.observe(run.workload, ORIN, "one_stream", until="1s", timeline=False)
    bare.to_chrome_trace(tmp_path / "bare.trace.json")
    assert "obstacle to brake" in (tmp_path / "bare.trace.json").read_text()


def test_arrows_end_at_the_edges_of_other_lanes() -> None:
    lanes = (Lane("a", height=10), Lane("b", height=20))
    links = (Link(0, 1, 1, 2), Link(1, 2, 0, 3, dashed=True), Link(1, 4, 1, 5), Link(0, 9, 1, 11))
    line = Timeline(lanes, (Piece(0, 0, 1, "a", 0, chained=True),), end=10, links=links)
    (upper, lower), *_ = BODY
    found = [(first, last) for _, first, last in line.arrows()]
    assert found == [(10 * lower, 10 + 20 * upper), (10 + 20 * upper, 10 * lower), (20, 20)]
    assert svg.svg(line).count("stroke-dasharray") == 1


def test_arrows_in_matplotlib() -> None:
    pyplot = pytest.importorskip("matplotlib.pyplot")
    run = example("endoscope", "one_stream")
    ax = run.plot(path="glass to glass")
    texts = [text.get_text() for text in ax.get_legend().get_texts()]
    assert texts[-1].startswith("glass to glass: latency 11.4ms of 16.666ms")
    heads = [text for text in ax.texts if getattr(text, "arrow_patch", None) is not None]
    assert len(heads) >= 8
    assert ax.get_yticklabels()[0].get_text() == "glass to glass"
    pyplot.close(ax.figure)


def test_reports_show_the_chain_of_the_tightest_path() -> None:
    w = gs.Workload.load(EXAMPLES / "endoscope.toml")
    page = gs.compare(w, ORIN, ways=["one_stream"], progress=False).to_html(margin=False)
    assert "glass to glass: latency 11.4ms of 16.666ms" in page
    assert "closest to its deadline" in page


def test_the_simulate_command_draws_a_path(tmp_path: Path) -> None:
    file = EXAMPLES / "endoscope.toml"
    options = (file, "--gpu", "AGX Orin", "--cpus", 4, "--way", "one_stream", "--until", "1s")
    drawn = (*options, "--output", "x.svg", "--path")
    assert refused(tmp_path, "simulate", *drawn, "glass") == (
        "--path: got 'glass', expected one of glass to glass, tools on screen\n"
    )
    assert refused(tmp_path, "simulate", *options, "--path", "glass to glass") == (
        "--path: expected a picture (--output); traces show all paths\n"
    )
    assert command(tmp_path, "simulate", *drawn, "glass to glass").returncode == 3
    assert "glass to glass: latency 11.4ms" in (tmp_path / "x.svg").read_text("utf-8")
