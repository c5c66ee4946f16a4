"""MechanismState, a plant in one of its states; paths through a mechanism, Jacobians along them, and momentum."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from merganser.framework.math import RigidTransform
from merganser.multibody import kernels
from merganser.multibody.plant import MultibodyPlant
from merganser.multibody.plant.arguments import checked_vector, mobod_of
from merganser.multibody.plant.workspace import Workspace
from merganser.multibody.tree import Frame, JacobianWrtVariable, Joint, RigidBody

if TYPE_CHECKING:
    from merganser.framework import Context

Array = NDArray[Any]
_NONE: Mapping[str, Any] = MappingProxyType({})
TransformFunction: TypeAlias = RigidTransform | Callable[[Array], Array] | None


class MechanismState:
    """A finalized plant (the mechanism) and a Context of it, on which the functions of this package work.

    The Context keeps positions, velocities and parameters, and what has been computed of them stays until they change:
    several functions of one state compute its kinematics once.

    Args:
        mechanism: a finalized plant.
        context: its Context, which is used, not copied; by default a new one.

    Raises:
        TypeError: the mechanism is no MultibodyPlant, or the context no Context.
        RuntimeError: the plant is not finalized, or a tendon of it has armature.
        ValueError: the Context belongs to another system.
    """

    def __init__(self, mechanism: MultibodyPlant, context: Context | None = None) -> None:
        if not isinstance(mechanism, MultibodyPlant):
            raise TypeError(f"MechanismState() takes a MultibodyPlant, got {type(mechanism).__name__}.")
        mechanism._model.require_finalized("MechanismState()")
        mechanism._tree.refuse_armature("MechanismState")
        self.mechanism = mechanism
        self.context = mechanism.CreateDefaultContext() if context is None else context
        mechanism._views.workspace(self.context)  # refuses the context of another system

    def configuration(self) -> Array:
        """Returns a copy of q, shape [num_positions]."""
        return self.mechanism.GetPositions(self.context)

    def velocity(self) -> Array:
        """Returns a copy of v, shape [num_velocities]."""
        return self.mechanism.GetVelocities(self.context)

    def set_configuration(self, q: ArrayLike) -> None:
        """Sets q; errors as MultibodyPlant.SetPositions."""
        self.mechanism.SetPositions(self.context, q)

    def set_velocity(self, v: ArrayLike) -> None:
        """Sets v; errors as MultibodyPlant.SetVelocities."""
        self.mechanism.SetVelocities(self.context, v)

    def zero(self) -> None:
        """Sets positions to the defaults of the joints and velocities to zero."""
        self.mechanism.SetDefaultState(self.context, self.context.get_mutable_state())

    def _position(self) -> Workspace:
        return self.mechanism._kinematics.eval_position(self.context)

    def _velocity(self) -> Workspace:
        return self.mechanism._kinematics.eval_velocity(self.context)

    def _vector(self, caller: str, values: ArrayLike, size: int) -> Array:
        """A vector of generalized forces or accelerations, checked, of the scalar type of the Context."""
        w = self.mechanism._views.workspace(self.context)
        return np.ascontiguousarray(checked_vector(self.mechanism._model, caller, values, size, w.dtype))


def output(
    caller: str, name: str, out: Array | None, shape: tuple[int, ...], w: Workspace, others: Mapping[str, Any] = _NONE
) -> Array:
    """Room for a result: `out`, if given, checked, else a new array.

    Args:
        caller: the function, for messages.
        name: of the argument.
        out: what was given.
        shape: of the result.
        w: of the Context.
        others: further arguments by name, arrays or None, that must not share memory with this one.

    Raises:
        TypeError: `out` is not an array of the scalar type of the Context.
        ValueError: its shape is wrong, it is not contiguous and aligned, it is read-only, or it shares memory with
            another argument or with the Context.
    """
    if out is None:
        return np.zeros(shape, w.dtype)
    if not isinstance(out, np.ndarray) or out.dtype != w.dtype:
        kind = f"array of {out.dtype}" if isinstance(out, np.ndarray) else type(out).__name__
        raise TypeError(f"{caller}(): {name} must be a numpy array of {w.dtype}, got {kind}.")
    if out.shape != shape or not out.flags.c_contiguous:
        layout = "" if out.flags.c_contiguous else " that is not contiguous"
        raise ValueError(f"{caller}(): {name} must be a contiguous array of shape {shape}, got {out.shape}{layout}.")
    if not out.flags.writeable or not out.flags.aligned:
        flaw = "read-only" if not out.flags.writeable else "not aligned"
        raise ValueError(f"{caller}(): {name} must be an array that can be written to, but it is {flaw}.")
    for other, array in {**others, "the context": w.store.flat}.items():
        if isinstance(array, np.ndarray) and np.may_share_memory(out, array):
            raise ValueError(f"{caller}(): {name} must not share memory with {other}. Give it an array of its own.")
    return out


def per_body_output(
    caller: str, name: str, out: Array | None, w: Workspace, others: Mapping[str, Any] = _NONE
) -> Array | None:
    """Checks an optional array for six numbers a body; errors as output()."""
    return None if out is None else output(caller, name, out, (len(w.topology), 6), w, others)


class TreePath(NamedTuple):
    """The way from one body to another through the joints of the tree; loop joints are no part of it.

    Attributes:
        source: the body before the first joint.
        target: the body after the last joint.
        joints: in the order in which the path takes them.
        directions: for each joint, +1 if the path takes it away from the world, -1 if towards it.
    """

    source: RigidBody
    target: RigidBody
    joints: tuple[Joint, ...]
    directions: tuple[int, ...]


def path(mechanism: MultibodyPlant, source: RigidBody, target: RigidBody) -> TreePath:
    """Returns the path from one body of a finalized plant to another.

    Raises:
        RuntimeError: a body is not of the plant, or before Finalize().
        TypeError: an argument has another type.
    """
    p, c = mobod_of(mechanism._model, "path", source), mobod_of(mechanism._model, "path", target)
    tree = mechanism._tree
    joint_of = {int(tree.mobod_of_joint[joint.index()]): joint for joint in tree.joints}
    up: list[Joint] = []
    down: list[Joint] = []
    while p != c:  # a mobod has a greater number than its parent
        if p > c:
            up.append(joint_of[p])
            p = int(tree.topology["parent"][p])
        else:
            down.append(joint_of[c])
            c = int(tree.topology["parent"][c])
    joints = (*up, *reversed(down))
    return TreePath(source, target, joints, (-1,) * len(up) + (1,) * len(down))


def geometric_jacobian(
    state: MechanismState, path: TreePath, root_to_desired: TransformFunction = None, *, out: Array | None = None
) -> Array:
    """Computes J of the twist J v of the target of a path with respect to its source.

    The twist is [w; v] with the velocity v, with respect to the source, of that point of the target which is at the
    origin of the frame in which it is expressed.

    Args:
        state: of the mechanism.
        path: from path().
        root_to_desired: the pose of the world frame in the frame in which to express the twist, by default the world
            frame; or a function that transforms twists, the columns of an array of shape [6, nv], from there.
        out: where to write J, shape [6, nv].

    Returns:
        J, shape [6, nv]; `out`, if given.

    Raises:
        TypeError, ValueError: `out` is of wrong type or shape.
        RuntimeError: the path is of another mechanism.
    """
    w = state._position()
    J = output("geometric_jacobian", "out", out, (6, len(w.v)), w)
    _jacobian(state, "geometric_jacobian", path, np.zeros(3), J)
    return express_columns(root_to_desired, J, is_momentum=False)


def point_jacobian(
    state: MechanismState, path: TreePath, point: ArrayLike, frame: Frame | None = None, *, out: Array | None = None
) -> Array:
    """Computes J of the velocity J v of a point fixed to the target of a path, with respect to its source.

    Args:
        state: of the mechanism.
        path: from path().
        point: where the point is now, in `frame` [m], shape [3].
        frame: the frame in which the point is given and the velocity expressed, by default that of the world.
        out: where to write J, shape [3, nv].

    Returns:
        J, shape [3, nv]; `out`, if given.

    Raises:
        TypeError, ValueError: an argument is of wrong type or shape, or the point is not finite.
        RuntimeError: the path or the frame is of another mechanism.
    """
    caller = "point_jacobian"
    w = state._position()
    mechanism = state.mechanism
    J = output(caller, "out", out, (3, len(w.v)), w)
    frame = mechanism.world_frame() if frame is None else frame
    mechanism._tree._check_mine(caller, "frame", frame)
    X_WF = frame.CalcPoseInWorld(state.context)
    R_WF, p_WoFo_W = X_WF.rotation().matrix(), X_WF.translation()
    p_FoQ_F = state._vector(f"{caller}: point", point, 3)
    whole = np.zeros((6, len(w.v)), w.dtype)
    _jacobian(state, caller, path, p_WoFo_W + R_WF @ p_FoQ_F, whole)
    J[:] = R_WF.T @ whole[3:]
    return J


def _jacobian(state: MechanismState, caller: str, path: TreePath, p_WoQ_W: Array, J_out: Array) -> None:
    """Writes [J_w; J_v] of the point of the target that is at Q, with respect to the source, in W."""
    mechanism, context = state.mechanism, state.context
    mobod_of(mechanism._model, caller, path.source)
    mobod_of(mechanism._model, caller, path.target)  # both refuse bodies of another mechanism
    p_BoQ_B = mechanism.EvalBodyPoseInWorld(context, path.target).inverse().multiply(p_WoQ_W)
    J_out[:] = mechanism.CalcJacobianSpatialVelocity(
        context,
        JacobianWrtVariable.kV,
        path.target.body_frame(),
        p_BoQ_B,
        path.source.body_frame(),
        mechanism.world_frame(),
    )


def express_columns(transform: TransformFunction, columns: Array, is_momentum: bool) -> Array:
    """Transforms twists or momenta, given about the origin of the world, in place.

    With the pose X_DW of the world in frame D: [R w; R v + p x R w] of twists, [R h + p x R l; R l] of momenta.

    Raises:
        TypeError: the transform is neither a RigidTransform nor a function.
    """
    if transform is None:
        return columns
    if not isinstance(transform, RigidTransform):
        if not callable(transform):
            raise TypeError(
                f"root_to_desired must be a RigidTransform or a function, got a {type(transform).__name__}."
            )
        columns[:] = transform(columns.copy())
        return columns
    R_DW, p_DoWo_D = transform.rotation().matrix(), transform.translation()
    fixed, moved = (columns[3:], columns[:3]) if is_momentum else (columns[:3], columns[3:])
    fixed[:] = R_DW @ fixed
    x, y, z = p_DoWo_D
    moved[:] = R_DW @ moved + np.array([[0.0 * x, -z, y], [z, 0.0 * x, -x], [-y, x, 0.0 * x]]) @ fixed
    return columns


def momentum_matrix(
    state: MechanismState, root_to_desired: TransformFunction = None, *, out: Array | None = None
) -> Array:
    """Computes A(q) of the total momentum A v of a mechanism, [angular; linear] (Orin and Goswami 2008).

    Rotors have no part in it: their inertia is felt in the joint alone.

    Args:
        state: of the mechanism.
        root_to_desired: the pose of the world frame in the frame in which, and about whose origin, to express the
            momentum, by default the world frame; or a function that transforms momenta, the columns of an array of
            shape [6, nv], from there.
        out: where to write A, shape [6, nv].

    Returns:
        A [N m s, N s per unit of velocity], shape [6, nv]; `out`, if given.

    Raises:
        TypeError, ValueError: `out` is of wrong type or shape.
    """
    w = state._position()
    A = output("momentum_matrix", "out", out, (6, len(w.v)), w)
    w.call(kernels.momentum_matrix, w.topology, w.position, w.scratch, A)
    return express_columns(root_to_desired, A, is_momentum=True)


def mass(mechanism: MultibodyPlant | MechanismState) -> Any:
    """Returns the total mass of a mechanism [kg], from the defaults of the bodies or from a state's parameters."""
    return _mass(mechanism, _plant(mechanism)._tree.bodies)


