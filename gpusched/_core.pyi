"""The C core as functions on arrays: private; use the package gpusched.

Inputs come first and may be given by position, options by name only. Arrays come in as anything
that NumPy casts safely (no floats for integers) and go out as new arrays. The docstrings of the
module describe them.
"""

from collections.abc import Callable
from typing import Any, Final, TypeAlias, final

import numpy as np
import numpy.typing as npt
from typing_extensions import Buffer

_In: TypeAlias = npt.ArrayLike
_Ints: TypeAlias = npt.NDArray[np.int64]
_Frames: TypeAlias = tuple[_Ints, _Ints, _Ints]  # start, end, batch
_Stop: TypeAlias = Buffer | tuple[Buffer | None, int] | None  # the pair: a Deadline
_Function: TypeAlias = tuple[_In, _In, _In | None, _In | None, _In | None, _In, int, int, int]
_Hosts: TypeAlias = tuple[_In, ...]  # HostTasks._columns(): eight, or nine with sizes
_Devices: TypeAlias = list[tuple[_In, _In | None]]  # limits and sm_order of each
_ArrowColumn: TypeAlias = tuple[str, str, int, tuple[Any, ...], tuple[Any, ...], Any]
_Flags: TypeAlias = npt.NDArray[np.int8]

WAYS: Final[tuple[dict[str, Any], ...]]  # descriptors; see gpusched.ways
METHODS: Final[tuple[dict[str, Any], ...]]  # descriptors; see gpusched.methods
ENUMERATIONS: Final[dict[str, tuple[str, ...]]]  # names by value or, for flags, by bit
LIMITS: Final[dict[str, int]]
CUDA_MISSING: Final[str]  # why the build has no kernels; "" with them
CUDA_TOOLKIT: Final[int]  # 1000 * major + 10 * minor of what compiled them; 0 without
__version__: Final[str]

class Cancelled(Exception): ...
class BudgetSpent(Cancelled): ...
class CudaError(RuntimeError): ...

# Handles, which cannot be made by calling their types, and functions: from the signatures in C,
# by tests/core_stub.py.

@final
class CudaDriver:
    def info(self) -> tuple[int, int, int, int]: ...
    def limits(self, index: int) -> tuple[str, _Ints]: ...
    def device(self, index: int, image: bytes | None) -> CudaDevice: ...

@final
class CudaDevice:
    def info(self) -> tuple[_Ints, int, int, bool]: ...
    def close(self) -> None: ...
    def fault(self) -> None: ...
    def carveout(self, percent: int) -> None: ...
    def occupancy(self, variant: int, threads: int, smem: int) -> int: ...
    def run(
        self, kind: _In, stream: _In, at: _In, variant: _In, blocks: _In, threads: _In, smem: _In,
        *, ns: _In, iterations: _In, bytes: _In, graph: _In, cluster: _In, trigger: _In,
        programmatic: _In, stream_kind: _In, stream_priority: _In, stream_partition: _In, sms: int,
        partitions: int, repeats: int, stop: _Stop
    ) -> tuple[_Ints, _Ints, _Ints, _Ints, _Ints, _Ints, _Ints, int]: ...
    def play(
        self, period: _In, deadline: _In, offset: _In, graph: _In, variant: _In, blocks: _In,
        threads: _In, *, smem: _In, ns: _In, iterations: _In, bytes: _In, start: _In, batch: _In,
        order: _In | None, policy: Policy | None, strategy: int, tick: int, cycles: int, wait: int,
        awake: int, lead: int, realtime: int, lock_memory: bool, stop: _Stop
    ) -> tuple[_Ints, _Ints, _Ints, _Ints, _Ints, _Ints, _Ints, _Ints, _Ints, _Ints, _Ints, int,
        int]: ...

