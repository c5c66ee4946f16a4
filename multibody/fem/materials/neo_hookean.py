"""The stable neo-Hookean material, which knows neither rotations nor singular states.

    Psi = mu / 2 (I - 3 - log((I + 1) / 4)) + lambda / 2 (J - 1)^2 - 3/4 mu (J - 1)       (1)
    P = m F + p dJ/dF,   m = mu (1 - 1 / (I + 1)),   p = lambda (J - 1) - 3/4 mu          (2)
    Psi_ij = m d_ij + 2 mu s_i s_j / (I + 1)^2 + lambda J_i J_j + p s_k                   (3)
    flip_ij = m - p s_k,   twist_ij = m + p s_k                                           (4)

with I = tr(F^T F), J = det F, J_i = dJ/ds_i and the third stretch s_k of each pair, in (3) for i != j. Psi is the source's
but for a constant, which makes it zero at rest.

Source: B. Smith, F. de Goes, T. Kim, Stable Neo-Hookean Flesh Simulation (2018), equation (14).
"""

from __future__ import annotations

import numpy as np

from merganser.framework.native import device
from merganser.multibody.fem.layout import Array
from merganser.multibody.fem.materials.kind import MaterialKind
from merganser.multibody.fem.materials.principal import prepare_principal, set_principal_derivative
from merganser.multibody.fem.small_matrices import determinant, set_cofactors

__all__ = ["KIND"]


@device
def _square(F: Array) -> float:
    """I."""
    total = 0.0 * F[0, 0]
    for i in range(3):
        for j in range(3):
            total += F[i, j] * F[i, j]
    return total


@device
def add_energy(material: Array, point: Array, energy_out: Array) -> None:
    """Equation (1)."""
    I, growth, mu = _square(point["F"]), determinant(point["F"]) - 1.0, material["mu"]
    energy_out[0] += 0.5 * mu * (I - 3.0 - np.log(0.25 * (I + 1.0))) - 0.75 * mu * growth
    energy_out[0] += 0.5 * material["lambda"] * growth * growth


@device
def set_stress(material: Array, point: Array) -> None:
    """Equation (2)."""
    F, P, mu = point["F"], point["P"], material["mu"]
    m = mu * (1.0 - 1.0 / (_square(F) + 1.0))
    p = material["lambda"] * (determinant(F) - 1.0) - 0.75 * mu
    set_cofactors(F, P)
    for i in range(3):
        for j in range(3):
            P[i, j] = m * F[i, j] + p * P[i, j]


@device
def set_derivative(material: Array, point: Array, derivative_out: Array) -> None:
    """Equations (3) and (4)."""
    mu, s, second = material["mu"], point["sigma"], point["second"]
    I = s[0] * s[0] + s[1] * s[1] + s[2] * s[2]
    m = mu * (1.0 - 1.0 / (I + 1.0))
    p = material["lambda"] * (s[0] * s[1] * s[2] - 1.0) - 0.75 * mu
    growth = 2.0 * mu / ((I + 1.0) * (I + 1.0))
    for i in range(3):
        J_i = s[(i + 1) % 3] * s[(i + 2) % 3]
        for j in range(3):
            J_j = s[(j + 1) % 3] * s[(j + 2) % 3]
            own = m if i == j else p * s[3 - i - j]
            second[i, j] = own + growth * s[i] * s[j] + material["lambda"] * J_i * J_j
    flip = (m - p * s[0], m - p * s[1], m - p * s[2])
    twist = (m + p * s[0], m + p * s[1], m + p * s[2])
    set_principal_derivative(point, second, flip, twist, derivative_out)


KIND = MaterialKind("neo-Hookean", None, prepare_principal, add_energy, set_stress, set_derivative)
