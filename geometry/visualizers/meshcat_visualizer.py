"""MeshcatVisualizer: draws a SceneGraph in a Meshcat while a simulation runs.

MeshcatPointCloudVisualizer: draws a point cloud in a Meshcat while a simulation runs.
"""

from __future__ import annotations

import copy
import dataclasses
import math
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, overload

import numpy as np

from merganser.framework import BusValue, Context, DiagramBuilder, InputPort, LeafSystem, OutputPort, Value
from merganser.framework.core.scalars.scalars import cast_array
from merganser.framework.math import RigidTransform
from merganser.geometry.perception import PointCloud
from merganser.geometry.registration.colors import Rgba
from merganser.geometry.registration.ids import FrameId
from merganser.geometry.registration.properties import Role
from merganser.geometry.scene.query_object import QueryObject
from merganser.geometry.scene.scene_graph import SceneGraph
from merganser.geometry.visualizers.animation import MeshcatAnimation
from merganser.geometry.visualizers.meshcat import Meshcat, declare_drawing
from merganser.geometry.visualizers.params import (
    MeshcatVisualizerParams,
    MeshcatVisualizerSurfaceVelocityData,
    add_visualizer,
    query_output_port,
)
from merganser.geometry.visualizers.scene_drawing import SceneDrawing

_SLIDER = (0.02, 1.0, 0.02)  # of opacity: least and greatest value, step


