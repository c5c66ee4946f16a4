"""Derivatives of inverse and forward dynamics by the chain rule, from those in closed form.

With D_x the derivatives of x by the variables of the moment, one row an element,

    D_tau = dtau/dq N+(q) D_q + dtau/dv D_v + M D_vdot                                      (1)
    D_vdot = dvdot/dq N+(q) D_q + dvdot/dv D_v + M^-1 D_tau                                 (2)

with dtau/dq and so on from kernels/inverse_dynamics_derivatives.py. That is one call on floats, where the complex step
takes one on complex numbers for each variable: with the 14 of an arm of seven joints, inverse dynamics take 55 % of the
time, conversion of the arrays included. It needs parameters and applied spatial forces without derivatives; otherwise
the complex step is taken.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from merganser.framework.native import specialize
from merganser.multibody import kernels
from merganser.multibody.kernels import layout
from merganser.multibody.kernels.inverse_dynamics_derivatives import sensitivity_dtype
from merganser.multibody.kernels.lanes import load_compiled, over_lanes
from merganser.multibody.plant.derivative_lanes import merge_numbers, refuse_counts, split_numbers

__all__ = ["ChainRules"]

Array = NDArray[Any]
_WITH_RATES_OF_THEIR_OWN = (layout.QUATERNION_FLOATING, layout.BALL_RPY, layout.RPY_FLOATING)  # where qdot is not v


class ChainRules:
    """The dynamics of a plant on floats, with derivatives.

    Args:
        topology: records of the mobilized bodies.
        parameters: records of complex numbers, of which the imaginary parts do not count, shape [num_records].
        gravity: complex numbers too, shape [3].
    """

    def __init__(self, topology: Array, parameters: Array, gravity: Array) -> None:
        num_mobods = len(topology)
        self._topology = topology
        self._gravity = np.ascontiguousarray(gravity.real)
        self._zero_gravity = np.zeros(3)
        self._num_v = int(topology["num_v"].sum())
        self._has_simple_rates = not np.isin(topology["mobilizer"], _WITH_RATES_OF_THEIR_OWN).any()
        self._parameters = np.zeros(len(parameters), layout.parameter_dtype())
        for name in parameters.dtype.names or ():
            self._parameters[name] = parameters[name].real
        self._undamped = self._parameters.copy()
        self._undamped["damping"] = 0.0
        self._position = np.zeros(num_mobods, layout.position_dtype())
        self._velocity = np.zeros(num_mobods, layout.velocity_dtype())
        self._scratch = np.zeros(num_mobods, layout.scratch_dtype())
        self._sensitivity = np.zeros(num_mobods, sensitivity_dtype())
        self._room = np.zeros(self._num_v)
        self._codes: dict[Any, Any] = {}

    def is_compiled(self) -> bool:
        """Whether the closed form is compiled, in this run or an earlier one."""
        zeros, square = self._room, np.zeros((self._num_v, self._num_v))
        return load_compiled(
            kernels.inverse_dynamics_derivatives, self._topology, self._undamped, self._gravity, self._position, zeros,
            zeros, np.zeros((len(self._topology), 6)), self._sensitivity, zeros, square, square, square,
        )  # fmt: skip

    def inverse_dynamics(self, x: Array, vdot: Array, F_applied: Array, has_gravity: bool) -> Array:
        """tau without damping, equation (1): all arrays but F_applied, floats, are of AutoDiffXd."""
        q, v, D_q, D_v = self._split_state(x)
        vdot_values, D_vdot = split_numbers(vdot)
        self._call(kernels.position_kinematics, self._topology, self._undamped, q, self._position)
        gravity = self._gravity if has_gravity else self._zero_gravity
        derivatives = self._derive(self._undamped, gravity, v, vdot_values, F_applied)
        return merge_numbers(self._room, _chain(derivatives, (self._along_velocities(q, D_q), D_v, D_vdot)))

    def state_derivatives(self, x: Array, tau: Array, F_applied: Array) -> tuple[int, Array]:
        """The status, and [qdot; vdot] with equation (2): all arrays but F_applied, floats, are of AutoDiffXd."""
        q, v, D_q, D_v = self._split_state(x)
        tau_values, D_tau = split_numbers(tau)
        xdot = np.empty(len(x))
        status = self._call(
            kernels.state_derivatives, self._topology, self._parameters, self._gravity, np.concatenate([q, v]),
            tau_values, F_applied, self._position, self._velocity, self._scratch, xdot,
        )  # fmt: skip
        if status != 0:
            return status, merge_numbers(xdot, None)
        dq, dv, M = self._derive(self._parameters, self._gravity, v, xdot[len(q) :], F_applied)
        dtau = np.empty_like(M)
        self._call(kernels.forward_dynamics_derivatives, self._topology, self._parameters, M, dq, dv, dtau)
        D_vdot = _chain((dq, dv, dtau), (self._along_velocities(q, D_q), D_v, D_tau))
        if D_vdot is None:
            return status, merge_numbers(xdot, None)
        D_qdot = self._rates(q, v, D_q, D_v, D_vdot.shape[1])
        return status, merge_numbers(xdot, np.concatenate([D_qdot, D_vdot]))

    def _split_state(self, x: Array) -> tuple[Array, Array, Array | None, Array | None]:
        """q, v, D_q and D_v."""
        values, D_x = split_numbers(x)
        num_q = len(x) - self._num_v
        if D_x is None:
            return values[:num_q], values[num_q:], None, None
        return values[:num_q], values[num_q:], D_x[:num_q], D_x[num_q:]

    def _derive(self, parameters: Array, gravity: Array, v: Array, vdot: Array, F_applied: Array) -> Array:
        """dtau/dq along the velocities, dtau/dv and M; tau is in the room afterwards."""
        derivatives = np.empty((3, self._num_v, self._num_v))
        self._call(
            kernels.inverse_dynamics_derivatives, self._topology, parameters, gravity, self._position, v, vdot,
            F_applied, self._sensitivity, self._room, *derivatives,
        )  # fmt: skip
        return derivatives

    def _along_velocities(self, q: Array, D_q: Array | None) -> Array | None:
        """N+(q) D_q."""
        if D_q is None or self._has_simple_rates:
            return D_q
        count = D_q.shape[1]
        result = np.empty((count, self._num_v))
        runner = over_lanes(kernels.qdot_to_velocity)
        self._call(runner, count, self._topology, q[np.newaxis], np.ascontiguousarray(D_q.T), result)
        return result.T

    def _rates(self, q: Array, v: Array, D_q: Array | None, D_v: Array | None, count: int) -> Array:
        """The derivatives of qdot = N(q) v."""
        if self._has_simple_rates:
            return np.zeros((len(q), count)) if D_v is None else D_v
        lanes = []
        for values, D in ((q, D_q), (v, D_v)):
            lane = np.empty((count, len(values)), np.complex128)
            lane.real[:] = values
            lane.imag[:] = 0.0 if D is None else 1e-100 * D.T
            lanes.append(lane)
        qdot = np.empty_like(lanes[0])
        self._call(over_lanes(kernels.velocity_to_qdot), count, self._topology, *lanes, qdot)
        return np.ascontiguousarray(qdot.imag.T) * 1e100

    def _call(self, kernel: Any, *arguments: Any) -> Any:
        code = self._codes.get(kernel)
        if code is None:
            code = self._codes[kernel] = specialize(kernel, *arguments)
        return code(*arguments)


def _chain(factors: Any, derivatives: tuple[Array | None, ...]) -> Array | None:
    """The sum of the products of those factors whose derivatives are not None; None if there are none."""
    total = None
    for factor, D in zip(factors, derivatives):
        if D is None:
            continue
        if total is None:
            total = factor @ D
        elif total.shape[1] != D.shape[1]:
            refuse_counts(total.shape[1], D.shape[1])
        else:
            total += factor @ D
    return total
