"""The equations of one step of a body, and their derivatives.

A step goes from q, v to q+, v+ by Newmark's method with gamma = 1 and beta = 1/2, which is the trapezoidal rule for q
and the implicit Euler method for v. With Rayleigh damping, as Drake has it,

    q+ = q + h/2 (v + v+)                                                                 (1)
    r(v+) = M (v+ - v) / h + (alpha M + beta K(q+)) v+ - f(q+) - f_ext = 0                (2)
    A = (1/h + alpha) M + (h/2 + beta) K(q+)                                              (3)

Elements of a patch p (patches.py) have the mean of their growth of volume, and K a part that joins all nodes of it:

    theta_p = sum_e V_e theta_e / V_p,   V_p = sum_e V_e                                  (4)
    K += sum_p lambda / V_p g_p g_p^T,   g_p = sum_e V_e dtheta_e/dx                      (5)

Damping takes the convex part of K, see materials/principal.py, so that it always slows. A is the derivative of r by v+
but for that of this K.

Sources: N. Newmark, A Method of Computation for Structural Dynamics (1959); X. Han, J. Masterjohn, A. Castro, A Convex
Formulation of Frictional Contact between Rigid and Deformable Bodies (2023), section IV.
"""

from __future__ import annotations

from merganser.framework.native import device, kernel
from merganser.framework.native.memory.hinted_types import Floats, FloatTable
from merganser.multibody.fem.elements import (
    add_block,
    add_growth_slope,
    add_stress,
    mass_share,
    set_deformation_gradient,
)
from merganser.multibody.fem.layout import BodyArrays, Element, Material, NodeValues, Point, StepWork
from merganser.multibody.fem.materials.table import (
    add_energy,
    prepare,
    set_derivative,
    set_growth,
    set_stress,
    start,
)


@device
def start_step(body: BodyArrays, q_in: NodeValues, work: StepWork) -> None:
    """What materials keep during a step: see start() of materials."""
    for e in range(body.elements.shape[0]):
        set_deformation_gradient(body.elements[e], q_in, work.points[e]["F"])
        start(body.material, work.points[e])


@device
def set_positions(time_step: float, q_in: NodeValues, v_in: NodeValues, v_next: NodeValues, q_out: NodeValues) -> None:
    """Equation (1)."""
    for i in range(q_in.shape[0]):
        q_out[i] = q_in[i] + 0.5 * time_step * (v_in[i] + v_next[i])


@device
def calc_residual(
    body: BodyArrays,
    time_step: float,
    v_in: NodeValues,  # v before the step [m/s], shape [3 num_nodes]
    force_in: NodeValues,  # f_ext [N]
    q_next: NodeValues,  # q+ [m]
    v_next: NodeValues,  # v+ [m/s]
    work: StepWork,  # points and residual are written; damping is that of work.damping_positions
) -> None:
    """Equation (2), for all nodes, the held ones too."""
    material, beta = body.material, body.material["stiffness_damping"]
    for i in range(force_in.shape[0]):
        work.residual[i] = -force_in[i]
    if beta > 0.0:
        set_state(body, work.damping_positions, work)
        _add_damping(body, beta, v_next, work)
    set_state(body, q_next, work)
    for e in range(body.elements.shape[0]):
        element, point = body.elements[e], work.points[e]
        set_stress(material, point)
        add_stress(element, point["P"], work.residual)
        _add_inertia(mass_share(element, material), element, 1.0 / time_step, material["mass_damping"], v_in, v_next,
                     work.residual)  # fmt: skip


@device
def set_state(body: BodyArrays, q_in: NodeValues, work: StepWork) -> None:
    """F of all elements, and what follows from it, with equation (4)."""
    for e in range(body.elements.shape[0]):
        point = work.points[e]
        set_deformation_gradient(body.elements[e], q_in, point["F"])
        prepare(body.material, point)
        set_growth(body.material, point)
    if body.patches.shape[0] > 0:
        _set_mean_growth(body, work)


@device
def _set_mean_growth(body: BodyArrays, work: StepWork) -> None:
    """Equation (4)."""
    for p in range(body.patches.shape[0]):
        work.patches[p]["growth"] = 0.0
    for e in range(body.elements.shape[0]):
        element = body.elements[e]
        p = element["patch"]
        work.patches[p]["growth"] += element["volume"] / body.patches[p]["volume"] * work.points[e]["growth"]
    for e in range(body.elements.shape[0]):
        work.points[e]["growth"] = work.patches[body.elements[e]["patch"]]["growth"]


@device
def _add_damping(body: BodyArrays, beta: float, v_next: NodeValues, work: StepWork) -> None:
    """Adds beta K v+ of the convex part of K."""
    material, has_patches = body.material, body.patches.shape[0] > 0
    if has_patches:
        _set_growth_rates(body, v_next, work)
    for e in range(body.elements.shape[0]):
        element, point = body.elements[e], work.points[e]
        _set_damping_stress(material, element, point, beta, v_next, work.derivative)
        if has_patches:
            pressure = beta * material["lambda"] * work.patches[element["patch"]]["rate"]
            for i in range(3):
                for j in range(3):
                    point["P"][i, j] += pressure * point["slope"][i, j]
        add_stress(element, point["P"], work.residual)


