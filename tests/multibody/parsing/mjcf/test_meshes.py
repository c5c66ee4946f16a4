"""Meshes, height fields and pictures of MJCF files: which files are read, and what they weigh."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from merganser.framework import DiagramBuilder
from merganser.framework.math import RigidTransform
from merganser.geometry import HeightField, Mesh, SceneGraph, TerrainMesh
from merganser.multibody.parsing import Parser, ParsingError
from merganser.multibody.parsing.mjcf.mass import mesh_mass, shell_mass, solid_mass
from merganser.multibody.plant import AddMultibodyPlantSceneGraph, MultibodyPlant
from tests.support.mjcf_documents import write_files


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    write_files(tmp_path)
    return tmp_path


def read(folder: Path, inside: str, assets: str = "", compiler: str = 'meshdir="meshes"') -> MultibodyPlant:
    (folder / "m.xml").write_text(
        f'<mujoco model="m"><compiler {compiler}/>\n<asset>{assets}</asset>\n<worldbody>{inside}</worldbody></mujoco>'
    )
    plant, _ = AddMultibodyPlantSceneGraph(DiagramBuilder(), 0.0)
    Parser(plant).AddModels(folder / "m.xml")
    return plant


def body(mesh: str, more: str = "") -> str:
    return f'<body name="b"><joint/><geom type="mesh" mesh="{mesh}" {more}/></body>'


# The tetrahedron with corners 0, (1, 0, 0), (0, 2, 0), (0, 0, 3) has the volume 1 and its centre at a quarter of these.
@pytest.mark.parametrize(
    "asset",
    [
        '<mesh name="t" file="tetrahedron.stl"/>',
        '<mesh name="t" file="tetrahedron.msh"/>',
        '<mesh name="t" vertex="0 0 0 1 0 0 0 2 0 0 0 3"/>',
        '<mesh name="t" vertex="0 0 0 1 0 0 0 2 0 0 0 3" face="0 2 1 0 1 3 0 3 2 1 2 3" inertia="exact"/>',
        '<mesh name="t" vertex="0 0 0 0.5 0 0 0 1 0 0 0 1" scale="2 2 3" inertia="convex"/>',
        '<mesh name="t" file="tetrahedron.stl" content_type="model/stl"/>',
    ],
)
def test_tetrahedron_weighs_the_same_whatever_it_is_made_of(folder, asset):
    plant = read(folder, body("t", 'density="6"'), asset)
    link = plant.GetBodyByName("b")
    assert link.default_mass() == pytest.approx(6.0, rel=1e-12)
    np.testing.assert_allclose(link.default_com(), [0.25, 0.5, 0.75], rtol=1e-12)


def test_reference_pose_moves_the_vertices_and_what_they_weigh(folder):
    asset = '<mesh name="t" file="tetrahedron.stl" refpos="1 0 0" refquat="1 1 0 0" scale="2 1 1"/>'
    plant = read(folder, body("t", 'pos="0 0 5"'), asset)
    # (x, y, z) goes to (2 (x - 1), z, -y).
    np.testing.assert_allclose(plant.GetBodyByName("b").default_com(), [2.0 * (0.25 - 1.0), 0.75, 5.0 - 0.5])


def test_faces_that_are_hidden_inside_count_for_legacy_meshes_only():
    rng = np.random.default_rng(0)
    corners = rng.normal(size=(4, 3))
    faces = np.array([[0, 2, 1], [0, 1, 3], [0, 3, 2], [1, 2, 3]])
    triangles = corners[faces] if np.linalg.det(corners[1:] - corners[0]) > 0 else corners[faces[:, ::-1]]
    legacy, exact = (mesh_mass(triangles, kind) for kind in ("legacy", "exact"))
    volume = abs(np.linalg.det(corners[1:] - corners[0])) / 6.0
    assert exact.mass == pytest.approx(volume) and legacy.mass == pytest.approx(volume)
    np.testing.assert_allclose(legacy.I_SScm_S, exact.I_SScm_S)
    dent = np.concatenate([triangles, triangles[:1], triangles[:1, ::-1]])  # a face twice, once inside out
    assert mesh_mass(dent, "exact").mass == pytest.approx(volume)
    assert mesh_mass(dent, "legacy").mass > 1.1 * volume


@pytest.mark.parametrize(
    ("kind", "size"), [("sphere", [0.3]), ("box", [0.1, 0.2, 0.3]), ("cylinder", [0.1, 0.3]), ("capsule", [0.1, 0.3])]
)
def test_a_shell_is_what_a_thin_layer_adds_to_a_solid(kind, size):
    layer = 1e-6
    inner, outer = solid_mass(kind, size), solid_mass(kind, _thicker(kind, size, layer))
    shell = shell_mass(kind, size)
    assert (outer.mass - inner.mass) / layer == pytest.approx(shell.mass, rel=1e-4)
    np.testing.assert_allclose((outer.I_SScm_S - inner.I_SScm_S) / layer, shell.I_SScm_S, rtol=1e-4, atol=1e-9)


def _thicker(kind: str, size: list[float], layer: float) -> list[float]:
    return [size[0] + layer, size[1]] if kind == "capsule" else [length + layer for length in size]


def test_meshes_keep_their_files_and_those_without_get_one_in_memory(folder):
    plant, scene_graph = AddMultibodyPlantSceneGraph(DiagramBuilder(), 0.01)
    Parser(plant).AddModels(folder / "meshes.xml")
    shapes = _shapes(plant, scene_graph, plant.GetBodyByName("body1"))
    assert shapes[0].source().path() == folder / "meshes" / "cube.obj"
    np.testing.assert_array_equal(shapes[0].scale3(), [0.1, 0.2, -0.3])
    (own,) = _shapes(plant, scene_graph, plant.GetBodyByName("body3"))
    assert own.source().is_in_memory()


def _shapes(plant: MultibodyPlant, scene_graph: SceneGraph, link) -> list[Mesh]:
    inspector = scene_graph.model_inspector()
    return [inspector.GetShape(g) for g in plant.GetCollisionGeometriesForBody(link)]


def test_geoms_with_a_mesh_are_terrain_where_a_text_names_them(folder, caplog):
    """The file stays one that MuJoCo reads; there the mesh touches at its hull, as it does here without the text."""
    plant, scene_graph = AddMultibodyPlantSceneGraph(DiagramBuilder(), 0.01)
    mesh = '<mesh name="t" vertex="0 0 0 1 0 0 0 2 0 0 0 3" face="0 2 1 0 1 3 0 3 2 1 2 3"/>'
    geoms = "".join(f'<geom name="{name}" type="mesh" mesh="t"/>' for name in ("hills", "stone"))
    (folder / "m.xml").write_text(
        f'<mujoco><custom><text name="merganser:terrain" data="hills valley"/></custom><asset>{mesh}</asset>'
        f"<worldbody>{geoms}</worldbody></mujoco>"
    )
    Parser(plant).AddModels(folder / "m.xml")
    shapes = _shapes(plant, scene_graph, plant.world_body())
    assert [type(shape) for shape in shapes] == [TerrainMesh, Mesh]
    assert "<text> merganser:terrain names 'valley', which is no geom with a mesh" in caplog.text
    assert "'hills'" not in caplog.text and "<custom>" not in caplog.text


def test_a_height_field_is_normalized_and_its_first_row_is_the_last_along_y(folder):
    plant, scene_graph = AddMultibodyPlantSceneGraph(DiagramBuilder(), 0.01)
    field = '<hfield name="h" nrow="2" ncol="3" elevation="0 1 2 3 4 10" size="1 2 3 .5"/>'
    (folder / "m.xml").write_text(
        f'<mujoco><asset>{field}</asset><worldbody><geom type="hfield" hfield="h"/></worldbody></mujoco>'
    )
    Parser(plant).AddModels(folder / "m.xml")
    (shape,) = _shapes(plant, scene_graph, plant.world_body())
    assert isinstance(shape, HeightField) and (shape.width(), shape.depth(), shape.base()) == (2.0, 4.0, 0.5)
    np.testing.assert_allclose(shape.heights(), 3.0 * np.array([[3, 4, 10], [0, 1, 2]]) / 10.0)


def test_heights_come_from_pictures_and_binary_files_too(folder):
    (folder / "meshes" / "hills.bin").write_bytes(
        np.array([2, 2], "<i4").tobytes() + np.array([0.0, 1.0, 2.0, 4.0], "<f4").tobytes()
    )
    text = (folder / "meshes.xml").read_text()
    (folder / "binary.xml").write_text(text.replace("hills.png", "hills.bin"))
    expected = {"meshes": 0.5 * np.array([[150, 200, 255], [0, 50, 100]]) / 255.0, "binary": [[0, 0.125], [0.25, 0.5]]}
    for name, heights in expected.items():
        plant, scene_graph = AddMultibodyPlantSceneGraph(DiagramBuilder(), 0.01)
        Parser(plant).AddModels(folder / f"{name}.xml")
        (shape,) = _shapes(plant, scene_graph, plant.world_body())
        np.testing.assert_allclose(shape.heights(), heights)
        assert (shape.width(), shape.depth(), shape.base()) == (2.0, 2.0, 0.1)


def test_pictures_of_materials_go_to_the_phong_properties(folder, caplog):
    plant, scene_graph = AddMultibodyPlantSceneGraph(DiagramBuilder(), 0.01)
    Parser(plant).AddModels(folder / "meshes.xml")
    inspector = scene_graph.model_inspector()
    (visual,) = plant.GetVisualGeometriesForBody(plant.GetBodyByName("body1"))
    assert inspector.GetIllustrationProperties(visual).GetProperty("phong", "diffuse_map") == str(folder / "wood.png")
    (folder / "wood.png").unlink()
    Parser(AddMultibodyPlantSceneGraph(DiagramBuilder(), 0.01)[0]).AddModels(folder / "meshes.xml")
    assert "<texture> is not drawn: file " in caplog.text


def test_primitives_are_fitted_to_meshes(folder):
    corners = "-1 -2 -3 1 -2 -3 -1 2 -3 1 2 -3 -1 -2 3 1 -2 3 -1 2 3 1 2 3"
    asset = f'<mesh name="brick" vertex="{corners}"/>'
    inside = '<body name="b"><joint/><geom type="box" mesh="brick" pos="1 0 0" density="1"/></body>'
    for fit in ("true", "false"):  # a box is its own box of equal inertia
        link = read(folder, inside, asset, f'fitaabb="{fit}"').GetBodyByName("b")
        assert link.default_mass() == pytest.approx(2.0 * 4.0 * 6.0)
        np.testing.assert_allclose(link.default_com(), [1.0, 0.0, 0.0], atol=1e-12)
        moments = link.default_spatial_inertia().CalcRotationalInertia().ShiftToCenterOfMass(48.0, [1.0, 0.0, 0.0])
        np.testing.assert_allclose(moments.get_moments(), 48.0 / 3.0 * np.array([4 + 9, 1 + 9, 1 + 4]))


@pytest.mark.parametrize(
    ("asset", "words"),
    [
        ('<mesh name="t" file="nowhere.stl"/>', "does not exist. In "),
        ('<mesh name="t" file="/etc/hostname"/>', "expected one that ends in .stl, .obj, .msh"),
        ('<mesh name="t" file="hills.png"/>', "expected one that ends in"),
        ('<mesh name="t" file="short.stl"/>', "is not a binary STL file: 3 bytes"),
        ('<mesh name="t" file="short.msh"/>', "is no MSH file"),
        ('<mesh name="t" file="tetrahedron.stl" scale="1 0 1"/>', "factors cannot be zero"),
        ('<mesh name="t" vertex="0 0 0 1 0 0"/>', "has 6 numbers in 'vertex', expected 3 for each of 4 or more"),
        ('<mesh name="t" vertex="0 0 0 1 0 0 0 1 0 0 0 1" face="0 1 9"/>', "not triples of 0 to 3"),
        ('<mesh name="t" vertex="0 0 0 1 0 0 0 1 0 1 1 0" face="0 1 2"/>', "has no volume, from which a mass"),
        ('<mesh name="t" vertex="0 0 0 1 0 0 2 0 0 3 0 0"/>', "all lie on a line"),
        ('<mesh name="t" file="tetrahedron.stl" inertia="odd"/>', "Unknown value of attribute 'inertia'"),
        ('<mesh name="t" file="tetrahedron.stl"/><mesh name="t" file="cube.obj"/>', "a second mesh is named 't'"),
    ],
)
def test_meshes_that_are_none_are_refused_with_line_and_reason(folder, asset, words):
    for name in ("short.stl", "short.msh"):
        (folder / "meshes" / name).write_bytes(b"abc")
    with pytest.raises(ParsingError) as error:
        read(folder, body("t"), asset)
    assert str(error.value).startswith(f"{folder / 'm.xml'}:2: ")
    assert words in str(error.value)


@pytest.mark.parametrize(
    ("field", "words"),
    [
        ('nrow="2" ncol="2" size="1 1 0 1"', "all four numbers have to be positive"),
        ('nrow="1" ncol="2" size="1 1 1 1"', "attribute 'nrow' of <hfield name=\"h\"> is 1, expected 2 or more"),
        ('nrow="2" ncol="2" elevation="1 2 3" size="1 1 1 1"', "has 3 values"),
        ('nrow="9999" ncol="9999" size="1 1 1 1"', "expected at most 16000000"),
        ('file="short.bin" size="1 1 1 1"', "is not a height field"),
        ('file="broken.png" size="1 1 1 1"', "cannot identify image file"),
    ],
)
def test_height_fields_that_are_none_are_refused(folder, field, words):
    for name in ("short.bin", "broken.png"):
        (folder / "meshes" / name).write_bytes(b"abc")
    with pytest.raises(ParsingError) as error:
        read(folder, '<geom type="hfield" hfield="h"/>', f'<hfield name="h" {field}/>')
    assert words in str(error.value)


def test_a_changed_mesh_is_weighed_again(folder):
    assets = '<mesh name="t" file="tetrahedron.msh"/>'
    assert read(folder, body("t"), assets).GetBodyByName("b").default_mass() == pytest.approx(1000.0)
    path = folder / "meshes" / "tetrahedron.msh"
    data = bytearray(path.read_bytes())
    data[28:32] = np.float32(2.0).tobytes()  # x of the second corner
    path.write_bytes(data)
    assert read(folder, body("t"), assets).GetBodyByName("b").default_mass() == pytest.approx(2000.0)


def test_geometries_that_mujoco_would_make_itself_are_left_out(folder, caplog):
    plant = read(folder, body("s") + '<geom size="1"/>', '<mesh name="s" builtin="sphere" params="2"/>')
    assert plant.GetBodyByName("b").default_mass() == 0.0
    assert "<geom> with a mesh that MuJoCo makes (builtin or plugin) is left out" in caplog.text


def test_a_fitted_pose_is_right_handed(folder):
    asset = '<mesh name="t" file="tetrahedron.stl"/>'
    inside = '<body name="b"><joint/><geom type="ellipsoid" mesh="t"/></body>'
    plant, scene_graph = AddMultibodyPlantSceneGraph(DiagramBuilder(), 0.01)
    (folder / "m.xml").write_text(
        f'<mujoco><compiler meshdir="meshes"/><asset>{asset}</asset><worldbody>{inside}</worldbody></mujoco>'
    )
    Parser(plant).AddModels(folder / "m.xml")
    (g,) = plant.GetCollisionGeometriesForBody(plant.GetBodyByName("b"))
    X_BG = scene_graph.model_inspector().GetPoseInFrame(g)
    assert isinstance(X_BG, RigidTransform) and np.linalg.det(X_BG.rotation().matrix()) == pytest.approx(1.0)
