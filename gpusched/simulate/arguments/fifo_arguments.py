"""Arguments of the simulators of kernels in FIFO order, as the core takes them."""

from __future__ import annotations

from fractions import Fraction
from typing import Any, Literal

import numpy as np

from gpusched._support.arguments import (
    Int64Array,
    instance,
    int_array,
    integer,
    one_of,
    some_of,
    ticks,
)
from gpusched._support.registry import enumeration, limit
from gpusched.model.block_placement import PLACEMENTS
from gpusched.model.gpu import GPU, WARP_THREADS, as_gpu
from gpusched.model.kernel_chains import KernelChains
from gpusched.model.kernel_tasks import KernelTasks
from gpusched.simulate.arguments.run_arguments import (
    GivenReleases,
    execution_shares,
    gap_share,
    read_releases,
)

Draw = Literal["job", "wave", "block"]
Settle = Literal["no", "note", "stop"]

LATEST = limit("simulate.latest")  # no simulated job is released at or after it
_SETTLE_TASKS = limit("simulate.fifo_settle_tasks")
DRAWS = enumeration("simulate.fifo_draw")
_TRIGGERS = enumeration("simulate.fifo_trigger")
SETTLE = enumeration("simulate.fifo_settle")


def check_task_set(tasks: Any) -> None:
    """Refuse anything but kernel tasks and chains."""
    if not isinstance(tasks, KernelChains):
        instance(tasks, KernelTasks, "tasks")


def core_columns(
    tasks: KernelTasks | KernelChains, least: Int64Array, most: Int64Array, latency: Any
) -> dict[str, Any]:
    """The core's columns of kernels: per task; for chains, those of all tasks in sequence."""
    columns: dict[str, Any] = {"block_time": most, "least": least}
    columns |= {name: getattr(tasks, name) for name in ("blocks", "threads", "regs", "smem")}
    low, high = execution_shares(latency, "latency", name="latency", zero=True)
    if not isinstance(tasks, KernelChains):
        if low != 1:
            raise ValueError(f"latency: got {latency!r:.60} without chains, expected KernelChains")
        return columns | {"begin": None, "latency": None, "soonest": None}
    columns["soonest"] = _scaled(tasks.latency, low, up=True)
    columns["latency"] = np.maximum(_scaled(tasks.latency, high, up=False), columns["soonest"])
    has = tasks.block_time > 0
    lead = has.shape[:-2]
    order = np.argsort(~has.reshape(*lead, -1), axis=-1, kind="stable")  # kernels first
    columns = {
        name: np.take_along_axis(column.reshape(*lead, -1), order, axis=-1)
        for name, column in columns.items()
    }
    begin = np.zeros((*lead, has.shape[-2] + 1), np.int64)
    np.cumsum(has.sum(axis=-1), axis=-1, out=begin[..., 1:])
    if not tasks.is_stack:
        columns = {name: column[: begin[-1]] for name, column in columns.items()}
    return columns | {"begin": begin}


def check_chain_options(order: str, until: Any, settle: Any) -> None:
    """Refuse options that chains do not have."""
    if order != "hardware":
        raise ValueError(f"order: got {order!r}, expected 'hardware' with chains")
    if until is None:
        raise ValueError("until: got None, expected the end of the releases of chains")
    if settle not in (None, False, "no"):
        raise ValueError(f"settle: got {settle!r:.60}, expected 'no' with chains")


def _threads(threads: Any) -> int:
    m = integer(threads, "threads")
    if not 1 <= m < 2**31:
        raise ValueError(f"threads: got {m}, expected 1 to 2**31 - 1")
    return m


def hardware(threads: Any, gpu: Any) -> tuple[int, GPU | None]:
    """Number of threads, and the GPU (None for a pool of threads)."""
    if gpu is None:
        return _threads(threads), None
    if threads is not None:
        raise ValueError("threads: got both threads and gpu, expected one of them")
    device = as_gpu(gpu)
    return device.sms * device.warps_per_sm * WARP_THREADS, device


def sm_arguments(
    device: GPU | None, placement: str, regs: Int64Array, smem: Int64Array
) -> dict[str, Any]:
    """The core's arguments about SMs."""
    pool = device is None
    return {
        "regs": None if pool else regs,
        "smem": None if pool else smem,
        "limits": None if device is None else device._limits,
        "sm_order": None if device is None else device.sm_order,
        "placement": PLACEMENTS[placement],
    }


def given_releases(
    releases: Any, times: Any, tasks: KernelTasks | KernelChains, closer: bool, until: Any
) -> tuple[GivenReleases | None, Any]:
    """The given releases, or None, and the bound on them; with releases, by default all."""
    if releases is None:
        if times is not None:
            raise ValueError("times: got times without releases, expected both or neither")
        if closer:
            raise ValueError("closer: got True without releases, expected False")
        return None, until
    given = read_releases(releases, times, tasks, closer, LATEST)
    return given, int(given.release.max(initial=0)) + 1 if until is None else until


