"""Simulation of tasks with CPU and GPU segments: rules, twin, results."""

from __future__ import annotations

import json
import pickle
import random
from xml.etree import ElementTree

import numpy as np
import pytest
from reference.container_sim import Container
from reference.host_sim import simulate as twin
from test_reference_host_tests import random_set

import gpusched as gs
from gpusched.simulate.host_result import WHAT

pytestmark = pytest.mark.numbers

BOTH = ("suspend", "busy")
WAYS = [
    *(gs.ways.Stgm(mode=mode) for mode in BOTH),
    *(gs.ways.Mpcp(mode=mode) for mode in (*BOTH, "spin")),
    *(gs.ways.FmlpPlus(mode=mode) for mode in BOTH),
    gs.ways.GpuServer(server_overhead=2),
]
VECTOR_A = gs.HostTasks.from_segments(
    [60, 80, 120, 160],
    [[3, (1, 6, 1), 2], [5, (2, 8, 1), 1], [10], [6, (2, 10, 2), 2, (1, 4, 1), 1]],
    core=[0, 1, 0, 1],
    sm=[[0], [0, 1], [], [1]],
)


def tasks_of(system):
    """The twin's tasks as HostTasks."""
    width = max(t.eta for t in system)
    columns = max((len(e) for t in system for _, e, _ in t.gpu), default=1)
    cpu, copy_in, copy_out = (
        np.zeros((len(system), w), np.int64) for w in (width + 1, width, width)
    )
    kernel = np.zeros((len(system), width, columns), np.int64)
    for i, t in enumerate(system):
        cpu[i, : t.eta + 1] = t.cpu
        for j, (a, e, b) in enumerate(t.gpu):
            copy_in[i, j], kernel[i, j], copy_out[i, j] = a, e, b
    return gs.HostTasks(
        [t.T for t in system],
        cpu,
        copy_in,
        kernel,
        copy_out,
        deadline=[t.D for t in system],
        priority=[t.prio for t in system],
        segments=[t.eta for t in system],
        core=[t.core for t in system],
        sm=[sorted(t.sms) for t in system],
    )


# The counterexamples of the printed tests: jobs, cores, SMs, offsets, and what was observed.
EXAMPLES = {
    "A1": ([[5], [1, (2, 1, 2), 1]], [0, 0], [[], [0]], [2, 0], 0, 8),
    "A2": (
        [[(1, 2, 1)], [(1, 5, 1)], [(1, 10, 1)]],
        [0, 1, 2],
        [[1], [0, 1], [0]],
        [2, 1, 0],
        0,
        17,
    ),
    "A3": ([[1, (1, 2, 1)], [4], [(1, 30, 1)]], [0, 0, 1], [[0], [], [0]], [1, 1, 0], 1, 37),
    "A4": ([[3], [(1, 2, 1)], [(1, 30, 1)]], [0, 0, 1], [[], [0], [0]], [3, 1, 0], 0, 34),
    "A6": ([[6], [1, (4, 2, 4)]], [0, 0], [[], [0]], [2, 0], 0, 13),
    "B1": ([[1, (1, 10, 1)], [1, (1, 1, 1)]], [0, 0], [[0], [0]], [0, 0], 1, 16),
}


@pytest.mark.parametrize("name", EXAMPLES)
def test_counterexamples(name):
    jobs, core, sm, offset, who, observed = EXAMPLES[name]
    hosts = gs.HostTasks.from_segments(
        [1000] * len(jobs), jobs, priority=range(len(jobs)), core=core, sm=sm, offset=offset
    )
    mode = "busy" if name in ("A3", "A4") else "suspend"
    protocol = "fmlp_plus" if name == "B1" else "stgm"
    run = gs.simulate.host(hosts, max(core) + 1, gs.ways.as_way(protocol, mode=mode), until=10)
    assert run.worst[who] == observed and run.responses(who).tolist() == [observed]


def test_counterexample_a5():
    hosts = gs.HostTasks([4, 10], cpu=[2, 5], core=0)
    run = gs.simulate.host(hosts, 1, until=9)
    assert run.worst.tolist() == [2, 11] and run.late_count.tolist() == [0, 1]
    assert run.late.tolist() == [False, True, False, False]


@pytest.mark.parametrize(
    ("protocol", "jobs", "worst"),
    [
        ("fmlp_plus", [[(0, 5, 0)]] * 3, [5, 10, 15]),
        ("stgm", [[(0, 5, 0)]] * 3, [5, 10, 15]),  # of the SM
        ("stgm", [[(0, 9, 0)], [(2, 0, 0)], [(2, 0, 0)], [(3, 0, 0)]], [9, 4, 6, 3]),  # of the CE
        ("time_slices", [[(0, 5, 0)]] * 3, [13, 14, 15]),
    ],
)
def test_requests_of_one_instant_are_in_order_of_priority(protocol, jobs, worst):
    """Also those that a core makes after it is known that its first one was granted."""
    n = len(jobs)
    hosts = gs.HostTasks.from_segments(
        *([1000] * n, jobs),
        priority=range(n),
        core=[0, 0, 1, 2][:n],
        sm=[[0]] * n,
        offset=[1, 1, 1, 0][:n],
    )
    options = {"timeslice": 2} if protocol == "time_slices" else {}
    run = gs.simulate.host(hosts, 3, gs.ways.as_way(protocol, **options), until=2)
    assert run.worst.tolist() == worst


