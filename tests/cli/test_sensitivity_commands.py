"""Commands breakdown and assign: factors and priorities of workload files, and their documents."""

from __future__ import annotations

import json
import re
from fractions import Fraction
from pathlib import Path

import pytest
from commands import ORIN, refused, run

import gpusched as gs
from gpusched.ways.way import placed_ways

pytestmark = pytest.mark.python

# Deadline-monotonic priorities are not accepted by mpcp, others are.
ORDERED = gs.Workload(
    [
        gs.Task("a", 10, [gs.CPU(1)], deadline=6, core=0),
        gs.Task("b", 10, [gs.CPU(1)], deadline=9, core=0),
        gs.Task("c", 22, [gs.CPU(2), gs.Kernel(7), gs.CopyOut(1), gs.CPU(1)], deadline=14, core=0),
    ]
)
PIPELINE = gs.Workload(
    [
        gs.Task("camera", "40ms", [gs.CPU("2ms"), gs.Kernel("5ms", blocks=32, threads=256)]),
        gs.Task("kernels", "80ms", [gs.CPU("9ms"), gs.Kernel("8ms", blocks=8, threads=128)]),
    ],
    tick="us",
)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with the workloads."""
    ORDERED.save(tmp_path / "ordered.toml")
    PIPELINE.save(tmp_path / "pipeline.toml")
    return tmp_path


# Breakdown ----------------------------------------------------------------------------------------


def test_breakdown_has_a_line_for_all_and_for_each_task(folder: Path) -> None:
    done = run(folder, "breakdown", "pipeline.toml", *ORIN, "--way", "mpcp")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith(
        "2 tasks on AGX Orin (16 SMs), 2 CPUs; a tick is 1us\n\nmpcp (sus"
    )
    lines = re.findall(r"^(all|task \w+) +([\d.]+) +(\S+) ", done.stdout, re.MULTILINE)
    assert [name for name, _, _ in lines] == ["all", "task camera", "task kernels"]
    platform = gs.Platform("AGX Orin", cpus=2)
    for name, short, exactly in lines:
        what = name.removeprefix("task ")
        if what != "kernels":  # gs.margin takes that name for the times of kernels
            found = gs.margin(PIPELINE, platform, "mpcp", what)
            assert Fraction(exactly) == found.factor and found.exact
            assert float(short) == int(10**4 * Fraction(exactly)) / 10**4
    assert "Factors are exact: " in done.stdout and "- camera: core " in done.stdout


@pytest.mark.parametrize("method", placed_ways())
def test_the_document_of_a_breakdown(folder: Path, method: str) -> None:
    scales = ("all", "kernels", "cpu", "camera")
    chosen = [part for scale in (*scales, "all") for part in ("--scale", scale)]
    command = ("breakdown", "pipeline.toml", *ORIN, "--way", method, "--json")
    document = json.loads(run(folder, *command, *chosen).stdout)
    assert document["format"] == "gpusched breakdown" and document["way"] == method
    assert [one["scale"] for one in document["factors"]] == [*scales[:3], "task"]
    assert document["factors"][3]["task"] == "camera"
    assert {one["exact"] for one in document["factors"]} == {True}
    platform = gs.Platform("AGX Orin", cpus=2)
    for scale, one in zip(scales, document["factors"], strict=True):
        assert (Fraction(one["factor"]) >= 1) is (document["schedulable"] is True)
        assert one["text"].endswith("may miss its deadline then.")
        assert one["limiting"] in one["text"]
        if scale in ("all", "kernels") and method != "stgm":  # times for each number of SMs differ
            assert Fraction(one["factor"]) == gs.margin(PIPELINE, platform, method, scale).factor


def test_breakdown_refuses_what_is_not_monotone(folder: Path) -> None:
    command = ("breakdown", "pipeline.toml", *ORIN, "--way", "time_slices", "--scale")
    for scale, text in (
        ("deadlines", "it (in one pass fmlp_plus accepts a set with a deadline of 45 and rejects"),
        (
            "timeslice",
            "it (with kernels of 6 and 30 on two cores and switches of 1, time_slices has",
        ),
        ("sms", "it (stgm accepts kernels on few SMs that form long chains on more)"),
    ):
        line = refused(folder, *command, scale)
        assert line.startswith(f"--scale: got '{scale}', expected times; tests are not monotone in")
        assert text in line
    assert "'copies', 'cpu' or a task's name" in refused(folder, *command, "cam")
    assert refused(folder, *command, "copies") == (
        "--scale: got 'copies', expected times that can grow, found none\n"
    )


def test_factors_of_sets_that_are_not_accepted(folder: Path) -> None:
    gs.Workload([gs.Task("a", 10, [gs.CPU(9)], deadline=6, core=0)]).save(folder / "late.toml")
    done = run(folder, "breakdown", "late.toml", "--way", "gpu_server")
    assert done.returncode == 1  # no way can keep a deadline of 6 for 9 ticks
    assert re.search(r"^all +0\.6666 +2/3 +0\.6000 +a$", done.stdout, re.MULTILINE)
    tasks = [gs.Task("a", 10, [gs.CPU(1)], core=0), gs.Task("b", 9, [gs.CPU(9)], core=0)]
    gs.Workload(tasks).save(folder / "full.toml")
    command = ("breakdown", "full.toml", "--way", "mpcp", "--scale", "a")
    assert re.search(r"^task a +0 +0 +0\.0000 +", run(folder, *command).stdout, re.MULTILINE)
    assert json.loads(run(folder, *command, "--json").stdout)["factors"][0]["factor"] is None


# Priorities ---------------------------------------------------------------------------------------


def test_assign_finds_priorities_by_a_search(folder: Path) -> None:
    method = ("--way", "mpcp")
    assert run(folder, "check", "ordered.toml", *method).returncode == 3
    done = run(folder, "assign", "ordered.toml", *method)
    assert (done.returncode, done.stderr) == (0, "")
    rows = re.findall(r"^([abc]) +(\d) +(\d+)ns +(\d+)ns +(\d+)ns$", done.stdout, re.MULTILINE)
    assert [" ".join(row) for row in rows] == ["a 0 6 1 5", "b 2 9 5 4", "c 1 14 13 1"]
    text = r"^A search over all orders found the priorities \(\d+ tests\)\.$"
    assert re.search(text, done.stdout, re.MULTILINE)
    document = json.loads(run(folder, "assign", "ordered.toml", *method, "--json").stdout)
    assert document["format"] == "gpusched assignment"
    assert (document["priority"], document["gpu_priority"]) == ([0, 2, 1], None)
    assert (document["method"], document["optimal"], document["of"]) == ("exhaustive", True, "cpu")
    assert [task["response"] for task in document["tasks"]] == [1, 5, 13]
    assert document["schedulable"] is True
    assert not any("monotonic" in text for text in document["assumptions"])
    tasks = [task.replace(priority=document["priority"][i]) for i, task in enumerate(ORDERED)]
    again = gs.analyze(ORDERED.replace(tasks=tasks), gs.Platform(), "mpcp")
    assert again.accepted and again.response.tolist() == [1, 5, 13]
    assert [task["priority"] for task in document["workload"]["task"]] == [0, 2, 1]
    for number in (0, 1):
        none = run(folder, "assign", "ordered.toml", *method, "--tests", number)
        assert none.returncode == 3 and "; other priorities may be accepted (" in none.stdout


def test_assign_says_that_no_priorities_are_accepted(folder: Path) -> None:
    tasks = [*(task.replace(deadline=1) for task in ORDERED[:2]), ORDERED[2]]
    ORDERED.replace(tasks=tasks).save(folder / "late.toml")
    done = run(folder, "assign", "late.toml", "--way", "mpcp")
    assert done.returncode == 1
    said = r"^No priorities make the test accept the set; the deadline-monotonic ones are kept "
    assert re.search(rf"{said}\(\d+ tests\)\.$", done.stdout, re.MULTILINE)
    assert re.findall(r"^[abc] +(\d)", done.stdout, re.MULTILINE) == ["0", "1", "2"]


def test_assign_by_audsley_and_by_deadlines(folder: Path) -> None:
    command = ("assign", "pipeline.toml", *ORIN, "--way")
    done = run(folder, *command, "time_slices", "--option", "order_free=true")
    assert done.returncode == 0 and "\nAudsley's algorithm found the priorities (" in done.stdout
    done = run(folder, *command, "mpcp")
    assert (
        done.returncode == 0 and "\nPriorities are in the order of the deadlines (" in done.stdout
    )


def test_assign_keeps_the_workload_where_it_chooses_priorities_of_the_gpu(folder: Path) -> None:
    command = ("assign", "pipeline.toml", *ORIN, "--of", "gpu", "--way")
    done = run(folder, *command, "gcaps")
    assert done.returncode == 0
    assert re.search(r"^task +priority +GPU priority +deadline ", done.stdout, re.MULTILINE)
    document = json.loads(run(folder, *command, "gcaps", "--json").stdout)
    assert sorted(document["gpu_priority"]) == [0, 1] and document["of"] == "gpu"
    assert all("priority" not in task for task in document["workload"]["task"])
    assert refused(folder, *command, "mpcp").startswith("--of: got 'gpu' for mpcp, expected 'cpu'")


# Both ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("command", ["breakdown", "assign"])
def test_methods_and_workloads_that_are_refused(folder: Path, command: str) -> None:
    test = (command, "pipeline.toml", *ORIN, "--way")
    assert refused(folder, *test, "streams") == (
        f"--way: got 'streams', expected one of {', '.join(placed_ways())}\n"
    )
    assert "expected one of one_stream" in refused(folder, *test, "none")
    line = refused(folder, *test, "gcaps", "--option", "variant=paper")
    assert line.startswith("--option variant: got 'paper', expected one of sound")
    heavy = [gs.Task(name, 10, [gs.CPU(8)]) for name in ("a", "b", "c")]
    gs.Workload(heavy).save(folder / "heavy.toml")
    line = refused(folder, command, "heavy.toml", *ORIN, "--way", "stgm")
    assert line.startswith("c: got no core from stgm, expected one for each task; ")


# Programs that host tasks do not say all of -------------------------------------------------------


def test_paths_and_quantiles_count_for_chosen_priorities(folder: Path) -> None:
    """Priorities are those of the test for host tasks, and the verdict is that of the program."""
    tasks = [
        gs.Task("a", 20, [gs.CPU(2)]),
        gs.Task("b", after="a", segments=[gs.CPU(3)]),
        gs.Task("c", 20, [gs.CPU({"p50": 2, "p99": 3, "largest": 4, "count": 1000})], reads="b"),
    ]
    path = gs.Path("a to c", ["a", "b", "c"], 30)
    w = gs.Workload(tasks, paths=[path])
    w.save(folder / "path.toml")
    w.replace(paths=[path.replace(deadline=20)]).save(folder / "late.toml")
    w.at_quantile("p99").replace(paths=()).save(folder / "quantile.toml")
    command = (*ORIN, "--way", "mpcp", "--json")
    done = run(folder, "assign", "path.toml", *command)
    assert done.returncode == 0 and json.loads(done.stdout)["verdict"] == "guaranteed"
    for name, verdict in (("late.toml", "undecided"), ("quantile.toml", "conditional")):
        done = run(folder, "assign", name, *command)
        assert done.returncode == 3 and json.loads(done.stdout)["verdict"] == verdict, name
    line = refused(folder, "breakdown", "path.toml", *command)
    assert line.startswith("workload: got b, which other tasks release, expected neither released")
    w.replace(tasks=[tasks[0], tasks[2].replace(reads="a")], paths=[
        gs.Path("a to c", ["a", "c"], 30)
    ]).save(folder / "path.toml")  # fmt: skip
    line = refused(folder, "breakdown", "path.toml", *command)
    assert line.startswith("workload: got the path a to c, expected neither released tasks")
