"""BarycentricMeshSystem: a function that is interpolated between the points of a grid."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from merganser.framework.core.context import Context
from merganser.framework.core.indices import kUseDefaultName
from merganser.framework.core.leaf_system import LeafSystem
from merganser.framework.core.native_code import OUTPUT, InputOf, NativeCode
from merganser.framework.core.scalar_conversion import SystemScalarConverter
from merganser.framework.core.values import BasicVector
from merganser.framework.math import BarycentricMesh

__all__ = ["BarycentricMeshSystem"]


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
        self._u = self.DeclareVectorInputPort(kUseDefaultName, mesh.get_input_size())
        port = self.DeclareVectorOutputPort(kUseDefaultName, len(values), self._calc_output, {self._u.ticket()})
        axes = [item for axis, stride in mesh._axes() for item in (axis.size, axis, stride)]
        sizes = (mesh.get_input_size(), InputOf(0), OUTPUT, len(values), mesh.get_num_mesh_points())
        room = np.zeros(2 * mesh.get_input_size() + 1)
        port.cache_entry().use_native(NativeCode("interpolate", (*sizes, values, room, *axes)))

    def get_mesh(self) -> BarycentricMesh:
        """Returns the grid."""
        return self._mesh

    def get_output_values(self) -> NDArray[Any]:
        """Returns a copy of the values at the points of the grid, shape [num_outputs, number of points]."""
        return self._values.copy()

    def _calc_output(self, context: Context, output: BasicVector) -> None:
        output.SetFromVector(self._mesh.Eval(self._values, self._u.EvalBasicVector(context).value()))
