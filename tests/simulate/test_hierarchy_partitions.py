"""Partitions of a context, cooperative launches and clusters in gs.simulate.hierarchy.

Schedules worked by hand from the rules of ``gs.simulate.hierarchy``.
"""

from __future__ import annotations

import io
import pickle
import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hierarchy_systems import opened, random_limits, random_system, simulated
from reference.hierarchy import Hierarchy

import gpusched as gs

# Four SMs of two blocks of 1,024 threads each, in ascending order.
FOUR = gs.GPU(sms=4, threads_per_sm=2048, blocks_per_sm=32, sm_order="ascending")


def starts(run: gs.simulate.Hierarchy, launch: int) -> list[tuple[int, int]]:
    """(SM, start) of the blocks of a launch, by block."""
    assert run.blocks is not None
    mine = run.blocks.kernel == launch
    order = np.argsort(run.blocks.block[mine])
    sms, times = run.blocks.sm[mine][order], run.blocks.start[mine][order]
    return list(zip(sms.tolist(), times.tolist(), strict=True))


def two_clients(**second: Any) -> gs.Launches:
    """Four blocks of a client with a limit of one SM, and a block of another client."""
    work = gs.Launches.build()
    small = work.stream(partition=work.partition(limit=1, name="small"))
    other = work.stream(partition=work.partition(name="other", **second))
    work.kernel(small, blocks=4, threads=1024, duration=10)
    work.kernel(other, blocks=1, threads=1024, duration=10, at=1)
    return work.done()


# Partitions


def test_a_limit_moves_no_block_to_other_sms() -> None:
    run = gs.simulate.hierarchy(two_clients(), FOUR)
    assert starts(run, 0) == [(0, 0), (0, 0), (0, 10), (0, 10)]
    assert run.why(0).splitlines() == [
        "waited 0 .. 10 for room for its other blocks: the SMs that small may use (at most 1 at "
        "once) are full, until SM 0 had room"
    ]
    # Clients of MPS share the queues of their context: the other one is behind it.
    assert starts(run, 1) == [(1, 10)]
    assert run.why(1) == "waited 1 .. 10 behind kernel 0 in the queue"


def test_queues_of_their_own() -> None:
    run = gs.simulate.hierarchy(two_clients(), FOUR, queues="own")
    assert starts(run, 1) == [(1, 1)]
    assert run.why(1) == "" and run.queues == "own"


def test_partitions_with_sms_have_queues_of_their_own() -> None:
    launches = two_clients(sms=[2, 3])
    assert starts(gs.simulate.hierarchy(launches, FOUR), 1) == [(2, 1)]
    run = gs.simulate.hierarchy(launches, FOUR, queues="shared")
    assert starts(run, 1) == [(2, 10)]


def test_the_sms_of_a_limit_are_not_fixed() -> None:
    """The limit of one SM is on SM 0 first, and on SM 1 when another client is on SM 0."""
    work = gs.Launches.build()
    small = work.stream(partition=work.partition(limit=1))
    other = work.stream(partition=work.partition())
    work.kernel(small, blocks=1, threads=1024, duration=10)
    work.kernel(other, blocks=1, threads=1024, duration=30, at=10)
    work.kernel(small, blocks=3, threads=1024, duration=10, at=11)
    run = gs.simulate.hierarchy(work.done(), FOUR)
    assert starts(run, 0) == [(0, 0)]
    assert starts(run, 1) == [(0, 10)]
    assert starts(run, 2) == [(1, 11), (1, 11), (1, 21)]


