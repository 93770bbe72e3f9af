"""Calls one function of gpusched._core with every hostile argument in every position.

Run by test_hostile.py, in a process for each function. By hand: hostile_calls.py FUNCTION LOG. A
call is written to LOG before it is made, so that the call of a crash or a hang is the last line.
"""

from __future__ import annotations

import ctypes
import datetime
import faulthandler
import gc
import inspect
import os
import random
import resource
import signal
import sys
import warnings
from collections.abc import Callable, Iterator
from functools import cache
from operator import attrgetter
from typing import Any

import forked
import numpy as np
import standin
from native import positional

from gpusched import CPU, GPU, CopyIn, CopyOut, Kernel, Platform, Task, Workload, _core
from gpusched.comparison.derived_models import DerivedModels
from gpusched.comparison.machine_models import machine_model

# Methods are named with their types: FifoSimulation.run.
TYPES = (
    "FifoSimulation",
    "HostSimulation",
    "HierarchySimulation",
    "MachineSimulation",
    "Policy",
    "CudaDriver",
    "CudaDevice",
)


# Write files and shared memory, start threads or change them: rt/test_execute.py and
# rt/test_python_programs.py have their refusals.
ELSEWHERE = {
    "MachineSimulation.execute",
    *(f"runtime_{name}" for name in ("ends_open", "jobs_open", "lock_open", "lock_remove")),
    *(f"runtime_{name}" for name in ("log_create", "log_join", "now", "player_open")),
    *(f"runtime_{name}" for name in ("server_open", "thread")),
}


def public_names() -> list[str]:
    """The functions of the module and the methods of its types."""
    functions = [name for name in dir(_core) if inspect.isbuiltin(getattr(_core, name))]
    methods = [
        f"{kind}.{name}"
        for kind in TYPES
        for name in vars(getattr(_core, kind))
        if not name.startswith("_")
    ]
    return [name for name in functions + methods if name not in ELSEWHERE]


def named(name: str) -> Callable[..., Any]:
    found: Callable[..., Any] = attrgetter(name)(_core)
    return found


# Kept, since CPython 3.11 cannot read the signatures of several built-ins in threads at once.
@cache
def parameters_of(name: str) -> tuple[str, ...]:
    return tuple(inspect.signature(named(name)).parameters)


PERIOD = np.array([[4, 5, 10]])
COMPLETION = np.array([[0, 1, 3, 4, 3, 4, 4, 6]])
START = np.array([0, 1, 5, 6, 9, 10, 14, 15, 18])
END = np.array([1, 5, 6, 9, 10, 14, 15, 18, 19])
BATCH = np.array([1, 6, 1, 2, 1, 6, 1, 2, 1])
# Two sets of three tasks and of two: period, deadline, priority, segments, jitter, cpu, copy in,
# kernel on 1 or 2 SMs, copy out, and the number of tasks of each set.
HOSTS = (
    np.array([[60, 80, 120], [70, 90, 0]]),
    np.array([[60, 80, 90], [70, 90, 0]]),
    np.array([[0, 1, 2], [1, 0, 0]]),
    np.array([[1, 2, 0], [0, 1, 0]]),
    np.array([[0, 0, 0], [0, 0, 0]]),
    np.array([[[3, 2, 0], [5, 1, 2], [10, 0, 0]], [[9, 0, 0], [5, 1, 0], [0, 0, 0]]]),
    np.array([[[1, 0], [2, 1], [0, 0]], [[0, 0], [2, 0], [0, 0]]]),
    np.array([[[[6, 4], [0, 0]], [[8, 5], [4, 3]], [[0, 0], [0, 0]]],
              [[[0, 0], [0, 0]], [[7, 7], [0, 0]], [[0, 0], [0, 0]]]]),
    np.array([[[1, 0], [1, 2], [0, 0]], [[0, 0], [3, 0], [0, 0]]]),
    np.array([3, 2]),
)  # fmt: skip

# Two tasks, with CPU work, copies and kernels.
PROGRAM = {
    "period": [90, 120], "deadline": [90, 200], "jitter": [0, 5], "core": [0, 0],
    "priority": [0, 1], "level": [0, 1], "channel": [0, 0], "part": [0, 1],
    "kind": [[0, 1, 2, 1], [2, 2, 0, 0]], "time": [[2, 2, 4, 1], [10, 3, 2, 0]],
    "engine": [[0, 0, 0, 1], [0, 0, 0, 0]], "blocks": [[0, 0, 2, 0], [3, 1, 0, 0]],
    "threads": [[0, 0, 32, 0], [64, 32, 0, 0]], "block_time": [[0, 0, 4, 0], [5, 3, 0, 0]],
    "regs": [[0, 0, 8, 0], [0, 0, 0, 0]], "smem": [[0, 0, 0, 0], [0, 64, 0, 0]],
    "waits": [[0, 1, 0, 0], [1, 0, 0, 0]],
}  # fmt: skip

