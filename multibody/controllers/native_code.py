"""Controllers of plants in the native plan: their output as an operation (kernels/operations.py)."""

from __future__ import annotations

import weakref
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from merganser.framework.core.context.native_code import FAILURE, OUTPUT, InputOf, NativeCode
from merganser.framework.native.compiler.when_to_compile import OptionalCode, want
from merganser.framework.native.memory.hinted_types import hinted_address
from merganser.framework.native.memory.records_of_arrays import Placed, integers_of
from merganser.multibody import kernels

if TYPE_CHECKING:
    from merganser.framework import Context
    from merganser.multibody.plant.scratch_plant import ScratchPlant

Array = NDArray[Any]
_CONTROLLER = OptionalCode("merganser.multibody.kernels.operations", "CONTROLLER", "plant_controller")


class _Buffers:
    """What the operation works on, in one Context."""

    def __init__(self, w: Any, gains: Sequence[Array]) -> None:
        self.workspace, nothing = w, np.zeros(0)
        kp, kd, B_inverse = gains or (nothing, nothing, np.zeros((0, 0)))
        self.gains = kp, kd, np.ascontiguousarray(B_inverse)
        self.position, self.velocity, self.scratch = w.position.copy(), w.velocity.copy(), w.scratch.copy()
        self.F_applied, self.F_work = np.zeros_like(w.zeros_F), np.zeros_like(w.zeros_F)
        self.tau_applied, self.tau, self.no_gravity = np.zeros_like(w.v), np.zeros_like(w.v), np.zeros(3)


class ControllerCode:
    """The output of a controller as an operation; not for plants with constraints in continuous time.

    Args:
        model: the plant, with a context in each Context of the controller.
        mode: which controller, one of the names in kernels/operations.py.
        gains: kp, kd and the inverse of the actuation matrix, for joint stiffness only.
    """

    operation = ""

    def __init__(self, model: ScratchPlant, mode: str, gains: Sequence[Array] = ()) -> None:
        self._model, self._mode, self._gains = model, mode, tuple(gains)
        want(_CONTROLLER)
        self._codes: weakref.WeakKeyDictionary[Any, tuple[NativeCode, _Buffers]] = weakref.WeakKeyDictionary()

    def __reduce__(self) -> Any:
        return ControllerCode, (self._model, self._mode, self._gains)  # a copy of a system has no contexts yet

    def resolve(self, context: Context) -> NativeCode | None:
        """The operation in a Context; None without one, or if it is not compiled."""
        plant = self._model.plant
        is_known = not (plant._dynamics.has_multipliers or plant._tree.has_armature())
        if not is_known or context.store.flat.dtype != np.float64:
            return None
        from merganser.multibody.kernels import operations as o

        if not _CONTROLLER.is_usable():
            return None
        if context not in self._codes:
            buffers = _Buffers(plant._views.workspace(self._model.context(context)), self._gains)
            self._codes[context] = NativeCode(o.CONTROLLER, self._arguments(o, buffers)), buffers
        return self._codes[context][0]

    def _arguments(self, o: Any, buffers: _Buffers) -> tuple[Any, ...]:
        """The integers of the operation."""
        plant, w, mode = self._model.plant, buffers.workspace, getattr(o, self._mode)
        elements, num_q, num_v = plant._tree.elements, len(w.q), len(w.v)
        commands = {o.INVERSE_DYNAMICS: Placed(InputOf(1), (num_v,)), o.STIFFNESS: Placed(InputOf(1), (2 * num_v,))}
        forces = {
            o.INVERSE_DYNAMICS: kernels.inverse_dynamics,
            o.GRAVITY_COMPENSATION: kernels.gravity_forces,
            o.STIFFNESS: kernels.generalized_forces,
        }
        kp, kd, B_inverse = buffers.gains
        record = o.ControllerRecord(
            mode=mode,
            kinematics=hinted_address(kernels.kinematics),
            force_elements=hinted_address(kernels.force_elements) if len(elements) else 0,
            forces=hinted_address(forces[mode]),
            topology=w.topology, parameters=w.parameters, gravity=w.gravity, elements=elements, constants=w.constants,
            quaternions=w.quaternion_starts,
            q=Placed(InputOf(0), (num_q,)),
            v=Placed(InputOf(0), (num_v,), num_q),
            command=commands.get(mode, Placed(0, (0,))),
            result=Placed(OUTPUT, (num_v,)),
            position=buffers.position, velocity=buffers.velocity, scratch=buffers.scratch, F_applied=buffers.F_applied,
            F_work=buffers.F_work, tau_applied=buffers.tau_applied, tau=buffers.tau, no_gravity=buffers.no_gravity,
            kp=kp, kd=kd, B_inverse=B_inverse,
        )  # fmt: skip
        return FAILURE, *integers_of(record)
