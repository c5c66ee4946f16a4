"""Poses, points, Jacobians and the mass matrix with derivatives, by the chain rule from those in closed form.

With D_y the derivatives of y by the variables of the moment, one row an element, D_s = N+(q) D_q those of q along the
velocities, and J the Jacobian of the velocities of a frame and its points,

    D_p  = J_v D_s                                                                          (1)
    D_R  = [J_w D_s]x R                                                                     (2)
    D_J  = dJ/ds D_s,      D_M = dM/ds D_s                                                  (3)
    D_V  = (dJ/ds v) D_s + J D_v      for V = J v                                           (4)

That is one call of each kernel on floats, where the complex step goes through all bodies for each variable. J has
columns of zeros where a joint does not matter; dJ/ds and dM/ds are computed only where it does
(kernels/jacobian_derivatives.py, kernels/mass_matrix_derivatives.py). Where (3) is needed for fewer variables than
there are velocities, the complex step is taken: it has less to compute.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from merganser.framework.autodiff.blocks import refuse_counts
from merganser.multibody import kernels
from merganser.multibody.kernels import layout
from merganser.multibody.kernels.mass_matrix_derivatives import composite_dtype
from merganser.multibody.kernels.sparse_product import product
from merganser.multibody.plant.scalars.derivative_lanes import merge_numbers
from merganser.multibody.plant.scalars.float_model import FloatModel, Numbers

__all__ = ["PositionRules"]

Array = NDArray[Any]
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
        self._first_column: int | None = None  # see _identity_column(); -1 if nobody has asked yet

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
