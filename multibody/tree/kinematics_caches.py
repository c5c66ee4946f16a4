"""Results of kinematics outside of a Context: one object each for what depends on q, on q and v, and on vdot too."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from merganser.framework.math import RigidTransform
from merganser.framework.math.rotations.unchecked import rigid_transform
from merganser.multibody.kernels import layout
from merganser.multibody.math import SpatialAcceleration, SpatialVelocity
from merganser.multibody.tree.rigid_body import RigidBody

if TYPE_CHECKING:
    from merganser.multibody.tree.tree import MultibodyTree

Array = npt.NDArray[Any]


class _KinematicsCache:
    """Abstract: records of the mobilized bodies, of the scalar type of the Context that they were computed for.

    Args:
        tree: a finalized tree.

    Raises:
        RuntimeError: before Finalize().
    """

    _dtype_of: Callable[[Any], np.dtype[Any]]

    def __init__(self, tree: MultibodyTree) -> None:
        tree._check_finalized(type(self).__name__)
        self._tree = tree
        self._records: Any = None
        self._scalar: Any = None

    def _records_of(self, w: Any) -> Any:
        """Records to write to, as the workspace of a Context needs them."""
        if self._scalar != (w.scalar, w.dtype):
            self._scalar = w.scalar, w.dtype
            self._records = w.make_records(len(w.topology), type(self)._dtype_of)
        return self._records

    def _record(self, node: int | RigidBody) -> Any:
        if self._records is None:
            raise RuntimeError(f"{type(self).__name__} is empty: call MultibodyTree.Calc{type(self).__name__}() first.")
        number = node._mobod if isinstance(node, RigidBody) else node
        if number is None or not 0 <= number < len(self._records):
            raise RuntimeError(f"{type(self).__name__} has no body {node!r}: it has {len(self._records)} of them.")
        return self._records[int(number)]


class PositionKinematicsCache(_KinematicsCache):
    """Quantities that depend on positions. Bodies are given by themselves or by node index, depth first."""

    _dtype_of = staticmethod(layout.position_dtype)

    def get_X_WB(self, node: int | RigidBody) -> RigidTransform:
        """Returns the pose of a body in the world."""
        record = self._record(node)
        return rigid_transform(np.array(record["R_WB"]), np.array(record["p_WoBo_W"]))

    def get_p_PoBo_W(self, node: int | RigidBody) -> Array:
        """Returns the position of Bo from the origin of its inboard body, in W [m], shape [3]."""
        return np.array(self._record(node)["p_PoBo_W"])

    def get_H_PB_W(self, node: int | RigidBody) -> Array:
        """Returns H of V_PB_W = H v, for the velocities of the body's mobilizer, shape [6, num_velocities]."""
        number = node._mobod if isinstance(node, RigidBody) else node
        record = self._record(node)
        return np.array(record["H_PB_W"])[: self._tree.topology["num_v"][number]].T


class VelocityKinematicsCache(_KinematicsCache):
    """Quantities that depend on positions and velocities."""

    _dtype_of = staticmethod(layout.velocity_dtype)

    def get_V_WB(self, node: int | RigidBody) -> SpatialVelocity:
        """Returns the spatial velocity of a body in W, at Bo."""
        return SpatialVelocity(np.array(self._record(node)["V_WB_W"]))

    def get_V_PB_W(self, node: int | RigidBody) -> SpatialVelocity:
        """Returns the spatial velocity of a body in its inboard body, at Bo, in W."""
        return SpatialVelocity(np.array(self._record(node)["V_PB_W"]))


class AccelerationKinematicsCache(_KinematicsCache):
    """Quantities that depend on positions, velocities and accelerations."""

    _dtype_of = staticmethod(layout.scratch_dtype)

    def get_A_WB(self, node: int | RigidBody) -> SpatialAcceleration:
        """Returns the spatial acceleration of a body in W, at Bo."""
        return SpatialAcceleration(np.array(self._record(node)["A_WB_W"]))
