"""Table of a sweep: one row per point; pictures, weighted means, conversion to xarray."""

from __future__ import annotations

import itertools
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from gpusched._support.arguments import frozen, one_of
from gpusched._support.results import Results, equal_columns
from gpusched._support.text import clip
from gpusched.study.execution import SweepError
from gpusched.study.point_results import PerSet, State
from gpusched.study.points import Point, canonical, column_of, describe

if TYPE_CHECKING:
    import xarray as xr
    from matplotlib.axes import Axes

_ENDS = {"low": "lower end of the 95 % interval", "high": "upper end of the 95 % interval"}


@dataclass(frozen=True, eq=False, repr=False)
class Sweep(Results):
    """Result of a sweep: a tidy table with one row per point of the grid.

    >>> def halves(*, x, count, first, seed):
    ...     return {"y": np.full(count, x / 2)}
    >>> table = gs.sweep(halves, {"x": [1, 2]}, count=4, seed=1)
    >>> table["x"].tolist(), table["y"].tolist()
    ([1, 2], [0.5, 1.0])

    Attributes
    ----------
    columns
        The parameters of the grid, ``count`` (number of task sets of the point), and the columns of
        each quantity that the function returned, by default its mean or share; see
        ``gs.reductions``. Booleans and verdicts q have a 95 % confidence interval, ``q_low`` and
        ``q_high``.
    values
        With ``keep=True``, the values of each quantity, arrays of shape (points, count); otherwise
        empty.
    arrays
        Columns with more than one number per point, such as the counts of histograms, by name:
        arrays of shape (points, ...).
    """

    values: Mapping[str, npt.NDArray[Any]]
    arrays: Mapping[str, npt.NDArray[Any]]

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in ("values", "arrays"):
            held = dict(getattr(self, name))
            for array in held.values():
                frozen(array)
            object.__setattr__(self, name, MappingProxyType(held))

    def __reduce__(self) -> Any:
        return (Sweep, (dict(self.columns), dict(self.values), dict(self.arrays)))

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Sweep):
            return NotImplemented
        return bool(super().__eq__(other)) and all(
            list(one) == list(two) and all(equal_columns(one[name], two[name]) for name in one)
            for one, two in ((self.values, other.values), (self.arrays, other.arrays))
        )

    __hash__ = None

    @property
    def parameters(self) -> list[str]:
        """Names of the grid's parameters."""
        names = list(self.columns)
        return names[: names.index("count")]

    def weighted(self, quantity: str, over: str) -> Results:
        """Return the weighted mean of a quantity over the points of one parameter.

        For a share of schedulable sets and ``over="utilization"``, this is the weighted
        schedulability of Bastoni, Brandenburg and Anderson (OSPERT 2010), in which every set has
        its utilization as weight: the sum over the points of count * weight * value, divided by the
        sum of count * weight.

        Parameters
        ----------
        quantity
            Name of a column with numbers.
        over
            Name of the parameter whose values are the weights, which are non-negative numbers.

        Returns
        -------
        Results
            One row per combination of the other parameters, with their values, ``count`` (the sum)
            and the column ``quantity``.

        Raises
        ------
        ValueError
            The column or parameter is unknown, or weights are negative or all 0.

        Examples
        --------
        >>> import gpusched as gs
        >>> import numpy as np
        >>> def test(*, utilization, speed, count, first, seed):
        ...     return {"met": np.arange(first, first + count) * utilization <= speed}
        >>> grid = {"utilization": [1, 2], "speed": [1, 4]}
        >>> print(gs.sweep(test, grid, count=4, seed=1).weighted("met", over="utilization"))
        speed  count     met
            1      8  0.3333
            4      8  0.8333
        """
        one_of(over, self.parameters, "over")
        names = list(self.columns)
        one_of(quantity, [n for n in names[names.index("count") + 1 :]], "quantity")
        weights = self[over]
        if weights.dtype.kind not in "iuf" or not (weights >= 0).all():
            raise ValueError(f"over: got {over!r}, expected a parameter of non-negative numbers")
        others = [name for name in self.parameters if name != over]
        groups = _groups(self, others)
        first = [chosen[0] for chosen in groups]
        columns: dict[str, Any] = {name: self[name][first] for name in others}
        columns["count"] = [int(self["count"][chosen].sum()) for chosen in groups]
        means = []
        for chosen in groups:
            shares = weights[chosen] * self["count"][chosen]
            if not shares.sum():
                raise ValueError(f"over: got {over!r} with no weight above 0, expected one")
            means.append(float((shares * self[quantity][chosen]).sum() / shares.sum()))
        columns[quantity] = means
        return Results(columns)

    def to_xarray(self, units: Mapping[str, str] | None = None) -> xr.Dataset:
        """Return an xarray dataset with a dimension for each parameter of the grid.

        Parameters
        ----------
        units
            Units of parameters and variables, by name, such as ``{"period": "ms"}``; they become
            the attribute ``units``. Shares have the unit "1".

        Returns
        -------
        xarray.Dataset
            The parameters are the coordinates, in the order of the grid. Each column is a variable
            with all these dimensions. Variables from ``arrays`` have further dimensions, named
            after them and numbered from 1. Those from ``values`` are called ``<quantity>_values``
            and have the further dimension ``set``.

        Raises
        ------
        ImportError
            xarray is not installed.
        ValueError
            Units are given for an unknown name, two variables have the same name, or the rows do
            not form a complete grid.

        Examples
        --------
        >>> import gpusched as gs
        >>> import numpy as np
        >>> def test(*, utilization, speed, count, first, seed):
        ...     return {"met": np.arange(first, first + count) * utilization <= speed}
        >>> grid = {"utilization": [1, 2], "speed": [1, 4]}
        >>> data = gs.sweep(test, grid, count=4, seed=1).to_xarray({"speed": "GHz"})
        >>> data["met"].dims, data["met"].sel(utilization=2).values.tolist()
        (('utilization', 'speed'), [0.25, 0.75])
        >>> data["speed"].attrs, data["met_low"].attrs["long_name"]
        ({'units': 'GHz'}, 'met, lower end of the 95 % interval')
        """
        return _dataset_of(self, units or {})

    def plot(self, *quantities: str, x: str | None = None, ax: Axes | None = None) -> Axes:
        """Draw quantities as functions of one parameter of the grid.

        Each combination of the other parameters has its own lines. Confidence intervals are drawn
        as bands.

        Parameters
        ----------
        quantities
            Names of columns. Default: those with a confidence interval, or all if there are none.
        x
            The parameter on the horizontal axis. Default: the numeric parameter with the most
            values.
        ax
            Matplotlib axes. Default: those of a new figure.

        Returns
        -------
        matplotlib.axes.Axes

        Raises
        ------
        ValueError
            A quantity or parameter is unknown, or no parameter is numeric.
        """
        from gpusched._draw import axes as plot

        names = list(self.columns)
        parameters = self.parameters
        numbers = [p for p in parameters if self[p].dtype.kind in "iuf"]
        if x is None and not numbers:
            raise ValueError(
                "x: got None, expected a parameter (no parameter of the grid is numeric)"
            )
        over = max(numbers, key=lambda p: len(np.unique(self[p]))) if x is None else x
        one_of(over, parameters, "x")
        ends = {f"{name}_{end}" for name in names for end in ("low", "high", "undecided")}
        drawn = [name for name in names[len(parameters) + 1 :] if name not in ends]
        for name in quantities:
            one_of(name, drawn, "quantities")
        chosen = quantities or [q for q in drawn if f"{q}_low" in names] or drawn
        others = [p for p in parameters if p != over]
        lines: dict[str, npt.NDArray[np.int64]] = {}
        for rows in _groups(self, others):
            label = ", ".join(f"{p} = {clip(str(self[p][rows[0]]), 30)}" for p in others)
            if label in lines:  # different values with one text
                label += f" ({len(lines) + 1})"
            lines[label] = rows
        ax = plot.axes(ax)
        before = len(ax.lines)  # of other sweeps
        for index, (name, label) in enumerate(itertools.product(chosen, lines), before):
            rows = lines[label]
            if self[over].dtype.kind in "iuf":
                rows = rows[np.argsort(self[over][rows], kind="stable")]
            y = self[name][rows]
            low, high = (self.columns.get(f"{name}_{end}", self[name]) for end in ("low", "high"))
            words = [name] * (len(chosen) > 1) + [label] * bool(label)
            plot.band(ax, self[over][rows], y, low[rows], high[rows], ": ".join(words), index)
        ax.set_xlabel(over)
        shares = all(f"{name}_low" in names for name in chosen)
        if len(chosen) > 1:
            ax.set_ylabel("share of sets" if shares else "mean")
        else:
            ax.set_ylabel(f"{chosen[0]} (share of sets)" if shares else chosen[0])
        if len(chosen) * len(lines) > 1:
            ax.legend(frameon=False, fontsize=9)
        plot.grid(ax)
        return ax


