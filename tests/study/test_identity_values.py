"""Identity of values, refusals with names, hostile objects, and functions that were confused."""

from __future__ import annotations

import abc
import collections
import contextlib
import copy
import dataclasses
import decimal
import functools
import gc
import io
import itertools
import pickle
import pkgutil
import socket
import sys
import textwrap
import threading
import types
import weakref
from collections.abc import Callable
from typing import Any, NamedTuple, Protocol

import numpy as np
import pytest

import gpusched as gs
from gpusched.study.identity.function_identity import (
    IdentityError,
    difference,
    function_parts,
    value_digest,
)
from gpusched.study.identity.graph_digests import Vertex, digests
from gpusched.study.identity.module_origins import origin, package_version

pytestmark = pytest.mark.python


def digest(value: Any) -> str:
    return value_digest(value, "value")


def make(k: Any) -> Callable[[float], float]:
    return lambda x: k * x


class A:
    def __init__(self, scale: Any) -> None:
        self.scale = scale

    def m(self, x: float) -> float:
        return float(self.scale * x)

    def __call__(self, x: float) -> float:
        return self.m(x)


class Ms(float):
    pass


class Pair(NamedTuple):
    left: int
    right: int = 2


def body(*, level: float, k: Any = 1) -> float:
    return float(level * k)


# Pairs of functions that a name and the bytecode do not tell apart.
CONFUSED = {
    "closures": (make(1), make(2), "closure variable k of make.<lambda>"),
    "defaults": (lambda x, k=1: x * k, lambda x, k=2: x * k, "default k of <lambda>"),
    "keyword-only defaults": (lambda *, k=1: k, lambda *, k=2: k, "default k of <lambda>"),
    "helpers in closures": (make(make(1)), make(make(2)), "closure variable k of make.<lambda>"),
    "partials": (
        functools.partial(body, k=make(1)),
        functools.partial(body, k=make(2)),
        "closure variable k of make.<lambda>",
    ),
    "arguments": (functools.partial(body, k=1), functools.partial(body, k=2), "partial argument k"),
    "methods": (A(1).m, A(2).m, "self.scale of A.m"),
    "objects": (A(1), A(2), "self.scale of A"),
    "inner objects": (A(A(1)).m, A(A(2)).m, "self.scale.scale of A.m"),
    "float subclasses": (functools.partial(body, k=Ms(1)), functools.partial(body, k=1.0), ""),
    "arrays": (make(np.arange(2)), make(np.arange(2.0)), "closure variable k of make.<lambda>"),
    "vectorized": (np.vectorize(make(1)), np.vectorize(make(2)), "closure variable k"),
    "exceptions": (
        eval("lambda: (lambda: ValueError)"),
        eval("lambda: (lambda: KeyError)"),
        "",
    ),
}


@pytest.mark.parametrize("what", CONFUSED)
def test_confused_functions_differ(what: str) -> None:
    one, other, named = CONFUSED[what]
    found = difference(function_parts(one), function_parts(other))
    assert any(line.startswith(named) for line in found), found
    assert function_parts(one) == function_parts(one)


# Programs that define f with K as 1 and as 2.
PROGRAMS = {
    "patterns": """
        class P:
            __match_args__ = ("a", "b") if K == 1 else ("b", "a")
        p = P()
        def f(x):
            match p:
                case P(one, _):
                    return one""",
    "checks of subclasses": """
        class P(abc.ABC):
            @classmethod
            def __subclasshook__(cls, other):
                return K == 1
        f = lambda x: isinstance(x, P)""",
    "registered classes": """
        class P(abc.ABC):
            pass
        P.register(int if K == 1 else str)
        f = lambda x: isinstance(x, P)""",
    "kinds of property": """
        class Kind(property):
            def __get__(self, *_):
                return self.k
        class P:
            x = Kind()
        vars(P)["x"].k = K
        f = lambda x: P().x""",
    "kinds of static method": """
        class Kind(staticmethod):
            __slots__ = ("k",)
            def __get__(self, *_):
                return self.k
        class P:
            x = Kind(len)
        vars(P)["x"].k = K
        f = lambda x: P().x""",
    "kinds of cached property": """
        class Kind(functools.cached_property):
            def __get__(self, *_):
                return self.k
        class P:
            x = Kind(len)
        vars(P)["x"].k = K
        f = lambda x: P().x""",
    "attributes of a function with a cache": """
        @functools.lru_cache
        def g(x):
            return g.func
        g.func = K
        f = lambda x: g(x)""",
    "attributes of a function with several types": """
        @functools.singledispatch
        def g(x):
            return g.k
        g.k = K
        f = lambda x: g(x)""",
    "attributes of an array": """
        class Array(np.ndarray):
            pass
        a = np.zeros(2).view(Array)
        a.k = K
        f = lambda x: a.k""",
}


