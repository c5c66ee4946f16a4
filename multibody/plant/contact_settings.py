"""Settings of contact: model, approximation, numbers of compliance and friction; and contacts that a program brings."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from merganser.framework.common.errors import warn_deprecated
from merganser.geometry import GeometryId, HydroelasticContactRepresentation
from merganser.multibody.contact import make_settings
from merganser.multibody.contact.contact_kinds import ContactKind, contact_source_dtype, set_contact_kind
from merganser.multibody.contact.law_kind import LawKind
from merganser.multibody.contact.laws import check_law
from merganser.multibody.contact.layout import LAGGED, SAP, SIMILAR, TAMSI
from merganser.multibody.plant.geometry_registration import GeometryRegistration
from merganser.multibody.plant.model import (
    ContactModel,
    ContactOfKind,
    DiscreteContactApproximation,
    DiscreteContactSolver,
    PlantModel,
)
from merganser.multibody.tree import BodyIndex, RigidBody

_APPROXIMATIONS = {
    DiscreteContactApproximation.kTamsi: TAMSI,
    DiscreteContactApproximation.kSap: SAP,
    DiscreteContactApproximation.kSimilar: SIMILAR,
    DiscreteContactApproximation.kLagged: LAGGED,
}

_EARTH_GRAVITY = 9.81  # estimates of compliance where there is no gravity take this [m/s^2]


@dataclasses.dataclass
class ContactChoices:
    """Contact settings, and the time scale that follows from them; see the functions below."""

    contact_model: ContactModel = ContactModel.kHydroelasticWithFallback
    contact_approximation: DiscreteContactApproximation | LawKind = DiscreteContactApproximation.kLagged
    surface_representation: HydroelasticContactRepresentation | None = None  # None: as the time step says
    near_rigid_threshold: float = 1.0
    penetration_allowance: float = 1e-3
    stiction_tolerance: float = 1e-4
    filters_adjacent_bodies: bool = True
    contact_time_scale: float = -1.0


class ContactSettings:
    """Contact settings; see ContactFace."""

    def __init__(self, model: PlantModel, geometry: GeometryRegistration) -> None:
        self._model, self._tree, self._geometry = model, model.tree, geometry
        self.choices = ContactChoices()
        self._of_solver: Any = None

    def __getstate__(self) -> dict[str, Any]:
        """Without the record of the solver: in another process, functions of a law have other addresses."""
        return vars(self) | {"_of_solver": None}

    def take_over(self, other: ContactSettings) -> None:
        """Copies the settings of another plant."""
        self.choices, self._of_solver = dataclasses.replace(other.choices), None

    # ------------------------------------------------------------------ models

    def set_contact_model(self, model: ContactModel) -> None:
        """Selects contact of points or of surfaces.

        With kHydroelasticWithFallback, two geometries with hydroelastic properties touch on a surface if one of them is
        compliant (`AddCompliantHydroelasticProperties`), all others at points. With kHydroelastic, geometries that
        overlap and have no surface are an error of the step, which names both. With kPoint there are points only.
        """
        self._check_setting("set_contact_model", model, ContactModel)
        self.choices.contact_model = model

    def get_contact_model(self) -> ContactModel:
        """Returns the model of contact, by default kHydroelasticWithFallback."""
        return self.choices.contact_model

    def set_discrete_contact_approximation(self, approximation: DiscreteContactApproximation | LawKind) -> None:
        """Chooses the approximation of contact in a discrete step, and with it the solver.

        Args:
            approximation: one of Drake's, or a law of your own.

        Raises:
            RuntimeError: also if the plant is continuous, or TAMSI is chosen for a plant with constraints.
            TypeError: also if a function of the law takes other arguments than its kind says.
        """
        caller = "set_discrete_contact_approximation"
        if isinstance(approximation, LawKind):
            check_law(approximation)
        self._check_setting(caller, approximation, (DiscreteContactApproximation, LawKind))
        if not self._model.is_discrete:
            raise RuntimeError(
                f"{caller}(): plant '{self._model.path()}' is continuous, so that it has no discrete step. Give "
                "it a time step."
            )
        if approximation is DiscreteContactApproximation.kTamsi and self._num_constraints():
            raise RuntimeError(
                f"{caller}(): TAMSI was selected for plant '{self._model.path()}', but it does not support "
                f"constraints, of which the plant has {self._num_constraints()} (num_constraints(), and "
                "num_loop_joints()). Remove them, or choose kSap, kSimilar or kLagged."
            )
        self.choices.contact_approximation = approximation

    def get_discrete_contact_approximation(self) -> DiscreteContactApproximation | LawKind:
        """Returns the approximation of contact in a discrete step, by default kLagged."""
        return self.choices.contact_approximation

    def is_tamsi(self) -> bool:
        """Whether the approximation is TAMSI, which solves for rigid bodies without constraints only."""
        return self.choices.contact_approximation is DiscreteContactApproximation.kTamsi

    def get_discrete_contact_solver(self) -> DiscreteContactSolver:
        """Returns the solver that follows from the approximation."""
        return DiscreteContactSolver.kTamsi if self.is_tamsi() else DiscreteContactSolver.kSap

    def set_discrete_contact_solver(self, contact_solver: DiscreteContactSolver) -> None:
        """Chooses the approximation kTamsi or kSap, which the solver solves; nothing in a continuous plant.

        Deprecated: use set_discrete_contact_approximation().
        """
        self._check_setting("set_discrete_contact_solver", contact_solver, DiscreteContactSolver)
        warn_deprecated(
            "MultibodyPlant.set_discrete_contact_solver() is deprecated. Use set_discrete_contact_approximation(), "
            "from which the solver follows.",
            stacklevel=3,
        )
        if self._model.is_discrete:
            self.set_discrete_contact_approximation(DiscreteContactApproximation[contact_solver.name])

    def _num_constraints(self) -> int:
        return len(self._tree.constraints) + len(self._tree.loop_joints)

    def check_can_constrain(self, caller: str, what: str) -> None:
        """Refuses constraints of a discrete plant with the TAMSI solver, by RuntimeError."""
        if self._model.is_discrete and self.is_tamsi():
            raise RuntimeError(
                f"{caller}(): plant '{self._model.path()}' uses the TAMSI solver, which does not support {what}. Use "
                "set_discrete_contact_approximation() to choose an approximation that the SAP solver solves: kSap, "
                "kSimilar or kLagged."
            )

    def set_contact_surface_representation(self, surface_representation: HydroelasticContactRepresentation) -> None:
        """Selects the contact-surface representation (triangles or polygons)."""
        caller = "set_contact_surface_representation"
        self._check_setting(caller, surface_representation, HydroelasticContactRepresentation)
        self.choices.surface_representation = surface_representation

    def get_contact_surface_representation(self) -> HydroelasticContactRepresentation:
        """Returns of what faces contact surfaces are made; for the default see the next function."""
        return self.choices.surface_representation or self.get_default_contact_surface_representation(
            self._model.time_step
        )

    def has_triangles(self) -> bool:
        """Whether faces of contact surfaces are triangles."""
        return self.get_contact_surface_representation() is HydroelasticContactRepresentation.kTriangle

    @staticmethod
    def get_default_contact_surface_representation(time_step: float) -> HydroelasticContactRepresentation:
        """Returns polygons for discrete plants, triangles for continuous ones (of time step 0)."""
        kinds = HydroelasticContactRepresentation
        return kinds.kTriangle if time_step == 0.0 else kinds.kPolygon

    def set_adjacent_bodies_collision_filters(self, value: bool) -> None:
        """Chooses whether bodies that a joint connects do not collide; joints with six degrees of freedom aside."""
        self._check_setting("set_adjacent_bodies_collision_filters", value, bool)
        self.choices.filters_adjacent_bodies = value

    def get_adjacent_bodies_collision_filters(self) -> bool:
        """Returns whether bodies that a joint connects do not collide, by default True."""
        return self.choices.filters_adjacent_bodies

    def _check_setting(self, caller: str, value: Any, kind: type | tuple[type, ...]) -> None:
        self._tree._check_not_finalized(caller)
        if not isinstance(value, kind):
            names = " or a ".join(each.__name__ for each in (kind if isinstance(kind, tuple) else (kind,)))
            raise TypeError(
                f"{caller}(): plant '{self._model.path()}' takes a {names}, not a "
                f"{type(value).__name__} ({value!r})."
            )

    # ------------------------------------------------------------------ numbers

    def set_sap_near_rigid_threshold(self, near_rigid_threshold: float = 1.0) -> None:
        """Sets how stiff contacts may get before the SAP solver softens them; 0: never.

        It is the number beta of Castro, Permenter and Han (2023), An Unconstrained Convex Formulation of Compliant
        Contact, IEEE Transactions on Robotics 39, section V.B.

        Raises:
            RuntimeError: also if it is negative or not a number.
        """
        caller = "set_sap_near_rigid_threshold"
        self._tree._check_not_finalized(caller)
        if not near_rigid_threshold >= 0.0:
            raise RuntimeError(
                f"{caller}(): the threshold of plant '{self._model.path()}' must not be negative, but is "
                f"{near_rigid_threshold}."
            )
        self.choices.near_rigid_threshold = float(near_rigid_threshold)

    def get_sap_near_rigid_threshold(self) -> float:
        """Returns how stiff contacts may get before the SAP solver softens them."""
        return self.choices.near_rigid_threshold

    def set_penetration_allowance(self, penetration_allowance: float = 0.001) -> None:
        """Sets how deep the heaviest body may sink under its weight, from which point contact gets its compliance.

        May be called after Finalize(), too.

        Raises:
            RuntimeError: it is not positive.
        """
        self._check_positive("set_penetration_allowance", "penetration_allowance", penetration_allowance)
        self.choices.penetration_allowance = float(penetration_allowance)
        if self._tree.is_finalized():
            self._estimate_contact_time_scale()

    def get_contact_penalty_method_time_scale(self) -> float:
        """Returns the time in which penalty forces stop a body [s]; -1 if nothing in the plant can collide.

        A body of mass m on a spring of stiffness m g / d, d the penetration allowance, critically damped, has the time
        scale sqrt(d / g), whatever its mass; without gravity, that of the earth is taken.

        Raises:
            RuntimeError: before Finalize().
        """
        self._model.require_finalized("get_contact_penalty_method_time_scale()")
        return self.choices.contact_time_scale

    def set_stiction_tolerance(self, v_stiction: float = 0.001) -> None:
        """Sets the velocity up to which bodies that stick may slip [m/s]; may be called after Finalize(), too.

        Raises:
            RuntimeError: it is not positive.
        """
        self._check_positive("set_stiction_tolerance", "v_stiction", v_stiction)
        self.choices.stiction_tolerance = float(v_stiction)
        self._of_solver = None

    def _check_positive(self, caller: str, name: str, value: float) -> None:
        if not (value > 0.0 and math.isfinite(value)):
            raise RuntimeError(
                f"{caller}(): {name} of plant '{self._model.path()}' must be strictly positive, but is {value}."
            )

    def of_solver(self) -> Any:
        """Settings of the contact solver, a record of settings_dtype; a new one after a change."""
        if self._of_solver is None:
            chosen = self.get_discrete_contact_approximation()
            law = chosen if isinstance(chosen, LawKind) else _APPROXIMATIONS[chosen]
            self._of_solver = make_settings(law, stiction_tolerance=self.choices.stiction_tolerance)
        return self._of_solver

    def of_fallback(self) -> Any:
        """The same of SAP, whose problem always has a solution."""
        return make_settings(SAP)

    def freeze(self) -> None:
        """Computes what follows from the finalized tree."""
        if any(self._geometry.collision_geometries.values()):
            self._estimate_contact_time_scale()

    def _estimate_contact_time_scale(self) -> None:
        """sqrt(d / g); NaN where no body has a mass, as in pydrake."""
        g = float(sum(component**2 for component in self._tree.gravity_vector().tolist())) ** 0.5
        has_mass = any(body.default_mass() > 0.0 for body in self._tree.bodies)
        self.choices.contact_time_scale = (
            math.sqrt(self.choices.penetration_allowance / (g or _EARTH_GRAVITY)) if has_mass else math.nan
        )


class ContactsOfKinds:
    """Adds contacts; see ContactFace.

    Args:
        model: of the plant.
    """

    def __init__(self, model: PlantModel) -> None:
        self._model, self._tree = model, model.tree

    def add_contact(
        self,
        kind: ContactKind,
        body_A: RigidBody,
        body_B: RigidBody | None = None,
        *,
        numbers: Sequence[float] = (),
        num_pairs: int = 1,
    ) -> tuple[GeometryId, GeometryId]:
        """Adds a contact of a kind that a program brings; ../contact/README.md says how to write one.

        It needs no SceneGraph, and nothing filters it.

        Args:
            kind: the record of its function.
            body_A, body_B: between which it is; B by default is the world.
            numbers: for the kind.
            num_pairs: at how many places the bodies may touch.

        Returns:
            What contact results call its two sides, as identifiers of geometries that no SceneGraph knows.

        Raises:
            TypeError: the kind is no ContactKind, or something else no body.
            ValueError: numbers are not finite, or there is no place.
            RuntimeError: the plant is finalized, a body is of another plant, or both are one, or fixed to the world.
        """
        caller = "AddContact"
        self._tree._check_not_finalized(caller)
        bodies = body_A, self._tree.world_body() if body_B is None else body_B
        for name, body in zip(("body_A", "body_B"), bodies):
            if not isinstance(body, RigidBody):
                raise TypeError(f"{caller}(): {name} must be a RigidBody, but is a {type(body).__name__}.")
            self._tree._check_mine(caller, name, body)
        set_contact_kind(np.zeros(1, contact_source_dtype)[0], kind)  # refuses what is none
        where = f"{caller}(): a {kind.name} contact of plant '{self._model.path()}'"
        if bodies[0] is bodies[1]:
            raise RuntimeError(f"{where} must be between two distinct bodies, but both are '{bodies[0].name()}'.")
        given = np.array(numbers, float)
        if given.ndim != 1 or not np.isfinite(given).all():
            raise ValueError(f"{where}: its numbers must be a list of finite ones.")
        if not (isinstance(num_pairs, (int, np.integer)) and num_pairs >= 1):
            raise ValueError(f"{where} must have one pair or more, not {num_pairs!r}.")
        ids = GeometryId.get_new_id(), GeometryId.get_new_id()
        indices = int(bodies[0].index()), int(bodies[1].index())
        self._tree.contacts.append(ContactOfKind(kind, indices, ids, int(num_pairs), tuple(given.tolist())))
        return ids

    def get_contact_sides(self) -> dict[GeometryId, tuple[BodyIndex, str]]:
        """Returns for each side of the contacts that AddContact() has added its body, and the name of the kind."""
        return {
            id: (BodyIndex(body), contact.kind.name)
            for contact in self._tree.contacts
            for id, body in zip(contact.ids, contact.bodies)
        }
