"""Base of all joints."""

from __future__ import annotations

import math
from abc import ABC
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, NoReturn

import numpy as np
import numpy.typing as npt

from merganser.framework import RandomGenerator
from merganser.framework.math import Quaternion, RigidTransform
from merganser.multibody.kernels.mobilizers import MobilizerKind
from merganser.multibody.kernels.scalars import is_set
from merganser.multibody.math.spatial_vector import as_vector
from merganser.multibody.tree.frame import Frame
from merganser.multibody.tree.indices import JointIndex
from merganser.multibody.tree.joints.joint_parts import JointFriction, calc_X_FM, check_coefficients, draw_expressions
from merganser.multibody.tree.multibody_forces import MultibodyForces

if TYPE_CHECKING:
    from merganser.framework import Context
    from merganser.multibody.tree.rigid_body import RigidBody
    from merganser.multibody.tree.tree import MultibodyTree

Vector = npt.NDArray[Any]


class PathSegment(NamedTuple):
    """A line or arc of a planar path, see kernels/mobilizers/curvilinear.py.

    Attributes:
        arc_start: distance along the path where it starts [m].
        turning_rate: signed curvature about Mz [1/m].
        X_FM: pose of M in F where it starts.
    """

    arc_start: float
    turning_rate: float
    X_FM: RigidTransform


