"""Programs of recipes, built and run: their logs keep what the answers guarantee."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest
import standin
from native import clean_environment
from quiet_machine import judge

import gpusched as gs

HERE = Path(__file__).parent
SECONDS = 600  # of a program that hangs
TOLERANCE = 15 * 10**6  # of a machine with real-time priorities,
LOOSE = 10**12  # and of any, where only the order counts
CORES = sorted(os.sched_getaffinity(0))[:2]

pytestmark = pytest.mark.skipif(
    bool(os.environ.get("GPUSCHED_SANITIZE")), reason="links what pip installs"
)

LAUNCH = """
#include <map>
inline int prepare(int, gpu_stream_t) { return 0; }
inline void cpu_work(int, int, int64_t ns)
{
    for (const int64_t end = gs_rt_cpu_time() + ns / 2; gs_rt_cpu_time() < end;) {
    }
}
inline int gpu_work(int, int, gpu_stream_t stream, int64_t ns)
{
    static std::mutex guard;
    static std::map<int64_t, void *> graphs; // of the stand-in, by their times
    const std::lock_guard<std::mutex> hold(guard);
    void *&graph = graphs[ns];
    graph = graph != nullptr ? graph : standin_graph(ns / 2);
    return cuGraphLaunch(static_cast<CUgraphExec>(graph), stream) == CUDA_SUCCESS ? 0 : -1;
}
"""


def workload(way: str) -> gs.Workload:
    more = [{}, {}, {}]
    if way == "priority_streams":
        more = [{"stream_priority": i} for i in (0, 1, 1)]
    if way == "mps":
        more = [{"process": name} for name in ("front", "back", "front")]
    kernel = gs.Kernel("8ms", blocks=4, threads=64)
    tasks = [
        gs.Task("camera", "200ms", [gs.CPU("4ms"), kernel, gs.CPU("2ms")], **more[0]),
        gs.Task("map", "400ms", [kernel], **more[1]),
        gs.Task("plan", "400ms", [gs.CPU("8ms"), kernel], **more[2]),
    ]
    return gs.Workload(tasks, tick="us")


def built(recipe: gs.Recipe, folder: Path, *, cuda: bool) -> Path:
    cxx = shlex.split(os.environ.get("CXX", "c++"))
    if shutil.which(cxx[0]) is None:
        pytest.skip("needs a C++ compiler (CXX or c++)")
    recipe.save(folder)
    more: list[str] = []
    if cuda:
        (folder / "work.h").write_text(f'#pragma once\n#include "gpu.h"\n{LAUNCH}')
        library = standin.build()
        more = ["-DGPUSCHED_CUDA", f"-I{HERE}", str(library), f"-Wl,-rpath,{library.parent}"]
    flags = [*shlex.split(gs.rt.cflags()), "-Wall", "-Wextra", "-Werror"]
    command = [*cxx, "-std=c++17", *flags, str(folder / "main.cpp"), "-o", str(folder / "main")]
    run([*command, *shlex.split(gs.rt.libs()), *more], folder)
    return folder / "main"


def run(command: list[str], folder: Path) -> str:
    done = run_any(command, folder)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def run_any(command: list[str], folder: Path) -> subprocess.CompletedProcess[str]:
    environment = clean_environment(GPUSCHED_STANDIN="clock=1")
    return subprocess.run(
        command, cwd=folder, capture_output=True, text=True, timeout=SECONDS, env=environment
    )


def with_priorities(command: list[str], folder: Path) -> int:
    """Runs a program with real-time priorities, or dry where they are not allowed; the tolerance of
    its times."""
    if run_any(command, folder).returncode == 0:
        return TOLERANCE
    run([*command, "dry"], folder)
    return LOOSE


def played(main: Path, answer: gs.WorkloadAnswer) -> gs.Kept:
    """A run of two jobs of each task: its order is kept, and on a quiet machine its times are."""
    kept: list[gs.Kept] = []

    def attempt(number: int) -> gs.Kept | None:
        tolerance = with_priorities([str(main), "run.gslog", "all", "2", "0"], main.parent)
        log = gs.io.read_run_log(main.parent / "run.gslog")
        assert (loose := gs.kept(answer, log, tolerance=LOOSE)).kept, loose
        kept.append(gs.kept(answer, log, tolerance=tolerance))
        return None if kept[-1].kept else kept[-1]

    judge(attempt)
    return kept[-1]


CASES = [
    ("mpcp", False),
    ("mpcp", True),
    ("gpu_server", True),
    ("priority_streams", True),
    ("green_contexts", True),
    ("pbs", True),
    ("edf_serial", False),
    ("one_stream", True),
    ("stgm", False),
]


@pytest.mark.parametrize(("way", "cuda"), CASES, ids=lambda value: str(value))
def test_a_program_keeps_its_guarantee(way: str, cuda: bool, tmp_path: Path) -> None:
    """With timers for the GPU, and on the stand-in for the driver, in real time."""
    parts = {"camera": 8, ("map", "plan"): 8} if way == "green_contexts" else None
    gpu = "Pascal 5 SM" if way == "stgm" else "AGX Orin"  # one with green contexts of single SMs
    platform = gs.Platform(gpu, cpus=1, launch_latency="10us", green_contexts=parts)
    answer = gs.analyze(workload(way), platform, way)
    assert answer.accepted or answer.conditional
    if len(CORES) < 2:
        pytest.skip("needs two CPUs")
    main = built(gs.recipe(answer, cores=CORES), tmp_path / "deploy", cuda=cuda)
    found = played(main, answer)
    assert found.jobs.min() >= 1 and found.jobs.max() >= 2
    log = gs.io.read_run_log(main.parent / "run.gslog")
    if grants := len(log.of("acquire")):  # each with one segment
        assert grants == len(log.of("submit")) == len(log.of("gpu_end"))


def pipeline(way: str) -> gs.WorkloadAnswer:
    kernel = gs.Kernel("8ms", blocks=4, threads=64)
    tasks = [
        gs.Task("camera", "200ms", [gs.CPU("4ms"), kernel], offset="10ms", deadline="60ms"),
        gs.Task("net", segments=[kernel, gs.CPU("2ms")], after="camera", deadline="80ms"),
        gs.Task("log", segments=[gs.CPU("2ms")], after=["camera", "net"], every=2),
    ]
    path = gs.Path("frame to log", ["camera", "net", "log"])
    workload = gs.Workload(tasks, "us", paths=[path])
    answer = gs.analyze(workload, gs.Platform("AGX Orin", cpus=1), way)
    assert answer.accepted or answer.conditional
    return answer


@pytest.mark.parametrize("way", ["mpcp", "one_stream", "gpu_server", "edf_serial"])
def test_a_pipeline_is_released_by_its_tasks(way: str, tmp_path: Path) -> None:
    answer = pipeline(way)
    main = built(gs.recipe(answer, cores=CORES), tmp_path / "deploy", cuda=False)
    found = played(main, answer)
    assert found.jobs.tolist() == [2, 2, 1]
    assert len(found.paths[0]) == 1 and found.paths[0].jobs.tolist() == [[0, 0, 0]]


def test_processes_share_a_log_and_a_first_release(tmp_path: Path) -> None:
    answer = gs.analyze(workload("mps"), gs.Platform("A100", cpus=3, mps={"front": 50}), "mps")
    main = built(gs.recipe(answer), tmp_path / "deploy", cuda=True)
    start = run([str(main), "run.gslog", "create", "0", "0"], main.parent).strip()
    command = [str(main), "run.gslog", "PROCESS", "2", start, "dry"]
    environment = clean_environment(GPUSCHED_STANDIN="clock=1")
    started = [
        subprocess.Popen(
            [name if word == "PROCESS" else word for word in command],
            cwd=main.parent,
            env=environment,
        )
        for name in ("front", "back")
    ]
    assert [process.wait(SECONDS) for process in started] == [0, 0]
    log = gs.io.read_run_log(main.parent / "run.gslog")
    found = gs.kept(answer, log, tolerance=LOOSE)
    assert found.jobs.tolist() == [2, 2, 2]
    assert not found.broken, found


def with_command(folder: Path, **more: str) -> dict[str, str]:
    """An environment in which scripts find the command gpusched."""
    (folder / "bin").mkdir()
    command = folder / "bin" / "gpusched"
    command.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m gpusched "$@"\n')
    command.chmod(0o755)
    return clean_environment(PATH=f"{folder / 'bin'}:{os.environ['PATH']}", **more)


def test_the_script_with_a_toolkit_and_no_driver(tmp_path: Path) -> None:
    """Dry, streams are timers; otherwise the program does not start."""
    if shutil.which("g++") is None:
        pytest.skip("needs g++")
    answer, folder = pipeline("mpcp"), tmp_path / "deploy"
    gs.recipe(answer, cores=CORES).save(folder)
    stubs = tmp_path / "cuda/lib64/stubs"
    for one in (stubs, tmp_path / "cuda/include"):
        one.mkdir(parents=True)
    shutil.copy(HERE / "cuda.h", tmp_path / "cuda/include")
    shutil.copy(standin.build(), stubs / "libcuda.so")  # is linked, and not found at the start
    environment = with_command(tmp_path, CUDA_HOME=str(tmp_path / "cuda"))
    dry, real = (
        subprocess.run(
            [str(folder / "run.sh"), "2", *how],
            capture_output=True,
            text=True,
            timeout=SECONDS,
            env=environment,
        )
        for how in (["dry"], [])
    )
    assert dry.returncode == 0 and "streams are timers" in dry.stderr, dry.stderr
    found = gs.kept(answer, gs.io.read_run_log(folder / "run.gslog"), tolerance=LOOSE)
    assert found.kept and found.jobs.tolist() == [2, 2, 1], found
    assert real.returncode == 127 and "libcuda" in real.stderr


@pytest.mark.skipif(sys.platform != "linux", reason="the lock is for Linux")
@pytest.mark.parametrize("processes", [("front", "back"), (None, None)], ids=["two", "one"])
def test_a_script_that_is_ended(processes: tuple[str | None, ...], tmp_path: Path) -> None:
    """Its processes end with it, and the lock is removed."""
    if shutil.which("g++") is None:
        pytest.skip("needs g++")
    kernel = gs.Kernel("2ms", blocks=8, threads=64)
    tasks = [
        gs.Task(name, "50ms", [kernel], process=process)
        for name, process in zip("ab", processes, strict=True)
    ]
    answer = gs.analyze(gs.Workload(tasks, "us"), gs.Platform("A100", cpus=2), "mpcp")
    gs.recipe(answer).save(tmp_path / "deploy")
    script = subprocess.Popen(
        [str(tmp_path / "deploy" / "run.sh"), "1000000", "dry"],
        env=with_command(tmp_path, CUDA_HOME=str(tmp_path)),
        start_new_session=True,
    )
    lock, log = Path("/dev/shm/gpusched-0"), tmp_path / "deploy" / "run.gslog"
    while not (log.exists() and len(gs.io.read_run_log(log).of("complete")) > 2):
        assert script.poll() is None
        time.sleep(0.05)
    assert lock.exists()
    script.terminate()
    assert script.wait(SECONDS) == 130
    assert not lock.exists()
    for _ in range(SECONDS * 20):  # until no process of its session is left
        try:
            os.killpg(script.pid, 0)
        except ProcessLookupError:
            return
        time.sleep(0.05)
    pytest.fail("processes are left")


def test_a_program_says_what_is_wrong(tmp_path: Path) -> None:
    answer = gs.analyze(workload("mpcp"), gs.Platform("A100", cpus=3), "mpcp")
    main = built(gs.recipe(answer), tmp_path / "deploy", cuda=False)
    for arguments, status in ((["run.gslog"], 2), (["no/run.gslog", "all", "1", "0", "dry"], 1)):
        done = subprocess.run(
            [str(main), *arguments], cwd=main.parent, capture_output=True, text=True
        )
        assert done.returncode == status and done.stderr
