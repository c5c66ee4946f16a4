"""Implicit integrators where explicit ones would crawl, and the Newton iterations inside them."""

from __future__ import annotations

import functools
import math
from typing import Any

import numpy as np
import pytest
from differential_equations import PROBLEMS, Problem, make_integrator, solve_with_accuracy, state, van_der_pol

import merganser.analysis as analysis
from merganser.analysis import JacobianComputationScheme
from merganser.analysis.integrators.collocation import radau_iia
from merganser.analysis.integrators.jacobian import FullMatrix, VelocityMatrix

Radau5 = functools.partial(analysis.RadauIntegrator, num_stages=3)
IMPLICIT = {
    "ImplicitEuler": analysis.ImplicitEulerIntegrator,
    "VelocityImplicitEuler": analysis.VelocityImplicitEulerIntegrator,
    "Radau1": analysis.Radau1Integrator,
    "Radau3": analysis.Radau3Integrator,
    "Radau, 3 stages": Radau5,
}

# Mazzia and Magherini 2008, Test Set for IVP Solvers, problems VDPOL (here with time scaled by mu) and ROBER.
VAN_DER_POL = Problem(van_der_pol(1000.0), (2.0, 0.0), 1, 2000.0)
VAN_DER_POL_END = [1.706167732170483, -8.928097010247975e-4]


def robertson(t: float, y: np.ndarray) -> list[Any]:
    slow, fast, fastest = 0.04 * y[0], 1e4 * y[1] * y[2], 3e7 * y[1] * y[1]
    return [-slow + fast, slow - fast - fastest, fastest]


ROBERTSON = Problem(robertson, (1.0, 0.0, 0.0), 0, 40.0)
ROBERTSON_END = [0.7158270687193941, 9.185534764557338e-6, 0.2841637457458413]


def stiff_van_der_pol(make: Any, accuracy: float, ends: list[float]) -> Any:
    integrator = make_integrator(make, VAN_DER_POL)
    integrator.set_maximum_step_size(100.0)
    integrator.request_initial_step_size_target(1e-4)
    integrator.set_target_accuracy(accuracy)
    for end in ends:
        integrator.IntegrateWithMultipleStepsToTime(end)
    return integrator


@pytest.mark.parametrize(
    ("make", "accuracy", "evaluations"), [(analysis.Radau3Integrator, 1e-7, 100_000), (Radau5, 1e-7, 25_000)]
)
def test_the_stiff_van_der_pol_oscillator_is_solved_to_six_digits(make: Any, accuracy: float, evaluations: int) -> None:
    """Over two jumps of a state that is stiff in between; an explicit method would take some 10 million."""
    integrator = stiff_van_der_pol(make, accuracy, [2000.0])
    np.testing.assert_allclose(state(integrator), VAN_DER_POL_END, rtol=0.0, atol=1e-6)
    assert integrator.get_system().evaluations < evaluations
    assert integrator.get_largest_step_size_taken() > 10.0 and integrator.get_smallest_adapted_step_size_taken() < 1e-5


@pytest.mark.parametrize("accuracy", [1e-4, 1e-5])
def test_the_result_does_not_depend_on_how_an_advance_is_split(accuracy: float) -> None:
    """An advance that ends in a jump or right after it leaves the next one with a Jacobian of another time scale."""
    whole = stiff_van_der_pol(analysis.Radau3Integrator, accuracy, [2000.0])
    for ends in ([1e-3, 300.0, 807.0, 807.1, 1500.0, 1501.0, 2000.0], [807.0, 2000.0], [1501.0, 2000.0]):
        split = stiff_van_der_pol(analysis.Radau3Integrator, accuracy, ends)
        np.testing.assert_allclose(state(split), VAN_DER_POL_END, rtol=0.0, atol=accuracy)
        ratio = split.get_num_derivative_evaluations() / whole.get_num_derivative_evaluations()
        assert 0.95 < ratio < 1.05


