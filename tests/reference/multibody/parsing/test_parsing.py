"""Model files read by merganser and by pydrake give the same plant."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from merganser.framework import DiagramBuilder
from merganser.geometry import Role
from merganser.multibody import tree
from merganser.multibody.parsing import PackageMap, Parser
from merganser.multibody.plant import AddMultibodyPlantSceneGraph
from tests.support.model_corners import CORNERS
from tests.support.odd_models import CUBE_OBJ, INCLUDES, ODD_DOCUMENTS, write_included_models

drake = pytest.importorskip("pydrake.all", reason="pydrake is not installed (extra `reference`)")
drake_tree = pytest.importorskip("pydrake.multibody.tree")

pytestmark = pytest.mark.reference

REPOSITORY = Path(__file__).parents[4]
MODELS = Path(os.environ.get("MERGANSER_MODELS", REPOSITORY.parent / "shared" / "models"))
EXAMPLES = REPOSITORY / "examples" / "models"

FILES = sorted(str(p.relative_to(MODELS)) for kind in ("urdf", "sdf") for p in MODELS.rglob(f"*.{kind}"))
OWN_FILES = ["cart_pole.sdf", "double_pendulum.urdf", "arm7.urdf", "free_box.sdf"]

# Poses go through a handful of products of matrices in both programs: rounding of lengths of a few metres.
TOLERANCE = 1e-13

NESTED = """<sdf version="1.7"><model name="m" placement_frame="inner::a"><pose>1 2 3 0.1 0.2 0.5</pose>
<link name="o"><pose>1 0 0 0.3 0 0</pose></link>
<model name="inner"><pose relative_to="o">0 0 1 0 0.4 0</pose>
<link name="a"><pose>0 1 0 0 0 0.2</pose></link>
<link name="b"><pose relative_to="j_inner">0 0 1 0 0 0</pose></link>
<joint name="j_inner" type="continuous"><pose relative_to="a">0 0.5 0 1 0 0</pose>
<parent>a</parent><child>b</child>
<axis><xyz expressed_in="__model__">1 2 0</xyz></axis></joint></model>
<joint name="j" type="revolute"><pose>0 0 0.1 0 0 0</pose><parent>o</parent><child>inner::a</child>
<axis><xyz expressed_in="f">1 0 0</xyz>
<limit><lower>-1</lower><upper>2</upper><effort>-1</effort></limit></axis></joint>
<frame name="f" attached_to="inner::b"><pose relative_to="o">0 0 1 0 0.7 0</pose></frame>
<frame name="g"><pose>0 0 1 0 0 0</pose></frame>
</model></sdf>"""
STATIC_WORLD = """<sdf version="1.7"><world name="w">
<model name="m"><static>true</static><pose>1 0 0 0 0 1</pose><link name="a"><pose>0 1 0 0 0 0</pose></link>
<link name="b"/><link name="c"/>
<joint name="j" type="fixed"><parent>a</parent><child>b</child></joint></model>
<model name="n"><link name="a"/></model>
<frame name="wf"><pose>0 0 1 0 0 0</pose></frame>
<joint name="jj" type="fixed"><pose>0 0 0.3 0 0 0</pose><parent>world</parent><child>n</child></joint>
<frame name="af" attached_to="n::a"><pose relative_to="wf">1 0 0 0 0 0</pose></frame></world></sdf>"""
CHANGING_URDF = """<robot name="r" xmlns:drake="d"><material name="red"><color rgba="1 0 0 1"/></material>
<link name="world"><collision><geometry><box size="9 9 1"/></geometry></collision></link>
<link name="a"><inertial><origin xyz="0.1 0 0" rpy="0.3 0.2 0.1"/><mass value="2"/>
<inertia ixx="1" iyy="1.2" izz="1.3" ixy="0.1"/></inertial>
<visual><geometry><box size="1 2 3"/></geometry><material name="red"/></visual>
<visual><origin xyz="1 2 3" rpy="0.1 0.2 0.3"/><geometry><box size="1 1 1"/></geometry></visual>
<visual name="v"><geometry><drake:ellipsoid a="1" b="2" c="3"/></geometry></visual>
<visual name="v"><geometry><cylinder radius="1" length="2"/></geometry></visual>
<collision><geometry><drake:capsule radius="1" length="2"/></geometry></collision></link>
<link name="b"/><link name="c"/><link name="d"/>
<joint name="j1" type="revolute"><parent link="a"/><child link="b"/><axis xyz="0 2 1"/>
<limit lower="-1" upper="2" effort="3" velocity="4" drake:acceleration="5"/><dynamics damping="0.5"/></joint>
<joint name="j2" type="continuous"><parent link="b"/><child link="c"/>
<origin xyz="1 0 0" rpy="0.1 0 0"/></joint>
<joint name="j3" type="prismatic"><parent link="world"/><child link="a"/><limit effort="0"/></joint>
<joint name="j4" type="fixed"><parent link="c"/><child link="d"/><origin xyz="1 0 0" rpy="0.1 0 0"/></joint>
<transmission><type>SimpleTransmission</type><joint name="j2"/><actuator name="m2"/></transmission>
<transmission><type>SimpleTransmission</type><joint name="j3"/><actuator name="m3"/></transmission>
<transmission><type>transmission_interface/SimpleTransmission</type><joint name="j1"/><actuator name="m1">
<drake:rotor_inertia value="0.01"/><drake:gear_ratio value="100"/></actuator></transmission>
<frame name="fr" link="b" xyz="1 2 3" rpy="0 0.2 0.1"/><frame name="fw" link="world"/></robot>"""

JOINTS_URDF = """<robot name="r" xmlns:drake="d"><link name="a"/><link name="b"/><link name="c"/><link name="d"/>
<link name="e"/><link name="f"/>
<joint name="j1" type="planar"><parent link="a"/><child link="b"/><origin xyz="1 0 0" rpy="0.1 0 0"/><axis xyz="1 2 3"/>
<dynamics damping="1 2 3"/></joint>
<drake:joint name="j2" type="ball"><parent link="b"/><child link="c"/><origin xyz="1 0 0" rpy="0.1 0 0"/>
<dynamics damping="0.1"/></drake:joint>
<drake:joint name="j3" type="screw"><parent link="c"/><child link="d"/><axis xyz="0 2 1"/><limit effort="3"/>
<drake:screw_thread_pitch value="0.2"/></drake:joint>
<drake:joint name="j4" type="universal"><parent link="d"/><child link="e"/><axis xyz="0 2 1"/></drake:joint>
<drake:joint name="j5" type="curvilinear"><parent link="e"/><child link="f"/><drake:curves>
<drake:line_segment length="1"/></drake:curves></drake:joint>
<transmission><type>SimpleTransmission</type><joint name="j3"/><actuator name="m3"/></transmission></robot>"""
JOINTS_SDF = """<sdf version="1.9"><model name="m"><link name="a"/><link name="b"><pose>1 2 3 0.1 0.2 0.3</pose></link>
<link name="c"/><link name="d"/><link name="e"/><link name="f"/><frame name="g" attached_to="e"><pose>1 0 0 0 0 1</pose>
</frame><drake:joint name="j4" type="planar"><drake:parent>g</drake:parent><drake:child>d</drake:child>
<drake:damping>1 2 3</drake:damping></drake:joint>
<drake:joint name="j5" type="curvilinear"><drake:parent>g</drake:parent><drake:child>f</drake:child><drake:damping>0.1
</drake:damping><drake:is_periodic>true</drake:is_periodic><drake:curves><drake:circular_arc><drake:radius>2
</drake:radius><drake:angle>6.283185307179586</drake:angle></drake:circular_arc></drake:curves></drake:joint>
<joint name="j1" type="ball"><pose>0 0 0.1 0 0 0</pose><parent>a</parent><child>b</child>
<axis><xyz>0 0 1</xyz><dynamics><damping>0.3</damping></dynamics></axis></joint>
<joint name="j2" type="universal"><pose>0 0 0.1 0 0.2 0</pose><parent>b</parent><child>c</child>
<axis><xyz>0 0 2</xyz></axis><axis2><xyz>0.28 0.96 0</xyz></axis2></joint>
<joint name="j3" type="screw"><parent>c</parent><child>d</child><screw_thread_pitch>0.2</screw_thread_pitch>
<axis><xyz>0 1 1</xyz><limit><effort>4</effort></limit></axis></joint>
</model></sdf>"""


@dataclass
class Side:
    """A plant with its scene graph, of merganser or of pydrake; both have the same functions."""

    plant: Any
    scene_graph: Any
    parser: Any
    tree: ModuleType
    role: Any

    def bodies(self) -> list:
        return [self.plant.get_body(self.tree.BodyIndex(i)) for i in range(1, self.plant.num_bodies())]

    def frames(self) -> dict:
        frames = [self.plant.get_frame(self.tree.FrameIndex(i)) for i in range(self.plant.num_frames())]
        return {(int(frame.model_instance()), frame.name()): frame for frame in frames}

    def joints(self) -> list:
        return [self.plant.get_joint(index) for index in self.plant.GetJointIndices()]

    def actuators(self) -> list:
        indices = map(self.tree.JointActuatorIndex, range(self.plant.num_actuators()))
        return [self.plant.get_joint_actuator(index) for index in indices]

    def instance_names(self) -> list[str]:
        indices = map(self.tree.ModelInstanceIndex, range(self.plant.num_model_instances()))
        return [self.plant.GetModelInstanceName(index) for index in indices]

    def geometries(self, role_name: str) -> dict:
        """(pose in the body, shape, properties) by body index and local name."""
        inspector, role = self.scene_graph.model_inspector(), getattr(self.role, role_name)
        found = {}
        for geometry_id in inspector.GetAllGeometryIds(role):
            body = self.plant.GetBodyFromFrameId(inspector.GetFrameId(geometry_id))
            name = inspector.GetName(geometry_id).rpartition("::")[2]
            found[int(body.index()), name] = (
                inspector.GetPoseInFrame(geometry_id),
                inspector.GetShape(geometry_id),
                inspector.GetProperties(geometry_id, role),
            )
        return found


def read_both(
    file: Path | None = None, text: str = "", file_type: str = "", packages: dict[str, Path] | None = None
) -> tuple[Side, Side]:
    """One document read by merganser and by pydrake."""
    ours, our_scene_graph = AddMultibodyPlantSceneGraph(DiagramBuilder(), 0.001)
    theirs, their_scene_graph = drake.AddMultibodyPlantSceneGraph(drake.DiagramBuilder(), 0.001)
    sides = (
        Side(ours, our_scene_graph, Parser(ours), tree, Role),
        Side(theirs, their_scene_graph, drake.Parser(theirs), drake_tree, drake.Role),
    )
    for side in sides:
        package_map = side.parser.package_map()
        if package_map.Contains("drake_models"):
            package_map.Remove("drake_models")
        if MODELS.is_dir():
            package_map.Add("drake_models", str(MODELS))
        for name, folder in (packages or {}).items():
            package_map.Add(name, str(folder))
        if file is not None:
            side.parser.AddModels(str(file))
        else:
            side.parser.AddModelsFromString(text, file_type)
    return sides


def assert_same_plant(ours: Side, theirs: Side) -> None:
    assert ours.instance_names() == theirs.instance_names()
    assert_same_bodies(ours, theirs)
    assert_same_frames(ours, theirs)
    assert_same_joints(ours, theirs)
    assert_same_actuators(ours, theirs)
    assert_same_geometries(ours, theirs)
    assert ours.plant.num_force_elements() == theirs.plant.num_force_elements()
    assert ours.plant.num_constraints() == theirs.plant.num_constraints()
    groups, expected_groups = (side.parser.GetCollisionFilterGroups() for side in (ours, theirs))
    assert groups.groups() == expected_groups.groups()
    assert groups.exclusion_pairs() == expected_groups.exclusion_pairs()


def assert_same_pose(X, X_reference) -> None:
    np.testing.assert_allclose(X.GetAsMatrix4(), X_reference.GetAsMatrix4(), atol=TOLERANCE)


def assert_same_bodies(ours: Side, theirs: Side) -> None:
    assert len(ours.bodies()) == len(theirs.bodies())
    for body, reference in zip(ours.bodies(), theirs.bodies()):
        assert (body.name(), body.model_instance()) == (reference.name(), int(reference.model_instance()))
        np.testing.assert_allclose(
            body.default_spatial_inertia().CopyToFullMatrix6(),
            reference.default_spatial_inertia().CopyToFullMatrix6(),
            rtol=1e-12,
            atol=1e-15,
        )
        X_WB = ours.plant.GetDefaultFloatingBaseBodyPose(body)
        assert_same_pose(X_WB, theirs.plant.GetDefaultFloatingBaseBodyPose(reference))


def assert_same_frames(ours: Side, theirs: Side) -> None:
    frames, references = ours.frames(), theirs.frames()
    assert set(frames) == set(references)
    for key, frame in frames.items():
        assert frame.body().name() == references[key].body().name()
        assert_same_pose(frame.GetFixedPoseInBodyFrame(), references[key].GetFixedPoseInBodyFrame())


def assert_same_joints(ours: Side, theirs: Side) -> None:
    assert [j.name() for j in ours.joints()] == [j.name() for j in theirs.joints()]
    for joint, reference in zip(ours.joints(), theirs.joints()):
        is_ball = (joint.type_name(), reference.type_name()) == ("ball_quaternion", "ball_rpy")  # on purpose
        assert is_ball or joint.type_name() == reference.type_name()
        assert joint.model_instance() == int(reference.model_instance())
        assert joint.frame_on_parent().name() == reference.frame_on_parent().name()
        assert joint.frame_on_child().name() == reference.frame_on_child().name()
        for what in ("velocity", "acceleration") if is_ball else ("position", "velocity", "acceleration"):
            for side in ("lower", "upper"):
                limits = getattr(joint, f"{what}_{side}_limits")()
                np.testing.assert_array_equal(limits, getattr(reference, f"{what}_{side}_limits")())
        np.testing.assert_array_equal(joint.default_damping_vector(), reference.default_damping_vector())
        if not is_ball:
            np.testing.assert_array_equal(joint.default_positions(), reference.default_positions())
        if joint.type_name() == "weld":
            assert_same_pose(joint.X_FM(), reference.X_FM())
        else:
            for name in ("revolute_axis", "translation_axis", "screw_pitch"):
                assert hasattr(joint, name) == hasattr(reference, name)
                if hasattr(joint, name):
                    np.testing.assert_allclose(getattr(joint, name)(), getattr(reference, name)(), atol=TOLERANCE)


def assert_same_actuators(ours: Side, theirs: Side) -> None:
    assert [a.name() for a in ours.actuators()] == [a.name() for a in theirs.actuators()]
    for actuator, reference in zip(ours.actuators(), theirs.actuators()):
        assert actuator.joint().name() == reference.joint().name()
        assert actuator.effort_limit() == reference.effort_limit()
        assert actuator.default_rotor_inertia() == reference.default_rotor_inertia()
        assert actuator.default_gear_ratio() == reference.default_gear_ratio()
        assert actuator.has_controller() == reference.has_controller()
        if actuator.has_controller():
            gains, expected = actuator.get_controller_gains(), reference.get_controller_gains()
            assert (gains.p, gains.d) == (expected.p, expected.d)


def assert_same_geometries(ours: Side, theirs: Side) -> None:
    for role_name in ("kIllustration", "kPerception", "kProximity"):
        geometries, references = ours.geometries(role_name), theirs.geometries(role_name)
        assert set(geometries) == set(references)
        for key, (X_BG, shape, properties) in geometries.items():
            X_BG_reference, shape_reference, properties_reference = references[key]
            assert_same_pose(X_BG, X_BG_reference)
            assert_same_shape(shape, shape_reference)
            assert_same_properties(properties, properties_reference)


def assert_same_shape(shape, reference) -> None:
    kind = type(shape).__name__
    assert kind == type(reference).__name__
    for measure in ("width", "depth", "height", "radius", "length", "a", "b", "c"):
        if hasattr(reference, measure) and kind not in ("Mesh", "Convex"):
            assert getattr(shape, measure)() == getattr(reference, measure)()
    if kind in ("Mesh", "Convex"):
        assert Path(shape.source().path()).resolve() == Path(reference.source().path()).resolve()
        np.testing.assert_array_equal(shape.scale3(), reference.scale3())


def assert_same_properties(properties, reference) -> None:
    """Colour and contact; pydrake stores the colours of SDF files in single precision."""
    for name in ("diffuse", "ambient", "specular", "emissive"):
        assert properties.HasProperty("phong", name) == reference.HasProperty("phong", name), name
        if reference.HasProperty("phong", name):
            colors = [p.GetProperty("phong", name).rgba for p in (properties, reference)]
            np.testing.assert_allclose(colors[0], colors[1], atol=1e-7)
    for group, name in (("phong", "diffuse_map"), ("renderer", "accepting")):
        assert properties.HasProperty(group, name) == reference.HasProperty(group, name), name
    if reference.HasProperty("phong", "diffuse_map"):
        paths = [p.GetProperty("phong", "diffuse_map") for p in (properties, reference)]
        assert Path(paths[0]).resolve() == Path(paths[1]).resolve()
    for group, name in (
        ("material", "point_contact_stiffness"),
        ("material", "hunt_crossley_dissipation"),
        ("material", "relaxation_time"),
        ("hydroelastic", "hydroelastic_modulus"),
        ("hydroelastic", "resolution_hint"),
        ("hydroelastic", "margin"),
    ):
        assert properties.HasProperty(group, name) == reference.HasProperty(group, name), name
        if reference.HasProperty(group, name):
            assert properties.GetProperty(group, name) == reference.GetProperty(group, name)
    compliance = ("hydroelastic", "compliance_type")
    assert properties.HasProperty(*compliance) == reference.HasProperty(*compliance)
    material = ("material", "coulomb_friction")
    assert properties.HasProperty(*material) == reference.HasProperty(*material)
    if reference.HasProperty(*material):
        friction, expected = properties.GetProperty(*material), reference.GetProperty(*material)
        assert friction.static_friction() == expected.static_friction()
        assert friction.dynamic_friction() == expected.dynamic_friction()


@pytest.mark.skipif(not MODELS.is_dir(), reason=f"no models at {MODELS}; set MERGANSER_MODELS")
@pytest.mark.parametrize("name", FILES)
def test_robot_file_gives_the_same_plant_as_in_pydrake(name):
    assert_same_plant(*read_both(MODELS / name))


@pytest.mark.parametrize("name", OWN_FILES)
def test_our_example_file_gives_the_same_plant_as_in_pydrake(name):
    assert_same_plant(*read_both(EXAMPLES / name))


@pytest.mark.parametrize(
    ("text", "file_type"),
    [
        (NESTED, "sdf"),
        (STATIC_WORLD, "sdf"),
        (CHANGING_URDF, "urdf"),
        (JOINTS_URDF, "urdf"),
        (JOINTS_SDF, "sdf"),
    ],
    ids=["nested", "world", "urdf", "joints urdf", "joints sdf"],
)
def test_document_that_uses_every_kind_of_pose_gives_the_same_plant_as_in_pydrake(text, file_type):
    assert_same_plant(*read_both(text=text, file_type=file_type))


@pytest.mark.parametrize("case", ODD_DOCUMENTS)
def test_document_that_is_not_by_the_book_gives_the_same_plant_as_in_pydrake(case):
    text, file_type = ODD_DOCUMENTS[case]
    assert_same_plant(*read_both(text=text, file_type=file_type))


@pytest.mark.parametrize("case", CORNERS)
def test_corner_of_the_formats_gives_the_same_plant_as_in_pydrake(case):
    text, file_type = CORNERS[case]
    assert_same_plant(*read_both(text=text, file_type=file_type))


TEXTURES = {
    "urdf": """<robot name="r"><material name="q"><texture filename="t.png"/></material><link name="a">
