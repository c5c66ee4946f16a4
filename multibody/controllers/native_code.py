"""Controllers of plants in the native plan: their output as an operation (kernels/controller_operations.py)."""

from __future__ import annotations

import weakref
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from merganser.framework import later_code
from merganser.framework.core.native_code import FAILURE, OUTPUT, InputOf, NativeCode
from merganser.framework.later_code import LaterCode
from merganser.framework.native import kernel_address
from merganser.framework.native.addresses import address_of_array
from merganser.multibody import kernels

if TYPE_CHECKING:
    from merganser.multibody.controllers.plant_model import PlantModel

__all__ = ["ControllerCode"]

Array = NDArray[Any]
_CONTROLLER = LaterCode("merganser.multibody.kernels.controller_operations", "CONTROLLER", "plant_controller")


class _Room:
    """What the operation works on, in one Context."""

    def __init__(self, w: Any) -> None:
        self.workspace = w
        self.position, self.velocity, self.scratch = w.position.copy(), w.velocity.copy(), w.scratch.copy()
        self.F_applied, self.F_work = np.zeros_like(w.zeros_F), np.zeros_like(w.zeros_F)
        self.tau_applied, self.tau, self.no_gravity = np.zeros_like(w.v), np.zeros_like(w.v), np.zeros(3)


class ControllerCode:
    """The output of a controller as an operation; there is none for plants with loops of joints.

    Args:
        model: the plant, with a context in each Context of the controller.
        mode: which controller, one of the names in kernels/controller_operations.py.
        gains: kp, kd and the inverse of the actuation matrix, for joint stiffness only.
    """

    operation = ""

    def __init__(self, model: PlantModel, mode: str, gains: Sequence[Array] = ()) -> None:
        self._model, self._mode, self._gains = model, mode, tuple(gains)
        later_code.want(_CONTROLLER)
        self._codes: weakref.WeakKeyDictionary[Any, tuple[NativeCode, _Room]] = weakref.WeakKeyDictionary()

    def __reduce__(self) -> Any:
        return ControllerCode, (self._model, self._mode, self._gains)  # a copy of a system has no contexts yet

    def resolve(self, context: Any) -> NativeCode | None:
        """The operation in a Context; None if there is none, or if it is not worth while to compile it."""
        plant = self._model.plant
        if plant._dynamics.has_multipliers or context.store.flat.dtype != np.float64:
            return None
        from merganser.multibody.kernels import controller_operations as o

        if not _CONTROLLER.is_worth_while():
            return None
        if context not in self._codes:
            room = _Room(plant._views.workspace(self._model.context(context)))
            self._codes[context] = NativeCode(o.CONTROLLER, self._arguments(o, room)), room
        return self._codes[context][0]

    def _arguments(self, o: Any, room: _Room) -> tuple[Any, ...]:
        """The integers of the operation, as kernels/controller_operations.py numbers them."""
        plant, w, mode = self._model.plant, room.workspace, getattr(o, self._mode)
        f: list[Any] = [0] * o.NUM_FIELDS
        f[o.FAILURE], f[o.MODE], f[o.RESULT] = FAILURE, mode, OUTPUT
        f[o.STATE], f[o.COMMAND] = InputOf(0), 0 if mode == o.GRAVITY_COMPENSATION else InputOf(1)
        f[o.NUM_MOBODS], f[o.NUM_PARAMETERS] = len(w.topology), len(w.parameters)
        f[o.NUM_Q], f[o.NUM_V] = len(w.q), len(w.v)
        f[o.NUM_ELEMENTS], f[o.NUM_QUATERNIONS] = len(plant._tree.elements), len(w.quaternion_starts)
        for field, array in (
            (o.TOPOLOGY, w.topology), (o.PARAMETERS, w.parameters), (o.GRAVITY, w.gravity),
            (o.ELEMENTS, plant._tree.elements), (o.CONSTANTS, w.constants), (o.QUATERNIONS, w.quaternion_starts),
            (o.POSITION, room.position), (o.VELOCITY, room.velocity), (o.SCRATCH, room.scratch),
            (o.F_APPLIED, room.F_applied), (o.F_WORK, room.F_work), (o.TAU_APPLIED, room.tau_applied),
            (o.TAU, room.tau), (o.NO_GRAVITY, room.no_gravity),
        ):  # fmt: skip
            f[field] = address_of_array(array)
        if self._gains:
            f[o.KP], f[o.KD], f[o.B_INVERSE] = self._gains
        model, motion = (w.topology, w.parameters), (room.position, room.velocity)
        f[o.KINEMATICS] = kernel_address(kernels.kinematics, *model, w.q, w.v, *motion)
        if len(plant._tree.elements):
            elements = (plant._tree.elements, w.constants, 0, len(plant._tree.elements), w.q, w.v, *motion)
            forces = (room.tau_applied, room.F_applied)
            f[o.FORCE_ELEMENTS] = kernel_address(kernels.force_elements, *elements, *forces, *forces)
        f[o.FORCES] = self._forces(o, mode, room)
        return tuple(f)

    def _forces(self, o: Any, mode: int, room: _Room) -> int:
        """The address of the kernel that the mode calls."""
        w = room.workspace
        if mode == o.INVERSE_DYNAMICS:
            known = (w.topology, w.parameters, room.no_gravity, room.position, room.velocity, w.v, room.F_applied)
            return kernel_address(kernels.inverse_dynamics, *known, room.scratch, room.tau)
        if mode == o.GRAVITY_COMPENSATION:
            model = (w.topology, w.parameters, w.gravity)
            return kernel_address(kernels.gravity_forces, *model, room.position, room.scratch, room.tau)
        return kernel_address(
            kernels.generalized_forces, w.topology, room.position, room.F_applied, room.F_work, room.tau
        )
