"""Response-time tests of placed tasks by name, for methods that run them many times in the core."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypedDict

import numpy as np

from gpusched._support.arguments import Int64Array, one_of
from gpusched._support.registry import enumeration, methods
from gpusched.analysis.contexts import gcaps, time_slices
from gpusched.analysis.partitioned import fmlp_plus, gpu_server, mpcp, stgm
from gpusched.analysis.partitioned_inputs import LOCK_MODES, sm_sets_of
from gpusched.analysis.verdict import Verdict
from gpusched.model.host_tasks import HostTasks

__all__ = ["PLACED_TESTS", "PlacedTest", "TestOptions", "placed_test", "run_test"]

_TESTS: dict[str, Callable[..., Verdict]] = {
    test.__name__: test for test in (stgm, mpcp, fmlp_plus, gpu_server, time_slices, gcaps)
}
PLACED_TESTS = tuple(_TESTS)
"""Names of the tests, each of which is proven to be monotone in every time."""

_COSTS = {"gpu_server": "overhead", "time_slices": "switch", "gcaps": "update"}
_FIXED_POINTS = enumeration("analysis.context_fixed_point")


class TestOptions(TypedDict):
    """The options of a test in the form that functions of the core take."""

    method: str
    cpus: int
    sms: int
    mode: int
    fixed_point: int
    slice: int
    cost: int
    switch: int
    stall: bool
    jitter: bool


@dataclass(frozen=True)
class PlacedTest:
    """A test of a set or a stack: its verdict, and its arguments as the core takes them.

    Attributes
    ----------
    verdict
        The verdict for the set as it is.
    arrays
        Columns of the tasks, cores, sets of SMs (stgm), cores of the server (gpu_server) and GPU
        priorities (gcaps); None for those that the test does not have.
    options
        The options for the core.
    """

    verdict: Verdict
    arrays: tuple[Any, Int64Array, Any, Any, Any]
    options: TestOptions


def run_test(hosts: HostTasks, test: str, options: Mapping[str, Any], stop: Any = None) -> Verdict:
    """Run the test of that name and return its verdict.

    Raises ValueError for an unknown test or option and for a variant that is not sound, and the
    errors of the test.
    """
    one_of(test, _TESTS, "test")
    function = _TESTS[test]
    known = [name for name in inspect.signature(function).parameters if name != "hosts"]
    for name in options:
        if name not in known or name == "stop":
            takes = ", ".join(name for name in known if name not in ("stop", "variant"))
            raise ValueError(f"{name}: got an unknown option of {test}, expected one of {takes}")
    variant = options.get("variant", "sound")
    if variant != "sound":
        one_of(variant, ("sound",), "variant")
    if test == "time_slices" and "slice" not in options:
        raise ValueError("slice: got none, expected the length of a slice for time_slices")
    return function(hosts, stop=stop, **options)


def placed_test(
    hosts: HostTasks, test: str, options: Mapping[str, Any], stop: Any = None
) -> PlacedTest:
    """A test in the form that the core takes; raises the errors of `run_test`."""
    verdict = run_test(hosts, test, options, stop)
    order_free = bool(options.get("order_free", False))
    way = "order_free" if order_free else options.get("fixed_point", _FIXED_POINTS[0])
    priority = options.get("gpu_priority")
    defaults = {option.name: option.default for option in methods()[test].options}
    cores = np.atleast_2d(hosts.core)
    if priority is not None:
        priority = np.ascontiguousarray(np.broadcast_to(priority, cores.shape), np.int64)
    server = None if verdict.server is None else np.atleast_1d(verdict.server)
    sm = sm_sets_of(hosts, verdict.sms) if test == "stgm" else None
    return PlacedTest(
        verdict,
        (hosts._columns(), cores, sm, server, priority),
        {
            "method": test,
            "cpus": verdict.cpus,
            "sms": verdict.sms,
            "mode": LOCK_MODES.index(verdict.mode),
            "fixed_point": _FIXED_POINTS.index(way),
            "slice": int(options.get("slice", 0)),
            "cost": int(options.get(_COSTS.get(test, ""), 0)),
            "switch": int(options.get("switch", 0)) if test == "gcaps" else 0,
            "stall": bool(options.get("stall", False)),
            "jitter": options.get("suspension", defaults.get("suspension")) == "jitter",
        },
    )
