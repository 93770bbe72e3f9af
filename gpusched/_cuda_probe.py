"""Probes: which of the rules of the scheduling hierarchy does this device follow?

Paper 003: the order of SMs, Tables II and III, Definition III.2, shared memory, and the
interference of Figures 7 to 9; and the queues of Amert et al. (2017). Each probe launches kernels
that last long enough to be submitted together, and compares where and when their blocks ran with
what `gs.place` and the rules say.
"""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from gpusched._check import integer
from gpusched._cuda_device import Device, Operation, Run, Stream
from gpusched.blocklog import BlockLog
from gpusched.gpu import GPU
from gpusched.place import POLICIES, place

MS = 1_000_000
MOST_NOISE = 800
"""Operations of noise beside one kernel: more do not fit the queue, and its launch would wait."""
MOST_PROCESSES = 64
LIMIT_S = 60
"""How long another process may take to start or to end."""
NOISE = ("copy_in", "copy_out", "memset")


@dataclass(frozen=True)
class Finding:
    """What one probe found.

    Attributes
    ----------
    probe
        Its name.
    status
        "pass" or "fail" where there is something to agree with, "figure" for a measurement, "skip"
        where the device cannot be asked.
    text
        A sentence with the figure, or the first disagreement.
    data
        Numbers, lists and strings: what JSON can hold.
    """

    probe: str
    status: str
    text: str
    data: dict[str, Any] = field(default_factory=dict)

    def line(self) -> str:
        """For a table of findings."""
        return f"{self.status:6} {self.probe:22} {self.text}"


@dataclass(frozen=True, eq=False)
class Probe:
    """What the probes found on a device.

    Attributes
    ----------
    gpu
        The device with its measured SM order.
    findings
        One per probe.
    interference
        Slowdown of a kernel with memory traffic by another one on the same SM, on the SM beside it
        (the ids 2i and 2i+1 are taken for one GPC, as on the paper's GPU), elsewhere, and by
        copies: what ``Launches`` takes as ``interference``. None where it was not measured.
    log
        Kernels in streams of several priorities, for ``gs.io.write_examiner`` and
        ``gs.io.check_rules``; None where they did not run.
    """

    gpu: GPU
    findings: tuple[Finding, ...]
    interference: tuple[float, float, float, float] | None
    log: BlockLog | None

    @property
    def agrees(self) -> bool:
        """Whether no probe failed."""
        return all(found.status != "fail" for found in self.findings)

    def finding(self, probe: str) -> Finding:
        """The finding of this name; KeyError without."""
        for found in self.findings:
            if found.probe == probe:
                return found
        raise KeyError(probe)

    def __repr__(self) -> str:
        counts = {s: sum(f.status == s for f in self.findings) for s in ("pass", "fail")}
        return f"<Probe of {self.gpu.name}: {counts['pass']} passed, {counts['fail']} failed>"


def probe(
    device: Device, *, quick: bool, say: Callable[[str], None], processes: Sequence[int]
) -> Probe:
    prober = _Prober(device, quick)
    findings: list[Finding] = []
    for name, ask in prober.steps(processes):
        findings.append(attempt(name, ask))
        say(findings[-1].line())
    return Probe(prober.gpu, tuple(findings), interference(findings), prober.log)


def interference(findings: Sequence[Finding]) -> tuple[float, float, float, float] | None:
    """What two of the probes found, as the simulator takes it; None without them."""
    data = {found.probe: found.data for found in findings}
    beside, copies = data.get("figure 9"), data.get("copy engine")
    if not beside or not copies:
        return None
    return (
        max(1.0, beside["same_sm"]),
        max(1.0, beside["beside"]),
        max(1.0, beside["elsewhere"]),
        max(1.0, *copies["slowdown"].values()),
    )


def attempt(name: str, ask: Callable[[], Finding]) -> Finding:
    """What was found; an exception is a failure like others, so that one does not hide the rest."""
    try:
        return ask()
    except (RuntimeError, ValueError, OSError, OverflowError, MemoryError) as error:
        text = f"{type(error).__name__}: {error.args[0] if error.args else ''}"
        return Finding(name, "fail", text, {})


