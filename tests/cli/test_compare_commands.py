"""Commands compare, check, simulate and methods; documents and reports of comparisons."""

from __future__ import annotations

import html.parser
import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from commands import ORIN, refused, run

import gpusched as gs
from gpusched.comparison.report import report_folder, report_page

pytestmark = pytest.mark.python

PIPELINE = """\
version = 1
tick = "us"

[[task]]
name = "camera"
period = "40ms"
segments = [{ cpu = "2ms" }, { copy_in = "300us" }, { kernel = "5ms", blocks = 32, threads = 256 }]

[[task]]
name = "planner"
period = "80ms"
segments = [{ cpu = "9ms" }, { kernel = "8ms", blocks = 8, threads = 128 }, { cpu = "1ms" }]
"""

OVERLOAD = """\
version = 1
tick = "us"
task = [
    { name = "a", period = "10ms", segments = [{ kernel = "1ms", blocks = 999, threads = 1024 }] },
    { name = "b", period = "40ms", segments = [{ kernel = "22ms", blocks = 999, threads = 1024 }] },
]
"""

IMPOSSIBLE = OVERLOAD.replace('period = "40ms"', 'period = "40ms", deadline = "20ms"')

JITTER = """\
version = 1
task = [{ name = "a", period = 40, jitter = 2, segments = [{ kernel = 3 }] }]
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with four workloads."""
    for name, text in (
        ("good", PIPELINE),
        ("overload", OVERLOAD),
        ("impossible", IMPOSSIBLE),
        ("jitter", JITTER),
    ):
        (tmp_path / f"{name}.toml").write_text(text)
    return tmp_path


# Statuses -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "methods", "status"),
    [
        ("good", ["mpcp"], 0),
        ("good", ["one_stream", "srm", "mpcp"], 0),
        ("good", ["driver"], 3),
        ("overload", ["edf_serial", "edf_parallel", "pbs"], 3),  # other ways may do
        ("impossible", ["mpcp", "pbs"], 1),
        ("overload", ["edf_serial", "mpcp"], 3),  # the lock is left open
        ("overload", ["mpcp"], 3),  # a sufficient test that rejects leaves it open
        ("overload", ["one_stream"], 3),  # misses a deadline, and is no exact test
        ("jitter", ["srm", "edf_parallel"], 3),
    ],
)
def test_compare_has_three_statuses(
    folder: Path, name: str, methods: list[str], status: int
) -> None:
    chosen = [part for method in methods for part in ("--way", method)]
    done = run(folder, "compare", f"{name}.toml", *ORIN, *chosen, "--no-margin")
    assert (done.returncode, done.stderr) == (status, "")
    assert all(f"\n{method}" in done.stdout for method in methods)
    quiet = run(folder, "compare", f"{name}.toml", *ORIN, *chosen, "--quiet", "--no-margin")
    assert (quiet.returncode, quiet.stdout, quiet.stderr) == (status, "", "")


@pytest.mark.parametrize(
    ("name", "method", "status"),
    [("good", "mpcp", 0), ("overload", "edf_serial", 1), ("overload", "mpcp", 3)],
)
def test_check_has_three_statuses(folder: Path, name: str, method: str, status: int) -> None:
    done = run(folder, "check", f"{name}.toml", *ORIN, "--way", method)
    assert (done.returncode, done.stderr) == (status, "")
    answer = gs.analyze(
        gs.Workload.load(folder / f"{name}.toml"), gs.Platform("AGX Orin", cpus=2), method
    )
    assert f"{answer.label}: {answer.verdict} ({answer.claim} test)\n" in done.stdout
    assert answer.why() in done.stdout
    assert all(f"- {text}\n" in done.stdout for text in answer.assumptions)
    text = run(folder, "check", f"{name}.toml", *ORIN, "--way", method, "--json")
    assert text.returncode == status
    assert json.loads(text.stdout)["schedulable"] is answer.schedulable


def test_simulate_has_tasks_without_gpu_work_and_without_jobs(folder: Path) -> None:
    later = gs.Task("later", "80ms", [gs.CPU("1ms")], offset="2s")
    parts = [gs.CPU("1ms"), gs.CopyIn("1ms", by="cpu")]
    host = gs.Task("host", "80ms", parts)
    workload = gs.Workload.load(folder / "good.toml")
    (workload + gs.Workload([host, later], tick="us")).save(folder / "host.toml")
    command = ("simulate", "host.toml", *ORIN[:-1], "4", "--until", "1s", "--way")
    for method in ("streams", "one_stream", "mpcp", "container"):
        done = run(folder, *command, method)
        assert re.search(r"^host +13 ", done.stdout, re.MULTILINE)
        assert re.search(r"^later +0( +–){4} +80ms +0$", done.stdout, re.MULTILINE)


def test_simulate_prints_the_assumptions_at_its_end(folder: Path) -> None:
    workload = gs.Workload.load(folder / "good.toml")
    for method in ("streams", "mpcp"):
        done = run(folder, "simulate", "good.toml", *ORIN, "--way", method, "--until", "1s")
        found = gs.observe(workload, gs.Platform("AGX Orin", cpus=2), method, until="1s")
        lines = [f"- {text}\n" for text in found.assumptions]
        assert lines and done.stdout.endswith(f"{found.why()}\n\nassumptions:\n{''.join(lines)}")


