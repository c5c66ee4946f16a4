"""ActuatorSliders: efforts, and positions that are wanted, of a plant's actuators, which users set in the browser."""

from __future__ import annotations

import functools
import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from merganser.framework import BasicVector, Context, DiagramBuilder, LeafSystem
from merganser.framework.core.values.arguments import require_types
from merganser.geometry.visualizers import Meshcat
from merganser.multibody.plant import MultibodyPlant
from merganser.multibody.tree import Actuator, ModelInstanceIndex

_EFFORT = 10.0  # of sliders whose actuators have no limit [N m, N]
_TRAVEL = math.pi  # of sliders of positions whose joints have no limits, to both sides [rad, m]
_STEPS = 100  # of a slider from end to end, at least
_TORQUES, _FORCES, _POSITIONS = "Torques [N m]", "Forces [N]", "Wanted positions [rad, m]"


class _Row(NamedTuple):
    """A slider: of which actuator, and what it sets."""

    name: str
    actuator: Actuator
    is_position: bool


class ActuatorSliders(LeafSystem):
    """A slider for each actuator of a plant, in the page of a Meshcat; beyond pydrake.

    One without controller gains has a slider for its effort, within its limits (or 10 N m, or N, to both sides), zero
    at first. One with gains has a slider for the position that it is to hold, within the limits of its joint, the
    default position at first; its effort is what its gains make of that.

    Ports:
        output `actuation`: efforts, in the order of the plant's input port `actuation`, shape [num_actuated_dofs].
        output `<model instance>_desired_state`: for each model instance that has actuators with gains.

    Args:
        meshcat: where the sliders are.
        plant: whose actuators they are for; finalized.

    Raises:
        TypeError: an argument has another type.
        RuntimeError: the plant is not finalized; the Meshcat has controls of these names already.
    """

    def __init__(self, meshcat: Meshcat, plant: MultibodyPlant) -> None:
        super().__init__()
        require_types("ActuatorSliders", meshcat=(meshcat, Meshcat), plant=(plant, MultibodyPlant))
        if not plant.is_finalized():
            raise RuntimeError(f"ActuatorSliders: call Finalize() of plant '{plant.get_name()}' first.")
        self._meshcat, self._plant = meshcat, plant
        self._rows: list[_Row] = []
        size, time = plant.num_actuated_dofs(), {self.time_ticket()}
        self.DeclareVectorOutputPort(
            "actuation", BasicVector(size), self._calc_actuation, time
        ).disable_caching_by_default()
        for instance in self._driven_instances():
            wide = 2 * plant.num_actuated_dofs(instance)
            port = self.DeclareVectorOutputPort(
                f"{plant.GetModelInstanceName(instance)}_desired_state", BasicVector(wide),
                functools.partial(self._calc_desired_state, instance), time,
            )  # fmt: skip
            port.disable_caching_by_default()
        try:
            self._add_sliders()
        except BaseException:
            self.Delete()
            raise

    @staticmethod
    def AddToBuilder(builder: DiagramBuilder, plant: MultibodyPlant, meshcat: Meshcat) -> ActuatorSliders:
        """Adds ActuatorSliders to a diagram, and connects them with the plant.

        Args:
            builder: of the diagram.
            plant: in it, and finalized.
            meshcat: as of the class.

        Returns:
            The system; its name is 'actuator_sliders'.

        Raises:
            RuntimeError: an input port of the plant for actuation is connected already.
        """
        sliders = builder.AddNamedSystem("actuator_sliders", ActuatorSliders(meshcat, plant))
        builder.Connect(sliders.GetOutputPort("actuation"), plant.get_actuation_input_port())
        for instance in sliders._driven_instances():
            output = sliders.GetOutputPort(f"{plant.GetModelInstanceName(instance)}_desired_state")
            builder.Connect(output, plant.get_desired_state_input_port(instance))
        return sliders

    def Delete(self) -> None:
        """Removes the sliders; from now on efforts are zero, and positions the default ones."""
        for row in self._rows:
            self._meshcat.DeleteSlider(row.name, strict=False)
        self._rows = []

    def _actuators(self) -> list[Actuator]:
        return [self._plant.get_joint_actuator(index) for index in self._plant.GetJointActuatorIndices()]

    def _driven_instances(self) -> list[ModelInstanceIndex]:
        """Model instances that have actuators with gains."""
        return sorted({each.model_instance() for each in self._actuators() if each.has_controller()})

    def _add_sliders(self) -> None:
        names = [each.name() for each in self._actuators()]
        for actuator in self._actuators():
            if actuator.num_inputs() != 1:
                continue
            scoped = f"{actuator.name()}/{self._plant.GetModelInstanceName(actuator.model_instance())}"
            name = actuator.name() if names.count(actuator.name()) == 1 else scoped
            low, high, value = _travel(actuator) if actuator.has_controller() else _efforts(actuator)
            self._meshcat.AddSlider(name, low, high, _step(high - low), value)
            self._rows.append(_Row(name, actuator, actuator.has_controller()))
            turns = actuator.transmission() is None and actuator.joint().can_rotate()
            group = _POSITIONS if actuator.has_controller() else _TORQUES if turns else _FORCES
            self._meshcat.put_in_group(name, group)

    def _value(self, row: _Row) -> float:
        return self._meshcat.GetSliderValue(row.name)

    def _calc_actuation(self, context: Context, output: BasicVector) -> None:
        u = np.zeros(self._plant.num_actuated_dofs())
        for row in self._rows:
            if not row.is_position:
                u[row.actuator.input_start()] = self._value(row)
        output.SetFromVector(u)

    def _calc_desired_state(self, instance: ModelInstanceIndex, context: Context, output: BasicVector) -> None:
        wanted = {row.actuator.index(): self._value(row) for row in self._rows if row.is_position}
        actuators = [each for each in self._actuators() if each.model_instance() == instance]
        q: NDArray[np.float64] = np.array([wanted.get(each.index(), _travel(each)[2]) for each in actuators])
        output.SetFromVector(np.concatenate([q, np.zeros(len(q))]))


def _step(length: float) -> float:
    """The step of a slider, a power of ten, chosen so that its ends and default are usually multiples."""
    return 10.0 ** math.floor(math.log10(length / _STEPS)) if length > 0.0 else 1.0


def _efforts(actuator: Actuator) -> tuple[float, float, float]:
    """Ends of the slider of an effort or a control, and its value."""
    law = actuator.law()
    if law is not None:
        low, high = (0.0, 1.0) if law.muscle is not None else law.control_range
        return (low, high, min(max(low, 0.0), high)) if math.isfinite(high - low) else (-_EFFORT, _EFFORT, 0.0)
    low, high = actuator.effort_range()
    return (low, high, min(max(low, 0.0), high)) if high < math.inf else (-_EFFORT, _EFFORT, 0.0)


def _travel(actuator: Actuator) -> tuple[float, float, float]:
    """Ends of the slider of a position, and its value."""
    if actuator.transmission() is not None:
        low, high = actuator._desired_range
        return (low, high, low) if math.isfinite(high - low) else (-_TRAVEL, _TRAVEL, 0.0)
    joint = actuator.joint()
    low, high, value = (
        float(each[0])
        for each in (joint.position_lower_limits(), joint.position_upper_limits(), joint.default_positions())
    )
    return (low if math.isfinite(low) else value - _TRAVEL), (high if math.isfinite(high) else value + _TRAVEL), value
