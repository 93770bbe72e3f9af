"""CPU time and memory of a large table in other libraries, through Arrow and through pandas.

A stack of 100,000 sets of ten tasks (a million rows): columns of int64, which Arrow does not copy,
and one of names, which takes nearly all of the time.
About five seconds; the kept result was made without arguments. Libraries that are not installed are
left out.
"""

from __future__ import annotations

import argparse
import importlib
import resource
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np

import gpusched as gs


def peak() -> float:
    """Largest memory of this process so far in MiB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def best(call: Callable[[], Any]) -> tuple[float, float]:
    """Least CPU seconds of three calls, and growth of the peak of memory in MiB."""
    before, least = peak(), float("inf")
    for _ in range(3):
        began = time.process_time()
        call()
        least = min(least, time.process_time() - began)
    return least, peak() - before


def total(duckdb: Any, tasks: gs.KernelTasks) -> Any:
    return duckdb.sql("select sum(period) from tasks").fetchall()


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sets", type=int, default=100_000)
    sets = parser.parse_args().sets
    tasks = gs.KernelTasks(
        period=np.arange(1, 10 * sets + 1).reshape(sets, 10), wcet=np.ones((sets, 10), np.int64)
    )
    print(f"Python {sys.version.split()[0]}, {10 * sets:,} rows: CPU time (least of three), memory")
    ways: list[tuple[str, str, Callable[[Any], Any]]] = [
        ("polars", "polars.DataFrame(tasks)", lambda m: m.DataFrame(tasks)),
        ("pyarrow", "pyarrow.table(tasks)", lambda m: m.table(tasks)),
        ("duckdb", "duckdb: sum of a column", lambda m: total(m, tasks)),
        ("pandas", "tasks.to_frame()", lambda m: tasks.to_frame()),
    ]
    for name, label, call in ways:
        try:
            module = importlib.import_module(name)
        except ModuleNotFoundError:
            continue
        seconds, grown = best(lambda module=module, call=call: call(module))  # type: ignore[misc]
        print(f"{label:28} {1e3 * seconds:8.1f} ms {grown:8.1f} MiB")
    return 0


if __name__ == "__main__":
    sys.exit(main())
