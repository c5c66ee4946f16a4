"""Constraints of a program."""

from __future__ import annotations

from typing import Any

import numpy as np

from merganser.framework.optimization.arrays import Array, Objects, is_sparse, is_symbolic, matrix, objects, vector
from merganser.framework.optimization.evaluators.cone_constraints import (
    ExponentialConeConstraint,
    LinearMatrixInequalityConstraint,
    LorentzConeConstraint,
    PositiveSemidefiniteConstraint,
    RotatedLorentzConeConstraint,
)
from merganser.framework.optimization.evaluators.evaluators import Constraint
from merganser.framework.optimization.evaluators.function_evaluators import PyFunctionConstraint
from merganser.framework.optimization.evaluators.linear_constraints import (
    BoundingBoxConstraint,
    LinearConstraint,
    LinearEqualityConstraint,
)
from merganser.framework.optimization.evaluators.quadratic_constraints import (
    LinearComplementarityConstraint,
    QuadraticConstraint,
)
from merganser.framework.optimization.programs.binding import Binding
from merganser.framework.optimization.programs.parsing import (
    affine,
    linear_constraint,
    lorentz,
    not_of_kind,
    parsed_constraint,
    parsed_formulas,
    quadratic,
)
from merganser.framework.optimization.programs.program_bindings import ProgramBindings
from merganser.framework.symbolic.expression import Expression
from merganser.framework.symbolic.formula import Formula


def _is_formula(value: Any) -> bool:
    return hasattr(value, "GetFreeVariables") and not is_symbolic(value)


def _are_formulas(value: Any) -> bool:
    entries = objects(value) if isinstance(value, (list, tuple, np.ndarray)) else [value]
    return len(entries) > 0 and all(_is_formula(each) or isinstance(each, (bool, np.bool_)) for each in entries)


def _are_expressions(value: Any) -> bool:
    if isinstance(value, np.ndarray) and value.dtype != object:
        return False
    return is_symbolic(value) or (
        isinstance(value, (list, tuple, np.ndarray)) and any(is_symbolic(each) for each in objects(value))
    )


def _in_order(args: tuple[Any, ...], kwargs: dict[str, Any], names: tuple[str, ...], where: str) -> list[Any]:
    """Arguments in the order of `names`, wherever they were given."""
    rest = iter(args)
    given = [kwargs.pop(name) if name in kwargs else next(rest, None) for name in names]
    if kwargs or next(rest, None) is not None:
        raise TypeError(f"{where}: expected the arguments {', '.join(names)}; got others: {', '.join(kwargs)}.")
    return given


