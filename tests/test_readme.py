"""Examples of the README run and print the text that it shows."""

import re
from pathlib import Path

import pytest

pytestmark = pytest.mark.python

ROOT = Path(__file__).parent.parent
TEXT = (ROOT / "README.md").read_text(encoding="utf-8")

# An expression, and its value in a comment.
SAID = r"^(\S.*?) +# (True|False|\(.*?\)|\[.*?\]|'.*?'|\d+$)"


def test_python_examples(capsys):
    names: dict[str, object] = {}
    said = 0
    for block in re.findall(r"```python\n(.*?)```", TEXT, re.DOTALL):
        exec(compile(block, "README.md", "exec"), names)
        for expression, value in re.findall(SAID, block, re.MULTILINE):
            assert repr(eval(expression, names)) == value, expression
            said += 1
    assert said == 9
    printed = re.findall(r"```text\n(.*?)```", TEXT, re.DOTALL)
    assert capsys.readouterr().out == "".join(printed)


@pytest.mark.parametrize("mark", ["main-job", "tests"])
def test_the_two_commands_are_one_line_each(mark):
    blocks = re.findall(rf"<!-- {mark} -->\n```sh\n(.*?)```", TEXT, re.DOTALL)
    assert len(blocks) == 1
    assert blocks[0].count("\n") == 1


def test_links_lead_somewhere():
    links = re.findall(r"\]\(([^)]+)\)", TEXT)
    assert len(links) >= 6
    for link in links:
        assert link.startswith("https://") or (ROOT / link).exists(), link