def subtree_mass(base: RigidBody, mechanism: MultibodyPlant | MechanismState) -> Any:
    """Returns the mass of a body and all that it carries [kg], as mass() does; of the world, that of all.

    Raises:
        RuntimeError: the body is not of the plant, or before Finalize().
    """
    plant = _plant(mechanism)
    mobod = mobod_of(plant._model, "subtree_mass", base)
    subtree = range(mobod, int(plant._tree.topology["subtree_end"][mobod]))
    return _mass(mechanism, (body for body in plant._tree.bodies if body._mobod in subtree))


def _plant(mechanism: MultibodyPlant | MechanismState) -> MultibodyPlant:
    return mechanism.mechanism if isinstance(mechanism, MechanismState) else mechanism


def _mass(mechanism: MultibodyPlant | MechanismState, bodies: Iterable[RigidBody]) -> Any:
    """Of bodies, the world left out."""
    moving = [body for body in bodies if body.index() != 0]
    if isinstance(mechanism, MechanismState):
        return sum((body.get_mass(mechanism.context) for body in moving), 0.0)
    return sum((body.default_mass() for body in moving), 0.0)


def center_of_mass(state: MechanismState, bodies: Iterable[RigidBody] | None = None) -> Array:
    """Returns the centre of mass of some bodies, or of the whole mechanism, in the world frame [m], shape [3].

    Args:
        state: of the mechanism.
        bodies: by default all; the world does not count.

    Raises:
        RuntimeError: their mass is zero, or a body is not of the plant.
    """
    w = state._position()
    chosen = state.mechanism._tree.bodies if bodies is None else bodies
    mobods = [m for m in (mobod_of(state.mechanism._model, "center_of_mass", body) for body in chosen) if m]
    masses = w.position["mass"][mobods]
    if not masses.sum() != 0.0:
        raise RuntimeError("center_of_mass(): the total mass is zero, so there is no centre of mass.")
    centres = w.position["p_WoBo_W"][mobods] + w.position["p_BoBcm_W"][mobods]
    result: Array = masses @ centres / masses.sum()
    return result
