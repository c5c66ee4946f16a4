"""TendonVisualizer: draws the spatial tendons of a plant in a Meshcat, as tubes that wrap around surfaces."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from merganser.framework import BasicVector, Context, DiagramBuilder, InputPort, LeafSystem
from merganser.framework.core.values.arguments import require_types
from merganser.geometry import Rgba
from merganser.geometry.visualizers import Meshcat
from merganser.geometry.visualizers.meshcat import declare_drawing
from merganser.multibody.plant import MultibodyPlant
from merganser.multibody.tree import Actuator, SpatialTendon, TransmissionIndex

_NAME = "meshcat_tendon_visualizer"
_NUM_SIDES = 8  # of a tube
_TENDON = Rgba(0.9, 0.85, 0.7, 1.0)
_AT_REST, _ACTIVE = (0.2, 0.3, 0.8), (0.85, 0.1, 0.1)  # colors of muscles


class TendonVisualizer(LeafSystem):
    """Draws the spatial tendons of a plant as tubes, periodically; those of muscles blue at rest, red when active.

    A branch is drawn at `<prefix>/<the tendon's name>/<number of the branch>`. Copies of this system draw in the same
    Meshcat. (pydrake has no such thing.)

    Ports:
        input `plant_state`: positions and velocities, shape [num_positions + num_velocities].
        input `activations`: of the actuators that have one, in their order, if there are any; without it, muscles are
            drawn as active.

    Args:
        plant: whose tendons it draws; finalized.
        meshcat: where it draws.
        publish_period: simulated time between two pictures [s]; 0 for one after each step.
        prefix: the path below which all is.
        radius: of the tubes, positive [m].

    Raises:
        TypeError: an argument has another type.
        RuntimeError: the plant is not finalized.
        ValueError: the radius is not positive and finite.
    """

    def __init__(
        self, plant: MultibodyPlant, meshcat: Meshcat, publish_period: float = 1 / 64.0, prefix: str = "tendons",
        radius: float = 0.003,
    ) -> None:  # fmt: skip
        super().__init__()
        require_types("TendonVisualizer", plant=(plant, MultibodyPlant), meshcat=(meshcat, Meshcat))
        if not plant.is_finalized():
            raise RuntimeError(f"TendonVisualizer: call Finalize() of plant '{plant.get_name()}' first.")
        if not 0.0 < radius < math.inf:
            raise ValueError(f"TendonVisualizer: the radius must be positive and finite, but is {radius}.")
        self._plant, self._meshcat, self._prefix, self._radius = plant, meshcat, prefix, radius
        self._tendons = spatial_tendons(plant)
        self._muscles = [_muscle_of(plant, tendon) for tendon in self._tendons]
        self._scratch = plant.CreateDefaultContext()
        self._port = self.DeclareVectorInputPort("plant_state", BasicVector(plant.num_multibody_states()))
        self._activations = None
        if any(law is not None and law.has_activation() for law in (each.law() for each in _actuators(plant))):
            size = plant.get_activations_output_port().size()
            self._activations = self.DeclareVectorInputPort("activations", BasicVector(size))
        self._demand = declare_drawing(self, meshcat, publish_period, self._draw)

    @staticmethod
    def AddToBuilder(
        builder: DiagramBuilder, plant: MultibodyPlant, meshcat: Meshcat, publish_period: float = 1 / 64.0
    ) -> TendonVisualizer:
        """Adds a TendonVisualizer to a diagram and connects it.

        Returns:
            The visualizer; its name is 'meshcat_tendon_visualizer'.

        Raises:
            TypeError, RuntimeError: as of TendonVisualizer.
        """
        visualizer = builder.AddNamedSystem(_NAME, TendonVisualizer(plant, meshcat, publish_period))
        builder.Connect(plant.get_state_output_port(), visualizer._port)
        if visualizer._activations is not None:
            builder.Connect(plant.get_activations_output_port(), visualizer._activations)
        return visualizer

    def plant_state_input_port(self) -> InputPort:
        """Returns the port that takes the state of the plant."""
        return self._port

    def _draw(self, context: Context) -> None:
        self._plant.SetPositionsAndVelocities(self._scratch, self._port.Eval(context))
        activations = None
        if self._activations is not None and self._activations.HasValue(context):
            activations = self._activations.Eval(context)
        for tendon, muscle in zip(self._tendons, self._muscles):
            color = _TENDON if muscle is None else _color_of(1.0 if activations is None else activations[muscle])
            for number, points in enumerate(tendon.CalcPath(self._scratch)):
                path = f"{self._prefix}/{tendon.name()}/{number}"
                vertices, triangles = tube(points, self._radius)
                self._meshcat.SetTriangleMesh(
                    path, vertices.T, triangles.T, color, time_in_recording=context.get_time()
                )
        self._demand.note_met()


def tube(points: NDArray[np.float64], radius: float) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Vertices, shape [n, 3], and triangles, shape [m, 3], of a tube along the lines between points, shape [k, 3].

    Each point has a ring at a right angle to the mean of both directions, turned as little as possible from the last.
    """
    lines = np.diff(points, axis=0, append=points[-1:])
    lengths = np.linalg.norm(lines, axis=1, keepdims=True)
    units = np.divide(lines, lengths, out=np.zeros_like(lines), where=lengths > 0.0)
    directions, normal, rings = units + np.roll(units, 1, axis=0), np.zeros(3), []
    angles = 2.0 * np.pi / _NUM_SIDES * np.arange(_NUM_SIDES)[:, None]
    for point, direction, unit in zip(points, directions, units):
        along = direction if direction.any() else unit if unit.any() else np.array([0.0, 0.0, 1.0])
        along = along / np.linalg.norm(along)
        normal = normal - (normal @ along) * along
        if np.linalg.norm(normal) < 0.1:
            normal = np.cross(along, np.eye(3)[np.argmin(np.abs(along))])
        normal = normal / np.linalg.norm(normal)
        rings.append(point + radius * (np.cos(angles) * normal + np.sin(angles) * np.cross(along, normal)))
    first = np.arange(_NUM_SIDES)
    after = (first + 1) % _NUM_SIDES
    band: Any = np.concatenate([
        np.stack([first, after, first + _NUM_SIDES], 1), np.stack([after, after + _NUM_SIDES, first + _NUM_SIDES], 1)
    ])  # fmt: skip
    starts = _NUM_SIDES * np.arange(len(points) - 1)[:, None, None]
    return np.concatenate(rings), (starts + band).reshape(-1, 3)


def spatial_tendons(plant: MultibodyPlant) -> list[SpatialTendon]:
    """The tendons of a plant that have a path."""
    found = (plant.get_transmission(TransmissionIndex(k)) for k in range(plant.num_transmissions()))
    return [each for each in found if isinstance(each, SpatialTendon)]


def _actuators(plant: MultibodyPlant) -> list[Actuator]:
    return [plant.get_joint_actuator(index) for index in plant.GetJointActuatorIndices()]


def _muscle_of(plant: MultibodyPlant, tendon: SpatialTendon) -> int | None:
    """The place among the activations of a muscle that pulls along a tendon, if there is one."""
    for actuator in _actuators(plant):
        law = actuator.law()
        if law is not None and law.muscle is not None and actuator.transmission() is tendon:
            place = actuator._activation_place
            return None if place is None else place.start
    return None


def _color_of(activation: float) -> Rgba:
    """The color of a muscle."""
    a = min(max(float(activation), 0.0), 1.0)
    red, green, blue = ((1.0 - a) * rest + a * active for rest, active in zip(_AT_REST, _ACTIVE))
    return Rgba(red, green, blue, 1.0)
