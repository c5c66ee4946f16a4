"""Compiled code on disk: one file for each function and types of arguments.

Everything of one version of this package lies in folders that are named by the hash of all kernel sources of a package
and of those below it, so that a change in a helper of another file never leaves stale code behind. They stand in the
user's cache folder (``$MERGANSER_CACHE_DIR``, else ``$XDG_CACHE_HOME/merganser``, else ``~/.cache/merganser``).

How files are read and written stands in kept_files.py.
"""

from __future__ import annotations

import functools
import hashlib
import os
import pickle
import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numba
from numba.core.caching import _Cache
from numba.core.compiler import CompileResult
from numba.core.runtime import rtsys
from numba.core.serialize import dumps

from merganser.framework.native.fingerprints import fingerprint
from merganser.framework.native.kept_files import can_be_kept, keep, names_in, read_kept, throw_away

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


class KernelCache(_Cache):
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
            path.unlink(missing_ok=True)

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """What was compiled for arguments of these types; None if there is nothing that can be used.

        Numba's own method calls target_context.refresh() first, for all that knows how to compile anything, which takes
        0.4 s. Machine code only needs the functions of numba's runtime that it calls.
        """
        rtsys.initialize(target_context)
        key = self._keys[str(sig)] = self._key(sig, target_context.codegen())
        if key is None:
            return None
        path = self._path(key)
        data = read_kept(path, key)
        if data is None:
            return None
        try:
            result = CompileResult._rebuild(target_context, *pickle.loads(data))
            if tuple(result.signature.args) != tuple(getattr(sig, "args", sig)):
                raise ValueError("it is of other types")
        except MemoryError:
            raise
        except Exception as error:  # of any type, from whatever the file names
            throw_away(path, f"{type(error).__name__}: {error}")
            return None
        return result

    def save_overload(self, sig: Any, data: Any) -> None:
        """Keeps what was compiled for arguments of these types, if that is possible."""
        key = self._keys.pop(str(sig), None)
        if key is None or data.library.has_dynamic_globals or any(not code.can_cache for code in data.lifted):
            return
        keep(self._path(key), key, dumps(data._reduce()))

    # ------------------------------------------------------------------ what others ask

    def is_filled(self) -> bool:
        """Whether code of the function is on disk, for whichever types."""
        return any(self._files())

    def can_be_filled(self) -> bool:
        """Whether code could be kept, as far as one can see without trying."""
        return self._is_enabled and can_be_kept(self._folder)

    # ------------------------------------------------------------------ names

    def _files(self) -> list[Path]:
        """All files of the function."""
        start, names = f"{self._name()}.", names_in(self._folder)
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
