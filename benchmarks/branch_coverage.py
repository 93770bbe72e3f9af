"""Lines and branches of the C core that the tests reach; results/branch_coverage.txt.

A copy of the tree is built with clang's counters, in the module and in the C tests, and the tests
that enter C code run in it. A branch is one outcome of one condition; the counts of the module and
of the C tests are added. Every branch that was not taken is listed with its place, and with a
reason where ``branch_coverage_reasons.txt`` names one. ``csrc/python`` is not part of the core.

The reasons are lines ``file | function | condition | outcome | reason`` with patterns of the shell;
one that no branch needs any more is reported.

Needs clang, llvm-cov and llvm-profdata of one version; half an hour of one core.

    python benchmarks/branch_coverage.py [--work DIR] [--save] [TESTS ...]
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections import defaultdict
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path

from machine import describe

HERE = Path(__file__).parent
ROOT = HERE.parent
REASONS = HERE / "branch_coverage_reasons.txt"
# The counters are mapped files: processes that fork, crash or are killed lose none. Each process
# and library has its own (%p, %m).
FLAGS = (
    "-fprofile-instr-generate -fcoverage-mapping -mllvm -runtime-counter-relocation "
    "-Wno-unused-command-line-argument"
)
# These start other programs and processes and enter the core as other tests do, or look at the
# symbols of the module, of which the counters are some.
LEFT_OUT = (
    "test_build.py",
    "test_executors.py",
    "test_notebooks.py",
    "test_package.py",
    "test_readme.py",
    "test_study_campaigns.py",
)
SHORT = 60


@dataclass(frozen=True, order=True)
class Branch:
    """An outcome of a condition: its place, and what the source says there."""

    file: str
    line: int
    column: int
    outcome: bool
    function: str
    condition: str


@dataclass(frozen=True)
class Reason:
    """A reason that no test takes a branch."""

    file: str
    function: str
    condition: str
    outcome: str
    text: str

    def explains(self, branch: Branch) -> bool:
        return (
            fnmatchcase(branch.file, self.file)
            and fnmatchcase(branch.function, self.function)
            and fnmatchcase(branch.condition, self.condition)
            and self.outcome in ("*", str(branch.outcome).lower())
        )


def read_reasons() -> list[Reason]:
    lines = REASONS.read_text().splitlines() if REASONS.exists() else []
    rows = [line.split(" | ") for line in lines if line and not line.startswith("#")]
    return [Reason(*(part.strip() for part in row)) for row in rows]


def copy_tree(target: Path) -> None:
    """The files of the checkout; what has not changed keeps its time, and is not built again."""
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    ).stdout.split("\0")
    for name in filter(None, listed):
        if (ROOT / name).is_file():
            (target / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, target / name)


def run_tests(tree: Path, raw: Path, work: Path, chosen: list[str]) -> str:
    """Builds the module, runs the tests, and returns pytest's last line."""
    compiler = f"clang {FLAGS}"
    environment = os.environ | {
        "CC": compiler,
        "LDSHARED": f"{compiler} -shared",
        "GPUSCHED_HYPOTHESIS": os.environ.get("GPUSCHED_HYPOTHESIS", "quick"),
        "PYTHONPATH": str(tree),
        "LLVM_PROFILE_FILE": str(raw / "%p-%m%c.profraw"),
    }
    build = [sys.executable, "setup.py", "-q", "build_ext", "--inplace", "-j1"]
    subprocess.run(build, cwd=tree, env=environment, check=True)
    tests = [f"tests/{name}" for name in chosen] or ["tests"]
    tests += [f"--ignore=tests/{name}" for name in LEFT_OUT]
    command = [sys.executable, "-m", "pytest", "-m", "not source and not python", "-ra"]
    command += ["-p", "no:cacheprovider", f"--basetemp={work / 'pytest'}", *tests]
    with open(work / "pytest.txt", "w") as output:
        subprocess.run(command, cwd=tree, env=environment, stdout=output, stderr=output)
    return (work / "pytest.txt").read_text().splitlines()[-1].strip("= ")


def export(tree: Path, raw: Path, work: Path) -> dict:
    """The counts of the module and of the C tests, as llvm-cov writes them."""
    names = work / "profiles.txt"
    names.write_text("\n".join(str(path) for path in sorted(raw.iterdir())))
    merged = work / "merged.profdata"
    merge = ["llvm-profdata", "merge", "--failure-mode=all", "-sparse", "-o", merged, "-f", names]
    subprocess.run(merge, check=True)
    objects = [next((tree / "gpusched").glob("_core*.so"))]
    objects += [f"-object={path}" for path in (tree / "build/objects").glob("*/libgpusched.a")]
    command = ["llvm-cov", "export", f"-instr-profile={merged}", *objects]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return json.loads(done.stdout)["data"][0]


def text_between(lines: list[str], first: tuple[int, int], last: tuple[int, int]) -> str:
    """The source from one line and column to another, in one line."""
    part = lines[first[0] - 1 : last[0]]
    part[-1] = part[-1][: last[1] - 1]
    part[0] = part[0][first[1] - 1 :]
    return " ".join(" ".join(part).split())


