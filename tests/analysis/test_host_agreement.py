"""Agreement of tests and simulator for CPU and GPU segments in C with the slow twins."""

from __future__ import annotations

import gc
import random
from itertools import product

import numpy as np
import pytest
from amounts import QUICK, cases
from reference import host_tests as ht
from reference.host_sim import Job, simulate, worst
from reference.host_tests import Task
from test_reference_host_tests import A4, A, random_set

from gpusched import _core

pytestmark = pytest.mark.numbers

nothing = bytearray(1)  # never asks a call to stop


def columns(stack):
    """The core's form of hosts: a tuple of nine arrays, for sets of equally many tasks."""
    sets, n = len(stack), len(stack[0])
    width = max(t.eta for tasks in stack for t in tasks)
    k = max((len(e) for tasks in stack for t in tasks for _, e, _ in t.gpu), default=1)
    period, deadline, priority, segments, jitter = (np.zeros((sets, n), np.int64) for _ in "12345")
    cpu = np.zeros((sets, n, width + 1), np.int64)
    copy_in, copy_out = (np.zeros((sets, n, width), np.int64) for _ in range(2))
    kernel = np.zeros((sets, n, width, k), np.int64)
    for s, tasks in enumerate(stack):
        for i, t in enumerate(tasks):
            period[s, i], deadline[s, i], priority[s, i] = t.T, t.D, t.prio
            segments[s, i], jitter[s, i] = t.eta, t.J
            cpu[s, i, : t.eta + 1] = t.cpu
            for j, (a, e, b) in enumerate(t.gpu):
                copy_in[s, i, j], copy_out[s, i, j] = a, b
                kernel[s, i, j] = e + [e[-1]] * (k - len(e))
    return period, deadline, priority, segments, jitter, cpu, copy_in, kernel, copy_out


def cores(stack):
    return np.array([[t.core for t in tasks] for tasks in stack], np.int64)


def sm_sets(stack, sms):
    sets = [[[s in t.sms for s in range(sms)] for t in tasks] for tasks in stack]
    return np.array(sets, np.uint8)


def same(answer, results):
    """The four arrays of a core call say what the twin's results say."""
    schedulable, response, terms, failed = answer
    for s, result in enumerate(results):
        assert bool(schedulable[s]) == result.schedulable
        assert failed[s] == (-1 if result.failed is None else result.failed)
        assert response[s].tolist() == [-1 if w is None else w for w in result.W]
        expected = [[0] * len(ht.TERMS) if row is None else row for row in result.terms]
        assert terms[:, s].T.tolist() == expected


def set_apart(rng, stack):
    """Makes the same tasks of all sets stages of pipelines; uint8 (n, n), and None for no such."""
    n = len(stack[0])
    apart = np.zeros((n, n), np.uint8)
    for i in range(n):
        for k in range(i):
            apart[i, k] = apart[k, i] = rng.random() < 0.4
    for tasks in stack:
        for i, t in enumerate(tasks):
            t.apart = frozenset(np.flatnonzero(apart[i]).tolist())
    return apart


def stacks(seed, count, cpus, sms, jitter=False):
    """Stacks of 8 random sets of 1 to 6 tasks."""
    rng = random.Random(seed)
    for _ in range(cases(count)):
        n = rng.randint(1, 6)
        load = rng.choice([(30, 90), (60, 200), (200, 900)])
        options = {"T": load, "least": rng.randint(0, 1), "jitter": jitter and rng.random() < 0.7}
        yield [random_set(rng, n, cpus, sms, **options) for _ in range(8)]


OPTIONS = {
    **{"cpus": 3, "sms": 2, "mode": 0, "variant": 0, "fixed_point": 0, "timeslice": 0},
    **{"context_switch": 0, "update_cost": 0, "server_overhead": 0, "stall": False},
    "jitter": False,
}


def placed(stack, way, *, sm=None, server=None, levels=None, apart=None, **options):
    """The core's answer of the test of a way for a stack of sets on three cores."""
    return _core.host_placed_test(
        *(columns(stack), cores(stack), sm, server, levels, apart),
        **{"way": way} | OPTIONS | options,
        stop=nothing,
    )


WAYS = [(joint, split) for joint in (False, True) for split in (False, True)]


