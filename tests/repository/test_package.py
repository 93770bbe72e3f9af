"""Rules of the package: names, layers, no state, fast import, types, style."""

from __future__ import annotations

import importlib.metadata
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import core_stub
import pytest
from native import CSRC, clean_environment

import gpusched
from gpusched import _core

ROOT = CSRC.parent
CORE = sorted(
    path
    for path in [*CSRC.rglob("*.c"), *CSRC.rglob("*.h")]
    if path.relative_to(CSRC).parts[0] != "python"
)


def run(*command: str | Path) -> str:
    """The output of a command in the root folder, which must succeed."""
    environment = dict(os.environ)
    # Run from the tree, whatever Python ran pytest: no warning options, no other paths.
    environment.pop("PYTHONWARNINGS", None)
    done = subprocess.run(
        [str(word) for word in command],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=600,
        env=environment,
    )
    if done.returncode != 0:
        pytest.fail(f"{' '.join(map(str, command))}\n{done.stdout}{done.stderr}", pytrace=False)
    return done.stdout


def code_of(path: Path) -> str:
    """The text of a C file without comments and string literals, its lines kept."""

    def blank(found: re.Match[str]) -> str:
        return "\n" * found[0].count("\n") + " "

    pattern = r"/\*.*?\*/|//[^\n]*|\"(?:\\.|[^\"\\\n])*\"|'(?:\\.|[^'\\\n])*'"
    text = path.read_text(encoding="utf-8")
    # Names in quotes after #include are removed too; no caller needs them.
    return re.sub(pattern, blank, text, flags=re.DOTALL)


def where(path: Path, text: str, position: int) -> str:
    return f"{path.relative_to(ROOT)}:{text.count(chr(10), 0, position) + 1}"


# The C core


def nm(*arguments: str | Path) -> str:
    if shutil.which("nm") is None:
        pytest.skip("needs nm")
    done = subprocess.run(
        ["nm", *map(str, arguments)],
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
        env=clean_environment(),
    )
    return done.stdout


def core_symbols(library: Path) -> list[tuple[str, str, str, str]]:
    """(object file, symbol, class, section) of every symbol of the core."""
    symbols = []
    member = ""
    for line in nm("--format=sysv", library).splitlines():
        if found := re.search(r"from [^\[]*\[?([^\]:]*\.o)\]?:", line):
            member = found[1]
        fields = [field.strip() for field in line.split("|")]
        if len(fields) == 7 and fields[0] != "Name":
            symbols.append((member, fields[0], fields[2], fields[6]))
    return symbols


@pytest.mark.source
def test_names_of_the_core_start_with_gs(plain_core: Path) -> None:
    symbols = core_symbols(plain_core)
    exported = [name for _, name, kind, _ in symbols if kind.isupper() and kind != "U"]
    assert "gs_alloc" in exported
    assert [name for name in exported if not name.startswith("gs_")] == []


@pytest.mark.source
def test_the_core_has_no_mutable_state(plain_core: Path) -> None:
    symbols = core_symbols(plain_core)
    assert any(section.startswith(".text") for *_, section in symbols)
    # Tables of constant pointers lie in .data.rel.ro, which is read-only once they are relocated.
    mutable = [
        f"{member}: {name} in {section}"
        for member, name, kind, section in symbols
        # The runtime keeps the last error of each thread there.
        if (member, section) != ("thread_state.o", ".tbss")
        if kind == "C"
        or (
            re.match(r"\.(data|bss|tdata|tbss)\b|\*COM\*", section)
            and not section.startswith(".data.rel.ro")
        )
    ]
    assert mutable == []


@pytest.mark.source
def test_the_core_calls_no_output_and_no_exit(plain_core: Path) -> None:
    wanted = {(member, name) for member, name, kind, _ in core_symbols(plain_core) if kind == "U"}
    assert ("context.o", "calloc") in wanted
    forbidden = re.compile(
        r"Py\w*|_Py\w*"
        r"|_*v?[fd]?printf(_chk)?|f?puts|f?putc|putchar|perror|std(in|out|err)|fopen|write|syslog"
        r"|_?exit|abort|quick_exit|atexit|__assert_fail"
        r"|signal|sigaction|raise|kill|setjmp|longjmp|siglongjmp|_?_?sigsetjmp"
        r"|s?rand(om)?|[delmn]rand48|time|clock|getenv|setlocale|strtok"
    )
    assert [pair for pair in sorted(wanted) if forbidden.fullmatch(pair[1])] == []
    # Memory comes from gs_alloc, gs_grow and gs_free, where budgets and tests can reach it.
    memory = re.compile(r"malloc|calloc|realloc|reallocarray|aligned_alloc|free|strn?dup")
    elsewhere = [pair for pair in sorted(wanted) if memory.fullmatch(pair[1])]
    assert [pair for pair in elsewhere if pair[0] != "context.o"] == []


@pytest.mark.source
def test_the_core_is_free_of_python_and_output() -> None:
    """The same from the text, for what a compiler leaves out and where there is no nm."""
    forbidden = re.compile(
        r"#\s*include\s*<(Python\.h|numpy/.*|stdio\.h|signal\.h|setjmp\.h|assert\.h)>"
        r"|\bPy[A-Z_]\w*|\b(v?f?printf|puts|putchar|perror|exit|abort|signal|sigaction)\s*\("
    )
    assert CORE
    found = []
    for path in CORE:
        text = code_of(path)
        found += [f"{where(path, text, hit.start())}: {hit[0]}" for hit in forbidden.finditer(text)]
    assert found == []


