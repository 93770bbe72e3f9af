"""Coverage-guided fuzzing of readers of files, with Atheris; results/fuzz_readers.txt.

Atheris (pip install atheris) instruments the package's Python code, and changes small valid files:
traces of PyTorch and Nsight Systems, logs and configurations of cuda_scheduling_examiner,
workloads, sets of other tools; and values in stores of sweeps, which get the right checksums. Half
of the changes of a JSON file replace, remove or repeat a value, the others change bytes. A reader
may refuse a file with ValueError, TypeError or OverflowError; any other exception, and a crash of
the core, is a finding. Seconds are CPU time.

    python benchmarks/fuzz_readers.py [--seconds 60] [--seed 1] [--corpus FOLDER] [--save]
                                      [READER ...]
"""

from __future__ import annotations

import argparse
import contextlib
import json
import random
import re
import resource
import sqlite3
import subprocess
import sys
import tempfile
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
REFUSED = (ValueError, TypeError, OverflowError)
LENGTH = 4096

KERNEL = {
    **{"ph": "X", "cat": "kernel", "name": "k", "ts": 1.5, "dur": 2, "pid": 0, "tid": 7},
    "args": {
        **{"grid": [2, 1, 1], "block": [64, 1, 1], "stream": 7, "device": 0, "context": 1},
        **{"registers per thread": 32, "shared memory": 0},
    },
}
DEVICE = {
    **{"id": 0, "name": "GPU", "computeMajor": 8, "computeMinor": 0, "numSms": 108},
    **{"maxThreadsPerMultiprocessor": 2048, "regsPerMultiprocessor": 65536},
    **{"sharedMemPerMultiprocessor": 167936, "sharedMemPerBlockOptin": 166912},
}
LOG = {
    **{"scenario_name": "s", "benchmark_name": "b", "label": "l", "max_resident_threads": 4096},
    **{"data_size": 0, "release_time": 0, "PID": 1, "TID": 2, "times": [{}]},
}
RUN = {
    **{"kernel_name": "k", "block_count": 1, "thread_count": 64, "shared_memory": 0},
    **{"cuda_launch_times": [0.1, 0.2, 0.3], "block_times": [0.2, 0.3], "block_smids": [0]},
}
BENCHMARK = {
    **{"filename": "./bin/timer_spin.so", "log_name": "a.json", "label": "a", "data_size": 0},
    **{"thread_count": 64, "block_count": 2, "additional_info": 1000},
}
WORKLOAD = """version = 1
tick = "us"
[[task]]
name = "a"
period = "33ms"
deadline = "30ms"
segments = [{ cpu = "2ms" }, { kernel = "4.1ms", blocks = 12, threads = 256 }, { copy_out = 12 }]
"""
JOBS = """Task ID,Job ID,Arrival min,Arrival max,Cost min,Cost max,Deadline,Priority
1,1,0,0,1,2,10,10
1,2,10,10,1,2,20,20
"""
CSV = """Start (ns),Duration (ns),CorrId,GrdX,GrdY,GrdZ,BlkX,BlkY,BlkZ,Reg/Trd,StcSMem (B),\
DymSMem (B),Bytes (B),Throughput (MB/s),SrcMemKd,DstMemKd,Device,Ctx,GreenCtx,Strm,Name
5,7,1,2,1,1,64,1,1,32,0,0,,,,,Tesla V100-SXM2-16GB (0),1,,7,k
"""
XML = '<taskset><task id="1" period="10000" wcet="2000" partition="1"/></taskset>'


def store(text: str, path: Path) -> None:
    """Make a store of the values in a JSON text; ``ValueError`` for another text."""
    from gpusched.study import store as of_study
    from gpusched.study.store_files import made

    try:
        definition, notes, points, chunks = json.loads(text)
        rows = [
            (name, json.dumps(value)) for name, value in {"definition": definition, **notes}.items()
        ]
        digest = of_study._digest(json.loads(rows[0][1]))
        keyed = [(key, json.dumps(value)) for key, value in points.items()]
        held = [
            (*key, zlib.compress(json.dumps(state).encode()), None, "", 1.0)
            for *key, state in chunks
        ]
        path.unlink(missing_ok=True)
        sign = of_study._checksum
        made(str(path), [(name, value, sign(b"", name, value)) for name, value in rows], True)
        with contextlib.closing(sqlite3.connect(path)) as connection, connection:
            connection.executemany(
                "INSERT INTO point VALUES (?, ?, ?)", [(*row, sign(digest, *row)) for row in keyed]
            )
            connection.executemany(
                "INSERT INTO chunk VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
                [(*row, sign(digest, *row)) for row in held],
            )
    except (ValueError, TypeError, AttributeError, RecursionError, sqlite3.Error) as error:
        raise ValueError(str(error)) from None


