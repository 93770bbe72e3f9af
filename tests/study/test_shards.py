"""Shards and merging, and sampling until an interval is narrow."""

import itertools
import os

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import gpusched as gs
from gpusched._support.arguments import spawn
from gpusched._support.results import wilson
from gpusched.study.point_results import Coverage, rounds

pytestmark = pytest.mark.python

GRID = {"level": [0.1, 0.5, 0.9], "kind": ["x", "y"]}
OPTIONS = {"seed": 7, "progress": False, "key": "draws"}
REDUCE = {"share": [gs.reductions.Mean(), gs.reductions.Quantiles(0.5)]}


def draws(*, level, kind, count, first, seed):
    u = np.array([np.random.default_rng(spawn(seed, first + i)).random() for i in range(count)])
    return {"share": u, "below": u < level}


def unused(**_):
    raise AssertionError("everything was in the store")


@pytest.mark.long
@pytest.mark.parametrize("keep", [False, True])
@pytest.mark.parametrize("parts", [1, 2, 7, 64])
def test_shards_in_any_order_give_the_table_of_one(tmp_path, parts, keep):
    options = {"count": 50, "keep": keep, "reduce": REDUCE, **OPTIONS}
    whole = gs.sweep(draws, GRID, **options)
    order = np.random.default_rng(parts).permutation(parts)
    for part in order.tolist():
        study = gs.sweep(draws, GRID, store=tmp_path / f"{part}", shard=(part, parts), **options)
        assert isinstance(study, gs.StoredStudy)
        assert study.complete == (parts == 1)
    stores = [tmp_path / f"{part}" for part in range(parts)]
    for chosen in (stores, stores[::-1]):
        merged = gs.merge(chosen)
        assert merged.complete and merged.table() == whole
    output = tmp_path / "all"
    assert gs.merge(itertools.chain(stores[1:], stores), output).table() == whole
    assert gs.sweep(unused, GRID, store=output, **options) == whole
    assert sum(gs.open_store(output).sets) == 300
    if parts > 1:
        partly = gs.merge(stores[:-1])
        lacking = sum(size for _, _, size in partly.missing)
        assert lacking == sum(gs.open_store(stores[-1]).sets) == 300 - sum(partly.sets) > 0


def test_shards_of_a_count_that_grew(tmp_path):
    small, large = ({"count": count, **OPTIONS} for count in (20, 31))
    for part in range(3):
        gs.sweep(draws, GRID, store=tmp_path / f"{part}", shard=(part, 3), **small)
        gs.sweep(draws, GRID, store=tmp_path / f"{part}", shard=(part, 3), **large)
    merged = gs.merge([tmp_path / f"{part}" for part in range(3)], tmp_path / "all")
    table = gs.sweep(draws, GRID, store=tmp_path / "all", **large)
    assert table == gs.sweep(draws, GRID, **large)
    assert merged.count == 31


def test_grids_that_are_merged(tmp_path):
    options = {"count": 5, **OPTIONS}
    for name, levels in (("a", [0.5, 0.1]), ("b", [0.9, 0.5])):
        gs.sweep(draws, {"level": levels, "kind": ["y", "x"]}, store=tmp_path / name, **options)
    expected = gs.sweep(draws, {"level": [0.1, 0.5, 0.9], "kind": ["y", "x"]}, **options)
    for order in (["a", "b"], ["b", "a"]):
        assert gs.merge([tmp_path / name for name in order]).table() == expected