@pytest.mark.parametrize(("name", "accuracy", "error"), [("Radau3", 1e-7, 1e-5), ("Radau, 3 stages", 1e-7, 1e-5)])
def test_the_reaction_of_robertson(name: str, accuracy: float, error: float) -> None:
    """Rates from 0.04 to 3e7; the sum of the concentrations stays 1."""
    integrator = solve_with_accuracy(IMPLICIT[name], ROBERTSON, accuracy)
    np.testing.assert_allclose(state(integrator), ROBERTSON_END, rtol=0.0, atol=error)
    assert state(integrator).sum() == pytest.approx(1.0, abs=1e-10)
    assert integrator.get_system().evaluations < 3000


@pytest.mark.parametrize("name", IMPLICIT)
def test_a_stiff_spring_comes_to_rest_in_long_steps(name: str) -> None:
    """A mass on a spring of 1e8 N/m with damper, pushed by a force that grows in time: x follows F / k."""
    k, d = 1e8, 1e5
    problem = Problem(lambda t, x: [x[1], -k * x[0] - d * x[1] + 1e4 * t], (1e-3, 0.0), 1, 10.0)
    integrator = make_integrator(IMPLICIT[name], problem)
    integrator.set_maximum_step_size(1.0)
    integrator.set_fixed_step_mode(True)
    integrator.IntegrateWithMultipleStepsToTime(10.0)
    assert integrator.get_num_steps_taken() == 10
    speed = 1e4 / k
    np.testing.assert_allclose(state(integrator), [(1e4 * 10.0 - d * speed) / k, speed], rtol=0.0, atol=1e-6)


def test_the_velocity_method_solves_the_equations_of_the_implicit_euler_method() -> None:
    """For two masses in a plane with one in polar coordinates, so that qdot is not v, and another variable."""

    def function(t: float, x: np.ndarray) -> list[Any]:
        r, _, v_r, v_phi, z = x  # v_phi is the speed across, phidot = v_phi / r
        return [v_r, v_phi / r, v_phi * v_phi / r - 1e4 * (r - 1.0), -v_r * v_phi / r, r - z + math.sin(t)]

    problem = Problem(function, (1.01, 0.0, 0.0, 2.0, 0.5), 2, 1.0)
    ends = []
    for method in (analysis.ImplicitEulerIntegrator, analysis.VelocityImplicitEulerIntegrator):
        integrator = make_integrator(method, problem)
        integrator.set_fixed_step_mode(True)
        integrator.set_maximum_step_size(0.02)
        integrator.IntegrateWithMultipleStepsToTime(1.0)
        ends.append(state(integrator))
        assert integrator.get_num_substep_failures() == 0
    np.testing.assert_allclose(ends[0], ends[1], rtol=0.0, atol=1e-7)


# ---------------------------------------------------------------------- Newton's method


def kinds_of_newton(name: str) -> dict[str, Any]:
    found = {}
    for kind in ("reuse", "no reuse", "full"):
        integrator = make_integrator(IMPLICIT[name], PROBLEMS["van der Pol"])
        integrator.set_reuse(kind == "reuse")
        integrator.set_use_full_newton(kind == "full")
        integrator.set_maximum_step_size(0.1)
        integrator.set_target_accuracy(1e-4)
        integrator.IntegrateWithMultipleStepsToTime(2.0)
        found[kind] = integrator
    return found


@pytest.mark.parametrize("name", IMPLICIT)
def test_all_kinds_of_newton_iterations_find_the_same_solution(name: str) -> None:
    found = kinds_of_newton(name)
    for integrator in found.values():
        np.testing.assert_allclose(state(integrator), state(found["full"]), rtol=0.0, atol=1e-3)
    jacobians = [integrator.get_num_jacobian_evaluations() for integrator in found.values()]
    assert 0 < jacobians[0] < jacobians[1] < jacobians[2]
    assert [integrator.get_reuse() for integrator in found.values()] == [True, False, False]
    assert [integrator.get_use_full_newton() for integrator in found.values()] == [False, False, True]


