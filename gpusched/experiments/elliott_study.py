"""Study of [RTNS10], Figure 5: schedulability with a GPU and with CPUs alone, by speed-up.

G. A. Elliott, J. H. Anderson: Globally Scheduled Real-Time Multiprocessor Systems with GPUs,
RTNS 2010. Its Figure 5 shows nine of 270 scenarios; the study covers all of them.
"""

from __future__ import annotations

import contextlib
import os
import zlib
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import Executor
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from gpusched import _core
from gpusched._support.arguments import Int64Array, integer, one_of, seed_key
from gpusched._support.progress import Progress, reporter
from gpusched._support.text import shown
from gpusched.experiments.elliott_scenarios import SCENARIOS, Scenario, numbers_of
from gpusched.experiments.elliott_table import METHODS, ElliottStudy, table_of
from gpusched.generate.elliott_sets import scenario
from gpusched.study.sweeps import spawn
from gpusched.study.workers import Workers, worker_count

if TYPE_CHECKING:
    from gpusched.study.store import Chunk, Store

__all__ = ["SCENARIOS", "ElliottStudy", "Scenario", "elliott_fig5"]

SPEED_UPS = (2, 4, 8, 16)
_CHUNK = 100_000  # sets, independent of the number of workers, so that a store fits any number
_MOST = 10**9  # sets of a scenario, whose chunks are stored in a list
_EIGHTHS, _FATES = 8 * 32 + 1, 5


def elliott_fig5(
    scenarios: Literal["all"] | Iterable[int | Scenario] | None = None,
    count: int = 1_000_000,
    seed: Any = 1,
    *,
    periods: Literal["short", "moderate", "long"] = "moderate",
    cpus: int = 4,
    speed_ups: Sequence[int] = SPEED_UPS,
    bins: int = 40,
    variant: Literal["sound", "paper"] = "sound",
    rounding: Literal["nearest", "down", "up"] = "nearest",
    overhead: float = 0.05,
    without_gpu: bool = False,
    store: str | os.PathLike[str] | None = None,
    executor: Executor | None = None,
    workers: int | None = None,
    progress: Progress = None,
) -> ElliottStudy:
    """Figure 5 of [RTNS10]: SRM, Container and CPUs alone on random task sets.

    Sets are those of ``gs.generate.elliott``, the same for every method. A set is schedulable when
    the tardiness of every task is bounded: by ``gs.analysis.srm`` with either lock, by
    ``gs.analysis.container``, or by ``gs.analysis.cpu_only`` for each speed-up. The tests are
    evaluated exactly. The system utilization is the sum of (e + s) / p, CPU and GPU.

    Generation and tests are one loop in C, about a fifth of a microsecond per set.

    Parameters
    ----------
    scenarios
        None: the nine printed panels; "all": all 270; or numbers or members of ``SCENARIOS``.
    count
        Sets per scenario; a million in the paper.
    seed
        As in ``gs.sweep``; a scenario's sets do not depend on the other scenarios.
    periods
        Interval of periods of the printed panels, which the paper does not state.
    cpus, overhead, rounding
        As in ``gs.generate.elliott``.
    speed_ups
        Whole numbers c, at most 16: a CPU takes c times as long as the GPU for a kernel.
    bins
        Number of bins of the utilization, from 0 to ``cpus``.
    variant
        As in ``gs.analysis.srm``.
    without_gpu
        Count sets without GPU-using tasks in the table, too. All methods schedule them; observation
        5 of the paper is about sets with GPU-using tasks.
    store
        An SQLite file for finished chunks. With the same arguments, an interrupted or killed study
        resumes from it with the same final numbers. Scenarios and sets may be added.
    executor, workers, progress
        As in ``gs.sweep``.

    Returns
    -------
    ElliottStudy
        Rows with columns scenario, utilization, periods, gpu, share, curve (SRM, Container, SRM
        with FMLP, SRM or Container, CPUs at c = 2, ...), low and high (of the bin), sets,
        schedulable (share), schedulable_low, schedulable_high (95 % confidence); bins without sets
        are missing. ``plot()`` draws the nine panels, ``plot_all()`` all scenarios; ``answer()``
        and ``plot_answer()`` give break-even speed-ups; ``observations()`` checks the paper's
        observations.

    Raises
    ------
    ValueError
        An unknown scenario, a count below 1 or above 10^9, speed-ups that are not positive or given
        twice, no CPU, a store without a reproducible seed.
    gpusched.StoreError
        A store of another study or version, damaged or in use; it is not changed.
    KeyboardInterrupt
        On Ctrl-C, after finished chunks were stored.
    """
    numbers = numbers_of(scenarios, periods)
    total = integer(count, "count")
    if total < 1:
        raise ValueError(f"count: got {total}, expected at least 1")
    if total > _MOST:
        raise ValueError(f"count: got {total}, expected at most {_MOST}")
    threads = worker_count(workers)
    one_of(variant, ("sound", "paper"), "variant")
    parts = integer(bins, "bins")
    if not 1 <= parts <= 10_000:
        raise ValueError(f"bins: got {parts}, expected 1 to 10000")
    if not isinstance(speed_ups, Iterable):
        raise TypeError(f"speed_ups: got {shown(speed_ups)}, expected a list of whole numbers")
    factors = tuple(integer(c, "speed_ups") for c in speed_ups)
    if len(set(factors)) != len(factors):
        raise ValueError(f"speed_ups: got {factors}, expected no number twice")
    if len(factors) > 16 or any(not 1 <= c <= 10**6 for c in factors):
        raise ValueError(
            f"speed_ups: got {factors}, expected up to 16 whole numbers from 1 to 10^6"
        )
    if store is not None and seed is None:
        raise ValueError("seed: got None, expected a seed for a study with a store")
    tests = {"paper": variant == "paper", "speed_ups": np.array(factors, np.int64), "bins": parts}
    arguments = {
        k: scenario(
            SCENARIOS[k].utilization,
            SCENARIOS[k].periods,
            SCENARIOS[k].gpu,
            (SCENARIOS[k].share, SCENARIOS[k].share + 0.1),
            cpus,
            overhead,
            rounding,
            True,
        )
        for k in numbers
    }
    root = spawn(seed)
    settings = {
        "cpus": integer(cpus, "cpus"),
        "speed_ups": list(factors),
        "bins": parts,
        "variant": variant,
        "rounding": rounding,
        "overhead": float(overhead),
    }
    definition = {
        "study": "elliott_fig5",
        "numbers": _fingerprint(),
        "seed": [f"{word:016x}" for word in seed_key(root).tolist()],
        **settings,
    }
    shape = _Shape(parts, len(METHODS) + len(factors))
    opened: Any = contextlib.nullcontext()
    if store is not None:
        from gpusched.study.store import open_store

        opened = open_store(store, definition, shape.length)
    chunks = [
        (k, first, min(_CHUNK, total - first)) for k in numbers for first in range(0, total, _CHUNK)
    ]
    with opened as kept:
        found = _collect(chunks, arguments, root, tests, kept, executor, threads, progress)
    sums = np.zeros((len(numbers), shape.length), np.int64)
    row = {number: s for s, number in enumerate(numbers)}
    for chunk in chunks:
        sums[row[chunk[0]]] += found[chunk]
    return table_of(numbers, shape.split(sums), factors, settings | {"count": total}, without_gpu)