def refuse_beside(refused: bool, name: str, value: Any, beside: str = "releases") -> None:
    """Refuse an option that contradicts ``releases`` or ``times``."""
    if refused:
        raise ValueError(f"{name}: got {value!r:.60} beside {beside}, expected one of them")


def shared_streams(stream: Any, n: int, order: str, victim: int) -> Int64Array | None:
    """Streams numbered from 0; None if no two tasks share one."""
    if stream is None:
        return None
    given = int_array(stream, "stream")
    if given.shape != (n,):
        raise ValueError(f"stream: got shape {given.shape}, expected one number per task ({n})")
    names, numbers = np.unique(given, return_inverse=True)
    if len(names) == n:
        return None
    if order == "overlap":
        raise ValueError("stream: got shared streams, expected none with order='overlap'")
    if victim >= 0:
        raise ValueError("stream: got shared streams, expected none with a victim")
    return numbers.astype(np.int64)


def block_times(tasks: KernelTasks | KernelChains, execution: Any) -> tuple[Int64Array, Int64Array]:
    """The shortest and the longest time of a block."""
    low, high = execution_shares(execution, "block_time")
    least = np.maximum(_scaled(tasks.block_time, low, up=True), 1)
    return least, np.maximum(_scaled(tasks.block_time, high, up=False), least)


def release_slack(tasks: KernelTasks | KernelChains, gap: Any) -> Int64Array:
    """The most ticks that are added to each period, for sporadic releases."""
    share = gap_share(gap, "gap")
    try:
        slack = _scaled(tasks.period, share, up=False)
        if int(slack.max(initial=0)) < LATEST:
            return slack
    except OverflowError:
        pass
    longest = int(tasks.period.max())
    raise OverflowError(
        f"gap: got {gap}, expected a share of the longest period ({longest}) below 2**59 ticks"
    )


def _scaled(times: Int64Array, share: Fraction, up: bool) -> Int64Array:
    """share times each time, exactly, rounded up or down."""
    if share == 1:
        return times
    if share == 0:
        return np.zeros_like(times)
    over, under = share.numerator, share.denominator
    more = under - 1 if up else 0
    exact = [(time * over + more) // under for time in times.ravel().tolist()]
    return np.array(exact, dtype=np.int64).reshape(times.shape)


def trigger_bits(triggers: Any) -> int:
    """The triggers of an adversary as a bit mask."""
    bits = 0
    for name in some_of(triggers, _TRIGGERS, "triggers"):
        bits |= 1 << _TRIGGERS.index(name)
    if bits == 0:
        raise ValueError(f"triggers: got none, expected some of {', '.join(_TRIGGERS)}")
    return bits


def settling(
    settle: Any, until: Any, fixed: bool, usual: tuple[Settle, Settle]
) -> tuple[Settle, int | None]:
    """``settle`` and the bound on releases; ``usual``: defaults with and without random times."""
    last = None if until is None else ticks(until, "until")
    if last is not None and last < 0:
        raise ValueError(f"until: got {last}, expected 0 or more")
    if last is not None and last > LATEST:
        raise OverflowError(f"until: got {last}, expected at most {LATEST}")
    if isinstance(settle, bool):
        settle = "stop" if settle else "no"
    if settle is not None:
        one_of(settle, SETTLE, "settle")
    if last is None:
        if settle not in (None, "stop"):
            raise ValueError(f"until: got None, expected ticks with settle={settle!r}")
        if not fixed:
            raise ValueError(
                "until: got None, expected ticks unless releases are periodic (gap=0, no victim) "
                "and execution times constant"
            )
        return "stop", None
    if settle is None:
        return usual[fixed], last
    if settle != "no" and not fixed:
        raise ValueError(
            f"settle: got {settle!r}, expected 'no' unless releases are periodic (gap=0, no "
            "victim) and execution times constant"
        )
    chosen: Settle = settle
    return chosen, last


def check_endless(tasks: KernelTasks, order: str, where: str = "") -> None:
    """Refuse sets whose schedules the core cannot follow until they repeat."""
    hyperperiod = tasks.hyperperiod
    if 2 * hyperperiod + int(tasks.offset.max()) >= LATEST:
        raise ValueError(f"{where}until: got None, expected ticks, as the hyperperiod is too large")
    if order == "release" and tasks.n > _SETTLE_TASKS:
        raise ValueError(
            f"{where}until: got None, expected ticks with more than {_SETTLE_TASKS} "
            "tasks in order 'release'"
        )
