"""Calls of which one allocation after the other fails.

Run by test_allocation_faults.py in processes of its own. By
hand: allocation_faults.py WAY LIBRARY STARTS CALL..., where WAY is ``python`` (the allocators of
Python, through _testcapi), ``malloc`` (what the C module and NumPy ask of the C library, with the
preloaded LIBRARY, c/fail_malloc.c) or ``core`` (the C module alone). At most STARTS allocations of
a call are chosen to fail. A call is a function of gpusched._core or a key of PUBLIC.

Where allocations fail, NumPy and pandas themselves may raise SystemError or crash, so that the
calls of PUBLIC can be held to an answer or a MemoryError in the third way alone.
"""

from __future__ import annotations

import ctypes
import faulthandler
import gc
import io
import json
import sys
from array import array
from collections.abc import Callable, Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import forked
import numpy as np
from hostile_calls import arguments, named, public_names
from native import positional

import gpusched as gs

TRACE = Path(__file__).parent / "data" / "pipeline.pt.trace.json"
BURST = 6  # so many in a row: the handling of the first failure meets others
QUIET = 40  # starts without a failure after which the call is taken to make no more allocations

KERNELS = gs.KernelTasks(period=[4, 5, 10], wcet=[1, 3, 3])
TABLE = gs.BatchTable([0, 1, 3, 4, 3, 4, 4, 6])
GRIDS = gs.KernelTasks(period=[40, 50], wcet=[10, 10], blocks=[2, 3], threads=[512, 512])
HOSTS = gs.HostTasks.from_segments(
    [9, 12], [[2, (1, 3, 1), 1], [2, (1, 2, 1), 2]], core=[0, 1], priority=[0, 1]
)
BLOCKS = GRIDS.replace(block_time=[10, 5])
STGM = gs.generate.stgm(4, seed=1, cpus=2, sms=4)
SEGMENTS = [gs.CPU(20), gs.Kernel(300, blocks=4, threads=256), gs.CPU(5)]
WORKLOAD = gs.Workload([gs.Task("a", 3000, SEGMENTS), gs.Task("b", 4000, SEGMENTS)])
PLATFORM = gs.Platform("xavier", cpus=2)
SCHEDULE = gs.pbs.search(KERNELS, TABLE).schedule
LAUNCHES = gs.Launches([0, 0, 3], [3, 4, 2], blocks=[3, 3, 9])


def saved_again() -> Any:
    buffer = io.StringIO()
    WORKLOAD.to_frame().to_csv(buffer)
    return buffer.getvalue()


# Representative calls of every namespace; an answer is compared as text.
PUBLIC: dict[str, Callable[[], Any]] = {
    "KernelTasks": lambda: gs.KernelTasks([40, 50], [10, 10], blocks=[2, 3]).deadline.tolist(),
    "HostTasks.from_segments": lambda: gs.HostTasks.from_segments(
        [9, 12], [[2, (1, 3, 1), 1], [2, (1, 2, 1), 2]]
    ).cpu.tolist(),
    "BatchTable.from_gpu": lambda: gs.BatchTable.from_gpu(GRIDS, "xavier", seed=1),
    "Workload": lambda: gs.Workload(
        [gs.Task("a", "3ms", [gs.CPU("1ms"), gs.Kernel("20us", blocks=4, threads=32)])]
    ),
    "Workload.kernels": lambda: WORKLOAD.kernels(PLATFORM).tasks,
    "Launches.build": lambda: gs.Launches([0, 0], [3, 4], blocks=[3, 3]).to_frame().to_csv(),
    "Workload.to_frame": saved_again,
    "generate.gpusched": lambda: gs.generate.gpusched(4, 1.5, count=3, seed=1).wcet.tolist(),
    "generate.stgm": lambda: gs.generate.stgm(4, 2, seed=1).cpu.tolist(),
    "generate.elliott": lambda: gs.generate.elliott("medium", count=2, seed=1).cpu.tolist(),
    "pbs.search": lambda: gs.pbs.search(KERNELS, TABLE).schedule,
    "pbs.graph.search": lambda: gs.pbs.search(KERNELS, TABLE, method="graph").schedulable,
    "pbs.edf_serial": lambda: gs.pbs.edf_serial(KERNELS, TABLE).schedulable,
    "pbs.margin": lambda: gs.pbs.margin(KERNELS, TABLE).factor,
    "Schedule.to_svg": lambda: SCHEDULE.to_svg(),
    "analysis.mpcp": lambda: gs.analysis.mpcp(HOSTS).response.tolist(),
    "analysis.stgm_allocate": lambda: gs.analysis.stgm_allocate(STGM, 2, 4).schedulable,
    "analysis.breakdown": lambda: repr(gs.analysis.breakdown(HOSTS, "mpcp").why()),
    "simulate.fifo": lambda: gs.simulate.fifo(BLOCKS, 1024, until=200).end.tolist(),
    "simulate.host": lambda: gs.simulate.host(HOSTS, 2, "mpcp", until=60).end.tolist(),
    "simulate.hierarchy": lambda: gs.simulate.hierarchy(LAUNCHES, "TX2").why(),
    "simulate.challenge": lambda: gs.simulate.challenge(
        HOSTS, 2, "mpcp", budget=gs.pbs.Budget(states=200), seed=1
    ).why(),
    # gs.compare would give a row whose reason is the memory.
    "analyze": lambda: gs.analyze(WORKLOAD, PLATFORM, "mpcp").why(),
    "observe": lambda: gs.observe(WORKLOAD, PLATFORM, "fmlp_plus").why(),
    "margin": lambda: repr(gs.margin(WORKLOAD, PLATFORM, "stgm")),
    "io.read_trace": lambda: gs.io.read_trace(TRACE).kernels().to_frame().to_csv(),
    "sweep": lambda: (
        gs.sweep(share, {"load": [0.5]}, count=3, seed=1, workers=1, progress=False, key="share")
        .to_frame()
        .to_csv()
    ),
}