@pytest.mark.parametrize(("name", "status"), [("good", 3), ("overload", 1)])
def test_simulate_has_two_statuses(folder: Path, name: str, status: int) -> None:
    command = ("simulate", f"{name}.toml", *ORIN, "--way", "one_stream", "--until", "1s")
    done = run(folder, *command)
    assert (done.returncode, done.stderr) == (status, "")
    found = gs.observe(
        gs.Workload.load(folder / f"{name}.toml"), gs.Platform("AGX Orin", cpus=2), "one_stream",
        until="1s",
    )  # fmt: skip
    assert f"one_stream: {len(found)} jobs released before 1s, {found.late.sum()} late" in (
        done.stdout
    )
    text = run(folder, *command, "--json")
    assert text.returncode == status
    document = json.loads(text.stdout)
    assert [task["worst"] for task in document["tasks"]] == found.worst.tolist()
    assert [task["late"] for task in document["tasks"]] == found.late_count.tolist()
    for i, task in enumerate(document["tasks"]):
        assert task["percentiles"] == {str(q): found.percentile(q, i) for q in (50, 95, 99)}
        assert task["share_late"] == task["late"] / task["jobs"] == found.share_late[i]


def test_simulate_draws_runs_of_a_seed(folder: Path) -> None:
    workload, platform = gs.Workload.load(folder / "overload.toml"), gs.Platform("AGX Orin", cpus=2)
    command = ("simulate", "overload.toml", *ORIN, "--way", "one_stream", "--until", "500ms")
    draws = ("--seed", "3", "--low", ".8", "--gap", ".1", "--draw", "job")
    play: dict[str, Any] = {"until": "500ms", "seed": 3, "low": 0.8, "gap": 0.1, "draw": "job"}
    done = run(folder, *command, *draws, "--index", "2", "--percentiles", "0,99.9")
    found = gs.observe(workload, platform, "one_stream", index=2, **play)
    assert found.responses_text((0, 99.9)) in done.stdout
    assert found.assumptions[-1] in done.stdout and "from 80 % of the whole" in done.stdout
    assert done.returncode == (1 if found.schedulable is False else 3)
    done = run(folder, *command, *draws, "--count", "20")
    runs = gs.observe(workload, platform, "one_stream", count=20, **play)
    jobs, late = runs.job_count.sum(), runs.late_count.sum()
    assert f"one_stream: {jobs:,} jobs in 20 runs released before 500ms, {late:,} late" in (
        done.stdout
    )
    assert runs.responses_text() in done.stdout and runs.why() in done.stdout
    status = done.returncode
    assert status == (1 if late and runs[runs.worst_run].schedulable is False else 3)
    done = run(folder, *command, *draws, "--count", "20", "--json")
    document = json.loads(done.stdout)
    assert (done.returncode, document["format"], document["runs"]) == (status, "gpusched runs", 20)
    assert [task["worst"] for task in document["tasks"]] == runs.largest.tolist()
    assert [task["percentiles"]["99"] for task in document["tasks"]] == runs.percentile(99).tolist()
    assert sum(task["late"] for task in document["tasks"]) == document["late"] == late
    for wrong, message in (
        (("--low", ".5"), "--seed: got None, expected one with low="),
        (("--seed", "-1"), "got -1, expected a non-negative number"),
        (("--seed", "1", "--count", "0"), "got 0, expected a positive number"),
        (("--seed", "1", "--count", "2", "--output", "x.svg"), "--output: expected one run"),
        (("--percentiles", "50,101"), "got 50,101, expected percentages of 0 to 100"),
        (("--percentiles", "a"), "invalid list of percentages value: 'a'"),
    ):
        done = run(folder, *command, *wrong)
        assert done.returncode == 2 and message in done.stderr


@pytest.mark.long
def test_output_of_any_encoding(folder: Path) -> None:
    """Text that the output cannot encode is replaced, and documents are ASCII."""
    text = PIPELINE.replace("camera", "kam\u00e9ra")
    (folder / "good.toml").write_text(text, encoding="utf-8")
    command = [sys.executable, "-m", "gpusched", "compare", "good.toml", *ORIN, "--no-margin"]
    env = {**os.environ, "PYTHONIOENCODING": "ascii"}
    for more in ([], ["--json"]):
        done = subprocess.run(
            [*command, *more], cwd=folder, env=env, capture_output=True, timeout=120
        )
        assert (done.returncode, done.stderr) == (0, b"")
        if more:
            assert json.loads(done.stdout)["rows"][0]["tasks"][0]["task"] == "kam\u00e9ra"
        else:
            assert b"kam?ra" in done.stdout


# Text ---------------------------------------------------------------------------------------------


