"""DrakeVisualizer: sends what a SceneGraph looks like to viewers that listen to LCM, such as Meldis."""

from __future__ import annotations

import copy
import math
from typing import Any, overload

import numpy as np

from merganser.framework import Context, DiagramBuilder, InputPort, LeafSystem, OutputPort, Value
from merganser.framework.core.scalars.scalars import cast_array
from merganser.framework.core.scalars.templates import SystemTemplate
from merganser.framework.lcm.drake_lcm import DrakeLcm, DrakeLcmInterface, interface_of
from merganser.framework.lcm.messages.viewers import lcmt_viewer_draw
from merganser.geometry.geometry_version import GeometryVersion
from merganser.geometry.ids import FrameId
from merganser.geometry.pose_layout import PoseLayout
from merganser.geometry.query_object import QueryObject
from merganser.geometry.roles import Role
from merganser.geometry.scene_graph import SceneGraph
from merganser.geometry.visualizers.adding import add_visualizer, query_output_port
from merganser.geometry.visualizers.params import DrakeVisualizerParams
from merganser.geometry.visualizers.scalar_templates import float_and_derivatives
from merganser.geometry.visualizers.viewer_messages import (
    DeformableMessage,
    draw_message,
    load_message,
    moving_frames,
    set_poses,
)

__all__ = ["DrakeVisualizer", "DrakeVisualizer_"]

_SUFFIXES = {Role.kIllustration: "_ILLUSTRATION", Role.kProximity: "_PROXIMITY", Role.kPerception: "_PERCEPTION"}


