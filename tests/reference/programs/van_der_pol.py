"""The van der Pol oscillator from symbolic expressions, sampled and filtered, and its linearization by derivatives."""

import numpy as np
from pydrake.autodiffutils import AutoDiffXd, ExtractGradient, InitializeAutoDiff
from pydrake.common import RandomGenerator
from pydrake.symbolic import Variable
from pydrake.systems.analysis import Simulator
from pydrake.systems.framework import DiagramBuilder
from pydrake.systems.primitives import (
    FirstOrderLowPassFilter,
    LogVectorOutput,
    SymbolicVectorSystem,
    ZeroOrderHold,
)  # fmt: skip

x, y = Variable("x"), Variable("y")
oscillator = SymbolicVectorSystem(state=[x, y], dynamics=[y, (1 - x**2) * y - x], output=[x, y])
builder = DiagramBuilder()
builder.AddSystem(oscillator)
hold = builder.AddSystem(ZeroOrderHold(0.05, 2))
smooth = builder.AddSystem(FirstOrderLowPassFilter(0.3, 2))
builder.Connect(oscillator.get_output_port(), hold.get_input_port())
builder.Connect(hold.get_output_port(), smooth.get_input_port())
log = LogVectorOutput(smooth.get_output_port(), builder, publish_period=0.1)
diagram = builder.Build()
simulator = Simulator(diagram)
simulator.get_mutable_integrator().set_target_accuracy(1e-10)
oscillator.GetMyMutableContextFromRoot(simulator.get_mutable_context()).SetContinuousState([0.5, -0.2])
simulator.AdvanceTo(5.0)
data = log.FindLog(simulator.get_context()).data()

numbers = oscillator.ToAutoDiffXd()
context = numbers.CreateDefaultContext()
context.SetContinuousState(InitializeAutoDiff([0.5, -0.2]).ravel())
gradient = ExtractGradient(numbers.EvalTimeDerivatives(context).CopyToVector().reshape(-1, 1))
assert isinstance(context.get_continuous_state_vector()[0], AutoDiffXd) and RandomGenerator(3) is not None
np.savetxt("result.txt", np.vstack([data, np.pad(gradient, ((0, 0), (0, data.shape[1] - 2)))]))
