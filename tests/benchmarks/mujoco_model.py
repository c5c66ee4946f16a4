"""A plant of this package as a model of MuJoCo: the same bodies, joints, PD controllers and collision shapes."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from merganser.framework.math import RigidTransform
from merganser.geometry import Box, Cylinder, HalfSpace, HeightField, Sphere
from merganser.multibody.tree import JointActuatorIndex, JointIndex


def mujoco_text(plant: Any, scene_graph: Any, friction: float) -> str:
    """MJCF of a finalized plant of welds, revolute, prismatic and floating joints; half spaces are planes of the world.

    A height field has the size of the given one, but no heights: set `hfield_data`, between 0 and 1. Limits of joints
    and efforts are left out; MuJoCo's own contact model gets one friction coefficient.

    Raises:
        KeyError: a joint is of another type.
        TypeError: a collision geometry is no box, cylinder, sphere, half space or height field.
    """
    joints = [plant.get_joint(JointIndex(i)) for i in range(plant.num_joints())]
    children: dict[int, list[Any]] = {}
    for joint in joints:
        children.setdefault(int(joint.parent_body().index()), []).append(joint)
    ground = "".join(_geometries(plant, scene_graph, plant.world_body(), friction))
    bodies = "".join(_body(plant, scene_graph, joint, children, friction) for joint in children[0])
    actuators = [plant.get_joint_actuator(JointActuatorIndex(i)) for i in range(plant.num_actuators())]
    drives = "".join(_drive(actuator) for actuator in actuators)
    # MuJoCo lets neighbors touch if one of them does not move.
    neighbors = [(joint.parent_body(), joint.child_body()) for joint in joints if int(joint.parent_body().index())]
    apart = "".join(f'<exclude body1="{a.scoped_name()}" body2="{b.scoped_name()}"/>' for a, b in neighbors)
    option = f'<option timestep="{plant.time_step()}" integrator="implicitfast"/>'
    world = f"<worldbody>{ground}{bodies}</worldbody><contact>{apart}</contact>"
    assets = "".join(map(_asset, _fields(plant, scene_graph)))
    return f"<mujoco>{option}<asset>{assets}</asset>{world}<actuator>{drives}</actuator></mujoco>"


def _fields(plant: Any, scene_graph: Any) -> list[HeightField]:
    inspector = scene_graph.model_inspector()
    shapes = map(inspector.GetShape, plant.GetCollisionGeometriesForBody(plant.world_body()))
    return [shape for shape in shapes if isinstance(shape, HeightField)]


def _asset(field: HeightField) -> str:
    rows, columns = field.heights().shape
    size = 0.5 * field.width(), 0.5 * field.depth(), np.ptp(field.heights()), field.base()
    return f'<hfield name="field" nrow="{rows}" ncol="{columns}" size="{_numbers(size)}"/>'


def _numbers(values: Iterable[float]) -> str:
    return " ".join(repr(float(x)) for x in values)


def _pose(X: RigidTransform) -> str:
    return f'pos="{_numbers(X.translation())}" quat="{_numbers(X.rotation().ToQuaternion().wxyz())}"'


def _body(plant: Any, scene_graph: Any, joint: Any, children: dict[int, list[Any]], friction: float) -> str:
    """The child body of a joint at its zero position, and all that is outboard of it."""
    body = joint.child_body()
    X_BM = joint.frame_on_child().GetFixedPoseInBodyFrame()
    X_PF = joint.frame_on_parent().GetFixedPoseInBodyFrame()
    X_PB = (X_PF @ joint.X_FM() if joint.type_name() == "weld" else X_PF) @ X_BM.inverse()
    parts = [_joint(joint, X_BM), _inertial(body.default_spatial_inertia())]
    parts += _geometries(plant, scene_graph, body, friction)
    parts += [_body(plant, scene_graph, other, children, friction) for other in children.get(int(body.index()), [])]
    return f'<body name="{body.scoped_name()}" {_pose(X_PB)}>{"".join(parts)}</body>'


def _geometries(plant: Any, scene_graph: Any, body: Any, friction: float) -> list[str]:
    """The collision geometries of a body."""
    inspector = scene_graph.model_inspector()
    return [
        f'<geom {_shape(inspector.GetShape(id))} {_pose(inspector.GetPoseInFrame(id))} friction="{friction} 0 0"/>'
        for id in plant.GetCollisionGeometriesForBody(body)
    ]


def _joint(joint: Any, X_BM: RigidTransform) -> str:
    kind = joint.type_name()
    if kind == "weld":
        return ""
    if kind == "quaternion_floating":
        return "<freejoint/>"
    axis = {"revolute": "revolute_axis", "prismatic": "translation_axis"}[kind]
    axis_B = X_BM.rotation().matrix() @ getattr(joint, axis)()
    name = "hinge" if kind == "revolute" else "slide"
    return (
        f'<joint name="{joint.scoped_name()}" type="{name}" pos="{_numbers(X_BM.translation())}" '
        f'axis="{_numbers(axis_B)}" damping="{joint.default_damping()}"/>'
    )


def _inertial(M_BBo_B: Any) -> str:
    if M_BBo_B.get_mass() == 0.0:
        return ""
    p_BoBcm_B = M_BBo_B.get_com()
    G = M_BBo_B.Shift(p_BoBcm_B).CalcRotationalInertia()
    moments, products = G.get_moments(), G.get_products()
    return (
        f'<inertial mass="{M_BBo_B.get_mass()}" pos="{_numbers(p_BoBcm_B)}" '
        f'fullinertia="{_numbers(np.concatenate([moments, products]))}"/>'
    )


def _shape(shape: Any) -> str:
    if isinstance(shape, Box):
        return f'type="box" size="{_numbers(0.5 * shape.size())}"'
    if isinstance(shape, Cylinder):
        return f'type="cylinder" size="{shape.radius()} {0.5 * shape.length()}"'
    if isinstance(shape, Sphere):
        return f'type="sphere" size="{shape.radius()}"'
    if isinstance(shape, HalfSpace):
        return 'type="plane" size="2 2 1"'
    if isinstance(shape, HeightField):
        return 'type="hfield" hfield="field"'
    raise TypeError(f"mujoco_text() knows boxes, cylinders, spheres, half spaces and height fields; given {shape!r}.")


def _drive(actuator: Any) -> str:
    gains = actuator.get_controller_gains()
    bias = _numbers([0.0, -gains.p, -gains.d])
    joint = actuator.joint().scoped_name()
    return f'<general joint="{joint}" gainprm="{gains.p}" biastype="affine" biasprm="{bias}"/>'
