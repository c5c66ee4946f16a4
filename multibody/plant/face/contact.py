"""Functions of MultibodyPlant: settings of contact, and constraints."""

from __future__ import annotations

from merganser.geometry import HydroelasticContactRepresentation
from merganser.multibody.plant.constraints import Constraints
from merganser.multibody.plant.contact_settings import ContactSettings
from merganser.multibody.plant.contacts_of_kinds import ContactsOfKinds
from merganser.multibody.plant.delegation import from_part

__all__ = ["ContactFace"]


class ContactFace:
    """Contact settings. All but penetration allowance and stiction tolerance are fixed by Finalize().

    Functions that set something raise RuntimeError after Finalize() unless they say otherwise, TypeError if the value
    is of the wrong kind, and then leave everything as it was.

    Constraints between joints and bodies are for plants of any time step. They are added before Finalize(). In a
    Context, each can be switched off, and the parameters of distance constraints can be changed. Errors of the
    Add...Constraint() functions: RuntimeError, if the plant is finalized, uses the TAMSI solver, or a body or joint
    belongs to another plant; ValueError, if a number is not finite.
    """

    _settings: ContactSettings
    _constraints: Constraints
    _contacts_of_kinds: ContactsOfKinds

    # ------------------------------------------------------------------ models

    set_contact_model = from_part(ContactSettings.set_contact_model)
    get_contact_model = from_part(ContactSettings.get_contact_model)
    set_discrete_contact_approximation = from_part(ContactSettings.set_discrete_contact_approximation)
    get_discrete_contact_approximation = from_part(ContactSettings.get_discrete_contact_approximation)
    get_discrete_contact_solver = from_part(ContactSettings.get_discrete_contact_solver)
    set_contact_surface_representation = from_part(ContactSettings.set_contact_surface_representation)
    get_contact_surface_representation = from_part(ContactSettings.get_contact_surface_representation)

    @staticmethod
    def GetDefaultContactSurfaceRepresentation(time_step: float) -> HydroelasticContactRepresentation:
        """Returns polygons for discrete plants, triangles for continuous ones (of time step 0)."""
        return ContactSettings.get_default_contact_surface_representation(time_step)

    set_adjacent_bodies_collision_filters = from_part(ContactSettings.set_adjacent_bodies_collision_filters)
    get_adjacent_bodies_collision_filters = from_part(ContactSettings.get_adjacent_bodies_collision_filters)

    # ------------------------------------------------------------------ numbers

    set_sap_near_rigid_threshold = from_part(ContactSettings.set_sap_near_rigid_threshold)
    get_sap_near_rigid_threshold = from_part(ContactSettings.get_sap_near_rigid_threshold)
    set_penetration_allowance = from_part(ContactSettings.set_penetration_allowance)
    get_contact_penalty_method_time_scale = from_part(ContactSettings.get_contact_penalty_method_time_scale)
    set_stiction_tolerance = from_part(ContactSettings.set_stiction_tolerance)

    # ------------------------------------------------------------------ contacts

    AddContact = from_part(ContactsOfKinds.add_contact)
    GetContactSides = from_part(ContactsOfKinds.get_contact_sides)

    # ------------------------------------------------------------------ constraints

    AddCouplerConstraint = from_part(Constraints.add_coupler_constraint)
    AddDistanceConstraint = from_part(Constraints.add_distance_constraint)
    AddBallConstraint = from_part(Constraints.add_ball_constraint)
    AddWeldConstraint = from_part(Constraints.add_weld_constraint)
    AddConstraint = from_part(Constraints.add_constraint)
    RemoveConstraint = from_part(Constraints.remove_constraint)
    GetConstraintIds = from_part(Constraints.get_constraint_ids)
    num_constraints = from_part(Constraints.num_constraints)
    num_coupler_constraints = from_part(Constraints.num_coupler_constraints)
    num_distance_constraints = from_part(Constraints.num_distance_constraints)
    num_ball_constraints = from_part(Constraints.num_ball_constraints)
    num_weld_constraints = from_part(Constraints.num_weld_constraints)

    # ------------------------------------------------------------------ constraints in a Context

    GetConstraintActiveStatus = from_part(Constraints.get_constraint_active_status)
    SetConstraintActiveStatus = from_part(Constraints.set_constraint_active_status)
    GetDefaultDistanceConstraintParams = from_part(Constraints.get_default_distance_constraint_params)
    GetDistanceConstraintParams = from_part(Constraints.get_distance_constraint_params)
    SetDistanceConstraintParams = from_part(Constraints.set_distance_constraint_params)
