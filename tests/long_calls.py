"""Long calls into the core, to be interrupted: python long_calls.py KIND CALL.

Run by test_interrupt.py, in a process for each call. The measured times are printed as JSON.
"""

from __future__ import annotations

import faulthandler
import gzip
import json
import os
import pkgutil
import signal
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from importlib import import_module
from typing import Any

import forked
import numpy as np
from long_stacks import STACKS

import gpusched as gs
from gpusched import _core
from gpusched.pbs.exact_search import search_function

DELAY = 0.15


def hard(n: int, sets: int) -> tuple[Any, Any]:
    """Task sets that take far longer than this test; the same one `sets` times."""
    chance = np.random.default_rng(1)
    period = 1000 * chance.choice([400, 480, 600, 800, 1200, 1600], n)
    wcet = np.maximum(1, chance.dirichlet(np.ones(n)) * 1.2 * period).astype(int)
    tasks = gs.KernelTasks(period=period, wcet=wcet)
    table = gs.BatchTable.from_utilization(tasks, slowdown="large", seed=1)
    if sets > 1:
        tasks = gs.KernelTasks(period=[period] * sets, wcet=wcet)
    return tasks, table


def search() -> Callable[[Any], Any]:
    tasks, table = hard(16, 100)
    return lambda stop: gs.pbs.search(tasks, table, thorough=True, stop=stop)


def search_one() -> Callable[[Any], Any]:
    tasks, table = hard(18, 1)
    budget = gs.pbs.Budget(bytes=None)
    return lambda stop: gs.pbs.search(tasks, table, thorough=True, budget=budget, stop=stop)


def graph() -> Callable[[Any], Any]:
    tasks, table = hard(16, 1)
    budget = gs.pbs.Budget(bytes=None)
    return lambda stop: gs.pbs.search(tasks, table, method="graph", budget=budget, stop=stop)


def edf() -> Callable[[Any], Any]:
    tasks = gs.KernelTasks(period=[2, 10**15], wcet=1)
    table = gs.BatchTable(completion=[0, 1, 1, 1])
    budget = gs.pbs.Budget(bytes=None)
    return lambda stop: gs.pbs.edf_serial(tasks, table, budget=budget, stop=stop)


def partition() -> Callable[[Any], Any]:
    """Seventeen tasks of which no three fit one of eight GPUs: all ways to form pairs."""
    tasks = gs.KernelTasks(period=[100] * 17, wcet=34)
    table = gs.BatchTable([34 * (mask.bit_count() == 1) for mask in range(1 << 17)])
    return lambda stop: gs.pbs.partition(tasks, table, gpus=8, stop=stop)


def certificate() -> Callable[[Any], Any]:
    tasks = gs.KernelTasks(period=[100] * 20, wcet=1)
    table = gs.BatchTable(completion=np.r_[0, np.ones(2**20 - 1, np.int64)])
    proof = gs.pbs.DeadInterval(0, 100, tuple(range(20)), 101)
    return lambda stop: proof.verify(tasks, table, stop=stop)


def function_table() -> Callable[[Any], Any]:
    tasks = gs.KernelTasks(period=[100] * 24, wcet=1, blocks=3, threads=256)
    times = gs.BatchFunction.from_gpu(tasks, "pbs2024", seed=1)
    return lambda stop: times.table(stop=stop)


def function_search() -> Callable[[Any], Any]:
    tasks = gs.generate.gpusched(40, 2.4, seed=77)
    times = gs.BatchFunction.from_utilization(tasks, (1.7, 1.9), seed=1)
    budget = gs.pbs.Budget(seconds=600)
    options: Any = {"idling": False, "budget": budget, "progress": False}
    # Without schedules: cores are drawn as long as the budget lasts.
    return lambda stop: search_function(tasks, times, **options, stop=stop, skip=15)


