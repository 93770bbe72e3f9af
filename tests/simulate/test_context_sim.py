"""gs.simulate.host with a context per task: agreement with the slow twin, examples, errors."""

from __future__ import annotations

import random
from itertools import groupby

import numpy as np
import pytest
from amounts import QUICK, cases
from context_vectors import VECTORS, hosts_of, tasks_of
from reference.context_sim import Contexts, responses, simulate
from reference.host_sim import Job, worst
from test_context_agreement import gpu_priorities, sets
from test_host_agreement import columns, cores, nothing

import gpusched as gs
from gpusched import _core
from gpusched.simulate.host_result import WHAT

pytestmark = pytest.mark.numbers

PROTOCOLS = ("time_slices", "gcaps")
MODES = ("suspend", "busy")
CPU, COPY_IN, KERNEL, COPY_OUT = 1, 2, 3, 4  # GS_SIMULATE_HOST_DOES_*


def simulated(tasks, protocol, mode, *, offset, shares, key, sms, cost, levels=None, **options):
    """The core's jobs and intervals of one set."""
    if levels is not None:
        options["gpu_priority"] = np.array([levels])
    capsule = _core.host_open(
        *(columns([tasks]), np.array([offset]), cores([tasks]), None),
        **{"cpus": 3, "sms": sms, "policy": 0, "way": protocol, "mode": mode},
        **{"server": np.array([0]), "overhead": cost, "shares": np.array(shares)},
        **{"until": np.array([4 * max(t.T for t in tasks)]), "victim": np.array([-1])},
        **{"triggers": 0, "key": np.array([key, 0, 0, 0], np.uint64), "index": 0},
        **{"log_intervals": True, "stop": nothing},
        **options,
    )
    while not capsule.run(steps=1000, states=0, bytes=0, seconds=0.0, stop=nothing)[1]:
        pass
    jobs = np.stack(capsule.jobs(), axis=1).tolist()
    return sorted(jobs), np.stack(capsule.intervals(), axis=1).tolist()


def lengths(tasks, sms, intervals):
    """Times of each job's parts, all of them positive: (task, number) -> (cpu, gpu)."""
    rows = sorted(row for row in intervals if row[2] in (CPU, COPY_IN, KERNEL, COPY_OUT))
    taken = {}
    for job, of_job in groupby(rows, key=lambda row: (row[0], row[1])):
        ordered = sorted(of_job, key=lambda row: row[4])
        parts = [
            (what, sum(end - start for *_, start, end in same))
            for what, same in groupby(ordered, key=lambda row: row[2])
        ]
        full = Job(*job, 0, *worst(tasks[job[0]], sms))
        cpu, gpu = [], []
        for most in full.cpu:
            cpu.append(parts.pop(0)[1] if most > 0 and parts and parts[0][0] == CPU else 0)
            if len(gpu) < len(full.gpu):
                whats, times = zip(*(parts.pop(0) for _ in range(3)), strict=True)
                assert whats == (COPY_IN, KERNEL, COPY_OUT)
                gpu.append(times)
        assert not parts
        taken[job] = cpu, gpu
    return taken


