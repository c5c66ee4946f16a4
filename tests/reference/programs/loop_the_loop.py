"""An aeroplane of two dimensions flies a looping, held on its way by a linear regulator that changes with time."""

import numpy as np
from pydrake.all import (
    DiagramBuilder,
    FiniteHorizonLinearQuadraticRegulatorOptions,
    LeafSystem_,
    LogVectorOutput,
    MakeFiniteHorizonLinearQuadraticRegulator,
    PiecewisePolynomial,
    Simulator,
    TemplateSystem,
    cos,
    sin,
)


@TemplateSystem.define("PlanarGlider_")
def PlanarGlider_(T):
    """Flies with its nose, and turns by its elevator; speeds are kept by thrust, and fall when it climbs."""

    class Impl(LeafSystem_[T]):
        def _construct(self, *, converter=None, drag=0.1):
            LeafSystem_[T].__init__(self, converter=converter)
            self.drag = drag
            self.DeclareVectorInputPort("thrust_and_turn", 2)
            state = self.DeclareContinuousState(4)
            self.DeclareStateOutputPort("state", state)

        def _construct_copy(self, other, converter=None):
            Impl._construct(self, converter=converter, drag=other.drag)

        def DoCalcTimeDerivatives(self, context, derivatives):
            _, _, theta, v = context.get_continuous_state_vector().CopyToVector()
            thrust, turn = self.get_input_port().Eval(context)
            xdot = [v * cos(theta), v * sin(theta), turn * v, thrust - self.drag * v * v - 9.81 * sin(theta)]
            derivatives.get_mutable_vector().SetFromVector(np.array(xdot))

    return Impl


PlanarGlider = PlanarGlider_[None]
glider = PlanarGlider(drag=0.05)

# What is flown: turns at a constant rate, with thrust against gravity and drag, as simulated without disturbances.
T, radius, speed = 2.0, 3.0, 10.0
times = np.linspace(0.0, T, 41)
thetas = speed / radius * times
inputs = np.array([0.05 * speed**2 + 9.81 * np.sin(thetas), np.full_like(times, 1.0 / radius)])
u0 = PiecewisePolynomial.CubicShapePreserving(times, inputs, zero_end_point_derivatives=False)
states = [radius * np.sin(thetas), radius * (1.0 - np.cos(thetas)), thetas, np.full_like(times, speed)]
rates = [speed * np.cos(thetas), speed * np.sin(thetas), np.full_like(times, speed / radius), np.zeros_like(times)]
x0 = PiecewisePolynomial.CubicHermite(times, np.array(states), np.array(rates))

options = FiniteHorizonLinearQuadraticRegulatorOptions()
options.x0, options.u0 = x0, u0
options.Qf = np.diag([10.0, 10.0, 5.0, 1.0])
options.simulator_config.accuracy = 1e-5
context = glider.CreateDefaultContext()
Q, R = np.diag([5.0, 5.0, 1.0, 0.5]), np.diag([0.1, 20.0])
regulator = MakeFiniteHorizonLinearQuadraticRegulator(glider, context, t0=0.0, tf=T, Q=Q, R=R, options=options)

builder = DiagramBuilder()
builder.AddSystem(glider)
builder.AddSystem(regulator)
builder.Connect(glider.get_output_port(), regulator.get_input_port())
builder.Connect(regulator.get_output_port(), glider.get_input_port())
states_log = LogVectorOutput(glider.get_output_port(), builder, 0.1)
inputs_log = LogVectorOutput(regulator.get_output_port(), builder, 0.1)
diagram = builder.Build()
rows = []
for offset in ([0.0, 0.0, 0.0, 0.0], [-0.5, 0.4, 0.1, -1.0]):
    simulator = Simulator(diagram)
    simulator.get_mutable_integrator().set_target_accuracy(1e-8)
    context = simulator.get_mutable_context()
    context.SetContinuousState(x0.value(0.0)[:, 0] + offset)
    simulator.AdvanceTo(T)
    rows += [*states_log.FindLog(context).data(), *inputs_log.FindLog(context).data()]
np.savetxt("result.txt", rows)
