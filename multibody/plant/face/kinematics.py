"""Functions of MultibodyPlant: poses, velocities, accelerations and Jacobians of bodies, frames and points."""

from __future__ import annotations

from typing import TYPE_CHECKING

from merganser.multibody.plant.delegation import from_part
from merganser.multibody.plant.frame_motion import FrameMotion
from merganser.multibody.plant.jacobians import PlantJacobians
from merganser.multibody.plant.kinematics import PlantKinematics
from merganser.multibody.plant.velocity_maps import VelocityMaps

if TYPE_CHECKING:
    pass

__all__ = ["KinematicsFace"]


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

    EvalBodyPoseInWorld = from_part(PlantKinematics.eval_body_pose_in_world)
    CalcRelativeTransform = from_part(PlantKinematics.calc_relative_transform)
    CalcRelativeRotationMatrix = from_part(PlantKinematics.calc_relative_rotation_matrix)
    CalcPointsPositions = from_part(PlantKinematics.calc_points_positions)

    # ------------------------------------------------------------------ velocities and accelerations

    EvalBodySpatialVelocityInWorld = from_part(PlantKinematics.eval_body_spatial_velocity_in_world)
    EvalBodySpatialAccelerationInWorld = from_part(FrameMotion.eval_body_acceleration)
    CalcPointsVelocities = from_part(PlantKinematics.calc_points_velocities)
    CalcSpatialAccelerationsFromVdot = from_part(PlantKinematics.calc_spatial_accelerations_from_vdot)

    # ------------------------------------------------------------------ Jacobians

    CalcJacobianSpatialVelocity = from_part(PlantJacobians.calc_jacobian_spatial_velocity)
    CalcJacobianAngularVelocity = from_part(PlantJacobians.calc_jacobian_angular_velocity)
    CalcJacobianTranslationalVelocity = from_part(PlantJacobians.calc_jacobian_translational_velocity)
    CalcJacobianPositionVector = from_part(PlantJacobians.calc_jacobian_position_vector)

    # ------------------------------------------------------------------ bias accelerations

    CalcBiasSpatialAcceleration = from_part(PlantJacobians.calc_bias_spatial_acceleration)
    CalcBiasTranslationalAcceleration = from_part(PlantJacobians.calc_bias_translational_acceleration)

    # ------------------------------------------------------------------ velocities and rates of positions

    MapVelocityToQDot = from_part(VelocityMaps.map_velocity_to_qdot)
    MapQDotToVelocity = from_part(VelocityMaps.map_qdot_to_velocity)
    MakeVelocityToQDotMap = from_part(VelocityMaps.make_velocity_to_qdot_map)
    MakeQDotToVelocityMap = from_part(VelocityMaps.make_qdot_to_velocity_map)
    IsVelocityEqualToQDot = from_part(VelocityMaps.is_velocity_equal_to_qdot)
