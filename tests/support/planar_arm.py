"""A planar arm of two links of 0.5 m beside boxes, and a body with a quaternion beside a post."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from merganser.framework.math import RigidTransform
from merganser.geometry import Sphere
from merganser.multibody.planning import RobotDiagram, RobotDiagramBuilder, SceneGraphCollisionChecker
from merganser.multibody.plant import CoulombFriction
from merganser.multibody.tree import BallQuaternionJoint, QuaternionFloatingJoint, RevoluteJoint, SpatialInertia

LINK, RADIUS = 0.5, 0.05

_LINK = """<link name="link{k}"><inertial><mass value="1"/>
  <inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial>
  <collision name="end"><origin xyz="0.5 0 0"/><geometry><sphere radius="0.05"/></geometry></collision></link>
<joint name="joint{k}" type="revolute"><parent link="{parent}"/><child link="link{k}"/><axis xyz="0 0 1"/>
  <origin xyz="{x} 0 0"/><limit lower="-3" upper="3" effort="1" velocity="1"/></joint>"""


def make_arm(boxes: Sequence[tuple[float, float, float]] = ()) -> tuple[RobotDiagram, list[Any]]:
    """The arm, and boxes at (x, y) with this width; returns also the model instances of the arm."""
    builder = RobotDiagramBuilder(time_step=0.0)
    links = _LINK.format(k=1, parent="base", x=0) + _LINK.format(k=2, parent="link1", x=LINK)
    arm = builder.parser().AddModelsFromString(f'<robot name="arm"><link name="base"/>{links}</robot>', "urdf")
    plant = builder.plant()
    plant.WeldFrames(plant.world_frame(), plant.GetFrameByName("base"))
    for k, (x, y, width) in enumerate(boxes):
        builder.parser().AddModelsFromString(
            f'<robot name="box{k}"><link name="box{k}"><collision name="c"><origin xyz="{x} {y} 0"/><geometry>'
            f'<box size="{width} {width} 0.2"/></geometry></collision></link></robot>',
            "urdf",
        )
        plant.WeldFrames(plant.world_frame(), plant.GetFrameByName(f"box{k}"))
    return builder.Build(), arm


def make_checker(boxes: Sequence[tuple[float, float, float]] = (), **given: Any) -> SceneGraphCollisionChecker:
    """A checker of the arm."""
    model, arm = make_arm(boxes)
    return SceneGraphCollisionChecker(model=model, robot_model_instances=arm, **({"edge_step_size": 0.05} | given))


def spinning_tip(kind: str) -> SceneGraphCollisionChecker:
    """A body with a tip at [1, 0, 0], on a joint with a quaternion, and a post at [0, 1, 0]."""
    builder = RobotDiagramBuilder(time_step=0.0)
    plant, friction = builder.plant(), CoulombFriction(1.0, 1.0)
    inertia = SpatialInertia.SolidSphereWithMass(1.0, 0.1)
    base, body = plant.AddRigidBody("base", inertia), plant.AddRigidBody("body", inertia)
    plant.AddJoint(RevoluteJoint("turn", plant.world_frame(), base.body_frame(), [0.0, 0.0, 1.0]))
    joint, parent = {
        "in the world": (QuaternionFloatingJoint, plant.world_frame()),
        "between bodies": (QuaternionFloatingJoint, base.body_frame()),
        "of a ball": (BallQuaternionJoint, base.body_frame()),
    }[kind]
    plant.AddJoint(joint("free", parent, body.body_frame()))
    plant.RegisterCollisionGeometry(body, RigidTransform([1.0, 0.0, 0.0]), Sphere(0.1), "tip", friction)
    plant.RegisterCollisionGeometry(
        plant.world_body(), RigidTransform([0.0, 1.0, 0.0]), Sphere(0.05), "post", friction
    )
    instances = [base.model_instance()]
    return SceneGraphCollisionChecker(model=builder.Build(), robot_model_instances=instances, edge_step_size=0.02)


def turned(checker: SceneGraphCollisionChecker, angle: float, sign: float = 1.0) -> np.ndarray:
    """The configuration with the body turned about z, by one of two quaternions."""
    q, start = np.zeros(checker.plant().num_positions()), checker.plant().GetJointByName("free").position_start()
    q[start : start + 4] = sign * np.array([math.cos(0.5 * angle), 0.0, 0.0, math.sin(0.5 * angle)])
    return q
