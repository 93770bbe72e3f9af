"""The slow simulator of priority streams: counterexamples, the hierarchy simulator, the bounds."""

import random

import pytest
from reference import priority_streams as ps
from reference.priority_streams import task
from reference.priority_streams_sim import TRIGGERS, simulate
from test_reference_priority_streams import chains, random_set

import gpusched as gs

pytestmark = pytest.mark.numbers


def periodic(tasks, until, offset=None):
    return [
        list(range(start, until, t.period))
        for t, start in zip(tasks, offset or [0] * len(tasks), strict=True)
    ]


def worst(tasks, threads, releases, **options):
    return simulate(tasks, threads, releases, **options).worst(len(tasks))


def test_the_most_urgent_task_need_not_have_a_bound():
    """X1: less urgent blocks come back during the last blocks of each job."""
    tasks = [task(0, 10, [(2, 1, 6)]), task(1, 10, [(1, 1, 10)])]
    for until, response in ((300, 40), (600, 70), (1200, 130)):
        releases = [range(1, until, 10), range(0, until, 10)]
        assert abs(worst(tasks, 2, releases)[0] - response) <= 2
    eased = [tasks[0]._replace(period=12), tasks[1]]
    assert (
        worst(eased, 2, [range(1, 600, 12), range(0, 600, 12)])[0] == ps.bounds(eased, 2)[0] == 12
    )


def test_a_level_may_starve_although_threads_are_left():
    """X2: utilization 2.002 of 3 threads."""
    tasks = [task(0, 5, [(1, 2, 5)]), task(1, 1000, [(1, 2, 1)])]
    run = simulate(tasks, 3, [range(0, 5000, 5), [0]])
    assert run.kernels[-1].task == 1 and run.kernels[-1].end == 5001


@pytest.mark.parametrize(
    ("tasks", "threads", "seen"),
    [
        # X3: blocked at each kernel, not once per job.
        ([task(0, 100, [(1, 1, 1)] * 3, [1, 1, 1]), task(1, 10, [(1, 1, 10)])], 1, 33),
        # X4: by two less urgent kernels at once.
        ([task(0, 1000, [(2, 1, 4)]), *[task(1, 10, [(1, 1, 10)])] * 2], 2, 13),
        # X5: a less urgent block that holds one of four threads.
        ([task(0, 1000, [(2, 4, 2)]), task(1, 10, [(1, 1, 10)])], 4, 13),
        # X6: wide blocks alone.
        ([task(0, 1000, [(2, 2, 4)])], 3, 8),
        # X9: another kernel of its level at each kernel.
        ([task(0, 1000, [(1, 1, 1)] * 2), task(0, 10, [(1, 1, 10)])], 1, 22),
    ],
)
def test_responses_that_simpler_formulas_exclude(tasks, threads, seen):
    found, last = 0, [len(tasks), *range(1, len(tasks))]  # its kernels join after the others
    for start in range(21):
        for late in (None, lambda i, j, k: 0):
            releases = [[start], *[range(0, 400, t.period) for t in tasks[1:]]]
            found = max(found, worst(tasks, threads, releases, late=late, rank=last)[0])
        others = [[start], *[None] * (len(tasks) - 1)]
        for triggers in TRIGGERS:
            run = simulate(tasks, threads, others, victim=0, triggers=[triggers], until=400)
            found = max(found, run.worst(len(tasks))[0])
    bound = ps.bounds(tasks, threads)[0]
    assert found <= bound
    assert found >= seen


def in_hierarchy(tasks, threads, sms, releases):
    """Ends of jobs by (task, job), without latencies; a thread is a warp."""
    gpu = gs.GPU(sms, 32 * threads, 1024, channels=0, sm_order=range(sms))
    work = gs.Launches.build()
    streams = [work.stream(priority=t.level) for t in tasks]
    last = {}
    jobs = [(time, i, j) for i, times in enumerate(releases) for j, time in enumerate(times)]
    for time, i, j in sorted(jobs):
        for g, b, c in tasks[i].kernels:
            last[i, j] = work.kernel(streams[i], blocks=g, threads=32 * b, duration=c, at=time)
    run = gs.simulate.hierarchy(work.done(), gpu)
    return {job: int(run.end[row]) for job, row in last.items()}


@pytest.mark.parametrize("ties", [False, True])
def test_the_hierarchy_simulator_agrees(ties):
    """With ties each task has a level of its own, so that their order does not matter."""
    rng = random.Random(ties)
    for _ in range(120):
        tasks, threads, sms = random_set(rng)
        if ties:
            levels = rng.sample(range(len(tasks)), len(tasks))
            tasks = [t._replace(level=level) for t, level in zip(tasks, levels, strict=True)]
        else:
            tasks = [
                t._replace(
                    kernels=[(g, b, 10**6 * c + rng.randrange(10**6)) for g, b, c in t.kernels]
                )
                for t in tasks
            ]
        unit = 1 if ties else 10**6
        releases = [
            sorted(rng.randrange(100 * unit) for _ in range(rng.randint(1, 5))) for _ in tasks
        ]
        run = simulate(tasks, threads, releases, sms)
        expected = {(i, j): end for i, j, _, end in run.jobs}
        assert in_hierarchy(tasks, threads, sms, releases) == expected, (tasks, threads, releases)


def drawn(rng, tasks, threads, sms):
    """The largest responses in one pattern: offsets or a victim, sporadic gaps, early ends."""
    until = 12 * max(t.period for t in tasks)
    shorter, sooner = rng.choice([0, 0, 0.2, 0.8]), rng.choice([0, 0, 0.5, 1])

    def actual(i, job, kernel, block):
        c = tasks[i].kernels[kernel][2]
        return rng.randint(1, c) if rng.random() < shorter else c

    def late(i, job, kernel):
        most = tasks[i].latency[kernel]
        return rng.randint(0, most) if rng.random() < sooner else most

    def times(t):
        now, gap, found = rng.randrange(2 * t.period), rng.choice([0, 0.3]), []
        while now < until and len(found) < 100:
            found.append(now)
            now += t.period + (rng.randrange(t.period) if rng.random() < gap else 0)
        return found

    releases = [times(t) for t in tasks]
    rank = rng.sample(range(len(tasks)), len(tasks))
    options = {"actual": actual, "late": late, "rank": rank, "until": until}
    if rng.random() < 0.6:
        victim = rng.randrange(len(tasks))
        releases = [releases[i] if i == victim else None for i in range(len(tasks))]
        options |= {"victim": victim, "triggers": rng.sample(TRIGGERS, rng.randint(1, 4))}
    return simulate(tasks, threads, releases, sms, **options).worst(len(tasks))


@pytest.mark.long
def test_no_response_above_its_bound():
    rng = random.Random(7)
    checked = reached = 0
    for _ in range(120):
        tasks, threads, sms = random_set(rng, rng.choice([0, 2]))
        answer = gs.analysis.priority_streams(chains(tasks), threads, sms=sms)
        if not answer.bounded.any():
            continue
        for _ in range(8):
            seen = drawn(rng, tasks, threads, sms)
            for response, bound in zip(seen, answer.exact, strict=True):
                if bound is not None:
                    assert response <= bound, (tasks, threads, sms)
                    checked += 1
                    reached += response == bound
    assert checked > 500 and reached > 50