@pytest.mark.source
def test_every_c_file_begins_with_what_it_holds() -> None:
    wrong = []
    for path in CORE:
        if not re.match(r"/\* [A-Z\[]", path.read_text(encoding="utf-8")):
            wrong.append(str(path.relative_to(ROOT)))
    assert wrong == []


def test_the_module_exports_its_init_alone() -> None:
    if os.environ.get("GPUSCHED_SANITIZE"):
        pytest.skip("sanitizers export symbols of their own")
    assert _core.__file__ is not None
    symbols = nm("-D", "--defined-only", _core.__file__).split()[2::3]
    assert [name for name in symbols if name not in ("_init", "_fini")] == ["PyInit__core"]


# The package


def test_versions_agree() -> None:
    assert _core.__version__ == gpusched.__version__ == importlib.metadata.version("gpusched")


def test_sources_without_the_c_part_say_so(tmp_path: Path) -> None:
    """As in a clone with the package installed elsewhere, whose folder comes first."""
    package = Path(gpusched.__file__).parent
    shutil.copytree(package, tmp_path / "gpusched", ignore=shutil.ignore_patterns("_core*.so"))
    command = [sys.executable, "-S", "-P", "-c", "import gpusched"]  # no other installation
    environment = clean_environment() | {"PYTHONPATH": str(tmp_path)}
    done = subprocess.run(command, capture_output=True, text=True, env=environment, cwd=tmp_path)
    assert done.returncode == 1
    last = done.stderr.strip().splitlines()[-1]
    assert last.startswith("ImportError: the C part of gpusched is not in ")
    assert last.endswith("leave the folder or run pip install -e .")


def test_import_is_light() -> None:
    """`import gpusched` loads no slow or optional modules beside numpy."""
    names = run(
        sys.executable,
        "-c",
        "import sys, numpy; before = set(sys.modules); import gpusched\n"
        "print(*(set(sys.modules) - before))",
    ).split()
    assert "gpusched" in names
    heavy = {
        "IPython",
        "asyncio",
        "concurrent",
        "ctypes",
        "http",
        "matplotlib",
        "multiprocessing",
        "pandas",
        "scipy",
        "sqlite3",
        "tqdm",
        "unittest",
        "urllib",
    }
    assert sorted(heavy & {name.split(".")[0] for name in names}) == []


def test_parts_are_imported_where_they_are_used() -> None:
    """Asking for the functions loads nothing that only files, pictures and stores need."""
    names = run(
        sys.executable,
        "-c",
        "import sys, numpy; before = set(sys.modules)\n"
        "import gpusched as gs; gs.GPU; gs.pbs.search; gs.simulate.hierarchy\n"
        "gs.analysis.fifo_bound; gs.sweep\n"
        "print(*(set(sys.modules) - before))",
    ).split()
    assert {"gpusched.pbs.exact_search", "gpusched.study.sweeps"} <= set(names)
    standard = {
        *("concurrent", "csv", "gzip", "hashlib", "html", "multiprocessing", "pathlib"),
        *("sqlite3", "tempfile", "urllib", "zipfile"),
    }
    installed = {"IPython", "matplotlib", "pandas", "scipy", "tqdm"}
    unused = standard | installed
    assert sorted(unused & {name.split(".")[0] for name in names}) == []
    parts = {
        "gpusched._draw",
        "gpusched._support.files",
        "gpusched._support.input_files",
        "gpusched._support.saved_files",
        "gpusched.cuda",
        "gpusched.experiments",
        "gpusched.io",
        "gpusched.pbs.graph",
        "gpusched.study.engine",
        "gpusched.study.identity",
        "gpusched.study.store",
        "numpy.random",
    }
    assert sorted(parts & set(names)) == []
    assert [name for name in names if name.endswith("_timeline")] == []


def test_the_tab_key_shows_what_is_public() -> None:
    """dir() of the package and of its modules: all of it is there, none of it by accident."""
    shown = {name for name in dir(gpusched) if not name.startswith("__")}
    assert {"GPU", "KernelTasks", "pbs", "sweep", "Budget", "CudaError", "StoreError"} <= shown
    assert not shown & {"Any", "annotations", "TYPE_CHECKING", "results", "tasks", "table"}
    assert not [name for name in shown if name.startswith("_")]
    for name in dir(gpusched):
        value = getattr(gpusched, name)
        if name in gpusched._MODULES:
            assert dir(value) == sorted(value.__all__)
            assert all(hasattr(value, inner) for inner in dir(value)), name
            assert f"gs.{name}" in (gpusched.__doc__ or "") or name == "profiles"


@pytest.mark.source
def test_the_stub_is_the_one_of_the_signatures() -> None:
    """`python tests/core_stub.py` writes it again."""
    assert core_stub.stub() == core_stub.STUB.read_text(encoding="utf-8")


@pytest.mark.long
@pytest.mark.source
def test_stubs_describe_the_module() -> None:
    pytest.importorskip("mypy")
    options = ["--concise", "--mypy-config-file", "pyproject.toml"]
    run(sys.executable, "-m", "mypy.stubtest", *options, "gpusched._core")


@pytest.mark.long
@pytest.mark.source
def test_types() -> None:
    pytest.importorskip("mypy")
    run(sys.executable, "-m", "mypy", "--strict", "gpusched", "benchmarks/papers")


@pytest.mark.source
def test_style() -> None:
    pytest.importorskip("ruff")
    run(sys.executable, "-m", "ruff", "check", "--quiet", ".")
    run(sys.executable, "-m", "ruff", "format", "--check", "--quiet", ".")
