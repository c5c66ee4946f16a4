"""Mass properties of shapes, mesh objects and mesh files."""

import sys
from types import SimpleNamespace

import numpy as np
import pytest

from merganser.geometry import (
    Box,
    CalcVolume,
    Capsule,
    Convex,
    Cylinder,
    Ellipsoid,
    HalfSpace,
    InMemoryMesh,
    MemoryFile,
    Mesh,
    MeshcatCone,
    Sphere,
)
from merganser.multibody.tree import CalcSpatialInertia, SpatialInertia

DENSITY = 700.0
SIDES = np.array([0.3, 0.5, 0.8])
CORNER = np.array([1.0, -2.0, 0.5])  # of the box nearest to minus infinity: far from the origin
VERTICES = CORNER + SIDES * np.array([[x, y, z] for x in (0, 1) for y in (0, 1) for z in (0, 1)])
# Quadrilaterals of a box, counter-clockwise from outside, and the tetrahedra around its diagonal.
FACES = [(0, 1, 3, 2), (4, 6, 7, 5), (0, 4, 5, 1), (2, 3, 7, 6), (0, 2, 6, 4), (1, 5, 7, 3)]
TRIANGLES = [triangle for a, b, c, d in FACES for triangle in ((a, b, c), (a, c, d))]
TETRAHEDRA = [(0, a, b, 7) for a, b in ((1, 3), (3, 2), (2, 6), (6, 4), (4, 5), (5, 1))]


def box():
    return SpatialInertia.SolidBoxWithDensity(DENSITY, *SIDES).Shift(-(CORNER + SIDES / 2))


def assert_equal(M, N, rtol=1e-12):
    scale = abs(N.CopyToFullMatrix6()).max()
    np.testing.assert_allclose(M.CopyToFullMatrix6(), N.CopyToFullMatrix6(), atol=rtol * scale)


def mesh_object(elements, name):
    """A mesh with the methods of pydrake's."""
    items = [SimpleNamespace(vertex=lambda i, e=e: e[i]) for e in elements]
    return SimpleNamespace(vertices=lambda: list(VERTICES), **{name: lambda: items})


def write_obj(path, faces=FACES):
    lines = [f"v {x} {y} {z}" for x, y, z in VERTICES] + ["f " + " ".join(str(i + 1) for i in f) for f in faces]
    path.write_text("\n".join(lines))
    return str(path)


def write_vtk(path, cell_type=10):
    cells = [f"4 {a} {b} {c} {d}" for a, b, c, d in TETRAHEDRA]
    header = [
        "# vtk DataFile Version 3.0",
        "box",
        "ASCII",
        "DATASET UNSTRUCTURED_GRID",
        f"POINTS {len(VERTICES)} double",
    ]
    points = [f"{x} {y} {z}" for x, y, z in VERTICES]
    types = [f"CELL_TYPES {len(cells)}"] + [str(cell_type)] * len(cells)
    path.write_text("\n".join([*header, *points, f"CELLS {len(cells)} {5 * len(cells)}", *cells, *types]))
    return str(path)


@pytest.mark.parametrize(
    "shape",
    [Sphere(0.4), Box(0.1, 0.2, 0.3), Cylinder(0.2, 0.7), Capsule(0.2, 0.7), Ellipsoid(0.1, 0.2, 0.3)],
    ids=repr,
)
def test_shape_has_the_mass_of_its_volume_and_its_own_axes(shape):
    M = CalcSpatialInertia(shape, DENSITY)
    assert M.get_mass() == pytest.approx(DENSITY * CalcVolume(shape))
    assert not M.get_com().any()
    # z is the axis of cylinders and capsules, and the longest one of all shapes here.
    semi_diameters, X = M.CalcPrincipalSemiDiametersAndPoseForSolidEllipsoid()
    assert semi_diameters[0] >= semi_diameters[2] > 0.0
    if not isinstance(shape, Sphere):
        assert abs(X.rotation().matrix()[:, 0]).tolist() == [0.0, 0.0, 1.0]


@pytest.mark.parametrize("shape", [HalfSpace(), MeshcatCone(1.0, 0.2, 0.3)], ids=repr)
def test_shapes_that_no_body_has_are_refused(shape):
    with pytest.raises(ValueError, match=type(shape).__name__):
        CalcSpatialInertia(shape, DENSITY)


@pytest.mark.parametrize("density", [0.0, -1.0, np.nan, np.inf])
def test_density_must_be_positive(density, tmp_path):
    obj, vtk = write_obj(tmp_path / "box.obj"), write_vtk(tmp_path / "box.vtk")
    for body in (Sphere(1.0), Mesh(obj), Mesh(vtk), Convex(obj), mesh_object(TRIANGLES, "triangles")):
        with pytest.raises(RuntimeError, match="density must be positive"):
            CalcSpatialInertia(body, density)


def test_what_is_neither_shape_nor_mesh_is_refused():
    for arguments in ({"shape": "sphere", "density": 1.0}, {"shape": Sphere(1.0)}, {"density": 1.0}):
        with pytest.raises(TypeError, match=r"CalcSpatialInertia\(\) takes"):
            CalcSpatialInertia(**arguments)


