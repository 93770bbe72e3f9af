"""Command choose: chosen values of a workload file, its document and its files."""

from __future__ import annotations

import json
import shlex
from pathlib import Path

import pytest
from commands import ORIN, refused, run

import gpusched as gs

pytestmark = pytest.mark.python


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with a workload."""
    kernel = gs.Kernel("2ms", blocks=32, threads=512)
    tasks = [
        gs.Task("camera", "10ms", [gs.CPU("1ms"), kernel], deadline="6ms"),
        gs.Task("map", "40ms", [gs.CPU("1ms"), kernel.replace(time="9ms", blocks=64)]),
    ]
    gs.Workload(tasks, tick="us").save(tmp_path / "program.toml")
    return tmp_path


def test_what_it_chooses_is_guaranteed_by_check(folder: Path) -> None:
    command = ("choose", "program.toml", *ORIN, "--way", "mps_static")
    done = run(folder, *command, "--output", "chosen.toml")
    assert done.returncode == 0 and "mps_static: guaranteed; before: not app" in done.stdout
    document = json.loads(run(folder, *command, "--json").stdout)
    assert document["format"] == "gpusched choice" and document["optimal"] is True
    assert document["before"] == "not applicable" and document["what"][0] == "sms"
    assert document["arguments"] in done.stdout
    arguments = shlex.split(document["arguments"])
    check = run(folder, "check", "chosen.toml", *ORIN, "--way", "mps_static", *arguments)
    assert check.returncode == 0
    npz = run(folder, *command, "--output", "choice.npz")
    assert npz.returncode == 0 and gs.Choice.load(folder / "choice.npz").accepted


def test_time_slices_are_options_of_check(folder: Path) -> None:
    common = (*ORIN, "--way", "time_slices", "--context-switch", "60us")
    done = run(folder, "choose", "program.toml", *common, "--what", "slices", "--json")
    arguments = shlex.split(json.loads(done.stdout)["arguments"])
    assert arguments[0] == "--timeslice"
    check = run(folder, "check", "program.toml", *common, *arguments)
    assert check.returncode == done.returncode == 0
    line = refused(folder, "choose", "program.toml", *common, "--what", "processes")
    assert line.startswith("what[0]: got 'processes', expected one of slices, cores")


def test_none_is_guaranteed(folder: Path) -> None:
    command = ("choose", "program.toml", *ORIN, "--way", "mpcp", "--what", "cores", "--seed", "3")
    done = run(folder, *command, "--aim", "change", "--choices", "50")
    assert done.returncode == 3 and "None of all " in done.stdout
    done = run(folder, "choose", "program.toml", "--way", "mps_static")
    assert done.returncode == 2 and "platform: got no GPU" in done.stderr


def test_refused(folder: Path) -> None:
    command = ("choose", "program.toml", *ORIN, "--way")
    assert refused(folder, *command, "srm").startswith("--way: got 'srm', under which nothing")
    line = refused(folder, *command, "mpcp", "--what", "sms")
    assert line.startswith("what[0]: got 'sms', expected one of cores, priorities")
    line = refused(folder, *command, "mpcp", "--output", "chosen.csv")
    assert line.startswith("--output: got 'chosen.csv', expected a name in .toml, .json or .npz")


def test_offsets_for_a_path(tmp_path: Path) -> None:
    work = [gs.CPU("2ms")]
    tasks = [
        gs.Task("camera", "40ms", work),
        gs.Task("planner", "40ms", work, reads="camera"),
        gs.Task("control", "10ms", work, reads="planner"),
    ]
    path = gs.Path("to command", ["camera", "planner", "control"], "50ms", phases="given")
    gs.Workload(tasks, "us", paths=[path]).save(tmp_path / "program.toml")
    command = ("choose", "program.toml", *ORIN, "--way", "mpcp", "--aim", "paths")
    done = run(tmp_path, *command, "--what", "offsets", "--output", "chosen.toml")
    assert done.returncode == 0
    assert "- planner: offset 2ms instead of 0ns" in done.stdout
    assert "to command: latency of 8ms of 50ms; before: 52ms" in done.stdout
    assert gs.Workload.load(tmp_path / "chosen.toml")["control"].offset == 6000
    document = json.loads(run(tmp_path, *command, "--of", "to command", "--json").stdout)
    assert document["of"] == "to command" and document["paths"][0]["bound"] == 8000
    assert document["what"] == ["cores", "priorities", "offsets"]
    assert refused(tmp_path, *command, "--of", "x").startswith(
        "--of: got 'x', expected 'all' or a path"
    )
