"""Probes of rules on invented GPUs: each tells the rule, or that it cannot tell."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pytest
from native import CSRC
from standin import Standin

from gpusched.cuda import Device
from gpusched.cuda.device import Run
from gpusched.cuda.probes.bench import MS, UNDECIDED, Bench, Finding, decided, overlap, quantiles
from gpusched.cuda.probes.partitions import (
    OWN,
    READINGS,
    SHARED,
    readings_of,
    rounded,
    telling_shares,
    votes_of,
)
from gpusched.cuda.probes.probe_run import PROBES

pytestmark = pytest.mark.python

RANDOM = 9
RULES = (
    *("sm order after others", "channels", "resident grids", "preemption", "first GPC"),
    *("green contexts", "copy directions", "programmatic launch"),
)
"""Probes of a rule that need no other process."""


def found(standin: Standin, names: tuple[str, ...] = RULES, **rules: int) -> dict[str, Finding]:
    """Findings of probes on a GPU of these rules."""
    standin.set(**{"channels": 8, "engines": 2} | rules)
    with Device() as device:
        bench = Bench(device, quick=True)
        for name in ("sm order", "GPCs"):
            assert PROBES[name](bench).status in ("pass", "figure"), name
        return {name: PROBES[name](bench) for name in names}


def told(findings: dict[str, Finding]) -> dict[str, Any]:
    return {name: finding.data.get("rule", finding.text) for name, finding in findings.items()}


def test_a_gpu_with_the_rules_that_are_assumed(standin: Standin) -> None:
    findings = found(standin)
    assert {finding.status for finding in findings.values()} == {"pass"}, findings
    assert findings["channels"].data["counts"] == [8, 8, 8]
    assert findings["channels"].data["in_turn"] is True
    assert findings["resident grids"].data["at_once"] == 128
    assert findings["resident grids"].data["next"] == "urgent"


def test_a_gpu_with_two_other_rules(standin: Standin) -> None:
    usual = told(found(standin))
    standin.reset()
    findings = found(standin, release=1, green_rule=1)
    other = {"channels": "until ended", "green contexts": "one queue"}
    # More kernels at once than channels are not seen: the limit of kernels is not, either.
    assert told(findings) == usual | other | {"resident grids": None}
    assert {name for name, f in findings.items() if f.status == "fail"} == set(other)
    assert "assumed: until dispatched" in findings["channels"].text


def test_a_gpu_with_a_random_rule(standin: Standin) -> None:
    usual = told(found(standin))
    standin.reset()
    findings = found(standin, release=RANDOM)
    assert told(findings) == usual | {"channels": None, "resident grids": None}
    assert findings["channels"].status == "unclear" and "cannot tell" in findings["channels"].text


BY_DIRECTION = "in and in {}, out and out {}, in and out {}"


@pytest.mark.parametrize(
    ("probe", "rules", "expected"),
    [
        ("channels", {"release": 1}, "until ended"),
        ("channels", {"channels": 0}, None),
        ("resident grids", {"grids_rule": 1}, "all less urgent kernels wait"),
        ("resident grids", {"grids_rule": RANDOM}, None),
        ("resident grids", {"grids": 1000}, None),
        ("preemption", {"priorities": 1}, "after all blocks"),
        ("first GPC", {"gpc_choice": 1}, "first in the order of SMs"),
        ("first GPC", {"gpc_choice": RANDOM}, None),
        ("green contexts", {"green_rule": 1}, "one queue"),
        ("green contexts", {"green_rule": RANDOM}, None),
        ("copy directions", {"engines": 1}, BY_DIRECTION.format(*["in turn"] * 3)),
        (
            "copy directions",
            {"engines": 3, "engine_rule": 1},
            BY_DIRECTION.format(*["at once"] * 3),
        ),
        ("copy directions", {"engines": 3, "engine_rule": RANDOM}, None),
        ("programmatic launch", {"pdl": 1}, "at the end"),
        ("programmatic launch", {"pdl": RANDOM}, None),
        ("sm order after others", {"order": 2}, "depends on what ran before"),
    ],
)
def test_each_other_rule(
    standin: Standin, probe: str, rules: dict[str, int], expected: str | None
) -> None:
    standin.set(**{"channels": 8, "engines": 2} | rules)
    with Device() as device:
        bench = Bench(device, quick=True)
        PROBES["GPCs"](bench)
        finding = PROBES[probe](bench)
    assert finding.data["rule"] == expected, finding
    agrees = "pass" if expected == finding.data["assumed"] else "fail"
    assert finding.status == ("unclear" if expected is None else agrees)


@pytest.mark.parametrize(
    ("rules", "groups"),
    [
        ({}, [[0, 1, 2, 3], [4, 5, 6, 7], [8, 9, 10, 11], [12, 13, 14, 15]]),
        ({"gpc_rule": 1}, [[0, 4, 8, 12], [1, 5, 9, 13], [2, 6, 10, 14], [3, 7, 11, 15]]),
        ({"gpc": 6}, [[0, 1, 2, 3, 4, 5], [6, 7, 8, 9, 10, 11], [12, 13, 14, 15]]),
    ],
)
def test_sms_of_gpcs(standin: Standin, rules: dict[str, int], groups: list[list[int]]) -> None:
    standin.set(**rules)
    with Device() as device:
        bench = Bench(device, quick=True)
        assert PROBES["first GPC"](bench).status == "skip"
        assert PROBES["GPCs"](bench).data["rule"] == groups == bench.gpcs
        finding = PROBES["figure 9"](bench)
    assert finding.data["same_gpc"] == pytest.approx(1.6, abs=0.01)
    assert finding.data["other_gpc"] == pytest.approx(1.1, abs=0.01)


def test_what_was_not_measured_is_missing(standin: Standin) -> None:
    with Device() as device:
        bench = Bench(device, quick=True)
        finding = PROBES["figure 9"](bench)  # without GPCs
        assert (finding.data["same_gpc"], finding.data["other_gpc"]) == (None, None)
        assert "not measured in its GPC" in finding.text
        standin.set(queue=1, launch=2_000_000)  # the noise has ended when the kernel starts
        slow = PROBES["copy engine"](bench).data
        assert set(slow["slowdown"].values()) == {None}
        assert all(proven == 0 < repeats for proven, repeats in slow["proven"].values())


def test_a_clock_that_ramps_up(standin: Standin) -> None:
    standin.set(ramp=100, ramp_ns=50_000_000)
    with Device() as device:
        bench = Bench(device, quick=True)
        finding = PROBES["warm-up"](bench)
        assert 49_000_000 < finding.data["steady_after_ns"] < 60_000_000
        assert "the first run took 1.99 times as long" in finding.text
        assert bench.warm() is finding.data  # once


def on_a_gpu(code: str, **environment: str) -> Any:
    """Output of a process, as JSON."""
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=CSRC.parent,
        capture_output=True,
        text=True,
        timeout=120,
        env=os.environ | environment,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


PROBED = """
import json
from dataclasses import asdict
from gpusched.cuda import Device
from gpusched.cuda.probes.bench import Bench
from gpusched.cuda.probes.probe_run import PROBES
with Device() as device:
    print(json.dumps(asdict(PROBES[{!r}](Bench(device, quick=True)))))
