"""gs.analysis of tasks with CPU and GPU segments: verdicts, placement, errors."""

from __future__ import annotations

import copy
import pickle
import threading
from typing import Any

import numpy as np
import pytest

import gpusched as gs
from gpusched.analysis import TERMS, Verdict
from gpusched.ways.way import placed_ways

pytestmark = pytest.mark.numbers

JOBS = [
    [3, (1, 6, 1), 2],
    [5, (2, 8, 1), 1],
    [10],
    [6, (2, 10, 2), 2, (1, 4, 1), 1],
]


def vector_a(**options: Any) -> gs.HostTasks:
    """Test vector A of the specification."""
    placed = {"sm": [[0], [0, 1], [], [1]], "core": [0, 1, 0, 1]} | options
    return gs.HostTasks.from_segments([60, 80, 120, 160], JOBS, **placed)


def vector_a4() -> gs.HostTasks:
    """Test vector A4: a plateau task."""
    return gs.HostTasks.from_segments(
        [100, 200, 250, 300],
        [
            [7, (1, [74, 48, 39, 35], 3), 7],
            [7, (2, [40, 26, 21, 19], 4), 4],
            [5, (4, 67, 1), 2],
            [24],
        ],
    )


TESTS: list[Any] = [
    lambda h, **o: gs.analysis.stgm(h, mode="suspend", **o),
    lambda h, **o: gs.analysis.stgm(h, mode="busy", **o),
    lambda h, **o: gs.analysis.stgm(h, variant="paper", **o),
    lambda h, **o: gs.analysis.mpcp(h, mode="suspend", **o),
    lambda h, **o: gs.analysis.mpcp(h, mode="busy", **o),
    lambda h, **o: gs.analysis.mpcp(h, mode="spin", **o),
    lambda h, **o: gs.analysis.fmlp_plus(h, mode="suspend", **o),
    lambda h, **o: gs.analysis.fmlp_plus(h, mode="busy", **o),
    lambda h, **o: gs.analysis.fmlp_plus(h, variant="gcaps", **o),
    lambda h, **o: gs.analysis.gpu_server(h, server_overhead=1, **o),
    lambda h, **o: gs.analysis.gpu_server(h, server=0, **o),
]


@pytest.mark.parametrize(
    ("mode", "variant", "response", "parts"),
    [
        ("suspend", "sound", [39, 41, 17, 87], None),
        ("suspend", "paper", [29, 43, 17, 75], ([8, 6, 0, 12], [8, 16, 0, 16], [0, 4, 0, 0])),
        ("busy", "sound", [35, 41, 45, 58], None),
        ("busy", "paper", [29, 53, 23, 147], ([8, 6, 0, 12], [8, 16, 0, 16], [0, 14, 0, 0])),
        ("busy", "paper, B_h", [29, 53, 39, -1], None),
    ],
)
def test_vector_a(mode: Any, variant: Any, response: list[int], parts: Any) -> None:
    verdict = gs.analysis.stgm(vector_a(), mode=mode, variant=variant)
    assert verdict.response.tolist() == [None if r < 0 else r for r in response]
    assert verdict.schedulable is (None if -1 in response else True)
    assert verdict.bounded.tolist() == [verdict.accepted] * 4
    if parts is not None:
        found = tuple(verdict.terms[name].tolist() for name in ("copy", "kernel", "lower"))
        assert found == parts


@pytest.mark.parametrize("test", TESTS)
def test_a_verdict_adds_up(test: Any) -> None:
    sets = gs.generate.stgm(9, 200, seed=4, gpu_ratio=(0.5, 2))
    rng = np.random.default_rng(0)
    sm = rng.random((200, 9, 5)) < 0.4
    sm[~sm.any(axis=-1)] = True
    sets = sets.with_placement(core=rng.integers(0, 3, (200, 9)), sm=sm)
    verdict = test(sets, cpus=3)
    assert 0 < verdict.schedulable.sum() < 200
    assert len(verdict) == 200 and verdict.hosts is sets
    total = sum(verdict.terms.values())
    reached = ~verdict.response.mask
    assert (total == verdict.response)[reached].all()
    assert (verdict.response <= sets.deadline).all()
    assert (verdict.terms["own"][reached] >= sets.cpu_time[reached]).all()
    for i in range(200):
        failed = verdict.failed[i]
        assert (failed is np.ma.masked) == verdict.accepted[i] == reached[i].all()
        if failed is not np.ma.masked:
            assert total[i, failed] > sets.deadline[i, failed]
            assert reached[i][sets.priority[i] < sets.priority[i, failed]].all()
            assert not reached[i, failed]
    assert (verdict.bounded == verdict.schedulable[:, None]).all()
    # One set alone is answered as in the stack.
    for i in (0, 57, 199):
        one = test(sets[i], cpus=3)
        assert one == verdict[i]
        assert one.why() == verdict[i].why()
        assert type(one.accepted) is bool and type(one.failed) is (
            type(None) if one.accepted else int
        )
    assert verdict[-1] == verdict[199]


