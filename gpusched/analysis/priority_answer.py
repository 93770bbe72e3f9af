"""Answer of the bounds for priority streams: response-time bounds and what they consist of."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from gpusched._support.arguments import Int64Array, task_number
from gpusched._support.registry import enumeration
from gpusched._support.results import Saved
from gpusched.analysis.fifo_threads import FEW_GRIDS
from gpusched.analysis.rational_answer import RationalAnswer
from gpusched.model.answer import Claim, Flags, missing
from gpusched.model.kernel_chains import KernelChains
from gpusched.model.workload.time_units import time_in_text

__all__ = ["PRIORITY_TERMS", "THEOREMS", "PriorityStreamsBound"]

THEOREMS = enumeration("analysis.priority_streams_theorem")

PRIORITY_TERMS = (
    *("numerator", "denominator", "theorem", "jobs", "latency", "tail"),
    *("own", "same", "more_urgent", "less_urgent", "residue", "busy"),
)
"""Columns of ``PriorityStreamsBound.terms``. ``numerator`` / ``denominator`` is the bound, 0 and 0
without one; ``theorem`` is the index of the theorem; ``jobs`` is the number of jobs of a run up to
the one with the largest response. ``latency`` and ``tail`` (last blocks) are in ticks. The work
that kernels wait for is in thread-ticks: their ``own`` blocks except the last ones, that of the
``same`` priority level, of ``more_urgent`` and ``less_urgent`` tasks, and the ``residue``. ``busy``
is the minimum number of busy threads while a kernel waits."""

_WORK = ("own", "same", "more_urgent", "less_urgent", "residue")
_WORDS = {
    "own": "its own blocks",
    "same": "kernels of its priority",
    "more_urgent": "more urgent tasks",
    "less_urgent": "jobs of less urgent tasks",
    "residue": "less urgent blocks that run when a kernel joins",
}
_CONTEXTS = {
    "": "All streams belong to one context; {absent}.",
    "own": "All streams belong to partitions of one context, each with SMs and queues of its own; "
    "{absent}.",
    "shared": "All streams belong to partitions of one context, each with SMs of its own, which "
    "share their queues; {absent}.",
    "limits": "All streams belong to clients that share SMs and queues, each on at most its number "
    "of SMs at once; {absent}.",
}
_COLUMN = {name: i for i, name in enumerate(PRIORITY_TERMS)}


@dataclass(frozen=True, eq=False, repr=False)
class PriorityStreamsBound(RationalAnswer):
    """Response-time bounds of kernel chains, for one set of n tasks or a stack of N sets.

    >>> chains = gs.KernelChains(period=[60, 100], block_time=[[1, 1, 1], [10]], blocks=4,
    ...                          latency=[[1, 1, 1], [0]], priority=[0, 1])
    >>> answer = gs.analysis.priority_streams(chains, threads=4)
    >>> answer.schedulable, [str(bound) for bound in answer.exact]
    (True, ['73/4', '41/2'])

    Attributes
    ----------
    tasks
        The chains.
    overlap
        Whether jobs of one task may overlap, each in a stream of its own.
    terms
        The bounds and their parts, int64 ``(n, 12)`` or ``(N, n, 12)``, with the columns of
        ``PRIORITY_TERMS``. With Theorem M, ``own + same + more_urgent + less_urgent + residue`` is
        at least ``busy`` times the time that kernels wait, and equal to it if, after some time,
        lower-priority blocks can hold no more threads; Theorems A and O give no parts. With shared
        queues, the parts are those of all partitions, each of which has its own saturation.
    saturation
        Minimum number of busy threads while a kernel of the task's priority or a higher one waits;
        0 if none ever waits. In partitions with their own SMs: busy threads of the task's partition
        while a kernel of the partition waits. int64 ``(n,)`` or ``(N, n)``.
    partition, partition_sms
        Partition of each task, int64 ``(n,)`` or ``(N, n)``, and SMs of each partition or their
        limits, a tuple; None without partitions.
    sharing
        "own" or "shared": queues of partitions with their own SMs; "limits": partitions share SMs
        and queues; "" without partitions.
    seconds
        Wall-clock time of the call.
    """

    _KIND: ClassVar[str] = "PriorityStreamsBound"
    _PARTS: ClassVar[tuple[type[Saved], ...]] = (KernelChains,)
    _SHOWN: ClassVar[tuple[str, ...]] = ("priority", "deadline", "response", "slack", "theorem")

    tasks: KernelChains
    overlap: bool
    terms: Int64Array
    saturation: Int64Array
    seconds: float = field(default=0.0, compare=False)
    partition: Int64Array | None = None
    partition_sms: tuple[int, ...] | None = None
    sharing: str = ""

    @property
    def _tasks(self) -> KernelChains:
        return self.tasks

    @property
    def claim(self) -> Claim:
        """ "sufficient": a set that is not accepted may be schedulable."""
        return "sufficient"

    @property
    def assumptions(self) -> tuple[str, ...]:
        """Conditions under which the answer holds, one sentence each."""
        return self._assumed(copies=False)

    def _assumed(self, *, copies: bool) -> tuple[str, ...]:
        """Return `assumptions`; ``copies``: the latencies include the time of copies."""
        absent = "there is no NULL stream" if copies else "there are no copies, and no NULL stream"
        stream = (
            "Each job has a stream of its own."
            if self.overlap
            else "Each task has its own stream and its own hardware channel."
        )
        return (
            "Jobs of a task are released at least a period apart, and blocks take at most their "
            "time.",
            stream,
            _CONTEXTS[self.sharing].format(absent=absent),
            "Blocks that run together do not slow each other down beyond their given times.",
            *((FEW_GRIDS,) if self.overlap else ()),
        )

    def _term(self, name: str) -> Int64Array:
        found: Int64Array = self.terms[..., _COLUMN[name]]
        return found

    @property
    def bounded(self) -> npt.NDArray[np.bool_]:
        """Whether each task has a bound: bool ``(n,)`` or ``(N, n)``."""
        return self._term("denominator") > 0

    @property
    def rejected(self) -> Flags:
        """False, because the bounds show no misses: a bool, or bool ``(N,)``."""
        return np.zeros(len(self.tasks), np.bool_) if self.is_stack else False

    def _fractions(self) -> tuple[Int64Array, Int64Array]:
        return self._term("numerator"), self._term("denominator")

    @property
    def theorem(self) -> npt.NDArray[np.str_]:
        """Theorem that gives each bound: "fits" (no kernel waits), "alone" (there is no other task,
        or none in its partition), "M", "A", "O"; "" without a bound.
        """
        return np.array(THEOREMS)[self._term("theorem")]

    def parts(self, task: int | str) -> dict[str, float]:
        """Parts of a bound in ticks, for a task of a single set bounded by Theorem M or "alone".

        Parameters
        ----------
        task
            Index or name of the task.

        Returns
        -------
        dict
            ``latency`` and ``tail``, and the shares of ``own``, ``same``, ``more_urgent``,
            ``less_urgent`` and ``residue`` in the time that kernels wait. If the bound is that of
            the first job of a run, they add up to it.

        >>> chains = gs.KernelChains(period=[100, 10], block_time=[[1, 1, 1], [10]],
        ...                          latency=[[1, 1, 1], [0]], priority=[0, 1])
        >>> parts = gs.analysis.priority_streams(chains, threads=1).parts(0)
        >>> parts["residue"], sum(parts.values())
        (30.0, 36.0)
        """
        if self.is_stack:
            raise ValueError("answer: got a stack, expected a single set; index it first")
        row = dict(
            zip(
                PRIORITY_TERMS,
                self.terms[task_number(task, self.tasks.name)].tolist(),
                strict=True,
            )
        )
        if THEOREMS[row["theorem"]] not in ("M", "fits", "alone") or self.sharing == "shared":
            raise ValueError(
                f"task: got {task!r:.60}, expected one that Theorem M bounds, and queues that "
                "partitions do not share"
            )
        times = {"latency": float(row["latency"]), "tail": float(row["tail"])}
        return times | {name: row[name] / max(row["busy"], 1) for name in _WORK}

    def _reason(self) -> str:
        if self.accepted:
            return f"Every response bound is within its deadline; {self._tightest()}."
        none = np.flatnonzero(~self.bounded)
        return self._reason_of(int(none[0]) if none.size else int(self.slack.argmin()))

    def _reason_of(self, i: int) -> str:
        text = super()._reason_of(i)
        if not self.bounded[i]:
            if len(self.tasks.period) == 1:
                return (
                    f"{text[:-1]}. A job alone, latencies included, takes longer than its period."
                )
            return (
                f"{text[:-1]}. Jobs of its level or of more urgent ones may keep it waiting, and "
                "less urgent blocks once for each of its kernels."
            )
        if self.theorem[i] != "M" or self.sharing == "shared":
            return (
                text
                if self.theorem[i] in ("fits", "alone")
                else f"{text[:-1]} (Theorem {self.theorem[i]})."
            )
        parts = self.parts(i)
        most = max(_WORK, key=lambda name: parts[name])
        total = sum(parts.values())
        if not parts[most]:
            return text
        return (
            f"{text[:-1]}; {time_in_text(round(parts[most]))} of {time_in_text(round(total))} are "
            f"for {self._words(most)}.{self._advice(i, most)}"
        )

    def _words(self, part: str) -> str:
        if part == "residue" and self.sharing == "limits":
            return "SMs that limits keep free, and less urgent blocks"
        return _WORDS[part]

    def _advice(self, i: int, most: str) -> str:
        """A way to lower the largest part, in a sentence."""
        if self.sharing == "limits" and most == "residue":
            return " Higher limits help, or less work behind low ones."
        if most == "residue":
            kernels = int(self.tasks.kernels[i]) * int(self._term("jobs")[i])
            each = "once" if kernels == 1 else f"at each of its {kernels} kernels"
            return (
                f" It may wait for them {each}: shorter blocks there help, or fewer kernels here."
            )
        if most == "more_urgent":
            return " Less work of more urgent tasks helps."
        if most == "same":
            return " A priority of its own helps."
        return ""

    def _columns(self) -> dict[str, npt.NDArray[Any]]:
        parts = {name: self._term(name) for name in PRIORITY_TERMS if name != "theorem"}
        known = parts["denominator"] > 0
        return {
            "priority": self.tasks.priority,
            **super()._columns(),
            "theorem": self.theorem,
            **{name: missing(values, known) for name, values in parts.items()},
        }

    def _form(self) -> str:
        known = f"{int(self.bounded.sum())} of {self.bounded.size} tasks bounded"
        return f"{known}, priority streams{', jobs may overlap' if self.overlap else ''}"
