"""`gs.simulate.fifo` with chains of kernels in priority streams: twin, bounds, refusals."""

import random

import numpy as np
import pytest
from reference.priority_streams import task
from reference.priority_streams_sim import simulate
from test_reference_priority_streams import chains, random_set

import gpusched as gs

pytestmark = pytest.mark.numbers

HI = task(0, 60, [(1, 1, 1)] * 3, [1, 1, 1])
LO = task(1, 10, [(1, 1, 10)])


def gpu_of(sms, threads):
    return gs.GPU(sms, 32 * threads, 1024, sm_order=range(sms))


def in_warps(tasks):
    return [t._replace(kernels=[(g, 32 * b, c) for g, b, c in t.kernels]) for t in tasks]


def kernels_of(run):
    """Dispatch and end of each kernel."""
    found = {}
    columns = (run.waves.task, run.waves.job, run.waves.kernel, run.waves.start, run.waves.end)
    for i, job, kernel, start, end in zip(*(column.tolist() for column in columns), strict=True):
        dispatched, ended = found.get((i, job, kernel), (0, 0))
        found[i, job, kernel] = (max(dispatched, start), max(ended, end))
    return found


@pytest.mark.parametrize("pool", [True, False])
def test_the_twin_agrees(pool):
    rng = random.Random(pool)
    for _ in range(150):
        tasks, threads, sms = random_set(rng, rng.choice([0, 3]))
        sms = 1 if pool else sms
        releases = [
            np.cumsum(
                [rng.randrange(40), *(t.period + rng.randrange(9) for _ in range(4))]
            ).tolist()
            for t in tasks
        ]
        expected = simulate(tasks, threads, releases, sms)
        if pool:
            run = gs.simulate.fifo(chains(tasks), threads, releases=releases)
        else:
            run = gs.simulate.fifo(
                chains(in_warps(tasks)), gpu=gpu_of(sms, threads), releases=releases
            )
        ends = {(i, job): end for i, job, _, end in expected.jobs}
        assert {
            (i, j): end for i, j, end in zip(run.task, run.job, run.end, strict=True)
        } == ends, (tasks, threads, releases)
        assert run.worst.tolist() == expected.worst(len(tasks))
        assert kernels_of(run) == {
            (k.task, k.job, k.kernel): (k.dispatched, k.end) for k in expected.kernels
        }


def test_early_ends_and_latencies_are_those_of_the_twin():
    """Times and latencies of a run, given to the twin."""
    rng = random.Random(3)
    for seed in range(60):
        tasks, threads, _ = random_set(rng, 3)
        times = {}
        options = {"execution": (0.1, 1), "draw": "job", "latency": 0, "gap": 0.4, "seed": seed}
        run = gs.simulate.fifo(chains(tasks), threads, until=150, **options)
        columns = (run.waves.task, run.waves.job, run.waves.kernel)
        took = (run.waves.end - run.waves.start).tolist()
        for *of, ticks in zip(*(column.tolist() for column in columns), took, strict=True):
            times[tuple(of)] = ticks
        releases = [run.release[run.task == i].tolist() for i in range(len(tasks))]
        expected = simulate(
            *(tasks, threads, releases),
            actual=lambda i, job, kernel, _, times=times: times[i, job, kernel],
            late=lambda i, job, kernel: 0,
        )
        assert run.worst.tolist() == expected.worst(len(tasks))


def test_drawn_latencies_are_within_their_shares():
    one = gs.KernelChains([1000], [[5, 5]], latency=[[100, 40]])
    runs = [
        gs.simulate.fifo(one, 1, until=10**5, latency=(0.25, 0.75), seed=seed) for seed in (1, 1, 2)
    ]
    responses = [run.response for run in runs]
    assert (responses[0] == responses[1]).all() and (responses[0] != responses[2]).any()
    assert responses[0].min() >= 10 + 25 + 10
    assert responses[0].max() <= 10 + 75 + 30
    assert len(np.unique(responses[0])) > 30
    assert (gs.simulate.fifo(one, 1, until=10**5, latency=0.5).response == 80).all()


def test_stacks_give_the_responses_of_their_sets():
    rng = random.Random(4)
    sets = [chains(random_set(rng, 2)[0]) for _ in range(40)]
    sets = [tasks for tasks in sets if tasks.n == 3]
    stack = gs.KernelChains.stack(sets)
    options = {"execution": (0.5, 1), "draw": "block", "latency": (0, 1), "gap": 0.2, "seed": 5}
    found = gs.simulate.fifo_responses(stack, 8, until=300, victim=1, **options)
    for i, tasks in enumerate(sets):
        one = gs.simulate.fifo(tasks, 8, until=300, victim=1, index=i, **options)
        assert found[i].worst.tolist() == one.worst.tolist()
        assert found[i].finished.tolist() == one.finished.tolist()


