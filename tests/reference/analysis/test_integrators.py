"""Differential equations in merganser and pydrake, by every integration scheme that both have."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from differential_equations import PROBLEMS, Problem, make_system, van_der_pol

pytest.importorskip("pydrake", reason="compares with pydrake (extra `reference`)")
import pydrake.systems.analysis
import pydrake.systems.framework

import merganser.analysis
import merganser.framework

pytestmark = pytest.mark.reference

OURS = merganser.analysis, merganser.framework
THEIRS = pydrake.systems.analysis, pydrake.systems.framework
EXPLICIT = [
    "explicit_euler",
    "semi_explicit_euler",
    "runge_kutta2",
    "runge_kutta3",
    "bogacki_shampine3",
    "runge_kutta5",
]
IMPLICIT = ["implicit_euler", "velocity_implicit_euler", "radau1", "radau3"]
ADAPTIVE = ["runge_kutta3", "bogacki_shampine3", "runge_kutta5", *IMPLICIT]
WITH_ERROR_CONTROL = pytest.mark.parametrize("scheme", ADAPTIVE)


def make_simulator(library: Any, problem: Problem, scheme: str, max_step_size: float) -> tuple[Any, Any]:
    analysis, framework = library
    simulator = analysis.Simulator(make_system(problem, framework))
    simulator.get_mutable_context().SetContinuousState(np.array(problem.x0))
    return simulator, analysis.ResetIntegratorFromFlags(simulator, scheme, max_step_size)


def trajectory(library: Any, problem: Problem, scheme: str, h: float) -> np.ndarray:
    """States at multiples of 0.1 s, which the steps do not all meet."""
    simulator, integrator = make_simulator(library, problem, scheme, h)
    integrator.set_fixed_step_mode(True)
    simulator.Initialize()
    states = []
    for time in np.linspace(0.0, 1.0, 11):
        simulator.AdvanceTo(time)
        states.append(simulator.get_context().get_continuous_state_vector().CopyToVector())
    return np.array(states)


@pytest.mark.parametrize("scheme", EXPLICIT)
@pytest.mark.parametrize("problem", PROBLEMS)
def test_explicit_methods_take_the_same_fixed_steps(scheme: str, problem: str) -> None:
    ours, theirs = (trajectory(library, PROBLEMS[problem], scheme, 0.03) for library in (OURS, THEIRS))
    np.testing.assert_allclose(ours, theirs, rtol=0.0, atol=1e-12)


@pytest.mark.parametrize("scheme", IMPLICIT)
@pytest.mark.parametrize("problem", ["forced pendulum", "van der Pol"])
def test_implicit_methods_take_the_same_fixed_steps(scheme: str, problem: str) -> None:
    """To what pydrake's Newton iterations leave over: a thousandth of its default accuracy or so a step."""
    ours, theirs = (trajectory(library, PROBLEMS[problem], scheme, 0.03) for library in (OURS, THEIRS))
    np.testing.assert_allclose(ours, theirs, rtol=0.0, atol=1e-3 if scheme != "radau3" else 1e-5)


def solve(library: Any, problem: Problem, scheme: str, accuracy: float | None) -> tuple[np.ndarray, dict[str, float]]:
    simulator, integrator = make_simulator(library, problem, scheme, 1.0)
    if accuracy is not None:
        integrator.set_target_accuracy(accuracy)
    integrator.request_initial_step_size_target(1e-3)
    simulator.Initialize()
    simulator.AdvanceTo(problem.end)
    state = simulator.get_context().get_continuous_state_vector().CopyToVector()
    return state, dict(integrator.GetStatisticsSummary())


