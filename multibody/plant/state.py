"""Reading and writing positions and velocities, in a Context and in arrays, and those of free bodies."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray

from merganser.framework import Context, RandomGenerator
from merganser.framework.math import RigidTransform
from merganser.multibody.math import SpatialVelocity
from merganser.multibody.plant.arguments import checked_vector, sized_vector
from merganser.multibody.plant.model import PlantModel
from merganser.multibody.plant.state_views import StateViews
from merganser.multibody.tree import FloatingJoint, Frame, RigidBody

if TYPE_CHECKING:
    from merganser.framework import Context


Array = NDArray[Any]
_NDARRAY, _OBJECT = np.ndarray, np.dtype(object)
MISSING: Any = object()  # in place of an argument that was not given


class PlantState:
    """Copies of the state x = [q; v] and of its parts, and changes of them; see StateFace.

    A kernel checks and writes what is an array for all, as it often is.
    """

    def __init__(self, model: PlantModel, views: StateViews) -> None:
        self._model, self._tree, self._views = model, model.tree, views
        self._defaults: dict[int, tuple[bytes, Array]] = {}  # by group of parameters, as floats and as scalars

    # ------------------------------------------------------------------ positions and velocities

    def get_positions(self, context: Context, model_instance: int | None = None) -> Array:
        """Returns a copy of q, of one model instance or of all."""
        q = self._views.q(context)
        return q.copy() if model_instance is None else q[self._tree.position_indices(model_instance)]

    def get_velocities(self, context: Context, model_instance: int | None = None) -> Array:
        """Returns a copy of v, of one model instance or of all."""
        v = self._views.v(context)
        return v.copy() if model_instance is None else v[self._tree.velocity_indices(model_instance)]

    def get_positions_and_velocities(self, context: Context, model_instance: int | None = None) -> Array:
        """Returns a copy of [q; v], of one model instance or of all."""
        if model_instance is None:
            return self._views.workspace(context).x.copy()
        parts = self.get_positions(context, model_instance), self.get_velocities(context, model_instance)
        return np.concatenate(parts)

    @overload
    def set_positions(self, context: Context, q: ArrayLike) -> None: ...
    @overload
    def set_positions(self, context: Context, model_instance: int, q: ArrayLike) -> None: ...
    def set_positions(self, context: Context, model_instance: Any = MISSING, q: Any = MISSING) -> None:  # type: ignore[misc]
        """Sets q of the plant, or of one model instance.

        Raises:
            ValueError: wrong size, a value is not finite, or a quaternion is zero.
            TypeError: other arguments, or complex numbers for a context of floats.
        """
        w = self._views.workspace(context)
        store = w.store
        if q is MISSING and not store.computing and w.calls.write_q(model_instance):
            store.invalid |= w.down[w.q_node]
            return
        instance, given = _instance_and_vector("SetPositions", "q", model_instance, q)
        positions = self._whole_positions("SetPositions", w.q, instance, given)
        self._views.mutable_q(context)[:] = positions

    @overload
    def set_velocities(self, context: Context, v: ArrayLike) -> None: ...
    @overload
    def set_velocities(self, context: Context, model_instance: int, v: ArrayLike) -> None: ...
    def set_velocities(self, context: Context, model_instance: Any = MISSING, v: Any = MISSING) -> None:  # type: ignore[misc]
        """Sets v of the plant, or of one model instance.

        Raises:
            ValueError: wrong size, or a value is not finite.
            TypeError: other arguments, or complex numbers for a context of floats.
        """
        w = self._views.workspace(context)
        store = w.store
        if v is MISSING and not store.computing and w.calls.write_v(model_instance):
            store.invalid |= w.down[w.v_node]
            return
        instance, given = _instance_and_vector("SetVelocities", "v", model_instance, v)
        indices = self._tree.velocity_indices(instance)
        values = checked_vector(self._model, "SetVelocities", given, len(indices), w.dtype)
        self._views.mutable_v(context)[indices] = values

    @overload
    def set_positions_and_velocities(self, context: Context, q_v: ArrayLike) -> None: ...
    @overload
    def set_positions_and_velocities(self, context: Context, model_instance: int, q_v: ArrayLike) -> None: ...
    def set_positions_and_velocities(  # type: ignore[misc]
        self, context: Context, model_instance: Any = MISSING, q_v: Any = MISSING
    ) -> None:
        """Sets [q; v] of the plant, or of one model instance.

        Raises:
            ValueError: wrong size, a value is not finite, or a quaternion is zero.
            TypeError: other arguments, or complex numbers for a context of floats.
        """
        w = self._views.workspace(context)
        store = w.store
        if q_v is MISSING and not store.computing and w.calls.write_x(model_instance):
            store.invalid |= w.down[w.q_node] | w.down[w.v_node]
            return
        caller = "SetPositionsAndVelocities"
        if q_v is MISSING and not (w.is_numeric or store.computing):
            given = model_instance
            is_plain = type(given) is _NDARRAY and given.dtype is _OBJECT and given.shape == w.x_shape
            if is_plain and w.write_state(given):
                store.invalid |= w.down[w.q_node] | w.down[w.v_node]
                return
        instance, given = _instance_and_vector(caller, "q_v", model_instance, q_v)
        num_q = self._tree.num_positions(instance)
        values = checked_vector(self._model, caller, given, num_q + self._tree.num_velocities(instance), w.dtype)
        q = self._whole_positions(caller, w.q, instance, values[:num_q])
        self._views.mutable_q(context)[:] = q
        self._views.mutable_v(context)[self._tree.velocity_indices(instance)] = values[num_q:]

    def _whole_positions(self, caller: str, q: Array, instance: int | None, given: ArrayLike) -> Array:
        """q of the plant with the given positions of one model instance, or of all, put in, checked."""
        if instance is None:
            q = checked_vector(self._model, caller, given, len(q), q.dtype)
        else:
            indices = self._tree.position_indices(instance)
            q = q.copy()
            q[indices] = checked_vector(self._model, caller, given, len(indices), q.dtype)
        for start, name in self._model.quaternions.items():
            if not q[start : start + 4].any():
                raise ValueError(
                    f"{caller}(): the quaternion of joint '{name}' of plant '{self._model.path()}' is "
                    "zero, so it gives no orientation."
                )
        return q

    # ------------------------------------------------------------------ parts of arrays

    def get_positions_from_array(self, model_instance: int, q: ArrayLike) -> Array:
        """Returns the positions of a model instance out of those of the whole plant."""
        values = sized_vector(self._model, "GetPositionsFromArray", q, self._tree.num_positions())
        return values[self._tree.position_indices(model_instance)]

    def get_velocities_from_array(self, model_instance: int, v: ArrayLike) -> Array:
        """Returns the velocities of a model instance out of those of the whole plant."""
        values = sized_vector(self._model, "GetVelocitiesFromArray", v, self._tree.num_velocities())
        return values[self._tree.velocity_indices(model_instance)]

    def get_actuation_from_array(self, model_instance: int, u: ArrayLike) -> Array:
        """Returns the inputs of a model instance out of those of the whole plant."""
        values = sized_vector(self._model, "GetActuationFromArray", u, self._tree.num_actuated_dofs())
        return values[self._tree.input_indices(model_instance)]

    def set_positions_in_array(self, model_instance: int, q_instance: ArrayLike, q: Array) -> None:
        """Writes the positions of a model instance into those of the whole plant."""
        indices = self._tree.position_indices(model_instance)
        self._set_in_array("SetPositionsInArray", indices, q_instance, q, self._tree.num_positions())

    def set_velocities_in_array(self, model_instance: int, v_instance: ArrayLike, v: Array) -> None:
        """Writes the velocities of a model instance into those of the whole plant."""
        indices = self._tree.velocity_indices(model_instance)
        self._set_in_array("SetVelocitiesInArray", indices, v_instance, v, self._tree.num_velocities())

    def set_actuation_in_array(self, model_instance: int, u_instance: ArrayLike, u: Array) -> None:
        """Writes the inputs of a model instance into those of the whole plant."""
        indices = self._tree.input_indices(model_instance)
        self._set_in_array("SetActuationInArray", indices, u_instance, u, self._tree.num_actuated_dofs())

    def _set_in_array(self, caller: str, indices: Array, part: ArrayLike, whole: Array, size: int) -> None:
        if not isinstance(whole, np.ndarray):
            raise TypeError(f"{caller}() writes into a numpy array, not into a {type(whole).__name__}.")
        if whole.shape != (size,):
            raise ValueError(
                f"{caller}(): the array to write into has shape {whole.shape}, but plant "
                f"'{self._model.path()}' needs ({size},)."
            )
        whole[indices] = sized_vector(self._model, caller, part, len(indices))

    # ------------------------------------------------------------------ defaults

    def set_default_state(self, context: Context, state: Any) -> None:
        """Sets positions to the defaults of the joints, and velocities to zero."""
        self._views.mutable_q(context)[:] = self._tree.default_positions()
        self._views.mutable_v(context)[:] = 0.0
        for set_default in self._model.default_setters:
            set_default(context)

    def set_default_parameters(self, context: Context, parameters: Any) -> None:
        """Sets mass properties, frames, damping and gravity to the defaults of the elements.

        Raises:
            RuntimeError: before Finalize().
        """
        self._model.require_finalized("a Context")
        w = self._views.workspace(context)
        scalar = np.complex128 if w.dtype == np.complex128 else np.float64
        tree, views = self._tree, self._views
        self._write_defaults(context, views.parameter_group, tree.make_default_parameters(scalar))
        self._write_defaults(context, views.gravity_group, tree.gravity_vector())
        if len(w.constants):
            self._write_defaults(context, views.constant_group, tree.make_default_constants(scalar))
        if len(w.frames):
            self._write_defaults(context, views.frame_group, tree.make_default_frames(scalar))
        self._write_defaults(context, views.rotor_group, tree.default_rotors())

    def _write_defaults(self, context: Context, group: int, records: Array) -> None:
        """Writes the numbers of one group of parameters; scalars are made of them only when they have changed."""
        values: Array = context.get_mutable_numeric_parameter(group).value()
        scalar = np.complex128 if values.dtype == np.complex128 else np.float64
        numbers = records.view(scalar).ravel() if records.dtype.names else records
        known = self._defaults.get(group)
        if known is not None and values.dtype == object and known[0] == numbers.tobytes():
            values[:] = known[1]
            return
        values[:] = numbers
        if values.dtype == object:
            self._defaults[group] = numbers.tobytes(), values.copy()

    def set_random_state(self, context: Context, state: Any, generator: RandomGenerator) -> None:
        """Sets positions to numbers drawn from the distributions of the joints (those without one to their
        defaults), and velocities to zero.
        """
        q = self._views.mutable_q(context)
        for joint in self._tree.joints:
            start = joint.position_start()
            q[start : start + joint.num_positions()] = joint._draw_positions(generator)
        self._views.mutable_v(context)[:] = 0.0

    def get_default_positions(self, model_instance: int | None = None) -> Array:
        """Returns the positions that new contexts start with, of one model instance or of all."""
        return self._tree.default_positions()[self._tree.position_indices(model_instance)]

    @overload
    def set_default_positions(self, q: ArrayLike) -> None: ...
    @overload
    def set_default_positions(self, model_instance: int, q_instance: ArrayLike) -> None: ...
    def set_default_positions(  # type: ignore[misc]
        self, model_instance: Any = MISSING, q_instance: Any = MISSING, *, q: Any = MISSING
    ) -> None:
        """Sets the positions that new contexts start with, of the plant or of one model instance.

        Raises:
            ValueError: wrong size, a value is not finite, or a quaternion is zero.
            TypeError: other arguments.
        """
        vector = q_instance if q is MISSING else q
        instance, given = _instance_and_vector("SetDefaultPositions", "q", model_instance, vector)
        default = self._tree.default_positions()
        positions = self._whole_positions("SetDefaultPositions", default, instance, given)
        for joint in self._tree.joints:
            if joint.num_positions():
                start = joint.position_start()
                joint.set_default_positions(positions[start : start + joint.num_positions()])


def _instance_and_vector(caller: str, name: str, first: Any, second: Any) -> tuple[int | None, ArrayLike]:
    """The arguments (vector) or (model_instance, vector), where those that were not given are MISSING."""
    if second is MISSING and first is not MISSING:
        return None, first
    if second is MISSING:
        raise TypeError(f"{caller}() takes {name}, or model_instance and {name}, after the context (if it has one).")
    return None if first is MISSING else first, second


class FreeBodies:
    """State of free bodies; see StateFace."""

    def __init__(self, model: PlantModel, views: StateViews) -> None:
        self._model, self._tree, self._views = model, model.tree, views

    def set_free_body_pose(
        self,
        context: Context,
        body: RigidBody,
        X_JpJc: RigidTransform | None = None,
        *,
        X_PB: RigidTransform | None = None,
    ) -> None:
        """Sets the pose of a free body.

        Args:
            context: of this plant.
            body: a free body.
            X_JpJc: pose of the joint's frame on the child in that on the parent; X_WB of a floating base
                body.
            X_PB: older name of X_JpJc.

        Raises:
            RuntimeError: the body is not free, or before Finalize().
            ValueError: the pose is not finite.
            TypeError: it is not a RigidTransform.
        """
        X_JpJc = _one_of("SetFreeBodyPose", "X_JpJc", X_JpJc, X_PB)
        self._set_pose("SetFreeBodyPose", context, self._free_joint("SetFreeBodyPose", body), X_JpJc)

    def get_free_body_pose(self, context: Context, body: RigidBody) -> RigidTransform:
        """Returns the pose X_JpJc of a free body, X_WB of a floating base body.

        Raises:
            RuntimeError: the body is not free, or before Finalize().
        """
        return self._free_joint("GetFreeBodyPose", body).GetPose(context)

    def set_floating_base_body_pose_in_world_frame(
        self, context: Context, body: RigidBody, X_WB: RigidTransform
    ) -> None:
        """Sets the pose X_WB of a floating base body.

        Raises:
            RuntimeError: the body is not a floating base body, or before Finalize().
            ValueError: the pose is not finite.
            TypeError: it is not a RigidTransform.
        """
        caller = "SetFloatingBaseBodyPoseInWorldFrame"
        joint = self._free_joint(caller, body)
        if not body.is_floating_base_body():
            raise RuntimeError(
                f"{caller}(): body '{body.name()}' is not a floating base body: joint '{joint.name()}' was "
                "added by the user. Call SetFreeBodyPose()."
            )
        self._set_pose(caller, context, joint, X_WB)

    def set_floating_base_body_pose_in_anchored_frame(
        self, context: Context, frame_F: Frame, body: RigidBody, X_FB: RigidTransform
    ) -> None:
        """Sets the pose of a floating base body, given in a frame that does not move.

        Args:
            context: of this plant.
            frame_F: a frame of the world, or of a body that welds connect to it.
            body: a floating base body.
            X_FB: its pose in F.

        Raises:
            RuntimeError: F is not anchored, the body is not a floating base body, or before Finalize().
            ValueError: the pose is not finite.
            TypeError: an argument has another type.
        """
        caller = "SetFloatingBaseBodyPoseInAnchoredFrame"
        self._model.require_finalized(f"{caller}()")
        if not isinstance(frame_F, Frame):
            raise TypeError(f"{caller}() takes a Frame, got {type(frame_F).__name__}.")
        if not self._tree.IsAnchored(frame_F.body()):
            raise RuntimeError(f"{caller}(): frame '{frame_F.name()}' must be anchored to the world frame.")
        X_WF = frame_F.CalcPoseInWorld(context)
        self.set_floating_base_body_pose_in_world_frame(context, body, X_WF @ X_FB)

    def set_free_body_spatial_velocity(
        self,
        context: Context | None = None,
        body: Any = None,
        V_JpJc: Any = None,
        *,
        V_PB: SpatialVelocity | None = None,
    ) -> None:
        """Sets the spatial velocity of a free body.

        The older form SetFreeBodySpatialVelocity(body, V_PB, context) works too.

        Args:
            context: of this plant.
            body: a free body.
            V_JpJc: spatial velocity of the joint's frame on the child in that on the parent; V_WB_W of a
                floating base body [rad/s, m/s].
            V_PB: older name of V_JpJc.

        Raises:
            RuntimeError: the body is not free, or before Finalize().
            ValueError: the velocity is not finite.
            TypeError: it is not a SpatialVelocity.
        """
        caller = "SetFreeBodySpatialVelocity"
        if isinstance(context, RigidBody):
            context, body, V_JpJc = V_JpJc, context, body
        own: Context = _one_of(caller, "V_JpJc", context, None)
        velocity = _one_of(caller, "V_JpJc", V_JpJc, V_PB)
        joint = self._free_joint(caller, body)
        if not isinstance(velocity, SpatialVelocity):
            raise TypeError(f"{caller}() takes a SpatialVelocity, got {type(velocity).__name__}.")
        v = checked_vector(self._model, caller, velocity.get_coeffs(), 6, self._views.workspace(own).dtype)
        start = joint.velocity_start()
        self._views.mutable_v(own)[start : start + 6] = v

    def _set_pose(self, caller: str, context: Context, joint: FloatingJoint, X_FM: RigidTransform) -> None:
        if not isinstance(X_FM, RigidTransform):
            raise TypeError(f"{caller}() takes a RigidTransform, got {type(X_FM).__name__}.")
        # Checked before it becomes a quaternion, which a matrix with NaN does not.
        checked_vector(self._model, caller, X_FM.GetAsMatrix34().ravel(), 12, self._views.workspace(context).dtype)
        q = joint._positions_of(X_FM)
        start = joint.position_start()
        self._views.mutable_q(context)[start : start + len(q)] = q

    def _free_joint(self, caller: str, body: RigidBody) -> FloatingJoint:
        if not isinstance(body, RigidBody):
            raise TypeError(f"{caller}() takes a RigidBody, got {type(body).__name__}.")
        self._tree._check_mine(caller, "it", body)
        self._model.require_finalized(f"{caller}()")
        joint = body._inboard_joint
        if not isinstance(joint, FloatingJoint):
            connection = f"joint '{joint.name()}' ({joint.type_name()}) carries it" if joint else "it is the world"
            raise RuntimeError(f"{caller}(): body '{body.name()}' is not free: {connection}.")
        return joint


def _one_of(caller: str, name: str, value: Any, older: Any) -> Any:
    if (value is None) == (older is None):
        raise TypeError(f"{caller}() takes (context, body, {name}).")
    return value if older is None else older
