"""InverseKinematics: a program whose variables are the positions of a plant."""

from __future__ import annotations

from typing import Any

from numpy.typing import NDArray

from merganser.framework import Context
from merganser.framework.core.inside import scalar_of
from merganser.framework.math import RotationMatrix
from merganser.framework.optimization import Binding, MathematicalProgram, SlsqpSolver
from merganser.geometry import GeometryId
from merganser.multibody.inverse_kinematics.distance_constraints import (
    DistanceConstraint,
    MinimumDistanceLowerBoundConstraint,
    MinimumDistanceUpperBoundConstraint,
)
from merganser.multibody.inverse_kinematics.plant_constraints import (
    AddUnitQuaternionConstraintOnPlant,
    fix_locked_joints,
)
from merganser.multibody.inverse_kinematics.posture_constraints import (
    AngleBetweenVectorsConstraint,
    AngleBetweenVectorsCost,
    GazeTargetConstraint,
    OrientationConstraint,
    OrientationCost,
    PointToLineDistanceConstraint,
    PointToPointDistanceConstraint,
    PolyhedronConstraint,
    PositionConstraint,
    PositionCost,
)
from merganser.multibody.plant import MultibodyPlant
from merganser.multibody.tree import Frame

# Searches that have not come anywhere by then begin elsewhere.
_MOST_ITERATIONS = 100
_NUM_STARTS = 20


