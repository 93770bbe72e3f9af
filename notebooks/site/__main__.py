"""Website of the project: guide, notebooks, gallery and reference, written to ``build/site``.

    python notebooks/site [--output FOLDER] [--without notebooks reference]

Needs the extra ``docs``. Ends with a list of broken links and status 1 where there are any.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from site_map import ROOT
from whole_site import build

SITE = ROOT / "build" / "site"


def main() -> int:
    parser = argparse.ArgumentParser(description="Build the website of gpusched.")
    parser.add_argument(
        "--output",
        type=Path,
        default=SITE,
        help="folder: new, empty, or with a site, which is removed",
    )
    parser.add_argument(
        "--without", nargs="*", default=[], choices=["notebooks", "reference"], help="parts to skip"
    )
    options = parser.parse_args()
    try:
        broken = build(options.output, frozenset(options.without))
    except FileExistsError as error:
        parser.error(str(error))
    for line in broken:
        print(line, file=sys.stderr)
    pages = len(list(options.output.rglob("*.html")))
    print(f"{pages} pages in {options.output}, {len(broken)} broken links")
    return 1 if broken else 0


if __name__ == "__main__":
    sys.exit(main())
