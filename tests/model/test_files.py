"""Saving: atomic replacement, mode and owner, devices and pipes, remains of killed processes."""

from __future__ import annotations

import errno
import os
import signal
import stat
import subprocess
import sys
import tempfile
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import gpusched as gs
from gpusched._draw.axes import save_figure
from gpusched._support import files
from gpusched._support.files import replacing
from gpusched._support.results import Results

NOBODY = 65534

as_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root can change owners")


def run_python(
    code: str, path: Path | str, cwd: Path | None = None, stdout: Any = None, status: int = 0
) -> str:
    """Run code in another process; returns its output."""
    head = "import os, signal, sys\nfrom gpusched._support.files import replacing\n"
    done = subprocess.run(
        [sys.executable, "-c", head + code, str(path)],
        cwd=cwd,
        stdout=stdout or subprocess.PIPE,
        stderr=subprocess.PIPE,
        env={**os.environ, "PYTHONIOENCODING": "utf-8"},
    )
    assert (done.returncode, done.stderr) == (status, b"")
    return "" if stdout else done.stdout.decode()


pytestmark = pytest.mark.python


def test_a_file_takes_its_place_when_it_is_complete(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_text("old")
    with replacing(path, "w", encoding="utf-8") as file:
        file.write("né")
        assert path.read_text() == "old"
    assert path.read_bytes() == "né".encode()
    assert os.listdir(tmp_path) == ["a.txt"]


@pytest.mark.parametrize("error", [RuntimeError, KeyboardInterrupt])
def test_nothing_is_left_of_an_unfinished_file(tmp_path: Path, error: type[BaseException]) -> None:
    with pytest.raises(error), replacing(tmp_path / "a") as file:
        file.write(b"half")
        raise error
    assert os.listdir(tmp_path) == []


def test_a_long_name_leaves_room_for_the_unfinished_file(tmp_path: Path) -> None:
    name = "n" * os.pathconf(tmp_path, "PC_NAME_MAX")
    with replacing(tmp_path / name) as file:
        file.write(b"whole")
    assert (tmp_path / name).read_bytes() == b"whole"


def test_a_link_stays_one(tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "link").symlink_to("folder/real")
    with replacing(tmp_path / "link") as file:
        file.write(b"new")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "folder" / "real").read_bytes() == b"new"
    assert sorted(os.listdir(tmp_path)) == ["folder", "link"]


@pytest.mark.parametrize(
    ("name", "error"),
    [
        ("absent/a.csv", FileNotFoundError),
        ("file/a.csv", NotADirectoryError),
        ("folder", IsADirectoryError),
    ],
)
def test_errors_name_the_file_that_was_asked_for(
    tmp_path: Path, name: str, error: type[OSError]
) -> None:
    (tmp_path / "file").touch()
    (tmp_path / "folder").mkdir()
    path = tmp_path / name
    with pytest.raises(error) as caught, replacing(path):
        pass
    assert caught.value.filename == str(path) and caught.value.filename2 is None
    assert str(path) in str(caught.value) and ".tmp" not in str(caught.value)
    assert sorted(os.listdir(tmp_path)) == ["file", "folder"]


def test_the_users_of_it_name_their_files(tmp_path: Path) -> None:
    path = tmp_path / "absent" / "table.npz"
    with pytest.raises(FileNotFoundError) as caught:
        gs.BatchTable([0, 1]).save(path)
    assert caught.value.filename == str(path)


# Mode and owner -----------------------------------------------------------------------------------


def write(path: Path | str, data: bytes = b"new") -> None:
    with replacing(path) as file:
        file.write(data)


def temporaries(folder: Path) -> list[str]:
    return [name for name in os.listdir(folder) if name.endswith(".tmp")]


@pytest.mark.parametrize(("umask", "mode"), [(0o022, 0o644), (0o077, 0o600), (0o002, 0o664)])
def test_a_new_file_has_the_mode_of_the_umask(tmp_path: Path, umask: int, mode: int) -> None:
    before = os.umask(umask)
    try:
        write(tmp_path / "a")
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / "a").stat().st_mode) == mode


@pytest.mark.parametrize("mode", [0o600, 0o640, 0o755, 0o400, 0o666])
def test_a_replaced_file_keeps_its_mode(tmp_path: Path, mode: int) -> None:
    path = tmp_path / "a"
    path.write_bytes(b"old")
    path.chmod(mode)
    write(path)
    assert path.read_bytes() == b"new"
    assert stat.S_IMODE(path.stat().st_mode) == mode


@as_root
def test_root_keeps_the_owner(tmp_path: Path) -> None:
    path = tmp_path / "a"
    path.write_bytes(b"old")
    os.chown(path, NOBODY, NOBODY + 1)
    path.chmod(0o4750)
    write(path)
    found = path.stat()
    assert (found.st_uid, found.st_gid) == (NOBODY, NOBODY + 1)
    assert stat.S_IMODE(found.st_mode) == 0o4750


