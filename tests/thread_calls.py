"""Calls to be made by many threads on the same objects, and their comparison with one thread.

The functions of gpusched._core are called with the same arguments in every thread, among them one
policy; simulations, which one thread at a time may run, are opened by each call. The examples of
the docstrings are called with the objects that their docstrings have defined.
"""

from __future__ import annotations

import random
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from core_answers import good, plain
from documented_examples import examples_of, modules_of
from hostile_calls import named, public_names
from native import positional

import gpusched as gs

# Figures of whole papers, which take seconds, and the command line, which ends the process.
NOT_CALLED = ("gpusched.experiments.", "gpusched.cli.", "gpusched.__main__")
# Examples that share a lock by its name, and players, which play once.
NOT_CALLED += ("gpusched.rt.gpu_lock", "gpusched.rt.plan_player")
OWN = ("FifoSimulation.", "HostSimulation.", "HierarchySimulation.", "MachineSimulation.")


@dataclass(frozen=True)
class Call:
    """A call that can be repeated; its answer is compared by ``==``."""

    place: str
    make: Callable[[], Any]

    def answer(self) -> Any:
        return self.make()


def core_calls() -> Iterator[Call]:
    """Every function of the module, but those of a GPU, which need a device of their own
    (test_cuda.py), and of Arrow, whose capsules are not compared (test_arrow.py)."""
    for name in sorted(public_names()):
        if not name.lower().startswith(("cuda", "arrow_")):
            yield core_call(name)


def core_call(name: str) -> Call:
    def arguments() -> dict[str, Any]:
        values = good(name)
        return values | {"seconds": 0.0} if "seconds" in values else values  # no limit

    shared = arguments()

    def make() -> Any:
        values = arguments() if name.startswith(OWN) else shared
        return plain(name, positional(named(name))(*values.values()))

    return Call(f"_core.{name}", make)


def documented_calls() -> Iterator[Call]:
    """The examples of all docstrings but those left out."""
    for name in modules_of(gs):
        if not name.startswith(NOT_CALLED):
            for example in examples_of(name):
                yield Call(example.place, example.run)


def repeatable(calls: Sequence[Call]) -> tuple[list[tuple[Call, Any]], list[str]]:
    """Calls with the answer of one thread, and the places of those that answer anew every time.

    The latter change what they are called on (recorders of launches), or tell how long they took.
    """
    kept, others = [], []
    for call in calls:
        first = call.answer()
        if call.answer() == first:
            kept.append((call, first))
        else:
            others.append(call.place)
    return kept, others


@contextmanager
def frequent_switches() -> Iterator[None]:
    """Threads of an interpreter with a GIL take turns a hundred times as often."""
    usual = sys.getswitchinterval()
    sys.setswitchinterval(usual / 100)
    try:
        yield
    finally:
        sys.setswitchinterval(usual)


def together(threads: int, work: Callable[[int], object]) -> None:
    """Call work(0), work(1), ... at once, each in a thread; raise the first error of any."""
    start = threading.Barrier(threads)
    errors: list[BaseException] = []

    def run(number: int) -> None:
        try:
            start.wait()
            work(number)
        except BaseException as error:
            errors.append(error)

    started = [threading.Thread(target=run, args=(number,)) for number in range(threads)]
    with frequent_switches():
        for thread in started:
            thread.start()
        for thread in started:
            thread.join()
    if errors:
        raise errors[0]


def differences(
    expected: Sequence[tuple[Call, Any]], threads: int, rounds: int, seed: int
) -> list[str]:
    """Make every call in every thread so many times; the places and answers that differ.

    The first two threads have one order, so that equal calls meet; the others have orders of their
    own.
    """
    found: list[str] = []

    def work(number: int) -> None:
        chance = random.Random(seed + max(number, 1))
        for _ in range(rounds):
            order = list(expected)
            chance.shuffle(order)
            for call, answer in order:
                given = call.answer()
                if given != answer:
                    found.append(f"{call.place}: got {given!r}, alone {answer!r}"[:1000])

    together(threads, work)
    return found
