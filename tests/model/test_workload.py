"""Workloads: units, refusals, indexing, joining, scaling, waves and times of kernels, text."""

from __future__ import annotations

import copy
import math
import pickle
import re
from collections.abc import Callable
from fractions import Fraction
from random import Random
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from workload_strategies import workloads

import gpusched as gs
from gpusched.model.workload.kernel_waves import excess_notes, kernel_times
from gpusched.model.workload.time_units import as_time, in_ticks, tick_of, tick_text, time_with_unit

pytestmark = pytest.mark.python

GPU = gs.GPU(sms=4, threads_per_sm=1024, blocks_per_sm=32, name="four")


def perception() -> gs.Workload:
    return gs.Workload(
        [
            gs.Task(
                "detector",
                period="33ms",
                deadline="30ms",
                segments=[
                    gs.CPU("2ms"),
                    gs.CopyIn("300us"),
                    gs.Kernel("4.1ms", blocks=120, threads=256, regs=64),
                    gs.Kernel("0.9ms", blocks=16, threads=512, repeat=2),
                    gs.CopyOut("120us", by="cpu"),
                    gs.CPU("1ms"),
                ],
            ),
            gs.Task("tracker", rate="60Hz", segments=[gs.CPU("1ms"), gs.Kernel("500us")]),
            gs.Task("planner", 100_000, [gs.CPU(7000)], core=1, process="plan"),
        ],
        tick="us",
    )


# Times ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "tick", "ticks"),
    [
        ("4.1ms", 1000, 4100),
        (" 0.3 us ", 1, 300),
        ("300ns", 100, 3),
        ("1s", 10**9, 1),
        ("1.5µs", 1, 1500),
        ("1.5μs", 1, 1500),
        ("+2ms", 10**6, 2),
        ("0.1us", 1, 100),
        ("1152921504606846975ns", 1, 2**60 - 1),
    ],
)
def test_times_are_exact(text: str, tick: int, ticks: int) -> None:
    assert in_ticks(as_time(text, "time"), None, tick, "time") == ticks


@pytest.mark.parametrize(
    "text", ["4.1", "ms", "4,1ms", "1e3ns", "0x1ns", "1 000ns", "٤ms", "1msms", "", "1m", "nan ms"]
)
def test_other_text_is_no_time(text: str) -> None:
    with pytest.raises(ValueError, match="expected a number with a unit, one of ns, us, µs, ms, s"):
        gs.CPU(text)


@given(st.integers(0, 2**60 - 1), st.sampled_from([1, 7, 10, 1000, 250_000, 10**6, 10**9]))
def test_text_of_ticks_is_exact(ticks: int, tick: int) -> None:
    assert in_ticks(as_time(time_with_unit(ticks, tick), "time", 0), None, tick, "time") == ticks
    assert tick_of(tick_text(tick)) == tick


def test_numbers_are_ticks_of_the_workload() -> None:
    task = gs.Task("a", 10, [gs.CPU(2)])
    assert task.period == 10 and task.tick is None
    slow, fast = gs.Workload([task], "ms"), gs.Workload([task], "us")
    assert slow != fast and slow["a"] != fast["a"]
    assert slow["a"].tick == "ms"
    # A task of a workload keeps its times in another one.
    assert gs.Workload([slow["a"]], "us")["a"].period == 10_000
    assert slow.replace(tick="us").replace(tick="ms") == slow
    with pytest.raises(ValueError, match=r"tasks\['a'\].segments\[0\].time: got '2us', expected"):
        gs.Workload([fast["a"]], "10us")
    segment = slow["a"].segments[0]
    assert gs.Workload([gs.Task("b", "1s", [segment])], "us")["b"].segments[0].time == 2000


def test_numpy_numbers_and_whole_floats() -> None:
    task = gs.Task("a", np.int64(10), [gs.CPU(np.int32(2)), gs.CPU(3.0)])  # type: ignore[arg-type]
    assert [segment.time for segment in task.segments] == [2, 3]
    assert type(task.segments[0].time) is int