def test_compare_prints_the_table_and_the_best_row(folder: Path) -> None:
    done = run(folder, "compare", "good.toml", *ORIN, "--way", "mpcp", "--way", "srm")
    w, platform = gs.Workload.load(folder / "good.toml"), gs.Platform("AGX Orin", cpus=2)
    c = gs.compare(w, platform, ways=["mpcp", "srm"])
    assert done.stdout == (
        f"2 tasks on AGX Orin (16 SMs), 2 CPUs; a tick is 1us\n\n{c}\n\nbest: {c.best()}\n"
    )
    done = run(folder, "compare", "jitter.toml", "--way", "srm")
    assert done.stdout.startswith("1 task on no GPU (--gpu), 1 CPU; a tick is 1ns\n")
    assert done.stdout.endswith("\nbest: none\n")


def test_check_prints_times_with_units_and_margins(folder: Path) -> None:
    done = run(folder, "check", "good.toml", *ORIN, "--way", "mpcp", "--margin", "camera")
    assert re.search(r"^camera +40ms +15\.3ms +24\.7ms$", done.stdout, re.MULTILINE)
    w, platform = gs.Workload.load(folder / "good.toml"), gs.Platform("AGX Orin", cpus=2)
    assert f"\nmargin: {gs.margin(w, platform, 'mpcp', 'camera')}\n" in done.stdout
    text = run(folder, "check", "good.toml", *ORIN, "--way", "mpcp", "--margin", "--json")
    assert json.loads(text.stdout)["margin"]["factor"] == str(gs.margin(w, platform, "mpcp").factor)


def test_options_of_methods_reach_them(folder: Path) -> None:
    check = ("check", "good.toml", *ORIN, "--json", "--way")
    document = json.loads(run(folder, *check, "mpcp", "--mode", "spin").stdout)
    assert document["label"] == "mpcp (spin)"
    document = json.loads(run(folder, *check, "stgm", "--option", "apart=false").stdout)
    assert document["options"] == {"mode": "suspend", "apart": False}
    document = json.loads(run(folder, *check, "srm", "--option", "lock=omlp").stdout)
    assert document["options"] == {"lock": "omlp"}
    document = json.loads(run(folder, *check, "srm", "--option", "method=compliant").stdout)
    assert document["options"] == {"method": "compliant"}
    for option, text in (
        ("lock", "--option: got 'lock', expected NAME=VALUE"),
        ("lok=omlp", "--option: got 'lok', expected one of lock, variant"),
        ("method=good", "--option method: got 'good', expected one of"),
        ("lock=none", "--option lock: got 'none', expected one of"),
    ):
        assert refused(folder, *check, "srm", "--option", option).startswith(text)
    line = refused(folder, *check, "stgm", "--option", "apart=no")
    assert line == "--option: got 'apart=no', expected true or false\n"
    line = refused(folder, *check, "srm", "--option", "lock=omlp", "--option", "lock=fmlp")
    assert line == "--option: got 'lock' twice, expected it once\n"
    assert "got 'busi', expected one of suspend" in refused(
        folder, *check, "mpcp", "--mode", "busi"
    )


def test_options_of_the_platform_reach_it(folder: Path) -> None:
    given = {
        **{"gpu": "Xavier", "cpus": 3, "launch_latency": "6us", "context_switch": "7us"},
        **{"timeslice": "1ms", "server_overhead": "5us", "priority_levels": 2},
        **{"slowdown": (1, 1.5), "copy_engines": 2, "update_cost": "50us"},
    }
    arguments = []
    for name, value in given.items():
        text = "1,1.5" if name == "slowdown" else str(value)
        arguments += [f"--{name.replace('_', '-')}", text]
    command = ("good.toml", "--way", "mpcp", "--json", "--no-margin", "--no-simulation")
    document = json.loads(run(folder, "compare", *command, *arguments).stdout)
    w = gs.Workload.load(folder / "good.toml")
    c = gs.compare(w, gs.Platform(**given), ways=["mpcp"], simulate=False)  # type: ignore[arg-type]
    assert document["platform"] == c.document(margin=False)["platform"]
    assert document["platform"]["launch_latency"] == 6
    assert document["platform"]["gpu"]["name"] == "Xavier"
    for option, value, text in (
        ("--gpu", "Xavir", "--gpu: got 'Xavir', expected a preset such as Xavier"),
        ("--launch-latency", "6", "--launch-latency: got '6', expected a number with a unit"),
        ("--timeslice", "0ms", "--timeslice: got '0ms', expected a positive time"),
        ("--update-cost", "1", "--update-cost: got '1', expected a number with a unit"),
    ):
        assert refused(folder, "compare", "good.toml", option, value).startswith(text)
    for option, value in (("--cpus", "0"), ("--slowdown", "2,1"), ("--copy-engines", "-1")):
        done = run(folder, "compare", "good.toml", option, value)
        assert done.returncode == 2 and option in done.stderr


def test_the_update_cost_reaches_gcaps_and_the_report(folder: Path) -> None:
    command = ("good.toml", *ORIN, "--way", "gcaps", "--update-cost", "50us")
    done = run(folder, "check", *command)
    platform = gs.Platform("AGX Orin", cpus=2, update_cost="50us")
    answer = gs.analyze(gs.Workload.load(folder / "good.toml"), platform, "gcaps")
    assert re.search(rf"^camera +40ms +{answer.response[0] / 1000:g}ms ", done.stdout, re.MULTILINE)
    assert run(folder, "compare", *command, "--output", "out").returncode == 0
    row = '<tr><th scope="row">update of the run list</th><td>50us</td></tr>'
    assert row in (folder / "out" / "compare.html").read_text(encoding="utf-8")
    assert "run list" not in gs.compare(answer.workload, gs.Platform(), ways=["srm"]).to_html()


