"""The commands mesh_to_model and fix_inertia."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from merganser.cli import main
from merganser.framework import DiagramBuilder
from merganser.framework.math import RollPitchYaw
from merganser.geometry import Role
from merganser.multibody import fix_inertia, mesh_to_model
from merganser.multibody.parsing import Parser
from merganser.multibody.plant import AddMultibodyPlantSceneGraph, MultibodyPlant
from merganser.multibody.tree import SpatialInertia
from tests.support.odd_models import CUBE_OBJ, SDF_WITHOUT_INERTIA, URDF_WITHOUT_INERTIA

BOX = SpatialInertia.SolidBoxWithDensity(1000.0, 1.0, 2.0, 3.0).Shift(np.array([-0.5, -1.0, -1.5]))


@pytest.fixture
def mesh(tmp_path: Path) -> Path:
    path = tmp_path / "brick.obj"
    path.write_text(CUBE_OBJ)
    return path


def body_of(path: Path, packages: dict[str, Path] | None = None) -> tuple[MultibodyPlant, SpatialInertia]:
    plant, _ = AddMultibodyPlantSceneGraph(DiagramBuilder(), 0.0)
    parser = Parser(plant)
    for name, folder in (packages or {}).items():
        parser.package_map().Add(name, folder)
    parser.AddModels(path)
    return plant, plant.get_body(1).default_spatial_inertia()


@pytest.mark.parametrize(
    ("arguments", "scale", "mass", "p_GoBo"),
    [
        ([], 1.0, 6000.0, [0.0, 0.0, 0.0]),
        (["--scale", "0.1"], 0.1, 6.0, [0.0, 0.0, 0.0]),
        (["--scale", "0.1", "--mass", "2.5", "--origin-at-com"], 0.1, 2.5, [0.05, 0.1, 0.15]),
        (["--density", "10", "--body-origin", "1,-2,0.5"], 1.0, 60.0, [1.0, -2.0, 0.5]),
    ],
)
def test_mesh_becomes_a_model(mesh, capsys, arguments, scale, mass, p_GoBo):
    assert main(["mesh_to_model", str(mesh), *arguments]) == 0
    assert capsys.readouterr().out == f"model: {mesh.with_suffix('.sdf')}\n"
    plant, M_BBo_B = body_of(mesh.with_suffix(".sdf"))
    box = SpatialInertia.SolidBoxWithMass(mass, 1.0 * scale, 2.0 * scale, 3.0 * scale)
    p_BoGcm = np.array([0.5, 1.0, 1.5]) * scale - p_GoBo
    np.testing.assert_allclose(
        M_BBo_B.CopyToFullMatrix6(), box.Shift(-p_BoGcm).CopyToFullMatrix6(), rtol=1e-9, atol=1e-9 * mass
    )
    inspector = plant._geometry.scene_graph.model_inspector()
    for role in (Role.kProximity, Role.kIllustration):
        (geometry,) = inspector.GetAllGeometryIds(role)
        np.testing.assert_allclose(inspector.GetPoseInFrame(geometry).translation(), np.negative(p_GoBo))
        assert inspector.GetShape(geometry).scale() == scale


def test_model_has_the_names_and_places_that_are_asked_for(mesh, tmp_path):
    (tmp_path / "out").mkdir()
    assert mesh_to_model.main([str(mesh), "--output-dir", str(tmp_path / "out"), "--model-name", "a & b's"]) == 0
    text = (tmp_path / "out" / "brick.sdf").read_text()
    assert "<uri>../brick.obj</uri>" in text and "name='a &amp; b&apos;s'" in text
    assert mesh_to_model.main([str(mesh), "-o", str(tmp_path / "other.sdf"), "--package", "auto"]) == 0
    assert (tmp_path / "package.xml").is_file()
    plant, _ = body_of(tmp_path / "other.sdf", {tmp_path.name: tmp_path})
    assert plant.HasBodyNamed("brick")


@pytest.mark.parametrize("place", ["elsewhere/deep/brick.sdf", "brick.sdf", "meshes/brick.sdf"])
def test_model_that_is_written_elsewhere_finds_its_mesh(mesh, tmp_path, monkeypatch, place):
    for folder in ("meshes", "elsewhere/deep"):
        (tmp_path / folder).mkdir(parents=True)
    mesh.rename(tmp_path / "meshes" / mesh.name)
    monkeypatch.chdir(tmp_path / "meshes")
    assert mesh_to_model.main([mesh.name, "-o", f"../{place}"]) == 0
    monkeypatch.chdir("/")
    plant, _ = body_of(tmp_path / place)
    assert plant.num_collision_geometries() == 1


@pytest.mark.parametrize(("text", "ending"), [
    ('<robot name="r"><link name="a"><inertial><mass value="1"/></inertial><collision name="c"><geometry><mesh '
     'scale="1 1 1" filename="brick.obj"/></geometry></collision></link></robot>', "urdf"),
    ('<sdf version="1.9"><model name="m"><link name="a"><collision name="c"><geometry><mesh><uri> brick.obj </uri>'
     "</mesh></geometry></collision></link></model></sdf>", "sdf"),
])  # fmt: skip
def test_fixed_file_that_is_written_elsewhere_finds_its_mesh(mesh, tmp_path, text, ending):
    (tmp_path / "out").mkdir()
    (tmp_path / f"m.{ending}").write_text(text)
    assert fix_inertia.main([str(tmp_path / f"m.{ending}"), str(tmp_path / "out" / f"n.{ending}")]) == 0
    plant, M_BBo_B = body_of(tmp_path / "out" / f"n.{ending}")
    assert plant.num_collision_geometries() == 1
    np.testing.assert_allclose(M_BBo_B.get_com(), [0.5, 1.0, 1.5], rtol=1e-4)


def test_package_above_the_mesh_is_used(mesh, tmp_path):
    (tmp_path / "deep").mkdir()
    mesh.rename(tmp_path / "deep" / mesh.name)
    (tmp_path / "package.xml").write_text("<package><name>bricks</name></package>")
    model = mesh_to_model.make_model(tmp_path / "deep" / mesh.name, package=str(tmp_path / "package.xml"))
    assert "<uri>package://bricks/deep/brick.obj</uri>" in model.read_text()


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--scale", "0"], "scale must be positive"),
        (["--scale", "-1"], "scale must be positive"),
        (["--density", "-1"], "density"),
        (["--mass", "-1"], "mass"),
        (["--package", "/nowhere/package.xml"], "existing package.xml"),
        (["--package", "some"], "'none', 'auto'"),
        (["--output-dir", "/nowhere"], "existing folder"),
        (["-o", "/nowhere/x.sdf"], "/nowhere/x.sdf"),
    ],
)
def test_impossible_models_are_refused(mesh, capsys, arguments, words):
    assert main(["mesh_to_model", str(mesh), *arguments]) == 1
    assert words in capsys.readouterr().err
    assert not mesh.with_suffix(".sdf").exists()


def test_a_mesh_of_another_unit_gives_a_warning(mesh, capsys):
    mesh_to_model.main([str(mesh), "--scale", "1000"])
    assert "Is it in metres? See --scale." in capsys.readouterr().err


def test_open_mesh_has_no_model(mesh, capsys):
    mesh.write_text("v 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 3\n")
    assert mesh_to_model.main([str(mesh)]) == 1
    assert "positive" in capsys.readouterr().err


# ---------------------------------------------------------------------- fix_inertia


def fixed(path: Path, *arguments: str) -> str:
    output = path.with_name(f"fixed{path.suffix}")
    assert main(["fix_inertia", str(path), str(output), *arguments]) == 0
    return output.read_text()


def test_mass_is_spread_over_the_shapes(tmp_path, mesh):
    path = tmp_path / "m.urdf"
    path.write_text(URDF_WITHOUT_INERTIA)
    text = fixed(path)
    plant, _ = body_of(tmp_path / "fixed.urdf")

    def inertia(name: str) -> np.ndarray:
        return plant.GetBodyByName(name).default_spatial_inertia().CopyToFullMatrix6()

    np.testing.assert_allclose(inertia("f"), BOX.CopyToFullMatrix6() / 2000.0, rtol=1e-4, atol=1e-4)  # of 3 kg
    R_BG = RollPitchYaw([0.1, 0.2, 0.3]).ToRotationMatrix()
    box = SpatialInertia.SolidBoxWithMass(3.0, 1.0, 2.0, 3.0).ReExpress(R_BG).Shift(np.array([-1.0, 0.0, 0.0]))
    np.testing.assert_allclose(inertia("b"), box.CopyToFullMatrix6(), rtol=1e-4, atol=1e-4)  # and not the visual sphere
    assert plant.GetBodyByName("a").default_mass() == 0.0
    # All that is outside of <inertial> is as it was.
    assert "  <!-- comment -->\n" in text and "<!-- odd -->" in text
    unchanged = '  <link name="e">\n    <inertial>\n      <origin xyz="1 2 3" rpy="1 0 0"/>'
    assert unchanged in text and '  <link name="d"/>\n' in text


def test_roles_are_looked_through_in_order(tmp_path, mesh):
    path = tmp_path / "m.urdf"
    path.write_text(URDF_WITHOUT_INERTIA)
    text = fixed(path, "--geom_inertia_role_order", "illustration")
    plant, _ = body_of(tmp_path / "fixed.urdf")
    sphere = SpatialInertia.SolidSphereWithMass(3.0, 1.0).CopyToFullMatrix6()
    np.testing.assert_allclose(
        plant.GetBodyByName("b").default_spatial_inertia().CopyToFullMatrix6(), sphere, rtol=1e-4
    )
    assert '<link name="c">\n    <inertial/>' in text


def test_nested_models_of_sdformat_are_found(tmp_path):
    path = tmp_path / "m.sdf"
    path.write_text(SDF_WITHOUT_INERTIA)
    text = fixed(path)
    plant, _ = body_of(tmp_path / "fixed.sdf")
    inner = plant.GetBodyByName("a", plant.GetModelInstanceByName("m::n"))
    np.testing.assert_allclose(inner.default_com(), [0.5, 0.0, 0.0])
    assert inner.default_mass() == 2.0
    outer = plant.GetBodyByName("a", plant.GetModelInstanceByName("m"))
    np.testing.assert_allclose(outer.default_com(), [1.0, 2.0, 3.0])
    assert fixed(tmp_path / "fixed.sdf") == text  # once for all


def test_file_may_be_changed_in_place_or_printed(tmp_path, capsys):
    path = tmp_path / "m.sdf"
    path.write_bytes(SDF_WITHOUT_INERTIA.replace("\n", "\r\n").encode())
    assert fix_inertia.main([str(path)]) == 0
    printed = capsys.readouterr().out
    assert path.read_bytes() == SDF_WITHOUT_INERTIA.replace("\n", "\r\n").encode()
    assert fix_inertia.main([str(path), "--in_place"]) == 0
    assert path.read_bytes().decode() == printed


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("<robot", "m.urdf"),
        ('<robot name="r"><!--- a -- b ---><link name="a"/></robot>', "m.urdf:1: not well-formed"),
        (
            '<robot name="r"><link name="a"><collision name="g"><geometry><plane/></geometry></collision></link>'
            "</robot>",
            "Link 'a', geometry 'r::g': CalcSpatialInertia() does not offer a HalfSpace",
        ),
    ],
)
def test_files_that_cannot_be_fixed_are_refused(tmp_path, capsys, text, words):
    path = tmp_path / "m.urdf"
    path.write_text(text)
    assert main(["fix_inertia", str(path), "--in_place"]) == 1
    assert words in capsys.readouterr().err
    assert path.read_text() == text


def test_files_of_other_formats_are_not_taken_for_fixed_ones(tmp_path, capsys):
    path = tmp_path / "m.xml"
    path.write_text("<mujoco/>")
    assert main(["fix_inertia", str(path)]) == 1
    assert f"{path}: a <mujoco> is neither URDF nor SDFormat." in capsys.readouterr().err


@pytest.mark.parametrize("module", ["mesh_to_model", "fix_inertia"])
def test_tools_are_modules_as_in_pydrake(module):
    command = [sys.executable, "-m", f"merganser.multibody.{module}", "--help"]
    assert "usage:" in subprocess.run(command, capture_output=True, text=True, check=True).stdout
