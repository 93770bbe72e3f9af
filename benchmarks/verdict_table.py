"""Verdicts of `gs.compare` on realistic programs; results/verdict_table.txt.

The programs are those of `realistic_programs`, number 0 to --count less 1. For each row of the
comparison (way and mode): the number of programs that are guaranteed, conditional, undecided, not
schedulable, and not applicable, and the median time of the row (its test and its simulation). Then
the reasons for which tests did not apply or simulations could not be run, and the conditions, by
kind: names and numbers are replaced by "#". A row whose test does not apply, but whose simulation
ran, is undecided or not schedulable; its reason is counted too. Finally the programs that no way
can run in time, and those with a guaranteed row, also for the ways that need nothing but the
drivers and libraries of today.

Exact tests have the budget of `gs.compare`, in states and memory, so that the answers are the same
on every machine. Simulations end after --until (2 s), ten times the longest period, as longer ones
cost time and find few more misses. A program has --seconds; if they do not suffice, it is compared
way by way, a tenth of this time for each, and the ways cut off are counted as "cut".

500 programs take 150 s.

    python benchmarks/verdict_table.py [--count 500] [--first 0] [--workers 1] [--seconds 60]
        [--until 2s] [--save]
"""

from __future__ import annotations

import argparse
import re
import statistics
import threading
import time
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from machine import describe
from realistic_programs import realistic_program

import gpusched as gs
from gpusched.ways import WAYS

VERDICTS = ("guaranteed", "conditional", "undecided", "not schedulable", "not applicable", "cut")
DEPLOYABLE = (
    "one_stream", "streams", "priority_streams", "mps", "mps_static", "time_slices",
    "green_contexts",
)  # fmt: skip
LABELS = tuple(
    f"{way.name} ({mode})" if mode else way.name for way in WAYS for mode in way.modes or ("",)
)
"""Labels of all rows, in the order of a comparison."""


@dataclass(frozen=True)
class Seen:
    """Facts about a row for the table."""

    label: str
    verdict: str
    reason: str  # why the test does not apply
    unseen: str  # why it could not be simulated
    conditions: tuple[str, ...]
    seconds: float


@dataclass(frozen=True)
class Program:
    """The rows of a program."""

    rows: tuple[Seen, ...]
    impossible: tuple[str, ...]
    seconds: float


def kind(text: str, names: Sequence[str] = ()) -> str:
    """The text without names of tasks and numbers."""
    for name in sorted(names, key=len, reverse=True):
        text = re.sub(rf"(?<!\w){re.escape(name)}(?!\w)", "#", text)
    text = re.sub(r"\d[\d.,]*\d|\d", "#", text)
    text = re.sub(r"#\s?(ns|us|ms|s|ticks?)\b", "#", text)
    text = re.sub(r"#( and # others?| others?)", "#", text)
    return re.sub(r"#((, | and |, and )#)+", "#", text)


def verdict_of(row: gs.Row) -> str:
    """The column of a row."""
    answer: Any = row.answer
    if answer is not None and answer.accepted:
        return "conditional" if getattr(answer, "conditions", ()) else "guaranteed"
    if row.verdict == "no test":
        return "not applicable"
    return {"schedulable": "guaranteed"}.get(row.verdict, row.verdict)


def seen(row: gs.Row, names: Sequence[str]) -> Seen:
    """Facts about a row for the table."""
    answer: Any = row.answer
    verdict = verdict_of(row)
    texts: Iterable[Any] = getattr(answer, "conditions", ()) if verdict == "conditional" else ()
    conditions = {kind(str(getattr(each, "text", each)), names) for each in texts}
    seconds = sum(part.seconds for part in (row.answer, row.run) if part is not None)
    reason, unseen = (kind(text, names) for text in (row.why_no_answer, row.why_no_run))
    return Seen(row.label, verdict, reason, unseen, tuple(sorted(conditions)), seconds)


def limited(seconds: float, case: Any, until: str, **more: Any) -> gs.Comparison | None:
    """The comparison, or None if it takes longer."""
    stop = bytearray(1)
    timer = threading.Timer(seconds, stop.__setitem__, (0, 1))
    timer.start()
    try:
        return gs.compare(*case, until=until, progress=False, stop=stop, **more)
    except gs.Cancelled:
        return None
    finally:
        timer.cancel()


