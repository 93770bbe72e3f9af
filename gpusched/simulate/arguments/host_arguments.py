"""Arguments of the simulators of tasks with CPU and GPU segments, as the core takes them."""

from __future__ import annotations

from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np

from gpusched._support.arguments import Int64Array, int_array, integer, one_of
from gpusched._support.registry import enumeration
from gpusched.model.host_tasks import HostTasks, container_period
from gpusched.simulate.arguments.run_arguments import (
    execution_shares,
    gap_share,
    per_set,
    victim_per_set,
)
from gpusched.ways.way import WAYS, Way, as_way

_POLICIES = enumeration("simulate.host_policy")
_MODES = enumeration("simulate.host_mode")
_RINGS = enumeration("simulate.host_ring")
_TRIGGERS = enumeration("simulate.host_trigger")


class Victim:
    """A task under analysis: the other tasks release jobs at times that are bad for it.

    >>> hosts = gs.HostTasks.from_segments(
    ...     [20, 30], [[2, (1, 6, 1), 2], [3, (1, 8, 1), 2]], core=[0, 1])
    >>> victim = gs.simulate.Victim(0, "request")
    >>> run = gs.simulate.host(hosts, 2, "mpcp", until=60, victim=victim)
    >>> run.worst.tolist()
    [12, 20]

    Parameters
    ----------
    task
        Index of the task; for ``host_responses`` also one per set (-1: none).
    triggers
        Events of the task's jobs at which other tasks release jobs, one or several of: "release" (a
        job becomes the current one of its task), "request" (a GPU segment begins), "resume" (a GPU
        segment has ended), "end". Default: "request".
    """

    def __init__(self, task: Any, *triggers: str) -> None:
        self.task = task
        self.triggers = triggers or ("request",)

    def __repr__(self) -> str:
        return f"gs.simulate.Victim({', '.join(map(repr, (self.task, *self.triggers)))})"


class HostModel(NamedTuple):
    """Checked options, and those arguments of the core that its functions share."""

    way: Way
    policy: str
    sms: int
    victim: Int64Array
    triggers: int
    arguments: dict[str, Any]


def host_model(
    hosts: HostTasks,
    cpus: Any,
    way: Any,
    sms: Any,
    execution: Any,
    gap: Any,
    victim: Any,
    sets: int,
) -> HostModel:
    """Check the options of one set or of a stack; ``ValueError`` for those that do not fit."""
    way = _simulated(as_way(way))
    policy = "gedf" if way.global_edf else "partitioned"
    count = integer(cpus, "cpus")
    if not 1 <= count < 2**31:
        raise ValueError(f"cpus: got {count}, expected 1 to 2**31 - 1")
    width = _sms(hosts, sms, way)
    homeless = np.argwhere((hosts.core < 0) & hosts.is_task)
    if policy == "partitioned" and len(homeless):
        at = homeless[0].tolist()
        raise ValueError(
            f"core{at}: got {hosts.core[tuple(at)]}, expected one of the cores; give core=, or the "
            "hosts of a verdict by gs.analysis.partition or stgm_allocate"
        )
    homeless = np.argwhere((hosts.segments > 0) & ~hosts.sm.any(axis=-1))
    if way.divided and len(homeless):
        raise ValueError(
            f"sm{homeless[0].tolist()}: got none, expected an SM for a task with GPU segments; "
            f"give sm=, or the hosts of gs.analysis.stgm_allocate, or another way than {way.name!r}"
        )
    victim = victim if victim is None or isinstance(victim, Victim) else Victim(victim)
    victims = victim_per_set(None if victim is None else victim.task, sets, hosts.n)
    rows = (sets, hosts.n)
    sm = None
    if way.divided:
        sm = np.zeros((*rows, width), np.uint8)
        sm[..., : hosts.sms] = hosts.sm.reshape(*rows, hosts.sms)
    way, own = _own_arguments(hosts, way, count, sets)
    mode = getattr(way, "mode", _MODES[0]) if _has(way, "mode") else _MODES[0]
    arguments = {
        "hosts": hosts._columns(),
        "offset": hosts.offset.reshape(rows),
        "core": hosts.core.reshape(rows),
        "sm": sm,
        "cpus": count,
        "sms": width,
        "policy": _POLICIES.index(policy),
        "way": _protocol(way),
        "mode": _MODES.index(mode),
        "shares": _shares(execution, gap),
        **own,
    }
    triggers = trigger_bits(("request",) if victim is None else victim.triggers)
    return HostModel(way, policy, width, victims, triggers, arguments)