def test_rates_are_rounded_down() -> None:
    w = perception()
    assert w["tracker"].period == 16_666 and w["tracker"].rate == "60Hz"
    assert w.assumptions == ("tracker: the period of 60Hz is rounded down to 16.666ms",)
    assert w.replace(tick="ns")["tracker"].period == 16_666_666
    exact = w.with_task(w["tracker"].replace(rate="50Hz"))
    assert exact["tracker"].period == 20_000 and exact.assumptions == ()
    given_period = w["tracker"].replace(period=20_000)
    assert given_period.rate is None and given_period.deadline == 20_000
    assert given_period.replace(rate="50Hz").period == 20_000


# Refusals ---------------------------------------------------------------------------------------


def task(**facts: Any) -> gs.Task:
    return gs.Task(**{"name": "a", "period": 9, "segments": [gs.CPU(1)], **facts})


REFUSED: list[tuple[Callable[[], Any], type[Exception], str]] = [
    (lambda: gs.CPU(0), ValueError, "time: got 0, expected a positive time"),
    (lambda: gs.CPU("-1ms"), ValueError, "time: got '-1ms', expected a positive time"),
    (lambda: gs.CPU("0.0ms"), ValueError, "time: got '0.0ms', expected a positive time"),
    (lambda: gs.CPU(1.5), ValueError, "time: got 1.5, expected a whole number of ticks"),  # type: ignore[arg-type]
    (lambda: gs.CPU(True), TypeError, "time: got True, expected a whole number of ticks or text"),
    (lambda: gs.CPU(None), TypeError, "time: got None, expected a whole number of ticks or text"),  # type: ignore[arg-type]
    (lambda: gs.CPU(2**60), OverflowError, "time: got 1152921504606846976, expected less than 2"),
    (lambda: gs.CPU(1, repeat=0), ValueError, "repeat: got 0, expected 1 to 1000000"),
    (lambda: gs.CPU(1, name=3), TypeError, "name: got 3, expected text"),  # type: ignore[arg-type]
    (lambda: gs.CopyIn(1, by="gpu"), ValueError, "by: got 'gpu', expected one of engine, cpu"),  # type: ignore[arg-type]
    (lambda: gs.Kernel(), ValueError, "time: got None, expected a time, or block_time or sms"),
    (lambda: gs.Kernel(1, blocks=2), ValueError, "threads: got None, expected blocks and threads"),
    (lambda: gs.Kernel(1, regs=2), ValueError, "blocks: got None with regs, smem or block_time"),
    (lambda: gs.Kernel(sms={}), TypeError, "sms: got {}, expected times by number of SMs"),
    (lambda: gs.Kernel(sms={0: 1}), ValueError, "sms: got 0, expected 1 to 65536"),
    (
        lambda: gs.Kernel(sms={1: 4, 2: 5}),
        ValueError,
        "sms[2]: got 5, expected at most the 4 on 1 SM",
    ),
    (lambda: task(name=""), ValueError, "name: got '', expected at least one character"),
    (lambda: task(period=None), ValueError, "period: got none, expected a period, a rate, or a"),
    (lambda: task(rate="3Hz"), ValueError, "period: got a period and a rate, expected a period"),
    (lambda: task(period=None, rate=30), TypeError, "rate: got 30, expected text such as '30Hz'"),
    (lambda: task(period=None, rate="30"), ValueError, "rate: got '30', expected text such as"),
    (lambda: task(period=None, rate="0Hz"), ValueError, "rate: got '0Hz', expected a positive"),
    (lambda: task(segments=[]), ValueError, "segments: got none, expected at least one"),
    (lambda: task(segments=[3]), TypeError, "segments[0]: got 3, expected CPU, CopyIn, CopyOut"),
    (lambda: task(segments=gs.CPU(1)), TypeError, "segments: got CPU(1), expected a list of"),
    (lambda: task(after="b"), ValueError, "period: got 9 of a task with after, expected none"),
    (lambda: task(core=-1), ValueError, "core: got -1, expected 0 to 2147483647"),
    (lambda: task(process=1), TypeError, "process: got 1, expected text"),
    (lambda: task(period="1ms").period, ValueError, "period: got '1ms', expected ticks; text has"),
    (
        lambda: task(period=None, rate="3Hz").deadline,
        ValueError,
        "period: got the rate '3Hz', expected ticks; a rate has none before",
    ),
    (lambda: gs.Workload([]), ValueError, "tasks: got none, expected at least one"),
    (lambda: gs.Workload([3]), TypeError, "tasks[0]: got int, expected Task"),  # type: ignore[list-item]
    (lambda: gs.Workload(task()), TypeError, "tasks: got Task('a', period=9, segments=[CPU(1)])"),  # type: ignore[arg-type]
    (
        lambda: gs.Workload([task(), task()]),
        ValueError,
        "tasks[1].name: got 'a', expected another name than that of tasks[0]",
    ),
    (
        lambda: gs.Workload([task(segments=[gs.CPU(1), gs.Kernel("4.1us")])], "us"),
        ValueError,
        "tasks['a'].segments[1].time: got '4.1us', expected a whole number of ticks of 1us",
    ),
    (
        lambda: gs.Workload([task(segments=[gs.Kernel(sms={1: "4.1us"})])], "us"),
        ValueError,
        "tasks['a'].segments[0].sms[1]: got '4.1us', expected a whole number of ticks of 1us",
    ),
    (
        lambda: gs.Workload([task(segments=[gs.CPU(2**59, repeat=2)])]),
        OverflowError,
        "tasks['a'].segments: got jobs of 1152921504606846976 ticks, expected less than 2**60",
    ),
    (lambda: gs.Workload([task()], tick="x"), ValueError, "tick: got 'x', expected a unit (ns"),
    (lambda: gs.Workload([task()], notes="x"), TypeError, "notes: got 'x', expected sentences"),
    (lambda: perception()["camera"], KeyError, "tasks: got 'camera', expected one of detector, tr"),
    (lambda: perception()[3], IndexError, "tasks: got 3, expected a number below 3"),
    (lambda: perception()[1.5], TypeError, "tasks: got 1.5, expected an integer"),  # type: ignore[call-overload]
    (lambda: perception()[[0, 0]], ValueError, "tasks: got 'detector' twice, expected it once"),
    (lambda: perception()[3:], ValueError, "tasks: got none, expected at least one"),
    (
        lambda: perception().scaled(kernels=1.2),  # type: ignore[arg-type]
        TypeError,
        "kernels: got 1.2, expected a positive factor as text such as '1.2', a whole number or a",
    ),
    (lambda: perception().scaled(cpu="-1"), ValueError, "cpu: got '-1', expected a positive fact"),
    (lambda: perception().scaled(cpu="1/3"), ValueError, "cpu: got '1/3', expected a positive"),
    (
        lambda: perception().scaled(cpu=2**60),
        OverflowError,
        "tasks['detector'].time: got 2305843009213693952000, expected less than 2**60 ticks",
    ),
    (lambda: perception() + perception(), ValueError, "tasks[3].name: got 'detector', expected"),
    (lambda: gs.Platform("x"), ValueError, "name: got 'x', expected"),
    (lambda: gs.Platform(3), TypeError, "gpu: got int, expected a GPU or the name of a preset"),  # type: ignore[arg-type]
    (lambda: gs.Platform(cpus=0), ValueError, "cpus: got 0, expected 1 to 2147483647"),
    (lambda: gs.Platform(ring="lifo"), ValueError, "ring: got 'lifo', expected one of fifo, cy"),  # type: ignore[arg-type]
    (lambda: gs.Platform(timeslice=0), ValueError, "timeslice: got 0, expected a positive time"),
    (lambda: gs.Platform(slowdown=(2, 1)), ValueError, "slowdown: got (2, 1), expected the lesser"),
    (
        lambda: gs.Platform(launch_latency="6us").at("ms"),
        ValueError,
        "launch_latency: got '6us', expected a whole number of ticks of 1ms",
    ),
]


