"""Report of all probes, measurements and error checks on a device (``gpu-check``)."""

from __future__ import annotations

import json
import os
import platform
import queue
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import asdict, replace
from functools import cache, partial
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np

import gpusched.cuda as cuda
import gpusched.pbs as pbs
from gpusched import _core
from gpusched._support.files import replacing
from gpusched._version import __version__
from gpusched.cuda import driver
from gpusched.cuda.device import Device, Operation
from gpusched.cuda.player import STRATEGIES, WAITS, operations
from gpusched.cuda.probes.bench import Bench, Finding, attempt, quantiles
from gpusched.cuda.probes.block_order import with_order
from gpusched.cuda.probes.interference import interference_of
from gpusched.cuda.probes.probe_run import steps as probe_steps
from gpusched.model.batch_table import BatchTable
from gpusched.model.kernel_tasks import KernelTasks

US = 1000
NOT_SUPPORTED = 801
AIM_NS = 20_000
"""Target of the player's overhead per frame on a data-centre GPU."""


LIMIT_S = 180
"""Time limit of a step. On data-centre GPUs the longest step takes about a tenth of it."""


def check(
    index: int,
    output: str,
    *,
    quick: bool,
    processes: Sequence[int],
    say: Callable[[str], None],
) -> list[Finding]:
    """Run all checks; print a line and update the report after each.

    The steps run in a separate process. A step that hangs, crashes, or loses the device has failed,
    and the remaining steps run in a new process.

    Parameters
    ----------
    index
        Index of the device.
    output
        Path of the report (JSON); logs of blocks go to a folder of the same name without suffix.
    quick
        Whether to run fewer cases.
    processes
        Numbers of other processes that copy beside a kernel, in turn.
    say
        Function that is called with each line.

    Returns
    -------
    list of Finding
        One per step.
    """
    name, limits = driver.limits(index)
    version, _, _, _ = driver.driver().info()
    report: dict[str, Any] = {
        "gpusched": __version__,
        "device": name,
        "stand_in": driver.standing_in(),
        "limits": limits,
        "driver_cuda": driver.version_text(version),
        "toolkit": driver.version_text(_core.CUDA_TOOLKIT),
        "host": platform.platform(),
        "cpus": os.cpu_count(),
        "quick": quick,
        "complete": False,
        "sm_order": None,
        "interference": None,
        "findings": [],
    }
    say(f"{name}, {limits['sms']} SMs, driver for CUDA {report['driver_cuda']}")
    if report["stand_in"]:
        say("GPUSCHED_CUDA_DRIVER replaces the driver: the figures are not those of a GPU")
    folder = Path(output).with_suffix("")
    findings: list[Finding] = []

    def write() -> None:
        report["interference"] = interference_of(findings)
        report["findings"] = [asdict(found) for found in findings]
        with replacing(output, "w", encoding="utf-8") as file:
            json.dump(report, file, indent=1)

    def add(found: Finding) -> None:
        findings.append(found)
        say(found.line())
        write()

    request: dict[str, Any] = {
        "index": index,
        "quick": quick,
        "processes": list(processes),
        "folder": str(folder),
        "sm_order": None,
    }
    supervise([sys.executable, "-c", WORKER], request, add)
    report["sm_order"] = request["sm_order"]
    for title, code in (
        *(("all devices", ALL), ("fork", FORK), ("fault", FAULT)),
        ("new process", FRESH),
    ):
        add(in_a_process(title, code.format(index=index)))
    report["complete"] = True
    write()
    kinds = ("pass", "fail", "unclear", "figure")
    counts = [f"{sum(f.status == s for f in findings)} {s}" for s in kinds]
    say(f"{', '.join(counts)}; wrote {output} and logs in {folder}")
    return findings


WORKER = "from gpusched.cuda.check import work; work()"


def supervise(
    command: Sequence[str],
    request: dict[str, Any],
    add: Callable[[Finding], None],
    limit: float = LIMIT_S,
) -> None:
    """Run the steps (``work``) in a process, and the remaining ones in a new one when it ends.

    Raises
    ------
    CudaError
        The first process could not open the device.
    """
    names: list[str] | None = None
    done: list[str] = []
    while names is None or len(done) < len(names):
        step: str | None = None
        before, why = len(done), "the device could not be opened again"
        for message in _messages(command, request | {"done": done}, limit):
            if "steps" in message:
                names = message["steps"]
            elif "begin" in message:
                step = message["begin"]
            elif "finding" in message:
                step = None
                request["sm_order"] = message["sm_order"]
                add(Finding(**message["finding"]))
                done.append(message["finding"]["probe"])
            else:
                why = message["error"]
        if names is None:
            raise _core.CudaError(why, "", 0)
        if step is not None:
            add(Finding(step, "fail", why, {}))
            done.append(step)
        elif len(done) == before:
            for name in names:
                if name not in done:
                    add(Finding(name, "fail", why, {}))
            return


