"""Claims of the papers compared with the results of the package: ``python -m benchmarks.papers``.

To be run in the root of the repository; ``--help`` lists the options. All five papers take minutes,
with ``--full`` hours.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence

from benchmarks.papers.papers_report import PapersReport, report
from gpusched._support.text import named
from gpusched.cli.command_parts import add_quiet, left_columns, output_folder, positive
from gpusched.cli.main import Parser, run_parsed
from gpusched.comparison.documents import json_text

__all__ = ["main"]


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command and return its exit code."""
    return run_parsed(parser, arguments)


def parser() -> argparse.ArgumentParser:
    """The parser of the command line."""
    papers = Parser(
        prog="python -m benchmarks.papers",
        description="Checks every claim of the papers by computation and prints the verdicts: it "
        "agrees, agrees in one reading of the text, differs (with the reason), needs hardware, or "
        "cannot be decided from the text.",
        epilog="Exit code: 0 when every verdict is as expected, 1 otherwise, 2 for an error.",
    )
    papers.add_argument(
        "key",
        nargs="*",
        metavar="KEY",
        help="ECRTS17, RTNS24, RTCSA19, RTAS20 or RTNS10 (default: all five)",
    )
    papers.add_argument(
        "--full",
        action="store_true",
        help="use the sizes of the papers, which takes hours (see --output)",
    )
    papers.add_argument(
        "--output",
        metavar="DIR",
        help="write papers.html and papers.json into this folder, which is created if needed; with "
        "--full, finished claims are kept in DIR/findings, from which the next run resumes",
    )
    papers.add_argument("--json", action="store_true", help="print one JSON document")
    papers.add_argument(
        "--workers", type=positive, metavar="N", help="number of threads (default: usable CPUs)"
    )
    add_quiet(papers)
    papers.set_defaults(run=run, command="papers")
    return papers


def run(options: argparse.Namespace) -> int:
    """Check the claims, print or write what was asked for, and return the exit code."""
    folder = output_folder(options.output)
    store = os.path.join(folder, "findings") if folder is not None and options.full else None
    found = report(
        options.key or None,
        full=options.full,
        workers=options.workers,
        progress=False if options.quiet else None,
        store=store,
    )
    written: Sequence[str] = () if folder is None else found.save(folder)
    if options.json:
        print(json_text(found.document()), end="")
    elif not options.quiet:
        print(table(found))
        if written:
            print(f"\nwrote {named(written[0], 300)}, {os.path.basename(written[1])}")
    return int(bool(found.unexpected))


def table(found: PapersReport) -> str:
    """A line per claim with its verdict."""
    rows = [("paper", "place", "claim", "verdict")]
    for one in found.checked:
        wrong = "" if one.expected else f" (expected: {one.claim.verdict})"
        rows.append((one.paper, one.claim.place, one.claim.title, one.finding.verdict + wrong))
    return left_columns(rows)


if __name__ == "__main__":
    sys.exit(main())
