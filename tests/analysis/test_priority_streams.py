"""Bounds of kernel chains in priority streams: worked examples, refusals, simple cases."""

from fractions import Fraction

import numpy as np
import pytest

import gpusched as gs

pytestmark = pytest.mark.numbers


def chains(*tasks):
    """Tasks given as (priority, period, kernels as (blocks, threads, block time), latencies)."""
    rows = [(*task, [0] * len(task[2]))[:4] for task in tasks]
    return gs.KernelChains(
        period=[period for _, period, _, _ in rows],
        block_time=[[time for _, _, time in kernels] for _, _, kernels, _ in rows],
        blocks=[[blocks for blocks, _, _ in kernels] for _, _, kernels, _ in rows],
        threads=[[threads for _, threads, _ in kernels] for _, _, kernels, _ in rows],
        latency=[latencies for _, _, _, latencies in rows],
        priority=[priority for priority, _, _, _ in rows],
    )


def bounds(*tasks, threads, **options):
    answer = gs.analysis.priority_streams(chains(*tasks), threads, **options)
    return [None if bound is None else str(bound) for bound in answer.exact], answer


HI = [(4, 1, 1)] * 3
VECTORS = {
    "V1": (
        [(0, 40, [(2, 3, 4)]), (1, 30, [(4, 2, 3)]), (2, 24, [(1, 4, 6)])],
        {"threads": 8},
        ["10", "14", "78/5"],
        [6, 6, 5],
    ),
    "V2": (
        [(0, 60, HI, [1, 1, 1]), (1, 100, [(4, 1, 10)])],
        {"threads": 4},
        ["73/4", "41/2"],
        [4, 4],
    ),
    "V3": ([(0, 60, HI), (1, 100, [(4, 1, 10)])], {"threads": 4}, ["61/4", "41/2"], [4, 4]),
    "V4, one level": (
        [
            (0, 60, [(2, 2, 3), (1, 2, 4)]),
            (0, 50, [(3, 1, 2), (2, 1, 2)]),
            (0, 80, [(4, 2, 5)]),
        ],
        {"threads": 4},
        ["77/3", "26", "21"],
        [3, 3, 3],
    ),
    "V5, overloaded stream above": (
        [(0, 4, [(1, 1, 5)]), (1, 60, [(3, 1, 4), (2, 1, 3)], [0, 1]), (2, 80, [(2, 2, 6)])],
        {"threads": 4},
        [None, "59/3", "21"],
        [4, 4, 3],
    ),
    "V6, two SMs": (
        [
            (0, 30, [(4, 2, 3), (2, 3, 2)], [1, 1]),
            (1, 60, [(3, 2, 6)]),
            (1, 90, [(6, 1, 5)]),
        ],
        {"threads": 4, "sms": 2},
        ["23", "75/2", "153/4"],
        [4, 4, 4],
    ),
    "V7, partition 0 by itself": (
        [(0, 40, [(3, 2, 4)]), (1, 60, [(2, 2, 5)])],
        {"threads": 4},
        ["13", "27/2"],
        [4, 4],
    ),
    "V7, partition 1 by itself": (
        [(0, 50, [(4, 1, 6)]), (1, 70, [(2, 3, 4)])],
        {"threads": 4},
        ["10", "22"],
        [4, 2],
    ),
    "V8, a run of two jobs": (
        [(0, 12, [(3, 2, 3)]), (0, 60, [(2, 2, 5)]), (1, 50, [(1, 1, 4)])],
        {"threads": 4},
        ["13", "14", "104/3"],
        [3, 3, 3],
    ),
    "V9": ([(0, 14, [(1, 1, 10)]), (1, 40, [(1, 2, 6)])], {"threads": 2}, ["16", "46"], [2, 1]),
    "X1, attained": (
        [(0, 12, [(2, 1, 6)]), (1, 10, [(1, 1, 10)])],
        {"threads": 2},
        ["12", None],
        [2, 2],
    ),
    "X3, one round per kernel": (
        [(0, 100, [(1, 1, 1)] * 3, [1, 1, 1]), (1, 10, [(1, 1, 10)])],
        {"threads": 1},
        ["36", None],
        [1, 1],
    ),
    "X4": (
        [(0, 1000, [(2, 1, 4)]), (1, 10, [(1, 1, 10)]), (1, 10, [(1, 1, 10)])],
        {"threads": 2},
        ["14", None, None],
        [2, 2, 2],
    ),
    "X5": ([(0, 1000, [(2, 4, 2)]), (1, 10, [(1, 1, 10)])], {"threads": 4}, ["14", None], [1, 1]),
    "X6": ([(0, 1000, [(2, 2, 4)])], {"threads": 3}, ["8"], [2]),
    "X9, other kernels at each boundary": (
        [(0, 1000, [(1, 1, 1)] * 2), (0, 10, [(1, 1, 10)])],
        {"threads": 1},
        ["22", None],
        [1, 1],
    ),
    "A": (
        [(0, 8, [(1, 1, 2)]), (0, 100, [(3, 2, 10)]), (1, 60, [(1, 1, 3)])],
        {"threads": 4},
        ["23", "25", "27"],
        [3, 3, 3],
    ),
    "O, jobs overlap": (
        [(0, 9, [(1, 1, 9)]), (0, 12, [(2, 2, 4)]), (1, 40, [(4, 1, 20)])],
        {"threads": 4, "overlap": True},
        ["103/3", "89/3", None],
        [3, 3, 3],
    ),
}


