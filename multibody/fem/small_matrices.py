"""Decompositions of matrices of 3 x 3, in loops.

    F = U diag(sigma) V^T,   det U = det V = 1                                            (1)
    A = W diag(w) W^T        of a symmetric A                                             (2)

Equation (1) by turning pairs of columns of F until all are orthogonal, which keeps all digits of small sigma. The sign
of det F goes to the smallest sigma, as what turns an element inside out with the least energy.

Sources: M. Hestenes, Inversion of Matrices by Biorthogonalization and Related Results (1958), equation (1); G. Golub,
C. Van Loan, Matrix Computations (2013), section 8.5 (Jacobi); G. Irving, J. Teran, R. Fedkiw, Invertible Finite
Elements for Robust Simulation of Large Deformation (2004), section 4 (signs).
"""

from __future__ import annotations

import math

from merganser.framework.native import device, inlined
from merganser.framework.native.memory.hinted_types import Floats, FloatTable

_MOST_SWEEPS = 30
_ORTHOGONAL = 1e-16  # the cosine between columns that counts as none
_SMALLEST = 1e-300


@inlined
def determinant(F: FloatTable) -> float:
    """det F."""
    value: float = (
        F[0, 0] * (F[1, 1] * F[2, 2] - F[1, 2] * F[2, 1])
        - F[0, 1] * (F[1, 0] * F[2, 2] - F[1, 2] * F[2, 0])
        + F[0, 2] * (F[1, 0] * F[2, 1] - F[1, 1] * F[2, 0])
    )
    return value


@device
def set_cofactors(F: FloatTable, cofactors_out: FloatTable) -> None:
    """d(det F)/dF, which is det F F^-T where that exists."""
    for i in range(3):
        r, s = (i + 1) % 3, (i + 2) % 3
        for j in range(3):
            a, b = (j + 1) % 3, (j + 2) % 3
            cofactors_out[i, j] = F[r, a] * F[s, b] - F[r, b] * F[s, a]


@device
def decompose(F: FloatTable, U_out: FloatTable, sigma_out: Floats, V_out: FloatTable) -> None:
    """Equation (1); not sorted, but for which sigma may be negative."""
    for i in range(3):
        for j in range(3):
            U_out[i, j] = F[i, j]  # F V, whose columns become orthogonal
            V_out[i, j] = 1.0 if i == j else 0.0
    for _ in range(_MOST_SWEEPS):
        if not (_make_orthogonal(0, 1, U_out, V_out) + _make_orthogonal(0, 2, U_out, V_out)
                + _make_orthogonal(1, 2, U_out, V_out)):  # fmt: skip
            break
    _normalize(U_out, sigma_out)


@inlined
def _make_orthogonal(i: int, j: int, B: FloatTable, V: FloatTable) -> int:
    """Turns columns i and j of B and V until those of B are orthogonal; returns whether they were not."""
    ii = B[0, i] * B[0, i] + B[1, i] * B[1, i] + B[2, i] * B[2, i]
    jj = B[0, j] * B[0, j] + B[1, j] * B[1, j] + B[2, j] * B[2, j]
    ij = B[0, i] * B[0, j] + B[1, i] * B[1, j] + B[2, i] * B[2, j]
    if not abs(ij) > _ORTHOGONAL * math.sqrt(ii * jj) + _SMALLEST:
        return 0
    c, s = _turn(ii, ij, jj)
    for k in range(3):
        b, v = B[k, i], V[k, i]
        B[k, i], B[k, j] = c * b - s * B[k, j], s * b + c * B[k, j]
        V[k, i], V[k, j] = c * v - s * V[k, j], s * v + c * V[k, j]
    return 1


@inlined
def _turn(ii: float, ij: float, jj: float) -> tuple[float, float]:
    """Cosine and sine of the smaller angle that makes [[ii, ij], [ij, jj]] diagonal."""
    zeta = (jj - ii) / (2.0 * ij)
    t = 1.0 / (abs(zeta) + math.sqrt(1.0 + zeta * zeta))
    if zeta < 0.0:
        t = -t
    c = 1.0 / math.sqrt(1.0 + t * t)
    return c, c * t