@pytest.mark.parametrize("way", WAYS, ids=str)
def test_like_the_twin(way):
    protocol, mode = way.name, way.given.get("mode", "suspend")
    chance = random.Random(f"{protocol} {mode}")
    for k in range(40):
        cpus, sms = chance.randint(1, 3), chance.randint(1, 4)
        system = random_set(chance, chance.randint(1, 6), cpus, sms, T=(25, 90))
        if k % 2:  # several requests of one core at one instant
            for t in system:
                t.cpu = [t.cpu[0], *(c * chance.randint(0, 1) for c in t.cpu[1:])]
                t.gpu = [(a * chance.randint(0, 1), e, b) for a, e, b in t.gpu]
        hosts = tasks_of(system)
        hosts = gs.HostTasks(
            **{
                field: getattr(hosts, field)
                for field in ("period", "cpu", "copy_in", "kernel", "copy_out", "deadline")
            },
            **{field: getattr(hosts, field) for field in ("priority", "core", "sm", "segments")},
            offset=[chance.randint(0, 30) for _ in system],
        )
        server = chance.randint(0, cpus) if protocol == "gpu_server" else None
        eps = chance.choice([0, 1, 3]) if protocol == "gpu_server" else 0
        if protocol == "gpu_server":
            way = way.replace(server=server, server_overhead=eps)
        run = gs.simulate.host(hosts, cpus, way, until=300, releases=0.5, seed=k, sms=sms)
        releases = [run.release[run.task == i].tolist() for i in range(hosts.n)]
        jobs = twin(
            system, cpus, releases, sms=sms, protocol=protocol, mode=mode, server=server, eps=eps
        )
        finish = {(job.task, job.number): job.end for job in jobs}
        ours = zip(run.task.tolist(), run.job.tolist(), run.end.tolist(), strict=True)
        assert {(task, job): end for task, job, end in ours} == finish


def random_hosts(chance, sets=None, n=6, cpus=2, sms=4):
    """Sets whose tasks all have a core and SMs, not too busy."""
    shape = (n,) if sets is None else (sets, n)
    period = chance.integers(60, 300, shape)
    priority = np.argsort(np.argsort(period, axis=-1, kind="stable"), axis=-1, kind="stable")
    sm = chance.random((*shape, sms)) < 0.5
    sm[..., 0] |= ~sm.any(axis=-1)
    return gs.HostTasks(
        period,
        chance.integers(1, 6, (*shape, 3)),
        chance.integers(0, 4, (*shape, 2)),
        chance.integers(0, 9, (*shape, 2, 1)),
        chance.integers(0, 4, (*shape, 2)),
        priority=priority,
        core=chance.integers(0, cpus, shape),
        sm=sm,
    )