@pytest.mark.parametrize("placement", ["most_room", "olmedo", "round_robin"])
def test_every_placement_keeps_to_the_set(placement: str) -> None:
    work = gs.Launches.build()
    green = work.stream(partition=work.partition(sms=[3, 1], name="green"))
    rest = work.stream()
    work.kernel(green, blocks=6, threads=1024, duration=10)
    work.kernel(rest, blocks=2, threads=1024, duration=10, at=1)
    launches = work.done()
    assert launches.partition_name == ("green", "rest of context 0")
    run = gs.simulate.hierarchy(launches, FOUR, placement=placement)
    assert [t for _, t in starts(run, 0)] == [0, 0, 0, 0, 10, 10]
    assert {sm for sm, _ in starts(run, 0)} == {1, 3}
    assert starts(run, 1) == [(0, 1), (2, 1)]
    # round_robin goes on behind SM 2.
    free = 3 if placement == "round_robin" else 1
    assert run.why(0).splitlines() == [
        f"waited 0 .. 10 for room for its other blocks: the SMs of green are full, until SM {free} "
        "had room"
    ]


def test_the_more_urgent_partition_is_first() -> None:
    """Two partitions with queues of their own that may use SM 0, released at one instant."""
    launches = gs.Launches(
        [0, 0],
        10,
        stream=[0, 1],
        blocks=2,
        threads=1024,
        stream_partition=[0, 1],
        stream_priority=[0, -1],
        partition_sms=[[0], [0]],
    )
    run = gs.simulate.hierarchy(launches, FOUR)
    assert run.first.tolist() == [10, 0]
    assert run.why(0) == (
        "waited 0 .. 10 for room: the SMs of partition 0 are full, until SM 0 had room"
    )
    tie = launches.replace(stream_priority=0)
    assert gs.simulate.hierarchy(tie, FOUR).first.tolist() == [0, 10]


def test_the_carveout_of_another_partition() -> None:
    """On V100, a block with 40 KB does not join an SM whose block has none, of whatever client."""
    launches = gs.Launches(
        [0, 1],
        10,
        stream=[0, 1],
        blocks=[80, 1],
        threads=128,
        smem=[0, 40_960],
        stream_partition=[0, 1],
        partition_limit=[0, 40],
    )
    run = gs.simulate.hierarchy(launches, "V100")
    assert run.first.tolist() == [0, 10]
    assert run.waits.reason.tolist() == ["carveout"]


def test_channels_and_null_streams_are_of_a_partition() -> None:
    work = gs.Launches.build()
    parts = [work.partition(), work.partition()]
    null = work.stream(kind="null", partition=parts[0])
    streams = [work.stream(partition=p) for p in parts]
    work.kernel(null, duration=10)
    work.kernel(streams[0], duration=10)
    work.kernel(streams[1], duration=10)
    assert gs.simulate.hierarchy(work.done(), FOUR).first.tolist() == [0, 10, 0]
    # One channel: in one partition, the second kernel waits for the dispatch of the first.
    two = gs.Launches([0, 0, 1], 10, stream=[0, 0, 1], stream_context=[0, 0])
    assert gs.simulate.hierarchy(two, FOUR, channels=1).first.tolist() == [0, 10, 10]
    two = two.replace(stream_partition=[0, 1])
    assert gs.simulate.hierarchy(two, FOUR, channels=1).first.tolist() == [0, 10, 1]


def test_a_limit_of_all_sms_changes_nothing() -> None:
    for seed in range(40):
        system = random_system(random.Random(seed))
        system |= dict.fromkeys(("partition", "partition_sms", "partition_limit", "own_queues"))
        system["stream_kind"] = [min(kind, 1) for kind in system["stream_kind"]]
        if system["cooperative"]:
            continue
        count, sms = max(system["context"]) + 1, system["limits"][0]
        full = {"partition": system["context"], "partition_limit": [sms] * count}
        sets = {"partition_sms": [list(range(sms))] * count}
        assert simulated(system) == simulated(system | full) == simulated(system | full | sets)


# Cooperative launches


