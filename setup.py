"""Builds the extension module gpusched._core from every C file of the core and the module.

GPUSCHED_WERROR=1 turns the project's warnings into errors; GPUSCHED_SANITIZE=address,undefined
instruments the build. Both are for the project's own checks.

GPUSCHED_CUDA says whether the kernels of the CUDA backend are compiled and carried along: auto (the
default) where nvcc works, 1 or fail, 0 not at all. Without them everything else is the same.

Builds in place and with sanitizers keep debug symbols; the others, which become wheels, have none.
The files are compiled on all cores, or as many as build_ext -j says, and only those that changed
(csrc/rebuild.py), in a folder of build/objects for each set of options.

Beside the extension module go the header of the runtime library (csrc/rt), the library from the
same objects, and files with which CMake and pkg-config find them: gpusched/include, gpusched/lib.

    python setup.py -q core

prints the path of a static library with the objects of a build in place, without the Python module.
"""

import hashlib
import logging
import os
import re
import shutil
import subprocess
import sys
import sysconfig
import tomllib
from pathlib import Path

import numpy
import setuptools
from setuptools import Distribution, Extension, setup
from setuptools.command.build_ext import build_ext

root = Path(__file__).resolve().parent
version = re.search(r'"(.+)"', (root / "gpusched/_version.py").read_text())[1]
sources = sorted(str(p.relative_to(root)) for p in (root / "csrc").rglob("*.c"))
headers = sorted(str(p.relative_to(root)) for p in (root / "csrc").rglob("*.h"))

compile_args = ["-std=c11", "-O3", "-fvisibility=hidden", "-fno-math-errno"]
link_args = []
if os.environ.get("GPUSCHED_WERROR"):
    compile_args += ["-Wall", "-Wextra", "-Wconversion", "-Wshadow", "-Werror"]
if sanitizers := os.environ.get("GPUSCHED_SANITIZE"):
    compile_args += [f"-fsanitize={sanitizers}", "-fno-omit-frame-pointer", "-g", "-O1"]
    # Python's own flags make signed overflow wrap, which would hide it from the sanitizer.
    compile_args += ["-fno-sanitize-recover=undefined", "-fno-wrapv"]
    link_args += [f"-fsanitize={sanitizers}"]

# One build serves every later version of Python, but for those without the GIL, which have no
# limited API.
limited_api = [("Py_LIMITED_API", "0x030b0000")]
if sysconfig.get_config_var("Py_GIL_DISABLED"):
    limited_api = []


def refusal():
    """Why gpusched cannot be built for this Python, or None."""
    if sys.maxsize < 2**32:
        return "gpusched needs a 64-bit Python: 32-bit compilers lack its 128-bit integers"
    if sys.platform == "win32":
        return (
            "gpusched does not build on Windows: it needs a C compiler with 128-bit integers and "
            "POSIX threads, dlopen and mlockall; use the Windows Subsystem for Linux (WSL 2)"
        )
    return None


def long_description():
    """README.md with its relative links as addresses of the files at the version's tag."""
    project = tomllib.loads((root / "pyproject.toml").read_text("utf-8"))["project"]
    source = project["urls"]["Source"]

    def absolute(link):
        kind = "raw" if link[1] else "blob"  # pictures as such, texts as pages
        return f"{link[1]}[{link[2]}]({source}/{kind}/v{version}/{link[3]})"

    readme = (root / "README.md").read_text("utf-8")
    return re.sub(r"(!?)\[([^\]]*)\]\((?!https:|#)([^)]+)\)", absolute, readme)


# What a driver translates for all GPUs from Turing on, and code for the data-centre GPUs, from the
# version of the toolkit on that knows them.
TRANSLATED = "-gencode=arch=compute_75,code=compute_75"
CODE = {80: 11000, 90: 11080}
cuda = root / "build" / "cuda"
kernels = root / "csrc/cuda/spin.cu"
config = cuda / "gpusched_cuda_image.h"


class NoKernels(Exception):
    """Why the kernels cannot be compiled."""


def find_nvcc():
    homes = [os.environ.get(name) for name in ("CUDA_HOME", "CUDA_PATH")]
    places = [str(Path(home, "bin")) for home in homes if home]
    places += [os.environ.get("PATH", ""), "/usr/local/cuda/bin"]
    nvcc = shutil.which("nvcc", path=os.pathsep.join(places))
    if nvcc is None:
        raise NoKernels("built without the CUDA toolkit: no nvcc was found")
    return nvcc


def run_nvcc(nvcc, *arguments):
    try:
        return subprocess.run(
            [nvcc, *arguments], capture_output=True, text=True, check=True, timeout=300
        ).stdout
    except (OSError, subprocess.SubprocessError) as error:
        said = (getattr(error, "stderr", None) or str(error)).strip().splitlines() or ["nothing"]
        raise NoKernels(f"built without kernels: {nvcc} failed: {said[-1]}") from error


