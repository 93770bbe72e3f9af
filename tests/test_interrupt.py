"""Ctrl-C and the stop flag end long calls; other threads run meanwhile."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from long_calls import CALLS

SCRIPT = Path(__file__).with_name("long_calls.py")
SECONDS = 5.0 if os.environ.get("GPUSCHED_SANITIZE") else 0.5
ATTEMPTS = 3


def measure(kind: str, name: str) -> dict[str, Any]:
    """The best of some attempts, since other programs may hold the machine."""
    best: dict[str, Any] = {}
    for _ in range(ATTEMPTS):
        done = subprocess.run(
            [sys.executable, SCRIPT, kind, name], capture_output=True, text=True, timeout=120
        )
        assert done.returncode == 0, done.stderr
        measured: dict[str, Any] = json.loads(done.stdout)
        if not best or measured["after"] < best["after"]:
            best = measured
        if best["after"] < SECONDS:
            break
    return best


@pytest.mark.parametrize("name", CALLS)
def test_ctrl_c(name: str) -> None:
    measured = measure("interrupted", name)
    assert measured["raised"] == "KeyboardInterrupt"
    assert measured["after"] < SECONDS


@pytest.mark.parametrize("name", CALLS)
def test_stop_flag(name: str) -> None:
    measured = measure("stopped", name)
    assert measured["raised"] == "Cancelled"
    assert measured["after"] < SECONDS
    # The other thread sleeps a millisecond at a time: with the GIL held it would wait for the
    # polls of the call, 20 a second, or for its end.
    assert measured["steps"] >= 10
    assert measured["pause"] < 0.02
