"""Functions of an object that are functions of its parts: signature and docstring are written in the part alone.

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
from typing import Any


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
