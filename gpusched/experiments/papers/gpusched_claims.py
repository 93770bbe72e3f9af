"""Claims of [RTNS24], in the order of its text."""

from __future__ import annotations

from gpusched.experiments.papers.claim import Claim
from gpusched.experiments.papers.rtns24.gpusched_example_claims import EXAMPLE_CLAIMS
from gpusched.experiments.papers.rtns24.gpusched_figure_claims import ABSTRACT, FIGURE_CLAIMS
from gpusched.experiments.papers.rtns24.gpusched_graph_claims import GRAPH_CLAIMS
from gpusched.experiments.papers.rtns24.gpusched_graph_size_claims import GRAPH_SIZE_CLAIMS
from gpusched.experiments.papers.rtns24.gpusched_merge_claims import MERGE_CLAIMS
from gpusched.experiments.papers.rtns24.gpusched_model_claims import MODEL_CLAIMS
from gpusched.experiments.papers.rtns24.gpusched_use_claims import USE_CLAIMS

__all__ = ["CLAIMS"]

CLAIMS: tuple[Claim, ...] = (
    ABSTRACT,
    *MODEL_CLAIMS,
    *EXAMPLE_CLAIMS,
    *GRAPH_CLAIMS,
    *MERGE_CLAIMS,
    *USE_CLAIMS,
    *FIGURE_CLAIMS,
    *GRAPH_SIZE_CLAIMS,
)
