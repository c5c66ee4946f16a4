"""Small functions that are written as instructions for LLVM, and kept on the disk as machine code.

To write, optimize and assemble a few instructions again in every process takes 20 ms, and numba; to take them from the
disk takes one.
"""

from __future__ import annotations

import hashlib
import pickle
from collections.abc import Callable
from typing import Any

from merganser.framework.native.compiler.code_files import SUFFIX, cache_directory
from merganser.framework.native.compiler.extending import interrupts_wait
from merganser.framework.native.compiler.kept_files import keep, read_kept
from merganser.framework.native.compiler.machine_code import MachineCode, describe_machine, load


def kept_function(what: Any, write: Callable[[str], Any]) -> int:
    """The code of a function, from the disk or as it is written now.

    Args:
        what: all that the function depends on; it must have the same text in every process.
        write: called with the function's name; gives its code, and what to keep of it, in which there are no addresses:
            these are others in the next process.

    Returns:
        The function's address.
    """
    text = repr((what, describe_machine()))
    name = f"entry_point_{hashlib.sha256(text.encode()).hexdigest()[:32]}"
    if name not in _places:
        path = cache_directory("framework") / f"{name}{SUFFIX}"
        data = read_kept(path, text)
        loaded = None if data is None else load(MachineCode(*pickle.loads(data)))
        if loaded is None:
            with interrupts_wait():
                code, made = write(name)
                if made is not None:
                    keep(path, text, pickle.dumps(tuple(made)))
            loaded = code.address, code.owner
        _places[name] = loaded
    return _places[name][0]


_places: dict[str, tuple[int, Any]] = {}  # and what stays with them, by the names of the functions
