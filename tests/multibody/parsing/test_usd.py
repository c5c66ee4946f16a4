"""Models in USD: each is what its twin in URDF is, whatever units and axes the stage has."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from merganser.framework import DiagramBuilder
from merganser.multibody.parsing import Parser
from merganser.multibody.plant import AddMultibodyPlantSceneGraph, MultibodyPlant

pytest.importorskip("pxr")

URDF = """<robot name="arm">
<link name="upper"><inertial><origin xyz="0 0 -0.3"/><mass value="2"/>
  <inertia ixx="0.08" iyy="0.07" izz="0.01" ixy="0" ixz="0" iyz="0"/></inertial>
  <collision><origin xyz="0 0 -0.3"/><geometry><box size="0.1 0.2 0.6"/></geometry></collision></link>
<link name="lower"><inertial><origin xyz="0 0 -0.2"/><mass value="1"/>
  <inertia ixx="0.02" iyy="0.02" izz="0.003" ixy="0" ixz="0" iyz="0"/></inertial>
  <collision><origin xyz="0 0 -0.2"/><geometry><cylinder radius="0.05" length="0.4"/></geometry></collision></link>
<joint name="shoulder" type="revolute"><parent link="world"/><child link="upper"/><origin xyz="0 0 1"/>
  <axis xyz="0 1 0"/><limit lower="-1.5707963267948966" upper="0.5235987755982988" effort="50" velocity="1e9"/></joint>
<joint name="slide" type="prismatic"><parent link="upper"/><child link="lower"/><origin xyz="0 0 -0.6"/>
  <axis xyz="0 0 1"/><limit lower="-0.1" upper="0.2" effort="20" velocity="1e9"/></joint>
<transmission name="t1"><type>transmission_interface/SimpleTransmission</type><joint name="shoulder"/>
  <actuator name="shoulder"/></transmission>
<transmission name="t2"><type>transmission_interface/SimpleTransmission</type><joint name="slide"/>
  <actuator name="slide"/></transmission>
</robot>"""


def stage(meters: float = 1.0, kilograms: float = 1.0, up: str = "Z") -> str:
    """The same arm in units of a stage; with an upward y axis, all is below a prim that turns it."""
    u, m = 1.0 / meters, 1.0 / kilograms
    I, F, T = m * u**2, m * u, m * u**2  # units of inertia, force and torque; a second is a second
    turn = "" if up == "Z" else 'double xformOp:rotateX = -90\n uniform token[] xformOpOrder = ["xformOp:rotateX"]'
    return f"""#usda 1.0
( defaultPrim = "arm"
 metersPerUnit = {meters}
 kilogramsPerUnit = {kilograms}
 upAxis = "{up}" )
