"""Constraints between joints and bodies: what they constrain, as data from which rows are made; and all of a plant."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
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
from merganser.multibody.math.spatial_vector import as_vector
from merganser.multibody.tree.indices import BodyIndex, JointIndex

Vector = npt.NDArray[np.float64]


class DistanceConstraintParams:
    """A rod between a point P of body A and a point Q of body B, rigid or as a spring and damper.

        f = -stiffness (d(q) - distance) - damping ddot,   d = |p_PQ|

    The object does not change. Without arguments it is a placeholder that no plant accepts.

    Args:
        bodyA: index of body A.
        p_AP: P in A [m], shape [3].
        bodyB: index of body B.
        p_BQ: Q in B [m], shape [3].
        distance: free length, positive [m].
        stiffness: positive, infinite for a rigid rod [N/m].
        damping: not negative [N s/m].

    Raises:
        RuntimeError: an index is invalid, the two are equal, or a number is out of range.
        ValueError: a point has not three numbers, or they are not finite.
    """

    __slots__ = ("_bodyA", "_bodyB", "_damping", "_distance", "_p_AP", "_p_BQ", "_stiffness")

    def __init__(
        self,
        bodyA: int | None = None,
        p_AP: npt.ArrayLike | None = None,
        bodyB: int | None = None,
        p_BQ: npt.ArrayLike | None = None,
        distance: float | None = None,
        stiffness: float | None = None,
        damping: float | None = None,
    ) -> None:
        given = (bodyA, p_AP, bodyB, p_BQ, distance, stiffness, damping)
        if all(argument is None for argument in given):
            self._bodyA = self._bodyB = BodyIndex()
            self._p_AP, self._p_BQ = _point([0.0, 0.0, 0.0], "p_AP"), _point([0.0, 0.0, 0.0], "p_BQ")
            self._distance = self._stiffness = self._damping = 0.0
            return
        if bodyA is None or p_AP is None or bodyB is None or p_BQ is None:
            raise TypeError("DistanceConstraintParams() takes all of its seven arguments, or none.")
        if distance is None or stiffness is None or damping is None:
            raise TypeError("DistanceConstraintParams() takes all of its seven arguments, or none.")
        self._bodyA, self._bodyB = BodyIndex(bodyA), BodyIndex(bodyB)
        self._p_AP, self._p_BQ = _point(p_AP, "p_AP"), _point(p_BQ, "p_BQ")
        self._distance, self._stiffness, self._damping = float(distance), float(stiffness), float(damping)
        self._check()

    def _check(self) -> None:
        for body, index in (("A", self._bodyA), ("B", self._bodyB)):
            if not index.is_valid():
                raise RuntimeError(f"DistanceConstraintParams: the index {int(index)} of body {body} is invalid.")
        if self._bodyA == self._bodyB:
            raise RuntimeError(
                f"DistanceConstraintParams: bodies A and B are the same, body {int(self._bodyA)}; points of one body "
                "keep their distance anyway."
            )
        if not (self._distance > 0.0 and math.isfinite(self._distance)):
            raise RuntimeError(f"DistanceConstraintParams: the distance must be positive, but is {self._distance}.")
        if not self._stiffness > 0.0:
            raise RuntimeError(
                f"DistanceConstraintParams: the stiffness must be positive (infinite for a rigid rod), but is "
                f"{self._stiffness}."
            )
        if not (self._damping >= 0.0 and math.isfinite(self._damping)):
            raise RuntimeError(
                f"DistanceConstraintParams: the damping must be positive or zero, but is {self._damping}."
            )

    def bodyA(self) -> BodyIndex:
        """Returns the index of body A."""
        return self._bodyA

    def bodyB(self) -> BodyIndex:
        """Returns the index of body B."""
        return self._bodyB

    def p_AP(self) -> Vector:
        """Returns the point P in A [m], shape [3], read-only."""
        return self._p_AP

    def p_BQ(self) -> Vector:
        """Returns the point Q in B [m], shape [3], read-only."""
        return self._p_BQ

    def distance(self) -> float:
        """Returns the free length [m]."""
        return self._distance

    def stiffness(self) -> float:
        """Returns the stiffness [N/m], infinite for a rigid rod."""
        return self._stiffness

    def damping(self) -> float:
        """Returns the damping [N s/m]."""
        return self._damping

    def __copy__(self) -> DistanceConstraintParams:
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> DistanceConstraintParams:
        return self

    def __repr__(self) -> str:
        return (
            f"DistanceConstraintParams(bodyA={self._bodyA!r}, p_AP={self._p_AP.tolist()}, bodyB={self._bodyB!r}, "
            f"p_BQ={self._p_BQ.tolist()}, distance={self._distance}, stiffness={self._stiffness}, "
            f"damping={self._damping})"
        )


def _point(values: npt.ArrayLike, name: str) -> Vector:
    point: Vector = as_vector(values, 3, f"DistanceConstraintParams: {name}")
    if not np.isfinite(point).all():
        raise ValueError(f"DistanceConstraintParams: {name} must be finite, but is {point.tolist()}.")
    point.setflags(write=False)
    return point


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


_TYPES = (
    CouplerConstraintSpec, DistanceConstraintSpec, BallConstraintSpec, WeldConstraintSpec, ConstraintOfKind
)  # fmt: skip


class ConstraintCollection:
    """Constraints by id; iteration takes couplers, distances, balls, welds, then others, of each the older first."""

    def __init__(self) -> None:
        self._specs: dict[MultibodyConstraintId, ConstraintSpec] = {}

    def __len__(self) -> int:
        return len(self._specs)

    def __iter__(self) -> Iterator[ConstraintSpec]:
        return (spec for of_type in _TYPES for spec in self._specs.values() if isinstance(spec, of_type))

    def __contains__(self, id: object) -> bool:
        return id in self._specs

    def add(self, spec: ConstraintSpec) -> None:
        """Adds a constraint, or puts it in the place of the one with its id."""
        self._specs[spec.id] = spec

    def remove(self, id: MultibodyConstraintId) -> None:
        """Forgets a constraint, which must be there."""
        del self._specs[id]

    def forget_from(self, count: int) -> None:
        """Forgets all constraints but the oldest ones, of which there are `count`."""
        for id in list(self._specs)[count:]:
            del self._specs[id]

    def get(self, id: MultibodyConstraintId) -> ConstraintSpec | None:
        """Returns the constraint of this id, None if unknown."""
        return self._specs.get(id)
