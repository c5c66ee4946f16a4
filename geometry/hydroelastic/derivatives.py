"""How contact surfaces follow the poses of the geometries.

The kernel that finds faces is run once more for each derivative, with complex poses that carry it in their imaginary
parts, a tiny step times the derivative (Squire and Trapp 1998). Decisions fall by real parts, so faces are the same in
all lanes, and their numbers carry derivatives. Where the set of elements that meet changes, they are those of one side.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from merganser.geometry.hydroelastic.buffers import make_buffers
from merganser.geometry.hydroelastic.engine import HydroelasticArrays
from merganser.geometry.hydroelastic.surfaces import contact_surfaces

__all__ = ["differentiate_surfaces"]

Array = NDArray[Any]


def differentiate_surfaces(
    arrays: HydroelasticArrays,
    X_WG: Array,
    dX_WG: Array,
    pairs: NDArray[np.int64],
    faces: tuple[Array, Array, NDArray[np.int64]],
    step: float,
    may_compile: Callable[..., bool],
) -> tuple[Array, Array]:
    """Returns corners and numbers of faces with their derivatives by k variables.

    Args:
        arrays: of the geometries.
        X_WG: pose of each geometry, shape [n, 4, 4].
        dX_WG: their derivatives, shape [n, 4, 4, k].
        pairs: rows of geometries, shape [num_pairs, 2].
        faces: corners, numbers and owners, as they were found of these pairs.
        step: what derivatives are multiplied by in the imaginary parts.
        may_compile: whether a kernel is to be called compiled, told the kernel and its arguments.

    Returns:
        Complex numbers, shapes [k, num_faces, ..] of corners and of numbers.
    """
    given = [array.shape for array in faces[:2]]
    corners, numbers = (np.zeros((dX_WG.shape[-1], *shape), np.complex128) for shape in given)
    owners, buffers = faces[2].copy(), make_buffers(np.complex128)
    for lane in range(dX_WG.shape[-1]):
        X = np.ascontiguousarray(X_WG + 1j * step * dX_WG[..., lane])
        outputs = corners[lane], numbers[lane], owners
        arguments = arrays.bodies, arrays.meshes, X, pairs, len(pairs), buffers, *outputs
        run = contact_surfaces if may_compile(contact_surfaces, *arguments) else contact_surfaces.interpreted
        count = run(*arguments)
        assert count == len(owners), "Faces are found by real parts, which are the same."
    return corners, numbers
