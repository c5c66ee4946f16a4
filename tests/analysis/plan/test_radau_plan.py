"""Compiled Radau steps: the same in the native plan as without it, to the last bit, and as the interpreted method."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from differential_equations import PROBLEMS, Problem, make_integrator, state
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.integrate import solve_ivp

from merganser.analysis import (
    JacobianComputationScheme,
    Radau1Integrator,
    Radau3Integrator,
    RadauIntegrator,
    Simulator,
)
from merganser.analysis.integrators.newton_algebra import factor_shifted, solve_factored
from merganser.framework import BasicVector, DiagramBuilder, LeafSystem, System
from merganser.framework.native import native
from merganser.framework.primitives import LinearSystem, LogVectorOutput, Sine, ZeroOrderHold
from tests.support.random_diagrams import random_diagram


def simulator_of(
    system: System,
    use_plan: bool,
    num_stages: int = 3,
    accuracy: float = 1e-6,
    max_step_size: float = 10.0,
    x0: Any = None,
) -> tuple[Simulator, Any]:
    simulator = Simulator(system)
    simulator.set_use_native_plan(use_plan, at_once=True)
    context = simulator.get_mutable_context()
    if x0 is not None:
        context.SetContinuousState(x0)
    integrator = simulator.reset_integrator(RadauIntegrator(system, context, num_stages))
    integrator.set_maximum_step_size(max_step_size)
    integrator.set_target_accuracy(accuracy)
    return simulator, integrator


def seen_in(simulator: Simulator, sinks: Any = ()) -> list[Any]:
    """Everything that can be seen of a simulation."""
    context, integrator = simulator.get_context(), simulator.get_integrator()
    discrete = context.get_state().get_discrete_state()
    logs = [sink.FindLog(context) for sink in sinks]
    return [
        context.get_time(), context.get_continuous_state_vector().CopyToVector().tolist(),
        [discrete.value(group).tolist() for group in range(discrete.num_groups())],
        [(log.sample_times().tolist(), log.data().tolist()) for log in logs],
        simulator.get_num_steps_taken(), simulator.get_num_discrete_updates(), simulator.get_num_publishes(),
        integrator.get_ideal_next_step_size(), integrator.get_num_step_shrinkages_from_substep_failures(),
        repr(integrator.GetStatisticsSummary()),
    ]  # fmt: skip


def with_and_without_plan(run: Callable[[bool], Any]) -> Any:
    """Results with the plan, which must equal those without it."""
    seen = [run(use_plan) for use_plan in (True, False)]
    assert seen[0] == seen[1]
    return seen[0]


# ---------------------------------------------------------------------- random diagrams


def run(use_plan: bool, seed: int, num_blocks: int, has_python: bool) -> list[Any]:
    rng = np.random.default_rng(seed)
    history: list[Any] = []
    diagram, sinks = random_diagram(rng, num_blocks, history, bool(rng.integers(2)), has_python)
    simulator = Simulator(diagram)
    simulator.set_use_native_plan(use_plan, at_once=True)
    context = simulator.get_mutable_context()
    kind = rng.integers(5)
    if kind < 2:
        integrator: Any = (Radau1Integrator, Radau3Integrator)[kind](diagram, context)
    else:
        integrator = RadauIntegrator(diagram, context, int(kind) - 1)
    simulator.reset_integrator(integrator)
    integrator.set_maximum_step_size(0.1)
    integrator.set_target_accuracy(10.0 ** -rng.integers(2, 7))
    integrator.set_requested_minimum_step_size(1e-5)  # a diagram that is not stable ends with an error
    integrator.set_fixed_step_mode(bool(rng.integers(3) == 0))
    integrator.set_reuse(bool(rng.integers(4)))
    integrator.set_use_full_newton(bool(rng.integers(4) == 0))
    integrator.set_jacobian_computation_scheme(list(JacobianComputationScheme)[rng.integers(2)])
    simulator.Initialize()
    failure = None
    try:
        for end in [0.0, 0.31, 0.31, 0.5, 0.502, 0.7]:
            simulator.AdvanceTo(end)
    except RuntimeError as error:  # a diagram that is not stable
        failure = str(error)
    assert not use_plan or simulator._plan is not None
    return [failure, history, *seen_in(simulator, sinks)]


@settings(max_examples=40, deadline=None, derandomize=True)
@given(seed=st.integers(0, 10_000), num_blocks=st.integers(1, 6), python=st.booleans())
def test_plan_equals_stepping_in_python_bit_for_bit(seed: int, num_blocks: int, python: bool) -> None:
    with_and_without_plan(lambda use_plan: run(use_plan, seed, num_blocks, python))


# ---------------------------------------------------------------------- stiff problems


@native
def _van_der_pol(xc, mu, xdot):  # type: ignore[no-untyped-def]
    xdot[0] = xc[1]
    xdot[1] = mu[0] * (1.0 - xc[0] * xc[0]) * xc[1] - xc[0]


@native
def _robertson(xc, k, xdot):  # type: ignore[no-untyped-def]
    slow, fast, fastest = k[0] * xc[0], k[1] * xc[1] * xc[2], k[2] * xc[1] * xc[1]
    xdot[0] = -slow + fast
    xdot[1] = slow - fast - fastest
    xdot[2] = fastest


class Native(LeafSystem):
    """Continuous state with native derivatives and one parameter."""

    def __init__(self, function: Any, size: int, name: str, parameter: Any) -> None:
        super().__init__()
        self.DeclareContinuousState(size)
        self.DeclareNumericParameter(BasicVector(parameter), name=name)
        self.DeclareTimeDerivatives(function)


@pytest.mark.parametrize("num_stages", [2, 3])
def test_the_stiff_van_der_pol_oscillator_and_the_split_of_its_advance(num_stages: int) -> None:
    """Mazzia and Magherini 2008, problem VDPOL with time scaled by mu."""
    found = []
    for num_parts in (1, 100):

        def advance(use_plan: bool, num_parts: int = num_parts) -> list[Any]:
            system = Native(_van_der_pol, 2, "mu", [1000.0])
            simulator, integrator = simulator_of(system, use_plan, num_stages, x0=[2.0, 0.0])
            for end in np.linspace(0.0, 2000.0, num_parts + 1):
                simulator.AdvanceTo(end)
            return [integrator.get_num_derivative_evaluations(), *seen_in(simulator)]

        found.append(with_and_without_plan(advance))
        np.testing.assert_allclose(found[-1][2], [1.706167732170483, -8.928097010247975e-4], rtol=0.0, atol=1e-6)
    assert found[1][0] == pytest.approx(found[0][0], rel=0.03)


def test_the_reaction_of_robertson_as_scipy_sees_it() -> None:
    rates = [0.04, 1e4, 3e7]

    def advance(use_plan: bool) -> list[Any]:
        system = Native(_robertson, 3, "k", rates)
        simulator, _ = simulator_of(system, use_plan, accuracy=1e-8, max_step_size=1e3, x0=[1.0, 0.0, 0.0])
        simulator.AdvanceTo(1e4)
        return seen_in(simulator)

    def derivatives(t: float, x: Any) -> Any:
        slow, fast, fastest = rates[0] * x[0], rates[1] * x[1] * x[2], rates[2] * x[1] * x[1]
        return [-slow + fast, slow - fast - fastest, fastest]

    def jacobian(t: float, x: Any) -> Any:
        a, b, c, d = rates[0], rates[1] * x[2], rates[1] * x[1], 2.0 * rates[2] * x[1]
        return [[-a, b, c], [a, -b - d, -c], [0.0, d, 0.0]]

    x0, tolerances = [1.0, 0.0, 0.0], {"rtol": 1e-8, "atol": 1e-11}
    expected = solve_ivp(derivatives, (0.0, 1e4), x0, method="Radau", jac=jacobian, **tolerances).y[:, -1]
    np.testing.assert_allclose(with_and_without_plan(advance)[1], expected, rtol=0.0, atol=1e-7)


def test_a_stiff_plant_behind_a_hold_follows_its_input_from_period_to_period() -> None:
    """x' = 1e5 (u - x), u held for 1 ms: x ends each period where u was, and its log sees that."""

    def advance(use_plan: bool) -> list[Any]:
        builder = DiagramBuilder()
        source = builder.AddSystem(Sine(1.0, 10.0, 0.0, 1))
        hold = builder.AddSystem(ZeroOrderHold(1e-3, 1))
        plant = builder.AddSystem(LinearSystem([[-1e5]], [[1e5]], [[1.0]]))
        builder.Connect(source.get_output_port(0), hold.get_input_port())
        builder.Connect(hold.get_output_port(), plant.get_input_port())
        sink = LogVectorOutput(plant.get_output_port(), builder, 1e-3)
        simulator, _ = simulator_of(builder.Build(), use_plan, max_step_size=0.1)
        simulator.AdvanceTo(0.25)
        return [*seen_in(simulator, [sink])]

    times, data = (np.array(column) for column in with_and_without_plan(advance)[3][0])
    np.testing.assert_allclose(data[0, 1:], np.sin(10.0 * (times[1:] - 1e-3)), rtol=0.0, atol=1e-5)