@pytest.mark.parametrize("name", IMPLICIT)
@pytest.mark.parametrize("scheme", JacobianComputationScheme)
def test_evaluations_are_counted_as_they_happen(name: str, scheme: JacobianComputationScheme) -> None:
    integrator = make_integrator(IMPLICIT[name], PROBLEMS["van der Pol"])
    integrator.set_jacobian_computation_scheme(scheme)
    assert integrator.get_jacobian_computation_scheme() is scheme
    integrator.set_maximum_step_size(0.5)
    integrator.set_target_accuracy(1e-3)
    integrator.IntegrateWithMultipleStepsToTime(4.0)
    summary = dict(integrator.GetStatisticsSummary())
    evaluations = integrator.get_num_derivative_evaluations()
    assert integrator.get_system().evaluations <= evaluations  # asked for, not always computed
    assert (
        summary["integrator_num_integrator_derivative_evaluations"]
        + summary["integrator_num_error_estimator_derivative_evaluations"]
        == evaluations
    )
    per_jacobian = 2 if scheme is JacobianComputationScheme.kForwardDifference else 4
    assert (
        integrator.get_num_derivative_evaluations_for_jacobian()
        == per_jacobian * integrator.get_num_jacobian_evaluations()
        > 0
    )
    assert integrator.get_num_newton_raphson_iterations() > integrator.get_num_iteration_matrix_factorizations() > 0
    integrator.ResetStatistics()
    assert all(value == 0 or math.isnan(value) for _, value in integrator.GetStatisticsSummary())


@pytest.mark.parametrize("name", IMPLICIT)
def test_a_step_whose_equations_have_no_solution_is_halved(name: str) -> None:
    """x' = x^2 from x = 1: x = 1 + h x^2 has no solution for h > 1/4."""
    problem = Problem(lambda t, x: x * x, (1.0,), 0, 0.5)
    integrator = make_integrator(IMPLICIT[name], problem)
    integrator.set_fixed_step_mode(True)
    integrator.set_maximum_step_size(20.0)
    assert not integrator.IntegrateWithSingleFixedStepToTime(20.0)
    assert integrator.get_context().get_time() == 0.0 and state(integrator).tolist() == [1.0]
    assert integrator.get_num_substep_failures() == 1
    integrator.set_maximum_step_size(0.5)
    integrator.IntegrateWithMultipleStepsToTime(0.5)
    assert integrator.get_context().get_time() == 0.5
    assert 1.5 < state(integrator)[0] < 4.0


@pytest.mark.parametrize("name", IMPLICIT)
@pytest.mark.parametrize("fixed", [False, True])
def test_rounding_errors_at_rest_are_no_failure(name: str, fixed: bool) -> None:
    """A stiff spring at rest, with a force that is known to 1e-6 N only, as its last digits come and go."""

    def function(t: float, x: np.ndarray) -> list[Any]:
        force = 1e8 * (x[0] - 1.0 / 3.0) + 1e-6 * math.sin(1e15 * x[0] + 1e10 * t)
        return [x[1], -force - 1e4 * x[1]]

    problem = Problem(function, (1.0 / 3.0, 0.0), 1, 10.0)
    integrator = make_integrator(IMPLICIT[name], problem)
    integrator.set_maximum_step_size(0.1)
    integrator.set_fixed_step_mode(fixed)
    integrator.IntegrateWithMultipleStepsToTime(10.0)
    assert integrator.get_num_substep_failures() == 0
    np.testing.assert_allclose(state(integrator), [1.0 / 3.0, 0.0], rtol=0.0, atol=1e-8)


@pytest.mark.parametrize("name", IMPLICIT)
def test_equations_that_cannot_be_solved_at_all_raise(name: str) -> None:
    """x' = -sign(x) has no implicit step to the end from x just above 0."""
    problem = Problem(lambda t, x: [-1.0 if x[0] > 0.0 else 1.0], (1e-9,), 0, 1.0)
    integrator = make_integrator(IMPLICIT[name], problem)
    integrator.set_fixed_step_mode(True)
    integrator.set_maximum_step_size(1.0)
    integrator.set_requested_minimum_step_size(1e-3)
    with pytest.raises(RuntimeError, match=r"at time 0.0 s the equations of a step of .* could not be solved"):
        integrator.IntegrateWithMultipleStepsToTime(1.0)
    assert integrator.get_context().get_time() == 0.0 and state(integrator).tolist() == [1e-9]