@pytest.mark.parametrize("split", [False, True])
@pytest.mark.parametrize("busy", [0, 1])
@pytest.mark.parametrize("paper", [0, 1, 2])
def test_stgm(busy, paper, split):
    variant = ("sound", "printed", "printed_h")[paper]
    cpus, sms = OPTIONS["cpus"], 4
    fine = 0
    for stack in [[A], *stacks(f"stgm {busy} {paper}", 40, cpus, sms, not paper)]:
        options = {"mode": busy, "variant": paper, "jitter": not split}
        answer = placed(stack, "stgm", sm=sm_sets(stack, sms), **options)
        same(answer, [ht.stgm(tasks, bool(busy), variant, split=split) for tasks in stack])
        fine += answer[0].sum()
    assert fine > 10 or QUICK


def bounds_by(way):
    """Options of the bounds, from WAYS."""
    joint, split = way
    return {"fixed_point": int(not joint), "jitter": not split}


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"way": "edf"}, "way: got 'edf', expected a way with a test of tasks with cores"),
        ({"way": "streams"}, "way: got 'streams', expected a way with a test of tasks with cores"),
        ({"way": "fmlp_plus", "mode": 2}, "mode: got 2, expected 0 .suspend., 1"),
        ({"way": "gpu_server", "mode": 1}, "mode: got 1, expected 0 .suspend., 1"),
        ({"way": "mpcp", "mode": -1}, "mode: got -1, expected 0 .suspend., 1"),
        ({"way": "mpcp", "variant": 1}, "variant: got 1, expected 0 .sound."),
        ({"way": "mpcp", "fixed_point": 2}, "fixed_point: got 2, expected 0 .joint. or 1"),
    ],
)
def test_unknown_ways_and_modes(change, message):
    with pytest.raises(ValueError, match=message):
        placed([A], **change)


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("sms", [1, 2, 5])
@pytest.mark.parametrize("mode", [0, 1, 2])
def test_mpcp(mode, sms, way):
    name = ("suspend", "busy", "spin")[mode]
    fine = 0
    for stack in [[A], *stacks(f"mpcp {mode}", 40, 3, 2, True)]:
        answer = placed(stack, "mpcp", sms=sms, mode=mode, **bounds_by(way))
        same(answer, [ht.mpcp(tasks, name, sms, *way) for tasks in stack])
        fine += answer[0].sum()
    assert fine > 10 or QUICK


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("busy", [0, 1])
@pytest.mark.parametrize("paper", [0, 1])
def test_fmlp_plus(busy, paper, way):
    fine = 0
    for stack in [[A], *stacks(f"fmlp {busy} {paper}", 40, 3, 2, not paper)]:
        answer = placed(stack, "fmlp_plus", mode=busy, variant=paper, **bounds_by(way))
        variant = "code" if paper else "sound"
        same(answer, [ht.fmlp_plus(tasks, bool(busy), variant, 2, *way) for tasks in stack])
        fine += answer[0].sum()
    assert fine > 10 or QUICK


@pytest.mark.parametrize(
    ("name", "busy"),
    [
        *((name, busy) for name in ("stgm", "mpcp", "fmlp_plus") for busy in (0, 1)),
        ("gpu_server", 0),
    ],
)
def test_tasks_that_are_never_pending_together(name, busy):
    rng, fine = random.Random(f"apart {name} {busy}"), 0
    for stack in stacks(f"apart {name} {busy}", 120, 3, 3, True):
        apart, (joint, split) = set_apart(rng, stack), rng.choice(WAYS)
        more = {"sm": sm_sets(stack, 3) if name == "stgm" else None}
        eps, server = rng.randint(0, 3), rng.randint(0, 3)
        if name == "gpu_server":
            more |= {"server": np.full(len(stack), server), "server_overhead": eps}
        bounds = bounds_by((joint, split))
        answer = placed(stack, name, apart=apart, mode=busy, **more, **bounds)
        if name == "stgm":
            found = [ht.stgm(tasks, bool(busy), split=split) for tasks in stack]
        elif name == "mpcp":
            mode = ("suspend", "busy")[busy]
            found = [ht.mpcp(tasks, mode, 2, joint, split) for tasks in stack]
        elif name == "gpu_server":
            found = [ht.gpu_server(tasks, server, eps, 2, joint, split) for tasks in stack]
        else:
            found = [ht.fmlp_plus(tasks, bool(busy), "sound", 2, joint, split) for tasks in stack]
        same(answer, found)
        fine += answer[0].sum()
    assert fine > 10 or QUICK