@pytest.mark.long
def test_no_response_above_its_bound():
    rng = random.Random(8)
    checked = reached = 0
    for seed in range(250):
        tasks, threads, sms = random_set(rng, rng.choice([0, 2]))
        answer = gs.analysis.priority_streams(chains(in_warps(tasks)), 32 * threads, sms=sms)
        if not answer.bounded.any():
            continue
        given = chains(in_warps(tasks))
        for victim in (None, *range(len(tasks))):
            for options in (
                {"execution": (0.1, 1), "draw": "block", "latency": (0, 1)},
                {"triggers": rng.choice(["head", "tail", "end"])},
                {"triggers": ("head", "end"), "gap": 0.3},
            ):
                offset = [rng.randrange(40) for _ in tasks]
                until = 20 * int(given.period.max())
                seen = gs.simulate.fifo_responses(
                    given.replace(offset=offset),
                    gpu=gpu_of(sms, threads),
                    until=until,
                    victim=victim,
                    seed=seed,
                    **options,
                ).worst
                for response, bound in zip(seen.tolist(), answer.exact, strict=True):
                    if bound is not None:
                        assert response <= bound, (tasks, threads, sms, victim, options)
                        checked += 1
                        reached += response == bound
    assert checked > 2000 and reached > 200


def test_single_kernels_run_as_in_fifo_order():
    """With one level, one kernel and no latency: hardware order."""
    tasks = gs.KernelTasks([9, 14, 20], block_time=[2, 3, 5], blocks=[3, 2, 4], threads=[2, 1, 2])
    fifo = gs.simulate.fifo(tasks, 4, until=500)
    ours = gs.simulate.fifo(gs.KernelChains.from_tasks(tasks), 4, until=500)
    assert ours.end.tolist() == fifo.end.tolist()
    assert ours.waves.kernel.tolist() == [0] * len(ours.waves)
    assert fifo.waves.kernel is None


def test_pictures_and_files(tmp_path):
    run = gs.simulate.fifo(chains([HI, LO]), 1, until=60)
    assert "task 0 #0, kernel 1: 1 block of 1 threads" in run.to_svg()
    run.to_chrome_trace(tmp_path / "trace.json")
    assert "task 0 #0, kernel 2" in (tmp_path / "trace.json").read_text()
    run.save(tmp_path / "run.npz")
    assert type(run).load(tmp_path / "run.npz") == run
    assert "kernel" in run.waves.to_frame()
    on_sms = gs.simulate.fifo(chains(in_warps([HI, LO])), gpu=gpu_of(2, 1), until=60)
    assert "kernel 1" in on_sms.to_svg()
    on_sms.to_chrome_trace(tmp_path / "sms.json")
    assert run.why(0).startswith("task 0")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({}, "until: got None"),
        ({"until": 50, "order": "release"}, "order: got 'release', expected 'hardware'"),
        ({"until": 50, "stream": [0, 0]}, r"stream: got \[0, 0\] beside chains"),
        ({"until": 50, "settle": "stop"}, "settle: got 'stop', expected 'no' with chains"),
        ({"releases": [[0], [1]], "times": [[1], [1]]}, "times: got"),
        ({"until": 50, "latency": 1.5}, "latency: got 1.5, expected shares of the latency"),
        ({"until": 50, "latency": (1, 0)}, r"latency: got \(1, 0\), expected shares"),
        ({"until": 50, "threads": 0}, "threads: got 0"),
    ],
)
def test_refusals(options, message):
    given = {"threads": 1} | options
    with pytest.raises(ValueError, match=message):
        gs.simulate.fifo(chains([HI, LO]), **given)


def test_refusals_of_both_kinds_of_tasks():
    with pytest.raises(ValueError, match=r"latency: got 0.5 without chains"):
        gs.simulate.fifo(gs.KernelTasks([4], [1]), 1, until=9, latency=0.5)
    with pytest.raises(ValueError, match=r"threads\[0\]: got 4"):
        gs.simulate.fifo(gs.KernelChains([9], [[1, 1]], threads=4), 2, until=9)
    with pytest.raises(ValueError, match="until: got None"):
        gs.simulate.fifo_responses(chains([HI, LO]), 1)
    with pytest.raises(TypeError, match="tasks: got int"):
        gs.simulate.fifo(4, 1)
