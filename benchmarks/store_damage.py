"""Damaged and truncated stores: none gives another table; results/store_damage.txt.

A store of a small sweep is damaged at random: cut off, bytes changed, a range zeroed, a range
copied over another. The sweep is run with it. It must refuse the store, or return the table of an
undamaged one (what is missing is computed again). The tests run a hundredth of this. 100,000
stores take 15 minutes.

    python benchmarks/store_damage.py [--stores 100000] [--seed 1] [--save]

The kept result is of four runs with the seeds 1 to 4.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections import Counter
from pathlib import Path

import numpy as np
from machine import describe

import gpusched as gs

WAYS = ("cut off", "bytes changed", "a range zeroed", "a range copied")


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


def outcome(store: Path, keep: bool, expected: gs.Sweep) -> str:
    try:
        table = swept(store, keep)
    except gs.StoreError:
        return "refused"
    return "the right table" if table == expected else "ANOTHER TABLE"


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--stores", type=int, default=100_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--save", action="store_true")
    options = parser.parse_args()
    random = np.random.default_rng(options.seed)
    found: Counter[tuple[str, str]] = Counter()
    began = time.perf_counter()
    with tempfile.TemporaryDirectory() as folder:
        whole = []
        for keep in (False, True):
            path = Path(folder, f"whole {keep}")
            table = swept(path, keep)
            whole.append((keep, path.read_bytes(), table))
        for number in range(options.stores):
            keep, data, table = whole[number % 2]
            way = int(random.integers(len(WAYS)))
            path = Path(folder, f"{number}")
            path.write_bytes(damaged(data, way, random))
            found[WAYS[way], outcome(path, keep, table)] += 1
            for left in Path(folder).glob(f"{number}*"):
                left.unlink()
    lines = [
        f"Damaged stores, seed {options.seed}, {describe()}",
        f"{options.stores} stores in {time.perf_counter() - began:.0f} s",
        f"{'':16}{'refused':>10}{'the right table':>18}{'another table':>16}",
    ]
    for way in WAYS:
        refused, right, wrong = (
            found[way, what] for what in ("refused", "the right table", "ANOTHER TABLE")
        )
        lines.append(f"{way:16}{refused:>10}{right:>18}{wrong:>16}")
    wrong = sum(number for (_, what), number in found.items() if what == "ANOTHER TABLE")
    lines.append(f"{wrong} wrong tables")
    print("\n".join(lines))
    if options.save:
        (Path(__file__).parent / "results/store_damage.txt").write_text("\n".join(lines) + "\n")
    if wrong:
        raise SystemExit(1)


if __name__ == "__main__":
    main()
