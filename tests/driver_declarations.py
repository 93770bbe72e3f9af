"""Declarations of the CUDA driver in csrc/cuda/api.h, compared with NVIDIA's cuda.h.

Only the binary interface is compared: values of constants, offsets and sizes of types, and of each
function the number of its parameters, which of them are pointers, and their sizes.
"""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest
from native import CSRC, Compiler

API = (CSRC / "cuda/api.h").read_text()
DRIVER = (CSRC / "cuda/driver.c").read_text()
OLDEST = 12080  # older headers lack some of the errors

CONSTANTS = ("CUDA_ERROR_{}", "CU_DEVICE_{}", "CU_FUNC_ATTRIBUTE_{}", "CU_{}", "CUDA_{}")
SIZES = {
    "gs_cuda_api_result_t": "CUresult",
    "gs_cuda_api_device_t": "CUdevice",
    "gs_cuda_api_ptr_t": "CUdeviceptr",
    "gs_cuda_api_handle_t": "CUstream",
    "gs_cuda_api_resource_t": "CUdevResource",
    "gs_cuda_api_attribute_t": "CUlaunchAttribute",
    "gs_cuda_api_launch_t": "CUlaunchConfig",
}
MEMBERS = {
    "gs_cuda_api_resource_t": {"type": "type", "is.sm.sm_count": "sm.smCount"},
    "gs_cuda_api_attribute_t": {
        "id": "id",
        "value.cluster": "value.clusterDim",
        "value.programmatic": "value.programmaticStreamSerializationAllowed",
    },
    "gs_cuda_api_launch_t": {
        "grid_x": "gridDimX",
        "block_z": "blockDimZ",
        "smem": "sharedMemBytes",
        "stream": "hStream",
        "attributes": "attrs",
        "count": "numAttrs",
    },
}


def header_folders() -> list[Path]:
    """Folders with a cuda.h: those named in GPUSCHED_CUDA_HEADERS, and an installed toolkit's."""
    named = os.environ.get("GPUSCHED_CUDA_HEADERS", "").split(os.pathsep)
    toolkits = [os.environ.get("CUDA_HOME", ""), "/usr/local/cuda"]
    installed = [Path(home, "include") for home in toolkits if home]
    return [
        *(Path(name) for name in named if name),
        *[include for include in installed if _version(include) >= OLDEST][:1],
    ]


def compare(
    compiler: Compiler, include: Path, folder: Path, api: str = API, driver: str = DRIVER
) -> None:
    """Fail the test if the text ``api`` of api.h differs from the cuda.h in ``include``.

    Functions are those that the text ``driver`` of driver.c loads. ``folder`` is for what is made.
    """
    wrong: list[str] = []
    checks = _constants(api, (include / "cuda.h").read_text(), wrong)
    checks += _functions(api, driver, _prototypes(compiler, include, folder), wrong)
    if wrong:
        pytest.fail("\n".join([f"{include}/cuda.h:", *wrong]))
    checks += [(f"sizeof({ours}) == sizeof({theirs})", ours) for ours, theirs in SIZES.items()]
    for mine, members in MEMBERS.items():
        for ours, theirs in members.items():
            for form in ("offsetof({}, {})", "sizeof((({} *)0)->{})"):
                other = SIZES[mine]
                checks.append((f"{form.format(mine, ours)} == {form.format(other, theirs)}", ours))
    (folder / "api.h").write_text(api)
    source = folder / "check.c"
    asserted = [f'_Static_assert({same}, "{what}");' for same, what in checks]
    source.write_text("\n".join(["#include <cuda.h>", '#include "api.h"', *asserted, ""]))
    compiler.run("-isystem", include, "-c", source, "-o", folder / "check.o")


def _version(include: Path) -> int:
    """CUDA_VERSION of the cuda.h in this folder; 0 if there is none."""
    path = include / "cuda.h"
    found = re.search(r"#define CUDA_VERSION (\d+)", path.read_text() if path.exists() else "")
    return 0 if found is None else int(found[1])


def _constants(api: str, header: str, wrong: list[str]) -> list[tuple[str, str]]:
    enumerators = set(re.findall(r"\b(\w+) *= ", header))
    checks = []
    for name, value in re.findall(r"GS_CUDA_API_(\w+) = (\d+)", api):
        names = [form.format(name.removeprefix("FUNC_")) for form in CONSTANTS]
        theirs = [each for each in names if each in enumerators]
        if theirs:
            checks.append((f"(int){theirs[0]} == {value}", name))
        else:
            wrong.append(f"{name}: none of {', '.join(names)} is declared")
    assert len(checks) + len(wrong) > 35
    return checks


def _prototypes(compiler: Compiler, include: Path, folder: Path) -> dict[str, str]:
    """Parameters of each function, by its symbol in the driver.

    A header renames functions to their latest versions (cuMemAlloc to cuMemAlloc_v2), which differ
    between headers. With this definition it declares all versions by their symbols.
    """
    source, expanded = folder / "header.c", folder / "header.i"
    source.write_text("#define __CUDA_API_VERSION_INTERNAL\n#include <cuda.h>\n")
    compiler.run("-isystem", include, "-E", "-P", source, "-o", expanded)
    return dict(re.findall(r"\bCUresult\s+(cu\w+)\s*\(([^()]*)\)\s*;", expanded.read_text()))


def _functions(
    api: str, driver: str, prototypes: dict[str, str], wrong: list[str]
) -> list[tuple[str, str]]:
    declared = dict(re.findall(r"\bgs_cuda_api_result_t \(\*(\w+)\)\(([^()]*)\);", api))
    loaded = dict(re.findall(r'\b(?:ENTRY|OPTIONAL)\((\w+),\s*"(\w+)"\)', driver))
    assert len(loaded) > 40 and set(loaded) == set(declared)
    checks = []
    for name, symbol in loaded.items():
        if symbol not in prototypes:
            wrong.append(f"{symbol}: is not declared")
            continue
        ours, theirs = _types(declared[name]), _types(prototypes[symbol])
        if [_form(each) for each in ours] != [_form(each) for each in theirs]:
            wrong.append(f"{symbol}: got ({', '.join(ours)}), declared ({', '.join(theirs)})")
            continue
        for mine, other in zip(map(_pointee, ours), map(_pointee, theirs), strict=True):
            if mine != "void":
                checks.append((f"sizeof({mine}) == sizeof({other})", f"{symbol}: {mine}, {other}"))
    return checks


def _types(parameters: str) -> list[str]:
    """The types of named parameters."""
    text = " ".join(parameters.split())
    return [] if text == "void" else [re.sub(r"\w+$", "", each).strip() for each in text.split(",")]


def _pointee(type_: str) -> str:
    return re.sub(r"\bconst\b|\*", "", type_).strip()


def _form(type_: str) -> tuple[int, bool]:
    """The number of visible pointers, and whether the last points to unknown data."""
    return type_.count("*"), _pointee(type_) == "void"
