"""Execution-time profiles: the time of a kernel on k SMs relative to one SM.

A `Profile` is a table of relative times, in millionths; it scales a kernel's time on one SM:

>>> gs.profiles.amdahl(0.9, sms=4).times(1000).tolist()
[1000, 550, 400, 325]
>>> gs.profiles.table([8.1, 4.4, 3.1, 3.1]).times(1000).tolist()
[1000, 544, 383, 383]

Profiles never increase with the number of SMs. Both profiles and times are rounded up (so that a
time may be one tick too long), so that a profile of measured worst cases stays an upper bound. A
profile says nothing about kernels that run at the same time: even on disjoint SMs, kernels share
caches and memory, so measure a kernel beside the worst interference that can occur.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from gpusched._support.arguments import (
    Int64Array,
    at_least,
    frozen,
    int_array,
    integer,
    one_of,
    real,
)
from gpusched._support.text import shown
from gpusched.model.host_tasks import MAX_SMS

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["GPUS", "PARTS", "Profile", "amdahl", "benchmarks", "plateau", "table", "waves"]


def __dir__() -> list[str]:
    return sorted(__all__)  # names for tab completion


PARTS = 1_000_000
"""The relative time on one SM, in millionths."""

GPUS = {"gtx970": 13, "xavier": 8}
"""The GPUs of [RTCSA19], with their numbers of SMs."""


@dataclass(frozen=True, eq=False, repr=False)
class Profile:
    """Execution times on 1, 2, ..., K SMs relative to one SM, in millionths.

    >>> gs.profiles.Profile([1_000_000, 550_000]).times([100, 3], sms=3).tolist()
    [[100, 55, 55], [3, 2, 2]]

    Parameters
    ----------
    parts
        K positive integers that start with 1,000,000 and do not increase; int64 ``(K,)``.
    name
        Label in pictures and messages.

    Raises
    ------
    ValueError
        The parts are not positive, increase, or do not start with 1,000,000.
    """

    parts: Int64Array
    name: str

    def __init__(self, parts: npt.ArrayLike, name: str = "") -> None:
        checked = int_array(parts, "parts")
        if checked.ndim != 1 or not 1 <= len(checked) <= MAX_SMS:
            raise ValueError(f"parts: got shape {checked.shape}, expected 1 to {MAX_SMS} numbers")
        at_least(checked, 1, "parts")
        if checked[0] != PARTS:
            raise ValueError(f"parts[0]: got {checked[0]}, expected {PARTS}, the time on one SM")
        grows = np.flatnonzero(checked[1:] > checked[:-1])
        if grows.size:
            k = int(grows[0]) + 1
            most = checked[k - 1]
            raise ValueError(f"parts[{k}]: got {checked[k]}, expected at most {most} as on {k} SMs")
        if not isinstance(name, str):
            raise TypeError(f"name: got {shown(name)}, expected a string")
        object.__setattr__(self, "parts", frozen(checked))
        object.__setattr__(self, "name", name)

    @property
    def sms(self) -> int:
        """Largest number of SMs in the profile (K)."""
        return int(self.parts.shape[0])

    def times(self, time: npt.ArrayLike, sms: int | None = None) -> Int64Array:
        """Return kernel times in ticks on 1, 2, ... SMs, computed exactly and rounded up.

        ``time`` is the time on one SM: a number, or an array of any shape. The result has one more
        axis, as ``HostTasks`` expects for ``kernel``. ``sms`` is the length of that axis (default:
        K); beyond K SMs, the time on K SMs is repeated. Raises ValueError for negative times.
        """
        whole = int_array(time, "time")
        at_least(whole, 0, "time")
        high, low = np.divmod(whole[..., None], PARTS)  # the product alone could overflow
        parts = self._columns(sms)
        scaled: Int64Array = high * parts - (-(low * parts) // PARTS)
        return scaled

    def _columns(self, sms: int | None) -> Int64Array:
        count = self.sms if sms is None else _sms(sms)
        columns: Int64Array = self.parts[np.minimum(np.arange(count), self.sms - 1)]
        return columns

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Profile):
            return NotImplemented
        return self.name == other.name and np.array_equal(self.parts, other.parts)

    __hash__ = None  # type: ignore[assignment]

    def __reduce__(self) -> Any:
        return (Profile, (self.parts, self.name))

    def __repr__(self) -> str:
        shown = ", ".join(f"{p / PARTS:.3g}" for p in self.parts[:16].tolist())
        more = ", ..." if self.sms > 16 else ""
        return f"<Profile {self.name + ': ' if self.name else ''}{shown}{more}>"

    def plot(self, ax: Axes | None = None, index: int = 0) -> Axes:
        """Draw the relative time over the number of SMs, in colour ``index``; returns the axes."""
        from gpusched._draw import axes as plot

        ax = plot.axes(ax, (5.0, 3.4))
        k, y = np.arange(1, self.sms + 1), self.parts / PARTS
        marker = plot.MARKERS[index % len(plot.MARKERS)]
        ax.plot(k, y, color=plot.color(index), marker=marker, markersize=4, label=self.name or None)
        ax.set_xlabel("SMs")
        ax.set_ylabel("kernel time / time on one SM")
        ax.set_ylim(0, 1.05)
        plot.grid(ax)
        return ax


def table(times: Sequence[float], *, monotone: bool = False, name: str = "") -> Profile:
    """Make a profile from times measured on 1, 2, ... SMs, in any unit.

    Relative times are rounded up to millionths. With ``monotone``, a time that increases with the
    number of SMs is replaced by the largest time on that number of SMs or more; without it, such a
    time is refused. Raises ValueError for times that are not positive and finite, or that increase,
    and TypeError for entries that are not numbers.

    >>> gs.profiles.table([8, 4, 3]).times(1000).tolist()
    [1000, 500, 375]
    """
    if isinstance(times, str) or not np.iterable(times):
        raise TypeError(f"times: got {shown(times)}, expected times on 1, 2, ... SMs")
    values = np.array([real(time, f"times[{k}]") for k, time in enumerate(times)])
    if values.size == 0:
        raise ValueError("times: got no entries, expected times on 1, 2, ... SMs")
    bad = np.flatnonzero(~(np.isfinite(values) & (values > 0)))
    if bad.size:
        found = values[bad[0]]
        raise ValueError(f"times[{bad[0]}]: got {found}, expected a positive, finite number")
    if monotone:
        values = np.maximum.accumulate(values[::-1])[::-1]
    grows = np.flatnonzero(values[1:] > values[:-1])
    if grows.size:
        k = int(grows[0]) + 1
        raise ValueError(
            f"times[{k}]: got {values[k]} on {k + 1} SMs, expected at most the time on {k}, "
            f"{values[k - 1]}; monotone=True takes the largest from there on"
        )
    parts = np.ceil(values / values[0] * PARTS - 1e-6).astype(np.int64)
    return Profile(np.maximum(parts, 1), name)


def amdahl(parallel: float, sms: int, *, name: str = "") -> Profile:
    """Amdahl's law: relative time (1 - parallel) + parallel / k on k SMs.

    ``parallel`` is the share of the work that runs in parallel, 0 to 1.

    >>> gs.profiles.amdahl(0.5, sms=4).times(1000).tolist()
    [1000, 750, 667, 625]
    """
    share = _share(parallel, "parallel")
    k = np.arange(1, _sms(sms) + 1)
    return Profile(np.maximum(PARTS - share - (-share // k), 1), name)


def plateau(at: int, sms: int, *, parallel: float = 1.0, name: str = "") -> Profile:
    """Amdahl's law up to ``at`` SMs, and constant for more SMs.

    >>> gs.profiles.plateau(2, sms=4).times(1000).tolist()
    [1000, 500, 500, 500]
    """
    last = integer(at, "at")
    if last < 1:
        raise ValueError(f"at: got {last}, expected a positive number of SMs")
    parts = amdahl(parallel, sms).parts
    return Profile(parts[np.minimum(np.arange(len(parts)), last - 1)], name)


def waves(blocks: int, sms: int, *, per_sm: int = 1, name: str = "") -> Profile:
    """Profile of a kernel of equal blocks, ``per_sm`` of which fit an SM at the same time.

    On k SMs it runs in ceil(blocks / (per_sm k)) waves. Raises ValueError for a number of blocks
    that is not positive.

    >>> gs.profiles.waves(4, sms=4).times(1000).tolist()
    [1000, 500, 500, 250]
    """
    for what, number in (("blocks", blocks), ("per_sm", per_sm)):
        if integer(number, what) < 1:
            raise ValueError(f"{what}: got {number}, expected a positive number")
    count = [-(-blocks // (per_sm * k)) for k in range(1, _sms(sms) + 1)]
    return Profile(np.array([-(-c * PARTS // count[0]) for c in count]), name)


# The parallel shares are a choice; which curves are flat from four SMs on is the paper's.
_PARALLEL = {
    "backprop": 0.88,
    "b+tree": 0.80,
    "hotspot": 0.95,
    "kmeans": 0.96,
    "MMUL": 0.99,
    "streamcluster": 0.92,
    "stereodisparity": 0.97,
    "workzone": 0.93,
}
_PLATEAU = {"gtx970": ("kmeans", "workzone"), "xavier": ("kmeans", "streamcluster")}


def benchmarks(gpu: str = "gtx970") -> dict[str, Profile]:
    """Eight example profiles modelled on Figure 3 of [RTCSA19], by the names of its benchmarks.

    **These are not measurements.** The data behind the figure are not available. The text of the
    paper states that times do not decrease in proportion to the number of SMs, and that four curves
    are flat from four SMs on: kmeans and workzone on the GTX 970 (13 SMs), kmeans and streamcluster
    on the Xavier (8 SMs). These profiles follow that; the parallel shares, from 0.80 (b+tree) to
    0.99 (MMUL), are assumptions. Pass other profiles to ``gs.generate.stgm`` to see their effect.

    Raises ValueError for a GPU that is neither "gtx970" nor "xavier".

    >>> sorted(gs.profiles.benchmarks())[:2]
    ['MMUL', 'b+tree']
    """
    one_of(gpu, GPUS, "gpu")
    sms = GPUS[gpu]
    return {
        name: plateau(4 if name in _PLATEAU[gpu] else sms, sms, parallel=share, name=name)
        for name, share in _PARALLEL.items()
    }


def _sms(sms: Any) -> int:
    count = integer(sms, "sms")
    if not 1 <= count <= MAX_SMS:
        raise ValueError(f"sms: got {count}, expected a number of SMs, 1 to {MAX_SMS}")
    return count


def _share(value: Any, name: str) -> int:
    """A number between 0 and 1 in millionths."""
    share = real(value, name)
    if not (math.isfinite(share) and 0 <= share <= 1):
        raise ValueError(f"{name}: got {share}, expected a number from 0 to 1")
    return round(share * PARTS)