"""


@pytest.mark.long
@pytest.mark.parametrize(
    ("rules", "expected"),
    [
        ("clock=1,slice=2000000,context_switch=200000", "in turn"),
        ("", None),  # two virtual clocks
    ],
)
def test_time_slices(standin: Standin, tmp_path: Path, rules: str, expected: str | None) -> None:
    finding = on_a_gpu(
        PROBED.format("time slices"),
        GPUSCHED_STANDIN=rules,
        GPUSCHED_STANDIN_PROCESSES=str(tmp_path / "processes"),
    )
    data = finding["data"]
    assert data["rule"] == expected, finding
    if expected == "in turn":
        assert data["slice_ns"]["p50"] == pytest.approx(2_000_000, abs=100_000)
        assert data["gap_ns"]["p50"] == pytest.approx(200_000, abs=100_000)


@pytest.mark.long
def test_shares_of_clients(standin: Standin, tmp_path: Path) -> None:
    finding = on_a_gpu(
        PROBED.format("MPS shares"),
        GPUSCHED_STANDIN="sms=30,share_unit=2",
        CUDA_MPS_PIPE_DIRECTORY=str(tmp_path),
    )
    assert finding["status"] == "fail" and finding["data"]["rule"] == "down to 2", finding


@pytest.mark.long
def test_queues_of_clients(standin: Standin, tmp_path: Path) -> None:
    """Clients of the stand-in have a GPU each: no waiting block of one holds up the other."""
    finding = on_a_gpu(
        PROBED.format("client queues"),
        GPUSCHED_STANDIN="clock=1",
        CUDA_MPS_PIPE_DIRECTORY=str(tmp_path),
    )
    assert finding["status"] == "fail" and finding["data"]["rule"] == OWN, finding


@pytest.mark.parametrize(
    ("starts", "expected"),
    [
        ([40, 40, 41], [SHARED] * 3),  # behind the last waiting block
        ([10, 14, 20], [OWN] * 3),
        ([10, 14, 30], [OWN, OWN, UNDECIDED]),
        ([10, 40, 20], [OWN, SHARED, OWN]),
    ],
)
def test_votes_of_clients(starts: list[int], expected: list[str]) -> None:
    """Small kernels launched at 10, 14 and 20 ms, while blocks wait from 0 to 40 ms."""
    offset, called = 7 * MS, np.array([-2, 10, 14, 20, 38, 50]) * MS
    at = np.array([-2, *starts, 41, 50], np.int64) * MS
    made = SimpleNamespace(
        called=called[None] + offset,
        returned=called[None] + offset + 5000,
        first=at[None],
        clock_offset=(offset, offset),
    )
    assert votes_of(cast(Run, made), 0, 40 * MS, 42 * MS) == expected
    made.clock_offset = (offset + 1, offset)
    assert votes_of(cast(Run, made), 0, 40 * MS, 42 * MS) == [None]


@pytest.mark.parametrize("sms", [16, 30, 108, 132, 148])
def test_shares_tell_the_readings_apart(sms: int) -> None:
    shares = telling_shares(sms)
    assert len(shares) <= 6
    for reading in READINGS:
        used = {share: rounded(share, sms, reading) for share in shares}
        assert readings_of(used, sms) == [f"{reading[0]} to {reading[1]}"]
    assert readings_of({share: 1 + share % 2 for share in shares}, sms) == []


def test_roundings() -> None:
    for percent, sms, expected in ((25, 132, [33, 33, 33]), (32, 16, [5, 6, 5])):
        assert [rounded(percent, sms, (r, 1)) for r in ("down", "up", "nearest")] == expected
    assert [rounded(1, 132, ("down", unit)) for unit in (1, 2, 8)] == [1, 2, 8]
    assert rounded(99, 15, ("up", 2)) == 15


def test_votes() -> None:
    assert decided("x", ["a", None, "a"], "a").status == "pass"
    assert decided("x", ["b", "b"], "a").data["rule"] == "b"
    for votes in ([], [None], ["a", "b"], ["a", UNDECIDED], [UNDECIDED]):
        finding = decided("x", votes, "a")
        assert (finding.status, finding.data["rule"]) == ("unclear", None)
    assert quantiles([]) is None
    assert overlap([(0, 10), (20, 30)], [(5, 25)]) == 10