# A good argument for every name of a parameter, and for the functions that mean another thing.
ARGUMENTS: dict[str, Any] = {
    "times": np.array([0, 9, 7, 0]),
    "partitions": 1,
    "stream_partition": np.array([0, 0]),
    "part": np.array([[0, 1]]),
    "part_sms": np.array([1, 1]),
    "before_begin": np.array([0, 0, 0]),
    "before": np.array([], np.int64),
    "best": np.array([1, 0]),
    "waits": np.array([[[0, 1, 0, 0], [1, 0, 0, 0]]]),
    "windows": True,
    "instances": False,
    "assumed": np.array([-1, -1]),
    "parts": 2,
    "rule": 1,
    "shares": np.array([1, 2, 1, 1, 1, 4]),  # low, high, gap of a simulation of hosts
    "after": np.array([0, 1]),
    "after_begin": np.array([0, 0, 1, 2]),
    "apart": None,
    "at": 2,
    "awake": 1000,
    "batch": BATCH,
    "batches": np.array([1, 5], np.uint64),
    "beta": np.array([5]),
    "bins": 8,
    "block_time": np.array([[4, 3, 6]]),
    "blocks": np.array([4, 4]),
    "blocks_max": 8,
    "budget": 100,
    "busy": True,
    "bytes": 1 << 20,
    "capacity": 256,
    "chained": 0,
    "channel": np.array([[0, 0]]),
    "channel_ended": True,
    "channels": 1,
    "closer": False,
    "cluster": np.array([2, 1, 1]),
    "completion": COMPLETION,
    "context": np.array([0, 0, 1]),
    "cooperative": np.array([1, 0, 0]),
    "copy_engines": np.array([1, 3]),
    "copy_in": 1,
    "copy_out": 1,
    "core": np.array([[0, 1, 0]]),
    "count": 2,
    "cpu": [[3, 4], [5, 6], [7, 8]],
    "cpu_only": False,
    "cpus": 2,
    "cycle_from": 0,
    "cycle_length": 0,
    "cycles": 2,
    "data": b'{"traceEvents": [{"ph": "X", "cat": "a", "args": {"b": [1]}}, 7, {"ph": 1}]}',
    "deadline": PERIOD.copy(),
    "demand": PERIOD.copy(),
    "depth_limit": -1,
    "device": None,
    "discard": True,
    "draw": 1,
    "function": (),
    "empty": True,
    "driver": None,
    "end": END,
    "engine": np.array([[[0]]]),
    "even": False,
    "even_copy": True,
    "events": 0,
    "factor": 3,
    "fields": ((), ((b"name", 0, 0, False), (b"args.b", 3, -5, True))),
    "first": 0,
    "first_only": False,
    "fixed": np.frombuffer(b"<, >", np.uint8),
    "fixed_point": 0,
    "fixed_begin": np.array([0, 1, 3, 4]),
    "flags": 0,
    "floating": np.array([9, 0, 5]),
    "given": np.array([3, 1, 2, 5]),
    "given_begin": np.array([0, 4, 4, 4]),
    "gpu": 0,
    "gpus": 2,
    "gpu_priority": np.array([[0, 1, 2], [3, 4, 5]]),
    "graph": np.array([0, 0]),
    "group": np.array([1, 0, 0, 1, 1, 0, 1, 1, 0]),
    "groups": 2,
    "high": 1.0,
    "explore": True,
    "hosts": HOSTS,
    "idling": False,
    "image": b"image",
    "index": 0,
    "inside": PERIOD.copy(),
    "instant": 0,
    "integer": np.array([0, 9, 5]),
    "interference": np.array([1000, 1700, 2000, 3000] * 3),
    "carveout": np.array([-1, 0, 40_000]),
    "interval": 2,
    "iterations": np.array([0, 9]),
    "kernel": [[[6, 4]], [[5, 5]], [[4, 2]]],
    "kernels": (),
    "jobs": [[3, (1, [6, 4], 1), 2], [5], [4, (1, 9, 1)]],
    "key": np.array([1, 2, 3, 4], np.uint64),
    "kind": np.array([0, 1, 0]),
    "last": True,
    "latest": np.array([-1, 5]),
    "latency": 4,
    "launches": np.array([0, 2]),
    **dict.fromkeys(("launch_cpu", "graph_launch_cpu", "kernel_gap", "wake_latency"), 1),
    "lead": 1000,
    "least": 10**9,
    "level": np.array([0, 1, 1]),
    "lifo": False,
    "limit": np.array([0, 1, 2]),
    "limits": None,
    "load": None,
    "lock": 1,
    "lock_memory": False,
    "log_blocks": True,
    "log_intervals": True,
    "log_waves": True,
    "longest": 1000,
    "low": 0.5,
    "m": np.array([8]),
    "merge": True,
    "methods": 30,
    "mode": 0,
    "most": 19 * 10**8,
    "crowd": 128,
    "n": 3,
    "ns": np.array([100, 0]),
    "offset": np.zeros((1, 3), np.int64),
    "order": 1,
    "overhead": 1,
    "overlap": False,
    "own_queues": np.array([1, 0, 0]),
    "paper": False,
    "parallel": True,
    "partition": np.array([0, 0, 1]),
    "partition_sms": np.array([2, 1]),
    "path": "libcuda.so.1",
    "pending": np.array([1, 1, 1]),
    "period": PERIOD,
    "percent": 50,
    "periods": np.array([4, 5, 10]),
    "place": 3,
    "placement": 0,
    "policy": 0,
    "policy_limit": 1000,
    "position": 17,
    "precedence": np.zeros((1, 3), np.int64),
    "prices": np.array([1, 2, 2]),
    "priority": np.array([[0, -1, 0]]),
    "profiles": np.array([[10**6, 6 * 10**5, 4 * 10**5], [10**6, 10**6, 10**6]]),
    "programmatic": np.array([1, 1, 0]),
    "ranges": np.array([[1, 5], [50000, 300000], [200000, 2 * 10**6], [1, 3], [1, 9], [0, 10**6]]),
    "repeating": False,
    "report": None,
    "round": 0,
    "rounding": 0,
    "rate": np.array([1, 1]),
    "whole_ticks": False,
    "work": np.array([1, 2]),
    "realtime": 0,
    "proof": True,
    "pruning": 0,
    "skip": 0,
    "regs": np.array([32, 32]),
    "release": np.array([0, 40, 5, 7]),
    "release_begin": np.array([0, 2, 3, 4]),
    "repeats": 2,
    "ring": 0,
    "runlist": np.array([0, 1, 1]),
    "resident_grids": 2,
    "runs": 3,
    "scale": 1,
    "scheduler": np.array([0, 1, 0]),
    "seconds": 1.0,
    "separate": True,
    "segments": None,
    "server": np.array([2]),
    "server_overhead": 1,
    "server_period": np.array([5]),
    "set": np.array([0, 2, 1]),
    "set_begin": np.array([0, 2, 2, 3]),
    "settle": 0,
    "share": np.array([0.3, 0.4]),
    "shared_channels": True,
    "channels_until_end": True,
    "shortest": 10,
    "sizes": np.array([32, 64]),
    "slack": np.array([[0, 3, 0]]),
    "slice": 2,
    "sm": np.array([[[1, 0], [1, 1], [0, 0]]], np.uint8),
    "sm_order": np.arange(8),
    "smem": np.array([0, 0]),
    "sm_threads": 1024,
    "sms": np.array([1]),
    "soonest": np.array([0, 0, 0]),
    "sms_per_gpc": np.array([3, 5]),
    "span_begin": np.array([0, 1, 1]),
    "span_first": np.array([0]),
    "span_last": np.array([2]),
    "speed_ups": np.array([2, 4]),
    "stall": False,
    "jitter": False,
    "start": START,
    "states": 10**5,
    "steps": 1000,
    "stop": None,
    "strategy": 0,
    "stream": None,
    "stream_kind": np.array([2, 0, 1]),
    "stream_priority": np.array([0, -1]),
    "subset": None,
    "switch": 1,
    "context_switch": 3,
    "table": (
        *("", "+s", 3, (None,)),
        (
            ("a", "l", 3, (np.array([5], np.uint8), np.arange(3)), (), None),
            (
                "b",
                "U",
                3,
                (None, np.array([0, 1, 1, 3]), np.frombuffer(b"xyz", np.uint8)),
                (),
                None,
            ),
        ),
        None,
    ),
    "task": 1,
    "tasks": np.array([0, 1, 2]),
    "texts": np.frombuffer(b"onetwo", np.uint8),
    "texts_begin": np.array([0, 3, 6]),
    "theorems": 511,
    "thorough": True,
    "threads": np.array([128, 160]),
    "tick": 1,
    "ticks": 10,
    "tolerance": 2,
    "time": np.array([0, 0, 7]),
    "timeslice": np.array([10, 5]),
    "trigger": np.array([-1, 0, 2]),
    "triggers": np.array([1]),
    "undecided": np.zeros((1, 8), np.int64),
    "until": np.array([500]),
    "update_cost": 1,
    "utilization": np.array([0.5, 1.0]),
    "values": np.array([[5, -5, 0], [0, 1, 1]]),
    "variant": 0,
    "victim": np.array([-1]),
    "wait": 0,
    "want_graph": True,
    "wanted": ((b"a", b"", 1),),
    "way": "stgm",
    "wcet": np.array([[1, 3, 3]]),
    "whole": False,
    "window": 10,
}


