"""Postures in which a robot stays where it is: StaticEquilibriumProblem."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from merganser.framework import Context
from merganser.framework.autodiff import InitializeAutoDiff
from merganser.framework.optimization import Binding, MathematicalProgram, MathematicalProgramResult
from merganser.geometry import GeometryId
from merganser.multibody.inverse_kinematics.posture_functions import query_of
from merganser.multibody.math import SpatialForce
from merganser.multibody.optimization.contact_wrenches import (
    ContactWrench,
    ContactWrenchFromForceInWorldFrameEvaluator,
)
from merganser.multibody.optimization.plant_functions import values_of, with_derivatives
from merganser.multibody.optimization.static_equilibrium import (
    FrictionConeComplementarityConstraint,
    StaticEquilibriumConstraint,
)
from merganser.multibody.plant import MultibodyPlant

Objects = NDArray[Any]

_TOLERANCE = 1e-3  # of complementarity, when a problem is made


class StaticEquilibriumProblem:
    """A program for positions q, actuation u and contact forces f in which nothing begins to move.

        0 = tau_g(q) + B u + sum_i (J_Cb^T - J_Ca^T) f_i
        |f_t| <= mu_s f_n,   phi(q) >= 0,   0 <= f_n phi(q) <= tolerance      for every pair that may touch
        q within its limits

    Of forces there are gravity, actuation and contacts. That quaternions have length 1 is not part of it; add
    AddUnitQuaternionConstraintOnPlant(plant, q_vars(), get_mutable_prog()) for floating bodies, and guesses, as the
    program is not convex.

    Args:
        plant: finalized, of AutoDiffXd; of floats, it is copied with all its diagram.
        context: of the plant, in that of the diagram with the SceneGraph; it is moved, or its copy.
        ignored_collision_pairs: pairs of geometries, in any order, that neither touch nor keep a distance.

    Raises:
        TypeError: the plant is of another scalar.
        RuntimeError: there is no SceneGraph, or a geometry that may touch has no friction.
    """

    def __init__(
        self,
        plant: MultibodyPlant,
        context: Context,
        ignored_collision_pairs: Iterable[tuple[GeometryId, GeometryId]],
    ) -> None:
        plant, context = with_derivatives("StaticEquilibriumProblem", plant, context)
        self._plant, self._context = plant, context
        self._prog = prog = MathematicalProgram()
        self._q = prog.NewContinuousVariables(plant.num_positions(), "q")
        self._u = prog.NewContinuousVariables(plant.num_actuated_dofs(), "u")
        prog.AddBoundingBoxConstraint(plant.GetPositionLowerLimits(), plant.GetPositionUpperLimits(), self._q)
        self._contacts, self._forces, self._complementarities = self._add_contacts(ignored_collision_pairs)
        balance = StaticEquilibriumConstraint(plant, context, self._contacts)
        prog.AddConstraint(balance, np.concatenate((self._q, self._u, *self._forces)))

    def _add_contacts(
        self, ignored: Iterable[tuple[GeometryId, GeometryId]]
    ) -> tuple[list[ContactWrenchFromForceInWorldFrameEvaluator], list[Objects], list[Binding]]:
        """For each pair that may touch: its force with variables, and where there may be one."""
        plant, context, prog = self._plant, self._context, self._prog
        without = {frozenset(pair) for pair in ignored}
        contacts: list[ContactWrenchFromForceInWorldFrameEvaluator] = []
        forces: list[Objects] = []
        bindings: list[Binding] = []
        candidates = query_of(plant, context, "StaticEquilibriumProblem").inspector().GetCollisionCandidates()
        for pair in sorted(candidates, key=lambda ids: tuple(id.get_value() for id in ids)):
            if frozenset(pair) in without:
                continue
            contact = ContactWrenchFromForceInWorldFrameEvaluator(plant, context, pair)
            force = prog.NewContinuousVariables(3, f"f{len(contacts)}")
            slacks = prog.NewContinuousVariables(2, f"alpha_beta{len(contacts)}")
            prog.AddBoundingBoxConstraint(0.0, np.inf, slacks)
            rule = FrictionConeComplementarityConstraint(plant, context, contact, _TOLERANCE)
            bindings.append(prog.AddConstraint(rule, np.concatenate((self._q, force, slacks))))
            contacts.append(contact)
            forces.append(force)
        return contacts, forces, bindings

    def get_mutable_prog(self) -> MathematicalProgram:
        """The program, to add costs and constraints to."""
        return self._prog

    def prog(self) -> MathematicalProgram:
        """The program."""
        return self._prog

    def q_vars(self) -> Objects:
        """Variables for the positions, shape [num_positions]."""
        return self._q.copy()

    def u_vars(self) -> Objects:
        """Variables for the actuation [N m, N], shape [num_actuated_dofs]."""
        return self._u.copy()

    def GetContactWrenchSolution(self, result: MathematicalProgramResult) -> list[ContactWrench]:
        """The force at every pair that may touch, at a solution; zero forces included."""
        self._plant.SetPositions(self._context, InitializeAutoDiff(result.GetSolution(self._q)).ravel())
        wrenches = []
        for contact, force in zip(self._contacts, self._forces):
            pair, f = contact.pair(), np.asarray(result.GetSolution(force), dtype=np.float64)
            F_Cb_W = SpatialForce(tau=np.zeros(3), f=f)
            p_WCb = values_of(pair.calc_p_WCb())
            wrenches.append(ContactWrench(pair.body_A.index(), pair.body_B.index(), p_WCb, F_Cb_W))
        return wrenches

    def UpdateComplementarityTolerance(self, tol: float) -> None:
        """Sets the greatest f_n phi(q) of all pairs [N m]: solve with a great one first, and make it smaller.

        Raises:
            ValueError: tol is negative, or no number.
        """
        if not tol >= 0.0:
            raise ValueError(
                f"StaticEquilibriumProblem.UpdateComplementarityTolerance: tol must be at least 0, got {tol}."
            )
        for binding in self._complementarities:
            rule = binding.evaluator()
            upper = rule.upper_bound()
            upper[-1] = tol
            rule.UpdateUpperBound(upper)
