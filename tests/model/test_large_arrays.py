"""Large arrays in pieces: the same numbers, errors and entries as at once."""

from __future__ import annotations

import numpy as np
import pytest

import gpusched as gs
from gpusched import _core
from gpusched._support import arguments
from gpusched._support.arguments import copied, first_where, joined, parts, spread

SHAPES = [(), (0,), (5,), (64,), (7, 9), (2, 40), (1, 100), (3, 4, 30), (4, 0, 3)]

pytestmark = pytest.mark.python


@pytest.fixture(autouse=True)
def _small_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(arguments, "PIECE", 16)
    monkeypatch.setattr(arguments, "_LONG", 8)


@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_pieces_make_up_the_array(shape: tuple[int, ...]) -> None:
    seen = np.zeros(shape, int)
    for part in parts(shape):
        assert seen[part].size <= 16
        seen[part] += 1
    assert (seen == 1).all()
    array = np.arange(seen.size).reshape(shape)
    for source in (array, np.asfortranarray(array), array.astype(np.int32), array.T.copy().T):
        made = copied(source, np.int64)
        assert np.array_equal(made, source) and made.dtype == np.int64
        assert made.flags.c_contiguous and not np.shares_memory(made, source)
    for at in range(0, array.size, 5):
        expected = tuple(int(i) for i in np.argwhere(array >= at)[0])
        assert first_where(array, lambda part: part >= at) == expected  # noqa: B023
    assert first_where(array, lambda part: part < 0) is None


def test_broadcast_and_joined_arrays() -> None:
    row = np.arange(20)
    wide = spread(row, (30, 20))
    assert np.array_equal(wide, np.broadcast_to(row, (30, 20))) and wide.flags.c_contiguous
    assert spread(wide, wide.shape) is wide
    with pytest.raises(ValueError):
        spread(row, (30, 21))
    assert np.array_equal(joined([wide, wide[:3]]), np.concatenate([wide, wide[:3]]))
    with pytest.raises(ValueError):
        joined([wide, row])


def test_long_lists() -> None:
    assert gs.KernelTasks(period=list(range(1, 100)), wcet=1).period.tolist() == [*range(1, 100)]
    rows = [[i + 1, i + 2, 2**62 + 1] for i in range(50)]
    assert gs.KernelTasks(period=rows, wcet=1).period.tolist() == rows
    mixed = [4.0, *range(1, 40), 2**53 + 1]  # a float would lose digits
    assert gs.KernelTasks(period=mixed, wcet=1).period[-1] == 2**53 + 1
    for wrong, text in ((0, "a positive number"), (2.5, "whole"), ("a", "a number")):
        values = [*range(1, 31), wrong, *range(1, 9)]
        with pytest.raises((ValueError, TypeError), match=rf"^period\[30\]: got .*{text}"):
            gs.KernelTasks(period=values, wcet=1)
    with pytest.raises(OverflowError, match=r"^period\[12, 1\]"):
        gs.KernelTasks(period=[[1, 2]] * 12 + [[1, 2**63]], wcet=1)
    with pytest.raises(ValueError, match="rows of one length"):
        gs.KernelTasks(period=[[1, 2]] * 12 + [[1]], wcet=1)


@pytest.mark.long
@pytest.mark.parametrize("kind", ["plain", "strided", "backwards", "narrow", "swapped"])
def test_large_arrays_of_the_module(kind: str) -> None:
    # Above the size from which the C module copies in pieces. A set of one task has the sum.
    sums = np.arange(5_000_001) / 2**24
    given = {
        "plain": sums,
        "strided": np.repeat(sums, 2)[::2],
        "backwards": sums[::-1].copy()[::-1],
        "narrow": sums.astype(np.float32),
        "swapped": sums.astype(">f8"),
    }[kind]
    key = np.zeros(4, np.uint64)
    shares = _core.generate_uunifast(key, n=1, utilization=given, first=0, discard=True)
    assert np.array_equal(shares[:, 0], given)
