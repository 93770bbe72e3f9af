"""Program with a function of many parts, and changes of it that the identity must show.

Run as a script with the folder of the program: prints the parts as JSON.
"""

from __future__ import annotations

import importlib
import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

MAIN = '''
"""Program under test."""
import collections
import dataclasses
import enum
import functools

import numpy as np

import ip_helpers
import ip_package.inner
from ip_helpers import imported

THREADS = 4096
LEVEL = 1.0
ZERO = 0.0
TABLE = {"a": [1, 2], "b": {"c": (3, 4)}}
ORDERED = {"x": 1, "y": 2}
NAMES = {"u", "v", "w", "x", "y", "z"}
FIXED = frozenset({"p", "q"})
ARRAY = np.arange(4, dtype=np.int64)
RECORDS = np.zeros(2, dtype=[("a", "i1"), ("b", "f8")])
OBJECTS = np.array([1, "two", [3]], dtype=object)
RNG = np.random.default_rng(5)
ROOT = np.random.SeedSequence(11)
QUEUE = collections.deque([1, 2], maxlen=7)
LOOP = [1, 2]
LOOP.append(LOOP)


class Number(float):
    """Float with a unit."""

    def __new__(cls, value, unit):
        self = super().__new__(cls, value)
        self.unit = unit
        return self


NUMBER = Number(2.5, "ms")


class Kind(enum.Enum):
    RED = 10
    BLUE = 20

    def weight(self):
        return self.value * 2


class Flags(enum.Flag):
    ONE = 1
    TWO = 2


@dataclasses.dataclass
class Config:
    width: int = 5
    depth: list = dataclasses.field(default_factory=list)


CONFIG = Config(6, [1, 2])


class Slotted:
    __slots__ = ("left", "right")

    def __init__(self):
        self.left, self.right = 1, 2


SLOTTED = Slotted()


class Base:
    limit = 100

    def inherited(self):
        return self.limit + 41

    @staticmethod
    def fixed(x):
        return x + 42

    @classmethod
    def made(cls):
        return 43


class Model(Base):
    factor = 7

    def __init__(self):
        self.scale = 3.5
        self.inner = Config(8)

    @property
    def area(self):
        return self.scale * 44

    @functools.cached_property
    def cached(self):
        return 45

    def __getattr__(self, name):
        raise AttributeError(name)

    def body(self, x):
        return x + 46


MODEL = Model()


def deepest(x):
    return x + 51


def helper(x):
    return deepest(x) + 52


def decorated(function):
    @functools.wraps(function)
    def wrapper(*args):
        return function(*args) + 53
    return wrapper


@decorated
def wrapped(x):
    return x + 54


@functools.lru_cache(maxsize=64)
def remembered(x):
    return x + 55


@functools.singledispatch
def dispatched(x):
    return x + 56


@dispatched.register
def _(x: str):
    return 57


def closing(k):
    cell = [k, 58]

    def inner(x):
        return x + cell[0]
    return inner


CLOSURE = closing(59)
NESTED = lambda x: (lambda y: y + 60)(x)
PARTIAL = functools.partial(helper, 61)
CALLS = {"one": closing(62), "two": helper}


def even(n):
    return n == 0 or odd(n - 1)


def odd(n):
    return n != 63 and even(n - 1)


def guarded(x):
    try:
        return 1 / x
    except ZeroDivisionError:
        return 64


def comprehension(xs):
    return [x * 65 for x in xs if x in {"e", "f", "g"}]


def local_imports(x):
    from ip_package import late as local
    from ip_package.inner import chosen
    import ip_second
    return local.value + chosen + ip_second.offset(x)


def generator(n):
    for i in range(n):
        yield i + 66


def attributed(x):
    return attributed.k


attributed.k = 67


def writer(x):
    global WRITTEN
    WRITTEN = x


def study(*, level, count, first=0, seed=1, shape=(1, 2), scale=None):
    """Docstring."""
    class Local:
        reach = THREADS

        def method(self):
            return 68
    total = THREADS + LEVEL + ZERO + NUMBER + Kind.RED.weight() + CONFIG.width
    total += TABLE["a"][0] + len(ORDERED) + len(NAMES) + ARRAY.sum() + RECORDS["b"][0]
    total += len(OBJECTS) + RNG.random() + ROOT.entropy + len(QUEUE) + len(LOOP)
    total += MODEL.body(1) + SLOTTED.left + helper(2) + wrapped(3) + remembered(4) + len(FIXED)
    total += dispatched(5) + CLOSURE(6) + NESTED(7) + PARTIAL() + CALLS["one"](8) + even(9)
    total += guarded(0) + sum(comprehension([1])) + local_imports(10) + sum(generator(3))
    total += ip_helpers.constant + ip_helpers.function(11) + ip_package.inner.deep + imported(12)
    total += attributed(13) + Local().method() + Flags.ONE.value + alias(14) + whole(15)
    return writer(total), total


def alias(x):
    other = ip_helpers
    return other.function(x)


def whole(x):
    return getattr(ip_third, x)


import ip_third
'''