def test_costs_and_forms_of_launches_reach_the_answer(folder: Path) -> None:
    costs = {"launch_cpu": "6us", "graph_launch_cpu": "8us", "kernel_gap": "1us"}
    costs["wake_latency"] = "30us"
    given = [text for key, time in costs.items() for text in (f"--{key.replace('_', '-')}", time)]
    w = gs.Workload.load(folder / "good.toml").replace(launches="graph")
    w.save(folder / "graphs.toml")
    assert (folder / "graphs.toml").read_text(encoding="utf-8").startswith("version = 2\n")
    answer = gs.analyze(w, gs.Platform("AGX Orin", cpus=2, **costs), "mpcp")
    done = run(folder, "check", "graphs.toml", *ORIN, "--way", "mpcp", *given)
    assert re.search(rf"^camera +40ms +{answer.response[0] / 1000:g}ms ", done.stdout, re.MULTILINE)
    done = run(folder, "compare", "graphs.toml", *ORIN, "--way", "mpcp", *given, "--output", "out")
    page = (folder / "out" / "compare.html").read_text(encoding="utf-8")
    assert '<tr><th scope="row">wake-up of a thread</th><td>30us</td></tr>' in page
    text = refused(folder, "compare", "good.toml", "--kernel-gap", "1")
    assert text.startswith("--kernel-gap: got '1', expected a number with a unit")


def test_more_streams_than_channels_are_said(folder: Path) -> None:
    parts = [gs.CPU("1ms"), gs.Kernel("1ms", blocks=4, threads=128)]
    tasks = [gs.Task(f"t{i}", "40ms", parts) for i in range(5)]
    gs.Workload(tasks, tick="us").save(folder / "five.toml")
    command = ("check", "five.toml", "--gpu", "AGX Orin", "--cpus", "5", "--way", "streams")
    for more in ((), ("--channels", "4")):
        said = run(folder, *command, *more).stdout
        assert "streams are created in the order of the tasks, and have 4 channels in turn" in said
    for channels in ("5", "0"):
        done = run(folder, *command, "--channels", channels, "--json")
        assert json.loads(done.stdout)["platform"]["channels"] == int(channels)
        assert done.returncode == 0
    assert run(folder, *command, "--channels", "-1").returncode == 2


def test_methods_lists_ways_and_methods(folder: Path) -> None:
    text = run(folder, "methods")
    document = json.loads(run(folder, "methods", "--json").stdout)
    assert text.returncode == 0
    assert [way["name"] for way in document["ways"]][:2] == ["one_stream", "streams"]
    assert [method["name"] for method in document["methods"]] == [m.name for m in gs.methods()]
    for way in document["ways"]:
        line = next(line for line in text.stdout.splitlines() if line.split()[:1] == [way["name"]])
        assert line.endswith(way["title"]) and way["claim"] in line
    assert repr(gs.methods()) in text.stdout


# Input --------------------------------------------------------------------------------------------


@pytest.mark.long
@pytest.mark.parametrize("form", ["toml", "json"])
@pytest.mark.parametrize("command", ["compare", "check", "simulate"])
def test_the_standard_input(folder: Path, command: str, form: str) -> None:
    gs.Workload.load(folder / "good.toml").save(folder / "input.json")
    content = (folder / ("good.toml" if form == "toml" else "input.json")).read_bytes()
    done = subprocess.run(
        [sys.executable, "-m", "gpusched", command, "-", *ORIN, "--way", "mpcp", "--json"],
        cwd=folder,
        input=content,
        capture_output=True,
        timeout=120,
    )
    assert done.returncode == (3 if command == "simulate" else 0)
    assert done.stderr == b""
    document = json.loads(done.stdout)
    assert [task["name"] for task in document["workload"]["task"]] == ["camera", "planner"]


TASK = 'name = "a"\nperiod = "3ms"\nsegments = [{ cpu = "1ms" }]\n'
HEAD = "version = 1\n[[task]]\n"


@pytest.mark.parametrize(
    ("text", "line"),
    [
        (HEAD + TASK + "priorty = 3\n", "task[0].priorty: got an unknown key, expected priority"),
        (HEAD + TASK.replace("3ms", "3mss"), "task[0].period: got '3mss', expected a number with"),
        (HEAD + TASK.replace("period", "#"), "task[0].period: got none, expected a period, a"),
        (HEAD + TASK.replace("1ms", "-1ms"), "task[0].segments[0].cpu: got '-1ms', expected a p"),
        (HEAD + TASK + "[[task]]\n" + TASK, "task[1].name: got 'a', expected another name"),
        ("version = 1\n[[task]\n", "line 2: got Expected ']]' at the end"),
        ("version = 1\nnotes = " + 50_000 * "[", "got lists in lists too deep, expected TOML"),
        ("", "version: got none, expected 1"),
    ],
)
@pytest.mark.parametrize("command", ["compare", "check", "simulate", "breakdown", "assign"])
def test_malformed_files_are_one_line(folder: Path, command: str, text: str, line: str) -> None:
    (folder / "bad.toml").write_text(text)
    more = ("--output", "out") if command == "compare" else ("--way", "mpcp")
    assert refused(folder, command, "bad.toml", *more).startswith(f"bad.toml: {line}")


