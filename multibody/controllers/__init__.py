"""Controllers that know a plant: the rest of the names of pydrake.systems.controllers."""

from merganser.multibody.controllers.inverse_dynamics import (
    InverseDynamics,
    InverseDynamicsController,
    JointStiffnessController,
)

__all__ = ["InverseDynamics", "InverseDynamicsController", "JointStiffnessController"]
