"""The elements of a URDF document."""

from __future__ import annotations

import math

import numpy as np
import pytest

from merganser.framework import DiagramBuilder
from merganser.geometry import Box, Capsule, Convex, Mesh, Role, TerrainMesh
from merganser.multibody.parsing import Parser, ParsingError
from merganser.multibody.plant import AddMultibodyPlantSceneGraph


def read(body: str):
    """The plant and scene graph of a robot with links a and b and the given elements."""
    plant, scene_graph = AddMultibodyPlantSceneGraph(DiagramBuilder(), 0.0)
    text = f'<robot name="r" xmlns:drake="d"><link name="a"/><link name="b"/>{body}</robot>'
    Parser(plant).AddModelsFromString(text, "urdf")
    return plant, scene_graph


def joint(inside: str, kind: str = "revolute", parent: str = "a", child: str = "b") -> str:
    return f'<joint name="j" type="{kind}"><parent link="{parent}"/><child link="{child}"/>{inside}</joint>'


def transmission(inside: str = "") -> str:
    return (
        '<transmission><type>SimpleTransmission</type><joint name="j"/>'
        f'<actuator name="motor">{inside}</actuator></transmission>'
    )


def geometries(scene_graph, role: Role) -> dict:
    inspector = scene_graph.model_inspector()
    return {inspector.GetName(i).rpartition("::")[2]: i for i in inspector.GetAllGeometryIds(role)}


def test_mass_centre_and_axes_of_the_inertial_frame_are_honoured():
    # A turn of 90 degrees about z exchanges the moments about x and y; the offset adds by Steiner's rule.
    plant, _ = read(
        '<link name="c"><inertial><origin xyz="0 0 0.5" rpy="0 0 1.5707963267948966"/><mass value="2"/>'
        '<inertia ixx="0.3" iyy="0.2" izz="0.4"/></inertial></link>'
    )
    M_BBo_B = plant.GetBodyByName("c").default_spatial_inertia()
    assert M_BBo_B.get_mass() == 2
    np.testing.assert_allclose(M_BBo_B.get_com(), [0, 0, 0.5])
    I_BBo_B = M_BBo_B.CalcRotationalInertia().CopyToFullMatrix3()
    np.testing.assert_allclose(I_BBo_B, np.diag([0.2 + 0.5, 0.3 + 0.5, 0.4]), atol=1e-15)


def test_axis_is_normalised_and_x_by_default():
    plant, _ = read(joint('<axis xyz="0 0 2"/>'))
    np.testing.assert_array_equal(plant.GetJointByName("j").revolute_axis(), [0, 0, 1])
    plant, _ = read(joint("", "prismatic"))
    np.testing.assert_array_equal(plant.GetJointByName("j").translation_axis(), [1, 0, 0])


def test_limits_and_damping_are_those_of_the_file_and_absent_by_default():
    plant, _ = read(
        joint(
            '<limit lower="-1" upper="2" velocity="3" drake:acceleration="4"/><dynamics damping="0.5"/>',
            "prismatic",
        )
    )
    slider = plant.GetJointByName("j")
    assert (slider.position_lower_limits()[0], slider.position_upper_limits()[0]) == (-1, 2)
    assert (slider.velocity_lower_limits()[0], slider.velocity_upper_limits()[0]) == (-3, 3)
    assert (slider.acceleration_lower_limits()[0], slider.acceleration_upper_limits()[0]) == (-4, 4)
    assert slider.default_damping_vector()[0] == 0.5
    plant, _ = read(joint("", "continuous"))
    pin = plant.GetJointByName("j")
    for limits in (pin.position_upper_limits(), pin.velocity_upper_limits(), pin.acceleration_upper_limits()):
        assert limits[0] == math.inf
    assert pin.default_damping_vector()[0] == 0


