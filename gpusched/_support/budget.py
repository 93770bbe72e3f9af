"""What a long computation may cost."""

from __future__ import annotations

from dataclasses import dataclass

from gpusched._support.arguments import instance

__all__ = ["Budget", "as_budget"]


@dataclass(frozen=True)
class Budget:
    """What one task set may cost; None is no limit.

    Parameters
    ----------
    states
        States that a search looks at, jobs that a simulation releases, blocks that
        ``gs.simulate.hierarchy`` starts. The only budget that gives the same answers on every
        machine.
    bytes
        Memory of the computation (2 GiB).
    seconds
        Wall-clock time.
    """

    states: int | None = None
    bytes: int | None = 2 << 30
    seconds: float | None = None

    def __post_init__(self) -> None:
        for name in ("states", "bytes", "seconds"):
            value = getattr(self, name)
            if value is not None and not value > 0:
                raise ValueError(f"budget: {name} = {value!r}: must be positive, or None")


def as_budget(budget: Budget | None) -> Budget:
    """The argument ``budget``: the usual one for None; a ``TypeError`` for what is none."""
    if budget is None:
        return Budget()
    instance(budget, Budget, "budget", "gs.Budget(seconds=1), say")
    return budget
