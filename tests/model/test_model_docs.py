"""Examples in docstrings of gpusched.model run; its public functions have complete types."""

from __future__ import annotations

import doctest
import importlib
import inspect
import pkgutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import gpusched as gs
import gpusched.model

pytestmark = pytest.mark.python

MODULES = sorted(
    info.name.removeprefix("gpusched.model.")
    for info in pkgutil.walk_packages(gpusched.model.__path__, "gpusched.model.")
)
PUBLIC = [
    *(gs.GPU, gs.KernelTasks, gs.HostTasks, gs.Launches, gs.BatchTable, gs.Schedule, gs.Placement),
    *(gs.profiles.Profile, gs.place, gs.occupancy),
    *(gs.Workload, gs.Task, gs.CPU, gs.CopyIn, gs.CopyOut, gs.Kernel, gs.Platform),
]
# An int or a list and a float or an array, as is_stack says; keys of a mapping, which mypy takes
# as exactly the type said; a property of every JSON of a trace.
LOOSE = {
    "KernelTasks.hyperperiod",
    "HostTasks.hyperperiod",
    "KernelTasks.utilization",
    "BatchTable.from_dict",
    "GPU.from_properties",
    "HostTasks.from_segments",
}


def load(name: str) -> Any:
    return importlib.import_module(f"gpusched.model.{name}")


@pytest.mark.parametrize("name", MODULES)
def test_examples(name: str) -> None:
    pytest.importorskip("pandas")
    found = doctest.testmod(load(name), extraglobs={"gs": gs, "np": np})
    assert found.failed == 0


@pytest.mark.parametrize("public", PUBLIC, ids=lambda public: public.__name__)
def test_every_public_class_and_function_has_an_example(public: Any) -> None:
    finder = doctest.DocTestFinder()
    examples = [test for test in finder.find(public) if test.examples]
    assert examples or public is gs.Placement  # made by place, which has one


def signatures(public: Any) -> list[tuple[str, Any]]:
    if not inspect.isclass(public):
        return [(public.__name__, public)]
    found = [(f"{public.__name__}.__init__", public.__init__)]
    for name, member in inspect.getmembers_static(public):
        if name.startswith("_"):
            continue
        function = getattr(member, "__func__", getattr(member, "fget", member))
        if inspect.isfunction(function):
            found.append((f"{public.__name__}.{name}", function))
    return found


@pytest.mark.parametrize("public", PUBLIC, ids=lambda public: public.__name__)
def test_public_types_are_complete(public: Any) -> None:
    for name, function in signatures(public):
        if name in LOOSE:
            continue
        for parameter, annotation in function.__annotations__.items():
            loose = str(annotation).replace("NDArray[Any]", "").replace("Mapping[str, Any]", "")
            assert "Any" not in loose or parameter.startswith("_"), f"{name}: {parameter}"


@pytest.mark.source
def test_a_misspelt_name_fails_under_mypy(tmp_path: Path) -> None:
    pytest.importorskip("mypy")
    path = tmp_path / "misspelt.py"
    lines = {
        "tasks.wect": "attr-defined",
        "tasks.replace(wect=1)": "call-arg",
        "tasks['a'].perod": "attr-defined",
        "gs.occupancy(gpu, 32).shape": "attr-defined",
        "gs.place(gpu, 1, 32, policy='most_room')": "call-arg",
        "gs.place(gpu, 1, 32).load": "",
        "hosts.select('a').replace(priority=[1]).prority": "attr-defined",
        "launches.tim": "attr-defined",
    }
    path.write_text(
        "import gpusched as gs\n"
        "tasks = gs.KernelTasks([4], 1)\nhosts = gs.HostTasks([4], 1)\n"
        "gpu = gs.GPU.preset('xavier')\nlaunches = gs.Launches([0], 1)\n" + "\n".join(lines) + "\n"
    )
    command = [sys.executable, "-m", "mypy", "--strict", "--no-error-summary", str(path)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    for number, (line, code) in enumerate(lines.items(), 6):
        told = [text for text in done.stdout.splitlines() if f"misspelt.py:{number}:" in text]
        assert bool(told) == bool(code), f"{line}: {told}"
        assert not code or any(f"[{code}]" in text for text in told), f"{line}: {told}"