@pytest.mark.parametrize(("call", "error", "message"), REFUSED, ids=range(len(REFUSED)))
def test_refusals(call: Callable[[], Any], error: type[Exception], message: str) -> None:
    with pytest.raises(error) as caught:
        call()
    assert str(caught.value.args[0]).startswith(message)


# Objects ----------------------------------------------------------------------------------------


def test_parts_of_a_workload() -> None:
    w = perception()
    assert len(w) == 3 and [t.name for t in w] == list(w.names)
    assert w["tracker"] == w[1] == w[-2] == list(w)[1]
    assert w[:2].names == w[["detector", "tracker"]].names == w[[0, 1]].names
    assert "planner" in w and w[2] in w and "camera" not in w
    assert w[:1] + w[1:] == w and hash(w[:1] + w[1:]) == hash(w)
    assert w[1:] + w[:1] != w
    assert w.hyperperiod == math.lcm(33_000, 16_666, 100_000)
    assert w.with_task(gs.Task("camera", "1s", [gs.CPU(1)])).names[-1] == "camera"


def test_joining_converts_ticks() -> None:
    coarse = gs.Workload([gs.Task("x", 5, [gs.CPU(1)])], "ms", notes=["measured"])
    joined = perception() + coarse
    assert joined.tick == "us" and joined["x"].period == 5000 and joined.notes == ("measured",)
    with pytest.raises(ValueError, match=r"tasks\['detector'\].segments\[1\].time: got '300us'"):
        coarse + perception()


