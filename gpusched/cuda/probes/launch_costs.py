"""Probes of launches: warm-up, overhead, and programmatic dependent launch."""

from __future__ import annotations

import numpy as np

from gpusched.cuda.device import Operation
from gpusched.cuda.probes.bench import MS, UNDECIDED, Bench, Finding, decided, quantiles

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