@pytest.mark.parametrize(
    ("way", "change"),
    [
        ("mpcp", {"mode": 2}),
        ("fmlp_plus", {"variant": 1}),
        ("stgm", {"variant": 1}),
        ("gcaps", {}),
    ],
)
def test_tasks_apart_in_a_test_that_does_not_know_them(way, change):
    apart = np.zeros((len(A), len(A)), np.uint8)
    sm = sm_sets([A], 4) if way == "stgm" else None
    with pytest.raises(ValueError, match="apart: got 1, expected no tasks that are apart in this"):
        placed([A], way, apart=apart, sm=sm, **change)
    with pytest.raises(ValueError, match="apart: got length 1 on axis 0, expected 4"):
        placed([A], "mpcp", apart=apart[:1])


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("eps", [0, 1, 3])
def test_gpu_server(eps, way):
    rng = random.Random(eps)
    fine = 0
    for stack in [[A], *stacks(f"server {eps}", 40, 3, 2, True)]:
        server = [rng.randint(0, 3) for _ in stack]
        options = {"server": np.array(server, np.int64), "server_overhead": eps}
        answer = placed(stack, "gpu_server", **options, **bounds_by(way))
        same(
            answer,
            [ht.gpu_server(tasks, p, eps, 2, *way) for tasks, p in zip(stack, server, strict=True)],
        )
        fine += answer[0].sum()
    assert fine > 10 or QUICK


@pytest.mark.parametrize(
    "test, mode, name",
    [
        ("mpcp", 0, "mpcp"),
        ("mpcp", 1, "mpcp"),
        ("mpcp", 2, "mpcp"),
        ("fmlp_plus", 0, "fmlp+"),
        ("fmlp_plus", 1, "fmlp+"),
        ("gpu_server", 0, "server"),
    ],
)
def test_partition(test, mode, name):
    eps = 2 if name == "server" else 0
    fine = 0
    for stack in [[A], [A4], *stacks(f"partition {test} {mode}", 30, 1, 2, True)]:
        for cpus in (1, 2, 3):
            answer = _core.host_partition(
                *(columns(stack), None, None, None, None, None),
                **{"way": test} | OPTIONS | {"cpus": cpus, "mode": mode, "server_overhead": eps},
                stop=nothing,
            )
            found = [
                ht.partition(tasks, cpus, name, ("suspend", "busy", "spin")[mode], eps, 2)
                for tasks in stack
            ]
            assert answer[4].tolist() == [[t.core for t in placed] for placed, _, _ in found]
            assert answer[5].tolist() == [-1 if p is None else p for _, p, _ in found]
            same(answer[:4], [result for _, _, result in found])
            fine += answer[0].sum()
    assert fine > 10 or QUICK


MODES = {
    "stgm": (0, 1),
    "mpcp": (0, 1, 2),
    "fmlp_plus": (0, 1),
    "gpu_server": (0,),
}
CPU, COPY_IN, KERNEL, COPY_OUT = 1, 2, 3, 4  # GS_HOST_DOES_*


def opened(tasks, cpus, sms, protocol, mode, *, offset, shares, key, **server):
    """A simulation of one set in the core."""
    stack = [tasks]
    return _core.host_open(
        columns(stack),
        np.array([offset], np.int64),
        cores(stack),
        sm_sets(stack, sms) if protocol == "stgm" else None,
        cpus=cpus,
        sms=sms,
        policy=0,
        way=protocol,
        mode=mode,
        server=np.array([server.get("server", 0)], np.int64),
        overhead=server.get("eps", 0),
        shares=np.array(shares, np.int64),
        until=np.array([5 * max(t.T for t in tasks)], np.int64),
        victim=np.array([-1], np.int64),
        triggers=0,
        key=np.array([key, 0, 0, 0], np.uint64),
        index=0,
        log_intervals=True,
        stop=nothing,
    )


def simulated(*system, **options):
    """The core's jobs and intervals of one set."""
    capsule = opened(*system, **options)
    while not capsule.run(steps=1000, states=0, bytes=0, seconds=0.0, stop=nothing)[1]:
        pass
    jobs = np.stack(capsule.jobs(), axis=1).tolist()
    intervals = np.stack(capsule.intervals(), axis=1).tolist()
    return sorted(jobs), intervals


