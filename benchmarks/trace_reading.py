"""Reading of traces of the PyTorch profiler: speed and memory, beside json and msgspec.

Writes traces of several sizes by repeating the events of a training step, once as a profiler with
stacks records them (a tenth of the bytes are kernels) and once with launches and kernels alone, and
reads each in processes of its own: with ``gs.io.read_trace``, plain and packed; with the json
module; and, where it is installed, with msgspec, which decodes the needed fields of the events into
typed objects (``pip install msgspec``). The decoders stop at their objects: they make no columns,
do not select, and check no values. Each process reads a file several times; the fastest counts.
The memory is the growth of the process. The kept result, results/trace_reading.txt, was made with
the default sizes and 7 runs in seven minutes.

    python benchmarks/trace_reading.py [RUNS [MEGABYTES ...]]
"""

from __future__ import annotations

import gzip
import importlib.util
import itertools
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from machine import describe

STEP_US = 40  # between launches
SIZES = (3, 16, 56, 375)  # MB

READ = "len(gs.io.read_trace(path, gpu='A100'))"
LOAD = "len(json.load(open(path))['traceEvents'])"
TYPED = "len(decoder.decode(open(path, 'rb').read()).traceEvents)"
CHILD = """
import gc, json, sys, time
import gpusched as gs
gs.io.read_trace, gs.GPU.preset("A100")
{before}
path, runs = sys.argv[1], int(sys.argv[2])
def peak():
    return int(open("/proc/self/status").read().split("VmHWM:")[1].split()[0]) / 1000
wall, cpu, before = [], [], peak()
for _ in range(runs):
    gc.collect()
    wall.append(-time.perf_counter())
    cpu.append(-time.process_time())
    found = {code}
    cpu[-1] += time.process_time()
    wall[-1] += time.perf_counter()
print(min(wall), min(cpu), peak() - before, found)
"""
MSGSPEC = """
import msgspec
field, integer = msgspec.field, int | None
args = msgspec.defstruct("Args", [
    ("grid", list[int] | None, None), ("block", list[int] | None, None),
    ("device", integer, None), ("context", integer, None), ("stream", integer, None),
    ("correlation", integer, None), ("priority", integer, None),
    ("regs", integer, field(name="registers per thread", default=None)),
    ("smem", integer, field(name="shared memory", default=None)),
    ("occupancy", integer, field(name="est. achieved occupancy %", default=None)),
])
event = msgspec.defstruct("Event", [
    ("ph", str), ("cat", str, ""), ("name", str, ""), ("ts", float, 0), ("dur", float, 0),
    ("pid", int | str, 0), ("tid", int | str, 0), ("args", args | None, None),
])
decoder = msgspec.json.Decoder(msgspec.defstruct("Trace", [("traceEvents", list[event])]))
"""


def operator(number: int, name: str, ts: float, dur: float, shapes: int) -> dict[str, Any]:
    args = {
        "External id": number, "Record function id": 0, "Ev Idx": number,
        "Input Dims": [[64, 256, 56, 56]] * shapes, "Input type": ["float"] * shapes,
        "Input Strides": [[802816, 3136, 56, 1]] * shapes,
        "Concrete Inputs": [""] * shapes, "Sequence number": number,
    }  # fmt: skip
    return {"ph": "X", "cat": "cpu_op", "name": name, "pid": 4037, "tid": 4037, "ts": ts,
            "dur": dur, "args": args}  # fmt: skip


def launch(number: int, ts: float) -> Iterator[dict[str, Any]]:
    """A call, its kernel, and the arrow between them."""
    names = (
        "vectorized_elementwise_kernel<4, at::native::CUDAFunctor_add<float>",
        "reduce_kernel"
        "<512, 1, at::native::ReduceOp<float, at::native::MeanOps<float, float, float, float>",
    )
    name = f"void at::native::{names[number % 2]}, at::detail::Array<char*, 3> >(int, float)"
    yield {"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 4037, "tid": 4037,
           "ts": ts, "dur": 5.12,
           "args": {"External id": number, "cbid": 211, "correlation": number}}  # fmt: skip
    kernel = {
        "External id": number, "queued": 0, "device": 0, "context": 1, "stream": 7 + number % 2,
        "correlation": number, "registers per thread": 26, "shared memory": 0,
        "blocks per SM": 6.5555553, "warps per SM": 26.222221, "grid": [708, 1, 1],
        "block": [128, 1, 1], "est. achieved occupancy %": 41,
    }  # fmt: skip
    yield {"ph": "X", "cat": "kernel", "name": name, "pid": 0, "tid": 7, "ts": ts + 9.25,
           "dur": 20.736, "args": kernel}  # fmt: skip
    for phase, at in (("s", ts), ("f", ts + 9.25)):
        yield {"ph": phase, "id": number, "pid": 4037, "tid": 4037, "ts": at, "cat": "ac2g",
               "name": "ac2g", "bp": "e"}  # fmt: skip


