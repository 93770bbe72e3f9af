"""Probes, partitions and gpu-check on stand-ins with known rules."""

from __future__ import annotations

import dataclasses
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
from gpusched.cli import main as command
from gpusched.cuda import CudaError, Device, Operation
from gpusched.cuda.check import partitions, supervise
from gpusched.cuda.probes import block_order, interference, queues
from gpusched.cuda.probes.bench import Bench, Finding, attempt, beside

pytestmark = pytest.mark.python


@pytest.fixture
def device(standin: Standin) -> Iterator[Device]:
    with Device() as opened:
        yield opened


@pytest.mark.long
def test_probe_of_a_gpu_that_follows_the_rules(standin: Standin, device: Device) -> None:
    lines: list[str] = []
    probed = gs.cuda.probe(device, quick=True, processes=[1], say=lines.append)
    assert probed.agrees, lines
    assert len(lines) == len(probed.findings) == 30
    assert probed.gpu == gs.cuda.gpu(0)
    assert probed.gpu.sm_order.tolist() == [*range(0, 16, 2), *range(1, 16, 2)]
    # 100 % more on the same SM, 60 % in its GPC, 10 % elsewhere; copies 50 % for blocks they meet.
    assert probed.interference is not None
    assert probed.interference[:3] == pytest.approx((2.0, 1.6, 1.1), abs=0.01)
    assert 1.2 < probed.interference[3] <= 1.51
    assert probed.finding("figure 9").data["other_sm"] == 0
    # The clocks of two stand-ins are not the same: nothing shows that the processes overlapped.
    assert probed.finding("figure 7").data["slowdown"] == {"copy_in 1": None, "memset 1": None}
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
        bench = Bench(device, quick=True)
        found = block_order.pairs(bench)
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
        assert queues.channels(Bench(device, quick=True)).data["at_once"] == channels


def test_an_occupancy_that_differs(standin: Standin) -> None:
    standin.set(occupancy=-1)
    with Device() as device:
        found = block_order.occupancy(Bench(device, quick=True))
    assert found.status == "fail" and "differ from the driver; first" in found.text


def test_shared_memory_parts_the_blocks(device: Device) -> None:
    """Half of the shared memory leaves less room than an empty SM has for 3 warps."""
    found = block_order.shared_memory(Bench(device, quick=False))
    assert found.status == "pass"
    same = device.gpu.replace(carveout_rule="ignore")
    sm = gs.place(same, [1, 1], [32, 96], 0, [100_000, 0]).sm
    assert (found.data["apart_from"] is not None) == (sm[0] != sm[1])


@pytest.mark.parametrize("rule", ["ignore", "match", "at_least"])
def test_the_rule_for_carveouts_is_told(standin: Standin, rule: str) -> None:
    standin.set(carveouts=["ignore", "match", "at_least"].index(rule))
    with Device() as device:
        found = block_order.carveouts(Bench(device, quick=True))
        assert found.status == "pass"
        assert found.data["rules"] == [rule]
        pairs = {tuple(row["smem"]): row for row in found.data["pairs"]}
        assert len(pairs) == 16 and all(row["largest"] for row in pairs.values())
        assert pairs[8192, 8192]["driver"]
        assert pairs[0, 8192]["driver"] == (rule == "ignore")
        assert pairs[98304, 0]["driver"] == (rule != "match")
        # Afterwards, kernels prefer the same carve-out again.
        assert block_order.shared_memory(Bench(device, quick=True)).status == "pass"


def test_no_rule_for_carveouts_agrees(standin: Standin) -> None:
    """Kernels that share no SM even with the same carve-out."""
    with Device() as device:
        device.gpu = device.gpu.replace(carveouts=[0, 233_472])
        found = block_order.carveouts(Bench(device, quick=True))
        assert (found.status, found.data["rules"]) == ("fail", [])
        standin.fail("cuFuncSetAttribute", 10, 1)
        found = attempt("carve-outs", lambda: block_order.carveouts(Bench(device, quick=True)))
        assert found.status == "fail" and "cuFuncSetAttribute" in found.text
        device.gpu = device.gpu.replace(carveout_rule="ignore", carveouts=())
        assert block_order.carveouts(Bench(device, quick=True)).status == "skip"
        with pytest.raises(ValueError, match="percent: got 101, expected 0 to 100 percent, or -1"):
            device.prefer_carveout(101)


def test_a_probe_that_raises_is_a_failure(standin: Standin, device: Device) -> None:
    standin.fail("cuLaunchKernel", 1, 1)
    found = attempt("timer", lambda: block_order.timer(Bench(device, quick=True)))
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
        with pytest.raises(ValueError, match=r"sms: got \[.*\], expected 1 to 16"):
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


