"""Response-time tests of tasks with cores, as the core runs them: arguments and verdicts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from time import perf_counter
from types import MappingProxyType, NoneType
from typing import Any, Literal, NamedTuple, TypedDict

import numpy as np
import numpy.typing as npt

from gpusched import _core
from gpusched._support.arguments import (
    Int64Array,
    frozen,
    instance,
    int_array,
    integer64,
    one_of,
)
from gpusched._support.registry import enumeration, methods
from gpusched.analysis.verdict import TERMS, Verdict
from gpusched.model.host_tasks import MAX_SMS, HostTasks
from gpusched.ways.way import Way, placed_way

__all__ = [
    "FixedPoint", "LockMode", "Mode", "PlacedTest", "Suspension", "few_sms", "form_of",
    "partitioned", "placed_test", "refuse_one_time", "run_test", "sound_test", "tested",
    "verdict_of",
]  # fmt: skip

Mode = Literal["suspend", "busy"]
LockMode = Literal["suspend", "busy", "spin"]
FixedPoint = Literal["joint", "one_pass"]
Suspension = Literal["split", "jitter"]

_MODES = enumeration("analysis.lock_mode")
_FIXED_POINTS = enumeration("analysis.context_fixed_point")


class FormOptions(TypedDict):
    """The options of a test that do not depend on the tasks, as functions of the core take them."""

    way: str
    mode: int
    variant: int
    fixed_point: int
    timeslice: int
    context_switch: int
    update_cost: int
    server_overhead: int
    stall: bool
    jitter: bool


class TestOptions(FormOptions):
    """All options of a test, in the form that functions of the core take."""

    cpus: int
    sms: int


class Arrays(TypedDict):
    """The tasks and their placement in the form that functions of the core take."""

    hosts: Any  # columns of the tasks
    core: Int64Array | None
    sm: npt.NDArray[np.uint8] | None  # stgm
    server: Int64Array | None
    gpu_priority: Int64Array | None
    apart: npt.NDArray[np.uint8] | None  # tasks that are never pending together


class Form(NamedTuple):
    """A way with a test of tasks with cores, and that test's options."""

    way: Way
    whole: Way  # with the values of all options of its test
    options: FormOptions


@dataclass(frozen=True)
class PlacedTest:
    """A test of a set or a stack in the form that functions of the core take."""

    hosts: HostTasks
    form: Form
    arrays: Arrays
    options: TestOptions

    @property
    def way(self) -> Way:
        return self.form.way

    @property
    def cpus(self) -> int:
        return self.options["cpus"]

    @property
    def sms(self) -> int:
        return self.options["sms"]

    @property
    def mode(self) -> str:
        return _MODES[self.options["mode"]]


def form_of(way: object, **options: Any) -> Form:
    """The form of the test of a way, with options that are added to it.

    Raises ValueError for a way without such a test, and for options that it does not have or that
    exclude each other. Forms of text and numbers are kept, as most calls use few of them.
    """
    name, given = (way.name, {**way.given, **options}) if isinstance(way, Way) else (way, options)
    if type(name) is str and _PLAIN.issuperset(map(type, given.values())):
        return _kept_form(name, **given)
    return _form(way, **options)


