"""Files that are written as a whole or not at all, also by programs that are killed while they write."""

from __future__ import annotations

import contextlib
import hashlib
import os
import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO


@contextlib.contextmanager
def saved(path: str | os.PathLike[str], survives_power_failure: bool = False) -> Iterator[BinaryIO]:
    """Gives a file to write to, which replaces the one at `path` when all is written.

    Until then it is a file beside it, `NAME.HOST-PROCESS-RANDOM.part`; what killed processes of this host
    have left there under such names is removed. The file keeps its permissions. What is not a file, such as a pipe, is
    written to directly.

    Args:
        path: of the file.
        survives_power_failure: whether to wait until the file is on the disk.

    Raises:
        OSError: the file cannot be written.
    """
    target = Path(os.path.realpath(path))
    if target.exists() and not target.is_file():
        with open(target, "wb") as file:
            yield file
        return
    temporary = _place_beside(target)
    try:
        with open(temporary, "xb") as file:
            yield file
            if survives_power_failure:
                file.flush()
                os.fsync(file.fileno())
        if target.exists():
            shutil.copymode(target, temporary)
        os.replace(temporary, target)
    except BaseException:
        with contextlib.suppress(OSError):
            temporary.unlink()
        raise


@contextlib.contextmanager
def scratch_folder(folder: Path) -> Iterator[Path]:
    """Gives a new folder in a folder; it is removed in the end, or when another process sees that this one is dead."""
    place = _place_beside(folder / "scratch")
    place.mkdir()
    try:
        yield place
    finally:
        shutil.rmtree(place, ignore_errors=True)


def save_bytes(path: str | os.PathLike[str], contents: bytes) -> None:
    """Writes a file as `saved` does."""
    with saved(path) as file:
        file.write(contents)


def save_text(path: str | os.PathLike[str], text: str) -> None:
    """Writes a text in UTF-8 as `saved` does, with the ends of lines that the system has."""
    save_bytes(path, text.replace("\n", os.linesep).encode("utf-8"))


def _place_beside(target: Path) -> Path:
    """A name that no other process has, beside a file; what dead ones have left under such names is removed."""
    # Removes files that processes of this machine had begun to write in place of a file before they ended
    name = re.compile(rf"{re.escape(target.name)}\.{_host()}-(\d+)-[0-9a-f]{{12}}\.part")
    with contextlib.suppress(OSError):
        for entry in os.scandir(target.parent):
            found = name.fullmatch(entry.name) if entry.name.endswith(".part") else None
            if found is not None and not _is_running(int(found.group(1))):
                shutil.rmtree(entry.path) if entry.is_dir(follow_symlinks=False) else os.unlink(entry.path)
    return target.with_name(f"{target.name}.{_host()}-{os.getpid()}-{os.urandom(6).hex()}.part")


def _host() -> str:
    """A short name of this machine: other machines with other processes may share the folder."""
    import socket

    return hashlib.sha256(socket.gethostname().encode()).hexdigest()[:8]


def _is_running(process: int) -> bool:
    if os.name != "posix":
        return True  # os.kill would end it
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except (OSError, OverflowError):
        pass  # it belongs to another user
    return True
