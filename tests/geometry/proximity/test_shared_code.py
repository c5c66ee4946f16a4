"""Which code a set of geometries needs."""

import itertools
import pickle

import numpy as np
import pytest

from merganser.geometry import Box, Capsule, Convex, Cylinder, Ellipsoid, HalfSpace, MeshcatCone, Sphere
from merganser.geometry.proximity import ProximityArrays

CORNERS = np.array(list(itertools.product((-0.1, 0.1), repeat=3))).T


def needed(shapes, monkeypatch):
    """What geometries of these shapes ask for."""
    asked = []
    monkeypatch.setattr("merganser.geometry.proximity.arrays.prepare", asked.extend)
    ProximityArrays(shapes, range(len(shapes)))
    return set(asked)


def test_pairs_with_formulas_need_no_search(monkeypatch):
    assert needed([], monkeypatch) == set()
    assert needed([Sphere(0.1), Capsule(0.1, 0.2), HalfSpace(), Capsule(0.2, 0.1)], monkeypatch) == set()
    assert needed([Sphere(0.1), Cylinder(0.1, 0.2), HalfSpace()], monkeypatch) == set()


@pytest.mark.parametrize(
    ("shape", "names"),
    [
        (Box(0.1, 0.1, 0.1), {"refine"}),
        (Cylinder(0.1, 0.1), {"refine", "deepest", "solve_cylinder"}),
        (Ellipsoid(0.1, 0.2, 0.3), {"refine", "deepest", "deepest_of_smooth"}),
        (Convex(CORNERS, "cube"), {"refine", "deepest", "solve_polytopes"}),
    ],
)
def test_only_the_searches_of_the_shapes_at_hand_are_compiled(shape, names, monkeypatch):
    assert needed([Capsule(0.1, 0.2), shape], monkeypatch) == names


@pytest.mark.parametrize("shape", [Cylinder(0.1, 0.1), Ellipsoid(0.1, 0.2, 0.3)])
def test_ellipsoids_and_cylinders_need_their_steps_beside_each_other_and_boxes(shape, monkeypatch):
    assert "take_steps" in needed([shape, shape], monkeypatch)
    assert "take_steps" in needed([Box(0.1, 0.1, 0.1), shape], monkeypatch)
    assert "take_steps" not in needed([HalfSpace(), Capsule(0.1, 0.2), Convex(CORNERS, "cube"), shape], monkeypatch)


def test_a_cone_or_hull_needs_its_search_for_points(monkeypatch):
    assert needed([MeshcatCone(0.1, 0.1, 0.1)], monkeypatch) == {"refine", "deepest"}
    assert "solve_polytopes" in needed([Convex(CORNERS, "cube")], monkeypatch)


def test_copies_in_other_processes_ask_for_their_searches(monkeypatch):
    arrays = pickle.dumps(ProximityArrays([Box(0.1, 0.1, 0.1), Capsule(0.1, 0.2)], range(2)))
    asked = []
    monkeypatch.setattr("merganser.geometry.proximity.arrays.prepare", asked.extend)
    pickle.loads(arrays)
    assert asked == ["refine"]