def test_sizes_that_the_driver_cannot_make(standin: Standin, device: Device) -> None:
    """Unless asked for by the caller, they are left out."""
    standin.fail("cuDevSmResourceSplitByCount", 1, 915)
    assert gs.cuda.partition_times([Operation()], device, repeats=1).sms.tolist() == [16]
    standin.fail("cuDevSmResourceSplitByCount", 1, 915)
    with pytest.raises(CudaError, match="915"):
        gs.cuda.partition_times([Operation()], device, sms=[8], repeats=1)
    assert partitions(device, quick=True).status == "figure"
    standin.fail("cuGreenCtxCreate", 1, 801)
    assert partitions(device, quick=True).status == "skip"
    standin.fail("cuGreenCtxCreate", 1, 1)
    assert attempt("partitions", lambda: partitions(device, quick=True)).status == "fail"
    # 16 SMs cannot be split into a group of 9, which would be 16 and is all of them; 20 of 20 can.
    standin.set(sms=20)
    with Device() as other:
        with pytest.raises(CudaError, match=r"cuDevSmResourceSplitByCount: .*915"):
            other.run([Operation()], sms=18)
        assert other.run([Operation()], sms=20).sms == 20


# Robust probes


def test_a_process_that_was_held_up(device: Device, monkeypatch: pytest.MonkeyPatch) -> None:
    """Between two launches for a millisecond: the probe looks once more."""
    bench = Bench(device, quick=True)
    run, count = device.run, 0

    def held_up(ops: list[Operation]) -> Any:
        nonlocal count
        count += 1
        late = [dataclasses.replace(op, at=op.stream * 1_200_000) for op in ops]
        return run(late if count == 1 else ops)

    monkeypatch.setattr(device, "run", held_up)
    found = block_order.compare(bench, "x", "y", [[Operation(threads=32), Operation(threads=64)]])
    assert found.status == "pass" and count == 2


def test_noise_lasts_as_long_as_the_kernel(device: Device) -> None:
    bench = Bench(device, quick=True)
    for size in (1 << 12, 1 << 20, 8 << 20):
        noise = interference.noise_for(bench, "memset", size, 2_000_000)
        took = device.run(noise).elapsed[0]
        assert 2_000_000 <= took < 4_000_000 or len(noise) in (4, 800)


def test_figure_9_needs_two_blocks_on_one_sm(standin: Standin, device: Device) -> None:
    standin.set(policy=1)
    found = interference.neighbours(Bench(device, quick=True))
    assert found.status == "fail" and found.data == {}