@pytest.mark.parametrize("way", WAYS, ids=str)
def test_intervals(way):
    """Nothing is used twice at once, and the intervals of a job are its response time."""
    protocol, mode = way.name, way.given.get("mode", "suspend")
    hosts = random_hosts(np.random.default_rng(5))
    run = gs.simulate.host(hosts, 2, way, until=3000, execution=(0.4, 1), releases=0.2, seed=1)
    log = run.intervals
    assert (log.end > log.start).all() and run.outcome == "done"
    number = {word: WHAT.index(word) for word in WHAT}
    using = [log.core == core for core in range(3)]
    if protocol == "stgm":
        using.append((log.what == number["copy in"]) | (log.what == number["copy out"]))
    for sm in range(4):
        on_sm = hosts.sm[log.task, sm] if protocol == "stgm" else True
        using.append((log.what == number["kernel"]) & on_sm)
    for rows in map(np.flatnonzero, using):
        rows = rows[np.argsort(log.start[rows])]
        assert (log.start[rows][1:] >= log.end[rows][:-1]).all()
    spent = run.spent()
    first = np.full(len(run), 0)
    for k in range(len(run)):
        before = (run.task == run.task[k]) & (run.job == run.job[k] - 1)
        first[k] = max(run.release[k], run.end[before].max(initial=0))
    own = sum(time for word, time in spent.items() if word not in ("served", "overhead"))
    beside = (
        {"stgm": "kernel", "gpu_server": ""}.get(protocol, "kernel") if mode != "suspend" else ""
    )
    if (
        protocol == "gpu_server"
    ):  # what the server does for the client is in its time in the server's hands
        inside = spent["copy in"] + spent["copy out"] + spent["kernel"]
        assert (spent["served"] == inside + spent["overhead"]).all()
        own = own + spent["overhead"]
    if beside:
        own = own - spent["kernel"]
    assert (own == run.end - first).all()
    most = hosts.cpu_time[run.task]
    parts = -(-hosts.cpu * 2 // 5)
    assert (spent["cpu"] <= most).all() and (spent["cpu"] >= parts.sum(-1)[run.task]).all()


@pytest.mark.parametrize("way", WAYS, ids=str)
def test_stacks(way):
    """Set i of a stack is index=i of a run, whatever the count, and whatever is kept."""
    stack = random_hosts(np.random.default_rng(6), sets=5)
    more = {"way": way, "until": 1500, "execution": (0.5, 1), "releases": 0.3, "seed": 3}
    many = gs.simulate.host_responses(stack, 2, **more)
    assert many.worst.shape == (5, 6) and (many.outcome == "done").all() and len(many) == 5
    for i in (0, 3):
        run = gs.simulate.host(stack[i], 2, index=i, intervals=i == 0, **more)
        one = gs.simulate.host_responses(stack[i], 2, first=i, **more)
        for name in ("worst", "finished", "late_count"):
            assert (getattr(run, name) == getattr(many, name)[i]).all()
            assert (getattr(one, name) == getattr(many, name)[i]).all()
        assert (run.worst == [run.responses(j).max() for j in range(6)]).all()
    assert (many.worst[0] != many.worst[1]).any()
    assert pickle.loads(pickle.dumps(many)) == many and len(many.to_frame()) == 30
    assert "5 sets of 6 tasks" in repr(many)


def test_what_is_drawn_depends_on_the_task_alone():
    """Another set of priorities does not change what a job's parts take."""
    hosts = random_hosts(np.random.default_rng(7))
    fields = ("period", "cpu", "copy_in", "kernel", "copy_out", "core", "sm")
    turned = gs.HostTasks(
        **{field: getattr(hosts, field) for field in fields}, priority=-hosts.priority
    )
    one, two = (
        gs.simulate.host(h, 2, until=2000, execution=(0.1, 1), seed=9, releases=0.5)
        for h in (hosts, turned)
    )
    order = [np.lexsort((run.job, run.task)) for run in (one, two)]
    assert (one.release[order[0]] == two.release[order[1]]).all()
    for word in ("cpu", "copy in", "kernel", "copy out"):
        assert (one.spent()[word][order[0]] == two.spent()[word][order[1]]).all()
    assert (one.end[order[0]] != two.end[order[1]]).any()


def test_shares_are_exact():
    hosts = gs.HostTasks([100], cpu=[30], core=0)
    for share, time in ((0.1, 3), (1 / 3, 10), (1e-300, 1), (0.001234567890123456789, 1), (1, 30)):
        assert gs.simulate.host(hosts, 1, until=1, execution=share).worst[0] == time
    assert gs.simulate.host(hosts, 1, until=1, execution=0.99).worst[0] == 30  # rounded up
    run = gs.simulate.host(hosts, 1, until=10**5, execution=(0.5, 0.7), seed=1)
    assert set(run.responses(0).tolist()) == set(range(15, 22))
    run = gs.simulate.host(hosts, 1, until=10**6, seed=1, releases=0.05)
    assert set(np.diff(run.release).tolist()) == set(range(100, 106))


@pytest.mark.parametrize("moment", ["release", "request", "resume", "end"])
def test_victim(moment):
    hosts = gs.HostTasks.from_segments(
        [200, 30, 30], [[2, (1, 4, 1), 3], [(3, 5, 2)], [7]],
        priority=[1, 2, 0], core=[0, 1, 0], sm=[[0], [0], []], offset=[50, 0, 0],
    )  # fmt: skip
    run = gs.simulate.host(hosts, 2, until=1000, victim=gs.simulate.Victim(0, moment))
    mine, others = run.release[run.task == 0], np.unique(run.release[run.task != 0])
    log = run.intervals
    copied = log.end[(log.task == 0) & (log.label == "copy out")]
    moments = {"release": mine, "request": mine + 2, "resume": copied}
    moments["end"] = run.end[run.task == 0]
    assert others.tolist() == moments[moment].tolist()
    # Alone 10; requests after the others', who copy for 3 and run a kernel for 5, and more.
    alone, asked_late = 10, 2 + 3 + 5 + 4 + 1 + 3
    assert run.worst[0] >= (asked_late if moment == "request" else alone)


def test_overload_and_budget():
    hosts = gs.HostTasks([10, 10], cpu=[8, 8], core=0)
    run = gs.simulate.host(hosts, 1, until=1000)
    assert run.worst[1] > 500 and run.late_count.tolist() == [0, 100] and run.outcome == "done"
    run = gs.simulate.host(hosts, 1, until=1000, budget=gs.pbs.Budget(states=50))
    assert (run.outcome, run.reason, len(run)) == ("budget", "states", 50)
    assert "budget (states)" in repr(run) and (run.end < 0).any()
    kept = gs.simulate.host_responses(hosts, 1, until=1000, budget=gs.pbs.Budget(states=50))
    assert kept.outcome == "budget" and (kept.worst == run.worst).all()
    run = gs.simulate.host(hosts, 1, until=10**9, budget=gs.pbs.Budget(bytes=10**6))
    assert run.reason == "bytes"
    seen = []
    run = gs.simulate.host(hosts, 1, until=10**6, progress=lambda now, end: seen.append((now, end)))
    assert len(seen) > 2 and seen[-1] == (10**6, 10**6)
    with pytest.raises(gs.Cancelled):
        gs.simulate.host(hosts, 1, until=10**6, stop=bytearray([1]))


def test_a_run_is_a_value():
    run = gs.simulate.host(VECTOR_A, 2, until=200)
    again = pickle.loads(pickle.dumps(run))
    assert again == run and again != gs.simulate.host(VECTOR_A, 2, until=100)
    assert run.intervals == again.intervals and not run.intervals.start.flags.writeable
    assert repr(run) == (
        "<HostRun: 11 jobs of 4 tasks on 2 CPUs, partitioned, stgm, suspend; no deadline missed; "
        f"all jobs finished by {run.now}>"
    )
    frame = run.intervals.to_frame()
    assert set(frame["what"]) >= {"cpu", "copy in", "kernel", "wait for core"}
    assert (frame["what"] == run.intervals.label).all()
    assert list(run.to_frame().columns)[:3] == ["task", "name", "job"]
    assert frame["core"].isna().tolist() == (run.intervals.core < 0).tolist()
    bare = gs.simulate.host(VECTOR_A, 2, until=200, intervals=False)
    assert bare.intervals is None and (bare.end == run.end).all()
    for call in (bare.spent, bare.to_svg, bare.plot):
        with pytest.raises(
            ValueError,
            match=r"^intervals: got a run without them, expected one with intervals=True",
        ):
            call()
    assert bare._repr_svg_() is None


def test_pictures(tmp_path):
    hosts = VECTOR_A
    run = gs.simulate.host(hosts, 2, until=480)
    text = run.to_svg(unit="us", until=100)
    root = ElementTree.fromstring(text)
    words = ["".join(node.itertext()) for node in root.iter() if node.tag.endswith("}text")]
    lanes = ["core 0", "core 1", "copies", "SM 0", "SM 1"]
    assert set(lanes) <= set(words)
    tips = [node.text for node in root.iter() if node.tag.endswith("}title")]
    assert "task 1 #0: kernel, 10 to 18" in tips
    assert tips.count("task 1 #0: kernel, 10 to 18") == 2  # on two SMs
    assert tips.count("task 0 #0: copy in, 3 to 4") == 2  # on its core and the copy engine
    ax = run.plot(until=100)
    assert [label.get_text() for label in ax.get_yticklabels()] == lanes
    from matplotlib import pyplot

    pyplot.close(ax.figure)
    with pytest.raises(ValueError, match=r"until: got 3"):
        run.to_svg(since=5, until=3)
    late = gs.simulate.host(
        gs.HostTasks([4, 10], cpu=[2, 5], core=0, name=["<a>", "b"]), 1, until=9
    )
    assert "late" in late.to_svg() and "&lt;a&gt;" in late.to_svg()
    server = gs.simulate.host(hosts, 2, gs.ways.GpuServer(server_overhead=1), until=100)
    assert ">server<" in server.to_svg() and "spins, overhead" in server.to_svg()
    assert gs.simulate.host(hosts, 2, until=0).to_svg().startswith("<svg")
    many = gs.simulate.host(hosts, 2, until=20000)
    assert "later bars not shown" in many.to_svg() and len(many.to_svg()) < 200_000
    run.to_chrome_trace(tmp_path / "run.json", tick=10)
    events = json.loads((tmp_path / "run.json").read_text())["traceEvents"]
    names = {e["args"]["name"] for e in events if e["ph"] == "M"}
    assert {"jobs", "CPUs", "GPU", "copies", "core 0", "SM 1", "task 3"} <= names
    job = next(e for e in events if e["name"] == "task 1 #0")
    assert job["args"]["wait for SMs"] == 30 and job["args"]["response"] == 200
    with pytest.raises(ValueError, match="tick: got 0, expected at least 1 ns"):
        run.to_chrome_trace(tmp_path / "none.json", tick=0)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"cpus": 0}, r"cpus: got 0"),
        ({"cpus": 1}, r"core\[1\]: got 1"),
        ({"way": "edf"}, "way: got 'edf', expected one of one_stream, streams,"),
        ({"way": "streams"}, "way: got 'streams', expected one of time_slices, gcaps, mpcp,"),
        ({"way": "host"}, "way: got 'host', expected a way of sharing the GPU; it plays gcaps,"),
        ({"way": 5}, "way: got 5, expected one of one_stream, streams,"),
        (
            {"way": gs.ways.GpuServer(server=3)},
            "server: got 3, expected a core, or the number of cores",
        ),
        ({"sms": 1}, r"sms: got 1"),
        ({"sms": 0, "way": "mpcp"}, r"sms: got 0"),
        ({"until": -1}, r"until: got -1"),
        ({"execution": 1.5}, r"execution: got 1.5"),
        ({"execution": (0.5, 0.2)}, r"execution: got \(0.5, 0.2\)"),
        ({"releases": -1}, r"releases: got -1"),
        ({"victim": 4}, r"victim: got 4"),
        (
            {"victim": gs.simulate.Victim(0, "head")},
            "triggers: got 'head', expected one of release,",
        ),
        ({"index": -1}, "index: got -1, expected the number of a set, 0 to"),
        ({"hosts": VECTOR_A.with_placement(core=-1)}, r"core\[0\]: got -1"),
        ({"hosts": VECTOR_A.with_placement(sm=[[], [0, 1], [], [1]])}, r"sm\[0\]: got none"),
        (
            {"hosts": gs.HostTasks([5, 5], cpu=[1, 1], priority=3, core=0)},
            r"priority\[1\]: got 3",
        ),
    ],
)
def test_refusals(changes, message):
    arguments = {"hosts": VECTOR_A, "cpus": 2, "until": 100} | changes
    with pytest.raises(ValueError, match=message):
        gs.simulate.host(**arguments)


