"""Derivatives of inverse and forward dynamics by the chain rule, from those in closed form.

With D_y the derivatives of y by the variables of the moment, one row an element, and F the spatial forces on bodies,

    D_tau  = dtau/dq N+(q) D_q + dtau/dv D_v + M D_vdot - J^T D_F                           (1)
    D_vdot = dvdot/dq N+(q) D_q + dvdot/dv D_v + M^-1 (D_tau + J^T D_F)                     (2)

That is one call on floats (kernels/dynamics_gradients.py), where the complex step takes one on complex numbers for each
variable. The parameters must have no derivatives; otherwise the complex step is taken.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from merganser.framework.autodiff.blocks import refuse_counts
from merganser.multibody import kernels
from merganser.multibody.kernels import layout
from merganser.multibody.kernels.dynamics_gradients import forward_dynamics_gradient, inverse_dynamics_gradient
from merganser.multibody.kernels.inverse_dynamics_derivatives import sensitivity_dtype
from merganser.multibody.plant.scalars.derivative_lanes import merge_numbers, split_numbers
from merganser.multibody.plant.scalars.float_model import FloatModel, Numbers

__all__ = ["ChainRules"]

Array = NDArray[Any]
_STEP = 1e-100  # of the complex step


class ChainRules:
    """The dynamics of a plant on floats, with derivatives.

    Args:
        model: the plant.
        gravity: complex numbers, of which the imaginary parts do not count, shape [3].
    """

    def __init__(self, model: FloatModel, gravity: Array) -> None:
        num_mobods = len(model.topology)
        self._model = model
        self._topology, self._parameters = model.topology, model.parameters
        self._num_q, self._num_v = model.num_q, model.num_v
        self._gravity = np.ascontiguousarray(gravity.real)
        self._zero_gravity = np.zeros(3)
        self._undamped = self._parameters.copy()
        self._undamped["damping"] = 0.0
        self._position = np.zeros(num_mobods, layout.position_dtype())
        self._velocity = np.zeros(num_mobods, layout.velocity_dtype())
        self._scratch = np.zeros(num_mobods, layout.scratch_dtype())
        self._sensitivity = np.zeros(num_mobods, sensitivity_dtype())
        self._zeros_F = np.zeros((num_mobods, 6))
        self._nothing = self._no_rows = np.empty((0, 0))  # in place of derivatives that are zero
        self._buffers = np.zeros(self._num_v)
        self._factors = np.zeros((4, self._num_v, self._num_v))
        self._last_vdot: tuple[bytes, Array, Numbers] | None = None

    def inverse_dynamics(self, state: Numbers, vdot: Array, F_applied: Array | None, has_gravity: bool) -> Array:
        """tau without damping, equation (1).

        Args:
            state: values and derivatives of x = [q; v].
            vdot: generalized accelerations, of AutoDiffXd, as are the forces and the result, shape [num_v].
            F_applied: spatial forces on bodies, shape [num_mobods, 6]; None if they are zero.
            has_gravity: whether gravity acts.

        Raises:
            ValueError: the arguments have different numbers of derivatives.
        """
        x_values, D_x = state
        vdot_values, D_vdot = self._split_accelerations(vdot)
        F_values, D_F = self._split_forces(F_applied)
        count, D_s, D_v, D_vdot = self._seeds(x_values, D_x, D_vdot)
        tau, D_tau = np.empty(self._num_v), np.empty((self._num_v, count))
        self._model.call(
            inverse_dynamics_gradient, self._topology, self._undamped,
            self._gravity if has_gravity else self._zero_gravity, x_values, vdot_values, F_values, D_s, D_v, D_vdot,
            self._position, self._sensitivity, self._factors, tau, D_tau,
        )  # fmt: skip
        if D_F is None:
            return merge_numbers(tau, D_tau if count else None)
        return merge_numbers(tau, _sum(D_tau if count else None, -self._generalized(x_values, D_F)))

    def state_derivatives(self, state: Numbers, x: Array, tau: Array, F_applied: Array | None) -> tuple[int, Array]:
        """The status, and [qdot; vdot] with equation (2).

        Arguments and errors as those of inverse_dynamics(); x are the AutoDiffXd of the state themselves.
        """
        x_values, D_x = state
        tau_values, D_tau = split_numbers(tau)
        F_values, D_F = self._split_forces(F_applied)
        if D_F is not None:
            D_tau = _sum(D_tau, self._generalized(x_values, D_F))
        count, D_s, D_v, D_tau = self._seeds(x_values, D_x, D_tau)
        xdot, D_vdot = np.empty(len(x_values)), np.empty((self._num_v, count))
        status = self._model.call(
            forward_dynamics_gradient, self._topology, self._parameters, self._gravity, x_values, tau_values,
            F_values, D_s, D_v, D_tau, self._position, self._velocity, self._scratch, self._sensitivity, self._buffers,
            self._factors, xdot, D_vdot,
        )  # fmt: skip
        if status != 0 or not count:
            return status, merge_numbers(xdot, None)
        if self._model.has_simple_rates and D_x is not None:  # then qdot are the numbers v themselves
            result = np.empty(len(x_values), object)
            result[: self._num_q] = x[self._num_q :]
            result[self._num_q :] = merge_numbers(xdot[self._num_q :], D_vdot)
            return status, result
        return status, merge_numbers(xdot, np.concatenate([self._rates(x_values, D_x, count), D_vdot]))

    def slopes(self, x: Array, tau: Array) -> tuple[int, Array, Array, Array]:
        """The status, xdot, its derivatives by x = [q; v], and those of vdot by tau; where no forces act on bodies.

        Args:
            x, tau: floats, shapes [num_q + num_v] and [num_v].

        Returns:
            The second has shape [num_q + num_v], the third as many rows and columns, the last [num_v, num_v].
        """
        num_q, xdot, by_x = self._num_q, np.empty(len(x)), np.zeros((len(x), len(x)))
        status = self._model.call(
            forward_dynamics_gradient, self._topology, self._parameters, self._gravity, x, tau, self._zeros_F,
            self._nothing, self._nothing, self._nothing, self._position, self._velocity, self._scratch,
            self._sensitivity, self._buffers, self._factors, xdot, np.empty((self._num_v, 0)),
        )  # fmt: skip
        if status != 0:
            return status, xdot, by_x, self._factors[3]
        eye = np.eye(len(x))
        by_x[:num_q] = eye[num_q:] if self._model.has_simple_rates else self._rates(x, eye, len(x))
        by_x[num_q:, :num_q] = self._factors[0] @ self._model.along_velocities(x[:num_q], eye[:num_q, :num_q])
        by_x[num_q:, num_q:] = self._factors[1]
        return status, xdot, by_x, self._factors[3].copy()

    def _split_accelerations(self, vdot: Array) -> Numbers:
        """Values and derivatives of vdot; taken apart only once as long as its elements are the same objects."""
        addresses = vdot.tobytes()
        if self._last_vdot is None or self._last_vdot[0] != addresses:
            # A copy keeps the elements, so that no other object can come to have their addresses.
            self._last_vdot = addresses, vdot.copy(), split_numbers(vdot)
        return self._last_vdot[2]

    def _split_forces(self, F_applied: Array | None) -> Numbers:
        """Values and derivatives of the spatial forces on bodies."""
        return (self._zeros_F, None) if F_applied is None else split_numbers(F_applied)

    def _seeds(self, x: Array, D_x: Array | None, D_other: Array | None) -> tuple[int, Array, Array, Array]:
        """The number of variables, N+(q) D_q, D_v and the derivatives of the third argument; without rows if zero."""
        given = D_other if D_x is None else D_x
        count = 0 if given is None else given.shape[1]
        if self._no_rows.shape[1] != count:
            self._no_rows = np.empty((0, count))
        if D_other is None:
            D_other = self._no_rows
        elif D_other.shape[1] != count:
            refuse_counts(count, D_other.shape[1])
        if D_x is None:
            return count, self._no_rows, self._no_rows, D_other
        D_q, D_v = D_x[: self._num_q], D_x[self._num_q :]
        return count, self._model.along_velocities(x[: self._num_q], D_q), D_v, D_other

    def _generalized(self, x: Array, D_F: Array) -> Array:
        """J^T D_F: the derivatives of what the spatial forces do, as far as their components change."""
        q = x[: self._num_q]
        self._model.call(kernels.position_kinematics, self._topology, self._parameters, q, self._position)
        count = D_F.shape[1]
        lanes = np.ascontiguousarray(D_F.T).reshape(count, -1, 6)
        result = np.empty((count, self._num_v))
        all_buffers = self._position[np.newaxis], lanes, np.empty_like(lanes), result
        self._model.call_over_lanes(kernels.generalized_forces, count, *all_buffers)
        return np.ascontiguousarray(result.T)

    def _rates(self, x: Array, D_x: Array | None, count: int) -> Array:
        """The derivatives of qdot = N(q) v."""
        if D_x is None:
            return np.zeros((self._num_q, count))
        lanes = np.empty((count, len(x)), np.complex128)
        lanes.real[:] = x
        np.multiply(D_x.T, _STEP, out=lanes.imag)
        q, v = np.ascontiguousarray(lanes[:, : self._num_q]), np.ascontiguousarray(lanes[:, self._num_q :])
        qdot = np.empty_like(q)
        self._model.call_over_lanes(kernels.velocity_to_qdot, count, q, v, qdot)
        return np.ascontiguousarray(qdot.imag.T) / _STEP


def _sum(a: Array | None, b: Array) -> Array:
    """a + b of derivatives, None standing for none."""
    if a is None:
        return b
    if a.shape[1] != b.shape[1]:
        refuse_counts(a.shape[1], b.shape[1])
    total: Array = a + b
    return total