@pytest.mark.parametrize("test", TESTS[:2] + TESTS[3:8])
def test_less_to_do_is_no_harder(test: Any) -> None:
    """Shorter kernels: no response of an accepted set grows."""
    sets = gs.generate.stgm(8, 150, seed=9, sms=2)
    rng = np.random.default_rng(1)
    sets = sets.with_placement(core=rng.integers(0, 3, (150, 8)), sm=np.ones((150, 8, 1), bool))
    shorter = gs.HostTasks(
        sets.period, sets.cpu, sets.copy_in, sets.kernel // 2, sets.copy_out,
        segments=sets.segments, core=sets.core, sm=sets.sm,
    )  # fmt: skip
    before, after = test(sets, cpus=3), test(shorter, cpus=3)
    accepted = before.schedulable
    assert accepted.any() and after.schedulable[accepted].all()
    assert (after.response[accepted] <= before.response[accepted]).all()


def test_why() -> None:
    fine = gs.analysis.stgm(vector_a(name=["camera", "lidar", "planner", "map"]))
    assert fine.why() == (
        "Every response bound is within its deadline; camera has the least slack, with 39 of 60."
    )
    late = gs.analysis.stgm(vector_a(deadline=[20, 80, 120, 160]))
    assert late.failed == 0 and late.response.tolist() == [None] * 4
    assert late.why() == (
        "task 0 may miss its deadline of 20: its response bound comes to 39 or more, 18 waiting "
        "for kernels on its SMs, 13 its own segments, 8 waiting for the copy engine."
    )
    tight = gs.analysis.stgm(vector_a(deadline=[38, 80, 120, 160]))
    assert tight.why().endswith("Without waiting for kernels on its SMs it would be in time.")
    alone = gs.analysis.stgm(vector_a(deadline=[12, 80, 120, 160]))
    assert alone.why().endswith("Its own segments alone take longer.")
    server = gs.analysis.gpu_server(vector_a(), server=0, server_overhead=1)
    assert server.server == 0 and server.terms["server"].any()
    assert gs.analysis.gpu_server(vector_a()).server == 2


def test_server_of_each_set() -> None:
    stack = gs.generate.stgm(6, 3, seed=1).with_placement(core=[0, 1, 0, 1, 0, 1])
    verdict = gs.analysis.gpu_server(stack, 2, server=[0, 1, 2])
    assert verdict.server.tolist() == [0, 1, 2]
    for i in range(3):
        assert gs.analysis.gpu_server(stack[i], 2, server=i) == verdict[i]
    with pytest.raises(
        ValueError, match=r"server: got shape \(2,\), expected one core, or one for"
    ):
        gs.analysis.gpu_server(stack, 2, server=[0, 1])
    with pytest.raises(ValueError, match="server"):
        gs.analysis.gpu_server(stack, 2, server=3)


@pytest.mark.parametrize(
    "way",
    [
        *(gs.ways.Mpcp(mode=mode) for mode in ("suspend", "busy", "spin")),
        *(gs.ways.FmlpPlus(mode=mode) for mode in ("suspend", "busy")),
        gs.ways.GpuServer(server_overhead=20),
    ],
)
def test_partition_is_worst_fit(way: gs.ways.Way) -> None:
    test, mode = way.name, way.given.get("mode", "suspend")
    sets = gs.generate.stgm(9, 60, seed=2)
    verdict = gs.analysis.partition(sets, 3, way, sms=4)
    assert verdict.test == test and verdict.mode == mode and (sets.core == -1).all()
    again = getattr(gs.analysis, test)
    options: dict[str, Any] = dict(way.given)
    if test == "gpu_server":
        options["server"] = verdict.server
    assert again(verdict.hosts, 3, 4, **options) == verdict
    if test == "gpu_server":
        use = sets.cpu_time / sets.period
        server = ((sets.copy_time + 40 * sets.segments) / sets.period).sum(axis=1)
    else:
        use = sets.utilization("suspend" if mode == "suspend" else "busy", sms=4)
        server = np.full(60, -1.0)
    for i in range(60):
        load, items = np.zeros(3), list(enumerate(use[i].tolist()))
        if test == "gpu_server":
            items.append((9, server[i]))
        for task, share in sorted(items, key=lambda item: -item[1]):
            core = int(np.argmin(load))
            found = verdict.server[i] if task == 9 else verdict.hosts.core[i, task]
            assert core == found
            load[core] += share


