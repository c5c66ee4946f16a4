"""Mesh files of formats that are read by trimesh, files of VTK, and what is wrong with files."""

from __future__ import annotations

import random
from pathlib import Path

import numpy as np
import pytest

from merganser.geometry import CalcVolume, InMemoryMesh, MemoryFile, Mesh, MeshSource
from merganser.geometry.meshes import read_surface_mesh, read_vertices, read_volume_mesh
from tests.support.odd_models import CUBE_OBJ, TETRAHEDRA_VTK

trimesh = pytest.importorskip("trimesh", reason="trimesh is not installed (extra `viz`)")

# Version 5 of the same file.
VTK_5 = TETRAHEDRA_VTK.replace("Version 3.0", "Version 5.1").replace(
    "CELLS 2 10\n4 0 1 2 3\n4 0 2 1 4\n",
    "CELLS 3 8\nOFFSETS vtktypeint64\n0 4 8\nCONNECTIVITY vtktypeint64\n0 1 2 3 0 2 1 4\n",
)


@pytest.fixture
def box(tmp_path: Path) -> trimesh.Trimesh:
    (tmp_path / "box.obj").write_text(CUBE_OBJ)
    return trimesh.load(tmp_path / "box.obj", force="mesh")


def bounds(path: Path) -> list:
    mesh = read_surface_mesh(MeshSource(path))
    vertices = mesh.vertex_array()
    np.testing.assert_array_equal(np.unique(vertices, axis=0), np.unique(read_vertices(MeshSource(path)), axis=0))
    return [vertices.min(axis=0).tolist(), vertices.max(axis=0).tolist()]


@pytest.mark.parametrize("kind", ["stl", "stl_ascii", "dae", "ply", "off"])
def test_formats_give_the_same_box(box, tmp_path, kind):
    path = tmp_path / f"box.{kind.partition('_')[0]}"
    box.export(path, file_type=kind)
    assert bounds(path) == [[0, 0, 0], [1, 2, 3]]
    assert CalcVolume(Mesh(path)) == pytest.approx(6.0)


@pytest.mark.parametrize("kind", ["glb", "gltf"])
def test_y_of_gltf_is_z(box, tmp_path, kind):
    path = tmp_path / f"box.{kind}"
    box.export(path)
    assert bounds(path) == [[0, -3, 0], [1, 0, 2]]
    assert CalcVolume(Mesh(path)) == pytest.approx(6.0)


@pytest.mark.parametrize(("unit", "factor"), [("0.0254", 0.0254), ("1", 1.0), ("0", 1.0)])
def test_collada_has_its_unit(box, tmp_path, unit, factor):
    path = tmp_path / "box.dae"
    box.export(path)
    text = path.read_text()
    assert "<up_axis>Y_UP</up_axis>" in text  # which does not matter
    path.write_text(text.replace("<up_axis>", f'<unit name="some" meter="{unit}"/><up_axis>'))
    np.testing.assert_allclose(bounds(path), factor * np.array([[0, 0, 0], [1, 2, 3]]), rtol=1e-7)


@pytest.mark.parametrize("number", [np.nan, np.inf])
def test_numbers_that_are_not_finite_are_refused(box, tmp_path, number):
    path = tmp_path / "box.stl"
    box.export(path)
    data = bytearray(path.read_bytes())
    data[96:100] = np.float32(number).tobytes()  # of the first corner
    path.write_bytes(data)
    with pytest.raises(RuntimeError, match=r"box\.stl' has a vertex with a coordinate that is not finite"):
        read_surface_mesh(MeshSource(path))


@pytest.mark.parametrize("text", [TETRAHEDRA_VTK, VTK_5], ids=["version 3", "version 5"])
def test_tetrahedra_of_vtk_have_a_surface(tmp_path, text):
    path = tmp_path / "mesh.vtk"
    path.write_text(text)
    volume = read_volume_mesh(MeshSource(path))
    assert volume.CalcVolume() == pytest.approx(0.5)
    np.testing.assert_array_equal(volume.tetrahedron_array(), [[0, 1, 2, 3], [0, 2, 1, 4]])
    surface = read_surface_mesh(MeshSource(path))
    assert surface.num_triangles() == 6  # and not the face between them
    assert bounds(path) == [[0, 0, -2], [1, 1, 1]]


