"""Ways of sharing the GPU as values: parameters, equality, copies, files, old files."""

from __future__ import annotations

import copy
import json
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from commands import run

import gpusched as gs
from gpusched import _core
from gpusched._support.saved_files import save_arrays
from gpusched.simulate.challenge_run import LateJobs
from gpusched.ways.old_values import OldSharing
from gpusched.ways.way import placed_ways

pytestmark = pytest.mark.python

WAYS = {way.name: way for way in gs.ways.WAYS}
# A value of each type of parameter, if the choices do not say one.
GIVEN: dict[str, Any] = {
    **{"boolean": True, "integer": 3, "integers": [2, 0, 1], "way": gs.ways.Mpcp(mode="busy")},
    **{"time": 0, "positive time": 7},
}


def values() -> list[gs.ways.Way]:
    """Every way without parameters, with each one, and with all; costs as text; nested ways."""
    found = list(gs.ways.WAYS)
    for way in gs.ways.WAYS:
        every = {
            option.name: option.choices[-1] if option.choices else GIVEN[option.type]
            for option in way.parameters
        }
        found += [way.replace(**{name: value}) for name, value in every.items()]
        found.append(way.replace(**every))
    found += [
        gs.ways.TimeSlices(timeslice="1ms", context_switch="10us"),
        gs.ways.Gcaps(gpu_priority=[[1, 0], [0, 1]]),
        gs.ways.Container(server_period=[3, 4]),
        gs.ways.Mig(within=gs.ways.Gcaps(gpu_priority=[1, 0])),
    ]
    return found


@pytest.mark.parametrize("way", values(), ids=repr)
def test_a_way_is_a_value(way: gs.ways.Way, tmp_path: Path) -> None:
    way.save(tmp_path / "way")
    for same in (
        eval(repr(way), {"gs": gs}),
        pickle.loads(pickle.dumps(way)),
        copy.copy(way),
        copy.deepcopy(way),
        gs.ways.Way.load(tmp_path / "way"),
        gs.ways.as_way(way),
        gs.ways.as_way(way.name, **way.given),
        way.replace(),
    ):
        assert type(same) is type(way) and same == way and hash(same) == hash(way)
        assert repr(same) == repr(way) and str(same) == str(way)
    plain = type(way)()
    assert way.without(*way.given) == plain
    assert (way == plain) is (not way.given) and way != 5
    for option in way.parameters:
        value = getattr(way, option.name)
        expected = way.given[option.name] if option.name in way.given else option.standard
        assert value is expected or value == expected
        assert option.name in dir(way)


def test_all_values_differ() -> None:
    found = values()
    texts = {repr(way) for way in found}
    assert len({*found}) == len(texts) > 60


@pytest.mark.parametrize("way", gs.ways.WAYS, ids=str)
def test_a_way_cannot_be_changed(way: gs.ways.Way) -> None:
    for name in ("name", "given", *(option.name for option in way.parameters)):
        with pytest.raises(AttributeError, match="cannot be changed; use replace"):
            setattr(way, name, 1)
        with pytest.raises(AttributeError, match="cannot be changed; use replace"):
            delattr(way, name)
    with pytest.raises(TypeError):
        way.given["mode"] = "busy"  # type: ignore[index]
    with pytest.raises(AttributeError, match=f"{type(way).__name__} has no parameter 'speed'"):
        way.speed  # noqa: B018


def test_arrays_are_copied_and_cannot_be_changed() -> None:
    numbers = np.array([1, 0])
    way = gs.ways.Gcaps(gpu_priority=numbers)
    numbers[0] = 5
    assert way.gpu_priority.tolist() == [1, 0] and not way.gpu_priority.flags.writeable
    assert way == gs.ways.Gcaps(gpu_priority=(1, 0)) != gs.ways.Gcaps(gpu_priority=[0, 1])
    assert way != gs.ways.Gcaps(gpu_priority=[[1, 0]])  # of a stack
    assert hash(way) == hash(gs.ways.Gcaps(gpu_priority=np.array([1, 0], np.int8)))
    stack = gs.ways.Gcaps(gpu_priority=[[1, 0], [0, 1]], stall=True)
    assert stack.is_stack and not way.is_stack and not gs.ways.Gcaps().is_stack
    assert gs.ways.GpuServer(server=[0, 1]).is_stack and not gs.ways.GpuServer(server=1).is_stack