@as_root
@pytest.mark.parametrize(("old", "new"), [(0o4750, 0o700), (0o664, 0o644), (0o640, 0o600)])
def test_another_user_gives_no_rights_away(old: int, new: int) -> None:
    """The file is in a folder that all can write to, and its owner cannot be kept."""
    with tempfile.TemporaryDirectory() as folder:
        os.chmod(folder, 0o777)
        path = Path(folder, "a")
        path.write_bytes(b"old")
        path.chmod(old)
        run_python(
            f"os.setgroups([]); os.setgid({NOBODY}); os.setuid({NOBODY})\n"
            "with replacing(sys.argv[1]) as file: file.write(b'new')",
            path,
        )
        found = path.stat()
        assert path.read_bytes() == b"new"
        assert (found.st_uid, found.st_gid) == (NOBODY, NOBODY)
        assert stat.S_IMODE(found.st_mode) == new


def test_other_hard_links_keep_the_old_content(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"old")
    os.link(tmp_path / "a", tmp_path / "b")
    write(tmp_path / "a")
    assert (tmp_path / "a").read_bytes() == b"new"
    assert (tmp_path / "b").read_bytes() == b"old"


def test_a_dangling_link_makes_its_target(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to("target")
    write(tmp_path / "link")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "target").read_bytes() == b"new"


def test_links_in_a_circle(tmp_path: Path) -> None:
    (tmp_path / "a").symlink_to("b")
    (tmp_path / "b").symlink_to("a")
    with pytest.raises(OSError) as caught:
        write(tmp_path / "a")
    assert caught.value.errno == errno.ELOOP
    assert (tmp_path / "a").is_symlink()


# Files that are not regular -----------------------------------------------------------------------

SAVERS: dict[str, Any] = {
    "table.npz": gs.BatchTable([0, 1]).save,
    "table.json": gs.BatchTable([0, 1]).to_file,
    "table.csv": gs.BatchTable([0, 1]).to_file,
    "tasks.npz": gs.KernelTasks(period=[4], wcet=[1]).save,
    "schedule.json": gs.Schedule([0], [1], [1], gs.KernelTasks(period=[4], wcet=[1])).save,
    "schedule.trace.json.gz": gs.Schedule(
        [0], [1], [1], gs.KernelTasks(period=[4], wcet=[1])
    ).to_chrome_trace,
    "results.csv": Results({"a": np.arange(3)}).save_csv,
}


@pytest.mark.parametrize("name", SAVERS)
def test_savers_write_into_a_fifo(tmp_path: Path, name: str) -> None:
    save = SAVERS[name]
    (tmp_path / "folder").mkdir()
    save(tmp_path / "folder" / name)
    fifo = tmp_path / name
    os.mkfifo(fifo)
    read: list[bytes] = []
    reader = threading.Thread(target=lambda: read.append(fifo.read_bytes()))
    reader.start()
    save(fifo)
    reader.join()
    assert read == [(tmp_path / "folder" / name).read_bytes()]
    assert fifo.is_fifo()
    assert sorted(os.listdir(tmp_path)) == sorted([name, "folder"])


@pytest.mark.parametrize("ending", [".png", ".svg", ".pdf"])
def test_a_figure_goes_into_a_fifo(tmp_path: Path, ending: str) -> None:
    figures = pytest.importorskip("matplotlib.figure")
    fifo = tmp_path / f"figure{ending}"
    os.mkfifo(fifo)
    read: list[bytes] = []
    reader = threading.Thread(target=lambda: read.append(fifo.read_bytes()))
    reader.start()
    save_figure(figures.Figure(), fifo)
    reader.join()
    assert read[0][:5] in (b"\x89PNG\r", b"<?xml", b"%PDF-")


def test_an_error_sends_nothing_into_a_fifo(tmp_path: Path) -> None:
    fifo = tmp_path / "fifo"
    os.mkfifo(fifo)
    read: list[bytes] = []
    reader = threading.Thread(target=lambda: read.append(fifo.read_bytes()))
    reader.start()
    with pytest.raises(RuntimeError), replacing(fifo, "w", encoding="utf-8") as file:
        file.write("half")
        raise RuntimeError
    reader.join()
    assert read == [b""]


def test_devices_stay_devices(tmp_path: Path) -> None:
    before = os.stat("/dev/null")
    (tmp_path / "link").symlink_to("/dev/null")
    for path in ("/dev/null", tmp_path / "link"):
        gs.BatchTable([0, 1]).save(path)
    after = os.stat("/dev/null")
    assert stat.S_ISCHR(after.st_mode) and after.st_ino == before.st_ino
    with pytest.raises(OSError, match="/dev/full") as caught:
        gs.BatchTable([0, 1]).save("/dev/full")
    assert caught.value.errno == errno.ENOSPC


