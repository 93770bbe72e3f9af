"""Figures 7 to 9 of [RTAS20]: slowdown of kernels by copies and by other kernels.

The paper measures these slowdowns and has no formula for them. Here they are inputs: given factors
(``interference="given"``), or those of a model of shared memory bandwidth whose parameters are
fitted to the paper's numbers (``interference="bandwidth"``). The figures show their effect in a
schedule.

In that model, a kernel with a footprint of f bytes spends the share f / (f + half) of its time
alone on memory traffic; with a small footprint, its data stay in the cache. While something else
with weight w (its demand for bandwidth relative to that of the kernel) uses the memory, the traffic
takes 1 + w times as long, so that the kernel is slower by the factor 1 + w f / (f + half).
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any

import numpy as np

from gpusched._draw import axes as plot
from gpusched._support.arguments import instance, integer, one_of, real
from gpusched._support.results import Results, by_column
from gpusched._support.text import shown

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from gpusched.model.gpu import GPU

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


_FOOTPRINTS = (512 * 1024, 2 * 10**6, 5 * 10**6, 20 * 10**6, 50 * 10**6, 500 * 10**6)
_VECTOR = 50 * 10**6  # bytes of the kernel in Figure 7
_SOURCES = {
    "given": "the factors are inputs, not results",
    "bandwidth": "factors of a bandwidth model, fitted to the text's numbers",
}


class Contention(Results):
    """Table of ``olmedo_fig7``, ``olmedo_fig8`` or ``olmedo_fig9``.

    >>> table = gs.experiments.olmedo_fig7(processes=(0, 1))
    >>> list(table.columns)[:5], len(table)
    (['by', 'processes', 'factor', 'response', 'relative'], 4)
    """

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw the response time relative to that of the kernel alone; returns the axes.

        The title states the source of the slowdown factors.
        """
        ax = plot.axes(ax, (5.6, 3.8))
        x = "processes" if "processes" in self.columns else "footprint"
        for index, by in enumerate(dict.fromkeys(self["by"].tolist())):
            rows = self.where(by=by)
            style: dict[str, Any] = {
                "marker": plot.MARKERS[index % len(plot.MARKERS)],
                "markersize": 4.5,
            }
            ax.plot(rows[x], rows["relative"], color=plot.color(index), label=by, **style)
        ax.set_ylabel("response time / alone")
        ax.set_ylim(bottom=0)
        if x == "processes":
            ax.set_xlabel("interfering processes")
            ax.set_xticks(sorted({int(value) for value in self[x]}))
        else:
            ax.set_xscale("log")
            ax.set_xlabel("footprint (bytes)")
        if len(self):
            plot.legend(ax, frameon=False, fontsize=9)
            source = _SOURCES[str(self["source"][0])]
            ax.set_title(source, fontsize=9, color=plot.MUTED)
        plot.grid(ax)
        return ax


def _chosen(
    interference: str, model: Bandwidth | None, given: Any, name: str = "factors"
) -> Bandwidth | None:
    """The model, None where the factors are given."""
    one_of(interference, _SOURCES, "interference")
    if interference == "given":
        if model is not None:
            raise ValueError("model: got a model, expected one with interference='bandwidth' only")
        return None
    if given is not None:
        raise ValueError(f"{name}: got some, expected none with interference='bandwidth'")
    if model is None:
        return Bandwidth.from_paper()
    instance(model, Bandwidth, "model")
    return model


def _modelled(
    chosen: Bandwidth | None,
    factors: Mapping[int, tuple[float, float]] | None,
    footprints: Sequence[int],
    names: tuple[str, str],
) -> Mapping[int, tuple[float, float]]:
    """Pairs of factors by footprint: the model's, or those given."""
    if chosen is not None:
        one, other = names
        return {f: (chosen.factor(one, f), chosen.factor(other, f)) for f in footprints}
    if factors is None:
        raise ValueError("factors: got None, expected some with interference='given'")
    return factors


def _factor(value: Any, name: str) -> float:
    """A slowdown factor, from 1 to 1000."""
    try:
        factor = float(value)
    except (TypeError, ValueError):
        raise TypeError(f"{name}: got {shown(value)}, expected a number") from None
    if not 1 <= factor <= 1000:
        raise ValueError(f"{name}: got {factor}, expected 1 to 1000")
    return factor


