"""Poses of bodies as multilinear polynomials, and as rational functions of s = tan((q - q*) / 2).

First poses along a path of joints, as sums of products with one factor for each joint, in numbers.
Notation: F and M are the frames of a joint on its parent P and its child C; a is its axis, q* its nominal position.

    R_FM = a a' + cos(q) (1 - a a') + sin(q) [a]x                       a revolute joint turns         (1)
    cos(q) = cos(q*) cos(d) - sin(q*) sin(d),  sin(q) = sin(q*) cos(d) + cos(q*) sin(d),  d = q - q*   (2)
    p_FM = a (q* + s),  s = q - q*                                      a prismatic joint slides       (3)
    X_PC = X_PF X_FM X_CM^-1                                                                           (4)
    cos(d) = (1 - s^2) / (1 + s^2),  sin(d) = 2 s / (1 + s^2),  s = tan(d / 2)                         (5)

A pose is {factors: matrix, shape [4, 4]}, whose homogeneous matrix is the sum of all matrix * product of factors;
factors is a tuple of (place in s, kind), in the order of the path.

Source: Amice, Dai, Werner, Zhang and Tedrake, Finding and optimizing certified, collision-free regions in configuration
space for robot manipulators, 2022, section III.
"""

from __future__ import annotations

import copy
import functools
import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple, cast

import numpy as np
import numpy.typing as npt
from numpy.typing import NDArray

from merganser.framework.core.scalars.templates import ClassTemplate
from merganser.framework.math import atan2, tan
from merganser.multibody.plant import MultibodyPlant
from merganser.multibody.tree import BodyIndex
from merganser.multibody.tree import Joint as PlantJoint

if TYPE_CHECKING:
    from merganser.framework import symbolic
    from merganser.framework.symbolic import Monomial, RationalFunction

Array = NDArray[np.float64]
Objects = npt.NDArray[np.object_]
Factors = tuple[tuple[int, str], ...]
MultilinearPose = dict[Factors, Array]
Powers = tuple[tuple[int, int], ...]  # (place in s, power), places in order

COS, SIN, SHIFT = "cos", "sin", "shift"
_LEAST_ENTRY = 1e-14  # entries of rotations, and of positions in meters, are not smaller but by rounding


class Joint(NamedTuple):
    """The data of a joint in (1) to (4).

    Attributes:
        X_PF: pose of F in the body P that is nearer to the world, shape [4, 4].
        X_MC: pose of C in M, shape [4, 4].
        axis: a, shape [3]; None of a weld.
        turns: whether it is revolute.
        backward: whether P has the frame M of the joint, and C its frame F; the two are exchanged here.
        s_index: its place in s; -1 of a weld.
        q_index: its place in q; -1 of a weld.
    """

    X_PF: Array
    X_MC: Array
    axis: Array | None
    turns: bool
    backward: bool
    s_index: int
    q_index: int


def across(joint: Joint, q_star: float, outward: bool) -> MultilinearPose:
    """X_PC, or X_CP if not `outward`, by (4).

    Args:
        joint: between P and C.
        q_star: nominal position of the joint [rad or m].
        outward: from P to C.
    """
    X_FM = _motion(joint, q_star, joint.backward == outward)
    if outward:
        return {factors: joint.X_PF @ M @ joint.X_MC for factors, M in X_FM.items()}
    X_CM, X_FP = np.linalg.inv(joint.X_MC), np.linalg.inv(joint.X_PF)
    return {factors: X_CM @ M @ X_FP for factors, M in X_FM.items()}


def _motion(joint: Joint, q_star: float, inverse: bool) -> MultilinearPose:
    """X_FM by (1) to (3), or its inverse, which is that for -a and the same q."""
    if joint.axis is None:
        return {(): np.eye(4)}
    axis = -joint.axis if inverse else joint.axis
    fixed = np.eye(4)
    if not joint.turns:
        slide = np.zeros((4, 4))
        slide[:3, 3] = axis
        fixed[:3, 3] = axis * q_star
        return {(): fixed, ((joint.s_index, SHIFT),): slide}
    along = np.outer(axis, axis)
    fixed[:3, :3] = along
    cross = np.cross(np.eye(3), axis)  # [a]x
    c, s = np.cos(q_star), np.sin(q_star)
    cosine, sine = np.zeros((4, 4)), np.zeros((4, 4))
    cosine[:3, :3] = c * (np.eye(3) - along) + s * cross
    sine[:3, :3] = c * cross - s * (np.eye(3) - along)
    return {(): fixed, ((joint.s_index, COS),): cosine, ((joint.s_index, SIN),): sine}


