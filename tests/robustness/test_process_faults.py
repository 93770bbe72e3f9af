"""Calls under a jumping clock, with little memory, on small stacks, beside forks, at exit."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import deep_inputs
import pytest
from forked import Server
from native import Compiler
from process_faults import DEEP, LARGE, SHORT

pytestmark = pytest.mark.python

FOLDER = Path(__file__).parents[1]
SCRIPT = FOLDER / "process_faults.py"
SECONDS = 120  # a call that takes longer hangs
SANITIZED = bool(os.environ.get("GPUSCHED_SANITIZE"))
ENDS = ("call in a daemon", "sweep in a daemon", "simulation in a daemon")

Starter = Callable[..., Server]


@pytest.fixture(scope="module")
def start(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Starter]:
    """Start a server for a script, once for the same environment."""
    servers: dict[str, Server] = {}

    def started(script: Path = SCRIPT, **environment: str) -> Server:
        key = f"{script} {environment}"
        if key not in servers:
            folder = tmp_path_factory.mktemp("server")
            servers[key] = Server(script, folder, OPENBLAS_NUM_THREADS="1", **environment)
        return servers[key]

    yield started
    for server in servers.values():
        server.close()


@pytest.fixture(scope="module")
def clock(compiler: Compiler, tmp_path_factory: pytest.TempPathFactory) -> Path:
    if SANITIZED or not sys.platform.startswith("linux"):
        pytest.skip("a library is preloaded, which a sanitizer has to be as the first")
    target = tmp_path_factory.mktemp("clock") / "jumping_clock.so"
    compiler.run("-shared", "-fPIC", FOLDER / "c" / "jumping_clock.c", "-o", target, "-ldl")
    return target


@pytest.mark.long
@pytest.mark.parametrize("name", SHORT)
def test_a_clock_that_jumps_backwards(name: str, start: Starter, clock: Path) -> None:
    done = start(LD_PRELOAD=str(clock)).call("clock", name, clock, seconds=SECONDS)
    assert (done.returncode, done.stdout) == (0, "same\n"), done.stderr


@pytest.mark.long
@pytest.mark.skipif(SANITIZED, reason="a sanitizer takes more address space than there is")
@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="needs RLIMIT_AS and /proc")
@pytest.mark.parametrize("name", LARGE)
def test_a_limit_of_memory(name: str, start: Starter) -> None:
    done = start().call("memory", name, seconds=SECONDS)
    assert (done.returncode, done.stdout) == (0, "refused\n"), done.stderr


@pytest.mark.long
@pytest.mark.skipif(SANITIZED, reason="sanitizers need larger stacks")
@pytest.mark.parametrize("name", DEEP)
def test_a_small_stack(name: str, start: Starter) -> None:
    done = start().call("stack", name, seconds=SECONDS)
    assert (done.returncode, done.stdout) == (0, "cancelled\n"), done.stderr


@pytest.mark.parametrize("kind", deep_inputs.KINDS)
def test_deep_inputs(kind: str, start: Starter, tmp_path: Path) -> None:
    names = {
        "nested": list(deep_inputs.READERS),
        "itself": list(deep_inputs.CONSTRUCTORS),
        "recursion": ["search", "host", "partition", "challenge"],
    }[kind]
    server = start(FOLDER / "deep_inputs.py")
    done = server.call(kind, tmp_path, *names, seconds=SECONDS)
    assert (done.returncode, done.stdout.split()) == (0, names), done.stderr


@pytest.mark.long
@pytest.mark.parametrize("name", ["search", "host_responses", "graph"])
def test_forks_during_a_call(name: str, start: Starter) -> None:
    done = start().call("fork", name, seconds=SECONDS)
    assert (done.returncode, done.stdout) == (0, "cancelled\n"), done.stderr


@pytest.mark.long
@pytest.mark.parametrize("name", ENDS)
def test_the_interpreter_ends_during_a_call(name: str) -> None:
    command = [sys.executable, SCRIPT, "end", name]
    done = subprocess.run(command, capture_output=True, text=True, timeout=SECONDS)
    assert (done.returncode, done.stdout) == (0, "end\n")
    if name == "sweep in a daemon":  # its thread learns that Python ends from its pool
        assert not done.stderr or "cannot schedule new futures" in done.stderr
    else:
        assert done.stderr == ""


def test_an_interrupted_executor_ends_the_program() -> None:
    command = [sys.executable, SCRIPT, "executor", "threads"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=SECONDS)
    assert (done.returncode, done.stdout, done.stderr) == (0, "interrupted\n", "")
