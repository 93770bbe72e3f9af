"""Damaged, truncated and hostile stores: none gives another table; results/store_damage.txt.

A store of a small sweep is damaged at random (cut off, bytes changed, a range zeroed, a range
copied over another), or made to harm: values forged with right checksums, other tables, a journal
beside it that names another file, that of another store, a link, a write-ahead log. It is read,
merged and swept. It must be refused with a StoreError, or give the table of an undamaged one (what
is missing is computed again); forged numbers alone give what they say. No other file of the folder
may change. The tests run a fortieth of the kept run. 100,000 stores take 13 minutes.

    python benchmarks/store_damage.py [--stores 40000] [--seed 1] [--save]
"""

from __future__ import annotations

import argparse
import contextlib
import os
import shutil
import sqlite3
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

import numpy as np
from machine import describe

import gpusched as gs

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests"))

from forged_stores import SCHEMAS, forged, journal_of, with_super_journal

WAYS = ("cut off", "bytes changed", "a range zeroed", "a range copied")
HOSTILE = ("values forged", "other tables", "a journal beside")
VICTIM = b"a file of someone" * 100


def study(*, x, y, count, first, seed):
    i = np.arange(first, first + count)
    return {"met": (i * x + y) % 3 == 0, "value": i * x / 7 + y}


def swept(store: Path | None, keep: bool) -> gs.Sweep:
    grid = {"x": [1, 2, 3], "y": [0.5, 0.25]}
    options = {"count": 20, "seed": 1, "chunk": 5, "workers": 1, "progress": False, "key": "1"}
    return gs.sweep(study, grid, store=store, keep=keep, **options)


def damaged(data: bytes, way: int, random: np.random.Generator) -> bytes:
    changed = bytearray(data)
    at, to = (int(place) for place in random.integers(len(data), size=2))
    length = int(random.integers(1, 1000))
    if WAYS[way] == "cut off":
        return data[:at]
    if WAYS[way] == "bytes changed":
        for place in random.integers(len(data), size=int(random.integers(1, 5))):
            changed[place] ^= int(random.integers(1, 256))
    elif WAYS[way] == "a range zeroed":
        changed[at : at + length] = bytes(len(changed[at : at + length]))
    else:
        part = data[at : at + length]
        changed[to : to + len(part)] = part
    return bytes(changed[: max(len(data), to)])


def hostile(path: Path, way: str, random: np.random.Generator, journals: list[bytes]) -> None:
    """Make a store harmful, to itself or to the file "victim" beside it."""
    if way == "values forged":
        forged(path, random)
    elif way == "other tables":
        with contextlib.closing(sqlite3.connect(path)) as connection:
            connection.executescript(SCHEMAS[int(random.integers(len(SCHEMAS)))])
    else:
        kind = int(random.integers(4))
        beside = path.with_name(f"{path.name}-{('journal', 'journal', 'wal')[random.integers(3)]}")
        if kind == 0:
            with_super_journal(path, str(path.with_name("victim")))
        elif kind == 1:
            (os.symlink, os.link)[random.integers(2)](path.with_name("victim"), beside)
        else:
            data = journals[int(random.integers(len(journals)))]
            beside.write_bytes(
                data if kind == 2 else damaged(data, int(random.integers(4)), random)
            )


def outcome(path: Path, keep: bool, expected: gs.Sweep, any_table: bool) -> str:
    """The outcome of sweeping, unless reading or merging harm."""
    found = []
    for call in (lambda: gs.open_store(path).table(), lambda: gs.merge([path]).table(),
                 lambda: swept(path, keep)):  # fmt: skip
        before = files(path.parent)
        try:
            right = call() == expected or any_table
        except gs.StoreError as error:
            # Reading has no function to compute what is missing.
            found.append("right" if "missing at" in str(error) else "refused")
        except Exception as error:
            return f"{type(error).__name__}: {error}"[:100]
        else:
            if not right:
                return "another table"
            found.append("right")
        after = files(path.parent)
        if after["victim"] != VICTIM or (len(found) < 3 and after != before):
            return "a file changed"
    return found[-1]


def files(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--stores", type=int, default=40_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--save", action="store_true")
    options = parser.parse_args()
    random = np.random.default_rng(options.seed)
    found: Counter[tuple[str, str]] = Counter()
    began = time.perf_counter()
    with tempfile.TemporaryDirectory() as folder:
        whole, journals = [], []
        for keep in (False, True):
            path = Path(folder, f"whole {keep}")
            table = swept(path, keep)
            whole.append((keep, path.read_bytes(), table))
            journals.append(journal_of(path))
        for number in range(options.stores):
            keep, data, table = whole[number % 2]
            way = (*WAYS, *HOSTILE)[int(random.integers(len(WAYS) + len(HOSTILE)))]
            path = Path(folder, f"{number}", "store")
            path.parent.mkdir()
            path.with_name("victim").write_bytes(VICTIM)
            path.write_bytes(damaged(data, WAYS.index(way), random) if way in WAYS else data)
            if way in HOSTILE:
                hostile(path, way, random, journals)
            found[way, outcome(path, keep, table, way == "values forged")] += 1
            shutil.rmtree(path.parent)
    lines = [
        f"Damaged and hostile stores, seed {options.seed}, {describe()}",
        f"{options.stores} stores in {time.perf_counter() - began:.0f} s",
        f"{'':18}{'refused':>10}{'the right table':>18}{'anything else':>16}",
    ]
    wrong = Counter({key: n for key, n in found.items() if key[1] not in ("refused", "right")})
    for way in (*WAYS, *HOSTILE):
        refused, right = (found[way, what] for what in ("refused", "right"))
        rest = sum(number for (of, _), number in wrong.items() if of == way)
        lines.append(f"{way:18}{refused:>10}{right:>18}{rest:>16}")
    lines += [f"{way}: {what} ({number} times)" for (way, what), number in wrong.most_common(20)]
    lines.append(f"{sum(wrong.values())} wrong outcomes")
    print("\n".join(lines))
    if options.save:
        (Path(__file__).parent / "results/store_damage.txt").write_text("\n".join(lines) + "\n")
    if wrong:
        raise SystemExit(1)


if __name__ == "__main__":
    main()
