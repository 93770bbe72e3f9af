"""Probes, partitions and gpu-check on stand-ins with known rules."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from standin import Standin

import gpusched as gs
from gpusched import __main__ as command
from gpusched._cuda_probe import Finding, _Prober, attempt
from gpusched.cuda import CudaError, Device, Operation


@pytest.fixture
def device(standin: Standin) -> Iterator[Device]:
    with Device() as opened:
        yield opened


def test_probe_of_a_gpu_that_follows_the_rules(standin: Standin, device: Device) -> None:
    lines: list[str] = []
    probed = gs.cuda.probe(device, quick=True, processes=[1], say=lines.append)
    assert probed.agrees, lines
    assert len(lines) == len(probed.findings) == 15
    assert probed.gpu == gs.GPU.from_cuda(0)
    assert probed.gpu.sm_order.tolist() == [*range(0, 16, 2), *range(1, 16, 2)]
    # 100 % more on the same SM, 60 % beside it, 10 % elsewhere; copies 50 % for blocks they meet.
    assert probed.interference is not None
    assert probed.interference[:3] == pytest.approx((2.0, 1.6, 1.1), abs=0.01)
    assert 1.2 < probed.interference[3] <= 1.51
    assert probed.finding("figure 9").data["other_sm"] == 0
    assert set(probed.finding("figure 7").data["slowdown"]) == {"copy_in", "memset"}
    rules = probed.finding("III.2 or most room").data
    assert rules["agree"]["most_room"] == rules["cases"] > rules["agree"]["round_robin"]
    assert probed.finding("timer").data["step_ns"] == 32
    with pytest.raises(KeyError):
        probed.finding("none")


def test_the_interference_is_what_the_simulator_takes(device: Device) -> None:
    probed = gs.cuda.probe(device, quick=True)
    launches = gs.Launches(
        time=[0, 0], duration=100, stream=[0, 1], interference=probed.interference
    )
    assert launches.interference is not None


@pytest.mark.parametrize("sms", [1, 2, 5])
def test_small_gpus(standin: Standin, sms: int) -> None:
    standin.set(sms=sms, order=1)
    with Device() as device:
        probed = gs.cuda.probe(device, quick=True)
        assert probed.agrees, [f.line() for f in probed.findings if f.status == "fail"]
        assert probed.gpu.sm_order.tolist() == list(range(sms))


def test_another_policy_is_told_exactly(standin: Standin) -> None:
    standin.set(policy=1)
    with Device() as device:
        prober = _Prober(device, quick=True)
        found = prober.pairs()
    assert found.status == "fail"
    assert found.data["agree"]["most_room"] < found.data["cases"]
    first = found.data["disagreements"][0]
    shapes = first["kernels"]
    told = gs.place(device.gpu, [s[0] for s in shapes], [s[1] for s in shapes]).sm.tolist()
    assert first["most_room"] == told and first["sm"] != told
    assert "most_room says" in found.text


@pytest.mark.parametrize("channels", [1, 2, 4])
def test_channels(standin: Standin, channels: int) -> None:
    standin.set(channels=channels)
    with Device() as device:
        assert _Prober(device, quick=True).channels().data["at_once"] == channels


def test_an_occupancy_that_differs(standin: Standin) -> None:
    standin.set(occupancy=-1)
    with Device() as device:
        found = _Prober(device, quick=True).occupancy()
    assert found.status == "fail" and "differ from the driver; first" in found.text


def test_shared_memory_parts_the_blocks(device: Device) -> None:
    """Half of the shared memory leaves less room than an empty SM has for 3 warps."""
    found = _Prober(device, quick=False).shared_memory()
    assert found.status == "pass"
    sm = gs.place(device.gpu, [1, 1], [32, 96], 0, [100_000, 0]).sm
    assert (found.data["apart_from"] is not None) == (sm[0] != sm[1])


def test_a_probe_that_raises_is_a_failure(standin: Standin, device: Device) -> None:
    standin.fail("cuLaunchKernel", 1, 1)
    found = attempt("timer", _Prober(device, quick=True).timer)
    assert found.status == "fail" and "cuLaunchKernel: CUDA_ERROR_INVALID_VALUE" in found.text

    def stop() -> Finding:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        attempt("stopped", stop)


# Partitions


def test_partition_times(device: Device) -> None:
    ops = [Operation(blocks=64, threads=1024, ns=100_000, name="wide"), Operation(ns=50_000)]
    measured = gs.cuda.partition_times(ops, device, repeats=3)
    assert measured.sms.tolist() == [8, 16]
    assert measured.samples.shape == (2, 2, 3)
    waves = measured.worst[0] // 100_000
    assert waves.tolist() == [4, 2]
    assert measured.worst[1].max() < 70_000
    times = measured.times(16)
    assert (times[:, :7] == -1).all() and times.shape == (2, 16)
    assert times[0, 7] == times[0, 14] == measured.worst[0, 0]
    assert times[0, 15] == measured.worst[0, 1]
    assert (np.diff(times[:, 7:], axis=1) <= 0).all()
    assert measured.name == ("wide", "kernel 1") and len(measured.to_frame()) == 4


def test_partition_times_of_tasks(device: Device) -> None:
    tasks = gs.KernelTasks(period=[10**6], wcet=[50_000], blocks=[4], threads=[128])
    assert gs.cuda.partition_times(tasks, device, sms=[3, 5], repeats=2).sms.tolist() == [8]
    for wrong in ([0], [17], []):
        with pytest.raises(ValueError, match="must be 1 to 16"):
            gs.cuda.partition_times(tasks, device, sms=wrong)


@pytest.mark.parametrize(
    "function",
    [
        *("cuDeviceGetDevResource", "cuDevSmResourceSplitByCount", "cuDevResourceGenerateDesc"),
        *("cuGreenCtxCreate", "cuGreenCtxStreamCreate", "cuGreenCtxDestroy"),
    ],
)
def test_errors_of_partitions(standin: Standin, device: Device, function: str) -> None:
    before = standin.live
    standin.fail(function, 1, 801)
    with pytest.raises(CudaError, match=rf"{function}: .*801"):
        device.run([Operation()], sms=8)
    assert standin.live == before


# The command


def check(tmp_path: Path, *options: str) -> tuple[int, Any]:
    output = tmp_path / "report.json"
    code = command.main(
        ["gpu-check", "--quick", "--processes", "", "--output", str(output), *options]
    )
    return code, json.loads(output.read_text()) if output.exists() else None


def test_gpu_check(
    standin: Standin,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("GPUSCHED_STANDIN", "devices=2")  # of the processes that it starts
    standin.set(devices=2, memory=1 << 26)
    code, report = check(tmp_path, "--device", "1")
    printed = capsys.readouterr().out
    assert code == 0, printed
    assert report["stand_in"] is True and "no figures of a GPU" in printed
    assert (report["device"], report["quick"]) == ("Stand-in 1", True)
    findings = {found["probe"]: found for found in report["findings"]}
    assert {found["status"] for found in findings.values()} == {"pass", "figure", "skip"}
    assert findings["figure 7"]["status"] == "skip"
    assert findings["all devices"]["text"] == "Stand-in 0, Stand-in 1"
    for name in ("fork", "fault", "new process", "out of memory", "oracle", "calibration"):
        assert findings[name]["status"] == "pass", findings[name]
    assert "lost to this process" in findings["fault"]["text"]
    for strategy in ("table", "reclaim", "policy"):
        data = findings[f"player {strategy} poll"]["data"]
        assert data["misses"] == 0 and 3000 < data["median_ns"] <= data["p99_ns"] < 20_000
    log = gs.io.read_examiner(tmp_path / "report")
    assert gs.io.check_rules(log, gs.GPU.from_cuda(1), tolerance=50_000) == []
    assert all(line.startswith(("pass", "figure", "skip")) for line in printed.splitlines()[2:-1])


def test_gpu_check_that_fails(
    standin: Standin, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    standin.set(policy=1, memory=1 << 26)
    code, report = check(tmp_path)
    assert code == 1 and "fail   tables II and III" in capsys.readouterr().out
    assert any(found["status"] == "fail" for found in report["findings"])


def test_gpu_check_without_a_device(
    standin: Standin, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert check(tmp_path, "--processes", "many") == (2, None)
    assert "are no numbers" in capsys.readouterr().err
    assert check(tmp_path, "--device", "7") == (2, None)
    assert "device = 7: there is no such device" in capsys.readouterr().err
    standin.fail("cuDeviceGetName", 1, 999)
    assert check(tmp_path) == (2, None)
    assert "cuDeviceGetName" in capsys.readouterr().err


# The notebook


def test_the_notebook_where_there_is_a_device(standin: Standin) -> None:
    """CI runs it without a device; its other half runs here."""
    pytest.importorskip("matplotlib")
    path = Path(__file__).parent.parent / "notebooks" / "07_does_your_gpu_keep_to_the_plan.ipynb"
    cells = json.loads(path.read_text())["cells"]
    text = "\n".join("".join(c["source"]) for c in cells if c["cell_type"] == "code")
    environment = os.environ | {"MPLBACKEND": "Agg"}
    done = subprocess.run(
        [sys.executable, "-c", text], capture_output=True, text=True, env=environment, timeout=120
    )
    assert done.returncode == 0, done.stderr
    assert "measured on Stand-in 0" in done.stdout
    assert "measured | misses: 0 of 225" in done.stdout
