"""TemplateSystem: systems that are written once, as a function of the scalar type, and can be converted."""

from __future__ import annotations

import sys
import types
from collections.abc import Callable, Iterable
from typing import Any

from merganser.framework.core.scalars.scalars import checked_scalar, supported_scalars
from merganser.framework.core.scalars.templates import Template, instantiate
from merganser.framework.core.system.leaf_system import LeafSystem
from merganser.framework.core.system.scalar_conversion import ConversionRefused, SystemScalarConverter

Scalar = type[Any]


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
