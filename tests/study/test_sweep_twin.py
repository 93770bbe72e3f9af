"""Sweeps by any chunks, workers, shards and stores against the twin in tests/reference/sweep.py."""

import itertools
import math
import tempfile

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from reference import sweep as twin

import gpusched as gs
from gpusched._support.arguments import spawn
from gpusched.study.points import seeds_of

pytestmark = pytest.mark.python

R = gs.reductions
REDUCTIONS = {
    "mean": R.Mean(),
    "share": R.Share(),
    "extremes": R.Extremes(),
    "median": R.Quantiles(0.5),
    "histogram": R.Histogram([-1.0, 0.5, 10.0]),
    "weighted": R.Weighted("weight"),
}
UNUSUAL = [0.0, 0.1, -0.1, 1e290, -1e290, 1e-300, 5e-324, 3.0, -1.0, 0.5, 10.0]
NUMBERS = st.sampled_from(["mean", "extremes", "median", "histogram", "weighted"])
VALUES = st.sampled_from([1, 2.5, -3, 10**20, "a", "b", True, None, (1, 2), np.float32(0.1)])


def study(*, count, first, seed, **point):
    """Values of a set by its number, the point's seed and parameters."""
    base = int(seed.generate_state(1)[0]) + sum(map(len, map(str, point.values())))
    draws = [np.random.default_rng((base, first + i)) for i in range(count)]
    return {
        "time": np.array([UNUSUAL[int(draw.integers(len(UNUSUAL)))] for draw in draws]),
        "met": np.array([draw.random() < 0.4 for draw in draws]),
        "weight": np.array([int(draw.integers(2**50)) for draw in draws]),
    }


@st.composite
def cases(draw):
    axes = draw(st.lists(st.lists(VALUES, min_size=1, max_size=3, unique=True), max_size=2))
    grid = {f"p{i}": values for i, values in enumerate(axes)}
    chosen = draw(st.lists(NUMBERS, unique=True, min_size=1))
    by = draw(st.none() | st.lists(st.sampled_from(list(grid)), unique=True) if grid else st.none())
    return (
        grid,
        draw(st.integers(1, 40)),
        {"time": chosen, "met": ["share"], "weight": ["mean"]},
        by,
    )


def check(table, rows, kept):
    for row, held in enumerate(kept):
        for name, values in table.values.items():
            assert values[row].tolist() == held[name]
    for row, expected in enumerate(rows):
        for name, value in expected.items():
            found = table.arrays[name][row] if name in table.arrays else table[name][row]
            if isinstance(value, list):
                assert found.tolist() == value
            elif name.endswith(("_low", "_high")):
                assert math.isclose(found, value, rel_tol=1e-12, abs_tol=1e-12)
            elif name.endswith("_p50"):
                assert math.isclose(found, value, rel_tol=2**-8, abs_tol=1e-320)
            else:
                assert found == value or (found != found and value != value)


@pytest.mark.long
@settings(max_examples=15)
@given(cases(), st.data())
def test_sweeps_equal_their_twin(case, data):
    grid, count, reduce, by = case
    points = [dict(zip(grid, one, strict=True)) for one in itertools.product(*grid.values())]
    seeds = seeds_of(spawn(7), points, grid if by is None else by)
    expected = twin.sweep(study, points, seeds, count, reduce)
    options = {
        "count": count,
        "seed": 7,
        "seed_by": by,
        "progress": False,
        "reduce": {name: [REDUCTIONS[one] for one in chosen] for name, chosen in reduce.items()},
        "keep": data.draw(st.booleans()),
    }

    def how():
        chunk = data.draw(st.none() | st.integers(1, 50))
        return {"chunk": chunk, "workers": data.draw(st.integers(1, 3))}

    table = gs.sweep(study, grid, **options, **how())
    check(table, *expected)
    with tempfile.TemporaryDirectory() as folder:
        parts = data.draw(st.integers(1, 3))
        fewer = options | {"count": data.draw(st.integers(1, count))}
        for part in range(parts):
            store = {"store": f"{folder}/{part}", "shard": (part, parts)}
            if data.draw(st.booleans()):  # begun with fewer sets
                gs.sweep(study, grid, **fewer, **how(), **store)
            gs.sweep(study, grid, **options, **how(), **store)
        stores = [f"{folder}/{part}" for part in data.draw(st.permutations(range(parts)))]
        merged = gs.merge(stores, f"{folder}/all")
        check(gs.sweep(study, grid, **options, **how(), store=f"{folder}/all"), *expected)
        if not merged.missing:
            rows = [dict(itertools.islice(row.items(), len(grid), None)) for row in expected[0]]
            check(merged.table(), rows, expected[1])
