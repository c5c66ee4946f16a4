"""Calls of kernels with the arrays of one workspace, for what a plant computes most often.

A bound kernel is called in 50 ns instead of a microsecond. Few Contexts need all of them, and what is bound must be
compiled first, so that each is bound when it is first needed: `w.calls.mass_matrix()`.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from merganser.framework.native import Given, Result, bind
from merganser.multibody import kernels
from merganser.multibody.kernels import checked_arrays

if TYPE_CHECKING:
    from merganser.multibody.plant.workspace import Workspace

__all__ = ["KernelCalls"]

Array = NDArray[Any]
_NO_QUATERNIONS = np.zeros(0, np.int64)


class KernelCalls:
    """Kernels that are bound to a workspace, each when it is first asked for.

    Args:
        w: the workspace.
    """

    def __init__(self, w: Workspace) -> None:
        self._w = w

    # ------------------------------------------------------------------ kinematics

    @cached_property
    def poses(self) -> Callable[[], Any]:
        """Computes the poses alone; with other scalars than floats all position kinematics."""
        return self._w.bound(kernels.poses) if self._w.is_float else self.position

    @cached_property
    def rest(self) -> Callable[[], Any]:
        """Computes the rest of the position kinematics; with other scalars than floats all of it."""
        return self._w.bound(kernels.hinges_and_inertias) if self._w.is_float else self.position

    @cached_property
    def position(self) -> Callable[[], Any]:
        """Computes position kinematics."""
        return self._w.bound(kernels.position_kinematics)

    @cached_property
    def velocity(self) -> Callable[[], Any]:
        """Computes velocity kinematics from those of positions."""
        return self._w.bound(kernels.velocity_kinematics)

    @cached_property
    def kinematics(self) -> Callable[[], Any]:
        """Computes both."""
        return self._w.bound(kernels.kinematics)

    # ------------------------------------------------------------------ Jacobians and accelerations

    def _places(self) -> dict[str, Given]:
        """What kernels of Jacobians are given: B (see arguments.py), points fixed to it, A and the place of E."""
        mobod, X = Given(0), Given(np.eye(3, 4, dtype=self._w.dtype))
        points = Given(np.zeros(3, self._w.dtype))
        return {"mobod_B": mobod, "X_BF_in": X, "points_in": points, "mobod_A": mobod, "mobod_D": mobod, "X_DE_in": X}

    @cached_property
    def point_jacobian(self) -> Callable[..., Array]:
        """Takes the places and one point; returns the Jacobian of a spatial velocity, shape [6, nv]."""
        return self._w.bound(kernels.jacobian, **self._places(), J_out=Result(self._w.J_shape))

    @cached_property
    def jacobian(self) -> Callable[..., None]:
        """Takes the places, any number of points, and the buffer for the result."""
        w = self._w
        return w.bound(kernels.jacobian, **self._places(), J_out=Given(np.zeros(w.J_shape, w.dtype)))

    @cached_property
    def center_of_mass_jacobian(self) -> Callable[..., Array]:
        """Takes mobods, A and the place of E; returns J, shape [3, nv], and leaves the mass in w.total_mass."""
        w, places = self._w, self._places()
        E = {name: places[name] for name in ("mobod_A", "mobod_D", "X_DE_in")}
        members, J_out = Given(np.zeros(1, np.int64)), Result((3, *w.v_shape))
        return w.bound(kernels.center_of_mass_jacobian, members=members, **E, J_out=J_out, mass_out=w.total_mass)

    @cached_property
    def point_bias(self) -> Callable[..., Array]:
        """Takes the places and one point; returns alpha_AB_E and a_ABp_E for vdot = 0, shape [2, 3]."""
        return self._accelerations(Result((2, 3)))

    @cached_property
    def point_accelerations(self) -> Callable[..., None]:
        """Takes the places, any number of points, and the buffer for the same."""
        return self._accelerations(Given(np.zeros((2, 3), self._w.dtype)))

    def _accelerations(self, A_out: Any) -> Callable[..., Any]:
        w = self._w
        given = {"vdot_in": w.zeros_v, **self._places(), "A_WB_W_work": w.F_buffer, "A_out": A_out}
        return w.bound(kernels.point_accelerations, **given)

    # ------------------------------------------------------------------ dynamics

    @cached_property
    def mass_matrix(self) -> Callable[[], Array]:
        """Returns M, shape [nv, nv]."""
        return self._w.bound(kernels.mass_matrix, M_out=Result(self._w.M_shape))

    @cached_property
    def inverse_dynamics(self) -> Callable[[Array, Array], Array]:
        """Takes vdot and forces on the bodies; returns tau without gravity, from kinematics that are up to date."""
        return self._inverse_dynamics(kernels.inverse_dynamics)

    @cached_property
    def state_inverse_dynamics(self) -> Callable[[Array, Array], Array]:
        """Does the same, kinematics included."""
        return self._inverse_dynamics(kernels.state_inverse_dynamics)

    def _inverse_dynamics(self, kernel: Any) -> Callable[..., Any]:
        w = self._w
        forces = {"vdot_in": Given(w.zeros_v), "F_applied_in": Given(w.zeros_F)}
        return w.bound(kernel, gravity_in=w.zero_gravity, **forces, tau_out=Result(w.v_shape))

    # ------------------------------------------------------------------ writing

    # These write a vector into q, v, x or `point`, if it is an array of float64 of that shape with values that may be
    # there, and return True; otherwise nothing is written, and what they return is false. With other scalar types they
    # never write.

    @cached_property
    def write_q(self) -> Callable[[Any], Any]:
        return self._writing(self._w.q, self._w.quaternion_starts)

    @cached_property
    def write_v(self) -> Callable[[Any], Any]:
        return self._writing(self._w.v)

    @cached_property
    def write_x(self) -> Callable[[Any], Any]:
        return self._writing(self._w.x, self._w.quaternion_starts)

    @cached_property
    def write_point(self) -> Callable[[Any], Any]:
        return self._writing(self._w.point)

    def _writing(self, vector: Array, quaternion_starts: Array = _NO_QUATERNIONS) -> Callable[[Any], Any]:
        """What writes a vector into `vector`, if no quaternion of it is zero."""
        if not self._w.is_float:
            return _write_nothing
        return bind(checked_arrays.write_checked, quaternion_starts, vector, Given(vector, is_checked=True))


def _write_nothing(given: Any) -> None:
    """For scalar types whose values Python checks."""
