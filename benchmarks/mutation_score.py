"""Share of small errors in the C code that the tests notice; results/mutation_score.txt.

Mutants (``mutation_score_mutants.py``) of all files under ``csrc`` are taken in random order. Each
is compiled, linked, and run in stages: against the C tests of its part, where it survives these,
against the Python tests of its part (``mutation_score_parts.py``), at last against the other C
tests and more Python tests. A test that fails, crashes or takes several times its usual time of the
processor kills it. Mutants that do not compile, or that survive and of which ``gcc -O2`` makes the
same code as of the original, do not count.

Every outcome is a line of ``WORK/outcomes.jsonl``, so that a run can be ended and continued: what
it has then is a random sample all the same. Survivors that no test can kill, and others with a
reason, stand in ``mutation_score_reasons.txt`` as ``file | function text | change | reason``.

    python benchmarks/mutation_score.py --work DIR [--count 300] [--seed 1] [--stage 1] [--save]

The kept result was made with the seed 1; 300 mutants take two hours of one core.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import re
import resource
import shutil
import signal
import subprocess
import sys
import sysconfig
import time
import traceback
from collections import defaultdict
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path

import numpy
from mutation_score_mutants import Mutant, mutants_of
from mutation_score_parts import WIDE, c_tests_of, tests_of

HERE = Path(__file__).parent
ROOT = HERE.parent
REASONS = HERE / "mutation_score_reasons.txt"
MEMORY = 16 << 30
# Several times what the tests take; of a processor, so that other programs do not matter.
C_SECONDS, PYTHON_SECONDS = 10.0, 60.0
C_STAGE, PART_STAGE, WIDE_STAGE = range(3)
FLAGS = ["-std=c11", "-fPIC", "-w", "-fno-math-errno", "-fvisibility=default"]


def version() -> str:
    return re.search(r'"(.+)"', (ROOT / "gpusched/_version.py").read_text())[1]


def is_binding(file: str) -> bool:
    """Whether the C tests cannot reach a file."""
    return file.startswith("csrc/python")


def include_flags() -> list[str]:
    """Options with which the files can be read; the same as in ``setup.py``."""
    return [
        "-Icsrc",
        f"-isystem{numpy.get_include()}",
        f"-isystem{sysconfig.get_path('include')}",
        "-DNPY_TARGET_VERSION=NPY_2_0_API_VERSION",
        "-DNPY_NO_DEPRECATED_API=NPY_2_0_API_VERSION",
        f'-DGPUSCHED_VERSION="{version()}"',
        "-DPy_LIMITED_API=0x030b0000",
    ]


def in_child(action: Callable[[], int], cpu: float, wall: float, output: Path) -> str:
    """Runs an action in a process of its own: "passed", "failed", "crashed" or "time"."""
    child = os.fork()
    if child == 0:
        status = 99
        try:
            os.setsid()
            descriptor = os.open(output, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
            os.dup2(descriptor, 1)
            os.dup2(descriptor, 2)
            resource.setrlimit(resource.RLIMIT_CPU, (int(cpu) + 1, int(cpu) + 1))
            resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
            resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
            status = action()
        except BaseException:
            traceback.print_exc()
        finally:
            sys.stdout.flush()
            sys.stderr.flush()
            os._exit(status)
    end = time.monotonic() + wall
    while True:
        done, status = os.waitpid(child, os.WNOHANG)
        if done or time.monotonic() > end:
            break
        time.sleep(0.01)
    try:
        os.killpg(child, signal.SIGKILL)  # also what the tests started
    except ProcessLookupError:
        pass
    if not done:
        os.waitpid(child, 0)
        return "time"
    if os.WIFSIGNALED(status):
        return "time" if os.WTERMSIG(status) in (signal.SIGXCPU, signal.SIGKILL) else "crashed"
    return "passed" if os.WEXITSTATUS(status) == 0 else "failed"


class Builder:
    """A copy of the tree with one object per file, linked into the module and a shared library."""

    def __init__(self, work: Path) -> None:
        self.work, self.tree, self.objects = work, work / "tree", work / "objects"
        self.flags = include_flags()
        self.sources = sorted(str(p.relative_to(ROOT)) for p in ROOT.glob("csrc/**/*.c"))
        self.built: dict[str, Path] = {}

    def compile(self, source: Path, target: Path, level: str, folder: Path) -> bool:
        command = ["gcc", level, *FLAGS, *self.flags, f"-I{folder}", "-c", source, "-o", target]
        return subprocess.run(command, cwd=self.tree, capture_output=True).returncode == 0

    def link(self, module: bool) -> bool:
        """Links the library of the C tests, or the module."""
        target = self.tree / "gpusched/_core.abi3.so" if module else self.work / "libcore.so"
        chosen = [name for name in self.sources if module or not is_binding(name)]
        part = target.with_suffix(".part")
        command = ["gcc", "-shared", *(self.built[name] for name in chosen), "-ldl", "-lm"]
        if subprocess.run([*command, "-lpthread", "-o", part], capture_output=True).returncode:
            return False
        part.replace(target)
        return True

    def prepare(self) -> None:
        listed = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
        names = subprocess.run(listed, cwd=ROOT, capture_output=True, text=True, check=True)
        for name in filter(None, names.stdout.split("\0")):
            if (ROOT / name).is_file():
                (self.tree / name).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy2(ROOT / name, self.tree / name)
        self.objects.mkdir(exist_ok=True)
        headers = max(path.stat().st_mtime for path in self.tree.glob("csrc/**/*.h"))
        for name in self.sources:
            target = self.objects / (name.replace("/", "-")[:-2] + ".o")
            newest = max(headers, (self.tree / name).stat().st_mtime)
            if not target.exists() or target.stat().st_mtime < newest:
                source = self.tree / name
                assert self.compile(source, target, "-O1", source.parent), name
                os.utime(target)
            self.built[name] = target
        assert self.link(False)
        for source in sorted(self.tree.glob("tests/c/test_*.c")):
            target = self.objects / source.stem
            shared = max(path.stat().st_mtime for path in source.parent.glob("*.h"))
            newest = max(headers, shared, source.stat().st_mtime)
            if target.exists() and target.stat().st_mtime > newest:
                continue
            command = ["gcc", "-O1", "-w", "-std=c11", f"-I{source.parent}", "-Icsrc", source]
            command += [self.work / "libcore.so", f"-Wl,-rpath,{self.work}", "-lm", "-ldl"]
            subprocess.run([*command, "-pthread", "-o", target], cwd=self.tree, check=True)

    def mutate(self, mutant: Mutant, module: bool) -> str:
        """Builds a mutant: "built", or "no code" where it does not compile."""
        source = self.tree / mutant.file
        changed, target = self.work / "mutant.c", self.work / "mutant.o"
        changed.write_bytes(mutant.apply(source.read_bytes()))
        if not self.compile(changed, target, "-O1", source.parent):
            return "no code"
        kept, self.built[mutant.file] = self.built[mutant.file], target
        try:
            return "built" if self.link(module) else "no code"
        finally:
            self.built[mutant.file] = kept

    def is_the_same(self, mutant: Mutant) -> bool:
        """Whether the optimiser makes the same code of the file and the mutant."""
        source = self.tree / mutant.file
        text, changed = source.read_bytes(), self.work / "mutant.c"
        objects = [self.work / "mutant.O2.o", self.work / "original.O2.o"]
        # The same name for both, since it is part of the object.
        for target, content in zip(objects, (mutant.apply(text), text), strict=True):
            changed.write_bytes(content)
            self.compile(changed, target, "-O2", source.parent)
        return objects[0].read_bytes() == objects[1].read_bytes()


class Tests:
    """The C tests and the Python tests of each part."""

    def __init__(self, builder: Builder) -> None:
        self.builder = builder
        self.output = builder.work / "output.txt"

    def c_test(self, name: str) -> Callable[[], int]:
        program = str(self.builder.objects / name)
        return lambda: os.execv(program, [program])

    def python_tests(self, names: list[str]) -> Callable[[], int]:
        def run() -> int:
            import pytest

            tree = self.builder.tree
            os.chdir(tree)
            sys.path.insert(0, str(tree))
            os.environ.update(PYTHONPATH=str(tree), GPUSCHED_HYPOTHESIS="quick")
            options = ["-x", "-q", "--tb=line", "-p", "no:cacheprovider", "-p", "no:xdist"]
            options += ["-W", "ignore::pytest.PytestAssertRewriteWarning"]  # imported before
            options += ["-m", "not source and not python"]
            return int(pytest.main([*options, *(f"tests/{name}" for name in names)]))

        return run

    def run(self, label: str, action: Callable[[], int]) -> str:
        cpu = C_SECONDS if "." not in label else PYTHON_SECONDS
        return in_child(action, cpu, 20 * cpu, self.output)

    def groups(self, file: str, stage: int) -> list[tuple[str, Callable[[], int]]]:
        """Programs and tests that a stage runs against a mutant of a file, in this order."""
        own = c_tests_of(file)
        if stage == C_STAGE:
            return [(name, self.c_test(name)) for name in own if not is_binding(file)]
        if stage == PART_STAGE:
            return [(" ".join(tests_of(file)), self.python_tests(tests_of(file)))]
        others = sorted(path.stem for path in self.builder.tree.glob("tests/c/test_*.c"))
        more = [name for name in WIDE if name not in tests_of(file)]
        return [
            *((name, self.c_test(name)) for name in others if name not in own),
            (" ".join(more), self.python_tests(more)),
        ]

    def outcome(self, file: str, stage: int) -> tuple[str, str]:
        for label, action in self.groups(file, stage):
            result = self.run(label, action)
            if result != "passed":
                return ("time-out" if result == "time" else "killed"), self.killer(label)
        return "survived", ""

    def killer(self, label: str) -> str:
        """The test that failed, as pytest names it, or the program's name."""
        text = self.output.read_text(errors="replace")
        found = re.search(r"^(?:FAILED|ERROR) (\S+)", text, re.MULTILINE)
        return found[1] if found else label.split()[0]


