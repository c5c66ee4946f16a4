"""Functions of MultibodyPlant: settings of contact, and constraints."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, overload

from numpy.typing import ArrayLike

from merganser.framework.math import RigidTransform
from merganser.geometry import HydroelasticContactRepresentation
from merganser.multibody.kernels.constraints import ConstraintKind
from merganser.multibody.plant.constraints import Constraints
from merganser.multibody.plant.contact_enums import ContactModel, DiscreteContactApproximation, DiscreteContactSolver
from merganser.multibody.plant.contact_settings import ContactSettings
from merganser.multibody.tree import Frame, Joint, MultibodyConstraintId, RigidBody
from merganser.multibody.tree.constraints import DistanceConstraintParams

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

    # ------------------------------------------------------------------ models

    def set_contact_model(self, model: ContactModel) -> None:
        """Chooses between contact of points and of surfaces.

        With kHydroelasticWithFallback, two geometries with hydroelastic properties touch on a surface if one of them is
        compliant (`AddCompliantHydroelasticProperties`), all others at points. With kHydroelastic, geometries that
        overlap and have no surface are an error of the step, which names both. With kPoint there are points only.
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

    # ------------------------------------------------------------------ constraints

    def AddCouplerConstraint(
        self, joint0: Joint, joint1: Joint, gear_ratio: float, offset: float = 0.0
    ) -> MultibodyConstraintId:
        """Adds the constraint q0 = gear_ratio q1 + offset between the positions of two joints.

        Args:
            joint0, joint1: joints with one velocity each.
            gear_ratio: [unit of q0 over unit of q1].
            offset: [unit of q0].

        Raises:
            RuntimeError: also if a joint has not exactly one velocity.
        """
        return self._constraints.add_coupler_constraint(joint0, joint1, gear_ratio, offset)

    def AddDistanceConstraint(
        self,
        body_A: RigidBody,
        p_AP: ArrayLike,
        body_B: RigidBody,
        p_BQ: ArrayLike,
        distance: float,
        stiffness: float = math.inf,
        damping: float = 0.0,
    ) -> MultibodyConstraintId:
        """Adds a rod between a point P of body A and a point Q of body B; see DistanceConstraintParams.

        Args:
            body_A, body_B: two bodies of this plant.
            p_AP, p_BQ: the points in the frames of their bodies [m], shape [3].
            distance: free length, positive [m].
            stiffness: positive, infinite for a rigid rod [N/m].
            damping: not negative [N s/m].

        Raises:
            RuntimeError: also if the bodies are the same, or a number is out of range.
        """
        return self._constraints.add_distance_constraint(body_A, p_AP, body_B, p_BQ, distance, stiffness, damping)

    def AddBallConstraint(
        self, body_A: RigidBody, p_AP: ArrayLike, body_B: RigidBody, p_BQ: ArrayLike | None = None
    ) -> MultibodyConstraintId:
        """Keeps a point P of body A at a point Q of body B, like a ball and socket.

        Args:
            body_A, body_B: two bodies of this plant.
            p_AP, p_BQ: the points in the frames of their bodies [m], shape [3]; p_BQ is by default where P is in the
                default configuration at Finalize().

        Raises:
            RuntimeError: also if the bodies are the same.
        """
        return self._constraints.add_ball_constraint(body_A, p_AP, body_B, p_BQ)

    def AddWeldConstraint(
        self, body_A: RigidBody, X_AP: RigidTransform, body_B: RigidBody, X_BQ: RigidTransform
    ) -> MultibodyConstraintId:
        """Keeps a frame P of body A at a frame Q of body B, like a weld.

        Raises:
            RuntimeError: also if the bodies are the same.
            TypeError: a pose is no RigidTransform.
        """
        return self._constraints.add_weld_constraint(body_A, X_AP, body_B, X_BQ)

    def AddConstraint(
        self,
        kind: ConstraintKind,
        first: Joint | Frame,
        second: Joint | Frame | None = None,
        *,
        constants: Sequence[float] = (),
        num_rows: int = 1,
        stiffness: float = math.inf,
        damping: float = 0.0,
        lower: float = -math.inf,
        upper: float = math.inf,
    ) -> MultibodyConstraintId:
        """Adds a constraint of a kind that a program brings; ../../kernels/README.md says how to write one.

        Args:
            kind: the record of its functions.
            first, second: frames P and Q, the second by default the world's; or, for kinds that act on coordinates, one
                or two joints of one degree of freedom each.
            constants: up to eight numbers for the kind.
            num_rows: how many rows it has, up to six.
            stiffness, damping: of a spring and damper in place of a rigid constraint [N/m, N s/m or as g is measured].
            lower, upper: bounds of what each row exerts, of discrete plants only [N or N m]. With g = 0 and bounds, a
                row is dry friction.

        Returns:
            The id of the constraint.

        Raises:
            TypeError: the kind is no ConstraintKind, or what it is between is of another type.
            ValueError: there are too many constants or rows, or numbers are out of range or not finite.
            RuntimeError: as above; both frames are on one body; or the plant is continuous and there are bounds.
        """
        return self._constraints.add_constraint(
            kind, first, second, constants=constants, num_rows=num_rows, stiffness=stiffness, damping=damping,
            lower=lower, upper=upper,
        )  # fmt: skip

    def RemoveConstraint(self, id: MultibodyConstraintId) -> None:
        """Removes a constraint.

        Raises:
            RuntimeError: after Finalize(), or if the plant has no such constraint.
        """
        self._constraints.remove_constraint(id)

    def GetConstraintIds(self) -> list[MultibodyConstraintId]:
        """Returns the ids of all constraints: of couplers, distances, balls, then welds."""
        return self._constraints.get_constraint_ids()

    def num_constraints(self) -> int:
        """Returns the number of constraints."""
        return self._constraints.num_constraints()

    def num_coupler_constraints(self) -> int:
        """Returns the number of couplers between joints."""
        return self._constraints.num_coupler_constraints()

    def num_distance_constraints(self) -> int:
        """Returns the number of distance constraints."""
        return self._constraints.num_distance_constraints()

    def num_ball_constraints(self) -> int:
        """Returns the number of ball constraints."""
        return self._constraints.num_ball_constraints()

    def num_weld_constraints(self) -> int:
        """Returns the number of weld constraints."""
        return self._constraints.num_weld_constraints()

    # ------------------------------------------------------------------ constraints in a Context

    def GetConstraintActiveStatus(self, context: Any, id: MultibodyConstraintId) -> bool:
        """Returns whether a constraint holds in a Context; by default it does.

        Raises:
            RuntimeError: before Finalize(), or if the plant has no such constraint.
        """
        return self._constraints.get_constraint_active_status(context, id)

    def SetConstraintActiveStatus(self, context: Any, id: MultibodyConstraintId, status: bool) -> None:
        """Switches a constraint on or off in a Context.

        Raises:
            RuntimeError: before Finalize(), or if the plant has no such constraint.
        """
        self._constraints.set_constraint_active_status(context, id, status)

    def GetDefaultDistanceConstraintParams(self) -> dict[MultibodyConstraintId, DistanceConstraintParams]:
        """Returns the parameters of all distance constraints as they were added."""
        return self._constraints.get_default_distance_constraint_params()

    @overload
    def GetDistanceConstraintParams(self, context: Any) -> dict[MultibodyConstraintId, DistanceConstraintParams]: ...
    @overload
    def GetDistanceConstraintParams(self, context: Any, id: MultibodyConstraintId) -> DistanceConstraintParams: ...
    def GetDistanceConstraintParams(self, context: Any, id: MultibodyConstraintId | None = None) -> Any:
        """Returns the parameters of one distance constraint in a Context, or of all by id.

        Raises:
            RuntimeError: before Finalize(), or if the plant has no such distance constraint.
        """
        return self._constraints.get_distance_constraint_params(context, id)

    def SetDistanceConstraintParams(
        self, context: Any, id: MultibodyConstraintId, params: DistanceConstraintParams
    ) -> None:
        """Changes the parameters of a distance constraint in a Context, its bodies and points among them.

        Raises:
            RuntimeError: before Finalize(), if the plant has no such distance constraint, or no such bodies.
            TypeError: `params` is no DistanceConstraintParams.
        """
        self._constraints.set_distance_constraint_params(context, id, params)
