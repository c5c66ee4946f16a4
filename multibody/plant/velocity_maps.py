"""The map between velocities v and rates qdot of positions: qdot = N(q) v, v = N+(q) qdot."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from merganser.framework.core.inside import scalar_of
from merganser.multibody import kernels
from merganser.multibody.plant.arguments import check_pitches, checked_vector
from merganser.multibody.plant.model import PlantModel
from merganser.multibody.plant.state_views import StateViews

if TYPE_CHECKING:
    from scipy.sparse import csc_matrix

    from merganser.framework import Context

__all__ = ["VelocityMaps"]

Array = NDArray[Any]


class VelocityMaps:
    """Products with N(q) and N+(q), and these as sparse matrices."""

    def __init__(self, model: PlantModel, views: StateViews) -> None:
        self._model, self._views = model, views

    def map_velocity_to_qdot(self, context: Context, v: ArrayLike) -> Array:
        """Returns qdot = N(q) v, shape [nq].

        Raises:
            RuntimeError: a joint with roll, pitch and yaw is at a pitch of a quarter turn.
            ValueError: v is of wrong size or not finite.
        """
        w = self._views.workspace(context)
        velocity = checked_vector(self._model, "MapVelocityToQDot", v, len(w.v), w.dtype)
        check_pitches(self._model, "MapVelocityToQDot()", w)
        qdot = np.empty(len(w.q), w.dtype)
        w.call(kernels.velocity_to_qdot, w.topology, w.q, velocity, qdot)
        return qdot

    def map_qdot_to_velocity(self, context: Context, qdot: ArrayLike) -> Array:
        """Returns v = N+(q) qdot, shape [nv]."""
        w = self._views.workspace(context)
        rates = checked_vector(self._model, "MapQDotToVelocity", qdot, len(w.q), w.dtype)
        v = np.empty(len(w.v), w.dtype)
        w.call(kernels.qdot_to_velocity, w.topology, w.q, rates, v)
        return v

    def make_velocity_to_qdot_map(self, context: Context) -> csc_matrix:
        """Returns N(q), with qdot = N(q) v, as a sparse matrix of shape [nq, nv].

        Raises:
            RuntimeError: a joint with roll, pitch and yaw is at a pitch of a quarter turn.
            TypeError: the plant is of another scalar type than float.
        """
        topology = self._topology_for_map("MakeVelocityToQDotMap", "MapVelocityToQDot", context)
        columns, rows = ("v_start", "num_v"), ("q_start", "num_q")
        return self._sparse_map(lambda v: self.map_velocity_to_qdot(context, v), topology, rows, columns)

    def make_qdot_to_velocity_map(self, context: Context) -> csc_matrix:
        """Returns N+(q), with v = N+(q) qdot, as a sparse matrix of shape [nv, nq].

        Raises:
            TypeError: the plant is of another scalar type than float.
        """
        topology = self._topology_for_map("MakeQDotToVelocityMap", "MapQDotToVelocity", context)
        columns, rows = ("q_start", "num_q"), ("v_start", "num_v")
        return self._sparse_map(lambda qdot: self.map_qdot_to_velocity(context, qdot), topology, rows, columns)

    def _topology_for_map(self, caller: str, product: str, context: Context) -> Array:
        """The records of the mobods, for a matrix of numbers.

        Raises:
            TypeError: the plant is of another scalar type than float, of which there are no sparse matrices.
        """
        w = self._views.workspace(context)
        if not w.is_numeric:
            scalar = scalar_of(self._model.system).__name__
            raise TypeError(
                f"{caller}(): plant '{self._model.path()}' is of {scalar}, and sparse matrices hold plain numbers "
                f"only. Use {product}(), which multiplies by the same matrix."
            )
        return w.topology

    def _sparse_map(
        self, product: Callable[[Array], Array], topology: Array, rows: tuple[str, str], columns: tuple[str, str]
    ) -> csc_matrix:
        """A matrix of one block for each mobod, from its products with vectors.

        As blocks share neither rows nor columns, one product gives one column of every block.

        Args:
            product: computes matrix times vector.
            topology: records of the mobods.
            rows: fields of the topology with the first row of a block and their number.
            columns: the same for columns.
        """
        from scipy.sparse import csc_matrix

        starts, sizes = topology[columns[0]], topology[columns[1]]
        shape = int(topology[rows[1]].sum()), int(sizes.sum())
        entries: list[tuple[Any, int, int]] = []
        for j in range(int(sizes.max(initial=0))):
            here = sizes > j
            vector = np.zeros(shape[1])
            vector[starts[here] + j] = 1.0
            result = product(vector)
            for record in topology[here]:
                first, column = int(record[rows[0]]), int(record[columns[0]]) + j
                entries += [(result[r], r, column) for r in range(first, first + int(record[rows[1]])) if result[r]]
        values, row, column_of = zip(*entries) if entries else ((), (), ())
        return csc_matrix((np.asarray(values), (row, column_of)), shape=shape)

    def is_velocity_equal_to_qdot(self) -> bool:
        """Returns whether qdot = v for all joints.

        Raises:
            RuntimeError: before Finalize().
        """
        self._model.tree._check_finalized("IsVelocityEqualToQDot")
        return all(joint.kind.has_equal_rates() for joint in self._model.tree.joints)