class InverseKinematics:
    """Finds positions q at which points, axes and distances of a plant satisfy constraints.

    `Solve(ik.prog())` looks for q; the Context is at the last q that was tried afterwards. A search begins at the
    initial guess of q, and again at points around it, ever farther within the limits, as long as none is found.

    Args:
        plant: a finalized plant of floats.
        plant_context: of the plant; for distances, in that of a diagram with the SceneGraph. Locked joints stay
            where they are in it. By default, a new one.
        with_joint_limits: whether joints keep within their limits.

    Raises:
        RuntimeError: the plant is not finalized.
        TypeError: it is no MultibodyPlant of floats.
    """

    def __init__(
        self, plant: MultibodyPlant, plant_context: Context | bool | None = None, with_joint_limits: bool = True
    ) -> None:
        if not isinstance(plant, MultibodyPlant) or scalar_of(plant) is not float:
            raise TypeError(f"InverseKinematics() takes a MultibodyPlant of floats, got {type(plant).__name__}.")
        if not plant.is_finalized():
            raise RuntimeError(f"InverseKinematics(): plant '{plant.get_name()}' is not finalized; call Finalize().")
        if isinstance(plant_context, bool):  # InverseKinematics(plant, with_joint_limits)
            with_joint_limits = plant_context
        is_given = isinstance(plant_context, Context)
        self._plant = plant
        self._context = plant_context if isinstance(plant_context, Context) else plant.CreateDefaultContext()
        plant.ValidateContext(self._context)
        self._prog = MathematicalProgram()
        self._prog.SetSolverOption(SlsqpSolver.id(), "maxiter", _MOST_ITERATIONS)
        self._prog.SetSolverOption(SlsqpSolver.id(), "num_starts", _NUM_STARTS)
        self._prog.SetSolverOption(SlsqpSolver.id(), "begin_feasible", True)
        self._q = self._prog.NewContinuousVariables(plant.num_positions(), "q")
        if with_joint_limits:
            self._prog.AddBoundingBoxConstraint(plant.GetPositionLowerLimits(), plant.GetPositionUpperLimits(), self._q)
        AddUnitQuaternionConstraintOnPlant(plant, self._q, self._prog)
        if is_given:
            fix_locked_joints(plant, self._q, self._prog, self._context)

    def q(self) -> NDArray[Any]:
        """The variables, shape [num_positions]."""
        return self._q.copy()

    def prog(self) -> MathematicalProgram:
        """The program."""
        return self._prog

    def get_mutable_prog(self) -> MathematicalProgram:
        """The program."""
        return self._prog

    def context(self) -> Context:
        """The Context of the plant, which constraints move."""
        return self._context

    def get_mutable_context(self) -> Context:
        """The Context of the plant, which constraints move."""
        return self._context

    # ------------------------------------------------------------------ points and axes

    def AddPositionConstraint(self, *args: Any, **kwargs: Any) -> Binding:
        """Adds a PositionConstraint: (frameB, p_BQ, frameA, p_AQ_lower, p_AQ_upper), or
        (frameB, p_BQ, frameAbar, X_AbarA, p_AQ_lower, p_AQ_upper)."""
        names = ["frameB", "p_BQ", "frameA", "p_AQ_lower", "p_AQ_upper"]
        if len(args) + len(kwargs) == 6:
            names[2:3] = ["frameAbar", "X_AbarA"]
        given = dict(zip(names, args), **kwargs)
        if given.keys() != set(names):
            raise TypeError(f"AddPositionConstraint() takes {', '.join(names)}; got {', '.join(given)}.")
        return self._constrain(PositionConstraint(self._plant, **given, plant_context=self._context))

    def AddPositionCost(self, frameA: Frame, p_AP: Any, frameB: Frame, p_BQ: Any, C: Any) -> Binding:
        """Adds a PositionCost."""
        return self._charge(PositionCost(self._plant, frameA, p_AP, frameB, p_BQ, C, self._context))

    def AddOrientationConstraint(
        self,
        frameAbar: Frame,
        R_AbarA: RotationMatrix,
        frameBbar: Frame,
        R_BbarB: RotationMatrix,
        theta_bound: float,
    ) -> Binding:
        """Adds an OrientationConstraint."""
        frames = frameAbar, R_AbarA, frameBbar, R_BbarB
        return self._constrain(OrientationConstraint(self._plant, *frames, theta_bound, self._context))

    def AddOrientationCost(
        self, frameAbar: Frame, R_AbarA: RotationMatrix, frameBbar: Frame, R_BbarB: RotationMatrix, c: float
    ) -> Binding:
        """Adds an OrientationCost."""
        return self._charge(OrientationCost(self._plant, frameAbar, R_AbarA, frameBbar, R_BbarB, c, self._context))

    def AddGazeTargetConstraint(
        self, frameA: Frame, p_AS: Any, n_A: Any, frameB: Frame, p_BT: Any, cone_half_angle: float
    ) -> Binding:
        """Adds a GazeTargetConstraint."""
        cone = frameA, p_AS, n_A, frameB, p_BT, cone_half_angle
        return self._constrain(GazeTargetConstraint(self._plant, *cone, self._context))

    def AddAngleBetweenVectorsConstraint(
        self, frameA: Frame, na_A: Any, frameB: Frame, nb_B: Any, angle_lower: float, angle_upper: float
    ) -> Binding:
        """Adds an AngleBetweenVectorsConstraint."""
        given = frameA, na_A, frameB, nb_B, angle_lower, angle_upper
        return self._constrain(AngleBetweenVectorsConstraint(self._plant, *given, self._context))

    def AddAngleBetweenVectorsCost(self, frameA: Frame, na_A: Any, frameB: Frame, nb_B: Any, c: float) -> Binding:
        """Adds an AngleBetweenVectorsCost."""
        return self._charge(AngleBetweenVectorsCost(self._plant, frameA, na_A, frameB, nb_B, c, self._context))

    def AddPointToPointDistanceConstraint(
        self, frame1: Frame, p_B1P1: Any, frame2: Frame, p_B2P2: Any, distance_lower: float, distance_upper: float
    ) -> Binding:
        """Adds a PointToPointDistanceConstraint."""
        given = frame1, p_B1P1, frame2, p_B2P2, distance_lower, distance_upper
        return self._constrain(PointToPointDistanceConstraint(self._plant, *given, self._context))

    def AddPointToLineDistanceConstraint(
        self,
        frame_point: Frame,
        p_B1P: Any,
        frame_line: Frame,
        p_B2Q: Any,
        n_B2: Any,
        distance_lower: float,
        distance_upper: float,
    ) -> Binding:
        """Adds a PointToLineDistanceConstraint."""
        given = frame_point, p_B1P, frame_line, p_B2Q, n_B2, distance_lower, distance_upper
        return self._constrain(PointToLineDistanceConstraint(self._plant, *given, self._context))

    def AddPolyhedronConstraint(self, frameF: Frame, frameG: Frame, p_GP: Any, A: Any, b: Any) -> Binding:
        """Adds a PolyhedronConstraint."""
        return self._constrain(PolyhedronConstraint(self._plant, frameF, frameG, p_GP, A, b, self._context))

    # ------------------------------------------------------------------ distances

    def AddDistanceConstraint(
        self, geometry_pair: tuple[GeometryId, GeometryId], distance_lower: float, distance_upper: float
    ) -> Binding:
        """Adds a DistanceConstraint."""
        bounds = distance_lower, distance_upper
        return self._constrain(DistanceConstraint(self._plant, geometry_pair, self._context, *bounds))

    def AddMinimumDistanceLowerBoundConstraint(self, bound: float, influence_distance_offset: float = 0.01) -> Binding:
        """Adds a MinimumDistanceLowerBoundConstraint."""
        offset = influence_distance_offset
        return self._constrain(
            MinimumDistanceLowerBoundConstraint(self._plant, bound, self._context, influence_distance_offset=offset)
        )

    def AddMinimumDistanceUpperBoundConstraint(self, bound: float, influence_distance_offset: float) -> Binding:
        """Adds a MinimumDistanceUpperBoundConstraint."""
        offset = influence_distance_offset
        return self._constrain(MinimumDistanceUpperBoundConstraint(self._plant, bound, self._context, offset))

    # ------------------------------------------------------------------

    def _constrain(self, constraint: Any) -> Binding:
        return self._prog.AddConstraint(constraint, self._q)

    def _charge(self, cost: Any) -> Binding:
        return self._prog.AddCost(cost, self._q)
