"""Functions of MultibodyPlant: poses, velocities, accelerations and Jacobians of bodies, frames and points."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from numpy.typing import ArrayLike, NDArray

from merganser.framework.math import RigidTransform, RotationMatrix
from merganser.multibody.math import SpatialAcceleration, SpatialVelocity
from merganser.multibody.plant.frame_motion import FrameMotion
from merganser.multibody.plant.jacobians import PlantJacobians
from merganser.multibody.plant.kinematics import PlantKinematics
from merganser.multibody.plant.velocity_maps import VelocityMaps
from merganser.multibody.tree import Frame, JacobianWrtVariable, RigidBody

if TYPE_CHECKING:
    from scipy.sparse import csc_matrix

__all__ = ["KinematicsFace"]

Array = NDArray[Any]


class KinematicsFace:
    """Kinematics in a Context.

    Frames and bodies must be those of the plant: others are refused with RuntimeError, other things than frames with
    TypeError.

    Jacobians are those of velocities as linear functions of speeds s, v = J_s s; bias accelerations are what
    accelerations are beside J_s sdot. Their functions take

        context: of this plant.
        with_respect_to: whether the speeds s are v (kV), or the rates qdot of the positions (kQDot).
        frame_B: the frame that moves, to which the points Bi (or one point Bp) are fixed.
        p_BoBi_B: where they are in B [m], shape [3] or [3, n]; p_BoBp_B, shape [3].
        frame_A: the frame in which the motion is measured.
        frame_E: the frame in which the result is expressed.

    Raises:
        TypeError: with_respect_to is no JacobianWrtVariable, or a frame is no Frame.
        RuntimeError: a frame is not of this plant.
        ValueError: positions are of wrong shape, or not finite.
    """

    _kinematics: PlantKinematics
    _velocity_maps: VelocityMaps
    _jacobians: PlantJacobians
    _frame_motion: FrameMotion

    # ------------------------------------------------------------------ poses

    def EvalBodyPoseInWorld(self, context: Any, body: RigidBody) -> RigidTransform:
        """Returns the pose X_WB of a body."""
        return self._kinematics.eval_body_pose_in_world(context, body)

    def CalcRelativeTransform(self, context: Any, frame_A: Frame, frame_B: Frame) -> RigidTransform:
        """Returns the pose X_AB of frame B in frame A."""
        return self._kinematics.calc_relative_transform(context, frame_A, frame_B)

    def CalcRelativeRotationMatrix(self, context: Any, frame_A: Frame, frame_B: Frame) -> RotationMatrix:
        """Returns the orientation R_AB of frame B in frame A."""
        return self._kinematics.calc_relative_rotation_matrix(context, frame_A, frame_B)

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
        return self._kinematics.calc_points_positions(context, frame_B, p_BQi, frame_A)

    # ------------------------------------------------------------------ velocities and accelerations

    def EvalBodySpatialVelocityInWorld(self, context: Any, body: RigidBody) -> SpatialVelocity:
        """Returns the spatial velocity V_WB_W of a body at its origin, in the world frame."""
        return self._kinematics.eval_body_spatial_velocity_in_world(context, body)

    def EvalBodySpatialAccelerationInWorld(self, context: Any, body: RigidBody) -> SpatialAcceleration:
        """Returns the spatial acceleration A_WB_W of a body at its origin, in the world frame.

        It follows from all forces at the moment, those of contact, joint limits and constraints included; for a
        discrete plant it is the mean over the next step, from (v+ - v) / h.
        """
        return self._frame_motion.eval_body_acceleration(context, body)

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
        return self._kinematics.calc_points_velocities(context, frame_B, p_BQi, frame_A, frame_E)

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
        return self._kinematics.calc_spatial_accelerations_from_vdot(context, known_vdot)

    # ------------------------------------------------------------------ Jacobians

    def CalcJacobianSpatialVelocity(
        self,
        context: Any,
        with_respect_to: JacobianWrtVariable,
        frame_B: Frame,
        p_BoBp_B: ArrayLike,
        frame_A: Frame,
        frame_E: Frame,
    ) -> Array:
        """Returns J with V_ABp_E = J s: rows of w_AB_E, then of v_ABp_E; shape [6, ns]. See the class."""
        return self._jacobians.calc_jacobian_spatial_velocity(
            context, with_respect_to, frame_B, p_BoBp_B, frame_A, frame_E
        )

    def CalcJacobianAngularVelocity(
        self, context: Any, with_respect_to: JacobianWrtVariable, frame_B: Frame, frame_A: Frame, frame_E: Frame
    ) -> Array:
        """Returns J with w_AB_E = J s, shape [3, ns]. See the class."""
        return self._jacobians.calc_jacobian_angular_velocity(context, with_respect_to, frame_B, frame_A, frame_E)

    def CalcJacobianTranslationalVelocity(
        self,
        context: Any,
        with_respect_to: JacobianWrtVariable,
        frame_B: Frame,
        p_BoBi_B: ArrayLike,
        frame_A: Frame,
        frame_E: Frame,
    ) -> Array:
        """Returns J with [v_AB0_E; v_AB1_E; ...] = J s, shape [3 n, ns]. See the class."""
        return self._jacobians.calc_jacobian_translational_velocity(
            context, with_respect_to, frame_B, p_BoBi_B, frame_A, frame_E
        )

    def CalcJacobianPositionVector(
        self, context: Any, frame_B: Frame, p_BoBi_B: ArrayLike, frame_A: Frame, frame_E: Frame
    ) -> Array:
        """Returns the partial derivatives of p_AoBi by q, taken in A and expressed in E, shape [3 n, nq].

        They are the Jacobian of the translational velocities for qdot. See the class.
        """
        return self._jacobians.calc_jacobian_position_vector(context, frame_B, p_BoBi_B, frame_A, frame_E)

    # ------------------------------------------------------------------ bias accelerations

    def CalcBiasSpatialAcceleration(
        self,
        context: Any,
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
        return self._jacobians.calc_bias_spatial_acceleration(
            context, with_respect_to, frame_B, p_BoBp_B, frame_A, frame_E
        )

    def CalcBiasTranslationalAcceleration(
        self,
        context: Any,
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
        return self._jacobians.calc_bias_translational_acceleration(
            context, with_respect_to, frame_B, p_BoBi_B, frame_A, frame_E
        )

    # ------------------------------------------------------------------ velocities and rates of positions

    def MapVelocityToQDot(self, context: Any, v: ArrayLike) -> Array:
        """Returns qdot = N(q) v, shape [nq].

        Raises:
            RuntimeError: a joint with roll, pitch and yaw is at a pitch of a quarter turn.
            ValueError: v is of wrong size or not finite.
        """
        return self._velocity_maps.map_velocity_to_qdot(context, v)

    def MapQDotToVelocity(self, context: Any, qdot: ArrayLike) -> Array:
        """Returns v = N+(q) qdot, shape [nv]."""
        return self._velocity_maps.map_qdot_to_velocity(context, qdot)

    def MakeVelocityToQDotMap(self, context: Any) -> csc_matrix:
        """Returns N(q), with qdot = N(q) v, as a sparse matrix of shape [nq, nv].

        Raises:
            RuntimeError: a joint with roll, pitch and yaw is at a pitch of a quarter turn.
            TypeError: the plant is of another scalar type than float.
        """
        return self._velocity_maps.make_velocity_to_qdot_map(context)

    def MakeQDotToVelocityMap(self, context: Any) -> csc_matrix:
        """Returns N+(q), with v = N+(q) qdot, as a sparse matrix of shape [nv, nq].

        Raises:
            TypeError: the plant is of another scalar type than float.
        """
        return self._velocity_maps.make_qdot_to_velocity_map(context)

    def IsVelocityEqualToQDot(self) -> bool:
        """Returns whether qdot = v for all joints.

        Raises:
            RuntimeError: before Finalize().
        """
        return self._velocity_maps.is_velocity_equal_to_qdot()
