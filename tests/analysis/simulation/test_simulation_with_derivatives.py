"""Simulations with AutoDiffXd: derivatives of the final state with respect to where it started."""

import warnings

import numpy as np
import pytest
import scipy.linalg

from merganser import framework
from merganser.analysis import (
    ApplySimulatorConfig,
    BogackiShampine3Integrator,
    ExplicitEulerIntegrator,
    ExtractSimulatorConfig,
    ImplicitEulerIntegrator,
    IntegratorBase_,
    RungeKutta2Integrator,
    RungeKutta2Integrator_,
    RungeKutta3Integrator,
    RungeKutta5Integrator,
    Simulator,
    Simulator_,
    SimulatorConfig,
)
from merganser.framework import DiagramBuilder, LeafSystem
from merganser.framework.autodiff import AutoDiffXd, ExtractGradient, ExtractValue, InitializeAutoDiff
from merganser.framework.primitives import (
    ConstantVectorSource,
    Gain,
    Integrator,
    LinearSystem,
    LogVectorOutput,
    ZeroOrderHold,
)
from merganser.framework.symbolic import Expression, Variable


def double_integrator():
    """q and v of a block pushed by a spring: two integrators in a loop with a gain."""
    builder = DiagramBuilder()
    velocity, position = builder.AddNamedSystem("v", Integrator(1)), builder.AddNamedSystem("q", Integrator(1))
    spring = builder.AddSystem(Gain(-2.0, 1))
    builder.Cascade(velocity, position)
    builder.Cascade(position, spring)
    builder.Cascade(spring, velocity)
    builder.ExportOutput(position.get_output_port())
    return builder.Build()


DYNAMICS = np.array([[0.0, -2.0], [1.0, 0.0]])  # of (v, q)


def gradient_after(diagram, make_integrator, time):
    system = diagram.ToAutoDiffXd()
    context = system.CreateDefaultContext()
    context.SetContinuousState(InitializeAutoDiff([0.3, 1.0]).ravel())
    simulator = Simulator_[AutoDiffXd](system, context)
    simulator.reset_integrator(make_integrator(system, context))
    simulator.AdvanceTo(time)
    x = simulator.get_context().get_continuous_state_vector().CopyToVector()
    return ExtractValue(x).ravel(), ExtractGradient(x)


def accurate(kind, accuracy):
    def make(system, context):
        integrator = kind(system, context)
        integrator.set_target_accuracy(accuracy)
        integrator.set_maximum_step_size(0.1)
        return integrator

    return make


@pytest.mark.parametrize(
    ("make", "tolerance"),
    [
        (accurate(RungeKutta3Integrator, 1e-7), 1e-7),
        (accurate(RungeKutta5Integrator, 1e-9), 1e-8),
        (accurate(BogackiShampine3Integrator, 1e-7), 1e-6),
        (lambda system, context: RungeKutta2Integrator(system, 1e-2, context), 2e-4),
        (lambda system, context: ExplicitEulerIntegrator(system, 1e-3, context), 2e-3),
    ],
)
def test_gradient_of_the_final_state_is_the_matrix_exponential(make, tolerance):
    value, gradient = gradient_after(double_integrator(), make, 1.0)
    transition = scipy.linalg.expm(DYNAMICS)
    np.testing.assert_allclose(gradient, transition, atol=tolerance)
    np.testing.assert_allclose(value, transition @ [0.3, 1.0], atol=tolerance)


def test_values_are_those_of_the_simulation_with_floats():
    diagram = double_integrator()
    make = accurate(RungeKutta3Integrator, 1e-5)
    value, _ = gradient_after(diagram, make, 0.7)
    context = diagram.CreateDefaultContext()
    context.SetContinuousState([0.3, 1.0])
    simulator = Simulator(diagram, context)
    simulator.reset_integrator(make(diagram, context))
    simulator.AdvanceTo(0.7)
    np.testing.assert_allclose(value, context.get_continuous_state_vector().CopyToVector(), rtol=1e-12)


def test_settings_apply_to_simulators_of_any_scalar_and_are_read_back_as_numbers():
    diagram = double_integrator().ToAutoDiffXd()
    simulator = Simulator_[AutoDiffXd](diagram)
    config = SimulatorConfig(
        integration_scheme="runge_kutta2", max_step_size=0.05, accuracy=0.0, use_error_control=False, start_time=0.5
    )
    ApplySimulatorConfig(config, simulator)
    assert isinstance(simulator.get_integrator(), RungeKutta2Integrator_[AutoDiffXd])
    taken = ExtractSimulatorConfig(simulator)
    assert taken == config and type(taken.start_time) is float


