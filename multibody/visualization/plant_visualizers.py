"""What a Meshcat shows of a plant beside its geometries: inertias of bodies, tendons, and stress in deformable bodies.

InertiaVisualizer has for each body an ellipsoid of water with the body's mass and moments of inertia. An ellipsoid of
uniform density has the inertia of the body about its center of mass if its half axes have the ratio of those of any
such ellipsoid (`SpatialInertia.CalcPrincipalSemiDiametersAndPoseForSolidEllipsoid`); its volume is the body's mass by
1000 kg/m³. Half axes are at least 1/100 of the longest one. Bodies without mass have a ball of 1 mm.

TendonVisualizer draws spatial tendons as tubes that wrap around surfaces, and StressVisualizer deformable bodies in the
colors of their stress.
"""

from __future__ import annotations

import copy
import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from merganser.framework import AbstractValue, BasicVector, Context, DiagramBuilder, InputPort, LeafSystem, Value
from merganser.framework.core.values.arguments import require_types
from merganser.framework.math import RigidTransform
from merganser.geometry import (
    Ellipsoid,
    FramePoseVector,
    GeometryConfigurationVector,
    GeometryFrame,
    GeometryId,
    GeometryInstance,
    MakePhongIllustrationProperties,
    Rgba,
    SceneGraph,
    SourceId,
)
from merganser.geometry.meshes.volume_mesh import boundary_triangles
from merganser.geometry.visualizers import Meshcat
from merganser.geometry.visualizers.meshcat import declare_drawing
from merganser.multibody.fem.body import FemBody
from merganser.multibody.fem.stress import cauchy_stresses, mean_at_vertices, von_mises_stresses
from merganser.multibody.plant import MultibodyPlant
from merganser.multibody.tree import Actuator, RigidBody, SpatialTendon, TransmissionIndex
from merganser.multibody.visualization.params import StressVisualizerParams

Array = NDArray[np.float64]
_INERTIA = "inertia_visualizer"  # of the system and of its source
_PREFIX = "inertia"  # of the Meshcat viewers that show it, see MeshcatVisualizerParams.include_unspecified_accepting
_DENSITY = 1000.0  # [kg/m³]
_THINNEST = 0.01  # half axis, relative to the longest one
_POINT = 0.001  # radius of what has no mass [m]
_BLUE = [0.0, 0.0, 1.0, 1.0]
_TENDONS = "meshcat_tendon_visualizer"
_NUM_SIDES = 8  # of a tube
_TENDON = Rgba(0.9, 0.85, 0.7, 1.0)
_AT_REST, _ACTIVE = (0.2, 0.3, 0.8), (0.85, 0.1, 0.1)  # colors of muscles
_STRESS = "meshcat_stress_visualizer"
_COLORS = np.array([[0.15, 0.2, 0.6], [0.1, 0.6, 0.85], [0.3, 0.8, 0.4], [0.95, 0.85, 0.2], [0.85, 0.1, 0.1]])


class InertiaVisualizer(LeafSystem):
    """A source of geometry: an ellipsoid for each body of a plant that is not fixed to the world.

    Ellipsoids show the masses and inertias that bodies have by default, whatever they are in a Context. Only viewers
    that ask for them show them.

    Ports:
        input `plant_geometry_pose`: FramePoseVector of the plant.
        output `geometry_pose`: FramePoseVector of the ellipsoids.

    Args:
        plant: finalized, and registered as a source of the SceneGraph.
        scene_graph: to which the ellipsoids are added.

    Raises:
        TypeError: an argument is of another type.
        RuntimeError: the plant is not finalized, or not a source of the SceneGraph; this has such a visualizer already.
    """

    def __init__(self, plant: MultibodyPlant, scene_graph: SceneGraph) -> None:
        super().__init__()
        require_types("InertiaVisualizer", plant=(plant, MultibodyPlant), scene_graph=(scene_graph, SceneGraph))
        self._source_id = scene_graph.RegisterSource(_INERTIA)
        self._body_frames: list[Any] = []
        self._own_frames: list[Any] = []
        X_BE = []
        for body in (plant.get_body(index) for index in plant.GetBodyIndices()):
            if plant.IsAnchored(body):
                continue
            ellipsoid, X = _ellipsoid_of(body)
            model = plant.GetModelInstanceName(body.model_instance())
            frame = GeometryFrame(f"InertiaVisualizer::{model}::{body.name()}")
            geometry = GeometryInstance(RigidTransform(), ellipsoid, f"$inertia({int(body.index())})")
            properties = MakePhongIllustrationProperties(_BLUE)
            properties.AddProperty("meshcat", "accepting", _PREFIX)
            geometry.set_illustration_properties(properties)
            self._own_frames.append(scene_graph.RegisterFrame(self._source_id, frame))
            scene_graph.RegisterGeometry(self._source_id, self._own_frames[-1], geometry)
            self._body_frames.append(plant.GetBodyFrameIdOrThrow(body.index()))
            X_BE.append(X.GetAsMatrix4())
        self._X_BE: Array = np.array(X_BE).reshape(-1, 4, 4)
        self._input = self.DeclareAbstractInputPort("plant_geometry_pose", Value(FramePoseVector()))
        self.DeclareAbstractOutputPort("geometry_pose", _allocate, self._calc_poses, {self._input.ticket()})

    @staticmethod
    def AddToBuilder(builder: DiagramBuilder, plant: MultibodyPlant, scene_graph: SceneGraph) -> InertiaVisualizer:
        """Adds an InertiaVisualizer to a diagram and connects it to the plant and the SceneGraph.

        Returns:
            The visualizer, named 'inertia_visualizer'.

        Raises:
            TypeError, RuntimeError: as of InertiaVisualizer.
        """
        require_types("InertiaVisualizer.AddToBuilder", builder=(builder, DiagramBuilder))
        visualizer = builder.AddNamedSystem(_INERTIA, InertiaVisualizer(plant, scene_graph))
        builder.Connect(plant.get_geometry_pose_output_port(), visualizer.get_input_port())
        builder.Connect(visualizer.get_output_port(), scene_graph.get_source_pose_port(visualizer.source_id()))
        return visualizer

    def source_id(self) -> SourceId:
        """Returns the id of the source that owns the ellipsoids."""
        return self._source_id

    def plant_geometry_pose_input_port(self) -> InputPort:
        """Returns the port that takes the poses of the bodies."""
        return self._input

    def _calc_poses(self, context: Context, output: AbstractValue) -> None:
        bodies: FramePoseVector = self._input.Eval(context)
        X_WE = bodies.poses()[bodies.rows(self._body_frames)] @ self._X_BE  # X_WE = X_WB @ X_BE
        output.get_mutable_value().set_poses(self._own_frames, X_WE)


