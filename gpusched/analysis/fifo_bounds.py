"""Response-time bounds of kernels whose blocks start in FIFO order [ECRTS17]."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from fractions import Fraction
from time import perf_counter
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np
import numpy.typing as npt

from gpusched import _core
from gpusched._support.arguments import (
    Int64Array,
    at_least,
    instance,
    int_array,
    one_of,
    some_of,
    task_number,
)
from gpusched._support.registry import enumeration
from gpusched._support.text import shown
from gpusched.model.answers.answer import Answer, Claim, Flags, Ticks
from gpusched.model.fifo_order import ORDERS, Order
from gpusched.model.gpu import GPU, WARP_THREADS, as_gpu
from gpusched.model.kernel_tasks import KernelTasks

if TYPE_CHECKING:
    from matplotlib.axes import Axes

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

THEOREMS = enumeration("analysis.fifo_theorem")
"""Sources of bounds, in the order of ``FifoBound.theorem_code``."""

STATUSES = enumeration("analysis.fifo_status")
"""Knowledge of a task's responses, in the order of ``FifoBound.status_code``."""

REASONS = enumeration("analysis.fifo_reason")
"""Reasons of a theorem without a bound: the values of the four bits from bit 4 t of
``FifoBound.reasons`` for theorem number t of ``THEOREMS``."""

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

# Names in the argument ``theorems``, and the theorems that they stand for.
_ASKED = {
    "fits": ("fits",),
    "P": ("P",),
    "V1": ("V1, case 1", "V1, case 2"),
    "A": ("A",),
    "A refined": ("A refined",),
    "V2": ("V2",),
    "V3": ("V3",),
}

BoolArray = npt.NDArray[np.bool_]

_COMMON = (
    "Jobs of a task are released at least a period apart, and blocks take at most their time.",
    "Each task has its own stream of one priority and its own hardware channel.",
    "Blocks that run together do not slow each other down beyond their given times.",
)
_ORDER = {
    "hardware": "A kernel joins the queue when it reaches the head of its stream.",
    "release": "Of the kernels at the heads of their streams, the earliest released is first.",
    "strict": "Kernels queue by release, and one behind its task's previous job delays all others.",
    "overlap": "Kernels queue by release, and jobs of a task may run at the same time.",
}


