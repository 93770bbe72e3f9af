"""Examples in the docstrings of the package: they run, and every public name has one.

Those of gs.analysis, gs.comparison, gs.io and gs.pbs run in ``test_docstrings_answers.py``, those
of gs.model in ``test_model_docs.py``.
"""

from __future__ import annotations

import doctest
import importlib
import importlib.util
import inspect
import pkgutil
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

import gpusched as gs
from gpusched import _support, cuda, experiments, generate, simulate, study

pytestmark = pytest.mark.python

MODULES = [
    info.name
    for package in (_support, cuda, experiments, generate, simulate, study)
    for info in pkgutil.walk_packages(package.__path__, f"{package.__name__}.")
]

HAS_XARRAY = importlib.util.find_spec("xarray") is not None

# A type of typing and exceptions of the core.
WITHOUT = {"gs.simulate.Order", "gs.Cancelled", "gs.cuda.CudaError"}


@pytest.mark.parametrize("name", MODULES)
def test_examples(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(Path(__file__).parents[2])  # of the files that examples read
    module = importlib.import_module(name)
    runner = doctest.DocTestRunner()
    for test in doctest.DocTestFinder().find(module, extraglobs={"gs": gs, "np": np}):
        if HAS_XARRAY or ".to_xarray(" not in (test.docstring or ""):
            runner.run(test)
    assert runner.failures == 0


def public(module: ModuleType, name: str) -> Iterator[tuple[str, object]]:
    """Public functions and classes, by the name that is written first."""
    for member in sorted(dir(module)):
        value = getattr(module, member)
        if member.startswith("_"):
            continue
        if inspect.ismodule(value):
            yield from public(value, f"{name}.{member}")
        elif callable(value):
            yield f"{name}.{member}", value


def test_every_public_function_and_class_has_an_example() -> None:
    finder = doctest.DocTestFinder()
    named = {id(value): (name, value) for name, value in public(gs, "gs")}
    assert len(named) > 200
    lacking = {
        name
        for name, value in named.values()
        if not any(test.examples for test in finder.find(value, name, module=False))
    }
    assert lacking == WITHOUT
