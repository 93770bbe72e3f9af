"""Assignment of priorities: all orders, counterexamples to Audsley's conditions, refusals."""

from __future__ import annotations

import pickle
from functools import partial

import numpy as np
import pytest
from reference import context_tests, host_tests
from reference.host_tests import Task
from reference.sensitivity import all_orders, audsley

import gpusched as gs
from gpusched.analysis import assign_priorities


def placed(tasks):
    """A set of the package from one of the twins, for its cores and priorities."""
    rows = zip(
        *((t.T, t.D, t.prio, t.core) for t in tasks),
        strict=True,
    )
    period, deadline, priority, core = rows
    jobs = []
    for t in tasks:
        job = [t.cpu[0]]
        for gpu, cpu in zip(t.gpu, t.cpu[1:], strict=True):
            job += [gpu, cpu]
        jobs.append(job)
    options = {"deadline": deadline, "priority": priority, "core": core}
    return gs.HostTasks.from_segments(period, jobs, **options, sm=[[0] for _ in tasks])


def ranked(tasks, order):
    return [Task(t.T, t.cpu, t.gpu, t.D, order.index(i), t.core, [0]) for i, t in enumerate(tasks)]


# Section 7 of the theory: what Audsley's conditions fail on


def plain(test):
    """The test with jitter and, where it has the choice, one pass."""
    ways = {"suspension": "jitter", "fixed_point": "one_pass"}
    known = {name: ways[name] for name in ways if gs.methods()[test].choices(name)}
    return partial(getattr(gs.analysis, test), **known)


@pytest.mark.parametrize("test", ["stgm", "mpcp", "fmlp_plus"])
def test_bounds_depend_on_the_order_of_more_urgent_tasks(test):
    tasks = [Task(16, [2], (), 9, 0, 0), Task(61, [3], (), None, 1, 0)]
    tasks.append(Task(68, [1, 0], [(3, 2, 1)], None, 2, 0))
    run = plain(test)
    assert int(run(placed(ranked(tasks, [0, 1, 2]))).response[2]) == 12
    assert int(run(placed(ranked(tasks, [1, 0, 2]))).response[2]) == 14


@pytest.mark.parametrize(
    ("test", "mode", "below", "above"),
    [
        ("stgm", "suspend", 17, 19),
        ("mpcp", "suspend", 14, 16),
        ("mpcp", "busy", 17, 22),
        ("fmlp_plus", "suspend", 14, 16),
        ("fmlp_plus", "busy", 11, 16),
    ],
)
def test_a_task_may_take_longer_when_it_is_more_urgent(test, mode, below, above):
    tasks = [Task(58, [1, 0], [(3, 3, 0)], None, 0, 0)]
    tasks.append(Task(80, [2, 1], [(0, 1, 0)], None, 1, 0))
    run = plain(test)
    assert int(run(placed(ranked(tasks, [0, 1])), mode=mode).response[1]) == below
    assert int(run(placed(ranked(tasks, [1, 0])), mode=mode).response[1]) == above


def test_the_same_on_cores_of_their_own():
    spin = [Task(57, [2, 2], [(1, 2, 0)], None, 0, 1)]
    spin.append(Task(63, [1, 0, 0], [(1, 2, 0), (0, 3, 3)], None, 1, 0))
    bounds = [
        gs.analysis.mpcp(placed(ranked(spin, order)), mode="spin").response
        for order in ([0, 1], [1, 0])
    ]
    assert 16 in [int(b) for b in np.concatenate(bounds)]
    many = [Task(1000, [1, 1, 1, 1], [(0, 1, 0)] * 3, None, 0, 0)]
    many.append(Task(1000, [1, 1], [(0, 10, 0)], None, 1, 1))
    for test, expected in (("gpu_server", (27, 37)), ("mpcp", (17, 37))):
        run = plain(test)
        found = [int(run(placed(ranked(many, o))).response[0]) for o in ([1, 0], [0, 1])]
        assert tuple(found) == expected


# Agreement

TESTS = [
    ("stgm", {}),
    ("stgm", {"mode": "busy"}),
    ("mpcp", {"mode": "spin"}),
    ("fmlp_plus", {}),
    ("gpu_server", {"server": 0, "server_overhead": 1}),
    ("time_slices", {"timeslice": 3, "context_switch": 1}),
    ("time_slices", {"timeslice": 2, "order_free": True, "mode": "busy"}),
    ("time_slices", {"timeslice": 2, "fixed_point": "one_pass"}),
    ("gcaps", {"update_cost": 1}),
    ("gcaps", {"context_switch": 1}),
    ("gcaps", {"mode": "busy", "order_free": True, "context_switch": 2}),
    ("gcaps", {"stall": True, "update_cost": 2}),
]