@pytest.mark.parametrize("way", gs.ways.WAYS, ids=str)
def test_none_is_not_given(way: gs.ways.Way) -> None:
    nothing = {option.name: None for option in way.parameters}
    assert type(way)(**nothing) == way and not way.given
    for option in way.parameters:
        assert getattr(way, option.name) == option.standard
        if option.choices:
            for choice in option.choices:
                one = way.replace(**{option.name: choice})
                assert one.replace(**{option.name: None}) == way


def test_what_a_way_does_not_take() -> None:
    takes = "mode, fixed_point, suspension"
    for call in (lambda: gs.ways.Mpcp(x=1), lambda: gs.ways.Mpcp().replace(x=None)):
        with pytest.raises(
            ValueError, match=f"^x: got an unknown option of mpcp, expected one of {takes}$"
        ):
            call()
    with pytest.raises(
        ValueError, match=r"^mode: got an unknown option of one_stream, expected one of none$"
    ):
        gs.ways.OneStream(mode="busy")
    wrong: list[tuple[str, Any, type[Exception], str]] = [
        ("time_slices", {"mode": "spin"}, ValueError, "mode: got 'spin', expected one of suspend"),
        ("time_slices", {"mode": 1}, ValueError, "mode: got 1, expected one of suspend"),
        ("time_slices", {"timeslice": 0}, ValueError, "timeslice: got 0, expected 1 or more"),
        ("time_slices", {"timeslice": 1.5}, TypeError, "timeslice: got 1.5, expected an integer"),
        ("time_slices", {"context_switch": -1}, ValueError, "context_switch: got -1, expected 0"),
        ("time_slices", {"order_free": 1}, TypeError, "order_free: got 1, expected True or False"),
        ("gcaps", {"gpu_priority": ["a"]}, TypeError, r"gpu_priority\[0\]: got 'a', expected a"),
        (
            "gcaps",
            {"gpu_priority": [0.5]},
            ValueError,
            r"gpu_priority\[0\]: got 0.5, expected",
        ),
        ("gpu_server", {"server": "x"}, TypeError, "server: got 'x', expected an integer"),
        ("srm", {"lock": "mpcp"}, ValueError, "lock: got 'mpcp', expected one of fmlp, omlp, best"),
        ("mig", {"within": "x"}, ValueError, "within: got 'x', expected one of one_stream"),
        ("mig", {"within": "host"}, ValueError, "within: got 'host', expected a way of sharing"),
    ]
    for name, parameters, error, message in wrong:
        with pytest.raises(error, match=f"^{message}"):
            gs.ways.as_way(name, **parameters)


def test_names_are_those_of_the_package(tmp_path: Path) -> None:
    """One class each; rows of a comparison and of the command methods; the table of the core."""
    assert [row["name"] for row in _core.WAYS] == list(WAYS)
    classes = {name for name in dir(gs.ways) if isinstance(getattr(gs.ways, name), type)}
    assert classes == {"Way", *(type(way).__name__ for way in gs.ways.WAYS)}
    assert set(gs.ways.__all__) == {*classes, "OUTSIDE", "WAYS", "as_way"} == set(dir(gs.ways))
    kernel = gs.Kernel(2, blocks=1, threads=32)
    w = gs.Workload([gs.Task("a", 90, [gs.CPU(1), kernel, gs.CPU(1)])])
    rows = gs.compare(w, gs.Platform("xavier"), simulate=False)
    assert list(dict.fromkeys(row.way for row in rows)) == list(gs.ways.WAYS)
    document = json.loads(run(tmp_path, "methods", "--json").stdout)
    assert [way["name"] for way in document["ways"]] == list(WAYS)
    tests = {way.test for way in gs.ways.WAYS} - {None}
    assert tests.isdisjoint(gs.ways.OUTSIDE)
    assert tests | set(gs.ways.OUTSIDE) == {method.name for method in gs.methods()}
    for way in gs.ways.WAYS:
        assert way.test_method is (None if way.test is None else gs.methods()[way.test])
        assert way.title and way.source and way.test != ""
        assert type(way).__doc__ and way.name in str(type(way).__doc__)
        assert set(way.modes) <= {c for o in way.parameters for c in o.choices if o.name == "mode"}
        assert not (way.placed and way.global_edf) and (way.divided is (way.name == "stgm"))


@pytest.mark.parametrize("name", gs.ways.OUTSIDE)
def test_methods_that_are_no_ways_are_refused_with_the_reason(name: str) -> None:
    reason = gs.ways.OUTSIDE[name]
    with pytest.raises(ValueError) as caught:
        gs.ways.as_way(name)
    expected = f"way: got {name!r}, expected a way of sharing the GPU; {reason}"
    assert str(caught.value) == expected
    with pytest.raises(ValueError, match=r"^within: got "):
        gs.ways.as_way(name, argument="within")


