"""Time and results of the study of [RTNS10].

First the cost of drawing a set and testing it with all methods (SRM with both locks, Container, the
CPUs alone at four speed-ups), in processor time on one core: the mean over the 90 scenarios of each
interval of task utilizations, of the fastest of three runs. "Drawn" counts every draw, "kept" the
sets that meet the paper's conditions, which is what the study counts. Then, with --all, all 270
scenarios at --count sets on --workers threads: the answer for each scenario, the paper's
observations, and the pictures.

    python benchmarks/elliott_study.py [--all] [--save]
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Iterator
from pathlib import Path

from machine import describe

import gpusched as gs
from gpusched._draw import axes as plot
from gpusched.experiments import SCENARIOS, ElliottStudy

RESULTS = Path(__file__).parent / "results"
NAME = "elliott_study"
RUNS = 3
MANY = 6  # draws per set
GOALS = {"light": 0.8, "medium": 0.2, "heavy": 0.1}  # us per set


def cost(number: int, count: int, seed: int) -> tuple[float, ElliottStudy]:
    """The least processor time of a few runs, as neighbours on the machine cost caches and clock,
    and what they all found."""
    least = float("inf")
    for _ in range(RUNS):
        start = time.process_time()
        study = gs.experiments.elliott_fig5([number], count, seed, workers=1, progress=False)
        least = min(least, time.process_time() - start)
    return least, study


def speed(count: int, seed: int) -> Iterator[str]:
    yield "            tasks     draws     us per set     us per set kept"
    yield "  tasks   per set   per set    drawn    kept    median  slowest    goal, met by"
    notes = []
    for kind, goal in GOALS.items():
        seconds, drawn, tasks = [], [], 0
        for number in (s.number for s in SCENARIOS if s.utilization == kind):
            took, study = cost(number, count, seed)
            seconds.append(took)
            drawn.append(int(study.fates.sum()) / count)
            tasks += int(study.tasks.sum())
        kept = [took / count * 1e6 for took in seconds]
        met = [each <= goal for each in kept]
        yield (
            f"  {kind:7}{tasks / count / len(kept):8.1f}{statistics.mean(drawn):10.1f}"
            f"{sum(kept) / sum(drawn):9.3f}{statistics.mean(kept):8.3f}"
            f"{statistics.median(kept):10.3f}{max(kept):9.3f}{goal:8.1f}, {sum(met)} of {len(met)}"
        )
        few = [k for k, d in zip(kept, drawn, strict=True) if d <= MANY]
        many = [k for k, d in zip(kept, drawn, strict=True) if d > MANY]
        if few and many:
            notes.append(
                f"  {kind}: a set kept pays for the draws rejected before it. With up to {MANY} "
                f"draws per set:\n  {statistics.mean(few):.3f} us ({len(few)} scenarios); with up "
                f"to {max(drawn):.0f}: {statistics.mean(many):.3f} us ({len(many)})."
            )
    yield from notes


def report(study: ElliottStudy) -> Iterator[str]:
    table = study.answer()
    yield "Observations of the paper:"
    for number, statement, holds, numbers in zip(
        *study.observations().columns.values(), strict=True
    ):
        yield f"  {number}. {'holds' if holds else 'DOES NOT HOLD'}: {statement}"
        yield f"     {numbers}"
    yield ""
    yield "From which speed-up on does the GPU schedule more than the CPUs alone? Scenarios:"
    factors = study.settings["speed_ups"]
    yield "  method             " + "".join(f"{f'c = {c}':>8}" for c in factors) + "   never"
    for name in ("SRM", "Container", "SRM or Container"):
        found = table[f"{name} from"]
        cells = "".join(f"{int((found <= c).sum()):8}" for c in factors)
        yield f"  {name:19}{cells}{int((found != found).sum()):8}"
    yield ""
    yield "  scenario                              SRM  Container  either   sets   (break-even)"
    for row in range(len(table)):
        of = SCENARIOS[int(table["scenario"][row])]
        cells = "".join(
            f"{table[f'{name} break-even'][row]:9.2f}"
            for name in ("SRM", "Container", "SRM or Container")
        )
        label = f"{of.utilization} {of.periods} {of.gpu:.0%} {of.share:.0%}+"
        yield f"  {of.number:4} {label:28}{cells}{int(table['sets'][row]):9}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--all", action="store_true", help="all 270 scenarios")
    parser.add_argument("--save", action="store_true", help=f"write results/{NAME}.*, too")
    parser.add_argument("--count", type=int, default=1_000_000, help="sets per scenario")
    parser.add_argument("--each", type=int, default=200_000, help="sets for the cost of a set")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--seed", type=int, default=2010)
    parser.add_argument("--store", help="a file to resume from")
    options = parser.parse_args()
    lines = [describe(), ""]

    def say(line: str) -> None:
        lines.append(line)
        print(line, flush=True)

    print(lines[0])
    say(f"Cost of a set, {options.each:,} sets per scenario, seed {options.seed}, one core:")
    for line in speed(options.each, options.seed):
        say(line)
    if options.all:
        start, used = time.perf_counter(), time.process_time()
        study = gs.experiments.elliott_fig5(
            "all",
            options.count,
            options.seed,
            store=options.store,
            workers=options.workers,
        )
        wall, used = time.perf_counter() - start, time.process_time() - used
        say("")
        say(
            f"All 270 scenarios, {options.count:,} sets each, {options.workers} threads: "
            f"{wall:.0f} s, {used:.0f} s of processor time"
        )
        say("")
        for line in report(study):
            say(line)
        if options.save:
            RESULTS.mkdir(exist_ok=True)
            study.answer().save_csv(RESULTS / f"{NAME}.csv")
            plot.save_figure(study.plot()[0, 0].figure, RESULTS / f"{NAME}_fig5.png", 110)
            plot.save_figure(study.plot_answer()[0, 0].figure, RESULTS / f"{NAME}_answer.png", 110)
            plot.save_figure(study.plot_all()[0, 0].figure, RESULTS / f"{NAME}_all.png", 70)
    if options.save:
        RESULTS.mkdir(exist_ok=True)
        (RESULTS / f"{NAME}.txt").write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
