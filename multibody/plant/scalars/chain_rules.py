"""Derivatives of inverse and forward dynamics by the chain rule, from those in closed form.

With D_y the derivatives of y by the variables of the moment, one row an element, and F the spatial forces on bodies,

    D_tau  = dtau/dq N+(q) D_q + dtau/dv D_v + M D_vdot - J^T D_F                           (1)
    D_vdot = dvdot/dq N+(q) D_q + dvdot/dv D_v + M^-1 (D_tau + J^T D_F)                     (2)

That is one call on floats (kernels/forward_dynamics_derivatives.py), where the complex step takes one on complex
numbers for each variable. The parameters must have no derivatives; otherwise the complex step is taken.

A plant of AutoDiffXd on floats: what the chain rule needs to know of it.

Poses, points, Jacobians and the mass matrix with derivatives, by the chain rule from those in closed form.

With D_y the derivatives of y by the variables of the moment, one row an element, D_s = N+(q) D_q those of q along the
velocities, and J the Jacobian of the velocities of a frame and its points,

    D_p  = J_v D_s                                                                          (1)
    D_R  = [J_w D_s]x R                                                                     (2)
    D_J  = dJ/ds D_s,      D_M = dM/ds D_s                                                  (3)
    D_V  = (dJ/ds v) D_s + J D_v      for V = J v                                           (4)

That is one call of each kernel on floats, where the complex step goes through all bodies for each variable. J has
columns of zeros where a joint does not matter; dJ/ds and dM/ds are computed only where it does
(kernels/configuration_derivatives.py). Where (3) is needed for fewer variables than there are velocities, the complex
step is taken: it has less to compute.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from merganser.framework.autodiff.blocks import refuse_counts
from merganser.framework.native import Given, bind
from merganser.framework.native.compiler.when_to_compile import may_use_compiled
from merganser.multibody import kernels
from merganser.multibody.kernels import layout
from merganser.multibody.kernels.configuration_derivatives import composite_dtype
from merganser.multibody.kernels.forward_dynamics_derivatives import (
    forward_dynamics_gradient,
    forward_dynamics_slopes,
    inverse_dynamics_gradient,
    product,
)
from merganser.multibody.kernels.inverse_dynamics_derivatives import sensitivity_dtype
from merganser.multibody.kernels.lanes import over_lanes
from merganser.multibody.kernels.mobilizers import kinds_in
from merganser.multibody.plant.scalars.lanes import merge_numbers, split_numbers

Array = NDArray[Any]
Numbers = tuple[Array, Array | None]  # values, and derivatives, one row an element; None stands for none


class FloatKernels:
    """Calls kernels on floats.

    Args:
        topology: records of the mobilized bodies.

    Attributes:
        topology: as given.
        num_q, num_v: numbers of positions and velocities.
    """

    def __init__(self, topology: Array) -> None:
        self.topology = topology
        self.num_q, self.num_v = int(topology["num_q"].sum()), int(topology["num_v"].sum())
        self._codes: dict[Any, Any] = {}

    def call(self, kernel: Any, *arguments: Any) -> Any:
        """Calls a kernel, compiled as soon as it can be.

        Arguments must be of the same types, and arrays as contiguous, whenever a kernel is called.
        """
        code = self._codes.get(kernel)
        if code is None:
            code = self._choose_code(kernel, arguments)
        return code(*arguments)

    def _choose_code(self, kernel: Any, arguments: tuple[Any, ...]) -> Any:
        if not may_use_compiled(kernel, len(self.topology) * max(self.num_v, 1), *arguments):
            return kernel.interpreted
        code = self._codes[kernel] = bind(kernel, *map(Given, arguments))
        return code


class FloatModel(FloatKernels):
    """Numbers of a plant whose parameters have no derivatives, and kernels on floats.

    Args:
        topology: records of the mobilized bodies.
        parameters: records of floats, shape [num_records].

    Attributes:
        parameters: as given.
        has_simple_rates: whether qdot = v.
    """

    def __init__(self, topology: Array, parameters: Array) -> None:
        super().__init__(topology)
        self.has_simple_rates = all(kind.has_equal_rates() for kind in kinds_in(topology))
        self.parameters = parameters

    def along_velocities(self, q: Array, D_q: Array) -> Array:
        """N+(q) D_q: derivatives of q, one row an element, as those along the velocities."""
        if self.has_simple_rates:
            return D_q
        count = D_q.shape[1]
        result = np.empty((count, self.num_v))
        self.call_over_lanes(kernels.qdot_to_velocity, count, q[np.newaxis], np.ascontiguousarray(D_q.T), result)
        return np.ascontiguousarray(result.T)

    def call_over_lanes(self, kernel: Any, count: int, *arguments: Any) -> Any:
        """Calls a kernel of the topology and of other arguments over lanes."""
        return self.call(over_lanes(kernel), count, self.topology, *arguments)


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
        return merge_numbers(tau, summed(D_tau if count else None, -self._generalized(x_values, D_F)))

    def state_derivatives(self, state: Numbers, x: Array, tau: Array, F_applied: Array | None) -> tuple[int, Array]:
        """The status, and [qdot; vdot] with equation (2).

        Arguments and errors as those of inverse_dynamics(); x are the AutoDiffXd of the state themselves.
        """
        x_values, D_x = state
        tau_values, D_tau = split_numbers(tau)
        F_values, D_F = self._split_forces(F_applied)
        if D_F is not None:
            D_tau = summed(D_tau, self._generalized(x_values, D_F))
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
            x, tau: floats for N states, shapes [N, num_q + num_v] and [N, num_v].

        Returns:
            The second has the shape of x, the third [N, num_q + num_v, num_q + num_v], the last [N, num_v, num_v].
        """
        (count, size), num_q, num_v = x.shape, self._num_q, self._num_v
        xdot, by_x = np.empty((count, size)), np.zeros((count, size, size))
        factors = np.empty((count, 4, num_v, num_v))
        status = self._model.call(
            forward_dynamics_slopes, self._topology, self._parameters, self._gravity, x, tau, self._zeros_F,
            self._position, self._velocity, self._scratch, self._sensitivity, self._buffers, xdot, factors,
        )  # fmt: skip
        by_x[:, num_q:, num_q:] = factors[:, 1]
        eye = np.eye(size)
        if self._model.has_simple_rates:
            by_x[:, :num_q], by_x[:, num_q:, :num_q] = eye[num_q:], factors[:, 0]
            return status, xdot, by_x, factors[:, 3]
        by_x[:, :num_q] = [self._rates(x_k, eye, size) for x_k in x]
        to_v = [self._model.along_velocities(x_k[:num_q], eye[:num_q, :num_q]) for x_k in x]
        by_x[:, num_q:, :num_q] = factors[:, 0] @ np.array(to_v)
        return status, xdot, by_x, factors[:, 3]

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