def test_a_million_tasks_are_refused_before_they_are_read(folder: Path) -> None:
    row = json.dumps({"name": "t", "period": "1s", "segments": [{"cpu": "1us"}]})
    with open(folder / "many.json", "w") as file:
        file.write('{"version": 1, "task": [' + ",".join([row] * 10**6) + "]}")
    line = refused(folder, "compare", "many.json")
    assert line.startswith("many.json: got more than 33554432 bytes, expected at most that")
    tasks = [gs.Task(f"t{i}", "1s", [gs.CPU("1us")]) for i in range(2001)]
    gs.Workload(tasks, tick="us").save(folder / "some.json")
    line = refused(folder, "compare", "some.json")
    assert line.startswith("some.json: task: got 2,001 tasks, expected at most 2,000 (from Python")


def test_what_does_not_exist_is_named(folder: Path) -> None:
    assert refused(folder, "compare", "none.toml") == "none.toml: No such file or directory\n"
    assert "expected one of one_stream" in refused(folder, "compare", "good.toml", "--way", "x")
    assert "expected a number with a unit" in refused(folder, "compare", "good.toml", "--until", 3)
    check = ("check", "good.toml", *ORIN, "--way")
    assert "which has no test" in refused(folder, *check, "driver")
    assert "'all', 'kernels' or one of camera" in refused(folder, *check, "mpcp", "--margin", "no")


# Documents ----------------------------------------------------------------------------------------


def test_the_document_of_a_comparison(folder: Path) -> None:
    done = run(folder, "compare", "good.toml", *ORIN, "--json")
    document = json.loads(done.stdout)
    w = gs.Workload.load(folder / "good.toml")
    c = gs.compare(w, gs.Platform("AGX Orin", cpus=2))
    expected = c.document()
    assert json.loads(json.dumps(expected)) == expected
    assert document.keys() == expected.keys() == {
        *("format", "version", "gpusched", "tick", "tick_ns", "workload", "platform"),
        *("schedulable", "verdict", "impossible", "notes", "rows", "rules", "seconds"),
        *("best", "advice"),
    }  # fmt: skip
    assert (document["format"], document["version"]) == ("gpusched comparison", 1)
    (folder / "again.json").write_text(json.dumps(document["workload"]))
    assert gs.Workload.load(folder / "again.json") == w
    assert [row["label"] for row in document["rows"]] == [row.label for row in c]
    for found, row in zip(document["rows"], c, strict=True):
        assert found["schedulable"] is row.schedulable
        assert (found["verdict"], found["reason"]) == (row.verdict, row.why())
        for i, task in enumerate(found["tasks"]):
            assert task["task"] == w.names[i] and task["deadline"] == w[i].deadline
            response = None if row.answer is None else row.answer.response.tolist()[i]
            slack = None if row.answer is None else row.answer.slack.tolist()[i]
            assert (task["response"], task["slack"]) == (response, slack)
            worst = None if row.run is None else row.run.worst.tolist()[i]
            missed = None if row.run is None else int(row.run.late_count[i])
            assert (task["observed"], task["late"]) == (worst, missed)
            if row.run is not None:
                assert task["p99"] == row.run.percentile(99, i)
                assert task["share_late"] == row.run.share_late[i]
        if row.answer is not None:
            assert found["assumptions"] == list(row.answer.assumptions)
    best = c.best()
    assert best is not None and document["best"]["factor"] == str(best.factor)
    assert "best" not in c.document(margin=False)


def test_progress_of_margins_counts_rows(folder: Path) -> None:
    c = gs.compare(gs.Workload.load(folder / "good.toml"), gs.Platform("AGX Orin", cpus=2))
    seen: list[tuple[int, int]] = []
    c.best(progress=lambda done, total: seen.append((done, total)))
    good = sum(row.answer is not None and row.answer.accepted for row in c)
    assert seen == [(i, good) for i in range(1, good + 1)]


# Reports ------------------------------------------------------------------------------------------


class Page(html.parser.HTMLParser):
    """Checks that tags are balanced, and collects references and text."""

    VOID = frozenset({"meta", "br", "link", "img", "hr", "input"})

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: set[str] = set()
        self.references: list[str] = []
        self.words: list[str] = []
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        if tag not in self.VOID:
            self.open.append(tag)
        for name, value in attrs:
            assert not name.startswith("on"), name
            if name in ("href", "src", "data", "action", "xlink:href", "style"):
                self.references.append(value or "")

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_starttag(tag, attrs)
        if tag not in self.VOID:
            self.open.pop()

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.words.append(data)


