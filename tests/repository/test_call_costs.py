"""The gate for the costs of calls: what it names, and how it reads the counts."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from native import CSRC

sys.path.append(str(CSRC.parent / "benchmarks"))
import call_costs

pytestmark = pytest.mark.source

DUMP = """events: Ir
ob=(1) /lib/_core.abi3.so
fn=(7) pbs_search
10 3000
+2 4000
calls=2 5
10 900000
ob=(2) /lib/libpython.so
fn=(8) eval
* 5000
12
cob=(1)
cfn=(7)
calls=1 3
+1 7000
ob=(1)
fn=(9) other
-3 2000
"""


def test_counts_are_those_of_the_objects_themselves(tmp_path: Path) -> None:
    (tmp_path / "dump").write_text(DUMP)
    assert call_costs.counted(tmp_path / "dump") == (9, 14)


def test_what_is_worse_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    kept = {name: call_costs.Cost(1000, 9000, 100.0) for name in "abc"}
    monkeypatch.setattr(call_costs, "KEPT", tmp_path / "kept.txt")
    call_costs.KEPT.write_text(call_costs.table(kept))
    assert call_costs.kept() == (call_costs.build(), kept)
    assert call_costs.worse(kept) == []
    now = {
        "a": call_costs.Cost(1069, 9000, 132.0),  # within 5 % and what single calls vary
        "b": call_costs.Cost(1080, 9000, 100.0),
        "c": call_costs.Cost(900, 9600, 140.0),
        "d": call_costs.Cost(1, 1, 1.0),
    }
    assert call_costs.worse(now) == [
        "b: 1,080 thousand instructions of the core, 1.08 times the kept",
        "c: 9,600 thousand instructions, 1.07 times the kept",
        "c: 140 MiB, 1.40 times the kept",
        "d: not among the kept calls; --save keeps it",
    ]


def test_another_build_is_not_compared(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(call_costs, "KEPT", tmp_path / "kept.txt")
    call_costs.KEPT.write_text(call_costs.table({"a": call_costs.Cost(1000, 9000, 100.0)}))
    monkeypatch.setattr(call_costs, "build", lambda: (call_costs.kept()[0][0], "Python 4"))
    assert call_costs.worse({"a": call_costs.Cost(1000, 99000, 999.0)}) == []
    assert call_costs.worse({"a": call_costs.Cost(2000, 9000, 100.0)}) != []
    monkeypatch.setattr(call_costs, "build", lambda: ("cc 99", "Python 4"))
    assert call_costs.worse({"a": call_costs.Cost(2000, 99000, 999.0)}) == []
    assert "not compared: the core" in capsys.readouterr().out


def test_every_kept_call_is_one_that_is_measured(tmp_path: Path) -> None:
    names = [name for name, _ in call_costs.calls(tmp_path)]
    assert list(call_costs.kept()[1]) == names and len(set(names)) == len(names) >= 40
