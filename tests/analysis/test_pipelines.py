"""Pipelines: vectors, the twin, a simulator of small systems, and formulas that are too small."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from random import Random
from typing import Any

import numpy as np
import pytest
from pipeline_vectors import VECTORS, Vector, stage
from reference import pipelines as twin
from reference import program

import gpusched as gs

pytestmark = [pytest.mark.python, pytest.mark.numbers]

Stages = tuple[twin.Stage, ...] | list[twin.Stage]
ONE = program.Machine(sms=1, threads=1)


def period_of(stages: Stages, i: int) -> int:
    s = stages[i]
    return s.period or s.every * period_of(stages, s.after[0])


def best_of(stages: Stages) -> list[int]:
    return [sum(least for _, least, _ in s.segments) for s in stages]


def of_twin(stages: Stages) -> list[program.Task]:
    def segment(kind: str, most: int) -> Any:
        return program.Cpu(most) if kind == "C" else program.Kernel(1, 1, most)

    return [
        program.Task(
            period=period_of(stages, i),
            deadline=4 * period_of(stages, i),
            segments=tuple(segment(kind, most) for kind, _, most in s.segments),
            jitter=s.jitter,
            core=s.core,
            priority=s.priority,
        )
        for i, s in enumerate(stages)
    ]


def bounds_of(stages: Stages, windows: bool = True) -> gs.analysis.HolisticBound:
    """The bounds of the core, of a GPU that serves one segment at a time in FIFO order."""
    periods = [period_of(stages, i) for i in range(len(stages))]
    tasks = gs.Programs(
        period=periods,
        kind=[["cpu" if kind == "C" else "kernel" for kind, _, _ in s.segments] for s in stages],
        time=[[most for _, _, most in s.segments] for s in stages],
        deadline=[4 * period for period in periods],
        jitter=[s.jitter for s in stages],
        core=[s.core for s in stages],
        priority=[s.priority for s in stages],
    )
    return gs.analysis.holistic(
        tasks,
        "one_stream",
        launches="sync",
        after=[list(s.after) for s in stages],
        best=best_of(stages),
        windows=windows,
    )


def legs_of(stages: Stages, path: tuple[int, ...], answer: Any) -> list[twin.Leg]:
    """The legs of a path: tasks that release each other."""
    legs: list[list[int]] = [[path[0]]]
    for a, b in pairwise(path):
        if a in stages[b].after:
            legs[-1].append(b)
        else:
            assert a in stages[b].reads
            legs.append([b])
    return [
        twin.Leg(
            period_of(stages, leg[-1]),
            int(answer.end[leg[-1]]),
            int(answer.earliest[leg[0]]),
            stages[source(stages, leg[0])].offset,
        )
        for leg in legs
    ]


def source(stages: Stages, i: int) -> int:
    return source(stages, stages[i].after[0]) if stages[i].after else i


def path_bounds(legs: list[twin.Leg], given: bool) -> tuple[int, ...]:
    offset = [leg.offset for leg in legs] if given else None
    columns = [[getattr(leg, key) for leg in legs] for key in ("period", "end", "earliest")]
    return tuple(gs.analysis.path_bounds(*columns, offset=offset))


def play(stages: Stages, random: Random, given: bool, until: int, style: int) -> twin.Play:
    """A run with drawn phases, times and jitters; `style` chooses how times are drawn."""
    phase = [s.offset if given else random.randrange(s.period or 1) for s in stages]
    memory: dict[tuple[int, int, int], int] = {}
    order = random.sample(range(len(stages)), len(stages))

    def time(i: int, number: int, c: int) -> int:
        _, least, most = stages[i].segments[c]
        ends = (least, most)
        drawn = (most, least, random.choice(ends), random.randint(least, most))
        pattern = ends[Random(f"{number % 2} {i} {style}").random() < 0.5]
        return memory.setdefault((i, number, c), (*drawn, pattern)[style % 5])

    def late(i: int, number: int) -> int:
        return random.choice((0, stages[i].jitter, random.randint(0, stages[i].jitter)))

    return twin.simulate(stages, until, phase, time, late, tie=lambda i: order[i])


@pytest.mark.parametrize("vector", VECTORS, ids=lambda v: v.name.replace(" ", "-"))
def test_a_vector(vector: Vector) -> None:
    stages = vector.stages
    answer = bounds_of(stages)
    assert answer.end is not None and answer.earliest is not None and answer.latest is not None
    assert tuple(answer.end.tolist()) == vector.end
    for i, time in vector.earliest.items():
        assert answer.earliest[i] == time
    for i, time in vector.latest.items():
        assert answer.latest[i] == time
    by_jitter = bounds_of(stages, windows=False)
    assert by_jitter.end is not None
    assert vector.by_jitter is None or tuple(by_jitter.end.tolist()) == vector.by_jitter
    most = {path: [0] * 4 for path in vector.paths}
    for path, (bound, _) in vector.paths.items():
        legs = legs_of(stages, path, answer)
        assert path_bounds(legs, vector.given) == bound
        assert (twin.given_phases if vector.given else twin.any_phases)(legs) == bound
    stop = 6 * max(period_of(stages, i) for i in range(len(stages)))
    ends = np.zeros(len(stages), np.int64)
    for seed in range(60):
        run = play(stages, Random(f"{vector.name} {seed}"), vector.given, 2 * stop, seed)
        for i, jobs in enumerate(run.jobs):
            ends[i] = max(ends[i], max(job.end - job.arrival for job in jobs))
        for path, (bound, seen) in vector.paths.items():
            found = twin.chains(run, stages, path, stop)
            for c, times in enumerate(found.values()):
                most[path][c] = max(most[path][c], *times)
                assert max(times) <= bound[c] and max(times) <= seen[c], (path, c)
    assert (ends <= answer.end).all()


def test_a_queue_of_one_overflows() -> None:
    """V8: two results wait for a task whose source has more jitter than its period."""
    [vector] = [v for v in VECTORS if v.name == "V8"]
    answer = bounds_of(vector.stages)
    assert answer.end is not None
    most = gs.analysis.waiting_results(end=int(answer.end[1]), best=6, ended=1, period=10)
    seen = max(
        play(vector.stages, Random(f"queue {seed}"), False, 100, 0).waiting[1] for seed in range(60)
    )
    assert seen == most == 2


# The twin -----------------------------------------------------------------------------------------


def random_stages(random: Random) -> list[twin.Stage]:
    n, cores = random.randint(2, 6), random.randint(1, 3)
    ranks = random.sample(range(n), n)
    stages: list[twin.Stage] = []
    for i in range(n):
        segments = []
        for _ in range(random.randint(1, 3)):
            least = random.randint(1, 2)
            kind = random.choice("CCG")
            if not segments or segments[-1][0] != kind:
                segments.append((kind, least, least + random.choice((0, 0, 1, 2))))
        timed: dict[str, Any] = {"period": random.randint(8, 40)}
        timed["jitter"] = random.choice((0, 0, 0, random.randint(1, 15)))
        link: dict[str, Any] = timed
        if i and random.random() < 0.6:
            p = random.randrange(i)
            alike = [
                k
                for k in range(i)
                if source(stages, k) == source(stages, p)
                and period_of(stages, k) == period_of(stages, p)
            ]
            before = tuple({p, random.choice(alike)})
            link = {"after": before, "every": random.choice((1, 1, 1, 2))}
        reads = tuple(
            k for k in range(i) if random.random() < 0.5 and k not in link.get("after", ())
        )
        core = random.randrange(cores)
        stages.append(twin.Stage(core, ranks[i], tuple(segments), reads=reads, **link))
    return stages


def random_path(stages: Stages, random: Random) -> tuple[int, ...]:
    path = [random.randrange(len(stages))]
    while before := [*stages[path[0]].after, *stages[path[0]].reads]:
        path.insert(0, random.choice(before))
    return tuple(path)


@pytest.mark.parametrize("windows", [True, False])
def test_the_twin_has_the_same_ends(windows: bool) -> None:
    bounded = in_windows = 0
    for seed in range(120):
        stages = random_stages(Random(f"twin {seed}"))
        after = [s.after for s in stages]
        best = best_of(stages)
        answer = bounds_of(stages, windows)
        found = twin.ends(
            "one_stream", ONE, of_twin(stages), after, best, launches="sync", windows=windows
        )
        assert answer.earliest is not None and answer.latest is not None
        assert answer.end is not None and answer.window is not None
        assert answer.earliest.tolist() == found.earliest
        assert [None if e < 0 else e for e in answer.end.tolist()] == found.end, seed
        assert [None if b < 0 else b for b in answer.bound.tolist()] == found.response, seed
        assert answer.window.tolist() == found.window
        bounded += int(answer.bounded.sum())
        in_windows += int(answer.window.sum())
    assert bounded > 200 and (in_windows > 120 or not windows)


def test_time_slices_and_copies_as_the_twin_has_them() -> None:
    """Random programs with copies, under both rules whose groups are looked at in windows."""
    bounded = 0
    for seed in range(70):
        random = Random(f"programs {seed}")
        stages = random_stages(random)
        machine = program.Machine(1, 1, latency=random.choice((0, 1)), slice=2, switch=1)
        segments = []
        for s in stages:
            job: list[Any] = []
            for kind, _, most in s.segments:
                job.append(program.Cpu(most) if kind == "C" else program.Kernel(1, 1, most))
                if kind == "G" and random.random() < 0.4:
                    job.append(program.Copy(random.randint(1, 2), random.randint(0, 1)))
            segments.append(job)
        tasks = [
            program.Task(t.period, t.deadline, tuple(job), t.jitter, t.core, t.priority)
            for t, job in zip(of_twin(stages), segments, strict=True)
        ]
        after = [s.after for s in stages]
        best = [random.choice((0, low)) for low in best_of(stages)]
        way = random.choice(("one_stream", "time_slices"))
        launches = random.choice(("graph", "sync"))
        waiting = random.choice(("suspend", "suspend", "spin"))
        found = twin.ends(way, machine, tasks, after, best, launches, waiting)
        rows = [
            [
                (0, p.time, 0) if isinstance(p, program.Cpu)
                else (1, p.time, p.engine) if isinstance(p, program.Copy)
                else (2, p.block_time, 0)
                for p in job
            ]
            for job in segments
        ]  # fmt: skip
        columns: dict[str, Any] = {
            key: [[row[c] for row in job] for job in rows]
            for c, key in enumerate(("kind", "time", "engine"))
        }
        programs = gs.Programs(
            period=[t.period for t in tasks], **columns, deadline=[t.deadline for t in tasks],
            jitter=[t.jitter for t in tasks], core=[t.core for t in tasks],
            priority=[t.priority for t in tasks],
        )  # fmt: skip
        options: dict[str, Any] = {"latency": machine.latency, "launches": launches}
        options["mode"] = "busy" if waiting == "spin" else "suspend"
        if way == "time_slices":
            options |= {"timeslice": 2, "context_switch": 1}
        answer = gs.analysis.holistic(
            programs, way, after=[list(a) for a in after], best=best, **options
        )
        assert answer.end is not None
        assert [None if e < 0 else e for e in answer.end.tolist()] == found.end, seed
        bounded += int(answer.bounded.sum())
    assert bounded > 80


def test_one_unit_at_a_time_as_the_twin_has_it() -> None:
    """With tasks that release each other; deadlines of half a period and less are often met."""
    accepted = linked = 0
    for seed in range(500):
        random = Random(f"units {seed}")
        stages = random_stages(random)
        machine = program.Machine(1, 1, latency=random.choice((0, 0, 1)))
        periods = [random.choice((2, 3, 4)) * period_of(stages, i) for i in range(len(stages))]
        periods = [p if not s.after else 0 for p, s in zip(periods, stages, strict=True)]
        for i, s in enumerate(stages):
            periods[i] = periods[i] or s.every * periods[s.after[0]]
        tasks = [
            replace(
                t, period=p, deadline=max(1, random.randint(p // 6, random.choice((p, p // 2))))
            )
            for t, p in zip(of_twin(stages), periods, strict=True)
        ]
        after = [list(s.after) for s in stages]
        best = [random.choice((0, low)) for low in best_of(stages)]
        launches = random.choice(("graph", "sync"))
        if any(sum(kind == "G" for kind, *_ in s.segments) > 1 for s in stages):
            launches = "graph"
        found = twin.edf_ends(machine, tasks, after, best, launches)
        programs = gs.Programs(
            period=periods,
            kind=[["cpu" if k == "C" else "kernel" for k, _, _ in s.segments] for s in stages],
            time=[[most for _, _, most in s.segments] for s in stages],
            deadline=[t.deadline for t in tasks],
            jitter=[t.jitter for t in tasks],
            core=[t.core for t in tasks],
            priority=[t.priority for t in tasks],
        )
        answer = gs.analysis.holistic(
            programs, "edf_serial", after=after, best=best, latency=machine.latency,
            launches=launches,  # type: ignore[arg-type]
        )  # fmt: skip
        assert answer.end is not None and answer.latest is not None and answer.earliest is not None
        assert answer.earliest.tolist() == (found.earliest if found else answer.earliest.tolist())
        assert answer.accepted is (found is not None), seed
        if found is None:
            assert set(answer.end.tolist()) == set(answer.bound.tolist()) == {-1}
            continue
        assert answer.end.tolist() == found.end and answer.latest.tolist() == found.latest
        assert answer.bound.tolist() == found.response
        accepted += 1
        linked += any(s.after for s in stages)
    assert accepted > 100 and linked > 40, (accepted, linked)


def test_one_unit_at_a_time_without_links_is_no_worse() -> None:
    """Links that release nothing change what others are counted with, from deadlines to ends."""
    for seed in range(60):
        random = Random(f"plain {seed}")
        stages = [s for s in random_stages(random) if not s.after]
        tasks = gs.Programs(
            period=[3 * period_of(stages, i) for i in range(len(stages))],
            kind=[["cpu" if k == "C" else "kernel" for k, _, _ in s.segments] for s in stages],
            time=[[most for _, _, most in s.segments] for s in stages],
            core=[s.core for s in stages],
            priority=[s.priority for s in stages],
        )
        plain = gs.analysis.holistic(tasks, "edf_serial")
        linked = gs.analysis.holistic(tasks, "edf_serial", after=[[] for _ in stages])
        if plain.accepted:
            assert linked.accepted and (linked.bound <= plain.bound).all()


def test_no_run_exceeds_a_bound() -> None:
    checked = 0
    for seed in range(120):
        random = Random(f"attack {seed}")
        stages = random_stages(random)
        answer = bounds_of(stages, windows=seed % 3 > 0)
        assert answer.end is not None and answer.earliest is not None and answer.latest is not None
        if not answer.bounded.all():
            continue
        path = random_path(stages, random)
        given = seed % 2 > 0
        legs = legs_of(stages, path, answer)
        bound = path_bounds(legs, given)
        best = best_of(stages)
        for style in range(5):
            run = play(stages, random, given, 240, style)
            for i, jobs in enumerate(run.jobs):
                for job in jobs:
                    assert job.end - job.arrival <= answer.end[i], (seed, i)
                    if stages[i].after:
                        released = job.release - job.arrival
                        assert answer.earliest[i] <= released <= answer.latest[i], (seed, i)
                        assert job.end - job.release <= answer.bound[i], (seed, i)
                    checked += 1
                for p in stages[i].after:
                    most = gs.analysis.waiting_results(
                        end=int(answer.end[i]), best=best[i],
                        ended=int(answer.earliest[p]) + best[p], period=period_of(stages, i),
                    )  # fmt: skip
                    assert run.waiting[i] <= most or len(stages[i].after) > 1, (seed, i)
            for times, most in zip(
                twin.chains(run, stages, path, 120).values(), bound, strict=True
            ):
                assert max(times, default=0) <= most, (seed, path)
    assert checked > 5_000


# Formulas that are too small ----------------------------------------------------------------------


def largest(stages: Stages, path: tuple[int, ...], kind: str, runs: int = 60) -> int:
    stop = 6 * max(period_of(stages, i) for i in range(len(stages)))
    found = 0
    for seed in range(runs):
        run = play(stages, Random(f"{path} {kind} {seed}"), False, 2 * stop, seed)
        found = max(found, *twin.chains(run, stages, path, stop)[kind])
    return found


def vector_of(name: str) -> Stages:
    [found] = [v.stages for v in VECTORS if v.name == name]
    return found


def test_jitter_that_is_ignored_claims_too_little() -> None:
    """V2: the triggered task may come early behind a late job of itself."""
    stages = vector_of("V2")
    alone = [*stages]
    alone[1] = stage("c1 p1 C4 T10")
    assert bounds_of(alone).end is not None
    claim = int(bounds_of(alone).bound[2])
    seen = max(
        job.end - job.arrival
        for seed in range(200)
        for job in play(stages, Random(f"jitter {seed}"), False, 200, 3).jobs[2]
    )
    assert claim == 9 < seen <= 13


def test_the_sum_of_responses_along_a_branch_claims_too_little() -> None:
    """V11: the join waits for the longer branch."""
    assert largest(vector_of("V11"), (0, 1, 3), "latency") == 11 > 1 + 1 + 1


def test_the_formula_of_the_latency_claims_too_little_of_the_age() -> None:
    """V13, from the slow task to the fast one."""
    stages = vector_of("V13 the other way")
    legs = legs_of(stages, (1, 0), bounds_of(stages))
    assert twin.any_phases(legs)[0] == 7 < largest(stages, (1, 0), "age", 200) <= 10


def test_a_reaction_without_the_first_period_claims_too_little() -> None:
    stages = vector_of("V1")
    latency = twin.any_phases(legs_of(stages, (0, 1), bounds_of(stages)))[0]
    assert latency == 8 < largest(stages, (0, 1), "reaction") <= 28


def test_a_more_urgent_producer_that_suspends_is_not_done_at_the_readers_start() -> None:
    """V7: that the reader finds the result of the last job would save the response of that job."""
    stages = vector_of("V7")
    legs = legs_of(stages, (0, 1), bounds_of(stages))
    claim = legs[0].period + legs[1].end
    assert claim == 22 < largest(stages, (0, 1), "latency", 200) <= 31


def test_a_more_urgent_producer_without_gpu_work_is() -> None:
    """V4, tasks 1 and 2: the link costs the period alone, in both directions (Theorem U)."""
    stages = vector_of("V4")
    answer = bounds_of(stages)
    one, two = legs_of(stages, (1, 2), answer)
    assert (one.period, one.end, two.end) == (7, 2, 3)
    assert largest(stages, (1, 2), "age", 100) <= one.period + two.end == 10


def test_full_times_do_not_show_the_largest_latency() -> None:
    """V12: shorter times make data miss a reader."""
    stages = vector_of("V12")

    def latency(share: int) -> int:
        run = twin.simulate(
            stages, 200, [0, 0, 0], lambda i, j, c: stages[i].segments[c][share],
            lambda i, j: 0,
        )  # fmt: skip
        return max(twin.chains(run, stages, (0, 2), 100)["latency"])

    assert (latency(2), latency(1)) == (3, 12)


def test_windows_need_their_condition_for_the_whole_group() -> None:
    """A group of which one end is later than the period has none of its ends from windows."""
    for seed in range(300):
        stages = random_stages(Random(f"condition {seed}"))
        answer = bounds_of(stages)
        assert answer.end is not None and answer.window is not None
        for i in range(len(stages)):
            if answer.window[i]:
                assert answer.end[i] <= period_of(stages, source(stages, i))
            group = [k for k in range(len(stages)) if source(stages, k) == source(stages, i)]
            assert len({bool(answer.window[k]) for k in group}) == 1


# Paths --------------------------------------------------------------------------------------------


def test_path_bounds_as_the_twin_has_them() -> None:
    for seed in range(400):
        random = Random(f"legs {seed}")
        legs = []
        for _ in range(random.randint(1, 4)):
            earliest = random.choice((0, random.randint(0, 6)))
            end = earliest + random.randint(1, 40)
            legs.append(twin.Leg(random.randint(1, 12), end, earliest, random.randint(0, 15)))
        assert path_bounds(legs, False) == twin.any_phases(legs)
        assert path_bounds(legs, True) == twin.given_phases(legs)
        pairs = zip(twin.given_phases(legs), twin.any_phases(legs), strict=True)
        assert all(given <= free for given, free in pairs)


def test_long_hyperperiods_have_the_bounds_of_all_phases() -> None:
    times: Any = ([10**6 + 3, 10**6 + 1], [7, 7])
    assert gs.analysis.path_bounds(*times, offset=[0, 5]) == gs.analysis.path_bounds(*times)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (([], []), r"period: got shape \(0,\)"),
        (([0], [1]), r"period\[0\]: got 0"),
        (([5, 5], [1, 2, 3]), r"end: got shape \(3,\), expected \(2,\)"),
        (([5], [1], [2]), r"end\[0\]: got 1, expected at least earliest, 2"),
        (([5], [1], [0], [-1]), r"offset: got -1"),
    ],
)
def test_paths_that_are_refused(arguments: Any, said: str) -> None:
    with pytest.raises(ValueError, match=said.replace("offset: got", "offset.*got")):
        gs.analysis.path_bounds(*arguments)


def test_paths_that_are_too_long() -> None:
    with pytest.raises(OverflowError, match=r"2..62 ticks"):
        gs.analysis.path_bounds([2**61, 2**61], [1, 1])


TASKS = gs.Programs(period=[50, 50, 60], kind=[["cpu"]] * 3, time=[[1], [2], [3]])


@pytest.mark.parametrize(
    ("after", "said"),
    [
        ([[1], [0], []], "after.0.: got 1, expected no cycle"),
        ([[], [], [0]], "period.2.: got 60, expected a multiple"),
        ([[], [1], []], "after.1.: got 1, expected the number of another task"),
        ([[], [0, 0], []], "after.1.: got .*expected different tasks"),
        ([[], [0]], "after: got"),
    ],
)
def test_links_that_are_refused(after: Any, said: str) -> None:
    with pytest.raises(ValueError, match=said):
        gs.analysis.holistic(TASKS, "one_stream", after=after)


def test_joins_of_two_sources_and_of_two_periods_are_refused() -> None:
    tasks = TASKS.replace(period=[50, 50, 100], deadline=[50] * 3)
    with pytest.raises(ValueError, match=r"after.2.: got 1, expected tasks that go back to one"):
        gs.analysis.holistic(tasks, "one_stream", after=[[], [], [0, 1]])
    four = gs.Programs(period=[50, 50, 100, 100], kind=[["cpu"]] * 4, time=[[1]] * 4)
    with pytest.raises(ValueError, match=r"after.3.: got 2, expected tasks of one period"):
        gs.analysis.holistic(four, "one_stream", after=[[], 0, 0, [1, 2]])
    with pytest.raises(ValueError, match=r"best\[1\]: got 9"):
        gs.analysis.holistic(four, "one_stream", after=[[], 0, 0, 0], best=[0, 9, 0, 0])
    with pytest.raises(ValueError, match=r"jitter\[1\]: got 3"):
        gs.analysis.holistic(four.replace(jitter=[0, 3, 0, 0]), "one_stream", after=[[], 0, 0, 0])


def test_a_stack_has_the_bounds_of_its_sets() -> None:
    sets = [TASKS.replace(period=[50, 50, p]) for p in (50, 100)]
    stack = gs.Programs.stack(sets)
    answer = gs.analysis.holistic(stack, "one_stream", after=[[], 0, 1])
    assert answer.end is not None
    for i, tasks in enumerate(sets):
        one = gs.analysis.holistic(tasks, "one_stream", after=[None, "task 0", [1]])
        assert one.end is not None and answer.end[i].tolist() == one.end.tolist()