@final
class Policy:
    def safe(self, instant: int, pending: _In) -> _Ints: ...
    def next(self, instant: int, pending: _In) -> int | None: ...
    def choose(self, instant: int, pending: _In) -> int: ...
    def play(
        self, start: _In, end: _In, batch: _In, *, strategy: int, runs: int, key: _In, low: float,
        high: float, stop: _Stop
    ) -> tuple[_Ints, _Ints, _Ints, _Ints, _Ints, _Ints]: ...

@final
class RuntimeLock:
    def join(self, urgency: int, *, ceiling: int) -> int: ...
    def leave(self, slot: int) -> None: ...
    def section(
        self, slot: int, *, task: int, job: int, spin: bool, timeout: int, stop: _Stop
    ) -> RuntimeSection: ...

@final
class RuntimeSection:
    def __enter__(self) -> bool: ...
    def __exit__(self, kind: object, error: object, trace: object) -> None: ...

@final
class RuntimeLog:
    def event(self, kind: int, task: int, job: int, value: int, *, time: int) -> None: ...

@final
class RuntimeEnds:
    def finish(self) -> None: ...

@final
class RuntimeJobs:
    def next(self, *, stop: _Stop) -> tuple[int, int, int] | None: ...
    def end(self) -> None: ...

@final
class RuntimePlayer:
    def work(self, task: int, *, handshake: bool, overrun: int) -> None: ...
    def run(
        self, submit: tuple[Callable[[int, int, int, int], object] | None, ...],
        ended: tuple[Callable[[int, int, int, int], object] | None, ...], *, first: int, cycles: int
    ) -> bool: ...
    def ready(self, task: int, job: int) -> bool: ...
    def done(self, task: int, job: int, *, until: int) -> int: ...
    def stop(self) -> None: ...

@final
class RuntimeServer:
    def serve(self) -> None: ...
    def run(
        self, task: int, submit: Callable[[], object], ended: Callable[[], object] | None, *,
        job: int, release: int, deadline: int, kernel: int, urgency: int, stop: _Stop
    ) -> int: ...
    def stop(self) -> None: ...

@final
class FifoSimulation:
    def run(
        self, *, steps: int, states: int, bytes: int, seconds: float, stop: _Stop
    ) -> tuple[int, bool, int, int, int]: ...
    def result(self) -> tuple[int, int, int, tuple[_Ints, _Ints, _Ints]]: ...
    def jobs(self) -> tuple[_Ints, _Ints, _Ints, _Ints, _Ints, _Ints]: ...
    def waves(self) -> tuple[_Ints, ...]: ...

@final
class HierarchySimulation:
    def run(
        self, *, steps: int, states: int, bytes: int, seconds: float, stop: _Stop
    ) -> tuple[int, bool, int, int, int]: ...
    def ops(self) -> tuple[_Ints, _Ints, _Ints, _Ints, _Ints, _Ints, _Ints, _Ints, _Ints]: ...
    def blocks(self) -> tuple[_Ints, _Ints, _Ints, _Ints, _Ints]: ...
    def waits(self) -> tuple[_Ints, _Ints, _Ints, _Ints, _Ints, _Ints]: ...
    def slices(self) -> tuple[_Ints, _Ints, _Ints]: ...

@final
class HostSimulation:
    def run(
        self, *, steps: int, states: int, bytes: int, seconds: float, stop: _Stop
    ) -> tuple[int, bool, int, int, int]: ...
    def result(self) -> tuple[_Ints, _Ints, _Ints]: ...
    def jobs(self) -> tuple[_Ints, _Ints, _Ints, _Ints, _Ints]: ...
    def intervals(self) -> tuple[_Ints, _Ints, _Ints, _Ints, _Ints, _Ints]: ...

