"""Releases that traces suggest: a twin, what timers look like, hostile arguments."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from random import Random
from typing import Any

import pytest
from commands import refused, run

import gpusched as gs

pytestmark = pytest.mark.python

Jobs = dict[str, list[tuple[int, int, int]]]
"""Beginnings and ends of ranges, and the end of a kernel that each launches; in us."""


def recorded(jobs: Jobs, path: Path) -> gs.io.Trace:
    """A trace with these ranges, each task on a thread of its own."""
    events: list[dict[str, Any]] = []

    def add(cat: str, name: str, start: int, end: int, tid: int, **args: Any) -> None:
        events.append({"ph": "X", "cat": cat, "name": name, "ts": start, "dur": end - start,
                       "pid": 1 if cat != "kernel" else 0, "tid": tid, "args": args})  # fmt: skip

    number = 0
    for task, (name, ranges) in enumerate(jobs.items()):
        for start, end, done in ranges:
            number += 1
            add("user_annotation", name, start, end, 10 + task)
            add("cuda_runtime", "cudaLaunchKernel", start, start + 1, 10 + task, correlation=number)
            shape = {"grid": [4, 1, 1], "block": [128, 1, 1], "registers per thread": 32}
            add("kernel", "k", start + 1, done, task, device=0, context=1, stream=task,
                correlation=number, **{"shared memory": 0}, **shape)  # fmt: skip
    path.write_text(json.dumps({"traceEvents": events}))
    return gs.io.read_trace(path, gpu="Orin")


def followers(jobs: Jobs, a: str, b: str, within: int) -> tuple[int, int] | None:
    """Of how many jobs of a one is followed by a job of b, and how many jobs of b do that."""
    ends = sorted(max(end, done) for _, end, done in jobs[a])
    number: dict[int, int] = {}  # of the last job of a that has ended, by the job of b
    for j, (start, _, _) in enumerate(sorted(jobs[b])):
        before = [k for k, end in enumerate(ends) if end <= start]
        if before and start - ends[before[-1]] <= within:
            number[j] = before[-1]
    steps = Counter(number[j + 1] - k for j, k in number.items() if j + 1 in number)
    steps = Counter({step: count for step, count in steps.items() if step > 0})
    if not steps:
        return None
    every = min(step for step, count in steps.items() if count == max(steps.values()))
    return every, max(Counter(k - every * j for j, k in number.items()).values())


def random_jobs(random: Random) -> Jobs:
    """Two timers, and one or two tasks of which others release each job, or each second one."""
    jobs: Jobs = {}
    for name, period in (("a", random.choice((200, 400))), ("b", random.choice((200, 300, 410)))):
        phase = random.randrange(200)
        begin = [phase + k * period for k in range(2_000 // period)]
        jobs[name] = [(t, t + 20 + random.randrange(30), t + random.randint(20, 70)) for t in begin]
    for name, before in (("c", "a"), ("d", random.choice("abc"))):
        every = random.choice((1, 1, 2))
        ends = sorted(max(end, done) for _, end, done in jobs[before])[::every]
        begin = [end + random.choice((1, 3, 5, random.randint(0, 90))) for end in ends]
        begin = [t for t in begin if random.random() < 0.95]
        jobs[name] = [(t, t + 8, t + random.randint(3, 12)) for t in begin]
    return {name: row for name, row in jobs.items() if row}


def test_the_twin_finds_the_same(tmp_path: Path) -> None:
    found = second = 0
    for seed in range(100):
        random = Random(f"links {seed}")
        jobs = random_jobs(random)
        within = random.choice((2, 10, 60))
        links = recorded(jobs, tmp_path / "t.json").links(f"{within}us", share="0.6")
        by_twin = {}
        for a in jobs:
            for b in jobs:
                pair = followers(jobs, a, b, within) if a != b and len(jobs[b]) > 2 else None
                if pair is not None and 10 * pair[1] >= 6 * len(jobs[b]):
                    by_twin[a, b] = (*pair, len(jobs[b]))
        assert {(x.after, x.task): (x.every, x.followed, x.jobs) for x in links} == by_twin, seed
        assert all(x.shortest <= x.longest <= x.within == within * 1000 for x in links)
        assert all(0 < x.chance <= 1 for x in links)
        shares = [x.followed / x.jobs for x in links]
        assert shares == sorted(shares, reverse=True)
        found += len(links)
        second += sum(x.every == 2 for x in links)
    assert found > 80 and second > 10


def test_a_release_is_found_with_its_numbers(tmp_path: Path) -> None:
    """camera every 1000, its kernel until +300; every second one releases a detector 10 later."""
    camera = [(1000 * k, 1000 * k + 100, 1000 * k + 300) for k in range(10)]
    detector = [(2000 * k + 310, 2000 * k + 400, 2000 * k + 500) for k in range(5)]
    trace = recorded({"camera": camera, "detector": detector}, tmp_path / "t.json")
    [link] = trace.links()
    assert link == gs.io.LinkSuggestion(
        "camera", "detector", every=2, followed=5, jobs=5, shortest=10_000, longest=10_000,
        within=200_000, chance=pytest.approx(9 * 200 / 9300),
    )  # fmt: skip
    assert str(link) == (
        "perhaps detector is after one of 2 jobs of camera: 5 of 5 of its jobs begin within 200us "
        "of an end, 10us to 10us later; by chance 19% would"
    )
    assert trace.links("9us") == () and len(trace.links("10us")) == 1
    assert trace.links(names="camera") == ()
    assert not any(task.after for task in trace.workload())


def test_jobs_that_begin_before_the_end_follow_nothing(tmp_path: Path) -> None:
    """The range ends, and its kernel runs on."""
    a = [(1000 * k, 1000 * k + 100, 1000 * k + 300) for k in range(6)]
    b = [(1000 * k + 110, 1000 * k + 200, 1000 * k + 250) for k in range(6)]
    trace = recorded({"a": a, "b": b}, tmp_path / "t.json")
    assert trace.links("100us") == ()
    both = trace.links("900us", share=0.8)
    assert sorted(link.shortest for link in both) == [750_000, 810_000]
    few = recorded({"a": a[:2], "b": [(301, 310, 320), (1301, 1310, 1320)]}, tmp_path / "t.json")
    assert few.links() == ()


@pytest.mark.parametrize(
    ("arguments", "error", "text"),
    [
        ({"within": "x"}, ValueError, "within: got 'x', expected a number with a unit"),
        ({"within": 0}, ValueError, "within: got 0"),
        ({"within": -3}, ValueError, "within: got -3"),
        ({"within": 1.5}, ValueError, "within: got 1.5"),
        ({"within": 2**70}, OverflowError, "within: got"),
        ({"share": 0}, ValueError, "share: got 0"),
        ({"share": 1.1}, ValueError, "share: got 1.1, expected a number above 0 and up to 1"),
        ({"share": float("nan")}, ValueError, "share: got"),
        ({"share": None}, TypeError, "share: got None"),
        ({"names": "("}, ValueError, "names: got"),
        ({"names": "nothing"}, ValueError, "names: got 'nothing', expected a match"),
        ({"nesting": "all"}, ValueError, "nesting: got 'all'"),
    ],
)
def test_arguments_that_are_refused(
    tmp_path: Path, arguments: dict[str, Any], error: type[Exception], text: str
) -> None:
    trace = recorded({"a": [(0, 10, 20), (100, 110, 120)]}, tmp_path / "t.json")
    with pytest.raises(error, match=text):
        trace.links(**arguments)


def test_the_command_prints_suggestions(tmp_path: Path) -> None:
    a = [(1000 * k, 1000 * k + 100, 1000 * k + 300) for k in range(6)]
    b = [(1000 * k + 303, 1000 * k + 400, 1000 * k + 450) for k in range(6)]
    recorded({"a": a, "b": b}, tmp_path / "t.json")
    command = ("trace", "t.json", "--gpu", "Orin")
    done = run(tmp_path, *command, "--by", "annotation", "--links", "--save", "w.toml")
    assert done.returncode == 0 and "it shows no cause, and nothing was changed:" in done.stdout
    assert "- perhaps b is after each job of a: 6 of 6 of its jobs begin within" in done.stdout
    assert not any(task.after for task in gs.Workload.load(tmp_path / "w.toml"))
    done = run(tmp_path, *command, "--by", "annotation", "--links", "2us")
    assert "links: no task begins so soon after the ends" in done.stdout
    line = refused(tmp_path, *command, "--by", "annotation", "--links", "soon")
    assert line.startswith("--links: got 'soon', expected a number with a unit")
    line = refused(tmp_path, *command, "--by", "stream", "--links")
    assert line.startswith("--links: got it with --by stream, expected --by annotation")
    line = refused(tmp_path, *command, "--links")
    assert line.startswith("--links: got it without --by, expected both")