def program(index: int, seconds: float, until: str) -> Program:
    """The rows of a program by its number."""
    began = time.perf_counter()
    case = realistic_program(index)
    names = case[0].names
    whole = limited(seconds, case, until)
    if whole is not None:
        rows, impossible = [seen(row, names) for row in whole], whole.impossible
    else:
        rows, impossible = [], ()
        for way in WAYS:
            part = limited(seconds / 10, case, until, ways=[way])
            if part is None:
                labels = (label for label in LABELS if label.split()[0] == way.name)
                rows += [Seen(label, "cut", "", "", (), seconds / 10) for label in labels]
            else:
                rows += [seen(row, names) for row in part]
                impossible = part.impossible
    return Program(tuple(rows), impossible, time.perf_counter() - began)


def programs(indices: Sequence[int], workers: int, *limits: Any) -> Iterator[Program]:
    """All programs, in order."""
    if workers == 1:
        yield from (program(i, *limits) for i in indices)
        return
    with ProcessPoolExecutor(workers) as pool:
        yield from pool.map(program, indices, *([each] * len(indices) for each in limits))


def counted(title: str, found: dict[str, Counter[str]]) -> Iterator[str]:
    """Texts by row; those that several rows of a way share are printed once."""
    if any(found.values()):
        yield title
    for label in LABELS:
        same = next(of for of in LABELS if found[of] == found[label] and way(of) == way(label))
        if found[label] and same == label:
            yield f"  {label}"
            yield from (f"    {n:5d}  {text}" for text, n in found[label].most_common())
        elif found[label]:
            yield f"  {label}: as {same}"


def way(label: str) -> str:
    """The way of a row."""
    return label.split()[0]


def table(done: Sequence[Program]) -> Iterator[str]:
    """The lines of the result."""
    by_label: dict[str, list[Seen]] = defaultdict(list)
    for each in done:
        for row in each.rows:
            by_label[row.label].append(row)
    yield f"{'':20}" + "".join(f"{name:>16}" for name in VERDICTS) + f"{'median s':>12}"
    for label in LABELS:
        rows = by_label[label]
        found = Counter(row.verdict for row in rows)
        middle = statistics.median(row.seconds for row in rows)
        counts = "".join(f"{found[name]:16d}" for name in VERDICTS)
        yield f"{label:20}{counts}{middle:12.4f}"
    reasons, unseen, conditions = ({label: Counter() for label in LABELS} for _ in range(3))
    for label, rows in by_label.items():
        reasons[label].update(row.reason for row in rows if row.reason)
        unseen[label].update(row.unseen for row in rows if row.unseen)
        conditions[label].update(text for row in rows for text in row.conditions)
    yield ""
    yield from counted("Why the test of a row does not apply (programs):", reasons)
    yield from counted("Why a row cannot be simulated (programs):", unseen)
    yield from counted("Conditions (programs):", conditions)
    impossible = Counter(text for each in done for text in {kind(t) for t in each.impossible})
    yield f"impossible: {sum(bool(each.impossible) for each in done)} of {len(done)} programs"
    yield from (f"    {n:5d}  {text}" for text, n in impossible.most_common())
    for verdict in ("guaranteed", "guaranteed or conditional"):
        kinds = verdict.split(" or ")
        ways = [{way(row.label) for row in each.rows if row.verdict in kinds} for each in done]
        yield f"programs with a row that is {verdict}: {sum(map(bool, ways))} of {len(done)}"
        yield f"  in a way to deploy today: {sum(bool(of & {*DEPLOYABLE}) for of in ways)}"
        yield from (f"    {sum(name in of for of in ways):5d}  {name}" for name in DEPLOYABLE)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--count", type=int, default=500, help="of programs")
    parser.add_argument("--first", type=int, default=0, help="number of the first program")
    parser.add_argument("--workers", type=int, default=1, help="processes")
    parser.add_argument("--seconds", type=float, default=60, help="for each program")
    parser.add_argument("--until", default="2s", help="end of simulations")
    parser.add_argument("--save", action="store_true", help="keep the lines in results/")
    args = parser.parse_args()
    began = time.perf_counter()
    indices = range(args.first, args.first + args.count)
    done = list(programs(indices, args.workers, args.seconds, args.until))
    longest = max(done, key=lambda each: each.seconds)
    lines = [
        f"Verdicts on realistic programs {indices[0]} to {indices[-1]}, until {args.until}, "
        f"{describe()}",
        *table(done),
        f"{time.perf_counter() - began:.0f} s with {args.workers} workers; longest program: "
        f"{indices[done.index(longest)]}, {longest.seconds:.1f} s",
    ]
    print("\n".join(lines))
    if args.save:
        path = Path(__file__).parent / "results" / "verdict_table.txt"
        path.write_text("\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
