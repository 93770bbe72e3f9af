"""Response-time tests of tasks with cores, as the core runs them: arguments and verdicts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
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
from gpusched.analysis.verdict import Terms, Verdict
from gpusched.model.host_segments import with_zeros
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
NO_OPTIONS: Mapping[str, Any] = MappingProxyType({})


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


class Arrays(NamedTuple):
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
    has_server: bool
    server: Any  # as given; None: its own core
    gpu_priority: Any  # as given
    options: FormOptions


class PlacedTest(NamedTuple):
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


def form_of(way: object, options: Mapping[str, Any]) -> Form:
    """The form of the test of a way, with options that are added to it.

    Raises ValueError for a way without such a test, and for options that it does not have or that
    exclude each other. Forms of text and numbers are kept, as most calls use few of them.
    """
    name: object = way
    given = options
    if isinstance(way, Way):
        name, given = way.name, {**way.given, **options}
    if type(name) is str and _PLAIN.issuperset(map(type, given.values())):
        return _kept_form(name, *given, *given.values())
    return _form(way, options)


@lru_cache(maxsize=256, typed=True)  # typed, as True is not 1
def _kept_form(way: str, *options: Any) -> Form:
    """The form of a way with options: their names, then their values."""
    count = len(options) // 2
    return _form(way, dict(zip(options[:count], options[count:], strict=True)))


def _form(way: object, options: Mapping[str, Any]) -> Form:
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
        "server" in way._options,
        _value(way, "server", None),
        _value(way, "gpu_priority", None),
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


def placed_test(
    hosts: HostTasks,
    way: object,
    cpus: int | None,
    sms: int | None,
    options: Mapping[str, Any] = NO_OPTIONS,
    *,
    with_cores: bool = True,
    apart: npt.NDArray[np.uint8] | None = None,
) -> PlacedTest:
    """The test of a way, with options that are added to it.

    ``with_cores``: whether the tasks have cores. ``apart``: uint8 ``(n, n)``, nonzero for two tasks
    that are never pending together, of which the caller has a proof; the tests of locks in modes
    suspend and busy, of the server and of stgm take it. Raises the errors of `form_of`.
    """
    instance(hosts, HostTasks, "hosts")
    form = form_of(way, options)
    divided = form.way.divided
    core, count = _cores(hosts, cpus) if with_cores else (None, integer64(cpus, "cpus"))
    if divided:
        width = hosts.sms if sms is None else few_sms(integer64(sms, "sms"))
    else:
        width = hosts.columns if sms is None else integer64(sms, "sms")
    return PlacedTest(
        hosts,
        form,
        Arrays(
            hosts._columns(),
            core,
            _sm_sets(hosts, width) if divided else None,
            _servers(hosts, form.server) if with_cores and form.server is not None else None,
            None if form.gpu_priority is None else _gpu_priorities(hosts, form.gpu_priority),
            apart,
        ),
        {"cpus": count, "sms": width, **form.options},
    )


def sound_test(
    hosts: HostTasks,
    way: object,
    cpus: int | None,
    sms: int | None,
    options: Mapping[str, Any] = NO_OPTIONS,
) -> PlacedTest:
    """The sound form of the test of a way; ValueError for another one. See `placed_test`."""
    test = placed_test(hosts, way, cpus, sms, options)
    one_of(_value(test.way, "variant", "sound"), ("sound",), "variant")
    return test


def run_test(
    hosts: HostTasks,
    way: object,
    cpus: int | None = None,
    sms: int | None = None,
    options: Mapping[str, Any] = NO_OPTIONS,
    *,
    apart: npt.NDArray[np.uint8] | None = None,
    stop: Any = None,
) -> Verdict:
    """The verdict of the test of a way; see `placed_test` for the arguments.

    Raises the errors of the test.
    """
    began = perf_counter()
    return tested(placed_test(hosts, way, cpus, sms, options, apart=apart), began, stop)


def tested(test: PlacedTest, began: float, stop: Any) -> Verdict:
    """The verdict of a test."""
    answer = _core.host_placed_test(*test.arrays, **test.options, stop=stop)
    way = test.form.whole
    if test.form.has_server:
        way = _with_server(way, test.hosts, test.arrays.server, test.cpus)
    return verdict_of(test.hosts, way, test.cpus, test.sms, answer, began)


def partitioned(
    hosts: HostTasks,
    way: object,
    cpus: int,
    sms: int | None,
    options: Mapping[str, Any],
    *,
    stop: Any,
) -> Verdict:
    """The verdict of the test of a way with cores by worst fit; raises the errors of the test."""
    began = perf_counter()
    test = placed_test(hosts, way, cpus, sms, options, with_cores=False)
    if "server" in test.way.given:
        raise ValueError(
            f"server: got {test.way.given['server']!r:.60}, expected none; its core is chosen"
        )
    *answer, core, server = _core.host_partition(*test.arrays, **test.options, stop=stop)
    chosen = test.form.whole
    if test.form.has_server:
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
        terms=Terms(terms[:, 0] if one else terms),
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


def _with_server(way: Way, hosts: HostTasks, server: Int64Array | None, cpus: int) -> Way:
    """The way with the core of its server: that of each set, or its own, number ``cpus``."""
    if hosts.is_stack:
        return way.replace(server=np.full(len(hosts), cpus) if server is None else server)
    return way._with("server", cpus if server is None else server.item())


def _cores(hosts: HostTasks, cpus: int | None) -> tuple[Int64Array, int]:
    """Each task's core, and the number of cores."""
    given = hosts.core
    if hosts.is_stack:
        least, most = int(given.min(initial=0)), int(given.max(initial=0))
    else:  # few numbers, for which sets of Python take less than reductions of an array
        cores = {0, *given.tolist()}
        least, most = (-1 if -1 in cores else 0), max(cores)
    if least < 0 and (nowhere := (given < 0) & hosts.is_task).any():
        at = np.argwhere(nowhere)[0].tolist()
        raise ValueError(
            f"core{at}: got none, expected a core (give core=, or use partition or stgm_allocate)"
        )
    count = most + 1 if cpus is None else integer64(cpus, "cpus")
    return given, count


def _sm_sets(hosts: HostTasks, sms: int) -> npt.NDArray[np.uint8]:
    """The sets of SMs, of ``sms`` columns."""
    given = hosts.sm
    if sms != hosts.sms:
        beyond = np.argwhere(given[..., sms:])
        if len(beyond):
            *at, past = beyond[0].tolist()
            raise ValueError(f"sms: got {sms}, expected more than {sms + past}, an SM of sm{at}")
        given = with_zeros(given[..., :sms], given.ndim - 1, sms - hosts.sms)
    return given.view(np.uint8)


def _servers(hosts: HostTasks, given: Any) -> Int64Array:
    """The core of the server of each set."""
    place = int_array(given, "server")
    sets = len(hosts) if hosts.is_stack else 1
    if place.ndim > 1 or (place.ndim == 1 and place.shape != (sets,)):
        raise ValueError(f"server: got shape {place.shape}, expected one core, or one for each set")
    return np.ascontiguousarray(np.broadcast_to(place, (sets,)))


def _gpu_priorities(hosts: HostTasks, given: Any) -> Int64Array:
    """The GPU priorities of the tasks of each set."""
    priority = int_array(given, "gpu_priority")
    if priority.shape not in (hosts.core.shape, hosts.core.shape[-1:]):
        raise ValueError(
            f"gpu_priority: got shape {priority.shape}, expected one number for each task, "
            f"{hosts.core.shape}"
        )
    return np.ascontiguousarray(np.broadcast_to(priority, hosts.core.shape))
