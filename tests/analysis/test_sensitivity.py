"""Breakdown factors: scans, long times, counterexamples, columns of a sweep, refusals."""

from __future__ import annotations

import math
import pickle
from fractions import Fraction

import numpy as np
import pytest
from reference.sensitivity import scaled, scan

import gpusched as gs

breakdown = gs.analysis.breakdown

TWO = gs.HostTasks.from_segments(
    [60, 80], [[3, (1, 6, 1), 2], [5, (2, 9, 1)]], core=[0, 1], sm=[[0], [0, 1]]
)
TESTS = {
    "stgm": [{}, {"mode": "busy"}],
    "mpcp": [{}, {"mode": "busy"}, {"mode": "spin"}],
    "fmlp_plus": [{}, {"mode": "busy"}],
    "gpu_server": [{"server_overhead": 1}, {"server_overhead": 2, "server": 0}],
    "time_slices": [
        {"timeslice": 3, "context_switch": 1},
        {"timeslice": 4, "mode": "busy", "order_free": True},
    ],
    "gcaps": [
        {"update_cost": 1, "context_switch": 2, "gpu_priority": [1, 0]},
        {"mode": "busy", "fixed_point": "one_pass"},
        {"mode": "busy", "context_switch": 1},
    ],
}
CASES = [(test, options) for test, many in TESTS.items() for options in many]


def accepted(test, options, hosts):
    return getattr(gs.analysis, test)(hosts, **options).accepted


@pytest.mark.long
@pytest.mark.parametrize(("test", "options"), CASES)
@pytest.mark.parametrize("scale", ["all", "kernels", "copies", "cpu", 1])
def test_the_factor_is_that_of_a_scan(test, options, scale):
    found = breakdown(TWO, test, scale, **options)
    most = min(found.factor * 2, Fraction(20))
    tried, yes = scan(TWO, scale, most, lambda stack: accepted(test, options, stack))
    assert yes[: int(yes.sum())].all(), "every smaller factor is accepted"
    assert found.factor == tried[int(yes.sum()) - 1]
    assert found.scaled() == scaled(TWO, scale, found.factor)
    assert accepted(test, options, found.scaled())


