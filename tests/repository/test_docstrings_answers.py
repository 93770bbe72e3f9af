"""Examples in the docstrings of gs.analysis, gs.io, gs.pbs and of the answers' base."""

import doctest
import importlib
import pkgutil
from pathlib import Path

import numpy as np
import pytest

import gpusched as gs
from gpusched import analysis, comparison, io, pbs

pytestmark = pytest.mark.python

MODULES = [
    "gpusched.model.answer",
    *(
        info.name
        for package in (analysis, comparison, io, pbs)
        for info in pkgutil.walk_packages(package.__path__, f"{package.__name__}.")
    ),
]


@pytest.mark.parametrize("name", MODULES)
def test_examples(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(Path(__file__).parents[2])  # of the files that examples read
    module = importlib.import_module(name)
    found = doctest.testmod(module, extraglobs={"gs": gs, "np": np}, report=True)
    assert found.failed == 0


def test_every_method_has_an_example() -> None:
    methods = [getattr(analysis, name) for name in analysis.__all__ if name.islower()]
    methods += [pbs.search, pbs.edf_serial, pbs.edf_parallel, pbs.graph.search]
    methods += [pbs.partition, pbs.margin]
    assert len(methods) >= 25
    for method in methods:
        assert ">>>" in method.__doc__, method.__name__
