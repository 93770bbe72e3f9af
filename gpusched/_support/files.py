"""Saving of files: atomic replacement, and writing through what is not a regular file.

A regular file is written beside the target under a temporary name and renamed when it is complete.
The temporary name starts with a hash of the target's name, and while a process writes the file it
holds a lock (flock) on it, which the system releases when the process ends, however it ends. A
later save of the same target therefore recognises what killed processes have left of it, and
removes it: files of that hash on which it obtains the lock. A file system without locks keeps them.
"""

from __future__ import annotations

import contextlib
import errno
import hashlib
import io
import os
import stat
import sys
import tempfile
from collections.abc import Iterator
from typing import IO, Any

from gpusched._support.text import blaming, own_descriptor, path_text

try:
    import fcntl
except ImportError:  # a system without flock
    fcntl = None  # type: ignore[assignment]

_IN_MEMORY = 1 << 24  # bytes of a stream's content before it goes to a temporary file
_PIECE = 1 << 20
_CREATE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_CLOEXEC", 0)
_NO_TERMINAL = getattr(os, "O_NOCTTY", 0) | getattr(os, "O_CLOEXEC", 0)
_WRITING = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO)  # errors without a file name


@contextlib.contextmanager
def replacing(path: str | os.PathLike[str], mode: str = "wb", **options: Any) -> Iterator[IO[Any]]:
    """Open a file that takes the place of ``path`` when the block ends without an exception.

    On an exception or an interrupt nothing is left behind, and an existing file is unchanged. The
    file that is yielded can always seek.

    - A new file has the mode that the umask gives. One that replaces a file has its mode, and its
      owner and group where the system permits that; where it does not, set-user-ID bits are
      dropped, and the group gets no more than all others. Access control lists are not copied.
      The folder must be writable; that the old file is, is not required.
    - Where ``path`` is a symbolic link, its target is replaced, or created. Of several hard links
      only the one at ``path`` is replaced: the other names keep the old content.
    - Content and folder are synchronised with the disk before the block's end.
    - Temporary files of the same target that killed processes left behind are removed. On network
      file systems whose locks do not reach other machines, save a file from one machine at a time.
    - A FIFO, a device or another special file is opened and written to, never replaced; so is an
      own descriptor of the process such as /dev/stdout, even where it is a regular file. All
      content is collected first, so that an exception in the block writes nothing.

    Parameters
    ----------
    path
        The file.
    mode, options
        As in ``open``: "wb", or "w" with its encoding.

    Raises
    ------
    OSError
        A failed open, write or rename, or a folder at ``path``; the error names ``path``.
    TypeError, ValueError
        Not a path.
    """
    name = path_text(path)
    with blaming(name):
        stream = _stream(name)
    opened = (
        _replaced(name, mode, options) if stream is None else _sent(stream, name, mode, options)
    )
    with opened as file:
        try:
            yield file
        except OSError as error:
            if error.filename is None and error.errno in _WRITING:
                error.filename = name
            raise


def create(path: str | os.PathLike[str], content: bytes) -> None:
    """Make a new file with this content, which appears only when it is complete.

    Temporary files are removed as by `replacing`.

    Raises
    ------
    OSError
        A failed open, write or rename; FileExistsError when there is something at ``path``. The
        error names ``path``.
    """
    name = path_text(path)
    target = os.path.realpath(name)
    with blaming(name):
        remove_abandoned(target)
        unfinished, descriptor = _created(target, 0o666)
        try:
            rest = memoryview(content)
            while rest:
                rest = rest[os.write(descriptor, rest) :]
            os.fsync(descriptor)
            try:
                os.link(unfinished, target)
            except FileExistsError:
                raise
            except OSError:  # a file system without links
                if os.path.lexists(target):
                    raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), name) from None
                os.replace(unfinished, target)
            _synchronise(os.path.dirname(target))
        finally:
            with contextlib.suppress(OSError):
                os.unlink(unfinished)
            os.close(descriptor)


def _stream(name: str) -> int | None:
    """A descriptor to write to where ``name`` is not to be replaced, else None."""
    if (own := own_descriptor(name)) is not None:
        for standard in (sys.stdout, sys.stderr):
            with contextlib.suppress(AttributeError, OSError, ValueError):
                if standard.fileno() == own:
                    standard.flush()  # what was printed before comes first
        return os.dup(own)
    try:
        found = os.stat(name).st_mode
    except FileNotFoundError:
        if not name:
            raise
        found = stat.S_IFDIR if name.endswith(os.sep) else stat.S_IFREG
    if stat.S_ISDIR(found):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), name)
    return None if stat.S_ISREG(found) else os.open(name, os.O_WRONLY | _NO_TERMINAL)


