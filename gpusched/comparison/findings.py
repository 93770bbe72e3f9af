"""Contents of a comparison, for its documents and reports."""

from __future__ import annotations

from dataclasses import dataclass

from gpusched.comparison.advice import Advice
from gpusched.comparison.margins import Margin
from gpusched.comparison.rows import Row
from gpusched.model.workload.platforms import Platform
from gpusched.model.workload.workloads import Workload


@dataclass(frozen=True)
class Findings:
    """Parts of a comparison, its best margin, or advice where there is none.

    ``verdict`` is that of the comparison. ``best`` is None if no row guarantees all deadlines, not
    even under conditions; ``margins`` tells whether margins were computed at all.
    """

    workload: Workload
    platform: Platform
    rows: tuple[Row, ...]
    schedulable: bool | None
    verdict: str
    impossible: tuple[str, ...]
    notes: tuple[str, ...]
    seconds: float
    best: Margin | None
    advice: Advice | None
    margins: bool
