"""Study of [RTNS10], Figure 5: schedulability with a GPU and with CPUs alone, by speed-up.

G. A. Elliott, J. H. Anderson: Globally Scheduled Real-Time Multiprocessor Systems with GPUs,
RTNS 2010. Its Figure 5 shows nine of 270 scenarios; the study covers all of them.
"""

from __future__ import annotations

import functools
import os
from collections.abc import Iterable, Sequence
from typing import Any, Literal

import numpy as np

from gpusched import _core
from gpusched._support.arguments import Int64Array, integer, one_of, seed_key, spawn
from gpusched._support.budget import Progress
from gpusched._support.text import shown
from gpusched.analysis.global_edf import SRM_VARIANTS, SrmVariant
from gpusched.experiments.elliott_counts import (
    SCENARIOS,
    ElliottStudy,
    Scenario,
    numbers_of,
    table_of,
)
from gpusched.generate.elliott_sets import scenario as checked_scenario
from gpusched.study.engine import run
from gpusched.study.execution import Execution, SweepError
from gpusched.study.point_results import Totals
from gpusched.study.stored_study import StoredStudy
from gpusched.study.sweeps import shardable

SPEED_UPS = (2, 4, 8, 16)
_CHUNK = 100_000  # sets of a call: some 20 ms
_MOST = 10**12  # sets of a scenario: numbers of draws stay far below 2**63
_COUNTS = ("sets", "without", "passed", "eighths", "fates", "tasks")


@shardable
def elliott_fig5(
    scenarios: Literal["all"] | Iterable[int | Scenario] | None = None,
    count: int = 1_000_000,
    seed: Any = 1,
    *,
    periods: Literal["short", "moderate", "long"] = "moderate",
    cpus: int = 4,
    speed_ups: Sequence[int] = SPEED_UPS,
    bins: int = 40,
    variant: SrmVariant = "sound",
    rounding: Literal["nearest", "down", "up"] = "nearest",
    overhead: float = 0.05,
    without_gpu: bool = False,
    executor: Any = None,
    workers: int | None = None,
    progress: Progress = None,
    store: str | os.PathLike[str] | None = None,
    shard: tuple[int, int] | None = None,
) -> ElliottStudy | StoredStudy:
    """Compute Figure 5 of [RTNS10]: SRM, Container and CPUs alone on random task sets.

    The sets are those of ``gs.generate.elliott``, the same for every method. A set is schedulable
    if the tardiness of every task is bounded: by ``gs.analysis.srm`` with either lock, by
    ``gs.analysis.container``, or by ``gs.analysis.cpu_only`` for each speed-up. The tests are
    evaluated exactly. The system utilization is the sum of (e + s) / p, CPU and GPU.

    Generation and tests are one loop in C, which takes about 0.2 microseconds per set.

    >>> study = gs.experiments.elliott_fig5([0], count=1000, progress=False)
    >>> type(study).__name__, len(study)
    ('ElliottStudy', 256)

    Parameters
    ----------
    scenarios
        None: the nine printed panels; "all": all 270; or numbers or members of ``SCENARIOS``.
    count
        Number of sets per scenario; a million in the paper.
    seed
        As in ``gs.sweep``; the sets of a scenario do not depend on the other scenarios.
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
        Whether the table also counts sets in which no task uses the GPU. All methods schedule them;
        observation 5 of the paper is about sets with tasks that use the GPU.
    executor, workers, progress, store, shard
        As in ``gs.sweep``. Scenarios and sets may be added to a store.

    Returns
    -------
    ElliottStudy or StoredStudy
        Rows with columns scenario, utilization, periods, gpu, share, curve (SRM, Container, SRM
        with FMLP, SRM or Container, CPUs at c = 2, ...), low and high (limits of the bin), sets,
        schedulable (share), schedulable_low, schedulable_high (95 % confidence). Bins without sets
        are omitted. ``plot()`` draws the nine panels, ``plot_all()`` all scenarios; ``answer()``
        and ``plot_answer()`` give break-even speed-ups; ``observations()`` checks the paper's
        observations.

    Raises
    ------
    ValueError
        A scenario is unknown, the count is below 1 or above 10^12, speed-ups are not positive or
        given twice, there is no CPU, a scenario has no sets of that kind, or a store is used
        without a reproducible seed.
    SweepError
        A worker was lost.
    gpusched.StoreError
        The store belongs to another study or version, is damaged, or is in use; it is not changed.
    KeyboardInterrupt
        On Ctrl-C, after finished chunks were stored.
    """
    numbers = numbers_of(scenarios, periods)
    total = integer(count, "count")
    if total < 1:
        raise ValueError(f"count: got {total}, expected at least 1")
    if total > _MOST:
        raise ValueError(f"count: got {total}, expected at most {_MOST}")
    execution = Execution(executor, workers, progress, _CHUNK, store, shard)
    one_of(variant, SRM_VARIANTS, "variant")
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
    settings: dict[str, Any] = {
        "cpus": integer(cpus, "cpus"),
        "speed_ups": list(factors),
        "bins": parts,
        "variant": variant,
        "rounding": rounding,
        "overhead": float(overhead),
    }
    for number in numbers:  # before work is given out
        _arguments(number, cpus, overhead, rounding)
    root = spawn(seed)
    try:
        found = run(
            functools.partial(_counts, **settings),
            [{"scenario": number} for number in numbers],
            [spawn(root, number) for number in numbers],
            count=total,
            execution=execution,
            name="gs.experiments.elliott_fig5",
            seed=seed,
            settings=settings,
            accumulator=Totals(),
            keep=False,
        )
    except SweepError as error:
        if isinstance(error.__cause__, ValueError):
            number = error.point["scenario"]
            title = SCENARIOS[number].title
            raise ValueError(f"scenario {number} ({title}): {error.__cause__}") from None
        raise
    if isinstance(found, StoredStudy):
        return found
    each = [Totals.counts(result.state or {}) for result in found]
    counts = {name: np.stack([one[name] for one in each]) for name in _COUNTS}
    return table_of(numbers, counts, factors, settings | {"count": total}, without_gpu)


def _arguments(scenario: int, cpus: Any, overhead: Any, rounding: str) -> dict[str, Any]:
    of = SCENARIOS[scenario]
    share = (of.share, of.share + 0.1)
    return checked_scenario(
        *(of.utilization, of.periods, of.gpu, share), cpus, overhead, rounding, True
    )


def _counts(
    *,
    scenario: int,
    cpus: int,
    speed_ups: list[int],
    bins: int,
    variant: SrmVariant,
    rounding: str,
    overhead: float,
    count: int,
    first: int,
    seed: np.random.SeedSequence,
    stop: bytearray | None = None,
) -> dict[str, Int64Array]:
    """Counts of ``ElliottStudy`` of the sets ``first`` .. ``first + count - 1`` of a scenario."""
    found = _core.elliott_study(
        seed_key(seed),
        **_arguments(scenario, cpus, overhead, rounding),
        first=first,
        count=count,
        paper=SRM_VARIANTS.index(variant),
        speed_ups=np.array(speed_ups, np.int64),
        bins=bins,
        stop=stop,
    )
    return {name: np.asarray(values, np.int64) for name, values in zip(_COUNTS, found, strict=True)}
