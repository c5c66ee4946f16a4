"""Observers in compiled code: they give what they give in Python, to the last bit."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from merganser.analysis import Simulator
from merganser.analysis.estimators import ExtendedKalmanFilter, LuenbergerObserver, UnscentedKalmanFilter
from merganser.framework import DiagramBuilder, LeafSystem
from merganser.framework.native import native
from merganser.framework.primitives import LinearSystem, LogVectorOutput, Sine, SymbolicVectorSystem

OBSERVERS = [LuenbergerObserver, ExtendedKalmanFilter, UnscentedKalmanFilter]
FILTERS = OBSERVERS[1:]
STEP = 0.05  # s


@native
def swing(xc: Any, torque: Any, rate: Any) -> None:
    rate[0] = xc[1]
    rate[1] = torque[0] - 9.81 * np.sin(xc[0]) - 0.1 * xc[1]


@native
def sine_of_angle(xc: Any, y: Any) -> None:
    y[0] = np.sin(xc[0])


@native
def swing_on(xd: Any, torque: Any, t: Any, next_xd: Any) -> None:
    rate = xd[1] + STEP * (torque[0] * (1.0 + 0.1 * t) - 9.81 * np.sin(xd[0]))
    next_xd[0] = xd[0] + STEP * rate
    next_xd[1] = rate


@native
def sine_in_steps(xd: Any, y: Any) -> None:
    y[0] = np.sin(xd[0])


@native
def distance(xd: Any, y: Any) -> None:
    y[0] = np.abs(xd[0])  # of a complex number, this is no analytic function


class Pendulum(LeafSystem):
    """A pendulum that compiled code computes, in continuous time or in steps."""

    def __init__(self, is_discrete: bool, output: Any = None) -> None:
        super().__init__()
        self.DeclareVectorInputPort("torque", 1)
        if is_discrete:
            self.DeclareDiscreteState([1.0, 0.0])
            self.DeclarePeriodicDiscreteUpdateEvent(STEP, 0.0, swing_on)
        else:
            self.DeclareContinuousState(1, 1, 0)
            self.DeclareTimeDerivatives(swing)
        self.DeclareVectorOutputPort("y", 1, output or (sine_in_steps if is_discrete else sine_of_angle))


def observer_of(kind: Any, model: Any) -> Any:
    context = model.CreateDefaultContext()
    if kind is LuenbergerObserver:
        return kind(model, context, [[0.2], [0.5]])
    return kind(model, context, np.diag([1e-4, 2e-3]), [[0.01]], [0.7, 0.3], np.diag([0.1, 0.2]))


def watched(kind: Any, model: Any, plant: Any) -> tuple[Any, Any, Any]:
    """A plant that an observer watches; the diagram, the observer and a log of its state."""
    builder = DiagramBuilder()
    builder.AddSystem(plant)
    observer = builder.AddNamedSystem("observer", observer_of(kind, model))
    torque = builder.AddSystem(Sine(1.5, 2.0, 0.0, 1))
    builder.Connect(torque.get_output_port(0), plant.get_input_port())
    builder.Connect(torque.get_output_port(0), observer.get_observed_system_input_input_port())
    builder.Connect(plant.get_output_port(), observer.get_observed_system_output_input_port())
    log = LogVectorOutput(observer.get_estimated_state_output_port(), builder, STEP)
    return builder.Build(), observer, log


def run(diagram: Any, log: Any, is_compiled: bool, until: float = 1.0) -> tuple[Any, Simulator]:
    simulator = Simulator(diagram)
    simulator.set_use_native_plan(is_compiled, at_once=True)
    simulator.AdvanceTo(until)
    return log.FindLog(simulator.get_context()).data().copy(), simulator


@pytest.mark.parametrize("is_discrete", [False, True], ids=["continuous", "discrete"])
@pytest.mark.parametrize("kind", OBSERVERS)
def test_compiled_observers_take_the_same_way(kind: Any, is_discrete: bool) -> None:
    diagram, _, log = watched(kind, Pendulum(is_discrete), Pendulum(is_discrete))
    python, _ = run(diagram, log, False)
    compiled, simulator = run(diagram, log, True)
    assert not simulator._plan._program.num_callbacks  # nothing is left to Python
    np.testing.assert_array_equal(compiled, python)
    assert np.ptp(python[0]) > 0.1


@pytest.mark.parametrize("is_discrete", [False, True], ids=["continuous", "discrete"])
def test_the_compiled_extended_filter_fulfils_the_textbooks_equations(is_discrete: bool) -> None:
    """The filter's formulas in numpy, with Jacobians of the callbacks."""
    observer = observer_of(ExtendedKalmanFilter, Pendulum(is_discrete))
    context = observer.CreateDefaultContext()
    room, model = observer._new_room(context), observer._model(context)
    rng = np.random.default_rng(3)
    for _ in range(5):
        root = rng.normal(size=(2, 2))
        given = rng.uniform(0.0, 9.0), rng.normal(size=2), root @ root.T, rng.normal(size=1), rng.normal(size=1)
        compiled, python = observer._calc_compiled(room, *given), observer._calc_in_python(model, *given)
        for ours, theirs in zip(compiled, python):
            np.testing.assert_allclose(ours, theirs, rtol=1e-12, atol=1e-13)


