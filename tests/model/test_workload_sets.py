"""Workloads from job sets of schedule-abstraction tools and from task sets of SchedCAT."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

import gpusched as gs
from gpusched.cli.main import main

pytestmark = pytest.mark.python

SINGLE = Path(__file__).parents[1] / "data" / "job_set_with_a_single_job.csv"

HEADER = "Task ID, Job ID, Arrival min, Arrival max, Cost min, Cost max, Deadline, Priority\n"
JOBS = (
    HEADER
    + """\
1, 1, 0, 0, 1, 2, 10, 10
1, 2, 10, 10, 1, 2, 20, 20
1, 3, 20, 21, 1, 3, 29, 29
2, 4, 5, 5, 4, 4, 35, 1
2, 5, 45, 45, 4, 4, 75, 1
"""
)
XML = """\
<taskset>
  <properties utilization="0.5" count="2" />
  <task id="1" period="10000" wcet="2000" partition="1" wss="3">
    <resources><requirement res_id="0" max_writes="1" max_write_length="5"/></resources>
  </task>
  <task period="30000.0" wcet="5000" deadline="25000"/>
</taskset>
"""


def put(path: Path, text: str) -> Path:
    path.write_text(text, encoding="utf-8")
    return path


def test_a_job_set(tmp_path: Path) -> None:
    w = gs.io.read_job_set(put(tmp_path / "jobs.csv", JOBS), tick="us")
    one, two = w
    assert (one.name, one.period, one.deadline, one.offset, one.jitter) == ("task 1", 10, 9, 0, 1)
    assert one.segments == (gs.Workload([one], "us")[0].segments[0],) and one.cpu_time == 3
    assert one.priority is None
    assert (two.period, two.deadline, two.offset, two.priority) == (40, 30, 5, 1)
    assert w.assumptions == (
        "read from a job set of 5 jobs",
        "dropped: least costs of jobs; the greatest are taken",
        "dropped: that jobs are not preempted, and any order between them",
        "task 1: greatest costs differ, 2 to 3; the greatest is taken",
        "task 1: relative deadlines differ, 9 to 10; the least is taken",
        "task 1: widths of release intervals differ, 0 to 1; the greatest is taken",
        "task 1: dropped: priorities of jobs; they are the absolute deadlines",
    )
    kernels = gs.io.read_job_set(tmp_path / "jobs.csv", resource="kernel")
    assert kernels[0].kernels[0].time == 3


def test_priorities_of_single_jobs(tmp_path: Path) -> None:
    """They are kept, unless the file has absolute deadlines for priorities."""
    tasks = [gs.Task("a", 10, [gs.CPU(2)], priority=2), gs.Task("b", 20, [gs.CPU(3)], priority=1)]
    w = gs.Workload(tasks, tick="us")
    for order, priorities in (("fixed", [2, 1]), ("edf", [None, None])):
        gs.io.write_job_set(w, tmp_path / "jobs.csv", order=order)  # type: ignore[arg-type]
        read = gs.io.read_job_set(tmp_path / "jobs.csv", tick="us", period=20)
        assert [task.priority for task in read] == priorities
        assert gs.analyze(read, gs.Platform(cpus=1), "mpcp").schedulable
    assert (
        "task 2: dropped: priorities of jobs; they are the absolute deadlines" in read.assumptions
    )


def test_job_sets_both_ways(tmp_path: Path) -> None:
    w = gs.Workload(
        [
            gs.Task("task 1", 10, [gs.CPU(2)], priority=2),
            gs.Task("task 2", 15, [gs.CPU(3, repeat=2)], priority=1, deadline=12, jitter=1),
        ]
    )
    path = tmp_path / "jobs.csv"
    gs.io.write_job_set(w, path, order="fixed")
    assert path.read_text(encoding="utf-8").splitlines()[:3] == [
        "Task ID,Job ID,Arrival min,Arrival max,Cost min,Cost max,Deadline,Priority",
        "1,1,0,0,2,2,10,2",
        "2,2,0,1,6,6,12,1",
    ]
    again = gs.io.read_job_set(path)
    assert again["task 1"] == w["task 1"]
    assert again["task 2"] == w["task 2"].replace(segments=[gs.CPU(6)])
    gs.io.write_job_set(w, path, until=20)
    rows = path.read_text(encoding="utf-8").splitlines()
    assert rows[1:] == [
        *("1,1,0,0,2,2,10,10", "2,2,0,1,6,6,12,12", "1,3,10,10,2,2,20,20", "2,4,15,16,6,6,27,27"),
    ]


def test_job_sets_that_cannot_be_written(tmp_path: Path) -> None:
    two = gs.Workload([gs.Task("a", 10, [gs.CPU(1), gs.Kernel(1)])])
    with pytest.raises(ValueError, match=r"tasks\[0\]: got 2 segments, expected one"):
        gs.io.write_job_set(two, tmp_path / "jobs.csv")
    one = gs.Workload([gs.Task("a", 10, [gs.CPU(1)])])
    with pytest.raises(ValueError, match=r"tasks\[0\].priority: got None, expected a number"):
        gs.io.write_job_set(one, tmp_path / "jobs.csv", order="fixed")
    with pytest.raises(ValueError, match="jobs, expected 1 to 1000000"):
        gs.io.write_job_set(one, tmp_path / "jobs.csv", until="1s")
    assert not (tmp_path / "jobs.csv").exists()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (HEADER, "got no jobs, expected at least one"),
        (HEADER + "1,1,0\n", "line 2: got 3 fields, expected Task ID"),
        (HEADER + "1,1,0,0,1,x,5,5\n", "line 2: Cost max: got 'x', expected a whole number"),
        (HEADER + "1,1,0,0,1,1e999999999,5,5\n", "line 2: Cost max: got '1e999999999', expected"),
        (HEADER + "1,1,0,0,1,1.5,5,5\n", "line 2: Cost max: got '1.5', expected a whole number"),
        (HEADER + "1,1,4,3,1,1,5,5\n", "line 2: Arrival max: got 3, expected at least 4"),
        (HEADER + "1,1,4,4,1,1,4,5\n", "line 2: Deadline: got 4, expected at least 5"),
        (HEADER + "1,1,0,0,1,0,4,5\n", "line 2: Cost max: got 0, expected at least 1"),
        (HEADER + "1,1,0,0,1,1,4,5\n1,1,9,9,1,1,14,5\n", "line 3: got job 1 of task 1, expected"),
        (HEADER + "1,1,0,0,1,1,4,5\n", "task 1: got a single job like all tasks, expected"),
        (HEADER + "1,1,0,0,1,1,4,5\n1,2,0,0,1,1,4,5\n", "task 1: got two jobs released at once"),
        (HEADER + '1,1,0,0,1,1,4,"5\n', "line 2: got unexpected end of data, expected CSV"),
    ],
)
def test_job_sets_that_are_refused(tmp_path: Path, text: str, message: str) -> None:
    path = put(tmp_path / "jobs.csv", text)
    with pytest.raises(ValueError) as caught:
        gs.io.read_job_set(path)
    assert str(caught.value).startswith(f"{path}: {message}")


def test_a_single_job_with_a_period(tmp_path: Path) -> None:
    path = put(tmp_path / "jobs.csv", HEADER + "7,1,0,0,1,1,4,5\n")
    w = gs.io.read_job_set(path, period="1ms", tick="us")
    assert w["task 7"].period == 1000 and w["task 7"].deadline == 4


def test_a_single_job_has_the_hyperperiod(tmp_path: Path) -> None:
    """Task 1 has two jobs with a period of 10; the set covers 20."""
    w = gs.io.read_job_set(SINGLE, tick="us")
    assert [task.period for task in w] == [10, 20]
    note = "task 2: a single job; its period is the hyperperiod of the job set, 20"
    assert note in w.assumptions
    assert gs.analyze(w, gs.Platform(cpus=1), "gcaps").schedulable
    path = put(tmp_path / "jobs.csv", JOBS + "3,9,0,0,1,1,5,5\n")
    assert gs.io.read_job_set(path)["task 3"].period == 80  # 3 jobs of 10, 2 jobs of 40


@pytest.mark.parametrize("given", [30, "30us", {2: 30}, {"task 2": "30us"}])
def test_periods_by_task(given: Any) -> None:
    w = gs.io.read_job_set(SINGLE, tick="us", period=given)
    assert [task.period for task in w] == [10, 30]
    assert "task 2: a single job; its period is the given one" in w.assumptions


def test_periods_of_other_tasks() -> None:
    with pytest.raises(ValueError, match=r"period\['task 7'\]: got this task, expected one"):
        gs.io.read_job_set(SINGLE, period={"task 7": 3})
    with pytest.raises(ValueError, match=r"period\[1\]: got a period for a task of 2 jobs"):
        gs.io.read_job_set(SINGLE, period={1: 3})
    assert gs.io.read_job_set(SINGLE, period={})[1].period == 20


@pytest.mark.parametrize(
    "text",
    [
        "Predecessor TID,\tPredecessor JID,\tSuccessor TID, Successor JID\n1, 1,    1, 2\n",
        "From TID, From JID, To TID, To JID\n1,1,1,2\n",
        "1,1,1,2\n",
    ],
)
def test_precedence_constraints_are_refused(tmp_path: Path, text: str) -> None:
    path = put(tmp_path / "jobs.prec.csv", text)
    with pytest.raises(ValueError, match=r"got precedence constraints.*the segments of one task"):
        gs.io.read_job_set(path)


NAMES = ("Task ID", "Job ID", "Arrival min", "Arrival max", "Cost min", "Cost max", "Deadline",
         "Priority")  # fmt: skip


def yaml_of(rows: str) -> str:
    text = "jobset:\n"
    for row in rows.splitlines()[1:]:
        cells = (cell.strip() for cell in row.split(","))
        members = [f"{name}: {cell}\n" for name, cell in zip(NAMES, cells, strict=True)]
        text += "  - " + "    ".join(members)
    return text


def test_a_job_set_in_yaml(tmp_path: Path) -> None:
    pytest.importorskip("yaml")
    for text in (JOBS, SINGLE.read_text(encoding="utf-8")):
        csv = gs.io.read_job_set(put(tmp_path / "jobs.csv", text), tick="us")
        assert gs.io.read_job_set(put(tmp_path / "jobs.yaml", yaml_of(text)), tick="us") == csv


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("jobset:\n", "jobset: got no list of jobs, expected one"),
        ("jobset: []\n", "got no jobs, expected at least one"),
        ("jobset:\n  - Task ID: 1\n", "line 2: Job ID: got no number, expected one"),
        ("jobset:\n  - 7\n", "line 2: Task ID: got no number, expected one"),
        ("jobset: [\n", "line 2: expected YAML: expected the node content"),
        ("jobset: &a [*a]\n", "line 1: "),
        ("jobset: " + "[" * 100_000, "got lists in lists too deep, expected YAML"),
        (yaml_of(HEADER + "1,1,0,0,1,x,5,5"), "line 2: Cost max: got 'x', expected a whole number"),
        (yaml_of(HEADER + "1,1,0,0,1,1,5,5\n1,1,0,0,1,1,5,5"), "line 10: got job 1 of task 1, exp"),
        (yaml_of(HEADER + "1,1,0,0,1,1,5,5").replace("    Job", "    Successors: [2]\n    Job", 1),
         "line 2: Successors: got precedence constraints, which"),
        ("jobset:\n  - !!python/object:os.system {}\n", "line 2: Task ID: got no number"),
    ],
    ids=range(11),
)  # fmt: skip
def test_yaml_that_is_refused(tmp_path: Path, text: str, message: str) -> None:
    pytest.importorskip("yaml")
    path = put(tmp_path / "jobs.yaml", text)
    with pytest.raises(ValueError) as caught:
        gs.io.read_job_set(path)
    assert str(caught.value).startswith(f"{path}: {message}")


def test_yaml_without_its_library(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "yaml", None)
    path = put(tmp_path / "jobs.yaml", "jobset:\n  - Task ID: 1\n")
    with pytest.raises(ImportError, match=r"jobs.yaml: a job set in YAML needs PyYAML: pip instal"):
        gs.io.read_job_set(path)
    assert main(["check", str(path), "--way", "gcaps"]) == 2


def test_commands_take_sets_of_other_tools(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    xml = put(tmp_path / "set.xml", XML.replace("requirement", "x").replace('partition="1"', ""))
    for file, tick in ((SINGLE, "1ns"), (xml, "1us")):
        for command in (["check", str(file), "--way", "gcaps"],
                        ["compare", str(file), "--no-simulation", "--no-margin"]):  # fmt: skip
            assert main([*command, "--cpus", "2"]) == 0
            assert f"2 tasks on no GPU (--gpu), 2 CPUs; a tick is {tick}" in capsys.readouterr().out
    assert main(["check", str(SINGLE), "--way", "gcaps", "--tick", "ms"]) == 0
    out = capsys.readouterr().out
    assert "a tick is 1ms" in out and "its period is the hyperperiod of the job set, 20" in out
    assert main(["check", str(SINGLE), "--way", "edf_serial", "--resource", "kernel"]) == 0
    assert capsys.readouterr().out.count("edf_serial: guaranteed") == 1
    renamed = put(tmp_path / "jobs.txt", SINGLE.read_text(encoding="utf-8"))
    assert main(["check", str(renamed), "--way", "gcaps"]) == 0
    capsys.readouterr()
    toml = tmp_path / "w.toml"
    gs.io.read_job_set(SINGLE).save(toml)
    for file, options, message in (
        (toml, ["--tick", "us"], "--tick: got 'us', expected it for a job set or SchedCAT only"),
        (xml, ["--resource", "cpu"], "--resource: got 'cpu', expected it for a job set only"),
        (SINGLE, ["--tick", "soon"], "--tick: got 'soon'"),
        (put(tmp_path / "a.csv", "1,2\n"), [], "a.csv: line 1: got 2 fields, expected Task ID"),
        (put(tmp_path / "a.xml", "<set/>"), [], "a.xml: line 1: got the element 'set', expected"),
        (put(tmp_path / "b.toml", '{"traceEvents": []}'), [], "b.toml: got a trace in JSON: make"),
        (put(tmp_path / "prec.csv", "From TID, From JID\n"), [], "prec.csv: got precedence const"),
    ):
        assert main(["check", str(file), "--way", "gcaps", *options]) == 2
        assert message in capsys.readouterr().err


def test_a_schedcat_set(tmp_path: Path) -> None:
    path = put(tmp_path / "set.xml", XML)
    with pytest.raises(
        ValueError, match=r"line \d+: got a requirement of a shared resource, expec"
    ):
        gs.io.read_schedcat(path)
    w = gs.io.read_schedcat(path, resources="drop")
    one, two = w
    assert (one.name, one.period, one.cpu_time, one.core) == ("task 1", 10_000, 2000, 1)
    assert (two.name, two.period, two.deadline, two.core) == ("task 2", 30_000, 25_000, None)
    assert w.tick == "us" and w.assumptions == (
        "read from a SchedCAT task set of 2 tasks",
        "dropped: the attribute wss of tasks, first in line 3",
        "dropped: requirements of resources; their time is part of the execution time, first in "
        "line 4",
    )


def test_a_schedcat_test_point(tmp_path: Path) -> None:
    task = '<task id="3" period="10" wcet="{}"/>'
    sets = "".join(f"<taskset>{task.format(cost)}</taskset>" for cost in (1, 2))
    path = put(tmp_path / "p.xml", f'<testpoint><config a="1"/>{sets}</testpoint>')
    assert gs.io.read_schedcat(path, number=1)["task 3"].cpu_time == 2
    with pytest.raises(IndexError, match="number: got 2, expected 0 to 1"):
        gs.io.read_schedcat(path, number=2)
    assert len(gs.io.read_schedcat(put(tmp_path / "t.xml", task.format(5)))) == 1


BOMB = '<!DOCTYPE a [<!ENTITY b "' + "x" * 100 + '">]><taskset>&b;</taskset>'


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("<taskset>", "line 1: got no element found, expected XML"),
        ("", "line 1: got no element found, expected XML"),
        ("<tasks/>", "line 1: got the element 'tasks', expected one of taskset, testpoint, task"),
        ("<taskset/>", "got a task set without tasks, expected at least one"),
        ("<task period='1'/>", "line 1: wcet: got none, expected a number"),
        ("<task period='1' wcet='1e999999999'/>", "line 1: wcet: got '1e999999999', expected a"),
        ("<task period='0' wcet='1'/>", "line 1: period: got 0, expected a positive time"),
        (BOMB, "line 1: got a document type, expected none"),
        ("<taskset>" + "<a>" * 10**6, "line 1: got elements 20 deep, expected a task set"),
    ],
    ids=range(9),
)
def test_schedcat_sets_that_are_refused(tmp_path: Path, text: str, message: str) -> None:
    path = put(tmp_path / "set.xml", text)
    with pytest.raises(ValueError) as caught:
        gs.io.read_schedcat(path)
    assert str(caught.value).startswith(f"{path}: {message}")
