"""JointStiffnessController: joints that behave like springs and dampers about a desired state."""

from __future__ import annotations

from typing import Any

from numpy.typing import ArrayLike

from merganser.framework import Context, InputPort, LeafOutputPort, LeafSystem
from merganser.framework.core.scalars.element_functions import left_to_right_product
from merganser.multibody.controllers.controlled_plant import ControllerCode, checked_gains, require_fully_actuated
from merganser.multibody.plant import MultibodyPlant
from merganser.multibody.plant.scratch_plant import ScratchPlant, require_plant


class JointStiffnessController(LeafSystem):
    """Stiffness and damping at the joints, with gravity and force elements compensated for.

        actuation = B^-1 [-tau_g(q) - tau_app(q, v) + kp (q_d - q) + kd (v_d - v)]                 (1)

    so that the robot moves by M(q) vdot + C(q, v) v + kp (q - q_d) + kd (v - v_d) = tau_ext (Hogan 1985). tau_app
    are the forces of force elements and damping. Input ports are 'estimated_state' and 'desired_state', the output port
    is 'actuation'.

    Args:
        plant: finalized and fully actuated, with qdot = v; it is not copied.
        kp: stiffness of the joints, shape [n].
        kd: damping of the joints, shape [n].

    Raises:
        RuntimeError: the plant is not like that, or gains are not of its size.
    """

    def __init__(self, plant: MultibodyPlant, kp: ArrayLike, kd: ArrayLike) -> None:
        super().__init__()
        name = "JointStiffnessController"
        require_plant(plant, name)
        self._B_inverse = require_fully_actuated(plant, name)
        if not plant.IsVelocityEqualToQDot():
            raise RuntimeError(
                f"{name}: velocities of plant '{plant.GetSystemPathname()}' must be the rates of its positions."
            )
        n = plant.num_positions()
        self._kp, self._kd = checked_gains(kp, n, f"{name}: kp"), checked_gains(kd, n, f"{name}: kd")
        self._model = ScratchPlant(self, plant, None)
        self._state = self.DeclareVectorInputPort("estimated_state", 2 * n)
        self._desired = self.DeclareVectorInputPort("desired_state", 2 * n)
        needs = {self._state.ticket(), self._desired.ticket()}
        self._actuation = self.DeclareVectorOutputPort("actuation", n, self._calc_actuation, needs)
        gains = self._kp, self._kd, self._B_inverse
        self._actuation.cache_entry().use_native(ControllerCode(self._model, "STIFFNESS", gains))

    def get_input_port_estimated_state(self) -> InputPort:
        """Returns the input port of the state (q, v)."""
        return self._state

    def get_input_port_desired_state(self) -> InputPort:
        """Returns the input port of the desired state (q_d, v_d)."""
        return self._desired

    def get_output_port_actuation(self) -> LeafOutputPort:
        """Returns the output port of the actuation, in the order of the plant's actuation port."""
        return self._actuation

    def get_multibody_plant(self) -> MultibodyPlant:
        """Returns the plant."""
        return self._model.plant

    def _calc_actuation(self, context: Context, output: Any) -> None:
        x, n = self._state.Eval(context), len(self._kp)
        plant_context = self._model.at(context, x)
        applied = self._model.plant.CalcGeneralizedForces(plant_context, self._model.force_elements(plant_context))
        error = self._desired.Eval(context) - x
        force = -applied + self._kp * error[:n] + self._kd * error[n:]
        output.SetFromVector(left_to_right_product(self._B_inverse, force))  # (1)
