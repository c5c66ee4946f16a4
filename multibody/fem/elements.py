"""Linear tetrahedra with one quadrature point: strain, force and stiffness of one element.

With nodes a, b of an element at x_a, gradients g_a = dN_a/dX, and its volume V at rest,

    F = sum_a x_a g_a^T                                                                   (1)
    f_a = -V P g_a                                                                        (2)
    K_ab = V sum_jl dP_ij/dF_kl g_aj g_bl,   K_ab = -df_a/dx_b                            (3)
    M_ab = rho V / 16                                                                     (4)

where (4) is the integral of rho N_a N_b by the same point, in which each N_a is 1/4: an element resists accelerations
of its center only.

Sources: E. Sifakis, J. Barbic, FEM Simulation of 3D Deformable Solids (2012), sections 4.1 and 4.2; (4) as Drake has
it.
"""

from __future__ import annotations

from merganser.framework.native import device, inlined
from merganser.framework.native.memory.hinted_types import Floats, FloatTable
from merganser.multibody.fem.layout import Element, Material, NodeValues


@device
def set_deformation_gradient(element: Element, q_in: NodeValues, F_out: FloatTable) -> None:
    """Equation (1), of positions or, for dF/dt, velocities; shape [3 num_nodes]."""
    for i in range(3):
        for j in range(3):
            F_out[i, j] = 0.0 * q_in[0]
    for a in range(4):
        node, gradient = 3 * element["nodes"][a], element["gradients"][a]
        for i in range(3):
            for j in range(3):
                F_out[i, j] += q_in[node + i] * gradient[j]


@device
def add_stress(element: Element, P_in: FloatTable, force_out: NodeValues) -> None:
    """Adds -f_a of equation (2) to the forces of all nodes [N], shape [3 num_nodes]."""
    for a in range(4):
        node, gradient = 3 * element["nodes"][a], element["gradients"][a]
        for i in range(3):
            total = P_in[i, 0] * gradient[0] + P_in[i, 1] * gradient[1] + P_in[i, 2] * gradient[2]
            force_out[node + i] += element["volume"] * total


@inlined
def mass_share(element: Element, material: Material) -> float:
    """Equation (4) [kg]."""
    share: float = material["density"] * element["volume"] / 16.0
    return share


@device
def add_growth_slope(element: Element, slope_in: FloatTable, slope_out: FloatTable) -> None:
    """Adds V dtheta/dx_a = V dtheta/dF g_a to that of a patch [m^2], shape [MOST_PATCH_NODES, 3]."""
    for a in range(4):
        seat, gradient = element["seat"][a], element["gradients"][a]
        for i in range(3):
            total = slope_in[i, 0] * gradient[0] + slope_in[i, 1] * gradient[1] + slope_in[i, 2] * gradient[2]
            slope_out[seat, i] += element["volume"] * total


@device
def add_block(
    element: Element,
    derivative_in: FloatTable,  # dP/dF, shape [9, 9]
    a: int,
    b: int,
    scale: float,  # of the stiffness
    mass: float,  # on the diagonal
    panels_out: Floats,
) -> None:
    """Adds scale K_ab + mass 1 of equation (3) to its place."""
    left, right = element["gradients"][a], element["gradients"][b]
    place, stride, factor = element["place"][a, b], element["stride"][a, b], scale * element["volume"]
    for i in range(3):
        at = place + i * stride
        for k in range(3):
            total = 0.0
            for j in range(3):
                row = derivative_in[3 * i + j]
                total += left[j] * (row[3 * k] * right[0] + row[3 * k + 1] * right[1] + row[3 * k + 2] * right[2])
            panels_out[at + k] += factor * total
        panels_out[at + i] += mass
