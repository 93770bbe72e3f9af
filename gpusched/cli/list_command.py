"""Commands ``methods``, ``gpus`` and ``config``: what the package has, options for compilers."""

from __future__ import annotations

import argparse
from collections.abc import Sequence

from gpusched.cli.command_parts import columns, left_columns


def add_methods(command: argparse.ArgumentParser) -> None:
    """Add the arguments of the command to its parser."""
    command.description = (
        "Lists the ways of sharing the GPU for compare, check and simulate, each with "
        "its test and the claim of the test; then all gpusched.methods()."
    )
    command.add_argument(
        "--json", action="store_true", help="print one JSON document, with all options"
    )
    command.set_defaults(run=_methods)


def _methods(options: argparse.Namespace) -> int:
    from gpusched._support.registry import methods
    from gpusched.comparison.documents import json_text, methods_document
    from gpusched.ways.way import WAYS

    if options.json:
        print(json_text(methods_document()), end="")
        return 0
    rows = [("way", "test", "claim", "modes", "title")]
    for way in WAYS:
        method = way.test_method
        claim = "simulation" if method is None else method.claim
        modes = ",".join(way.modes) or "-"
        rows.append((way.name, way.test or "-", claim, modes, way.title))
    print(f"{left_columns(rows)}\n\n{methods()!r}")
    return 0


def add_gpus(command: argparse.ArgumentParser) -> None:
    """Add the arguments of the command to its parser."""
    command.description = "Lists the known GPUs and their limits."
    command.set_defaults(run=_gpus)


def _gpus(options: argparse.Namespace) -> int:
    from gpusched.model.gpu import GPU
    from gpusched.model.gpus.gpu_fields import engines_text

    heads = (
        *("preset", "SMs", "threads/SM", "blocks/SM", "regs/SM", "smem/SM", "cc"),
        *("copy engines", "channels"),
    )
    rows: list[Sequence[str]] = [heads]
    for name in GPU.presets():
        gpu = GPU.preset(name)
        rows.append(
            (
                name,
                *map(str, (gpu.sms, gpu.threads_per_sm, gpu.blocks_per_sm, gpu.regs_per_sm)),
                f"{gpu.smem_per_sm // 1024} KiB",
                "-" if gpu.cc is None else ".".join(map(str, gpu.cc)),
                engines_text(gpu.copy_engines),
                "unknown" if gpu.channels is None else str(gpu.channels),
            )
        )
    print(columns(rows))
    return 0


_PARTS = {
    "cflags": "options for compiling",
    "libs": "options for linking",
    "includedir": "folder of gpusched/rt.h",
    "libdir": "folder of libgpusched_rt.a",
    "pkgconfigdir": "folder of gpusched-rt.pc, for PKG_CONFIG_PATH",
    "cmakedir": "folder of gpusched-config.cmake, for -Dgpusched_DIR",
}


def add_config(command: argparse.ArgumentParser) -> None:
    """Add the arguments of the command to its parser."""
    command.description = (
        "Prints what a program in C or C++ needs to use the runtime library, as in "
        "'c++ app.cpp $(gpusched config --cflags --libs)'. Without options, all parts with their "
        "names."
    )
    for part, text in _PARTS.items():
        command.add_argument(f"--{part}", action="store_true", help=text)
    command.set_defaults(run=_config)


def _config(options: argparse.Namespace) -> int:
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
