"""Search for pipelines that exceed their bounds on the machine; results/pipeline_falsification.txt.

Small random programs whose tasks release each other (chains, forks, joins, one for every second
job), read each other, have jitter, copies and kernels that share the SMs, on 1 to 3 cores, are
played by the machine under each way whose test takes such tasks: with the cores of the answer, at
random phases, with jitters and times at their ends and between. Compared with the answer are every
release, every end, the results that wait, and the times of a random path, with phases that are any
or given. So are ways with a thread for each group ("one"). The table says how close the
largest times come to their bounds.

A second table is of a search: of programs whose tasks all have bounds, phases climb towards the end
that is closest to its bound, with gaps between arrivals, drawn times and ties, and a task that is
last at ties. A third one is of sources on one clock, whose offsets are chosen so that paths are
short: every bound of a path is then one that no job may miss by a tick. The tests run a small part
of each.

    python benchmarks/pipeline_falsification.py [--programs 3000] [--climbs 300] \\
        [--offsets 300] [--seed 1] [--save]
"""

from __future__ import annotations

import argparse
import time
from collections import Counter, defaultdict
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
from bounds_attack import varied

import gpusched as gs
from gpusched.comparison.analyses import Request, analyzed, options_of
from gpusched.comparison.choosing.offset_choice import OffsetChoice
from gpusched.comparison.derived_models import DerivedModels
from gpusched.comparison.machine_models import MACHINE_WAYS, machine_model
from gpusched.comparison.machine_runs import PLANNED, machine_choices
from gpusched.comparison.path_runs import TaskJobs, path_run
from gpusched.simulate.machine_run import run_machine
from gpusched.ways.way import Way, as_way

LOCKS = {
    "mpcp": gs.ways.Mpcp(),
    "mpcp (busy)": gs.ways.Mpcp(mode="busy"),
    "mpcp (spin)": gs.ways.Mpcp(mode="spin"),
    "fmlp_plus": gs.ways.FmlpPlus(),
    "fmlp_plus (busy)": gs.ways.FmlpPlus(mode="busy"),
    "gpu_server": gs.ways.GpuServer(),
    "stgm": gs.ways.Stgm(),
    "stgm (busy)": gs.ways.Stgm(mode="busy"),
    "gcaps": gs.ways.Gcaps(),
    "gcaps (busy)": gs.ways.Gcaps(mode="busy"),
    "gcaps (stall)": gs.ways.Gcaps(stall=True),
}
NAMES = ("one_stream", "streams", "priority_streams", "mps", "time_slices")
APART = {name: as_way(name) for name in NAMES} | LOCKS
"""Ways whose test takes tasks that others release."""

DISPATCHED = {"edf_serial": as_way("edf_serial")}
"""Likewise, where it bounds jobs by deadlines within their periods alone."""

ONE = {name: as_way(name) for name in ("one_stream", "time_slices", "streams")} | LOCKS
"""Ways that are attacked with a thread for each group."""

UNTIL = 400
KINDS = ("latency", "reaction", "age", "held age")


def segments(random: Random) -> list[gs.Segment]:
    found: list[gs.Segment] = []
    for _ in range(random.randint(1, 4)):
        last = found[-1] if found else None
        kind = random.random()
        length = random.randint(1, 5)
        if kind < 0.4 and not isinstance(last, gs.CPU):
            found.append(gs.CPU(length))
        elif kind < 0.6:
            found.append(random.choice((gs.CopyIn, gs.CopyOut))(length))
        else:
            shape = {"blocks": random.randint(1, 6), "threads": random.choice((128, 256, 512))}
            found.append(gs.Kernel(block_time=length, **shape))
    if not any(isinstance(part, gs.Kernel) for part in found):  # a job has a kernel or no copies
        found = [part for part in found if isinstance(part, gs.CPU)] or [gs.CPU(2)]
    return found