HELPERS = """
constant = 70
unread = 71

def function(x):
    return x + used_below(x)

def used_below(x):
    return 72

def imported(x):
    return x + 73
"""

FILES = {
    "ip_main.py": MAIN,
    "ip_helpers.py": HELPERS,
    "ip_second.py": "shift = 74\n\ndef offset(x):\n    return x + shift\n\nunread = 75\n",
    "ip_third.py": "first = 76\nsecond = [77]\n",
    "ip_package/__init__.py": "",
    "ip_package/inner.py": "deep = 80\nchosen = 81\nunread = 82\n",
    "ip_package/late.py": "value = 83\nunread = 84\n",
}

# (file, text, its replacement, part that is named)
CHANGES: list[tuple[str, str, str, str]] = [
    ("ip_main.py", "THREADS = 4096", "THREADS = 2048", "global THREADS read by study"),
    ("ip_main.py", "LEVEL = 1.0", "LEVEL = 1", "global LEVEL read by study"),
    ("ip_main.py", "LEVEL = 1.0", "LEVEL = True", "global LEVEL read by study"),
    ("ip_main.py", "LEVEL = 1.0", "LEVEL = np.float64(1)", "global LEVEL read by study"),
    ("ip_main.py", "LEVEL = 1.0", "LEVEL = np.float32(1)", "global LEVEL read by study"),
    ("ip_main.py", "LEVEL = 1.0", "LEVEL = '1.0'", "global LEVEL read by study"),
    ("ip_main.py", "LEVEL = 1.0", "", "global LEVEL read by study"),
    ("ip_main.py", "LEVEL = 1.0", "LEVEL = 1.0; len = min", "global len read by study"),
    ("ip_main.py", "ZERO = 0.0", "ZERO = -0.0", "global ZERO read by study"),
    ("ip_main.py", '"a": [1, 2]', '"a": [1, 3]', "global TABLE read by study"),
    ("ip_main.py", '"a": [1, 2]', '"a": (1, 2)', "global TABLE read by study"),
    ("ip_main.py", '"c": (3, 4)', '"c": (3, 5)', "global TABLE read by study"),
    ("ip_main.py", '{"x": 1, "y": 2}', '{"y": 2, "x": 1}', "global ORDERED read by study"),
    ("ip_main.py", '{"u", "v"', '{"u", "t"', "global NAMES read by study"),
    ("ip_main.py", 'frozenset({"p", "q"})', '{"p", "q"}', "global FIXED read by study"),
    ("ip_main.py", "np.arange(4,", "np.arange(1, 5,", "global ARRAY read by study"),
    ("ip_main.py", "dtype=np.int64", "dtype=np.int32", "global ARRAY read by study"),
    ("ip_main.py", "dtype=np.int64", "dtype='>i8'", "global ARRAY read by study"),
    ("ip_main.py", "np.int64)", "np.int64).reshape(2, 2)", "global ARRAY read by study"),
    ("ip_main.py", '("b", "f8")', '("b", "f4")', "global RECORDS"),
    ("ip_main.py", '"two", [3]', '"two", [4]', "global OBJECTS read by study"),
    ("ip_main.py", "default_rng(5)", "default_rng(6)", "global RNG"),
    ("ip_main.py", "SeedSequence(11)", "SeedSequence(12)", "global ROOT"),
    ("ip_main.py", "maxlen=7", "maxlen=8", "global QUEUE"),
    ("ip_main.py", "LOOP = [1, 2]", "LOOP = [1, 3]", "global LOOP read by study"),
    ("ip_main.py", 'Number(2.5, "ms")', 'Number(2.6, "ms")', "global NUMBER"),
    ("ip_main.py", 'Number(2.5, "ms")', 'Number(2.5, "us")', "global NUMBER.unit read by study"),
    ("ip_main.py", "RED = 10", "RED = 11", "Kind.RED"),
    ("ip_main.py", "self.value * 2", "self.value * 3", "the code of Kind.weight"),
    ("ip_main.py", "TWO = 2", "TWO = 4", "Flags.TWO"),
    ("ip_main.py", "CONFIG = Config(6", "CONFIG = Config(9", "global CONFIG.width read by study"),
    ("ip_main.py", "width: int = 5", "width: int = 6", "Config"),
    (
        "ip_main.py",
        "left, self.right = 1, 2",
        "left, self.right = 1, 3",
        "global SLOTTED.right read by study",
    ),
    ("ip_main.py", "limit = 100", "limit = 101", "Base.limit"),
    ("ip_main.py", "limit + 41", "limit + 1", "the code of Base.inherited"),
    ("ip_main.py", "x + 42", "x + 1", "the code of Base.fixed"),
    ("ip_main.py", "return 43", "return 1", "the code of Base.made"),
    ("ip_main.py", "Model(Base)", "Model(Config)", "base 0 of Model"),
    ("ip_main.py", "factor = 7", "factor = 8", "Model.factor"),
    ("ip_main.py", "self.scale = 3.5", "self.scale = 4.5", "global MODEL.scale read by study"),
    ("ip_main.py", "Config(8)", "Config(9)", "global MODEL.inner.width read by study"),
    ("ip_main.py", "self.scale * 44", "self.scale * 1", "the code of Model.area"),
    ("ip_main.py", "return 45", "return 1", "the code of Model.cached"),
    ("ip_main.py", "x + 46", "x + 1", "the code of Model.body"),
    ("ip_main.py", "x + 51", "x + 1", "the code of deepest (called by helper)"),
    ("ip_main.py", "+ 52", "+ 1", "the code of helper (called by study)"),
    ("ip_main.py", "+ 53", "+ 1", "the code of wrapped"),
    ("ip_main.py", "x + 54", "x + 1", "the code of wrapped"),
    ("ip_main.py", "x + 55", "x + 1", "the code of remembered"),
    (
        "ip_main.py",
        "maxsize=64",
        "maxsize=65",
        "global remembered.cache_parameters() read by study",
    ),
    ("ip_main.py", "x + 56", "x + 1", "the code of dispatched"),
    ("ip_main.py", "return 57", "return 1", "the code of _"),
    ("ip_main.py", "[k, 58]", "[k, 1]", "closure variable cell of closing.inner"),
    ("ip_main.py", "closing(59)", "closing(1)", "closure variable cell of closing.inner"),
    ("ip_main.py", "y + 60", "y + 1", "the code of <lambda>"),
    ("ip_main.py", "helper, 61", "helper, 1", "global PARTIAL argument 0 read by study"),
    ("ip_main.py", "closing(62)", "closing(1)", "closure variable cell of closing.inner #2"),
    ("ip_main.py", '"two": helper', '"two": deepest', "global CALLS read by study"),
    ("ip_main.py", "n != 63", "n != 1", "the code of odd (called by even)"),
    ("ip_main.py", "except ZeroDivisionError", "except ValueError", "the code of guarded"),
    ("ip_main.py", "return 64", "return 1", "the code of guarded"),
    ("ip_main.py", "x * 65", "x * 1", "the code of comprehension"),
    ("ip_main.py", '"e", "f", "g"', '"e", "f", "h"', "the code of comprehension"),
    ("ip_main.py", "i + 66", "i + 1", "the code of generator"),
    ("ip_main.py", "attributed.k = 67", "attributed.k = 1", "attribute k of attributed"),
    ("ip_main.py", "WRITTEN = x", "WRITTEN = -x", "the code of writer"),
    ("ip_main.py", "return 68", "return 1", "the code of study"),
    ("ip_main.py", "first=0", "first=2", "default first of study"),
    ("ip_main.py", "shape=(1, 2)", "shape=(1, 2.0)", "default shape of study"),
    ("ip_main.py", "scale=None", "scale=deepest", "default scale of study"),
    ("ip_main.py", "level, count,", "count, level,", "the code of study"),
    ("ip_main.py", "import ip_third", "import ip_second as ip_third", "all of ip_third"),
    ("ip_helpers.py", "70", "1", "ip_helpers.constant read by study"),
    ("ip_helpers.py", "x + used", "x - used", "the code of ip_helpers.function"),
    ("ip_helpers.py", "return 72", "return 1", "the code of ip_helpers.used_below"),
    ("ip_helpers.py", "x + 73", "x + 1", "the code of ip_helpers.imported"),
    ("ip_second.py", "74", "1", "global shift read by ip_second.offset"),
    ("ip_third.py", "76", "1", "ip_third.first"),
    ("ip_third.py", "[77]", "[78]", "ip_third.second"),
    ("ip_package/inner.py", "80", "1", "ip_package.inner.deep read by study"),
    ("ip_package/inner.py", "81", "1", "imported ip_package.inner.chosen read by local_imports"),
    ("ip_package/late.py", "83", "1", "imported ip_package.late.value read by local_imports"),
]

