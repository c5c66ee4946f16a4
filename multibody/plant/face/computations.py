"""Functions of MultibodyPlant in a Context: dynamics, energies, kinematics, Jacobians, positions and velocities."""

from __future__ import annotations

from typing import TYPE_CHECKING

from merganser.multibody.plant.center_of_mass import CenterOfMass
from merganser.multibody.plant.computations import ForceElements, PlantComputations
from merganser.multibody.plant.face.model import from_part, from_tree
from merganser.multibody.plant.jacobians import PlantJacobians, VelocityMaps
from merganser.multibody.plant.kinematics import FrameMotion, PlantKinematics
from merganser.multibody.plant.model import PlantModel
from merganser.multibody.plant.state import FreeBodies, PlantState
from merganser.multibody.tree import MultibodyTree
from merganser.multibody.tree.lookup import TreeLookup

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from merganser.framework import Context
    from merganser.multibody.plant.scalars.step_slopes import BatchStepDerivatives, StepDerivatives
    from merganser.multibody.plant.step.dynamics import PlantDynamics


class DynamicsFace:
    """Dynamics in a Context, as functions.

    Functions about the centre of mass Scm of a system S, and other sums over the bodies of S: S consists of all bodies
    of the plant, or of those of the given model instances; the world is never one of them, and an instance that is
    listed twice counts once. They raise RuntimeError if a model instance does not exist; and where the centre of mass
    is needed, if S has no bodies, or no mass.

    Errors of all functions that compute forces or energies of force elements: RuntimeError, if a spring has no length
    or the pitch of a bushing is a quarter turn.
    """

    _computations: PlantComputations
    _dynamics: PlantDynamics
    _center_of_mass: CenterOfMass
    _force_elements: ForceElements
    _tree: MultibodyTree
    _model: PlantModel

    # ------------------------------------------------------------------ discrete steps

    SetUseExplicitVelocityProducts = from_part(PlantModel.set_explicit_products)

    def uses_explicit_velocity_products(self) -> bool:
        """Returns whether discrete steps take forces of velocity products at their beginning, by default False."""
        return bool(self._tree.has_explicit_products)

    def DifferentiateStep(self, context: Context) -> StepDerivatives:
        """Computes the next step of a discrete plant, and how it follows state and inputs: see StepDerivatives.

        One step and one linear system, where contacts stick, slide or separate, at joint limits and for saturated
        controllers alike; at a change from one to the other, derivatives are those of one side.

        Args:
            context: of this plant, which stays as it is.

        Raises:
            RuntimeError: the plant is continuous or of another scalar, the step fails, or something acts of which this
                function knows no derivatives; the error names it.
        """
        return self._dynamics.differentiate_step(context)

    def DifferentiateSteps(
        self, context: Context, states: ArrayLike, inputs: ArrayLike | None = None, parallelize: bool | int = True
    ) -> BatchStepDerivatives:
        """Computes steps of a discrete plant from many states, and how they follow state and inputs.

        Each has the numbers that DifferentiateStep() finds at its state.

        Args:
            context: of this plant, in a Context of its diagram: parameters and other inputs; it stays as it is.
            states: [q; v], one a column, shape [num_x, N]; as those of the worlds of a BatchSimulator.
            inputs: what comes for all actuators in place of what the ports carry, one a column, shape [num_u, N].
            parallelize: number of threads; True for as many as there are processors. Results do not depend on it.

        Raises:
            ValueError: sizes do not match.
            RuntimeError: as DifferentiateStep().
        """
        return self._dynamics.differentiate_steps(context, states, inputs, parallelize)

    # ------------------------------------------------------------------ system matrices

    CalcMassMatrix = from_part(PlantComputations.calc_mass_matrix)
    CalcManipulatorDynamics = from_part(PlantComputations.calc_manipulator_dynamics)
    CalcMassMatrixViaInverseDynamics = from_part(PlantComputations.calc_mass_matrix_via_inverse_dynamics)
    CalcGeneralizedForces = from_part(PlantComputations.calc_generalized_forces)
    CalcBiasTerm = from_part(PlantComputations.calc_bias_term)
    CalcInverseDynamics = from_part(PlantComputations.calc_inverse_dynamics)
    CalcGravityGeneralizedForces = from_part(PlantComputations.calc_gravity_generalized_forces)

    # ------------------------------------------------------------------ energies and mass

    CalcKineticEnergy = from_part(PlantComputations.calc_kinetic_energy)
    EvalKineticEnergy = CalcKineticEnergy

    # ------------------------------------------------------------------ force elements

    AddForceElement = from_tree(MultibodyTree.AddForceElement)
    get_force_element = from_tree(TreeLookup.get_force_element)
    num_force_elements = from_tree(TreeLookup.num_force_elements)
    is_gravity_enabled = from_tree(MultibodyTree.is_gravity_enabled)
    set_gravity_enabled = from_tree(MultibodyTree.set_gravity_enabled)
    CalcForceElementsContribution = from_part(ForceElements.calc_force_elements_contribution)

    # ------------------------------------------------------------------ energies and powers

    CalcPotentialEnergy = from_part(ForceElements.calc_potential_energy)
    CalcConservativePower = from_part(ForceElements.calc_conservative_power)
    CalcNonConservativePower = from_part(ForceElements.calc_non_conservative_power)

    EvalPotentialEnergy = CalcPotentialEnergy
    EvalConservativePower = CalcConservativePower
    EvalNonConservativePower = CalcNonConservativePower

    # ------------------------------------------------------------------ centre of mass

    CalcTotalMass = from_part(CenterOfMass.calc_total_mass)
    CalcCenterOfMassPositionInWorld = from_part(CenterOfMass.calc_center_of_mass_position_in_world)
    CalcCenterOfMassTranslationalVelocityInWorld = from_part(
        CenterOfMass.calc_center_of_mass_translational_velocity_in_world
    )
    CalcCenterOfMassTranslationalAccelerationInWorld = from_part(
        CenterOfMass.calc_center_of_mass_translational_acceleration_in_world
    )

    # ------------------------------------------------------------------ Jacobian and bias

    CalcJacobianCenterOfMassTranslationalVelocity = from_part(
        CenterOfMass.calc_jacobian_center_of_mass_translational_velocity
    )
    CalcBiasCenterOfMassTranslationalAcceleration = from_part(
        CenterOfMass.calc_bias_center_of_mass_translational_acceleration
    )

    # ------------------------------------------------------------------ momentum and inertia

    CalcSpatialMomentumInWorldAboutPoint = from_part(CenterOfMass.calc_spatial_momentum_in_world_about_point)
    CalcSpatialInertia = from_part(CenterOfMass.calc_spatial_inertia)


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
    EvalBodyPosesInWorld = from_part(PlantKinematics.eval_body_poses_in_world)
    CalcRelativeTransform = from_part(PlantKinematics.calc_relative_transform)
    CalcRelativeRotationMatrix = from_part(PlantKinematics.calc_relative_rotation_matrix)
    CalcPointsPositions = from_part(PlantKinematics.calc_points_positions)

    # ------------------------------------------------------------------ velocities and accelerations

    EvalBodySpatialVelocityInWorld = from_part(PlantKinematics.eval_body_spatial_velocity_in_world)
    EvalBodySpatialAccelerationInWorld = from_part(FrameMotion.eval_body_acceleration)
    CalcPointsVelocities = from_part(PlantKinematics.calc_points_velocities)
    CalcSpatialAccelerationsFromVdot = from_part(PlantKinematics.calc_spatial_accelerations_from_vdot)

    # ------------------------------------------------------------------ Jacobians

    CalcBodyJacobiansInWorld = from_part(PlantJacobians.calc_body_jacobians_in_world)
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


