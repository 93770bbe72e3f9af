"""Findings of claims in a folder, so that a report that was interrupted goes on where it was.

A file holds one finding with all that identifies it: the version of the package, the text of the
claim, the code of its check and the size. A file of anything else counts as missing and is
replaced.
"""

from __future__ import annotations

import functools
import hashlib
import json
import os
from pathlib import Path

from gpusched._support.files import replacing
from gpusched._version import __version__
from gpusched.experiments.papers.claim import Claim, Finding
from gpusched.study.identity.code_reads import code_digest

__all__ = ["keep_finding", "kept_finding"]

_FORMAT = "gpusched finding"


def kept_finding(
    folder: Path, paper: str, claim: Claim, full: bool
) -> tuple[Finding, float] | None:
    """The kept finding and the seconds that it took; None where there is none."""
    path, identity = _place(folder, paper, claim, full)
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
        if content["identity"] != identity:
            return None
        return Finding(**content["finding"]), float(content["seconds"])
    except (OSError, ValueError, KeyError, TypeError):  # missing, cut short, of another form
        return None


def keep_finding(
    folder: Path, paper: str, claim: Claim, full: bool, finding: Finding, seconds: float
) -> None:
    """Write a finding, whose values are plain, into the folder."""
    path, identity = _place(folder, paper, claim, full)
    os.makedirs(folder, exist_ok=True)
    content = {"identity": identity, "finding": vars(finding), "seconds": seconds}
    with replacing(path, "w", encoding="utf-8") as file:
        json.dump(content, file, indent=1, allow_nan=False)


def _place(folder: Path, paper: str, claim: Claim, full: bool) -> tuple[Path, dict[str, object]]:
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
