"""Answer of the FIFO bounds: response-time bounds, their theorems, and reasons for missing ones."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from gpusched._support.arguments import Int64Array, task_number
from gpusched._support.registry import enumeration
from gpusched._support.results import Saved
from gpusched.analysis.fifo_threads import COMMON, FEW_GRIDS
from gpusched.analysis.rational_answer import RationalAnswer
from gpusched.model.answer import Claim, Flags, Ticks, missing
from gpusched.model.kernel_tasks import KernelTasks

__all__ = ["REASONS", "STATUSES", "THEOREMS", "FifoBound"]

THEOREMS = enumeration("analysis.fifo_theorem")
"""Sources of bounds, in the order of ``FifoBound.theorem_code``."""

STATUSES = enumeration("analysis.fifo_status")
"""Knowledge about a task's responses, in the order of ``FifoBound.status_code``."""

REASONS = enumeration("analysis.fifo_reason")
"""Reasons why a theorem gives no bound: bits 4 t to 4 t + 3 of ``FifoBound.reasons`` are those of
theorem number t of ``THEOREMS``."""

_WHY = {
    "skipped": "it was not asked for",
    "waits": "a block may have to wait for threads",
    "utilization": "the utilization is too high for this saturation level",
    "long": "a job, with one job of every other task ahead of it, can take longer than its period",
    "sc1": "more threads idle behind a job's last block than its period makes up for (SC1)",
    "sc1_other": "more threads idle behind the last block of another task's job than its period "
    "makes up for (SC1)",
    "blocks": "a kernel has more than one block",
    "block_time": "a block takes longer than its period",
    "endless": "its recurrence finds no end to a run of late jobs",
    "clock": "the bound, or a number that it takes, exceeds 64 bits",
    "no_start": "it refines bounds of all other tasks, and there is none to start from",
    "needless": "V1, case 1, gives a bound that is never more",
    "sms": "it holds for one pool of threads, not for several SMs",
}

_STATUS = (
    "bounded",
    "no theorem applies, and no proof that responses are unbounded",
    "unbounded, as one job alone on the GPU takes longer than its period",
    "unbounded, as the tasks need more threads than the GPU has",
)

BoolArray = npt.NDArray[np.bool_]

_ORDER = {
    "hardware": "A kernel joins the queue when it reaches the head of its stream.",
    "release": "Of the kernels at the heads of their streams, the earliest released is first.",
    "strict": "Kernels queue by release, and one behind its task's previous job delays all others.",
    "overlap": "Kernels queue by release, and jobs of a task may run at the same time.",
}


