"""Warps on an SM: loose round-robin and a plain twin, Figure 6, block times, errors."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

import gpusched as gs


def cycle_by_cycle(
    scheduler: list[int],
    integer: list[int],
    floating: list[int],
    interval: int,
    latency: int,
    separate: bool,
) -> list[int]:
    """Simulation of the model cycle by cycle; an instruction is "i" or "f"."""
    finish = [0] * len(scheduler)
    for s in set(scheduler):
        mine = [w for w in range(len(scheduler)) if scheduler[w] == s]
        todo = {}
        for w in mine:
            n = integer[w] + floating[w]
            parts = [k * integer[w] // n for k in range(n + 1)] if n else []
            todo[w] = ["i" if b > a else "f" for a, b in itertools.pairwise(parts)]
        ready = dict.fromkeys(mine, 0)
        busy = {"i": 0, "f": 0}
        last, now = len(mine) - 1, 0
        while any(todo.values()):
            for k in range(1, len(mine) + 1):
                at = (last + k) % len(mine)
                w = mine[at]
                if not todo[w] or ready[w] > now:
                    continue
                pipe = todo[w][0] if separate else "f"
                if busy[pipe] > now:
                    continue
                todo[w].pop(0)
                busy[pipe] = now + interval
                ready[w] = finish[w] = now + latency
                last = at
                break
            now += 1
    return finish


def test_agrees_with_a_cycle_by_cycle_twin() -> None:
    rng = np.random.default_rng(1)
    for _ in range(150):
        n = int(rng.integers(1, 9))
        scheduler = rng.integers(0, 3, n).tolist()
        integer, floating = rng.integers(0, 12, n).tolist(), rng.integers(0, 12, n).tolist()
        interval, latency = int(rng.integers(1, 5)), int(rng.integers(1, 9))
        separate = bool(rng.integers(2))
        found = gs.simulate.warps(
            integer,
            floating,
            scheduler=scheduler,
            interval=interval,
            latency=latency,
            separate=separate,
        )
        twin = cycle_by_cycle(scheduler, integer, floating, interval, latency, separate)
        assert found.tolist() == twin


def test_figure_6() -> None:
    """[RTAS20]: 8 of 16 warps integer halve the time on Volta and do nothing on Pascal."""
    length = 10_000
    half = np.arange(16) < 8
    for separate, share in ((True, 0.5), (False, 1.0)):
        options: dict[str, Any] = {"separate": separate, "interval": 2, "latency": 4}
        baseline = gs.simulate.warps(0, [length] * 16, **options).max()
        mixed = gs.simulate.warps(length * half, length * ~half, **options).max()
        assert mixed / baseline == pytest.approx(share, abs=1e-3)


def test_warps_share_fairly_and_alone_they_wait() -> None:
    alone = gs.simulate.warps(0, [100], interval=1, latency=6)
    assert alone.tolist() == [600]
    # As many warps as the latency has cycles cost nothing: their gaps are filled.
    six = gs.simulate.warps(0, [100] * 6, schedulers=1, interval=1, latency=6)
    assert six.tolist() == [600, 601, 602, 603, 604, 605]
    twelve = gs.simulate.warps(0, [100] * 12, schedulers=1, interval=1, latency=6)
    assert twelve.max() == 1205 and twelve.min() == 1194
    assert gs.simulate.warps([], []).tolist() == []
    assert gs.simulate.warps(0, [0, 3]).tolist() == [0, 12]
    assert not six.flags.writeable


def test_block_times() -> None:
    one = gs.simulate.block_times(1, 8, 0, 1000)
    four = gs.simulate.block_times(4, 8, 0, 1000)
    assert len(one) == 1 and len(four) == 4
    assert four.max() / one.max() == pytest.approx(4, abs=0.02)
    # As a kernel's execution time: the SM holds as many blocks as fit.
    gpu = gs.GPU.preset("Xavier")
    held = gs.occupancy(gpu, 256)
    duration = int(gs.simulate.block_times(held, 256 // 32, 0, 1000).max())
    launches = gs.Launches([0], duration, blocks=gpu.sms * held, threads=256)
    assert gs.simulate.hierarchy(launches, gpu).end.tolist() == [duration]
    uneven = gs.simulate.block_times(2, 3, [1, 2, 3], 0)
    assert uneven.shape == (2,)


@pytest.mark.parametrize(
    ("call", "error", "text"),
    [
        (lambda: gs.simulate.warps([-1], 0), ValueError, r"integer\[0\]: got -1, expected a"),
        (lambda: gs.simulate.warps(0, [1, -1]), ValueError, r"floating\[1\]: got -1, expected a"),
        (
            lambda: gs.simulate.warps(0, 5),
            ValueError,
            "warps: got integer .* expected one entry per warp",
        ),
        (
            lambda: gs.simulate.warps([1, 2], [1, 2, 3]),
            ValueError,
            "warps: got integer .* expected one entry per warp",
        ),
        (lambda: gs.simulate.warps(0, [1], interval=0), ValueError, "interval: got 0"),
        (lambda: gs.simulate.warps(0, [1], latency=0), ValueError, "latency: got 0"),
        (lambda: gs.simulate.warps(0, [1], schedulers=0), ValueError, "schedulers: got 0"),
        (lambda: gs.simulate.warps(0, [1], scheduler=-1), ValueError, "scheduler: got -1,"),
        (lambda: gs.simulate.warps(0, [2**62]), OverflowError, r"floating\[0\]: got"),
        (lambda: gs.simulate.warps(0, ["x"]), TypeError, r"floating"),
        (lambda: gs.simulate.block_times(0, 1, 1, 1), ValueError, "blocks: got 0"),
        (lambda: gs.simulate.block_times(1, 0, 1, 1), ValueError, "warps: got 0"),
        (
            lambda: gs.simulate.block_times(2**40, 9, 1, 1),
            ValueError,
            "blocks: got .* warps, expected at most",
        ),
        (lambda: gs.simulate.block_times(1, 2, [1], 1), ValueError, r"integer: got shape \(1,\)"),
    ],
)
def test_refusals(call: Any, error: type[Exception], text: str) -> None:
    with pytest.raises(error, match=text):
        call()
