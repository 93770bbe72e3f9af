"""Carve-outs for shared memory in the hierarchy: observed runs, preferences, reasons.

Source: [RTAS20], section III-C2; two runs on a V100, rebuilt from their kernels and block times.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import gpusched as gs
from gpusched.simulate import hierarchy

V100 = gs.GPU.preset("V100")
IGNORED = V100.replace(carveout_rule="ignore")
US = 1000
MS = 1000 * US
S = 1000 * MS


def run_a() -> gs.Launches:
    """Three streams: twice 80 blocks without shared memory, then 320 with 40,960 bytes."""
    return gs.Launches(
        [0, 1100 * US, 2100 * US],
        [2 * S, 3 * S, 4 * S],
        stream=[0, 1, 2],
        blocks=[80, 80, 320],
        threads=1024,
        smem=[0, 0, 40_960],
        name=["K1", "K2", "K3"],
    )


def run_b() -> gs.Launches:
    """Stream 1: three kernels without shared memory. Streams 2 and 3: first one with 32 KB."""
    return gs.Launches(
        [0, 0, 0, S // 5, 2 * S // 5, 16 * S // 5],
        S,
        stream=[0, 0, 0, 1, 2, 1],
        blocks=[6, 2, 2, 4, 2, 2],
        threads=[768, 512, 1024, 256, 256, 512],
        smem=[0, 0, 0, 32 * 1024, 32 * 1024, 0],
        name=["K1", "K2", "K3", "K4", "K5", "K6"],
    )


def starts(run: gs.simulate.Hierarchy, kernel: int) -> dict[int, int]:
    """Number of a kernel's blocks by start."""
    assert run.blocks is not None
    times = run.blocks.start[run.blocks.kernel == kernel]
    return dict(
        zip(*(column.tolist() for column in np.unique(times, return_counts=True)), strict=True)
    )


def sms(run: gs.simulate.Hierarchy, kernel: int) -> set[int]:
    assert run.blocks is not None
    return set(run.blocks.sm[run.blocks.kernel == kernel].tolist())


@pytest.mark.parametrize("rule", ["match", "at_least"])
def test_a_kernel_with_shared_memory_waits_for_those_without(rule: Any) -> None:
    """Observed: K3 starts 1,001 ms after there is room for it, when K2 ends."""
    run = hierarchy(run_a(), V100.replace(carveout_rule=rule))
    k1, k2 = run.end[:2].tolist()
    assert (k1, k2) == (2 * S, 3 * S + 1100 * US)
    assert starts(run, 2) == {k2: 160, k2 + 4 * S: 160}
    assert k2 - k1 == 1001 * MS + 100 * US
    assert run.why(2).splitlines() == [
        "waited 2100000 .. 3001100000 for room: most SMs run blocks of kernels with another "
        "carve-out for shared memory, until SM 0 had room",
        "waited 3001100000 .. 7001100000 for room for its other blocks: no SM has enough free "
        "warps, until SM 0 had room",
    ]


def test_by_room_alone_it_starts_too_early() -> None:
    run = hierarchy(run_a(), IGNORED)
    assert starts(run, 2) == {2 * S: 80, 3 * S + 1100 * US: 80, 6 * S: 80, 7 * S + 1100 * US: 80}
    assert run.first[2] == run.end[0]


