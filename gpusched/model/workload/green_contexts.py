"""Green contexts of a platform: tasks of one process, and the SMs that their kernels run on."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from gpusched._support.arguments import integer, is_sequence
from gpusched._support.text import shown
from gpusched.model.gpu import GPU
from gpusched.model.gpus.capabilities import partition_unit
from gpusched.model.workload.facts import label

__all__ = ["GreenContexts", "green_context_text", "green_contexts_of", "green_sms"]

GreenContexts = (
    Mapping[str | tuple[str, ...], int | Sequence[int]]
    | Sequence[tuple[str | Sequence[str], int | Sequence[int]]]
    | None
)
"""Argument of a platform: a task or several, and the number of SMs or the SMs themselves."""

Entry = tuple[tuple[str, ...], int | tuple[int, ...]]


def green_contexts_of(given: Any, gpu: GPU | None, *, together: bool = True) -> tuple[Entry, ...]:
    """Tasks and SMs of each green context, checked: they fit the GPU together.

    ``together``: with co-scheduling of SMs, which decides their number.

    Raises ValueError and TypeError, with the task.
    """
    if gpu is None:
        raise ValueError(f"green_contexts: got {shown(given)} without a GPU, expected one")
    if not isinstance(given, Mapping) and not is_sequence(given):
        raise TypeError(
            f"green_contexts: got {shown(given)}, expected SMs by task, as {{'camera': 8}}"
        )
    rows = list(given.items()) if isinstance(given, Mapping) else [_pair(row) for row in given]
    found = [(_tasks(tasks), sms) for tasks, sms in rows]
    if not found:
        raise ValueError("green_contexts: got none, expected at least one, or None")
    seen: set[str] = set()
    for tasks, _ in found:
        for task in tasks:
            if task in seen:
                raise ValueError(
                    f"green_contexts: got {shown(task)} twice, expected each task in one of them"
                )
            seen.add(task)
    entries = tuple((tasks, _sms(tasks, sms, gpu)) for tasks, sms in found)
    _refuse_misfits(entries, gpu, partition_unit(gpu.cc, together=together))
    return entries


def green_sms(entries: Sequence[Entry], gpu: GPU) -> list[tuple[int, ...]]:
    """The SMs of each green context: numbers of SMs take the first that are free."""
    taken = {sm for _, sms in entries if not isinstance(sms, int) for sm in sms}
    free = iter([sm for sm in range(gpu.sms) if sm not in taken])
    return [
        tuple(next(free) for _ in range(sms)) if isinstance(sms, int) else sms for _, sms in entries
    ]


def green_context_text(entries: Sequence[Entry]) -> str:
    """Tasks and SMs of all green contexts, in a line."""
    parts = []
    for tasks, sms in entries:
        count = sms if isinstance(sms, int) else len(sms)
        parts.append(f"{' + '.join(tasks)} {count} SMs")
    return ", ".join(parts)


def _pair(row: Any) -> tuple[Any, Any]:
    if isinstance(row, str) or not is_sequence(row) or len(row := list(row)) != 2:
        raise TypeError(f"green_contexts: got {shown(row)}, expected a pair of tasks and SMs")
    tasks, sms = row
    return tasks, sms


def _tasks(given: Any) -> tuple[str, ...]:
    if is_sequence(given) and (tasks := list(given)):
        return tuple(label(task, "green_contexts") for task in tasks)
    return (label(given, "green_contexts"),)


def _sms(tasks: tuple[str, ...], given: Any, gpu: GPU) -> int | tuple[int, ...]:
    where = f"green_contexts[{shown(tasks[0] if len(tasks) == 1 else tasks)}]"
    if not is_sequence(given):
        count = integer(given, where)
        if not 1 <= count <= gpu.sms:
            raise ValueError(f"{where}: got {count} SMs, expected 1 to {gpu.sms}")
        return count
    found = tuple(integer(sm, where) for sm in given)
    if not found:
        raise ValueError(f"{where}: got no SMs, expected at least one")
    for i, sm in enumerate(found):
        if not 0 <= sm < gpu.sms:
            raise ValueError(f"{where}: got SM {sm}, expected SMs from 0 to {gpu.sms - 1}")
        if sm in found[:i]:
            raise ValueError(f"{where}: got SM {sm} twice, expected each SM once")
    return found


def _refuse_misfits(entries: tuple[Entry, ...], gpu: GPU, unit: int) -> None:
    """Raise ValueError for SMs in two green contexts, and for impossible numbers of SMs.

    A split of the SMs leaves a remainder: if all SMs are assigned, one green context may have any
    number of SMs.
    """
    taken: set[int] = set()
    total, odd = 0, []
    for tasks, sms in entries:
        where = f"green_contexts[{shown(tasks[0] if len(tasks) == 1 else tasks)}]"
        count = sms if isinstance(sms, int) else len(sms)
        total += count
        if total > gpu.sms:
            raise ValueError(
                f"{where}: got {count} SMs, expected at most {gpu.sms - total + count}, those that "
                "others leave"
            )
        for sm in () if isinstance(sms, int) else sms:
            if sm in taken:
                raise ValueError(f"{where}: got SM {sm}, expected SMs of no other green context")
            taken.add(sm)
        if count % unit:
            odd.append((where, count))
    for where, count in odd[0 if total < gpu.sms else 1 :][:1]:
        flag = " (or of 2 with sm_coscheduling=False, --no-sm-coscheduling)" if unit > 2 else ""
        raise ValueError(
            f"{where}: got {count} SMs, expected a multiple of {unit}{flag}, or for one green "
            f"context the rest of the {gpu.sms} SMs"
        )