def readers(gs: Any) -> dict[str, tuple[str, list[str], Callable[[Path], Any]]]:
    """Name, ending of the file, valid files, and the call."""
    trace = json.dumps({"deviceProperties": [DEVICE], "traceEvents": [KERNEL, KERNEL]})
    log = json.dumps({**LOG, "times": [{}, RUN, {"cpu_times": [0.1, 0.4]}]})
    config = {"name": "c", "max_iterations": 1, "max_time": 0, "cuda_device": 0}
    tree = {
        "version": 1,
        "tick": "us",
        "task": [{"name": "a", "period": 5, "segments": [{"cpu": 2}]}],
    }
    of_b = [["Mean", {}], ["Quantiles", {"shares": [0.5], "bits": 3}],
            ["Histogram", {"edges": [0.5, 1]}], ["Extremes", {}],
            ["Weighted", {"by": "b"}]]  # fmt: skip
    kept = {"a": [["Share", {}]], "b": of_b}
    definition = {"study": "gs.sweep", "gpusched": "1", "function": {"key": "k"}, "keep": False,
                  "parameters": ["x"], "reduce": kept}  # fmt: skip
    total = [[3, -1], 0, 0, 0]
    numbers = [["Mean", [4, *total]], ["Quantiles", [[8180, 2], [8184, 2]]],
               ["Histogram", [1, 2, 1]], ["Extremes", [0.5, 2.0]],
               ["Weighted", [*total, [3, 0]]]]  # fmt: skip
    state = {"a": [["Share", [4, 2, 1]]], "b": numbers}
    key = "0a" * 16
    notes = {"count": 4, "name": "f", "axes": {"x": [1]}, "stop": [0.5, "a", 4]}
    values = json.dumps([definition, notes, {key: {"x": 1}}, [[key, 0, 4, state]]])

    def read_store(file: Path) -> None:
        path = file.with_name("store.db")
        store(file.read_text(errors="replace"), path)
        try:
            gs.open_store(path).table()
        except gs.StoreError as error:
            raise ValueError(str(error)) from None

    return {
        "store": (".json", [values], read_store),
        "kineto": (".json", [trace], gs.io.read_trace),
        "nsys_csv": (".csv", [CSV], gs.io.read_trace),
        "examiner": (".json", [log], gs.io.read_examiner),
        "examiner_config": (
            ".json",
            [json.dumps({**config, "benchmarks": [BENCHMARK]})],
            gs.io.read_examiner_config,
        ),
        "workload_toml": (".toml", [WORKLOAD], gs.Workload.load),
        "workload_json": (".json", [json.dumps(tree)], gs.Workload.load),
        "job_set": (".csv", [JOBS], gs.io.read_job_set),
        "schedcat": (".xml", [XML], gs.io.read_schedcat),
    }


ODD: list[Any] = [
    *(None, True, False, 0, -1, 1, 2**31, 2**63, -(2**63), 2**64, 10**40, 0.5, -0.0, 1e300, 1e-300),
    *(float("nan"), float("inf"), "", "a", "1", "-1.5", "1e999", "\x00", "9" * 400, [], {}, [[]]),
]


def places(tree: Any) -> list[tuple[Any, Any]]:
    """The container and the key of every value inside ``tree``."""
    found, waiting = [], [tree]
    while waiting:
        box = waiting.pop()
        if isinstance(box, (list, dict)):
            keys = range(len(box)) if isinstance(box, list) else list(box)
            found += [(box, key) for key in keys]
            waiting += [box[key] for key in keys]
    return found


