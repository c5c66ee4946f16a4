"""Pressure laws of users' own: compliant volumes in layers of depth, in each of which the pressure is linear.

Contact surfaces are planar where pressures are linear in each tetrahedron. So a law p(e), e the extent, is taken as the
polygon through its values at e = 0, 1/n, ..., 1: tetrahedra are cut where their extent has these values, and vertices
get the extent p(e) / E, from which the linear law makes that pressure. The pieces of a cut are prisms, divided into
tetrahedra by diagonals from their smallest vertices, so that neighbors have the same ones.

Source: J. Dompierre, P. Labbé, M.-G. Vallet, R. Camarero (1999), How to subdivide pyramids, prisms, and hexahedra into
tetrahedra.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from merganser.geometry.meshes import VolumeMesh

PressureLaw = Callable[[float, float], float]
Array = NDArray[np.float64]
Integers = NDArray[np.int64]

_SAME = 1e-2  # vertices this close to a level, in thicknesses of a layer, are on it
_FLAT = 1e-14  # tetrahedra of less volume, in cubes of the size of the mesh, are none


def pressures_of_layers(law: PressureLaw, modulus: float, num_layers: int) -> Array:
    """The pressures of a law at the ends of its layers, shape [num_layers + 1].

    Raises:
        RuntimeError: the law is not zero on the surface, does not grow, raises an exception, or has values that are no
            finite numbers.
    """
    pressures = np.zeros(num_layers + 1)
    for k in range(num_layers + 1):
        try:
            pressures[k] = float(law(k / num_layers, modulus))
        except Exception as error:
            given = f"({k / num_layers:g}, {modulus:g})"
            raise RuntimeError(f"its pressure law failed at {given}: {type(error).__name__}: {error}") from error
    if pressures[0] != 0.0:
        raise RuntimeError(f"its pressure law must be 0 on the surface, at the depth 0; it is {pressures[0]} Pa there")
    if not np.isfinite(pressures).all():
        raise RuntimeError(f"its pressure law has values that are no finite numbers: {pressures.tolist()}")
    grows = np.diff(pressures) > 0.0
    if not grows.all():
        k = int(np.argmin(grows))
        raise RuntimeError(
            f"its pressure law must grow with the depth; between {k / num_layers:g} and {(k + 1) / num_layers:g} of "
            f"the greatest depth it goes from {pressures[k]} to {pressures[k + 1]} Pa"
        )
    return pressures


def in_layers(mesh: VolumeMesh, extent: Array, pressures: Array) -> tuple[VolumeMesh, Array]:
    """Cuts a volume into layers.

    Args:
        mesh: the volume.
        extent: of its vertices: 0 on the surface, 1 where it is deepest, negative in a margin; shape [num_vertices].
        pressures: at the ends of layers of the same thickness, as shares of the modulus, from 0 on; shape [n + 1].

    Returns:
        The mesh of all layers, and the extents at its vertices with which the pressure is that of the law.
    """
    cells, vertices, values = mesh.tetrahedron_array().copy(), mesh.vertex_array().copy(), np.array(extent, float)
    num_layers = len(pressures) - 1
    for k in range(1, num_layers):
        cells, vertices, values = _cut(cells, vertices, values, k / num_layers, _SAME / num_layers)
    p = vertices[cells]
    volumes = np.einsum("ti,ti->t", np.cross(p[:, 1] - p[:, 0], p[:, 2] - p[:, 0]), p[:, 3] - p[:, 0])
    keep = np.abs(volumes) > _FLAT * np.ptp(vertices, axis=0).max() ** 3
    cells, volumes = cells[keep], volumes[keep]
    cells[volumes < 0.0] = cells[volumes < 0.0][:, [0, 1, 3, 2]]
    e = np.interp(values, np.linspace(0.0, 1.0, num_layers + 1), pressures)
    return VolumeMesh(cells, vertices), np.where(values < 0.0, values * pressures[1] * num_layers, e)


def _cut(cells: Integers, vertices: Array, values: Array, level: float, near: float) -> tuple[Integers, Array, Array]:
    """Cuts tetrahedra where their values have a level; those that it only touches stay whole."""
    of_cells = values[cells]
    is_above = of_cells >= level - near
    is_cut = (of_cells.min(axis=1) < level - near) & (of_cells.max(axis=1) > level + near)
    chosen = cells[is_cut]
    order = np.argsort(is_above[is_cut], axis=1, kind="stable")  # those below come first
    chosen = np.take_along_axis(chosen, order, axis=1)
    num_below = (~is_above[is_cut]).sum(axis=1)
    points = _Points(vertices, values, level, near)
    pieces = [cells[~is_cut]]
    for count in (1, 2, 3):
        a, b, c, d = chosen[num_below == count].T
        if count == 1:
            ab, ac, ad = points.on(a, b), points.on(a, c), points.on(a, d)
            pieces += [np.stack([a, ab, ac, ad], axis=1), _divided(ab, ac, ad, b, c, d)]
        elif count == 2:
            ac, ad, bc, bd = points.on(a, c), points.on(a, d), points.on(b, c), points.on(b, d)
            pieces += [_divided(a, ac, ad, b, bc, bd), _divided(c, ac, bc, d, ad, bd)]
        else:
            ad, bd, cd = points.on(a, d), points.on(b, d), points.on(c, d)
            pieces += [_divided(a, b, c, ad, bd, cd), np.stack([ad, bd, cd, d], axis=1)]
    vertices, values = points.all()
    # Tetrahedra with a vertex twice are flat.
    cells = np.concatenate(pieces)
    is_solid = (np.diff(np.sort(cells, axis=1), axis=1) != 0).all(axis=1)
    return cells[is_solid], vertices, values


class _Points:
    """The points in which edges pass a level; edges of several tetrahedra have one.

    Args:
        vertices, values: of the mesh.
        level: the value.
        near: vertices whose values differ from it by less are the points of their edges.
    """

    def __init__(self, vertices: Array, values: Array, level: float, near: float) -> None:
        self._vertices, self._values, self._level, self._near = vertices, values, level, near
        self._numbers: dict[tuple[int, int], int] = {}

    def on(self, below: Integers, above: Integers) -> Integers:
        """The vertices on edges."""
        is_on, first = self._values[above] <= self._level + self._near, len(self._vertices)
        numbers = [
            b if touches else self._numbers.setdefault((a, b), first + len(self._numbers))
            for a, b, touches in zip(below.tolist(), above.tolist(), is_on.tolist())
        ]
        return np.array(numbers, np.int64)

    def all(self) -> tuple[Array, Array]:
        """The vertices of the mesh and these, and their values."""
        if not self._numbers:
            return self._vertices, self._values
        a, b = np.array(list(self._numbers)).T
        t = ((self._level - self._values[a]) / (self._values[b] - self._values[a]))[:, np.newaxis]
        new = (1.0 - t) * self._vertices[a] + t * self._vertices[b]
        return np.concatenate([self._vertices, new]), np.append(self._values, np.full(len(new), self._level))


# Where the smallest vertex of a prism (0 1 2 below 3 4 5) is brought to the place 0, keeping neighbors.
_TURNED = np.array([[0, 1, 2, 3, 4, 5], [1, 2, 0, 4, 5, 3], [2, 0, 1, 5, 3, 4],
                    [3, 5, 4, 0, 2, 1], [4, 3, 5, 1, 0, 2], [5, 4, 3, 2, 1, 0]])  # fmt: skip


def _divided(*corners: Integers) -> Integers:
    """The tetrahedra of prisms, with the triangles of three corners each, shape [3 num_prisms, 4]."""
    prisms = np.stack(corners, axis=1).reshape(-1, 6)
    prisms = np.take_along_axis(prisms, _TURNED[prisms.argmin(axis=1)], axis=1)
    v0, v1, v2, v3, v4, v5 = prisms.T
    is_first = np.minimum(v1, v5) < np.minimum(v2, v4)
    x, y = np.where(is_first, v5, v4), np.where(is_first, v1, v2)
    # The face opposite of v0 is divided from v1 to v5, or from v2 to v4.
    parts = [(v0, v1, v2, x), (v0, y, np.where(is_first, v5, v4), np.where(is_first, v4, v5)), (v0, v4, v5, v3)]
    return np.concatenate([np.stack(part, axis=1) for part in parts])
