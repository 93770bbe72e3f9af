"""Random workloads through files, views, comparisons and margins; results/workload_campaign.txt.

- law: one kernel alone on each preset ends at the same tick in the batch table, ``simulate.fifo``,
  the hierarchy simulation and the host simulation.
- files: workloads are the same after TOML and JSON.
- views: what a view derives, the methods of its model accept; refusals are counted by reason.
- rows: in a comparison no observed response exceeds a bound of the same row, and no accepted row
  misses a deadline; what EDFserial or EDFParallel keep, the search keeps; schedules of batches are
  unrolled for three hyperperiods, and dispatchers played for them. Besides the periodic releases of
  a comparison, the derived models are simulated with releases made to hurt (a victim whose jobs
  trigger those of the others, sporadic gaps, times below the worst case) against every bound.
- margins: an exact margin is that of a scan over all factors that change a time; random factors
  below it are accepted.

The first error ends the program, with the seed that shows it. 10,000 kernels, 10,000 workloads,
100,000 rows and 1,000 margins take 25 minutes; the tests run a hundredth.

    python benchmarks/workload_campaign.py [--part law files views rows margins] [--share 1]
        [--seed 1] [--save]
"""

from __future__ import annotations

import argparse
import contextlib
import re
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from fractions import Fraction
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
from machine import describe
from random_workloads import random_case

import gpusched as gs
from gpusched.comparison.derived_models import DerivedModels
from gpusched.comparison.whole_programs import WHOLE_PROGRAMS, whole_program
from gpusched.ways import as_way

Lines = list[str]
EXACT = ("mpcp", "fmlp_plus", "gpu_server", "stgm", "time_slices", "gcaps")
BUDGET = gs.Budget(states=20_000, bytes=1 << 26)


class Wrong(Exception):
    """An error, with the seed that shows it."""


def check(holds: object, *said: object) -> None:
    if not holds:
        raise Wrong(" ".join(map(str, said)))


# The law ------------------------------------------------------------------------------------------


def random_kernel(random: Random) -> gs.Kernel:
    shape: dict[str, Any] = {
        "blocks": random.randrange(1, 2 ** random.randrange(1, 12)),
        "threads": random.randrange(1, 1025),
        "regs": random.choice((0, 16, 32, 63)),
        "smem": random.choice((0, 1, 1000, 48 * 1024)),
    }
    ticks = random.randrange(1, 2 ** random.randrange(1, 31))
    if random.random() < 0.3:
        return gs.Kernel(block_time=ticks, **shape)
    return gs.Kernel(ticks, **shape)


def ends(kernel: gs.Kernel, gpu: gs.GPU) -> list[int]:
    """End of a kernel alone in every model."""
    w = gs.Workload([gs.Task("a", 2**50, [kernel], core=0, priority=0)])
    platform = gs.Platform(gpu)
    batches = w.batches(platform)
    hosts = w.hosts(platform, sms="all").tasks
    launches = w.launches(platform, until=1).launches
    return [
        int(batches.table.completion[1]),
        int(gs.simulate.fifo(batches.tasks, gpu=gpu, until=1, waves=False).worst[0]),
        int(gs.simulate.hierarchy(launches, gpu, blocks=False).end[0]),
        int(gs.simulate.host(hosts, cpus=1, way="mpcp", until=1).response[0]),
    ]


def law(seed: int, share: float) -> Lines:
    presets = gs.GPU.presets()
    each = max(1, round(10_000 * share / len(presets)))
    waves: list[int] = []
    for place, name in enumerate(presets):
        gpu = gs.GPU.preset(name)
        for number in range(each):
            at = seed * 10**6 + place * each + number
            kernel = random_kernel(Random(at))
            if not gs.occupancy(gpu, kernel.threads or 1, kernel.regs, kernel.smem):
                continue
            found = ends(kernel, gpu)
            check(len(set(found)) == 1, f"law, seed {at}, {name}: {kernel} ends at {found}")
            [times] = gs.Workload([gs.Task("a", 1, [kernel])]).kernel_times(gs.Platform(gpu))[0]
            waves.append(0 if times is None else times.waves)
    return [
        f"law: {each * len(presets)} kernels on {len(presets)} presets, of up to {max(waves)} "
        "waves, end at one tick in four models",
    ]


