"""Integrators of stochastic differential equations: orders, moments, what they refuse."""

import numpy as np
import pytest

from merganser.analysis import (
    ApplySimulatorConfig,
    EulerMaruyamaIntegrator,
    MilsteinIntegrator,
    ResetIntegratorFromFlags,
    Simulator,
    SimulatorConfig,
)
from merganser.framework import BasicVector, DiagramBuilder, LeafSystem
from merganser.framework.native import elements, native
from merganser.framework.native.operations.brownian_motion import brownian_motion
from merganser.framework.primitives import (
    Adder,
    Gain,
    Integrator,
    LinearSystem,
    LogVectorOutput,
    TransferFunction,
    WhiteNoise,
    WienerProcess,
)

DRIFT, DIFFUSION = 0.5, 0.8


@native
def growth(xc, w, xdot):
    """dx = a x dt + b x dW, of each element."""
    for i in elements(xdot):
        xdot[i] = DRIFT * xc[i] + DIFFUSION * xc[i] * w[i]


class Growth(LeafSystem):
    """Geometric Brownian motions, whose solution is known: x = exp((a - b^2 / 2) t + b W)."""

    def __init__(self, size):
        super().__init__()
        self.DeclareContinuousState(BasicVector(np.ones(size)))
        self.DeclareVectorInputPort("w", size)
        self.DeclareTimeDerivatives(growth)


class Odd(LeafSystem):
    """Derivatives in Python, that are not linear in the noise or fail when asked to."""

    def __init__(self, derivative):
        super().__init__()
        self.derivative = derivative
        self.DeclareContinuousState(BasicVector([1.0]))
        self.DeclareVectorInputPort("w", 1)

    def DoCalcTimeDerivatives(self, context, derivatives):
        x, w = context.get_continuous_state_vector().GetAtIndex(0), self.get_input_port().Eval(context)[0]
        derivatives.SetFromVector([self.derivative(context.get_time(), x, w)])


def noisy(system, size=1, seed=3, density=1.0, step=0.1, scheme="euler_maruyama"):
    """A simulator of a system that is driven by white noise."""
    builder = DiagramBuilder()
    builder.AddNamedSystem("noise", WhiteNoise(density, size, seed))
    builder.AddNamedSystem("system", system)
    builder.Connect("noise", "system")
    simulator = Simulator(builder.Build())
    ResetIntegratorFromFlags(simulator, scheme, step)
    simulator.Initialize()
    return simulator


def state_of(simulator):
    return simulator.get_context().get_continuous_state_vector().CopyToVector()


def mean_error(scheme, step, paths):
    simulator = noisy(Growth(paths), paths, step=step, scheme=scheme)
    simulator.AdvanceTo(1.0)
    W = np.array([brownian_motion(3.0, i, 1.0) for i in range(paths)])
    return np.abs(state_of(simulator) - np.exp(DRIFT - 0.5 * DIFFUSION**2 + DIFFUSION * W)).mean()


@pytest.mark.parametrize(
    ("scheme", "order", "paths"), [("euler_maruyama", 0.5, 400), ("milstein", 1.0, 60)], ids=["0.5", "1.0"]
)
def test_the_strong_order_shows_in_the_slope_of_the_error(scheme, order, paths):
    steps = [1 / 16, 1 / 32, 1 / 64, 1 / 128]
    slope = np.polyfit(np.log(steps), np.log([mean_error(scheme, h, paths) for h in steps]), 1)[0]
    assert slope == pytest.approx(order, abs=0.1)


def test_constant_diffusion_gives_order_one_to_eulers_method():
    """dx = -x dt + dW; the exact solution is W - integral of exp(-(1 - s)) W(s) ds, by the finest steps."""
    size, errors = 200, []
    fine = noisy(LinearSystem(-np.eye(size), np.eye(size)), size, step=2.0**-11)
    fine.AdvanceTo(1.0)
    for step in (1 / 8, 1 / 16, 1 / 32):
        simulator = noisy(LinearSystem(-np.eye(size), np.eye(size)), size, step=step)
        simulator.AdvanceTo(1.0)
        errors.append(np.abs(state_of(simulator) - state_of(fine)).mean())
    assert np.polyfit(np.log([1 / 8, 1 / 16, 1 / 32]), np.log(errors), 1)[0] == pytest.approx(1.0, abs=0.15)


def test_the_stationary_variance_of_an_ornstein_uhlenbeck_process():
    """dx = -x dt + sqrt(2) dW has the variance 1; Euler's steps give 1 / (1 - h / 2)."""
    size, h = 2000, 0.1
    builder = DiagramBuilder()
    builder.AddNamedSystem("noise", WhiteNoise(2.0, size, 8))
    x = builder.AddNamedSystem("x", Integrator(size))
    builder.AddNamedSystem("sum", Adder(2, size))
    builder.AddNamedSystem("minus", Gain(-1.0, size))
    builder.Connect("x", "minus")
    builder.Connect("minus", "sum.u0")
    builder.Connect("noise", "sum.u1")
    builder.Connect("sum", "x")
    log = LogVectorOutput(x.get_output_port(), builder, 1.0)
    simulator = Simulator(builder.Build())
    ResetIntegratorFromFlags(simulator, "euler_maruyama", h)
    simulator.AdvanceTo(30.0)
    values = log.FindLog(simulator.get_context()).data()[:, 5:]  # 38,000 independent ones, about
    assert values.var() * (1.0 - 0.5 * h) == pytest.approx(1.0, rel=0.01)


