"""Fixed points and their regions of attraction, where they are known."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from merganser.analysis import FindFixedPoint, RegionOfAttraction, RegionOfAttractionOptions, Simulator
from merganser.framework import LeafSystem
from merganser.framework.native import native
from merganser.framework.primitives import LinearSystem, SymbolicVectorSystem
from merganser.framework.symbolic import Variable


class Pendulum(LeafSystem):
    """theta'' = u - sin(theta) - 0.1 omega."""

    def __init__(self) -> None:
        super().__init__()
        self.DeclareVectorInputPort("torque", 1)
        self.DeclareContinuousState(1, 1, 0)

    def DoCalcTimeDerivatives(self, context: Any, derivatives: Any) -> None:
        theta, omega = context.get_continuous_state_vector().value()
        derivatives.SetFromVector([omega, self.get_input_port().Eval(context)[0] - np.sin(theta) - 0.1 * omega])


def pendulum(x: Any, u: float) -> tuple[Any, Any]:
    system = Pendulum()
    context = system.CreateDefaultContext()
    context.SetContinuousState(x)
    system.get_input_port().FixValue(context, [u])
    return system, context


def test_state_is_found_for_given_inputs() -> None:
    system, context = pendulum([0.2, 0.4], 0.5)
    found = FindFixedPoint(system, context, inputs=())
    np.testing.assert_allclose(found.x, [np.arcsin(0.5), 0.0], atol=1e-10)
    assert found.u == [0.5] and found.residual <= 1e-10 and found.num_iterations < 8
    np.testing.assert_array_equal(context.get_continuous_state_vector().CopyToVector(), [0.2, 0.4])


def test_input_is_found_for_a_given_state() -> None:
    found = FindFixedPoint(*pendulum([1.2, 0.3], 0.0), fixed_states=[0])
    np.testing.assert_allclose(found.x, [1.2, 0.0], atol=1e-12)
    np.testing.assert_allclose(found.u, [np.sin(1.2)], atol=1e-12)


def test_fixed_points_of_discrete_systems_repeat_themselves() -> None:
    system = LinearSystem([[0.5]], [[1.0]], [[1.0]], [[0.0]], 0.1)
    context = system.CreateDefaultContext()
    system.get_input_port().FixValue(context, [3.0])
    assert FindFixedPoint(system, context, []).x == pytest.approx([6.0])


def test_without_a_solution_the_message_says_how_near_it_got() -> None:
    with pytest.raises(RuntimeError, match=r"of system '::Pendulum' was found .* residual of"):
        FindFixedPoint(*pendulum([1.0, 0.0], 2.0), inputs=())
    with pytest.raises(IndexError, match="no input 1: there are 1"):
        FindFixedPoint(*pendulum([1.0, 0.0], 2.0), inputs=[1])


def of_state(make: Any, size: int) -> tuple[Any, Any, Any]:
    x = np.array([Variable(f"x{i}") for i in range(size)])
    system = SymbolicVectorSystem(state=x, dynamics=make(x))
    return system, system.CreateDefaultContext(), x


def test_region_of_a_cubic_ends_at_its_other_fixed_points() -> None:
    system, context, x = of_state(lambda x: [-x[0] + x[0] ** 3], 1)
    options = RegionOfAttractionOptions()
    options.state_variables = x
    V = RegionOfAttraction(system, context, options)
    assert V.Evaluate({x[0]: 1.0}) == pytest.approx(1.0, rel=1e-9)
    assert V.Evaluate({x[0]: 0.5}) == pytest.approx(0.25, rel=1e-9)
    options.lyapunov_candidate = 7.0 * x[0] ** 2
    assert RegionOfAttraction(system, context, options).Evaluate({x[0]: 0.5}) == pytest.approx(0.25, rel=1e-9)
    (variable,) = RegionOfAttraction(system, context).GetVariables()
    assert variable.get_name() == "x0"


def test_a_candidate_is_taken_where_the_linearization_is_zero() -> None:
    state = np.array([Variable("x"), Variable("y")])
    square = state @ state
    dynamics = (square**2 - 1.0) * (square**2).Jacobian(state)
    system = SymbolicVectorSystem(state=state, dynamics=dynamics)
    options = RegionOfAttractionOptions(lyapunov_candidate=square, state_variables=state, num_samples=2)
    V = RegionOfAttraction(system, system.CreateDefaultContext(), options)
    assert V.Evaluate({state[0]: 1.0, state[1]: 0.0}) == pytest.approx(1.0, rel=1e-6)


def test_simulations_from_the_region_return_and_its_end_is_where_v_stops_falling() -> None:
    """Van der Pol's oscillator, backwards."""
    system, context, x = of_state(lambda x: [-x[1], x[0] + (x[0] ** 2 - 1.0) * x[1]], 2)
    options = RegionOfAttractionOptions()
    options.state_variables = x
    V = RegionOfAttraction(system, context, options)
    slopes = V.Jacobian(x)
    falls = []
    for angle in np.linspace(0.0, 2.0 * np.pi, 400):
        point = np.array([np.cos(angle), np.sin(angle)])
        point /= np.sqrt(V.Evaluate(dict(zip(x, point))))
        context.SetContinuousState(point)
        rate = system.EvalTimeDerivatives(context).CopyToVector()
        falls.append(sum(s.Evaluate(dict(zip(x, point))) * r for s, r in zip(slopes, rate)))
    assert -2e-3 < max(falls) < 1e-9
    context.SetContinuousState(0.99 * point)
    Simulator(system, context).AdvanceTo(25.0)
    assert np.abs(context.get_continuous_state_vector().CopyToVector()).max() < 1e-2


@native
def _pendulum(xc, torque, xdot):  # type: ignore[no-untyped-def]
    xdot[0] = xc[1]
    xdot[1] = torque[0] - np.sin(xc[0]) - 0.1 * xc[1]


class CompiledPendulum(Pendulum):
    """The same in compiled code."""

    def __init__(self) -> None:
        super().__init__()
        self.DeclareTimeDerivatives(_pendulum)


def test_compiled_dynamics_have_the_region_of_those_in_python(monkeypatch: pytest.MonkeyPatch) -> None:
    tapes = pytest.importorskip("merganser.analysis.plan.model_tape")
    counts, run = [], tapes.ModelTape.run
    monkeypatch.setattr(tapes.ModelTape, "run", lambda *given: counts.append(run(*given)) or counts[-1])
    levels = []
    for system in (Pendulum(), CompiledPendulum()):
        context = system.CreateDefaultContext()
        system.get_input_port().FixValue(context, [0.0])
        V = RegionOfAttraction(system, context)
        levels.append(V.Evaluate(dict.fromkeys(V.GetVariables(), 1.0)))
    assert sum(counts) > 10_000 and levels[0] == pytest.approx(levels[1], rel=1e-12)


def test_regions_that_do_not_exist_or_do_not_end_are_refused() -> None:
    with pytest.raises(RuntimeError, match="has the eigenvalue 1"):
        RegionOfAttraction(*of_state(lambda x: [x[0]], 1)[:2])
    with pytest.raises(RuntimeError, match="attract every state"):
        RegionOfAttraction(*of_state(lambda x: [-x[0]], 1)[:2])
