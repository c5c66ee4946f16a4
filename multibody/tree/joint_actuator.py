"""Actuators: a force on the velocity of one joint, and the inertia of the rotor behind it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from merganser.multibody.math.vectors import as_vector
from merganser.multibody.tree.element import NamedElement
from merganser.multibody.tree.indices import JointActuatorIndex

if TYPE_CHECKING:
    from merganser.multibody.tree.joints.joint import Joint

__all__ = ["JointActuator"]


class JointActuator(NamedElement):
    """Actuator of a joint with one velocity, made by AddJointActuator() of the plant.

    Args:
        name: unique among the actuators of the joint's model instance.
        joint: the joint to drive.
        effort_limit: largest magnitude of the effort, positive [N or N m].

    Raises:
        RuntimeError: if the effort limit is not positive or the name is empty.
    """

    _index_type = JointActuatorIndex

    def __init__(self, name: str, joint: Joint, effort_limit: float = np.inf) -> None:
        super().__init__(name, joint.model_instance())
        self._joint = joint
        self._default_gear_ratio = 1.0
        self._default_rotor_inertia = 0.0
        self.set_effort_limit(effort_limit)

    def joint(self) -> Joint:
        """Returns the joint that this actuator drives."""
        return self._joint

    def num_inputs(self) -> int:
        """Returns the number of inputs: that of the joint's velocities."""
        return self._joint.num_velocities()

    def input_start(self) -> int:
        """Returns where the input stands in the actuation vector u of the plant.

        Raises:
            RuntimeError: before Finalize().
        """
        if not self._get_tree("input_start").is_finalized():
            raise RuntimeError(
                f"input_start(): actuator {self._name!r} has no input before Finalize() of its plant."
            )
        return int(self._index)

    def get_actuation_vector(self, u: npt.ArrayLike) -> npt.NDArray[Any]:
        """Returns the part of the actuation vector u that drives this actuator, shape [num_inputs].

        Raises:
            ValueError: if u has not as many entries as the plant has actuated velocities.
        """
        start = self.input_start()
        values = as_vector(
            u, self._get_tree("get_actuation_vector").num_actuated_dofs(), "get_actuation_vector: u"
        )
        return values[start : start + self.num_inputs()]

    def set_actuation_vector(self, u_actuator: npt.ArrayLike, u: npt.NDArray[Any]) -> None:
        """Writes `u_actuator`, shape [num_inputs], to the place of this actuator in u.

        Raises:
            ValueError: if a size is wrong.
        """
        values = as_vector(u_actuator, self.num_inputs(), "set_actuation_vector: u_actuator")
        size = self._get_tree("set_actuation_vector").num_actuated_dofs()
        if u.shape != (size,):
            raise ValueError(f"set_actuation_vector(): u must have the shape ({size},), but has {u.shape}.")
        start = self.input_start()
        u[start : start + self.num_inputs()] = values

    def effort_limit(self) -> float:
        """Returns the largest magnitude of the effort [N or N m]."""
        return self._effort_limit

    def set_effort_limit(self, effort_limit: float) -> None:
        """Sets the largest magnitude of the effort [N or N m].

        Raises:
            RuntimeError: if it is not positive.
        """
        if not effort_limit > 0.0:
            raise RuntimeError(
                f"JointActuator {self._name!r}: the effort limit must be positive, but is {effort_limit}."
            )
        self._effort_limit = float(effort_limit)

    def default_gear_ratio(self) -> float:
        """Returns the gear ratio: rotor speed over joint velocity [1, or rad/m for prismatic joints]."""
        return self._default_gear_ratio

    def set_default_gear_ratio(self, gear_ratio: float) -> None:
        """Sets the gear ratio.

        Raises:
            ValueError: if it is not finite.
        """
        self._default_gear_ratio = self._finite("gear ratio", gear_ratio)

    def default_rotor_inertia(self) -> float:
        """Returns the inertia of the rotor about its axis [kg m^2]."""
        return self._default_rotor_inertia

    def set_default_rotor_inertia(self, rotor_inertia: float) -> None:
        """Sets the inertia of the rotor about its axis [kg m^2].

        Raises:
            ValueError: if it is negative or not finite.
        """
        self._default_rotor_inertia = self._checked_inertia(rotor_inertia)

    def default_reflected_inertia(self) -> float:
        """Returns gear_ratio^2 * rotor_inertia, what the joint feels of the rotor [kg m^2 or kg]."""
        return self._default_gear_ratio**2 * self._default_rotor_inertia

    # -- in a Context ----------------------------------------------------------------------------------------

    def gear_ratio(self, context: Any) -> Any:
        """Returns the gear ratio in the Context: rotor speed over joint velocity [1, or rad/m]."""
        return self.GetParentPlant()._rotors(context)[0, self._index]

    def SetGearRatio(self, context: Any, gear_ratio: float) -> None:
        """Sets the gear ratio in the Context.

        Raises:
            ValueError: if it is not finite.
        """
        self.GetParentPlant()._set_rotor(context, self, 0, self._finite("gear ratio", gear_ratio))

    def rotor_inertia(self, context: Any) -> Any:
        """Returns the inertia of the rotor about its axis in the Context [kg m^2]."""
        return self.GetParentPlant()._rotors(context)[1, self._index]

    def SetRotorInertia(self, context: Any, rotor_inertia: float) -> None:
        """Sets the inertia of the rotor about its axis in the Context [kg m^2].

        Raises:
            ValueError: if it is negative or not finite.
        """
        self.GetParentPlant()._set_rotor(context, self, 1, self._checked_inertia(rotor_inertia))

    def calc_reflected_inertia(self, context: Any) -> Any:
        """Returns gear_ratio^2 * rotor_inertia in the Context, what the joint feels of the rotor [kg m^2 or kg]."""
        return self.gear_ratio(context) ** 2 * self.rotor_inertia(context)

    def _checked_inertia(self, rotor_inertia: float) -> float:
        value = self._finite("rotor inertia", rotor_inertia)
        if value < 0.0:
            raise ValueError(
                f"JointActuator {self._name!r}: the rotor inertia must not be negative, but is {value}."
            )
        return value

    def _finite(self, what: str, value: float) -> float:
        if not np.isfinite(value):
            raise ValueError(f"JointActuator {self._name!r}: the {what} must be finite, but is {value}.")
        return float(value)
