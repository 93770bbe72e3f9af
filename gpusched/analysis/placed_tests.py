"""Response-time tests of tasks with cores, as the core runs them: arguments and verdicts."""

from __future__ import annotations

from dataclasses import dataclass
from time import perf_counter
from typing import Any, Literal, TypedDict

import numpy as np
import numpy.typing as npt

from gpusched import _core
from gpusched._support.arguments import Int64Array, instance, int_array, integer64, one_of
from gpusched._support.registry import enumeration, methods
from gpusched.analysis.verdict import TERMS, Verdict
from gpusched.model.host_tasks import MAX_SMS, HostTasks
from gpusched.ways.way import Way, placed_way

__all__ = [
    "FixedPoint", "LockMode", "Mode", "PlacedTest", "Suspension", "few_sms", "partitioned",
    "placed_test", "refuse_one_time", "run_test", "sound_test", "tested", "verdict_of",
]  # fmt: skip

Mode = Literal["suspend", "busy"]
LockMode = Literal["suspend", "busy", "spin"]
FixedPoint = Literal["joint", "one_pass"]
Suspension = Literal["split", "jitter"]

_MODES = enumeration("analysis.lock_mode")
_FIXED_POINTS = enumeration("analysis.context_fixed_point")


class TestOptions(TypedDict):
    """The options of a test in the form that functions of the core take."""

    way: str
    cpus: int
    sms: int
    mode: int
    variant: int
    fixed_point: int
    timeslice: int
    context_switch: int
    update_cost: int
    server_overhead: int
    stall: bool
    jitter: bool


class Arrays(TypedDict):
    """The tasks and their placement in the form that functions of the core take."""

    hosts: Any  # columns of the tasks
    core: Int64Array | None
    sm: npt.NDArray[np.uint8] | None  # stgm
    server: Int64Array | None
    gpu_priority: Int64Array | None
    apart: npt.NDArray[np.uint8] | None  # tasks that are never pending together


@dataclass(frozen=True)
class PlacedTest:
    """A test of a set or a stack in the form that functions of the core take."""

    hosts: HostTasks
    way: Way
    arrays: Arrays
    options: TestOptions

    @property
    def cpus(self) -> int:
        return self.options["cpus"]

    @property
    def sms(self) -> int:
        return self.options["sms"]

    @property
    def mode(self) -> str:
        return _MODES[self.options["mode"]]


def placed_test(
    hosts: HostTasks,
    way: object,
    cpus: int | None,
    sms: int | None,
    *,
    with_cores: bool = True,
    apart: npt.NDArray[np.uint8] | None = None,
    **options: Any,
) -> PlacedTest:
    """The test of a way, with options that are added to it.

    ``with_cores``: whether the tasks have cores. ``apart``: uint8 ``(n, n)``, nonzero for two tasks
    that are never pending together, of which the caller has a proof; the tests of locks in modes
    suspend and busy, of the server and of stgm take it. Raises ValueError for a way without such a
    test, and for options that it does not have or that exclude each other.
    """
    instance(hosts, HostTasks, "hosts")
    way = placed_way(way, **options)
    method = methods()[way.name]
    for name in ("mode", "variant", "fixed_point", "suspension"):  # the way may have more
        if method.choices(name) and name in way.given:
            one_of(way.given[name], method.choices(name), name)
    divided = way.divided
    free, variant = _value(way, "order_free", False), _value(way, "variant", "sound")
    if free and variant != "sound":
        raise ValueError(f"order_free: got True, expected False with variant={variant!r}")
    fixed_point = _value(way, "fixed_point", _FIXED_POINTS[0])
    core, count = _cores(hosts, cpus) if with_cores else (None, integer64(cpus, "cpus"))
    if divided:
        width = hosts.sms if sms is None else few_sms(integer64(sms, "sms"))
    else:
        width = hosts.columns if sms is None else integer64(sms, "sms")
    return PlacedTest(
        hosts,
        way,
        {
            "hosts": hosts._columns(),
            "core": core,
            "sm": _sm_sets(hosts, width) if divided else None,
            "server": _servers(hosts, way, count) if with_cores else None,
            "gpu_priority": _gpu_priorities(hosts, way),
            "apart": apart,
        },
        {
            "way": way.name,
            "cpus": count,
            "sms": width,
            "mode": _MODES.index(_value(way, "mode", _MODES[0])),
            "variant": method.choices("variant").index(variant) if variant != "sound" else 0,
            "fixed_point": _FIXED_POINTS.index("order_free" if free else fixed_point),
            "timeslice": _ticks(way, "timeslice"),
            "context_switch": _ticks(way, "context_switch"),
            "update_cost": _ticks(way, "update_cost"),
            "server_overhead": _ticks(way, "server_overhead"),
            "stall": _value(way, "stall", False),
            "jitter": _value(way, "suspension", "split") == "jitter",
        },
    )


