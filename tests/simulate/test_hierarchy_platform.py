"""Copy engines, GPCs, shared channels and what is assumed of unknown ones in the hierarchy.

Schedules worked by hand from the rules of ``gs.simulate.hierarchy``.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import gpusched as gs
from gpusched.simulate import hierarchy_timeline

FOUR = gs.GPU(sms=4, threads_per_sm=2048, blocks_per_sm=32, sm_order="ascending")
H100 = gs.GPU.preset("H100")


def copies(directions: str, duration: Any = 10) -> gs.Launches:
    """Copies at 0, 1, ... in streams of their own: i in, o out."""
    kinds = ["copy_in" if letter == "i" else "copy_out" for letter in directions]
    n = len(kinds)
    return gs.Launches(range(n), duration, kind=kinds, stream=range(n))


# Copy engines


def test_a_number_of_engines() -> None:
    """One serves both directions; of two or more, one serves each direction."""
    run = gs.simulate.hierarchy(copies("ioi"), FOUR, copy_engines=1)
    assert run.copy_engines == ("both",) and run.engine.tolist() == [0, 0, 0]
    assert run.first.tolist() == [0, 10, 20]
    for engines in (2, 3, 10**6):
        run = gs.simulate.hierarchy(copies("ioi"), FOUR, copy_engines=engines)
        assert run.copy_engines == ("in", "out") and run.engine.tolist() == [0, 1, 0]
        assert run.first.tolist() == [0, 1, 10]


def test_the_engines_of_a_gpu() -> None:
    """Three copies in take turns on a GPU with three engines."""
    assert gs.simulate.hierarchy(copies("iii"), "H100").first.tolist() == [0, 10, 20]
    assert gs.simulate.hierarchy(copies("io"), FOUR.replace(copy_engines=0)).engine.max() == 0
    gpu = FOUR.replace(copy_engines=("in", "in", "out"))
    run = gs.simulate.hierarchy(copies("iii"), gpu)
    assert run.copy_engines == ("in", "in", "out") and run.assumptions == ()
    assert run.engine.tolist() == [0, 1, 0] and run.first.tolist() == [0, 1, 10]


def test_engines_with_one_direction_come_first() -> None:
    """The engine for both directions is left for the copy out."""
    run = gs.simulate.hierarchy(copies("iioi", 20), FOUR, copy_engines=["both", "in", "in"])
    assert run.engine.tolist() == [1, 2, 0, 1] and run.first.tolist() == [0, 1, 2, 20]
    assert run.why(3) == "waited 3 .. 20 behind copy out 2 at the copy engine"
    # An engine that serves both directions serves the copy that joined first.
    run = gs.simulate.hierarchy(copies("ooi", 20), FOUR, copy_engines=np.array(["both", "in"]))
    assert run.engine.tolist() == [0, 0, 1] and run.first.tolist() == [0, 20, 2]
    assert run.why(1) == "waited 1 .. 20 behind copy out 0 at the copy engine"


def test_a_copy_is_not_behind_one_on_another_engine() -> None:
    """The second copy in joined later than the one that the copy out waits for."""
    run = gs.simulate.hierarchy(copies("iio", [9, 30, 5]), FOUR, copy_engines=["in", "both"])
    assert run.engine.tolist() == [0, 1, 1] and run.first.tolist() == [0, 1, 31]
    run = gs.simulate.hierarchy(copies("oio", [9, 30, 5]), FOUR, copy_engines=["in", "both"])
    assert run.engine.tolist() == [1, 0, 1]
    assert run.why(2) == "waited 2 .. 9 behind copy out 0 at the copy engine"


def test_interference_while_any_engine_is_busy() -> None:
    launches = gs.Launches(
        [0, 0, 2],
        [10, 4, 4],
        kind=["kernel", "copy_in", "copy_in"],
        stream=[0, 1, 2],
        interference=[1, 1, 1, 2],
    )
    run = gs.simulate.hierarchy(launches, FOUR, copy_engines=["in", "in"])
    assert run.first.tolist() == [0, 0, 2] and run.end.tolist() == [13, 4, 6]


def test_lanes_of_engines() -> None:
    """An engine that served a copy has a lane, with a number where others have its directions."""

    def lanes(launches: gs.Launches, engines: Any) -> list[tuple[str, list[int]]]:
        run = gs.simulate.hierarchy(launches, FOUR, copy_engines=engines)
        shown = hierarchy_timeline.trace(run)
        found = [(k, lane.name) for k, lane in enumerate(shown.lanes) if "copies" in lane.name]
        pieces = list(shown.pieces)
        return [(name, [p.start for p in pieces if p.lane == k]) for k, name in found]

    assert lanes(copies("ioi"), 1) == [("copies", [0, 10, 20])]
    assert lanes(copies("ioi"), 2) == [("copies in", [0, 10]), ("copies out", [1])]
    assert lanes(copies("oo"), 2) == [("copies out", [0, 10])]
    three = ["in", "both", "in", "in"]
    assert lanes(copies("iio"), three) == [
        ("copies in 1", [0]),
        ("copies", [2]),
        ("copies in 2", [1]),
    ]
    assert lanes(gs.Launches([0], 1), three) == []


# GPCs


def test_clusters_on_gpcs_of_several_sizes() -> None:
    """A block per SM. GPCs of 14 to 18 SMs host 15 clusters of 8; seven of 18, and one of 6, 14."""
    launches = gs.Launches([0], 10, blocks=160, threads=1024, smem=200_000, cluster=8)
    sizes = (18, 18, 18, 16, 16, 16, 16, 14)

    def at_once(gpu: gs.GPU, **more: Any) -> tuple[int, Any]:
        run = gs.simulate.hierarchy(launches, gpu, **more)
        assert run.blocks is not None
        return int((run.blocks.start == 0).sum()), run.sms_per_gpc

    assert at_once(H100, sms_per_gpc=sizes) == (120, sizes)
    assert at_once(H100.replace(sms_per_gpc=sizes)) == (120, sizes)
    assert at_once(H100, sms_per_gpc=np.array(sizes)) == (120, sizes)
    assert at_once(H100, sms_per_gpc=18) == (112, (18,) * 7 + (6,))
    assert at_once(H100, sms_per_gpc=10**6) == (128, (132,))


def test_unknown_gpcs_have_eight_sms() -> None:
    gpu = H100.replace(sms_per_gpc=None)
    launches = gs.Launches([0], 10, blocks=160, threads=1024, smem=200_000, cluster=8)
    run = gs.simulate.hierarchy(launches, gpu)
    assert run.sms_per_gpc == (8,) * 16 + (4,)
    assert run.assumptions == ("the GPCs of the GPU are unknown: they have 8 SMs each",)
    with pytest.raises(ValueError, match=r"^cluster\[0\]: got 8, expected at most 4, the blocks"):
        gs.simulate.hierarchy(launches, gpu.replace(sms=4, sm_order="ascending"))
    message = (
        r"^cluster\[1\]: got 16, expected at most 8, as the GPCs .* \(sms_per_gpc gives them\)"
    )
    larger = gs.Launches([0, 1], 10, blocks=16, threads=64, cluster=[8, 16])
    with pytest.raises(ValueError, match=message):
        gs.simulate.hierarchy(larger, gpu)
    assert gs.simulate.hierarchy(larger, gpu, sms_per_gpc=18).assumptions == ()


def test_interference_needs_the_gpcs_that_it_depends_on() -> None:
    launches = gs.Launches([0, 0], 10, stream=[0, 1], interference=[[4, 2, 1, 1], [1] * 4])
    message = (
        r"^sms_per_gpc: got None, expected the SMs of a GPC, or of each: .* interference\[0\] "
        r"differs between SMs of one GPC and of others \(2, 1\)$"
    )
    with pytest.raises(ValueError, match=message):
        gs.simulate.hierarchy(launches, FOUR)
    assert gs.simulate.hierarchy(launches, FOUR, sms_per_gpc=[2, 2]).end.tolist() == [15, 10]
    assert gs.simulate.hierarchy(launches, FOUR, sms_per_gpc=[1, 3]).end.tolist() == [10, 10]
    same = launches.replace(interference=[4, 2, 2, 1])
    run = gs.simulate.hierarchy(same, FOUR)
    assert run.end.tolist() == [20, 20] and run.sms_per_gpc is None and run.assumptions == ()
    of_copies = [[1, 1, 1, 1], [1, 2, 3, 1]]
    other = launches.replace(kind=["kernel", "copy_in"], interference=of_copies)
    assert gs.simulate.hierarchy(other, FOUR).sms_per_gpc is None


# Channels of partitions


def two_partitions(**more: Any) -> gs.Launches:
    """Two green contexts of an SM each; three waves of blocks of the first, one of the second."""
    return gs.Launches(
        [0, 0],
        10,
        stream=[0, 1],
        blocks=[6, 1],
        threads=1024,
        stream_partition=[0, 1],
        partition_sms=[[0], [1]],
        **more,
    )


def test_partitions_may_share_channels() -> None:
    run = gs.simulate.hierarchy(two_partitions(), FOUR, channels=1)
    assert run.first.tolist() == [0, 0] and not run.shared_channels
    run = gs.simulate.hierarchy(two_partitions(), FOUR, channels=1, shared_channels=True)
    assert run.first.tolist() == [0, 20] and run.shared_channels
    assert run.why(1) == (
        "waited 0 .. 20 for all blocks of kernel 0 to start, which is before it in its channel"
    )
    run = gs.simulate.hierarchy(two_partitions(), FOUR, channels=2, shared_channels=True)
    assert run.first.tolist() == [0, 0]


def test_shared_channels_are_taken_in_the_order_of_streams() -> None:
    """Streams 0 and 2 have the first channel, which are of two partitions."""
    launches = gs.Launches(
        [0, 0, 0],
        10,
        stream=[0, 1, 2],
        blocks=[6, 1, 1],
        threads=1024,
        stream_partition=[0, 1, 1],
        partition_sms=[[0], [1, 2]],
    )
    run = gs.simulate.hierarchy(launches, FOUR, channels=2, shared_channels=True)
    assert run.first.tolist() == [0, 0, 20]
    # Those of another context are others.
    apart = gs.Launches(
        [0, 0], 10, stream=[0, 1], stream_context=[0, 1], blocks=[12, 1], threads=999
    )
    run = gs.simulate.hierarchy(apart, FOUR, channels=1, shared_channels=True, timeslice=5)
    assert run.joined.tolist() == [0, 0]


# Assumptions


def test_assumptions_about_copy_engines() -> None:
    gpu = FOUR.replace(copy_engines=None)
    said = ("the copy engines of the GPU are unknown: one serves both directions",)
    for launches in (copies("io"), copies("ii"), copies("io").replace(stream=0, stream_name=None)):
        run = gs.simulate.hierarchy(launches, gpu)
        assert run.copy_engines == ("both",) and run.assumptions == said
        assert gs.simulate.hierarchy(launches, gpu, copy_engines=1).assumptions == ()
        assert gs.simulate.hierarchy(launches, FOUR.replace(copy_engines=1)).assumptions == ()
    for launches in (gs.Launches([0, 1], 5, stream=[0, 1]), copies("i")):
        assert gs.simulate.hierarchy(launches, gpu).assumptions == ()


def test_assumptions_about_channels() -> None:
    gpu = FOUR.replace(channels=None)
    many = gs.Launches([0] * 9, 5, stream=range(9))
    said = ("the channels of the GPU are unknown: no limit on channels is assumed for 9 streams",)
    assert gs.simulate.hierarchy(many, gpu).assumptions == said
    assert gs.simulate.hierarchy(many, gpu, channels=0).assumptions == ()
    assert gs.simulate.hierarchy(many, gpu.replace(channels=0)).assumptions == ()
    assert gs.simulate.hierarchy(gs.Launches([0] * 8, 5, stream=range(8)), gpu).assumptions == ()
    apart = many.replace(stream_partition=[0] * 8 + [1])
    assert gs.simulate.hierarchy(apart, gpu).assumptions == ()
    assert gs.simulate.hierarchy(apart, gpu, shared_channels=True).assumptions == said


# Files


def test_runs_are_saved(tmp_path: Path) -> None:
    launches = copies("iio")
    for given in ({}, {"copy_engines": ["both", "in"], "sms_per_gpc": [1, 3]}):
        gpu = FOUR.replace(copy_engines=None) if not given else FOUR
        run = gs.simulate.hierarchy(launches, gpu, shared_channels=bool(given), **given)
        values = run._fields() | {"gpu": FOUR}
        run = gs.simulate.Hierarchy(**values)
        run.save(tmp_path / "run")
        again = gs.simulate.Hierarchy.load(tmp_path / "run")
        assert again == run and again.copy_engines == run.copy_engines
        assert again.assumptions == run.assumptions and again.sms_per_gpc == run.sms_per_gpc


@pytest.mark.parametrize("engines", [1, 2])
def test_files_with_numbers_of_engines(engines: int) -> None:
    """Of version 1: numbers of copy engines and of SMs per GPC, and no engine of each copy."""
    launches = gs.Launches([0, 1, 2], 9, kind=["kernel", "copy_in", "copy_out"], stream=[0, 1, 2])
    run = gs.simulate.hierarchy(launches, FOUR, copy_engines=engines, sms_per_gpc=3)
    values = run._fields() | {"copy_engines": engines, "sms_per_gpc": 3}
    for name in ("engine", "shared_channels", "assumptions"):
        del values[name]
    assert gs.simulate.Hierarchy._from_fields(values) == run
