"""Systems of one scalar type made from systems of another: which conversions there are, and how to ask for them.

Four ways lead from a system to the same one for other scalars:

- A system that says nothing is copied, with everything that it refers to, and the copy computes with the other
  scalars: its callbacks are Python, which does not ask what it adds and multiplies (converting.py).
- One that was given a `SystemScalarConverter` is converted by the functions in there and by nothing else; none, in an
  empty one. `TemplateSystem` makes such converters.
- One of the library that consists of much which no conversion changes, such as a plant, declares itself again around
  that (`_sys_declared_anew`).
- A Diagram is copied with all its subsystems, each in its own way.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, Self

from merganser.framework.core.scalars.scalars import scalar_named, supported_scalars
from merganser.framework.core.scalars.templates import ScalarMethod
from merganser.framework.core.system.system_base import SystemBase

Scalar = type[Any]
Conversion = Callable[[Any], Any]


class ConversionRefused(RuntimeError):
    """A system cannot be converted to another scalar type; the message says which system, and why.

    Attributes:
        system: the system.
        reason: why, in words.
    """

    def __init__(self, system: Any, T: Scalar, reason: str) -> None:
        super().__init__(
            f"System '{system.GetSystemPathname()}' of type {type(system).__qualname__} does not support scalar "
            f"conversion to type {T.__name__} ({reason})"
        )
        self.system = system
        self.reason = reason


class _ClassAttribute:
    """An attribute of a class that is computed when it is asked for."""

    def __init__(self, compute: Callable[[], Any]) -> None:
        self._compute = compute

    def __get__(self, instance: Any, owner: Any) -> Any:
        return self._compute()


def _all_pairs() -> tuple[tuple[Scalar, Scalar], ...]:
    scalars = supported_scalars()
    return tuple((T, U) for U in scalars for T in scalars if T is not U)


class SystemScalarConverter:
    """The conversions that a kind of system supports; without any at first.

    A system gets it with `LeafSystem.__init__(self, converter=converter)`. An empty one says that the system must not
    be converted.

    Attributes:
        SupportedScalars: all scalar types.
        SupportedConversionPairs: all pairs (T, U) of different scalar types, for conversions from U to T.

    Args:
        reason: why there are no others than will be added, for messages.
    """

    SupportedScalars: Any = _ClassAttribute(supported_scalars)
    SupportedConversionPairs: Any = _ClassAttribute(_all_pairs)

    def __init__(self, reason: str = "its SystemScalarConverter has no such conversion") -> None:
        self._conversions: dict[tuple[Scalar, Scalar], Conversion] = {}
        self._reason = reason

    def _add(self, T: Scalar, U: Scalar, conversion: Conversion) -> None:
        """Add[T, U](conversion): from now on, conversion(system of U) makes a system of T."""
        if T is U:
            raise ValueError(f"SystemScalarConverter: there is no conversion from {T.__name__} to itself.")
        if not callable(conversion):
            raise TypeError(f"SystemScalarConverter: the conversion must be callable, got {conversion!r}.")
        self._conversions[T, U] = conversion

    def _add_if_supported(self, template: Any, T: Scalar, U: Scalar) -> None:
        """AddIfSupported[Foo_, T, U](): converts by Foo_[T](system), if there are Foo_[T] and Foo_[U]."""
        available = {scalar for (scalar,) in template.param_list}
        if {T, U} <= available:
            self._add(T, U, lambda system: template[T](system))

    def _remove(self, T: Scalar, U: Scalar) -> None:
        """Remove[T, U](): there is no conversion from U to T any more."""
        self._conversions.pop((T, U), None)

    def _is_convertible(self, T: Scalar, U: Scalar) -> bool:
        """IsConvertible[T, U](): whether there is a conversion from U to T."""
        return (T, U) in self._conversions

    def _convert(self, T: Scalar, U: Scalar, system: Any) -> Any:
        """Convert[T, U](system): the system for scalars of type T under the same name; None if there is no way."""
        conversion = self._conversions.get((T, U))
        if conversion is None:
            return None
        converted = conversion(system)
        if getattr(converted, "_scalar", None) is not T:
            raise TypeError(
                f"The conversion of system '{system.GetSystemPathname()}' to {T.__name__} must return a system of this "
                f"scalar type; got {converted!r}."
            )
        converted.set_name(system.get_name())
        return converted

    Add = ScalarMethod(_add)
    _AddConstructor = ScalarMethod(_add)  # pydrake's name
    AddIfSupported = ScalarMethod(_add_if_supported)
    Remove = ScalarMethod(_remove)
    IsConvertible = ScalarMethod(_is_convertible)
    Convert = ScalarMethod(_convert)

    def RemoveUnlessAlsoSupportedBy(self, other: SystemScalarConverter) -> None:
        """Keeps only conversions between scalars for which `other` has one too."""
        for pair in set(self._conversions) - set(other._conversions):
            del self._conversions[pair]

    def IsEmpty(self) -> bool:
        """Whether there are no conversions."""
        return not self._conversions


class ScalarConversionMethods(SystemBase):
    """What every System can say and do about scalar types."""

    def get_system_scalar_converter(self) -> SystemScalarConverter:
        """Returns the conversions that the system supports."""
        if self._sys_converter is not None:
            return self._sys_converter
        from merganser.framework.core.system.converting import convert, is_written_for_one_scalar

        converter = SystemScalarConverter()
        if not is_written_for_one_scalar(self):
            for T, U in SystemScalarConverter.SupportedConversionPairs:
                converter._add(T, U, functools.partial(convert, T=T))
            for subsystem in self._sys_subsystems() or ():
                converter.RemoveUnlessAlsoSupportedBy(subsystem.get_system_scalar_converter())
        return converter

    def _sys_declared_anew(self, T: Scalar) -> Any:
        """Override: the same system for scalars of type T, made of the same parts; None to have it copied.

        It need not look for what others have added to the system: one that has more is copied (converting.py).
        """
        return None

    def ToAutoDiffXd(self) -> Self:
        """Returns a copy of the system that computes with AutoDiffXd; see `ToScalarType`."""
        return self.ToScalarType[scalar_named("AutoDiffXd")]()

    def ToAutoDiffXdMaybe(self) -> Self | None:
        """Returns a copy of the system that computes with AutoDiffXd, or None if that is not supported."""
        return self.ToScalarTypeMaybe[scalar_named("AutoDiffXd")]()

    def ToSymbolic(self) -> Self:
        """Returns a copy of the system that computes with expressions; see `ToScalarType`."""
        return self.ToScalarType[scalar_named("Expression")]()

    def ToSymbolicMaybe(self) -> Self | None:
        """Returns a copy of the system that computes with expressions, or None if that is not supported."""
        return self.ToScalarTypeMaybe[scalar_named("Expression")]()

    def _to_scalar_type(self, T: Scalar) -> Any:
        """ToScalarType[T](): a copy of the system, and of all inside, that computes with scalars of type T.

        It has the same names, ports, wires and defaults. Values in contexts go over with
        `context.SetTimeStateAndParametersFrom(other_context)` and `FixInputPortsFrom`.

        Raises:
            RuntimeError: the system, or one inside it, does not support that; the message says which, and why.
        """
        from merganser.framework.core.system.converting import convert

        return convert(self, T)

    def _to_scalar_type_maybe(self, T: Scalar) -> Any:
        """ToScalarTypeMaybe[T](): the same, but None where it is not supported."""
        try:
            return self.ToScalarType[T]()
        except ConversionRefused:
            return None

    ToScalarType = ScalarMethod(_to_scalar_type)
    ToScalarTypeMaybe = ScalarMethod(_to_scalar_type_maybe)