# Files --------------------------------------------------------------------------------------------


def named(w: gs.Workload, random: Random) -> gs.Workload:
    """The workload with hostile names, units and notes."""
    letters = "ab \"'\\\n\t\x00\x7f\u2028é🙂#=[]{},."

    def text() -> str:
        return "".join(random.choices(letters, k=random.randrange(6)))

    tasks = []
    for i, task in enumerate(w):
        segments = [segment.replace(name=text()) for segment in task.segments]
        tasks.append(task.replace(name=f"{text()}{i}", segments=segments))
    notes = [text() or "n" for _ in range(random.randrange(3))]
    return gs.Workload(tasks, w.tick, notes=notes)


def files(seed: int, share: float) -> Lines:
    count = max(1, round(10_000 * share))
    with tempfile.TemporaryDirectory() as folder:
        for number in range(count):
            random = Random(seed * 10**6 + number)
            w = named(random_case(random, random.choice(("ns", "10ns", "us", "s")))[0], random)
            for suffix in ("toml", "json"):
                path = Path(folder, f"w.{suffix}")
                w.save(path)
                again = gs.Workload.load(path)
                same = again == w and again.notes == w.notes and again.tick == w.tick
                check(same, f"files, seed {seed * 10**6 + number}: {suffix} gives {again!r}")
    return [f"files: {count} workloads are the same after TOML and after JSON"]


# Views --------------------------------------------------------------------------------------------


DOCUMENTED = (
    "expected a deadline of at most the period",
    "expected a priority that no other task has",
)
"""Reasons for which the methods of partitioned tasks may refuse a view."""


def reason(error: Exception) -> str:
    """The message without names and numbers."""
    text = re.sub(r"'[^']*'|\bt\d+\b|[\d.,]*\d(ns)?", "#", str(error))
    return text[:110]


def methods_of(w: gs.Workload, p: gs.Platform) -> Iterator[tuple[str, Callable[[], object]]]:
    """The views of a workload, each with a call of the methods that take it."""
    assert p.gpu is not None
    gpu, sms = p.gpu, p.gpu.sms
    until = max(task.offset + task.period for task in w)

    def batches() -> object:
        view = w.batches(p, gaps="occupy")
        return lambda: [
            gs.pbs.edf_serial(view.tasks, view.table, budget=BUDGET),
            gs.pbs.edf_parallel(view.tasks, view.table, budget=BUDGET),
            gs.pbs.search(view.tasks, view.table, budget=BUDGET),
        ]

    def kernels() -> object:
        tasks = w.kernels(p, chains="refuse").tasks
        return lambda: [
            gs.analysis.fifo_bound(tasks, gpu=gpu),
            gs.simulate.fifo(tasks, gpu=gpu, until=until, settle="no"),
        ]

    def whole() -> object:
        hosts = w.hosts(p, sms="all").tasks
        return lambda: [
            gs.analysis.srm(hosts, p.cpus),
            gs.analysis.container(hosts, p.cpus),
            *(gs.analysis.partition(hosts, p.cpus, way)
              for way in ("mpcp", "fmlp_plus", "gpu_server")),
        ]  # fmt: skip

    def divided() -> object:
        hosts = w.hosts(p).tasks
        return lambda: gs.analysis.stgm_allocate(hosts, p.cpus, sms)

    def launches() -> object:
        found = w.launches(p, until).launches
        several = max(found.stream_context, default=0) > 0
        return lambda: gs.simulate.hierarchy(found, gpu, timeslice=5 if several else None)

    yield from (
        ("batches", batches), ("kernels", kernels), ("hosts, all SMs", whole),
        ("hosts, divided", divided), ("launches", launches),
    )  # fmt: skip