def Xform "arm" {{
 {turn}
 def Xform "upper" ( prepend apiSchemas = ["PhysicsRigidBodyAPI", "PhysicsMassAPI"] ) {{
  double3 xformOp:translate = (0, 0, {u})
  uniform token[] xformOpOrder = ["xformOp:translate"]
  float physics:mass = {2 * m}
  point3f physics:centerOfMass = (0, 0, {-0.3 * u})
  float3 physics:diagonalInertia = ({0.08 * I}, {0.07 * I}, {0.01 * I})
  def Cube "box" ( prepend apiSchemas = ["PhysicsCollisionAPI"] ) {{
   double size = {u}
   double3 xformOp:translate = (0, 0, {-0.3 * u})
   double3 xformOp:scale = (0.1, 0.2, 0.6)
   uniform token[] xformOpOrder = ["xformOp:translate", "xformOp:scale"]
  }}
 }}
 def Xform "lower" ( prepend apiSchemas = ["PhysicsRigidBodyAPI", "PhysicsMassAPI"] ) {{
  double3 xformOp:translate = (0, 0, {0.4 * u})
  uniform token[] xformOpOrder = ["xformOp:translate"]
  float physics:mass = {m}
  point3f physics:centerOfMass = (0, 0, {-0.2 * u})
  float3 physics:diagonalInertia = ({0.003 * I}, {0.02 * I}, {0.02 * I})
  quatf physics:principalAxes = (0.70710678, 0, 0.70710678, 0)
  def Cylinder "tube" ( prepend apiSchemas = ["PhysicsCollisionAPI"] ) {{
   double radius = {0.05 * u}
   double height = {0.4 * u}
   double3 xformOp:translate = (0, 0, {-0.2 * u})
   uniform token[] xformOpOrder = ["xformOp:translate"]
  }}
 }}
 def PhysicsRevoluteJoint "shoulder" ( prepend apiSchemas = ["PhysicsDriveAPI:angular"] ) {{
  rel physics:body0 = </arm>
  rel physics:body1 = </arm/upper>
  point3f physics:localPos0 = (0, 0, {u})
  uniform token physics:axis = "Y"
  float physics:lowerLimit = -90
  float physics:upperLimit = 30
  float drive:angular:physics:maxForce = {50 * T}
  float drive:angular:physics:stiffness = {40 * T * np.pi / 180}
 }}
 def PhysicsPrismaticJoint "slide" ( prepend apiSchemas = ["PhysicsDriveAPI:linear"] ) {{
  rel physics:body0 = </arm/upper>
  rel physics:body1 = </arm/lower>
  point3f physics:localPos0 = (0, 0, {-0.6 * u})
  uniform token physics:axis = "Z"
  float physics:lowerLimit = {-0.1 * u}
  float physics:upperLimit = {0.2 * u}
  float drive:linear:physics:maxForce = {20 * F}
  float drive:linear:physics:damping = {3 * m}
 }}
}}
"""


def plant_of(text: str, kind: str, folder: Path) -> Any:
    path = folder / f"arm.{kind}"
    path.write_text(text)
    plant, _ = AddMultibodyPlantSceneGraph(DiagramBuilder(), 0.0)
    Parser(plant).AddModels(path)
    plant.Finalize()
    return plant


@pytest.mark.parametrize(("meters", "kilograms", "up"), [(1.0, 1.0, "Z"), (0.01, 1.0, "Z"), (0.01, 0.001, "Y")])
def test_an_arm_is_its_twin_in_urdf(meters: float, kilograms: float, up: str, tmp_path: Path) -> None:
    twin, arm = plant_of(URDF, "urdf", tmp_path), plant_of(stage(meters, kilograms, up), "usda", tmp_path)
    q = np.array([0.3, 0.05])
    contexts = [plant.CreateDefaultContext() for plant in (twin, arm)]
    for plant, context in zip((twin, arm), contexts):
        plant.SetPositions(context, q)
    wanted, found = (
        [
            plant.CalcMassMatrix(context),
            plant.CalcGravityGeneralizedForces(context),
            plant.EvalBodyPoseInWorld(context, plant.GetBodyByName("lower")).translation(),
            np.concatenate([plant.GetPositionLowerLimits(), plant.GetPositionUpperLimits()]),
            [plant.GetJointActuatorByName(name).effort_limit() for name in ("shoulder", "slide")],
        ]
        for plant, context in zip((twin, arm), contexts)
    )
    for one, other in zip(wanted, found):
        np.testing.assert_allclose(other, one, rtol=2e-6, atol=2e-6)
    gains = [arm.GetJointActuatorByName(name).get_controller_gains() for name in ("shoulder", "slide")]
    np.testing.assert_allclose([(g.p, g.d) for g in gains], [(40.0, 0.0), (0.0, 3.0)], rtol=1e-6)
    assert [len(arm.GetCollisionGeometriesForBody(arm.GetBodyByName(name))) for name in ("upper", "lower")] == [1, 1]


def one_body(inside: str, api: str = "", attributes: str = "") -> str:
    return f"""#usda 1.0
(defaultPrim = "body"
 metersPerUnit = 1
 upAxis = "Z")
