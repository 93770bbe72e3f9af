"""The build by setup.py: refused platforms, parallel compilation, symbols, what a source has."""

from __future__ import annotations

import os
import platform
import re
import shutil
import subprocess
import sys
import tarfile
import tomllib
from pathlib import Path
from typing import Any

import pytest
from native import CSRC, clean_environment

import gpusched
from gpusched import _core

ROOT = CSRC.parent
HAS_SOURCES = (ROOT / "setup.py").exists()

pytestmark = [
    pytest.mark.source,
    pytest.mark.skipif(not HAS_SOURCES, reason="needs the source tree"),
]

# setup.py with setup() replaced, so that its parts can be called.
PARTS = """
import runpy, sys
import setuptools, numpy
from setuptools.command import build_ext
given = {}
setuptools.setup = given.update
parts = runpy.run_path("setup.py")
"""


def python(program: str, status: int = 0) -> str:
    """Output of a program that runs beside setup.py, standard error included."""
    pytest.importorskip("setuptools")
    done = subprocess.run(
        [sys.executable, "-c", PARTS + program],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=300,
        env=clean_environment(),
    )
    assert done.returncode == status, done.stdout + done.stderr
    return done.stdout + done.stderr


REFUSED = """
from setuptools.dist import Distribution
{change}
parts["Build"](Distribution(given)).run()
"""


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ("sys.maxsize = 2**31 - 1", "gpusched needs a 64-bit Python: 32-bit compilers lack"),
        ("sys.platform = 'win32'", "gpusched does not build on Windows: it needs a C compiler"),
    ],
)
def test_platforms_that_cannot_work_are_refused_in_a_sentence(change: str, sentence: str) -> None:
    last = python(REFUSED.format(change=change), status=1).strip().splitlines()[-1]
    assert last.startswith(sentence)


COMPILE = """
from pathlib import Path
from setuptools._distutils.ccompiler import new_compiler
from setuptools._distutils.sysconfig import customize_compiler
compiler = new_compiler()
customize_compiler(compiler)
started = []
in_turn = compiler.compile
def counted(sources, *args, **options):
    started.extend(sources)
    return in_turn(sources, *args, **options)
compiler.compile = counted
parts["compile_on_cores"](compiler, {workers})
folder = Path({folder!r})
sources = [str(path) for path in sorted(folder.rglob("*.c"))]
try:
    made = compiler.compile(sources, output_dir=str(folder / "made"))
    print(len(made), [Path(name).stem for name in made], all(map(Path.exists, map(Path, made))))
except Exception as error:
    print(type(error).__name__, len(started) < len(sources))
"""


@pytest.mark.parametrize("workers", [1, 3])
def test_sources_are_compiled_side_by_side_and_objects_keep_their_order(
    tmp_path: Path, workers: int
) -> None:
    for k in range(6):
        source = tmp_path / f"part{k % 2}" / f"file{k}.c"
        source.parent.mkdir(exist_ok=True)
        source.write_text(f"int number{k}(void) {{ return {k}; }}\n")
    output = python(COMPILE.format(workers=workers, folder=str(tmp_path))).splitlines()[-1]
    assert output == "6 ['file0', 'file2', 'file4', 'file1', 'file3', 'file5'] True"


def test_two_compilers_run_at_once() -> None:
    """Each of two calls of the compiler waits until the other has begun."""
    output = python(
        """
import threading
both = threading.Barrier(2, timeout=60)
class Compiler:
    def object_filenames(self, sources, output_dir):
        return []
    def compile(self, sources, output_dir):
        both.wait()
        return sources
compiler = Compiler()
parts["compile_on_cores"](compiler, 2)
print(compiler.compile(["one.c", "two.c"]))
"""
    )
    assert output.splitlines()[-1] == "['one.c', 'two.c']"


def test_an_error_in_one_source_ends_the_compilation(tmp_path: Path) -> None:
    for k in range(40):
        (tmp_path / f"file{k:02d}.c").write_text("#error no\n" if k == 1 else "int x;\n")
    output = python(COMPILE.format(workers=2, folder=str(tmp_path)))
    assert "CompileError True" in output


def test_only_builds_in_place_keep_symbols() -> None:
    output = python(
        """
from setuptools.dist import Distribution
for options in ({}, {"inplace": True}, {"editable_mode": True}):
    command = parts["Build"](Distribution(given))
    vars(command).update(options)
    command.finalize_options()
    print(command.keeps_symbols)
"""
    )
    assert output.split() == ["False", "True", "True"]


def test_the_wheel_keeps_to_the_limited_api() -> None:
    output = python(
        "print(given['options'], given['ext_modules'][0].py_limited_api,"
        " ('Py_LIMITED_API', '0x030b0000') in given['ext_modules'][0].define_macros)"
    )
    free_threaded = bool(getattr(sys, "_is_gil_enabled", lambda: True)() is False)
    if not free_threaded:
        assert output.split("\n")[0] == "{'bdist_wheel': {'py_limited_api': 'cp311'}} True True"


