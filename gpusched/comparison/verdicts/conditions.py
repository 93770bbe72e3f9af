"""Conditions of guarantees that are not shown."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, dataclass
from typing import Any

from gpusched.comparison.saved_values import FieldValues, within

__all__ = ["Condition", "conditions_of", "conditions_values"]


@dataclass(frozen=True)
class Condition:
    """Condition of a guarantee that the package has not shown.

    >>> kernel = gs.Kernel("1ms", blocks=8, threads=256)
    >>> w = gs.Workload([gs.Task(name, "20ms", [gs.CPU("2ms"), kernel]) for name in "ab"], "us")
    >>> [condition] = gs.analyze(w, gs.Platform("Xavier", cpus=1), "pbs").conditions
    >>> print(condition)
    CPU work is not delayed by other tasks: 2 threads on 1 CPU (a CPU for each of them shows it: \
--cpus 2)
    >>> condition.premise, condition.tasks
    ('cpu_alone', ('a', 'b'))

    Attributes
    ----------
    premise
        Name of the premise of the test.
    text
        The condition in words.
    tasks
        Names of the tasks that it is about.
    remedy
        How to ensure it; "" if the package knows no way.
    """

    premise: str
    text: str
    tasks: tuple[str, ...] = ()
    remedy: str = ""

    def __str__(self) -> str:
        return f"{self.text} ({self.remedy})" if self.remedy else self.text


def conditions_values(conditions: Iterable[Condition]) -> tuple[dict[str, Any], ...]:
    """The fields of conditions, for documents and files."""
    return tuple(map(asdict, conditions))


def conditions_of(given: FieldValues) -> tuple[Condition, ...]:
    """The conditions of `conditions_values` in the field ``conditions``."""
    found = []
    for i, values in enumerate(given.dicts("conditions")):
        with within(f"conditions[{i}]"):
            one = FieldValues(values)
            made = Condition(
                one.text("premise"), one.text("text"), one.texts("tasks"), one.text("remedy")
            )
            one.done()
            found.append(made)
    return tuple(found)