def test_knobs_return_to_their_defaults() -> None:
    integrator = make_integrator(analysis.Radau3Integrator, PROBLEMS["pendulum"])
    integrator.set_use_full_newton(True)
    integrator.set_jacobian_computation_scheme(JacobianComputationScheme.kCentralDifference)
    integrator.Reset()
    assert integrator.get_reuse() and not integrator.get_use_full_newton()
    assert integrator.get_jacobian_computation_scheme() is JacobianComputationScheme.kForwardDifference
    with pytest.raises(TypeError, match="must be a JacobianComputationScheme"):
        integrator.set_jacobian_computation_scheme("forward")
    with pytest.raises(ValueError, match="1, 2 or 3 stages here, got 4"):
        analysis.RadauIntegrator(integrator.get_system(), num_stages=4)


# ---------------------------------------------------------------------- parts


def test_the_weights_of_radau_methods() -> None:
    """Hairer and Wanner 1996, tables IV.5.5 and IV.5.6."""
    np.testing.assert_allclose(radau_iia(1).A, [[1.0]])
    np.testing.assert_allclose(radau_iia(2).A, [[5 / 12, -1 / 12], [3 / 4, 1 / 4]])
    r = math.sqrt(6.0)
    expected = [
        [(88 - 7 * r) / 360, (296 - 169 * r) / 1800, (-2 + 3 * r) / 225],
        [(296 + 169 * r) / 1800, (88 + 7 * r) / 360, (-2 - 3 * r) / 225],
        [(16 - r) / 36, (16 + r) / 36, 1 / 9],
    ]
    np.testing.assert_allclose(radau_iia(3).A, expected, atol=1e-15)
    gamma_0 = 1.0 / (3.0 - 3.0 ** (1 / 3) + 3.0 ** (2 / 3))  # IV.8, (8.9)
    assert radau_iia(3).gamma_0 == pytest.approx(gamma_0)
    e = gamma_0 / 3.0 * np.array([-13.0 - 7.0 * r, -13.0 + 7.0 * r, -1.0])  # (8.18)
    np.testing.assert_allclose(radau_iia(3).e, e, atol=1e-14)


@pytest.mark.parametrize(
    ("scheme", "tolerance"),
    [(JacobianComputationScheme.kForwardDifference, 3e-5), (JacobianComputationScheme.kCentralDifference, 3e-8)],
)
def test_jacobians_by_differences(scheme: JacobianComputationScheme, tolerance: float) -> None:
    rng = np.random.default_rng(3)
    A, B = rng.standard_normal((2, 5, 5))

    def function(x: np.ndarray) -> np.ndarray:
        return A @ np.sin(x) + (B @ x) * x[0]

    x = np.array([0.3, -2.0, 0.0, 1e-4, 5.0])
    exact = A * np.cos(x) + B * x[0]
    exact[:, 0] += B @ x
    integrator = make_integrator(analysis.Radau3Integrator, Problem(lambda t, x: function(x), tuple(x), 0, 1.0))
    integrator.set_jacobian_computation_scheme(scheme)
    integrator.set_fixed_step_mode(True)
    integrator.set_maximum_step_size(1e-6)
    assert integrator.IntegrateWithSingleFixedStepToTime(1e-6)
    np.testing.assert_allclose(integrator._arrays.newton.J.T, exact, atol=tolerance)