@pytest.mark.long
@pytest.mark.parametrize("mode", [0, 1])
@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_the_simulator_job_by_job(protocol, mode):
    rng, jobs = random.Random(f"{protocol} {mode}"), 0
    full, gaps, less = (1, 1, 1, 1, 0, 1), (1, 1, 1, 1, 1, 5), (0, 1, 1, 1, 0, 1)
    for stack in sets(rng, cases(14)):
        for tasks in stack:
            sms = rng.randint(1, 2)
            times = [time for t in tasks for g in worst(t, sms)[1] for time in g]
            some = all(time > 0 for time in times)
            core, twin, levels = {}, {}, None
            cost = rng.choice([0, 0, 1, 2, 3])
            if protocol == "time_slices":
                ring = rng.choice(["fifo", "cyclic"])
                core = {"slice": rng.randint(1, 9), "ring": ("fifo", "cyclic").index(ring)}
                twin = {"slice": core["slice"], "ring": ring, "theta": cost}
            else:
                core["stall"] = rng.random() < 0.3
                levels = gpu_priorities(rng, tasks) if rng.random() < 0.5 else None
                core["switch"] = rng.choice([0, 1, 2, 3])
                twin = {"eps": cost, "stall": core["stall"], "gpu_prio": levels}
                twin["theta"] = core["switch"]
            near = rng.random() < 0.5
            rows, intervals = simulated(
                *(tasks, protocol, mode),
                offset=[rng.randint(0, 15 if near else t.T) for t in tasks],
                shares=rng.choice((full, gaps, less) if some else (full, gaps)),
                **{"key": rng.getrandbits(60), "sms": sms, "cost": cost, "levels": levels},
                **core,
            )
            taken = lengths(tasks, sms, intervals) if some else None
            found = simulate(
                tasks,
                [[r for i, _, r, _, _ in rows if i == task] for task in range(len(tasks))],
                taken and (lambda i, number, taken=taken: taken[i, number]),
                sms,
                **{"protocol": protocol, "mode": MODES[mode], **twin},
            )
            assert rows == [
                [j.task, j.number, j.release, -1 if j.start is None else j.start, j.end]
                for j in found
            ]
            jobs += len(rows)
    assert jobs > 500 or QUICK


def largest(key, protocol, mode, offset):
    """Largest responses of a vector with first releases at these offsets, a period long."""
    vector = VECTORS[key]
    costs = {"gcaps": {"update_cost": vector.eps}}
    costs["time_slices"] = {"timeslice": vector.L, "context_switch": vector.theta}
    hosts = hosts_of(vector.tasks).replace(offset=offset)
    cpus, until = int(hosts.core.max()) + 1, int(hosts.period.max()) + 1
    way = gs.ways.as_way(protocol, mode=mode, **costs[protocol])
    return gs.simulate.host(hosts, cpus, way, until=until).worst.tolist()


@pytest.mark.parametrize(
    ("key", "protocol", "mode", "task", "offset", "response"),
    [
        # The owner copies, and the GPU is idle.
        ("V6", "gcaps", "suspend", 1, [0, 0], 15),
        ("V6", "gcaps", "busy", 1, [0, 0], 15),
        # The owner waits for its core.
        ("V3", "gcaps", "suspend", 2, [7, 6, 4], 44),
        ("V3", "gcaps", "busy", 2, [196, 194, 190], 44),
        # Three updates of less urgent tasks are pending.
        ("V5", "gcaps", "suspend", 0, [17, 10, 12, 15, 13], 14),
        ("V5", "gcaps", "busy", 0, [56, 54, 41, 53, 41], 11),
        # The switch back to the task.
        ("V7", "time_slices", "suspend", 1, [100, 0], 16),
        ("V7", "time_slices", "busy", 1, [100, 0], 16),
    ],
)
def test_simulated_responses_above_the_printed_bounds(key, protocol, mode, task, offset, response):
    found = largest(key, protocol, mode, offset)
    bounds = VECTORS[key].bounds
    assert found[task] == response <= bounds[f"{protocol} {mode}"][task]
    paper = bounds[f"{protocol} {mode} paper"]
    assert response > paper[task]


def test_bounds_that_a_schedule_attains():
    assert largest("V6", "gcaps", "suspend", [0, 0]) == VECTORS["V6"].bounds["gcaps suspend"]
    assert largest("V1", "gcaps", "suspend", [3, 9, 1, 4])[2] == 19
    slices = ("V4", "time_slices", "suspend")
    # Slices of one tick: a launch at any instant counts at the end of a slice, so that one tick of
    # the bounds of 32 and 29 is not attained at integers.
    assert largest(*slices, [4, 1, 0, 0])[0] == 31
    assert largest(*slices, [1, 3, 1, 0])[1] == 28
    assert largest("V8", "time_slices", "busy", [1, 30, 55])[:2] == [4, 18]  # likewise, of 19