@pytest.mark.parametrize(
    ("name", "parameters", "message"),
    [
        ("stgm", {"mode": "spin"}, "mode: got 'spin', expected one of suspend, busy"),
        ("gpu_server", {"mode": "busy"}, "mode: got an unknown option of gpu_server, expected one"),
        ("stgm", {"server": 1}, "server: got an unknown option of stgm, expected one of mode,"),
        ("stgm", {"server_overhead": 1}, "server_overhead: got an unknown option of stgm"),
        ("gpu_server", {"server_overhead": -1}, "server_overhead: got -1, expected 0 or more"),
        ("stgm", {"server_period": 9}, "server_period: got an unknown option of stgm"),
        ("container", {"server_period": 0}, "server_period: got 0, expected 1 or more"),
        ("container", {"mode": "spin"}, "mode: got 'spin', expected one of suspend, busy"),
        ("srm", {"mode": "busy"}, "mode: got an unknown option of srm, expected one of lock,"),
        ("srm", {"lock": "stgm"}, "lock: got 'stgm', expected one of fmlp, omlp, best"),
    ],
)
def test_parameters_that_a_way_does_not_have(name, parameters, message):
    with pytest.raises(ValueError, match=message):
        gs.ways.as_way(name, **parameters)


def test_what_is_no_host_task_or_budget_is_refused():
    kernels = gs.KernelTasks([5], [1])
    for call in (gs.simulate.host, gs.simulate.host_responses):
        with pytest.raises(TypeError, match="hosts: got KernelTasks, expected HostTasks"):
            call(kernels, 1, until=10)
        with pytest.raises(TypeError, match=r"budget: got int, expected Budget \(for example"):
            call(VECTOR_A, 2, until=10, budget=5)
    with pytest.raises(ValueError, match=r"core\[0\]: got -1"):
        gs.simulate.host(VECTOR_A.with_placement(core=-1), 2, until=10)