def test_transmission_makes_an_actuator():
    plant, _ = read(
        joint('<limit effort="7"/>') + transmission('<drake:rotor_inertia value="0.1"/><drake:gear_ratio value="50"/>')
    )
    motor = plant.GetJointActuatorByName("motor")
    assert motor.joint().name() == "j"
    assert motor.effort_limit() == 7
    assert motor.default_rotor_inertia() == 0.1
    assert motor.default_gear_ratio() == 50


@pytest.mark.parametrize(
    ("body", "num_actuators"),
    [
        (joint(""), 0),
        (joint("") + transmission(), 1),
        (joint('<limit effort="0"/>') + transmission(), 0),
        (joint("", "fixed") + transmission(), 0),
        (joint("") + transmission().replace("SimpleTransmission", "FourBarTransmission"), 0),
    ],
    ids=["no transmission", "transmission", "no effort", "fixed joint", "other transmission"],
)
def test_only_simple_transmissions_of_driven_joints_make_actuators(body, num_actuators):
    assert read(body)[0].num_actuators() == num_actuators


def test_mechanical_reduction_is_not_the_gear_ratio(caplog):
    plant, _ = read(joint("") + transmission("<mechanicalReduction>9</mechanicalReduction>"))
    assert plant.GetJointActuatorByName("motor").default_gear_ratio() == 1
    assert "drake:gear_ratio" in caplog.text


def test_world_link_is_the_world():
    plant, scene_graph = read(
        '<link name="world"><visual><geometry><box size="1 1 1"/></geometry></visual></link>'
        + joint("", "fixed", parent="world")
    )
    assert plant.num_bodies() == 3
    assert plant.GetJointByName("j").parent_body() is plant.world_body()
    (box,) = geometries(scene_graph, Role.kIllustration).values()
    inspector = scene_graph.model_inspector()
    assert inspector.GetFrameId(box) == inspector.world_frame_id()


def test_floating_joint_leaves_its_child_free(caplog):
    plant, _ = read(joint("", "floating", parent="world"))
    assert plant.num_joints() == 0
    assert "floating" in caplog.text


def test_frame_is_fixed_to_its_link():
    plant, _ = read('<frame name="tool" link="b" xyz="1 2 3" rpy="0 0 1.5707963267948966"/>')
    frame = plant.GetFrameByName("tool")
    assert frame.body().name() == "b"
    X_BF = frame.GetFixedPoseInBodyFrame()
    np.testing.assert_allclose(X_BF.translation(), [1, 2, 3])
    np.testing.assert_allclose(X_BF.rotation().matrix()[:, 0], [0, 1, 0], atol=1e-15)


def test_geometries_have_shape_pose_and_unique_names():
    box = '<visual><origin xyz="0 0 1"/><geometry><box size="1 2 3"/></geometry></visual>'
    capsule = '<collision><geometry><drake:capsule radius="0.1" length="2"/></geometry></collision>'
    _, scene_graph = read(f'<link name="c">{box}{box}{capsule}</link>')
    inspector = scene_graph.model_inspector()
    visuals = geometries(scene_graph, Role.kIllustration)
    assert set(visuals) == {"Box", "Box_1"}
    assert inspector.GetShape(visuals["Box"]) == Box(1, 2, 3)
    np.testing.assert_array_equal(inspector.GetPoseInFrame(visuals["Box"]).translation(), [0, 0, 1])
    (collision,) = geometries(scene_graph, Role.kProximity).values()
    assert inspector.GetShape(collision) == Capsule(0.1, 2)


def test_material_is_named_once_and_used_anywhere():
    visual = '<visual name="{}"><geometry><sphere radius="1"/></geometry><material name="red">{}</material></visual>'
    red = '<color rgba="1 0 0 0.5"/>'
    _, scene_graph = read(f'<link name="c">{visual.format("v", red)}{visual.format("w", "")}</link>')
    for visual_id in geometries(scene_graph, Role.kIllustration).values():
        properties = scene_graph.model_inspector().GetIllustrationProperties(visual_id)
        np.testing.assert_array_equal(properties.GetProperty("phong", "diffuse").rgba, [1, 0, 0, 0.5])