def compose(X_AB: MultilinearPose, X_BC: MultilinearPose) -> MultilinearPose:
    """X_AC = X_AB X_BC, of paths that have no joint in common."""
    return {first + then: A @ B for first, A in X_AB.items() for then, B in X_BC.items()}


def clean(pose: MultilinearPose) -> MultilinearPose:
    """The pose with entries that only rounding has left set to 0, and without factors of nothing."""
    rounded = {factors: np.where(np.abs(M) < _LEAST_ENTRY, 0.0, M) for factors, M in pose.items()}
    return {factors: M for factors, M in rounded.items() if M.any()}


_IN_S = {  # by (5), times 1 + s^2: {power: coefficient}
    COS: {0: 1.0, 2: -1.0},
    SIN: {1: 2.0},
    SHIFT: {1: 1.0},
}


def numerator(pose: MultilinearPose, turning: list[int]) -> dict[Powers, Array]:
    """The homogeneous matrix times the common denominator, as a polynomial in s, by (5).

    Args:
        pose: the pose.
        turning: places in s of the revolute joints of the path; the denominator is the product of their 1 + s_i^2.

    Returns:
        {powers of s: coefficient, shape [4, 4]}. Entry [3, 3] is the denominator itself.
    """
    result: dict[Powers, Array] = {}
    for factors, M in pose.items():
        kinds = dict(factors)
        partial: dict[Powers, float] = {(): 1.0}
        for i in sorted({*turning, *kinds}):
            choices = _IN_S[kinds[i]] if i in kinds else {0: 1.0, 2: 1.0}
            partial = {
                powers + (((i, power),) if power else ()): value * coefficient
                for powers, value in partial.items()
                for power, coefficient in choices.items()
            }
        for powers, value in partial.items():
            result[powers] = result.get(powers, 0.0) + value * M
    return result


# ---------------------------------------------------------------------- poses of bodies


