"""Tests of sets whose more urgent tasks take all of a core, with deadlines of 10^9 periods.

Response times grow by a tick a period there, so an iteration alone would take minutes.
"""

from __future__ import annotations

import threading
from typing import Any

import pytest

import gpusched as gs

pytestmark = pytest.mark.python

FAR = 10**17
SETS = {
    "equal": gs.HostTasks([2, 2, FAR], [1, 1, 1], core=0, priority=[0, 1, 2]),
    "thirds": gs.HostTasks([3, 3, 3, FAR], [1, 1, 1, 1], core=0, priority=[0, 1, 2, 3]),
    "uneven": gs.HostTasks([7, 7, FAR], [3, 4, 1], core=0, priority=[0, 1, 2]),
    "beyond": gs.HostTasks(
        [10**6 + 3, 10**6 + 33, FAR], [500_002, 500_018, 1], core=0, priority=[0, 1, 2]
    ),
}
CALLS: list[tuple[str, dict[str, Any]]] = [
    *[("stgm", {"mode": mode}) for mode in ("suspend", "busy")],
    ("stgm", {"variant": "paper"}),
    ("stgm", {"suspension": "split"}),
    *[(test, {"fixed_point": "one_pass"}) for test in ("mpcp", "fmlp_plus", "gpu_server")],
    *[(test, {}) for test in ("mpcp", "fmlp_plus", "gpu_server")],
    *[("time_slices", {"timeslice": 5, "mode": mode}) for mode in ("suspend", "busy")],
    ("time_slices", {"timeslice": 5, "variant": "paper"}),
    *[("gcaps", {"mode": mode}) for mode in ("suspend", "busy")],
    ("gcaps", {"variant": "paper"}),
]


@pytest.mark.parametrize(("test", "options"), CALLS)
@pytest.mark.parametrize("name", SETS)
def test_decided_without_iterating(name: str, test: str, options: dict[str, Any]) -> None:
    hosts, stop = SETS[name], bytearray(1)
    guard = threading.Timer(30, stop.__setitem__, (0, 1))  # a failure instead of a hang
    guard.start()
    try:
        answer = getattr(gs.analysis, test)(hosts, stop=stop, **options)
    finally:
        guard.cancel()
    assert not answer.accepted
    assert answer.response.mask[-1]
