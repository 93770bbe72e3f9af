"""Guide pages: their code runs and prints what they show, their links and names lead somewhere.

The website is built where the extra ``docs`` is installed, without the notebooks, and its links
are checked.
"""

from __future__ import annotations

import inspect
import json
import re
import shlex
import sys
import tomllib
import warnings
from pathlib import Path
from typing import Any

import pytest

import gpusched as gs
from gpusched.cli.main import _parser
from gpusched.comparison.verdicts.gpu_rules import known_rules
from gpusched.model.gpus.gpu_presets import (
    as_capability,
    partition_unit,
    regs_per_block_of,
    resident_grids_of,
)
from gpusched.model.gpus.mps_shares import CLIENT_CHANNELS, most_clients
from gpusched.ways import WAYS

pytestmark = pytest.mark.python

ROOT = Path(__file__).parents[2]
GUIDE = ROOT / "notebooks" / "guide"
SITE = ROOT / "notebooks" / "site"
PAGES = sorted(GUIDE.glob("*.md"))
FENCES = re.compile(r"```(\w+)\n(.*?)```", re.DOTALL)


@pytest.fixture
def site(monkeypatch: pytest.MonkeyPatch) -> None:
    """The modules of the builder can be imported."""
    monkeypatch.syspath_prepend(str(SITE))


def test_every_page_is_in_the_navigation() -> None:
    sections = tomllib.loads((GUIDE / "contents.toml").read_text("utf-8"))["section"]
    listed = [name for section in sections for name in section["pages"]]
    assert sorted(listed) == [path.stem for path in PAGES]


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.stem)
def test_code_runs_and_prints_what_the_page_shows(
    path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(ROOT)
    fences = FENCES.findall(path.read_text("utf-8"))
    names: dict[str, Any] = {}
    for at, (language, text) in enumerate(fences):
        assert language in ("python", "text", "sh", "toml", "c", "cpp"), language
        if language != "python":
            continue
        exec(compile(text, path.name, "exec"), names)
        shown = fences[at + 1][1] if fences[at + 1 : at + 2] and fences[at + 1][0] == "text" else ""
        assert capsys.readouterr().out == shown


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.stem)
def test_commands_and_files_are_taken(path: Path, tmp_path: Path) -> None:
    """The parser takes the commands, which name files of the repository; programs are loaded."""
    for language, text in FENCES.findall(path.read_text("utf-8")):
        if language == "toml":
            (tmp_path / "program.toml").write_text(text)
            assert gs.Workload.load(tmp_path / "program.toml").tasks
        for line in text.splitlines() if language == "sh" else ():
            command, *arguments = shlex.split(line, comments=True)
            assert command in ("gpusched", "python"), line
            if command == "gpusched":
                options = vars(_parser().parse_args(arguments))
                files = [word for word in arguments if "/" in word]
                assert options["command"] == arguments[0]
                assert [name for name in files if not (ROOT / name).is_file()] == []


def test_every_key_of_a_paper_is_in_the_list_of_sources() -> None:
    key = re.compile(r"\[([A-Z]{3,6}\d\d)\]")
    listed = set(re.findall(r"^- \[(\w+)\]", (GUIDE / "sources.md").read_text("utf-8"), re.M))
    found = set()
    for folder, endings in (
        ("csrc", (".c", ".h", ".md")),
        ("gpusched", (".py", ".md")),
        ("notebooks", (".md", ".ipynb")),
    ):
        for path in (ROOT / folder).rglob("*"):
            if path.suffix in endings:
                found |= set(key.findall(path.read_text("utf-8")))
    assert found == listed


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.stem)
def test_links_and_names_lead_somewhere(path: Path, site: None) -> None:
    from guide_parts import expanded, named

    text = FENCES.sub("", path.read_text("utf-8"))
    for link in re.findall(r"\]\(([^)]+)\)", text):
        target = (path.parent / link.partition("#")[0]).resolve()
        assert link.startswith("https://") or target.is_file(), link
    for name in re.findall(r"`(gs(?:\.\w+)+)", text):
        assert named(name) is not None
    for name, link in re.findall(r"^\[\w+ of `(.+)`\]\((.+)\)$", text, flags=re.MULTILINE):
        source = inspect.getsourcefile(named(name))
        assert source is not None and (path.parent / link).resolve() == Path(source).resolve()
    left = re.findall(
        r"^\[(?:Docstring|Facts|Levels|Members|Methods|Rules|Ways).*", expanded(text), re.MULTILINE
    )
    assert left == []  # methods, ways, rules and docstrings exist