class ProgramConstraints(ProgramBindings):
    """The part of MathematicalProgram that adds constraints."""

    def AddConstraint(self, *args: Any, **kwargs: Any) -> Binding:
        """Adds a constraint of the tightest class.

        Takes a formula or an array of them; expressions with bounds (e, lb, ub); a function of a user's
        (func, lb, ub, vars, description=""); a Constraint and its vars; or a binding.

        Raises:
            RuntimeError: a formula is always false, or no relation.
        """
        first_names = ("func", "constraint", "binding", "formulas")
        first, *rest = [*(kwargs.pop(name) for name in first_names if name in kwargs), *args]
        if isinstance(first, Binding):
            if not isinstance(first.evaluator(), Constraint):
                raise TypeError(f"AddConstraint: expected a Constraint, got {type(first.evaluator()).__name__}.")
            return self._add(first)
        if isinstance(first, Constraint):
            (vars,) = _in_order(tuple(rest), kwargs, ("vars",), "AddConstraint")
            return self._add(Binding(first, vars))
        if callable(first):
            names = ("lb", "ub", "vars", "description")
            lower, upper, vars, description = _in_order(tuple(rest), kwargs, names, "AddConstraint")
            variables = objects(vars)
            constraint = PyFunctionConstraint(variables.size, first, lower, upper, description or "")
            return self._add(Binding(constraint, variables))
        if _are_formulas(first):
            return self._add(parsed_formulas(_without_bools(first)))
        if _are_expressions(first):
            lower, upper = _in_order(tuple(rest), kwargs, ("lb", "ub"), "AddConstraint")
            return self._add(parsed_constraint(first, lower, upper))
        raise TypeError(
            "AddConstraint: expected a formula, expressions with bounds, a function, a Constraint or a binding, got "
            f"{type(first).__name__}."
        )

    def AddBoundingBoxConstraint(self, lb: Any, ub: Any, vars: Any) -> Binding:
        """Adds lb <= vars <= ub, for numbers or arrays of the shape of vars."""
        variables = objects(vars)
        low, high = ([bound] * variables.size if np.ndim(bound) == 0 else bound for bound in (lb, ub))
        return self._add(Binding(BoundingBoxConstraint(low, high), variables))

    def AddLinearConstraint(
        self, A: Any = None, lb: Any = None, ub: Any = None, vars: Any = None, **others: Any
    ) -> Binding:
        """Adds a linear constraint: (A, lb, ub, vars); expressions with bounds (e, lb, ub); or formulas.

        Raises:
            RuntimeError: it is not linear.
        """
        if others:
            if len(others) > 1 or A is not None or not others.keys() <= {"a", "e", "v", "f", "formulas"}:
                raise TypeError(f"AddLinearConstraint: unknown arguments {', '.join(others)}.")
            (A,) = others.values()
        if vars is not None:
            low = lb if np.ndim(lb) else [lb]
            high = ub if np.ndim(ub) else [ub]
            return self._add(Binding(LinearConstraint(A, low, high), vars))
        if not _are_expressions(A):
            return self._linear(parsed_formulas(_without_bools(A)), "AddLinearConstraint")
        binding = linear_constraint(A, _flat(lb), _flat(ub))
        if binding is None:
            raise not_of_kind(A, "linear", "AddLinearConstraint")
        return self._add(binding)

    def _linear(self, binding: Binding, where: str) -> Binding:
        if not isinstance(binding.evaluator(), LinearConstraint):
            raise RuntimeError(f"{where}: not linear: {binding.brief()}.")
        return self._add(binding)

    def AddLinearEqualityConstraint(self, *args: Any, **kwargs: Any) -> Binding:
        """Adds a linear equation: (Aeq, beq, vars), expressions with values (e, b), or formulas.

        Raises:
            RuntimeError: it is not linear, or a formula is no equation.
        """
        aliases = {"a": "Aeq", "e": "Aeq", "v": "Aeq", "f": "Aeq", "formulas": "Aeq", "b": "beq"}
        kwargs = {aliases.get(name, name): value for name, value in kwargs.items()}
        A, right, vars = _in_order(args, kwargs, ("Aeq", "beq", "vars"), "AddLinearEqualityConstraint")
        if vars is not None:
            return self._add(Binding(LinearEqualityConstraint(A, right), vars))
        if right is None:
            binding = parsed_formulas(_without_bools(A))
            if not isinstance(binding.evaluator(), LinearEqualityConstraint):
                raise RuntimeError(f"AddLinearEqualityConstraint: expected linear equations, got {binding.brief()}.")
            return self._add(binding)
        slopes, constants, variables = affine(A, "AddLinearEqualityConstraint")
        values = vector(np.ravel(right, order="F"), "AddLinearEqualityConstraint", "b", constants.size)
        return self._add(Binding(LinearEqualityConstraint(slopes, values - constants), variables))

    def AddQuadraticConstraint(self, *args: Any, **kwargs: Any) -> Binding:
        """Adds lb <= 0.5 vars'Q vars + b'vars <= ub: (Q, b, lb, ub, vars), or an expression (e, lb, ub).

        Raises:
            RuntimeError: the expression is not quadratic.
        """
        kind = kwargs.pop("hessian_type", None)
        if args and isinstance(args[-1], QuadraticConstraint.HessianType):
            args, kind = args[:-1], args[-1]
        if (args and is_symbolic(args[0])) or "e" in kwargs:
            expression, lower, upper = _in_order(args, kwargs, ("e", "lb", "ub"), "AddQuadraticConstraint")
            Q, b, c, vars = quadratic(expression, "AddQuadraticConstraint")
            return self._add(Binding(QuadraticConstraint(Q, b, lower - c, upper - c, kind), vars))
        names = ("Q", "b", "lb", "ub", "vars")
        Q, b, lower, upper, vars = _in_order(args, kwargs, names, "AddQuadraticConstraint")
        return self._add(Binding(QuadraticConstraint(Q, b, lower, upper, kind), vars))

    def AddQuadraticAsRotatedLorentzConeConstraint(
        self, Q: Any, b: Any, c: float, vars: Any, psd_tol: float = 0.0
    ) -> Binding:
        """Adds 0.5 vars'Q vars + b'vars + c <= 0, where Q is positive semidefinite, as a rotated Lorentz cone."""
        where = "AddQuadraticAsRotatedLorentzConeConstraint"
        slope = vector(b, where, "b")
        root = square_root(matrix(Q, where, "Q", slope.size, slope.size), psd_tol, where)
        # (-b'x - c) 1 >= 0.5 |root x|^2
        A = np.vstack((np.zeros(slope.size), -slope, root / np.sqrt(2.0)))
        constants = np.concatenate(([1.0, -float(c)], np.zeros(root.shape[0])))
        return self._add(Binding(RotatedLorentzConeConstraint(A, constants), vars))

    def AddLorentzConeConstraint(self, *args: Any, **kwargs: Any) -> Binding:
        """Adds z0 >= |(z1, ...)|.

        Takes expressions z (v), a matrix (A, b, vars) of z = A vars + b, a formula |...| <= affine, or an affine and a
        quadratic expression (linear_expression, quadratic_expression, tol=0), affine >= sqrt(quadratic).

        Raises:
            RuntimeError: expressions have no such form.
        """
        kind = kwargs.pop("eval_type", LorentzConeConstraint.EvalType.kConvexSmooth)
        if args and isinstance(args[-1], LorentzConeConstraint.EvalType):
            args, kind = args[:-1], args[-1]
        tolerances = {name: kwargs.pop(name) for name in ("psd_tol", "coefficient_tol") if name in kwargs}
        args = (*args, *(kwargs.pop(name) for name in ("f", "v", "linear_expression", "A") if name in kwargs))
        first, rest = args[0], tuple(args[1:])
        if _is_formula(first):
            binding = parsed_formulas(first, **tolerances)
            if not isinstance(binding.evaluator(), LorentzConeConstraint):
                raise RuntimeError(
                    f"AddLorentzConeConstraint: the formula {first} is not a length below an affine expression."
                )
            return self._add(binding)
        if is_symbolic(first):
            names = ("quadratic_expression", "tol")
            form, tolerance = _in_order(rest, kwargs, names, "AddLorentzConeConstraint")
            bound = affine([first], "AddLorentzConeConstraint")
            return self._add(lorentz(bound, *_lengths(form, tolerance or 0.0, "AddLorentzConeConstraint")))
        A, b, vars = _affine_of(first, rest, kwargs, "AddLorentzConeConstraint")
        return self._add(Binding(LorentzConeConstraint(A, b, kind), vars))

    def AddRotatedLorentzConeConstraint(self, *args: Any, **kwargs: Any) -> Binding:
        """Adds z0 z1 >= z2^2 + ..., z0 >= 0, z1 >= 0.

        Takes expressions z (v), a matrix (A, b, vars) of z = A vars + b, or two affine expressions and a quadratic one
        (linear_expression1, linear_expression2, quadratic_expression, tol=0), which is at most their product.
        """
        where = "AddRotatedLorentzConeConstraint"
        args = (*args, *(kwargs.pop(name) for name in ("v", "linear_expression1", "A") if name in kwargs))
        first, rest = args[0], tuple(args[1:])
        if is_symbolic(first):
            names = ("linear_expression2", "quadratic_expression", "tol")
            second, form, tolerance = _in_order(rest, kwargs, names, where)
            rows, constants, variables = _lengths(form, tolerance or 0.0, where)
            parts = [first, second, *(np.asarray(rows) @ variables + constants)]
            first, rest = np.array(parts, dtype=object), ()
        A, b, vars = _affine_of(first, rest, kwargs, where)
        return self._add(Binding(RotatedLorentzConeConstraint(A, b), vars))

    def AddExponentialConeConstraint(self, *args: Any, **kwargs: Any) -> Binding:
        """Adds z0 >= z1 exp(z2 / z1), z1 > 0: of expressions z, or (A, b, vars) of z = A vars + b."""
        args = (*args, *(kwargs.pop(name) for name in ("z", "A") if name in kwargs))
        A, b, vars = _affine_of(args[0], tuple(args[1:]), kwargs, "AddExponentialConeConstraint")
        return self._add(Binding(ExponentialConeConstraint(A, b), vars))

    def AddPositiveSemidefiniteConstraint(self, X: Any) -> Binding:
        """Adds that a symmetric matrix of variables, or of affine expressions, is positive semidefinite.

        Expressions become new variables that equal them.

        Raises:
            ValueError: the matrix is not square, or not symmetric.
        """
        entries = _symmetric(X, "AddPositiveSemidefiniteConstraint")
        rows = entries.shape[0]
        if not all(hasattr(each, "get_type") for each in entries.flat):
            slack = self.NewSymmetricContinuousVariables(rows)
            lower = np.tril_indices(rows)
            self.AddLinearEqualityConstraint(entries[lower] - slack[lower], np.zeros(len(lower[0])))
            entries = slack
        return self._add(Binding(PositiveSemidefiniteConstraint(rows), entries.ravel("F")))

    def AddPrincipalSubmatrixIsPsdConstraint(self, arg0: Any, arg1: set[int]) -> Binding:
        """Adds that the rows and columns `arg1` of a symmetric matrix are positive semidefinite."""
        kept = sorted(arg1)
        entries = np.asarray(arg0, dtype=object)[np.ix_(kept, kept)]
        if all(hasattr(each, "get_type") for each in entries.flat):
            return self.AddPositiveSemidefiniteConstraint(entries)
        return self.AddLinearMatrixInequalityConstraint(entries)

    def AddLinearMatrixInequalityConstraint(self, F: Any = None, vars: Any = None, *, X: Any = None) -> Binding:
        """Adds F[0] + vars[0] F[1] + ... positive semidefinite: (F, vars), or X, a matrix of affine expressions.

        Raises:
            RuntimeError: the expressions are not affine.
        """
        if vars is not None:
            return self._add(Binding(LinearMatrixInequalityConstraint(F), vars))
        entries = _symmetric(F if X is None else X, "AddLinearMatrixInequalityConstraint")
        slopes, constants, variables = affine(entries.ravel("F"), "AddLinearMatrixInequalityConstraint")
        matrices = [column.reshape(entries.shape, order="F") for column in (constants, *slopes.T)]
        return self._add(Binding(LinearMatrixInequalityConstraint(matrices), variables))

    def AddLinearComplementarityConstraint(self, M: Any, q: Any, vars: Any) -> Binding:
        """Adds vars >= 0, M vars + q >= 0 and vars'(M vars + q) = 0."""
        return self._add(Binding(LinearComplementarityConstraint(M, q), vars))


