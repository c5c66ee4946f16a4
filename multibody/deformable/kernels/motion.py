"""What a step does before the free motion of a deformable body and at its end, and where vertices are in between.

Held vertices are put where they are held, and have no velocity. With v+ after the step, and v* and q* after free
motion,

    q+ = q* + h/2 (v+ - v*),   a = (v+ - v) / h                                                               (1)

as q* = q + h/2 (v + v*), but where vertices are held.

The laws of Hunt and Crossley (hunt_crossley.py) take the spring of a contact at x + h v+, of which x is the place of
vertices that (1) moves by just that:

    x = q + h/2 v,   x+ = q+ + h/2 v+ = x + h v+                                                              (4)

At q, which goes half as far, the spring would be late by h/2 v, and what lies on the ground would not come to rest.
With x the law is the implicit Euler method, and takes energy. SAP, which dissipates more than that, has q, as Drake.

Vertices P that are fixed to points Q of a rigid body move by the trapezoidal rule, too. They turn with the body if the
mean of their velocities is that of Q in the middle of the step, where the coordinates of the rigid bodies are

    q_m = q + h/2 N(q) v                                                                                      (2)

With v_Q = J v, so that J_m v is the velocity of Q in the middle, their velocity after the step is

    v+_P = 2 J_m v+ - J v+,   taken as J_m v+ + (J_m - J) v                                                   (3)

The last part is as of the velocities before the step: it is 0 where nothing turns. The reaction acts through J_m^T, at
the middle of the way of P, about which the change of its momentum leaves the angular momentum as it is. With the
velocity and the arm of the start, P would move along its tangent, and gain energy without bound.
"""

from __future__ import annotations

from merganser.framework.native import device, kernel
from merganser.framework.native.memory.hinted_types import Floats, FloatTable, Integers
from merganser.multibody.contact.plant_forces import velocity_of_point
from merganser.multibody.deformable.kernels.records import Fixed, Middle
from merganser.multibody.kernels.layout import Parameters, Positions, Topology, Velocities
from merganser.multibody.kernels.spatial import Vector3, set_vector, vector
from merganser.multibody.kernels.step import advance_positions
from merganser.multibody.kernels.velocity import calc_kinematics


@kernel
def start_motion(
    # Model:
    is_enabled: int,
    holders: Integers,  # see SoftBody
    p_held: FloatTable,
    # In:
    position_in: Positions,  # of the rigid bodies
    state_in: Floats,  # shape [9 num_vertices]
    # Out: shape [3 num_vertices] each
    q_out: Floats,
    q_held_out: Floats,
    v_out: Floats,
) -> None:
    """Sets positions and velocities before free motion."""
    n = 3 * holders.shape[0]
    for k in range(n):
        q_out[k], q_held_out[k], v_out[k] = state_in[k], state_in[k], state_in[n + k]
    if is_enabled == 0:
        return
    for i in range(holders.shape[0]):
        if holders[i] >= 0:
            p_WP = vector(p_held[i]) if holders[i] == 0 else _point_in_world(position_in, holders[i], p_held[i])
            for r in range(3):
                q_held_out[3 * i + r], v_out[3 * i + r] = p_WP[r], 0.0


@device
def _point_in_world(position: Positions, mobod: int, p_BP: Floats) -> Vector3:
    """p_WP = p_WoBo_W + R_WB p_BP."""
    R, p = position[mobod]["R_WB"], position[mobod]["p_WoBo_W"]
    x, y, z = p_BP[0], p_BP[1], p_BP[2]
    return (
        p[0] + R[0, 0] * x + R[0, 1] * y + R[0, 2] * z,
        p[1] + R[1, 0] * x + R[1, 1] * y + R[1, 2] * z,
        p[2] + R[2, 0] * x + R[2, 1] * y + R[2, 2] * z,
    )


@kernel
def place_fixed(
    # Model:
    first_vertices: Integers,  # of each deformable body
    topology: Topology,
    parameters: Parameters,
    time_step: float,  # h [s]
    # In:
    q_vertices_in: Floats,  # of all vertices
    q_in: Floats,  # of the rigid bodies, before the step
    v_in: Floats,
    position_in: Positions,
    velocity_in: Velocities,
    # Out:
    middle_out: Middle,  # equation (2)
    # In and out:
    fixed_io: Fixed,  # all but what does not change
) -> None:
    """Sets where fixed vertices P and the points Q of rigid bodies are, and how the velocities of Q turn."""
    advance_positions(topology, 0.5 * time_step, q_in, v_in, middle_out.q)
    calc_kinematics(topology, parameters, middle_out.q, v_in, middle_out.position, middle_out.velocity)
    for i in range(fixed_io.shape[0]):
        one, mobod = fixed_io[i], fixed_io[i]["mobod"]
        at = 3 * (first_vertices[one["body"]] + one["vertex"])
        p_WQ = _point_in_world(position_in, mobod, one["p_BQ"])
        p_WM = _point_in_world(middle_out.position, mobod, one["p_BQ"])
        v_start = velocity_of_point(position_in, velocity_in, mobod, p_WQ)
        v_mid = velocity_of_point(middle_out.position, middle_out.velocity, mobod, p_WM)
        for r in range(3):
            one["p_WP"][r] = q_vertices_in[at + r]
            one["bias"][r] = v_mid[r] - v_start[r]  # equation (3)
        set_vector(one["p_WQ"], p_WQ)
        set_vector(one["p_WM"], p_WM)


@kernel
def end_motion(
    # Model:
    time_step: float,  # h [s]
    is_enabled: int,
    # In: shape [3 num_vertices] each
    q_in: Floats,  # before the step
    v_in: Floats,
    q_free_in: Floats,
    v_free_in: Floats,
    v_next_in: Floats,
    # Out:
    state_out: Floats,  # shape [9 num_vertices]
) -> None:
    """The state after the step, equation (1); a body that is switched off stays where it is."""
    n = q_in.shape[0]
    for k in range(n):
        if is_enabled != 0:
            state_out[k] = q_free_in[k] + 0.5 * time_step * (v_next_in[k] - v_free_in[k])
            state_out[n + k] = v_next_in[k]
            state_out[2 * n + k] = (v_next_in[k] - v_in[k]) / time_step
        else:
            state_out[k], state_out[n + k], state_out[2 * n + k] = q_in[k], 0.0, 0.0
