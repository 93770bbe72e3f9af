"""Traces read piece by piece against their twin, which decodes the whole text."""

from __future__ import annotations

import contextlib
import gzip
import itertools
import json
import random
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from reference import kineto as twin

from gpusched.io import readers
from gpusched.io.traces.trace_tables import Calls, LinkedCalls

pytestmark = pytest.mark.numbers

DATA = Path(__file__).parents[1] / "data"
SAMPLES = [DATA / "pipeline.pt.trace.json", DATA / "perception.pt.trace.json.gz"]
PIECES = (1, 2, 7, 64, 1000, 1 << 21)


@contextlib.contextmanager
def piece_size(size: int) -> Iterator[None]:
    """Pieces of so many bytes, after a first one by which the format is detected."""

    def cut(whole: Callable[..., Iterator[bytes]]) -> Callable[..., Iterator[bytes]]:
        def pieces(*arguments: Any) -> Iterator[bytes]:
            data = b"".join(whole(*arguments))
            ends = [100, *range(100 + size, len(data) + size, size)]
            yield from filter(None, (data[a:b] for a, b in itertools.pairwise([0, *ends])))

        return pieces

    names = ("pieces", "unpacked_pieces")
    before = {name: getattr(readers, name) for name in names}
    for name in names:
        setattr(readers, name, cut(before[name]))
    try:
        yield
    finally:
        for name in names:
            setattr(readers, name, before[name])


def read(path: Path) -> Any:
    """Events that the reader finds, in the form of the twin; or its error."""
    try:
        file = readers.reader(str(path), 1 << 30)
        trace = file.launches()
    except ValueError as error:
        return str(error)
    beside = file.beside_kernels()
    columns = ("name", "start", "duration", "blocks", "threads", "regs", "smem", "device",
               "context", "stream", "occupancy")  # fmt: skip
    kernels = list(zip(*(getattr(trace, key).tolist() for key in columns), strict=True))
    ranges, calls, transfers = (rows(getattr(beside, kind)) for kind in (
        "ranges", "calls", "transfers"))  # fmt: skip
    without = [note.split()[0] for note in trace.notes if "without grid and block" in note]
    return {
        "kernels": kernels, "call": trace.call.tolist(), "calls": calls, "ranges": ranges,
        "transfers": transfers, "threads": list(beside.threads), "helpers": set(beside.helpers),
        "unfinished": beside.unfinished, "missing": beside.missing,
        "deviceProperties": file.properties, "without": int(without[0]) if without else 0,
    }  # fmt: skip


def rows(table: Any) -> list[tuple[Any, ...]]:
    return list(zip(*(values.tolist() for values in vars(table).values()), strict=True))


def expected(path: Path) -> Any:
    """The same by the twin."""
    try:
        found = twin.read(str(path), path.read_bytes())
    except ValueError as error:
        return str(error)
    launched = np.array([row[-1] for row in found["kernels"]], np.int64)
    copied = np.array([row[-1] for row in found["transfers"]], np.int64)
    calls = [np.array(values, np.int64) for values in zip(*found["calls"], strict=True)]
    calls = calls or [np.zeros(0, np.int64)] * 5
    made = Calls(*calls[:3], calls[3].astype(bool))
    linked = LinkedCalls(made, calls[4], np.concatenate([launched, copied]))
    threads = list(found["threads"])
    call = linked.of(launched).tolist()
    transfers = zip(found["transfers"], linked.of(copied).tolist(), strict=True)
    return {
        "kernels": [row[:-1] for row in found["kernels"]],
        "call": call if not found["missing"] else [-1] * len(call),
        "calls": [] if found["missing"] else rows(linked.calls), "ranges": found["ranges"],
        "transfers": [(*row[:-1], number) for row, number in transfers], "threads": threads,
        "helpers": {i for i, key in enumerate(threads) if key in found["backward"]},
        "unfinished": found["unfinished"], "missing": found["missing"],
        "deviceProperties": found["deviceProperties"], "without": found["without"],
    }  # fmt: skip


