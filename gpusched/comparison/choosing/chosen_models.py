"""Models of a program with chosen values, derived once for all cores and priorities."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from gpusched.comparison.choosing.open_values import OpenValue, Value
from gpusched.comparison.derived_models import DerivedModels
from gpusched.comparison.margins import grown
from gpusched.comparison.placed_models import PlacedModels
from gpusched.model.workload.platforms import Platform
from gpusched.model.workload.workloads import Workload

__all__ = ["ChosenModels", "ModelsOfChoice"]

_COLUMNS = {"cores": "core", "priorities": "priority", "gpu_priorities": "gpu_priority"}
_KEPT = 8  # models, of the choices and factors that were asked for last
_KEPT_TABLES = 2  # of ways with tables of batches, which may be large
_TABLES = frozenset({"edf_serial", "edf_parallel", "pbs"})


class ChosenModels:
    """Models of a program by its choice and by the factor of its times."""

    def __init__(
        self, program: tuple[Workload, Platform], way: str, opens: Sequence[OpenValue]
    ) -> None:
        self._program, self._opens = program, opens
        self._most = _KEPT_TABLES if way in _TABLES else _KEPT
        self._programs: dict[Sequence[Value], tuple[Workload, Platform]] = {}
        self._kept: dict[tuple[Sequence[Value], Fraction | None], DerivedModels] = {}

    def program(self, point: Sequence[Value]) -> tuple[Workload, Platform]:
        """The program with the values of a choice."""
        workload, platform = self._unplaced(point)
        numbers = self._numbers(point)
        return (workload._numbered(numbers) if numbers else workload), platform

    def at(self, point: Sequence[Value], factor: Fraction | None) -> DerivedModels:
        """The models of a choice with times that grow by a factor; None: as they are."""
        key = self._structure(point), factor
        if (base := self._kept.pop(key, None)) is None:
            while len(self._kept) >= self._most:
                self._kept.pop(next(iter(self._kept))).forget()
            workload, platform = self.program(point)
            if factor is not None:
                workload = grown(workload, "all", factor)
            base = DerivedModels(workload, platform)
        self._kept[key] = base
        numbers = self._numbers(point)
        return PlacedModels(base, numbers) if numbers else base

    def forget(self) -> None:
        """Let go of all models."""
        for models in self._kept.values():
            models.forget()
        self._kept.clear()

    def _structure(self, point: Sequence[Value]) -> Sequence[Value]:
        """The values on which more than columns of tasks depends."""
        return tuple(
            value for one, value in zip(self._opens, point, strict=True) if one.name not in _COLUMNS
        )

    def _numbers(self, point: Sequence[Value]) -> dict[str, dict[str, int]]:
        return {
            _COLUMNS[one.name]: dict(zip(one.items, value, strict=True))  # type: ignore[attr-defined]
            for one, value in zip(self._opens, point, strict=True)
            if one.name in _COLUMNS
        }

    def _unplaced(self, point: Sequence[Value]) -> tuple[Workload, Platform]:
        key = self._structure(point)
        if key not in self._programs:
            self._programs.clear()
            workload, platform = self._program
            for one, value in zip(self._opens, point, strict=True):
                if one.name in _COLUMNS:
                    continue
                if value != one.start or one.name not in ("sms", "instances", "slices"):
                    workload, platform = one.applied(value, workload, platform)
            self._programs[key] = workload, platform
        return self._programs[key]


class ModelsOfChoice:
    """The models of a choice by the factor of its times, as `Growth` asks for them."""

    def __init__(self, chosen: ChosenModels, point: Sequence[Value]) -> None:
        self._chosen, self._point = chosen, point

    def at(
        self, workload: Workload, platform: Platform, what: str, factor: Fraction
    ) -> DerivedModels:
        """The models for a factor of all times."""
        return self._chosen.at(self._point, factor)

    def forget(self) -> None:
        """The models are kept for other choices."""
