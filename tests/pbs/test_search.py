"""The interval search: the paper's example, agreement with brute force, certificates, budgets."""

from __future__ import annotations

import math
import re
import threading

import numpy as np
import pytest
from native import positional
from reference import edf as edf_twin
from reference import pbs_brute

import gpusched as gs
from gpusched import _core

EXAMPLE = gs.KernelTasks(period=[4, 5, 10], wcet=[1, 3, 3])
TABLE = gs.BatchTable(completion=[0, 1, 3, 4, 3, 4, 4, 6])


def random_set(rng, n, kind):
    """A small set: (period, deadline, offset, completion), plain lists."""
    menu = [4, 6, 8, 12] if rng.random() < 0.7 else [3, 5, 6, 10]
    period = [int(rng.choice(menu)) for _ in range(n)]
    low = [max(1, t // 2) for t in period]
    high = [2 * t + 2 if kind == "long" else t for t in period]
    deadline = period[:]
    if kind != "implicit":
        deadline = [int(rng.integers(a, b + 1)) for a, b in zip(low, high, strict=True)]
    offset = [0] * n
    if kind in ("offsets", "long"):
        offset = [int(rng.integers(0, 6)) * int(rng.integers(2)) for _ in range(n)]
    wcet = [int(rng.integers(1, max(2, t // 2 + 1))) for t in period]
    completion = [0] * (1 << n)
    for mask in range(1, 1 << n):
        members = [i for i in range(n) if mask >> i & 1]
        if len(members) == 1:
            completion[mask] = wcet[members[0]]
        elif rng.random() < 0.8:
            longest = max(wcet[i] for i in members)
            completion[mask] = max(1, int(longest * rng.uniform(1, 2)))
    return period, deadline, offset, completion


def as_objects(period, deadline, offset, completion):
    singles = [completion[1 << i] for i in range(len(period))]
    tasks = gs.KernelTasks(period=period, wcet=singles, deadline=deadline, offset=offset)
    return tasks, gs.BatchTable(completion=completion)


def test_example_of_section_3_1():
    """EDFserial and EDFParallel miss, PBS does not ([RTNS24], Figures 1 and 2)."""
    serial = gs.pbs.edf_serial(EXAMPLE, TABLE)
    parallel = gs.pbs.edf_parallel(EXAMPLE, TABLE)
    assert serial.schedulable is False and parallel.schedulable is False
    assert parallel.late_job == (0, 0, 4)  # Figure 2b: J1 runs until 6
    found = gs.pbs.search(EXAMPLE, TABLE)
    assert found.schedulable is True and found.repeats is True
    found.schedule.validate()
    assert found.schedule.end[-1] <= EXAMPLE.hyperperiod == 20


def test_which_job_misses_under_edf_serial_depends_on_the_tie():
    """J7 and J10 are both due at 10. The paper's Figure 2a lets J10 go first, so that J7 misses;
    ties to the smaller index let J7 go first, and J10 misses."""
    assert gs.pbs.edf_serial(EXAMPLE, TABLE).late_job == (2, 0, 10)
    exchanged = gs.KernelTasks(period=[4, 10, 5], wcet=[1, 3, 3])
    assert gs.pbs.edf_serial(exchanged, TABLE).late_job == (2, 1, 10)


@pytest.mark.parametrize("pairs", [((0, 1), (4, 8)), ((0, 1), (4, 8), (10, 14))])
def test_the_papers_schedules_replay(pairs):
    """The beginning of Figures 2c and 2d: J1 alone, then J6 with J10."""
    start, end = (list(x) for x in zip((0, 1), (1, 5), strict=True))
    rule, frame, *_ = positional(_core.schedule_replay)(
        *(np.atleast_2d(a) for a in (EXAMPLE.period, EXAMPLE.deadline, EXAMPLE.offset)),
        np.atleast_2d(TABLE.completion),
        start,
        end,
        [0b001, 0b110],
        False,
    )
    assert (rule, frame) == (7, 2)  # no rule broken, only unfinished
    assert len(pairs) > 1


@pytest.mark.parametrize("kind", ["implicit", "constrained", "offsets", "long"])
@pytest.mark.parametrize("thorough", [False, True])
@pytest.mark.parametrize("idling", [False, True])
def test_agrees_with_brute_force(kind, thorough, idling):
    rng = np.random.default_rng([hash(kind) % 1000 if False else len(kind), thorough, idling])
    answers = set()
    for _ in range(120):
        case = random_set(rng, int(rng.integers(1, 5)), kind)
        period, deadline, offset, completion = case
        tasks, table = as_objects(*case)
        expected = pbs_brute.search(period, deadline, completion, offset, idling=idling)
        found = gs.pbs.search(tasks, table, idling=idling, thorough=thorough)
        assert found.schedulable is (expected is not None), case
        answers.add(found.schedulable)
        if found.schedulable:
            found.schedule.validate()
            frames = zip(
                found.schedule.start.tolist(),
                found.schedule.end.tolist(),
                found.schedule.batch.tolist(),
                strict=True,
            )
            broken = pbs_brute.replay(
                list(frames), period, deadline, completion, offset, idling=idling
            )
            assert broken == [], case
        else:
            assert found.schedule is None and found.repeats is None
    assert answers == {True, False}


@pytest.mark.parametrize("kind", ["implicit", "constrained", "offsets", "long"])
def test_edf_agrees_with_its_twin(kind):
    rng = np.random.default_rng(len(kind))
    for _ in range(150):
        case = random_set(rng, int(rng.integers(1, 5)), kind)
        period, deadline, offset, completion = case
        tasks, table = as_objects(*case)
        for ours, twin in (
            (gs.pbs.edf_serial, edf_twin.edf_serial),
            (gs.pbs.edf_parallel, edf_twin.edf_parallel),
        ):
            fine, frames = twin(period, deadline, completion, offset)
            found = ours(tasks, table)
            assert found.schedulable is fine
            assert found.schedule.start.tolist() == [f[0] for f in frames]
            assert found.schedule.batch.tolist() == [f[2] for f in frames]


def test_quick_answers_and_thorough_search_agree_on_larger_sets():
    tasks = gs.generate.gpusched(6, 1.0, count=60, seed=5, ticks=10)
    table = gs.BatchTable.from_utilization(tasks, (1.0, 1.9), seed=5)
    quick = gs.pbs.search(tasks, table)
    slow = gs.pbs.search(tasks, table, thorough=True)
    assert (quick.schedulable == slow.schedulable).all()
    assert set(quick.schedulable.tolist()) == {0, 1}
    assert len(set(quick.stage.tolist())) >= 4


def test_time_may_be_as_fine_as_one_likes():
    """The same set in ticks a million times finer: the same answer in as many states."""
    tasks = gs.generate.gpusched(6, 1.0, count=20, seed=3, ticks=1)
    table = gs.BatchTable.from_utilization(tasks, (1.7, 1.9), seed=3)
    fine = gs.KernelTasks(period=tasks.period * 10**6, wcet=tasks.wcet * 10**6)
    fine_table = gs.BatchTable(completion=table.completion * 10**6)
    coarse_answer = gs.pbs.search(tasks, table, thorough=True)
    fine_answer = gs.pbs.search(fine, fine_table, thorough=True)
    assert (coarse_answer.schedulable == fine_answer.schedulable).all()
    assert (coarse_answer.states == fine_answer.states).all()


def test_a_stack_answers_as_its_sets_do():
    tasks = gs.generate.gpusched(5, 1.2, count=30, seed=1)
    table = gs.BatchTable.from_utilization(tasks, "large", seed=1)
    stack = gs.pbs.search(tasks, table)
    serial, parallel = gs.pbs.edf_serial(tasks, table), gs.pbs.edf_parallel(tasks, table)
    for i in range(len(tasks)):
        one = gs.pbs.search(tasks[i], table[i])
        assert stack.schedulable[i] == one.schedulable
        assert stack.stage[i] == one.stage == stack[i].stage
        assert stack[i].schedulable is one.schedulable
        assert stack.states[i] == one.states
        assert serial.schedulable[i] == gs.pbs.edf_serial(tasks[i], table[i]).schedulable
        assert parallel.schedulable[i] == gs.pbs.edf_parallel(tasks[i], table[i]).schedulable
        # Sets schedulable under either EDF scheduler are schedulable under PBS.
        assert stack.schedulable[i] >= max(serial.schedulable[i], parallel.schedulable[i])
    assert list(stack.to_frame().columns)[:3] == ["set", "schedulable", "stage"]


def least_cover(completion, tasks):
    """The least total time of eligible batches that cover a set of tasks, by trying all."""
    best = {0: 0}
    for mask in range(1, len(completion)):
        options = [
            completion[b] + best[mask & ~b]
            for b in range(1, len(completion))
            if completion[b] and b & mask
        ]
        best[mask] = min(options)
    return best[sum(1 << i for i in tasks)]


def test_stacks_say_in_a_line_what_they_hold():
    tasks = gs.KernelTasks(period=[[4, 5, 10]] * 2 + [[4, 4, 4]], wcet=[1, 3, 3])
    found = gs.pbs.search(tasks, TABLE)
    assert repr(found) == "<Search: 2 of 3 sets schedulable, 1 not (PBS search)>"
    few = gs.pbs.search(tasks, TABLE, thorough=True, budget=gs.Budget(states=1))
    assert repr(few) == "<Search: 0 of 3 sets schedulable, 3 undecided (PBS search)>"
    edf = gs.pbs.edf_serial(tasks, TABLE)
    assert repr(edf) == "<Edf: 0 of 3 sets schedulable, 3 not (EDFserial)>"
    frame = pytest.importorskip("pandas") and edf.to_frame()
    assert frame.columns.tolist() == ["set", "schedulable", "task", "job", "deadline"]
    assert list(zip(frame.task, frame.job, frame.deadline, strict=True)) == edf.late_job
    assert frame.set.tolist() == [0, 1, 2]


@pytest.mark.long
@pytest.mark.python
def test_certificates_prove_what_they_say():
    kinds = {"overload": 0, "dead_interval": 0}
    rng = np.random.default_rng(8)
    while min(kinds.values()) < 3:
        period, deadline, _, completion = random_set(rng, 4, "constrained")
        tasks, table = as_objects(period, deadline, [0] * 4, completion)
        found = gs.pbs.search(tasks, table)
        if found.stage == "overload":
            proof, h = found.certificate, tasks.hyperperiod
            for mask in range(1, 16):
                worth = sum(proof.price[i] for i in range(4) if mask >> i & 1)
                assert completion[mask] == 0 or worth <= proof.scale * completion[mask]
            jobs = [h // t for t in period]
            assert sum(p * k for p, k in zip(proof.price, jobs, strict=True)) > proof.scale * h
            assert proof.demand > 1
        elif found.stage == "dead_interval":
            proof = found.certificate
            for i in proof.tasks:
                release = -(-proof.start // period[i]) * period[i]
                assert release + deadline[i] <= proof.end
            assert least_cover(completion, proof.tasks) == proof.least
            assert proof.least > proof.end - proof.start
        else:
            continue
        assert found.schedulable is False
        assert pbs_brute.search(period, deadline, completion, idling=True) is None
        kinds[found.stage] += 1


def test_overload_is_not_claimed_where_work_may_end_after_the_hyperperiod():
    """U = 1.1 for one task, but its one job of [0, H) ends in time."""
    tasks = gs.KernelTasks(period=[10], wcet=[11], deadline=[12])
    found = gs.pbs.search(tasks, gs.BatchTable(completion=[0, 11]))
    assert found.schedulable is True and found.repeats is False


def test_a_schedule_may_need_idle_time():
    """The short task arrives just after the long one could start."""
    tasks = gs.KernelTasks(period=[10, 20], wcet=[2, 9], deadline=[5, 20], offset=[1, 0])
    table = gs.BatchTable(completion=[0, 2, 9, 0])
    assert gs.pbs.search(tasks, table).schedulable is False
    waiting = gs.pbs.search(tasks, table, idling=True)
    assert waiting.schedulable is True
    waiting.schedule.validate()
    assert waiting.schedule.start[0] == 1  # not at 0, although the long task is ready


@pytest.mark.parametrize("idling", [False, True])
def test_undecided_batches_make_the_answer_none(idling):
    """Without the pair the set is infeasible; with it, feasible."""
    tasks = gs.KernelTasks(period=[4, 4], wcet=[3, 3])
    without = gs.BatchTable(completion=[0, 3, 3, 0])
    open_table = gs.BatchTable(completion=[0, 3, 3, 0], undecided=[0, 0, 0, 4])
    too_long = gs.BatchTable(completion=[0, 3, 3, 0], undecided=[0, 0, 0, 5])
    assert gs.pbs.search(tasks, without, idling=idling).schedulable is False
    found = gs.pbs.search(tasks, open_table, idling=idling)
    assert found.schedulable is None and found.reason == "undecided" and found.stage == "none"
    assert gs.pbs.search(tasks, too_long, idling=idling).schedulable is False


def hard_set(n=12, seed=4):
    """A set that the quick answers leave to the latest starts."""
    tasks = gs.generate.gpusched(n, 1.2, count=40, seed=seed)
    table = gs.BatchTable.from_utilization(tasks, (1.7, 1.9), seed=seed)
    stage = gs.pbs.search(tasks, table).stage_code
    i = int(np.argmax(stage >= gs.pbs.STAGES.index("latest_start")))
    return tasks[i], table[i]


def test_budgets_end_in_none_and_say_which():
    tasks, table = hard_set()
    for budget, reason in (
        (gs.pbs.Budget(states=10), "states"),
        (gs.pbs.Budget(bytes=200_000), "bytes"),
        (gs.pbs.Budget(seconds=1e-6), "seconds"),
    ):
        found = gs.pbs.search(tasks, table, thorough=True, budget=budget)
        assert found.schedulable is None and found.reason == reason and found.stage == "none"
        assert found.schedule is None
    assert found.bytes > 0
    whole = gs.pbs.search(tasks, table, thorough=True, budget=gs.pbs.Budget(None, None, None))
    assert whole.schedulable is not None and whole.reason is None
    with pytest.raises(ValueError, match=r"states(: got| =) 0"):
        gs.pbs.Budget(states=0)
    with pytest.raises(ValueError, match=r"seconds(: got| =) nan"):
        gs.pbs.Budget(seconds=math.nan)


def test_a_stop_flag_ends_the_call():
    tasks = gs.generate.gpusched(15, 1.2, count=1, seed=1)
    table = gs.BatchTable.from_utilization(tasks, (1.7, 1.9), seed=1)
    stop = bytearray(1)
    timer = threading.Timer(0.05, lambda: stop.__setitem__(0, 1))
    timer.start()
    with pytest.raises(gs.Cancelled):
        for _ in range(1000):
            gs.pbs.search(tasks, table, thorough=True, stop=stop)
    timer.join()


def test_threads_get_the_same_answers():
    tasks = gs.generate.gpusched(6, 1.0, count=200, seed=2)
    table = gs.BatchTable.from_utilization(tasks, "mixed", seed=2)
    expected = gs.pbs.search(tasks, table)
    answers = [None] * 4

    def work(k):
        answers[k] = gs.pbs.search(tasks, table)

    threads = [threading.Thread(target=work, args=(k,)) for k in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    for answer in answers:
        assert (answer.schedulable == expected.schedulable).all()
        assert (answer.states == expected.states).all()


def test_huge_hyperperiods_are_refused_or_end_in_the_budget():
    primes = [999_999_937, 999_999_929, 999_999_893]
    tasks = gs.KernelTasks(period=primes, wcet=[1, 1, 1])
    table = gs.BatchTable(completion=[0, 1, 1, 1, 1, 1, 1, 1])
    advice = r"period\[2\]: got 999999893, .* tasks 0 and 1, .* 1e\+18 ticks: change one of them"
    for repeating in (False, True):
        with pytest.raises(OverflowError, match=advice):
            gs.pbs.search(tasks, table, repeating=repeating)
    pair = gs.KernelTasks(period=primes[:2], wcet=[1, 1])
    small = gs.pbs.Budget(bytes=1 << 20)
    found = gs.pbs.search(pair, gs.BatchTable(completion=[0, 1, 1, 1]), budget=small)
    assert found.schedulable is None and found.reason == "bytes"
    serial = gs.pbs.edf_serial(pair, gs.BatchTable(completion=[0, 1, 1, 1]), budget=small)
    assert serial.schedulable is None
    said = (
        ", on the 1,999,999,866 jobs of the hyperperiod: the periods of task 0 and task 1, "
        "999,999,937 and 999,999,929, have the hyperperiod 999,999,866,000,004,473. Periods with a "
        "shorter one, or a larger budget, may decide it."
    )
    assert serial.why() == f"The budget of bytes was spent{said}"
    assert re.fullmatch(
        rf"The budget of bytes was spent, after 0 states and 0\.\d MB{re.escape(said)}", found.why()
    )
    three = gs.KernelTasks(period=[99_991, 99_989, 10], wcet=[1, 1, 1])
    of_three = gs.pbs.search(three, gs.BatchTable(completion=[0, *[1] * 7]), budget=small)
    assert "9,998,000,099, that of all tasks 99,980,000,990. " in of_three.why()
    harmonic = gs.KernelTasks(period=[10, 10_000_000], wcet=[1, 1])
    short = gs.pbs.search(harmonic, gs.BatchTable(completion=[0, 1, 1, 1]), budget=small)
    assert short.schedulable is None
    assert short.why().endswith(" MB; a larger one may decide it.")


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: gs.pbs.search(EXAMPLE, gs.BatchTable(completion=[0, 1, 1, 1])), ValueError,
         "table: got one for 2 tasks, expected 3"),
        (lambda: gs.pbs.search(EXAMPLE, TABLE, method="guess"), ValueError,
         r"method(: got| =) 'guess'"),
        (lambda: gs.pbs.search(EXAMPLE, TABLE, variant="paper"), ValueError, "variant"),
        (lambda: gs.pbs.search(EXAMPLE, TABLE, policy="yes"), TypeError,
         "policy: got 'yes', expected True, False or a positive number"),
        (lambda: gs.pbs.search(gs.KernelTasks(period=[2**60], wcet=[1]),
                               gs.BatchTable(completion=[0, 1])), OverflowError,
         r"period\[0\]: got 1152921504606846976, expected a period below"),
        (lambda: gs.pbs.search(EXAMPLE, TABLE, policy=-1), ValueError, r"policy(: got| =) -1"),
        (lambda: gs.pbs.search(EXAMPLE, TABLE, policy=0), ValueError, r"policy(: got| =) 0"),
        (lambda: gs.pbs.search(EXAMPLE, TABLE, policy=True, repeating=True), ValueError,
         "policy: got True, expected False with repeating=True"),
        *((lambda o=option: gs.pbs.search(EXAMPLE, TABLE, method="graph", **o), ValueError,
          "expected False with method='graph'")
          for option in ({"policy": True}, {"policy": 2}, {"thorough": True}, {"repeating": True})),
        (lambda: gs.pbs.search(gs.KernelTasks(period=[9] * 25, wcet=1), TABLE), ValueError,
         "tasks: got 25 tasks, expected at most 24"),
        (lambda: gs.pbs.search(TABLE, EXAMPLE), TypeError, "tasks: .*KernelTasks"),
        (lambda: gs.pbs.edf_serial(EXAMPLE, gs.GPU.preset("H100")), TypeError,
         "table: .*BatchTable.*BatchTable.from_gpu makes one for a GPU"),
        (lambda: gs.pbs.search(EXAMPLE, TABLE, budget=5), TypeError, "budget: .*Budget"),
        (lambda: gs.pbs.edf_parallel(EXAMPLE, TABLE, budget=5), TypeError, "budget: .*Budget"),
    ],
)  # fmt: skip
def test_refusals(call, error, message):
    with pytest.raises(error, match=message):
        call()


def rows(*arrays):
    return [np.atleast_2d(np.asarray(a)) for a in arrays]


@pytest.mark.parametrize(
    ("period", "completion", "error", "message"),
    [
        ([0, 5, 10], None, ValueError, r"period\[0\](: got| =) 0"),
        ([4, -5, 10], None, ValueError, r"period\[1\](: got| =) -5"),
        ([4, 5, 2**62], None, OverflowError, r"deadline\[2\]|period\[2\]"),
        (None, [0, 1, 3, 4, 3, 4, -4, 6], ValueError, r"completion\[6\](: got| =) -4"),
        (None, [0, 1, 0, 4, 3, 4, 4, 6], ValueError, r"task\[1\](: got| =) 0"),
        (None, [1, 1, 3, 4, 3, 4, 4, 6], ValueError, r"completion\[0\](: got| =) 1"),
        (None, [0, 1, 3, 4], ValueError, "got length 4 on axis 1, expected 8"),
        (None, [0, 1, 3, 4, 3, 4, 4, 2**62], OverflowError, r"completion\[7\]"),
        (
            None,
            [0.0, 1, 3, 4, 3, 4, 4, 6],
            TypeError,
            r"completion: got dtype\('float64'\), expected what casts",
        ),
    ],
)
def test_the_module_refuses_hostile_arrays(period, completion, error, message):
    period = [4, 5, 10] if period is None else period
    completion = TABLE.completion if completion is None else completion
    arrays = rows(period, period, [0, 0, 0], completion)
    for call in (
        lambda: positional(_core.pbs_search)(
            *arrays, None, False, False, False, 0, 0, 0, 0.0, None
        ),
        lambda: positional(_core.pbs_edf)(*arrays, False, 0, 0.0, None),
    ):
        with pytest.raises(error, match=message):
            call()


def test_a_refusal_in_a_stack_names_the_set():
    period = np.full((3, 2), 10)
    period[1, 1] = 0
    completion = np.tile([0, 1, 1, 1], (3, 1))
    with pytest.raises(ValueError, match=r"set 1: period\[1\](: got| =) 0"):
        _core.pbs_search(
            *(period, np.full((3, 2), 10), np.zeros((3, 2), int), completion, None),
            **{"idling": False, "thorough": False, "policy": False, "policy_limit": 0},
            **{"states": 0, "bytes": 0, "seconds": 0.0, "stop": None},
        )


@pytest.mark.parametrize("repeating", [False, True])
@pytest.mark.parametrize("deadline", [None, [66666, 40000, 90000]])
def test_overload_is_found_whatever_the_hyperperiod(deadline, repeating):
    """Three cameras, one frame at a time: 1.14 of the GPU, with 7.6e12 ticks of hyperperiod."""
    completion = [0, 10**4, 10**4, 0, 10**4, 0, 0, 0]
    tasks = gs.KernelTasks(period=[33333, 16667, 41001], wcet=10**4, deadline=deadline)
    found = gs.pbs.search(tasks, gs.BatchTable(completion=completion), repeating=repeating)
    assert found.schedulable is False and found.stage == "overload"
    scaled = [p * 10**12 + i for i, p in enumerate(tasks.period.tolist())]
    tasks = gs.KernelTasks(period=scaled, wcet=10**16)
    table = gs.BatchTable(completion=[c * 10**12 for c in completion])
    assert math.lcm(*scaled) > 2**64
    assert gs.pbs.search(tasks, table, repeating=repeating).schedulable is False


@pytest.mark.parametrize("scale", [10, 1000, 10**6, 10**9])
def test_prices_of_either_sign_prove_a_slow_overload(scale):
    """A job of task 0 takes longer alone than with task 1, of which there are too few: each
    hyperperiod ends a few ticks later than the one before it."""
    completion = [0, 3 * scale + 1, scale, (3 * scale + 3) // 2]
    tasks = gs.KernelTasks(period=[2 * scale, 3 * scale], wcet=1, deadline=[20 * scale] * 2)
    found = gs.pbs.search(tasks, gs.BatchTable(completion=completion), repeating=True)
    assert found.schedulable is False and found.stage == "overload"
    assert found.certificate.price[1] < 0


def goes_on_for_ever(period, deadline, offset, completion, idling):
    """Whether a cycle is reachable in the graph of states (instant within H, jobs executed)."""
    n, hyper, steady = len(period), math.lcm(*period), max(offset)

    def released(i, t):
        return (t - offset[i]) // period[i] + 1 if t >= offset[i] else 0

    def due(i, job):
        return offset[i] + job * period[i] + deadline[i]

    def within(t, executed):
        while t >= steady + hyper:
            t -= hyper
            executed = tuple(e - hyper // p for e, p in zip(executed, period, strict=True))
        return t, executed

    def successors(state):
        t, executed = state
        pending = [i for i in range(n) if released(i, t) > executed[i]]
        following = min(offset[i] + period[i] * released(i, t) for i in range(n))
        waits = all(due(i, executed[i]) > following for i in pending)
        if not pending or (idling and waits):
            yield within(following, executed)
        for mask in range(1, 1 << n):
            members = [i for i in range(n) if mask >> i & 1]
            if completion[mask] == 0 or not set(members) <= set(pending):
                continue
            end = t + completion[mask]
            after = tuple(e + (i in members) for i, e in enumerate(executed))
            in_time = all(end <= due(i, executed[i]) for i in members)
            if in_time and all(end < due(i, after[i]) for i in range(n)):
                yield within(end, after)

    start = within(0, (0,) * n)
    path, on_path, done = [(start, successors(start))], {start}, set()
    while path:
        state, rest = path[-1]
        for following in rest:
            if following in on_path:
                return True
            if following not in done:
                on_path.add(following)
                path.append((following, successors(following)))
                break
        else:
            done.add(state)
            on_path.discard(state)
            path.pop()
    return False


@pytest.mark.parametrize("kind", ["implicit", "constrained", "offsets", "long"])
@pytest.mark.parametrize("idling", [False, True])
def test_repeating_schedules_agree_with_a_search_for_cycles(kind, idling):
    rng = np.random.default_rng([len(kind), idling, 3])
    answers, longer = set(), 0
    for _ in range(120):
        case = random_set(rng, int(rng.integers(1, 4)), kind)
        tasks, table = as_objects(*case)
        found = gs.pbs.search(tasks, table, idling=idling, repeating=True)
        assert found.schedulable is goes_on_for_ever(*case, idling), case
        once = gs.pbs.search(tasks, table, idling=idling)
        if kind in ("implicit", "constrained"):
            assert found.schedulable is once.schedulable
        answers.add(found.schedulable)
        if found.schedulable:
            assert once.schedulable and found.repeats
            found.schedule.validate()
            assert found.schedule.cycle[1] % tasks.hyperperiod == 0
            longer += found.schedule.cycle[1] > tasks.hyperperiod
        elif found.certificate is not None:
            assert found.stage == "overload" and found.certificate.demand > 1
    assert answers == {True, False}


@pytest.mark.parametrize(
    ("period", "deadline", "offset", "completion"),
    [  # The longest batch lasts a whole hyperperiod, and the GPU idles just before one ends.
        ([6, 6], [4, 9], [4, 6], [0, 1, 6, 2]),
        ([6, 6], [17, 13], [0, 10], [0, 5, 6, 3]),
    ],
)
@pytest.mark.parametrize("idling", [False, True])
def test_batches_as_long_as_the_hyperperiod(period, deadline, offset, completion, idling):
    case = period, deadline, offset, completion
    found = gs.pbs.search(*as_objects(*case), idling=idling, repeating=True)
    assert found.schedulable is goes_on_for_ever(*case, idling)
    if found.schedulable:
        found.schedule.validate()


def test_long_batches_in_repeating_schedules():
    rng = np.random.default_rng(66)
    schedulable = 0
    for _ in range(300):
        period = [6, 6] if rng.random() < 0.5 else [4, 8]
        offset = rng.integers(0, 12, 2).tolist()
        deadline = rng.integers(3, 24, 2).tolist()
        hyper = max(period)
        completion = [0, *(int(rng.choice([1, 2, 3, hyper, 2 * hyper])) for _ in range(3))]
        idling = bool(rng.integers(2))
        case = period, deadline, offset, completion
        found = gs.pbs.search(*as_objects(*case), idling=idling, repeating=True)
        assert found.schedulable is goes_on_for_ever(*case, idling), case
        if found.schedulable:
            found.schedule.validate()
            schedulable += 1
    assert schedulable > 20


def test_one_table_serves_a_stack_with_its_undecided_batches():
    tasks = gs.KernelTasks(period=[[4, 4], [12, 12]], wcet=[3, 3])
    table = gs.BatchTable(completion=[0, 3, 3, 0], undecided=[0, 0, 0, 4])
    found = gs.pbs.search(tasks, table)
    assert found.schedulable.tolist() == [False, True] and found.undecided.tolist() == [True, False]
    assert found.reason.tolist() == ["undecided", ""] and found[0].reason == "undecided"


def test_undecided_batches_and_repeating_schedules():
    tasks = gs.KernelTasks(period=[4, 4], wcet=[3, 3])
    for ticks, answer in ((4, None), (5, False)):
        table = gs.BatchTable(completion=[0, 3, 3, 0], undecided=[0, 0, 0, ticks])
        found = gs.pbs.search(tasks, table, repeating=True)
        assert found.schedulable is answer
        assert found.reason == ("undecided" if answer is None else None)


def test_a_hyperperiod_may_be_schedulable_where_no_schedule_goes_on():
    """U = 1.1: the jobs of one hyperperiod end late but in time, and then it piles up."""
    tasks = gs.KernelTasks(period=[10], wcet=[11], deadline=[12])
    table = gs.BatchTable(completion=[0, 11])
    assert gs.pbs.search(tasks, table).schedulable is True
    found = gs.pbs.search(tasks, table, repeating=True)
    assert found.schedulable is False and found.stage == "overload"


def test_a_cycle_that_does_not_close_is_caught():
    tasks = gs.KernelTasks(period=[4], wcet=[3])
    table = gs.BatchTable(completion=[0, 3])
    gs.Schedule([0, 4], [3, 7], [1, 1], tasks, table, cycle=(4, 4)).validate()
    from gpusched.model.schedule import ScheduleError

    for cycle in ((4, 8), (0, 4), (0, 6), (2, 4)):
        with pytest.raises(ScheduleError, match=r"cycle|idled|miss"):
            gs.Schedule([0, 4], [3, 7], [1, 1], tasks, table, cycle=cycle).validate()