def compile_kernels():
    """The lines of the header that tells image.c what there is."""
    wanted = os.environ.get("GPUSCHED_CUDA", "auto")
    if wanted not in ("auto", "0", "1"):
        raise SystemExit(f"GPUSCHED_CUDA={wanted}: must be auto, 0 or 1")
    try:
        if wanted == "0":
            raise NoKernels("built without the CUDA backend's kernels: GPUSCHED_CUDA was 0")
        nvcc = find_nvcc()
        found = re.search(r"release (\d+)\.(\d+)", run_nvcc(nvcc, "--version"))
        if found is None:
            raise NoKernels(f"built without kernels: {nvcc} does not say its version")
        number = 1000 * int(found[1]) + 10 * int(found[2])
        code = [f"-gencode=arch=compute_{a},code=sm_{a}" for a in CODE if number >= CODE[a]]
        options = ["-fatbin", "-O3", *code, TRANSLATED]
        content = hashlib.sha256(" ".join(options).encode() + kernels.read_bytes()).hexdigest()
        target = cuda / f"spin_{number}_{content[:16]}.fatbin"
        if not target.exists():
            part = target.with_suffix(f".{os.getpid()}")
            run_nvcc(nvcc, *options, "-o", str(part), str(kernels))
            part.replace(target)
        path = str(target).replace("\\", "\\\\").replace('"', '\\"')
        return [f'#define GS_CUDA_FATBIN "{path}"', f"#define GS_CUDA_TOOLKIT {number}"]
    except NoKernels as error:
        if wanted == "1":
            raise SystemExit(f"GPUSCHED_CUDA=1: {error}") from error
        why = re.sub(r'[^ -~]|["\\]', "?", str(error))
        return [f'#define GS_CUDA_MISSING "{why}"']


numpy_headers = f"-isystem{numpy.get_include()}"  # warnings are about the project's own code


def own_options(source):
    """Options of one source, which others do not depend on."""
    options = []
    if source.startswith("csrc/python/"):
        options += ["-DNPY_TARGET_VERSION=NPY_2_0_API_VERSION", numpy_headers]
        options += ["-DNPY_NO_DEPRECATED_API=NPY_2_0_API_VERSION"]
    if source == "csrc/python/module.c":
        options.append(f'-DGPUSCHED_VERSION="{version}"')
    if source == "csrc/cuda/image.c":
        options += ["-DGS_CUDA_CONFIG", f"-I{cuda}"]
    return options


def cores():
    """The number of cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


# The runtime library: its sources, and files with which other builds find it. Their folders are
# relative, so that an installed package can be moved.
RUNTIME = re.compile(r"csrc/(rt/.*|core/(context|vector)|io/json_(tokens|numbers))\.c")
PKG_CONFIG = """\
prefix=${pcfiledir}/../..
Name: gpusched-rt
Description: Runtime for programs that share a GPU as gpusched analysed it
Version: @VERSION@
Cflags: -I${prefix}/include
Libs: ${prefix}/lib/libgpusched_rt.a -lpthread
"""
CMAKE = """\
get_filename_component(_gpusched "${CMAKE_CURRENT_LIST_DIR}/../../.." ABSOLUTE)
include(CMakeFindDependencyMacro)
find_dependency(Threads)
set(gpusched_VERSION @VERSION@)
if(NOT TARGET gpusched::rt)
  add_library(gpusched::rt STATIC IMPORTED)
  set_target_properties(gpusched::rt PROPERTIES
    IMPORTED_LOCATION "${_gpusched}/lib/libgpusched_rt.a"
    INTERFACE_INCLUDE_DIRECTORIES "${_gpusched}/include"
    INTERFACE_LINK_LIBRARIES Threads::Threads)