# Good calls beside the first one, by what they change: the tests of a lock and of divided SMs.
APART = np.array([[0, 0, 1], [0, 0, 0], [1, 0, 0]], np.uint8)
OTHERS = {"host_placed_test": ({"way": "gpu_server"}, {"way": "stgm", "apart": APART})}

HOST_SIMULATION = ("host_open", "host_responses", "host_challenge")
GEDF = (*("gedf_response", "container_response", "srm_blocking", "elliott_draw", "elliott_study"),)


MACHINE_LOGS = {"log_jobs", "log_operations", "log_blocks", "log_cpus"}


@cache
def machine_arguments() -> dict[str, Any]:
    """Good arguments of a machine, with sets of SMs, frames, given releases and times."""
    kernel = Kernel(blocks=3, threads=256, block_time=4)
    tasks = [
        Task("a", 40, [CPU(3), CopyIn(2), kernel, CPU(1)], jitter=3),
        Task("b", 60, [kernel, kernel.replace(blocks=2), CopyOut(5)]),
    ]
    gpu = GPU(sms=3, threads_per_sm=1024, blocks_per_sm=8, copy_engines=2)
    model = machine_model(
        DerivedModels(
            Workload(tasks),
            Platform(gpu, cpus=2, launch_latency=1, launch_cpu=1, kernel_gap=1, wake_latency=1),
        ),
        "stgm",
        until=240,
        end=1000,
        sms=[[0, 1], [1, 2]],
        table=[(0, 9, [(0, 0, 0), (1, 0, 0)]), (20, 29, [(1, 0, 1)])],
        releases=[[(0, 2), 40, 80], [(5, 9), 70]],
        times=[[[2, 1, 3, 1], [3, 2, 4, 1]], [[4, 2, 2]]],
    )
    gpus = [(one._limits, one.sm_order) for one in model.gpus]
    logs = dict.fromkeys(MACHINE_LOGS, True)
    return {"gpus": gpus, **model.columns, **model.numbers, "runs": 0, **logs}


