"""How a system becomes one of another scalar type: by a copy in which everything that holds scalars is replaced.

The copy is that of copying.py. On the way each system becomes one of the class for the other scalars, vectors of
scalars become vectors of the others, contexts are made again with the values that they had, and systems that have a
converter of their own, or declare themselves again, are left to do so. What else the systems refer to is copied as it
is: numbers and float arrays mix with all scalars, and where they do not (no element of a float array can become an
AutoDiffXd) Python says so.

A TemplateSystem needs no copy: it is written once, as a function of the scalar type.
"""

from __future__ import annotations

import io
import pickle
import sys
import types
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np

from merganser.framework.common.garbage import garbage_waits
from merganser.framework.core.context.context import Context
from merganser.framework.core.context.context_values import _rebuilt, take_values
from merganser.framework.core.scalars.copying import PartOfSystem, Shared, Way, _CopyPickler, _CopyUnpickler
from merganser.framework.core.scalars.scalars import (
    cast,
    cast_array,
    checked_scalar,
    dtype_of,
    scalar_of_array,
    supported_scalars,
)
from merganser.framework.core.scalars.templates import Template, generic_class, instantiate
from merganser.framework.core.system.leaf_system import LeafSystem
from merganser.framework.core.system.scalar_conversion import ConversionRefused, SystemScalarConverter
from merganser.framework.core.system.system import System, new_system, origin_of
from merganser.framework.core.values.values import BasicVector, _restore_vector

Scalar = type[Any]
_NOT_COPYABLE = (pickle.PicklingError, TypeError, AttributeError)


def convert(system: Any, T: Scalar) -> Any:
    """Returns a copy of the system that computes with scalars of type T, outside of any Diagram.

    Raises:
        ConversionRefused: the system, or one that it contains or refers to, does not support that.
    """
    if system._scalar is T:
        raise ConversionRefused(system, T, f"its scalar type is {T.__name__} already")
    try:
        converted = _by_itself(system, T)
        return _converted_copy(system, T) if converted is None else converted
    except ConversionRefused as refusal:
        inner = refusal.system
        if inner is system:
            raise
        what = f"system '{inner.GetSystemPathname()}' of type {type(inner).__qualname__}"
        what = f"{what} does not" if _is_inside(inner, system) else f"{_holder(system, inner)} refers to {what}"
        raise ConversionRefused(system, T, f"because {what}: {refusal.reason}") from refusal.__cause__
    except _Failed as failed:  # a conversion function of a user has raised an exception
        assert failed.__cause__ is not None
        raise failed.__cause__ from None


def is_written_for_one_scalar(system: Any) -> bool:
    """Whether the class is derived from an instantiation such as LeafSystem_[AutoDiffXd], so that it has no others."""
    return system._scalar is not float and generic_class(type(system)) is type(system)


class _Failed(Exception):
    """The conversion function of a system has raised its cause."""


def _by_own_converter(system: System, T: Scalar) -> Any:
    converter = system._sys_converter
    assert converter is not None
    converted = converter._convert(T, system._scalar, system)
    if converted is None:
        raise ConversionRefused(system, T, converter._reason)
    return converted


def _by_itself(system: Any, T: Scalar) -> Any:
    """The system as it converts itself, None if it is to be copied."""
    if system._sys_converter is not None:
        return _by_own_converter(system, T)
    converted = system._sys_declared_anew(T)
    if converted is None or not _is_all_of(converted, system):
        return None
    converted.set_name(system.get_name())
    for mine, theirs in zip(system._sys_cache_entries, converted._sys_cache_entries):
        theirs.take_over(mine)
    return converted


def _is_all_of(converted: Any, system: Any) -> bool:
    """Whether a leaf system that declared itself again has all that the original has.

    Others may have derived from its class, declared more ports for it, given it attributes or replaced its methods.
    """
    kinds = generic_class(type(converted)), generic_class(type(system))
    return (
        kinds[0] is kinds[1]
        and converted._sys_declarations() == system._sys_declarations()
        and all(_is_variable(name, type(converted)) for name in vars(system).keys() - vars(converted).keys())
    )


