"""Layout of the C core: layers, prefixes, basenames and headers, as csrc/README.md states them."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

import pytest
from core_stub import parameters_of, signatures
from native import CSRC, Compiler

pytestmark = pytest.mark.source

# Each folder with the folders whose headers it may include, apart from its own and its sub-folders.
LAYERS = {
    "core": set(),
    "model": {"core"},
    "generate": {"core", "model"},
    "pbs": {"core", "model"},
    "analysis": {"core", "model", "generate"},
    "simulate": {"core", "model"},
    "io": {"core", "model"},
    "cuda": {"core", "model"},
    "rt": {"core", "io"},
    "execute": {"core", "model", "simulate", "rt"},
    "ways": {"core", "model", "pbs", "analysis", "simulate"},
    "python": {
        "core",
        "model",
        "generate",
        "pbs",
        "analysis",
        "simulate",
        "io",
        "cuda",
        "rt",
        "execute",
        "ways",
    },
}
MOST_SOURCES = 25
MOST_ENTRY_POINTS = 141  # that gpusched.h reaches
FILES = sorted(p.relative_to(CSRC) for p in CSRC.rglob("*.[ch]") if p.parent != CSRC)
HEADERS = [path for path in FILES if path.suffix == ".h"]
CORE_HEADERS = [path for path in HEADERS if path.parts[0] != "python"]


def code_of(path: Path) -> str:
    """The text of a file without comments and strings; included names are kept."""
    text = re.sub(r"/\*.*?\*/", " ", (CSRC / path).read_text(), flags=re.S)
    return re.sub(r'(?<!#include )"(\\.|[^"\\\n])*"', '""', text)


def source_of(path: Path) -> Path:
    """A source without suffix, and its headers: one, and a second one for the rest of the core."""
    return path.with_name(path.stem.removesuffix("_internal"))


def included(path: Path) -> list[Path]:
    return [Path(name) for name in re.findall(r'#include "([^"]+)"', code_of(path))]


def dependencies() -> dict[Path, set[Path]]:
    """By source with its headers: those whose headers it includes, or whose functions it names."""
    files = [path for path in FILES if path.parts[0] != "python"]
    codes = {path: code_of(path) for path in files}
    function = r"^(?!static\b)(?:[a-z][\w ]*[ *])?(gs_\w+)\([^;{}]*\)\s*\{"
    homes: dict[str, Path] = {}
    for path in files:
        if path.suffix == ".c":
            for pattern in (function, r"^const \w+ (gs_\w+)(?:\[\])? = "):
                for name in re.findall(pattern, codes[path], flags=re.M):
                    homes[name] = source_of(path)
    found: dict[Path, set[Path]] = {}
    for path, code in codes.items():
        others = {source_of(other) for other in included(path)}
        if path.suffix == ".c":
            others |= {homes[name] for name in re.findall(r"\bgs_\w+", code) if name in homes}
        found.setdefault(source_of(path), set()).update(others)
    return {path: (others - {path}) & found.keys() for path, others in found.items()}


def prefix_of(path: Path) -> str:
    """The prefix that the names of a header or source must have."""
    folder = path.parts[0]
    if folder in ("core", "python"):
        return {"core": "gs_", "python": "gs_python_"}[folder]
    if folder == "model":
        return f"gs_{source_of(path).name}_"
    return "_".join(["gs", *path.parts[:-1], ""])


def defined_names() -> dict[str, Path]:
    """The names that headers define: the first header, in the order of inclusion, that has each."""
    order: list[Path] = []

    def visit(path: Path) -> None:
        if path not in order and path in HEADERS:
            for other in included(path):
                visit(other)
            if path not in order:
                order.append(path)

    for path in HEADERS:
        visit(path)
    names: dict[str, Path] = {}
    for path in order:
        for name in re.findall(r"\b(?:gs|GS)_[A-Za-z0-9_]+", code_of(path)):
            names.setdefault(name, path)
    return names


def test_every_folder_has_a_layer() -> None:
    assert {path.parts[0] for path in FILES} == set(LAYERS)


def test_includes_run_downwards() -> None:
    wrong = []
    for path in FILES:
        for other in included(path):
            if str(other) == "gpusched_cuda_image.h":  # written by the build
                continue
            if len(other.parts) == 1 and path.parts[0] == "python":  # internal.h, registry.h
                continue
            assert other in HEADERS, f"{path} includes {other}, which is not there"
            folder = path.parts[0]
            if other.parts[0] not in LAYERS[folder] | {folder}:
                wrong.append(f"{path} includes {other}")
    assert wrong == []


def test_no_header_includes_itself_through_others() -> None:
    reached: dict[Path, set[Path]] = {}

    def reach(path: Path) -> set[Path]:
        if path not in reached:
            reached[path] = set()
            found = {other for other in included(path) if other in HEADERS}
            for other in list(found):
                found |= reach(other)
            reached[path] = found
        return reached[path]

    assert [str(path) for path in HEADERS if path in reach(path)] == []


def test_no_files_depend_on_each_other_in_a_circle() -> None:
    """Neither by types nor by calls, but where an algorithm comes back to itself."""
    direct = dependencies()
    reached: dict[Path, set[Path]] = {}
    for path in direct:
        reached[path], todo = set(), [path]
        while todo:
            for other in direct[todo.pop()] - reached[path]:
                reached[path].add(other)
                todo.append(other)
    circles = {
        frozenset(str(other) for other in reached[path] if path in reached[other])
        for path in direct
        if path in reached[path]
    }
    assert len(direct) > 150
    assert circles == set()


def test_prefix_is_the_path() -> None:
    names = defined_names()
    assert names["gs_pbs_search_run"] == Path("pbs/search.h")
    wrong = []
    for name, path in names.items():
        prefix = prefix_of(path)
        if name.lower() == f"gs_{'_'.join(path.with_suffix('').parts)}_h":
            continue  # the include guard
        if not name.lower().startswith(prefix) or (name[0] == "G") != name.isupper():
            wrong.append(f"{name} in {path}: expected {prefix}*")
        if path.parts[0] in ("core", "model"):
            rooms = [f"gs_{folder}_" for folder in LAYERS]
            if name.lower().startswith(tuple(rooms)):
                wrong.append(f"{name} in {path}: the prefix of another folder")
    assert wrong == []


def test_include_guards_are_the_path() -> None:
    for path in HEADERS:
        guard = "GS_" + "_".join(path.with_suffix("").parts).upper() + "_H"
        assert f"#ifndef {guard}\n#define {guard}\n" in (CSRC / path).read_text(), path


def test_no_basename_stands_twice() -> None:
    # A way of sharing the GPU has a file of its name, beside that of its test.
    files = [path for path in FILES if path.parts[0] != "ways"]
    for suffix in (".c", ".h"):
        count = Counter(path.name for path in files if path.suffix == suffix)
        assert [name for name, times in count.items() if times > 1] == []
    paired = Counter(path.stem for path in files)
    folders = {path.stem: {p.parent for p in files if p.stem == path.stem} for path in files}
    assert [stem for stem in paired if len(folders[stem]) > 1] == []


def test_folders_are_small() -> None:
    count = Counter(path.parent for path in FILES if path.suffix == ".c")
    assert {str(folder): n for folder, n in count.items() if n > MOST_SOURCES} == {}


@pytest.mark.parametrize("backwards", [False, True])
def test_all_headers_compile_together(backwards: bool, compiler: Compiler, tmp_path: Path) -> None:
    headers = sorted(CORE_HEADERS, reverse=backwards)
    source = tmp_path / "all.c"
    source.write_text("".join(f'#include "{path}"\n' for path in headers))
    compiler.run("-Wno-unused-function", f"-I{CSRC}", "-fsyntax-only", source)


@pytest.mark.parametrize("header", ["gpusched.h", "internal.h"])
def test_the_headers_for_callers(header: str, compiler: Compiler, tmp_path: Path) -> None:
    source = tmp_path / "caller.c"
    source.write_text(f'#include "{header}"\nint main(void) {{ return 0; }}\n')
    compiler.run(f"-I{CSRC}", "-fsyntax-only", source)
    assert "python/" not in (CSRC / header).read_text()


def test_a_header_is_public_or_internal() -> None:
    public, (_, *others) = (included(Path(name)) for name in ("gpusched.h", "internal.h"))
    for listed in (public, others):
        assert list(map(str, listed)) == sorted(map(str, listed))
    assert set(public) & set(others) == set() and {*public, *others} <= set(CORE_HEADERS)


def test_the_public_header_reaches_entry_points() -> None:
    """Functions of parts of a method are declared in headers of their own, such as *_internal.h."""
    reached: set[Path] = set()
    todo = included(Path("gpusched.h"))
    while todo:
        path = todo.pop()
        if path not in reached:
            reached.add(path)
            todo += included(path)
    declared = r"^(?!static\b|typedef\b)[a-z][\w ]*[ *](gs_\w+)\("
    names = {name for path in reached for name in re.findall(declared, code_of(path), flags=re.M)}
    assert not any(path.stem.endswith(("_internal", "_parts")) for path in reached)
    assert {"gs_pbs_search_run", "gs_simulate_host_run", "gs_simulate_machine_run"} <= names
    assert "gs_pbs_prices_solve" not in names and len(names) <= MOST_ENTRY_POINTS


def test_few_arguments_by_position() -> None:
    """No function of the module takes more than eight; options travel by name."""
    found = signatures()
    assert len(found) > 35
    for declared, types, _ in found.values():
        parameters = parameters_of(declared, types)
        by_position = [each for each in parameters if each != "self"]
        if "*" in by_position:
            by_position = by_position[: by_position.index("*")]
        assert len(by_position) <= 8, declared
        optional = [" = " in each for each in parameters if each != "*"]
        assert optional == sorted(optional), declared  # the last ones, as gs_python_parse expects