@dataclass(frozen=True, eq=False, repr=False)
class FifoBound(Answer):
    """Response-time bounds for one set of n tasks or a stack of N sets.

    A set is accepted when every task has a bound within its deadline, and rejected when the
    responses of a task are shown to be unbounded.

    >>> tasks = gs.KernelTasks([100, 120], block_time=[10, 30], blocks=2, threads=[64, 128])
    >>> answer = gs.analysis.fifo_bound(tasks, threads=256)
    >>> answer.schedulable, answer.response.tolist(), answer.theorem.tolist()
    (True, [54, 57], ['V1, case 1', 'V1, case 1'])

    Attributes
    ----------
    tasks, order
        The tasks, and the reading of FIFO.
    bounded
        Whether there is a bound: bool ``(n,)`` or ``(N, n)``, as all arrays below unless stated.
    numerator, denominator
        The bound exactly, in lowest terms; 0 and 0 without one. Where they would not fit 64 bits,
        the bound is rounded up to a whole number. ``response`` is the bound rounded up.
    theorem_code, status_code
        int8 indices into ``THEOREMS`` and ``STATUSES``; ``theorem`` and ``status`` have the names.
    reasons
        Why a theorem gives no bound, packed (see ``REASONS``); ``refusals`` unpacks them.
    saturation
        Least number of threads that are busy while a block waits; 0 when none ever waits. An int,
        or int64 ``(N,)``.
    utilization
        Threads that the tasks need on average; with ``gpu`` in whole warps. A float, or an array
        ``(N,)``.
    seconds
        Wall-clock time of the call.
    """

    _KIND: ClassVar[str] = "FifoBound"
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
        return (*_COMMON, _ORDER[self.order])

    @property
    def accepted(self) -> Flags:
        """Whether every task has a bound within its deadline: a bool, or bool ``(N,)``."""
        values, known = self._responses()
        met = (known & (values <= self.tasks.deadline)).all(axis=-1)
        return met if self.is_stack else bool(met)

    @property
    def rejected(self) -> Flags:
        """Whether the responses of a task are shown to be unbounded: a bool, or bool ``(N,)``."""
        never = (self.status_code >= STATUSES.index("unbounded_long")).any(axis=-1)
        return never if self.is_stack else bool(never)

    def _responses(self) -> tuple[Int64Array, BoolArray]:
        known = self.bounded
        return -(-self.numerator // np.where(known, self.denominator, 1)), known

    @property
    def theorem(self) -> npt.NDArray[np.str_]:
        """The theorem behind each bound, "" without one."""
        return np.array(THEOREMS)[self.theorem_code]

    @property
    def status(self) -> npt.NDArray[np.str_]:
        """``bounded``, ``unknown`` (no theorem applies), ``unbounded_long`` (one job alone on the
        GPU takes longer than its period) or ``unbounded_load`` (the tasks need more threads than
        the GPU has)."""
        return np.array(STATUSES)[self.status_code]

    @property
    def exact(self) -> list[Any]:
        """The bounds as a ``Fraction`` per task, None without one; a list per set of a stack."""

        def of(numerators: list[int], denominators: list[int]) -> list[Fraction | None]:
            pairs = zip(numerators, denominators, strict=True)
            return [Fraction(n, d) if d else None for n, d in pairs]

        above, below = self.numerator.tolist(), self.denominator.tolist()
        if not self.is_stack:
            return of(above, below)
        return [of(*rows) for rows in zip(above, below, strict=True)]

    def refusals(self, task: int | str) -> dict[str, str]:
        """Reasons of the theorems that give a task of a single set no bound.

        Parameters
        ----------
        task
            Its number or name.

        Returns
        -------
        dict
            From names in ``THEOREMS`` to sentences, in that order; empty when each theorem about
            this order gives a bound.
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
        return {
            **super()._columns(),
            "numerator": self.numerator,
            "denominator": self.denominator,
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


@dataclass(frozen=True, eq=False, repr=False)
class FifoLimit(Answer):
    """Utilization limit of [ECRTS17], Theorem 1, and the utilization of task sets.

    A necessary test: a set is rejected when its utilization exceeds the number of threads, and
    undecided otherwise, whether ``within`` the limit or not. The limit guarantees nothing where the
    jobs of a task run one after the other: there are task sets far below it whose response times
    grow without bound. `fifo_bound` gives the bounds that are proven.

    >>> tasks = gs.KernelTasks([100, 110], block_time=[90, 20], blocks=[1, 2])
    >>> limit = gs.analysis.fifo_limit(tasks, threads=2)
    >>> limit.limit, float(limit.utilization), limit.within, limit.schedulable
    (2, 1.2636363636363637, True, None)

    Attributes
    ----------
    tasks, threads
        The tasks and the number of threads m: an int, or int64 ``(N,)``.
    limit
        ``m - b_max + 1`` threads: above it there are task sets with unbounded response times
        (Theorem 1). An int, or int64 ``(N,)``.
    saturation
        Least number of threads that are busy while a block waits, at least the limit; 0 when no
        block ever waits. An int, or int64 ``(N,)``.
    within
        Whether the utilization is at most the limit (decided exactly): a bool, or bool ``(N,)``.
    rejected
        Whether the utilization exceeds the number of threads (decided exactly): as ``within``.
    seconds
        Wall-clock time of the call.
    """

    _KIND: ClassVar[str] = "FifoLimit"
    _SHOWN: ClassVar[tuple[str, ...]] = ("deadline", "utilization")

    tasks: KernelTasks
    threads: Ticks
    limit: Ticks
    saturation: Ticks
    within: Flags
    rejected: Flags
    seconds: float = field(default=0.0, compare=False)

    @property
    def _tasks(self) -> KernelTasks:
        return self.tasks

    @property
    def claim(self) -> Claim:
        """ "necessary": a set that is not rejected is undecided."""
        return "necessary"

    @property
    def assumptions(self) -> tuple[str, ...]:
        """Conditions under which the answer holds, one sentence each."""
        return _COMMON

    @property
    def accepted(self) -> Flags:
        """False for every set: a bool, or bool ``(N,)``."""
        return np.zeros(len(self.tasks), np.bool_) if self.is_stack else False

    @property
    def utilization(self) -> Any:  # a Fraction or an array, as is_stack says
        """Threads that the tasks need on average: a ``Fraction``, or a float array ``(N,)``."""
        tasks = self.tasks
        rows = (tasks.period, tasks.block_time, tasks.blocks, tasks.threads)
        return _utilization(*rows) if self.is_stack else _exact_utilization(rows)

    @property
    def bounded(self) -> BoolArray:
        """Whether there is a response bound: False for every task."""
        return np.zeros(self.tasks.period.shape, np.bool_)

    def __len__(self) -> int:
        """Number of sets of a stack, of tasks of a single set."""
        return len(self.tasks)

    def _responses(self) -> tuple[Int64Array, BoolArray]:
        return np.zeros(self.tasks.period.shape, np.int64), self.bounded

    def _share(self) -> npt.NDArray[np.float64]:
        """Threads that each task needs on average."""
        tasks = self.tasks
        found: npt.NDArray[np.float64] = (
            tasks.blocks * tasks.threads * tasks.block_time / tasks.period
        )
        return found

    def _reason(self) -> str:
        share = f"The utilization is {float(self.utilization):.6g} of {self.threads:,} threads"
        if self.rejected:
            return f"{share}: responses are unbounded."
        side = "within" if self.within else "above"
        return f"{share}, {side} the limit of {self.limit:,}; the limit is no guarantee."

    def _reason_of(self, i: int) -> str:
        return f"{self._name(i)}: {float(self._share()[i]):.6g} threads on average."

    def _columns(self) -> dict[str, npt.NDArray[Any]]:
        return {**super()._columns(), "utilization": self._share()}

    def plot(self, ax: Axes | None = None, *, unit: str | None = None) -> Axes:
        """Draw each task's share of the threads, beside the limit and the number of threads.

        For a stack, the numbers of rejected and undecided sets.

        Parameters
        ----------
        ax
            Matplotlib axes; None for a new figure.
        unit
            Unused; the picture has no time axis.

        Returns
        -------
        The axes.
        """
        if self.is_stack:
            return self._plot_counts(ax)
        from gpusched._draw import axes as plot

        ax = plot.axes(ax, (6.4, 2.0))
        left = 0.0
        for i, share in enumerate(self._share().tolist()):
            label = self._label(i) if i < 8 else None
            ax.barh(0, share, 0.5, left=left, color=plot.color(i), label=label)
            left += share
        ax.axvline(float(self.limit), color=plot.INK, linewidth=2, label="limit")
        ax.axvline(float(self.threads), color=plot.LATE, linewidth=2, label="threads of the GPU")
        ax.set_yticks([])
        ax.set_ylim(-0.6, 0.6)
        ax.set_xlim(0, 1.04 * max(left, float(self.threads)))
        ax.set_xlabel("threads")
        plot.legend(ax, frameon=False, fontsize=9, loc="upper left", bbox_to_anchor=(1, 1))
        return ax

    def _form(self) -> str:
        if self.is_stack:
            return f"{int(np.sum(self.within))} within the utilization limit"
        side = "within" if self.within else "above"
        return f"utilization {float(self.utilization):.6g}, {side} the limit of {self.limit:,}"


def fifo_bound(
    tasks: KernelTasks,
    threads: npt.ArrayLike | None = None,
    *,
    gpu: GPU | str | None = None,
    order: Order = "hardware",
    saturation: Literal["exact", "paper"] = "exact",
    theorems: Iterable[str] | None = None,
    stop: Any = None,
) -> FifoBound:
    """Bound the response times of kernels whose blocks start in FIFO order.

    The model is that of [ECRTS17]; the theorems are this package's, with proofs in notebook 02.

    A job of a task is one kernel of ``blocks`` blocks; each takes ``threads`` threads for at most
    ``block_time``, and starts when it is at the head of the queue and that many are free. Jobs of a
    task are released at least a period apart. The bounds hold for every such release pattern, also
    with blocks that take less time. They are computed in integers and rounded up at the end.

    The paper conjectures that response times are bounded up to a utilization of ``m - b_max + 1``.
    They are where jobs of a task may overlap, and need not be where they run one after the other,
    as in a stream.

    Each task has a stream of its own, of one priority. More streams than the GPU has hardware
    channels would delay each other in ways that the model does not cover.

    >>> tasks = gs.KernelTasks([100, 120], block_time=[10, 30], blocks=2, threads=[64, 128])
    >>> gs.analysis.fifo_bound(tasks, threads=256).response.tolist()
    [54, 57]

    Parameters
    ----------
    tasks
        One task set, or a stack of N.
    threads
        Threads of the GPU, any of which a block may use (m in the paper): a number, or ``(N,)``.
    gpu
        Instead of ``threads``: a ``GPU``, or the name of a preset. Then a block needs warps,
        registers, shared memory and a block slot of one SM, as ``place`` counts them; its threads
        are rounded up to whole warps, also in the work of its task.
    order
        Reading of FIFO, one of ``ORDERS``.
    saturation
        "exact": the least number of busy threads that block sizes can add up to while a block
        waits. "paper": ``m - b_max + 1``, which is never more.
    theorems
        Theorems to try, to compare them: some of ``"fits"``, ``"P"``, ``"V1"``, ``"A"``,
        ``"A refined"``, ``"V2"``, ``"V3"``; all unless given.
    stop
        A writable buffer of one byte (``bytearray(1)``); setting it to 1 in another thread ends the
        call.

    Returns
    -------
    FifoBound
        With arrays of shape ``(n,)``, or ``(N, n)`` for a stack.

    Raises
    ------
    ValueError
        Blocks wider than the GPU, or that do not fit an SM; block sizes with too many combinations
        to search (use ``saturation="paper"``).
    OverflowError
        Times or work that exceed 64 bits.
    gpusched.Cancelled
        ``stop`` was set.
    """
    instance(tasks, KernelTasks, "tasks")
    one_of(order, ORDERS, "order")
    one_of(saturation, ("exact", "paper"), "saturation")
    mask = _mask(theorems)
    began = perf_counter()
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
            raise ValueError("threads: got both threads and gpu, expected one of them")
        if saturation == "paper":
            raise ValueError(
                "saturation: got 'paper', which counts threads alone, expected 'exact' with gpu"
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
        numerator=numerator,
        denominator=denominator,
        theorem_code=theorem.astype(np.int8),
        status_code=status.astype(np.int8),
        reasons=reasons,
        saturation=int(beta[0]) if one else beta,
        utilization=float(share[0]) if one else share,
        seconds=perf_counter() - began,
    )


def fifo_limit(tasks: KernelTasks, threads: npt.ArrayLike) -> FifoLimit:
    """Compute the utilization limit of [ECRTS17], Theorem 1, and compare task sets with it.

    The limit is no guarantee where the jobs of a task run one after the other. Two tasks on two
    threads, with blocks of one thread: one block that takes 90 every 100, and two blocks that take
    20 every 110. The limit is 2 and the utilization 1.26, yet with the second task first the
    responses of the first one are 110, 120, 130, and so on. Use `fifo_bound`.

    >>> tasks = gs.KernelTasks([100, 110], block_time=[90, 20], blocks=[1, 2])
    >>> gs.analysis.fifo_limit(tasks, threads=2).within
    True

    Parameters
    ----------
    tasks
        One task set, or a stack of N; ``blocks``, ``threads``, ``block_time`` and ``period``
        count.
    threads
        Threads of the GPU (m in the paper): a number, or ``(N,)``.

    Returns
    -------
    FifoLimit
        Necessary: rejected or undecided.

    Raises
    ------
    ValueError, OverflowError
        As `fifo_bound`.
    """
    instance(tasks, KernelTasks, "tasks")
    began = perf_counter()
    m = _threads(threads, tasks)
    period, block_time = np.atleast_2d(tasks.period), np.atleast_2d(tasks.block_time)
    rows = (period, block_time, np.atleast_2d(tasks.blocks), np.atleast_2d(tasks.threads))
    limit = _core.fifo_saturation(*rows, m, overlap=False, paper=True, stop=None)
    beta = _core.fifo_saturation(*rows, m, overlap=False, paper=False, stop=None)
    share = _utilization(*rows)
    within, over = ~_exceeds(rows, share, limit), _exceeds(rows, share, m)
    if tasks.is_stack:
        seconds = perf_counter() - began
        return FifoLimit(tasks, m, limit, beta, within, over, seconds)
    return FifoLimit(
        tasks=tasks,
        threads=int(m[0]),
        limit=int(limit[0]),
        saturation=int(beta[0]),
        within=bool(within[0]),
        rejected=bool(over[0]),
        seconds=perf_counter() - began,
    )


def _exceeds(
    rows: tuple[Int64Array, ...], share: npt.NDArray[np.float64], limit: Int64Array
) -> BoolArray:
    """Flags of utilizations above a number of threads; fractions decide close cases."""
    above = share > limit
    for i in np.flatnonzero(np.abs(share - limit) <= 1e-9 * limit):
        above[i] = _exact_utilization(tuple(row[int(i)] for row in rows)) > int(limit[i])
    found: BoolArray = above
    return found


def _threads(threads: Any, tasks: KernelTasks) -> Int64Array:
    """The threads of the GPU, one number per set."""
    if threads is None:
        raise TypeError("threads: got None, expected the number of threads of the GPU")
    if isinstance(threads, (str, GPU)):
        raise TypeError(f"threads: got {shown(threads)}, expected a number (a GPU goes to gpu=)")
    m = int_array(threads, "threads")
    at_least(m, 1, "threads")
    sets = len(tasks) if tasks.is_stack else 1
    if m.shape not in ((), (sets,)) or (m.shape and not tasks.is_stack):
        what = f"a number, or one for each of {sets} sets" if tasks.is_stack else "a number"
        raise ValueError(f"threads: got shape {m.shape}, expected {what}")
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


def _exact_utilization(rows: tuple[Int64Array, ...]) -> Fraction:
    """The same exactly, for one set."""
    columns = (row.tolist() for row in rows)
    return sum((Fraction(c * g * b, t) for t, c, g, b in zip(*columns, strict=True)), Fraction(0))