def random_workload(random: Random) -> gs.Workload:
    """2 to 6 tasks and a path; about half of the sets have bounds."""
    n = random.randint(2, 6)
    ranks = random.sample(range(n), n)
    tasks: list[gs.Task] = []
    source: dict[str, tuple[str, int]] = {}
    for i in range(n):
        name = "abcdef"[i]
        period = random.randint(20, 120)
        link: dict[str, Any] = {"period": period, "deadline": random.choice((period, 2 * period))}
        if random.random() < 0.3:
            link["jitter"] = random.randint(1, period)
        if tasks and random.random() < 0.65:
            first = random.choice(tasks).name
            alike = [t for t, of in source.items() if of == source[first]]
            every = random.choice((1, 1, 1, 2))
            link = {"after": [t for t in alike if t == first or random.random() < 0.4]}
            link["every"] = every
            root, step = source[first]
            source[name] = (root, step * every)
        else:
            source[name] = (name, 1)
        readable = [t.name for t in tasks if t.name not in link.get("after", ())]
        reads = [t for t in readable if random.random() < 0.6]
        parts = segments(random)
        most = sum(p.time if not isinstance(p, gs.Kernel) else p.block_time or 0 for p in parts)
        best = random.choice((0, len(parts), most))
        tasks.append(
            gs.Task(name, segments=parts, priority=ranks[i], reads=reads or None, best=best, **link)
        )
    path = [random.choice(tasks).name]
    by_name = {task.name: task for task in tasks}
    while before := [*by_name[path[0]].after, *by_name[path[0]].reads]:
        path.insert(0, random.choice(before))
    paths = [gs.Path(kind, path, kind=kind) for kind in KINDS]  # type: ignore[arg-type]
    w = gs.Workload(tasks, paths=paths)
    if random.random() < 0.3:
        offsets = {t.name: random.randint(0, 60) for t in w if not t.after}
        w = w.replace(
            tasks=[t.replace(offset=offsets.get(t.name, 0)) for t in w],
            paths=[p.replace(phases="given") for p in w.paths],
        )
    return w