def views(seed: int, share: float) -> Lines:
    count = max(1, round(10_000 * share))
    found: Counter[str] = Counter()
    refused: Counter[tuple[str, str]] = Counter()
    for number in range(count):
        w, p = random_case(Random(seed * 10**6 + number))
        for name, view in methods_of(w, p):
            try:
                call: Any = view()
            except ValueError as error:
                refused[name, f"view: {reason(error)}"] += 1
                continue
            found[name] += 1
            try:
                call()
            except ValueError as error:
                text = str(error)
                known = any(each in text for each in DOCUMENTED)
                check(known, f"views, seed {seed * 10**6 + number}, {name}: {text}")
                refused[name, f"method: {reason(error)}"] += 1
    lines = [f"views: {count} workloads"]
    for name, done in found.items():
        lines.append(f"  {name}: {done} views")
        rows = sorted((n, why) for (of, why), n in refused.items() if of == name)
        lines += [f"    {n:6d} {why}" for n, why in reversed(rows)]
    return lines


# Rows ---------------------------------------------------------------------------------------------


class Tightness:
    """Numbers of rows by verdict, and the largest observed response over its bound."""

    def __init__(self) -> None:
        self.verdicts: Counter[str] = Counter()
        self.compared = self.reached = self.hostile = 0
        self.largest = 0.0

    def add(self, observed: Any, bound: Any, bounded: Any, said: str) -> None:
        observed, bound, bounded = (np.asarray(each) for each in (observed, bound, bounded))
        above = bounded & (observed > bound)
        check(not above.any(), f"{said}: observed {observed}, bounds {bound} ({bounded})")
        self.compared += int(bounded.sum())
        self.reached += int((bounded & (observed == bound)).sum())
        ratio = observed[bounded] / bound[bounded]
        self.largest = max(self.largest, float(ratio.max(initial=0)))


def frames_of(schedule: gs.Schedule, until: int) -> list[tuple[int, int, int]]:
    """Frames of an endless schedule up to a time."""
    rows = list(
        zip(schedule.start.tolist(), schedule.end.tolist(), schedule.batch.tolist(), strict=True)
    )
    begin, length = schedule.cycle or (0, schedule.tasks.hyperperiod)
    again = [row for row in rows if row[0] >= begin]
    shift = length
    while again and again[0][0] + shift < until:
        rows += [(a + shift, b + shift, batch) for a, b, batch in again]
        shift += length
    return rows


def unroll(schedule: gs.Schedule, detail: Any, said: str) -> None:
    """Follow a schedule for three hyperperiods, kernel by kernel of every job."""
    tasks, table = schedule.tasks, detail.table
    chains = isinstance(tasks, gs.KernelChains)
    rows = tasks.rows if chains else tasks
    task, kernel = tasks.places if chains else (np.arange(rows.n), np.zeros(rows.n, np.int64))
    response = detail.response.filled(0)[task].tolist()
    until = int(rows.offset.max()) + 3 * rows.hyperperiod
    ends: list[list[int]] = [[] for _ in range(rows.n)]  # of the jobs of each row
    free = 0
    for start, end, batch in frames_of(schedule, until):
        check(start >= free, f"{said}: frames overlap at {start}")
        check(end - start == table.completion[batch] > 0, f"{said}: a frame of another length")
        free = end
        for i in (i for i in range(rows.n) if batch >> i & 1):
            job, name = len(ends[i]), f"{said}: job {len(ends[i])} of {i}"
            release = int(rows.offset[i] + job * rows.period[i])
            check(release <= start, f"{name} runs before its release")
            check(end <= release + rows.deadline[i], f"{name} is late")
            check(end - release <= response[i], f"{name}, {response}")
            if kernel[i] > 0:
                before = ends[i - 1]
                check(len(before) > job and before[job] <= start, f"{name} before row {i - 1}")
            ends[i].append(end)
    for i in range(rows.n):
        due = int(rows.offset[i] + len(ends[i]) * rows.period[i] + rows.deadline[i])
        check(due > until, f"{said}: job {len(ends[i])} of {i} is forgotten")


def dispatch(tasks: gs.KernelTasks, table: gs.BatchTable, parallel: bool, until: int) -> bool:
    """Whether a dispatcher meets every deadline before ``until``."""
    nth, now = [0] * tasks.n, 0
    period, offset, deadline = (
        getattr(tasks, key).tolist() for key in ("period", "offset", "deadline")
    )
    while now < until:
        head = [offset[i] + nth[i] * period[i] for i in range(tasks.n)]
        now = max(now, min(head))
        ready = sorted((head[i] + deadline[i], i) for i in range(tasks.n) if head[i] <= now)
        batch = 0
        for _, i in ready if parallel else ready[:1]:
            if table.completion[batch | 1 << i] > 0:
                batch |= 1 << i
        now += int(table.completion[batch])
        for due, i in ready:
            if batch >> i & 1:
                nth[i] += 1
            if now > due and (batch >> i & 1 or due < until):
                return False
    return True


