"""Arrow data of tables: the structures against a consumer in ctypes, ownership, refusals."""

from __future__ import annotations

import gc
import os
import subprocess
import sys
import threading
import weakref
from typing import Any

import arrow_consumer as consumer
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpusched import _core
from gpusched._support.results import Results
from gpusched._support.tabular import Coded, Tabular

NUMBERS = ("int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64")
FLOATS = ("float32", "float64")


class Columns(Tabular):
    """A table of any columns."""

    def __init__(self, **columns: Any) -> None:
        self.columns = columns

    def _table(self) -> dict[str, Any]:
        return self.columns


def plain(column: Any) -> list[Any]:
    """The entries of a column as Python's own values, None for missing ones."""
    if isinstance(column, Coded):
        return [column.words[code] for code in column.codes.tolist()]
    values: list[Any] = column.tolist() if isinstance(column, np.ndarray) else list(column)
    return values


@st.composite
def columns_of(draw: st.DrawFn, rows: int) -> Any:
    """A column of any kind."""
    several = {"min_size": rows, "max_size": rows}
    kind = draw(st.sampled_from(["number", "float", "bool", "text", "U", "tuple", "pair", "coded"]))
    if kind == "coded":
        codes = draw(st.lists(st.integers(0, 2), **several))
        return Coded(np.array(codes, np.int8), ("no", "", "yés"))
    words = st.text(st.characters(exclude_categories=["Cs"]), max_size=4)
    if kind in ("text", "tuple", "pair"):
        numbers = st.lists(st.integers(-(2**63), 2**63 - 1), max_size=3).map(tuple)
        pairs = st.lists(st.tuples(words, words), min_size=1, max_size=2).map(tuple)
        entry = {"text": words, "tuple": numbers, "pair": pairs}[kind]
        return draw(st.lists(st.none() | entry, **several))
    if kind == "U":
        return np.array(draw(st.lists(words.map(lambda w: w.rstrip("\0")), **several)), np.str_)
    if kind == "bool":
        values = np.array(draw(st.lists(st.booleans(), **several)), np.bool_)
    elif kind == "float":
        held = draw(st.lists(st.floats(allow_nan=False, width=32), **several))
        values = np.array(held, draw(st.sampled_from(FLOATS)))
    else:
        dtype = np.dtype(draw(st.sampled_from(NUMBERS)))
        limits = np.iinfo(dtype)
        held = draw(st.lists(st.integers(int(limits.min), int(limits.max)), **several))
        values = np.array(held, dtype)
    step = draw(st.sampled_from([1, 2, -1]))
    values = np.repeat(values, 2)[::2] if step == 2 else values[::-1][::-1] if step < 0 else values
    if draw(st.booleans()):
        values = values.astype(values.dtype.newbyteorder())
    if draw(st.booleans()):
        mask = draw(st.lists(st.booleans(), **several))
        return np.ma.array(values, mask=np.array(mask, np.bool_))
    return values


@given(data=st.data(), rows=st.integers(0, 20))
def test_a_consumer_reads_what_is_there(data: st.DataObject, rows: int) -> None:
    columns = data.draw(st.dictionaries(st.text("abcé ", max_size=3), columns_of(rows), max_size=4))
    held = Columns(**{})
    held.columns = columns
    assert consumer.table(held) == {name: plain(column) for name, column in columns.items()}
    first, second = held.__arrow_c_array__()
    schema = consumer.from_capsule(first, consumer.Schema)
    array = consumer.from_capsule(second, consumer.Array)
    found = consumer.entries(schema, array)
    assert found == [
        dict(zip(columns, row, strict=True))
        for row in zip(*map(plain, columns.values()), strict=True)
    ]


def test_numbers_are_not_copied() -> None:
    values = np.arange(100.0)
    masked = np.ma.array(np.arange(100), mask=np.arange(100) % 7 == 0)
    first, second = Columns(a=values, b=masked).__arrow_c_array__()
    array = consumer.from_capsule(second, consumer.Array)
    places = [array.children[i].contents.buffers[1] for i in range(2)]
    assert places == [values.ctypes.data, masked.data.ctypes.data]
    assert array.children[0].contents.buffers[0] is None  # no value is missing
    del first


# Ownership


def exported() -> tuple[Any, Any]:
    """A table, and a weak reference to the array in it."""
    values = np.arange(1000)
    return Columns(a=values, b=["x"] * 1000, c=[(1, 2)] * 1000), weakref.ref(values)


@pytest.mark.long
@pytest.mark.parametrize("how", ["schema", "array", "stream"])
def test_what_is_not_consumed_dies_with_its_capsule(how: str) -> None:
    held, alive = exported()
    capsule = getattr(held, f"__arrow_c_{how}__")()
    del held
    gc.collect()
    assert (alive() is None) == (how == "schema")
    del capsule
    gc.collect()
    assert alive() is None


