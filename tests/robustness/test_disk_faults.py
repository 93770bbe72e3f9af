"""Disks that are full, broken or read-only: an OSError, the old file, and nothing beside it."""

from __future__ import annotations

import json
import os
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from disk_faults import WRITERS
from forked import Server
from native import Compiler

SCRIPT = Path(__file__).parents[1] / "disk_faults.py"
SOURCE = Path(__file__).parents[2] / "benchmarks" / "fail_at.c"
# All other writers use the same function of the package.
SOME = ("table.npz", "schedule.trace.json.gz", "workload.toml", "results.csv")

pytestmark = pytest.mark.skipif(
    not sys.platform.startswith("linux") or bool(os.environ.get("GPUSCHED_SANITIZE")),
    reason="a library is preloaded, which a sanitizer has to be as the first",
)


@pytest.fixture(scope="module")
def server(compiler: Compiler, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    folder = tmp_path_factory.mktemp("disk")
    library = folder / "fail_at.so"
    compiler.run("-shared", "-fPIC", SOURCE, "-o", library, "-ldl")
    server = Server(SCRIPT, folder, OPENBLAS_NUM_THREADS="1", LD_PRELOAD=str(library))
    yield server
    server.close()


def judge(server: Server, kind: str, *writers: str) -> int:
    """Inject the faults; returns the number of errors."""
    # The folders of pytest are closed to other users.
    with tempfile.TemporaryDirectory() as folder:
        os.chmod(folder, 0o755)
        done = server.call(kind, folder, *writers, seconds=300)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert found["wrong"] == []
    return int(found["errors"])


@pytest.mark.long
def test_every_change_of_a_file_fails(server: Server) -> None:
    assert judge(server, "change", *SOME) > 4 * len(SOME)


@pytest.mark.long
def test_a_full_disk(server: Server) -> None:
    assert judge(server, "size", *WRITERS) >= len(WRITERS) - 1  # of which one is short


@pytest.mark.long
def test_a_folder_that_cannot_be_written_to(server: Server) -> None:
    assert judge(server, "folder", *WRITERS) == len(WRITERS)