@final
class MachineSimulation:
    def run(
        self, *, steps: int, states: int, bytes: int, seconds: float, stop: _Stop
    ) -> tuple[int, bool, int, int, int]: ...
    def execute(
        self, log: str, names: tuple[str, ...], *, row: _In, events: int, jobs: _In, cpu: _In,
        fifo: _In, ceiling: _In, urgency: _In, lock: _In, due: _In, by_due: bool, sharing: int,
        order: int, boosts: bool, spins: bool, spins_on_gpu: bool, server_cpu: int,
        server_fifo: int, plan: str, cycles: int, kernel: _In, lead: int, supervisor: int,
        control_cpu: _In, stop: _Stop
    ) -> tuple[int, int]: ...
    def result(self) -> tuple[_Ints, _Ints, _Ints]: ...
    def stack(self) -> tuple[tuple[_Ints, ...], tuple[_Ints, ...], tuple[_Ints, ...]]: ...
    def jobs(self) -> tuple[_Ints, ...]: ...
    def operations(self) -> tuple[_Ints, ...]: ...
    def blocks(self) -> tuple[_Ints, ...]: ...
    def cpus(self) -> tuple[_Ints, ...]: ...
    def slices(self) -> tuple[_Ints, ...]: ...

# py_demand.c

def demand_interval(
    period: _In, start: _In, window: _In, work: _In, rate: _In, *, capacity: int, budget: int,
    stop: _Stop
) -> tuple[int, int, int, int]: ...

# py_elliott.c

def elliott_study(
    key: _In, utilization: _In, periods: _In, share: _In, speed_ups: _In, *, cpus: int, gpu: int,
    overhead: int, rounding: int, empty: bool, first: int, count: int, paper: int, bins: int,
    stop: _Stop
) -> tuple[_Ints, _Ints, _Ints, _Ints, _Ints, int]: ...

# py_fifo_bound.c

def fifo_saturation(
    period: _In, block_time: _In, blocks: _In, threads: _In, m: _In, *, overlap: bool, paper: bool,
    stop: _Stop
) -> _Ints: ...
def fifo_saturation_gpu(
    period: _In, block_time: _In, blocks: _In, threads: _In, regs: _In, smem: _In, limits: _In, *,
    overlap: bool, stop: _Stop
) -> _Ints: ...
def fifo_bound(
    period: _In, block_time: _In, blocks: _In, threads: _In, m: _In, sms: _In, beta: _In, *,
    order: int, theorems: int, stop: _Stop
) -> tuple[_Ints, _Ints, _Ints, _Ints, _Ints]: ...

# py_gedf.c

def gedf_response(
    period: _In, deadline: _In, demand: _In, *, sizes: _In | None, cpus: int, methods: int,
    stop: _Stop
) -> tuple[_Ints, _Ints, _Ints, _Ints, _Ints]: ...
def container_response(
    period: _In, deadline: _In, demand: _In, inside: _In, server_period: _In, *, sizes: _In | None,
    cpus: int, whole: bool, paper: bool, methods: int, stop: _Stop
) -> tuple[_Ints, _Ints, _Ints, _Ints, _Ints]: ...
def srm_blocking(
    hosts: _Hosts, *, cpus: int, sms: int, lock: int, paper: int, stop: _Stop
) -> _Ints: ...

# py_holistic.c

def holistic(
    period: _In, deadline: _In, jitter: _In, core: _In, priority: _In, level: _In, channel: _In,
    part: _In, *, kind: _In, time: _In, engine: _In, blocks: _In, threads: _In, block_time: _In,
    regs: _In, smem: _In, waits: _In, rule: int, launches: _In, busy: bool, latency: int,
    launch_cpu: int, graph_launch_cpu: int, kernel_gap: int, wake_latency: int, timeslice: int,
    context_switch: int, update_cost: int, stall: bool, sms: int, sm_threads: int,
    limits: _In | None, parts: int, part_sms: _In | None, instances: bool, assumed: _In | None,
    channel_ended: bool, whole_ticks: bool, before_begin: _In | None, before: _In | None,
    best: _In | None, windows: bool, stop: _Stop
) -> tuple[_Ints, _Ints, _Ints, _Ints | None]: ...