<visual><geometry><box size="1 1 1"/></geometry><material name="q"/></visual>
<visual><geometry><box size="1 1 1"/></geometry><material name=""><texture filename="t.png"/></material></visual>
<visual><geometry><box size="1 1 1"/></geometry><material name="z"><color rgba="1 0 0 1"/><texture filename="t.png"/>
</material></visual></link></robot>""",
    "sdf": """<sdf version="1.9"><model name="m"><link name="a"><visual name="v"><geometry><box/></geometry>
<material><diffuse>0 1 0 1</diffuse><drake:diffuse_map>t.png</drake:diffuse_map></material></visual></link>
</model></sdf>""",
}


@pytest.mark.parametrize("file_type", TEXTURES)
def test_textures_give_the_same_plant_as_in_pydrake(file_type, tmp_path):
    (tmp_path / "t.png").write_bytes(b"")
    path = tmp_path / f"textured.{file_type}"
    path.write_text(TEXTURES[file_type])
    assert_same_plant(*read_both(path))


def test_inertia_of_a_mesh_gives_the_same_plant_as_in_pydrake(tmp_path):
    """With its mass centre at the origin: pydrake takes inertias about the origin for those about the mass centre."""
    corners = ((-0.5, -1), (0.5, -1), (0.5, 1), (-0.5, 1))
    vertices = "".join(f"v {x} {y} {z}\n" for z in (-1.5, 1.5) for x, y in corners)
    faces = [line for line in CUBE_OBJ.splitlines() if line.startswith("f")]
    (tmp_path / "mesh.obj").write_text(vertices + "\n".join(faces))
    text = (
        '<sdf version="1.11"><model name="m"><link name="a"><inertial auto="true"><density>70</density></inertial>'
        '<collision name="c"><pose>1 2 3 0.1 0.2 0.3</pose><geometry><mesh><uri>package://here/mesh.obj</uri>'
        "<scale>1 2 0.5</scale></mesh></geometry></collision></link></model></sdf>"
    )
    assert_same_plant(*read_both(text=text, file_type="sdf", packages={"here": tmp_path}))


def test_mesh_file_gives_the_same_plant_as_in_pydrake(tmp_path):
    path = tmp_path / "cube.obj"
    path.write_text(CUBE_OBJ)
    assert_same_plant(*read_both(path))


@pytest.mark.parametrize("case", INCLUDES)
def test_included_models_give_the_same_plant_as_in_pydrake(case, tmp_path):
    write_included_models(tmp_path)
    assert_same_plant(*read_both(text=INCLUDES[case], file_type="sdf", packages={"models": tmp_path}))


def test_new_map_knows_the_packages_that_pydrake_knows():
    ours, theirs = PackageMap(), drake.PackageMap()
    assert ours.GetPackageNames() == [*theirs.GetPackageNames(), "merganser_models"]
    assert Path(ours.GetPath("drake")).samefile(theirs.GetPath("drake"))
    manifest = json.loads(Path(ours.ResolveUrl("package://drake/multibody/parsing/drake_models.json")).read_text())
    params = ours._defaults["drake_models"]
    assert (params.urls, params.sha256, params.strip_prefix) == tuple(
        manifest[key] for key in ("urls", "sha256", "strip_prefix")
    )


SHARE = Path(drake.PackageMap().GetPath("drake"))
SHARED_FILES = sorted(str(p.relative_to(SHARE)) for kind in ("urdf", "sdf", "obj") for p in SHARE.rglob(f"*.{kind}"))


@pytest.mark.parametrize("name", SHARED_FILES)
def test_file_that_comes_with_pydrake_gives_the_same_plant_as_in_pydrake(name):
    assert_same_plant(*read_both(SHARE / name))
