"""Commands that run again only where something changed, for setup.py.

Beside each file that a command makes stands a record, ``<file>.d``: the rule of make with all files
that the command reads, which compilers write (-MMD), and a line with two digests: of the command,
the compiler's version and the contents read, and of what was made. A file whose record is missing,
damaged or not what it would be today is made again. Times of files do not count: what was edited
and changed back, or checked out again, is not compiled again.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import re
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import TracebackType


def digest(*parts: str) -> str:
    return hashlib.sha256("\0".join(parts).encode(errors="surrogateescape")).hexdigest()


def names_in(rule: str) -> list[str]:
    """The files after the target of a rule of make."""
    words = re.split(r"(?<!\\)\s+", rule.partition(": ")[2].replace("\\\n", " ").strip())
    return [re.sub(r"\\([ #])", r"\1", word) for word in words if word]


class Rebuild:
    """The files of one configuration in a folder, which one process at a time may make.

    run: runs a command, and raises where it fails
    version: what the commands depend on besides their words and files, such as the compiler
    hidden: words of commands that are replaced, as paths that differ between equal builds
    watched: files that may be edited during the build, which are therefore read before it
    """

    def __init__(
        self,
        folder: Path,
        run: Callable[[list[str]], object],
        version: str = "",
        hidden: Mapping[str, str] | None = None,
        watched: Iterable[str] = (),
    ) -> None:
        self.folder, self.run, self.version, self.hidden = folder, run, version, hidden or {}
        self.contents: dict[str, str] = {}
        folder.mkdir(parents=True, exist_ok=True)
        self.lock = os.open(folder / "lock", os.O_CREAT | os.O_RDWR)
        fcntl.flock(self.lock, fcntl.LOCK_EX)
        for name in watched:
            self.content(name)

    def __enter__(self) -> Rebuild:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: object, trace: TracebackType | None
    ) -> None:
        os.close(self.lock)

    def content(self, name: str) -> str:
        """The digest of a file, as it was when it was first asked for; empty without the file."""
        if name not in self.contents:
            try:
                with open(name, "rb") as file:
                    self.contents[name] = hashlib.sha256(file.read()).hexdigest()
            except OSError:
                self.contents[name] = ""
        return self.contents[name]

    def record(self, target: str, command: Sequence[str], rule: str) -> str:
        words = [self.hidden.get(word, word) for word in command]
        read = [f"{name}={self.content(name)}" for name in names_in(rule)]
        return f"{rule}\n# {digest(self.version, *words, '', *read)} {self.content(target)}\n"

    def is_current(self, target: str, command: Sequence[str]) -> bool:
        try:
            found = Path(f"{target}.d").read_text(errors="surrogateescape")
        except OSError:
            return False
        rule = found.rpartition("\n# ")[0]
        return bool(self.content(target)) and found == self.record(target, command, rule)

    def make(self, target: str, command: Sequence[str], reads: Iterable[str] = ()) -> None:
        """Runs a command that names its target, and its rule ``<target>.d`` unless reads are given.

        Both get their names when they are complete, the record last.
        """
        parts = {name: f"{name}.part" for name in (target, f"{target}.d")}
        for part in parts.values():
            Path(part).unlink(missing_ok=True)  # an archive would be added to
        self.run([parts.get(word, word) for word in command])
        written = Path(parts[f"{target}.d"])
        if not written.exists():
            escaped = (re.sub(r"([ #])", r"\\\1", name) for name in reads)
            rule = " \\\n ".join([f"{target}:", *escaped])
        else:
            rule = written.read_text(errors="surrogateescape").rstrip("\n")
        os.replace(parts[target], target)
        self.contents.pop(target, None)
        written.write_text(self.record(target, command, rule), errors="surrogateescape")
        os.replace(written, f"{target}.d")

    def compile(self, commands: Mapping[str, Sequence[str]], workers: int) -> int:
        """Makes the targets of commands that are not current, and returns how many these were.

        The first failure, in the order of the commands, is raised once no command runs any more;
        what has not begun by then is not made.
        """
        stale = [target for target in commands if not self.is_current(target, commands[target])]
        for folder in {os.path.dirname(target) for target in stale}:
            os.makedirs(folder, exist_ok=True)
        ended = threading.Event()

        def make_one(target: str) -> None:
            try:
                if not ended.is_set():
                    self.make(target, commands[target])
            except BaseException:
                ended.set()
                raise

        with ThreadPoolExecutor(workers) as pool:
            started = [pool.submit(make_one, target) for target in stale]
            try:
                for one in started:
                    one.result()
            finally:
                ended.set()
        return len(stale)

    def link(self, target: str, command: Sequence[str], reads: Sequence[str]) -> bool:
        """Makes one file from others, unless it is current, and returns whether it was made."""
        stale = not self.is_current(target, command)
        if stale:
            self.make(target, command, reads)
        return stale
