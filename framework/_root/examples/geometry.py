"""What the example plants look like in a SceneGraph: systems from their states to poses."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from merganser.examples.acrobot import AcrobotParams
from merganser.examples.pendulum import PendulumParams
from merganser.framework import DiagramBuilder, LeafSystem, OutputPort, Value
from merganser.framework.math import RigidTransform, RollPitchYaw, RotationMatrix
from merganser.geometry import (
    Box,
    Cylinder,
    FrameId,
    FramePoseVector,
    GeometryFrame,
    GeometryInstance,
    MakePhongIllustrationProperties,
    SceneGraph,
    Shape,
    Sphere,
)

__all__ = ["AcrobotGeometry", "PendulumGeometry", "QuadrotorGeometry"]

_GREY, _BLUE, _RED, _GREEN = [0.3, 0.3, 0.3, 1.0], [0.2, 0.4, 0.8, 1.0], [0.8, 0.2, 0.2, 1.0], [0.2, 0.6, 0.3, 1.0]


class _Looks(LeafSystem):
    """A source of poses in a SceneGraph, from one input."""

    def __init__(self, port: OutputPort, scene_graph: SceneGraph, input_name: str) -> None:
        super().__init__()
        self._source_id = scene_graph.RegisterSource()
        self._scene_graph: SceneGraph | None = scene_graph
        self._frames: list[FrameId] = []
        self.DeclareVectorInputPort(input_name, port.size())
        self.DeclareAbstractOutputPort("geometry_pose", lambda: Value(FramePoseVector()), self._calc_poses)

    def _add_frame(self, name: str) -> FrameId:
        assert self._scene_graph is not None
        frame = self._scene_graph.RegisterFrame(self._source_id, GeometryFrame(name))
        self._frames.append(frame)
        return frame

    def _add(self, frame: FrameId | None, X_FG: RigidTransform, shape: Shape, name: str, color: list[float]) -> None:
        assert self._scene_graph is not None
        instance = GeometryInstance(X_FG, shape, name)
        instance.set_illustration_properties(MakePhongIllustrationProperties(color))
        if frame is None:
            self._scene_graph.RegisterAnchoredGeometry(self._source_id, instance)
        else:
            self._scene_graph.RegisterGeometry(self._source_id, frame, instance)

    def _connect(self, builder: DiagramBuilder, port: OutputPort) -> None:
        assert self._scene_graph is not None
        builder.AddSystem(self)
        builder.Connect(port, self.get_input_port())
        builder.Connect(self.get_output_port(), self._scene_graph.get_source_pose_port(self._source_id))
        self._scene_graph = None  # they meet through ports from now on

    def _poses(self, state: Any) -> list[RigidTransform]:
        """The poses of all frames, in their order."""
        raise NotImplementedError

    def _calc_poses(self, context: Any, output: Any) -> None:
        poses = FramePoseVector()
        for frame, X_WF in zip(self._frames, self._poses(self.get_input_port().Eval(context))):
            poses.set_value(frame, X_WF)
        output.set_value(poses)


class PendulumGeometry(_Looks):
    """A pendulum in the x-z plane, with its pivot at the origin of the world; made by `AddToBuilder`."""

    @staticmethod
    def AddToBuilder(
        builder: DiagramBuilder, pendulum_state_port: OutputPort, scene_graph: SceneGraph
    ) -> PendulumGeometry:
        """Adds what a pendulum looks like, of length 0.5 m as by default, and returns it."""
        looks = PendulumGeometry(pendulum_state_port, scene_graph, "state")
        length, arm = PendulumParams().length(), looks._add_frame("arm")
        looks._add(None, RigidTransform([0.0, 0.0, 0.025]), Box(0.05, 0.05, 0.05), "base", _GREEN)
        looks._add(arm, RigidTransform([0.0, 0.0, -0.5 * length]), Cylinder(0.01, length), "arm", _RED)
        looks._add(arm, RigidTransform([0.0, 0.0, -length]), Sphere(0.025), "point mass", _BLUE)
        looks._connect(builder, pendulum_state_port)
        return looks

    def _poses(self, state: Any) -> list[RigidTransform]:
        return [RigidTransform(RotationMatrix.MakeYRotation(state[0]))]


class AcrobotGeometry(_Looks):
    """An acrobot in the x-z plane, with its shoulder at the origin of the world; made by `AddToBuilder`."""

    _l1: float

    @staticmethod
    def AddToBuilder(
        builder: DiagramBuilder,
        acrobot_state_port: OutputPort,
        acrobot_params: AcrobotParams | None = None,
        scene_graph: SceneGraph | None = None,
    ) -> AcrobotGeometry:
        """Adds what an acrobot looks like, with default parameters unless some are given, and returns it."""
        if isinstance(acrobot_params, SceneGraph):
            acrobot_params, scene_graph = None, acrobot_params
        assert scene_graph is not None, "AcrobotGeometry.AddToBuilder() needs a SceneGraph."
        params = AcrobotParams() if acrobot_params is None else acrobot_params
        looks = AcrobotGeometry(acrobot_state_port, scene_graph, "state")
        looks._l1 = float(params.l1())
        upper, lower = looks._add_frame("upper_link"), looks._add_frame("lower_link")
        for frame, length, color, name in ((upper, params.l1(), _RED, "upper"), (lower, params.l2(), _BLUE, "lower")):
            looks._add(frame, RigidTransform([0.0, 0.0, -0.5 * length]), Cylinder(0.05, length), name, color)
        looks._connect(builder, acrobot_state_port)
        return looks

    def _poses(self, state: Any) -> list[RigidTransform]:
        X_WU = RigidTransform(RotationMatrix.MakeYRotation(state[0]))
        X_UL = RigidTransform(RotationMatrix.MakeYRotation(state[1]), [0.0, 0.0, -self._l1])
        return [X_WU, X_WU @ X_UL]


class QuadrotorGeometry(_Looks):
    """A body with two arms and four discs; made by `AddToBuilder`."""

    @staticmethod
    def AddToBuilder(
        builder: DiagramBuilder, quadrotor_state_port: OutputPort, scene_graph: SceneGraph
    ) -> QuadrotorGeometry:
        """Adds what a quadrotor looks like, and returns it."""
        looks = QuadrotorGeometry(quadrotor_state_port, scene_graph, "state")
        body = looks._add_frame("quadrotor")
        looks._add(body, RigidTransform(), Box(0.1, 0.1, 0.04), "body", _GREY)
        for i in range(4):
            p_BoPo = 0.15 * np.array([math.cos(0.5 * math.pi * i), math.sin(0.5 * math.pi * i), 0.0])
            looks._add(body, RigidTransform([*p_BoPo[:2], 0.02]), Cylinder(0.07, 0.005), f"propeller {i}", _BLUE)
        for axis, size in (("x", (0.3, 0.01, 0.01)), ("y", (0.01, 0.3, 0.01))):
            looks._add(body, RigidTransform(), Box(*size), f"arm along {axis}", _GREY)
        looks._connect(builder, quadrotor_state_port)
        return looks

    def get_frame_id(self) -> FrameId:
        """Returns the frame of the body."""
        return self._frames[0]

    def _poses(self, state: Any) -> list[RigidTransform]:
        return [RigidTransform(RollPitchYaw(state[3:6]), state[:3])]
