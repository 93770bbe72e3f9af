"""Parallel Batch Scheduler (PBS): exact schedulability test, EDF baselines, run-time policy.

PBS submits a batch of ready jobs together, waits until the last of them has ended, and then submits
the next batch; it never idles while work is ready [RTNS24]. `search` decides exactly whether there
is a sequence of batches that meets the deadlines of all jobs released in one hyperperiod, whatever
the resolution of time. For a single set it returns a schedule, which can be replayed, or a
certificate that none exists (over an infinite horizon: if overload is the reason). `edf_serial` and
`edf_parallel` are the paper's baselines, and ``gs.pbs.graph`` is its scheduling graph. `partition`
divides the tasks between several GPUs, each with an exact schedule. `margin` computes how far the
slowdown of kernels that run together can grow.

All answers are derived from `Answer`: they have ``accepted``, ``rejected``, ``undecided``,
``schedulable``, ``claim``, ``assumptions``, ``response``, ``slack`` and ``why()``, for one set and
for stacks of sets.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gpusched._support.budget import Budget
from gpusched._support.first_use import module_on_demand
from gpusched.model.answer import Answer
from gpusched.pbs.certificate_base import Certificate, CertificateError
from gpusched.pbs.certificates import DeadInterval, DeadStates, InfeasibleSubset, Overload
from gpusched.pbs.edf import Edf, edf_parallel, edf_serial
from gpusched.pbs.exact_search import search
from gpusched.pbs.partitioned_search import (
    InfeasiblePart,
    Partition,
    PartitionCertificate,
    partition,
)
from gpusched.pbs.policy import Play, Policy
from gpusched.pbs.search_answer import SPENT, STAGES, Search
from gpusched.pbs.slowdown_growth import SlowdownMargin, margin

if TYPE_CHECKING:
    from gpusched.pbs import graph

__all__ = [
    "SPENT",
    "STAGES",
    "Answer",
    "Budget",
    "Certificate",
    "CertificateError",
    "DeadInterval",
    "DeadStates",
    "Edf",
    "InfeasiblePart",
    "InfeasibleSubset",
    "Overload",
    "Partition",
    "PartitionCertificate",
    "Play",
    "Policy",
    "Search",
    "SlowdownMargin",
    "edf_parallel",
    "edf_serial",
    "graph",
    "margin",
    "partition",
    "search",
]


def __getattr__(name: str) -> Any:
    if name != "graph":
        raise AttributeError(f"module 'gpusched.pbs' has no attribute {name!r}")
    return module_on_demand("pbs.graph")  # few programs use it


def __dir__() -> list[str]:
    return sorted(__all__)  # names for tab completion
