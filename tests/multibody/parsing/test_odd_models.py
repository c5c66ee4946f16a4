"""Unusual files are read as they are meant; a warning names what has no effect."""

from __future__ import annotations

import numpy as np
import pytest

from merganser.analysis import Simulator
from merganser.framework import DiagramBuilder
from merganser.framework.math import RigidTransform
from merganser.geometry import Role
from merganser.multibody.parsing import Parser, ParsingError, ProcessModelDirectives
from merganser.multibody.parsing.model_directives import LoadModelDirectivesFromString
from merganser.multibody.plant import AddMultibodyPlantSceneGraph, MultibodyPlant
from merganser.multibody.tree import SpatialInertia
from tests.support.odd_models import CUBE_OBJ, ODD_DOCUMENTS

SILENT = (
    "nested", "nothing", "ignored",
    "declaration", "encoding", "comment", "ampersand", "material", "sphere", "fixed joint with", "two transmissions",
    "empty",
)  # fmt: skip


def read(case: str) -> MultibodyPlant:
    plant, _ = AddMultibodyPlantSceneGraph(DiagramBuilder(), 0.0)
    Parser(plant).AddModelsFromString(*ODD_DOCUMENTS[case])
    return plant


@pytest.mark.parametrize("case", ODD_DOCUMENTS)
def test_odd_document_is_read_with_a_warning_where_something_has_no_effect(case, caplog):
    plant = read(case)
    assert plant.num_model_instances() > 2
    if any(word in case for word in SILENT):
        assert caplog.text == ""
    else:
        file_type = ODD_DOCUMENTS[case][1]
        assert f"<literal-string>.{file_type}:" in caplog.text


def test_lines_are_counted_from_before_the_declaration():
    text = "\n\n<?xml version='1.0'?>\n<!-- \n -- -->\n<robot name='r'><link/></robot>"
    with pytest.raises(ParsingError, match=r"urdf:6: "):
        Parser(MultibodyPlant(0.0)).AddModelsFromString(text, "urdf")


@pytest.mark.parametrize(
    ("declared", "encoding"),
    [("", "utf-8"), ("", "latin-1"), ("ISO-8859-1", "latin-1"), ("", "utf-16"), ("x", "utf-8")],
)
def test_names_are_read_in_the_encoding_of_the_file(tmp_path, declared, encoding):
    declaration = f'<?xml version="1.0" encoding="{declared}"?>' if declared else ""
    path = tmp_path / "r.urdf"
    path.write_bytes(f'{declaration}<robot name="r"><link name="är"/></robot>'.encode(encoding))
    plant = MultibodyPlant(0.0)
    Parser(plant).AddModels(path)
    assert plant.HasBodyNamed("är")


def test_a_texture_without_a_color_is_reported_and_leaves_the_color_open(caplog):
    plant, scene_graph = AddMultibodyPlantSceneGraph(DiagramBuilder(), 0.0)
    text = ODD_DOCUMENTS["empty material"][0].replace(
        "<material/>", "<material name='wood'><texture filename='wood.png'/></material>"
    )
    Parser(plant).AddModelsFromString(text, "urdf")
    assert "the texture of material 'wood' is not used" in caplog.text
    inspector = scene_graph.model_inspector()
    (visual,) = inspector.GetAllGeometryIds(Role.kIllustration)
    assert not inspector.GetIllustrationProperties(visual).HasProperty("phong", "diffuse")


def test_impossible_inertia_becomes_that_of_a_ball_of_water():
    plant = read("moments against the triangle inequality")
    radius = (3.0 * 8.0 / (4.0 * np.pi * 1000.0)) ** (1.0 / 3.0)
    expected = SpatialInertia.SolidSphereWithMass(8.0, radius).Shift(np.array([-1.0, -2.0, -3.0]))
    M_BBo_B = plant.GetBodyByName("a").default_spatial_inertia()
    np.testing.assert_allclose(M_BBo_B.CopyToFullMatrix6(), expected.CopyToFullMatrix6(), rtol=1e-12)


