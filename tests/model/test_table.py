"""BatchTable: contents, constructors, errors."""

from __future__ import annotations

import json
import os
import pickle
import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import gpusched as gs
from gpusched.model import batches
from gpusched.model.kernel_tasks import KernelTasks

# [RTNS24], Figure 1.
PAPER = {(0,): 1, (1,): 3, (2,): 3, (0, 1): 4, (0, 2): 4, (1, 2): 4, (0, 1, 2): 6}


def mixed_table() -> gs.BatchTable:
    """Orders that are not ascending, an ineligible batch and an undecided one."""
    order = [[-1] * 3, [0, -1, -1], [1, -1, -1], [1, 0, -1], [2, -1, -1], [-1] * 3, [-1] * 3]
    return gs.BatchTable([0, 5, 6, 9, 7, 0, 0, 12], [0, 0, 0, 0, 0, 11, 0, 0], [*order, [2, 0, 1]])


# What it holds -----------------------------------------------------------------------------------


def test_the_papers_table() -> None:
    table = gs.BatchTable(completion=[0, 1, 3, 4, 3, 4, 4, 6])
    assert table.n == 3 and not table.is_stack and len(table) == 8
    assert table.undecided is None and table.order is None
    assert table.completion.dtype == np.int64 and not table.completion.flags.writeable
    assert gs.BatchTable.from_dict(3, PAPER) == table
    assert table.batch_mask([0, 2]) == 5 and table.batch_mask(()) == 0
    assert table.members(5) == (0, 2) and table.members(0) == ()
    assert table.submission_order(6) == (1, 2)
    assert repr(table) == "<BatchTable: 3 tasks, 7 eligible batches>"


def test_the_array_is_copied() -> None:
    mine = np.array([0, 1, 3, 4])
    table = gs.BatchTable(mine)
    mine[3] = 0
    assert table.completion[3] == 4
    with pytest.raises(ValueError, match="read-only"):
        table.completion[3] = 0
    with pytest.raises(AttributeError):
        table.completion = mine  # type: ignore[misc]


def test_orders_and_undecided() -> None:
    table = mixed_table()
    assert table.order is not None and table.order.dtype == np.int8
    assert table.submission_order(3) == (1, 0)
    assert table.submission_order(7) == (2, 0, 1)
    assert table.submission_order(4) == (2,)
    assert repr(table) == "<BatchTable: 3 tasks, 5 eligible batches, 1 undecided>"
    for mask, text in ((5, r"\{0, 2\}"), (6, r"\{1, 2\}"), (0, r"\{\}")):
        with pytest.raises(ValueError, match=rf"mask: got batch {text}, expected an eligible one"):
            table.submission_order(mask)


def test_what_says_nothing_is_none() -> None:
    rows = [[-1, -1], [0, -1], [1, -1], [0, 1]]
    table = gs.BatchTable([0, 1, 3, 4], [0, 0, 0, 0], rows)
    assert table.order is None and table.undecided is None
    assert table == gs.BatchTable([0, 1, 3, 4])
    assert table != gs.BatchTable([0, 1, 3, 5]) and table != mixed_table() and table != 3


def test_stacks() -> None:
    stack = gs.BatchTable(
        [[0, 1, 3, 4], [0, 1, 3, 0], [0, 2, 2, 2]], [[0] * 4, [0, 0, 0, 9], [0] * 4]
    )
    assert stack.is_stack and len(stack) == 3 and stack.n == 2
    assert stack[0] == gs.BatchTable([0, 1, 3, 4])
    assert stack[1] == gs.BatchTable([0, 1, 3, 0], [0, 0, 0, 9])
    assert stack[-1] == stack[2] and len(stack[1:]) == 2 and stack[1:][0] == stack[1]
    assert [table.completion[3] for table in stack] == [4, 0, 2]
    assert repr(stack) == "<BatchTable: 3 sets of 2 tasks>"
    with pytest.raises(IndexError):
        stack[3]
    with pytest.raises(
        TypeError, match=r"tables: got a stack, expected one table, such as table\[i\]"
    ):
        stack.submission_order(3)
    with pytest.raises(TypeError, match="tables: got one table, expected a stack of tables to be"):
        stack[0][0]
    part = stack[0]
    assert part.completion.base is None and not part.completion.flags.writeable


@pytest.mark.parametrize("table", [gs.BatchTable.from_dict(3, PAPER), mixed_table()])
def test_pickle(table: gs.BatchTable) -> None:
    again = pickle.loads(pickle.dumps(table))
    assert again == table and not again.completion.flags.writeable
    stack = gs.BatchTable(np.stack([table.completion] * 2))
    assert pickle.loads(pickle.dumps(stack)) == stack


def test_frame() -> None:
    frame = mixed_table().to_frame()
    named = mixed_table().to_frame(["a", "b", "c"])["tasks"].tolist()
    assert named[2:4] == [("b", "a"), ("c",)]
    with pytest.raises(ValueError, match=r"^names: got 1, expected 3, one per task"):
        mixed_table().to_frame(["a"])
    assert frame["tasks"].tolist() == [(0,), (1,), (1, 0), (2,), (0, 2), (2, 0, 1)]
    assert frame["size"].tolist() == [1, 1, 2, 1, 2, 3]
    assert frame["completion"].tolist() == [5, 6, 9, 7, 11, 12]
    assert frame["undecided"].tolist() == [False] * 4 + [True, False]
    stack = gs.BatchTable([[0, 1, 3, 4], [0, 1, 3, 0]]).to_frame()
    assert stack["set"].tolist() == [0, 0, 0, 1, 1]
    assert stack["tasks"].tolist() == [(0,), (1,), (0, 1), (0,), (1,)]


