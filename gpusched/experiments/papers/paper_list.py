"""The five papers, with their claims in the order of their texts."""

from __future__ import annotations

from dataclasses import dataclass

from gpusched.experiments.papers.claim import Claim
from gpusched.experiments.papers.elliott_claims import CLAIMS as ELLIOTT
from gpusched.experiments.papers.gpusched_claims import CLAIMS as GPUSCHED
from gpusched.experiments.papers.olmedo_claims import CLAIMS as OLMEDO
from gpusched.experiments.papers.stgm_claims import CLAIMS as STGM
from gpusched.experiments.papers.yang_claims import CLAIMS as YANG

__all__ = ["PAPERS", "Paper"]


@dataclass(frozen=True)
class Paper:
    """A paper: its key, authors and title, and its claims."""

    key: str
    authors: str
    title: str
    claims: tuple[Claim, ...]


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