def defined(text: str, k: int) -> Any:
    space: dict[str, Any] = {"__name__": "defined", "K": k}
    space |= {"abc": abc, "functools": functools, "np": np}
    exec(textwrap.dedent(text), space)
    return space["f"]


@pytest.mark.parametrize("what", PROGRAMS)
def test_programs_that_differ(what: str) -> None:
    parts = [function_parts(defined(PROGRAMS[what], k)) for k in (1, 2, 1)]
    assert parts[0] != parts[1] and parts[0] == parts[2]


def test_identity_with_a_trace_function() -> None:
    """Debuggers and measurements of coverage make no difference."""
    before, known = function_parts(body), sys.gettrace()
    sys.settrace(lambda *_: None)
    try:
        body(level=1)
        assert function_parts(body) == before
    finally:
        sys.settrace(known)


class Shaped(Protocol):
    def area(self) -> float: ...


def test_protocols_have_an_identity() -> None:
    assert digest(Shaped) == digest(Shaped)


THREADS = 4096


def reads_global(x: float) -> float:
    return THREADS * x


def test_a_global_that_changed(monkeypatch: pytest.MonkeyPatch) -> None:
    before = function_parts(reads_global)
    monkeypatch.setattr(sys.modules[__name__], "THREADS", 2048)
    after = function_parts(reads_global)
    assert difference(before, after) == ["global THREADS read by reads_global differs"]


def test_a_builtin_that_is_shadowed_or_replaced(monkeypatch: pytest.MonkeyPatch) -> None:
    space: dict[str, Any] = {"__name__": "shadow"}
    exec("def f(x):\n    return abs(x)", space)
    before = function_parts(space["f"])
    space["abs"] = min
    assert difference(before, function_parts(space["f"])) == ["global abs read by f is new"]
    del space["abs"]
    with monkeypatch.context() as patch:
        patch.setattr("builtins.abs", lambda x: x)
        assert "global abs read by f is new" in difference(before, function_parts(space["f"]))
    assert function_parts(space["f"]) == before


def test_versions_are_parts() -> None:
    parts = function_parts(lambda: np.sin(gs.GPU.preset("xavier").sms))
    assert parts["numpy"] == np.__version__ and parts["gpusched"] == package_version().version
    assert package_version().version.startswith(gs.__version__)
    assert parts["Python"].startswith(f"{sys.version_info.major}.{sys.version_info.minor}.")
    held = {**parts, "numpy": "1.0"}
    assert difference(held, parts) == [f"numpy is {np.__version__}, was 1.0"]
    older = {**parts, "Python": "3.0", "the code of x": "0" * 32}
    assert difference(older, parts)[0].startswith("Python is ")
    assert difference(older, parts)[-1] == "the code of x is gone"


def test_origins() -> None:
    assert origin("os.path") == origin("sys") == origin("builtins")
    assert origin("numpy.linalg") == ("numpy", np.__version__)
    assert origin("pytest") is not None
    assert origin(__name__) is None and origin("no_such_module") is None


