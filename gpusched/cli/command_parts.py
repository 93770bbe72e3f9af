"""Parts common to the commands: refusals, arguments, aligned text, drawable files, statuses."""

from __future__ import annotations

import argparse
import importlib.util
import math
import os
import re
from collections.abc import Collection, Sequence

from gpusched._support.text import clip, named, time_text

_WORD, _LINE = 400, 4000  # most characters of an error's words and lines that are printed
_CELL = 100  # of a cell of a table
_OPTION_NAMES = {"name": "gpu", "what": "margin", "budget.seconds": "seconds"}


class Refusal(Exception):
    """Request that cannot be fulfilled; the message is the one line that is printed."""


def error_line(text: str) -> str:
    """The text of an error as one line, long words cut and control characters escaped."""
    return named(" ".join(named(word, _WORD) for word in text.split()), _LINE)


def option_head(name: str) -> str:
    """The option of an argument that an error names, with a key as it is typed: mps['a'], --mps a.

    Names of arguments that are not those of their options are translated.
    """
    name, _, key = name.partition("[")
    option = _OPTION_NAMES.get(name, name).replace("_", "-")
    if key.startswith(("'", '"')):
        return f"--{option} {key[1:-2]}"
    return f"--{option}[{key}" if key else f"--{option}"


def as_typed(
    text: str,
    arguments: Sequence[str],
    typed: Sequence[str] = (),
    absent: Collection[str] = (),
) -> str:
    """The text of an error that begins with an argument, with its option if that was typed.

    ``arguments``: those of the command line, whose options may be abbreviated. ``typed``: those of
    ``--option``, such as fixed_point=joint. ``absent``: options that were not typed, one of which
    may be required.
    """
    found = re.match(r"([a-z_.]+(?:\[[^\]]*\])?)(: got .*)", text, re.DOTALL)
    if found is None:
        return text
    if any(found[1] == part.partition("=")[0] for part in typed):
        return f"--option {text}"
    head = option_head(found[1])
    option = re.split(r"[ \[]", head)[0]
    for argument in arguments:
        start = argument.partition("=")[0]
        if len(start) > 2 and start.startswith("--") and option.startswith(start):
            return head + found[2]
    return f"{head}{found[2]}" if found[1] in absent and ": got None" in found[2] else text


def status_of(schedulable: bool | None) -> int:
    """The exit code of an answer: 0 for True, 1 for False, 3 for None."""
    return 3 if schedulable is None else int(not schedulable)


def columns(rows: Sequence[Sequence[str]]) -> str:
    """Rows as aligned text, the first column to the left, the others to the right."""
    rows = _cut(rows)
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return "\n".join(
        "  ".join([row[0].ljust(widths[0]), *map(str.rjust, row[1:], widths[1:])]).rstrip()
        for row in rows
    )


def left_columns(rows: Sequence[Sequence[str]]) -> str:
    """Rows as aligned text, all columns to the left."""
    rows = _cut(rows)
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return "\n".join("  ".join(map(str.ljust, row, widths)).rstrip() for row in rows)


def _cut(rows: Sequence[Sequence[str]]) -> list[list[str]]:
    return [[clip(cell, _CELL) for cell in row] for row in rows]


def duration(ns: int) -> str:
    return time_text(ns, 6)


def positive(text: str) -> int:
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError(f"got {text}, expected a positive number")
    return number


def natural(text: str) -> int:
    number = int(text)
    if number < 0:
        raise argparse.ArgumentTypeError(f"got {text}, expected a non-negative number")
    return number


def real(text: str) -> float:
    number = float(text)
    if math.isinf(number) and "inf" not in text.lower():
        raise argparse.ArgumentTypeError(f"got {text}, expected a number that fits a double")
    return number


real.__name__ = "float"
positive.__name__ = natural.__name__ = "whole number"  # the names in messages of argparse


def slowdown(text: str) -> str | tuple[float, float]:
    """A range of slowdowns: a name, LOW,HIGH, or one number for both."""
    from gpusched.model.batches import SLOWDOWNS

    if text in SLOWDOWNS:
        return text
    try:
        low, high = map(float, text.split(",") if "," in text else (text, text))
    except ValueError:
        known = ", ".join(SLOWDOWNS)
        raise argparse.ArgumentTypeError(
            f"got {text!r}, expected one of {known}, LOW,HIGH or a number"
        ) from None
    if not 1 <= low <= high or math.isinf(high):
        raise argparse.ArgumentTypeError(f"got {text!r}, expected 1 <= LOW <= HIGH")
    return low, high


def shares(text: str) -> dict[str, int | str]:
    """Shares of processes, in percent or as a number of SMs: PROCESS=PERCENT or PROCESS=16SMs."""
    found: dict[str, int | str] = {}
    for part in text.split(","):
        process, _, share = part.rpartition("=")
        number = share.lower().removesuffix("s").removesuffix("sm").strip()
        if not process or not number.isdecimal():
            raise argparse.ArgumentTypeError(
                f"got {text!r}, expected PROCESS=PERCENT,... or PROCESS=16SMs"
            )
        found[process] = int(share) if share.isdecimal() else share
    return found


def engines(text: str) -> int | list[str]:
    """A number of copy engines, or their directions: in,out,both,..."""
    return natural(text) if text.lstrip("-").isdecimal() else text.split(",")


def partitions(text: str) -> list[tuple[tuple[str, ...], int]]:
    """SMs of parts of the GPU: NAME+NAME=SMS,..."""
    found = []
    for part in text.split(","):
        names, _, sms = part.rpartition("=")
        if not names or not sms.isdecimal():
            raise argparse.ArgumentTypeError(
                f"got {text!r}, expected NAME=SMS,... or NAME+NAME=SMS"
            )
        found.append((tuple(names.split("+")), int(sms)))
    return found


def add_quiet(command: argparse.ArgumentParser) -> None:
    """Add the option of commands that show progress."""
    command.add_argument(
        "--quiet", action="store_true", help="print nothing but errors, and show no progress"
    )


def output_folder(path: str | None) -> str | None:
    """The folder of ``--output``, which may be missing; ``Refusal`` for a file."""
    if path is not None and os.path.lexists(path) and not os.path.isdir(path):
        raise Refusal(f"{path}: got a file, expected a folder")
    return path


def drawable(path: str) -> str:
    """Extension of a figure's file; ``Refusal`` when matplotlib cannot write the format."""
    if importlib.util.find_spec("matplotlib") is None:
        raise Refusal("expected matplotlib for drawing: pip install 'gpusched[plot]'")
    import matplotlib
    from matplotlib.figure import Figure

    matplotlib.use("Agg")  # without windows
    known = Figure().canvas.get_supported_filetypes()
    ending = os.path.splitext(path)[1].lstrip(".").lower()
    if ending not in known:
        raise Refusal(f"{path}: got the ending {ending!r}, expected one of {', '.join(known)}")
    return ending