@pytest.mark.parametrize("rule", ["match", "at_least"])
def test_kernels_with_shared_memory_avoid_the_sms_of_those_without(rule: Any) -> None:
    """Observed: all 18 blocks on SMs that the rule gives; 10 of 18 by room alone."""
    run = hierarchy(run_b(), V100.replace(carveout_rule=rule))
    assert run.first[[3, 4]].tolist() == [S // 5, 2 * S // 5]
    assert not (sms(run, 3) | sms(run, 4)) & sms(run, 0)
    assert run.first.tolist() == [0, S, 2 * S, S // 5, 2 * S // 5, 16 * S // 5]
    by_room = hierarchy(run_b(), IGNORED)
    assert by_room.first.tolist() == run.first.tolist()
    assert run.blocks is not None and by_room.blocks is not None
    assert len(run.blocks.sm) == len(by_room.blocks.sm) == 18
    assert (run.blocks.sm == by_room.blocks.sm).sum() == 10


def test_a_preferred_carveout_lets_kernels_share_an_sm() -> None:
    """With identical configurations, kernels overlap."""
    pair: dict[str, Any] = {"stream": [0, 1], "blocks": [80, 80], "smem": [0, 8192], "threads": 96}
    apart = gs.Launches([0, 1], 100, **pair)
    assert hierarchy(apart, V100).first.tolist() == [0, 100]
    same = apart.replace(carveout=65_536)
    assert hierarchy(same, V100).first.tolist() == [0, 1]
    # The next larger of the possible ones; at least one block; at most all of it.
    for given in ([40_000, 65_536], [98_304, 10**9], [0, 0]):
        first = hierarchy(apart.replace(carveout=given), V100).first.tolist()
        assert first == ([0, 100] if given == [0, 0] else [0, 1])
    assert hierarchy(apart.replace(carveout=[8192, 0]), V100).first.tolist() == [0, 1]
    assert hierarchy(apart.replace(carveout=[65_536, 0]), V100).first.tolist() == [0, 100]
    at_least = V100.replace(carveout_rule="at_least")
    assert hierarchy(apart.replace(carveout=[65_536, 0]), at_least).first.tolist() == [0, 1]
    assert hierarchy(apart.replace(carveout=[65_536, 0]), IGNORED).first.tolist() == [0, 1]


def test_carveouts_of_launches() -> None:
    made = gs.Launches([0, 1], 5, kind=["kernel", "copy_in"], stream=0, carveout=4096)
    assert made.carveout.tolist() == [4096, -1]  # copies have none
    assert (
        "carveout" in made._repr_html_()
        and "carveout" not in made.replace(carveout=-1)._repr_html_()
    )
    work = gs.Launches.build()
    stream = work.stream()
    work.kernel(stream, duration=5, carveout=4096)
    work.kernel(stream, duration=5)
    assert work.done().carveout.tolist() == [4096, -1]
    with pytest.raises(ValueError, match=r"carveout\[0\]: got -2, expected"):
        gs.Launches([0], 5, carveout=-2)


def test_contexts_have_carveouts_of_their_own() -> None:
    """A context that gets the GPU finds the SMs as it left them."""
    pair = gs.Launches(
        [0, 0], 10, stream=[0, 1], stream_context=[0, 1], blocks=80, threads=1024, smem=[0, 8192]
    )
    run = hierarchy(pair, V100, timeslice=4)
    assert run.first.tolist() == [0, 4]


def test_channels_are_those_of_the_gpu() -> None:
    """A stream that shares its channel waits until the earlier kernel is fully dispatched."""
    many = gs.Launches([0, 0, 0], 10, stream=[0, 1, 2], blocks=[17, 1, 1], threads=1024)
    xavier = gs.GPU.preset("Xavier")
    run = hierarchy(many, xavier)
    assert run.channels == 2
    assert hierarchy(many, xavier, channels=0).channels is None
    assert hierarchy(many, xavier.replace(channels=0)).channels is None
    assert hierarchy(many, xavier, channels=5).channels == 5
    assert hierarchy(many, xavier.replace(channels=None)).channels is None


def test_copy_engines_of_the_gpu() -> None:
    both = gs.Launches([0, 0], 10, kind=["copy_in", "copy_out"], stream=[0, 1])
    assert hierarchy(both, "A100").copy_engines == ("in", "out")
    assert hierarchy(both, "A100").end.tolist() == [10, 10]
    assert hierarchy(both, "Xavier").end.tolist() == [10, 20]
