"""Each way to change the numbers of a stored function is noticed, or named in the documentation."""

from __future__ import annotations

import builtins
import collections
import importlib
import math
import os
import random
import statistics
import sys
import textwrap
import types
import warnings
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from identity_ways import CAUGHT, DOCUMENTED

import gpusched as gs
from gpusched.study.identity.function_identity import IdentityError, function_parts

pytestmark = pytest.mark.python

MODULES = (
    *("collections", "copy", "dataclasses", "datetime", "decimal", "enum", "fractions"),
    *("functools", "io", "math", "operator", "os", "random", "re", "statistics", "subprocess"),
    *("sys", "types", "warnings"),
)
TOUCHED = (np, random, statistics, builtins, math, collections)


@pytest.fixture(autouse=True)
def restored(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Undo the changes of libraries and of the process."""
    held = [(module, dict(vars(module))) for module in TOUCHED]
    errors, printing, limit = np.geterr(), np.get_printoptions(), sys.getrecursionlimit()
    import decimal

    context, folder, state = decimal.getcontext().copy(), os.getcwd(), random.getstate()
    monkeypatch.setitem(sys.modules, "own_of_ways", types.ModuleType("own_of_ways"))
    monkeypatch.setenv("WAYS_K", "0")
    with warnings.catch_warnings():
        yield
    vars(math).pop("shape", None)
    for module, names in held:
        for name, value in names.items():
            if vars(module)[name] is not value:
                setattr(module, name, value)
    np.seterr(**errors)
    np.set_printoptions(**printing)
    sys.setrecursionlimit(limit)
    decimal.setcontext(context)
    os.chdir(folder)
    random.setstate(state)


def made(text: str, k: int, folder: Path) -> Any:
    ways = sys.modules.setdefault("ways", types.ModuleType("ways"))  # dataclasses look for it
    space: dict[str, Any] = {"__name__": ways.__name__, "K": k, "np": np}
    space["path"] = folder / "file"
    space |= {name: importlib.import_module(name) for name in MODULES}
    space["own"] = sys.modules["own_of_ways"]
    exec(text, space)
    return space["f"]


def outcomes(text: str, k: int, folder: Path, run: bool = True) -> tuple[Any, Any]:
    """The parts of the function, None for one that is refused, and its value."""
    f = made(text, k, folder)
    try:
        parts = function_parts(f)
    except IdentityError:
        parts = None
    return parts, f() if run else k


@pytest.mark.parametrize("way", CAUGHT)
def test_what_is_noticed(way: str, tmp_path: Path) -> None:
    (one, a), (other, b) = (
        outcomes(CAUGHT[way], k, tmp_path, run=way not in ("code in a text",)) for k in (1, 2)
    )
    assert a != b
    assert one is None or one != other


@pytest.mark.parametrize("way", DOCUMENTED)
def test_what_is_not_noticed_is_documented(way: str, tmp_path: Path) -> None:
    text, words = DOCUMENTED[way]
    (one, a), (other, b) = (outcomes(text, k, tmp_path) for k in (1, 2))
    assert a != b and one == other is not None
    assert words in " ".join((gs.sweep.__doc__ or "").split())
    guide = Path(__file__).parents[2] / "notebooks" / "guide" / "sweeps.md"
    assert "study/sweeps.py" in guide.read_text(), "the guide has the docstring"


def test_there_are_as_many_ways_as_were_tried() -> None:
    assert len(CAUGHT) + len(DOCUMENTED) >= 65


# Declared parts ----------------------------------------------------------------------------------


def numbers(*, x: int, count: int, first: int, seed: Any) -> dict[str, Any]:
    return {"y": x * np.arange(first, first + count)}


def test_declared_parts_are_parts_of_the_study(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder, file, own = tmp_path / "data", tmp_path / "a.csv", sys.modules["own_of_ways"]
    folder.mkdir()
    (folder / "b").write_text("1")
    file.write_text("1")
    own.x = 1  # type: ignore[attr-defined]
    depends = [file, str(folder), own, "$WAYS_K"]

    def swept() -> Any:
        options: dict[str, Any] = {"count": 4, "seed": 1, "store": tmp_path / "s"}
        return gs.sweep(numbers, {"x": [1]}, depends=depends, progress=False, **options)

    table = swept()
    assert swept() == table
    changes: dict[str, Any] = {
        f"file {file}": lambda: file.write_text("2"),
        f"file {folder}": lambda: (folder / "c").write_text("2"),
        "module own_of_ways": lambda: setattr(own, "x", 2),
        r"environment \$WAYS_K": lambda: os.environ.update(WAYS_K="2"),
    }
    undo: dict[str, Any] = {
        f"file {file}": lambda: file.write_text("1"),
        f"file {folder}": lambda: (folder / "c").unlink(),
        "module own_of_ways": lambda: setattr(own, "x", 1),
        r"environment \$WAYS_K": lambda: os.environ.update(WAYS_K="0"),
    }
    for name, change in changes.items():
        change()
        with pytest.raises(gs.StoreError, match=f"{name} differs"):
            swept()
        undo[name]()
        assert swept() == table


@pytest.mark.parametrize("depends", ["a.csv", [1], [""], ["$"], None, [b""]])
def test_what_cannot_be_declared(depends: Any, tmp_path: Path) -> None:
    with pytest.raises(TypeError, match="depends"):
        gs.sweep(numbers, {"x": [1]}, count=1, seed=1, store=tmp_path / "s", depends=depends)
    with pytest.raises(FileNotFoundError):
        gs.sweep(numbers, {"x": [1]}, count=1, seed=1, store=tmp_path / "s", depends=["nowhere"])


# Workers -----------------------------------------------------------------------------------------

MODULE = """
    import numpy as np

    SCALE = 1

    def study(*, x, count, first, seed):
        return {"y": SCALE * x * np.arange(first, first + count)}
"""


@pytest.mark.parametrize("start", ["fork", "spawn", "forkserver"])
@pytest.mark.parametrize("change", ["a global", "the file", "a declared file", "a variable"])
def test_workers_with_another_function_are_refused(
    start: str, change: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Changes after the workers began, or that only they see."""
    if sys.platform == "win32" and start != "spawn":
        pytest.skip("no such method")
    name = f"study_of_{start}_{change.replace(' ', '_')}"
    file, data = tmp_path / f"{name}.py", tmp_path / "data"
    file.write_text(textwrap.dedent(MODULE))
    data.write_text("1")
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    monkeypatch.setenv("PYTHONDONTWRITEBYTECODE", "1")
    module = importlib.import_module(name)
    options: dict[str, Any] = {"count": 8, "seed": 1, "progress": False}
    options |= {"depends": [data, "$WAYS_K"]}

    def swept(store: str, pool: Any) -> Any:
        return gs.sweep(
            module.study, {"x": [1, 2]}, executor=pool, store=tmp_path / store, **options
        )

    with ProcessPoolExecutor(1, get_context(start)) as pool:
        table = swept("before", pool)
        assert table == swept("again", pool)
        refused = "worker on .* has another function: "
        if change == "a global":
            module.SCALE = 2  # type: ignore[attr-defined]
            refused += "global SCALE read by study differs"
        elif change == "a declared file":
            data.write_text("2")
            assert swept("changed", pool) == table, "the workers see the file, too"
            return
        elif change == "a variable":
            os.environ["WAYS_K"] = "2"
            refused += r"environment \$WAYS_K differs"
        else:
            file.write_text(textwrap.dedent(MODULE).replace("SCALE * x", "2 * x"))
            importlib.reload(module)
            refused += "(the code of study differs|global SCALE)"
        with pytest.raises(gs.SweepError, match=refused):
            swept("changed", pool)
        assert gs.open_store(tmp_path / "changed").sets == [0, 0]


def test_a_function_by_key_is_the_users_affair(tmp_path: Path) -> None:
    with ProcessPoolExecutor(1, get_context("spawn")) as pool:
        options: dict[str, Any] = {"count": 4, "seed": 1, "progress": False, "key": "k"}
        table = gs.sweep(numbers, {"x": [1]}, executor=pool, store=tmp_path / "s", **options)
    assert table == gs.sweep(numbers, {"x": [1]}, store=tmp_path / "s", **options)


# Chunks ------------------------------------------------------------------------------------------


def test_a_function_that_draws_once_per_chunk_is_refused() -> None:
    def per_chunk(*, x: float, count: int, first: int, seed: Any) -> dict[str, Any]:
        random = np.random.default_rng([int(seed.generate_state(1)[0]), first])
        return {"met": random.random(count) < x, "u": random.random(count)}

    def per_set(*, x: float, count: int, first: int, seed: Any) -> dict[str, Any]:
        u = np.array([one.random() for one in gs.generate.rngs(seed, first, count)])
        return {"met": u < x, "u": u}

    for chunk in (None, 1, 2, 7):
        options: dict[str, Any] = {"count": 50, "seed": 1, "progress": False, "chunk": chunk}
        with pytest.raises(gs.SweepError, match=r"'u': got .* in one of \d: a set must depend"):
            gs.sweep(per_chunk, {"x": [0.0, 1.0]}, **options)
        gs.sweep(per_chunk, {"x": [0.0, 1.0]}, **options, spot_check=False)
        tables = {str(gs.sweep(per_set, {"x": [0.2, 0.6]}, **options | {"chunk": c}).columns)
                  for c in (chunk, 5)}  # fmt: skip
        assert len(tables) == 1


def test_the_last_digits_of_floats_may_differ() -> None:
    def rounded(*, count: int, first: int, seed: Any) -> dict[str, Any]:
        return {"a": np.full(count, 1 + 1e-14 * count), "b": np.full(count, np.nan)}

    assert gs.sweep(rounded, {}, count=9, seed=1, progress=False)["count"].tolist() == [9]


@pytest.mark.parametrize("first", [0, 5])
def test_generators_of_sets(first: int) -> None:
    whole = [one.random() for one in gs.generate.rngs(3, 0, 10)]
    assert [one.random() for one in gs.generate.rngs(3, first, 5)] == whole[first : first + 5]
    assert [one.random() for one in gs.generate.rngs(np.random.SeedSequence(3), 0, 10)] == whole
    assert len(set(whole)) == 10 and gs.generate.rngs(3, 0, 0) == []
    with pytest.raises(ValueError, match="first: got -1"):
        gs.generate.rngs(3, -1, 1)


# The record --------------------------------------------------------------------------------------


def test_a_store_says_where_and_when_it_was_computed(tmp_path: Path) -> None:
    options: dict[str, Any] = {"count": 8, "seed": 1, "progress": False, "chunk": 2}
    for i in range(2):
        gs.sweep(numbers, {"x": [1, 2]}, store=tmp_path / f"{i}", shard=(i, 2), **options)
    whole = gs.merge([tmp_path / "0", tmp_path / "1"], tmp_path / "all")
    for study in (whole, gs.open_store(tmp_path / "all")):
        (machine,) = study.machines
        assert machine["sets"] == 16 and machine["numpy"] == np.__version__
        assert {"machine", "system", "processor", "Python", "gpusched"} < machine.keys()
        assert "2020" < machine["first"] <= machine["last"] < "2200"
