"""RgbdSensorAsync: images that are made in another thread while the simulation goes on."""

from __future__ import annotations

import copy
import os
from concurrent.futures import Future, ThreadPoolExecutor
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from merganser.framework import Value
from merganser.framework.math import RigidTransform
from merganser.geometry.images import ConvertDepth32FTo16U, ImageDepth16U, ImageDepth32F, ImageLabel16I, ImageRgba8U
from merganser.geometry.registration.ids import FrameId
from merganser.geometry.rendering.cameras import ColorRenderCamera, DepthRenderCamera
from merganser.geometry.scene.query_object import QueryObject
from merganser.geometry.scene.scene_graph import SceneGraph
from merganser.geometry.sensors.rgbd_sensor import CameraSystem, ImagePorts, Sample

if TYPE_CHECKING:
    from merganser.framework.core.context.context import Context


class RgbdSensorAsync(ImagePorts, CameraSystem):
    """Sees the scene at times capture_offset + i / fps, and gives the images output_delay later.

    They are made in between, while the simulation goes on.

    Ports:
        input `geometry_query`: QueryObject of the SceneGraph.
        output `color_image`, `depth_image_32f`, `depth_image_16u`, `label_image`: as of RgbdSensor, those for which
            there are cameras; without any pixels at first.
        output `body_pose_in_world`: X_WB when the images were taken.
        output `image_time`: when that was [s], NaN at first.

    Args:
        scene_graph: to which the input will be connected.
        parent_id: the frame P to which the body is fixed.
        X_PB: pose of the body in P.
        fps: images in a second.
        capture_offset: time of the first ones [s].
        output_delay: until images are given [s]; positive, and less than 1 / fps.
        color_camera: camera for color and label images, or None.
        depth_camera: camera for depth images, or None.
        render_label_image: whether there are label images, which need a color camera.

    Raises:
        TypeError: an argument has the wrong type.
        ValueError: a time is out of its range; there is no camera, or none for labels.
    """

    def __init__(
        self,
        scene_graph: SceneGraph,
        parent_id: FrameId,
        X_PB: RigidTransform,
        fps: float,
        capture_offset: float,
        output_delay: float,
        color_camera: ColorRenderCamera | None,
        depth_camera: DepthRenderCamera | None = None,
        render_label_image: bool = False,
    ) -> None:
        if not isinstance(scene_graph, SceneGraph):
            raise TypeError(f"RgbdSensorAsync takes a SceneGraph; given {scene_graph!r}.")
        if not 0.0 < fps < np.inf:
            raise ValueError(f"The fps of an RgbdSensorAsync must be positive and finite; given {fps}.")
        if not 0.0 <= capture_offset < np.inf:
            raise ValueError(f"The capture_offset must be finite and not negative; given {capture_offset}.")
        if not 0.0 < output_delay < 1.0 / fps:
            raise ValueError(f"The output_delay must be between 0 and 1 / fps = {1.0 / fps}; given {output_delay}.")
        if color_camera is None and (depth_camera is None or render_label_image):
            raise ValueError("RgbdSensorAsync needs a color camera or a depth camera, and for labels a color camera.")
        super().__init__(parent_id, X_PB, color_camera, depth_camera)
        self._fps, self._capture_offset, self._output_delay = float(fps), float(capture_offset), float(output_delay)
        first: dict[str, Any] = {}
        if color_camera is not None:
            first["color_image"] = ImageRgba8U()
        if depth_camera is not None:
            first.update(depth_image_32f=ImageDepth32F(), depth_image_16u=ImageDepth16U())
        if render_label_image:
            first["label_image"] = ImageLabel16I()
        first["body_pose_in_world"] = RigidTransform()
        self._kinds = tuple(first)
        self._pending = self.DeclareAbstractState(Value(_Job()))
        self._shown = self.DeclareAbstractState(Value(Sample({**first, "image_time": np.array([np.nan])})))
        ticket = {self.abstract_state_ticket(self._shown)}
        for name, value in first.items():
            self.DeclareAbstractOutputPort(name, partial(Value, value), partial(self._give, name), ticket)
        self.DeclareVectorOutputPort("image_time", 1, self._give_time, ticket)
        self.DeclarePeriodicUnrestrictedUpdateEvent(1.0 / fps, capture_offset, self._capture)
        self.DeclarePeriodicUnrestrictedUpdateEvent(1.0 / fps, capture_offset + output_delay, self._show)

    def fps(self) -> float:
        """Returns the number of images in a second."""
        return self._fps

    def capture_offset(self) -> float:
        """Returns the time of the first images [s]."""
        return self._capture_offset

    def output_delay(self) -> float:
        """Returns the time until images are given [s]."""
        return self._output_delay

    # ------------------------------------------------------------------ events

    def _capture(self, context: Context, state: Any) -> None:
        """Begins to make images of the scene as it is now."""
        query = copy.copy(self._query_port.Eval(context))  # stays as it is, whatever happens to the Context
        parent, X_PB = self._parameter(context, "parent"), self._parameter(context, "X_PB")
        color, depth = self._parameter(context, "color"), self._parameter(context, "depth")
        known = {"body_pose_in_world": self._body_pose(query, context), "image_time": np.array([context.get_time()])}
        job = _Job(_executor().submit(_make_images, query, self._kinds, color, depth, parent, X_PB, known))
        state.get_mutable_abstract_state(self._pending).set_value(job)

    def _show(self, context: Context, state: Any) -> None:
        """Gives the images that were begun, when they are finished."""
        job: _Job = context.get_abstract_state(self._pending).get_value()
        if job.future is not None:
            state.get_mutable_abstract_state(self._shown).set_value(job.future.result())

    def _give(self, name: str, context: Context, output: Any) -> None:
        output.set_value(context.get_abstract_state(self._shown).get_value().values[name])

    def _give_time(self, context: Context, output: Any) -> None:
        output.SetFromVector(context.get_abstract_state(self._shown).get_value().values["image_time"])


class _Job:
    """Images that are being made; copies of a Context wait for the same ones.

    Args:
        future: of a Sample; None before the first.
    """

    __slots__ = ("future",)

    def __init__(self, future: Future[Sample] | None = None) -> None:
        self.future = future

    def __copy__(self) -> _Job:
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> _Job:
        return self

    def __reduce__(self) -> Any:
        """Another process gets the images when they are finished."""
        return _finished_job, (None if self.future is None else self.future.result(),)


def _finished_job(sample: Sample | None) -> _Job:
    if sample is None:
        return _Job()
    future: Future[Sample] = Future()
    future.set_result(sample)
    return _Job(future)


_executors: list[ThreadPoolExecutor] = []  # one, once images have been asked for
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_executors.clear)  # its thread is not there


def _executor() -> ThreadPoolExecutor:
    if not _executors:
        _executors.append(ThreadPoolExecutor(max_workers=1, thread_name_prefix="merganser-camera"))
    return _executors[0]


def _make_images(
    query: QueryObject, kinds: tuple[str, ...], color: Any, depth: Any, parent: Any, X_PB: Any, known: dict[str, Any]
) -> Sample:
    values = dict(known)
    if "color_image" in kinds:
        values["color_image"] = query.RenderColorImage(color, parent, X_PB)
    if "label_image" in kinds:
        values["label_image"] = query.RenderLabelImage(color, parent, X_PB)
    if "depth_image_32f" in kinds:
        image = query.RenderDepthImage(depth, parent, X_PB)
        values["depth_image_32f"], values["depth_image_16u"] = image, ImageDepth16U()
        ConvertDepth32FTo16U(image, values["depth_image_16u"])
    return Sample(values)