def arguments(name: str) -> dict[str, Any]:
    """Good arguments by parameter, in order."""
    gpu = GPU(sms=8, threads_per_sm=1024, blocks_per_sm=32, carveouts=[0, 16_384, 65_536])
    values = ARGUMENTS | {"limits": gpu._limits}
    if name == "oracle_by_placement":
        shape = {"blocks": [[4, 4, 4]], "threads": [[32] * 3], "regs": [[8] * 3], "smem": [[0] * 3]}
        values |= {key: np.array(value) for key, value in shape.items()}
    if name == "rules_check":
        kernels = ([0, 1], [0, 3], [0, 3], [32, 64], [8, 0], [0, 9], [0, -1], [0, 0])
        blocks = ([0, 0, 1], [1, 0, 0], [0, 1, 2], [0, 0, 4], [9, 8, 7])
        values["kernels"] = tuple(np.array(row) for row in kernels)
        values["blocks"] = tuple(np.array(row) for row in blocks)
    if name == "generate_gcaps":
        pairs = [[1, 3], [400_000, 600_000], [30, 500], [0, 10**6], [1, 3], [0, 10**6], [0, 10**6]]
        values |= {"ranges": np.array(pairs), "ticks": 1000}
    if name == "row_text":
        values["kind"] = np.array([2, 3])
    if name == "sm_usage":
        values |= {"sms": 8, "sm": np.arange(9) % 3, "threads": 32 + np.arange(9)}
    if name == "holistic":
        values |= {key: np.array([column]) for key, column in PROGRAM.items()}
        values |= {"sms": 2, "sm_threads": 64, "limits": None, "rule": 1}
        values |= {"latency": 1, "timeslice": 3, "context_switch": 1}
    if name == "priority_streams":
        chains = {"period": [[90, 60, 40]], "level": [[0, 1, 1]]}
        columns = {"blocks": [2, 1], "threads": [64, 32], "block_time": [3, 5]}
        columns |= {"latency": [1, 0], "regs": [8, 0], "smem": [0, 512]}
        chains |= {key: [[row] * 3] for key, row in columns.items()}
        values |= {key: np.array(value) for key, value in chains.items()}
        values |= {"sms": 8, "sm_threads": 1024, "kind": 1}
        values |= {"partition": np.array([[0, 1, 1]]), "partition_sms": np.array([3, 5])}
    if name.startswith("fifo_"):
        kernels = {"period": [[40, 30, 24]], "blocks": [[2, 4, 1]], "threads": [[3, 2, 4]]}
        values |= {key: np.array(value) for key, value in kernels.items()}
        values |= {"regs": np.array([[8, 0, 32]]), "smem": np.array([[0, 512, 0]])}
        values |= {"least": np.array([[1, 3, 2]])}
        values |= {"begin": np.array([[0, 1, 2, 3]]), "latency": np.array([[0, 2, 1]])}
        values |= {"soonest": np.array([[0, 1, 1]]), "order": 0}
        if name != "fifo_responses":  # one set instead of a stack, of single kernels
            values |= {"begin": None, "latency": None, "soonest": None, "order": 1}
            one = {key: values[key][0] for key in ("until", "victim", "triggers")}
            values |= {key: int(value) for key, value in one.items()}
        if name == "fifo_open":
            arrays = {key: value for key, value in values.items() if type(value) is np.ndarray}
            one = {key: value[0] for key, value in arrays.items() if value.ndim == 2}
            values |= one | {"m": 8, "stream": np.array([2, 1, 2]), "slack": np.zeros(3, np.int64)}
    if name == "host_set":  # of a single set, whose numbers are in lists
        values |= {"period": [90, 60, 40], "deadline": [90, 50, 40], "offset": 0, "jitter": 0}
        values |= {"core": [0, 1, 0], "priority": None}
    if name.startswith("FifoSimulation."):
        values["self"] = positional(_core.fifo_open)(*arguments("fifo_open").values())
    if name == "CudaDevice.run":
        values["at"] = np.array([0, 50])
    if name.startswith("hierarchy_"):
        system = {"blocks": [4, 0, 9], "threads": [64, 0, 96], "regs": [8, 0, 32]}
        system |= {"smem": [0, 0, 512], "stream": [0, 1, 2], "priority": [0, 0, -1]}
        system |= {"least": [5, 20, 3], "most": [5, 20, 9], "graph": [-1, -1, 3]}
        system |= {"partition": [0, 1, 2], "limit": [0, 2, 1], "own_queues": [1, 0, 0]}
        system |= {"set_begin": [0, 3, 3, 3], "set": [5, 0, 1], "cluster": [2, 1, 3]}
        values |= {key: np.array(value) for key, value in system.items()}
    if name == "machine_open":
        values |= machine_arguments()
    if name.startswith("MachineSimulation."):
        opened = arguments("machine_open")
        if name.endswith(".stack"):
            opened |= dict.fromkeys(opened.keys() & MACHINE_LOGS, False) | {"runs": 2}
        values["self"] = positional(_core.machine_open)(*opened.values())
    if name.startswith("HierarchySimulation."):
        values["self"] = positional(_core.hierarchy_open)(*arguments("hierarchy_open").values())
    if name.startswith("HostSimulation."):
        values["self"] = positional(_core.host_open)(*arguments("host_open").values())
    if name in HOST_SIMULATION:
        rows = ([[12, 9, 20]], [[12, 9, 20]], [[0, 1, 2]], [[1, 2, 0]], [[0, 0, 0]])
        cpu, copy = [[[1, 1, 0], [0, 1, 1], [5, 0, 0]]], [[[1, 0], [1, 1], [0, 0]]]
        kernel = [[[[3, 2], [0, 0]], [[2, 2], [1, 1]], [[0, 0], [0, 0]]]]
        columns = (*rows, cpu, copy, kernel, copy, [3])
        values |= {"hosts": tuple(np.array(column) for column in columns)}
        values |= {"core": np.array([[0, 1, 0]]), "cpus": 2, "sms": 2, "mode": 0}
        values |= {"sm": np.array([[[1, 0], [1, 1], [0, 1]]], np.uint8), "server": np.array([1])}
        values |= {"overhead": 1, "triggers": 2}
        values["gpu_priority"] = np.array([[0, 1, 2]])
        values["time"] = np.array(
            [[1, 1, 2, 1, 1, 0, 0, 0, 0]] * 2 + [[0, 1, 2, 1, 1, 1, 1, 1, 1]] + [[5] + [0] * 8]
        )
    elif "hosts" in parameters_of(name):
        values |= {"core": np.array([[0, 1, 0], [1, 0, -1]]), "sms": 2, "server": np.array([2, 0])}
        values["sm"] = np.array([[[1, 0], [1, 1], [0, 0]], [[0, 0], [0, 1], [0, 0]]], np.uint8)
    if "timeslice" in parameters_of(name) and "way" in parameters_of(name):
        values |= {"timeslice": 2, "way": "gpu_server" if name == "host_partition" else "gcaps"}
    if name in GEDF:
        values |= {"cpus": 2, "methods": 30, "demand": np.array([[1, 2, 6]]), "overhead": 50}
        values |= {"inside": np.array([[0, 1, 1]]), "server_period": np.array([5])}
        values["sizes"] = np.array([2])
        values |= {"lock": 1, "rounding": 0, "empty": True, "count": 3, "gpu": 500}
        values |= {"utilization": np.array([0.1, 0.4]), "share": np.array([0.3, 0.4])}
        values |= {"periods": np.array([1500, 6000]), "speed_ups": np.array([2, 4]), "bins": 8}
    if name == "demand_interval":  # which looks at many intervals before one has too much work
        parts = {"period": [40, 30, 24], "start": [0, 3, 5], "window": [20, 9, 12]}
        parts |= {"work": [7, 5, 4], "rate": [1, 2, 1]}
        values |= {key: np.array(value) for key, value in parts.items()} | {"capacity": 1}
    if name == "pbs_search":
        values["policy"] = True
    if name.startswith("pbs_function"):
        shapes = np.array([[4, 32, 8, 0], [9, 64, 0, 512], [2, 32, 8, 0]])
        columns = (PERIOD[0], np.array([1, 3, 3]), shapes, gpu._limits, np.arange(8)[::-1])
        key = np.array([1, 2, 3, 4], np.uint64)
        values["function"] = (*columns, key, 0, 10**9, 19 * 10**8)
        values |= {"tasks": np.array([0, 2]), "least": False, "batch": 5, "round": 1, "skip": 0}
        values["batches"] = np.array([1, 5, 7], np.uint64)
        if name == "pbs_function_search":
            values |= {"period": PERIOD[0], "deadline": PERIOD[0], "offset": 0 * PERIOD[0]}
    if name == "pbs_proof_interval":
        values |= {"start": 0, "end": 10, "least": 6}
    if name == "pbs_proof_states":
        states = {"window": [10, 20], "prices": [[1, 2, 2], [0, 3, 0]], "scale": [1, 2]}
        states |= {"start": [0, 4], "pending": [[1, 1, 1], [1, 0, 1]]}
        values |= {key: np.array(value) for key, value in states.items()}
    if name == "policy_open" or name.startswith("Policy."):
        found = _core.pbs_search(
            *(PERIOD, PERIOD, 0 * PERIOD, COMPLETION, None),
            idling=False,
            thorough=True,
            policy=True,
            policy_limit=0,
            states=0,
            bytes=0,
            seconds=0.0,
            stop=None,
        )
        assert found[3] is not None
        begin, first, last = found[3]
        values |= {"begin": begin, "first": first, "last": last}
        values["self"] = _core.policy_open(
            PERIOD, PERIOD, 0 * PERIOD, COMPLETION, begin, first, last
        )
    if name in ("bandwidth_batches", "bandwidth_slowdowns"):
        values |= {"demand": np.array([60, 70]), "capacity": 100}
    if name.lower().startswith("cuda"):
        values |= cuda_arguments(name)
    return {key: values[key] for key in parameters_of(name)}