def test_responses_are_of_a_task_that_there_is():
    run = gs.simulate.host(VECTOR_A, 2, until=100)
    assert run.responses("task 2").tolist() == run.responses(2).tolist() != []
    with pytest.raises(IndexError, match="task: got 4, expected 0 to 3"):
        run.responses(4)
    with pytest.raises(ValueError, match="task: got 'map', expected one of task 0, task 1,"):
        run.responses("map")
    assert (run.tardiness == np.maximum(0, run.response - run.deadline + run.release)).all()


def test_tests_and_simulator_use_the_same_names():
    for way in (gs.ways.Mpcp(mode="busy"), "fmlp_plus", gs.ways.GpuServer(server_overhead=1)):
        verdict = gs.analysis.partition(VECTOR_A, 2, way)
        run = gs.simulate.host(verdict.hosts, 2, verdict.way, until=1e3)
        assert run.way == verdict.way == verdict.way.replace(**gs.ways.as_way(way).given)
    far = gs.ways.GpuServer(server_overhead=2**60)
    with pytest.raises(OverflowError, match="server_overhead: got 1152921504606846976, expected a"):
        gs.simulate.host(VECTOR_A, 2, far, until=10)
    with pytest.raises(TypeError, match="gpu"):
        gs.simulate.host(VECTOR_A, 2, gpu="mpcp", until=10)


