"""Bounds of kernel chains in partitions: green contexts, shared queues, limits of MPS clients."""

import random

import numpy as np
import pytest
from amounts import QUICK, cases
from reference import stream_partitions as twin
from reference.priority_streams import task
from stream_systems import KINDS, bounded, chains, random_system, responses
from test_reference_priority_streams import random_set

import gpusched as gs

pytestmark = pytest.mark.numbers

# V7: two partitions of one SM of four threads each.
V7 = [
    task(0, 40, [(3, 2, 4)]),
    task(1, 60, [(2, 2, 5)]),
    task(0, 50, [(4, 1, 6)]),
    task(1, 70, [(2, 3, 4)]),
]
PART = [0, 0, 1, 1]


def text(bounds):
    return [None if bound is None else str(bound) for bound in bounds]


def bounds_of(tasks, threads, sms, part, **options):
    return gs.analysis.priority_streams(chains(tasks), threads, sms=sms, partition=part, **options)


# Vectors ------------------------------------------------------------------------------------------


def test_own_queues_are_gpus_by_themselves():
    answer = bounds_of(V7, 4, 2, PART, partition_sms=[1, 1])
    assert text(answer.exact) == ["13", "27/2", "10", "22"]
    assert answer.saturation.tolist() == [4, 4, 4, 2]
    assert text(twin.own(V7, PART, [1, 1], 4)) == text(answer.exact)


def test_shared_queues_lose_the_isolation():
    """The twin with whole grids has 23 and 51/2: both blocks of three threads on four of them."""
    answer = bounds_of(V7, 4, 2, PART, partition_sms=[1, 1], queues="shared")
    assert text(answer.exact) == ["22", "111/2", "49/2", "51"]
    assert text(twin.shared(V7, PART, [1, 1], 4)) == text(answer.exact)
    assert text(twin.shared(V7, PART, [1, 1], 4, True)) == ["23", "111/2", "51/2", "51"]
    assert answer.saturation.tolist() == [4, 4, 4, 2]
    with pytest.raises(ValueError, match="queues that partitions do not share"):
        answer.parts(0)
    assert "Theorem M" in answer.why(0)
    assert any("share their queues" in text for text in answer.assumptions)


def test_a_small_client_delays_others_for_its_own_work_only():
    """Four SMs of four threads; the blocks of a client of one SM run one after the other.

    The large client waits 20 ticks at 4 threads for 80 thread-ticks of the small one, and at 16 for
    the 280 of its own but its last block.
    """
    small = task(0, 1000, [(2, 4, 10)])
    large = task(0, 1000, [(8, 4, 10)])
    answer = bounds_of([small, large], 4, 4, [0, 1], partition_limit=[1, 4])
    assert text(answer.exact) == ["40", "95/2"]
    assert answer.exact == twin.limits([small, large], [0, 1], [1, 4], 4, 4)
    assert answer.parts(1)["residue"] > 0
    free = bounds_of([small, large], 4, 4, [0, 1], partition_limit=[4, 4])
    assert free.exact == gs.analysis.priority_streams(chains([small, large]), 4, sms=4).exact
    assert answer.exact[1] > free.exact[1]


# Agreement ----------------------------------------------------------------------------------------


@pytest.mark.long
def test_the_package_agrees_with_the_slow_bounds():
    rng = random.Random(11)
    known = 0
    for _ in range(cases(9)):
        tasks, threads, sms, part, counts = random_system(rng, "own")
        for queues, slow in (("own", twin.own), ("shared", twin.shared)):
            answer = bounds_of(tasks, threads, sms, part, partition_sms=counts, queues=queues)
            assert answer.exact == slow(tasks, part, counts, threads), (tasks, part, counts)
            known += answer.bounded.sum()
        tasks, threads, sms, part, caps = random_system(rng, "limits")
        answer = bounds_of(tasks, threads, sms, part, partition_limit=caps)
        assert answer.exact == twin.limits(tasks, part, caps, threads, sms), (tasks, part, caps)
        known += answer.bounded.sum()
    assert known > 20 or QUICK


def test_one_partition_of_all_sms_is_the_whole_gpu():
    rng = random.Random(12)
    for _ in range(60):
        tasks, threads, sms = random_set(rng, 1)
        plain = gs.analysis.priority_streams(chains(tasks), threads, sms=sms)
        zeros = [0] * len(tasks)
        for options in ({"partition_sms": [sms]}, {"partition_limit": [sms]}):
            answer = bounds_of(tasks, threads, sms, zeros, **options)
            assert answer.exact == plain.exact
            assert (answer.terms == plain.terms).all()


def test_lower_limits_never_help():
    rng = random.Random(13)
    for _ in range(60):
        tasks, threads, sms, part, caps = random_system(rng, "limits")
        tasks = [t._replace(level=0) for t in tasks]
        fewer = [max(1, cap - 1) for cap in caps]
        one, two = (
            bounds_of(tasks, threads, sms, part, partition_limit=each).exact
            for each in (caps, fewer)
        )
        for high, low in zip(one, two, strict=True):
            assert low is None or high <= low


