"""Coverage-guided fuzzing of the C core; results/fuzz_campaign.txt.

Builds the core once with clang's coverage and sanitizers, links it with each harness of tests/fuzz,
and lets libFuzzer run every one, beginning with its corpus in tests/fuzz/corpus. A finding (a
crash, a failed check, a leak, an input that takes longer than the timeout) stays in the folder of
the campaign, or without one in fuzz-findings, and the fuzzer goes on. The status is 0 where all
harnesses ran and found nothing. CI gives each harness a fixed number of executions.

    python benchmarks/fuzz_campaign.py [--seconds 600] [--seed 1] [--jobs 1] [--save]
        [--runs] [--keep] [--timeout 5] [--folder FOLDER] [FAMILY ...]
"""

from __future__ import annotations

import argparse
import hashlib
import re
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent
HARNESSES = ROOT / "tests" / "fuzz"
CORPUS = HARNESSES / "corpus"
# Executions in about five seconds of one core: what --runs gives each harness.
RUNS = {
    "fifo": 4000,
    "gedf": 4000,
    "hierarchy": 4000,
    "host": 4000,
    "machine": 2000,
    "pbs": 400,
    "placement": 30000,
    "streams": 4000,
    "text": 20000,
}
SANITIZE = "-fsanitize=address,undefined"
FLAGS = ["-std=c11", "-O1", "-g", "-fno-omit-frame-pointer", "-fno-sanitize-recover=undefined"]
LENGTH = 512  # bytes of one input, at most
MOST_INPUTS = 40  # of a corpus, without those that have a name


def execute(command: list[str | Path]) -> None:
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"{' '.join(map(str, command))}\n{done.stdout}{done.stderr}")


def build(folder: Path, families: list[str], jobs: int) -> None:
    """The core and the harnesses; the Python module and the driver of the GPU are left out."""
    include = f"-I{ROOT / 'csrc'}"
    objects = {}
    for source in sorted((ROOT / "csrc").rglob("*.c")):
        parts = source.relative_to(ROOT / "csrc").parts
        if parts[0] not in ("python", "cuda"):
            objects[source] = folder / ("-".join(parts)[:-2] + ".o")

    def compile_one(source: Path) -> None:
        sanitized = f"{SANITIZE},fuzzer-no-link"
        execute(["clang", *FLAGS, sanitized, include, "-c", source, "-o", objects[source]])

    def link(family: str) -> None:
        source = HARNESSES / f"fuzz_{family}.c"
        flags = [*FLAGS, f"{SANITIZE},fuzzer", include, f"-I{HARNESSES}"]
        execute(["clang", *flags, source, library, "-lm", "-o", folder / family])

    library = folder / "core.a"
    library.unlink(missing_ok=True)
    with ThreadPoolExecutor(jobs) as pool:
        list(pool.map(compile_one, objects))
        execute(["ar", "rcs", library, *objects.values()])
        list(pool.map(link, families))


@dataclass
class Outcome:
    """Results of one harness."""

    family: str
    seconds: float = 0.0
    executions: int = 0
    edges: int = 0
    all_edges: int = 0
    inputs: int = 0
    findings: list[Path] = field(default_factory=list)
    failures: int = 0  # ends with an error but without a finding: it did not start, or was killed

    @property
    def good(self) -> bool:
        """Whether it ran, and found nothing."""
        return self.executions > 0 and not self.findings and not self.failures

    def line(self) -> str:
        return (
            f"{self.family:12s} {self.seconds:7.0f} {self.executions:10d} {self.edges:7d}"
            f" {self.all_edges:7d} {self.inputs:7d} {len(self.findings):9d}"
        )


def number(pattern: str, text: str) -> int:
    """The last number that follows a pattern, or 0."""
    found = re.findall(pattern, text)
    return int(found[-1]) if found else 0


def fuzz(folder: Path, family: str, args: argparse.Namespace) -> Outcome:
    """Runs one fuzzer until its time or its executions are spent, again after each finding."""
    outcome = Outcome(family)
    inputs, findings = folder / "inputs" / family, folder / "findings" / family
    inputs.mkdir(parents=True, exist_ok=True)
    findings.mkdir(parents=True, exist_ok=True)
    began = time.perf_counter()
    for turn in range(1000):
        left = args.seconds - (time.perf_counter() - began)
        until = f"-runs={RUNS[family]}" if args.runs else f"-max_total_time={max(1, int(left))}"
        command: list[str | Path] = [folder / family, until, f"-seed={args.seed + turn}"]
        command += [f"-max_len={LENGTH}", "-len_control=20", f"-timeout={args.timeout}"]
        command += ["-print_final_stats=1", f"-artifact_prefix={findings}/", inputs]
        command += [CORPUS / family] if (CORPUS / family).is_dir() else []
        before = len(list(findings.iterdir()))
        done = subprocess.run(command, capture_output=True, text=True, errors="replace")
        outcome.executions += number(r"stat::number_of_executed_units:\s*(\d+)", done.stderr)
        outcome.edges = max(outcome.edges, number(r"cov: (\d+)", done.stderr))
        outcome.all_edges = number(r"\((\d+) PCs\)", done.stderr)
        if done.returncode != 0:
            print(f"{family}: {done.stderr[-5000:]}", flush=True)
            outcome.failures += len(list(findings.iterdir())) == before
        if outcome.failures or args.runs or time.perf_counter() - began >= args.seconds - 1:
            break
    outcome.seconds = time.perf_counter() - began
    outcome.inputs = len(list(inputs.iterdir()))
    outcome.findings = sorted(findings.iterdir())
    print(outcome.line(), *outcome.findings, flush=True)
    return outcome