@pytest.mark.long
@pytest.mark.parametrize("stage", ["schema read", "array read", "moved", "moved and read"])
def test_an_abandoned_stream_frees_everything(stage: str) -> None:
    held, alive = exported()
    capsule = held.__arrow_c_stream__()
    stream = consumer.from_capsule(capsule, consumer.Stream)
    del held
    if stage.startswith("moved"):
        stream = consumer.moved(stream)
        del capsule
        gc.collect()
    assert alive() is not None
    if "read" in stage:
        consumer.release(consumer.schema_of(stream))
    if stage in ("array read", "moved and read"):
        array = consumer.next_of(stream)
        consumer.release(stream)
        assert alive() is not None and array.children[0].contents.buffers[1] is not None
        consumer.release(array)
    elif stage == "moved":
        consumer.release(stream)
    else:
        del capsule
    gc.collect()
    assert alive() is None


@pytest.mark.long
def test_an_array_outlives_its_object_and_its_capsules() -> None:
    held, alive = exported()
    first, second = held.__arrow_c_array__()
    schema = consumer.moved(consumer.from_capsule(first, consumer.Schema))
    array = consumer.moved(consumer.from_capsule(second, consumer.Array))
    del held, first, second
    gc.collect()
    rows = consumer.entries(schema, array)
    assert rows[999] == {"a": 999, "b": "x", "c": (1, 2)}
    consumer.release(schema)
    consumer.release(array)
    assert alive() is None


@pytest.mark.long
def test_releasing_twice_does_nothing_more() -> None:
    held, alive = exported()
    capsules = (held.__arrow_c_stream__(), *held.__arrow_c_array__())
    del held
    kinds = (consumer.Stream, consumer.Schema, consumer.Array)
    for capsule, kind in zip(capsules, kinds, strict=True):
        structure = consumer.from_capsule(capsule, kind)
        call = structure.release
        target = consumer.moved(structure)
        consumer.release(structure, call=call)  # what was moved
        consumer.release(target)
        assert target.release is None
        consumer.release(target, call=call)
    del capsules, capsule
    gc.collect()
    assert alive() is None


@pytest.mark.long
def test_a_child_that_was_moved_outlives_the_others() -> None:
    held, alive = exported()
    first, second = held.__arrow_c_array__()
    schema = consumer.from_capsule(first, consumer.Schema)
    array = consumer.from_capsule(second, consumer.Array)
    parts = [consumer.moved(one.children[0].contents) for one in (schema, array)]
    lists = [consumer.moved(one.children[2].contents) for one in (schema, array)]
    items = [consumer.moved(one.children[0].contents) for one in lists]
    del held, first, second
    gc.collect()
    assert consumer.entries(*parts) == list(range(1000))
    for one in (*lists, *parts):
        consumer.release(one)
    assert alive() is None
    assert consumer.entries(*items) == [1, 2] * 1000
    for one in items:
        consumer.release(one)


