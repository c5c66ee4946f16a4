"""Base of costs and constraints: a function of a vector, its derivatives and its name."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, Self, TypeVar

import numpy as np

from merganser.framework.autodiff.blocks import as_variables, chained, values_and_gradient
from merganser.framework.autodiff.scalar import AutoDiffXd
from merganser.framework.optimization.arrays import Array, Objects, finite, is_sparse, matrix, vector

DIFFERENCE = 1e-7  # relative step of differences of derivatives: their rounding, and what is of second order


def curvature_by_differences(slopes: Callable[[Array], Array], x: Array, weights: Array) -> Array:
    """Second derivatives of weights . f at many x, of which half of the digits are left; 0 where they are not defined.

    Args:
        slopes: df/dx at many x, of shape [K, p] to [K, m, p].
        x: shape [N, p].
        weights: shape [N, m].

    Returns:
        Shape [N, p, p].
    """
    count, p = x.shape
    step = DIFFERENCE * np.maximum(1.0, np.abs(x))
    points = np.concatenate((x[np.newaxis], x + step.T[:, :, np.newaxis] * np.eye(p)[:, np.newaxis]))
    J = slopes(points.reshape(-1, p)).reshape(p + 1, count, -1, p)
    gradients = (weights[:, np.newaxis] @ J)[:, :, 0]
    H = np.moveaxis((gradients[1:] - gradients[0]) / step.T[:, :, np.newaxis], 0, 1)
    return np.nan_to_num(0.5 * (H + H.swapaxes(1, 2)), posinf=0.0, neginf=0.0)


_Evaluator = TypeVar("_Evaluator", bound="EvaluatorBase")


class EvaluatorBase:
    """A function y = f(x) of a vector x, shape [num_vars], with values y, shape [num_outputs].

    A subclass defines `_eval` for arrays of floats and of objects (AutoDiffXd, Expression), and `_value_and_jacobian`
    if it knows better than to differentiate `_eval`.
    """

    def __init__(self, num_vars: int, num_outputs: int, description: str = "") -> None:
        self._num_vars = num_vars
        self._num_outputs = num_outputs
        self._description = description
        self._sparsity: list[tuple[int, int]] | None = None

    def __copy__(self) -> Self:
        """A copy with the same arrays, which evaluators replace and never change."""
        copied = object.__new__(type(self))
        vars(copied).update(vars(self))
        return copied

    def _eval(self, x: Objects) -> Any:
        raise NotImplementedError

    def _value_and_jacobian(self, x: Array) -> tuple[Array, Array]:
        """f and df/dx at x, shapes [num_outputs] and [num_outputs, num_vars]."""
        y = np.ravel(np.asarray(self._eval(as_variables(x)), dtype=object))
        self._check_outputs(y)
        value, jacobian = values_and_gradient(y.tolist())
        if jacobian is None:
            return value, np.zeros((y.size, x.size))
        if jacobian.shape[1] != x.size:
            raise ValueError(
                f"{self._where()}: expected values with {x.size} derivatives, as x has, got {jacobian.shape[1]}."
            )
        return value, jacobian

    def _value_or_nan(self, x: Array, may_be_nan: bool) -> tuple[Array, Array]:
        """f and df/dx; if they may be NaN, expressions are where they are not defined, others raise what they raise."""
        return self._value_and_jacobian(x)

    def _stack_key(self) -> Any:
        """A key shared by evaluators that are one function of different variables; None without one."""
        return None

    def _merge_key(self) -> Any:
        """A key shared by evaluators that are evaluated together for the same variables; None without `_merged`."""
        return None

    def _merged(self, all: list[Any]) -> Any:
        """One evaluator whose values are those of evaluators with the same key, of which this is one."""
        raise NotImplementedError

    def _stacked(self, x: Array) -> tuple[Array, Array]:
        """f and df/dx for many x at once, shapes [N, num_vars] to [N, num_outputs] and [N, num_outputs, num_vars]."""
        values, jacobians = zip(*map(self._value_and_jacobian, x))
        return np.array(values), np.array(jacobians)

    def _is_fast_without_slopes(self, count: int) -> bool:
        """Whether `_values` at many points takes far less than `_stacked`, as with derivatives by AutoDiffXd."""
        return type(self)._value_and_jacobian is EvaluatorBase._value_and_jacobian

    def _has_curvature(self) -> bool:
        """Whether `_curvature` is right and takes little: derivatives are smooth, and known in closed form."""
        return False

    def _curvature(self, x: Array, weights: Array) -> Array:
        """Second derivatives of weights . f for many x at once, shape [N, num_vars, num_vars].

        Args:
            x: shape [N, num_vars].
            weights: shape [N, num_outputs].
        """
        return curvature_by_differences(lambda points: self._stacked(points)[1], x, weights)

    def Eval(self, x: Any) -> Any:
        """f(x): floats of floats, AutoDiffXd of AutoDiffXd, expressions of variables and expressions.

        Raises:
            ValueError: x has not num_vars entries, or a function of a user's returned another size.
        """
        x = np.ravel(np.asarray(x))
        if x.size != self._num_vars:
            raise ValueError(f"{self._where()}.Eval: expected {self._num_vars} values in x, got {x.size}.")
        if x.dtype != object:
            return self._values(x.astype(np.float64))
        y = np.ravel(np.asarray(self._eval(x), dtype=object))
        self._check_outputs(y)
        return y

    def _values(self, x: Array) -> Array:
        """f(x) of floats."""
        y = np.ravel(np.asarray(self._eval(x), dtype=np.float64))
        self._check_outputs(y)
        return y

    def _check_outputs(self, y: Objects) -> None:
        if y.size != self._num_outputs:
            raise ValueError(f"{self._where()}: expected {self._num_outputs} values of the function, got {y.size}.")

    def _where(self) -> str:
        """The kind and the name, for errors."""
        name = type(self).__name__
        return f"{name} '{self._description}'" if self._description else name

    def num_vars(self) -> int:
        """The size of x."""
        return self._num_vars

    def num_outputs(self) -> int:
        """The size of f(x)."""
        return self._num_outputs

    def get_description(self) -> str:
        """The name; empty if not set."""
        return self._description

    def set_description(self, arg0: str) -> None:
        """Sets the name that errors and lists of violated constraints have."""
        self._description = str(arg0)

    def is_thread_safe(self) -> bool:
        """Whether several threads may evaluate this at once: not if it calls a function of a user's."""
        return True

    def gradient_sparsity_pattern(self) -> list[tuple[int, int]] | None:
        """Places (row, column) of the Jacobian that may be nonzero, or None: all."""
        return None if self._sparsity is None else list(self._sparsity)

    def SetGradientSparsityPattern(self, gradient_sparsity_pattern: Iterable[tuple[int, int]]) -> None:
        """Sets the places (row, column) of the Jacobian that may be nonzero.

        Raises:
            ValueError: a place is outside of the Jacobian.
        """
        pattern = [(int(row), int(column)) for row, column in gradient_sparsity_pattern]
        for row, column in pattern:
            if not (0 <= row < self._num_outputs and 0 <= column < self._num_vars):
                raise ValueError(
                    f"{self._where()}: the place {(row, column)} is outside of the Jacobian of shape "
                    f"{(self._num_outputs, self._num_vars)}."
                )
        self._sparsity = pattern

    def ToLatex(self, vars: Any, precision: int = 3) -> str:
        """LaTeX of this for the given variables."""
        from merganser.framework.optimization.programs.texts import evaluator_latex

        return evaluator_latex(self, vars, precision)


