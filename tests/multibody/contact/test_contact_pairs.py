"""From points of geometries and materials to contact pairs."""

import math

import numpy as np
import pytest

from merganser.geometry.proximity import contact_dtype
from merganser.multibody.contact.contact_pairs import contact_pair_dtype, make_contact_pairs, material_dtype

UNMOVED = (0.0, 0.0, 0.0), (0.0, 0.0, 0.0), 0.0  # velocity of the surface, axis and speed of a belt
N = np.array([0.36, -0.48, 0.8])


def materials(*records):
    """Mobod, stiffness, dissipation, relaxation time, frictions, and whether there is to be one point."""
    return np.array([(*record, math.inf, 0.0, *UNMOVED) for record in records], material_dtype)


SOFT, HARD = (1, 1e4, 2.0, 0.1, 0.6, 0.5, 0), (2, 3e4, 1.0, 0.2, 1.0, 0.8, 0)


def contacts(*rows):
    """Pair, place, depth and share."""
    return np.array([(pair, p, N, depth, share) for pair, p, depth, share in rows], contact_dtype)


def make(of_geometries, points, trees=(-1, 0, 1), candidates=((0, 1),)):
    """Contact pairs, by the compiled kernel, which must do what its text says."""
    results, X_WG = [], np.tile(np.eye(4), (len(of_geometries), 1, 1))
    for kernel in (make_contact_pairs, make_contact_pairs.interpreted):
        pairs = np.full(len(points), 7, contact_pair_dtype)  # whatever it was before
        count = kernel(of_geometries, np.array(trees), X_WG, np.array(candidates), points, pairs)
        results.append(pairs[:count])
    assert results[0].tobytes() == results[1].tobytes()
    return results[0]


def test_materials_combine_as_springs_in_series():
    (pair,) = make(materials(SOFT, HARD), contacts((0, [1.0, 2.0, 3.0], 0.01, 1.0)))
    assert (pair["mobod_A"], pair["mobod_B"], pair["source"]) == (1, 2, 0)
    assert pair["stiffness"] == 1e4 * 3e4 / 4e4
    assert pair["elastic_force"] == 0.01 * pair["stiffness"]
    assert pair["phi"] == -0.01
    assert pair["dissipation"] == pytest.approx((3e4 * 2.0 + 1e4 * 1.0) / 4e4)
    assert pair["relaxation_time"] == pytest.approx(0.3)
    assert pair["static_friction"] == pytest.approx(2.0 * 0.6 / 1.6)
    assert pair["dynamic_friction"] == pytest.approx(2.0 * 0.4 / 1.3)
    np.testing.assert_array_equal(pair["nhat_BA_W"], N)
    # Three quarters of the overlap are that of A, whose deepest point is against the normal.
    np.testing.assert_allclose(pair["p_WC"], np.array([1.0, 2.0, 3.0]) + 0.25 * 0.01 * N, atol=1e-15)


@pytest.mark.parametrize(("k_A", "k_B", "lean"), [(math.inf, 3e4, -0.5), (1e4, math.inf, 0.5)])
def test_a_rigid_material_leaves_stiffness_and_overlap_to_the_other(k_A, k_B, lean):
    pair = make(materials((*SOFT[:1], k_A, *SOFT[2:]), (*HARD[:1], k_B, *HARD[2:])), contacts((0, [0, 0, 0], 0.01, 1)))
    assert pair["stiffness"] == min(k_A, k_B)
    assert pair["dissipation"] == (2.0 if k_B == math.inf else 1.0)
    np.testing.assert_allclose(pair["p_WC"], [0.01 * lean * N], atol=1e-15)


def test_points_of_a_face_share_the_stiffness_of_the_pair():
    shares = [0.1, 0.2, 0.3, 0.4]
    pairs = make(materials(SOFT, HARD), contacts(*((0, [i, 0.0, 0.0], 0.01 * i, s) for i, s in enumerate(shares))))
    np.testing.assert_allclose(pairs["stiffness"], np.array(shares) * 7500.0)
    np.testing.assert_allclose(pairs["elastic_force"], pairs["stiffness"] * 0.01 * np.arange(4))
    assert pairs["source"].tolist() == [0, 1, 2, 3]


@pytest.mark.parametrize("which", [0, 1])
def test_a_material_of_one_point_puts_all_stiffness_at_the_centre_of_pressure(which):
    both = [list(SOFT), list(HARD)]
    both[which][-1] = 1
    points = contacts((0, [0.0, 0.0, 0.0], 0.01, 0.3), (0, [1.0, 0.0, 0.0], 0.03, 0.2), (1, [5.0, 5.0, 5.0], 0.02, 0.1))
    pairs = make(materials(*map(tuple, both)), points, candidates=((0, 1), (1, 0)))
    assert pairs["source"].tolist() == [1, 2]
    assert pairs["stiffness"].tolist() == [7500.0, 7500.0]
    np.testing.assert_allclose(pairs["elastic_force"], [225.0, 150.0])
    np.testing.assert_allclose(pairs["p_WC"][0], [0.006 / 0.009 + 0.25 * 0.03 * N[0], *(0.25 * 0.03 * N[1:])])


def test_bodies_that_cannot_move_are_no_pair():
    points = contacts((0, [0.0, 0.0, 0.0], 0.01, 0.5), (1, [0.0, 0.0, 0.0], 0.02, 0.5))
    anchored = (0, *SOFT[1:])
    pairs = make(materials(SOFT, anchored, HARD), points, trees=(-1, -1, 0), candidates=((0, 1), (1, 2)))
    assert pairs["source"].tolist() == [1]
    assert (pairs["mobod_A"][0], pairs["mobod_B"][0]) == (0, 2)
