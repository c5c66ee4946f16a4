"""TendonVisualizer: draws the spatial tendons of a plant in a Meshcat, as lines that wrap around surfaces."""

from __future__ import annotations

from merganser.framework import BasicVector, Context, DiagramBuilder, InputPort, LeafSystem
from merganser.framework.core.values.arguments import require_types
from merganser.geometry import Rgba
from merganser.geometry.visualizers import Meshcat
from merganser.geometry.visualizers.meshcat import declare_drawing
from merganser.multibody.plant import MultibodyPlant
from merganser.multibody.tree import Actuator, SpatialTendon, TransmissionIndex

_NAME = "meshcat_tendon_visualizer"
_WIDTH = 4.0  # of lines [pixels]
_TENDON = Rgba(0.9, 0.85, 0.7, 1.0)
_AT_REST, _ACTIVE = (0.2, 0.3, 0.8), (0.85, 0.1, 0.1)  # colors of muscles


class TendonVisualizer(LeafSystem):
    """Draws the spatial tendons of a plant as lines, periodically; those of muscles blue at rest, red when active.

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

    Raises:
        TypeError: an argument has another type.
        RuntimeError: the plant is not finalized.
    """

    def __init__(
        self, plant: MultibodyPlant, meshcat: Meshcat, publish_period: float = 1 / 64.0, prefix: str = "tendons"
    ) -> None:
        super().__init__()
        require_types("TendonVisualizer", plant=(plant, MultibodyPlant), meshcat=(meshcat, Meshcat))
        if not plant.is_finalized():
            raise RuntimeError(f"TendonVisualizer: call Finalize() of plant '{plant.get_name()}' first.")
        self._plant, self._meshcat, self._prefix = plant, meshcat, prefix
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
                self._meshcat.SetLine(path, points.T, _WIDTH, color, context.get_time())
        self._demand.note_met()


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
