"""Certificate by dead states: a set of states that no batch leaves without a miss."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any, ClassVar

from gpusched import _core
from gpusched._support.arguments import Int64Array, int_array
from gpusched._support.saved import Frozen
from gpusched.pbs.certificates.certificate import Arrays, Certificate, Verdict

if TYPE_CHECKING:
    from gpusched.model.kernel_chains import KernelChains
    from gpusched.model.kernel_tasks import KernelTasks

__all__ = ["DeadStates"]


@dataclass(frozen=True, eq=False, repr=False)
class DeadStates(Certificate, Frozen):
    """Proof by states from which every sequence of batches misses a deadline, the first included.

    A state is a time and the pending jobs. States are grouped into classes; a class consists of an
    interval between two consecutive arrivals and the number of pending jobs of each task. Each
    entry states which times of a class are dead. From a dead state, each batch that ends in time,
    and waiting if that is allowed, leads to another dead state, and no dead state has all jobs
    completed. Prices of jobs, as in `Overload`, rule out states that are too late for the remaining
    jobs of a window. Sizes: E entries, S spans, W windows, n tasks.

    >>> tasks = gs.KernelTasks(period=[4, 6], wcet=[3, 4])
    >>> table = gs.BatchTable.from_dict(2, {(0,): 3, (1,): 4, (0, 1): 6})
    >>> proof = gs.pbs.DeadStates(
    ...     window=[], prices=[], scale=[], start=[0, 0], pending=[[1, 1], [0, 1]],
    ...     latest=[2**63 - 1] * 2, span_begin=[0, 1, 2], span_first=[0, 3], span_last=[0, 3],
    ... )
    >>> proof
    <DeadStates: 2 classes of states, 2 spans, 0 windows>
    >>> proof.verify(tasks, table) is proof
    True

    Attributes
    ----------
    window, scale, prices
        Ends of the windows, which start at 0, in ticks ``(W,)``; prices ``(W, n)`` in units of
        1/``scale`` ticks.
    start, pending
        For each entry, the first time of its interval ``(E,)``, and the pending jobs ``(E, n)``.
        For chains, n is the number of kernels, and a pending job is one that has yet to run the
        kernel.
    latest
        For each entry ``(E,)``: all later times of the class are dead even if the GPU may wait; the
        largest int64 if nothing is known.
    span_begin, span_first, span_last
        Entry e has the spans from ``span_begin[e]`` to ``span_begin[e + 1]``, ascending. The times
        from ``span_first`` to ``span_last`` (inclusive) are dead under the assumptions of the
        search, with or without idling.
    """

    _KIND: ClassVar[str] = "DeadStates"

    window: Int64Array
    prices: Int64Array
    scale: Int64Array
    start: Int64Array
    pending: Int64Array
    latest: Int64Array
    span_begin: Int64Array
    span_first: Int64Array
    span_last: Int64Array

    def __post_init__(self) -> None:
        for field in fields(self):
            object.__setattr__(self, field.name, int_array(getattr(self, field.name), field.name))
        self._check_shapes()
        super().__post_init__()

    def _check_shapes(self) -> None:
        n = self.pending.shape[-1]
        windows, entries, spans = (len(a) for a in (self.window, self.start, self.span_first))
        if self.prices.size == 0:
            object.__setattr__(
                self, "prices", self.prices.reshape(windows, n if not windows else 0)
            )
        shapes = {
            "window": (windows,),
            "prices": (windows, n),
            "scale": (windows,),
            "start": (entries,),
            "pending": (entries, n),
            "latest": (entries,),
            "span_begin": (entries + 1,),
            "span_first": (spans,),
            "span_last": (spans,),
        }
        for name, shape in shapes.items():
            found = getattr(self, name).shape
            if found != shape:
                raise ValueError(f"{name}: got shape {found}, expected {shape}")
        begin = self.span_begin
        if begin[0] != 0 or begin[-1] != spans or (begin[1:] < begin[:-1]).any():
            raise ValueError("span_begin: expected offsets that rise from 0 to the number of spans")

    def _verdict(
        self,
        arrays: Arrays,
        chained: Int64Array | None,
        subset: Int64Array | None,
        idling: bool,
        options: dict[str, Any],
    ) -> Verdict:
        return _core.pbs_proof_states(
            *arrays,
            subset=subset,
            window=self.window,
            prices=self.prices,
            scale=self.scale,
            start=self.start,
            pending=self.pending,
            latest=self.latest,
            span_begin=self.span_begin,
            span_first=self.span_first,
            span_last=self.span_last,
            idling=idling,
            chained=chained,
            **options,
        )

    def words(self, tasks: KernelTasks | KernelChains) -> str:
        """The proof in one sentence."""
        count = len(self.start)
        return (
            "Every sequence of batches misses a deadline: all were followed, in "
            f"{count:,} {'group' if count == 1 else 'groups'} of equivalent situations (classes of "
            "states)."
        )

    def __repr__(self) -> str:
        parts = (
            (len(self.start), "class of states", "classes of states"),
            (len(self.span_first), "span", "spans"),
            (len(self.window), "window", "windows"),
        )
        text = ", ".join(f"{count:,} {one if count == 1 else many}" for count, one, many in parts)
        return f"<DeadStates: {text}>"
