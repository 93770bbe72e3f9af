"""Check of a log of blocks against the rules of the scheduling hierarchy.

The core (csrc/io/rules) finds the violations; here they become sentences.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from gpusched import _core
from gpusched._support.registry import enumeration
from gpusched.io.block_log import BlockLog
from gpusched.model.gpu import GPU, occupancy

_RULES = enumeration("io.rule")
_RESOURCES = ("warps", "block slots", "registers", "shared memory")
_CARVEOUT = enumeration("model.gpu_limit").index("carve-out")
_KERNELS = ("stream", "launch", "joined", "threads", "regs", "smem", "priority", "context")
_BLOCKS = ("kernel", "block", "sm", "start", "end")


@dataclass(frozen=True)
class Violation:
    """A violation of a rule, with the event that violates it.

    >>> gpu = gs.GPU(sms=1, threads_per_sm=1024, blocks_per_sm=16)
    >>> log = gs.io.BlockLog(["a"], [0], [0], 1, 1024, 0, 0, [0], 0, 0, [50], [100])
    >>> found = gs.io.check_rules(log, gpu)[0]
    >>> found.rule, found.kernel, found.time
    ('idle', 0, 0)

    Attributes
    ----------
    rule
        "limits", "grids", "stream", "queue", "priority", "placement" or "idle"; see
        ``check_rules``.
    kernel, block
        Row of the kernel in the log, and number of the block in its grid.
    time
        Start of the block; for "idle", the earliest time at which it could have started.
    message
        One sentence that describes the violation.
    scenario
        ``BlockLog.scenario`` of the log.
    """

    rule: str
    kernel: int
    block: int
    time: int
    message: str
    scenario: str = ""

    def __str__(self) -> str:
        where = f"{self.scenario}: " if self.scenario else ""
        return f"{where}{self.rule}: {self.message}"


def check(
    log: BlockLog, gpu: GPU, tolerance: int, placement: str | None, latency: int
) -> list[Violation]:
    """See ``gpusched.io.check_rules``."""
    fit = occupancy(gpu, log.threads, log.regs, log.smem)
    if none := np.flatnonzero(fit == 0).tolist():
        raise ValueError(
            f"kernel {none[0]} ({log.name[none[0]]}): got a block that fits no SM, expected one "
            "within the limits of the GPU"
        )
    rows = _core.rules_check(
        gpu._limits,
        gpu.sm_order,
        tuple(getattr(log, key) for key in _KERNELS),
        tuple(getattr(log, key) for key in _BLOCKS),
        tolerance=tolerance,
        latency=latency,
        placement=placement is not None,
        resident_grids=gpu.resident_grids,
    )
    sentences = _Sentences(log)
    found = []
    for number, kernel, block, time, *detail in zip(*(c.tolist() for c in rows), strict=True):
        rule = _RULES[number]
        told = f"block {block} of {log.name[kernel]} (kernel {kernel}, stream {log.stream[kernel]})"
        message = f"{told} {sentences.rest(rule, kernel, time, *detail)}"
        found.append(Violation(rule, kernel, block, time, message, log.scenario))
    return found


class _Sentences:
    """Sentences about violations; the numbers are those of ``gs_io_rules_finding_t``."""

    def __init__(self, log: BlockLog) -> None:
        self.log, self.dispatched, self.ended = log, log.dispatched, log.ended

    def rest(
        self, rule: str, kernel: int, time: int, one: int, two: int, three: int, *more: int
    ) -> str:
        """The rest of a sentence that begins with the block."""
        log = self.log
        if rule == "idle":
            return f"has room from {time} on, but starts at {one}"
        if rule == "grids":
            return f"starts at {time} beside {one - 1} kernels that run; the GPU runs {two} at once"
        if rule == "limits":
            needed, limit = more
            if two == _CARVEOUT:
                return f"starts at {time} on SM {one}, which runs blocks of another carve-out"
            return (
                f"starts at {time} on SM {one}, which has {limit} {_RESOURCES[two]} for it: "
                f"{three} are taken, {needed} needed"
            )
        if rule == "placement":
            return (
                f"starts at {time} on SM {one} with room for {two}; SM {three} has room for "
                f"{more[0]}"
            )
        if rule == "priority":
            return (
                f"starts at {time}; kernel {one} of priority {log.priority[one]} waits from "
                f"{log.joined[one]} to {self.dispatched[one]}"
            )
        if rule == "queue":
            return (
                f"starts at {time}; kernel {one} ahead in its queue is fully dispatched at "
                f"{self.dispatched[one]}"
            )
        if one < 0:
            return f"starts at {time}, before its launch at {log.launch[kernel]}"
        return f"starts at {time}, before kernel {one} of its stream ends at {self.ended[one]}"