def branches_of(data: dict, tree: Path) -> dict[Branch, int]:
    """Counts of the branches of the core; conditions without a value are left out."""
    core = str(tree / "csrc") + "/"
    python = core + "python/"
    sources: dict[str, list[str]] = {}
    counts: dict[Branch, int] = defaultdict(int)
    for function in data["functions"]:
        name = function["name"].rpartition(":")[2]
        for line, column, end_line, end_column, true, false, file_id, *_ in function["branches"]:
            path = os.path.normpath(tree / function["filenames"][file_id])
            if not path.startswith(core) or path.startswith(python):
                continue
            if path not in sources:
                sources[path] = Path(path).read_text().splitlines()
            text = text_between(sources[path], (line, column), (end_line, end_column))
            if text in ("0", "1", "true", "false"):
                continue
            for outcome, count in ((True, true), (False, false)):
                place = os.path.relpath(path, tree)
                counts[Branch(place, line, column, outcome, name, text)] += count
    return counts


def lines_of(data: dict, tree: Path) -> dict[str, tuple[int, int]]:
    """Lines of each file of the core, and how many of them were reached."""
    result = {}
    for file in data["files"]:
        name = os.path.relpath(tree / file["filename"], tree)
        if name.startswith("csrc/") and not name.startswith("csrc/python/"):
            one = file["summary"]["lines"]
            before = result.get(name, (0, 0))
            result[name] = (max(before[0], one["count"]), max(before[1], one["covered"]))
    return result


def share(part: int, whole: int) -> str:
    return f"{100 * part / whole:5.1f} %" if whole else "      -"


def report(data: dict, tree: Path, closings: str) -> str:
    counts, lines = branches_of(data, tree), lines_of(data, tree)
    reasons, used = read_reasons(), set()
    per_file: dict[str, list[Branch]] = defaultdict(list)
    for branch in counts:
        per_file[branch.file].append(branch)
    missed = sorted(branch for branch, count in counts.items() if count == 0)
    why = {}
    for branch in missed:
        found = next((one for one in reasons if one.explains(branch)), None)
        if found is not None:
            used.add(found)
            why[branch] = found.text
    all_lines = sum(count for count, _ in lines.values())
    covered_lines = sum(covered for _, covered in lines.values())
    taken = len(counts) - len(missed)
    text = [
        f"Coverage of the core by the tests, {describe()}",
        *closings.splitlines(),
        "",
        f"lines     {covered_lines} of {all_lines}, {share(covered_lines, all_lines).strip()}",
        f"branches  {taken} of {len(counts)}, {share(taken, len(counts)).strip()}",
        f"with the {len(why)} that have a reason: {share(taken + len(why), len(counts)).strip()}",
        "",
        f"{'file':56s}   lines branches  missed  reason",
    ]
    for name in sorted(lines):
        total, covered = lines[name]
        branches = per_file.get(name, [])
        not_taken = [branch for branch in branches if counts[branch] == 0]
        named = sum(branch in why for branch in not_taken)
        if covered < total or not_taken:
            text.append(
                f"{name:56s} {share(covered, total)} "
                f"{share(len(branches) - len(not_taken), len(branches))} "
                f"{len(not_taken):7d} {named:7d}"
            )
    text += ["", "branches that no test takes (files that are not listed above have none):"]
    for branch in missed:
        said = branch.condition
        said = said if len(said) <= SHORT else said[: SHORT - 3] + "..."
        place = f"{branch.file}:{branch.line}:{branch.column}"
        text.append(
            f"{place} {branch.function}: ({said}) is {str(branch.outcome).lower()}"
            + (f"; {why[branch]}" if branch in why else "")
        )
    for one in reasons:
        if one not in used:
            text.append(f"not needed: {one.file} | {one.function} | {one.condition}")
    return "\n".join(text) + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--work", type=Path, help="a folder to build in, kept for the next time")
    parser.add_argument("--add", action="store_true", help="keep the counts of the last run")
    parser.add_argument("--report", action="store_true", help="report the counts of the last run")
    parser.add_argument("--save", action="store_true", help="keep the table in benchmarks/results")
    parser.add_argument("tests", nargs="*", help="files of tests instead of all of them")
    args = parser.parse_args()
    work = (args.work or Path(tempfile.mkdtemp(prefix="branch_coverage_"))).resolve()
    tree, raw, closings = work / "tree", work / "raw", work / "closings.txt"
    try:
        if not args.report:
            if not args.add:
                shutil.rmtree(raw, ignore_errors=True)
                closings.unlink(missing_ok=True)
            tree.mkdir(parents=True, exist_ok=True)
            raw.mkdir(exist_ok=True)
            copy_tree(tree)
            closing = run_tests(tree, raw, work, args.tests)
            with open(closings, "a") as file:
                file.write(f"{' '.join(args.tests) or 'all'}: {closing}\n")
        text = report(export(tree, raw, work), tree, closings.read_text())
    finally:
        if args.work is None:
            shutil.rmtree(work)
    print(text, end="")
    if args.save:
        (HERE / "results" / "branch_coverage.txt").write_text(text)


if __name__ == "__main__":
    main()
