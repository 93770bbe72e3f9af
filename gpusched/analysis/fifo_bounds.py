"""Response-time bounds of kernels whose blocks start in FIFO order; see ``gs.analysis``."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from html import escape
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from gpusched import _core
from gpusched._support.arguments import (
    Int64Array,
    at_least,
    instance,
    int_array,
    integer,
    one_of,
    some_of,
    task_number,
)
from gpusched._support.frozen import Frozen
from gpusched._support.text import clip
from gpusched.model.fifo_order import ORDERS, Order
from gpusched.model.gpu import GPU, WARP_THREADS, as_gpu
from gpusched.model.kernel_tasks import KernelTasks

__all__ = [
    "ORDERS",
    "REASONS",
    "STATUSES",
    "THEOREMS",
    "FifoBound",
    "FifoLimit",
    "fifo_bound",
    "fifo_limit",
]

THEOREMS = ("", "fits", "P", "V1, case 1", "V1, case 2", "A", "A refined", "V2", "V3")
"""What a bound comes from, in the order of ``FifoBound.theorem_code``."""

STATUSES = ("bounded", "unknown", "unbounded_long", "unbounded_load")
"""What is known of a task, in the order of ``FifoBound.status_code``."""

REASONS = (
    "bound",
    "order",
    "skipped",
    "waits",
    "utilization",
    "long",
    "sc1",
    "sc1_other",
    "blocks",
    "block_time",
    "endless",
    "clock",
    "no_start",
    "needless",
    "sms",
)
"""Why a theorem gives no bound: the values of the four bits from bit 4 t of ``FifoBound.reasons``
for theorem number t of ``THEOREMS``."""

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
    "clock": "the bound, or a number that it takes, is beyond the clock",
    "no_start": "it refines bounds of all other tasks, and there is none to start from",
    "needless": "V1, case 1, gives a bound that is never more",
    "sms": "it holds for one pool of threads, not for several SMs",
}

_STATUS = (
    None,
    "no theorem applies, and no proof that responses are unbounded",
    "unbounded: one job alone on the GPU takes longer than its period",
    "unbounded: the tasks ask for more threads than there are",
)

# What users name, and the theorems it stands for.
_ASKED = {
    "fits": ("fits",),
    "P": ("P",),
    "V1": ("V1, case 1", "V1, case 2"),
    "A": ("A",),
    "A refined": ("A refined",),
    "V2": ("V2",),
    "V3": ("V3",),
}

_SHOWN_ROWS = 40


@dataclass(frozen=True, eq=False, repr=False)
class FifoBound(Frozen):
    """Response-time bounds for one set of n tasks or a stack of N sets.

    Attributes
    ----------
    tasks, order
        What was asked about.
    bounded
        Whether there is a bound, bool of shape ``(n,)`` or ``(N, n)``, as all arrays below unless
        it says otherwise.
    bound
        No response is longer: int64 ticks, rounded up; -1 without a bound.
    numerator, denominator
        The same exactly, in lowest terms; 0 and 0 without a bound. Where they would not fit 64
        bits, the bound is rounded up to a whole number.
    theorem_code, status_code
        int8 indices into ``THEOREMS`` and ``STATUSES``; ``theorem`` and ``status`` have the names.
    reasons
        Why which theorem gives no bound, packed (see ``REASONS``); ``why`` unpacks them.
    saturation
        So many threads are busy, at least, while a block waits; 0 when none ever does. An int, or
        an array of shape ``(N,)``.
    utilization
        Threads that the tasks need on average; with ``gpu`` in whole warps. A float, or an array
        of shape ``(N,)``.
    """

    tasks: KernelTasks
    order: str
    bounded: npt.NDArray[np.bool_]
    bound: Int64Array
    numerator: Int64Array
    denominator: Int64Array
    theorem_code: npt.NDArray[np.int8]
    status_code: npt.NDArray[np.int8]
    reasons: Int64Array
    saturation: Any
    utilization: Any

    def __len__(self) -> int:
        """Sets in a stack, tasks in a single set."""
        return len(self.bound)

    @property
    def theorem(self) -> npt.NDArray[np.str_]:
        """The theorem behind each bound, ``""`` without one."""
        return np.array(THEOREMS)[self.theorem_code]

    @property
    def status(self) -> npt.NDArray[np.str_]:
        """``bounded``, ``unknown`` (no theorem applies), ``unbounded_long`` (one job alone on the
        GPU takes longer than its period) or ``unbounded_load`` (the tasks ask for more threads
        than there are)."""
        return np.array(STATUSES)[self.status_code]

    @property
    def exact(self) -> list[Any]:
        """The bounds as a ``Fraction`` per task, None without one; a list per set of a stack."""

        def of(numerators: list[int], denominators: list[int]) -> list[Fraction | None]:
            pairs = zip(numerators, denominators, strict=True)
            return [Fraction(n, d) if d else None for n, d in pairs]

        above, below = self.numerator.tolist(), self.denominator.tolist()
        if not self.tasks.is_stack:
            return of(above, below)
        return [of(*rows) for rows in zip(above, below, strict=True)]

    @property
    def schedulable(self) -> Any:
        """Whether every task has a bound within its deadline: a bool, or an array of shape (N,)."""
        met = (self.bounded & (self.bound <= self.tasks.deadline)).all(axis=-1)
        return met if self.tasks.is_stack else bool(met)

    def why(self, task: int | str, set: int | None = None) -> dict[str, str]:
        """Why the theorems about this order that give a task no bound give it none.

        ``task``: its index or name; ``set``: its set in a stack. A dict from names in
        ``THEOREMS`` to sentences, in that order; empty when each of them gives a bound.
        """
        packed = int(self.reasons[self._at(task, set)])
        codes = {name: REASONS[packed >> 4 * i & 15] for i, name in enumerate(THEOREMS) if i}
        return {name: _WHY[code] for name, code in codes.items() if code in _WHY}

    def reason(self, task: int | str, set: int | None = None) -> str | None:
        """What is known of a task without a bound, as a sentence; None of one that has one."""
        return _STATUS[int(self.status_code[self._at(task, set)])]

    def _at(self, task: int | str, set: int | None) -> tuple[int, ...]:
        index = task_number(task, self.tasks.name)
        if not self.tasks.is_stack:
            if set is not None:
                raise ValueError(f"set = {set!r:.60}: there is only one task set, leave it out")
            return (index,)
        if set is None:
            raise ValueError("set: say which set of the stack")
        number = integer(set, "set")
        if not 0 <= number < len(self):
            raise IndexError(f"set = {number}: the stack has {len(self)} sets")
        return number, index

    def to_frame(self) -> Any:
        """A pandas table with one row per task (and set)."""
        frame = self.tasks.to_frame()[[*(["set"] if self.tasks.is_stack else []), "task", "name"]]
        columns = ("bounded", "bound", "numerator", "denominator", "theorem", "status")
        for name in columns:
            values = getattr(self, name).ravel()
            frame[name] = values.astype(object) if values.dtype.kind == "U" else values
        frame["deadline"] = self.tasks.deadline.ravel()
        return frame

    def __repr__(self) -> str:
        return f"<FifoBound: {self._summary()}>"

    def _summary(self) -> str:
        count, total = int(self.bounded.sum()), self.bounded.size
        if self.tasks.is_stack:
            of = f"{len(self)} sets of {self.tasks.n} tasks, {count} of {total} tasks bounded"
            return f"{of}, order {self.order}"
        below = f"at least {self.saturation} threads busy while a block waits"
        wait = below if self.saturation else "no block ever waits"
        return f"{count} of {total} tasks bounded, order {self.order}, {wait}"

    def _repr_html_(self) -> str:
        summary = f"<p>FifoBound: {escape(self._summary())}</p>"
        if self.tasks.is_stack:
            return summary
        rows = []
        for i in range(min(self.tasks.n, _SHOWN_ROWS)):
            known = self.bounded[i]
            cells = [
                escape(clip(self.tasks.name[i], 60)),
                f"{int(self.bound[i]):,}" if known else "",
                f"{int(self.tasks.deadline[i]):,}",
                escape(THEOREMS[self.theorem_code[i]] if known else str(self.reason(i))),
            ]
            rows.append("".join(f"<td>{cell}</td>" for cell in cells))
        head = "<th></th><th>bound</th><th>deadline</th><th>from</th>"
        body = "".join(f"<tr>{row}</tr>" for row in rows)
        more = self.tasks.n - _SHOWN_ROWS
        note = f"<p>and {more} more tasks</p>" if more > 0 else ""
        return f"{summary}<table><tr>{head}</tr>{body}</table>{note}"


@dataclass(frozen=True, eq=False)
class FifoLimit(Frozen):
    """The utilization limit of Yang and Anderson 2017 and where task sets stand.

    Attributes
    ----------
    limit
        ``m - b_max + 1`` threads: above it there are task sets with unbounded response times
        (Theorem 1). An int, or an int64 array of shape ``(N,)``.
    saturation
        So many threads are busy, at least, while a block waits: never less than the limit. 0 when
        no block ever waits. An int, or an int64 array of shape ``(N,)``.
    utilization
        Threads that the tasks need on average: a ``Fraction``, or a float array of shape ``(N,)``.
    within
        Whether the utilization is at most the limit (decided exactly): a bool, or an array of
        shape ``(N,)``.
    note
        What the limit does not say.
    """

    limit: Any
    saturation: Any
    utilization: Any
    within: Any

    note = (
        "The limit is no guarantee where the jobs of a task run one after the other: there are "
        "task sets far below it whose response times grow without bound. fifo_bound says which "
        "are bounded."
    )


def fifo_bound(
    tasks: KernelTasks,
    threads: Any = None,
    order: Order = "hardware",
    *,
    gpu: Any = None,
    saturation: Literal["exact", "paper"] = "exact",
    theorems: Iterable[str] | None = None,
    stop: Any = None,
) -> FifoBound:
    """Bound the response times of kernels whose blocks start in FIFO order.

    The model is that of Yang and Anderson 2017, the theorems are not.

    A job of a task is one kernel of ``blocks`` blocks; each takes ``threads`` threads for at most
    ``block_time``, and starts when it is at the head of the queue and that many are free. Jobs of a
    task are released at least a period apart. The bounds hold for every such release pattern, with
    blocks that take less time, too. They are computed in integers and rounded up at the end.

    The paper asks whether response times are bounded up to a utilization of ``m - b_max + 1``.
    They are where jobs of a task may overlap, and need not be where they run one after the other,
    as in a stream. Notebook 02 has the theorems with their proofs.

    Each task has a stream of its own, of one priority; more streams than the GPU has hardware
    channels would delay each other in ways that the model does not know.

    Parameters
    ----------
    tasks
        One task set, or a stack of N.
    threads
        Threads of the GPU, any of which a block may use (m in the paper): a number, or one per
        set.
    order
        What "FIFO" means, one of ``ORDERS``.
    gpu
        Instead of ``threads``: a ``GPU``, or the name of a preset. Then a block needs warps,
        registers, shared memory and a block slot of one SM, as ``place`` counts them; its threads
        are rounded up to whole warps, also in the work of its task.
    saturation
        "exact": the least number of busy threads that block sizes can add up to while a block
        waits. "paper": ``m - b_max + 1``, which is never more.
    theorems
        Which theorems to try, to see what each is good for: some of ``"fits"``, ``"P"``, ``"V1"``,
        ``"A"``, ``"A refined"``, ``"V2"``, ``"V3"``; all unless given.
    stop
        A writable buffer of one byte (``bytearray(1)``): set it from another thread to stop.

    Returns
    -------
    FifoBound
        With arrays of shape ``(n,)``, or ``(N, n)`` for a stack.

    Raises
    ------
    ValueError
        Blocks wider than the GPU, or that do not fit an SM; threads whose combinations are too
        many to search (use ``saturation="paper"``).
    OverflowError
        Times or work beyond the clock.
    gpusched.Cancelled
        Stopped by ``stop``.
    """
    instance(tasks, KernelTasks, "tasks")
    one_of(order, ORDERS, "order")
    one_of(saturation, ("exact", "paper"), "saturation")
    mask = _mask(theorems)
    period, block_time, blocks = map(np.atleast_2d, (tasks.period, tasks.block_time, tasks.blocks))
    width, sets = np.atleast_2d(tasks.threads), len(period)
    overlap = order == "overlap"
    if gpu is None:
        m, sms = _threads(threads, tasks), np.ones(sets, np.int64)
        beta = _core.fifo_saturation(
            period,
            block_time,
            blocks,
            width,
            m,
            overlap=overlap,
            paper=saturation == "paper",
            stop=stop,
        )
    else:
        if threads is not None:
            raise ValueError("threads: give either threads or gpu")
        if saturation == "paper":
            raise ValueError(
                "saturation: the paper's counts threads alone, which does not go with gpu"
            )
        device = as_gpu(gpu)
        beta = _core.fifo_saturation_gpu(
            period,
            block_time,
            blocks,
            width,
            np.atleast_2d(tasks.regs),
            np.atleast_2d(tasks.smem),
            device._limits,
            overlap=overlap,
            stop=stop,
        )
        width = -(-width // WARP_THREADS) * WARP_THREADS
        sms = np.full(sets, device.sms)
        m = sms * device.warps_per_sm * WARP_THREADS
    columns = _core.fifo_bound(
        period,
        block_time,
        blocks,
        width,
        m,
        sms,
        beta,
        order=ORDERS.index(order),
        theorems=mask,
        stop=stop,
    )
    one = not tasks.is_stack
    numerator, denominator, theorem, status, reasons = (c[0] if one else c for c in columns)
    bounded = denominator > 0
    share = _utilization(period, block_time, blocks, width)
    return FifoBound(
        tasks=tasks,
        order=order,
        bounded=bounded,
        bound=np.where(bounded, -(-numerator // np.where(bounded, denominator, 1)), -1),
        numerator=numerator,
        denominator=denominator,
        theorem_code=theorem.astype(np.int8),
        status_code=status.astype(np.int8),
        reasons=reasons,
        saturation=int(beta[0]) if one else beta,
        utilization=float(share[0]) if one else share,
    )


def fifo_limit(tasks: KernelTasks, threads: Any) -> FifoLimit:
    """The utilization limit of Yang and Anderson 2017, Theorem 1, and who is within it.

    That is no guarantee where the jobs of a task run one after the other. Two tasks on two
    threads, with blocks of one thread: one block that takes 90 every 100, and two blocks that take
    20 every 110. The limit is 2 and the utilization 1.26, yet with the second task first the
    responses of the first one are 110, 120, 130, and so on. Use ``fifo_bound``.

    Parameters
    ----------
    tasks
        One task set, or a stack of N; ``blocks``, ``threads``, ``block_time`` and ``period``
        count.
    threads
        Threads of the GPU (m in the paper): a number, or one per set.

    Raises
    ------
    ValueError, OverflowError
        As ``fifo_bound``.
    """
    instance(tasks, KernelTasks, "tasks")
    m = _threads(threads, tasks)
    period, block_time = np.atleast_2d(tasks.period), np.atleast_2d(tasks.block_time)
    rows = (period, block_time, np.atleast_2d(tasks.blocks), np.atleast_2d(tasks.threads))
    limit = _core.fifo_saturation(*rows, m, overlap=False, paper=True, stop=None)
    beta = _core.fifo_saturation(*rows, m, overlap=False, paper=False, stop=None)
    share = _utilization(*rows)
    within = share <= limit
    # Floats decide but where they are too close.
    for i in np.flatnonzero(np.abs(share - limit) <= 1e-9 * limit):
        within[i] = _exact_utilization(rows, int(i)) <= int(limit[i])
    if tasks.is_stack:
        return FifoLimit(limit, beta, share, within)
    return FifoLimit(int(limit[0]), int(beta[0]), _exact_utilization(rows, 0), bool(within[0]))


def _threads(threads: Any, tasks: KernelTasks) -> Int64Array:
    """The threads of the GPU, one number per set."""
    if threads is None:
        raise TypeError("threads: say how many threads the GPU has")
    if isinstance(threads, (str, GPU)):
        raise TypeError(f"threads = {str(threads)[:60]}: must be a number (a GPU goes to gpu=)")
    m = int_array(threads, "threads")
    at_least(m, 1, "threads")
    sets = len(tasks) if tasks.is_stack else 1
    if m.shape not in ((), (sets,)) or (m.shape and not tasks.is_stack):
        what = f"a number, or one for each of {sets} sets" if tasks.is_stack else "a number"
        raise ValueError(f"threads: must be {what}, has shape {m.shape}")
    return np.ascontiguousarray(np.broadcast_to(m, (sets,)))


def _mask(theorems: Iterable[str] | None) -> int:
    """The bits of the theorems to try."""
    if theorems is None:
        return (1 << len(THEOREMS)) - 1
    mask = 0
    for name in some_of(theorems, _ASKED, "theorems"):
        for theorem in _ASKED[name]:
            mask |= 1 << THEOREMS.index(theorem)
    return mask


def _utilization(
    period: Int64Array, block_time: Int64Array, blocks: Int64Array, threads: Int64Array
) -> npt.NDArray[np.float64]:
    """Sum of work / period for each set; the core has checked that the work fits 64 bits."""
    total: npt.NDArray[np.float64] = (blocks * threads * block_time / period).sum(axis=-1)
    return total


def _exact_utilization(rows: tuple[Int64Array, ...], index: int) -> Fraction:
    columns = (row[index].tolist() for row in rows)
    return sum((Fraction(c * g * b, t) for t, c, g, b in zip(*columns, strict=True)), Fraction(0))