def test_gradient_by_a_parameter_through_sampled_feedback_and_its_log():
    """x' = -a x[k] held for 0.25 s, so that x[k+1] = (1 - a / 4) x[k]."""
    builder = DiagramBuilder()
    state, hold = builder.AddNamedSystem("state", Integrator([1.0])), builder.AddSystem(ZeroOrderHold(0.25, 1))
    gain = builder.AddSystem(LinearSystem(D=[[-1.0, -1.0]]))
    drift = builder.AddNamedSystem("drift", ConstantVectorSource([0.0]))
    stack = builder.AddSystem(framework.primitives.Multiplexer(2))
    builder.Cascade(state, hold)
    builder.Connect(hold.get_output_port(), stack.get_input_port(0))
    builder.Connect(drift.get_output_port(), stack.get_input_port(1))
    builder.Cascade(stack, gain)
    builder.Cascade(gain, state)
    sink = LogVectorOutput(state.get_output_port(), builder, 0.25)
    sink.set_name("log")
    diagram = builder.Build().ToAutoDiffXd()
    context = diagram.CreateDefaultContext()
    drift = diagram.GetSubsystemByName("drift")
    drift.get_mutable_source_value(drift.GetMyContextFromRoot(context))[0] = AutoDiffXd(0.0, [1.0])
    Simulator_[AutoDiffXd](diagram, context).AdvanceTo(1.0)
    log = diagram.GetSubsystemByName("log").FindLog(context)
    assert [time.value() for time in log.sample_times()] == [0.0, 0.25, 0.5, 0.75, 1.0]
    values = ExtractValue(log.data()).ravel()
    np.testing.assert_allclose(values, 0.75 ** np.arange(5), rtol=1e-12)
    np.testing.assert_allclose(ExtractGradient(log.data()[:, 1:]).ravel(), -1.0 + 0.75 ** np.arange(1, 5), rtol=1e-12)


def test_nonfinite_derivatives_are_blamed_on_their_system():
    class Failing(LeafSystem):
        def __init__(self):
            super().__init__()
            self.DeclareContinuousState(1)

        def DoCalcTimeDerivatives(self, context, derivatives):
            x = context.get_continuous_state_vector()[0]
            derivatives.SetFromVector([1.0 + 0.0 * np.log(0.5 - x)])

    system = Failing().ToAutoDiffXd()
    system.set_name("failing")
    blame = pytest.raises(RuntimeError, match="of system '::failing' are not finite")
    with np.errstate(invalid="ignore"), blame:
        Simulator_[AutoDiffXd](system).AdvanceTo(5.0)


def test_witness_event_warns_that_the_gradient_of_its_time_is_left_out():
    from bouncing_ball import make_ball

    ball = make_ball(framework)
    system = ball.ToAutoDiffXd()
    context = system.CreateDefaultContext()
    context.SetContinuousState(InitializeAutoDiff([1.0, 0.0]).ravel())
    with pytest.warns(RuntimeWarning, match="witness function 'floor' of system '::ball'.*how that time changes"):
        Simulator_[AutoDiffXd](system, context).AdvanceTo(1.0)
    plain = ball.CreateDefaultContext()
    plain.SetContinuousState([1.0, 0.0])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        Simulator(ball, plain).AdvanceTo(1.0)
    values = ExtractValue(context.get_continuous_state_vector().CopyToVector()).ravel()
    np.testing.assert_allclose(values, plain.get_continuous_state_vector().CopyToVector(), rtol=1e-9)


def test_scalar_types_of_simulators_and_integrators():
    floats = double_integrator()
    autodiff = floats.ToAutoDiffXd()
    assert Simulator_[float] is Simulator
    assert isinstance(Simulator_[AutoDiffXd](autodiff), Simulator_[AutoDiffXd])
    assert not isinstance(Simulator(floats), Simulator_[AutoDiffXd])
    integrator = RungeKutta2Integrator_[AutoDiffXd](autodiff, 0.1, autodiff.CreateDefaultContext())
    assert isinstance(integrator, IntegratorBase_[AutoDiffXd])
    with pytest.raises(TypeError, match=r"Simulator_\[AutoDiffXd\] takes systems of this scalar type.*one of float"):
        Simulator_[AutoDiffXd](floats)
    with pytest.raises(TypeError, match="ImplicitEulerIntegrator solves its equations for floats only"):
        ImplicitEulerIntegrator(autodiff, autodiff.CreateDefaultContext())
    with pytest.raises(RuntimeError, match="no instantiation for Expression"):
        Simulator_[Expression]


@pytest.mark.parametrize("method", [RungeKutta2Integrator, ExplicitEulerIntegrator])
def test_steps_of_fixed_size_of_expressions_have_the_values_of_floats(method):
    floats, x = LinearSystem([[-2.0]], [[1.0]], [[1.0]], [[0.0]]), Variable("x")
    ends = []
    for system, start in ((floats, 3.0), (floats.ToSymbolic(), x)):
        context = system.CreateDefaultContext()
        context.SetContinuousState([start])
        system.get_input_port().FixValue(context, [1.0])
        integrator = method(system, 0.1, context)
        integrator.IntegrateWithMultipleStepsToTime(0.35)
        ends.append(context.get_continuous_state_vector()[0])
    assert ends[1].Evaluate({x: 3.0}) == pytest.approx(ends[0], rel=1e-14)
    assert isinstance(integrator, IntegratorBase_[Expression])
    if method is RungeKutta2Integrator:
        assert isinstance(integrator, RungeKutta2Integrator_[Expression])
    with pytest.raises(TypeError, match="only systems of numbers can be simulated"):
        RungeKutta3Integrator(system, system.CreateDefaultContext())


@pytest.mark.parametrize("T", [AutoDiffXd, Expression])
def test_a_log_in_a_diagram_of_another_scalar_has_samples_of_that(T):
    builder = framework.DiagramBuilder_[T]()
    source = builder.AddSystem(ConstantVectorSource([2.0]).ToScalarType[T]())
    log = LogVectorOutput(source.get_output_port(), builder, 0.1)
    diagram = builder.Build()
    context = diagram.CreateDefaultContext()
    diagram.ForcedPublish(context)
    (sample,) = log.FindLog(context).data().ravel()
    assert isinstance(sample, T) and float(sample.value() if T is AutoDiffXd else sample.Evaluate()) == 2.0