# py_host_tests.c

def host_stgm_exhaustive(
    hosts: _Hosts, *, cpus: int, sms: int, busy: bool, paper: int, states: int, stop: _Stop
) -> tuple[_Flags, _Ints, _Ints, _Ints, _Ints, npt.NDArray[np.uint8], _Ints]: ...
def host_stgm_allocate(
    hosts: _Hosts, *, cpus: int, sms: int, busy: bool, paper: int, flags: int, stop: _Stop
) -> tuple[_Flags, _Ints, _Ints, _Ints, _Ints, npt.NDArray[np.uint8], _Ints]: ...
def host_placed_test(
    hosts: _Hosts, core: _In | None, sm: _In | None, server: _In | None, gpu_priority: _In | None,
    apart: _In | None, *, cpus: int, sms: int, way: str, mode: int, variant: int, fixed_point: int,
    timeslice: int, context_switch: int, update_cost: int, server_overhead: int, stall: bool,
    jitter: bool, stop: _Stop
) -> tuple[_Flags, _Ints, _Ints, _Ints]: ...
def host_partition(
    hosts: _Hosts, core: _In | None, sm: _In | None, server: _In | None, gpu_priority: _In | None,
    apart: _In | None, *, cpus: int, sms: int, way: str, mode: int, variant: int, fixed_point: int,
    timeslice: int, context_switch: int, update_cost: int, server_overhead: int, stall: bool,
    jitter: bool, stop: _Stop
) -> tuple[_Flags, _Ints, _Ints, _Ints, _Ints, _Ints]: ...

# py_priority_streams.c

def priority_streams(
    period: _In, level: _In, blocks: _In, threads: _In, block_time: _In, latency: _In, regs: _In,
    smem: _In, *, sms: int, sm_threads: int, limits: _In | None, overlap: bool,
    partition: _In | None, partition_sms: _In | None, kind: int, stop: _Stop
) -> tuple[_Ints, _Ints]: ...

# py_sensitivity.c

def host_breakdown(
    hosts: _Hosts, core: _In | None, sm: _In | None, server: _In | None, gpu_priority: _In | None,
    apart: _In | None, *, scale: int, task: int, cpus: int, sms: int, way: str, mode: int,
    variant: int, fixed_point: int, timeslice: int, context_switch: int, update_cost: int,
    server_overhead: int, stall: bool, jitter: bool, stop: _Stop
) -> tuple[_Ints, _Ints, _Ints, _Ints, npt.NDArray[np.bool_], npt.NDArray[np.float64]]: ...
def host_assign_priorities(
    hosts: _Hosts, core: _In | None, sm: _In | None, server: _In | None, gpu_priority: _In | None,
    apart: _In | None, *, gpu: bool, budget: int, cpus: int, sms: int, way: str, mode: int,
    variant: int, fixed_point: int, timeslice: int, context_switch: int, update_cost: int,
    server_overhead: int, stall: bool, jitter: bool, stop: _Stop
) -> tuple[_Ints, _Ints, npt.NDArray[np.bool_], npt.NDArray[np.bool_], _Ints]: ...

# py_arrow.c

def arrow_schema(table: _ArrowColumn) -> object: ...
def arrow_array(table: _ArrowColumn) -> tuple[object, object]: ...
def arrow_stream(table: _ArrowColumn) -> object: ...

# py_cuda.c

def cuda_driver(path: str) -> CudaDriver: ...

# py_generate.c

def generate_uunifast(
    key: _In, *, n: int, utilization: _In, first: int, discard: bool
) -> npt.NDArray[np.float64]: ...
def generate_kernels(
    key: _In, *, n: int, utilization: _In, first: int, periods: _In, capacity: int
) -> tuple[_Ints, _Ints, _Ints]: ...
def generate_fifo(
    key: _In, *, n: int, utilization: _In, first: int, capacity: int, shortest: int, longest: int,
    ticks: int, sizes: _In, blocks_max: int
) -> tuple[_Ints, _Ints, _Ints, _Ints, _Ints]: ...

