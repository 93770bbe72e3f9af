"""Everything that only hardware can show, in one report."""

from __future__ import annotations

import json
import os
import platform
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import asdict, replace
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np

from gpusched import _core, _cuda_driver, cuda
from gpusched._cuda_device import Device, Operation
from gpusched._cuda_player import STRATEGIES, WAITS, operations
from gpusched._cuda_probe import Finding, attempt, probe
from gpusched._files import replacing
from gpusched._version import __version__
from gpusched.tasks import KernelTasks

US = 1000
AIM_NS = 20_000
"""The aim for the player's overhead per frame on a data-centre GPU."""


def check(
    index: int,
    output: str,
    *,
    quick: bool,
    processes: Sequence[int],
    say: Callable[[str], None],
) -> list[Finding]:
    """Runs all checks, says a line for each, and writes the report."""
    findings: list[Finding] = []

    def add(name: str, ask: Callable[[], Finding]) -> None:
        findings.append(attempt(name, ask))
        say(findings[-1].line())

    name, limits = _cuda_driver.limits(index)
    version, devices, _, _ = _core.cuda_driver_info(_cuda_driver.driver())
    report: dict[str, Any] = {
        "gpusched": __version__,
        "device": name,
        "stand_in": _cuda_driver.standing_in(),
        "limits": limits,
        "driver_cuda": _cuda_driver.version_text(version),
        "toolkit": _cuda_driver.version_text(_core.CUDA_TOOLKIT),
        "host": platform.platform(),
        "cpus": os.cpu_count(),
        "quick": quick,
    }
    say(f"{name}, {limits['sms']} SMs, driver for CUDA {report['driver_cuda']}")
    if report["stand_in"]:
        say("GPUSCHED_CUDA_DRIVER stands in for the driver: these are no figures of a GPU")
    folder = Path(output).with_suffix("")
    with Device(index) as device:
        probed = probe(device, quick=quick, say=say, processes=processes)
        findings += probed.findings
        device.gpu = probed.gpu
        report["sm_order"] = probed.gpu.sm_order.tolist()
        report["interference"] = probed.interference
        add("calibration", lambda: calibration(device))
        add("oracle", lambda: overlap(device, quick))
        for wait, strategy in product(WAITS, STRATEGIES):
            title = f"player {strategy} {wait}"
            add(title, lambda s=strategy, w=wait: playing(device, quick, s, w))  # type: ignore[misc]
        add("partitions", lambda: partitions(device, quick))
        add("out of memory", lambda: out_of_memory(device))
    add("all devices", lambda: all_devices(devices))
    for title, code in (("fork", FORK), ("fault", FAULT), ("new process", FRESH)):
        add(title, lambda t=title, c=code: in_a_process(t, c.format(index=index)))  # type: ignore[misc]
    report["findings"] = [asdict(found) for found in findings]
    if probed.log is not None:
        from gpusched.io import write_examiner

        folder.mkdir(parents=True, exist_ok=True)
        write_examiner(folder, probed.log, probed.gpu)
    with replacing(output, "w", encoding="utf-8") as file:
        json.dump(report, file, indent=1)
    counts = [f"{sum(f.status == s for f in findings)} {s}" for s in ("pass", "fail", "figure")]
    say(f"{', '.join(counts)}; wrote {output} and logs in {folder}")
    return findings


def calibration(device: Device) -> Finding:
    """Spin kernels by their work, against the times asked for."""
    errors = {}
    for ns in (50 * US, 1000 * US):
        for shape in (Operation(threads=256), Operation(blocks=2 * device.gpu.sms, threads=256)):
            op = replace(shape, iterations=device.iterations(shape, ns))
            run = device.run([op], repeats=20)
            took = np.median((run.block_end - run.block_start).max(axis=1))
            errors[f"{op.blocks} blocks, {ns // US} µs"] = float(took / ns - 1)
    worst = max(errors.values(), key=abs)
    text = f"work of a given time takes it within {abs(worst):.1%} (median, when alone)"
    status = "pass" if abs(worst) <= 0.05 else "fail"
    return Finding("calibration", status, text, {"errors": errors})


