"""Launches as a table of HTML."""

from __future__ import annotations

from typing import Any

import numpy as np

from gpusched._support.text import clip, escape
from gpusched.model.launching.launch_columns import COLUMNS, KINDS

__all__ = ["html_of"]

_NONE = ("carveout", "graph", "trigger")  # -1: none
_USUAL = dict.fromkeys(COLUMNS, 0) | dict.fromkeys(_NONE, -1) | {"cluster": 1}
_SHOWN = 40


def html_of(launches: Any) -> str:
    """The first launches, with the columns in which at least one differs from the default."""
    shown = [
        key
        for key, value in _USUAL.items()
        if key == "time" or (getattr(launches, key) != value).any()
    ]
    if np.array_equal(launches.longest, launches.duration):
        shown.remove("longest")
    head = "".join(f"<th>{key}</th>" for key in ("", *shown))
    body = []
    for i in range(min(len(launches), _SHOWN)):
        cells = []
        for key in shown:
            value = int(getattr(launches, key)[i])
            text = str(value)
            if key == "kind":
                text = KINDS[value].replace("_", " ")
            elif key in ("cooperative", "programmatic"):
                text = "yes" if value else "no"
            elif key == "stream":
                text = clip(launches.stream_name[value], 40)
            elif value < 0 and key in _NONE:
                text = "–"
            cells.append(f"<td>{escape(text)}</td>")
        body.append(f"<tr><th>{escape(clip(launches.name[i], 60))}</th>{''.join(cells)}</tr>")
    more = len(launches) - _SHOWN
    note = f"<p>and {more} more launches</p>" if more > 0 else ""
    return f"<table><tr>{head}</tr>{''.join(body)}</table>{note}"
