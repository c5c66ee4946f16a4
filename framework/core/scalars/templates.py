"""Templates: `Foo_[T]` is Foo for the scalar type T, and `Foo_[float]` is Foo itself.

There are two kinds. Of systems and builders, `Foo_[AutoDiffXd]` is a class derived from Foo and from the same
instantiation of Foo's bases, so that one can derive from it, and isinstance knows a Gain_[AutoDiffXd] from a Gain.
Everything else holds its numbers in an array and is of the scalar type that is in there: `BasicVector_[AutoDiffXd]` is
called to make one, and knows by isinstance which are of its kind; objects are of the class for floats.
"""

from __future__ import annotations

import copyreg
import functools
import inspect
import types
from collections.abc import Callable, Sequence
from typing import Any, Generic, TypeVar

from merganser.framework.core.scalars.scalars import checked_scalar, supported_scalars

ClassT = TypeVar("ClassT")  # the class for floats of a family; what is made of any scalars has its functions

_INSTANTIATIONS = "_instantiations"  # where a class keeps {scalar type: class}
_GENERIC = "_generic_class"  # where an instantiation keeps the class for floats


def instantiate(cls: type[Any], T: Any) -> type[Any]:
    """The class for scalars of type T that belongs to `cls`, a class for floats with an attribute `_scalar`.

    It is derived from `cls` and from the instantiations of the bases of `cls`, and made only once.

    Raises:
        RuntimeError: T is no scalar type; or `cls` is written for another one than T.
    """
    T = checked_scalar(T, f"{cls.__name__}_")
    if cls._scalar is T:
        return cls
    if cls._scalar is not float:
        raise RuntimeError(f"{cls.__name__} is written for {cls._scalar.__name__}, and has no form for {T.__name__}.")
    known = cls.__dict__.get(_INSTANTIATIONS)
    if known is None:
        known = {}
        setattr(cls, _INSTANTIATIONS, known)
    if T not in known:
        bases = [instantiate(base, T) for base in cls.__bases__ if hasattr(base, "_scalar")]
        name = f"{cls.__name__}_[{T.__name__}]"
        content = {
            "_scalar": T, _GENERIC: cls, "__module__": cls.__module__, "__qualname__": name, "__doc__": cls.__doc__,
        }  # fmt: skip
        known[T] = types.new_class(name, (cls, *bases), {}, lambda namespace: namespace.update(content))
    return known[T]


def generic_class(cls: type[Any]) -> type[Any]:
    """The class for floats of which `cls` is an instantiation; `cls` itself otherwise."""
    return cls.__dict__.get(_GENERIC, cls)


class ScalarMethod:
    """A method that takes scalar types in brackets: `system.ToScalarType[AutoDiffXd]()`.

    Args:
        function: called as function(self, *scalar types, *arguments).
    """

    def __init__(self, function: Callable[..., Any]) -> None:
        self._function = function
        self.__name__ = function.__name__
        self.__doc__ = function.__doc__

    def __get__(self, instance: Any, owner: Any) -> Any:
        return self if instance is None else _BoundScalarMethod(self, instance)

    def __getitem__(self, parameters: Any) -> Callable[..., Any]:
        """The method for scalar types, as a function of an object: `System.ToScalarType[AutoDiffXd](system)`."""
        given = parameters if isinstance(parameters, tuple) else (parameters,)
        types_given = [T if isinstance(T, Template) else checked_scalar(T, self._function.__name__) for T in given]
        return lambda instance, *args, **kwargs: self._function(instance, *types_given, *args, **kwargs)


class _BoundScalarMethod:
    def __init__(self, method: ScalarMethod, instance: Any) -> None:
        self._method = method
        self._instance = instance
        self.__doc__ = method.__doc__

    def __getitem__(self, parameters: Any) -> Callable[..., Any]:
        return functools.partial(self._method[parameters], self._instance)