def play() -> Callable[[Any], Any]:
    tasks = gs.KernelTasks(period=[4, 5, 10], wcet=[1, 3, 3])
    table = gs.BatchTable(completion=[0, 1, 3, 4, 3, 4, 4, 6])
    found = gs.pbs.search(tasks, table, policy=True)
    return lambda stop: found.policy.play(found.schedule, runs=2 * 10**7, seed=1, stop=stop)


# One kernel of the FIFO model that runs alone, with a million waves for each job: a long run that
# needs little memory.
LONELY = gs.KernelTasks(period=[10**7], block_time=5, blocks=10**6)


def fifo() -> Callable[[Any], Any]:
    options: Any = {"until": 2**58, "waves": False, "settle": "no"}
    return lambda stop: gs.simulate.fifo(LONELY, 1, stop=stop, **options)


def fifo_responses() -> Callable[[Any], Any]:
    return lambda stop: gs.simulate.fifo_responses(LONELY, 1, until=2**58, stop=stop)


def hierarchy() -> Callable[[Any], Any]:
    launches = gs.Launches(range(64), 10, stream=range(64), blocks=2**30, threads=1024)
    return lambda stop: gs.simulate.hierarchy(launches, "TX2", blocks=False, stop=stop)


LONELY_HOST = gs.HostTasks([100], cpu=[10], core=0)


def host() -> Callable[[Any], Any]:
    budget = gs.pbs.Budget(bytes=1 << 40)
    return lambda stop: gs.simulate.host(
        LONELY_HOST, 1, until=2**40, intervals=False, stop=stop, budget=budget
    )


def host_responses() -> Callable[[Any], Any]:
    return lambda stop: gs.simulate.host_responses(LONELY_HOST, 1, until=2**58, stop=stop)


def challenge_search() -> Callable[[Any], Any]:
    budget = gs.pbs.Budget(states=10**12)
    return lambda stop: gs.simulate.challenge(
        LONELY_HOST, 1, "mpcp", budget=budget, exhaustive=False, stop=stop
    )


def challenge_exploration() -> Callable[[Any], Any]:
    budget = gs.pbs.Budget(states=10**12, bytes=None)
    hosts = gs.HostTasks(range(180, 188), cpu=[[20]] * 8, core=range(8))
    return lambda stop: gs.simulate.challenge(
        hosts, 8, "mpcp", budget=budget, exhaustive=True, stop=stop
    )


def warps() -> Callable[[Any], Any]:
    return lambda stop: gs.simulate.warps(10**12, [10**12] * 16, stop=stop)


def stack_of(sets: int, *rows: tuple[int, int]) -> Any:
    """Copies of one set of CPU tasks, (period, CPU time)."""
    one = gs.HostTasks(period=[row[0] for row in rows], cpu=[[row[1]] for row in rows])
    return tuple(np.repeat(column[None], sets, 0) for column in one._columns())


def placed_test(hosts: Any, way: str) -> Callable[[Any], Any]:
    """The test of a way for tasks of one core."""
    options: Any = {"cpus": 1, "sms": 1, "mode": 0, "variant": 0, "fixed_point": 0, "timeslice": 1}
    options |= {"context_switch": 0, "update_cost": 0, "server_overhead": 0, "stall": False}
    options |= {"way": way, "jitter": False}
    arrays = (hosts, np.zeros(hosts[0].shape, int), None, None, None, None)
    return lambda stop: _core.host_placed_test(*arrays, **options, stop=stop)


def host_test() -> Callable[[Any], Any]:
    # The first two take nearly all of the core: their jobs meet the window of the last one in
    # turns, by a tick more each time, until they leave room for it.
    hosts = stack_of(1, (2**29, 2**28), (2**29 + 1, 2**28), (2**59, 1))
    return placed_test(hosts, "mpcp")


def context_test() -> Callable[[Any], Any]:
    # Many sets of 200 tasks, of which each may meet all others on its core and in the ring.
    periods = [2000 + 10 * i for i in range(200)]
    one = gs.HostTasks.from_segments(periods, [[2, (0, 3, 0), 2]] * 200)
    hosts = tuple(np.repeat(column[None], 3000, 0) for column in one._columns())
    return placed_test(hosts, "time_slices")


