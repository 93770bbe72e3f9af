"""The package built for other platforms than this one; results/portability.txt.

Zig's C compiler (ziglang on PyPI) compiles all files for each platform with the project's warnings
as errors: the core, the CUDA backend and the Python module, which takes the headers of NumPy from
the platform's wheel and, being in the limited API, those of this Python. For Linux the module is
linked into a wheel, too. Then the core and the inputs of tests/fuzz/corpus run there, with their
checks of searches, tests and simulators against each other: here, or under QEMU's user mode, on
processors with 32 or 64 registers, with either order of bytes, and with musl as the C library.
With --python the tests run in a Python of another platform that has NumPy, pytest and hypothesis.

    python benchmarks/portability.py [--save] [PLATFORM ...]
        [--python "qemu-aarch64-static -L ROOT ROOT/usr/bin/python3.11" --packages FOLDER]
"""

from __future__ import annotations

import argparse
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from machine import describe

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent
FUZZ = ROOT / "tests" / "fuzz"
WARNINGS = ["-Wall", "-Wextra", "-Wconversion", "-Wshadow", "-Werror"]
TESTS = ("test_tasks", "test_search", "test_host_analysis", "test_simulate", "test_store")


@dataclass(frozen=True)
class Platform:
    """wheel: its tag, None for one that is compiled only; numpy: that of NumPy's wheel, None for
    this machine's headers; emulator: QEMU's name of the processor, None for this machine's, ""
    where nothing can run."""

    target: str
    wheel: str | None
    numpy: str | None
    emulator: str | None


PLATFORMS = {
    "linux x86-64": Platform("x86_64-linux-gnu.2.28", "manylinux_2_28_x86_64", None, ""),
    "linux x86-64, musl": Platform("x86_64-linux-musl", "musllinux_1_2_x86_64", None, None),
    "linux aarch64": Platform("aarch64-linux-gnu.2.28", "manylinux_2_28_aarch64", None, ""),
    "linux aarch64, musl": Platform("aarch64-linux-musl", "musllinux_1_2_aarch64", None, "aarch64"),
    "linux s390x, musl": Platform("s390x-linux-musl", "musllinux_1_2_s390x", None, "s390x"),
    "linux riscv64, musl": Platform("riscv64-linux-musl", "musllinux_1_2_riscv64", None, "riscv64"),
    "macos x86-64": Platform("x86_64-macos", None, "macosx_14_0_x86_64", ""),
    "macos arm64": Platform("aarch64-macos", None, "macosx_14_0_arm64", ""),
}


def execute(command: list[str | Path], **options: object) -> str:
    done = subprocess.run(command, capture_output=True, text=True, errors="replace", **options)  # type: ignore[call-overload]
    if done.returncode != 0:
        sys.exit(f"{' '.join(map(str, command[:8]))} ...\n{(done.stdout + done.stderr)[-3000:]}")
    return str(done.stdout + done.stderr)


def headers(folder: Path, tag: str | None) -> Path:
    """NumPy's headers for a platform."""
    if tag is None:
        import numpy

        return Path(numpy.get_include())
    place = folder / tag
    platform = ["--platform", tag, "--only-binary=:all:", "--no-deps"]
    execute([sys.executable, "-m", "pip", "download", "-q", *platform, "-d", place, "numpy"])
    (wheel,) = place.glob("*.whl")
    shutil.unpack_archive(wheel, place, "zip")
    return place / "numpy" / "_core" / "include"


def compile_all(platform: Platform, folder: Path) -> tuple[Path, int]:
    """An archive of the core, and the number of files that compile."""
    import sysconfig

    outside = [headers(folder, platform.numpy), sysconfig.get_path("include")]
    flags = ["-std=c11", "-O2", "-fPIC", *WARNINGS, "-DPy_LIMITED_API=0x030b0000"]
    flags += ["-DNPY_TARGET_VERSION=NPY_2_0_API_VERSION", '-DGPUSCHED_VERSION="0"']
    flags += ["-DNPY_NO_DEPRECATED_API=NPY_2_0_API_VERSION"]
    flags += [f"-I{ROOT / 'csrc'}", f"-I{FUZZ}"]
    flags += [part for place in outside for part in ("-isystem", str(place))]
    core = []

    def compile_one(source: Path) -> None:
        target = folder / ("-".join(source.relative_to(ROOT).parts) + ".o")
        zig = [sys.executable, "-m", "ziglang", "cc", "-target", platform.target]
        execute([*zig, *flags, "-c", source, "-o", target])
        if "python" not in source.parts and "cuda" not in source.parts:
            core.append(target)

    sources = list((ROOT / "csrc").rglob("*.c"))
    if platform.emulator != "":
        sources += FUZZ.glob("*.c")
    with ThreadPoolExecutor(len(os.sched_getaffinity(0))) as pool:
        list(pool.map(compile_one, sources))
    archive = folder / "core.a"
    execute(
        [
            sys.executable,
            "-m",
            "ziglang",
            "ar",
            "rcs",
            archive,
            *[c for c in core if "fuzz" not in c.name],
        ]
    )
    return archive, len(sources)