def sound_test(
    hosts: HostTasks, way: object, cpus: int | None, sms: int | None, **options: Any
) -> PlacedTest:
    """The sound form of the test of a way; ValueError for another one. See `placed_test`."""
    test = placed_test(hosts, way, cpus, sms, **options)
    one_of(_value(test.way, "variant", "sound"), ("sound",), "variant")
    return test


def run_test(
    hosts: HostTasks,
    way: object,
    cpus: int | None = None,
    sms: int | None = None,
    *,
    stop: Any = None,
    **options: Any,
) -> Verdict:
    """The verdict of the test of a way; see `placed_test` for the arguments.

    Raises the errors of the test.
    """
    began = perf_counter()
    return tested(placed_test(hosts, way, cpus, sms, **options), began, stop)


def tested(test: PlacedTest, began: float, stop: Any) -> Verdict:
    """The verdict of a test."""
    answer = _core.host_placed_test(**test.arrays, **test.options, stop=stop)
    return verdict_of(
        test.hosts, test.way, test.cpus, test.sms, answer, began, server=test.arrays["server"]
    )


def partitioned(
    hosts: HostTasks, way: object, cpus: int, sms: int | None, *, stop: Any, **options: Any
) -> Verdict:
    """The verdict of the test of a way with cores by worst fit; raises the errors of the test."""
    began = perf_counter()
    test = placed_test(hosts, way, cpus, sms, with_cores=False, **options)
    if "server" in test.way.given:
        raise ValueError(
            f"server: got {test.way.given['server']!r:.60}, expected none; its core is chosen"
        )
    *answer, core, server = _core.host_partition(**test.arrays, **test.options, stop=stop)
    return verdict_of(
        hosts._replaced(core=core if hosts.is_stack else core[0]),
        test.way,
        test.cpus,
        test.sms,
        tuple(answer),
        began,
        server=server if _has_server(test.way) else None,
    )


def verdict_of(
    hosts: HostTasks,
    way: Way,
    cpus: int,
    sms: int,
    answer: tuple[Any, ...],
    began: float,
    *,
    server: Int64Array | None = None,
    rounds: Int64Array | None = None,
) -> Verdict:
    """Make the verdict from arrays of the core, which always have an axis for the sets.

    ``answer``: accepted (-1 if a budget was used up), responses, terms, failed tasks. ``began``:
    `perf_counter` at the start of the call.
    """
    code, response, terms, failed = answer[:4]
    one = not hosts.is_stack
    code = np.asarray(code, np.int64)
    parts = np.ascontiguousarray(terms[0].T if one else terms.transpose(2, 0, 1))
    return Verdict(
        hosts=hosts,
        way=_whole(way if server is None else way.replace(server=server[0] if one else server)),
        cpus=cpus,
        sms=sms,
        accepted=bool(code[0] == 1) if one else code == 1,
        terms=dict(zip(TERMS, parts, strict=True)),
        rounds=None if rounds is None else int(rounds[0]) if one else rounds,
        spent=bool(code[0] == -1) if one else code == -1,
        _computed=response[0] if one else response,
        _failed=int(failed[0]) if one else failed,
        seconds=perf_counter() - began,
    )


