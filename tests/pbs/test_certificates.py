"""Certificates of the search: what they prove, in C and in the twin; damage, forgery, files."""

from __future__ import annotations

import pickle
from collections import Counter
from dataclasses import fields, replace
from pathlib import Path

import numpy as np
import pytest
from certificate_cases import (
    Case,
    certificates,
    damaged,
    dead_states,
    garbage,
    holds,
    random_case,
    subsets,
)
from reference import pbs_brute, pbs_dead_states

import gpusched as gs
from gpusched import _core
from gpusched.pbs.certificates import certificate_of

SETS = 150
CAMERAS = gs.KernelTasks([33_333, 16_667, 41_001], [10_000] * 3, name=["a", "b", "c"])
SERIAL = gs.BatchTable([0, 10_000, 10_000, 0, 10_000, 0, 0, 0])
TASKS = gs.KernelTasks(period=[4, 6], wcet=[3, 4], name=["camera", "lidar"])
TABLE = gs.BatchTable([0, 3, 4, 6])


def is_schedulable(case: Case, idling: bool, repeating: bool) -> bool | None:
    """Of the hyperperiod by trying everything, of all jobs by the search."""
    if repeating:
        tasks, table = case.objects()
        return gs.pbs.search(tasks, table, idling=idling, repeating=True).schedulable  # type: ignore[no-any-return]
    columns = (case.period, case.deadline, case.completion, case.offset)
    return pbs_brute.search(*columns, idling) is not None


@pytest.mark.long
def test_certificates_of_random_sets() -> None:
    """True ones hold in both checks; what holds, damaged or forged, is about a set without a
    schedule."""
    count: Counter[str] = Counter()
    for seed in range(SETS):
        rng = np.random.default_rng([seed, 31])
        case, idling = random_case(rng), bool(rng.integers(2))
        questions = [(idling, False), (not idling, False), (idling, True)]
        yes = {question: is_schedulable(case, *question) for question in questions}
        made = list(certificates(rng, case, idling))
        assert (made == []) is yes[questions[0]]
        parts = list(subsets(rng, case))
        for proof in [*made, *parts]:
            inner = proof.proof if isinstance(proof, gs.pbs.InfeasibleSubset) else proof
            if isinstance(inner, gs.pbs.DeadStates):
                assert holds(proof, case, *questions[0])
        given = [
            *made,
            *parts,
            *subsets(rng, case, idling=False),
            *(garbage(rng, case) for _ in range(3)),
        ]
        given += [damaged(rng, proof) for proof in given for _ in range(2)]
        for proof in given:
            for question in questions:
                good = holds(proof, case, *question)
                assert not (good and yes[question]), (case, proof, question)
                count[f"{type(proof).__name__} {good}"] += 1
    kinds = ("Overload", "DeadInterval", "DeadStates", "InfeasibleSubset")
    assert all(count[f"{kind} {good}"] for kind in kinds for good in (True, False)), count


def test_certificates_of_another_set() -> None:
    """Proofs for a set that is a little harder say nothing about a schedulable one."""
    refused = 0
    for seed in range(SETS):
        rng = np.random.default_rng([seed, 37])
        case, idling = random_case(rng), bool(rng.integers(2))
        if not is_schedulable(case, idling, False):
            continue
        harder = [int(c) + int(c > 0 and rng.random() < 0.5) for c in case.completion]
        shorter = [max(1, d - int(rng.random() < 0.3)) for d in case.deadline]
        other = replace(case, completion=harder, deadline=shorter)
        for proof in [*certificates(rng, other, idling), *subsets(rng, other)]:
            refused += not holds(proof, case, idling, False)
            assert not holds(proof, case, idling, False)
    assert refused > 20


def test_a_first_instant_that_is_alive() -> None:
    """All that is dead of a schedulable set, and the first instant in addition."""
    states = pbs_dead_states.DeadStates([4, 5, 10], [4, 5, 10], [0, 0, 0], [0, 1, 3, 4, 3, 4, 4, 6])
    dead = []
    for k, start in enumerate(states.starts):
        for done in np.ndindex(*(a + 1 for a in states.arrived[k])):
            if done != states.total:
                alive = [t for t in states.instants(k, done) if states.alive(t, done, True)]
                pending = tuple(a - d for a, d in zip(states.arrived[k], done, strict=True))
                dead.append((start, pending, max(alive, default=start - 1), []))
    case = Case([4, 5, 10], [4, 5, 10], [0, 0, 0], [0, 1, 3, 4, 3, 4, 4, 6])
    assert not holds(dead_states(dead, [], 3), case, True, False)
    forged = [(*e[:2], -1, []) if e[:2] == (0, (1, 1, 1)) else e for e in dead]
    with pytest.raises(gs.pbs.CertificateError, match=r"leads to a state at \d+ that is not dead"):
        dead_states(forged, [], 3).verify(*case.objects(), idling=True)


