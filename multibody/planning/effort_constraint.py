"""Limits of the efforts that a plant needs to move as a trajectory does."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from merganser.framework import Context
from merganser.framework.optimization import Constraint
from merganser.multibody.algorithms import inverse_dynamics_derivatives
from merganser.multibody.inverse_kinematics.posture_functions import PostureFunction
from merganser.multibody.plant import MultibodyPlant
from merganser.multibody.tree import MultibodyForces

__all__ = ["EffortConstraint"]

Array = NDArray[np.float64]


class EffortConstraint(PostureFunction, Constraint):
    """lower <= M(q) vdot + C(q, v) v - tau_g(q) - tau_app(q, v) <= upper, a function of x = [q, v, vdot].

    tau_app are the forces of springs, dampers and other force elements, and the damping of joints. Derivatives by q, v
    and vdot are those of multibody/algorithms/derivatives.py, in closed form.

    Args:
        plant: finalized, with qdot = v.
        plant_context: of the plant; it is moved.
        lower, upper: generalized forces [N m, N], shape [num_velocities] each.
    """

    def __init__(self, plant: MultibodyPlant, plant_context: Context, lower: Array, upper: Array) -> None:
        self._take(plant, plant_context)
        Constraint.__init__(self, 3 * plant.num_positions(), lower, upper, "efforts")

    def _at(self, x: Array) -> tuple[Array, Array]:
        plant, context = self._plant, self._context
        _, v, vdot = x.reshape(3, -1)
        plant.SetVelocities(context, v)
        forces = MultibodyForces(plant)
        plant.CalcForceElementsContribution(context, forces)
        tau = plant.CalcInverseDynamics(context, vdot, forces)
        by = inverse_dynamics_derivatives(plant, context, vdot)
        return tau, np.hstack((by.dtau_dq, by.dtau_dv, by.M))
