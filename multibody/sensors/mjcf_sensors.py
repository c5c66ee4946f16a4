"""The sensors of an MJCF file as one system."""

from __future__ import annotations

from typing import Any

import numpy as np

from merganser.framework import DiagramBuilder
from merganser.framework.core.values.arguments import require_types
from merganser.multibody.parsing import Parser
from merganser.multibody.parsing.description import BodyReference, ModelDescription
from merganser.multibody.parsing.instrument_description import SensorDescription
from merganser.multibody.plant import MultibodyPlant
from merganser.multibody.sensors.mjcf_measurements import MJCF_SENSORS
from merganser.multibody.sensors.plant_sensors import PlantSensors, add_sensors, find_measured
from merganser.multibody.sensors.sensor_kind import Measured, SensorKind, Weighed
from merganser.multibody.tree import ModelInstanceIndex


class MjcfSensors(PlantSensors):
    """All sensors of an MJCF file, as its <sensor> section describes them, without noise.

    Each has an output port of its name (`<kind><number>`, if it has none). Made by AddMjcfSensors().

    Args:
        plant: finalized; it has the model.
        instance: the model instance of the file in the plant.
        description: what the file says.
    """

    def __init__(self, plant: MultibodyPlant, instance: ModelInstanceIndex, description: ModelDescription) -> None:
        finder = PlantFinder(plant, instance)
        super().__init__(plant, [finder.find(sensor) for sensor in description.sensors])


def AddMjcfSensors(
    builder: DiagramBuilder, parser: Parser, model_instance: ModelInstanceIndex | None = None
) -> MjcfSensors:
    """Adds the sensors of an MJCF file to a diagram, wired to its plant.

    Args:
        builder: of the diagram that has the plant; range finders see the scene graph named "scene_graph" in it, and
            cannot be evaluated without one.
        parser: that has read the file into the plant, which is finalized now.
        model_instance: of the file; it may be left out if the parser has read one with sensors or cameras.

    Returns:
        The system, named `<model>_sensors`.

    Raises:
        RuntimeError: the plant is not finalized, or the parser has read no such model.
    """
    require_types("AddMjcfSensors", builder=(builder, DiagramBuilder))
    plant, instance, model = described_model("AddMjcfSensors", parser, model_instance)
    name = f"{plant.GetModelInstanceName(instance).replace('::', '_')}_sensors"
    system: MjcfSensors = add_sensors(builder, plant, MjcfSensors(plant, instance, model), name)
    return system


def described_model(
    caller: str, parser: Parser, model_instance: ModelInstanceIndex | None
) -> tuple[MultibodyPlant, ModelInstanceIndex, ModelDescription]:
    """The plant of a parser, and the one model with sensors or cameras that it has read, or that of an instance.

    Raises:
        RuntimeError: the plant is not finalized, or there is no such model.
        TypeError: the parser is something else.
    """
    require_types(caller, parser=(parser, Parser))
    plant, known = parser.plant(), parser._instruments
    if not plant.is_finalized():
        raise RuntimeError(f"{caller}(): the plant is not finalized; call Finalize() first.")
    if model_instance is None and len(known) == 1:
        model_instance = next(iter(known))
    if model_instance is None or model_instance not in known:
        names = ", ".join(f"'{plant.GetModelInstanceName(instance)}'" for instance in known) or "none"
        raise RuntimeError(
            f"{caller}(): model instance {model_instance} is none that this parser has read from an MJCF file with "
            f"sensors or cameras. There are: {names}. Pass the index that AddModels() has returned."
        )
    return plant, model_instance, known[model_instance]


class PlantFinder:
    """Finds the objects of sensors and cameras in a plant.

    Args:
        plant: finalized.
        instance: of the model that has them.
    """

    def __init__(self, plant: MultibodyPlant, instance: ModelInstanceIndex) -> None:
        self._plant, self._instance = plant, instance

    def find(self, sensor: SensorDescription) -> tuple[str, SensorKind, Measured, float]:
        """A sensor, as PlantSensors takes it."""
        plant, kind = self._plant, MJCF_SENSORS[sensor.kind]
        actuators = [
            (int(plant.GetJointActuatorByName(name, self._instance).index()), gear) for name, gear in sensor.actuators
        ]
        scale = actuators[0][1] if sensor.joints and actuators else 1.0
        joints = [(plant.GetJointByName(joint, self._instance), c * scale) for joint, c in sensor.joints]
        is_ball = any(joint.num_velocities() > 1 for joint, _ in joints)
        num_q = plant.num_positions()
        measured = find_measured(
            plant,
            kind,
            [(self._body(body), X_BF) for body, X_BF in sensor.frames],
            joints[0][0] if is_ball else None,
            coordinates=()
            if is_ball
            else tuple((joint.position_start(), num_q + joint.velocity_start(), c) for joint, c in joints),
            actuators=tuple(actuators),
            bodies=tuple(self.weigh(body) for body in sensor.bodies),
            shape=sensor.shape,
            limits=sensor.limits,
            constants=sensor.constants,
        )
        return sensor.name, kind, measured, sensor.cutoff

    def _body(self, reference: BodyReference) -> Any:
        if reference == BodyReference.world():
            return self._plant.world_body()
        return self._plant.GetBodyByName(reference.body, self._instance)

    def number_of(self, reference: BodyReference) -> int:
        """The number of a body."""
        return int(self._body(reference).index())

    def weigh(self, reference: BodyReference) -> Weighed:
        """A body with its mass properties."""
        body = self._body(reference)
        M = body.default_spatial_inertia()
        p, mass = M.get_com(), M.get_mass()
        I_Bo = M.CalcRotationalInertia().CopyToFullMatrix3()
        return Weighed(int(body.index()), mass, p, I_Bo - mass * ((p @ p) * np.eye(3) - np.outer(p, p)))
