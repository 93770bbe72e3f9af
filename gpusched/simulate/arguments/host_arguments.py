"""Arguments of the simulators of tasks with CPU and GPU segments, as the core takes them."""

from __future__ import annotations

from fractions import Fraction
from typing import Any, Literal, NamedTuple

import numpy as np

from gpusched._support.arguments import Int64Array, flag, int_array, integer, one_of
from gpusched._support.registry import enumeration
from gpusched.model.host_tasks import HostTasks, container_period
from gpusched.simulate.arguments.run_arguments import (
    execution_shares,
    gap_share,
    per_set,
    victim_per_set,
)

Policy = Literal["partitioned", "gedf"]
Protocol = Literal[
    "stgm",
    "mpcp",
    "fmlp_plus",
    "gpu_server",
    "time_slices",
    "gcaps",
    "fmlp",
    "omlp",
    "driver",
    "container",
]
Mode = Literal["suspend", "busy", "spin"]
Ring = Literal["fifo", "cyclic"]

_POLICIES = enumeration("simulate.host_policy")
_PROTOCOLS = {
    "partitioned": ("stgm", "mpcp", "fmlp_plus", "gpu_server", "time_slices", "gcaps"),
    "gedf": ("fmlp", "omlp", "driver", "container"),
}
_NUMBERS = {name: i for i, name in enumerate(enumeration("simulate.host_protocol")) if name}
_NUMBERS["fmlp"] = _NUMBERS["fmlp_plus"]  # one lock; the policy tells them apart
_MODES = enumeration("simulate.host_mode")
_MODES_OF = {
    **{"stgm": _MODES[:2], "mpcp": _MODES, "fmlp_plus": _MODES, "driver": (_MODES[2], _MODES[0])},
    **{"container": _MODES[:2], "time_slices": _MODES[:2], "gcaps": _MODES[:2]},
}
_RINGS = enumeration("simulate.host_ring")
_TRIGGERS = enumeration("simulate.host_trigger")


CONTEXT_OPTIONS = {
    **{"slice": ("time_slices",), "switch": ("time_slices", "gcaps"), "ring": ("time_slices",)},
    **{name: ("gcaps",) for name in ("update", "stall", "gpu_priority")},
}
"""Options of the protocols with a context per task, and the protocols that have them."""


class Contexts(NamedTuple):
    """Options of the protocols with a context per task, as given."""

    slice: Any
    switch: Any
    ring: Any
    update: Any
    stall: Any
    gpu_priority: Any


class HostModel(NamedTuple):
    """Checked options, and those arguments of the core that its functions share."""

    protocol: str
    mode: str
    sms: int
    server: Int64Array
    overhead: int
    server_period: Int64Array
    victim: Int64Array
    arguments: dict[str, Any]


def host_model(
    hosts: HostTasks,
    cpus: Any,
    policy: Any,
    protocol: Any,
    mode: Any,
    sms: Any,
    server: Any,
    overhead: Any,
    server_period: Any,
    execution: Any,
    gap: Any,
    victim: Any,
    sets: int,
    contexts: Contexts,
) -> HostModel:
    """Check the options of one set or of a stack; ``ValueError`` for those that do not fit."""
    one_of(policy, _POLICIES, "policy")
    known = _PROTOCOLS[policy]
    protocol = known[0] if protocol is None else protocol
    one_of(protocol, known, "protocol")
    modes = _MODES_OF.get(protocol, _MODES[:1])
    mode = modes[0] if mode is None else mode
    one_of(mode, _MODES, "mode")
    if mode not in modes:
        raise ValueError(
            f"mode: got {mode!r}, expected one of {', '.join(modes)} with protocol={protocol!r}"
        )
    count = integer(cpus, "cpus")
    if not 1 <= count < 2**31:
        raise ValueError(f"cpus: got {count}, expected 1 to 2**31 - 1")
    width = _sms(hosts, sms, protocol)
    homeless = np.argwhere((hosts.core < 0) & hosts.is_task)
    if policy == "partitioned" and len(homeless):
        at = homeless[0].tolist()
        raise ValueError(
            f"core{at}: got {hosts.core[tuple(at)]}, expected one of the cores; give core=, or the "
            "hosts of a verdict by gs.analysis.partition or stgm_allocate"
        )
    homeless = np.argwhere((hosts.segments > 0) & ~hosts.sm.any(axis=-1))
    if protocol == "stgm" and len(homeless):
        raise ValueError(
            f"sm{homeless[0].tolist()}: got none, expected an SM for a task with GPU segments; "
            "give sm=, or the hosts of gs.analysis.stgm_allocate, or another protocol than 'stgm'"
        )
    if protocol != "gpu_server" and (server is not None or overhead != 0):
        name, value = ("overhead", overhead) if server is None else ("server", server)
        raise ValueError(f"{name}: got {value!r:.60}, expected none without protocol='gpu_server'")
    if protocol != "container" and server_period is not None:
        raise ValueError(
            f"server_period: got {server_period!r:.60}, expected none without protocol='container'"
        )
    periods = _server_periods(hosts, server_period, sets)
    servers = per_set(count if server is None else server, sets, "server")
    late = integer(overhead, "overhead")
    victims = victim_per_set(victim, sets, hosts.n)
    rows = (sets, hosts.n)
    sm = None
    if protocol == "stgm":
        sm = np.zeros((*rows, width), np.uint8)
        sm[..., : hosts.sms] = hosts.sm.reshape(*rows, hosts.sms)
    arguments = {
        "hosts": hosts._columns(),
        "offset": hosts.offset.reshape(rows),
        "core": hosts.core.reshape(rows),
        "sm": sm,
        "cpus": count,
        "sms": width,
        "policy": _POLICIES.index(policy),
        "gpu": _NUMBERS[protocol],
        "mode": _MODES.index(mode),
        "server": periods if protocol == "container" else servers,
        "overhead": late,
        "shares": _shares(execution, gap),
        **_context_arguments(hosts, protocol, contexts, sets),
    }
    if protocol in ("time_slices", "gcaps"):
        late = arguments["overhead"]
    return HostModel(protocol, mode, width, servers, late, periods, victims, arguments)


