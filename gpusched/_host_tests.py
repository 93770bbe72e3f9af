"""Response-time tests of tasks with CPU and GPU segments; see ``gs.analysis``."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from gpusched import _core
from gpusched._check import Int64Array, instance, int_array, integer64, one_of, some_of
from gpusched.hosttasks import MAX_SMS, HostTasks
from gpusched.verdict import TERMS, Verdict, _answer

__all__ = [
    "fmlp_plus",
    "gpu_server",
    "mpcp",
    "partition",
    "stgm",
    "stgm_allocate",
    "stgm_exhaustive",
]

Mode = Literal["suspend", "busy"]
LockMode = Literal["suspend", "busy", "spin"]

STGM_VARIANTS = ("sound", "paper", "paper, B_h")
LOCK_MODES = ("suspend", "busy", "spin")


def stgm(
    hosts: HostTasks,
    cpus: int | None = None,
    sms: int | None = None,
    mode: Mode = "suspend",
    variant: Literal["sound", "paper", "paper, B_h"] = "sound",
    *,
    stop: Any = None,
) -> Verdict:
    """The test of the STGM paper, section IV-B: tasks share the GPU by SMs.

    Tasks are assigned to cores and run there by fixed preemptive priorities (``hosts.core``,
    ``hosts.priority``). A kernel runs on its task's SMs (``hosts.sm``) and starts when every kernel
    that was launched before on one of them has ended. Copies take the one copy engine, first come,
    first served. A GPU segment runs at a boosted priority.

    The claim rests on this:

    - a kernel takes no longer than ``hosts.kernel`` says for its number of SMs, whatever runs on
      the other SMs: what kernels on different SMs do to each other through caches and memory must
      be in these numbers;
    - mode "suspend": while a task waits for the copy engine, for its SMs or for its kernel, it is
      suspended; a copy needs the copy engine and, at boosted priority, the task's core, for its
      whole length. A program that spins while it waits for the copy engine is not covered; mode
      "busy" covers it;
    - mode "busy": from the start of a GPU segment to its end the task keeps its core and cannot be
      preempted;
    - a GPU segment begins when its task is scheduled at its own priority, also at the start of a
      job and after another GPU segment;
    - releases of a task are at least a period apart; segments may take less than they are given.

    Parameters
    ----------
    hosts
        One set or a stack, with cores and, for tasks with GPU segments, SMs; deadlines at most the
        periods, priorities that differ.
    cpus
        How many cores; as many as ``hosts.core`` has unless given.
    sms
        How many SMs the GPU has; ``hosts.sms`` unless given.
    mode
        "suspend" or "busy", see above.
    variant
        "sound": the corrected equations. "paper": Eqs. (1)-(12) as printed, **which are unsound**:
        Eq. (5) misses that a kernel waits for one that itself waits, Eqs. (7) and (11) bound
        what less urgent tasks do on the core too low, and Eq. (9) charges more urgent tasks
        with the blocking of the task itself. "paper, B_h": with their own instead (mode "busy"
        only); unsound, too.
    stop
        A writable buffer of one byte; setting it to 1 in another thread ends the call.

    Returns
    -------
    Verdict

    Raises
    ------
    ValueError
        Tasks without a core or SM, deadlines beyond the period, priorities that tie, numbers of
        cores or SMs that do not suffice, more than 1024 SMs.
    OverflowError
        Jobs that overflow the clock.
    gpusched.Cancelled
        ``stop`` was set.
    """
    instance(hosts, HostTasks, "hosts")
    one_of(mode, LOCK_MODES[:2], "mode")
    one_of(variant, STGM_VARIANTS, "variant")
    cores, count = _cores(hosts, cpus)
    width = hosts.sms if sms is None else _few_sms(integer64(sms, "sms"))
    answer = _core.host_stgm(
        hosts._columns(), cores, _sets(hosts, width), count, mode == "busy", *_paper(variant), stop
    )
    return _verdict(hosts, "stgm", variant, mode, count, width, answer)


def mpcp(
    hosts: HostTasks,
    cpus: int | None = None,
    sms: int | None = None,
    mode: LockMode = "suspend",
    *,
    stop: Any = None,
) -> Verdict:
    """MPCP: one lock for the whole GPU, which the most urgent waiting task gets next.

    Rajkumar, Sha and Lehoczky (RTSS 1988); Lakshmanan, de Niz and Rajkumar (RTSS 2009). A job
    requests the lock for each GPU segment and holds it to the segment's end, at a boosted priority;
    the holder has all SMs. Blocking is the smaller of what a request and what a job can meet, and
    jitter is W - x, not the refuted W + B^r of LNR'09, Eq. (3).

    The claim rests on this: waiting tasks are suspended ("suspend", "busy") or spin at their own
    priority ("spin"); the holder is suspended during kernels ("suspend") or keeps its core ("busy",
    "spin"). Releases of a task are at least a period apart.

    Parameters
    ----------
    hosts, cpus, stop
        As in `stgm`; ``hosts.sm`` is not looked at.
    sms
        With how many SMs kernels run; as many as ``hosts.kernel`` has times for unless given.
    mode
        "suspend", "busy" or "spin", see above.

    Returns
    -------
    Verdict

    Raises
    ------
    As `stgm`.
    """
    instance(hosts, HostTasks, "hosts")
    one_of(mode, LOCK_MODES, "mode")
    cores, count = _cores(hosts, cpus)
    width = _whole_gpu(hosts, sms)
    answer = _core.host_mpcp(hosts._columns(), cores, count, width, LOCK_MODES.index(mode), stop)
    return _verdict(hosts, "mpcp", "sound", mode, count, width, answer)


def fmlp_plus(
    hosts: HostTasks,
    cpus: int | None = None,
    sms: int | None = None,
    mode: Mode = "suspend",
    variant: Literal["sound", "gcaps"] = "sound",
    *,
    stop: Any = None,
) -> Verdict:
    """FMLP+: one lock for the whole GPU, first come, first served.

    Block, Leontyev, Brandenburg and Anderson (RTCSA 2007); Brandenburg (ECRTS 2014). As `mpcp`, but
    for the order of the queue; waiting tasks are suspended.

    Parameters
    ----------
    hosts, cpus, sms, stop
        As in `mpcp`.
    mode
        "suspend": the holder of the lock is suspended during kernels; "busy": it keeps its core.
    variant
        "sound", or "gcaps": as the public code of GCAPS (RTAS 2024) has it. That does not count the
        requests of more urgent tasks on the core, which is right if these keep the core, but
        **unsound** in mode "suspend".

    Returns
    -------
    Verdict

    Raises
    ------
    As `stgm`.
    """
    instance(hosts, HostTasks, "hosts")
    one_of(mode, LOCK_MODES[:2], "mode")
    one_of(variant, ("sound", "gcaps"), "variant")
    cores, count = _cores(hosts, cpus)
    width = _whole_gpu(hosts, sms)
    answer = _core.host_fmlp_plus(
        hosts._columns(), cores, count, width, mode == "busy", variant == "gcaps", stop
    )
    return _verdict(hosts, "fmlp_plus", variant, mode, count, width, answer)


def gpu_server(
    hosts: HostTasks,
    cpus: int | None = None,
    server: Any = None,
    overhead: int = 0,
    sms: int | None = None,
    *,
    stop: Any = None,
) -> Verdict:
    """A server task runs all GPU segments, one at a time, the most urgent task's first.

    Kim, Patel, Wang and Rajkumar (RTCSA 2017; JSA 2018). The server has the highest priority on its
    core, executes the copies and is suspended during kernels; tasks are suspended from request to
    notice. It takes ``overhead`` at the start of a request, between two of them and to notify.

    Parameters
    ----------
    hosts, cpus, sms, stop
        As in `mpcp`.
    server
        The server's core, one number or ``(N,)``; None for a core of its own beside the ``cpus``.
    overhead
        In ticks (epsilon; the authors measured 50 us).

    Returns
    -------
    Verdict
        With ``server``.

    Raises
    ------
    As `stgm`; also for a server's core that is none, and a negative overhead.
    """
    instance(hosts, HostTasks, "hosts")
    cores, count = _cores(hosts, cpus)
    width = _whole_gpu(hosts, sms)
    place = np.int64(count) if server is None else int_array(server, "server")
    sets = len(cores)
    if np.ndim(place) > 1 or (np.ndim(place) == 1 and np.shape(place) != (sets,)):
        raise ValueError(f"server: shape {np.shape(place)}; must be one core, or one for each set")
    places = np.ascontiguousarray(np.broadcast_to(place, (sets,)))
    answer = _core.host_gpu_server(
        hosts._columns(), cores, places, count, width, integer64(overhead, "overhead"), stop
    )
    return _verdict(hosts, "gpu_server", "sound", "suspend", count, width, answer, server=places)


TESTS = ("mpcp", "fmlp_plus", "gpu_server")
_ALSO = {"fmlp+": "fmlp_plus", "server": "gpu_server"}  # the simulator's names for them


def partition(
    hosts: HostTasks,
    cpus: int,
    test: Literal["mpcp", "fmlp_plus", "gpu_server"] = "mpcp",
    mode: LockMode = "suspend",
    sms: int | None = None,
    overhead: int = 0,
    *,
    variant: Literal["sound", "gcaps"] = "sound",
    stop: Any = None,
) -> Verdict:
    """Chooses the cores for `mpcp`, `fmlp_plus` or `gpu_server` by worst fit, and tests.

    The rule is that of Algorithm 1 of the STGM paper without SMs: tasks by falling utilization
    (ties by index), each to the core with the least load (the first of several). A task's
    utilization is what its job takes of the core, by its period: (C + G^m) / T, or (C + G) / T
    where it keeps the core during kernels. With a server it is C / T, and the server is one more
    task, of utilization sum (G^m + 2 eta overhead) / T; which core the paper's authors gave it is
    not known.

    Parameters
    ----------
    hosts
        One set or a stack; ``hosts.core`` and ``hosts.sm`` are not looked at.
    cpus
        How many cores.
    test, mode, variant
        Which test, and its options; see there. ("fmlp+" and "server", as ``gs.simulate.host`` calls
        their rules, will do, too.)
    sms, overhead, stop
        As in the test.

    Returns
    -------
    Verdict
        Its ``hosts`` have the cores that were chosen, also where the set is not schedulable.

    Raises
    ------
    As the test.
    """
    instance(hosts, HostTasks, "hosts")
    test = _ALSO.get(test, test) if isinstance(test, str) else test  # type: ignore[assignment]
    one_of(test, TESTS, "test")
    modes = {"mpcp": LOCK_MODES, "fmlp_plus": LOCK_MODES[:2], "gpu_server": LOCK_MODES[:1]}
    one_of(mode, modes[test], "mode")
    one_of(variant, ("sound", "gcaps") if test == "fmlp_plus" else ("sound",), "variant")
    count, width = integer64(cpus, "cpus"), _whole_gpu(hosts, sms)
    *answer, cores, server = _core.host_partition(
        hosts._columns(),
        *(count, width, TESTS.index(test), LOCK_MODES.index(mode)),
        *(integer64(overhead, "overhead"), stop),
    )
    placed = hosts._replaced(core=cores if hosts.is_stack else cores[0])
    if variant == "gcaps":  # the same cores, as these depend on loads alone
        return fmlp_plus(placed, count, width, mode, variant, stop=stop)  # type: ignore[arg-type]
    places = server if test == "gpu_server" else None
    return _verdict(placed, test, variant, mode, count, width, tuple(answer), server=places)


PRINTED = {"line 16": 1, "load": 2, "line 24": 4, "line 26": 8, "line 23": 16}
"""Lines of Algorithm 1 as printed; see `stgm_allocate`."""
APART = 32


def stgm_allocate(
    hosts: HostTasks,
    cpus: int,
    sms: int | None = None,
    mode: Mode = "suspend",
    variant: Literal["sound", "paper", "paper, B_h"] = "sound",
    *,
    apart: bool = False,
    printed: str | Iterable[str] = (),
    stop: Any = None,
) -> Verdict:
    """Chooses cores and SMs for `stgm`: Algorithm 1 of the STGM paper, corrected.

    SMs are dealt out in the order of the tasks, so many consecutive ones to each, round the end; at
    first one. Then tasks by falling utilization go to the core with the least load on which all
    tasks pass the test with them. While a task finds no core, the one that gains most from one more
    SM, (G(N) - G(N + 1)) / T, gets it, and all starts anew.

    It is a heuristic: a set that it finds no allocation for may have one (`stgm_exhaustive`).

    Parameters
    ----------
    hosts
        One set or a stack; ``hosts.core`` and ``hosts.sm`` are not looked at.
    cpus
        How many cores.
    sms
        How many SMs; as many as ``hosts.kernel`` has times for unless given.
    mode, variant, stop
        As in `stgm`, for the test that is used; with ``printed`` lines of its own algorithm.
    apart
        Whether to look first for SMs that nobody waits for, or only few. **Ours, not the paper's**;
        it finds far more allocations. In mode "busy" the tasks of one core can use the same SMs
        without waiting, as their GPU segments never overlap, so SMs are divided among cores; in
        both modes SMs are divided among tasks, while there are enough, by need or by gain. In mode
        "suspend" (and with printed tests) they are also divided among groups of tasks: the members
        of a group share its SMs, and none waits for a task outside. Groups are made so that waiting
        takes small parts of deadlines. Tasks that find no core are placed first the next time.
        Where all of it fails, Algorithm 1 follows, so that nothing is lost.
    printed
        Lines to run as they are printed: "line 16" (checks only the task that is placed, **which is
        unsafe**), "load" (lines 16 and 17: loads of C / T), "line 24" (its sign chooses the task
        that gains least), "line 26" (returns to line 7, without a reset; unsafe), "line 23"
        (tests the wrong end). They are Algorithm 1's: what ``apart`` finds before passes the test.

    Returns
    -------
    Verdict
        Its ``hosts`` have the cores and SMs that were chosen, and ``rounds`` says how often SMs
        were dealt out. If none were found they are those of the last round, core -1 for tasks that
        found none, and the verdict is that of the least loaded core with the first of these on it.
        With an unsafe line or variant ``schedulable`` is what the algorithm says.

    Raises
    ------
    As `stgm`; ValueError also for a line that is not in this list.
    """
    instance(hosts, HostTasks, "hosts")
    one_of(mode, LOCK_MODES[:2], "mode")
    one_of(variant, STGM_VARIANTS, "variant")
    flags = APART if apart else 0
    for line in some_of(printed, PRINTED, "printed"):
        flags |= PRINTED[line]
    count, width = integer64(cpus, "cpus"), _few_sms(_whole_gpu(hosts, sms))
    *answer, cores, sets, rounds = _core.host_stgm_allocate(
        hosts._columns(), count, width, mode == "busy", *_paper(variant), flags, stop
    )
    placed = _placed(hosts, cores, sets)
    return _verdict(placed, "stgm", variant, mode, count, width, tuple(answer), rounds=rounds)


def stgm_exhaustive(
    hosts: HostTasks,
    cpus: int,
    sms: int | None = None,
    mode: Mode = "suspend",
    variant: Literal["sound", "paper", "paper, B_h"] = "sound",
    *,
    states: int = 1_000_000,
    stop: Any = None,
) -> Verdict:
    """Is there any choice of cores and SMs that passes `stgm`? For small systems.

    Every way to divide the tasks among the cores and the SMs among the tasks is tried, but for
    those that the test cannot tell apart, or that are no better than another.

    Parameters
    ----------
    hosts
        One set or a stack of at most 16 tasks, 6 of them with GPU segments.
    cpus, sms, mode, variant, stop
        As in `stgm_allocate`.
    states
        A budget for each set: parts of a division of tasks, as they grow.

    Returns
    -------
    Verdict
        Its ``hosts`` have an allocation that passes; without one no task has a core.
        ``schedulable`` is None (-1 in a stack, which has int8) where the budget was spent.

    Raises
    ------
    As `stgm_allocate`; ValueError also for larger sets.
    """
    instance(hosts, HostTasks, "hosts")
    one_of(mode, LOCK_MODES[:2], "mode")
    one_of(variant, STGM_VARIANTS, "variant")
    count, width = integer64(cpus, "cpus"), _few_sms(_whole_gpu(hosts, sms))
    if integer64(states, "states") < 1:
        raise ValueError(f"states = {states}: must be positive")
    *answer, cores, sets, rounds = _core.host_stgm_exhaustive(
        hosts._columns(), count, width, mode == "busy", *_paper(variant), states, stop
    )
    placed = _placed(hosts, cores, sets)
    return _verdict(
        *(placed, "stgm", variant, mode, count, width, tuple(answer)), rounds=rounds, decided=False
    )


# What the tests share


def _cores(hosts: HostTasks, cpus: int | None) -> tuple[Int64Array, int]:
    """Each task's core, with an axis for the sets, and how many there are."""
    cores = np.atleast_2d(hosts.core)
    nowhere = np.argwhere(cores < 0)
    if len(nowhere):
        at = nowhere[0][0 if hosts.is_stack else 1 :].tolist()
        raise ValueError(
            f"core{at}: the task has no core; give core=, or use partition or stgm_allocate"
        )
    if cpus is None:
        return cores, int(cores.max(initial=0)) + 1
    return cores, integer64(cpus, "cpus")


