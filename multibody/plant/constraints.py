"""Constraints of a plant: adding and removing them, and their parameters in a Context."""

from __future__ import annotations

import copy
import dataclasses
import math
from collections.abc import Sequence
from typing import Any, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray

from merganser.framework import AbstractValue, Context
from merganser.framework.core.values.plain_values import Loading, declare_plain
from merganser.framework.math import RigidTransform
from merganser.multibody import kernels
from merganser.multibody.kernels import layout
from merganser.multibody.kernels.constraints import ConstraintKind, constraint_number_of, constraint_row_dtype
from merganser.multibody.kernels.constraints.records import MAX_COORDINATES
from merganser.multibody.kernels.constraints.tendon import MOST_JOINTS, NO_LIMIT, TENDON
from merganser.multibody.math.spatial_vector import as_vector
from merganser.multibody.plant.contact_settings import ContactSettings
from merganser.multibody.plant.model import PlantModel
from merganser.multibody.tree import Frame, Joint, JointIndex, MultibodyConstraintId, RigidBody
from merganser.multibody.tree.constraints import (
    BallConstraintSpec,
    ConstraintOfKind,
    ConstraintSpec,
    CouplerConstraintSpec,
    DistanceConstraintParams,
    DistanceConstraintSpec,
    WeldConstraintSpec,
)

_MOST_CONSTANTS, _MOST_ROWS = 8, 6

declare_plain(
    DistanceConstraintParams,
    lambda params: [
        int(params.bodyA()), params.p_AP(), int(params.bodyB()), params.p_BQ(), params.distance(), params.stiffness(),
        params.damping(),
    ],
)  # fmt: skip


class _ByConstraint(AbstractValue):
    """The box of one value for each constraint, by its identifier.

    Identifiers differ from program to program; files have the values in the order of the constraints.

    Args:
        value: the values.
        num_bodies: of the plant.
    """

    __slots__ = ("_num_bodies",)

    def __init__(self, value: dict[MultibodyConstraintId, Any], num_bodies: int) -> None:
        super().__init__(value)
        self._num_bodies = num_bodies

    def __deepcopy__(self, memo: dict[int, Any]) -> _ByConstraint:
        return _ByConstraint(copy.deepcopy(self._value, memo), self._num_bodies)

    def _plain_state(self) -> Any:
        return list(self._value.values())

    def _set_plain_state(self, state: Any, loading: Loading) -> None:
        if [type(item) for item in state] != [type(item) for item in self._value.values()]:
            raise TypeError("it has another number of constraints, or values of other types")
        for item in state:
            if isinstance(item, DistanceConstraintParams) and max(item.bodyA(), item.bodyB()) >= self._num_bodies:
                raise ValueError(f"there are no bodies but {self._num_bodies}")
        self.set_value(dict(zip(self._value, state)))


