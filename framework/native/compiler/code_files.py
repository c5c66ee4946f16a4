"""Compiled code on disk: one file for each function and types of arguments.

Everything of one version of this package lies in folders that are named by the hash of all sources of a group of
kernels and of those below it, so that a change in a helper of another file never leaves stale code behind. Each package
declares its groups in its file kernels.txt. The folders are in the user's cache folder (``$MERGANSER_CACHE_DIR``,
else ``$XDG_CACHE_HOME/merganser``, else ``~/.cache/merganser``).

How files are read and written is in kept_files.py.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import importlib.util
import os
import pickle
import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

from merganser.framework.native.compiler.extending import import_whole
from merganser.framework.native.compiler.kept_files import can_be_kept, keep, names_in, read_kept, throw_away
from merganser.framework.native.compiler.machine_code import MachineCode, describe_machine

SUFFIX = ".nbk"
_LONGEST_NAME = 100


def cache_directory(package: str = "") -> Path:
    """The folder of this version's compiled kernels of a package; of kernels outside this one, if none is given."""
    root = os.environ.get("MERGANSER_CACHE_DIR")
    if not root:
        root = os.path.join(os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache"), "merganser")
    return Path(root) / f"{package or 'user'}-kernels-{source_hash(package)[:16]}"


@functools.cache
def source_hash(package: str = "") -> str:
    """Hash of every kernel source that kernels of a package may use, of numba's version and of Python's."""
    checks = "checks indices" if os.environ.get("NUMBA_BOUNDSCHECK", "0") not in ("", "0") else ""
    digest = hashlib.sha256(f"{_numba_version()} {sys.version} {checks}".encode())
    groups = _kernel_groups(_folder_above(__file__))
    for name in (*groups[package].below, package) if package in groups else groups:
        digest.update(_hash_of_sources(_folder_above(__file__), groups[name].folders))
    return digest.hexdigest()


@functools.cache
def _hash_of_sources(packages: Path, folders: tuple[str, ...]) -> bytes:
    """Hash of all files in folders, and of modules."""
    digest = hashlib.sha256()
    for folder in folders:
        place = str(packages / folder.replace(".", "/"))
        inside = [os.path.join(where, name) for where, _, names in os.walk(place) for name in names]
        for path in sorted(path for path in (f"{place}.py", *inside) if path.endswith(".py")):
            with contextlib.suppress(FileNotFoundError), open(path, "rb") as file:
                digest.update(os.path.basename(path).encode())
                digest.update(file.read())
    return digest.digest()


@functools.cache
def _numba_version() -> str:
    """What names numba's version, found without importing it, in the file that is quickest to read."""
    found = importlib.util.find_spec("numba")
    try:
        return Path(found.origin or "").with_name("_version.py").read_text() if found else ""
    except OSError:
        from importlib.metadata import version

        return version("numba")


class KernelGroup(NamedTuple):
    """Kernels whose code is valid as long as none of their sources changes, nor of those that they may call.

    Attributes:
        folders: and modules, by their addresses below `merganser`.
        below: the groups whose functions they may call.
    """

    folders: tuple[str, ...]
    below: tuple[str, ...]


def kernel_groups() -> dict[str, KernelGroup]:
    """All groups of kernels by their names, as the packages declare them in their files `kernels.txt`."""
    return _kernel_groups(_folder_above(__file__))


@functools.cache  # to resolve it for each kernel took 4 % of the imports of a plant
def _folder_above(file: str) -> Path:
    return Path(file).resolve().parents[3]


@functools.cache
def _kernel_groups(packages: Path) -> dict[str, KernelGroup]:
    groups: dict[str, KernelGroup] = {}
    for file in sorted(packages.glob("*/kernels.txt")):
        for line in file.read_text().splitlines():
            if not line.startswith("#"):
                declared, names = line.split(":")
                name, *below = declared.replace("<", " ").split()
                folders = tuple(f"{file.parent.name}.{name}" for name in names.split())
                known = groups.get(name, KernelGroup((), ()))
                groups[name] = KernelGroup(known.folders + folders, tuple(dict.fromkeys((*known.below, *below))))
    return groups


def package_of(function: Callable[..., Any]) -> str:
    """The group of kernels that a function belongs to; "" outside of this project."""
    return package_of_module(function.__module__ or "")


def package_of_module(module: str) -> str:
    """The group of kernels that the functions of a module belong to; "" outside of this project."""
    return _package_of(module.removeprefix("merganser."), _folder_above(__file__))


@functools.cache
def _package_of(module: str, packages: Path) -> str:
    return next((name for name, group in _kernel_groups(packages).items() if _is_in(module, group.folders)), "")


def _is_in(module: str, folders: tuple[str, ...]) -> bool:
    return any(module == folder or module.startswith(f"{folder}.") for folder in folders)


class CodeFiles:
    """Where compiled code of one function is kept.

    Args:
        function: that is compiled.
        known_by: gives what sets it apart from all other functions of its name, also earlier ones, or None if its
            code cannot be kept; by default the hash of the sources of its package, and the `fingerprint` of a function
            of no package of kernels.
    """

    def __init__(self, function: Any, known_by: Callable[[], str | None] | None = None) -> None:
        self._function = function
        self._package = package_of(function) if known_by is None else ""
        self._folder = cache_directory(self._package)  # now, as sources may change before anything is compiled
        self._known_by = known_by or self._known_by_itself

    @property
    def folder(self) -> Path:
        """The folder."""
        return self._folder

    def describe(self) -> str:
        """The function, for messages."""
        return f"{self._function.__module__}.{self._function.__qualname__}()"

    def read(self, key: str | None) -> MachineCode | None:
        """What was kept for a key; None if there is nothing that can be used."""
        data = None if key is None else read_kept(self.path(key), key)
        if key is None or data is None:
            return None
        try:
            return MachineCode(*pickle.loads(data))
        except MemoryError:
            raise
        except Exception as error:  # of any type, from whatever the file names
            throw_away(self.path(key), f"{type(error).__name__}: {error}")
            return None

    def keep(self, key: str, code: MachineCode) -> None:
        """Keeps code for a key, if that is possible."""
        keep(self.path(key), key, pickle.dumps(tuple(code)))

    def has(self, types: str | None) -> bool:
        """Whether there is code for arguments of these types."""
        key = self.key(types)
        return key is not None and self.path(key).exists()

    def is_filled(self) -> bool:
        """Whether code of the function is on disk, for whichever types."""
        return any(self.files())

    def can_be_filled(self) -> bool:
        """Whether code could be kept, as far as one can see without trying."""
        return can_be_kept(self._folder)

    def files(self) -> list[Path]:
        """All files of the function."""
        start, names = f"{self._name()}.", names_in(self._folder)
        return [self._folder / name for name in names if name.startswith(start) and name.endswith(SUFFIX)]

    def path(self, key: str) -> Path:
        """The file for a key."""
        return self._folder / f"{self._name()}.{hashlib.sha256(key.encode()).hexdigest()[:16]}{SUFFIX}"

    def key(self, types: str | None) -> str | None:
        """Distinguishes all compiled codes of functions of this name; None for one that is not kept.

        Args:
            types: names the types of its arguments.
        """
        stamp = self._known_by()
        if types is None or stamp is None:
            return None
        function = self._function
        parts = (
            stamp, function.__module__, function.__qualname__, function.__code__.co_firstlineno, types,
            describe_machine(), function.__code__.co_code.hex(), self._hash_of_cells(),
        )  # fmt: skip
        return "\n".join(map(str, parts))

    def _name(self) -> str:
        code = self._function.__code__
        module = os.path.splitext(os.path.basename(code.co_filename))[0]
        name = re.sub(r"[^\w.-]", "", f"{module}.{self._function.__qualname__}")[:_LONGEST_NAME]
        return f"{name}-{code.co_firstlineno if self._package else str(self._known_by())[:16]}"

    def _hash_of_cells(self) -> str:
        if not self._package or not self._function.__closure__:  # else they are part of the fingerprint
            return ""
        inside = import_whole("merganser.framework.native.compiler.numba_inside")
        cells = inside.dumps(tuple(cell.cell_contents for cell in self._function.__closure__))
        return hashlib.sha256(cells).hexdigest()

    def _known_by_itself(self) -> str | None:
        if self._package:
            return source_hash(self._package)
        from merganser.framework.native.compiler.fingerprints import fingerprint

        return fingerprint(self._function)