def small_set(device: Device, heavy: bool) -> KernelTasks:
    """Four tasks; heavy ones do not all fit the device together."""
    sms = device.gpu.sms
    threads = device.gpu.threads_per_sm // 2 if heavy else 256
    return KernelTasks(
        period=[1000 * US, 2000 * US, 2000 * US, 4000 * US],
        wcet=[50 * US, 100 * US, 150 * US, 200 * US],
        blocks=[max(1, sms // 4), max(1, sms // 2), sms, sms],
        threads=min(threads, 1024),
    )


def overlap(device: Device, quick: bool) -> Finding:
    """The oracle: does what overlaps on the device agree with what is computed to fit?"""
    from gpusched.table import BatchTable

    tasks = small_set(device, heavy=True)
    measured = cuda.measure(tasks, device, repeats=3 if quick else 30)
    computed = BatchTable.from_gpu(tasks, device.gpu, slowdown=None)
    fits = computed.completion > 0
    differ = np.flatnonzero(measured.eligible != fits).tolist()
    text = f"{int(measured.eligible.sum())} of {len(fits) - 1} batches overlap fully"
    text += f"; computed otherwise for {differ}" if differ else ", as computed"
    data = {
        "differ": differ,
        "worst_ns": measured.samples.max(axis=1).tolist(),
        "median_ns": np.median(measured.samples, axis=1).tolist(),
    }
    return Finding("oracle", "fail" if differ else "pass", text, data)


def playing(device: Device, quick: bool, strategy: Any, wait: Any) -> Finding:
    """The player: misses, and the overhead of a frame."""
    from gpusched import pbs

    name = f"player {strategy} {wait}"
    tasks = small_set(device, heavy=False)
    measured = cuda.measure(tasks, device, repeats=10 if quick else 100)
    found = pbs.search(tasks, measured.table(), policy=strategy == "policy")
    if found.schedule is None:
        return Finding(name, "fail", "no schedule for the measured times", {})
    played = cuda.play(
        found.policy if strategy == "policy" else found.schedule,
        device,
        strategy=strategy,
        kernels=operations(device, tasks),
        wait=wait,
        cycles=5 if quick else 300,
    )
    overhead = played.overhead()
    median, tail = overhead.quantile(0.5), overhead.quantile(0.99)
    text = (
        f"overhead per frame {median / US:.1f} µs median, {tail / US:.1f} µs at the 99th "
        f"percentile ({'within' if median <= AIM_NS else 'beyond'} the aim of {AIM_NS // US} µs), "
        f"{played.misses} misses of {len(played.jobs())} jobs"
    )
    data = {
        "median_ns": median,
        "p99_ns": tail,
        "to_first_ns": float(np.median(overhead.to_first)),
        "from_last_ns": float(np.median(overhead.from_last)),
        "uncertainty_ns": overhead.uncertainty,
        "frames": len(overhead.each),
        "misses": played.misses,
        "unsafe": played.unsafe,
        "worst_lateness_ns": int(played.lateness.max(initial=0)),
    }
    return Finding(name, "figure", text, data)


def partitions(device: Device, quick: bool) -> Finding:
    """Figure 3 of paper 002: a kernel of as many blocks as the device holds, on k SMs."""
    shape = Operation(blocks=4 * device.gpu.sms, threads=512, name="spin")
    op = replace(shape, iterations=device.iterations(replace(shape, blocks=1), 200 * US))
    most = device.gpu.sms
    asked = sorted({min(8, most), most}) if quick else None
    try:
        measured = cuda.partition_times([op], device, sms=asked)
    except (ValueError, cuda.CudaError) as error:
        return Finding("partitions", "skip", str(error.args[0]), {})
    worst = measured.worst[0]
    text = ", ".join(f"{k}: {ns / 1e6:.2f}" for k, ns in zip(measured.sms, worst, strict=True))
    data = {"sms": measured.sms.tolist(), "worst_ns": worst.tolist()}
    return Finding("partitions", "figure", f"ms on k SMs: {text}", data)


def out_of_memory(device: Device) -> Finding:
    """More memory than there is: a clear error, and the device goes on."""
    try:
        device.run([Operation(bytes=2 * device.limits["memory_bytes"])])
    except cuda.CudaError as error:
        told = str(error.args[0])
        works = len(device.run([Operation(ns=1000)])) == 1
        fine = works and error.args[2] == 2
        return Finding("out of memory", "pass" if fine else "fail", f"{told}; then it works", {})
    return Finding("out of memory", "fail", "twice the memory of the device was granted", {})


def all_devices(count: int) -> Finding:
    """A kernel on every device, all open at once."""
    opened: list[Device] = []
    try:
        for index in range(count):
            opened.append(Device(index))
        ran = [len(device.run([Operation(ns=1000)])) for device in opened]
    finally:
        for device in opened:
            device.close()
    names = ", ".join(device.name for device in opened)
    return Finding("all devices", "pass" if ran == [1] * count else "fail", names, {"count": count})


FORK = """
import os, sys, warnings
warnings.simplefilter("ignore")
from gpusched.cuda import CudaError, Device, Operation
device = Device({index})
device.run([Operation()])
child = os.fork()
if child == 0:
    try:
        device.run([Operation()])
    except CudaError as error:
        print(error.args[0], flush=True)
        os._exit(0)
    os._exit(1)
refused = os.waitpid(child, 0)[1] == 0
sys.exit(not (refused and len(device.run([Operation()])) == 1))
"""
FAULT = """
import sys
from gpusched.cuda import CudaError, Device, Operation
device = Device({index})
try:
    device.fault()
except CudaError as error:
    print(error.args[0])
try:
    device.run([Operation()])
except CudaError as error:
    print(error.args[0])
    sys.exit("lost to this process" not in error.args[0])
sys.exit(1)
"""
FRESH = """
from gpusched.cuda import Device, Operation
print("works:", len(Device({index}).run([Operation()])), "run")
"""


def in_a_process(name: str, code: str) -> Finding:
    """A check in a process of its own, which may be lost to it."""
    try:
        done = subprocess.run(
            [sys.executable, "-c", code], capture_output=True, text=True, timeout=300
        )
    except subprocess.TimeoutExpired:
        return Finding(name, "fail", "did not end in 300 s", {})
    lines = [line for line in (done.stdout + done.stderr).splitlines() if line.strip()]
    text = "; ".join(lines if done.returncode == 0 else lines[-1:])
    return Finding(name, "pass" if done.returncode == 0 else "fail", text, {})
