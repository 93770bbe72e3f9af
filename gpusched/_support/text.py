"""How values are written in pictures, tables and messages."""

from __future__ import annotations

from decimal import Decimal
from html import escape
from typing import Any

UNITS = {"ns": 1, "us": 10**3, "µs": 10**3, "ms": 10**6, "s": 10**9}
"""Nanoseconds in a unit of time."""


def time_text(ns: int, digits: int) -> str:
    """A time in the largest unit that leaves it at 1 or more: 1.5 ms."""
    for unit in ("s", "ms", "us"):
        if ns >= UNITS[unit]:
            return f"{ns / UNITS[unit]:.{digits}g} {unit}"
    return f"{ns} ns"


def clip(text: str, length: int) -> str:
    """At most ``length`` characters, blanks instead of control characters."""
    text = _printable(text)
    return text if len(text) <= length else f"{text[: length - 1]}…"


def xml(text: str) -> str:
    """Text for an SVG: control characters, which XML cannot hold, become blanks."""
    return escape(_printable(text))


def shown(value: Any, length: int = 60) -> str:
    """A value as an error's text shows it, short."""
    text = str(value) if isinstance(value, (int, float, Decimal)) else repr(value)
    return text if len(text) <= length else f"{text[:length]}..."


def _printable(text: str) -> str:
    return "".join(c if c.isprintable() else " " for c in text)
