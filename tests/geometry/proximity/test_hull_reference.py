"""Hulls that compiled code hands on by their address."""

import numpy as np

from merganser.framework.native import device, kernel
from merganser.geometry import Box, Convex
from merganser.geometry.proximity import ProximityArrays
from merganser.geometry.proximity.hull_reference import by_reference
from merganser.geometry.proximity.vertex_scan import vertex_at

CORNERS = np.random.default_rng(0).normal(size=(3, 9))


@device
def _total(hulls, depth):
    total = 0.0
    for k in range(hulls.vertices.shape[0]):
        x, y, z = vertex_at(hulls.vertices, k)
        total += x + 10.0 * y + 100.0 * z + depth
    return total + hulls.planes[0, 3] + hulls.neighbors.shape[0]


@kernel
def _total_by_reference(hulls):
    hulls = by_reference(hulls)
    total = 0.0
    for k in range(3):
        total += _total(hulls, 1.0 * k)
    return total


def hulls_of(*shapes):
    return ProximityArrays(shapes, range(len(shapes))).hulls


def test_compiled_code_reads_the_arrays_behind_the_address():
    for hulls in (hulls_of(Convex(CORNERS, "one")), hulls_of(Convex(CORNERS, "one"), Convex(2.0 * CORNERS, "other"))):
        expected = sum(_total(hulls, 1.0 * k) for k in range(3))
        np.testing.assert_allclose(_total_by_reference(hulls), expected, rtol=1e-14)


def test_python_gets_the_hulls_themselves():
    hulls = hulls_of(Box(1.0, 1.0, 1.0), Convex(CORNERS, "one"))
    assert by_reference(hulls) is hulls
