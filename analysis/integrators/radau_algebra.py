"""The algebra of a compiled Radau step: guess, Newton change, factors, error estimate.

All functions work on the fields of radau_fields.py: `i` are the integers, `r` the floats. Arrays of shape [stages, n]
stand by rows, matrices by columns. Equation numbers are those of collocation.py; (N2) is equation (2) of newton.py.
"""

from __future__ import annotations

import math
from typing import Any

from merganser.analysis.integrators import radau_fields as f
from merganser.analysis.integrators.newton import SAME_STEP_SIZE
from merganser.analysis.integrators.radau import FARTHEST_GUESS
from merganser.analysis.integrators.small_lu import factor_shifted, solve_factored
from merganser.framework.native import device
from merganser.framework.native.tape import complexes_at, doubles_at, integers_at

__all__ = ["estimate", "factor", "guess", "improve"]


@device
def guess(i: Any, r: Any) -> None:
    """Continues the polynomial through the stages of the last step, CollocationMethod.extrapolate."""
    n, num_stages = i[f.NUM_STATES], i[f.NUM_STAGES]
    method, z, z_before = doubles_at(i[f.METHOD]), doubles_at(i[f.Z]), doubles_at(i[f.Z_BEFORE])
    for j in range(num_stages * n):
        z[j] = 0.0
    if not r[f.H] <= FARTHEST_GUESS * r[f.H_BEFORE]:
        return
    ratio = r[f.H] / r[f.H_BEFORE]
    for k in range(num_stages):
        x = 1.0 + ratio * method[num_stages * f.C + k]
        for m in range(num_stages):
            weight, power = 0.0, 1.0
            for p in range(num_stages):
                power *= x
                weight += (power - 1.0) * method[num_stages * (f.EXTRAPOLATION + p) + m]
            for j in range(n):
                z[n * k + j] += weight * z_before[n * m + j]


@device
def improve(i: Any, r: Any) -> float:
    """Adds the dz of (N2) to the stages; returns its largest magnitude, nan if a value is not finite."""
    n, num_stages = i[f.NUM_STATES], i[f.NUM_STAGES]
    z, derivatives = doubles_at(i[f.Z]), doubles_at(i[f.F])
    for j in range(num_stages * n):
        if not math.isfinite(derivatives[j]):
            return math.nan
    method, complex_method = doubles_at(i[f.METHOD]), complexes_at(i[f.METHOD_COMPLEX])
    dw, complex_dw = doubles_at(i[f.WORK]), complexes_at(i[f.WORK_COMPLEX])
    if i[f.HAS_REAL]:
        _residual(n, num_stages, method, r[f.H], derivatives, z, dw)
        solve_factored(n, doubles_at(i[f.LU_REAL]), integers_at(i[f.PIVOTS_REAL]), dw)
    if i[f.HAS_COMPLEX]:
        _residual(n, num_stages, complex_method, r[f.H], derivatives, z, complex_dw)
        solve_factored(n, complexes_at(i[f.LU_COMPLEX]), integers_at(i[f.PIVOTS_COMPLEX]), complex_dw)
    largest = 0.0
    for k in range(num_stages):
        t, complex_t = method[num_stages * f.T_COLUMN + k], complex_method[num_stages * f.T_COLUMN + k]
        for j in range(n):
            dz = t * dw[j] if i[f.HAS_REAL] else 0.0
            if i[f.HAS_COMPLEX]:
                dz += complex_t.real * complex_dw[j].real - complex_t.imag * complex_dw[j].imag
            z[n * k + j] += dz
            if not math.isfinite(dz):
                return math.nan
            largest = max(largest, abs(dz))
    return largest


@device
def _residual(
    # In:
    n: int,
    num_stages: int,
    method: Any,  # rows of the method that belong to one eigenvalue
    h: float,
    derivatives: Any,  # at the stages, shape [stages, n]
    z: Any,  # shape [stages, n]
    # Out:
    residual_out: Any,  # shape [n]
) -> None:
    """The right-hand side of (N2)."""
    mu = method[num_stages * f.LAMBDA] / h
    for j in range(n):
        from_f = method[num_stages * f.T_INVERSE] * derivatives[j]
        from_z = method[num_stages * f.T_INVERSE] * z[j]
        for k in range(1, num_stages):
            from_f += method[num_stages * f.T_INVERSE + k] * derivatives[n * k + j]
            from_z += method[num_stages * f.T_INVERSE + k] * z[n * k + j]
        residual_out[j] = from_f - mu * from_z


@device
def factor(i: Any, r: Any) -> None:
    """Factors the matrices of (N2), unless the factors there are serve as well."""
    n, num_stages, h = i[f.NUM_STATES], i[f.NUM_STAGES], r[f.H]
    serves = i[f.FACTORED_FOR] == i[f.J_NUMBER] and abs(h - r[f.H_FACTORED]) <= SAME_STEP_SIZE * h
    if serves and not i[f.IS_FULL_NEWTON]:
        if not i[f.HAS_LOST_FACTORS]:
            return
        h = r[f.H_FACTORED]
    else:
        i[f.FACTORED_FOR] = -1 if i[f.IS_FULL_NEWTON] else i[f.J_NUMBER]
        r[f.H_FACTORED] = h
        i[f.COUNTS + f.FACTORIZATIONS] += 1
    i[f.HAS_LOST_FACTORS] = 0
    J = doubles_at(i[f.J_ITERATION] if i[f.IS_FULL_NEWTON] else i[f.J])
    if i[f.HAS_REAL]:
        mu = doubles_at(i[f.METHOD])[num_stages * f.LAMBDA] / h
        factor_shifted(n, mu, J, doubles_at(i[f.LU_REAL]), integers_at(i[f.PIVOTS_REAL]))
    if i[f.HAS_COMPLEX]:
        complex_mu = complexes_at(i[f.METHOD_COMPLEX])[num_stages * f.LAMBDA] / h
        factor_shifted(n, complex_mu, J, complexes_at(i[f.LU_COMPLEX]), integers_at(i[f.PIVOTS_COMPLEX]))


@device
def estimate(i: Any, r: Any, xdot: Any) -> float:
    """The largest magnitude in the error (5), which goes to WORK; nan if there is a nan."""
    n, num_stages, h = i[f.NUM_STATES], i[f.NUM_STAGES], r[f.H]
    mu = 1.0 / (r[f.GAMMA_0] * h)
    lu, pivots = doubles_at(i[f.LU_FILTER]), integers_at(i[f.PIVOTS_FILTER])
    serves = i[f.FILTERED_FOR] == i[f.J_NUMBER] and r[f.H_FILTERED] == h
    if not serves or i[f.HAS_LOST_FILTER]:
        factor_shifted(n, mu, doubles_at(i[f.J]), lu, pivots)
        i[f.FILTERED_FOR], r[f.H_FILTERED], i[f.HAS_LOST_FILTER] = i[f.J_NUMBER], h, 0
        i[f.ERROR_COUNTS + f.FACTORIZATIONS] += not serves
    method, z, error = doubles_at(i[f.METHOD]), doubles_at(i[f.Z]), doubles_at(i[f.WORK])
    for j in range(n):
        total = method[num_stages * f.E] * z[j]
        for k in range(1, num_stages):
            total += method[num_stages * f.E + k] * z[n * k + j]
        error[j] = xdot[j] + mu * total
    solve_factored(n, lu, pivots, error)
    largest = 0.0
    for j in range(n):
        if error[j] != error[j]:
            return math.nan
        largest = max(largest, abs(error[j]))
    return largest
