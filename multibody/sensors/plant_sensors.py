"""Sensors of any kind on a plant, as one system that is wired to it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from merganser.framework import BasicVector, Context, DiagramBuilder, InputPort, LeafSystem, OutputPort
from merganser.framework.common.errors import nearest_names
from merganser.framework.core.values.arguments import require_types
from merganser.framework.math import RigidTransform
from merganser.geometry.scene.rays import RayCaster
from merganser.multibody.plant import MultibodyPlant
from merganser.multibody.sensors.sensor_kind import Measured, Ports, SensorKind
from merganser.multibody.tree import Frame

_QUERY = "geometry_query"  # an input of the plant, too: all other ports that kinds read are its outputs


class PlantSensors(LeafSystem):
    """Sensors of a finalized plant, each with an output port of its name, a vector.

    Inputs are ports of the plant: those that some sensor reads, under their names there, and `geometry_query` of a
    scene graph. Made by AddSensor() and AddMjcfSensors().

    Args:
        plant: finalized.
        sensors: the name of each, its kind, what it is about, and its cutoff: a bound of what it measures, 0 for none.
    """

    def __init__(self, plant: MultibodyPlant, sensors: Iterable[tuple[str, SensorKind, Measured, float]]) -> None:
        super().__init__()
        self._names: list[str] = []
        self._inputs: dict[str, InputPort] = {}
        for name, kind, measured, cutoff in sensors:
            for port in kind.inputs:
                if port not in self._inputs:
                    found = plant.get_geometry_query_input_port() if port == _QUERY else plant.GetOutputPort(port)
                    self._inputs[port] = self.DeclareInputPort(port, found.get_data_type(), found.size())
            self._names.append(name)
            self._add_output(name, kind, measured, cutoff)

    def _add_output(self, name: str, kind: SensorKind, measured: Measured, cutoff: float) -> None:
        def calc(context: Context, output: BasicVector) -> None:
            found = kind.calc(measured, Ports(kind, self._inputs, context))
            value = np.atleast_1d(np.asarray(found, float))
            if found is None or value.shape != (kind.size,):
                raise ValueError(
                    f"Sensor '{name}': calc of SensorKind '{kind.name}' must return {kind.size} numbers, got {found!r}."
                )
            if cutoff > 0.0:
                value = np.clip(value, 0.0 if kind.is_positive else -cutoff, cutoff)
            output.SetFromVector(value)

        tickets = {self._inputs[port].ticket() for port in kind.inputs}
        self.DeclareVectorOutputPort(name, kind.size, calc, tickets or {self.time_ticket()})

    def sensor_names(self) -> list[str]:
        """Returns the names of all sensors; of a file in the order of MuJoCo's `sensordata`."""
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


def AddSensor(
    builder: DiagramBuilder,
    plant: MultibodyPlant,
    kind: SensorKind,
    frames: Sequence[Frame] = (),
    constants: ArrayLike = (),
    name: str = "",
) -> PlantSensors:
    """Adds a sensor of any kind to a diagram, wired to its plant.

    Args:
        builder: of the diagram that has the plant; a kind that reads `geometry_query` sees the scene graph named
            "scene_graph" in it.
        plant: finalized.
        kind: what it measures.
        frames: of the plant, which the kind finds in `sensor.frames`.
        constants: numbers, which it finds in `sensor.constants`.
        name: of the system and of its output port; that of the kind by default.

    Returns:
        The system; its only output port is the measurement.

    Raises:
        RuntimeError: the plant is not finalized, or has no output port that the kind reads.
    """
    require_types("AddSensor", builder=(builder, DiagramBuilder), plant=(plant, MultibodyPlant))
    require_types("AddSensor", kind=(kind, SensorKind))
    if not plant.is_finalized():
        raise RuntimeError("AddSensor(): the plant is not finalized; call Finalize() first.")
    placed = [(frame.body(), frame.GetFixedPoseInBodyFrame()) for frame in frames]
    measured = find_measured(plant, kind, placed, constants=np.array(constants, float))
    name = name or kind.name
    system: PlantSensors = add_sensors(builder, plant, PlantSensors(plant, [(name, kind, measured, 0.0)]), name)
    return system


def add_sensors(builder: DiagramBuilder, plant: MultibodyPlant, system: Any, name: str) -> Any:
    """Adds sensors to a diagram, wired to its plant and scene graph."""
    builder.AddNamedSystem(name, system)
    for port_name, port in system._inputs.items():
        if port_name != _QUERY:
            builder.Connect(plant.GetOutputPort(port_name), port)
        elif builder.HasSubsystemNamed("scene_graph"):
            scene_graph: Any = builder.GetSubsystemByName("scene_graph")
            builder.Connect(scene_graph.get_query_output_port(), port)
    return system


def find_measured(
    plant: MultibodyPlant,
    kind: SensorKind,
    frames: Sequence[tuple[Any, RigidTransform]],
    joint: Any = None,
    **others: Any,
) -> Measured:
    """What a sensor is about, by the bodies and poses of its frames.

    Args:
        plant: finalized.
        kind: of the sensor; one that reads reaction forces is about the joint of the body of its first frame.
        frames: bodies, and poses in them.
        joint: that it is about.
        others: attributes of Measured.
    """
    if "reaction_forces" in kind.inputs:
        joints = map(plant.get_joint, plant.GetJointIndices())
        joint = next(joint for joint in joints if joint.child_body() is frames[0][0])
    if joint is not None:
        F, M = joint.frame_on_parent(), joint.frame_on_child()
        others["joint"] = (
            int(F.body().index()), F.GetFixedPoseInBodyFrame(), int(M.body().index()), M.GetFixedPoseInBodyFrame(),
            int(joint.index()),
        )  # fmt: skip
    if _QUERY in kind.inputs:
        others["rays"] = RayCaster()
        if plant.geometry_source_is_registered():
            others["passed"] = tuple(plant.GetBodyFrameIdOrThrow(body.index()) for body, _ in frames)
    placed = tuple((int(body.index()), X_BF) for body, X_BF in frames)
    return Measured(frames=placed, gravity=plant.gravity_field().gravity_vector(), **others)