def columns_of(accumulator: PerSet, state: State, taken: Collection[str] = ()) -> dict[str, Any]:
    """The columns of a point with its state.

    Raises ``ValueError`` for a name that occurs twice or is one of ``taken``.
    """
    columns: dict[str, Any] = {}
    for name, states in state.items():
        for column, value in accumulator.columns(name, states).items():
            if column in columns:
                raise ValueError(f"function: got two quantities with the column {column!r}")
            if column in taken:
                raise ValueError(
                    f"function: got a quantity with the column {column!r}, expected another name"
                )
            columns[column] = value
    return columns


def table_of(
    points: Sequence[Point],
    counts: Sequence[int],
    states: Sequence[State],
    accumulator: PerSet,
    values: Mapping[str, npt.NDArray[Any]],
) -> Sweep:
    """The table of points with their numbers of sets and states."""
    columns: dict[str, Any] = {
        name: column_of([point[name] for point in points]) for name in points[0]
    }
    columns["count"] = np.array(counts, np.int64)
    arrays: dict[str, npt.NDArray[Any]] = {}
    for point, state in zip(points, states, strict=True):
        if set(state) != set(states[0]):
            raise SweepError(
                f"at {describe(point)}: got {sorted(state)}, expected {sorted(states[0])}", point
            )
    rows = [columns_of(accumulator, state, columns) for state in states]
    for point, row in zip(points, rows, strict=True):
        if set(row) != set(rows[0]):
            raise SweepError(
                f"at {describe(point)}: got the columns {', '.join(row)}, expected "
                f"{', '.join(rows[0])}",
                point,
            )
    for name, value in rows[0].items():
        column = [row[name] for row in rows]
        if np.ndim(value):
            arrays[name] = np.array(column)
        else:
            columns[name] = np.array(column)
    return Sweep(columns, values, arrays)


def _dataset_of(table: Sweep, units: Mapping[str, str]) -> xr.Dataset:
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


def _groups(table: Sweep, names: Sequence[str]) -> list[npt.NDArray[np.int64]]:
    """The rows of each combination of values of some parameters, in the order of the table."""
    texts = [[canonical(value, name) for value in table[name]] for name in names]
    groups: dict[tuple[str, ...], list[int]] = {}
    for row in range(len(table)):
        groups.setdefault(tuple(column[row] for column in texts), []).append(row)
    return [np.array(rows, np.int64) for rows in groups.values()]


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
    """Attributes of a column: shares and their intervals have no unit."""
    of, _, end = name.rpartition("_")
    if name == "count":
        return {"long_name": "task sets", "units": "1"}
    if end in _ENDS and of in table.columns:
        return {"long_name": f"{of}, {_ENDS[end]}", "units": "1"}
    return {"units": "1"} if f"{name}_low" in table.columns else {}