endif()
"""


class Build(build_ext):
    """Compiles the kernels first, then the C files that changed on all cores."""

    def finalize_options(self):
        super().finalize_options()
        self.in_tree = bool(self.inplace)  # run() resets inplace
        self.keeps_symbols = bool(self.inplace or sanitizers)

    def run(self):
        if why := refusal():
            raise SystemExit(why)
        super().run()

    def build_extension(self, extension):
        cuda.mkdir(parents=True, exist_ok=True)
        text = "\n".join([*compile_kernels(), ""])
        if not config.exists() or config.read_text() != text:
            config.write_text(text)
        with self.open_objects(extension) as rebuild:
            self.make(rebuild, extension)

    def open_objects(self, extension):
        """The objects of these options, each of which has a folder for each compiler."""
        sys.path.insert(0, str(root / "csrc"))
        from rebuild import Rebuild, digest

        self.options = [*extension.extra_compile_args]
        self.options += [f"-I{name}" for name in [*extension.include_dirs, *self.include_dirs]]
        self.options += [f"-D{name}={value}" for name, value in extension.define_macros]
        self.link_options = [f"-L{name}" for name in self.library_dirs]
        self.link_options += [f"-l{name}" for name in extension.libraries]
        self.link_options += extension.extra_link_args
        if not self.keeps_symbols:
            self.options.append("-g0")  # Python's own flags may have -g
            if sys.platform == "linux":
                self.link_options.append("-Wl,--strip-all")
        compile_with, link_with = self.compiler.compiler_so, self.compiler.linker_so
        if sys.platform == "darwin":  # ARCHFLAGS
            from _osx_support import compiler_fixup

            compile_with = compiler_fixup(compile_with, self.options)
            link_with = compiler_fixup(link_with, self.link_options)
        self.compile_with, self.link_with = list(compile_with), list(link_with)
        told = subprocess.run([*compile_with, "--version"], capture_output=True, text=True).stdout
        words = [*compile_with, *link_with, *self.options, *self.link_options, told]
        kind = sanitizers or ("inplace" if self.keeps_symbols else "wheel")
        name = f"{kind}-{digest(*words, self.get_ext_filename('_core'))[:12]}"
        return Rebuild(
            Path("build/objects", name),
            self.spawn,
            told,
            {numpy_headers: f"numpy {numpy.__version__}"},  # in another folder when pip builds
            [*sources, *headers],
        )

    def compile(self, rebuild, chosen):
        """The objects of the chosen sources."""
        objects = {source: str(rebuild.folder / source[:-2]) + ".o" for source in chosen}
        commands = {}
        for source, made in objects.items():
            options = ["-MMD", "-MF", f"{made}.d", *self.options, *own_options(source)]
            commands[made] = [*self.compile_with, *options, "-c", source, "-o", made]
        limited = self.parallel is not None and self.parallel is not True
        count = rebuild.compile(commands, max(1, self.parallel) if limited else cores())
        self.announce(f"compiled {count} of {len(commands)} sources", logging.INFO)
        return list(objects.values())

    def make(self, rebuild, extension):
        objects = self.compile(rebuild, extension.sources)
        path = Path(self.get_ext_fullpath(extension.name))
        target = str(rebuild.folder / path.name)
        command = [*self.link_with, *objects, *self.link_options, "-o", target]
        rebuild.link(target, command, objects)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.unlink(missing_ok=True)
        shutil.copy(target, path)
        package = root / "gpusched" if self.in_tree else path.parent
        self.make_runtime(rebuild, extension, objects, package)

    def make_runtime(self, rebuild, extension, objects, package):
        """The runtime library with its header, beside the module."""
        own = [
            made
            for source, made in zip(extension.sources, objects, strict=True)
            if RUNTIME.fullmatch(source)
        ]
        archive = str(rebuild.folder / "libgpusched_rt.a")
        # D: no times and users, so that the same objects make the same archive.
        flags = "rcsD" if sys.platform == "linux" else "rcs"
        Path(archive).unlink(missing_ok=True)
        rebuild.link(archive, ["ar", flags, archive, *own], own)
        files = {
            "include/gpusched/rt.h": (root / "csrc/rt/rt.h").read_bytes(),
            "lib/libgpusched_rt.a": Path(archive).read_bytes(),
            "lib/pkgconfig/gpusched-rt.pc": PKG_CONFIG.replace("@VERSION@", version).encode(),
            "lib/cmake/gpusched/gpusched-config.cmake": CMAKE.replace(
                "@VERSION@", version
            ).encode(),
        }
        for name, content in files.items():
            file = package / name
            if not file.exists() or file.read_bytes() != content:
                file.parent.mkdir(parents=True, exist_ok=True)
                file.write_bytes(content)


class Core(Build):
    """Makes the core as a static library from the objects of a build in place."""

    def run(self):
        self.keeps_symbols = True
        super().run()

    def make(self, rebuild, extension):
        chosen = [name for name in extension.sources if not name.startswith("csrc/python/")]
        objects = self.compile(rebuild, chosen)
        target = str(rebuild.folder / "libgpusched.a")
        rebuild.link(target, ["ar", "rcs", target, *objects], objects)
        print(root / target)


class WithoutProject(Distribution):
    """For a setuptools older than 77, which refuses the license in pyproject.toml: it can build in
    place, which needs nothing of that file; pip installs a newer one."""

    def parse_config_files(self, filenames=None, ignore_option_errors=False):
        super().parse_config_files([], ignore_option_errors)


OLD = {"distclass": WithoutProject} if int(setuptools.__version__.split(".")[0]) < 77 else {}

setup(
    long_description=long_description(),
    long_description_content_type="text/markdown",
    cmdclass={"build_ext": Build, "core": Core},
    options={"bdist_wheel": {"py_limited_api": "cp311"}} if limited_api else {},
    **OLD,
    ext_modules=[
        Extension(
            "gpusched._core",
            sources=sources,
            include_dirs=["csrc"],
            libraries=["dl", "m", "pthread"],
            define_macros=limited_api,
            py_limited_api=bool(limited_api),
            extra_compile_args=compile_args,
            extra_link_args=link_args,
        )
    ],
)
