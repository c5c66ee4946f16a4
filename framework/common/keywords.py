"""Arguments with several names: where pydrake has overloads that call one thing differently, all of them hold."""

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
