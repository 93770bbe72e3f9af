"""Batch tables: eligible batches of tasks and their completion times (the oracle)."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias, overload

import numpy as np
import numpy.typing as npt

from gpusched import _core
from gpusched._support.arguments import (
    MAX_BYTES,
    Int64Array,
    NoArray,
    frozen,
    instance,
    int_array,
    integer,
    position,
    seed_key,
    set_number,
)
from gpusched._support.tabular import Tabular, frame_of
from gpusched._support.text import path_text, plural, shown
from gpusched.model.batches import (
    MAX_TASKS,
    Collected,
    Orders,
    OrdersAt,
    ascending_rows,
    by_index,
    check_orders,
    check_tables,
    completion_time,
    factors,
    key_order,
    mask_of,
    members,
    order_text,
    orders_by_index,
    set_text,
    task_count,
    tasks_of,
)
from gpusched.model.gpus.gpu_fields import as_bandwidth
from gpusched.model.kernel_chains import KernelChains
from gpusched.model.kernel_tasks import KernelTasks

if TYPE_CHECKING:
    from fractions import Fraction

    import pandas as pd

    from gpusched._support.budget import Stop
    from gpusched.model.gpu import GPU

Slowdown: TypeAlias = "float | Fraction | tuple[float, float] | str | None"
"""Slowdown factors: a pair (smallest, largest), one number for all, a name, or None."""

Factor: TypeAlias = "float | Fraction"
"""A slowdown factor."""

Seed: TypeAlias = "int | np.random.SeedSequence | np.random.Generator | None"
"""Source of random numbers."""

_FORMAT = "gpusched.BatchTable 1"
_ROWS = 40  # shown in a notebook


@dataclass(frozen=True, eq=False, repr=False)
class BatchTable(NoArray, Tabular):
    """Completion times of all batches of n tasks, or of a stack of N such task sets.

    >>> table = gs.BatchTable.from_dict(2, {(0,): 1, (1,): 3, (1, 0): 4})
    >>> table.completion.tolist(), table.submission_order(3)
    ([0, 1, 3, 4], (1, 0))

    [RTNS24], sections 2.3 and 4.2. A batch is a set of tasks whose kernels are submitted together.
    It is eligible if there is an order of submission in which all of them run in parallel. Batches
    are numbered by bit masks: task i belongs to batch ``mask`` if ``mask >> i & 1`` is 1. For
    `KernelChains`, the bits stand for kernels (the rows of ``chains.rows``), and no batch contains
    two kernels of one task. For more than 24 tasks see `BatchFunction`.

    Parameters
    ----------
    completion
        Whole ticks from the start of each batch to the end of its last kernel; 0 for the empty
        batch and for batches that are not eligible. Shape ``(2**n,)`` or ``(N, 2**n)``, n from 1
        to 24. A batch of a single task must be eligible; its time may differ from the task's
        ``wcet``.
    undecided
        For batches whose eligibility is unknown, the completion time they would have; 0 for all
        others. Same shape as ``completion``. A search whose answer may depend on such a batch
        returns undecided. None: no batch is undecided.
    order
        Order of submission to which the completion time of each eligible batch refers: its tasks,
        followed by -1; all -1 for other batches. int8 of shape ``(2**n, n)`` or ``(N, 2**n, n)``.
        None: all batches are submitted by increasing index.

    Raises
    ------
    ValueError
        The length is not a power of two, there are more than 24 tasks, a time is negative,
        fractional or NaN, a single task is not eligible, or an order is not a permutation of its
        batch.
    OverflowError
        A time is 2**60 - 1 ticks or more.
    """

    _INSTEAD = ".completion, .undecided, .order, or .to_frame()"

    completion: Int64Array
    undecided: Int64Array | None
    _orders: OrdersAt | None  # of batches that are not submitted by increasing index

    def __init__(
        self,
        completion: npt.ArrayLike,
        undecided: npt.ArrayLike | None = None,
        order: npt.ArrayLike | None = None,
    ) -> None:
        times = int_array(completion, "completion")
        n = tasks_of(times)
        rest = None
        if undecided is not None:
            rest = int_array(undecided, "undecided")
            if rest.shape != times.shape:
                raise ValueError(
                    f"undecided: got shape {rest.shape}, expected that of completion, {times.shape}"
                )
        check_tables(times, rest, n)
        orders = None
        if order is not None:
            rows = check_orders(order, times, n).reshape(-1, n)
            at = np.flatnonzero(~ascending_rows(rows))
            orders = at, rows[at]
        self._set(times, rest, orders)

    def _set(self, completion: Int64Array, undecided: Any, orders: OrdersAt | None) -> None:
        """Store checked arrays; those that hold nothing but the usual become None."""
        if undecided is not None and not undecided.any():
            undecided = None
        for name, array in (("completion", completion), ("undecided", undecided)):
            object.__setattr__(self, name, None if array is None else frozen(array))
        if orders is not None:
            orders = (frozen(orders[0]), frozen(orders[1])) if len(orders[0]) else None
        object.__setattr__(self, "_orders", orders)

    @classmethod
    def _make(cls, completion: Any, undecided: Any, orders: OrdersAt | None) -> BatchTable:
        """Make a table from arrays that are known to be valid.

        ``orders``: of the batches that are not submitted by increasing index, the flat indices in
        ``completion``, ascending, and the orders.
        """
        table = object.__new__(cls)
        table._set(completion, undecided, orders)
        return table

    @property
    def order(self) -> Orders | None:
        """The orders of submission as an array; made at each access, n bytes for each batch."""
        if self._orders is None:
            return None
        found: Orders = np.full((self.completion.size, self.n), -1, np.int8)
        at = np.flatnonzero(self.completion.ravel())
        found[at] = self._submissions(at)
        shaped: Orders = found.reshape(*self.completion.shape, self.n)
        return frozen(shaped)

    def _submissions(self, at: Int64Array) -> Orders:
        """Orders of submission of batches, by their flat indices in ``completion``: (m, n)."""
        found = orders_by_index(at & (1 << self.n) - 1, self.n)
        if self._orders is not None:
            others, orders = self._orders
            place = np.minimum(np.searchsorted(others, at), len(others) - 1)
            given = others[place] == at
            found[given] = orders[place[given]]
        return found

    # Making tables ---------------------------------------------------------------------

    @classmethod
    def from_dict(
        cls, n: int | KernelTasks | KernelChains, batches: Mapping[Any, int]
    ) -> BatchTable:
        """Make a table of ``n`` tasks from a dict such as ``{(0,): 1, (1,): 3, (1, 0): 4}``.

        A key that is a tuple of task indices is a batch in its order of submission. A key that is
        a set of indices or a bit mask is submitted by increasing index. The value is the completion
        time, 0 for an order that is not eligible. If several orders of one batch are given, the one
        with the shortest time is kept, and the first of them among equals. Batches without a key
        are not eligible.

        If a task set is passed in place of the number ``n``, keys may contain names, such as
        ``{("camera", "map"): 4}``; for chains, the names of ``chains.rows``, such as
        ``{("lane[0]", "map"): 4}``.

        Raises
        ------
        ValueError, TypeError, OverflowError
            A key has an unknown or repeated task, or the class refuses the times.
        """
        n = n.rows if isinstance(n, KernelChains) else n
        names = n.name if isinstance(n, KernelTasks) else ()
        count = task_count(n.n if isinstance(n, KernelTasks) else n)
        if not isinstance(batches, Mapping):
            raise TypeError(
                f"batches: got {type(batches).__name__}, expected a dict such as "
                "{(0,): 1, (1,): 3, (0, 1): 4}"
            )
        collected = Collected(count)
        for key, value in batches.items():
            what = f"batch {key!r}"
            order = key_order(by_index(key, names, what) if names else key, count, what)
            collected.add(order, completion_time(value, what))
        return cls._of(collected)

    @classmethod
    def _of(cls, collected: Collected) -> BatchTable:
        """The table or stack of batches that were gathered; raises as the class does."""
        completion, undecided = collected.times()
        check_tables(completion, undecided, tasks_of(completion))
        return cls._make(completion, undecided, collected.orders())

    @classmethod
    def from_gpu(
        cls,
        tasks: KernelTasks | KernelChains,
        gpu: GPU | str,
        slowdown: Slowdown = (1.7, 1.9),
        seed: Seed = None,
        first: int = 0,
        *,
        stop: Stop = None,
    ) -> BatchTable:
        """Make the table of tasks that share a GPU, by placing their blocks on SMs.

        [RTNS24], sections 2.3 and 6.1. A batch of two or more kernels is eligible if there is an
        order of submission in which every block of every kernel is resident at once, when blocks
        are assigned to SMs by the most-room rule. A single kernel is always eligible. Kernels with
        different shared-memory carve-outs may share the GPU but not an SM (``GPU.carveout_rule``).
        For up to six kernels all orders are tried (for more if some kernels are identical), and
        beyond that a few heuristic orders. A batch that none of these orders places is left
        undecided if the GPU could hold its total demand. A batch of more kernels than the GPU runs
        at once (``GPU.resident_grids``) is not eligible.

        The completion time of a batch is the ``wcet`` of its longest kernel times a slowdown
        factor, rounded up. The factor is drawn for each batch of two or more kernels. The time of a
        kernel of a chain is its latency plus its ``block_time`` for each wave of its blocks. For
        chains, only batches with at most one kernel per task are considered.

        >>> chains = gs.KernelChains([60, 100], [[4, 2], [10]], blocks=8, threads=256)
        >>> gs.BatchTable.from_gpu(chains, "Xavier", slowdown=1.5).completion.tolist()
        [0, 4, 2, 0, 10, 15, 15, 0]

        Parameters
        ----------
        tasks
            One set or a stack of tasks or chains. ``blocks``, ``threads``, ``regs``, ``smem`` and
            ``wcet`` are used (for chains ``block_time`` and ``latency`` instead of ``wcet``).
        gpu
            A GPU or the name of a preset.
        slowdown
            A pair ``(smallest, largest)``: factors are drawn uniformly from the multiples of 1e-9
            in this range, both ends included. A number: the same factor for all batches.
            ``"small"`` (1 to 1.4), ``"large"`` (1.7 to 1.9) or ``"mixed"`` (1.1 to 1.9): the ranges
            of the paper. None: no slowdown.
        seed
            An int, a ``SeedSequence``, a ``Generator``, or None.
        first
            Index of the first set: with a given seed, set ``first + i`` has the same factors in
            every stack.
        stop
            Writable buffer of one byte, such as ``bytearray(1)``. The call ends when another thread
            sets the byte to 1.

        Raises
        ------
        ValueError
            There are more than 24 tasks (kernels of chains), a block does not fit an SM (the
            message names its task and the resource), or a factor is below 1.
        OverflowError
            A time is 2**60 - 1 ticks or more.
        gpusched.Cancelled
            ``stop`` was set.
        """
        from gpusched.model.gpu import as_gpu

        device = as_gpu(gpu)
        least, most = factors(slowdown)
        if isinstance(tasks, KernelChains):
            from gpusched.model.chain_tables import place_chains

            key, number = seed_key(seed), set_number(first)
            return cls._make(*place_chains(tasks, device, (least, most), key, number, stop))
        _check_tasks(tasks)
        completion, undecided, *orders = _core.oracle_by_placement(
            device._limits,
            device.sm_order,
            np.atleast_2d(tasks.blocks),
            np.atleast_2d(tasks.threads),
            np.atleast_2d(tasks.regs),
            np.atleast_2d(tasks.smem),
            np.atleast_2d(tasks.wcet),
            key=seed_key(seed),
            first=set_number(first),
            least=least,
            most=most,
            crowd=device.resident_grids,
            stop=stop,
        )
        return cls._of_stack(tasks, completion, undecided, tuple(orders))

    def with_bandwidth(
        self, demand: npt.ArrayLike, bandwidth: int | str, *, stop: Stop = None
    ) -> BatchTable:
        """Return the table with batches slowed by max-min shares of the memory's bandwidth.

        The time of each batch of two or more is multiplied by the largest slowdown of its members,
        exactly, and rounded up: a kernel that gets less than it demands takes as much longer. The
        times of a table without slowdown are the ones to be slowed. A model, not a bound.

        >>> tasks = gs.KernelTasks([40, 40], wcet=[8, 6], blocks=4, threads=256)
        >>> table = gs.BatchTable.from_gpu(tasks, "Xavier", slowdown=None)
        >>> table.with_bandwidth([100 * 10**9, 50 * 10**9], "120GB/s").completion.tolist()
        [0, 8, 6, 12]

        Parameters
        ----------
        demand
            Bytes per second that each task (kernel of a chain) moves alone, at most the bandwidth.
        bandwidth
            Bandwidth of the memory: bytes per second, or text such as ``"136GB/s"``.
        stop
            Writable buffer of one byte, such as ``bytearray(1)``. The call ends when another thread
            sets the byte to 1.

        Raises
        ------
        ValueError
            The table is a stack, there is not one demand per task, or one exceeds the bandwidth.
        OverflowError
            A time is 2**60 - 1 ticks or more.
        """
        if self.is_stack:
            raise ValueError("table: got a stack, expected one table; its sets have own demands")
        rates = int_array(demand, "demand")
        if rates.shape != (self.n,):
            raise ValueError(f"demand: got shape {rates.shape}, expected one per task, ({self.n},)")
        capacity = as_bandwidth(bandwidth, "bandwidth")

        def slowed(times: Any) -> Any:
            return _core.bandwidth_batches(times, rates, capacity, stop=stop)

        undecided = None if self.undecided is None else slowed(self.undecided)
        return BatchTable._make(slowed(self.completion), undecided, self._orders)

    @classmethod
    def from_utilization(
        cls, tasks: KernelTasks, slowdown: Slowdown = None, seed: Seed = None, first: int = 0
    ) -> BatchTable:
        """Make the table of tasks that may share the GPU if their total utilization is at most 1.

        A model without a GPU, for comparisons: a batch of two or more tasks is eligible if and only
        if the sum of ``wcet / period`` is at most 1, computed exactly. A single task is always
        eligible. Completion times and the other parameters are as in `from_gpu`, but by default
        there is no slowdown.

        Raises
        ------
        ValueError
            There are more than 24 tasks, or a factor is below 1.
        OverflowError
            A time is 2**60 - 1 ticks or more, or the hyperperiod is too large.
        """
        _check_tasks(tasks)
        least, most = factors(slowdown)
        completion = _core.oracle_by_utilization(
            np.atleast_2d(tasks.period),
            np.atleast_2d(tasks.wcet),
            key=seed_key(seed),
            first=set_number(first),
            least=least,
            most=most,
        )
        return cls._of_stack(tasks, completion, None, None)

    @overload
    @classmethod
    def from_slowdown(
        cls, tasks: KernelTasks, slowdown: Callable[[tuple[int, ...]], Factor | None]
    ) -> BatchTable: ...
    @overload
    @classmethod
    def from_slowdown(
        cls,
        tasks: KernelChains,
        slowdown: Callable[[tuple[tuple[int, int], ...]], Factor | None],
    ) -> BatchTable: ...
    @classmethod
    def from_slowdown(
        cls,
        tasks: KernelTasks | KernelChains,
        slowdown: Callable[[tuple[int, ...]], Factor | None]
        | Callable[[tuple[tuple[int, int], ...]], Factor | None],
    ) -> BatchTable:
        """Make the table of one set from a function that returns the slowdown of each batch.

        The completion time of a batch of two or more is the time of its longest member alone
        (``wcet`` of a task, ``latency`` plus ``block_time`` of a kernel of a chain) times the
        factor, rounded up.

        >>> chains = gs.KernelChains(period=[60, 100], block_time=[[4, 2], [10]])
        >>> table = gs.BatchTable.from_slowdown(
        ...     chains, lambda batch: None if (0, 1) in batch else 1.2)
        >>> table.completion.tolist()
        [0, 4, 2, 0, 10, 12, 0, 0]

        Parameters
        ----------
        tasks
            One set of tasks or chains.
        slowdown
            Called once for each batch of two or more, with its members: a tuple of task indices,
            or for chains a tuple of pairs (task, kernel) with at most one kernel per task, by
            increasing task. It returns a factor from 1 to a million, which is rounded to
            billionths, or None for a batch that is not eligible.

        Raises
        ------
        ValueError
            There are more than 24 tasks or kernels, the tasks are a stack, or a factor is invalid
            (the message names the batch).
        OverflowError
            A time is 2**60 - 1 ticks or more.
        TypeError
            The tasks are of another class.
        """
        from gpusched.model.chain_tables import slowed_batches

        instance(tasks, (KernelTasks, KernelChains), "tasks")
        if not callable(slowdown):
            raise TypeError(f"slowdown: got {shown(slowdown)}, expected a function of the batch")
        return cls._make(slowed_batches(tasks, slowdown), None, None)

    @classmethod
    def _of_stack(
        cls, tasks: KernelTasks, completion: Any, undecided: Any, orders: Any
    ) -> BatchTable:
        if tasks.is_stack:
            return cls._make(completion, undecided, orders)
        return cls._make(completion[0], None if undecided is None else undecided[0], orders)

    @classmethod
    def from_file(
        cls,
        path: str | os.PathLike[str],
        statistic: str = "worst",
        tasks: KernelTasks | Sequence[str] | int | None = None,
        *,
        max_bytes: int = MAX_BYTES,
    ) -> BatchTable:
        """Read a table of measured completion times: one row per batch, in CSV or JSON.

        The suffix of the name, ``.csv`` or ``.json``, determines the format. A row describes a
        batch: its tasks in the order of submission, its completion time in whole ticks (or several
        samples of it), and optionally whether it was eligible. In CSV, tasks and samples are
        separated by semicolons::

            batch,completion,eligible
            detect,120,yes
            track,90,
            track;detect,180;175;183,yes
            detect;track,,no

        In JSON::

            {"tasks": ["detect", "track"],
             "batches": [
               {"batch": ["detect"], "completion": 120},
               {"batch": [1], "completion": 90},
               {"batch": ["track", "detect"], "completion": [180, 175, 183], "eligible": true},
               {"batch": ["detect", "track"], "eligible": false}]}

        A task is given by its index or its name. The indices of names are taken from ``tasks``;
        without it, from the list ``"tasks"`` in JSON (which may also be the number of tasks);
        without that, from the order of the rows with a single task. ``eligible`` is yes, no or
        unknown (undecided) in CSV, where true, false, 1 and 0 are accepted too, and ``true``,
        ``false`` or ``"unknown"`` in JSON. If it is missing, a batch is eligible unless its
        completion time is 0 or missing. If several orders of one batch are given, the one with the
        shortest time is kept. Batches without a row are not eligible.

        Parameters
        ----------
        path
            File name.
        statistic
            Statistic of several samples that becomes the completion time: ``"worst"``,
            ``"median"`` or ``"mean"``; the last two are rounded up to whole ticks.
        tasks
            Names of the tasks in the order of their indices, a task set with these names, or the
            number of tasks.
        max_bytes
            Size in bytes of the largest file that is read (default: 4 GiB).

        Raises
        ------
        OSError
            The file cannot be read, or is not a regular file.
        ValueError
            The file is too large or its content is invalid: an unknown task, a repeated row
            (several samples belong in one row), a time that is not a positive whole number, a
            single task that is not eligible. The message names the file, the row and the entry.
        OverflowError
            A time is 2**60 - 1 ticks or more.
        """
        from gpusched.model.batch_table_file import read

        return read(path, statistic, tasks, BatchTable._of, max_bytes)

    def to_file(
        self, path: str | os.PathLike[str], tasks: KernelTasks | Sequence[str] | None = None
    ) -> None:
        """Write the batches of one set to a file that `from_file` reads, with names if ``tasks``
        are given. An existing file is replaced only when the new one is complete."""
        from gpusched.model.batch_table_file import write

        write(self, path, tasks)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the table or stack to a NumPy ``.npz`` file without loss, for `load`. An existing
        file is replaced only when the new one is complete."""
        from gpusched._support.files import replacing

        arrays: dict[str, Any] = {"format": np.array(_FORMAT), "completion": self.completion}
        if self.undecided is not None:
            arrays["undecided"] = self.undecided
        if self._orders is not None:
            arrays["order"] = self.order
        with replacing(path) as file:
            np.savez_compressed(file, **arrays)

    @classmethod
    def load(cls, path: str | os.PathLike[str], *, max_bytes: int = MAX_BYTES) -> BatchTable:
        """Read a file written by `save`, of at most ``max_bytes`` bytes unpacked (default: 4 GiB).

        Raises OSError if the file cannot be read or is not a regular file, and ValueError if it
        was not written by `save`.
        """
        from gpusched._support.saved_files import read_npz

        where = path_text(path)
        arrays = read_npz(where, "BatchTable", max_bytes)
        try:
            known = ("format", "completion", "undecided", "order")
            if "completion" not in arrays or str(arrays.get("format")) != _FORMAT:
                raise ValueError("another format or version")
            if unknown := [name for name in arrays if name not in known]:
                raise ValueError(f"the array {shown(unknown[0])}")
            return cls(arrays["completion"], arrays.get("undecided"), arrays.get("order"))
        except (OverflowError, TypeError, ValueError) as error:
            text = f"got a file with {error}, expected a saved BatchTable"
            raise ValueError(f"{where}: {text}") from error

    # Batches ----------------------------------------------------------------------------

    @property
    def n(self) -> int:
        """Number of tasks in a set."""
        return int(self.completion.shape[-1]).bit_length() - 1

    @property
    def is_stack(self) -> bool:
        """Whether this is a stack of tables."""
        return self.completion.ndim == 2

    def __len__(self) -> int:
        """Sets in a stack, batches (2**n, the empty one included) in a single table."""
        return int(self.completion.shape[0])

    def __getitem__(self, index: int | slice) -> BatchTable:
        """Table ``index`` of a stack, or a part of the stack."""
        if not self.is_stack:
            raise TypeError("tables: got one table, expected a stack of tables to be indexed")
        if not isinstance(index, slice):
            index = position(index, len(self), "tables")
        return self._sets(index)

    def _sets(self, index: Any) -> BatchTable:
        """Tables of a stack by an index that was checked: a number, a slice or numbers."""
        orders, n = None, self.n
        if self._orders is not None:
            at, rows = self._orders
            chosen = np.atleast_1d(np.arange(len(self))[index])
            first, end = (np.searchsorted(at, chosen + k << n) for k in (0, 1))
            places = [np.arange(*span) for span in zip(first, end, strict=True)]
            moved = np.repeat(np.arange(len(chosen)) - chosen << n, end - first)
            kept = np.concatenate([np.zeros(0, np.int64), *places])
            orders = at[kept] + moved, rows[kept]
        undecided = None if self.undecided is None else self.undecided[index].copy()
        return self._make(self.completion[index].copy(), undecided, orders)

    def batch_mask(self, members: Iterable[int]) -> int:
        """Bit mask of a set of tasks: ``batch_mask([0, 2])`` is 5."""
        return mask_of(members, self.n)

    def members(self, mask: int) -> tuple[int, ...]:
        """Tasks of a batch, by increasing index."""
        return members(self._mask(mask))

    def submission_order(self, mask: int) -> tuple[int, ...]:
        """Tasks of an eligible batch in the order of submission.

        Raises ValueError if the batch is not eligible, and TypeError for a stack.
        """
        if self.is_stack:
            raise TypeError("tables: got a stack, expected one table, such as table[i]")
        number = self._mask(mask)
        if self.completion[number] == 0:
            raise ValueError(f"mask: got batch {set_text(number)}, expected an eligible one")
        return tuple(int(i) for i in self._submissions(np.array([number]))[0] if i >= 0)

    def _mask(self, mask: Any) -> int:
        number = integer(mask, "mask")
        if not 0 <= number < 2**self.n:
            raise ValueError(f"mask: got {shown(number)}, expected a set of {self.n} tasks")
        return number

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, BatchTable):
            return NotImplemented
        ours, theirs = (
            (t.completion, t.undecided, *(t._orders or (None, None))) for t in (self, other)
        )
        return all(
            (a is None) == (b is None) and (a is None or np.array_equal(a, b))
            for a, b in zip(ours, theirs, strict=True)
        )

    __hash__ = None  # type: ignore[assignment]

    def __reduce__(self) -> Any:
        return (BatchTable._make, (self.completion, self.undecided, self._orders))

    def to_frame(self, names: Sequence[str] | None = None) -> pd.DataFrame:
        """Return a pandas table with one row per eligible or undecided batch.

        The columns are ``set`` (for a stack), ``size``, ``tasks`` in the order of submission,
        ``completion`` (for an undecided batch, the time it would have) and ``undecided``.

        >>> stack = gs.BatchTable([[0, 1, 3, 4], [0, 1, 3, 0]])
        >>> print(stack.to_frame().to_string(index=False))
         set  size  tasks  completion  undecided
           0     1   (0,)           1      False
           0     1   (1,)           3      False
           0     2 (0, 1)           4      False
           1     1   (0,)           1      False
           1     1   (1,)           3      False

        Parameters
        ----------
        names
            Names of the n tasks. The column ``tasks`` then has names instead of indices, and
            `from_frame` does not accept the table.

        Raises
        ------
        ValueError
            The number of names is not n.

        >>> stack[0].to_frame(["camera", "lidar"])["tasks"].tolist()
        [('camera',), ('lidar',), ('camera', 'lidar')]
        """
        return frame_of(self._table(names))

    def _table(self, names: Sequence[str] | None = None) -> dict[str, Any]:
        from gpusched.model.batch_table_file import table_of

        return table_of(self, names)

    @classmethod
    def from_frame(cls, frame: pd.DataFrame) -> BatchTable:
        """Make a table or stack from a pandas table like that of `to_frame`.

        Parameters
        ----------
        frame
            One row per batch. The column ``completion`` is required, and one of ``tasks`` and
            ``mask``; without ``tasks``, batches are submitted by increasing index. Batches without
            a row are not eligible. With a column ``set``, the result is a stack.

        Returns
        -------
        BatchTable
            ``from_frame(table.to_frame()) == table``, except for empty stacks.

        Raises
        ------
        ValueError
            Values are missing, columns are unknown, a batch occurs twice, or the class refuses
            the values.
        TypeError
            The object is not a pandas table.

        >>> table = gs.BatchTable.from_dict(2, {(0,): 1, (1,): 3, (1, 0): 4})
        >>> gs.BatchTable.from_frame(table.to_frame()) == table
        True
        """
        from gpusched.model.batch_table_file import collected_from

        return cls._of(collected_from(frame))

    def __repr__(self) -> str:
        if self.is_stack:
            return f"<BatchTable: {plural(len(self), 'set')} of {plural(self.n, 'task')}>"
        return f"<BatchTable: {self._counts()}>"

    def _counts(self) -> str:
        text = f"{plural(self.n, 'task')}, {int((self.completion > 0).sum())} eligible batches"
        if self.undecided is not None:
            text += f", {int((self.undecided > 0).sum())} undecided"
        return text

    def _repr_html_(self) -> str:
        if self.is_stack:
            return f"<p>BatchTable: {plural(len(self), 'set')} of {plural(self.n, 'task')}</p>"
        masks = np.flatnonzero(self.completion)
        rows = "".join(
            f"<tr><td>{order_text(self.submission_order(int(mask)))}</td>"
            f"<td>{int(self.completion[mask]):,}</td></tr>"
            for mask in masks[:_ROWS]
        )
        more = f"<p>and {len(masks) - _ROWS} more</p>" if len(masks) > _ROWS else ""
        return (
            f"<table><caption>BatchTable: {self._counts()}; ticks</caption>"
            f"<tr><th>batch</th><th>completion</th></tr>{rows}</table>{more}"
        )


def _check_tasks(tasks: Any) -> None:
    instance(tasks, KernelTasks, "tasks")
    if tasks.n > MAX_TASKS:
        raise ValueError(f"tasks: got {tasks.n} in a set, expected at most {MAX_TASKS}")