def test_contact_properties_are_those_of_the_file():
    _, scene_graph = read(
        '<link name="c"><collision><geometry><sphere radius="1"/></geometry><drake:proximity_properties>'
        '<drake:mu_static value="0.7"/><drake:mu_dynamic value="0.5"/><drake:compliant_hydroelastic/>'
        '<drake:hunt_crossley_dissipation value="1.25"/><drake:hydroelastic_modulus value="1e7"/>'
        "</drake:proximity_properties></collision></link>"
    )
    (collision,) = geometries(scene_graph, Role.kProximity).values()
    properties = scene_graph.model_inspector().GetProximityProperties(collision)
    friction = properties.GetProperty("material", "coulomb_friction")
    assert (friction.static_friction(), friction.dynamic_friction()) == (0.7, 0.5)
    assert properties.GetProperty("material", "hunt_crossley_dissipation") == 1.25
    assert properties.GetProperty("hydroelastic", "hydroelastic_modulus") == 1e7
    assert properties.GetProperty("hydroelastic", "compliance_type") == "compliant"


def friction_of(text, file_type):
    plant, scene_graph = AddMultibodyPlantSceneGraph(DiagramBuilder(), 0.0)
    Parser(plant).AddModelsFromString(text, file_type)
    (collision,) = geometries(scene_graph, Role.kProximity).values()
    properties = scene_graph.model_inspector().GetProximityProperties(collision)
    friction = properties.GetProperty("material", "coulomb_friction")
    return friction.static_friction(), friction.dynamic_friction()


@pytest.mark.parametrize(
    "given, expected",
    [
        ("", (1.0, 1.0)),
        ("<drake:proximity_properties><drake:mu_static>0.7</drake:mu_static></drake:proximity_properties>", (0.7, 0.7)),
        ("<surface><friction><ode><mu>1.5</mu></ode></friction></surface>", (1.5, 1.0)),
        ("<surface><friction><ode><mu2>0.25</mu2></ode></friction></surface>", (1.0, 0.25)),
    ],
)
def test_friction_that_sdformat_does_not_give_is_one(given, expected):
    sphere = f"<collision name='c'><geometry><sphere><radius>1</radius></sphere></geometry>{given}</collision>"
    text = f"<sdf version='1.7'><model name='m'><link name='a'>{sphere}</link></model></sdf>"
    assert friction_of(text, "sdf") == expected


def test_friction_that_a_urdf_does_not_give_is_one():
    sphere = '<collision><geometry><sphere radius="1"/></geometry></collision>'
    assert friction_of(f'<robot name="r"><link name="a">{sphere}</link></robot>', "urdf") == (1.0, 1.0)


def test_mesh_is_found_beside_the_file_and_declared_convex(tmp_path):
    (tmp_path / "m.obj").write_text("v 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 1\nf 1 2 3\nf 1 2 4\nf 1 3 4\nf 2 3 4\n")
    mesh = '<collision><geometry><mesh filename="m.obj" scale="{}">{}</mesh></geometry></collision>'
    body = mesh.format("2", "") + mesh.format("1 2 3", "<drake:declare_convex/>")
    body += mesh.format("-2", "<merganser:declare_terrain/>")
    (tmp_path / "r.urdf").write_text(f'<robot name="r"><link name="a">{body}</link></robot>')
    plant, scene_graph = AddMultibodyPlantSceneGraph(DiagramBuilder(), 0.0)
    Parser(plant).AddModels(tmp_path / "r.urdf")
    shapes = {
        name: scene_graph.model_inspector().GetShape(i) for name, i in geometries(scene_graph, Role.kProximity).items()
    }
    assert shapes["Mesh"] == Mesh(str(tmp_path / "m.obj"), 2)
    assert shapes["Convex"] == Convex(str(tmp_path / "m.obj"), scale3=[1, 2, 3])
    assert shapes["TerrainMesh"] == TerrainMesh.FromFile(tmp_path / "m.obj", -2.0)
    (tmp_path / "r.urdf").write_text(
        '<robot name="r"><link name="a">'
        + mesh.format("1", "<drake:declare_convex/><merganser:declare_terrain/>")
        + "</link></robot>"
    )
    plant, _ = AddMultibodyPlantSceneGraph(DiagramBuilder(), 0.0)
    with pytest.raises(ParsingError, match=r"r.urdf:1: the mesh is declared both convex and terrain; keep one"):
        Parser(plant).AddModels(tmp_path / "r.urdf")