def test_the_extension_names_the_libraries_it_needs() -> None:
    """With glibc a symbol of a library that was linked has a version; others are found by luck."""
    if shutil.which("nm") is None or platform.libc_ver()[0] != "glibc":
        pytest.skip("needs nm and glibc")
    if os.environ.get("GPUSCHED_SANITIZE"):
        pytest.skip("symbols of sanitizers have no versions")
    assert _core.__file__ is not None
    listed = subprocess.run(
        ["nm", "-D", "--undefined-only", _core.__file__],
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
        env=clean_environment(),
    ).stdout
    needed = [line.split()[1] for line in listed.splitlines() if line.split()[0] == "U"]
    assert any(name.startswith("calloc@") for name in needed)
    assert [name for name in needed if "@" not in name and not name.startswith(("Py", "_Py"))] == []


def test_documents_name_one_version() -> None:
    version = gpusched.__version__
    citation = (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    assert f"\nversion: {version}\n" in citation
    assert f"## [{version}] - " in (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    recipe = ROOT / ".github/conda/meta.yaml"
    if recipe.exists():
        assert f'set version = "{version}"' in recipe.read_text(encoding="utf-8")


def test_the_citation_has_the_papers_of_the_list() -> None:
    citation = (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    sources = (ROOT / "notebooks/guide/sources.md").read_text(encoding="utf-8")
    for key in ("RTNS24", "ECRTS17", "RTCSA19", "RTAS20", "RTNS10"):
        assert f'"[{key}] ' in citation and f"- [{key}] " in sources


def test_the_long_description_is_the_readme_with_addresses() -> None:
    """PyPI shows it outside of the repository: no link is relative, and files are at the tag."""
    shown = python("print(given['long_description'], end='')")
    project: Any = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert "readme" in project["dynamic"]
    source = re.escape(project["urls"]["Source"])
    links = re.findall(r"(!?)\[[^\]]*\]\(([^)]+)\)", shown)
    assert len(links) >= 20
    paths = []
    for mark, link in links:
        kind = "raw" if mark else "blob"
        if link not in project["urls"].values():
            path = re.fullmatch(rf"{source}/{kind}/v{gpusched.__version__}/(.+)", link)
            assert path is not None and (ROOT / path[1]).exists(), link
            paths.append(path[0])
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    for link in paths:
        shown = shown.replace(link, link.partition(f"/v{gpusched.__version__}/")[2])
    assert shown == readme


def test_the_conda_recipe_needs_what_the_wheel_needs() -> None:
    recipe = ROOT / ".github/conda/meta.yaml"
    if not recipe.exists():
        pytest.skip("needs a clone")
    project: Any = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    lines = [line.strip("- ").replace(" >", ">") for line in recipe.read_text().splitlines()]
    assert f"python{project['project']['requires-python']}" in lines
    for needed in [*project["project"]["dependencies"], *project["build-system"]["requires"]]:
        assert needed in lines


def test_the_repository_holds_nothing_that_was_built() -> None:
    if shutil.which("git") is None or not (ROOT / ".git").exists():
        pytest.skip("needs a clone")
    listed = subprocess.run(
        ["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, timeout=60
    ).stdout.splitlines()
    built = re.compile(r"\.(o|so|a|pyc|gcda|gcno|profraw|whl)$|(^|/)(build|dist)/")
    assert [name for name in listed if built.search(name)] == []


@pytest.mark.long
def test_a_source_distribution_is_complete(tmp_path: Path) -> None:
    """Every file of the tree that a build or a test reads, and nothing that was built."""
    pytest.importorskip("setuptools")
    tree = tmp_path / "tree"  # setuptools writes into it; setup.py finds its folder by itself
    tree.mkdir()
    for path in ROOT.iterdir():
        if path.name == ".clang-format" or not re.match(r"\.|build$|dist$|.*egg-info$", path.name):
            (tree / path.name).symlink_to(path)
    (tree / "setup.py").unlink()
    shutil.copy(ROOT / "setup.py", tree)
    subprocess.run(
        [sys.executable, "setup.py", "-q", "sdist", "--formats=tar", "-d", str(tmp_path)],
        cwd=tree,
        check=True,
        capture_output=True,
        timeout=300,
        env=clean_environment(),
    )
    (archive,) = tmp_path.glob("*.tar")
    with tarfile.open(archive) as opened:
        names = {name.partition("/")[2] for name in opened.getnames()}
    expected = {"setup.py", "pyproject.toml", "README.md", "LICENSE", "CHANGELOG.md"}
    expected |= {"CITATION.cff", "CONTRIBUTING.md", "SECURITY.md"}
    for folder, suffixes in {
        "csrc": (".c", ".h", ".cu", ".md"),
        "gpusched": (".py", ".pyi", ".json", ".typed"),
        "tests": (".py", ".c", ".h", ".md"),
        "benchmarks": (".py",),
        "notebooks": (".ipynb",),
    }.items():
        expected |= {
            path.relative_to(ROOT).as_posix()
            for path in (ROOT / folder).rglob("*")
            if path.suffix in suffixes and not any(p.startswith(".") for p in path.parts[-3:])
        }
    assert expected - names == set()
    assert [name for name in names if name.endswith((".so", ".o", ".pyc"))] == []
