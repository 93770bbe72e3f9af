"""State and findings of the probes of a device; processes that share it, and their probe."""

from __future__ import annotations

import json
import select
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

import numpy as np

from gpusched.cuda.device import Device, Operation, Run
from gpusched.io.block_log import BlockLog
from gpusched.model.gpu import GPU

MS = 1_000_000


@dataclass(frozen=True)
class Finding:
    """Result of one probe.

    Attributes
    ----------
    probe
        Name of the probe.
    status
        "pass" or "fail" for a comparison with an expectation, "unclear" for one that the runs do
        not decide, "figure" for a measurement, "skip" when the probe cannot run on the device.
    text
        A sentence with the figure, or the first disagreement.
    data
        Details, of values that JSON can hold. A probe of a rule has the rule that it found as
        "rule", None where it cannot tell, and the rule that the package assumes as "assumed". A
        value is None where nothing was measured.
    """

    probe: str
    status: str
    text: str
    data: dict[str, Any] = field(default_factory=dict)

    def line(self) -> str:
        """Line of a table of findings."""
        return f"{self.status:7} {self.probe:22} {self.text}"


def attempt(name: str, ask: Callable[[], Finding]) -> Finding:
    """Run a probe; an exception becomes a finding with status "fail"."""
    try:
        return ask()
    except (RuntimeError, ValueError, OSError, OverflowError, MemoryError) as error:
        text = f"{type(error).__name__}: {error.args[0] if error.args else ''}"
        return Finding(name, "fail", text, {})


UNDECIDED = "undecided"
"""Vote of a run that none of the known readings explains."""


def decided(
    probe: str, votes: Sequence[str | None], assumed: str, data: dict[str, Any] | None = None
) -> Finding:
    """Finding about a rule, of one vote per run.

    A vote is the only reading that explains a run, None where several do, or ``UNDECIDED`` where
    none does. The rule is found if at least one run votes, and all that vote agree.
    """
    cast = [vote for vote in votes if vote is not None]
    found = cast[0] if len(set(cast)) == 1 and UNDECIDED not in cast else None
    counts = {vote: cast.count(vote) for vote in sorted(set(cast))}
    told = ", ".join(f"{vote} in {count}" for vote, count in counts.items()) or "no run tells"
    told += f" of {len(votes)} runs"
    facts = {"rule": found, "assumed": assumed, "votes": counts, **(data or {})}
    if found is None:
        return Finding(probe, "unclear", f"cannot tell: {told}; assumed: {assumed}", facts)
    if found == assumed:
        return Finding(probe, "pass", f"{told}, as assumed", facts)
    return Finding(probe, "fail", f"{told}; assumed: {assumed}", facts)


def quantiles(values: Any, unit: float = 1.0) -> dict[str, Any] | None:
    """Minimum, quantiles and maximum of samples, with their number; None without samples."""
    samples = np.asarray(values, np.float64).ravel() / unit
    if not samples.size:
        return None
    shares = {"min": 0.0, "p50": 0.5, "p99": 0.99, "p999": 0.999, "p9999": 0.9999, "max": 1.0}
    found = np.quantile(samples, list(shares.values())).tolist()
    return {"n": samples.size, **dict(zip(shares, found, strict=True))}


STEADY = 0.01
"""Relative difference of the times of the same work on a device whose clocks are steady."""
MOST_WARM_NS = 1_000_000_000
_SAMPLES = 16


class Bench:
    """A device under test with the results that later probes use."""

    def __init__(self, device: Device, quick: bool) -> None:
        self.device = device
        self.quick = quick
        self.gpu: GPU = device.gpu  # with its measured SM order, once that is known
        self.log: BlockLog | None = None  # of the probe of the queues
        self.gpcs: list[list[int]] | None = None  # SMs of each GPC, once that is known
        self.warmed: dict[str, Any] | None = None

    def warm(self, most_ns: int = MOST_WARM_NS) -> dict[str, Any]:
        """Keep the device busy until the same work takes the same time; once.

        The result has the host time and the duration of each run, in ns, and the time after which
        the durations were steady; None where they were not within ``most_ns``.
        """
        if self.warmed is not None:
            return self.warmed
        work = Operation(blocks=self.gpu.sms, threads=128, iterations=500_000)
        series: list[tuple[int, int]] = []
        began, steady = 0, None
        while steady is None and (not series or series[-1][0] < most_ns):
            run = self.device.run([work])
            began = began or int(run.begin[0])
            took = int((run.block_end - run.block_start).max())
            series.append((int(run.end[0]) - began, took))
            last = [took for _, took in series[-_SAMPLES:]]
            if len(last) == _SAMPLES and max(last) <= (1 + STEADY) * min(last):
                steady = series[-_SAMPLES][0]
        self.warmed = {"steady_after_ns": steady, "series": series}
        return self.warmed

    def repeats(self, few: int, many: int) -> int:
        """Number of repetitions of a run."""
        return few if self.quick else many

    @property
    def spin_gpu(self) -> GPU:
        """The GPU for spin kernels, which all prefer the same carve-out for shared memory."""
        return self.gpu.replace(carveout_rule="ignore")


LIMIT_S = 60
"""Time limit for a process to start or to end."""

