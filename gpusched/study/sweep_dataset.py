"""Sweeps as datasets of xarray: an axis per parameter of the grid."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from gpusched._support.arguments import one_of
from gpusched.study.points import canonical

if TYPE_CHECKING:
    import xarray as xr

    from gpusched.study.sweep_table import Sweep

__all__ = ["dataset_of"]

_ENDS = {"low": "lower end of the 95 % interval", "high": "upper end of the 95 % interval"}


def dataset_of(table: Sweep, units: Mapping[str, str]) -> xr.Dataset:
    """The dataset; see ``Sweep.to_xarray``."""
    try:
        import xarray as xr
    except ModuleNotFoundError as error:
        if error.name != "xarray":
            raise
        raise ImportError("to_xarray needs xarray: pip install xarray", name="xarray") from None

    axes = {name: _different(table[name]) for name in table.parameters}
    shape = tuple(len(rows) for rows, _ in axes.values())
    places = [place for _, place in axes.values()]
    at = np.full(int(np.prod(shape)), -1)  # the row of each point
    flat = np.ravel_multi_index(places, shape) if axes else np.zeros(1, np.int64)
    at[flat] = np.arange(len(table))
    if len(table) != at.size or at.min() < 0:
        raise ValueError(f"points: got {len(table)}, expected all {at.size} of a grid")

    variables: dict[str, tuple[tuple[str, ...], npt.NDArray[Any], dict[str, str]]] = {}

    def add(
        name: str, rows: npt.NDArray[Any], more: tuple[str, ...], attrs: dict[str, str]
    ) -> None:
        for taken in (name, *more):
            if taken in axes or taken in variables:
                raise ValueError(f"columns: got {taken!r} twice, expected different names")
        variables[name] = ((*axes, *more), rows[at].reshape((*shape, *rows.shape[1:])), attrs)

    for name in list(table.columns)[len(axes) :]:
        add(name, table[name], (), _attributes(name, table))
    for name, array in table.arrays.items():
        add(name, array, tuple(f"{name}_{k}" for k in range(1, array.ndim)), {})
    for name, array in table.values.items():
        add(f"{name}_values", array, ("set",), {"long_name": f"{name} of each task set"})
    coordinates: dict[str, tuple[str, npt.NDArray[Any], dict[str, str]]] = {
        name: (name, table[name][rows], {}) for name, (rows, _) in axes.items()
    }
    for name, unit in units.items():
        one_of(name, [*coordinates, *variables], "units")
        (coordinates if name in coordinates else variables)[name][2]["units"] = unit
    return xr.Dataset(variables, coordinates)


def _different(column: npt.NDArray[Any]) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """First rows of the different values of a parameter, and the place of each row among them."""
    first: dict[str, int] = {}
    texts = [canonical(value, "grid") for value in column]
    for row, text in enumerate(texts):
        first.setdefault(text, row)
    number = {text: i for i, text in enumerate(first)}
    places = np.array([number[text] for text in texts], np.int64)
    return np.array([*first.values()], np.int64), places


def _attributes(name: str, table: Sweep) -> dict[str, str]:
    """What is known of a column: shares and their intervals have no unit."""
    of, _, end = name.rpartition("_")
    if name == "count":
        return {"long_name": "task sets", "units": "1"}
    if end in _ENDS and of in table.columns:
        return {"long_name": f"{of}, {_ENDS[end]}", "units": "1"}
    return {"units": "1"} if f"{name}_low" in table.columns else {}
