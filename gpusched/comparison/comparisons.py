"""Comparison of all ways of sharing the GPU for one workload (``gs.compare``)."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from time import perf_counter
from typing import TYPE_CHECKING, Any, ClassVar, SupportsIndex, overload

from gpusched._support.arguments import flag, held_bytes, instance, is_sequence, one_of, position
from gpusched._support.budget import (
    Budget,
    BudgetSpent,
    Progress,
    as_budget,
    is_late,
    raise_if_stopped,
    reporter,
    share_of,
    within_seconds,
)
from gpusched._support.results import Frozen, Saved
from gpusched._support.tabular import Tabular, frame_of
from gpusched._support.text import plural, shown
from gpusched.comparison import comparison_text
from gpusched.comparison.advice import Advice, Tried, advise
from gpusched.comparison.analyses import (
    SEARCH_BUDGET,
    Request,
    Triggered,
    analyzed,
    costs_of,
    grouped,
    options_of,
    timed,
    with_costs,
)
from gpusched.comparison.derived_models import DerivedModels, Gaps
from gpusched.comparison.findings import Findings
from gpusched.comparison.hyperperiods import rate_notes
from gpusched.comparison.margins import GrownModels, Margin
from gpusched.comparison.observations import Watch, observed
from gpusched.comparison.rows import Row, row_of, row_values
from gpusched.comparison.saved_values import FieldValues, platform_values, within, workload_values
from gpusched.comparison.verdicts.premises import Condition
from gpusched.comparison.workload_answer import WorkloadAnswer, verdict_word
from gpusched.comparison.workload_run import WorkloadRun
from gpusched.deploy.deployability import within_level
from gpusched.model.workload.platforms import Platform
from gpusched.model.workload.time_units import Time, as_time, in_ticks
from gpusched.model.workload.workloads import Workload
from gpusched.ways.way import WAYS, OptionValue, Way, as_way

if TYPE_CHECKING:
    import pandas as pd

    from gpusched._draw.axes import AxesArray, AxesLike

_NO_MEMORY = "memory: got none, expected enough for the model or the simulation"


@dataclass(frozen=True, eq=False, repr=False)
class Comparison(Tabular, Saved, Frozen):
    """A workload under several ways of sharing the GPU; see ``gs.compare``.

    It prints as a table. It is a sequence of rows, and can be indexed by the label of a row, such
    as "mpcp (busy)", or by the name of a way, for the first of its rows.

    >>> kernel = gs.Kernel("2ms", blocks=8, threads=256)
    >>> w = gs.Workload([gs.Task("camera", "10ms", [kernel])], tick="us")
    >>> ways = gs.compare(w, gs.Platform("Xavier"), ways=["streams", "pbs"])
    >>> [(row.label, row.schedulable) for row in ways]
    [('streams', True), ('pbs', True)]

    `save` and `load` keep it in a file, with the answers and runs of its rows; `save_report` writes
    a page for readers.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     ways.save(f"{folder}/ways")
    ...     again = gs.Comparison.load(f"{folder}/ways")
    >>> again == ways, again["pbs"].why()
    (True, 'Every job ends in time; camera, with 2ms of 10ms, has the least slack.')

    Attributes
    ----------
    workload, platform
        The arguments of the comparison; times of the platform are in ticks of the workload.
    rows
        A ``Row`` for each way of sharing the GPU, and for each of its modes.
    impossible
        Sentences that explain why no way of sharing the GPU can meet all deadlines, if there is a
        simple reason: a job alone takes longer than its deadline; CPU work, copies or blocks of
        kernels exceed the CPUs, the copy engines or the GPU, in the long run or within an interval;
        kernels and copies of a task take longer than its period. Every row is then "impossible".
    seconds
        Wall-clock time of the call; not compared by ``==``.
    """

    _KIND: ClassVar[str] = "Comparison"
    _PARTS: ClassVar[tuple[type[Saved], ...]] = (*WorkloadAnswer._PARTS, *WorkloadRun._PARTS)

    workload: Workload
    platform: Platform
    rows: tuple[Row, ...]
    impossible: tuple[str, ...]
    seconds: float = field(compare=False)
    _best: ClassVar[Margin | None] = None  # of an object, once it is found

    def _fields(self) -> dict[str, Any]:
        return {
            **super()._fields(),
            "workload": workload_values(self.workload),
            "platform": platform_values(self.platform),
            "rows": tuple(map(row_values, self.rows)),
        }

    @classmethod
    def _from_fields(cls, values: dict[str, Any]) -> Comparison:
        given = FieldValues(values)
        workload, platform = given.workload(), given.platform()
        impossible = given.texts("impossible")
        rows = []
        for i, of_row in enumerate(given.dicts("rows")):
            with within(f"rows[{i}]"):
                rows.append(row_of(of_row, workload, platform, impossible))
        made = cls(workload, platform, tuple(rows), impossible, given.seconds())
        given.done()
        return made

    def __len__(self) -> int:
        return len(self.rows)

    def __iter__(self) -> Iterator[Row]:
        return iter(self.rows)

    @overload
    def __getitem__(self, index: str | SupportsIndex) -> Row: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[Row, ...]: ...
    def __getitem__(self, index: str | SupportsIndex | slice) -> Row | tuple[Row, ...]:
        """Return a row by label, name of its way, or index; several rows for a slice.

        Raises KeyError and IndexError for rows that do not exist.
        """
        if isinstance(index, slice):
            return self.rows[index]
        if not isinstance(index, str):
            return self.rows[position(index, len(self), "rows")]
        for row in self.rows:
            if index in (row.label, row.way.name):
                return row
        known = ", ".join(row.label for row in self.rows)
        raise KeyError(f"rows: got {index!r:.60}, expected one of {known}")

    @property
    def schedulable(self) -> bool | None:
        """True if a way guarantees all deadlines, False if none can, None if undecided.

        It is False only if ``impossible`` gives a reason. It is None if rows are conditional or
        undecided, and also if every row misses a deadline, since other ways and other choices of
        cores or SMs may not.
        """
        if self.impossible:
            return False
        return True if any(row.schedulable for row in self.rows) else None

    @property
    def conditional(self) -> bool:
        """Whether a row guarantees all deadlines under conditions, and none without."""
        return self.schedulable is None and any(row.conditional for row in self.rows)

    @property
    def notes(self) -> tuple[str, ...]:
        """Sentences on the whole workload.

        They are `impossible`; the conditions of the guarantees of some rows; and rates whose
        periods fit badly.
        """
        return (
            *(f"No way keeps all deadlines: {text}." for text in self.impossible),
            *self._conditions(),
            *rate_notes(self.workload),
        )

    def _conditions(self) -> list[str]:
        """A sentence for each condition of guarantees."""
        labels: dict[Condition, list[str]] = {}
        for row in self.rows:
            if row.conditional and row.answer is not None:
                for condition in row.answer.conditions:
                    labels.setdefault(condition, []).append(row.label)
        return [
            f"{', '.join(rows)}: guaranteed only if {condition}."
            for condition, rows in labels.items()
        ]

    def best(self, *, deploy: str | None = None, progress: Progress = None) -> Margin | None:
        """Find the best way of sharing the GPU, and how much all times can grow under it.

        Returns the `Margin` with the largest ``factor`` among the rows that guarantee all deadlines
        (of several, one that is exact if there is one), or else among those that do so under
        conditions; None if no row does. Rows are analysed for some tens of scaled workloads, most
        of them for one: their test rejects the next factor above the largest found so far.

        ``deploy``: only rows that ask for no more than this level of ``gs.deployable``: "code",
        "root" or "patch". ``progress`` is a callable (done, total), in rows, or a bool that turns a
        progress bar on or off; by default a bar appears in a terminal or a notebook after one
        second. Raises ValueError for another level.
        """
        rows = self.rows
        if deploy is not None:
            rows = tuple(row for row in rows if within_level(row.deploy, deploy))
        elif self._best is not None:  # found before: for a report
            return self._best
        good = [row for row in rows if row.schedulable is True]
        good = good or [row for row in rows if row.conditional]
        models = GrownModels()
        growths = [row.growth(models=models) for row in good]
        growths.sort(key=lambda growth: -(growth.guess or 0))
        best: Margin | None = None
        with reporter(progress, len(good), "margin", delay=1.0) as report:
            for done, growth in enumerate(growths, 1):
                found = growth.margin() if best is None else growth.margin_above(best.factor)
                if best is None or (found and (found.factor or 0) > (best.factor or 0)):
                    best = found
                report(done)
        models.forget()
        if deploy is None:
            object.__setattr__(self, "_best", best)
        return best

    def advice(self) -> Advice | None:
        """Find what comes closest to a guarantee if no row gives one.

        Returns an ``Advice``: the way that would guarantee the deadlines if all times were a little
        shorter, and the smallest changes of a deadline, a period, a kernel, a core or the platform
        after which it does. None if a row guarantees all deadlines, also under conditions, if no
        way can, or if nothing that is tried helps. It takes some hundreds of analyses.
        """
        if self.impossible or any(row.schedulable or row.conditional for row in self.rows):
            return None
        return advise(
            [
                Tried(
                    self.workload,
                    row.platform,
                    row.way,
                    Request(row.options, row.gaps, row.budget),
                    row.answer is not None,
                )
                for row in self.rows
                if row.way.test is not None
            ]
        )

    @property
    def verdict(self) -> str:
        """The result in words: "guaranteed", "conditional", "undecided" or "impossible"."""
        if self.impossible:
            return "impossible"
        return verdict_word(self.schedulable, conditional=self.conditional)

    def why(self) -> str:
        """Explain each row that does not guarantee the deadlines, in one sentence per row."""
        lost = [row for row in self.rows if row.schedulable is not True]
        return "\n".join(map(comparison_text.reason_of, lost))

    def to_frame(self) -> pd.DataFrame:
        """Return a pandas table with one row per way and task.

        The columns are ``way``, ``claim``, ``schedulable``, ``verdict``, ``deploy``, ``task``,
        ``deadline``, ``response``, ``slack``, ``p99``, ``observed``, ``late``, ``share_late`` and
        ``reason``. Times are in ticks; missing values are NA.
        """
        return frame_of(self._table())

    def _table(self) -> dict[str, Any]:
        return comparison_text.table_of(self.rows, self.workload)

    def plot(
        self,
        axes: AxesLike | None = None,
        *,
        tasks: Iterable[str] | None = None,
        paths: Iterable[str] | None = None,
    ) -> AxesArray:
        """Draw the bound and the worst observed time per way, for each path and each task.

        Of the bound of a path, the light part is periods between readings.

        Parameters
        ----------
        axes
            Matplotlib axes, one per drawn path and task. Default: those of a new figure.
        tasks, paths
            Names of the tasks and of the paths to draw. Default: the paths and then the tasks, the
            first twelve of them.

        Returns
        -------
        The axes, those of paths first.
        """
        from gpusched.comparison import comparison_picture

        return comparison_picture.plot(self.rows, self.workload, tasks, paths, axes)

    # Reports

    def document(self, *, margin: bool = True, progress: Progress = None) -> dict[str, object]:
        """Return the comparison as a document of dicts, lists, text and numbers, as for JSON.

        >>> import json
        >>> w = gs.Workload([gs.Task("a", 9, [gs.CPU(2), gs.Kernel(3, blocks=4, threads=64)])])
        >>> found = gs.compare(w, gs.Platform("Xavier"), ways=["mpcp"]).document(margin=False)
        >>> json.loads(json.dumps(found)) == found
        True
        >>> found["schedulable"], found["rows"][0]["label"], found["rows"][0]["tasks"][0]["slack"]
        (True, 'mpcp (suspend)', 4)

        Parameters
        ----------
        margin
            Whether to include the results of `best` and `advice`.
        progress
            As in `best`.

        Returns
        -------
        dict
            Times are in ticks of ``tick_ns`` ns; None means that there is no value. Keys:

            - ``format`` ("gpusched comparison"), ``version`` (1), ``gpusched`` (that of the
              package), ``tick``, ``tick_ns``, ``schedulable``, ``verdict``, ``impossible``
              (sentences), ``notes``, ``seconds``.
            - ``workload``: a document that ``gs.Workload.load`` reads; ``platform``: the arguments
              of ``gs.Platform``, with the fields of the GPU.
            - ``rows``: for each row ``label``, ``way``, ``title``, ``test`` (its name in
              ``gs.methods()``), ``options``, ``claim``, ``schedulable``, ``verdict``,
              ``deploy`` (the level of ``gs.deployable``),
              ``conditions`` (``premise``, ``text``, ``tasks``, ``remedy``), ``rules`` (names),
              ``tightest`` (the name of a task), ``reason``, ``paths`` (if the workload has some:
              ``path``, ``kind``, ``deadline``, ``bound``, ``slack``, and of simulated times
              ``p99``, ``observed``, the largest one, and ``late``, the number of those after the
              deadline), ``tasks``, ``assumptions`` (of the test), ``why_no_test``,
              ``simulation`` (``until``, ``jobs``, ``late``,
              ``assumptions``, ``limits`` (what it does not represent), ``seconds``),
              ``why_no_simulation``,
              ``seconds``; for each of its tasks ``task``, ``deadline``, ``response``,
              ``bounded`` (whether the response is a bound), ``slack``, ``p99`` (the simulated
              response that 99 % of its jobs do not exceed), ``observed`` (the worst one), ``late``
              (the number of late jobs) and ``share_late`` (of its jobs).
            - ``rules``: those of GPUs that are not documented and on which rows rest: ``name``,
              ``kind`` ("inferred" or "hint"), ``text``, ``settled_by``, ``source``, ``rows``.
            - ``best``, if margins were computed: None, or ``label``, ``way``, ``options``,
              ``what``, ``factor`` and ``failed`` (exact fractions as text), ``exact``, ``tested``,
              ``conditional``, ``chosen``, ``text``.
            - ``advice``, if margins were computed: None, or ``closest`` (like ``best``),
              ``changes`` (``text``, ``kind``, ``task``, ``factor``, ``conditional``), ``text``.
        """
        from gpusched.comparison.documents import comparison_document

        return comparison_document(self.findings(margin=margin, progress=progress))

    def to_html(
        self, *, title: str | None = None, margin: bool = True, progress: Progress = None
    ) -> str:
        """Return a self-contained HTML page, without scripts, for screens and paper.

        It contains the verdicts, a picture of the responses of each task, the reasons, a timeline
        of each simulation, the assumptions, the workload and the platform. Its size is limited: of
        more than twelve tasks, those with the least slack are drawn.

        >>> w = gs.Workload([gs.Task("a", 9, [gs.CPU(2), gs.Kernel(3, blocks=4, threads=64)])])
        >>> c = gs.compare(w, gs.Platform("Xavier"), ways=["mpcp"])
        >>> c.to_html(title="One kernel", margin=False).count("<h1>One kernel</h1>")
        1

        Parameters
        ----------
        title
            Heading of the page.
        margin, progress
            As in `document`.
        """
        from gpusched.comparison.report.report_page import page_of
        from gpusched.comparison.report.short_runs import short_runs

        runs = short_runs(self.rows, self.workload)
        return page_of(self.findings(margin=margin, progress=progress), runs, title)

    def save_report(
        self,
        folder: str | os.PathLike[str],
        *,
        title: str | None = None,
        margin: bool = True,
        progress: Progress = None,
    ) -> tuple[str, ...]:
        """Write the HTML page, its data, and a trace of each simulated row into a folder.

        >>> import tempfile
        >>> w = gs.Workload([gs.Task("a", 9, [gs.CPU(2), gs.Kernel(3, blocks=4, threads=64)])])
        >>> c = gs.compare(w, gs.Platform("Xavier"), ways=["streams"])
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     paths = c.save_report(folder)
        >>> [os.path.basename(path) for path in paths]
        ['compare.html', 'compare.json', 'streams.trace.json']

        Parameters
        ----------
        folder
            The folder, which is created if needed. It receives ``compare.html`` (the page of
            `to_html`), ``compare.json`` (the `document`), and short simulations for Perfetto
            (ui.perfetto.dev), named ``mpcp-busy.trace.json`` and so on. Each existing file is
            replaced only when the new one is complete.
        title, margin, progress
            As in `to_html`.

        Returns
        -------
        tuple of str
            Paths of the files, the page first.

        Raises
        ------
        OSError
            A file cannot be written.
        """
        from gpusched.comparison.report.report_folder import save_report

        return save_report(self.findings(margin=margin, progress=progress), folder, title)

    def findings(self, *, margin: bool = True, progress: Progress = None) -> Findings:
        """Collect the contents of documents and reports, with the margin of `best` if wanted."""
        wanted = flag(margin, "margin")
        best = self.best(progress=progress) if wanted else None
        advice = self.advice() if wanted and best is None else None
        return Findings(
            self.workload, self.platform, self.rows, self.schedulable, self.verdict,
            self.impossible, self.notes, self.seconds, best, advice, wanted,
        )  # fmt: skip

    def __repr__(self) -> str:
        tasks, rows = plural(len(self.workload), "task"), plural(len(self), "row")
        if self.impossible:
            return f"<Comparison: {tasks}, {rows}, impossible>"
        yes = sum(row.schedulable is True for row in self.rows)
        some = sum(row.conditional for row in self.rows)
        no = sum(row.schedulable is False for row in self.rows)
        under = f"{some} under conditions, " if some else ""
        return (
            f"<Comparison: {tasks}, {rows}, {yes} guarantee every deadline, {under}{no} miss one>"
        )

    def __str__(self) -> str:
        return comparison_text.text_of(self.rows, self.workload, self.notes)

    def _repr_html_(self) -> str:
        return comparison_text.html_of(self.rows, self.workload, self.notes)


def compare(
    workload: Workload,
    platform: Platform,
    *,
    ways: Iterable[Way | str] | None = None,
    simulate: bool = True,
    until: Time | None = None,
    gaps: Gaps = "occupy",
    triggered: Triggered = "apart",
    times: str = "largest",
    budget: Budget | None = None,
    progress: Progress = None,
    stop: Any = None,
) -> Comparison:
    """Compare all ways of sharing the GPU for a workload, by tests and simulations.

    >>> w = gs.Workload([
    ...     gs.Task("camera", "40ms", [gs.CPU("2ms"), gs.Kernel("5ms", blocks=32, threads=256)]),
    ...     gs.Task("planner", "80ms", [gs.CPU("9ms"), gs.Kernel("8ms", blocks=8, threads=128)]),
    ... ], tick="us")
    >>> c = gs.compare(w, gs.Platform("AGX Orin", cpus=2), ways=["streams", "mpcp", "pbs"])
    >>> c.schedulable, [row.label for row in c]
    (True, ['streams', 'mpcp (suspend)', 'mpcp (busy)', 'mpcp (spin)', 'pbs'])
    >>> c["streams"].answer.response.tolist(), c["streams"].run.worst.tolist()
    ([9000, 20200], [7000, 17000])

    Parameters
    ----------
    workload
        Tasks with CPU work, copies and kernels.
    platform
        GPU, CPU cores and overheads.
    ways
        Ways of sharing the GPU (``gs.ways``), or their names, in the order of the rows. One that
        states a mode has a row for this mode only. Default: all.
    simulate
        Whether to run simulations in addition to the tests.
    until
        Length of the simulations, as in `observe`.
    gaps, triggered, times
        As in `analyze`; simulations have the same times.
    budget
        A ``gs.Budget`` for the whole call, whose ``states`` limit each exact search and each
        simulation. Default: 200,000 states and 32 MiB for each search. Each test and each
        simulation gets an equal part of the seconds that are left; one that did not end says so.
    progress
        A callable (done, total), in rows, or a bool that turns a progress bar on or off; by default
        a bar appears in a terminal or a notebook after one second.
    stop
        Writable buffer of one byte, such as ``bytearray(1)``. The call ends when another thread
        sets the byte to 1.

    Returns
    -------
    Comparison
        One row for each way and each of its modes. If the model of a way cannot express the
        workload, its row gives the reason.

    Raises
    ------
    ValueError
        A way is unknown.
    TypeError
        An argument has the wrong type.
    gpusched.Cancelled
        ``stop`` was set.
    """
    instance(workload, Workload, "workload")
    instance(platform, Platform, "platform")
    one_of(gaps, ("refuse", "occupy"), "gaps")
    workload = grouped(timed(workload, times), triggered)
    began = perf_counter()
    forms = _forms(ways)
    last = None
    if until is not None:
        last = in_ticks(as_time(until, "until"), None, workload.tick_ns, "until")
    models = DerivedModels(workload, platform)
    searched = SEARCH_BUDGET if budget is None else budget
    stop = within_seconds(stop, as_budget(budget).seconds)
    watch = Watch(last, False, budget, stop) if flag(simulate, "simulate") else None
    rows: list[Row] = []
    with reporter(progress, len(forms), "row", delay=1.0) as report:
        for way, options in forms:
            if not is_late(stop):  # else the rows say so
                raise_if_stopped(stop)
            parts = sum(_parts(of, watch) for of, _ in forms[len(rows) :])
            request = Request(options, gaps, searched, stop)
            left = None if budget is None else _left(budget, models, rows)
            rows.append(_row(_with_costs(models, way), way, request, watch, parts, left))
            report(len(rows))
    return Comparison(
        workload, models.platform, tuple(rows), models.impossible(), perf_counter() - began
    )


def _chosen(ways: Iterable[Way | str] | None) -> tuple[Way, ...]:
    if ways is None:
        return WAYS
    if not is_sequence(ways):
        raise TypeError(f"ways: got {shown(ways)}, expected a list of ways")
    return tuple(dict.fromkeys(as_way(way) for way in ways))


def _forms(ways: Iterable[Way | str] | None) -> list[tuple[Way, dict[str, OptionValue]]]:
    """The way and the options of each row, each once."""
    found: dict[Way, tuple[Way, dict[str, OptionValue]]] = {}
    for way in _chosen(ways):
        given = options_of(way)
        modes = way.modes if "mode" not in given else ()
        for options in [{"mode": mode, **given} for mode in modes] or [given]:
            found.setdefault(way.replace(**options), (way, options))
    return list(found.values())


def _with_costs(models: DerivedModels, way: Way) -> DerivedModels:
    """The models with the costs that a way states."""
    platform = with_costs(models.platform, way)
    return models if platform is models.platform else DerivedModels(models.workload, platform)


def _parts(way: Way, watch: Watch | None) -> int:
    """Number of parts of a row: its test, if it has one, and its simulation, if there is one."""
    return (way.test is not None) + (watch is not None)


def _left(budget: Budget, *held: object) -> Budget:
    """A budget without the memory that is held."""
    if budget.bytes is None:
        return budget
    return replace(budget, bytes=max(1, budget.bytes - held_bytes(*held)))


def _row(
    models: DerivedModels,
    way: Way,
    request: Request,
    watch: Watch | None,
    parts: int,
    left: Budget | None,
) -> Row:
    """The row of a way, whose parts are the first of so many of the comparison.

    ``left``: what is left of a given budget.
    """
    within = request
    if left is not None:
        within = replace(request, budget=left, memory=left.bytes)
        watch = None if watch is None else replace(watch, budget=left)
    answer = run = None
    why_no_answer = why_no_run = ""
    try:
        if way.test is None:
            why_no_answer = "the package has no test of it"
        else:
            asked = replace(within, stop=share_of(request.stop, parts))
            parts -= 1
            answer = analyzed(models, way, asked)
    except (ValueError, OverflowError, MemoryError, BudgetSpent) as error:
        why_no_answer = str(error) or _NO_MEMORY
    try:
        if watch is not None:
            stop = share_of(request.stop, parts)
            asked = replace(within, gaps="occupy", stop=stop, answer=answer)
            run = observed(models, way, asked, replace(watch, stop=stop))
    except (ValueError, OverflowError, MemoryError, BudgetSpent) as error:
        why_no_run = str(error) or _NO_MEMORY
    return Row(
        type(way)(**costs_of(way)), dict(request.options), models.workload, models.platform,
        request.gaps, request.budget, answer, why_no_answer, run, why_no_run, models.impossible(),
    )  # fmt: skip
