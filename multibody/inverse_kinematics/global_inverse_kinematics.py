"""GlobalInverseKinematics: poses of all bodies of a plant as variables of a mixed-integer convex program.

The variables are R_WB and p_WBo of each body. A joint between the frames F, fixed to the parent P, and M, fixed to the
body B, gives linear equations of them; a revolute one about the axis a, with angle theta from its middle,

    R_WP R_PF a = R_WB R_BM a,    p_WPo + R_WP p_PoFo = p_WBo + R_WB p_BoMo                                      (1)
    |R_WP R_PF R(a, middle) v - R_WB R_BM v| <= 2 sin(theta_most / 2)   for unit vectors v normal to a           (2)

That the matrices are rotations is relaxed, see framework/optimization/formulations/rotation_constraints.py.

Source: Dai, Izatt and Tedrake, Global inverse kinematics via mixed-integer convex optimization, 2017.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import combinations, product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from merganser.framework.core.inside import scalar_of
from merganser.framework.math import AngleAxis, Quaternion, RigidTransform, RotationMatrix
from merganser.framework.optimization import (
    Binding,
    HighsSolver,
    IntervalBinning,
    MathematicalProgram,
    MathematicalProgramResult,
    MixedIntegerRotationConstraintGenerator,
    OuterApproximationSolver,
    Solve,
)
from merganser.framework.optimization.arrays import number_of
from merganser.multibody.inverse_kinematics.inverse_kinematics import InverseKinematics
from merganser.multibody.inverse_kinematics.posture_functions import finite_vector
from merganser.multibody.inverse_kinematics.reconstructed_postures import (
    ProgramWithPostures,
    inside_of,
    postures_to_start_from,
    reconstructed_positions,
)
from merganser.multibody.plant import MultibodyPlant
from merganser.multibody.tree import BodyIndex, Joint, RevoluteJoint, WeldJoint

Array = NDArray[np.float64]
Objects = NDArray[Any]

_NAME = "GlobalInverseKinematics"


class GlobalInverseKinematics:
    """Finds postures by a mixed-integer convex program, without an initial guess.

    If the program has no solution, no posture satisfies its constraints. If it has one, the poses of bodies are those
    of a posture up to what the relaxation of rotations leaves; `ReconstructGeneralizedPositionSolution()` gives one
    that is near. Without a guess, postures that `InverseKinematics` finds are tried first: without a cost,
    the first one that satisfies the program is its solution. Otherwise the search ends after 100 s, unless the option
    `time_limit` of HiGHS or OuterApproximation says another time.

    Args:
        plant: a finalized plant of floats, whose joints are revolute, welds, or quaternion_floating.
        options: how rotations are relaxed.

    Raises:
        TypeError: the plant is no MultibodyPlant of floats.
        RuntimeError: it is not finalized, or has joints of other kinds.
    """

    @dataclass
    class Options:
        """How rotations are relaxed, and whether all constraints that the constructor adds are linear."""

        num_intervals_per_half_axis: int = 2
        approach: MixedIntegerRotationConstraintGenerator.Approach = (
            MixedIntegerRotationConstraintGenerator.Approach.kBilinearMcCormick
        )
        interval_binning: IntervalBinning = IntervalBinning.kLogarithmic
        linear_constraint_only: bool = False

        def __repr__(self) -> str:
            values = ", ".join(f"{name}={value}" for name, value in vars(self).items())
            return f"GlobalInverseKinematics.Options({values})"

    @dataclass
    class Polytope3D:
        """The points x with A x <= b, shapes [m, 3] and [m]."""

        A: Array = field(default_factory=lambda: np.zeros((0, 3)))
        b: Array = field(default_factory=lambda: np.zeros(0))

        def __repr__(self) -> str:
            return f"GlobalInverseKinematics.Polytope(A={self.A}, b={self.b})"  # the name is pydrake's

    def __init__(self, plant: MultibodyPlant, options: GlobalInverseKinematics.Options | None = None) -> None:
        if not isinstance(plant, MultibodyPlant) or scalar_of(plant) is not float:
            raise TypeError(f"{_NAME}() takes a MultibodyPlant of floats, got {type(plant).__name__}.")
        if not plant.is_finalized():
            raise RuntimeError(f"{_NAME}(): plant '{plant.get_name()}' is not finalized; call Finalize().")
        self._plant, self._options = plant, options or self.Options()
        self._prog = ProgramWithPostures(self._find_guess)
        for solver in (HighsSolver, OuterApproximationSolver):
            self._prog.SetSolverOption(solver.id(), "time_limit", _MOST_SECONDS)
        self._for_postures: list[Callable[[InverseKinematics], Any]] = []  # add constraints to a local search
        self._R: dict[int, Objects] = {0: np.eye(3).astype(object)}
        self._p: dict[int, Objects] = {0: np.zeros(3).astype(object)}
        for index in range(1, plant.num_bodies()):
            name = plant.get_body(BodyIndex(index)).name()
            self._R[index] = self._prog.NewContinuousVariables(3, 3, f"{name}_R")
            self._p[index] = self._prog.NewContinuousVariables(3, f"{name}_p")
        joints = (plant.get_joint(index) for index in plant.GetJointIndices())
        self._joints: dict[int, Joint] = {int(joint.child_body().index()): joint for joint in joints}
        chosen = self._options
        rotations = MixedIntegerRotationConstraintGenerator(
            chosen.approach, chosen.num_intervals_per_half_axis, chosen.interval_binning
        )
        for index, joint in self._joints.items():
            self._add_joint(joint, index)
            if not isinstance(joint, WeldJoint):
                rotations.AddToProgram(self._R[index], self._prog)
                if not chosen.linear_constraint_only:
                    _add_lengths(self._prog, self._R[index])
            if isinstance(joint, RevoluteJoint):
                low, high = joint.position_lower_limits()[0], joint.position_upper_limits()[0]
                if np.isfinite(low) and np.isfinite(high):
                    self._limit(joint, index, low, high, chosen.linear_constraint_only)

    def prog(self) -> MathematicalProgram:
        """The program."""
        return self._prog

    def get_mutable_prog(self) -> MathematicalProgram:
        """The program."""
        return self._prog

    def body_rotation_matrix(self, body_index: BodyIndex) -> Objects:
        """The variables R_WB of a body, shape [3, 3].

        Raises:
            RuntimeError: it is the world, or there is no such body.
        """
        return self._R[self._movable(body_index, "body_rotation_matrix")].copy()

    def body_position(self, body_index: BodyIndex) -> Objects:
        """The variables p_WBo of a body [m], shape [3].

        Raises:
            RuntimeError: it is the world, or there is no such body.
        """
        return self._p[self._movable(body_index, "body_position")].copy()

    def _movable(self, body_index: BodyIndex, where: str) -> int:
        index = int(body_index)
        if not 1 <= index < self._plant.num_bodies():
            raise RuntimeError(
                f"{_NAME}.{where}(): expected a body index from 1 to {self._plant.num_bodies() - 1}, got {index}; the "
                "world has no variables."
            )
        return index

    # ------------------------------------------------------------------ joints

    def _add_joint(self, joint: Joint, index: int) -> None:
        """Adds what the joint of a body says of its pose and that of its parent."""
        if joint.type_name() == "quaternion_floating":
            return
        if not isinstance(joint, (RevoluteJoint, WeldJoint)):
            raise RuntimeError(
                f"{_NAME}(): joint '{joint.name()}' is of the type {joint.type_name()}; expected revolute, weld or "
                "quaternion_floating."
            )
        R_WP, p_WPo = (each[int(joint.parent_body().index())] for each in (self._R, self._p))
        R_WB, p_WBo = self._R[index], self._p[index]
        X_PF, X_BM = _frames(joint)
        if isinstance(joint, WeldJoint):
            X_PB = X_PF @ joint.X_FM() @ X_BM.inverse()
            self._equal(R_WP @ X_PB.rotation().matrix(), R_WB)
            self._equal(p_WPo + R_WP @ X_PB.translation(), p_WBo)
            return
        axis = joint.revolute_axis()
        self._equal(R_WP @ (X_PF.rotation().matrix() @ axis), R_WB @ (X_BM.rotation().matrix() @ axis))
        self._equal(p_WPo + R_WP @ X_PF.translation(), p_WBo + R_WB @ X_BM.translation())

    def _equal(self, left: Objects, right: Objects) -> None:
        difference = np.ravel(left - right)
        self._prog.AddLinearEqualityConstraint(difference, np.zeros(difference.size))

    def AddJointLimitConstraint(
        self,
        body_index: BodyIndex,
        joint_lower_bound: float,
        joint_upper_bound: float,
        linear_constraint_approximation: bool = False,
    ) -> None:
        """Adds limits of the joint between a body and its parent: (2).

        Args:
            body_index: the child body of a revolute joint.
            joint_lower_bound, joint_upper_bound: limits [rad].
            linear_constraint_approximation: whether the vectors are in a polyhedron, rather than in the ball in it.

        Raises:
            RuntimeError: the joint is not revolute, or the lower bound is above the upper one.
        """
        where = "AddJointLimitConstraint"
        index = self._movable(body_index, where)
        joint = self._joints[index]
        if not isinstance(joint, RevoluteJoint):
            raise RuntimeError(f"{_NAME}.{where}(): joint '{joint.name()}' is a {joint.type_name()}, not revolute.")
        if not joint_lower_bound <= joint_upper_bound:
            raise RuntimeError(
                f"{_NAME}.{where}(): the lower bound of joint '{joint.name()}' must not be above the upper one, got "
                f"{joint_lower_bound} and {joint_upper_bound}."
            )
        self._limit(joint, index, joint_lower_bound, joint_upper_bound, linear_constraint_approximation)
        self._for_postures.append(
            lambda ik: ik.prog().AddBoundingBoxConstraint(
                joint_lower_bound, joint_upper_bound, ik.q()[joint.position_start()]
            )
        )

    def _limit(self, joint: RevoluteJoint, index: int, low: float, high: float, is_linear: bool) -> None:
        most = 0.5 * (high - low)
        if most >= np.pi:
            return
        X_PF, X_BM = _frames(joint)
        axis = joint.revolute_axis()
        R_FM = RotationMatrix(AngleAxis(angle=0.5 * (low + high), axis=axis)).matrix()
        R_WP, R_WB = self._R[int(joint.parent_body().index())], self._R[index]
        normal = np.cross(axis, np.eye(3)[np.abs(axis).argmin()])
        normal /= np.linalg.norm(normal)
        other = np.cross(axis, normal)
        chord = 2.0 * np.sin(0.5 * most)
        reach = chord * np.linalg.norm(_DIRECTIONS, axis=1)
        for angle in _ANGLES:
            v = np.cos(angle) * normal + np.sin(angle) * other
            gap = R_WP @ (X_PF.rotation().matrix() @ R_FM @ v) - R_WB @ (X_BM.rotation().matrix() @ v)
            if is_linear or most == 0.0:
                self._prog.AddLinearConstraint(_DIRECTIONS @ gap, -reach, reach)
            else:
                self._prog.AddLorentzConeConstraint(np.concatenate(([chord], gap)))

    # ------------------------------------------------------------------ constraints and costs

    def AddWorldPositionConstraint(
        self, body_index: BodyIndex, p_BQ: Any, box_lb_F: Any, box_ub_F: Any, X_WF: RigidTransform | None = None
    ) -> Binding:
        """Adds box_lb_F <= p_FQ <= box_ub_F [m] for a point Q of body B.

        Args:
            body_index: the body B.
            p_BQ: the point, shape [3].
            box_lb_F, box_ub_F: corners of the box, shape [3].
            X_WF: the frame of the box; by default that of the world.

        Raises:
            RuntimeError: the body is the world.
            ValueError: a vector has another size, or is not finite.
        """
        point = self._point(body_index, p_BQ, "AddWorldPositionConstraint")
        binding = self._in_box(point, np.zeros(3), box_lb_F, box_ub_F, X_WF, is_relative=False)
        frames = self._plant.get_body(body_index).body_frame(), self._plant.world_frame()
        box = inside_of(box_lb_F, box_ub_F)
        self._for_postures.append(lambda ik: ik.AddPositionConstraint(frames[0], p_BQ, frames[1], X_WF, *box))
        return binding

    def AddWorldRelativePositionConstraint(
        self,
        body_index_B: BodyIndex,
        p_BQ: Any,
        body_index_A: BodyIndex,
        p_AP: Any,
        box_lb_F: Any,
        box_ub_F: Any,
        X_WF: RigidTransform | None = None,
    ) -> Binding:
        """Adds box_lb_F <= p_FQ - p_FP <= box_ub_F [m] for points Q of body B and P of body A.

        Raises:
            RuntimeError: a body is the world.
            ValueError: a vector has another size, or is not finite.
        """
        where = "AddWorldRelativePositionConstraint"
        Q, P = self._point(body_index_B, p_BQ, where), self._point(body_index_A, p_AP, where)
        return self._in_box(Q, P, box_lb_F, box_ub_F, X_WF, is_relative=True)

    def _point(self, body_index: BodyIndex, p_BQ: Any, where: str) -> Objects:
        """p_WQ = p_WBo + R_WB p_BQ."""
        index = self._movable(body_index, where)
        return self._p[index] + self._R[index] @ finite_vector(f"{_NAME}.{where}(): the point", p_BQ)

    def _in_box(
        self, Q: Objects, P: Objects, low: Any, high: Any, X_WF: RigidTransform | None, *, is_relative: bool
    ) -> Binding:
        X = RigidTransform() if X_WF is None else X_WF
        R_FW = X.rotation().matrix().T
        offset = np.zeros(3) if is_relative else R_FW @ X.translation()
        lower, upper = (np.asarray(each, dtype=np.float64).ravel() + offset for each in (low, high))
        return self._prog.AddLinearConstraint(R_FW @ (Q - P), lower, upper)

    def AddWorldOrientationConstraint(
        self, body_index: BodyIndex, desired_orientation: Quaternion, angle_tol: float
    ) -> Binding:
        """Adds that the angle between R_WB of a body and a desired rotation is at most angle_tol [rad].

        By 1 + 2 cos(angle_tol) <= trace(R_desired' R_WB) <= 3.

        Raises:
            RuntimeError: the body is the world, or the angle is negative.
        """
        index = self._movable(body_index, "AddWorldOrientationConstraint")
        if not angle_tol >= 0.0:
            raise RuntimeError(
                f"{_NAME}.AddWorldOrientationConstraint(): angle_tol must not be negative, got {angle_tol}."
            )
        desired = RotationMatrix(desired_orientation).matrix()
        row = desired.ravel("F")[np.newaxis]
        least = 1.0 + 2.0 * np.cos(min(angle_tol, np.pi))
        frames = self._plant.world_frame(), self._plant.get_body(body_index).body_frame()
        given = frames[0], RotationMatrix(desired), frames[1], RotationMatrix(), max(0.0, 0.999 * angle_tol - 1e-6)
        self._for_postures.append(lambda ik: ik.AddOrientationConstraint(*given))
        return self._prog.AddLinearConstraint(row, [least], [3.0], self._R[index].ravel("F"))

    def AddPostureCost(self, q_desired: Any, body_position_cost: Any, body_orientation_cost: Any) -> None:
        """Adds the cost of being away from a posture, a sum over the bodies of

            body_position_cost |p_WBo - p_WBo_desired| + body_orientation_cost (1 - cos(theta)),

        with the angle theta between R_WB and R_WB_desired.

        Args:
            q_desired: the posture, shape [num_positions].
            body_position_cost: [1/m], not negative, shape [num_bodies]; that of the world counts for nothing.
            body_orientation_cost: not negative, shape [num_bodies].

        Raises:
            RuntimeError: a size differs, or a cost is negative.
        """
        costs = []
        for name, given in (
            ("body_position_cost", body_position_cost),
            ("body_orientation_cost", body_orientation_cost),
        ):
            cost = np.asarray(given, dtype=np.float64).ravel()
            if cost.size != self._plant.num_bodies() or not (cost >= 0.0).all():
                raise RuntimeError(
                    f"{_NAME}.AddPostureCost(): expected {self._plant.num_bodies()} numbers in {name} that are not "
                    f"negative, got {given}."
                )
            costs.append(cost)
        poses = self._poses(q_desired, "AddPostureCost")
        moved = range(1, self._plant.num_bodies())
        away = self._prog.NewContinuousVariables(len(moved), "position_error")
        self._prog.AddLinearCost(costs[0][1:], 0.0, away)
        for index, distance in zip(moved, away):
            p = np.concatenate(([distance], self._p[index] - poses[index].translation()))
            self._prog.AddLorentzConeConstraint(p)
            # 1 - cos(theta) = (3 - trace(R_desired' R)) / 2
            slopes = -0.5 * costs[1][index] * poses[index].rotation().matrix().ravel("F")
            self._prog.AddLinearCost(slopes, 1.5 * costs[1][index], self._R[index].ravel("F"))

    def _poses(self, q: Any, where: str) -> list[RigidTransform]:
        """X_WB of all bodies in a posture."""
        positions = np.asarray(q, dtype=np.float64).ravel()
        if positions.size != self._plant.num_positions():
            raise RuntimeError(
                f"{_NAME}.{where}(): expected {self._plant.num_positions()} positions, got {positions.size}."
            )
        context = self._plant.CreateDefaultContext()
        self._plant.SetPositions(context, positions)
        bodies = [self._plant.get_body(BodyIndex(index)) for index in range(self._plant.num_bodies())]
        return [self._plant.EvalBodyPoseInWorld(context, body) for body in bodies]

    # ------------------------------------------------------------------ regions

    def BodyPointInOneOfRegions(self, body_index: BodyIndex, p_BQ: Any, region_vertices: Sequence[Any]) -> Objects:
        """Adds that a point Q of a body is in one of several convex polytopes, which are given by their vertices.

        Args:
            body_index: the body B.
            p_BQ: the point [m], shape [3].
            region_vertices: for each polytope, shape [3, n] with n >= 3.

        Returns:
            New binary variables; that of the polytope in which the point is, is 1.

        Raises:
            RuntimeError: a polytope has fewer vertices, or the body is the world.
        """
        point = self._point(body_index, p_BQ, "BodyPointInOneOfRegions")
        vertices = [np.asarray(each, dtype=np.float64) for each in region_vertices]
        for k, each in enumerate(vertices):
            if each.ndim != 2 or each.shape[0] != 3 or each.shape[1] < 3:
                raise RuntimeError(
                    f"{_NAME}.BodyPointInOneOfRegions(): expected region_vertices[{k}] of shape (3, n), n >= 3, got "
                    f"{each.shape}."
                )
        z = self._prog.NewBinaryVariables(len(vertices), "z")
        total = -point
        for each, chosen in zip(vertices, z):
            w = self._prog.NewContinuousVariables(each.shape[1], "w")
            self._prog.AddBoundingBoxConstraint(0.0, 1.0, w)
            self._prog.AddLinearEqualityConstraint(
                np.append(np.ones(w.size), -1.0)[np.newaxis], [0.0], np.append(w, chosen)
            )
            total = total + each @ w
        self._equal(total, np.zeros(3).astype(object))
        self._prog.AddLinearEqualityConstraint(np.ones((1, z.size)), [1.0], z)
        return z

    def BodySphereInOneOfPolytopes(
        self, body_index: BodyIndex, p_BQ: Any, radius: float, polytopes: Sequence[GlobalInverseKinematics.Polytope3D]
    ) -> Objects:
        """Adds that a sphere about a point Q of a body is in one of several bounded polytopes.

        Args:
            body_index: the body B.
            p_BQ: the middle of the sphere [m], shape [3].
            radius: its radius [m].
            polytopes: A x <= b in the frame of the world; that they are bounded is not checked.

        Returns:
            New binary variables; that of the polytope in which the sphere is, is 1.

        Raises:
            RuntimeError: the radius is negative, the body is the world, or shapes of A and b do not fit.
        """
        where = "BodySphereInOneOfPolytopes"
        point = self._point(body_index, p_BQ, where)
        if not radius >= 0.0:
            raise RuntimeError(f"{_NAME}.{where}(): radius must not be negative, got {radius}.")
        z = self._prog.NewBinaryVariables(len(polytopes), "z")
        total = -point
        for k, (each, chosen) in enumerate(zip(polytopes, z)):
            A, b = np.asarray(each.A, dtype=np.float64), np.asarray(each.b, dtype=np.float64).ravel()
            if A.ndim != 2 or A.shape != (b.size, 3):
                raise RuntimeError(f"{_NAME}.{where}(): A of polytopes[{k}] has the shape {A.shape}, b has {b.size}.")
            y = self._prog.NewContinuousVariables(3, "y")
            rows = np.column_stack((A, radius * np.linalg.norm(A, axis=1) - b))
            self._prog.AddLinearConstraint(rows, np.full(b.size, -np.inf), np.zeros(b.size), np.append(y, chosen))
            total = total + y
        self._equal(total, np.zeros(3).astype(object))
        self._prog.AddLinearEqualityConstraint(np.ones((1, z.size)), [1.0], z)
        return z

    # ------------------------------------------------------------------ guesses and results

    def SetInitialGuess(self, q: Any) -> None:
        """Sets the guess of all variables to what they are in a posture, by solving the program with its poses.

        Raises:
            RuntimeError: the posture does not satisfy the constraints, or q has another size.
        """
        x, why = self._values_in(q)
        if x is None:
            raise RuntimeError(f"{_NAME}.SetInitialGuess(): the posture {q} does not satisfy the constraints: {why}.")
        self._prog.SetInitialGuess(self._prog.decision_variables(), x)

    def _values_in(self, q: Any) -> tuple[Array | None, str]:
        """Values of all variables in a posture; or None, and why.

        Cones are only about poses, which are known: what is left is linear.
        """
        poses = self._poses(q, "SetInitialGuess")
        posed = self._prog.Clone()
        for index in range(1, self._plant.num_bodies()):
            values = poses[index].rotation().matrix(), poses[index].translation()
            for variables, value in zip((self._R[index], self._p[index]), values):
                posed.AddBoundingBoxConstraint(value - _POSE_MARGIN, value + _POSE_MARGIN, variables)
        cones = posed.lorentz_cone_constraints()
        of_poses = {number_of(v) for each in (*self._R.values(), *self._p.values()) for v in each.ravel()}
        for cone in cones:
            if all(variable.get_id() in of_poses for variable in cone.variables()):
                posed.RemoveConstraint(cone)
        result = Solve(posed)
        if not result.is_success():
            return None, result.get_solution_result().name
        x = result.get_x_val()
        violated = [cone for cone in cones if not self._prog.CheckSatisfied(cone, x, _KEPT)]
        return (None, f"{violated[0]} is violated") if violated else (x, "")

    def _find_guess(self) -> Array | None:
        """Values of all variables in a posture that local searches find; None if they find none."""
        ik = InverseKinematics(self._plant)
        for add in self._for_postures:
            add(ik)
        for start in postures_to_start_from(self._plant, _SEARCHES):
            result = Solve(ik.prog(), start)
            if result.is_success():
                x, _ = self._values_in(result.GetSolution(ik.q()))
                if x is not None:
                    return x
        return None

    def ReconstructGeneralizedPositionSolution(self, result: MathematicalProgramResult) -> Array:
        """Positions of a posture whose bodies have about the orientations of a solution, within the limits of joints.

        From the root on, the angle of each joint is that with the orientation of its body nearest to the solution.

        Args:
            result: of the program; without a solution numbers mean nothing.

        Returns:
            q, shape [num_positions].
        """
        return reconstructed_positions(
            self._plant,
            self._joints,
            {index: np.asarray(result.GetSolution(self._R[index]), dtype=np.float64) for index in self._joints},
            {index: np.asarray(result.GetSolution(self._p[index]), dtype=np.float64) for index in self._joints},
        )


_ANGLES = 0.25 * np.pi * np.arange(4)  # of the vectors v of (2); two would do, if matrices were rotations
# Of a polyhedron about a ball: towards faces, edges and corners of a cube.
_DIRECTIONS = np.array([each for each in product((-1.0, 0.0, 1.0), repeat=3) if each > (0.0, 0.0, 0.0)])
_POSE_MARGIN = 1e-9  # by how much poses of a posture may differ from what was computed
_KEPT = 1e-6  # tolerance of cones
_SEARCHES = 4  # for postures, each with restarts of its own
_MOST_SECONDS = 100.0


def _frames(joint: Joint) -> tuple[RigidTransform, RigidTransform]:
    """X_PF and X_BM."""
    return joint.frame_on_parent().GetFixedPoseInBodyFrame(), joint.frame_on_child().GetFixedPoseInBodyFrame()


def _add_lengths(prog: MathematicalProgram, R: Objects) -> None:
    """Adds what convex constraints say of orthonormal columns and rows: lengths of them, and of sums of them."""
    signs = [np.eye(3)[[k]] for k in range(3)]
    signs += [np.array([[1.0 if i == a else sign if i == b else 0.0 for i in range(3)]])
              for a, b in combinations(range(3), 2) for sign in (1.0, -1.0)]  # fmt: skip
    signs += [np.array([[1.0, a, b]]) for a in (1.0, -1.0) for b in (1.0, -1.0)]
    for sign in signs:
        A = np.vstack((np.zeros(9), np.kron(sign, np.eye(3))))
        constants = np.array([np.linalg.norm(sign), 0.0, 0.0, 0.0])
        for vectors in (R.ravel("F"), R.ravel()):
            prog.AddLorentzConeConstraint(A, constants, vectors)