def agree(path: Path, sizes: tuple[int, ...] = PIECES) -> Any:
    wanted = expected(path)
    for size in sizes:
        with piece_size(size):
            assert read(path) == wanted, size
    return wanted


def agree_on(folder: Path, data: bytes, sizes: tuple[int, ...] = (1, 13, 1 << 21)) -> Any:
    path = folder / "t.json"
    path.write_bytes(data)
    return agree(path, sizes)


@pytest.mark.parametrize("path", SAMPLES, ids=lambda path: path.name)
def test_samples(path: Path, tmp_path: Path) -> None:
    found = agree(path, (997, 1 << 21))
    assert len(found["kernels"]) > 30 and found["missing"] == ""
    packed = path.suffix == ".gz"
    data = gzip.decompress(path.read_bytes()) if packed else gzip.compress(path.read_bytes())
    other = tmp_path / "other"
    other.write_bytes(data)
    assert read(other) == found


# Values of events, most of which are regular --------------------------------------------------

TEXTS = st.one_of(
    st.sampled_from(["k", "cudaLaunchKernel", "hipLaunchKernel", "hipExtModuleLaunchKernel",
                     "hipMalloc", "cudaStreamSynchronize", "ProfilerStep#3",
                     "autograd::engine::evaluate_function: x", "Memcpy HtoD (a)", 'q"\\/\n', "é"]),
    st.text(max_size=5), st.sampled_from(["\ud800", "\udc00\ud800", "\U0001f600", "\x7f\x00"]),
)  # fmt: skip
NUMBERS = st.one_of(
    st.integers(0, 9), st.integers(-3, 10**16), st.integers(-(2**64), 2**64),
    st.decimals(0, 10**16, places=3), st.sampled_from(
        ["0.500", "1.0", "-0.0", "1e3", "1E-3", "0.0005", "NaN", "-Infinity", "1e400", "-1.250",
         "12345678901234567890123.5", "1e1000000", "9223372036854775.807", "1" * 310]),
)  # fmt: skip
ODD = st.one_of(
    st.sampled_from(["null", "true", "false"]),
    TEXTS.map(json.dumps),
    NUMBERS.map(str),
    st.sampled_from(["[]", "{}", "[1,2]", '{"ph": "X", "cat": "kernel"}', '[{"a": [null]}]']),
)
CATEGORIES = (
    *("kernel", "Kernel", "cuda_runtime", "cuda_driver", "gpu_memcpy", "gpu_memset"),
    *("user_annotation", "gpu_user_annotation", "cpu_op", "ac2g", "python_function"),
    *("hip_runtime", "hip_runtime"),
)


def spaced(chance: random.Random, text: str) -> str:
    return chance.choice(["", "", " ", "\n", "\r\n\t ", "  \n\n"]) + text


def escaped(chance: random.Random, text: str) -> str:
    """A string of JSON, with escapes that are not needed."""
    written = json.dumps(text, ensure_ascii=chance.random() < 0.5)
    if chance.random() < 0.2:
        written = '"' + "".join(
            f"\\u{ord(c):04{chance.choice('xX')}}" if ord(c) < 0x10000 and chance.random() < 0.5
            else json.dumps(c)[1:-1] for c in text
        ) + '"'  # fmt: skip
    return written


def object_text(chance: random.Random, members: list[tuple[str, str]]) -> str:
    parts = [
        f"{spaced(chance, escaped(chance, key))}{spaced(chance, ':')}{spaced(chance, value)}"
        for key, value in members
    ]
    return "{" + spaced(chance, ",").join(parts) + spaced(chance, "}")


