"""Arguments and answers common to the partitioned tests and to the allocators."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from gpusched import _core
from gpusched._support.arguments import Int64Array, integer64
from gpusched.analysis.verdict import TERMS, Verdict, _answer
from gpusched.model.host_tasks import MAX_SMS, HostTasks

Mode = Literal["suspend", "busy"]
LockMode = Literal["suspend", "busy", "spin"]

STGM_VARIANTS = ("sound", "paper", "paper, B_h")
LOCK_MODES = ("suspend", "busy", "spin")


def assigned_cores(hosts: HostTasks, cpus: int | None) -> tuple[Int64Array, int]:
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


def few_sms(sms: int) -> int:
    """A number of SMs of which sets are made."""
    if not 0 <= sms <= MAX_SMS:
        raise ValueError(f"sms = {sms}: must be a number of SMs, at most {MAX_SMS}")
    return sms


def sm_sets_of(hosts: HostTasks, sms: int) -> npt.NDArray[np.uint8]:
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
    stop: Any = None,
) -> tuple[Any, ...]:
    """Arrays of the answer of a test in which one task at a time uses the GPU."""
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
