"""Contact surfaces: closed forms, and what holds of any of them."""

from __future__ import annotations

import itertools
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hydroelastic_scenes import SHAPES, Scene, make_properties, make_shape, random_pose, resultant

import merganser.geometry as geometry
from merganser.geometry import (
    Box,
    ContactSurface,
    Convex,
    GeometryId,
    HalfSpace,
    HydroelasticContactRepresentation,
    Sphere,
)
from merganser.geometry.hydroelastic.buffers import make_buffers
from merganser.geometry.hydroelastic.derivatives import differentiate_surfaces
from merganser.geometry.hydroelastic.engine import HydroelasticArrays, HydroelasticEngine
from merganser.geometry.hydroelastic.face_columns import AREA, CENTROID, FACE_NUMBERS, GRAD_M, GRAD_N, NORMAL, PRESSURE
from merganser.geometry.hydroelastic.polygons import MOST_CORNERS
from merganser.geometry.hydroelastic.representation import CompliantVolume, RigidSurface, make_representation
from merganser.geometry.hydroelastic.surfaces import contact_surfaces
from merganser.geometry.meshes.volume_mesh import boundary_triangles
from merganser.geometry.proximity.mesh_distance import MeshDistance

E = 1e5


def body(shape: Any, kind: str, modulus: float = E, hint: float = 0.05) -> Any:
    return make_representation(shape, make_properties(geometry, shape, kind, modulus, hint), "Geometry 'g'")


def faces_of(bodies: list[Any], X_WG: list[Any]) -> Any:
    engine = HydroelasticEngine(HydroelasticArrays(bodies))
    return engine.contact_surfaces(np.ascontiguousarray(X_WG), np.array([[0, 1]]))


def at(x: float, y: float, z: float) -> Any:
    X = np.eye(4)
    X[:3, 3] = x, y, z
    return X


def force_on_M(faces: Any) -> Any:
    return (faces.numbers[:, AREA] * faces.numbers[:, PRESSURE]) @ faces.numbers[:, NORMAL : NORMAL + 3]


# ---------------------------------------------------------------------- closed forms


def sphere_force(radius: float, height: float) -> float:
    """The pressure E (1 - r / R) of a ball, integrated over its section at a height (Elandt et al. 2019)."""
    a_squared = radius**2 - height**2
    return 2.0 * math.pi * E * (a_squared / 2.0 - (radius**3 - height**3) / (3.0 * radius))


@pytest.mark.parametrize("depth", [0.05, 0.1, 0.3])
def test_a_ball_on_a_rigid_floor_has_the_force_of_the_integral(depth: float) -> None:
    radius, errors = 0.1, []
    height = radius * (1.0 - depth)
    for hint in (radius / 4.0, radius / 17.0, radius / 40.0):
        bodies = [body(Sphere(radius), "compliant", hint=hint), body(HalfSpace(), "rigid")]
        force = force_on_M(faces_of(bodies, [at(0.01, 0.02, height), np.eye(4)]))
        np.testing.assert_allclose(force[:2], 0.0, atol=1e-12)
        errors.append(abs(force[2] / sphere_force(radius, height) - 1.0))
    assert errors[1] < 0.02
    assert errors[2] < 0.4 * errors[1] < 0.4 * errors[0]


def test_a_rigid_ball_in_a_compliant_floor_has_the_force_of_the_integral() -> None:
    """With the pressure E z / s at the depth z, F = E / s pi (R d^2 - d^3 / 3): the weight of a fluid displaced."""
    radius, depth, s = 0.1, 0.03, 0.1
    bodies = [body(Sphere(radius), "rigid", hint=0.003), body(HalfSpace(), "compliant")]
    faces = faces_of(bodies, [at(0, 0, radius - depth), np.eye(4)])
    expected = E / s * math.pi * (radius * depth**2 - depth**3 / 3.0)
    assert force_on_M(faces)[2] == pytest.approx(expected, rel=5e-3)