def test_two_actuators_of_a_joint_add_up():
    plant = MultibodyPlant(0.0)
    inertial = '<inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1"/></inertial>'
    text = ODD_DOCUMENTS["two transmissions"][0].replace('<link name="b"/>', f'<link name="b">{inertial}</link>')
    Parser(plant).AddModelsFromString(text.replace('<link name="c"/>', ""), "urdf")
    plant.WeldFrames(plant.world_frame(), plant.GetFrameByName("a"))
    plant.Finalize()
    context = plant.CreateDefaultContext()
    plant.get_actuation_input_port().FixValue(context, [2.0, 3.0])
    vdot = plant.get_generalized_acceleration_output_port().Eval(context)
    np.testing.assert_allclose(vdot, [5.0])


def test_point_touches_the_ground_as_a_sphere_does():
    builder = DiagramBuilder()
    plant, _ = AddMultibodyPlantSceneGraph(builder, 0.001)
    text = """<robot name="r"><link name="world"><collision><origin xyz="0 0 -0.5"/>
<geometry><box size="9 9 1"/></geometry></collision></link>
<link name="a"><inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1"/></inertial>
<collision><geometry><sphere radius="0"/></geometry></collision></link></robot>"""
    Parser(plant).AddModelsFromString(text, "urdf")
    plant.Finalize()
    simulator = Simulator(builder.Build())
    context = plant.GetMyContextFromRoot(simulator.get_context())
    body = plant.GetBodyByName("a")
    plant.SetFreeBodyPose(context, body, RigidTransform([0.0, 0.0, 0.01]))
    simulator.AdvanceTo(0.5)
    z = plant.EvalBodyPoseInWorld(context, body).translation()[2]
    assert -1e-3 < z < 0.0


# ---------------------------------------------------------------------- what Drake reads, and merganser does not


def read_text(text: str, file_type: str, is_strict: bool = False) -> MultibodyPlant:
    plant, _ = AddMultibodyPlantSceneGraph(DiagramBuilder(), 0.0)
    parser = Parser(plant)
    if is_strict:
        parser.SetStrictParsing()
    parser.AddModelsFromString(text, file_type)
    return plant


UNKNOWN = {
    "urdf": """<robot name="r"><link name="a" drake:mood="good"><visual><geometry><box size="1 1 1"/></geometry>
<drake:perception_properties enabled="false"/></visual></link>
<drake:tendon><drake:anything/></drake:tendon>
<link name="b"><collision><geometry><box size="1 1 1"/></geometry>
<drake:proximity_properties><drake:mu_statik value="1"/><drake:mu_dynamic value="1"/></drake:proximity_properties>
</collision></link><drake:tendon/></robot>""",
    "sdf": """<sdf version="1.9"><model name="m"><link name="a" drake:mood="good"/>

<model name="n"><drake:tendon><drake:anything/></drake:tendon><link name="b">
<collision name="c"><geometry><box/></geometry>
<drake:proximity_properties><drake:mu_statik>1</drake:mu_statik></drake:proximity_properties></collision></link></model>
<drake:tendon/></model></sdf>""",
}


@pytest.mark.parametrize("file_type", UNKNOWN)
def test_each_unknown_tag_of_drake_is_reported_once_with_its_first_line(file_type, caplog):
    read_text(UNKNOWN[file_type], file_type)
    assert [record.getMessage() for record in caplog.records] == [
        f"<literal-string>.{file_type}:1: attribute 'drake:mood' is not supported; it has no effect.",
        f"<literal-string>.{file_type}:3: <drake:tendon> is not supported; it has no effect (nor have 1 others below).",
        f"<literal-string>.{file_type}:5: <drake:mu_statik> is not supported; it has no effect.",
    ]
    with pytest.raises(ParsingError, match=r":1: attribute 'drake:mood'.*strict"):
        read_text(UNKNOWN[file_type], file_type, is_strict=True)


