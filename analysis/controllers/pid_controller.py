"""PidController: feedback of position errors, their integrals and velocity errors."""

from __future__ import annotations

from typing import Any, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray

from merganser.framework.core.arguments import bind_overload
from merganser.framework.core.context import Context
from merganser.framework.core.inside import use_native_derivatives
from merganser.framework.core.leaf_system import LeafSystem
from merganser.framework.core.native_code import CONTINUOUS_STATE, OUTPUT, InputOf, NativeCode
from merganser.framework.core.ports import InputPort, LeafOutputPort
from merganser.framework.core.state import ContinuousState
from merganser.framework.core.values import BasicVector
from merganser.framework.primitives._arguments import checked_matrix, checked_vector
from merganser.framework.primitives._scalar_functions import left_to_right_product

__all__ = ["PidController"]

Array = NDArray[Any]
_GAINS = ("kp", "ki", "kd")


class PidController(LeafSystem):
    """Proportional, integral and derivative feedback of a state (q, v).

    With x the estimated state at input port 'estimated_state' and x_d = (q_d, v_d) the one at 'desired_state',

        (e, edot) = x_d - P_x x,                            (1)
        dz/dt = e,                                          (2)
        control = P_y (kp e + ki z + kd edot),              (3)

    element by element. z, the integral of the position error, is the continuous state, zero by default. P_x selects
    the controlled state, P_y spreads the commands over the elements of output port 'control'; both are identities
    where they are not given.

    Args:
        state_projection: P_x, shape [2 n, size of the estimated state].
        output_projection: P_y, shape [size of the control, n].
        kp: proportional gains, shape [n].
        ki: integral gains, shape [n].
        kd: derivative gains, shape [n].

    The arguments come as (kp, ki, kd), as (state_projection, kp, ki, kd), or all five.

    Raises:
        ValueError: sizes do not fit together, or an element is not a number.
    """

    @overload
    def __init__(self, kp: ArrayLike, ki: ArrayLike, kd: ArrayLike) -> None: ...
    @overload
    def __init__(self, state_projection: ArrayLike, kp: ArrayLike, ki: ArrayLike, kd: ArrayLike) -> None: ...
    @overload
    def __init__(
        self,
        state_projection: ArrayLike,
        output_projection: ArrayLike,
        kp: ArrayLike,
        ki: ArrayLike,
        kd: ArrayLike,
    ) -> None: ...
    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__()
        names = ("state_projection", "output_projection")[: max(len(args) + len(kwargs) - len(_GAINS), 0)] + _GAINS
        given = bind_overload("PidController", names, {}, args, kwargs)
        self._kp, self._ki, self._kd = (checked_vector(given[name], f"PidController: {name}") for name in _GAINS)
        n = self._kp.size
        if not n == self._ki.size == self._kd.size:
            raise ValueError(
                f"PidController: kp, ki and kd must have equally many elements; got {n}, {self._ki.size} and "
                f"{self._kd.size}."
            )
        self._state_projection = _projection(given, "state_projection", 0, 2 * n)
        self._output_projection = _projection(given, "output_projection", 1, n)
        num_states = 2 * n if self._state_projection is None else self._state_projection.shape[1]
        num_commands = n if self._output_projection is None else self._output_projection.shape[0]
        self._estimated = self.DeclareVectorInputPort("estimated_state", num_states)
        self._desired = self.DeclareVectorInputPort("desired_state", 2 * n)
        self.DeclareContinuousState(n)
        prerequisites = {self.all_input_ports_ticket(), self.xc_ticket()}
        self._control = self.DeclareVectorOutputPort("control", num_commands, self._calc_control, prerequisites)
        self._declare_native(n, num_states, num_commands)

    def _declare_native(self, n: int, num_states: int, num_commands: int) -> None:
        nothing, P_x, P_y = np.zeros(0), self._state_projection, self._output_projection
        errors = (0 if P_x is None else num_states, nothing if P_x is None else P_x, InputOf(0), InputOf(1), n)
        use_native_derivatives(self, NativeCode("state_error", (*errors, OUTPUT)))
        command = (*errors, self._kp, self._ki, self._kd, CONTINUOUS_STATE)
        rows = (0, nothing) if P_y is None else (num_commands, P_y)
        self._control.cache_entry().use_native(NativeCode("pid_control", (*command, *rows, OUTPUT)))

    def get_Kp_vector(self) -> Array:
        """Returns the proportional gains, shape [n]."""
        return self._kp.copy()

    def get_Ki_vector(self) -> Array:
        """Returns the integral gains, shape [n]."""
        return self._ki.copy()

    def get_Kd_vector(self) -> Array:
        """Returns the derivative gains, shape [n]."""
        return self._kd.copy()

    def get_input_port_estimated_state(self) -> InputPort:
        """Returns the input port of the estimated state."""
        return self._estimated

    def get_input_port_desired_state(self) -> InputPort:
        """Returns the input port of the desired state, shape [2 n]."""
        return self._desired

    def get_output_port_control(self) -> LeafOutputPort:
        """Returns the output port of the commands."""
        return self._control

    def _errors(self, context: Context) -> tuple[Array, Array]:
        """(1): position errors e and velocity errors edot, shapes [n]."""
        x = self._estimated.EvalBasicVector(context).value()
        x_d = self._desired.EvalBasicVector(context).value()
        if self._state_projection is not None:
            x = left_to_right_product(self._state_projection, x)
        error = x_d - x
        n = self._kp.size
        return error[:n], error[n:]

    def DoCalcTimeDerivatives(self, context: Context, derivatives: ContinuousState) -> None:
        e, _ = self._errors(context)
        derivatives.SetFromVector(e)  # (2)

    def _calc_control(self, context: Context, output: BasicVector) -> None:
        e, edot = self._errors(context)
        z = context.get_continuous_state_vector().value()
        # (3), summed from left to right: (kp e + ki z) + kd edot.
        control = self._kp * e + self._ki * z + self._kd * edot
        if self._output_projection is not None:
            control = left_to_right_product(self._output_projection, control)
        output.SetFromVector(control)


def _projection(given: dict[str, Any], name: str, axis: int, size: int) -> Array | None:
    """The matrix of that name, with `size` rows (axis 0) or columns (axis 1); None if it was not given."""
    if name not in given:
        return None
    shape = list(np.shape(given[name]))
    if len(shape) != 2 or 0 in shape or shape[axis] != size:
        wanted = f"({size}, any)" if axis == 0 else f"(any, {size})"
        raise ValueError(
            f"PidController: {name} must have shape {wanted} to fit gains of {size // (2 - axis)} elements, got "
            f"{tuple(shape)}."
        )
    return checked_matrix(given[name], shape[0], shape[1], f"PidController: {name}")