def _pairs(
    factors: Mapping[int, tuple[float, float]], bandwidth: int
) -> list[tuple[int, int, tuple[float, float]]]:
    """Footprints, times of a kernel of each alone, and the two factors."""
    if integer(bandwidth, "bandwidth") < 1:
        raise ValueError(f"bandwidth: got {bandwidth}, expected a positive number")
    rows = []
    for footprint, given in factors.items():
        name, size = f"factors[{footprint}]", integer(footprint, "footprint")
        if size < 1:
            raise ValueError(f"footprint: got {size}, expected a positive number")
        if np.shape(given) != (2,):
            raise TypeError(f"{name}: got {shown(given)}, expected two numbers")
        one, other = (_factor(value, f"{name}[{k}]") for k, value in enumerate(given))
        rows.append((size, -(-size // bandwidth), (one, other)))
    return rows


def olmedo_fig7(
    factors: Mapping[str, float] | None = None,
    processes: Sequence[int] = (0, 1, 2, 3, 4),
    *,
    kernel: int = 1000,
    copy: int = 100,
    period: int = 300,
    gpu: GPU | str = "TX2",
    interference: str = "given",
    model: Bandwidth | None = None,
) -> Contention:
    """Simulate Figure 7 of [RTAS20]: slowdown of a kernel by copies of other applications.

    The kernel's application uses the SMs alone. Each of the other processes copies for ``copy``
    ticks in every ``period`` ticks, one after the other on the copy engine. Meanwhile, the kernel's
    blocks are slower by a factor, which is an input.

    >>> gs.experiments.olmedo_fig7(processes=(0, 1))["response"].tolist()
    [1000, 1334, 1000, 1438]

    Parameters
    ----------
    factors
        Slowdown factors by operation; these are inputs, not results. Default: the largest values
        that the paper reports for Pascal, almost 3 for memcpy and almost 8 for memset.
    processes
        Numbers of interfering processes.
    kernel, copy, period
        Time of the kernel alone, time of a copy, and period of the copies, in ticks.
    gpu
        As in ``gs.simulate.hierarchy``.
    interference, model
        "given": the factors above. "bandwidth": those of the ``Bandwidth`` given as ``model``, by
        default the one fitted to the paper's numbers, for 50 MB of data.

    Returns
    -------
    Contention
        Rows with columns by (the operation), processes, factor, response, relative and source.
    """
    chosen = _chosen(interference, model, factors)
    given = {"memcpy": 3.0, "memset": 8.0} if factors is None else factors
    if chosen is not None:
        given = {by: chosen.factor(by, _VECTOR) for by in ("memcpy", "memset")}
    values = {"kernel": kernel, "copy": copy, "period": period}
    for name, value in values.items():
        if integer(value, name) < 1:
            raise ValueError(f"{name}: got {value}, expected a positive number")
    rows = []
    for operation, slower in given.items():
        factor = _factor(slower, f"factors[{operation!r}]")
        for count in processes:
            last = int(kernel * factor) + period
            times = [(t, p) for t in range(0, last, period) for p in range(1, count + 1)]
            response = _beside_copies(gpu, kernel, factor, copy, times, integer(count, "processes"))
            rows.append((operation, count, factor, response, response / kernel, interference))
    names = ("by", "processes", "factor", "response", "relative", "source")
    return Contention(by_column(names, rows))


def _beside_copies(
    gpu: GPU | str,
    kernel: int,
    factor: float,
    copy: int,
    times: list[tuple[int, int]],
    processes: int,
) -> int:
    """Response time of a kernel beside copies (time, process from 1)."""
    from gpusched import simulate
    from gpusched.model.launches import Launches

    if processes < 0:
        raise ValueError(f"processes: got {processes}, expected a non-negative number")
    n = len(times)
    launches = Launches(
        [0, *(time for time, _ in times)],
        [kernel, *[copy] * n],
        kind=["kernel", *["copy_in"] * n],
        stream=[0, *(process for _, process in times)],
        threads=256,
        stream_context=range(processes + 1),
        interference=[[1, 1, 1, float(factor)]] * (n + 1),
    )
    run = simulate.hierarchy(launches, gpu, timeslice=kernel, blocks=False)
    return int(run.response[0])


def olmedo_fig8(
    factors: Mapping[int, tuple[float, float]] | None = None,
    *,
    bandwidth: int = 50,
    copied: int = 50 * 10**6,
    gpu: GPU | str = "TX2",
    interference: str = "given",
    model: Bandwidth | None = None,
    footprints: Sequence[int] = _FOOTPRINTS,
) -> Contention:
    """Simulate Figure 8 of [RTAS20]: slowdown of a kernel by copies, over its footprint.

    One other process copies (or sets) ``copied`` bytes repeatedly. The slowdown for each footprint
    is an input, because the paper has measurements but no formula.

    >>> table = gs.experiments.olmedo_fig8(interference="bandwidth", footprints=[10**6, 10**8])
    >>> sorted(set(table["footprint"].tolist()))
    [1000000, 100000000]

    Parameters
    ----------
    factors
        Slowdown factors (memcpy, memset) of the kernel's blocks, by its footprint in bytes; these
        are inputs, not results.
    bandwidth
        Bytes per tick, of the kernel alone and of the copies.
    copied
        Bytes of one copy.
    gpu
        As in ``gs.simulate.hierarchy``.
    interference, model
        "given": the factors above. "bandwidth": those of the ``Bandwidth`` given as ``model``, by
        default the one fitted to the paper's numbers, with weights for memcpy and memset.
    footprints
        Footprints in bytes, with "bandwidth".

    Returns
    -------
    Contention
        Rows with columns by (the operation), footprint, factor, response, relative and source.
    """
    chosen = _chosen(interference, model, factors)
    factors = _modelled(chosen, factors, footprints, ("memcpy", "memset"))
    if integer(copied, "copied") < 1:
        raise ValueError(f"copied: got {copied}, expected a positive number")
    rows = []
    for k, operation in enumerate(("memcpy", "memset")):
        for size, kernel, pair in _pairs(factors, bandwidth):
            copy = -(-copied // bandwidth)
            last = int(kernel * pair[k]) + copy
            times = [(t, 1) for t in range(0, last, copy)]
            response = _beside_copies(gpu, kernel, pair[k], copy, times, 1)
            rows.append((operation, size, pair[k], response, response / kernel, interference))
    names = ("by", "footprint", "factor", "response", "relative", "source")
    return Contention(by_column(names, rows))


def olmedo_fig9(
    factors: Mapping[int, tuple[float, float]] | None = None,
    *,
    bandwidth: int = 50,
    gpu: GPU | str = "Xavier",
    interference: str = "given",
    model: Bandwidth | None = None,
    footprints: Sequence[int] = _FOOTPRINTS,
) -> Contention:
    """Simulate Figure 9 of [RTAS20]: slowdown of a block by another one in the same or another GPC.

    A kernel of four blocks is on SMs 0, 2, 4 and 6, one per GPC. The only block of another kernel
    is on SM 1, next to SM 0; or, with another SM order, on SM 3, in another GPC. The response is
    that of the block on SM 0. The factors are inputs: the paper has measurements, up to 10 in the
    same GPC, but no formula.

    >>> table = gs.experiments.olmedo_fig9(interference="bandwidth", footprints=[10**6, 10**8])
    >>> sorted(set(table["footprint"].tolist()))
    [1000000, 100000000]

    Parameters
    ----------
    factors
        Slowdown factors (same GPC, other GPC) by footprint in bytes; inputs, not results.
    bandwidth
        Bytes per tick of a kernel alone.
    gpu
        A GPU with at least four GPCs of two SMs.
    interference, model
        "given": the factors above. "bandwidth": those of the ``Bandwidth`` given as ``model``, by
        default the one fitted to the paper's numbers, with weights for the same and another GPC.
    footprints
        Footprints in bytes, with "bandwidth".

    Returns
    -------
    Contention
        Rows with columns by ("alone", "other GPC", "same GPC"), footprint, sm (of the other block,
        -1 for none), response, relative and source.
    """
    from gpusched import simulate
    from gpusched.model.gpu import as_gpu
    from gpusched.model.launches import Launches

    device = as_gpu(gpu)
    chosen = _chosen(interference, model, factors)
    factors = _modelled(chosen, factors, footprints, ("same GPC", "other GPC"))
    pairs = device.sms_per_gpc or 2  # the paper measures pairs of SMs
    rows: list[tuple[Any, ...]] = []
    for by, target in (("alone", -1), ("other GPC", 3), ("same GPC", 1)):
        for size, kernel, (same, other) in _pairs(factors, bandwidth):
            launches = Launches(
                [0, 0][: 1 + (target >= 0)],
                kernel,
                stream=[0, 1][: 1 + (target >= 0)],
                blocks=[4, 1][: 1 + (target >= 0)],
                threads=256,
                interference=[1.0, same, other, 1.0],
            )
            run = simulate.hierarchy(launches, _ordered(device, target), sms_per_gpc=pairs)
            assert run.blocks is not None
            mine = (run.blocks.kernel == 0) & (run.blocks.sm == 0)
            beside = run.blocks.sm[run.blocks.kernel == 1]
            if beside.tolist() != [target] * (target >= 0):
                raise ValueError(
                    f"gpu: got the other block on SM {beside[0]}, expected SM {target}"
                )
            response = int(run.blocks.end[mine][0])
            rows.append((by, size, target, response, response / kernel, interference))
    names = ("by", "footprint", "sm", "response", "relative", "source")
    return Contention(by_column(names, rows))


def _ordered(device: GPU, fifth: int) -> GPU:
    """The GPU with the SM order 0, 2, 4, 6, ``fifth``, and then the others."""
    from gpusched.model.gpu import GPU

    if device.sms < 8:
        raise ValueError(f"gpu: got {device.sms} SMs, expected at least four GPCs of two")
    front = [0, 2, 4, 6, *([fifth] if fifth >= 0 else [])]
    order = front + [s for s in device.sm_order.tolist() if s not in front]
    values = {f.name: getattr(device, f.name) for f in fields(device)}
    return GPU(**(values | {"sm_order": order}))