class DrakeVisualizer(LeafSystem):
    """Sends the geometries of one role of a SceneGraph, and where they are, as messages, periodically.

    Channels: DRAKE_VIEWER_LOAD_ROBOT says what there is, at first and whenever geometries of the role have changed;
    DRAKE_VIEWER_DRAW where it is; DRAKE_VIEWER_DEFORMABLE where the surfaces of deformable geometries are, of all
    roles as in pydrake. Copies of this system, and those for other scalars, use the same DrakeLcm.

    Ports:
        input `query_object`: QueryObject of a SceneGraph.

    Args:
        lcm: sends the messages; None for a new DrakeLcm with the default URL.
        params: what is sent, and how often.

    Raises:
        TypeError: an argument has another type.
        RuntimeError: the role is kUnassigned, or the period not positive.
        ImportError: there is no `lcm`, and the package lcm is not installed (extra `lcm`).
    """

    _keeps_derivatives = True

    def __init__(self, lcm: DrakeLcmInterface | None = None, params: DrakeVisualizerParams | None = None) -> None:
        super().__init__()
        self._params = _checked(params)
        self._lcm: DrakeLcm = interface_of(lcm, "DrakeVisualizer")
        self._version: GeometryVersion | None = None  # of what was sent last
        self._frames: list[FrameId] = []
        self._message = lcmt_viewer_draw()
        self._deformables: DeformableMessage | None = None
        self._layout: PoseLayout | None = None
        self._rows = np.zeros(0, dtype=np.intp)
        self._port = self.DeclareAbstractInputPort("query_object", Value(QueryObject()))
        self.DeclarePeriodicPublishEvent(self._params.publish_period, 0.0, self._send)
        self.DeclareForcedPublishEvent(self._send)

    @overload
    @staticmethod
    def AddToBuilder(
        builder: DiagramBuilder,
        scene_graph: SceneGraph,
        lcm: DrakeLcmInterface | None = ...,
        params: DrakeVisualizerParams = ...,
    ) -> DrakeVisualizer: ...
    @overload
    @staticmethod
    def AddToBuilder(
        builder: DiagramBuilder,
        query_object_port: OutputPort,
        /,
        lcm: DrakeLcmInterface | None = ...,
        params: DrakeVisualizerParams = ...,
    ) -> DrakeVisualizer: ...
    @overload
    @staticmethod
    def AddToBuilder(
        builder: DiagramBuilder,
        *,
        query_object_port: OutputPort,
        lcm: DrakeLcmInterface | None = ...,
        params: DrakeVisualizerParams = ...,
    ) -> DrakeVisualizer: ...
    @staticmethod
    def AddToBuilder(
        builder: DiagramBuilder,
        scene_graph: Any = None,
        lcm: DrakeLcmInterface | None = None,
        params: DrakeVisualizerParams | None = None,
        *,
        query_object_port: OutputPort | None = None,
    ) -> DrakeVisualizer:
        """Adds a DrakeVisualizer to a diagram and connects it.

        Args:
            builder: of the diagram.
            scene_graph: what it shows. Or `query_object_port`, an output port with a QueryObject.
            lcm: sends the messages; None for a new DrakeLcm with the default URL.
            params: what is sent, and how often.

        Returns:
            The visualizer; its name is 'drake_visualizer(<role>)', unless another system has that.

        Raises:
            TypeError: an argument has another type.
            RuntimeError, ImportError: as of DrakeVisualizer.
        """
        port = query_output_port("DrakeVisualizer", builder, scene_graph, query_object_port)
        visualizer = DrakeVisualizer(lcm, params)
        add_visualizer(builder, visualizer, f"drake_visualizer({_SUFFIXES[visualizer._params.role][1:].lower()})", port)
        return visualizer

    @staticmethod
    def DispatchLoadMessage(
        scene_graph: SceneGraph, lcm: DrakeLcmInterface, params: DrakeVisualizerParams | None = None
    ) -> None:
        """Sends what there is to see in the model of a SceneGraph, without any Context.

        Args:
            scene_graph: the SceneGraph.
            lcm: sends the message.
            params: of which role, and in which color.
        """
        checked = _checked(params)
        inspector = scene_graph.model_inspector()
        message = load_message(inspector, checked, moving_frames(inspector, checked.role))
        channel = f"DRAKE_VIEWER_LOAD_ROBOT{_suffix(checked)}"
        interface_of(lcm, "DrakeVisualizer.DispatchLoadMessage").Publish(channel, message.encode(), 0.0)

    def query_object_input_port(self) -> InputPort:
        """Returns the port that takes the QueryObject of a SceneGraph."""
        return self._port

    def _send(self, context: Context) -> None:
        """Sends what has changed, and where all is."""
        query: QueryObject = self._port.Eval(context)
        time = float(cast_array([context.get_time()], float)[0])
        inspector, suffix = query.inspector(), _suffix(self._params)
        version = inspector.geometry_version()
        if self._version is None or not version.IsSameAs(self._version, self._params.role):
            self._frames = moving_frames(inspector, self._params.role)
            load = load_message(inspector, self._params, self._frames)
            self._lcm.Publish(f"DRAKE_VIEWER_LOAD_ROBOT{suffix}", load.encode(), time)
            self._message = draw_message(inspector, self._frames)
            self._deformables = DeformableMessage(inspector, self._params)
            self._version, self._layout = copy.copy(version), None
        set_poses(self._message, self._poses(query), time)
        self._lcm.Publish(f"DRAKE_VIEWER_DRAW{suffix}", self._message.encode(), time)
        assert self._deformables is not None
        self._lcm.Publish(f"DRAKE_VIEWER_DEFORMABLE{suffix}", self._deformables.encoded(query), time)

    def _poses(self, query: QueryObject) -> Any:
        """Of the moving frames in the world, shape [n, 4, 4]."""
        if not self._frames:
            return np.zeros((0, 4, 4))
        poses = query.world_poses()
        if poses.layout is not self._layout:
            self._layout = poses.layout
            self._rows = np.array([poses.layout.frame_rows[frame_id] for frame_id in self._frames])
        return cast_array(poses.X_WF[self._rows], float)


DrakeVisualizer_ = SystemTemplate(DrakeVisualizer, float_and_derivatives)


def _suffix(params: DrakeVisualizerParams) -> str:
    """What comes after the names of channels."""
    return _SUFFIXES[params.role] if params.use_role_channel_suffix else ""


def _checked(params: Any) -> DrakeVisualizerParams:
    """A copy of the settings.

    Raises:
        TypeError: they are something else.
        RuntimeError: a setting is out of its range.
    """
    params = DrakeVisualizerParams() if params is None else params
    if not isinstance(params, DrakeVisualizerParams):
        raise TypeError(f"DrakeVisualizer takes DrakeVisualizerParams; given {params!r}.")
    if not (params.publish_period > 0 and math.isfinite(params.publish_period)):
        raise RuntimeError(f"DrakeVisualizer requires a positive publish period; given {params.publish_period}.")
    if params.role == Role.kUnassigned:
        raise RuntimeError(
            "DrakeVisualizer sends geometries of a role: kIllustration, kProximity or kPerception; given "
            f"{params.role!r}."
        )
    return copy.deepcopy(params)