class RationalForwardKinematics:
    """Kinematics of a plant in variables s, of which poses are rational functions.

    s_i is q_j - q*_j of a prismatic joint, and tan((q_j - q*_j) / 2) of a revolute one. The order of s is that of the
    bodies that the joints carry, which may be another one than that of q.

    Args:
        plant: finalized, with weld, revolute and prismatic joints only.

    Raises:
        RuntimeError: the plant is not finalized, or has a joint of another kind.

    Source: Amice, Dai, Werner, Zhang and Tedrake 2022, section III.
    """

    def __init__(self, plant: MultibodyPlant) -> None:
        if not plant.is_finalized():
            raise RuntimeError("RationalForwardKinematics: the plant is not finalized. Call plant.Finalize() first.")
        self._plant = plant
        self._parents, carriers = _inboard(plant)
        self._joints: dict[int, Joint] = {}  # by the body that the joint carries
        self._q_index: list[int] = []
        self._turns: list[bool] = []
        for body in sorted(carriers):
            joint = _description(carriers[body], body, len(self._q_index))
            self._joints[body] = joint
            if joint.axis is not None:
                self._q_index.append(joint.q_index)
                self._turns.append(joint.turns)

    def plant(self) -> MultibodyPlant:
        """The plant."""
        return self._plant

    @functools.cached_property
    def _s(self) -> list[Any]:
        return _variables("s", range(len(self._q_index)))

    @functools.cached_property
    def _factors(self) -> dict[tuple[int, str], Any]:
        """The variable for each factor of a multilinear polynomial."""
        turning = [i for i, turns in enumerate(self._turns) if turns]
        angles = range(len(turning))
        factors = dict(zip(((i, COS) for i in turning), _variables("cos_delta", angles)))
        factors |= zip(((i, SIN) for i in turning), _variables("sin_delta", angles))
        return factors | {(i, SHIFT): self._s[i] for i, turns in enumerate(self._turns) if not turns}

    def s(self) -> Objects:
        """The variables s, shape [num_positions]."""
        return np.array(self._s, dtype=object)

    # -- poses --------------------------------------------------------------------------------------------------------

    def CalcBodyPoseAsMultilinearPolynomial(
        self, q_star: npt.ArrayLike, body_index: BodyIndex, expressed_body_index: BodyIndex
    ) -> RationalForwardKinematicsPose:
        """The pose X_AB of a body B in the frame of a body A, in cos(q - q*), sin(q - q*) and q - q*.

        Args:
            q_star: nominal positions q*, shape [num_positions].
            body_index: B.
            expressed_body_index: A.

        Returns:
            X_AB, whose entries are polynomials of degree 1 at most in each indeterminate; for each angle there are
            two, `cos_delta` and `sin_delta`, and for each slide s.

        Raises:
            ValueError: q* has another size.
            IndexError: there is no such body.
        """
        from merganser.framework.symbolic import Monomial, Polynomial

        pose = self.CalcMultilinearPose(q_star, body_index, expressed_body_index)
        monomials: list[Monomial] = [Monomial({self._factors[each]: 1 for each in factors}) for factors in pose]
        X_AB = np.empty((3, 4), dtype=object)
        for row, column in np.ndindex(3, 4):
            coefficients = (M[row, column] for M in pose.values())
            X_AB[row, column] = Polynomial({m: float(c) for m, c in zip(monomials, coefficients) if c})
        return make_pose(RationalForwardKinematicsPose, X_AB[:, :3], X_AB[:, 3])

    def CalcMultilinearPose(
        self, q_star: npt.ArrayLike, body_index: BodyIndex, expressed_body_index: BodyIndex
    ) -> MultilinearPose:
        """The same in numbers: {factors: matrix, shape [4, 4]}, see above.

        An addition to pydrake's names.
        """
        nominal = self._positions(q_star, "CalcBodyPoseAsMultilinearPolynomial", "q_star")
        pose: MultilinearPose = {(): np.eye(4)}
        for body, outward in self._path(expressed_body_index, body_index):
            joint = self._joints[body]
            q = 0.0 if joint.axis is None else float(nominal[joint.q_index])
            pose = compose(pose, across(joint, q, outward))
        return clean(pose)

    def GetJointsOnPath(self, start: BodyIndex, end: BodyIndex) -> tuple[list[int], list[int]]:
        """Places in s of the joints between two bodies: of all, and of the revolute ones. An addition."""
        places = [self._joints[body].s_index for body, _ in self._path(start, end)]
        moving = [i for i in places if i >= 0]
        return moving, [i for i in moving if self._turns[i]]

    def GetBodiesOnPath(self, start: BodyIndex, end: BodyIndex) -> list[int]:
        """Indices of the bodies from one to another, both included. An addition to pydrake's names."""
        bodies = [int(start)]
        for body, outward in self._path(start, end):
            bodies.append(body if outward else self._parents[body])
        return bodies

    def _path(self, start: BodyIndex, end: BodyIndex) -> list[tuple[int, bool]]:
        """The bodies whose inboard joints lie between two bodies, and whether each is crossed outward."""
        up, down = self._way_to_world(start), self._way_to_world(end)
        while up and down and up[-1] == down[-1]:
            up.pop()
            down.pop()
        return [(body, False) for body in up] + [(body, True) for body in reversed(down)]

    def _way_to_world(self, body: BodyIndex) -> list[int]:
        index, way = int(body), []
        if not 0 <= index < self._plant.num_bodies():
            raise IndexError(
                f"RationalForwardKinematics: there is no body {index}; the plant has bodies 0 to "
                f"{self._plant.num_bodies() - 1}."
            )
        while index:
            way.append(index)
            index = self._parents[index]
        return way

    def ConvertMultilinearPolynomialToRationalFunction(self, e: symbolic.Polynomial) -> RationalFunction:
        """A polynomial in `cos_delta` and `sin_delta` as a rational function of s.

        Args:
            e: such as an entry of a pose, or sums and products of them.

        Returns:
            cos = (1 - s^2) / (1 + s^2) and sin = 2 s / (1 + s^2), over the common denominator.
        """
        from merganser.framework.symbolic import (
            Polynomial,
            RationalFunction,
            SinCos,
            SubstituteStereographicProjection,
            Variables,
        )

        turning = [i for i, turns in enumerate(self._turns) if turns]
        used = [i for i in turning if any(e.Degree(self._factors[i, kind]) for kind in (COS, SIN))]
        pairs = [SinCos(s=self._factors[i, SIN], c=self._factors[i, COS]) for i in used]
        if not pairs:
            return RationalFunction(e)
        f = SubstituteStereographicProjection(e, pairs, [self._s[i] for i in used])
        nothing = Polynomial(0.0, Variables(self._s))
        return RationalFunction(f.numerator() + nothing, f.denominator() + nothing)

    # -- values -------------------------------------------------------------------------------------------------------

    def ComputeSValue(
        self, q_val: npt.ArrayLike, q_star_val: npt.ArrayLike, angles_wrap_to_inf: bool = False
    ) -> npt.NDArray[Any]:
        """The values of s for positions q.

        Args:
            q_val: q, shape [num_positions]; floats, AutoDiffXd or Expression.
            q_star_val: q*, shape [num_positions].
            angles_wrap_to_inf: s of an angle that is pi or more away from q* is infinite; floats only.

        Returns:
            Shape [num_positions].

        Raises:
            ValueError: an argument has another size.
        """

        def angle(q: Any, q_star: float) -> Any:
            if angles_wrap_to_inf and isinstance(q, float) and abs(q - q_star) >= math.pi:
                return math.copysign(math.inf, q - q_star)
            return tan((q - q_star) / 2.0)

        q, q_star = self._positions(q_val, "ComputeSValue", "q_val"), self._positions(q_star_val, "ComputeSValue", "q*")
        return _same_kind(q, [self._value(i, q[j], q_star[j], angle, -1.0) for i, j in enumerate(self._q_index)])

    def ComputeQValue(self, s_val: npt.ArrayLike, q_star_val: npt.ArrayLike) -> npt.NDArray[Any]:
        """The positions q for values of s: q* + s, or q* + atan2(2 s, 1 - s^2), which is within pi of q*.

        Args:
            s_val: s, shape [num_positions]; floats, AutoDiffXd or Expression.
            q_star_val: q*, shape [num_positions].

        Returns:
            q, shape [num_positions].

        Raises:
            ValueError: an argument has another size.
        """

        def angle(s: Any, q_star: float) -> Any:
            return q_star + atan2(2.0 * s, 1.0 - s * s)

        s, q_star = self._positions(s_val, "ComputeQValue", "s_val"), self._positions(q_star_val, "ComputeQValue", "q*")
        q: list[Any] = [None] * len(self._q_index)
        for i, j in enumerate(self._q_index):
            q[j] = self._value(i, s[i], q_star[j], angle, 1.0)
        return _same_kind(s, q)

    def _value(self, i: int, given: Any, q_star: float, angle: Callable[[Any, float], Any], sign: float) -> Any:
        return angle(given, q_star) if self._turns[i] else given + sign * q_star

    def _positions(self, given: npt.ArrayLike, where: str, name: str) -> npt.NDArray[Any]:
        values = np.asarray(given)
        values = values if values.dtype == object else values.astype(np.float64)
        if values.size != len(self._q_index):
            raise ValueError(
                f"RationalForwardKinematics.{where}: {name} has {values.size} entries; the plant has "
                f"{len(self._q_index)} positions."
            )
        return values.reshape(-1)