def _flat(values: Any) -> Any:
    return np.ravel(np.asarray(values, dtype=np.float64), order="F")


def _without_bools(formulas: Any) -> Any:
    """Formulas, where comparisons of numbers have left bools."""
    if not isinstance(formulas, (list, tuple, np.ndarray)):
        return formulas
    return [Formula(bool(each)) if isinstance(each, (bool, np.bool_)) else each for each in objects(formulas)]


def _affine_of(first: Any, rest: tuple[Any, ...], kwargs: dict[str, Any], where: str) -> tuple[Any, Array, Objects]:
    """A, b and vars, as they were given or of expressions."""
    if is_sparse(first) or not _are_expressions(first):
        b, vars = _in_order(rest, kwargs, ("b", "vars"), where)
        return first, b, vars
    return affine(first, where)


def _lengths(e: Any, tolerance: float, where: str) -> tuple[Array, Array, Objects]:
    """R, d and the variables of a quadratic expression |R vars + d|^2."""
    Q, b, c, variables = quadratic(e, where)
    # [x; 1]' [Q/2 b/2; b'/2 c] [x; 1]
    whole = np.block([[Q / 2.0, b[:, np.newaxis] / 2.0], [b[np.newaxis] / 2.0, np.array([[c]])]])
    root = square_root(whole, tolerance, where)
    return root[:, :-1], root[:, -1], variables


