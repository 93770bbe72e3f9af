"""Command ``config``: compiler options for programs that use the runtime library."""

from __future__ import annotations

import argparse

_PARTS = {
    "cflags": "options for compiling",
    "libs": "options for linking",
    "includedir": "folder of gpusched/rt.h",
    "libdir": "folder of libgpusched_rt.a",
    "pkgconfigdir": "folder of gpusched-rt.pc, for PKG_CONFIG_PATH",
    "cmakedir": "folder of gpusched-config.cmake, for -Dgpusched_DIR",
}


def add(command: argparse.ArgumentParser) -> None:
    """Add the arguments of the command to its parser."""
    command.description = (
        "Prints what a program in C or C++ needs to use the runtime library, as in "
        "'c++ app.cpp $(gpusched config --cflags --libs)'. Without options, all parts with their "
        "names."
    )
    for part, text in _PARTS.items():
        command.add_argument(f"--{part}", action="store_true", help=text)
    command.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    from gpusched.rt import build_flags

    folder = build_flags.get_library_dir()
    values = {
        "cflags": build_flags.cflags(),
        "libs": build_flags.libs(),
        "includedir": build_flags.get_include(),
        "libdir": folder,
        "pkgconfigdir": f"{folder}/pkgconfig",
        "cmakedir": f"{folder}/cmake/gpusched",
    }
    asked = [values[part] for part in _PARTS if getattr(options, part)]
    print(" ".join(asked) if asked else "\n".join(f"{k}: {v}" for k, v in values.items()))
    return 0