@st.composite
def event_text(draw: st.DrawFn) -> str:
    """An event: regular, with one field changed, left out or doubled, or any value."""
    chance = random.Random(draw(st.integers(0, 2**32)))
    if chance.random() < 0.01:
        return draw(ODD)
    args = {
        "device": str(chance.randrange(2)), "context": "1", "stream": str(chance.randrange(9)),
        "correlation": str(chance.randrange(9)), "registers per thread": "32",
        "shared memory": "0", "grid": "[4, 1, 1]", "block": "[128,1 , 1]",
    }  # fmt: skip
    if chance.random() < 0.5:
        args["est. achieved occupancy %"] = "31"
    category = chance.choice(CATEGORIES)
    if "kernel" in category.lower() and chance.random() < 0.3:  # as Kineto wrote them on ROCm
        for key in ("grid", "block", "registers per thread", "shared memory", "context"):
            del args[key]
        args["kind"] = '"Dispatch Kernel"'
    fields = {
        "ph": '"X"', "cat": escaped(chance, category), "name": escaped(chance, draw(TEXTS) or "k"),
        "pid": chance.choice(["1", '"a"']), "tid": str(chance.randrange(3)),
        "ts": chance.choice(["1.500", "12", "1695835573023613.251"]),
        "dur": chance.choice(["0.250", "3", "1.5"]),
    }  # fmt: skip
    for members in (fields, args):
        if chance.random() < 0.05:
            key = chance.choice(list(members))
            if chance.random() < 0.3:
                del members[key]
            else:
                members[key] = draw(ODD)
    members = [*fields.items(), ("args", object_text(chance, list(args.items())))]
    if chance.random() < 0.1:
        members.append((chance.choice([*fields, "args"]), draw(ODD)))
    if chance.random() < 0.3:
        chance.shuffle(members)
    return object_text(chance, members)


@st.composite
def document_text(draw: st.DrawFn) -> bytes:
    chance = random.Random(draw(st.integers(0, 2**32)))

    def events() -> str:
        listed = [spaced(chance, text) for text in draw(st.lists(event_text(), max_size=8))]
        return "[" + spaced(chance, ",").join(listed) + spaced(chance, "]")

    members = [("schemaVersion", "1"), ("deviceProperties", '[{"id": 0}]')]
    members.append(("traceEvents", events()))
    if chance.random() < 0.2:
        extra = [("traceEvents", events()), ("traceEvents", draw(ODD)), ("x", events()),
                 ("times", "[]"), ("args", '{"traceEvents": []}')]  # fmt: skip
        members += chance.sample(extra, chance.randrange(3))
    if chance.random() < 0.3:
        chance.shuffle(members)
    text = spaced(chance, object_text(chance, members)) + spaced(chance, "")
    data = text.encode("utf-8", "replace")
    return b"\xef\xbb\xbf" + data if chance.random() < 0.1 else data


@settings(deadline=None)
@given(document_text(), st.integers(1, 40))
def test_random_documents(tmp_path_factory: pytest.TempPathFactory, data: bytes, size: int) -> None:
    agree_on(tmp_path_factory.mktemp("t"), data, (size, 1 << 21))


@settings(deadline=None)
@given(document_text(), st.data(), st.integers(1, 40))
def test_damaged_documents(
    tmp_path_factory: pytest.TempPathFactory, data: bytes, draw: st.DataObject, size: int
) -> None:
    changed = bytearray(data)
    for _ in range(draw.draw(st.integers(1, 3))):
        at = draw.draw(st.integers(0, len(changed) - 1))
        byte = draw.draw(st.sampled_from(b'09-.eE{}[]",:ntf\\u \xff\xc3\xa9\n\x01'))
        kind = draw.draw(st.integers(0, 2))
        changed[at : at + (kind != 1)] = b"" if kind == 2 and len(changed) > 1 else bytes([byte])
    agree_on(tmp_path_factory.mktemp("t"), bytes(changed), (size, 1 << 21))


KERNEL = (
    '{"ph": "X", "cat": "kernel", "name": "k\\u00e9é😀", "pid": 0, "tid": 7, "ts": 10.500,\n'
    '"dur": -0, "args": {"device": 0, "context": 1, "stream": 7, "correlation": 3,\r\n "registers '
    'per thread": 3e1, "shared memory": 0, "grid": [4, 1, 1], "block": [128, 1, 1]}}'
)
SHORT = (
    '{"schemaVersion": NaN, "x": [true, false, null, -Infinity, -1.5E+3, {"y": []}],\n\n "traceEv'
    f'ents": [{{"ph": "é"}}, {KERNEL}], "deviceProperties": []}}'
)


