"""Claims of the five papers: every verdict, and the report that is made of them."""

from __future__ import annotations

import doctest
import importlib.util
import json
import re
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

import gpusched as gs

sys.path.insert(0, str(Path(__file__).parents[2]))

from benchmarks.papers import claim as claim_module
from benchmarks.papers import paper_list, papers_report
from benchmarks.papers.__main__ import main
from benchmarks.papers.claim import Claim, Finding, Size, found
from benchmarks.papers.paper_list import PAPERS, Paper

pytestmark = [pytest.mark.python, pytest.mark.numbers]

ROOT = Path(__file__).parents[2]

CLAIMS = [(key, claim) for key, paper in PAPERS.items() for claim in paper.claims]

# Claims whose checks compare numbers of the paper with each other, without a function.
OF_THE_TEXT = {("RTNS10", "ranges of kernel times")}


# Claims whose checks take most of the time.
LONG = {
    ("RTAS20", "misprediction by round robin"),
    ("RTAS20", "blocks are multiples of a warp"),
    ("RTCSA19", "STGM ahead"),
    ("RTCSA19", "more tasks"),
    ("RTCSA19", "one SM"),
    ("RTNS10", "nine panels"),
    ("RTNS10", "easy sets"),
    ("RTNS10", "difficult sets, responses, and tardiness with the lock"),
    ("RTNS24", "growth with the number of tasks"),
    ("RTNS24", "six or seven tasks"),
    ("RTNS24", "vertices with and without merging"),
}


def named(value: object) -> str | None:
    return f"{value.place}, {value.title}" if isinstance(value, Claim) else None


def test_long_claims_exist() -> None:
    assert {(key, claim.title) for key, claim in CLAIMS} >= LONG


@pytest.mark.parametrize(
    ("key", "claim"),
    [
        pytest.param(key, claim, marks=[pytest.mark.long] if (key, claim.title) in LONG else [])
        for key, claim in CLAIMS
    ],
    ids=named,
)
def test_verdict(key: str, claim: Claim) -> None:
    finding = claim.finding(Size(workers=1))
    assert finding.verdict == claim.verdict, finding.computed
    if claim.check is not None:
        assert finding.computed
    if importlib.util.find_spec("matplotlib") and claim.place.startswith("Figure"):
        drawn = finding.picture is not None
        assert drawn == (claim.check is not None) or claim.verdict != "agrees"


@pytest.mark.parametrize(("key", "claim"), CLAIMS, ids=named)
def test_functions_are_public(key: str, claim: Claim) -> None:
    assert claim.check is None or claim.functions or (key, claim.title) in OF_THE_TEXT
    for name in claim.functions:
        root, *steps = name.split(".")
        assert root == "gs"
        value: Any = gs
        for step in steps:
            value = getattr(value, step)


def test_claims_have_places_of_their_own() -> None:
    for paper in PAPERS.values():
        names = [(claim.place, claim.title) for claim in paper.claims]
        assert len(set(names)) == len(names)


@pytest.mark.parametrize("module", [claim_module, papers_report])
def test_examples(module: Any) -> None:
    assert doctest.testmod(module).failed == 0


# The report, on claims of its own -----------------------------------------------------------------

CALLS: list[str] = []


def easy(size: Size) -> Finding:
    CALLS.append("easy")
    return found(True, f"{size.count(2, 3)} <here>", {"x": float("inf")}, "<svg/>")


def wrong(size: Size) -> Finding:
    CALLS.append("wrong")
    return found(False, "5, not 4")


MADE = (
    Claim("Figure 1", "a & b", "two", ("gs.place",), "agrees", "", easy),
    Claim("Table 2", "four", "4", ("gs.place",), "differs", "rounded", wrong),
    Claim("Section 3", "speed", "fast", (), "needs hardware", "a GPU"),
)


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch) -> None:
    CALLS.clear()
    monkeypatch.setitem(PAPERS, "RTNS10", Paper("RTNS10", "A. Author", "A title", MADE))


