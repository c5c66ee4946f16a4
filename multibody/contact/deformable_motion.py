"""What a step does before the free motion of a deformable body and at its end, and where fixed vertices are.

Held vertices are put where they are held, and have no velocity. With v+ after the step, and v* and q* after free
motion,

    q+ = q* + h/2 (v+ - v*),   a = (v+ - v) / h                                                               (1)

as q* = q + h/2 (v + v*), but where vertices are held.
"""

from __future__ import annotations

from merganser.framework.native import device, kernel
from merganser.framework.native.memory.hinted_types import Floats, FloatTable, Integers
from merganser.multibody.contact.deformable_records import Fixed
from merganser.multibody.contact.layout import Array
from merganser.multibody.kernels.layout import Positions
from merganser.multibody.kernels.spatial import Vector3, set_vector, vector

__all__ = ["end_motion", "place_fixed", "start_motion"]


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
def _point_in_world(position: Array, mobod: int, p_BP: Array) -> Vector3:
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
    # In:
    q_in: Floats,  # of all vertices
    position_in: Positions,
    # In and out:
    fixed_io: Fixed,  # p_WP and p_WQ are set
) -> None:
    """Sets where fixed vertices P and the points Q of rigid bodies are before the step."""
    for i in range(fixed_io.shape[0]):
        one = fixed_io[i]
        at = 3 * (first_vertices[one["body"]] + one["vertex"])
        for r in range(3):
            one["p_WP"][r] = q_in[at + r]
        set_vector(one["p_WQ"], _point_in_world(position_in, one["mobod"], one["p_BQ"]))


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