def test_certificates_of_the_search_hold() -> None:
    """Of sets as in [RTNS24], section 6.1, in ticks of 1 ns."""
    kinds: Counter[str] = Counter()
    for load, share in ((1.4, 1.0), (1.0, 0.625)):
        tasks = gs.generate.gpusched(5, load, count=50, seed=3)
        tables = gs.BatchTable.from_utilization(tasks, (1.7, 1.9), seed=3)
        deadline = (tasks.period * share).astype(np.int64)
        tasks = gs.KernelTasks(tasks.period, tasks.wcet, deadline=deadline)
        stages = gs.pbs.search(tasks, tables).stage
        for i in np.flatnonzero((stages == "overload") | (stages == "dead_interval")):
            found = gs.pbs.search(tasks[i], tables[i])
            assert found.certificate is not None
            columns = (tasks[i].period, tasks[i].deadline, tasks[i].offset, tables[i].completion)
            case = Case(*(column.tolist() for column in columns))
            assert holds(found.certificate, case, False, False)
            assert holds(found.certificate, case, True, False)
            assert found.why() == found.certificate.words(tasks[i])
            kinds[found.stage] += 1
    assert kinds["overload"] > 5 and kinds["dead_interval"] > 5, kinds


def test_certificates_of_the_search_for_all_jobs_hold() -> None:
    found = 0
    for seed in range(SETS):
        rng = np.random.default_rng([seed, 41])
        case, idling = random_case(rng), bool(rng.integers(2))
        answer = gs.pbs.search(*case.objects(), idling=idling, repeating=True)
        if answer.certificate is not None:
            assert answer.schedulable is False
            assert holds(answer.certificate, case, idling, True)
            found += 1
    assert found > 5


def test_batches_that_a_table_leaves_undecided_count() -> None:
    table = gs.BatchTable([0, 3, 4, 0], undecided=[0, 0, 0, 6])
    proof = gs.pbs.Overload((3, 4), 1, 17 / 12)
    with pytest.raises(gs.pbs.CertificateError, match=r"^batch \{0, 1\} is worth more than"):
        proof.verify(TASKS, table)
    gs.pbs.Overload((3, 3), 1, 15 / 12).verify(TASKS, table)


def test_periods_whose_hyperperiod_is_large() -> None:
    """Three cameras on one GPU, 10 ms each: overloaded from 0 to 208,497 already."""
    gs.pbs.Overload((10_000,) * 3, 1, 1.1437).verify(CAMERAS, SERIAL)
    proof = gs.pbs.Overload((10_000,) * 3, 1, 1.0, 208_497)
    proof.verify(CAMERAS, SERIAL, repeating=True)
    huge = gs.KernelTasks([2**59 - 1, 2**59 - 3, 2**59 - 9], [2**58] * 3)
    table = gs.BatchTable([0, *[2**58, 2**58, 0, 2**58, 0, 0, 0]])
    one = gs.pbs.Overload((2**58,) * 3, 1, 1.5)
    one.verify(huge, table, repeating=True)
    one.verify(huge, table)
    replace(one, window=2**59 - 1).verify(huge, table)
    with pytest.raises(gs.pbs.CertificateError, match="no more than the time there is"):
        replace(one, window=2**59 - 10).verify(huge, table)
    states = dead_states([(0, (1, 1, 1), -1, [])], [], 3)
    with pytest.raises(OverflowError, match=r"^period: got \d+, expected periods with a hyperp"):
        states.verify(huge, table)


