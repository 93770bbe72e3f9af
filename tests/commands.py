"""Commands of gpusched in this process, which saves the start of another for each."""

from __future__ import annotations

import contextlib
import io
import subprocess
from pathlib import Path

from gpusched.cli.main import main

ORIN = ("--gpu", "AGX Orin", "--cpus", "2")


def run(folder: Path, *arguments: object) -> subprocess.CompletedProcess[str]:
    """A command in a folder: its exit status, output and errors."""
    out, err = io.StringIO(), io.StringIO()
    streams = (contextlib.redirect_stdout(out), contextlib.redirect_stderr(err))
    with contextlib.chdir(folder), streams[0], streams[1]:
        try:
            status = main(list(map(str, arguments)))
        except SystemExit as end:  # of argparse
            status = int(end.code or 0)
    return subprocess.CompletedProcess([], status, out.getvalue(), err.getvalue())


def refused(folder: Path, *arguments: object) -> str:
    """The one line on stderr, of a command that fails with 2 and leaves nothing behind."""
    before = sorted(folder.rglob("*"))
    done = run(folder, *arguments)
    assert (done.returncode, done.stdout) == (2, ""), done
    assert sorted(folder.rglob("*")) == before
    assert done.stderr.startswith(f"gpusched {arguments[0]}: ") and done.stderr.count("\n") == 1
    return done.stderr.removeprefix(f"gpusched {arguments[0]}: ")
