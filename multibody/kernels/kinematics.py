"""Position and velocity kinematics in one call, for a new q and v: see position.py and velocity.py."""

from __future__ import annotations

from merganser.framework.native import device, kernel
from merganser.framework.native.memory.hinted_types import Floats
from merganser.multibody.kernels.layout import Parameters, Positions, Topology, Velocities
from merganser.multibody.kernels.position import calc_position_kinematics
from merganser.multibody.kernels.velocity import calc_velocity_kinematics

__all__ = ["calc_kinematics", "kinematics"]


@device
def calc_kinematics(
    # Model:
    topology: Topology,  # shape [num_mobods], see layout.py
    parameters: Parameters,  # shape [num_mobods]
    # In:
    q_in: Floats,  # generalized positions, shape [num_q]
    v_in: Floats,  # generalized velocities, shape [num_v]
    # Out:
    position_out: Positions,  # position records, shape [num_mobods]
    velocity_out: Velocities,  # velocity records, shape [num_mobods]
) -> None:
    """Computes everything that depends on q, and on q and v."""
    calc_position_kinematics(topology, parameters, q_in, position_out)
    calc_velocity_kinematics(topology, parameters, position_out, q_in, v_in, velocity_out)


kinematics = kernel(calc_kinematics)