def test_threads_release_without_the_lock() -> None:
    held, alive = exported()
    structures = []
    for _ in range(64):
        capsule = held.__arrow_c_stream__()
        structures.append(consumer.moved(consumer.from_capsule(capsule, consumer.Stream)))
    del held, capsule

    def work(first: int) -> None:
        for stream in structures[first::8]:
            array = consumer.next_of(stream)
            consumer.release(consumer.schema_of(stream))
            consumer.release(stream)
            consumer.release(array)

    threads = [threading.Thread(target=work, args=(i,)) for i in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert alive() is None


@pytest.mark.long
@pytest.mark.skipif(not os.path.exists("/proc/self/statm"), reason="needs /proc")
@pytest.mark.skipif(bool(os.environ.get("GPUSCHED_SANITIZE")), reason="freed memory is kept")
def test_memory_does_not_grow() -> None:
    held = Columns(**{f"column {i}": np.arange(3) for i in range(200)}, s=["a", "b", None])

    def pages() -> int:
        with open("/proc/self/statm") as file:
            return int(file.read().split()[1])

    def use(count: int) -> None:
        for _ in range(count):
            assert len(consumer_free(held)) == 3

    use(20)
    before = pages()
    use(400)  # of about 40 KiB each
    assert (pages() - before) * os.sysconf("SC_PAGE_SIZE") < 5 << 20


def consumer_free(held: Any) -> list[object]:
    """Capsules of every kind, none of which is consumed."""
    return [held.__arrow_c_stream__(), held.__arrow_c_array__(), held.__arrow_c_schema__()]


def test_capsules_at_the_end_of_python() -> None:
    program = (
        "import numpy as np, sys\n"
        "from gpusched._support.results import Results\n"
        "held = Results({'a': np.arange(3), 'b': np.array(['x', 'y', 'z'])})\n"
        "capsules = [held.__arrow_c_stream__(), held.__arrow_c_array__()]\n"
        "capsules.append(capsules); sys.kept = capsules\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")


# Refusals


@pytest.mark.parametrize(
    ("column", "found"),
    [
        (np.array([1j, 2]), ": got values of type complex128"),
        (np.array(["2026-01-01", "2026-01-02"], "M8[D]"), r": got values of type datetime64\[D\]"),
        (["x", 3], r"\[1\]: got 3 in a column of objects"),
        (np.array([None, 1, "x"], object), r"\[1\]: got 1 in a column of objects"),
        ([("x", "y"), None, (), ("y", 2)], r"\[3\]: got \('y', 2\) in a column of objects"),
        ([(2**63,), ()], ": got a whole number of more than 64 bits"),
        (np.array([object(), None]), r"\[0\]: got <object object"),
    ],
)
def test_columns_that_arrow_does_not_have(column: Any, found: str) -> None:
    with pytest.raises(TypeError, match=rf"^a{found}.*, expected a column of numbers, truth"):
        Columns(a=column).__arrow_c_stream__()


def test_columns_of_different_lengths() -> None:
    with pytest.raises(ValueError, match=r"^columns: got 3 rows of 'b', expected 2$"):
        Columns(a=[None] * 2, b=np.arange(3)).__arrow_c_schema__()


def test_a_lone_surrogate_becomes_a_question_mark() -> None:
    assert consumer.table(Columns(a=["\ud800x"])) == {"a": ["?x"]}


COLUMN = ("a", "l", 3, (None, np.arange(3)), (), None)
OFFSETS, TEXT = np.array([0, 1, 1, 3]), np.frombuffer(b"xyz", np.uint8)
WORDS = ("w", "U", 1, (None, np.array([0, 1]), TEXT), (), None)


@pytest.mark.parametrize(
    ("column", "error", "message"),
    [
        (None, TypeError, "column: got another object, expected a tuple of six"),
        (COLUMN[:5], TypeError, "column: got another object, expected a tuple of six"),
        (("a\0", *COLUMN[1:]), ValueError, "name: got .*, expected a string without NUL"),
        (("a", "x", *COLUMN[2:]), ValueError, "format: got x, expected"),
        (("a", "l", -1, *COLUMN[3:]), ValueError, "length: got -1, expected a number of rows"),
        (("a", "l", 2**61, *COLUMN[3:]), ValueError, "length: got 2305843009213693952"),
        (("a", "l", 4, *COLUMN[3:]), ValueError, "a: got a buffer of 3 entries, expected at least"),
        (("a", "i", *COLUMN[2:]), TypeError, "a: got a buffer of .*, expected a contiguous array"),
        ((*COLUMN[:3], (None,), (), None), TypeError, "a: got other parts, expected a tuple of 2"),
        ((*COLUMN[:3], (None, np.arange(6)[::2]), (), None), TypeError, "a: got a buffer of .*"),
        ((*COLUMN[:3], (None, np.arange(3).astype(">i8")), (), None), TypeError, "a: got a buffer"),
        ((*COLUMN[:3], (None, None), (), None), TypeError, "a: got a buffer of .*NoneType"),
        ((*COLUMN[:3], (TEXT[:0], np.arange(3)), (), None), ValueError, "a: got a buffer of 0"),
        ((*COLUMN[:4], (COLUMN,), None), ValueError, "a: got 1 children, expected 0"),
        ((*COLUMN[:5], WORDS), ValueError, "a: got a dictionary for format l, expected format c"),
        (
            ("a", "c", 2, (None, np.array([0, 1], np.int8)), (), WORDS),
            ValueError,
            r"a\[1\]: got 1, expected a place in the dictionary",
        ),
        (("a", "U", 3, (None, OFFSETS[::-1].copy(), TEXT), (), None), ValueError, "a: got offsets"),
        (("a", "U", 3, (None, OFFSETS - 1, TEXT), (), None), ValueError, "a: got offsets"),
        (("a", "U", 3, (None, OFFSETS, TEXT[:2]), (), None), ValueError, "a: got a buffer of 2"),
        (("a", "U", 4, (None, OFFSETS, TEXT), (), None), ValueError, "a: got a buffer of 4"),
        (("a", "+L", 3, (None, OFFSETS + 1), (COLUMN,), None), ValueError, "a: got a child of 3"),
        (("a", "+L", 3, (None, OFFSETS), (), None), ValueError, "a: got 0 children, expected 1"),
        (("a", "+s", 4, (None,), (COLUMN,), None), ValueError, "a: got a child of 3 entries"),
        (("a", "+s", 3, (None,), (COLUMN, 7), None), TypeError, "column: got another object"),
        (("\ud800", *COLUMN[1:]), UnicodeEncodeError, "surrogates not allowed"),
    ],
)
def test_the_module_checks_columns(column: Any, error: type[Exception], message: str) -> None:
    for function in (_core.arrow_schema, _core.arrow_array, _core.arrow_stream):
        with pytest.raises(error, match=message):
            function(column)
        with pytest.raises(error, match=message):  # below another, whose memory is freed
            function(("", "+s", 0, (None,), (COLUMN, column), None))


def test_few_levels() -> None:
    column: Any = ("", "+s", 0, (None,), (), None)
    for _ in range(100_000):
        column = ("", "+s", 0, (None,), (column,), None)
    with pytest.raises(ValueError, match=r"got more than 8 levels, expected fewer"):
        _core.arrow_stream(column)


def test_tables_of_results() -> None:
    held = Results(
        {"a": np.arange(2), "name": np.array(["x", "y"]), "yes": np.array([True, False])}
    )
    assert consumer.table(held) == {"a": [0, 1], "name": ["x", "y"], "yes": [True, False]}
