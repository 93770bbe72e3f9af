"""Parts common to the commands: refusals, numbers as arguments, aligned text, drawable files."""

from __future__ import annotations

import argparse
import importlib.util
import os
from collections.abc import Sequence

from gpusched._support.text import time_text


class Refusal(Exception):
    """What the user asked for cannot be done; the message is the one line that is shown."""


def columns(rows: Sequence[Sequence[str]]) -> str:
    """Rows as aligned text, the first column to the left, the others to the right."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return "\n".join(
        "  ".join([row[0].ljust(widths[0]), *map(str.rjust, row[1:], widths[1:])]).rstrip()
        for row in rows
    )


def duration(ns: int) -> str:
    return time_text(ns, 6)


def positive(text: str) -> int:
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError(f"{text} is not at least 1")
    return number


def natural(text: str) -> int:
    number = int(text)
    if number < 0:
        raise argparse.ArgumentTypeError(f"{text} is negative")
    return number


positive.__name__ = natural.__name__ = "whole number"  # how argparse calls it


def drawable(path: str) -> str:
    """The ending of a figure's file; refuses what could not be drawn in the end."""
    if importlib.util.find_spec("matplotlib") is None:
        raise Refusal("drawing needs matplotlib: pip install 'gpusched[plot]'")
    import matplotlib
    from matplotlib.figure import Figure

    matplotlib.use("Agg")  # no window, also where there is a display
    known = Figure().canvas.get_supported_filetypes()
    ending = os.path.splitext(path)[1].lstrip(".").lower()
    if ending not in known:
        raise Refusal(f"{path}: cannot draw a file of this ending; known are {', '.join(known)}")
    return ending