def test_turns_of_a_run():
    """Two kernels of 4 in slices of 1: the second is released when the first has its turn."""
    hosts = hosts_of(VECTORS["V7"].tasks)
    way = gs.ways.TimeSlices(timeslice=1, context_switch=1)
    run = gs.simulate.host(hosts, 2, way, until=1, victim=gs.simulate.Victim(0, "release"))
    assert run.worst.tolist() == [15, 13]
    log = run.intervals
    kernel = log.what == 3
    assert log.task[kernel].tolist() == [1, 0] * 4
    assert log.start[kernel].tolist() == list(range(0, 16, 2))
    assert (run.spent()["kernel"] == 4).all() and run.way.context_switch == 1
    assert run.why(0).endswith("within its deadline of 100: 4 kernel, 11 wait for GPU")
    run.plot()
    alone = gs.simulate.host(hosts[:1], 1, way, until=500)
    assert alone.worst.tolist() == [4] and len(alone.intervals.task) == 5


def test_the_ring():
    """Fixed order: after the last one by priority, whoever was launched first."""
    tasks = tasks_of(*((i, 100, [0, 0], [(0, 2, 0)]) for i in range(3)))
    hosts = hosts_of(tasks).replace(offset=[2, 1, 0])
    way = gs.ways.TimeSlices(timeslice=2)
    fifo = gs.simulate.host(hosts, 3, way, until=3)
    cyclic = gs.simulate.host(hosts, 3, way.replace(ring="cyclic"), until=3)
    assert fifo.worst.tolist() == [4, 3, 2] and cyclic.worst.tolist() == [2, 5, 2]


def test_a_preempted_kernel():
    """The more urgent segment opens at 5, after its update, during which the kernel pauses."""
    tasks = tasks_of((0, 100, [1, 1], [(2, 3, 1)]), (1, 100, [0, 0], [(0, 10, 0)]))
    hosts = hosts_of(tasks).replace(offset=[3, 0])
    run = gs.simulate.host(hosts, 2, gs.ways.Gcaps(update_cost=1), until=4)
    log, mine = run.intervals, run.intervals.task == 1
    kernel = (log.what == 3) & mine
    assert log.start[kernel].tolist() == [1, 12] and log.end[kernel].tolist() == [4, 19]
    assert run.worst.tolist() == [1 + 1 + 2 + 3 + 1 + 1 + 1, 20]
    wait = log.what == WHAT.index("wait for GPU")
    assert (log.end - log.start)[wait & mine].sum() == 8
    swapped = gs.simulate.host(hosts, 2, gs.ways.Gcaps(update_cost=1, gpu_priority=[1, 0]), until=4)
    assert swapped.worst[1] == 12


def test_algorithm_1_as_printed():
    """h, k and l share no core. When l closes its segment while h owns the GPU, the printed
    algorithm lets k use it beside h, and keeps l among the waiting tasks."""
    tasks = tasks_of(
        (0, 100, [0, 0], [(0, 20, 0)]), (1, 100, [0, 0], [(0, 9, 0)]), (2, 100, [0, 0], [(0, 2, 4)])
    )
    releases = [[4], [3], [0]]  # h and k begin while l copies out
    right = {"protocol": "gcaps", "mode": "suspend"}
    assert responses(tasks, releases, **right) == [20, 29, 6]
    assert responses(tasks, releases, printed=True, **right) == [20, 11, 6]  # k ends at 14
    run = Contexts(tasks, printed=True, **right)
    run.run(releases, lambda i, number: worst(tasks[i], 1))
    assert [job.task for job in [*run.running, *run.wait_list]] == [2]  # no segment of it is open


def test_many_sets_and_one_by_one():
    hosts = gs.generate.stgm(4, 6, seed=5, gpu_ratio=(0.5, 1), utilization=(0.05, 0.3))
    hosts = gs.analysis.partition(hosts, cpus=2).hosts
    for way in (
        gs.ways.TimeSlices(timeslice=2000, context_switch=50, ring="cyclic"),
        gs.ways.Gcaps(update_cost=40, context_switch=30, stall=True, mode="busy"),
    ):
        common = {"until": 10**6, "releases": 0.1, "execution": (0.5, 1), "seed": 3}
        many = gs.simulate.host_responses(hosts, 2, way, **common)
        for i in range(6):
            one = gs.simulate.host(hosts[i], 2, way, index=i, **common)
            assert one.worst.tolist() == many.worst[i].tolist() and one.worst.max() > 0


