"""Functions of MultibodyPlant: system matrices, inverse dynamics, energies, centre of mass, force elements."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, overload

from numpy.typing import ArrayLike, NDArray

from merganser.multibody.math import SpatialMomentum
from merganser.multibody.plant.center_of_mass import CenterOfMass, Instances
from merganser.multibody.plant.computations import PlantComputations
from merganser.multibody.plant.delegation import from_tree
from merganser.multibody.plant.force_elements import ForceElements
from merganser.multibody.tree import Frame, JacobianWrtVariable, MultibodyForces, MultibodyTree, SpatialInertia
from merganser.multibody.tree.lookup import TreeLookup

__all__ = ["DynamicsFace"]

Array = NDArray[Any]


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
    _center_of_mass: CenterOfMass
    _force_elements: ForceElements

    # ------------------------------------------------------------------ system matrices

    def CalcMassMatrix(self, context: Any) -> Array:
        """Returns the mass matrix M(q), reflected rotor inertias included, shape [nv, nv].

        By the composite rigid body algorithm (Featherstone 2008, section 6.2).
        """
        return self._computations.calc_mass_matrix(context)

    def CalcMassMatrixViaInverseDynamics(self, context: Any) -> Array:
        """Returns what CalcMassMatrix() returns, up to rounding, by nv calls of inverse dynamics: slower."""
        return self._computations.calc_mass_matrix_via_inverse_dynamics(context)

    def CalcGeneralizedForces(self, context: Any, forces: MultibodyForces) -> Array:
        """Returns the generalized forces that act as `forces` do: tau + sum_B J_B^T F_B, shape [nv].

        Args:
            context: of this plant.
            forces: forces on bodies and generalized forces.

        Raises:
            ValueError: the forces are for a plant of other size, or not finite.
            TypeError: they are no MultibodyForces.
        """
        return self._computations.calc_generalized_forces(context, forces)

    def CalcBiasTerm(self, context: Any) -> Array:
        """Returns the Coriolis, centripetal and gyroscopic forces C(q, v) v, shape [nv]."""
        return self._computations.calc_bias_term(context)

    def CalcInverseDynamics(self, context: Any, known_vdot: ArrayLike, external_forces: MultibodyForces) -> Array:
        """Returns the generalized forces that are needed, beside the external ones, for given accelerations.

        tau = M(q) vdot + C(q, v) v - tau_app - sum_B J_B^T F_app_B; gravity and damping only act if they are
        among the external forces (see CalcForceElementsContribution). By the recursive Newton-Euler algorithm
        (Featherstone 2008, section 5.3).

        Args:
            context: of this plant.
            known_vdot: generalized accelerations, shape [nv].
            external_forces: forces on bodies and generalized forces.

        Returns:
            tau, shape [nv].

        Raises:
            ValueError: known_vdot or the forces are of wrong size, or not finite.
            TypeError: the forces are no MultibodyForces.
        """
        return self._computations.calc_inverse_dynamics(context, known_vdot, external_forces)

    def CalcGravityGeneralizedForces(self, context: Any) -> Array:
        """Returns the generalized forces of gravity tau_g(q), with M vdot + C v = tau_g + tau, shape [nv]."""
        return self._computations.calc_gravity_generalized_forces(context)

    # ------------------------------------------------------------------ energies and mass

    def CalcKineticEnergy(self, context: Any) -> float:
        """Returns the kinetic energy, rotors included [J]."""
        return self._computations.calc_kinetic_energy(context)

    EvalKineticEnergy = CalcKineticEnergy

    # ------------------------------------------------------------------ force elements

    AddForceElement = from_tree(MultibodyTree.AddForceElement)
    get_force_element = from_tree(TreeLookup.get_force_element)
    num_force_elements = from_tree(TreeLookup.num_force_elements)
    is_gravity_enabled = from_tree(MultibodyTree.is_gravity_enabled)
    set_gravity_enabled = from_tree(MultibodyTree.set_gravity_enabled)

    def CalcForceElementsContribution(self, context: Any, forces: MultibodyForces) -> None:
        """Sets `forces` to those of all force elements, gravity included, and of joint damping.

        Raises:
            ValueError: the forces are for a plant of other size.
            TypeError: they are no MultibodyForces.
        """
        self._force_elements.calc_force_elements_contribution(context, forces)

    # ------------------------------------------------------------------ energies and powers

    def CalcPotentialEnergy(self, context: Any) -> Any:
        """Returns the potential energy of all force elements [J]; that of gravity is zero for masses at the origin."""
        return self._force_elements.calc_potential_energy(context)

    def CalcConservativePower(self, context: Any) -> Any:
        """Returns the power of gravity and of the springs: the rate at which potential energy decreases [W]."""
        return self._force_elements.calc_conservative_power(context)

    def CalcNonConservativePower(self, context: Any) -> Any:
        """Returns the power of the other forces of the force elements, such as damping of springs [W].

        As in pydrake, damping of joints, actuators and applied forces do not count.
        """
        return self._force_elements.calc_non_conservative_power(context)

    EvalPotentialEnergy = CalcPotentialEnergy
    EvalConservativePower = CalcConservativePower
    EvalNonConservativePower = CalcNonConservativePower

    # ------------------------------------------------------------------ centre of mass

    # ------------------------------------------------------------------ position, velocity, acceleration

    def CalcTotalMass(self, context: Any, model_instances: Instances = None) -> float:
        """Returns the mass of all bodies but the world, or of those of some model instances [kg]."""
        return self._center_of_mass.calc_total_mass(context, model_instances)

    def CalcCenterOfMassPositionInWorld(self, context: Any, model_instances: Instances = None) -> Array:
        """Returns p_WoScm_W [m], shape [3]; see the class."""
        return self._center_of_mass.calc_center_of_mass_position_in_world(context, model_instances)

    def CalcCenterOfMassTranslationalVelocityInWorld(self, context: Any, model_instances: Instances = None) -> Array:
        """Returns v_WScm_W [m/s], shape [3]; see the class."""
        return self._center_of_mass.calc_center_of_mass_translational_velocity_in_world(context, model_instances)

    def CalcCenterOfMassTranslationalAccelerationInWorld(
        self, context: Any, model_instances: Instances = None
    ) -> Array:
        """Returns a_WScm_W, as it follows from the forces at the moment [m/s^2], shape [3]; see the class.

        Raises:
            RuntimeError: also if the accelerations cannot be computed.
        """
        return self._center_of_mass.calc_center_of_mass_translational_acceleration_in_world(context, model_instances)

    # ------------------------------------------------------------------ Jacobian and bias

    @overload
    def CalcJacobianCenterOfMassTranslationalVelocity(
        self, context: Any, with_respect_to: JacobianWrtVariable, frame_A: Frame, frame_E: Frame
    ) -> Array: ...
    @overload
    def CalcJacobianCenterOfMassTranslationalVelocity(
        self,
        context: Any,
        model_instances: Iterable[int],
        with_respect_to: JacobianWrtVariable,
        frame_A: Frame,
        frame_E: Frame,
    ) -> Array: ...
    def CalcJacobianCenterOfMassTranslationalVelocity(self, context: Any, *args: Any, **kwargs: Any) -> Array:
        """Returns J with v_AScm_E = J s, shape [3, ns].

        Args:
            context: of this plant.
            model_instances: which bodies; left out for all.
            with_respect_to: whether the speeds s are v (kV), or the rates qdot of the positions (kQDot).
            frame_A: the frame in which the velocity is measured.
            frame_E: the frame in which it is expressed.
        """
        return self._center_of_mass.calc_jacobian_center_of_mass_translational_velocity(context, args, kwargs)

    @overload
    def CalcBiasCenterOfMassTranslationalAcceleration(
        self, context: Any, with_respect_to: JacobianWrtVariable, frame_A: Frame, frame_E: Frame
    ) -> Array: ...
    @overload
    def CalcBiasCenterOfMassTranslationalAcceleration(
        self,
        context: Any,
        model_instances: Iterable[int],
        with_respect_to: JacobianWrtVariable,
        frame_A: Frame,
        frame_E: Frame,
    ) -> Array: ...
    def CalcBiasCenterOfMassTranslationalAcceleration(self, context: Any, *args: Any, **kwargs: Any) -> Array:
        """Returns a_AScm_E - J vdot, the acceleration of Scm if vdot is zero [m/s^2], shape [3].

        Args:
            context: of this plant.
            model_instances: which bodies; left out for all.
            with_respect_to: kV.
            frame_A: the frame in which the acceleration is measured.
            frame_E: the frame in which it is expressed.

        Raises:
            RuntimeError: also if with_respect_to is kQDot.
        """
        return self._center_of_mass.calc_bias_center_of_mass_translational_acceleration(context, args, kwargs)

    # ------------------------------------------------------------------ momentum and inertia

    @overload
    def CalcSpatialMomentumInWorldAboutPoint(self, context: Any, p_WoP_W: ArrayLike) -> SpatialMomentum: ...
    @overload
    def CalcSpatialMomentumInWorldAboutPoint(
        self, context: Any, model_instances: Iterable[int], p_WoP_W: ArrayLike
    ) -> SpatialMomentum: ...
    def CalcSpatialMomentumInWorldAboutPoint(self, context: Any, *args: Any, **kwargs: Any) -> SpatialMomentum:
        """Returns L_WSP_W, angular and linear momentum of S in the world, about a point P [N m s, N s].

        Args:
            context: of this plant.
            model_instances: which bodies; left out for all.
            p_WoP_W: the point [m], shape [3].

        Raises:
            ValueError: p_WoP_W is not three finite numbers.
        """
        return self._center_of_mass.calc_spatial_momentum_in_world_about_point(context, args, kwargs)

    def CalcSpatialInertia(self, context: Any, frame_F: Frame, body_indexes: Iterable[int]) -> SpatialInertia:
        """Returns M_SFo_F, the inertia of some bodies about Fo, as if they were one rigid body at the moment.

        Args:
            context: of this plant.
            frame_F: about whose origin, and in which to express it.
            body_indexes: which bodies; the world adds nothing.

        Raises:
            RuntimeError: a body does not exist, or is listed twice, or the frame is not of this plant.
        """
        return self._center_of_mass.calc_spatial_inertia(context, frame_F, body_indexes)
