"""Build and run of the C tests, tests/c/test_*.c."""

from __future__ import annotations

import os
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest
from native import CSRC, Compiler, clean_environment, core_library

FOLDER = Path(__file__).parents[1] / "c"
SOURCES = sorted(FOLDER.glob("test_*.c"))
SECONDS = 120
LIBRARIES = ("-lm", "-ldl", "-pthread")
LONG = ("test_generate", "test_large")


@pytest.mark.parametrize(
    "source",
    [
        pytest.param(
            source, id=source.stem, marks=[pytest.mark.long] if source.stem in LONG else []
        )
        for source in SOURCES
    ],
)
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


# Two threads that write to one variable: reported where ThreadSanitizer works.
RACE = """
#include <pthread.h>
int written;
static void *write_it(void *arg) { written++; return arg; }
int main(void)
{
    pthread_t one, two;
    pthread_create(&one, 0, write_it, 0);
    pthread_create(&two, 0, write_it, 0);
    pthread_join(one, 0);
    return pthread_join(two, 0) + 0 * written;
}
"""
RACED = 66


def run_threads(program: Path) -> tuple[int, str]:
    """The exit code, RACED after a report, and the reports."""
    done = subprocess.run(
        [program],
        capture_output=True,
        text=True,
        timeout=SECONDS,
        env=clean_environment(TSAN_OPTIONS=f"exitcode={RACED}"),
    )
    return done.returncode, done.stdout + done.stderr


@pytest.mark.long
def test_threads_under_tsan(compiler: Compiler, tmp_path: Path) -> None:
    if compiler.sanitizers:
        pytest.skip("a build has one kind of sanitizer")
    threads = replace(compiler, sanitizers="thread", level="-O0")  # quick to compile
    race = tmp_path / "race.c"
    race.write_text(RACE)
    flags = ("-fsanitize=thread", "-pthread")
    command = [*compiler.command, *flags, str(race), "-o", str(tmp_path / "race")]
    built = subprocess.run(command, capture_output=True, timeout=SECONDS, env=clean_environment())
    if built.returncode or run_threads(tmp_path / "race")[0] != RACED:
        pytest.skip("ThreadSanitizer does not work here")
    program = tmp_path / "test_threads"
    source = FOLDER / "test_threads.c"
    threads.run(
        f"-I{CSRC}", f"-I{FOLDER}", source, core_library("thread"), *LIBRARIES, "-o", program
    )
    status, output = run_threads(program)
    assert status == 0, output


def test_there_are_c_tests() -> None:
    assert SOURCES
