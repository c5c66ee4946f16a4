"""Copies of systems, and systems as bytes (PickleSystem).

A copy shares nothing with the original that either could change. Callbacks are the difficult part: a bound method of
the original must become one of the copy, and a closure over the original must be made again over the copy, which
`copy.deepcopy` alone does not do. So the tree of objects is pickled in memory, by a pickler that knows how to take
closures apart and passes on classes, modules and plain functions as they are.
"""

from __future__ import annotations

import enum
import io
import pickle
import types
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from merganser.framework.core.scalars.templates import Template

if TYPE_CHECKING:
    from merganser.framework.core.system.system import System


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
        note_copies(system, copied, memo)
    return copied


def note_copies(system: Any, copied: Any, memo: dict[int, Any]) -> None:
    """Notes for `copy.deepcopy` that a system, its ports and all inside have become those of another."""
    memo[id(system)] = copied
    for mine, theirs in zip(
        system._sys_input_ports + system._sys_output_ports, copied._sys_input_ports + copied._sys_output_ports
    ):
        memo[id(mine)] = theirs
    for inner, inner_copy in zip(system._sys_subsystems() or (), copied._sys_subsystems() or ()):
        note_copies(inner, inner_copy, memo)


class PartOfSystem:
    """Abstract: what is in a system and refers to it, such as a port.

    Others may refer to it; what they refer to in a copy, or a converted system, is what stands there in its place.
    """

    _belongs_to_system: ClassVar[bool] = True  # see way_of()

    def _owner(self) -> System | None:
        """Override: the system that it is in, None if it does not yet."""
        raise NotImplementedError

    def _counterpart_in(self, system: Any) -> Any:
        """Override: what stands at the same place in another system, made from the owner."""
        raise NotImplementedError


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
    """Pickles for this process only: what is shared goes into a list, by reference.

    All is decided in `reducer_override`, which is called once for each object that is not a plain one. `persistent_id`
    would be the usual place; it is called for each reference to any object, each name of an attribute included, and
    takes four times as long for a diagram of small blocks.
    """

    def __init__(self, buffer: io.BytesIO, shared: list[Any], outside: Any) -> None:
        super().__init__(buffer, protocol=pickle.HIGHEST_PROTOCOL)
        self._shared = shared
        self._outside = outside

    def reducer_override(self, obj: Any) -> Any:
        if obj is _take:
            return NotImplemented
        way = _WAYS.get(type(obj)) or way_of(type(obj))
        return self._taken_apart(obj) if way is Way.COPIED else self._reduced(obj, way)

    def _reduced(self, obj: Any, way: Way) -> Any:
        """How an object is pickled that may have to be shared, or replaced by another."""
        if obj is self._outside:
            return self._by_reference(None)
        if type(obj) is _Original:
            return self._by_reference(obj.function)
        if way is Way.SHARED or (way is Way.FUNCTION and _is_free(obj)):
            return self._by_reference(obj)
        if type(obj) is np.ndarray and not obj.dtype.hasobject:  # in a sixth of the time
            return self._by_reference(obj.copy("K"))
        return self._taken_apart(obj)

    def _by_reference(self, obj: Any) -> tuple[Any, ...]:
        self._shared.append(obj)
        return _take, (len(self._shared) - 1,)

    def _taken_apart(self, obj: Any) -> Any:
        """How an object is pickled that is copied."""
        if type(obj) is types.FunctionType:
            contents = [_content(cell) for cell in obj.__closure__ or ()]
            state = (contents, obj.__defaults__, obj.__kwdefaults__, obj.__dict__)
            return _new_function, (_Original(obj),), state, None, None, _fill_function
        return NotImplemented


class _CopyUnpickler(pickle.Unpickler):
    def __init__(self, buffer: io.BytesIO, shared: list[Any]) -> None:
        super().__init__(buffer)
        self._shared = shared

    def find_class(self, module_name: str, global_name: str) -> Any:
        found = super().find_class(module_name, global_name)
        return self._shared.__getitem__ if found is _take else found


def _take(place: int) -> Any:
    """Replaces in a pickle what takes an object out of the list of what is shared."""
    raise RuntimeError("A pickle of this process was read by another unpickler than _CopyUnpickler.")


class Way(enum.Enum):
    """What a copy of a system has in place of an object."""

    COPIED = 1  # a copy
    SHARED = 2  # the same object: nothing that belongs to a system can be reached from it
    FUNCTION = 3  # the same object, unless it refers to others
    SYSTEM = 4  # a copy; or what belongs to systems, which may stand outside of what is copied
    SCALAR = 5  # a copy; or a scalar, or an array of such


_SHARED_TYPES = (type, types.ModuleType, types.CodeType, Shared, Template)
_PLAIN_TYPES = (
    type(None), bool, int, float, complex, str, bytes, tuple, list, dict, set, frozenset, types.MethodType,
)  # fmt: skip
_WAYS: dict[type[Any], Way] = dict.fromkeys(_PLAIN_TYPES, Way.COPIED)


def way_of(kind: type[Any]) -> Way:
    """The way of all objects of a class, found only once."""
    is_constant = issubclass(kind, _SHARED_TYPES) or getattr(kind, "_never_changes", False)
    if is_constant or kind.__module__.startswith("numba."):
        way = Way.SHARED
    elif issubclass(kind, (types.FunctionType, types.BuiltinFunctionType, _Original)):
        way = Way.FUNCTION
    elif getattr(kind, "_belongs_to_system", False):
        way = Way.SYSTEM
    elif issubclass(kind, np.ndarray) or kind.__name__ in _SCALARS:
        way = Way.SCALAR
    else:
        way = Way.COPIED
    _WAYS[kind] = way
    return way


_SCALARS = ("AutoDiffXd", "Expression")


def _is_free(obj: Any) -> bool:
    """Whether a function refers to nothing that belongs to a system."""
    if isinstance(obj, types.FunctionType):
        return obj.__closure__ is None
    return obj.__self__ is None or isinstance(obj.__self__, types.ModuleType)  # `math.sin`, but not `[].append`


def _content(cell: Any) -> Any:
    try:
        return cell.cell_contents
    except ValueError:
        return _Empty


def _new_function(original: types.FunctionType) -> types.FunctionType:
    """A copy of a function over new variables, which are not yet set."""
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


def PickleSystem(*objects: Any) -> bytes:
    """Returns one object, or a tuple of several, as bytes for `pickle.loads`.

    What is pickled together belongs together afterwards: after `diagram, context =
    pickle.loads(PickleSystem(diagram, context))`, the context is one of that diagram. A subsystem brings the Diagram
    around it along. Callbacks that are methods or importable functions need nothing but `pickle`; closures, lambdas
    and classes of the main script need the package `cloudpickle` (extra `pickle`), also where they are loaded.

    Raises:
        TypeError: something cannot be pickled; the message says what, and the remedy.
    """
    content = objects[0] if len(objects) == 1 else objects
    try:
        return pickle.dumps(content, protocol=pickle.HIGHEST_PROTOCOL)
    except (pickle.PicklingError, AttributeError, TypeError) as error:
        first_error = error
    try:
        import cloudpickle
    except ImportError:
        raise TypeError(
            f"PickleSystem: {first_error}. Use methods or importable functions as callbacks, or install cloudpickle "
            "(pip install merganser[pickle])."
        ) from first_error
    try:
        return cloudpickle.dumps(content, protocol=pickle.HIGHEST_PROTOCOL)
    except (pickle.PicklingError, AttributeError, TypeError) as error:
        raise TypeError(f"PickleSystem: {error}. Keep such objects out of systems and contexts.") from error
