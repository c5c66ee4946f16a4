"""A simple pendulum with a torque in its joint.

m l^2 theta'' + b theta' + m g l sin theta = tau                                                        (1)

with theta = 0 where it hangs.
"""

from __future__ import annotations

from typing import Any

from numpy.typing import NDArray

from merganser.framework import LeafSystem, OutputPort
from merganser.framework.core.declarations.native_wires import InputOr
from merganser.framework.core.inside import declare_derivatives
from merganser.framework.core.values.named_vector import NamedVector
from merganser.framework.math.element_functions import cos, sin
from merganser.framework.native import native

__all__ = ["PendulumInput", "PendulumParams", "PendulumPlant", "PendulumState"]

Array = NDArray[Any]


class PendulumInput(NamedVector):
    """tau [N m]."""

    DEFAULTS = {"tau": 0.0}


class PendulumState(NamedVector):
    """theta [rad] and thetadot [rad/s]."""

    DEFAULTS = {"theta": 0.0, "thetadot": 0.0}


class PendulumParams(NamedVector):
    """mass m [kg], length l [m], damping b [N m s] and gravity g [m/s^2]."""

    DEFAULTS = {"mass": 1.0, "length": 0.5, "damping": 0.1, "gravity": 9.81}


@native
def swing(p: Array, x: Array, tau: Array, xdot: Array) -> None:
    """Equation (1)."""
    m, l, b, g = p[0], p[1], p[2], p[3]
    xdot[0] = x[1]
    xdot[1] = (tau[0] - m * g * l * sin(x[0]) - b * x[1]) / (m * l * l)


class PendulumPlant(LeafSystem):
    """A pendulum. The input `tau` may be left unconnected, and is zero then; the output is its state."""

    def __init__(self) -> None:
        super().__init__()
        tau = self.DeclareVectorInputPort("tau", PendulumInput())
        state = self.DeclareContinuousState(PendulumState(), 1, 1, 0)
        self.DeclareStateOutputPort("state", state)
        params = self.DeclareNumericParameter(PendulumParams())
        declare_derivatives(self, swing.given(p=params, x=state, tau=InputOr(tau, [0.0])), of=PendulumPlant)

    def get_state_output_port(self) -> OutputPort:
        """Returns the port with [theta, thetadot]."""
        return self.get_output_port(0)

    @staticmethod
    def get_state(context: Any) -> PendulumState:
        """Returns the state in a Context."""
        return context.get_continuous_state_vector()

    @staticmethod
    def get_mutable_state(context: Any) -> PendulumState:
        """Returns the state in a Context, for changing it."""
        return context.get_mutable_continuous_state_vector()

    def get_parameters(self, context: Any) -> PendulumParams:
        """Returns the parameters in a Context."""
        return context.get_numeric_parameter(0)

    def get_mutable_parameters(self, context: Any) -> PendulumParams:
        """Returns the parameters in a Context, for changing them."""
        return context.get_mutable_numeric_parameter(0)

    def DoCalcKineticEnergy(self, context: Any) -> Any:
        """m (l theta')^2 / 2 [J]."""
        p, x = context.get_numeric_parameter(0), context.get_continuous_state_vector()
        return 0.5 * p[0] * (p[1] * x[1]) ** 2

    def DoCalcPotentialEnergy(self, context: Any) -> Any:
        """-m g l cos theta [J]."""
        p, x = context.get_numeric_parameter(0), context.get_continuous_state_vector()
        return -p[0] * p[3] * p[1] * cos(x[0])