def test_more_refusals():
    stack = random_hosts(np.random.default_rng(8), sets=2)
    with pytest.raises(ValueError, match=r"^hosts: got a stack of 2 sets"):
        gs.simulate.host(stack, 2, until=10)
    with pytest.raises(ValueError, match=r"set 1: core"):
        core = np.array([[0] * 6, [0] * 5 + [2]])
        gs.simulate.host_responses(stack.with_placement(core=core), 2, until=10)
    with pytest.raises(ValueError, match=r"until: got shape \(3,\)"):
        gs.simulate.host_responses(stack, 2, until=[1, 2, 3])
    with pytest.raises(ValueError, match=r"victim\[1\]: got 6"):
        gs.simulate.host_responses(stack, 2, until=10, victim=[-1, 6])
    with pytest.raises(OverflowError, match=r"until: got .*"):
        gs.simulate.host(VECTOR_A, 2, until=2**60)
    huge = gs.HostTasks([2**58], cpu=[2**57], core=0)
    assert gs.simulate.host(huge, 1, until=2**58 + 1).worst[0] == 2**57
    with pytest.raises(
        OverflowError, match=r"period\[0\]: got 576460752303423488, expected a time below"
    ):
        gs.simulate.host(gs.HostTasks([2**59], cpu=[1], core=0), 1, until=10)
    for function in (gs.simulate.host, gs.simulate.host_responses):
        with pytest.raises(TypeError, match="hosts: got list, expected HostTasks"):
            function([VECTOR_A], 2, until=10)


@pytest.mark.parametrize(
    "way", [gs.ways.Mpcp(mode="busy"), gs.ways.FmlpPlus(mode="busy"), gs.ways.GpuServer(server=2)]
)
def test_kernels_run_on_the_gpu_of_the_tests(way):
    """Not only on the SMs that ``sm`` happens to speak of."""
    hosts = gs.HostTasks([50, 60], [[1, 1]] * 2, kernel=[[[9, 5, 1]]] * 2, sm=[[0], [1]], core=0)
    run = gs.simulate.host(hosts, 2, way, until=600)
    assert run.sms == 3 and run.spent()["kernel"].max() == 1
    found = getattr(gs.analysis, way.name)(hosts, 2, **way.given)
    assert found.schedulable and (run.worst <= found.response).all()
    for other in (gs.ways.Srm(lock="fmlp"), gs.ways.Srm(lock="omlp"), gs.ways.Container()):
        run = gs.simulate.host(hosts, 1, other, until=600)
        test = getattr(gs.analysis, other.name)
        assert (run.worst <= test(hosts, 1).response).all() and run.sms == 3
    wide = gs.HostTasks([50, 60], cpu=[[1, 1]] * 2, kernel=[[[9]]] * 2, sm=[[0], [1]], core=0)
    assert gs.simulate.host(wide, 2, "mpcp", until=10).sms == 2


def test_server_periods():
    """One for all sets, or one for each; what is none is refused by its name."""
    stack = random_hosts(np.random.default_rng(8), sets=3)
    box = gs.ways.Container
    found = gs.simulate.host_responses(stack, 2, box(server_period=[1, 7, 30]), until=200)
    for k, period in enumerate((1, 7, 30)):
        run = gs.simulate.host(stack[k], 2, box(server_period=period), until=200)
        assert run.way.server_period == period and run.worst.tolist() == found.worst[k].tolist()
    for wrong, error, message in (
        ([1, 0, 3], ValueError, r"server_period: got 0"),
        (
            [1, 2],
            ValueError,
            r"server_period: got shape \(2,\), expected one number, or one per set",
        ),
        (2.5, TypeError, r"server_period: got 2\.5, expected an integer"),
        (True, TypeError, "server_period: got True, expected an integer"),
        ([9, 2**59, 9], OverflowError, "set 1: server_period: got 576460752303423488, expected a"),
        (2**63, OverflowError, r"server_period: got .*"),
    ):
        with pytest.raises(error, match=message):
            gs.simulate.host_responses(stack, 2, box(server_period=wrong), until=200)


# Global EDF ([RTNS10])


def srm_example():
    """Section 4.1: two tasks on CPUs alone, five with critical sections of 4 on the GPU."""
    jobs = [[5]] * 2 + [[1, (1, 2, 1)]] * 5
    return gs.HostTasks.from_segments([30] * 7, jobs)