def test_a_cooperative_kernel_starts_as_a_whole() -> None:
    work = gs.Launches.build()
    first, second, third = work.stream(), work.stream(), work.stream()
    work.kernel(first, blocks=3, threads=1024, duration=10)
    work.kernel(second, blocks=6, threads=1024, duration=10, at=1, cooperative=True, name="all")
    work.kernel(third, blocks=1, threads=1024, duration=10, at=2)
    launches = work.done()
    run = gs.simulate.hierarchy(launches, FOUR)
    assert run.first.tolist() == [0, 10, 10]
    assert run.dispatched.tolist() == [0, 10, 10]
    assert run.why(1) == (
        "waited 1 .. 10 for room for all its blocks: not all of them fit the SMs at once, until "
        "SM 0 had room"
    )
    assert run.why(2) == "waited 2 .. 10 behind all in the queue"
    plain = gs.simulate.hierarchy(launches.replace(cooperative=False), FOUR)
    assert plain.first.tolist() == [0, 1, 10] and plain.dispatched.tolist() == [0, 10, 10]


def test_a_cooperative_kernel_takes_the_sms_with_most_room() -> None:
    """Limit 2, one block on SM 0 by another client: SMs 1 and 2 hold all four blocks."""
    launches = gs.Launches(
        [0, 1],
        10,
        stream=[0, 1],
        blocks=[1, 4],
        threads=1024,
        cooperative=[False, True],
        stream_partition=[0, 1],
        partition_limit=[0, 2],
    )
    for placement in ("most_room", "olmedo", "round_robin"):
        run = gs.simulate.hierarchy(launches, FOUR, placement=placement)
        assert sorted(starts(run, 1)) == [(1, 1), (1, 1), (2, 1), (2, 1)]


@pytest.mark.parametrize(
    ("more", "most"),
    [
        ({}, 8),
        ({"stream_partition": [0], "partition_limit": [3]}, 6),
        ({"stream_partition": [0], "partition_sms": [[1, 2]]}, 4),
        ({"cluster": 3, "blocks": 12}, 6),  # one cluster on each of the two GPCs
    ],
)
def test_a_grid_that_never_fits_is_refused(more: dict[str, Any], most: int) -> None:
    launches = gs.Launches(
        [0, 5], 10, **{"blocks": 9, "threads": 1024, "cooperative": [0, 1]} | more
    )
    blocks = launches.blocks[1]
    with pytest.raises(ValueError, match=rf"^blocks\[1\]: got {blocks}, expected at most {most}, "):
        gs.simulate.hierarchy(launches, FOUR)
    fits = launches.replace(blocks=[launches.blocks[0], most])
    assert gs.simulate.hierarchy(fits, FOUR).outcome == "done"


def test_the_number_that_fits_is_the_twins() -> None:
    """The core refuses one cluster more than fits, and names the number that does."""
    seen = 0
    for seed in range(400):
        rng = random.Random(seed)
        limits = random_limits(rng)
        limits[0] = rng.randint(1, 7)
        system = random_system(rng, limits=limits)
        kernels = [k for k, kind in enumerate(system["kind"]) if kind == 0]
        if not kernels:
            continue
        k = rng.choice(kernels)
        n = len(system["kind"])
        system["cooperative"] = [row == k for row in range(n)]
        system["cluster"] = system["cluster"] or [1] * n
        most = Hierarchy(system).most_at_once(k)
        system["duration"][k] = 5
        for blocks in (most, most + system["cluster"][k]):
            system["blocks"][k] = blocks
            if blocks <= most:
                opened(system)
                continue
            with pytest.raises(ValueError, match=rf"^blocks\[{k}\]: .* at most {most}, "):
                opened(system)
            seen += 1
    assert seen > 200


# Clusters


def test_clusters_are_on_one_gpc() -> None:
    """GPCs of SMs 0, 1 and 2, 3. A block on SM 0 leaves one cluster of two there, and two on the
    other GPC; then they have one each."""
    launches = gs.Launches([0, 1], 10, stream=[0, 1], blocks=[1, 6], threads=1024, cluster=[1, 2])
    run = gs.simulate.hierarchy(launches, FOUR, sms_per_gpc=2)
    assert starts(run, 1) == [(2, 1), (3, 1), (1, 1), (0, 1), (2, 1), (3, 1)]


