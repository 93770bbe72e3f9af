"""Good calls of the functions of gpusched._core, and the numbers that they answer with."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from hostile_calls import arguments

UNLIMITED: dict[str, Any] = {"bytes": 0, "seconds": 0.0, "stop": None}
# What an opened object answers later.
LATER: dict[str, Callable[[Any], Any]] = {
    "fifo_open": lambda it: (it.run(steps=1000, states=0, **UNLIMITED), it.result(), it.jobs()),
    "host_open": lambda it: (it.run(steps=1000, states=0, **UNLIMITED), it.result(), it.jobs()),
    "hierarchy_open": lambda it: (it.run(steps=1000, states=0, **UNLIMITED), it.ops(), it.blocks()),
    "machine_open": lambda it: (it.run(steps=1000, states=0, **UNLIMITED), it.result(), it.jobs()),
    "policy_open": lambda it: [it.choose(instant, [1, 1, 1]) for instant in range(4)],
}
# What no good call of hostile_calls has.
MORE = {"place": {"load": np.zeros((8, 5), np.int64)}}


def good(name: str) -> dict[str, Any]:
    """Good arguments of a function, by parameter."""
    return arguments(name) | MORE.get(name, {})


def plain(name: str, answer: Any) -> list[Any]:
    """The numbers of an answer without the times and the memory that a call took."""
    if name.startswith("CudaDevice."):  # times of its own: it is enough that nothing was refused
        return []
    if name == "graph_search":
        answer = {key: value for key, value in answer.items() if key not in ("seconds", "bytes")}
    if name == "pbs_search":
        answer = (answer[0][:4], *answer[1:])
    return list(leaves(LATER[name](answer) if name in LATER else answer))


def leaves(answer: Any) -> Iterator[Any]:
    if isinstance(answer, dict):
        answer = list(answer.values())
    if isinstance(answer, (tuple, list)):
        for item in answer:
            yield from leaves(item)
    else:
        yield answer.tolist() if isinstance(answer, np.ndarray) else answer