def test_rules_of_ways(site: None) -> None:
    """Each rule that is inferred or a hint, once, with the ways that rest on it."""
    from guide_parts import expanded

    def table(ways: str) -> list[list[str]]:
        lines = expanded(f"[Rules {ways}](gpu_rules.py)").splitlines()
        return [line[2:-2].split(" | ") for line in lines]

    (rule,) = (rule for rule in known_rules("priority_streams") if rule.kind == "hint")
    head, _, *rows = table("`priority_streams`")
    assert head == ["rule", "kind", "source", "what would settle it"]
    assert [rule.text, "hint", rule.source, rule.settled_by] in rows
    assert len(rows) == len(known_rules("priority_streams"))
    (grids,) = (row for row in rows if row[0].startswith("a kernel beyond the number"))
    assert grids[0].endswith(" (simulations; tests refuse this)")
    head, _, *rows = table("`streams`, `mps`")
    assert head[-1] == "ways" and len({row[0] for row in rows}) == len(rows)
    ways = {row[0]: row[-1] for row in rows}
    assert ways["kernels of all clients of MPS join the same queues of blocks"] == "`mps`"
    assert "`streams`, `mps`" in ways.values()
    assert table("`mpcp`, `srm`") == table("`mpcp`")
    assert "No rule" in expanded("[Rules `mpcp`](gpu_rules.py)")
    with pytest.raises(ValueError, match="way: got 'no', expected one of"):
        expanded("[Rules `no`](gpu_rules.py)")


def test_every_way_has_its_rules_on_a_page() -> None:
    """Pages about ways have a table of rules; a rule has the same source and kind on all pages."""
    rows: dict[str, str] = {}
    listed: set[str] = set()
    for path in PAGES:
        text = path.read_text("utf-8")
        about = re.findall(r"^\[Ways (.*)\]", text, re.MULTILINE)
        if not about or path.stem == "workloads":  # all ways
            continue
        section = text.partition("## Rules of the GPU\n")[2]
        lines = re.findall(r"^\| (.*) \|$", section, re.MULTILINE)
        assert lines[0] == "rule | stated in, and since when | kind", path.stem
        for line in lines[1:]:
            rule, source, kind = line.split(" | ")
            assert source
            assert set(kind.split("; ")) <= {"documented", "published measurement", "inferred"}
            assert rows.setdefault(rule, line) == line
        (rules,) = re.findall(r"^\[Rules (.*)\]", section, re.MULTILINE)
        if path.stem != "mig":  # the ways within instances
            assert set(re.findall(r"\w+", about[0])) <= set(re.findall(r"\w+", rules)), path.stem
        listed |= set(re.findall(r"\w+", about[0]))
    assert listed == {way.name for way in WAYS}


