"""Contact pairs of the faces of hydroelastic contact surfaces."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hydroelastic_scenes import make_properties

import merganser.geometry as geometry
from merganser.geometry import Box, HalfSpace, Sphere
from merganser.geometry.hydroelastic.engine import HydroelasticArrays, HydroelasticEngine
from merganser.geometry.hydroelastic.face_columns import AREA, CENTROID, GRAD_M, NORMAL, PRESSURE
from merganser.geometry.hydroelastic.representation import make_representation
from merganser.multibody.contact.contact_pairs import contact_pair_dtype, material_dtype
from merganser.multibody.contact.hydroelastic_pairs import (
    POLYGONS,
    SPRINGS_OF_POLYGONS,
    SPRINGS_OF_TRIANGLES,
    TRIANGLES,
    make_hydroelastic_pairs,
)

E = 1e5
PAIR = np.array([[0, 1]])


def materials_of(*rows: tuple[int, float, float, float]) -> Any:
    """Of mobods with a dissipation, a relaxation time and a friction each."""
    materials = np.zeros(len(rows), material_dtype)
    for material, (mobod, dissipation, tau, mu) in zip(materials, rows):
        material["mobod"], material["dissipation"], material["relaxation_time"] = mobod, dissipation, tau
        material["stiffness"], material["static_friction"], material["dynamic_friction"] = 1e6, 1.2 * mu, mu
    return materials


MATERIALS = materials_of((1, 2.0, 0.1, 0.5), (0, 6.0, 0.3, 1.0))
MOVING = np.array([-1, 0])


class Contact:
    """Two geometries, M at a height [m] above N."""

    def __init__(self, shapes: list[Any], kinds: list[str], moduli: tuple[float, float] = (E, 3.0 * E)) -> None:
        properties = [make_properties(geometry, s, k, m, 0.01) for s, k, m in zip(shapes, kinds, moduli)]
        self.engine = HydroelasticEngine(
            HydroelasticArrays([make_representation(s, p, "Geometry 'g'") for s, p in zip(shapes, properties)])
        )
        self.moduli = np.array([m if kind == "compliant" else math.inf for m, kind in zip(moduli, kinds)])

    def poses(self, height: float) -> Any:
        X_WG = np.tile(np.eye(4), (2, 1, 1))
        X_WG[0, 2, 3] = height
        return X_WG

    def faces(self, height: float) -> Any:
        return self.engine.contact_surfaces(self.poses(height), PAIR)

    def pairs(
        self, height: float, materials: Any = MATERIALS, moving: Any = MOVING, kernel: Any = None,
        points: int = SPRINGS_OF_POLYGONS, capacity: int | None = None,
    ) -> Any:  # fmt: skip
        faces, materials = self.faces(height), materials.copy()
        materials["modulus"] = self.moduli
        out = np.zeros(30 * len(faces.numbers) if capacity is None else capacity, contact_pair_dtype)
        for name in contact_pair_dtype.names or ():
            out[name] = np.nan if contact_pair_dtype[name].kind == "f" else -7
        kernel = kernel or make_hydroelastic_pairs
        X_WG = self.poses(height)
        count = kernel(materials, moving, points, X_WG, PAIR, faces.corners, faces.numbers, faces.owners, 0, out)
        assert capacity is not None or count <= len(out)
        return out[:count] if capacity is None else count


BALL = [Sphere(0.1), HalfSpace()]


@pytest.mark.parametrize("kinds", [["compliant", "rigid"], ["rigid", "compliant"]], ids="-".join)
def test_pairs_carry_the_force_of_the_surface(kinds: list[str]) -> None:
    contact = Contact(BALL, kinds)
    pairs, faces = contact.pairs(0.085), contact.faces(0.085).numbers
    np.testing.assert_allclose(
        (pairs["elastic_force"][:, None] * pairs["nhat_BA_W"]).sum(axis=0),
        (faces[:, AREA] * faces[:, PRESSURE]) @ faces[:, NORMAL : NORMAL + 3],
        rtol=1e-12,
        atol=1e-12,
    )


def test_on_a_flat_patch_the_force_grows_by_the_stiffnesses_of_all_pairs() -> None:
    """The patch grows too, but there is no pressure at its edge."""
    contact, height, step = Contact(BALL, ["compliant", "rigid"]), 0.085, 1e-6
    lower, higher = (contact.pairs(height + s * step)["elastic_force"].sum() for s in (-1, 1))
    stiffness = contact.pairs(height)["stiffness"].sum()
    assert stiffness == pytest.approx((lower - higher) / (2.0 * step), rel=1e-6)


def test_each_pair_is_its_face_at_its_centroid() -> None:
    contact = Contact(BALL, ["compliant", "rigid"])
    pairs, faces = contact.pairs(0.09), contact.faces(0.09).numbers
    of = faces[pairs["source"]]
    np.testing.assert_array_equal(pairs["p_WC"], of[:, CENTROID : CENTROID + 3])
    np.testing.assert_array_equal(pairs["nhat_BA_W"], of[:, NORMAL : NORMAL + 3])
    g = np.einsum("fi,fi->f", of[:, NORMAL : NORMAL + 3], of[:, GRAD_M : GRAD_M + 3])
    np.testing.assert_allclose(pairs["stiffness"], of[:, AREA] * g, rtol=1e-12)
    # Moved out by the gap phi, a face has no pressure left.
    np.testing.assert_allclose(pairs["elastic_force"] + pairs["stiffness"] * pairs["phi"], 0.0, atol=1e-12)
    assert (pairs["phi"] < 0.0).all()
    assert set(pairs["mobod_A"]) == {1} and set(pairs["mobod_B"]) == {0}


def test_two_compliant_bodies_are_springs_in_series() -> None:
    """Boxes of height h and moduli E and 3 E have gradients 2 E / h and 6 E / h, together 3/4 of 2 E / h."""
    h = 0.1
    contact = Contact([Box(0.2, 0.2, h), Box(0.2, 0.2, h)], ["compliant", "compliant"])
    pairs, faces = contact.pairs(h - 0.004), contact.faces(h - 0.004).numbers
    inner = np.abs(pairs["p_WC"][:, :2]).max(axis=1) < 0.08
    assert inner.sum() >= 4
    areas = faces[pairs["source"][inner], AREA]
    np.testing.assert_allclose(pairs["stiffness"][inner], areas * 0.75 * 2.0 * E / h, rtol=1e-12)
    np.testing.assert_allclose(pairs["phi"][inner], -0.004, rtol=1e-12)  # all of the overlap


def test_materials_combine_as_those_of_points_do() -> None:
    rigid = Contact(BALL, ["compliant", "rigid"]).pairs(0.09)
    assert set(rigid["dissipation"]) == {2.0}  # a rigid body dissipates nothing
    both = Contact([Sphere(0.1), Sphere(0.1)], ["compliant", "compliant"]).pairs(0.19)
    np.testing.assert_allclose(both["dissipation"], (3.0 * 2.0 + 1.0 * 6.0) / 4.0, rtol=1e-12)
    for pairs in (rigid, both):
        np.testing.assert_allclose(pairs["relaxation_time"], 0.4, rtol=1e-12)
        np.testing.assert_allclose(pairs["dynamic_friction"], 2.0 * 0.5 * 1.0 / 1.5, rtol=1e-12)
        np.testing.assert_allclose(pairs["static_friction"], 1.2 * 2.0 * 0.5 * 1.0 / 1.5, rtol=1e-12)


def test_bodies_that_cannot_move_have_no_pairs() -> None:
    contact = Contact(BALL, ["compliant", "rigid"])
    assert len(contact.pairs(0.09, moving=np.array([-1, -1]))) == 0
    assert len(contact.pairs(0.09, moving=np.array([0, -1]))) == len(contact.faces(0.09).numbers)


def test_faces_whose_pressure_does_not_grow_along_the_normal_are_no_pairs() -> None:
    """They are on the far side of what has gone through the floor."""
    contact = Contact(BALL, ["compliant", "rigid"])
    assert len(contact.faces(-0.05).numbers) > 0
    assert len(contact.pairs(-0.05)) == len(contact.pairs(-0.05, points=SPRINGS_OF_TRIANGLES)) == 0


@pytest.mark.parametrize("points", [POLYGONS, TRIANGLES])
def test_in_continuous_time_all_faces_act(points: int) -> None:
    contact = Contact(BALL, ["compliant", "rigid"])
    numbers = contact.faces(-0.05).numbers
    pairs = contact.pairs(-0.05, points=points)
    assert len(np.unique(pairs["source"])) == len(numbers) > 0
    assert pairs["elastic_force"].sum() == pytest.approx(numbers[:, AREA] @ numbers[:, PRESSURE], rel=1e-12)


@pytest.mark.parametrize("points", [SPRINGS_OF_POLYGONS, SPRINGS_OF_TRIANGLES, POLYGONS, TRIANGLES])
def test_the_kernel_is_the_same_in_python(points: int) -> None:
    contact = Contact([Sphere(0.1), Sphere(0.1)], ["compliant", "compliant"])
    compiled = contact.pairs(0.19, points=points)
    plain = contact.pairs(0.19, kernel=make_hydroelastic_pairs.interpreted, points=points)
    for name in contact_pair_dtype.names or ():
        np.testing.assert_allclose(compiled[name], plain[name], rtol=1e-13, atol=1e-18)


def test_triangles_carry_the_same_force_and_three_points_the_same_moments() -> None:
    """The pressure is linear on a face, so that its product with a position is quadratic."""
    contact = Contact([Sphere(0.1), Sphere(0.1)], ["compliant", "compliant"])
    whole, triangles, points = (
        contact.pairs(0.19, points=p) for p in (SPRINGS_OF_POLYGONS, SPRINGS_OF_TRIANGLES, TRIANGLES)
    )
    for pairs in (triangles, points):
        assert pairs["elastic_force"].sum() == pytest.approx(whole["elastic_force"].sum(), rel=1e-12)
    assert len(points) == 3 * len(triangles) > len(whole)
    # Of one triangle, against barycentric coordinates: int p x dA = A / 12 sum_ij p_i x_j (1 + delta_ij).
    faces = contact.faces(0.19)
    corners, numbers = faces.corners[0, :2], faces.numbers[0]
    centroid = np.append(numbers[CENTROID : CENTROID + 3], numbers[PRESSURE])
    vertices = np.vstack([corners, centroid])
    area = 0.5 * np.linalg.norm(np.cross(vertices[1, :3] - vertices[0, :3], vertices[2, :3] - vertices[0, :3]))
    expected = area / 12.0 * (vertices[:, 3] @ (np.ones((3, 3)) + np.eye(3)) @ vertices[:, :3])
    found = points["elastic_force"][:3] @ points["p_WC"][:3]
    np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-15)


def test_more_pairs_than_fit_are_counted_and_not_written() -> None:
    contact = Contact([Sphere(0.1), Sphere(0.1)], ["compliant", "compliant"])
    assert contact.pairs(0.19, capacity=3) == len(contact.pairs(0.19)) > 3


def test_surface_velocities_on_bodies_are_reported_in_the_world() -> None:
    materials = MATERIALS.copy()
    materials["v_GS_G"] = [[0.3, 0.0, 0.0], [0.1, 0.2, 0.0]]
    pairs = Contact(BALL, ["compliant", "rigid"]).pairs(0.09, materials)
    np.testing.assert_allclose(pairs["v_SbSa_W"], np.tile([0.2, -0.2, 0.0], (len(pairs), 1)), atol=1e-15)
