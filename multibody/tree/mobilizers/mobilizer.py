"""Base of all mobilizers: the motion across one is that of a tree with one body.

If the frames P, F and W coincide, and so do M and B, what the kernels compute of the body is the motion of M in F.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from merganser.framework.math import RigidTransform
from merganser.framework.math.rotations.rigid_transform import rigid_transform
from merganser.multibody import kernels
from merganser.multibody.kernels import layout
from merganser.multibody.kernels.mobilizers import MobilizerKind
from merganser.multibody.math import SpatialAcceleration, SpatialForce, SpatialVelocity
from merganser.multibody.math.spatial_vector import as_vector
from merganser.multibody.tree.frame import Frame
from merganser.multibody.tree.indices import BodyIndex, FrameIndex, MobilizerIndex
from merganser.multibody.tree.joints import Joint
from merganser.multibody.tree.joints.joint_parts import make_records

if TYPE_CHECKING:
    from merganser.framework import Context
    from merganser.multibody.tree.rigid_body import RigidBody
    from merganser.multibody.tree.tree import MultibodyTree


Array = npt.NDArray[Any]


class OneBodyTree:
    """A tree of one body on the world that moves as the mobilizer of a joint does.

    Args:
        joint: whose motion.
        is_reversed: whether F of the mobilizer is the joint's frame on the child.
    """

    def __init__(self, joint: Joint, is_reversed: bool) -> None:
        self.topology, fixed = make_records(joint, is_reversed)
        self._fixed: dict[np.dtype[Any], Array] = {fixed["mass"].dtype: fixed}

    def calc(self, q: Array, v: Array) -> tuple[Any, Any]:
        """Returns the position and velocity record of the body (kernels/layout.py), of the scalar type of q."""
        dtype = q.dtype
        position = np.zeros(2, layout.position_dtype(dtype))
        velocity = np.zeros(2, layout.velocity_dtype(dtype))
        run = _code(kernels.kinematics, dtype)
        run(self.topology, self._parameters(dtype), q.copy(), v.copy(), position, velocity)
        return position[1], velocity[1]

    def velocity_to_qdot(self, q: Array, v: Array) -> Array:
        """Returns N(q) v, shape [num_positions]."""
        qdot = np.zeros_like(q)
        _code(kernels.velocity_to_qdot, q.dtype)(self.topology, q.copy(), v.copy(), qdot)
        return qdot

    def qdot_to_velocity(self, q: Array, qdot: Array) -> Array:
        """Returns N+(q) qdot, shape [num_velocities]."""
        v = np.zeros(int(self.topology["num_v"][1]), q.dtype)
        _code(kernels.qdot_to_velocity, q.dtype)(self.topology, q.copy(), qdot.copy(), v)
        return v

    def _parameters(self, dtype: np.dtype[Any]) -> Array:
        if dtype not in self._fixed:
            numbers = self._fixed[np.dtype(np.float64)]
            converted = np.zeros(len(numbers), layout.parameter_dtype(dtype))
            for name in converted.dtype.names or ():
                converted[name] = numbers[name]
            self._fixed[dtype] = converted
        return self._fixed[dtype]


def _code(kernel: Any, dtype: np.dtype[Any]) -> Any:
    """Compiled for floats, which a plant needs anyway; interpreted for all others."""
    return kernel if dtype == np.float64 else kernel.interpreted


@dataclass(frozen=True)
class MobilizerTopology:
    """The place of a mobilizer in its tree: indices of what it connects, and its coordinates in q and v."""

    index: MobilizerIndex
    inboard_frame: FrameIndex
    outboard_frame: FrameIndex
    inboard_body: BodyIndex
    outboard_body: BodyIndex
    num_positions: int
    positions_start: int
    num_velocities: int
    velocities_start: int


@dataclass(frozen=True)
class BodyNode:
    """A body in its tree, with the mobilizer that moves it and the node of the body in which it moves.

    The world has neither of the two.
    """

    parent_node: BodyNode | None
    body: RigidBody
    mobilizer: Mobilizer | None


class Mobilizer(ABC):
    """Abstract motion of an outboard frame M in an inboard frame F, which is on the body nearer the world.

        X_FM = X_FM(q),  V_FM = H_FM(q) v,  A_FM = H_FM vdot + Hdot_FM v,  tau = H_FM^T F_Mo_F,  qdot = N(q) v

    A tree has one for each body but the world: those that AddMobilizer() added, and one for every other joint. It
    computes by the kernels that compute whole trees.

    Args:
        inboard_frame: F.
        outboard_frame: M.

    Raises:
        TypeError: if one of them is no Frame.

    Source: A. Jain, Robot and Multibody Dynamics (2010), chapter 3.
    """

    _kind: MobilizerKind

    def __init__(self, inboard_frame: Frame, outboard_frame: Frame) -> None:
        for role, frame in (("inboard_frame", inboard_frame), ("outboard_frame", outboard_frame)):
            if not isinstance(frame, Frame):
                raise TypeError(
                    f"{type(self).__name__}(): {role} must be a Frame, not a {type(frame).__name__}. The frame of a "
                    "body is body.body_frame()."
                )
        self._inboard_frame, self._outboard_frame = inboard_frame, outboard_frame
        self._tree: MultibodyTree | None = None
        self._mobod = 0
        self._joint: Joint | None = None
        self._is_reversed = False
        self._one_body_tree: OneBodyTree | None = None

    # -- making ----------------------------------------------------------------------------------------------

    @abstractmethod
    def _make_joint(self, name: str) -> Joint:
        """A joint of this motion from F to M, for AddMobilizer()."""

    @classmethod
    def _of_joint(cls, joint: Joint, is_reversed: bool) -> Mobilizer:
        """The mobilizer of a joint whose parent, or if reversed whose child, is the inboard body."""
        mobilizer = cls.__new__(cls)
        frames = joint.frame_on_parent(), joint.frame_on_child()
        Mobilizer.__init__(mobilizer, *(reversed(frames) if is_reversed else frames))
        return mobilizer

    def _bind(self, tree: MultibodyTree, mobod: int, joint: Joint, is_reversed: bool) -> None:
        """Called by a finalized tree, which then knows the coordinates."""
        self._tree, self._mobod, self._joint, self._is_reversed = tree, mobod, joint, is_reversed
        self._one_body_tree = OneBodyTree(joint, is_reversed)

    def _get_tree(self) -> MultibodyTree:
        if self._tree is None or not self._tree.is_finalized():
            raise RuntimeError(
                f"{type(self).__name__} between frames '{self._inboard_frame.name()}' and "
                f"'{self._outboard_frame.name()}' is not part of a finalized tree: call MultibodyTree.AddMobilizer() "
                "and Finalize() first."
            )
        if self._one_body_tree is None:
            self._tree._get_mobilizers("Mobilizer")  # binds all
        return self._tree

    # -- topology --------------------------------------------------------------------------------------------

    def index(self) -> MobilizerIndex:
        """Returns the index in the tree, in the depth-first order of the outboard bodies."""
        self._get_tree()
        return MobilizerIndex(self._mobod - 1)

    def inboard_frame(self) -> Frame:
        """Returns F."""
        return self._inboard_frame

    def outboard_frame(self) -> Frame:
        """Returns M."""
        return self._outboard_frame

    def inboard_body(self) -> RigidBody:
        """Returns the body of F."""
        return self._inboard_frame.body()

    def outboard_body(self) -> RigidBody:
        """Returns the body of M."""
        return self._outboard_frame.body()

    def num_positions(self) -> int:
        """Returns the number of positions."""
        return len(self._kind.positions)

    def num_velocities(self) -> int:
        """Returns the number of velocities."""
        return len(self._kind.velocities)

    def position_start_in_q(self) -> int:
        """Returns where the positions start in q of the whole tree."""
        return int(self._get_tree().topology["q_start"][self._mobod])

    def velocity_start_in_v(self) -> int:
        """Returns where the velocities start in v of the whole tree."""
        return int(self._get_tree().topology["v_start"][self._mobod])

    def is_velocity_equal_to_qdot(self) -> bool:
        """Returns whether qdot = v."""
        return self._kind.has_equal_rates()

    def has_quaternion_dofs(self) -> bool:
        """Returns whether some positions are a quaternion."""
        return self._kind.quaternion_start is not None

    def get_topology(self) -> MobilizerTopology:
        """Returns the indices of what the mobilizer connects, and where its coordinates are."""
        return MobilizerTopology(
            self.index(),
            self._inboard_frame.index(),
            self._outboard_frame.index(),
            self.inboard_body().index(),
            self.outboard_body().index(),
            self.num_positions(),
            self.position_start_in_q(),
            self.num_velocities(),
            self.velocity_start_in_v(),
        )

    def CreateBodyNode(self, parent_node: BodyNode, body: RigidBody, mobilizer: Mobilizer) -> BodyNode:
        """Returns the node of the outboard body.

        Args:
            parent_node: of the inboard body.
            body: the outboard body.
            mobilizer: this mobilizer.

        Raises:
            ValueError: the node or the body is of another body, or `mobilizer` is another one.
        """
        for what, given, expected in (
            ("the body of parent_node", getattr(parent_node, "body", None), self.inboard_body()),
            ("body", body, self.outboard_body()),
            ("mobilizer", mobilizer, self),
        ):
            if given is not expected:
                raise ValueError(f"CreateBodyNode(): {what} must be {expected!r} of this mobilizer, not {given!r}.")
        return BodyNode(parent_node, body, mobilizer)

    # -- parts of arrays for the whole tree ------------------------------------------------------------------
    # All of these return views, so that the mutable ones are the same; ValueError if the array is of wrong size.

    def get_positions_from_array(self, q_array: Array) -> Array:
        """Returns the positions of this mobilizer as a view into those of the tree."""
        return self._part("get_positions_from_array", q_array, is_q=True)

    def get_velocities_from_array(self, v_array: Array) -> Array:
        """Returns the velocities of this mobilizer as a view into those of the tree."""
        return self._part("get_velocities_from_array", v_array)

    def get_accelerations_from_array(self, vdot_array: Array) -> Array:
        """Returns the accelerations of this mobilizer as a view into those of the tree."""
        return self._part("get_accelerations_from_array", vdot_array)

    def get_generalized_forces_from_array(self, tau_array: Array) -> Array:
        """Returns the generalized forces of this mobilizer as a view into those of the tree."""
        return self._part("get_generalized_forces_from_array", tau_array)

    get_mutable_positions_from_array = get_positions_from_array
    get_mutable_velocities_from_array = get_velocities_from_array
    get_mutable_accelerations_from_array = get_accelerations_from_array
    get_mutable_generalized_forces_from_array = get_generalized_forces_from_array

    def _part(self, caller: str, array: Array, is_q: bool = False) -> Array:
        tree = self._get_tree()
        size = tree.num_positions() if is_q else tree.num_velocities()
        if not isinstance(array, np.ndarray):
            raise TypeError(f"{caller}() takes a numpy array, not a {type(array).__name__}.")
        if array.shape != (size,):
            raise ValueError(f"{caller}(): the array must have shape ({size},), but has {array.shape}.")
        if is_q:
            return array[self.position_start_in_q() :][: self.num_positions()]
        return array[self.velocity_start_in_v() :][: self.num_velocities()]

    # -- motion ----------------------------------------------------------------------------------------------

    def CalcAcrossMobilizerTransform(self, context: Context) -> RigidTransform:
        """Returns X_FM(q) for the positions in the context."""
        body, _ = self._motion().calc(self._q(context), self._zero_v(context))
        return rigid_transform(body["R_WB"].copy(), body["p_WoBo_W"].copy())

    def CalcAcrossMobilizerSpatialVelocity(self, context: Context, v: npt.ArrayLike) -> SpatialVelocity:
        """Returns V_FM(q, v) of M in F, at Mo, expressed in F.

        Args:
            context: of the tree; its positions count.
            v: velocities of this mobilizer, shape [num_velocities].
        """
        _, motion = self._motion().calc(self._q(context), self._checked("v", v, context))
        return SpatialVelocity(motion["V_WB_W"].copy())

    def CalcAcrossMobilizerSpatialAcceleration(self, context: Context, vdot: npt.ArrayLike) -> SpatialAcceleration:
        """Returns A_FM(q, v, vdot) of M in F, at Mo, expressed in F.

        Args:
            context: of the tree; its positions and velocities count.
            vdot: accelerations of this mobilizer, shape [num_velocities].
        """
        accelerations = self._checked("vdot", vdot, context)
        body, motion = self._motion().calc(self._q(context), self._v(context))
        return SpatialAcceleration(accelerations @ self._H(body) + motion["Ab_WB_W"])

    def ProjectSpatialForce(self, context: Context, F_Mo_F: SpatialForce, tau: Array | None = None) -> Array:
        """Returns tau = H_FM^T(q) F_Mo_F, with which tau . v is the power of the force.

        Args:
            context: of the tree; its positions count.
            F_Mo_F: force on M at Mo, expressed in F.
            tau: where to write the result, shape [num_velocities].
        """
        if not isinstance(F_Mo_F, SpatialForce):
            raise TypeError(f"ProjectSpatialForce() takes a SpatialForce, not a {type(F_Mo_F).__name__}.")
        body, _ = self._motion().calc(self._q(context), self._zero_v(context))
        return _written(self._H(body) @ F_Mo_F.get_coeffs(), tau, "ProjectSpatialForce(): tau")

    def _H(self, body: Any) -> Array:
        """Rows of the transposed Jacobian H_FM, shape [num_velocities, 6]."""
        H: Array = body["H_PB_W"][: self.num_velocities()]
        return H

    # -- kinematic map ---------------------------------------------------------------------------------------

    def MapVelocityToQDot(self, context: Context, v: npt.ArrayLike, qdot: Array | None = None) -> Array:
        """Returns qdot = N(q) v, shape [num_positions]; written into `qdot`, if given."""
        rates = self._motion().velocity_to_qdot(self._q(context), self._checked("v", v, context))
        return _written(rates, qdot, "MapVelocityToQDot(): qdot")

    def MapQDotToVelocity(self, context: Context, qdot: npt.ArrayLike, v: Array | None = None) -> Array:
        """Returns v = N+(q) qdot, shape [num_velocities]; written into `v`, if given."""
        rates = as_vector(qdot, self.num_positions(), "MapQDotToVelocity(): qdot")
        velocities = self._motion().qdot_to_velocity(self._q(context), rates.astype(self._q(context).dtype))
        return _written(velocities, v, "MapQDotToVelocity(): v")

    def CalcNMatrix(self, context: Context, N: Array | None = None) -> Array:
        """Returns N(q), shape [num_positions, num_velocities]; written into `N`, if given."""
        columns = [self.MapVelocityToQDot(context, row) for row in np.eye(self.num_velocities())]
        return _written(_stacked(columns, (self.num_positions(), 0)), N, "CalcNMatrix(): N")

    def CalcNplusMatrix(self, context: Context, Nplus: Array | None = None) -> Array:
        """Returns N+(q), the left inverse of N, shape [num_velocities, num_positions]; in `Nplus`, if given."""
        columns = [self.MapQDotToVelocity(context, row) for row in np.eye(self.num_positions())]
        return _written(_stacked(columns, (self.num_velocities(), 0)), Nplus, "CalcNplusMatrix(): Nplus")

    # -- zero configuration ----------------------------------------------------------------------------------

    def set_zero_state(self, context: Context, state: Any) -> None:
        """Sets positions in `state` to the zero configuration, and velocities to zero.

        Args:
            context: of the tree; not changed.
            state: a State of the tree, such as context.get_mutable_state().
        """
        tree = self._get_tree()
        plant = self._joint_plant()
        plant._views.workspace(context)  # refuses the context of another system
        has_xc = not plant.is_discrete()
        vector = (
            state.get_mutable_continuous_state().get_mutable_vector() if has_xc else state.get_mutable_discrete_state(0)
        )
        x = vector.CopyToVector() if has_xc else vector.value().copy()
        q = self.get_positions_from_array(x[: tree.num_positions()])
        q[:] = 0.0
        quaternion = self._kind.quaternion_start
        if quaternion is not None:
            q[quaternion] = 1.0
        self.get_velocities_from_array(x[tree.num_positions() : tree.num_positions() + tree.num_velocities()])[:] = 0.0
        vector.SetFromVector(x)

    def set_zero_configuration(self, context: Context) -> None:
        """Sets positions in the context to the zero configuration, and velocities to zero."""
        self.set_zero_state(context, context.get_mutable_state())

    # -- other scalars ---------------------------------------------------------------------------------------

    def CloneToScalar(self, cloned_tree: MultibodyTree) -> Mobilizer:
        """Returns the mobilizer of a clone of this tree that corresponds to this one."""
        return cloned_tree.get_mobilizer(self.index())

    # -- access ----------------------------------------------------------------------------------------------

    def _motion(self) -> OneBodyTree:
        self._get_tree()
        assert self._one_body_tree is not None
        return self._one_body_tree

    def _joint_plant(self) -> Any:
        return self._get_tree()._context_owner()

    def _q(self, context: Context) -> Array:
        return self.get_positions_from_array(self._joint_plant()._views.q(context))

    def _v(self, context: Context) -> Array:
        return self.get_velocities_from_array(self._joint_plant()._views.v(context))

    def _set_q(self, context: Context, values: npt.ArrayLike, first: int = 0) -> None:
        """Writes consecutive positions of this mobilizer, starting with its position `first`."""
        given = np.atleast_1d(np.asarray(values))
        q = self._joint_plant()._views.mutable_q(context)
        self.get_positions_from_array(q)[first : first + len(given)] = given

    def _set_v(self, context: Context, values: npt.ArrayLike, first: int = 0) -> None:
        """Writes consecutive velocities of this mobilizer, starting with its velocity `first`."""
        given = np.atleast_1d(np.asarray(values))
        v = self._joint_plant()._views.mutable_v(context)
        self.get_velocities_from_array(v)[first : first + len(given)] = given

    def _zero_v(self, context: Context) -> Array:
        return np.zeros(self.num_velocities(), self._q(context).dtype)

    def _checked(self, name: str, values: npt.ArrayLike, context: Context) -> Array:
        size = self.num_velocities()
        vector = as_vector(values, size, f"{type(self).__name__}: {name}")
        return vector.astype(self._q(context).dtype)


def _stacked(columns: list[Array], shape_of_none: tuple[int, int]) -> Array:
    return np.stack(columns, axis=1) if columns else np.zeros(shape_of_none)


def _written(result: Array, out: Array | None, what: str) -> Array:
    """`result`, or `out` with the result in it.

    Raises:
        TypeError: `out` is not an array of the scalar type of the result.
        ValueError: it has another shape, or is read-only.
    """
    if out is None:
        return result
    if not isinstance(out, np.ndarray) or out.dtype != result.dtype:
        kind = f"array of {out.dtype}" if isinstance(out, np.ndarray) else type(out).__name__
        raise TypeError(f"{what} must be a numpy array of {result.dtype}, but is {kind}.")
    if not out.flags.writeable:
        raise ValueError(f"{what} must be an array that can be written to, but it is read-only.")
    if out.shape != result.shape:
        raise ValueError(f"{what} must have shape {result.shape}, but has {out.shape}.")
    out[...] = result
    return out
