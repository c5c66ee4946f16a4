"""Reading and writing positions and velocities, in a Context and in arrays."""

from __future__ import annotations

import math
from typing import Any, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray

from merganser.framework import RandomGenerator
from merganser.framework.core.dependencies import Q, V
from merganser.multibody.kernels import layout
from merganser.multibody.plant.geometry_registration import PlantGeometry
from merganser.multibody.plant.workspace import Workspace
from merganser.multibody.tree import JointActuator

__all__ = ["PlantState"]

Array = NDArray[Any]
_NDARRAY, _OBJECT = np.ndarray, np.dtype(object)
_MISSING: Any = object()  # in place of an argument that was not given
_SMALLEST_COSINE = 1e-3  # of a pitch angle


class PlantState(PlantGeometry):
    """State of a MultibodyPlant: x = [q; v], continuous or discrete.

    Every `Set...` function checks its arguments, and refuses values that are not finite, before it changes
    anything.
    """

    _time_step: float
    _parameter_group: int
    _gravity_group: int
    _position_entry: int  # number of the cache entry of the position kinematics
    _velocity_entry: int
    _pose_entry: int
    _parameter_entry: int
    _state_node: int = 0  # of the state of a discrete plant, see framework/core/dependencies.py; else 0
    _rotor_group: int
    _constant_group: int
    _frame_group: int
    _quaternions: dict[int, str]  # where in q quaternions start, and of which joint they are
    _pitches: dict[int, str]  # which positions are pitch angles, and of which joint they are

    # ------------------------------------------------------------------ views for elements and kernels

    def _workspace(self, context: Any) -> Workspace:
        """The arrays of this plant in its own context.

        Raises:
            ValueError: the context belongs to another system.
            TypeError: it is not a Context.
        """
        if getattr(context, "system", None) is not self:
            self.ValidateContext(context)
        if context.workspace is None:
            self._require_finalized("a computation")
            state, parameters = context.peek_state(), context.peek_parameters()
            scalar = context.store.scalar
            context.workspace = _workspace_class(scalar)(
                self._tree.topology,
                state.get_discrete_state(0).value()
                if self._time_step > 0.0
                else state.get_continuous_state().get_vector().value(),
                self._tree.num_positions(),
                parameters.get_numeric_parameter(self._parameter_group).value(),
                parameters.get_numeric_parameter(self._gravity_group).value(),
                context.slots[self._position_entry],
                context.slots[self._velocity_entry],
                context.slots[self._pose_entry],
                context.slots[self._parameter_entry],
                scalar,
            )
            context.workspace.q_node, context.workspace.v_node = self._state_node or Q, self._state_node or V
            context.workspace.constants = context.workspace.view_records(
                parameters.get_numeric_parameter(self._constant_group).value(), layout.constant_dtype
            )
            context.workspace.frames = context.workspace.view_records(
                parameters.get_numeric_parameter(self._frame_group).value(), layout.frame_dtype
            )
        workspace: Workspace = context.workspace
        if workspace.store.reader is not None:
            workspace.store.note_read(context, 0)
        return workspace

    def _q_view(self, context: Any) -> Array:
        return self._workspace(context).q

    def _v_view(self, context: Any) -> Array:
        return self._workspace(context).v

    def _mutable_q_view(self, context: Any) -> Array:
        workspace = self._workspace(context)
        self._note_change(context, Q)
        return workspace.q

    def _mutable_v_view(self, context: Any) -> Array:
        workspace = self._workspace(context)
        self._note_change(context, V)
        return workspace.v

    def _note_change(self, context: Any, node: int) -> None:
        if self._time_step > 0.0:
            node = self._state_node
        context.store.change(context.layout.down_nodes[node], context)

    def _parameters_view(self, context: Any) -> Array:
        return self._workspace(context).parameters

    def _mutable_parameters_view(self, context: Any) -> Array:
        workspace = self._workspace(context)
        context.get_mutable_numeric_parameter(self._parameter_group)
        return workspace.parameters

    def _frames_view(self, context: Any) -> Array:
        """Poses of the offset frames, see kernels/layout.py."""
        frames: Array = self._workspace(context).frames
        return frames

    def _mutable_constants_view(self, context: Any) -> Array:
        workspace = self._workspace(context)
        context.get_mutable_numeric_parameter(self._constant_group)
        return workspace.constants

    def _mutable_gravity_view(self, context: Any) -> Array:
        workspace = self._workspace(context)
        context.get_mutable_numeric_parameter(self._gravity_group)
        return workspace.gravity

    def _rotors(self, context: Any) -> Array:
        """Gear ratios and rotor inertias [kg m^2] of the actuators in the context, shape [2, num_actuators]."""
        self._workspace(context)
        rotors: Array = context.get_numeric_parameter(self._rotor_group).value()
        return rotors.reshape(2, -1)

    def _set_rotor(self, context: Any, actuator: JointActuator, row: int, value: Any) -> None:
        """Sets one of the _rotors(), and what the joint of the actuator feels of its rotors."""
        rotors = self._rotors(context)
        context.get_mutable_numeric_parameter(self._rotor_group)
        rotors[row, actuator.input_start()] = value
        joint = actuator.joint()
        felt = sum(a.calc_reflected_inertia(context) for a in self._tree.actuators if a.joint() is joint)
        self._mutable_parameters_view(context)["reflected_inertia"][self._tree.mobod_of_joint[joint.index()]] = felt

    # ------------------------------------------------------------------ positions and velocities

    def GetPositions(self, context: Any, model_instance: int | None = None) -> Array:
        """Returns a copy of q, of one model instance or of all."""
        q = self._q_view(context)
        return q.copy() if model_instance is None else q[self._tree.position_indices(model_instance)]

    def GetVelocities(self, context: Any, model_instance: int | None = None) -> Array:
        """Returns a copy of v, of one model instance or of all."""
        v = self._v_view(context)
        return v.copy() if model_instance is None else v[self._tree.velocity_indices(model_instance)]

    def GetPositionsAndVelocities(self, context: Any, model_instance: int | None = None) -> Array:
        """Returns a copy of [q; v], of one model instance or of all."""
        if model_instance is None:
            return self._workspace(context).x.copy()
        parts = self.GetPositions(context, model_instance), self.GetVelocities(context, model_instance)
        return np.concatenate(parts)

    @overload
    def SetPositions(self, context: Any, q: ArrayLike) -> None: ...
    @overload
    def SetPositions(self, context: Any, model_instance: int, q: ArrayLike) -> None: ...
    def SetPositions(self, context: Any, model_instance: Any = _MISSING, q: Any = _MISSING) -> None:  # type: ignore[misc]
        """Sets q of the plant, or of one model instance.

        Raises:
            ValueError: wrong size, a value is not finite, or a quaternion is zero.
            TypeError: other arguments, or complex numbers for a context of floats.
        """
        try:  # as it often is: a vector for the whole plant
            w = context.workspace if q is _MISSING and context.system is self else None
        except AttributeError:
            w = None
        if w is not None and not (store := w.store).computing and w.write_q(model_instance):
            store.invalid |= w.down[w.q_node]
            return
        instance, given = _instance_and_vector("SetPositions", "q", model_instance, q)
        positions = self._whole_positions("SetPositions", self._q_view(context), instance, given)
        self._mutable_q_view(context)[:] = positions

    @overload
    def SetVelocities(self, context: Any, v: ArrayLike) -> None: ...
    @overload
    def SetVelocities(self, context: Any, model_instance: int, v: ArrayLike) -> None: ...
    def SetVelocities(self, context: Any, model_instance: Any = _MISSING, v: Any = _MISSING) -> None:  # type: ignore[misc]
        """Sets v of the plant, or of one model instance.

        Raises:
            ValueError: wrong size, or a value is not finite.
            TypeError: other arguments, or complex numbers for a context of floats.
        """
        try:  # as it often is: a vector for the whole plant
            w = context.workspace if v is _MISSING and context.system is self else None
        except AttributeError:
            w = None
        if w is not None and not (store := w.store).computing and w.write_v(model_instance):
            store.invalid |= w.down[w.v_node]
            return
        instance, given = _instance_and_vector("SetVelocities", "v", model_instance, v)
        view = self._v_view(context)
        indices = self._tree.velocity_indices(instance)
        values = self._checked_vector("SetVelocities", given, len(indices), view.dtype)
        self._mutable_v_view(context)[indices] = values

    @overload
    def SetPositionsAndVelocities(self, context: Any, q_v: ArrayLike) -> None: ...
    @overload
    def SetPositionsAndVelocities(self, context: Any, model_instance: int, q_v: ArrayLike) -> None: ...
    def SetPositionsAndVelocities(  # type: ignore[misc]
        self, context: Any, model_instance: Any = _MISSING, q_v: Any = _MISSING
    ) -> None:
        """Sets [q; v] of the plant, or of one model instance.

        Raises:
            ValueError: wrong size, a value is not finite, or a quaternion is zero.
            TypeError: other arguments, or complex numbers for a context of floats.
        """
        try:  # as it often is: a vector for the whole plant
            w = context.workspace if q_v is _MISSING and context.system is self else None
        except AttributeError:
            w = None
        if w is not None and not (store := w.store).computing and w.write_x(model_instance):
            store.invalid |= w.down[w.q_node] | w.down[w.v_node]
            return
        caller = "SetPositionsAndVelocities"
        w = self._workspace(context)
        if q_v is _MISSING and not (w.is_numeric or w.store.computing):
            given = model_instance
            is_plain = type(given) is _NDARRAY and given.dtype is _OBJECT and given.shape == w.x_shape
            if is_plain and w.write_state(given):
                store.invalid |= w.down[w.q_node] | w.down[w.v_node]
                return
        instance, given = _instance_and_vector(caller, "q_v", model_instance, q_v)
        num_q = self._tree.num_positions(instance)
        values = self._checked_vector(caller, given, self.num_multibody_states(instance), w.dtype)
        q = self._whole_positions(caller, w.q, instance, values[:num_q])
        self._mutable_q_view(context)[:] = q
        self._mutable_v_view(context)[self._tree.velocity_indices(instance)] = values[num_q:]

    def _whole_positions(self, caller: str, q: Array, instance: int | None, given: ArrayLike) -> Array:
        """q of the plant with the given positions of one model instance, or of all, put in, checked."""
        if instance is None:
            q = self._checked_vector(caller, given, len(q), q.dtype)
        else:
            indices = self._tree.position_indices(instance)
            q = q.copy()
            q[indices] = self._checked_vector(caller, given, len(indices), q.dtype)
        for start, name in self._quaternions.items():
            if not q[start : start + 4].any():
                raise ValueError(
                    f"{caller}(): the quaternion of joint '{name}' of plant '{self.GetSystemPathname()}' is "
                    "zero, so it gives no orientation."
                )
        return q

    # ------------------------------------------------------------------ checks

    def _check_pitches(self, what: str, w: Workspace) -> None:
        """Refuses states in which roll, pitch and yaw have no rates: where the cosine of the pitch is below 1e-3."""
        for position, name in self._pitches.items():
            if w.dtype != object and abs(math.cos(w.q[position].real)) < _SMALLEST_COSINE:
                raise RuntimeError(
                    f"{what} of plant '{self.GetSystemPathname()}' is singular: joint '{name}' is at a pitch of "
                    f"{w.q[position].real} rad, where the rates of roll, pitch and yaw are not defined. Keep the "
                    "pitch away from a quarter turn, or use a QuaternionFloatingJoint, which has no such place."
                )

    def _checked_vector(self, caller: str, values: ArrayLike, size: int, dtype: Any) -> Array:
        """`values` as an array of shape [size], checked to be finite numbers.

        Args:
            caller: name of the function for messages.
            values: what was given; a row or column will do.
            size: how many there should be.
            dtype: scalar type of the result.
        """
        array = np.ascontiguousarray(values)
        if array.dtype is not dtype and array.dtype != dtype:
            array = self._converted(caller, array, dtype)
        if array.shape != (size,):
            array = self._sized(caller, array, size)
        if array.dtype.kind in "fc" and not math.isfinite(abs(array.dot(array))) and not np.isfinite(array).all():
            bad = int(np.flatnonzero(~np.isfinite(array))[0])
            raise ValueError(
                f"{caller}(): element {bad} of the vector for plant '{self.GetSystemPathname()}' is "
                f"{array[bad]}; all must be finite."
            )
        return array

    def _sized(self, caller: str, values: ArrayLike, size: int) -> Array:
        """`values` as an array of shape [size]."""
        array = np.asarray(values)
        if array.size != size or (array.ndim > 1 and 1 not in array.shape):
            raise ValueError(
                f"{caller}(): plant '{self.GetSystemPathname()}' expects a vector of size {size}, got an "
                f"array of shape {array.shape}."
            )
        return array.reshape(size)

    def _converted(self, caller: str, array: Array, dtype: Any) -> Array:
        if array.dtype.kind == "c" and np.dtype(dtype).kind == "f":
            raise TypeError(
                f"{caller}(): plant '{self.GetSystemPathname()}' was given complex numbers, but computes "
                "with floats here."
            )
        try:
            return array.astype(dtype)
        except (TypeError, ValueError):
            raise TypeError(
                f"{caller}(): plant '{self.GetSystemPathname()}' expects a vector of numbers, got {array!r}."
            ) from None

    # ------------------------------------------------------------------ parts of arrays

    def GetPositionsFromArray(self, model_instance: int, q: ArrayLike) -> Array:
        """Returns the positions of a model instance out of those of the whole plant."""
        values = self._sized("GetPositionsFromArray", q, self._tree.num_positions())
        return values[self._tree.position_indices(model_instance)]

    def GetVelocitiesFromArray(self, model_instance: int, v: ArrayLike) -> Array:
        """Returns the velocities of a model instance out of those of the whole plant."""
        values = self._sized("GetVelocitiesFromArray", v, self._tree.num_velocities())
        return values[self._tree.velocity_indices(model_instance)]

    def GetActuationFromArray(self, model_instance: int, u: ArrayLike) -> Array:
        """Returns the inputs of a model instance out of those of the whole plant."""
        values = self._sized("GetActuationFromArray", u, self._tree.num_actuated_dofs())
        return values[self._tree.input_indices(model_instance)]

    def SetPositionsInArray(self, model_instance: int, q_instance: ArrayLike, q: Array) -> None:
        """Writes the positions of a model instance into those of the whole plant."""
        indices = self._tree.position_indices(model_instance)
        self._set_in_array("SetPositionsInArray", indices, q_instance, q, self._tree.num_positions())

    def SetVelocitiesInArray(self, model_instance: int, v_instance: ArrayLike, v: Array) -> None:
        """Writes the velocities of a model instance into those of the whole plant."""
        indices = self._tree.velocity_indices(model_instance)
        self._set_in_array("SetVelocitiesInArray", indices, v_instance, v, self._tree.num_velocities())

    def SetActuationInArray(self, model_instance: int, u_instance: ArrayLike, u: Array) -> None:
        """Writes the inputs of a model instance into those of the whole plant."""
        indices = self._tree.input_indices(model_instance)
        self._set_in_array("SetActuationInArray", indices, u_instance, u, self._tree.num_actuated_dofs())

    def _set_in_array(self, caller: str, indices: Array, part: ArrayLike, whole: Array, size: int) -> None:
        if not isinstance(whole, np.ndarray):
            raise TypeError(f"{caller}() writes into a numpy array, not into a {type(whole).__name__}.")
        if whole.shape != (size,):
            raise ValueError(
                f"{caller}(): the array to write into has shape {whole.shape}, but plant "
                f"'{self.GetSystemPathname()}' needs ({size},)."
            )
        whole[indices] = self._sized(caller, part, len(indices))

    # ------------------------------------------------------------------ defaults

    def SetDefaultState(self, context: Any, state: Any) -> None:
        """Sets positions to the defaults of the joints, and velocities to zero."""
        self._mutable_q_view(context)[:] = self._tree.default_positions()
        self._mutable_v_view(context)[:] = 0.0

    def SetDefaultParameters(self, context: Any, parameters: Any) -> None:
        """Sets mass properties, frames, damping and gravity to the defaults of the elements.

        Raises:
            RuntimeError: before Finalize().
        """
        self._require_finalized("a Context")
        workspace = self._workspace(context)
        scalar = np.complex128 if workspace.dtype == np.complex128 else np.float64
        self._mutable_parameters_view(context)[:] = self._tree.make_default_parameters(scalar)
        self._mutable_gravity_view(context)[:] = self._tree.gravity_vector()
        if len(workspace.constants):
            self._mutable_constants_view(context)[:] = self._tree.make_default_constants(scalar)
        if len(workspace.frames):
            context.get_mutable_numeric_parameter(self._frame_group)
            workspace.frames[:] = self._tree.make_default_frames(scalar)
        context.get_mutable_numeric_parameter(self._rotor_group).value()[:] = self._tree.default_rotors()

    def SetRandomState(self, context: Any, state: Any, generator: RandomGenerator) -> None:
        """Sets positions to numbers drawn from the distributions of the joints (those without one to their
        defaults), and velocities to zero.
        """
        q = self._mutable_q_view(context)
        for joint in self._tree.joints:
            start = joint.position_start()
            q[start : start + joint.num_positions()] = joint._draw_positions(generator)
        self._mutable_v_view(context)[:] = 0.0

    def GetDefaultPositions(self, model_instance: int | None = None) -> Array:
        """Returns the positions that new contexts start with, of one model instance or of all."""
        return self._tree.default_positions()[self._tree.position_indices(model_instance)]

    @overload
    def SetDefaultPositions(self, q: ArrayLike) -> None: ...
    @overload
    def SetDefaultPositions(self, model_instance: int, q_instance: ArrayLike) -> None: ...
    def SetDefaultPositions(  # type: ignore[misc]
        self, model_instance: Any = _MISSING, q_instance: Any = _MISSING, *, q: Any = _MISSING
    ) -> None:
        """Sets the positions that new contexts start with, of the plant or of one model instance.

        Raises:
            ValueError: wrong size, a value is not finite, or a quaternion is zero.
            TypeError: other arguments.
        """
        vector = q_instance if q is _MISSING else q
        instance, given = _instance_and_vector("SetDefaultPositions", "q", model_instance, vector)
        default = self._tree.default_positions()
        positions = self._whole_positions("SetDefaultPositions", default, instance, given)
        for joint in self._tree.joints:
            if joint.num_positions():
                start = joint.position_start()
                joint.set_default_positions(positions[start : start + joint.num_positions()])


def _workspace_class(T: type[Any]) -> type[Workspace]:
    """The kind of workspace for a scalar type; those for others than floats are imported when they are needed."""
    if T is float:
        return Workspace
    from merganser.multibody.plant.scalar_workspaces import AutoDiffWorkspace, SymbolicWorkspace

    return AutoDiffWorkspace if T.__name__ == "AutoDiffXd" else SymbolicWorkspace


def _instance_and_vector(caller: str, name: str, first: Any, second: Any) -> tuple[int | None, ArrayLike]:
    """The arguments (vector) or (model_instance, vector), where those that were not given are _MISSING."""
    if second is _MISSING and first is not _MISSING:
        return None, first
    if second is _MISSING:
        raise TypeError(f"{caller}() takes {name}, or model_instance and {name}, after the context (if it has one).")
    return None if first is _MISSING else first, second
