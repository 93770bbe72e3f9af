"""Comparison of a simulation with the log of blocks that it replays (``gs.io.agreement``)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal, Protocol, SupportsIndex

import numpy as np
import numpy.typing as npt

from gpusched._support.arguments import Int64Array, frozen, instance, integer, one_of, position
from gpusched._support.results import Results
from gpusched._support.tabular import Tabular, frame_of
from gpusched._support.text import clip, escape, shown
from gpusched.io import block_log
from gpusched.io.block_log import BlockLog, Violation
from gpusched.io.replay import origin_of
from gpusched.model.gpu import GPU
from gpusched.model.launches import Launches

if TYPE_CHECKING:
    import pandas as pd

    from gpusched.io.log_timeline import Blocks

_SHOWN = 40  # characters of a name
_LISTED = 10
_SHAPE = ("stream", "blocks", "threads", "regs", "smem")


class _Waits(Protocol):
    @property
    def launch(self) -> Int64Array: ...
    @property
    def blocker(self) -> Int64Array: ...
    @property
    def start(self) -> Int64Array: ...
    @property
    def end(self) -> Int64Array: ...
    @property
    def reason(self) -> npt.NDArray[np.str_]: ...


class Run(Protocol):
    """Protocol of a run of ``gs.simulate.hierarchy``: what is compared with a log."""

    @property
    def launches(self) -> Launches: ...
    @property
    def gpu(self) -> GPU: ...
    @property
    def outcome(self) -> str: ...
    @property
    def first(self) -> Int64Array: ...
    @property
    def end(self) -> Int64Array: ...
    @property
    def blocks(self) -> Blocks | None: ...
    @property
    def waits(self) -> _Waits: ...
    def why(self, launch: int | None = None) -> str: ...


@dataclass(frozen=True)
class Difference:
    """A kernel whose simulated start differs from the measured one, and the rule that explains it.

    >>> gpu = gs.GPU(sms=1, threads_per_sm=1024, blocks_per_sm=16)
    >>> shape, starts = (1, 1024, 0, 0), ([0, 130], [100, 200])
    >>> log = gs.io.BlockLog(["a", "b"], [0, 1], [0, 10], *shape, [0, 1], 0, 0, *starts)
    >>> run = gs.simulate.hierarchy(log.launches().launches, gpu)
    >>> [(each.kernel, each.error, each.rule) for each in gs.io.agreement(run, log).differences]
    [(1, -30, 'idle')]

    Attributes
    ----------
    kernel
        Row of the kernel in the log, which is its launch.
    error
        Simulated minus measured start of its first block, in ticks.
    rule
        For a later simulated start, the reason why the kernel still waited at the measured start
        (as in ``Waits.reason``), or "launch" if it did not wait. For a later measured start, the
        rule of ``check_rules`` that the log violates there, such as "idle". "earlier" if the only
        cause is a difference of another kernel.
    blocker
        The launch that it waited for, or the kernel whose difference caused this one; -1 for none.
    sentence
        The same in words.
    """

    kernel: int
    error: int
    rule: str
    blocker: int
    sentence: str

    def __str__(self) -> str:
        return self.sentence


@dataclass(frozen=True, eq=False, repr=False)
class Agreement(Tabular):
    """Agreement of a simulation with the log that it replays; see ``gs.io.agreement``.

    Arrays are read-only; errors are simulated minus measured times, in ticks.

    >>> gpu = gs.GPU(sms=1, threads_per_sm=1024, blocks_per_sm=16)
    >>> log = gs.io.BlockLog(["a"], [0], [0], 1, 1024, 0, 0, [0], 0, 0, [0], [100])
    >>> run = gs.simulate.hierarchy(log.launches().launches, gpu)
    >>> gs.io.agreement(run, log).exact
    True

    Attributes
    ----------
    start_error, end_error
        Errors of each kernel's first start and last end, shape ``(K,)``, by the rows of the log.
    block_start_error
        Error of each block's start, shape ``(B,)``, by the rows of the log.
    same_sm
        Whether each block ran on the same SM as in the log, bool of shape ``(B,)``.
    tolerance
        Largest difference that counts as agreement.
    latency
        Launch latency that is allowed when the rules of the log are checked for explanations.
    origin
        Time in the log that is tick 0 of the simulation.
    run, log
        The simulation and the log.
    """

    start_error: Int64Array
    end_error: Int64Array
    block_start_error: Int64Array
    same_sm: npt.NDArray[np.bool_]
    tolerance: int
    latency: int
    origin: int
    run: Run
    log: BlockLog

    def __len__(self) -> int:
        return len(self.start_error)

    # Shares

    @property
    def kernels_within(self) -> float:
        """Share of kernels whose first start and last end are within the tolerance."""
        late = np.maximum(np.abs(self.start_error), np.abs(self.end_error))
        return float((late <= self.tolerance).mean())

    @property
    def blocks_within(self) -> float:
        """Share of blocks whose start is within the tolerance."""
        return float((np.abs(self.block_start_error) <= self.tolerance).mean())

    @property
    def blocks_on_sm(self) -> float:
        """Share of blocks that ran on the same SM as in the log."""
        return float(self.same_sm.mean())

    @property
    def exact(self) -> bool:
        """Whether every block starts within the tolerance, on the same SM as in the log."""
        late = np.abs(self.block_start_error) > self.tolerance
        return not late.any() and bool(self.same_sm.all())

    @property
    def worst(self) -> int:
        """The kernel with the largest error of its start or end; the first of several."""
        return int(np.argmax(np.maximum(np.abs(self.start_error), np.abs(self.end_error))))

    # Reasons

    @cached_property
    def differences(self) -> tuple[Difference, ...]:
        """Kernels whose start differs by more than the tolerance, in order of measured start.

        At the first of them, the simulation and the GPU begin to differ; later differences often
        follow from it.
        """
        late = np.flatnonzero(np.abs(self.start_error) > self.tolerance)
        order = late[np.argsort(self._measured[late], kind="stable")]
        return tuple(self._difference(kernel) for kernel in order.tolist())

    def why(self, kernel: SupportsIndex | None = None) -> str:
        """Explain the differences of starts, one line per kernel.

        Parameters
        ----------
        kernel
            Row of a kernel in the log. Default: up to ten kernels that differ, by measured start.

        Returns
        -------
        str
            Empty if nothing differs by more than the tolerance.

        Raises
        ------
        IndexError
            The kernel does not exist.
        """
        if kernel is not None:
            row = position(kernel, len(self), "kernel")
            if abs(int(self.start_error[row])) <= self.tolerance:
                return ""
            return self._difference(row).sentence
        lines = [difference.sentence for difference in self.differences[:_LISTED]]
        if (more := len(self.differences) - _LISTED) > 0:
            lines.append(f"{more} more kernels differ")
        return "\n".join(lines)

    @cached_property
    def violations(self) -> list[Violation]:
        """Findings of ``check_rules`` in the log, with the run's GPU, tolerance and latency."""
        return block_log.check(self.log, self.run.gpu, self.tolerance, "most_room", self.latency)

    @cached_property
    def _found(self) -> dict[int, Violation]:
        """The first violation of each kernel that is about times."""
        found: dict[int, Violation] = {}
        for violation in self.violations:
            if violation.rule not in ("limits", "placement"):
                found.setdefault(violation.kernel, violation)
        return found

    @cached_property
    def _waits_by_launch(self) -> tuple[Int64Array, Int64Array]:
        """Rows of the waits by launch and start, and where those of each launch begin."""
        waits = self.run.waits
        order = np.lexsort((waits.start, waits.launch))
        begin = np.searchsorted(waits.launch[order], np.arange(len(self) + 1))
        return order, begin

    @cached_property
    def _measured(self) -> Int64Array:
        return self.log.first

    @cached_property
    def _reasons(self) -> npt.NDArray[np.str_]:
        return self.run.waits.reason

    @cached_property
    def _first_different(self) -> int:
        """The kernel that differs and starts first in the log; -1 without one."""
        late = np.flatnonzero(np.abs(self.start_error) > self.tolerance)
        return int(late[np.argmin(self._measured[late])]) if len(late) else -1

    def _label(self, kernel: int) -> str:
        return f"{clip(str(self.log.name[kernel]), _SHOWN)} (kernel {kernel})"

    def _difference(self, kernel: int) -> Difference:
        error = int(self.start_error[kernel])
        violation = self._found.get(kernel)
        broken = f"; the log violates {violation}" if violation else ""
        told = self._label(kernel)
        if error > 0:
            rule, blocker, because = self._simulated_wait(kernel)
            sentence = f"{told}: simulated start is {error} later: {because}{broken}"
            return Difference(kernel, error, rule, blocker, sentence)
        told = f"{told}: measured start is {-error} later"
        if violation:
            return Difference(kernel, error, violation.rule, -1, f"{told}{broken}")
        first = self._first_different
        if first != kernel:
            because = f"the log violates no rule here; {self._label(first)} differs before it"
            return Difference(kernel, error, "earlier", first, f"{told}: {because}")
        because = "the log violates no rule here, and no kernel differs before it"
        return Difference(kernel, error, "", -1, f"{told}: {because}")

    def _simulated_wait(self, kernel: int) -> tuple[str, int, str]:
        """Reason and blocker of the wait at the measured start, and a sentence; of the last wait
        before the kernel's simulated start where there is none then."""
        order, begin = self._waits_by_launch
        rows = order[begin[kernel] : begin[kernel + 1]]
        waits, start = self.run.waits, int(self.run.first[kernel])
        rows = rows[waits.end[rows] <= start]
        if not len(rows):
            return "launch", -1, f"it is launched at {start + self.origin} and does not wait"
        covering = rows[waits.end[rows] + self.origin > self._measured[kernel]]
        row = int(covering[0] if len(covering) else rows[-1])
        rule, blocker = str(self._reasons[row]), int(waits.blocker[row])
        whom = f" for {self._label(blocker)}" if blocker >= 0 else ""
        since, until = (int(times[row]) + self.origin for times in (waits.start, waits.end))
        then = f", and starts at {start + self.origin}" if until < start + self.origin else ""
        return rule, blocker, f"it waits{whom} from {since} to {until} ({rule}){then}"

    # Tables and text

    @property
    def kernels(self) -> Results:
        """Table of the kernels.

        Columns: kernel, name, stream, measured_start, simulated_start, start_error, measured_end,
        simulated_end, end_error (on the log's clock), blocks, on_sm (blocks on the same SM).
        """
        log = self.log
        on_sm = np.bincount(log.kernel[self.same_sm], minlength=len(log))
        columns: dict[str, Any] = {
            "kernel": np.arange(len(log)),
            "name": np.array([str(name) for name in log.name], dtype=np.str_),
            "stream": log.stream,
            "measured_start": log.first,
            "simulated_start": self.run.first + self.origin,
            "start_error": self.start_error,
            "measured_end": log.ended,
            "simulated_end": self.run.end + self.origin,
            "end_error": self.end_error,
            "blocks": log.blocks,
            "on_sm": on_sm,
        }
        return Results(columns)

    def to_frame(self, by: Literal["kernel", "block"] = "kernel") -> pd.DataFrame:
        """Return a pandas table: ``kernels``, or one row per block in the order of the log."""
        one_of(by, ("kernel", "block"), "by")
        if by == "kernel":
            return frame_of(self._table())
        log = self.log
        columns = {key: getattr(log, key) for key in ("kernel", "block", "sm", "start", "end")}
        columns |= {"start_error": self.block_start_error, "same_sm": self.same_sm}
        return frame_of(columns)

    def _table(self) -> Mapping[str, Any]:
        return self.kernels.columns

    def __repr__(self) -> str:
        return f"<Agreement: {self._summary()}>"

    def _summary(self) -> str:
        within = f"within {self.tolerance}"
        worst = self.worst
        said = (
            f"{_percent(self.kernels_within)} of {len(self)} kernels {within}; "
            f"{_percent(self.blocks_within)} of {len(self.same_sm)} blocks start {within}, "
            f"{_percent(self.blocks_on_sm)} on the same SM"
        )
        errors = (int(self.start_error[worst]), int(self.end_error[worst]))
        if errors == (0, 0):
            return said
        return (
            f"{said}; largest errors {self._label(worst)}: start {errors[0]:+}, end {errors[1]:+}"
        )

    def _repr_html_(self) -> str:
        lines = "".join(f"<li>{escape(line)}</li>" for line in self.why().splitlines())
        told = f"<ul>{lines}</ul>" if lines else ""
        return f"<p>{escape(self._summary())}</p>{told}{self.kernels._repr_html_()}"