@pytest.mark.long
@pytest.mark.parametrize("regular", [False, True])
@pytest.mark.parametrize("path", ["/dev/stdout", "/dev/fd/1", "/proc/self/fd/1", "link"])
def test_the_standard_output_is_written_to(tmp_path: Path, path: str, regular: bool) -> None:
    (tmp_path / "link").symlink_to("/dev/stdout")
    out = tmp_path / "out"
    code = (
        "print('before')\n"
        "with replacing(sys.argv[1], 'w', encoding='utf-8') as file: file.write('né\\n')\n"
        "print('after')"
    )
    if regular:
        with out.open("wb") as stream:
            run_python(code, path, cwd=tmp_path, stdout=stream)
        assert out.read_text() == "before\nné\nafter\n"
    else:
        assert run_python(code, path, cwd=tmp_path) == "before\nné\nafter\n"


@pytest.mark.parametrize("path", [None, 3, object(), ["a"], 1.5])
def test_what_is_no_path_is_refused(path: Any) -> None:
    with pytest.raises(TypeError, match=r"^path: got .*, expected the path of a file$"):
        write(path)
    with pytest.raises(TypeError, match=r"^path: got .*, expected the path of a file$"):
        gs.BatchTable.load(path)


def test_a_null_character_in_a_path() -> None:
    with pytest.raises(ValueError, match=r"^path: got 'a.x00', expected a path without a null"):
        write("a\0")


def test_paths_of_bytes(tmp_path: Path) -> None:
    path = os.fsencode(tmp_path / "a.npz")
    gs.BatchTable([0, 1]).save(path)  # type: ignore[arg-type]
    assert gs.BatchTable.load(path) == gs.BatchTable([0, 1])  # type: ignore[arg-type]


# What killed processes leave ----------------------------------------------------------------------

KILLED = """
with replacing(sys.argv[1]) as file:
    file.write(b"half")
    file.flush()
    os.kill(os.getpid(), signal.SIGKILL)
"""


def test_a_save_removes_what_a_killed_one_left(tmp_path: Path) -> None:
    path = tmp_path / "a"
    path.write_bytes(b"old")
    for _ in range(2):
        run_python(KILLED, path, status=-signal.SIGKILL)
        assert path.read_bytes() == b"old"
        assert len(temporaries(tmp_path)) == 1, "the second removes that of the first"
    write(tmp_path / "b")
    (tmp_path / ".gpusched-other.tmp").touch()
    assert len(temporaries(tmp_path)) == 2, "another target's, and another program's"
    write(path)
    assert path.read_bytes() == b"new"
    assert temporaries(tmp_path) == [".gpusched-other.tmp"]


def test_a_save_leaves_what_a_living_one_writes(tmp_path: Path) -> None:
    path = tmp_path / "a"
    with replacing(path) as slow:
        slow.write(b"slow")
        assert len(temporaries(tmp_path)) == 1
        run_python("with replacing(sys.argv[1]) as file: file.write(b'fast')", path)
        write(path, b"faster")
        assert path.read_bytes() == b"faster"
        assert len(temporaries(tmp_path)) == 1
    assert path.read_bytes() == b"slow"
    assert temporaries(tmp_path) == []


def test_many_savers_of_one_file(tmp_path: Path) -> None:
    path = tmp_path / "a"

    def save(number: int) -> None:
        for _ in range(20):
            write(path, bytes([number]) * 1000)

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(save, range(8)))
    assert len(set(path.read_bytes())) == 1 and path.stat().st_size == 1000
    assert temporaries(tmp_path) == []


def test_a_file_system_without_locks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: Any) -> None:
        raise OSError(errno.ENOLCK, "No locks available")

    run_python(KILLED, tmp_path / "a", status=-signal.SIGKILL)
    monkeypatch.setattr(files.fcntl, "flock", refuse)
    write(tmp_path / "a")
    assert (tmp_path / "a").read_bytes() == b"new"
    assert len(temporaries(tmp_path)) == 1, "it might be written to"


def test_file_and_folder_are_synchronised(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    done: list[str] = []
    fsync, replace = os.fsync, os.replace

    def synced(descriptor: int) -> None:
        folder = stat.S_ISDIR(os.fstat(descriptor).st_mode)
        done.append("folder" if folder else "file")
        fsync(descriptor)

    def renamed(*names: Any) -> None:
        done.append("rename")
        replace(*names)

    monkeypatch.setattr(os, "fsync", synced)
    monkeypatch.setattr(os, "replace", renamed)
    write(tmp_path / "a")
    assert done == ["file", "rename", "folder"]


def test_a_full_disk_is_named(tmp_path: Path) -> None:
    path = tmp_path / "a"
    path.write_bytes(b"old")
    with pytest.raises(OSError) as caught, replacing(path):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
    assert caught.value.filename == str(path)
    assert path.read_bytes() == b"old" and temporaries(tmp_path) == []
