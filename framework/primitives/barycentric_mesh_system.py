"""BarycentricMeshSystem: a function that is interpolated between the points of a grid."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from merganser.framework.common.indices import kUseDefaultName
from merganser.framework.core.declarations.native_function import native
from merganser.framework.core.scalars.element_functions import elements
from merganser.framework.core.system.leaf_system import LeafSystem
from merganser.framework.core.system.scalar_conversion import SystemScalarConverter
from merganser.framework.core.values.values import BasicVector
from merganser.framework.math import BarycentricMesh
from merganser.framework.math.barycentric_mesh import find_points, first_not_below
from merganser.framework.native.compiler.kernels import device

Array = NDArray[Any]
for _helper in (first_not_below, find_points):
    device(_helper)


@native
def points_around(u: Array, coordinates: Array, ends: Array, strides: Array, found: Array) -> None:
    """Numbers of the points around u, then their weights."""
    find_points(u, coordinates, ends, strides, found)


@native
def interpolated(found: Array, table: Array, y: Array) -> None:
    """y = the weighted sum of rows of a table."""
    num_points = len(found) // 2
    for i in elements(y):
        value = 0.0
        for k in range(num_points):
            value += table[int(found[k].real), i] * found[num_points + k]
        y[i] = value


class BarycentricMeshSystem(LeafSystem):
    """Gives values at the points of a grid, interpolated at its input; for floats only.

    Args:
        mesh: the grid, in as many dimensions as the input u0 has elements.
        output_values: the output y0 at each point of the grid as a column, shape [num_outputs, number of points];
            `mesh.MeshValuesFrom(function)` makes such a matrix.

    Raises:
        TypeError: `mesh` is no BarycentricMesh.
        ValueError: there is not one column for each point.
    """

    def __init__(self, mesh: BarycentricMesh, output_values: ArrayLike) -> None:
        super().__init__(converter=SystemScalarConverter())
        if not isinstance(mesh, BarycentricMesh):
            raise TypeError(f"BarycentricMeshSystem: expected a BarycentricMesh, got {type(mesh).__name__}.")
        values = np.array(output_values, dtype=np.float64)
        if values.ndim != 2 or values.shape[1] != mesh.get_num_mesh_points():
            raise ValueError(
                f"BarycentricMeshSystem: output_values must be a matrix of {mesh.get_num_mesh_points()} columns, got "
                f"shape {values.shape}."
            )
        self._mesh = mesh
        self._values = values
        u = self.DeclareVectorInputPort(kUseDefaultName, mesh.get_input_size())
        coordinates, ends, strides = mesh.axes()
        around = points_around.given(u=u, coordinates=coordinates, ends=ends, strides=strides)
        room = BasicVector(np.zeros(2 * mesh.get_num_interpolants()))
        found = self._sys_declare_entry("points around", room, around, {u.ticket()})
        calc = interpolated.given(found=found, table=values.T)
        self.DeclareVectorOutputPort(kUseDefaultName, len(values), calc)

    def get_mesh(self) -> BarycentricMesh:
        """Returns the grid."""
        return self._mesh

    def get_output_values(self) -> Array:
        """Returns a copy of the values at the points of the grid, shape [num_outputs, number of points]."""
        return self._values.copy()