def test_negative_prices() -> None:
    """Periods of 2 S and 3 S, deadlines of 20 S: only a price below 0 shows the overload."""
    s = 1000
    tasks = gs.KernelTasks([2 * s, 3 * s], [3 * s + 1, s], deadline=[20 * s] * 2)
    table = gs.BatchTable([0, 3 * s + 1, s, 3 * s // 2 + 1])
    proof = gs.pbs.Overload((3 * s + 1, -3 * s // 2), 1, 1.0005)
    proof.verify(tasks, table, repeating=True)
    with pytest.raises(gs.pbs.CertificateError, match="no more than the time there is"):
        replace(proof, price=(3 * s, -3 * s // 2)).verify(tasks, table, repeating=True)
    with pytest.raises(gs.pbs.CertificateError, match="may end after the hyperperiod"):
        proof.verify(tasks, table)


def test_dead_states_that_waiting_leaves() -> None:
    """Waiting avoids the miss: task 0 takes the GPU while task 1 is not yet released."""
    case = Case([10, 10], [10, 2], [0, 1], [0, 5, 2, 0])
    proof = next(certificates(np.random.default_rng(1), case, False))
    assert holds(proof, case, False, False) and not holds(proof, case, True, False)
    with pytest.raises(gs.pbs.CertificateError, match=r"(waiting until|leads to)"):
        proof.verify(*case.objects(), idling=True)


def test_subsets_are_proven_with_idle_time() -> None:
    """The other tasks may keep the GPU busy, so that a subset waits although the GPU does not."""
    case = Case([10, 10, 10], [10, 2, 10], [0, 1, 0], [0, 5, 2, 0, 1, 0, 0, 0])
    part = case.part([0, 1])
    proof = next(certificates(np.random.default_rng(1), part, False))
    assert isinstance(proof, gs.pbs.DeadStates) and holds(proof, part, False, False)
    subset = gs.pbs.InfeasibleSubset((0, 1), proof)
    assert is_schedulable(case, False, False)
    assert not holds(subset, case, False, False)


@pytest.mark.parametrize(
    ("spans", "good"),
    [
        ([(12, 15)], True),
        ([(12, 13), (14, 15)], True),
        ([(12, 14)], False),
        ([(13, 15)], False),
        ([(12, 12), (14, 15)], False),
    ],
)
def test_every_instant_of_a_span_is_followed(spans: list[tuple[int, int]], good: bool) -> None:
    """The first class claims 0 to 3, the batches of it take 12."""
    case = Case([20, 20], [20, 20], [0, 0], [0, 12, 12, 0])
    first = (0, (1, 1), None, [(0, 3)])
    rest = [(0, (0, 1), None, spans), (0, (1, 0), None, [(12, 15)])]
    assert holds(dead_states([first, *rest], [], 2), case, False, False) is good


def test_unusable_arguments() -> None:
    proof = gs.pbs.Overload((3, 4), 1, 17 / 12)
    stack = gs.KernelTasks([[4, 6]] * 2, [[3, 4]] * 2)
    with pytest.raises(ValueError, match=r"^tasks: got a stack"):
        proof.verify(stack, TABLE)
    with pytest.raises(ValueError, match=r"^table: got one for 3 tasks, expected 2"):
        proof.verify(TASKS, SERIAL)
    with pytest.raises(ValueError, match=r"^prices: got length 2 on axis 0, expected 3"):
        proof.verify(CAMERAS, SERIAL)
    with pytest.raises(TypeError, match=r"^idling: got 1, expected True or False"):
        proof.verify(TASKS, TABLE, idling=1)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match=r"^proof: got InfeasibleSubset, expected"):
        gs.pbs.InfeasibleSubset((0,), gs.pbs.InfeasibleSubset((0,), proof))  # type: ignore[arg-type]
    with pytest.raises(ValueError, match=r"^pending: got shape \(2, 1\), expected \(1, 1\)"):
        gs.pbs.DeadStates([], [], [], [0], [[1], [1]], [0], [0, 0], [], [])  # type: ignore[arg-type]
    with pytest.raises(ValueError, match=r"^span_begin: expected offsets that rise"):
        gs.pbs.DeadStates([], [], [], [0], [[1]], [0], [0, 1], [], [])  # type: ignore[arg-type]
    stop = bytearray([1])
    large = gs.BatchTable(np.r_[0, np.full(2**20 - 1, 20)])
    many = gs.KernelTasks([100] * 20, [20] * 20)
    with pytest.raises(gs.Cancelled):
        gs.pbs.Overload((1,) * 20, 1, 1.0).verify(many, large, stop=stop)


FAULTS = [
    (gs.pbs.DeadInterval(0, 4, (1, 0), 5), r"tasks: expected indices of tasks in rising order"),
    (gs.pbs.DeadInterval(0, 4, (), 5), r"tasks: expected indices of tasks in rising order"),
    (gs.pbs.DeadInterval(0, 3, (0,), 5), r"no job of task 0 is released and due within"),
    (gs.pbs.DeadInterval(0, 6, (0, 1), 7), r"the least time of batches .* is 6"),
    (gs.pbs.DeadInterval(0, 6, (0, 1), 6), r"the interval is no shorter than 6"),
    (gs.pbs.Overload((1, 1), 0, 2.0), r"scale: expected a positive number"),
    (gs.pbs.Overload((2**61, 1), 1, 2.0), r"prices, scale and window: expected numbers below"),
    (gs.pbs.Overload((1, 1), 1, 2.0, 12), r"the jobs are worth no more than the time there is"),
    (dead_states([], [], 2), r"no entry says that the first instant is dead"),
    (dead_states([(1, (1, 1), 0, [])], [], 2), r"entry 0: expected the start of an interval"),
    (dead_states([(0, (2, 1), 0, [])], [], 2), r"entry 0: expected the start of an interval"),
    (dead_states([(0, (1, 1), 0, [])] * 2, [], 2), r"entry 1 is about the same states as"),
    (dead_states([(0, (1, 1), 0, [(2, 4)])], [], 2), r"entry 0: the span from 2 is outside"),
    (
        dead_states([(0, (1, 1), 0, [(0, 0)])], [(9, [4, 4], 1)], 2),
        r"window 0: batch \{0\} is worth",
    ),
    (
        dead_states([(0, (1, 1), None, [(0, 0)])], [], 2),
        r"entry 0: batch \{1\} leads to a state at",
    ),
]


@pytest.mark.parametrize(("proof", "text"), FAULTS, ids=[text for _, text in FAULTS])
def test_faults_in_words(proof: gs.pbs.Certificate, text: str) -> None:
    tasks = gs.KernelTasks(period=[4, 6], wcet=[2, 2])
    with pytest.raises(gs.pbs.CertificateError, match=f"^{text}"):
        proof.verify(tasks, gs.BatchTable([0, 3, 3, 6]))


def test_a_state_with_nothing_left_is_not_dead() -> None:
    case = Case([4], [4], [0], [0, 2])
    proof = dead_states([(0, (1,), None, [(0, 0)]), (0, (0,), -1, [])], [], 1)
    with pytest.raises(gs.pbs.CertificateError, match=r"^entry 1: nothing is left to run"):
        proof.verify(*case.objects())
    assert not holds(proof, case, False, False)


def proofs() -> list[gs.pbs.Certificate]:
    case = Case([4, 6], [4, 6], [0, 0], [0, 3, 4, 6])
    states = next(certificates(np.random.default_rng(0), case, False))
    overload = gs.pbs.Overload((3, 3), 1, 1.25)
    interval = gs.pbs.DeadInterval(0, 6, (0, 1), 7)
    subset = gs.pbs.InfeasibleSubset((0, 1), states)  # type: ignore[arg-type]
    return [overload, replace(overload, window=12), interval, states, subset]


@pytest.mark.parametrize("proof", proofs(), ids=repr)
def test_copies_and_files(proof: gs.pbs.Certificate, tmp_path: object) -> None:
    path = f"{tmp_path}/certificate"
    proof.save(path)
    again = type(proof).load(path)
    assert again == proof and pickle.loads(pickle.dumps(proof)) == proof
    assert repr(again) == repr(proof)
    answer = replace(gs.pbs.search(TASKS, TABLE), certificate=proof)
    answer.save(path)
    assert gs.pbs.Search.load(path) == answer


def test_files_of_answers_before_certificates_were_classes(tmp_path: object) -> None:
    """Version 1 had the fields of an overload or a dead interval."""
    from gpusched._support.saved_files import save_arrays

    found = gs.pbs.search(CAMERAS, SERIAL, repeating=True)
    for old, proof in [
        ({"price": (1, 1, 1), "scale": 2, "load": 1.5}, gs.pbs.Overload((1, 1, 1), 2, 1.5)),
        (
            {"start": 0, "end": 4, "tasks": (0, 1), "least": 5},
            gs.pbs.DeadInterval(0, 4, (0, 1), 5),
        ),
    ]:
        path = f"{tmp_path}/answer"
        save_arrays(path, "Search", 1, found._fields() | {"certificate": old})
        assert gs.pbs.Search.load(path).certificate == proof


def test_words() -> None:
    window = gs.pbs.Overload((3, 3), 1, 1.25, 12)
    assert repr(window) == "<Overload: tasks 0, 1 need 1.25 times the 12 ticks from 0 on>"
    assert window.words(TASKS) == "camera, lidar need 15 ticks for the jobs of the first 12."
    subset = gs.pbs.InfeasibleSubset((1, 2), window)
    assert repr(subset) == f"<InfeasibleSubset: tasks 1, 2; {window!r}>"
    assert subset.words(CAMERAS) == (
        "b, c miss a deadline even alone. b, c need 15 ticks for the jobs of the first 12."
    )
    interval = gs.pbs.DeadInterval(0, 6, (0, 1), 7)
    assert repr(interval) == "<DeadInterval: tasks 0, 1 need 7 of the 6 ticks from 0 to 6>"
    assert interval.words(TASKS) == "camera, lidar need 7 ticks between 0 and 6, which are 6."


def test_words_of_one_task() -> None:
    one = gs.pbs.Overload((3, 0), 1, 1.25, 12)
    assert repr(one) == "<Overload: task 0 needs 1.25 times the 12 ticks from 0 on>"
    assert one.words(TASKS) == "camera needs 15 ticks for the jobs of the first 12."
    window = gs.pbs.Overload((3, 3), 1, 1.25, int(TASKS.deadline.min()))  # one job is due
    assert window.words(TASKS) == "camera needs 5 ticks for the jobs of the first 4."
    alone = gs.pbs.InfeasibleSubset((1,), gs.pbs.Overload((3,), 1, 1.25, 12))
    assert alone.words(TASKS) == (
        "lidar misses a deadline even alone. lidar needs 15 ticks for the jobs of the first 12."
    )
    interval = gs.pbs.DeadInterval(0, 4, (0,), 5)
    assert interval.words(TASKS) == "camera needs 5 ticks between 0 and 4, which are 4."


@pytest.mark.parametrize("demand", [np.inf, -np.inf, np.nan])
def test_a_demand_is_finite(demand: float) -> None:
    with pytest.raises(ValueError, match=r"^demand: got -?(inf|nan), expected a finite number$"):
        gs.pbs.Overload((3, 3), 1, demand, 12)


def test_words_of_a_demand_beyond_floating_point() -> None:
    """Only a proof that does not hold has it; its words are some, too."""
    proof = gs.pbs.Overload((3, 3), 1, 1e308, 2**40)
    assert proof.words(TASKS).startswith("camera, lidar need 1")


def test_proofs_as_arrays() -> None:
    """The dicts that a search returns."""
    states = proofs()[3]
    assert isinstance(states, gs.pbs.DeadStates)
    names = ("windows", "window_prices", "scales", "entry_start", "entry_pending", "entry_latest")
    names += ("span_begin", "span_first", "span_last")
    values = [getattr(states, f.name) for f in fields(states)]
    order = [0, 1, 2, 3, 4, 5, 6, 7, 8]
    closed = {"kind": "closed"} | {names[i]: values[i] for i in order}
    assert certificate_of(closed, TASKS) == states
    prices = {"kind": "window", "window": 12, "prices": np.array([3, 3]), "scale": 1}
    assert certificate_of(prices, TASKS) == gs.pbs.Overload((3, 3), 1, 1.25, 12)
    assert certificate_of(prices | {"window": None}, TASKS, repeating=True) == gs.pbs.Overload(
        (3, 3), 1, 1.25
    )
    interval = {"kind": "interval", "from": 0, "to": 6, "tasks": [0, 1], "least": 7}
    assert certificate_of(interval, TASKS) == gs.pbs.DeadInterval(0, 6, (0, 1), 7)
    core = {"kind": "core", "core": np.array([1]), "proof": closed}
    assert certificate_of(core, TASKS) == gs.pbs.InfeasibleSubset((1,), states)
    assert certificate_of(None, TASKS) is None


def test_hostile_arrays() -> None:
    """Any numbers of any size give a verdict or an error."""
    rng = np.random.default_rng(5)
    sizes = [0, 1, 2, 5]
    arrays = [np.array([column]) for column in ([4, 6], [4, 13], [0, 1], [0, 3, 4, 6])]
    wide = np.array([-(2**63), -1, 0, 1, 2, 3, 2**31, 2**60, 2**61 - 1, 2**62, 2**63 - 1])
    seen: Counter[int] = Counter()
    for _ in range(3000):
        windows, entries, spans = (int(x) for x in rng.choice(sizes, 3))
        begin = np.sort(rng.integers(0, spans + 1, entries + 1)) if rng.random() < 0.9 else None
        if begin is not None:
            begin[0], begin[-1] = 0, spans
        pool = wide if rng.random() < 0.5 else np.arange(-1, 7)

        def draw(*shape: int, pool: np.ndarray = pool) -> np.ndarray:  # type: ignore[type-arg]
            return rng.choice(pool, shape)

        try:
            verdict = _core.pbs_proof_states(
                *arrays,
                subset=None if rng.random() < 0.8 else draw(2),
                window=draw(windows),
                prices=draw(windows, 2),
                scale=draw(windows),
                start=draw(entries),
                pending=draw(entries, 2),
                latest=draw(entries),
                span_begin=draw(entries + 1) if begin is None else begin,
                span_first=draw(spans),
                span_last=draw(spans),
                idling=bool(rng.integers(2)),
                repeating=False,
                stop=None,
            )
            seen[verdict[0]] += 1
        except (ValueError, OverflowError):
            seen[-1] += 1
    assert len(seen) > 6


def test_later_jobs_may_not_run_with_those_that_a_part_counts() -> None:
    """Late jobs of a part with a shorter hyperperiod: its proof says nothing about all tasks."""
    proof = gs.pbs.Overload((5,), 1, 1.25)
    words = "expected jobs that are due by the end of the tasks' hyperperiod"
    part = gs.pbs.InfeasiblePart((0,), 0, True, proof)
    for n, certificate in (
        (2, gs.pbs.PartitionCertificate(1, None, (part,))),
        (25, gs.pbs.InfeasibleSubset((0,), proof)),  # of a function, which has no table
    ):
        period, wcet, rest = [4] + [6] * (n - 1), [5] + [1] * (n - 1), [6] * (n - 1)
        in_time = gs.KernelTasks(period, wcet, deadline=[4, *rest])
        table = (
            gs.BatchTable([0, 5, 1, 5])
            if n == 2
            else gs.BatchFunction.from_utilization(in_time, slowdown=1.0)
        )
        certificate.verify(in_time, table)
        with pytest.raises(gs.pbs.CertificateError, match=words):
            certificate.verify(gs.KernelTasks(period, wcet, deadline=[5, *rest]), table)
        same = gs.KernelTasks([6] * n, wcet, deadline=[7, *rest])
        with pytest.raises(gs.pbs.CertificateError) as refused:  # by the check of the proof inside
            certificate.verify(same, table)
        assert words not in str(refused.value)


def test_a_certificate_of_any_kind_is_loaded(tmp_path: Path) -> None:
    proofs = [
        gs.pbs.Overload((3, 4), 1, 17 / 12),
        gs.pbs.InfeasibleSubset((0,), gs.pbs.Overload((5,), 1, 1.25)),
    ]
    for k, proof in enumerate(proofs):
        proof.save(tmp_path / str(k))
        assert gs.pbs.Certificate.load(tmp_path / str(k)) == proof
    with pytest.raises(
        ValueError, match="got a saved 'InfeasibleSubset', expected a saved Overload"
    ):
        gs.pbs.Overload.load(tmp_path / "1")
    TASKS.save(tmp_path / "tasks")
    with pytest.raises(ValueError, match="tasks: got a saved 'KernelTasks', expected a saved cert"):
        gs.pbs.Certificate.load(tmp_path / "tasks")
    (tmp_path / "text").write_text("no archive")
    with pytest.raises(ValueError, match="expected a saved certificate"):
        gs.pbs.Certificate.load(tmp_path / "text")


def test_an_overload_names_the_tasks_whose_jobs_it_counts() -> None:
    """A price of a task without jobs due by the end of the window says nothing."""
    tasks = gs.KernelTasks([4, 6, 100], wcet=[3, 4, 1], name=["a", "b", "slow"])
    proof = gs.pbs.Overload((3, 4, 1), 1, 7 / 6, 6)
    assert proof.words(tasks) == "a, b need 7 ticks for the jobs of the first 6."