def test_a_cluster_waits_for_a_gpc() -> None:
    """Two GPCs with room for three blocks each do not host a cluster of four."""
    launches = gs.Launches([0, 1], 10, stream=[0, 1], blocks=[2, 4], threads=1024, cluster=[1, 4])
    gpu = FOUR.replace(sm_order=[0, 2, 1, 3], sms_per_gpc=2)
    run = gs.simulate.hierarchy(launches, gpu)
    assert run.sms_per_gpc == (2, 2) and run.first.tolist() == [0, 10]
    assert run.why(1) == (
        "waited 1 .. 10 for room: no GPC takes a whole cluster, until SM 0 had room"
    )
    with pytest.raises(ValueError, match=r"^cluster\[1\]: got 4, expected at most 2, the blocks"):
        gs.simulate.hierarchy(launches, gpu, sms_per_gpc=1)


def test_clusters_need_compute_capability_9() -> None:
    """Known older GPUs refuse them; one of unknown capability does not."""
    launches = gs.Launches([0, 1], 10, blocks=4, cluster=[1, 2])
    message = (
        r"^cluster\[1\]: got 2, expected 1: "
        r"clusters need compute capability 9\.0, and the GPU has 8\.0$"
    )
    with pytest.raises(ValueError, match=message):
        gs.simulate.hierarchy(launches, "A100")
    for gpu in (FOUR, FOUR.replace(cc="9.0"), FOUR.replace(cc="12.0")):
        assert gs.simulate.hierarchy(launches, gpu).outcome == "done"
    assert gs.simulate.hierarchy(launches.replace(cluster=1), "A100").outcome == "done"


def test_a_cluster_and_a_limit() -> None:
    launches = gs.Launches(
        [0], 10, blocks=4, threads=1024, cluster=2, stream_partition=[0], partition_limit=1
    )
    run = gs.simulate.hierarchy(launches, FOUR, sms_per_gpc=2)
    assert starts(run, 0) == [(0, 0), (0, 0), (0, 10), (0, 10)]
    assert run.waits.reason.tolist() == ["partition"]


