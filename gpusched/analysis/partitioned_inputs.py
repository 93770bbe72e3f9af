"""Arguments and verdicts shared by the partitioned tests and the allocators."""

from __future__ import annotations

from time import perf_counter
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from gpusched import _core
from gpusched._support.arguments import Int64Array, integer64, one_of
from gpusched._support.registry import enumeration, methods
from gpusched.analysis.verdict import TERMS, Verdict
from gpusched.model.host_tasks import MAX_SMS, HostTasks
from gpusched.simulate.challenges.challenge_result import Sharing

Mode = Literal["suspend", "busy"]
LockMode = Literal["suspend", "busy", "spin"]
FixedPoint = Literal["joint", "one_pass"]
Suspension = Literal["split", "jitter"]

STGM_VARIANTS = enumeration("analysis.stgm_variant")
LOCK_MODES = enumeration("analysis.lock_mode")
NO_SHARING = Sharing()  # of protocols without parameters


def assigned_cores(hosts: HostTasks, cpus: int | None) -> tuple[Int64Array, int]:
    """Each task's core, with an axis for the sets, and the number of cores."""
    cores = np.atleast_2d(hosts.core)
    nowhere = np.argwhere((cores < 0) & hosts.is_task)
    if len(nowhere):
        at = nowhere[0][0 if hosts.is_stack else 1 :].tolist()
        raise ValueError(
            f"core{at}: got none, expected a core (give core=, or use partition or stgm_allocate)"
        )
    if cpus is None:
        return cores, int(cores.max(initial=0)) + 1
    return cores, integer64(cpus, "cpus")


def few_sms(sms: int) -> int:
    """Check a number of SMs for which sets of SMs can be represented."""
    if not 0 <= sms <= MAX_SMS:
        raise ValueError(f"sms: got {sms}, expected 0 to {MAX_SMS} SMs")
    return sms


def sm_sets_of(hosts: HostTasks, sms: int) -> npt.NDArray[np.uint8]:
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


def whole_gpu(hosts: HostTasks, sms: int | None) -> int:
    return hosts.columns if sms is None else integer64(sms, "sms")


def variant_number(variant: str) -> int:
    return STGM_VARIANTS.index(variant)


def lock_test(
    method: str,
    hosts: HostTasks,
    cores: Int64Array,
    cpus: int,
    sms: int,
    mode: str = "suspend",
    *,
    paper: bool = False,
    server: Int64Array | None = None,
    overhead: int = 0,
    fixed_point: FixedPoint = "joint",
    suspension: Suspension = "split",
    stop: Any = None,
) -> tuple[Any, ...]:
    """Arrays of the answer of a test in which one task at a time uses the GPU."""
    one_of(fixed_point, methods()[method].choices("fixed_point"), "fixed_point")
    one_of(suspension, methods()[method].choices("suspension"), "suspension")
    return _core.host_lock_test(
        hosts._columns(),
        cores,
        server,
        method=method,
        cpus=cpus,
        sms=sms,
        mode=LOCK_MODES.index(mode),
        paper=paper,
        overhead=overhead,
        one_pass=fixed_point == "one_pass",
        jitter=suspension == "jitter",
        stop=stop,
    )


def verdict_of(
    hosts: HostTasks,
    test: str,
    variant: str,
    mode: str,
    cpus: int,
    sms: int,
    answer: tuple[Any, ...],
    began: float,
    server: Int64Array | None = None,
    rounds: Int64Array | None = None,
    sharing: Sharing = NO_SHARING,
) -> Verdict:
    """Make the verdict from arrays of the core, which always have an axis for the sets.

    ``answer``: accepted (-1 if a budget was used up), responses, terms, failed tasks. ``began``:
    `perf_counter` at the start of the call.
    """
    code, response, terms, failed = answer[:4]
    parts = {name: np.ascontiguousarray(terms[..., i]) for i, name in enumerate(TERMS)}
    code = np.asarray(code, np.int64)
    one = not hosts.is_stack
    return Verdict(
        hosts=hosts,
        test=test,
        variant=variant,
        mode=mode,
        cpus=cpus,
        sms=sms,
        accepted=bool(code[0] == 1) if one else code == 1,
        terms={name: part[0] for name, part in parts.items()} if one else parts,
        server=_per_set(server, one),
        rounds=_per_set(rounds, one),
        spent=bool(code[0] == -1) if one else code == -1,
        _computed=response[0] if one else response,
        _failed=int(failed[0]) if one else failed,
        seconds=perf_counter() - began,
        sharing=sharing,
    )


def _per_set(values: Int64Array | None, one: bool) -> Any:
    return None if values is None else int(values[0]) if one else values
