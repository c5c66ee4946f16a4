"""Meshes from files on disk and in memory."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from merganser.framework.math import RigidTransform
from merganser.geometry import (
    CalcVolume,
    Convex,
    GeometryInstance,
    InMemoryMesh,
    MemoryFile,
    Mesh,
    MeshSource,
    ProximityProperties,
    ReadObjToTriangleSurfaceMesh,
    Role,
    SceneGraph,
    Sphere,
)
from merganser.geometry.meshes import read_surface_mesh
from merganser.geometry.meshes.files import read_wavefront_vertices
from merganser.geometry.meshes.mesh_source import Sha256
from merganser.geometry.shapes.measures import enclosed_volume

CUBE = """# a unit cube
v 0 0 0
v 1 0 0
v 1 1 0
v 0 1 0
v 0 0 1
v 1 0 1
v 1 1 1
v 0 1 1
vn 0 0 1
f 4 3 2 1
f 5//1 6//1 7//1 8//1
f 1 2 \\
  6 5
f 3 4 8 7
f 2/1 3/2 7/3 6/4
f -5 -8 -4 -1
"""


@pytest.fixture
def cube(tmp_path: Path) -> Path:
    path = tmp_path / "cube.obj"
    path.write_text(CUBE)
    return path


def test_hulls_of_a_file_are_shared_by_shapes_of_one_scale_until_the_file_changes(
    cube: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert Convex(cube).GetConvexHull() is not Convex(cube).GetConvexHull()  # the caller may write to it
    monkeypatch.setattr("merganser.geometry.meshes.mesh_source._CLOCK_OF_FILES", 0.0)
    hull = Convex(cube).GetConvexHull()
    assert Mesh(cube).GetConvexHull() is hull
    assert Convex(cube, 2.0).GetConvexHull().total_area() == pytest.approx(24.0)
    cube.write_text(CUBE.replace("v 0 0 0", "v 0 0 -9.5"))
    assert Convex(cube).GetConvexHull().CalcBoundingBox()[1][2] == pytest.approx(10.5)


@pytest.mark.parametrize("depth", ["1", "0"])
def test_the_hull_that_an_earlier_program_has_made_of_a_file_is_loaded_from_the_disk(
    depth: str, cube: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MERGANSER_CACHE_DIR", str(tmp_path))
    cube.write_text("\n".join(f"v {x} {y} {z}" for x in "01" for y in "02" for z in ("0", depth)))
    made = Convex(cube, 3.0).GetConvexHull()
    for name in ("convex_hull", "read_vertices"):
        monkeypatch.setattr(f"merganser.geometry.shapes.from_file.{name}", None)
    kept = Convex(cube, 3.0).GetConvexHull()
    assert kept is not made and kept.face_data() == made.face_data()
    np.testing.assert_array_equal(kept.vertex_array(), made.vertex_array())
    for another in (lambda: Convex(cube, 2.0), lambda: Convex(cube.rename(tmp_path / "same.obj"), 3.1)):
        with pytest.raises(TypeError):  # that has to be made
            another().GetConvexHull()


def test_vertices_on_equal_lines_count_once_and_the_first_wrong_line_is_named(tmp_path: Path) -> None:
    text = CUBE + "v 1 1 1\n  v 1 \\\n 1 2 # the tip\n"
    assert read_wavefront_vertices(text, "cube").tolist()[7:] == [[0, 1, 1], [1, 1, 2]]
    with pytest.raises(RuntimeError, match="line 21: could not convert string to float: 'two'"):
        read_wavefront_vertices(text + "v 1 two 3\nv 4 5\n", "cube")


def test_wavefront_file_gives_closed_triangles(cube: Path) -> None:
    mesh = ReadObjToTriangleSurfaceMesh(cube)
    assert (mesh.num_triangles(), mesh.num_vertices()) == (12, 8)
    assert mesh.total_area() == pytest.approx(6.0)
    assert enclosed_volume(mesh.vertex_array(), mesh.triangle_array()) == pytest.approx(1.0)
    scaled = ReadObjToTriangleSurfaceMesh(cube, scale3=[1, 2, 3])
    assert scaled.vertex(6).tolist() == [1, 2, 3]
    assert ReadObjToTriangleSurfaceMesh(str(cube), 2.0).vertex(6).tolist() == [2, 2, 2]


@pytest.mark.parametrize("start", range(6))
def test_polygons_that_are_not_convex_are_cut_without_overlap(start: int, tmp_path: Path) -> None:
    outline = np.roll([[0, 0], [3, 0], [3, 3], [2, 1], [1, 1], [0, 3]], start, axis=0)
    lines = [f"v {x} {y} 0" for x, y in outline]
    (tmp_path / "u.obj").write_text("\n".join([*lines, "f 1 2 3 4 5 6"]))
    mesh = ReadObjToTriangleSurfaceMesh(tmp_path / "u.obj")
    assert mesh.num_triangles() == 4
    x, y = outline.T
    assert mesh.total_area() == pytest.approx((x @ np.roll(y, -1) - y @ np.roll(x, -1)) / 2)
    assert all(mesh.face_normal(t) @ [0, 0, 1] == pytest.approx(1.0) for t in range(4))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "is empty"),
        ("# nothing\n", "has no faces"),
        ("v 0 0 0\nv 1 0 0\nv 0 1 0\n", "has no faces"),
        ("v 0 0\n", "line 1: a vertex needs three coordinates"),
        ("v 0 0 0\nv 1 x 0\n", "line 2: could not convert"),
        ("v 0 0 0\nv 1 0 0\nf 1 2\n", "line 3: a face needs three vertices"),
        ("v 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 0\n", "line 4: a face has a vertex that is not there"),
        ("v 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 9\n", "a face with vertex 9 of 3 vertices"),
    ],
)
def test_faults_of_wavefront_files_are_named(text: str, message: str, tmp_path: Path) -> None:
    path = tmp_path / "bad.obj"
    path.write_text(text)
    with pytest.raises(RuntimeError, match=f"bad.obj'.* {message}|bad.obj', {message}"):
        ReadObjToTriangleSurfaceMesh(path)


def test_volumes_of_meshes_scale_with_all_three_factors(cube: Path) -> None:
    for kind in (Mesh, Convex):
        assert CalcVolume(kind(cube)) == pytest.approx(1.0)
        assert CalcVolume(kind(cube, scale3=[-1, 2, 3])) == pytest.approx(6.0)


@pytest.mark.parametrize("extension", ["stl", "glb", "ply"])
def test_other_formats_are_read_by_trimesh(extension: str, tmp_path: Path) -> None:
    trimesh = pytest.importorskip("trimesh", reason="trimesh (extra `viz`) is not installed")
    box = trimesh.creation.box(extents=[1.0, 2.0, 3.0])
    path = tmp_path / f"box.{extension}"
    box.export(path)
    y_is_up = extension == "glb"
    in_memory = InMemoryMesh(mesh_file=MemoryFile.Make(path))
    for source in (MeshSource(path), MeshSource(in_memory)):
        mesh = read_surface_mesh(source)
        assert mesh.total_area() == pytest.approx(22.0)
        assert mesh.CalcBoundingBox()[1] == pytest.approx([1, 3, 2] if y_is_up else [1, 2, 3])
        assert CalcVolume(Mesh(source)) == pytest.approx(6.0)
        assert Convex(source).GetConvexHull().num_faces() == 6


def test_files_that_a_mesh_in_memory_refers_to_are_found() -> None:
    trimesh = pytest.importorskip("trimesh", reason="trimesh (extra `viz`) is not installed")
    files = trimesh.creation.box().scene().export(file_type="gltf")
    main = MemoryFile(files.pop("model.gltf"), ".gltf", "box")
    supporting: dict[str, Any] = {name: MemoryFile(data, ".bin", name) for name, data in files.items()}
    mesh = InMemoryMesh(mesh_file=main, supporting_files=supporting)
    assert CalcVolume(Mesh(mesh)) == pytest.approx(1.0)
    with pytest.raises(RuntimeError, match=r"'box'.*could not be read"):
        CalcVolume(Mesh(InMemoryMesh(mesh_file=main)))


def test_mesh_in_memory_is_copied_and_described() -> None:
    data = InMemoryMesh(mesh_file=MemoryFile(CUBE, ".OBJ", "my cube"))
    shape = Mesh(data, scale=2.0)
    data.mesh_file = MemoryFile()
    source = shape.source()
    assert (source.is_in_memory(), source.is_path()) == (True, False)
    assert (source.extension(), source.description()) == (".obj", "my cube")
    assert source.in_memory().mesh_file.contents() == CUBE.encode()
    assert CalcVolume(shape) == pytest.approx(8.0)
    same = Mesh(source=MeshSource(InMemoryMesh(mesh_file=MemoryFile(CUBE, ".obj", "my cube"))), scale=2.0)
    assert shape == same
    assert hash(shape) == hash(same)
    assert shape != Mesh(source, scale=3.0)
    with pytest.raises(RuntimeError, match="'my cube' is in memory"):
        source.path()
    with pytest.raises(RuntimeError, match="is the file"):
        MeshSource("a.obj").in_memory()


def test_convex_of_points_is_their_hull() -> None:
    corners = np.array([[0.0, 1, 0, 0], [0, 0, 1, 0], [0, 0, 0, 1]])
    shape = Convex(corners, "corner", 2.0)
    assert shape.source().description() == "corner"
    assert CalcVolume(shape) == pytest.approx(8 / 6)
    assert Convex(points=corners, label="corner", scale3=[2, 2, 2]) == shape
    with pytest.raises(ValueError, match=r"'corner' must have shape \[3, n\]; given \(4, 3\)"):
        Convex(corners.T, "corner")


def test_memory_file_knows_its_checksum_and_refuses_odd_names(cube: Path) -> None:
    empty = Sha256.Checksum("")
    assert empty.to_string() == "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
    assert MemoryFile().sha256() == empty == Sha256.Parse(empty.to_string())
    assert Sha256.Parse("xyz") is None
    assert MemoryFile.Make(cube) == MemoryFile(CUBE, ".obj", str(cube))
    refused: list[tuple[str, Callable[[], object]]] = [
        ("begin with a dot; given 'obj'", lambda: MemoryFile("", "obj", "x")),
        ("must be one line", lambda: MemoryFile("", ".obj", "x\ny")),
        ("cannot read the file 'nowhere.obj'", lambda: MemoryFile.Make("nowhere.obj")),
    ]
    for message, act in refused:
        with pytest.raises(RuntimeError, match=message):
            act()


def test_a_missing_or_empty_file_is_refused_with_the_proximity_role(tmp_path: Path) -> None:
    graph = SceneGraph()
    source = graph.RegisterSource("s")
    (tmp_path / "empty.obj").write_text("")
    ball = graph.RegisterAnchoredGeometry(source, GeometryInstance(RigidTransform(), Sphere(1), "ball"))
    graph.AssignRole(source, ball, ProximityProperties())
    for name, message in (("missing.obj", "does not exist"), ("empty.obj", "is empty")):
        shape = Mesh(tmp_path / name)
        drawn = graph.RegisterAnchoredGeometry(source, GeometryInstance(RigidTransform(), shape, name))
        instance = GeometryInstance(RigidTransform(), shape, "hard")
        instance.set_proximity_properties(ProximityProperties())
        refusal = "cannot have the proximity role.*" + message
        with pytest.raises(RuntimeError, match=f"Geometry 'hard' {refusal}"):
            graph.RegisterAnchoredGeometry(source, instance)
        with pytest.raises(RuntimeError, match=f"Geometry '{name}' {refusal}"):
            graph.AssignRole(source, drawn, ProximityProperties())
        with pytest.raises(RuntimeError, match=f"Geometry 'ball' {refusal}"):
            graph.ChangeShape(source, ball, shape)
        graph.RemoveGeometry(source, drawn)
    inspector = graph.model_inspector()
    assert inspector.GetAllGeometryIds(Role.kProximity) == inspector.GetAllGeometryIds() == [ball]
    assert inspector.GetShape(ball) == Sphere(1)