def test_numbers_of_rules_are_those_of_the_package() -> None:
    text = "\n".join(path.read_text("utf-8") for path in PAGES)
    before, (usual, latest) = most_clients((6, 0))[1], most_clients((9, 0))
    assert f"{before} clients before Volta, {usual} from Volta on, and {latest} with" in text
    assert f"A client has {CLIENT_CHANNELS} channels" in text
    assert f"A context has {gs.GPU.preset('H100').channels} channels" in text
    xavier, orin = (gs.GPU.preset(name) for name in ("Xavier", "AGX Orin"))
    assert f"Xavier has {xavier.channels} channels, Orin {orin.channels}" in text
    for most, at in (
        (16, "5.3, 6.2 and 7.2"),
        (32, "5.0, 5.2 and 6.1"),
        (128, "6.0, 7.0, 7.5 and later"),
    ):
        assert f"{most} on {at}" in text or f"{most} kernels run at once on {at}" in text
        assert {resident_grids_of(as_capability(cc)) for cc in re.findall(r"\d\.\d", at)} == {most}
    assert [regs_per_block_of(cc) for cc in ((5, 3), (6, 2), (7, 2))] == [32768, 32768, None]
    assert "32,768 registers on 5.3 and 6.2, otherwise 65,536" in text
    units = [partition_unit(cc) for cc in ((7, 5), (8, 7), (11, 0), (9, 0), (12, 0))]
    assert units == [2, 2, 2, 8, 8] and partition_unit((9, 0), together=False) == 2
    assert "a multiple of 2 SMs on 7.x, 8.x and Tegra, and of 8 on others from 9.0 on" in text


def test_examples_in_the_cheat_sheet_are_calls_that_work() -> None:
    text = (GUIDE / "cheat_sheet.md").read_text("utf-8").partition("## Ask")[0]
    calls = [call for call in re.findall(r"`(gs\.[^`]*\))`", text) if "(path)" not in call]
    assert len(calls) >= 10
    for call in calls:
        assert eval(call, {"gs": gs}) is not None


def test_prose_of_docstrings(site: None) -> None:
    from guide_parts import prose

    def example() -> None:
        """Summary.

        Model::

            a picture

        >>> 1 + 1
        2

        Parameters
        ----------
        a
            b

        Notes
        -----
        An assumption.
        """

    assert prose(example.__doc__ or "") == "Summary.\n\nModel:\n\n    a picture\n\nAn assumption."


def test_only_a_site_is_emptied(site: None, tmp_path: Path) -> None:
    from site_map import INDEX, begin_site

    kept = tmp_path / "notes.txt"
    kept.write_text("mine")
    with pytest.raises(FileExistsError, match=r"got a folder with other files, expected a site$"):
        begin_site(tmp_path)
    assert kept.read_text() == "mine"
    made = tmp_path / "build" / "site"
    begin_site(made)
    (made / "index.html").write_text("")
    begin_site(made)
    assert [path for path in made.rglob("*") if path.is_file()] == [made / INDEX]


def test_the_search_knows_headings_texts_and_summaries(site: None) -> None:
    pytest.importorskip("pygments")
    from site_pages import Page
    from site_search import _entries

    guide = Page("guide/a.html", "A", '<h1 id="a">A</h1><p>x</p><h2 id="b">B</h2><p>y</p>')
    assert [(e["title"], e["text"]) for e in _entries(guide)] == [("A", "x"), ("B", "y")]
    body = '<section id="f"><div class="attr">def f():</div><p>Summary.</p>'
    body += '<h6 id="parameters">Parameters</h6><p>x</p><h5>Inherited Members</h5></section>'
    (entry,) = _entries(Page("reference/gpusched.html", "gpusched", body))
    assert (entry["title"], entry["address"]) == ("gs.f", "reference/gpusched.html#f")
    assert entry["text"] == "Summary. Parameters x"