def _is_variable(name: str, cls: type[Any]) -> bool:
    """Whether a class has an attribute by that name for objects to replace, which is no method."""
    return hasattr(cls, name) and not callable(getattr(cls, name))


def _converted_copy(system: System, T: Scalar) -> Any:
    shared: list[Any] = []
    buffer = io.BytesIO()
    try:
        with garbage_waits():  # twice as fast for thousands of systems
            _ConversionPickler(buffer, shared, system, T).dump(system)
            buffer.seek(0)
            converted = _CopyUnpickler(buffer, shared).load()
    except _NOT_COPYABLE as error:
        culprit, what = _what_cannot_be_copied(system)
        raise ConversionRefused(culprit, T, f"{what} cannot be copied: {error}") from error
    _adopt(converted)
    return converted


def _adopt(system: Any) -> None:
    """Notes in the systems of a Diagram that they are in there; those from converters of their own do not know it."""
    for subsystem in system._sys_subsystems() or ():
        subsystem._sys_parent = system
        _adopt(subsystem)


class _ConversionPickler(_CopyPickler):
    """Takes a system apart so that what is put together again is one of scalar type T."""

    def __init__(self, buffer: io.BytesIO, shared: list[Any], system: System, T: Scalar) -> None:
        super().__init__(buffer, shared, system._sys_parent)
        self._system = system
        self._target = T
        self._source = system._scalar
        self._by_themselves: dict[int, Any] = {id(system): None}  # by id; None: it is copied

    def _reduced(self, obj: Any, way: Way) -> Any:
        if way is Way.SCALAR and self._source is not float and self._holds_scalars(obj):
            return self._by_reference(self._cast(obj))
        if way is Way.SYSTEM and obj is not self._outside:
            counterpart = self._counterpart_of(obj)
            if counterpart is not None:
                return self._by_reference(counterpart)
        return super()._reduced(obj, way)

    def _taken_apart(self, obj: Any) -> Any:
        change = _CHANGES.get(type(obj))
        if change is None:
            kind = type(obj)
            bases: tuple[type[Any], ...] = (System, BasicVector, Context)
            change = _CHANGES[type(obj)] = next((base for base in bases if issubclass(kind, base)), object)
        if change is System:
            return new_system, (self._origin_for(obj), self._target), obj.__getstate__()
        if type(obj) is BasicVector:
            return self._by_reference(obj._cast(self._target))
        if change is BasicVector:
            values = Shared(cast_array(obj._values, self._target))  # an array of many objects
            return _vector_of, (type(obj), values, getattr(obj, "__dict__", None))
        if change is Context and obj.parent is None:
            return _rebuilt, (obj.system, dtype_of(self._target), take_values(obj))
        return super()._taken_apart(obj)

    def _origin_for(self, system: System) -> type[Any] | Template:
        if system._scalar is not self._target and is_written_for_one_scalar(system):
            raise ConversionRefused(
                system,
                self._target,
                f"its class is derived from one for {system._scalar.__name__}; derive it from LeafSystem, or define it "
                "with TemplateSystem",
            )
        return origin_of(system)

    def _counterpart_of(self, obj: Any) -> Any:
        """What takes the place of a system, or of a part of one, if that system converts itself; None if not."""
        owner = obj._owner() if isinstance(obj, PartOfSystem) else obj
        if owner is None or owner._scalar is self._target or owner is self._outside:
            return None
        if id(owner) not in self._by_themselves:
            try:
                self._by_themselves[id(owner)] = _by_itself(owner, self._target)
            except _NOT_COPYABLE as error:
                raise _Failed from error
        converted = self._by_themselves[id(owner)]
        return converted if converted is None or obj is owner else obj._counterpart_in(converted)

    def _holds_scalars(self, obj: Any) -> bool:
        """Whether it is a scalar of the system's type, or an array of them."""
        if isinstance(obj, np.ndarray):
            return obj.dtype == object and scalar_of_array(obj) is self._source
        return type(obj) is self._source

    def _cast(self, obj: Any) -> Any:
        try:
            return (cast_array if isinstance(obj, np.ndarray) else cast)(obj, self._target)
        except RuntimeError as error:
            reason = f"it holds a symbolic expression without a value: {error}"
            raise ConversionRefused(self._system, self._target, reason) from error


