"""Checks of machines that are folders with ``proc`` and ``sys``; nothing in them changes."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

import gpusched as gs
from gpusched.cli.main import main
from gpusched.deploy.deployability import _table
from gpusched.deploy.machine_checks import _CHECKS, RESULTS, Wanted, examined, status_of_checks

ROOT = Path(__file__).parents[2]
GOOD = {
    "proc/self/status": "Name:\tx\nCapEff:\t0000000000000000\n",
    "proc/self/limits": "Limit  Soft Limit  Hard Limit\nMax locked memory  unlimited  unlimited\n"
    "Max realtime priority   49    49 \n",
    "proc/sys/kernel/sched_rt_runtime_us": "-1\n",
    "sys/kernel/realtime": "1\n",
    "sys/devices/system/cpu/isolated": "2-4,6\n",
    **{
        f"sys/devices/system/cpu/cpu{n}/cpufreq/scaling_governor": "performance\n"
        for n in (2, 3, 4, 6)
    },
    "sys/class/devfreq/17000000.gpu/min_freq": "1300500000\n",
    "sys/class/devfreq/17000000.gpu/max_freq": "1300500000\n",
    "proc/17/comm": "nvidia-persiste\n",
}
LIMITS, STATUS = "proc/self/limits", "proc/self/status"
GOVERNOR = "sys/devices/system/cpu/cpu6/cpufreq/scaling_governor"
VARIABLES = {"CUDA_MODULE_LOADING": "EAGER", "CUDA_DEVICE_MAX_CONNECTIONS": "8"}
WANTED = Wanted(25, (2, 3, 6), 8)


def machine(folder: Path, changes: Mapping[str, str | None] = {}) -> Path:
    for name, text in {**GOOD, **changes}.items():
        if text is not None:
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_text(text)
    os.makedirs(folder / "proc/17/fd")
    os.symlink("/dev/nvidia0", folder / "proc/17/fd/3")
    return folder


def results(folder: Path, way: str, **more: Any) -> dict[str, tuple[str, str]]:
    given = {"wanted": WANTED, "environment": VARIABLES, **more}
    found = examined(way, None, root=folder, **given)
    assert all(check.result in RESULTS and check.seen for check in found)
    return {check.name: (check.result, check.seen) for check in found if check.name}


def test_every_check_of_the_table_exists() -> None:
    named = {row.get("check", "") for row in _table()["assumes"]} - {""}
    assert named == {*_CHECKS, "log"}


def test_a_machine_on_which_all_holds(tmp_path: Path) -> None:
    folder = machine(tmp_path)
    before = sorted((path, path.lstat().st_mtime_ns) for path in folder.rglob("*"))
    for way in ("mpcp", "streams", "pbs", "stgm"):
        found = results(folder, way)
        assert {name: one for name, one in found.items() if one[0] != "holds"} == {
            "log": ("not visible here", "a log of a run shows it: gpusched kept")
        }
    assert results(folder, "mps")["mps"] == ("does not hold", "no MPS daemon runs")
    assert sorted((path, path.lstat().st_mtime_ns) for path in folder.rglob("*")) == before


@pytest.mark.parametrize(
    ("check", "changes", "result", "seen"),
    [
        ("rtprio", {LIMITS: "Max realtime priority  24  24\n"}, 1, "is 24, the program needs 25"),
        ("rtprio", {LIMITS: "Max realtime priority  x  24\n"}, 2, "has no limit"),
        ("rtprio", {LIMITS: None}, 2, "has no limit"),
        ("rtprio", {LIMITS: None, STATUS: "CapEff: 0000000000800000"}, 0, "may"),
        ("memlock", {LIMITS: "Max locked memory  65536  65536  bytes\n"}, 1, "is 65536"),
        ("memlock", {STATUS: "CapEff: 4000", LIMITS: None}, 0, "may lock"),
        ("throttling", {"proc/sys/kernel/sched_rt_runtime_us": "950000"}, 1, "is 950000"),
        ("throttling", {"proc/sys/kernel/sched_rt_runtime_us": "9" * 90}, 2, "cannot be read"),
        ("throttling", {"proc/sys/kernel/sched_rt_runtime_us": None}, 2, "cannot be read"),
        ("interrupts", {"sys/kernel/realtime": None}, 0, "not PREEMPT_RT"),
        ("cores", {"sys/devices/system/cpu/isolated": "2-3"}, 1, "are 2, 3, expected 6"),
        ("cores", {"sys/devices/system/cpu/isolated": ""}, 1, "are none, expected 2, 3, 6"),
        ("cores", {"sys/devices/system/cpu/isolated": "99999-0,x,2-"}, 1, "expected 2, 3, 6"),
        ("cores", {"sys/devices/system/cpu/isolated": None}, 2, "cannot be read"),
        ("cores", {GOVERNOR: "powersave"}, 1, "CPU 6 is powersave"),
        ("cores", {GOVERNOR: None}, 2, "no file shows"),
        ("clocks", {"sys/class/devfreq/17000000.gpu/min_freq": "3"}, 1, "3 to 1300500000 Hz"),
        ("clocks", {"sys/class/devfreq/17000000.gpu/min_freq": None}, 2, "nvidia-smi"),
        ("gpu_clients", {"proc/17/comm": "Xorg\n"}, 1, "Xorg have a device"),
        ("gpu_clients", {"proc/17/comm": "a\x1b[2Jb" * 99}, 1, "have a device"),
        ("no_mps", {"proc/17/comm": "nvidia-cuda-mps\n"}, 1, "the MPS daemon runs"),
    ],
)  # fmt: skip
def test_what_does_not_hold_is_seen(
    check: str, changes: dict[str, str | None], result: int, seen: str, tmp_path: Path
) -> None:
    found = results(machine(tmp_path, changes), "mpcp")[check]
    assert found[0] == RESULTS[result] and seen in found[1]
    assert found[1].isprintable() and len(found[1]) < 200


def test_priorities_and_variables(tmp_path: Path) -> None:
    folder = machine(tmp_path)
    high = results(folder, "mpcp", wanted=Wanted(50))
    assert high["interrupts"][0] == "does not hold" and high["rtprio"][0] == "does not hold"
    without = results(folder, "streams", environment={})
    assert without["eager_loading"] == ("does not hold", "CUDA_MODULE_LOADING is not set")
    assert without["connections"][0] == "does not hold"
    assert results(folder, "streams", wanted=Wanted())["connections"][0] == "not visible here"
    assert results(folder, "streams", wanted=Wanted(connections=0))["connections"][0] == "holds"


def test_a_machine_that_shows_nothing(tmp_path: Path) -> None:
    found = results(tmp_path, "mps", environment=VARIABLES)
    assert {result for result, _ in found.values()} == {"not visible here", "holds"}
    held = [name for name, one in found.items() if one[0] == "holds"]
    assert held == ["eager_loading", "connections"]
    for way in gs.ways.WAYS:
        assert status_of_checks(examined(way, None, WANTED, root=tmp_path / "no")) in (1, 3)


def test_the_status(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = machine(tmp_path)
    checks = examined("mpcp", None, WANTED, root=folder, environment=VARIABLES)
    assert status_of_checks(checks) == 3
    assert status_of_checks([one for one in checks if one.result == "holds"]) == 0
    command = ["doctor", "--way", "mpcp", "--root", str(folder)]
    program = str(ROOT / "notebooks/perception.toml")
    assert main(command) in (1, 3)  # the variables are those of this process
    assert "holds             memory is locked" in capsys.readouterr().out
    given = [program, "--gpu", "AGX Orin", "--cpus", "6", "--cores", "2,3,4,5,6,7"]
    assert main([command[0], *given, *command[1:]]) == 1
    assert "isolated CPUs are 2, 3, 4, 6, expected 5, 7" in capsys.readouterr().out
    assert main([*command, "--json"]) in (1, 3)
    assert '"format": "gpusched doctor"' in capsys.readouterr().out


def test_the_command_recipe(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    program = [str(ROOT / "notebooks/perception.toml"), "--gpu", "AGX Orin", "--cpus", "6"]
    assert main(["recipe", *program, "--way", "mpcp", "--output", str(tmp_path / "deploy")]) == 0
    shown = capsys.readouterr().out
    assert "camera           4    17       25        8" in shown and "wrote 10 files" in shown
    assert gs.Recipe.load(tmp_path / "deploy").way == "mpcp"
    assert main(["recipe", *program, "--way", "mpcp", "--json"]) == 0
    assert '"format": "gpusched recipe"' in capsys.readouterr().out
    for arguments, message in (
        (["--way", "srm"], "srm: no stock Linux schedules global EDF"),
        (["--way", "fmlp_plus"], "expected a guarantee"),
        (["--way", "mpcp", "--cores", "a"], "--cores: got 'a', expected numbers such as 2,3,4"),
    ):
        assert main(["recipe", *program, *arguments]) == 2
        assert message in capsys.readouterr().err
    assert main(["recipe", *program, "--way", "fmlp_plus", "--anyway"]) == 3
    assert "NOTHING IS GUARANTEED" in capsys.readouterr().out
