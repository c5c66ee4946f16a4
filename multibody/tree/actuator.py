"""Actuators: a force on one joint or along a transmission, the inertia of a rotor, and gains of a PD controller."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from merganser.framework.common.records import settings
from merganser.multibody.math.spatial_vector import as_scalar, as_vector
from merganser.multibody.tree.actuator_law import ActuatorLaw
from merganser.multibody.tree.element import NamedElement
from merganser.multibody.tree.indices import JointActuatorIndex
from merganser.multibody.tree.inertia.validity import real_values
from merganser.multibody.tree.transmission import Transmission

if TYPE_CHECKING:
    from merganser.framework import Context
    from merganser.multibody.tree.joints.joint import Joint
    from merganser.multibody.tree.tree import MultibodyTree


@settings
@dataclass(kw_only=True)
class PdControllerGains:
    """Gains of the control law u = -p (q - qd) - d (v - vd) + u_ff of an actuator.

    Attributes:
        p: proportional gain [N m/rad or N/m].
        d: derivative gain [N m s/rad or N s/m].
    """

    p: float = 0.0
    d: float = 0.0


class Actuator(NamedElement):
    """A force along a transmission, made by AddActuator() of the plant, or on a joint: then a JointActuator.

    Its effort is that along the transmission: it acts on the coordinates times the moment arms. What is said below of
    the position and velocity of a joint holds for the length of the transmission, and for the rate of that.

    Args:
        name: unique among the actuators of the model instance of what it drives.
        driven: the joint or transmission.
        effort_limit: largest magnitude of the effort, positive [N or N m].

    Raises:
        RuntimeError: if the effort limit is not positive or the name is empty.
    """

    _index_type = JointActuatorIndex

    def __init__(self, name: str, driven: Joint | Transmission, effort_limit: float = np.inf) -> None:
        super().__init__(name, driven.model_instance())
        self._driven = driven
        self._input_start: int | None = None  # set by Finalize()
        self._default_gear_ratio = 1.0
        self._default_rotor_inertia = 0.0
        self._gains = PdControllerGains()
        self._law: ActuatorLaw | None = None
        self._activation_place: slice | None = None  # set by Finalize()
        self._desired_range, self._desired_scale, self._bias = (-np.inf, np.inf), 1.0, 0.0
        self.set_effort_limit(effort_limit)

    def _described(self) -> str:
        return f"{type(self).__name__} {self._name!r}"

    def _in_tree(self, tree: MultibodyTree) -> Actuator:
        return tree.actuators.get(self._index)

    def joint(self) -> Joint:
        """Returns the joint that this actuator drives.

        Raises:
            RuntimeError: it drives a transmission.
        """
        if isinstance(self._driven, Transmission):
            raise RuntimeError(
                f"joint(): actuator {self._name!r} drives transmission {self._driven.name()!r}, and no joint. Ask "
                "transmission() first."
            )
        return self._driven

    def transmission(self) -> Transmission | None:
        """Returns the transmission that this actuator drives; None of a JointActuator."""
        return self._driven if isinstance(self._driven, Transmission) else None

    def num_inputs(self) -> int:
        """Returns the number of inputs, 1."""
        return 1

    def input_start(self) -> int:
        """Returns the index of the input in the actuation vector u of the plant.

        Raises:
            RuntimeError: before Finalize().
        """
        if self._input_start is None:
            raise RuntimeError(
                f"input_start(): actuator {self._name!r} has no input before Finalize() of its plant."
            )
        return self._input_start

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
        return max(-self._effort_range[0], self._effort_range[1])

    def effort_range(self) -> tuple[float, float]:
        """Returns the lowest and the highest effort [N or N m]. An addition to pydrake's functions."""
        return self._effort_range

    def set_effort_range(self, lower: float, upper: float) -> None:
        """Sets the lowest and the highest effort [N or N m]. An addition to pydrake's functions.

        Raises:
            ValueError: if one is not finite, or the lower one is not less than the upper one.
        """
        low, high = self._finite("lowest effort", lower), self._finite("highest effort", upper)
        if not low < high:
            raise ValueError(
                f"{self._described()}: the lowest effort must be less than the highest, got {low} and {high}."
            )
        self._effort_range = float(low), float(high)
        self._note_change()

    def set_effort_limit(self, effort_limit: float) -> None:
        """Sets the largest magnitude of the effort [N or N m].

        Raises:
            RuntimeError: if it is not positive.
        """
        if not effort_limit > 0.0:
            raise RuntimeError(
                f"{self._described()}: the effort limit must be positive, but is {effort_limit}."
            )
        self._effort_range = -float(effort_limit), float(effort_limit)
        self._note_change()

    def set_desired_position_map(
        self, lower: float = -np.inf, upper: float = np.inf, scale: float = 1.0, bias: float = 0.0
    ) -> None:
        """Sets what the PD controller makes of a desired position that is given. An addition to pydrake's functions.

            qd = scale max(lower, min(upper, given)), and u_ff grows by `bias`

        Args:
            lower, upper: limits, both finite or neither [rad or m].
            scale: dimensionless.
            bias: a constant effort, which acts while the controller does [N or N m].

        Raises:
            ValueError: if a number is not admissible.
        """
        is_bounded = bool(np.isfinite(lower) and np.isfinite(upper))
        if (not is_bounded and (lower, upper) != (-np.inf, np.inf)) or not lower <= upper:
            raise ValueError(
                f"{self._described()}: limits of the desired position must be in order, and finite or both "
                f"infinite, got {lower} and {upper}."
            )
        self._desired_scale, self._bias = float(self._finite("scale", scale)), float(self._finite("bias", bias))
        self._desired_range = float(lower), float(upper)
        self._note_change()

    def set_controller_gains(self, gains: PdControllerGains) -> None:
        """Gives the actuator a PD controller within the plant; gains of zero take it away.

            u = max(-e, min(e, -Kp (q - qd) - Kd (v - vd) + u_ff))

        where e is the effort limit, qd and vd come through the desired state input port of the model instance, and
        u_ff through the actuation input ports. In a discrete plant, q and v are those at the end of the step. Gains
        belong to the model, not to a Context.

        Raises:
            ValueError: if a gain is negative or not finite.
            TypeError: if `gains` are not PdControllerGains.
        """
        if not isinstance(gains, PdControllerGains):
            raise TypeError(f"set_controller_gains() takes PdControllerGains, not a {type(gains).__name__}.")
        p, d = self._finite("proportional gain", gains.p), self._finite("derivative gain", gains.d)
        for what, gain in (("proportional", p), ("derivative", d)):
            if gain < 0.0:
                raise ValueError(f"{self._described()}: the {what} gain must not be negative, but is {gain}.")
        self._gains = PdControllerGains(p=p, d=d)
        self._note_change()

    def set_law(self, law: ActuatorLaw | None) -> None:
        """Gives the actuator a law by which its force follows a control; before Finalize().

        What comes through the actuation input ports is then the control. Of an actuator with a PD controller, only the
        dynamics of the law count: the activation takes the place of the desired position that is given.

        Raises:
            TypeError: it is no ActuatorLaw.
            RuntimeError: after Finalize().
        """
        if law is not None and not isinstance(law, ActuatorLaw):
            raise TypeError(f"set_law() takes an ActuatorLaw, not a {type(law).__name__}.")
        if self._tree is not None:
            self._tree._check_not_finalized("set_law")
        self._law = law

    def law(self) -> ActuatorLaw | None:
        """Returns the law by which its force follows a control; None without one."""
        return self._law

    def activation(self, context: Context) -> Any:
        """Returns its activation in a Context; of a law with several states these, shape [num_states].

        Raises:
            RuntimeError: it has none.
        """
        place = self._place_of_activation("activation")
        states = self.GetParentPlant()._views.workspace(context).activations[place]
        return states[0] if len(states) == 1 else states.copy()

    def SetActivation(self, context: Context, activation: npt.ArrayLike) -> None:
        """Sets its activation in a Context, or all states of its law, shape [num_states].

        Raises:
            RuntimeError: it has none.
            ValueError: a number is not finite, or there are not as many as states.
        """
        place = self._place_of_activation("SetActivation")
        given = np.atleast_1d(np.asarray(activation, dtype=object))
        if given.shape != (place.stop - place.start,):
            raise ValueError(
                f"{self._described()}: SetActivation() takes {place.stop - place.start} states, but got the shape "
                f"{given.shape}."
            )
        values = [self._finite("activation", value) for value in given]
        self.GetParentPlant()._views.mutable_activations(context)[place] = values

    def _place_of_activation(self, caller: str) -> slice:
        if self._activation_place is None:
            raise RuntimeError(
                f"{caller}(): {self._described()} has no activation. Give it a law with dynamics by set_law(), and "
                "call Finalize() of its plant."
            )
        return self._activation_place

    def has_controller(self) -> bool:
        """Returns whether the actuator has a PD controller: gains that are not both zero."""
        return self._gains.p != 0.0 or self._gains.d != 0.0

    def get_controller_gains(self) -> PdControllerGains:
        """Returns a copy of the gains of the PD controller.

        Raises:
            RuntimeError: if the actuator has none.
        """
        if not self.has_controller():
            raise RuntimeError(
                f"get_controller_gains(): actuator {self._name!r} has no PD controller. Give it one by "
                "set_controller_gains(), and ask has_controller() first."
            )
        return PdControllerGains(p=self._gains.p, d=self._gains.d)

    def _note_change(self) -> None:
        """Makes the plant read its actuators again."""
        plant = None if self._tree is None else self._tree.plant
        if plant is not None:
            plant._inputs.note_actuator_change()

    def default_gear_ratio(self) -> float:
        """Returns the gear ratio: rotor speed over joint velocity [1, or rad/m for prismatic joints]."""
        return self._default_gear_ratio

    def set_default_gear_ratio(self, gear_ratio: float) -> None:
        """Sets the gear ratio.

        Raises:
            ValueError: if it is not finite.
        """
        self._default_gear_ratio = float(self._finite("gear ratio", gear_ratio))

    def default_rotor_inertia(self) -> float:
        """Returns the inertia of the rotor about its axis [kg m^2]."""
        return self._default_rotor_inertia

    def set_default_rotor_inertia(self, rotor_inertia: float) -> None:
        """Sets the inertia of the rotor about its axis [kg m^2].

        Raises:
            ValueError: if it is negative or not finite.
        """
        inertia = float(self._checked_inertia(rotor_inertia))
        if inertia:
            self.joint()  # refuses transmissions
        self._default_rotor_inertia = inertia

    def default_reflected_inertia(self) -> float:
        """Returns gear_ratio^2 * rotor_inertia, what the joint feels of the rotor [kg m^2 or kg]."""
        return self._default_gear_ratio**2 * self._default_rotor_inertia

    # -- in a Context ----------------------------------------------------------------------------------------

    def gear_ratio(self, context: Context) -> Any:
        """Returns the gear ratio in the Context: rotor speed over joint velocity [1, or rad/m]."""
        return self.GetParentPlant()._views.rotors(context)[0, self.input_start()]

    def SetGearRatio(self, context: Context, gear_ratio: float) -> None:
        """Sets the gear ratio in the Context.

        Raises:
            ValueError: if it is not finite.
        """
        self.GetParentPlant()._views.set_rotor(context, self, 0, self._finite("gear ratio", gear_ratio))

    def rotor_inertia(self, context: Context) -> Any:
        """Returns the inertia of the rotor about its axis in the Context [kg m^2]."""
        return self.GetParentPlant()._views.rotors(context)[1, self.input_start()]

    def SetRotorInertia(self, context: Context, rotor_inertia: float) -> None:
        """Sets the inertia of the rotor about its axis in the Context [kg m^2].

        Raises:
            ValueError: if it is negative or not finite.
        """
        self.GetParentPlant()._views.set_rotor(context, self, 1, self._checked_inertia(rotor_inertia))

    def calc_reflected_inertia(self, context: Context) -> Any:
        """Returns gear_ratio^2 * rotor_inertia in the Context, what the joint feels of the rotor [kg m^2 or kg]."""
        return self.gear_ratio(context) ** 2 * self.rotor_inertia(context)

    def _checked_inertia(self, rotor_inertia: Any) -> Any:
        value = self._finite("rotor inertia", rotor_inertia)
        real = real_values(value)
        if real is not None and real < 0.0:
            raise ValueError(
                f"{self._described()}: the rotor inertia must not be negative, but is {value}."
            )
        return value

    def _finite(self, what: str, value: Any) -> Any:
        number = as_scalar(value, f"{self._described()}: the {what}")
        real = real_values(number)
        if real is not None and not np.isfinite(real):
            raise ValueError(f"{self._described()}: the {what} must be finite, but is {value}.")
        return number


class JointActuator(Actuator):
    """Actuator of a joint with one velocity, made by AddJointActuator() of the plant; arguments as for Actuator."""

    def __init__(self, name: str, joint: Joint, effort_limit: float = np.inf) -> None:
        super().__init__(name, joint, effort_limit)