# py_generate_elliott.c

def elliott_draw(
    key: _In, utilization: _In, periods: _In, share: _In, *, cpus: int, gpu: int, overhead: int,
    rounding: int, empty: bool, first: int, count: int, stop: _Stop
) -> tuple[_Ints, _Ints]: ...

# py_generate_gcaps.c

def generate_gcaps(
    key: _In, *, cpus: int, count: int, first: int, ticks: int, ranges: _In
) -> tuple[_Ints, _Ints, _Ints, _Ints, _Ints, _Ints, _Ints]: ...

# py_generate_hosts.c

def generate_hosts(
    key: _In, *, n: int, count: int, first: int, ticks: int, ranges: _In, at: int, profiles: _In,
    cpu_only: bool, even: bool, even_copy: bool
) -> tuple[_Ints, _Ints, _Ints, _Ints, _Ints, _Ints, _Ints]: ...

# py_event_scan.c

def event_scan(
    data: bytes, place: int, position: int, events: int,
    wanted: tuple[tuple[bytes, bytes, int], ...],
    fields: tuple[tuple[tuple[bytes, int, int, bool], ...], ...], last: bool
) -> tuple[int, int, int, int, int, int, _Frames, tuple[tuple[_Ints, ...], ...], bytes]: ...

# py_row_text.c

def row_text(
    values: _In, kind: _In, fixed: _In, fixed_begin: _In, texts: _In, texts_begin: _In, *,
    factor: int
) -> bytes: ...
def free_lanes(groups: int, group: _In, start: _In, end: _In) -> _Ints: ...

# py_rules.c

def rules_check(
    limits: _In, sm_order: _In | None, kernels: tuple[_In, ...], blocks: tuple[_In, ...], *,
    tolerance: int, latency: int, placement: bool, resident_grids: int
) -> tuple[_Ints, ...]: ...

# py_bandwidth.c

def bandwidth_slowdowns(demand: _In, capacity: int) -> tuple[_Ints, _Ints]: ...
def bandwidth_batches(times: _In, demand: _In, capacity: int, *, stop: _Stop = None) -> _Ints: ...

# py_gpu.c

def occupancy(limits: _In, threads: _In, regs: _In, smem: _In) -> tuple[_Ints, _Ints]: ...
def place(
    limits: _In, sm_order: _In, blocks: _In, threads: _In, regs: _In, smem: _In, *, policy: int,
    load: _In | None
) -> tuple[npt.NDArray[np.int32], _Ints]: ...

# py_host_set.c

def host_set(
    period: object, cpu: object, copy_in: object, kernel: object, copy_out: object, *,
    deadline: object, jitter: object, priority: object, offset: object, core: object,
    segments: object
) -> dict[str, npt.NDArray[Any]] | None: ...
def host_segments(jobs: object) -> tuple[_Ints, _Ints, _Ints, _Ints, _Ints] | None: ...

# py_schedule.c

def schedule_replay(
    period: _In, deadline: _In, offset: _In, completion: _In, start: _In, end: _In, batch: _In, *,
    idling: bool, cycle_from: int = 0, cycle_length: int = 0, precedence: _In | None = None
) -> tuple[int, int, int, int]: ...

# py_batch_function.c

def pbs_function_times(function: _Function, batches: _In, *, stop: _Stop = None) -> _Ints: ...
def pbs_function_table(
    function: _Function, tasks: _In, *, least: bool, stop: _Stop = None, seconds: float = 0.0
) -> tuple[_Ints, _Ints, npt.NDArray[np.int8] | None] | None: ...
def pbs_function_order(function: _Function, batch: int) -> _Ints: ...
def pbs_function_demand(function: _Function) -> tuple[_Ints, _Ints, npt.NDArray[np.bool_]]: ...
def pbs_function_search(
    function: _Function, period: _In, deadline: _In, offset: _In, *, idling: bool, round: int,
    states: int, bytes: int, seconds: float, stop: _Stop, skip: int = 0
) -> tuple[tuple[int, int, int, int, int], tuple[int, int, int, float], tuple[_Ints, _Ints,
    npt.NDArray[np.uint64]] | None, dict[str, Any] | None]: ...

