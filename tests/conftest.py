"""Shared test set-up: path of the twins, the C core as a library, settings of hypothesis.

Environment variables:

CC                    the compiler (cc; of the core, Python's)
GPUSCHED_WERROR       the project's warnings are errors in what the tests compile
GPUSCHED_SANITIZE     sanitizers for what the tests compile, such as address,undefined
GPUSCHED_CUDA_HEADERS folders with a cuda.h, as a path list, with which declarations are compared
GPUSCHED_HYPOTHESIS   default; ci (the same examples every time); quick (few of them, and hostile
                      calls without a look for leaks); campaign (ten times as many)
"""

from __future__ import annotations

import gc
import os
import shlex
import shutil
import signal
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import settings

# What tests share stands here; some take parts of a test in another folder.
sys.path.insert(0, str(Path(__file__).parent))
sys.path.extend(sorted({str(path.parent) for path in Path(__file__).parent.glob("*/test_*.py")}))

from native import Compiler, core_library
from standin import Standin

# A shell lets its background processes ignore Ctrl-C, and they pass this on to the programs that
# the tests start and interrupt.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

settings.register_profile("default", deadline=None, print_blob=True)
settings.register_profile("ci", deadline=None, print_blob=True, derandomize=True)
settings.register_profile(
    "quick", deadline=None, print_blob=True, derandomize=True, max_examples=10
)
settings.register_profile("campaign", deadline=None, print_blob=True, max_examples=1000)
settings.load_profile(os.environ.get("GPUSCHED_HYPOTHESIS", "default"))


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--all", action="store_true", help="the long tests, too")


def pytest_configure(config: pytest.Config) -> None:
    """Leave out the long tests, unless tests are asked for in any other way."""
    asked = config.args_source == pytest.Config.ArgsSource.ARGS
    if not (asked or config.option.all or config.option.markexpr or config.option.keyword):
        config.option.markexpr = "not long"


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """With sanitizers, skip tests in which these can find nothing."""
    if os.environ.get("GPUSCHED_SANITIZE"):
        skipped = pytest.mark.skip(reason="has nothing to sanitize")
        for item in items:
            if any(item.iter_markers("source")) or any(item.iter_markers("python")):
                item.add_marker(skipped)


def pytest_collection_finish() -> None:
    """Leave the thousands of tests out of what is looked through for garbage later."""
    gc.collect()
    gc.freeze()


@pytest.fixture(scope="session")
def compiler() -> Compiler:
    command = shlex.split(os.environ.get("CC", "cc"))
    if not command or shutil.which(command[0]) is None:
        pytest.skip("needs a C compiler (CC or cc)")
    return Compiler(tuple(command), os.environ.get("GPUSCHED_SANITIZE", ""))


@pytest.fixture(scope="session")
def plain_core(compiler: Compiler) -> Path:
    """The core as a static library, without sanitizers."""
    return core_library()


@pytest.fixture(scope="session")
def core(compiler: Compiler) -> Path:
    """The core as a static library, with the sanitizers that were asked for."""
    return core_library(compiler.sanitizers)


@pytest.fixture
def standin(compiler: Compiler, monkeypatch: pytest.MonkeyPatch) -> Iterator[Standin]:
    """A fresh stand-in, which is the driver until the test ends and must get all back."""
    from gpusched.cuda import driver as opener

    driver = Standin()
    monkeypatch.setenv("GPUSCHED_CUDA_DRIVER", driver.path)
    monkeypatch.setattr(opener, "_opened", {})
    yield driver
    left = driver.live
    driver.reset()
    assert left == 0
