"""Claims of [RTAS20] in the order of its text."""

from __future__ import annotations

from gpusched.experiments.papers.rtas20 import (
    olmedo_balance_claims,
    olmedo_hierarchy_claims,
    olmedo_memory_claims,
    olmedo_occupancy_claims,
    olmedo_placement_claims,
    olmedo_platform_claims,
)

__all__ = ["CLAIMS"]

CLAIMS = (
    *olmedo_platform_claims.CLAIMS,
    *olmedo_hierarchy_claims.CLAIMS,
    *olmedo_occupancy_claims.OCCUPANCY,
    *olmedo_placement_claims.CLAIMS,
    *olmedo_balance_claims.CLAIMS,
    *olmedo_occupancy_claims.SHARED_MEMORY,
    *olmedo_memory_claims.CLAIMS,
)
