"""Specifications of constraints: indices of joints or bodies, and numbers; and their rows."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from merganser.framework.math import RigidTransform
from merganser.geometry.registration.ids import _Identifier
from merganser.multibody.kernels.constraints import ConstraintKind, constraint_row_dtype, set_constraint_kind
from merganser.multibody.kernels.constraints.coupler import KIND as COUPLER
from merganser.multibody.kernels.constraints.distance import KIND as DISTANCE
from merganser.multibody.kernels.constraints.point import KIND as POINT
from merganser.multibody.kernels.constraints.rotation import KIND as ROTATION
from merganser.multibody.tree.constraints.distance_constraint_params import DistanceConstraintParams
from merganser.multibody.tree.indices import BodyIndex, JointIndex

DEFAULT_STABILIZATION_TIME = 0.1  # [s]


def make_rows(
    kind: ConstraintKind,
    num_rows: int,
    *,
    mobods: Sequence[int] | npt.NDArray[Any] = (0, 0),
    frames: Sequence[RigidTransform] = (),
    joints: Sequence[Any] = (),
    constants: Sequence[float] = (),
    spring: tuple[float, float] = (math.inf, 0.0),
    bounds: tuple[float, float] = (-math.inf, math.inf),
) -> npt.NDArray[Any]:
    """Returns the rows of one constraint, stabilized in continuous time with DEFAULT_STABILIZATION_TIME.

    Args:
        kind: what they hold.
        num_rows: how many there are.
        mobods: of A and B.
        frames: X_AP and X_BQ; by default those of the bodies.
        joints: whose coordinates rows between coordinates are about, up to MAX_COORDINATES; one is used for both.
        constants: up to eight numbers of the kind.
        spring: stiffness, infinite for a rigid constraint, and damping.
        bounds: of what each row exerts [N or N m].
    """
    rows = np.zeros(num_rows, constraint_row_dtype)
    for index, row in enumerate(rows):
        set_constraint_kind(row, kind)
        row["index"] = index
    rows["num_rows"], rows["joint"], rows["acts_on_coordinates"] = num_rows, -1, kind.acts_on_coordinates
    rows["mobod_A"], rows["mobod_B"] = mobods
    both = tuple(frames) or (RigidTransform(), RigidTransform())
    rows["X_AP"], rows["X_BQ"] = (X.GetAsMatrix34() for X in both)
    for number, joint in enumerate((*joints, *joints)[:2]):
        rows[f"q_{number}"], rows[f"v_{number}"] = joint.position_start(), joint.velocity_start()
    rows["num_more"] = max(0, len(joints) - 2)
    for number, joint in enumerate(joints[2:]):
        rows["more_q"][:, number], rows["more_v"][:, number] = joint.position_start(), joint.velocity_start()
    rows["constants"][:, : len(constants)] = constants
    rows["lower"], rows["upper"] = bounds
    if math.isfinite(spring[0]):
        rows["is_compliant"], rows["stiffness"], rows["damping"] = 1, *spring
    else:
        stabilize(rows, DEFAULT_STABILIZATION_TIME)
    return rows


def stabilize(rows: npt.NDArray[Any], time: float | None) -> None:
    """Sets T of gddot = -2/T gdot - 1/T^2 g [s], or None for gddot = 0."""
    rows["stiffness"], rows["damping"] = (0.0, 0.0) if time is None else (1.0 / time**2, 2.0 / time)


class MultibodyConstraintId(_Identifier):
    """Names a constraint of a plant; one and the same in copies of the plant and plants of other scalar types."""

    __slots__ = ()


Vector = npt.NDArray[np.float64]
Rows = npt.NDArray[Any]


@dataclass(frozen=True, eq=False)
class ConstraintSpec:
    """Base of all constraints."""

    id: MultibodyConstraintId

    def rows(self, tree: Any) -> Rows:
        """Returns the rows of the constraint, as records of kernels/constraints/records.py.

        Args:
            tree: finalized.
        """
        raise NotImplementedError

    def between(self) -> tuple[str, tuple[int, ...]]:
        """Returns "bodies" or "joints", and the indices of those that it holds together."""
        raise NotImplementedError

    def name(self) -> str:
        """Returns what it is called in messages."""
        return f"{type(self).__name__.removesuffix('ConstraintSpec').lower()} constraint"


@dataclass(frozen=True, eq=False)
class CouplerConstraintSpec(ConstraintSpec):
    """Two joints of one velocity each with q0 = gear_ratio q1 + offset.

    Attributes:
        gear_ratio: [unit of q0 over unit of q1].
        offset: [unit of q0].
    """

    joint0: JointIndex
    joint1: JointIndex
    gear_ratio: float
    offset: float

    def rows(self, tree: Any) -> Rows:
        """One row between coordinates."""
        joints = [tree.get_joint(joint) for joint in (self.joint0, self.joint1)]
        return make_rows(COUPLER, 1, joints=joints, constants=(self.gear_ratio, self.offset))

    def between(self) -> tuple[str, tuple[int, ...]]:
        """Both joints."""
        return "joints", (self.joint0, self.joint1)

    def name(self) -> str:
        """A coupler."""
        return "coupler"


@dataclass(frozen=True, eq=False)
class DistanceConstraintSpec(ConstraintSpec):
    """A rod between points of two bodies; by default, for a Context may have other parameters."""

    params: DistanceConstraintParams

    def rows(self, tree: Any) -> Rows:
        """One row between bodies."""
        params, of_body = self.params, tree.mobod_of_body
        return make_rows(
            DISTANCE, 1, mobods=(of_body[params.bodyA()], of_body[params.bodyB()]),
            frames=(RigidTransform(params.p_AP()), RigidTransform(params.p_BQ())), constants=(params.distance(),),
            spring=(params.stiffness(), params.damping()),
        )  # fmt: skip

    def between(self) -> tuple[str, tuple[int, ...]]:
        """Both bodies."""
        return "bodies", (self.params.bodyA(), self.params.bodyB())


@dataclass(frozen=True, eq=False)
class BallConstraintSpec(ConstraintSpec):
    """A point P of body A that coincides with a point Q of body B.

    Attributes:
        p_AP: P in A [m], shape [3].
        p_BQ: Q in B [m], shape [3]; until Finalize() None for: where P is in the default configuration.
    """

    body_A: BodyIndex
    p_AP: Vector
    body_B: BodyIndex
    p_BQ: Vector | None

    def rows(self, tree: Any) -> Rows:
        """Three rows between bodies."""
        assert self.p_BQ is not None  # since Finalize()
        mobods = tree.mobod_of_body[[int(self.body_A), int(self.body_B)]]
        return make_rows(POINT, 3, mobods=mobods, frames=(RigidTransform(self.p_AP), RigidTransform(self.p_BQ)))

    def between(self) -> tuple[str, tuple[int, ...]]:
        """Both bodies."""
        return "bodies", (self.body_A, self.body_B)


@dataclass(frozen=True, eq=False)
class WeldConstraintSpec(ConstraintSpec):
    """A frame P of body A that coincides with a frame Q of body B."""

    body_A: BodyIndex
    X_AP: RigidTransform
    body_B: BodyIndex
    X_BQ: RigidTransform

    def rows(self, tree: Any) -> Rows:
        """Three rows of rotation, then three of translation."""
        mobods, frames = tree.mobod_of_body[[int(self.body_A), int(self.body_B)]], (self.X_AP, self.X_BQ)
        turns = make_rows(ROTATION, 6, mobods=mobods, frames=frames)[:3]
        return np.concatenate([turns, make_rows(POINT, 6, mobods=mobods, frames=frames, constants=(1.0,))[3:]])

    def between(self) -> tuple[str, tuple[int, ...]]:
        """Both bodies."""
        return "bodies", (self.body_A, self.body_B)


@dataclass(frozen=True, eq=False)
class ConstraintOfKind(ConstraintSpec):
    """A constraint of a kind that a program brings.

    Attributes:
        kind: what it holds.
        joints: one or two, if it is between coordinates, else none.
        bodies: A and B, if it is between bodies, else none.
        frames: P and Q in these.
        constants: up to eight numbers.
        num_rows: how many rows.
        spring: stiffness, infinite for a rigid constraint, and damping.
        bounds: of what each row exerts [N or N m].
    """

    kind: ConstraintKind
    joints: tuple[JointIndex, ...] = ()
    bodies: tuple[BodyIndex, ...] = ()
    frames: tuple[RigidTransform, ...] = ()
    constants: tuple[float, ...] = ()
    num_rows: int = 1
    spring: tuple[float, float] = (math.inf, 0.0)
    bounds: tuple[float, float] = (-math.inf, math.inf)

    def rows(self, tree: Any) -> Rows:
        """As many as it has."""
        return make_rows(
            self.kind, self.num_rows, mobods=[tree.mobod_of_body[body] for body in self.bodies] or (0, 0),
            frames=self.frames, joints=[tree.get_joint(joint) for joint in self.joints], constants=self.constants,
            spring=self.spring, bounds=self.bounds,
        )  # fmt: skip

    def between(self) -> tuple[str, tuple[int, ...]]:
        """Joints or bodies."""
        return ("joints", self.joints) if self.joints else ("bodies", self.bodies)

    def name(self) -> str:
        """The kind."""
        return f"{self.kind.name} constraint"