def test_the_search_knows_all_words_of_a_long_text(site: None) -> None:
    pytest.importorskip("pygments")
    from site_pages import Page
    from site_search import _entries

    text = "the same " * 300
    body = f"{text}until cudaStreamWaitEvent: --mig, `sms_per_gpc` waits; wait (the same) {text}"
    (entry,) = _entries(Page("guide/a.html", "A", f'<h1 id="a">A</h1><p>{body}</p>'))
    assert len(entry["text"]) <= 1000 and body.startswith(entry["text"])
    assert entry["words"] == "--mig cudastreamwaitevent sms_per_gpc until waits"
    # A word that is cut is whole among the others.
    (entry,) = _entries(Page("a", "A", f'<h1 id="a">A</h1>{"x" * 990} cudaStreamWaitEvent'))
    assert entry["words"] == "cudastreamwaitevent"
    script = (SITE / "assets" / "search.js").read_text("utf-8")
    assert "entry.words" in script


def test_a_displayed_formula_leaves_its_paragraph_whole(site: None) -> None:
    for package in ("nbconvert", "latex2mathml"):
        pytest.importorskip(package)
    from markdown_text import converter
    from site_map import NOTEBOOKS, SiteMap

    source = NOTEBOOKS / "01.ipynb"
    page = converter(SiteMap(NOTEBOOKS), source, "notebooks/01.html")("Before $$a < b$$ after.")
    assert page.count("<p") == page.count("</p>") == 1  # browsers end a paragraph at another
    assert '<span class="formula"><math' in page


@pytest.mark.filterwarnings("default")  # of the packages that build the site, not of ours
def test_the_site_has_no_broken_links(tmp_path: Path, site: None) -> None:
    for package in ("pdoc", "nbconvert", "latex2mathml"):
        pytest.importorskip(package)
    from link_check import broken_links
    from whole_site import build

    output = tmp_path / "site"
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        assert build(output, frozenset({"notebooks"})) == []
    assert [str(w.message) for w in caught if "annotation" in str(w.message)] == []
    for page in (output / "reference").rglob("*.html"):
        text = re.sub(r"<[^>]*>", "", page.read_text("utf-8"))
        assert "Alias for field number" not in text  # of named tuples, by Python
        assert re.findall(r"\bgpusched(?:\.\w+)*\.(?:_\w+|[A-Z]\w*)|&lt;class", text) == []
    reference = (output / "reference" / "gpusched.html").read_text("utf-8")
    for member in ("GPU.save", "HostTasks.utilization", "KernelTasks.select"):  # of private bases
        assert f'id="{member}"' in reference
    assert "<code>save(path)</code></dt>\n                <dd><p>Write a file" in reference
    answers = (output / "reference" / "gpusched" / "pbs.html").read_text("utf-8")
    assert 'class="base"><a href="#Certificate">gs.pbs.Certificate</a>' in answers
    entries = (output / "assets" / "search-index.js").read_text("utf-8")
    found = json.loads(entries.removeprefix("window.SEARCH_INDEX=").removesuffix(";"))
    words = {e["title"]: f"{e['text']} {e.get('words', '')}".lower() for e in found}
    for name in ("mig", "mps", "green_contexts", "launch_latency", "update_cost"):
        assert name in words["gs.Platform"], name
    assert "cudastreamwaitevent" in words["gs.Launches"] and "sms_per_gpc" in words["gs.GPU"]
    index = output / "index.html"
    index.write_text(index.read_text("utf-8") + '<a href="no.html">x</a><a href="#no">y</a>')
    found = broken_links(output, frozenset({"notebooks"}))
    assert found == ["index.html: no.html: no such file", "index.html: #no: no such heading"]
    assert not [name for name in sys.modules if name == "gpusched.profiles"]
    assert not hasattr(gs, "__all__")


def test_examples_of_docstrings_stand_before_their_sections(site: None) -> None:
    from guide_parts import examples_first

    text = "Summary.\n\nRaises\n------\nValueError\n    Why.\n\n>>> f(1)\n2\n\nMore."
    assert examples_first(text) == (
        "Summary.\n\n>>> f(1)\n2\n\nRaises\n------\nValueError\n    Why.\n\n\n\nMore."
    )
    plain = "Summary.\n\nExamples\n--------\n>>> f(1)\n2"
    assert examples_first(plain) == plain