@pytest.mark.long
@pytest.mark.parametrize("look", [_core.HostSimulation.jobs, _core.HostSimulation.intervals])
def test_logs_are_lent(look):
    """The arrays are the simulation's memory: they outlive it, and it does not go on."""
    system = (A, 2, 2, "stgm", 0)
    options = {"offset": [0] * len(A), "shares": [1, 1, 1, 1, 0, 1], "key": 1}
    capsule = opened(*system, **options)
    for _ in range(40):
        capsule.run(steps=1, states=0, bytes=0, seconds=0.0, stop=nothing)
    log = look(capsule)
    again = look(capsule)
    with pytest.raises(ValueError, match="cannot go on"):
        capsule.run(steps=1, states=0, bytes=0, seconds=0.0, stop=nothing)
    other = opened(*system, **options)
    for _ in range(40):
        other.run(steps=1, states=0, bytes=0, seconds=0.0, stop=nothing)
    kept = [column.copy() for column in look(other)]
    del capsule
    gc.collect()
    assert len(log[0]) > 5
    assert all((one == two).all() for one, two in zip(log, kept, strict=True))
    assert all(np.shares_memory(one, two) for one, two in zip(log, again, strict=True))


def lengths(tasks, k, intervals):
    """Times of each job's parts from its intervals: (task, number) -> (cpu, gpu)."""
    done = {}
    for task, number, what, _, start, end in sorted(intervals, key=lambda row: row[4]):
        if task >= 0 and what in (CPU, COPY_IN, KERNEL, COPY_OUT):
            done.setdefault((task, number), []).append((what, end - start))
    taken = {}
    for (task, number), parts in done.items():

        def take(what, most, parts=parts):
            total = 0
            while most > 0 and parts and parts[0][0] == what:
                total += parts.pop(0)[1]
                if what != CPU:
                    break  # not preempted; the next interval is another segment's
            assert 0 < total <= most or most == total == 0
            return total

        full = Job(task, number, 0, *worst(tasks[task], k[task]))
        cpu, gpu = [take(CPU, full.cpu[0])], []
        for segment, after in zip(full.gpu, full.cpu[1:], strict=True):
            whats = (COPY_IN, KERNEL, COPY_OUT)
            gpu.append(tuple(take(w, m) for w, m in zip(whats, segment, strict=True)))
            cpu.append(take(CPU, after))
        assert not parts
        taken[task, number] = cpu, gpu
    return taken


@pytest.mark.parametrize("protocol", MODES)
def test_the_simulator_job_by_job(protocol):
    rng = random.Random(protocol)
    cpus, sms, jobs = 2, 3, 0
    full, gaps, less = (1, 1, 1, 1, 0, 1), (1, 1, 1, 1, 1, 5), (0, 1, 1, 1, 0, 1)
    for stack in stacks(f"simulator {protocol}", 12, cpus, sms):
        for tasks in stack:
            # Times of parts are observable only where every part takes some time.
            some = all(min(a, e[-1], b) > 0 for t in tasks for a, e, b in t.gpu)
            shares = (full, gaps, less) if some else (full, gaps)
            mode = rng.choice(MODES[protocol])
            server = {}
            if protocol == "gpu_server":
                server = {"server": rng.randint(0, cpus), "eps": rng.randint(0, 2)}
            near = rng.random() < 0.5
            rows, intervals = simulated(
                tasks,
                cpus,
                sms,
                protocol,
                mode,
                offset=[rng.randint(0, 15 if near else t.T) for t in tasks],
                shares=rng.choice(shares),
                key=rng.getrandbits(60),
                **server,
            )
            k = [len(t.sms) if protocol == "stgm" else sms for t in tasks]
            taken = lengths(tasks, k, intervals) if some else None
            releases = [[r for i, _, r, _, _ in rows if i == task] for task in range(len(tasks))]
            found = simulate(
                tasks,
                cpus,
                releases,
                taken and (lambda i, number, taken=taken: taken[i, number]),
                sms,
                protocol=protocol,
                mode=("suspend", "busy", "spin")[mode],
                **server,
            )
            assert rows == [
                [j.task, j.number, j.release, -1 if j.start is None else j.start, j.end]
                for j in found
            ]
            jobs += len(rows)
    assert jobs > 500 or QUICK


FLAGS = {"one_task": 1, "cpu_only": 2, "sign": 4, "no_reset": 8, "past_end": 16}
VARIANTS = ("sound", "printed", "printed_h")


def placement(answer, s):
    """Cores and SM sets of one set of an allocator's answer."""
    core = [None if c < 0 else c for c in answer[4][s].tolist()]
    return core, [set(np.flatnonzero(row).tolist()) for row in answer[5][s]]


