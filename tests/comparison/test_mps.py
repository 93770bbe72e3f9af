"""Clients of MPS: processes without time slices, some with a share of the SMs."""

import numpy as np
import pytest

import gpusched as gs


def workload(processes=("one", "two")):
    kernel = {"blocks": 64, "threads": 512}
    return gs.Workload(
        [
            gs.Task("camera", 2000, [gs.Kernel(100, **kernel)], process=processes[0]),
            gs.Task("planner", 3000, [gs.Kernel(200, **kernel)], process=processes[1]),
        ]
    )


def test_clients_are_bounded_as_streams():
    platform = gs.Platform("Xavier", cpus=2)
    clients = gs.analyze(workload(), platform, "mps")
    streams = gs.analyze(workload((None, None)), platform, "streams")
    assert clients.schedulable and clients.response.tolist() == streams.response.tolist()
    assert any("MPS" in text for text in clients.derivation)
    with pytest.raises(ValueError, match="process: got 'one', 'two'"):
        gs.analyze(workload(), platform, "streams")


def test_streams_that_share_channels_wait_for_each_other():
    """Xavier has two channels: the holistic test counts them, and the simulation knows them."""
    kernel = gs.Kernel(10, blocks=1, threads=32)
    tasks = [gs.Task(f"t{i}", 1000, [kernel]) for i in range(3)]
    two, three = gs.Workload(tasks[:2]), gs.Workload(tasks)
    platform = gs.Platform("Xavier", cpus=3)
    for way in ("streams", "priority_streams"):
        assert gs.analyze(two, platform, way).schedulable
        shared = gs.analyze(three, platform, way)
        assert shared.accepted and shared.method == "holistic"
        assert [rule.name for rule in shared.rules] == ["channel_release"]
        assert shared.response[0] > gs.analyze(two, platform, way).response[0]
    assert gs.analyze(three, platform, "mps").schedulable  # a process each, with its channels
    assert gs.observe(two, platform, "streams").worst.tolist() == [10, 10]
    shared = gs.observe(three, platform, "streams")
    assert [rule.name for rule in shared.rules] == ["channel_release"]


def test_clients_run_side_by_side():
    run = gs.observe(workload(), gs.Platform("Xavier", cpus=2), "mps", until=2000)
    assert set(run.detail.context.tolist()) == {0} and not run.detail.turns.switches.any()


def test_a_share_limits_the_sms_that_a_client_occupies():
    platform = gs.Platform("Xavier", cpus=2, mps={"one": 30})
    run = gs.observe(workload(), platform, "mps", until=12000)
    blocks = run.detail.blocks
    of_one = run.detail.operations.task[blocks.operation] == 0
    for at in np.unique(blocks.start[of_one]):
        runs = of_one & (blocks.start <= at) & (blocks.end > at)
        assert len(np.unique(blocks.sm[runs])) <= 2  # 30 % of 8 SMs, rounded down
    free = gs.observe(workload(), gs.Platform("Xavier", cpus=2), "mps", until=12000)
    assert run.worst[0] > free.worst[0]
    answer = gs.analyze(workload(), platform, "mps")
    assert answer.schedulable and (run.worst <= answer.response).all()
    assert answer.method == "priority_streams" and answer.detail.sharing == "limits"
    assert answer.detail.partition_sms == (2, 8)
    assert any("so many SMs at most" in text for text in answer.derivation)
    assert (answer.response > gs.analyze(workload(), gs.Platform("Xavier"), "mps").response).all()


def test_shares_of_tasks_that_are_processes_of_their_own():
    platform = gs.Platform("Xavier", cpus=2, mps={"camera": 50})
    answer = gs.analyze(workload((None, None)), platform, "mps")
    assert answer.detail.partition_sms == (4, 8)
    with pytest.raises(ValueError, match="order: got an option of fifo_bound with shares"):
        gs.analyze(workload(), platform.replace(mps={"one": 50}), "mps", order="release")


def test_clients_of_one_share_have_one_limit():
    """Two tasks of a process share its SMs; a share of all SMs is none."""
    w = workload(("one", "one")) + gs.Workload(
        [gs.Task("map", 4000, [gs.Kernel(90, blocks=9, threads=64)], process="two")]
    )
    platform = gs.Platform("Xavier", cpus=3, mps={"one": 50, "two": 100})
    detail = gs.analyze(w, platform, "mps").detail
    assert detail.partition.tolist() == [0, 0, 1] and detail.partition_sms == (4, 8)


@pytest.mark.parametrize("shared", [False, True])
def test_no_response_exceeds_the_bound(shared):
    rng = np.random.default_rng(3)
    checked = 0
    for _ in range(30):
        tasks = [
            gs.Task(
                f"t{i}",
                int(rng.integers(400, 900)),
                [
                    gs.Kernel(
                        int(rng.integers(5, 60)),
                        blocks=int(rng.integers(1, 80)),
                        threads=32 * int(rng.integers(1, 20)),
                        repeat=int(rng.integers(1, 3)),
                    )
                ],
            )
            for i in range(3)
        ]
        shares = {f"t{i}": int(rng.integers(10, 101)) for i in range(2)} if shared else None
        w, platform = gs.Workload(tasks), gs.Platform("Xavier", cpus=3, mps=shares)
        answer = gs.analyze(w, platform, "mps")
        run = gs.observe(w, platform, "mps", until=20_000)
        known = ~np.ma.getmaskarray(answer.response) & answer.bounded
        assert (run.worst[known] <= answer.response.filled(0)[known]).all()
        checked += int(known.sum())
    assert checked > 40


def test_the_platform_keeps_shares():
    platform = gs.Platform("Xavier", mps={"two": 50, "one": 25})
    assert platform.mps == (("one", 25), ("two", 50))
    assert eval(repr(platform), {"Platform": gs.Platform, "gs": gs}) == platform
    assert platform.replace(mps=None).mps is None
    assert "one 25 %" in platform._repr_html_()


@pytest.mark.parametrize(
    ("shares", "message"),
    [
        ({}, "mps: got no processes"),
        ({"a": 0}, r"mps\['a'\]: got 0"),
        ({"a": 101}, r"mps\['a'\]: got 101"),
        ({"a": 1.5}, r"mps\['a'\]"),
        ({3: 50}, "mps: got 3"),
        (5, "mps: got 5, expected a share by process"),
        ("a=50", "mps: got 'a=50', expected a share by process"),
        (["a"], "mps: got 'a', expected a pair of processes and a share"),
        ([("a", 50), ("a", 25)], "mps: got 'a' twice"),
    ],
)
def test_shares_that_are_refused(shares, message):
    with pytest.raises((ValueError, TypeError), match=message):
        gs.Platform("Xavier", mps=shares)