def replay(platform: Platform, folder: Path, archive: Path) -> int:
    """The number of inputs of all corpora that run without a finding."""
    count = 0
    for corpus in sorted((FUZZ / "corpus").iterdir()):
        program, inputs = folder / corpus.name, sorted(corpus.iterdir())
        objects = [folder / f"tests-fuzz-{name}.c.o" for name in (f"fuzz_{corpus.name}", "replay")]
        zig = [sys.executable, "-m", "ziglang", "cc", "-target", platform.target, "-static"]
        execute([*zig, *objects, archive, "-lm", "-o", program])
        emulator = [f"qemu-{platform.emulator}-static"] if platform.emulator else []
        said = execute([*emulator, program, *inputs]).splitlines()
        if said != [str(path) for path in inputs]:
            sys.exit(f"{corpus.name}: {said[-3:]}")
        count += len(inputs)
    return count


def wheel(platform: Platform, folder: Path) -> Path:
    """A wheel of the package, built in a copy of the sources."""
    copy, compiler = folder / "sources", folder / "zig-cc"
    ignore = shutil.ignore_patterns(".git", "build", "dist", "*.so", "results", "__pycache__")
    shutil.copytree(ROOT, copy, ignore=ignore)
    zig = f"{sys.executable} -m ziglang cc -target {platform.target}"
    compiler.write_text(f'#!/bin/sh\nexec {zig} "$@"\n')
    compiler.chmod(0o755)
    build = {"CC": str(compiler), "LDSHARED": f"{compiler} -shared", "GPUSCHED_CUDA": "0"}
    command = [sys.executable, "setup.py", "-q", "bdist_wheel", "--plat-name", platform.wheel]
    execute(command, cwd=copy, env=os.environ | build)
    (found,) = (copy / "dist").glob("*.whl")
    return found


def tests(python: str, packages: Path, built: Path, folder: Path) -> str:
    """The summary of pytest in a Python of another platform, whose packages are in a folder."""
    site = folder / "site-packages"
    shutil.copytree(packages, site)
    shutil.rmtree(site / "gpusched", ignore_errors=True)
    shutil.unpack_archive(built, site, "zip")
    command, *options = shlex.split(python)
    emulated = ["-E", f"PYTHONPATH={site}"] if command.startswith("qemu-") else []
    pytest = ["-P", "-m", "pytest", "-p", "no:cacheprovider", "-m", "not source and not long"]
    files = [f"{name}.py" for name in TESTS]
    environment = os.environ | {"PYTHONPATH": str(site), "GPUSCHED_HYPOTHESIS": "quick"}
    whole = [command, *emulated, *options, *pytest, *files]
    said = execute(whole, cwd=ROOT / "tests", env=environment)
    return re.sub(r" in .*", "", said.strip().splitlines()[-1])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("platform", nargs="*", help=f"of: {'; '.join(PLATFORMS)}")
    parser.add_argument(
        "--python", help="how to start the Python of the one platform that is given"
    )
    parser.add_argument("--packages", type=Path, help="the folder of its packages")
    parser.add_argument("--save", action="store_true", help="keep the table in benchmarks/results")
    args = parser.parse_args()
    version = execute([sys.executable, "-m", "ziglang", "version"]).strip()
    lines = [f"Other platforms, {describe()}, Zig {version}", ""]
    lines.append(
        f"{'platform':22s} {'files':>6s} {'wheel, bytes':>13s} {'inputs':>7s} {'seconds':>8s}"
    )
    for name in args.platform or PLATFORMS:
        platform, began = PLATFORMS[name], time.perf_counter()
        with tempfile.TemporaryDirectory() as temporary:
            folder = Path(temporary)
            archive, files = compile_all(platform, folder)
            inputs = "" if platform.emulator == "" else str(replay(platform, folder, archive))
            built = wheel(platform, folder) if platform.wheel else None
            size = "" if built is None else str(built.stat().st_size)
            seconds = time.perf_counter() - began
            lines.append(f"{name:22s} {files:6d} {size:>13s} {inputs:>7s} {seconds:8.0f}")
            print(lines[-1], flush=True)
            if args.python and built is not None:
                lines.append(f"{'':22s} {tests(args.python, args.packages, built, folder)}")
                print(lines[-1], flush=True)
    if args.save:
        (HERE / "results" / "portability.txt").write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