def random_hosts(rng, sets=20, n=4):
    """Sets of which some pass with a few orders only."""
    shape = (sets, n)
    segments = rng.choice(3, shape, p=[0.3, 0.5, 0.2])
    on = np.arange(2) < segments[..., None]
    cpu = rng.integers(0, 5, (*shape, 3)) * (np.arange(3) <= segments[..., None])
    cpu[..., 0] += 1
    copies = [rng.integers(0, 3, on.shape) * on for _ in range(2)]
    kernel = rng.integers(1, 9, on.shape) * on
    work = cpu.sum(-1) + copies[0].sum(-1) + copies[1].sum(-1) + kernel.sum(-1)
    period = (work * np.exp(rng.uniform(0.5, 3, shape))).astype(np.int64) + 1
    deadline = np.maximum(work, (period * rng.uniform(0.6, 1, shape)).astype(np.int64))
    core = rng.integers(0, 2, shape)
    sm = np.ones((*shape, 1), np.bool_)
    return gs.HostTasks(
        period, cpu, copies[0], kernel[..., None], copies[1],
        deadline=deadline, segments=segments, core=core, sm=sm,
    )  # fmt: skip


@pytest.mark.long
@pytest.mark.parametrize(("test", "options"), TESTS)
def test_accepted_where_some_order_is(test, options):
    hosts = random_hosts(np.random.default_rng(len(test) + len(options)))
    found = assign_priorities(hosts, test, cpus=2, **options)
    run = getattr(gs.analysis, test)
    every = all_orders(hosts.n)
    stacks = [gs.HostTasks.stack([one.replace(priority=row) for row in every]) for one in hosts]
    can = [bool(run(stack, cpus=2, **options).accepted.any()) for stack in stacks]
    assert found.accepted.tolist() == can and found.optimal.all()
    assert (np.sort(found.hosts.priority, axis=1) == np.arange(hosts.n)).all()
    assert (run(found.hosts, cpus=2, **options).accepted == found.accepted).all()
    assert 0 < sum(can) < len(can)
    for one, alone in zip(found, hosts, strict=True):
        again = assign_priorities(alone, test, cpus=2, **options)
        assert (one.method, one.tests) == (again.method, again.tests)
        assert one.hosts.priority.tolist() == again.hosts.priority.tolist()


@pytest.mark.parametrize("test", ["stgm", "time_slices", "gcaps"])
@pytest.mark.parametrize("mode", ["suspend", "busy"])
def test_audsley_agrees_with_its_twin(test, mode):
    if (test, mode) == ("stgm", "suspend"):
        options = {"mode": "suspend"}
        assert (
            assign_priorities(random_hosts(np.random.default_rng(1), 3), test, **options).method[0]
            != "audsley"
        )
        return
    hosts = random_hosts(np.random.default_rng(5), 12)
    options = {
        "time_slices": {"timeslice": 3, "context_switch": 1},
        "gcaps": {"update_cost": 1, "context_switch": 1},
    }
    options = options.get(test, {})
    found = (
        assign_priorities(hosts, test, mode=mode, cpus=2, order_free=True, **options)
        if options
        else (assign_priorities(hosts, test, mode=mode, cpus=2))
    )
    assert set(found.method) == {"audsley"}
    for k, one in enumerate(hosts):

        def fits(i, above, below, one=one):
            order = [*above, i, *below]
            rank = np.argsort(order)
            tasks = []
            for j, count in enumerate(one.segments.tolist()):
                parts = zip(one.copy_in[j], one.kernel[j], one.copy_out[j], strict=True)
                gpu = [(int(a), e.tolist(), int(b)) for a, e, b in parts][:count]
                cpu = one.cpu[j, : count + 1].tolist()
                place = (int(one.deadline[j]), int(rank[j]), int(one.core[j]), [0])
                tasks.append(Task(int(one.period[j]), cpu, gpu, *place))
            if test == "stgm":
                return host_tests.stgm(tasks, busy=True, only=[i]).schedulable
            if test == "gcaps":
                run = context_tests.gcaps(tasks, 1, mode, way="free", only=[i], theta=1)
            else:
                run = context_tests.time_slices(tasks, 3, 1, mode, way="free", only=[i])
            return run.schedulable

        order = audsley(one.n, fits)
        assert (order is not None) == found.accepted[k]


def test_the_joint_test_accepts_what_the_order_free_one_does():
    hosts = random_hosts(np.random.default_rng(8), 100)
    for test, options in (
        ("time_slices", {"timeslice": 3, "context_switch": 1}),
        ("gcaps", {"update_cost": 1}),
    ):
        free = assign_priorities(hosts, test, order_free=True, **options)
        joint = assign_priorities(hosts, test, budget=0, **options)
        assert (joint.accepted >= free.accepted).all()
        assert (joint.method[free.accepted] == "audsley").all()
        assert joint.accepted.sum() > free.accepted.sum()


def test_a_search_that_is_cut():
    hosts = random_hosts(np.random.default_rng(9), 60)
    full, none = assign_priorities(hosts, "mpcp"), assign_priorities(hosts, "mpcp", budget=0)
    assert set(none.method) == {"deadline monotonic"} and (none.tests == 1).all()
    assert (none.optimal == none.accepted).all() and full.optimal.all()
    better = full.accepted & ~none.accepted
    assert better.any() and (full.method[better] == "exhaustive").all()
    at = int(np.flatnonzero(better)[0])
    assert full[at].why().startswith("A search over all orders found the priorities. Every")
    assert "other priorities may be accepted" in none[at].why()
    hopeless = int(np.flatnonzero(~full.accepted)[0])
    assert "No priorities make the test accept the set" in full[hopeless].why()
    by_deadline = np.argsort(np.argsort(hosts[hopeless].deadline, kind="stable"))
    assert full[hopeless].hosts.priority.tolist() == by_deadline.tolist()


