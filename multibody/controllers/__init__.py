"""Controllers that know a plant: the rest of the names of pydrake.systems.controllers."""

from merganser.multibody.controllers.inverse_dynamics import InverseDynamics, InverseDynamicsController
from merganser.multibody.controllers.joint_stiffness_controller import JointStiffnessController

__all__ = ["InverseDynamics", "InverseDynamicsController", "JointStiffnessController"]
