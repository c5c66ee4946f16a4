"""Functions of MultibodyPlant: settings of contact."""

from __future__ import annotations

from merganser.geometry import HydroelasticContactRepresentation
from merganser.multibody.plant.contact_enums import ContactModel, DiscreteContactApproximation, DiscreteContactSolver
from merganser.multibody.plant.contact_settings import ContactSettings

__all__ = ["ContactFace"]


class ContactFace:
    """Contact settings. All but penetration allowance and stiction tolerance are fixed by Finalize().

    Functions that set something raise RuntimeError after Finalize() unless they say otherwise, TypeError if the value
    is of the wrong kind, and then leave everything as it was.
    """

    _settings: ContactSettings

    # ------------------------------------------------------------------ models

    def set_contact_model(self, model: ContactModel) -> None:
        """Chooses between contact of points and of surfaces.

        There are points only: where another model asks for surfaces, the first step warns with the names of the
        geometries that touch at points instead.
        """
        self._settings.set_contact_model(model)

    def get_contact_model(self) -> ContactModel:
        """Returns the model of contact, by default kHydroelasticWithFallback."""
        return self._settings.get_contact_model()

    def set_discrete_contact_approximation(self, approximation: DiscreteContactApproximation) -> None:
        """Chooses the approximation of contact in a discrete step, and with it the solver.

        Raises:
            RuntimeError: also if the plant is continuous, or TAMSI is chosen for a plant with constraints.
        """
        self._settings.set_discrete_contact_approximation(approximation)

    def get_discrete_contact_approximation(self) -> DiscreteContactApproximation:
        """Returns the approximation of contact in a discrete step, by default kLagged."""
        return self._settings.get_discrete_contact_approximation()

    def get_discrete_contact_solver(self) -> DiscreteContactSolver:
        """Returns the solver that follows from the approximation."""
        return self._settings.get_discrete_contact_solver()

    def set_contact_surface_representation(self, surface_representation: HydroelasticContactRepresentation) -> None:
        """Chooses of what faces contact surfaces are made."""
        self._settings.set_contact_surface_representation(surface_representation)

    def get_contact_surface_representation(self) -> HydroelasticContactRepresentation:
        """Returns of what faces contact surfaces are made; for the default see the next function."""
        return self._settings.get_contact_surface_representation()

    @staticmethod
    def GetDefaultContactSurfaceRepresentation(time_step: float) -> HydroelasticContactRepresentation:
        """Returns polygons for discrete plants, triangles for continuous ones (of time step 0)."""
        return ContactSettings.get_default_contact_surface_representation(time_step)

    def set_adjacent_bodies_collision_filters(self, value: bool) -> None:
        """Chooses whether bodies that a joint connects do not collide; joints with six degrees of freedom aside."""
        self._settings.set_adjacent_bodies_collision_filters(value)

    def get_adjacent_bodies_collision_filters(self) -> bool:
        """Returns whether bodies that a joint connects do not collide, by default True."""
        return self._settings.get_adjacent_bodies_collision_filters()

    # ------------------------------------------------------------------ numbers

    def set_sap_near_rigid_threshold(self, near_rigid_threshold: float = 1.0) -> None:
        """Sets how stiff contacts may get before the SAP solver softens them; 0: never.

        It is the number beta of Castro, Permenter and Han (2023), An Unconstrained Convex Formulation of Compliant
        Contact, IEEE Transactions on Robotics 39, section V.B.

        Raises:
            RuntimeError: also if it is negative or not a number.
        """
        self._settings.set_sap_near_rigid_threshold(near_rigid_threshold)

    def get_sap_near_rigid_threshold(self) -> float:
        """Returns how stiff contacts may get before the SAP solver softens them."""
        return self._settings.get_sap_near_rigid_threshold()

    def set_penetration_allowance(self, penetration_allowance: float = 0.001) -> None:
        """Sets how deep the heaviest body may sink under its weight, from which point contact gets its compliance.

        May be called after Finalize(), too.

        Raises:
            RuntimeError: it is not positive.
        """
        self._settings.set_penetration_allowance(penetration_allowance)

    def get_contact_penalty_method_time_scale(self) -> float:
        """Returns the time in which penalty forces stop a body [s]; -1 if nothing in the plant can collide.

        A body of mass m on a spring of stiffness m g / d, d the penetration allowance, critically damped, has the time
        scale sqrt(d / g), whatever its mass; without gravity, that of the earth is taken.

        Raises:
            RuntimeError: before Finalize().
        """
        return self._settings.get_contact_penalty_method_time_scale()

    def set_stiction_tolerance(self, v_stiction: float = 0.001) -> None:
        """Sets the velocity up to which bodies that stick may slip [m/s]; may be called after Finalize(), too.

        Raises:
            RuntimeError: it is not positive.
        """
        self._settings.set_stiction_tolerance(v_stiction)
