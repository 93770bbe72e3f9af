"""Steps of the run on a GPU: the system, probes, measurements, programs."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any

import gpusched as gs
from benchmarks.gpu import programs
from benchmarks.gpu.raw import Recorder
from gpusched._support.files import replacing
from gpusched.cuda import Device, Operation
from gpusched.cuda.check import MEASUREMENTS, measurement_steps
from gpusched.cuda.probes.bench import Bench, Finding, attempt
from gpusched.cuda.probes.block_order import with_order
from gpusched.cuda.probes.interference import other_processes
from gpusched.cuda.probes.probe_run import PROBES


@dataclass(frozen=True)
class Step:
    """A step: its name, the part of the run to which it belongs, its time limit, and what it does.

    ``act`` takes the folder of the results and returns what JSON can hold.
    """

    name: str
    part: int
    limit_s: float
    act: Callable[[Path], Any]


def result_file(work: Path, name: str) -> Path:
    """File of the result of a step."""
    return work / f"{re.sub(r'[^A-Za-z0-9]+', '_', name)}.json"


def show() -> int:
    for step in STEPS:
        print(f"{step.name:24} part {step.part}, at most {step.limit_s:.0f} s")
    return 0


def perform(name: str, work: Path) -> int:
    """Run a step in this process, which ends with the one that started it."""

    def end() -> None:
        while os.read(0, 1):
            pass
        os._exit(1)

    threading.Thread(target=end, daemon=True).start()
    (step,) = (step for step in STEPS if step.name == name)
    path = result_file(work, name)
    recorder = Recorder(work, path.stem)
    try:
        result = step.act(work)
    finally:
        recorder.write()
    with replacing(path, "w", encoding="utf-8") as file:
        json.dump(result, file, indent=1, default=_plain)
    print(result.get("line") or json.dumps(result, default=_plain)[:300])
    return 0


def _plain(value: Any) -> Any:
    return value.tolist() if hasattr(value, "tolist") else str(value)


# The system ---------------------------------------------------------------------------------------

COMMANDS = {
    "nvidia-smi": "nvidia-smi -q",
    "system": "uname -a; cat /proc/driver/nvidia/version; lscpu; nproc; ulimit -a; free -m",
    "variables": "env | grep -i -E 'cuda|nvidia|ld_library'",
    "mps": "command -v nvidia-cuda-mps-control nvidia-cuda-mps-server; ls /usr/local/nvidia/bin",
    "clocks": "cat /sys/devices/system/clocksource/clocksource0/*",
    "python": f"{sys.executable} -c 'import sys, numpy; print(sys.version, numpy.__version__)'",
    "torch": f"{sys.executable} -c 'import torch; print(torch.__version__, torch.version.cuda)'",
}


def system(work: Path) -> Any:
    """Facts about the machine, as its commands tell them."""
    answers = {}
    for name, command in COMMANDS.items():
        try:
            done = subprocess.run(command, shell=True, capture_output=True, text=True, timeout=30)
            answers[name] = done.stdout
        except subprocess.TimeoutExpired:
            answers[name] = "no answer in 30 s"
    return answers


def smoke(work: Path) -> Any:
    """The first kernel: whether it runs, and how long each part takes."""
    begin = time.monotonic()
    reason = gs.cuda.why_not()
    if reason is not None:
        raise RuntimeError(reason)
    with Device() as device:
        opened = time.monotonic()
        run = device.run([Operation(blocks=device.gpu.sms, ns=20_000)], repeats=50)
        facts = {
            "version": gs.__version__,
            "name": device.name,
            "limits": device.limits,
            "gpu": repr(device.gpu),
            "regs": device.regs,
            "priorities": device.priorities,
            "open_s": opened - begin,
            "offset_ns": device.offset(),
            "sms": run.sm(0),
        }
    facts["line"] = f"{facts['name']}, opened in {facts['open_s']:.2f} s"
    return facts


# Probes and measurements --------------------------------------------------------------------------


def _bench(device: Device, work: Path) -> Bench:
    """A bench with the order of SMs and the GPCs that earlier steps found."""
    bench = Bench(device, quick="GPUSCHED_GPU_QUICK" in os.environ)
    known = {}
    for name in ("sm order", "GPCs"):
        path = result_file(work, name)
        known[name] = json.loads(path.read_text())["finding"]["data"] if path.exists() else {}
    if sorted(order := known["sm order"].get("order", [])) == list(range(device.gpu.sms)):
        bench.gpu = device.gpu = with_order(device.gpu, order)
    bench.gpcs = known["GPCs"].get("rule")
    return bench


def _asked(ask: Callable[[Bench], Finding], name: str, warm: bool, work: Path) -> Any:
    with Device() as device:
        bench = _bench(device, work)
        if warm:
            bench.warm()
        begin = time.monotonic()
        found = attempt(name, partial(ask, bench))
        seconds = time.monotonic() - begin
    return {"line": found.line(), "seconds": seconds, "finding": asdict(found)}


def _measured(name: str, bench: Bench) -> Finding:
    return dict(measurement_steps(bench))[name]()


OF_CLIENTS = ("MPS shares", "client queues")
"""Probes of clients of an MPS server."""


def _of_clients(work: Path) -> Any:
    return {name: _asked(PROBES[name], name, False, work) for name in OF_CLIENTS}


CHANNELS = (1, 2, 4, 8, 16, 32)


def channel_numbers(work: Path) -> Any:
    """The probe of channels with every number of them, each in a process of its own."""
    code = (
        "import json; from dataclasses import asdict; from gpusched.cuda import Device; "
        "from gpusched.cuda.probes.bench import Bench; "
        "from gpusched.cuda.probes.queues import channels; "
        "print(json.dumps(asdict(channels(Bench(Device(0, channels={}), quick=False)))))"
    )
    found = {}
    for count in CHANNELS:
        command = [sys.executable, "-c", code.format(count)]
        done = subprocess.run(command, capture_output=True, text=True, timeout=60)
        found[str(count)] = json.loads(done.stdout) if done.returncode == 0 else done.stderr[-500:]
    told = {k: v["data"]["at_once"] for k, v in found.items() if isinstance(v, dict)}
    return {"line": f"streams at once, by channels: {told}", "found": found}


FIRST = ("timer", "warm-up", "sm order", "channels", "resident grids", "GPCs", "first GPC")
FIRST += ("green contexts", "copy directions", "carve-outs", "preemption", "programmatic launch")
"""Probes of the first part."""
OTHERS = (1, 2, 4)
"""Numbers of other processes in Figure 7."""

STEPS = (
    Step("system", 1, 60, system),
    Step("smoke", 1, 60, smoke),
    *(
        Step(name, 1 if name in FIRST else 2, 60, partial(_asked, ask, name, name != "warm-up"))
        for name, ask in PROBES.items()
        if name not in OF_CLIENTS
    ),
    Step("channel numbers", 2, 60, channel_numbers),
    Step(
        "figure 7",
        2,
        120,
        partial(_asked, lambda bench: other_processes(bench, OTHERS), "figure 7", True),
    ),
    *(
        Step(name, 2, 40, partial(_asked, partial(_measured, name), name, True))
        for name in MEASUREMENTS
    ),
    Step("ways", 2, 90, programs.ways),
    Step("processes", 2, 40, programs.processes),
    Step("graphs", 2, 60, programs.graphs),
    Step("MPS", 2, 90, partial(programs.mps, _of_clients)),
)
"""All steps in the order in which they run; those of probes see what earlier ones found."""
