"""Functions that are others under another signature: with several names of an argument, or as a function of a part.

Where pydrake has overloads that call one thing differently, all its names hold (`also_named`). And functions of an
object that are functions of its parts have signature and docstring written in the part alone:

    class DynamicsFace:
        _computations: PlantComputations

        CalcMassMatrix = Delegated(PlantComputations.calc_mass_matrix, "MultibodyPlant")

is, when the class is made, what these lines would be, with the docstring of the part's function:

        def CalcMassMatrix(self, context: Any) -> Array:
            return self._computations.calc_mass_matrix(context)

Packages have functions of their own around it, for type checkers: what they return has the type of the part's function.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any, TypeVar

_Function = TypeVar("_Function", bound=Callable[..., Any])


def also_named(**names: str) -> Callable[[_Function], _Function]:
    """Lets arguments of a function be given by other names too: `@also_named(other="name")`.

    Raises:
        TypeError: when the function is called with one argument by two names.
    """

    def decorate(function: _Function) -> _Function:
        @functools.wraps(function)
        def accept(*args: Any, **kwargs: Any) -> Any:
            for other in names.keys() & kwargs.keys():
                name = names[other]
                if name in kwargs:
                    raise TypeError(f"{function.__qualname__}() got '{name}' twice, also as '{other}'.")
                kwargs[name] = kwargs.pop(other)
            return function(*args, **kwargs)

        del accept.__wrapped__  # what inspects it is to see the other names
        accept.__signature__ = _signature_with(function, names)  # type: ignore[attr-defined]
        return accept  # type: ignore[return-value]

    return decorate


def _signature_with(function: Callable[..., Any], names: dict[str, str]) -> inspect.Signature:
    """The signature for help(): arguments with several names may be left out under each of them."""
    signature = inspect.signature(function)
    parameters = []
    for parameter in signature.parameters.values():
        if parameter.name in names.values() and parameter.default is parameter.empty:
            parameter = parameter.replace(default=None)
        parameters.append(parameter)
    is_required = [p.default is p.empty and p.kind is p.POSITIONAL_OR_KEYWORD for p in parameters]
    last = max((i for i, required in enumerate(is_required) if required), default=-1)
    # Parameters before a required one cannot have a default in a signature.
    parameters[:last] = [
        p.replace(default=p.empty) if p.default is None and p.name in names.values() else p for p in parameters[:last]
    ]
    extra = [inspect.Parameter(other, inspect.Parameter.KEYWORD_ONLY, default=None) for other in names]
    rest = [p for p in parameters if p.kind is p.VAR_KEYWORD]
    return signature.replace(parameters=[p for p in parameters if p not in rest] + extra + rest)


class Delegated:
    """A placeholder in a class body; the class replaces it by a function that calls a part.

    Args:
        method: of the part's class.
        owner: what errors call the class of the function.
        part: the attribute that has the part; by default the one that an annotation of the class says is of this class.
    """

    def __init__(self, method: Any, owner: str, part: str | None = None) -> None:
        self._method, self._owner, self._part = method, owner, part

    def __set_name__(self, owner: type, name: str) -> None:
        part = self._part or _place_of(owner, self._method.__qualname__.split(".")[-2])
        setattr(owner, name, written_out(self._method, part, f"{self._owner}.{name}"))


def _place_of(owner: type, kind: str) -> str:
    """The attribute that is annotated as of a class, in a class or its bases."""
    annotated = [item for cls in owner.__mro__ for item in vars(cls).get("__annotations__", {}).items()]
    return next(place for place, annotation in annotated if annotation == kind)


def written_out(method: Any, part: str, address: str) -> Any:
    """A function of an object that calls a method of one of its parts.

    It is compiled from source: one that takes any arguments and passes them on takes 0.3 us longer.

    Args:
        method: of the part's class.
        part: the attribute of the object.
        address: of the function: Class.name.
    """
    name = address.rpartition(".")[2]
    code, words = method.__code__, iter(method.__code__.co_varnames)
    named = [next(words) for _ in range(code.co_argcount)][1:]
    only = [next(words) for _ in range(code.co_kwonlyargcount)]
    more = [f"*{next(words)}"] if code.co_flags & inspect.CO_VARARGS else []
    rest = [f"**{next(words)}"] if code.co_flags & inspect.CO_VARKEYWORDS else []
    takes = ", ".join(["self", *named, *(more or ["*"][: len(only)]), *only, *rest])
    passes = ", ".join([*named, *more, *(f"{word}={word}" for word in only), *rest])
    made: dict[str, Any] = {}
    exec(f"def {name}({takes}): return self.{part}.{method.__name__}({passes})", method.__globals__, made)
    function: Any = functools.update_wrapper(made[name], method)
    function.__name__, function.__qualname__ = name, address
    function.__defaults__, function.__kwdefaults__ = method.__defaults__, method.__kwdefaults__
    return function