@pytest.mark.parametrize("lock", ["fmlp", "omlp"])
def test_figure_2(lock):
    run = gs.simulate.host(srm_example(), 4, gs.ways.Srm(lock=lock), until=30)
    assert run.end.max() == 21  # as printed
    assert run.end.tolist() == [5, 5, 5, 9, 13, 17, 21]
    log = run.intervals
    copies = (log.label == "copy in") | (log.label == "copy out")
    late = (log.core >= 0) & (log.start >= 5)
    assert copies[late].all()  # "only one CPU is utilized after t = 5"
    waited = run.spent()["wait for GPU"].tolist()
    # With the fifth request at 2: all CPUs are taken at 0, two of them until 5.
    assert waited[:4] == [0, 0, 0, 4] and run.policy == "gedf"


@pytest.mark.parametrize("m", [2, 3, 4])
def test_omlp_blocks_up_to_2m_minus_1_requests(m):
    """The witness against Eq. (2): m late deadlines fill the FIFO queue, m earlier ones ask."""
    n = 2 * m
    jobs = [[(1, 8, 1)]] * n
    offset = [0] * m + [1] * m
    deadline = [900] * m + list(range(500, 500 + m))
    hosts = gs.HostTasks.from_segments([1000] * n, jobs, deadline=deadline, offset=offset)
    run = gs.simulate.host(hosts, m, gs.ways.Srm(lock="omlp"), until=10)
    assert run.worst[n - 1] == 10 * (2 * m - 1) - 1 + 10
    assert run.spent()["wait for GPU"][n - 1] >= 10 * (2 * m - 1) - 2


def test_inheritance():
    """The holder's copy out is as urgent as the job that waits for the lock; not the driver's."""
    jobs = [[2, (1, 3, 4)], [1, (1, 1, 1)], [20]]
    hosts = gs.HostTasks.from_segments([1000] * 3, jobs, deadline=[900, 300, 600], offset=[0, 3, 5])
    run = gs.simulate.host(hosts, 1, gs.ways.Srm(lock="fmlp"), until=10)
    # Holds the lock at 2, copies 2..3, kernel 3..6; task 1 asks at 4, and task 2 runs 5..6 only.
    assert run.end.tolist() == [10, 13, 31]


def test_driver():
    """Whole segments in order of arrival, while jobs spin as urgently as they are."""
    jobs = [[2, (1, 3, 4)], [1, (1, 1, 1)], [20]]
    hosts = gs.HostTasks.from_segments([1000] * 3, jobs, deadline=[900, 300, 600], offset=[0, 3, 5])
    run = gs.simulate.host(hosts, 1, "driver", until=10)
    # Task 0's segment is 2..10; task 1 spins from 4 to 13, and then task 2 runs.
    assert run.mode == "spin" and run.end.tolist() == [10, 13, 33]
    assert run.spent()["spin"].tolist() == [1, 9, 0]
    run = gs.simulate.host(srm_example(), 4, "driver", until=30)
    assert run.end.max() == 21
    assert run.spent()["spin"].sum() > 0


def test_driver_whose_jobs_suspend():
    """As a FIFO lock around segments that are all kernel: nothing of it takes a CPU."""
    chance = random.Random(4)
    for _ in range(60):
        n, m = chance.randint(2, 6), chance.randint(1, 3)
        period = [chance.choice([20, 30, 40, 60]) for _ in range(n)]
        times = [[chance.randint(0, 4) for _ in range(5)] for _ in range(n)]
        jobs = [[a, (b, c + 1, d), e] for a, b, c, d, e in times]
        whole = [[a, (0, b + c + 1 + d, 0), e] for a, b, c, d, e in times]
        offset = [chance.randint(0, 9) for _ in range(n)]
        hosts = gs.HostTasks.from_segments(period, jobs, offset=offset)
        run = gs.simulate.host(hosts, m, gs.ways.Driver(mode="suspend"), until=240)
        hosts = gs.HostTasks.from_segments(period, whole, offset=offset)
        twin = gs.simulate.host(hosts, m, gs.ways.Srm(lock="fmlp"), until=240)
        assert run.mode == "suspend" and run.end.tolist() == twin.end.tolist()
        assert not run.spent()["spin"].any()
    jobs = [[2, (1, 3, 4)], [1, (1, 1, 1)], [20]]
    hosts = gs.HostTasks.from_segments([1000] * 3, jobs, deadline=[900, 300, 600], offset=[0, 3, 5])
    run = gs.simulate.host(hosts, 1, gs.ways.Driver(mode="suspend"), until=10)
    # Segments 2..10 and 10..13; task 2 has the CPU from 5 on.
    assert run.end.tolist() == [10, 13, 25]


def test_global_edf_without_a_gpu():
    hosts = gs.HostTasks([4, 4, 4], cpu=[3, 3, 2], deadline=[4, 4, 4])
    run = gs.simulate.host(hosts, 2, "srm", until=12)
    assert run.worst.tolist() == [3, 4, 5] and run.late_count.tolist() == [0, 0, 3]
    log = run.intervals
    for core in (0, 1):
        rows = np.flatnonzero(log.core == core)
        rows = rows[np.argsort(log.start[rows])]
        assert (log.start[rows][1:] >= log.end[rows][:-1]).all()
    with pytest.raises(ValueError, match=r"core\[0\]: got -1, expected one of the cores"):
        gs.simulate.host(hosts, 2, "stgm", until=12)


