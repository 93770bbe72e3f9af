"""Numbers of a deployment: places of the tasks, shares and parts of the GPU, and their rules."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from gpusched._support.text import clip, named
from gpusched.model.gpus.mig_profiles import MigInstance
from gpusched.model.gpus.mps_shares import SMs, client_sms

__all__ = [
    "Deployment",
    "Phase",
    "Place",
    "fifo_priorities",
    "percentage_of",
    "sm_groups",
]

HIGHEST = 48  # of a thread; interrupt threads have 50 with PREEMPT_RT
_USUAL = 10  # the lowest priority of tasks, where there is room


@dataclass(frozen=True)
class Phase:
    """A part of a job: "cpu" or "gpu", and its time in ns."""

    kind: str
    time: int


@dataclass(frozen=True)
class Place:
    """Place and urgency of a task; times in ns.

    ``urgency``: of its requests, a larger one is more urgent; 0 for a task that makes none.
    ``ceiling``: its priority from a request to the release; 0: its own. ``group``: the green
    context of its stream, -1 for none. ``sms``: those that it may use, 0 for all. ``due``: from a
    release to the instant that orders its GPU work, where the earliest deadline is first.
    ``after``: tasks whose jobs ``every`` x j release its job j.
    """

    name: str
    process: str
    core: int
    fifo: int
    period: int
    offset: int
    deadline: int
    phases: tuple[Phase, ...]
    ceiling: int = 0
    urgency: int = 0
    stream_priority: int = 0
    group: int = -1
    sms: int = 0
    instance: str = ""
    due: int = 0
    after: tuple[str, ...] = ()
    every: int = 1


@dataclass(frozen=True)
class Deployment:
    """A program under a way of sharing the GPU, in numbers.

    Attributes
    ----------
    way, label, mode
        The way, its label with options, and "suspend", "busy" or "spin".
    gpu, cc, sms
        Name, compute capability and SMs of the GPU; "", None and 0 if it is not known.
    holds
        Whether the answer guarantees all deadlines, also under conditions.
    conditions, copies, launches
        Sentences: conditions that are not shown, how the answer counts copies, and tasks that wait
        behind each call ("sync") or launch a segment as one graph ("graph").
    cores
        CPUs of the machine for the cores of the answer; ``spare``: one for a dispatcher or a
        server, None if there is none.
    shares
        By process, the percentage of the SMs that it may use.
    parts
        Static partitions of MPS as processes and chunks, or green contexts as tasks and SMs.
    instances
        GPU instances with their placements.
    connections
        Hardware channels of a context or a client; 0: as the driver has them.
    balanced, apart
        Whether green contexts have work queues of their own, and SMs without co-scheduling.
    dispatcher
        SCHED_FIFO priority of a dispatcher.
    played
        Whether the player follows the schedule of the answer.
    """

    way: str
    label: str
    mode: str
    gpu: str
    cc: tuple[int, int] | None
    sms: int
    holds: bool
    conditions: tuple[str, ...]
    copies: tuple[str, ...]
    launches: tuple[str, ...]
    places: tuple[Place, ...]
    cores: tuple[int, ...]
    spare: int | None
    shares: Mapping[str, int]
    parts: tuple[tuple[tuple[str, ...], int], ...]
    instances: tuple[MigInstance, ...]
    connections: int
    balanced: bool
    apart: bool
    dispatcher: int
    played: bool

    @property
    def processes(self) -> tuple[str, ...]:
        """Names of the processes, in the order of their first tasks."""
        return tuple(dict.fromkeys(place.process for place in self.places))

    @property
    def is_served(self) -> bool:
        """Whether a server thread runs the GPU segments."""
        return self.way == "gpu_server" or (self.way == "edf_serial" and not self.played)

    @property
    def by_due(self) -> bool:
        """Whether requests of the server are the more urgent, the earlier they are due."""
        return self.way == "edf_serial" and not self.played

    @property
    def is_tegra(self) -> bool:
        """Whether the GPU is that of a Jetson."""
        return self.cc in ((5, 3), (6, 2), (7, 2), (8, 7), (11, 0))


def fifo_priorities(
    priority: Sequence[int], *, ceilings: bool = False, server: bool = False
) -> tuple[list[int], list[int], int]:
    """SCHED_FIFO priorities of tasks, their ceilings, and the priority of a server or dispatcher.

    Smaller numbers of ``priority`` are more urgent; equal ones stay equal. The tasks have 10 and
    more (1 and more if there are many), ceilings are those priorities plus their number, so that
    their order is kept and all are above all tasks. A server or dispatcher is above all of them.

    >>> fifo_priorities([0, 2, 1], ceilings=True)
    ([12, 10, 11], [15, 13, 14], 48)

    Raises ValueError for more tasks than there are priorities.
    """
    ranks = sorted(set(priority), reverse=True)
    levels = len(ranks) * (2 if ceilings else 1) + server
    base = _USUAL if _USUAL + levels - 1 <= HIGHEST else 1
    if base + levels - 1 > HIGHEST:
        raise ValueError(
            f"tasks: got {len(ranks)} priorities, expected at most "
            f"{(HIGHEST - server) // (2 if ceilings else 1)}, so that all are below those of "
            "interrupts"
        )
    own = [base + ranks.index(one) for one in priority]
    above = [one + len(ranks) if ceilings else 0 for one in own]
    return own, above, HIGHEST if not server else base + levels - 1


def percentage_of(share: int | SMs, sms: int, unit: int, process: str) -> int:
    """The active thread percentage with which a client may use its share of the SMs.

    A percentage stays as it is. Of a number of SMs it is the least percentage that yields it.

    >>> percentage_of(SMs(25), 132, 1, "camera")
    19

    Raises ValueError if no percentage yields exactly that many: the answer is then about another
    share, as more SMs for one client are fewer for the others.
    """
    if not isinstance(share, SMs):
        return share
    wanted = client_sms(share, sms, unit)
    least = next(q for q in range(1, 101) if client_sms(q, sms, unit) >= wanted)
    if client_sms(least, sms, unit) != wanted:
        raise ValueError(
            f"mps[{named(process)}]: got {wanted} SMs, expected a percentage: {least} % are "
            f"{client_sms(least, sms, unit)} SMs; compute the answer with that percentage"
        )
    return least


def sm_groups(sets: Mapping[str, frozenset[int]], unit: int, sms: int) -> list[tuple[str, ...]]:
    """Tasks by their set of SMs, largest sets first, for a green context each.

    Raises ValueError for tasks that share some SMs but not all, and for sets that no green contexts
    have.
    """
    groups: dict[frozenset[int], list[str]] = {}
    for name, own in sets.items():
        groups.setdefault(own, []).append(name)
    for own, names in groups.items():
        for other, theirs in groups.items():
            if own is not other and own & other:
                raise ValueError(
                    f"stgm: {clip(names[0], 60)} and {clip(theirs[0], 60)} share "
                    f"{len(own & other)} SMs of {len(own)} and {len(other)}, expected "
                    "all or none: a green context has SMs of its own (changed kernels could share)"
                )
    total = sum(map(len, groups))
    odd = [own for own in groups if len(own) % unit]
    if len(odd) > (1 if total == sms else 0):
        names = groups[odd[-1]]
        raise ValueError(
            f"stgm: got {len(odd[-1])} SMs for {clip(', '.join(names), 60)}, expected a multiple "
            f"of {unit}, of which green contexts are made on this GPU"
        )
    order = sorted(groups, key=lambda own: (len(own) % unit > 0, -len(own), min(own)))
    return [tuple(groups[own]) for own in order]
