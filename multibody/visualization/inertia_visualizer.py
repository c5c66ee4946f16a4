"""InertiaVisualizer: for each body an ellipsoid of water with the body's mass and moments of inertia.

An ellipsoid E of uniform density has the inertia of the body about its center of mass if its half axes have the ratio
of those of any such ellipsoid (`SpatialInertia.CalcPrincipalSemiDiametersAndPoseForSolidEllipsoid`); its volume is the
body's mass by 1000 kg/m³. Half axes are at least 1/100 of the longest one. Bodies without mass have a ball of 1 mm.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from merganser.framework import AbstractValue, Context, DiagramBuilder, InputPort, LeafSystem, Value
from merganser.framework.core.values.arguments import require_types
from merganser.framework.math import RigidTransform
from merganser.geometry import (
    Ellipsoid,
    FramePoseVector,
    GeometryFrame,
    GeometryInstance,
    MakePhongIllustrationProperties,
    SceneGraph,
    SourceId,
)
from merganser.multibody.plant import MultibodyPlant
from merganser.multibody.tree import RigidBody

Array = NDArray[np.float64]

_NAME = "inertia_visualizer"  # of the system and of its source
_PREFIX = "inertia"  # of the Meshcat viewers that show it, see MeshcatVisualizerParams.include_unspecified_accepting
_DENSITY = 1000.0  # [kg/m³]
_THINNEST = 0.01  # half axis, relative to the longest one
_POINT = 0.001  # radius of what has no mass [m]
_BLUE = [0.0, 0.0, 1.0, 1.0]


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
        self._source_id = scene_graph.RegisterSource(_NAME)
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
        visualizer = builder.AddNamedSystem(_NAME, InertiaVisualizer(plant, scene_graph))
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
