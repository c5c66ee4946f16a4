"""pydrake.common.cpp_template: families of classes or functions, one for each set of types."""

from __future__ import annotations

import abc
import inspect
import types
from collections.abc import Callable, Iterable
from typing import Any

from merganser.drake.cpp_param import get_param_canonical, get_param_names, pretty_class_name
from merganser.framework.common.errors import warn_deprecated
from merganser.framework.core.scalars.templates import Template

__all__ = ["TemplateBase", "TemplateClass", "TemplateFunction", "TemplateMethod", "get_or_init", "pretty_class_name"]

Parameters = tuple[Any, ...]


def get_or_init(scope: Any, name: str, template_cls: type[TemplateBase], *args: Any, **kwargs: Any) -> Any:
    """The template that a module or class has under a name; made and stored there if missing."""
    if getattr(scope, name, None) is None:
        setattr(scope, name, template_cls(name, *args, **{"scope": scope, **kwargs}))
    return getattr(scope, name)


class TemplateBase(abc.ABC):  # noqa: B024  users make objects of it, too
    """A family of things, one for each set of types or values.

    Args:
        name: of the family.
        allow_default: whether `template[None]` is the first one that was added.
        scope: module or class in which it is defined; by default the module of the caller.

    Attributes:
        name: of the family.
        param_list: sets of parameters, in the order in which they were added.
    """

    def __init__(self, name: str, allow_default: bool = True, scope: Any = None) -> None:
        self.name = name
        self.param_list: list[Parameters] = []
        self._allow_default = allow_default
        self._scope = _calling_module() if scope is None else scope
        self._made: dict[Parameters, Any] = {}
        self._make: Callable[[Parameters], Any] | None = None
        self._deprecations: dict[Parameters, str] = {}

    def __getitem__(self, param: Any) -> Any:
        return self.get_instantiation(param)[0]

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Calls the first instantiation that takes the arguments.

        Raises:
            TypeError: there are no arguments to go by, or none takes them.
        """
        if not (args or kwargs):
            raise TypeError(f"{self.name}: without arguments, say which one is meant: {self.name}[...]().")
        refusal: TypeError | None = None
        for param in self.param_list:
            try:
                return self[param](*args, **kwargs)
            except TypeError as error:
                refusal = refusal or error
        raise TypeError(f"{self.name}: none of the family takes these arguments. {refusal}") from refusal

    def get_instantiation(self, param: Any = None, throw_error: bool = True) -> tuple[Any, Parameters]:
        """The instantiation for a set of parameters, and that set.

        Raises:
            RuntimeError: no such instantiation; returns None instead if `throw_error` is false.
        """
        param = self._resolved(param)
        if param in self.param_list and param not in self._made and self._make is not None:
            self._made[param] = self._named(param, self._make(param))
        if param in self._deprecations:
            warn_deprecated(self._deprecations[param], 3)
        found = self._made.get(param)
        if found is None and throw_error:
            raise RuntimeError(f"Invalid instantiation: {self._instantiation_name(param)}")
        return found, param

    def add_instantiation(self, param: Any, instantiation: Any, skip_rename: bool = False) -> Parameters:
        """Adds one to the family.

        Raises:
            RuntimeError: there is one for these parameters.
        """
        param = self._resolved(param)
        if param in self.param_list:
            raise RuntimeError(f"There is one already: {self._instantiation_name(param)}.")
        self.param_list.append(param)
        self._made[param] = instantiation if skip_rename else self._named(param, instantiation)
        return param

    def add_instantiations(self, instantiation_func: Callable[[Any], Any], param_list: Iterable[Any]) -> None:
        """Adds all for a list of sets of parameters, each made by a function when it is first asked for.

        Raises:
            RuntimeError: this has been done before.
        """
        if self._make is not None:
            raise RuntimeError(f"{self.name}: add_instantiations() can be called once.")
        self._make = instantiation_func
        self.param_list += [self._resolved(param) for param in param_list]

    def deprecate_instantiation(self, param: Any, message: str, *, date: str | None = None) -> tuple[Any, Parameters]:
        """Makes one instantiation warn whenever it is looked up."""
        found = self.get_instantiation(param)
        self._deprecations[found[1]] = message if date is None else f"{message} It will not be there after {date}."
        return found

    def get_param_set(self, instantiation: Any) -> set[Parameters]:
        """The sets of parameters of an instantiation."""
        return {param for param, made in self._made.items() if made is instantiation}

    def is_instantiation(self, obj: Any) -> bool:
        """Whether something is one of the family."""
        return any(self[param] is obj for param in self.param_list)

    def get_module_name(self) -> str:
        """The name of the module in which the family is defined.

        Raises:
            RuntimeError: it is defined in a class.
        """
        if not isinstance(self._scope, types.ModuleType):
            raise RuntimeError(f"{self.name} is not defined in a module, but in {self._scope}.")
        return self._scope.__name__

    @classmethod
    def define(cls, name: str, param_list: Iterable[Any], *args: Any, scope: Any = None, **kwargs: Any) -> Any:
        """Makes a family from a function that returns the instantiation for a set of parameters."""
        kwargs["scope"] = _calling_module() if scope is None else scope
        template = cls(name, *args, **kwargs)

        def decorate(instantiation_func: Callable[[Any], Any]) -> TemplateBase:
            template.add_instantiations(instantiation_func, param_list)
            return template

        return decorate

    def _resolved(self, param: Any) -> Parameters:
        if param is None and self._allow_default and self.param_list:
            return self.param_list[0]
        return get_param_canonical(param if isinstance(param, (tuple, list)) else (param,))

    def _instantiation_name(self, param: Any) -> str:
        return f"{self.name}[{','.join(get_param_names(self._resolved(param)))}]"

    def _named(self, param: Parameters, made: Any) -> Any:
        """A member of the family, renamed to its name there."""
        return made

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self._scope.__name__}.{self.name}>"


class TemplateClass(TemplateBase):
    """A family of classes."""

    def _named(self, param: Parameters, made: Any) -> Any:
        made.__name__ = made.__qualname__ = self._instantiation_name(param)
        made.__module__ = self._scope.__name__
        setattr(self._scope, made.__name__, made)  # pickle finds it there
        return made

    def is_subclass_of_instantiation(self, obj: type) -> Any:
        """The class of the family from which a class is derived, or None."""
        return next((self[param] for param in self.param_list if issubclass(obj, self[param])), None)


class TemplateFunction(TemplateBase):
    """A family of functions."""


class TemplateMethod(TemplateBase):
    """A family of methods of a class.

    Args:
        name: of the method.
        cls: the class.
    """

    def __init__(self, name: str, cls: type, scope: Any = None, **kwargs: Any) -> None:
        super().__init__(name, scope=cls if scope is None else scope, **kwargs)

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        return self if instance is None else _BoundMethods(self, instance)


class _BoundMethods:
    def __init__(self, template: TemplateMethod, instance: Any) -> None:
        self._template, self._instance = template, instance

    def __getitem__(self, param: Any) -> Any:
        return types.MethodType(self._template[param], self._instance)


def _calling_module() -> Any:
    """The module whose code has called the code that calls this."""
    frame = inspect.currentframe()
    while frame is not None and frame.f_globals.get("__name__") == __name__:
        frame = frame.f_back
    module = None if frame is None else inspect.getmodule(frame)
    return types.ModuleType("__main__") if module is None else module


TemplateClass.register(Template)  # `BasicVector_` is one, too
