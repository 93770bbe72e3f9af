"""Campaigns with random workloads, a hundredth of what benchmarks/workload_campaign.py runs."""

import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = [pytest.mark.python, pytest.mark.numbers]

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"


def campaign(part: str, seed: int) -> list[str]:
    command = ["workload_campaign.py", "--part", part, "--share", "0.01", "--seed", str(seed)]
    done = subprocess.run(
        [sys.executable, *command], cwd=BENCHMARKS, capture_output=True, text=True, timeout=300
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout.splitlines()[1:]


def test_a_kernel_alone_ends_at_one_tick() -> None:
    assert "end at one tick in four models" in campaign("law", 2)[0]


@pytest.mark.long
def test_workloads_are_the_same_after_files() -> None:
    assert campaign("files", 2)[0].startswith("files: 100 workloads are the same")


def test_views_are_accepted_by_their_methods() -> None:
    lines = campaign("views", 2)
    found = [int(line.split(":")[1].split()[0]) for line in lines if line.endswith(" views")]
    assert len(found) == 5 and min(found) >= 20, lines


@pytest.mark.long
def test_no_observed_response_exceeds_a_bound() -> None:
    lines = campaign("rows", 2)
    assert "no response above a bound" in lines[0]
    rows = {line[2:22].strip(): line[22:].split() for line in lines[2:-1]}
    assert len(rows) == 24
    for name in ("streams", "mpcp (suspend)", "fmlp_plus (busy)", "gpu_server", "stgm (busy)"):
        accepted, conditional, _, _, _, hostile, compared, reached, _ = rows[name]
        assert int(accepted) + int(conditional) > 5 and int(hostile) > 20 and int(compared) > 50, (
            lines
        )
        assert int(reached) > 0, lines  # the cases are tight


@pytest.mark.long
def test_exact_margins_are_those_of_a_scan() -> None:
    assert campaign("margins", 2)[0].startswith("margins: 10 exact")