_CHANGES: dict[type[Any], type[Any]] = {}  # which of these three a class is derived from, if any


def _vector_of(kind: type[BasicVector], values: Shared, attributes: dict[str, Any] | None) -> BasicVector:
    return _restore_vector(kind, values.value, attributes)


# ---------------------------------------------------------------------- who is to blame


def _is_inside(system: System, outer: System) -> bool:
    return system is outer or (system._sys_parent is not None and _is_inside(system._sys_parent, outer))


def _holder(system: System, other: System) -> str:
    """Names what refers to another system: an attribute of this system or of one inside, if it is that simple."""
    for part in _tree(system):
        for name, value in vars(part).items():
            if value is other:
                return f"the attribute '{name}' of system '{part.GetSystemPathname()}'"
    return "it"


class _AttributePickler(_CopyPickler):
    """Copies one attribute of a system, without other systems that it refers to."""

    def _reduced(self, obj: Any, way: Way) -> Any:
        return self._by_reference(obj) if isinstance(obj, System) else super()._reduced(obj, way)


def _what_cannot_be_copied(system: System) -> tuple[System, str]:
    """The system, this one or one inside, with an attribute that cannot be copied, and which that is."""
    for part in _tree(system):
        for name, value in vars(part).items():
            try:
                _AttributePickler(io.BytesIO(), [], None).dump(value)
            except _NOT_COPYABLE:
                return part, f"its attribute '{name}' ({type(value).__name__})"
    return system, "something that it refers to"


def _tree(system: System) -> Iterator[System]:
    yield system
    for subsystem in system._sys_subsystems() or ():
        yield from _tree(subsystem)


# ---------------------------------------------------------------------- systems as functions of the scalar type


