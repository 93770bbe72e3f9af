"""Copies of several tasks that may wait for each other at a copy engine."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable

from gpusched.model.gpus.gpu_fields import share_an_engine
from gpusched.model.views.derived_view import engine_of, uses_engine
from gpusched.model.workload.platforms import Platform
from gpusched.model.workload.workloads import Workload

__all__ = ["copies_meet"]


def copies_meet(workload: Workload, platform: Platform) -> bool:
    """Whether copies of several tasks use the same engine (a single one, or one per direction), or
    several tasks the same DLA."""
    users: Counter[Hashable] = Counter()
    shared = share_an_engine(platform.copy_engines)
    for task in workload:
        parts = filter(uses_engine, task.segments)
        users.update({engine_of(part, shared=shared) for part in parts})
    return any(count > 1 for count in users.values())
