"""The run on a GPU, on the stand-in: its archive, and what is left of a run that is killed."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tarfile
import time
from pathlib import Path

import numpy as np
import pytest
from native import CSRC
from standin import Standin

from benchmarks.gpu import archive, raw
from benchmarks.gpu.steps import STEPS, result_file
from gpusched.cuda import Device, Operation

pytestmark = pytest.mark.python

ASKED = ("smoke", "GPCs")


def start(output: Path, *options: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "benchmarks.gpu", str(output), "--only", ",".join(ASKED), *options],
        cwd=CSRC.parent,
        env=os.environ | {"GPUSCHED_GPU_QUICK": "1", "TMPDIR": str(output.parent)},
        stdout=subprocess.PIPE,
        text=True,
    )


def kept(output: Path) -> dict[str, bytes]:
    """Contents of the archive, the only file that is left in the folder."""
    (path,) = (path for path in output.iterdir() if not path.name.endswith(".part"))
    with tarfile.open(path) as tar:
        files = {member.name: tar.extractfile(member) for member in tar}
        return {name: file.read() for name, file in files.items() if file is not None}


@pytest.mark.long
def test_a_run_that_is_killed_loses_nothing(standin: Standin, tmp_path: Path) -> None:
    output = tmp_path / "output"
    with start(output) as run:  # killed between two steps
        assert run.stdout is not None and "smoke: 0 in" in run.stdout.readline()
        run.kill()
    before = kept(output)
    assert json.loads(before["smoke.json"])["name"] == "Stand-in 0"
    with start(output) as run:  # told to end within a step
        time.sleep(0.5)
        run.terminate()
        assert run.wait(30) in (0, 1)  # 0: it had ended
    between = kept(output)
    with start(output) as run:
        assert run.wait(60) == 0
    after = kept(output)
    for files in (before, between):
        for name, content in files.items():
            same = name.endswith((".json", ".npz"))
            assert after[name] == content if same else after[name].startswith(content), name
    assert {f"{name}.json" for name in ASKED} <= set(after)
    assert json.loads(after["GPCs.json"])["finding"]["data"]["sizes"] == [4, 4, 4, 4]
    assert not list(tmp_path.glob("output/*.part"))
    (tmp_path / "piece.npz").write_bytes(after["GPCs.0.npz"])
    runs = raw.read(tmp_path / "piece.npz")
    assert runs[0]["block_sm"].shape == runs[0]["block_start"].shape
    assert (runs[0]["block_end"] > runs[0]["block_start"]).all()


@pytest.mark.long
def test_steps_end_with_the_run(standin: Standin, tmp_path: Path) -> None:
    """A step whose starter is gone ends."""
    command = [sys.executable, "-m", "benchmarks.gpu", str(tmp_path), "--step", "smoke"]
    with subprocess.Popen(command, cwd=CSRC.parent, stdin=subprocess.PIPE) as step:
        assert step.stdin is not None
        step.stdin.close()
        assert step.wait(60) == 1
    assert not (tmp_path / "smoke.json").exists()


def test_an_archive_leaves_out_the_largest_raw_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(archive, "MOST_BYTES", 40_000)
    work, output = tmp_path / "work", tmp_path / "output"
    work.mkdir()
    chance = np.random.default_rng(1)
    for name, size in (("small.npz", 10_000), ("large.npz", 50_000), ("result.json", 20_000)):
        (work / name).write_bytes(chance.bytes(size))
    made = archive.Archive(output, work)
    made.write()
    assert set(kept(output)) == {"small.npz", "result.json", "left_out.txt"}
    assert kept(output)["left_out.txt"] == b"large.npz\n"
    first = made.path.stat().st_mtime_ns
    made.write()
    assert made.path.stat().st_mtime_ns == first  # nothing has changed
    (output / ".gpu.tgz.part").write_text("half of an archive")
    again = tmp_path / "again"
    archive.Archive(output, again).write()
    assert set(kept(output)) == {"small.npz", "result.json", "left_out.txt"}
    assert not (output / ".gpu.tgz.part").exists()


def test_raw_times_are_those_of_the_runs(
    standin: Standin, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Device, "run", Device.run)  # restored afterwards
    recorder = raw.Recorder(tmp_path, "step")
    with Device() as device:
        run = device.run([Operation(blocks=3, ns=5000, name="a"), Operation(cluster=1)], repeats=2)
    recorder.write()
    (piece,) = tmp_path.iterdir()
    (row,) = raw.read(piece)
    for key in raw.ARRAYS:
        assert np.array_equal(row[key], getattr(run, key)), key
    assert row["operations"][0]["ns"] == 5000 and row["operations"][0]["name"] == "a"


def test_files_of_steps_differ() -> None:
    names = [result_file(Path(), step.name) for step in STEPS]
    assert len(set(names)) == len(names)
    assert {step.part for step in STEPS} == {1, 2}