def copies_of(evaluator: _Evaluator, descriptions: Iterable[str]) -> list[_Evaluator]:
    """Copies under names of their own, which can change by themselves."""
    copies = []
    for description in descriptions:
        copies.append(evaluator.__copy__())
        copies[-1]._description = description
    return copies


class ClosedFormEvaluator(EvaluatorBase):
    """A function that a subclass defines by `_value_and_jacobian`; of AutoDiffXd it follows by the chain rule."""

    def _value_and_jacobian(self, x: Array) -> tuple[Array, Array]:
        raise NotImplementedError

    def _eval(self, x: Any) -> Any:
        if x.dtype != object:
            return self._value_and_jacobian(x)[0]
        if not all(isinstance(each, (AutoDiffXd, float, int)) for each in x):
            raise TypeError(f"{type(self).__name__} has no symbolic form: it is a function of numbers.")
        return chained(self._value_and_jacobian, x.tolist())


class StackedEvaluator(ClosedFormEvaluator):
    """One that a subclass defines by `_stacked` and `_stack_key`, for many x at once."""

    def _value_and_jacobian(self, x: Array) -> tuple[Array, Array]:
        values, jacobians = self._stacked(x[np.newaxis])
        return values[0], jacobians[0]

    def _has_curvature(self) -> bool:
        return True

    def is_thread_safe(self) -> bool:
        """No: evaluators of one key share what they compute with."""
        return False


