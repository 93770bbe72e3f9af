"""The build by setup.py: refused platforms, what is compiled again, symbols, what a source has."""

from __future__ import annotations

import os
import platform
import re
import shutil
import subprocess
import sys
import sysconfig
import tarfile
import threading
import tomllib
from pathlib import Path
from typing import Any

import pytest
from native import CSRC, clean_environment

import gpusched
from gpusched import _core

ROOT = CSRC.parent
CC = os.environ.get("CC", sysconfig.get_config_var("CC"))

sys.path.append(str(CSRC))
rebuild = pytest.importorskip("rebuild", reason="needs the source tree")

pytestmark = pytest.mark.source

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


DEFAULT = '__attribute__((visibility("default")))'


class Sources:
    """A small project with this setup.py, in which commands are counted."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        for name in ("setup.py", "csrc/rebuild.py", "pyproject.toml", "README.md"):
            self.write(name, (ROOT / name).read_text())
        self.write("gpusched/_version.py", '__version__ = "1.0"\n')
        one = f'#include "core/outer.h"\nint gs_one(void);\n{DEFAULT} int gs_one(void)'
        self.write("csrc/core/one.c", f"{one} {{ return ONE; }}\n")
        self.write("csrc/core/two.c", "int gs_two(int n);\nint gs_two(int n) { return n; }\n")
        self.write("csrc/core/outer.h", '#include "core/inner.h"\n')
        self.write("csrc/core/inner.h", "#define ONE 1\n")
        self.write("csrc/cuda/image.c", "#include <gpusched_cuda_image.h>\n")
        self.write("csrc/cuda/spin.cu", "")
        self.write("csrc/rt/rt.h", "int gs_rt_three(void);\n")
        self.write("csrc/rt/three.c", '#include "rt/rt.h"\nint gs_rt_three(void) { return 3; }\n')
        self.write("csrc/python/module.c", "const char *gs_version = GPUSCHED_VERSION;\n")

    def write(self, name: str, text: str) -> None:
        (self.folder / name).parent.mkdir(parents=True, exist_ok=True)
        (self.folder / name).write_text(text)

    def run(self, *arguments: str, status: int = 0, **variables: str) -> list[str]:
        """Names of the sources that were compiled, in order, and "link" if the module was."""
        pytest.importorskip("setuptools")
        plain = {"GPUSCHED_CUDA": "0", "GPUSCHED_WERROR": "", "GPUSCHED_SANITIZE": ""}
        done = subprocess.run(
            [sys.executable, "setup.py", *arguments],
            cwd=self.folder,
            capture_output=True,
            text=True,
            timeout=300,
            env=clean_environment(**plain | variables),
        )
        assert done.returncode == status, done.stdout + done.stderr
        commands = [line.split() for line in done.stdout.splitlines()]
        ran = sorted(Path(words[words.index("-c") + 1]).stem for words in commands if "-c" in words)
        assert status or f"compiled {len(ran)} of " in done.stdout
        linked = any(words and words[-1].endswith(".so.part") for words in commands)
        return ran + ["link"] * linked

    def build(self, **variables: str) -> list[str]:
        return self.run("build_ext", "--inplace", **variables)

    def kept(self, name: str) -> Path:
        """A file of the build in place."""
        (path,) = (self.folder / "build/objects").glob(f"inplace-*/{name}")
        return path

    def one(self) -> int:
        """The answer of the module in place, to a process that has not loaded it before."""
        (path,) = (self.folder / "gpusched").glob("_core*.so")
        code = "import ctypes, sys; print(ctypes.CDLL(sys.argv[1]).gs_one())"
        return int(subprocess.check_output([sys.executable, "-c", code, path], timeout=60))


ALL = ["image", "module", "one", "three", "two", "link"]


@pytest.fixture
def tree(tmp_path: Path) -> Sources:
    """A project after its first build."""
    project = Sources(tmp_path / "project")
    assert project.build() == ALL
    return project


def test_only_what_changed_is_compiled(tree: Sources) -> None:
    assert tree.build() == []
    for path in tree.folder.rglob("*.[ch]"):
        path.touch()
    assert tree.build() == []
    tree.write("csrc/core/two.c", "int gs_two(int n);\nint gs_two(int n) { return n + 1; }\n")
    assert tree.build() == ["two", "link"]
    with (tree.folder / "csrc/core/two.c").open("a") as file:
        file.write("/* The object stays as it is. */\n")
    assert tree.build() == ["two"]
    tree.write("csrc/core/inner.h", "#define ONE 11\n")
    os.utime(tree.folder / "csrc/core/inner.h", (0, 0))  # older than all objects
    assert tree.build() == ["one", "link"]
    assert tree.one() == 11
    assert tree.build() == []


def test_removed_files(tree: Sources) -> None:
    (tree.folder / "csrc/core/inner.h").unlink()
    assert tree.run("build_ext", "--inplace", status=1) == ["one"]
    tree.write("csrc/core/outer.h", "#define ONE 5\n")
    assert tree.build() == ["one", "link"] and tree.one() == 5
    (tree.folder / "csrc/core/two.c").rename(tree.folder / "csrc/core/four.c")
    assert tree.build() == ["four", "link"]


def test_options_rebuild_what_they_affect_and_configurations_stay(tree: Sources) -> None:
    tree.write("gpusched/_version.py", '__version__ = "1.1"\n')
    assert tree.build() == ["module", "link"]
    fake = tree.folder / "bin/nvcc"
    tree.write("bin/nvcc", "#!/bin/sh\nexit 1\n")
    fake.chmod(0o755)
    assert tree.build(GPUSCHED_CUDA="auto", CUDA_HOME=str(tree.folder)) == ["image"]
    assert tree.build() == ["image"]
    assert tree.build(GPUSCHED_WERROR="1") == ALL
    assert tree.run("build_ext") == ALL  # for a wheel
    tree.write("compiler", f'#!/bin/sh\n[ "$1" = --version ] && echo 9\nexec {CC} "$@"\n')
    (tree.folder / "compiler").chmod(0o755)
    assert tree.build(CC=str(tree.folder / "compiler")) == ALL
    for arguments in (["build_ext", "--inplace"], ["build_ext"], ["core"]):
        assert tree.run(*arguments) == []
    assert tree.build(GPUSCHED_WERROR="1") == []
    assert tree.build(CC=str(tree.folder / "compiler")) == []
    setup = (ROOT / "setup.py").read_text().replace('"-O3", "-fvis', '"-O2", "-fvis')
    tree.write("setup.py", setup)
    assert tree.build() == ALL


@pytest.mark.parametrize("name", ["one.o", "one.o.d"])
@pytest.mark.parametrize("damage", ["missing", "empty", "half", "zeros"])
def test_damaged_files_are_made_again(name: str, damage: str, tree: Sources) -> None:
    path, made = tree.kept(f"csrc/core/{name}"), tree.kept("csrc/core/one.o")
    whole, before = path.read_bytes(), made.read_bytes()
    if damage == "missing":
        path.unlink()
    else:
        size = {"empty": 0, "half": len(whole) // 2, "zeros": 0}[damage]
        path.write_bytes(whole[:size] + bytes(len(whole) if damage == "zeros" else 0))
    assert tree.build() == ["one"]  # as it was, so that the module is current
    assert made.read_bytes() == before
    assert tree.build() == []


def test_a_damaged_module_is_linked_again(tree: Sources) -> None:
    tree.kept("_core*.so").write_bytes(b"")
    assert tree.build() == ["link"] and tree.one() == 1


def test_a_build_that_ended_early_goes_on(tree: Sources) -> None:
    tree.write("csrc/core/one.c", "#error no\n")
    tree.write("csrc/core/two.c", "int gs_two;\n")
    assert "one" in tree.run("build_ext", "--inplace", status=1)
    tree.kept("csrc/core/two.o").with_suffix(".o.part").write_text("half")
    tree.write(
        "csrc/core/one.c", f"int gs_one(void);\n{DEFAULT} int gs_one(void) {{ return 3; }}\n"
    )
    assert set(tree.build()) >= {"one", "link"} and tree.one() == 3
    assert tree.build() == []


def test_an_old_setuptools_builds_in_place(tmp_path: Path) -> None:
    """One before 77, which refuses the license in pyproject.toml, does not read that file."""
    made = Sources(tmp_path)
    project = (ROOT / "pyproject.toml").read_text().replace('license = "', 'license = 3 # "', 1)
    made.write("pyproject.toml", project)
    old = "import setuptools\nsetuptools.__version__ = '68.2.2'\n"
    made.write("setup.py", old + (ROOT / "setup.py").read_text())
    assert "link" in made.run("build_ext", "--inplace")


def test_wheels_of_other_folders_are_the_same(tmp_path: Path) -> None:
    modules = []
    for name in ("here", "there"):
        tree = Sources(tmp_path / name)
        tree.run("build_ext")
        (path,) = tree.folder.glob("build/lib*/gpusched/_core*.so")
        modules.append(path.read_bytes())
    assert modules[0] == modules[1]


def test_commands_run_side_by_side(tmp_path: Path) -> None:
    """Each of two commands waits until the other has begun."""
    both = threading.Barrier(2, timeout=60)

    def run(command: list[str]) -> None:
        both.wait()
        Path(command[0]).write_text("made")

    targets = [str(tmp_path / name) for name in ("one", "two")]
    with rebuild.Rebuild(tmp_path, run) as objects:
        assert objects.compile({target: [target] for target in targets}, workers=2) == 2
        assert objects.compile({target: [target] for target in targets}, workers=2) == 0


def test_an_error_in_one_source_ends_the_compilation(tmp_path: Path) -> None:
    started = []

    def run(command: list[str]) -> None:
        started.append(command)
        if len(started) > 1:
            raise ValueError(f"failure {len(started)}")
        Path(command[0]).write_text("made")

    targets = [str(tmp_path / f"{k:02d}") for k in range(40)]
    with rebuild.Rebuild(tmp_path, run) as objects, pytest.raises(ValueError, match="failure"):
        objects.compile({target: [target] for target in targets}, workers=2)
    assert len(started) <= 3  # what failed, and what had begun


def test_what_is_edited_during_a_build_is_compiled_by_the_next(tmp_path: Path) -> None:
    source, target = tmp_path / "one.c", str(tmp_path / "one.o")
    source.write_text("before")

    def run(command: list[str]) -> None:
        Path(command[0]).write_text(source.read_text())
        Path(f"{target}.d.part").write_text(f"one.o: {source}\n")
        source.write_text("after")

    for changed in (1, 1, 0):
        with rebuild.Rebuild(tmp_path, run, watched=[str(source)]) as objects:
            assert objects.compile({target: [target]}, workers=1) == changed


def test_names_in_rules() -> None:
    assert rebuild.names_in("a.o: one.c \\\n two\\ words.h sharp\\#.h\n") == [
        *("one.c", "two words.h", "sharp#.h")
    ]


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


def test_the_runtime_library_stands_beside_the_module(tree: Sources) -> None:
    """With its header, from the objects of the module; the same archive in every build."""
    package = tree.folder / "gpusched"
    archive = package / "lib/libgpusched_rt.a"
    first = archive.read_bytes()
    assert b"gs_rt_three" in first and b"gs_two" not in first
    assert (package / "include/gpusched/rt.h").read_text() == "int gs_rt_three(void);\n"
    text = (package / "lib/pkgconfig/gpusched-rt.pc").read_text()
    assert "Version: 1.0\n" in text and str(tree.folder) not in text
    archive.unlink()
    assert tree.build() == [] and archive.read_bytes() == first