def _form(way: object, /, **options: Any) -> Form:
    way = placed_way(way, **options)
    method = methods()[way.name]
    for name in ("mode", "variant", "fixed_point", "suspension"):  # the way may have more
        if method.choices(name) and name in way.given:
            one_of(way.given[name], method.choices(name), name)
    free, variant = _value(way, "order_free", False), _value(way, "variant", "sound")
    if free and variant != "sound":
        raise ValueError(f"order_free: got True, expected False with variant={variant!r}")
    fixed_point = _value(way, "fixed_point", _FIXED_POINTS[0])
    return Form(
        way,
        _whole(way),
        {
            "way": way.name,
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


_PLAIN = frozenset((str, int, bool, NoneType))  # types whose values do not change
_kept_form = lru_cache(maxsize=256, typed=True)(_form)  # typed, as True is not 1


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
    suspend and busy, of the server and of stgm take it. Raises the errors of `form_of`.
    """
    instance(hosts, HostTasks, "hosts")
    form = form_of(way, **options)
    asked = form.way
    core, count = _cores(hosts, cpus) if with_cores else (None, integer64(cpus, "cpus"))
    if asked.divided:
        width = hosts.sms if sms is None else few_sms(integer64(sms, "sms"))
    else:
        width = hosts.columns if sms is None else integer64(sms, "sms")
    return PlacedTest(
        hosts,
        form,
        {
            "hosts": hosts._columns(),
            "core": core,
            "sm": _sm_sets(hosts, width) if asked.divided else None,
            "server": _servers(hosts, asked) if with_cores else None,
            "gpu_priority": _gpu_priorities(hosts, asked),
            "apart": apart,
        },
        {**form.options, "cpus": count, "sms": width},
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
    way = test.form.whole
    if _has_server(way):
        way = _with_server(way, test.hosts, test.arrays["server"], test.cpus)
    return verdict_of(test.hosts, way, test.cpus, test.sms, answer, began)


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
    chosen = test.form.whole
    if _has_server(chosen):
        chosen = _with_server(chosen, hosts, server, test.cpus)
    placed = hosts._replaced(core=core if hosts.is_stack else core[0])
    return verdict_of(placed, chosen, test.cpus, test.sms, answer, began)


def verdict_of(
    hosts: HostTasks,
    way: Way,
    cpus: int,
    sms: int,
    answer: Sequence[Any],
    began: float,
    *,
    rounds: Int64Array | None = None,
) -> Verdict:
    """Make the verdict from read-only arrays of the core, which always have an axis for the sets.

    ``way``: with the values of all options. ``answer``: accepted (-1 if a budget was used up),
    responses, terms, failed tasks. ``began``: `perf_counter` at the start of the call.
    """
    code, response, terms, failed = answer
    one = not hosts.is_stack
    found = code.item() if one else code
    accepted, spent = found == 1, found == -1
    return Verdict._made(
        hosts=hosts,
        way=way,
        cpus=cpus,
        sms=sms,
        accepted=accepted if one else frozen(accepted),
        terms=MappingProxyType(dict(zip(TERMS, terms[:, 0] if one else terms, strict=True))),
        rounds=None if rounds is None else rounds.item() if one else rounds,
        spent=spent if one else frozen(spent),
        _computed=response[0] if one else response,
        _failed=failed.item() if one else failed,
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


def _with_server(way: Way, hosts: HostTasks, server: Int64Array | None, cpus: int) -> Way:
    """The way with the core of its server: that of each set, or its own, number ``cpus``."""
    if hosts.is_stack:
        return way.replace(server=np.full(len(hosts), cpus) if server is None else server)
    return way._with("server", cpus if server is None else server.item())


def _cores(hosts: HostTasks, cpus: int | None) -> tuple[Int64Array, int]:
    """Each task's core, with an axis for the sets, and the number of cores."""
    given = hosts.core
    if hosts.is_stack:
        least, most = int(given.min(initial=0)), int(given.max(initial=0))
    else:
        cores = given.tolist()  # which is faster for the few of a set
        least, most = min(cores, default=0), max(cores, default=0)
    if least < 0 and (nowhere := (given < 0) & hosts.is_task).any():
        at = np.argwhere(nowhere)[0].tolist()
        raise ValueError(
            f"core{at}: got none, expected a core (give core=, or use partition or stgm_allocate)"
        )
    count = max(most, 0) + 1 if cpus is None else integer64(cpus, "cpus")
    return given if hosts.is_stack else given[None], count


def _sm_sets(hosts: HostTasks, sms: int) -> npt.NDArray[np.uint8]:
    """The sets of SMs (N, n, sms)."""
    given = hosts.sm if hosts.is_stack else hosts.sm[None]
    if sms == hosts.sms:
        return given.view(np.uint8)
    beyond = np.argwhere(hosts.sm[..., sms:])
    if len(beyond):
        *at, past = beyond[0].tolist()
        raise ValueError(f"sms: got {sms}, expected more than {sms + past}, an SM of sm{at}")
    sets = np.zeros((*given.shape[:2], sms), np.uint8)
    common = min(sms, hosts.sms)
    sets[..., :common] = given[..., :common]
    return sets


def _servers(hosts: HostTasks, way: Way) -> Int64Array | None:
    """The core of the server of each set; None for a way without one, and for its own core."""
    if not _has_server(way) or way.server is None:
        return None
    place = int_array(way.server, "server")
    sets = len(hosts) if hosts.is_stack else 1
    if place.ndim > 1 or (place.ndim == 1 and place.shape != (sets,)):
        raise ValueError(f"server: got shape {place.shape}, expected one core, or one for each set")
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
