"""Answers for workloads as text: a table of the tasks, the verdict, setup and assumptions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from gpusched._support.text import clip
from gpusched.cli.command_parts import columns

if TYPE_CHECKING:
    from gpusched._support.arguments import Int64Array
    from gpusched.comparison.workload_answer import WorkloadAnswer

__all__ = ["RULES", "response_table", "stated", "titled", "verdict_line"]

RULES = "rules of GPUs that are not documented"
"""Heading of their list."""


def verdict_line(answer: WorkloadAnswer) -> str:
    """Way, verdict and claim."""
    return f"{answer.label}: {answer.verdict} ({answer.claim} test)"


def response_table(answer: WorkloadAnswer, *more: tuple[str, Int64Array]) -> str:
    """Deadline, response and slack of each task; ``more``: further columns, name and values."""
    from gpusched.comparison.comparison_text import signed_time
    from gpusched.comparison.workload_answer import known_at
    from gpusched.model.workload.time_units import time_with_unit

    workload, slacks = answer.workload, answer.slack
    rows: list[Sequence[str]] = [
        ("task", *(name for name, _ in more), "deadline", "response", "slack")
    ]
    for i, task in enumerate(workload):
        response, slack = known_at(answer.response, i), known_at(slacks, i)
        bound = "–" if response is None else time_with_unit(response, workload.tick_ns)
        if response is not None and not answer.bounded[i]:
            bound = f"{bound} or more"
        rows.append(
            (
                clip(task.name, 40),
                *(str(values[i]) for _, values in more),
                time_with_unit(task.deadline, workload.tick_ns),
                bound,
                "–" if slack is None else signed_time(slack, workload.tick_ns),
            )
        )
    return columns(rows)


def stated(answer: WorkloadAnswer) -> str:
    """Setup, assumptions, rules of GPUs: each a list under its heading after an empty line."""
    lists = (
        ("setup", answer.setup),
        ("assumptions", answer.assumptions),
        (RULES, tuple(map(str, answer.rules))),
    )
    return "\n".join(titled(title, texts) for title, texts in lists if texts)


def titled(title: str, texts: Sequence[str]) -> str:
    """A list under its heading after an empty line."""
    return "\n".join([f"\n{title}:", *(f"- {clip(text, 400)}" for text in texts)])