def test_partition_of_other_forms() -> None:
    sets = gs.generate.stgm(12, 100, seed=2)
    sound = gs.analysis.partition(sets, 4, "fmlp_plus", sms=13)
    public = gs.analysis.partition(sets, 4, "fmlp_plus", sms=13, variant="gcaps")
    np.testing.assert_array_equal(sound.hosts.core, public.hosts.core)
    assert public.variant == "gcaps"
    assert public == gs.analysis.fmlp_plus(public.hosts, 4, 13, variant="gcaps")


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"core": [0, 1, -1, 1]}, r"^core\[2\]: got none, expected a core"),
        ({"priority": [0, 1, 1, 2]}, "priority"),
        ({"deadline": [60, 81, 120, 160]}, "deadline"),
        ({"sm": [[0], [], [], [1]]}, "sm"),
    ],
)
def test_refused_sets(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        gs.analysis.stgm(vector_a(**changes))


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda h: gs.analysis.stgm(h, 1), ValueError, r"core\[1\](: got| =) 1"),
        (lambda h: gs.analysis.stgm(h, 0), ValueError, r"cpus(: got| =) 0"),
        (lambda h: gs.analysis.stgm(h, sms=1), ValueError, r"sms(: got| =) 1"),
        (lambda h: gs.analysis.stgm(h, sms=-1), ValueError, r"sms(: got| =) -1"),
        (lambda h: gs.analysis.stgm(h, sms=2**33), ValueError, r"sms(: got| =) 8589934592"),
        (lambda h: gs.analysis.stgm_allocate(h, 2, 1025), ValueError, r"sms(: got| =) 1025"),
        (lambda h: gs.analysis.stgm_exhaustive(h, 2, 1025), ValueError, r"sms(: got| =) 1025"),
        (lambda h: gs.analysis.stgm(h, 2**70), OverflowError, r"cpus(: got| =) [0-9]*"),
        (lambda h: gs.analysis.mpcp(h, 2**999), OverflowError, "cpus: .*64 bits"),
        (lambda h: gs.analysis.gpu_server(h, 2**70), OverflowError, r"cpus(: got| =) [0-9]*"),
        (
            lambda h: gs.analysis.gpu_server(h, server_overhead=2**70),
            OverflowError,
            r"server_overhead: got 1180591620717411303424, expected",
        ),
        (
            lambda h: gs.analysis.stgm_allocate(h, 2, printed=5),
            TypeError,
            r"printed(: got| =) 5",
        ),
        (lambda h: gs.analysis.stgm(h, mode="spin"), ValueError, r"mode(: got| =) 'spin'"),
        (lambda h: gs.analysis.stgm(h, variant="x"), ValueError, r"variant(: got| =) 'x'"),
        (lambda h: gs.analysis.stgm(JOBS), TypeError, "hosts: .*HostTasks"),
        (lambda h: gs.analysis.mpcp(h, sms=0), ValueError, r"sms(: got| =) 0"),
        (lambda h: gs.analysis.mpcp(h, 2.5), TypeError, r"cpus(: got| =) 2.5"),
        (lambda h: gs.analysis.mpcp(h, mode=1), ValueError, r"mode(: got| =) 1"),
        (
            lambda h: gs.analysis.fmlp_plus(h, variant="paper"),
            ValueError,
            r"variant(: got| =) 'paper'",
        ),
        (
            lambda h: gs.analysis.gpu_server(h, server_overhead=-1),
            ValueError,
            "server_overhead: got -1, expected 0 or more",
        ),
        (lambda h: gs.analysis.gpu_server(h, server=-1), ValueError, "server"),
        (
            lambda h: gs.analysis.partition(h, 2, "srm"),
            ValueError,
            f"way: got 'srm', expected one of {', '.join(placed_ways())}",
        ),
        (
            lambda h: gs.analysis.partition(h, 2, "fmlp_plus", mode="spin"),
            ValueError,
            r"mode(: got| =) 'spin'",
        ),
        (
            lambda h: gs.analysis.partition(h, 2, "mpcp", variant="gcaps"),
            ValueError,
            "variant: got an unknown option of mpcp, expected one of mode, fixed_point,",
        ),
        (lambda h: gs.analysis.partition(h, 0), ValueError, r"cpus(: got| =) 0"),
    ],
)
def test_refused_calls(call: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        call(vector_a())


def test_stop() -> None:
    with pytest.raises(gs.Cancelled):
        gs.analysis.mpcp(
            gs.generate.stgm(16, 8000, seed=1).with_placement(core=0), stop=bytearray(b"\1")
        )
    many = gs.HostTasks(np.full(60_000, 10**6), 10)
    with pytest.raises(gs.Cancelled):  # while cores are being chosen
        gs.analysis.partition(many, 60_000, stop=bytearray(b"\1"))


def test_as_an_object() -> None:
    pytest.importorskip("pandas")
    late = gs.analysis.stgm(vector_a(deadline=[20, 80, 120, 160], name=["<b>", "", "&", "d"]))
    stack = gs.analysis.mpcp(gs.generate.stgm(6, 4, seed=1).with_placement(core=0))
    for verdict in (gs.analysis.stgm(vector_a()), late, stack):
        for other in (pickle.loads(pickle.dumps(verdict)), copy.deepcopy(verdict)):
            assert other == verdict and not other.response.flags.writeable
        assert len(verdict.to_frame()) == verdict.response.size
        assert isinstance(verdict, Verdict) and tuple(verdict.terms) == TERMS
        with pytest.raises(ValueError, match="read-only"):
            verdict.response[...] = 0
        with pytest.raises(TypeError):
            verdict.terms["own"] = None  # type: ignore[index]
    assert late != gs.analysis.stgm(vector_a()) and late != 1
    assert repr(late) == "<Verdict: undecided (stgm, suspend; 4 tasks on 2 cores, 2 SMs)>"
    assert "&lt;b&gt;" in late._repr_html_() and "<b>" not in late._repr_html_()
    assert "0 of 4 sets schedulable, 4 undecided (mpcp, suspend; 1 core, 13 SMs)" in repr(stack)
    assert len(stack._repr_html_()) < 300
    assert "may miss" in late.why("<b>")
    assert late.why(2) == "&: not examined."
    with pytest.raises(ValueError, match="task: got 0, expected None for a stack"):
        stack.why(0)
    with pytest.raises(TypeError, match="expected a stack"):
        late[0]


def test_values_of_options_are_told_apart_by_type() -> None:
    hosts = vector_a()
    for overhead in (1, np.int64(1), 1):  # a kept form of the test does not take in other types
        answer = gs.analysis.gpu_server(hosts, server_overhead=overhead)
        assert answer.way.given["server_overhead"] == 1
        for wrong in (True, 1.0):
            with pytest.raises(TypeError, match=r"server_overhead: got .*, expected an integer"):
                gs.analysis.gpu_server(hosts, server_overhead=wrong)
    with pytest.raises(TypeError, match="server_overhead: got"):
        gs.analysis.gpu_server(hosts, server_overhead=[1])
    assert gs.analysis.gcaps(hosts, update_cost=0) != gs.analysis.gcaps(hosts, update_cost=1)


@pytest.mark.parametrize("test", TESTS)
def test_a_set_is_a_stack_of_one(test: Any) -> None:
    hosts = vector_a()
    answer = test(hosts)
    assert answer == test(gs.HostTasks.stack([hosts, hosts]))[1]
    assert type(answer.accepted) is bool and answer.response.shape == (4,)
    arrays = [answer.response.data, answer._computed, *answer.terms.values()]
    assert all(not array.flags.writeable for array in arrays)
    with pytest.raises(KeyError):
        answer.terms["unknown"]


def test_picture() -> None:
    plt = pytest.importorskip("matplotlib.pyplot")
    for verdict, which in (
        (gs.analysis.stgm(vector_a()), None),
        (gs.analysis.stgm(vector_a(deadline=[20, 80, 120, 160])), None),
        (gs.analysis.mpcp(gs.generate.stgm(6, 4, seed=1).with_placement(core=0)), 2),
    ):
        verdict = verdict if which is None else verdict[which]
        ax = verdict.plot()
        assert len(ax.get_yticklabels()) == verdict.hosts.n
        ends = max(patch.get_x() + patch.get_width() for patch in ax.patches)
        assert ends == max(sum(verdict.terms.values()).tolist())
        plt.close(ax.figure)


# Allocation


def test_vector_a4() -> None:
    found = gs.analysis.stgm_allocate(vector_a4(), cpus=2, sms=4)
    assert found.schedulable and found.rounds == 2 and found.hosts.is_placed
    assert found.response.tolist() == [82, 81, 110, 53]
    assert found.hosts.core.tolist() == [0, 1, 1, 1]
    assert [np.flatnonzero(row).tolist() for row in found.hosts.sm] == [[0, 1], [2], [3], []]
    assert gs.analysis.stgm(found.hosts, 2).response.tolist() == found.response.tolist()
    sign = gs.analysis.stgm_allocate(vector_a4(), cpus=2, sms=4, printed="line 24")
    assert not sign.schedulable and not sign.bounded.any() and sign.rounds > 2
    assert "may miss its deadline" in sign.why() and not sign.hosts.is_placed
    best = gs.analysis.stgm_exhaustive(vector_a4(), cpus=2, sms=4)
    assert best.schedulable is True and best.hosts.is_placed
    assert "<td>0</td>" in found._repr_html_() and sign._repr_html_() and best._repr_html_()


@pytest.mark.parametrize("mode", ["suspend", "busy"])
@pytest.mark.parametrize("apart", [False, True])
def test_what_is_allocated_passes(mode: Any, apart: bool) -> None:
    sets = gs.generate.stgm(12, 200, seed=3, sms=5)
    found = gs.analysis.stgm_allocate(sets, 3, 5, mode=mode, apart=apart)
    accepted = np.flatnonzero(found.schedulable)
    assert 5 < len(accepted) < 195
    again = gs.analysis.stgm(found.hosts[accepted], 3, 5, mode=mode)
    assert again.schedulable.all()
    np.testing.assert_array_equal(again.response, found.response[accepted])
    for i in (0, 100, 199):
        assert gs.analysis.stgm_allocate(sets[i], 3, 5, mode=mode, apart=apart) == found[i]
    if apart:
        plain = gs.analysis.stgm_allocate(sets, 3, 5, mode=mode).schedulable
        assert (found.schedulable | ~plain).all() and (found.schedulable & ~plain).any()


@pytest.mark.parametrize("mode", ["suspend", "busy"])
@pytest.mark.parametrize("sms", [1, 2, 5, 40])
def test_what_is_placed_passes_with_many_users(mode: Any, sms: int) -> None:
    """The allocator sums up long runs of tasks that share SMs; the whole test has their graph."""
    sets = gs.generate.stgm(
        40, 40, 9, sms=sms, gpu_ratio=(1, 20), utilization=(0.002, 0.02), cpu_ratio=(1, 4)
    )
    found = gs.analysis.stgm_allocate(sets, 8, sms, mode=mode)
    placed = (found.hosts.core >= 0).all(axis=1)
    np.testing.assert_array_equal(placed, found.accepted)
    assert placed.any()


@pytest.mark.parametrize("variant", ["sound", "paper"])
def test_groups_of_tasks_share_sms_of_their_own(variant: Any) -> None:
    """More tasks with GPU segments than SMs: sets of SMs are equal or disjoint, never a chain."""
    sets = gs.generate.stgm(12, 150, seed=9, sms=3)
    plain = gs.analysis.stgm_allocate(sets, 4, 3, variant=variant)
    found = gs.analysis.stgm_allocate(sets, 4, 3, variant=variant, apart=True)
    assert (found.schedulable | ~plain.schedulable).all()
    more = found.schedulable & ~plain.schedulable
    assert more.sum() > 0.2 * len(sets)
    passed = gs.analysis.stgm(found.hosts[np.flatnonzero(found.schedulable)], 4, 3, variant=variant)
    assert passed.schedulable.all()
    shared = 0
    for i in np.flatnonzero(more):
        sm = found.hosts.sm[i][sets.segments[i] > 0]
        common = (sm[:, None] & sm).any(axis=2)
        equal = (sm[:, None] == sm).all(axis=2)
        assert (common == equal).all()
        shared += bool(common.sum() > len(sm))
    assert shared > 0.2 * len(sets)
    assert (found.rounds[more] <= 4 + 16).all()  # then Algorithm 1 would follow


def test_few_allocations_are_missed() -> None:
    sets = gs.generate.stgm(8, 100, seed=12, cpus=2, sms=3)
    exists = gs.analysis.stgm_exhaustive(sets, 2, 3).accepted
    plain = gs.analysis.stgm_allocate(sets, 2, 3).schedulable
    apart = gs.analysis.stgm_allocate(sets, 2, 3, apart=True).schedulable
    assert not (apart & ~exists).any()
    assert (exists & ~plain).sum() > 0.15 * exists.sum()
    assert (exists & ~apart).sum() < 0.05 * exists.sum()


def test_line_16_is_unsafe() -> None:
    """Counterexample A5: the task that was placed first is not checked again."""
    pair = gs.HostTasks([10, 4], [5, 2])
    assert not gs.analysis.stgm_allocate(pair, 1, 1).schedulable
    printed = gs.analysis.stgm_allocate(pair, 1, 1, printed=["line 16"])
    assert printed.schedulable and printed.hosts.core.tolist() == [0, 0]
    assert not gs.analysis.stgm(printed.hosts).schedulable


@pytest.mark.long
@pytest.mark.parametrize("line", ["line 16", "load", "line 23", "line 24", "line 26"])
@pytest.mark.parametrize("mode", ["suspend", "busy"])
def test_printed_lines_are_those_of_the_rounds(mode: Any, line: str) -> None:
    """Allocations of the preceding allocator pass; for other sets the answer is their own."""
    sets = gs.generate.stgm(10, 120, seed=8, cpus=2, sms=4)
    alone = gs.analysis.stgm_allocate(sets, 2, 4, mode=mode, printed=line)
    both = gs.analysis.stgm_allocate(sets, 2, 4, mode=mode, printed=line, apart=True)
    safe = gs.analysis.stgm_allocate(sets, 2, 4, mode=mode, apart=True)
    first = 0
    for i in range(len(sets)):
        if both[i].hosts == safe[i].hosts and both[i].rounds == safe[i].rounds:
            first += safe[i].accepted
            assert both[i].accepted >= safe[i].accepted
        else:
            assert both[i].hosts == alone[i].hosts
            assert both[i].accepted == alone[i].accepted
    assert first > 5


def test_many_empty_cores() -> None:
    """A task that no core can take: of the empty ones, one is asked."""
    n = 40_000
    period, cpu = np.full(n, 10**6), np.full(n, 9 * 10**5)
    period[-1], cpu[-1] = 10**6 - 1, 10**6 - 2
    deadline = period.copy()
    deadline[-1] = 10
    late = gs.HostTasks(period, cpu, deadline=deadline)
    verdict = gs.analysis.stgm_allocate(late, n, 1)  # hours, if each of them were asked
    assert not verdict.schedulable and verdict.failed == n - 1


def test_exhaustive() -> None:
    sets = gs.generate.stgm(8, 80, seed=3, sms=2)
    best = gs.analysis.stgm_exhaustive(sets, 2, 2)
    heuristic = gs.analysis.stgm_allocate(sets, 2, 2)
    assert best.schedulable.dtype == np.bool_ and set(best.schedulable.tolist()) == {False, True}
    assert (best.schedulable >= heuristic.schedulable).all()
    found = best.accepted
    assert found.sum() > heuristic.schedulable.sum()
    assert gs.analysis.stgm(best.hosts[np.flatnonzero(found)], 2, 2).schedulable.all()
    none = int(np.flatnonzero(~found)[0])
    assert best[none].why() == "No allocation passes the test."
    assert best[none].schedulable is None and best[none].failed is None
    assert best[none].spent is False
    spent = gs.analysis.stgm_exhaustive(sets, 2, 2, states=1)
    open_ = int(np.flatnonzero(spent.spent)[0])
    assert spent[open_].why() == "The budget was spent before all allocations were tried."
    assert spent[open_].schedulable is None and not spent.bounded[open_].any()
    assert "undecided" in repr(spent[open_]) and not spent[open_].bounded.any()
    assert pickle.loads(pickle.dumps(spent)) == spent
    with pytest.raises(ValueError, match=r"states(: got| =) 0"):
        gs.analysis.stgm_exhaustive(sets, 2, 2, states=0)
    with pytest.raises(ValueError, match="tasks"):
        gs.analysis.stgm_exhaustive(gs.generate.stgm(17, seed=1), 2, 2)


def test_exhaustive_with_many_sms() -> None:
    """Divisions that cannot pass are not counted through one by one."""
    times = list(range(1100, 76, -1))  # 1,024 SMs, one tick less with each
    jobs = [[1, (1, times, 1), 1]] * 6
    stop = bytearray(1)
    timer = threading.Timer(20, lambda: stop.__setitem__(0, 1))
    timer.start()
    try:
        easy = gs.HostTasks.from_segments([2000] * 6, jobs)
        found = gs.analysis.stgm_exhaustive(easy, 6, 1024, states=1000, stop=stop)
        hard = gs.HostTasks.from_segments([300] * 6, jobs)
        none = gs.analysis.stgm_exhaustive(hard, 6, 1024, states=10_000, stop=stop)
    finally:
        timer.cancel()
    assert found.schedulable and (found.hosts.sm.sum(axis=1) > 0).all()
    assert gs.analysis.stgm(found.hosts, 6, 1024).schedulable
    assert none.schedulable is None and not none.spent


@pytest.mark.parametrize("mode", ["suspend", "busy"])
def test_exhaustive_decides_six_tasks_with_gpu_segments(mode: Any) -> None:
    """Sets of 10 tasks on 13 SMs, with an allocation and without, within the default budget."""
    sets = gs.generate.stgm(10, 400, seed=4, utilization=(0.2, 0.5))
    sets = sets[np.flatnonzero((sets.segments > 0).sum(axis=1) == 6)]
    best = gs.analysis.stgm_exhaustive(sets, 4, 13, mode=mode)
    apart = gs.analysis.stgm_allocate(sets, 4, 13, mode=mode, apart=True)
    assert len(sets) > 20 and not best.spent.any()
    assert (best.accepted >= apart.accepted).all() and (best.accepted > apart.accepted).any()
    assert not best.accepted.all()
    found = best.hosts[np.flatnonzero(best.accepted)]
    assert gs.analysis.stgm(found, 4, 13, mode=mode).schedulable.all()


def test_one_time_per_kernel_says_nothing_of_fewer_sms() -> None:
    """Tasks whose kernels have their times on 4 SMs must not pass with one SM each."""
    jobs = [[1, (1, 40, 1), 1]] * 4
    whole = gs.HostTasks.from_segments([100] * 4, jobs)
    for call in (gs.analysis.stgm_allocate, gs.analysis.stgm_exhaustive):
        for sets in (whole, gs.HostTasks.stack([whole, whole])):
            with pytest.raises(ValueError, match=r"kernel\[0.*: got one time, expected times on 1"):
                call(sets, 4, 4)
        assert call(whole, 4, 1).hosts.columns == 1
        assert call(gs.HostTasks([9, 9], [1, 1]), 2, 4).schedulable
        said = [[1, (1, [40, 40], 1), 1]] * 4
        assert call(gs.HostTasks.from_segments([100] * 4, said), 4, 4).schedulable
    placed = whole.with_placement(core=[0, 1, 2, 3], sm=[[0], [1], [2], [3]])
    assert "one time given for each kernel" in gs.analysis.stgm(placed).assumptions[-1]
    found = gs.analysis.stgm_allocate(vector_a4(), 2, 4)
    assert "one time" not in " ".join(found.assumptions)


@pytest.mark.parametrize("mode", ["suspend", "busy"])
@pytest.mark.parametrize("unit", [1, 2, 3, 8])
def test_sms_in_units(mode: Any, unit: int) -> None:
    sms = 11
    sets = gs.generate.stgm(10, 150, seed=6, cpus=3, sms=sms)
    few = sets[np.flatnonzero((sets.segments > 0).sum(axis=1) <= 6)]  # as the search requires
    for call, some, options in (
        (gs.analysis.stgm_allocate, sets, {}),
        (gs.analysis.stgm_allocate, sets, {"apart": True}),
        (gs.analysis.stgm_exhaustive, few, {"states": 2000}),
    ):
        found = call(some, 3, sms, mode=mode, unit=unit, **options)
        assert found.sms == found.hosts.sms == sms and found.hosts.columns == sets.columns
        whole = found.hosts.sm[..., : sms - sms % unit]
        whole = whole.reshape(*whole.shape[:2], -1, unit)
        assert (whole.all(axis=-1) == whole.any(axis=-1)).all()
        assert not found.hosts.sm[..., sms - sms % unit :].any()
        accepted = np.flatnonzero(found.accepted)
        assert len(accepted) > 5
        again = gs.analysis.stgm(found.hosts[accepted], 3, sms, mode=mode)
        assert again.accepted.all()
        np.testing.assert_array_equal(again.response, found.response[accepted])
        for name, part in again.terms.items():
            np.testing.assert_array_equal(part, found.terms[name][accepted])
        assert call(some[3], 3, sms, mode=mode, unit=unit, **options) == found[3]
        if unit == 1:
            assert found == call(some, 3, sms, mode=mode, **options)


@pytest.mark.parametrize("mode", ["suspend", "busy"])
def test_units_of_sms_allow_no_more_than_single_sms(mode: Any) -> None:
    sets = gs.generate.stgm(9, 900, seed=12, cpus=2, sms=4, utilization=(0.1, 0.4))
    single = gs.analysis.stgm_exhaustive(sets, 2, 4, mode=mode)
    units = gs.analysis.stgm_exhaustive(sets, 2, 4, mode=mode, unit=2)
    assert not single.spent.any() and not units.spent.any()
    assert (single.accepted & ~units.accepted).any()
    assert not (units.accepted & ~single.accepted).any()
    for apart in (False, True):
        found = gs.analysis.stgm_allocate(sets, 2, 4, mode=mode, unit=2, apart=apart).accepted
        assert found.any() and not (found & ~units.accepted).any()


def test_a_unit_of_sms() -> None:
    """The number of columns need not be a multiple of the unit, nor as large."""
    jobs = [[1, (1, [60, 30, 20], 1), 1]] * 2
    hosts = gs.HostTasks.from_segments([100, 100], jobs)
    for call in (gs.analysis.stgm_allocate, gs.analysis.stgm_exhaustive):
        pair = call(hosts, 2, 5, unit=2)
        assert [np.flatnonzero(row).tolist() for row in pair.hosts.sm] == [[0, 1], [2, 3]]
        assert pair.response.tolist() == [36, 36]
        assert pair.response.tolist() == gs.analysis.stgm(pair.hosts, 2, 5).response.tolist()
        wide = call(hosts, 2, 8, unit=4)
        assert wide.accepted and wide.hosts.kernel_time(wide.hosts.sm.sum(-1)).max() == 20
        # With one unit of all SMs, a single time is that of the whole GPU.
        whole = gs.HostTasks.from_segments([100, 100], [[1, (1, 20, 1), 1]] * 2)
        assert call(whole, 2, 4, unit=4).hosts.sm.all()
        with pytest.raises(ValueError, match=r"kernel\[0.*: got one time, expected times on 1"):
            call(whole, 2, 5, unit=4)  # the unit has 4 of 5 SMs
        for unit in (0, -1, 5, 2**60):
            with pytest.raises(ValueError, match=f"unit: got {unit}, expected 1 to the number of"):
                call(hosts, 2, 4, unit=unit)
        with pytest.raises(OverflowError, match=r"unit: got .* 64 bits"):
            call(hosts, 2, 4, unit=2**64)
        for wrong in (2.0, "2", None, True, [2]):
            with pytest.raises(TypeError, match=r"unit: got .*, expected an integer"):
                call(hosts, 2, 4, unit=wrong)  # type: ignore[arg-type]


def test_an_allocation_is_not_a_test() -> None:
    for call in (gs.analysis.stgm_allocate, gs.analysis.stgm_exhaustive):
        with pytest.raises(ValueError, match=r"mode(: got| =) 'spin'"):
            call(vector_a4(), 2, 4, mode="spin")  # type: ignore[arg-type]
        with pytest.raises(ValueError, match=r"cpus(: got| =) 0"):
            call(vector_a4(), 0, 4)
        with pytest.raises(ValueError, match=r"sms(: got| =) 0"):
            call(vector_a4(), 2, 0)
        with pytest.raises(TypeError, match=r"hosts: .*HostTasks"):
            call(7, 2, 4)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match=r"printed(: got| =) 'line 25'"):
        gs.analysis.stgm_allocate(vector_a4(), 2, 4, printed=["line 25"])


