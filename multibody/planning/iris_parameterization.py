"""Coordinates other than positions in which regions grow."""

from __future__ import annotations

__all__ = ["IrisParameterizationFunction"]

from collections.abc import Callable
from typing import Any, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray

from merganser.framework.autodiff import AutoDiffXd
from merganser.framework.core.values.arguments import checked_size
from merganser.geometry.optimization.arguments import Form, choose

Array = NDArray[np.float64]
_Function = Callable[[Any], Any]
_WHERE = "IrisParameterizationFunction"
_FORMS = {
    "identity": Form(),
    "kinematics": Form(("kin", "q_star_val"), lambda first: hasattr(first, "ComputeQValue")),
    "function": Form(("parameterization", "dimension"), callable),
    "expressions": Form(("expression_parameterization", "variables")),
}


class IrisParameterizationFunction:
    """A function q = f(s) that gives positions q for the coordinates s of a region.

    Four forms:

        IrisParameterizationFunction()                                       q = s
        IrisParameterizationFunction(parameterization, dimension)            a function, and the size of s
        IrisParameterizationFunction(expression_parameterization, variables) expressions of variables s
        IrisParameterizationFunction(kin, q_star_val)                        a RationalForwardKinematics

    A function is called with s as floats by IrisZo, and also with AutoDiffXd by IrisNp2. Of a RationalForwardKinematics
    (anything with its methods `ComputeQValue(s, q_star)` and `plant()`), s are the tangents of half the angles from the
    positions q_star_val.

    Raises:
        ValueError: the dimension is less than 1; or the variables are not just those that the expressions have.
        TypeError: the arguments have none of the forms.
    """

    @overload
    def __init__(self) -> None: ...
    @overload
    def __init__(self, parameterization: _Function, dimension: int) -> None: ...
    @overload
    def __init__(self, expression_parameterization: ArrayLike, variables: ArrayLike) -> None: ...
    @overload
    def __init__(self, kin: Any, q_star_val: ArrayLike) -> None: ...
    def __init__(self, *args: Any, **kwargs: Any) -> None:
        form, given = choose(_WHERE, args, kwargs, _FORMS)
        self._function: _Function = _identity
        self._dimension: int | None = None
        self._threadsafe = form != "function"
        if form == "function":
            self._function = given["parameterization"]
            self._dimension = checked_size(given["dimension"], f"{_WHERE}: dimension")
            if self._dimension < 1:
                raise ValueError(f"{_WHERE}: expected a dimension of at least 1, got {self._dimension}.")
        elif form == "kinematics":
            self._take_kinematics(given["kin"], np.array(given["q_star_val"], dtype=np.float64).ravel())
        elif form == "expressions":
            values, variables = given["expression_parameterization"], given["variables"]
            self._take_expressions(np.ravel(np.asarray(values, object)), np.ravel(np.asarray(variables, object)))

    def _take_expressions(self, expressions: Any, variables: Any) -> None:
        from merganser.framework.symbolic import Evaluate, Expression, Jacobian

        expressions = np.array([Expression(each) for each in expressions], dtype=object)
        used = {each.get_id() for expression in expressions for each in expression.GetVariables()}
        given = [each.get_id() for each in variables]
        if len(set(given)) < len(given) or used != set(given):
            raise ValueError(
                f"{_WHERE}: expected as variables, once each, those of the expressions; got "
                f"{[str(each) for each in variables]}."
            )
        slopes = Jacobian(expressions, variables)

        def function(s: Any) -> Any:
            values = np.ravel(np.asarray(s))
            if values.dtype != object:
                return Evaluate(expressions, dict(zip(variables, values.tolist()))).ravel()
            env = dict(zip(variables, (each.value() for each in values)))
            y, J = Evaluate(expressions, env).ravel(), Evaluate(slopes, env)
            inner = np.array([each.derivatives() for each in values])
            return np.array([AutoDiffXd(value, row @ inner) for value, row in zip(y, J)], dtype=object)

        self._function, self._dimension = function, len(given)

    def _take_kinematics(self, kin: Any, q_star: Array) -> None:
        size = kin.plant().num_positions()
        if q_star.size != size or not np.isfinite(q_star).all():
            raise ValueError(f"{_WHERE}: expected {size} finite numbers as q_star_val, got {q_star}.")
        self._function = lambda s: np.ravel(kin.ComputeQValue(s, q_star))
        self._dimension = size

    def get_parameterization_is_threadsafe(self) -> bool:
        """Whether several threads may call it at once: not if it is a function of a user's."""
        return self._threadsafe

    def get_parameterization_dimension(self) -> int | None:
        """The size of s; None if it is that of the positions."""
        return self._dimension

    def get_parameterization_double(self) -> Callable[[ArrayLike], Array]:
        """The function of floats: s of shape [m] to q of shape [n]."""
        function = self._function
        return lambda s: np.array(function(np.array(s, dtype=np.float64).ravel()), dtype=np.float64).ravel()

    def get_parameterization_autodiff(self) -> Callable[[Any], Any]:
        """The function of AutoDiffXd: s of shape [m] to q of shape [n]."""
        function = self._function
        return lambda s: np.ravel(np.asarray(function(np.ravel(np.asarray(s, dtype=object))), dtype=object))


def _identity(s: Any) -> Any:
    return s
