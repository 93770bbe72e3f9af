"""A trace of a perception program as the PyTorch profiler writes it.

The program is made up; its kernels have the shapes of a small network and of filters on an Orin.
Four threads work for 320 ms, in eight profiler steps of 40 ms: a camera and a tracker at 50 Hz, a
detector and a planner at 25 Hz. Each job is a ``record_function`` range that launches a chain of
copies and kernels into its own stream and waits for it. Together they need more than the GPU has
when kernels run one at a time, and less when those that fit run together.

Run as a program, this writes data/perception.pt.trace.json.gz anew; a test compares it with what is
written.
"""

from __future__ import annotations

import gzip
import json
import random
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

PATH = Path(__file__).parent / "data" / "perception.pt.trace.json.gz"

STEPS = 8
STEP = 40_000_000  # ns, as all times here
FIRST = 6_113_254_001_000  # times of later versions of the profiler count from a base
PROCESS = 4711

ORIN = {
    "id": 0, "name": "Orin", "totalGlobalMem": 32212254720, "computeMajor": 8, "computeMinor": 7,
    "maxThreadsPerBlock": 1024, "maxThreadsPerMultiprocessor": 1536, "regsPerBlock": 65536,
    "regsPerMultiprocessor": 65536, "warpSize": 32, "sharedMemPerBlock": 49152,
    "sharedMemPerMultiprocessor": 167936, "numSms": 16, "sharedMemPerBlockOptin": 166912,
}  # fmt: skip


@dataclass(frozen=True)
class Op:
    """A kernel, a copy ("HtoD", "DtoH") or a memset: what it takes alone, and its shape."""

    name: str
    time: int
    grid: tuple[int, int, int] = (0, 0, 0)
    block: tuple[int, int, int] = (0, 0, 0)
    regs: int = 0
    smem: int = 0
    bytes: int = 0

    @property
    def is_kernel(self) -> bool:
        return self.grid[0] > 0


@dataclass(frozen=True)
class Program:
    """A periodic part of the program, with a thread and a stream of its own."""

    name: str
    thread: int
    stream: int
    period: int
    offset: int
    before: int
    after: int
    ops: tuple[Op, ...]


@dataclass
class Recorder:
    """Events of the trace, and the state of threads, streams and counters."""

    events: list[dict[str, Any]] = field(default_factory=list)
    correlation: int = 1200
    external: int = 0
    random: random.Random = field(default_factory=lambda: random.Random(7))

    def event(self, cat: str, name: str, where: tuple[int, int], start: int, end: int,
              **args: Any) -> None:  # fmt: skip
        self.events.append({
            "ph": "X", "cat": cat, "name": name, "pid": where[0], "tid": where[1],
            "ts": (FIRST + start) / 1000, "dur": (end - start) / 1000,
            "args": args,
        })  # fmt: skip

    def call(self, name: str, thread: int, start: int, end: int) -> int:
        self.correlation += 1
        self.event("cuda_runtime", name, (PROCESS, thread), start, end,
                   **{"External id": self.external, "correlation": self.correlation})  # fmt: skip
        return self.correlation

    def on_gpu(self, op: Op, stream: int, start: int, end: int, correlation: int) -> None:
        args: dict[str, Any] = {
            "External id": self.external, "device": 0, "context": 1, "stream": stream,
            "correlation": correlation,
        }  # fmt: skip
        if op.is_kernel:
            args |= {"registers per thread": op.regs, "shared memory": op.smem,
                     "grid": list(op.grid), "block": list(op.block)}  # fmt: skip
            self.event("kernel", op.name, (0, stream), start, end, **args)
        else:
            cat = "gpu_memset" if op.name.startswith("Memset") else "gpu_memcpy"
            self.event(cat, op.name, (0, stream), start, end, **args, bytes=op.bytes)


