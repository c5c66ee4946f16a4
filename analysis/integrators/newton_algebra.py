"""The algebra of Newton iterations: differences, factors, changes of the stages; in compiled code and in Python.

Compiled forms factor small matrices themselves, real or complex by one source: P A = L U with partial pivoting (Golub
and Van Loan 2013, algorithm 3.4.1, by columns). Matrices are stored by columns: a[j, i] is the element in row i and
column j. Then the innermost loops run over neighbours, without sums that would have to be taken in order, and use the
processor's vectors. A singular matrix gives solutions that are not finite. From some 30 rows on LAPACK's blocked
algorithms are faster; in Python it factors large systems and states of complex numbers. Equation numbers are those of
newton.py.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from merganser.analysis.integrators.newton_arrays import ConjugatePair, RealEigenvalue, SolverArrays, newton_of
from merganser.framework.native import compiled_form, device

if TYPE_CHECKING:
    from merganser.analysis.integrators.implicit import ImplicitIntegrator


@device
def factor_shifted(
    # In:
    mu: Any,  # real or complex
    J_in: Any,  # real matrix, by columns, shape [n, n]
    # Out:
    lu_out: Any,  # factors of mu I - J, with the inverse pivots on the diagonal, by columns, shape [n, n]
    pivots_out: Any,  # row that row k was exchanged with, shape [n]
) -> None:
    """Factors mu I - J."""
    n = len(J_in)
    for j in range(n):
        for i in range(n):
            lu_out[j, i] = -J_in[j, i]
        lu_out[j, j] += mu
    for k in range(n):
        pivot, largest = k, -1.0
        for i in range(k, n):
            value = lu_out[k, i]
            size = abs(value.real) + abs(value.imag)  # good enough to choose pivots
            if size > largest:
                pivot, largest = i, size
        pivots_out[k] = pivot
        if pivot != k:
            for j in range(n):
                lu_out[j, k], lu_out[j, pivot] = lu_out[j, pivot], lu_out[j, k]
        # No exception, nor a wrong answer: what follows from nan is nan.
        lu_out[k, k] = 1.0 / lu_out[k, k] if largest > 0.0 else math.nan * lu_out[k, k]
        inverse = lu_out[k, k]
        for i in range(k + 1, n):
            lu_out[k, i] *= inverse
        for j in range(k + 1, n):
            factor = lu_out[j, k]
            for i in range(k + 1, n):
                lu_out[j, i] -= lu_out[k, i] * factor


@device
def solve_factored(
    # In:
    lu_in: Any,  # by columns, shape [n, n]
    pivots_in: Any,  # shape [n]
    # In and out:
    x_out: Any,  # right-hand side, overwritten by the solution, shape [n]
) -> None:
    """Solves with the factors of `factor_shifted`."""
    n = len(lu_in)
    for k in range(n):
        pivot = pivots_in[k]
        if pivot != k:
            x_out[k], x_out[pivot] = x_out[pivot], x_out[k]
    for k in range(n):
        x_k = x_out[k]
        for i in range(k + 1, n):
            x_out[i] -= lu_in[k, i] * x_k
    for k in range(n - 1, -1, -1):
        x_out[k] *= lu_in[k, k]
        x_k = x_out[k]
        for i in range(k):
            x_out[i] -= lu_in[k, i] * x_k


Array = NDArray[Any]


def difference(column_out: Array, up: Array, down: Array, width: float) -> None:
    """A column of the Jacobian."""
    np.divide(up.real - down.real, width, column_out)


@compiled_form(difference)
def _difference(column_out: Array, up: Array, down: Array, width: float) -> None:
    for i in range(len(up)):
        column_out[i] = (up[i] - down[i]) / width


def factor(p: ImplicitIntegrator, solver: Any, J: Array, h: float) -> None:
    """Factors the matrices of (2)."""
    for part in _parts(solver):
        p._linear_algebra.factor(part.value[0] / h, J, part.lu, part.pivots)


@compiled_form(factor)
def _factor(p: int, solver: Any, J: Array, h: float) -> None:
    real, pair = solver.real, solver.pair
    mu, complex_mu = real.value[0], pair.value[0]
    if mu != 0.0:
        factor_shifted(mu / h, J, real.lu, real.pivots)
    if complex_mu != 0.0:
        factor_shifted(complex_mu / h, J, pair.lu, pair.pivots)


def improve(p: ImplicitIntegrator, solver: Any, h: float) -> float:
    """Adds the dz of (2) to the stages; returns its largest magnitude, nan if a value is not finite."""
    z, xdot = solver.z, solver.xdot
    if not np.isfinite(xdot).all():
        return math.nan
    dz = _change(p, solver, xdot.real, z.real, h)
    if z.dtype.kind == "c":  # J is real: the two parts do not mix
        dz = dz + 1j * _change(p, solver, xdot.imag, z.imag, h)
    z += dz
    size = float(np.abs(dz).max())
    return size if math.isfinite(size) else math.nan


def _change(p: ImplicitIntegrator, solver: SolverArrays, xdot: Array, z: Array, h: float) -> Array:
    newton, dz = newton_of(p), np.zeros(z.shape)
    J = newton.J_iteration if newton.knobs["is_full_newton"] else newton.J
    for part in _parts(solver):
        mu = part.value[0] / h
        residual = part.T_inverse @ xdot - mu * (part.T_inverse @ z)
        dw = p._linear_algebra.solve(mu, J, part.lu, part.pivots, residual)
        dz += np.outer(part.T_column, dw).real
    return dz


def _parts(solver: SolverArrays) -> list[RealEigenvalue | ConjugatePair]:
    """The existing eigenvalues."""
    parts: tuple[RealEigenvalue | ConjugatePair, ...] = solver.real, solver.pair
    return [part for part in parts if part.value[0] != 0.0]


@compiled_form(improve)
def _improve(p: int, solver: Any, h: float) -> float:
    z, xdot, real, pair = solver.z, solver.xdot, solver.real, solver.pair
    num_stages, n = z.shape
    for k in range(num_stages):
        for j in range(n):
            if not math.isfinite(xdot[k, j]):
                return math.nan
    has_real, has_complex = real.value[0] != 0.0, pair.value[0] != 0.0
    dw, complex_dw = newton_of(p).residual, newton_of(p).residual_complex
    if has_real:
        _residual(real, h, xdot, z, dw)
        solve_factored(real.lu, real.pivots, dw)
    if has_complex:
        _residual(pair, h, xdot, z, complex_dw)
        solve_factored(pair.lu, pair.pivots, complex_dw)
    T_column, complex_T_column = real.T_column, pair.T_column
    size = 0.0
    for k in range(num_stages):
        t, complex_t = T_column[k], complex_T_column[k]
        for j in range(n):
            dz = t * dw[j] if has_real else 0.0
            if has_complex:
                dz += complex_t.real * complex_dw[j].real - complex_t.imag * complex_dw[j].imag
            z[k, j] += dz
            if not math.isfinite(dz):
                return math.nan
            size = max(size, abs(dz))
    return size


@device
def _residual(
    # In:
    part: Any,  # RealEigenvalue or ConjugatePair
    h: float,
    xdot: Array,  # derivatives at the stages, shape [stages, n]
    z: Array,  # shape [stages, n]
    # Out:
    residual_out: Array,  # shape [n]
) -> None:
    """The right-hand side of (2)."""
    mu, T_inverse = part.value[0] / h, part.T_inverse
    for j in range(z.shape[1]):
        from_f = T_inverse[0] * xdot[0, j]
        from_z = T_inverse[0] * z[0, j]
        for k in range(1, len(z)):
            from_f += T_inverse[k] * xdot[k, j]
            from_z += T_inverse[k] * z[k, j]
        residual_out[j] = from_f - mu * from_z
