"""Programs that got a wrong verdict once, with the numbers under which they are listed.

``G`` is a GPU of 2 SMs, 1,024 threads and 8 blocks each; ``K(t)`` a kernel of 1 block of 256
threads. Two CPUs, no slowdown, one copy engine, unless said otherwise.
"""

from __future__ import annotations

from typing import Any

import gpusched as gs

__all__ = ["known_programs"]


def G(sms: int = 2) -> gs.GPU:
    return gs.GPU(sms=sms, threads_per_sm=1024, blocks_per_sm=8)


def K(time: int | str, blocks: int = 1) -> gs.Kernel:
    return gs.Kernel(time, blocks=blocks, threads=256)


def P(cpus: int = 2, gpu: gs.GPU | str | None = None, **more: Any) -> gs.Platform:
    facts: dict[str, Any] = {"slowdown": None, "copy_engines": 1, **more}
    return gs.Platform(G() if gpu is None else gpu, cpus=cpus, **facts)


def W(*tasks: gs.Task, tick: str = "ns") -> gs.Workload:
    return gs.Workload(tasks, tick=tick)


def T(name: str, period: int | str, *segments: gs.Segment, **facts: Any) -> gs.Task:
    return gs.Task(name, period, segments, **facts)


C, In, Out = gs.CPU, gs.CopyIn, gs.CopyOut


def known_programs() -> dict[int, tuple[gs.Workload, gs.Platform]]:
    """The programs by their numbers; 14 and 22 are about other functions, and left out."""
    full = gs.Kernel("1ms", blocks=2, threads=1024)
    camera = T("camera", 330, C(10), In(5), K(20, 4), Out(2), deadline=100)
    recorder = T("recorder", 2000, C(10), K(30, 4), C(20), Out(200))
    section = (In(10), K(1), Out(10))
    share = gs.Kernel(blocks=1, threads=256, sms={1: 100, 2: 10})
    return {
        1: (W(T("control", 10, C(6), deadline=5), T("det", 20, K(1))), P(8)),
        2: (
            W(T("a", 20, C(6), deadline=6), T("b", 20, C(4), deadline=5, offset=3),
              T("k", 20, K(1))),
            P(1),
        ),
        3: (
            W(T("a", "10ms", C("6ms"), K("0.5ms")),
              T("b", "100ms", C("35ms"), K("0.5ms"), deadline="50ms"), tick="us"),
            P(1, "A100"),
        ),
        4: (
            W(T("a", 20, C(4), K(1), deadline=6), T("b", 20, C(4), K(1), deadline=6, offset=1)),
            P(1),
        ),
        5: (W(T("A", 8, In(5), K(3), Out(5), deadline=20), T("B", 100, K(1))), P()),
        6: (
            W(T("A", 9, In(1), K(3), Out(4), deadline=18), T("B", 18, K(8))),
            P(gpu=gs.GPU(sms=1, threads_per_sm=256, blocks_per_sm=8)),
        ),
        7: (W(T("A", 8, In(9), K(3), deadline=40), T("B", 100, K(1), K(1))), P()),
        8: (W(T("A", 200, In(50), K(5)), T("B", 20, In(1), K(1))), P()),
        9: (W(camera, recorder), P()),
        10: (
            W(T("A", 400, *[In(1)] * 4, K(1), deadline=30), T("B", 300, *section, *section)), P()
        ),
        11: (W(T("A", 100, In(50), K(1)), T("B", 100, In(1), K(1), K(1), deadline=10)), P()),
        12: (W(T("A", 100, C(1), K(5)), T("B", 20, C(1), K(1))), P(context_switch=10)),
        13: (
            W(T("a", 200, share, deadline=60, process="a"), T("b", 200, K(1), process="b")),
            P(mps={"a": 50}),
        ),
        15: (
            W(T("a", "33ms", K("15ms", 80), deadline="16ms"),
              tick="ms"),
            P(),
        ),
        16: (
            W(T("a", "33ms", K("14ms", 48), deadline="14ms"),
              tick="us"),
            P(),
        ),
        17: (
            W(T("a", 20, C(9)), T("b", 30, C(12)), T("c", 30, C(10)), T("d", 20, C(8), C(3))),
            P(),
        ),
        18: (
            W(T("A", 20, K(2), C(10), K(2)), T("B", 20, K(8), deadline=10)), P(slowdown=3)
        ),
        19: (
            W(T("fast", "10ms", full, deadline="5ms"), T("net", "100ms", full.replace(repeat=25)),
              tick="us"),
            P(),
        ),
        20: (W(T("A", 11, K(6), Out(6))), P()),
        21: (W(T("a", 12, K(2)), T("b", 12, K(4)), T("c", 4, K(2))), P(3)),
        23: (
            W(T("upload", "300ms", In("5ms"), K("5ms")),
              *(T(f"t{i}", "10ms", C("1ms"), K("6ms", 8)) for i in range(3)), tick="us"),
            P(4),
        ),
    }  # fmt: skip
