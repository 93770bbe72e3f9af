"""Probes of the order in which kernels of several streams start.

Hardware channels, the NULL stream (rules N1 and N2), and the queues and priorities of [RTSS17].
"""

from __future__ import annotations

from gpusched.cuda.device import Operation, Stream
from gpusched.cuda.probes.bench import MS, Bench, Finding


def channels(bench: Bench) -> Finding:
    """Number of hardware channels, measured with two kernels in each of many streams.

    A stream that shares its channel with an earlier one waits for that one's second kernel.
    """
    streams = 8 if bench.quick else 64
    ops = [Operation(stream=s, ns=streams * 50_000) for s in range(streams) for _ in range(2)]
    run = bench.device.run(ops)
    first = run.first[0, ::2]
    at_once = int((first < run.last[0, ::2].min()).sum())
    text = f"{at_once} of {streams} streams start at once"
    limit = bench.device.channels
    if limit is not None:
        text += f", {limit} channels were requested"
    return Finding("channels", "figure", text, {"streams": streams, "at_once": at_once})


def null_stream(bench: Bench) -> Finding:
    """Rules N1 and N2: blocking streams and the NULL stream wait for each other."""
    streams = [Stream(kind="blocking"), Stream(kind="null"), Stream(kind="blocking"), Stream()]
    ops = [Operation(stream=s, ns=MS) for s in range(4)]
    run = bench.device.run(ops, streams)
    first, last = run.first[0], run.last[0]
    wrong = []
    if first[1] < last[0]:
        wrong.append("the NULL stream did not wait for a blocking stream")
    if first[2] < last[1]:
        wrong.append("a blocking stream did not wait for the NULL stream")
    if first[3] >= last[1]:
        wrong.append("a non-blocking stream waited for the NULL stream")
    text = "; ".join(wrong) or "blocking streams wait for it, non-blocking ones do not"
    data = {"first": (first - first.min()).tolist(), "last": (last - first.min()).tolist()}
    return Finding("NULL stream", "fail" if wrong else "pass", text, data)


def queues(bench: Bench) -> Finding:
    """Streams, queues and priorities (rules G, X1, A1, A2), by ``gs.io.check_rules``.

    The kernels are one that fills the device twice, an urgent one, and small ones behind them.
    """
    from gpusched.io import check_rules

    full = 2 * bench.gpu.sms * (bench.gpu.threads_per_sm // 1024)
    greatest, least = bench.device.priorities
    ops = [
        Operation(0, full, 1024, ns=MS, name="two waves"),
        Operation(1, full // 2, 1024, ns=MS, at=MS // 4, name="behind it"),
        Operation(2, full // 2, 1024, ns=MS, at=MS // 2, name="urgent"),
        Operation(0, 3, 64, ns=MS // 10, at=MS // 2, name="second in its stream"),
    ]
    run = bench.device.run(ops, [Stream(least), Stream(least), Stream(greatest)])
    bench.log = log = run.log()
    tolerance = 50_000
    broken = check_rules(log, bench.spin_gpu, tolerance=tolerance, placement=None)
    first, dispatched = run.first[0], run.dispatched[0]
    if first[2] > dispatched[0] and greatest < least:
        text = "the urgent kernel started after the last block of the one that it should pass"
        return Finding("queues", "fail", text, {"broken": []})
    text = f"{len(log)} kernels, {len(broken)} rules broken within {tolerance / 1e3:.0f} µs"
    if broken:
        text += f"; first: {broken[0]}"
    data = {"broken": [str(violation) for violation in broken]}
    return Finding("queues", "fail" if broken else "pass", text, data)
