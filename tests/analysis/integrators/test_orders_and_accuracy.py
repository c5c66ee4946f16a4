"""Every integrator: its order, that of its error estimate, and the accuracy it keeps."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from differential_equations import (
    PROBLEMS,
    Problem,
    error_at_end,
    make_integrator,
    make_system,
    observed_order,
    observed_order_of_estimate,
    pendulum,
    solve_with_accuracy,
    solve_with_steps,
    state,
)

import merganser.analysis as analysis
from merganser.analysis.integrators import tableaus
from merganser.framework import LeafSystem


def fixed(cls: Any) -> Callable[..., Any]:
    """The interface that the others have, for an integrator whose step size is given when it is made."""
    return lambda system, context: cls(system, 1.0, context)


# Order and the steps [s] at which it shows.
FIXED_STEP = {
    "ExplicitEuler": (fixed(analysis.ExplicitEulerIntegrator), 1, [0.01, 0.005, 0.0025]),
    "SemiExplicitEuler": (fixed(analysis.SemiExplicitEulerIntegrator), 1, [0.02, 0.01, 0.005]),
    "RungeKutta2": (fixed(analysis.RungeKutta2Integrator), 2, [0.02, 0.01, 0.005]),
}
# Also the order of the error estimate.
ADAPTIVE = {
    "RungeKutta3": (analysis.RungeKutta3Integrator, 3, [0.05, 0.025, 0.0125], 3),
    "BogackiShampine3": (analysis.BogackiShampine3Integrator, 3, [0.05, 0.025, 0.0125], 3),
    "RungeKutta5": (analysis.RungeKutta5Integrator, 5, [0.1, 0.05, 0.025], 5),
    "ImplicitEuler": (analysis.ImplicitEulerIntegrator, 1, [0.02, 0.01, 0.005], 2),
    "VelocityImplicitEuler": (analysis.VelocityImplicitEulerIntegrator, 1, [0.02, 0.01, 0.005], 2),
    "Radau1": (analysis.Radau1Integrator, 1, [0.01, 0.005, 0.0025], 2),
    "Radau3": (analysis.Radau3Integrator, 3, [0.05, 0.025, 0.0125], 3),
    "Radau, 3 stages": (functools.partial(analysis.RadauIntegrator, num_stages=3), 5, [0.25, 0.125, 0.0625], 4),
}
ALL = {name: method[:3] for name, method in {**FIXED_STEP, **ADAPTIVE}.items()}
MAKERS = {name: method[0] for name, method in ALL.items()}


@pytest.mark.parametrize("name", ALL)
@pytest.mark.parametrize("problem", ["forced pendulum", "of time and state"])
def test_the_error_falls_with_the_order_of_the_method(name: str, problem: str) -> None:
    make, order, steps = ALL[name]
    assert abs(observed_order(make, PROBLEMS[problem], steps) - order) < 0.3


@pytest.mark.parametrize("name", ADAPTIVE)
@pytest.mark.parametrize("problem", ["forced pendulum", "of time and state"])
def test_the_error_estimate_falls_with_its_order(name: str, problem: str) -> None:
    make, _, _, order = ADAPTIVE[name]
    assert make_integrator(make, PROBLEMS[problem]).get_error_estimate_order() == order
    assert abs(observed_order_of_estimate(make, PROBLEMS[problem], [0.02, 0.01, 0.005]) - order) < 0.15


@pytest.mark.parametrize("name", [name for name, method in ADAPTIVE.items() if method[1] > 1])
@pytest.mark.parametrize("problem", PROBLEMS)
def test_the_accuracy_asked_for_is_kept(name: str, problem: str) -> None:
    """The errors of steps are amplified on the way to the end by a factor that depends on the problem."""
    for accuracy in (1e-4, 1e-6):
        integrator = solve_with_accuracy(MAKERS[name], PROBLEMS[problem], accuracy)
        assert error_at_end(integrator, PROBLEMS[problem]) < 20.0 * accuracy
        assert integrator.get_num_steps_taken() < 1000


@pytest.mark.parametrize("name", [name for name, method in ADAPTIVE.items() if method[1] == 1])
@pytest.mark.parametrize("problem", PROBLEMS)
def test_methods_of_order_one_improve_with_the_root_of_the_accuracy(name: str, problem: str) -> None:
    errors = [
        error_at_end(solve_with_accuracy(MAKERS[name], PROBLEMS[problem], a), PROBLEMS[problem]) for a in (1e-2, 1e-4)
    ]
    assert errors[1] < 0.2 * errors[0] and errors[1] < 0.1


# ---------------------------------------------------------------------- tableaus


@pytest.mark.parametrize("name", ["EULER", "HEUN2", "RK3", "BOGACKI_SHAMPINE3", "DORMAND_PRINCE5"])
def test_tableaus_fulfil_the_order_conditions_of_quadrature(name: str) -> None:
    tableau = getattr(tableaus, name)
    assert [sum(row) for row in tableau.a] == pytest.approx(list(tableau.c))
    for weights, order in ((tableau.b, tableau.order), (tableau.b_hat, tableau.error_order - 1)):
        for power in range(order if weights else 0):
            assert np.dot(weights, np.array(tableau.c) ** power) == pytest.approx(1.0 / (power + 1), abs=1e-14)


@pytest.mark.parametrize(("name", "new"), [("BogackiShampine3", 3), ("RungeKutta5", 6)])
def test_the_last_stage_is_not_computed_again_as_the_first_of_the_next_step(name: str, new: int) -> None:
    problem = PROBLEMS["forced pendulum"]
    integrator = solve_with_steps(MAKERS[name], problem, 0.125)
    assert integrator.get_num_steps_taken() == 16
    assert integrator.get_system().evaluations == 16 * new + 1
    assert integrator.get_num_derivative_evaluations() == 16 * new + 1


# ---------------------------------------------------------------------- what all have in common


@pytest.mark.parametrize("name", ALL)
def test_integration_restarts_from_a_state_that_was_changed(name: str) -> None:
    """The trajectory after a change is that of a new integrator, up to what iterations leave over."""
    problem = PROBLEMS["pendulum"]
    old, new = (make_integrator(MAKERS[name], problem) for _ in range(2))
    for integrator in (old, new):
        integrator.set_fixed_step_mode(True)
        integrator.set_maximum_step_size(0.03125)
    old.IntegrateWithMultipleStepsToTime(0.25)
    old.get_mutable_context().SetContinuousState([-2.0, 3.0])
    new.get_mutable_context().SetTimeAndContinuousState(0.25, [-2.0, 3.0])
    for integrator in (old, new):
        integrator.IntegrateWithMultipleStepsToTime(0.5)
    np.testing.assert_allclose(state(old), state(new), rtol=0.0, atol=1e-8)


@pytest.mark.parametrize("name", ALL)
def test_an_infinite_value_names_its_system_and_does_not_change_the_context(name: str) -> None:
    """The derivatives end at time 1, in whatever direction one looks."""
    problem = Problem(lambda t, x: [x[1], -x[0] if t <= 1.0 else math.nan], (1.0, 0.0), 1, 2.0)
    integrator = make_integrator(MAKERS[name], problem)
    integrator.get_system().set_name("pendulum")
    integrator.set_fixed_step_mode(True)
    integrator.set_maximum_step_size(0.125)
    with pytest.raises(RuntimeError, match=r"derivatives of system '::pendulum' are not finite .* at time 1\.\d+ s"):
        integrator.IntegrateWithMultipleStepsToTime(2.0)
    end = integrator.get_context().get_time()
    assert 0.999 < end <= 1.125 and np.isfinite(state(integrator)).all()
    other = make_integrator(MAKERS[name], problem)
    other.set_fixed_step_mode(True)
    other.set_maximum_step_size(0.125)
    other.IntegrateWithMultipleStepsToTime(0.875)
    if end == 1.0:  # explicit methods do not look for a shorter step
        other.IntegrateWithMultipleStepsToTime(1.0)
        np.testing.assert_allclose(state(integrator), state(other), atol=1e-9)


@pytest.mark.parametrize("name", ALL)
def test_an_exception_of_a_system_leaves_the_context_as_it_was(name: str) -> None:
    def function(t: float, x: Any) -> list[Any]:
        if t > 0.3:
            raise RuntimeError("no derivatives after 0.3 s")
        return pendulum(t, x)

    integrator = make_integrator(MAKERS[name], Problem(function, (1.0, 0.0), 1, 1.0))
    integrator.set_fixed_step_mode(True)
    integrator.set_maximum_step_size(0.2)
    context = integrator.get_context()
    ends = [(0.0, [1.0, 0.0])]
    with pytest.raises(RuntimeError, match="no derivatives"):
        while True:
            integrator.IntegrateNoFurtherThanTime(math.inf, math.inf, 1.0)
            ends.append((context.get_time(), state(integrator).tolist()))
    assert (context.get_time(), state(integrator).tolist()) == ends[-1]
    assert 0.0 < context.get_time() < 0.5


@pytest.mark.parametrize("name", ALL)
def test_a_single_fixed_step_is_as_long_as_it_is_asked_for(name: str) -> None:
    problem = PROBLEMS["pendulum"]
    integrator, other = (make_integrator(MAKERS[name], problem) for _ in range(2))
    for one, largest in ((integrator, 0.01), (other, 0.1)):
        one.set_fixed_step_mode(True)
        one.set_maximum_step_size(largest)
    assert integrator.IntegrateWithSingleFixedStepToTime(0.1)
    other.IntegrateWithMultipleStepsToTime(0.1)
    np.testing.assert_array_equal(state(integrator), state(other))
    assert integrator.get_num_steps_taken() == 1 and integrator.get_context().get_time() == 0.1
    with pytest.raises(ValueError, match=r"from time 0.1 s back to 0.05 s"):
        integrator.IntegrateWithSingleFixedStepToTime(0.05)


def test_a_single_fixed_step_needs_fixed_step_mode() -> None:
    integrator = make_integrator(analysis.RungeKutta3Integrator, PROBLEMS["pendulum"])
    with pytest.raises(RuntimeError, match="call set_fixed_step_mode"):
        integrator.IntegrateWithSingleFixedStepToTime(0.1)


@pytest.mark.parametrize("name", FIXED_STEP)
def test_methods_without_estimate_refuse_error_control(name: str) -> None:
    integrator = make_integrator(MAKERS[name], PROBLEMS["pendulum"])
    assert integrator.get_fixed_step_mode() and not integrator.supports_error_estimation()
    with pytest.raises(RuntimeError, match="no error estimate"):
        integrator.set_target_accuracy(1e-3)
    with pytest.raises(RuntimeError, match="no error estimate"):
        integrator.set_fixed_step_mode(False)
    with pytest.raises(ValueError, match="must be positive"):
        type(integrator)(make_system(PROBLEMS["pendulum"]), 0.0)


@pytest.mark.parametrize("name", ALL)
def test_a_complex_context_carries_derivatives_with_respect_to_the_initial_state(name: str) -> None:
    """d x(1) / d x(0) by the complex step, against differences."""
    problem = PROBLEMS["pendulum"]

    def end(x0: complex, dtype: Any) -> np.ndarray:
        integrator = make_integrator(MAKERS[name], problem, dtype)
        integrator.get_mutable_context().SetContinuousState([x0, 0.0])
        integrator.set_fixed_step_mode(True)
        integrator.set_maximum_step_size(0.02)
        integrator.IntegrateWithMultipleStepsToTime(0.5)
        return state(integrator)

    x = end(1.0 + 1e-100j, complex)
    differences = (end(1.0 + 1e-4, float) - end(1.0 - 1e-4, float)) / 2e-4
    np.testing.assert_allclose(x.real, end(1.0, float), atol=1e-9)
    np.testing.assert_allclose(x.imag / 1e-100, differences, atol=1e-5)


def test_velocities_move_before_positions_in_the_semi_explicit_method() -> None:
    """One step of v' = -q, q' = 2 v by hand: N = 2 takes the new velocity to the rate of the position."""

    class Oscillator(LeafSystem):
        def __init__(self) -> None:
            super().__init__()
            self.DeclareContinuousState(1, 1, 1)

        def DoCalcTimeDerivatives(self, context: Any, derivatives: Any) -> None:
            q, v, z = context.get_continuous_state_vector().CopyToVector()
            derivatives.SetFromVector([2.0 * v, -q, v + z])

    system = Oscillator()
    context = system.CreateDefaultContext()
    context.SetContinuousState([1.0, 0.5, 3.0])
    analysis.SemiExplicitEulerIntegrator(system, 0.1, context).IntegrateWithMultipleStepsToTime(0.1)
    q, v, z = context.get_continuous_state_vector().CopyToVector()
    assert (q, v, z) == pytest.approx((1.0 + 0.1 * 2.0 * 0.4, 0.4, 3.35))


def test_the_semi_explicit_method_keeps_the_energy() -> None:
    """Over 1000 s, where the explicit method would gain energy without bound."""
    problem = Problem(lambda t, x: [x[1], -x[0]], (1.0, 0.0), 1, 1000.0)
    integrator = solve_with_steps(MAKERS["SemiExplicitEuler"], problem, 0.1)
    q, v = state(integrator)
    assert q * q + v * v == pytest.approx(1.0, abs=0.11)
    assert q * q + v * v - 0.1 * q * v == pytest.approx(1.0, abs=1e-10)  # an invariant of the method itself
