"""What all meshes do with their arrays."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

Array = NDArray[np.float64]

_MERGED = 1e-12  # vertices so close, of the size of the mesh, are one


def checked_vertices(vertices: ArrayLike) -> Array:
    """Returns a copy of positions as an array of shape [n, 3]; a ValueError says that they are none."""
    points: Array = as_scalars(vertices).copy()
    if points.size == 0:
        return np.zeros((0, 3))
    if points.ndim == 3 and points.shape[2] == 1:  # columns
        points = points[:, :, 0]
    if points.ndim != 2 or points.shape[1] != 3:
        raise ValueError(f"The vertices of a mesh must have shape [n, 3]; given {points.shape}.")
    return points


def as_scalars(values: ArrayLike) -> NDArray[Any]:
    """An array of floats, or of AutoDiffXd where it has such."""
    given = np.asarray(values)
    if given.dtype == object and any(hasattr(item, "derivatives") for item in given.ravel().tolist()[:1]):
        return given
    return np.asarray(values, dtype=np.float64)


def scalar(value: Any) -> Any:
    """A number as a float; of AutoDiffXd as it is."""
    return value if hasattr(value, "derivatives") else float(value)


def lengths(vectors: NDArray[Any]) -> NDArray[Any]:
    """Lengths of the rows, shape [n]."""
    found: NDArray[Any] = np.sqrt((vectors * vectors).sum(axis=1))
    return found


def directions(vectors: NDArray[Any], of_length: NDArray[Any]) -> NDArray[Any]:
    """Unit vectors along the rows, zero for those without length, shape as given."""
    divisor = np.where(of_length > 0.0, of_length, 1.0)
    found: NDArray[Any] = vectors / divisor[:, np.newaxis]
    return found


def checked_elements(mesh: str, kind: str, elements: Any, num_corners: int, num_vertices: int) -> NDArray[np.int64]:
    """Returns the corners of triangles or tetrahedra as an array of shape [m, num_corners].

    Args:
        mesh: what messages call the mesh.
        kind: what messages call an element.
        elements: objects with a function vertex(i), or such an array.
        num_corners: of each element.
        num_vertices: of the mesh.

    Raises:
        RuntimeError: there are no elements, or a corner is no vertex of the mesh.
    """
    if not isinstance(elements, np.ndarray):
        elements = [[element.vertex(i) for i in range(num_corners)] for element in elements]
    corners = np.array(elements, dtype=np.int64).reshape(-1, num_corners)
    if not len(corners):
        raise RuntimeError(f"A {mesh} must have at least one {kind}.")
    wrong = np.flatnonzero(((corners < 0) | (corners >= num_vertices)).any(axis=1))
    if len(wrong):
        raise RuntimeError(
            f"{mesh}: {kind} {wrong[0]} has the vertices {corners[wrong[0]].tolist()}; there are {num_vertices} "
            "vertices, counted from 0."
        )
    return corners


def element_at(elements: Any, index: int, kind: str, owner: str) -> Any:
    """Returns one element; IndexError if the index is out of range."""
    if not 0 <= index < len(elements):
        raise IndexError(f"There is no {kind} {index} in {owner}, which has {len(elements)}.")
    return elements[index]


def bounding_box(points: Array) -> tuple[Array, Array]:
    """The center and the size of the box around points, each of shape [3]."""
    if not len(points):
        return np.zeros(3), np.zeros(3)
    lower, upper = points.min(axis=0), points.max(axis=0)
    return (lower + upper) / 2.0, upper - lower


def merged(vertices: Array) -> NDArray[np.int64]:
    """The number of each vertex, the same for vertices at the same place."""
    step = max(_MERGED * np.ptp(vertices, axis=0).max(), 1e-300)
    return np.unique(np.round(vertices / step), axis=0, return_inverse=True)[1].reshape(-1)
