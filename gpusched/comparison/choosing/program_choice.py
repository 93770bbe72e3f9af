"""``gs.choose``: values that a program leaves open, chosen so that a test guarantees it."""

from __future__ import annotations

from collections.abc import Sequence
from time import perf_counter
from typing import Any

from gpusched._support.arguments import instance, is_sequence, one_of, seed_key
from gpusched._support.budget import (
    Budget,
    Progress,
    as_budget,
    raise_if_stopped,
    reporter,
    spent,
    within_seconds,
)
from gpusched._support.text import shown
from gpusched.comparison.analyses import (
    SEARCH_BUDGET,
    Request,
    Triggered,
    analyzed,
    asked_way,
    grouped,
    options_of,
    timed,
    with_costs,
)
from gpusched.comparison.choosing.choice_answer import AIMS, Choice, check_aimed
from gpusched.comparison.choosing.choice_search import Aim, ChoiceSearch, starting_points
from gpusched.comparison.choosing.offset_choice import OffsetChoice
from gpusched.comparison.choosing.open_values import (
    OPEN,
    is_stated,
    open_values,
    why_settled,
)
from gpusched.comparison.derived_models import DerivedModels
from gpusched.comparison.margins import growing_times, margin
from gpusched.comparison.verdicts.premises import NotApplicable
from gpusched.comparison.workload_answer import WorkloadAnswer
from gpusched.model.workload.platforms import Platform
from gpusched.model.workload.workloads import Workload
from gpusched.ways.way import OptionValue, Way

__all__ = ["choose"]

_STATES = 2_000