@pytest.mark.parametrize("name", VECTORS)
def test_worked_examples(name):
    tasks, options, expected, saturation = VECTORS[name]
    found, answer = bounds(*tasks, **options)
    assert found == expected
    assert answer.saturation.tolist() == saturation


def test_most_urgent_task_may_have_no_bound():
    """X1: less urgent blocks that come back while the job's last blocks run."""
    found, answer = bounds((0, 10, [(2, 1, 6)]), (1, 10, [(1, 1, 10)]), threads=2)
    assert found[0] is None
    assert answer.schedulable is None
    assert answer.why().startswith("task 0: no response bound")


@pytest.mark.parametrize(
    ("block", "latency", "bound"), [(500, 3, 10858), (100, 3, 2858), (20, 3, 1258), (500, 0, 10798)]
)
def test_priorities_do_not_protect_from_long_blocks(block, latency, bound):
    """A chain of 20 kernels of 20 us on 132 SMs takes 460 us alone; behind long blocks far more."""
    tasks = [
        (0, 10**6, [(264, 1024, 20)] * 20, [latency] * 20),
        (1, block, [(1056, 256, block)]),
    ]
    _, answer = bounds(*tasks, threads=2048, sms=132)
    assert int(answer.exact[0]) == bound
    residue = answer.parts(0)["residue"]
    assert residue == 20 * block
    assert sum(answer.parts(0).values()) == pytest.approx(float(answer.exact[0]))


def test_parts_add_up_to_the_bound():
    _, answer = bounds((0, 60, HI, [1, 1, 1]), (1, 100, [(4, 1, 10)]), threads=4)
    parts = answer.parts("task 0")
    assert sum(map(Fraction, parts.values())) == answer.exact[0]
    assert parts == {
        "latency": 3,
        "tail": 3,
        "own": 2.25,
        "same": 0,
        "more_urgent": 0,
        "less_urgent": 10,
        "residue": 0,
    }


def test_single_kernels_of_one_level_are_those_of_fifo():
    """Theorem M with one level, one kernel and no latency is Theorem V1."""
    rng = np.random.default_rng(5)
    for _ in range(60):
        n = int(rng.integers(1, 5))
        tasks = gs.KernelTasks(
            period=rng.integers(20, 80, n),
            block_time=rng.integers(1, 9, n),
            blocks=rng.integers(1, 5, n),
            threads=rng.integers(1, 5, n),
        )
        fifo = gs.analysis.fifo_bound(tasks, 8, theorems=["fits", "V1"])
        ours = gs.analysis.priority_streams(gs.KernelChains.from_tasks(tasks), 8)
        for one, two in zip(fifo.exact, ours.exact, strict=True):
            assert one is None or two <= one


def test_stacks_give_the_answers_of_their_sets():
    rng = np.random.default_rng(6)
    sets = [
        chains(
            *(
                (
                    int(rng.integers(0, 3)),
                    int(rng.integers(40, 200)),
                    [tuple(rng.integers(1, 5, 3).tolist()) for _ in range(rng.integers(1, 4))],
                )
                for _ in range(3)
            )
        )
        for _ in range(20)
    ]
    stack = gs.KernelChains.stack(sets)
    answer = gs.analysis.priority_streams(stack, 4)
    assert len(answer) == 20
    for i, tasks in enumerate(sets):
        alone = gs.analysis.priority_streams(tasks, 4)
        assert answer[i].exact == alone.exact
        assert bool(answer.accepted[i]) == alone.accepted


def test_gpu_counts_every_resource():
    tasks = chains((0, 5000, [(40, 256, 20)] * 3, [2] * 3), (1, 9000, [(64, 512, 90)]))
    plain = gs.analysis.priority_streams(tasks, gpu="Xavier")
    threads = gs.analysis.priority_streams(tasks, 2048, sms=8)
    assert plain.exact == threads.exact
    regs = tasks.replace(regs=[[0, 0, 0], [64]])
    assert gs.analysis.priority_streams(regs, gpu="Xavier").exact[0] >= plain.exact[0]
    with pytest.raises(ValueError, match=r"smem|threads"):
        gs.analysis.priority_streams(tasks.replace(smem=10**6), gpu="Xavier")


