"""Website of the project: guide, notebooks, gallery and reference, written to ``build/site``.

    python notebooks/site/build.py [--output FOLDER] [--without notebooks reference]

Needs the extra ``docs``. Ends with a list of broken links and status 1 where there are any.
"""

from __future__ import annotations

import argparse
import shutil
import sys
from pathlib import Path

from guide_pages import guide_pages, project_pages
from link_check import broken_links
from notebook_pages import notebook_pages
from picture_gallery import gallery_page
from reference_pages import reference_pages
from site_map import ROOT, SiteMap
from site_pages import Page, write_assets, write_page
from site_search import write_index

SITE = ROOT / "build" / "site"


def build(output: Path, without: frozenset[str] = frozenset()) -> list[str]:
    """Write the site to a folder, which is emptied first, and return its broken links.

    ``without`` leaves out "notebooks" or "reference"; links to what is left out are not checked.
    """
    if output.exists():
        shutil.rmtree(output)
    output.mkdir(parents=True)
    site = SiteMap(output)
    pages: list[Page] = []
    pictures = []
    if "notebooks" not in without:
        made, pictures = notebook_pages(site)
        pages += made
    pages += guide_pages(site)
    pages += project_pages(site)
    pages.append(gallery_page(site, pictures))
    if "reference" not in without:
        pages += reference_pages(site)
    for page in pages:
        write_page(site, page)
    write_assets(site)
    write_index(site, pages)
    site.copy_files()
    return broken_links(output, without)


def main() -> int:
    parser = argparse.ArgumentParser(description="Build the website of gpusched.")
    parser.add_argument("--output", type=Path, default=SITE, help="folder, emptied first")
    parser.add_argument(
        "--without", nargs="*", default=[], choices=["notebooks", "reference"], help="parts to skip"
    )
    options = parser.parse_args()
    broken = build(options.output, frozenset(options.without))
    for line in broken:
        print(line, file=sys.stderr)
    pages = len(list(options.output.rglob("*.html")))
    print(f"{pages} pages in {options.output}, {len(broken)} broken links")
    return 1 if broken else 0


if __name__ == "__main__":
    sys.exit(main())