@pytest.mark.parametrize("is_discrete", [False, True], ids=["continuous", "discrete"])
def test_filters_of_expressions_are_compiled_with_exact_jacobians(is_discrete: bool) -> None:
    sym = pytest.importorskip("merganser.framework.symbolic", reason="needs the extra", exc_type=ImportError)
    angle, rate, torque = (sym.Variable(name) for name in ("angle", "rate", "torque"))
    acceleration = torque - 9.81 * sym.sin(angle) - 0.1 * sym.abs(rate) * rate
    dynamics = [angle + STEP * rate, rate + STEP * acceleration] if is_discrete else [rate, acceleration]

    def model() -> Any:
        period = STEP if is_discrete else 0.0
        return SymbolicVectorSystem(
            state=[angle, rate], input=[torque], dynamics=dynamics, output=[sym.sin(angle)], time_period=period
        )

    diagram, observer, log = watched(ExtendedKalmanFilter, model(), model())
    python, _ = run(diagram, log, False)
    compiled, simulator = run(diagram, log, True)
    assert not simulator._plan._program.num_callbacks
    np.testing.assert_array_equal(compiled, python)
    context = observer.GetMyContextFromRoot(simulator.get_context())
    room, inner = observer._new_room(context), observer._model(context)
    given = 0.3, np.array([0.7, -0.4]), np.diag([0.1, 0.2]), np.array([0.5]), np.array([0.2])
    for ours, theirs in zip(observer._calc_compiled(room, *given), observer._calc_in_python(inner, *given)):
        np.testing.assert_allclose(ours, theirs, rtol=1e-7, atol=1e-9)  # Jacobians by differences


def test_a_model_that_is_no_analytic_function_has_its_slopes_nevertheless() -> None:
    """The filter of y = |x|, at x < 0, is that of y = -x."""
    model = Pendulum(True, distance)
    observer = ExtendedKalmanFilter(model, model.CreateDefaultContext(), np.eye(2), [[0.1]], [-0.4, 0.2])
    context = observer.CreateDefaultContext()
    observer.get_input_port(0).FixValue(context, [0.5])
    observer.get_input_port(1).FixValue(context, [0.1])
    estimate = observer.EvalUniquePeriodicDiscreteUpdate(context).get_vector(0).CopyToVector()
    K = np.array([-1.0, 0.0]) / 1.1
    x = np.array([-0.4, 0.2]) + K * (0.5 - 0.4)
    rate = x[1] + STEP * (0.1 - 9.81 * np.sin(x[0]))
    np.testing.assert_allclose(estimate[:2], [x[0] + STEP * rate, rate], atol=1e-9)


@pytest.mark.parametrize("kind", OBSERVERS)
def test_new_coefficients_of_the_model_count_at_once(kind: Any) -> None:
    results = []
    B, C, rest = [[0.0], [1.0]], [[1.0, 0.0]], {"f0": [0.0, 0.0], "D": [[0.0]], "y0": [0.0]}
    for is_compiled in (False, True):
        model = LinearSystem([[0.5, 0.1], [0.0, 0.4]], B, C, [[0.0]], STEP)
        plant = model.Clone()
        diagram, _, log = watched(kind, model, plant)
        simulator = Simulator(diagram)
        simulator.set_use_native_plan(is_compiled, at_once=True)
        simulator.AdvanceTo(0.5)
        model.UpdateCoefficients(A=[[0.9, 0.2], [0.0, 0.8]], B=B, C=C, **rest)
        simulator.AdvanceTo(1.0)
        results.append(log.FindLog(simulator.get_context()).data().copy())
    np.testing.assert_array_equal(*results)
    model.UpdateCoefficients(A=[[0.5, 0.1], [0.0, 0.4]], B=B, C=C, **rest)
    unchanged, _ = run(diagram, log, True)
    assert np.abs(unchanged - results[0])[:, -1].max() > 1e-3


@pytest.mark.parametrize("kind", FILTERS)
@pytest.mark.parametrize("is_compiled", [False, True])
def test_a_measurement_that_is_no_number_is_named(kind: Any, is_compiled: bool) -> None:
    observer = observer_of(kind, Pendulum(True))
    builder = DiagramBuilder()
    builder.AddNamedSystem("filter", observer)
    builder.ExportInput(observer.get_input_port(0), "y")
    builder.ExportInput(observer.get_input_port(1), "u")
    simulator = Simulator(builder.Build())
    simulator.set_use_native_plan(is_compiled, at_once=True)
    context = simulator.get_mutable_context()
    for index in range(2):
        simulator.get_system().get_input_port(index).FixValue(context, [0.1])
    simulator.AdvanceTo(0.2)
    before = context.get_discrete_state_vector().CopyToVector()
    simulator.get_system().get_input_port(0).FixValue(context, [np.nan])
    with pytest.raises(RuntimeError, match=r"::filter' has no estimate .* 'observed_system_output' .* got \[nan\]"):
        simulator.AdvanceTo(0.4)
    np.testing.assert_array_equal(context.get_discrete_state_vector().CopyToVector(), before)


@pytest.mark.parametrize("kind", OBSERVERS)
def test_clones_of_a_context_compute_on_their_own(kind: Any) -> None:
    observer = observer_of(kind, Pendulum(True))
    context = observer.CreateDefaultContext()
    for index in range(2):
        observer.get_input_port(index).FixValue(context, [0.3])
    first = observer.EvalUniquePeriodicDiscreteUpdate(context).get_vector(0).CopyToVector()
    clone = context.Clone()
    observer.get_input_port(0).FixValue(clone, [-0.8])
    assert observer._model(clone) is not observer._model(context)
    other = observer.EvalUniquePeriodicDiscreteUpdate(clone).get_vector(0).CopyToVector()
    again = observer.EvalUniquePeriodicDiscreteUpdate(context).get_vector(0).CopyToVector()
    np.testing.assert_array_equal(again, first)
    assert np.abs(other - first).max() > 1e-3