# py_graph.c

def graph_search(
    period: _In, deadline: _In, offset: _In, completion: _In, undecided: _In | None, *,
    variant: int, pruning: int, lifo: bool, merge: bool, idling: bool, first_only: bool,
    depth_limit: int, states: int, bytes: int, seconds: float, want_graph: bool, stop: _Stop
) -> dict[str, Any]: ...

# py_oracle.c

def oracle_by_utilization(
    period: _In, wcet: _In, *, key: _In, first: int, least: int, most: int
) -> _Ints: ...
def oracle_by_placement(
    limits: _In, sm_order: _In, blocks: _In, threads: _In, regs: _In, smem: _In, wcet: _In, *,
    key: _In, first: int, least: int, most: int, crowd: int, chained: int = 0, stop: _Stop = None
) -> tuple[_Ints, _Ints | None, _Ints, npt.NDArray[np.int8]]: ...

# py_partition.c

def pbs_partition(
    period: _In, deadline: _In, offset: _In, completion: _In, undecided: _In | None, *, gpus: int,
    idling: bool, states: int, bytes: int, seconds: float, stop: _Stop,
    report: Callable[[int], object] | None
) -> tuple[tuple[int, int, int, int, int], _Ints, tuple[_Frames, ...], dict[str, Any] | None,
    tuple[tuple[int, int, bool, dict[str, Any] | None], ...]]: ...

# py_policy.c

def policy_open(
    period: _In, deadline: _In, offset: _In, completion: _In, begin: _In, first: _In, last: _In, *,
    precedence: _In | None = None
) -> Policy: ...

# py_proof.c

def pbs_proof_prices(
    period: _In, deadline: _In, offset: _In, completion: _In, *, subset: _In | None,
    window: int | None, prices: _In, scale: int, repeating: bool, stop: _Stop
) -> tuple[int, int, int, int]: ...
def pbs_proof_interval(
    period: _In, deadline: _In, offset: _In, completion: _In, *, subset: _In | None, start: int,
    end: int, tasks: _In, least: int, repeating: bool, stop: _Stop
) -> tuple[int, int, int, int]: ...
def pbs_proof_states(
    period: _In, deadline: _In, offset: _In, completion: _In, *, subset: _In | None, window: _In,
    prices: _In, scale: _In, start: _In, pending: _In, latest: _In, span_begin: _In,
    span_first: _In, span_last: _In, idling: bool, repeating: bool, stop: _Stop,
    precedence: _In | None = None
) -> tuple[int, int, int, int]: ...

# py_search.c

def pbs_endless(
    period: _In, deadline: _In, offset: _In, completion: _In, undecided: _In | None, *,
    idling: bool, states: int, bytes: int, seconds: float, stop: _Stop,
    precedence: _In | None = None
) -> tuple[tuple[int, int, int, int, int, int], dict[str, Any] | None, _Frames | None]: ...
def pbs_search(
    period: _In, deadline: _In, offset: _In, completion: _In, undecided: _In | None, *,
    idling: bool, thorough: bool, policy: bool, policy_limit: int, states: int, bytes: int,
    seconds: float, stop: _Stop, proof: bool = False, skip: int = 0, precedence: _In | None = None
) -> tuple[tuple[_Ints, _Ints, _Ints, _Ints, _Ints, _Ints], _Frames | None, dict[str, Any] | None,
    tuple[_Ints, _Ints, _Ints] | None]: ...