def test_stores_that_do_not_belong_together(tmp_path):
    options = {"count": 5, **OPTIONS}
    gs.sweep(draws, GRID, store=tmp_path / "a", **options)
    gs.sweep(draws, GRID, store=tmp_path / "b", **options | {"seed": 8})

    def random(*, level, kind, count, first, seed):
        return {**draws(level=1 - level, kind=kind, count=count, first=first, seed=seed)}

    gs.sweep(random, GRID, store=tmp_path / "c", **options)
    with pytest.raises(gs.StoreError, match="b: got another study: seed is"):
        gs.merge([tmp_path / "a", tmp_path / "b"])
    with pytest.raises(gs.StoreError, match=r"c: got other results .*: the function does not depe"):
        gs.merge([tmp_path / "a", tmp_path / "c"], tmp_path / "out")
    (tmp_path / "e").write_bytes((tmp_path / "a").read_bytes()[:-1000])
    with pytest.raises(gs.StoreError, match="e: "):
        gs.merge([tmp_path / "a", tmp_path / "e"], tmp_path / "out")
    with pytest.raises(FileExistsError, match="got a file, expected a new name"):
        gs.merge([tmp_path / "a"], tmp_path / "b")
    with pytest.raises(ValueError, match="stores: got no store, expected at least one"):
        gs.merge([])
    with pytest.raises(TypeError, match=r"stores: got .*, expected a list of paths"):
        gs.merge(tmp_path / "a")
    assert sorted(os.listdir(tmp_path)) == ["a", "b", "c", "e"]


def test_a_failed_merge_leaves_no_file(tmp_path, monkeypatch):
    gs.sweep(draws, GRID, count=5, store=tmp_path / "a", **OPTIONS)

    def full(*_):
        raise OSError("no space left")

    monkeypatch.setattr("gpusched.study.store.Store._row", full)
    with pytest.raises(OSError, match="no space left"):
        gs.merge([tmp_path / "a"], tmp_path / "out")
    assert os.listdir(tmp_path) == ["a"]


@pytest.mark.parametrize(
    ("shard", "message"),
    [
        ((3, 3), r"shard: got \(3, 3\), expected \(i, k\) with i from 0 to k - 1"),
        ((-1, 3), r"shard: got \(-1, 3\), expected"),
        (2, "shard: got 2, expected"),
        ((0, 1, 2), "shard: got"),
        ((0.5, 2), "shard: got"),
    ],
)
def test_shards_that_are_refused(tmp_path, shard, message):
    with pytest.raises(ValueError, match=message):
        gs.sweep(draws, GRID, count=5, store=tmp_path / "a", shard=shard, **OPTIONS)
    with pytest.raises(ValueError, match="store: got None, expected a file for the results of the"):
        gs.sweep(draws, GRID, count=5, shard=(0, 2), **OPTIONS)


# Sampling until an interval is narrow ------------------------------------------------------------


def by_hand(level, width, count, looks):
    """The first look at which the interval is narrow."""
    u = np.array(
        [np.random.default_rng(spawn(SEEDS[level], i)).random() < level for i in range(count)]
    )
    for at in looks:
        low, high = wilson(u[:at].sum(), at)
        if high - low <= width:
            return at
    return count


SEEDS: dict[float, np.random.SeedSequence] = {}


def noted(*, level, count, first, seed):
    SEEDS[level] = seed
    return draws(level=level, kind="x", count=count, first=first, seed=seed)


def test_sampling_ends_at_the_first_look_with_a_narrow_interval(tmp_path):
    stop = gs.Width(0.12)
    options = {"count": 500, "seed": 3, "progress": False, "stop": stop}
    grid = {"level": [0.02, 0.5, 0.9]}
    table = gs.sweep(noted, grid, **options)
    looks = list(rounds(stop, 500))
    assert looks[:4] == [100, 125, 157, 197] and looks[-1] == 500
    assert table["count"].tolist() == [by_hand(level, 0.12, 500, looks) for level in grid["level"]]
    width = table["below_high"] - table["below_low"]
    assert (width <= 0.12).all() and len(set(table["count"].tolist())) > 1
    for changed in ({"chunk": 9}, {"workers": 4, "chunk": 33}):
        assert gs.sweep(noted, grid, **options, **changed) == table
    # In a store, resumed from half of it, and in shards by points.
    store = tmp_path / "s"
    gs.sweep(noted, grid, store=store, key="n", **options | {"count": 150})
    assert gs.sweep(noted, grid, store=store, key="n", **options) == table
    assert gs.open_store(store).table() == table
    for part in range(2):
        gs.sweep(noted, grid, store=tmp_path / f"{part}", shard=(part, 2), key="n", **options)
    merged = gs.merge([tmp_path / "1", tmp_path / "0"])
    assert merged.complete and merged.table() == table