def batch_rows(c: gs.Comparison, said: str) -> None:
    """Relations between the rows of batches, and their schedules over three hyperperiods."""
    search = c["pbs"].answer
    for name in ("edf_serial", "edf_parallel"):
        answer = c[name].answer
        if answer is None:
            continue
        detail: Any = answer.detail
        if isinstance(detail, gs.analysis.HolisticBound):
            continue  # for any releases
        until = int(detail.tasks.offset.max()) + 3 * detail.tasks.hyperperiod
        if until < 10**5:
            met = dispatch(detail.tasks, detail.table, name == "edf_parallel", until)
            holds = bool(detail.accepted)
            check(met == holds or detail.undecided, f"{said}: {name} {answer.verdict}")
        if answer.accepted or answer.conditional:
            check(search is not None and not search.rejected, f"{said}: {name} but not pbs")
            assert answer.schedule is not None
            answer.schedule.validate()
    if search is not None and search.accepted and search.schedule is not None:
        search.schedule.validate()
        unroll(search.schedule, search.detail, f"{said}: pbs")


def host_runs(detail: Any, p: gs.Platform, random: Random) -> Iterator[tuple[Any, str]]:
    """Worst responses of the derived tasks with releases made to hurt."""
    hosts = detail.hosts
    sms = detail.sms if detail.test == "stgm" else None
    options: dict[str, Any] = {}
    if isinstance(detail, gs.analysis.Verdict):
        if detail.test == "gpu_server":
            options |= {"server": detail.server, "server_overhead": p.server_overhead}
        else:
            options["mode"] = detail.mode
        if detail.test == "gcaps":
            options |= {"update_cost": p.update_cost, "context_switch": p.context_switch}
        if detail.test == "time_slices":
            options |= {"timeslice": p.timeslice, "context_switch": p.context_switch}
            options["ring"] = random.choice(("fifo", "cyclic"))
    elif detail.test == "srm":
        options["lock"] = detail.lock
    else:
        options["server_period"] = detail.server_period
        options["mode"] = random.choice(("suspend", "busy"))
    way = gs.ways.as_way(detail.test, **options)
    until = 6 * int(hosts.period.max())
    triggers = ("release", "request", "resume", "end")
    for number in range(6):
        far = number % 2
        offsets = [random.randrange(p if far else min(p, 8)) for p in hosts.period.tolist()]
        target = random.randrange(hosts.n) if number < 4 else None
        events = random.sample(triggers, random.randrange(1, 3))
        pattern: dict[str, Any] = {
            "victim": None if target is None else gs.simulate.Victim(target, *events),
            "releases": random.choice((0.0, 0.1, 1.0)),
            "execution": random.choice((1.0, 1.0, (0.0, 1.0), (0.5, 1.0))),
            "seed": random.randrange(2**32),
        }
        moved = hosts.replace(offset=offsets if number >= 4 else 0)
        found = gs.simulate.host_responses(moved, detail.cpus, way, until=until, sms=sms, **pattern)
        yield found.worst, f"{way} {pattern} offsets {offsets}"


def kernel_runs(detail: Any, gpu: gs.GPU, random: Random) -> Iterator[tuple[Any, str]]:
    tasks = detail.tasks
    until = 8 * int(tasks.period.max())
    for number in range(6):
        offsets = [random.randrange(p) for p in tasks.period.tolist()]
        pattern: dict[str, Any] = {
            "victim": random.randrange(tasks.n) if number < 4 else None,
            "triggers": random.sample(("head", "tail", "end"), random.randrange(1, 3)),
            "gap": random.choice((0.0, 0.1, 1.0)),
            "execution": random.choice((1.0, 1.0, (0.0, 1.0), (0.5, 1.0))),
            "draw": random.choice(("job", "wave", "block")),
            "seed": random.randrange(2**32),
        }
        moved = tasks.replace(offset=offsets if number >= 4 else 0)
        found = gs.simulate.fifo_responses(
            moved, gpu=gpu, order=detail.order, until=until, **pattern
        )
        yield found.worst, f"{pattern} offsets {offsets}"