@pytest.mark.parametrize("protocol", PROTOCOLS)
@pytest.mark.parametrize("mode", MODES)
def test_no_response_above_a_bound(protocol, mode):
    """Random sets at two releases patterns; benchmarks/context_falsification.py has millions."""
    hosts = gs.generate.stgm(6, 300, seed=8, gpu_ratio=(0.5, 1), utilization=(0.05, 0.6))
    hosts = gs.analysis.partition(hosts, cpus=2).hosts
    costs = {"gcaps": {"update_cost": 300}, "time_slices": {"timeslice": 1000}}
    options = {"mode": mode, "context_switch": 150} | costs[protocol]
    answer = getattr(gs.analysis, protocol)(hosts, **options)
    way = gs.ways.as_way(protocol, **options)
    assert 20 < answer.accepted.sum() < 300
    for victim, gap in ((None, 0.0), (0, 0.0), (4, 0.5)):
        seen = gs.simulate.host_responses(
            hosts, 2, way, until=3 * 10**5, releases=gap, victim=victim, seed=1
        )
        accepted = answer.accepted
        assert (seen.worst[accepted] <= answer.response[accepted]).all()


HOSTS = hosts_of(VECTORS["V1"].tasks)


@pytest.mark.parametrize(
    ("name", "options", "error", "message"),
    [
        ("time_slices", {}, ValueError, "timeslice: got none, expected the length"),
        ("time_slices", {"timeslice": 0}, ValueError, "timeslice: got 0, expected 1 or more"),
        ("time_slices", {"timeslice": 2**59}, ValueError, "timeslice: got 5764.*below 2"),
        (
            "time_slices",
            {"timeslice": 1, "context_switch": -1},
            ValueError,
            "context_switch: got -1, expected 0 or more",
        ),
        (
            "time_slices",
            {"timeslice": 1, "context_switch": 2**60},
            OverflowError,
            "context_switch: got 1152921504606846976, expected a time below",
        ),
        (
            "time_slices",
            {"timeslice": 1, "ring": "lifo"},
            ValueError,
            "ring: got 'lifo', expected one of fifo, cyclic",
        ),
        (
            "time_slices",
            {"timeslice": 1, "mode": "spin"},
            ValueError,
            "mode: got 'spin', expected one of suspend, busy",
        ),
        ("mpcp", {"timeslice": 3}, ValueError, "timeslice: got an unknown option of mpcp, expect"),
        (
            "mpcp",
            {"context_switch": 3},
            ValueError,
            "context_switch: got an unknown option of mpcp, expected one of mode, fixed_point",
        ),
        ("gcaps", {"context_switch": -1}, ValueError, "context_switch: got -1, expected 0 or more"),
        (
            "gcaps",
            {"context_switch": 2**60},
            OverflowError,
            "context_switch: got 1152921504606846976, expected a time below",
        ),
        ("stgm", {"update_cost": 1}, ValueError, "update_cost: got an unknown option of stgm"),
        ("gcaps", {"server_overhead": 1}, ValueError, "server_overhead: got an unknown option of"),
        ("gcaps", {"update_cost": -1}, ValueError, "update_cost: got -1, expected 0 or more"),
        (
            "gcaps",
            {"gpu_priority": [0, 1, 2]},
            ValueError,
            "gpu_priority: got shape .3,., expected one number for each task",
        ),
        (
            "gcaps",
            {"gpu_priority": [3, 1, 1, 0]},
            ValueError,
            "gpu_priority.3.: got 0, expected the order of the CPU priorities",
        ),
        (
            "gcaps",
            {"gpu_priority": [3, 2, 1, 3]},
            ValueError,
            "gpu_priority.3.: got 3, expected a GPU priority that no other task has",
        ),
        ("gcaps", {"lock": "fmlp"}, ValueError, "lock: got an unknown option of gcaps"),
    ],
)
def test_errors(name, options, error, message):
    placed = HOSTS.replace(sm=[[0], [0], [0], [0]]) if name == "stgm" else HOSTS
    for call in (gs.simulate.host, gs.simulate.host_responses):
        with pytest.raises(error, match=message):
            call(placed, 2, gs.ways.as_way(name, **options), until=10)