class Constraints:
    """Constraints between joints and bodies; see ContactFace.

    Args:
        model, settings: of the plant.

    Attributes:
        has_any: whether the finalized plant has constraints.
        status_parameter, distance_parameter: which abstract parameters say whether each is switched on, and the
            parameters of distance constraints.
    """

    def __init__(self, model: PlantModel, settings: ContactSettings) -> None:
        self._model, self._tree, self._system = model, model.tree, model.system
        self._settings = settings
        self.has_any = False
        self.status_parameter = self.distance_parameter = -1

    # ------------------------------------------------------------------ adding and removing

    def add_coupler_constraint(
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
        caller = "AddCouplerConstraint"
        self._check_can_constrain(caller, "coupler", joint0=(joint0, Joint), joint1=(joint1, Joint))
        self._check_single(caller, "be coupled", joint0, joint1)
        self._check_finite(caller, gear_ratio=gear_ratio, offset=offset)
        new = MultibodyConstraintId.get_new_id()
        return self._add_constraint(
            CouplerConstraintSpec(new, joint0.index(), joint1.index(), float(gear_ratio), float(offset))
        )

    def add_distance_constraint(
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
        self._check_can_constrain(
            "AddDistanceConstraint", "distance", body_A=(body_A, RigidBody), body_B=(body_B, RigidBody)
        )
        params = DistanceConstraintParams(body_A.index(), p_AP, body_B.index(), p_BQ, distance, stiffness, damping)
        return self._add_constraint(DistanceConstraintSpec(MultibodyConstraintId.get_new_id(), params))

    def add_ball_constraint(
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
        caller = "AddBallConstraint"
        self._check_two_bodies(caller, "ball", body_A, body_B, "points P and Q")
        P = _finite_point(caller, "p_AP", p_AP)
        Q = None if p_BQ is None else _finite_point(caller, "p_BQ", p_BQ)
        new = MultibodyConstraintId.get_new_id()
        return self._add_constraint(BallConstraintSpec(new, body_A.index(), P, body_B.index(), Q))

    def add_weld_constraint(
        self, body_A: RigidBody, X_AP: RigidTransform, body_B: RigidBody, X_BQ: RigidTransform
    ) -> MultibodyConstraintId:
        """Keeps a frame P of body A at a frame Q of body B, like a weld.

        Raises:
            RuntimeError: also if the bodies are the same.
            TypeError: a pose is no RigidTransform.
        """
        caller = "AddWeldConstraint"
        self._check_two_bodies(caller, "weld", body_A, body_B, "frames P and Q")
        for name, X in (("X_AP", X_AP), ("X_BQ", X_BQ)):
            if not isinstance(X, RigidTransform):
                raise TypeError(f"{caller}(): {name} must be a RigidTransform, but is a {type(X).__name__}.")
            if not np.isfinite(X.GetAsMatrix34()).all():
                raise ValueError(f"{caller}(): {name} must be finite, but is {X}.")
        new = MultibodyConstraintId.get_new_id()
        return self._add_constraint(WeldConstraintSpec(new, body_A.index(), X_AP, body_B.index(), X_BQ))

    def add_tendon_constraint(
        self,
        joints: Sequence[Joint | JointIndex],
        a: Sequence[float],
        offset: float,
        lower_limit: float,
        upper_limit: float,
        stiffness: float = math.inf,
        damping: float = 0.0,
    ) -> MultibodyConstraintId:
        """Keeps the length a . q + offset within limits, of discrete plants; see FixedTendon for all that tendons can.

        Args:
            joints: one to five, or their indices, with one velocity each.
            a: as many coefficients [m/rad or 1].
            offset, lower_limit, upper_limit, stiffness, damping: [m, N/m, N s/m]; one limit may be infinite.

        Raises:
            RuntimeError: as above; or the plant is continuous.
            ValueError: there are too many joints, or numbers are out of range.
        """
        count, limits = len(joints), [limit for limit in (lower_limit, upper_limit) if math.isfinite(limit)]
        if not 1 <= count == len(a) <= MOST_JOINTS or not (lower_limit <= upper_limit and limits):
            raise ValueError(
                f"AddTendonConstraint(): a tendon of plant '{self._model.path()}' has {count} joints, {len(a)} "
                f"coefficients and limits {lower_limit}, {upper_limit}; it may have up to {MOST_JOINTS} joints, a "
                "coefficient each, and limits in order, of which one is finite."
            )
        coefficients = (*a, 0.0) if len(a) == 1 else a  # of one joint, the second coordinate is the same
        constants = (offset, max(lower_limit, -NO_LIMIT), min(upper_limit, NO_LIMIT), *coefficients)
        each = (joint if isinstance(joint, Joint) else self._tree.get_joint(joint) for joint in joints)
        of_rows: dict[str, Any] = {"num_rows": len(limits), "stiffness": stiffness, "damping": damping, "lower": 0.0}
        return self.add_constraint(TENDON, *each, constants=constants, **of_rows)

    def add_constraint(
        self,
        kind: ConstraintKind,
        first: Joint | Frame,
        second: Joint | Frame | None = None,
        *more: Joint,
        constants: Sequence[float] = (),
        num_rows: int = 1,
        stiffness: float = math.inf,
        damping: float = 0.0,
        lower: float = -math.inf,
        upper: float = math.inf,
    ) -> MultibodyConstraintId:
        """Adds a constraint of a kind that a program brings; ../kernels/README.md says how to write one.

        Args:
            kind: the record of its functions.
            first, second: frames P and Q, the second by default the world's; or, for kinds that act on coordinates, one
                or two joints of one degree of freedom each.
            more: further joints, up to eight together; in discrete plants in the trees of bodies of the first two.
            constants: up to eight numbers for the kind.
            num_rows: how many rows it has, up to six.
            stiffness, damping: of a spring and damper in place of a rigid constraint [N/m, N s/m or as g is measured].
            lower, upper: bounds of what each row exerts, of discrete plants only [N or N m]. With g = 0 and bounds, a
                row is dry friction.

        Returns:
            The id of the constraint.

        Raises:
            TypeError: the kind is no ConstraintKind, or what it is between is of another type.
            ValueError: there are too many joints, constants or rows, or numbers are out of range or not finite.
            RuntimeError: as above; both frames are on one body; or the plant is continuous and there are bounds.
        """
        caller = "AddConstraint"
        constraint_number_of(kind)  # refuses other types
        of_type: Any = Joint if kind.acts_on_coordinates else Frame
        ends: dict[str, Any] = {"first": first, **({} if second is None else {"second": second})}
        ends |= {f"more[{k}]": joint for k, joint in enumerate(more)}
        most = MAX_COORDINATES if kind.acts_on_coordinates else 2
        if len(ends) > most:
            raise ValueError(
                f"{caller}(): a {kind.name} constraint of plant '{self._model.path()}' is given {len(ends)} "
                f"{'joints' if kind.acts_on_coordinates else 'frames'}; there may be up to {most}."
            )
        self._check_can_constrain(caller, kind.name, **{name: (end, of_type) for name, end in ends.items()})
        self._check_numbers(caller, kind.name, constants, num_rows, (stiffness, damping), (lower, upper))
        given: dict[str, Any] = {"constants": tuple(map(float, constants)), "num_rows": int(num_rows)}
        given |= {"spring": (float(stiffness), float(damping)), "bounds": (float(lower), float(upper))}
        if kind.acts_on_coordinates:
            self._check_single(caller, f"have a {kind.name} constraint", *ends.values())
            joints = tuple(joint.index() for joint in ends.values())
            return self._add_constraint(ConstraintOfKind(MultibodyConstraintId.get_new_id(), kind, joints, **given))
        frames: list[Any] = [first, self._tree.world_frame() if second is None else second]
        bodies = tuple(frame.body() for frame in frames)
        if bodies[0] is bodies[1]:
            raise RuntimeError(
                f"{caller}(): in plant '{self._model.path()}', both frames are on body '{bodies[0].name()}', but a "
                f"{kind.name} constraint must be between two distinct bodies."
            )
        given |= {"bodies": tuple(body.index() for body in bodies)}
        given |= {"frames": tuple(frame.GetFixedPoseInBodyFrame() for frame in frames)}
        return self._add_constraint(ConstraintOfKind(MultibodyConstraintId.get_new_id(), kind, **given))

    def _check_numbers(
        self,
        caller: str,
        kind: str,
        constants: Sequence[float],
        num_rows: int,
        spring: tuple[float, float],
        bounds: tuple[float, float],
    ) -> None:
        """Refuses numbers of a constraint that are out of range."""
        where = f"{caller}(): a {kind} constraint of plant '{self._model.path()}'"
        numbers = {f"constants[{k}]": float(number) for k, number in enumerate(constants)}
        self._check_finite(caller, **numbers, damping=spring[1])
        if len(numbers) > _MOST_CONSTANTS or not 1 <= num_rows <= _MOST_ROWS:
            raise ValueError(
                f"{where} has {len(numbers)} constants and {num_rows} rows; there may be up to {_MOST_CONSTANTS} "
                f"constants, and 1 to {_MOST_ROWS} rows."
            )
        if not (spring[0] > 0.0 and spring[1] >= 0.0 and bounds[0] < bounds[1]):
            raise ValueError(
                f"{where} has stiffness {spring[0]}, damping {spring[1]} and bounds {bounds}; the stiffness must be "
                "positive, the damping not negative, and lower < upper."
            )
        if not self._model.is_discrete and any(map(math.isfinite, bounds)):
            raise RuntimeError(
                f"{where} has bounds {bounds} of what it exerts, which only discrete plants keep, but the plant is "
                "continuous. Give it a time step."
            )

    def _check_single(self, caller: str, kind: str, *joints: Joint) -> None:
        """Refuses joints that have not exactly one degree of freedom each."""
        if all(joint.num_velocities() == 1 and not joint._closes_loop for joint in joints):
            return
        described = " and ".join(
            f"joint '{j.name()}' ({j.type_name()}) has {0 if j._closes_loop else j.num_velocities()}" for j in joints
        )
        raise RuntimeError(
            f"{caller}(): in plant '{self._model.path()}', {described} degrees of freedom, but only joints with "
            f"exactly one can {kind}."
        )

    def remove_constraint(self, id: MultibodyConstraintId) -> None:
        """Removes a constraint.

        Raises:
            RuntimeError: after Finalize(), or if the plant has no such constraint.
        """
        self._tree._check_not_finalized("RemoveConstraint")
        self._get_constraint("RemoveConstraint", id)
        self._tree.constraints.remove(id)

    def get_constraint_ids(self) -> list[MultibodyConstraintId]:
        """Returns the ids of all constraints: of couplers, distances, balls, then welds."""
        return [spec.id for spec in self._tree.constraints]

    def num_constraints(self) -> int:
        """Returns the number of constraints."""
        return len(self._tree.constraints)

    def num_coupler_constraints(self) -> int:
        """Returns the number of couplers between joints."""
        return self._count(CouplerConstraintSpec)

    def num_distance_constraints(self) -> int:
        """Returns the number of distance constraints."""
        return self._count(DistanceConstraintSpec)

    def num_ball_constraints(self) -> int:
        """Returns the number of ball constraints."""
        return self._count(BallConstraintSpec)

    def num_weld_constraints(self) -> int:
        """Returns the number of weld constraints."""
        return self._count(WeldConstraintSpec)

    def _count(self, kind: type) -> int:
        return sum(isinstance(spec, kind) for spec in self._tree.constraints)

    def _add_constraint(self, spec: ConstraintSpec) -> MultibodyConstraintId:
        self._tree.constraints.add(spec)
        return spec.id

    # ------------------------------------------------------------------ in a Context

    def get_constraint_active_status(self, context: Context, id: MultibodyConstraintId) -> bool:
        """Returns whether a constraint holds in a Context; by default it does.

        Raises:
            RuntimeError: before Finalize(), or if the plant has no such constraint.
        """
        caller = "GetConstraintActiveStatus"
        self._model.require_finalized(f"{caller}()")
        self._get_constraint(caller, id)
        return bool(self.read_parameter(context, self.status_parameter)[id])

    def set_constraint_active_status(self, context: Context, id: MultibodyConstraintId, status: bool) -> None:
        """Switches a constraint on or off in a Context.

        Raises:
            RuntimeError: before Finalize(), or if the plant has no such constraint.
        """
        caller = "SetConstraintActiveStatus"
        self._model.require_finalized(f"{caller}()")
        self._get_constraint(caller, id)
        self._change_parameter(context, self.status_parameter, id, bool(status))

    def get_default_distance_constraint_params(self) -> dict[MultibodyConstraintId, DistanceConstraintParams]:
        """Returns the parameters of all distance constraints as they were added."""
        specs = self._tree.constraints
        return {spec.id: spec.params for spec in specs if isinstance(spec, DistanceConstraintSpec)}

    @overload
    def get_distance_constraint_params(
        self, context: Context
    ) -> dict[MultibodyConstraintId, DistanceConstraintParams]: ...
    @overload
    def get_distance_constraint_params(
        self, context: Context, id: MultibodyConstraintId
    ) -> DistanceConstraintParams: ...
    def get_distance_constraint_params(self, context: Context, id: MultibodyConstraintId | None = None) -> Any:
        """Returns the parameters of one distance constraint in a Context, or of all by id.

        Raises:
            RuntimeError: before Finalize(), or if the plant has no such distance constraint.
        """
        caller = "GetDistanceConstraintParams"
        self._model.require_finalized(f"{caller}()")
        if id is not None:
            self._check_is_distance(caller, id)
        elif not self.has_any:
            return {}
        params = self.read_parameter(context, self.distance_parameter)
        return dict(params) if id is None else params[id]

    def set_distance_constraint_params(
        self, context: Context, id: MultibodyConstraintId, params: DistanceConstraintParams
    ) -> None:
        """Changes the parameters of a distance constraint in a Context, its bodies and points among them.

        Raises:
            RuntimeError: before Finalize(), if the plant has no such distance constraint, or no such bodies.
            TypeError: `params` is no DistanceConstraintParams.
        """
        caller = "SetDistanceConstraintParams"
        self._model.require_finalized(f"{caller}()")
        self._check_is_distance(caller, id)
        if not isinstance(params, DistanceConstraintParams):
            raise TypeError(f"{caller}() takes DistanceConstraintParams, not a {type(params).__name__}.")
        for name, index in (("A", params.bodyA()), ("B", params.bodyB())):
            if not 0 <= index < self._tree.num_bodies():
                raise RuntimeError(
                    f"{caller}(): the index {int(index)} of body {name} is none of the {self._tree.num_bodies()} "
                    f"bodies of plant '{self._model.path()}'."
                )
        self._change_parameter(context, self.distance_parameter, id, params)

    def read_parameter(self, context: Context, index: int) -> dict[MultibodyConstraintId, Any]:
        """The values by constraint of one of the two parameters."""
        self._system.ValidateContext(context)
        values: dict[MultibodyConstraintId, Any] = context.get_abstract_parameter(index).get_value()
        return values

    def _change_parameter(self, context: Context, index: int, id: MultibodyConstraintId, value: Any) -> None:
        values = self.read_parameter(context, index)
        context.get_mutable_abstract_parameter(index).set_value({**values, id: value})

    def active(self, context: Context) -> list[ConstraintSpec]:
        """Active constraints for a solver, with parameters as they are in the Context."""
        if not self.has_any:
            return []
        status = self.read_parameter(context, self.status_parameter)
        params = self.read_parameter(context, self.distance_parameter)
        return [
            dataclasses.replace(spec, params=params[spec.id]) if isinstance(spec, DistanceConstraintSpec) else spec
            for spec in self._tree.constraints
            if status[spec.id]
        ]

    def parameters_in(self, context: Context) -> tuple[Any, ...]:
        """The values on which rows in a Context depend; new objects whenever they have changed."""
        if not self.has_any:
            return ()
        return tuple(self.read_parameter(context, index) for index in (self.status_parameter, self.distance_parameter))

    def make_rows(self, context: Context) -> NDArray[Any]:
        """Rows of loop joints and of the constraints that are switched on, except between bodies that cannot move."""
        tree = self._tree
        rows = np.concatenate([tree.loop_rows, *(spec.rows(tree) for spec in self.active(context))])
        can_move = (self._model.moves(rows["mobod_A"])) | self._model.moves(rows["mobod_B"])
        chosen: NDArray[Any] = rows[can_move | (rows["acts_on_coordinates"] != 0)]
        return chosen

    # ------------------------------------------------------------------ finalizing and stepping

    def has_rows(self) -> bool:
        """Whether there are loop joints or constraints."""
        return bool(len(self._tree.loop_rows) or len(self._tree.constraints))

    def declare(self) -> None:
        """Declares parameters, if there are constraints, and completes these."""
        self.has_any = bool(len(self._tree.constraints))
        if not self.has_any:
            return
        for spec in self._tree.constraints:
            if isinstance(spec, ConstraintOfKind) and self._model.is_discrete:
                self._check_trees(spec)
        self.status_parameter = self._system.DeclareAbstractParameter(
            _ByConstraint(dict.fromkeys(self.get_constraint_ids(), True), self._tree.num_bodies())
        )
        self.distance_parameter = self._system.DeclareAbstractParameter(
            _ByConstraint(self.get_default_distance_constraint_params(), self._tree.num_bodies())
        )
        for spec in list(self._tree.constraints):
            if isinstance(spec, BallConstraintSpec) and spec.p_BQ is None:
                self._tree.constraints.add(dataclasses.replace(spec, p_BQ=self._default_p_BQ(spec)))

    def _default_p_BQ(self, spec: BallConstraintSpec) -> NDArray[np.float64]:
        """p_BQ = R_WB^T (p_WoAo_W + R_WA p_AP - p_WoBo_W) in the default configuration."""
        tree = self._tree
        position = np.zeros(len(tree.topology), layout.position_dtype(np.float64))
        parameters, q = tree.make_default_parameters(), tree.default_positions()
        kernels.position_kinematics.interpreted(tree.topology, parameters, q, position)
        A, B = (position[tree.mobod_of_body[body]] for body in (spec.body_A, spec.body_B))
        p_WQ_W = A["p_WoBo_W"] + A["R_WB"] @ spec.p_AP
        p_BQ: NDArray[np.float64] = B["R_WB"].T @ (p_WQ_W - B["p_WoBo_W"])
        return p_BQ

    def describe(self, spec: ConstraintSpec) -> str:
        """The kind of a constraint, and the names of its bodies or joints."""
        sort, indices = spec.between()
        find: Any = self._tree.get_joint if sort == "joints" else self._tree.get_body
        return f"{spec.name()} of {sort} {' and '.join(repr(find(index).name()) for index in indices)}"

    # ------------------------------------------------------------------ checks

    def _check_trees(self, spec: ConstraintOfKind) -> None:
        """Refuses further joints in other trees than the first two: a row of the contact problem has two trees."""
        of_velocity = self._model.contact.tree_of_velocity
        trees = [int(of_velocity[self._tree.get_joint(index).velocity_start()]) for index in spec.joints]
        strange = next((index for index, tree in zip(spec.joints, trees) if tree not in trees[:2]), None)
        if strange is not None:
            raise RuntimeError(
                f"Finalize(): the {self.describe(spec)} of plant '{self._model.path()}' has joint "
                f"'{self._tree.get_joint(strange).name()}', which no bodies connect to the first two but the world. "
                "Give first one joint of each tree of bodies; in discrete time there can be two."
            )

    def _check_can_constrain(self, caller: str, kind: str, **elements: tuple[Any, type]) -> None:
        self._tree._check_not_finalized(caller)
        for name, (given, element_class) in elements.items():
            if not isinstance(given, element_class):
                raise TypeError(
                    f"{caller}(): {name} must be a {element_class.__name__}, but is a {type(given).__name__}."
                )
            mine: Any = given
            self._tree._check_mine(caller, name, mine)
        self._settings.check_can_constrain(caller, f"{kind} constraints")

    def _check_two_bodies(self, caller: str, kind: str, body_A: RigidBody, body_B: RigidBody, parts: str) -> None:
        self._check_can_constrain(caller, kind, body_A=(body_A, RigidBody), body_B=(body_B, RigidBody))
        if body_A is body_B:
            raise RuntimeError(
                f"{caller}(): in plant '{self._model.path()}', both bodies are '{body_A.name()}', but {parts} of "
                f"a {kind} constraint must be on two distinct bodies: body_A != body_B."
            )

    def _check_finite(self, caller: str, **numbers: float) -> None:
        for name, number in numbers.items():
            if not math.isfinite(number):
                raise ValueError(f"{caller}(): {name} must be finite, but is {number}.")

    def _get_constraint(self, caller: str, id: MultibodyConstraintId) -> ConstraintSpec:
        spec = self._tree.constraints.get(id)
        if spec is None:
            raise RuntimeError(
                f"{caller}(): the constraint id {id!r} does not match any of the {self.num_constraints()} constraints "
                f"of plant '{self._model.path()}'."
            )
        return spec

    def _check_is_distance(self, caller: str, id: MultibodyConstraintId) -> None:
        if not isinstance(self._tree.constraints.get(id), DistanceConstraintSpec):
            raise RuntimeError(
                f"{caller}(): the constraint id {id!r} does not match any distance constraint of plant "
                f"'{self._model.path()}'."
            )


def _finite_point(caller: str, name: str, values: ArrayLike) -> NDArray[np.float64]:
    point: NDArray[np.float64] = as_vector(values, 3, f"{caller}(): {name}")
    if not np.isfinite(point).all():
        raise ValueError(f"{caller}(): {name} must be finite, but is {point.tolist()}.")
    return point


class ConstraintRows:
    """The rows of loop joints and of the constraints that are switched on in a Context, see ../kernels/constraints.

    Args:
        constraints: of the plant.

    Attributes:
        rows: as last read; another array whenever they have changed.
    """

    def __init__(self, constraints: Constraints) -> None:
        self._constraints = constraints
        self._source: tuple[Any, ...] | None = None
        self.rows: NDArray[Any] = np.zeros(0, constraint_row_dtype)

    def read(self, context: Context) -> NDArray[Any]:
        """Returns the current rows; none between two bodies that cannot move."""
        source = self._constraints.parameters_in(context)
        if self._source is None or any(a is not b for a, b in zip(self._source, source)):
            self.rows, self._source = self._constraints.make_rows(context), source
        return self.rows