Intervals = list[tuple[int, int]]


class Beside:
    """Processes that use a device: each says that it is ready, works while it may, and reports.

    A process runs ``function(index, *arguments)`` of a module: it prints a line when it is ready
    and a line with its report, a JSON list, when its standard input has ended.
    """

    def __init__(self, count: int, module: str, call: str) -> None:
        self.reports: list[list[list[int]]] = []
        """Of each process; complete after ``end``."""
        code = f"from {module} import {call.partition('(')[0]}; {call}"
        self._running = [
            subprocess.Popen(
                [sys.executable, "-c", code],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                text=True,
            )
            for _ in range(count)
        ]

    def start(self) -> None:
        """Wait until all are ready."""
        until = time.monotonic() + LIMIT_S
        for process in self._running:
            assert process.stdout is not None
            left = max(0.0, until - time.monotonic())
            if not select.select([process.stdout], [], [], left)[0]:
                raise RuntimeError(
                    f"noise: got no answer of a process within {LIMIT_S} s, expected 'ready'"
                )
            if process.stdout.readline().strip() != "ready":
                raise RuntimeError("noise: got a process that did not start, expected 'ready'")

    def go(self) -> None:
        """Let those that wait for a line begin."""
        for process in self._running:
            assert process.stdin is not None
            process.stdin.write("\n")
            process.stdin.flush()

    def end(self) -> None:
        """End all processes and keep their reports."""
        for process in self._running:
            try:
                told, _ = process.communicate(timeout=LIMIT_S)
            except subprocess.TimeoutExpired:
                process.kill()
                told, _ = process.communicate()
            lines = told.strip().splitlines()
            self.reports.append(json.loads(lines[-1]) if lines else [])


@contextmanager
def beside(count: int, module: str, call: str) -> Iterator[Beside]:
    """Processes during a block; they have ended and reported after it."""
    made = Beside(count, module, call)
    try:
        made.start()
        yield made
    finally:
        made.end()


BEAT_NS = 50_000
"""Time of a block of the kernel whose pauses are looked at."""
_AWAY = 3
"""A process is away if it starts no block for so many times as long."""


def _beats(device: Device, ns: int) -> Operation:
    count = device.gpu.sms * (ns // BEAT_NS)
    most = device.limits["smem_per_block"]  # one block on each SM
    return Operation(blocks=count, threads=64, smem=most, ns=BEAT_NS)


def beat(index: int, ns: int) -> None:
    """Run the kernel of the probe of time slices when a line is read; report its activity."""
    with Device(index) as device:
        device.run([Operation(ns=1000)], repeats=10)
        kernel = _beats(device, ns)
        print("ready", flush=True)
        if sys.stdin.readline():
            print(json.dumps(activity(device.run([kernel]))), flush=True)


def activity(run: Run) -> Intervals:
    """Intervals of device time in which the only kernel of a run started blocks."""
    starts = np.sort(run.block_start[0])
    breaks = np.flatnonzero(np.diff(starts) > _AWAY * BEAT_NS)
    begins = starts[np.concatenate([[0], breaks + 1])]
    ends = starts[np.concatenate([breaks, [len(starts) - 1]])] + BEAT_NS
    return list(zip(begins.tolist(), ends.tolist(), strict=True))


def time_slices(bench: Bench) -> Finding:
    """Turns of two processes with kernels that fill the device; slices and gaps.

    Each runs a kernel of short blocks; the times of their starts show when it had the device.
    """
    name, assumed = "time slices", "in turn"
    ns = bench.repeats(40, 300) * MS
    kernel = _beats(bench.device, ns)
    with beside(1, __name__, f"beat({bench.device.index}, {ns})") as other:
        other.go()
        run = bench.device.run([kernel])
    mine = activity(run)
    theirs = [(a, b) for a, b in other.reports[0]]
    low = max(mine[0][0], theirs[0][0]) if theirs else 0
    high = min(mine[-1][1], theirs[-1][1]) if theirs else 0
    if high - low < 10 * MS:
        found = decided(name, [None], assumed, {"together_ns": max(0, high - low)})
        return found
    both = overlap(mine, theirs)
    share = both / (high - low)
    vote = assumed if share < 0.1 else "at once" if share > 0.5 else UNDECIDED
    turns = sorted([(a, b, 0) for a, b in mine] + [(a, b, 1) for a, b in theirs])
    inner = [(a, b, who) for a, b, who in turns if low < a and b < high]
    gaps = [later[0] - earlier[1] for earlier, later in pairwise(turns) if earlier[2] != later[2]]
    data = {
        "together_ns": high - low,
        "share_at_once": share,
        "slice_ns": quantiles([b - a for a, b, _ in inner]),
        "gap_ns": quantiles(gaps),
        "resolution_ns": BEAT_NS,
    }
    return decided(name, [vote], assumed, data)


def overlap(first: Intervals, second: Intervals) -> int:
    """Time in which an interval of each of two ascending lists holds."""
    total = i = k = 0
    while i < len(first) and k < len(second):
        begin = max(first[i][0], second[k][0])
        end = min(first[i][1], second[k][1])
        total += max(0, end - begin)
        if first[i][1] < second[k][1]:
            i += 1
        else:
            k += 1
    return total
