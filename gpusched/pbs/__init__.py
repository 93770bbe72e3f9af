"""Parallel Batch Scheduler (PBS): exact schedulability test, EDF baselines, run-time policy.

PBS submits a batch of ready jobs together, waits for the last of them to end, and looks again; it
never idles while work is ready [RTNS24]. ``search`` decides exactly whether some sequence of
batches meets every deadline of the jobs released in one hyperperiod, whatever the resolution of
time, and gives a witness either way: a schedule that replays, or a certificate that none exists.
``edf_serial`` and ``edf_parallel`` are the paper's baselines, ``gs.pbs.graph`` its scheduling
graph.
"""

from __future__ import annotations

from gpusched._support.budget import Budget
from gpusched.pbs import graph
from gpusched.pbs.certificates import DeadWindow, Overload
from gpusched.pbs.edf import Edf, EdfStack, edf_parallel, edf_serial
from gpusched.pbs.exact_search import SPENT, STAGES, Search, SearchStack, search

__all__ = [
    "SPENT",
    "STAGES",
    "Budget",
    "DeadWindow",
    "Edf",
    "EdfStack",
    "Overload",
    "Search",
    "SearchStack",
    "edf_parallel",
    "edf_serial",
    "graph",
    "search",
]


def __dir__() -> list[str]:
    return sorted(__all__)  # what a user's tab key shows
