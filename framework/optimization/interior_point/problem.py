"""The problem, settings and result of an interior-point solve."""

from __future__ import annotations

import enum
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]

_BOUNDS = ("x_lower", "x_upper", "g_lower", "g_upper")
_PLACES = ("jacobian_rows", "jacobian_columns", "hessian_rows", "hessian_columns")


def _none() -> Array:
    return np.zeros(0)


@dataclass(frozen=True)
class NonlinearProblem:
    """min f(x) subject to g_lower <= g(x) <= g_upper and x_lower <= x <= x_upper.

    Attributes:
        x_lower, x_upper: bounds of the n variables, shape [n]; equal ones fix a variable, infinite ones are none.
        f: the cost; None for 0.
        gradient: of f, shape [n]; needed if there is a cost.
        g_lower, g_upper: bounds of the m constraints, shape [m]; equal ones make an equation.
        g: the constraints, shape [m].
        jacobian: entries of dg/dx, in the order of the pattern.
        jacobian_rows, jacobian_columns: their indices; entries with the same indices are added up.
        hessian: entries of the lower triangle of the Hessian of sigma f(x) + y . g(x), as a function of (x, sigma, y);
            None for a quasi-Newton approximation.
        hessian_rows, hessian_columns: their indices; entries with the same indices are added up.

    Arrays are copied, and cannot be written to.

    Raises:
        ValueError: If sizes do not fit, a bound is NaN or a lower one exceeds the upper one, or a place is outside.
    """

    x_lower: Array
    x_upper: Array
    f: Callable[[Array], float] | None = None
    gradient: Callable[[Array], Array] | None = None
    g_lower: Array = field(default_factory=_none)
    g_upper: Array = field(default_factory=_none)
    g: Callable[[Array], Array] | None = None
    jacobian: Callable[[Array], Array] | None = None
    jacobian_rows: Array = field(default_factory=_none)
    jacobian_columns: Array = field(default_factory=_none)
    hessian: Callable[[Array, float, Array], Array] | None = None
    hessian_rows: Array = field(default_factory=_none)
    hessian_columns: Array = field(default_factory=_none)

    def __post_init__(self) -> None:
        for name in _BOUNDS:
            object.__setattr__(self, name, np.array(getattr(self, name), float).reshape(-1))
        for name in _PLACES:
            object.__setattr__(self, name, np.array(getattr(self, name), np.int64).reshape(-1))
        for name in (*_BOUNDS, *_PLACES):
            getattr(self, name).setflags(write=False)
        n, m = len(self.x_lower), len(self.g_lower)
        for what, low, high in (("x", self.x_lower, self.x_upper), ("g", self.g_lower, self.g_upper)):
            if low.shape != high.shape:
                raise ValueError(f"{what}_lower has {len(low)} elements and {what}_upper {len(high)}: give as many.")
            for i in np.flatnonzero(~(low <= high) | (low == np.inf) | (high == -np.inf)):
                raise ValueError(f"The bounds of {what}[{i}] are {low[i]} and {high[i]}: no number is between them.")
        if m and (self.g is None or self.jacobian is None):
            raise ValueError(f"There are bounds for {m} constraints: give g and jacobian.")
        if self.f is not None and self.gradient is None:
            raise ValueError("There is a cost f: give its gradient.")
        _check_places("jacobian", self.jacobian_rows, self.jacobian_columns, m, n)
        _check_places("hessian", self.hessian_rows, self.hessian_columns, n, n)


def _check_places(what: str, rows: Array, columns: Array, num_rows: int, num_columns: int) -> None:
    if len(rows) != len(columns):
        raise ValueError(f"{what}_rows has {len(rows)} elements and {what}_columns {len(columns)}.")
    bad = (rows < 0) | (rows >= num_rows) | (columns < 0) | (columns >= num_columns)
    for k in np.flatnonzero(bad):
        raise ValueError(
            f"Entry {k} of the {what} is at ({rows[k]}, {columns[k]}), outside of its {num_rows} rows and "
            f"{num_columns} columns."
        )


class Status(enum.Enum):
    """How a solve ended."""

    SOLVED = "solved"
    ACCEPTABLE = "solved to the acceptable tolerance"
    INFEASIBLE = "at a point that is locally least infeasible"
    UNBOUNDED = "the iterates diverge"
    ITERATION_LIMIT = "iteration limit"
    NO_PROGRESS = "no step makes progress"
    NOT_FINITE = "a callback returned NaN or infinity where it must not"
    STOPPED = "the callback asked to stop"


@dataclass(frozen=True)
class Settings:
    """Tolerances and limits, under the names they have in IPOPT.

    Attributes:
        tol: of the scaled optimality conditions.
        dual_inf_tol, constr_viol_tol, compl_inf_tol: of each of the unscaled ones.
        acceptable_tol, acceptable_iter: a point this good ends the solve when as many iterations found no better one.
        max_iter: iterations, those of feasibility restoration included.
        mu_init: first weight of the barrier. IPOPT's is 0.1, which leads motions through splines far away at first.
        bound_push, bound_frac: how far from its bounds the solve starts: absolutely, and as part of their distance.
        bound_relax_factor: relative amount by which bounds are relaxed while solving, so that they have an inside.
        diverging_iterates_tol: a variable beyond it means that the problem is unbounded. IPOPT's is 1e20, but rounding
            of numbers beyond 1e12 is more than constr_viol_tol.
        nlp_scaling_max_gradient: the cost and the constraints are scaled down to gradients of this size at the start.
        limited_memory_max_history: pairs of the quasi-Newton approximation, at most a fifth of the variables, or 6.
            IPOPT's is 6; motions by collocation take a third to four fifths fewer iterations with 20.
        print_level: 0 for nothing, 5 for a line each iteration.
    """

    tol: float = 1e-8
    dual_inf_tol: float = 1.0
    constr_viol_tol: float = 1e-4
    compl_inf_tol: float = 1e-4
    acceptable_tol: float = 1e-6
    acceptable_iter: int = 15
    max_iter: int = 3000
    mu_init: float = 1e-2
    bound_push: float = 1e-2
    bound_frac: float = 1e-2
    bound_relax_factor: float = 1e-8
    diverging_iterates_tol: float = 1e12
    nlp_scaling_max_gradient: float = 100.0
    limited_memory_max_history: int = 20
    print_level: int = 0


@dataclass(frozen=True)
class Progress:
    """One iteration, as callbacks see it: its number, cost, largest violation, dual residual, and barrier weight."""

    iteration: int
    cost: float
    violation: float
    dual_residual: float
    mu: float
    is_restoration: bool


@dataclass(frozen=True)
class Result:
    """The result of a solve.

    Attributes:
        x: the last point, within its bounds, shape [n].
        cost: f(x).
        g: constraints there, shape [m].
        g_multipliers: y with grad f + J^T y - x_lower_multipliers + x_upper_multipliers = 0 at an optimum, shape [m].
        x_lower_multipliers, x_upper_multipliers: of the bounds, not negative, shape [n].
        iterations: taken, those of restoration included.
        violation: the largest violation of a constraint or bound.
        dual_residual: the largest element of the gradient of the Lagrangian.
        complementarity: the largest product of a multiplier with its distance to the bound.
    """

    status: Status
    x: Array
    cost: float
    g: Array
    g_multipliers: Array
    x_lower_multipliers: Array
    x_upper_multipliers: Array
    iterations: int
    violation: float
    dual_residual: float
    complementarity: float

    def is_success(self) -> bool:
        """Whether the optimality conditions hold, to the acceptable tolerance at least."""
        return self.status in (Status.SOLVED, Status.ACCEPTABLE)
