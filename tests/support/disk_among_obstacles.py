"""A disk of radius 0.01 that moves in a plane with obstacles: its positions are those of a point among larger ones."""

from __future__ import annotations

from typing import Any

import numpy as np

RADIUS = 0.01
OBSTACLES = (
    (0.5, 0.5, "<box size='.4 .4 .4'/>"),
    (-0.5, 0.3, "<sphere radius='.2'/>"),
    (0.0, -0.6, "<cylinder radius='.2' length='1'/>"),
    (0.7, -0.4, "<box size='.2 .6 .2'/>"),
)
_INERTIAL = "<inertial><mass value='1'/><inertia ixx='1' iyy='1' izz='1' ixy='0' ixz='0' iyz='0'/></inertial>"


def disk_urdf(obstacles: Any = OBSTACLES, limit: float = 1.0) -> str:
    """The robot `disk` with joints x and y, and the obstacles at the world."""
    limits = f"<limit lower='{-limit}' upper='{limit}'/>" if np.isfinite(limit) else ""
    fixed = "".join(
        f"<link name='o{i}'><collision><origin xyz='{x} {y} 0'/><geometry>{shape}</geometry></collision></link>"
        f"<joint name='w{i}' type='fixed'><parent link='world'/><child link='o{i}'/></joint>"
        for i, (x, y, shape) in enumerate(obstacles)
    )
    return f"""<robot name='disk'><link name='slider'>{_INERTIAL}</link><link name='disk'>{_INERTIAL}
        <collision><geometry><sphere radius='{RADIUS}'/></geometry></collision></link>
        <joint name='x' type='prismatic'><axis xyz='1 0 0'/>{limits}<parent link='world'/><child link='slider'/></joint>
        <joint name='y' type='prismatic'><axis xyz='0 1 0'/>{limits}<parent link='slider'/><child link='disk'/></joint>
        {fixed}</robot>"""


def disk_robot(obstacles: Any = OBSTACLES, limit: float = 1.0) -> Any:
    """The RobotDiagram of it."""
    from merganser.multibody.planning import RobotDiagramBuilder

    builder = RobotDiagramBuilder(time_step=0.0)
    builder.parser().AddModelsFromString(disk_urdf(obstacles, limit), "urdf")
    return builder.Build()


def clearance(points: np.ndarray) -> np.ndarray:
    """How far the disk is from OBSTACLES, shape [N], at positions in columns, shape [2, N]; negative in them."""

    def box(center: Any, half: Any) -> np.ndarray:
        gap = np.abs(points - np.array(center)[:, np.newaxis]) - np.array(half)[:, np.newaxis]
        return np.linalg.norm(np.maximum(gap, 0.0), axis=0) + np.minimum(gap.max(axis=0), 0.0)

    def ball(center: Any) -> np.ndarray:
        return np.linalg.norm(points - np.array(center)[:, np.newaxis], axis=0) - 0.2

    parts = (box([0.5, 0.5], [0.2, 0.2]), ball([-0.5, 0.3]), ball([0.0, -0.6]), box([0.7, -0.4], [0.1, 0.3]))
    return np.min(parts, axis=0) - RADIUS
