"""Methods, enumerations and limits: said once in C, read by the package."""

from __future__ import annotations

import importlib
import inspect
import re
import typing
from pathlib import Path

import pytest
from native import CSRC

import gpusched as gs
from gpusched import _core
from gpusched._support import registry

METHODS = gs.methods()
TYPES = (
    *("boolean", "integer", "positive integer", "number", "time", "positive time"),
    *("integers", "times", "way", "data"),
)
TESTS = "\n".join(
    path.read_text(encoding="utf-8")
    for path in sorted(Path(__file__).parents[1].rglob("test_*.py"))
)


# Arguments that are no options: the model, the platform, and how the call ends.
INPUTS = {
    *("tasks", "table", "hosts", "launches", "workload", "platform"),
    *("threads", "gpu", "cpus", "sms", "stop", "progress", "budget", "options"),
}


def function_of(method: gs.Method) -> typing.Any:
    module, _, name = method.function.rpartition(".")
    return getattr(importlib.import_module(f"gpusched.{module}") if module else gs, name)


def check_type(option: gs.Option) -> None:
    if option.type == "choice":
        assert option.default is None or option.default in option.choices
    else:
        assert option.choices == () and option.type in TYPES
    assert option.meaning


def test_names_are_unique_and_found() -> None:
    names = [method.name for method in METHODS]
    assert len(names) == len(set(names)) == len(_core.METHODS) >= 18
    assert METHODS["mpcp"].function == "analysis.mpcp"
    with pytest.raises(KeyError, match="unknown method 'edf'"):
        METHODS["edf"]
    assert repr(METHODS).count("\n") == len(METHODS)
    assert METHODS._repr_html_().count("<tr>") == len(METHODS) + 1


@pytest.mark.parametrize("method", METHODS, ids=lambda method: method.name)
def test_descriptor_agrees_with_the_function(method: gs.Method) -> None:
    parameters = inspect.signature(function_of(method)).parameters
    models = ("KernelTasks", "KernelChains", "BatchTable", "HostTasks", "Programs", "Launches")
    models += ("Workload",)
    assert method.model in models
    assert method.claim in ("exact", "sufficient", "necessary", "simulation")
    assert method.source and method.summary.endswith(".")
    for option in method.options:
        assert option.name in parameters, f"{method.function} takes no {option.name}"
        default = parameters[option.name].default
        if option.default is not None:
            assert str(default) == option.default
            assert option.standard == default and type(option.standard) is type(default)
        check_type(option)
    listed = {option.name for option in method.options}
    assert set(parameters) - listed <= INPUTS, "an argument that the descriptor does not list"


@pytest.mark.parametrize("way", gs.ways.WAYS, ids=lambda way: way.name)
def test_parameters_of_a_way_have_known_types(way: gs.ways.Way) -> None:
    for option in way.parameters:
        check_type(option)


@pytest.mark.parametrize("method", METHODS, ids=lambda method: method.name)
def test_every_method_has_docstring_and_tests(method: gs.Method) -> None:
    name = method.function.rpartition(".")[2]
    assert inspect.getdoc(function_of(method))
    assert re.search(rf"\b{name}\(", TESTS), "no test calls it"


def test_enumerations_are_those_of_the_headers() -> None:
    """Every name stands at the position that its constant has in a header."""
    text = "".join(path.read_text(encoding="utf-8") for path in sorted(CSRC.rglob("*.h")))
    values = {name: int(n) for name, n in re.findall(r"\b(GS_[A-Z0-9_]+) = (\d+)", text)}
    source = (CSRC / "enumerations.c").read_text(encoding="utf-8")
    checked = 0
    for name, body in re.findall(r"\bconst (\w+)\[\] = \{(.*?)\};", source, re.DOTALL):
        listed = {key.upper().replace(".", "_"): value for key, value in _core.ENUMERATIONS.items()}
        items = listed.get(name)
        if items is None:
            continue
        for constant, text_of in re.findall(r'\[(GS_\w+)\] = "([^"]*)"', body):
            if constant in values:  # enumerations that count by themselves have no number
                assert items[values[constant]] == text_of
                checked += 1
    assert checked > 150
    assert all(all(isinstance(item, str) for item in items) for items in listed.values())


def test_every_enumeration_is_complete() -> None:
    """No enumeration of a public header misses a name: a gap would be a NULL in the table."""
    assert len(_core.ENUMERATIONS) >= 35
    for name, items in _core.ENUMERATIONS.items():
        assert len(items) == len(set(items)), name
        assert name.split(".")[0] in ("core", "model", "generate", "pbs", "analysis", "simulate",
                                      "io", "cuda", "rt")  # fmt: skip


def test_limits() -> None:
    assert registry.limit("pbs.tasks") == 24
    assert registry.limit("model.never") == (2**63 - 1) // 4
    assert all(value > 0 for value in _core.LIMITS.values())