def pbs_edf(
    period: _In, deadline: _In, offset: _In, completion: _In, *, parallel: bool, bytes: int,
    seconds: float, stop: _Stop, precedence: _In | None = None
) -> tuple[tuple[_Ints, _Ints, _Ints, _Ints, _Ints], _Frames | None]: ...

# py_gpu_lock.c

def runtime_lock_open(
    name: str, *, order: int, check: int, log: RuntimeLog | None
) -> RuntimeLock: ...
def runtime_lock_remove(name: str) -> None: ...

# py_job_log.c

def runtime_log_create(
    path: str, names: tuple[str, ...], *, threads: int, events: int, about: str
) -> RuntimeLog: ...
def runtime_log_join(path: str) -> RuntimeLog: ...
def runtime_now() -> int: ...
def runtime_thread(cpu: int, fifo: int) -> None: ...

# py_job_loop.c

def runtime_ends_open() -> RuntimeEnds: ...
def runtime_jobs_open(
    log: RuntimeLog | None, ends: RuntimeEnds | None, after: tuple[RuntimeEnds, ...], *, task: int,
    first: int, period: int, deadline: int, jobs: int, every: int
) -> RuntimeJobs: ...

# py_plan_player.c

def runtime_player_open(
    path: str, *, cpu: int, fifo: int, reclaim: bool, spin: bool, awake: int, overrun: int,
    hang: int, nap: int, log: RuntimeLog | None
) -> RuntimePlayer: ...

# py_segment_server.c

def runtime_server_open(
    *, spin: bool, overrun: int, hang: int, nap: int, log: RuntimeLog | None
) -> RuntimeServer: ...

# py_fifo.c

def fifo_open(
    period: _In, block_time: _In, blocks: _In, threads: _In, offset: _In, priority: _In,
    stream: _In | None, least: _In, *, slack: _In, regs: _In | None, smem: _In | None,
    begin: _In | None, latency: _In | None, soonest: _In | None, limits: _In | None,
    sm_order: _In | None, placement: int, release_begin: _In | None, release: _In | None,
    given: _In | None, closer: bool, m: int, order: int, draw: int, settle: int, until: int,
    victim: int, triggers: int, key: _In, index: int, log_waves: bool
) -> FifoSimulation: ...
def fifo_responses(
    period: _In, block_time: _In, blocks: _In, threads: _In, offset: _In, priority: _In, least: _In,
    slack: _In, *, regs: _In | None, smem: _In | None, begin: _In | None, latency: _In | None,
    soonest: _In | None, limits: _In | None, sm_order: _In | None, placement: int, m: _In,
    order: int, draw: int, settle: int, until: _In, victim: _In, triggers: _In, key: _In,
    first: int, states: int, bytes: int, seconds: float, stop: _Stop
) -> tuple[_Ints, _Ints, _Ints, _Ints]: ...

# py_hierarchy.c

def hierarchy_open(
    limits: _In, sm_order: _In | None, *, policy: int, copy_engines: _In, channels: int,
    shared_channels: bool, channels_until_end: bool, resident_grids: int, context_switch: int,
    timeslice: _In, runlist: _In | None, context: _In, priority: _In, stream_kind: _In, time: _In,
    kind: _In, stream: _In, blocks: _In, threads: _In, regs: _In, smem: _In, least: _In, most: _In,
    given_begin: _In | None, given: _In | None, after_begin: _In | None, after: _In | None,
    interference: _In | None, carveout: _In | None, graph: _In | None, programmatic: _In | None,
    trigger: _In | None, partition: _In | None, limit: _In | None, own_queues: _In | None,
    set_begin: _In | None, set: _In | None, cooperative: _In | None, cluster: _In | None,
    sms_per_gpc: _In | None, key: _In, index: int, log_blocks: bool, stop: _Stop = None
) -> HierarchySimulation: ...

# py_host_challenge.c

