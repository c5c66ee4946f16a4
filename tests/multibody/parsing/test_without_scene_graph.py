"""A plant without SceneGraph has no use for geometry: files of meshes and textures are not looked for."""

from __future__ import annotations

import pytest

from merganser.framework import DiagramBuilder
from merganser.multibody.parsing import Parser, ParsingError
from merganser.multibody.plant import AddMultibodyPlantSceneGraph, MultibodyPlant

MESH = "package://not_here/arm.stl"
URDF_SHAPE = f'<geometry><mesh filename="{MESH}"/></geometry>'
URDF = (
    '<robot name="r"><material name="m"><texture filename="package://not_here/skin.png"/></material><link name="a">'
    f'<visual>{URDF_SHAPE}<material name="m"/></visual><collision>{URDF_SHAPE}</collision>'
    '<inertial><mass value="2"/></inertial></link></robot>'
)
SDF_SHAPE = f"<geometry><mesh><uri>{MESH}</uri></mesh></geometry>"
SDF = (
    f'<sdf version="1.9"><model name="m"><link name="a"><inertial{{}}><mass>2</mass></inertial><visual name="v">'
    f'{SDF_SHAPE}</visual><collision name="c">{SDF_SHAPE}</collision></link></model></sdf>'
)
MJCF = (
    '<mujoco><asset><mesh name="arm" file="not_here.stl"/><hfield name="hills" file="not_here.png" size="1 1 1 1"/>'
    '<texture name="skin" type="2d" file="not_here.png"/><material name="m" texture="skin"/></asset><worldbody>'
    '<geom type="hfield" hfield="hills"/><body name="a"><joint/>{}<geom type="mesh" mesh="arm" material="m"/><geom '
    'type="box" size="1 1 1" mass="2" material="m"/></body></worldbody></mujoco>'
)
WRITTEN = '<inertial pos="0 0 0" mass="2" diaginertia="1 1 1"/>'
INCLUDED = '<sdf version="1.9"><model name="m"><include><uri>{}</uri></include></model></sdf>'


@pytest.mark.parametrize(("text", "kind"), [(URDF, "urdf"), (SDF.format(""), "sdf"), (MJCF.format(WRITTEN), "xml")])
def test_missing_meshes_do_no_harm_if_unused(text, kind, caplog):
    plant = MultibodyPlant(0.0)
    Parser(plant).AddModelsFromString(text, kind)
    plant.Finalize()
    assert plant.CalcTotalMass(plant.CreateDefaultContext()) == 2.0
    assert not caplog.messages
    with pytest.raises(ParsingError, match="not_here"):
        Parser(AddMultibodyPlantSceneGraph(DiagramBuilder(), 0.0)[0]).AddModelsFromString(text, kind)


def test_a_document_read_without_geometry_is_read_again_with_geometry():
    shape = '<geometry><sphere radius="1"/></geometry>'
    text = f'<robot name="r"><link name="a"><collision>{shape}</collision></link></robot>'
    Parser(MultibodyPlant(0.0)).AddModelsFromString(text, "urdf")
    plant, _ = AddMultibodyPlantSceneGraph(DiagramBuilder(), 0.0)
    Parser(plant).AddModelsFromString(text, "urdf")
    assert plant.num_collision_geometries() == 1


def test_a_robot_included_in_an_sdf_file_needs_no_meshes_either(tmp_path):
    (tmp_path / "r.urdf").write_text(URDF)
    (tmp_path / "m.sdf").write_text(INCLUDED.format("r.urdf"))
    plant = MultibodyPlant(0.0)
    Parser(plant).AddModels(tmp_path / "m.sdf")
    assert plant.HasBodyNamed("a")


def test_a_mass_that_follows_from_a_mesh_needs_it():
    for text, kind in ((SDF.format(' auto="true"'), "sdf"), (MJCF.format(""), "xml")):
        with pytest.raises(ParsingError, match="not_here"):
            Parser(MultibodyPlant(0.0)).AddModelsFromString(text, kind)


def test_a_mesh_that_counts_for_no_mass_is_not_looked_for():
    for what in ('density="0"', 'mass="0"', 'group="5"'):
        text = MJCF.format("").replace('mesh="arm"', f'mesh="arm" {what}')
        text = text.replace("<mujoco>", '<mujoco><compiler inertiagrouprange="0 4"/>')
        plant = MultibodyPlant(0.0)
        Parser(plant).AddModelsFromString(text, "xml")
        plant.Finalize()
        assert plant.CalcTotalMass(plant.CreateDefaultContext()) == pytest.approx(2.0)


def test_a_mesh_that_is_not_described_is_an_error_even_if_invisible():
    with pytest.raises(ParsingError, match="leg"):
        Parser(MultibodyPlant(0.0)).AddModelsFromString(MJCF.format(WRITTEN).replace('mesh="arm"', 'mesh="leg"'), "xml")
