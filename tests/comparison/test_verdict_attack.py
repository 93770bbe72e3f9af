"""Attack on the verdicts of `gs.compare`, a hundredth of benchmarks/verdict_attack.py and of
benchmarks/bounds_attack.py; realistic programs of benchmarks/verdict_table.py."""

import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = [pytest.mark.python, pytest.mark.numbers, pytest.mark.long]

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"


def run(*command: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, *command], cwd=BENCHMARKS, capture_output=True, text=True, timeout=600
    )


def test_no_claim_is_contradicted_by_the_machine() -> None:
    done = run("verdict_attack.py", "--count", "32", "--first", "1000")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "of 32 kinds" in done.stdout  # one program of each
    assert "32 programs" in done.stdout and " 0 alarms" in done.stdout


def test_no_bound_is_exceeded_in_many_runs() -> None:
    done = run("bounds_attack.py", "--count", "60", "--runs", "50", "--first", "2000")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "60 programs" in done.stdout and " 0 alarms" in done.stdout
    rows = [line.split() for line in done.stdout.splitlines()[3:]]
    assert sum(int(row[-4].replace(",", "")) for row in rows) > 30_000  # runs


def test_no_bound_of_sections_with_copies_is_exceeded() -> None:
    options = ("--whole", "--ways", "gcaps", "--kind", "open_sections")
    done = run("bounds_attack.py", *options, "--count", "40", "--runs", "50", "--first", "3000")
    assert done.returncode == 0, done.stdout + done.stderr
    rows = [line.split() for line in done.stdout.splitlines()[3:]]
    assert {row[0] for row in rows} == {"gcaps"} and len(rows) >= 2
    assert sum(int(row[-2]) for row in rows) > 10  # bounds that are reached


def test_verdicts_of_realistic_programs_are_counted() -> None:
    done = run("verdict_table.py", "--count", "4")
    assert done.returncode == 0, done.stderr
    rows = [line.split() for line in done.stdout.splitlines()[2:25]]
    assert len(rows) == 23
    for row in rows:
        *_, cut, _ = row
        assert sum(map(int, row[-7:-1])) == 4 and cut == "0", row