def test_a_box_on_a_floor_has_its_pressure_times_its_area() -> None:
    """A box of height h, in contact at the depth x, has the pressure 2 E x / h, on a patch without its rim's cells."""
    x, h = 0.002, 0.1
    faces = faces_of(
        [body(Box(0.3, 0.2, h), "compliant"), body(HalfSpace(), "rigid")], [at(0, 0, h / 2 - x), np.eye(4)]
    )
    inner = (0.3 - 2 * x) * (0.2 - 2 * x)
    p = 2.0 * E * x / h
    # At the rim, where the sides are nearer than the floor, the pressure falls to zero linearly.
    rim = 2.0 * x * (0.3 + 0.2 - 4 * x) * p / 2.0 + 4.0 * x * x * p / 3.0
    assert force_on_M(faces)[2] == pytest.approx(inner * p + rim, rel=1e-12)
    assert faces.numbers[:, AREA].sum() == pytest.approx(0.06, rel=1e-12)


def test_two_boxes_meet_where_their_pressures_are_the_same() -> None:
    """With moduli E and 3 E, the soft one takes 3/4 of the overlap: springs in series."""
    x, h = 0.004, 0.1
    boxes = [body(Box(0.2, 0.2, h), "compliant", modulus) for modulus in (E, 3.0 * E)]
    faces = faces_of(boxes, [at(0, 0, h - x), np.eye(4)])
    flat = np.abs(faces.numbers[:, NORMAL + 2] - 1.0) < 1e-12
    assert flat.sum() >= 4
    np.testing.assert_allclose(faces.numbers[flat, CENTROID + 2], h / 2.0 - x / 4.0, rtol=0, atol=1e-15)
    inner = flat & (np.abs(faces.numbers[:, CENTROID]) < 0.08) & (np.abs(faces.numbers[:, CENTROID + 1]) < 0.08)
    np.testing.assert_allclose(faces.numbers[inner, PRESSURE], 2.0 * E / h * 0.75 * x, rtol=1e-12)


# ---------------------------------------------------------------------- what holds of any


PAIRS = [*itertools.combinations_with_replacement(SHAPES, 2), *((name, "half_space") for name in SHAPES)]


def kinds_of(names: tuple[str, str]) -> list[tuple[str, str]]:
    kinds = [("compliant", "rigid"), ("rigid", "compliant"), ("compliant", "compliant")]
    return kinds[:2] if "half_space" in names else kinds


@pytest.mark.parametrize("names", PAIRS, ids="-".join)
def test_faces_lie_where_they_should_and_normals_go_with_gradients(names: tuple[str, str], tmp_path: Path) -> None:
    """Every face lies within the compliant geometries and on the rigid one, and is what its corners say."""
    rng = np.random.default_rng(1)
    shapes = [make_shape(geometry, name, tmp_path) for name in names]
    for kinds in kinds_of(names):
        bodies = [body(shape, kind, modulus) for shape, kind, modulus in zip(shapes, kinds, (E, 3.0 * E))]
        engine = HydroelasticEngine(HydroelasticArrays(bodies))
        found = 0
        for _ in range(8):
            X_WG = np.array([random_pose(rng, 0.06) for _ in names])
            faces = engine.contact_surfaces(X_WG, np.array([[0, 1]]))
            assert np.isfinite(faces.numbers).all()
            if not len(faces.numbers) or faces.numbers[:, AREA].sum() < 1e-7:
                continue
            found += 1
            check_faces(faces)
            check_normals(faces, bodies)
            if "half_space" not in names:
                check_inside(faces, bodies, X_WG)
        assert found >= 2


def check_faces(faces: Any) -> None:
    """Areas, centroids and normals are those of the corners; pressures are linear."""
    count = faces.owners[:, 1]
    assert (count >= 3).all() and (count <= MOST_CORNERS).all()
    is_corner = np.arange(faces.corners.shape[1]) < count[:, None]
    corners = np.where(is_corner[..., None], faces.corners, faces.corners[:, :1])  # the first one in place of none
    p, e = corners[..., :3], corners[..., 3]
    spokes = p[:, 1:] - p[:, :1]
    cross = np.cross(spokes[:, :-1], spokes[:, 1:])
    areas = faces.numbers[:, AREA, None] * faces.numbers[:, NORMAL : NORMAL + 3]
    np.testing.assert_allclose(cross.sum(axis=1) / 2.0, areas, atol=1e-15)
    of_M, of_N = (faces.numbers[:, start : start + 3] for start in (GRAD_M, GRAD_N))
    gradient = np.where(of_M.any(axis=1)[:, None], of_M, of_N)
    centroid = faces.numbers[:, CENTROID : CENTROID + 3]
    expected = faces.numbers[:, PRESSURE, None] + np.einsum("fci,fi->fc", p - centroid[:, None], gradient)
    np.testing.assert_allclose(e, expected, rtol=0, atol=1e-9 * E)
    assert (p.min(axis=1) - 1e-12 <= centroid).all() and (centroid <= p.max(axis=1) + 1e-12).all()


