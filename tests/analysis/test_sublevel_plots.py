"""plot_sublevelset_quadratic and plot_sublevelset_expression: points are on the level, all around."""

from __future__ import annotations

import numpy as np
import pytest
from matplotlib.figure import Figure

from merganser.analysis import plot_sublevelset_expression, plot_sublevelset_quadratic


def border(polygons: list) -> np.ndarray:
    """The corners of the one polygon, shape [n, 2]."""
    (polygon,) = polygons
    return polygon.get_xy()


def angles_about(points: np.ndarray, center: np.ndarray) -> float:
    """The widest gap between neighbors, as seen from a point."""
    angles = np.sort(np.arctan2(*(points - center).T))
    return float(np.diff(np.append(angles, angles[0] + 2 * np.pi)).max())


def test_ellipses_are_where_the_quadratic_form_is_one() -> None:
    A, b, c = np.array([[2.0, 0.5], [0.1, 1.0]]), np.array([0.3, -0.4]), -0.2
    x = border(plot_sublevelset_quadratic(Figure().add_subplot(), A, b, c, vertices=40, color="g", alpha=0.5))
    np.testing.assert_allclose(np.einsum("ni,ij,nj->n", x, A, x) + x @ b + c, 1.0, atol=1e-12)
    assert len(x) in (40, 41) and angles_about(x, -np.linalg.solve(A + A.T, b)) < 0.4


def test_what_is_no_ellipse_is_refused() -> None:
    ax = Figure().add_subplot()
    with pytest.raises(ValueError, match="positive definite"):
        plot_sublevelset_quadratic(ax, np.diag([1.0, -1.0]))
    with pytest.raises(ValueError, match=r"shape \(2, 2\)"):
        plot_sublevelset_quadratic(ax, np.eye(3))
    with pytest.raises(ValueError, match=r"least value is 2\.0, above the level"):
        plot_sublevelset_quadratic(ax, np.eye(2), c=2.0)


def test_levels_of_expressions_are_followed_around_the_origin() -> None:
    symbolic = pytest.importorskip("merganser.framework.symbolic", reason="needs sympy", exc_type=ImportError)
    x, y = symbolic.Variable("x"), symbolic.Variable("y")
    ax = Figure().add_subplot()
    points = border(plot_sublevelset_expression(ax, 2 * x * x + x * y + y * y + 0.2 * x, vertices=30))
    values = [2 * u * u + u * v + v * v + 0.2 * u for u, v in points]
    np.testing.assert_allclose(values, 1.0, atol=1e-12)
    quartic = x**4 + 3 * y**2 + symbolic.sin(x) * y
    points = border(plot_sublevelset_expression(ax, quartic, vertices=30))
    np.testing.assert_allclose([u**4 + 3 * v**2 + np.sin(u) * v for u, v in points], 1.0, atol=1e-9)
    assert angles_about(points, np.zeros(2)) < 0.12
    for expression, text in ((x**3 + y, "not bounded"), (x**4 + y**2 + 2.0, "origin is not"), (x * x, "it has 1")):
        with pytest.raises(ValueError, match=text):
            plot_sublevelset_expression(ax, expression)
