"""Replay of the corpora of the fuzz harnesses (tests/fuzz), without a fuzzer.

Each harness is compiled with the core of the C tests. ../benchmarks/fuzz_campaign.py fuzzes, under
sanitizers, and CI lets it run a little.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
from pathlib import Path

import pytest
from native import CSRC, Compiler, clean_environment

sys.path.insert(0, str(Path(__file__).parents[2] / "benchmarks"))

from fuzz_campaign import RUNS, fuzz

pytestmark = pytest.mark.python

FOLDER = Path(__file__).parents[1] / "fuzz"
FAMILIES = sorted(path.stem.removeprefix("fuzz_") for path in FOLDER.glob("fuzz_*.c"))
LIBRARIES = ("-lm", "-ldl", "-pthread")
SECONDS = 120


def corpus(family: str) -> list[Path]:
    return sorted((FOLDER / "corpus" / family).iterdir())


@pytest.mark.parametrize("family", FAMILIES)
def test_replay(family: str, core: Path, compiler: Compiler, tmp_path: Path) -> None:
    """Inputs that were findings once, and the fewest that reach the edges of a campaign."""
    program, inputs = tmp_path / family, corpus(family)
    sources = (FOLDER / f"fuzz_{family}.c", FOLDER / "replay.c")
    compiler.run(f"-I{CSRC}", f"-I{FOLDER}", *sources, core, *LIBRARIES, "-o", program)
    done = subprocess.run(
        [program, *inputs],
        capture_output=True,
        text=True,
        errors="replace",
        timeout=SECONDS,
        env=clean_environment(),
    )
    if done.returncode != 0:
        text = f"{family} ended with {done.returncode}\n{done.stderr[-6000:]}"
        pytest.fail(text, pytrace=False)
    assert done.stderr.splitlines() == [str(path) for path in inputs]


def test_the_corpora_are_small() -> None:
    assert {path.name for path in (FOLDER / "corpus").iterdir()} == set(FAMILIES)
    for family in FAMILIES:
        sizes = [path.stat().st_size for path in corpus(family)]
        assert 5 <= len(sizes) <= 400 and max(sizes) <= 512


def test_a_campaign_gives_every_harness_some_runs() -> None:
    assert set(RUNS) == set(FAMILIES) and min(RUNS.values()) > 0


@pytest.mark.parametrize(
    ("program", "good"),
    [
        ("echo stat::number_of_executed_units: 5 >&2", True),
        ("exit 1", False),  # it did not start
        ("echo stat::number_of_executed_units: 5 >&2; kill -9 $$", False),
        ("true", False),  # no runs
    ],
)
def test_a_fuzzer_that_ends_without_a_finding(program: str, good: bool, tmp_path: Path) -> None:
    fuzzer = tmp_path / "fifo"
    fuzzer.write_text(f"#!/bin/sh\n{program}\n")
    fuzzer.chmod(0o755)
    outcome = fuzz(tmp_path, "fifo", argparse.Namespace(seconds=1, seed=1, runs=True, timeout=5))
    assert outcome.good is good and outcome.findings == []