def check_normals(faces: Any, bodies: list[Any]) -> None:
    """Into M along the gradient of M's pressure, out of N against that of N's, within 5/8 pi; no pressure pulls."""
    assert (faces.numbers[:, PRESSURE] > -1e-9 * E).all()
    if any(not isinstance(b, (CompliantVolume, RigidSurface)) for b in bodies):
        return
    n = faces.numbers[:, NORMAL : NORMAL + 3]
    for start, sign in ((GRAD_M, 1.0), (GRAD_N, -1.0)):
        g = faces.numbers[:, start : start + 3]
        cosines = sign * np.einsum("fi,fi->f", n, g) / np.maximum(np.linalg.norm(g, axis=1), 1e-300)
        assert (cosines >= math.cos(5.0 * math.pi / 8.0) - 1e-12).all()


def check_inside(faces: Any, bodies: list[Any], X_WG: Any) -> None:
    """Corners lie in compliant bodies, and on rigid surfaces."""
    points = np.concatenate([c[: o[1], :3] for c, o in zip(faces.corners, faces.owners)])
    for b, X in zip(bodies, X_WG):
        p_G = (points - X[:3, 3]) @ X[:3, :3]
        if isinstance(b, RigidSurface):
            distance = MeshDistance(b.mesh.vertex_array(), b.mesh.triangle_array())
            assert max(abs(distance(p)[0]) for p in p_G[:40]) < 1e-12
        else:
            distance = MeshDistance(b.volume.mesh.vertex_array(), boundary_triangles(b.volume.mesh))
            assert max(distance(p)[0] for p in p_G[:40]) < 1e-12


def sum_along_edges(faces: Any) -> Any:
    """The integral of the pressure along all edges of all faces, as a vector, in turn around each face.

    Where faces meet it cancels, however their edges are divided. What is left is the edge of the patch, and that of any
    face that is missing.
    """
    total = np.zeros(3)
    for corners, owner in zip(faces.corners, faces.owners):
        p = corners[: owner[1]]
        ends = np.roll(p, -1, axis=0)
        total += (p[:, 3] + ends[:, 3]) @ (ends[:, :3] - p[:, :3]) / 2.0
    return total


@pytest.mark.parametrize("name", SHAPES)
def test_patches_on_a_floor_have_no_cracks(name: str, tmp_path: Path) -> None:
    """The edge of the patch lies on the surface of the compliant body, where the pressure is zero."""
    rng = np.random.default_rng(2)
    bodies = [body(make_shape(geometry, name, tmp_path), "compliant"), body(HalfSpace(), "rigid")]
    for _ in range(20):
        faces = faces_of(bodies, [random_pose(rng, 0.03), np.eye(4)])
        np.testing.assert_allclose(sum_along_edges(faces), 0.0, atol=1e-12 * E)
        if len(faces.numbers) > 1:
            largest = int(faces.numbers[:, AREA].argmax())
            without = type(faces)(*(np.delete(array, largest, axis=0) for array in faces))
            assert np.linalg.norm(sum_along_edges(without)) > 1e-9 * E


@pytest.mark.parametrize("kinds", [("compliant", "rigid"), ("compliant", "compliant")], ids="-".join)
@pytest.mark.parametrize("name", ["sphere", "ellipsoid", "rod", "capsule", "vtk"])
def test_patches_on_a_box_have_no_cracks(name: str, kinds: tuple[str, str], tmp_path: Path) -> None:
    """Geometries that overlap little: no face goes against the gradient, so that none is left out."""
    rng = np.random.default_rng(3)
    bodies = [body(make_shape(geometry, name, tmp_path), kinds[0]), body(Box(0.5, 0.5, 0.5), kinds[1], 3.0 * E)]
    assert isinstance(bodies[0], CompliantVolume)
    vertices = bodies[0].volume.mesh.vertex_array()
    for _ in range(10):
        X_WA, X_WB = random_pose(rng, 0.05), np.eye(4)
        X_WA[2, 3] = 0.25 - 0.008 - (vertices @ X_WA[2, :3]).min()
        faces = faces_of(bodies, [X_WA, X_WB])
        assert len(faces.numbers)
        np.testing.assert_allclose(sum_along_edges(faces), 0.0, atol=1e-12 * E)