def test_other_names_are_refused() -> None:
    known = ", ".join(WAYS)
    for wrong, text in (("edf", "'edf'"), (5, "5"), (None, "None"), (gs.ways.Mpcp, "<class")):
        with pytest.raises(ValueError, match=f"^way: got {text}.*, expected one of {known}$"):
            gs.ways.as_way(wrong)
    assert gs.ways.as_way("fifo_bound") == gs.ways.Streams()  # the first one with that test
    assert gs.ways.as_way("search", idling=True) == gs.ways.Pbs(idling=True)
    busy = gs.ways.as_way(gs.ways.Mpcp(mode="spin"), mode="busy")
    assert busy == gs.ways.Mpcp(mode="busy") and str(busy) == "mpcp (busy)"
    with pytest.raises(AttributeError, match="has no attribute 'Edf'"):
        getattr(gs.ways, "Edf")  # noqa: B009


JOBS: list[list[Any]] = [[2, (1, 7, 1), 2], [3, (1, 12, 1), 3]]
HOSTS = gs.HostTasks.from_segments([24, 30], JOBS, core=[0, 1], sm=[[0], [1]])
STACK = gs.HostTasks.stack([HOSTS, HOSTS])


@pytest.mark.parametrize("way", [WAYS[name] for name in placed_ways()], ids=str)
def test_a_value_and_its_name_are_the_same_argument(way: gs.ways.Way) -> None:
    """In functions of tasks with cores; parameters may be in the value or beside its name."""
    own: dict[str, Any] = {"timeslice": 4} if way.name == "time_slices" else {}
    given = way.replace(**own)
    verdict = gs.analysis.partition(HOSTS, 2, given)
    assert verdict == gs.analysis.partition(HOSTS, 2, way.name, **own)
    assert verdict.test == verdict.way.name == way.name
    again = {**verdict.way.given}
    assert getattr(gs.analysis, way.name)(verdict.hosts, 2, **again) == verdict
    for function in (gs.analysis.breakdown, gs.analysis.assign_priorities):
        assert function(HOSTS, given, cpus=2) == function(HOSTS, way.name, cpus=2, **own)
    run = gs.simulate.host(HOSTS, 2, given, until=100)
    assert run == gs.simulate.host(HOSTS, 2, gs.ways.as_way(way.name, **own), until=100)
    found = gs.simulate.challenge(HOSTS, 2, given, exhaustive=False, budget=gs.Budget(states=99))
    assert found.way.name == way.name


def test_numbers_of_tasks_are_options_of_an_answer(tmp_path: Path) -> None:
    kernel = gs.Kernel(5, blocks=4, threads=32)
    tasks = [gs.Task(name, 90, [gs.CPU(3), kernel], core=core) for core, name in enumerate("ab")]
    w, platform = gs.Workload(tasks), gs.Platform("xavier", cpus=2)
    for way in (gs.ways.Gcaps(gpu_priority=[1, 0]), gs.ways.Mig(within=gs.ways.Streams())):
        on = gs.Platform("H100", cpus=2) if way.name == "mig" else platform
        found = [gs.analyze(w, on, way), gs.observe(w, on, way), gs.margin(w, on, way)]
        for answer in (*found, gs.compare(w, on, ways=[way])):
            answer.save(tmp_path / "answer")
            assert type(answer).load(tmp_path / "answer") == answer
    asked = gs.analyze(w, platform, "gcaps", gpu_priority=[1, 0])
    assert asked.options == {"gpu_priority": (1, 0), "mode": "suspend"}
    assert asked.detail.way.gpu_priority.tolist() == [1, 0]


# Files of version 0.1, which had the parameters of a way one by one


class Sharing(OldSharing):
    """The object of such files that held the parameters of a protocol."""

    def __init__(self, **changed: Any) -> None:
        self.values = {
            **{"overhead": 0, "slice": None, "switch": 0, "ring": "fifo", "update": 0},
            **{"stall": False, "gpu_priority": None, **changed},
        }

    def _fields(self) -> dict[str, Any]:
        return self.values


def loaded(path: Path, answer: Any, **old: Any) -> Any:
    """The answer from a file with old fields in the place of its way."""
    fields = {name: value for name, value in answer._fields().items() if name != "way"}
    save_arrays(path, answer._KIND, 1, {**fields, **old})
    return type(answer).load(path)