class MeshcatVisualizer(LeafSystem):
    """Draws the geometries of one role of a SceneGraph in a Meshcat, at the start of a simulation and periodically.

    Frame F of source s has the path `<prefix>/<name of F>`, '::' in names becoming '/', with its geometries below, each
    by its name; those of the world are below the prefix. When geometries change in the Context, what has changed is
    drawn again. Copies of this system, and those for other scalars, draw in the same Meshcat.

    Pictures on illustration geometries move with the surfaces of belts, by their texture coordinates. One that is to go
    round smoothly is periodic in that direction.

    Ports:
        input `query_object`: QueryObject of a SceneGraph.
        input `surface_displacements`: BusValue of how far surfaces of bodies have gone [m], as the plant has it.

    Args:
        meshcat: where it draws.
        params: what it draws, and how often.
        surface_data: of frames whose surfaces go round an axis; ApplyVisualizationConfig() gives those of a plant.

    Raises:
        TypeError: an argument has another type.
        RuntimeError: the role is kUnassigned, the period negative, or an axis is not finite.
    """

    _keeps_derivatives = True

    def __init__(
        self,
        meshcat: Meshcat,
        params: MeshcatVisualizerParams | None = None,
        surface_data: Mapping[FrameId, MeshcatVisualizerSurfaceVelocityData] = MappingProxyType({}),
    ) -> None:
        super().__init__()
        self._params = _checked(meshcat, params)
        self._meshcat = meshcat
        self._drawing = SceneDrawing(meshcat, self._params)
        self._surfaces = _checked_surfaces(surface_data) if self._params.role == Role.kIllustration else {}
        self._port = self.DeclareAbstractInputPort("query_object", Value(QueryObject()))
        self._displacements = self.DeclareAbstractInputPort("surface_displacements", Value(BusValue()))
        self.DeclareInitializationPublishEvent(self._begin)
        self._demand = declare_drawing(self, meshcat, self._params.publish_period, self._draw)
        self._slider = f"{self._params.prefix} α" if self._params.enable_alpha_slider else ""
        if self._slider:
            meshcat.DeleteSlider(self._slider, strict=False)
            meshcat.AddSlider(self._slider, *_SLIDER, self._params.initial_alpha_slider_value)
            meshcat.put_in_group(self._slider, "Show", toggles=self._params.prefix)

    @overload
    @staticmethod
    def AddToBuilder(
        builder: DiagramBuilder,
        scene_graph: SceneGraph,
        meshcat: Meshcat,
        params: MeshcatVisualizerParams = ...,
        surface_data: Mapping[FrameId, MeshcatVisualizerSurfaceVelocityData] = ...,
    ) -> MeshcatVisualizer: ...
    @overload
    @staticmethod
    def AddToBuilder(
        builder: DiagramBuilder,
        query_object_port: OutputPort,
        /,
        meshcat: Meshcat,
        params: MeshcatVisualizerParams = ...,
        surface_data: Mapping[FrameId, MeshcatVisualizerSurfaceVelocityData] = ...,
    ) -> MeshcatVisualizer: ...
    @overload
    @staticmethod
    def AddToBuilder(
        builder: DiagramBuilder,
        *,
        query_object_port: OutputPort,
        meshcat: Meshcat,
        params: MeshcatVisualizerParams = ...,
        surface_data: Mapping[FrameId, MeshcatVisualizerSurfaceVelocityData] = ...,
    ) -> MeshcatVisualizer: ...
    @staticmethod
    def AddToBuilder(
        builder: DiagramBuilder,
        scene_graph: Any = None,
        meshcat: Any = None,
        params: MeshcatVisualizerParams | None = None,
        surface_data: Mapping[FrameId, MeshcatVisualizerSurfaceVelocityData] = MappingProxyType({}),
        *,
        query_object_port: OutputPort | None = None,
    ) -> MeshcatVisualizer:
        """Adds a MeshcatVisualizer to a diagram and connects it.

        Args:
            builder: of the diagram.
            scene_graph: what it draws. Or `query_object_port`, an output port with a QueryObject.
            meshcat: where it draws.
            params: what it draws, and how often.
            surface_data: of frames whose surfaces go round an axis, see MeshcatVisualizer; the displacements are not
                connected.

        Returns:
            The visualizer; its name is 'meshcat_visualizer(<prefix>)', unless another system has that.

        Raises:
            TypeError: an argument has another type.
            RuntimeError: as of MeshcatVisualizer.
        """
        port = query_output_port("MeshcatVisualizer", builder, scene_graph, query_object_port)
        visualizer = MeshcatVisualizer(meshcat, params, surface_data)
        return add_visualizer(builder, visualizer, f"meshcat_visualizer({visualizer._params.prefix})", port)

    def query_object_input_port(self) -> InputPort:
        """Returns the port that takes the QueryObject of a SceneGraph."""
        return self._port

    def surface_displacements_input_port(self) -> InputPort[BusValue]:
        """Returns the port that takes how far surfaces of bodies have gone; optional."""
        return self._displacements

    def Delete(self) -> None:
        """Deletes all below the prefix from the Meshcat."""
        self._drawing.delete()

    def StartRecording(self, set_transforms_while_recording: bool = True) -> MeshcatAnimation:
        """Records from now on, one frame for each publish period; see `Meshcat.StartRecording`."""
        period = self._params.publish_period
        rate = 1.0 / period if period > 0 else 64.0
        return self._meshcat.StartRecording(rate, set_transforms_while_recording)

    def StopRecording(self) -> None:
        """See `Meshcat.StopRecording`."""
        self._meshcat.StopRecording()

    def PublishRecording(self) -> None:
        """See `Meshcat.PublishRecording`."""
        self._meshcat.PublishRecording()

    def DeleteRecording(self) -> None:
        """See `Meshcat.DeleteRecording`."""
        self._meshcat.DeleteRecording()

    def get_mutable_recording(self) -> MeshcatAnimation:
        """See `Meshcat.get_mutable_recording`."""
        return self._meshcat.get_mutable_recording()

    def _begin(self, context: Context) -> None:
        """At the start of a simulation."""
        if self._params.delete_on_initialization_event:
            self.Delete()

    def _draw(self, context: Context) -> None:
        time = float(cast_array([context.get_time()], float)[0])
        self._drawing.update(self._port.Eval(context), time)
        if self._surfaces and self._displacements.HasValue(context):
            bus: BusValue = self._displacements.Eval(context)
            for frame_id, surface in self._surfaces.items():
                displacement = bus.Find(surface.displacement_signal_name)
                if displacement is not None:
                    self._drawing.move_pictures(frame_id, surface.axis_B, float(displacement))
        if self._slider:
            self._drawing.set_opacity(self._meshcat.GetSliderValue(self._slider))
        self._meshcat.SetSimulationTime(time)
        self._demand.note_met()


