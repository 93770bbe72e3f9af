"""Studies of the package's own, such as the figures of the papers: points and seeds as they say."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from gpusched._version import __version__
from gpusched.study.accumulators import Accumulator, PerSet
from gpusched.study.engine import Work, compute
from gpusched.study.execution import Execution
from gpusched.study.point_results import PointResults
from gpusched.study.points import Point, spawn
from gpusched.study.stored_study import StoredStudy, open_store
from gpusched.study.sweep_definition import seed_words

__all__ = ["run"]


def run(
    function: Callable[..., Any],
    points: Sequence[Point],
    seeds: Sequence[np.random.SeedSequence],
    *,
    count: int,
    execution: Execution,
    name: str,
    seed: Any,
    settings: Mapping[str, Any],
    accumulator: Accumulator | None = None,
    keep: bool = True,
    largest: int | None = None,
) -> list[PointResults] | StoredStudy:
    """Results of ``function`` at every point; the store itself when a shard was computed.

    Parameters
    ----------
    function, points, seeds, count, keep, largest
        As in ``Work``; no two points are equal.
    execution
        How it is run.
    name
        The public name of the study, such as ``"gs.experiments.stgm_fig4"``.
    seed
        The seed of which ``seeds`` are children.
    settings
        What else determines the results: values that JSON holds.
    accumulator
        Default ``PerSet({})``: the usual reductions of arrays with one value for each set.
    """
    definition = None
    if execution.store is not None:
        definition = {
            "study": name,
            "gpusched": __version__,
            "seed": seed_words(seed, spawn(seed)),
            "settings": dict(settings),
        }
    work = Work(
        function,
        points,
        seeds,
        count,
        accumulator or PerSet({}),
        keep=keep,
        definition=definition,
        notes={"count": count},
        largest=largest,
    )
    results = compute(work, execution)
    if execution.store is not None and execution.shard is not None:
        return open_store(execution.store)
    return results
