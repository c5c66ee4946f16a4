"""The fixed corotated material: linear in the stretches of an element, in whatever way it is turned.

    Psi = mu |F - R|^2 + lambda / 2 theta^2,   F = R S,  theta = J - 1,  J = det F        (1)
    P = 2 mu (F - R) + lambda theta dJ/dF                                                 (2)
    Psi_i = 2 mu (s_i - 1) + lambda (J - 1) J_i,   J_i = dJ/ds_i                          (3)
    Psi_ij = 2 mu d_ij + lambda (J_i J_j + theta s_k)                                     (4)
    flip_ij = 2 mu - lambda theta s_k                                                     (5)
    twist_ij = 2 mu (1 - 2 / (s_i + s_j)) + lambda theta s_k                              (6)

with the third stretch s_k of each pair; in (4) it is there for i != j.

Source: A. Stomakhin, R. Howes, C. Schroeder, J. Teran, Energetically Consistent Invertible Elasticity (2012), section
3.
"""

from __future__ import annotations

from merganser.framework.native import device, inlined
from merganser.framework.native.memory.hinted_types import Floats, FloatTable
from merganser.multibody.fem.layout import Material, Point
from merganser.multibody.fem.materials.kind import MaterialKind
from merganser.multibody.fem.materials.principal import set_principal_derivative, set_volume_growth
from merganser.multibody.fem.materials.third import (
    Array,
    rotation_derivatives,
    second_of_volume,
    third_of_volume,
)
from merganser.multibody.fem.small_matrices import set_rotation

_LEAST_SUM = 1e-8  # of two stretches, where (6) is taken to be at its lowest


@device
def prepare(material: Material, point: Point) -> None:
    """R, and U, sigma and V."""
    set_rotation(point["F"], point["U"], point["sigma"], point["V"], point["rotation"])


@device
def add_energy(material: Material, point: Point, energy_out: Floats) -> None:
    """Equation (1)."""
    F, R = point["F"], point["rotation"]
    squares, growth = 0.0, point["growth"]
    for i in range(3):
        for j in range(3):
            squares += (F[i, j] - R[i, j]) * (F[i, j] - R[i, j])
    energy_out[0] += material["mu"] * squares + 0.5 * material["lambda"] * growth * growth


@device
def set_stress(material: Material, point: Point) -> None:
    """Equation (2)."""
    F, R, P = point["F"], point["rotation"], point["P"]
    pressure = material["lambda"] * point["growth"]
    for i in range(3):
        for j in range(3):
            P[i, j] = 2.0 * material["mu"] * (F[i, j] - R[i, j]) + pressure * point["slope"][i, j]


@device
def set_derivative(material: Material, point: Point, derivative_out: FloatTable) -> None:
    """Equations (4) to (6)."""
    mu, s, second = material["mu"], point["sigma"], point["second"]
    pressure = material["lambda"] * point["growth"]
    share = material["lambda"] if material["is_averaged"] == 0 else 0.0
    for i in range(3):
        J_i = s[(i + 1) % 3] * s[(i + 2) % 3]
        for j in range(3):
            J_j = s[(j + 1) % 3] * s[(j + 2) % 3]
            own = 2.0 * mu if i == j else pressure * s[3 - i - j]
            second[i, j] = own + share * J_i * J_j
    p_0, p_1, p_2 = pressure * s[0], pressure * s[1], pressure * s[2]
    flip = (2.0 * mu - p_0, 2.0 * mu - p_1, 2.0 * mu - p_2)
    t_0, t_1, t_2 = _twist(mu, s[1] + s[2]), _twist(mu, s[2] + s[0]), _twist(mu, s[0] + s[1])
    set_principal_derivative(point, second, flip, (t_0 + p_0, t_1 + p_1, t_2 + p_2), derivative_out)


@inlined
def _twist(mu: float, total: float) -> float:
    """The first term of (6)."""
    return 2.0 * mu * (1.0 - 2.0 / max(total, _LEAST_SUM))


def calc_third(material: Material, F: Array, growth: Array) -> tuple[Array, Array]:
    """Of (2): the derivative of dP/dF = 2 mu (1 - dR/dF) + lambda (theta d^2 J/dF^2 + dJ/dF dJ/dF)."""
    share = material["lambda"] if material["is_averaged"] == 0 else 0.0
    third = third_of_volume(F, share, material["lambda"] * growth)
    return third - 2.0 * material["mu"] * rotation_derivatives(F)[1], second_of_volume(F)


KIND = MaterialKind(
    "corotated", add_energy, set_stress, set_derivative, prepare=prepare, set_growth=set_volume_growth,
    calc_third=calc_third,
)  # fmt: skip
