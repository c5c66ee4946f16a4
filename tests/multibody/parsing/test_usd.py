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


TETRAHEDRON = """def Mesh "tetrahedron" ( prepend apiSchemas = ["PhysicsCollisionAPI", "PhysicsMeshCollisionAPI"] ) {
  point3f[] points = [(0, 0, 0), (1, 0, 0), (0, 1, 0), (0, 0, 1)]
  int[] faceVertexCounts = [3, 3, 3, 3]
  int[] faceVertexIndices = [0, 2, 1, 0, 1, 3, 1, 2, 3, 2, 0, 3]
  uniform token physics:approximation = "convexHull"
  double3 xformOp:scale = (-1, 1, 2)
  uniform token[] xformOpOrder = ["xformOp:scale"]
 }"""


def test_a_mesh_that_is_mirrored_stays_closed(tmp_path: Path) -> None:
    plant = plant_of(one_body(TETRAHEDRON), "usda", tmp_path)
    M = plant.GetBodyByName("body").default_spatial_inertia()
    assert M.get_mass() == pytest.approx(1000.0 * 2.0 / 6.0, rel=1e-6)
    np.testing.assert_allclose(M.get_com(), [-0.25, 0.25, 0.5], rtol=1e-6)


def test_a_mesh_inside_out_has_the_mass_of_its_convex_hull(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    turned = TETRAHEDRON.replace("int[]", 'uniform token orientation = "leftHanded"\n  int[]', 1)
    plant = plant_of(one_body(turned.replace("convexHull", "none")), "usda", tmp_path)
    assert plant.GetBodyByName("body").default_mass() == pytest.approx(1000.0 * 2.0 / 6.0, rel=1e-6)
    assert "/body/tetrahedron: the mesh encloses no positive volume" in caplog.text


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


STATE = '"PhysicsJointStateAPI:angular"'


def two_hinges(first: str = "", second: str = "", more: str = "", apis: str = STATE, root: str = "") -> str:
    """Two rods that hang below each other on a third, and what is given of their joints and beside them."""
    inertia = "float physics:mass = 1\n float3 physics:diagonalInertia = (0.1, 0.1, 0.1)"
    api = '( prepend apiSchemas = ["PhysicsRigidBodyAPI", "PhysicsMassAPI"] )'
    ball = 'def Sphere "ball" ( prepend apiSchemas = ["PhysicsCollisionAPI"] ) { double radius = 0.1\n }'
    return f"""#usda 1.0
(defaultPrim = "rods"
 metersPerUnit = 1
 upAxis = "Z")
def Xform "rods" ( prepend apiSchemas = ["PhysicsArticulationRootAPI"] ) {{
 {root}
 def Xform "a" {api} {{
  {inertia}
  {ball}
 }}
 def Xform "b" {api} {{
  {inertia}
  double3 xformOp:translate = (0, 0, -1)
  uniform token[] xformOpOrder = ["xformOp:translate"]
  {ball}
 }}
 def Xform "c" {api} {{
  {inertia}
  double3 xformOp:translate = (0, 0.25, -2)
  float xformOp:rotateX = 30
  uniform token[] xformOpOrder = ["xformOp:translate", "xformOp:rotateX"]
  {ball}
 }}
 def PhysicsRevoluteJoint "one" ( prepend apiSchemas = [{apis}] ) {{
  uniform token physics:axis = "Y"
  rel physics:body0 = </rods/a>
  rel physics:body1 = </rods/b>
  point3f physics:localPos0 = (0, 0, -1)
  {first}
 }}
 def PhysicsRevoluteJoint "two" ( prepend apiSchemas = [{apis}] ) {{
  uniform token physics:axis = "X"
  rel physics:body0 = </rods/b>
  rel physics:body1 = </rods/c>
  point3f physics:localPos0 = (0, 0.25, -1)
  {second}
 }}
 def PhysicsFixedJoint "hook" {{
  rel physics:body1 = </rods/a>
 }}
 {more}
}}
"""


def test_joints_start_where_the_stage_puts_their_bodies(tmp_path: Path) -> None:
    plant = plant_of(two_hinges(first="float state:angular:physics:position = 20"), "usda", tmp_path)
    context = plant.CreateDefaultContext()
    np.testing.assert_allclose(plant.GetPositions(context), np.radians([20.0, 30.0]), atol=1e-7)


@pytest.mark.parametrize(
    ("given", "damping", "speed"),
    [
        ("double mjc:damping = 3\n double mjc:frictionloss = 2\n double mjc:armature = 0.5", 3.0, np.inf),
        (
            "float newton:damping = 3\n float newton:friction = 2\n float newton:armature = 0.5\n"
            "float newton:velocityLimit = 90",
            np.degrees(3.0),
            np.pi / 2,
        ),
        (
            "float physxJoint:jointFriction = 2\n float physxJoint:armature = 0.5\n"
            "float physxJoint:maxJointVelocity = 90",
            0.0,
            np.pi / 2,
        ),
    ],
    ids=["mujoco", "newton", "physx"],
)
def test_joints_have_what_other_schemas_say(given: str, damping: float, speed: float, tmp_path: Path) -> None:
    joint = plant_of(two_hinges(first=given), "usda", tmp_path).GetJointByName("one")
    found = [joint.default_damping(), *joint.default_friction_vector(), joint.default_armature()]
    assert found == pytest.approx([damping, 2.0, 0.5])
    np.testing.assert_allclose(joint.velocity_upper_limits(), [speed], rtol=1e-6)


def test_springs_of_mujoco_pull_to_their_reference(tmp_path: Path) -> None:
    spring = "uniform double mjc:stiffness = 5\n uniform double mjc:springref = 30"
    weightless = 'def PhysicsScene "scene" { float physics:gravityMagnitude = 0\n }'
    plant = plant_of(two_hinges(first=spring, more=weightless), "usda", tmp_path)
    context = plant.CreateDefaultContext()
    plant.SetPositions(context, [0.1, 0.0])
    wanted = 2.5 * (0.1 - np.radians(30.0)) ** 2
    assert plant.CalcPotentialEnergy(context) == pytest.approx(wanted, rel=1e-6)


MIMICS = {
    "NewtonMimicAPI": "rel newton:mimicJoint = </rods/one>\n"
    "float newton:mimicCoef0 = 10\n float newton:mimicCoef1 = 2",
    "PhysxMimicJointAPI:rotX": "rel physxMimicJoint:rotX:referenceJoint = </rods/one>\n"
    "float physxMimicJoint:rotX:gearing = -2\n float physxMimicJoint:rotX:offset = -10",
}


@pytest.mark.parametrize("api", MIMICS)
def test_joints_mimic_others(api: str, tmp_path: Path) -> None:
    path = tmp_path / "rods.usda"
    path.write_text(two_hinges(second=MIMICS[api], apis=f'"{api}"'))
    plant, _ = AddMultibodyPlantSceneGraph(DiagramBuilder(), 0.001)
    Parser(plant).AddModels(path)
    (spec,) = plant._tree.constraints
    names = [plant.get_joint(index).name() for index in (spec.joint0, spec.joint1)]
    assert names == ["two", "one"] and spec.gear_ratio == pytest.approx(2.0)
    assert spec.offset == pytest.approx(np.radians(10.0))


ACTUATORS = """def MjcActuator "motor" {
 uniform double mjc:ctrlRange:max = 3
 uniform double mjc:ctrlRange:min = -3
 uniform double[] mjc:gear = [50, 0, 0, 0, 0, 0]
 rel mjc:target = </rods/one>
}
def MjcActuator "servo" {
 uniform double[] mjc:gainPrm = [7, 0, 0]
 uniform double[] mjc:biasPrm = [0, -7, -0.5]
 uniform token mjc:biasType = "affine"
 rel mjc:target = </rods/two>
}
def MjcActuator "adhesion" {
 rel mjc:target = </rods/a>
}"""


def test_actuators_of_mujoco_are_those_of_mjcf(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    plant = plant_of(two_hinges(more=ACTUATORS), "usda", tmp_path)
    motor, servo = (plant.GetJointActuatorByName(name) for name in ("motor", "servo"))
    assert motor.effort_limit() == pytest.approx(150.0) and motor.joint().name() == "one"
    gains = servo.get_controller_gains()
    assert (gains.p, gains.d) == pytest.approx((7.0, 0.5)) and plant.num_actuators() == 2
    assert "/rods/adhesion: an actuator is left out" in caplog.text


GROUPS = """def PhysicsCollisionGroup "low" ( prepend apiSchemas = ["CollectionAPI:colliders"] ) {
 rel collection:colliders:includes = [</rods/a>, </rods/c>]
 rel physics:filteredGroups = </rods/low>
}"""


@pytest.mark.parametrize(
    ("root", "more", "pairs"),
    [
        ("", "", {("a", "c")}),  # neighbors ignore each other
        ("bool physxArticulation:enabledSelfCollisions = 0", "", set()),
        ("bool newton:selfCollisionEnabled = 1", "", {("a", "c")}),
        ("", GROUPS, set()),
        ("rel physics:filteredPairs = </rods/c>", "", set()),
    ],
    ids=["all", "articulation", "with itself", "groups", "pairs"],
)
def test_shapes_ignore_what_the_stage_says(root: str, more: str, pairs: set[Any], tmp_path: Path) -> None:
    path = tmp_path / "rods.usda"
    path.write_text(two_hinges(root=root, more=more))
    plant, scene_graph = AddMultibodyPlantSceneGraph(DiagramBuilder(), 0.0)
    Parser(plant).AddModels(path)
    plant.Finalize()
    inspector = scene_graph.model_inspector()
    bodies = ([plant.GetBodyFromFrameId(inspector.GetFrameId(id)).name() for id in pair]
              for pair in inspector.GetCollisionCandidates())  # fmt: skip
    assert {tuple(sorted(pair)) for pair in bodies} == pairs


def test_bodies_that_cannot_move_are_of_the_world(tmp_path: Path) -> None:
    text = two_hinges().replace('def Xform "a"', 'over Xform "a"')
    for attribute in ("bool physics:kinematicEnabled = 1", "bool physics:rigidBodyEnabled = 0"):
        fixed = text.replace("float physics:mass", f"{attribute}\n float physics:mass", 1)
        plant = plant_of(fixed.replace("over Xform", "def Xform"), "usda", tmp_path)
        assert not plant.HasBodyNamed("a")
        assert plant.GetJointByName("one").parent_body() is plant.world_body()
        assert len(plant.GetCollisionGeometriesForBody(plant.world_body())) == 1


def test_a_loop_is_closed_by_what_is_no_part_of_the_articulation(tmp_path: Path) -> None:
    closing = """def PhysicsSphericalJoint "closing" {
  bool physics:excludeFromArticulation = 1
  rel physics:body0 = </rods/a>
  rel physics:body1 = </rods/c>
  point3f physics:localPos0 = (0, 0.25, -2)
 }"""
    path = tmp_path / "rods.usda"
    path.write_text(two_hinges(more=closing))
    plant, _ = AddMultibodyPlantSceneGraph(DiagramBuilder(), 0.001)
    Parser(plant).AddModels(path)
    plant.Finalize()
    assert (plant.num_velocities(), plant.num_loop_joints()) == (2, 1)


def test_one_warning_names_what_has_no_counterpart(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    more = 'def NewtonActuator "engine" {\n }\n def Cone "hat" ( prepend apiSchemas = ["PhysicsCollisionAPI"] ) {\n }'
    plant_of(two_hinges(apis='"PhysxLimitAPI:angular"', more=more), "usda", tmp_path)
    [record] = caplog.records
    for line in (
        "/rods/one, /rods/two: PhysxLimitAPI has no effect",
        "/rods/engine: NewtonActuator has no effect",
        "/rods/hat: shapes of the type Cone have no effect",
    ):
        assert line in record.getMessage()


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
