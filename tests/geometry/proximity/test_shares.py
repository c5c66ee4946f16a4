"""What each point of a contact manifold is worth."""

import numpy as np
import pytest
from proximity_shapes import write_obj

from merganser.framework.math import RollPitchYaw
from merganser.geometry import Box, Capsule, Convex, Cylinder, HalfSpace, Sphere
from merganser.geometry.proximity import ProximityArrays, ProximityEngine

THRESHOLD = np.arccos(0.999)  # of the angle between what leans on a face and the face


class Ground:
    """A shape on a half space, or on a box whose upper face is at z = 0."""

    def __init__(self, shape, floor):
        self.shape, self.top = shape, 0.0 if isinstance(floor, HalfSpace) else 0.5 * floor.height()
        self.engine = ProximityEngine(ProximityArrays([floor, shape], [0, 1]))

    def touch(self, R_WB, depth, place=(0.0, 0.0)):
        """Contacts where the lowest point of the shape is so deep."""
        down = R_WB.T @ [0.0, 0.0, -1.0]
        if isinstance(self.shape, Box):
            reach = np.abs(down) @ self.shape.size() / 2.0
        elif isinstance(self.shape, Cylinder):
            reach = self.shape.radius() * np.hypot(*down[:2]) + abs(down[2]) * self.shape.length() / 2.0
        else:
            reach = self.shape.radius() + abs(down[2]) * self.shape.length() / 2.0
        X_WG = np.tile(np.eye(4), (2, 1, 1))
        X_WG[1, :3, :3], X_WG[1, :3, 3] = R_WB, [*place, self.top + reach - depth]
        return self.engine.contact_manifolds(X_WG)[1]

    def force(self, R_WB, depth, place=(0.0, 0.0)):
        """Over that of one point with all of the stiffness."""
        contacts = self.touch(R_WB, depth, place)
        return float(contacts["share"] @ contacts["depth"]) / depth


def rotation(roll, pitch, yaw):
    return RollPitchYaw(roll, pitch, yaw).ToRotationMatrix().matrix()


def area_and_centroid(corners):
    x, y = corners[:, 0], corners[:, 1]
    twice = x * np.roll(y, -1) - np.roll(x, -1) * y
    area = 0.5 * twice.sum()
    middle = ((corners + np.roll(corners, -1, axis=0)) * twice[:, np.newaxis]).sum(axis=0) / (6.0 * area)
    return area, middle


@pytest.mark.parametrize(
    "corners",
    [
        [[-0.1, -0.2], [0.3, -0.1], [0.0, 0.4]],
        [[-0.1, -0.2], [0.5, -0.2], [0.3, 0.1], [-0.1, 0.4]],
        [[0.0, 0.0], [1.0, 0.0], [1.0, 1e-3], [0.0, 2e-3]],
    ],
)
def test_even_pressure_on_a_face_acts_at_its_centroid(corners, tmp_path):
    corners = np.array(corners)
    vertices = np.array([[*p, z] for z in (0.0, 0.3) for p in corners])
    shape = Convex(write_obj(vertices, tmp_path / "prism.obj"))
    X_WG = np.tile(np.eye(4), (2, 1, 1))
    X_WG[1, 2, 3] = -1e-4
    contacts = ProximityEngine(ProximityArrays([HalfSpace(), shape], [0, 1])).contact_manifolds(X_WG)[1]
    assert len(contacts) == len(corners)
    assert contacts["share"].sum() == pytest.approx(1.0, abs=1e-14)
    assert (contacts["share"] > 0.0).all()
    np.testing.assert_allclose(contacts["share"] @ contacts["p_WC"][:, :2], area_and_centroid(corners)[1], atol=1e-13)


@pytest.mark.parametrize(
    ("shape", "roll", "shares"),
    [
        (Box(0.1, 0.2, 0.3), 0.0, [0.25] * 4),
        (Cylinder(0.1, 0.2), 0.0, [0.125] * 8),
        (Cylinder(0.1, 0.2), 0.5 * np.pi, [0.5] * 2),
        (Capsule(0.1, 0.2), 0.5 * np.pi, [0.5] * 2),
        (Capsule(0.1, 0.2), 0.0, [1.0]),
    ],
)
@pytest.mark.parametrize("floor", [HalfSpace(), Box(2.0, 2.0, 1.0)])
def test_corners_of_regular_faces_share_alike(shape, roll, shares, floor):
    contacts = Ground(shape, floor).touch(rotation(roll, 0.0, 0.0), 1e-4)
    np.testing.assert_allclose(contacts["share"], shares, atol=1e-12)


def test_a_point_alone_has_all_to_the_last_bit():
    X_WG = np.tile(np.eye(4), (2, 1, 1))
    X_WG[1, 2, 3] = 0.09
    for floor in (HalfSpace(), Sphere(1e-3)):
        engine = ProximityEngine(ProximityArrays([floor, Sphere(0.1)], [0, 1]))
        assert engine.contact_manifolds(X_WG)[1]["share"].tolist() == [1.0]