def cuda_arguments(name: str) -> dict[str, Any]:
    """Those of the CUDA backend, on the stand-in driver."""
    path = str(standin.build())
    driver = _core.cuda_driver(path)
    columns = {"kind": [0, 2], "stream": [0, 1], "stream_kind": [1, 2], "stream_priority": [0, 0]}
    columns |= {"variant": [3, 0], "bytes": [0, 4096], "cluster": [1, 1], "trigger": [0, 0]}
    columns |= {"programmatic": [0, 0], "stream_partition": [0, 0]}
    values: dict[str, Any] = {key: np.array(value) for key, value in columns.items()}
    values |= {"path": path, "self": driver, "sms": 0, "partitions": 1}
    if name.startswith("CudaDevice."):
        values["self"] = driver.device(0, b"image")
    if name == "CudaDevice.occupancy":
        values |= {"variant": 3, "threads": 64, "smem": 1000}
    if name == "CudaDevice.carveout":
        values["percent"] = 50
    if name == "CudaDevice.play":
        three = {"period": [4, 5, 10], "deadline": [4, 5, 10], "offset": [0, 0, 0]}
        three |= {"graph": [0, 0, 0], "variant": [0, 1, 2], "blocks": [1, 2, 3], "smem": [0, 0, 9]}
        three |= {"threads": [32, 64, 99], "ns": [9, 0, 5], "iterations": [0, 5, 5]}
        three |= {"bytes": [0, 0, 512]}
        values |= {key: np.array(value) for key, value in three.items()}
        values |= {"tick": 100_000, "order": None, "strategy": 1, "policy": None}
    if name == "CudaDevice.fault":  # which succeeds where the driver answers that all is well
        ctypes.CDLL(path).standin_set(b"fault", 0)
    return values


