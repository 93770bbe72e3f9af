"""Calls of a script's main function, each in a process of its own that is forked from one server.

A test that may crash, hang or be interrupted needs a process. Started anew it would first import
Python's and the package's modules, which takes longer than most of these tests, many times as long
under sanitizers; the server has imported them once.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any


@dataclass(frozen=True)
class Done:
    """End of a call: exit status, negative for a signal, None past its time; and its output."""

    returncode: int | None
    stdout: str
    stderr: str


class Server:
    """Starts ``python SCRIPT serve`` and has it call ``main`` with text arguments."""

    def __init__(self, script: Path, folder: Path, **environment: str) -> None:
        self._files = [folder / "stdout", folder / "stderr"]
        self._process = subprocess.Popen(
            [sys.executable, script, "serve"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env=os.environ | environment,
        )

    def call(self, *arguments: str | Path, seconds: float) -> Done:
        assert self._process.stdin is not None and self._process.stdout is not None
        files = list(map(str, self._files))
        job = {"arguments": list(map(str, arguments)), "files": files, "seconds": seconds}
        self._process.stdin.write(json.dumps(job) + "\n")
        self._process.stdin.flush()
        answer = self._process.stdout.readline()
        assert answer, f"the server ended with {self._process.wait()}"
        return Done(json.loads(answer), *(file.read_text(errors="replace") for file in self._files))

    def close(self) -> None:
        self._process.communicate()  # without more jobs it ends
        assert self._process.returncode == 0


def serve(main: Callable[..., Any]) -> None:
    """Make the calls that are asked for on stdin, one after the other."""
    for line in sys.stdin:
        job = json.loads(line)
        child = os.fork()
        if child == 0:
            _child(main, job)
        print(json.dumps(_end_of(child, job["seconds"])), flush=True)


def _child(main: Callable[..., Any], job: dict[str, Any]) -> None:
    status = 1
    try:
        for number, path in enumerate(job["files"], start=1):
            file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
            os.dup2(file, number)
            os.close(file)
        main(*job["arguments"])
        status = 0
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(status)


def _end_of(child: int, seconds: float) -> int | None:
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        found, status = os.waitpid(child, os.WNOHANG)
        if found == child:
            return os.waitstatus_to_exitcode(status)
        time.sleep(0.005)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    return None