def rows(seed: int, share: float) -> Lines:
    wanted = max(1, round(100_000 * share))
    kept: dict[str, Tightness] = {}
    count = number = 0
    while count < wanted:
        at = seed * 10**6 + number
        number += 1
        random = Random(at)
        w, p = random_case(random)
        c = gs.compare(w, p, budget=BUDGET)
        count += len(c)
        for row in c:
            answer, run, said = row.answer, row.run, f"rows, seed {at}: {row.label}"
            tight = kept.setdefault(row.label, Tightness())
            tight.verdicts[row.verdict] += 1
            if answer is None:
                continue
            worst = None if run is None else run.worst
            if answer.conditional and run and isinstance(run.detail, gs.simulate.MachineRun):
                worst = None  # the machine delays what the conditions say is not delayed
            if run is not None and worst is not None:
                bounded = answer.bounded & ~np.ma.getmaskarray(worst)
                tight.add(worst.filled(0), answer.response.filled(0), bounded, said)
                holds = answer.accepted or answer.conditional
                check(not (holds and run.late.any()), f"{said}: accepted, and a miss")
            detail: Any = answer.detail
            if not answer.bounded.any():
                continue
            assert p.gpu is not None
            hostile: Iterable[tuple[Any, str]] = ()  # of chains: priority_streams_falsification
            if isinstance(detail, gs.analysis.FifoBound):
                hostile = kernel_runs(detail, p.gpu, random)
            elif hasattr(detail, "hosts"):
                hostile = host_runs(detail, p.at(w.tick), random)
            for responses, how in hostile:
                bounds, known = detail.response.filled(0), detail.bounded
                tight.add(responses, bounds, known, f"{said}: {how}")
                tight.hostile += 1
        batch_rows(c, f"rows, seed {at}")
    lines = [
        f"rows: {count} of {number} comparisons, no response above a bound",
        f"  {'':20}{'accepted':>9}{'cond.':>7}{'missed':>8}{'undecided':>10}{'refused':>8}"
        f"{'hostile':>9}{'compared':>10}{'reached':>9}{'largest':>9}",
    ]
    words = ("guaranteed", "conditional", "not schedulable", "undecided", "not applicable")
    for label, tight in kept.items():
        a, cond, b, u, r = (tight.verdicts[word] for word in words)
        b += tight.verdicts["impossible"]
        lines.append(
            f"  {label:20}{a:9d}{cond:7d}{b:8d}{u:10d}{r:8d}{tight.hostile:9d}{tight.compared:10d}"
            f"{tight.reached:9d}{tight.largest:9.3f}"
        )
    return lines


# Margins ------------------------------------------------------------------------------------------


def grown(w: gs.Workload, what: str, factor: Fraction) -> gs.Workload:
    if what == "kernels":
        return w.scaled(kernels=factor)
    whole = w.scaled(kernels=factor, cpu=factor, copies=factor)
    if what == "all":
        return whole
    return w.replace(tasks=[whole[task.name] if task.name == what else task for task in w])


def times_of(w: gs.Workload, what: str) -> set[int]:
    """Times that grow."""
    found: set[int] = set()
    for task in w:
        for part in task.segments if what in ("all", "kernels", task.name) else ():
            if isinstance(part, gs.Kernel):
                found |= {part.time} if part.has_time else set()
                found |= {part.block_time or 0, *(part.sms or {}).values()}
            elif what != "kernels":
                found.add(part.time)
    return found - {0}


