"""Linear elasticity seen from an element's rotation R before the step.

    e = (R^T F + F^T R) / 2 - 1                                                           (1)
    Psi = mu e : e + lambda / 2 theta^2,   theta = tr e,   dtheta/dF = R                  (2)
    P = R (2 mu e + lambda theta 1)                                                       (3)
    dP_ij/dF_kl = mu (d_ik d_jl + R_il R_kj) + lambda R_ij R_kl                           (4)

As R stays as it is during a step, forces are linear there and the energy convex: each step is one solution.

Source: X. Han, J. Masterjohn, A. Castro, A Convex Formulation of Frictional Contact between Rigid and Deformable Bodies
(2023), section IV.
"""

from __future__ import annotations

from merganser.framework.native import device
from merganser.framework.native.memory.hinted_types import Floats, FloatTable
from merganser.multibody.fem.layout import Material, Point
from merganser.multibody.fem.materials.kind import MaterialKind
from merganser.multibody.fem.small_matrices import set_rotation


@device
def start(material: Material, point: Point) -> None:
    """R of F = R S."""
    set_rotation(point["F"], point["U"], point["sigma"], point["V"], point["rotation"])


@device
def set_growth(material: Material, point: Point) -> None:
    """tr e and R."""
    F, R = point["F"], point["rotation"]
    growth = -3.0 + 0.0 * F[0, 0]
    for i in range(3):
        for j in range(3):
            growth += R[i, j] * F[i, j]
            point["slope"][i, j] = R[i, j]
    point["growth"] = growth


@device
def add_energy(material: Material, point: Point, energy_out: Floats) -> None:
    """Equations (1) and (2)."""
    F, R = point["F"], point["rotation"]
    squares, growth = 0.0 * F[0, 0], point["growth"]
    for i in range(3):
        for j in range(3):
            e = -1.0 if i == j else 0.0
            for k in range(3):
                e = e + 0.5 * (R[k, i] * F[k, j] + F[k, i] * R[k, j])
            squares += e * e
    energy_out[0] += material["mu"] * squares + 0.5 * material["lambda"] * growth * growth


@device
def set_stress(material: Material, point: Point) -> None:
    """Equation (3), as mu (F + R F^T R - 2 R) + lambda theta R."""
    F, R, mu = point["F"], point["rotation"], material["mu"]
    pressure = material["lambda"] * point["growth"]
    for i in range(3):
        for j in range(3):
            turned = -2.0 * R[i, j] + F[i, j]
            for k in range(3):
                turned += R[i, k] * (F[0, k] * R[0, j] + F[1, k] * R[1, j] + F[2, k] * R[2, j])
            point["P"][i, j] = mu * turned + pressure * R[i, j]


@device
def set_derivative(material: Material, point: Point, derivative_out: FloatTable) -> None:
    """Equation (4)."""
    R, mu = point["rotation"], material["mu"]
    second = material["lambda"] if material["is_averaged"] == 0 else 0.0
    for i in range(3):
        for j in range(3):
            for k in range(3):
                for l in range(3):
                    value = mu * R[i, l] * R[k, j] + second * R[i, j] * R[k, l]
                    derivative_out[3 * i + j, 3 * k + l] = value + (mu if i == k and j == l else 0.0)


KIND = MaterialKind(
    "linear_corotated", add_energy, set_stress, set_derivative, start=start, set_growth=set_growth, is_linear=True
)
