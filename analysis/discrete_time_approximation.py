"""Continuous-time systems made discrete, with inputs that are held between the updates."""

from __future__ import annotations

import functools
from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from merganser.analysis.simulation.simulator import Simulator
from merganser.analysis.simulation.simulator_config import ApplySimulatorConfig, SimulatorConfig
from merganser.framework.common.keywords import also_named
from merganser.framework.core.context.context import Context
from merganser.framework.core.declarations.ports import OutputPort
from merganser.framework.core.system.leaf_system import LeafSystem
from merganser.framework.core.system.system import System
from merganser.framework.core.values.state import DiscreteValues
from merganser.framework.core.values.values import AbstractValue, BasicVector, Value
from merganser.framework.primitives.linear_system import AffineSystem, LinearSystem

Array = NDArray[Any]


@also_named(linear_system="system", affine_system="system")
def DiscreteTimeApproximation(
    system: System, time_period: float, integrator_config: SimulatorConfig | None = None
) -> Any:
    """A discrete-time system whose state is that of a continuous-time system at multiples of a period.

    Between two updates the inputs keep the values that they have at the first of them (zero-order hold). A
    LinearSystem gives a LinearSystem and an AffineSystem an AffineSystem, by the matrix exponential

        exp([[A, B, f0], [0, 0, 0], [0, 0, 0]] h) = [[A_d, B_d, f_d], [0, I, 0], [0, 0, 1]]    (1)

    (C. Van Loan, 1978, "Computing integrals involving the matrix exponential"), exactly. Any other system gives one
    with the same ports and numeric parameters, and one group of discrete state, whose updates integrate a copy of the
    system.

    Args:
        system: its state is continuous, and its input ports carry vectors.
        time_period: time h between two updates [s].
        integrator_config: how to integrate; only what is about the integrator counts.

    Raises:
        ValueError: the system has no continuous state or other state too, or the period is not positive.
    """
    if not 0.0 < time_period < np.inf:
        raise ValueError(f"DiscreteTimeApproximation: time_period must be positive, got {time_period} s.")
    if not system.IsDifferentialEquationSystem() or system.num_continuous_states() == 0:
        raise ValueError(
            f"DiscreteTimeApproximation: system '{system.GetSystemPathname()}' must have continuous state only, and "
            "vector-valued inputs only."
        )
    if not isinstance(system, AffineSystem):
        return _DiscreteTimeSystem(system, float(time_period), integrator_config or SimulatorConfig())
    A, B, f0 = _discretized(system, time_period)
    if isinstance(system, LinearSystem):
        return LinearSystem(A, B, system.C(), system.D(), time_period)
    return AffineSystem(A, B, f0, system.C(), system.D(), system.y0(), time_period)


def _discretized(system: AffineSystem, h: float) -> tuple[Array, Array, Array]:
    """A_d, B_d and f_d of (1)."""
    from scipy.linalg import expm

    n, m = system.num_states(), system.num_inputs()
    M = np.zeros((n + m + 1, n + m + 1))
    M[:n] = np.column_stack([system.A(), system.B(), system.f0()])
    exponential = expm(M * h)
    return exponential[:n, :n], exponential[:n, n : n + m], exponential[:n, -1]


class _DiscreteTimeSystem(LeafSystem):
    """x[n+1] = x[n] + the integral over one period of the time derivatives of a system, with constant inputs.

    Args:
        system: copied.
        period: time between two updates [s].
        config: how to integrate.
    """

    def __init__(self, system: System, period: float, config: SimulatorConfig) -> None:
        super().__init__()
        self._sys_suggest_name("DiscreteTimeApproximation")
        self._system = system.Clone()
        self._period, self._config = period, config
        defaults = self._system.CreateDefaultContext()
        self.DeclareDiscreteState(defaults.get_continuous_state_vector().CopyToVector())
        for index in range(self._system.num_numeric_parameter_groups()):
            units = self._system.get_numeric_parameter_units(index)
            self.DeclareNumericParameter(defaults.get_numeric_parameter(index), units=units)
        for index in range(self._system.num_input_ports()):
            port = self._system.get_input_port(index)
            self.DeclareVectorInputPort(port.get_name(), port.size(), port.get_random_type(), units=port.get_units())
        for index in range(self._system.num_output_ports()):
            self._declare_same_output(self._system.get_output_port(index))
        self.DeclarePeriodicDiscreteUpdateEvent(period, 0.0, self._update)

    def _declare_same_output(self, port: OutputPort) -> None:
        """Declares an output that depends directly on the same inputs as that of the continuous-time system."""
        name, index, model = port.get_name(), int(port.get_index()), port.Allocate().get_value()
        inputs = [i for i in range(self.num_input_ports()) if self._system.HasDirectFeedthrough(i, index)]
        needs = {self.all_sources_except_input_ports_ticket(), *(self.input_port_ticket(i) for i in inputs)}
        if isinstance(model, BasicVector):
            calc = functools.partial(self._calc_vector, index, inputs)
            self.DeclareVectorOutputPort(name, model, calc, needs)
        else:
            calc = functools.partial(self._calc_abstract, index, inputs)
            self.DeclareAbstractOutputPort(name, port.Allocate, calc, needs)

    def _calc_vector(self, port: int, inputs: list[int], context: Context, output: BasicVector) -> None:
        inner = self._inner_context(context, inputs)
        output.SetFrom(self._system.get_output_port(port).EvalBasicVector(inner))

    def _calc_abstract(self, port: int, inputs: list[int], context: Context, output: AbstractValue) -> None:
        inner = self._inner_context(context, inputs)
        output.SetFrom(Value(self._system.get_output_port(port).Eval(inner)))

    def _inner_context(self, context: Context, inputs: Iterable[int]) -> Context:
        """A new context of the continuous-time system, with time, state, parameters and inputs of this one."""
        inner = self._system.CreateDefaultContext()
        inner.SetTime(context.get_time())
        inner.SetContinuousState(context.get_discrete_state(0).value())
        for index in range(self._system.num_numeric_parameter_groups()):
            inner.get_mutable_numeric_parameter(index).SetFrom(context.get_numeric_parameter(index))
        for index in inputs:
            port = self.get_input_port(index)
            if port.HasValue(context):
                self._system.get_input_port(index).FixValue(inner, port.Eval(context))
        return inner

    def _update(self, context: Context, discrete_state: DiscreteValues) -> None:
        inner = self._inner_context(context, range(self.num_input_ports()))
        start = inner.get_time()
        simulator = Simulator(self._system, inner)
        ApplySimulatorConfig(self._config, simulator)
        inner.SetTime(start)
        integrator = simulator.get_mutable_integrator()
        integrator.Initialize()
        integrator.IntegrateWithMultipleStepsToTime(start + self._period)
        discrete_state.set_value(0, inner.get_continuous_state_vector().value())
