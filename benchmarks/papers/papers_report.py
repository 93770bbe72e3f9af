"""The report on the papers: every claim checked, as a table, an HTML page and JSON.

Finished claims are kept in a folder, so that a report that was interrupted can resume.
"""

from __future__ import annotations

import functools
import hashlib
import json
import os
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from benchmarks.papers.claim import VERDICTS, CheckedClaim, Claim, Finding, Size
from benchmarks.papers.paper_list import PAPERS
from benchmarks.papers.papers_page import page_of
from gpusched._draw import axes as plot
from gpusched._support.arguments import flag, some_of
from gpusched._support.budget import Progress, reporter
from gpusched._support.files import replacing
from gpusched._support.results import Results
from gpusched._support.text import path_text
from gpusched._version import __version__
from gpusched.comparison.documents import json_text
from gpusched.study.execution import worker_count
from gpusched.study.identity.function_reads import code_digest

if TYPE_CHECKING:
    from gpusched._draw.axes import AxesLike

__all__ = ["PapersReport", "report"]

VERSION = 1  # of the JSON document

_FORMAT = "gpusched finding"  # of the file of a finished claim


@dataclass(frozen=True, eq=False, repr=False)
class PapersReport(Results):
    """Table of ``report``: a row per claim, in the order of the papers' texts.

    Columns: ``paper``, ``place``, ``title``, ``says`` (the paper), ``computed`` (this package),
    ``verdict``, ``expected`` (the verdict that is tested), ``because``, ``functions``.

    Attributes
    ----------
    checked : tuple of CheckedClaim
        The claims with their findings, which have the values and the pictures.
    full : bool
        Whether the sizes are those of the papers.
    """

    checked: tuple[CheckedClaim, ...] = ()
    full: bool = False

    @property
    def unexpected(self) -> tuple[CheckedClaim, ...]:
        """Claims whose verdict is not the expected one; empty if everything is as expected."""
        return tuple(one for one in self.checked if not one.expected)

    def document(self) -> dict[str, object]:
        """Return the report as a document of dicts, lists, text and numbers, without pictures."""
        return {
            "format": "gpusched papers",
            "version": VERSION,
            "gpusched": __version__,
            "full": self.full,
            "claims": [_claim_document(one) for one in self.checked],
        }

    def to_html(self) -> str:
        """Return the report as a self-contained HTML page with the pictures."""
        return page_of(self.checked, self.full)

    def save(self, folder: str | os.PathLike[str]) -> tuple[str, ...]:
        """Write ``papers.html`` and ``papers.json`` into a folder, which is created if needed.

        Returns the paths. Each existing file is replaced only when the new one is complete.
        """
        where = path_text(folder, "folder")
        os.makedirs(where, exist_ok=True)
        paths = []
        texts = {"papers.json": json_text(self.document()), "papers.html": self.to_html()}
        for name, text in texts.items():
            path = os.path.join(where, name)
            with replacing(path, "w", encoding="utf-8") as file:
                file.write(text)
            paths.append(path)
        return tuple(reversed(paths))

    def plot(self, axes: AxesLike | None = None) -> Any:
        """Draw the number of claims by verdict, a bar for each paper; return the axes."""
        ax = plot.axes(axes, size=(7.2, 2.8))  # type: ignore[arg-type]
        papers = list(dict.fromkeys(self["paper"].tolist()))
        left = np.zeros(len(papers))
        for index, verdict in enumerate(VERDICTS):
            counts = [int(np.sum(self.where(paper=p)["verdict"] == verdict)) for p in papers]
            ax.barh(papers, counts, left=left, label=verdict, color=plot.color(index))
            left += counts
        ax.invert_yaxis()
        ax.set_xlabel("claims")
        plot.grid(ax, "x")
        plot.legend(ax, loc="upper center", bbox_to_anchor=(0.5, -0.22), ncol=3)
        return ax


def report(
    papers: str | Sequence[str] | None = None,
    *,
    full: bool = False,
    workers: int | None = None,
    progress: Progress = None,
    store: str | os.PathLike[str] | None = None,
) -> PapersReport:
    """Check every claim of the papers: figures, tables, examples, theorems, observations.

    Each claim is a statement of a paper with its numbers. Its check computes them with the public
    functions that the claim names, and gives a verdict: it agrees, agrees in one reading of the
    text, differs (with the reason), needs hardware, or cannot be decided from the text.

    Parameters
    ----------
    papers
        Keys of papers: "ECRTS17", "RTNS24", "RTCSA19", "RTAS20", "RTNS10". Default: all five.
    full
        Whether to use the sizes of the papers, which take hours, instead of small ones, which take
        minutes.
    workers
        Number of threads. Default: the number of CPUs that this process may use.
    progress
        A callable (done, total), in claims, or a bool that turns a progress bar on or off; by
        default a bar appears in a terminal or a notebook. Bars need tqdm.
    store
        Folder for finished claims and the stores of experiments, from which an interrupted report
        resumes; it is created if needed.

    Returns
    -------
    PapersReport
        A table with one row per claim; ``save`` writes it as a page and as JSON.

    Raises
    ------
    TypeError
        An argument has the wrong type.
    ValueError
        A key is unknown, or there is less than one worker.

    Examples
    --------
    >>> found = report("ECRTS17", progress=False)
    >>> found["place"][0], len(found.unexpected)
    ('Section I', 0)
    """
    keys = tuple(PAPERS) if papers is None else some_of(papers, PAPERS, "papers")
    flag(full, "full")
    worker_count(workers)
    folder = None if store is None else Path(path_text(store, "store"))
    if folder is not None:
        os.makedirs(folder, exist_ok=True)
    size = Size(full, workers, folder)
    claims = [(key, claim) for key in keys for claim in PAPERS[key].claims]
    checked = []
    with reporter(progress, len(claims), "claim") as tell:
        for done, (key, claim) in enumerate(claims, 1):
            checked.append(_checked(key, claim, size, folder))
            tell(done)
    return PapersReport(_columns(checked), tuple(checked), full)


