"""MeshcatVisualizer: draws a SceneGraph in a Meshcat while a simulation runs.

MeshcatPointCloudVisualizer: draws a point cloud in a Meshcat while a simulation runs.
"""

from __future__ import annotations

import copy
import math
from typing import Any, overload

from merganser.framework import Context, DiagramBuilder, InputPort, LeafSystem, OutputPort, Value
from merganser.framework.core.scalars.scalars import cast_array
from merganser.framework.math import RigidTransform
from merganser.geometry.perception import PointCloud
from merganser.geometry.registration.colors import Rgba
from merganser.geometry.registration.roles import Role
from merganser.geometry.scene.query_object import QueryObject
from merganser.geometry.scene.scene_graph import SceneGraph
from merganser.geometry.visualizers.animation import MeshcatAnimation
from merganser.geometry.visualizers.meshcat import Meshcat, declare_drawing
from merganser.geometry.visualizers.params import MeshcatVisualizerParams, add_visualizer, query_output_port
from merganser.geometry.visualizers.scene_drawing import SceneDrawing

_SLIDER = (0.02, 1.0, 0.02)  # of opacity: least and greatest value, step


class MeshcatVisualizer(LeafSystem):
    """Draws the geometries of one role of a SceneGraph in a Meshcat, at the start of a simulation and periodically.

    Frame F of source s has the path `<prefix>/<name of F>`, '::' in names becoming '/', with its geometries below, each
    by its name; those of the world are below the prefix. When geometries change in the Context, what has changed is
    drawn again. Copies of this system, and those for other scalars, draw in the same Meshcat.

    Ports:
        input `query_object`: QueryObject of a SceneGraph.

    Args:
        meshcat: where it draws.
        params: what it draws, and how often.

    Raises:
        TypeError: an argument has another type.
        RuntimeError: the role is kUnassigned, or the period negative.
    """

    _keeps_derivatives = True

    def __init__(self, meshcat: Meshcat, params: MeshcatVisualizerParams | None = None) -> None:
        super().__init__()
        self._params = _checked(meshcat, params)
        self._meshcat = meshcat
        self._drawing = SceneDrawing(meshcat, self._params)
        self._port = self.DeclareAbstractInputPort("query_object", Value(QueryObject()))
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
        builder: DiagramBuilder, scene_graph: SceneGraph, meshcat: Meshcat, params: MeshcatVisualizerParams = ...
    ) -> MeshcatVisualizer: ...
    @overload
    @staticmethod
    def AddToBuilder(
        builder: DiagramBuilder,
        query_object_port: OutputPort,
        /,
        meshcat: Meshcat,
        params: MeshcatVisualizerParams = ...,
    ) -> MeshcatVisualizer: ...
    @overload
    @staticmethod
    def AddToBuilder(
        builder: DiagramBuilder,
        *,
        query_object_port: OutputPort,
        meshcat: Meshcat,
        params: MeshcatVisualizerParams = ...,
    ) -> MeshcatVisualizer: ...
    @staticmethod
    def AddToBuilder(
        builder: DiagramBuilder,
        scene_graph: Any = None,
        meshcat: Any = None,
        params: MeshcatVisualizerParams | None = None,
        *,
        query_object_port: OutputPort | None = None,
    ) -> MeshcatVisualizer:
        """Adds a MeshcatVisualizer to a diagram and connects it.

        Args:
            builder: of the diagram.
            scene_graph: what it draws. Or `query_object_port`, an output port with a QueryObject.
            meshcat: where it draws.
            params: what it draws, and how often.

        Returns:
            The visualizer; its name is 'meshcat_visualizer(<prefix>)', unless another system has that.

        Raises:
            TypeError: an argument has another type.
            RuntimeError: as of MeshcatVisualizer.
        """
        port = query_output_port("MeshcatVisualizer", builder, scene_graph, query_object_port)
        visualizer = MeshcatVisualizer(meshcat, params)
        return add_visualizer(builder, visualizer, f"meshcat_visualizer({visualizer._params.prefix})", port)

    def query_object_input_port(self) -> InputPort:
        """Returns the port that takes the QueryObject of a SceneGraph."""
        return self._port

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