def with_stacks(number: int, ts: float) -> Iterator[dict[str, Any]]:
    """Events of a launch as a profiler with stacks and shapes records them."""
    for i, where in enumerate(
        (
            "torch/nn/modules/module.py(1518): _wrapped_call_impl",
            "torch/nn/modules/conv.py(456): _conv_forward",
            "<built-in method conv2d of type object at 0x7f0a5c2b1e20>",
        )
    ):
        args = {"Python id": 3 * number + i, "Python parent id": 3 * number + i - 1, "Ev Idx": i}
        yield {"ph": "X", "cat": "python_function", "name": where, "pid": 4037, "tid": 4037,
               "ts": ts, "dur": 30.125, "args": args}  # fmt: skip
    for i, name in enumerate(("aten::conv2d", "aten::convolution", "aten::cudnn_convolution")):
        yield operator(4 * number + i, name, ts + i, 25.5 - i, 2 + i)
    if number % 500 == 0:
        yield {
            "ph": "X",
            "cat": "user_annotation",
            "name": f"ProfilerStep#{number // 500}",
            "pid": 4037,
            "tid": 4037,
            "ts": ts - 1,
            "dur": 499 * STEP_US,
            "args": {},
        }
    yield from launch(number, ts + 4.375)


def text_of(event: dict[str, Any]) -> str:
    """The event as Kineto writes it: times with three decimals."""
    times = {key: f"@{event[key]:.3f}@" for key in ("ts", "dur") if key in event}
    return json.dumps(event | times, indent=1).replace('"@', "").replace('@"', "")


def write(path: Path, megabytes: float, events: Any) -> int:
    """A trace of at least so many 10^6 bytes; its number of events."""
    count = number = 0
    with path.open("w", encoding="utf-8") as file:
        size = file.write('{"schemaVersion": 1, "deviceProperties": [], "traceEvents": [\n')
        while size < megabytes * 1e6:
            lines = [text_of(event) for i in range(number, number + 100)
                     for event in events(i, 1695835573023613.5 + STEP_US * i)]  # fmt: skip
            size += file.write(("," if number else "") + ",\n".join(lines))
            number, count = number + 100, count + len(lines)
        file.write('], "traceName": "trace.json"}')
    return count


def measured(code: str, path: Path, runs: int) -> tuple[float, float, float, int]:
    """Wall and CPU seconds of the fastest run, MB of memory, and the number that was found."""
    child = CHILD.format(code=code, before=MSGSPEC if code is TYPED else "")
    command = [sys.executable, "-c", child, str(path), str(runs)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    wall, cpu, memory, found = (float(word) for word in done.stdout.split())
    return wall, cpu, memory, int(found)


def main(runs: int = 7, *sizes: float) -> None:
    print(f"{describe()}, load {os.getloadavg()[0]:.1f}")
    print(f"{'trace':15}{'read by':17}{'MB':>5} {'events':>9} {'kept':>8} {'s':>7} {'CPU s':>7} "
          f"{'MB/CPU s':>8} {'CPU of read_trace':>18} {'memory MB':>9}")  # fmt: skip
    readers = [("read_trace", READ), ("read_trace, gzip", READ), ("json.load", LOAD)]
    if importlib.util.find_spec("msgspec"):
        readers.append(("msgspec, typed", TYPED))
    with tempfile.TemporaryDirectory() as folder:
        for megabytes, (name, events) in itertools.product(
            sizes or SIZES, (("with stacks", with_stacks), ("launches alone", launch))
        ):
            path = Path(folder) / "trace.json"
            count = write(path, megabytes, events)
            packed = path.with_suffix(".json.gz")
            with path.open("rb") as plain, gzip.open(packed, "wb", 6) as target:
                shutil.copyfileobj(plain, target)
            size, own = path.stat().st_size / 1e6, 0.0
            for what, code in readers:
                where = packed if "gzip" in what else path
                wall, cpu, memory, found = measured(code, where, runs)
                own = own or cpu
                print(f"{name if own == cpu else '':15}{what:17}{size:5.0f} {count:9} {found:8} "
                      f"{wall:7.4f} {cpu:7.4f} {size / cpu:8.0f} {cpu / own:18.2f} {memory:9.0f}",
                      flush=True)  # fmt: skip


if __name__ == "__main__":
    main(*map(int, sys.argv[1:2]), *map(float, sys.argv[2:]))
