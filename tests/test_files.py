"""Atomic file replacement and the file names in errors."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

import gpusched as gs
from gpusched._support.files import replacing

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