def accepts(w: gs.Workload, p: gs.Platform, first: Any, what: str, factor: Fraction) -> bool:
    """Whether the test accepts, with the cores and SMs that ``first`` has chosen."""
    detail = first.detail
    given = DerivedModels(grown(w, what, factor), p)
    models = given.refined(first.way, test=True)
    whole = isinstance(detail, gs.analysis.HolisticBound)
    if first.way in WHOLE_PROGRAMS:
        chosen = detail.tasks if whole else detail.hosts
        core = dict(zip(chosen.name, chosen.core.tolist(), strict=True))
        cores = np.array([core[name] for name in models.workload.names])
        with contextlib.suppress(ValueError):  # what the test of whole programs refuses
            if whole_program(models, as_way(first.way), cores, None).answer.accepted:
                return True
    waits, split = first.way in ("stgm", "gcaps", "time_slices"), first.way == "time_slices"
    switches = first.way not in ("gcaps", "time_slices")
    sms = "divided" if first.way == "stgm" else "all"
    view = models.hosts(sms, waits=waits, split=split, switches=switches)
    hosts = view.tasks.replace(core=detail.tasks.core if whole else detail.hosts.core)
    if first.way == "stgm":
        hosts = hosts.replace(sm=detail.hosts.sm)
        return bool(gs.analysis.stgm(hosts, p.cpus, detail.sms, mode=detail.mode).accepted)
    if first.way == "gpu_server":
        more = {"server": detail.server, "server_overhead": p.server_overhead}
        return bool(gs.analysis.gpu_server(hosts, p.cpus, **more).accepted)
    costs = {
        "time_slices": {"timeslice": p.timeslice, "context_switch": p.context_switch},
        "gcaps": {"update_cost": p.update_cost, "context_switch": p.context_switch},
    }.get(first.way, {})
    test = getattr(gs.analysis, first.way)
    if whole and (hosts.deadline > hosts.period).any():
        return False  # which the other test refuses
    return bool(test(hosts, p.cpus, mode=getattr(detail, "mode", "suspend"), **costs).accepted)


def margins(seed: int, share: float) -> Lines:
    wanted = max(1, round(1_000 * share))
    found: Counter[str] = Counter()
    scanned = sampled = number = 0
    while sum(found.values()) < wanted:
        at = seed * 10**6 + number
        number += 1
        random = Random(at)
        w, p = random_case(random)
        what = random.choice(("all", "kernels", w.names[0]))
        way = random.choice(EXACT)
        said = f"margins, seed {at}: {way}, {what}"
        try:
            first = gs.analyze(w, p, way)
            margin = gs.margin(w, p, way, what)
        except ValueError:
            continue
        if not margin.exact:
            continue
        found[way] += 1
        factor = margin.factor or Fraction(0)
        if times := times_of(w, what):
            above = min(Fraction(int(factor * time) + 1, time) for time in times)
            near = factor + Fraction(1, 10**9)
            check(not accepts(w, p, first, what, near), f"{said}: {near} is accepted")
            # The scan: every factor that changes a time, up to the first that fails.
            steps = sorted({Fraction(m, t) for t in times for m in range(1, int(above * t) + 2)})
            if len(steps) < 400:
                good = None
                for step in steps:
                    if not accepts(w, p, first, what, step):
                        break
                    good = step
                check(good == margin.factor, f"{said}: {margin.factor}, by a scan {good}")
                scanned += 1
        for _ in range(5 if margin.factor else 0):
            below = factor * Fraction(random.randrange(1, 1001), 1000)
            check(accepts(w, p, first, what, below), f"{said}: {below} below {factor} fails")
            sampled += 1
    ways = ", ".join(f"{name} {n}" for name, n in sorted(found.items()))
    return [
        f"margins: {sum(found.values())} exact ({ways}), {scanned} found again by a scan, "
        f"{sampled} factors below them accepted"
    ]


PARTS: dict[str, Callable[[int, float], Lines]] = {
    "law": law, "files": files, "views": views, "rows": rows, "margins": margins,
}  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--part", nargs="+", choices=PARTS, default=list(PARTS))
    parser.add_argument("--share", type=float, default=1, help="of the full campaign")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--save", action="store_true", help="keep the lines in results/")
    args = parser.parse_args()
    lines = [f"Random workloads, seed {args.seed}, share {args.share:g}, {describe()}"]
    for part in args.part:
        began = time.perf_counter()
        lines += PARTS[part](args.seed, args.share)
        lines.append(f"  {time.perf_counter() - began:.0f} s")
    print("\n".join(lines))
    if args.save:
        path = Path(__file__).parent / "results" / "workload_campaign.txt"
        path.write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