def draw(builder: Builder, seed: int) -> list[Mutant]:
    """All mutants of all files in random order."""
    kept = builder.work / "mutants.json"
    known = json.loads(kept.read_text()) if kept.exists() else {}
    flags = [flag for flag in builder.flags if flag.startswith(("-I", "-D", "-isystem"))]
    for name in builder.sources:
        changed = (builder.tree / name).stat().st_mtime
        if name not in known or known[name][0] != changed:
            rows = [asdict(one) for one in mutants_of(builder.tree, name, flags)]
            known[name] = [changed, rows]
    kept.write_text(json.dumps(known))
    found = [Mutant(**row) for name in builder.sources for row in known[name][1]]
    # Not a shuffled list: a change of one file leaves the order of all others as it is.
    return sorted(found, key=lambda one: hashlib.sha256(f"{seed} {one.key}".encode()).digest())


def read_outcomes(path: Path) -> dict[str, dict]:
    rows = [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []
    return {row["key"]: row for row in rows}


def reason_for(row: dict, reasons: list[list[str]]) -> str | None:
    for file, text, change, reason in reasons:
        if row["file"] == file and text in row["text"] and change == row["change"]:
            return reason
    return None


def report(outcomes: dict[str, dict], total: int, seed: int) -> str:
    from machine import describe

    lines = REASONS.read_text().splitlines() if REASONS.exists() else []
    reasons = [line.split(" | ") for line in lines if line and not line.startswith("#")]
    rows = [row for row in outcomes.values() if row["outcome"] not in ("no code", "same code")]
    killed = [row for row in rows if row["outcome"] in ("killed", "time-out")]
    alive = sorted((r for r in rows if r["outcome"] == "survived"), key=lambda r: r["key"])
    why = {row["key"]: reason for row in alive if (reason := reason_for(row, reasons))}
    left_out = len(outcomes) - len(rows)
    explained = len(killed) + len(why)
    waiting = sum(row["stage"] == C_STAGE and row["key"] not in why for row in alive)
    text = [
        f"Mutants of the C code against the tests, {describe()}",
        f"{len(rows)} of {total} mutants in random order, seed {seed}; "
        f"{left_out} more do not compile or have the same code",
        "",
        f"killed               {len(killed):4d}, {100 * len(killed) / max(len(rows), 1):.1f} % "
        f"({sum(row['stage'] == C_STAGE for row in killed)} by C tests, "
        f"{sum(row['outcome'] == 'time-out' for row in killed)} by their time)",
        f"not run against the Python tests of their part so far: {waiting}",
        f"killed or explained  {explained:4d}, {100 * explained / max(len(rows), 1):.1f} %",
        "",
    ]
    for title, field in (("operator", "operator"), ("file", "file")):
        text.append(f"{title:56s} mutants killed explained left")
        groups = defaultdict(list)
        for row in rows:
            groups[row[field]].append(row)
        for name, group in sorted(groups.items()):
            dead = sum(row["outcome"] != "survived" for row in group)
            said = sum(row["key"] in why for row in group)
            text.append(
                f"{name:56s} {len(group):7d} {dead:6d} {said:9d} {len(group) - dead - said:4d}"
            )
        text.append("")
    for title, chosen in (
        ("survivors with a reason:", [row for row in alive if row["key"] in why]),
        ("survivors without one:", [row for row in alive if row["key"] not in why]),
    ):
        text.append(title)
        for row in chosen:
            text.append(f"{row['file']}:{row['line']} {row['change']}  in  {row['text']}")
            if row["key"] in why:
                text.append(f"    {why[row['key']]}")
        text.append("")
    return "\n".join(text)


def change_of(mutant: Mutant) -> str:
    old = " ".join(mutant.old.split())
    return f"[{old if len(old) <= 40 else old[:37] + '...'}] -> [{mutant.new}]"


def run(builder: Builder, mutants: list[Mutant], path: Path, stage: int, again: bool) -> None:
    """One stage of what survived the stages before it; ``again``: also of what survived this."""
    # Every child has these from here.
    import hypothesis.extra.numpy  # noqa: F401
    import pytest  # noqa: F401

    tests = Tests(builder)
    outcomes = read_outcomes(path)
    for mutant in mutants:
        before = outcomes.get(mutant.key)
        if before is None and stage != C_STAGE:
            continue
        if before and (before["outcome"] != "survived" or not (again or before["stage"] < stage)):
            continue
        began = time.monotonic()
        state, by = builder.mutate(mutant, stage != C_STAGE), ""
        if state == "built":
            state, by = tests.outcome(mutant.file, stage)
        if state == "survived" and before is None and builder.is_the_same(mutant):
            state = "same code"
        row = {
            "key": mutant.key,
            "file": mutant.file,
            "line": mutant.line,
            "operator": mutant.operator,
            "change": change_of(mutant),
            "text": (builder.tree / mutant.file).read_text().splitlines()[mutant.line - 1].strip(),
            "outcome": state,
            "by": by,
            "stage": max(stage, before["stage"]) if before and state == "survived" else stage,
        }
        outcomes[mutant.key] = row
        with open(path, "a") as file:
            file.write(json.dumps(row) + "\n")
        print(f"{time.monotonic() - began:5.1f} s {state:9s} {mutant.key} {by}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--work", type=Path, required=True, help="folder of the build and outcomes")
    parser.add_argument("--count", type=int, default=300, help="mutants, with those left out")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--stage", type=int, default=C_STAGE, help="0: C, 1: Python, 2: more")
    parser.add_argument("--again", action="store_true", help="survivors once more, after new tests")
    parser.add_argument("--save", action="store_true", help="keep the table in benchmarks/results")
    args = parser.parse_args()
    builder = Builder(args.work.resolve())
    builder.prepare()
    mutants = draw(builder, args.seed)
    path = builder.work / "outcomes.jsonl"
    run(builder, mutants[: args.count], path, args.stage, args.again)
    text = report(read_outcomes(path), len(mutants), args.seed)
    print(text, end="")
    if args.save:
        (HERE / "results" / "mutation_score.txt").write_text(text)


if __name__ == "__main__":
    main()