def old_verdict(test: str, mode: str = "suspend", server: Any = None, **sharing: Any) -> Any:
    variant = {"test": test, "variant": "sound", "mode": mode, "server": server}
    return {**variant, "sharing": Sharing(**sharing)}


SLICED = {"slice": 4, "switch": 1}
OLD_VERDICTS = [
    (gs.ways.Mpcp(mode="busy"), old_verdict("mpcp", "busy")),
    (gs.ways.Stgm(mode="busy"), old_verdict("stgm", "busy")),
    (gs.ways.FmlpPlus(variant="gcaps"), old_verdict("fmlp_plus") | {"variant": "gcaps"}),
    (
        gs.ways.TimeSlices(timeslice=4, context_switch=1, ring="fifo"),
        old_verdict("time_slices", **SLICED),
    ),
    (
        gs.ways.Gcaps(update_cost=2, context_switch=1, stall=False, gpu_priority=[[1, 0], [0, 1]]),
        old_verdict("gcaps", update=2, switch=1, gpu_priority=np.array([[1, 0], [0, 1]])),
    ),
    (
        gs.ways.GpuServer(server=[0, 2], server_overhead=3),
        old_verdict("gpu_server", server=np.array([0, 2]), overhead=3),
    ),
]


@pytest.mark.parametrize(("way", "old"), OLD_VERDICTS, ids=lambda value: "")
def test_verdicts_of_old_files(way: gs.ways.Way, old: dict[str, Any], tmp_path: Path) -> None:
    options: dict[str, Any] = {key: value for key, value in way.given.items() if key != "ring"}
    verdict = getattr(gs.analysis, way.name)(STACK, 2, **options)
    found = loaded(tmp_path / "old", verdict, **old)
    mode = {} if way.name == "gpu_server" else {"mode": old["mode"]}
    assert found.way == way.replace(**mode)
    assert (found.test, found.mode, found.variant) == (old["test"], old["mode"], old["variant"])
    assert found.response.tolist() == verdict.response.tolist() and found.why() == verdict.why()
    found.save(tmp_path / "new")
    assert gs.analysis.Verdict.load(tmp_path / "new") == found


def test_challenges_of_old_files(tmp_path: Path) -> None:
    for way, old in OLD_VERDICTS:
        if way.given.get("variant"):
            continue
        made = gs.simulate.challenge(STACK, 2, way, exhaustive=False)
        fields = {key: value for key, value in old.items() if key not in ("test", "variant")}
        found = loaded(tmp_path / "old", made, protocol=old["test"], **fields)
        assert found.way.name == way.name and found.way == found.way.replace(**way.given)
        for one, other in zip(found, made, strict=True):
            assert one.claim == other.claim
            if one.rejected:
                assert one.run(intervals=False).late.any()
    assert isinstance(made.late, LateJobs)


@pytest.mark.parametrize(
    ("way", "old"),
    [
        (gs.ways.Mpcp(mode="spin"), {"protocol": "mpcp", "mode": "spin"}),
        (
            gs.ways.GpuServer(server=2, server_overhead=2),
            {"protocol": "gpu_server", "server": 2, "overhead": 2},
        ),
        (gs.ways.Srm(lock="omlp"), {"policy": "gedf", "protocol": "omlp"}),
        (gs.ways.Srm(lock="fmlp"), {"policy": "gedf", "protocol": "fmlp"}),
        (gs.ways.Driver(mode="spin"), {"policy": "gedf", "protocol": "driver", "mode": "spin"}),
        (
            gs.ways.Container(mode="busy", server_period=24),
            {"policy": "gedf", "protocol": "container", "mode": "busy", "server_period": 24},
        ),
        (
            gs.ways.TimeSlices(mode="suspend", timeslice=3, context_switch=1),
            {"protocol": "time_slices", "overhead": 1},
        ),
        (gs.ways.Gcaps(mode="busy", update_cost=3),
         {"protocol": "gcaps", "mode": "busy", "overhead": 3}),
    ],
    ids=lambda value: str(value) if isinstance(value, gs.ways.Way) else "",
)  # fmt: skip
def test_runs_of_old_files(way: gs.ways.Way, old: dict[str, Any], tmp_path: Path) -> None:
    run = gs.simulate.host(HOSTS, 2, way, until=100)
    fields = {"policy": "partitioned", "mode": "suspend", "server": None, "overhead": 0}
    found = loaded(tmp_path / "old", run, **fields | {"server_period": None} | old)
    kept = way.without("timeslice")  # which runs did not keep
    assert found.way == kept and found.policy == run.policy == (fields | old)["policy"]
    assert (found.mode, found.server) == (run.mode, run.server)
    assert (found.end == run.end).all() and found.intervals == run.intervals


