"""README: its length, its examples, its picture, its commands, its links here and on PyPI."""

from __future__ import annotations

import re
import runpy
import tomllib
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.python

ROOT = Path(__file__).parents[2]
TEXT = (ROOT / "README.md").read_text(encoding="utf-8")
FENCES = re.compile(r"```(\w+)\n(.*?)```", re.DOTALL)
LINK = re.compile(r"!?\[[^\]]*\]\(([^)]+)\)")


def test_length() -> None:
    """At most 900 words, without code, comments and the targets of links."""
    prose = re.sub(r"\]\([^)]*\)", "]", re.sub(r"<!--.*?-->", "", FENCES.sub("", TEXT)))
    assert len(prose.split()) <= 900


def test_the_example_prints_what_is_shown(capsys: pytest.CaptureFixture[str]) -> None:
    ((_, code),) = (fence for fence in FENCES.findall(TEXT) if fence[0] == "python")
    assert code.count("\n") == 5
    exec(compile(code, "README.md", "exec"), {})
    (printed,) = (text for language, text in FENCES.findall(TEXT) if language == "text")
    assert capsys.readouterr().out == printed


def test_the_picture_shows_the_example(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("matplotlib")
    pytest.importorskip("pandas")
    parts = runpy.run_path(str(ROOT / "benchmarks" / "readme_figure.py"))
    (picture,) = re.findall(r"!\[[^\]]*\]\(([^)]+)\)", TEXT)
    assert ROOT / picture == parts["PICTURE"]
    panels = parts["figure"]().axes
    shown = [axes.get_title(loc="left") + ": " + axes.get_title(loc="right") for axes in panels]
    assert shown == [
        "A stream per task (streams): not schedulable: camera takes 15 ms, deadline 12 ms",
        "A context per task, in time slices (time_slices): "
        "guaranteed: camera takes at most 7 ms, deadline 12 ms",
        "SMs divided between the tasks (stgm): "
        "guaranteed: camera takes at most 8.6 ms, deadline 12 ms",
    ]


@pytest.mark.parametrize("mark", ["main-job", "tests"])
def test_the_two_commands_are_one_line_each(mark: str) -> None:
    blocks = re.findall(rf"<!-- {mark} -->\n```sh\n(.*?)```", TEXT, re.DOTALL)
    assert len(blocks) == 1
    assert blocks[0].count("\n") == 1
    assert blocks[0].startswith("python3 -m venv .venv && .venv/bin/pip install -q -e '.[")


def test_ci_runs_the_commands_of_the_readme() -> None:
    script = ROOT / ".ci" / "run"
    if not script.exists():
        pytest.skip("needs a clone")
    ci = script.read_text(encoding="utf-8")
    for name, mark in (("main_job", "main-job"), ("tests", "tests")):
        assert f"{name}=$(readme_command {mark})" in ci
        assert f'run_and_keep "${name}"' in ci


def urls() -> dict[str, str]:
    project: Any = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    found: dict[str, str] = project["urls"]
    return found


def missing(links: list[str]) -> list[str]:
    """Links to files of the repository that do not exist, relative or by its address."""
    source = re.escape(urls()["Source"])
    wrong = []
    for link in links:
        if link.startswith("https:"):
            path = re.match(rf"{source}/(?:blob|raw|tree)/[^/]+/([^#]+)", link)
            known = link in urls().values() or not link.startswith(urls()["Source"])
            exists = known if path is None else (ROOT / path[1]).exists()
        else:
            exists = (ROOT / link.partition("#")[0]).exists()
        if not exists:
            wrong.append(link)
    return wrong


def test_links_lead_somewhere() -> None:
    links = LINK.findall(TEXT)
    assert len(links) >= 20 and missing(links) == []
    source = urls()["Source"]
    assert missing([f"{source}/blob/main/NO.md", f"{source}/wiki", "NO.md", "README.md#no"]) == [
        f"{source}/blob/main/NO.md",
        f"{source}/wiki",
        "NO.md",
    ]


def test_every_door_has_a_few_links() -> None:
    for door in ("Engineers", "Researchers", "Papers", "Contributors"):
        (text,) = re.findall(rf"^\*\*{door}\.\*\*(.*?)\n\n", TEXT, re.DOTALL | re.MULTILINE)
        assert 2 <= len(LINK.findall(text)) <= 4, door


def test_addresses_of_the_project() -> None:
    found = urls()
    assert list(found) == ["Homepage", "Documentation", "Source", "Changelog", "Issues"]
    assert found["Issues"] == found["Source"] + "/issues"
    assert missing([found["Changelog"]]) == [] and found["Changelog"].startswith(found["Source"])