def test_everything_is_immutable_and_hashable() -> None:
    w = perception()
    for each in (w, w[0], w[0].segments[0], w[0].segments[2], gs.Platform("Xavier", cpus=4)):
        assert copy.deepcopy(each) == pickle.loads(pickle.dumps(each)) == each
        assert len({each, copy.deepcopy(each)}) == 1
        for name in ("name", "period", "cpus", "other"):
            with pytest.raises(AttributeError):
                setattr(each, name, 1)
        with pytest.raises(AttributeError):
            del each.name  # type: ignore[union-attr]


def test_replace_keeps_what_was_given() -> None:
    detector = perception()["detector"]
    assert detector.has_deadline and detector.replace(period="40ms").deadline == 30_000
    assert detector.replace(deadline=None, period="40ms").deadline == 40_000
    kernel = detector.segments[2]
    assert isinstance(kernel, gs.Kernel)
    assert kernel.replace(blocks=7).time == 4100 and kernel.replace(time="1ms").time == 1000
    assert kernel.replace(sms={1: "9ms", 2: 4100}).sms == {1: 9000, 2: 4100}
    assert detector.segments[1].replace(name="in").name == "in"
    platform = gs.Platform("Xavier", launch_latency="6us").at("us")
    assert platform.replace(update_cost="1us").update_cost == 1


@pytest.mark.long
@given(workloads())
def test_reprs_make_equal_objects(w: gs.Workload) -> None:
    kinds = ("Workload", "Task", "CPU", "CopyIn", "CopyOut", "Sync", "DLA")
    names = {key: getattr(gs, key) for key in kinds}
    for each in w:
        again = eval(repr(each), {**names, "Kernel": gs.Kernel})
        assert gs.Workload([again], w.tick)[0] == each
    text = repr(w)
    if not text.startswith("<"):
        assert eval(text, {**names, "Kernel": gs.Kernel}) == w
    assert str(w).startswith("Workload: ") and w._repr_html_().startswith("<table>")


def test_text_in_words() -> None:
    assert str(perception()).splitlines() == [
        "Workload: 3 tasks, 4 kernels per round of jobs, tick us",
        "  detector: period 33ms, deadline 30ms: CPU 2ms, copy in 300us, kernel 4.1ms (120 blocks "
        "of 256 threads), kernel 900us (16 blocks of 512 threads) 2 times, copy out 120us by the "
        "CPU, CPU 1ms",
        "  tracker: period 16.666ms (60Hz): CPU 1ms, kernel 500us",
        "  planner: period 100ms, process plan, core 1: CPU 7ms",
    ]
    many = gs.Workload([gs.Task(f"<b>{i}", 9, [gs.CPU(1)]) for i in range(99)])
    assert "and 59 more tasks" in str(many) and "<b>" not in many._repr_html_()
    assert repr(many) == "<Workload: 99 tasks, 0 kernels per round of jobs, tick ns>"