class _Shape:
    """Layout of the counts of a chunk in one array."""

    def __init__(self, bins: int, curves: int) -> None:
        self.parts = {
            "sets": (bins,),
            "without": (bins,),
            "passed": (curves, bins),
            "eighths": (_EIGHTHS,),
            "fates": (_FATES,),
            "tasks": (),
        }
        self.length = sum(int(np.prod(shape)) for shape in self.parts.values())

    def split(self, counts: Int64Array) -> dict[str, Int64Array]:
        """Rows of counts, split into their parts."""
        ends = np.cumsum([int(np.prod(shape)) for shape in self.parts.values()])[:-1]
        pieces = np.split(counts, ends, axis=-1)
        return {
            name: piece.reshape((*counts.shape[:-1], *shape)).copy()
            for (name, shape), piece in zip(self.parts.items(), pieces, strict=True)
        }


def _chunk(key: Any, arguments: Any, tests: Any, first: int, size: int, stop: Any) -> Int64Array:
    """Counts of a chunk, as one array."""
    *arrays, tasks = _core.elliott_study(
        key, **arguments, first=first, count=size, **tests, stop=stop
    )
    return np.concatenate([*(array.ravel() for array in arrays), [tasks]])


def _fingerprint() -> int:
    """Checksum of the counts of a few sets of two scenarios, which identifies the numbers."""
    crc = 0
    for k in (93, 183):
        of = SCENARIOS[k]
        arguments = scenario(
            of.utilization, of.periods, of.gpu, (of.share, 1.0), 4, 0.05, "nearest", True
        )
        tests = {"paper": False, "speed_ups": np.array([2, 4, 8, 16]), "bins": 40}
        counts = _chunk(np.arange(4, dtype=np.uint64), arguments, tests, 0, 64, None)
        crc = zlib.crc32(counts.astype("<i8").tobytes(), crc)
    return crc


def _collect(
    chunks: Sequence[Chunk],
    arguments: Mapping[int, Any],
    root: np.random.SeedSequence,
    tests: Any,
    store: Store | None,
    executor: Executor | None,
    threads: int,
    progress: Progress,
) -> dict[Chunk, Int64Array]:
    """Counts of all chunks, from the store or computed."""
    found = {} if store is None else {c: store.done[c] for c in chunks if c in store.done}
    todo = [chunk for chunk in chunks if chunk not in found]
    done = sum(size for _, _, size in found)
    total = sum(size for _, _, size in chunks)
    keys = {k: seed_key(spawn(root, k)) for k in arguments}
    with (
        Workers(executor, threads, patient=True) as pool,
        reporter(progress, total, "set", initial=done) as report,
    ):
        report(done)
        calls = (
            (
                (k, first, size),
                {
                    "key": keys[k],
                    "arguments": arguments[k],
                    "tests": tests,
                    "first": first,
                    "size": size,
                    "stop": pool.flag,
                },
            )
            for k, first, size in todo
        )
        for chunk, future in pool.run(_chunk, calls):
            try:
                counts = future.result()
            except ValueError as error:
                title = SCENARIOS[chunk[0]].title
                raise ValueError(f"scenario {chunk[0]} ({title}): {error}") from None
            found[chunk] = counts
            if store is not None:
                store.add(chunk, counts)
            done += chunk[2]
            report(done)
    return found
