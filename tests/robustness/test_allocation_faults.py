"""Allocations that fail, of Python, NumPy and the C module: MemoryError or the right answer."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

import pytest
from allocation_faults import FUNCTIONS, PUBLIC
from forked import Server
from native import Compiler

SCRIPT = Path(__file__).parents[1] / "allocation_faults.py"
SOURCE = Path(__file__).parents[1] / "c" / "fail_malloc.c"
ALL = "1000000"


def judge(folder: Path, way: str, library: Path, most: str, calls: list[str], **held: str) -> int:
    """Make the calls; returns the number of failures that were injected."""
    server = Server(SCRIPT, folder, OPENBLAS_NUM_THREADS="1", **held)
    done = server.call(way, library, most, *calls, seconds=300)
    server.close()
    if done.returncode != 0:
        lines = done.stdout.splitlines()
        ended = f"{lines[-1] if lines else 'start'} ended with {done.returncode}"
        pytest.fail(f"{ended}\n{done.stderr}", pytrace=False)
    found = {
        name: json.loads(text)
        for name, text in (line.split(" ", 1) for line in done.stdout.splitlines())
    }
    assert list(found) == calls
    assert {name: one["wrong"] for name, one in found.items() if one["wrong"]} == {}
    assert {name: one["grown"] for name, one in found.items() if one["grown"] > 0} == {}
    return sum(one["injected"] for one in found.values())


@pytest.fixture(scope="module")
def library(compiler: Compiler, tmp_path_factory: pytest.TempPathFactory) -> Path:
    if os.environ.get("GPUSCHED_SANITIZE"):
        pytest.skip("a sanitizer has an allocator of its own")
    if not sys.platform.startswith("linux") or os.confstr("CS_GNU_LIBC_VERSION") is None:
        pytest.skip("needs the GNU C library")
    target = tmp_path_factory.mktemp("malloc") / "fail_malloc.so"
    compiler.run("-shared", "-fPIC", SOURCE, "-o", target, "-ldl")
    return target


@pytest.mark.long
def test_allocations_of_python(tmp_path: Path) -> None:
    pytest.importorskip("_testcapi", reason="this build of Python has no _testcapi")
    assert judge(tmp_path, "python", tmp_path, ALL, FUNCTIONS) > 1000


@pytest.mark.long
def test_allocations_of_the_module_and_numpy(tmp_path: Path, library: Path) -> None:
    held = {"LD_PRELOAD": str(library)}
    assert judge(tmp_path, "malloc", library, ALL, FUNCTIONS, **held) > 1000


def test_allocations_of_the_module_in_public_calls(tmp_path: Path, library: Path) -> None:
    held = {"LD_PRELOAD": str(library)}
    assert judge(tmp_path, "core", library, "15", list(PUBLIC), **held) > 100
