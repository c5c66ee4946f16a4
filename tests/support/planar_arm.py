"""A planar arm of two links of 0.5 m, spheres at the elbow and the tip, beside boxes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from merganser.multibody.planning import RobotDiagram, RobotDiagramBuilder, SceneGraphCollisionChecker

__all__ = ["LINK", "RADIUS", "make_arm", "make_checker"]

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