# Values of which no two are the same.
DIFFERENT: list[Any] = [
    *(None, True, False, 0, 1, -1, 2**40, 2**70, 0.0, -0.0, 1.0, float("inf"), 1j, complex(-0.0)),
    *("", "1", b"", b"1", "\ud800", ..., NotImplemented, bytearray(b"1"), range(3), range(4)),
    *([], (), {}, set(), frozenset(), [1], (1,), [[1]], [(1,)], {1}, frozenset({1}), {1: 1}),
    *({1: 2, 3: 4}, {3: 4, 1: 2}, {1: [2]}, {1: (2,)}, [1, 2], [2, 1], [1.0], [True], ["1"]),
    *(np.int64(1), np.int32(1), np.float64(1), np.float32(1), np.bool_(True), np.str_("1")),
    *(np.datetime64(1, "s"), np.datetime64(1, "ms"), np.timedelta64(1, "s"), np.longdouble(1)),
    *(np.array(1), np.array([1]), np.array([[1]]), np.array([1.0]), np.array(["1"]), np.array([])),
    *(np.array([], np.int8), np.array([1], ">i8"), np.array([1], object), np.array([1.0], object)),
    *(np.array([-0.0]), np.array([0.0]), np.zeros((0, 3)), np.zeros((3, 0)), np.array([""] * 2)),
    *(np.zeros(2, "i4,i4"), np.zeros(2, "i4,f4"), np.dtype("f8"), np.dtype("f4"), np.dtype(">f8")),
    *(np.random.default_rng(1), np.random.default_rng(2), np.random.SeedSequence(1)),
    *(np.random.SeedSequence(2), np.random.Generator(np.random.MT19937(1)), np.sin, np.cos),
    *(len, max, str.upper, [].append, [1].append, "a".upper, np.sum, np.mean, np, sys, int, float),
    *(A, Ms, Pair, A(1), A(2), A(1.0), Ms(1), Pair(1), Pair(2), Pair(1, 3), slice(1), slice(2)),
    *(decimal.Decimal(1), decimal.Decimal("1.0"), collections.Counter("a"), collections.deque([1])),
    *(collections.OrderedDict(a=1), collections.defaultdict(list), collections.defaultdict(set)),
    *(types.SimpleNamespace(a=1), types.SimpleNamespace(a=2), types.MappingProxyType({1: 1})),
    *(
        gs.GPU.preset("xavier"),
        gs.GPU(sms=4, threads_per_sm=1024, blocks_per_sm=8),
        gs.GPU(sms=5, threads_per_sm=1024, blocks_per_sm=8),
        gs.KernelTasks(period=[4], wcet=[1]),
    ),
    *(make(1), make(2), functools.partial(make, 1), functools.partial(make, k=1), A(1).m, A(2).m),
    *(np.array([1, 2]), np.array([1, 2]).view(np.recarray), list[int], list[str]),
]


def test_different_values_have_different_digests() -> None:
    found: dict[str, Any] = {}
    for value in DIFFERENT:
        other = found.setdefault(digest(value), value)
        assert other is value, (value, other)


def test_copies_have_equal_digests() -> None:
    for value in DIFFERENT:
        assert digest(value) == digest(value)
        if not isinstance(value, (types.ModuleType, types.FunctionType, types.MappingProxyType)):
            assert digest(copy.deepcopy(value)) == digest(value), value
        with contextlib.suppress(pickle.PicklingError, AttributeError, TypeError):
            other = pickle.loads(pickle.dumps(value))
            if getattr(other, "dtype", None) == getattr(value, "dtype", None):  # not the byte order
                assert digest(other) == digest(value), value


def test_sharing_makes_no_difference() -> None:
    inner = [1, [2]]
    assert digest([inner, inner]) == digest([[1, [2]], [1, [2]]])
    one = A([1])
    assert digest([one, one]) == digest([A([1]), A([1])])
    first, second = make(1), make(1)
    assert function_parts(make([first, first])) == function_parts(make([first, second]))
    text = "".join(["a", "b"])
    assert digest([text, text]) == digest([sys.intern("ab"), "".join(["a", "b"])])
    loop: list[Any] = [1]
    loop.append(loop)
    longer: list[Any] = [1, [1]]
    longer[1].append(longer)
    assert digest(loop) == digest(longer)
    assert digest(loop) != digest([1, [1, [1]]])


def test_arrays_by_their_contents() -> None:
    array = np.arange(12).reshape(3, 4)
    assert digest(array) == digest(np.asfortranarray(array)) == digest(array[:, ::-1][:, ::-1])
    padded = np.zeros(
        3, np.dtype({"names": ["a", "b"], "formats": ["i1", "f8"], "offsets": [0, 8]})
    )
    other = padded.copy()
    other.view(np.uint8).reshape(3, -1)[:, 3] = 9
    assert digest(padded) == digest(other)
    wide = np.ones(3, np.longdouble)
    assert digest(wide) == digest(wide.copy()) != digest(wide * 2)
    nested = np.array([[1, 2], None], object)
    assert digest(nested) == digest(copy.deepcopy(nested))


def test_attributes_have_no_order_and_caches_no_part() -> None:
    one, other = types.SimpleNamespace(), types.SimpleNamespace()
    one.a, one.b = 1, 2
    other.b, other.a = 2, 1
    assert digest(one) == digest(other)
    vectorized = np.vectorize(make(1), otypes=[float])
    before = digest(vectorized)
    vectorized([1.0])
    assert digest(vectorized) == before


