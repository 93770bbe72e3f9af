"""Build and run of the C tests, tests/c/test_*.c."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest
from native import CSRC, Compiler, clean_environment

FOLDER = Path(__file__).parent / "c"
SOURCES = sorted(FOLDER.glob("test_*.c"))
SECONDS = 120
LIBRARIES = ("-lm", "-ldl", "-pthread")


@pytest.mark.parametrize("source", SOURCES, ids=[source.stem for source in SOURCES])
def test_c(source: Path, core: Path, compiler: Compiler, tmp_path: Path) -> None:
    program = tmp_path / source.stem
    compiler.run(f"-I{CSRC}", f"-I{FOLDER}", source, core, *LIBRARIES, "-o", program)
    # The tests ask for more than any machine has, which the sanitizer would take for an error.
    options = f"{os.environ.get('ASAN_OPTIONS', '')}:detect_leaks=1:allocator_may_return_null=1"
    try:
        done = subprocess.run(
            [program],
            capture_output=True,
            text=True,
            errors="replace",
            timeout=SECONDS,
            env=clean_environment(ASAN_OPTIONS=options),
        )
    except subprocess.TimeoutExpired as expired:
        output = (expired.stderr or b"").decode(errors="replace")
        pytest.fail(f"{source.name} ran longer than {SECONDS} s\n{output}", pytrace=False)
    if done.returncode != 0:
        text = f"{source.name} ended with {done.returncode}\n{done.stdout}{done.stderr}"
        pytest.fail(text, pytrace=False)


def test_there_are_c_tests() -> None:
    assert SOURCES
