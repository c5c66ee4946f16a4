"""Jacobians of velocities and bias accelerations of a plant in a Context, and the map between its velocities and rates.

    qdot = N(q) v,   v = N+(q) qdot
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from merganser.framework.core.inside import scalar_of
from merganser.multibody import kernels
from merganser.multibody.math import SpatialAcceleration
from merganser.multibody.plant.arguments import check_pitches, checked_point, checked_points, checked_vector, place_of
from merganser.multibody.plant.kinematics import PlantKinematics
from merganser.multibody.plant.model import PlantModel
from merganser.multibody.plant.state_views import StateViews
from merganser.multibody.plant.workspace import Workspace
from merganser.multibody.tree import Frame, JacobianWrtVariable

if TYPE_CHECKING:
    from scipy.sparse import csc_matrix

    from merganser.framework import Context


Array = NDArray[Any]
_NO_POINTS = {np.dtype(scalar): np.empty(0, scalar) for scalar in (np.float64, np.complex128, object)}
_KV = JacobianWrtVariable.kV  # access through the class takes 0.1 us


class PlantJacobians:
    """Velocities as linear functions of speeds s, v = J_s s, and what accelerations are beside J_s sdot.

    What the functions take, and their errors, KinematicsFace says.
    """

    def __init__(self, model: PlantModel, kinematics: PlantKinematics) -> None:
        self._model, self._kinematics = model, kinematics

    # ------------------------------------------------------------------ Jacobians

    def calc_jacobian_spatial_velocity(
        self,
        context: Context,
        with_respect_to: JacobianWrtVariable,
        frame_B: Frame,
        p_BoBp_B: ArrayLike,
        frame_A: Frame,
        frame_E: Frame,
    ) -> Array:
        """Returns J with V_ABp_E = J s: rows of w_AB_E, then of v_ABp_E; shape [6, ns]. See the class."""
        caller = "CalcJacobianSpatialVelocity"
        w = self._kinematics.eval_position(context)
        if with_respect_to is _KV and w.calls.write_point(p_BoBp_B):
            # As it often is: the same as what follows, without calls that cost more than the kernel.
            try:
                (mobod_B, X_B), A, (mobod_E, X_E) = w.places[frame_B], w.places[frame_A], w.places[frame_E]
            except (KeyError, TypeError):
                pass
            else:
                run = w.calls.point_jacobian
                return run(mobod_B, X_B, w.point, A[0], mobod_E, X_E)
        point = checked_point(self._model, caller, "p_BoBp_B", p_BoBp_B, w)
        return self._jacobian(caller, w, with_respect_to, frame_B, point, frame_A, frame_E)

    def calc_body_jacobians_in_world(self, context: Context) -> Array:
        """Returns J with V_WB_W = J v of all bodies, each [J_w_WB_W; J_v_WBo_W], shape [num_bodies, 6, nv].

        By their index. One kernel computes them all; the array is new.
        """
        w, mobods = self._kinematics.eval_position(context), self._model.tree.mobod_of_body
        J = np.empty((len(mobods), *w.J_shape), w.dtype)
        w.calls.body_jacobians(mobods, J)
        return J

    def calc_jacobian_angular_velocity(
        self, context: Context, with_respect_to: JacobianWrtVariable, frame_B: Frame, frame_A: Frame, frame_E: Frame
    ) -> Array:
        """Returns J with w_AB_E = J s, shape [3, ns]. See the class."""
        caller = "CalcJacobianAngularVelocity"
        w = self._kinematics.eval_position(context)
        return self._jacobian(caller, w, with_respect_to, frame_B, _NO_POINTS[w.dtype], frame_A, frame_E)

    def calc_jacobian_translational_velocity(
        self,
        context: Context,
        with_respect_to: JacobianWrtVariable,
        frame_B: Frame,
        p_BoBi_B: ArrayLike,
        frame_A: Frame,
        frame_E: Frame,
    ) -> Array:
        """Returns J with [v_AB0_E; v_AB1_E; ...] = J s, shape [3 n, ns]. See the class."""
        caller = "CalcJacobianTranslationalVelocity"
        w = self._kinematics.eval_position(context)
        points = checked_points(self._model, caller, "p_BoBi_B", p_BoBi_B, w)
        return self._jacobian(caller, w, with_respect_to, frame_B, points, frame_A, frame_E)[3:]

    def calc_jacobian_position_vector(
        self, context: Context, frame_B: Frame, p_BoBi_B: ArrayLike, frame_A: Frame, frame_E: Frame
    ) -> Array:
        """Returns the partial derivatives of p_AoBi by q, taken in A and expressed in E, shape [3 n, nq].

        They are the Jacobian of the translational velocities for qdot. See the class.
        """
        caller = "CalcJacobianPositionVector"
        w = self._kinematics.eval_position(context)
        points = checked_points(self._model, caller, "p_BoBi_B", p_BoBi_B, w)
        return self._jacobian(caller, w, JacobianWrtVariable.kQDot, frame_B, points, frame_A, frame_E)[3:]

    def _jacobian(
        self,
        caller: str,
        w: Workspace,
        with_respect_to: JacobianWrtVariable,
        frame_B: Frame,
        points: Array,
        frame_A: Frame,
        frame_E: Frame,
    ) -> Array:
        """[J_w_AB_E; J_v_AB0_E; J_v_AB1_E; ...], with points of shape [3 n]; shape [3 + 3 n, ns]."""
        mobod_B, X_B = place_of(self._model, caller, w, frame_B)
        mobod_A, _ = place_of(self._model, caller, w, frame_A)
        mobod_E, X_E = place_of(self._model, caller, w, frame_E)
        J_v = np.empty((3 + len(points), len(w.v)), w.dtype)
        run = w.calls.jacobian
        run(mobod_B, X_B, points, mobod_A, mobod_E, X_E, J_v)
        return J_v if with_respect_to is _KV else self.for_speeds(caller, with_respect_to, w, J_v)

    def for_speeds(self, caller: str, with_respect_to: JacobianWrtVariable, w: Workspace, J_v: Array) -> Array:
        """The Jacobian that was asked for, J_v or J_qdot = J_v N+(q)."""
        if with_respect_to is _KV:
            return J_v
        if with_respect_to is not JacobianWrtVariable.kQDot:
            raise TypeError(
                f"{caller}(): with_respect_to must be JacobianWrtVariable.kV or .kQDot, got {with_respect_to!r}."
            )
        J_qdot = np.empty((len(J_v), len(w.q)), w.dtype)
        w.call(kernels.qdot_jacobian, w.topology, w.q, J_v, np.empty(len(w.q), w.dtype), w.zeros_v.copy(), J_qdot)
        return J_qdot

    # ------------------------------------------------------------------ bias accelerations

    def calc_bias_spatial_acceleration(
        self,
        context: Context,
        with_respect_to: JacobianWrtVariable,
        frame_B: Frame,
        p_BoBp_B: ArrayLike,
        frame_A: Frame,
        frame_E: Frame,
    ) -> SpatialAcceleration:
        """Returns A_ABp_E - J_V vdot, the spatial acceleration if vdot is zero [rad/s^2, m/s^2]. See the class.

        Raises:
            RuntimeError: with_respect_to is kQDot.
        """
        caller = "CalcBiasSpatialAcceleration"
        w = self._kinematics.eval_velocity(context)
        point = checked_point(self._model, caller, "p_BoBp_B", p_BoBp_B, w)
        A = self._bias_accelerations(caller, w, with_respect_to, frame_B, point, frame_A, frame_E)
        return SpatialAcceleration._from_coeffs(A.reshape(6))

    def calc_bias_translational_acceleration(
        self,
        context: Context,
        with_respect_to: JacobianWrtVariable,
        frame_B: Frame,
        p_BoBi_B: ArrayLike,
        frame_A: Frame,
        frame_E: Frame,
    ) -> Array:
        """Returns a_ABi_E - J_v vdot, the accelerations if vdot is zero [m/s^2], shape [3, n]. See the class.

        Raises:
            RuntimeError: with_respect_to is kQDot.
        """
        caller = "CalcBiasTranslationalAcceleration"
        w = self._kinematics.eval_velocity(context)
        if with_respect_to is _KV and w.calls.write_point(p_BoBi_B):  # as above
            try:
                (mobod_B, X_B), A, (mobod_E, X_E) = w.places[frame_B], w.places[frame_A], w.places[frame_E]
            except (KeyError, TypeError):
                pass
            else:
                run = w.calls.point_bias
                return run(mobod_B, X_B, w.point, A[0], mobod_E, X_E)[1:].T
        points = checked_points(self._model, caller, "p_BoBi_B", p_BoBi_B, w)
        accelerations = self._bias_accelerations(caller, w, with_respect_to, frame_B, points, frame_A, frame_E)
        return accelerations[1:].T

    def _bias_accelerations(
        self,
        caller: str,
        w: Workspace,
        with_respect_to: JacobianWrtVariable,
        frame_B: Frame,
        points: Array,
        frame_A: Frame,
        frame_E: Frame,
    ) -> Array:
        """alpha_AB_E, then a_ABi_E of each point, for vdot = 0; shape [1 + n, 3]."""
        if with_respect_to is not _KV:
            check_bias_speeds(caller, with_respect_to)
        mobod_B, X_B = place_of(self._model, caller, w, frame_B)
        mobod_A, _ = place_of(self._model, caller, w, frame_A)
        mobod_E, X_E = place_of(self._model, caller, w, frame_E)
        A = np.empty((1 + len(points) // 3, 3), w.dtype)
        run = w.calls.point_accelerations
        run(mobod_B, X_B, points, mobod_A, mobod_E, X_E, A)
        return A


def check_bias_speeds(caller: str, with_respect_to: JacobianWrtVariable) -> None:
    """Refuses speeds for which there is no bias acceleration."""
    if with_respect_to is JacobianWrtVariable.kQDot:
        raise RuntimeError(
            f"{caller}(): the bias acceleration is defined for with_respect_to = JacobianWrtVariable.kV only."
        )
    if with_respect_to is not JacobianWrtVariable.kV:
        raise TypeError(f"{caller}(): with_respect_to must be JacobianWrtVariable.kV, got {with_respect_to!r}.")


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
        return self._has_equal_rates

    @functools.cached_property
    def _has_equal_rates(self) -> bool:
        return all(joint.kind.has_equal_rates() for joint in self._model.tree.joints)
