"""Claims of [RTNS24], section 3.1: the example and its four schedules."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence

import numpy as np

from benchmarks.papers.claim import Claim, Finding, Size, found
from benchmarks.papers.rtns24.gpusched_shared import (
    EXAMPLE,
    TABLE,
    example_search,
    example_tasks,
    named,
)
from gpusched.model.batch_table import BatchTable
from gpusched.model.block_placement import place
from gpusched.model.gpu import GPU
from gpusched.model.kernel_tasks import KernelTasks
from gpusched.model.schedule import Schedule

__all__ = ["EXAMPLE_CLAIMS"]


def _figure_1(size: Size) -> Finding:
    jobs = EXAMPLE.jobs
    holds = jobs == (5, 4, 2) and example_tasks().hyperperiod == 20
    schedule = example_search().schedule
    assert schedule is not None
    text = (
        f"H = {example_tasks().hyperperiod} with {named(jobs)} jobs; the search finds a schedule "
    )
    text += "(picture)."
    return found(holds, text, {"jobs": list(jobs)}, schedule.to_svg())


def _misses(first: Sequence[int]) -> tuple[set[str], Schedule]:
    """Late jobs of EDF, one at a time, where ties go to the earlier in ``first``, past a miss."""
    return _run(lambda ready, due: 1 << min(ready, key=lambda i: (due[i], first.index(i))))


def _run(choose: Callable[[list[int], list[int]], int]) -> tuple[set[str], Schedule]:
    """Late jobs, and the frames, of the example under a rule; jobs run also when they are late."""
    time, executed = 0, (0, 0, 0)
    start, end, batches, late = [], [], [], set()
    while True:
        time, _ = EXAMPLE.started((time, executed))
        ready = [i for i in range(3) if EXAMPLE.ready((time, executed)) >> i & 1]
        if not ready:
            break
        due = [k * t + d for k, t, d in zip(executed, (4, 5, 10), (4, 5, 10), strict=True)]
        batch = choose(ready, due)
        start.append(time)
        time += TABLE[batch]
        end.append(time)
        batches.append(batch)
        late |= {
            f"J{(1, 6, 10)[i] + executed[i]}" for i in ready if batch >> i & 1 and due[i] < time
        }
        executed = tuple(k + (batch >> i & 1) for i, k in enumerate(executed))  # type: ignore[assignment]
    a, b, c = (np.array(row, dtype=np.int64) for row in (start, end, batches))
    return late, Schedule(a, b, c, example_tasks(), BatchTable(completion=TABLE), False)


def _figure_2a(size: Size) -> Finding:
    from gpusched import pbs

    large, schedule = _misses((2, 1, 0))
    small, _ = _misses((0, 1, 2))
    rejected = not pbs.edf_serial(example_tasks(), BatchTable(completion=TABLE)).schedulable
    text = (
        f"EDFserial misses a deadline. J7 and J10 are both due at 10: with J10 first {_set(large)} "
    )
    text += f"are late, with J7 first {_set(small)}."
    holds = bool(rejected) and "J7" in large and "J7" not in small
    values = {"late_j10_first": sorted(large), "late_j7_first": sorted(small)}
    return found(holds, text, values, schedule.to_svg(), reading=True)


def _figure_2b(size: Size) -> Finding:
    from gpusched import pbs

    late, schedule = _run(lambda ready, due: sum(1 << i for i in ready))
    rejected = not pbs.edf_parallel(example_tasks(), BatchTable(completion=TABLE)).schedulable
    printed = {"J3", "J4", "J5", "J6", "J7"}
    text = f"With every ready job submitted at once, {_set(late)} end late; J7 ends at 10, when it "
    text += "is due, and the first batch ends at 6, after the deadlines 4 of J1 and 5 of J6. "
    text += f"edf_parallel rejects the set: {rejected}."
    return found(
        late == printed and bool(rejected), text, {"late": sorted(late)}, schedule.to_svg()
    )


def _set(names: set[str]) -> str:
    return ", ".join(sorted(names, key=lambda name: int(name[1:])))


def _with_prefix(prefix: Sequence[int]) -> Schedule | None:
    """A schedule of the example that begins with given batches; None when there is none."""
    total = EXAMPLE.jobs
    failed = set()

    def extend(state: tuple[int, tuple[int, ...]], done: list[tuple[int, int]]) -> bool:
        if state[1] == total:
            return True
        state = EXAMPLE.started(state)
        if len(done) >= len(prefix) and state in failed:
            return False
        for batch, after, missed in EXAMPLE.frames(state):
            wanted = len(done) >= len(prefix) or prefix[len(done)] == batch
            if wanted and not missed:
                done.append((state[0], batch))
                if extend(after, done):
                    return True
                done.pop()
        failed.add(state)
        return False

    frames: list[tuple[int, int]] = []
    if not extend((0, (0, 0, 0)), frames):
        return None
    start = np.array([time for time, _ in frames])
    batch = np.array([batch for _, batch in frames])
    end = start + np.array(TABLE)[batch]
    return Schedule(start, end, batch, example_tasks(), BatchTable(completion=TABLE), False)


def _prefix(name: str, prefix: Sequence[int]) -> Callable[[Size], Finding]:
    def check(size: Size) -> Finding:
        schedule = _with_prefix(prefix)
        if schedule is None:
            return _late_prefix(prefix)
        schedule.validate()
        frames = zip(schedule.start.tolist(), schedule.end.tolist(), strict=True)
        shown = ", ".join(f"{a}-{b}" for a, b in itertools.islice(frames, len(prefix)))
        text = f"A schedule that begins so, with frames {shown}, meets all deadlines: it replays "
        text += "without a miss."
        return found(True, text, {"batches": schedule.batch.tolist()}, schedule.to_svg())

    check.__name__ = name
    return check


def _late_prefix(prefix: Sequence[int]) -> Finding:
    rest = iter(prefix)
    late, schedule = _run(lambda ready, due: next(rest, 0) or 1 << min(ready, key=due.__getitem__))
    start, end = int(schedule.start[len(prefix) - 1]), int(schedule.end[len(prefix) - 1])
    text = f"The last of these frames runs from {start} to {end}, and {_set(late)} end late: no "
    text += "schedule that begins so meets all deadlines (picture: EDF after these frames)."
    values = {"late": sorted(late), "start": start, "end": end}
    return found(False, text, values, schedule.to_svg())


def _fifteen(size: Size) -> Finding:
    ready = EXAMPLE.ready((0, (0, 0, 0))).bit_count()
    gpu = GPU.preset("pbs2024")
    orders = [o for k in range(1, ready + 1) for o in itertools.permutations(range(ready), k)]
    eligible = [o for o in orders if place(gpu, [1] * len(o), [32] * len(o)).all_placed]
    count, subsets = len(eligible), len(set(map(frozenset, eligible)))
    text = f"{ready} ready jobs of one block have {count} eligible orders, of {subsets} sets of "
    text += "jobs."
    return found(count == 15, text, {"ordered": count, "sets": subsets})


def _growth(size: Size) -> Finding:
    from gpusched import pbs
    from gpusched.experiments.gpusched_search_figures import count_paths

    graph = pbs.graph.search(
        example_tasks(), BatchTable(completion=TABLE), merge=False, first_only=False
    )
    batches = sum(count_paths(example_tasks(), BatchTable(completion=TABLE), 11, False))
    counts = count_paths(example_tasks(), BatchTable(completion=TABLE), 11, True)
    more = {}
    for n in range(2, size.count(5, 6) + 1):
        period, time = [12 * n] * n, [1] * n
        table = BatchTable(completion=[min(mask, 1) * mask.bit_count() for mask in range(1 << n)])
        more[n] = sum(count_paths(KernelTasks(period=period, wcet=time), table, n, True))
    ratio = [more[n + 1] / more[n] for n in sorted(more)[:-1]]
    text = (
        f"Sequences of batches of n equal kernels: {named(more.values())} for n from 2, each more "
    )
    text += f"than {math.floor(min(ratio))} times the one before; of the example {sum(counts)}, or "
    text += f"{batches} without orders, as the unmerged graph has vertices: {graph.vertices}."
    values = {"vertices": list(more.values()), "example": sum(counts), "batches": batches}
    holds = min(ratio) > 2 and ratio == sorted(ratio) and batches == graph.vertices
    return found(holds, text, values)


_SEARCH = "gs.pbs.search"

EXAMPLE_CLAIMS = (
    Claim(
        "Section 3",
        "number of schedules",
        "With each task or job the possible schedules multiply.",
        ("gs.pbs.graph.search",),
        "agrees",
        "",
        _growth,
    ),
    Claim(
        "Figure 1",
        "the example",
        "Three tasks, T = D = (4, 5, 10), C = (1, 3, 3); pairs take 4 and the triple 6. H = 20, "
        "with 5, 4 and 2 jobs.",
        ("gs.KernelTasks", "gs.BatchTable"),
        "agrees",
        "",
        _figure_1,
    ),
    Claim(
        "Figure 2a",
        "one kernel at a time",
        "Jobs in EDF order, one at a time: J7 misses its deadline.",
        ("gs.pbs.edf_serial",),
        "agrees in this reading",
        "J7 and J10 have the same deadline: J7 misses if J10, which arrived first, is taken first. "
        "edf_serial takes the smaller index, and J10 misses.",
        _figure_2a,
    ),
    Claim(
        "Figure 2b",
        "all ready kernels at once",
        "Every ready job submitted at each frame: J1, J6, J10 end at 6; J3, J4, J5, J6 and J7 "
        "miss.",
        ("gs.pbs.edf_parallel",),
        "differs",
        "With the paper's own numbers J1 (due at 4) ends at 6 and J2 (due at 8) at 10, both late, "
        "and J7 ends at 10, when it is due. Late are J1, J2, J3, J4, J5, J6 and J8.",
        _figure_2b,
    ),
    Claim(
        "Figure 2c",
        "a schedule with J2 and J7 together",
        "J1 alone, J6 with J10, then J2 with J7: no deadline is missed.",
        (_SEARCH, "gs.Schedule"),
        "differs",
        "J6 with J10 end at 5, and J2 with J7 take 4 units by Figure 1: they end at 9, and J2 is "
        "due at 8. The schedule of Figure 2d is right. A job counts as ending with its frame "
        "(section 3.3).",
        _prefix("_figure_2c", (1, 6, 3)),
    ),
    Claim(
        "Figure 2d",
        "a schedule with J2 and J7 in turn",
        "J1 alone, J6 with J10, then J2, then J7: no deadline is missed.",
        (_SEARCH, "gs.Schedule"),
        "agrees",
        "",
        _prefix("_figure_2d", (1, 6, 1, 2)),
    ),
    Claim(
        "Section 3.1",
        "resources of the two schedules",
        "Of the two schedules, 2d is the one that needs less of the GPU.",
        (),
        "cannot be decided from the text",
        "Resources are not defined; both run J2 and J7 in 4 units of time.",
    ),
    Claim(
        "Section 3.1",
        "number of batches",
        "Three ready jobs have 15 possible batches, counted with their orders.",
        ("gs.place",),
        "agrees",
        "",
        _fifteen,
    ),
)