SHAPES = [Box(0.1, 0.2, 0.05), Box(0.1, 0.1, 0.002), Cylinder(0.1, 0.1), Capsule(0.05, 0.2)]
AXES = [(0.0, 1.0, 0.0), (0.7, 0.5, 0.0)]  # over an edge, and over a corner


@pytest.mark.parametrize("floor", [HalfSpace(), Box(4.0, 4.0, 1.0)], ids=["half space", "box"])
@pytest.mark.parametrize("axis", AXES, ids=["edge", "corner"])
@pytest.mark.parametrize("shape", SHAPES, ids=repr)
def test_force_over_a_tilt_sweep_is_continuous(shape, axis, floor):
    """From one face to the next: changes from angle to angle become smaller with the step between them."""
    ground, changes = Ground(shape, floor), []
    for count in (500, 4000):
        angles = np.linspace(0.0, 0.5 * np.pi, count)
        force = [ground.force(rotation(*(a * np.array(axis))), 2e-3) for a in angles]
        changes.append(np.abs(np.diff(force)).max())
    assert changes[1] < 0.2 * changes[0] or changes[1] < 1e-9


@pytest.mark.parametrize("axis", AXES, ids=["edge", "corner"])
def test_what_leans_on_an_edge_or_a_corner_rests_on_that_with_all_the_pair_can_carry(axis):
    ground = Ground(Box(0.1, 0.2, 0.05), HalfSpace())
    for angle in (0.2, 0.4, 0.6):
        contacts = ground.touch(rotation(*(angle * np.array(axis))), 1e-3)
        deepest = contacts[contacts["depth"] > 1e-3 - 1e-12]
        assert len(deepest) == (2 if axis[0] == 0.0 else 1)
        assert deepest["share"].sum() == pytest.approx(1.0, abs=1e-9)


def test_shares_do_not_change_at_first_order_where_a_box_rocks_on_its_face():
    ground = Ground(Box(0.1, 0.1, 0.1), HalfSpace())
    deviations = [
        np.abs(ground.touch(rotation(0.0, angle, 0.0), 0.1 * np.sin(angle) + 1e-4)["share"] - 0.25).max()
        for angle in (2e-4, 2e-3)
    ]
    assert deviations[1] == pytest.approx(100.0 * deviations[0], rel=0.02)
    assert deviations[1] < 4.0 * (2e-3 / THRESHOLD) ** 2


def test_force_is_continuous_where_a_tilted_face_slides_over_the_edge_of_a_table(tmp_path):
    """A corner that is cut off becomes two, which have its share between them."""
    corners = np.array([[0.0, -0.05], [0.1, 0.0], [0.0, 0.05]])
    vertices = np.array([[*p, z] for z in (0.0, 0.3) for p in corners])
    shapes = Box(1.0, 1.0, 1.0), Convex(write_obj(vertices, tmp_path / "prism.obj"))
    engine, force = ProximityEngine(ProximityArrays(shapes, [0, 1])), []
    X_WG = np.tile(np.eye(4), (2, 1, 1))
    X_WG[1, :3, :3] = rotation(0.004, 0.008, 0.2)
    for x in np.linspace(0.35, 0.49, 2000):
        X_WG[1, :3, 3] = x, 0.0, 0.5 - 1e-3
        contacts = engine.contact_manifolds(X_WG)[1]
        force.append(float(contacts["share"] @ contacts["depth"]))
    # Where edges meet, the normal of the pair itself jumps, by half a degree here.
    assert np.abs(np.diff(force)).max() < 0.01 * max(force)


def test_force_is_continuous_where_a_tilted_face_has_more_corners_than_are_kept():
    ground, R = Ground(Box(0.1, 0.1, 0.1), Box(1.0, 1.0, 1.0)), rotation(0.004, 0.008, 0.3)
    places = np.linspace(0.4, 0.5, 2000)
    force = [ground.force(R, 2e-3, (x, 0.0)) for x in places]
    assert max(len(ground.touch(R, 2e-3, (x, 0.0))) for x in places[::100]) == 4
    assert np.abs(np.diff(force)).max() < 0.01 * max(force)  # as above


def test_a_tilted_face_is_worth_the_same_from_either_side():
    X_WG = np.tile(np.eye(4), (2, 1, 1))
    X_WG[1, :3, :3], X_WG[1, 2, 3] = rotation(0.01, 0.02, 0.4), 0.549
    shapes = Box(1.0, 1.0, 1.0), Box(0.1, 0.2, 0.1)
    there = ProximityEngine(ProximityArrays(shapes, [0, 1])).contact_manifolds(X_WG)[1].copy()
    back = ProximityEngine(ProximityArrays(shapes[::-1], [0, 1])).contact_manifolds(X_WG[::-1].copy())[1]
    assert len(there) == len(back) > 1
    for name in ("share", "depth"):
        np.testing.assert_allclose(np.sort(back[name]), np.sort(there[name]), atol=1e-12)
