"""Models of the same tasks on other cores or with other priorities, which share all else."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import cached_property
from typing import Any

import numpy as np

from gpusched.comparison.derived_models import DerivedModels
from gpusched.model.host_tasks import HostTasks
from gpusched.model.programs import Programs
from gpusched.model.views.derived_view import View
from gpusched.model.workload.workloads import Workload

__all__ = ["PlacedModels"]


def _of_base(name: str) -> Any:
    """A method of the base, which cores and priorities do not matter to."""

    def method(self: PlacedModels, *arguments: Any, **options: Any) -> Any:
        return getattr(self.base, name)(*arguments, **options)

    return method


def _as_base(name: str) -> Any:
    """A method that returns the models of the base's method, placed."""

    def method(self: PlacedModels, *arguments: Any, **options: Any) -> Any:
        return self.placed_as(getattr(self.base, name)(*arguments, **options))

    return method


def _as_base_and_said(name: str) -> Any:
    """As `_as_base`, for a method that returns sentences, too."""

    def method(self: PlacedModels, *arguments: Any, **options: Any) -> Any:
        made, said = getattr(self.base, name)(*arguments, **options)
        return self.placed_as(made), said

    return method


class PlacedModels(DerivedModels):
    """Models of the tasks of others, of which each has another core or priority.

    Cores and priorities are columns of host tasks and of programs, and matter for CPUs. All else,
    such as times in finer ticks and chains of kernels, is that of ``base``, where it is derived
    once for all placements.
    """

    def __init__(
        self,
        base: DerivedModels,
        numbers: Mapping[str, Mapping[str, int]],
        given: DerivedModels | None = None,
    ) -> None:
        """``numbers``: by name of task, for "core", "priority" and "gpu_priority".

        All tasks of ``base`` have such numbers, too, or none of them are stated here.
        """
        vars(self).update(vars(base))
        for name in ("stated", "workload"):
            del vars(self)[name]
        self._base, self._numbers = base, numbers
        self._made = {}
        self.given = self if given is None else given

    kernels = _of_base("kernels")
    chains = _of_base("chains")
    batches = _of_base("batches")
    graph_batches = _of_base("graph_batches")
    chain_batches = _of_base("chain_batches")
    in_parts = _of_base("in_parts")
    client_limits = _of_base("client_limits")
    share_limits = _of_base("share_limits")
    shares_of_bandwidth = _of_base("shares_of_bandwidth")
    too_much_in_turns = _of_base("too_much_in_turns")
    refined = _as_base("refined")
    unrefined = _as_base("unrefined")
    in_one_process = _as_base("in_one_process")
    with_calls = _as_base("with_calls")
    side_by_side = _as_base_and_said("side_by_side")
    on_free_sms = _as_base_and_said("on_free_sms")

    @cached_property
    def workload(self) -> Workload:  # type: ignore[override]
        """That of ``base`` with these numbers, made when it is first asked for."""
        return self._base.workload._numbered(self._numbers)

    @cached_property
    def stated(self) -> Workload:  # type: ignore[override]
        """As ``workload``."""
        base = self._base
        return (
            self.workload if base.stated is base.workload else base.stated._numbered(self._numbers)
        )

    @property
    def base(self) -> DerivedModels:
        """The models of another placement, whose derivations these share."""
        return self._base

    def placed_as(self, made: DerivedModels) -> DerivedModels:
        """Models that were made from ``base``, with the numbers of these."""
        if made is self._base:
            return self

        def place() -> DerivedModels:
            given = self.given if made.given is self._base.given else None
            return PlacedModels(made, self._numbers, given)

        return self.once(("placed", id(made)), place)

    def hosts(self, *arguments: Any, **options: Any) -> View[HostTasks]:
        """Those of the base in other columns."""
        view = self._base.hosts(*arguments, **options)
        return replace(view, tasks=view.tasks._replaced(**self._columns(view.tasks.name)))

    def programs(self, *arguments: Any, **options: Any) -> View[Programs]:
        """Those of the base in other columns."""
        view = self._base.programs(*arguments, **options)
        return replace(view, tasks=view.tasks.with_placement(**self._columns(view.tasks.name)))

    def _columns(self, names: tuple[str, ...]) -> dict[str, Any]:
        return {
            key: np.array([of[name] for name in names], np.int64)
            for key, of in self._numbers.items()
            if key != "gpu_priority"  # an argument of tests
        }
