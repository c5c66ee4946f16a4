"""Sublevel sets of functions of two variables, filled by matplotlib: regions of attraction, say."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

__all__ = ["plot_sublevelset_expression", "plot_sublevelset_quadratic"]

Array = NDArray[np.float64]

_FIRST, _FARTHEST, _GROWTH = 1e-3, 1e6, 1.1  # radii at which a level is looked for


def plot_sublevelset_quadratic(
    ax: Any, A: ArrayLike, b: ArrayLike = (0.0, 0.0), c: float = 0.0, vertices: int = 51, **kwargs: Any
) -> Any:
    """Fills the ellipse of all x with x'Ax + b'x + c <= 1.

    Args:
        ax: axes of matplotlib.
        A: positive definite, shape [2, 2]; of a matrix that is not symmetric the symmetric part counts.
        b: shape [2].
        c: a number.
        vertices: number of points on the ellipse.
        kwargs: for matplotlib's fill.

    Returns:
        What matplotlib's fill returns.

    Raises:
        ValueError: A or b has another shape, or A is not positive definite; nothing is below the level.
    """
    matrix, vector = np.asarray(A, dtype=np.float64), np.asarray(b, dtype=np.float64).ravel()
    if matrix.shape != (2, 2) or vector.shape != (2,):
        raise ValueError(
            f"plot_sublevelset_quadratic(): A must have the shape (2, 2) and b (2,); given {matrix.shape} and "
            f"{vector.shape}."
        )
    H = 0.5 * (matrix + matrix.T)
    try:
        L = np.linalg.cholesky(H)
    except np.linalg.LinAlgError as error:
        raise ValueError(
            f"plot_sublevelset_quadratic(): A must be positive definite, so that the set is an ellipse; given "
            f"{matrix.tolist()}."
        ) from error
    # f = (x - m)' H (x - m) + f(m) with the minimum at m; on the level, y = L'(x - m) is on a circle.
    m = np.linalg.solve(-2.0 * H, vector)
    least = c - m @ H @ m
    if least > 1.0:
        raise ValueError(f"plot_sublevelset_quadratic(): the least value is {least}, above the level, 1.")
    angles = np.linspace(0.0, 2.0 * math.pi, vertices)
    circle = math.sqrt(1.0 - least) * np.array([np.sin(angles), np.cos(angles)])
    x = m[:, np.newaxis] + np.linalg.solve(L.T, circle)
    return ax.fill(x[0], x[1], **kwargs)


def plot_sublevelset_expression(ax: Any, e: Any, vertices: int = 51, **kwargs: Any) -> Any:
    """Fills the set around the origin in which an expression of two variables is at most 1.

    The variables are those of `e.GetVariables()`, in this order, along the axes of the plot. Of a set that is not
    star-shaped about the origin, what the origin sees is filled.

    Args:
        ax: axes of matplotlib.
        e: an Expression.
        vertices: number of directions from which points of the border are looked for, and their opposites.
        kwargs: for matplotlib's fill.

    Returns:
        What matplotlib's fill returns.

    Raises:
        ValueError: there are not two variables; the origin is not in the set, or the set is not bounded.
    """
    from merganser.framework.symbolic import Evaluate, Jacobian

    x = list(e.GetVariables())
    if len(x) != 2:
        raise ValueError(f"plot_sublevelset_expression() takes an expression in two variables; it has {len(x)}: {e}.")
    gradient = e.Jacobian(x)
    hessian = Jacobian(gradient, x)
    origin = dict.fromkeys(x, 0.0)
    if not any(len(list(entry.GetVariables())) for entry in np.ravel(hessian)):
        A, b = 0.5 * Evaluate(hessian, origin), Evaluate(gradient, origin)
        return plot_sublevelset_quadratic(ax, A, b, e.Evaluate(origin), vertices, **kwargs)
    angles = np.linspace(0.0, math.pi, vertices)
    directions = np.array([[math.cos(angle), math.sin(angle)] for angle in [*angles, *(angles + math.pi)]])
    border = np.array([_on_border(direction, lambda p: e.Evaluate(dict(zip(x, p))) - 1.0) for direction in directions])
    return ax.fill(border[:, 0], border[:, 1], **kwargs)


def _on_border(direction: Array, excess_at: Callable[[Array], float]) -> Array:
    """The point in a direction from the origin where a function first becomes positive, shape [2].

    Raises:
        ValueError: it is positive at the origin, or nowhere.
    """
    from scipy.optimize import brentq

    def excess(distance: float) -> float:
        return excess_at(distance * direction)

    if excess(0.0) > 0.0:
        raise ValueError("plot_sublevelset_expression(): the origin is not in the set.")
    inside, outside = 0.0, _FIRST
    while excess(outside) <= 0.0:
        inside, outside = outside, _GROWTH * outside
        if outside > _FARTHEST:
            raise ValueError(f"plot_sublevelset_expression(): the set is not bounded; it reaches beyond {_FARTHEST:g}.")
    return np.asarray(brentq(excess, inside, outside) * direction)
