"""Claims of [RTNS10] in the order of its text."""

from __future__ import annotations

from gpusched.experiments.papers.rtns10.elliott_container_claims import CONTAINER_CLAIMS
from gpusched.experiments.papers.rtns10.elliott_lock_claims import LOCK_CLAIMS
from gpusched.experiments.papers.rtns10.elliott_machine_claims import MACHINE_CLAIMS
from gpusched.experiments.papers.rtns10.elliott_method_claims import METHOD_CLAIMS
from gpusched.experiments.papers.rtns10.elliott_sets_claims import SET_CLAIMS
from gpusched.experiments.papers.rtns10.elliott_study_claims import STUDY_CLAIMS

__all__ = ["CLAIMS"]

CLAIMS = (
    *METHOD_CLAIMS,
    *LOCK_CLAIMS,
    *CONTAINER_CLAIMS,
    *SET_CLAIMS,
    *STUDY_CLAIMS[:-1],
    *MACHINE_CLAIMS,
    STUDY_CLAIMS[-1],
)