def Xform "body" ( prepend apiSchemas = ["PhysicsRigidBodyAPI"{api}] ) {{
 {attributes}
 {inside}
}}
"""


def test_masses_follow_from_densities_of_shapes_and_materials(tmp_path: Path) -> None:
    ball = 'def Sphere "ball" ( prepend apiSchemas = ["PhysicsCollisionAPI"] ) { double radius = 0.1\n }'
    volume = 4.0 / 3.0 * np.pi * 0.1**3
    for api, attributes, mass in (
        ("", "", 1000.0 * volume),
        (', "PhysicsMassAPI"', "float physics:density = 50", 50.0 * volume),
        (', "PhysicsMassAPI"', "float physics:mass = 3", 3.0),
    ):
        plant = plant_of(one_body(ball, api, attributes), "usda", tmp_path)
        M = plant.GetBodyByName("body").default_spatial_inertia()
        assert M.get_mass() == pytest.approx(mass, rel=1e-6)
        np.testing.assert_allclose(M.get_unit_inertia().get_moments(), np.full(3, 0.4 * 0.1**2), rtol=1e-6)


def test_a_mesh_that_is_mirrored_stays_closed(tmp_path: Path) -> None:
    mesh = """def Mesh "tetrahedron" ( prepend apiSchemas = ["PhysicsCollisionAPI", "PhysicsMeshCollisionAPI"] ) {
  point3f[] points = [(0, 0, 0), (1, 0, 0), (0, 1, 0), (0, 0, 1)]
  int[] faceVertexCounts = [3, 3, 3, 3]
  int[] faceVertexIndices = [0, 2, 1, 0, 1, 3, 1, 2, 3, 2, 0, 3]
  uniform token physics:approximation = "convexHull"
  double3 xformOp:scale = (-1, 1, 2)
  uniform token[] xformOpOrder = ["xformOp:scale"]
 }"""
    plant = plant_of(one_body(mesh), "usda", tmp_path)
    M = plant.GetBodyByName("body").default_spatial_inertia()
    assert M.get_mass() == pytest.approx(1000.0 * 2.0 / 6.0, rel=1e-6)
    np.testing.assert_allclose(M.get_com(), [-0.25, 0.25, 0.5], rtol=1e-6)


def test_joints_of_several_axes_have_bodies_between(tmp_path: Path) -> None:
    text = """#usda 1.0
(metersPerUnit = 1
 upAxis = "Z")
def Xform "box" ( prepend apiSchemas = ["PhysicsRigidBodyAPI"] ) {
 def Cube "cube" ( prepend apiSchemas = ["PhysicsCollisionAPI"] ) { double size = 0.2
 }
}
def PhysicsJoint "gimbal" ( prepend apiSchemas = ["PhysicsLimitAPI:transX", "PhysicsLimitAPI:transY",
  "PhysicsLimitAPI:transZ", "PhysicsLimitAPI:rotZ"] ) {
 rel physics:body1 = </box>
 float limit:transX:physics:low = 1
 float limit:transX:physics:high = -1
 float limit:transY:physics:low = 1
 float limit:transY:physics:high = -1
 float limit:transZ:physics:low = -0.5
 float limit:transZ:physics:high = 0.5
 float limit:rotZ:physics:low = 1
 float limit:rotZ:physics:high = -1
}
"""
    plant = plant_of(text, "usda", tmp_path)
    names = [joint for joint in ("gimbal_transZ", "gimbal_rotX", "gimbal_rotY") if plant.HasJointNamed(joint)]
    assert len(names) == 3 and plant.num_velocities() == 3
    context = plant.CreateDefaultContext()
    plant.SetPositions(context, [0.2, 0.5, 0.0])
    X = plant.EvalBodyPoseInWorld(context, plant.GetBodyByName("box"))
    np.testing.assert_allclose(X.translation(), [0.0, 0.0, 0.2], atol=1e-15)
    assert np.linalg.matrix_rank(plant.CalcMassMatrix(context)) == 3


FLAT = 'double3 xformOp:scale = (0, 1, 1)\n uniform token[] xformOpOrder = ["xformOp:scale"]'


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('#usda 1.0\ndef Xform "a" {\n}\n', "no rigid body (PhysicsRigidBodyAPI)"),
        ("words", "the stage cannot be opened"),
        (one_body('def Mesh "m" ( prepend apiSchemas = ["PhysicsCollisionAPI"] ) {\n}'), "/m: the mesh has no faces"),
        (one_body("", "", FLAT), "/body: its scale is zero"),
    ],
)
def test_a_wrong_stage_is_refused_and_the_plant_stays(text: str, message: str, tmp_path: Path) -> None:
    path = tmp_path / "wrong.usda"
    path.write_text(text)
    plant = MultibodyPlant(0.0)
    with pytest.raises(RuntimeError, match=re.escape(message)):
        Parser(plant).AddModels(path)
    assert plant.num_bodies() == 1


def test_the_extra_is_named_where_it_is_missing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "arm.usda"
    path.write_text(stage())
    monkeypatch.setitem(sys.modules, "pxr", None)
    monkeypatch.setitem(sys.modules, "pxr.Usd", None)
    with pytest.raises(ImportError, match=r"pip install 'merganser\[usd\]'"):
        Parser(MultibodyPlant(0.0)).AddModels(path)
