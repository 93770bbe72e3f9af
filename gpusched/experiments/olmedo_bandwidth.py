"""Model of shared memory bandwidth, fitted to slowdowns such as those of [RTAS20], section V.

A kernel with a footprint of f bytes spends the share f / (f + half) of its time alone on memory
traffic; with a small footprint, its data stay in the cache. While something else with weight w (its
demand for bandwidth relative to that of the kernel) uses the memory, the traffic takes 1 + w times
as long, so that the kernel is slower by the factor 1 + w f / (f + half).
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from gpusched._support.arguments import real
from gpusched._support.text import shown

__all__ = ["PAPER_POINTS", "Bandwidth"]

KB, MB = 1024, 10**6

PAPER_POINTS: tuple[tuple[str, float, float], ...] = (
    ("memcpy", 50 * MB, 3.0),  # Figure 7: "almost 3x", with 50 MB of data
    ("memset", 50 * MB, 8.0),  # Figure 7: "almost 8x"
    ("same GPC", math.inf, 10.0),  # Figure 9: "up to 10x", the limit of large footprints
)
"""Numbers of [RTAS20], section V, as (kind of interference, footprint in bytes, slowdown)."""

_L2 = 512 * KB  # Table I: the L2 cache of TX2 and Xavier
_OTHER_GPC = 0.25  # a fifth block beside four that share the bandwidth equally


@dataclass(frozen=True)
class Bandwidth:
    """Slowdown factors from shared bandwidth: 1 + weight * footprint / (footprint + half).

    Attributes
    ----------
    weights
        Demand for bandwidth relative to that of the kernel, by kind of interference.
    half
        Footprint in bytes at which half of the kernel's time alone is memory traffic.

    >>> model = gs.experiments.Bandwidth({"memcpy": 2.0}, half=500_000)
    >>> model.factor("memcpy", 500_000), model.factor("memcpy", 0)
    (2.0, 1.0)
    """

    weights: Mapping[str, float]
    half: float

    def __post_init__(self) -> None:
        half = real(self.half, "half")
        if not 0 <= half < math.inf:
            raise ValueError(f"half: got {half}, expected a non-negative number of bytes")
        for by, weight in self.weights.items():
            if not 0 <= real(weight, f"weights[{by!r}]") < math.inf:
                raise ValueError(f"weights[{by!r}]: got {weight}, expected a non-negative number")

    def factor(self, by: str, footprint: float) -> float:
        """Slowdown of a kernel with this footprint in bytes while ``by`` uses the memory."""
        if by not in self.weights:
            raise ValueError(f"by: got {shown(by)}, expected one of {', '.join(self.weights)}")
        size = real(footprint, "footprint")
        if not size >= 0:
            raise ValueError(f"footprint: got {size}, expected a non-negative number of bytes")
        return 1 + self.weights[by] * _share(size, self.half)

    def errors(self, points: Iterable[tuple[str, float, float]]) -> list[float]:
        """Factor of the model minus the given slowdown, for points as in ``fit``."""
        return [self.factor(by, footprint) - slowdown for by, footprint, slowdown in points]

    @classmethod
    def fit(
        cls, points: Iterable[tuple[str, float, float]], half: float | None = None
    ) -> Bandwidth:
        """Fit the model to slowdowns by least squares.

        Parameters
        ----------
        points
            Triples (kind of interference, footprint in bytes, slowdown), with slowdowns of at least
            1.
        half
            The parameter ``half`` if it is known. Default: it is fitted, which needs more points
            than there are kinds of interference.

        Raises
        ------
        ValueError
            The points do not determine the parameters, or are out of range.

        >>> measured = [("memset", 10**6, 3.0), ("memset", 10**8, 4.96)]
        >>> round(gs.experiments.Bandwidth.fit(measured).half, -4)
        1000000.0
        """
        given = [_point(point, i) for i, point in enumerate(points)]
        kinds = list(dict.fromkeys(by for by, _, _ in given))
        if not given or (half is None and len(given) <= len(kinds)):
            least = len(kinds) + (half is None)
            raise ValueError(f"points: got {len(given)}, expected at least {max(least, 1)}")
        if half is None:
            sizes = [size for _, size, _ in given if 0 < size < math.inf]
            if not sizes:
                raise ValueError("points: got no positive finite footprint, expected one")
            low, high = math.log(min(sizes)) - 12, math.log(max(sizes)) + 12
            half = math.exp(_least(lambda at: _squares(given, kinds, math.exp(at)), low, high))
        return cls(_weights(given, kinds, half), half)

    @classmethod
    def from_paper(cls) -> Bandwidth:
        """Make the model with the weights that the numbers of [RTAS20], section V, determine.

        ``half`` is the size of the L2 cache (512 KB), because the text gives no slowdown at a
        second footprint and so does not determine it. "other GPC" is a fifth block beside four that
        share the bandwidth equally, 1.25 times as slow; the text gives no number for it.
        """
        model = cls.fit(PAPER_POINTS, half=_L2)
        return cls({**model.weights, "other GPC": _OTHER_GPC}, model.half)


def _point(point: Any, i: int) -> tuple[str, float, float]:
    try:
        by, size, slowdown = point
    except (TypeError, ValueError):
        raise TypeError(
            f"points[{i}]: got {shown(point)}, expected (name, footprint, slowdown)"
        ) from None
    size, slowdown = real(size, f"points[{i}][1]"), real(slowdown, f"points[{i}][2]")
    if not size >= 0:
        raise ValueError(f"points[{i}][1]: got {size}, expected a non-negative number of bytes")
    if not 1 <= slowdown < math.inf:
        raise ValueError(f"points[{i}][2]: got {slowdown}, expected a number from 1 on")
    return by, size, slowdown


def _share(size: float, half: float) -> float:
    """Share of memory traffic in the time of a kernel alone."""
    return 1.0 if math.isinf(size) else size / (size + half) if size else 0.0


def _weights(
    points: list[tuple[str, float, float]], kinds: list[str], half: float
) -> dict[str, float]:
    """The best weights for this ``half``; linear least squares."""
    weights = {}
    for kind in kinds:
        rows = [(_share(size, half), slow - 1) for by, size, slow in points if by == kind]
        under = sum(share**2 for share, _ in rows)
        weights[kind] = sum(share * more for share, more in rows) / under if under else 0.0
    return weights


def _squares(points: list[tuple[str, float, float]], kinds: list[str], half: float) -> float:
    errors = Bandwidth(_weights(points, kinds, half), half).errors(points)
    return math.fsum(error**2 for error in errors)


def _least(cost: Any, low: float, high: float, cells: int = 200) -> float:
    """Least value of a function of one variable: a scan, then golden sections around its best."""
    step = (high - low) / cells
    best = min(range(cells + 1), key=lambda k: cost(low + k * step))
    a, b = low + max(best - 1, 0) * step, low + min(best + 1, cells) * step
    ratio = (math.sqrt(5) - 1) / 2
    while b - a > 1e-9:
        one, two = b - ratio * (b - a), a + ratio * (b - a)
        a, b = (a, two) if cost(one) <= cost(two) else (one, b)
    return (a + b) / 2
