"""Order, accuracy, step sizes and limits of the integrators."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from merganser.analysis import RungeKutta3Integrator, Simulator, StepResult
from merganser.analysis.integrators.problem import combine
from merganser.framework import DiagramBuilder, LeafSystem
from merganser.framework.primitives import ConstantVectorSource, Gain, Integrator

Function = Callable[[float, Any], Any]


class Ode(LeafSystem):
    """dx/dt = function(t, x); counts the evaluations."""

    def __init__(self, function: Function, x0: list[float]) -> None:
        super().__init__()
        self.evaluations = 0
        self._function = function
        self._x0 = x0
        self.DeclareContinuousState(len(x0))

    def SetDefaultState(self, context: Any, state: Any) -> None:
        state.get_mutable_continuous_state().SetFromVector(self._x0)

    def DoCalcTimeDerivatives(self, context: Any, derivatives: Any) -> None:
        self.evaluations += 1
        x = context.get_continuous_state_vector().CopyToVector()
        derivatives.SetFromVector(self._function(context.get_time(), x))


def oscillator(omega: float = 1.0) -> Ode:
    return Ode(lambda t, x: [x[1], -omega * omega * x[0]], [1.0, 0.0])


def integrator_of(system: LeafSystem) -> RungeKutta3Integrator:
    return RungeKutta3Integrator(system, system.CreateDefaultContext())


def state(integrator: RungeKutta3Integrator) -> np.ndarray:
    return integrator.get_context().get_continuous_state_vector().CopyToVector()


def solve(system: LeafSystem, end: float, accuracy: float) -> tuple[np.ndarray, RungeKutta3Integrator]:
    integrator = integrator_of(system)
    integrator.set_maximum_step_size(end)
    integrator.set_target_accuracy(accuracy)
    integrator.IntegrateWithMultipleStepsToTime(end)
    return state(integrator), integrator


# ---------------------------------------------------------------------- the method


# Right-hand side, initial state, solution, order of convergence (without state the method is Simpson's rule).
PROBLEMS = {
    "oscillator": (lambda t, x: [x[1], -x[0]], [1.0, 0.0], lambda t: [math.cos(t), -math.sin(t)], 3),
    "logistic": (lambda t, x: x * (1.0 - x), [0.1], lambda t: [1.0 / (1.0 + 9.0 * math.exp(-t))], 3),
    "of time only": (lambda t, x: [math.cos(3.0 * t)], [0.0], lambda t: [math.sin(3.0 * t) / 3.0], 4),
    "of time and state": (lambda t, x: -2.0 * t * x, [1.0], lambda t: [math.exp(-t * t)], 3),
}


@pytest.mark.parametrize("name", PROBLEMS)
def test_fixed_steps_converge_with_the_order_of_the_method(name: str) -> None:
    function, x0, exact, expected = PROBLEMS[name]
    steps = np.array([0.1, 0.05, 0.025, 0.0125])
    errors = []
    for h in steps:
        integrator = integrator_of(Ode(function, x0))
        integrator.set_fixed_step_mode(True)
        integrator.set_maximum_step_size(h)
        integrator.IntegrateWithMultipleStepsToTime(1.3)
        errors.append(np.abs(state(integrator) - exact(1.3)).max())
    order = np.polyfit(np.log(steps), np.log(errors), 1)[0]
    assert abs(order - expected) < 0.2


@pytest.mark.parametrize("name", PROBLEMS)
def test_the_error_follows_the_accuracy_asked_for(name: str) -> None:
    """The error at the end is of the size of the accuracy, and less for less."""
    function, x0, exact, _ = PROBLEMS[name]
    errors = []
    for accuracy in (1e-3, 1e-5, 1e-7):
        x, _ = solve(Ode(function, x0), 3.0, accuracy)
        errors.append(np.abs(x - exact(3.0)).max())
        assert errors[-1] < 10.0 * accuracy
    assert errors[0] > 10.0 * errors[1] > 100.0 * errors[2]


def test_a_cubic_in_time_is_integrated_exactly_but_its_estimate_is_not_zero() -> None:
    """Order 3 leaves no error for dx/dt = t^2; the embedded method of order 2 does."""
    x, integrator = solve(Ode(lambda t, x: [t * t], [0.0]), 2.0, 1e-6)
    assert x[0] == pytest.approx(8.0 / 3.0, abs=1e-14)
    assert integrator.get_num_steps_taken() > 5


def test_the_energy_of_an_oscillator_drifts_no_more_than_the_accuracy_allows() -> None:
    x, _ = solve(oscillator(2.0), 20.0, 1e-8)
    assert x[1] ** 2 + 4.0 * x[0] ** 2 == pytest.approx(4.0, rel=1e-5)


def test_steps_shrink_where_the_solution_is_fast_and_grow_where_it_is_slow() -> None:
    integrator = integrator_of(Ode(lambda t, x: [math.exp(-(((t - 5.0) / 0.1) ** 2))], [0.0]))
    integrator.set_maximum_step_size(1.0)
    integrator.set_target_accuracy(1e-6)
    sizes: dict[float, float] = {}
    while integrator.get_context().get_time() < 10.0:
        integrator.IntegrateNoFurtherThanTime(math.inf, math.inf, 10.0)
        sizes[integrator.get_context().get_time()] = integrator.get_previous_integration_step_size()
    near = [h for t, h in sizes.items() if 4.9 < t < 5.1]
    far = [h for t, h in sizes.items() if 6.5 < t < 9.0]
    assert max(near) < 0.1 < min(far)
    assert state(integrator)[0] == pytest.approx(0.1 * math.sqrt(math.pi), abs=1e-5)


def test_a_stiff_problem_takes_small_steps_but_works() -> None:
    """dx/dt = -1000 (x - cos t), where stability limits the step to about 2.5e-3."""
    x, integrator = solve(Ode(lambda t, x: -1000.0 * (x - math.cos(t)), [0.0]), 1.0, 1e-3)
    assert x[0] == pytest.approx(math.cos(1.0), abs=2e-3)
    assert 300 < integrator.get_num_steps_taken() < 2000
    assert integrator.get_num_step_shrinkages_from_error_control() > 0


def test_a_step_into_forbidden_land_is_repeated_with_a_shorter_one() -> None:
    """dx/dt = -5 x is not defined here for x < 0, which a long step would reach."""

    def rate(t: float, x: Any) -> list[float]:
        return [-5.0 * x[0] if x[0] >= 0.0 else math.nan]

    integrator = integrator_of(Ode(rate, [1.0]))
    integrator.set_maximum_step_size(10.0)
    integrator.request_initial_step_size_target(10.0)
    integrator.IntegrateWithMultipleStepsToTime(1.0)
    assert state(integrator)[0] == pytest.approx(math.exp(-5.0), abs=1e-3)
    assert integrator.get_num_step_shrinkages_from_substep_failures() > 0
    assert integrator.get_num_substep_failures() == integrator.get_num_step_shrinkages_from_substep_failures()


# ---------------------------------------------------------------------- where steps end


def test_integration_ends_exactly_where_it_should() -> None:
    for fixed in (False, True):
        integrator = integrator_of(oscillator())
        integrator.set_fixed_step_mode(fixed)
        integrator.set_maximum_step_size(0.1)
        for end in (0.3, 0.7, 1.1, 2.0, 2.0):
            integrator.IntegrateWithMultipleStepsToTime(end)
            assert integrator.get_context().get_time() == end


def test_no_sliver_is_left_before_the_end() -> None:
    """Ten steps of 0.1 sum to a little less than 1."""
    integrator = integrator_of(oscillator())
    integrator.set_fixed_step_mode(True)
    integrator.set_maximum_step_size(0.1)
    integrator.IntegrateWithMultipleStepsToTime(1.0)
    assert integrator.get_num_steps_taken() == 10
    assert integrator.get_num_derivative_evaluations() == 30


def test_the_result_of_a_step_says_which_time_was_reached() -> None:
    integrator = integrator_of(oscillator())
    integrator.set_fixed_step_mode(True)
    integrator.set_maximum_step_size(0.5)
    step = integrator.IntegrateNoFurtherThanTime
    assert step(10.0, 10.0, 10.0) is StepResult.kTimeHasAdvanced
    assert step(0.6, 0.6, 0.6) is StepResult.kReachedUpdateTime
    assert step(0.7, 0.8, 0.7) is StepResult.kReachedPublishTime
    assert step(0.9, 0.9, 0.8) is StepResult.kReachedBoundaryTime
    with pytest.raises(ValueError, match=r"from time 0.8 s back to 0.5 s"):
        step(0.5, 1.0, 1.0)


def test_a_step_cut_short_by_an_event_does_not_shorten_the_next() -> None:
    integrator = integrator_of(oscillator(0.1))
    integrator.set_maximum_step_size(10.0)
    integrator.request_initial_step_size_target(0.1)
    integrator.IntegrateWithMultipleStepsToTime(5.0)
    ideal = integrator.get_ideal_next_step_size()
    integrator.IntegrateWithMultipleStepsToTime(5.0 + 1e-3)
    assert integrator.get_previous_integration_step_size() == pytest.approx(1e-3)
    assert integrator.get_ideal_next_step_size() == ideal > 0.1


def test_integration_restarts_from_a_state_that_was_changed() -> None:
    integrator = integrator_of(Ode(lambda t, x: [1.0], [0.0]))
    integrator.IntegrateWithMultipleStepsToTime(1.0)
    integrator.get_mutable_context().SetContinuousState([10.0])
    integrator.IntegrateWithMultipleStepsToTime(2.0)
    assert state(integrator)[0] == pytest.approx(11.0)


def test_a_discrete_update_is_seen_by_the_next_derivative() -> None:
    """A bang-bang source that changes sign each 0.25 s makes a triangle wave."""

    class Bang(LeafSystem):
        def __init__(self) -> None:
            super().__init__()
            self.DeclareStateOutputPort("y", self.DeclareDiscreteState([1.0]))
            self.DeclarePeriodicDiscreteUpdateEvent(0.25, 0.25, self._flip)

        def _flip(self, context: Any, discrete_state: Any) -> None:
            discrete_state.set_value(0, -context.get_discrete_state_vector().value())

    builder = DiagramBuilder()
    bang, sum_ = builder.AddSystem(Bang()), builder.AddSystem(Integrator(1))
    builder.Connect(bang.get_output_port(), sum_.get_input_port())
    simulator = Simulator(builder.Build())
    values = []
    for end in np.arange(1, 9) * 0.125:
        simulator.AdvanceTo(end)
        values.append(simulator.get_context().get_continuous_state_vector()[0])
    np.testing.assert_allclose(values, [0.125, 0.25, 0.125, 0.0, 0.125, 0.25, 0.125, 0.0], atol=1e-15)


# ---------------------------------------------------------------------- knobs


def test_no_step_is_longer_than_the_maximum() -> None:
    integrator = integrator_of(Ode(lambda t, x: [1.0], [0.0]))
    integrator.set_maximum_step_size(0.3)
    integrator.IntegrateWithMultipleStepsToTime(10.0)
    assert integrator.get_largest_step_size_taken() <= 0.3 * 1.01
    assert integrator.get_maximum_step_size() == 0.3


def test_the_first_step_is_the_one_asked_for_or_a_tenth_of_the_maximum() -> None:
    for request, expected in ((0.01, 0.01), (None, 0.05)):
        integrator = integrator_of(oscillator())
        integrator.set_maximum_step_size(0.5)
        assert math.isnan(integrator.get_initial_step_size_target())
        if request:
            integrator.request_initial_step_size_target(request)
            assert integrator.get_initial_step_size_target() == request
        integrator.IntegrateWithMultipleStepsToTime(1.0)
        assert integrator.get_actual_initial_step_size_taken() == pytest.approx(expected)


def test_a_step_below_the_minimum_raises_or_is_taken() -> None:
    def fast() -> RungeKutta3Integrator:
        integrator = integrator_of(oscillator(100.0))
        integrator.set_maximum_step_size(0.1)
        integrator.set_target_accuracy(1e-8)
        integrator.set_requested_minimum_step_size(0.01)
        return integrator

    integrator = fast()
    assert integrator.get_throw_on_minimum_step_size_violation()
    with pytest.raises(RuntimeError, match=r"error .* of a step of 0.01 s is larger than the accuracy 1e-08"):
        integrator.IntegrateWithMultipleStepsToTime(1.0)
    assert integrator.get_context().get_time() == 0.0 and state(integrator).tolist() == [1.0, 0.0]
    integrator = fast()
    integrator.set_throw_on_minimum_step_size_violation(False)
    integrator.IntegrateWithMultipleStepsToTime(0.1)
    assert integrator.get_num_steps_taken() == 10
    assert integrator.get_requested_minimum_step_size() == integrator.get_working_minimum_step_size() == 0.01


def test_settings_that_make_no_sense_are_refused() -> None:
    integrator = integrator_of(oscillator())
    for setter in (
        integrator.set_maximum_step_size,
        integrator.set_target_accuracy,
        integrator.request_initial_step_size_target,
    ):
        for value in (0.0, -1.0, math.nan):
            with pytest.raises(ValueError, match="must be positive"):
                setter(value)
    with pytest.raises(ValueError, match="cannot be negative"):
        integrator.set_requested_minimum_step_size(-1.0)
    integrator.set_requested_minimum_step_size(2.0)
    integrator.set_maximum_step_size(1.0)
    with pytest.raises(RuntimeError, match=r"minimum step size 2.0 s is larger than the maximum"):
        integrator.Initialize()
    integrator.Reset()
    integrator.set_fixed_step_mode(True)
    with pytest.raises(RuntimeError, match="has no step size"):
        integrator.Initialize()


def test_accuracy_is_limited_to_what_makes_sense() -> None:
    integrator = integrator_of(oscillator())
    assert math.isnan(integrator.get_target_accuracy()) and integrator.get_accuracy_in_use() == 1e-3
    integrator.set_target_accuracy(100.0)
    assert integrator.get_target_accuracy() == 100.0 and integrator.get_accuracy_in_use() == 0.1


def test_reset_forgets_settings_and_counts() -> None:
    integrator = integrator_of(oscillator())
    integrator.set_maximum_step_size(0.1)
    integrator.set_target_accuracy(1e-5)
    integrator.IntegrateWithMultipleStepsToTime(1.0)
    summary = dict(integrator.GetStatisticsSummary())
    assert summary["integrator_num_steps_taken"] == integrator.get_num_steps_taken() > 0
    integrator.Reset()
    assert math.isinf(integrator.get_maximum_step_size()) and math.isnan(integrator.get_target_accuracy())
    assert integrator.get_num_steps_taken() == 0 and not integrator.is_initialized()


def test_evaluations_are_counted_as_they_happen() -> None:
    system = Ode(lambda t, x: [x[1], -100.0 * x[0]], [1.0, 0.0])
    _, integrator = solve(system, 2.0, 1e-5)
    assert integrator.get_num_step_shrinkages_from_error_control() > 0
    assert integrator.get_num_derivative_evaluations() == system.evaluations
    steps = integrator.get_num_steps_taken()
    shrinkages = integrator.get_num_step_shrinkages_from_error_control()
    assert system.evaluations == 3 * steps + 2 * shrinkages  # a repeated step starts from the same derivatives


# ---------------------------------------------------------------------- contexts


def test_the_context_can_come_later_and_be_exchanged() -> None:
    system = oscillator()
    integrator = RungeKutta3Integrator(system)
    with pytest.raises(RuntimeError, match="call reset_context"):
        integrator.Initialize()
    with pytest.raises(ValueError, match="context of system"):
        integrator.reset_context(oscillator().CreateDefaultContext())
    integrator.set_maximum_step_size(0.1)
    for _ in range(2):
        integrator.reset_context(system.CreateDefaultContext())
        integrator.IntegrateWithMultipleStepsToTime(1.0)
        assert state(integrator)[0] == pytest.approx(math.cos(1.0), abs=1e-3)


def test_a_system_without_continuous_state_only_lets_time_pass() -> None:
    integrator = integrator_of(Gain(1.0, 1))
    integrator.IntegrateWithMultipleStepsToTime(3.0)
    assert integrator.get_context().get_time() == 3.0 and integrator.get_num_derivative_evaluations() == 0


def test_a_complex_context_carries_derivatives_with_respect_to_the_initial_state() -> None:
    """d cos(t) x0 / d x0 by the complex step, through fixed and adaptive steps."""
    for fixed in (False, True):
        system = oscillator()
        context = system._make_context(np.complex128)
        context.SetContinuousState([1.0 + 1e-100j, 0.0])
        simulator = Simulator(system, context)
        simulator.get_mutable_integrator().set_fixed_step_mode(fixed)
        simulator.AdvanceTo(1.0)
        x = context.get_continuous_state_vector().CopyToVector()
        np.testing.assert_allclose(x.real, [math.cos(1.0), -math.sin(1.0)], atol=1e-3)
        np.testing.assert_allclose(x.imag / 1e-100, x.real, atol=1e-12)


def test_a_compiled_step_that_is_refused_leaves_what_it_has_not_computed_out_of_date() -> None:
    outputs = []
    for is_compiled in (False, True):
        builder = DiagramBuilder()
        source, gain = builder.AddSystem(ConstantVectorSource([1.0])), builder.AddSystem(Gain(2.0, 1))
        builder.Cascade(source, gain)
        builder.Cascade(gain, builder.AddSystem(Integrator(1)))
        diagram = builder.Build()
        context = diagram.CreateDefaultContext()
        integrator = RungeKutta3Integrator(diagram, context)
        integrator.Initialize()
        integrator._derivatives.uses_tape = is_compiled
        if is_compiled:
            integrator._derivatives.lower()
        integrator.IntegrateWithMultipleStepsToTime(0.5)
        context.SetTime(1e9)
        integrator.set_maximum_step_size(1e-9)
        source.get_mutable_source_value(source.GetMyMutableContextFromRoot(context)).set_value([10.0])
        with pytest.raises(RuntimeError, match="shorter than what time can resolve"):
            integrator.IntegrateWithMultipleStepsToTime(1e9 + 1.0)
        outputs.append(gain.get_output_port().Eval(gain.GetMyContextFromRoot(context))[0])
    assert outputs == [20.0, 20.0]


@pytest.mark.parametrize("is_compiled", [False, True])
def test_a_step_that_fails_at_its_end_leaves_the_size_of_the_next(is_compiled: bool) -> None:
    """Where the derivatives at the end are computed for dense output, after the error has been judged."""
    failing = [0]

    def function(t: float, x: Any) -> list[float]:
        failing[0] -= 1
        if failing[0] == 0:
            raise ValueError("no derivatives")
        return [math.cos(t)]

    system = Ode(function, [0.0])
    simulator = Simulator(system)
    simulator.set_use_native_plan(is_compiled, at_once=True)
    integrator = simulator.get_mutable_integrator()
    simulator.Initialize()
    integrator.StartDenseIntegration()
    simulator.AdvanceTo(1e-4)
    size, failing[0] = integrator.get_ideal_next_step_size(), 3  # the first evaluation is known
    with pytest.raises(ValueError, match="no derivatives"):
        simulator.AdvanceTo(1.0)
    assert integrator.get_ideal_next_step_size() == size
    assert simulator.get_context().get_time() == 1e-4


def test_all_forms_of_a_sum_of_many_terms_add_in_the_same_order() -> None:
    rng = np.random.default_rng(5)
    weights, k = rng.normal(size=12), rng.normal(size=(12, 1))
    expected, out = 0.0, np.zeros(1)
    for weight, value in zip(weights, k[:, 0]):
        expected += weight * value
    combine(out, weights, k, 12)
    assert out[0] == expected
