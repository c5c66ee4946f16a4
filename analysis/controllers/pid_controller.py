"""PidController: feedback of position errors, their integrals and velocity errors."""

from __future__ import annotations

from typing import Any, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray

from merganser.framework.core.declarations.native_function import native
from merganser.framework.core.declarations.native_wires import PartOf
from merganser.framework.core.declarations.ports import InputPort, LeafOutputPort
from merganser.framework.core.scalars.element_functions import elements
from merganser.framework.core.system.leaf_system import LeafSystem
from merganser.framework.core.values.arguments import bind_overload
from merganser.framework.core.values.values import BasicVector
from merganser.framework.primitives._arguments import checked_matrix, checked_vector
from merganser.framework.primitives.linear_system import multiplied

Array = NDArray[Any]
_GAINS = ("kp", "ki", "kd")


@native
def position_error(q: Array, q_d: Array, zdot: Array) -> None:
    """(2): dz/dt = e."""
    for i in elements(zdot):
        zdot[i] = q_d[i] - q[i]


@native
def pid_command(
    q: Array, v: Array, q_d: Array, v_d: Array, xc: Array, kp: Array, ki: Array, kd: Array, command: Array
) -> None:
    """kp e + ki z + kd edot of (3), with z the continuous state."""
    for i in elements(command):
        command[i] = kp[i] * (q_d[i] - q[i]) + ki[i] * xc[i] + kd[i] * (v_d[i] - v[i])


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
        integral: Any = self.DeclareContinuousState(n)
        state: Any = self._estimated
        anything = {self.all_sources_ticket()}
        if self._state_projection is not None:
            selected = multiplied.given(M=self._state_projection, v=self._estimated)
            state = self._sys_declare_entry("selected state", BasicVector(np.zeros(2 * n)), selected, anything)
        q, v, q_d, v_d = (PartOf(x, first, n) for x in (state, self._desired) for first in (0, n))
        if n:
            self._sys_declare_derivatives(position_error.given(q_d=q_d, q=q), of=PidController)
        command = pid_command.given(q_d=q_d, v_d=v_d, q=q, v=v, kp=self._kp, ki=self._ki, kd=self._kd)
        command = command.given(xc=integral if n else np.zeros(0))
        if self._output_projection is not None:
            entry = self._sys_declare_entry("commands", BasicVector(np.zeros(n)), command, anything)
            command = multiplied.given(M=self._output_projection, v=entry)
        self._control = self.DeclareVectorOutputPort("control", num_commands, command)

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
