"""Copies of systems.

A copy shares nothing with the original that either could change. Callbacks are the difficult part: a bound method of
the original must become one of the copy, and a closure over the original must be made anew over the copy, which
`copy.deepcopy` alone does not do. So the tree of objects is pickled in memory, by a pickler that knows how to take
closures apart and passes on classes, modules and plain functions as they are.
"""

from __future__ import annotations

import io
import pickle
import types
from typing import TYPE_CHECKING, Any

from merganser.framework.core.templates import Kind, Template

if TYPE_CHECKING:
    from merganser.framework.core.system import System

__all__ = ["Shared", "copy_system"]


def copy_system(system: System, memo: dict[int, Any] | None = None) -> Any:
    """Returns an independent copy of a system and all inside, outside of any Diagram.

    Args:
        system: a leaf system or a Diagram.
        memo: of `copy.deepcopy`; learns which system and port became which.
    """
    shared: list[Any] = []
    buffer = io.BytesIO()
    _CopyPickler(buffer, shared, system._sys_parent).dump(system)
    buffer.seek(0)
    copied = _CopyUnpickler(buffer, shared).load()
    if memo is not None:
        _note_copies(system, copied, memo)
    return copied


def _note_copies(system: Any, copied: Any, memo: dict[int, Any]) -> None:
    memo[id(system)] = copied
    for mine, theirs in zip(
        system._sys_input_ports + system._sys_output_ports, copied._sys_input_ports + copied._sys_output_ports
    ):
        memo[id(mine)] = theirs
    for inner, inner_copy in zip(system._sys_subsystems() or (), copied._sys_subsystems() or ()):
        _note_copies(inner, inner_copy, memo)


class Shared:
    """Wraps an object that a copy of a system is to share with the original."""

    __slots__ = ("value",)

    def __init__(self, value: Any) -> None:
        self.value = value


class _Original:
    """Marks a function that is to be passed on as it is."""

    def __init__(self, function: types.FunctionType) -> None:
        self.function = function


class _Empty:
    """Stands for the content of a variable of a closure that has not been set."""


class _CopyPickler(pickle.Pickler):
    """Pickles for this process only: what is shared goes into a list, by reference."""

    def __init__(self, buffer: io.BytesIO, shared: list[Any], outside: Any) -> None:
        super().__init__(buffer, protocol=pickle.HIGHEST_PROTOCOL)
        self._shared = shared
        self._outside = outside

    def persistent_id(self, obj: Any) -> int | None:
        if obj is None:
            return None
        if obj is self._outside:
            self._shared.append(None)
        elif type(obj) is _Original:
            self._shared.append(obj.function)
        elif _is_shared(obj):
            self._shared.append(obj)
        else:
            return None
        return len(self._shared) - 1

    def reducer_override(self, obj: Any) -> Any:
        if isinstance(obj, types.FunctionType):
            contents = [_content(cell) for cell in obj.__closure__ or ()]
            state = (contents, obj.__defaults__, obj.__kwdefaults__, obj.__dict__)
            return _new_function, (_Original(obj),), state, None, None, _fill_function
        return NotImplemented


class _CopyUnpickler(pickle.Unpickler):
    def __init__(self, buffer: io.BytesIO, shared: list[Any]) -> None:
        super().__init__(buffer)
        self._shared = shared

    def persistent_load(self, pid: int) -> Any:
        return self._shared[pid]


def _is_shared(obj: Any) -> bool:
    """Whether a copy may use the same object: nothing that belongs to a system can be reached from it."""
    if isinstance(obj, types.FunctionType):
        return obj.__closure__ is None
    if isinstance(obj, types.BuiltinFunctionType):  # `math.sin`, but not `[].append`
        return obj.__self__ is None or isinstance(obj.__self__, types.ModuleType)
    return isinstance(obj, _SHARED_TYPES) or type(obj).__module__.startswith("numba.")


_SHARED_TYPES = (type, types.ModuleType, types.CodeType, Shared, Template, Kind)


def _content(cell: Any) -> Any:
    try:
        return cell.cell_contents
    except ValueError:
        return _Empty


def _new_function(original: types.FunctionType) -> types.FunctionType:
    """The same function over new variables, not yet set."""
    cells = tuple(types.CellType() for _ in original.__closure__ or ())
    copied = types.FunctionType(original.__code__, original.__globals__, original.__name__, None, cells)
    copied.__qualname__ = original.__qualname__
    copied.__module__ = original.__module__
    return copied


def _fill_function(function: types.FunctionType, state: tuple[Any, ...]) -> None:
    contents, function.__defaults__, function.__kwdefaults__, attributes = state
    function.__dict__.update(attributes)
    for cell, content in zip(function.__closure__ or (), contents):
        if content is not _Empty:
            cell.cell_contents = content