@pytest.mark.parametrize(
    "change",
    [
        ("0 4 8", "0 4 7"),
        ("CELLS 3 8", "CELLS 3 9"),
        ("CELLS 3 8", "CELLS 2 8"),
        ("0 2 1 4\n", "0 2 1 9\n"),
        ("10\n10\n", "10\n"),
        ("10\n10\n", "10\n5\n"),
        ("CELLS", "CELL"),
        ("POINTS 5", "POINTS 99999999"),
    ],
)
def test_cells_that_are_no_tetrahedra_are_refused(change):
    text = VTK_5.replace(*change)
    assert text != VTK_5
    source = MeshSource(InMemoryMesh(mesh_file=MemoryFile(text, ".vtk", "some.vtk")))
    with pytest.raises(RuntimeError, match=r"'some\.vtk' has no tetrahedral UNSTRUCTURED_GRID"):
        read_volume_mesh(source)


# ---------------------------------------------------------------------- files that meshes refer to


@pytest.mark.parametrize("name", ["../secret.txt", "/etc/hostname", "..\\\\secret.txt", "data:nonsense", "box.gltf"])
def test_files_of_other_kinds_are_not_opened_for_a_mesh(box, tmp_path, monkeypatch, name):
    (tmp_path / "secret.txt").write_text("secret")
    (tmp_path / "in").mkdir()
    path = tmp_path / "in" / "box.gltf"
    box.export(path)
    (buffer, *_) = sorted(path.parent.glob("*.bin"))
    path.write_text(path.read_text().replace(buffer.name, name))
    opened: list[Path] = []
    read_bytes = Path.read_bytes
    monkeypatch.setattr(Path, "read_bytes", lambda self: opened.append(self.resolve()) or read_bytes(self))
    with pytest.raises(RuntimeError, match=r"box\.gltf' could not be read"):
        read_surface_mesh(MeshSource(path))
    assert set(opened) == {path.resolve()}


# ---------------------------------------------------------------------- damaged files


def damaged(data: bytes, rng: random.Random) -> bytes:
    for _ in range(rng.choice((1, 1, 2, 5))):
        i = rng.randrange(len(data))
        match rng.randrange(5):
            case 0:
                data = data[:i] + bytes([rng.randrange(256)]) + data[i + 1 :]
            case 1:
                data = data[:i]
            case 2:
                data = data[:i] + rng.choice((b"nan", b"1e309", b"-1", b"0", b"\xff" * 8)) + data[i + 4 :]
            case 3:
                data = data[:i] + data[i + rng.randrange(1, 50) :]
            case 4:
                data = data[:i] + data[i // 2 : i] + data[i:]
        data = data or b"x"
    return data


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("extension", [".obj", ".stl", ".dae", ".glb", ".gltf", ".vtk", ".ply"])
def test_damaged_files_are_meshes_or_refused_by_name(box, tmp_path, extension):
    path = tmp_path / f"mesh{extension}"
    if extension == ".vtk":
        path.write_text(TETRAHEDRA_VTK)
    elif extension == ".obj":
        path.write_text(CUBE_OBJ)
    else:
        box.export(path)
    data, rng = path.read_bytes(), random.Random(extension)
    num_refused = 0
    for _ in range(60):
        path.write_bytes(damaged(data, rng))
        try:
            vertices = read_surface_mesh(MeshSource(path)).vertex_array()
            assert vertices.ndim == 2 and vertices.shape[1] == 3 and np.isfinite(vertices).all()
        except RuntimeError as error:
            assert path.name in str(error) or "vertices" in str(error)
            num_refused += 1
    assert num_refused > 5