def few_sms(sms: int) -> int:
    """Check a number of SMs for which sets of SMs can be represented."""
    if not 0 <= sms <= MAX_SMS:
        raise ValueError(f"sms: got {sms}, expected 0 to {MAX_SMS} SMs")
    return sms


def refuse_one_time(hosts: HostTasks, sms: int) -> None:
    """Raise ValueError if SMs are divided among tasks whose times on fewer SMs are not given."""
    if hosts.columns > 1 or sms <= 1:
        return
    users = np.argwhere(hosts.segments > 0).tolist()
    if users:
        raise ValueError(
            f"kernel{users[0]}: got one time, expected times on 1, 2, ... SMs, as the SMs are "
            "divided; for a kernel that is as fast on one SM as on all, give its time twice, as "
            "[9, 9]"
        )


# Arguments ----------------------------------------------------------------------------------------


def _value(way: Way, name: str, missing: Any) -> Any:
    """The value of a parameter; ``missing`` for a way that does not have it."""
    return getattr(way, name) if name in way._options else missing


def _ticks(way: Way, name: str) -> int:
    """A cost in ticks; 0 for a way that does not have it."""
    value = _value(way, name, 0)
    if value is None:
        raise ValueError(f"{name}: got none, expected ticks for {way.name}")
    return integer64(value, name)


def _whole(way: Way) -> Way:
    """The way with the values of all options of its test."""
    options = [o.name for o in methods()[way.name].options if o.name not in way.given]
    return way.replace(**{name: getattr(way, name) for name in options}) if options else way


def _has_server(way: Way) -> bool:
    return "server" in way._options


def _cores(hosts: HostTasks, cpus: int | None) -> tuple[Int64Array, int]:
    """Each task's core, with an axis for the sets, and the number of cores."""
    cores = hosts.core if hosts.is_stack else hosts.core[None]
    if cores.size and cores.min() < 0 and (nowhere := (cores < 0) & hosts.is_task).any():
        at = np.argwhere(nowhere)[0][0 if hosts.is_stack else 1 :].tolist()
        raise ValueError(
            f"core{at}: got none, expected a core (give core=, or use partition or stgm_allocate)"
        )
    if cpus is None:
        return cores, int(cores.max(initial=0)) + 1
    return cores, integer64(cpus, "cpus")


def _sm_sets(hosts: HostTasks, sms: int) -> npt.NDArray[np.uint8]:
    """The sets of SMs (N, n, sms)."""
    beyond = np.argwhere(hosts.sm[..., sms:])
    if len(beyond):
        *at, past = beyond[0].tolist()
        raise ValueError(f"sms: got {sms}, expected more than {sms + past}, an SM of sm{at}")
    given = hosts.sm if hosts.is_stack else hosts.sm[None]
    sets = np.zeros((*given.shape[:2], sms), np.uint8)
    common = min(sms, hosts.sms)
    sets[..., :common] = given[..., :common]
    return sets


def _servers(hosts: HostTasks, way: Way, cpus: int) -> Int64Array | None:
    """The core of the server of each set; None for a way without one."""
    if not _has_server(way):
        return None
    place = np.int64(cpus) if way.server is None else int_array(way.server, "server")
    sets = len(np.atleast_2d(hosts.core))
    if np.ndim(place) > 1 or (np.ndim(place) == 1 and np.shape(place) != (sets,)):
        raise ValueError(
            f"server: got shape {np.shape(place)}, expected one core, or one for each set"
        )
    return np.ascontiguousarray(np.broadcast_to(place, (sets,)))


def _gpu_priorities(hosts: HostTasks, way: Way) -> Int64Array | None:
    """The GPU priorities of the tasks of each set; None without them."""
    given = _value(way, "gpu_priority", None)
    if given is None:
        return None
    priority = int_array(given, "gpu_priority")
    if priority.shape not in (hosts.core.shape, hosts.core.shape[-1:]):
        raise ValueError(
            f"gpu_priority: got shape {priority.shape}, expected one number for each task, "
            f"{hosts.core.shape}"
        )
    shape = np.atleast_2d(hosts.core).shape
    return np.ascontiguousarray(np.broadcast_to(priority, shape))