def _allocate() -> Value:
    return Value(FramePoseVector())


def _ellipsoid_of(body: RigidBody) -> tuple[Ellipsoid, RigidTransform]:
    """The ellipsoid E of a body, and its pose X_BE."""
    M_BBo_B = body.default_spatial_inertia()
    mass = float(M_BBo_B.get_mass())
    if not (mass > 0.0 and math.isfinite(mass)):
        return Ellipsoid(_POINT, _POINT, _POINT), RigidTransform()
    half_axes, X_BE = M_BBo_B.CalcPrincipalSemiDiametersAndPoseForSolidEllipsoid()
    longest = float(half_axes.max())
    ratios = np.maximum(half_axes / longest, _THINNEST) if longest > 0.0 else np.ones(3)
    volume = mass / _DENSITY
    a, b, c = np.cbrt(volume / (4.0 / 3.0 * math.pi * ratios.prod())) * ratios
    return Ellipsoid(a, b, c), X_BE


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
        visualizer = builder.AddNamedSystem(_TENDONS, TendonVisualizer(plant, meshcat, publish_period))
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


def colors_of_stresses(stresses: Array, greatest: float) -> Array:
    """Red, green and blue from 0 to 1: dark blue, light blue, green, yellow and red from none to the greatest stress.

    Args:
        stresses: shape [n] [Pa].
        greatest: what is red, and all beyond [Pa]; if it is zero, nothing is stressed.

    Returns:
        Shape [n, 3].
    """
    relative = np.zeros(len(stresses)) if greatest <= 0.0 else np.nan_to_num(stresses / greatest, nan=1.0, posinf=1.0)
    marks = np.linspace(0.0, 1.0, len(_COLORS))
    return np.column_stack([np.interp(relative, marks, column) for column in _COLORS.T])


class StressVisualizer(LeafSystem):
    """Draws the surfaces of deformable bodies with von Mises' stress as colors, periodically.

    A body is drawn at `<prefix>/<its scoped name>`, '::' becoming '/'. What a MeshcatVisualizer draws of it is hidden.
    Recordings have shapes and colors. Copies of this system draw in the same Meshcat. (pydrake has no such thing.)

    Ports:
        input `deformable_body_configuration`: GeometryConfigurationVector of the plant.

    Args:
        plant: whose bodies it draws; finalized.
        meshcat: where it draws.
        params: how, and how often.

    Raises:
        TypeError: an argument has another type.
        RuntimeError: a setting is out of its range, or the plant is not finalized.
    """

    def __init__(self, plant: MultibodyPlant, meshcat: Meshcat, params: StressVisualizerParams | None = None) -> None:
        super().__init__()
        self._params = _checked(plant, meshcat, params)
        self._drawing = _Drawing(plant, meshcat, self._params)
        model = Value(GeometryConfigurationVector())
        self._port = self.DeclareAbstractInputPort("deformable_body_configuration", model)
        self.DeclareInitializationPublishEvent(self._begin)
        self._demand = declare_drawing(self, meshcat, self._params.publish_period, self._draw)

    @staticmethod
    def AddToBuilder(
        builder: DiagramBuilder, plant: MultibodyPlant, meshcat: Meshcat, params: StressVisualizerParams | None = None
    ) -> StressVisualizer:
        """Adds a StressVisualizer to a diagram and connects it.

        Args:
            builder: of the diagram.
            plant: whose bodies it draws; finalized.
            meshcat: where it draws.
            params: how, and how often.

        Returns:
            The visualizer; its name is 'meshcat_stress_visualizer', unless another system has that.

        Raises:
            TypeError, RuntimeError: as of StressVisualizer.
        """
        visualizer = StressVisualizer(plant, meshcat, params)
        if builder.HasSubsystemNamed(_STRESS):
            builder.AddSystem(visualizer)
        else:
            builder.AddNamedSystem(_STRESS, visualizer)
        builder.Connect(plant.get_deformable_body_configuration_output_port(), visualizer._port)
        return visualizer

    def deformable_body_configuration_input_port(self) -> InputPort:
        """Returns the port that takes where the vertices of the bodies are."""
        return self._port

    def Delete(self) -> None:
        """Deletes all below the prefix from the Meshcat."""
        self._drawing.delete()

    def _begin(self, context: Context) -> None:
        """At the start of a simulation."""
        if self._params.delete_on_initialization_event:
            self.Delete()

    def _draw(self, context: Context) -> None:
        self._drawing.update(self._port.Eval(context), context.get_time())
        self._demand.note_met()


