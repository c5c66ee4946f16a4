"""Small functions that are written as instructions for LLVM, and kept on the disk as machine code.

Numba keeps what it compiles from Python; to write, optimize and assemble a few instructions anew in every process takes
20 ms, to take them from the disk takes one.
"""

from __future__ import annotations

import hashlib
import pickle
from collections.abc import Callable
from typing import Any

from merganser.framework.native.kept_files import keep, read_kept
from merganser.framework.native.kernel_cache import SUFFIX, cache_directory

__all__ = ["kept_function"]


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
    name = f"entry_point_{hashlib.sha256(text.encode()).hexdigest()[:32]}"
    if name not in _libraries:
        path = cache_directory("framework") / f"{name}{SUFFIX}"
        data = read_kept(path, text)
        if data is None:
            library = write(name)
            library.enable_object_caching()
            library.finalize()
            keep(path, text, pickle.dumps(library.serialize_using_object_code()))
        else:
            library = codegen.unserialize_library(pickle.loads(data))
        _libraries[name] = library
    address: int = _libraries[name].get_pointer_to_function(name)
    return address


_libraries: dict[str, Any] = {}  # that stay, by the names of the functions: of each name there is one only