def plain(x: Any) -> Any:
    return x


LOCK = threading.Lock()


def uses_lock(x: Any) -> Any:
    with LOCK:
        return x


def calls_lock(x: Any) -> Any:
    return uses_lock(x)


REFUSED: list[tuple[Any, tuple[str, ...]]] = [
    (uses_lock, ("global LOCK read by uses_lock", "a lock")),
    (calls_lock, ("global LOCK read by", "uses_lock", "a lock")),
    (make(threading.RLock()), ("closure variable k of", "a lock")),
    (make(threading.Event()), ("closure variable k of",)),
    (make(threading.Thread()), ("closure variable k of", "a thread")),
    (make(threading.local()), ("closure variable k of",)),
    (make(io.StringIO()), ("closure variable k of", "open file")),
    (make({"a": [1, io.BytesIO()]}), ("closure variable k['a'][1] of", "open file")),
    (make(x for x in [1]), ("closure variable k of", "a generator")),
    (make(itertools.count()), ("closure variable k of", "an iterator")),
    (make(weakref.ref(A)), ("closure variable k of", "a weak reference")),
    (make(np.frompyfunc(plain, 1, 1)), ("closure variable k of", "ufunc")),
    (make(memoryview(b"")), ("closure variable k of",)),
    (make({}.keys()), ("closure variable k of",)),
    (make(eval), ("closure variable k of", "eval")),
    (A(LOCK).m, ("self.scale of A.m", "a lock")),
    (A(A([LOCK])).m, ("self.scale.scale[0] of A.m", "a lock")),
    (functools.partial(body, k=LOCK), ("partial argument k of body", "a lock")),
    (eval("lambda: eval('1')"), ("<lambda>", "eval")),
    (eval("lambda: exec('1')"), ("<lambda>", "exec")),
    (eval("lambda: globals()['x']"), ("<lambda>", "globals")),
    (eval("lambda: __import__('x')"), ("<lambda>", "__import__")),
    (eval("lambda: __builtins__"), ("<lambda>", "__builtins__")),
    (eval("lambda: (lambda: eval)"), ("<lambda>", "eval")),
    (eval("lambda: sys.modules['x'].y", {"sys": sys}), ("<lambda>", "sys.modules")),
    (eval("lambda: sys._getframe()", {"sys": sys}), ("<lambda>", "sys._getframe")),
    (eval("lambda f: f.__globals__"), ("<lambda>", "__globals__")),
    (eval("lambda f: getattr(f, '__globals__')"), ("<lambda>", "__globals__")),
    (eval("lambda c: c.__subclasses__()"), ("<lambda>", "__subclasses__")),
    (eval("lambda: gc.get_objects()", {"gc": gc}), ("<lambda>", "gc.get_objects")),
    (eval("lambda: pkgutil.resolve_name('a')", {"pkgutil": pkgutil}), ("pkgutil.resolve_name",)),
    (eval("lambda b: getattr(b, 'x')", {"b": 1}), ()),
]


@pytest.mark.parametrize(("function", "words"), REFUSED)
def test_refusals_name_the_part(function: Any, words: tuple[str, ...]) -> None:
    if not words:
        function_parts(function)
        return
    with pytest.raises(IdentityError) as caught:
        function_parts(function)
    text = str(caught.value)
    assert text.endswith("pass key=... to identify the function yourself")
    for word in words:
        assert word in text


def test_refused_imports_inside() -> None:
    def one() -> Any:
        import importlib

        return importlib.import_module("json")

    def other() -> Any:
        from builtins import eval as hidden

        return hidden("1")

    for function in (one, other):
        with pytest.raises(IdentityError, match="cannot be seen"):
            function_parts(function)


def test_imports_of_missing_modules_are_parts() -> None:
    def function() -> Any:
        try:
            import no_such_module_here as fast
        except ImportError:
            fast = None
        return fast

    assert function_parts(function) == function_parts(function)


def test_a_socket_is_refused() -> None:
    with socket.socket() as one, pytest.raises(IdentityError, match=r"grid\['x'\]: got a socket"):
        value_digest(one, "grid['x']")


