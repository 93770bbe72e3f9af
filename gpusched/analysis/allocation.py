"""Allocation of cores and SMs to tasks with CPU and GPU segments [RTCSA19]."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from gpusched import _core
from gpusched._support.arguments import Int64Array, instance, integer64, one_of, some_of
from gpusched.analysis.partitioned import fmlp_plus
from gpusched.analysis.partitioned_inputs import (
    LOCK_MODES,
    STGM_VARIANTS,
    LockMode,
    Mode,
    few_sms,
    variant_number,
    verdict_of,
    whole_gpu,
)
from gpusched.analysis.verdict import Verdict
from gpusched.model.host_tasks import HostTasks

__all__ = ["partition", "stgm_allocate", "stgm_exhaustive"]

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
    count, width = integer64(cpus, "cpus"), whole_gpu(hosts, sms)
    *answer, cores, server = _core.host_partition(
        hosts._columns(),
        cpus=count,
        sms=width,
        method=test,
        mode=LOCK_MODES.index(mode),
        overhead=integer64(overhead, "overhead"),
        stop=stop,
    )
    placed = hosts._replaced(core=cores if hosts.is_stack else cores[0])
    if variant == "gcaps":  # the same cores, as these depend on loads alone
        return fmlp_plus(placed, count, width, mode, variant, stop=stop)  # type: ignore[arg-type]
    places = server if test == "gpu_server" else None
    return verdict_of(placed, test, variant, mode, count, width, tuple(answer), server=places)


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
    count, width = integer64(cpus, "cpus"), few_sms(whole_gpu(hosts, sms))
    *answer, cores, sets, rounds = _core.host_stgm_allocate(
        hosts._columns(),
        cpus=count,
        sms=width,
        busy=mode == "busy",
        paper=variant_number(variant),
        flags=flags,
        stop=stop,
    )
    placed = _placed(hosts, cores, sets)
    return verdict_of(placed, "stgm", variant, mode, count, width, tuple(answer), rounds=rounds)


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
    count, width = integer64(cpus, "cpus"), few_sms(whole_gpu(hosts, sms))
    if integer64(states, "states") < 1:
        raise ValueError(f"states = {states}: must be positive")
    *answer, cores, sets, rounds = _core.host_stgm_exhaustive(
        hosts._columns(),
        cpus=count,
        sms=width,
        busy=mode == "busy",
        paper=variant_number(variant),
        states=states,
        stop=stop,
    )
    placed = _placed(hosts, cores, sets)
    return verdict_of(
        *(placed, "stgm", variant, mode, count, width, tuple(answer)), rounds=rounds, decided=False
    )


def _placed(hosts: HostTasks, cores: Int64Array, sets: npt.NDArray[np.uint8]) -> HostTasks:
    sm = sets.view(np.bool_)
    if hosts.is_stack:
        return hosts._replaced(core=cores, sm=sm)
    return hosts._replaced(core=cores[0], sm=sm[0])