@contextlib.contextmanager
def _sent(stream: int, name: str, mode: str, options: dict[str, Any]) -> Iterator[IO[Any]]:
    """A file whose content is written to the descriptor ``stream`` at the end."""
    try:
        with contextlib.ExitStack() as stack:
            content: Any = stack.enter_context(tempfile.SpooledTemporaryFile(_IN_MEMORY))
            file = content
            if "b" not in mode:
                file = stack.enter_context(io.TextIOWrapper(content, **options))
            yield file
            file.flush()
            content.seek(0)
            with blaming(name):
                while piece := memoryview(content.read(_PIECE)):
                    while piece:
                        piece = piece[os.write(stream, piece) :]
    finally:
        os.close(stream)


@contextlib.contextmanager
def _replaced(name: str, mode: str, options: dict[str, Any]) -> Iterator[IO[Any]]:
    """A file beside ``name`` that is renamed to it at the end."""
    target = os.path.realpath(name)
    with blaming(name):
        try:
            old = os.stat(target)
        except FileNotFoundError:
            old = None
        remove_abandoned(target)
        unfinished, descriptor = _created(target, 0o666 if old is None else 0o600)
    held = os.dup(descriptor)  # keeps the lock until the file has its name
    try:
        with blaming(name):
            file = open(descriptor, mode, **options)
        with file:
            yield file
            with blaming(name):
                file.flush()
                if old is not None:
                    _keep(descriptor, old)
                os.fsync(descriptor)
        with blaming(name):
            os.replace(unfinished, target)
        _synchronise(os.path.dirname(target))
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(unfinished)
        raise
    finally:
        os.close(held)


def _prefix(target: str) -> str:
    """Start of the temporary names of ``target``, of one length for names of any length."""
    digest = hashlib.sha256(os.fsencode(os.path.basename(target))).hexdigest()
    return f".gpusched-{digest[:16]}-"


def _created(target: str, mode: int) -> tuple[str, int]:
    """Name and descriptor of a new temporary file, locked."""
    while True:
        start = os.path.join(os.path.dirname(target), _prefix(target))
        unfinished = f"{start}{os.urandom(8).hex()}.tmp"
        descriptor = os.open(unfinished, _CREATE, mode)
        # Before the file was locked, another process may have removed it as an abandoned one.
        if _locked(descriptor) is not False and os.fstat(descriptor).st_nlink:
            return unfinished, descriptor
        os.close(descriptor)


def _locked(descriptor: int) -> bool | None:
    """Lock a file: True when that worked, False when another holds it, None without locks."""
    if fcntl is None:
        return None
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:
        return None
    return True


def remove_abandoned(path: str | os.PathLike[str]) -> None:
    """Remove the temporary files of ``path`` that no living process writes."""
    target = os.path.realpath(path)
    prefix = _prefix(target)
    with contextlib.suppress(OSError), os.scandir(os.path.dirname(target)) as entries:
        for entry in entries:
            if entry.name.startswith(prefix) and entry.name.endswith(".tmp"):
                with contextlib.suppress(OSError):
                    _remove_unlocked(entry.path)


def _remove_unlocked(unfinished: str) -> None:
    flags = os.O_RDWR | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0) | _NO_TERMINAL
    descriptor = os.open(unfinished, flags)
    try:
        if stat.S_ISREG(os.fstat(descriptor).st_mode) and _locked(descriptor):
            os.unlink(unfinished)
    finally:
        os.close(descriptor)


def _keep(descriptor: int, old: os.stat_result) -> None:
    """Give a file the mode of another, and its owner and group where that is permitted."""
    if not hasattr(os, "fchown"):
        return
    mode = stat.S_IMODE(old.st_mode)
    new = os.fstat(descriptor)
    if (new.st_uid, new.st_gid) != (old.st_uid, old.st_gid):
        try:
            os.fchown(descriptor, old.st_uid, old.st_gid)
        except OSError:
            mode &= ~(stat.S_ISUID | stat.S_ISGID)
            try:
                os.fchown(descriptor, -1, old.st_gid)
            except OSError:
                mode &= ~stat.S_IRWXG | (mode & stat.S_IRWXO) << 3
    with contextlib.suppress(OSError):  # a file system without modes
        os.fchmod(descriptor, mode)


def _synchronise(folder: str) -> None:
    """Make a renaming durable; the file is in its place even where folders cannot be synced."""
    with contextlib.suppress(OSError):
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