def wrong_policies(chance: random.Random) -> Iterator[tuple[str, Any]]:
    """Policies that were opened with wrong spans, as far as policy_open lets them pass."""
    opened = arguments("policy_open")
    for key in ("completion", "begin", "first", "last"):
        for label, value in changed(opened[key], chance):
            try:
                policy = positional(_core.policy_open)(*(opened | {key: value}).values())
            except ALLOWED:
                continue
            yield f"opened with {key}={label}", policy


class Boom(Exception):
    """Exception of the objects below."""


class Raises:
    """Has every conversion, and each of them fails."""

    def boom(self, *_: Any, **__: Any) -> Any:
        raise Boom

    __array__ = __bool__ = __buffer__ = __float__ = __getitem__ = __index__ = __len__ = boom


class Lies(list):  # type: ignore[type-arg]
    """A list that is longer than it says, or shorter."""

    def __len__(self) -> int:
        return 3


class Several:
    """A different array every time it is asked."""

    def __init__(self) -> None:
        self.calls = 0

    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        self.calls += 1
        return np.ones((1, self.calls % 5), np.int64)


def hostile() -> dict[str, Any]:
    """Hostile arguments by a name for the log."""
    endless: list[Any] = []
    endless.append(endless)
    ends = np.iinfo(np.int64)
    frozen = np.array([[4, 5, 10]])
    frozen.flags.writeable = False
    values: dict[str, Any] = {
        repr(value): value
        for value in [
            *[None, True, 0, -1, 1, 21, 2**31, 2**32, 2**62, 2**63 - 1, 2**63, -(2**63), 2**64],
            *[-(2**64), 0.0, -0.5, 1e-320, 1e308, float("nan"), float("inf"), -float("inf"), 1j],
            *["", "text", b"", b"\0", b"bytes", bytearray(b"\1"), [], [[]], [[[]]], {}, set(), ()],
            *[[4, 5, 10], [[4, 5, 10]], [[4.5, 5, 10]], [[4, None, 10]], [[1, 2], [3]], ["a"]],
        ]
    }
    values |= {
        "10**5000": 10**5000,
        "object": object(),
        "type": int,
        "function": len,
        "endless": endless,
        "Raises": Raises(),
        "[Raises]": [Raises()],
        "Lies": Lies([1, 2]),
        "[Lies]": [Lies([1, 2, 3, 4])],
        "Several": Several(),
        "capsule": datetime.datetime_CAPI,
        "memoryview": memoryview(bytearray(64))[::2],
        "read-only": frozen,
        "Fortran": np.asfortranarray(np.ones((3, 3), np.int64)),
        "strided": np.arange(12).reshape(1, 12)[:, ::-4],
        "swapped": np.array([[4, 5, 10]], ">i8"),
        "unaligned": np.frombuffer(bytes(25), np.int64, offset=1).reshape(1, 3),
        "beyond memory": np.broadcast_to(np.int64(1), (1, 2**40)),
        "long beyond memory": np.broadcast_to(np.int64(1), (2**40,)),
        "nothing, 2**40 times": np.zeros((2**40, 0), np.int64),
        "masked": np.ma.masked_array([[4, 5, 10]], mask=[[True, False, True]]),
        "objects": np.array([[4, None, "x"]], object),
        "big objects": np.array([[2**70, 1, 1]], object),
        "strings": np.array([["4", "5", "10"]]),
        "dates": np.array([["2020-01-01"]], "M8[D]"),
        "records": np.zeros((1, 3), "i8,f8"),
        "NaN": np.full((1, 3), np.nan),
        "infinite": np.full(3, np.inf),
    }
    for shape in [(), (0,), (0, 0), (0, 3), (1, 0), (3, 0), (1,), (3,), (8,), (1, 3), (2, 3)]:
        values[f"ones{shape}"] = np.ones(shape, np.int64)
    for shape in [(1, 1), (1, 2), (1, 8), (1, 20), (1, 21), (1, 64), (2, 2, 2), (1,) * 8]:
        values[f"ones{shape}"] = np.ones(shape, np.int64)
    for kind in "?bBhHiIqQefdgFDSU":
        values[f"{kind} array"] = np.ones((1, 3)).astype(kind)
    for value in (ends.min, -1, 0, 2**31, 2**61, ends.max):
        values[f"full {value}"] = np.full((1, 3), value)
        values[f"row of {value}"] = np.full(3, value)
    return values