class Template(Generic[ClassT]):
    """A family of classes, one for each scalar type.

    Args:
        name: such as 'Gain_'.
        scalars: called without arguments; returns the scalar types that there are instantiations for.
    """

    def __init__(self, name: str, scalars: Callable[[], Sequence[type[Any]]] = supported_scalars) -> None:
        self.name = name
        self._scalars = scalars
        self._made: dict[type[Any], Any] = {}

    @property
    def param_list(self) -> list[tuple[type[Any]]]:
        """The scalar types, each in a tuple."""
        return [(T,) for T in self._scalars()]

    def __getitem__(self, parameter: Any) -> type[ClassT]:
        """The class for scalars of the type `parameter`, or of all types in it, if they are one; for None, the first.

        Raises:
            RuntimeError: it has none for this type.
        """
        if isinstance(parameter, (tuple, list)) and len(set(parameter)) == 1:
            parameter = parameter[0]
        T = self._first() if parameter is None else checked_scalar(parameter, self.name)
        if T not in self._made:
            if not (T is float or self._scalars is supported_scalars or T in self._scalars()):
                names = ", ".join(scalar.__name__ for scalar in self._scalars())
                raise RuntimeError(f"{self.name}: there is no instantiation for {T.__name__}, only for {names}.")
            self._made[T] = self._instantiate(T)
        return self._made[T]

    def __call__(self, *args: Any, **kwargs: Any) -> ClassT:
        """Makes an object of the first class of the family that takes the arguments.

        Raises:
            TypeError: there are no arguments to go by, or none of the classes takes them.
        """
        if not (args or kwargs):
            raise TypeError(f"{self.name}: without arguments, say of which scalars: {self.name}[float]().")
        refusal: TypeError | None = None
        for T in self._scalars():
            try:
                return self[T](*args, **kwargs)
            except TypeError as error:
                refusal = refusal or error
        raise TypeError(f"{self.name}: none of its classes takes these arguments. {refusal}") from refusal

    # Where all scalar types are meant, Expression is not imported to say so: that takes 0.3 s.

    def _first(self) -> type[Any]:
        return float if self._scalars is supported_scalars else self._scalars()[0]

    def _instantiate(self, T: type[Any]) -> Any:
        raise NotImplementedError

    def is_instantiation(self, obj: Any) -> bool:
        """Whether `obj` is one of the classes of this family."""
        return any(self[T] is obj for T in self._scalars())

    def is_subclass_of_instantiation(self, obj: Any) -> type[ClassT] | None:
        """The class of this family from which `obj` is derived, or None."""
        return next((self[T] for T in reversed(self._scalars()) if issubclass(obj, self[T])), None)

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.name}>"


class SystemTemplate(Template[ClassT]):
    """The instantiations of a class of systems, or of builders.

    Args:
        cls: the class.
        scalars: called without arguments; returns the scalar types.
    """

    def __init__(self, cls: type[ClassT], scalars: Callable[[], Sequence[type[Any]]] = supported_scalars) -> None:
        super().__init__(f"{cls.__name__}_", scalars)
        self._cls = cls

    def _instantiate(self, T: type[Any]) -> type[Any]:
        return instantiate(self._cls, T)


class ValueTemplate(Template[ClassT]):
    """The instantiations of a class whose objects hold scalars of any type.

    Of an object, `_scalar_type()` returns the type of its scalars, or None if it holds none and so is of any type, and
    `_cast(T)` the object with scalars of type T. Objects of a class without the one are of any type, and what
    `Foo_[T]()` makes of a class without the other is of the type of the arguments.

    Args:
        cls: the class.
        scalars: called without arguments; returns the scalar types.
    """

    def __init__(self, cls: type[ClassT], scalars: Callable[[], Sequence[type[Any]]] = supported_scalars) -> None:
        super().__init__(f"{cls.__name__}_", scalars)
        self._cls = cls

    def _instantiate(self, T: type[Any]) -> Any:
        return self._cls if T is float else _new_kind(self._cls, T)


