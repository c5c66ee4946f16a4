"""Drawings of the example plants in a SceneGraph: systems from their states to poses."""

from __future__ import annotations

import math
from typing import Any, TypeVar

import numpy as np

from merganser.examples.pendulums import AcrobotParams, PendulumParams
from merganser.examples.walkers import CompassGaitParams, RimlessWheelParams
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

Params = TypeVar("Params")
_GREY, _BLUE, _RED, _GREEN = [0.3, 0.3, 0.3, 1.0], [0.2, 0.4, 0.8, 1.0], [0.8, 0.2, 0.2, 1.0], [0.2, 0.6, 0.3, 1.0]
_RAMP_HEIGHT = 10.0  # [m]
_SAND, _BLACK = [0.93, 0.79, 0.68, 1.0], [0.0, 0.0, 0.0, 1.0]


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

    def _add_ramp(self, slope: float) -> None:
        """A block whose upper face goes down towards +x, through the origin of the world."""
        R_WR = RotationMatrix.MakeYRotation(slope)
        X_WR = RigidTransform(R_WR, R_WR @ np.array([0.0, 0.0, -0.5 * _RAMP_HEIGHT]))
        self._add(None, X_WR, Box(100.0, 1.0, _RAMP_HEIGHT), "ramp", _SAND)

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


def _params_and_graph(
    params: Params | SceneGraph | None, scene_graph: SceneGraph | None, default: type[Params], where: str
) -> tuple[Params, SceneGraph]:
    """The arguments of AddToBuilder(builder, port, [params,] scene_graph)."""
    if isinstance(params, SceneGraph) and scene_graph is None:
        params, scene_graph = None, params
    if not isinstance(scene_graph, SceneGraph) or not isinstance(params, (default, type(None))):
        raise TypeError(
            f"{where}.AddToBuilder() takes (builder, port, scene_graph) or (builder, port, params, scene_graph)."
        )
    return default() if params is None else params, scene_graph


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
        looks._add(arm, RigidTransform([0.0, 0.0, -length]), Sphere(0.025), "arm point mass", _BLUE)
        looks._connect(builder, pendulum_state_port)
        return looks

    def _poses(self, state: Any) -> list[RigidTransform]:
        return [RigidTransform(RotationMatrix.MakeYRotation(state[0]))]


class AcrobotGeometry(_Looks):
    """An acrobot in x-z planes, with its shoulder on the y axis of the world; made by `AddToBuilder`."""

    _l1: float

    @staticmethod
    def AddToBuilder(
        builder: DiagramBuilder,
        acrobot_state_port: OutputPort,
        acrobot_params: AcrobotParams | None = None,
        scene_graph: SceneGraph | None = None,
    ) -> AcrobotGeometry:
        """Adds what an acrobot looks like, with default parameters unless some are given, and returns it."""
        params, graph = _params_and_graph(acrobot_params, scene_graph, AcrobotParams, "AcrobotGeometry")
        looks = AcrobotGeometry(acrobot_state_port, graph, "state")
        looks._l1 = float(params.l1())
        looks._add(None, RigidTransform(), Box(0.2, 0.2, 0.2), "base", _GREEN)
        # The links are side by side, so that they can pass.
        for name, length, y, color in (
            ("upper_link", params.l1(), 0.15, _RED),
            ("lower_link", params.l2(), 0.25, _BLUE),
        ):
            link = looks._add_frame(name)
            looks._add(link, RigidTransform([0.0, y, -0.5 * length]), Cylinder(0.05, length), name, color)
        looks._connect(builder, acrobot_state_port)
        return looks

    def _poses(self, state: Any) -> list[RigidTransform]:
        X_WU = RigidTransform(RotationMatrix.MakeYRotation(state[0]))
        X_UL = RigidTransform(RotationMatrix.MakeYRotation(state[1]), [0.0, 0.0, -self._l1])
        return [X_WU, X_WU @ X_UL]


class RimlessWheelGeometry(_Looks):
    """A hub with spokes on a ramp, in the x-z plane; made by `AddToBuilder`."""

    @staticmethod
    def AddToBuilder(
        builder: DiagramBuilder,
        floating_base_state_port: OutputPort,
        rimless_wheel_params: RimlessWheelParams | None = None,
        scene_graph: SceneGraph | None = None,
    ) -> RimlessWheelGeometry:
        """Adds what a rimless wheel looks like, with default parameters unless some are given, and returns it."""
        params, graph = _params_and_graph(rimless_wheel_params, scene_graph, RimlessWheelParams, "RimlessWheelGeometry")
        looks = RimlessWheelGeometry(floating_base_state_port, graph, "floating_base_state")
        looks._add_ramp(params.slope())
        center, length, num_spokes = looks._add_frame("center"), params.length(), int(params.number_of_spokes())
        looks._add(center, RigidTransform(RotationMatrix.MakeXRotation(0.5 * math.pi)), Cylinder(0.2, 0.2), "hub", _RED)
        for i in range(num_spokes):
            R_CS = RotationMatrix.MakeYRotation(2.0 * math.pi * i / num_spokes)
            X_CS = RigidTransform(R_CS, R_CS @ np.array([0.0, 0.0, -0.5 * length]))
            looks._add(center, X_CS, Cylinder(0.0075, length), f"spoke{i}", _BLACK)
        looks._connect(builder, floating_base_state_port)
        return looks

    def _poses(self, state: Any) -> list[RigidTransform]:
        return [RigidTransform(RollPitchYaw(state[3:6]), state[:3])]


class CompassGaitGeometry(_Looks):
    """Two legs with their masses on a ramp, in the x-z plane; made by `AddToBuilder`."""

    @staticmethod
    def AddToBuilder(
        builder: DiagramBuilder,
        floating_base_state_port: OutputPort,
        compass_gait_params: CompassGaitParams | None = None,
        scene_graph: SceneGraph | None = None,
    ) -> CompassGaitGeometry:
        """Adds what a compass gait looks like, with default parameters unless some are given, and returns it.

        Legs have spheres of the density of that of the hip, whose radius is 0.1 m.
        """
        params, graph = _params_and_graph(compass_gait_params, scene_graph, CompassGaitParams, "CompassGaitGeometry")
        looks = CompassGaitGeometry(floating_base_state_port, graph, "floating_base_state")
        looks._add_ramp(params.slope())
        left, length, radius = looks._add_frame("left_leg"), params.length_leg(), 0.1
        looks._add(left, RigidTransform(), Sphere(radius), "hip", _GREEN)
        mass = Sphere(radius * math.cbrt(params.mass_leg() / params.mass_hip()))
        for name, leg, color in (("left_leg", left, _RED), ("right_leg", looks._add_frame("right_leg"), _BLUE)):
            looks._add(leg, RigidTransform([0.0, 0.0, -0.5 * length]), Cylinder(0.0075, length), name, color)
            looks._add(leg, RigidTransform([0.0, 0.0, -params.center_of_mass_leg()]), mass, f"{name}_mass", color)
        looks._connect(builder, floating_base_state_port)
        return looks

    def _poses(self, state: Any) -> list[RigidTransform]:
        X_WL = RigidTransform(RollPitchYaw(state[3:6]), state[:3])
        return [X_WL, X_WL @ RigidTransform(RotationMatrix.MakeYRotation(state[6]))]


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
