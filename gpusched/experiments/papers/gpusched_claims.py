"""Claims of [RTNS24], in the order of its text."""

from __future__ import annotations

from gpusched.experiments.papers.claim import Claim
from gpusched.experiments.papers.gpusched_example_claims import EXAMPLE_CLAIMS
from gpusched.experiments.papers.gpusched_figure_claims import ABSTRACT, FIGURE_CLAIMS
from gpusched.experiments.papers.gpusched_graph_claims import GRAPH_CLAIMS
from gpusched.experiments.papers.gpusched_merge_claims import MERGE_CLAIMS
from gpusched.experiments.papers.gpusched_model_claims import MODEL_CLAIMS
from gpusched.experiments.papers.gpusched_use_claims import USE_CLAIMS

__all__ = ["CLAIMS"]

CLAIMS: tuple[Claim, ...] = (
    ABSTRACT,
    *MODEL_CLAIMS,
    *EXAMPLE_CLAIMS,
    *GRAPH_CLAIMS,
    *MERGE_CLAIMS,
    *USE_CLAIMS,
    *FIGURE_CLAIMS,
)
