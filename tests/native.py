"""Compilation of C code for tests, with the project's warnings and optional sanitizers."""

from __future__ import annotations

import functools
import inspect
import os
import shlex
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

CSRC = Path(__file__).parent.parent / "csrc"
# Tests leave members of structures out on purpose: they are 0.
WARNINGS = ["-Wall", "-Wextra", "-Wconversion", "-Wshadow", "-Wno-missing-field-initializers"]


def clean_environment(**changes: str) -> dict[str, str]:
    """For child processes that are not Python: no preloaded sanitizer runtime."""
    environment = {k: v for k, v in os.environ.items() if k != "LD_PRELOAD"}
    return environment | changes


@dataclass(frozen=True)
class Compiler:
    """The C compiler with the project's flags."""

    command: tuple[str, ...]
    sanitizers: str
    level: str = "-O1"

    def flags(self, sanitized: bool) -> list[str]:
        flags = ["-std=c11", self.level, "-g", *WARNINGS]
        if os.environ.get("GPUSCHED_WERROR"):
            flags.append("-Werror")
        if sanitized and self.sanitizers:
            flags += [f"-fsanitize={self.sanitizers}", "-fno-omit-frame-pointer"]
            flags.append("-fno-sanitize-recover=undefined")
        return flags

    def run(self, *arguments: str | Path, sanitized: bool = True) -> None:
        """Compiles or links; a failure shows what the compiler said."""
        command = [*self.command, *self.flags(sanitized), *map(str, arguments)]
        done = subprocess.run(
            command, capture_output=True, text=True, timeout=300, env=clean_environment()
        )
        if done.returncode != 0:
            pytest.fail(f"{shlex.join(command)}\n{done.stderr}", pytrace=False)


@functools.cache
def core_library(sanitizers: str = "") -> Path:
    """The core as a static library, from the objects of setup.py's build in place.

    Of several processes the first compiles what changed, and the others wait for it.
    """
    pytest.importorskip("setuptools")
    done = subprocess.run(
        [sys.executable, "setup.py", "-q", "core"],
        cwd=CSRC.parent,
        capture_output=True,
        text=True,
        timeout=1200,
        env=clean_environment(GPUSCHED_SANITIZE=sanitizers),
    )
    if done.returncode != 0:
        pytest.fail(done.stdout + done.stderr, pytrace=False)
    return Path(done.stdout.splitlines()[-1])


@functools.cache
def positional(function: Callable[..., Any]) -> Callable[..., Any]:
    """A function of the C module that takes all its arguments in the order of its signature."""
    parameters = inspect.signature(function).parameters.values()
    names = [parameter.name for parameter in parameters]
    fixed = sum(parameter.kind is parameter.POSITIONAL_ONLY for parameter in parameters)

    def call(*arguments: Any) -> Any:
        if len(arguments) > len(names):
            return function(*arguments)
        named = dict(zip(names[fixed:], arguments[fixed:], strict=False))
        return function(*arguments[:fixed], **named)

    return call
