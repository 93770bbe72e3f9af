"""Traces of real programs and Chrome traces: readers, errors, writers."""

import gzip
import json
import math
import os
import pickle
import random
import re
import statistics
import struct
from decimal import Decimal, localcontext
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpusched import io
from gpusched._draw import chrome_trace
from gpusched.io.traces.trace_kernels import utilization_text
from gpusched.io.traces.trace_tables import labels
from gpusched.model.gpu import GPU

pytestmark = pytest.mark.python

ROOT = Path(__file__).resolve().parents[2]
SAMPLE = ROOT / "tests" / "data" / "pipeline.pt.trace.json"
TRACES = Path(os.environ.get("GPUSCHED_TRACES", ROOT.parent / "shared" / "data" / "traces"))
ORIN = {
    "id": 0,
    "name": "Orin",
    "computeMajor": 8,
    "computeMinor": 7,
    "maxThreadsPerMultiprocessor": 1536,
    "regsPerMultiprocessor": 65536,
    "sharedMemPerMultiprocessor": 167936,
    "numSms": 16,
    "sharedMemPerBlockOptin": 166912,
}


def kernel(name="k", ts=10, dur=5, grid=(4, 1, 1), block=(128, 1, 1), **other):
    """A kernel event as the profiler writes it; ``other`` overrides or adds args."""
    args = {
        "device": 0,
        "context": 1,
        "stream": 7,
        "correlation": 3,
        "registers per thread": 32,
        "shared memory": 0,
        "grid": list(grid),
        "block": list(block),
    }
    args |= {key.replace("_", " "): value for key, value in other.items()}
    return {
        "ph": "X", "cat": "kernel", "name": name, "pid": 0, "tid": 7,
        "ts": ts, "dur": dur, "args": args,
    }  # fmt: skip


def without(event, field):
    """The event without a field of its own or of its args."""
    event = event | {"args": dict(event["args"])}
    del (event if field in event else event["args"])[field]
    return event


def put(folder, events, properties=(ORIN,), name="trace.json"):
    """Write a trace, and return its path."""
    path = folder / name
    path.write_text(json.dumps({"deviceProperties": list(properties), "traceEvents": events}))
    return path