@dataclass(frozen=True, eq=False, repr=False)
class FifoBound(RationalAnswer):
    """Response-time bounds for one set of n tasks or a stack of N sets.

    A set is accepted if every task has a bound within its deadline, and rejected if the responses
    of a task are shown to be unbounded.

    >>> tasks = gs.KernelTasks([100, 120], block_time=[10, 30], blocks=2, threads=[64, 128])
    >>> answer = gs.analysis.fifo_bound(tasks, threads=256)
    >>> answer.schedulable, answer.response.tolist(), answer.theorem.tolist()
    (True, [54, 57], ['V1, case 1', 'V1, case 1'])

    Attributes
    ----------
    tasks, order
        The tasks, and the reading of FIFO.
    bounded
        Whether each task has a bound: bool ``(n,)`` or ``(N, n)``, like all arrays below unless
        stated otherwise.
    numerator, denominator
        The exact bound in lowest terms; 0 and 0 if there is none. If they would not fit 64 bits,
        the bound is rounded up to a whole number. ``response`` is the bound rounded up.
    theorem_code, status_code
        int8 indices into ``THEOREMS`` and ``STATUSES``; ``theorem`` and ``status`` have the names.
    reasons
        Reasons why theorems give no bound, packed (see ``REASONS``); ``refusals`` unpacks them.
    saturation
        Minimum number of busy threads while a block waits; 0 if no block ever waits. An int, or
        int64 ``(N,)``.
    utilization
        Average number of threads that the tasks need, with ``gpu`` in whole warps. A float, or an
        array ``(N,)``.
    seconds
        Wall-clock time of the call.
    """

    _KIND: ClassVar[str] = "FifoBound"
    _PARTS: ClassVar[tuple[type[Saved], ...]] = (KernelTasks,)
    _SHOWN: ClassVar[tuple[str, ...]] = ("response", "deadline", "slack", "theorem", "status")

    tasks: KernelTasks
    order: str
    bounded: BoolArray
    numerator: Int64Array
    denominator: Int64Array
    theorem_code: npt.NDArray[np.int8]
    status_code: npt.NDArray[np.int8]
    reasons: Int64Array
    saturation: Ticks
    utilization: npt.NDArray[np.float64] | Any
    seconds: float = field(default=0.0, compare=False)

    @property
    def _tasks(self) -> KernelTasks:
        return self.tasks

    @property
    def claim(self) -> Claim:
        """ "sufficient"; sets with responses that are proven unbounded are rejected as well."""
        return "sufficient"

    @property
    def assumptions(self) -> tuple[str, ...]:
        """Conditions under which the answer holds, one sentence each."""
        few = (FEW_GRIDS,) if self.order == "overlap" else ()
        return (*COMMON, _ORDER[self.order], *few)

    @property
    def rejected(self) -> Flags:
        """Whether the responses of a task are shown to be unbounded: a bool, or bool ``(N,)``."""
        never = (self.status_code >= STATUSES.index("unbounded_long")).any(axis=-1)
        return never if self.is_stack else bool(never)

    def _fractions(self) -> tuple[Int64Array, Int64Array]:
        return self.numerator, self.denominator

    @property
    def theorem(self) -> npt.NDArray[np.str_]:
        """Name of the theorem that gives each bound; "" without a bound."""
        return np.array(THEOREMS)[self.theorem_code]

    @property
    def status(self) -> npt.NDArray[np.str_]:
        """``bounded``, ``unknown`` (no theorem applies), ``unbounded_long`` (one job alone on the
        GPU takes longer than its period) or ``unbounded_load`` (the tasks need more threads than
        the GPU has)."""
        return np.array(STATUSES)[self.status_code]

    def refusals(self, task: int | str) -> dict[str, str]:
        """Reasons why theorems give no bound for a task of a single set.

        Parameters
        ----------
        task
            Index or name of the task.

        Returns
        -------
        dict
            Maps names in ``THEOREMS``, in that order, to sentences; empty if all theorems about
            this reading of FIFO give a bound.
        """
        if self.is_stack:
            raise ValueError("answer: got a stack, expected a single set; index it first")
        packed = int(self.reasons[task_number(task, self.tasks.name)])
        codes = {name: REASONS[packed >> 4 * i & 15] for i, name in enumerate(THEOREMS) if i}
        return {name: _WHY[code] for name, code in codes.items() if code in _WHY}

    def _reason(self) -> str:
        if self.accepted:
            return f"Every response bound is within its deadline; {self._tightest()}."
        if (none := np.flatnonzero(~self.bounded)).size:
            worst = none[int(np.argmax(self.status_code[none]))]
            return self._reason_of(int(worst))
        return self._reason_of(int(self.slack.argmin()))

    def _reason_of(self, i: int) -> str:
        found = str(self.theorem[i])
        text = f"{super()._reason_of(i)[:-1]} ({found})." if self.bounded[i] else ""
        if not self.bounded[i]:
            text = f"{self._name(i)}: {_STATUS[int(self.status_code[i])]}."
        others = [f"{name}: {reason}" for name, reason in self.refusals(i).items()]
        return f"{text} No bound from {'; '.join(others)}." if others else text

    def _columns(self) -> dict[str, npt.NDArray[Any]]:
        known = self.denominator > 0
        return {
            **super()._columns(),
            "numerator": missing(self.numerator, known),
            "denominator": missing(self.denominator, known),
            "theorem": self.theorem,
            "status": self.status,
        }

    def _form(self) -> str:
        count, total = int(self.bounded.sum()), self.bounded.size
        known = f"{count} of {total} tasks bounded, order {self.order}"
        if self.is_stack:
            return known
        below = f"at least {self.saturation} threads busy while a block waits"
        return f"{known}, {below if self.saturation else 'no block ever waits'}"
