"""The van der Pol oscillator: q'' + mu (q^2 - 1) q' + q = 0."""

from __future__ import annotations

from typing import Any

from numpy.typing import NDArray

from merganser.analysis import Simulator
from merganser.framework import BasicVector, DiagramBuilder, LeafSystem, OutputPort
from merganser.framework.native import native
from merganser.framework.primitives import LogVectorOutput

Array = NDArray[Any]

# A point of the limit cycle for mu = 1, how long one turn takes [s], and in how many pieces it is returned.
_START = (-0.1144, 2.0578)
_PERIOD = 6.667


@native
def oscillate(mu: Array, x: Array, xdot: Array) -> None:
    """x = [q; q']."""
    xdot[0] = x[1]
    xdot[1] = -mu[0] * (x[0] * x[0] - 1.0) * x[1] - x[0]


@native
def position(x: Array, y: Array) -> None:
    """y = q."""
    y[0] = x[0]


class VanDerPolOscillator(LeafSystem):
    """An oscillator with a limit cycle. Outputs: y0 = q and y1 = [q; q']; its one parameter is mu, 1 by default."""

    def __init__(self) -> None:
        super().__init__()
        state = self.DeclareContinuousState(1, 1, 0)
        mu = self.DeclareNumericParameter(BasicVector([1.0]))
        self.DeclareVectorOutputPort("y0", 1, position.given(x=state))
        self.DeclareStateOutputPort("y1", state)
        self._sys_declare_derivatives(oscillate.given(mu=mu, x=state), of=VanDerPolOscillator)

    def get_position_output_port(self) -> OutputPort:
        """Returns the port with q."""
        return self.get_output_port(0)

    def get_full_state_output_port(self) -> OutputPort:
        """Returns the port with [q; q']."""
        return self.get_output_port(1)

    @staticmethod
    def CalcLimitCycle() -> Array:
        """Returns states of one turn around the limit cycle for mu = 1, one for each step, shape [2, n]."""
        builder = DiagramBuilder()
        oscillator = builder.AddSystem(VanDerPolOscillator())
        log = LogVectorOutput(oscillator.get_full_state_output_port(), builder)
        simulator = Simulator(builder.Build())
        simulator.get_mutable_context().SetContinuousState(_START)
        simulator.AdvanceTo(_PERIOD)
        return log.FindLog(simulator.get_context()).data()
