"""The five papers, with their claims in the order of their texts."""

from __future__ import annotations

from dataclasses import dataclass

from benchmarks.papers.claim import Claim
from benchmarks.papers.ecrts17 import yang_bound_claims, yang_model_claims, yang_rule_claims
from benchmarks.papers.rtas20 import (
    olmedo_balance_claims,
    olmedo_hierarchy_claims,
    olmedo_memory_claims,
    olmedo_occupancy_claims,
    olmedo_placement_claims,
    olmedo_platform_claims,
)
from benchmarks.papers.rtcsa19.stgm_algorithm_claims import ALGORITHM_CLAIMS
from benchmarks.papers.rtcsa19.stgm_analysis_claims import ANALYSIS_CLAIMS
from benchmarks.papers.rtcsa19.stgm_evaluation_claims import EVALUATION_CLAIMS
from benchmarks.papers.rtcsa19.stgm_model_claims import MODEL_CLAIMS as STGM_MODEL_CLAIMS
from benchmarks.papers.rtns10.elliott_container_claims import CONTAINER_CLAIMS
from benchmarks.papers.rtns10.elliott_lock_claims import LOCK_CLAIMS
from benchmarks.papers.rtns10.elliott_machine_claims import MACHINE_CLAIMS
from benchmarks.papers.rtns10.elliott_method_claims import METHOD_CLAIMS
from benchmarks.papers.rtns10.elliott_sets_claims import SET_CLAIMS
from benchmarks.papers.rtns10.elliott_study_claims import STUDY_CLAIMS
from benchmarks.papers.rtns24.gpusched_example_claims import EXAMPLE_CLAIMS
from benchmarks.papers.rtns24.gpusched_figure_claims import ABSTRACT, FIGURE_CLAIMS
from benchmarks.papers.rtns24.gpusched_graph_claims import GRAPH_CLAIMS
from benchmarks.papers.rtns24.gpusched_graph_size_claims import GRAPH_SIZE_CLAIMS
from benchmarks.papers.rtns24.gpusched_merge_claims import MERGE_CLAIMS
from benchmarks.papers.rtns24.gpusched_model_claims import MODEL_CLAIMS
from benchmarks.papers.rtns24.gpusched_use_claims import USE_CLAIMS

__all__ = ["PAPERS", "Paper"]


@dataclass(frozen=True)
class Paper:
    """A paper: its key, authors and title, and its claims."""

    key: str
    authors: str
    title: str
    claims: tuple[Claim, ...]


YANG: tuple[Claim, ...] = (  # those of the abstract at the end
    *yang_rule_claims.CLAIMS,
    *yang_model_claims.CLAIMS,
    *yang_bound_claims.CLAIMS,
)
GPUSCHED: tuple[Claim, ...] = (
    ABSTRACT,
    *MODEL_CLAIMS,
    *EXAMPLE_CLAIMS,
    *GRAPH_CLAIMS,
    *MERGE_CLAIMS,
    *USE_CLAIMS,
    *FIGURE_CLAIMS,
    *GRAPH_SIZE_CLAIMS,
)
STGM: tuple[Claim, ...] = (
    *STGM_MODEL_CLAIMS,
    *ANALYSIS_CLAIMS,
    *ALGORITHM_CLAIMS,
    *EVALUATION_CLAIMS,
)
OLMEDO: tuple[Claim, ...] = (
    *olmedo_platform_claims.CLAIMS,
    *olmedo_hierarchy_claims.CLAIMS,
    *olmedo_occupancy_claims.OCCUPANCY,
    *olmedo_placement_claims.CLAIMS,
    *olmedo_balance_claims.CLAIMS,
    *olmedo_occupancy_claims.SHARED_MEMORY,
    *olmedo_memory_claims.CLAIMS,
)
ELLIOTT: tuple[Claim, ...] = (
    *METHOD_CLAIMS,
    *LOCK_CLAIMS,
    *CONTAINER_CLAIMS,
    *SET_CLAIMS,
    *STUDY_CLAIMS[:-1],
    *MACHINE_CLAIMS,
    STUDY_CLAIMS[-1],
)

PAPERS = {
    paper.key: paper
    for paper in (
        Paper(
            "ECRTS17",
            "Yang and Anderson, ECRTS work in progress 2017",
            "Response-Time Bounds for Concurrent GPU Scheduling",
            YANG,
        ),
        Paper(
            "RTNS24",
            "Feddal, Zahaf and Lipari, RTNS 2024",
            "Towards Efficient Parallel GPU Scheduling",
            GPUSCHED,
        ),
        Paper("RTCSA19", "Saha, Xiang and Kim, RTCSA 2019", "STGM", STGM),
        Paper(
            "RTAS20",
            "Sañudo Olmedo, Capodieci, Martinez, Marongiu and Bertogna, RTAS 2020",
            "Dissecting the CUDA scheduling hierarchy",
            OLMEDO,
        ),
        Paper(
            "RTNS10",
            "Elliott and Anderson, RTNS 2010",
            "Globally Scheduled Real-Time Multiprocessor Systems with GPUs",
            ELLIOTT,
        ),
    )
}
"""The papers by their keys."""
