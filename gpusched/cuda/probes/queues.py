"""Probes of launches and copies: the order in which those of several streams start, their cost.

Hardware channels, the NULL stream (rules N1 and N2), the queues and priorities of [RTSS17],
preemption, and kernels beyond the number that run at once; copies that run at the same time; warm-
up, overhead, and programmatic dependent launch.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from gpusched.cuda.device import Operation, Stream
from gpusched.cuda.probes.bench import MS, UNDECIDED, Bench, Finding, decided, quantiles


def channels(bench: Bench) -> Finding:
    """Number of hardware channels, and when a kernel leaves its channel.

    Of two kernels in each of many streams, a stream that shares its channel with an earlier one
    waits for that one's second kernel. With one kernel in each stream it waits only if a kernel
    stays in its channel until it ends.
    """
    streams = 16 if bench.quick else 64
    pairs = [Operation(stream=s, ns=streams * 50_000) for s in range(streams) for _ in range(2)]
    counts, votes, partners = [], [], []
    for _ in range(bench.repeats(3, 20)):
        run = bench.device.run(pairs)
        first, second, last = run.first[0, ::2], run.first[0, 1::2], run.last[0, ::2]
        at_once = int((first < last.min()).sum())
        counts.append(at_once)
        waits = [s for s in range(streams) if first[s] >= last.min()]
        partners.append({s: int(np.abs(second[:s] - first[s]).argmin()) for s in waits if s})
        run = bench.device.run(pairs[::2])
        single = int((run.first[0] < run.last[0].min()).sum())
        vote: str | None = UNDECIDED
        if at_once == streams:
            vote = None
        elif single == streams:
            vote = "until dispatched"
        elif single == at_once:
            vote = "until ended"
        votes.append(vote)
    data: dict[str, Any] = {"streams": streams, "at_once": counts[0], "counts": counts}
    data["in_turn"] = all(s - p == counts[0] for waits in partners for s, p in waits.items())
    data["waits_for"] = {str(s): p for s, p in partners[0].items()}
    found = decided("channels", votes, "until dispatched", data)
    text = f"{counts[0]} of {streams} streams start at once"
    if bench.device.channels is not None:
        text += f", {bench.device.channels} channels were requested"
    return replace(found, text=f"{text}; a kernel is in its channel: {found.text}")


MOST_CHANNELS = 32
MOST_GRIDS = 256
"""Kernels that the probe of the resident grids launches at once."""


def resident_grids(bench: Bench) -> Finding:
    """Number of kernels that run at once, and whether a waiting urgent one holds up a running one.

    Beside as many small kernels as leave one place, a less urgent kernel of three waves runs; an
    urgent kernel then finds no place. The first small kernel ends after the first wave.
    """
    greatest, least = bench.device.priorities
    name = "resident grids"
    count = MOST_GRIDS
    run = bench.device.run([Operation(stream=s, ns=40 * MS) for s in range(count)])
    limit = int((run.first[0] < run.last[0].min()).sum())
    assumed = "less urgent running kernels go on"
    data: dict[str, Any] = {"at_once": limit, "documented": bench.gpu.resident_grids}
    if not MOST_CHANNELS < limit < count or greatest == least:  # few: channels may be the limit
        return decided(name, [None], assumed, data)
    waves = 2 * bench.gpu.sms
    ops = [Operation(s, ns=(80 if s else 30) * MS) for s in range(limit - 1)]
    ops += [
        Operation(limit - 1, 3 * waves, 896, ns=12 * MS, name="waves"),
        Operation(limit, ns=MS, at=4 * MS, name="older"),
        Operation(limit + 1, ns=MS, at=6 * MS, name="urgent"),
    ]
    streams = [Stream(least)] * (limit + 1) + [Stream(greatest)]
    votes, next_one = [], []
    for _ in range(bench.repeats(3, 20)):
        run = bench.device.run(ops, streams)
        starts = np.sort(run.block_start[0, run.kernel == limit - 1])
        place, second, urgent = run.last[0, 0], starts[waves], run.first[0, limit + 1]
        if starts[waves - 1] >= run.last[0, : limit - 1].min() or urgent < place:
            votes.append(UNDECIDED)
            continue
        votes.append(assumed if second < place else "all less urgent kernels wait")
        next_one.append("urgent" if urgent < run.first[0, limit] else "older")
    data["next"] = next_one[0] if len(set(next_one)) == 1 else None
    found = decided(name, votes, assumed, data)
    return replace(found, text=f"{limit} kernels run at once; {found.text}")


def preemption(bench: Bench) -> Finding:
    """Start of an urgent kernel while blocks of a less urgent one fill the device."""
    greatest, least = bench.device.priorities
    assumed = "between blocks"
    if greatest == least:
        return Finding("preemption", "skip", "the device has one priority")
    full, block = 2 * bench.gpu.sms, MS // 2
    ops = [
        Operation(0, 8 * full, 1024, ns=block, name="fills"),
        Operation(1, 8, 256, ns=10_000, at=MS + MS // 3, name="urgent"),
    ]
    run = bench.device.run(ops, [Stream(least), Stream(greatest)], repeats=bench.repeats(5, 60))
    votes: list[str | None] = []
    delays = []
    for r in range(len(run)):
        mine = run.kernel == 0
        urgent = run.first[r, 1]
        begun, ended = run.block_start[r, mine], run.block_end[r, mine]
        running = (begun <= urgent) & (ended > urgent)
        before = ended[ended <= urgent]
        delays.append(int(urgent - (begun.min() + ops[1].at)))
        if urgent >= run.dispatched[r, 0]:
            votes.append("after all blocks")
        elif running.sum() == full and before.size and urgent - before.max() > block // 4:
            votes.append("inside blocks")
        else:
            votes.append(assumed)
    data = {"block_ns": block, "delay_ns": quantiles(np.maximum(delays, 0))}
    return decided("preemption", votes, assumed, data)


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


COPY_PAIRS = (("in", "in"), ("out", "out"), ("in", "out"))


def copy_directions(bench: Bench) -> Finding:
    """Pairs of copies in two streams, of equal bytes; a small kernel behind each shows its end.

    Copies one after the other end a whole copy apart; copies at the same time share the bandwidth
    and end together.
    """
    size = (4 if bench.quick else 32) << 20
    repeats = bench.repeats(4, 30)
    alone = {kind: _ends(bench, [kind], size, repeats)[:, 0] for kind in ("in", "out")}
    votes: dict[tuple[str, str], list[str | None]] = {}
    apart: dict[str, list[float]] = {}
    for pair in COPY_PAIRS:
        took = min(float(np.median(alone[kind])) for kind in pair)
        ends = _ends(bench, list(pair), size, repeats)
        shares = (np.abs(ends[:, 1] - ends[:, 0]) / took).tolist()
        apart[", ".join(pair)] = shares
        votes[pair] = [
            "at once" if s < 0.4 else "in turn" if s > 0.6 else UNDECIDED for s in shares
        ]
    rows = list(zip(*(votes[pair] for pair in COPY_PAIRS), strict=True))
    told = [UNDECIDED if UNDECIDED in row else _text(row) for row in rows]
    data = {
        "engines": bench.device.limits["copy_engines"],
        "apart": apart,
        "alone_ns": {kind: float(np.median(took)) for kind, took in alone.items()},
    }
    return decided("copy directions", told, _text(_assumed(bench)), data)


def _assumed(bench: Bench) -> tuple[str, ...]:
    """Whether a pair runs at once with the engines that the device reports."""
    several = bench.device.limits["copy_engines"] > 1
    return ("in turn", "in turn", "at once" if several else "in turn")


def _text(row: tuple[str | None, ...]) -> str:
    words = (f"{a} and {b} {told}" for (a, b), told in zip(COPY_PAIRS, row, strict=True))
    return ", ".join(words)


def _ends(bench: Bench, kinds: list[str], size: int, repeats: int) -> np.ndarray:
    """Ends of copies after the start of the first one, by kernels before and behind them."""
    ops = []
    for stream, kind in enumerate(kinds):
        ops.append(Operation(stream, ns=1000))
        ops.append(Operation(stream, kind=f"copy_{kind}", bytes=size))
        ops.append(Operation(stream, ns=1000))
    run = bench.device.run(ops, repeats=repeats + 1)
    begun = run.last[1:, ::3].min(axis=1, keepdims=True)
    return np.asarray(run.first[1:, 2::3] - begun)  # without the first one, a warm-up


US = 1000
LONG_NS = 4_000_000_000
"""Time for which the probe of the warm-up looks at most."""


def warm_up(bench: Bench) -> Finding:
    """Time until the same work takes the same time."""
    found = bench.warm(LONG_NS)
    steady, series = found["steady_after_ns"], found["series"]
    if steady is None:
        text = f"not steady within {series[-1][0] / 1e9:.1f} s"
        return Finding("warm-up", "unclear", text, found)
    first, last = series[0][1], series[-1][1]
    text = f"steady after {steady / MS:.1f} ms; the first run took {first / last:.2f} times as long"
    return Finding("warm-up", "figure", text, found)


def overhead(bench: Bench) -> Finding:
    """Times of launches: one kernel at a time, and many in a row.

    Of one: the call, and the time from the call to the return of the wait that the kernel did not
    run. Of many in a row: the calls, and the time of each in the whole.
    """
    single = bench.device.run([Operation()], repeats=bench.repeats(200, 10_000))
    ran = single.last[:, 0] - single.first[:, 0]
    count = 100
    row = bench.device.run([Operation()] * count, repeats=bench.repeats(5, 100))
    data = {
        "call_ns": quantiles(single.returned - single.called),
        "whole_ns": quantiles(single.elapsed - ran),
        "row_call_ns": quantiles(row.returned - row.called),
        "row_each_ns": quantiles(row.elapsed / count),
    }
    parts = []
    for key, what in (("call_ns", "call"), ("whole_ns", "whole"), ("row_each_ns", "in a row")):
        found = data[key]
        assert found is not None
        parts.append(f"{what} {found['p50'] / US:.1f}, {found['p99'] / US:.1f}")
    text = f"µs of a launch, median and 99th percentile: {'; '.join(parts)}"
    return Finding("launch overhead", "figure", text, data)


def programmatic(bench: Bench) -> Finding:
    """Start of a programmatic dependent kernel: at the triggers of the one before, or its end.

    The kernel before has one wave of blocks, or two, of which the last triggers count.
    """
    name, assumed = "programmatic launch", "at the last trigger"
    if bench.device.limits["cc_major"] < 9:
        return Finding(name, "skip", "needs compute capability 9.0")
    votes: list[str | None] = []
    delays = []
    for waves in (1, 2):
        trigger, last = 300 * US, 1000 * US
        ops = [
            Operation(0, 2 * waves * bench.gpu.sms, 512, ns=last, trigger=trigger, smem=100_000),
            Operation(0, bench.gpu.sms, 64, ns=10 * US, programmatic=True),
        ]
        run = bench.device.run(ops, repeats=bench.repeats(4, 40))
        for r in range(len(run)):
            starts = run.block_start[r, run.kernel == 0]
            begun, ended = run.first[r, 1], run.last[r, 0]
            delays.append(int(begun - (starts.max() + trigger)))
            if begun >= ended:
                votes.append("at the end")
            else:
                votes.append(assumed if begun >= starts.max() + trigger - US else UNDECIDED)
    return decided(name, votes, assumed, {"after_trigger_ns": quantiles(np.array(delays))})