def summed(a: Array | None, b: Array) -> Array:
    """a + b of derivatives, None standing for none."""
    if a is None:
        return b
    if a.shape[1] != b.shape[1]:
        refuse_counts(a.shape[1], b.shape[1])
    total: Array = a + b
    return total


Place = tuple[int, Array]  # a frame: the mobod of its body B, and X_BF, shape [3, 4]
_ORIGIN = np.zeros(3)
_WORLD: Place = 0, np.eye(3, 4)
_LEVI_CIVITA = np.cross(np.eye(3)[:, np.newaxis], np.eye(3)).transpose(2, 0, 1).copy()  # (w x a)_r = e_rkl w_k a_l


class PositionRules:
    """What depends on the positions of a plant, on floats, with derivatives.

    What the functions return has the shape that the kernel of the same name gives it, and is made of AutoDiffXd.

    Args:
        model: the plant.
    """

    def __init__(self, model: FloatModel) -> None:
        num_mobods = len(model.topology)
        self._model = model
        self._position = np.zeros(num_mobods, layout.position_dtype())
        self._scratch = np.zeros(num_mobods, layout.scratch_dtype())
        self._composites = np.zeros(num_mobods, composite_dtype())
        self._buffers = np.zeros((6, model.num_v))
        self._positions: Numbers | None = None
        self._D_s: Array | None = None
        self._first_column: int | None = None  # see _identity_column(); -1 if not yet known

    def set_positions(self, positions: Numbers) -> None:
        """Sets values and derivatives of q; nothing is done if they are the same object as before."""
        if positions is self._positions:
            return
        q, D_q = positions
        self._positions = None
        model = self._model
        model.call(kernels.position_kinematics, model.topology, model.parameters, q, self._position)
        self._D_s = None if D_q is None else model.along_velocities(q, D_q)
        self._first_column = None if D_q is None else -1
        self._positions = positions

    # ------------------------------------------------------------------ poses and points

    def relative_pose(self, A: Place, B: Place) -> tuple[Array, Array]:
        """R_AB and p_AoBo_A."""
        R_AB, p_AoBo_A = np.empty((3, 3)), np.empty(3)
        self._model.call(kernels.relative_pose, self._position, *A, *B, R_AB, p_AoBo_A)
        if self._D_s is None:
            return merge_numbers(R_AB, None), merge_numbers(p_AoBo_A, None)
        D = self._jacobian(B, _ORIGIN, A[0], A) @ self._D_s
        # What [w]x R is made of: the sum over k of w_k times element [r, k, c] of this
        turned = (_LEVI_CIVITA @ R_AB).transpose(0, 2, 1).reshape(9, 3)
        return merge_numbers(R_AB, turned @ D[:3]), merge_numbers(p_AoBo_A, D[3:])

    def point_positions(self, B: Place, points: Array, A: Place) -> Array:
        """p_AQi, shape [3, n]."""
        count = len(points) // 3
        p_AQi = np.empty((3, count))
        self._model.call(kernels.point_positions, self._position, *B, points, *A, p_AQi)
        if self._D_s is None:
            return merge_numbers(p_AQi, None)
        J_v = self._jacobian(B, points, A[0], A)[3:]
        if count != 1:  # from rows of point after point to those of coordinate after coordinate
            J_v = J_v.reshape(count, 3, -1).transpose(1, 0, 2).reshape(3 * count, -1)
        return merge_numbers(p_AQi, J_v @ self._D_s)

    def center_of_mass(self, members: Array) -> Array:
        """p_WoScm_W of mobods, and their mass, shape [4]."""
        model, p_and_mass = self._model, np.empty(4)
        model.call(kernels.center_of_mass, model.parameters, self._position, members, p_and_mass)
        if self._D_s is None or not p_and_mass[3]:
            return merge_numbers(p_and_mass, None)
        J, mass = np.empty((3, model.num_v)), np.empty(1)
        model.call(
            kernels.center_of_mass_jacobian, model.topology, self._position, members, 0, *_WORLD, self._scratch, J, mass
        )
        D = np.zeros((4, self._D_s.shape[1]))
        np.matmul(J, self._D_s, out=D[:3])
        return merge_numbers(p_and_mass, D)

    # ------------------------------------------------------------------ Jacobians and mass matrix

    def jacobian(self, B: Place, points: Array, mobod_A: int, E: Place) -> Array | None:
        """[J_w; J_v0; J_v1; ...], shape [3 + 3 n, num_v]; None if it is quicker without derivatives in closed form."""
        if self._D_s is None:
            return merge_numbers(self._jacobian(B, points, mobod_A, E), None)
        if not self._is_worth_it():
            return None
        J, dJ = self._jacobian_derivatives(B, points, mobod_A, E, self._num_columns())
        return merge_numbers(J, self._by_variables(dJ))

    def mass_matrix(self) -> Array | None:
        """M; None as with jacobian()."""
        model, num_v = self._model, self._model.num_v
        if self._D_s is None:
            M = np.empty((num_v, num_v))
            model.call(kernels.mass_matrix, model.topology, model.parameters, self._position, self._scratch, M)
            return merge_numbers(M, None)
        if not self._is_worth_it():
            return None
        M, dM = np.zeros((num_v, num_v)), np.zeros((num_v * num_v, self._num_columns()))
        model.call(
            kernels.mass_matrix_derivatives, model.topology, model.parameters, self._position,
            self._identity_column() or 0, self._composites, self._buffers, M, dM,
        )  # fmt: skip
        return merge_numbers(M, self._by_variables(dM))

    def velocities(self, v: Array, D_v: Array | None, B: Place, points: Array, mobod_A: int, E: Place) -> Array:
        """[w_AB_E; v_AQ0_E; v_AQ1_E; ...], shape [3 + 3 n], equation (4), for v and its derivatives."""
        if self._D_s is None:
            J = self._jacobian(B, points, mobod_A, E)
            return merge_numbers(J @ v, None if D_v is None else J @ D_v)
        if D_v is not None and D_v.shape[1] != self._D_s.shape[1]:
            refuse_counts(self._D_s.shape[1], D_v.shape[1])
        J, dJ = self._jacobian_derivatives(B, points, mobod_A, E, None)
        D = np.matmul(v, dJ.reshape(len(J), len(v), len(v))) @ self._D_s
        return merge_numbers(J @ v, D if D_v is None else D + J @ D_v)

    def _jacobian(self, B: Place, points: Array, mobod_A: int, E: Place) -> Array:
        model = self._model
        J: Array = np.empty((3 + len(points), model.num_v))
        model.call(kernels.jacobian, model.topology, self._position, *B, points, mobod_A, *E, J)
        return J

    def _jacobian_derivatives(
        self, B: Place, points: Array, mobod_A: int, E: Place, num_columns: int | None
    ) -> tuple[Array, Array]:
        """J, and its derivatives by the variables, if their number is given and they are elements of q, or by s."""
        model = self._model
        J = np.empty((3 + len(points), model.num_v))
        dJ = np.zeros((J.size, model.num_v if num_columns is None else num_columns))
        first = 0 if num_columns is None else self._identity_column() or 0
        model.call(kernels.jacobian_derivatives, model.topology, self._position, *B, points, mobod_A, *E, first, J, dJ)
        return J, dJ

    # ------------------------------------------------------------------ variables

    def _is_worth_it(self) -> bool:
        """Whether (3) has no more to compute than the complex step."""
        return self._D_s is not None and (
            self._D_s.shape[1] >= self._model.num_v or self._identity_column() is not None
        )

    def _identity_column(self) -> int | None:
        """Where in D_s the identity matrix stands, if all else is zero there, as when q are variables themselves."""
        if self._first_column == -1:
            assert self._D_s is not None
            self._first_column = _find_identity(self._D_s)
        return self._first_column

    def _num_columns(self) -> int:
        """How many columns the derivatives of a kernel have."""
        assert self._D_s is not None
        return self._model.num_v if self._identity_column() is None else self._D_s.shape[1]

    def _by_variables(self, derivatives: Array) -> Array:
        """The derivatives by the variables, from what a kernel has written."""
        assert self._D_s is not None
        if self._identity_column() is not None:
            return derivatives
        result = np.zeros((len(derivatives), self._D_s.shape[1]))
        self._model.call(product, derivatives, self._D_s, result)
        return result


def _find_identity(D: Array) -> int | None:
    """The first column of an identity matrix of as many rows as D has, if there is nothing else in D."""
    num_rows, num_columns = D.shape
    if not num_rows or num_columns < num_rows:
        return None
    first = int(D[0].argmax())
    if first + num_rows > num_columns or np.count_nonzero(D) != num_rows:
        return None
    return first if (D.diagonal(first) == 1.0).all() else None