def _checked(meshcat: Any, params: Any) -> MeshcatVisualizerParams:
    """A copy of the settings.

    Raises:
        TypeError: an argument has another type.
        RuntimeError: a setting is out of its range.
    """
    params = MeshcatVisualizerParams() if params is None else params
    if not isinstance(meshcat, Meshcat) or not isinstance(params, MeshcatVisualizerParams):
        raise TypeError(
            f"MeshcatVisualizer takes a Meshcat and MeshcatVisualizerParams; given {meshcat!r} and {params!r}."
        )
    if params.role == Role.kUnassigned:
        raise RuntimeError(
            "MeshcatVisualizer draws geometries of a role: kIllustration, kProximity or kPerception; given "
            f"{params.role!r}."
        )
    if not (params.publish_period >= 0 and math.isfinite(params.publish_period)):
        raise RuntimeError(
            f"MeshcatVisualizerParams.publish_period must not be negative; given {params.publish_period}."
        )
    return copy.deepcopy(params)


def _checked_surfaces(given: Any) -> dict[FrameId, MeshcatVisualizerSurfaceVelocityData]:
    """A copy of the data of surfaces."""
    surfaces = dict(given)
    for frame_id, surface in surfaces.items():
        if not isinstance(frame_id, FrameId) or not isinstance(surface, MeshcatVisualizerSurfaceVelocityData):
            raise TypeError(
                "MeshcatVisualizer: surface_data must map FrameId to MeshcatVisualizerSurfaceVelocityData; given "
                f"{frame_id!r}: {surface!r}."
            )
        axis = np.array(surface.axis_B, float)
        if axis.shape != (3,) or not np.isfinite(axis).all():
            raise RuntimeError(f"MeshcatVisualizer: axis_B of surface_data must be three finite numbers; given {axis}.")
        surfaces[frame_id] = dataclasses.replace(surface, axis_B=axis)
    return surfaces


class MeshcatPointCloudVisualizer(LeafSystem):
    """Draws the PointCloud at its input in a Meshcat, periodically.

    Ports:
        input `cloud`: PointCloud with positions, and perhaps colors.
        input `X_ParentCloud`: RigidTransform, pose of the cloud in its parent; the identity if it is not connected.

    Args:
        meshcat: where it draws.
        path: the path of the cloud.
        publish_period: simulated time between two pictures [s]; 0 for one after each step.

    Raises:
        TypeError: an argument has another type.
        RuntimeError: the period is negative.
    """

    _keeps_derivatives = True

    def __init__(self, meshcat: Meshcat, path: str, publish_period: float = 1 / 32.0) -> None:
        super().__init__()
        if not isinstance(meshcat, Meshcat) or not isinstance(path, str):
            raise TypeError(f"MeshcatPointCloudVisualizer takes a Meshcat and a path; given {meshcat!r} and {path!r}.")
        if not (publish_period >= 0 and math.isfinite(publish_period)):
            raise RuntimeError(
                f"MeshcatPointCloudVisualizer: publish_period must not be negative; given {publish_period}."
            )
        self._meshcat = meshcat
        self._path = path
        self._point_size = 0.001
        self._default_rgba = Rgba(0.9, 0.9, 0.9, 1.0)
        self._cloud = self.DeclareAbstractInputPort("cloud", Value(PointCloud()))
        self._pose = self.DeclareAbstractInputPort("X_ParentCloud", Value(RigidTransform()))
        self._demand = declare_drawing(self, meshcat, publish_period, self._draw)

    def set_point_size(self, point_size: float) -> None:
        """Sets the size of points [m]; 0.001 by default."""
        self._point_size = float(point_size)

    def set_default_rgba(self, rgba: Rgba) -> None:
        """Sets the color of points that have none."""
        self._default_rgba = rgba

    def Delete(self) -> None:
        """Deletes the cloud from the Meshcat."""
        self._meshcat.Delete(self._path)

    def cloud_input_port(self) -> InputPort:
        """Returns the port that takes the cloud."""
        return self._cloud

    def pose_input_port(self) -> InputPort:
        """Returns the port that takes the pose of the cloud in its parent."""
        return self._pose

    def _draw(self, context: Context) -> None:
        time = float(cast_array([context.get_time()], float)[0])
        cloud = self._cloud.Eval(context)
        self._meshcat.SetObject(self._path, cloud, self._point_size, self._default_rgba, time_in_recording=time)
        X_ParentCloud = RigidTransform()
        if self._pose.HasValue(context):
            X_ParentCloud = RigidTransform(cast_array(self._pose.Eval(context).GetAsMatrix4(), float))
        self._meshcat.SetTransform(self._path, X_ParentCloud, time)
        self._demand.note_met()