def many_tasks(sets: int) -> Any:
    """Sets of 60 tasks with kernels on one core, which take all of the core."""
    periods = [2000 + 10 * i for i in range(60)]
    one = gs.HostTasks.from_segments(periods, [[12, (0, 13, 0), 12]] * 60, core=[0] * 60)
    return gs.HostTasks.stack([one] * sets)


def breakdown() -> Callable[[Any], Any]:
    hosts = many_tasks(2000)
    options: Any = {"timeslice": 1, "context_switch": 1}
    return lambda stop: gs.analysis.breakdown(hosts, "time_slices", stop=stop, **options)


def assign_priorities() -> Callable[[Any], Any]:
    hosts = many_tasks(2000)
    return lambda stop: gs.analysis.assign_priorities(hosts, "mpcp", stop=stop)


def demand() -> Callable[[Any], Any]:
    # Windows that the work of 200 parts fills exactly, which recur together after ages.
    count = np.arange(200)
    columns = [10**6 + 2 * count + 1, 0 * count, 10 * (count + 1), 0 * count + 10, 0 * count + 1]
    return lambda stop: _core.demand_interval(*columns, capacity=1, budget=2**31 - 1, stop=stop)


def host_allocation() -> Callable[[Any], Any]:
    drawn = gs.generate.stgm(16, 1, seed=1, cpus=4, utilization=(0.5, 0.6))
    hosts = tuple(np.repeat(column, 20_000, 0) for column in drawn._columns())
    return lambda stop: _core.host_stgm_allocate(
        hosts, cpus=4, sms=13, busy=True, paper=0, flags=32, stop=stop
    )


def host_groups() -> Callable[[Any], Any]:
    # One set, in which 750 tasks are merged into 13 groups in every step.
    hosts = gs.generate.stgm(1500, 1, seed=1, gpu_ratio=(1, 1), utilization=(0.5, 0.6))._columns()
    return lambda stop: _core.host_stgm_allocate(
        hosts, cpus=4, sms=13, busy=False, paper=0, flags=32, stop=stop
    )


def read_trace() -> Callable[[Any], Any]:
    # 4 GB, which are packed to 10 MB: members of gzip one after the other.
    event = b',{"ph": "X", "cat": "cpu_op", "name": "aten::add", "args": {"a": [1, 2]}}'
    parts = [b'{"traceEvents": [{}', *[event * 14_000] * 3900, b"]}"]
    packed = {part: gzip.compress(part) for part in set(parts)}
    file = tempfile.TemporaryFile()
    file.writelines(packed[part] for part in parts)
    file.seek(0)
    return lambda _: gs.io.read_trace(f"/dev/fd/{file.fileno()}")


# Single sets of many tasks, which take seconds to draw, sort and clear.
LARGE_SETS: dict[str, Callable[[], Callable[[Any], Any]]] = {
    "large_set_uunifast": lambda: lambda _: gs.generate.uunifast(10**8, 1, seed=1),
    "large_set_gpusched": lambda: lambda _: gs.generate.gpusched(3 * 10**7, 1, seed=1),
    "large_set_fifo": lambda: lambda _: gs.generate.fifo(3 * 10**7, 1, seed=1),
    "large_set_stgm": lambda: lambda _: gs.generate.stgm(10**7, seed=1),
}


def workload() -> gs.Workload:
    """Many tasks, of which every row of a comparison and every margin takes its time."""
    tasks = []
    for i in range(300):
        segments = [gs.CPU(200), *[gs.Kernel(200, blocks=40, threads=256)] * 20, gs.CPU(3)]
        tasks.append(gs.Task(f"t{i}", 10**7 * (1 + i % 7), segments))
    return gs.Workload(tasks)


