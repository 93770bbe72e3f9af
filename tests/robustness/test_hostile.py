"""Hostile arguments at every position of every function do not crash the module."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from forked import Server
from hostile_calls import ARGUMENTS, machine_arguments, parameters_of, public_names

SCRIPT = Path(__file__).parents[1] / "hostile_calls.py"
FUNCTIONS = sorted(public_names())
SECONDS = 300


def test_every_parameter_has_a_good_argument() -> None:
    assert "schedule_replay" in FUNCTIONS
    assert "Policy.play" in FUNCTIONS
    parameters = {name: set(parameters_of(name)) for name in FUNCTIONS}
    # F and the handles come from calls.
    known = {*ARGUMENTS, *machine_arguments(), "begin", "last", "self"}
    missing = {name: sorted(names - known) for name, names in parameters.items()}
    assert not any(missing.values()), f"give hostile_calls.ARGUMENTS these: {missing}"


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    options = os.environ.get("ASAN_OPTIONS", "")
    server = Server(
        SCRIPT,
        tmp_path_factory.mktemp("hostile"),
        # A sanitizer would end the process where malloc has to answer NULL.
        ASAN_OPTIONS=f"{options}:allocator_may_return_null=1:max_allocation_size_mb=2048",
        # Threads of the linear algebra take address space, which is limited here.
        OPENBLAS_NUM_THREADS="1",
    )
    yield server
    server.close()


@pytest.mark.long
@pytest.mark.parametrize("name", FUNCTIONS)
def test_hostile(name: str, server: Server, tmp_path: Path) -> None:
    log = tmp_path / "calls"
    done = server.call(name, log, seconds=SECONDS)
    if done.returncode != 0:
        late = done.returncode is None
        ended = f"did not end in {SECONDS} s" if late else f"ended with {done.returncode}"
        calls = log.read_text(errors="replace").splitlines() if log.exists() else ["none"]
        text = f"{name} {ended} after {len(calls)} calls, the last one {calls[-1]}\n"
        pytest.fail(text + done.stdout + done.stderr, pytrace=False)
    made, answered = map(int, done.stdout.split())
    assert made > answered > 0
