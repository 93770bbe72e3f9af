"""Modest inputs that once took unbounded memory, or wrote what a terminal or a page obeys."""

from __future__ import annotations

import gzip
import json
import os
import re
import sys
from collections.abc import Callable, Iterator
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from commands import refused, run
from forked import Server
from modest_inputs import CASES

import gpusched as gs
from gpusched._support.text import clip, escape, named, shown, xml
from gpusched.cli import compare_command

SCRIPT = Path(__file__).parents[1] / "modest_inputs.py"
CONTROLS = "a\x1b[31m\u202eb\x85\u2028\x00\ud800<&>\"'\n"
HOSTILE = CONTROLS.replace("\ud800", "")  # that UTF-8 can encode
LONG = "n" * 10**6
DIGITS = 10**100_000  # of more digits than Python writes
PROGRAM = """version = 1
tick = "us"
[[task]]
name = {name}
period = {period}
segments = [{{ cpu = "1ms" }}, {{ kernel = "1ms", blocks = 4, threads = 32 }}]
"""


def program(folder: Path, name: str = '"a"', period: str = '"10ms"', file: str = "w.toml") -> str:
    (folder / file).write_text(PROGRAM.format(name=name, period=period))
    return file


def printable(text: str) -> bool:
    return all(line.isprintable() for line in text.split("\n"))


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    server = Server(SCRIPT, tmp_path_factory.mktemp("modest"), OPENBLAS_NUM_THREADS="1")
    yield server
    server.close()


@pytest.mark.long
@pytest.mark.skipif("GPUSCHED_SANITIZE" in os.environ, reason="takes more address space")
@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="needs RLIMIT_AS and /proc")
@pytest.mark.parametrize("name", CASES)
def test_little_memory(name: str, server: Server) -> None:
    done = server.call(name, seconds=120)
    assert (done.returncode, done.stdout) == (0, CASES[name][1]), done.stderr


@pytest.mark.python
def test_text_is_cut_and_escaped() -> None:
    assert named(HOSTILE).startswith("a\\x1b[31m\\u202eb\\x85\\u2028\\x00<&>")
    assert named("\ud800é\n") == "\\ud800é\\n"
    assert named(LONG) == "n" * 60 + "..." and shown(LONG) == "'" + "n" * 59 + "..."
    assert clip(LONG, 5) == "nnnn…" and clip("a\x1bb", 5) == "a b"
    for text in (escape(CONTROLS), xml(CONTROLS)):
        assert printable(text)
        ElementTree.fromstring(f"<a>{text}</a>")
    assert escape("a\nb") == "a\nb" and xml("a\nb") == "a b"
    assert shown(Fraction(DIGITS + 1, DIGITS)) == "a Fraction of long numbers"


@pytest.mark.python
def test_control_characters_in_names() -> None:
    hosts = gs.HostTasks.from_segments([100], [[2, (1, 4, 1), 2]], core=0, name=[CONTROLS])
    run = gs.simulate.host(hosts, 1, "mpcp", until=200)
    kernels = gs.KernelTasks(period=[100], wcet=10, block_time=5, blocks=2, name=[CONTROLS])
    tasks = [gs.Task(HOSTILE, "10ms", [gs.CPU("1ms"), gs.Kernel("1ms", blocks=4, threads=32)])]
    gpu = gs.GPU(8, 2048, 32, name=HOSTILE)
    platform = gs.Platform(gpu, mps={HOSTILE: 50})
    found = gs.compare(gs.Workload(tasks, tick="us"), platform)
    fifo = gs.simulate.fifo(kernels, 4)
    for text in (
        *(hosts._repr_html_(), run._repr_html_(), run.why(), kernels._repr_html_()),
        *(fifo._repr_html_(), gpu._repr_html_(), platform._repr_html_(), str(found)),
        *(found._repr_html_(), found.to_html(), gs.Workload(tasks)._repr_html_()),
    ):
        assert printable(text)
    for picture in (run.to_svg(), fifo.to_svg()):
        assert printable(picture)
        ElementTree.fromstring(picture)


@pytest.mark.python
@pytest.mark.parametrize("name", [HOSTILE.replace("\x00", ""), LONG], ids=["controls", "long"])
def test_names_in_messages(name: str, tmp_path: Path) -> None:
    task = gs.Task(name, "10ms", [gs.CPU("1ms"), gs.Kernel("1ms", blocks=4, threads=32)], core=3)
    workload, platform = gs.Workload([task], tick="us"), gs.Platform("H100")
    calls: list[Callable[[], object]] = [
        lambda: gs.analyze(workload, platform, "stgm"),
        lambda: gs.analyze(workload, platform, "mpcp"),
        lambda: gs.Platform("H100", mps={name: 500}),
        lambda: gs.Platform("H100", green_contexts={name: 500}),
        lambda: gs.Workload.load(tmp_path / f"{name}.toml"),
        lambda: gs.io.read_trace(f"{name}.json"),
        lambda: gs.KernelTasks.load(tmp_path / name),
        lambda: gs.Workload.load(f"\ud800{name}"),
    ]
    for call in calls:
        with pytest.raises((ValueError, OSError)) as caught:
            call()
        assert printable(str(caught.value)) and "\n" not in str(caught.value)
        assert len(str(caught.value)) < 1000