@pytest.mark.parametrize("names", [("sphere", "box"), ("rod", "convex"), ("vtk", "ellipsoid"), ("capsule", "slab")])
def test_the_order_of_geometries_does_not_matter(names: tuple[str, str], tmp_path: Path) -> None:
    rng = np.random.default_rng(3)
    shapes = [make_shape(geometry, name, tmp_path) for name in names]
    for kinds in kinds_of(names):
        items = [(s, make_properties(geometry, s, k, m)) for s, k, m in zip(shapes, kinds, (E, 3.0 * E))]
        one, other = Scene(items), Scene(items[::-1])
        for _ in range(10):
            X_WF = [random_pose(rng, 0.05) for _ in names]
            surfaces = one.surfaces(X_WF), other.surfaces(X_WF[::-1])
            assert len(surfaces[0]) == len(surfaces[1])
            if not surfaces[0] or surfaces[0][0].total_area() < 1e-8:
                continue
            (f, m, area, centroid), (f_N, m_N, other_area, other_centroid) = (resultant(s[0]) for s in surfaces)
            size = np.linalg.norm(f) + 1e-3
            np.testing.assert_allclose(f, -f_N, rtol=0, atol=1e-11 * size)
            np.testing.assert_allclose(m, -m_N, rtol=0, atol=1e-11 * size)
            assert area == pytest.approx(other_area, rel=1e-10)
            np.testing.assert_allclose(centroid, other_centroid, rtol=0, atol=1e-10)


@pytest.mark.parametrize("names", [("sphere", "box"), ("cube", "cube"), ("disk", "half_space"), ("vtk", "convex")])
def test_forces_are_continuous_in_the_pose(names: tuple[str, str], tmp_path: Path) -> None:
    """In steps of 1 um, no force changes by more than a stiffness of the whole patch allows."""
    rng = np.random.default_rng(4)
    shapes = [make_shape(geometry, name, tmp_path) for name in names]
    for kinds in kinds_of(names)[:: 2 if "half_space" not in names else 1]:
        bodies = [body(shape, kind) for shape, kind in zip(shapes, kinds)]
        engine = HydroelasticEngine(HydroelasticArrays(bodies))
        for _ in range(5):
            X_WG = np.array([random_pose(rng, 0.03) for _ in names])
            way = rng.normal(size=3)
            way *= 1e-6 / np.linalg.norm(way)
            forces = []
            for _ in range(200):
                X_WG[0, :3, 3] += way
                forces.append(force_on_M(engine.contact_surfaces(X_WG, np.array([[0, 1]]))))
            steps = np.linalg.norm(np.diff(forces, axis=0), axis=1)
            # E / depth is the largest gradient, 0.2 m squared the largest area.
            assert steps.max() < E / 0.03 * 0.04 * 1e-6


def test_faces_that_two_tetrahedra_share_are_counted_once() -> None:
    """The floor of the patch lies in faces of tetrahedra, exactly: the middle of a cube."""
    cube = body(Box(0.2, 0.2, 0.2), "compliant")
    top = body(Box(1.0, 1.0, 0.25), "rigid")
    faces = faces_of([cube, top], [np.eye(4), at(0, 0, -0.125)])
    assert faces.numbers[:, AREA].sum() == pytest.approx(0.04, rel=1e-12)
    half_space = faces_of([cube, body(HalfSpace(), "rigid")], [np.eye(4), np.eye(4)])
    assert half_space.numbers[:, AREA].sum() == pytest.approx(0.04, rel=1e-12)


def test_outputs_grow_and_have_the_number_of_faces(tmp_path: Path) -> None:
    bodies = [body(Sphere(0.1), "compliant", hint=0.002), body(HalfSpace(), "rigid")]
    X_WG = np.array([at(0, 0, 0.05), np.eye(4)])
    many = faces_of(bodies, list(X_WG))
    arrays = HydroelasticArrays(bodies)
    corners, numbers, owners = (
        np.full((5, MOST_CORNERS, 4), np.nan),
        np.full((5, 14), np.nan),
        np.zeros((5, 4), np.int64),
    )
    pairs = np.array([[0, 1]])
    count = contact_surfaces(arrays.bodies, arrays.meshes, X_WG, pairs, 1, make_buffers(), corners, numbers, owners)
    assert count == len(many.numbers) > 64
    np.testing.assert_array_equal(numbers, many.numbers[:5])


