"""Numba's own form of compiled code on the disk, for functions of users, which may allocate and raise exceptions."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from typing import Any

from merganser.framework.native.compiler.code_files import CodeFiles
from merganser.framework.native.compiler.kept_files import keep, read_kept, throw_away
from merganser.framework.native.compiler.numba_inside import CodeCache, CompileResult, dumps, rtsys


class KernelCache(CodeCache):
    """What numba asks for compiled code of one function, and gives it to.

    Args:
        function: that is compiled.
        known_by: see CodeFiles.
    """

    def __init__(self, function: Any, known_by: Callable[[], str | None] | None = None) -> None:
        self._files = CodeFiles(function, known_by)
        self._keys: dict[str, str | None] = {}  # of what is being compiled, from before that began
        self._is_enabled = True

    @property
    def cache_path(self) -> str:
        """The folder."""
        return str(self._files.folder)

    def enable(self) -> None:
        """From now on reads and writes."""
        self._is_enabled = True

    def disable(self) -> None:
        """From now on does nothing."""
        self._is_enabled = False

    def flush(self) -> None:
        """Removes all compiled code of the function."""
        for path in self._files.files():
            path.unlink(missing_ok=True)

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """What was compiled for arguments of these types; None if there is nothing that can be used.

        Numba's own method calls target_context.refresh() first, for all that knows how to compile anything, which takes
        0.4 s. Machine code only needs the functions of numba's runtime that it calls.
        """
        rtsys.initialize(target_context)
        key = self._keys[str(sig)] = self._files.key(f"numba {sig}") if self._is_enabled else None
        if key is None:
            return None
        data = read_kept(self._files.path(key), key)
        if data is None:
            return None
        try:
            result = CompileResult._rebuild(target_context, *pickle.loads(data))
            if tuple(result.signature.args) != tuple(getattr(sig, "args", sig)):
                raise ValueError("it is of other types")
        except MemoryError:
            raise
        except Exception as error:  # of any type, from whatever the file names
            throw_away(self._files.path(key), f"{type(error).__name__}: {error}")
            return None
        return result

    def save_overload(self, sig: Any, data: Any) -> None:
        """Keeps what was compiled for arguments of these types, if that is possible."""
        key = self._keys.pop(str(sig), None)
        if key is None or data.library.has_dynamic_globals or any(not code.can_cache for code in data.lifted):
            return
        keep(self._files.path(key), key, dumps(data._reduce()))