def test_tuples_of_orders() -> None:
    """Orders of so many tasks that they do not fit one key of 64 bits; equal ones are one tuple."""
    rng = random.Random(6)
    for n in (1, 12, 13, 20):
        chosen = [rng.sample(range(n), rng.randint(1, n)) for _ in range(200)] * 2
        chosen += [list(range(n)), list(range(n))[::-1]]
        orders = np.array([order + [-1] * (n - len(order)) for order in chosen], np.int8)
        found = batches.order_tuples(orders)
        assert found.tolist() == [tuple(order) for order in chosen]
        assert all(found[i] is found[200 + i] for i in range(200))
        masks = np.array([sum(1 << task for task in order) for order in chosen])
        expected = [sorted(order) + [-1] * (n - len(order)) for order in chosen]
        assert batches.orders_by_index(masks, n).tolist() == expected
    assert batches.order_tuples(np.zeros((0, 3), np.int8)).tolist() == []


def test_frames_of_stacks() -> None:
    """The rows of a stack are those of its tables, also with orders and undecided batches."""
    pd = pytest.importorskip("pandas")
    rng = random.Random(5)
    for n in (1, 2, 3, 4):
        tables = [random_table(rng, n) for _ in range(5)]
        stack = gs.BatchTable(*stacked(tables))
        frames = [table.to_frame().assign(set=number) for number, table in enumerate(tables)]
        expected = pd.concat(frames, ignore_index=True)[list(stack.to_frame().columns)]
        pd.testing.assert_frame_equal(stack.to_frame(), expected)
        assert gs.BatchTable.from_frame(stack.to_frame()) == stack


def random_table(rng: random.Random, n: int) -> gs.BatchTable:
    batches = {(task,): rng.randint(1, 9) for task in range(n)}
    for _ in range(2**n):
        members = rng.sample(range(n), rng.randint(1, n))
        if len(members) > 1:
            batches[tuple(members)] = rng.randint(1, 9)
    table = gs.BatchTable.from_dict(n, batches)
    undecided = np.array([rng.choice([0, 7]) for _ in table.completion])
    undecided[(table.completion > 0) | (np.arange(2**n) == 0)] = 0
    return gs.BatchTable(table.completion, undecided, table.order)


def stacked(tables: list[gs.BatchTable]) -> tuple[Any, Any, Any]:
    n = tables[0].n
    full = np.array([[i if m >> i & 1 else -1 for i in range(n)] for m in range(2**n)], np.int8)
    full = np.sort(np.where(full < 0, n, full), axis=1)
    full[full == n] = -1
    completion = np.stack([table.completion for table in tables])
    undecided = np.stack([0 * t.completion if t.undecided is None else t.undecided for t in tables])
    order = np.stack(
        [
            np.where(t.completion[:, None] > 0, full, -1) if t.order is None else t.order
            for t in tables
        ]
    )
    return completion, undecided, order


def test_html_is_bounded() -> None:
    html = mixed_table()._repr_html_()
    assert "(2, 0, 1)" in html and "5 eligible batches, 1 undecided" in html
    many = gs.BatchTable(np.arange(1 << 12))._repr_html_()
    assert "and 4055 more" in many and len(many) < 4000
    assert "2 sets of 2 tasks" in gs.BatchTable([[0, 1, 3, 4]] * 2)._repr_html_()


