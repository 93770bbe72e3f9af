"""The package built for other platforms than this one; results/portability.txt.

Zig's C compiler (ziglang on PyPI) compiles all files for each platform with the project's warnings
as errors: the core, the CUDA backend and the Python module, which takes the headers of NumPy from
the platform's wheel and, being in the limited API, those of this Python. For Linux it makes a
wheel, too. With musl as the C library, which links statically, the core runs the inputs of
tests/fuzz/corpus, and its searches, tests and simulators check each other: on this processor, and
under QEMU's user mode on others, one of which has the other order of bytes. With --python the
tests run in a Python of one of the platforms, whose packages (NumPy, pandas, pytest and hypothesis)
are in a folder.

    python benchmarks/portability.py [--save] [PLATFORM ...] [--python
        "linux aarch64" "qemu-aarch64-static -L ROOT ROOT/usr/bin/python3.11" FOLDER]
"""

from __future__ import annotations

import argparse
import os
import re
import shlex
import shutil
import subprocess
import sys
import sysconfig
import tempfile
import time
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import numpy
from machine import describe

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent
CSRC, FUZZ = ROOT / "csrc", ROOT / "tests" / "fuzz"
ZIG = (sys.executable, "-m", "ziglang")
FLAGS = (
    *("-std=c11", "-O2", "-fPIC", "-Wall", "-Wextra", "-Wconversion", "-Wshadow", "-Werror"),
    *("-DPy_LIMITED_API=0x030b0000", "-DNPY_TARGET_VERSION=NPY_2_0_API_VERSION"),
    *("-DNPY_NO_DEPRECATED_API=NPY_2_0_API_VERSION", '-DGPUSCHED_VERSION="0"'),
)
TESTS = ("test_tasks", "test_search", "test_host_analysis", "test_simulate", "test_store")


@dataclass(frozen=True)
class Platform:
    """A target of Zig; the tag of its wheel, None if it is only compiled; the tag of NumPy's wheel
    with its headers, None for those of this machine; whether programs run, and under which QEMU."""

    target: str
    wheel: str | None = None
    numpy: str | None = None
    runs: bool = False
    emulator: str | None = None


PLATFORMS = {
    "linux x86-64": Platform("x86_64-linux-gnu.2.28", "manylinux_2_28_x86_64"),
    "linux x86-64, musl": Platform("x86_64-linux-musl", "musllinux_1_2_x86_64", runs=True),
    "linux aarch64": Platform("aarch64-linux-gnu.2.28", "manylinux_2_28_aarch64"),
    "linux aarch64, musl": Platform(
        "aarch64-linux-musl", "musllinux_1_2_aarch64", runs=True, emulator="qemu-aarch64-static"
    ),
    "linux riscv64, musl": Platform(
        "riscv64-linux-musl", "musllinux_1_2_riscv64", runs=True, emulator="qemu-riscv64-static"
    ),
    "linux s390x, musl": Platform(
        "s390x-linux-musl", "musllinux_1_2_s390x", runs=True, emulator="qemu-s390x-static"
    ),
    "macos x86-64": Platform("x86_64-macos", numpy="macosx_14_0_x86_64"),
    "macos arm64": Platform("aarch64-macos", numpy="macosx_14_0_arm64"),
}


def execute(
    *command: str | Path, folder: Path = ROOT, variables: Mapping[str, str] | None = None
) -> str:
    """The output of a command, which has to succeed."""
    done = subprocess.run(
        command,
        cwd=folder,
        env=os.environ | (variables or {}),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
    )
    if done.returncode != 0:
        sys.exit(f"{' '.join(map(str, command[:8]))} ...\n{done.stdout[-3000:]}")
    return done.stdout


def numpy_headers(folder: Path, tag: str | None) -> Path:
    """NumPy's headers for a platform."""
    if tag is None:
        return Path(numpy.get_include())
    choice = ("--platform", tag, "--only-binary=:all:", "--no-deps", "-d", folder / tag)
    execute(sys.executable, "-m", "pip", "download", "-q", *choice, "numpy")
    (wheel,) = (folder / tag).glob("*.whl")
    shutil.unpack_archive(wheel, folder / tag, "zip")
    return folder / tag / "numpy" / "_core" / "include"


def compile_all(platform: Platform, folder: Path) -> tuple[list[Path], int]:
    """The objects of the core and the harnesses, and the number of files that compile."""
    outside = (numpy_headers(folder, platform.numpy), sysconfig.get_path("include"))
    include = [f"-I{CSRC}", f"-I{FUZZ}", *(f"-isystem{place}" for place in outside)]
    sources = sorted(CSRC.rglob("*.c"))
    if platform.runs:
        sources += sorted(FUZZ.glob("*.c"))

    def compile_one(source: Path) -> Path:
        target = folder / f"{'-'.join(source.relative_to(ROOT).parts)}.o"
        execute(
            *ZIG, "cc", "-target", platform.target, *FLAGS, *include, "-c", source, "-o", target
        )
        return target

    with ThreadPoolExecutor(len(os.sched_getaffinity(0))) as pool:
        objects = list(pool.map(compile_one, sources))
    outer = ("csrc-python", "csrc-cuda")
    return [each for each in objects if not each.name.startswith(outer)], len(sources)


