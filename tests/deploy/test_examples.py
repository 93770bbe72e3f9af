"""Examples of programs under a recipe: built with stand-ins for what they need, run, and their logs
compared with answers."""

from __future__ import annotations

import contextlib
import importlib.util
import os
import shlex
import subprocess
import sys
import threading
import time
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest
import standin
from native import clean_environment
from quiet_machine import judge
from test_recipe_runs import (
    CORES,
    HERE,
    LOOSE,
    SECONDS,
    pipeline,
    run,
    run_any,
    with_priorities,
    workload,
)
from test_recipes import compiler, headers, syntax

import gpusched as gs

__all__ = ["headers"]  # a fixture

EXAMPLES = Path(__file__).parents[2] / "notebooks" / "examples"
STUB = HERE / "stub"
MS = 10**6

pytestmark = [
    pytest.mark.skipif(bool(os.environ.get("GPUSCHED_SANITIZE")), reason="links what pip installs"),
    pytest.mark.skipif(
        not hasattr(os, "sched_getaffinity") or len(os.sched_getaffinity(0)) < 2,
        reason="needs two CPUs of Linux",
    ),
]


def answer(way: str) -> gs.WorkloadAnswer:
    found = gs.analyze(workload(way), gs.Platform("AGX Orin", cpus=1, launch_latency="10us"), way)
    assert found.accepted or found.conditional
    return found


def built(source: str, name: str, way: str, folder: Path, *, cuda: bool = True) -> Path:
    """The program of an example in the folder of a recipe, under the name of what it replaces."""
    gs.recipe(answer(way), cores=CORES).save(folder)
    (folder / name).write_text((EXAMPLES / source).read_text())
    library = standin.build()
    more = ["-DGPUSCHED_CUDA", str(library), f"-Wl,-rpath,{library.parent}"] if cuda else []
    command = [*compiler(), f"-I{STUB}", f"-I{HERE}", str(folder / "main.cpp")]
    run([*command, "-o", str(folder / "main"), *shlex.split(gs.rt.libs()), *more], folder)
    return folder / "main"


def kept(way: str, folder: Path, tolerance: int) -> gs.Kept:
    log = gs.io.read_run_log(folder / "run.gslog")
    return gs.kept(answer(way), log, tolerance=tolerance)


def judge_runs(command: list[str], way: str, folder: Path) -> None:
    """Runs keep the order of the way, and on a quiet machine its times."""

    def attempt(number: int) -> gs.Kept | None:
        tolerance = with_priorities(command, folder)
        loose = kept(way, folder, LOOSE)
        assert loose.kept and loose.jobs.min() >= 1, loose
        found = kept(way, folder, tolerance)
        return None if found.kept else found

    judge(attempt)


def spans(folder: Path) -> dict[str, list[int]]:
    """Lengths of GPU segments in a log, by task."""
    log = gs.io.read_run_log(folder / "run.gslog")
    found: dict[str, list[int]] = {}
    pairs = log.spans("submit", "gpu_end")
    for task, start, end in zip(
        *(pairs[key].tolist() for key in ("task", "start", "end")), strict=True
    ):
        found.setdefault(log.name[task], []).append(end - start)
    return found


@pytest.mark.parametrize("way", ["mpcp", "priority_streams", "gpu_server", "pbs"])
def test_tensorrt(way: str, tmp_path: Path) -> None:
    """Engines of 4 ms in a program of each kind: their copies and kernels are on the stand-in."""
    folder = tmp_path / "deploy"
    main = built("tensorrt_work.h", "work.h", way, folder)
    command = [str(main), "run.gslog", "all", "2", "0"]
    missing = run_any(command, folder)
    assert missing.returncode != 0 and ".engine: expected an engine" in missing.stderr
    for name in workload(way).names:
        (folder / f"{name}.engine").write_text(str(4 * MS))
    judge_runs(command, way, folder)
    lengths = spans(folder)
    if way != "pbs":
        assert set(lengths) == set(workload(way).names)
        assert min(map(min, lengths.values())) >= 4 * MS


@pytest.mark.parametrize(
    ("way", "cuda"),
    [("mpcp", False), ("streams", True), pytest.param("fmlp_plus", True, marks=pytest.mark.long)],
)
def test_a_ros_node(way: str, cuda: bool, tmp_path: Path) -> None:
    folder = tmp_path / "deploy"
    main = built("ros_node.cpp", "main.cpp", way, folder, cuda=cuda)
    judge_runs([str(main), "run.gslog"], way, folder)
    assert kept(way, folder, LOOSE).jobs.tolist() == [4, 2, 2]
    if not cuda:  # the work of the recipe takes four fifths of its time
        assert min(min(one) for one in spans(folder).values()) >= 8 * MS * 4 // 5


