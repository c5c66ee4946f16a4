"""The sensors of an MJCF file as one system."""

from __future__ import annotations

from typing import Any

import numpy as np

from merganser.framework import BasicVector, Context, DiagramBuilder, InputPort, LeafSystem, OutputPort, Value
from merganser.framework.common.errors import nearest_names
from merganser.framework.core.values.arguments import require_types
from merganser.framework.math import RigidTransform
from merganser.geometry import FrameId, QueryObject
from merganser.geometry.scene.rays import RayCaster
from merganser.multibody.parsing import Parser
from merganser.multibody.parsing.description import BodyReference, ModelDescription
from merganser.multibody.parsing.instrument_description import SensorDescription
from merganser.multibody.plant import ContactResults, MultibodyPlant
from merganser.multibody.sensors.mjcf_measurements import MEASUREMENTS, Measured, Measurement, Ports, Weighed
from merganser.multibody.tree import ModelInstanceIndex

_ABSTRACT = {
    "body_poses": [], "body_spatial_velocities": [], "body_spatial_accelerations": [], "reaction_forces": [],
    "contact_results": ContactResults(), "geometry_query": QueryObject(),
}  # fmt: skip
_POSITIVE = ("touch",)


class MjcfSensors(LeafSystem):
    """All sensors of an MJCF file, as its <sensor> section describes them, without noise.

    Each has an output port of its name (`<kind><number>`, if it has none), a vector. Inputs are ports of the plant:
    those that some sensor needs, under their names there, and `geometry_query` of a scene graph if there is a range
    finder. Made by AddMjcfSensors().

    Args:
        plant: finalized; it has the model.
        instance: the model instance of the file in the plant.
        description: what the file says.
    """

    def __init__(self, plant: MultibodyPlant, instance: ModelInstanceIndex, description: ModelDescription) -> None:
        super().__init__()
        finder = PlantFinder(plant, instance)
        self._names = [sensor.name for sensor in description.sensors]
        measurements = [MEASUREMENTS[sensor.kind] for sensor in description.sensors]
        self._inputs: dict[str, InputPort] = {}
        for name in dict.fromkeys(name for measurement in measurements for name in measurement.inputs):
            self._inputs[name] = self._add_input(name, plant)
        for sensor, measurement in zip(description.sensors, measurements):
            self._add_output(sensor, measurement, finder.find(sensor))

    def _add_input(self, name: str, plant: MultibodyPlant) -> InputPort:
        if name in _ABSTRACT:
            return self.DeclareAbstractInputPort(name, Value(_ABSTRACT[name]))
        size = plant.get_state_output_port().size() if name == "state" else plant.get_net_actuation_output_port().size()
        return self.DeclareVectorInputPort(name, size)

    def _add_output(self, sensor: SensorDescription, measurement: Measurement, measured: Measured) -> None:
        low = 0.0 if sensor.kind in _POSITIVE else -sensor.cutoff
        limits = (low, sensor.cutoff) if sensor.cutoff > 0.0 else None

        def calc(context: Context, output: BasicVector) -> None:
            ports = Ports(lambda name: self._inputs[name].Eval(context), context.get_time())
            value = np.asarray(measurement.calc(measured, ports), float)
            output.SetFromVector(value if limits is None else np.clip(value, limits[0], limits[1]))

        tickets = {self._inputs[name].ticket() for name in measurement.inputs}
        self.DeclareVectorOutputPort(sensor.name, measurement.size, calc, tickets or {self.time_ticket()})

    def sensor_names(self) -> list[str]:
        """Returns the names of all sensors, in the order of MuJoCo's `sensordata`."""
        return list(self._names)

    def get_sensor_output_port(self, name: str) -> OutputPort:
        """Returns the port of a sensor.

        Raises:
            RuntimeError: there is no sensor of that name.
        """
        if name not in self._names:
            raise RuntimeError(f"There is no sensor '{name}'. {nearest_names(name, self._names)}")
        return self.GetOutputPort(name)

    def EvalSensors(self, context: Context) -> Any:
        """Returns what all sensors measure, one after the other as in MuJoCo's `sensordata`.

        Args:
            context: of this system.
        """
        values = [self.GetOutputPort(name).Eval(context) for name in self._names]
        return np.concatenate(values) if values else np.zeros(0)


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
    system = MjcfSensors(plant, instance, model)
    builder.AddNamedSystem(f"{plant.GetModelInstanceName(instance).replace('::', '_')}_sensors", system)
    for name, port in system._inputs.items():
        if name != "geometry_query":
            builder.Connect(plant.GetOutputPort(name), port)
        elif builder.HasSubsystemNamed("scene_graph"):
            scene_graph: Any = builder.GetSubsystemByName("scene_graph")
            builder.Connect(scene_graph.get_query_output_port(), port)
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

    def find(self, sensor: SensorDescription) -> Measured:
        """The object of a sensor."""
        plant = self._plant
        actuators = [
            (int(plant.GetJointActuatorByName(name, self._instance).index()), gear) for name, gear in sensor.actuators
        ]
        scale = actuators[0][1] if sensor.joints and actuators else 1.0
        joints = [(plant.GetJointByName(joint, self._instance), c * scale) for joint, c in sensor.joints]
        is_ball = any(joint.num_velocities() > 1 for joint, _ in joints)
        is_load = sensor.kind in ("force", "torque")
        joint = joints[0][0] if is_ball else self._joint_of(sensor) if is_load else None
        num_q, is_ray = plant.num_positions(), sensor.kind == "rangefinder"
        return Measured(
            frames=tuple((self.number_of(body), X_BF) for body, X_BF in sensor.frames),
            coordinates=()
            if is_ball
            else tuple((joint.position_start(), num_q + joint.velocity_start(), c) for joint, c in joints),
            joint=None if joint is None else _ends_of(joint),
            actuators=tuple(actuators),
            bodies=tuple(self.weigh(body) for body in sensor.bodies),
            shape=sensor.shape,
            gravity=plant.gravity_field().gravity_vector(),
            limits=sensor.limits,
            constants=sensor.constants,
            rays=RayCaster() if is_ray else None,
            passed=self._geometry_frames(sensor) if is_ray else (),
        )

    def _body(self, reference: BodyReference) -> Any:
        if reference == BodyReference.world():
            return self._plant.world_body()
        return self._plant.GetBodyByName(reference.body, self._instance)

    def number_of(self, reference: BodyReference) -> int:
        """The number of a body."""
        return int(self._body(reference).index())

    def _geometry_frames(self, sensor: SensorDescription) -> tuple[FrameId, ...]:
        """The frames in the scene graph of the bodies on which a sensor is."""
        if not self._plant.geometry_source_is_registered():
            return ()
        return tuple(self._plant.GetBodyFrameIdOrThrow(self._body(body).index()) for body, _ in sensor.frames)

    def _joint_of(self, sensor: SensorDescription) -> Any:
        """The joint that moves a body, or holds it."""
        body = self._body(sensor.frames[0][0])
        joints = map(self._plant.get_joint, self._plant.GetJointIndices())
        return next(joint for joint in joints if joint.child_body() is body)

    def weigh(self, reference: BodyReference) -> Weighed:
        """A body with its mass properties."""
        body = self._body(reference)
        M = body.default_spatial_inertia()
        p, mass = M.get_com(), M.get_mass()
        I_Bo = M.CalcRotationalInertia().CopyToFullMatrix3()
        return Weighed(int(body.index()), mass, p, I_Bo - mass * ((p @ p) * np.eye(3) - np.outer(p, p)))


def _ends_of(joint: Any) -> tuple[int, RigidTransform, int, RigidTransform, int]:
    F, M = joint.frame_on_parent(), joint.frame_on_child()
    return (
        int(F.body().index()), F.GetFixedPoseInBodyFrame(), int(M.body().index()), M.GetFixedPoseInBodyFrame(),
        int(joint.index()),
    )  # fmt: skip
