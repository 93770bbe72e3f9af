"""Example of [RTNS24], section 3.1, and checks that several of its claims share."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gpusched.experiments.papers.claim import Finding, Size, found
from gpusched.experiments.papers.rtns24.gpusched_states import SmallSet, State, example_sets
from gpusched.model.batch_table import BatchTable
from gpusched.model.gpu import GPU
from gpusched.model.kernel_tasks import KernelTasks

if TYPE_CHECKING:
    from gpusched.pbs.search_answer import Search

__all__ = [
    "EXAMPLE",
    "LOST",
    "SPLIT",
    "TABLE",
    "example_search",
    "example_tasks",
    "in_one_reading",
    "listing",
    "occupancy",
    "state_pairs",
]

TABLE = (0, 1, 3, 4, 3, 4, 4, 6)
EXAMPLE = SmallSet((4, 5, 10), (4, 5, 10), TABLE)


def example_tasks() -> KernelTasks:
    """Tasks of the example of section 3.1."""
    return KernelTasks(period=[4, 5, 10], wcet=[1, 3, 3])


def occupancy(size: Size) -> Finding:
    """Two kernels on one SM, beyond each of its limits and within it."""
    gpu = GPU(sms=1, threads_per_sm=1024, blocks_per_sm=4, regs_per_sm=32768, smem_per_sm=32768)
    limits: dict[str, dict[str, Any]] = {
        "blocks": {"blocks": [2, 3], "threads": [32, 32]},
        "threads": {"blocks": [1, 1], "threads": [512, 544]},
        "registers": {"blocks": [1, 1], "threads": [512, 512], "regs": [32, 64]},
        "shared memory": {"blocks": [1, 1], "threads": [32, 32], "smem": [16384, 24576]},
    }
    fits = {}
    for name, shape in limits.items():
        less = {key: [values[0], values[0]] for key, values in shape.items()}
        both = [KernelTasks(period=[9, 9], wcet=[1, 1], **rows) for rows in (shape, less)]
        fits[name] = [
            bool(BatchTable.from_gpu(tasks, gpu, slowdown=1.5).completion[3]) for tasks in both
        ]
    holds = all(row == [False, True] for row in fits.values())
    text = "Two kernels on one SM, beyond each limit and within it: "
    return found(holds, f"{text}{fits}.", fits)


def example_search() -> Search:
    """Exact search of the example of section 3.1."""
    from gpusched import pbs

    return pbs.search(example_tasks(), BatchTable(completion=TABLE))


SPLIT = SmallSet((8, 6), (8, 5), (0, 3, 4, 4))
LOST = SmallSet((4, 6, 6), (3, 4, 5), (0, 2, 1, 2, 3, 3, 4, 3))


def listing(one: SmallSet, **options: object) -> tuple[bool, bool]:
    """Answers of the listing and of the exact search."""
    from gpusched import pbs

    tasks = KernelTasks(period=one.period, deadline=one.deadline, wcet=1)
    table = BatchTable(completion=one.completion)
    said = pbs.graph.search(tasks, table, variant="paper", **options)  # type: ignore[arg-type]
    truth = pbs.search(tasks, table)
    return bool(said.accepted), bool(truth.accepted)


def state_pairs(count: int) -> list[tuple[SmallSet, State, State]]:
    """Pairs of reached states of random sets, the second dominated by the first."""
    return [(one, a, b) for one in example_sets(count) for a, b in one.dominations()]


def in_one_reading(finding: Finding) -> Finding:
    """The finding of a check that agrees in one reading only."""
    return found(
        finding.verdict == "agrees", finding.computed, finding.values, finding.picture, reading=True
    )