def test_ends_and_late_jobs_of_old_files(tmp_path: Path) -> None:
    """Ends were called finish, and numbers of late jobs missed or misses."""
    kernels = gs.KernelTasks([4, 6], wcet=[1, 3])
    table = gs.BatchTable.from_dict(2, {(0,): 1, (1,): 3, (0, 1): 4})
    search = gs.pbs.search(kernels, table, policy=True)
    tasks = [gs.Task(name, 9, [gs.CPU(3), gs.Kernel(7, blocks=1, threads=32)]) for name in "ab"]
    observed = gs.observe(gs.Workload(tasks), gs.Platform("xavier", cpus=1), "container")
    assert observed.late.any() and isinstance(observed.detail, gs.simulate.MachineRun)
    runs: list[tuple[Any, dict[str, str]]] = [
        (gs.simulate.fifo(kernels, 32, until=12), {"end": "finish"}),
        (gs.simulate.host(HOSTS, 2, "mpcp", until=99), {"end": "finish", "late_count": "missed"}),
        (gs.simulate.host_responses(HOSTS, 2, "mpcp", until=99), {"late_count": "missed"}),
        (search.policy.play(search.schedule), {"end": "finish", "late_count": "misses"}),
        (observed, {"end": "finish"}),
    ]
    for made, names in runs:
        fields = {names.get(key, key): value for key, value in made._fields().items()}
        assert len(set(fields) - set(made._fields())) == len(names)
        save_arrays(tmp_path / "old", made._KIND, 1, fields)
        assert type(made).load(tmp_path / "old") == made
    compared = gs.compare(observed.workload, observed.platform, ways=["container"])
    fields = compared._fields()
    of_run = fields["rows"][0]["run"]
    of_run["finish"] = of_run.pop("end")
    save_arrays(tmp_path / "old", compared._KIND, 1, fields)
    assert gs.Comparison.load(tmp_path / "old") == compared


def test_factors_of_old_files(tmp_path: Path) -> None:
    found = gs.analysis.breakdown(HOSTS, gs.ways.Mpcp(mode="busy"))
    old = loaded(tmp_path / "old", found, test="mpcp", mode="busy")
    assert old == found and old.way == gs.ways.Mpcp(mode="busy")


def test_gpu_instances_of_old_files(tmp_path: Path) -> None:
    """The way within was a name, and its options stood beside it."""
    kernel = gs.Kernel(5, blocks=4, threads=32)
    w = gs.Workload([gs.Task(name, 90, [gs.CPU(3), kernel], core=0) for name in "ab"])
    way = gs.ways.Mig(within=gs.ways.Mpcp(mode="busy"))
    answer = gs.analyze(w, gs.Platform("H100", cpus=1), way)
    assert answer.options == {"within": gs.ways.Mpcp(mode="busy")}
    for options in ({"within": "mpcp", "mode": "busy"}, dict(answer.options)):
        fields = {**answer._fields(), "options": options}
        save_arrays(tmp_path / "old", answer._KIND, 1, fields)
        assert gs.WorkloadAnswer.load(tmp_path / "old") == answer
    save_arrays(tmp_path / "old", answer._KIND, 1, {**fields, "options": {"within": "edf"}})
    with pytest.raises(ValueError, match=r"options.within: got 'edf', expected one of one_stream"):
        gs.WorkloadAnswer.load(tmp_path / "old")


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"name": "edf", "given": {}}, "got way: got 'edf', expected one of one_stream"),
        ({"name": "mpcp", "given": {"x": 1}}, "got x: got an unknown option of mpcp"),
        ({"name": "mpcp", "given": {"mode": 3}}, "got mode: got 3, expected one of suspend"),
        (
            {"name": "mpcp", "given": {"argument": "x"}},
            "got argument: got an unknown option of",
        ),
        ({"name": "mpcp", "given": [1]}, "got "),
        ({"name": ["mpcp"], "given": {}}, "got "),
        ({"given": {}}, "got "),
        ({"name": "gcaps", "given": {"gpu_priority": np.array(["a"])}}, "got gpu_priority"),
    ],
)
def test_damaged_files(fields: dict[str, Any], message: str, tmp_path: Path) -> None:
    save_arrays(tmp_path / "way", "Way", 1, fields)
    with pytest.raises(ValueError, match=f"way: {message}.*expected a saved Way$"):
        gs.ways.Way.load(tmp_path / "way")