class Page(HTMLParser):
    """Elements that are open, and texts."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.text = ""
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        if tag not in ("meta", "img"):
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text += data


@pytest.mark.usefixtures("made")
def test_table_page_and_document(tmp_path: Path) -> None:
    steps: list[tuple[int, int]] = []
    report = papers_report.report("RTNS10", progress=lambda *step: steps.append(step))
    assert steps == [(1, 3), (2, 3), (3, 3)]
    assert report["verdict"].tolist() == ["agrees", "differs", "needs hardware"]
    assert report["computed"].tolist() == ["2 <here>", "5, not 4", ""]
    assert report.unexpected == ()
    page, data = report.save(tmp_path / "new")
    text = Path(page).read_text(encoding="utf-8")
    parsed = Page(text)
    assert parsed.open == []
    assert "2 <here>" in parsed.text
    assert "a & b" in parsed.text
    assert text.count("<article") == 3
    assert text.count("data:image/svg+xml;base64,PHN2Zy8+") == 1
    document = json.loads(Path(data).read_text(encoding="utf-8"))
    assert document == report.document()
    assert [claim["values"] for claim in document["claims"]] == [{"x": "inf"}, {}, {}]
    assert [claim["picture"] for claim in document["claims"]] == [True, False, False]


@pytest.mark.usefixtures("made")
def test_a_report_resumes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = papers_report.report(["RTNS10"], store=tmp_path, progress=False)
    assert CALLS == ["easy", "wrong"]
    again = papers_report.report(["RTNS10"], store=tmp_path, progress=False)
    assert CALLS == ["easy", "wrong"]
    assert again == first
    assert again.document() == first.document()
    assert again.checked[0].finding.picture == "<svg/>"
    papers_report.report(["RTNS10"], store=tmp_path, full=True, progress=False)
    assert CALLS == ["easy", "wrong"] * 2
    # Another statement, another version of the check, a damaged file: computed again.
    other = Claim("Table 2", "four", "4.0", ("gs.place",), "differs", "rounded", wrong)
    changed = Paper("RTNS10", "", "", (MADE[0], other, MADE[2]))
    monkeypatch.setitem(paper_list.PAPERS, "RTNS10", changed)
    papers_report.report(["RTNS10"], store=tmp_path, progress=False)
    assert CALLS == [*["easy", "wrong"] * 2, "wrong"]
    for path in tmp_path.iterdir():
        path.write_bytes(path.read_bytes()[:-5])
    papers_report.report(["RTNS10"], store=tmp_path, progress=False)
    assert CALLS == [*["easy", "wrong"] * 2, "wrong", "easy", "wrong"]


@pytest.mark.usefixtures("made")
def test_unexpected_verdicts_are_shown(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    claims = (Claim("Table 2", "four", "4", ("gs.place",), "agrees", "", wrong), *MADE[2:])
    monkeypatch.setitem(PAPERS, "RTNS10", Paper("RTNS10", "", "", claims))
    assert main(["RTNS10", "--output", str(tmp_path)]) == 1
    assert "differs (expected: agrees)" in capsys.readouterr().out
    assert "not as expected" in (tmp_path / "papers.html").read_text(encoding="utf-8")


def test_an_error_names_the_claim(monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(size: Size) -> Finding:
        raise ZeroDivisionError

    claims = (Claim("Table 9", "zero", "0", ("gs.place",), "agrees", "", fails),)
    monkeypatch.setitem(PAPERS, "RTAS20", Paper("RTAS20", "", "", claims))
    with pytest.raises(ZeroDivisionError) as caught:
        papers_report.report("RTAS20", progress=False)
    assert "[RTAS20] Table 9 (zero)" in caught.value.__notes__[0]


@pytest.mark.usefixtures("made")
def test_command(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    assert main(["RTNS10", "--full", "--output", str(tmp_path / "a")]) == 0
    out = capsys.readouterr().out
    assert re.split("  +", out.splitlines()[1]) == ["RTNS10", "Figure 1", "a & b", "agrees"]
    assert len(list((tmp_path / "a" / "findings").iterdir())) == 2
    assert main(["RTNS10", "--json", "--workers", "1"]) == 0
    assert json.loads(capsys.readouterr().out)["full"] is False
    assert main(["RTNS10", "--quiet"]) == 0
    assert capsys.readouterr().out == ""
    assert main(["RTNS11"]) == 2
    assert "expected" in capsys.readouterr().err
    (tmp_path / "file").touch()
    assert main(["--output", str(tmp_path / "file")]) == 2


def test_the_command_is_a_program() -> None:
    command = [sys.executable, "-m", "benchmarks.papers", "RTNS11"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=120)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("gpusched papers: ") and done.stderr.count("\n") == 1


def test_hostile_arguments() -> None:
    for given in (5, [1], "ecrts17"):
        with pytest.raises((TypeError, ValueError)):
            papers_report.report(given, progress=False)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="workers"):
        papers_report.report(workers=0, progress=False)
    with pytest.raises(TypeError, match="full"):
        papers_report.report(full="yes", progress=False)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("verdict", "because", "check"),
    [
        ("agree", "", easy),
        ("agrees", "", None),
        ("needs hardware", "a GPU", easy),
        ("differs", "", easy),
    ],
)
def test_claims_are_checked(verdict: Any, because: str, check: Any) -> None:
    with pytest.raises(ValueError, match=r"^(verdict|check|because): "):
        Claim("Table 1", "t", "s", (), verdict, because, check)


@pytest.mark.usefixtures("made")
def test_counts_are_drawn() -> None:
    pytest.importorskip("matplotlib")
    report = papers_report.report("RTNS10", progress=False)
    axes = report.plot()
    assert [patch.get_width() for patch in axes.patches] == [1, 0, 1, 1, 0]
    assert papers_report.PapersReport is type(report)
