"""Costs and constraints of velocities in a DifferentialInverseKinematicsSystem.

For goal frames G_i that are to move in the task frame T, with v the velocities of the active degrees of freedom, J_i
the Jacobian of the spatial velocity V_TG_i, and S the rows of all J_i that count:

    LeastSquaresCost                    w |S (Vd_TG - J v)|^2                                            (1)
    JointCenteringCost                  |P (v - k (q_nominal - q))|^2,  P a basis of the null space of S J (2)
    CartesianPositionLimitConstraint    p_lower <= p_TG_i + J_i[3:6] v dt <= p_upper                       (3)
    CartesianVelocityLimitConstraint    |J_i v| <= V_limit                                               (4)
    CollisionConstraint                 phi_safe <= phi_j + dphi_j/dq v dt                                 (5)
    JointVelocityLimitConstraint        v_lower <= v <= v_upper, less near the limits of positions         (6)

Source: R. Tedrake, Robotic Manipulation, section 3.10.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from merganser.framework.common.records import settings
from merganser.framework.core.values.arguments import require_types
from merganser.multibody.inverse_kinematics.inequality_least_squares import rows_of_bounds
from merganser.multibody.inverse_kinematics.joint_limits import DofMask, JointLimits

Array = NDArray[np.float64]
Masks = dict[str, NDArray[np.float64]]

_RANK = 1e-10  # singular values below this part of the greatest are none


@dataclasses.dataclass
class Goal:
    """A frame with a desired motion.

    Attributes:
        name: of the frame, as it came.
        p_TG: its position in T [m], shape [3].
        J: of V_TG, expressed in T, with respect to the active velocities, shape [6, n].
        Vd_TG: the velocity that is wanted [rad/s, m/s], shape [6].
    """

    name: str
    p_TG: Array
    J: Array
    Vd_TG: Array


@dataclasses.dataclass
class Problem:
    """min |A v - b|^2 subject to G v >= h, and its data.

    Attributes:
        goals: the frames that are to move.
        q: positions of the plant, shape [num_positions].
        nominal: posture that is wished for, shape [num_positions].
        active_dof: which degrees of freedom v is of.
        time_step: dt [s].
        collision_checker: knows distances.
        costs: pairs A, b.
        rows: pairs G, h.
    """

    goals: list[Goal]
    q: Array
    nominal: Array
    active_dof: DofMask
    time_step: float
    collision_checker: Any
    costs: list[tuple[Array, Array]] = dataclasses.field(default_factory=list)
    rows: list[tuple[Array, Array]] = dataclasses.field(default_factory=list)

    def masked_jacobian(self, masks: Mapping[str, Array]) -> tuple[Array, Array]:
        """S J and S Vd of all goals."""
        kept = [np.array(masks.get(goal.name, np.ones(6)), bool).ravel() for goal in self.goals]
        J = np.vstack([goal.J[mask] for goal, mask in zip(self.goals, kept)])
        return J, np.concatenate([goal.Vd_TG[mask] for goal, mask in zip(self.goals, kept)])


class Ingredient:
    """Abstract: a cost or a constraint."""

    def add_to(self, problem: Problem) -> None:
        """Adds its rows to a problem."""
        raise NotImplementedError


class Recipe:
    """A list of ingredients."""

    def __init__(self) -> None:
        self._ingredients: list[Ingredient] = []

    def AddIngredient(self, ingredient: Ingredient) -> None:
        """Adds a cost or a constraint.

        Raises:
            TypeError: it is neither.
        """
        if not isinstance(ingredient, Ingredient):
            raise TypeError(f"AddIngredient() takes a cost or a constraint, got {type(ingredient).__name__}.")
        self._ingredients.append(ingredient)

    def num_ingredients(self) -> int:
        """Returns how many there are."""
        return len(self._ingredients)

    def ingredient(self, i: int) -> Ingredient:
        """Returns number i."""
        return self._ingredients[i]


class _Configured(Ingredient):
    """Abstract: an ingredient with a config that can be replaced."""

    Config: Any

    def __init__(self, config: Any) -> None:
        self.SetConfig(config)

    def GetConfig(self) -> Any:
        """Returns the present config."""
        return self._config

    def SetConfig(self, config: Any) -> None:
        """Replaces the config.

        Raises:
            TypeError: it is the config of something else.
            ValueError: something in it is out of range.
        """
        require_types(type(self).__name__, config=(config, self.Config))
        self._check(config)
        self._config = config

    def _check(self, config: Any) -> None:
        raise NotImplementedError


def _require(condition: Any, what: str, config: Any) -> None:
    if not condition:
        raise ValueError(f"{what}; got {config}.")


def _require_masks(masks: Mapping[str, Array], config: Any) -> None:
    for name, mask in masks.items():
        values = np.asarray(mask, float).ravel()
        is_mask = values.shape == (6,) and np.isin(values, (0.0, 1.0)).all() and values.any()
        _require(is_mask, f"the axis mask of '{name}' must be six numbers 0 or 1, not all 0", config)


class LeastSquaresCost(_Configured):
    """Equation (1): goals follow their desired velocities."""

    @settings
    @dataclasses.dataclass(kw_only=True, eq=False)
    class Config:
        """Settings.

        Attributes:
            cartesian_qp_weight: w.
            cartesian_axis_masks: which elements of V_TG count, by names of frames, each of shape [6]; by default all.
            use_legacy_implementation: whether the cost is w |J v - 2 Vd|^2 / 2, as in old programs: at most twice Vd.
        """

        cartesian_qp_weight: float = 1.0
        cartesian_axis_masks: Masks = dataclasses.field(default_factory=dict)
        use_legacy_implementation: bool = False

    def _check(self, config: LeastSquaresCost.Config) -> None:
        weight = config.cartesian_qp_weight
        _require(0.0 <= weight < np.inf, "cartesian_qp_weight must not be negative, and finite", config)
        _require_masks(config.cartesian_axis_masks, config)

    def add_to(self, problem: Problem) -> None:
        """Adds its rows to a problem."""
        J, Vd = problem.masked_jacobian(self._config.cartesian_axis_masks)
        times = 2.0 if self._config.use_legacy_implementation else 1.0
        root = np.sqrt(self._config.cartesian_qp_weight / times)
        problem.costs.append((root * J, root * times * Vd))


class JointCenteringCost(_Configured):
    """Equation (2): motion that does not move the goals brings the joints to a posture."""

    @settings
    @dataclasses.dataclass(kw_only=True, eq=False)
    class Config:
        """Settings.

        Attributes:
            posture_gain: k [1/s].
            cartesian_axis_masks: as those of the LeastSquaresCost beside it.
        """

        posture_gain: float = 1.0
        cartesian_axis_masks: Masks = dataclasses.field(default_factory=dict)

    def _check(self, config: JointCenteringCost.Config) -> None:
        _require(0.0 <= config.posture_gain < np.inf, "posture_gain must not be negative, and finite", config)
        _require_masks(config.cartesian_axis_masks, config)

    def add_to(self, problem: Problem) -> None:
        """Adds its rows to a problem."""
        J, _ = problem.masked_jacobian(self._config.cartesian_axis_masks)
        _, s, Wt = np.linalg.svd(J)
        P = Wt[int((s > _RANK * s.max(initial=0.0)).sum()) :]
        wish = self._config.posture_gain * problem.active_dof.GetFromArray(problem.nominal - problem.q)
        problem.costs.append((P, P @ wish))


class CartesianPositionLimitConstraint(_Configured):
    """Equation (3): goals stay within a box of T."""

    @settings
    @dataclasses.dataclass(kw_only=True, eq=False)
    class Config:
        """Settings.

        Attributes:
            p_TG_next_lower, p_TG_next_upper: corners of the box [m], each of shape [3].
        """

        p_TG_next_lower: NDArray[np.float64] = dataclasses.field(default_factory=lambda: np.zeros(3))
        p_TG_next_upper: NDArray[np.float64] = dataclasses.field(default_factory=lambda: np.zeros(3))

    def _check(self, config: CartesianPositionLimitConstraint.Config) -> None:
        low, high = (np.asarray(side, float).ravel() for side in (config.p_TG_next_lower, config.p_TG_next_upper))
        is_box = low.shape == high.shape == (3,) and (low <= high).all()
        _require(is_box, "p_TG_next_lower must not be above p_TG_next_upper, each of 3 elements", config)

    def add_to(self, problem: Problem) -> None:
        """Adds its rows to a problem."""
        config = self._config
        low, high = (np.asarray(side, float).ravel() for side in (config.p_TG_next_lower, config.p_TG_next_upper))
        for goal in problem.goals:
            M = problem.time_step * goal.J[3:]
            problem.rows.append(rows_of_bounds(M, low - goal.p_TG, high - goal.p_TG))


class CartesianVelocityLimitConstraint(_Configured):
    """Equation (4): the speed of goals is limited."""

    @settings
    @dataclasses.dataclass(kw_only=True, eq=False)
    class Config:
        """Settings.

        Attributes:
            V_next_TG_limit: of the magnitude of each element of V_TG [rad/s, m/s], shape [6].
        """

        V_next_TG_limit: NDArray[np.float64] = dataclasses.field(default_factory=lambda: np.zeros(6))

    def _check(self, config: CartesianVelocityLimitConstraint.Config) -> None:
        limit = np.asarray(config.V_next_TG_limit, float).ravel()
        _require(limit.shape == (6,) and (limit >= 0.0).all(), "V_next_TG_limit must be six numbers >= 0", config)

    def add_to(self, problem: Problem) -> None:
        """Adds its rows to a problem."""
        limit = np.asarray(self._config.V_next_TG_limit, float).ravel()
        problem.rows += [rows_of_bounds(goal.J, -limit, limit) for goal in problem.goals]


class CollisionConstraint(_Configured):
    """Equation (5): the robot does not collide with itself or others."""

    _select: Callable[[DofMask, Any, Array, Array], None] | None = None

    @settings
    @dataclasses.dataclass(kw_only=True, eq=False)
    class Config:
        """Settings.

        Attributes:
            safety_distance: phi_safe [m].
            influence_distance: what is further away does not count [m].
        """

        safety_distance: float = 0.0
        influence_distance: float = np.inf

    def SetSelectDataForCollisionConstraintFunction(
        self, select_data_for_collision_constraint: Callable[[DofMask, Any, Array, Array], None]
    ) -> None:
        """Sets a function that may change the distances [m], and their Jacobian, before they are used.

        It is called as select(active_dof, robot_clearance, distances, jacobian), of shapes [m] and [m, n]. An infinite
        distance is left out.
        """
        self._select = select_data_for_collision_constraint

    def _check(self, config: CollisionConstraint.Config) -> None:
        _require(np.isfinite(config.safety_distance), "safety_distance must be finite", config)
        _require(config.influence_distance >= 0.0, "influence_distance must not be negative", config)

    def add_to(self, problem: Problem) -> None:
        """Adds its rows to a problem."""
        config = self._config
        clearance = problem.collision_checker.CalcRobotClearance(problem.q, config.influence_distance)
        distances = np.array(clearance.distances(), float)
        active = problem.active_dof.GetSelectedToFullIndex()
        jacobian = np.array(clearance.jacobians(), float).reshape(len(distances), problem.active_dof.size())[:, active]
        if self._select is not None:
            self._select(problem.active_dof, clearance, distances, jacobian)
        none = np.full(len(distances), np.inf)
        problem.rows.append(rows_of_bounds(problem.time_step * jacobian, config.safety_distance - distances, none))


class JointVelocityLimitConstraint(_Configured):
    """Equation (6): joint speeds are limited, and decrease near position limits.

    With d the distance of q_i from the nearer limit of positions, the limit of velocities towards it is multiplied by
    clamp((d - min_margin) / (influence_margin - min_margin), 0, 1).

    Args:
        config: settings.
        joint_limits: of the active degrees of freedom.
    """

    @settings
    @dataclasses.dataclass(kw_only=True, eq=False)
    class Config:
        """Settings.

        Attributes:
            min_margin: distance at which there is no motion towards a limit [rad, m].
            influence_margin: distance from which on limits of velocities are what they are [rad, m].
        """

        min_margin: float = 0.0025
        influence_margin: float = 0.1

    def __init__(self, config: JointVelocityLimitConstraint.Config, joint_limits: JointLimits) -> None:
        super().__init__(config)
        self.SetJointLimits(joint_limits)

    def GetJointLimits(self) -> JointLimits:
        """Returns the present limits."""
        return self._limits

    def SetJointLimits(self, joint_limits: JointLimits) -> None:
        """Replaces the limits.

        Raises:
            TypeError: they are none.
        """
        require_types("JointVelocityLimitConstraint", joint_limits=(joint_limits, JointLimits))
        self._limits = joint_limits

    def _check(self, config: JointVelocityLimitConstraint.Config) -> None:
        _require(config.min_margin >= 0.0, "min_margin must not be negative", config)
        _require(config.influence_margin > config.min_margin, "influence_margin must be above min_margin", config)

    def add_to(self, problem: Problem) -> None:
        """Adds its rows to a problem.

        Raises:
            ValueError: the limits are for another number of degrees of freedom.
        """
        q, limits, config = problem.active_dof.GetFromArray(problem.q), self._limits, self._config
        if limits.num_positions() != len(q) or limits.num_velocities() != len(q):
            raise ValueError(
                f"JointVelocityLimitConstraint: limits are for {limits.num_positions()} joints, but {len(q)} are "
                "active."
            )
        below, above = q - limits.position_lower(), limits.position_upper() - q
        distance = np.minimum(below, above)
        span = config.influence_margin - config.min_margin
        scale = np.clip((distance - config.min_margin) / span, 0.0, 1.0)
        low, high = limits.velocity_lower(), limits.velocity_upper()
        near_low = below < above
        low[near_low] = _scaled(low, scale)[near_low]
        high[~near_low] = _scaled(high, scale)[~near_low]
        problem.rows.append(rows_of_bounds(np.eye(len(q)), low, high))


def _scaled(limit: Array, scale: Array) -> Array:
    """limit * scale; an infinite one stays so, unless the scale is zero."""
    finite = np.where(np.isfinite(limit), limit, 0.0) * scale
    return np.where(np.isfinite(limit) | (scale == 0.0), finite, limit)
