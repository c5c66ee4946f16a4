"""Postures in which a robot stays where it is: StaticEquilibriumProblem.

Contacts of pairs of geometries as programs see them: where two surfaces are nearest, and what acts there.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from merganser.framework import Context
from merganser.framework.autodiff import AutoDiffXd, InitializeAutoDiff
from merganser.framework.optimization import (
    AdjustableConstraint,
    Binding,
    Constraint,
    MathematicalProgram,
    MathematicalProgramResult,
)
from merganser.framework.optimization.evaluators.evaluators import ClosedFormEvaluator
from merganser.geometry import GeometryId, QueryObject
from merganser.multibody.inverse_kinematics.posture_functions import query_of
from merganser.multibody.math import SpatialForce
from merganser.multibody.optimization.spatial_velocity import PlantFunction, derivatives_of, values_of, with_derivatives
from merganser.multibody.plant import (
    CalcContactFrictionFromSurfaceProperties,
    CoulombFriction,
    MultibodyPlant,
)
from merganser.multibody.tree import BodyIndex, JacobianWrtVariable, RigidBody

Array = NDArray[np.float64]
Objects = NDArray[Any]

_WHERE = "Contacts of a program"


class ContactWrench(NamedTuple):
    """The spatial force that body A exerts on body B at the point Cb of B.

    Attributes:
        bodyA_index: of A.
        bodyB_index: of B.
        p_WCb_W: where Cb is, in the world [m], shape [3].
        F_Cb_W: [torque; force] on B at Cb, expressed in the world [N m, N].
    """

    bodyA_index: BodyIndex
    bodyB_index: BodyIndex
    p_WCb_W: Array
    F_Cb_W: SpatialForce


class Witnesses(NamedTuple):
    """Where two geometries are nearest, or deepest in each other; numbers of AutoDiffXd.

    Attributes:
        distance: signed [m].
        normal_W: unit vector from A to B in the world, shape [3].
        p_ACa, p_BCb: the points in the frames of the bodies [m], shape [3].
    """

    distance: Any
    normal_W: Objects
    p_ACa: Objects
    p_BCb: Objects


class PairOfGeometries:
    """Two geometries of a plant of AutoDiffXd that may touch, A and B.

    Args:
        plant: of AutoDiffXd.
        context: of the plant, in that of a diagram with the SceneGraph.
        ids: of A and of B.

    Raises:
        RuntimeError: there is no SceneGraph, or a geometry is not of a body of the plant.
    """

    def __init__(self, plant: MultibodyPlant, context: Context, ids: tuple[GeometryId, GeometryId]) -> None:
        self._plant, self._context = plant, context
        id_A, id_B = ids
        self.ids = id_A, id_B
        query = query_of(plant, context, _WHERE)
        self.body_A, self.body_B = self._body(query, id_A), self._body(query, id_B)
        self._known: tuple[list[AutoDiffXd], Witnesses] | None = None

    def _body(self, query: QueryObject, id: GeometryId) -> RigidBody:
        body = self._plant.GetBodyFromFrameId(query.inspector().GetFrameId(id))
        if body is None:
            raise RuntimeError(
                f"Geometry '{query.inspector().GetName(id)}' is of no body of plant "
                f"'{self._plant.GetSystemPathname()}'. Choose pairs of the plant's own geometries."
            )
        return body

    def calc_witnesses(self) -> Witnesses:
        """Where the two are nearest at the positions in the Context; kept for these, as two constraints ask."""
        q = list(self._plant.GetPositions(self._context))
        if self._known is None or not all(one is other for one, other in zip(q, self._known[0])):
            self._known = q, self._find_witnesses()
        return self._known[1]

    def _find_witnesses(self) -> Witnesses:
        query = query_of(self._plant, self._context, _WHERE)
        pair, inspector = query.ComputeSignedDistancePairClosestPoints(*self.ids), query.inspector()
        id_A, _ = self.ids
        is_in_order = pair.id_A == id_A
        p_GCa, p_GCb = (pair.p_ACa, pair.p_BCb) if is_in_order else (pair.p_BCb, pair.p_ACa)
        p_ACa, p_BCb = (inspector.GetPoseInFrame(id) @ p for id, p in zip(self.ids, (p_GCa, p_GCb)))
        return Witnesses(pair.distance, -pair.nhat_BA_W if is_in_order else pair.nhat_BA_W, p_ACa, p_BCb)

    def calc_jacobians(self) -> tuple[Objects, Objects]:
        """Of the velocities of Ca and of Cb in the world for v, of AutoDiffXd, shape [3, num_velocities] each."""
        at, world, by_v = self.calc_witnesses(), self._plant.world_frame(), JacobianWrtVariable.kV
        J_Ca, J_Cb = (
            self._plant.CalcJacobianTranslationalVelocity(self._context, by_v, body.body_frame(), p, world, world)
            for body, p in ((self.body_A, at.p_ACa), (self.body_B, at.p_BCb))
        )
        return J_Ca, J_Cb

    def calc_p_WCb(self) -> Objects:
        """Where Cb is in the world [m], of AutoDiffXd, shape [3]."""
        at, frame, world = self.calc_witnesses(), self.body_B.body_frame(), self._plant.world_frame()
        p_WCb: Objects = self._plant.CalcPointsPositions(self._context, frame, at.p_BCb, world).ravel()
        return p_WCb

    def calc_static_friction(self) -> float:
        """The coefficient of static friction of the two surfaces.

        Raises:
            RuntimeError: a geometry has no ("material", "coulomb_friction").
        """
        inspector = query_of(self._plant, self._context, _WHERE).inspector()
        frictions = []
        for id in self.ids:
            properties = inspector.GetProximityProperties(id)
            friction = properties and properties.GetPropertyOrDefault("material", "coulomb_friction", None)
            if not isinstance(friction, CoulombFriction):
                raise RuntimeError(
                    f"Geometry '{inspector.GetName(id)}' of plant '{self._plant.GetSystemPathname()}' has no "
                    "('material', 'coulomb_friction'), which its contacts need. Set it by AddContactMaterial()."
                )
            frictions.append(friction)
        return CalcContactFrictionFromSurfaceProperties(*frictions).static_friction()


class ContactWrenchFromForceInWorldFrameEvaluator(ClosedFormEvaluator):
    """The spatial force [0; f] on B at Cb that a force f from A on B is: no torque about the point of contact.

    Variables: [q, f], f expressed in the world [N], shape [3]. Values: [torque; force], shape [6].

    Args:
        plant: of AutoDiffXd, or of floats, with a SceneGraph.
        context: of the plant, in that of the diagram.
        geometry_id_pair: geometries of A and of B, in the order of SceneGraphInspector.GetCollisionCandidates().

    Raises:
        RuntimeError: there is no SceneGraph, or a geometry is not of the plant.
    """

    def __init__(
        self, plant: MultibodyPlant, context: Context, geometry_id_pair: tuple[GeometryId, GeometryId]
    ) -> None:
        moved_plant, moved_context = with_derivatives(type(self).__name__, plant, context)
        self._pair = PairOfGeometries(moved_plant, moved_context, geometry_id_pair)
        num_vars = plant.num_positions() + 3
        ClosedFormEvaluator.__init__(self, num_vars, 6, "contact_wrench_from_pure_force_in_world_frame")

    def pair(self) -> PairOfGeometries:
        """The geometries of A and B."""
        return self._pair

    def _value_and_jacobian(self, x: Array) -> tuple[Array, Array]:
        jacobian = np.zeros((6, x.size))
        jacobian[3:, -3:] = np.eye(3)
        return jacobian @ x, jacobian


class StaticEquilibriumConstraint(PlantFunction, Constraint):
    """0 = tau_g(q) + B u + sum_i (J_Cb^T - J_Ca^T) f_i, generalized forces [N m, N]; variables: [q, u, f_1, f_2, ...].

    J_Ca and J_Cb are those of the velocities of the points of contact of bodies A and B; f_i acts from A on B.

    Args:
        plant: of AutoDiffXd.
        context: of the plant; it is moved.
        contacts: the pairs that may touch.
    """

    def __init__(
        self,
        plant: MultibodyPlant,
        context: Context,
        contacts: Sequence[ContactWrenchFromForceInWorldFrameEvaluator],
    ) -> None:
        self._take(plant, context)
        self._pairs = [contact.pair() for contact in contacts]
        self._B: Array = np.array(plant.MakeActuationMatrix(), dtype=np.float64)
        nothing = np.zeros(plant.num_velocities())
        num_vars = plant.num_positions() + plant.num_actuated_dofs() + 3 * len(contacts)
        Constraint.__init__(self, num_vars, nothing, nothing, "static equilibrium")

    def _at(self, x: Array) -> tuple[Array, Array]:
        num_q, num_u = self._plant.num_positions(), self._plant.num_actuated_dofs()
        forces = x[num_q + num_u :].reshape(-1, 3)
        tau, by_f = self._plant.CalcGravityGeneralizedForces(self._context), []
        for pair, f in zip(self._pairs, forces):
            J_Ca, J_Cb = pair.calc_jacobians()
            J = J_Cb - J_Ca
            tau = tau + J.T @ f
            by_f.append(values_of(J).T)
        value = values_of(tau) + self._B @ x[num_q : num_q + num_u]
        return value, np.hstack((derivatives_of(tau, num_q), self._B, *by_f))


class FrictionConeComplementarityConstraint(PlantFunction, AdjustableConstraint):
    """A contact force f is in the cone of static friction, and is there only where the distance phi(q) is 0.

    With the normal n from A to B, and slack variables alpha and beta, which are at least 0,

        0 <= ((mu^2 + 1) (n . f)^2 - f . f),  n . f = alpha,  phi = beta,  0 <= alpha beta <= tolerance     (1)

    The first is the square of |f_t| <= mu n . f. Variables: [q, f, alpha, beta]. Stewart and Trinkle (1996) have the
    complementarity; the relaxation is that of Scholtes (2001).

    Args:
        plant: of AutoDiffXd.
        context: of the plant; it is moved.
        contact: the pair.
        tolerance: of (1) [N m].
    """

    def __init__(
        self,
        plant: MultibodyPlant,
        context: Context,
        contact: ContactWrenchFromForceInWorldFrameEvaluator,
        tolerance: float,
    ) -> None:
        self._take(plant, context)
        self._pair = contact.pair()
        self._cone = self._pair.calc_static_friction() ** 2 + 1.0
        upper = [np.inf, 0.0, 0.0, tolerance]
        Constraint.__init__(self, plant.num_positions() + 5, np.zeros(4), upper, "contact complementarity")

    def _at(self, x: Array) -> tuple[Array, Array]:
        num_q = self._plant.num_positions()
        f, (alpha, beta) = x[num_q : num_q + 3], x[num_q + 3 :]
        at = self._pair.calc_witnesses()
        n, n_by_q = values_of(at.normal_W), derivatives_of(at.normal_W, num_q)
        f_n, f_n_by_q = n @ f, f @ n_by_q
        value = np.array([self._cone * f_n**2 - f @ f, f_n - alpha, at.distance.value() - beta, alpha * beta])
        jacobian = np.zeros((4, x.size))
        jacobian[0, :num_q], jacobian[0, num_q : num_q + 3] = (
            2.0 * self._cone * f_n * f_n_by_q,
            2.0 * (self._cone * f_n * n - f),
        )
        jacobian[1, :num_q], jacobian[1, num_q : num_q + 3], jacobian[1, -2] = f_n_by_q, n, -1.0
        jacobian[2, :num_q], jacobian[2, -1] = derivatives_of(np.array([at.distance]), num_q), -1.0
        jacobian[3, -2:] = beta, alpha
        return value, jacobian


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