class _Prober:
    def __init__(self, device: Device, quick: bool) -> None:
        self.device = device
        self.gpu = device.gpu
        self.quick = quick
        self.log: BlockLog | None = None

    def steps(self, processes: Sequence[int]) -> list[tuple[str, Callable[[], Finding]]]:
        """All probes by name, in their order: those behind the SM order build on it."""
        for count in processes:
            if not 1 <= integer(count, "processes") <= MOST_PROCESSES:
                raise ValueError(f"processes = {count}: must be 1 to {MOST_PROCESSES}")
        return [
            ("timer", self.timer),
            ("occupancy", self.occupancy),
            ("sm order", self.sm_order),
            ("tables II and III", self.pairs),
            ("III.2 or most room", self.third_kernel),
            ("shared memory", self.shared_memory),
            ("registers", self.registers),
            ("mixtures", self.mixtures),
            ("channels", self.channels),
            ("NULL stream", self.null_stream),
            ("queues", self.queues),
            ("figure 9", self.neighbours),
            ("copy engine", self.copies),
            ("figure 8", self.footprints),
            ("figure 7", lambda: self.other_processes(processes)),
        ]

    # What probes share

    def placed(self, kernels: Sequence[Operation]) -> tuple[Run, list[int]]:
        """Kernels in a stream each, all there at once, and their blocks' SMs in dispatch order.

        Once more, and longer, where this process was held up between two launches: the first
        kernel was then gone when the second one came, which says nothing about placement."""
        for lasting in (MS // 2, 2 * MS, 10 * MS):
            ns = lasting + 20_000 * len(kernels)
            run = self.device.run([replace(op, stream=s, ns=ns) for s, op in enumerate(kernels)])
            if run.resident_at_once[0]:
                break
        return run, run.block_sm[0].tolist()

    def expected(self, run: Run, policy: str = "most_room") -> list[int]:
        ops = run.operations
        placement = place(
            self.gpu,
            blocks=[op.blocks for op in ops],
            threads=[op.threads for op in ops],
            regs=run.regs,
            smem=[op.smem for op in ops],
            policy=policy,
        )
        sms: list[int] = placement.sm.tolist()
        return sms

    def compare(self, name: str, what: str, cases: Sequence[Sequence[Operation]]) -> Finding:
        """Whether the blocks of all cases went where most-room says."""
        wrong: list[dict[str, Any]] = []
        agree = dict.fromkeys(POLICIES, 0)
        for case in cases:
            run, seen = self.placed(case)
            for policy in POLICIES:
                agree[policy] += seen == self.expected(run, policy)
            if seen != (told := self.expected(run)):
                shapes = [
                    (op.blocks, op.threads, int(r), op.smem)
                    for op, r in zip(run.operations, run.regs, strict=True)
                ]
                wrong.append({"kernels": shapes, "sm": seen, "most_room": told})
        data = {"cases": len(cases), "agree": agree, "disagreements": wrong}
        counts = ", ".join(f"{policy} {count}" for policy, count in agree.items())
        text = f"{what}: of {len(cases)} cases placed as predicted by {counts}"
        if wrong:
            first = wrong[0]
            text += (
                f"; kernels (blocks, threads, registers, shared memory) {first['kernels']} went "
                f"to SMs {_short(first['sm'])}, most_room says {_short(first['most_room'])}"
            )
        return Finding(name, "fail" if wrong else "pass", text, data)

    # Probes

    def timer(self) -> Finding:
        run = self.device.run([Operation(blocks=self.gpu.sms, ns=20_000)], repeats=50)
        times = np.unique(np.concatenate([run.block_start.ravel(), run.block_end.ravel()]))
        steps = np.diff(times)
        least = int(np.gcd.reduce(steps)) if len(steps) else 0
        low, high = self.device.offset()
        text = f"the device's clock steps by {least} ns; host minus device within {high - low} ns"
        return Finding("timer", "figure", text, {"step_ns": least, "offset": [low, high]})

    def occupancy(self) -> Finding:
        check = self.device.check_occupancy()
        wrong = check.differences()
        text = f"{len(check.ours)} shapes of blocks, {len(wrong)} differ from the driver"
        if wrong:
            text += f"; first (threads, regs, smem, ours, driver's): {wrong[0]}"
        status = "fail" if wrong else "pass"
        return Finding("occupancy", status, text, {"shapes": len(check.ours), "differ": wrong})

    def sm_order(self) -> Finding:
        """One block per SM, so that most-room follows the order; the most frequent one is taken."""
        sms = self.gpu.sms
        op = Operation(blocks=sms, threads=1024, ns=MS // 2)
        run = self.device.run([op], repeats=5 if self.quick else 40)
        rows = [tuple(row) for row in run.block_sm.tolist()]
        seen = {row: rows.count(row) for row in rows}
        order, count = max(seen.items(), key=lambda item: item[1])
        whole = all(sorted(row) == list(range(sms)) for row in seen)
        data = {"order": list(order), "share": count / len(rows), "orders": len(seen)}
        if sorted(order) != list(range(sms)):
            text = f"one block per SM was expected; SMs {_short(order)}"
            return Finding("sm order", "fail", text, data)
        self.gpu = _with_order(self.gpu, order)
        text = f"{_short(order)}; the same in {count} of {len(rows)} runs"
        return Finding("sm order", "pass" if whole and len(seen) == 1 else "fail", text, data)

    def pairs(self) -> Finding:
        """Tables II and III: one block of x warps, then one of y warps."""
        most = self.gpu.warps_per_sm // 2
        step = max(1, most // 4) if self.quick else 1
        warps = range(1, most + 1, step)
        cases = [
            [Operation(threads=32 * x), Operation(threads=32 * y)] for x in warps for y in warps
        ]
        return self.compare("tables II and III", "a block of x, then one of y warps", cases)

    def third_kernel(self) -> Finding:
        """Which of the rules? n-1 blocks of 6 warps, one of 1, then one of 11 (and others)."""
        n = self.gpu.sms
        cases = [
            [
                Operation(blocks=n - 1, threads=32 * z),
                Operation(threads=32 * x),
                Operation(threads=32 * y),
            ]
            for z, x, y in [(6, 1, 11), (8, 2, 5), (6, 3, 10), (12, 4, 7), (4, 1, 3)]
        ]
        if n == 1:
            return Finding("III.2 or most room", "skip", "the device has one SM")
        return self.compare("III.2 or most room", "n-1 blocks, one, and one more", cases)

    def shared_memory(self) -> Finding:
        """A block with shared memory, then one without, of 3 warps (paper 003, III-C2)."""
        step = 4096 if self.quick else 256
        sizes = [*range(0, 12_288 + 1, step), self.device.limits["smem_per_block"] // 2]
        cases = [[Operation(threads=32, smem=m), Operation(threads=96)] for m in sizes]
        found = self.compare("shared memory", "a block with shared memory, then one without", cases)
        apart = None
        for m, case in zip(sizes, cases, strict=True):
            _, seen = self.placed(case)
            if seen[0] != seen[1]:
                apart = m
                break
        text = (
            f"{found.text}; they {'never part' if apart is None else f'part from {apart} bytes on'}"
        )
        return replace(found, text=text, data=found.data | {"apart_from": apart})

    def registers(self) -> Finding:
        """A block of each variant of registers, then one of few."""
        cases = [
            [Operation(threads=t, regs=regs), Operation(threads=96)]
            for regs in self.device.regs
            for t in (32, 128)
        ]
        return self.compare("registers", "a block with registers, then one with few", cases)

    def mixtures(self) -> Finding:
        """Random kernels that all fit at once."""
        chance = np.random.default_rng(1)
        cases: list[list[Operation]] = []
        while len(cases) < (8 if self.quick else 60):
            ops = []
            for _ in range(int(chance.integers(2, 5))):
                ops.append(
                    Operation(
                        blocks=int(chance.integers(1, 2 * self.gpu.sms)),
                        threads=32 * int(chance.integers(1, 13)),
                        regs=int(chance.choice(self.device.regs[:5])),
                        smem=int(chance.choice([0, 0, 2048, 10_000, 24_000])),
                    )
                )
            regs = [self.device.regs[self.device.variant(op.regs)] for op in ops]
            fits = place(
                self.gpu,
                [op.blocks for op in ops],
                [op.threads for op in ops],
                regs,
                [op.smem for op in ops],
            )
            if fits.all_placed:
                cases.append(ops)
        return self.compare("mixtures", "random kernels", cases)

    def channels(self) -> Finding:
        """Two kernels in each of many streams: a stream that shares its channel with an earlier
        one waits behind that one's second kernel."""
        streams = 8 if self.quick else 64
        ops = [Operation(stream=s, ns=streams * 50_000) for s in range(streams) for _ in range(2)]
        run = self.device.run(ops)
        first = run.first[0, ::2]
        at_once = int((first < run.last[0, ::2].min()).sum())
        text = f"{at_once} of {streams} streams start at once"
        limit = self.device.channels
        if limit is not None:
            text += f", {limit} channels were asked for"
        return Finding("channels", "figure", text, {"streams": streams, "at_once": at_once})

    def null_stream(self) -> Finding:
        """Rules N1 and N2: blocking streams and the NULL stream wait for each other."""
        streams = [Stream(kind="blocking"), Stream(kind="null"), Stream(kind="blocking"), Stream()]
        ops = [Operation(stream=s, ns=MS) for s in range(4)]
        run = self.device.run(ops, streams)
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

    def queues(self) -> Finding:
        """Streams, queues and priorities (rules G, X1, A1, A2) by the rule checker: a kernel that
        fills the device twice, an urgent one, and small ones behind them."""
        from gpusched.io import check_rules

        full = 2 * self.gpu.sms * (self.gpu.threads_per_sm // 1024)
        greatest, least = self.device.priorities
        ops = [
            Operation(0, full, 1024, ns=MS, name="two waves"),
            Operation(1, full // 2, 1024, ns=MS, at=MS // 4, name="behind it"),
            Operation(2, full // 2, 1024, ns=MS, at=MS // 2, name="urgent"),
            Operation(0, 3, 64, ns=MS // 10, at=MS // 2, name="second in its stream"),
        ]
        run = self.device.run(ops, [Stream(least), Stream(least), Stream(greatest)])
        self.log = log = run.log()
        tolerance = 50_000
        broken = check_rules(log, self.gpu, tolerance=tolerance, policy=None)
        first, dispatched = run.first[0], run.dispatched[0]
        if first[2] > dispatched[0] and greatest < least:
            text = "the urgent kernel started after the last block of the one that it should pass"
            return Finding("queues", "fail", text, {"broken": []})
        text = f"{len(log)} kernels, {len(broken)} rules broken within {tolerance / 1e3:.0f} µs"
        if broken:
            text += f"; first: {broken[0]}"
        data = {"broken": [str(violation) for violation in broken]}
        return Finding("queues", "fail" if broken else "pass", text, data)

    # Interference

    def victim(self, blocks: int, threads: int, footprint: int) -> Operation:
        shape = Operation(blocks=blocks, threads=threads, bytes=footprint, name="victim")
        return replace(shape, iterations=self.device.iterations(shape, 2 * MS))

    def beside(self, victim: Operation, before: Sequence[Operation]) -> Run:
        """The victim, launched last, in a stream of its own."""
        own = max((op.stream for op in before), default=-1) + 1
        launched = [*before, replace(victim, stream=own)]
        return self.device.run(launched, repeats=3 if self.quick else 9)

    def slowdown(self, victim: Operation, before: Sequence[Operation]) -> float:
        """The victim's longest block beside what was launched before, over that alone: medians."""
        return _longest(self.beside(victim, before)) / _longest(self.beside(victim, []))

    def noise(self, kind: str, size: int, ns: int) -> list[Operation]:
        """Copies or memsets in four streams that go on for about so long: a fast memory has set 50
        MB long before a kernel of some milliseconds ends."""
        one = Operation(kind=kind, bytes=size)
        few, many = (
            float(np.median(self.device.run([one] * count, repeats=5).elapsed)) for count in (2, 10)
        )
        each = max((many - few) / 8, 1000.0)  # the launch alone takes longer
        count = int(np.clip(np.ceil(ns / each), 4, MOST_NOISE))
        return [replace(one, stream=i % 4) for i in range(count)]

    def neighbours(self) -> Finding:
        """Figure 9: a block with memory traffic, and another one at each other place in turn."""
        footprint = 1 << 20 if self.quick else 8 << 20
        victim = self.victim(1, 256, footprint)
        other = replace(victim, iterations=3 * victim.iterations, name="other")
        order = self.gpu.sm_order.tolist()

        def quiet(blocks: int) -> list[Operation]:
            """Blocks that fill half an SM each and leave memory and issue slots alone."""
            return [Operation(blocks=blocks, threads=1024, ns=10 * MS)] if blocks else []

        base = _longest(self.beside(victim, []))
        factors: dict[int, list[float]] = {}  # by the SM of the victim, itself for the same one
        misplaced = 0

        def look(before: Sequence[Operation], same: bool) -> None:
            """Where the two blocks were is read off, not believed."""
            nonlocal misplaced
            ops = [replace(op, stream=s) for s, op in enumerate(before)]
            run = self.beside(victim, ops)
            theirs = run.block_sm[:, run.kernel == [op.name for op in ops].index("other")][:, 0]
            mine = run.block_sm[:, -1]
            took = (run.block_end - run.block_start)[:, -1]
            fits = (mine == theirs) if same else (theirs == order[0]) & (mine != theirs)
            misplaced += int((~fits).sum())
            for sm in np.unique(mine[fits]).tolist():
                factor = float(np.median(took[fits & (mine == sm)])) / base
                factors.setdefault(-1 if same else sm, []).append(factor)

        # On the same SM, because all others are fuller; or on the next empty one in the order.
        look([*quiet(self.gpu.sms - 1), other], same=True)
        pair = order[0] ^ 1
        most = min(self.gpu.sms, 5 if self.quick else 48)
        positions = {*range(1, most), *([order.index(pair)] if pair in order else [])}
        for p in sorted(positions):
            look([other, *quiet(p - 1)], same=False)
        if -1 not in factors:
            text = "no two blocks came to the same SM, though no other had as much room"
            return Finding("figure 9", "fail", text, {})
        same = float(np.median(factors.pop(-1)))
        by_sm = {sm: float(np.median(found)) for sm, found in factors.items()}
        beside = by_sm.get(pair)
        elsewhere = max((f for sm, f in by_sm.items() if sm != pair), default=1.0)
        data = {
            "misplaced": misplaced,
            "same_sm": same,
            "beside": 1.0 if beside is None else beside,
            "elsewhere": elsewhere,
            "other_sm": order[0],
            "by_sm": {str(sm): factor for sm, factor in by_sm.items()},
        }
        text = (
            f"one block slowed by another: {same:.2f} on the same SM, {data['beside']:.2f} on SM "
            f"{pair}, up to {elsewhere:.2f} on others"
        )
        return Finding("figure 9", "figure", text, data)

    def copies(self) -> Finding:
        """Copies and memsets of the same process in other streams."""
        victim = self.victim(self.gpu.sms, 256, 8 << 20)
        size = (8 if self.quick else 50) << 20
        slow = {kind: self.slowdown(victim, self.noise(kind, size, 5 * MS)) for kind in NOISE}
        text = ", ".join(f"{kind} {factor:.2f}" for kind, factor in slow.items())
        text = f"a kernel slowed by copies beside it: {text}"
        return Finding("copy engine", "figure", text, {"slowdown": slow})

    def footprints(self) -> Finding:
        """Figure 8: copies of 50 MB beside kernels of growing footprints."""
        sizes = [1 << 19, 1 << 21] if self.quick else [1 << 19, 1 << 21, 1 << 23, 1 << 25, 1 << 27]
        noise = self.noise("memset", (8 if self.quick else 50) << 20, 5 * MS)
        slow = {
            str(size): self.slowdown(self.victim(self.gpu.sms, 256, size), noise) for size in sizes
        }
        text = ", ".join(f"{int(size) >> 10} KiB {factor:.2f}" for size, factor in slow.items())
        return Finding(
            "figure 8", "figure", f"slowed by memset, by footprint: {text}", {"slowdown": slow}
        )

    def other_processes(self, counts: Sequence[int]) -> Finding:
        """Figure 7: processes that copy or set memory beside a kernel."""
        if not counts:
            return Finding("figure 7", "skip", "no other processes were asked for", {})
        victim = self.victim(self.gpu.sms, 256, 50 << 20 if not self.quick else 1 << 20)
        alone = self.device.run([victim], repeats=5)
        base = _longest(alone)
        slow: dict[str, dict[str, float]] = {kind: {} for kind in ("copy_in", "memset")}
        for kind, factors in slow.items():
            for count in counts:
                with _noise(self.device.index, kind, count):
                    run = self.device.run([victim], repeats=5 if self.quick else 20)
                factors[str(count)] = _longest(run) / base
        text = "; ".join(
            f"{kind} " + ", ".join(f"{count}: {factor:.2f}" for count, factor in factors.items())
            for kind, factors in slow.items()
        )
        text = f"slowed by other processes: {text}"
        return Finding("figure 7", "figure", text, {"slowdown": slow})


def _longest(run: Run) -> float:
    """The longest block of the last kernel, as a median of the repetitions."""
    mine = run.kernel == len(run.operations) - 1
    return float(np.median((run.block_end - run.block_start)[:, mine].max(axis=1)))


def _with_order(gpu: GPU, order: Sequence[int]) -> GPU:
    values = dict(zip(GPU.__dataclass_fields__, gpu._values(), strict=True))
    return GPU(**values | {"sm_order": list(order)})


def _short(sms: Sequence[int]) -> str:
    shown = ", ".join(map(str, sms[:12]))
    return f"{shown}, ..." if len(sms) > 12 else shown


# Processes that make noise

_CODE = "from gpusched._cuda_probe import make_noise; make_noise({index}, {kind!r}, {size})"


def make_noise(index: int, kind: str, size: int) -> None:
    """Copies or sets memory until the standard input ends; says when it has begun."""
    import select

    with Device(index) as device:
        ops = [Operation(kind=kind, bytes=size) for _ in range(8)]
        device.run(ops)
        print("ready", flush=True)
        while not select.select([sys.stdin], [], [], 0)[0]:
            device.run(ops, repeats=4)


@contextmanager
def _noise(index: int, kind: str, count: int) -> Iterator[None]:
    """So many processes that copy, until the end; none is left behind."""
    code = _CODE.format(index=index, kind=kind, size=50 << 20)
    running: list[subprocess.Popen[str]] = []
    try:
        for _ in range(count):
            running.append(
                subprocess.Popen(
                    [sys.executable, "-c", code],
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                    text=True,
                )
            )
        until = time.monotonic() + LIMIT_S
        for process in running:
            _wait_until_ready(process, until)
        yield
    finally:
        for process in running:
            assert process.stdin is not None
            process.stdin.close()  # which ends it
        for process in running:
            try:
                process.wait(LIMIT_S)
            except subprocess.TimeoutExpired:
                process.kill()
            process.__exit__(None, None, None)


def _wait_until_ready(process: subprocess.Popen[str], until: float) -> None:
    import select

    assert process.stdout is not None
    left = max(0.0, until - time.monotonic())
    if not select.select([process.stdout], [], [], left)[0]:
        raise RuntimeError(f"a process that should copy beside the kernel took {LIMIT_S} s")
    if process.stdout.readline().strip() != "ready":
        raise RuntimeError("a process that should copy beside the kernel did not start")