class AffineFunction(EvaluatorBase):
    """A function `_of` of z = Ax + b."""

    _least_rows = 0

    def _set(self, A: Any, b: Any, columns: int | None = None) -> None:
        slopes = matrix(A.toarray() if is_sparse(A) else A, self._where(), "A", None, columns)
        constants = finite(vector(b, self._where(), "b", slopes.shape[0]), self._where(), "b")
        if slopes.shape[0] < self._least_rows:
            raise ValueError(f"{self._where()}: expected at least {self._least_rows} rows, got {slopes.shape[0]}.")
        self._A, self._b = slopes, constants

    def _numbers(self) -> tuple[Any, ...]:
        return self._A, self._b

    def b(self) -> Array:
        """b of z = Ax + b, shape [m]."""
        return self._b.copy()

    def UpdateCoefficients(self, new_A: Any, new_b: Any = 0.0) -> None:
        """Sets A and b, with the same number of columns; b = 0 means zeros."""
        rows = np.atleast_2d(new_A.toarray() if is_sparse(new_A) else new_A).shape[0]
        self._set(new_A, np.zeros(rows) if np.ndim(new_b) == 0 and new_b == 0 else new_b, self._num_vars)

    def _of(self, z: Objects) -> Any:
        raise NotImplementedError

    def _eval(self, x: Objects) -> Any:
        return self._of(self._A @ x + self._b)


class QuadraticFunction(EvaluatorBase):
    """0.5 x'Qx + b'x + c, where Q is made symmetric."""

    _c = 0.0

    def _set_form(self, Q: Any, b: Any, size: int | None) -> None:
        slope = finite(vector(b, self._where(), "b", size), self._where(), "b")
        form = matrix(Q, self._where(), "Q", slope.size, slope.size)
        self._Q, self._b = 0.5 * (form + form.T), slope

    def Q(self) -> Array:
        """The symmetric matrix, shape [n, n]."""
        return self._Q.copy()

    def b(self) -> Array:
        """The slopes at 0, shape [n]."""
        return self._b.copy()

    def _eval(self, x: Objects) -> Any:
        # Of expressions in the form that pydrake prints.
        form = x @ ((0.5 * x) @ self._Q) if x.dtype == object else 0.5 * (x @ (self._Q @ x))
        return form + self._b @ x + self._c

    def _value_and_jacobian(self, x: Array) -> tuple[Array, Array]:
        Qx = self._Q @ x
        return np.array([0.5 * (x @ Qx) + self._b @ x + self._c]), (Qx + self._b)[np.newaxis]


class Cost(EvaluatorBase):
    """A function with one value, to be minimized."""

    def __init__(self, num_vars: int, description: str = "") -> None:
        super().__init__(num_vars, 1, description)


