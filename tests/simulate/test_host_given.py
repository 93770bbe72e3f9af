"""Given releases and execution times of the host simulator, and the causes of response times."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from challenge_systems import NAMES, WAYS, tiny_sets

import gpusched as gs
from gpusched.simulate.host_result import CAUSES

HOSTS = gs.HostTasks.from_segments(
    [12, 15, 20], [[1, (1, 3, 1), 2], [3], [1, (2, 4, 0), 1]], core=[0, 0, 1], sm=[[0], [], [0]],
    name=["a", "b", "c"],
)  # fmt: skip
GEDF_WAYS: tuple[gs.ways.Way, ...] = (
    *(gs.ways.Srm(lock=lock) for lock in ("fmlp", "omlp")),
    *(gs.ways.Driver(mode=mode) for mode in ("suspend", "spin")),
    *(gs.ways.Container(mode=mode, server_period=5) for mode in ("suspend", "busy")),
)
WORST = [[1, 1, 3, 1, 2], [3], [1, 2, 4, 0, 1]]


def host(releases: Any, **options: Any) -> Any:
    return gs.simulate.host(HOSTS, 2, "mpcp", releases=releases, **options)


@pytest.mark.parametrize("way", (*WAYS, *GEDF_WAYS), ids=repr)
def test_a_run_replays_from_its_own_releases(way: gs.ways.Way) -> None:
    for seed, hosts in enumerate(tiny_sets(9, 10)):
        drawn = gs.simulate.host(hosts, 2, way, until=60, releases=0.5, seed=seed)
        rows = [drawn.release[drawn.task == i] for i in range(hosts.n)]
        worst = [_worst(hosts, i, len(row), drawn.sms, way.name) for i, row in enumerate(rows)]
        replays: list[Any] = [{}, {"execution": worst}]
        for given in (*({"releases": rows} | more for more in replays), {"releases": drawn}):
            again = gs.simulate.host(hosts, 2, way, **given)
            assert (again.worst == drawn.worst).all() and (again.end == drawn.end).all()


def _worst(hosts: gs.HostTasks, i: int, jobs: int, sms: int, way: str) -> Any:
    sms = int(hosts.sm[i].sum()) if way == "stgm" else sms
    row = [hosts.cpu[i, 0]]
    for j in range(int(hosts.segments[i])):
        kernel = hosts.kernel[i, j, min(max(sms, 1), hosts.columns) - 1]
        row += [hosts.copy_in[i, j], kernel, hosts.copy_out[i, j], hosts.cpu[i, j + 1]]
    return np.tile(np.array(row, np.int64), (jobs, 1))


def test_given_times() -> None:
    run = host(
        [[0], [], [0, 30]], execution=[[[1, 1, 1, 1, 1]], np.zeros((0, 1), int), [WORST[2]] * 2]
    )
    assert run.spent()["kernel"].tolist() == [1, 4, 4]
    assert run.release.tolist() == [0, 0, 30] and run.outcome == "done"
    wide = np.zeros((0, 5), int)
    assert len(host([[0], [], []], execution=[[WORST[0]], wide, wide])) == 1


@pytest.mark.parametrize(
    ("given", "text"),
    [
        ({"releases": [[0], []]}, "releases: got 2 rows, expected one per task"),
        ({"releases": [[0, 5], [], []]}, r"releases\[0\]\[1\]: got 5, expected at least 12"),
        ({"releases": [[-1], [], []]}, r"releases\[0\]\[0\]: got -1"),
        ({"releases": [[0], [], []], "until": 9}, "until: got 9, expected none with releases"),
        ({"releases": -0.5, "until": 9}, "releases: got -0.5, expected 0 or more"),
        ({"releases": None, "until": None}, "until: got None, expected the end of the releases"),
        (
            {"releases": None, "until": 9, "execution": [[WORST[0]], [], []]},
            "execution: got times of jobs, expected releases as rows with them",
        ),
        ({"releases": [[0], [], []], "execution": [[WORST[0]], []]}, "execution: got 2 arrays"),
        (
            {"releases": [[0], [], []], "execution": [[[1, 1]], [], []]},
            r"execution\[0\]: got shape \(1, 2\), expected \(1, 5\)",
        ),
        (
            {
                "releases": [[0], [], []],
                "execution": [[[1, 1, 4, 1, 1]], np.zeros((0, 1), int)] * 2,
            },
            "execution: got 4 arrays",
        ),
        (
            {
                "releases": [[0], [], []],
                "execution": [[[1, 1, 4, 1, 1]], np.zeros((0, 1), int), np.zeros((0, 5), int)],
            },
            r"execution\[0\]: got 4, expected at most 3, the worst case of the part",
        ),
        (
            {"releases": {"task": [0], "time": [0]}, "execution": [[WORST[0]], [], []]},
            "execution: got times of jobs, expected shares unless releases are rows",
        ),
    ],
)
def test_refusals(given: dict[str, Any], text: str) -> None:
    with pytest.raises(ValueError, match=text):
        host(**given)


@pytest.mark.parametrize("way", WAYS, ids=NAMES)
def test_causes_add_up_to_the_response(way: gs.ways.Way) -> None:
    seen = set()
    for seed, hosts in enumerate(tiny_sets(21, 12)):
        run = gs.simulate.host(hosts, 2, way, until=40, releases=0.3, execution=(0.3, 1), seed=seed)
        spent = run.spent()
        working = sum(spent[word] for word in ("cpu", "copy in", "kernel", "copy out"))
        for k in range(len(run)):
            task, job = int(run.task[k]), int(run.job[k])
            waits = run.waits(task, job)
            assert int((waits.end - waits.start).sum()) == run.response[k]
            assert (waits.start[1:] == waits.end[:-1]).all()
            own = (waits.end - waits.start)[waits.cause == CAUSES.index("own")]
            assert int(own.sum()) == working[k]
            assert ((waits.task >= 0) | (waits.cause != CAUSES.index("higher"))).all()
            seen |= set(waits.label.tolist())
            assert run.why(task, job=job).startswith(f"{hosts.name[task]}: job {job}")
    assert {"own", "higher"} <= seen and seen & {"GPU", "copy engine", "SMs", "server"}


def test_a_job_and_what_it_waited_for() -> None:
    run = host([[0], [0], [0]])
    assert run.why("b", job=0) == (
        "b: job 0, released at 0, has a response of 5 ticks, within its deadline of 15: 3 its own "
        "segments, 2 a, more urgent on its core"
    )
    with pytest.raises(IndexError, match="job: got 7, expected a released job of task 0"):
        run.waits("a", 7)
    with pytest.raises(ValueError, match="task: got None, expected a task for its job"):
        run.why(job=0)
    with pytest.raises(ValueError, match="expected one with intervals=True"):
        host([[0], [0], [0]], intervals=False).waits(0, 0)
    edf = gs.simulate.host(HOSTS, 2, "srm", until=10)
    with pytest.raises(ValueError, match="policy: got 'gedf', expected 'partitioned'"):
        edf.waits(0, 0)


def test_close_releases_are_refused_without_an_option_that_does_not_exist() -> None:
    hosts = gs.HostTasks([7, 12], cpu=[3, 3])
    with pytest.raises(ValueError, match=r"^releases\[0\]\[1\]: got 3, .* release before it at 0$"):
        gs.simulate.host(hosts, 1, "srm", releases=[[0, 3], [0]])
