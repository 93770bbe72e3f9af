"""Claims of a paper, and the findings of their checks."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, get_args

__all__ = ["VERDICTS", "CheckedClaim", "Claim", "Finding", "Size", "Verdict", "found"]

Verdict = Literal[
    "agrees",
    "agrees in this reading",
    "differs",
    "needs hardware",
    "cannot be decided from the text",
]
"""Agreement of a claim with the numbers that the package computes."""

VERDICTS: tuple[Verdict, ...] = get_args(Verdict)

# Verdicts that take no computation.
_WITHOUT_CHECK: tuple[Verdict, ...] = ("needs hardware", "cannot be decided from the text")


@dataclass(frozen=True)
class Size:
    """Amount of computation of a check, and its stores.

    Attributes
    ----------
    full
        Whether to use the sizes of the paper instead of small ones.
    workers
        Number of threads of a check; None for the number of CPUs.
    folder
        Folder for the stores of experiments; None to keep nothing.
    """

    full: bool = False
    workers: int | None = None
    folder: str | os.PathLike[str] | None = None

    def count(self, small: int, full: int) -> int:
        """``full`` for the sizes of the paper, otherwise ``small``."""
        return full if self.full else small

    def store(self, name: str) -> Path | None:
        """Path of an own file for ``store=`` of an experiment; None to keep nothing."""
        if self.folder is None:
            return None
        return Path(self.folder) / f"{name}-{'full' if self.full else 'small'}.sqlite"


@dataclass(frozen=True)
class Finding:
    """Result of a check.

    >>> Finding("3 of 4", "agrees").verdict
    'agrees'

    Attributes
    ----------
    computed
        A sentence with the computed figures.
    verdict
        The verdict that follows from them.
    values
        The figures by name: numbers, truth values, text, and lists of these.
    picture
        A picture as SVG text; None if there is none.
    """

    computed: str
    verdict: Verdict
    values: Mapping[str, object] = field(default_factory=dict)
    picture: str | None = None


def found(
    holds: bool,
    computed: str,
    values: Mapping[str, object] | None = None,
    picture: str | None = None,
    *,
    reading: bool = False,
) -> Finding:
    """Finding of a check that compared figures: it agrees if ``holds``, otherwise it differs.

    ``reading``: it agrees in one of several readings, which the claim's ``because`` names.
    """
    agrees: Verdict = "agrees in this reading" if reading else "agrees"
    return Finding(computed, agrees if holds else "differs", values or {}, picture)


@dataclass(frozen=True)
class Claim:
    """A statement of a paper.

    >>> def check():
    ...     return Finding("3 of 4", "agrees")
    >>> claim = Claim("Figure 4", "Shares", "Most sets.", (), "agrees", "", check)
    >>> claim.check().verdict == claim.verdict
    True

    Attributes
    ----------
    place
        Its place in the text: "Figure 4", "Theorem 1", "Equation (5)", "Section 5.2".
    title
        Title in a few words.
    says
        The statement with its numbers, paraphrased.
    functions
        Public names of the functions that compute it, such as "gs.analysis.stgm".
    verdict
        The expected verdict, which is tested.
    because
        The reading in which it agrees, the reason for a difference, or what is missing; may be
        empty if it simply agrees.
    check
        Function that computes the finding; None if nothing can be computed.
    """

    place: str
    title: str
    says: str
    functions: tuple[str, ...]
    verdict: Verdict
    because: str = ""
    check: Callable[[Size], Finding] | None = None

    def __post_init__(self) -> None:
        if self.verdict not in VERDICTS:
            raise ValueError(f"verdict: got {self.verdict!r}, expected one of {VERDICTS}")
        if (self.check is None) != (self.verdict in _WITHOUT_CHECK):
            raise ValueError(
                f"check: {self.place} ({self.title}) is expected to be {self.verdict!r}, which "
                f"{'needs a check' if self.check is None else 'takes none'}"
            )
        if self.verdict != "agrees" and not self.because:
            raise ValueError(
                f"because: {self.place} ({self.title}) got nothing, expected the reason of "
                f"{self.verdict!r}"
            )

    def finding(self, size: Size) -> Finding:
        """The result of the check; without one, the expected verdict."""
        return Finding("", self.verdict) if self.check is None else self.check(size)


@dataclass(frozen=True)
class CheckedClaim:
    """A claim of a paper with its finding and the seconds that its check took.

    >>> finding = Finding("3 of 4", "agrees")
    >>> text = ("Figure 4", "Shares", "Most sets.")
    >>> claim = Claim(*text, (), "agrees", "", lambda: finding)
    >>> CheckedClaim("RTNS24", claim, finding, 0.1).finding.computed
    '3 of 4'
    """

    paper: str
    claim: Claim
    finding: Finding
    seconds: float

    @property
    def expected(self) -> bool:
        """Whether the verdict is the expected one."""
        return self.finding.verdict == self.claim.verdict