# The container of [RTNS10]


def test_figure_4():
    """As printed: the last job ends at 25; and at 21 when the server does not wait for kernels."""
    run = gs.simulate.host(srm_example(), 4, gs.ways.Container(mode="busy"), until=30)
    assert run.end.tolist() == [5, 5, 5, 10, 15, 20, 25] and run.way.server_period == 30
    svg = run.to_svg()
    assert ">copies<" in svg and ">spins, overhead<" in svg
    log = run.intervals
    gpu = (log.task >= 2) & (log.core >= 0)
    assert np.unique(log.core[gpu]).size == 1  # "isolated to a single (logical) processor"
    assert run.spent()["spin"].tolist() == [0, 0, 2, 2, 2, 2, 2]
    run = gs.simulate.host(srm_example(), 4, "container", until=30)
    assert run.mode == "suspend" and run.end.tolist() == [5, 5, 5, 9, 13, 17, 21]
    assert run.spent()["spin"].sum() == 0


def test_a_budget_is_used_up():
    """5/6 of every 6 ticks: the fifth job ends with the fifth budget."""
    run = gs.simulate.host(
        srm_example(), 4, gs.ways.Container(mode="busy", server_period=6), until=30
    )
    # The third kernel goes on from 11 to 12, while the server has no budget: a tick is saved.
    assert run.end.tolist() == [5, 5, 5, 11, 17, 23, 29]
    jobs = [[4], [(0, 4, 1)], [(0, 4, 1)]]
    hosts = gs.HostTasks.from_segments([20, 20, 20], jobs, priority=[0, 1, 2], offset=[0, 0, 3])
    # On one CPU the server, whose deadline is 20 as well, is behind task 0; it suspends from 4 to
    # 8, has used 5 of its 10 ticks at 9, and the other 5 at 14.
    run = gs.simulate.host(hosts, 1, "container", until=20)
    assert run.end.tolist() == [4, 9, 14]


@pytest.mark.parametrize("mode", ["busy", "suspend"])
def test_a_container_ends_with_its_last_job(mode):
    """A run ends before later activities of the server."""
    for period in (6, 30, 1000, 2**59 - 2):
        way = gs.ways.Container(mode=mode, server_period=period)
        run = gs.simulate.host(srm_example(), 4, way, until=30)
        assert run.now == run.end.max() < 60


def random_container_tasks(chance, n):
    tasks = []
    for _ in range(n):
        segments = chance.choice([0, 1, 1, 1, 2])
        cpu = [chance.choice([0, 1, 1, 2, 4]) for _ in range(segments + 1)]
        gpu = [tuple(chance.choice([0, 1, 1, 2, 5]) for _ in range(3)) for _ in range(segments)]
        cpu[0] += sum(cpu) + sum(map(sum, gpu)) == 0
        work = sum(cpu) + sum(map(sum, gpu))
        period = max(work, round(work * chance.uniform(1, 8)))
        deadline = chance.choice([period, period, chance.randint(1, 2 * period)])
        tasks.append((period, deadline, chance.randint(0, 3), cpu, gpu))
    return tasks


def hosts_of(tasks, offset):
    jobs = [
        [cpu[0], *(part for pair in zip(gpu, cpu[1:], strict=True) for part in pair)]
        for *_, cpu, gpu in tasks
    ]
    period, deadline, priority, _, _ = zip(*tasks, strict=True)
    return gs.HostTasks.from_segments(
        period, jobs, deadline=deadline, priority=priority, offset=offset
    )


@pytest.mark.long
@pytest.mark.parametrize("mode", ["busy", "suspend"])
def test_containers_are_like_the_twin(mode):
    chance = random.Random(mode)
    waited = 0
    for k in range(200):
        tasks = random_container_tasks(chance, chance.randint(1, 7))
        hosts = hosts_of(tasks, [chance.choice([0, 0, chance.randint(0, 9)]) for _ in tasks])
        m, period = chance.randint(1, 3), chance.randint(1, chance.choice([4, 40]))
        way = gs.ways.Container(mode=mode, server_period=period)
        run = gs.simulate.host(hosts, m, way, until=120, releases=chance.choice([0, 0.4]), seed=k)
        releases = [run.release[run.task == i].tolist() for i in range(hosts.n)]
        jobs = Container(tasks, m, period, mode == "busy").run(releases)
        finish = {(job.task, job.number): job.end for job in jobs}
        ours = zip(run.task.tolist(), run.job.tolist(), run.end.tolist(), strict=True)
        assert {(task, job): end for task, job, end in ours} == finish
        waited += int((run.spent()["wait for core"] > 0).sum())
    assert waited > 500
