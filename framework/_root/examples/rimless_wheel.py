"""The rimless wheel: spokes without a rim, rolling down a ramp from spoke to spoke.

A point mass at the hub, n massless spokes of length l, at angles 2 alpha = 2 pi / n from each other. The angle theta of
the spoke that stands is measured clockwise from the vertical, so that positive angles and rates go downhill:

    theta'' = (g / l) sin theta                                                                          (1)

On a ramp of angle gamma the next spoke lands where theta = gamma + alpha, or uphill where theta = gamma - alpha.
Landing is inelastic, and keeps the angular momentum about the new foot:

    theta+ = theta -+ 2 alpha,   theta+' = theta' cos(2 alpha)                                            (2)

A wheel that comes to rest lands infinitely often in a finite time. So one that lands with |theta+'| < 0.01 sqrt(g / l)
stays on both spokes, for good.

Source: R. Tedrake, Underactuated Robotics, chapter 4.
"""

from __future__ import annotations

import math
from typing import Any

from numpy.typing import NDArray

from merganser.examples.flag import declare_flag
from merganser.framework import (
    LeafSystem,
    OutputPort,
    UnrestrictedUpdateEvent,
    Value,
    WitnessFunction,
    WitnessFunctionDirection,
    kUseDefaultName,
)
from merganser.framework.core.inside import declare_derivatives
from merganser.framework.core.values.named_vector import NamedVector
from merganser.framework.math import abs as magnitude
from merganser.framework.math import sqrt
from merganser.framework.math.element_functions import cos, sin
from merganser.framework.native import native

__all__ = ["RimlessWheel", "RimlessWheelContinuousState", "RimlessWheelParams"]

Array = NDArray[Any]

_SLOW = 0.01  # landing rates below this many sqrt(g / l) end in rest


class RimlessWheelContinuousState(NamedVector):
    """theta [rad] and thetadot [rad/s] of the spoke that stands, clockwise from the vertical."""

    DEFAULTS = {"theta": 0.0, "thetadot": 0.0}


class RimlessWheelParams(NamedVector):
    """Mass [kg], length of a spoke [m], gravity [m/s^2], number of spokes (at least 4), slope of the ramp [rad]."""

    DEFAULTS = {"mass": 1.0, "length": 1.0, "gravity": 9.81, "number_of_spokes": 8, "slope": 0.08}


@native
def roll(p: Array, x: Array, rests: Array, xdot: Array) -> None:
    """Equation (1); at rest nothing moves."""
    moves = 1.0 - rests[0]
    xdot[0] = moves * x[1]
    xdot[1] = moves * (p[2] / p[1] * sin(x[0]))


@native
def floating_base(p: Array, x: Array, toe: Array, y: Array) -> None:
    """Position and roll-pitch-yaw of the hub, and their rates; the pitch goes on from spoke to spoke."""
    l, slope, alpha = p[1], p[4], math.pi / p[3]
    for i in range(12):
        y[i] = 0.0 * x[0]
    y[0] = toe[0] * cos(slope) + l * sin(x[0])
    y[2] = -toe[0] * sin(slope) + l * cos(x[0])
    y[4] = x[0] + alpha * toe[0] / (l * sin(alpha))  # 2 alpha for each step, which is 2 l sin(alpha) long
    y[6] = l * cos(x[0]) * x[1]
    y[8] = -l * sin(x[0]) * x[1]
    y[10] = x[1]


class RimlessWheel(LeafSystem):
    """The rimless wheel, without inputs. Outputs: [theta, thetadot], and the state of its hub as a floating body.

    The latter has shape [12]: x, y, z, roll, pitch, yaw and their rates. (pydrake 1.51 gives the translational
    velocity with the opposite sign.)

    State: [theta, thetadot]; where the foot is along the ramp [m] (discrete); whether the wheel rests on two spokes
    (abstract).
    """

    def __init__(self) -> None:
        super().__init__()
        state = self.DeclareContinuousState(RimlessWheelContinuousState(), 1, 1, 0)
        toe = self.DeclareDiscreteState(1)
        self._double_support = self.DeclareAbstractState(Value[bool](False))
        params = self.DeclareNumericParameter(RimlessWheelParams())
        rests = declare_flag(self, self._double_support, "whether the wheel rests on two spokes")
        self.DeclareStateOutputPort(kUseDefaultName, state)
        self.DeclareVectorOutputPort(kUseDefaultName, 12, floating_base.given(p=params, x=state, toe=toe))
        declare_derivatives(self, roll.given(p=params, x=state, rests=rests), of=RimlessWheel)
        down = WitnessFunctionDirection.kPositiveThenNonPositive
        self._steps = [
            self.MakeWitnessFunction("step forward", down, self._forward_guard, UnrestrictedUpdateEvent(self._forward)),
            self.MakeWitnessFunction("step backward", down, self._back_guard, UnrestrictedUpdateEvent(self._back)),
        ]

    def get_minimal_state_output_port(self) -> OutputPort:
        """Returns the port with [theta, thetadot]."""
        return self.get_output_port(0)

    def get_floating_base_state_output_port(self) -> OutputPort:
        """Returns the port with the state of the hub as a floating body, shape [12]."""
        return self.get_output_port(1)

    @staticmethod
    def calc_alpha(params: RimlessWheelParams) -> Any:
        """Returns half the angle between two spokes [rad]."""
        return math.pi / params.number_of_spokes()

    def DoGetWitnessFunctions(self, context: Any) -> list[WitnessFunction]:
        """A wheel at rest stays there."""
        return [] if context.get_abstract_state(self._double_support).get_value() else self._steps

    def _forward_guard(self, context: Any) -> Any:
        p, x = context.get_numeric_parameter(0), context.get_continuous_state_vector()
        return p.slope() + self.calc_alpha(p) - x[0]

    def _back_guard(self, context: Any) -> Any:
        p, x = context.get_numeric_parameter(0), context.get_continuous_state_vector()
        return x[0] - p.slope() + self.calc_alpha(p)

    def _forward(self, context: Any, event: Any, state: Any) -> None:
        self._land(context, state, 1.0)

    def _back(self, context: Any, event: Any, state: Any) -> None:
        self._land(context, state, -1.0)

    def _land(self, context: Any, state: Any, direction: float) -> None:
        """Equation (2); direction is 1 downhill and -1 uphill."""
        p, x = context.get_numeric_parameter(0), context.get_continuous_state_vector()
        alpha = self.calc_alpha(p)
        theta, rate = x[0] - direction * 2.0 * alpha, x[1] * cos(2.0 * alpha)
        if magnitude(rate) < _SLOW * sqrt(p.gravity() / p.length()):
            state.get_mutable_abstract_state(self._double_support).set_value(True)
            rate = 0.0 * rate
        state.get_mutable_continuous_state().SetFromVector([theta, rate])
        toe = context.get_discrete_state(0)[0] + direction * 2.0 * p.length() * sin(alpha)
        state.get_mutable_discrete_state(0).SetAtIndex(0, toe)