def test_truncation_at_every_byte(tmp_path: Path) -> None:
    data = SHORT.encode()
    for size in range(len(data)):
        found = agree_on(tmp_path, data[:size], (17, 1 << 21))
        assert isinstance(found, str), size
    assert len(agree_on(tmp_path, data)["kernels"]) == 1


@pytest.mark.long
def test_a_wrong_byte_at_every_place(tmp_path: Path) -> None:
    data = SHORT.encode()
    for at in range(0, len(data)):
        for byte in b'}]",\\x1\xff':
            agree_on(tmp_path, data[:at] + bytes([byte]) + data[at + 1 :], (29,))


@pytest.mark.parametrize(
    "text",
    [
        "", " ", "\n{", "{}", "[]", "3.5", '"x"', "{} x", "{}}", "{,}", '{"a": 1,}', '{"a" 1}',
        "{1: 2}", '{"traceEvents": []', '{"traceEvents": [}', '{"traceEvents": [,]}',
        '{"traceEvents": [{},]}', '{"traceEvents": [{} {}]}', '{"traceEvents": [{}], }',
        '{"traceEvents": [{"a": 1,\n }]}', '{"traceEvents": {}}', '{"traceEvents": null}',
        '{"traceEvents": [], "traceEvents": 3}', '{"trace\\u0045vents": []}',
        '{"trace\\u0045vents": [7]}', '{"traceEvents": [7], "tr": 01}', '{"traceEvents": [[7], 1]}',
        '{"x": {"traceEvents": []}}', '[{"traceEvents": []}]', '{"times": []}', '{"times": 3}',
        '{"times": [], "traceEvents": []}', "\ufeff\ufeff{}", '{"traceEvents": ["\\x"]}',
        '{"traceEvents": ["\\u12g4"]}', '{"traceEvents": ["a\tb"]}', '{"traceEvents": [1.]}',
        '{"traceEvents": [.5]}', '{"traceEvents": [-]}', '{"a": +1}', '{"traceEvents": [1e]}',
        '{"traceEvents": [1e+]}', '{"traceEvents": [nul]}', '{"a": Nan}', '{"traceEvents": [-Inf]}',
        '{"traceEvents": [1' + "0" * 5000 + "]}", '{"a": 1e9999999999999999999}',
        '{"traceEvents": [{"ph": "M", "x": 1e9999999999999999999}]}', "{" * 3000,
        '{"traceEvents": [' + "[" * 3000 + "]" * 3000 + "]}", '{"é": "é", "é"\n: x}',
        '{"traceEvents": [{"ph": "M", "x": ' + "[" * 200 + "]" * 200 + "}]}",
        '{"traceEvents": [{"a": ' * 2000, '{"a": ' + "[" * 200_000,
    ],
)  # fmt: skip
def test_documents(text: str, tmp_path: Path) -> None:
    agree_on(tmp_path, text.encode(), (1, 5, 1 << 21) if len(text) < 9000 else (1000, 1 << 21))


def test_damaged_text_comes_before_damaged_json(tmp_path: Path) -> None:
    for tail in (b"\xff", b"\xe9x", b"\xf0\x9f", b"\xed\xa0\x80", b"\xc3\xa9\xc3"):
        found = agree_on(tmp_path, b'\xef\xbb\xbf{"a": x' + b" " * 50 + tail)
        assert "codec can't decode" in found


def test_an_event_larger_than_many_pieces(tmp_path: Path) -> None:
    long = KERNEL.replace("k\\u00e9", "n" * 50_000)
    data = f'{{"traceEvents": [{long}, {{"ph": "{"p" * 70_000}"}}, {KERNEL}]}}'.encode()
    assert len(agree_on(tmp_path, data, (3000, 65_536))["kernels"]) == 2


def test_nested_objects_are_no_events(tmp_path: Path) -> None:
    inner = '{"ph": "X", "cat": "kernel"}'
    event = KERNEL.replace('"args": {', f'"args": {{"inner": {inner}, ')
    found = agree_on(tmp_path, f'{{"traceEvents": [{event}]}}'.encode())
    assert len(found["kernels"]) == 1
