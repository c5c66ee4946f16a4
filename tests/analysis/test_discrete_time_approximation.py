"""Discrete-time approximations of continuous-time systems."""

import numpy as np
import pytest

from merganser.analysis import DiscreteTimeApproximation, Simulator, SimulatorConfig
from merganser.framework import BasicVector, ContinuousStateIndex, DiagramBuilder, LeafSystem, Value
from merganser.framework.primitives import AffineSystem, Gain, Integrator, LinearSystem, Sine, ZeroOrderHold

A, B = np.array([[0.0, 1.0], [-4.0, 0.0]]), np.array([[0.0], [1.0]])
TIGHT = SimulatorConfig(integration_scheme="runge_kutta5", accuracy=1e-11)


class Oscillator(LeafSystem):
    """d2q/dt2 = u - k q, k = 4, with outputs t q, the state, and a text."""

    def __init__(self):
        super().__init__()
        self.DeclareVectorInputPort("force", 1)
        self.DeclareNumericParameter(BasicVector([4.0]))
        self.DeclareContinuousState(BasicVector([0.5, 0.0]), 1, 1, 0)
        self.DeclareVectorOutputPort("tq", 1, self.calc_tq)
        self.DeclareStateOutputPort("state", ContinuousStateIndex(0))
        self.DeclareAbstractOutputPort("text", lambda: Value(""), lambda c, y: y.set_value(f"t={c.get_time()}"))

    def calc_tq(self, context, output):
        output.SetFromVector([context.get_time() * context.get_continuous_state_vector()[0]])

    def DoCalcTimeDerivatives(self, context, derivatives):
        q, v = context.get_continuous_state_vector().value()
        k = context.get_numeric_parameter(0)[0]
        derivatives.SetFromVector([v, self.get_input_port().Eval(context)[0] - k * q])


def exact(h, k=4.0):
    """The state a time h after q, v = 0.3, -0.2 under a constant force of 1."""
    w = np.sqrt(k)
    q = 0.3 - 1.0 / k
    return [1.0 / k + q * np.cos(w * h) - 0.2 / w * np.sin(w * h), -w * q * np.sin(w * h) - 0.2 * np.cos(w * h)]


def next_state(system, state, force):
    context = system.CreateDefaultContext()
    context.SetDiscreteState(state)
    system.get_input_port().FixValue(context, [force])
    return system.EvalUniquePeriodicDiscreteUpdate(context).value()


def test_linear_systems_stay_linear_and_are_exact():
    system = LinearSystem(A, B, np.eye(2), np.zeros((2, 1)))
    discrete = DiscreteTimeApproximation(system, 0.3)
    assert type(discrete) is LinearSystem and discrete.time_period() == 0.3
    np.testing.assert_allclose(next_state(discrete, [0.3, -0.2], 1.0), exact(0.3), rtol=0, atol=1e-15)
    affine = DiscreteTimeApproximation(AffineSystem(A, f0=[0.0, 1.0], C=np.eye(2), y0=[5.0, 6.0]), 0.3)
    assert type(affine) is AffineSystem and affine.y0().tolist() == [5.0, 6.0]
    np.testing.assert_allclose(affine.A() @ [0.3, -0.2] + affine.f0(), exact(0.3), rtol=0, atol=1e-15)


def test_any_system_becomes_discrete_with_the_same_ports():
    discrete = DiscreteTimeApproximation(Oscillator(), 0.3, integrator_config=TIGHT)
    assert discrete.get_name() == "DiscreteTimeApproximation"
    assert discrete.IsDifferenceEquationSystem() == (True, 0.3)
    assert sorted(discrete.GetDirectFeedthroughs()) == []
    context = discrete.CreateDefaultContext()
    assert context.get_discrete_state(0).value().tolist() == [0.5, 0.0]
    np.testing.assert_allclose(next_state(discrete, [0.3, -0.2], 1.0), exact(0.3), rtol=0, atol=1e-9)
    context.SetDiscreteState([0.3, -0.2])
    context.SetTime(2.0)
    discrete.get_input_port().FixValue(context, [1.0])
    outputs = [discrete.GetOutputPort(name).Eval(context) for name in ("tq", "state", "text")]
    assert outputs[0].tolist() == [0.6] and outputs[1].tolist() == [0.3, -0.2] and outputs[2] == "t=2.0"
    context.get_mutable_numeric_parameter(0).SetFromVector([9.0])
    after = discrete.EvalUniquePeriodicDiscreteUpdate(context).value()
    np.testing.assert_allclose(after, exact(0.3, k=9.0), rtol=0, atol=1e-9)


def test_approximation_simulates_as_the_original_with_held_input():
    """The update at t = k h gives the state of t = (k + 1) h."""
    builder = DiagramBuilder()
    source = builder.AddSystem(Sine(1.0, 3.0, 0.5, 1))
    sampler = builder.AddSystem(ZeroOrderHold(0.25, 1))
    original = builder.AddSystem(Oscillator())
    discrete = builder.AddSystem(DiscreteTimeApproximation(Oscillator(), 0.25, TIGHT))
    for start, end in ((source, sampler), (source, discrete), (sampler, original)):
        builder.Connect(start.get_output_port(0), end.get_input_port())
    simulator = Simulator(builder.Build())
    simulator.get_mutable_integrator().set_target_accuracy(1e-10)

    def state_of(block):
        return block.GetOutputPort("state").Eval(block.GetMyContextFromRoot(simulator.get_context()))

    simulator.AdvanceTo(1.75)
    simulator.AdvancePendingEvents()
    ahead = state_of(discrete)
    simulator.AdvanceTo(2.0)
    np.testing.assert_allclose(ahead, state_of(original), rtol=0, atol=1e-8)


@pytest.mark.parametrize(
    ("system", "period", "message"),
    [
        (Integrator(1), 0.0, "time_period must be positive, got 0.0"),
        (Gain(1.0, 1), 0.1, "'::Gain' must have continuous state only"),
        (ZeroOrderHold(0.1, 1), 0.1, "'::ZeroOrderHold' must have continuous state only"),
    ],
)
def test_systems_that_cannot_be_made_discrete_are_refused(system, period, message):
    with pytest.raises(ValueError, match=message):
        DiscreteTimeApproximation(system, period)