def _messages(
    command: Sequence[str], request: dict[str, Any], limit: float
) -> Iterator[dict[str, Any]]:
    """Messages of a process, one per line; at the end the error, if there was one."""
    lines: queue.SimpleQueue[str | None] = queue.SimpleQueue()
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdin is not None and process.stdout is not None
        stdout = process.stdout

        def read() -> None:
            for line in stdout:
                lines.put(line)
            lines.put(None)

        reader = threading.Thread(target=read, daemon=True)
        reader.start()
        try:
            with suppress(BrokenPipeError):
                process.stdin.write(json.dumps(request))
                process.stdin.close()
            while (line := lines.get(timeout=limit)) is not None:
                yield json.loads(line)
            if (code := process.wait(limit)) != 0:
                yield {"error": f"its process ended with code {code}"}
        except (queue.Empty, subprocess.TimeoutExpired):
            yield {"error": f"did not end in {limit} s"}
        finally:
            process.kill()
            reader.join()


def work() -> None:
    """Run the remaining steps of the request on the standard input.

    Findings are written to the standard output, one JSON object per line. The function returns
    when the device is lost.
    """

    def tell(**message: Any) -> None:
        print(json.dumps(message), flush=True)

    request = json.load(sys.stdin)
    try:
        device = Device(request["index"])
    except _core.CudaError as error:
        tell(error=str(error.args[0]))
        return
    with suppress(KeyboardInterrupt), device:
        bench = Bench(device, request["quick"])
        if request["sm_order"] is not None:
            bench.gpu = device.gpu = with_order(device.gpu, request["sm_order"])
        steps = all_steps(bench, request["processes"], Path(request["folder"]))
        tell(steps=[name for name, _ in steps])
        for name, ask in steps:
            if name in request["done"]:
                continue
            tell(begin=name)
            found = attempt(name, ask)
            device.gpu = bench.gpu
            tell(finding=asdict(found), sm_order=bench.gpu.sm_order.tolist())
            if found.status == "fail" and not _works(device):
                return


def _works(device: Device) -> bool:
    try:
        return len(device.run([Operation()])) == 1
    except _core.CudaError:
        return False


def all_steps(
    bench: Bench, processes: Sequence[int], folder: Path
) -> list[tuple[str, Callable[[], Finding]]]:
    """Probes, then measurements, with their names."""
    steps = probe_steps(bench, processes)
    steps.insert(
        1 + [name for name, _ in steps].index("queues"), ("logs", lambda: logs(bench, folder))
    )
    return steps + measurement_steps(bench)


PLAYERS = tuple(product(WAITS, STRATEGIES))
MEASUREMENTS = (
    "calibration",
    "oracle",
    *(f"player {strategy} {wait}" for wait, strategy in PLAYERS),
    "partitions",
    "out of memory",
)
"""Names of the measurements and of the check of errors that need no process of their own."""


def measurement_steps(bench: Bench) -> list[tuple[str, Callable[[], Finding]]]:
    """The measurements, in the order of ``MEASUREMENTS``, with their names."""
    device, quick = bench.device, bench.quick
    times = cache(lambda: schedulable(device, quick))

    def player(wait: str, strategy: str) -> Finding:
        return playing(device, times(), quick, strategy, wait)

    asked: list[Callable[[], Finding]] = [
        lambda: calibration(device),
        lambda: overlap(device, quick),
        *(partial(player, wait, strategy) for wait, strategy in PLAYERS),
        lambda: partitions(device, quick),
        lambda: out_of_memory(device),
    ]
    return list(zip(MEASUREMENTS, asked, strict=True))


def logs(bench: Bench, folder: Path) -> Finding:
    """Write the block log of the probe of queues."""
    from gpusched.io import write_examiner

    if bench.log is None:
        return Finding("logs", "skip", "no kernels were logged", {})
    folder.mkdir(parents=True, exist_ok=True)
    write_examiner(folder, bench.log, bench.gpu)
    return Finding("logs", "figure", f"of {len(bench.log)} kernels", {})


