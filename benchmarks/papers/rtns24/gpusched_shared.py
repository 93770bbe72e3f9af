"""Example of [RTNS24], section 3.1, and checks that several of its claims share."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

from benchmarks.papers.claim import Finding, Size, found
from benchmarks.papers.rtns24.gpusched_states import SmallSet, State, example_sets
from gpusched.model.batch_table import BatchTable
from gpusched.model.gpu import GPU
from gpusched.model.kernel_tasks import KernelTasks

if TYPE_CHECKING:
    from gpusched.model.schedule import Schedule
    from gpusched.pbs.graph import GraphSearch
    from gpusched.pbs.search_answer import Search

__all__ = [
    "EXAMPLE",
    "LOST",
    "SPLIT",
    "TABLE",
    "Frame",
    "example_search",
    "example_tasks",
    "frames_of",
    "graph_of",
    "in_one_reading",
    "listing",
    "named",
    "occupancy",
    "schedules_of",
    "set_text",
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
    answers = ("not eligible", "eligible")
    text = "Two kernels on one SM, beyond each limit and within it: "
    text += "; ".join(f"{key}: {answers[a]}, {answers[b]}" for key, (a, b) in fits.items())
    return found(holds, f"{text}.", fits)


def example_search() -> Search:
    """Exact search of the example of section 3.1."""
    from gpusched import pbs

    return pbs.search(example_tasks(), BatchTable(completion=TABLE))


SPLIT = SmallSet((8, 6), (8, 5), (0, 3, 4, 4))
LOST = SmallSet((4, 6, 6), (3, 4, 5), (0, 2, 1, 2, 3, 3, 4, 3))


def _inputs(one: SmallSet) -> tuple[KernelTasks, BatchTable]:
    tasks = KernelTasks(period=one.period, deadline=one.deadline, wcet=1)
    return tasks, BatchTable(completion=one.completion)


def listing(one: SmallSet, **options: object) -> tuple[bool | None, bool]:
    """Answers of the listing (None: its budget was spent) and of the exact search."""
    from gpusched import pbs

    inputs = _inputs(one)
    said = pbs.graph.search(*inputs, variant="paper", **options)  # type: ignore[arg-type]
    answer = None if not said.accepted and not said.rejected else bool(said.accepted)
    return answer, bool(pbs.search(*inputs).accepted)


def graph_of(one: SmallSet, variant: str = "sound") -> GraphSearch:
    """The whole graph of a set."""
    from gpusched import pbs

    return pbs.graph.search(
        *_inputs(one), variant, first_only=False, graph=True, budget={"states": 20_000}
    )


def schedules_of(count: int) -> Iterator[tuple[SmallSet, Schedule]]:
    """Schedules of those of ``count`` random sets that have one."""
    from gpusched import pbs

    for one in example_sets(count):
        schedule = pbs.search(*_inputs(one)).schedule
        if schedule is not None:
            yield one, schedule


Frame = tuple[int, int, dict[int, int]]
"""Start, batch, and the deadlines of the ready jobs by task."""


def frames_of(schedule: Schedule, period: list[int], deadline: list[int]) -> Iterator[Frame]:
    """The frames of a schedule, replayed from the periods and the relative deadlines."""
    executed = [0] * len(period)
    for start, batch in zip(schedule.start.tolist(), schedule.batch.tolist(), strict=True):
        ready = {
            i: k * t + d
            for i, (k, t, d) in enumerate(zip(executed, period, deadline, strict=True))
            if k * t <= start
        }
        yield start, batch, ready
        executed = [k + (batch >> i & 1) for i, k in enumerate(executed)]


def named(values: Iterable[object]) -> str:
    """Values as text, separated by commas."""
    return ", ".join(map(str, values))


def set_text(one: SmallSet) -> str:
    """A set as text."""
    text = f"T = ({named(one.period)}), D = ({named(one.deadline)}), times by bit mask "
    return f"{text}{named(one.completion[1:])}"


def state_pairs(count: int) -> list[tuple[SmallSet, State, State]]:
    """Pairs of reached states of random sets, the second dominated by the first."""
    return [(one, a, b) for one in example_sets(count) for a, b in one.dominations()]


def in_one_reading(finding: Finding) -> Finding:
    """The finding of a check that agrees in one reading only."""
    return found(
        finding.verdict == "agrees", finding.computed, finding.values, finding.picture, reading=True
    )
