"""The stress derivative of isotropic materials, from derivatives of the energy by principal stretches.

With F = U diag(sigma) V^T, an energy Psi(sigma), and E_ij = u_i v_j^T,

    dP/dF = sum_ij Psi_ij E_ii E_jj
          + sum_i<j (flip_ij + twist_ij) / 2 (E_ij E_ij + E_ji E_ji)
                  + (flip_ij - twist_ij) / 2 (E_ij E_ji + E_ji E_ij)                      (1)
    flip_ij = (Psi_i - Psi_j) / (sigma_i - sigma_j),   twist_ij = (Psi_i + Psi_j) / (sigma_i + sigma_j)

The eigenvalues of (1) are those of the matrix Psi_ij, flips and twists; without the negative ones it is convex.
Materials give flips and twists without the differences, which lose digits.

Sources: A. Stomakhin, R. Howes, C. Schroeder, J. Teran, Energetically Consistent Invertible Elasticity (2012), section
4; B. Smith, F. de Goes, T. Kim, Analytic Eigensystems for Isotropic Distortion Energies (2019), section 4.
"""

from __future__ import annotations

from merganser.framework.native import device, inlined
from merganser.framework.native.memory.hinted_types import FloatTable
from merganser.multibody.fem.layout import Material, Point
from merganser.multibody.fem.small_matrices import decompose, determinant, keep_positive_part, set_cofactors


@device
def prepare_principal(material: Material, point: Point) -> None:
    """U, sigma and V."""
    decompose(point["F"], point["U"], point["sigma"], point["V"])


@device
def set_volume_growth(material: Material, point: Point) -> None:
    """J - 1 and dJ/dF."""
    point["growth"] = determinant(point["F"]) - 1.0
    set_cofactors(point["F"], point["slope"])


@device
def set_principal_derivative(
    point: Point,
    second: FloatTable,  # Psi_ij, shape [3, 3]; is overwritten
    flip: tuple[float, float, float],  # of the pairs (1, 2), (2, 0), (0, 1)
    twist: tuple[float, float, float],
    derivative_out: FloatTable,
) -> None:
    """Equation (1); of a point that is to be convex without what is negative."""
    U, V = point["U"], point["V"]
    if point["is_convex"] != 0:
        # The first rows are room until they are written.
        keep_positive_part(second, derivative_out[0:3, 0:3], derivative_out[3, 0:3])
    for r in range(9):
        for s in range(9):
            derivative_out[r, s] = 0.0
    for i in range(3):
        for j in range(3):
            _add(second[i, j], U, V, i, i, j, j, derivative_out)
    for k in range(3):
        i, j = (k + 1) % 3, (k + 2) % 3
        f, t = flip[k], twist[k]
        if point["is_convex"] != 0:
            f, t = max(f, 0.0), max(t, 0.0)
        _add(0.5 * (f + t), U, V, i, j, i, j, derivative_out)
        _add(0.5 * (f + t), U, V, j, i, j, i, derivative_out)
        _add(0.5 * (f - t), U, V, i, j, j, i, derivative_out)
        _add(0.5 * (f - t), U, V, j, i, i, j, derivative_out)


@inlined
def _add(scale: float, U: FloatTable, V: FloatTable, i: int, j: int, k: int, l: int, derivative: FloatTable) -> None:
    """derivative += scale E_ij E_kl."""
    for r in range(3):
        for s in range(3):
            left = scale * U[r, i] * V[s, j]
            for m in range(3):
                part = left * U[m, k]
                for n in range(3):
                    derivative[3 * r + s, 3 * m + n] += part * V[n, l]