def test_scaling_rounds_up_exactly() -> None:
    w = gs.Workload([gs.Task("a", 99, [gs.CPU(10), gs.Kernel(10), gs.CopyIn(7)])])
    scaled = w.scaled(kernels="1.2", cpu=Fraction(1, 3), copies=2)
    assert [segment.time for segment in scaled["a"].segments] == [4, 12, 14]
    assert w.scaled() == w
    kernel = gs.Kernel(block_time=3, blocks=2, threads=32, sms={1: 9, 2: 5})
    [grown] = gs.Workload([gs.Task("a", 99, [kernel])]).scaled("1.5")["a"].kernels
    assert grown.block_time == 5 and grown.sms == {1: 14, 2: 8} and not grown.has_time


def test_sums() -> None:
    detector = perception()["detector"]
    assert detector.cpu_time == 3120 and detector.copy_time == 300
    assert [place for place, _ in detector.steps()] == [0, 1, 2, 3, 3, 4, 5]
    use = gs.Workload([detector]).utilization()
    assert use == pytest.approx((3120 / 33000, 300 / 33000, 5900 / 33000))
    only = gs.Workload([gs.Task("a", 10, [gs.Kernel(block_time=3, blocks=9, threads=1024)])])
    with pytest.raises(ValueError, match=r"a: segments\[0\]: got block_time alone, expected a pl"):
        only.utilization()
    assert only.utilization(gs.Platform(GPU)).gpu == pytest.approx(9 / 10)


# Kernels on a GPU -------------------------------------------------------------------------------


def test_a_kernel_by_waves() -> None:
    [of] = kernel_times([gs.Kernel(100, blocks=10, threads=1024)], GPU)
    assert (of.resident, of.waves, of.block_time, of.time, of.excess) == (1, 3, 34, 102, 2)
    assert [of.waves_on(k) for k in (1, 2, 3, 4, 9)] == [10, 5, 4, 3, 3]
    assert of.profile() == [340, 170, 136, 102] and of.on(99) == 102
    assert excess_notes([of], 1000) == [
        "kernels[0]: 3 waves of 34us take 102us, 2us more than the stated 100us"
    ]


@given(
    *(st.integers(1, 2**20), st.integers(1, 500), st.integers(1, 1024), st.integers(1, 64)),
    st.sampled_from(gs.GPU.presets()),
)
def test_the_excess_is_below_the_waves(
    time: int, blocks: int, threads: int, regs: int, name: str
) -> None:
    assume(gs.occupancy(name, threads, regs))
    kernel = gs.Kernel(time, blocks=blocks, threads=threads, regs=regs)
    [of] = kernel_times([kernel], gs.GPU.preset(name))
    assert of.time == of.waves * of.needed_block_time() and 0 <= of.excess < of.waves
    assert of.resident == gs.occupancy(name, threads, regs)
    times = [of.on(k) for k in (1, 2, 3, of.sms)]
    assert times == sorted(times, reverse=True) and times[-1] == of.time


def test_overrides() -> None:
    shape = {"blocks": 10, "threads": 1024}
    given_block, profile, both = kernel_times(
        [
            gs.Kernel(block_time=30, **shape),
            gs.Kernel(sms={1: 400, 3: 110}),
            gs.Kernel(sms={1: 400, 3: 110}, **shape),
        ],
        GPU,
    )
    assert given_block.profile() == [300, 150, 120, 90]
    assert given_block.stated is None and excess_notes([given_block], 1) == []
    assert profile.profile() == [400, 400, 110, 110] and profile.block_time is None
    assert (both.block_time, both.profile()) == (37, [400, 400, 111, 111])