def _context_arguments(
    hosts: HostTasks, protocol: str, given: Contexts, sets: int
) -> dict[str, Any]:
    """The core's arguments for a context per task; nothing for other protocols."""
    standard = Contexts(None, 0, "fifo", 0, False, None)
    for name, owners in CONTEXT_OPTIONS.items():
        value = getattr(given, name)
        if protocol not in owners and value is not getattr(standard, name) and value != 0:
            expected = " or ".join(map(repr, owners))
            raise ValueError(
                f"{name}: got {value!r:.60}, expected none without protocol={expected}"
            )
    if protocol == "time_slices":
        if given.slice is None:
            raise ValueError("slice: got none, expected the length of a slice in ticks")
        one_of(given.ring, _RINGS, "ring")
        return {
            "slice": _ticks(given.slice, "slice", 1),
            "overhead": _ticks(given.switch, "switch", 0),
            "ring": _RINGS.index(given.ring),
        }
    if protocol != "gcaps":
        return {}
    priority = None
    if given.gpu_priority is not None:
        priority = int_array(given.gpu_priority, "gpu_priority")
        if priority.shape not in (hosts.core.shape, (hosts.n,)):
            raise ValueError(
                f"gpu_priority: got shape {priority.shape}, expected one number for each task, "
                f"{hosts.core.shape}"
            )
        priority = np.ascontiguousarray(np.broadcast_to(priority, (sets, hosts.n)))
    return {
        "overhead": _ticks(given.update, "update", 0),
        "switch": _ticks(given.switch, "switch", 0),
        "stall": flag(given.stall, "stall"),
        "gpu_priority": priority,
    }


def _ticks(value: Any, name: str, least: int) -> int:
    ticks = integer(value, name)
    if ticks < least:
        raise ValueError(f"{name}: got {ticks}, expected {least} or more")
    return ticks


def _server_periods(hosts: HostTasks, server_period: Any, sets: int) -> Int64Array:
    if server_period is None:
        return container_period(hosts).reshape(sets)
    periods = per_set(server_period, sets, "server_period")
    if (periods < 1).any():
        raise ValueError(f"server_period: got {int(periods.min())}, expected 1 or more")
    return periods


def _sms(hosts: HostTasks, sms: Any, protocol: str) -> int:
    if sms is None:
        return max(hosts.sms, 1 if protocol == "stgm" else hosts.columns, 1)
    count = integer(sms, "sms")
    if not 1 <= count < 2**31:
        raise ValueError(f"sms: got {count}, expected 1 to 2**31 - 1")
    if protocol == "stgm" and not hosts.sms <= count <= 2**16:
        least = f"{hosts.sms} (the SMs of hosts.sm)"
        raise ValueError(f"sms: got {count}, expected {least} to 65536 with protocol='stgm'")
    return count


def release_ends(until: Any, sets: int) -> Int64Array:
    """The instant before which jobs of each set are released, (sets,)."""
    lasts = per_set(until, sets, "until")
    if (lasts < 0).any():
        raise ValueError(f"until: got {int(lasts.min())}, expected 0 or more")
    return lasts


def _shares(execution: Any, gap: Any) -> Int64Array:
    """low, high and gap as fractions."""
    low, high = execution_shares(execution, "worst case")
    more = gap_share(gap)
    if more >= 2**59:
        raise OverflowError(f"gap: got {gap}, expected less than 2**59")
    flat: list[int] = []
    for share in (low, high, more):
        # More than 62 bits: numbers below a billionth with all digits, on which no tick depends.
        exact = max(share.numerator, share.denominator) < 2**62
        fraction = share if exact else Fraction(share).limit_denominator(2**50)
        flat += [fraction.numerator, fraction.denominator]
    if flat[2] == 0:  # so small that every part takes its least time
        flat[2:4] = [1, 2**60]
        flat[0:2] = [0, 1]
    return np.array(flat, dtype=np.int64)


def trigger_bits(triggers: Any) -> int:
    """The triggers of an adversary as a bit mask."""
    names = (triggers,) if isinstance(triggers, str) else tuple(triggers)
    bits = 0
    for name in names:
        one_of(name, _TRIGGERS, "triggers")
        bits |= 1 << _TRIGGERS.index(name)
    if bits == 0:
        raise ValueError(f"triggers: got none, expected some of {', '.join(_TRIGGERS)}")
    return bits