@pytest.mark.parametrize("kinds", [("compliant", "rigid"), ("compliant", "compliant")], ids="-".join)
def test_faces_follow_poses_with_derivatives(kinds: tuple[str, str], tmp_path: Path) -> None:
    shapes = [make_shape(geometry, name, tmp_path) for name in ("convex", "box")]
    bodies = [body(shape, kind) for shape, kind in zip(shapes, kinds)]
    rng = np.random.default_rng(5)
    X_WG = np.array([random_pose(rng, 0.03) for _ in shapes])
    arrays, pairs, h = HydroelasticArrays(bodies), np.array([[0, 1]]), 1e-170
    dX = np.zeros((2, 4, 4, 1))
    dX[0, :3, 3, 0] = rng.normal(size=3)
    dX[0, :3, :3, 0] = np.cross(np.eye(3), rng.normal(size=3)) @ X_WG[0, :3, :3]
    faces = faces_of(bodies, list(X_WG))
    _, lanes = differentiate_surfaces(arrays, X_WG, dX, pairs, faces, h)
    numbers = lanes[0]
    np.testing.assert_array_equal(numbers.real, faces.numbers)
    found = (numbers[:, AREA] * numbers[:, PRESSURE]) @ numbers[:, NORMAL : NORMAL + 3]
    step = 1e-7
    moved = [force_on_M(faces_of(bodies, [X_WG[0] + s * step * dX[0, ..., 0], X_WG[1]])) for s in (-1.0, 1.0)]
    np.testing.assert_allclose(found.imag / h, (moved[1] - moved[0]) / (2.0 * step), rtol=1e-4, atol=1.0)


def test_a_hull_of_points_that_touches_at_a_vertex_has_no_patch() -> None:
    tip = Convex(np.array([[0.0, 0.1, -0.1, 0.0], [0.0, 0.1, 0.1, -0.1], [0.0, 0.1, 0.1, 0.1]]), "tip")
    bodies = [body(tip, "compliant"), body(HalfSpace(), "rigid")]
    assert len(faces_of(bodies, [np.eye(4), np.eye(4)]).numbers) == 0
    assert len(faces_of(bodies, [at(0, 0, -1e-6), np.eye(4)]).numbers) > 0


@pytest.mark.parametrize("representation", list(HydroelasticContactRepresentation))
def test_faces_that_are_points_or_lines_are_left_out(representation: Any) -> None:
    def surface(*corners: list[list[float]]) -> ContactSurface:
        faces = np.zeros((len(corners), 4, 4))
        faces[:, :3, :3] = corners
        numbers, owners = np.zeros((len(corners), FACE_NUMBERS)), np.zeros((len(corners), 4), dtype=np.int64)
        numbers[:, AREA] = [0.5 * abs(np.cross(b - a, c - a)[2]) for a, b, c in np.asarray(corners)]
        numbers[:, CENTROID : CENTROID + 3] = np.mean(corners, axis=1)
        owners[:, 1] = 3
        ids = (GeometryId.get_new_id(), GeometryId.get_new_id())
        return ContactSurface(ids, representation, (faces, numbers, owners), (True, True))

    face, line = [[0.0, 0, 0], [1, 0, 0], [0, 1, 0]], [[5.0, 0, 0], [6, 0, 0], [6, 0, 0]]
    mixed, nothing = surface(line, face, line), surface(line, line)
    is_triangle = representation == HydroelasticContactRepresentation.kTriangle
    assert mixed.num_faces() == (3 if is_triangle else 1) and mixed.total_area() == 0.5
    assert mixed.centroid() == pytest.approx([1 / 3, 1 / 3, 0.0])
    mesh = mixed.tri_mesh_W() if is_triangle else mixed.poly_mesh_W()
    assert mesh.num_vertices() == mixed.num_vertices()
    assert nothing.num_faces() == nothing.total_area() == 0
    assert nothing.centroid() == pytest.approx(np.mean(line, axis=0))
