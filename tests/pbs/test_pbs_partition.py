"""gs.pbs.partition: tasks on several GPUs, against the enumeration of all assignments."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from certificate_cases import Case, random_case
from reference import pbs_partition

import gpusched as gs

SERIAL = gs.BatchTable([0, 3, 3, 0, 3, 0, 0, 0])
THREE = gs.KernelTasks(period=[4, 4, 4], wcet=[3, 3, 3], name=["camera", "radar", "lidar"])


def tables_of(case: Case, gpus: int, rng: np.random.Generator) -> list[list[int]]:
    """A table for each GPU: mostly the same, else changed at random."""
    if rng.integers(3):
        return [case.completion] * gpus
    found = []
    for _ in range(gpus):
        times = np.array(case.completion)
        shared = np.bitwise_count(np.arange(len(times))) > 1
        times[shared] = np.maximum(0, times[shared] + rng.integers(-2, 3, shared.sum()))
        found.append(times.tolist())
    if gpus > 2:
        found[2] = found[0]
    return found


@pytest.mark.parametrize("seed", range(6))
def test_agrees_with_all_assignments(seed: int) -> None:
    rng = np.random.default_rng(seed)
    seen = []
    for _ in range(60):
        case, gpus, idling = random_case(rng, 5), int(rng.integers(1, 4)), bool(rng.integers(2))
        tables = tables_of(case, gpus, rng)
        tasks, _ = case.objects()
        one = all(table == tables[0] for table in tables)
        table = gs.BatchTable(tables[0] if one else tables)
        found = gs.pbs.partition(tasks, table, gpus=gpus, idling=idling)
        columns = (case.period, case.deadline, case.offset)
        expected = pbs_partition.assignments(*columns, tables, idling)
        assert found.schedulable == bool(expected)
        if expected:
            assert tuple(found.gpu.tolist()) in expected
            for g, plan in enumerate(found.schedules):
                assert (plan is None) == (not found.tasks_on(g))
                if plan is not None:
                    plan.validate()
        else:
            assert found.certificate is not None and not found.schedules
            found.certificate.verify(tasks, table, idling=idling)
        if gpus == 1 and one:
            plain = gs.pbs.search(tasks, table, idling=idling)
            assert plain.schedulable == found.schedulable
            if found.accepted:
                assert found.response.tolist() == plain.response.tolist()
        seen.append((gpus, found.schedulable))
    assert len(set(seen)) >= 5


def test_more_gpus_are_never_worse() -> None:
    rng = np.random.default_rng(9)
    for _ in range(60):
        tasks, table = random_case(rng, 5).objects()
        answers = [gs.pbs.partition(tasks, table, gpus=g).schedulable for g in range(1, 6)]
        assert answers == sorted(answers)
        assert answers[-1] or not all(
            gs.pbs.search(
                tasks[np.array([i])], gs.BatchTable([0, table.completion[1 << i]])
            ).accepted
            for i in range(tasks.n)
        )


def test_three_heavy_tasks() -> None:
    found = gs.pbs.partition(THREE, SERIAL, gpus=3)
    assert found.gpu.tolist() == [0, 1, 2] and found.tasks_on(1) == (1,)
    assert found.why("radar").startswith("On GPU 1, radar: response at most 3")
    assert found.to_frame()["gpu"].tolist() == [0, 1, 2]
    assert found.slack.tolist() == [1, 1, 1] and found.bounded.all()
    few = gs.pbs.partition(THREE, gs.BatchTable([0, 3, 3, 5, 3, 5, 5, 0]))
    assert few.schedulable is False and few.gpu.tolist() == [-1, -1, -1]
    assert few.why() == (
        "Every assignment to 2 GPUs has one of 3 sets of tasks on a GPU that cannot serve it; "
        "no GPU can serve camera, lidar together."
    )
    assert few.to_frame()["gpu"].isna().all() and few.response.mask.all()


def test_overload_of_all_gpus() -> None:
    tasks = gs.KernelTasks(period=[4, 6, 4], wcet=[3, 4, 3])
    table = gs.BatchTable([0, 3, 4, 0, 3, 0, 0, 0])
    found = gs.pbs.partition(tasks, table)
    assert found.certificate is not None and found.certificate.overload is not None
    assert found.tested == 0
    assert found.why() == "The 2 GPUs are overloaded: the jobs need 1.083 times the time there is."
    with pytest.raises(gs.pbs.CertificateError, match="deadlines up to the periods"):
        found.certificate.verify(tasks.replace(deadline=[9, 9, 9]), table)
    with pytest.raises(gs.pbs.CertificateError, match="worth"):
        replace(found.certificate, gpus=3).verify(tasks, table)


def test_overload_does_not_count_with_long_deadlines() -> None:
    # Overloaded in the long run, but the jobs of one hyperperiod have time enough after it.
    tasks = gs.KernelTasks(period=[4, 4, 4], wcet=[3, 3, 3], deadline=[40, 40, 40])
    assert gs.pbs.partition(tasks, SERIAL, gpus=2).schedulable is True


def test_damaged_certificates_do_not_hold() -> None:
    table = gs.BatchTable([0, 3, 3, 5, 3, 5, 5, 0])
    found = gs.pbs.partition(THREE, table).certificate
    assert found is not None
    found.verify(THREE, table)
    for k in range(len(found.parts)):
        less = replace(found, parts=found.parts[:k] + found.parts[k + 1 :])
        with pytest.raises(gs.pbs.CertificateError, match="leave an assignment open"):
            less.verify(THREE, table)
        other = list(found.parts)
        other[k] = replace(other[k], certificate=None)
        with pytest.raises(gs.pbs.CertificateError, match="no proof was found"):
            replace(found, parts=tuple(other)).verify(THREE, table)
        other[k] = replace(found.parts[k], tasks=(0,))
        with pytest.raises((gs.pbs.CertificateError, ValueError)):
            replace(found, parts=tuple(other)).verify(THREE, table)
        other[k] = replace(found.parts[k], gpu=2)
        with pytest.raises(gs.pbs.CertificateError, match="got GPU 2, expected one of 2"):
            replace(found, parts=tuple(other)).verify(THREE, table)
    alone = tuple(replace(part, extends=False) for part in found.parts)
    for changed in (replace(found, parts=alone), replace(found, gpus=3)):
        with pytest.raises(gs.pbs.CertificateError, match="leave an assignment open"):
            changed.verify(THREE, table)
    with pytest.raises(gs.pbs.CertificateError):
        found.verify(THREE, gs.BatchTable([0, 3, 3, 4, 3, 4, 4, 0]))
    with pytest.raises(ValueError, match="indices of tasks in rising order"):
        replace(found.parts[0], tasks=(1, 0))


def test_a_set_may_fail_where_a_larger_one_does_not() -> None:
    # The pair alone has no batch; with the third task, which is short, it has one.
    tasks = gs.KernelTasks(period=[4, 4, 4], wcet=[3, 3, 1])
    table = gs.BatchTable([0, 3, 3, 0, 1, 0, 0, 4])
    found = gs.pbs.partition(tasks, table, gpus=1)
    assert found.schedulable is True
    assert gs.pbs.partition(tasks[:2], gs.BatchTable([0, 3, 3, 0]), gpus=1).schedulable is False


def test_undecided_batches() -> None:
    tasks = gs.KernelTasks(period=[4, 4, 4], wcet=[3, 3, 3])
    undecided = [0, 0, 0, 4, 0, 0, 0, 0]
    found = gs.pbs.partition(tasks, gs.BatchTable(SERIAL.completion, undecided), gpus=2)
    assert found.undecided and found.reason == "undecided" and found.certificate is None
    assert found.why() == "The batches that the table leaves undecided decide it."
    long = gs.BatchTable(SERIAL.completion, [0, 0, 0, 5, 0, 5, 5, 0])
    found = gs.pbs.partition(tasks, long, gpus=2)
    assert found.certificate is not None
    found.certificate.verify(tasks, long)


def test_budgets_progress_and_stop() -> None:
    tasks = gs.generate.gpusched(10, 2.4, seed=7, count=4)[3]
    table = gs.BatchTable.from_utilization(tasks, "large", seed=7)
    seen: list[int] = []
    whole = gs.pbs.partition(tasks, table, progress=lambda done, total: seen.append(done))
    assert not whole.undecided and seen[-1] == whole.tested
    found = gs.pbs.partition(tasks, table, budget=gs.Budget(states=1))
    assert found.undecided and found.reason == "states" and found.why().startswith("The budget")
    found = gs.pbs.partition(tasks, table, budget=gs.Budget(bytes=1000))
    assert found.undecided and found.reason == "bytes"
    again = gs.pbs.partition(tasks, table, budget=gs.Budget(states=10**7))
    assert again == whole
    with pytest.raises(gs.Cancelled):
        gs.pbs.partition(tasks, table, stop=bytearray(b"\1"))


def test_a_long_hyperperiod_of_all_tasks_may_do() -> None:
    # Each GPU has a short one; together they exceed 2**60.
    big = [2**31 - 1, 2**31 - 19]
    tasks = gs.KernelTasks(period=[big[0], big[1]], wcet=[big[0] - 5, big[1] - 5])
    table = gs.BatchTable([0, big[0] - 5, big[1] - 5, 0])
    assert gs.pbs.partition(tasks, table, gpus=2).gpu.tolist() == [0, 1]
    tasks = gs.KernelTasks(period=[2**59 - 55, 2**59 - 99], wcet=1)
    with pytest.raises(OverflowError, match="hyperperiod"):
        gs.pbs.partition(tasks, gs.BatchTable([0, 2**58, 2**58, 0]), gpus=1)


def test_orders_of_submission_are_kept() -> None:
    tasks = gs.KernelTasks(period=[4, 4, 4], wcet=[3, 2, 2])
    table = gs.BatchTable.from_dict(3, {(0,): 3, (1,): 2, (2,): 2, (2, 1): 4})
    found = gs.pbs.partition(tasks, table)
    plan = found.schedules[1]
    assert plan is not None and plan.table is not None
    assert plan.tasks.name == ("task 1", "task 2") and plan.table.submission_order(3) == (1, 0)


@pytest.mark.parametrize("gpus", [2, 3])
def test_saved_answers(gpus: int, tmp_path: Path) -> None:
    found = gs.pbs.partition(THREE, gs.BatchTable([0, 3, 3, 5, 3, 5, 5, 0]), gpus=gpus)
    found.save(tmp_path / "answer")
    again = gs.pbs.Partition.load(tmp_path / "answer")
    assert again == found and again.why() == found.why()
    assert [plan is None for plan in again.schedules] == [plan is None for plan in found.schedules]
    if found.certificate is not None:
        found.certificate.save(tmp_path / "proof")
        proof = gs.pbs.PartitionCertificate.load(tmp_path / "proof")
        proof.verify(found.tasks, found.table)


STACK = gs.KernelTasks(period=[[4, 4, 4]] * 2, wcet=3)
WRONG: list[tuple[dict[str, Any], type[Exception], str]] = [
    ({"gpus": 0}, ValueError, "gpus: got 0, expected 1 to 64"),
    ({"gpus": 65}, ValueError, "gpus: got 65, expected 1 to 64"),
    ({"gpus": 2.5}, (TypeError, ValueError), "gpus"),  # type: ignore[list-item]
    ({"tasks": STACK}, ValueError, "tasks: got a stack"),
    ({"tasks": THREE[:2]}, ValueError, "table: got one for 3 tasks, expected 2"),
    ({"table": gs.BatchTable([SERIAL.completion] * 3)}, ValueError, "table: got a stack of 3"),
    ({"table": [0, 3]}, TypeError, "table: "),
    ({"idling": 1}, TypeError, "idling"),
    ({"budget": 5}, TypeError, "budget"),
    ({"stop": b"1"}, TypeError, "stop"),
]


@pytest.mark.parametrize(("changed", "error", "text"), WRONG)
def test_refusals(changed: dict[str, Any], error: type[Exception], text: str) -> None:
    with pytest.raises(error, match=text):
        gs.pbs.partition(**{"tasks": THREE, "table": SERIAL, "gpus": 2, **changed})


def test_certificates_refuse_other_questions() -> None:
    found = gs.pbs.partition(THREE, gs.BatchTable([0, 3, 3, 5, 3, 5, 5, 0])).certificate
    assert found is not None
    with pytest.raises(ValueError, match="tasks: got a stack"):
        found.verify(STACK, SERIAL)
    with pytest.raises(ValueError, match="table: got one for 3 tasks, expected 2"):
        found.verify(THREE[:2], SERIAL)
    with pytest.raises(ValueError, match="table: got 3 tables"):
        found.verify(THREE, gs.BatchTable([SERIAL.completion] * 3))
    with pytest.raises(gs.Cancelled):
        found.verify(THREE, SERIAL, stop=bytearray(b"\1"))
