"""Certificates from the arrays of a proof, as a search returns them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from gpusched.pbs.certificates.certificate import Certificate
from gpusched.pbs.certificates.dead_interval import DeadInterval
from gpusched.pbs.certificates.dead_states import DeadStates
from gpusched.pbs.certificates.infeasible_subset import InfeasibleSubset
from gpusched.pbs.certificates.overload import Overload, demand_of

if TYPE_CHECKING:
    from gpusched.model.kernel_tasks import KernelTasks

__all__ = ["certificate_of"]


def certificate_of(
    proof: Mapping[str, Any] | None, tasks: KernelTasks, repeating: bool = False
) -> Certificate | None:
    """Make the certificate from a proof about these tasks; None for None.

    Parameters
    ----------
    proof
        A mapping with ``kind`` and the fields of that kind (see `Overload`, `DeadInterval`,
        `DeadStates` and `InfeasibleSubset`):

        - "window": ``window`` (None: the long run), ``prices``, ``scale``.
        - "interval": ``from``, ``to``, ``tasks`` (indices), ``least``.
        - "closed": ``windows``, ``window_prices``, ``scales``, ``entry_start``, ``entry_pending``,
          ``entry_latest``, ``span_begin``, ``span_first``, ``span_last``.
        - "core": ``core``, the tasks of the subset, and ``proof``, one of the above for them.
    tasks, repeating
        The tasks, and whether the proof is about all jobs instead of those of one hyperperiod.
    """
    if proof is None:
        return None
    kind = proof["kind"]
    if kind == "window":
        prices, scale, window = (proof[key] for key in ("prices", "scale", "window"))
        return Overload(prices, scale, demand_of(prices, scale, window, tasks, repeating), window)
    if kind == "interval":
        return DeadInterval(proof["from"], proof["to"], proof["tasks"], proof["least"])
    if kind == "closed":
        return DeadStates(
            window=proof["windows"],
            prices=proof["window_prices"],
            scale=proof["scales"],
            start=proof["entry_start"],
            pending=proof["entry_pending"],
            latest=proof["entry_latest"],
            span_begin=proof["span_begin"],
            span_first=proof["span_first"],
            span_last=proof["span_last"],
        )
    part = certificate_of(proof["proof"], tasks[np.asarray(proof["core"])], repeating)
    assert isinstance(part, (Overload, DeadInterval, DeadStates))
    return InfeasibleSubset(proof["core"], part)
