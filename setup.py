"""Builds the extension module gpusched._core from every C file of the core and the module.

GPUSCHED_WERROR=1 turns the project's warnings into errors; GPUSCHED_SANITIZE=address,undefined
instruments the build. Both are for the project's own checks.
"""

import os
import re
from pathlib import Path

import numpy
from setuptools import Extension, setup

root = Path(__file__).parent
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

setup(
    ext_modules=[
        Extension(
            "gpusched._core",
            sources=sources,
            depends=headers,
            include_dirs=["csrc"],
            define_macros=[
                ("NPY_TARGET_VERSION", "NPY_2_0_API_VERSION"),
                ("NPY_NO_DEPRECATED_API", "NPY_2_0_API_VERSION"),
                ("GPUSCHED_VERSION", f'"{version}"'),
            ],
            # As system headers, so that the project's warnings are about its own code.
            extra_compile_args=[*compile_args, f"-isystem{numpy.get_include()}"],
            extra_link_args=link_args,
        )
    ]
)