def choose(
    workload: Workload,
    platform: Platform,
    way: Way | str,
    *,
    what: Sequence[str] | None = None,
    aim: Aim = "margin",
    of: str = "all",
    times: str = "largest",
    triggered: Triggered = "apart",
    seed: Any = 0,
    budget: Budget | None = None,
    progress: Progress = None,
    stop: Any = None,
    **options: OptionValue,
) -> Choice:
    """Choose what a program leaves open so that a test guarantees it.

    Under mps_static, for example, these are the partitions and the processes of each, the cores of
    the tasks and their priorities on them.

    >>> w = gs.Workload([
    ...     gs.Task("camera", "10ms", [gs.CPU("1ms"), gs.Kernel("2ms", blocks=32, threads=512)],
    ...             deadline="6ms"),
    ...     gs.Task("map", "40ms", [gs.CPU("1ms"), gs.Kernel("9ms", blocks=64, threads=512)]),
    ... ], tick="us")
    >>> found = gs.choose(w, gs.Platform("AGX Orin", cpus=2), "mps_static", what=["sms"])
    >>> found
    <Choice: guaranteed (mps_static; optimal, 38 tested)>
    >>> print(found)
    mps_static: guaranteed; before: not applicable
    - camera: 12 SMs of their own
    - map: 4 SMs of their own
    margin: mps_static: everything may take 1.03 times as long; 1.04 is not accepted (5 factors \
tested)
    Of all 36 choices, none has a larger margin.

    Sources on one clock read each other's results without a wait where their offsets suit:

    >>> w = gs.Workload([
    ...     gs.Task("camera", "40ms", [gs.CPU("2ms"), gs.Kernel("5ms", blocks=32, threads=256)]),
    ...     gs.Task("control", "10ms", [gs.CPU("1ms")], reads="camera"),
    ... ], "us", paths=[gs.Path("command", ["camera", "control"], "20ms", phases="given")])
    >>> found = gs.choose(
    ...     w, gs.Platform("AGX Orin", cpus=2), "mpcp", what=["offsets"], aim="paths")
    >>> found.before.path("command").bound, found.answer.path("command").bound, found.changes
    (11000, 8000, ('control: offset 7ms instead of 0ns',))

    Parameters
    ----------
    workload, platform
        The program. What it states is kept, unless ``what`` names it.
    way
        A way of sharing the GPU (``gs.ways``), or its name. What can be chosen:

        - "sms": the most SMs of each client of MPS (mps), the static partitions and the processes
          of each (mps_static), or the green contexts and the tasks of each (green_contexts);
        - "levels": priorities of the streams (priority_streams, green_contexts);
        - "slices": the length of a time slice (time_slices): one significant digit, from the time
          of a context switch, which has to be stated, to the longest deadline;
        - "gpu_priorities": the order in which tasks take the GPU (gcaps);
        - "cores", "priorities": the core of each task and its priority on it (one_stream, streams,
          priority_streams, mps, mps_static, green_contexts, time_slices, gcaps, mpcp, fmlp_plus,
          gpu_server, edf_serial, edf_parallel, pbs; for stgm, which allocates cores and SMs itself,
          priorities);
        - "offsets": those of the sources of paths with ``phases="given"``, under all ways but mig,
          edf_serial, edf_parallel and pbs: for each choice of the others the best ones for the ends
          of its tasks;
        - "instances": the GPU instances (mig), of which ``gs.mig`` assigns one to each task.
    what
        Which of these are chosen. Default: all that the program does not state (offsets: unless
        one is not 0; slices: unless they are not the 2 ms that platforms have, or a switch costs
        nothing). Those that it states are the start of the search; what is not chosen is as in
        ``gs.analyze``.
    aim
        "margin": of the choices that are guaranteed, one with the largest margin of all times
        (``gs.margin``). "change": one with the fewest changes of the start, and among these the
        largest margin; offsets are then not chosen. "paths": one whose longest path has the least
        share of its deadline, so that its margin may be small: a job that takes a little longer can
        miss its reader.
    of
        With the aim "paths", the name of a path whose bound has to be small, while all others meet
        their deadlines; "all": the shares of all deadlines count.
    seed
        Seed of the local search: a non-negative integer, ``SeedSequence`` or ``Generator``.
    budget
        A ``gs.Budget`` for the whole call. ``states``: number of choices that are tested (default:
        2,000); if all choices are no more than that, all are tested, otherwise a local search tests
        so many. A search that spends its ``seconds`` ends with the best choice so far. ``bytes`` as
        in ``gs.analyze``.
    progress
        A callable (done, total), in tested choices, or a bool that turns a progress bar on or off;
        by default a bar appears in a terminal or a notebook after one second.
    stop
        Writable buffer of one byte, such as ``bytearray(1)``. The call ends when another thread
        sets the byte to 1.
    options
        Parameters that are added to the way, such as ``mode="busy"``.

    Returns
    -------
    Choice
        The program with the best choice, its answer and its margin. Choices that are guaranteed
        come before those under conditions, and these before all others. The guarantee is that of
        ``gs.analyze``: no test is weakened by a choice. The result depends on the arguments alone,
        unless seconds are spent.

    Raises
    ------
    NotApplicable
        The test applies to none of the choices that were tried; the message has the first reason.
    ValueError
        The way has nothing to choose, or not what ``what`` names; nothing is open; the workload has
        no times; an argument is invalid.
    OverflowError
        A time is 2**60 ticks or more.
    gpusched.Cancelled
        ``stop`` was set, or the seconds were spent before a choice was tested.
    """
    instance(workload, Workload, "workload")
    instance(platform, Platform, "platform")
    one_of(aim, AIMS, "aim")
    workload = timed(workload, times)
    workload = grouped(workload, triggered)
    key = int.from_bytes(seed_key(seed).tobytes(), "little")
    began = perf_counter()
    way = asked_way(way, options)
    names = _asked(what, workload, platform, way.name, aim)
    _check_paths(workload, aim, of)
    growing_times(workload, "all")  # refuses a workload without times
    limits = as_budget(budget)
    most = limits.states or _STATES
    stop = within_seconds(stop, limits.seconds)
    raise_if_stopped(stop)
    memory = None if budget is None else limits.bytes
    request = Request(options_of(way), "occupy", SEARCH_BUDGET, stop, memory=memory)
    platform = with_costs(platform, way)

    def answer_of(program: tuple[Workload, Platform]) -> WorkloadAnswer:
        return analyzed(DerivedModels(*program), way, request)

    before, refused = None, ""
    try:
        before = answer_of((workload, platform))
    except NotApplicable as error:
        refused = str(error)
    models = DerivedModels(workload, platform)
    opens = open_values(names, models, way, before, stop)
    offsets = OffsetChoice(workload, of, key) if "offsets" in names else None
    with reporter(progress, None, "choice", delay=1.0) as report:
        program = workload, platform
        search = ChoiceSearch(program, way, request, opens, aim, report, offsets, of)
        starts = starting_points(opens)
        if before is not None and _is_hopeless(workload, platform, names):
            search.run(starts[:1], 0, key)
        else:
            search.run(starts, most, key)
    if search.best is None and before is None:
        raise spent("seconds") if search.spent else NotApplicable(search.refused or refused)
    changes: tuple[str, ...] = ()
    if search.best is None or search.margin is None:  # the test applies to nothing but the start
        assert before is not None
        answer = before
        found = margin(workload, platform, way, budget=budget, stop=stop)
    else:
        changes = tuple(
            text
            for one, value in zip(opens, search.best, strict=True)
            for text in one.changes(value)
        )
        if offsets is not None:
            changes += offsets.changes(workload, search.workload)
        request = Request(options_of(way), "occupy", SEARCH_BUDGET, memory=memory)
        answer, found = answer_of((search.workload, search.platform)), search.margin
    return Choice(
        answer=answer,
        before=before,
        refused=refused,
        margin=found,
        what=names,
        aim=aim,
        changes=changes,
        tested=search.tested,
        total=search.total,
        whole=search.whole,
        seconds=perf_counter() - began,
        of=of,
    )