def replay(platform: Platform, folder: Path, objects: list[Path]) -> int:
    """The number of inputs of all corpora; each of them has to run without a finding."""
    archive = folder / "core.a"
    core = [each for each in objects if each.name.startswith("csrc")]
    execute(*ZIG, "ar", "rcs", archive, *core)
    count = 0
    for corpus in sorted((FUZZ / "corpus").iterdir()):
        program, inputs = folder / corpus.name, sorted(corpus.iterdir())
        main = [folder / f"tests-fuzz-{name}.c.o" for name in (f"fuzz_{corpus.name}", "replay")]
        link = ("-target", platform.target, "-static")
        execute(*ZIG, "cc", *link, *main, archive, "-lm", "-o", program)
        emulator = [platform.emulator] if platform.emulator else []
        said = execute(*emulator, program, *inputs).splitlines()
        if said != [str(path) for path in inputs]:
            sys.exit(f"{corpus.name}: {said[-3:]}")
        count += len(inputs)
    return count


def wheel(platform: Platform, tag: str, folder: Path) -> Path:
    """A wheel of the package, built in a copy of the sources."""
    copy, compiler = folder / "sources", folder / "zig-cc"
    without = shutil.ignore_patterns(".git", "build", "dist", "*.so", "results", "__pycache__")
    shutil.copytree(ROOT, copy, ignore=without)
    compiler.write_text(f'#!/bin/sh\nexec {shlex.join(ZIG)} cc -target {platform.target} "$@"\n')
    compiler.chmod(0o755)
    build = {"CC": str(compiler), "LDSHARED": f"{compiler} -shared", "GPUSCHED_CUDA": "0"}
    command = (sys.executable, "setup.py", "-q", "bdist_wheel", "--plat-name", tag)
    execute(*command, folder=copy, variables=build)
    (found,) = (copy / "dist").glob("*.whl")
    return found


def tests(python: str, packages: Path, built: Path, folder: Path) -> str:
    """The summary of pytest in a Python of another platform, whose packages are in a folder."""
    site = folder / "site-packages"
    shutil.copytree(packages, site)
    shutil.unpack_archive(built, site, "zip")
    command, *options = shlex.split(python)
    if command.startswith("qemu-"):
        options = ["-E", f"PYTHONPATH={site}", *options]
    chosen = ("-p", "no:cacheprovider", "-m", "not source and not long")
    said = execute(
        *(command, *options, "-P", "-m", "pytest", *chosen),
        *(f"{name}.py" for name in TESTS),
        folder=ROOT / "tests",
        variables={"PYTHONPATH": str(site), "GPUSCHED_HYPOTHESIS": "quick"},
    )
    return re.sub(r" in [\d.]+s.*", "", said.strip().splitlines()[-1]).strip("= ")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("platform", nargs="*", help=f"of: {'; '.join(PLATFORMS)}")
    parser.add_argument(
        "--python",
        nargs=3,
        metavar=("PLATFORM", "COMMAND", "FOLDER"),
        help="a platform, how its Python is started, and the folder of its packages",
    )
    parser.add_argument("--save", action="store_true", help="keep the table in benchmarks/results")
    args = parser.parse_args()
    lines = [f"Other platforms, {describe()}, Zig {execute(*ZIG, 'version').strip()}", ""]
    lines.append(f"{'platform':20s} {'files':>6s} {'wheel, bytes':>13s} {'inputs':>7s}")
    print(*lines, sep="\n", flush=True)
    for name in args.platform or PLATFORMS:
        platform, began = PLATFORMS[name], time.perf_counter()
        with tempfile.TemporaryDirectory() as temporary:
            folder = Path(temporary)
            objects, files = compile_all(platform, folder)
            inputs = str(replay(platform, folder, objects)) if platform.runs else ""
            built = wheel(platform, platform.wheel, folder) if platform.wheel else None
            size = "" if built is None else str(built.stat().st_size)
            lines.append(f"{name:20s} {files:6d} {size:>13s} {inputs:>7s}".rstrip())
            print(lines[-1], f"({time.perf_counter() - began:.0f} s)", flush=True)
            if args.python and args.python[0] == name and built is not None:
                said = tests(args.python[1], Path(args.python[2]), built, folder)
                lines.append(f"  tests in a Python of this platform: {said}")
                print(lines[-1], flush=True)
    if args.save:
        (HERE / "results" / "portability.txt").write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