class Joint(JointFriction, ABC):
    """Abstract joint between a frame F on the parent body and a frame M on the child body.

    A joint type is one subclass: its name and kind of mobilizer, numbers of its mobilizer, and its accessors. How M
    moves is what the functions of its kind say (kernels/README.md).

    Args:
        name: unique among the joints of the child's model instance.
        frame_on_parent: F.
        frame_on_child: M.
        damping: viscous damping of each velocity, not negative, shape [num_velocities].
        position_limits: lower and upper limits, each of shape [num_positions]; by default infinite.

    Raises:
        TypeError: if a frame is not a Frame.
        ValueError: if a vector has the wrong size, holds NaN, or a lower limit exceeds its upper limit.
        RuntimeError: if the name is empty or a damping is negative.
    """

    _index_type = JointIndex

    kTypeName: ClassVar[str]
    kind: ClassVar[MobilizerKind]  # how M moves in F
    _rotation_limit = math.inf  # of a BallQuaternionJoint

    def __init__(
        self,
        name: str,
        frame_on_parent: Frame,
        frame_on_child: Frame,
        damping: npt.ArrayLike,
        position_limits: tuple[npt.ArrayLike, npt.ArrayLike] | None = None,
    ) -> None:
        kind = type(self).__name__
        for role, frame in (("frame_on_parent", frame_on_parent), ("frame_on_child", frame_on_child)):
            if not isinstance(frame, Frame):
                raise TypeError(
                    f"{kind}({name!r}): {role} must be a Frame, not a {type(frame).__name__}. "
                    "The frame of a body is body.body_frame()."
                )
        super().__init__(name, frame_on_child.model_instance())
        self._frame_on_parent, self._frame_on_child = frame_on_parent, frame_on_child
        nq, nv = self.num_positions(), self.num_velocities()
        self._closes_loop = False  # set by AddLoopJoint(): the joint has no coordinates then
        self._position_start: int | None = None  # set by Finalize()
        self._velocity_start: int | None = None
        self._default_positions = np.zeros(nq)
        self._random_positions: list[Any] | None = None
        self._position_limits = (np.full(nq, -np.inf), np.full(nq, np.inf))
        self._velocity_limits = (np.full(nv, -np.inf), np.full(nv, np.inf))
        self._acceleration_limits = (np.full(nv, -np.inf), np.full(nv, np.inf))
        if position_limits is not None:
            self.set_position_limits(*position_limits)
        self._default_damping, self._default_friction = np.zeros(nv), np.zeros(nv)
        self._default_armature = 0.0  # of joints with one velocity, and balls
        self.set_default_damping_vector(damping)

    def _in_tree(self, tree: MultibodyTree) -> Joint:
        return (tree.loop_joints if self._closes_loop else tree.joints).get(self._index)

    # -- what a joint type defines ---------------------------------------------------------------------------

    def _calc_X_FM(self, q: Vector) -> RigidTransform:
        """Pose of M in F at the positions q of this joint, shape [num_positions]."""
        return calc_X_FM(self, q)

    def _mobilizer_axis(self) -> Vector:
        """axis_F of the mobilizer, shape [3]; zero for those without an axis."""
        return np.zeros(3)

    def _mobilizer_pitch(self) -> float:
        """The number `pitch` of the parameter records: of screws and of paths, zero for others."""
        return 0.0

    def _mobilizer_constants(self) -> Sequence[float]:
        """The numbers `constants` of the parameter records, of kinds of users; at most four."""
        return ()

    def _mobilizer_path(self) -> list[PathSegment]:
        """The segments of the path of a curvilinear mobilizer, none for others."""
        return []

    def _mobilizer_X_FM(self) -> RigidTransform:
        """The constant pose that a mobilizer of this kind leaves out, the identity for all that move."""
        return RigidTransform()

    # -- connection ------------------------------------------------------------------------------------------

    def parent_body(self) -> RigidBody:
        """Returns the body of F."""
        return self._frame_on_parent.body()

    def child_body(self) -> RigidBody:
        """Returns the body of M."""
        return self._frame_on_child.body()

    def frame_on_parent(self) -> Frame:
        """Returns F."""
        return self._frame_on_parent

    def frame_on_child(self) -> Frame:
        """Returns M."""
        return self._frame_on_child

    def type_name(self) -> str:
        """Returns the name of the joint type, such as "revolute"."""
        return self.kTypeName

    def can_rotate(self) -> bool:
        """Returns whether M can rotate in F."""
        return self.kind.can_rotate

    def can_translate(self) -> bool:
        """Returns whether Mo can move in F."""
        return self.kind.can_translate

    # -- coordinates -----------------------------------------------------------------------------------------

    def num_positions(self) -> int:
        """Returns the number of positions."""
        return len(self.kind.positions)

    def num_velocities(self) -> int:
        """Returns the number of velocities."""
        return len(self.kind.velocities)

    def position_start(self) -> int:
        """Returns where the positions of this joint start in q.

        Raises:
            RuntimeError: before Finalize().
        """
        return self._start(self._position_start, "position_start")

    def velocity_start(self) -> int:
        """Returns where the velocities of this joint start in v.

        Raises:
            RuntimeError: before Finalize().
        """
        return self._start(self._velocity_start, "velocity_start")

    def _start(self, start: int | None, caller: str) -> int:
        if start is None:
            self._refuse_loop(caller)
            raise RuntimeError(
                f"{caller}(): joint {self._name!r} has no coordinates before Finalize() of its plant."
            )
        return start

    def _refuse_loop(self, caller: str) -> None:
        if self._closes_loop:
            raise RuntimeError(
                f"{caller}(): joint {self._name!r} closes a loop, so it has no coordinates, damping or lock of its own."
            )

    def position_suffix(self, position_index_in_joint: int) -> str:
        """Returns what a position's name ends in, such as "q".

        Raises:
            ValueError: if there is no such position.
        """
        return self._suffix(self.kind.positions, position_index_in_joint, "positions")

    def velocity_suffix(self, velocity_index_in_joint: int) -> str:
        """Returns what a velocity's name ends in, such as "w".

        Raises:
            ValueError: if there is no such velocity.
        """
        return self._suffix(self.kind.velocities, velocity_index_in_joint, "velocities")

    def _suffix(self, suffixes: tuple[str, ...], index: int, what: str) -> str:
        if not 0 <= index < len(suffixes):
            raise ValueError(f"Joint {self._name!r} has {len(suffixes)} {what}; there is no number {index}.")
        return suffixes[index]

    def _q(self, context: Context) -> Vector:
        """View of the positions of this joint."""
        start = self.position_start()
        return self.GetParentPlant()._views.q(context)[start : start + self.num_positions()]

    def _v(self, context: Context) -> Vector:
        """View of the velocities of this joint."""
        start = self.velocity_start()
        return self.GetParentPlant()._views.v(context)[start : start + self.num_velocities()]

    def _set_q(self, context: Context, values: npt.ArrayLike, first: int = 0) -> None:
        """Writes consecutive positions of this joint, starting with its position `first`."""
        start = self.position_start() + first
        if type(values) is float and math.isfinite(values):  # as it often is: a third of the time of what follows
            self.GetParentPlant()._views.mutable_q(context)[start] = values
            return
        values = self._checked_coordinates("positions", values, self.num_positions() - first)
        self.GetParentPlant()._views.mutable_q(context)[start : start + len(values)] = values

    def _set_v(self, context: Context, values: npt.ArrayLike, first: int = 0) -> None:
        """Writes consecutive velocities of this joint, starting with its velocity `first`."""
        start = self.velocity_start() + first
        if type(values) is float and math.isfinite(values):
            self.GetParentPlant()._views.mutable_v(context)[start] = values
            return
        values = self._checked_coordinates("velocities", values, self.num_velocities() - first)
        self.GetParentPlant()._views.mutable_v(context)[start : start + len(values)] = values

    def _checked_coordinates(self, what: str, given: npt.ArrayLike, room: int) -> Vector:
        """A number or vector to be written to coordinates of this joint, as an array.

        Args:
            what: positions or velocities, for messages.
            given: at least one and at most `room` numbers.
            room: how many coordinates there are to write to.

        Raises:
            ValueError: if there are more than that, or one is not finite.
        """
        values = np.atleast_1d(np.asarray(given))
        if values.ndim != 1 or not 0 < len(values) <= room:
            raise ValueError(
                f"The {what} of joint {self._name!r} ({self.kTypeName}) of {self._get_tree('set')._plant_name()} to "
                f"be set are {room} at most, but the array given has shape {np.shape(given)}."
            )
        if values.dtype.kind in "fc" and not math.isfinite(abs(values.dot(values))) and not np.isfinite(values).all():
            raise ValueError(
                f"The {what} of joint {self._name!r} ({self.kTypeName}) of {self._get_tree('set')._plant_name()} "
                f"must be finite, but {given!r} was given."
            )
        return values

    def GetOnePosition(self, context: Context) -> Any:
        """Returns the position of a joint that has one.

        Raises:
            RuntimeError: if the joint has not exactly one position.
        """
        return self._only("GetOnePosition", self.num_positions(), "positions", self._q, context)

    def GetOneVelocity(self, context: Context) -> Any:
        """Returns the velocity of a joint that has one.

        Raises:
            RuntimeError: if the joint has not exactly one velocity.
        """
        return self._only("GetOneVelocity", self.num_velocities(), "velocities", self._v, context)

    def _only(self, caller: str, number: int, what: str, read: Callable[[Any], Any], context: Context) -> Any:
        if number != 1:
            raise RuntimeError(f"{caller}(): joint {self._name!r} ({self.kTypeName}) has {number} {what}.")
        return read(context)[0]

    # -- defaults --------------------------------------------------------------------------------------------

    def default_positions(self) -> Vector:
        """Returns the positions that new Contexts start with, shape [num_positions]."""
        return self._default_positions.copy()

    def set_default_positions(self, default_positions: npt.ArrayLike) -> None:
        """Sets the positions that new Contexts start with.

        Raises:
            RuntimeError: if their number is not num_positions().
            ValueError: if one is not finite.
        """
        q = np.array(default_positions, dtype=np.float64).reshape(-1)
        if q.size != self.num_positions():
            raise RuntimeError(
                f"set_default_positions(): joint {self._name!r} ({self.kTypeName}) has "
                f"{self.num_positions()} "
                f"positions, but {q.size} were given."
            )
        if not np.isfinite(q).all():
            raise ValueError(
                f"set_default_positions(): positions of joint {self._name!r} must be finite: {q}."
            )
        self._default_positions = q

    def GetDefaultPose(self) -> RigidTransform:
        """Returns X_FM at the default positions."""
        return self._calc_X_FM(self._default_positions)

    def GetDefaultPosePair(self) -> tuple[Quaternion, Vector]:
        """Returns the quaternion of R_FM and p_FoMo_F [m] at the default positions."""
        X_FM = self.GetDefaultPose()
        return X_FM.rotation().ToQuaternion(), np.asarray(X_FM.translation())

    def SetDefaultPose(self, X_FM: RigidTransform) -> None:
        """Sets the default positions to those of a pose.

        Raises:
            RuntimeError: if this is not a floating joint; others cannot take every pose.
        """
        self._refuse_pose("SetDefaultPose")

    def SetDefaultPosePair(self, q_FM: Quaternion, p_FM: npt.ArrayLike) -> None:
        """Sets the default positions to those of a quaternion and p_FoMo_F [m]; errors as SetDefaultPose."""
        self._refuse_pose("SetDefaultPosePair")

    def _refuse_pose(self, caller: str) -> NoReturn:
        raise RuntimeError(
            f"{caller}(): joint {self._name!r} ({self.kTypeName}) cannot take every pose, only floating joints can. "
            "Use set_default_positions()."
        )

    def _set_random_positions(self, caller: str, positions: npt.ArrayLike, first: int = 0, rest: Any = None) -> None:
        """Sets the expressions from which random Contexts get positions of this joint.

        Args:
            caller: for messages.
            positions: numbers or expressions, for as many positions as there are.
            first: the first position that they are for.
            rest: the other positions, if they have no distribution yet; by default those of the joint at zero.

        Raises:
            ValueError: if their number is wrong.
        """
        given = list(np.atleast_1d(np.asarray(positions, dtype=object)).ravel())
        size = self.num_positions()
        expected = size if rest is None else len(given)
        if len(given) != expected or first + len(given) > size:
            raise ValueError(
                f"{caller}(): joint {self._name!r} ({self.kTypeName}) needs {size - first} expressions, but "
                f"{len(given)} were given."
            )
        whole = list(rest) if self._random_positions is None and rest is not None else self._random_positions
        whole = given if whole is None else list(whole)
        whole[first : first + len(given)] = given
        self._random_positions = whole

    def _draw_positions(self, generator: RandomGenerator) -> Vector:
        """Positions for a random Context: drawn, or the defaults if there is no distribution; [num_positions]."""
        if self._random_positions is None:
            return self.default_positions()
        return draw_expressions(self._random_positions, generator)

    def default_damping_vector(self) -> Vector:
        """Returns the damping that new Contexts start with, shape [num_velocities]."""
        return self._default_damping.copy()

    def set_default_damping_vector(self, damping: npt.ArrayLike) -> None:
        """Sets the damping that new Contexts start with [N s/m or N m s], shape [num_velocities].

        Raises:
            ValueError: if the size is wrong.
            RuntimeError: if a damping is negative or not finite.
        """
        self._default_damping = self._check_damping("set_default_damping_vector", damping).astype(np.float64)

    def GetDampingVector(self, context: Context) -> Vector:
        """Returns the damping in the Context, shape [num_velocities]."""
        record = self.GetParentPlant()._views.parameters(context)[self._mobod("GetDampingVector")]
        return record["damping"][: self.num_velocities()].copy()

    def SetDampingVector(self, context: Context, damping: npt.ArrayLike) -> None:
        """Sets the damping in the Context, shape [num_velocities].

        Raises:
            ValueError: if the size is wrong.
            RuntimeError: if a damping is negative or not finite.
        """
        values = self._check_damping("SetDampingVector", damping)
        parameters = self.GetParentPlant()._views.mutable_parameters(context)
        parameters["damping"][self._mobod("SetDampingVector"), : self.num_velocities()] = values

    def _check_damping(self, caller: str, damping: npt.ArrayLike) -> Vector:
        return check_coefficients(caller, "damping", self._name, damping, self.num_velocities())

    # -- locking ---------------------------------------------------------------------------------------------

    def Lock(self, context: Context) -> None:
        """Sets the velocities of this joint in the Context to zero, where they stay until Unlock() is called.

        Raises:
            RuntimeError: before Finalize() of the plant.
        """
        self._set_locked(context, "Lock", 1.0)
        start = self.velocity_start()
        self.GetParentPlant()._views.mutable_v(context)[start : start + self.num_velocities()] = 0.0

    def Unlock(self, context: Context) -> None:
        """Lets forces move this joint in the Context again.

        Raises:
            RuntimeError: before Finalize() of the plant.
        """
        self._set_locked(context, "Unlock", 0.0)

    def is_locked(self, context: Context) -> bool:
        """Returns whether this joint is locked in the Context.

        Raises:
            RuntimeError: before Finalize() of the plant.
        """
        self._start(self._velocity_start, "is_locked")
        record = self.GetParentPlant()._views.parameters(context)[self._mobod("is_locked")]
        return bool(is_set(record["is_locked"]))

    def _set_locked(self, context: Context, caller: str, value: float) -> None:
        self._start(self._velocity_start, caller)
        parameters = self.GetParentPlant()._views.mutable_parameters(context)
        parameters["is_locked"][self._mobod(caller)] = value

    def _mobod(self, caller: str) -> int:
        self._refuse_loop(caller)
        return int(self._get_tree(caller).mobod_of_joint[self._index])

    # -- limits ----------------------------------------------------------------------------------------------

    def position_lower_limits(self) -> Vector:
        """Returns the lower limits of the positions, shape [num_positions]."""
        return self._position_limits[0].copy()

    def position_upper_limits(self) -> Vector:
        """Returns the upper limits of the positions, shape [num_positions]."""
        return self._position_limits[1].copy()

    def velocity_lower_limits(self) -> Vector:
        """Returns the lower limits of the velocities, shape [num_velocities]."""
        return self._velocity_limits[0].copy()

    def velocity_upper_limits(self) -> Vector:
        """Returns the upper limits of the velocities, shape [num_velocities]."""
        return self._velocity_limits[1].copy()

    def acceleration_lower_limits(self) -> Vector:
        """Returns the lower limits of the accelerations, shape [num_velocities]."""
        return self._acceleration_limits[0].copy()

    def acceleration_upper_limits(self) -> Vector:
        """Returns the upper limits of the accelerations, shape [num_velocities]."""
        return self._acceleration_limits[1].copy()

    def set_position_limits(self, lower_limits: npt.ArrayLike, upper_limits: npt.ArrayLike) -> None:
        """Sets the limits of the positions.

        Raises:
            ValueError: if a size is wrong, a limit is NaN, or a lower limit exceeds its upper limit.
        """
        self._position_limits = self._check_limits(
            "position", self.num_positions(), lower_limits, upper_limits
        )

    def set_velocity_limits(self, lower_limits: npt.ArrayLike, upper_limits: npt.ArrayLike) -> None:
        """Sets the limits of the velocities.

        Raises:
            ValueError: if a size is wrong, a limit is NaN, or a lower limit exceeds its upper limit.
        """
        self._velocity_limits = self._check_limits(
            "velocity", self.num_velocities(), lower_limits, upper_limits
        )

    def set_acceleration_limits(self, lower_limits: npt.ArrayLike, upper_limits: npt.ArrayLike) -> None:
        """Sets the limits of the accelerations.

        Raises:
            ValueError: if a size is wrong, a limit is NaN, or a lower limit exceeds its upper limit.
        """
        self._acceleration_limits = self._check_limits(
            "acceleration", self.num_velocities(), lower_limits, upper_limits
        )

    def _check_limits(
        self, what: str, size: int, lower: npt.ArrayLike, upper: npt.ArrayLike
    ) -> tuple[Vector, Vector]:
        low = as_vector(lower, size, f"Lower {what} limits of joint {self._name!r}").astype(np.float64)
        high = as_vector(upper, size, f"Upper {what} limits of joint {self._name!r}").astype(np.float64)
        if not (low <= high).all():  # also refuses NaN
            raise ValueError(
                f"The {what} limits of joint {self._name!r} must satisfy lower <= upper, but lower = "
                f"{low} and "
                f"upper = {high}."
            )
        return low, high

    # -- forces ----------------------------------------------------------------------------------------------

    def AddInOneForce(self, context: Context, joint_dof: int, joint_tau: Any, forces: MultibodyForces) -> None:
        """Adds a generalized force on one velocity of this joint to `forces`.

        Args:
            context: of the plant.
            joint_dof: number of the velocity within the joint.
            joint_tau: the force [N or N m].
            forces: what it is added to.

        Raises:
            ValueError: if the joint has no such velocity, or `forces` is for a plant of other size.
        """
        self.velocity_suffix(joint_dof)
        place = self.velocity_start() + joint_dof
        self._get_tree("AddInOneForce")._check_forces("AddInOneForce", forces)
        forces._tau[place] += joint_tau

    def AddInDamping(self, context: Context, forces: MultibodyForces) -> None:
        """Adds the damping forces -damping * v of this joint to `forces`.

        Raises:
            ValueError: if `forces` is for a plant of other size.
        """
        start = self.velocity_start()
        self._get_tree("AddInDamping")._check_forces("AddInDamping", forces)
        tau = forces.mutable_generalized_forces()[start : start + self.num_velocities()]
        tau -= self.GetDampingVector(context) * self._v(context)