# Changes without effect on the results.
NEUTRAL: list[tuple[str, str, str]] = [
    ("ip_main.py", '"""Docstring."""', '"""Another docstring."""'),
    ("ip_main.py", '    """Docstring."""\n', ""),
    ("ip_main.py", '"""Float with a unit."""', '"""Number."""\n'),
    ("ip_main.py", "def helper(x):", "# A comment.\n\n\ndef helper(x):  # another"),
    ("ip_main.py", "    class Local:", "\n" * 300 + "    class Local:"),
    ("ip_main.py", "def helper(x):", "def helper(x: int) -> int:"),
    ("ip_main.py", "THREADS = 4096", "THREADS = 4095 + 1"),
    ("ip_main.py", "THREADS = 4096", "UNREAD = 1\nTHREADS = 4096"),
    ("ip_main.py", '{"u", "v", "w"', '{"w", "v", "u"'),
    ("ip_main.py", '"e", "f", "g"', '"g", "f", "e"'),
    ("ip_main.py", "LOOP.append(LOOP)", "LOOP.append([1, 2, LOOP])"),
    ("ip_second.py", "75", "1"),
    ("ip_package/inner.py", "82", "1"),
    ("ip_package/late.py", "84", "1"),
]


def write(folder: Path, file: str = "", text: str = "", other: str = "") -> Path:
    """Write the program into a folder, with ``text`` in ``file`` replaced by ``other``."""
    for name, content in FILES.items():
        if name == file:
            assert content.count(text) >= 1, text
            content = content.replace(text, other, 1)
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content, encoding="utf-8")
    return folder


def load(folder: Path) -> Any:
    """Import the program of a folder anew."""
    forget()
    sys.path.insert(0, str(folder))
    importlib.invalidate_caches()
    try:
        return importlib.import_module("ip_main")
    finally:
        for name in ("ip_package.late", "ip_second"):
            importlib.import_module(name)
        sys.path.remove(str(folder))


def forget() -> None:
    for name in [name for name in sys.modules if name.startswith("ip_")]:
        del sys.modules[name]


if __name__ == "__main__":
    from gpusched.study.identity.function_identity import function_parts

    program: Callable[..., Any] = load(Path(sys.argv[1])).study
    print(json.dumps(function_parts(program)))
