"""Calls of kernels with the arrays of one workspace, for what a plant computes most often.

A bound kernel is called in 50 ns instead of a microsecond. Few Contexts need all of them, and what is bound must be
compiled first, so that each is bound by a function below when it is first needed:

    calls = w.calls
    M = (calls.mass_matrix or bind_mass_matrix(w))()
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from merganser.framework.native import Given, Result, bind
from merganser.multibody import kernels
from merganser.multibody.kernels import checked_arrays

if TYPE_CHECKING:
    from merganser.multibody.plant.workspace import Workspace

__all__ = [
    "KernelCalls",
    "bind_center_of_mass_jacobian",
    "bind_derivatives",
    "bind_inverse_dynamics",
    "bind_jacobian",
    "bind_kinematics",
    "bind_mass_matrix",
    "bind_point_accelerations",
    "bind_point_bias",
    "bind_point_jacobian",
    "bind_poses",
    "bind_position",
    "bind_rest",
    "bind_state_inverse_dynamics",
    "bind_velocity",
    "bind_write_point",
    "bind_write_q",
    "bind_write_v",
    "bind_write_x",
]

Array = NDArray[Any]
_NO_QUATERNIONS = np.zeros(0, np.int64)


class KernelCalls:
    """The kernels that are bound to a workspace; None for those that have not been needed yet.

    Attributes:
        poses, rest: compute the poses alone, and the rest of the position kinematics.
        position, velocity, kinematics: compute position kinematics, velocity kinematics from these, and both.
        mass_matrix: returns M, shape [nv, nv].
        point_jacobian: takes the place of B (see arguments.py), a point, a mobod A and the place of E; returns the
            Jacobian of a spatial velocity, shape [6, nv].
        jacobian: takes the same with any number of points, and the buffer for the result.
        center_of_mass_jacobian: takes mobods, a mobod A and the place of E; returns J, shape [3, nv], and leaves the
            mass in w.total_mass.
        point_bias: takes what point_jacobian does; returns alpha_AB_E and a_ABp_E for vdot = 0, shape [2, 3].
        point_accelerations: takes the same with any number of points, a workspace, and the buffer for the result.
        inverse_dynamics: takes vdot and forces on the bodies; returns tau without gravity, from kinematics that are up
            to date.
        state_inverse_dynamics: does the same, kinematics included.
        derivatives: takes the buffer for the derivatives of the state; returns a status.
        write_q, write_v, write_x, write_point: write a vector into q, v, x or `point`, if it is an array of float64 of
            that shape with values that may stand there, and return True; otherwise nothing is written, and what they
            return is false. With other scalar types they never write.
    """

    __slots__ = (
        "center_of_mass_jacobian", "derivatives", "inverse_dynamics", "jacobian", "kinematics", "mass_matrix",
        "point_accelerations", "point_bias", "point_jacobian", "poses", "position", "rest", "state_inverse_dynamics",
        "velocity", "write_point", "write_q", "write_v", "write_x",
    )  # fmt: skip

    def __init__(self) -> None:
        self.poses: Callable[[], Any] | None = None
        self.rest: Callable[[], Any] | None = None
        self.position: Callable[[], Any] | None = None
        self.velocity: Callable[[], Any] | None = None
        self.kinematics: Callable[[], Any] | None = None
        self.mass_matrix: Callable[[], Array] | None = None
        self.point_jacobian: Callable[..., Array] | None = None
        self.jacobian: Callable[..., None] | None = None
        self.center_of_mass_jacobian: Callable[..., Array] | None = None
        self.point_bias: Callable[..., Array] | None = None
        self.point_accelerations: Callable[..., None] | None = None
        self.inverse_dynamics: Callable[[Array, Array], Array] | None = None
        self.state_inverse_dynamics: Callable[[Array, Array], Array] | None = None
        self.derivatives: Callable[[Array], int] | None = None
        self.write_q: Callable[[Any], Any] | None = None
        self.write_v: Callable[[Any], Any] | None = None
        self.write_x: Callable[[Any], Any] | None = None
        self.write_point: Callable[[Any], Any] | None = None


# ---------------------------------------------------------------------- kinematics


def bind_position(w: Workspace) -> Callable[[], Any]:
    call = w.calls.position = w.bound(
        kernels.position_kinematics, topology=w.topology, parameters=w.parameters, q_in=w.q, position_out=w.position
    )
    return call


def bind_poses(w: Workspace) -> Callable[[], Any]:
    """Other scalars than floats compute all position kinematics at once."""
    if not w.is_float:
        w.calls.poses = w.calls.position or bind_position(w)
        return w.calls.poses
    call = w.calls.poses = w.bound(
        kernels.poses, topology=w.topology, parameters=w.parameters, q_in=w.q, position_out=w.position
    )
    return call


def bind_rest(w: Workspace) -> Callable[[], Any]:
    """Other scalars than floats compute all position kinematics at once."""
    if not w.is_float:
        w.calls.rest = w.calls.position or bind_position(w)
        return w.calls.rest
    call = w.calls.rest = w.bound(
        kernels.hinges_and_inertias, topology=w.topology, parameters=w.parameters, q_in=w.q, position_io=w.position
    )
    return call


def bind_velocity(w: Workspace) -> Callable[[], Any]:
    call = w.calls.velocity = w.bound(
        kernels.velocity_kinematics, topology=w.topology, parameters=w.parameters, position_in=w.position, q_in=w.q,
        v_in=w.v, velocity_out=w.velocity,
    )  # fmt: skip
    return call


def bind_kinematics(w: Workspace) -> Callable[[], Any]:
    call = w.calls.kinematics = w.bound(
        kernels.kinematics, topology=w.topology, parameters=w.parameters, q_in=w.q, v_in=w.v, position_out=w.position,
        velocity_out=w.velocity,
    )  # fmt: skip
    return call


# ---------------------------------------------------------------------- Jacobians


def _places(w: Workspace) -> dict[str, Given]:
    """What kernels of Jacobians are given: B, points fixed to it, A and E."""
    mobod, X = Given(0), Given(np.eye(3, 4, dtype=w.dtype))
    points = Given(np.zeros(3, w.dtype))
    return {"mobod_B": mobod, "X_BF_in": X, "points_in": points, "mobod_A": mobod, "mobod_D": mobod, "X_DE_in": X}


def bind_point_jacobian(w: Workspace) -> Callable[..., Array]:
    call = w.calls.point_jacobian = w.bound(
        kernels.jacobian, topology=w.topology, position_in=w.position, **_places(w), J_out=Result(w.J_shape)
    )
    return call


def bind_jacobian(w: Workspace) -> Callable[..., None]:
    call = w.calls.jacobian = w.bound(
        kernels.jacobian, topology=w.topology, position_in=w.position, **_places(w),
        J_out=Given(np.zeros(w.J_shape, w.dtype)),
    )  # fmt: skip
    return call


def bind_center_of_mass_jacobian(w: Workspace) -> Callable[..., Array]:
    places = _places(w)
    call = w.calls.center_of_mass_jacobian = w.bound(
        kernels.center_of_mass_jacobian, topology=w.topology, position_in=w.position,
        members=Given(np.zeros(1, np.int64)), mobod_A=places["mobod_A"], mobod_D=places["mobod_D"],
        X_DE_in=places["X_DE_in"], scratch_work=w.scratch, J_out=Result((3, *w.v_shape)), mass_out=w.total_mass,
    )  # fmt: skip
    return call


def bind_point_bias(w: Workspace) -> Callable[..., Array]:
    call = w.calls.point_bias = w.bound(
        kernels.point_accelerations, topology=w.topology, position_in=w.position, velocity_in=w.velocity,
        vdot_in=w.zeros_v, **_places(w), A_WB_W_work=w.F_buffer, A_out=Result((2, 3)),
    )  # fmt: skip
    return call


def bind_point_accelerations(w: Workspace) -> Callable[..., None]:
    call = w.calls.point_accelerations = w.bound(
        kernels.point_accelerations, topology=w.topology, position_in=w.position, velocity_in=w.velocity,
        vdot_in=w.zeros_v, **_places(w), A_WB_W_work=w.F_buffer, A_out=Given(np.zeros((2, 3), w.dtype)),
    )  # fmt: skip
    return call


# ---------------------------------------------------------------------- dynamics


def bind_mass_matrix(w: Workspace) -> Callable[[], Array]:
    call = w.calls.mass_matrix = w.bound(
        kernels.mass_matrix, topology=w.topology, parameters=w.parameters, position_in=w.position,
        scratch_work=w.scratch, M_out=Result(w.M_shape),
    )  # fmt: skip
    return call


def bind_inverse_dynamics(w: Workspace) -> Callable[[Array, Array], Array]:
    call = w.calls.inverse_dynamics = w.bound(
        kernels.inverse_dynamics, topology=w.topology, parameters=w.parameters, gravity_in=w.zero_gravity,
        position_in=w.position, velocity_in=w.velocity, vdot_in=Given(w.zeros_v), F_applied_in=Given(w.zeros_F),
        scratch_work=w.scratch, tau_out=Result(w.v_shape),
    )  # fmt: skip
    return call


def bind_state_inverse_dynamics(w: Workspace) -> Callable[[Array, Array], Array]:
    call = w.calls.state_inverse_dynamics = w.bound(
        kernels.state_inverse_dynamics, topology=w.topology, parameters=w.parameters, gravity_in=w.zero_gravity,
        q_in=w.q, v_in=w.v, vdot_in=Given(w.zeros_v), F_applied_in=Given(w.zeros_F), position_work=w.position,
        velocity_work=w.velocity, scratch_work=w.scratch, tau_out=Result(w.v_shape),
    )  # fmt: skip
    return call


def bind_derivatives(w: Workspace) -> Callable[[Array], int]:
    call = w.calls.derivatives = w.bound(
        kernels.state_derivatives, topology=w.topology, parameters=w.parameters, gravity_in=w.gravity, x_in=w.x,
        tau_in=w.tau, F_applied_in=w.F_applied, position_work=w.position, velocity_work=w.velocity,
        scratch_work=w.scratch, xdot_out=Given(w.x),
    )  # fmt: skip
    return call


# ---------------------------------------------------------------------- writing


def bind_write_q(w: Workspace) -> Callable[[Any], Any]:
    call = w.calls.write_q = _writing(w, w.q, w.quaternion_starts)
    return call


def bind_write_v(w: Workspace) -> Callable[[Any], Any]:
    call = w.calls.write_v = _writing(w, w.v, _NO_QUATERNIONS)
    return call


def bind_write_x(w: Workspace) -> Callable[[Any], Any]:
    call = w.calls.write_x = _writing(w, w.x, w.quaternion_starts)
    return call


def bind_write_point(w: Workspace) -> Callable[[Any], Any]:
    call = w.calls.write_point = _writing(w, w.point, _NO_QUATERNIONS)
    return call


def _writing(w: Workspace, buffers: Array, quaternion_starts: Array) -> Callable[[Any], Any]:
    """What writes a vector into `buffer`, if no quaternion of it is zero."""
    if not w.is_float:
        return _write_nothing
    return bind(checked_arrays.write_checked, quaternion_starts, buffers, Given(buffers, is_checked=True))


def _write_nothing(given: Any) -> None:
    """For scalar types whose values Python checks."""