def _few_sms(sms: int) -> int:
    """A number of SMs of which sets are made."""
    if not 0 <= sms <= MAX_SMS:
        raise ValueError(f"sms = {sms}: must be a number of SMs, at most {MAX_SMS}")
    return sms


def _sets(hosts: HostTasks, sms: int) -> npt.NDArray[np.uint8]:
    """The sets of SMs (N, n, sms)."""
    beyond = np.argwhere(hosts.sm[..., sms:])
    if len(beyond):
        *at, past = beyond[0].tolist()
        raise ValueError(f"sms = {sms}: sm{at} has SM {sms + past}")
    given = hosts.sm if hosts.is_stack else hosts.sm[None]
    sets = np.zeros((*given.shape[:2], sms), np.uint8)
    common = min(sms, hosts.sms)
    sets[..., :common] = given[..., :common]
    return sets


def _placed(hosts: HostTasks, cores: Int64Array, sets: npt.NDArray[np.uint8]) -> HostTasks:
    sm = sets.view(np.bool_)
    if hosts.is_stack:
        return hosts._replaced(core=cores, sm=sm)
    return hosts._replaced(core=cores[0], sm=sm[0])


def _whole_gpu(hosts: HostTasks, sms: int | None) -> int:
    return hosts.columns if sms is None else integer64(sms, "sms")


def _paper(variant: str) -> tuple[int]:
    return (STGM_VARIANTS.index(variant),)


def _verdict(
    hosts: HostTasks,
    test: str,
    variant: str,
    mode: str,
    cpus: int,
    sms: int,
    answer: tuple[Any, ...],
    server: Any = None,
    rounds: Any = None,
    decided: bool = True,
) -> Verdict:
    """The verdict from arrays for a stack; about one set where ``hosts`` is one."""
    schedulable, response, terms, failed = answer[:4]
    accepted = schedulable.astype(np.bool_) if decided else schedulable
    parts = {name: np.ascontiguousarray(terms[..., i]) for i, name in enumerate(TERMS)}
    asked = (hosts, test, variant, mode, cpus, sms)
    if hosts.is_stack:
        return Verdict(*asked, accepted, response, parts, failed, server, rounds)
    return Verdict(
        *asked,
        *(_answer(accepted[0]), response[0], {name: part[0] for name, part in parts.items()}),
        int(failed[0]),
        None if server is None else int(server[0]),
        None if rounds is None else int(rounds[0]),
    )
