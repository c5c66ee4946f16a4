"""Files of compiled code: written by any number of processes at once, read as they were written or not at all.

What is read is run, so a folder is used only if it belongs to this user or to root and no other user can write to it
(on systems with owners of files); folders made here are open to this user alone. Whatever is wrong with the disk costs
no more than time, and one warning:

- a file that is damaged is thrown away, and compiled again: each begins with a hash of the rest;
- where nothing can be written, for want of room or rights, files that are there are read all the same;
- a file appears as a whole or not at all.

Folders that no process has used for a month are removed when something new is written.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import os
import re
import shutil
import time
import warnings
from pathlib import Path

from merganser.framework.common.saving import save_bytes

_MARK = b"merganser kernel 1\n"
_HASH_SIZE = 16  # bytes
_FOLDERS = re.compile(r"\.?[a-z]+-kernels-[0-9a-f]{16}(-removed)?")
_DAY = 24 * 3600.0  # [s]
_UNUSED = 30 * _DAY
_CLOCK_OF_FOLDERS = 2_000_000_000  # a folder that was changed longer ago has another time after the next change [ns]
_OPEN_TO_OTHERS = 0o022


def read_kept(path: Path, key: str) -> bytes | None:
    """What `keep` was given for a key; None if there is nothing, or nothing that can be used."""
    if _distrust(path.parent):
        return None
    try:
        content = path.read_bytes()
    except OSError:  # most often it is not there
        return None
    data = _unpacked(content, path, key)
    if data is None:
        throw_away(path, "it is not what was written")
    else:
        _note_use(path.parent)
    return data


def keep(path: Path, key: str, data: bytes) -> None:
    """Writes a file, if that is possible.

    Args:
        path: of the file; its folder is made where it is missing.
        key: all that the content depends on.
        data: the content.
    """
    folder = path.parent
    if _distrust(folder):
        return
    try:
        make_folder(folder)
        save_bytes(path, _packed(data, path, key))  # a power failure may damage it, which is noticed
    except OSError as error:  # a full disk, a folder of others
        _unwritable.add(folder)
        _warn_once(
            "nothing kept",
            f"Compiled kernels cannot be kept in '{folder}' ({error.strerror or error}): every process will compile "
            "them again. Set the environment variable MERGANSER_CACHE_DIR to another folder.",
        )
    else:
        _note_use(folder)
        _remove_old_folders(folder.parent)


def throw_away(path: Path, reason: str) -> None:
    """Removes a file that cannot be used, and says so once."""
    _remove(path)
    _warn_once(
        "damage",
        f"A file of compiled kernels in '{path.parent}' cannot be used and is thrown away: '{path.name}' ({reason}). "
        "What was in it is compiled again.",
    )


def can_be_kept(folder: Path) -> bool:
    """Whether files can be written to a folder, as far as one can see without trying."""
    if folder in _unwritable or _distrust(folder):
        return False
    while not folder.exists() and folder != folder.parent:
        folder = folder.parent
    return folder.is_dir() and os.access(folder, os.W_OK | os.X_OK)


# ---------------------------------------------------------------------- files


def _packed(data: bytes, path: Path, key: str) -> bytes:
    content = f"{path.name}\n{len(key)}\n{key}\n".encode() + data
    return _MARK + hashlib.blake2b(content, digest_size=_HASH_SIZE).digest() + content


def _unpacked(content: bytes, path: Path, key: str) -> bytes | None:
    """What `_packed` was given; None if a file is not what was written there."""
    start = len(_MARK) + _HASH_SIZE
    body, description = content[start:], f"{path.name}\n{len(key)}\n{key}\n".encode()
    expected = _MARK + hashlib.blake2b(body, digest_size=_HASH_SIZE).digest()
    if content[:start] != expected or not body.startswith(description):
        return None
    return body[len(description) :]


def _remove(path: Path) -> None:
    with contextlib.suppress(OSError):
        path.unlink()


# ---------------------------------------------------------------------- folders

_unwritable: set[Path] = set()  # folders that could not be written to


def make_folder(folder: Path) -> None:
    """Makes a folder, and the one around it, open to this user alone."""
    for place in (folder.parent, folder):
        place.mkdir(mode=0o700, parents=True, exist_ok=True)


def names_in(folder: Path) -> tuple[str, ...]:
    """The files in a folder; looked for only where it was changed, as this is asked often."""
    try:
        changed = folder.stat().st_mtime_ns
        is_settled = time.time_ns() - changed > _CLOCK_OF_FOLDERS
        return _names_then(folder, changed) if is_settled else tuple(os.listdir(folder))
    except OSError:
        return ()


@functools.lru_cache(maxsize=8)
def _names_then(folder: Path, changed: int) -> tuple[str, ...]:
    return tuple(os.listdir(folder))


def _distrust(folder: Path) -> bool:
    """Whether code from a folder is not to be run, which is said once; one that is not there yet is no danger."""
    if not hasattr(os, "getuid"):
        return False
    try:
        status = os.stat(folder)
    except OSError:
        return False
    if status.st_uid in (0, os.getuid()) and not status.st_mode & _OPEN_TO_OTHERS:
        return False
    reason = "other users can write to it" if status.st_uid in (0, os.getuid()) else "it belongs to another user"
    _warn_once(
        "distrust",
        f"Compiled kernels in '{folder}' are not used, and none are kept there, because {reason}. Make it yours alone "
        "(chmod go-w), or set the environment variable MERGANSER_CACHE_DIR to another folder.",
    )
    return True


_said: set[str] = set()


def _warn_once(what: str, message: str) -> None:
    """Warns of one thing, once a process."""
    if what not in _said:
        _said.add(what)
        warnings.warn(message, RuntimeWarning, stacklevel=3)


@functools.cache
def _note_use(folder: Path) -> None:
    """Marks a folder as used now, once a process; to the day."""
    with contextlib.suppress(OSError):  # that of another user, which is not ours to remove either
        if os.stat(folder).st_mtime < time.time() - _DAY:
            os.utime(folder)


@functools.cache
def _remove_old_folders(root: Path) -> None:
    """Removes the folders of kernels in a folder that were not used for a month; once a process.

    A process that still runs from such a folder has its code in memory, and compiles what it lacks. Each folder is
    given another name first, so that no process sees one that is half empty.
    """
    try:
        folders = [place for place in root.iterdir() if _FOLDERS.fullmatch(place.name) and not place.is_symlink()]
        old = [place for place in folders if place.is_dir() and place.stat().st_mtime < time.time() - _UNUSED]
    except OSError:
        return
    for place in old:
        aside = place if place.name.startswith(".") else place.with_name(f".{place.name}-removed")
        try:
            place.rename(aside)
        except OSError:  # another process is at it
            continue
        shutil.rmtree(aside, ignore_errors=True)