def odd_set(rng, n):
    """Tasks that touch the edges of the model: jobs of kernels alone, of nothing but copies, parts
    of length 0, deadlines that nothing can meet, priorities in any order and below 0."""
    prio, tasks = rng.sample(range(-5, 10**9), n), []
    for i in range(n):
        eta, least, most = rng.choice([0, 1, 1, 2]), rng.randint(0, 1), rng.choice([0, 4])
        cpu = [rng.randint(min(least, most), most) for _ in range(eta + 1)]
        copies = rng.choice([0, 3])
        gpu = []
        for _ in range(eta):
            kernels = sorted(rng.randint(least, 9) for _ in range(rng.randint(1, 4)))
            gpu.append((rng.randint(0, copies), kernels[::-1], rng.randint(0, copies)))
        period = rng.choice([rng.randint(5, 30), rng.randint(20, 90), 12, 24])
        deadline = period if rng.random() < 0.6 else rng.randint(1, period)
        tasks.append(Task(period, cpu, gpu, deadline, prio[i]))
    if any(t.C + t.G(9) == 0 for t in tasks):
        return odd_set(rng, n)
    return tasks


def agree(stack, cpus, sms, busy, paper, names):
    """Cores, SM sets and rounds of an allocation, in the end or when it gave up; how many sets."""
    bits = sum(FLAGS[name] for name in names)
    answer = _core.host_stgm_allocate(
        columns(stack), cpus=cpus, sms=sms, busy=busy, paper=paper, flags=bits, stop=nothing
    )
    fine = 0
    for s, tasks in enumerate(stack):
        flags = dict.fromkeys(names, True)
        found = ht.allocate(tasks, cpus, sms, bool(busy), VARIANTS[paper], **flags)
        where = [t.core for t in found.placed], [t.sms for t in found.placed]
        assert bool(answer[0][s]) == found.schedulable
        assert placement(answer, s) == where
        assert answer[6][s] == found.rounds
        if found.schedulable:
            assert answer[1][s].tolist() == [-1 if w is None else w for w in found.result.W]
        fine += found.schedulable
    return fine


@pytest.mark.parametrize("busy", [0, 1])
@pytest.mark.parametrize("names", [(), *((name,) for name in FLAGS), tuple(FLAGS)])
def test_allocations(busy, names):
    fine = 0
    for stack in [[A4], *stacks(f"allocate {busy} {names}", 6, 1, 1)]:
        for cpus, sms, paper in ((1, 2, 0), (2, 4, 0), (2, 3, 1)):
            fine += agree(stack, cpus, sms, busy, paper, names)
    assert fine > 10 or QUICK


@pytest.mark.long
def test_allocations_of_odd_sets():
    rng = random.Random("odd")
    fine = 0
    for _ in range(cases(250)):
        names = [name for name in FLAGS if rng.random() < 0.2]
        stack = [odd_set(rng, rng.randint(1, 6))]
        cpus, sms = rng.randint(1, 8), rng.randint(1, 4)
        fine += agree(stack, cpus, sms, rng.randint(0, 1), rng.choice((0, 0, 1, 2)), names)
    assert 20 < fine < 230 or QUICK


def test_a_core_is_full_at_one():
    """Line 16 as printed rests on the load alone, which 1 tick in 10^10 must not pass."""
    tasks = [Task(10**10, [5 * 10**9], prio=1), Task(10**10, [5 * 10**9], prio=0)]
    assert agree([tasks], 1, 1, 0, 0, ["one_task"]) == 1
    tasks[1] = Task(10**10, [5 * 10**9 + 1], prio=2)
    assert agree([tasks], 1, 1, 0, 0, ["one_task"]) == 0


def test_any_allocation_at_all():
    """Exhaustive search: as the twin's; and what the allocators find is an allocation."""
    possible = plain = apart = 0
    rng = random.Random("any")
    for _ in range(30):
        n, cpus, sms, busy = rng.randint(1, 3), rng.randint(1, 2), rng.randint(1, 3), rng.random()
        stack = [random_set(rng, n, 1, 1, T=(12, 50), columns=sms) for _ in range(4)]
        busy = int(busy < 0.5)
        every = _core.host_stgm_exhaustive(
            columns(stack), cpus=cpus, sms=sms, busy=busy, paper=0, states=0, stop=nothing
        )
        first, more = (
            _core.host_stgm_allocate(
                columns(stack), cpus=cpus, sms=sms, busy=busy, paper=0, flags=flags, stop=nothing
            )
            for flags in (0, 32)
        )
        for s, tasks in enumerate(stack):
            exists = ht.exhaustive(tasks, cpus, sms, bool(busy)) is not None
            assert bool(every[0][s]) == exists
            assert exists >= bool(more[0][s]) >= bool(first[0][s])
            for answer in (every, first, more):
                if answer[0][s]:
                    core, sets = placement(answer, s)
                    found = ht.stgm(ht.place(tasks, core, sets), bool(busy))
                    assert found.schedulable
                    assert answer[1][s].tolist() == found.W
            possible += exists
            plain += bool(first[0][s])
            apart += bool(more[0][s])
    assert possible >= apart > plain > 0