def share(*, load: float, count: int, first: int, seed: Any) -> dict[str, Any]:
    return {"share": gs.generate.uunifast(2, load, count=count, seed=seed, first=first)[:, 0]}


def leaves(answer: Any) -> Iterator[Any]:
    if isinstance(answer, dict):
        answer = list(answer.values())
    if isinstance(answer, (tuple, list)):
        for item in answer:
            yield from leaves(item)
    elif isinstance(answer, np.ndarray):
        yield answer.tolist()
    else:
        yield type(answer).__name__ if " at 0x" in repr(answer) else answer


def text_of(name: str, answer: Any) -> str:
    """An answer without handles, times and memory."""
    if name in PUBLIC:
        return str(answer)
    if name.startswith("Cuda"):  # times of its own
        return ""
    if name == "graph_search":
        answer = {key: value for key, value in answer.items() if key not in ("seconds", "bytes")}
    if name == "pbs_search":
        answer = (answer[0][:4], *answer[1:])
    return str(list(leaves(answer)))


def call_of(name: str) -> Callable[[], Any]:
    if name in PUBLIC:
        return PUBLIC[name]
    values = arguments(name)
    fixed = positional(named(name))
    given = tuple(values.values())
    return lambda: fixed(*given)


class Python:
    """Python's own allocators: object, memory and raw."""

    def __init__(self, _: str) -> None:
        import _testcapi

        self.begin = _testcapi.set_nomemory
        self.stop = _testcapi.remove_mem_hooks

    def count(self, call: Callable[[], Any]) -> int:
        """The number of starts, the last ones of which fail nothing."""
        start = quiet = 0
        while quiet < QUIET:
            quiet = 0 if isinstance(self.fail(call, start, BURST), BaseException) else quiet + 1
            start += 1
        return start - QUIET

    def fail(self, call: Callable[[], Any], start: int, many: int) -> Any:
        """The answer of a call of which some allocations fail, from 0, or its exception."""
        self.begin(start, start + many)
        try:
            answer = call()
        except BaseException as error:
            self.stop()
            return error
        self.stop()
        return answer


class Malloc:
    """Allocations that shared objects make in the C library."""

    def __init__(self, library: str, objects: bytes) -> None:
        self.objects = objects
        self.library = ctypes.CDLL(library)
        self.library.fail_malloc_set.argtypes = [ctypes.c_char_p, ctypes.c_long, ctypes.c_long]
        self.library.fail_malloc_stop.restype = ctypes.c_long

    def count(self, call: Callable[[], Any]) -> int:
        """The number of allocations."""
        assert self.library.fail_malloc_set(self.objects, 0, 0) == len(self.objects.split())
        call()
        return int(self.library.fail_malloc_stop())

    def fail(self, call: Callable[[], Any], start: int, many: int) -> Any:
        """The answer of a call of which some allocations fail, from 0, or its exception."""
        self.library.fail_malloc_set(self.objects, start + 1, many)
        try:
            answer = call()
        except BaseException as error:
            self.library.fail_malloc_stop()
            return error
        self.library.fail_malloc_stop()
        return answer


INJECTORS: dict[str, Callable[[str], Python | Malloc]] = {
    "python": Python,
    "malloc": lambda library: Malloc(library, b"gpusched/_core _multiarray_umath"),
    "core": lambda library: Malloc(library, b"gpusched/_core"),
}


def tried(name: str, injector: Python | Malloc, most: int) -> dict[str, Any]:
    """Let allocations of a call fail, alone and with those after it, and judge the ends."""
    call = call_of(name)
    for _ in range(3):  # what is kept for the next call is there
        expected = text_of(name, call())
    found = {"allocations": injector.count(call), "injected": 0, "refused": 0, "answered": 0}
    starts = range(0, found["allocations"], max(1, -(-found["allocations"] // most)))
    wrong: list[str] = []
    for start in starts:
        for many in (1, BURST):
            got = injector.fail(call, start, many)
            found["injected"] += 1
            if isinstance(got, MemoryError):
                found["refused"] += 1
            elif isinstance(got, BaseException):
                wrong.append(f"{many} from {start}: {type(got).__name__}: {got}")
            elif text_of(name, got) != expected:
                wrong.append(f"{many} from {start}: another answer: {text_of(name, got)[:200]}")
            else:
                found["answered"] += 1
    if text_of(name, call()) != expected:
        wrong.append("another answer after the failures")
    return found | {
        "wrong": wrong,
        "grown": 0 if name in PUBLIC else growth(call, injector, starts),
    }


def growth(call: Callable[[], Any], injector: Python | Malloc, starts: range) -> int:
    """Blocks of memory that one more round of failures leaves behind, the least of some rounds."""
    rounds = array("q")  # no objects, which would count
    for _ in range(4):
        for start in starts:
            for many in (1, BURST):
                injector.fail(call, start, many)
        gc.collect()
        rounds.append(sys.getallocatedblocks())
    return min(later - earlier for earlier, later in pairwise(rounds))


def main(way: str, library: str, most: str, *calls: str) -> None:
    """Print what came of the failures, a line of JSON for each call, after its name."""
    faulthandler.enable()
    injector = INJECTORS[way](library)
    gc.freeze()  # the modules: each look for leaks would go through them
    for name in calls:
        print(name, end=" ", flush=True)
        print(json.dumps(tried(name, injector, int(most))), flush=True)


FUNCTIONS = sorted(public_names())

if __name__ == "__main__":
    if sys.argv[1:] == ["serve"]:
        forked.serve(main)
    else:
        main(*sys.argv[1:])