# ---------------------------------------------------------------------- out of the ordinary


@native
def _grows(xc, k, xdot):  # type: ignore[no-untyped-def]
    xdot[0] = k[0] * xc[0] * xc[0]


@native
def _ends(t, xc, k, xdot):  # type: ignore[no-untyped-def]
    xdot[0] = np.sqrt(k[0] - t) - xc[0]


@native
def _rattles(xc, k, xdot):  # type: ignore[no-untyped-def]
    xdot[0] = xc[1]
    xdot[1] = -k[0] * xc[0] - k[1] * np.sign(xc[1])


@pytest.mark.parametrize("num_stages", [1, 2, 3])
@pytest.mark.parametrize("fixed", [False, True])
@pytest.mark.parametrize(
    ("function", "k", "minimum"), [(_grows, 1.0, 1e-3), (_ends, 0.5, 0.0), (_rattles, [10.0, 50.0], 1e-3)]
)
def test_steps_that_fail_are_repeated_and_reported_as_without_the_plan(
    function: Any, k: Any, minimum: float, fixed: bool, num_stages: int
) -> None:
    def advance(use_plan: bool) -> list[Any]:
        size = np.size(k)
        system = Native(function, size, "k", np.atleast_1d(k))
        simulator, integrator = simulator_of(system, use_plan, num_stages, 1e-4, 0.7, x0=np.ones(size))
        integrator.set_fixed_step_mode(fixed)
        integrator.set_requested_minimum_step_size(minimum)
        seen = []
        for throws in (True, False):
            integrator.set_throw_on_minimum_step_size_violation(throws)
            try:
                simulator.AdvanceTo(1.5)
            except RuntimeError as error:
                seen.append(str(error))
            seen.append(seen_in(simulator))
        return seen

    seen = with_and_without_plan(advance)
    assert isinstance(seen[0], str) or function is _rattles