def test_a_report_is_a_page_with_its_data(folder: Path) -> None:
    done = run(folder, "compare", "good.toml", *ORIN, "--output", "a/b")
    assert done.returncode == 0, done.stderr
    names = sorted(path.name for path in (folder / "a" / "b").iterdir())
    c = gs.compare(gs.Workload.load(folder / "good.toml"), gs.Platform("AGX Orin", cpus=2))
    traces = [name for name in names if name.endswith(".trace.json")]
    assert len(traces) == sum(row.run is not None for row in c)
    assert set(names) == {"compare.html", "compare.json", *traces}
    assert "mpcp-busy.trace.json" in traces and "stgm-suspend.trace.json" in traces
    assert done.stdout.endswith(
        f"\nwrote a/b/compare.html, compare.json and {len(traces)} traces\n"
    )
    for name in traces:
        assert json.loads((folder / "a" / "b" / name).read_text())["traceEvents"]
    data = json.loads((folder / "a" / "b" / "compare.json").read_text())
    text = (folder / "a" / "b" / "compare.html").read_text(encoding="utf-8")
    page = Page(text)
    assert sorted(page.references) == traces
    assert "script" not in page.tags and "link" not in page.tags
    assert re.findall(r"https?://[^\s\"]*", text) == ["http://www.w3.org/2000/svg"] * text.count(
        "xmlns="
    )
    assert "url(" not in text and "@import" not in text
    assert "prefers-color-scheme" in text and "@media print" in text
    words = " ".join(page.words)
    for row in data["rows"]:
        assert row["label"] in words and row["verdict"] in words
        if row["schedulable"] is not True:
            assert row["reason"][:500] in words
        for sentence in row["assumptions"]:
            assert sentence in words
    assert "good.toml" in words and 'name = "planner"' in words and "AGX Orin" in words
    assert data["best"]["label"] in words and "times as long" in words
    assert text.count("<figure>") == 2
    again = c.to_html(title="good.toml")
    assert Page(again).references == []


@pytest.mark.parametrize(
    ("gpu", "mig", "shown"),
    [("AGX Orin", None, "none"), ("H100", None, "any"), ("H100", ["3g.40gb"], "3g.40gb")],
)
def test_a_report_states_the_gpu_instances(gpu: str, mig: list[str] | None, shown: str) -> None:
    workload = gs.Workload([gs.Task("a", "40ms", [gs.CPU("1ms")])], tick="us")
    page = gs.compare(workload, gs.Platform(gpu, mig=mig), ways=["mpcp"]).to_html()
    assert f'<th scope="row">GPU instances</th><td>{shown}</td>' in page


def test_names_are_escaped_in_a_report() -> None:
    name = "<script>alert('x')</script> & \"quotes\" \x1b[31m </title></style>"
    w = gs.Workload(
        [
            gs.Task(name, 40, [gs.CPU(1), gs.Kernel(9, blocks=4, threads=64, name=name)]),
            gs.Task("b", 80, [gs.Kernel(95, blocks=400, threads=512, name="]]>")]),
        ],
        notes=[f"from {name}"],
    )
    c = gs.compare(w, gs.Platform(gs.GPU(4, 1024, 16, name=name), cpus=2))
    text = c.to_html(title=name)
    assert "<script" not in text and "\x1b" not in text
    page = Page(text)
    assert page.tags <= {
        *("html", "head", "meta", "title", "style", "body", "main", "header", "footer", "h1", "h2"),
        *("p", "span", "strong", "div", "table", "thead", "tbody", "tr", "th", "td", "caption"),
        *("figure", "figcaption", "dl", "dt", "dd", "ul", "li", "details", "summary", "pre", "a"),
        *("svg", "g", "rect", "path", "text", "tspan", "circle"),
    }
    assert "<script>alert('x')</script>" in " ".join(page.words)


def test_the_headline_has_the_verdict(folder: Path) -> None:
    platform = gs.Platform("AGX Orin", cpus=2)
    for name, text in (
        ("good", "All deadlines can be kept"),
        ("impossible", "Impossible:"),
        ("jitter", "Undecided"),
    ):
        ways = {"impossible": ["edf_serial", "pbs"], "jitter": ["srm"]}.get(name)
        c = gs.compare(gs.Workload.load(folder / f"{name}.toml"), platform, ways=ways)
        page = c.to_html()
        Page(page)
        assert text in page
        assert ("Most room" in page) is (name == "good")
    assert gs.compare(gs.Workload.load(folder / "jitter.toml"), gs.Platform()).to_html()


@pytest.mark.long
def test_a_report_of_a_large_workload_is_bounded() -> None:
    tasks = [
        gs.Task(
            f"{i} " + 200 * "n",
            "200ms" if i == 150 else "900ms",
            [gs.CPU("10us"), *(gs.Kernel("40us", blocks=64, threads=512) for _ in range(20))],
        )
        for i in range(200)
    ]
    ways = ["time_slices", "mpcp", "fmlp_plus", "gpu_server", "stgm"]
    c = gs.compare(gs.Workload(tasks, tick="us"), gs.Platform("AGX Orin", cpus=8), ways=ways)
    text = c.to_html(margin=False)
    Page(text)
    assert len(text) < 3_000_000
    assert text.count("<figure>") == 12
    assert "12 of 200 tasks are drawn" in text
    assert "<figcaption>150 " in text