def drake_joint(inside: str, kind: str) -> str:
    return joint(inside, kind).replace("<joint", "<drake:joint").replace("</joint>", "</drake:joint>")


@pytest.mark.parametrize(
    ("kind", "inside", "type_name", "damping"),
    [
        ("ball", '<dynamics damping="0.3"/>', "ball_rpy", [0.3] * 3),
        ("universal", '<dynamics damping="0.3"/>', "universal", [0.3] * 2),
        ("planar", '<dynamics damping="1 2 3"/>', "planar", [1, 2, 3]),
        ("screw", '<dynamics damping="0.3"/><drake:screw_thread_pitch value="0.2"/>', "screw", [0.3]),
        (
            "curvilinear",
            '<dynamics damping="0.3"/><drake:curves><drake:line_segment length="1"/></drake:curves>',
            "curvilinear",
            [0.3],
        ),
    ],
)
def test_drake_joints_have_their_type_and_damping(kind, inside, type_name, damping):
    plant, _ = read(drake_joint(inside, kind))
    assert plant.GetJointByName("j").type_name() == type_name
    np.testing.assert_array_equal(plant.GetJointByName("j").default_damping_vector(), damping)


@pytest.mark.parametrize("axis", ["0 1 1", "0 0 -1", "1 0 0"])
def test_plane_of_a_planar_joint_is_normal_to_its_axis(axis):
    plant, _ = read(joint(f'<axis xyz="{axis}"/>', "planar"))
    normal = np.array(axis.split(), dtype=float)
    for frame in ("j_parent", "j_child"):
        R = plant.GetFrameByName(frame).GetFixedPoseInBodyFrame().rotation().matrix()
        np.testing.assert_allclose(R[:, 2], normal / np.linalg.norm(normal), atol=1e-15)


def test_screw_has_its_axis_and_pitch():
    plant, _ = read(drake_joint('<axis xyz="0 3 0"/><drake:screw_thread_pitch value="0.2"/>', "screw"))
    screw = plant.GetJointByName("j")
    assert screw.screw_pitch() == 0.2 and screw.screw_axis().tolist() == [0, 1, 0]


def test_path_of_a_curvilinear_joint_is_made_of_its_curves():
    curves = '<drake:line_segment length="1"/><drake:circular_arc radius="0.5" angle="-1.2"/>'
    normal = '<drake:plane_normal xyz="0 1 0"/>'
    plant, _ = read(drake_joint(f"<drake:curves>{curves}</drake:curves>{normal}", "curvilinear"))
    path = plant.GetJointByName("j").get_trajectory()
    assert path.get_segment_times() == [0, 1, 1.6] and path.get_turning_rates() == [0, -2]
    np.testing.assert_allclose(path.CalcPose(0.0).rotation().matrix()[:, 2], [0, 1, 0], atol=1e-15)


def test_limits_of_rarer_joints_are_kept_or_named(caplog):
    limit = '<limit lower="-1" upper="2" velocity="3" effort="0"/>'
    screw, _ = read(drake_joint(f'<axis xyz="0 3 0"/>{limit}<drake:screw_thread_pitch value="0.2"/>', "screw"))
    found = screw.GetJointByName("j")
    assert (found.position_lower_limits(), found.position_upper_limits()) == (-1.0, 2.0)
    assert found.velocity_upper_limits() == 3.0
    assert not caplog.records
    read(joint(f'<axis xyz="0 0 1"/>{limit}', "planar"))
    assert "limits of planar joint 'j' have no effect" in caplog.text
