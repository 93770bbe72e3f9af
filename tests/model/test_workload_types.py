"""Types from a workload to the answers of its comparison, and of a script, by two type checkers."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import gpusched

SCRIPT = Path(__file__).parents[1] / "data" / "user_script.py"
EXPRESSIONS = (
    *("w", "w.names", "w['a'].segments", "w[:1]", "w.kernel_times(p)", "w.utilization()"),
    *("w.kernels(p).tasks", "w.batches(p).table", "w.hosts(p).tasks", "w.launches(p, 9).launches"),
    *("c", "c.schedulable", "c.best()", "c.why()", "c['mpcp']", "c[0]", "c[1:]"),
    *("row.label", "row.schedulable", "row.tightest", "row.why()", "row.margin().factor"),
    *("answer", "answer.schedulable", "answer.response", "answer.slack", "answer.bounded"),
    *("answer.deadline", "answer.tightest", "answer.assumptions", "answer.why('a')"),
    *("answer.schedule", "answer.certificate", "answer.options", "answer.claim", "answer.detail"),
    *("run", "run.response", "run.worst", "run.late", "run.late_count", "run.end", "run.detail"),
    *("run.schedulable", "run.why('a')", "gs.margin(w, p, 'mpcp').factor"),
    *("gs.analyze(w, p, 'mpcp', mode='busy').response", "gs.observe(w, p, 'mpcp').worst"),
)
CODE = """
import gpusched as gs

w = gs.Workload([gs.Task("a", "40ms", [gs.CPU("2ms"), gs.Kernel("5ms", blocks=8, threads=64)])])
p = gs.Platform("Xavier", cpus=2)
c = gs.compare(w, p)
row = c["mpcp"]
answer, run = row.answer, row.run
assert answer is not None and run is not None
"""


@pytest.fixture
def code(tmp_path: Path) -> Path:
    path = tmp_path / "user.py"
    lines = [f"reveal_type({expression})" for expression in EXPRESSIONS]
    path.write_text(CODE + "\n".join(lines) + "\n", encoding="utf-8")
    return path


def check(revealed: list[str]) -> None:
    assert len(revealed) == len(EXPRESSIONS)
    for expression, text in zip(EXPRESSIONS, revealed, strict=True):
        known = text.replace("tuple[Any, ...]", "shape")  # of every NDArray of NumPy
        assert "Any" not in known and "Unknown" not in known, (expression, text)


@pytest.mark.source
def test_mypy_knows_every_type(code: Path) -> None:
    api = pytest.importorskip("mypy.api")
    text, _, _ = api.run(["--strict", str(code), str(SCRIPT)])
    assert "error:" not in text, text
    check([line for line in text.splitlines() if "Revealed type" in line])


@pytest.mark.source
def test_pyright_knows_every_type(code: Path) -> None:
    """Skipped where pyright, or the Node.js that it runs in, cannot be had."""
    pytest.importorskip("pyright")
    package = Path(gpusched.__file__).parent.parent
    settings = {"extraPaths": [str(package)], "pythonVersion": "3.11"}
    shutil.copy(SCRIPT, code.parent)
    (code.parent / "pyrightconfig.json").write_text(json.dumps(settings), encoding="utf-8")
    command = [sys.executable, "-m", "pyright", "--outputjson", "--pythonpath", sys.executable]
    done = subprocess.run(
        [*command, "-p", str(code.parent)], capture_output=True, text=True, timeout=300
    )
    if not done.stdout.lstrip().startswith("{"):
        pytest.skip(f"pyright does not run: {done.stderr[-200:]}")
    found = json.loads(done.stdout)["generalDiagnostics"]
    assert [item for item in found if item["severity"] == "error"] == []
    check([item["message"] for item in found if item["message"].startswith("Type of")])


def test_the_script_of_a_user_runs() -> None:
    done = subprocess.run([sys.executable, str(SCRIPT)], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
    shown = dict(line.split(": ", 1) for line in done.stdout.splitlines())
    assert shown.pop("best") in ("streams", "mpcp (suspend)", "mpcp (busy)", "mpcp (spin)")
    assert shown.pop("plan").startswith("(True, [(")
    assert set(shown.values()) == {"True"} and len(shown) == 3