def _checked(key: str, claim: Claim, size: Size, folder: Path | None) -> CheckedClaim:
    if folder is not None and (kept := _kept_finding(folder, key, claim, size.full)) is not None:
        return CheckedClaim(key, claim, *kept)
    began = time.perf_counter()
    try:
        finding = claim.finding(size)
    except Exception as error:
        error.add_note(f"in the check of [{key}] {claim.place} ({claim.title})")
        raise
    seconds = time.perf_counter() - began
    values = {name: _plain(value) for name, value in finding.values.items()}
    finding = Finding(finding.computed, finding.verdict, values, finding.picture)
    if folder is not None and claim.check is not None:
        _keep_finding(folder, key, claim, size.full, finding, seconds)
    return CheckedClaim(key, claim, finding, seconds)


def _kept_finding(
    folder: Path, paper: str, claim: Claim, full: bool
) -> tuple[Finding, float] | None:
    """The kept finding and the seconds that it took; None where there is none.

    Its file holds all that identifies it: the version of the package, the text of the claim, the
    code of its check and the size. A file of anything else counts as missing and is replaced.
    """
    path, identity = _file_of(folder, paper, claim, full)
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
        if content["identity"] != identity:
            return None
        return Finding(**content["finding"]), float(content["seconds"])
    except (OSError, ValueError, KeyError, TypeError):  # missing, cut short, of another form
        return None


def _keep_finding(
    folder: Path, paper: str, claim: Claim, full: bool, finding: Finding, seconds: float
) -> None:
    """Write a finding, whose values are plain, into the folder."""
    path, identity = _file_of(folder, paper, claim, full)
    os.makedirs(folder, exist_ok=True)
    content = {"identity": identity, "finding": vars(finding), "seconds": seconds}
    with replacing(path, "w", encoding="utf-8") as file:
        json.dump(content, file, indent=1, allow_nan=False)


def _file_of(folder: Path, paper: str, claim: Claim, full: bool) -> tuple[Path, dict[str, object]]:
    """The file of a claim, and what it has to say of itself."""
    check = claim.check
    while isinstance(check, functools.partial):
        check = check.func
    code = getattr(check, "__code__", None)
    identity: dict[str, object] = {
        "format": _FORMAT,
        "gpusched": __version__,
        "paper": paper,
        "claim": [claim.place, claim.title, claim.says, claim.verdict],
        "check": None if code is None else code_digest(code).hex(),
        "full": full,
    }
    name = hashlib.sha256(f"{claim.place}\n{claim.title}\n{full}".encode()).hexdigest()[:16]
    return folder / f"{paper}-{name}.json", identity


def _columns(checked: Sequence[CheckedClaim]) -> dict[str, Any]:
    columns: dict[str, list[str]] = {
        "paper": [one.paper for one in checked],
        "place": [one.claim.place for one in checked],
        "title": [one.claim.title for one in checked],
        "says": [one.claim.says for one in checked],
        "computed": [one.finding.computed for one in checked],
        "verdict": [one.finding.verdict for one in checked],
        "expected": [one.claim.verdict for one in checked],
        "because": [one.claim.because for one in checked],
        "functions": [", ".join(one.claim.functions) for one in checked],
    }
    return {name: np.array(texts, dtype=object) for name, texts in columns.items()}


def _claim_document(one: CheckedClaim) -> dict[str, object]:
    return {
        "paper": one.paper,
        "place": one.claim.place,
        "title": one.claim.title,
        "says": one.claim.says,
        "computed": one.finding.computed,
        "verdict": one.finding.verdict,
        "expected": one.claim.verdict,
        "because": one.claim.because,
        "functions": list(one.claim.functions),
        "values": dict(one.finding.values),
        "picture": one.finding.picture is not None,
        "seconds": round(one.seconds, 3),
    }


def _plain(value: Any) -> object:
    """A value as JSON holds it; numbers that are not finite as text."""
    if isinstance(value, (np.ndarray, np.generic)):
        value = value.tolist()
    if isinstance(value, float) and not np.isfinite(value):
        return str(value)
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    if isinstance(value, dict):
        return {str(name): _plain(one) for name, one in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(one) for one in value]
    return str(value)