def _has(way: Way, name: str) -> bool:
    return name in way._options


def _protocol(way: Way) -> str:
    """The rules of the core for a way; a lock that is to be chosen is FMLP."""
    if way.name != "srm":
        return way.name
    return "omlp" if way.lock == "omlp" else "fmlp"


def _simulated(way: Way) -> Way:
    """A way that this simulator plays, with its mode; ValueError for another."""
    plays = [each.name for each in WAYS if each.placed or each.global_edf]
    if way.name not in plays:
        raise ValueError(f"way: got {way.name!r}, expected one of {', '.join(plays)}")
    if _has(way, "mode") and "mode" not in way.given:
        way = way.replace(mode=way.mode)
    return way


def _own_arguments(hosts: HostTasks, way: Way, cpus: int, sets: int) -> tuple[Way, dict[str, Any]]:
    """The way with what it has by default here, and the core's arguments for its parameters."""
    one = not hosts.is_stack
    found: dict[str, Any] = {"server": np.full(sets, cpus, np.int64), "overhead": 0}
    if _has(way, "server"):
        servers = per_set(cpus if way.server is None else way.server, sets, "server")
        way = way.replace(server=int(servers[0]) if one else servers)
        found |= {"server": servers, "overhead": integer(way.server_overhead, "server_overhead")}
    if _has(way, "server_period"):
        periods = _server_periods(hosts, way.server_period, sets)
        way = way.replace(server_period=int(periods[0]) if one else periods)
        found["server"] = periods
    if way.name == "time_slices":
        if way.timeslice is None:
            raise ValueError("timeslice: got none, expected the length of a slice in ticks")
        found |= {
            "slice": integer(way.timeslice, "timeslice"),
            "overhead": integer(way.context_switch, "context_switch"),
            "ring": _RINGS.index(way.ring),
        }
    if way.name == "gcaps":
        priority = None
        if way.gpu_priority is not None:
            priority = int_array(way.gpu_priority, "gpu_priority")
            if priority.shape not in (hosts.core.shape, (hosts.n,)):
                raise ValueError(
                    f"gpu_priority: got shape {priority.shape}, expected one number for each task, "
                    f"{hosts.core.shape}"
                )
            priority = np.ascontiguousarray(np.broadcast_to(priority, (sets, hosts.n)))
        found |= {
            "overhead": integer(way.update_cost, "update_cost"),
            "switch": integer(way.context_switch, "context_switch"),
            "stall": way.stall,
            "gpu_priority": priority,
        }
    return way, found


def _server_periods(hosts: HostTasks, server_period: Any, sets: int) -> Int64Array:
    if server_period is None:
        return container_period(hosts).reshape(sets)
    periods = per_set(server_period, sets, "server_period")
    if (periods < 1).any():
        raise ValueError(f"server_period: got {int(periods.min())}, expected 1 or more")
    return periods


def _sms(hosts: HostTasks, sms: Any, way: Way) -> int:
    if sms is None:
        return max(hosts.sms, 1 if way.divided else hosts.columns, 1)
    count = integer(sms, "sms")
    if not 1 <= count < 2**31:
        raise ValueError(f"sms: got {count}, expected 1 to 2**31 - 1")
    if way.divided and not hosts.sms <= count <= 2**16:
        least = f"{hosts.sms} (the SMs of hosts.sm)"
        raise ValueError(f"sms: got {count}, expected {least} to 65536 with {way.name!r}")
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
    more = gap_share(gap, "releases")
    if more >= 2**59:
        raise OverflowError(f"releases: got {gap}, expected less than 2**59")
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
