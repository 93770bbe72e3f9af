"""Every public function that can run long is interrupted in test_interrupt.py, or stated short."""

from __future__ import annotations

import inspect

import pytest
from long_calls import CALLS, WITHOUT_FLAG

import gpusched as gs

pytestmark = pytest.mark.source

# The long call that enters the same function of the core, or the same loop.
LONG = {
    "analysis.assign_priorities": "assign_priorities",
    "analysis.breakdown": "breakdown",
    "analysis.container": "gedf",
    "analysis.fifo_bound": "fifo_bound",
    "analysis.fifo_limit": "fifo_bound",
    "analysis.fmlp_plus": "host_test",
    "analysis.gcaps": "context_test",
    "analysis.gedf_tardiness": "gedf",
    "analysis.gpu_server": "host_test",
    "analysis.mpcp": "host_test",
    "analysis.partition": "host_allocation",
    "analysis.holistic": "comparison",
    "analysis.priority_streams": "comparison",
    "analysis.srm": "srm",
    "analysis.stgm": "stgm",
    "analysis.stgm_allocate": "host_groups",
    "analysis.stgm_exhaustive": "stgm_exhaustive",
    "analysis.time_slices": "context_test",
    "analyze": "comparison",
    "choose": "comparison",
    "compare": "comparison",
    "compare_sliders": "comparison",
    "generate.elliott": "generate_elliott",
    "generate.fifo": "generate_fifo",
    "generate.gcaps": "generate_gcaps",
    "generate.gpusched": "generate_gpusched",
    "generate.stgm": "generate_stgm",
    "generate.uunifast": "generate_uunifast",
    "generate.uunifast_discard": "generate_uunifast",
    "io.read_trace": "read_trace",
    "margin": "margin",
    "mig": "instances",
    "observe": "comparison",
    "pbs.edf_parallel": "edf",
    "pbs.edf_serial": "edf",
    "pbs.margin": "search",
    "pbs.partition": "partition",
    "pbs.search": "search",
    "simulate.challenge": "challenge_exploration",
    "simulate.fifo": "fifo",
    "simulate.fifo_responses": "fifo_responses",
    "simulate.hierarchy": "hierarchy",
    "simulate.host": "host",
    "simulate.host_responses": "host_responses",
    "simulate.warps": "warps",
}
# Loops in Python over the calls above, or over the points of a sweep: test_sweep.py, test_cli.py,
# test_executors.py and test_elliott.py interrupt them.
LOOPS = {
    *("sweep", "merge", "open_store"),
    *(f"experiments.{name}" for name in gs.experiments.__all__ if name.islower()),
}
# Wait for a device: test_cuda_play.py and test_cuda.py interrupt them.
DEVICE = {f"cuda.{name}" for name in ("measure", "partition_times", "play", "probe")}
# Wait for instants: rt/test_execute.py and rt/test_python_programs.py stop them.
REAL = {"rt.execute", "rt.jobs"}
# Take time in proportion to a file or to a few arrays; loops of Python or calls of milliseconds.
SHORT = {
    *("analysis.cpu_only", "analysis.path_bounds", "analysis.schedulability"),
    *("Engine", "analysis.waiting_results", "methods", "occupancy", "place"),
    *(f"cuda.{name}" for name in ("devices", "gpu", "is_available", "why_not")),
    *(f"io.{name}" for name in ("agreement", "check_rules", "harmonic_periods")),
    *(f"io.{name}" for name in ("occupancy_agreement", "read_examiner", "read_examiner_config")),
    *(f"io.{name}" for name in ("read_job_set", "read_run_log")),
    *(f"io.{name}" for name in ("read_scenarios", "read_schedcat")),
    *(
        f"rt.{name}"
        for name in ("cflags", "get_include", "get_library_dir", "libs", "now", "thread")
    ),
    *(f"io.{name}" for name in ("write_examiner", "write_job_set")),
    *(f"profiles.{name}" for name in ("amdahl", "benchmarks", "plateau", "table", "waves")),
    *("deployable", "generate.rngs", "kept", "recipe", "simulate.block_times", "ways.as_way"),
}


def public_functions() -> set[str]:
    found = {name for name in gs._MEMBERS if inspect.isfunction(getattr(gs, name))}
    for module in gs._MODULES:
        owner = getattr(gs, module)
        found |= {
            f"{module}.{name}" for name in owner.__all__ if inspect.isfunction(getattr(owner, name))
        }
    return found


def test_every_public_function_is_listed_once() -> None:
    groups = (set(LONG), LOOPS, DEVICE, REAL, SHORT)
    listed = [name for group in groups for name in group]
    assert len(listed) == len(set(listed))
    assert set(listed) == public_functions()


def test_the_long_calls_exist() -> None:
    assert set(LONG.values()) <= {*CALLS, *WITHOUT_FLAG}
