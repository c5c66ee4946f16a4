"""Files are written as a whole or not at all, and killed programs leave nothing for good."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from merganser.framework.common.saving import save_bytes, save_text, saved, scratch_folder

KILLED = """
import os, signal, sys
from merganser.framework.common.saving import saved, scratch_folder
from pathlib import Path
with scratch_folder(Path(sys.argv[1])) as folder, saved(Path(sys.argv[1]) / "a.txt") as file:
    file.write(b"half")
    file.flush()
    (folder / "x").write_text("")
    os.kill(os.getpid(), signal.SIGKILL)
"""


def names(folder: Path) -> list[str]:
    return sorted(entry.name for entry in folder.iterdir())


def test_a_file_takes_the_place_of_the_old_one_when_it_is_complete(tmp_path):
    path = tmp_path / "a.txt"
    path.write_text("old")
    path.chmod(0o640)
    with saved(path) as file:
        file.write(b"new")
        assert path.read_text() == "old"
    assert (path.read_text(), path.stat().st_mode & 0o777) == ("new", 0o640)
    assert names(tmp_path) == ["a.txt"]


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt])
def test_an_error_leaves_the_old_file_and_nothing_else(tmp_path, error):
    save_text(tmp_path / "a.txt", "old")
    with pytest.raises(error), saved(tmp_path / "a.txt") as file:
        file.write(b"half")
        raise error
    assert (tmp_path / "a.txt").read_text() == "old"
    assert names(tmp_path) == ["a.txt"]


@pytest.mark.skipif(os.name != "posix", reason="other systems do not list running processes")
def test_what_a_killed_program_leaves_is_removed_by_the_next_one(tmp_path):
    save_text(tmp_path / "a.txt", "old")
    done = subprocess.run([sys.executable, "-c", KILLED, str(tmp_path)])
    assert done.returncode == -signal.SIGKILL
    assert (tmp_path / "a.txt").read_text() == "old" and len(names(tmp_path)) == 3
    save_text(tmp_path / "a.txt", "new")
    with scratch_folder(tmp_path):
        assert len(names(tmp_path)) == 2
    assert names(tmp_path) == ["a.txt"]


def test_files_that_others_are_writing_stay(tmp_path):
    with saved(tmp_path / "a.txt") as first, saved(tmp_path / "a.txt") as second:
        first.write(b"first")
        second.write(b"second")
    assert (tmp_path / "a.txt").read_text() == "first"
    foreign = tmp_path / f"a.txt.00000000-{2**22 + 5}-0123456789ab.part"  # of another machine
    foreign.write_text("")
    save_bytes(tmp_path / "a.txt", b"third")
    assert foreign.exists()


def test_a_link_goes_on_leading_to_the_file(tmp_path):
    (tmp_path / "to").mkdir()
    save_text(tmp_path / "to" / "a.txt", "old")
    (tmp_path / "a.txt").symlink_to(tmp_path / "to" / "a.txt")
    save_text(tmp_path / "a.txt", "new")
    assert (tmp_path / "a.txt").is_symlink() and (tmp_path / "to" / "a.txt").read_text() == "new"


@pytest.mark.skipif(not Path("/dev/null").exists(), reason="there is no such device")
def test_devices_are_written_to():
    save_text("/dev/null", "text")
    assert not Path("/dev/null").is_file()


def test_a_folder_that_is_not_there_is_an_error(tmp_path):
    with pytest.raises(OSError, match="nowhere"):
        save_text(tmp_path / "nowhere" / "a.txt", "text")
