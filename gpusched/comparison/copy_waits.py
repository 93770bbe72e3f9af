"""Copies of several tasks that may wait for each other at a copy engine."""

from __future__ import annotations

from collections import Counter

from gpusched.model.gpus.copy_engines import share_an_engine
from gpusched.model.views.derived_view import uses_engine
from gpusched.model.workload.platforms import Platform
from gpusched.model.workload.segments import CopyIn
from gpusched.model.workload.workloads import Workload

__all__ = ["copies_meet"]


def copies_meet(workload: Workload, platform: Platform) -> bool:
    """Whether copies of several tasks use the same engine (a single one, or one per direction)."""
    users: Counter[type] = Counter()
    for task in workload:
        copies: set[type] = {type(part) for part in task.segments if uses_engine(part)}
        users.update({CopyIn} if copies and share_an_engine(platform.copy_engines) else copies)
    return any(count > 1 for count in users.values())
