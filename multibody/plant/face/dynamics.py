"""Functions of MultibodyPlant: system matrices, inverse dynamics, energies, centre of mass, force elements."""

from __future__ import annotations

from merganser.multibody.plant.center_of_mass import CenterOfMass
from merganser.multibody.plant.computations import PlantComputations
from merganser.multibody.plant.delegation import from_part, from_tree
from merganser.multibody.plant.force_elements import ForceElements
from merganser.multibody.plant.model import PlantModel
from merganser.multibody.tree import MultibodyTree
from merganser.multibody.tree.lookup import TreeLookup

__all__ = ["DynamicsFace"]


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
    _tree: MultibodyTree
    _model: PlantModel

    # ------------------------------------------------------------------ discrete steps

    SetUseExplicitVelocityProducts = from_part(PlantModel.set_explicit_products)

    def uses_explicit_velocity_products(self) -> bool:
        """Returns whether discrete steps take forces of velocity products at their beginning, by default False."""
        return bool(self._tree.has_explicit_products)

    # ------------------------------------------------------------------ system matrices

    CalcMassMatrix = from_part(PlantComputations.calc_mass_matrix)
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