def test_visuals_have_the_roles_that_drake_s_tags_leave_them(caplog):
    def off(role: str) -> str:
        return f'<drake:{role}_properties enabled="false"/>'

    people, cameras = off("illustration"), off("perception")
    visuals = {"all": "", "for_cameras": people, "for_people": cameras, "for_none": people + cameras}
    text = "".join(
        f'<visual name="{name}"><geometry><box size="1 1 1"/></geometry>{tags}</visual>'
        for name, tags in visuals.items()
    )
    plant, scene_graph = AddMultibodyPlantSceneGraph(DiagramBuilder(), 0.0)
    Parser(plant).AddModelsFromString(f'<robot name="r"><link name="a">{text}</link></robot>', "urdf")
    inspector = scene_graph.model_inspector()
    roles = {
        role: [inspector.GetName(id).removeprefix("r::") for id in inspector.GetAllGeometryIds(role)]
        for role in (Role.kIllustration, Role.kPerception)
    }
    assert roles == {Role.kIllustration: ["all", "for_people"], Role.kPerception: ["all", "for_cameras"]}
    assert "<visual name=\"for_none\"> is neither for people nor for cameras" in caplog.text


# ---------------------------------------------------------------------- meshes


def test_obj_file_is_a_body_of_water_with_its_geometry(tmp_path):
    path = tmp_path / "cube.obj"
    path.write_text(CUBE_OBJ)
    plant, scene_graph = AddMultibodyPlantSceneGraph(DiagramBuilder(), 0.0)
    assert Parser(plant, "pre").AddModels(path) == [2]
    assert plant.GetModelInstanceName(2) == "pre::brick"  # after the last object in the file
    expected = SpatialInertia.SolidBoxWithDensity(1000.0, 1.0, 2.0, 3.0).Shift(np.array([-0.5, -1.0, -1.5]))
    M_BBo_B = plant.GetBodyByName("brick").default_spatial_inertia()
    np.testing.assert_allclose(M_BBo_B.CopyToFullMatrix6(), expected.CopyToFullMatrix6(), rtol=1e-12, atol=1e-9)
    inspector = scene_graph.model_inspector()
    names = {role: [inspector.GetName(g) for g in inspector.GetAllGeometryIds(role)] for role in (
        Role.kIllustration, Role.kProximity
    )}  # fmt: skip
    assert names == {Role.kIllustration: ["pre::brick::visual"], Role.kProximity: ["pre::brick::collision"]}


def test_obj_file_without_names_is_called_after_the_file(tmp_path):
    path = tmp_path / "my cube.v2.OBJ"
    path.write_text("\n".join(line for line in CUBE_OBJ.splitlines() if not line.startswith("o ")))
    plant = MultibodyPlant(0.0)
    Parser(plant).AddModels(path)
    assert plant.HasBodyNamed("my cube.v2", plant.GetModelInstanceByName("my cube.v2"))


def test_add_model_names_the_body_of_a_mesh(tmp_path):
    (tmp_path / "cube.obj").write_text(CUBE_OBJ)
    plant = MultibodyPlant(0.0)
    text = f"directives:\n- add_model: {{ name: a::b, file: file://{tmp_path}/cube.obj }}"
    ProcessModelDirectives(LoadModelDirectivesFromString(text), plant)
    assert plant.HasBodyNamed("b", plant.GetModelInstanceByName("a::b"))


@pytest.mark.parametrize(
    ("contents", "words"),
    [("", "empty"), ("v 0 0 0", "no faces"), ("v 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 3", "positive")],
)
def test_obj_file_without_a_volume_is_refused(tmp_path, contents, words):
    path = tmp_path / "flat.obj"
    path.write_text(contents)
    with pytest.raises(ParsingError, match=rf"flat\.obj: .*{words}"):
        Parser(MultibodyPlant(0.0)).AddModels(path)


def test_mesh_as_a_string_is_refused():
    with pytest.raises(ParsingError, match="write it to a file"):
        Parser(MultibodyPlant(0.0)).AddModelsFromString(CUBE_OBJ, "obj")
