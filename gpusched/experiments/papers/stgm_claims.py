"""Claims of [RTCSA19] in the order of its text."""

from __future__ import annotations

from gpusched.experiments.papers.rtcsa19.stgm_algorithm_claims import ALGORITHM_CLAIMS
from gpusched.experiments.papers.rtcsa19.stgm_analysis_claims import ANALYSIS_CLAIMS
from gpusched.experiments.papers.rtcsa19.stgm_evaluation_claims import EVALUATION_CLAIMS
from gpusched.experiments.papers.rtcsa19.stgm_model_claims import MODEL_CLAIMS

__all__ = ["CLAIMS"]

CLAIMS = (*MODEL_CLAIMS, *ANALYSIS_CLAIMS, *ALGORITHM_CLAIMS, *EVALUATION_CLAIMS)