def test_contradictions() -> None:
    shape = {"blocks": 10, "threads": 1024}  # 3 waves
    for time, block_time in ((100, 34), (102, 34), (3, 1), (1, 1)):
        [of] = kernel_times([gs.Kernel(time, block_time=block_time, **shape)], GPU)
        assert of.block_time == block_time and 0 <= of.excess < 3
    for time, block_time in ((100, 33), (100, 35), (100, 5), (99, 34)):
        with pytest.raises(
            ValueError, match=rf"k: got {time} and a block time of {block_time}, wh"
        ):
            kernel_times([gs.Kernel(time, block_time=block_time, **shape)], GPU, ["k"])
    with pytest.raises(ValueError, match=r"block_time: got 101, expected at most the time .*, 100"):
        gs.Kernel(100, block_time=101, **shape)
    with pytest.raises(ValueError, match=r"block_time: got 2ms, expected at most .*, 1\.5ms"):
        gs.Kernel("1.5ms", block_time="2ms", **shape)
    mixed = gs.Kernel("1.5ms", block_time=2, **shape)  # of which length is known in a workload
    with pytest.raises(ValueError, match=r"segments\[0\].block_time: got 2us, expected at most"):
        gs.Workload([gs.Task("a", "9ms", [mixed.replace(time="1us")])], tick="us")
    # The program of a documented mistake: refused by name, with the waves.
    task = gs.Task("a", "9ms", [gs.Kernel("100us", block_time="5us", **shape)])
    with pytest.raises(
        ValueError,
        match=r"a: segments\[0\]: got 100us and a block time of 5us, which make 15us in 3 waves",
    ):
        gs.analyze(gs.Workload([task], tick="us"), gs.Platform(GPU), "streams")
    # Both times grow, and are rounded: only the time of a block, which counts, remains.
    agree = gs.Workload([gs.Task("a", 900, [gs.Kernel(100, block_time=34, **shape)])])
    grown = agree.scaled(kernels="1.3")["a"].kernels[0]
    assert grown.block_time == 45 and not grown.has_time


def test_a_kernel_without_a_shape() -> None:
    [of] = kernel_times([gs.Kernel(100)], GPU, ["detector: segments[2]"])
    assert of.time == of.on(4) == 100 and of.waves == 1
    assert of.profile() == [400, 200, 200, 100]  # as a kernel of equal blocks, at most
    [half] = kernel_times([gs.Kernel(100, sms="1/2")], GPU)
    assert half.filled == 2 and half.profile() == [200, 100, 100, 100]
    [unknown] = kernel_times([gs.Kernel(100)], None, ["detector: segments[2]"])
    with pytest.raises(ValueError, match=r"detector: segments\[2\]: got a time on all SMs"):
        unknown.on(3)
    with pytest.raises(ValueError, match="got no blocks and threads, expected it for a time of"):
        of.needed_block_time()
    with pytest.raises(ValueError, match="got no blocks and threads, expected them for a number"):
        of.waves_on(2)
    with pytest.raises(ValueError, match="got 0 SMs, expected a positive number"):
        of.on(0)


def test_no_kernel_of_equal_blocks_takes_longer_on_fewer_sms() -> None:
    random, tight = Random(7), 0
    for _ in range(500):
        gpu = gs.GPU(sms=random.randrange(1, 13), threads_per_sm=1024, blocks_per_sm=8)
        blocks, threads = random.randrange(1, 70), random.choice((128, 256, 512, 1024))
        shaped = gs.Kernel(block_time=random.randrange(1, 9), blocks=blocks, threads=threads)
        [true] = kernel_times([shaped], gpu)
        [known] = kernel_times([gs.Kernel(true.time)], gpu)
        for sms in range(1, gpu.sms + 1):
            assert true.on(sms) <= known.on(sms)
            tight += true.on(sms) == known.on(sms) and sms < gpu.sms
        needed = next(k for k in range(1, gpu.sms + 1) if true.on(k) == true.time)
        [share] = kernel_times([gs.Kernel(true.time, sms=Fraction(needed, gpu.sms))], gpu)
        assert all(true.on(k) <= share.on(k) <= known.on(k) for k in range(1, gpu.sms + 1))
    assert tight > 100