def test_the_gpus_own_gpcs() -> None:
    launches = gs.Launches([0], 10, blocks=16, threads=1024, smem=200_000, cluster=16)
    run = gs.simulate.hierarchy(launches, "H100")
    assert run.sms_per_gpc == (18, 18, 18, 16, 16, 16, 16, 14)
    assert len({sm // 18 for sm, _ in starts(run, 0)}) == 1  # the first of those with most room
    assert gs.simulate.hierarchy(gs.Launches([0], 1), FOUR).sms_per_gpc is None
    assert "SMs of a GPC</th><td>18, 18, 18, 16, 16" in gs.GPU.preset("H100")._repr_html_()
    assert gs.GPU.preset("H100").replace(sms_per_gpc=None).sms_per_gpc is None
    with pytest.raises(ValueError, match="sms_per_gpc: got 0"):
        FOUR.replace(sms_per_gpc=0)


# With graphs and programmatic launches


def test_a_graph_is_one_kernel_in_a_channel_of_its_partition() -> None:
    work = gs.Launches.build()
    parts = [work.partition(), work.partition()]
    streams = [work.stream(partition=p) for p in (parts[0], parts[0], parts[1])]
    graph = work.graph(streams[0])
    graph.kernel(duration=10, after=graph.kernel(duration=10))
    for stream in streams[1:]:
        work.kernel(stream, duration=10, at=1)
    run = gs.simulate.hierarchy(work.done(), FOUR, channels=1)
    assert run.first.tolist() == [0, 10, 10, 1]
    assert run.why(2) == (
        "waited 1 .. 10 for all blocks of kernel 1 to start, which is before it in its channel"
    )


def test_a_null_stream_waits_for_the_graphs_of_its_partition() -> None:
    work = gs.Launches.build()
    parts = [work.partition(), work.partition()]
    graph = work.graph(work.stream(partition=parts[0]))
    graph.kernel(duration=10, after=graph.kernel(duration=10))
    for part in parts:
        work.kernel(work.stream(kind="null", partition=part), duration=10, at=1)
    assert gs.simulate.hierarchy(work.done(), FOUR).first.tolist() == [0, 10, 20, 1]


def test_a_cooperative_secondary_waits_for_triggers_and_room() -> None:
    """Two blocks of the primary end at 4: there is room for four blocks of six."""
    launches = gs.Launches(
        [0, 0],
        10,
        blocks=[8, 6],
        threads=1024,
        block_times=[[4, 10] * 4, None],
        trigger=2,
        programmatic=[0, 1],
        cooperative=[0, 1],
    )
    run = gs.simulate.hierarchy(launches, FOUR)
    assert run.head.tolist() == [0, 2] and run.first.tolist() == [0, 10]
    assert run.waits.reason[1:].tolist() == ["warps"]
    plain = gs.simulate.hierarchy(launches.replace(cooperative=False), FOUR)
    assert [t for _, t in starts(plain, 1)] == [4] * 4 + [10] * 2


def test_a_limit_holds_for_a_primary_and_its_secondary() -> None:
    """At the trigger, the primary holds the two SMs of the limit, which have no room."""
    launches = gs.Launches(
        [0, 0],
        10,
        blocks=[4, 1],
        threads=1024,
        trigger=2,
        programmatic=[0, 1],
        partition_limit=2,
    )
    run = gs.simulate.hierarchy(launches, FOUR)
    assert run.head.tolist() == [0, 2] and starts(run, 1) == [(0, 10)]
    run = gs.simulate.hierarchy(launches.replace(partition_limit=3), FOUR)
    assert starts(run, 1) == [(1, 2)]


def test_nodes_with_clusters_and_cooperative_ones() -> None:
    work = gs.Launches.build()
    graph = work.graph(work.stream())
    first = graph.kernel(blocks=4, cluster=4, threads=1024, duration=10)
    graph.kernel(blocks=8, cooperative=True, threads=1024, duration=5)
    graph.kernel(duration=1, after=first)
    launches = work.done()
    assert launches.cluster.tolist() == [4, 1, 1] and launches.cooperative.tolist() == [0, 1, 0]
    run = gs.simulate.hierarchy(launches, FOUR, sms_per_gpc=2)
    assert starts(run, 0) == [(0, 0), (1, 0), (0, 0), (1, 0)]
    assert run.first.tolist() == [0, 10, 15]
    assert run.waits.reason.tolist().count("cooperative") == 1


# Columns


def test_columns_of_partitions(tmp_path: Path) -> None:
    launches = gs.Launches(
        [0, 0, 5],
        10,
        kind=["kernel", "kernel", "copy_in"],
        stream=[0, 1, 2],
        blocks=[4, 8, 1],
        cooperative=[False, True, True],
        cluster=[4, 1, 5],
        stream_context=[0, 0, 1],
        stream_partition=[1, 0, 2],
        partition_sms=[None, range(4), (7,)],
        partition_limit=[2, None, 0],
        partition_name=["MPS", "green", "rest"],
    )
    assert repr(launches) == (
        "<Launches: 2 kernels and 1 copies in 3 streams of 2 contexts in 3 partitions>"
    )
    assert launches.partitions == 3
    assert launches.cooperative.tolist() == [0, 1, 0] and launches.cluster.tolist() == [4, 1, 1]
    assert launches.partition_sms == (None, (0, 1, 2, 3), (7,))
    assert launches.partition_limit is not None and launches.partition_limit.tolist() == [2, 0, 0]
    launches.save(tmp_path / "launches")
    again = [
        gs.Launches.load(tmp_path / "launches"),
        gs.Launches.from_frame(launches.to_frame()),
        pickle.loads(pickle.dumps(launches)),
        launches.replace(),
    ]
    assert all(other == launches for other in again)
    assert launches.replace(partition_sms=None) != launches
    assert launches.replace(cooperative=0) != launches
    assert "<td>yes</td>" in launches._repr_html_()
    plain = launches.replace(**dict.fromkeys(["stream_partition", *PARTITION_COLUMNS]))
    assert plain.stream_partition.tolist() == [0, 0, 1] and plain.partition_sms is None
    assert "partition_sms" not in plain.to_frame()
    moved = plain.replace(stream_context=[0, 1, 1])
    assert moved.stream_partition.tolist() == [0, 1, 1]


PARTITION_COLUMNS = ("partition_sms", "partition_limit", "partition_name")


def test_files_of_earlier_versions(tmp_path: Path) -> None:
    """Without the columns of partitions, cooperative launches and clusters."""
    launches = gs.Launches([0, 5], 10, stream=[0, 1], stream_context=[0, 1])
    new = ("cooperative", "cluster", "stream_partition", "partition_sms_count", *PARTITION_COLUMNS)
    values = {key: value for key, value in launches._fields().items() if key not in new}
    assert gs.Launches._from_fields(values) == launches
    values = FOUR._fields()
    del values["sms_per_gpc"]
    assert gs.GPU._from_fields(values) == FOUR
    run = gs.simulate.hierarchy(launches, FOUR, timeslice=5)
    values = run._fields()
    del values["queues"]
    assert gs.simulate.Hierarchy._from_fields(values).queues is None
    run.save(tmp_path / "run")
    assert gs.simulate.Hierarchy.load(tmp_path / "run").launches == launches


def test_run_with_partitions_is_saved(tmp_path: Path) -> None:
    run = gs.simulate.hierarchy(two_clients(sms=[1]), FOUR, queues="shared")
    run.save(tmp_path / "run")
    again = gs.simulate.Hierarchy.load(tmp_path / "run")
    assert again.why(0) == run.why(0) and again.queues == "shared"
    assert again.launches == run.launches


REFUSED: list[tuple[dict[str, Any], type[Exception], str]] = [
    ({"cooperative": 2}, ValueError, "cooperative: got 2, expected True or False"),
    ({"cooperative": "yes"}, TypeError, "cooperative"),
    ({"cooperative": [True]}, ValueError, "cooperative: got shape"),
    ({"cluster": 0}, ValueError, r"cluster\[0\]: got 0"),
    ({"cluster": 17, "blocks": 17}, ValueError, r"cluster\[0\]: got 17, expected at most 16"),
    ({"cluster": 3}, ValueError, r"cluster\[0\]: got 3, expected a divisor of 4 blocks"),
    ({"cluster": 1.5}, ValueError, "cluster: got 1.5"),
    ({"stream_partition": [0]}, ValueError, "stream_partition: got shape"),
    ({"stream_partition": [-1, 0]}, ValueError, r"stream_partition\[0\]: got -1"),
    ({"stream_partition": [0, 2**24]}, ValueError, r"stream_partition\[1\]: got 16777216"),
    ({"stream_partition": [0, 2**70]}, OverflowError, "stream_partition"),
    (
        {"stream_partition": [0, 0], "stream_context": [0, 1]},
        ValueError,
        r"stream_partition\[1\]: got 0 in context 1, expected a partition of one context",
    ),
    (
        {"stream_partition": [1, 1], "partition_limit": 3},
        ValueError,
        "stream_partition: got no stream in partition 0",
    ),
    (
        {"stream_kind": "null", "stream_partition": [1, 1]},
        ValueError,
        r"stream_kind\[1\]: got a second null stream of partition 1",
    ),
    ({"partition_sms": 3}, TypeError, "partition_sms: got 3"),
    ({"partition_sms": [[0], [1]]}, ValueError, "partition_sms: got 2 entries"),
    ({"partition_sms": [[]]}, ValueError, r"partition_sms\[0\]: got \[\]"),
    ({"partition_sms": [3]}, ValueError, r"partition_sms\[0\]: got 3"),
    ({"partition_sms": [[0, 0]]}, ValueError, r"partition_sms\[0\]: got 0 twice"),
    ({"partition_sms": [[-1]]}, ValueError, r"partition_sms\[0\]: got -1"),
    ({"partition_sms": [[2**20]]}, ValueError, r"partition_sms\[0\]: got 1048576"),
    ({"partition_sms": ["a"]}, TypeError, r"partition_sms\[0\]"),
    ({"partition_limit": -1}, ValueError, "partition_limit: got -1"),
    ({"partition_limit": [1, 2]}, ValueError, "partition_limit: got shape"),
    ({"partition_name": "x"}, TypeError, "partition_name"),
    ({"partition_name": ["x", "y"]}, ValueError, "partition_name"),
    ({"partition_name": [7]}, ValueError, "partition_name"),
]


@pytest.mark.parametrize(("more", "error", "text"), REFUSED)
def test_columns_that_are_refused(more: dict[str, Any], error: type[Exception], text: str) -> None:
    arguments: dict[str, Any] = {"blocks": 4, "stream": [0, 1], "stream_context": [0, 0]}
    with pytest.raises(error, match=text):
        gs.Launches([0, 5], 10, **arguments | more)


def test_refused_by_the_simulation() -> None:
    launches = gs.Launches([0], 10, partition_sms=[[4]])
    with pytest.raises(ValueError, match=r"partition_sms\[0\]: got 4, expected SMs of the GPU"):
        gs.simulate.hierarchy(launches, FOUR)
    with pytest.raises(ValueError, match="queues: got 'both'"):
        gs.simulate.hierarchy(gs.Launches([0], 10), FOUR, queues="both")
    with pytest.raises(ValueError, match="sms_per_gpc: got 0"):
        gs.simulate.hierarchy(gs.Launches([0], 10), FOUR, sms_per_gpc=0)


def test_recorder_refuses() -> None:
    work = gs.Launches.build()
    part = work.partition(context=1)
    with pytest.raises(ValueError, match="partition: got 1, expected one of 1 partitions so far"):
        work.stream(partition=1)
    with pytest.raises(ValueError, match="context: got 0, expected 1, that of partition 0"):
        work.stream(partition=part, context=0)
    stream = work.stream()
    with pytest.raises(TypeError, match="cooperative"):
        work.kernel(stream, duration=1, cooperative=1)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="partition 0: got no stream"):
        work.done()
    work.stream(partition=part)
    assert work.done().stream_context.tolist() == [0, 1]
    assert work.done().stream_partition.tolist() == [1, 0]


def test_pictures_name_the_reasons() -> None:
    launches = gs.Launches(
        [0, 1, 2],
        10,
        stream=[0, 1, 2],
        blocks=[2, 4, 8],
        threads=1024,
        cluster=[1, 4, 1],
        cooperative=[0, 0, 1],
    )
    run = gs.simulate.hierarchy(launches, FOUR.replace(sm_order=[0, 2, 1, 3]), sms_per_gpc=2)
    assert set(run.waits.reason) == {"cluster", "cooperative", "queue"}
    picture = run.to_svg(by="stream")
    assert "wait: cluster" in picture and "wait: cooperative" in picture
    full = gs.simulate.hierarchy(two_clients(), FOUR)
    assert "wait: partition" in full.to_svg(by="stream")
    full.plot(by="stream").figure.savefig(io.BytesIO())