@device
def _normalize(B: FloatTable, sigma: Floats) -> None:
    """Turns orthogonal columns into a rotation and their lengths; the least length gets the sign of det B."""
    for j in range(3):
        sigma[j] = math.sqrt(B[0, j] * B[0, j] + B[1, j] * B[1, j] + B[2, j] * B[2, j])
    k = 0
    for j in range(1, 3):
        if sigma[j] < sigma[k]:
            k = j
    i, j = (k + 1) % 3, (k + 2) % 3
    if sigma[i] < sigma[j]:
        _set_unit(j, sigma[j], B)
        _set_perpendicular(i, j, sigma[i], B)
    else:
        _set_unit(i, sigma[i], B)
        _set_perpendicular(j, i, sigma[j], B)
    cross_0 = B[1, i] * B[2, j] - B[2, i] * B[1, j]
    cross_1 = B[2, i] * B[0, j] - B[0, i] * B[2, j]
    cross_2 = B[0, i] * B[1, j] - B[1, i] * B[0, j]
    if B[0, k] * cross_0 + B[1, k] * cross_1 + B[2, k] * cross_2 < 0.0:
        sigma[k] = -sigma[k]
    B[0, k], B[1, k], B[2, k] = cross_0, cross_1, cross_2


@inlined
def _set_unit(j: int, length: float, B: FloatTable) -> None:
    """Column j with length 1; of the zero matrix, an axis."""
    for i in range(3):
        B[i, j] = B[i, j] / length if length > _SMALLEST else (1.0 if i == j else 0.0)


@inlined
def _set_perpendicular(j: int, other: int, length: float, B: FloatTable) -> None:
    """Column j with length 1, perpendicular to the other one, which has length 1."""
    if length > _SMALLEST:
        _set_unit(j, length, B)
        return
    least = 0
    for i in range(1, 3):
        if abs(B[i, other]) < abs(B[least, other]):
            least = i
    along = B[least, other]
    norm = math.sqrt(1.0 - along * along)
    for i in range(3):
        B[i, j] = ((1.0 if i == least else 0.0) - along * B[i, other]) / norm


@device
def set_rotation(F: FloatTable, U: FloatTable, sigma: Floats, V: FloatTable, R_out: FloatTable) -> None:
    """R = U V^T, the rotation of F = R S; writes U, sigma and V on the way."""
    decompose(F, U, sigma, V)
    for i in range(3):
        for j in range(3):
            R_out[i, j] = U[i, 0] * V[j, 0] + U[i, 1] * V[j, 1] + U[i, 2] * V[j, 2]


@device
def keep_positive_part(A: FloatTable, W: FloatTable, w: Floats) -> None:
    """Sets what is negative in equation (2) to zero; A and the work W have shape [3, 3], w [3]."""
    for i in range(3):
        for j in range(3):
            W[i, j] = 1.0 if i == j else 0.0
    for _ in range(_MOST_SWEEPS):
        if not (_make_diagonal(0, 1, A, W) + _make_diagonal(0, 2, A, W) + _make_diagonal(1, 2, A, W)):
            break
    for k in range(3):
        w[k] = max(A[k, k], 0.0)
    for i in range(3):
        for j in range(3):
            A[i, j] = W[i, 0] * w[0] * W[j, 0] + W[i, 1] * w[1] * W[j, 1] + W[i, 2] * w[2] * W[j, 2]


@inlined
def _make_diagonal(i: int, j: int, A: FloatTable, W: FloatTable) -> int:
    """Turns rows and columns i and j of A, and columns of W, until A_ij is zero; returns whether it was not."""
    if not abs(A[i, j]) > _ORTHOGONAL * (abs(A[i, i]) + abs(A[j, j])) + _SMALLEST:
        return 0
    c, s = _turn(A[i, i], A[i, j], A[j, j])
    for k in range(3):
        a = A[k, i]
        A[k, i], A[k, j] = c * a - s * A[k, j], s * a + c * A[k, j]
    for k in range(3):
        a = A[i, k]
        A[i, k], A[j, k] = c * a - s * A[j, k], s * a + c * A[j, k]
    for k in range(3):
        b = W[k, i]
        W[k, i], W[k, j] = c * b - s * W[k, j], s * b + c * W[k, j]
    return 1