def with_deadlines(w: gs.Workload, random: Random) -> gs.Workload:
    """The workload with deadlines that leave room for others of the same period."""
    tasks = [
        t.replace(deadline=max(1, random.randint(t.period // 8, t.period // (4 if t.after else 1))))
        for t in w
    ]
    return w.replace(tasks=[t.replace(jitter=t.jitter // 8) if t.jitter else t for t in tasks])


def crowded(random: Random) -> gs.Workload:
    """Short units beside one or two that others release late or early: their windows are full."""
    work = random.randint(2, 12)
    tasks = [gs.Task("a", random.randint(18, 30), [gs.CPU(work)], best=1)]
    for name in ("b", "c")[: random.randint(1, 2)]:
        unit = random.randint(2, 6)
        due = unit + random.randint(1, 5)
        part = gs.Kernel(block_time=unit, blocks=1, threads=128)
        after = tasks[-1].name if random.random() < 0.5 else "a"
        best = random.choice((1, unit))
        tasks.append(gs.Task(name, None, [part], after=after, deadline=due, best=best))
    for name in "defgh"[: random.randint(2, 5)]:
        part = gs.Kernel(block_time=random.randint(1, 2), blocks=1, threads=128)
        tasks.append(gs.Task(name, random.randint(14, 30), [part]))
    return gs.Workload(tasks, paths=[gs.Path("latency", ["a", "b"])])


def random_platform(random: Random) -> gs.Platform:
    gpu = gs.GPU(random.randint(1, 3), 1024, 8)
    return gs.Platform(
        gpu,
        cpus=random.randint(1, 3),
        slowdown=None,
        copy_engines=random.choice((1, 2)),
        launch_latency=random.choice((0, 0, 1)),
        timeslice=random.randint(2, 6),
        context_switch=random.choice((0, 1)),
        channels=random.choice((None, None, 1, 2)),
        update_cost=random.choice((0, 1)),
        server_overhead=random.choice((0, 1)),
    )


def least(task: gs.Task) -> list[int]:
    """Times of the segments of the shortest job that ``best`` allows, but for waves of blocks."""
    whole = [p.block_time or 0 if isinstance(p, gs.Kernel) else p.time for p in task.segments]
    return whole if task.best == sum(whole) else [1] * len(whole)


def played(
    w: gs.Workload, platform: gs.Platform, way: Way, answer: Any, random: Random
) -> dict[str, TaskJobs]:
    """The jobs of a run at random phases, with random jitters and times."""
    models = DerivedModels(w, platform)
    chosen = machine_choices(models, way.name, options_of(way), answer, UNTIL).arguments
    if isinstance(answer.detail, gs.analysis.HolisticBound):  # also where it is not accepted
        chosen["cores"] = answer.detail.tasks.core.tolist()
    given = any(path.phases == "given" for path in w.paths)
    style = random.randrange(4)
    releases: list[list[tuple[int, int]]] = []
    times: list[list[list[int]]] = []
    for task in w:
        low, whole = (
            least(task),
            [p.block_time or 0 if isinstance(p, gs.Kernel) else p.time for p in task.segments],
        )
        jobs = UNTIL // task.period + 2
        times.append(
            [
                [
                    (b, a, random.choice((a, b)), random.randint(a, b))[style]
                    for a, b in zip(low, whole, strict=True)
                ]
                for _ in range(jobs)
            ]
        )
        row: list[tuple[int, int]] = []
        last = 0
        phase = task.offset if given else random.randrange(task.period)
        for arrival in range(phase, UNTIL, task.period) if not task.after else ():
            late = random.choice((0, task.jitter, random.randint(0, task.jitter)))
            last = max(last, arrival + late)
            row.append((arrival, last))
        releases.append(row)
    model = machine_model(
        models, way.name, until=4 * UNTIL, releases=releases, times=times, ties="draw", **chosen
    )
    run = run_machine(model, seed=random.randrange(2**30), progress=False)
    jobs_of = {}
    for i, task in enumerate(w):
        mine = run.jobs["task"] == i
        columns = (run.jobs[key][mine] for key in ("arrival", "release", "start", "end"))
        jobs_of[task.name] = TaskJobs(*columns)
    return jobs_of


def check(
    w: gs.Workload, answer: Any, jobs: dict[str, TaskJobs], seen: dict[str, float], where: Any
) -> list[str]:
    """Sentences on times above their bounds; the largest shares of bounds are noted."""
    wrong = []

    def compare(what: str, took: int, bound: int) -> None:
        seen[what] = max(seen[what], took / bound if bound else 0)
        if took > bound:
            wrong.append(f"{where}: {what} {took} > {bound}")

    ends = answer.ends
    for i, task in enumerate(w):
        of = jobs[task.name]
        if not len(of.end) or (of.end < 0).any():
            continue
        begin = of.release if task.after else of.arrival
        compare("response", int((of.end - begin).max()), int(answer.response[i]))
        if ends is None:
            continue
        compare("end", int((of.end - of.arrival).max()), int(ends.end[i]))
        if task.after:
            released = of.release - of.arrival
            if released.min() < ends.earliest[i]:
                wrong.append(f"{where}: {task.name} released at {released.min()}")
            room = answer.queues[task.name]
            for name in task.after:
                there = jobs[name].end[:: task.every][: len(of.start)]
                waits = max(int(((there <= t) & (of.start >= t)).sum()) for t in there.tolist())
                # At an instant a job that starts has its input still: it counts until it starts.
                if waits > room + 1:
                    wrong.append(f"{where}: {waits} results wait for {task.name}, not {room}")
    for found in answer.paths:
        if found.bound is None:
            continue
        run = path_run(w, found.path, jobs)
        if run.largest is not None:
            compare(found.path.kind, run.largest, found.bound)
    return wrong


def attack(seed: int, seen: dict[str, dict[str, float]], counts: Counter[str]) -> list[str]:
    """The programs of a seed under all ways; what exceeds a bound."""
    random = Random(f"pipelines {seed}")
    w, platform = random_workload(random), random_platform(random)
    wrong: list[str] = []
    cases = [(label, way, w, platform) for label, way in APART.items()]
    short = with_deadlines(w, Random(f"deadlines {seed}"))
    full = crowded(Random(f"crowded {seed}"))
    wide = gs.Platform(gs.GPU(2, 1024, 8), cpus=len(full), slowdown=None)
    cases += [(label, way, short, platform) for label, way in DISPATCHED.items()]
    cases += [(f"{label}, crowded", way, full, wide) for label, way in DISPATCHED.items()]
    with suppress(ValueError):
        one = w.in_one_thread()
        cases += [(f"{label}, one", way, one, platform) for label, way in ONE.items()]
    for label, way, workload, machine in cases:
        try:
            answer = analyzed(DerivedModels(workload, machine), way, Request(options_of(way)))
        except ValueError:
            continue
        if not answer.bounded.all() or answer.conditions or way.name in PLANNED:
            continue
        assert way.name in MACHINE_WAYS
        counts[f"{label} programs"] += 1
        for _ in range(6):
            jobs = played(workload, machine, way, answer, random)
            counts[f"{label} runs"] += 1
            wrong += check(workload, answer, jobs, seen[label], (seed, label))
    return wrong


def attack_offsets(seed: int, seen: dict[str, dict[str, float]], counts: Counter[str]) -> list[str]:
    """The programs of a seed with chosen offsets under all ways; what exceeds a bound."""
    random = Random(f"offsets {seed}")
    w, platform = random_workload(random), random_platform(random)
    periods = random.choice(((20, 40, 60, 80), (30, 45, 60, 90), (25, 50, 100), (36, 48, 60)))
    tasks = [t if t.after else t.replace(period=random.choice(periods), jitter=0) for t in w]
    tasks = [
        t if t.after else t.replace(deadline=t.period, jitter=random.choice((0, 0, t.period // 3)))
        for t in tasks
    ]
    paths = [path.replace(phases="given", deadline=10**6) for path in w.paths]
    w = gs.Workload(tasks, paths=paths)
    wrong: list[str] = []
    for label, way in APART.items():
        choice = OffsetChoice(w, of=random.choice(("all", *KINDS)))
        if not choice.names:
            return wrong
        try:
            first = analyzed(DerivedModels(w, platform), way, Request(options_of(way)))
            chosen = choice.applied(choice.best(first), w)
            answer = analyzed(DerivedModels(chosen, platform), way, Request(options_of(way)))
        except ValueError:
            continue
        if not answer.bounded.all() or answer.conditions:
            continue
        if answer.response.tolist() != first.response.tolist():
            wrong.append(f"{(seed, label)}: responses that depend on offsets")
        counts[f"{label} programs"] += 1
        for before, after in zip(first.paths, answer.paths, strict=True):
            assert before.bound is not None and after.bound is not None
            counts[f"{label} before"] += before.bound
            counts[f"{label} after"] += after.bound
        for _ in range(6):
            jobs = played(chosen, platform, way, answer, random)
            counts[f"{label} runs"] += 1
            wrong += check(chosen, answer, jobs, seen[label], (seed, label))
    return wrong


def climb(seed: int, runs: int, counts: dict[str, Counter[str]]) -> list[str]:
    """Runs of the program of a seed under all ways, each at phases near the best ones so far."""
    random = Random(f"climb {seed}")
    w, platform = random_workload(random), random_platform(random)
    wrong: list[str] = []
    if not any(task.after for task in w):
        return wrong
    period = [task.period for task in w]
    timed = np.array([not task.after for task in w])
    for label, way in APART.items():
        try:
            answer = analyzed(DerivedModels(w, platform), way, Request(options_of(way)))
        except ValueError:
            continue
        if not answer.bounded.all() or answer.conditions or answer.ends is None:
            continue
        models, until = DerivedModels(w, platform), 12 * max(period)
        chosen = machine_choices(models, way.name, options_of(way), answer, until).arguments
        if isinstance(answer.detail, gs.analysis.HolisticBound):
            chosen["cores"] = answer.detail.tasks.core.tolist()
        model = machine_model(models, way.name, until=until, **chosen)
        bound = np.array(answer.ends.end)
        best, most, reached = np.zeros(len(w), np.int64), -1.0, np.zeros(len(w), np.bool_)
        rng = Random(f"{seed} {label}")
        for k in range(runs):
            phase = best.copy()
            if k % 2:
                i = rng.randrange(len(w))
                phase[i] = max(0, phase[i] + rng.choice((-1, 1, rng.randint(-period[i], 5))))
            elif k:
                phase = np.array([rng.randrange(one) for one in period], np.int64)
            phase *= timed
            run = run_machine(varied(model, rng, way.name, phase), log=(), seed=k, progress=False)
            counts[label]["runs"] += 1
            reached |= run.worst == bound
            share = float((run.worst / bound).max())
            if share > 1:
                wrong.append(f"{(seed, label, k)}: ends {run.worst.tolist()} > {bound.tolist()}")
                break
            if share >= most:
                best, most = phase, share
        counts[label]["programs"] += 1
        counts[label]["bounds"] += len(w)
        counts[label]["reached"] += int(reached.sum())
    return wrong


def climbed(seed: int, programs: int, runs: int) -> tuple[list[str], list[str]]:
    """The table of a search, and what exceeds a bound."""
    counts: dict[str, Counter[str]] = defaultdict(Counter)
    began, wrong = time.perf_counter(), list[str]()
    for one in range(seed, seed + programs):
        wrong += climb(one, runs, counts)
    columns = ("programs", "runs", "bounds", "reached")
    lines = [
        f"{programs} random programs from seed {seed}, whose phases climb, "
        f"{time.perf_counter() - began:.0f} s",
        "Bounds of ends, and how many of them a run reached.",
        f"{'way':24}" + "".join(f"{name:>10}" for name in columns),
    ]
    for label, of in counts.items():
        lines.append(f"{label:24}" + "".join(f"{of[name]:10}" for name in columns))
    return lines, wrong


def with_offsets(seed: int, programs: int) -> tuple[list[str], list[str]]:
    """The table of programs with chosen offsets, and what exceeds a bound."""
    seen: dict[str, dict[str, float]] = defaultdict(lambda: defaultdict(float))
    counts: Counter[str] = Counter()
    began, wrong = time.perf_counter(), list[str]()
    for one in range(seed, seed + programs):
        wrong += attack_offsets(one, seen, counts)
    lines = [
        f"{programs} random programs from seed {seed} with chosen offsets, "
        f"{time.perf_counter() - began:.0f} s",
        "Largest share of a bound that was seen; the sum of bounds as a share of that before.",
        _head(("bounds", *KINDS)),
    ]
    for label in seen:
        share = counts[f"{label} after"] / counts[f"{label} before"]
        lines.append(_line(label, counts, [share, *(seen[label].get(kind, 0) for kind in KINDS)]))
    return lines, wrong


def _head(columns: Sequence[str]) -> str:
    return f"{'way':24}{'programs':>10}{'runs':>8}" + "".join(f"{name:>11}" for name in columns)


def _line(label: str, counts: Counter[str], shares: Sequence[float]) -> str:
    row = "".join(f"{share:11.3f}" for share in shares)
    return f"{label:24}{counts[f'{label} programs']:10}{counts[f'{label} runs']:8}{row}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--programs", type=int, default=3000)
    parser.add_argument("--climbs", type=int, default=300, help="programs of the search")
    parser.add_argument("--offsets", type=int, default=300, help="programs with chosen offsets")
    parser.add_argument("--runs", type=int, default=300, help="of a program of the search and way")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--save", action="store_true")
    options = parser.parse_args()
    seen: dict[str, dict[str, float]] = defaultdict(lambda: defaultdict(float))
    counts: Counter[str] = Counter()
    wrong: list[str] = []
    began = time.perf_counter()
    for seed in range(options.seed, options.seed + options.programs):
        wrong += attack(seed, seen, counts)
    columns = ("response", "end", *KINDS)
    lines = [
        f"{options.programs} random programs from seed {options.seed}, "
        f"{time.perf_counter() - began:.0f} s",
        "Largest share of a bound that was seen: responses, ends, and times of paths.",
        _head(columns),
    ]
    for label in seen:
        lines.append(_line(label, counts, [seen[label].get(name, 0) for name in columns]))
    table, higher = climbed(options.seed, options.climbs, options.runs)
    timed, more = with_offsets(options.seed, options.offsets)
    lines += ["", *table, "", *timed, ""]
    wrong += higher + more
    lines.append("nothing above a bound" if not wrong else f"{len(wrong)} above a bound:")
    lines += wrong[:20]
    print("\n".join(lines))
    if options.save:
        path = Path(__file__).parent / "results" / "pipeline_falsification.txt"
        path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    raise SystemExit(bool(wrong))


if __name__ == "__main__":
    main()
