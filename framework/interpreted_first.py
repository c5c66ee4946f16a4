"""Kernels that are interpreted until they are compiled, as those for derivatives.

To interpret a kernel takes milliseconds, to compile it seconds, once on a machine. So what is on the disk is used from
the first call; other kernels are interpreted while another process compiles them (framework/background_code.py), and
are compiled here where that is quicker, or where the other process has got nowhere for long.
"""

from __future__ import annotations

from collections import Counter
from typing import Any

from merganser.framework.background_code import BackgroundCode
from merganser.framework.native.compiler.argument_types import type_key
from merganser.framework.native.compiler.kernels import load_compiled

__all__ = ["may_use_compiled"]

# In bodies times directions, each of which takes about 0.3 ms, if interpreted.
_MOST_AT_ONCE = 5_000  # a longer call has to wait for the compiler
_MUCH = 3_000  # together; from then on it pays to compile a kernel here, if no other process may
_FAR_TOO_MUCH = 30_000  # together; other processes have low priority, and get nowhere where all processors are busy

_interpreted: Counter[Any] = Counter()  # by kernel
# By kernels and types of their arguments: which may be called compiled, and which have been looked for, which takes
# milliseconds.
_usable: set[Any] = set()
_awaited: dict[Any, BackgroundCode] = {}


def may_use_compiled(kernel: Any, work: int, *arguments: Any) -> bool:
    """Whether a kernel is to be called compiled: it is on the disk, or it pays to compile it with this call.

    Counts the work as done otherwise, and may have another process compile the kernel.

    Args:
        kernel: the kernel.
        work: how many bodies it goes through, times the number of directions; of other things, as many as take as long.
        arguments: what it is called with.
    """
    key = kernel, tuple(map(type_key, arguments))
    if key in _usable:
        return True
    later = _awaited.get(key)
    if later is None:
        if load_compiled(kernel, *arguments):
            _usable.add(key)
            return True
        later = _awaited[key] = _later(*key)
    is_there = work > _MOST_AT_ONCE
    if not is_there:
        _interpreted[kernel] += work
        is_there = later.is_worth_while(_interpreted[kernel] > _MUCH) or _interpreted[kernel] > _FAR_TOO_MUCH
    if is_there:
        _usable.add(key)
    return is_there


def _later(kernel: Any, types: tuple[Any, ...]) -> BackgroundCode:
    function: Any = kernel.interpreted
    name = function.__name__
    # Kernels that are made of others say where they are found.
    return BackgroundCode(function.__module__, getattr(function, "place", name.removeprefix("calc_")), name, types)
