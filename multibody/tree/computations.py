"""A MultibodyTree as an object of its own: contexts, kinematics and inverse dynamics, clones."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
import numpy.typing as npt

from merganser.framework.core.inside import scalar_of
from merganser.framework.math import RigidTransform
from merganser.framework.math.rotations.rigid_transform import rigid_transform
from merganser.multibody import kernels
from merganser.multibody.kernels import layout
from merganser.multibody.math import SpatialAcceleration, SpatialForce, SpatialVelocity
from merganser.multibody.math.spatial_vector import as_vector, cross
from merganser.multibody.tree.actuator import Actuator
from merganser.multibody.tree.base_bodies import TreeMobilizers
from merganser.multibody.tree.element import MultibodyElement
from merganser.multibody.tree.frame import Frame
from merganser.multibody.tree.joints import Joint
from merganser.multibody.tree.mobilizers import Mobilizer
from merganser.multibody.tree.rigid_body import RigidBody

if TYPE_CHECKING:
    from merganser.framework import Context
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


Variant = TypeVar("Variant", bound="MultibodyElement | Mobilizer")


class TreeComputations(TreeMobilizers):
    """Abstract base of MultibodyTree: computations of a tree without a plant.

    Contexts are those of the plant that owns the tree; a tree without a plant gets one with its first context. What
    depends on a Context takes caches that Calc...Cache() has filled for the same Context. Bodies are in arrays in
    depth-first order, as mobod_of_body says ("node index"). Gravity, damping and force elements take no part.
    """

    mobod_of_body: npt.NDArray[np.int64]
    plant: Any

    # -- contexts --------------------------------------------------------------------------------------------

    def CreateDefaultContext(self) -> Any:
        """Returns a new Context, with the default positions of the joints and zero velocities.

        Raises:
            RuntimeError: before Finalize().
        """
        return self._context_owner().CreateDefaultContext()

    def SetDefaults(self, context: Context) -> None:
        """Sets all mobilizers to their zero configurations, and velocities to zero."""
        for mobilizer in self._get_mobilizers("SetDefaults"):
            mobilizer.set_zero_configuration(context)

    def _context_owner(self) -> Any:
        """The plant whose Contexts are those of this tree."""
        self._check_finalized("CreateDefaultContext")
        if self.plant is None:
            # A plant is made of a tree, so that this module cannot import it earlier.
            from merganser.multibody.plant import MultibodyPlant

            MultibodyPlant._around(self._tree_itself())
        return self.plant

    def _workspace(self, context: Context) -> Any:
        return self._context_owner()._views.workspace(context)

    # -- kinematics ------------------------------------------------------------------------------------------

    def CalcPositionKinematicsCache(self, context: Context, pc: PositionKinematicsCache) -> None:
        """Computes into `pc` what depends on the positions in the context."""
        w = self._workspace(context)
        w.call(kernels.position_kinematics, w.topology, w.parameters, w.q, self._of(pc, PositionKinematicsCache, w))

    def CalcVelocityKinematicsCache(
        self, context: Context, pc: PositionKinematicsCache, vc: VelocityKinematicsCache
    ) -> None:
        """Computes into `vc` what depends on the velocities in the context, `pc` being that of the context."""
        w = self._workspace(context)
        position, velocity = self._filled(pc, PositionKinematicsCache), self._of(vc, VelocityKinematicsCache, w)
        w.call(kernels.velocity_kinematics, w.topology, w.parameters, position, w.q, w.v, velocity)

    def CalcAccelerationKinematicsCache(
        self,
        context: Context,
        pc: PositionKinematicsCache,
        vc: VelocityKinematicsCache,
        known_vdot: npt.ArrayLike,
        ac: AccelerationKinematicsCache,
    ) -> None:
        """Computes into `ac` what depends on accelerations vdot, `pc` and `vc` being those of the context."""
        w = self._workspace(context)
        position, velocity = self._filled(pc, PositionKinematicsCache), self._filled(vc, VelocityKinematicsCache)
        scratch, vdot = self._of(ac, AccelerationKinematicsCache, w), self._vdot(w, known_vdot)
        self._newton_euler(w, position, velocity, vdot, w.zeros_F, scratch)

    def CalcSpatialAccelerationsFromVdot(
        self,
        context: Context,
        pc: PositionKinematicsCache,
        vc: VelocityKinematicsCache,
        known_vdot: npt.ArrayLike,
        A_WB_array: list[SpatialAcceleration] | None = None,
    ) -> list[SpatialAcceleration]:
        """Returns the spatial accelerations of all bodies in W, at Bo, by node index; in `A_WB_array`, if given."""
        ac = AccelerationKinematicsCache(self._tree_itself())
        self.CalcAccelerationKinematicsCache(context, pc, vc, known_vdot, ac)
        accelerations = [ac.get_A_WB(node) for node in range(len(self.topology))]
        return _listed(accelerations, A_WB_array, "CalcSpatialAccelerationsFromVdot(): A_WB_array")

    # -- dynamics --------------------------------------------------------------------------------------------

    def CalcInverseDynamics(
        self,
        context: Context,
        pc: PositionKinematicsCache,
        vc: VelocityKinematicsCache,
        known_vdot: npt.ArrayLike,
        Fapplied_Bo_W_array: list[SpatialForce] | tuple[()] = (),
        tau_applied_array: npt.ArrayLike = (),
        A_WB_array: list[SpatialAcceleration] | None = None,
        F_BMo_W_array: list[SpatialForce] | None = None,
        tau_array: Array | None = None,
    ) -> Array:
        """Returns tau = M vdot + C v - tau_app - sum J_WB^T Fapp_Bo_W, by the recursive Newton-Euler algorithm.

        Args:
            context: of the tree, with `pc` and `vc` filled for it.
            pc, vc: its kinematics.
            known_vdot: accelerations, shape [num_velocities].
            Fapplied_Bo_W_array: forces on all bodies at Bo, in W, by node index; empty for none.
            tau_applied_array: generalized forces, shape [num_velocities]; empty for none.
            A_WB_array: where to write the accelerations of the bodies, by node index.
            F_BMo_W_array: where to write the forces of the inboard mobilizers on the bodies, at Mo, in W.
            tau_array: where to write tau.

        Raises:
            ValueError: an array is of wrong size, or known_vdot not finite.
        """
        w = self._workspace(context)
        position, velocity = self._filled(pc, PositionKinematicsCache), self._filled(vc, VelocityKinematicsCache)
        vdot, F_applied = self._vdot(w, known_vdot), w.zeros_F
        if len(Fapplied_Bo_W_array):
            _check_length(Fapplied_Bo_W_array, len(self.topology), "CalcInverseDynamics(): Fapplied_Bo_W_array")
            F_applied = np.array([F.get_coeffs() for F in Fapplied_Bo_W_array]).astype(w.dtype)
        for array, name in ((A_WB_array, "A_WB_array"), (F_BMo_W_array, "F_BMo_W_array")):
            if array is not None:
                _check_length(array, len(self.topology), f"CalcInverseDynamics(): {name}")
        tau_applied = np.asarray(tau_applied_array)
        tau = self._newton_euler(w, position, velocity, vdot, F_applied, w.scratch)
        if tau_applied.size:
            tau = tau - as_vector(tau_applied, len(tau), "CalcInverseDynamics(): tau_applied_array")
        if A_WB_array is not None:
            A_WB_array[:] = [SpatialAcceleration(A) for A in np.array(w.scratch["A_WB_W"])]
        if F_BMo_W_array is not None:
            F_BMo_W_array[:] = self._mobilizer_forces(w, position)
        if tau_array is not None:
            tau_array[:] = tau
            return tau_array
        return tau

    def _mobilizer_forces(self, w: Any, position: Any) -> list[SpatialForce]:
        F_Bo_W = np.array(w.scratch["F_Bo_W"])
        F_Bo_W[0] = 0.0
        forces = []
        for F, p_MoBo_W in zip(F_Bo_W, np.array(position["p_MoBo_W"])):
            forces.append(SpatialForce(np.concatenate([F[:3] + cross(p_MoBo_W, F[3:]), F[3:]])))
        return forces

    def CalcMassMatrixViaInverseDynamics(self, context: Context, H: Array | None = None) -> Array:
        """Returns the mass matrix M(q), column by column as inverse dynamics for unit accelerations at rest.

        O(n^2); the composite rigid body algorithm of a plant is quicker.
        """
        w = self._workspace(context)
        pc, vc = PositionKinematicsCache(self._tree_itself()), VelocityKinematicsCache(self._tree_itself())
        self.CalcPositionKinematicsCache(context, pc)
        velocity = vc._records_of(w)
        w.call(kernels.velocity_kinematics, w.topology, w.parameters, pc._records, w.q, w.zeros_v, velocity)
        M = np.zeros((len(w.v), len(w.v)), w.dtype) if H is None else H
        for k in range(len(w.v)):
            vdot = w.zeros_v.copy()
            vdot[k] = 1.0
            M[:, k] = self._newton_euler(w, pc._records, velocity, vdot, w.zeros_F, w.scratch)
        return M

    def CalcBiasTerm(self, context: Context, Cv: Array | None = None) -> Array:
        """Returns C(q, v) v, Coriolis and gyroscopic forces, shape [num_velocities]; written into `Cv`, if given."""
        pc, vc = PositionKinematicsCache(self._tree_itself()), VelocityKinematicsCache(self._tree_itself())
        self.CalcPositionKinematicsCache(context, pc)
        self.CalcVelocityKinematicsCache(context, pc, vc)
        zero = np.zeros(self.num_velocities())
        return self.CalcInverseDynamics(context, pc, vc, zero, tau_array=Cv)

    def _newton_euler(self, w: Any, position: Any, velocity: Any, vdot: Array, F_applied: Array, scratch: Any) -> Array:
        self._tree_itself().refuse_armature("Inverse dynamics of a tree")
        tau = np.zeros(len(w.v), w.dtype)
        w.call(
            kernels.inverse_dynamics, w.topology, w.parameters, w.zero_gravity, position, velocity, vdot, F_applied,
            scratch, tau,
        )  # fmt: skip
        return tau

    def _vdot(self, w: Any, known_vdot: npt.ArrayLike) -> Array:
        # A plant is made of a tree, so that this module cannot import it earlier.
        from merganser.multibody.plant.arguments import checked_vector

        vdot: Array = checked_vector(self.plant._model, "known_vdot", known_vdot, len(w.v), w.dtype)
        return vdot

    def _of(self, cache: Any, kind: type[Any], w: Any) -> Any:
        """Records of a cache to write to."""
        self._check_cache(cache, kind)
        return cache._records_of(w)

    def _filled(self, cache: Any, kind: type[Any]) -> Any:
        """Records of a cache to read."""
        self._check_cache(cache, kind)
        cache._record(0)  # refuses an empty one
        return cache._records

    def _check_cache(self, cache: Any, kind: type[Any]) -> None:
        if not isinstance(cache, kind):
            raise TypeError(f"A {kind.__name__} is needed, not a {type(cache).__name__}.")
        if cache._tree is not self:
            raise RuntimeError(f"This {kind.__name__} was made for another tree.")

    def _tree_itself(self) -> MultibodyTree:
        tree: Any = self
        return tree

    # -- clones ----------------------------------------------------------------------------------------------

    def Clone(self) -> MultibodyTree:
        """Returns an independent copy of this finalized tree, with a plant of its own."""
        return self._context_owner().Clone()._tree

    def CloneToScalar(self, ToScalar: type[Any]) -> MultibodyTree:
        """Returns a copy of this finalized tree whose contexts compute with another scalar type.

        Args:
            ToScalar: float, AutoDiffXd or Expression.
        """
        owner = self._context_owner()
        return (owner.Clone() if ToScalar is scalar_of(owner) else owner.ToScalarType[ToScalar]())._tree

    def ToAutoDiffXd(self) -> MultibodyTree:
        """Returns a copy of this finalized tree whose contexts compute with AutoDiffXd."""
        from merganser.framework.autodiff import AutoDiffXd

        return self.CloneToScalar(AutoDiffXd)

    def get_variant(self, element: Variant) -> Variant:
        """Returns the element of this tree that corresponds to one of the tree of which this is a clone.

        Args:
            element: a frame, body, joint, actuator or mobilizer.

        Raises:
            TypeError: it is not one of these.
            RuntimeError: it is not part of a tree, or this tree has none of its index.
        """
        if element._tree is None:
            raise RuntimeError(f"get_variant(): {element!r} is not part of a tree.")
        if isinstance(element, Mobilizer):
            return self.get_mobilizer(element.index())  # type: ignore[return-value]
        if not isinstance(element, (Frame, RigidBody, Joint, Actuator)):
            raise TypeError(f"get_variant() takes a frame, body, joint, actuator or mobilizer, not {element!r}.")
        return element._in_tree(self._tree_itself())  # type: ignore[return-value]


def _check_length(array: Any, size: int, what: str) -> None:
    if len(array) != size:
        raise ValueError(f"{what} must have one entry a body, {size} of them, but has {len(array)}.")


def _listed(values: list[Any], out: list[Any] | None, what: str) -> list[Any]:
    if out is None:
        return values
    _check_length(out, len(values), what)
    out[:] = values
    return out