def test_the_name_of_a_value_stands_in_its_refusal() -> None:
    with pytest.raises(IdentityError, match=r"^grid\['x'\]\[1\]: got a lock"):
        value_digest([1, LOCK], "grid['x']")
    with pytest.raises(IdentityError, match=r"^grid\['x'\]: global LOCK read by uses_lock"):
        value_digest(uses_lock, "grid['x']")


class Hostile:
    """Object of which every question raises."""

    def __eq__(self, other: object) -> bool:
        raise RuntimeError("eq")

    def __hash__(self) -> int:
        raise RuntimeError("hash")

    def __bool__(self) -> bool:
        raise RuntimeError("bool")

    def __repr__(self) -> str:
        raise RuntimeError("repr")

    def __len__(self) -> int:
        raise RuntimeError("len")

    def __getattr__(self, name: str) -> Any:
        raise RuntimeError(name)


class Reduces:
    def __init__(self, answer: Callable[[], Any]) -> None:
        self.answer = answer

    def __reduce__(self) -> Any:
        return self.answer()


def _fail() -> Any:
    raise KeyError("no reduce")


def _deeper() -> Any:
    return (Reduces, (Reduces(_deeper),))


def _count() -> Any:
    return (str, (str(next(_counter)),))


_counter = iter(range(1000))


@pytest.mark.parametrize(
    "answer", [_fail, _deeper, _count, lambda: (), lambda: (1,), lambda: 5, lambda: (str, 5)]
)
def test_hostile_reductions_are_refused(answer: Callable[[], Any]) -> None:
    with pytest.raises(IdentityError, match=r"^value"):
        digest(Reduces(answer))


def test_an_object_that_raises_when_it_is_compared() -> None:
    assert digest([Hostile()]) == digest([Hostile()])
    assert function_parts(make(Hostile())) == function_parts(make(Hostile()))
    with pytest.raises(IdentityError):
        digest(Reduces(lambda: (str, (), None, itertools.repeat(1), None)))


class Unhashable(type):
    __hash__ = None  # type: ignore[assignment]


class OfUnhashable(metaclass=Unhashable):
    pass


def test_a_class_without_a_hash_is_refused_or_identified() -> None:
    with contextlib.suppress(IdentityError):
        digest(OfUnhashable())


@pytest.mark.long
@pytest.mark.parametrize("kind", [list, tuple, dict, A])
def test_deep_structures(kind: type) -> None:
    def deep() -> Any:
        value: Any = 1
        for _ in range(10_000 if kind is A else 100_000):
            value = {1: value} if kind is dict else A(value) if kind is A else kind((value,))
        return value

    with contextlib.suppress(IdentityError):
        assert digest(deep()) == digest(deep())


def test_a_lock_in_the_depth_has_a_short_name() -> None:
    value: Any = LOCK
    for _ in range(10_000):
        value = [value]
    with pytest.raises(IdentityError) as caught:
        digest(value)
    assert len(str(caught.value)) < 500


def test_functions_that_refer_to_each_other_through_a_chain() -> None:
    source = "\n".join(f"def f{i}(x):\n    return f{(i + 1) % 50}(x) + {i}" for i in range(50))
    one: dict[str, Any] = {"__name__": "chain"}
    other: dict[str, Any] = {"__name__": "chain"}
    exec(source, one)
    exec(source.replace("+ 31", "+ 131"), other)
    found = difference(function_parts(one["f0"]), function_parts(other["f0"]))
    assert found == ["the code of f31 (called by f30) differs"]


def test_graphs_with_equal_unfoldings_have_equal_digests() -> None:
    one = [Vertex(b"a", [1, b"x"]), Vertex(b"b", [0])]
    two = [Vertex(b"a", [1, b"x"]), Vertex(b"b", [2]), Vertex(b"a", [3, b"x"]), Vertex(b"b", [0])]
    assert digests(one, {})[0] == digests(two, {})[0] == digests(two, {})[2]
    assert digests(one, {})[1] == digests(two, {})[1] != digests(one, {})[0]
    two[3].label = b"c"
    assert digests(one, {})[0] != digests(two, {})[0] != digests(two, {})[2]


@dataclasses.dataclass
class Record:
    wide: int
    inner: Any = None


def test_a_large_value_is_no_burden() -> None:
    value = {"list": list(range(300_000)), "array": np.zeros(3_000_000), "all": [Record(1)] * 10}
    assert digest(value) == digest(copy.deepcopy(value))
