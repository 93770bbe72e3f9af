"""Figure 3 of [RTCSA19]: kernel times over the number of SMs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from gpusched._draw import axes as plot
from gpusched._support.results import Results
from gpusched._support.text import shown

if TYPE_CHECKING:
    from gpusched._draw.axes import AxesArray, AxesLike

__all__ = ["Profiles", "stgm_fig3"]


class Profiles(Results):
    """Table of ``stgm_fig3``.

    >>> gs.experiments.stgm_fig3()
    <Profiles: 168 rows of gpu, benchmark, sms, time>
    """

    def plot(self, axes: AxesLike | None = None) -> AxesArray:
        """Draw one diagram per GPU and return the array of axes."""
        gpus = list(dict.fromkeys(self["gpu"].tolist()))
        size = (max(4.6, 4.4 * len(gpus)), 3.7)
        axes = plot.panels(axes, len(gpus), size, "GPUs", sharey=True)
        for ax, gpu in zip(axes, gpus, strict=True):
            rows = self.where(gpu=gpu)
            for index, name in enumerate(dict.fromkeys(rows["benchmark"].tolist())):
                one = rows.where(benchmark=name)
                style = {"marker": plot.MARKERS[index % len(plot.MARKERS)], "markersize": 4}
                ax.plot(one["sms"], one["time"], color=plot.color(index), label=name, **style)
            ax.set_title(gpu, fontsize=11, parse_math=False)
            ax.set_xlabel("SMs")
            ax.set_xticks(range(1, int(rows["sms"].max()) + 1))
            ax.set_ylim(0, 1.04)
            plot.grid(ax)
        axes[0].set_ylabel("kernel time / time on one SM")
        plot.legend(axes[-1], frameon=False, fontsize=9)
        return axes


def stgm_fig3(
    profiles: Mapping[str, Mapping[str, Any]] | None = None,
) -> Profiles:
    """Approximate Figure 3 of [RTCSA19]: kernel times over the number of SMs.

    The data of the figure are not available. The default profiles (``gs.profiles.benchmarks``) have
    shapes that follow the paper's text; measured profiles can be given instead.

    >>> table = gs.experiments.stgm_fig3().where(gpu="xavier", benchmark="backprop")
    >>> table["sms"].tolist()
    [1, 2, 3, 4, 5, 6, 7, 8]

    Parameters
    ----------
    profiles
        Maps names of GPUs to dicts of ``gs.profiles.Profile``. Default: GTX 970 and Xavier.

    Returns
    -------
    Profiles
        Rows with columns gpu, benchmark, sms and time (relative to one SM).
    """
    from gpusched.model import profiles as shapes

    if profiles is None:
        profiles = {name: shapes.benchmarks(name) for name in shapes.GPUS}
    _check(profiles)
    columns: dict[str, list[Any]] = {"gpu": [], "benchmark": [], "sms": [], "time": []}
    for gpu, named in profiles.items():
        for name, profile in named.items():
            for k, part in enumerate(profile.parts.tolist()):
                row = {"gpu": gpu, "benchmark": name, "sms": k + 1, "time": part / shapes.PARTS}
                for key, value in row.items():
                    columns[key].append(value)
    return Profiles({name: np.array(column) for name, column in columns.items()})


def _check(profiles: Any) -> None:
    from gpusched.model.profiles import Profile

    _check_dict(profiles, "profiles", "dicts of gs.profiles.Profile")
    for gpu, named in profiles.items():
        _check_dict(named, f"profiles[{gpu!r}]", "gs.profiles.Profile")
        for name, profile in named.items():
            if not isinstance(profile, Profile):
                where = f"profiles[{gpu!r}][{name!r}]"
                raise TypeError(f"{where}: got {shown(profile)}, expected a gs.profiles.Profile")


def _check_dict(value: Any, where: str, of: str) -> None:
    if not isinstance(value, Mapping):
        raise TypeError(f"{where}: got {shown(value)}, expected a dict of {of}")
    if not value:
        raise ValueError(f"{where}: got no entries, expected at least one")