def new_edges(folder: Path, family: str, order: list[Path]) -> dict[Path, int]:
    """The number of edges that each input reaches first, when they are taken in this order."""
    record, empty = folder / f"{family}.merge", folder / f"{family}.empty"
    shutil.rmtree(empty, ignore_errors=True)
    empty.mkdir()
    record.write_text("\n".join([str(len(order)), "0", *map(str, order), ""]))
    merge = ["-merge=1", "-use_counters=0", f"-max_len={LENGTH}", f"-merge_control_file={record}"]
    execute([folder / family, *merge, empty, *{path.parent for path in order}])
    found = re.findall(r"^FT (\d+)(.*)$", record.read_text(), flags=re.MULTILINE)
    return {order[int(at)]: len(edges.split()) for at, edges in found}


def keep(folder: Path, family: str) -> None:
    """Few inputs that reach many edges become the corpus; those with a name stay."""
    own = CORPUS / family
    own.mkdir(parents=True, exist_ok=True)
    inputs = [*own.iterdir(), *(folder / "inputs" / family).iterdir()]
    inputs.sort(key=lambda path: (-path.stat().st_size, path.name))
    for _ in range(4):  # the best ones of one pass are the first of the next
        edges = new_edges(folder, family, inputs)
        inputs.sort(key=lambda path: (-edges.get(path, 0), path.name))
    kept = [path.read_bytes() for path in inputs[:MOST_INPUTS] if edges.get(path)]
    for path in own.iterdir():
        if re.fullmatch("[0-9a-f]{12}", path.name):
            path.unlink()
    named = [path.read_bytes() for path in own.iterdir()]
    for text in kept:
        if text not in named:
            (own / hashlib.sha256(text).hexdigest()[:12]).write_bytes(text)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("family", nargs="*", help="harnesses, all by default")
    parser.add_argument("--seconds", type=int, default=600, help="of each harness")
    parser.add_argument("--runs", action="store_true", help="a fixed number of executions instead")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--timeout", type=int, default=5, help="seconds of one input")
    parser.add_argument("--jobs", type=int, default=1, help="processes at a time")
    parser.add_argument("--folder", type=Path, help="for programs, inputs and findings; is kept")
    parser.add_argument("--keep", action="store_true", help="minimise the inputs to the corpora")
    parser.add_argument("--save", action="store_true", help="keep the table in benchmarks/results")
    args = parser.parse_args()
    families = args.family or sorted(RUNS)
    if shutil.which("clang") is None:
        sys.exit("clang with libFuzzer is needed")
    with tempfile.TemporaryDirectory() as temporary:
        folder = (args.folder or Path(temporary)).resolve()
        folder.mkdir(parents=True, exist_ok=True)
        build(folder, families, args.jobs)
        before = cpu_seconds()
        with ThreadPoolExecutor(args.jobs) as pool:
            outcomes = list(pool.map(lambda family: fuzz(folder, family, args), families))
        hours = (cpu_seconds() - before) / 3600
        if args.keep:
            for family in families:
                keep(folder, family)
        if any(outcome.findings for outcome in outcomes) and args.folder is None:
            shutil.copytree(folder / "findings", ROOT / "fuzz-findings", dirs_exist_ok=True)
    if args.save:
        save(outcomes, args.seed, hours)
    sys.exit(not all(outcome.good for outcome in outcomes))


def cpu_seconds() -> float:
    """Processor time of all processes that have been started and have ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def save(outcomes: list[Outcome], seed: int, hours: float) -> None:
    from machine import describe

    executions = sum(outcome.executions for outcome in outcomes)
    lines = [
        f"Fuzzing of the C core, seed {seed}, {describe()}",
        f"libFuzzer, ASan and UBSan, {hours:.1f} CPU-hours: {executions} executions, "
        f"{sum(len(outcome.findings) for outcome in outcomes)} findings",
        "",
        f"{'harness':12s} {'seconds':>7s} {'executions':>10s} {'edges':>7s} {'of':>7s}"
        f" {'inputs':>7s} {'findings':>9s}",
        *(outcome.line() for outcome in outcomes),
    ]
    (HERE / "results" / "fuzz_campaign.txt").write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
