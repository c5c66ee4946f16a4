"""The arguments of declarations, which come in several forms."""

from __future__ import annotations

from typing import Any

import numpy as np

from merganser.framework.core.values import BasicVector

__all__ = ["as_model_vector", "continuous_arguments", "one_of", "refuse_unknown"]


def continuous_arguments(*args: Any, **kwargs: Any) -> tuple[BasicVector, tuple[int, int, int]]:
    """Model vector and numbers (num_q, num_v, num_z) from the arguments of DeclareContinuousState."""
    names = ("model_vector",) if args and isinstance(args[0], BasicVector) else ()
    if "num_state_variables" in kwargs:
        args = (kwargs.pop("num_state_variables"), *args)
    if "model_vector" in kwargs:
        args = (kwargs.pop("model_vector"), *args)
        names = ("model_vector",)
    if kwargs:
        args = (*args, *(kwargs.pop(key) for key in ("num_q", "num_v", "num_z") if key in kwargs))
    refuse_unknown(kwargs, "DeclareContinuousState")
    if names or (args and isinstance(args[0], BasicVector)):
        model = args[0].Clone()
        sizes = tuple(int(n) for n in args[1:]) or (0, 0, model.size())
    else:
        sizes = tuple(int(n) for n in args)
        if len(sizes) == 1:
            sizes = (0, 0, sizes[0])
        model = BasicVector(np.zeros(max(sum(sizes), 0)))
    if len(sizes) != 3:
        raise TypeError("DeclareContinuousState takes (n), (num_q, num_v, num_z) or a model vector before these.")
    return model, (sizes[0], sizes[1], sizes[2])


def as_model_vector(model: Any) -> BasicVector:
    """A model vector from itself, from a size (zeros) or from default values."""
    if isinstance(model, BasicVector):
        return model.Clone()
    if isinstance(model, (int, np.integer)):
        return BasicVector(np.zeros(int(model)))
    return BasicVector(model)


def one_of(first: Any, second: Any, function: str, names: str) -> Any:
    """The one of two arguments that was given."""
    if (first is None) == (second is None):
        raise TypeError(f"{function} takes either {names}.")
    return second if first is None else first


def refuse_unknown(kwargs: dict[str, Any], function: str) -> None:
    """Raises a TypeError if any keyword argument is left."""
    if kwargs:
        raise TypeError(f"{function} got an unexpected argument '{next(iter(kwargs))}'.")