@pytest.mark.parametrize("mu", [10.0, 3.0 + 2.0j])
def test_the_reduced_system_of_velocities_is_that_of_the_whole(mu: complex) -> None:
    rng = np.random.default_rng(4)
    q, y = np.array([0, 3, 4]), np.array([1, 5, 2, 6])
    J = rng.standard_normal((7, 7))
    J[np.ix_(q, q)] = 0.0
    r = rng.standard_normal(7) + (0.0 if mu.imag == 0.0 else 1j * rng.standard_normal(7))
    for algebra in (FullMatrix(), VelocityMatrix(q, y)):
        lu, pivots = np.zeros((7, 7), dtype=type(mu)), np.zeros(7, dtype=np.int64)
        algebra.factor(mu, J.T, lu, pivots)
        d = algebra.solve(mu, J.T, lu, pivots, r)
        np.testing.assert_allclose(d, np.linalg.solve(mu * np.eye(7) - J, r), atol=1e-13)


# ---------------------------------------------------------------------- by name


def test_integrators_by_name() -> None:
    simulator = analysis.Simulator(make_integrator(analysis.RungeKutta3Integrator, PROBLEMS["pendulum"]).get_system())
    simulator.get_mutable_context().SetContinuousState([1.0, 0.0])
    schemes = set(analysis.GetIntegrationSchemes()) - {"cenic"}  # which moves plants
    assert len(schemes) == 12
    for scheme in sorted(schemes):
        integrator = analysis.ResetIntegratorFromFlags(simulator, scheme, 0.01)
        assert integrator is simulator.get_integrator() and integrator.get_maximum_step_size() == 0.01
        assert type(integrator).__name__.lower() == scheme.replace("_", "") + "integrator"
        simulator.AdvanceTo(simulator.get_context().get_time() + 0.05)
        assert integrator.get_num_steps_taken() >= 5
    with pytest.raises(ValueError, match=r"Unknown integration scheme 'rk4'\. Known are bogacki_shampine3, "):
        analysis.ResetIntegratorFromFlags(simulator, "rk4", 0.01)
    with pytest.raises(ValueError, match="must be positive"):
        analysis.ResetIntegratorFromFlags(simulator, "radau3", 0.0)
    with pytest.raises(ValueError, match="has no continuous MultibodyPlant to move"):
        analysis.ResetIntegratorFromFlags(simulator, "cenic", 0.01)
    assert simulator.get_integrator() is integrator


@pytest.mark.parametrize("size", [4, 40])
def test_matrices_are_saved_when_a_step_replaces_them_and_restored_if_it_fails(size: int) -> None:
    """In compiled steps and in those by LAPACK."""
    left = [0]  # evaluations before one fails

    def function(t: float, x: Any) -> Any:
        left[0] -= 1
        if left[0] == 0:
            raise ValueError("no derivatives")
        return np.linspace(1.0, 90.0, size) * (math.cos(3.0 * t) - x**3)

    runs: list[list[tuple[Any, ...]]] = [[], []]
    for fails, steps in zip((False, True), runs):
        integrator = make_integrator(
            analysis.Radau3Integrator, Problem(function, tuple(np.linspace(1.0, 2.0, size)), 0, 1.0)
        )
        integrator.set_maximum_step_size(0.02)
        integrator.set_fixed_step_mode(True)
        for number in range(29):
            time = 0.02 * (number + 1)
            if fails and runs[0][number][0]:
                left[0] = runs[0][number][1]  # the last one
                with pytest.raises(ValueError, match="no derivatives"):
                    integrator.IntegrateWithMultipleStepsToTime(time)
            evaluations, iterations = (
                integrator.get_num_derivative_evaluations(), integrator.get_num_newton_raphson_iterations(),
            )  # fmt: skip
            integrator.IntegrateWithMultipleStepsToTime(time)
            is_saved = bool(integrator._step.is_bulk_saved)
            evaluations = integrator.get_num_derivative_evaluations() - evaluations
            iterations = integrator.get_num_newton_raphson_iterations() - iterations
            steps.append((is_saved, evaluations, iterations, *state(integrator)))
    assert 1 < sum(is_saved for is_saved, *_ in runs[0]) < 15
    assert runs[1] == runs[0]