# GPU priorities


@pytest.mark.parametrize("mode", ["suspend", "busy"])
def test_gpu_priorities(mode):
    hosts = random_hosts(np.random.default_rng(11), 60)
    found = assign_priorities(hosts, "gcaps", of="gpu", update_cost=1, mode=mode)
    plain = gs.analysis.gcaps(hosts, update_cost=1, mode=mode)
    again = gs.analysis.gcaps(hosts, update_cost=1, mode=mode, gpu_priority=found.gpu_priority)
    assert (again.accepted == found.accepted).all()
    assert (found.hosts.priority == hosts.priority).all()
    assert set(found.method) == {"audsley", "cpu priorities"}
    cut = found.method == "cpu priorities"
    assert (found.accepted[cut] == plain.accepted[cut]).all()
    assert (np.sort(found.gpu_priority, axis=1) == np.arange(hosts.n)).all()
    one = found[0]
    assert one.gpu_priority.tolist() == found.gpu_priority[0].tolist()
    assert one.to_frame()["gpu_priority"].tolist() == one.gpu_priority.tolist()


def test_gpu_priorities_that_save_a_set():
    """A long kernel of an urgent task waits for a short one with a short deadline."""
    hosts = gs.HostTasks.from_segments(
        [100, 100], [[1, (0, 30, 0)], [1, (0, 5, 0)]], deadline=[50, 20], core=[0, 1],
        priority=[0, 1],
    )  # fmt: skip
    assert not gs.analysis.gcaps(hosts).accepted
    found = assign_priorities(hosts, "gcaps", of="gpu")
    assert found.accepted and found.gpu_priority.tolist() == [1, 0]
    assert found.method == "audsley" and found.why().startswith("Audsley's algorithm found")


# Objects and refusals


def test_the_answer_is_an_object_like_others(tmp_path):
    hosts = random_hosts(np.random.default_rng(3), 4)
    ragged = gs.HostTasks.stack([hosts[0], hosts[1][:2], hosts[2]])
    for stack in (
        assign_priorities(ragged, "time_slices", timeslice=3),
        assign_priorities(ragged, "gcaps", of="gpu"),
        assign_priorities(ragged, "fmlp_plus"),
    ):
        for answer in (stack, stack[1]):
            answer.save(tmp_path / "found")
            assert gs.analysis.Assignment.load(tmp_path / "found") == answer
            assert pickle.loads(pickle.dumps(answer)) == answer
            assert answer._repr_html_().startswith("<p>Assignment: ")
            assert answer.plot() is not None and repr(answer).startswith("<Assignment: ")
        assert len(stack) == 3 and len(stack[1]) == 2 and stack[1].hosts.n == 2
        assert len(stack.to_frame()) == 10 and len(list(stack)) == 3
        assert stack.response.shape == stack.slack.shape == (3, 4)
        assert (stack.schedulable == stack.accepted).all() and stack.seconds >= 0
        assert stack[[0, 2]].hosts.n == 4 and "explains set i" in stack.why()
        assert stack[0].why(0)


def test_refusals():
    hosts = random_hosts(np.random.default_rng(3), 2)
    for arguments, options, kind, message in (
        ((hosts, "edf"), {}, ValueError, "way: got 'edf', expected one of "),
        ((hosts, "mpcp"), {"of": "gpu"}, ValueError, "of: got 'gpu' for mpcp, expected 'cpu'"),
        ((hosts, "mpcp"), {"of": "sm"}, ValueError, "of: got 'sm', expected "),
        ((hosts, "mpcp"), {"budget": -1}, ValueError, "budget: got -1, expected 0 to 2..31 - 1"),
        ((hosts, "mpcp"), {"budget": 1.5}, TypeError, "budget: got 1.5"),
        ((hosts, "gcaps"), {"gpu_priority": [0, 1]}, ValueError, "gpu_priority: got numbers"),
        ((hosts, "gcaps"), {"of": "gpu", "stall": True}, ValueError, "stall: got True"),
        ((hosts, "gcaps"), {"of": "gpu", "order_free": True}, ValueError, "order_free: got True"),
        ((hosts, "gcaps"), {"variant": "paper"}, ValueError, "variant: got 'paper'"),
        ((hosts, "time_slices"), {}, ValueError, "timeslice: got none"),
        (([4], "mpcp"), {}, TypeError, "hosts: .*HostTasks"),
    ):
        with pytest.raises(kind, match=message):
            assign_priorities(*arguments, **options)
    many = gs.HostTasks.stack([hosts] * 2000)
    with pytest.raises(gs.Cancelled):
        assign_priorities(many, "mpcp", stop=bytearray(b"\1"))
    tied = hosts.replace(priority=1)
    assert (
        assign_priorities(tied, "mpcp").accepted == assign_priorities(hosts, "mpcp").accepted
    ).all()