def _variables(name: str, places: Any) -> list[Any]:
    from merganser.framework.symbolic import Variable

    return [Variable(f"{name}[{i}]") for i in places]


def _same_kind(given: npt.NDArray[Any], values: list[Any]) -> npt.NDArray[Any]:
    return np.array(values, dtype=object if given.dtype == object else np.float64)


def _inboard(plant: MultibodyPlant) -> tuple[dict[int, int], dict[int, PlantJoint]]:
    """For each body but the world, the next body on the way to the world, and the joint in between."""
    neighbours: dict[int, list[tuple[int, PlantJoint]]] = {}
    for index in plant.GetJointIndices():
        joint = plant.get_joint(index)
        parent, child = int(joint.parent_body().index()), int(joint.child_body().index())
        neighbours.setdefault(parent, []).append((child, joint))
        neighbours.setdefault(child, []).append((parent, joint))
    parents: dict[int, int] = {0: 0}
    carriers: dict[int, PlantJoint] = {}
    waiting = [0]
    while waiting:
        body = waiting.pop(0)
        for other, joint in neighbours.get(body, []):
            if other not in parents:
                parents[other], carriers[other] = body, joint
                waiting.append(other)
    return parents, carriers


def _description(joint: PlantJoint, body: int, s_index: int) -> Joint:
    """A joint that carries a body."""
    kind = joint.type_name()
    if kind not in ("weld", "revolute", "prismatic"):
        raise RuntimeError(
            f"RationalForwardKinematics: joint '{joint.name()}' is of type {kind}. Poses are rational functions of "
            "weld, revolute and prismatic joints only; replace the joint, or weld its body."
        )
    backward = int(joint.parent_body().index()) == body
    X_PF = joint.frame_on_parent().GetFixedPoseInBodyFrame().GetAsMatrix4()
    X_CM = joint.frame_on_child().GetFixedPoseInBodyFrame().GetAsMatrix4()
    inner, outer = (X_CM, X_PF) if backward else (X_PF, X_CM)
    moving, axis = cast(Any, joint), None
    if kind != "weld":
        axis = moving.revolute_axis() if kind == "revolute" else moving.translation_axis()
    places = (-1, -1) if kind == "weld" else (s_index, int(joint.position_start()))
    return Joint(inner, np.linalg.inv(outer), axis, kind == "revolute", backward, *places)


