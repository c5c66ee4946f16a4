"""Jacobians of velocities, and bias accelerations, of a plant in a given Context."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from merganser.multibody import kernels
from merganser.multibody.math import SpatialAcceleration
from merganser.multibody.plant.arguments import checked_point, checked_points, place_of
from merganser.multibody.plant.kinematics import PlantKinematics
from merganser.multibody.plant.model import PlantModel
from merganser.multibody.plant.workspace import Workspace
from merganser.multibody.tree import Frame, JacobianWrtVariable

if TYPE_CHECKING:
    from merganser.framework import Context

__all__ = ["PlantJacobians", "check_bias_speeds"]

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
