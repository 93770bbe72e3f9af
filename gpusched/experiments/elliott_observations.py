"""Check of the six observations of [RTNS10], section 5.2, on an ``ElliottStudy``."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Protocol

import numpy as np

from gpusched._support.results import Results
from gpusched.experiments.elliott_scenarios import LETTERS, SCENARIOS, printed

__all__ = ["observations"]


class Study(Protocol):
    """Interface of ``ElliottStudy`` that the observations use."""

    @property
    def scenarios(self) -> tuple[int, ...]: ...

    @property
    def curves(self) -> tuple[str, ...]: ...

    @property
    def settings(self) -> Mapping[str, Any]: ...

    def answer(self) -> Results: ...

    def where(self, **values: Any) -> Results: ...


def observations(study: Study) -> Results:
    """See ``ElliottStudy.observations``."""
    periods = {SCENARIOS[k].periods for k in study.scenarios}
    for name in ("moderate", *sorted(periods)):
        numbers = printed(name) if name in periods else []
        if numbers and set(numbers) <= set(study.scenarios):
            break
    else:
        raise ValueError("scenarios: expected the nine printed ones of one interval of periods")
    missing = {4, 8} - set(study.settings["speed_ups"])
    if missing:
        raise ValueError(f"speed_ups: expected 4 and 8 among them, got none of {sorted(missing)}")
    panel = dict(zip(LETTERS, numbers, strict=True))
    table = study.answer()
    share = {
        (letter, name): float(table.where(scenario=number)[name][0])
        for letter, number in panel.items()
        for name in study.curves
    }
    lines: list[tuple[int, str, bool, str]] = []

    def say(observation: int, statement: str, holds: bool, numbers: str) -> None:
        lines.append((observation, statement, bool(holds), numbers))

    def letters(chosen: Iterable[str]) -> str:
        return ", ".join(f"({letter})" for letter in chosen) or "none"

    def beats(name: str, c: int) -> list[str]:
        return [p for p in panel if share[p, name] > share[p, f"CPUs, c = {c}"]]

    eight = {name: beats(name, 8) for name in ("SRM", "Container", "SRM or Container")}
    four = beats("SRM or Container", 4)
    say(
        1,
        "SRM and Container both schedule more than the CPUs alone at c = 8, in all panels",
        len(eight["SRM"]) == len(eight["Container"]) == 9,
        f"SRM in {letters(eight['SRM'])}; Container in {letters(eight['Container'])}",
    )
    say(
        1,
        "SRM or Container schedules more than the CPUs alone at c = 8, in all panels",
        len(eight["SRM or Container"]) == 9,
        f"in {letters(eight['SRM or Container'])}",
    )
    say(
        1,
        "a speed-up of 4 suffices in (b), (c), (e), (f)",
        {"b", "c", "e", "f"} <= set(four),
        f"in {letters(four)}",
    )
    more = [p for p in panel if share[p, "Container"] > share[p, "SRM"]]
    say(
        2,
        "Container schedules more than SRM in (a), (b), (c), (e), (f)",
        {"a", "b", "c", "e", "f"} <= set(more),
        f"in {letters(more)}",
    )
    half = {p: _half(study, number, "SRM") for p, number in panel.items()}
    say(
        3,
        "SRM reaches further the heavier the tasks: in (a), (d), (g) half of the sets are "
        "schedulable up to a utilization of about 2, 3, 3.5 (to within 0.25)",
        half["a"] < half["d"] < half["g"]
        and all(abs(half[p] - u) <= 0.25 for p, u in (("a", 2.0), ("d", 3.0), ("g", 3.5))),
        ", ".join(f"({p}) {half[p]:.2f}" for p in "adg"),
    )
    reach = {p: _half(study, panel[p], "Container") for p in "abcdef"}
    srm = [half[p] for p in "abcdef"]
    spread = max(reach.values()) - min(reach.values())
    say(
        4,
        "Container hardly depends on tasks and GPU share: its half-way points in (a) to (f) "
        "differ by less than 0.5, a quarter of SRM's",
        spread < 0.5 and spread < (max(srm) - min(srm)) / 4,
        f"Container {min(reach.values()):.2f} to {max(reach.values()):.2f}, "
        f"SRM {min(srm):.2f} to {max(srm):.2f}",
    )
    heavy = [share[p, "Container"] for p in "ghi"]
    say(
        5,
        "Container schedules no set of heavy tasks that uses the GPU",
        max(heavy) == 0,
        ", ".join(f"({p}) {x:.3%}" for p, x in zip("ghi", heavy, strict=True)),
    )
    gap = share["d", "SRM"] - share["d", "Container"]
    ahead = [p for p in "abcdef" if share[p, "Container"] > share[p, "SRM"]]
    say(
        6,
        "with light and medium tasks Container is ahead in most panels, and within a tenth of "
        "the sets in (d)",
        len(ahead) >= 4 and gap < 0.1,
        f"ahead in {letters(ahead)}; in (d) SRM {share['d', 'SRM']:.1%}, "
        f"Container {share['d', 'Container']:.1%}",
    )
    names = ("observation", "statement", "holds", "numbers")
    return Results(
        {n: np.array(column) for n, column in zip(names, zip(*lines, strict=True), strict=True)}
    )


_FEW = 100


def _half(study: Study, number: int, name: str) -> float:
    """Utilization up to which half of the sets are schedulable.

    Bins with fewer than 100 sets are ignored. The value is interpolated linearly between the middle
    of the last bin with a share of one half or more and the middle of the next bin.
    """
    rows = study.where(scenario=number, curve=name)
    rows = Results({key: column[rows["sets"] >= _FEW] for key, column in rows.columns.items()})
    x, y = (rows["low"] + rows["high"]) / 2, rows["schedulable"]
    enough = np.flatnonzero(y >= 0.5)
    if not enough.size:
        return 0.0
    k = int(enough[-1])
    if k + 1 == len(x):
        return float(x[k])
    return float(x[k] + (y[k] - 0.5) / (y[k] - y[k + 1]) * (x[k + 1] - x[k]))
