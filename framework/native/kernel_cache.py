"""Compiled code on disk: one file for each function and types of arguments.

Everything of one version of this package lies in folders that are named by the hash of all kernel sources of a package
and of those below it, so that a change in a helper of another file never leaves stale code behind. They stand in the
user's cache folder (``$MERGANSER_CACHE_DIR``, else ``$XDG_CACHE_HOME/merganser``, else ``~/.cache/merganser``).

What is read is run, so a folder is used only if it belongs to this user or to root and nobody else can write to it
(on systems with owners of files); folders made here are open to this user alone. Whatever is wrong with the disk costs
no more than time, and one warning:

- a file that is damaged is thrown away, and compiled anew: each begins with a hash of the rest;
- where nothing can be written, for want of room or rights, files that are there are read all the same;
- any number of processes may use a folder at once: a file appears as a whole or not at all.

Folders that no process has used for a month are removed when something new is written.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import os
import pickle
import re
import shutil
import sys
import time
import uuid
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numba
from numba.core.caching import _Cache
from numba.core.compiler import CompileResult
from numba.core.runtime import rtsys
from numba.core.serialize import dumps

from merganser.framework.native.fingerprints import fingerprint

__all__ = ["SUFFIX", "KernelCache", "cache_directory", "package_of", "source_hash"]

# Folders and files of kernels, by the package that they belong to; kernels call helpers of their own package and of
# those below.
_KERNEL_FOLDERS = {
    "framework": ("framework.native",),
    "analysis": ("analysis.integrators", "analysis.plan"),
    "geometry": ("geometry.proximity", "geometry.pose_kernels"),
    "multibody": ("multibody.kernels", "multibody.contact"),
}
_BELOW = {"framework": (), "analysis": ("framework",), "geometry": ("framework",)}

SUFFIX = ".nbk"
_MARK = b"merganser kernel 1\n"
_HASH_SIZE = 16  # bytes
_LONGEST_NAME = 100
_FOLDERS = re.compile(r"\.?[a-z]+-kernels-[0-9a-f]{16}(-removed)?")
_DAY = 24 * 3600.0  # [s]
_UNUSED = 30 * _DAY
_OPEN_TO_OTHERS = 0o022


def cache_directory(package: str = "") -> Path:
    """The folder of this version's compiled kernels of a package; of kernels outside this one, if none is given."""
    root = os.environ.get("MERGANSER_CACHE_DIR")
    if not root:
        root = os.path.join(os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache"), "merganser")
    return Path(root) / f"{package or 'user'}-kernels-{source_hash(package)[:16]}"


@functools.cache
def source_hash(package: str = "") -> str:
    """Hash of every kernel source that kernels of a package may use, of numba's version and of Python's."""
    checks = "checks indices" if numba.config.BOUNDSCHECK else ""
    digest = hashlib.sha256(f"{numba.__version__} {sys.version} {checks}".encode())
    package_root = Path(__file__).resolve().parents[2]
    used = (*_BELOW[package], package) if package in _BELOW else tuple(_KERNEL_FOLDERS)
    for folder in (folder for name in used for folder in _KERNEL_FOLDERS[name]):
        place = package_root / Path(*folder.split("."))
        for path in (*sorted(place.rglob("*.py")), *place.parent.glob(f"{place.name}.py")):
            digest.update(path.name.encode())
            digest.update(path.read_bytes())
    return digest.hexdigest()


def package_of(function: Callable[..., Any]) -> str:
    """The package of kernels that a function belongs to; "" outside of this project."""
    module = (function.__module__ or "").removeprefix("merganser.")
    return next((name for name, folders in _KERNEL_FOLDERS.items() if _is_in(module, folders)), "")


def _is_in(module: str, folders: tuple[str, ...]) -> bool:
    return any(module == folder or module.startswith(f"{folder}.") for folder in folders)


class KernelCache(_Cache):  # type: ignore[misc]  # numba has no types
    """What numba asks for compiled code of one function, and gives it to.

    Args:
        function: that is compiled.
        known_by: gives what tells it from all other functions of its name, earlier ones among them, or None if its
            code cannot be kept; by default the hash of the sources of its package, and the `fingerprint` of a function
            of no package of kernels.
    """

    def __init__(self, function: Any, known_by: Callable[[], str | None] | None = None) -> None:
        self._function = function
        self._package = package_of(function) if known_by is None else ""
        self._folder = cache_directory(self._package)  # now, as sources may change before anything is compiled
        self._known_by = known_by or self._known_by_itself
        self._keys: dict[str, str | None] = {}  # of what is being compiled, from before that began
        self._is_enabled = True

    # ------------------------------------------------------------------ what numba calls

    @property
    def cache_path(self) -> str:
        """The folder."""
        return str(self._folder)

    def enable(self) -> None:
        """From now on reads and writes."""
        self._is_enabled = True

    def disable(self) -> None:
        """From now on does nothing."""
        self._is_enabled = False

    def flush(self) -> None:
        """Removes all compiled code of the function."""
        for path in self._files():
            _remove(path)

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """What was compiled for arguments of these types; None if there is nothing that can be used.

        Numba's own caches make it ready to compile first (`target_context.refresh()`), which takes 0.4 s. Machine code
        only needs the functions of numba's runtime that it calls.
        """
        rtsys.initialize(target_context)
        key = self._keys[str(sig)] = self._key(sig, target_context.codegen())
        if key is None or _distrust(self._folder):
            return None
        path = self._path(key)
        try:
            content = path.read_bytes()
        except OSError:  # most often it is not there
            return None
        try:
            result = CompileResult._rebuild(target_context, *pickle.loads(_unpacked(content, path, key)))
            if tuple(result.signature.args) != tuple(getattr(sig, "args", sig)):
                raise ValueError("it is of other types")
        except MemoryError:
            raise
        except Exception as error:  # of any type, from whatever the file names
            _remove(path)
            _warn_once(
                "damage",
                f"A file of compiled kernels in '{self._folder}' cannot be used and is thrown away: '{path.name}' "
                f"({type(error).__name__}: {error}). What was in it is compiled anew.",
            )
            return None
        _note_use(self._folder)
        return result

    def save_overload(self, sig: Any, data: Any) -> None:
        """Keeps what was compiled for arguments of these types, if that is possible."""
        key = self._keys.pop(str(sig), None)
        if key is None or data.library.has_dynamic_globals or any(not code.can_cache for code in data.lifted):
            return
        if _distrust(self._folder):
            return
        path = self._path(key)
        try:
            content = _packed(dumps(data._reduce()), path, key)
            _make_folder(self._folder)
            _write(path, content)
        except Exception as error:  # a full disk, a folder of others, or what cannot be pickled
            if isinstance(error, OSError):
                _unwritable.add(self._folder)
            _warn_once(
                "nothing kept",
                f"Compiled kernels cannot be kept in '{self._folder}' ({getattr(error, 'strerror', None) or error}): "
                "every process will compile them anew. Set the environment variable MERGANSER_CACHE_DIR to another "
                "folder.",
            )
        else:
            _note_use(self._folder)
            _remove_old_folders(self._folder.parent)

    # ------------------------------------------------------------------ what others ask

    def is_filled(self) -> bool:
        """Whether code of the function is on disk, for whichever types."""
        return any(self._files())

    def can_be_filled(self) -> bool:
        """Whether code could be kept, as far as one can see without trying."""
        if not self._is_enabled or self._folder in _unwritable or _distrust(self._folder):
            return False
        place = self._folder
        while not place.exists() and place != place.parent:
            place = place.parent
        return place.is_dir() and os.access(place, os.W_OK | os.X_OK)

    # ------------------------------------------------------------------ names

    def _files(self) -> list[Path]:
        """All files of the function."""
        start = f"{self._name()}."
        try:
            names = os.listdir(self._folder)
        except OSError:
            return []
        return [self._folder / name for name in names if name.startswith(start) and name.endswith(SUFFIX)]

    def _name(self) -> str:
        code = self._function.__code__
        module = os.path.splitext(os.path.basename(code.co_filename))[0]
        name = re.sub(r"[^\w.-]", "", f"{module}.{self._function.__qualname__}")[:_LONGEST_NAME]
        return f"{name}-{code.co_firstlineno if self._package else str(self._known_by())[:16]}"

    def _path(self, key: str) -> Path:
        return self._folder / f"{self._name()}.{hashlib.sha256(key.encode()).hexdigest()[:16]}{SUFFIX}"

    def _key(self, sig: Any, codegen: Any) -> str | None:
        """Tells all compiled codes of functions of this name apart; None for one that is not kept."""
        stamp = self._known_by()
        if not self._is_enabled or stamp is None:
            return None
        function = self._function
        has_cells = self._package and function.__closure__  # else they are part of the fingerprint
        cells = dumps(tuple(cell.cell_contents for cell in function.__closure__)) if has_cells else b""
        parts = (
            stamp, function.__module__, function.__qualname__, function.__code__.co_firstlineno, sig,
            codegen.magic_tuple(), function.__code__.co_code.hex(), hashlib.sha256(cells).hexdigest(),
        )  # fmt: skip
        return "\n".join(map(str, parts))

    def _known_by_itself(self) -> str | None:
        return source_hash(self._package) if self._package else fingerprint(self._function)


# ---------------------------------------------------------------------- files


def _packed(data: bytes, path: Path, key: str) -> bytes:
    content = _described(path, key) + data
    return _MARK + hashlib.blake2b(content, digest_size=_HASH_SIZE).digest() + content


def _unpacked(content: bytes, path: Path, key: str) -> bytes:
    """What `_packed` was given; a ValueError says that a file is not what was written there."""
    start = len(_MARK) + _HASH_SIZE
    body, description = content[start:], _described(path, key)
    expected = _MARK + hashlib.blake2b(body, digest_size=_HASH_SIZE).digest()
    if content[:start] != expected or not body.startswith(description):
        raise ValueError("it is not what was written")
    return body[len(description) :]


def _described(path: Path, key: str) -> bytes:
    return f"{path.name}\n{len(key)}\n{key}\n".encode()


def _write(path: Path, content: bytes) -> None:
    """Writes a file so that others see it as a whole or not at all; a power failure may damage it, which is noticed."""
    temporary = path.with_name(f"{path.name}.{uuid.uuid4().hex[:12]}.part")
    try:
        temporary.write_bytes(content)
        os.replace(temporary, path)
    except BaseException:
        _remove(temporary)
        raise


def _remove(path: Path) -> None:
    with contextlib.suppress(OSError):
        path.unlink()


# ---------------------------------------------------------------------- folders

_unwritable: set[Path] = set()  # folders that could not be written to


def _make_folder(folder: Path) -> None:
    """Makes a folder, and the one around it, open to this user alone."""
    for place in (folder.parent, folder):
        place.mkdir(mode=0o700, parents=True, exist_ok=True)


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
    """Removes the folders of kernels in a folder that nobody has used for a month; once a process.

    A process that still runs from such a folder has its code in memory, and compiles what it lacks anew. Each folder is
    given another name first, so that nobody sees one that is half empty.
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