def comparison() -> Callable[[Any], Any]:
    w, platform = workload(), gs.Platform("xavier", cpus=4)

    def endless(stop: Any) -> None:
        while True:
            gs.compare(w, platform, stop=stop)

    return endless


def margin() -> Callable[[Any], Any]:
    w, platform = workload(), gs.Platform("xavier", cpus=4)
    return lambda stop: gs.margin(w, platform, "stgm", stop=stop)


def instances() -> Callable[[Any], Any]:
    """All assignments of 16 tasks to GPU instances, none of which is accepted."""
    kernel = gs.Kernel("4ms", blocks=2000, threads=512)
    tasks = [gs.Task(f"t{i}", f"{30 + i}ms", [kernel]) for i in range(16)]
    w, platform = gs.Workload(tasks, tick="us"), gs.Platform("H100")

    def endless(stop: Any) -> None:
        while True:
            gs.mig(w, platform, stop=stop)

    return endless


CALLS: dict[str, Callable[[], Callable[[Any], Any]]] = {
    f.__name__: f
    for f in (
        *(search, search_one, graph, edf, play, fifo, fifo_responses, hierarchy, warps),
        *(host_test, context_test, host_allocation, host_groups, host, host_responses),
        *(comparison, margin, instances, certificate, partition, breakdown, assign_priorities),
        *(function_table, function_search, demand),
        *(challenge_search, challenge_exploration),
    )
}
WITHOUT_FLAG = {"read_trace": read_trace} | LARGE_SETS | STACKS


def interrupted(call: Callable[[Any], Any]) -> dict[str, Any]:
    """Ctrl-C during the call: which exception, and how long after the signal."""
    sent = [0.0]
    begin = threading.Event()

    def send() -> None:
        begin.wait()
        time.sleep(DELAY)
        sent[0] = time.monotonic()
        os.kill(os.getpid(), signal.SIGINT)

    thread = threading.Thread(target=send)
    thread.start()
    ended = False
    begin.set()  # not before: without a GIL the signal could arrive while the thread starts
    try:
        call(None)
        ended = True  # before the signal: the call was not long
        time.sleep(60)
        raised, after = "nothing", 0.0
    except BaseException as error:
        after = time.monotonic() - sent[0]
        raised = "nothing: the call had ended" if ended else type(error).__name__
    thread.join()
    return {"raised": raised, "after": after}


def stopped(call: Callable[[Any], Any]) -> dict[str, Any]:
    """The stop flag, set by another thread, which the released GIL lets run meanwhile."""
    flag = bytearray(1)
    times: list[float] = []
    begin = threading.Event()

    def set_flag() -> None:
        begin.wait()
        end = time.monotonic() + DELAY
        while time.monotonic() < end:
            times.append(time.monotonic())
            time.sleep(0.001)
        flag[0] = 1

    thread = threading.Thread(target=set_flag)
    thread.start()
    raised = "nothing"
    began = time.monotonic()
    begin.set()
    try:
        call(flag)
    except BaseException as error:
        raised = type(error).__name__
    ended = time.monotonic()
    thread.join()
    pauses = np.diff([began, *times])
    return {
        "raised": raised,
        "after": ended - began - DELAY,
        "pause": float(np.median(pauses)),
    }


def import_package() -> None:
    """Imports all that a call may need, as Python drops a Ctrl-C that comes during some imports."""
    for info in pkgutil.walk_packages(gs.__path__, "gpusched."):
        if not info.name.endswith("__main__"):
            import_module(info.name)


def main(kind: str, name: str) -> None:
    faulthandler.enable()
    # A shell that runs the tests in the background lets its children ignore Ctrl-C.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    call = (CALLS | WITHOUT_FLAG)[name]()
    print(json.dumps({"interrupted": interrupted, "stopped": stopped}[kind](call)))


if __name__ == "__main__":
    import_package()
    if sys.argv[1:] == ["serve"]:
        forked.serve(main)
    else:
        main(*sys.argv[1:])
