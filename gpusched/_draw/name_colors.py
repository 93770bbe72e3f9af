"""Colours and legend entries of kernels: one colour for all launches of a name."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from gpusched._draw.axes import PALETTE
from gpusched._draw.timeline import Key
from gpusched._support.arguments import Int64Array
from gpusched._support.text import clip

__all__ = ["NameColors"]

_LEGEND = 10  # names in the legend
_LABEL = 28  # characters of a name
_HALF = 13  # of one that is cut in the middle


class NameColors:
    """Colours of launches by their names: those of ``first``, then in order of first use."""

    def __init__(self, names: Sequence[str], first: Iterable[str] = ()) -> None:
        self.names = names
        self.index: dict[str, int] = {}
        for name in (*first, *names):
            self.index.setdefault(name, len(self.index))

    def color(self, launch: int) -> int:
        """Index of a launch's colour."""
        return self.index[self.names[launch]]

    def classes(self) -> Int64Array:
        """Entry of the palette of each launch, (launches,): colours repeat."""
        found = (self.index[name] % len(PALETTE) for name in self.names)
        return np.fromiter(found, np.int64, len(self.names))

    def used(self, classes: Int64Array) -> set[int]:
        """Indices of the colours that are the given entries of the palette."""
        entries = set(classes.tolist())
        return {k for k in self.index.values() if k % len(PALETTE) in entries}

    def keys(self, colors: Iterable[int | str]) -> list[Key]:
        """Entries of the legend for the colours that are used."""
        used = sorted({color for color in colors if isinstance(color, int)})[:_LEGEND]
        names = list(self.index)
        texts = [clip(names[k], _LABEL) for k in used]
        # Names that begin alike, as those of templates do, are told apart by their ends.
        return [
            Key(
                f"{clip(names[k][:_HALF], _HALF)}…{clip(names[k][-_HALF:], _HALF)}"
                if texts.count(text) > 1
                else text,
                k,
            )
            for k, text in zip(used, texts, strict=True)
        ]
