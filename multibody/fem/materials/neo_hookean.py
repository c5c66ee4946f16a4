"""The stable neo-Hookean material, which knows neither rotations nor singular states.

    Psi = mu / 2 (I - 3) - mu (J - 1) + lambda / 2 theta^2,   theta = J - 1               (1)
    P = mu F + p dJ/dF,   p = lambda theta - mu                                           (2)
    Psi_ij = mu d_ij + lambda J_i J_j + p s_k                                             (3)
    flip_ij = mu - p s_k,   twist_ij = mu + p s_k                                         (4)

with I = tr(F^T F), J = det F, J_i = dJ/ds_i and the third stretch s_k of each pair, in (3) for i != j.

As in Drake, mu and lambda are Lame's parameters as they stand, without the source's section 3.4: where strains are
small, this is linear elasticity of mu and lambda - mu. Rest is stable if 3 lambda > mu, for a Poisson's ratio above
1/8.

Source: B. Smith, F. de Goes, T. Kim, Stable Neo-Hookean Flesh Simulation (2018), equation (13) but for a constant.
"""

from __future__ import annotations

from merganser.framework.native import device
from merganser.framework.native.memory.hinted_types import Floats, FloatTable
from merganser.multibody.fem.layout import Material, Point
from merganser.multibody.fem.materials.kind import MaterialKind
from merganser.multibody.fem.materials.principal import (
    prepare_principal,
    set_principal_derivative,
    set_volume_growth,
)
from merganser.multibody.fem.materials.third import Array, second_of_volume, third_of_volume
from merganser.multibody.fem.small_matrices import determinant


@device
def add_energy(material: Material, point: Point, energy_out: Floats) -> None:
    """Equation (1)."""
    F, mu = point["F"], material["mu"]
    growth, squares = point["growth"], -3.0 + 0.0 * F[0, 0]
    for i in range(3):
        for j in range(3):
            squares += F[i, j] * F[i, j]
    energy_out[0] += 0.5 * mu * squares - mu * (determinant(F) - 1.0) + 0.5 * material["lambda"] * growth * growth


@device
def set_stress(material: Material, point: Point) -> None:
    """Equation (2)."""
    F, P, mu = point["F"], point["P"], material["mu"]
    p = material["lambda"] * point["growth"] - mu
    for i in range(3):
        for j in range(3):
            P[i, j] = mu * F[i, j] + p * point["slope"][i, j]


@device
def set_derivative(material: Material, point: Point, derivative_out: FloatTable) -> None:
    """Equations (3) and (4)."""
    mu, s, second = material["mu"], point["sigma"], point["second"]
    p = material["lambda"] * point["growth"] - mu
    share = material["lambda"] if material["is_averaged"] == 0 else 0.0
    for i in range(3):
        J_i = s[(i + 1) % 3] * s[(i + 2) % 3]
        for j in range(3):
            J_j = s[(j + 1) % 3] * s[(j + 2) % 3]
            own = mu if i == j else p * s[3 - i - j]
            second[i, j] = own + share * J_i * J_j
    flip = (mu - p * s[0], mu - p * s[1], mu - p * s[2])
    twist = (mu + p * s[0], mu + p * s[1], mu + p * s[2])
    set_principal_derivative(point, second, flip, twist, derivative_out)


def calc_third(material: Material, F: Array, growth: Array) -> tuple[Array, Array]:
    """Of (2): the derivative of dP/dF = mu 1 + p d^2 J/dF^2 + lambda dJ/dF dJ/dF."""
    share = material["lambda"] if material["is_averaged"] == 0 else 0.0
    return third_of_volume(F, share, material["lambda"] * growth - material["mu"]), second_of_volume(F)


KIND = MaterialKind(
    "neohookean", add_energy, set_stress, set_derivative, prepare=prepare_principal, set_growth=set_volume_growth,
    calc_third=calc_third, stable_for="a Poisson's ratio above 1/8",
)  # fmt: skip