def square_root(Q: Array, tolerance: float, where: str) -> Array:
    """R of full rank with R'R = Q.

    Raises:
        RuntimeError: Q has an eigenvalue below 0, further than the tolerance and rounding.
    """
    values, vectors = np.linalg.eigh(0.5 * (Q + Q.T))
    margin = max(tolerance, 1e-12 * float(np.abs(values).max(initial=0.0)))
    if values.min(initial=0.0) < -margin:
        raise RuntimeError(f"{where}: the quadratic form is not positive semidefinite: eigenvalue {values.min():.6g}.")
    kept = values > margin
    return np.asarray((vectors[:, kept] * np.sqrt(values[kept])).T)


def root_of_form(Q: Array, where: str) -> Array:
    """R with R'R = Q of a symmetric matrix, positive semidefinite but for rounding, whatever the units of variables.

    Raises:
        RuntimeError: Q has a negative eigenvalue.
    """
    sizes = np.sqrt(np.maximum(Q.diagonal(), 0.0))
    sizes[sizes == 0.0] = 1.0
    return square_root(Q / np.outer(sizes, sizes), 1e-9, where) * sizes


def _symmetric(X: Any, where: str) -> Objects:
    entries = np.asarray(X, dtype=object)
    if entries.ndim != 2 or entries.shape[0] != entries.shape[1]:
        raise ValueError(f"{where}: expected a square matrix, got the shape {entries.shape}.")
    for i, j in zip(*np.tril_indices(entries.shape[0], -1)):
        a, b = entries[i, j], entries[j, i]
        if a is not b and not _equal(a, b):
            raise ValueError(f"{where}: the matrix is not symmetric: entry ({i}, {j}) is {a} and ({j}, {i}) is {b}.")
    return entries


def _equal(a: Any, b: Any) -> bool:
    if not is_symbolic(a) and not is_symbolic(b):
        return bool(a == b)
    return Expression(a).EqualTo(b)
