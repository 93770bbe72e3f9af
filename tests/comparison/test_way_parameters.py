"""Every parameter of every way, on a workload: in its test, its simulation and a comparison."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import gpusched as gs
from gpusched.ways import WAYS, Way

VALUES: dict[str, list[Any]] = {
    "boolean": [True, False],
    "integer": [1],
    "positive integer": [2],
    "time": ["1ms"],
    "positive time": ["1ms"],
    "integers": [[1, 0]],
    "way": ["priority_streams", "edf_parallel"],
}
REFUSED = {"server": "its core is chosen", "saturation": "counts threads alone"}
CASES = [
    (way.replace(**{option.name: value}), option.name)
    for way in WAYS
    for option in way.parameters
    for value in option.choices or VALUES[option.type]
]


def workload() -> gs.Workload:
    return gs.Workload(
        [
            gs.Task("camera", "40ms", [
                gs.CPU("2ms"), gs.Kernel("5ms", blocks=32, threads=256)]),
            gs.Task("planner", "80ms", [
                gs.CPU("9ms"), gs.Kernel("8ms", blocks=8, threads=128)]),
        ],
        tick="us",
    )  # fmt: skip


def platform(way: Way) -> gs.Platform:
    if way.name == "mig":
        return gs.Platform("A100", cpus=2, mig=["3g.20gb", "3g.20gb"])
    parts = {"green_contexts": "green_contexts", "mps_static": "mps_partitions"}
    given: dict[str, Any] = {}
    if way.name in parts:
        given[parts[way.name]] = {"camera": 8, "planner": 8}
    return gs.Platform("AGX Orin", cpus=2, **given)


@pytest.mark.parametrize(("way", "name"), CASES, ids=lambda case: str(case))
def test_a_parameter_reaches_all_that_has_it(way: Way, name: str) -> None:
    w, p = workload(), platform(way)
    for row in gs.compare(w, p, ways=[way]):
        assert row.label.startswith(f"{way.name} (") and name in (*row.way.given, *row.options)
        if name in REFUSED and row.answer is None:
            assert REFUSED[name] in row.why_no_answer
            continue
        if way.test is not None and (name != "mode" or way.mode in way.test_method.choices("mode")):  # type: ignore[union-attr]
            assert row.answer is not None, row.why()
            same = gs.analyze(w, p, way.name, **{**way.given, **row.options})
            assert row.answer.response.tolist() == same.response.tolist()
        if row.why_no_answer == "":
            assert row.run is not None or "expected a way with a simulation" in row.why_no_run
        if row.run is not None and row.answer is not None:
            seen = np.ma.filled(row.run.worst, 0)
            assert (seen <= row.answer.response)[row.answer.bounded].all()


@pytest.mark.parametrize(
    ("way", "name"),
    [(way, name) for way, name in CASES if name in ("variant", "order")],
    ids=lambda case: str(case),
)
def test_only_proven_forms_of_tests_guarantee(way: Way, name: str) -> None:
    """A printed form, or a rule that GPUs do not follow, is a condition of the guarantee."""
    w, p = workload(), platform(way)
    proven = getattr(type(way)(), name)
    default, answer = gs.analyze(w, p, way.without(name)), gs.analyze(w, p, way)
    if way.given[name] == proven:
        assert answer.verdict == default.verdict and answer.conditions == default.conditions
        return
    assert answer.verdict in ("conditional", "undecided") and answer.schedulable is None
    if answer.conditional:
        condition = next(each for each in answer.conditions if each.premise == name)
        assert repr(way.given[name]) in condition.text and repr(proven) in condition.remedy
        assert f"{name}={way.given[name]}" in str(answer) and condition.text in answer.why()


def test_a_printed_form_that_accepts_a_late_task_guarantees_nothing() -> None:
    """FMLP+ as in the code of GCAPS bounds the response of b by 11; it is 14, and late."""
    w = gs.Workload([
        gs.Task("a", 12, [gs.CPU(1), gs.Kernel(5, blocks=2, threads=256)], deadline=11),
        gs.Task("b", 15, [gs.CPU(4), gs.Kernel(2, blocks=4, threads=256), gs.CPU(3)], deadline=11),
    ])  # fmt: skip
    way = gs.ways.FmlpPlus(mode="suspend", variant="gcaps")
    row = gs.compare(w, gs.Platform("AGX Orin", cpus=2), ways=[way]).rows[0]
    assert row.answer is not None and row.run is not None
    assert row.answer.response.tolist() == [8, 11] and row.run.worst.tolist() == [6, 14]
    assert row.answer.verdict == "conditional" and row.schedulable is not True
    [condition] = row.answer.conditions
    assert str(condition) == (
        "the test holds in the form 'gcaps', as it is printed; counterexamples to printed forms "
        "are known (without it: variant='sound')"
    )


def test_the_period_of_a_server_is_a_time() -> None:
    w, p = workload(), gs.Platform("AGX Orin", cpus=2)
    for text, ticks in (("1ms", 1000), ("20ms", 20_000)):
        by_text, by_ticks = (gs.ways.Container(server_period=t) for t in (text, ticks))
        assert gs.analyze(w, p, by_text).response.tolist() == gs.analyze(
            w, p, by_ticks).response.tolist()  # fmt: skip
        run = gs.observe(w, p, by_text, until="400ms")
        assert run.response.tolist() == gs.observe(w, p, by_ticks, until="400ms").response.tolist()
        assert run.assumptions[1].endswith(f"in a period of {text}")
    with pytest.raises(ValueError, match="server_period: got 0, expected 1 or more"):
        gs.analyze(w, p, "container", server_period=0)


def test_the_mode_of_a_server_is_simulated() -> None:
    """A server that keeps its CPU while its first job is suspended spends its budget."""
    w, p = workload(), gs.Platform("AGX Orin", cpus=2)
    runs = [gs.observe(w, p, "container", mode=mode, until="400ms") for mode in ("suspend", "busy")]
    assert runs[0].worst.max() < runs[1].worst.max()
