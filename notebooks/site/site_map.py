"""Files of the repository and their places on the site; names of the package and theirs."""

from __future__ import annotations

import inspect
import os
import re
import shutil
from pathlib import Path

import gpusched as gs

ROOT = Path(__file__).resolve().parents[2]
GUIDE = ROOT / "notebooks" / "guide"
NOTEBOOKS = ROOT / "notebooks"

PROJECT = {
    "CHANGELOG.md": "changelog.html",
    "CONTRIBUTING.md": "contributing.html",
    "SECURITY.md": "security.html",
    "csrc/README.md": "source/csrc.html",
    "gpusched/README.md": "source/gpusched.html",
    "tests/README.md": "source/tests.html",
    "notebooks/README.md": "source/notebooks.html",
    "benchmarks/README.md": "source/benchmarks.html",
}
"""Texts of the repository that are pages, beside the README and the guide."""

INDEX = "assets/search-index.js"
"""The index of the search, a file that every site has."""

_NAME = re.compile(r"gs(?:\.[A-Za-z]\w*)+")


class SiteMap:
    """Addresses of pages, relative to the root of the site, and the files that go with them."""

    def __init__(self, output: Path) -> None:
        self.output = output
        self._copies: dict[Path, str] = {}

    def address(self, path: Path) -> str:
        """The address of a file of the repository, which is copied unless it becomes a page."""
        name = path.relative_to(ROOT).as_posix()
        if name == "README.md":
            return "index.html"
        if name in PROJECT:
            return PROJECT[name]
        if path.parent == GUIDE and path.suffix == ".md":
            return f"guide/{path.stem}.html"
        if path.parent == NOTEBOOKS and path.suffix == ".ipynb":
            return f"notebooks/{path.stem}.html"
        return self.copied(path)

    def copied(self, path: Path) -> str:
        """The address of a copy of a file of the repository."""
        name = path.relative_to(ROOT).as_posix()
        address = f"files/{name}" if path.suffix else f"files/{name}.txt"
        self._copies[path] = address
        return address

    def link(self, url: str, source: Path, page: str) -> str:
        """The link of a text, which leads from its file to another, as one from its page."""
        if re.match(r"[a-z]+:|#", url):
            return url
        target, mark, fragment = url.partition("#")
        path = Path(os.path.normpath(source.parent / target))
        if not path.is_file():
            raise FileNotFoundError(f"{source.relative_to(ROOT)}: no file {url}")
        return relative(self.address(path), page) + mark + fragment

    def copy_files(self) -> None:
        """Copy the files that pages link to."""
        for path, address in self._copies.items():
            target = self.output / address
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(path, target)


def begin_site(folder: Path) -> None:
    """Make a folder with an empty index, in the place of a site; FileExistsError for others."""
    if folder.is_dir() and any(folder.iterdir()):
        if not (folder / INDEX).is_file():
            raise FileExistsError(f"{folder}: got a folder with other files, expected a site")
        shutil.rmtree(folder)
    (folder / INDEX).parent.mkdir(parents=True)
    (folder / INDEX).touch()  # a site that was begun can be replaced, too


def relative(address: str, page: str) -> str:
    """An address as it is written on another page of the site."""
    return os.path.relpath(address, os.path.dirname(page) or ".").replace(os.sep, "/")


def reference_address(text: str) -> str | None:
    """The address in the reference of the public name that a piece of code begins with."""
    found = _NAME.match(text)
    if found is None:
        return None
    module, page, parts = gs, "gpusched", found[0].split(".")[1:]
    while parts and inspect.ismodule(getattr(module, parts[0], None)):
        module = getattr(module, parts[0])
        page += "/" + parts.pop(0)
    members: list[str] = []
    owner: object = module
    for part in parts:
        if part not in dir(owner) or (owner is not module and not inspect.isclass(owner)):
            return None
        owner = getattr(owner, part)
        members.append(part)
    address = f"reference/{page}.html"
    return f"{address}#{'.'.join(members)}" if members else address
