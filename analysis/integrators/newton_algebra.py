"""The algebra of Newton iterations: differences, factors, changes of the stages; in compiled code and in Python.

Compiled forms factor small matrices themselves (small_lu.py). In Python LAPACK does, for large systems and for states
of complex numbers. Equation numbers are those of newton.py.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from merganser.analysis.integrators import newton_arrays as a
from merganser.analysis.integrators.problem import (
    complex_matrix,
    complex_vector,
    integer_vector,
    matrix,
    vector,
)
from merganser.analysis.integrators.small_lu import factor_shifted, solve_factored
from merganser.framework.native import compiled_form, device

if TYPE_CHECKING:
    from merganser.analysis.integrators.implicit import ImplicitIntegrator

__all__ = ["difference", "factor", "improve"]

Array = NDArray[Any]


def difference(column_out: Array, up: Array, down: Array, width: float) -> None:
    """A column of the Jacobian."""
    np.divide(up.real - down.real, width, column_out)


@compiled_form(difference)
def _difference(column_out: Array, up: Array, down: Array, width: float) -> None:
    for i in range(len(up)):
        column_out[i] = (up[i] - down[i]) / width


def factor(p: ImplicitIntegrator, solver: int, J: Array, h: float) -> None:
    """Factors the matrices of (2)."""
    for method, lu, pivots in _eigenvalues(p, solver):
        p._linear_algebra.factor(method[a.LAMBDA, 0] / h, J, lu, pivots)


@compiled_form(factor)
def _factor(p: int, solver: int, J: Array, h: float) -> None:
    mu = matrix(p, solver + a.METHOD)[a.LAMBDA, 0]
    complex_mu = complex_matrix(p, solver + a.METHOD_COMPLEX)[a.LAMBDA, 0]
    if mu != 0.0:
        factor_shifted(mu / h, J, matrix(p, solver + a.LU), integer_vector(p, solver + a.PIVOTS))
    if complex_mu != 0.0:
        lu, pivots = complex_matrix(p, solver + a.LU_COMPLEX), integer_vector(p, solver + a.PIVOTS_COMPLEX)
        factor_shifted(complex_mu / h, J, lu, pivots)


def improve(p: ImplicitIntegrator, solver: int, h: float) -> float:
    """Adds the dz of (2) to the stages; returns its largest magnitude, nan if a value is not finite."""
    z, xdot = p._arrays[solver + a.Z], p._arrays[solver + a.F]
    if not np.isfinite(xdot).all():
        return math.nan
    dz = _change(p, solver, xdot.real, z.real, h)
    if z.dtype.kind == "c":  # J is real: the two parts do not mix
        dz = dz + 1j * _change(p, solver, xdot.imag, z.imag, h)
    z += dz
    size = float(np.abs(dz).max())
    return size if math.isfinite(size) else math.nan


def _change(p: ImplicitIntegrator, solver: int, xdot: Array, z: Array, h: float) -> Array:
    J, dz = p._arrays[a.J_ITERATION if p._knobs[a.IS_FULL_NEWTON] else a.J], np.zeros(z.shape)
    for method, lu, pivots in _eigenvalues(p, solver):
        mu = method[a.LAMBDA, 0] / h
        residual = method[a.T_INVERSE] @ xdot - mu * (method[a.T_INVERSE] @ z)
        dw = p._linear_algebra.solve(mu, J, lu, pivots, residual)
        dz += np.outer(method[a.T_COLUMN], dw).real
    return dz


def _eigenvalues(p: ImplicitIntegrator, solver: int) -> list[tuple[Array, Array, Array]]:
    """Rows of the method, factors and pivots for each eigenvalue."""
    found = []
    for method, lu, pivots in ((a.METHOD, a.LU, a.PIVOTS), (a.METHOD_COMPLEX, a.LU_COMPLEX, a.PIVOTS_COMPLEX)):
        if p._arrays[solver + method][a.LAMBDA, 0] != 0.0:
            found.append((p._arrays[solver + method], p._arrays[solver + lu], p._arrays[solver + pivots]))
    return found


@compiled_form(improve)
def _improve(p: int, solver: int, h: float) -> float:
    z, xdot = matrix(p, solver + a.Z), matrix(p, solver + a.F)
    num_stages, n = z.shape
    for k in range(num_stages):
        for j in range(n):
            if not math.isfinite(xdot[k, j]):
                return math.nan
    method, complex_method = matrix(p, solver + a.METHOD), complex_matrix(p, solver + a.METHOD_COMPLEX)
    has_real, has_complex = method[a.LAMBDA, 0] != 0.0, complex_method[a.LAMBDA, 0] != 0.0
    dw, complex_dw = vector(p, a.RESIDUAL), complex_vector(p, a.RESIDUAL_COMPLEX)
    if has_real:
        _residual(method, h, xdot, z, dw)
        solve_factored(matrix(p, solver + a.LU), integer_vector(p, solver + a.PIVOTS), dw)
    if has_complex:
        _residual(complex_method, h, xdot, z, complex_dw)
        lu, pivots = complex_matrix(p, solver + a.LU_COMPLEX), integer_vector(p, solver + a.PIVOTS_COMPLEX)
        solve_factored(lu, pivots, complex_dw)
    size = 0.0
    for k in range(num_stages):
        t, complex_t = method[a.T_COLUMN, k], complex_method[a.T_COLUMN, k]
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
    method: Array,  # rows of the method that belong to one eigenvalue
    h: float,
    xdot: Array,  # derivatives at the stages, shape [stages, n]
    z: Array,  # shape [stages, n]
    # Out:
    residual_out: Array,  # shape [n]
) -> None:
    """The right-hand side of (2)."""
    mu = method[a.LAMBDA, 0] / h
    for j in range(z.shape[1]):
        from_f = method[a.T_INVERSE, 0] * xdot[0, j]
        from_z = method[a.T_INVERSE, 0] * z[0, j]
        for k in range(1, len(z)):
            from_f += method[a.T_INVERSE, k] * xdot[k, j]
            from_z += method[a.T_INVERSE, k] * z[k, j]
        residual_out[j] = from_f - mu * from_z