@pytest.mark.python
def test_names_of_files(tmp_path: Path) -> None:
    file = "a\x1b[31m\u202e\nb.toml"
    (tmp_path / file).write_text("x = ")
    with pytest.raises(ValueError, match=r"a\\x1b\[31m\\u202e\\nb\.toml: line 1: got") as caught:
        gs.Workload.load(tmp_path / file)
    assert printable(str(caught.value)) and "\n" not in str(caught.value)
    assert refused(tmp_path, "compare", file).startswith("a\\x1b[31m\\u202e\\nb.toml: line 1: ")
    line = refused(tmp_path, "compare", f"no{file}")
    assert line == "noa\\x1b[31m\\u202e\\nb.toml: No such file or directory\n"
    program(tmp_path, file=file)
    done = run(tmp_path, "compare", file, "--gpu", "H100", "--output", "out\x1b")
    assert done.returncode in (0, 3) and printable(done.stdout), done
    assert printable((tmp_path / "out\x1b" / "compare.html").read_text())


@pytest.mark.python
def test_kernels_of_traces_in_tables(tmp_path: Path) -> None:
    arguments = {"grid": [4, 1, 1], "block": [32, 1, 1], "stream": 7, "device": 0, "context": 1}
    arguments |= {"registers per thread": 16, "shared memory": 0}
    event = {"ph": "X", "cat": "kernel", "pid": 0, "tid": 7, "dur": 5, "args": arguments}
    events = [event | {"name": name, "ts": 20 * i} for i, name in enumerate((HOSTILE, LONG))]
    with gzip.open(tmp_path / "t.json.gz", "wt") as file:
        json.dump({"traceEvents": events}, file)
    done = run(tmp_path, "trace", "t.json.gz", "--gpu", "H100", "--count", "2")
    assert done.returncode in (0, 1), done.stderr
    assert printable(done.stdout) and len(done.stdout) < 10_000
    read = gs.io.read_trace(tmp_path / "t.json.gz")
    for text in (read._repr_html_(), read.kernels()._repr_html_(), repr(read.kernels())):
        assert printable(text) and len(text) < 10_000


@pytest.mark.python
@pytest.mark.parametrize(
    "number", [DIGITS, -DIGITS, Decimal("1e999999999"), "1e1000000"], ids=range(4)
)
@pytest.mark.parametrize(
    "call",
    [
        gs.CPU,
        lambda number: gs.CPU(f"{number}ms" if isinstance(number, str) else number),
        lambda number: gs.Task("a", number, [gs.CPU(1)]),
        lambda number: gs.Kernel({1: number}),
        lambda number: gs.Kernel({number: 5}),
        lambda number: gs.Workload([gs.Task("a", 100, [gs.CPU(1)])], tick=number),
        lambda number: gs.Platform("H100", mps={"a": number}),
        lambda number: gs.Platform("H100", green_contexts={"a": number}),
        lambda number: gs.Platform("H100", context_switch=number),
        lambda number: gs.simulate.fifo(gs.KernelTasks([9], block_time=[5]), number),
        lambda number: gs.generate.uunifast(number, 1),
        lambda number: gs.generate.uunifast(3, number),
        lambda number: gs.generate.uunifast(3, 1, seed=number),
        lambda number: gs.generate.uunifast(3, 1, seed=[1, [number]]),
        lambda number: gs.generate.fifo(3, 1, threads=number),
        lambda number: gs.KernelTasks([number], wcet=1),
    ],
)
def test_long_numbers(call: Callable[[Any], object], number: Any) -> None:
    with pytest.raises((ValueError, OverflowError, TypeError), match=r"^[\w\[\], ()']+: got") as e:
        call(number)
    assert len(str(e.value)) < 300


@pytest.mark.python
@pytest.mark.parametrize("number", ["1e1000000", "9" * 100_000, '"1e999999999ms"'], ids=range(3))
def test_long_numbers_in_files(number: str, tmp_path: Path) -> None:
    line = refused(tmp_path, "compare", program(tmp_path, period=number))
    assert line.startswith("w.toml: ") and "expected" in line and len(line) < 300
    (tmp_path / "j.csv").write_text(f"task,job,Amin,Amax,Cmin,Cmax,D,P\n1,1,0,0,1,{number},10,10\n")
    line = refused(tmp_path, "compare", "j.csv")
    assert line.startswith("j.csv: line 2: ") and "expected" in line and len(line) < 300


@pytest.mark.python
@pytest.mark.parametrize("value", ["9" * 10**5, "1e1000000", "x\x1b\u202e", LONG], ids=range(4))
@pytest.mark.parametrize(
    "option", ["--cpus", "--channels", "--timeslice", "--mps", "--slowdown", "--seconds", "--gpu"]
)
def test_hostile_options(option: str, value: str, tmp_path: Path) -> None:
    file = program(tmp_path)
    value = f"a={value}" if option == "--mps" else value
    done = run(tmp_path, "compare", file, "--gpu", "H100", f"{option}={value}")
    assert done.returncode == 2, done.stdout
    assert printable(done.stderr) and max(map(len, done.stderr.split("\n"))) < 1000
    done = run(tmp_path, "compare", file, value)  # an argument that is not known
    assert done.returncode == 2 and printable(done.stderr)


@pytest.mark.python
@pytest.mark.parametrize(
    ("error", "text"), [(MemoryError, "too little memory"), (RecursionError, "nested too deeply")]
)
def test_errors_without_a_traceback(
    error: type[Exception], text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(_: object) -> None:
        raise error

    monkeypatch.setattr(compare_command, "program_of", fail)
    line = refused(tmp_path, "compare", program(tmp_path))
    assert re.fullmatch(rf"got .*{text}.*, expected .*\n", line)