@pytest.mark.parametrize("reuse", [False, True])
def test_accepting_errors_of_the_shortest_step_goes_through_python_without_a_trace(reuse: bool) -> None:
    """Python repeats such steps from their start: with the Jacobian, the stages and the counts from before."""

    def advance(use_plan: bool) -> list[Any]:
        system = Native(_van_der_pol, 2, "mu", [20.0])
        simulator, integrator = simulator_of(system, use_plan, 3, 1e-9, 1.0, x0=[2.0, 0.0])
        integrator.set_requested_minimum_step_size(0.004)
        integrator.set_throw_on_minimum_step_size_violation(False)
        integrator.set_reuse(reuse)
        for end in np.linspace(0.0, 30.0, 7):
            simulator.AdvanceTo(end)
        return [integrator.get_num_step_shrinkages_from_error_control(), *seen_in(simulator)]

    assert with_and_without_plan(advance)[0] > 0


class Interrupted(LeafSystem):
    """Derivatives in Python that fail once."""

    def __init__(self, countdown: int) -> None:
        super().__init__()
        self.DeclareContinuousState(2)
        self.countdown = countdown

    def DoCalcTimeDerivatives(self, context: Any, derivatives: Any) -> None:
        self.countdown -= 1
        if self.countdown == 0:
            raise ValueError("once")
        x = context.get_continuous_state_vector().value()
        derivatives.SetFromVector([x[1], 50.0 * (1.0 - x[0] ** 2) * x[1] - x[0]])


@pytest.mark.parametrize("countdown", [1, 2, 3, 60, 61, 62, 63, 64, 65, 66])
def test_the_simulation_goes_on_after_an_exception_of_a_callback(countdown: int) -> None:
    def advance(use_plan: bool) -> list[Any]:
        simulator, _ = simulator_of(Interrupted(countdown), use_plan, 3, 1e-5, 1.0, x0=[2.0, 0.0])
        with pytest.raises(ValueError, match="once"):
            simulator.AdvanceTo(60.0)
        seen = seen_in(simulator)
        simulator.AdvanceTo(60.0)
        return [seen, seen_in(simulator)]

    with_and_without_plan(advance)


