"""Derivatives where shapes stand aligned: feet at centres, on diagonals, edges and corners of faces, all turns square.

What is smooth there is compared with central differences. Where there is a kink, the derivative of the distance lies
between those to both sides.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from proximity_shapes import write_obj

from merganser.framework.math import RigidTransform, RollPitchYaw
from merganser.geometry import Box, Capsule, Convex, Cylinder, Ellipsoid, HalfSpace, MeshcatCone, Shape, Sphere
from merganser.geometry.proximity import ProximityArrays, ProximityEngine, manifold_derivatives
from merganser.geometry.proximity.derivatives import PairDifferential, PoseDifferential
from merganser.geometry.proximity.manifold_derivatives import differentiate_manifolds

Array = Any
# No two lengths are equal, so that only the alignment makes a tie. What lies below is greater than what stands on it.
BELOW = {"half space": (0.0, 0.0, 0.0), "sphere": (0.3, 0.3, 0.3), "capsule": (0.12, 0.12, 0.42),
         "box": (0.5, 0.4, 0.25), "cylinder": (0.36, 0.36, 0.41), "ellipsoid": (0.31, 0.52, 0.43),
         "cone": (0.44, 0.37, 0.6), "convex": (0.55, 0.45, 0.325)}  # fmt: skip
ABOVE = {"sphere": (0.1, 0.1, 0.1), "capsule": (0.05, 0.05, 0.165), "box": (0.2, 0.15, 0.1),
         "cylinder": (0.11, 0.11, 0.17), "ellipsoid": (0.09, 0.21, 0.14), "cone": (0.12, 0.13, 0.25),
         "convex": (0.22, 0.16, 0.13)}  # fmt: skip
TURNS = {"upright": (0.0, 0.0, 0.0), "on its side": (math.pi / 2, 0.0, 0.0),
         "upside down": (math.pi, 0.0, 0.0), "on an edge": (math.pi / 4, 0.0, 0.0),
         "on a corner": (math.pi / 4, math.atan(math.sqrt(0.5)), 0.0)}  # fmt: skip
OVERLAPS = (("centre", -0.004), ("diagonal", -0.004))  # where the lowest point of B is, and how far it is away
PLACES = (*OVERLAPS, ("centre", 0.05), ("centre", 0.0), ("edge", 0.05), ("corner", 0.05))
STEP = 2e-5
LANE = 1e-170


def shape_of(kind: str, half: tuple[float, float, float], folder: Path) -> Shape:
    """A shape with these half extents."""
    a, b, c = half
    if kind == "convex":
        corners = np.array(list(itertools.product((-a, a), (-b, b), (-c, c))))
        return Convex(str(write_obj(corners, folder / f"convex{a}.obj")))
    return {
        "half space": lambda: HalfSpace(),
        "sphere": lambda: Sphere(a),
        "capsule": lambda: Capsule(a, 2.0 * (c - a)),
        "box": lambda: Box(2.0 * a, 2.0 * b, 2.0 * c),
        "cylinder": lambda: Cylinder(a, 2.0 * c),
        "ellipsoid": lambda: Ellipsoid(a, b, c),
        "cone": lambda: MeshcatCone(c, a, b),
    }[kind]()


def pose(z: Array) -> Array:
    return RigidTransform(RollPitchYaw(*z[:3]), z[3:]).GetAsMatrix4()


class Scene:
    """Shape A below and B above, either of them first; 12 numbers move A and B in their own frames."""

    def __init__(self, below: str, above: str, is_swapped: bool, X_AB: Array, folder: Path) -> None:
        shapes = [shape_of(below, BELOW[below], folder), shape_of(above, ABOVE[above], folder)]
        self.order = -1 if is_swapped else 1
        self.engine, self.X_AB = ProximityEngine(ProximityArrays(shapes[:: self.order], [1, 2])), X_AB

    def poses(self, z: Array) -> Array:
        return np.array([pose(z[:6]), self.X_AB @ pose(z[6:])][:: self.order])

    def derivatives_of_poses(self) -> Array:
        near, far = (
            np.stack([(self.poses(h * e) - self.poses(-h * e)) / (2.0 * h) for e in np.eye(12)], -1)
            for h in (1e-3, 2e-3)
        )
        return (4.0 * near - far) / 3.0

    def result(self, z: Array) -> Any:
        return self.engine.signed_distances(self.poses(z), np.array([[0, 1]]))[0].copy()

    def differential(self) -> PairDifferential | None:
        X, dX = self.poses(np.zeros(12)), self.derivatives_of_poses()
        A, B = (PoseDifferential.of(X[row], dX[row]) for row in range(2))
        return self.engine.differentiate(self.engine.arrays.geometries, (0, 1), self.result(np.zeros(12)), A, B)


def aligned_poses(below: str, above: str, places: tuple[tuple[str, float], ...]) -> Iterator[tuple[str, Array]]:
    """Names and X_AB of B above A, apart, touching, or overlapping."""
    for turn, rpy in TURNS.items():
        R = RollPitchYaw(*rpy).ToRotationMatrix().matrix()
        x, y, z = BELOW[below]
        feet = {"centre": (0.0, 0.0), "diagonal": (0.03, 0.03), "edge": (x, 0.0), "corner": (x, y)}
        height = z + lowest(above, R)
        for foot, gap in places:
            X_AB = np.eye(4)
            X_AB[:3, :3], X_AB[:3, 3] = R, (*feet[foot], height + gap)
            yield f"{above} {turn} on the {foot} of {below}, {gap} m apart", X_AB


def lowest(kind: str, R: Array) -> float:
    """How far the origin of a shape is above its lowest point."""
    down, (a, b, c) = -R[2], ABOVE[kind]
    if kind in ("box", "convex"):
        return float(np.abs(down) @ (a, b, c))
    if kind in ("sphere", "ellipsoid"):
        return float(np.linalg.norm(down * (a, b, c)))
    if kind == "capsule":
        return float(a + (c - a) * abs(down[2]))
    rim = math.hypot(a * down[0], b * down[1])
    return float(rim + c * abs(down[2])) if kind == "cylinder" else float(max(0.0, rim + c * down[2]))


@pytest.mark.parametrize("is_swapped", [False, True], ids=["A first", "B first"])
@pytest.mark.parametrize(("below", "above"), list(itertools.product(BELOW, ABOVE)))
def test_distances_normals_and_points_follow_aligned_poses(
    below: str, above: str, is_swapped: bool, tmp_path: Path
) -> None:
    moves = STEP * np.eye(12)[6:]  # of B: to move both the same way turns and moves the results
    for name, X_AB in aligned_poses(below, above, PLACES):
        scene = Scene(below, above, is_swapped, X_AB, tmp_path)
        found = scene.differential()
        assert found is not None, name
        here = scene.result(np.zeros(12))
        ahead, behind = ([scene.result(sign * e) for e in moves] for sign in (1.0, -1.0))
        # Nearest points of faces or lines on each other are some of many, and jump.
        is_unique = max(np.abs(r["p_WCa"] - here["p_WCa"]).max() for r in ahead + behind) < 100.0 * STEP
        fields = ["distance", "nhat_BA_W", "p_WCa", "p_WCb"] if is_unique else ["distance"]
        if not is_unique and "centre" in name:  # elsewhere a face stands out beyond that below, and the normal jumps
            fields.append("nhat_BA_W")
        for field in fields:
            got = np.atleast_2d(getattr(found, field))[:, 6:]
            right = np.array([np.atleast_1d((r[field] - here[field]) / STEP) for r in ahead]).T
            left = np.array([np.atleast_1d((here[field] - r[field]) / STEP) for r in behind]).T
            tolerance = 2e-3 * max(1.0, np.abs(got).max())
            low, high = np.minimum(left, right) - tolerance, np.maximum(left, right) + tolerance
            assert ((low <= got) & (got <= high)).all(), f"{name}: {field}\n{got}\n{left}\n{right}"


def wrench(contacts: Array) -> Array:
    """The sums of share times depth times normal, and of their moments: what contact forces are made of."""
    n, p = -contacts["nhat_BA_W"], contacts["p_WC"]
    pressure = (contacts["share"] * contacts["depth"])[..., np.newaxis]
    return np.concatenate([(pressure * n).sum(-2), (pressure * np.cross(p, n)).sum(-2)], axis=-1)


@pytest.mark.parametrize("is_swapped", [False, True], ids=["A first", "B first"])
@pytest.mark.parametrize("below", BELOW)
def test_contact_forces_follow_aligned_poses(
    below: str, is_swapped: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(manifold_derivatives, "may_use_compiled", lambda *_: True)
    for above in ABOVE:
        for name, X_AB in aligned_poses(below, above, OVERLAPS):
            scene = Scene(below, above, is_swapped, X_AB, tmp_path)

            def forces(z: Array, scene: Scene = scene) -> Array:
                return wrench(scene.engine.contact_manifolds(scene.poses(z))[1].copy())

            X_WG = scene.poses(np.zeros(12))
            pairs, contacts = (array.copy() for array in scene.engine.contact_manifolds(X_WG))
            if not len(contacts):
                continue
            X_lanes = np.ascontiguousarray(X_WG + 1j * LANE * np.moveaxis(scene.derivatives_of_poses(), -1, 0))
            lanes = differentiate_manifolds(scene.engine, X_WG, X_lanes, pairs, contacts)
            expected = np.array([(forces(h) - forces(-h)) / 2e-6 for h in 1e-6 * np.eye(12)])
            tolerance = 1e-4 * max(1.0, np.abs(expected).max())
            np.testing.assert_allclose(wrench(lanes).imag / LANE, expected, atol=tolerance, err_msg=name)


def turn_of_normal(below: Shape, above: Shape, place: tuple[float, float, float]) -> Array:
    """dn/dp_WBo of a pair, B where given; None where it does not exist."""
    engine = ProximityEngine(ProximityArrays([below, above], [1, 2]))
    X = np.array([np.eye(4), pose([0.0, 0.0, 0.0, *place])])
    still, moving = (PoseDifferential(X[i], i * np.eye(3), np.zeros((3, 3))) for i in range(2))
    result = engine.signed_distances(X, np.array([[0, 1]]))[0].copy()
    found = engine.differentiate(engine.arrays.geometries, (0, 1), result, still, moving)
    return None if found is None else found.nhat_BA_W


@pytest.mark.parametrize("place", [(0.0, 0.0, 0.55), (0.1, 0.1, 0.55), (0.3, 0.3, 0.599), (0.0, 0.2, 0.61)])
@pytest.mark.parametrize("below", [Box(4.0, 4.0, 1.0), Cylinder(2.0, 1.0)], ids=["box", "cylinder"])
def test_the_normal_of_a_ball_on_a_face_is_constant(below: Shape, place: tuple[float, float, float]) -> None:
    np.testing.assert_array_equal(turn_of_normal(below, Sphere(0.1), place), np.zeros((3, 3)))


def test_normals_of_balls_turn_by_the_sum_of_the_radii() -> None:
    # n = p / |p| of a ball over a ball, and across a capsule or a cylinder on their sides: closed forms.
    found = turn_of_normal(Sphere(0.3), Sphere(0.1), (0.0, 0.0, 0.35))
    np.testing.assert_allclose(found, -np.diag([1.0, 1.0, 0.0]) / 0.35, atol=1e-12)
    for shape in (Capsule(0.3, 1.0), Cylinder(0.3, 1.0)):
        found = turn_of_normal(shape, Sphere(0.1), (0.35, 0.0, 0.0))
        np.testing.assert_allclose(found, -np.diag([0.0, 1.0, 0.0]) / 0.35, atol=1e-12)
    # Of an ellipsoid at the end of its semi-axis c, with radii of curvature a^2 / c and b^2 / c.
    found = turn_of_normal(Ellipsoid(0.2, 0.3, 0.4), Sphere(0.1), (0.0, 0.0, 0.45))
    np.testing.assert_allclose(found, -np.diag([1.0 / (0.04 / 0.4 + 0.05), 1.0 / (0.09 / 0.4 + 0.05), 0.0]), atol=1e-9)


@pytest.mark.parametrize(
    ("below", "above"),
    [(Sphere(0.2), Sphere(0.1)), (Capsule(0.2, 0.5), Sphere(0.1)), (Cylinder(0.2, 2.0), Sphere(0.1)),
     (Capsule(0.2, 0.5), Capsule(0.1, 0.3)), (Ellipsoid(0.2, 0.2, 0.4), Sphere(0.1))],
)  # fmt: skip
def test_there_are_no_derivatives_where_all_directions_across_an_axis_are_as_near(below: Shape, above: Shape) -> None:
    assert turn_of_normal(below, above, (0.0, 0.0, 0.0)) is None
