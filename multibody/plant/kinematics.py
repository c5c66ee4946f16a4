"""Kinematics of a plant in a given Context: poses, velocities and accelerations of bodies, frames and points."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from merganser.framework.core.inside import scalar_of
from merganser.framework.math import RigidTransform, RotationMatrix
from merganser.framework.math.unchecked import rigid_transform, rotation_matrix
from merganser.framework.native import Result, bind
from merganser.multibody import kernels
from merganser.multibody.kernels import checked_arrays
from merganser.multibody.math import SpatialAcceleration, SpatialVelocity
from merganser.multibody.plant.checked_code import checked
from merganser.multibody.plant.free_bodies import PlantFreeBodies
from merganser.multibody.plant.workspace import Workspace
from merganser.multibody.tree import FixedOffsetFrame, Frame, RigidBody

if TYPE_CHECKING:
    from scipy.sparse import csc_matrix

__all__ = ["PlantKinematics"]

Array = NDArray[Any]
_NDARRAY, _FLOAT, _POINT = np.ndarray, np.dtype(np.float64), (3,)
_new = RigidTransform.__new__

# X_BB as a matrix [R p], for each type of scalar; never written.
_IDENTITY = {np.dtype(scalar): np.eye(3, 4).astype(scalar) for scalar in (np.float64, np.complex128, object)}


class PlantKinematics(PlantFreeBodies):
    """Poses, velocities and accelerations, and the map between velocities and rates of positions.

    Frames and bodies must be those of the plant: others are refused with RuntimeError, other things than frames with
    TypeError.
    """

    # ------------------------------------------------------------------ kinematics in the cache

    def _calc_position(self, context: Any, output: Any) -> None:
        self._eval_position(context)

    def _calc_velocity(self, context: Any, output: Any) -> None:
        self._eval_velocity(context)

    def _calc_poses(self, context: Any, output: Any) -> None:
        self._eval_poses(context)

    def _eval_poses(self, context: Any) -> Workspace:
        """The workspace, with at least the poses of the position kinematics up to date."""
        try:
            w: Workspace | None = context.workspace if context.system is self else None
        except AttributeError:
            w = None
        if w is None:
            w = self._workspace(context)
        store = w.store
        if store.reader is not None:
            store.note_read(context, 0)
        if store.invalid & w.pose_bit and store.invalid & w.position_bit:
            w.run_poses()
            store.invalid &= w.pose_clearing
        return w

    def _eval_position(self, context: Any) -> Workspace:
        """The workspace, with position kinematics up to date."""
        # This and what follows do what self._workspace() and slot.compute() do for an entry that calls no other; both
        # are most of what a function like CalcMassMatrix() would take.
        try:
            w: Workspace | None = context.workspace if context.system is self else None
        except AttributeError:
            w = None
        if w is None:
            w = self._workspace(context)
        store = w.store
        if store.reader is not None:
            store.note_read(context, 0)
        if store.invalid & w.position_bit:
            if store.invalid & w.pose_bit:
                w.run_position()
            else:
                w.run_rest()
            store.invalid &= w.position_clearing
        return w

    def _eval_velocity(self, context: Any) -> Workspace:
        """The workspace, with position and velocity kinematics up to date."""
        try:
            w: Workspace | None = context.workspace if context.system is self else None
        except AttributeError:
            w = None
        if w is None:
            w = self._workspace(context)
        store = w.store
        if store.reader is not None:
            store.note_read(context, 0)
        if store.invalid & w.position_bit:
            w.run_kinematics()
            store.invalid &= w.kinematics_clearing
        elif store.invalid & w.velocity_bit:
            w.run_velocity()
            store.invalid &= w.velocity_clearing
        return w

    # ------------------------------------------------------------------ poses

    def EvalBodyPoseInWorld(self, context: Any, body: RigidBody) -> RigidTransform:
        """Returns the pose X_WB of a body."""
        try:
            w: Workspace | None = context.workspace if context.system is self else None
        except AttributeError:
            w = None
        if w is None:
            w = self._workspace(context)
        store = w.store
        if store.reader is not None:
            store.note_read(context, 0)
        if store.invalid & w.pose_bit and store.invalid & w.position_bit:  # as _eval_poses() does
            w.run_poses()
            store.invalid &= w.pose_clearing
        try:
            copy_pose = w.poses[body]
        except (KeyError, TypeError):
            copy_pose = self._find_pose("EvalBodyPoseInWorld", w, body)
        X_WB = _new(RigidTransform)  # what unchecked.rigid_transform() does; 560 ns a call instead of 650
        X_WB._R_AB, X_WB._p_AoBo_A = copy_pose()
        return X_WB

    def _find_pose(self, caller: str, w: Workspace, body: RigidBody) -> Callable[[], tuple[Array, Array]]:
        """What returns copies of R_WB and p_WoBo_W; of floats from views that stay."""
        mobod = self._mobod(caller, body)
        if not w.is_float:
            return functools.partial(w.pose_of, mobod)
        R_WB, p_WoBo_W = w.position[mobod]["R_WB"], w.position[mobod]["p_WoBo_W"]
        copy_pose = w.poses[body] = bind(checked_arrays.copy_pose, R_WB, p_WoBo_W, Result((3, 3)), Result((3,)))
        return copy_pose

    def CalcRelativeTransform(self, context: Any, frame_A: Frame, frame_B: Frame) -> RigidTransform:
        """Returns the pose X_AB of frame B in frame A."""
        return rigid_transform(*self._relative_pose("CalcRelativeTransform", context, frame_A, frame_B))

    def CalcRelativeRotationMatrix(self, context: Any, frame_A: Frame, frame_B: Frame) -> RotationMatrix:
        """Returns the orientation R_AB of frame B in frame A."""
        R_AB, _ = self._relative_pose("CalcRelativeRotationMatrix", context, frame_A, frame_B)
        return rotation_matrix(R_AB)

    def _relative_pose(self, caller: str, context: Any, frame_A: Frame, frame_B: Frame) -> tuple[Array, Array]:
        """R_AB and p_AoBo_A."""
        w = self._eval_poses(context)
        A, B = self._place(caller, w, frame_A), self._place(caller, w, frame_B)
        R_AB, p_AoBo_A = np.empty((3, 3), w.dtype), np.empty(3, w.dtype)
        w.call(kernels.relative_pose, w.position, *A, *B, R_AB, p_AoBo_A)
        return R_AB, p_AoBo_A

    def CalcPointsPositions(self, context: Any, frame_B: Frame, p_BQi: ArrayLike, frame_A: Frame) -> Array:
        """Returns the positions in frame A of points Qi that are fixed to frame B.

        Args:
            context: of this plant.
            frame_B: where the points are fixed.
            p_BQi: their positions in B [m], shape [3] or [3, n].
            frame_A: where they are wanted.

        Returns:
            p_AQi [m], shape [3, n].

        Raises:
            ValueError: p_BQi has another shape, or is not finite.
        """
        caller = "CalcPointsPositions"
        w = self._eval_poses(context)
        points = self._checked_points(caller, "p_BQi", p_BQi, w)
        A, B = self._place(caller, w, frame_A), self._place(caller, w, frame_B)
        p_AQi = np.empty((3, len(points) // 3), w.dtype)
        w.call(kernels.point_positions, w.position, *B, points, *A, p_AQi)
        return p_AQi

    # ------------------------------------------------------------------ velocities and accelerations

    def EvalBodySpatialVelocityInWorld(self, context: Any, body: RigidBody) -> SpatialVelocity:
        """Returns the spatial velocity V_WB_W of a body at its origin, in the world frame."""
        mobod = self._mobod("EvalBodySpatialVelocityInWorld", body)
        return SpatialVelocity._from_coeffs(self._eval_velocity(context).velocity_of(mobod))

    def CalcPointsVelocities(
        self, context: Any, frame_B: Frame, p_BQi: ArrayLike, frame_A: Frame, frame_E: Frame
    ) -> Array:
        """Returns the velocities of points Qi that are fixed to frame B.

        Args:
            context: of this plant.
            frame_B: where the points are fixed.
            p_BQi: their positions in B [m], shape [3] or [3, n].
            frame_A: in which the velocities are measured.
            frame_E: in which they are expressed.

        Returns:
            v_AQi_E [m/s], shape [3, n].

        Raises:
            ValueError: p_BQi has another shape, or is not finite.
        """
        caller = "CalcPointsVelocities"
        w = self._eval_velocity(context)
        points = self._checked_points(caller, "p_BQi", p_BQi, w)
        B, A, E = (self._place(caller, w, frame) for frame in (frame_B, frame_A, frame_E))
        v_AQi_E = np.empty((3, len(points) // 3), w.dtype)
        w.call(kernels.point_velocities, w.position, w.velocity, *B, points, A[0], *E, v_AQi_E)
        return v_AQi_E

    def CalcSpatialAccelerationsFromVdot(self, context: Any, known_vdot: ArrayLike) -> list[SpatialAcceleration]:
        """Returns the spatial accelerations that bodies have if the generalized accelerations are as given.

        Args:
            context: of this plant.
            known_vdot: generalized accelerations, shape [nv].

        Returns:
            A_WB_W of all bodies at their origins, by BodyIndex [rad/s^2, m/s^2].

        Raises:
            ValueError: known_vdot is of wrong size or not finite.
        """
        w = self._eval_velocity(context)
        vdot = self._checked_vector("CalcSpatialAccelerationsFromVdot", known_vdot, len(w.v), w.dtype)
        A_WB_W = self._spatial_accelerations(w, vdot)
        return [SpatialAcceleration._from_coeffs(A_WB_W[mobod]) for mobod in self._tree.mobod_of_body.tolist()]

    def _spatial_accelerations(self, w: Workspace, vdot: Array) -> Array:
        """A_WB_W of all mobods, from velocity kinematics that are up to date, shape [num_mobods, 6]."""
        A_WB_W = w.zeros_F.copy()
        w.call(kernels.spatial_accelerations, w.topology, w.position, w.velocity, vdot, A_WB_W)
        return A_WB_W

    # ------------------------------------------------------------------ velocities and rates of positions

    def MapVelocityToQDot(self, context: Any, v: ArrayLike) -> Array:
        """Returns qdot = N(q) v, shape [nq].

        Raises:
            RuntimeError: a joint with roll, pitch and yaw is at a pitch of a quarter turn.
            ValueError: v is of wrong size or not finite.
        """
        w = self._workspace(context)
        velocity = self._checked_vector("MapVelocityToQDot", v, len(w.v), w.dtype)
        self._check_pitches("MapVelocityToQDot()", w)
        qdot = np.empty(len(w.q), w.dtype)
        w.call(kernels.velocity_to_qdot, w.topology, w.q, velocity, qdot)
        return qdot

    def MapQDotToVelocity(self, context: Any, qdot: ArrayLike) -> Array:
        """Returns v = N+(q) qdot, shape [nv]."""
        w = self._workspace(context)
        rates = self._checked_vector("MapQDotToVelocity", qdot, len(w.q), w.dtype)
        v = np.empty(len(w.v), w.dtype)
        w.call(kernels.qdot_to_velocity, w.topology, w.q, rates, v)
        return v

    def MakeVelocityToQDotMap(self, context: Any) -> csc_matrix:
        """Returns N(q), with qdot = N(q) v, as a sparse matrix of shape [nq, nv].

        Raises:
            RuntimeError: a joint with roll, pitch and yaw is at a pitch of a quarter turn.
            TypeError: the plant is of another scalar type than float.
        """
        topology = self._topology_for_map("MakeVelocityToQDotMap", "MapVelocityToQDot", context)
        columns, rows = ("v_start", "num_v"), ("q_start", "num_q")
        return self._sparse_map(lambda v: self.MapVelocityToQDot(context, v), topology, rows, columns)

    def MakeQDotToVelocityMap(self, context: Any) -> csc_matrix:
        """Returns N+(q), with v = N+(q) qdot, as a sparse matrix of shape [nv, nq].

        Raises:
            TypeError: the plant is of another scalar type than float.
        """
        topology = self._topology_for_map("MakeQDotToVelocityMap", "MapQDotToVelocity", context)
        columns, rows = ("q_start", "num_q"), ("v_start", "num_v")
        return self._sparse_map(lambda qdot: self.MapQDotToVelocity(context, qdot), topology, rows, columns)

    def _topology_for_map(self, caller: str, product: str, context: Any) -> Array:
        """The records of the mobods, for a matrix of numbers.

        Raises:
            TypeError: the plant is of another scalar type than float, of which there are no sparse matrices.
        """
        w = self._workspace(context)
        if not w.is_numeric:
            raise TypeError(
                f"{caller}(): plant '{self.GetSystemPathname()}' is of {scalar_of(self).__name__}, and sparse matrices "
                f"hold plain numbers only. Use {product}(), which multiplies by the same matrix."
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

    def IsVelocityEqualToQDot(self) -> bool:
        """Returns whether qdot = v for all joints.

        Raises:
            RuntimeError: before Finalize().
        """
        self._tree._check_finalized("IsVelocityEqualToQDot")
        return all(joint.kind.has_equal_rates() for joint in self._tree.joints)

    # ------------------------------------------------------------------ arguments

    def _mobod(self, caller: str, body: RigidBody) -> int:
        if not isinstance(body, RigidBody):
            raise TypeError(f"{caller}() takes a RigidBody, got {type(body).__name__}.")
        if body._tree is not self._tree or body._mobod is None:
            self._tree._check_mine(caller, "it", body)
            self._require_finalized(f"{caller}()")
        assert body._mobod is not None
        return body._mobod

    def _place(self, caller: str, w: Workspace, frame_F: Frame) -> tuple[int, Array]:
        """A frame as kernels take it: the mobod of its body B, and X_BF as a matrix [R p], shape [3, 4]."""
        try:
            return w.places[frame_F]
        except (KeyError, TypeError):
            return self._find_place(caller, w, frame_F)

    def _find_place(self, caller: str, w: Workspace, frame_F: Frame) -> tuple[int, Array]:
        if not isinstance(frame_F, Frame):
            raise TypeError(f"{caller}() takes frames, got a {type(frame_F).__name__}. A body has body_frame().")
        self._tree._check_mine(caller, "it", frame_F)
        X_BF = w.frames["X_BF"][frame_F._slot] if isinstance(frame_F, FixedOffsetFrame) else _IDENTITY[w.dtype]
        mobod = frame_F.body()._mobod
        assert mobod is not None
        place = w.places[frame_F] = mobod, X_BF
        return place

    def _checked_points(self, caller: str, name: str, given: ArrayLike, w: Workspace) -> Array:
        """Positions of n points as kernels take them, checked to be finite, shape [3 n].

        Args:
            caller: name of the function for messages.
            name: of the argument.
            given: shape [3] or [3, n].
            w: the workspace, for the scalar type.
        """
        points: Any = given
        if w.is_float and type(points) is _NDARRAY and points.dtype is _FLOAT and points.flags.c_contiguous:
            flat = points if points.shape == _POINT else points.reshape(-1)  # as it often is: 1 us less
            if points.ndim in (1, 2) and points.shape[0] == 3 and checked.is_finite(flat):
                return flat
        points = np.asarray(given)
        if points.ndim not in (1, 2) or points.shape[0] != 3:
            raise ValueError(f"{caller}(): {name} must have shape [3] or [3, n], got {points.shape}.")
        flat = np.ascontiguousarray(points).reshape(-1)
        if flat.dtype is not w.dtype and flat.dtype != w.dtype:
            flat = self._converted(caller, flat, w.dtype)
        if flat.dtype.kind in "fc" and not math.isfinite(abs(flat.dot(flat))) and not np.isfinite(flat).all():
            raise ValueError(f"{caller}(): {name} must be finite, got {points.tolist()}.")
        return flat

    def _checked_point(self, caller: str, name: str, given: ArrayLike, w: Workspace) -> Array:
        """The position of one point, checked in the same way, shape [3]."""
        p: Any = given
        if w.is_float and type(p) is _NDARRAY and p.dtype is _FLOAT and p.shape == _POINT and checked.is_finite(p):
            return p if p.flags.c_contiguous else p.copy()  # as it often is: 1 us less than what follows
        points = self._checked_points(caller, name, given, w)
        if len(points) != 3:
            raise ValueError(f"{caller}(): {name} must be one point, shape [3], got shape {np.shape(given)}.")
        return points