@pytest.mark.parametrize(
    ("source", "name"), [("tensorrt_work.h", "work.h"), ("ros_node.cpp", "main.cpp")]
)
def test_examples_compile_with_the_headers_of_cuda(
    source: str, name: str, headers: list[Path], tmp_path: Path
) -> None:
    gs.recipe(answer("mpcp"), cores=CORES).save(tmp_path / "deploy")
    (tmp_path / "deploy" / name).write_text((EXAMPLES / source).read_text())
    for include in headers:
        more = ["-DGPUSCHED_CUDA", f"-I{STUB}", "-isystem", include]
        syntax(compiler(), *more, tmp_path / "deploy" / "main.cpp")


def test_a_ros_node_for_another_way_does_not_compile(tmp_path: Path) -> None:
    gs.recipe(answer("gpu_server"), cores=CORES).save(tmp_path / "deploy")
    source = tmp_path / "deploy" / "main.cpp"
    source.write_text((EXAMPLES / "ros_node.cpp").read_text())
    command = [*compiler(), f"-I{STUB}", "-fsyntax-only", str(source)]
    done = subprocess.run(
        command, capture_output=True, text=True, env=clean_environment(), timeout=SECONDS
    )
    assert done.returncode != 0 and "streams, or one lock" in done.stderr


class Stream:
    """A stream of the fake PyTorch: work that takes 4 ms, behind what is in it."""

    current: Stream | None = None

    def __init__(self, priority: int = 0) -> None:
        self.priority, self.ends, self.count = priority, 0, 0

    def enqueue(self) -> None:
        self.ends = max(self.ends, time.monotonic_ns()) + 4 * MS
        self.count += 1

    def synchronize(self) -> None:
        time.sleep(max(0, self.ends - time.monotonic_ns()) / 1e9)


class Event:
    def __init__(self, blocking: bool = False) -> None:
        assert blocking

    def record(self, stream: Stream) -> None:
        self.stream = stream

    def query(self) -> bool:
        return time.monotonic_ns() >= self.stream.ends

    def synchronize(self) -> None:
        self.stream.synchronize()


def fake_torch(streams: list[Stream], local: Any) -> ModuleType:
    """The parts of PyTorch that the example uses."""

    @contextlib.contextmanager
    def stream(one: Stream) -> Any:
        local.stream = one
        yield
        del local.stream

    @contextlib.contextmanager
    def graph(of: Any, stream: Stream) -> Any:
        of.captured = True
        yield

    def new_stream(priority: int) -> Stream:
        streams.append(Stream(priority))
        return streams[-1]

    class Graph:
        captured = False

        def replay(self) -> None:
            assert self.captured
            local.stream.enqueue()

    class Tensor:
        def copy_(self, other: Any, non_blocking: bool) -> None:
            assert non_blocking and other.pinned and local.stream is not None

        pinned = False

        def pin_memory(self) -> Tensor:
            self.pinned = True
            return self

    class Module:
        def cuda(self) -> Module:
            return self

        eval = cuda

        def __call__(self, given: Tensor) -> Tensor:
            return given

    torch: Any = ModuleType("torch")
    torch.cuda = SimpleNamespace(
        Stream=new_stream, Event=Event, stream=stream, graph=graph, CUDAGraph=Graph
    )
    torch.nn = SimpleNamespace(Linear=lambda *_: Module())
    torch.zeros = lambda *_, **__: Tensor()
    torch.no_grad = contextlib.nullcontext
    found: ModuleType = torch
    return found


