"""Arguments of wrong types are refused in the package's own words: name: got X, expected Y."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import gpusched as gs

WRONG: list[Any] = [
    *(None, "x", b"x", object(), float("nan"), float("inf"), True, -1, 10**400, 1 + 2j, 3.5),
    *([[1, 2], [3]], [1, [2]], [None], ["a"], [b"a"], [1 + 2j], [10**400], [], {}, {1: 2}, ()),
    *(np.array([object()]), np.array([1], "M8[s]"), np.array([1], "m8[s]"), np.zeros((0, 3))),
    *(np.zeros((1, 1, 1, 1)), np.float16(2), np.array("x"), range(3), slice(1), {1}, iter([1])),
    *(type, len, Ellipsis, memoryview(b"abc"), "", "\0"),
    np.array([(1, 2.0)], dtype=[("a", int), ("b", float)]),
    *([np.timedelta64(5, "s"), 2**63], [np.timedelta64(5, "ns"), 2**63]),
    np.ma.array([4, 8], mask=[False, True]),
]
FOREIGN = re.compile(
    r"has no attribute|not supported between|unsupported operand|inhomogeneous|could not convert"
    r"|ufunc|cannot be interpreted|is not iterable|not subscriptable|truth value|int\(\) argument"
    r"|invalid literal|too large to convert|out of bounds|to unpack|unhashable|expected str, bytes"
)
TASKS = gs.KernelTasks(period=[4, 8], wcet=[1, 2])
HOSTS = gs.HostTasks(period=[10], cpu=[[1, 1]], kernel=[[1]])
TABLE = gs.BatchTable([0, 1, 2, 3])
STACK = gs.BatchTable([[0, 1], [0, 1]])
PLAN: dict[str, Any] = {
    "start": [0, 4],
    "end": [3, 5],
    "batch": [3, 1],
    "tasks": TASKS,
    "table": TABLE,
}
SCHEDULE = gs.Schedule(**PLAN)
TASK: dict[str, Any] = {"name": "a", "period": 9, "segments": [gs.CPU(1)]}
WORKLOAD = gs.Workload([gs.Task(**TASK)])
COMPARISON = gs.compare(WORKLOAD, gs.Platform("xavier"), ways=["mpcp"])
BOTH: dict[str, Any] = {"workload": WORKLOAD, "platform": gs.Platform("xavier"), "way": "mpcp"}


def keywords(function: Callable[..., Any], names: str, **right: Any) -> dict[str, Any]:
    """Calls with a value for one argument, and the right ones for the others."""

    def call(name: str) -> Callable[[Any], Any]:
        return lambda value: function(**{**right, name: value})

    return {f"{function.__qualname__} {name}": call(name) for name in names.split()}


CALLS: dict[str, Callable[[Any], Any]] = {
    **keywords(gs.Schedule, "start end batch tasks table idling cycle", **PLAN),
    **keywords(gs.pbs.Budget, "states bytes seconds"),
    **keywords(gs.BatchTable, "completion undecided order", completion=[0, 1, 2, 3]),
    **keywords(gs.BatchTable.from_dict, "n batches", n=1, batches={(0,): 1}),
    **keywords(gs.BatchTable.from_gpu, "tasks gpu slowdown seed first", tasks=TASKS, gpu="xavier"),
    **keywords(gs.BatchTable.from_file, "path statistic tasks", path="absent.csv"),
    **keywords(gs.KernelTasks, "period wcet threads priority name", period=[4, 8], wcet=[1, 2]),
    **keywords(gs.GPU, "sms cc name sm_order", sms=4, threads_per_sm=1024, blocks_per_sm=32),
    **keywords(gs.HostTasks, "period cpu kernel monotone", period=[10], cpu=[[1, 1]], kernel=[[1]]),
    **keywords(
        gs.pbs.search, "tasks table idling repeating budget method", tasks=TASKS, table=TABLE
    ),
    **keywords(gs.pbs.partition, "tasks table gpus idling budget stop", tasks=TASKS, table=TABLE),
    **keywords(gs.pbs.margin, "tasks table idling budget stop", tasks=TASKS, table=TABLE),
    **keywords(gs.simulate.fifo, "tasks threads waves execution", tasks=TASKS, threads=64, until=9),
    **keywords(
        gs.simulate.host, "hosts cpus way intervals releases victim", hosts=HOSTS, cpus=2, until=9
    ),
    **keywords(gs.analysis.stgm_allocate, "hosts cpus apart unit", hosts=HOSTS, cpus=2, sms=2),
    **keywords(gs.analysis.stgm_exhaustive, "hosts states unit", hosts=HOSTS, cpus=2, sms=2),
    **keywords(gs.analysis.cpu_only, "hosts cpus speed_up", hosts=HOSTS, cpus=2, speed_up=2),
    **keywords(gs.Task, "name segments rate deadline offset priority process core", **TASK),
    **keywords(gs.Kernel, "blocks regs block_time repeat name", time=1, blocks=1, threads=32),
    **keywords(gs.CopyIn, "time by", time=1),
    **keywords(gs.Platform, "gpu cpus timeslice ring priority_levels slowdown copy_engines"),
    **keywords(gs.Workload, "tasks tick notes", tasks=[gs.Task(**TASK)]),
    **keywords(gs.analyze, "workload platform way gaps budget stop mode", **BOTH),
    **keywords(gs.observe, "workload platform way until timeline budget stop mode", **BOTH),
    **keywords(gs.margin, "workload platform way what gaps budget stop mode", **BOTH),
    **keywords(
        gs.compare,
        "workload platform ways simulate until gaps budget stop",
        **{key: BOTH[key] for key in ("workload", "platform")},
    ),
    "search a workload": lambda value: gs.analyze(**{**BOTH, "way": "pbs"}, idling=value),
    "variant of fmlp_plus": lambda value: gs.analyze(**{**BOTH, "way": "fmlp_plus"}, variant=value),
    "variant of stgm": lambda value: gs.analyze(**{**BOTH, "way": "stgm"}, apart=value),
    "lock of srm": lambda value: gs.analyze(**{**BOTH, "way": "srm"}, lock=value),
    "order of streams": lambda value: gs.observe(**{**BOTH, "way": "streams"}, order=value),
    "row of a comparison": lambda value: COMPARISON[value],
    "task of an answer": COMPARISON["mpcp"].answer.why,  # type: ignore[union-attr]
    "task of a run": COMPARISON["mpcp"].run.why,  # type: ignore[union-attr]
    "margin of a row": COMPARISON["mpcp"].margin,
    "scale a workload": WORKLOAD.scaled,
    "profile of a kernel": lambda value: gs.Kernel(sms=value),
    "load workload": gs.Workload.load,
    "workload from frame": gs.Workload.from_frame,
    "read job set": gs.io.read_job_set,
    "read schedcat": gs.io.read_schedcat,
    "from_dict key": lambda value: gs.BatchTable.from_dict(1, {value: 1}),
    "from_dict value": lambda value: gs.BatchTable.from_dict(1, {(0,): value}),
    "table index": lambda value: STACK[value],
    "table members": TABLE.members,
    "table batch_mask": TABLE.batch_mask,
    "table submission_order": TABLE.submission_order,
    "schedule members": SCHEDULE.members,
    "schedule unit": lambda value: SCHEDULE.to_svg(unit=value),
    "schedule until": lambda value: SCHEDULE.to_svg(until=value),
    "load table": gs.BatchTable.load,
    "load schedule": gs.Schedule.load,
    "load tasks": gs.KernelTasks.load,
    "read trace": gs.io.read_trace,
    "read logs": gs.io.read_examiner,
    "read configuration": gs.io.read_examiner_config,
}


@pytest.mark.parametrize("name", CALLS)
def test_refusals_are_the_packages_own(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for value in WRONG:
        if name == "from_dict key" and type(value).__hash__ is None:
            continue
        try:
            CALLS[name](value)
        except FileNotFoundError as error:
            assert error.filename is not None
        except (TypeError, ValueError, OverflowError, LookupError) as error:
            text = str(error)
            assert re.match(r"[^\n]+: got .*, expected ", text, re.DOTALL), (value, text)
            assert not FOREIGN.search(text.rpartition("expected")[2]), (value, text)


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: gs.Schedule([0], [1], [1], None), TypeError, "tasks: got NoneType, expected Kern"),
        (
            lambda: gs.Schedule([0], [1], [1], TASKS, {}),
            TypeError,
            "table: got dict, expected BatchTable (or None)",
        ),
        (
            lambda: gs.Schedule([0], [1], [1], TASKS, idling=1),
            TypeError,
            "idling: got 1, expected True or False",
        ),
        (
            lambda: gs.Schedule([0], [1], [1], TASKS, cycle=(1,)),
            ValueError,
            "cycle: got (1,), expected (start, length) from (0, 1) on",
        ),
        (lambda: SCHEDULE.members(2), IndexError, "frame: got 2, expected a number below 2"),
        (
            lambda: gs.pbs.Budget(seconds="1"),
            TypeError,
            "budget.seconds: got '1', expected a number",
        ),
        (
            lambda: gs.pbs.Budget(states=1.5),
            TypeError,
            "budget.states: got 1.5, expected an integer",
        ),
        (
            lambda: gs.pbs.Budget(seconds=float("nan")),
            ValueError,
            "budget.seconds: got nan, expected a positive number or None",
        ),
        (
            lambda: gs.pbs.Budget(bytes=2**63),
            OverflowError,
            "budget.bytes: got 9223372036854775808, expected a number that fits 64 bits",
        ),
        (
            lambda: gs.KernelTasks(period=np.ma.array([4, 8], mask=[False, True]), wcet=1),
            ValueError,
            "period: got masked_array(data=[4, --]",
        ),
        *(
            (
                lambda value=value: gs.Budget(seconds=value),
                TypeError,
                f"budget.seconds: got {text}, expected a number",
            )
            for value, text in (
                (np.timedelta64(5, "ns"), "5"),
                (np.bool_(True), "True"),
                (np.complex64(1 + 2j), "(1+2j)"),
                (np.array("5"), "array('5', dtype='<U1')"),
                (np.ma.masked, "masked"),
            )
        ),
        (
            lambda: gs.KernelTasks(period=[np.timedelta64(4, "ns"), 2**63], wcet=1),
            TypeError,
            "period[0]: got 4, expected a number",
        ),
        (lambda: STACK[2], IndexError, "tables: got 2, expected a number below 2"),
        (
            lambda: TABLE.batch_mask("01"),
            TypeError,
            "members: got '01', expected the indices of tasks",
        ),
        (
            lambda: gs.KernelTasks(period=[[1, 2], [3]], wcet=1),
            ValueError,
            "period: got [[1, 2], [3]], expected numbers, in rows of one length",
        ),
    ],
)
def test_messages(call: Callable[[], Any], error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=f"^{re.escape(message)}"):
        call()


def test_tables_are_iterated_and_indexed_from_the_end() -> None:
    assert list(STACK) == [STACK[0], STACK[1]] == [STACK[-2], STACK[-1]]
    assert SCHEDULE.members(-1) == SCHEDULE.members(1)