class TemplateSystem(Template):
    """A family of systems, one class for each scalar type, made by a function of the scalar type.

    @TemplateSystem.define("Pendulum_")
    def Pendulum_(T):
        class Impl(LeafSystem_[T]):
            def _construct(self, length, converter=None):
                LeafSystem_[T].__init__(self, converter=converter)
                self.length = length

            def _construct_copy(self, other, converter=None):
                Impl._construct(self, other.length, converter=converter)

        return Impl

    Pendulum = Pendulum_[None]

    Each class defines `_construct(self, ..., converter=None)` in place of `__init__`, and
    `_construct_copy(self, other, converter=None)`, which makes the same system as `other`, one of another scalar type.
    Both pass the converter on to the constructor of the base class. A LeafSystem whose callbacks take any scalars
    needs none of this: it is converted as it is.

    Args:
        name: what the family is called, such as 'Pendulum_'.
        T_list: the scalar types; by default all.
        T_pairs: pairs (T, U) of conversions from U to T; by default all between types of the list.
        scope: the module where the family is found.

    Raises:
        RuntimeError: a type is no scalar type.
        ValueError: a pair has a type that is not in the list.
    """

    def __init__(
        self,
        name: str,
        T_list: Iterable[Scalar] | None = None,
        T_pairs: Iterable[tuple[Scalar, Scalar]] | None = None,
        scope: types.ModuleType | None = None,
    ) -> None:
        given = None if T_list is None else tuple(checked_scalar(T, name) for T in T_list)
        super().__init__(name, supported_scalars if given is None else lambda: given)
        self._pairs = None if T_pairs is None else [tuple(checked_scalar(T, name) for T in pair) for pair in T_pairs]
        for T, U in self._pairs or ():
            if T is U or not {T, U} <= set(self._scalars()):
                raise ValueError(
                    f"TemplateSystem {name}: a conversion from {U.__name__} to {T.__name__} must be between two types "
                    f"of T_list, {[scalar.__name__ for scalar in self._scalars()]}."
                )
        self.__module__ = scope.__name__ if scope is not None else "__main__"
        self._define: Callable[[Scalar], type[Any]] | None = None

    @classmethod
    def define(
        cls,
        name: str,
        T_list: Iterable[Scalar] | None = None,
        T_pairs: Iterable[tuple[Scalar, Scalar]] | None = None,
        *,
        scope: types.ModuleType | None = None,
    ) -> Callable[[Callable[[Scalar], type[Any]]], TemplateSystem]:
        """Returns a decorator for a function f(T) that returns the class for scalars of type T.

        The function is called when a class is first asked for. The arguments are those of the constructor.
        """
        template = cls(name, T_list, T_pairs, scope)

        def decorate(function: Callable[[Scalar], type[Any]]) -> TemplateSystem:
            template._define = function
            if scope is None:
                template.__module__ = function.__module__
            template.__doc__ = function.__doc__
            return template

        return decorate

    def _instantiate(self, T: Scalar) -> type[Any]:
        if self._define is None:
            raise RuntimeError(f"TemplateSystem {self.name}: there is no function that defines its classes.")
        defined = self._define(T)
        self._check(defined, T)

        def __init__(system: Any, *args: Any, converter: SystemScalarConverter | None = None, **kwargs: Any) -> None:
            converter = self._make_converter() if converter is None else converter
            is_copy = len(args) == 1 and not kwargs and self.is_subclass_of_instantiation(type(args[0])) is not None
            construct = defined._construct_copy if is_copy else defined._construct
            construct(system, *args, converter=converter, **kwargs)

        defined.__init__ = __init__
        defined._template = self
        name = self.name.rstrip("_")
        defined.__name__ = defined.__qualname__ = name if T is float else f"{self.name}[{T.__name__}]"
        defined.__module__ = self.__module__
        return defined

    def _check(self, defined: Any, T: Scalar) -> None:
        name = defined.__name__ if isinstance(defined, type) else repr(defined)
        where = f"TemplateSystem {self.name}: {name}"
        if not isinstance(defined, type) or not issubclass(defined, instantiate(LeafSystem, T)):
            raise RuntimeError(f"{where} must be a class derived from LeafSystem_[{T.__name__}].")
        if "__init__" in vars(defined):
            raise RuntimeError(
                f"{where} defines `__init__`; it should define `_construct` and `_construct_copy` instead."
            )
        for method in ("_construct", "_construct_copy"):
            if method not in vars(defined):
                raise RuntimeError(f"{where} does not define `{method}`.")

    def _make_converter(self) -> SystemScalarConverter:
        pairs = SystemScalarConverter.SupportedConversionPairs if self._pairs is None else self._pairs
        converter = SystemScalarConverter(f"{self.name} defines no such conversion")
        available = set(self._scalars())
        for T, U in pairs:
            if {T, U} <= available:
                converter._add(T, U, _Construction(self, T, U))
        return converter

    def __reduce__(self) -> str | tuple[Any, ...]:
        if getattr(sys.modules.get(self.__module__), self.name, None) is self:
            return self.name
        raise TypeError(
            f"TemplateSystem {self.name} cannot be pickled, because module '{self.__module__}' has no such name. "
            "Define it there under this name."
        )


class _Construction:
    """The conversion by `Foo_[T](system)`, of systems of type Foo_[U]."""

    def __init__(self, template: TemplateSystem, T: Scalar, U: Scalar) -> None:
        self._template = template
        self._types = T, U

    def __call__(self, system: Any) -> Any:
        T, U = self._types
        template = self._template
        if type(system) is not template[U]:
            raise ConversionRefused(
                system,
                T,
                f"it is derived from {template.name}[{U.__name__}], whose `_construct_copy` does not know it; define "
                "the derived class with TemplateSystem too",
            )
        return template[T](system)
