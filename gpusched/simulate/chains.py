"""Chains of jobs along a path of tasks, in pictures and traces of a run."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from gpusched._draw.timeline import Piece

__all__ = ["Chain", "Stage", "chain_pieces"]

_WAIT = "#999999"


@dataclass(frozen=True)
class Stage:
    """A job of a chain: when it has the result of the job before it, or was released, and its end.

    ``reads``: whether it reads that result, which does not release it.
    """

    task: int
    job: int
    start: int
    end: int
    reads: bool


@dataclass(frozen=True)
class Chain:
    """The jobs behind a time of a path, from its beginning to its end, in ticks of the run.

    ``name`` is that of the path, ``text`` also tells the time. ``before`` and ``after`` say what
    happens before the first job and after the last one, if the time has such parts.
    """

    name: str
    text: str
    since: int
    end: int
    stages: tuple[Stage, ...]
    before: str = ""
    after: str = ""


def chain_pieces(chain: Chain, lane: int, names: Sequence[str]) -> Iterator[Piece]:
    """The jobs of a chain in one lane, and pale what is between them: together, its time."""
    at, last = chain.since, ""
    for stage in chain.stages:
        name = f"{names[stage.task]} #{stage.job}"
        if stage.start > at:
            text = f"result of {last} before {name}" if last else chain.before
            yield Piece(lane, at, stage.start, text, _WAIT, style="idle", chained=True)
        yield Piece(
            lane,
            stage.start,
            stage.end,
            name,
            stage.task,
            label=str(stage.job),
            times={"length": stage.end - stage.start},
            chained=True,
        )
        at, last = stage.end, name
    if chain.end > at:
        yield Piece(lane, at, chain.end, chain.after, _WAIT, style="idle", chained=True)
