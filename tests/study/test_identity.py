"""Identity of a study's function: each change is seen and named, equal functions are equal."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import identity_program as program
import pytest

from gpusched.study.identity.function_identity import difference, function_parts

pytestmark = pytest.mark.python


@pytest.fixture(autouse=True)
def no_bytecode() -> Iterator[None]:
    """Sources that change within the resolution of the clock must not come from a cache."""
    before, sys.dont_write_bytecode = sys.dont_write_bytecode, True
    yield
    sys.dont_write_bytecode = before
    program.forget()


@pytest.fixture
def held(tmp_path: Path) -> dict[str, str]:
    return function_parts(program.load(program.write(tmp_path / "held")).study)


@pytest.mark.parametrize(("file", "text", "other", "named"), program.CHANGES)
def test_each_change_is_named(
    tmp_path: Path, held: dict[str, str], file: str, text: str, other: str, named: str
) -> None:
    wanted = function_parts(program.load(program.write(tmp_path, file, text, other)).study)
    assert wanted != held
    found = difference(held, wanted)
    assert any(line.startswith(named) for line in found), found
    assert len(found) < 20, found


@pytest.mark.parametrize(("file", "text", "other"), program.NEUTRAL)
def test_what_has_no_effect_is_no_change(
    tmp_path: Path, held: dict[str, str], file: str, text: str, other: str
) -> None:
    wanted = function_parts(program.load(program.write(tmp_path, file, text, other)).study)
    assert difference(held, wanted) == []
    assert wanted == held


@pytest.mark.long
@pytest.mark.parametrize("seed", ["0", "1", "4711"])
def test_equal_in_other_processes(tmp_path: Path, held: dict[str, str], seed: str) -> None:
    folder = program.write(tmp_path / "other")
    command = [sys.executable, program.__file__, str(folder)]
    done = subprocess.run(
        command,
        env={**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": os.pathsep.join(sys.path)},
        capture_output=True,
        text=True,
        check=True,
    )
    assert json.loads(done.stdout) == held


def test_a_call_does_not_change_what_it_does_not_read(tmp_path: Path) -> None:
    module = program.load(program.write(tmp_path))
    before = function_parts(module.helper), function_parts(module.MODEL.body)
    assert module.remembered(1) == 56 and module.dispatched("x") == 57 and module.MODEL.cached == 45
    assert (function_parts(module.helper), function_parts(module.MODEL.body)) == before
    once = function_parts(module.remembered), function_parts(module.dispatched)
    module.remembered(2), module.dispatched(2.5)
    assert (function_parts(module.remembered), function_parts(module.dispatched)) == once