def calibration(device: Device) -> Finding:
    """Times of spin kernels with calibrated work, compared with the requested times."""
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
    """Four tasks; with ``heavy``, not all batches fit the device."""
    sms = device.gpu.sms
    threads = device.gpu.threads_per_sm // 2 if heavy else 256
    return KernelTasks(
        period=[1000 * US, 2000 * US, 2000 * US, 4000 * US],
        wcet=[50 * US, 100 * US, 150 * US, 200 * US],
        blocks=[max(1, sms // 4), max(1, sms // 2), sms, sms],
        threads=min(threads, 1024),
    )


def overlap(device: Device, quick: bool) -> Finding:
    """The oracle: batches that overlap on the device, compared with the placement rules."""
    tasks = small_set(device, heavy=True)
    measured = cuda.measure(tasks, device, repeats=3 if quick else 30)
    computed = BatchTable.from_gpu(tasks, device.gpu, slowdown=None)  # no shared memory
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


def schedulable(device: Device, quick: bool) -> tuple[KernelTasks, BatchTable]:
    """Schedulable tasks with measured times.

    A sample in which this process was delayed by milliseconds exceeds a period; the measurement is
    then repeated.
    """
    tasks = small_set(device, heavy=False)
    for _ in range(3):
        table = cuda.measure(tasks, device, repeats=10 if quick else 100).table()
        if pbs.search(tasks, table).schedulable:
            return tasks, table
    raise RuntimeError(
        "tasks: got times without a schedule in three measurements, expected a schedulable set"
    )


def playing(
    device: Device, times: tuple[KernelTasks, BatchTable], quick: bool, strategy: Any, wait: Any
) -> Finding:
    """The player: misses, and the overhead of a frame."""
    name = f"player {strategy} {wait}"
    tasks, table = times
    found = pbs.search(tasks, table, policy=strategy == "policy")
    assert found.schedule is not None
    plan = found.policy if strategy == "policy" else found.schedule
    assert plan is not None
    played = cuda.play(
        plan,
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
        f"{played.late_count} misses of {len(played.jobs())} jobs"
    )
    data = {
        "median_ns": median,
        "p99_ns": tail,
        "to_first_ns": float(np.median(overhead.to_first)),
        "from_last_ns": float(np.median(overhead.from_last)),
        "uncertainty_ns": overhead.uncertainty,
        "frames": len(overhead.each),
        "misses": played.late_count,
        "unsafe": played.unsafe,
        "lateness_ns": quantiles(played.lateness),
    }
    return Finding(name, "figure", text, data)


def partitions(device: Device, quick: bool) -> Finding:
    """Figure 3 of [RTCSA19]: a kernel with as many blocks as the device can host, on k SMs."""
    shape = Operation(blocks=4 * device.gpu.sms, threads=512, name="spin")
    op = replace(shape, iterations=device.iterations(replace(shape, blocks=1), 200 * US))
    most = device.gpu.sms
    asked = sorted({min(8, most), most}) if quick else None
    try:
        measured = cuda.partition_times([op], device, sms=asked)
    except ValueError as error:  # a driver without green contexts
        return Finding("partitions", "skip", str(error.args[0]), {})
    except cuda.CudaError as error:
        if error.args[2] != NOT_SUPPORTED:
            raise
        return Finding("partitions", "skip", str(error.args[0]), {})
    worst = measured.worst[0]
    text = ", ".join(f"{k}: {ns / 1e6:.2f}" for k, ns in zip(measured.sms, worst, strict=True))
    data = {"sms": measured.sms.tolist(), "worst_ns": worst.tolist()}
    return Finding("partitions", "figure", f"ms on k SMs: {text}", data)


def out_of_memory(device: Device) -> Finding:
    """Allocation of more memory than the device has: an error, after which the device works."""
    try:
        device.run([Operation(bytes=2 * device.limits["memory_bytes"])])
    except cuda.CudaError as error:
        told = str(error.args[0])
        works = len(device.run([Operation(ns=1000)])) == 1
        fine = works and error.args[2] == 2
        return Finding("out of memory", "pass" if fine else "fail", f"{told}; then it works", {})
    return Finding("out of memory", "fail", "twice the memory of the device was granted", {})


ALL = """
from gpusched.cuda import Device, Operation, devices
opened = [Device(index) for index in range(len(devices()))]
for device in opened:
    device.run([Operation(ns=1000)])
print(", ".join(device.name for device in opened))
"""
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
    sys.exit(error.args[1] != "")  # the device is lost: no call of the driver is named
sys.exit(1)
"""
FRESH = """
from gpusched.cuda import Device, Operation
print("works:", len(Device({index}).run([Operation()])), "run")
"""


def in_a_process(name: str, code: str) -> Finding:
    """Check in a separate process, which may crash."""
    try:
        done = subprocess.run(
            [sys.executable, "-c", code], capture_output=True, text=True, timeout=LIMIT_S
        )
    except subprocess.TimeoutExpired:
        return Finding(name, "fail", f"did not end in {LIMIT_S} s", {})
    lines = [line for line in (done.stdout + done.stderr).splitlines() if line.strip()]
    text = "; ".join(lines if done.returncode == 0 else lines[-1:])
    return Finding(name, "pass" if done.returncode == 0 else "fail", text, {})