def _check_paths(workload: Workload, aim: Aim, of: object) -> None:
    """Raise an error for paths that are no aim."""
    if not isinstance(of, str):
        raise TypeError(f"of: got {shown(of)}, expected 'all' or the name of a path")
    if aim != "paths":
        if of != "all":
            raise ValueError(f"of: got {shown(of)} with the aim {aim!r}, expected the aim 'paths'")
    elif of != "all":
        check_aimed(of, workload)
    elif all(path.deadline is None for path in workload.paths):
        raise ValueError(
            "aim: got 'paths' of a workload whose paths have no deadlines, expected one, or of"
        )


def _is_hopeless(workload: Workload, platform: Platform, names: Sequence[str]) -> bool:
    """Whether no choice of these can meet the deadlines, by a condition that all of them break."""
    if "cores" in names:
        workload = workload.replace(tasks=[task.replace(core=None) for task in workload])
    return bool(DerivedModels(workload, platform).impossible())


def _asked(
    what: object, workload: Workload, platform: Platform, way: str, aim: Aim
) -> tuple[str, ...]:
    """The kinds of values to be chosen, in the order of the table."""
    known = OPEN.get(way, ())
    if not known:
        ways = ", ".join(OPEN)
        raise ValueError(
            f"way: got {way!r}, under which nothing is chosen, expected one of {ways}"
            f"{why_settled(way)}"
        )
    if what is None:
        known = tuple(one for one in known if one != "offsets" or aim != "change")
        found = tuple(one for one in known if not is_stated(one, workload, platform, way))
        if not found:
            raise ValueError(
                f"what: got none, and the program states all of {', '.join(known)}; expected those "
                "that are chosen anew"
            )
        return found
    if isinstance(what, str) or not is_sequence(what):
        raise TypeError(f"what: got {shown(what)}, expected a list such as [{known[0]!r}]")
    names: list[Any] = list(what)  # type: ignore[call-overload]
    if not names:
        raise ValueError(f"what: got none, expected some of {', '.join(known)}")
    for i, name in enumerate(names):
        if name not in known:
            raise ValueError(
                f"what[{i}]: got {shown(name)}, expected one of {', '.join(known)}, which {way} has"
                f"{why_settled(way, name) if isinstance(name, str) else ''}"
            )
        if name == "offsets" and aim == "change":
            raise ValueError(f"what[{i}]: got 'offsets', expected the aim 'margin' or 'paths'")
        if name == "offsets" and not OffsetChoice(workload).names:
            raise ValueError(
                f"what[{i}]: got 'offsets', expected a path with phases='given' that reads from "
                "one source to another, whose periods are whole ticks; sources of other paths have "
                "clocks of their own"
            )
    return tuple(one for one in known if one in names)