def test_settings_and_states_may_change_between_advances() -> None:
    def advance(use_plan: bool) -> list[Any]:
        system = Native(_van_der_pol, 2, "mu", [100.0])
        simulator, integrator = simulator_of(system, use_plan, 3, 1e-5, x0=[2.0, 0.0])
        context = simulator.get_mutable_context()
        simulator.AdvanceTo(50.0)
        context.SetContinuousState([1.5, 0.1])
        simulator.AdvanceTo(60.0)
        integrator.set_use_full_newton(True)
        simulator.AdvanceTo(65.0)
        integrator.set_use_full_newton(False)
        integrator.set_jacobian_computation_scheme(JacobianComputationScheme.kCentralDifference)
        integrator.ResetStatistics()
        simulator.AdvanceTo(120.0)
        integrator.reset_context(context)
        simulator.Initialize()
        simulator.AdvanceTo(150.0)
        return seen_in(simulator)

    with_and_without_plan(advance)


def test_large_systems_are_left_to_lapack() -> None:
    for size, expected in ((30, True), (31, False)):
        simulator, _ = simulator_of(LinearSystem(A=-np.eye(size)), True)
        simulator.AdvanceTo(0.1)
        assert (simulator._plan is not None) == expected


# ---------------------------------------------------------------------- the interpreted steps


@pytest.mark.parametrize("num_stages", [1, 2, 3])
@pytest.mark.parametrize("newton", ["reuse", "no reuse", "full"])
@pytest.mark.parametrize("scheme", JacobianComputationScheme)
@pytest.mark.parametrize("fixed", [False, True])
def test_compiled_steps_are_those_of_the_interpreted_method(
    num_stages: int, newton: str, scheme: JacobianComputationScheme, fixed: bool
) -> None:
    """Both do the same sums, in another order; all decisions are the same where nothing hangs in the balance."""
    found = []
    for compiled in (True, False):
        make = functools.partial(RadauIntegrator, num_stages=num_stages)
        integrator = make_integrator(make, PROBLEMS["van der Pol"])
        integrator._may_be_compiled = compiled
        integrator.set_reuse(newton == "reuse")
        integrator.set_use_full_newton(newton == "full")
        integrator.set_jacobian_computation_scheme(scheme)
        integrator.set_maximum_step_size(0.05)
        integrator.set_target_accuracy(1e-3)
        integrator.set_fixed_step_mode(fixed)
        integrator.IntegrateWithMultipleStepsToTime(1.0)
        assert (integrator._compiled is not None) == compiled
        found.append((state(integrator), integrator.GetStatisticsSummary()))
    np.testing.assert_allclose(found[0][0], found[1][0], rtol=0.0, atol=1e-9)
    compiled_counts, counts = (dict(summary) for _, summary in found)
    for name, count in counts.items():
        assert compiled_counts[name] == pytest.approx(count, rel=1e-6), name


def test_a_state_of_derivatives_takes_interpreted_steps() -> None:
    problem = Problem(lambda t, x: [-(x[0] ** 3)], (1.0,), 0, 1.0)
    h = 1e-20
    integrator = make_integrator(Radau3Integrator, problem, np.complex128)
    integrator.get_mutable_context().SetContinuousState([1.0 + 1j * h])
    integrator.set_maximum_step_size(0.01)
    integrator.set_fixed_step_mode(True)
    integrator.IntegrateWithMultipleStepsToTime(1.0)
    assert integrator._compiled is None
    x = integrator._x[0]
    assert x.real == pytest.approx(3.0**-0.5, abs=1e-7)  # x = (1/x0^2 + 2 t)^-1/2, dx/dx0 = (x/x0)^3
    assert x.imag / h == pytest.approx(3.0**-1.5, abs=1e-6)


@pytest.mark.parametrize("mu", [3.0, -0.5 + 2.0j])
def test_small_matrices_are_factored_with_pivots(mu: complex) -> None:
    rng = np.random.default_rng(5)
    for n in (1, 2, 7, 30):
        J = rng.normal(size=(n, n)) * 10.0 ** rng.integers(-3, 4, size=n)
        lu, pivots = np.full((n, n), np.nan, dtype=type(mu)), np.zeros(n, dtype=np.int64)
        right = rng.normal(size=n) + (mu - mu.real) * rng.normal(size=n)
        factor_shifted(mu, J.T, lu, pivots)
        x = right.astype(lu.dtype)
        solve_factored(lu, pivots, x)
        np.testing.assert_allclose((mu * np.eye(n) - J) @ x, right, rtol=0.0, atol=1e-9 * max(1.0, np.abs(J).max()))


def test_a_singular_matrix_has_no_finite_solution() -> None:
    lu, pivots, x = np.zeros((2, 2)), np.zeros(2, dtype=np.int64), np.ones(2)
    factor_shifted(1.0, np.array([[1.0, 0.0], [0.0, 3.0]]), lu, pivots)
    solve_factored(lu, pivots, x)
    assert np.isnan(x).any()
