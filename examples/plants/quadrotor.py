"""A quadrotor: a rigid body with four propellers, all of which push along its z axis.

x = [p_WB; rpy; their rates], with roll, pitch and yaw about fixed axes. Propellers 0 to 3 are at +x, +y, -x and -y of
the body, at the distance L, with thrusts kF u_i and yaw torques kM u_i of alternating sign:

    m p'' = R_WB [0; 0; sum_i kF u_i] - [0; 0; m g]                                                     (1)
    I w' + w x I w = [L kF (u_1 - u_3);  L kF (u_2 - u_0);  kM (u_0 - u_1 + u_2 - u_3)]                 (2)

with w the angular velocity in B, which follows from the rates of the angles (E is 1 where they are zero):

    w = E rpy',   E = [1  0  -sin p;  0  cos r  cos p sin r;  0  -sin r  cos p cos r]                   (3)
    rpy'' = E^-1 (w' - E' rpy')                                                                        (4)

The angles have no rates at a pitch of a quarter turn, where E is singular.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from merganser.analysis.controllers import LinearQuadraticRegulator
from merganser.framework import LeafSystem
from merganser.framework.core.declarations.native_wires import InputOr
from merganser.framework.math.element_functions import cos, sin
from merganser.framework.native import native
from merganser.framework.primitives import AffineSystem

Array = NDArray[Any]


@native
def fly(c: Array, inertia: Array, inverse: Array, x: Array, u: Array, xdot: Array) -> None:
    """Equations (1) to (4); c = [m, L, kF, kM, g]; inertia and its inverse by rows."""
    m, L, kF, kM, g = c[0], c[1], c[2], c[3], c[4]
    sr, cr, sp, cp, sy, cy = sin(x[3]), cos(x[3]), sin(x[4]), cos(x[4]), sin(x[5]), cos(x[5])
    rd, pd, yd = x[9], x[10], x[11]
    for i in range(6):
        xdot[i] = x[6 + i]
    # (1), with the third column of R_WB
    thrust = kF * (u[0] + u[1] + u[2] + u[3]) / m
    xdot[6] = thrust * (cy * sp * cr + sy * sr)
    xdot[7] = thrust * (sy * sp * cr - cy * sr)
    xdot[8] = thrust * (cp * cr) - g
    # (3), (2)
    wx, wy, wz = rd - sp * yd, cr * pd + cp * sr * yd, cp * cr * yd - sr * pd
    hx = inertia[0] * wx + inertia[1] * wy + inertia[2] * wz
    hy = inertia[3] * wx + inertia[4] * wy + inertia[5] * wz
    hz = inertia[6] * wx + inertia[7] * wy + inertia[8] * wz
    tx = L * kF * (u[1] - u[3]) - (wy * hz - wz * hy)
    ty = L * kF * (u[2] - u[0]) - (wz * hx - wx * hz)
    tz = kM * (u[0] - u[1] + u[2] - u[3]) - (wx * hy - wy * hx)
    # (4), with w' - E' rpy'
    bx = inverse[0] * tx + inverse[1] * ty + inverse[2] * tz + cp * pd * yd
    by = inverse[3] * tx + inverse[4] * ty + inverse[5] * tz + sr * rd * pd + (sp * sr * pd - cp * cr * rd) * yd
    bz = inverse[6] * tx + inverse[7] * ty + inverse[8] * tz + cr * rd * pd + (sp * cr * pd + cp * sr * rd) * yd
    yaw = (sr * by + cr * bz) / cp
    xdot[9] = bx + sp * yaw
    xdot[10] = cr * by - sr * bz
    xdot[11] = yaw


class QuadrotorPlant(LeafSystem):
    """A quadrotor. The input `propeller_force` may be left unconnected, and is zero then; the output is its state.

    Args:
        m_arg: mass [kg].
        L_arg: distance of the propellers from the centre of mass [m].
        I_arg: inertia about the centre of mass [kg m^2], shape [3, 3].
        kF_arg: thrust of a propeller by its input.
        kM_arg: torque about its axis by its input [m].

    Raises:
        ValueError: the mass is not positive, the inertia no positive definite 3 x 3 matrix, or a number not finite.
    """

    def __init__(
        self,
        m_arg: float = 0.775,
        L_arg: float = 0.15,
        I_arg: ArrayLike = ((0.0015, 0.0, 0.0), (0.0, 0.0025, 0.0), (0.0, 0.0, 0.0035)),
        kF_arg: float = 1.0,
        kM_arg: float = 0.0245,
    ) -> None:
        super().__init__()
        inertia = np.array(I_arg, float)
        if not np.isfinite([m_arg, L_arg, kF_arg, kM_arg, *inertia.ravel()]).all():
            raise ValueError("QuadrotorPlant: mass, length, inertia, force and moment constants must be finite.")
        if not m_arg > 0.0:
            raise ValueError(f"QuadrotorPlant: the mass must be positive, got {m_arg}.")
        if inertia.shape != (3, 3) or not (np.linalg.eigvalsh(inertia) > 0.0).all():
            raise ValueError(f"QuadrotorPlant: the inertia must be a positive definite 3 x 3 matrix, got\n{inertia}.")
        self._constants, self._inertia = [float(m_arg), float(L_arg), float(kF_arg), float(kM_arg), 9.81], inertia
        u = self.DeclareVectorInputPort("propeller_force", 4)
        state = self.DeclareContinuousState(12)
        self.DeclareStateOutputPort("state", state)
        constants = {"c": self._constants, "inertia": inertia.ravel(), "inverse": np.linalg.inv(inertia).ravel()}
        self._sys_declare_derivatives(fly.given(**constants, x=state, u=InputOr(u, [0.0] * 4)), of=QuadrotorPlant)

    def m(self) -> float:
        """Returns the mass [kg]."""
        return self._constants[0]

    def length(self) -> float:
        """Returns the distance of the propellers from the centre of mass [m]."""
        return self._constants[1]

    def force_constant(self) -> float:
        """Returns the thrust of a propeller by its input."""
        return self._constants[2]

    def moment_constant(self) -> float:
        """Returns the torque of a propeller about its axis by its input [m]."""
        return self._constants[3]

    def g(self) -> float:
        """Returns the acceleration of gravity [m/s^2]."""
        return self._constants[4]

    def inertia(self) -> Array:
        """Returns the inertia about the centre of mass [kg m^2], shape [3, 3]."""
        return self._inertia.copy()


def StabilizingLQRController(quadrotor_plant: QuadrotorPlant, nominal_position: ArrayLike) -> AffineSystem:
    """Returns a linear quadratic regulator that brings a quadrotor to a position and has it hover there.

    Deviations of position [m] and of roll, pitch and yaw [rad] cost ten times those of rates and inputs.

    Args:
        quadrotor_plant: its state is the input of the regulator.
        nominal_position: of B in the world [m], shape [3].

    Raises:
        ValueError: the position has another shape, or there is no such regulator.
    """
    position = np.asarray(nominal_position, float).ravel()
    if position.shape != (3,):
        raise ValueError(f"StabilizingLQRController: the position must have 3 elements; got {position.size}.")
    weight = quadrotor_plant.m() * quadrotor_plant.g()
    context = quadrotor_plant.CreateDefaultContext()
    context.SetContinuousState([*position, *[0.0] * 9])
    quadrotor_plant.get_input_port().FixValue(context, [0.25 * weight / quadrotor_plant.force_constant()] * 4)
    costs = np.diag([10.0] * 6 + [1.0] * 6)
    return LinearQuadraticRegulator(quadrotor_plant, context, costs, np.eye(4))
