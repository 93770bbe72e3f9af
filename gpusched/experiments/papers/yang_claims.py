"""Claims of [ECRTS17] in the order of its text, those of the abstract at the end."""

from __future__ import annotations

from gpusched.experiments.papers.ecrts17 import (
    yang_bound_claims,
    yang_model_claims,
    yang_rule_claims,
)

__all__ = ["CLAIMS"]

CLAIMS = (*yang_rule_claims.CLAIMS, *yang_model_claims.CLAIMS, *yang_bound_claims.CLAIMS)