def _conv(name: str, blocks: int, time: int) -> tuple[Op, Op]:
    """A convolution as a matrix product on tensor cores, and its activation."""
    gemm = f"void cutlass::Kernel<cutlass_80_tensorop_f16_s16816{name}_tn_align8>(Params)"
    relu = "void nn::(anonymous namespace)::clamp_kernel<4, nn::Relu<float> >(int, float*)"
    return (
        Op(gemm, time, (blocks // 2, 2, 1), (128, 1, 1), 128, 32_768),
        Op(relu, time // 9, (32, 1, 1), (128, 1, 1), 24),
    )


PROGRAMS = (
    Program("camera", 101, 13, 20_000_000, 400_000, 600_000, 120_000, (
        Op("Memcpy HtoD (Pinned -> Device)", 180_000, bytes=3_110_400),
        Op("void perception::debayer_kernel<unsigned char>(unsigned char const*, float*, int)",
           2_900_000, (8, 4, 1), (32, 8, 1), 32),
        Op("void perception::resize_normalize_kernel<float, 3>(float const*, float*, int, int)",
           2_200_000, (32, 1, 1), (256, 1, 1), 28, 4_096),
    )),
    Program("detector", 102, 7, 40_000_000, 2_000_000, 350_000, 500_000, (
        Op("Memset (Device)", 1_800, bytes=65_536),
        *_conv("fprop_128x64", 32, 1_450_000), *_conv("fprop_128x64", 32, 1_300_000),
        *_conv("fprop_64x64", 28, 1_150_000), *_conv("fprop_64x64", 28, 1_150_000),
        *_conv("fprop_64x64", 24, 1_050_000), *_conv("fprop_64x64", 24, 1_050_000),
        *_conv("fprop_64x32", 16, 900_000), *_conv("fprop_64x32", 16, 900_000),
        Op("void detection::decode_boxes_kernel<float>(float const*, float*, int)", 260_000,
           (16, 1, 1), (128, 1, 1), 40),
        Op("void detection::nms_kernel<float, 64>(int, float, float const*, long*)", 420_000,
           (24, 1, 1), (64, 1, 1), 32, 1_280),
        Op("Memcpy DtoH (Device -> Pinned)", 6_000, bytes=8_192),
    )),
    Program("tracker", 103, 14, 20_000_000, 1_200_000, 150_000, 200_000, (
        Op("Memcpy HtoD (Pinned -> Device)", 5_000, bytes=6_144),
        Op("void tracking::predict_kernel<6>(tracking::State*, int)", 900_000, (8, 1, 1),
           (96, 1, 1), 48),
        Op("void tracking::associate_kernel<float>(tracking::State*, float const*, int*, int)",
           2_600_000, (8, 1, 1), (128, 1, 1), 64, 8_192),
        Op("void tracking::kalman_update_kernel<6, 4>(tracking::State*, float const*, int)",
           1_100_000, (8, 1, 1), (96, 1, 1), 64, 2_048),
        Op("Memcpy DtoH (Device -> Pinned)", 4_000, bytes=6_144),
    )),
    Program("planner", 100, 15, 40_000_000, 20_500_000, 900_000, 1_100_000, (
        Op("Memcpy HtoD (Pinned -> Device)", 12_000, bytes=32_768),
        Op("void planning::rollout_kernel<32>(planning::Pose const*, planning::Pose*, int)",
           5_200_000, (16, 1, 1), (256, 1, 1), 64, 12_288),
        Op("void planning::collision_kernel(planning::Pose const*, float const*, float*, int)",
           3_900_000, (16, 1, 1), (256, 1, 1), 56, 8_192),
        Op("void planning::argmin_cost_kernel<256>(float const*, int*, int)", 700_000, (4, 1, 1),
           (256, 1, 1), 24, 2_048),
        Op("Memcpy DtoH (Device -> Pinned)", 3_000, bytes=1_024),
    )),
)  # fmt: skip

NEW_TRACK = Op("void tracking::new_track_kernel<6>(tracking::State*, float const*, int)", 310_000,
               (2, 1, 1), (96, 1, 1), 48)  # fmt: skip


def _job(recorder: Recorder, program: Program, number: int) -> None:
    """One job: CPU work, launches, a wait for the GPU, CPU work; with noise."""
    chance = recorder.random
    recorder.external += 1
    late = chance.choice([0, 0, 0, 0, 0, 0, 35_000, 80_000])  # of a timer; most are in time
    begin = program.offset + number * program.period + late
    now = begin + int(program.before * chance.uniform(0.9, 1.0))
    ops = list(program.ops)
    if program.name == "tracker" and number == 9:
        ops.insert(3, NEW_TRACK)
    free = first = 0
    for op in ops:
        copy = "Memcpy" in op.name
        name = "cudaMemcpyAsync" if copy else "cudaLaunchKernel" if op.is_kernel else (
            "cudaMemsetAsync"
        )  # fmt: skip
        returned = now + chance.randrange(3_500, 6_500)
        correlation = recorder.call(name, program.thread, now, returned)
        start = max(returned + chance.randrange(1_500, 4_000), free + chance.randrange(900, 1_600))
        if "nms" in op.name:
            boxes = chance.randrange(18, 25)
            op = Op(op.name, op.time * boxes // 24, (boxes, 1, 1), op.block, op.regs, op.smem)
        free = start + int(op.time * chance.uniform(0.985, 1.0))
        first = first or start
        recorder.on_gpu(op, program.stream, start, free, correlation)
        now = returned + chance.randrange(2_000, 9_000)
    woken = free + chance.randrange(6_000, 11_000)
    recorder.call("cudaStreamSynchronize", program.thread, now, woken)
    end = woken + int(program.after * chance.uniform(0.9, 1.0))
    numbers = {"External id": recorder.external}
    where = (PROCESS, program.thread)
    recorder.event("user_annotation", program.name, where, begin, end, **numbers)
    recorder.event(
        "gpu_user_annotation", program.name, (0, program.stream), first, free, **numbers,
        stream=program.stream,
    )  # fmt: skip


def document() -> dict[str, Any]:
    """The trace as JSON."""
    recorder = Recorder()
    for program in PROGRAMS:
        for number in range(STEPS * STEP // program.period):
            _job(recorder, program, number)
    for step in range(STEPS):
        begin = step * STEP
        name = f"ProfilerStep#{step + 3}"
        recorder.external += 1
        recorder.event("user_annotation", name, (PROCESS, 100), begin, begin + STEP,
                       **{"External id": recorder.external})  # fmt: skip
    recorder.events.sort(key=lambda event: (event["ts"], -event["dur"]))
    names = {100: "main", 101: "camera", 102: "detector", 103: "tracker"}
    threads = [
        {"ph": "M", "name": "thread_name", "pid": PROCESS, "tid": thread, "args": {"name": name}}
        for thread, name in names.items()
    ]
    return {
        "schemaVersion": 1, "deviceProperties": [ORIN], "displayTimeUnit": "ms",
        "traceEvents": [*threads, *recorder.events], "traceName": "perception.pt.trace.json",
    }  # fmt: skip


def text() -> str:
    """The trace as the text of its file, one event per line."""
    made = document()
    parts = ",\n".join(json.dumps(event) for event in made["traceEvents"])
    head = json.dumps({**made, "traceEvents": []})
    return head.replace('"traceEvents": []', f'"traceEvents": [\n{parts}\n]') + "\n"


if __name__ == "__main__":
    PATH.write_bytes(gzip.compress(text().encode(), mtime=0))