class StateFace:
    """State of a MultibodyPlant: x = [q; v], continuous or discrete.

    Every `Set...` function checks its arguments, and refuses values that are not finite, before it changes
    anything.

    *Free bodies* are those whose joint towards the world leaves them all six degrees of freedom. A *floating base body*
    is one that Finalize() connected to the world: the frames Jp and Jc of its joint are those of the world and of the
    body.
    """

    _state: PlantState
    _free_bodies: FreeBodies

    # ------------------------------------------------------------------ positions and velocities

    GetPositions = from_part(PlantState.get_positions)
    GetVelocities = from_part(PlantState.get_velocities)
    GetPositionsAndVelocities = from_part(PlantState.get_positions_and_velocities)
    SetPositions = from_part(PlantState.set_positions)
    SetVelocities = from_part(PlantState.set_velocities)
    SetPositionsAndVelocities = from_part(PlantState.set_positions_and_velocities)

    # ------------------------------------------------------------------ parts of arrays

    GetPositionsFromArray = from_part(PlantState.get_positions_from_array)
    GetVelocitiesFromArray = from_part(PlantState.get_velocities_from_array)
    GetActuationFromArray = from_part(PlantState.get_actuation_from_array)
    SetPositionsInArray = from_part(PlantState.set_positions_in_array)
    SetVelocitiesInArray = from_part(PlantState.set_velocities_in_array)
    SetActuationInArray = from_part(PlantState.set_actuation_in_array)

    # ------------------------------------------------------------------ defaults

    SetDefaultState = from_part(PlantState.set_default_state)
    SetDefaultParameters = from_part(PlantState.set_default_parameters)
    SetRandomState = from_part(PlantState.set_random_state)
    GetDefaultPositions = from_part(PlantState.get_default_positions)
    SetDefaultPositions = from_part(PlantState.set_default_positions)

    # ------------------------------------------------------------------ free bodies

    SetFreeBodyPose = from_part(FreeBodies.set_free_body_pose)
    GetFreeBodyPose = from_part(FreeBodies.get_free_body_pose)
    SetFloatingBaseBodyPoseInWorldFrame = from_part(FreeBodies.set_floating_base_body_pose_in_world_frame)
    SetFloatingBaseBodyPoseInAnchoredFrame = from_part(FreeBodies.set_floating_base_body_pose_in_anchored_frame)
    SetFreeBodySpatialVelocity = from_part(FreeBodies.set_free_body_spatial_velocity)
