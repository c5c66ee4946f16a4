"""MechanismState: a plant in one of its states."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from merganser.multibody.plant import MultibodyPlant
from merganser.multibody.plant.arguments import checked_vector
from merganser.multibody.plant.workspace import Workspace

if TYPE_CHECKING:
    from merganser.framework import Context

Array = NDArray[Any]
_NONE: Mapping[str, Any] = MappingProxyType({})


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
