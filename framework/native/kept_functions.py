"""Small functions that are written as instructions for LLVM, and kept on the disk as machine code.

Numba keeps what it compiles from Python; to write, optimize and assemble a few instructions anew in every process takes
20 ms, to take them from the disk takes one.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import pickle
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from merganser.framework.native.compile import cache_directory

__all__ = ["kept_function"]

_DIGEST = hashlib.sha256
_DIGEST_SIZE = _DIGEST().digest_size


def kept_function(codegen: Any, what: Any, write: Callable[[str], Any]) -> int:
    """The code of a function, from the disk or as it is written now.

    Args:
        codegen: numba's code generator.
        what: all that the function depends on; it must have the same text in every process.
        write: called with the function's name; returns a library with the function in it, not finalized. It must not
            have addresses in it, which are others in the next process.

    Returns:
        The function's address.
    """
    text = repr((what, codegen.magic_tuple()))
    name = f"entry_point_{_DIGEST(text.encode()).hexdigest()[:32]}"
    if name not in _libraries:
        path = cache_directory("framework") / f"{name}.bin"
        library = _read(codegen, path)
        if library is None:
            library = write(name)
            library.enable_object_caching()
            library.finalize()
            _keep(library, path)
        _libraries[name] = library
    address: int = _libraries[name].get_pointer_to_function(name)
    return address


_libraries: dict[str, Any] = {}  # that stay, by the names of the functions: of each name there is one only


def _read(codegen: Any, path: Path) -> Any:
    """What the file has; None if there is none, or if it is damaged."""
    try:
        content = path.read_bytes()
    except OSError:
        return None
    digest, data = content[:_DIGEST_SIZE], content[_DIGEST_SIZE:]
    if _DIGEST(data).digest() != digest:
        return None
    return codegen.unserialize_library(pickle.loads(data))


def _keep(library: Any, path: Path) -> None:
    """Writes the file, all of it or nothing; does without where that is not possible."""
    data = pickle.dumps(library.serialize_using_object_code())
    with contextlib.suppress(OSError):
        path.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.NamedTemporaryFile(dir=path.parent, delete=False) as file:
            try:
                file.write(_DIGEST(data).digest() + data)
                file.close()
                os.replace(file.name, path)
            except OSError:
                os.unlink(file.name)
                raise
