"""Costs of a program."""

from __future__ import annotations

from typing import Any

import numpy as np

from merganser.framework.optimization.arrays import Objects, is_symbolic, matrix, objects, vector
from merganser.framework.optimization.evaluators.costs import L2NormCost, LinearCost, QuadraticCost
from merganser.framework.optimization.evaluators.evaluators import Cost
from merganser.framework.optimization.evaluators.function_evaluators import PyFunctionCost
from merganser.framework.optimization.programs.binding import Binding
from merganser.framework.optimization.programs.parsing import affine, parsed_cost, quadratic
from merganser.framework.optimization.programs.program_constraints import ProgramConstraints


class ProgramCosts(ProgramConstraints):
    """The part of MathematicalProgram that adds costs."""

    def AddCost(self, *args: Any, **kwargs: Any) -> Binding:
        """Adds a cost: an expression; (function, vars, description=""); a Cost and its vars; or a binding.

        An expression becomes a LinearCost, QuadraticCost or L2NormCost if it is one, else an ExpressionCost.
        """
        first, *rest = args or [kwargs.pop(name) for name in ("e", "func", "obj", "binding") if name in kwargs]
        vars = rest[0] if rest else kwargs.pop("vars", None)
        description = rest[1] if len(rest) > 1 else kwargs.pop("description", "")
        _refuse(kwargs, "AddCost")
        if isinstance(first, Binding):
            if not isinstance(first.evaluator(), Cost):
                raise TypeError(f"AddCost: expected a Cost, got {type(first.evaluator()).__name__}.")
            return self._add(first)
        if isinstance(first, Cost):
            return self._add(Binding(first, vars))
        if callable(first) and not is_symbolic(first):
            names = objects(vars)
            return self._add(Binding(PyFunctionCost(names.size, first, description), names))
        if is_symbolic(first) or np.ndim(first) == 0:
            return self._add(parsed_cost(first))
        raise TypeError(
            f"AddCost: expected an expression, a function, a Cost or a binding, got {type(first).__name__}."
        )

    def AddLinearCost(self, e: Any = None, *args: Any, a: Any = None, b: float = 0.0, vars: Any = None) -> Binding:
        """Adds a linear cost: an expression; (a, vars), a'vars; or (a, b, vars), a'vars + b.

        Raises:
            RuntimeError: the expression is not linear.
        """
        slope = e if a is None else a
        if is_symbolic(slope):
            slopes, constants, variables = affine([slope], "AddLinearCost")
            return self._add(Binding(LinearCost(slopes[0], constants[0]), variables))
        if len(args) == 2:
            b, vars = args
        elif args:
            b, vars = (b, args[0]) if vars is None else (args[0], vars)
        return self._add(Binding(LinearCost(slope, b), vars))

    def AddQuadraticCost(self, *args: Any, **kwargs: Any) -> Binding:
        """Adds a quadratic cost: an expression; or (Q, b, vars) or (Q, b, c, vars), 0.5 vars'Q vars + b'vars + c.

        `is_convex` says whether Q is positive semidefinite; None: it is found out.

        Raises:
            RuntimeError: the expression is not quadratic.
        """
        is_convex = kwargs.pop("is_convex", None)
        if args and isinstance(args[-1], bool):
            args, is_convex = args[:-1], args[-1]
        named: dict[str, Any] = {name: kwargs.pop(name) for name in ("e", "Q", "b", "c", "vars") if name in kwargs}
        _refuse(kwargs, "AddQuadraticCost")
        if (args and is_symbolic(args[0])) or "e" in named:
            *form, variables = quadratic(named.get("e", args[0] if args else None), "AddQuadraticCost")
            return self._add(Binding(QuadraticCost(*form, is_convex), variables))
        names = ["Q", "b", "c", "vars"] if len(args) + len(named) == 4 else ["Q", "b", "vars"]
        given: dict[str, Any] = {"c": 0.0, **named}
        given.update(zip(names, args))
        cost = QuadraticCost(given["Q"], given["b"], given["c"], is_convex)
        return self._add(Binding(cost, given["vars"]))

    def AddQuadraticErrorCost(
        self, w: Any = None, x_desired: Any = None, vars: Any = None, *, Q: Any = None
    ) -> Binding:
        """Adds (vars - x_desired)' Q (vars - x_desired), where a number w means w times the identity."""
        desired, weight = vector(x_desired, "AddQuadraticErrorCost", "x_desired"), w if Q is None else Q
        if np.ndim(weight) == 0:
            weight = float(weight) * np.eye(desired.size)
        form = matrix(weight, "AddQuadraticErrorCost", "Q", desired.size, desired.size)
        form = 0.5 * (form + form.T)
        cost = QuadraticCost(2.0 * form, -2.0 * form @ desired, float(desired @ form @ desired))
        return self._add(Binding(cost, vars))

    def Add2NormSquaredCost(self, A: Any, b: Any, vars: Any) -> Binding:
        """Adds |A vars - b|^2."""
        rows = matrix(A, "Add2NormSquaredCost", "A")
        right = vector(b, "Add2NormSquaredCost", "b", rows.shape[0])
        cost = QuadraticCost(2.0 * rows.T @ rows, -2.0 * rows.T @ right, float(right @ right), is_convex=True)
        return self._add(Binding(cost, vars))

    def AddL2NormCost(self, A: Any = None, b: Any = None, vars: Any = None, *, e: Any = None,
                      psd_tol: float = 1e-8, coefficient_tol: float = 1e-8) -> Binding:  # fmt: skip
        """Adds |A vars + b|, or an expression that is such a length.

        Raises:
            RuntimeError: the expression is not a length of an affine expression.
        """
        expression = A if e is None and is_symbolic(A) else e
        if expression is None:
            return self._add(Binding(L2NormCost(A, b), vars))
        from merganser.framework.symbolic import DecomposeL2NormExpression

        is_norm, A, b, vars = DecomposeL2NormExpression(expression, psd_tol, coefficient_tol)
        if not is_norm:
            raise RuntimeError(
                f"AddL2NormCost: the expression {expression} is not the root of a positive quadratic form."
            )
        return self._add(Binding(L2NormCost(A, b), vars))

    def AddL2NormCostUsingConicConstraint(self, A: Any, b: Any, vars: Any) -> tuple[Any, Binding, Binding]:
        """Adds |A vars + b| as a new variable, its cost and a Lorentz cone."""
        slack = self.NewContinuousVariables(1, "slack")
        rows = matrix(A, "AddL2NormCostUsingConicConstraint", "A")
        cost = self.AddLinearCost(np.ones(1), slack)
        zeros = np.zeros((rows.shape[0], 1))
        cone = self.AddLorentzConeConstraint(
            np.block([[np.ones((1, 1)), np.zeros((1, rows.shape[1]))], [zeros, rows]]),
            np.concatenate(([0.0], vector(b, "AddL2NormCostUsingConicConstraint", "b", rows.shape[0]))),
            np.concatenate((slack, objects(vars))),
        )
        return slack[0], cost, cone

    def AddL1NormCostInEpigraphForm(self, A: Any, b: Any, vars: Any) -> tuple[Objects, Binding, Binding]:
        """Adds the sum of |A vars + b| as new variables s, their sum and -s <= A vars + b <= s."""
        rows = matrix(A, "AddL1NormCostInEpigraphForm", "A")
        count = rows.shape[0]
        right = vector(b, "AddL1NormCostInEpigraphForm", "b", count)
        slack = self.NewContinuousVariables(count, "slack")
        cost = self.AddLinearCost(np.ones(count), slack)
        bounds = self.AddLinearConstraint(
            np.block([[rows, -np.eye(count)], [rows, np.eye(count)]]),
            np.concatenate((np.full(count, -np.inf), -right)),
            np.concatenate((-right, np.full(count, np.inf))),
            np.concatenate((objects(vars), slack)),
        )
        return slack, cost, bounds


def _refuse(kwargs: dict[str, Any], where: str) -> None:
    if kwargs:
        raise TypeError(f"{where}: unknown arguments {', '.join(kwargs)}.")