# What it refuses ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "completion, error, message",
    [
        ([], ValueError, r"completion: got 0 entries, expected 2\*\*n for n tasks, one for"),
        ([0], ValueError, r"completion: got 1 entries, expected 2\*\*n for n tasks, one for"),
        ([0, 1, 1], ValueError, r"completion: got 3 entries, expected 2\*\*n for n tasks, one for"),
        (
            np.broadcast_to(1, 1 << 25),
            ValueError,
            "completion: got 33554432 entries, expected at most 24 tasks",
        ),
        (5, ValueError, "completion: got 0 dimensions, expected 1 or 2"),
        (np.ones((1, 1, 2)), ValueError, "completion: got 3 dimensions, expected 1 or 2"),
        (
            [0, 1, 1, 1, 1, -3, 1, 1],
            ValueError,
            r"completion\[\{0, 2\}\]: got -3, expected a non-negative number",
        ),
        (
            [[0, 1], [0, -1]],
            ValueError,
            r"set 1: completion\[\{0\}\]: got -1, expected a non-negative number",
        ),
        ([1, 1], ValueError, r"completion\[\{\}\]: got 1, expected 0 for the empty batch"),
        (
            [0, 1, 0, 1],
            ValueError,
            r"completion\[\{1\}\]: got 0, expected a positive number, as task 1",
        ),
        (
            [[0, 1, 1, 1], [0, 0, 1, 1]],
            ValueError,
            r"set 1: completion\[\{0\}\]: got 0, expected a positive number, as",
        ),
        ([0, 1, 1, np.nan], ValueError, r"completion\[3\]: got nan, expected a whole number"),
        ([0, 1, 1.5, 1], ValueError, r"completion\[2\]: got 1.5, expected a whole number"),
        (
            [0, 1, 2**63, 1],
            OverflowError,
            r"completion\[2\]: got 9223372036854775808, expected a number that fits",
        ),
        (
            [0, 1, 2**60 - 1, 1],
            OverflowError,
            r"completion\[\{1\}\]: got 1152921504606846975, expected less than",
        ),
        ([0, np.inf], ValueError, r"completion\[1\]: got inf, expected a whole number"),
        ([[0, 1], [0]], ValueError, "completion: "),
        (["a", "b"], TypeError, r"completion\[0\]: got 'a', expected a number"),
        ([0, None], TypeError, r"completion\[1\]: got None, expected a number"),
    ],
)
def test_completion_refused(completion: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        gs.BatchTable(completion)


def test_the_longest_time() -> None:
    assert gs.BatchTable([0, 2**60 - 2]).completion[1] == 2**60 - 2
    assert gs.BatchTable([0, 1.0, 2.0, 3.0]).completion.tolist() == [0, 1, 2, 3]


@pytest.mark.parametrize(
    "undecided, message",
    [
        ([0, 0, 0], r"undecided: got shape \(3,\), expected that of completion, \(4,\)"),
        ([0, 0, 0, 7], r"undecided\[\{0, 1\}\]: got 7, expected 0 as the batch is eligible"),
        ([0, 0, 0, -7], r"undecided\[\{0, 1\}\]: got -7, expected a non-negative number"),
        ([7, 0, 0, 0], r"undecided\[\{\}\]: got 7, expected 0 for the empty batch"),
        ([0, 0, 0, 0.5], r"undecided\[3\]: got 0.5, expected a whole number"),
    ],
)
def test_undecided_refused(undecided: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        gs.BatchTable([0, 1, 3, 4], undecided)


@pytest.mark.parametrize(
    "mask, row",
    [
        *((3, row) for row in ([0, 0], [0, -1], [-1, 0], [-1, -1], [0, 2], [-2, 1], [1, 127])),
        *((1, row) for row in ([1, -1], [-1, 0], [0, 1])),
        (0, [0, -1]),
        (2, [1, 1]),
    ],
)
def test_orders_refused(mask: int, row: list[int]) -> None:
    order = [[-1, -1], [0, -1], [1, -1], [1, 0]]
    assert gs.BatchTable([0, 1, 3, 4], order=order).submission_order(3) == (1, 0)
    order[mask] = row
    members = ", ".join(str(i) for i in range(2) if mask >> i & 1)
    with pytest.raises(ValueError, match=rf"order\[\{{{members}\}}\]: got "):
        gs.BatchTable([0, 1, 3, 4], order=order)
    with pytest.raises(ValueError, match=rf"set 1: order\[\{{{members}\}}\]: got "):
        gs.BatchTable([[0, 1, 3, 4]] * 2, order=[[[-1, -1], [0, -1], [1, -1], [1, 0]], order])


def test_orders_of_ineligible_batches_and_wrong_shapes_refused() -> None:
    order = [[-1, -1], [0, -1], [1, -1], [1, 0]]
    with pytest.raises(
        ValueError, match=r"order\[\{0, 1\}\]: got \[1, 0\], expected -1, as the batch is not"
    ):
        gs.BatchTable([0, 1, 3, 0], order=order)
    with pytest.raises(ValueError, match=r"order: got shape \(3, 2\), expected \(4, 2\)"):
        gs.BatchTable([0, 1, 3, 4], order=order[:3])
    with pytest.raises(ValueError, match=r"order\[\{0, 1\}\]: got \[257, 0\]"):  # not cut to 8 bits
        gs.BatchTable([0, 1, 3, 4], order=[*order[:3], [257, 0]])


def test_masks_and_members_refused() -> None:
    table = gs.BatchTable([0, 1, 3, 4])
    for mask in (-1, 4):
        for ask in (table.members, table.submission_order):
            with pytest.raises(ValueError, match=f"mask: got {mask}, expected a set of 2 tasks"):
                ask(mask)
    with pytest.raises(ValueError, match="members: got task 2, expected one from 0 to 1"):
        table.batch_mask([0, 2])
    with pytest.raises(TypeError, match=r"members: got 0.5, expected the index of a task"):
        table.batch_mask([0.5])  # type: ignore[list-item]


# From a dict -------------------------------------------------------------------------------------


def test_the_shortest_of_several_orders_is_kept() -> None:
    table = gs.BatchTable.from_dict(
        3,
        {
            (0,): 1,
            (1,): 3,
            (2,): 3,
            (0, 1): 9,
            (1, 0): 7,
            (2, 0): 8,
            (0, 2): 8,
            (1, 2): 0,
            (2, 1): 5,
            (2, 1, 0): 10,
            0b111: 11,
        },
    )
    assert table.completion.tolist() == [0, 1, 3, 7, 3, 8, 5, 10]
    orders = [table.submission_order(mask) for mask in (3, 5, 6, 7)]
    assert orders == [(1, 0), (2, 0), (2, 1), (2, 1, 0)]


def test_kinds_of_keys() -> None:
    plain = gs.BatchTable.from_dict(3, PAPER)
    masks = {sum(1 << i for i in key): time for key, time in PAPER.items()}
    assert gs.BatchTable.from_dict(3, masks) == plain
    assert gs.BatchTable.from_dict(3, {np.int64(k): v for k, v in masks.items()}) == plain
    assert gs.BatchTable.from_dict(3, {frozenset(k): float(v) for k, v in PAPER.items()}) == plain
    few = gs.BatchTable.from_dict(3, {1: 1, 2: 3, 4: 3})
    assert few.completion.tolist() == [0, 1, 3, 0, 3, 0, 0, 0]


@pytest.mark.parametrize(
    "n, batches, error, message",
    [
        (0, {}, ValueError, "n: got 0, expected at least one task"),
        (25, {}, ValueError, "n: got 25, expected at most 24 tasks"),
        (2, {}, ValueError, r"completion\[\{0\}\]: got 0, expected a positive number, as task 0"),
        (
            2,
            {(0,): 1, (0, 1): 2},
            ValueError,
            r"completion\[\{1\}\]: got 0, expected a positive number, as task 1",
        ),
        (2, {(0, 2): 1}, ValueError, r"batch \(0, 2\): got task 2, expected one from 0 to 1"),
        (2, {(-1,): 1}, ValueError, r"batch \(-1,\): got task -1, expected one from 0 to 1"),
        (2, {(0, 0): 1}, ValueError, r"batch \(0, 0\): got task 0 twice, expected it once"),
        (2, {(): 1}, ValueError, r"batch \(\): got no tasks, expected at least one"),
        (2, {0: 1}, ValueError, "batch 0: got no tasks, expected at least one"),
        (2, {4: 1}, ValueError, "batch 4: got 4, expected a bit mask of 2 tasks"),
        (2, {-1: 1}, ValueError, "batch -1: got -1, expected a bit mask of 2 tasks"),
        (2, {"01": 1}, TypeError, "batch '01': got text, expected a tuple of task indices or a"),
        (2, {1.5: 1}, TypeError, r"batch 1\.5: got float, expected a tuple of task indices or a"),
        (2, {(0.5,): 1}, TypeError, r"batch \(0\.5,\): got 0\.5, expected the index of a task"),
        (2, {(True,): 1}, ValueError, r"batch \(True,\): got task True, expected one from 0 to 1"),
        (
            2,
            {(0,): -1},
            ValueError,
            r"batch \(0,\): completion: got -1, expected a non-negative number",
        ),
        (2, {(0,): 1.5}, ValueError, r"batch \(0,\): completion: got 1.5, expected a whole number"),
        (
            2,
            {(0,): 2**64},
            OverflowError,
            r"batch \(0,\): completion: got 18446744073709551616, expected a",
        ),
        (
            2,
            {(0,): 2**60},
            OverflowError,
            r"batch \(0,\): completion: got 1152921504606846976, expected",
        ),
        (
            2,
            {(0,): [1, 2]},
            ValueError,
            r"batch \(0,\): completion: got shape \(2,\), expected one number",
        ),
        (2, {(0,): None}, TypeError, r"batch \(0,\): completion: got None, expected a number"),
        (2, {("a",): 1}, TypeError, r"batch \('a',\): got 'a', expected the index of a task"),
        (
            2,
            [1, 3],
            TypeError,
            r"batches: got list, expected a dict such as \{\(0,\): 1, \(1,\): 3,",
        ),
    ],
)
def test_dicts_refused(n: int, batches: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        gs.BatchTable.from_dict(n, batches)


def test_keys_may_have_the_names_of_tasks() -> None:
    tasks = KernelTasks(period=[4, 5, 10], wcet=1, name=["camera", "map", "map"])
    table = gs.BatchTable.from_dict(
        tasks, {("camera",): 1, 2: 3, (2,): 3, (1, "camera"): 4, frozenset(["camera", 2]): 5}
    )
    by_index = gs.BatchTable.from_dict(3, {(0,): 1, 2: 3, (2,): 3, (1, 0): 4, frozenset([0, 2]): 5})
    assert table == by_index
    with pytest.raises(
        ValueError, match=r"batch \('lidar', 0\): got 'lidar', expected one of camera, map,"
    ):
        gs.BatchTable.from_dict(tasks, {("lidar", 0): 1})
    with pytest.raises(
        ValueError, match=r"batch \('map',\): got 'map', the name of several tasks,"
    ):
        gs.BatchTable.from_dict(tasks, {("map",): 1})
    with pytest.raises(
        TypeError, match="batch 'camera': got text, expected a tuple of task indices or"
    ):
        gs.BatchTable.from_dict(tasks, {"camera": 1})


# Any table ---------------------------------------------------------------------------------------


@st.composite
def tables(draw: st.DrawFn) -> gs.BatchTable:
    """Tables of up to four tasks, with any orders, ineligible and undecided batches."""
    n = draw(st.integers(1, 4))
    completion, undecided = [0] * (1 << n), [0] * (1 << n)
    order = np.full((1 << n, n), -1)
    times = st.integers(1, 2**60 - 2)
    for mask in range(1, 1 << n):
        batch = [i for i in range(n) if mask >> i & 1]
        kind = "yes" if len(batch) == 1 else draw(st.sampled_from(["yes", "no", "unknown"]))
        if kind == "yes":
            completion[mask] = draw(times)
            order[mask, : len(batch)] = draw(st.permutations(batch))
        elif kind == "unknown":
            undecided[mask] = draw(times)
    return gs.BatchTable(completion, undecided, order)


@pytest.mark.long
@given(table=tables(), suffix=st.sampled_from(["json", "csv", "npz"]), named=st.booleans())
def test_round_trips(
    tmp_path_factory: pytest.TempPathFactory, table: gs.BatchTable, suffix: str, named: bool
) -> None:
    path = tmp_path_factory.getbasetemp() / f"table.{suffix}"
    names = [f"kernel {i}, «{'abcd'[i]}»" for i in range(table.n)] if named else None
    if suffix == "npz":
        table.save(path)
        assert gs.BatchTable.load(path) == table
    else:
        table.to_file(path, names)
        assert gs.BatchTable.from_file(path) == table
        assert gs.BatchTable.from_file(path, tasks=names or table.n) == table
    orders = {table.submission_order(m): int(c) for m, c in enumerate(table.completion) if c}
    decided = gs.BatchTable(table.completion, order=table.order)
    assert gs.BatchTable.from_dict(table.n, orders) == decided


# Saved tables ------------------------------------------------------------------------------------


def test_stacks_are_saved_without_loss(tmp_path: Path) -> None:
    tasks = gs.generate.gpusched(6, 2.0, count=20, seed=1)
    stack = gs.BatchTable.from_gpu(tasks, "pbs2024", "mixed", seed=1)
    stack.save(tmp_path / "stack")  # the name is taken as it is
    assert os.listdir(tmp_path) == ["stack"]
    again = gs.BatchTable.load(tmp_path / "stack")
    assert again == stack and again[3] == stack[3] and not again.completion.flags.writeable
    with pytest.raises(
        TypeError, match=r"table: got a stack, expected one of its tables, or use save\(\)"
    ):
        stack.to_file(tmp_path / "stack.csv")


def test_a_failed_save_leaves_the_old_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "table.npz"
    mixed_table().save(path)

    def break_down(*_: Any, **__: Any) -> None:
        raise RuntimeError("disk on fire")

    monkeypatch.setattr(np, "savez_compressed", break_down)
    with pytest.raises(RuntimeError, match="disk on fire"):
        gs.BatchTable([0, 1]).save(path)
    monkeypatch.undo()
    assert os.listdir(tmp_path) == ["table.npz"]
    assert gs.BatchTable.load(path) == mixed_table()
    with pytest.raises(FileNotFoundError):
        gs.BatchTable([0, 1]).save(tmp_path / "no" / "such" / "folder")


def test_files_that_are_no_saved_table(tmp_path: Path) -> None:
    path = tmp_path / "table.npz"
    mixed_table().save(path)
    content = path.read_bytes()
    truncated = [content[: len(content) * k // 8] for k in range(8)]
    damaged = content[:200] + bytes(16) + content[216:]
    for bad in (*truncated, damaged, b"not a table", b"\x93NUMPY\x01\x00"):
        path.write_bytes(bad)
        with pytest.raises(
            ValueError,
            match=r"table\.npz: got a file that cannot be read \(.*, expected a saved BatchTable$",
        ):
            gs.BatchTable.load(path)
    with path.open("wb") as file:
        np.savez(file, format=np.array("gpusched.BatchTable 1"), completion=np.array([0, 1, 0, 1]))
    with pytest.raises(ValueError, match=r"task 1 could never run, expected a saved BatchTable$"):
        gs.BatchTable.load(path)
    with path.open("wb") as file:
        np.savez(file, format=np.array("gpusched.BatchTable 9"), completion=np.array([0, 1]))
    with pytest.raises(
        ValueError, match=r"got a file with another format or version, expected a saved BatchTable$"
    ):
        gs.BatchTable.load(path)
    with path.open("wb") as file:
        np.savez(file, completion=np.array([0, 1]))
    with pytest.raises(ValueError, match=r"table.npz: got a file .* expected a saved BatchTable$"):
        gs.BatchTable.load(path)
    with path.open("wb") as file:  # never unpickled
        np.savez(
            file,
            format=np.array("gpusched.BatchTable 1"),
            completion=np.array([0, Trap()], dtype=object),
            allow_pickle=True,
        )
    with pytest.raises(ValueError, match=r"table.npz: got a file .* expected a saved BatchTable$"):
        gs.BatchTable.load(path)
    assert not Trap.sprung
    with pytest.raises(FileNotFoundError):
        gs.BatchTable.load(tmp_path / "nowhere")


class Trap:
    sprung = False

    def __reduce__(self) -> Any:
        return (setattr, (Trap, "sprung", True))


# Measured tables ---------------------------------------------------------------------------------

CSV = """\ufeffBatch, Completion ,eligible
detect,120,yes

track,90,
track;detect,180;175;184,1
detect;track,,no
"""

JSON = {
    "tasks": ["detect", "track"],
    "batches": [
        {"batch": ["detect"], "completion": 120},
        {"batch": [1], "completion": 90},
        {"batch": ["track", "detect"], "completion": [180, 175, 184], "eligible": True},
        {"batch": ["detect", "track"], "eligible": False},
    ],
}


@pytest.mark.parametrize("suffix", ["csv", "json", "CSV"])
def test_measurements(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"measured.{suffix}"
    path.write_text(json.dumps(JSON) if suffix == "json" else CSV, encoding="utf-8")
    for statistic, time in (("worst", 184), ("median", 180), ("mean", 180)):  # 179.67
        table = gs.BatchTable.from_file(path, statistic)
        assert table.completion.tolist() == [0, 120, 90, time]
        assert table.submission_order(3) == (1, 0)
    turned = gs.BatchTable.from_file(path, tasks=["track", "detect"])
    assert turned.completion.tolist() == [0, 90, 120, 184]
    assert turned.submission_order(3) == (0, 1)
    tasks = KernelTasks([10, 20], [1, 1], name=["detect", "track"])
    assert gs.BatchTable.from_file(path, tasks=tasks).completion.tolist() == [0, 120, 90, 184]
    with pytest.raises(
        ValueError, match="statistic: got 'best', expected one of worst, median, mean"
    ):
        gs.BatchTable.from_file(path, "best")


def test_statistics_round_up(tmp_path: Path) -> None:
    path = tmp_path / "m.csv"
    path.write_text("batch,completion\n0,1;2;4;9\n")
    times = [gs.BatchTable.from_file(path, s).completion[1] for s in ("worst", "median", "mean")]
    assert times == [9, 3, 4]
    path.write_text("batch,completion\n0,1;2\n")
    times = [gs.BatchTable.from_file(path, s).completion[1] for s in ("worst", "median", "mean")]
    assert times == [2, 2, 2]
    path.write_text(f"batch,completion\n0,{2**60 - 2};{2**60 - 2};{2**60 - 2}\n")
    times = [gs.BatchTable.from_file(path, s).completion[1] for s in ("worst", "median", "mean")]
    assert times == [2**60 - 2] * 3


def test_indices_and_several_orders(tmp_path: Path) -> None:
    path = tmp_path / "m.csv"
    path.write_text("completion,batch,eligible\n5,2,\n3,0,\n4,1,\n9,0;1,\n8,1;0,\n7,1;2,unknown\n")
    table = gs.BatchTable.from_file(path)
    assert table.completion.tolist() == [0, 3, 4, 8, 5, 0, 0, 0]
    assert table.submission_order(3) == (1, 0)
    assert table.undecided is not None and table.undecided[6] == 7
    # An eligible order settles what another left undecided.
    path.write_text("batch,completion,eligible\n0,3,\n1,4,\n0;1,9,unknown\n1;0,10,yes\n")
    table = gs.BatchTable.from_file(path)
    assert table.undecided is None and table.submission_order(3) == (1, 0)
    # A name that looks like an index is a name where names are given.
    path.write_text("batch,completion\n1,3\n0,4\n")
    assert gs.BatchTable.from_file(path, tasks=["1", "0"]).completion.tolist() == [0, 3, 4, 0]


@pytest.mark.parametrize(
    "text, error, message",
    [
        ("", ValueError, r"m\.csv: got an empty file, expected a table"),
        ("\n\n", ValueError, r"m\.csv: got an empty file, expected a table"),
        ("batch,completion\n", ValueError, r"m\.csv: got no batches, expected at least one"),
        (
            "0,1\n1,2\n",
            ValueError,
            r"m\.csv, row 1: got the column '0', expected batch, completion",
        ),
        ("batch,time\n0,1\n", ValueError, r"m\.csv, row 1: got the column 'time', expected batch,"),
        (
            "batch,batch,completion\n",
            ValueError,
            r"m\.csv, row 1: got the column 'batch', expected batch,",
        ),
        ("batch\n0\n", ValueError, r"m\.csv, row 1: got no column 'completion', expected one"),
        ("batch,completion\n0,1\n1\n", ValueError, r"m\.csv, row 3: got 1 cells, expected 2"),
        ("batch,completion\n0,1\n1,2,3\n", ValueError, r"m\.csv, row 3: got 3 cells, expected 2"),
        (
            "batch,completion\n0,1\n,2\n",
            ValueError,
            r"m\.csv, row 3: batch: got no task, expected at least one",
        ),
        (
            "batch,completion\n0,1\n0;,2\n",
            ValueError,
            r"m\.csv, row 3: batch: got no task, expected at least one",
        ),
        (
            "batch,completion\n0,1\n1,x\n",
            ValueError,
            r"m\.csv, row 3: completion: got 'x', expected a number",
        ),
        (
            "batch,completion\n0,1\n1,1;\n",
            ValueError,
            r"m\.csv, row 3: completion: got '', expected a number",
        ),
        (
            "batch,completion\n0,1\n1,-2\n",
            ValueError,
            r"m\.csv, row 3: completion: got -2, expected a non-negative",
        ),
        (
            "batch,completion\n0,1\n1,2.5\n",
            ValueError,
            r"m\.csv, row 3: completion: got 2\.5, expected a whole number of",
        ),
        (
            "batch,completion\n0,1\n1,nan\n",
            ValueError,
            r"m\.csv, row 3: completion: got nan, expected a whole number of",
        ),
        (
            "batch,completion\n0,1\n1,2;0\n",
            ValueError,
            "row 3: completion: got 0, expected a positive number",
        ),
        (
            "batch,completion\n0,1\n1,1e400\n",
            ValueError,
            r"m\.csv, row 3: completion: got inf, expected a whole number of",
        ),
        (
            "batch,completion\n0,1\n1,9999999999999999999\n",
            OverflowError,
            r"m\.csv, row 3: completion: got 9999999999999999999, expected a",
        ),
        (
            "batch,completion\n0,1\n1,2000000000000000000\n",
            OverflowError,
            r"m\.csv, row 3: completion: got 2000000000000000000, expected",
        ),
        (
            "batch,completion\n0,1\n0,2\n",
            ValueError,
            r"m\.csv, row 3: got a batch that is in row 2, expected several",
        ),
        (
            "batch,completion\n0,1\n1,1\n0;0,2\n",
            ValueError,
            r"m\.csv, row 4: got task '0' twice, expected it once",
        ),
        (
            "batch,completion\n0,1\n24,2\n",
            ValueError,
            r"m\.csv, row 3: got task 24, expected at most 24",
        ),
        (
            "batch,completion\n0,1\n2,2\n",
            ValueError,
            r"m\.csv: completion\[\{1\}\]: got 0, expected a positive number, as",
        ),
        (
            "batch,completion\n0,1\n1,0\n",
            ValueError,
            r"m\.csv: completion\[\{1\}\]: got 0, expected a positive number, as",
        ),
        (
            "batch,completion\na,1\na;b,2\n",
            ValueError,
            r"m\.csv, row 3: got the unknown task 'b', expected one of 'a'",
        ),
        (
            "batch,completion\na;b,2\n",
            ValueError,
            r"m\.csv, row 2: got the unknown task 'a', expected one of 0 to 0",
        ),
        (
            "batch,completion,eligible\n0,1,maybe\n",
            ValueError,
            r"m\.csv, row 2: eligible: got 'maybe', expected yes, no or",
        ),
        (
            "batch,completion,eligible\n0,,yes\n",
            ValueError,
            r"m\.csv, row 2: completion: got none, expected a time",
        ),
        (
            "batch,completion,eligible\n0,0,unknown\n",
            ValueError,
            r"m\.csv, row 2: completion: got none, expected a time",
        ),
        ('batch,completion\n0,1\n"1,2\n', ValueError, r"m\.csv, row 3: "),
        (
            b"batch,completion\n\xff\xfe,1\n",
            ValueError,
            r"m\.csv: got 'utf-8' codec can't decode byte 0xff in position",
        ),
        (b"batch,completion\n0\x00,1\n", ValueError, r"m\.csv, row 2: "),
    ],
)
def test_csv_refused(
    tmp_path: Path, text: str | bytes, error: type[Exception], message: str
) -> None:
    path = tmp_path / "m.csv"
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    with pytest.raises(error, match=message) as caught:
        gs.BatchTable.from_file(path)
    assert str(path) in str(caught.value)


ROWS = [{"batch": [0], "completion": 1}, {"batch": [1], "completion": 2}]


@pytest.mark.parametrize(
    "content, error, message",
    [
        ("", ValueError, r"m\.json: got "),
        ('{"batches": [', ValueError, r"m\.json: got "),
        ("[" * 100000, ValueError, r"m\.json: got "),
        ([], ValueError, r"m\.json: got other JSON, expected an object with a list"),
        ({"rows": []}, ValueError, r"m\.json: got other JSON, expected an object with a list"),
        ({"batches": []}, ValueError, r"m\.json: got no batches, expected at least one"),
        (
            {"batches": ROWS, "unit": "ns"},
            ValueError,
            r"m\.json: got 'unit', expected one of tasks, batches",
        ),
        ({"batches": [*ROWS, 5]}, ValueError, r"m\.json, batches\[2\]: got 5, expected an object"),
        (
            {"batches": [{"batch": [0], "time": 1}]},
            ValueError,
            r"m\.json, batches\[0\]: got 'time', expected one of batch,",
        ),
        ({"batches": [{"completion": 1}]}, ValueError, r"m\.json, batches\[0\]: batch: got "),
        ({"batches": [{"batch": 0}]}, ValueError, r"m\.json, batches\[0\]: batch: got "),
        (
            {"batches": [{"batch": [0.5]}]},
            ValueError,
            r"m\.json, batches\[0\]: batch: got 0\.5, expected a name or an",
        ),
        (
            {"batches": [{"batch": [True]}]},
            ValueError,
            r"m\.json, batches\[0\]: batch: got True, expected a name or an",
        ),
        (
            {"batches": [{"batch": []}]},
            ValueError,
            r"m\.json, batches\[0\]: batch: got no task, expected at least one",
        ),
        (
            {"batches": [{"batch": [-1], "completion": 1}]},
            ValueError,
            r"m\.json, batches\[0\]: got task -1, expected numbers from 0",
        ),
        (
            {"batches": [{"batch": [0], "completion": "1"}]},
            ValueError,
            r"m\.json, batches\[0\]: completion: got '1', expected a number",
        ),
        (
            {"batches": [{"batch": [0], "completion": [[1]]}]},
            ValueError,
            r"m\.json, batches\[0\]: completion: got \[1\], expected a number",
        ),
        (
            {"batches": [{"batch": [0], "completion": True}]},
            ValueError,
            r"m\.json, batches\[0\]: completion: got True, expected a number",
        ),
        (
            {"batches": [{"batch": [0], "completion": False}]},
            ValueError,
            r"m\.json, batches\[0\]: completion: got False, expected a number",
        ),
        (
            {"batches": [{"batch": [0], "completion": 1e30}]},
            OverflowError,
            r"m\.json, batches\[0\]: completion: got 1e\+30, expected a number",
        ),
        (
            {"batches": [{"batch": [0], "completion": 2**70}]},
            OverflowError,
            r"m\.json, batches\[0\]: completion: got 1180591620717411303424,",
        ),
        (
            '{"batches": [{"batch": [0], "completion": NaN}]}',
            ValueError,
            r"m\.json, batches\[0\]: completion: got nan, expected a whole",
        ),
        (
            {"batches": [{"batch": [0], "completion": 1, "eligible": 1}]},
            ValueError,
            r"m\.json, batches\[0\]: eligible: got 1, expected true, false or",
        ),
        (
            {"batches": [{"batch": [0], "completion": [], "eligible": True}]},
            ValueError,
            r"m\.json, batches\[0\]: completion: got none, expected a time",
        ),
        (
            {"tasks": ["a", "a"], "batches": ROWS},
            ValueError,
            r"m\.json: tasks: got the name 'a' twice, expected different",
        ),
        (
            {"tasks": ["a", 5], "batches": ROWS},
            ValueError,
            r"m\.json: tasks: got \['a', 5\], expected a task set or a list of",
        ),
        (
            {"tasks": 1, "batches": ROWS},
            ValueError,
            r"m\.json, batches\[1\]: got the unknown task 1, expected one of 0",
        ),
        (
            {"tasks": 3, "batches": ROWS},
            ValueError,
            r"m\.json: completion\[\{2\}\]: got 0, expected a positive number,",
        ),
        ({"tasks": 25, "batches": ROWS}, ValueError, r"m\.json: got 25 tasks, expected at most 24"),
        ({"tasks": True, "batches": ROWS}, ValueError, r"m\.json: tasks: got "),
        ({"tasks": "ab", "batches": ROWS}, ValueError, r"m\.json: tasks: got "),
        (
            {"tasks": [], "batches": ROWS},
            ValueError,
            r"m\.json: got 0 tasks, expected at least one",
        ),
    ],
)
def test_json_refused(tmp_path: Path, content: Any, error: type[Exception], message: str) -> None:
    path = tmp_path / "m.json"
    path.write_text(content if isinstance(content, str) else json.dumps(content))
    with pytest.raises(error, match=message) as caught:
        gs.BatchTable.from_file(path)
    assert str(path) in str(caught.value)


def test_names_that_do_not_go_together(tmp_path: Path) -> None:
    path = tmp_path / "m.json"
    path.write_text(json.dumps(JSON))
    with pytest.raises(
        ValueError, match=r"m\.json: got task '.*', expected it both here and in tasks"
    ):
        gs.BatchTable.from_file(path, tasks=["detect", "plan"])
    with pytest.raises(ValueError, match=r"m\.json: got 2 tasks, expected 3"):
        gs.BatchTable.from_file(path, tasks=3)
    with pytest.raises(
        TypeError, match="tasks: got 'detect', expected a task set or a list of names"
    ):
        gs.BatchTable.from_file(path, tasks="detect")
    with pytest.raises(ValueError, match="path: got"):
        gs.BatchTable.from_file(tmp_path / "m.txt")
    with pytest.raises(FileNotFoundError):
        gs.BatchTable.from_file(tmp_path / "nowhere.csv")


def test_writing_refuses(tmp_path: Path) -> None:
    table = mixed_table()
    with pytest.raises(ValueError, match="path: got"):
        table.to_file(tmp_path / "m.txt")
    with pytest.raises(ValueError, match="tasks: got 2 names, expected 3"):
        table.to_file(tmp_path / "m.csv", ["a", "b"])
    for name in ("a;b", "7", "", " a"):
        with pytest.raises(ValueError, match=f"tasks: got the name '{name}', expected one for CSV"):
            table.to_file(tmp_path / "m.csv", ["x", "y", name])
    assert os.listdir(tmp_path) == []
    table.to_file(tmp_path / "m.json", ["a;b", "7", "c"])
    assert gs.BatchTable.from_file(tmp_path / "m.json") == table
    assert os.listdir(tmp_path) == ["m.json"]


def test_the_written_csv(tmp_path: Path) -> None:
    mixed_table().to_file(tmp_path / "m.csv", ["a", "b", "c"])
    assert (tmp_path / "m.csv").read_text().splitlines() == [
        "batch,completion,eligible",
        "a,5,yes",
        "b,6,yes",
        "c,7,yes",
        "b;a,9,yes",
        "a;c,11,unknown",
        "c;a;b,12,yes",
    ]
