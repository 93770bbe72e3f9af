"""Index of the search: a piece of text per heading, and per name of the reference.

An entry has the beginning of its text, of which an excerpt is shown, and the further words of the
rest, each once.
"""

from __future__ import annotations

import html
import json
import re

from site_map import INDEX, SiteMap
from site_pages import Page

__all__ = ["write_index"]

_PIECE = re.compile(
    r'<(h[123]|section|div)\b[^>]*? id="([^"]+)"[^>]*>(.*?)'
    r'(?=<(?:h[123]|section|div)\b[^>]*? id="|\Z)',
    re.DOTALL,
)
_SIGNATURE = re.compile(r'<div class="attr\b.*?</div>', re.DOTALL)  # has names that are elsewhere
_SHOWN = 1000  # characters of a text; its other words are listed
_WORD = re.compile(r"[\w.-]*\w")


def _plain(body: str) -> str:
    body = re.sub(r"<(style|script|annotation)\b.*?</\1>", "", body, flags=re.DOTALL)
    body = body.replace("<h5>Inherited Members</h5>", "")  # of no member
    return " ".join(html.unescape(re.sub(r"<[^>]+>", " ", body)).split())


def _entries(page: Page) -> list[dict[str, str]]:
    reference = page.address.startswith("reference/")
    found = []
    first = _PIECE.search(page.body)
    opening = page.body[: first.start()] if first else page.body
    if _plain(opening):
        found.append(("", page.title, _plain(opening)))
    for tag, name, piece in _PIECE.findall(page.body):
        if name.endswith(".__init__"):
            continue
        heading, _, text = piece.partition(f"</{tag}>") if tag[0] == "h" else ("", "", piece)
        text = _SIGNATURE.sub("", text)
        title = f"{page.title}.{name}".replace("gpusched", "gs", 1) if reference else ""
        found.append((f"#{name}", title or _plain(heading), _plain(text)))
    return [
        {
            "address": page.address + anchor,
            "title": title,
            "page": page.title,
            "text": text[:_SHOWN],
            **({"words": words} if (words := _words(text)) else {}),
        }
        for anchor, title, text in found
    ]


def _words(text: str) -> str:
    """The words behind the shown part, each once, but for those that are part of what is before."""
    place = text.rfind(" ", 0, _SHOWN) + 1 if len(text) > _SHOWN else len(text)
    known = text[:_SHOWN].lower()
    found = []
    for word in sorted(set(_WORD.findall(text[place:].lower())), key=len, reverse=True):
        if word not in known:
            found.append(word)
            known += f" {word}"
    return " ".join(sorted(found))


def write_index(site: SiteMap, pages: list[Page]) -> None:
    """Write the index as a script, which works from a file, too."""
    entries = [entry for page in pages for entry in _entries(page)]
    text = json.dumps(entries, ensure_ascii=False, separators=(",", ":"))
    (site.output / INDEX).write_text(f"window.SEARCH_INDEX={text};", "utf-8")