def test_groups():
    """Groups of tasks that share SMs in the attempt that found cores for all."""
    rng, tries = random.Random("groups"), []
    for _ in range(400):
        n, sms = rng.randint(4, 8), rng.randint(2, 4)
        tasks = random_set(rng, n, 1, 1, T=(100, 300), columns=sms)
        answer = _core.host_stgm_allocate(
            columns([tasks]), cpus=3, sms=sms, busy=0, paper=0, flags=32, stop=nothing
        )
        users = sum(t.eta > 0 for t in tasks)
        if users > sms and answer[0][0] and answer[6][0] <= 16:
            tries.append(int(answer[6][0]))
            assert placement(answer, 0)[1] == ht.group(tasks, sms, tries[-1])
    assert len(tries) > 200 and tries.count(1) < len(tries) and max(tries) > 4


@pytest.mark.parametrize("busy", [0, 1])
@pytest.mark.parametrize("paper", [0, 1, 2])
def test_every_placement_of_odd_sets(busy, paper):
    """Exhaustive search misses nothing: every placement, one by one, in one stack."""
    rng = random.Random(f"every {busy} {paper}")
    possible = 0
    for _ in range(60):
        n, cpus, sms = rng.randint(1, 4), rng.randint(1, 3), rng.randint(1, 3)
        hosts = columns([odd_set(rng, n)])
        some = [[k >> s & 1 for s in range(sms)] for k in range(1, 1 << sms)]
        sets = list(product(*(some if eta else [[0] * sms] for eta in hosts[3][0])))
        where = list(product(range(cpus), repeat=n))
        core = np.repeat(np.array(where, np.int64), len(sets), 0)
        sm = np.tile(np.array(sets, np.uint8), (len(where), 1, 1))
        if len(core) > 20_000:
            continue
        stack = tuple(np.repeat(column, len(core), 0) for column in hosts)
        options = OPTIONS | {"cpus": cpus, "mode": busy, "variant": paper, "jitter": True}
        exists = _core.host_placed_test(
            *(stack, core, sm, None, None, None), way="stgm", **options, stop=nothing
        )[0].any()
        found = _core.host_stgm_exhaustive(
            hosts, cpus=cpus, sms=sms, busy=busy, paper=paper, states=0, stop=nothing
        )
        assert bool(found[0][0]) == exists
        for flags in (0, 32):
            first = _core.host_stgm_allocate(
                hosts, cpus=cpus, sms=sms, busy=busy, paper=paper, flags=flags, stop=nothing
            )
            assert exists >= bool(first[0][0])
        possible += exists
    assert 10 < possible < 58


def test_long_chains():
    """Up to 14 tasks that share SMs one with the next are searched; of more, all others count."""
    for n in (13, 14, 15, 16):
        rng = random.Random(n)
        for ring in (False, True):
            tasks = []
            for i in range(n):
                sms = {i, (i + 1) % n} if ring else {max(0, i - 1), i}
                gpu = [(1, [rng.randint(1, 9)], 1)]
                tasks.append(Task(1000, [1, 1], gpu, None, i, rng.randrange(3), sms))
            stack = [tasks]
            for busy in (0, 1):
                # Mode busy: other tasks of the core do not matter; the remaining systems are small.
                paths = ht.component if n > 14 and not busy else ht.chain
                answer = placed(stack, "stgm", sm=sm_sets(stack, n), mode=busy, jitter=True)
                same(answer, [ht.stgm(tasks, bool(busy), paths=paths)])


def test_an_unknown_way_is_refused():
    tasks = stacks("unknown way", 1, 2, 3)
    with pytest.raises(
        ValueError, match="way: got 'lock', expected a way that the simulator plays"
    ):
        opened(next(iter(tasks))[0], 2, 3, "lock", 0, offset=[0], shares=(1, 1, 1, 1, 0, 1), key=1)