def example(name: str) -> Any:
    spec = importlib.util.spec_from_file_location(name, EXAMPLES / f"{name}.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_pytorch_is_needed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "torch", None)  # its import fails
    gs.recipe(answer("streams"), cores=CORES).save(tmp_path / "deploy")
    with pytest.raises(ImportError):
        example("pytorch_tasks").main(str(tmp_path / "deploy"), 1)


def with_torch(monkeypatch: pytest.MonkeyPatch) -> list[Stream]:
    """The streams of a PyTorch that is not installed."""
    streams: list[Stream] = []
    monkeypatch.setitem(sys.modules, "torch", fake_torch(streams, threading.local()))
    return streams


@pytest.mark.parametrize("way", ["priority_streams", "mpcp", "fmlp_plus", "gpu_server", "pbs"])
def test_pytorch(way: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    recipe = gs.recipe(answer(way), cores=CORES)
    recipe.save(tmp_path / "deploy")
    streams = with_torch(monkeypatch)
    example("pytorch_tasks").main(str(tmp_path / "deploy"), 2, dry=True)
    found = kept(way, tmp_path / "deploy", LOOSE)
    assert found.kept, found
    planned = way == "pbs"
    counts = dict(zip(found.name, found.jobs.tolist(), strict=True))
    assert counts == {"camera": 4 if planned else 2, "map": 2, "plan": 2}
    assert [one.count for one in streams] == [counts[row["task"]] for row in recipe.tasks]
    assert [one.priority for one in streams] == [row["stream_priority"] for row in recipe.tasks]
    assert found.response.min() >= 4 * MS
    log = gs.io.read_run_log(tmp_path / "deploy" / "run.gslog")
    held = len(log.of("acquire"))
    granted = 6 if way in ("mpcp", "fmlp_plus", "gpu_server") else 0
    assert held == granted == len(log.of("release_lock"))
    assert len(log.of("gpu_end")) == sum(counts.values())


@pytest.mark.parametrize("way", ["mpcp", "gpu_server", "edf_serial"])
def test_pytorch_runs_a_pipeline(way: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found = pipeline(way)
    gs.recipe(found, cores=CORES).save(tmp_path / "deploy")
    with_torch(monkeypatch)
    example("pytorch_tasks").main(str(tmp_path / "deploy"), 3, dry=True)
    log = gs.io.read_run_log(tmp_path / "deploy" / "run.gslog")
    verdict = gs.kept(found, log, tolerance=LOOSE)
    assert verdict.kept and verdict.jobs.tolist() == [3, 3, 2], verdict
    assert verdict.paths[0].jobs.tolist() == [[0, 0, 0], [2, 2, 1]]
    if way == "edf_serial":  # requests are ordered by what is due
        places = {row["task"]: row["due"] for row in gs.Recipe.load(tmp_path / "deploy").tasks}
        releases = {
            (task, job): value
            for task, job, value in zip(
                *(getattr(log.of("release"), key).tolist() for key in ("task", "job", "value")),
                strict=True,
            )
        }
        asked = log.of("request")
        for task, job, value in zip(
            asked.task.tolist(), asked.job.tolist(), asked.value.tolist(), strict=True
        ):
            assert value == -(releases[task, job] + places[log.name[task]])


def test_pytorch_sets_priorities(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    recipe = gs.recipe(answer("streams"), cores=CORES)
    recipe.save(tmp_path / "deploy")
    with_torch(monkeypatch)
    seen: list[tuple[int, int]] = []
    monkeypatch.setattr(gs.rt, "thread", lambda cpu, fifo: seen.append((fifo, cpu)))
    example("pytorch_tasks").main(str(tmp_path / "deploy"), 1)
    assert sorted(seen) == sorted((row["fifo"], row["core"]) for row in recipe.tasks)


def test_pytorch_gives_the_server_its_place(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    gs.recipe(answer("gpu_server"), cores=CORES).save(tmp_path / "deploy")
    with_torch(monkeypatch)
    program = example("pytorch_tasks").Program(
        sys.modules["torch"], str(tmp_path / "deploy"), False
    )
    highest = max(place["fifo"] for place in program.places.values())
    assert program.place("SERVER") == {"cpu": CORES[0], "fifo": highest + 1}


def test_pytorch_ends_when_a_task_fails(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with_torch(monkeypatch)
    module = example("pytorch_tasks")
    for way in ("mpcp", "gpu_server", "pbs"):
        gs.recipe(answer(way), cores=CORES).save(tmp_path / way)
        program = module.Program(sys.modules["torch"], str(tmp_path / way), True)
        monkeypatch.setattr(program.work["plan"].done, "record", lambda stream: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            (program.run_plan if way == "pbs" else program.run_tasks)(10**6)


def test_pytorch_refuses_other_ways(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with_torch(monkeypatch)
    gs.recipe(answer("one_stream"), cores=CORES).save(tmp_path / "other")
    with pytest.raises(SystemExit, match=r"one_stream.*: expected streams, priority_streams"):
        example("pytorch_tasks").main(str(tmp_path / "other"), 1)


def test_the_recipe_and_the_guide_lead_to_the_examples() -> None:
    steps = "".join(step.text for step in gs.recipe(answer("mpcp"), cores=CORES).steps)
    assert "/tree/main/notebooks/examples" in steps
    page = (EXAMPLES.parent / "guide" / "deploying.md").read_text()
    for path in EXAMPLES.iterdir():
        if path.is_file():
            assert f"(../examples/{path.name})" in page
