"""Meshes of all formats in model files: whole, in parts, as hulls and as convex pieces."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest

from merganser.framework import DiagramBuilder
from merganser.geometry import Mesh, Role
from merganser.geometry.shapes.measures import enclosed_volume
from merganser.multibody.parsing import Parser, ParsingError
from merganser.multibody.plant import AddMultibodyPlantSceneGraph
from tests.support.model_corners import in_link, urdf
from tests.support.odd_models import CUBE_OBJ, TETRAHEDRA_VTK

trimesh = pytest.importorskip("trimesh", reason="trimesh is not installed (extra `viz`)")

FORMATS = ("obj", "stl", "dae", "glb", "gltf")
# Two boxes side by side, of 1 m each, in objects of their own.
TWO_BOXES = CUBE_OBJ.replace("o brick\n", "") + "".join(
    f"v {x} {y} {z}\n" for z in (0, 1) for x, y in ((5, 0), (6, 0), (6, 1), (5, 1))
) + "o second\ng of faces\nf 12 11 10 9\nf 13 14 15 16\nf 9 10 14 13\nf 10 11 15 14\nf 11 12 16 15\nf 12 9 13 16\n"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """The same box in files of all formats."""
    (tmp_path / "cube.obj").write_text(CUBE_OBJ)
    (tmp_path / "two.obj").write_text(TWO_BOXES)
    (tmp_path / "mesh.vtk").write_text(TETRAHEDRA_VTK)
    box = trimesh.load(tmp_path / "cube.obj", force="mesh")
    for name in ("stl", "dae"):
        box.export(tmp_path / f"cube.{name}")
    # y upwards
    box.apply_transform(trimesh.transformations.rotation_matrix(-np.pi / 2, [1, 0, 0]))
    for name in ("glb", "gltf"):
        box.export(tmp_path / f"cube.{name}")
    return tmp_path


def shapes(path: Path, role: Role = Role.kProximity) -> dict:
    """Shapes by name."""
    plant, scene_graph = AddMultibodyPlantSceneGraph(DiagramBuilder(), 0.0)
    Parser(plant).AddModels(path)
    inspector = scene_graph.model_inspector()
    return {
        inspector.GetName(g).rpartition("::")[2]: inspector.GetShape(g) for g in inspector.GetAllGeometryIds(role)
    }


def write(folder: Path, mesh: str, name: str = "model.sdf") -> Path:
    geometry = f"<geometry>{mesh}</geometry>"
    if name.endswith("urdf"):
        text = urdf(f'<link name="a"><visual>{geometry}</visual><collision name="c">{geometry}</collision></link>')
    else:
        text = in_link(f'<visual name="v">{geometry}</visual><collision name="c">{geometry}</collision>', "1.11")
    (folder / name).write_text(text)
    return folder / name


@pytest.mark.parametrize("extension", FORMATS)
@pytest.mark.parametrize("declared", ["", "<drake:declare_convex/>"])
def test_meshes_of_all_formats_are_seen_and_touched(folder, extension, declared):
    path = write(folder, f'<mesh filename="cube.{extension}" scale="1 1 2">{declared}</mesh>', "model.urdf")
    (visual,), (collision,) = shapes(path, Role.kIllustration).values(), shapes(path).values()
    kind = "Convex" if declared else "Mesh"
    assert [type(shape).__name__ for shape in (visual, collision)] == [kind, kind]
    corners = collision.GetConvexHull().vertex_array()
    np.testing.assert_allclose([corners.min(axis=0), corners.max(axis=0)], [[0, 0, 0], [1, 2, 6]], atol=1e-6)


@pytest.mark.parametrize("extension", (*FORMATS, "vtk"))
def test_mesh_file_is_a_body_of_water(folder, extension):
    plant, _ = AddMultibodyPlantSceneGraph(DiagramBuilder(), 0.0)
    Parser(plant).AddModels(folder / ("mesh.vtk" if extension == "vtk" else f"cube.{extension}"))
    name = {"obj": "brick", "vtk": "mesh"}.get(extension, "cube")
    mass = 500.0 if extension == "vtk" else 6000.0
    assert plant.GetBodyByName(name).default_mass() == pytest.approx(mass, rel=1e-6)


def test_part_of_a_file_is_found_as_the_file(folder):
    for part in ("second", "of", "of faces"):
        path = write(folder, f"<mesh><uri>two.obj</uri><submesh><name>{part}</name></submesh></mesh>")
        (shape,) = shapes(path).values()
        corners = shape.GetConvexHull().vertex_array()
        np.testing.assert_array_equal([corners.min(axis=0), corners.max(axis=0)], [[5, 0, 0], [6, 1, 1]])


def test_part_may_be_centred_and_scaled(folder):
    part = "<submesh><name>second</name><center>true</center></submesh>"
    path = write(folder, f"<mesh><uri>two.obj</uri><scale>1 2 4</scale>{part}</mesh>")
    (shape,) = shapes(path).values()
    corners = shape.GetConvexHull().vertex_array()
    np.testing.assert_array_equal([corners.min(axis=0), corners.max(axis=0)], [[-0.5, -1, -2], [0.5, 1, 2]])


def test_part_of_a_scene_goes_by_the_name_of_its_node(folder):
    boxes = {name: trimesh.creation.box((1, 1, 1)) for name in ("left", "right")}
    scene = trimesh.Scene(boxes)
    scene.graph.update("right", matrix=trimesh.transformations.translation_matrix([3, 0, 0]))
    scene.export(folder / "scene.glb")
    path = write(folder, "<mesh><uri>scene.glb</uri><submesh><name>right</name></submesh></mesh>")
    (shape,) = shapes(path).values()
    corners = shape.GetConvexHull().vertex_array()
    np.testing.assert_allclose([corners.min(axis=0), corners.max(axis=0)], [[2.5, -0.5, -0.5], [3.5, 0.5, 0.5]])


@pytest.mark.parametrize(
    ("mesh", "words"),
    [
        ("<uri>two.obj</uri><submesh><name>third</name></submesh>", "no part 'third'. There are: 'first', 'of faces'"),
        ("<uri>cube.glb</uri><submesh><name>third</name></submesh>", "no part 'third'"),
        ("<uri>two.obj</uri><submesh/>", "<name>"),
        ("<uri>none.dae</uri>", "none.dae"),
        ("<uri>two.obj</uri><scale>0 1 1</scale>", "cannot be zero"),
    ],
)
def test_parts_that_are_not_there_are_refused(folder, mesh, words):
    with pytest.raises(ParsingError, match=rf"model\.sdf:1: .*{words}"):
        shapes(write(folder, f"<mesh>{mesh}</mesh>"))


def test_hull_of_sdformat_is_a_convex(folder):
    path = write(folder, '<mesh optimization="convex_hull"><uri>cube.stl</uri></mesh>')
    assert [type(shape).__name__ for shape in shapes(path).values()] == ["Convex"]


# ---------------------------------------------------------------------- convex pieces


# A U of 3 x 3 x 3 m with a slot of 1 x 3 x 2 m from above.
_OUTLINE = ((0, 0), (3, 0), (3, 3), (2, 3), (2, 1), (1, 1), (1, 3), (0, 3))
CHANNEL = "\n".join([
    *(f"v {x} {y} {z}" for y in (0, 3) for x, z in _OUTLINE),
    "f 1 2 3 4 5 6 7 8",
    "f 16 15 14 13 12 11 10 9",
    *(f"f {i + 1} {i + 9} {(i + 1) % 8 + 9} {(i + 1) % 8 + 1}" for i in range(8)),
])  # fmt: skip


def test_mesh_is_touched_by_its_convex_pieces_and_seen_whole(tmp_path, monkeypatch):
    pytest.importorskip("coacd", reason="coacd is not installed (extra `decompose`)")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    (tmp_path / "channel.obj").write_text(CHANNEL)
    path = write(tmp_path, '<mesh filename="channel.obj" decompose="convex" scale="1 1 2"/>', "model.urdf")
    pieces = shapes(path)
    assert list(pieces) == ["c", *(f"c_{i}" for i in range(1, len(pieces)))]
    assert {type(shape).__name__ for shape in pieces.values()} == {"Convex"}
    hulls = [shape.GetConvexHull() for shape in pieces.values()]
    volume = sum(enclosed_volume(hull.vertex_array(), hull.triangle_array()) for hull in hulls)
    assert volume == pytest.approx(2.0 * (27.0 - 6.0), rel=0.02)  # of its hull: 54
    assert [type(shape) for shape in shapes(path, Role.kIllustration).values()] == [Mesh]

    monkeypatch.setitem(sys.modules, "coacd", None)  # the pieces are kept
    of_sdf = write(tmp_path, '<mesh decompose="convex"><uri>channel.obj</uri><scale>1 1 2</scale></mesh>')
    assert list(shapes(of_sdf)) == list(pieces)
    (kept,) = (tmp_path / "cache" / "merganser" / "convex_pieces").iterdir()
    kept.write_bytes(kept.read_bytes()[:100])
    with pytest.raises(ImportError, match=r"needs coacd.*pip install 'merganser\[decompose\]'"):
        shapes(path)


@pytest.mark.parametrize(("corner", "words"), [("0 0 0", "its size is 0"), ("3 0 0", "found none")])
def test_mesh_that_is_a_point_or_a_line_has_no_pieces(tmp_path, monkeypatch, corner, words):
    pytest.importorskip("coacd", reason="coacd is not installed (extra `decompose`)")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    faces = "f 1 3 2\nf 1 2 4\nf 2 3 4\nf 1 4 3\n"
    (tmp_path / "flat.obj").write_text(f"v 0 0 0\nv {corner}\nv 0 0 0\nv 0 0 0\n{faces}")
    with pytest.raises(ParsingError, match=rf"model.urdf:\d+: The mesh cannot be divided.*{words}"):
        shapes(write(tmp_path, '<mesh filename="flat.obj" decompose="convex"/>', "model.urdf"))


class Halves:
    """A coacd that cuts everything into two boxes."""

    def __init__(self) -> None:
        self.given: list[int] = []

    def Mesh(self, vertices: np.ndarray, triangles: np.ndarray) -> None:
        return None

    def set_log_level(self, level: str) -> None:
        return None

    def run_coacd(self, mesh: None, *, max_convex_hull: int, **settings: float) -> list:
        self.given.append(max_convex_hull)
        box = trimesh.creation.box((1, 1, 1))
        return [(box.vertices + [x, 0, 0], box.faces) for x in (-0.5, 0.5)]


@pytest.mark.parametrize(
    ("inside", "most"),
    [("", 16), ("<convex_decomposition><max_convex_hulls>3</max_convex_hulls></convex_decomposition>", 3)],
)
def test_decomposition_of_sdformat_says_how_many_pieces_there_may_be(folder, monkeypatch, inside, most):
    monkeypatch.setenv("XDG_CACHE_HOME", str(folder / "cache"))
    halves = Halves()
    monkeypatch.setitem(sys.modules, "coacd", halves)
    mesh = f'<mesh optimization="convex_decomposition"><uri>cube.stl</uri>{inside}</mesh>'
    assert list(shapes(write(folder, mesh))) == ["c", "c_1"]
    assert halves.given == [most]


@pytest.mark.parametrize(
    ("mesh", "words"),
    [
        ('<mesh decompose="concave"><uri>cube.stl</uri></mesh>', "'concave'"),
        (
            '<mesh optimization="convex_decomposition"><uri>cube.stl</uri><convex_decomposition><max_convex_hulls>1.5'
            "</max_convex_hulls></convex_decomposition></mesh>",
            "whole number",
        ),
    ],
)
def test_bad_decompositions_are_refused(folder, mesh, words):
    with pytest.raises(ParsingError, match=words):
        shapes(write(folder, mesh))


@pytest.mark.parametrize("package", ["trimesh", "collada"])
def test_missing_package_is_named_with_its_extra(folder, monkeypatch, package):
    shape = Mesh(folder / "cube.dae")
    monkeypatch.setitem(sys.modules, package, None)
    name = {"collada": "pycollada"}.get(package, package)
    with pytest.raises(ImportError, match=rf"cube\.dae' needs {name}, .*pip install 'merganser\[viz\]'"):
        shape.GetConvexHull()