def agreement(
    run: Run,
    log: BlockLog,
    *,
    tolerance: SupportsIndex = 0,
    latency: SupportsIndex | None = None,
    origin: SupportsIndex | None = None,
) -> Agreement:
    """Compare a simulation of a log's kernels with the log, block by block.

    Parameters
    ----------
    run
        The result of ``gs.simulate.hierarchy`` for the launches of ``log.launches()``, with its
        blocks. Launch i is kernel i of the log, and its block b is block b of that kernel.
    log
        The measured blocks.
    tolerance
        Largest difference in ticks that counts as agreement.
    latency
        Launch latency that is allowed when the rules of the log are checked, as in ``check_rules``.
        Default: ``log.launch_latency()``, or 0 if the log shows none.
    origin
        Time in the log that is tick 0 of the run. Default: the earliest launch in the log, as for
        ``log.launches()``.

    Returns
    -------
    Agreement
        Errors of starts and ends, agreement of SMs, and for kernels that differ the rules that
        explain it: the simulated wait if the simulation is later, and the violated rule
        (``check_rules``) if the measurement is later.

    Raises
    ------
    TypeError
        The arguments are not a run and a log.
    ValueError
        The run has other launches (the message names the first kernel and value that differ), did
        not end, or has no blocks; or an SM does not exist on the run's GPU.

    Examples
    --------
    The second kernel starts 30 ticks after it could have:

    >>> gpu = gs.GPU(sms=1, threads_per_sm=1024, blocks_per_sm=16)
    >>> log = gs.io.BlockLog(
    ...     ["a", "b"], [0, 1], [0, 10], 1, 1024, 0, 0, [0, 1], 0, 0, [0, 130], [100, 200]
    ... )
    >>> run = gs.simulate.hierarchy(log.launches().launches, gpu)
    >>> agreement = gs.io.agreement(run, log, tolerance=5)
    >>> agreement.start_error.tolist(), agreement.blocks_on_sm
    ([0, -30], 1.0)
    >>> print(agreement.why())  # doctest: +ELLIPSIS
    b (kernel 1): measured start is 30 later; the log violates idle: block 0 of b ... on, but ...
    """
    instance(log, BlockLog, "log")
    margin = _number(tolerance, "tolerance")
    allowance = (log.launch_latency() or 0) if latency is None else _number(latency, "latency")
    blocks = _checked(run, log)
    shift = origin_of(log) if origin is None else integer(origin, "origin")
    mine, theirs = np.lexsort((log.block, log.kernel)), np.lexsort((blocks.block, blocks.kernel))
    start_error = np.empty(len(log.kernel), np.int64)
    start_error[mine] = blocks.start[theirs] + shift - log.start[mine]
    same = np.empty(len(log.kernel), bool)
    same[mine] = blocks.sm[theirs] == log.sm[mine]
    return Agreement(
        start_error=frozen(run.first + shift - log.first),
        end_error=frozen(run.end + shift - log.ended),
        block_start_error=frozen(start_error),
        same_sm=frozen(same),
        tolerance=margin,
        latency=allowance,
        origin=shift,
        run=run,
        log=log,
    )