@pytest.mark.long
def test_processes_that_do_not_start(standin: Standin, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GPUSCHED_STANDIN", "devices=0")
    module = interference.__name__
    call = "make_noise(0, 'memset', 50)"
    with pytest.raises(RuntimeError, match="did not start"), beside(2, module, call):
        pass
    monkeypatch.setattr("gpusched.cuda.probes.bench.LIMIT_S", 0.5)
    with (
        pytest.raises(RuntimeError, match="noise: got no answer of a"),
        beside(1, "time", "sleep(60)"),
    ):
        pass
    with pytest.raises(ValueError, match="processes: got 65, expected 1 to 64"):
        gs.cuda.probe(0, processes=[65])


# The command


def check(tmp_path: Path, *options: str) -> tuple[int, Any]:
    output = tmp_path / "report.json"
    code = command.main(
        ["gpu-check", "--quick", "--processes", "", "--output", str(output), *options]
    )
    return code, json.loads(output.read_text()) if output.exists() else None


@pytest.mark.long
def test_gpu_check(
    standin: Standin,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("GPUSCHED_STANDIN", "devices=2,memory=67108864")  # of its processes
    standin.set(devices=2)
    code, report = check(tmp_path, "--device", "1")
    printed = capsys.readouterr().out
    assert code == 0, printed
    assert report["stand_in"] is True and "are not those of a GPU" in printed
    assert (report["device"], report["quick"]) == ("Stand-in 1", True)
    findings = {found["probe"]: found for found in report["findings"]}
    assert {found["status"] for found in findings.values()} == {"pass", "figure", "skip", "unclear"}
    assert findings["figure 7"]["status"] == "skip"
    assert findings["all devices"]["text"] == "Stand-in 0, Stand-in 1"
    for name in ("fork", "fault", "new process", "out of memory", "oracle", "calibration"):
        assert findings[name]["status"] == "pass", findings[name]
    assert "lost to this process" in findings["fault"]["text"]
    for strategy in ("table", "reclaim", "policy"):
        data = findings[f"player {strategy} poll"]["data"]
        assert data["misses"] == 0 and 3000 < data["median_ns"] <= data["p99_ns"] < 20_000
    log = gs.io.read_examiner(tmp_path / "report")
    assert gs.io.check_rules(log, gs.cuda.gpu(1), tolerance=50_000) == []
    unclear = {name for name, found in findings.items() if found["status"] == "unclear"}
    assert unclear == {"channels", "time slices"}  # with a channel for each stream; two clocks
    assert "fail" not in [line.split()[0] for line in printed.splitlines()[2:-1]]


@pytest.mark.long
def test_gpu_check_that_fails(
    standin: Standin,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("GPUSCHED_STANDIN", "policy=1,memory=67108864")
    code, report = check(tmp_path)
    assert code == 1 and "fail    tables II and III" in capsys.readouterr().out
    assert any(found["status"] == "fail" for found in report["findings"])


@pytest.mark.long
def test_gpu_check_goes_on_after_the_device_is_lost(
    standin: Standin,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A launch that destroys the context, in each process anew: the other steps are all done."""
    monkeypatch.setenv("GPUSCHED_STANDIN", "memory=67108864,fail=cuLaunchKernel:900:719")
    code, report = check(tmp_path)
    findings = {found["probe"]: found for found in report["findings"]}
    failed = [found for found in findings.values() if found["status"] == "fail"]
    assert code == 1 and 1 <= len(failed) <= 4 and len(findings) == 48 and report["complete"]
    assert all("cuLaunchKernel: CUDA_ERROR_LAUNCH_FAILED (719)" in f["text"] for f in failed)
    assert report["sm_order"] == [*range(0, 16, 2), *range(1, 16, 2)]
    assert findings["player table context"]["status"] == "figure"
    assert "fail    " + failed[0]["probe"] in capsys.readouterr().out


def test_gpu_check_that_cannot_open_the_device(
    standin: Standin,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("GPUSCHED_STANDIN", "fail=cuModuleLoadData:1:222")
    assert check(tmp_path) == (2, None)
    assert "cuModuleLoadData: an unknown error (222)" in capsys.readouterr().err


STEPS = """
import json, os, sys, time
request = json.load(sys.stdin)
print(json.dumps({"steps": ["good", "bad", "last"]}), flush=True)
for name in ["good", "bad", "last"]:
    if name not in request["done"]:
        print(json.dumps({"begin": name}), flush=True)
        if name == "bad":
            BAD
        found = {"probe": name, "status": "pass", "text": str(request["sm_order"]), "data": {}}
        print(json.dumps({"finding": found, "sm_order": [1, 0]}), flush=True)
        if name == "good" and QUIT:
            break
"""


@pytest.mark.long
@pytest.mark.long
@pytest.mark.parametrize(
    ("bad", "told"),
    [
        ("time.sleep(60)", "did not end in 2 s"),
        ("os.abort()", "its process ended with code -6"),
        ("os._exit(3)", "its process ended with code 3"),
    ],
)
@pytest.mark.parametrize("quits", ["True", "False"])
def test_steps_of_a_process_that_ends(bad: str, told: str, quits: str) -> None:
    found: list[Finding] = []
    code = STEPS.replace("BAD", bad).replace("QUIT", quits)
    request: dict[str, Any] = {"sm_order": None}
    supervise([sys.executable, "-c", code], request, found.append, 2)
    assert [f.probe for f in found] == ["good", "bad", "last"]
    assert [f.status for f in found] == ["pass", "fail", "pass"]
    assert found[1].text == told and found[2].text == "[1, 0]"


def test_steps_of_a_process_that_cannot_begin() -> None:
    code = """
import json, sys
done = json.load(sys.stdin)["done"]
print(json.dumps({"error": "busy"} if done else {"steps": ["one", "two", "three"]}), flush=True)
if not done:
    found = {"probe": "one", "status": "pass", "text": "", "data": {}}
    print(json.dumps({"finding": found, "sm_order": None}), flush=True)
"""
    found: list[Finding] = []
    supervise([sys.executable, "-c", code], {}, found.append, 20)
    assert [(f.probe, f.status, f.text) for f in found] == [
        ("one", "pass", ""),
        ("two", "fail", "busy"),
        ("three", "fail", "busy"),
    ]
    with pytest.raises(CudaError, match="its process ended with code 1"):
        supervise([sys.executable, "-c", "raise SystemExit(1)"], {}, found.append, 20)


def test_gpu_check_without_a_device(
    standin: Standin, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert check(tmp_path, "--processes", "many") == (2, None)
    assert "expected numbers" in capsys.readouterr().err
    assert check(tmp_path, "--processes", "1,65") == (2, None)
    assert "--processes: got 1,65, expected 1 to 64" in capsys.readouterr().err
    assert check(tmp_path, "--device", "7") == (2, None)
    assert "device: got 7, expected a device of this machine" in capsys.readouterr().err
    standin.fail("cuDeviceGetName", 1, 999)
    assert check(tmp_path) == (2, None)
    assert "cuDeviceGetName" in capsys.readouterr().err


# The notebook


@pytest.mark.long
def test_the_notebook_where_there_is_a_device(standin: Standin) -> None:
    """CI runs it without a device; its other half runs here."""
    pytest.importorskip("matplotlib")
    path = Path(__file__).parents[2] / "notebooks" / "07_does_your_gpu_keep_to_the_plan.ipynb"
    cells = json.loads(path.read_text())["cells"]
    code = ("".join(c["source"]) for c in cells if c["cell_type"] == "code")
    lines = "\n".join(code).splitlines()
    text = "\n".join(line for line in lines if not line.startswith("%"))  # settings of IPython
    environment = os.environ | {"MPLBACKEND": "Agg"}
    done = subprocess.run(
        [sys.executable, "-c", text], capture_output=True, text=True, env=environment, timeout=120
    )
    assert done.returncode == 0, done.stderr
    assert "measured on Stand-in 0" in done.stdout
    assert "measured | misses: 0 of 225" in done.stdout