def test_a_failure_leaves_no_partial_file(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (folder / "file").write_text("old")
    line = refused(folder, "compare", "good.toml", *ORIN, "--output", "file")
    assert line == "file: got a file, expected a folder\n"
    assert refused(folder, "compare", "good.toml", *ORIN, "--output", "file/x").startswith("file/x")

    def broken(*arguments: object, **options: object) -> str:
        raise ValueError("no page")

    command = ("compare", "good.toml", *ORIN, "--way", "mpcp", "--no-margin", "--output", "out")
    with monkeypatch.context() as patch:
        patch.setattr(report_folder, "page_of", broken)
        assert refused(folder, *command) == "no page\n"
    assert run(folder, *command).returncode == 0
    before = {path: path.read_bytes() for path in (folder / "out").iterdir()}
    with monkeypatch.context() as patch:
        patch.setattr(report_folder, "json_text", broken)
        assert refused(folder, *command) == "no page\n"
    assert {path: path.read_bytes() for path in (folder / "out").iterdir()} == before
    assert report_page.page_of is report_folder.page_of


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs a full device")
def test_a_full_disk_is_one_line(folder: Path) -> None:
    with open("/dev/full", "wb") as full:
        command = [sys.executable, "-m", "gpusched", "compare", "good.toml", *ORIN, "--no-margin"]
        done = subprocess.run(
            command, cwd=folder, stdout=full, stderr=subprocess.PIPE, text=True, timeout=120
        )
    assert done.returncode == 2
    assert done.stderr.endswith("No space left on device\n") and done.stderr.count("\n") == 1


# Pictures of runs ---------------------------------------------------------------------------------


@pytest.mark.parametrize("method", ["one_stream", "streams", "mpcp"])
def test_simulate_writes_pictures_and_traces(folder: Path, method: str) -> None:
    command = ("simulate", "good.toml", *ORIN, "--way", method, "--until", "200ms", "--output")
    done = run(folder, *command, "x.svg")
    assert (done.returncode, done.stderr) == (3, "")
    assert done.stdout.endswith("\nwrote x.svg\n")
    picture = (folder / "x.svg").read_text()
    assert picture.startswith("<svg") and "time (ms)" in picture
    assert run(folder, *command, "x.trace.json").returncode == 3
    events = json.loads((folder / "x.trace.json").read_text())["traceEvents"]
    ends = [event["ts"] + event["dur"] for event in events if event["ph"] == "X"]
    assert 160_000 < max(ends) < 300_000  # in microseconds
    assert refused(folder, *command, "no/x.svg") == "no/x.svg: expected an existing folder\n"


def test_simulate_draws_other_formats_with_matplotlib(folder: Path) -> None:
    pytest.importorskip("matplotlib")
    command = ("simulate", "good.toml", *ORIN, "--way", "mpcp", "--until", "200ms", "--output")
    assert run(folder, *command, "x.png").returncode == 3
    assert (folder / "x.png").read_bytes()[:4] == b"\x89PNG"
    assert "got the ending 'xyz', expected one of" in refused(folder, *command, "x.xyz")


@pytest.mark.long
def test_reports_and_pictures_need_no_matplotlib(folder: Path) -> None:
    hidden = folder / "hide"
    hidden.mkdir()
    (hidden / "sitecustomize.py").write_text(
        "import sys\nsys.modules['matplotlib'] = None\nsys.modules['pandas'] = None\n"
    )
    path = os.pathsep.join([str(hidden), os.environ.get("PYTHONPATH", "")])
    for arguments, status in (
        (["compare", "good.toml", "--output", "out", "--no-margin"], 0),
        (["simulate", "good.toml", "--way", "mpcp", "--output", "x.svg"], 3),
    ):
        done = subprocess.run(
            [sys.executable, "-m", "gpusched", *arguments, *ORIN],
            cwd=folder,
            env={**os.environ, "PYTHONPATH": path},
            capture_output=True,
            text=True,
            timeout=120,
        )
        assert (done.returncode, done.stderr) == (status, "")
    assert (folder / "out" / "compare.html").exists() and (folder / "x.svg").exists()


@pytest.mark.parametrize("form", [(), ("--json",), ("--output", "out")])
def test_kernels_that_the_gpu_cannot_run_are_an_error(
    tmp_path: Path, form: tuple[str, ...]
) -> None:
    """They are named once, instead of in every row of a table."""
    (tmp_path / "w.toml").write_text(PIPELINE.replace("threads = 256", "threads = 2048"))
    done = run(tmp_path, "compare", "w.toml", *ORIN, *form)
    assert (done.returncode, done.stdout) == (2, "")
    assert "compare: camera: segments[2]: got blocks of 2048 threads" in done.stderr
    assert not (tmp_path / "out").exists()


def test_notes_are_in_every_form(tmp_path: Path) -> None:
    """A job that is too long by itself, and rates that fit each other badly."""
    text = PIPELINE.replace('period = "40ms"', 'rate = "60Hz"')
    text = text.replace('period = "80ms"', 'rate = "15Hz"').replace("9ms", "90ms")
    (tmp_path / "w.toml").write_text(text)
    done = run(tmp_path, "compare", "w.toml", *ORIN, "--way", "mpcp", "--output", "out")
    assert done.returncode == 1
    c = gs.compare(
        gs.Workload.load(tmp_path / "w.toml"), gs.Platform("AGX Orin", cpus=2), ways=["mpcp"]
    )
    assert [note.split(":")[0] for note in c.notes] == [
        "No way keeps all deadlines",
        "Rates are rounded to periods of whole ticks",
    ]
    page = html.unescape((tmp_path / "out" / "compare.html").read_text(encoding="utf-8"))
    document = json.loads((tmp_path / "out" / "compare.json").read_text(encoding="utf-8"))
    assert document["notes"] == list(c.notes)
    for note in c.notes:
        assert note in done.stdout
        assert note in page
        assert note in html.unescape(c._repr_html_())


# Options as they were typed -----------------------------------------------------------------------


@pytest.mark.parametrize("command", ["compare", "check", "simulate"])
def test_parts_of_the_gpu_for_unknown_tasks_are_refused(folder: Path, command: str) -> None:
    call = (command, "good.toml", *ORIN, *(() if command == "compare" else ("--way", "mps")))
    line = refused(folder, *call, "--mps", "nosuch=50")
    assert line.startswith("--mps: got 'nosuch', expected one of the workload's tasks")
    assert line.endswith(": camera, planner\n")
    line = refused(folder, *call, "--green-contexts", "camera=4,foo=4")
    expected = "expected one of the workload's tasks: camera, planner\n"
    assert line == f"--green-contexts: got 'foo', {expected}"


def test_parts_of_the_gpu_for_unknown_tasks_raise(folder: Path) -> None:
    w = gs.Workload.load(folder / "good.toml")
    for call in (gs.analyze, gs.observe):
        with pytest.raises(ValueError, match=r"^mps: got 'nosuch', expected one of the workload's"):
            call(w, gs.Platform("AGX Orin", cpus=2, mps={"nosuch": 50}), "mps")
        contexts = {("camera", "planner"): 8, "foo": 4}
        with pytest.raises(ValueError, match=r"^green_contexts: got 'foo', expected one of the"):
            call(w, gs.Platform("AGX Orin", cpus=2, green_contexts=contexts), "green_contexts")
    tasks = [task.replace(process="p") for task in w]
    shared = w.replace(tasks=tasks)
    with pytest.raises(ValueError, match=r"^mps: got 'camera', expected one of .* processes: p$"):
        gs.analyze(shared, gs.Platform("AGX Orin", cpus=2, mps={"camera": 50}), "mps")


@pytest.mark.parametrize(
    ("options", "text"),
    [
        (("--copy-engines=99999999999",), "--copy-engines: got 99999999999"),
        (("--update-cost", "1.5ns"), "--update-cost: got '1.5ns', expected a whole number"),
        (("--mps", "camera=200"), "--mps camera: got 200, expected 1 to 100"),
        (("--green-contexts", "camera=99"), "--green-contexts camera: got 99 SMs"),
        (("--until", "soon"), "--until: got 'soon'"),
        (("--unt", "soon"), "--until: got 'soon'"),
        (("--seconds", "-1"), "--seconds: got -1.0"),
        (("--way", "nosuch"), "--way: got 'nosuch'"),
    ],
)
def test_errors_name_options_as_typed(folder: Path, options: tuple[str, ...], text: str) -> None:
    assert refused(folder, "compare", "good.toml", *ORIN, *options).startswith(text)


def test_a_negative_number_of_copy_engines_names_the_option(folder: Path) -> None:
    found = run(folder, "compare", "good.toml", *ORIN, "--copy-engines", "-1")
    assert found.returncode == 2
    assert "--copy-engines: got -1, expected a non-negative number" in found.stderr


def test_an_undecided_trace_has_its_own_code(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from types import SimpleNamespace

    from gpusched import pbs
    from gpusched.cli.main import main

    trace = Path(__file__).parents[1] / "data" / "pipeline.pt.trace.json"
    for schedulable, status in ((None, 3), (False, 1)):
        found = SimpleNamespace(
            schedule=None, schedulable=schedulable, reason="states", why=lambda: "no schedule"
        )
        monkeypatch.setattr(pbs, "search", lambda *_, found=found, **__: found)
        assert main(["trace", str(trace), "--output", str(tmp_path)]) == status
        assert ("not decided (states)" in capsys.readouterr().out) == (schedulable is None)


def test_a_check_without_time_is_undecided(folder: Path) -> None:
    text = "The budget of seconds was spent"
    arguments = (*ORIN, "--way", "pbs", "--seconds", "1e-9")
    done = run(folder, "check", "overload.toml", *arguments)
    assert done.returncode == 3 and done.stdout.startswith("pbs: undecided") and text in done.stdout
    document = json.loads(run(folder, "check", "overload.toml", *arguments, "--json").stdout)
    assert document["verdict"] == "undecided" and document["schedulable"] is None