def changed(value: Any, chance: random.Random, entries: int = 40) -> Iterator[tuple[str, Any]]:
    """Good arguments with wrong content: these come furthest. So many single entries of arrays."""
    if type(value) is int:
        for item in (-(2**63), -2, -1, 0, 1, 2, 3, 5, 19, 20, 21, 2**31, 2**61, 2**62, 2**63 - 1):
            yield str(item), item
    if isinstance(value, np.ndarray):
        info = np.finfo(value.dtype) if value.dtype.kind == "f" else np.iinfo(value.dtype)
        extremes = [info.min, -1, 0, 1, 2, 2**16, 2**31, 2**59, 2**61 - 1, 2**62, info.max]
        extremes = [item for item in extremes if info.min <= item <= info.max]
        if value.dtype.kind == "f":
            extremes += [np.nan, np.inf, -np.inf, 1e-300]
        for item in extremes:
            yield f"all {item}", np.full_like(value, item)
        for _ in range(entries if value.size else 0):
            other = value.copy()
            at = chance.randrange(value.size)
            other.flat[at] = chance.choice(extremes)
            yield f"{other.flat[at]} at {at}", other
        yield "reversed", value[..., ::-1]
        yield "shorter", value[..., :-1]
        yield "longer", np.concatenate([value, value], axis=-1)
        yield "two", np.concatenate([value, value])
        yield "none", value[:0]
    if isinstance(value, tuple):
        for at, item in enumerate(value):
            for label, other in changed(item, chance, entries // 2):
                yield f"[{at}] {label}", (*value[:at], other, *value[at + 1 :])


class Slow(Exception):
    """The call was stopped: it may be long, but not deaf."""


def stop(*_: Any) -> None:
    raise Slow


REFUSALS = (
    TypeError,
    ValueError,
    OverflowError,
    MemoryError,
    BufferError,
    OSError,
    _core.CudaError,
)
ALLOWED = (*REFUSALS, _core.Cancelled, Boom, Slow)
SECONDS = 0.06  # some more than the core computes between two looks for a signal
WAITING = 0.004  # for those of a device, which do not compute but wait for it
# Leaks are looked for where calls are not slow: those that were stopped are not made again.
LEAKS = os.environ.get("GPUSCHED_HYPOTHESIS") != "quick"

LIMITS: dict[str, Any] = {"bytes": 1 << 26, "seconds": 0.05, "stop": None}
# What was opened is run as well, since the arguments matter then.
GO_ON: dict[str, Callable[[Any], Any]] = {
    "fifo_open": lambda opened: opened.run(steps=1000, states=0, **LIMITS),
    "host_open": lambda opened: opened.run(steps=1000, states=0, **LIMITS),
    "hierarchy_open": lambda opened: opened.run(steps=1000, states=0, **LIMITS),
    "machine_open": lambda opened: opened.run(steps=1000, states=0, **LIMITS),
}


class Calls:
    """Makes calls, each of them logged first."""

    def __init__(self, name: str, log: int) -> None:
        self.name = name
        self.log = log
        self.function = positional(named(name))
        self.made = self.answered = 0
        self.stopped: set[str] = set()
        self.seconds = WAITING if name.startswith("CudaDevice.") else SECONDS

    def make(self, values: list[Any], label: str) -> None:
        if label in self.stopped:
            return
        os.write(self.log, f"{self.name}: {label}\n".encode(errors="replace"))
        self.made += 1
        try:
            try:
                signal.setitimer(signal.ITIMER_REAL, self.seconds)
                answer = self.function(*values)
                if self.name in GO_ON:
                    GO_ON[self.name](answer)
                self.answered += 1
            finally:
                signal.setitimer(signal.ITIMER_REAL, 0)
        except ALLOWED as error:
            if isinstance(error, Slow):
                self.stopped.add(label)
            error.__traceback__ = None

    def make_all(self, good: dict[str, Any]) -> None:
        chance = random.Random(1)
        bad = hostile()
        names, values = list(good), list(good.values())
        for count in {0, 1, len(values) - 1, len(values) + 1}:
            self.make((values * 2)[:count], f"{count} arguments")
        entries = max(8, min(40, 400 // len(names)))
        for at, name in enumerate(names):
            for label, value in [*bad.items(), *changed(values[at], chance, entries)]:
                self.make([*values[:at], value, *values[at + 1 :]], f"{name}={label}")
        if self.name.startswith("Policy."):
            for label, policy in wrong_policies(chance):
                of = good | {"self": policy}
                self.make([*of.values()], f"policy {label}")
                for name in {"instant", "pending", "start"} & good.keys():
                    for inner, value in changed(good[name], chance):
                        self.make(
                            [*(of | {name: value}).values()], f"policy {label}, {name}={inner}"
                        )
        for label, value in bad.items():
            self.make([value] * len(values), f"all={label}")
        for _ in range(200):  # several wrong contents, which no single check may stop
            mixed, labels = list(values), []
            for at in chance.sample(range(len(values)), min(len(values), chance.choice([2, 3]))):
                choices = [*changed(values[at], chance)] or [*bad.items()]
                label, mixed[at] = chance.choice(choices)
                labels.append(f"{names[at]}={label}")
            self.make(mixed, ", ".join(labels))


def begin() -> None:
    faulthandler.enable()
    signal.signal(signal.SIGALRM, stop)
    warnings.simplefilter("ignore")


def serve() -> None:
    """Answer to test_hostile.py."""
    begin()
    standin.build()  # once for all processes
    if LEAKS:
        # NumPy and Python keep some small blocks of every size for later use. Without this the
        # passes of each process would add up to a hundred of them, which look like a leak.
        good = arguments("schedule_replay")
        for _ in range(3):
            Calls("schedule_replay", os.open(os.devnull, os.O_WRONLY)).make_all(good)
        gc.collect()
    forked.serve(main)


def arrays_of(good: dict[str, Any]) -> Iterator[tuple[str, np.ndarray]]:
    """The arrays among the arguments, and in tuples of arrays."""
    for name, value in good.items():
        for at, item in enumerate(value if isinstance(value, tuple) else (value,)):
            if isinstance(item, np.ndarray):
                yield f"{name}[{at}]" if item is not value else name, item


def main(name: str, log: str) -> None:
    begin()
    if not os.environ.get("GPUSCHED_SANITIZE"):  # which need all of the address space
        resource.setrlimit(resource.RLIMIT_AS, (4 << 30, 4 << 30))
    good = arguments(name)
    calls = Calls(name, os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600))
    calls.function(*good.values())  # must be answered, or nothing below comes far

    arrays = [*arrays_of(good)]
    counts = [sys.getrefcount(array) for _, array in arrays]
    held = []
    for _ in range(3 if LEAKS else 1):
        for change in ({}, *OTHERS.get(name, ())):
            calls.make_all(good | change)
        gc.collect()
        held.append(sys.getallocatedblocks())
    after = [sys.getrefcount(array) for _, array in arrays]
    names = [name for name, _ in arrays]
    assert after == counts, f"references of {names}: {counts} before, {after} after"
    if LEAKS:  # a leak grows every time, a cache once
        leaked = min(held[1] - held[0], held[2] - held[1])
        assert leaked < 200, f"{leaked} objects kept by {calls.made // 3} calls"
    print(calls.made, calls.answered)


if __name__ == "__main__":
    if sys.argv[1:] == ["serve"]:
        serve()
    else:
        main(*sys.argv[1:])
