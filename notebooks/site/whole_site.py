"""Pages, files, search index and link check of the whole site."""

from __future__ import annotations

from pathlib import Path

from guide_pages import guide_pages, project_pages
from link_check import broken_links
from notebook_pages import notebook_pages
from picture_gallery import gallery_page
from reference_pages import reference_pages
from site_map import SiteMap, begin_site
from site_pages import Page, write_assets, write_page
from site_search import write_index

__all__ = ["build"]


def build(output: Path, without: frozenset[str] = frozenset()) -> list[str]:
    """Write the site to a folder, which is emptied first, and return its broken links.

    ``without`` leaves out "notebooks" or "reference"; links to what is left out are not checked.
    FileExistsError for a folder with anything but a site.
    """
    begin_site(output)
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