class RationalForwardKinematicsPose:
    """The pose X_AB of a body, whose entries are of type Polynomial; `RationalForwardKinematics` makes it."""

    _rotation: Objects
    _position: Objects

    def __init__(self) -> None:
        raise TypeError(
            f"{type(self).__name__} has no constructor; "
            "RationalForwardKinematics.CalcBodyPoseAsMultilinearPolynomial() makes one."
        )

    def position(self) -> Objects:
        """p_AoBo_A: position of Bo from Ao, expressed in A [m], shape [3]."""
        return self._position.copy()

    def rotation(self) -> Objects:
        """R_AB, shape [3, 3]."""
        return self._rotation.copy()

    def __copy__(self) -> RationalForwardKinematicsPose:
        return make_pose(type(self), self._rotation.copy(), self._position.copy())

    def __deepcopy__(self, memo: Any) -> RationalForwardKinematicsPose:
        return make_pose(type(self), copy.deepcopy(self._rotation, memo), copy.deepcopy(self._position, memo))


class _PoseOfRationalFunctions(RationalForwardKinematicsPose):
    """The pose X_AB of a body, whose entries are of type RationalFunction."""


def make_pose(
    cls: type[RationalForwardKinematicsPose], R_AB: Objects, p_AoBo_A: Objects
) -> RationalForwardKinematicsPose:
    """A pose of the class, of a rotation matrix, shape [3, 3], and a position [m], shape [3]."""
    pose = cls.__new__(cls)
    pose._rotation, pose._position = R_AB, p_AoBo_A
    return pose


def _classes() -> dict[type[Any], type[Any]]:
    from merganser.framework.symbolic import Polynomial, RationalFunction

    return {Polynomial: RationalForwardKinematicsPose, RationalFunction: _PoseOfRationalFunctions}


RationalForwardKinematicsPose_: ClassTemplate[Any] = ClassTemplate("RationalForwardKinematicsPose_", _classes)
