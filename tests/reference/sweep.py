"""Sweep of a function over points, one task set per call, reduced with exact fractions.

Twin of gs.sweep: no chunks, workers, stores or shards, and every reduction by its definition.
"""

import math
from fractions import Fraction


def _mean(name, values, _):
    return {name: float(sum(map(Fraction, values)) / len(values))}


def _share(name, values, _):
    share, z, n = values.count(1) / len(values), 1.959963984540054, len(values)
    middle = (share + z * z / (2 * n)) / (1 + z * z / n)
    half = z * math.sqrt(share * (1 - share) / n + z * z / (4 * n * n)) / (1 + z * z / n)
    return {name: share, f"{name}_low": middle - half, f"{name}_high": middle + half}


def _extremes(name, values, _):
    return {f"{name}_min": min(values), f"{name}_max": max(values)}


def _median(name, values, _):
    return {f"{name}_p50": sorted(values)[math.ceil(len(values) / 2) - 1]}


def _histogram(name, values, _):
    edges = [-math.inf, -1.0, 0.5, 10.0, math.inf]
    bins = [(edges[i], edges[i + 1]) for i in range(4)]
    return {f"{name}_counts": [sum(low <= v < high for v in values) for low, high in bins]}


def _weighted(name, values, others):
    weights = others["weight"]
    total = sum(Fraction(float(v) * float(w)) for v, w in zip(values, weights, strict=True))
    over = sum(map(Fraction, weights))
    return {f"{name}_weighted": float(total / over) if over else math.nan}


REDUCTIONS = {
    "mean": _mean,
    "share": _share,
    "extremes": _extremes,
    "median": _median,
    "histogram": _histogram,
    "weighted": _weighted,
}


def sweep(function, points, seeds, count, reduce):
    """Rows of the table and the values of all sets; ``reduce``: names of reductions by quantity."""
    rows, kept = [], []
    for point, seed in zip(points, seeds, strict=True):
        sets = [function(count=1, first=i, seed=seed, **point) for i in range(count)]
        values = {name: [one[name].tolist()[0] for one in sets] for name in sets[0]}
        row = {**point, "count": count}
        for name, chosen in reduce.items():
            for one in chosen:
                row |= REDUCTIONS[one](name, values[name], values)
        rows.append(row)
        kept.append(values)
    return rows, kept
