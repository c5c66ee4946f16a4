"""MeshcatPointCloudVisualizer: draws a point cloud in a Meshcat while a simulation runs."""

from __future__ import annotations

import math

from merganser.framework import Context, InputPort, LeafSystem, Value
from merganser.framework.core.scalars.scalars import cast_array
from merganser.framework.math import RigidTransform
from merganser.geometry.perception import PointCloud
from merganser.geometry.rgba import Rgba
from merganser.geometry.visualizers.drawing_events import declare_drawing
from merganser.geometry.visualizers.meshcat import Meshcat

__all__ = ["MeshcatPointCloudVisualizer"]


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
        """Sets the size of points [m]; 0.001 unless told otherwise."""
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