@pytest.mark.parametrize("scheme", ["euler_maruyama", "milstein"])
def test_the_integral_of_white_noise_is_the_wiener_process_of_its_seed(scheme):
    for step in (0.3, 0.01):
        simulator = noisy(Integrator(2), 2, 6, density=[1.0, 4.0], step=step, scheme=scheme)
        simulator.AdvanceTo(1.0)
        wiener = WienerProcess([1.0, 4.0], seed=6)
        context = wiener.CreateDefaultContext()
        context.SetTime(1.0)
        expected = wiener.get_output_port().Eval(context)
        np.testing.assert_allclose(state_of(simulator), expected, atol=1e-12)


@pytest.mark.parametrize("scheme", ["euler_maruyama", "milstein"])
def test_compiled_and_interpreted_steps_are_equal_to_the_bit(scheme):
    compiled = noisy(Growth(3), 3, step=0.02, scheme=scheme)
    compiled.AdvanceTo(0.5)
    interpreted = noisy(Growth(3), 3, step=0.02, scheme=scheme)
    integrator = interpreted.get_mutable_integrator()
    integrator._may_be_compiled = False  # Python alone
    integrator.IntegrateWithMultipleStepsToTime(0.5)
    assert integrator._compiled is None
    assert state_of(compiled).tolist() == state_of(interpreted).tolist()


@pytest.mark.parametrize("scheme", ["euler_maruyama", "milstein"])
def test_a_simulation_in_parts_and_a_copy_go_on_to_the_bit(scheme):
    whole = noisy(TransferFunction([1.0], [0.1, 1.0]), step=0.125, scheme=scheme)
    whole.AdvanceTo(2.0)
    part = noisy(TransferFunction([1.0], [0.1, 1.0]), step=0.125, scheme=scheme)
    part.AdvanceTo(0.5)
    part.AdvanceTo(1.0)
    other = Simulator(part.get_system(), part.get_context().Clone())
    ResetIntegratorFromFlags(other, scheme, 0.125)
    other.AdvanceTo(2.0)
    assert state_of(whole).tolist() == state_of(other).tolist()


def test_without_noise_the_schemes_are_eulers_method():
    system = LinearSystem([[-1.0]], np.zeros((1, 0)), [[1.0]])
    found = []
    for scheme in ("euler_maruyama", "milstein", "explicit_euler"):
        simulator = Simulator(system.Clone())
        simulator.get_mutable_context().SetContinuousState([1.0])
        ApplySimulatorConfig(SimulatorConfig(integration_scheme=scheme, max_step_size=0.1), simulator)
        simulator.AdvanceTo(1.0)
        found.append(state_of(simulator)[0])
    assert found[0] == found[1] == found[2] == pytest.approx(0.9**10)


@pytest.mark.parametrize("scheme", ["runge_kutta3", "runge_kutta2", "radau3", "implicit_euler", "semi_explicit_euler"])
def test_other_integrators_refuse_white_noise_by_name(scheme):
    builder = DiagramBuilder()
    builder.AddNamedSystem("gusts", WhiteNoise())
    builder.AddNamedSystem("integral", Integrator(1))
    builder.Connect("gusts", "integral")
    simulator = Simulator(builder.Build())
    with pytest.raises(RuntimeError, match=r"::gusts' gives: it is not smooth.*euler_maruyama"):
        ResetIntegratorFromFlags(simulator, scheme, 0.1)
        simulator.Initialize()


@pytest.mark.parametrize("make", [EulerMaruyamaIntegrator, MilsteinIntegrator])
def test_noise_that_enters_no_derivative_or_not_linearly_is_refused_by_name(make):
    simulator = noisy(Odd(lambda t, x, w: -x + w))
    simulator.AdvanceTo(0.2)
    with pytest.raises(RuntimeError, match="::noise' gives white noise, and time derivatives are not linear"):
        noisy(Odd(lambda t, x, w: -x + w * w))
    alone = WhiteNoise()
    alone.set_name("alone")
    simulator = Simulator(alone)
    simulator.reset_integrator(make(alone, 0.1, simulator.get_mutable_context()))
    with pytest.raises(RuntimeError, match=r"'::alone' gives white noise.*no continuous state"):
        simulator.Initialize()


@pytest.mark.parametrize("scheme", ["euler_maruyama", "milstein"])
def test_after_a_failure_the_context_is_as_it_was(scheme):
    def fails(t, x, w):
        if t > 0.35:
            raise ValueError("too late")
        return -x + w

    simulator = noisy(Odd(fails), step=0.1, scheme=scheme)
    simulator.AdvanceTo(0.3)
    before = state_of(simulator)
    with pytest.raises(ValueError, match="too late"):
        simulator.AdvanceTo(0.6)
    context = simulator.get_context()
    noise = simulator.get_system().GetSubsystemByName("noise")
    assert noise.get_output_port().Eval(noise.GetMyContextFromRoot(context)).tolist() == [0.0]
    assert context.get_time() >= 0.3
    if context.get_time() == 0.3:
        assert state_of(simulator).tolist() == before.tolist()