def test_an_engine_is_equal_kernels() -> None:
    assert gs.Engine("34.5ms", kernels=120) == gs.Kernel("287500ns", repeat=120)
    assert gs.Engine(100, kernels=3) == gs.Kernel(34, repeat=3)
    assert gs.Engine("10ms", kernels=3, name="net") == gs.Kernel("3333334ns", repeat=3, name="net")
    assert gs.Engine("10ms", sms=0.25) == gs.Kernel("10ms", sms="1/4")
    measured = gs.Engine("10ms", kernels=2, sms={1: "30ms", 4: "10ms"})
    assert measured.sms_text == "1: 15000000ns, 4: 5000000ns"
    for kernels, error in ((0, ValueError), (10**7, ValueError), (2.5, TypeError)):
        with pytest.raises(error, match="kernels"):
            gs.Engine(9, kernels=kernels)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("sms", "error"),
    [
        *((value, ValueError) for value in (0, 8, 1.5, -0.5, "0", "3/2", "1/0", "a", "", "1/")),
        *((value, ValueError) for value in (float("nan"), float("inf"), Fraction(1, 2**40))),
        *((value, TypeError) for value in (True, [], [1], b"1")),
    ],
)
def test_refused_shares(sms: Any, error: type[Exception]) -> None:
    with pytest.raises(error, match=r"^sms: got "):
        gs.Kernel(9, sms=sms)


def test_shares_are_exact() -> None:
    some: list[tuple[Any, Fraction, str]] = [
        (0.1, Fraction(1, 10), "0.1"),
        ("1/3", Fraction(1, 3), "1/3"),
        (1, Fraction(1), "1.0"),
        ("0.00001", Fraction(1, 10**5), "1/100000"),
    ]
    for sms, share, text in some:
        kernel = gs.Kernel("9ms", sms=sms)
        assert kernel.share == share and kernel.sms is None and kernel.sms_text == text
        assert repr(kernel) == f"Kernel('9ms', sms='{text}')"
        assert gs.Kernel("9ms", sms=text) == kernel
        assert kernel.replace(time="8ms").share == kernel.share
        assert pickle.loads(pickle.dumps(kernel)) == kernel
    with pytest.raises(ValueError, match="share of the SMs with blocks, expected it with a time"):
        gs.Kernel(9, sms=0.5, blocks=4, threads=32)
    with pytest.raises(ValueError, match="share of the SMs with no time"):
        gs.Kernel(sms=0.5)


def test_kernels_that_do_not_fit() -> None:
    w = gs.Workload([gs.Task("a", 9, [gs.CPU(1), gs.Kernel(5, blocks=1, threads=1025)])])
    message = "a: segments[1]: got blocks of 1025 threads, 0 registers per thread and 0 bytes"
    with pytest.raises(ValueError, match=re.escape(message)):
        w.kernel_times(gs.Platform(GPU))
    few = gs.Workload([gs.Task("a", 9, [gs.Kernel(sms={8: 5})])])
    with pytest.raises(ValueError, match="got a profile from 8 SMs on, expected one that includes"):
        few.kernel_times(gs.Platform(GPU))
    slow = gs.Kernel(block_time=2**50, blocks=2**20, threads=1024)
    with pytest.raises(OverflowError, match=r"kernels\[0\]: got more than 2\*\*60 ticks"):
        kernel_times([slow], GPU)


def test_a_platform_without_a_gpu() -> None:
    w = perception()
    times = w.kernel_times(gs.Platform())
    assert [of and of.time for of in times[0]] == [None, None, 4100, 900, None, None]
    known = times[0][2]
    assert known is not None and known.sms == 0
    with pytest.raises(ValueError, match="got no GPU of the platform, expected it for a time of"):
        known.needed_block_time()


def test_platforms() -> None:
    platform = gs.Platform("Xavier", cpus=4, context_switch="10us", slowdown="small")
    assert platform.sms == 8 and platform.copy_engines == 1 and platform.slowdown == (1.0, 1.4)
    assert gs.Platform("GTX 970").copy_engines == 2 and gs.Platform().copy_engines is None
    assert gs.Platform("GTX 970", copy_engines=0).copy_engines == 0
    assert platform.at("us").context_switch == 10 and platform.at("us").timeslice == 2000
    assert repr(platform.replace(slowdown=(1.1, 1.4))) == (
        "Platform('Xavier', cpus=4, context_switch='10us')"
    )
    assert platform.at("us").at("ns") == platform.at("ns")
    coarse = gs.Platform().at("5ms")  # of use where no time slices are
    with pytest.raises(ValueError, match="timeslice: got '2ms', expected a whole number of ticks"):
        assert coarse.timeslice
    assert gs.Platform(timeslice=3).at("ms").at("2ms").at("ms").timeslice == 3
    assert "Xavier" in platform._repr_html_()
