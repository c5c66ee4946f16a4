"""Reading and writing positions, velocities and poses of free bodies in a Context."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from merganser.framework.core.dependencies import Q, V
from merganser.framework.math import RigidTransform
from merganser.multibody.math import SpatialVelocity
from merganser.multibody.plant.model import PlantModel
from merganser.multibody.plant.workspace import Workspace
from merganser.multibody.tree import RigidBody

__all__ = ["PlantState"]

Array = NDArray[Any]


class PlantState(PlantModel):
    """State of a MultibodyPlant: x = [q; v], continuous or discrete.

    Every `Set...` function checks sizes and refuses values that are not finite before it changes anything.
    """

    _time_step: float
    _parameter_group: int
    _gravity_group: int

    # ------------------------------------------------------------------ views for elements and kernels

    def _workspace(self, context: Any) -> Workspace:
        """The arrays of this plant in its own context."""
        if context._system is not self:
            self._check_context(context)
        if context._workspace is None:
            self._require_finalized("a computation")
            x = context._discrete._items[0]._values if self._time_step > 0.0 else context._xc._vector._values
            context._workspace = Workspace(
                self._tree.topology, context, x, self._tree.num_positions(), self._parameter_group, self._gravity_group
            )
            self._attach_slots(context, context._workspace)
        return context._workspace  # type: ignore[no-any-return]

    def _attach_slots(self, context: Any, workspace: Workspace) -> None:
        workspace.position_slot = context._slots[self._position_entry]
        workspace.velocity_slot = context._slots[self._velocity_entry]

    _position_entry: int
    _velocity_entry: int
    _state_node: int  # of the discrete state, see framework/core/dependencies.py

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
        context._store.change(context._layout.down_nodes[node], context)

    def _parameters_view(self, context: Any) -> Array:
        return self._workspace(context).parameters

    def _mutable_parameters_view(self, context: Any) -> Array:
        workspace = self._workspace(context)
        context.get_mutable_numeric_parameter(self._parameter_group)
        return workspace.parameters

    def _require_finalized(self, what: str) -> None:
        if not self._tree.is_finalized():
            raise RuntimeError(
                f"Plant '{self.GetSystemPathname()}': {what} needs a finalized plant; call Finalize() once all elements "
                "have been added."
            )

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
        return np.concatenate([self.GetPositions(context, model_instance), self.GetVelocities(context, model_instance)])

    def SetPositions(self, context: Any, *args: Any) -> None:
        """`SetPositions(context, q)`, or `SetPositions(context, model_instance, q_instance)`.

        Raises:
            ValueError: wrong size, or a value is not finite.
        """
        self._set("SetPositions", self._tree.position_indices, self._mutable_q_view, context, *args)

    def SetVelocities(self, context: Any, *args: Any) -> None:
        """`SetVelocities(context, v)`, or `SetVelocities(context, model_instance, v_instance)`.

        Raises:
            ValueError: wrong size, or a value is not finite.
        """
        self._set("SetVelocities", self._tree.velocity_indices, self._mutable_v_view, context, *args)

    def SetPositionsAndVelocities(self, context: Any, *args: Any) -> None:
        """`SetPositionsAndVelocities(context, q_v)`, or `(context, model_instance, q_v)`.

        Raises:
            ValueError: wrong size, or a value is not finite.
        """
        instance, q_v = args if len(args) == 2 else (None, args[0])
        num_q = self._tree.num_positions(instance)
        values = self._checked_vector("SetPositionsAndVelocities", q_v, self.num_multibody_states(instance))
        if instance is None:
            self._mutable_q_view(context)[:] = values[:num_q]
            self._mutable_v_view(context)[:] = values[num_q:]
        else:
            self.SetPositions(context, instance, values[:num_q])
            self.SetVelocities(context, instance, values[num_q:])

    def _set(self, caller: str, indices_of: Any, view_of: Any, context: Any, *args: Any) -> None:
        if len(args) == 1:
            size = len(self._workspace(context).q if caller == "SetPositions" else self._workspace(context).v)
            values = self._checked_vector(caller, args[0], size)
            view_of(context)[:] = values
        else:
            indices = indices_of(args[0])
            values = self._checked_vector(caller, args[1], len(indices))
            view_of(context)[indices] = values

    def _checked_vector(self, caller: str, values: ArrayLike, size: int) -> Array:
        array = np.asarray(values)
        if array.shape != (size,):
            if array.size != size or array.ndim > 2:
                raise ValueError(
                    f"{caller}(): plant '{self.GetSystemPathname()}' expects a vector of size {size}, got an array of "
                    f"shape {array.shape}."
                )
            array = array.reshape(size)
        if array.dtype == np.float64 and not math.isfinite(array.dot(array)) and not np.isfinite(array).all():
            bad = int(np.flatnonzero(~np.isfinite(array))[0])
            raise ValueError(
                f"{caller}(): element {bad} of the vector for plant '{self.GetSystemPathname()}' is {array[bad]}; all "
                "must be finite."
            )
        return array

    # ------------------------------------------------------------------ parts of arrays

    def GetPositionsFromArray(self, model_instance: int, q: ArrayLike) -> Array:
        """Returns the positions of a model instance out of those of the whole plant."""
        values = self._checked_vector("GetPositionsFromArray", q, self._tree.num_positions())
        return values[self._tree.position_indices(model_instance)]

    def GetVelocitiesFromArray(self, model_instance: int, v: ArrayLike) -> Array:
        """Returns the velocities of a model instance out of those of the whole plant."""
        values = self._checked_vector("GetVelocitiesFromArray", v, self._tree.num_velocities())
        return values[self._tree.velocity_indices(model_instance)]

    def GetActuationFromArray(self, model_instance: int, u: ArrayLike) -> Array:
        """Returns the inputs of a model instance out of those of the whole plant."""
        values = self._checked_vector("GetActuationFromArray", u, self._tree.num_actuated_dofs())
        return values[self._tree.input_indices(model_instance)]

    def SetPositionsInArray(self, model_instance: int, q_instance: ArrayLike, q: Array) -> None:
        """Writes the positions of a model instance into those of the whole plant."""
        indices = self._tree.position_indices(model_instance)
        q[indices] = self._checked_vector("SetPositionsInArray", q_instance, len(indices))

    def SetVelocitiesInArray(self, model_instance: int, v_instance: ArrayLike, v: Array) -> None:
        """Writes the velocities of a model instance into those of the whole plant."""
        indices = self._tree.velocity_indices(model_instance)
        v[indices] = self._checked_vector("SetVelocitiesInArray", v_instance, len(indices))

    def SetActuationInArray(self, model_instance: int, u_instance: ArrayLike, u: Array) -> None:
        """Writes the inputs of a model instance into those of the whole plant."""
        indices = self._tree.input_indices(model_instance)
        u[indices] = self._checked_vector("SetActuationInArray", u_instance, len(indices))

    # ------------------------------------------------------------------ defaults

    def SetDefaultState(self, context: Any, state: Any) -> None:
        """Sets positions to the defaults of the joints, and velocities to zero."""
        if self._tree.is_finalized():
            self._mutable_q_view(context)[:] = self._tree.default_positions()
            self._mutable_v_view(context)[:] = 0.0

    def SetDefaultParameters(self, context: Any, parameters: Any) -> None:
        """Sets mass properties, frames, damping and gravity to the defaults of the elements."""
        if self._tree.is_finalized():
            workspace = self._workspace(context)
            workspace.parameters[:] = self._tree.make_default_parameters(workspace.dtype)
            workspace.gravity[:] = self._tree.gravity_vector()

    def GetDefaultPositions(self, model_instance: int | None = None) -> Array:
        """Returns the positions that new contexts start with, of one model instance or of all."""
        return self._tree.default_positions()[self._tree.position_indices(model_instance)]

    def SetDefaultPositions(self, *args: Any) -> None:
        """`SetDefaultPositions(q)`, or `SetDefaultPositions(model_instance, q_instance)`.

        Raises:
            ValueError: wrong size, or a value is not finite.
        """
        instance, values = args if len(args) == 2 else (None, args[0])
        indices = self._tree.position_indices(instance)
        q = self._tree.default_positions()
        q[indices] = self._checked_vector("SetDefaultPositions", values, len(indices))
        for joint in self._tree.joints:
            if joint.num_positions():
                start = joint.position_start()
                joint.set_default_positions(q[start : start + joint.num_positions()])

    # ------------------------------------------------------------------ free bodies

    def SetFreeBodyPose(self, context: Any, body: RigidBody, X_PB: RigidTransform) -> None:
        """Sets the pose X_WB of a free body.

        Raises:
            RuntimeError: the body is not free.
        """
        self._free_joint("SetFreeBodyPose", body).SetPose(context, X_PB)

    SetFloatingBaseBodyPoseInWorldFrame = SetFreeBodyPose

    def GetFreeBodyPose(self, context: Any, body: RigidBody) -> RigidTransform:
        """Returns the pose X_WB of a free body.

        Raises:
            RuntimeError: the body is not free.
        """
        return self._free_joint("GetFreeBodyPose", body).GetPose(context)  # type: ignore[no-any-return]

    def SetFreeBodySpatialVelocity(self, *args: Any, **kwargs: Any) -> None:
        """`SetFreeBodySpatialVelocity(context, body, V_PB)` or `(body, V_PB, context)`: sets V_WB_W of a free body.

        Raises:
            RuntimeError: the body is not free.
        """
        context, body, V_PB = _in_order(args, kwargs)
        self._free_joint("SetFreeBodySpatialVelocity", body).SetSpatialVelocity(context, V_PB)

    def _free_joint(self, caller: str, body: RigidBody) -> Any:
        self._require_finalized(caller)
        if not (body.is_floating_base_body() and body.has_quaternion_dofs()):
            raise RuntimeError(f"{caller}(): body '{body.name()}' is not free: a joint connects it to another body.")
        return body._inboard_joint


def _in_order(args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Any, RigidBody, SpatialVelocity]:
    given = [*args, *kwargs.values()]
    body = next((value for value in given if isinstance(value, RigidBody)), None)
    V_PB = next((value for value in given if isinstance(value, SpatialVelocity)), None)
    context = next((value for value in given if value is not body and value is not V_PB), None)
    if body is None or V_PB is None or len(given) != 3:
        raise TypeError("SetFreeBodySpatialVelocity() takes a context, a RigidBody and a SpatialVelocity.")
    return context, body, V_PB