def _checked(run: Run, log: BlockLog) -> Blocks:
    """The blocks of a run of the log's kernels."""
    if getattr(type(run), "_KIND", "") != "Hierarchy":
        raise TypeError(
            f"run: got {type(run).__name__}, expected the Hierarchy of gs.simulate.hierarchy; the "
            "order is agreement(run, log)"
        )
    hint = "expected a run of log.launches().launches"
    launches = run.launches
    if len(launches) != len(log) or not len(log):
        raise ValueError(
            f"run: got {len(launches)} launches, {len(log)} kernels in the log; {hint}"
        )
    for row in np.flatnonzero(launches.kind)[:1].tolist():
        raise ValueError(f"run: launch {row}: got a copy, {hint}")
    for name in _SHAPE:
        given, logged = getattr(launches, name), getattr(log, name)
        for row in np.flatnonzero(given != logged)[:1].tolist():
            raise ValueError(
                f"run: launch {row}: {name}: got {given[row]}, the log has {logged[row]} for "
                f"{shown(log.name[row])}; {hint}"
            )
    if run.outcome != "done":
        raise ValueError(f"run: got the outcome {run.outcome!r}, expected 'done'")
    if run.blocks is None:
        raise ValueError("run: got a run without its blocks, expected one with blocks=True")
    for row in np.flatnonzero(log.sm >= run.gpu.sms)[:1].tolist():
        raise ValueError(
            f"sm[{row}]: got {log.sm[row]}, expected 0 to {run.gpu.sms - 1}, an SM of the run's GPU"
        )
    return run.blocks


def _number(value: Any, name: str) -> int:
    number = integer(value, name)
    if not 0 <= number < 2**62:
        raise ValueError(f"{name}: got {number}, expected 0 to 2**62 - 1")
    return number


def _percent(share: float) -> str:
    """A share in percent; 100 % only if it is exactly 1, and 0 % only if it is exactly 0."""
    if share in (0.0, 1.0):
        return f"{share:.0%}".replace("%", " %")
    return f"{min(max(share * 100, 0.1), 99.9):.1f} %"