def test_stacks_have_partitions_of_their_own():
    one = bounds_of(V7, 4, 2, PART, partition_sms=[1, 1], queues="shared")
    two = bounds_of(V7, 4, 2, [1, 0, 0, 1], partition_sms=[1, 1], queues="shared")
    stack = gs.KernelChains.stack([chains(V7)] * 2)
    both = gs.analysis.priority_streams(
        stack, 4, sms=2, partition=[PART, [1, 0, 0, 1]], partition_sms=[1, 1], queues="shared"
    )
    assert both.exact == [one.exact, two.exact]
    assert both[1].exact == two.exact and both[1].partition.tolist() == [1, 0, 0, 1]
    alike = gs.analysis.priority_streams(
        stack, 4, sms=2, partition=PART, partition_sms=[1, 1], queues="shared"
    )
    assert alike.exact == [one.exact] * 2


def test_many_partitions_and_large_times():
    """Saturation levels without a small common multiple are rounded, towards larger bounds."""
    rng = np.random.default_rng(1)
    n = 40
    sms = rng.integers(1, 999, n)
    tasks = gs.KernelChains(
        period=rng.integers(10**14, 10**15, n),
        block_time=rng.integers(1, 10**9, (n, 1)),
        blocks=rng.integers(1, 99, (n, 1)),
        threads=rng.integers(1, 2048, (n, 1)),
    )
    answer = gs.analysis.priority_streams(
        tasks, 2048, sms=int(sms.sum()), partition=range(n), partition_sms=sms, queues="shared"
    )
    assert answer.bounded.all()
    longer = tasks.replace(block_time=tasks.block_time * 2**10)
    assert gs.analysis.priority_streams(
        longer, 2048, sms=int(sms.sum()), partition=range(n), partition_sms=sms, queues="shared"
    ).terms.shape == (n, 12)


# The simulators -----------------------------------------------------------------------------------


def check(seen, answer, said):
    count = reached = 0
    for response, bound in zip(seen, answer.exact, strict=True):
        if bound is not None:
            assert response <= bound, said
            count += 1
            reached += response == bound
    return count, reached


@pytest.mark.long
@pytest.mark.parametrize("kind", KINDS)
def test_no_response_above_its_bound(kind):
    rng = random.Random(kind)
    total = np.zeros(2, int)
    for _ in range(cases(150)):
        system = random_system(rng, kind, latest=0)
        answer = bounded(system, kind)
        for _ in range(3 * bool(answer.bounded.any())):
            total += check(responses(rng, system, kind), answer, system)
    assert (total[0] > 300 and total[1] > 0) or QUICK, total


def test_the_simulations_would_show_bounds_that_are_too_low():
    """Bounds without the limits, or with queues of their own, are exceeded where these are not."""
    rng = random.Random(5)
    above = np.zeros(2, int)
    for _ in range(cases(80)):
        system = random_system(rng, "limits", latest=0)
        free = system._replace(counts=[system.sms] * len(system.counts))
        kinds = [(bounded(free, "limits"), system, "limits")]
        system = random_system(rng, "shared", latest=0)
        kinds.append((bounded(system, "own"), system, "shared"))
        for i, (answer, of, kind) in enumerate(kinds):
            seen = responses(rng, of, kind)
            above[i] += any(
                bound is not None and response > bound
                for response, bound in zip(seen, answer.exact, strict=True)
            )
    assert (above > 2).all() or QUICK, above


# Refusals -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"partition_sms": [1, 1]}, "partition_sms: got it without partition"),
        ({"queues": "shared"}, "queues: got 'shared' without partition"),
        ({"queues": "many"}, "queues: got 'many'"),
        ({"partition": PART}, "partition: got neither"),
        ({"partition": PART, "partition_sms": [1], "partition_limit": [1]}, "partition: got both"),
        (
            {"partition": PART, "partition_limit": [1, 1], "queues": "shared"},
            "queues: got 'shared' with partition_limit",
        ),
        ({"partition": PART, "partition_sms": [2, 1]}, r"partition_sms\[1\]: got 1, expected 1 or"),
        ({"partition": PART, "partition_sms": [1, 0]}, r"partition_sms\[1\]: got 0"),
        ({"partition": PART, "partition_sms": []}, r"partition_sms: got shape \(0,\)"),
        ({"partition": PART, "partition_sms": [1]}, r"partition\[2\]: got 1"),
        ({"partition": [0, 0, 0, -1], "partition_sms": [1]}, r"partition\[3\]: got -1"),
        ({"partition": [0, 1], "partition_sms": [1, 1]}, r"partition: got shape \(2,\)"),
        (
            {"partition": PART, "partition_sms": [1, 1], "queues": "shared", "overlap": True},
            "overlap: got 1",
        ),
    ],
)
def test_refusals(options, message):
    with pytest.raises(ValueError, match=message):
        gs.analysis.priority_streams(chains(V7), 4, sms=2, **options)


def test_limits_beyond_the_gpu_are_none():
    free = gs.analysis.priority_streams(chains(V7), 4, sms=2)
    answer = bounds_of(V7, 4, 2, PART, partition_limit=[9, 2])
    assert answer.exact == free.exact


def test_answers_are_saved_and_read(tmp_path):
    answer = bounds_of(V7, 4, 2, PART, partition_limit=[1, 2])
    answer.save(tmp_path / "answer.npz")
    assert type(answer).load(tmp_path / "answer.npz") == answer