def test_more_blocks_below_never_help():
    rng = np.random.default_rng(7)
    for _ in range(40):
        low = [tuple(rng.integers(1, 4, 3).tolist()) for _ in range(2)]
        tasks = [
            (0, int(rng.integers(30, 90)), [tuple(rng.integers(1, 4, 3).tolist())] * 2),
            (1, 50, low),
        ]
        longer = [tasks[0], (1, 50, [(g, b, c + 2) for g, b, c in low])]
        one, two = (bounds(*each, threads=4)[1].exact[0] for each in (tasks, longer))
        assert two is None or one <= two


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({}, "threads: got None"),
        ({"threads": 4, "gpu": "H100"}, "threads: got both"),
        ({"threads": 0}, "threads: got 0"),
        ({"threads": 4, "sms": 0}, "sms: got 0"),
        ({"threads": 1}, r"threads\[0\]: got 2"),
        ({"threads": 4, "overlap": True}, r"kernels\[0\]: got 3"),
        ({"threads": 2**30, "sms": 2**10}, "sms: got 1024"),
    ],
)
def test_refusals(options, message):
    tasks = chains((0, 60, [(4, 2, 1)] * 3), (1, 100, [(4, 1, 10)]))
    with pytest.raises((ValueError, TypeError, OverflowError), match=message):
        gs.analysis.priority_streams(tasks, **options)


def test_kernel_tasks_are_refused_with_the_way_to_chains():
    with pytest.raises(TypeError, match="from_tasks"):
        gs.analysis.priority_streams(gs.KernelTasks([4], [1]), 4)


def test_latency_with_overlapping_jobs_is_refused():
    tasks = chains((0, 60, [(1, 1, 1)], [1]))
    with pytest.raises(ValueError, match=r"latency\[0\]: got 1"):
        gs.analysis.priority_streams(tasks, 4, overlap=True)


@pytest.mark.parametrize(("streams", "seen"), [(8, 189), (32, 138)])
def test_overlap_with_streams_in_turns_needs_one_per_period_of_the_bound(streams, seen):
    sets = [(1, 20, 5, (4, 1, 2)), (2, 6, 79, (1, 1, 1)), (1, 511, 87, (4, 1, 8))]
    sets.append((2, 130, 47, (4, 1, 12)))
    tasks = chains(*((level, period, [kernel]) for level, period, _, kernel in sets))
    bound = gs.analysis.priority_streams(tasks, 1, overlap=True).exact[1]
    turns = [
        (level, streams * period, offset + turn * period, kernel)
        for level, period, offset, kernel in sets
        for turn in range(streams)
    ]
    split = chains(*((level, period, [kernel]) for level, period, _, kernel in turns))
    split = split.replace(offset=[offset for _, _, offset, _ in turns])
    worst = gs.simulate.fifo_responses(split, 1, until=7665).worst
    assert worst.reshape(4, streams)[1].max() == seen
    assert (bound > 6 * streams) == (seen > bound)  # later jobs wait in their streams


def test_answers_are_saved_and_read(tmp_path):
    _, answer = bounds((0, 60, HI, [1, 1, 1]), (1, 100, [(4, 1, 10)]), threads=4)
    answer.save(tmp_path / "answer.npz")
    assert type(answer).load(tmp_path / "answer.npz") == answer


# The tasks ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"period": 5, "block_time": [[1]]}, "period: got shape"),
        ({"period": [5], "block_time": 3}, "block_time: got 3"),
        ({"period": [5], "block_time": [[]]}, r"block_time\[0\]: got \[\]"),
        ({"period": [5], "block_time": [[0]]}, r"block_time\[0\]"),
        ({"period": [5], "block_time": [[1, 2]], "blocks": [[1]]}, r"blocks\[0\]: got 1 numbers"),
        ({"period": [5], "block_time": [[1]], "threads": [[0]]}, "threads"),
        ({"period": [5], "block_time": [[1]], "latency": -1}, "latency"),
        ({"period": [5, 6], "block_time": [[1]]}, "block_time: got"),
        ({"period": [0], "block_time": [[1]]}, r"period\[0\]: got 0"),
        ({"period": [5], "block_time": np.array([[0, 3]])}, "block_time"),
    ],
)
def test_chains_that_are_refused(arguments, message):
    with pytest.raises((ValueError, TypeError), match=message):
        gs.KernelChains(**arguments)


def test_chains_of_different_lengths_are_stacked_and_joined():
    one = gs.KernelChains([5], [[1, 2]], name=["a"])
    two = gs.KernelChains([6], [[3]], name=["b"])
    both = one + two
    assert both.block_time.tolist() == [[1, 2], [3, 0]]
    assert both["b"].kernels.tolist() == [1]
    assert both.replace(period=[7, 8]).deadline.tolist() == [7, 8]
    assert list(both.to_frame().kernel) == [0, 1, 0]