class ClassTemplate(Template[ClassT]):
    """Classes that differ by types of any kind, such as Polynomial, not by types of scalars.

    Args:
        name: such as 'Pose_'.
        classes: called without arguments, when something is first asked for; returns {type: class}.
    """

    def __init__(self, name: str, classes: Callable[[], dict[type[Any], type[Any]]]) -> None:
        super().__init__(name, lambda: tuple(classes()))
        self._classes = classes

    def __getitem__(self, parameter: Any) -> type[ClassT]:
        """The class for a type; for None, the first.

        Raises:
            RuntimeError: it has none for this type.
        """
        classes = self._classes()
        if isinstance(parameter, (tuple, list)) and len(parameter) == 1:
            parameter = parameter[0]
        if parameter is None:
            return next(iter(classes.values()))
        if parameter not in classes:
            names = ", ".join(each.__name__ for each in classes)
            raise RuntimeError(f"{self.name}: there is no instantiation for {parameter}, only for {names}.")
        return classes[parameter]


class Kind(type):
    """The class of objects of one class whose scalars are of one type: `BasicVector_[AutoDiffXd]`.

    It is derived from that class, knows by isinstance which objects are of the kind, and makes them: objects of the
    class itself. What is derived from it is derived from the class.
    """

    _kind_of: type[Any]
    _kind_scalar: type[Any]

    def __new__(mcs, name: str, bases: tuple[type[Any], ...], content: dict[str, Any], **kwargs: Any) -> Any:
        if not any(isinstance(base, Kind) for base in bases):
            return super().__new__(mcs, name, bases, content)
        kinds = tuple(base for base in bases if isinstance(base, Kind))
        plain = tuple(base._kind_of if isinstance(base, Kind) else base for base in bases)
        return types.new_class(name, plain, kwargs, lambda namespace: namespace.update(content, _kinds=kinds))

    def __call__(cls, *args: Any, **kwargs: Any) -> Any:
        return cls._kind_cast(cls._kind_of(*args, **kwargs))

    def _kind_cast(cls, thing: Any) -> Any:
        return thing._cast(cls._kind_scalar) if hasattr(thing, "_cast") else thing

    def __instancecheck__(cls, instance: Any) -> bool:
        if not isinstance(instance, cls._kind_of):
            return False
        scalar = instance._scalar_type() if hasattr(instance, "_scalar_type") else None
        return scalar is None or scalar is cls._kind_scalar or issubclass(type(instance), cls)

    def __subclasscheck__(cls, subclass: type[Any]) -> bool:
        if isinstance(subclass, Kind):
            return subclass._kind_scalar is cls._kind_scalar and issubclass(subclass._kind_of, cls._kind_of)
        return any(issubclass(kind, cls) for kind in getattr(subclass, "_kinds", ()))


@functools.cache
def _kind_type(metaclass: Any) -> type[Kind]:
    """The metaclass of kinds of classes of a metaclass."""
    kind = Kind if metaclass is type else type("Kind", (Kind, metaclass), {})
    copyreg.pickle(kind, _refuse_pickle)
    return kind


def _refuse_pickle(kind: Kind) -> Any:
    raise TypeError(f"{kind.__name__} cannot be pickled by itself.")


def _new_kind(cls: type[Any], T: type[Any]) -> Any:
    name = f"{cls.__name__}_[{T.__name__}]"
    content = {
        "_kind_of": cls, "_kind_scalar": T, "__slots__": (),
        "__module__": cls.__module__, "__qualname__": name, "__doc__": cls.__doc__,
    }  # fmt: skip
    metaclass: Any = type(cls)
    kind = _kind_type(metaclass)(name, (cls,), content)
    for name in dir(cls) if hasattr(cls, "_cast") else ():
        if not name.startswith("__") and isinstance(inspect.getattr_static(cls, name), (staticmethod, classmethod)):
            setattr(kind, name, staticmethod(_casting(getattr(cls, name), kind)))
    return kind


def _casting(function: Callable[..., Any], kind: Any) -> Callable[..., Any]:
    """A function of a class, whose results that are objects of the class are of a kind."""

    @functools.wraps(function)
    def cast(*args: Any, **kwargs: Any) -> Any:
        result = function(*args, **kwargs)
        return kind._kind_cast(result) if isinstance(result, kind._kind_of) else result

    return cast
