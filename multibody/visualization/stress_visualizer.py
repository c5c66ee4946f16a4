"""StressVisualizer: draws the deformable bodies of a plant in a Meshcat, in the colors of their stress."""

from __future__ import annotations

import copy
import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from merganser.framework import Context, DiagramBuilder, InputPort, LeafSystem, Value
from merganser.geometry import GeometryConfigurationVector, GeometryId
from merganser.geometry.meshes.volume_mesh import boundary_triangles
from merganser.geometry.visualizers import Meshcat
from merganser.geometry.visualizers.meshcat import declare_drawing
from merganser.multibody.fem.body import FemBody
from merganser.multibody.fem.stress import cauchy_stresses, mean_at_vertices, von_mises_stresses
from merganser.multibody.plant import MultibodyPlant
from merganser.multibody.visualization.params import StressVisualizerParams

Array = NDArray[np.float64]

_NAME = "meshcat_stress_visualizer"
_COLORS = np.array([[0.15, 0.2, 0.6], [0.1, 0.6, 0.85], [0.3, 0.8, 0.4], [0.95, 0.85, 0.2], [0.85, 0.1, 0.1]])


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
        if builder.HasSubsystemNamed(_NAME):
            builder.AddSystem(visualizer)
        else:
            builder.AddNamedSystem(_NAME, visualizer)
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
