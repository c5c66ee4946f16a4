"""Points and meshes that are not convex: against planes and segments one by one, and the solid angle."""

import numpy as np
import pytest

from merganser.geometry.proximity.mesh_distance import MeshDistance


def bumpy_ball(num_rings, num_around):
    """Vertices and triangles of a closed surface around the origin with hills and dales, seen from outside."""
    vertices = [[0.0, 0.0, 1.0]]
    for theta in np.linspace(0.0, np.pi, num_rings + 2)[1:-1]:
        for phi in np.linspace(0.0, 2.0 * np.pi, num_around, endpoint=False):
            r = 1.0 + 0.4 * np.sin(3.0 * theta) * np.cos(5.0 * phi)
            vertices.append([r * np.sin(theta) * np.cos(phi), r * np.sin(theta) * np.sin(phi), r * np.cos(theta)])
    vertices.append([0.0, 0.0, -1.0])
    triangles, last = [], len(vertices) - 1
    for k in range(num_around):
        n = (k + 1) % num_around
        triangles.append([0, 1 + k, 1 + n])
        for ring in range(num_rings - 1):
            a, b = 1 + ring * num_around, 1 + (ring + 1) * num_around
            triangles += [[a + k, b + k, b + n], [a + k, b + n, a + n]]
        start = 1 + (num_rings - 1) * num_around
        triangles.append([start + k, last, start + n])
    return np.array(vertices), np.array(triangles)


def distance_one_by_one(corners, p):
    """To the planes of triangles in which the point stands over one, and to all edges."""
    best = np.inf
    for triangle in corners:
        normal = np.cross(triangle[1] - triangle[0], triangle[2] - triangle[0])
        is_over = True
        for i in range(3):
            a, along = triangle[i], triangle[(i + 1) % 3] - triangle[i]
            s = np.clip((p - a) @ along / (along @ along), 0.0, 1.0)
            best = min(best, np.linalg.norm(p - a - s * along))
            is_over = is_over and np.cross(along, p - a) @ normal >= 0.0
        if is_over:
            best = min(best, abs((p - triangle[0]) @ normal) / np.linalg.norm(normal))
    return best


def is_inside(corners, p):
    """Whether the surface fills all directions (van Oosterom and Strackee 1983)."""
    r = corners - p
    lengths = np.linalg.norm(r, axis=2)
    a, b, c = r[:, 0], r[:, 1], r[:, 2]
    la, lb, lc = lengths.T
    below = la * lb * lc + (a * b).sum(1) * lc + (b * c).sum(1) * la + (c * a).sum(1) * lb
    return np.arctan2((a * np.cross(b, c)).sum(1), below).sum() > np.pi


@pytest.mark.parametrize("size", [(2, 3), (9, 16)], ids=["18 triangles", "288 triangles"])
def test_distances_are_the_least_of_all_triangles_and_gradients_point_away(size):
    vertices, triangles = bumpy_ball(*size)
    mesh, corners = MeshDistance(vertices, triangles), vertices[triangles]
    rng, signs = np.random.default_rng(5), set()
    for p in rng.uniform(-1.5, 1.5, (40, 3)):
        distance, gradient, nearest = mesh(p)
        inside = is_inside(corners, p)
        signs.add(inside)
        assert distance == pytest.approx((-1.0 if inside else 1.0) * distance_one_by_one(corners, p), rel=1e-12)
        assert np.linalg.norm(gradient) == pytest.approx(1.0)
        np.testing.assert_allclose(p - distance * gradient, nearest, atol=1e-12)
    assert signs == {False, True}


def test_on_the_surface_the_gradient_is_the_normal_there():
    vertices, triangles = np.vstack([np.zeros(3), np.eye(3)]), np.array([[0, 2, 1], [0, 1, 3], [0, 3, 2], [1, 2, 3]])
    distance, gradient, nearest = MeshDistance(vertices, triangles)(np.array([0.25, 0.5, 0.0]))
    assert distance == 0.0
    np.testing.assert_array_equal(gradient, [0.0, 0.0, -1.0])
    np.testing.assert_array_equal(nearest, [0.25, 0.5, 0.0])