class _Surface(NamedTuple):
    """The drawing of a body.

    Attributes:
        name: below each prefix.
        geometry_id: whose vertices it has.
        fem: the body.
        vertices: which of the mesh are on the surface, shape [n].
        triangles: by index of these, shape [3, num_triangles].
    """

    name: str
    geometry_id: GeometryId
    fem: FemBody
    vertices: NDArray[np.int64]
    triangles: NDArray[np.int64]


class _Drawing:
    """The surfaces of all bodies in a Meshcat."""

    _never_changes = True  # copies of a system share it, as they draw in the same Meshcat

    def __init__(self, plant: MultibodyPlant, meshcat: Meshcat, params: StressVisualizerParams) -> None:
        self._meshcat, self._params, self._surfaces = meshcat, params, []
        for body in plant.deformable_model().bodies():
            vertices, triangles = np.unique(boundary_triangles(body.reference_mesh()), return_inverse=True)
            name = body.scoped_name().get_full().replace("::", "/")
            surface = _Surface(name, body.geometry_id(), body.fem_body(), vertices, triangles.reshape(-1, 3).T)
            self._surfaces.append(surface)

    def delete(self) -> None:
        """Deletes all below the prefix."""
        self._meshcat.Delete(self._params.prefix)

    def update(self, configurations: GeometryConfigurationVector, time: float) -> None:
        """Draws all where they are now; `time` is simulated time, for recordings [s]."""
        if not self._surfaces:
            return
        if not self._meshcat.HasPath(self._params.prefix):
            self._meshcat.add_toggle(self._params.prefix, self._params.prefix)
        positions = [np.asarray(configurations.value(surface.geometry_id)) for surface in self._surfaces]
        stresses = [self._stresses(*each) for each in zip(self._surfaces, positions, strict=True)]
        greatest = self._params.greatest or max(float(np.nan_to_num(of_body, posinf=0.0).max()) for of_body in stresses)
        for surface, q, of_body in zip(self._surfaces, positions, stresses, strict=True):
            for prefix in self._params.hidden_prefixes:
                if self._meshcat.HasPath(f"{prefix}/{surface.name}"):
                    self._meshcat.SetProperty(f"{prefix}/{surface.name}", "visible", False)
            colors = colors_of_stresses(of_body, greatest).T
            p_WV, path = q.reshape(-1, 3)[surface.vertices].T, f"{self._params.prefix}/{surface.name}"
            self._meshcat.SetTriangleColorMesh(path, p_WV, surface.triangles, colors, time_in_recording=time)

    @staticmethod
    def _stresses(surface: _Surface, q: Array) -> Array:
        """At the vertices of the surface [Pa]."""
        stresses = von_mises_stresses(cauchy_stresses(surface.fem, q))
        return mean_at_vertices(surface.fem, stresses)[surface.vertices]


def _checked(plant: Any, meshcat: Any, params: Any) -> StressVisualizerParams:
    """A copy of the settings.

    Raises:
        TypeError: an argument has another type.
        RuntimeError: a setting is out of its range, or the plant is not finalized.
    """
    params = StressVisualizerParams() if params is None else params
    kinds = (MultibodyPlant, Meshcat, StressVisualizerParams)
    if not all(isinstance(given, kind) for given, kind in zip((plant, meshcat, params), kinds, strict=True)):
        raise TypeError(
            "StressVisualizer takes a MultibodyPlant, a Meshcat and StressVisualizerParams; given "
            f"{plant!r}, {meshcat!r} and {params!r}."
        )
    if not plant.is_finalized():
        raise RuntimeError("StressVisualizer draws the bodies of a finalized plant. Call Finalize() first.")
    for name in ("publish_period", "greatest"):
        value = getattr(params, name)
        if not (value >= 0 and math.isfinite(value)):
            raise RuntimeError(f"StressVisualizerParams.{name} must not be negative; given {value}.")
    return copy.deepcopy(params)
