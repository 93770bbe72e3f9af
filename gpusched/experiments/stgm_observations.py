"""Check of the statements of [RTCSA19] on its Figures 4 and 5, and the readings of its Table I."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from gpusched._support.results import Results

__all__ = ["STGM_READINGS", "observations"]

STGM_READINGS: Mapping[str, Mapping[str, Any]] = {
    "one SM": {"baselines": "table", "sets": {"at": 1}},
    "lock on all SMs": {"baselines": "same", "sets": {"at": 1}},
    "13 SMs": {"baselines": "table", "sets": {"at": 13}},
    "SMs of the point": {"baselines": "table", "sets": {"at": None}},
}
"""Arguments of ``stgm_fig4`` and ``stgm_fig5`` for each reading of Table I of [RTCSA19].

The paper does not say for how many SMs a task's utilization and its ratios hold, nor on how many
SMs a kernel runs under a lock or a server. "one SM" (the default): both on one. "lock on all SMs":
Table I for one SM, locks and the server on all SMs of the point. "13 SMs": both on the whole GTX
970, of which STGM divides the point's number. "SMs of the point": both on the point's number."""

_NEEDED = ("STGM suspend", "STGM busy", "MPCP suspend", "GPU server")
_LEVEL = 0.02
"""Largest range of a curve that counts as constant, as a share of the sets."""


def observations(figure: Results) -> Results:
    """See ``StgmSchedulability.observations``."""
    names = list(dict.fromkeys(figure["test"].tolist()))
    missing = [name for name in _NEEDED if name not in names]
    if missing:
        raise ValueError(f"tests: expected {', '.join(_NEEDED)}, got none of {', '.join(missing)}")
    x = "sms" if len(set(figure["sms"].tolist())) > 1 else "n"
    share, points = {}, []
    for name in names:
        rows = figure.where(test=name)
        order = np.argsort(rows[x], kind="stable")
        points = rows[x][order].tolist()
        share[name] = rows["schedulable"][order]
    if len(points) < 2:
        raise ValueError(f"points: got {len(points)}, expected at least 2")
    lines = _of_sms(share, points) if x == "sms" else _of_tasks(share, points)
    columns = zip(*lines, strict=True)
    names = ["statement", "holds", "numbers"]
    table = {name: np.array(column) for name, column in zip(names, columns, strict=True)}
    return Results({"figure": np.full(len(lines), 5 if x == "sms" else 4), **table})


def _others(share: Mapping[str, Any]) -> dict[str, Any]:
    """Curves of locks and the server."""
    return {name: values for name, values in share.items() if not name.startswith("STGM")}


def _of_tasks(share: Mapping[str, Any], points: list[Any]) -> list[tuple[str, bool, str]]:
    growing = [name for name, values in share.items() if (np.diff(values) > 0).any()]
    stgm, mpcp = share["STGM suspend"], share["MPCP suspend"]
    behind = [name for name, values in _others(share).items() if (values > stgm).any()]
    gap = stgm - mpcp
    at = int(gap.argmax())
    relative = np.divide(gap, mpcp, out=np.full(len(gap), np.inf), where=mpcp > 0)
    least, most = (f"{value:.0%}" for value in (relative.min(), relative.max()))
    pairs = [
        (name, name.replace("suspend", "busy"))
        for name in share
        if name in ("STGM suspend", "MPCP suspend", "FMLP+ suspend")
        and name.replace("suspend", "busy") in share
    ]
    worse = [name for name, busy in pairs if (share[name] < share[busy]).any()]
    lower = {name: float((share[name] - share[busy]).min()) for name, busy in pairs}
    return [
        (
            "with more tasks fewer sets are schedulable, under every test",
            not growing,
            f"not under {', '.join(growing)}" if growing else f"{len(share)} tests",
        ),
        (
            "STGM suspend schedules at least as many sets as every lock and the server",
            not behind,
            f"not as many as {', '.join(behind)}" if behind else f"{len(_others(share))} others",
        ),
        (
            "STGM suspend schedules at most 73 % of the sets more than MPCP (between 68 and 78)",
            bool(0.68 <= gap[at] <= 0.78),
            f"at most {gap[at]:.1%} of the sets, with {points[at]:g} tasks; relative to MPCP "
            f"{least} to {most}",
        ),
        (
            "suspending schedules at least as many sets as busy-waiting, under STGM and the locks",
            not worse,
            ", ".join(f"{name} at least {gain:+.1%}" for name, gain in lower.items()),
        ),
    ]


def _of_sms(share: Mapping[str, Any], points: list[Any]) -> list[tuple[str, bool, str]]:
    stgm, server = share["STGM suspend"], share["GPU server"]
    others = _others(share)
    best = np.max(list(others.values()), axis=0)
    ranges = {name: float(values.max() - values.min()) for name, values in others.items()}
    widest = max(ranges, key=lambda name: ranges[name])
    first = [point for point, gap in zip(points, stgm - best, strict=True) if gap > 0]
    return [
        (
            "with one SM STGM schedules fewer sets than the server",
            bool(points[0] == 1 and stgm[0] < server[0]),
            f"with {points[0]}: STGM {stgm[0]:.1%}, server {server[0]:.1%}",
        ),
        (
            "with more SMs STGM schedules clearly more sets than all others",
            bool(stgm[-1] - best[-1] > 0.1 and (np.diff(stgm) >= 0).all()),
            f"with {points[-1]}: STGM {stgm[-1]:.1%}, best of the others {best[-1]:.1%}; ahead "
            + (f"from {first[0]} on" if first else "nowhere"),
        ),
        (
            f"locks and server stay level (their curves range over less than {_LEVEL:.0%})",
            ranges[widest] < _LEVEL,
            f"{widest} ranges over {ranges[widest]:.1%}; server {server[0]:.1%} to "
            f"{server[-1]:.1%}",
        ),
    ]