class Constraint(EvaluatorBase):
    """Bounds on a function: lower <= f(x) <= upper, where f need not be what Eval returns in subclasses for cones."""

    _lower: Array
    _upper: Array

    def __init__(self, num_vars: int, lower: Any, upper: Any, description: str = "") -> None:
        self._description = description
        self._set_bounds(lower, upper)
        super().__init__(num_vars, self._lower.size, description)

    def _set_bounds(self, lower: Any, upper: Any, size: int | None = None) -> None:
        low = vector(lower, self._where(), "the lower bound", size)
        self._upper = vector(upper, self._where(), "the upper bound", low.size)
        self._lower = low

    def _numbers(self) -> tuple[Any, ...]:
        """Arrays and numbers that may be replaced: the bounds, and of linear constraints the entries of A."""
        return self._lower, self._upper

    def lower_bound(self) -> Array:
        """The lower bound, shape [num_constraints]."""
        return self._lower.copy()

    def upper_bound(self) -> Array:
        """The upper bound, shape [num_constraints]."""
        return self._upper.copy()

    def num_constraints(self) -> int:
        """The size of the bounds."""
        return self._num_outputs

    def _gapped_rows(self) -> list[int]:
        """Rows whose derivatives vanish where they hold, so that searches also look at `_gaps`."""
        return []

    def _gaps(self, x: Array) -> tuple[Array, Array]:
        """Gaps at x that are 0 where these rows hold, and their derivatives."""
        raise NotImplementedError

    def _gap_bounds(self) -> Array:
        """What the gaps are at most, in absolute value, where these rows hold."""
        raise NotImplementedError

    def _is_at_rim(self, x: Array) -> bool:
        """Whether x satisfies this although the function has no value or no derivatives there."""
        return False

    def CheckSatisfied(self, x: Any, tol: float = 1e-6) -> Any:
        """Whether the bounds hold at x within tol; of variables, the formula that they hold."""
        y = self.Eval(x)
        if y.dtype != object:
            return bool((y >= self._lower - tol).all() and (y <= self._upper + tol).all())
        if all(isinstance(each, (AutoDiffXd, float, int)) for each in y):
            values = np.array([each.value() if isinstance(each, AutoDiffXd) else float(each) for each in y])
            return bool((values >= self._lower - tol).all() and (values <= self._upper + tol).all())
        return self._formula(y)

    def _formula(self, y: Objects) -> Any:
        from merganser.framework.symbolic import Formula, logical_and

        parts = [Formula.True_()]
        for value, low, high in zip(y, self._lower, self._upper):
            if low == high:
                parts.append(value == low)
                continue
            parts += [value >= low] if low > -np.inf else []
            parts += [value <= high] if high < np.inf else []
        return logical_and(*parts)

    def CheckSatisfiedVectorized(self, x: Any, tol: float = 1e-6) -> list[bool]:
        """Whether the bounds hold at each column of x, shape [num_vars, n]."""
        return [self.CheckSatisfied(column, tol) for column in np.asarray(x).T]


class AdjustableConstraint(Constraint):
    """A constraint whose bounds may change."""

    def set_bounds(self, new_lb: Any, new_ub: Any) -> None:
        """Sets both bounds, shape [num_constraints] each.

        Raises:
            ValueError: they have another size.
        """
        self._set_bounds(np.ravel(new_lb), np.ravel(new_ub), self._num_outputs)

    def UpdateLowerBound(self, new_lb: Any) -> None:
        """Sets the lower bound, as set_bounds()."""
        self.set_bounds(new_lb, self._upper)

    def UpdateUpperBound(self, new_ub: Any) -> None:
        """Sets the upper bound, as set_bounds()."""
        self.set_bounds(self._lower, new_ub)


class VisualizationCallback(EvaluatorBase):
    """A function that is called with the values of its variables as a solver goes; it returns nothing."""

    def __init__(self, num_vars: int, callback: Callable[[Array], None], description: str = "") -> None:
        super().__init__(num_vars, 0, description)
        self._callback = callback

    def EvalCallback(self, x: Any) -> None:
        """Calls the function."""
        self._callback(vector(x, self._where(), "x", self._num_vars))

    def _eval(self, x: Objects) -> Any:
        self.EvalCallback(x)
        return []

    def is_thread_safe(self) -> bool:
        return False
