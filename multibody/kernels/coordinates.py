"""The kinematic map between velocities and the rates of the positions: qdot = N(q) v, v = N+(q) qdot.

N and N+ of each kind of mobilizer: see mobilizers/, one file a kind. Most have qdot = v.
"""

from __future__ import annotations

from merganser.framework.native import device, kernel
from merganser.multibody.kernels.mobilizers.dispatch import set_rates, set_velocities
from merganser.multibody.kernels.spatial import Array

__all__ = ["calc_qdot_to_velocity", "calc_velocity_to_qdot", "qdot_to_velocity", "velocity_to_qdot"]


@device
def calc_velocity_to_qdot(
    # Model:
    topology: Array,  # shape [num_mobods], see layout.py
    # In:
    q_in: Array,  # generalized positions, shape [num_q]
    v_in: Array,  # generalized velocities, shape [num_v]
    # Out:
    qdot_out: Array,  # rates of the positions, shape [num_q]
) -> None:
    """Computes qdot = N(q) v."""
    for i in range(1, topology.shape[0]):
        set_rates(topology[i], q_in, v_in, qdot_out)


@device
def calc_qdot_to_velocity(
    # Model:
    topology: Array,  # shape [num_mobods], see layout.py
    # In:
    q_in: Array,  # generalized positions, shape [num_q]
    qdot_in: Array,  # rates of the positions, shape [num_q]
    # Out:
    v_out: Array,  # generalized velocities, shape [num_v]
) -> None:
    """Computes v = N+(q) qdot."""
    for i in range(1, topology.shape[0]):
        set_velocities(topology[i], q_in, qdot_in, v_out)


velocity_to_qdot = kernel(calc_velocity_to_qdot)
qdot_to_velocity = kernel(calc_qdot_to_velocity)
