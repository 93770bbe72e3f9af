"""Definition of a sweep, by which a store decides whether it may be resumed."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from typing import Any

import numpy as np

from gpusched._support.arguments import seed_key
from gpusched._support.text import shown
from gpusched.study import reductions
from gpusched.study.accumulators import PerSet
from gpusched.study.identity.declared_parts import declared
from gpusched.study.identity.function_identity import value_digest
from gpusched.study.identity.module_origins import package_version
from gpusched.study.notes import identifies_itself
from gpusched.study.verification import Identity

__all__ = ["Definition", "definition_of", "experiment_identity", "reductions_of", "seed_words"]

Definition = Mapping[str, Any]
"""All that determines the results of a study, by names, of values that JSON holds."""


def definition_of(
    function: Callable[..., Any],
    axes: Mapping[str, Sequence[Any]],
    seed: Any,
    root: np.random.SeedSequence,
    seed_by: Sequence[str] | None,
    accumulator: PerSet,
    keep: bool,
    key: str | None,
    depends: Any = (),
) -> tuple[dict[str, Any], Identity]:
    """Definition of a sweep, and what workers verify; ``root`` is the ``SeedSequence`` of ``seed``.

    Values of the grid are part of it if they are objects. Numbers, text and truth values identify
    themselves, so that a grid of these can grow.

    Raises ValueError for a seed that is not reproducible, and for a function, an object in the grid
    or a reduction that cannot be identified.
    """
    if key is not None and not isinstance(key, str):
        raise TypeError(f"key: got {shown(key)}, expected a string")
    parts = declared(depends)
    follows = key is None
    found = Identity("", follows, parts, {}).found(function)
    of_function = found if follows else {"key": key, **found}
    objects = {
        f"grid[{name!r}], value {index}": value_digest(value, f"grid[{name!r}]")
        for name, values in axes.items()
        for index, value in enumerate(values)
        if not identifies_itself(value)
    }
    definition: dict[str, Any] = {
        "study": "gs.sweep",
        "gpusched": package_version().version,
        "function": of_function,
        "parameters": sorted(axes),
        "objects": objects,
        "seed": seed_words(seed, root),
        "seed_by": seed_by,
        "keep": bool(keep),
        "reduce": {
            name: [_described(one, name) for one in chosen]
            for name, chosen in accumulator.reduce.items()
        },
    }
    held: dict[str, Any] = json.loads(json.dumps(definition))  # as a store has it
    digest = hashlib.blake2b(json.dumps(found).encode(), digest_size=16).hexdigest()
    return held, Identity(digest, follows, parts, found)


def experiment_identity() -> Identity:
    """The identity that workers of an experiment verify: the package's."""
    package = package_version()
    return Identity(package.version, False, (), {package.name: package.version})


def seed_words(seed: Any, root: np.random.SeedSequence) -> list[str]:
    """The words of a seed; ``ValueError`` for one that differs from run to run."""
    if seed is None or isinstance(seed, np.random.Generator):
        raise ValueError(
            f"seed: got {shown(seed)}, expected an int or a SeedSequence for a study with a store"
        )
    return [f"{word:016x}" for word in seed_key(root).tolist()]


def _described(reduction: Any, name: str) -> list[Any]:
    """A reduction: its class and attributes, and a digest when it is not one of the package's."""
    kind = type(reduction)
    if _OWN.get(kind.__name__) is kind:
        return [kind.__name__, asdict(reduction)]
    return [kind.__name__, value_digest(reduction, f"reduce[{name!r}]")]


def reductions_of(described: Mapping[str, Any]) -> dict[str, list[reductions.Reduction]] | None:
    """The reductions of a definition; None when some are not the package's.

    Raises ValueError or TypeError for attributes that none of the package's can have.
    """
    found: dict[str, list[reductions.Reduction]] = {}
    for name, chosen in described.items():
        for kind, attributes in chosen:
            if not isinstance(attributes, dict):
                return None
            if kind not in _OWN:
                raise ValueError(f"got the reduction {shown(kind)}, expected one of the package")
            named = dict(attributes)
            positional = named.pop("shares", ()) if kind == "Quantiles" else ()
            found.setdefault(name, []).append(_OWN[kind](*positional, **named))
    return found


_OWN = {
    kind.__name__: kind
    for kind in (
        reductions.Extremes,
        reductions.Histogram,
        reductions.Mean,
        reductions.Quantiles,
        reductions.Share,
        reductions.Weighted,
    )
}