@pytest.mark.parametrize(("test", "options"), CASES)
def test_long_times(test, options):
    """The factor is accepted and the next fraction is not, for times of nine digits and more."""
    options = {key: value for key, value in options.items() if key != "gpu_priority"}
    if "timeslice" in options:
        options["timeslice"] = 20_000_000
    rng = np.random.default_rng(7)
    drawn = gs.generate.stgm(5, 30, seed=3, cpus=2, utilization=(0.2, 0.4))
    long = 10**6 + int(rng.integers(10**5))
    times = {name: getattr(drawn, name) * long + 7 for name in ("period", "deadline")}
    times["period"] = times["deadline"] = drawn.period * long
    jobs = {name: getattr(drawn, name) * long for name in ("cpu", "copy_in", "copy_out", "kernel")}
    rough = {name: value + value // 1_000_003 for name, value in jobs.items()}
    hosts = drawn.replace(**times, **rough, core=rng.integers(0, 2, drawn.period.shape))
    hosts = hosts.with_placement(sm=rng.random((*drawn.period.shape, 3)) < 0.9)
    found = breakdown(hosts, test, sms=3, cpus=2, **options)
    assert (found.tests <= 50).all() and found.tests.mean() < 42
    for one in found:
        assert accepted(test, {**options, "sms": 3, "cpus": 2}, one.scaled())
        grown = [getattr(one.hosts, name) for name in ("cpu", "copy_in", "copy_out")]
        sms = one.hosts.sm.sum(axis=1) if test == "stgm" else 3
        values = [*grown, one.hosts.kernel_time(np.maximum(sms, 1))]
        each = {int(t) for value in values for t in value.ravel() if t > 0}
        factor = one.factor
        above = min(Fraction(math.floor(factor * t) + 1, t) for t in each)
        late = scaled(one.hosts, "all", above)
        assert not accepted(test, {**options, "sms": 3, "cpus": 2}, late)
        assert above - factor < Fraction(1, 10**5)


def test_stacks_are_many_sets():
    hosts = gs.generate.stgm(4, 40, seed=1, cpus=2, utilization=(0.3, 0.6))
    hosts = gs.HostTasks.stack([*hosts, TWO.replace(sm=None, kernel=9)])
    hosts = gs.analysis.partition(hosts, 2).hosts
    found = breakdown(hosts, "fmlp_plus", mode="busy")
    assert len(found) == 41 and found.factor.dtype == np.float64
    for one, alone in zip(found, hosts, strict=True):
        again = breakdown(alone, "fmlp_plus", cpus=2, sms=hosts.columns, mode="busy")
        assert (one.factor, one.limiting, one.tests) == (again.factor, again.limiting, again.tests)
        assert one.utilization == again.utilization
    assert found[3:5] == breakdown(hosts[3:5], "fmlp_plus", cpus=2, mode="busy")
    verdict = gs.analysis.fmlp_plus(hosts, mode="busy")
    assert (found.accepted == verdict.accepted).all()
    assert (found.accepted == (found.factor >= 1)).all()


def test_the_limiting_task_fails_next():
    found = breakdown(TWO, "mpcp")
    times = [3, 1, 6, 2, 5, 9]
    above = min(Fraction(math.floor(found.factor * t) + 1, t) for t in times)
    verdict = gs.analysis.mpcp(scaled(TWO, "all", above))
    assert verdict.failed == found.limiting
    assert f"{TWO.name[found.limiting]} may miss its deadline then" in found.why()
    assert found.why(int(found.limiting)).endswith(" limits the factor.")
    assert "does not limit" in found.why(1 - int(found.limiting))
    load = (scaled(TWO, "all", found.factor).gpu_time(1) + found.scaled().cpu_time) / TWO.period
    assert found.utilization == pytest.approx(load.sum())


def test_nothing_to_multiply():
    cpu = gs.HostTasks([10], cpu=[4], core=0)
    with pytest.raises(ValueError, match="scale: got 'kernels', expected times that can grow"):
        breakdown(cpu, "mpcp", "kernels")
    both = gs.HostTasks.stack(
        [cpu, gs.HostTasks.from_segments([10], [[1, (0, 2, 0)]], core=0), cpu.replace(cpu=[11])]
    )
    found = breakdown(both, "mpcp", "kernels")
    assert found.unlimited.tolist() == [True, False, False]
    assert found.factor.tolist() == [math.inf, 4.5, 0]
    assert found[0].factor == math.inf and "there are none" in found[0].why()
    assert found.tests[0] == found.tests[2] == 1
    assert "may not be longer than 0" in found[2].why()


def test_no_factor_is_accepted():
    found = breakdown(gs.HostTasks([3, 3], cpu=[[2], [2]], core=0, deadline=[1, 1]), "mpcp")
    assert found.factor == 0 and found.utilization == 0 and not found.accepted
    assert found.limiting == 1
    with pytest.raises(ValueError, match="factor: got 0, expected a factor that is accepted"):
        found.scaled()


def test_times_near_the_limit():
    huge = 2**60 - 2**10
    one = gs.HostTasks([huge], cpu=[1], core=0)
    assert breakdown(one, "mpcp").factor == huge
    two = gs.HostTasks([huge, huge], cpu=[1, huge // 2], core=[0, 1])
    found = breakdown(two, "mpcp", 0)  # the jobs take 2**60 ticks together
    assert found.factor == 2**60 - 2 - huge // 2 and found.limiting == -1
    assert "exceed 2**60 ticks" in found.why()
    assert breakdown(gs.HostTasks([huge], cpu=[huge], core=0), "mpcp").factor == 1


# Counterexamples: parameters that a bisection must not be used for


def test_a_shorter_deadline_may_be_accepted_in_one_pass():
    options = {"fixed_point": "one_pass", "suspension": "jitter"}

    def server(deadline):
        hosts = gs.HostTasks.from_segments(
            [15, 76], [[1], [(3, 2, 0), 2, (1, 3, 0), 4]], deadline=[15, deadline], core=[0, 1]
        )
        return gs.analysis.gpu_server(hosts, server=0, server_overhead=2, **options)

    assert not server(76).accepted and server(73).response.tolist() == [13, 23]

    def fmlp_plus(deadline):
        jobs = [[(3, 6, 0), 4], [2, (1, 2, 2), 4]]
        hosts = gs.HostTasks.from_segments([19, 63], jobs, deadline=[19, deadline], core=[0, 0])
        return gs.analysis.fmlp_plus(hosts, **options)

    assert not fmlp_plus(48).accepted and fmlp_plus(45).response.tolist() == [18, 41]

    def mpcp(deadline):
        jobs = [[1, (2, 1, 0), 2], [1, (0, 6, 3), 3]]
        hosts = gs.HostTasks.from_segments([31, 68], jobs, deadline=[30, deadline], core=[0, 0])
        return gs.analysis.mpcp(hosts, mode="busy", **options)

    assert not mpcp(47).accepted and mpcp(43).response.tolist() == [24, 28]
    options = {}
    assert server(76).accepted and fmlp_plus(48).accepted and mpcp(47).accepted


def test_a_shorter_deadline_in_one_pass_and_together():
    def slices(deadline, **options):
        hosts = gs.HostTasks.from_segments(
            [100, 20], [[(0, 10, 0)], [(0, 3, 0)]], deadline=[15, deadline], core=[0, 1],
            priority=[0, 1],
        )  # fmt: skip
        return gs.analysis.time_slices(hosts, timeslice=1, **options)

    assert not slices(20, fixed_point="one_pass").accepted
    assert slices(7, fixed_point="one_pass").response.tolist() == [13, 6]
    assert slices(20).accepted and slices(7).accepted


def test_a_longer_slice_may_be_better_or_worse():
    hosts = gs.HostTasks.from_segments([100, 100], [[(0, 6, 0)], [(0, 30, 0)]], core=[0, 1])
    bounds = [
        int(gs.analysis.time_slices(hosts, timeslice=length, context_switch=1).response[0])
        for length in range(1, 11)
    ]
    assert bounds == [24, 18, 16, 18, 20, 14, 15, 16, 17, 18]


@pytest.mark.parametrize("scale", ["deadlines", "timeslice", "sms"])
def test_a_bisection_is_refused(scale):
    with pytest.raises(
        ValueError, match=f"scale: got '{scale}', expected times; .* try its values"
    ):
        breakdown(TWO, "mpcp", scale)
    named = gs.HostTasks([10], cpu=[4], core=0, name=[scale])
    assert breakdown(named, "mpcp", scale).factor == Fraction(5, 2)  # a task of that name


def test_refusals():
    for arguments, options, kind, message in (
        ((TWO, "edf"), {}, ValueError, "way: got 'edf', expected one of "),
        ((TWO, "mpcp", "gpu"), {}, ValueError, "scale: got 'gpu', expected 'all', 'kernels', "),
        ((TWO, "mpcp", 2), {}, IndexError, "task: got 2"),
        ((TWO, "mpcp", True), {}, TypeError, "scale: got True, expected text or a task's number"),
        ((TWO, "mpcp", 1.0), {}, TypeError, "scale: got 1.0, expected text"),
        (
            (TWO, "mpcp"),
            {"timeslice": 1},
            ValueError,
            "timeslice: got an unknown option of mpcp, expected",
        ),
        ((TWO, "mpcp"), {"mode": "fast"}, ValueError, "mode: got 'fast'"),
        (
            (TWO, "time_slices"),
            {},
            ValueError,
            "timeslice: got none, expected ticks for time_slices",
        ),
        ((TWO, "time_slices"), {"timeslice": 0}, ValueError, "timeslice: got 0"),
        ((TWO, "stgm"), {"variant": "paper"}, ValueError, "variant: got 'paper'"),
        ((TWO.replace(core=-1), "mpcp"), {}, ValueError, "core.0.: got none, expected a core"),
        (([4], "mpcp"), {}, TypeError, "hosts: .*HostTasks"),
    ):
        with pytest.raises(kind, match=message):
            breakdown(*arguments, **options)
    with pytest.raises(gs.Cancelled):
        breakdown(gs.HostTasks.stack([TWO] * 20_000), "mpcp", stop=bytearray(b"\1"))
    stack = breakdown(gs.HostTasks.stack([TWO, TWO]), "mpcp")
    with pytest.raises(ValueError, match="task: got 0, expected None for a stack"):
        stack.why(0)
    with pytest.raises(ValueError, match="breakdown: got a stack"):
        stack.scaled()
    with pytest.raises(TypeError, match="answer: got an index for a single set"):
        stack[0][0]


def test_the_answer_is_an_object_like_others(tmp_path):
    stack = breakdown(gs.HostTasks.stack([TWO, TWO.replace(period=[30, 30])]), "mpcp", "kernels")
    for answer in (stack, stack[0]):
        answer.save(tmp_path / "found")
        assert gs.analysis.Breakdown.load(tmp_path / "found") == answer
        assert pickle.loads(pickle.dumps(answer)) == answer
        assert answer.to_frame().shape == (2 if answer is stack else 1, 8)
        assert answer._repr_html_().startswith("<p>Breakdown: ")
        assert answer.plot().get_xlabel() == "factor on times"
    assert repr(
        stack[0]
    ) == "<Breakdown: factor 4.5, utilization 0.9625 (mpcp, suspend, kernels)>" or (
        stack[0].factor != Fraction(9, 2)
    )
    assert "2 of 2 sets accepted" in repr(stack) and stack.why().startswith("2 of 2 sets")
    assert len(stack) == 2 and len(stack[0]) == 2 and stack != stack[0]


# Columns of a sweep


def test_columns_of_a_sweep():
    def tested(*, utilization, count, first, seed, stop=None):
        share = (utilization, utilization)
        drawn = gs.generate.stgm(5, count, seed=seed, first=first, cpus=2, utilization=share)
        hosts = gs.analysis.partition(drawn, 2).hosts
        return gs.analysis.schedulability(hosts, "mpcp", breakdown=True, mode="busy", stop=stop)

    reductions = [gs.reductions.Share(), gs.reductions.Weighted("set_utilization")]
    table = gs.sweep(
        tested, {"utilization": [0.3, 0.6]}, count=60, seed=1, keep=True, progress=False,
        reduce={"schedulable": reductions},
    )  # fmt: skip
    kept = table.values
    for row in range(2):
        yes, share = kept["schedulable"][row], kept["set_utilization"][row]
        assert table["schedulable_weighted"][row] == pytest.approx(
            (yes * share).sum() / share.sum()
        )
        assert (yes == (kept["breakdown_factor"][row] >= 1)).all()
        mean = kept["breakdown_utilization"][row].mean()
        assert table["breakdown_utilization"][row] == pytest.approx(mean)
    load = kept["breakdown_utilization"]
    assert np.allclose(load, kept["set_utilization"] * kept["breakdown_factor"], rtol=0.01)
    with pytest.raises(ValueError, match="hosts: got a single set, expected a stack"):
        gs.analysis.schedulability(TWO, "mpcp")


def test_every_verdict_has_slack():
    """Deadline minus bound where the set is accepted, masked elsewhere."""
    late = TWO.replace(deadline=[12, 80])
    for test, options in CASES:
        for hosts in (TWO, late):
            verdict = getattr(gs.analysis, test)(hosts, **options)
            assert np.ma.getmaskarray(verdict.slack).all() != verdict.accepted
            if verdict.accepted:
                assert (verdict.slack == hosts.deadline - verdict.response).all()
