"""Structure of the Python package: layers, import circles, names of modules, rooms by cohesion."""

from __future__ import annotations

import ast
import importlib
import pkgutil
import re
import types
from collections import Counter
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

import gpusched

pytestmark = pytest.mark.source

PACKAGE = Path(gpusched.__file__).parent

# A module imports from its own layer and from those before it. The packages of one layer do not
# import each other.
LAYERS: tuple[tuple[str, ...], ...] = (
    ("_version", "_core"),
    ("_support",),
    ("_draw", "ways"),
    ("model",),
    ("generate", "pbs", "simulate", "io"),
    ("analysis",),  # its answers ask for simulations
    ("cuda", "deploy"),
    ("study",),
    ("comparison",),
    ("experiments", "rt"),  # one compares all ways of sharing
    ("cli",),
    ("__init__", "__main__"),
)

LEAST_LINES = 80  # of a module that one other module imports; a smaller one goes into that
LEAST_MODULES = 3  # of a folder

# Small modules that stand alone although one other module imports them: rows of a registry.
ROWS = re.compile(r"cli\.\w+_command")


def module_name(path: Path) -> str:
    parts = list(path.relative_to(PACKAGE).with_suffix("").parts)
    if parts[-1] == "__init__" and len(parts) > 1:
        parts.pop()
    return ".".join(parts)


FILES = {module_name(path): path for path in sorted(PACKAGE.rglob("*.py"))}
MODULES = {*FILES, "_core"}


def nodes_of(tree: ast.AST, functions: bool) -> Iterator[ast.AST]:
    """All nodes of a module, or those outside of its functions."""
    for node in ast.iter_child_nodes(tree):
        yield node
        if functions or not isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            yield from nodes_of(node, functions)


def imported_by(path: Path, *, functions: bool = True) -> set[str]:
    """Modules of the package that a file imports anywhere: in functions, and for types alone, too.

    ``from package import name`` is an import of the module of that name where there is one.
    """
    found = set()
    for node in nodes_of(ast.parse(path.read_text(encoding="utf-8")), functions):
        if isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}:{node.lineno}: a relative import"
            module = node.module or ""
            names = [f"{module}.{alias.name}" for alias in node.names]
        elif isinstance(node, ast.Import):
            module, names = "", [alias.name for alias in node.names]
        else:
            continue
        for name in names:
            if not f"{name}.".startswith("gpusched."):
                continue
            inner = name.removeprefix("gpusched").removeprefix(".") or "__init__"
            while inner not in MODULES:
                inner = inner.rpartition(".")[0] or "__init__"
            found.add(inner)
    return found


@cache
def all_imports() -> dict[str, set[str]]:
    """The modules that each one imports."""
    return {name: imported_by(path) - {name} for name, path in FILES.items()}


def circles(imports: dict[str, set[str]]) -> set[frozenset[str]]:
    """Strongly connected components of more than one module, by reachability."""
    reached: dict[str, set[str]] = {}
    for start in imports:
        seen: set[str] = set()
        stack = [start]
        while stack:
            for name in imports.get(stack.pop(), set()) - seen:
                seen.add(name)
                stack.append(name)
        reached[start] = seen
    return {
        frozenset(other for other in reached[name] if name in reached.get(other, set()))
        for name in imports
        if name in reached[name]
    }


def test_circles_are_found() -> None:
    graph = {"a": {"b"}, "b": {"c"}, "c": {"a", "d"}, "d": {"e"}, "e": set(), "f": {"a"}}
    assert circles(graph) == {frozenset("abc")}


def test_imports_point_downwards() -> None:
    level = {package: i for i, packages in enumerate(LAYERS) for package in packages}
    wrong = []
    for name, imports in all_imports().items():
        package = name.split(".")[0]
        assert package in level, f"{name}: in no layer"
        for other in sorted(imports):
            inner = other.split(".")[0]
            if inner != package and level[inner] >= level[package]:
                wrong.append(f"{name} imports {other}")
    assert wrong == []


def test_imports_form_no_circles() -> None:
    assert circles(all_imports()) == set()


def test_no_import_uses_a_name_of_the_package() -> None:
    """It would wait for the lock of first uses, whose owner may wait for the import."""
    lazy = {*gpusched._MODULES, *gpusched._MEMBERS}
    for path in FILES.values():
        for node in nodes_of(ast.parse(path.read_text(encoding="utf-8")), functions=False):
            if isinstance(node, ast.ImportFrom) and node.module == "gpusched":
                used = lazy.intersection(alias.name for alias in node.names)
                assert not used or path == PACKAGE / "__init__.py", f"{path}:{node.lineno}: {used}"


def test_no_basename_stands_twice() -> None:
    names = Counter(path.stem for path in FILES.values())
    del names["__init__"], names["__main__"]
    assert [name for name, count in names.items() if count > 1] == []


def rooms() -> dict[str, Path]:
    """Modules of the checked packages, without the packages themselves."""
    return {name: path for name, path in FILES.items() if "." in name and path.stem != "__init__"}


def test_small_modules_have_several_readers() -> None:
    """A small module that one other imports goes into it, unless that imports it in a function."""
    eager = {name: imported_by(path, functions=False) for name, path in FILES.items()}
    small = []
    for name, path in rooms().items():
        lines = len(path.read_text(encoding="utf-8").splitlines())
        readers = [other for other, names in all_imports().items() if name in names]
        if lines < LEAST_LINES and len(readers) == 1 and name in eager[readers[0]]:
            small.append(name)
    assert [f"{name}: into its reader" for name in small if not ROWS.fullmatch(name)] == []


def test_folders_hold_several_modules() -> None:
    folders = Counter(path.parent for path in rooms().values())
    del folders[PACKAGE / "ways"]  # a public namespace
    assert {str(f): n for f, n in folders.items() if n < LEAST_MODULES} == {}


def test_no_module_is_hidden() -> None:
    """No name of a package, such as a function, stands where one of its modules belongs."""
    hidden = []
    for package in [gpusched, *subpackages(gpusched)]:
        for info in pkgutil.iter_modules(package.__path__):
            if info.name == "__main__":
                continue
            module = importlib.import_module(f"{package.__name__}.{info.name}")
            if getattr(package, info.name) is not module:
                hidden.append(module.__name__)
    assert hidden == []


def subpackages(package: types.ModuleType) -> list[types.ModuleType]:
    found = []
    for info in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
        if info.ispkg:
            found.append(importlib.import_module(info.name))
    return found


def test_the_top_level_holds_what_is_named() -> None:
    names = {path.name for path in PACKAGE.iterdir() if path.is_file() and path.suffix != ".so"}
    code = {"__init__.py", "__main__.py", "_version.py", "_core.pyi", "py.typed"}
    assert names == code | {"README.md"}