def test_meshes_in_memory_have_the_inertia_of_what_they_enclose():
    trimesh = pytest.importorskip("trimesh")
    for mesh in (
        mesh_object(TRIANGLES, "triangles"),
        mesh_object(TETRAHEDRA, "tetrahedra"),
        trimesh.Trimesh(VERTICES, TRIANGLES, process=False),
    ):
        assert_equal(CalcSpatialInertia(mesh, DENSITY), box())
        assert_equal(CalcSpatialInertia(mesh=mesh, density=DENSITY), box())


def test_two_halves_have_the_inertia_of_the_whole():
    halves = [CalcSpatialInertia(mesh_object(part, "tetrahedra"), DENSITY) for part in (TETRAHEDRA[:2], TETRAHEDRA[2:])]
    assert_equal(halves[0] + halves[1], box())


def test_mesh_without_positive_volume_is_refused():
    inside_out = [triangle[::-1] for triangle in TRIANGLES]
    for mesh in (mesh_object(inside_out, "triangles"), mesh_object(TRIANGLES[:0], "triangles")):
        with pytest.raises(ValueError, match=r"volume in the SimpleNamespace must be positive, but is (.|\n)*outside"):
            CalcSpatialInertia(mesh, DENSITY)
    with pytest.raises(ValueError, match="flat"):
        CalcSpatialInertia(mesh_object([(0, 1, 2, 3)], "tetrahedra"), DENSITY)


def test_mesh_of_a_finely_divided_ball_is_nearly_a_ball():
    trimesh = pytest.importorskip("trimesh")
    M = CalcSpatialInertia(trimesh.creation.icosphere(subdivisions=4, radius=0.3), DENSITY)
    # 5120 triangles inside the ball: they lack 0.2 % of its radius squared.
    assert_equal(M, SpatialInertia.SolidSphereWithDensity(DENSITY, 0.3), rtol=5e-3)


@pytest.mark.parametrize("scale3", [(1, 1, 1), (2, 2, 2), (1, -1, 1), (-1, 2, 0.5)])
@pytest.mark.parametrize("kind", [Mesh, Convex])
def test_mesh_files_have_the_inertia_of_what_they_enclose(kind, scale3, tmp_path):
    pytest.importorskip("trimesh")
    scale = np.array(scale3)
    expected = SpatialInertia.SolidBoxWithDensity(DENSITY, *abs(scale * SIDES)).Shift(-scale * (CORNER + SIDES / 2))
    for path in (write_obj(tmp_path / "box.obj"), write_vtk(tmp_path / "box.vtk")):
        assert_equal(CalcSpatialInertia(kind(path, scale3=scale), DENSITY), expected)


def test_convex_is_the_hull_of_a_surface_with_holes(tmp_path):
    pytest.importorskip("trimesh")
    path = write_obj(tmp_path / "open.obj", faces=FACES[:4])
    assert_equal(CalcSpatialInertia(Convex(path), DENSITY), box())


def test_faults_of_mesh_files_are_named(tmp_path):
    pytest.importorskip("trimesh")
    with pytest.raises(RuntimeError, match=r"missing\.obj' does not exist"):
        CalcSpatialInertia(Mesh(str(tmp_path / "missing.obj")), DENSITY)
    with pytest.raises(RuntimeError, match=r"missing\.vtk' could not be read"):
        CalcSpatialInertia(Mesh(str(tmp_path / "missing.vtk")), DENSITY)
    (tmp_path / "box.usd").write_text("#usda 1.0")
    with pytest.raises(RuntimeError, match=r"box\.usd' .* '\.usd' is no format that is read"):
        CalcSpatialInertia(Mesh(str(tmp_path / "box.usd")), DENSITY)
    (tmp_path / "empty.obj").write_text("v 0 0 0\n")
    with pytest.raises(RuntimeError, match=r"empty\.obj' (has no faces|could not be read)"):
        CalcSpatialInertia(Mesh(str(tmp_path / "empty.obj")), DENSITY)
    with pytest.raises(RuntimeError, match=r"hexahedra\.vtk' .* not all tetrahedra"):
        CalcSpatialInertia(Mesh(write_vtk(tmp_path / "hexahedra.vtk", cell_type=12)), DENSITY)
    (tmp_path / "text.vtk").write_text("no mesh")
    with pytest.raises(RuntimeError, match=r"text\.vtk' is no legacy VTK file"):
        CalcSpatialInertia(Mesh(str(tmp_path / "text.vtk")), DENSITY)
    (tmp_path / "flat.obj").write_text("v 0 0 0\nv 1 0 0\nv 1 1 0\nv 0 1 0\nf 1 2 3 4\n")
    with pytest.raises(ValueError, match=r"flat\.obj"):
        CalcSpatialInertia(Convex(str(tmp_path / "flat.obj")), DENSITY)


def test_missing_mesh_reader_is_named_with_its_remedy(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "trimesh", None)
    with pytest.raises(ImportError, match=r"merganser\[viz\]"):
        CalcSpatialInertia(Convex(str(tmp_path / "box.stl")), DENSITY)


def test_mesh_in_memory_has_the_inertia_of_the_same_file_on_disk(tmp_path):
    path = write_obj(tmp_path / "box.obj")
    in_memory = InMemoryMesh(mesh_file=MemoryFile.Make(path))
    for kind in (Mesh, Convex):
        on_disk = CalcSpatialInertia(kind(path, scale=2.0), DENSITY)
        assert_equal(CalcSpatialInertia(kind(in_memory, scale=2.0), DENSITY), on_disk)