def test_sampling_ends_at_the_count():
    options = {"count": 130, "seed": 3, "progress": False}
    table = gs.sweep(noted, {"level": [0.5]}, stop=gs.Width(0.01), **options)
    assert table["count"].tolist() == [130]
    assert table == gs.sweep(noted, {"level": [0.5]}, **options)


def test_one_quantity_may_decide():
    def study(*, count, first, seed):
        i = np.arange(first, first + count)
        return {"rare": i % 50 == 0, "half": i % 2 == 0, "other": i / 2}

    options = {"count": 10**4, "seed": 1, "progress": False}
    counts = {
        name: gs.sweep(study, {}, stop=gs.Width(0.1, name), **options)["count"][0]
        for name in ("rare", "half")
    }
    assert counts["rare"] < counts["half"]
    both = gs.sweep(study, {}, stop=gs.Width(0.1), **options)["count"][0]
    assert both == counts["half"]
    for name in ("other", "none"):
        with pytest.raises(gs.SweepError, match=f"stop: got a width for '{name}', expected a quan"):
            gs.sweep(study, {}, stop=gs.Width(0.1, name), **options)
    with pytest.raises(ValueError, match="keep: got True with stop, expected one of them"):
        gs.sweep(study, {}, stop=gs.Width(0.1), keep=True, **options)


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ((0,), ValueError, "width: got 0.*, expected more than 0, less than 1"),
        ((1.5,), ValueError, r"width: got 1\.5, expected more than 0, less than 1"),
        (("x",), TypeError, "width: got 'x', expected a number"),
        ((0.1, None, 0), ValueError, "first: got 0, expected at least 1"),
    ],
)
def test_widths_that_are_refused(arguments, error, message):
    with pytest.raises(error, match=message):
        gs.Width(*arguments)


def test_merging_compares_kept_values(tmp_path):
    """The same states, made of other values, are other results."""
    for part, step in enumerate((1, -1)):
        gs.sweep(
            lambda *, x, count, first, seed, step=step: {"v": np.arange(count)[::step]},
            {"x": [1]},
            count=8,
            chunk=8,
            keep=True,
            spot_check=False,
            store=tmp_path / f"{part}",
            **OPTIONS,
        )
    with pytest.raises(gs.StoreError, match="got other results than"):
        gs.merge([tmp_path / "0", tmp_path / "1"])
    assert gs.merge([tmp_path / "0", tmp_path / "0"]).complete


class Nowhere(gs.reductions.Reduction):
    """A reduction with NaN in its states."""

    def reduce(self, values, others):
        return [float("nan")]

    def join(self, one, other):
        return one

    def columns(self, name, state):
        return {name: state[0]}


def test_merging_a_store_with_itself(tmp_path):
    options = {"count": 4, "reduce": {"share": Nowhere()}, **OPTIONS}
    gs.sweep(draws, GRID, store=tmp_path / "a", **options)
    assert gs.merge([tmp_path / "a", tmp_path / "a"], tmp_path / "b").complete
    with pytest.raises(FileExistsError, match="expected a new name"):
        gs.merge([tmp_path / "a", tmp_path / "b"], tmp_path / "a")


@given(st.lists(st.integers(0, 30), unique=True))
def test_coverage(ones):
    coverage, done = Coverage(), set()
    for one in ones:
        coverage.add(one, 1)
        done.add(one)
        for first, end in ((0, 31), (one, 31), (5, 12), (one + 1, one + 1)):
            left = [n for first, end in coverage.gaps(first, end) for n in range(first, end)]
            assert left == [n for n in range(first, end) if n not in done]
            assert all(low < high for low, high in coverage.gaps(first, end))
    assert coverage.count == len(ones)