def test_chains_of_requests_of_more_than_64_tasks():
    """Task i shares SM i + 1 with the next one. In a large chain a kernel waits for all others."""
    n = 70
    sm = np.eye(n, n + 1, dtype=bool) | np.eye(n, n + 1, 1, dtype=bool)
    hosts = gs.HostTasks(
        10**6,
        cpu=[[1, 1]] * n,
        copy_in=0,
        kernel=[[i + 1] for i in range(n)],
        copy_out=0,
        core=np.arange(n),
        priority=np.arange(n),
        sm=sm,
    )
    assert (gs.analysis.stgm(hosts, n, n + 1).response == 2 + sum(range(1, n + 1))).all()
    sm[66, 66] = False  # two chains; in the small one, the longer of the two sides
    response = gs.analysis.stgm(hosts.replace(sm=sm), n, n + 1).response.tolist()
    assert response == [2 + sum(range(1, 67))] * 66 + [276, 2 + 68 + 69 + 70, 2 + 69 + 68 + 67, 276]


def periodic_responses(period: list[int], work: list[int]) -> list[int]:
    """Response times of periodic tasks on one core, the most urgent first: synchronous release."""
    found = []
    for i, own in enumerate(work):
        response, before = own, 0
        while response != before and response <= period[i]:
            before = response
            above = zip(period[:i], work[:i], strict=True)
            response = own + sum(-(-before // t) * c for t, c in above)
        found.append(response)
    return found


SUSPENDING: list[Any] = [
    lambda h: gs.analysis.stgm(h),
    lambda h: gs.analysis.stgm(h, suspension="split"),
    lambda h: gs.analysis.mpcp(h),
    lambda h: gs.analysis.mpcp(h, fixed_point="one_pass", suspension="jitter"),
    lambda h: gs.analysis.mpcp(h, mode="busy"),
    lambda h: gs.analysis.fmlp_plus(h),
    lambda h: gs.analysis.gpu_server(h),
    lambda h: gs.analysis.time_slices(h, timeslice=2),
    lambda h: gs.analysis.gcaps(h),
]


@pytest.mark.parametrize("test", SUSPENDING)
def test_without_gpu_segments_the_bounds_are_exact(test: Any) -> None:
    """Without GPU segments there is no jitter: the bounds are those of a synchronous release."""
    rng = np.random.default_rng(4)
    accepted = 0
    for _ in range(100):
        n = int(rng.integers(1, 6))
        period = sorted(int(t) for t in rng.integers(5, 60, n))
        work = [int(rng.integers(1, max(2, t // 2))) for t in period]
        hosts = gs.HostTasks(period, cpu=work, core=0)
        exact, found = periodic_responses(period, work), test(hosts)
        assert bool(found.schedulable) == all(r <= t for r, t in zip(exact, period, strict=True))
        if found.schedulable:
            accepted += 1
            assert found.response.tolist() == exact
            assert gs.simulate.host(hosts, 1, until=60).worst.tolist() == exact
    assert 20 < accepted < 80


def test_requests_of_small_components_are_followed_one_by_one():
    """With the sum of all other requests in place of their longest chain no SMs are found."""
    hosts = gs.HostTasks(
        [1176, 1189, 297, 1176, 838],
        cpu=[[70, 47], [46, 31], [4, 3], [46, 31], [98, 65]],
        copy_in=[[23], [15], [1], [15], [32]],
        kernel=[
            [[283, 141, 141, 141]],
            [[186, 93, 93, 93]],
            [[18, 9, 6, 4]],
            [[187, 187, 187, 187]],
            [[393, 196, 196, 196]],
        ],
        copy_out=np.zeros((5, 1), np.int64),
    )
    found = gs.analysis.stgm_allocate(hosts, 3, 4)
    assert found.accepted
    assert gs.analysis.stgm(found.hosts, 3, 4).accepted


@pytest.mark.parametrize("way", ["mpcp", "fmlp_plus"])
def test_partition_refuses_an_overhead_that_the_way_does_not_have(way: str) -> None:
    hosts = gs.HostTasks.from_segments([60, 80], [[3, (1, 6, 1), 2], [5]])
    with pytest.raises(ValueError, match=f"^server_overhead: got an unknown option of {way}"):
        gs.analysis.partition(hosts, 2, way, server_overhead=5)