def host_challenge(
    hosts: _Hosts, core: _In, sm: _In | None, server: _In, *, explore: bool, cpus: int, sms: int,
    way: str, mode: int, overhead: int, key: _In, index: int, states: int, bytes: int,
    seconds: float, stop: _Stop, slice: int = 0, ring: int = 0, stall: bool = False,
    gpu_priority: _In | None = None, switch: int = 0
) -> tuple[int, tuple[_Ints, _Ints, _Ints, int, int] | None, _Ints, int, int, int]: ...

# py_host_sim.c

def host_open(
    hosts: _Hosts, offset: _In, core: _In | None, sm: _In | None, *, cpus: int, sms: int,
    policy: int, way: str, mode: int, server: _In, overhead: int, shares: _In, until: _In,
    victim: _In, triggers: int, key: _In, index: int, log_intervals: bool, stop: _Stop,
    slice: int = 0, ring: int = 0, stall: bool = False, gpu_priority: _In | None = None,
    release_begin: _In | None = None, release: _In | None = None, time: _In | None = None,
    switch: int = 0
) -> HostSimulation: ...
def host_responses(
    hosts: _Hosts, offset: _In, core: _In | None, sm: _In | None, *, cpus: int, sms: int,
    policy: int, way: str, mode: int, server: _In, overhead: int, shares: _In, until: _In,
    victim: _In, triggers: int, key: _In, first: int, states: int, bytes: int, seconds: float,
    stop: _Stop, slice: int = 0, ring: int = 0, stall: bool = False,
    gpu_priority: _In | None = None, switch: int = 0
) -> tuple[_Ints, _Ints, _Ints, _Ints]: ...

# py_machine.c

def machine_open(
    gpus: _Devices, *, period: _In, deadline: _In, offset: _In, jitter: _In, priority: _In,
    core: _In, item_begin: _In, item_kind: _In, item_time: _In, item_least: _In, item_engine: _In,
    item_blocks: _In, item_threads: _In, item_regs: _In, item_smem: _In, item_whole: _In,
    step_begin: _In, step_kind: _In, step_item: _In, device: _In, stream: _In, context: _In,
    group: _In, level: _In, channel: _In, client: _In, limit: _In, set_begin: _In, set: _In,
    grids: _In, engines: _In, cpus: int, policy: int, rule: int, mode: int, ring: int, latency: int,
    kernel_gap: int, wake_latency: int, timeslice: int, context_switch: int, update_cost: int,
    stall: bool, server_overhead: int, server_core: int, server_period: int, server_budget: int,
    until_end: bool, gpu_priority: _In, tail: _In, drawn_as: _In, frame_period: int,
    frame_start: _In, entry_begin: _In, entry_task: _In, entry_job: _In, entry_kernel: _In,
    until: int, last: int, gap: _In, grain: int, draw: int, release_begin: _In | None,
    arrival: _In | None, release: _In | None, given_begin: _In | None, given: _In | None,
    after_begin: _In | None, after: _In | None, every: _In | None, item_cluster: _In | None,
    item_cooperative: _In | None, item_interference: _In | None, gpc_begin: _In | None,
    gpc_sms: _In | None, knot_begin: _In | None, knot_rank: _In | None, knot_time: _In | None,
    item_drawn: _In | None, victim: int, drawn_ties: bool, key: _In, index: int, runs: int,
    log_jobs: bool, log_operations: bool, log_blocks: bool, log_cpus: bool, stop: _Stop = None
) -> MachineSimulation: ...

# py_sm_usage.c

def sm_usage(
    sms: int, sm: _In, start: _In, end: _In, threads: _In
) -> tuple[_Ints, _Ints, _Ints, _Ints, _Ints]: ...

# py_warps.c

def warps_run(
    scheduler: _In, integer: _In, floating: _In, *, interval: int, latency: int, separate: bool,
    stop: _Stop
) -> _Ints: ...
