"""A planar arm of two links, or with a slider in place of the second joint, among a box, a capsule and a cylinder."""

from __future__ import annotations

from typing import Any

_INERTIAL = """<inertial><mass value='1'/>
  <inertia ixx='1' iyy='1' izz='1' ixy='0' ixz='0' iyz='0'/></inertial>"""


def arm_urdf(second: str = "revolute") -> str:
    """The robot; its second joint is of the type `second`."""
    axis, low, high = ("0 0 1", -1.5, 1.5) if second == "revolute" else ("1 0 0", -0.3, 0.3)
    return f"""<robot name='arm'>
<link name='b0'>{_INERTIAL}<collision name='c0'><origin xyz='0.25 0 0'/>
  <geometry><box size='0.5 .05 .05'/></geometry></collision></link>
<link name='b1'>{_INERTIAL}<collision name='c1'><origin xyz='0.25 0 0'/>
  <geometry><box size='0.5 .05 .05'/></geometry></collision>
<collision name='tip'><origin xyz='0.5 0 0'/><geometry><sphere radius='.05'/></geometry></collision></link>
<joint name='j0' type='revolute'><parent link='world'/><child link='b0'/><axis xyz='0 0 1'/>
  <limit lower='-1.5' upper='1.5'/></joint>
<joint name='j1' type='{second}'><parent link='b0'/><child link='b1'/><origin xyz='.5 0 0'/><axis xyz='{axis}'/>
  <limit lower='{low}' upper='{high}'/></joint>
<link name='walls'><collision name='box'><origin xyz='0.5 0.7 0'/>
  <geometry><box size='.2 .2 .2'/></geometry></collision>
<collision name='capsule'><origin xyz='0.5 -0.7 0'/>
  <geometry><drake:capsule xmlns:drake='d' radius='.1' length='.2'/></geometry></collision>
<collision name='cylinder'><origin xyz='-0.5 -0.7 0' rpy='0.2 0 0'/>
  <geometry><cylinder radius='.1' length='.2'/></geometry></collision></link>
<joint name='fixed' type='fixed'><parent link='world'/><child link='walls'/></joint>
</robot>"""


def arm_diagram(lib: Any, second: str = "revolute") -> tuple[Any, Any, Any]:
    """The diagram, the plant and the SceneGraph, of merganser.all or pydrake.all."""
    builder = lib.DiagramBuilder()
    plant, scene_graph = lib.AddMultibodyPlantSceneGraph(builder, 0.0)
    lib.Parser(plant).AddModelsFromString(arm_urdf(second), "urdf")
    plant.Finalize()
    return builder.Build(), plant, scene_graph