def changed_value(data: bytes, seed: int) -> bytes:
    """``data``, a JSON text, with one value replaced, removed or repeated; ValueError otherwise."""
    tree, draw = json.loads(data), random.Random(seed)
    inside = places(tree)
    if not inside:
        raise ValueError("no value to change")
    (box, key), (other, at) = draw.choice(inside), draw.choice(inside)
    kind = draw.randrange(4)
    if kind == 0:
        box[key] = draw.choice(ODD)
    elif kind == 1:
        box[key] = json.loads(json.dumps(other[at]))
    elif kind == 2:
        del box[key]
    elif isinstance(box, list):
        box.insert(key, json.loads(json.dumps(box[key])))
    else:
        box[f"{key}{draw.choice(['', 's', ' ', '0'])}"] = box.pop(key)
    return json.dumps(tree).encode()


def child(name: str, folder: Path, options: list[str]) -> None:
    """Fuzzes one reader in this process, which libFuzzer ends."""
    import atheris

    with atheris.instrument_imports(
        include=["gpusched.io", "gpusched.model.workload", "gpusched.study"]
    ):
        import gpusched as gs

        table = readers(gs)
    ending, valid, read = table[name]
    inputs, file = folder / "inputs", folder / f"file{ending}"
    inputs.mkdir(exist_ok=True)
    for number, text in enumerate(valid):
        for path in (inputs / f"valid_{number}", file):
            path.write_text(text)
        read(file)  # must be accepted

    def one(data: bytes) -> None:
        file.write_bytes(data)
        try:
            read(file)
        except REFUSED:
            pass

    def change(data: bytes, longest: int, seed: int) -> bytes:
        if ending == ".json" and seed % 2:
            with contextlib.suppress(ValueError, RecursionError):
                changed = changed_value(data, seed)
                if len(changed) <= longest:
                    return changed
        return atheris.Mutate(data, longest)

    atheris.Setup([sys.argv[0], *options, str(inputs)], one, custom_mutator=change)
    atheris.Fuzz()


def number(pattern: str, text: str) -> int:
    found = re.findall(pattern, text)
    return int(found[-1]) if found else 0


def cpu_seconds() -> float:
    """CPU time of the child processes that have ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def fuzz(name: str, args: argparse.Namespace) -> tuple[str, bool]:
    """A line of the table, and whether nothing was found."""
    with tempfile.TemporaryDirectory() as temporary:
        folder = args.corpus / name if args.corpus else Path(temporary)
        folder.mkdir(parents=True, exist_ok=True)
        options = [f"-max_total_time={args.seconds}", f"-seed={args.seed}", f"-max_len={LENGTH}"]
        options += ["-print_final_stats=1", f"-artifact_prefix={temporary}/found_", "-timeout=20"]
        began = cpu_seconds()
        command = [sys.executable, __file__, "--child", str(folder), name, "--", *options]
        done = subprocess.run(command, capture_output=True, text=True, errors="replace")
        seconds = cpu_seconds() - began
        executions = number(r"stat::number_of_executed_units:\s*(\d+)", done.stderr)
        edges = number(r"cov: (\d+)", done.stderr)
        found = sorted(Path(temporary).glob("found_*"))
        for path in found:
            print(path.name, path.read_bytes()[:2000])
        if done.returncode != 0:
            print(done.stdout[-3000:], done.stderr[-3000:])
        line = f"{name:16s} {seconds:7.0f} {executions:10d} {edges:7d} {len(found):9d}"
        print(line, flush=True)
        return line, done.returncode == 0


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("reader", nargs="*", help="all by default")
    parser.add_argument("--seconds", type=int, default=60, help="of each reader")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--corpus", type=Path, help="folder of inputs to begin with and to add to")
    parser.add_argument("--save", action="store_true", help="keep the table in benchmarks/results")
    parser.add_argument("--child", type=Path, help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.child is not None:
        child(args.reader[0], args.child, args.reader[1:])
        return
    from machine import describe

    import gpusched as gs

    rows = [fuzz(name, args) for name in args.reader or readers(gs)]
    lines = [
        f"Fuzzing of readers of files with Atheris, seed {args.seed}, {describe()}",
        "exceptions other than ValueError, TypeError and OverflowError are findings",
        "",
        f"{'reader':16s} {'seconds':>7s} {'executions':>10s} {'edges':>7s} {'findings':>9s}",
        *(line for line, _ in rows),
    ]
    if args.save:
        (HERE / "results" / "fuzz_readers.txt").write_text("\n".join(lines) + "\n")
    sys.exit(not all(fine for _, fine in rows))


if __name__ == "__main__":
    main()