@device
def _set_growth_rates(body: BodyArrays, v_next: NodeValues, work: StepWork) -> None:
    """g_p . v / V_p of equation (5)."""
    for p in range(body.patches.shape[0]):
        work.patches[p]["rate"] = 0.0
    for e in range(body.elements.shape[0]):
        element, point = body.elements[e], work.points[e]
        total, dF_dt, p = 0.0, point["second"], element["patch"]
        set_deformation_gradient(element, v_next, dF_dt)
        for i in range(3):
            for j in range(3):
                total += point["slope"][i, j] * dF_dt[i, j]
        work.patches[p]["rate"] += element["volume"] / body.patches[p]["volume"] * total


@device
def _set_damping_stress(
    material: Material, element: Element, point: Point, beta: float, v_next: NodeValues, derivative: FloatTable
) -> None:
    """P = beta dP/dF : dF/dt, of the convex part of dP/dF."""
    point["is_convex"] = 1
    set_derivative(material, point, derivative)
    rate = point["second"]
    set_deformation_gradient(element, v_next, rate)
    for i in range(3):
        for j in range(3):
            total, row = 0.0, derivative[3 * i + j]
            for k in range(3):
                for l in range(3):
                    total += row[3 * k + l] * rate[k, l]
            point["P"][i, j] = beta * total


@device
def _add_inertia(
    share: float, element: Element, inverse_step: float, alpha: float, v_in: NodeValues, v_next: NodeValues,
    force_out: NodeValues,
) -> None:  # fmt: skip
    """M (v+ - v) / h + alpha M v+ of one element."""
    for i in range(3):
        total = 0.0
        for a in range(4):
            at = 3 * element["nodes"][a] + i
            total += (v_next[at] - v_in[at]) * inverse_step + alpha * v_next[at]
        for a in range(4):
            force_out[3 * element["nodes"][a] + i] += share * total


@device
def assemble_tangent(
    body: BodyArrays, time_step: float, q_next: NodeValues, is_convex: int, is_damping_kept: int, work: StepWork
) -> None:
    """Equation (3), into the panels.

    Args:
        body: of which.
        time_step: h [s].
        q_next: q+ [m].
        is_convex: whether K is to be that of convex parts of elements, 0 or 1.
        is_damping_kept: whether that of the damping is at other positions than q+, 0 or 1.
        work: points, where the last calc_residual() left them, and panels are written.
    """
    material, half, beta = body.material, 0.5 * time_step, body.material["stiffness_damping"]
    for i in range(body.pattern.panel_start[body.trees.shape[0]]):
        work.panels[i] = 0.0
    for k in range(body.padding.shape[0]):
        work.panels[body.padding[k]] = 1.0
    share = 1.0 / time_step + material["mass_damping"]
    if is_damping_kept != 0 and beta > 0.0:
        set_state(body, work.damping_positions, work)
        _add_stiffness(body, 1, beta, 0.0, work)
        set_state(body, q_next, work)
        _add_stiffness(body, is_convex, half, share, work)
    else:
        _add_stiffness(body, is_convex, half + beta, share, work)


@device
def _add_stiffness(body: BodyArrays, is_convex: int, scale: float, share: float, work: StepWork) -> None:
    """Adds scale K + share M to the panels."""
    material = body.material
    for e in range(body.elements.shape[0]):
        element, point = body.elements[e], work.points[e]
        point["is_convex"] = is_convex
        set_derivative(material, point, work.derivative)
        mass = share * mass_share(element, material)
        for a in range(4):
            for b in range(4):
                if element["place"][a, b] >= 0:
                    add_block(element, work.derivative, a, b, scale, mass, work.panels)
    if body.patches.shape[0] > 0:
        _add_stiffness_of_patches(body, scale, work)


@device
def _add_stiffness_of_patches(body: BodyArrays, scale: float, work: StepWork) -> None:
    """Adds scale times equation (5) to the panels."""
    for p in range(body.patches.shape[0]):
        slope = work.patches[p]["slope"]
        for a in range(body.patches[p]["num_nodes"]):
            for i in range(3):
                slope[a, i] = 0.0
    for e in range(body.elements.shape[0]):
        add_growth_slope(body.elements[e], work.points[e]["slope"], work.patches[body.elements[e]["patch"]]["slope"])
    for p in range(body.patches.shape[0]):
        patch, slope = body.patches[p], work.patches[p]["slope"]
        factor = scale * body.material["lambda"] / patch["volume"]
        for a in range(patch["num_nodes"]):
            for b in range(patch["num_nodes"]):
                place, stride = patch["place"][a, b], patch["stride"][a, b]
                if place >= 0:
                    for i in range(3):
                        for k in range(3):
                            work.panels[place + i * stride + k] += factor * slope[a, i] * slope[b, k]


@device
def calc_elastic_energy(body: BodyArrays, q_in: NodeValues, work: StepWork, energy_out: Floats) -> None:
    """Adds the energy of all elements [J], as seen from the state of the last start_step()."""
    set_state(body, q_in, work)
    for e in range(body.elements.shape[0]):
        energy = energy_out[1:2]
        energy[0] = 0.0
        add_energy(body.material, work.points[e], energy)
        energy_out[0] += body.elements[e]["volume"] * energy[0]


elastic_energy = kernel(calc_elastic_energy)


@kernel
def elastic_forces(body: BodyArrays, q_in: NodeValues, work: StepWork, force_out: NodeValues) -> None:
    """f(q), shape [3 num_nodes], with rotations of linear corotated elements at q."""
    start_step(body, q_in, work)
    set_state(body, q_in, work)
    for i in range(force_out.shape[0]):
        work.residual[i] = 0.0
    for e in range(body.elements.shape[0]):
        set_stress(body.material, work.points[e])
        add_stress(body.elements[e], work.points[e]["P"], work.residual)
    for i in range(force_out.shape[0]):
        force_out[i] = -work.residual[i]