@WITH_ERROR_CONTROL
@pytest.mark.parametrize("problem", ["forced pendulum", "van der Pol"])
@pytest.mark.parametrize("accuracy", [1e-3, 1e-5])
def test_accuracy_costs_no_more_than_in_drake(scheme: str, problem: str, accuracy: float) -> None:
    exact = PROBLEMS[problem].solution
    (x, summary), (x_drake, summary_drake) = (
        solve(library, PROBLEMS[problem], scheme, accuracy) for library in (OURS, THEIRS)
    )
    assert np.abs(x - exact).max() <= 3.0 * np.abs(x_drake - exact).max() + accuracy
    evaluations = "integrator_num_derivative_evaluations"
    assert summary[evaluations] <= 1.25 * summary_drake[evaluations]
    assert list(summary) == list(summary_drake)


@pytest.mark.parametrize("scheme", ["runge_kutta3", "bogacki_shampine3", "runge_kutta5"])
@pytest.mark.parametrize("accuracy", [None, 1e-4, 1e-7])
def test_error_control_of_explicit_methods_chooses_the_same_steps(scheme: str, accuracy: float | None) -> None:
    problem = PROBLEMS["forced pendulum"]
    (x, summary), (x_drake, summary_drake) = (solve(library, problem, scheme, accuracy) for library in (OURS, THEIRS))
    np.testing.assert_allclose(x, x_drake, rtol=0.0, atol=1e-9)
    # A step that is repeated starts from the same derivatives: we do not ask for them again.
    shrinkages = summary["integrator_num_step_shrinkages_from_error_control"]
    summary["integrator_num_derivative_evaluations"] += shrinkages
    if scheme != "runge_kutta3":  # the last stage of a step is the first of the next: we do not ask for that either
        summary["integrator_num_derivative_evaluations"] += summary["integrator_num_steps_taken"] - 1
    np.testing.assert_allclose(list(summary.values()), list(summary_drake.values()), rtol=1e-6)


def test_a_stiff_oscillator_costs_fewer_evaluations_than_in_drake() -> None:
    problem = Problem(van_der_pol(1000.0), (2.0, 0.0), 1, 500.0)
    simulations = []
    for library in (OURS, THEIRS):
        simulator, integrator = make_simulator(library, problem, "radau3", 100.0)
        integrator.set_target_accuracy(1e-4)
        integrator.request_initial_step_size_target(1e-4)
        simulator.AdvanceTo(problem.end)
        x = simulator.get_context().get_continuous_state_vector().CopyToVector()
        simulations.append((x, integrator.get_num_derivative_evaluations()))
    (x, cost), (x_drake, cost_drake) = simulations
    np.testing.assert_allclose(x, x_drake, rtol=0.0, atol=1e-3)
    assert cost < cost_drake


def test_the_names_of_schemes_are_those_of_drake() -> None:
    theirs = set(pydrake.systems.analysis.GetIntegrationSchemes())
    of_noise = {"euler_maruyama", "milstein"}  # which pydrake has not
    assert set(merganser.analysis.GetIntegrationSchemes()) - of_noise == theirs


@pytest.mark.parametrize("scheme", ["runge_kutta3", "bogacki_shampine3", "runge_kutta5"])
def test_dense_output_is_that_of_drake(scheme: str) -> None:
    problem = PROBLEMS["forced pendulum"]
    outputs = []
    for library in (OURS, THEIRS):
        simulator, integrator = make_simulator(library, problem, scheme, 0.25)
        integrator.set_fixed_step_mode(True)
        simulator.Initialize()
        integrator.StartDenseIntegration()
        simulator.AdvanceTo(2.0)
        outputs.append(integrator.StopDenseIntegration())
    ours, theirs = outputs
    assert (ours.start_time(), ours.end_time(), ours.rows(), ours.cols()) == (
        theirs.start_time(),
        theirs.end_time(),
        theirs.rows(),
        theirs.cols(),
    )
    assert ours.get_number_of_segments() == theirs.get_number_of_segments()
    for t in np.linspace(-0.1, 2.1, 51):
        np.testing.assert_allclose(ours.value(t), theirs.value(t), rtol=0.0, atol=1e-12)
