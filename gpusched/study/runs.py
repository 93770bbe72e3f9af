"""Studies of the package, such as the figures of the papers, with given points and seeds."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from gpusched._support.arguments import integer, spawn
from gpusched.study.accumulators import Accumulator, PerSet, State
from gpusched.study.engine import Work, compute
from gpusched.study.execution import Execution
from gpusched.study.identity.module_origins import package_version
from gpusched.study.point_results import PointResults
from gpusched.study.points import Point, canonical, key_of
from gpusched.study.stored_study import StoredStudy, open_store
from gpusched.study.sweep_definition import experiment_identity, seed_words

__all__ = ["named_columns", "run"]


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
    """Results of ``function`` at every point; with a shard, the store of the shard.

    Parameters
    ----------
    function, points, seeds, count, keep, largest
        As in ``Work``. Equal points have equal seeds, and are computed once.
    execution
        Parameters of the execution.
    name
        The public name of the study, such as ``"gs.experiments.stgm_fig4"``.
    seed
        The seed from which ``seeds`` were derived.
    settings
        Everything else that determines the results, under names that ``gs.sweep`` does not use in
        its stores.
    accumulator
        Default: ``PerSet({})``, the default reductions of arrays with one value for each set.
    """
    number = integer(count, "count")
    if number < 1:
        raise ValueError(f"count: got {number}, expected at least 1")
    if not points:
        raise ValueError(f"{name}: got no point, expected at least one")
    definition = None
    if execution.store is not None:
        definition = {
            "study": name,
            "gpusched": package_version().version,
            "seed": seed_words(seed, spawn(seed)),
            "keep": keep,
            **{setting: _plain(value, setting) for setting, value in settings.items()},
        }
    keys = [key_of(point) for point in points]
    places = {key: index for index, key in reversed(list(enumerate(keys)))}
    chosen = sorted(places.values())
    work = Work(
        function,
        [points[index] for index in chosen],
        [seeds[index] for index in chosen],
        number,
        accumulator or PerSet({}),
        keep=keep,
        definition=definition,
        identity=None if definition is None else experiment_identity(),
        notes={"count": number},
        largest=largest,
    )
    results = compute(work, execution)
    if execution.store is not None and execution.shard is not None:
        return open_store(execution.store)
    found = dict(zip(chosen, results, strict=True))
    return [found[places[key]] for key in keys]


def named_columns(state: State | None, name: str) -> dict[str, dict[str, Any]]:
    """Columns of each quantity of a state of ``PerSet({})``, called ``name``, ``name_low`` etc."""
    accumulator = PerSet({})
    return {
        quantity: accumulator.columns(name, states) for quantity, states in (state or {}).items()
    }


def _plain(value: Any, name: str) -> Any:
    """A setting as JSON holds it; what is more than lists of numbers and text becomes a text."""
    if isinstance(value, np.generic):
        value = value.item()
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    if isinstance(value, (list, tuple)):
        return [_plain(one, name) for one in value]
    return canonical(value, name)
