"""The same model files read by merganser and by pydrake give the same plant."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest
from merganser.multibody.parsing import Parser
from merganser.multibody.plant.coulomb_friction import CoulombFriction
from recording_plant import RecordingPlant

pydrake = pytest.importorskip("pydrake", reason="pydrake is not installed (extra `reference`)")

from pydrake.geometry import Role  # noqa: E402
from pydrake.multibody.parsing import Parser as DrakeParser  # noqa: E402
from pydrake.multibody.plant import AddMultibodyPlantSceneGraph  # noqa: E402
from pydrake.multibody.tree import BodyIndex, FrameIndex, JointActuatorIndex, ModelInstanceIndex  # noqa: E402
from pydrake.systems.framework import DiagramBuilder  # noqa: E402

pytestmark = pytest.mark.reference

REPOSITORY = Path(__file__).parents[2]
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


def read_both(file: Path | None = None, text: str = "", file_type: str = ""):
    """The recorded merganser plant, the pydrake plant and its scene graph."""
    ours = RecordingPlant()
    theirs, scene_graph = AddMultibodyPlantSceneGraph(DiagramBuilder(), 0.001)
    parsers = (Parser(ours), DrakeParser(theirs))
    for parser in parsers:
        package_map = parser.package_map()
        if package_map.Contains("drake_models"):
            package_map.Remove("drake_models")
        if MODELS.is_dir():
            package_map.Add("drake_models", str(MODELS))
        if file is not None:
            parser.AddModels(str(file))
        else:
            parser.AddModelsFromString(text, file_type)
    groups, expected_groups = (parser.GetCollisionFilterGroups() for parser in parsers)
    assert groups.groups() == expected_groups.groups()
    assert groups.exclusion_pairs() == expected_groups.exclusion_pairs()
    return ours, theirs, scene_graph


def assert_same_plant(ours: RecordingPlant, theirs, scene_graph) -> None:
    names = [theirs.GetModelInstanceName(ModelInstanceIndex(i)) for i in range(theirs.num_model_instances())]
    assert ours.instance_names == names
    assert_same_bodies(ours, theirs)
    assert_same_frames(ours, theirs)
    assert_same_joints(ours, theirs)
    assert_same_actuators(ours, theirs)
    assert_same_geometries(ours, theirs, scene_graph)


def assert_same_pose(X, X_reference) -> None:
    np.testing.assert_allclose(X.GetAsMatrix4(), X_reference.GetAsMatrix4(), atol=TOLERANCE)


def assert_same_bodies(ours, theirs) -> None:
    assert len(ours.bodies) == theirs.num_bodies()
    for i, body in enumerate(ours.bodies[1:], start=1):
        reference = theirs.get_body(BodyIndex(i))
        assert (body.name(), body.model_instance()) == (reference.name(), int(reference.model_instance()))
        np.testing.assert_allclose(
            body.default_spatial_inertia().CopyToFullMatrix6(),
            reference.default_spatial_inertia().CopyToFullMatrix6(),
            rtol=1e-12,
            atol=1e-15,
        )
        if X_WB := ours.default_poses.get((int(body.model_instance()), body.name())):
            assert_same_pose(X_WB, theirs.GetDefaultFloatingBaseBodyPose(reference))


def assert_same_frames(ours, theirs) -> None:
    references = {}
    for i in range(theirs.num_frames()):
        frame = theirs.get_frame(FrameIndex(i))
        references[int(frame.model_instance()), frame.name()] = frame
    assert {(int(f.model_instance()), f.name()) for f in ours.frames} == set(references)
    for frame in ours.frames:
        reference = references[int(frame.model_instance()), frame.name()]
        assert frame.body().name() == reference.body().name()
        assert_same_pose(frame.GetFixedPoseInBodyFrame(), reference.GetFixedPoseInBodyFrame())


def assert_same_joints(ours, theirs) -> None:
    references = [theirs.get_joint(index) for index in theirs.GetJointIndices()]
    assert [j.name() for j in ours.joints] == [j.name() for j in references]
    for joint, reference in zip(ours.joints, references):
        assert joint.type_name() == reference.type_name()
        assert joint.model_instance() == int(reference.model_instance())
        assert joint.frame_on_parent().name() == reference.frame_on_parent().name()
        assert joint.frame_on_child().name() == reference.frame_on_child().name()
        for what in ("position", "velocity", "acceleration"):
            for side in ("lower", "upper"):
                limits = getattr(joint, f"{what}_{side}_limits")()
                np.testing.assert_array_equal(limits, getattr(reference, f"{what}_{side}_limits")())
        np.testing.assert_array_equal(joint.default_damping_vector(), reference.default_damping_vector())
        if joint.type_name() == "weld":
            assert_same_pose(joint.X_FM(), reference.X_FM())
        else:
            kind = {"revolute": "revolute_axis", "prismatic": "translation_axis"}[joint.type_name()]
            np.testing.assert_allclose(getattr(joint, kind)(), getattr(reference, kind)(), atol=TOLERANCE)


def assert_same_actuators(ours, theirs) -> None:
    assert len(ours.actuators) == theirs.num_actuators()
    for i, actuator in enumerate(ours.actuators):
        reference = theirs.get_joint_actuator(JointActuatorIndex(i))
        assert (actuator.name(), actuator.joint().name()) == (reference.name(), reference.joint().name())
        assert actuator.effort_limit() == reference.effort_limit()
        assert actuator.default_rotor_inertia() == reference.default_rotor_inertia()
        assert actuator.default_gear_ratio() == reference.default_gear_ratio()


def assert_same_geometries(ours, theirs, scene_graph) -> None:
    inspector = scene_graph.model_inspector()
    for role, recorded in ((Role.kIllustration, ours.visuals), (Role.kProximity, ours.collisions)):
        references = {}
        for geometry_id in inspector.GetAllGeometryIds(role):
            body = theirs.GetBodyFromFrameId(inspector.GetFrameId(geometry_id))
            name = inspector.GetName(geometry_id).rpartition("::")[2]
            references[int(body.index()), name] = geometry_id
        bodies = {id(body): i for i, body in enumerate(ours.bodies)}
        assert {(bodies[id(body)], name) for body, _, _, name, _ in recorded} == set(references)
        for body, X_BG, shape, name, properties in recorded:
            geometry_id = references[bodies[id(body)], name]
            assert_same_pose(X_BG, inspector.GetPoseInFrame(geometry_id))
            assert_same_shape(shape, inspector.GetShape(geometry_id))
            assert_same_properties(properties, inspector.GetProperties(geometry_id, role))


def assert_same_shape(shape, reference) -> None:
    kind = type(shape).__name__
    assert kind == type(reference).__name__
    for measure in ("width", "depth", "height", "radius", "length", "a", "b", "c"):
        if hasattr(reference, measure) and kind not in ("Mesh", "Convex"):
            assert getattr(shape, measure)() == getattr(reference, measure)()
    if kind in ("Mesh", "Convex"):
        assert Path(shape.source().path()) == Path(reference.source().path())
        np.testing.assert_array_equal(shape.scale3(), reference.scale3())


def assert_same_properties(properties, reference) -> None:
    """Colour and contact; pydrake stores the colours of SDF files in single precision."""
    if reference.HasProperty("phong", "diffuse"):
        colors = [p.GetProperty("phong", "diffuse").rgba for p in (properties, reference)]
        np.testing.assert_allclose(colors[0], colors[1], atol=1e-7)
    else:
        assert not properties.HasProperty("phong", "diffuse")
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
    if reference.HasProperty("material", "coulomb_friction"):
        # pydrake's plant fills in its default of 1 where the file is silent; ours does so too, later.
        expected = reference.GetProperty("material", "coulomb_friction")
        friction = properties.GetPropertyOrDefault("material", "coulomb_friction", CoulombFriction(1.0, 1.0))
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
    [(NESTED, "sdf"), (STATIC_WORLD, "sdf"), (CHANGING_URDF, "urdf")],
    ids=["nested", "world", "urdf"],
)
def test_document_that_uses_every_kind_of_pose_gives_the_same_plant_as_in_pydrake(text, file_type):
    assert_same_plant(*read_both(text=text, file_type=file_type))