def resident(threads, regs, smem):
    """Resident blocks on one SM of compute capability 8.7: the slow, obvious twin."""
    fitting = 0
    while True:
        n = fitting + 1
        warps = math.ceil(threads / 32)
        per_warp = math.ceil(regs * 32 / 256) * 256
        shared = math.ceil((smem + 1024) / 128) * 128
        if n > 16 or n * warps > 48 or n * shared > 167936:
            return fitting
        if n * warps > 4 * (65536 // 4 // per_warp):
            return fitting
        fitting = n


# Fields that are read


def test_every_array_of_a_launch(tmp_path):
    event = kernel(
        "void f()", 1695835573023613.5, 3.5, (60, 34, 2), (16, 16, 2), registers_per_thread=40,
        shared_memory=4096, context=2, stream=13,
    )  # fmt: skip
    event["args"]["est. achieved occupancy %"] = 63
    trace = io.read_trace(put(tmp_path, [event]))
    row = {name: getattr(trace, name).tolist() for name in trace.__dataclass_fields__
           if isinstance(getattr(trace, name), np.ndarray)}  # fmt: skip
    assert row == {
        "name": ["void f()"],
        "start": [1695835573023613500],
        "duration": [3500],
        "blocks": [60 * 34 * 2],
        "threads": [512],
        "regs": [40],
        "smem": [4096],
        "device": [0],
        "context": [2],
        "stream": [13],
        "occupancy": [63],
        "call": [-1],
    }
    assert len(trace) == 1
    assert trace.source == str(tmp_path / "trace.json")


def test_arrays_are_int64_and_read_only():
    trace = io.read_trace(SAMPLE)
    for table in (trace, trace.kernels(), trace.choose(2), trace.select("nms")):
        for name in table.__dataclass_fields__:
            value = getattr(table, name)
            if isinstance(value, np.ndarray):
                assert value.dtype == (object if name in ("name", "label") else np.int64)
                assert len(value) == len(table)
                with pytest.raises(ValueError):
                    value[0] = value[0]


@pytest.mark.parametrize(
    ("text", "time"),
    [
        ("0", 0),
        ("1695835573023613", 1695835573023613000),
        ("1695835573023613.25", 1695835573023613250),
        ("1695835573023613.001", 1695835573023613001),
        ("9223372036854775.807", 2**63 - 1),
        ("-12.5", -12500),
        ("1.5e3", 1500000),
        ("1E-3", 1),
        ("0.0005", 0),  # halves of a nanosecond: to the even neighbour
        ("0.0015", 2),
        ("1e-999999", 0),
    ],
)
def test_microseconds_become_nanoseconds_exactly(tmp_path, text, time):
    path = put(tmp_path, [kernel(ts=12345678, dur=0)])
    path.write_text(path.read_text().replace("12345678", text))
    with localcontext() as context:  # the caller's precision must not matter
        context.prec = 3
        assert io.read_trace(path).start.tolist() == [time]


@given(st.integers(-(2**63) + 1, 2**62), st.integers(0, 2**62 - 1))
def test_every_time_survives_a_chrome_trace(tmp_path_factory, start, duration):
    path = tmp_path_factory.mktemp("times") / "t.json"
    event = kernel() | {
        "ts": chrome_trace.microseconds(start),
        "dur": chrome_trace.microseconds(duration),
    }
    chrome_trace.write_chrome_trace(path, [event])
    trace = io.read_trace(path)
    assert (trace.start.tolist(), trace.duration.tolist()) == ([start], [duration])


def test_launches_are_sorted_by_start_and_ties_keep_the_order_of_the_file(tmp_path):
    events = [kernel(name, ts) for name, ts in [("a", 9), ("b", 3.5), ("c", 9), ("d", 1)]]
    assert io.read_trace(put(tmp_path, events)).name.tolist() == ["d", "b", "a", "c"]


def test_the_content_decides_whether_a_file_is_packed(tmp_path):
    plain = io.read_trace(SAMPLE)
    data = gzip.compress(SAMPLE.read_bytes())
    for name, content in [
        ("packed.json.gz", data),
        ("packed.json", data),
        ("plain.gz", SAMPLE.read_bytes()),
        ("two.gz", gzip.compress(SAMPLE.read_bytes()[:9000])
         + gzip.compress(SAMPLE.read_bytes()[9000:])),
        ("marked", b"\xef\xbb\xbf" + SAMPLE.read_bytes()),
    ]:  # fmt: skip
        (tmp_path / name).write_bytes(content)
        trace = io.read_trace(str(tmp_path / name))
        assert np.array_equal(trace.start, plain.start)
        assert trace.gpu == plain.gpu


def test_older_files_write_the_category_with_a_capital(tmp_path):
    events = [kernel() | {"cat": "Kernel"}, kernel() | {"ph": "i"}, kernel() | {"cat": "cpu_op"}]
    assert len(io.read_trace(put(tmp_path, events))) == 1


def test_other_events_may_hold_anything(tmp_path):
    path = put(tmp_path, [{"ph": "X", "cat": "cpu_op"}, {}, {"ph": 7, "cat": ["kernel"]}, kernel()])
    path.write_text(path.read_text().replace("[{}", "[NaN, {}").replace('"ph": 7', '"ph": NaN'))
    assert len(io.read_trace(path)) == 1


def test_whole_numbers_may_be_written_with_a_point(tmp_path):
    path = put(tmp_path, [kernel(grid=(3.0, 1, 1), registers_per_thread=16.0)])
    trace = io.read_trace(path)
    assert (trace.blocks.tolist(), trace.regs.tolist()) == ([3], [16])


# Devices


def test_the_gpu_is_the_device_the_kernels_ran_on(tmp_path):
    other = ORIN | {"id": 3, "name": "Other", "numSms": 8}
    trace = io.read_trace(put(tmp_path, [kernel(device=3)], [ORIN, other]))
    gpu = trace.gpu
    assert (gpu.name, gpu.sms, gpu.cc) == ("Other", 8, (8, 7))
    assert (gpu.threads_per_sm, gpu.blocks_per_sm, gpu.regs_per_sm) == (1536, 16, 65536)
    assert (gpu.smem_per_sm, gpu.smem_per_block) == (167936, 166912)


def test_a_given_gpu_overrides_the_file(tmp_path):
    small = GPU(sms=2, threads_per_sm=1024, blocks_per_sm=16)
    path = put(tmp_path, [kernel()], [{"id": 0}])  # which says nothing that could be used
    assert io.read_trace(path, gpu=small).gpu is small
    assert io.read_trace(path, gpu="xavier").gpu == GPU.preset("xavier")
    with pytest.raises(
        ValueError, match=r"trace\.json: device 0: deviceProperties: got no numSms,"
    ):
        io.read_trace(path)


def test_no_gpu_at_all(tmp_path):
    trace = io.read_trace(put(tmp_path, [kernel()], []))
    assert trace.gpu is None
    assert "unknown GPU" in repr(trace)
    for ask in (trace.kernels().fits, trace.kernels().waves, trace.kernels().occupancy):
        with pytest.raises(ValueError, match="gpu: got None, expected the GPU of the trace"):
            ask()
    with pytest.raises(ValueError, match="gpu: got None, expected the GPU of the trace"):
        trace.choose()
    with pytest.raises(ValueError, match="gpu: got None, expected the GPU of the trace"):
        io.occupancy_agreement(trace)
    tasks = trace.choose(together=False).tasks(100_000)
    assert tasks.block_time.tolist() == tasks.wcet.tolist() == [5000]


def test_several_devices_need_a_choice(tmp_path):
    events = [kernel("a", device=0), kernel("b", device=1), kernel("c", 1, device=1)]
    path = put(tmp_path, events, [ORIN, ORIN | {"id": 1, "name": "second"}])
    with pytest.raises(ValueError, match="device: got None, expected one of 0, 1, on which"):
        io.read_trace(path)
    assert io.read_trace(path, device=0).name.tolist() == ["a"]
    second = io.read_trace(path, device=np.int32(1))
    assert (second.name.tolist(), second.gpu.name) == (["c", "b"], "second")
    with pytest.raises(ValueError, match="device: got 2, expected one of 0, 1, on which"):
        io.read_trace(path, device=2)


@pytest.mark.parametrize(
    ("properties", "message"),
    [
        ([{k: v for k, v in ORIN.items() if k not in ("numSms", "name")}],
         r"deviceProperties: got no numSms, .*\(or give gpu=, --gpu\)"),
        ([{k: v for k, v in (ORIN | {"name": "?"}).items() if "compute" not in k}],
         r"trace\.json: device 0: deviceProperties: got no computeMajor,"),
        ([ORIN | {"numSms": "many"}], "device 0: numSms"),
        ([ORIN | {"numSms": 0}], r"sms: got 0, expected a positive number \(or give"),
        ([ORIN | {"numSms": 2**70}], "device 0: numSms"),
        ([ORIN | {"regsPerMultiprocessor": None}], "device 0: regsPerMultiprocessor"),
        ([ORIN | {"computeMajor": 77}], r"device 0: cc: got \(77, 7\), expected"),
        ([ORIN | {"id": 4}], r"deviceProperties: got devices \[4\], expected"),
        (["Orin"], r"deviceProperties: got \['Orin'\], expected a list"),
    ],
)  # fmt: skip
def test_incomplete_device_descriptions(tmp_path, properties, message):
    path = put(tmp_path, [kernel()], properties)
    with pytest.raises(ValueError, match=message) as caught:
        io.read_trace(path)
    assert str(path) in str(caught.value)
    assert io.read_trace(path, gpu="xavier").gpu.sms == 8


def test_missing_limits_are_those_of_the_preset_or_of_the_capability(tmp_path):
    whole = io.read_trace(put(tmp_path, [kernel()], [ORIN])).gpu
    few = {k: v for k, v in ORIN.items() if k != "sharedMemPerBlockOptin"}
    assert io.read_trace(put(tmp_path, [kernel()], [few])).gpu == whole
    other = few | {"name": "unknown"}
    assert io.read_trace(put(tmp_path, [kernel()], [other])).gpu.smem_per_block == 166912


def test_unknown_presets_and_wrong_types(tmp_path):
    path = put(tmp_path, [kernel()])
    with pytest.raises(ValueError, match="no-such-gpu"):
        io.read_trace(path, gpu="no-such-gpu")
    with pytest.raises(TypeError, match="gpu: got int, expected a GPU or the name of a preset"):
        io.read_trace(path, gpu=108)
    with pytest.raises(TypeError):
        io.read_trace(path, device="0")


# Kernels of a trace


def test_kernels_are_grouped_by_name_and_shape(tmp_path):
    events = [
        kernel("a", 1, 4), kernel("b", 2, 30), kernel("a", 3, 7), kernel("a", 4, 1, grid=(2, 2, 1)),
        kernel("a", 5, 6), kernel("a", 6, 1, grid=(5, 1, 1)), kernel("a", 7, 9, block=(64, 2, 1)),
        kernel("a", 8, 2, shared_memory=4), kernel("a", 9, 2, registers_per_thread=1),
    ]  # fmt: skip
    kernels = io.read_trace(put(tmp_path, events)).kernels()
    assert kernels.name.tolist() == ["b", "a", "a", "a", "a"]
    assert kernels.label.tolist() == ["b", "a", "a#2", "a#3", "a#4"]
    assert kernels.count.tolist() == [1, 5, 1, 1, 1]
    assert kernels.total.tolist() == [30000, 27000, 2000, 2000, 1000]
    assert kernels.wcet.tolist() == [30000, 9000, 2000, 2000, 1000]
    assert kernels.median.tolist() == [30000, 6000, 2000, 2000, 1000]
    assert kernels.smem.tolist() == [0, 0, 4, 0, 0]  # ties: the first launched comes first
    assert kernels.blocks.tolist() == [4, 4, 4, 4, 5]


launches = st.lists(
    st.tuples(st.sampled_from("ab"), st.integers(1, 2), st.integers(0, 5)), min_size=1, max_size=20
)


@given(launches)
def test_groups_agree_with_a_slow_twin(tmp_path_factory, rows):
    events = [kernel(n, i, d / 1000, (g, 1, 1)) for i, (n, g, d) in enumerate(rows)]
    kernels = io.read_trace(put(tmp_path_factory.mktemp("groups"), events)).kernels()
    seen = set()
    for i in range(len(kernels)):
        key = (kernels.name[i], kernels.blocks[i])
        times = [d for n, g, d in rows if (n, g) == key]
        seen.add(key)
        assert kernels.count[i] == len(times)
        assert kernels.wcet[i] == max(times)
        assert kernels.total[i] == sum(times)
        assert kernels.median[i] == math.floor(statistics.median(times))
    assert seen == {(n, g) for n, g, _ in rows}
    assert all(a >= b for a, b in zip(kernels.total[:-1], kernels.total[1:], strict=True))


def test_totals_beyond_64_bits(tmp_path):
    trace = io.read_trace(put(tmp_path, [kernel("huge", 0, 2**63 // 1000)] * 2))
    with pytest.raises(ValueError, match="kernel 'huge': got a total time of"):
        trace.kernels()


@pytest.mark.parametrize(
    ("name", "label"),
    [
        ("ampere_sgemm_128x64_nn", "ampere_sgemm_128x64_nn"),
        ("void f(int)", "f"),
        ("void at::native::(anonymous namespace)::fused_dropout_kernel_vec<float, 4, bool>(int)",
         "fused_dropout_kernel_vec"),
        ("void (anonymous namespace)::softmax_warp_forward<float, 1>(float*, int)",
         "softmax_warp_forward"),
        ("std::enable_if<!(false), void>::type internal::gemvx::kernel<int, float>(float)",
         "gemvx::kernel"),
        ("void cutlass::Kernel<cutlass_80_gemm_64x64_nn>(cutlass_80_gemm_64x64_nn::Params)",
         "cutlass_80_gemm_64x64_nn"),
        ("void a::compare<(1 < 2), b::c<int>, void (*)(d<e>)>(f<g>)", "compare"),
        ("void h<i::{lambda(int)#2}::operator()() const::{lambda(float)#1}>(int)", "h"),
        ("void at::scan<AgentPolicy<128, (Load)3>, long>(long)", "scan"),
        ("split_embedding_backward_codegen_rowwise_adagrad_find_long_segments(int)",
         "split_embedding_bac.._find_long_segments"),
        ("triton_poi_fused_add_0", "triton_poi_fused_add_0"),
        ("<<<", "<<<"),
        ("\x00\n", "kernel"),
        ("::", "::"),
        ("(unclosed", "(unclosed"),
        ("f" * 6000, "f" * 19 + ".." + "f" * 19),
    ],
)  # fmt: skip
def test_labels_are_short(tmp_path, name, label):
    kernels = io.read_trace(put(tmp_path, [kernel(name)])).kernels()
    assert kernels.label.tolist() == [label]
    assert kernels.name.tolist() == [name]


@given(st.lists(st.one_of(st.text(min_size=1), st.sampled_from(["x", "x#2", "a::x<1>", "y" * 50])),
                min_size=1, max_size=20))  # fmt: skip
def test_labels_differ_and_are_bounded(names):
    short = labels(names)
    assert len(short) == len(set(short)) == len(names)
    assert all(0 < len(label) <= 40 and label.isprintable() for label in short)


def test_equal_short_names_are_numbered():
    names = ["n::x<1>()", "n::x<2>()", "x", "x#2", "x"]
    assert labels(names) == ["x", "x#2", "x#3", "x#2#2", "x#4"]
    assert labels(["y" * 50] * 12)[-1] == "y" * 18 + ".." + "y" * 17 + "#12"


def test_select_takes_a_regular_expression():
    trace = io.read_trace(SAMPLE)
    assert set(trace.select(r"kalman|nms").kernels().label) == {
        "kalman_update_kernel", "nms_kernel",
    }  # fmt: skip
    assert len(trace.select(re.compile("NMS", re.IGNORECASE))) == 4
    assert len(trace.select("no such kernel")) == 0
    assert len(trace.select("no such kernel").kernels()) == 0
    assert trace.select("nms").gpu == trace.gpu
    with pytest.raises(ValueError, match=r"pattern: got '\(', expected a regular expression:"):
        trace.select("(")


def test_tables_are_shown_bounded_and_escaped(tmp_path):
    events = [kernel(f"<b>{'x' * 5000}{i}</b>", i, 1, (i + 1, 1, 1)) for i in range(300)]
    trace = io.read_trace(put(tmp_path, events, [ORIN | {"name": "<i>" * 1000}]))
    assert repr(trace).startswith("Trace(300 launches of 300 kernels in 1 streams over 300 us, <i>")
    assert len(repr(trace)) < 250
    assert len(repr(trace.kernels())) < 300
    for table in (trace, trace.kernels()):
        page = table._repr_html_()
        assert len(page) < 5000
        assert "<b>" not in page and "<i>" not in page
        assert re.search(r"and 2[89]0 more", page)
    empty = trace.select("nothing")
    assert "0 launches" in repr(empty) and "<table>" in empty._repr_html_()


def test_frames():
    pytest.importorskip("pandas")
    trace = io.read_trace(SAMPLE)
    frame = trace.to_frame()
    assert len(frame) == len(trace) and frame["start"].is_monotonic_increasing
    assert list(frame.columns)[:3] == ["name", "start", "duration"]
    kernels = trace.kernels().to_frame()
    assert kernels["total"].sum() == frame["duration"].sum()
    assert list(io.occupancy_agreement(trace).to_frame().columns) == [
        "expected", "reported", "reason",
    ]  # fmt: skip


def test_traces_can_be_pickled():
    trace = pickle.loads(pickle.dumps(io.read_trace(SAMPLE)))
    assert len(trace.kernels()) == 6


# Choosing kernels, and making tasks of them


def many(folder):
    """Four kernels on 16 SMs: a fits in one wave, b takes two, c fits, d's block fits nowhere."""
    events = [
        kernel("a", 0, 10, (96, 1, 1), (256, 1, 1)),
        kernel("b", 100, 50, (97, 1, 1), (256, 1, 1)),
        kernel("c", 200, 5, (1, 1, 1)),
        kernel("d", 300, 70, shared_memory=200_000),
    ]
    return io.read_trace(put(folder, events))


def test_waves_and_what_fits(tmp_path):
    kernels = many(tmp_path).kernels()
    assert kernels.name.tolist() == ["d", "b", "a", "c"]
    assert kernels.occupancy().tolist() == [0, 6, 6, 12]
    assert kernels.fits().tolist() == [False, False, True, True]
    with pytest.raises(ValueError, match="kernel 'd': got a block that fits no SM, expected"):
        kernels.waves()
    assert many(tmp_path).select("[abc]").kernels().waves().tolist() == [2, 1, 1]


def test_the_kernels_where_the_time_goes_come_first(tmp_path):
    """Two kernels that fit take the last places, if they take a hundredth of the time."""
    times = [900, 300, 200, 100, 90, 80, 20, 18, 10]
    events = [
        kernel(name, i * 2000, time, (4 if name in "fgi" else 9999, 1, 1))
        for i, (name, time) in enumerate(zip("abcdefghi", times, strict=True))
    ]
    trace = io.read_trace(put(tmp_path, events))
    assert trace.kernels().fits().sum() == 3
    assert "".join(trace.choose(5).name) == "abcfg"
    assert "".join(trace.choose(6).name) == "abcdfg"
    assert "".join(trace.choose(3).name) == "afg"
    assert "".join(trace.choose(2).name) == "ab"
    assert "".join(trace.select("[^g]").choose(5).name) == "abcdf"  # i takes too little
    assert "".join(trace.select("[^fg]").choose(5).name) == "abcde"


def test_choose_leaves_out_kernels_that_cannot_run(tmp_path):
    trace = many(tmp_path)
    assert trace.choose(1).name.tolist() == ["b"]
    assert trace.choose(2).name.tolist() == ["b", "a"]
    assert trace.choose(3).name.tolist() == ["b", "a", "c"]  # still heaviest first
    assert trace.choose(9).name.tolist() == ["b", "a", "c"]  # d cannot run at all
    assert trace.choose(2, together=False).name.tolist() == ["d", "b"]
    assert trace.choose(2, "[cb]").name.tolist() == ["b", "c"]
    assert trace.choose(1, "[cb]").name.tolist() == ["b"]
    with pytest.raises(ValueError, match="pattern: got 'z', expected one that matches a"):
        trace.choose(pattern="z")
    with pytest.raises(ValueError, match="count: got 0, expected a positive number"):
        trace.choose(0)
    with pytest.raises(ValueError, match=r"gpu: got Orin \(16 SMs\), expected one that can run"):
        trace.select("d").choose()


def test_tasks_of_kernels(tmp_path):
    kernels = many(tmp_path).choose(3)
    tasks = kernels.tasks([1_000_000, 500_000, 250_000], 200_000)
    assert tasks.name == ("b", "a", "c")
    assert tasks.period.tolist() == [1_000_000, 500_000, 250_000]
    assert tasks.deadline.tolist() == [200_000] * 3
    assert tasks.wcet.tolist() == [50_000, 10_000, 5_000]
    assert tasks.block_time.tolist() == [25_000, 10_000, 5_000]
    assert tasks.blocks.tolist() == [97, 96, 1]
    assert tasks.threads.tolist() == [256, 256, 128]
    assert tasks.regs.tolist() == [32] * 3
    assert tasks.smem.tolist() == [0] * 3
    assert kernels.tasks(400_000).deadline.tolist() == [400_000] * 3
    # The floor of 2 * 50 us leaves 5 and 10 us a utilization of 0.05 and 0.1; 50 / 0.35 -> 150 us.
    assert kernels.tasks(utilization=0.5).period.tolist() == [150_000, 100_000, 100_000]


def test_block_time_is_rounded_up(tmp_path):
    path = put(tmp_path, [kernel("a", 0, 0.011, (96 * 2 + 1, 1, 1), (256, 1, 1))])
    assert io.read_trace(path).choose().tasks().block_time.tolist() == [4]


def test_tasks_refuse_what_makes_no_sense(tmp_path):
    kernels = many(tmp_path).choose(3)
    for periods in ([1, 2], [1, 0, 1], [1, 2, -3], 0, 1.5, math.nan):
        with pytest.raises(ValueError, match="period"):
            kernels.tasks(periods)
    with pytest.raises(ValueError, match="deadline"):
        kernels.tasks(10, [1, 2, 3, 4])
    for utilization in (0, -1, math.nan, math.inf, 3.001):
        with pytest.raises(ValueError, match="utilization: got"):
            kernels.tasks(utilization=utilization)
    with pytest.raises(ValueError, match="kernels: got none, expected at least one"):
        many(tmp_path).select("z").kernels().tasks(5)
    with pytest.raises(ValueError, match="kernel 'd': got a block that fits no SM, expected"):
        many(tmp_path).kernels().tasks(5)
    still = io.read_trace(put(tmp_path, [kernel("still", dur=0)]))
    with pytest.raises(ValueError, match="kernel 'still': got a measured duration of 0,"):
        still.choose().tasks(5)


@given(
    st.lists(st.integers(1, 10**10), min_size=1, max_size=12),
    st.fractions(Fraction(1, 50), 1, max_denominator=100),
    st.sampled_from([1, 7, 50_000]),
)
def test_automatic_periods(wcet, utilization, step):
    periods = io.harmonic_periods(wcet, utilization, step).tolist()
    grid = {m << k for m in (1, 3) for k in range(64)}
    assert all(period % step == 0 and period // step in grid for period in periods)
    assert min(periods) >= 2 * max(wcet)
    assert sum(Fraction(c, p) for c, p in zip(wcet, periods, strict=True)) <= utilization
    assert math.lcm(*periods) <= 48 * min(periods)
    # A task that could have more than the floor allows has at least an even share of the rest,
    # before its period was rounded up (by less than a factor of 2, and to a step).
    longest = max(range(len(wcet)), key=wcet.__getitem__)
    fair = max(2 * wcet[longest], wcet[longest] * len(wcet) / utilization)
    assert periods[longest] <= 2 * (fair + step)


def test_equal_times_get_one_period_that_all_of_them_allow():
    assert io.harmonic_periods([1, 1], Fraction(5, 71), 7).tolist() == [42, 42]
    assert 2 / io.harmonic_periods([1, 1], Fraction(5, 71), 1)[0] <= 5 / 71


def test_periods_of_nothing_and_beyond_64_bits():
    assert io.harmonic_periods([]).tolist() == []
    with pytest.raises(ValueError, match="a period exceeds 64 bits"):
        io.harmonic_periods([2**62, 1], 0.5)
    with pytest.raises(ValueError, match=r"wcet\[1\]: got 0, expected a positive number"):
        io.harmonic_periods([5, 0])
    with pytest.raises(ValueError, match="step: got 0, expected a positive number"):
        io.harmonic_periods([5], step=0)


# Occupancy


def test_occupancy_agreement_of_the_sample():
    trace = io.read_trace(SAMPLE)
    result = io.occupancy_agreement(trace)
    for i in range(len(trace)):
        threads = int(trace.threads[i])
        hosted = resident(threads, int(trace.regs[i]), int(trace.smem[i]))
        share = min(Fraction(hosted), Fraction(int(trace.blocks[i]), 16)) * threads / 1536
        assert result.expected[i] == math.floor(100 * share + Fraction(1, 2))
    assert result.counts() == {"": 29, io.OPT_IN: 8}
    assert len(result) == len(trace)
    assert set(trace.select("cutlass").smem) == {73728}
    assert repr(result) == (
        "OccupancyAgreement(29 equal; 8 opt-in shared memory above 48 KiB: profiler reports 0)"
    )


def test_why_an_occupancy_differs(tmp_path):
    reported = "est. achieved occupancy %"
    base = kernel(grid=(3, 1, 1), block=(128, 1, 1))  # 3 / 16 * 128 / 1536 = 1.5625 %
    events = [
        kernel() | {"args": base["args"] | {reported: 2}},
        kernel() | {"args": base["args"] | {reported: 1}},
        base,
        kernel() | {"args": base["args"] | {reported: 0, "shared memory": 49153}},
        kernel() | {"args": base["args"] | {reported: 0, "shared memory": 49152}},
        # exactly 62.5 %: halves go up
        kernel() | {"args": base["args"] | {reported: 63, "grid": [120, 1, 1]}},
        # above 48 KiB, and 0 is right: less than half a percent
        kernel() | {"args": base["args"] | {reported: 0, "grid": [1, 1, 1], "block": [32, 1, 1],
                                            "shared memory": 65536}},
    ]  # fmt: skip
    result = io.occupancy_agreement(io.read_trace(put(tmp_path, events)))
    assert result.expected.tolist() == [2, 2, 2, 2, 2, 63, 0]
    assert result.reported.tolist() == [2, 1, -1, 0, 0, 63, 0]
    assert result.reason.tolist() == [
        "", "differs", "not reported", io.OPT_IN, "differs", "", "",
    ]  # fmt: skip
    assert result.counts() == {"": 3, io.OPT_IN: 1, "not reported": 1, "differs": 2}


def single(value):
    """The nearest number of single precision."""
    return struct.unpack("f", struct.pack("f", value))[0]


def test_occupancy_is_estimated_in_single_precision(tmp_path):
    # Every tie of a V100 (80 SMs, 2048 threads): exactly a half of a percent.
    shapes = [
        (blocks, threads)
        for blocks in range(1, 161)
        for threads in range(32, 257, 32)
        if (200 * blocks * threads) % (2 * 80 * 2048) == 80 * 2048
    ]
    events = [kernel(grid=(b, 1, 1), block=(t, 1, 1)) for b, t in shapes]
    trace = io.read_trace(put(tmp_path, events), gpu="V100")
    up = [math.floor(Fraction(100 * b * t, 80 * 2048) + Fraction(1, 2)) for b, t in shapes]
    found = io.occupancy_agreement(trace).expected.tolist()
    parts = [single(single(single(b / 80) * t) / 2048) for b, t in shapes]
    assert found == [math.floor(0.5 + part * 100.0) for part in parts]
    assert {a - b for a, b in zip(up, found, strict=True)} == {0, 1}


@pytest.mark.skipif(not TRACES.is_dir(), reason="the folder of recorded traces is absent")
@pytest.mark.parametrize(
    ("name", "gpu", "launches", "names", "streams", "opt_in"),
    [("alexnet_a100", None, 79, 16, 2, 6), ("training_a100", "a100", 1154, 194, 4, 290)],
)
def test_recorded_traces(name, gpu, launches, names, streams, opt_in):
    trace = io.read_trace(TRACES / f"{name}.pt.trace.json.gz", gpu=gpu)
    assert (len(trace), len(set(trace.name))) == (launches, names)
    assert len(set(trace.stream)) == streams
    assert (trace.gpu.sms, trace.gpu.cc, trace.gpu.blocks_per_sm) == (108, (8, 0), 32)
    result = io.occupancy_agreement(trace)
    assert result.counts() == {"": launches - opt_in, io.OPT_IN: opt_in}
    kernels = trace.kernels()
    assert kernels.count.sum() == launches
    assert kernels.total.sum() == trace.duration.sum()
    tasks = trace.choose(5).tasks()
    assert len(tasks.name) == 5
    assert tasks.hyperperiod <= 48 * tasks.period.min()
    assert tasks.utilization <= 1


@pytest.mark.skipif(not TRACES.is_dir(), reason="the folder of recorded traces is absent")
def test_a_recorded_trace_without_a_gpu():
    assert io.read_trace(TRACES / "training_a100.pt.trace.json.gz").gpu is None


# The project's own sample


def test_the_sample_is_a_perception_pipeline():
    trace = io.read_trace(SAMPLE)
    assert SAMPLE.stat().st_size < 30_000
    assert len(trace) == 37
    assert trace.kernels().label.tolist() == [
        "cutlass_80_tensorop..8x64_32x6_tn_align8",
        "voxelize_kernel",
        "debayer_resize_kernel",
        "nms_kernel",
        "kalman_update_kernel",
        "clamp_kernel",
    ]
    assert sorted(set(trace.stream)) == [7, 13, 14]
    assert (trace.gpu.name, trace.gpu.sms, trace.gpu.cc) == ("Orin", 16, (8, 7))
    assert trace.kernels().waves().tolist() == [1, 1, 22, 1, 1, 1]
    assert trace.start[0] == 1731590400123652800


def test_the_sample_is_consistent():
    document = json.loads(SAMPLE.read_text(), parse_float=Decimal)
    events = document["traceEvents"]
    calls = {e["args"]["correlation"]: e for e in events if e.get("cat") == "cuda_runtime"}
    busy = {}
    for event in sorted(events, key=lambda e: e["ts"]):
        if event.get("cat") not in ("kernel", "gpu_memcpy"):
            continue
        call, args = calls[event["args"]["correlation"]], event["args"]
        assert call["ts"] + call["dur"] < event["ts"]
        assert busy.get(args["stream"], 0) <= event["ts"]
        busy[args["stream"]] = event["ts"] + event["dur"]
        if event["cat"] == "kernel":
            assert args["blocks per SM"] * 16 == math.prod(args["grid"])
            assert args["warps per SM"] * 512 == math.prod(args["grid"]) * math.prod(args["block"])


# Refusals


@pytest.mark.parametrize(
    ("event", "message"),
    [
        (without(kernel("conv"), "ts"), "'ts': got nothing, expected a time in microseconds"),
        (without(kernel("conv"), "dur"), "'dur': got nothing, expected a time in"),
        (without(kernel(), "name"), "'name': got nothing, expected the kernel's name"),
        (without(kernel(), "args"), "'args': got nothing, expected an object with the"),
        (kernel("") , "'name': got '', expected the kernel's name"),
        (kernel() | {"name": 7}, "'name': got 7, expected the kernel's name"),
        (kernel() | {"args": [1]}, r"'args': got \[1\], expected an object with the"),
        *((without(kernel(), field), f"'{field}': got nothing") for field in (
            "device", "context", "stream", "registers per thread", "shared memory",
        )),
        (kernel(dur=-1), "'dur': got -1, expected a non-negative number"),
        (kernel(dur=-0.001), r"'dur': got -0\.001, expected a non-negative number"),
        (kernel(dur=math.nan), "'dur': got nan, expected a time in microseconds"),
        (kernel(ts=math.inf), "'ts': got inf, expected a time in microseconds"),
        (kernel(ts="12"), "'ts': got '12', expected a time in microseconds"),
        (kernel(ts=None), "'ts': got None, expected a time in microseconds"),
        (kernel(ts=True), "'ts': got True, expected a time in microseconds"),
        (kernel(ts=2**63 // 1000 + 1), "'ts': got 9223372036854776, expected a time that"),
        (kernel(ts=1e30), r"'ts': got 1E\+30, expected a time in microseconds"),
        (kernel(ts=1e17), r"'ts': got 1E\+17, expected a time that fits 64"),
        (kernel(ts=-(10**17)), "'ts': got -100000000000000000, expected a time"),
        (kernel(ts=2**62 // 1000, dur=2**62 // 1000 + 2), "'ts': got 4611686018427387, expected a"),
        (kernel(grid=(0, 1, 1)), r"'grid': got \[0, 1, 1\], expected three positive"),
        (kernel(grid=(1.5, 1, 1)), r"'grid': got \[Decimal\('1\.5'\), 1, 1\], expected"),
        (kernel(grid=(1, 1)), r"'grid': got \[1, 1\], expected three positive"),
        (kernel(grid=(1, 1, None)), r"'grid': got \[1, 1, None\], expected three positive"),
        (kernel(grid=(1, math.nan, 1)), r"'grid': got \[1, nan, 1\], expected three positive"),
        (kernel(grid=(2**31, 2**31, 2**31)), r"'grid': got \[2147483648, 2147483648,"),
        (kernel(block=(-1, 1, 1)), r"'block': got \[-1, 1, 1\], expected three positive"),
        (kernel(block=()), r"'block': got \[\], expected three positive integers"),
        (kernel() | {"args": kernel()["args"] | {"block": 128}}, "'block': got 128, expected"),
        (kernel(registers_per_thread=-1), "'registers per thread': got -1, expected at least"),
        (kernel(shared_memory="4 KB"), "'shared memory': got '4 KB', expected an integer"),
        (kernel(shared_memory=0.5), r"'shared memory': got 0\.5, expected an integer"),
        (kernel(shared_memory=2**63), "'shared memory': got 9223372036854775808,"),
        (kernel(shared_memory=math.nan), "'shared memory': got nan, expected an integer"),
        (kernel(device=-1), "'device': got -1, expected at least 0, of 64 bits"),
        (kernel(stream=False), "'stream': got False, expected an integer"),
        (kernel() | {"args": kernel()["args"] | {"est. achieved occupancy %": "high"}},
         r"'est\. achieved occupancy %': got 'high', expected"),
        (kernel("x" * 6000, dur=-1), r"kernel 'x{50,59}\.\.\.: 'dur'"),
    ],
)  # fmt: skip
def test_malformed_kernels(tmp_path, event, message):
    path = put(tmp_path, [kernel(), {"ph": "M"}, event])
    with pytest.raises(ValueError, match=message) as caught:
        io.read_trace(path)
    assert str(caught.value).startswith(f"{path}: traceEvents[2], kernel ")
    assert len(str(caught.value)) < len(str(path)) + 300


def test_kernels_without_a_grid_keep_their_time(tmp_path):
    events = [kernel("a"), without(kernel("b"), "grid"), kernel("c"), without(kernel("d"), "block")]
    events[3]["args"]["grid"] = None
    path = put(tmp_path, events)
    trace = io.read_trace(path)
    assert trace.name.tolist() == ["a", "b", "c", "d"]
    assert trace.blocks.tolist() == [4, 0, 4, 0]
    assert trace.threads.tolist() == [128, 0, 128, 0]
    assert trace.notes == (
        "2 kernels without grid and block (10us in all), of which only the time is known, the "
        "first traceEvents[1], 'b'",
    )
    read = io.read_trace(path, gpu="A100")
    assert sorted(read.choose().name.tolist()) == ["a", "c"]
    kernels = read.choose(pattern="b")
    assert kernels.occupancy().tolist() == [0] and kernels.fits().tolist() == [False]
    for refused in (kernels.waves, kernels.tasks):
        with pytest.raises(ValueError, match="kernel 'b': got no grid and block, expected them"):
            refused()
    assert io.occupancy_agreement(read).reason.tolist() == ["not reported"] * 4
    assert io.read_trace(put(tmp_path, [kernel()])).notes == ()
    put(tmp_path, [events[1]])
    assert io.read_trace(path).threads.tolist() == [0]
    put(tmp_path, [kernel(), without(kernel(), "grid"), kernel(dur=-1)])
    with pytest.raises(ValueError, match=r"traceEvents\[2\], kernel 'k': 'dur': got -1"):
        io.read_trace(path)


def of_rocm(name="k", **other):
    """A kernel event as the profiler writes it on ROCm."""
    event = kernel(name) | {"args": {
        "device": 0, "stream": 3, "hsa queue": 1, "correlation": 3, "kind": "Dispatch Kernel",
        "grid": [4, 1, 1], "block": [256, 1, 1],
    } | other}  # fmt: skip
    return event


MI250 = {
    "id": 0, "name": "AMD Instinct MI250X", "computeMajor": 9, "computeMinor": 0, "numSms": 110,
    "maxThreadsPerMultiprocessor": 2048, "regsPerBlock": 65536, "warpSize": 64,
    "maxSharedMemoryPerMultiProcessor": 65536,
}  # fmt: skip


def test_amd_is_read_as_far_as_it_goes(tmp_path):
    trace = io.read_trace(put(tmp_path, [of_rocm(), of_rocm("b", context=2)], [MI250]))
    assert (trace.blocks.tolist(), trace.threads.tolist()) == ([4, 4], [256, 256])
    assert (trace.stream.tolist(), trace.context.tolist()) == ([3, 3], [0, 2])
    assert trace.regs.tolist() == trace.smem.tolist() == [0, 0]
    assert trace.gpu is None
    assert trace.notes == (
        "AMD GPUs are not supported: got 'Dispatch Kernel', 'AMD Instinct MI250X' with warpSize "
        "64; the GPU is unknown, and registers, shared memory and contexts that the file lacks are "
        "0; times, streams and workloads can be used, and answers with a preset of NVIDIA or a "
        "gs.GPU(...) of your own (gpu=, --gpu) are about that GPU",
    )
    with pytest.raises(ValueError, match="gpu: got None, expected the GPU of the trace"):
        trace.kernels().occupancy()
    with pytest.raises(ValueError, match=r"got 'AMD Instinct MI250X' with warpSize 64, expected a"):
        GPU.from_properties(MI250)
    path = put(tmp_path, [without(of_rocm(), "stream")], [MI250])
    with pytest.raises(ValueError, match="'stream': got nothing, expected an integer"):
        io.read_trace(path)


def hip_call(name="hipLaunchKernel", category="cuda_runtime", **args):
    """A launch call in the format of ROCm; by hand, as `of_rocm`."""
    shape = {"cid": 205, "correlation": 3, "grid": [4, 2, 1], "block": [64, 1, 1]}
    event = {"ph": "X", "cat": category, "name": name, "pid": 9, "tid": 9, "ts": 1, "dur": 2}
    return event | {"args": shape | {"shared memory": 0} | args}


@pytest.mark.parametrize("category", ["cuda_runtime", "hip_runtime"])
def test_grids_of_rocm_stand_in_the_launch_calls(tmp_path, category):
    bare = [of_rocm(f"k{i}", grid=None, block=None, correlation=i) for i in range(6)]
    calls = [
        hip_call(correlation=0, category=category),
        hip_call("hipExtLaunchKernel", category, correlation=1, grid=[7, 1, 1], block=[32, 2, 1]),
        hip_call("hipGraphLaunch", category, correlation=2),  # of many kernels
        hip_call(category=category, correlation=3, grid=[0, 1, 1]),
        hip_call("hipModuleLaunchKernel", category, correlation=4),
        hip_call("hipModuleLaunchKernel", category, correlation=4, grid=[9, 9, 9]),
    ]
    own = of_rocm("own", correlation=0)  # has a grid, which counts
    for events in ([*bare, own, *calls], [*calls, own, *bare]):
        trace = io.read_trace(put(tmp_path, events, [MI250]))
        found = dict(zip(trace.name.tolist(), trace.blocks.tolist(), strict=True))
        assert found == {"own": 4, "k0": 8, "k1": 7} | dict.fromkeys(["k2", "k3", "k4", "k5"], 0)
        assert trace.threads[trace.name == "k1"].tolist() == [64]
        assert trace.call.tolist().count(-1) == 1  # no call has the number of k5
        first = events.index(bare[2])
        assert trace.notes[0] == (
            "4 kernels without grid and block (20us in all), of which only the time is known, the "
            f"first traceEvents[{first}], 'k2'"
        )
    path = put(tmp_path, [own, without(bare[0], "stream"), calls[0]])
    with pytest.raises(ValueError, match=r"traceEvents\[1\], kernel 'k0': 'stream': got nothing"):
        io.read_trace(path)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "got an empty file, expected a trace"),
        (gzip.compress(b"", mtime=0), "got an empty gzip, expected a trace"),
        (b"not json", "expected JSON of the PyTorch profiler, or a trace"),
        (SAMPLE.read_bytes()[:20_000], "expected JSON: Expecting ',' delimiter: line 93"),
        (b'{"traceEvents": []} tail', r"expected JSON: Extra data: line 1 column 21 \(char"),
        (b"\xff\xfe\x00", "got text in UTF-16: save it in UTF-8"),
        (b"[" * 200_000, "expected JSON: nested too deeply"),
        (b"[1" + b"0" * 5000 + b"]", "expected JSON:"),
        (b"[1e99999999999999999999]", "expected JSON:"),
        (b"\x1f\x8b", "expected an intact gzip:"),
        (gzip.compress(SAMPLE.read_bytes())[:-400], "expected an intact gzip:"),
        (gzip.compress(SAMPLE.read_bytes()).replace(b"\x1f\x8b\x08", b"\x1f\x8b\x07"),
         "expected an intact gzip:"),
        (gzip.compress(SAMPLE.read_bytes())[:-8] + b"\0" * 8, "expected an intact gzip:"),
        (gzip.compress(b"no json here", mtime=0), "expected JSON in the gzip of the PyTorch"),
        (b"SQLite format 3\0" + b"\0" * 100, "expected an intact SQLite database: file is not a"),
        (b"[]", "got JSON without a list of traceEvents, expected"),
        (b"3.5", "got JSON without a list of traceEvents, expected"),
        (b"{}", "got JSON without a list of traceEvents, expected"),
        (b'{"traceEvents": {}}', "got JSON without a list of traceEvents, expected"),
        (b'{"traceEvents": []}', "got no kernels among 0 events, expected at least"),
        (b'{"traceEvents": [{"ph": "X", "cat": "cpu_op"}]}', "got no kernels among 1 events,"),
        (b'{"traceEvents": [{"ph": "M"}, 7]}', r"traceEvents\[1\]: got 7, expected an object"),
    ],
)  # fmt: skip
def test_malformed_files(tmp_path, content, message):
    path = tmp_path / "broken.json"
    path.write_bytes(content)
    with pytest.raises(ValueError, match=message) as caught:
        io.read_trace(path)
    assert str(caught.value).startswith(f"{path}: ")


@pytest.mark.long
def test_every_truncation_is_refused(tmp_path):
    path = tmp_path / "cut.json"
    whole = put(tmp_path, [kernel(ts=1.5)]).read_bytes()
    packed = gzip.compress(whole, mtime=0)
    for data in [whole[:n] for n in range(len(whole))] + [packed[:n] for n in range(len(packed))]:
        path.write_bytes(data)
        with pytest.raises(ValueError, match=r"cut\.json"):
            io.read_trace(path)


def test_damaged_bytes_never_escape_as_another_error(tmp_path):
    path = tmp_path / "damaged.json"
    whole = put(tmp_path, [kernel(ts=1.5), kernel("b", 2)]).read_bytes()
    generator = random.Random(7)
    for _ in range(300):
        data = bytearray(whole)
        for _ in range(generator.randrange(1, 4)):
            data[generator.randrange(len(data))] = generator.choice(b'09-.eE{}[]",:nt\\ \xff')
        path.write_bytes(gzip.compress(data, mtime=0) if generator.random() < 0.3 else data)
        try:
            assert len(io.read_trace(path)) in (1, 2)
        except ValueError as error:
            assert str(path) in str(error)


def test_missing_files(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"absent\.json"):
        io.read_trace(tmp_path / "absent.json")
    with pytest.raises(OSError):
        io.read_trace(tmp_path)


# Chrome traces


def test_events_in_exact_microseconds(tmp_path):
    path = tmp_path / "out.json"
    events = [
        chrome_trace.process_name(0, "GPU"),
        chrome_trace.thread_name(0, np.int64(3), "SM 3"),
        chrome_trace.complete_event("k", 0, 3, 1695835573023613251, np.int64(1500), {"batch": 2}),
        chrome_trace.complete_event("k", "GPU", "lane", -1, 0),
        chrome_trace.counter_event("occupancy", 0, 10**6, {"threads": np.int64(64)}),
    ]
    assert chrome_trace.write_chrome_trace(path, iter(events)) is None
    text = path.read_text()
    assert '"ts": 1695835573023613.251, "dur": 1.5}' in text
    document = json.loads(text, parse_float=Decimal)
    assert list(document) == ["traceEvents", "displayTimeUnit"]
    assert document["displayTimeUnit"] == "ns"
    assert document["traceEvents"] == [
        {"ph": "M", "name": "process_name", "pid": 0, "args": {"name": "GPU"}},
        {"ph": "M", "name": "thread_name", "pid": 0, "tid": 3, "args": {"name": "SM 3"}},
        {"ph": "X", "name": "k", "pid": 0, "tid": 3, "args": {"batch": 2},
         "ts": Decimal("1695835573023613.251"), "dur": Decimal("1.5")},
        {"ph": "X", "name": "k", "pid": "GPU", "tid": "lane", "ts": Decimal("-0.001"), "dur": 0},
        {"ph": "C", "name": "occupancy", "pid": 0, "args": {"threads": 64}, "ts": 1000},
    ]  # fmt: skip
    assert os.listdir(tmp_path) == ["out.json"]


@given(st.integers(-(2**70), 2**70))
def test_microseconds_are_exact(time):
    with localcontext() as context:
        context.prec = 2
        value = chrome_trace.microseconds(time)
    assert Fraction(value) * 1000 == time
    assert "E" not in f"{value:f}" and not re.search(r"\.\d*0$", f"{value:f}")


def test_packed_chrome_traces_depend_on_the_events_alone(tmp_path):
    events = [chrome_trace.complete_event("é\ud800", 0, 0, i, 1) for i in range(100)]
    for name in ("a.json.gz", "b.json.gz"):
        chrome_trace.write_chrome_trace(tmp_path / name, events, other={"seed": 7})
    a, b = ((tmp_path / name).read_bytes() for name in ("a.json.gz", "b.json.gz"))
    assert a == b
    document = json.loads(gzip.decompress(a))
    assert len(document["traceEvents"]) == 100
    assert document["otherData"] == {"seed": 7}


def test_no_events_make_an_empty_trace(tmp_path):
    chrome_trace.write_chrome_trace(tmp_path / "none.json", [])
    assert json.loads((tmp_path / "none.json").read_text())["traceEvents"] == []


@pytest.mark.parametrize(
    ("bad", "error", "message"),
    [
        ({"ph": "C", "args": {"x": math.nan}}, ValueError, "event 2: .*JSON"),
        (
            {"ph": "C", "ts": Decimal("NaN")},
            ValueError,
            "event 2: ts: got NaN, expected a finite number",
        ),
        (
            {"ph": "C", "args": {"x": object()}},
            TypeError,
            "event 2: got object .*, expected a value of JSON",
        ),
        ("X", TypeError, "event 2: got 'X', expected a mapping"),
    ],
)
@pytest.mark.parametrize("name", ["out.json", "out.json.gz"])
def test_nothing_is_left_half_written(tmp_path, name, bad, error, message):
    path = tmp_path / name
    path.write_text("as it was")
    events = [chrome_trace.process_name(0, "a"), chrome_trace.process_name(1, "b"), bad]
    with pytest.raises(error, match=message):
        chrome_trace.write_chrome_trace(path, events)
    assert path.read_text() == "as it was"
    assert os.listdir(tmp_path) == [name]


def test_an_interrupt_leaves_the_old_file(tmp_path):
    path = tmp_path / "out.json"

    def interrupted():
        yield chrome_trace.process_name(0, "a")
        assert not path.exists()
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        chrome_trace.write_chrome_trace(path, interrupted())
    assert os.listdir(tmp_path) == []


def test_writing_goes_through_links_and_names_what_fails(tmp_path):
    (tmp_path / "real.json").write_text("old")
    (tmp_path / "link.json").symlink_to("real.json")
    chrome_trace.write_chrome_trace(tmp_path / "link.json", [])
    assert (tmp_path / "link.json").is_symlink()
    assert "traceEvents" in (tmp_path / "real.json").read_text()
    with pytest.raises(FileNotFoundError, match=r"absent.out\.json"):
        chrome_trace.write_chrome_trace(tmp_path / "absent" / "out.json", [])
    (tmp_path / "folder").mkdir()
    with pytest.raises(OSError, match="folder"):
        chrome_trace.write_chrome_trace(tmp_path / "folder", [])
    assert sorted(os.listdir(tmp_path)) == ["folder", "link.json", "real.json"]


def test_constructors_refuse_what_is_no_integer_time():
    with pytest.raises(TypeError):
        chrome_trace.complete_event("k", 0, 0, 1.5, 1)
    with pytest.raises(TypeError):
        chrome_trace.microseconds("12")
    with pytest.raises(ValueError, match="duration of 'k': got -1, expected 0 or more"):
        chrome_trace.complete_event("k", 0, 0, 1, -1)


def test_a_trace_counts_kernels_as_its_table_does(tmp_path):
    events = [kernel("a", i, 1, (i + 1, 1, 1)) for i in range(3)] + [kernel("b", 9, 1)] * 2
    trace = io.read_trace(put(tmp_path, events))
    assert repr(trace).startswith("Trace(5 launches of 4 kernels in 1 streams")
    assert trace._repr_html_().count("<tr>") == 1 + len(trace.kernels()) == 5


@pytest.mark.parametrize(
    ("wcet", "asked", "text"),
    [
        ([100_000], 0.5, "utilization 0.5"),
        ([800_000, 1_000_000], 1.9, "utilization 0.75 (asked for: 1.9): kernels cannot be "
         "interrupted, and no period is below 2 ms, twice the longest kernel, which allows 0.9; "
         "periods are rounded up to 1, 2, 3, 4, 6, 8, ... times 50 us, which keeps the hyperperiod "
         "short"),
        ([600_000, 600_000], 2, "utilization 1 (asked for: 2): kernels cannot be interrupted, and "
         "no period is below 1.2 ms, twice the longest kernel, which allows 1"),
        ([1_000_000], 0.4, "utilization 0.3125 (asked for: 0.4): periods are rounded up to 1, 2, "
         "3, 4, 6, 8, ... times 50 us, which keeps the hyperperiod short"),
    ],
)  # fmt: skip
def test_why_a_utilization_is_not_reached(wcet, asked, text):
    periods = io.harmonic_periods(wcet, asked)
    assert utilization_text(np.array(wcet), periods, asked) == text
