"""A program of three tasks under several ways of sharing the GPU, measured and predicted."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

import gpusched as gs
from gpusched.cuda import Device, Operation, Run, Stream
from gpusched.cuda.driver import launch_offsets, standing_in
from gpusched.cuda.probes.bench import MS, quantiles

US = 1000


@dataclass(frozen=True)
class Job:
    """A task of the program: times in ns; ``waves`` of blocks fill the GPU one after the other."""

    name: str
    period: int
    deadline: int
    blocks: int
    threads: int
    block_ns: int
    waves: int


PROGRAM = (
    Job("camera", 5 * MS, 4 * MS, 66, 256, 600 * US, 1),
    Job("detector", 20 * MS, 20 * MS, 264, 512, 5 * MS, 1),
    Job("map", 40 * MS, 40 * MS, 1056, 1024, 1500 * US, 4),
)
"""For a GPU of 132 SMs: the map fills it four times, so that the others wait for its blocks."""
UNTIL_NS = 80 * MS if standing_in() else 3000 * MS


def released(
    device: Device,
    jobs: Sequence[Job],
    timed: bool,
    stream_of: Callable[[int], int],
    priority_of: Callable[[int], int],
) -> tuple[list[Operation], list[Stream], list[int]]:
    """The jobs as operations with release times, their streams, and the task of each.

    ``timed``: blocks last for a time, whatever runs beside them; otherwise they have work.
    """
    rows = []
    for i, job in enumerate(jobs):
        op = Operation(stream=stream_of(i), blocks=job.blocks, threads=job.threads, name=job.name)
        steps = 0 if timed else device.iterations(op, job.block_ns)
        op = replace(op, ns=job.block_ns if timed else 0, iterations=steps)
        count = UNTIL_NS // job.period
        rows += [(k * job.period, i, replace(op, at=max(1, k * job.period))) for k in range(count)]
    rows.sort(key=lambda row: row[:2])
    ops = [op for _, _, op in rows]
    streams = [Stream(priority_of(s)) for s in range(1 + max(op.stream for op in ops))]
    return ops, streams, [i for _, i, _ in rows]


def responses(run: Run, tasks: Sequence[int], jobs: Sequence[Job]) -> dict[str, Any]:
    """Responses from release to the end of the last block, by task, in µs, and late jobs.

    Device times are mapped to the host's clock by a line; they are too early by the least launch
    latency at most.
    """
    offset, bounds = launch_offsets(run.called[0], run.first[0], run.last[0], int(run.end[0]))
    release = run.begin[0] + np.array([op.at for op in run.operations])
    answer = run.last[0] + offset - release
    task = np.array(tasks)
    found: dict[str, Any] = {}
    for i, job in enumerate(jobs):
        mine = answer[task == i]
        found[job.name] = {"us": quantiles(mine, US), "late": int((mine > job.deadline).sum())}
    found["launched_after_release_us"] = quantiles(run.called[0] - release, US)
    found["offset_bounds_ns"] = bounds
    return found


def ways(work: Path) -> Any:
    """The program in one stream, in streams and with priorities; predictions; PBS, played."""
    found: dict[str, Any] = {}
    with Device() as device:
        greatest, _ = device.priorities
        for timed in (True, False):
            kind = "timed" if timed else "work"
            for name, stream_of, priority_of in (
                ("one_stream", lambda i: 0, lambda s: 0),
                ("streams", lambda i: i, lambda s: 0),
                ("priority_streams", lambda i: i, lambda s: greatest + s),
            ):
                ops, streams, tasks = released(device, PROGRAM, timed, stream_of, priority_of)
                run = device.run(ops, streams)
                found[f"{name}, {kind}"] = responses(run, tasks, PROGRAM)
        found["predicted"] = predicted(device)
        found["pbs"] = planned(device)
    return found


def predicted(device: Device) -> dict[str, Any]:
    """Verdicts of ``gs.compare`` on the program."""
    tasks = []
    for job in PROGRAM:
        time = f"{job.block_ns * job.waves // US}us"
        kernel = gs.Kernel(time, blocks=job.blocks, threads=job.threads)
        deadline = f"{job.deadline // US}us"
        tasks.append(gs.Task(job.name, f"{job.period // US}us", [kernel], deadline=deadline))
    workload = gs.Workload(tasks, tick="us")
    platform = gs.Platform(device.gpu, cpus=os.cpu_count(), launch_latency="20us")
    names = ["one_stream", "streams", "priority_streams", "time_slices", "mps", "pbs"]
    compared = gs.compare(workload, platform, ways=names)
    return {row.label: {"verdict": row.verdict, "why": str(row.why())} for row in compared}


def planned(device: Device) -> dict[str, Any]:
    """The program as batches: measured, searched, and played."""
    tasks = gs.KernelTasks(
        period=[job.period for job in PROGRAM],
        deadline=[job.deadline for job in PROGRAM],
        wcet=[job.block_ns * job.waves for job in PROGRAM],
        block_time=[job.block_ns for job in PROGRAM],
        blocks=[job.blocks for job in PROGRAM],
        threads=[job.threads for job in PROGRAM],
        name=[job.name for job in PROGRAM],
    )
    measured = gs.cuda.measure(tasks, device, repeats=5 if standing_in() else 60)
    plan = gs.pbs.search(tasks, measured.table())
    found: dict[str, Any] = {
        "samples_ns": measured.samples,
        "eligible": measured.eligible,
        "schedulable": plan.schedulable,
    }
    if plan.schedule is not None:
        for wait in ("context", "poll"):
            cycles = 2 if standing_in() else 75
            played = gs.cuda.play(plan.schedule, device, cycles=cycles, wait=wait)
            jobs = played.jobs()
            response = jobs.end - jobs.release
            found[f"played, {wait}"] = {
                "late": played.late_count,
                "overhead_ns": quantiles(played.overhead().each),
                "lateness_ns": quantiles(played.lateness),
                "response_us": {
                    job.name: quantiles(response[jobs.task == i], US)
                    for i, job in enumerate(PROGRAM)
                },
            }
    return found


def one_task(index: int, timed: bool) -> None:
    """Run a task of the program in this process when a line is read; print its responses."""
    with Device() as device:
        ops, streams, tasks = released(device, PROGRAM[index : index + 1], timed, int, int)
        print("ready", flush=True)
        sys.stdin.readline()
        run = device.run(ops, streams)
        print(json.dumps(responses(run, tasks, PROGRAM[index : index + 1])), flush=True)


def processes(work: Path, environment: Sequence[dict[str, str]] = ({}, {}, {})) -> Any:
    """The program with a process for each task, which take turns; with MPS they do not."""
    found: dict[str, Any] = {}
    for timed in (True, False):
        running = []
        for i, more in enumerate(environment):
            code = f"from {__name__} import one_task; one_task({i}, {timed})"
            running.append(
                subprocess.Popen(
                    [sys.executable, "-c", code],
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                    text=True,
                    env=os.environ | more,
                )
            )
        for process in running:
            assert process.stdout is not None
            if process.stdout.readline().strip() != "ready":
                raise RuntimeError("processes: got one that did not start, expected 'ready'")
        for process in running:
            assert process.stdin is not None
            process.stdin.write("\n")
            process.stdin.flush()
        kind = "timed" if timed else "work"
        found[kind] = [json.loads(p.communicate(timeout=30)[0].splitlines()[-1]) for p in running]
    return found


MPS = "nvidia-cuda-mps-control"


def mps(probes: Callable[[Path], Any], work: Path) -> Any:
    """The processes as clients of an MPS server, without and with a share; probes of clients."""
    tool = shutil.which(MPS, path=f"{os.environ.get('PATH', '')}:/usr/local/nvidia/bin")
    if tool is None:
        return {"line": f"skip: no {MPS}"}
    folder = Path(tempfile.mkdtemp(prefix="gpusched-mps-"))
    server = {"CUDA_MPS_PIPE_DIRECTORY": str(folder), "CUDA_MPS_LOG_DIRECTORY": str(folder)}
    os.environ.update(server)
    started = subprocess.run([tool, "-d"], capture_output=True, text=True, timeout=30)
    found: dict[str, Any] = {"start": [started.returncode, started.stdout, started.stderr]}
    try:
        found["clients"] = processes(work)
        half = {"CUDA_MPS_ACTIVE_THREAD_PERCENTAGE": "50"}
        found["clients, the map with 50 %"] = processes(work, ({}, {}, half))
        found["probes"] = probes(work)
    finally:
        subprocess.run([tool], input="quit\n", text=True, timeout=30)
        for log in folder.glob("*.log"):
            shutil.copy(log, work / f"mps_{log.name}")
        shutil.rmtree(folder, ignore_errors=True)
    return found


def graphs(work: Path) -> Any:
    """Matrix products of PyTorch as graphs: measured as batches, searched, and played."""
    try:
        import torch
    except ImportError:
        return {"line": "skip: no PyTorch"}
    if standing_in() or not torch.cuda.is_available():
        return {"line": "skip: PyTorch has no GPU"}
    kept, handles = [], {}
    for i, size in enumerate((512, 1024, 2048)):
        a = torch.randn(size, size, device="cuda", dtype=torch.bfloat16)
        stream = torch.cuda.Stream()
        with torch.cuda.stream(stream):
            for _ in range(3):
                product = a @ a
        torch.cuda.synchronize()
        graph = torch.cuda.CUDAGraph(keep_graph=True)
        with torch.cuda.graph(graph, stream=stream):
            for _ in range(20):
                product = a @ a
        graph.instantiate()
        handles[i] = int(graph.raw_cuda_graph_exec())
        kept.append((graph, a, product))
    tasks = gs.KernelTasks(
        period=[4 * MS, 8 * MS, 8 * MS], wcet=[MS] * 3, blocks=[16, 32, 64], threads=128
    )
    with Device() as device:
        measured = gs.cuda.measure(tasks, device, graphs=handles, repeats=200)
        plan = gs.pbs.search(tasks, measured.table())
        found: dict[str, Any] = {"samples_ns": measured.samples, "schedulable": plan.schedulable}
        if plan.schedule is not None:
            played = gs.cuda.play(plan.schedule, device, graphs=handles, cycles=500)
            found |= {
                "late": played.late_count,
                "frame_ns": quantiles(played.done - played.dispatch),
            }
    del kept
    return found
