"""Limits on the states, memory and time of a computation."""

from __future__ import annotations

from dataclasses import dataclass

from gpusched._support.arguments import instance, integer64, real
from gpusched._support.text import shown

__all__ = ["Budget", "as_budget", "spent_text"]


@dataclass(frozen=True)
class Budget:
    """Limits on the resources of a call; None means no limit.

    A call that exceeds a limit ends without an answer for what is left, and says so. ``bytes`` and
    ``seconds`` hold for the whole call: for all sets of a stack, all ways of a comparison, all
    readings of the rules of GPUs, and all tests of a margin together. Each of these gets an equal
    part of the time that is left, so that the first ones do not use up that of the others.

    >>> tasks = gs.KernelTasks([4, 6], wcet=[1, 3])
    >>> table = gs.BatchTable.from_dict(2, {(0,): 1, (1,): 3, (0, 1): 4})
    >>> gs.pbs.search(tasks, table, budget=gs.Budget(states=10**6)).schedulable
    True

    Parameters
    ----------
    states
        Number of states that each search visits, of jobs that each simulation releases, or of
        blocks that ``gs.simulate.hierarchy`` starts. Only this limit gives the same answers on
        every machine.
    bytes
        Most memory held at once, in bytes, besides the arguments. Default: 2 GiB.
    seconds
        Wall-clock time in seconds.

    Raises
    ------
    ValueError
        A limit is not positive.
    TypeError
        A limit is not a number, or states or bytes are not whole numbers.
    OverflowError
        A number of states or bytes does not fit 64 bits, or seconds do not fit a double.
    """

    states: int | None = None
    bytes: int | None = 2 << 30
    seconds: float | None = None

    def __post_init__(self) -> None:
        for name in ("states", "bytes", "seconds"):
            if (value := getattr(self, name)) is None:
                continue
            what = f"budget.{name}"
            limit = real(value, what) if name == "seconds" else integer64(value, what)
            if not limit > 0:
                raise ValueError(f"{what}: got {shown(value)}, expected a positive number or None")
            object.__setattr__(self, name, limit)


def as_budget(budget: Budget | None) -> Budget:
    """The argument ``budget``; ``Budget()`` for None, ``TypeError`` for another type."""
    if budget is None:
        return Budget()
    instance(budget, Budget, "budget", "for example gs.Budget(seconds=1)")
    return budget


def spent_text(which: str, states: int, used: int, cause: str = "") -> str:
    """Describe a search whose budget was used up: which limit, its states and its bytes.

    ``cause``: the end of the sentence, and what to do, if they are known.
    """
    amount = f"{states:,} states and {used / 1e6:,.1f} MB"
    if cause:
        return f"The budget of {which} was spent, after {amount}, {cause}"
    return f"The budget of {which} was spent, after {amount}; a larger one may decide it."
