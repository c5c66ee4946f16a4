"""Observers in compiled code: they give what they give in Python, to the last bit."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import merganser.analysis.estimators.filter_workspace as filter_workspace
from merganser.analysis import Simulator
from merganser.analysis.estimators import ExtendedKalmanFilter, LuenbergerObserver, UnscentedKalmanFilter
from merganser.analysis.estimators.observed_model import ObservedModel
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
    y[0] = np.abs(xd[0])  # of a complex number, this is not an analytic function


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


class PendulumInPython(LeafSystem):
    """The same pendulum, left to Python."""

    def __init__(self, is_discrete: bool, error: BaseException | None = None) -> None:
        super().__init__()
        self._is_discrete, self.error = is_discrete, error
        self.DeclareVectorInputPort("torque", 1)
        if is_discrete:
            self.DeclareDiscreteState([1.0, 0.0])
            self.DeclarePeriodicDiscreteUpdateEvent(STEP, 0.0, self._update)
        else:
            self.DeclareContinuousState(1, 1, 0)
        self.DeclareVectorOutputPort("y", 1, self._calc_output)

    def _update(self, context: Any, following: Any) -> None:
        x, u, t = context.get_discrete_state_vector().value(), self.get_input_port().Eval(context), context.get_time()
        swing_on.interpreted(x, u, t, following.get_mutable_value(0))

    def DoCalcTimeDerivatives(self, context: Any, derivatives: Any) -> None:
        x, u = context.get_continuous_state_vector().value(), self.get_input_port().Eval(context)
        swing.interpreted(x, u, derivatives.get_mutable_vector().get_mutable_value())

    def _calc_output(self, context: Any, output: Any) -> None:
        if self.error is not None:
            raise self.error
        x = context.get_discrete_state_vector() if self._is_discrete else context.get_continuous_state_vector()
        sine_in_steps.interpreted(x.value(), output.get_mutable_value())


def random_state(rng: Any) -> tuple[Any, Any]:
    root = rng.normal(size=(2, 2))
    return rng.normal(size=2), root @ root.T


def computed(observer: Any, time: float, x: Any, P: Any, y: float, u: float) -> Any:
    """The next state of a filter, or its rate."""
    context = observer.CreateDefaultContext()
    context.SetTime(time)
    observer.get_input_port(0).FixValue(context, [y])
    observer.get_input_port(1).FixValue(context, [u])
    state = np.concatenate([x, P.ravel()])
    if context.num_continuous_states():
        context.SetContinuousState(state)
        return observer.EvalTimeDerivatives(context).CopyToVector()
    context.SetDiscreteState(state)
    return observer.EvalUniquePeriodicDiscreteUpdate(context).get_vector(0).CopyToVector()


def by_the_textbook(model: Any, is_discrete: bool, t: float, x: Any, P: Any, y: float, u: float) -> Any:
    """(1) to (3) of the filter in numpy, with Jacobians by the complex step."""
    W, V = np.diag([1e-4, 2e-3]), np.array([[0.01]])

    def f(x: Any) -> Any:
        result = np.zeros(2, np.asarray(x).dtype)
        swing_on.interpreted(x, [u], t, result) if is_discrete else swing.interpreted(x, [u], result)
        return result

    def g(x: Any) -> Any:
        return np.sin(x[:1])

    def jacobian(function: Any) -> Any:
        return np.array([function(x + 1e-100j * e).imag / 1e-100 for e in np.eye(2)]).T

    C, error = jacobian(g), y - g(x)
    if not is_discrete:
        A, K = jacobian(f), P @ C.T @ np.linalg.inv(V)
        return np.concatenate([f(x) + K @ error, (A @ P + P @ A.T + W - K @ V @ K.T).ravel()])
    K = P @ C.T @ np.linalg.inv(C @ P @ C.T + V)
    x, P = x + K @ error, (np.eye(2) - K @ C) @ P
    A = jacobian(f)
    return np.concatenate([f(x), (A @ P @ A.T + W).ravel()])


@pytest.mark.parametrize("make", [Pendulum, PendulumInPython])
@pytest.mark.parametrize("is_discrete", [False, True], ids=["continuous", "discrete"])
def test_the_extended_filter_fulfils_the_textbooks_equations(is_discrete: bool, make: Any) -> None:
    model = make(is_discrete)
    observer, rng = observer_of(ExtendedKalmanFilter, model), np.random.default_rng(3)
    for _ in range(5):
        given = rng.uniform(0.0, 9.0), *random_state(rng), rng.normal(), rng.normal()
        ours, theirs = computed(observer, *given), by_the_textbook(model, is_discrete, *given)
        np.testing.assert_allclose(ours, theirs, rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("is_discrete", [False, True], ids=["continuous", "discrete"])
@pytest.mark.parametrize("kind", FILTERS)
def test_filters_are_equal_with_native_models_python_models_and_no_compiler(
    kind: Any, is_discrete: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    rng = np.random.default_rng(4)
    given = rng.uniform(0.0, 9.0), *random_state(rng), rng.normal(), rng.normal()
    of_operations = computed(observer_of(kind, Pendulum(is_discrete)), *given)
    of_python = computed(observer_of(kind, PendulumInPython(is_discrete)), *given)
    np.testing.assert_allclose(of_python, of_operations, rtol=1e-13, atol=1e-14)
    monkeypatch.setattr(filter_workspace, "may_compile", lambda: False)
    interpreted = computed(observer_of(kind, PendulumInPython(is_discrete)), *given)
    np.testing.assert_allclose(interpreted, of_operations, rtol=1e-12, atol=1e-13)


@pytest.mark.parametrize("error", [ValueError("no output today"), KeyboardInterrupt()], ids=["error", "interrupt"])
@pytest.mark.parametrize("kind", FILTERS)
def test_an_exception_of_a_python_model_leaves_the_filter_unchanged(kind: Any, error: Any) -> None:
    model = PendulumInPython(True)
    diagram, _, log = watched(kind, model, Pendulum(True))
    expected, _ = run(diagram, log, False)
    simulator = Simulator(diagram)
    simulator.AdvanceTo(0.5)
    model.error = error
    with pytest.raises(type(error)):
        simulator.AdvanceTo(1.0)
    model.error = None
    simulator.AdvanceTo(1.0)
    np.testing.assert_array_equal(log.FindLog(simulator.get_context()).data(), expected)


@pytest.mark.parametrize("is_discrete", [False, True], ids=["continuous", "discrete"])
def test_filters_of_expressions_are_compiled_with_exact_jacobians(
    is_discrete: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    sym = pytest.importorskip("merganser.framework.symbolic", reason="needs the extra", exc_type=ImportError)
    angle, rate, torque = (sym.Variable(name) for name in ("angle", "rate", "torque"))
    acceleration = torque - 9.81 * sym.sin(angle) - 0.1 * sym.abs(rate) * rate
    dynamics = [angle + STEP * rate, rate + STEP * acceleration] if is_discrete else [rate, acceleration]

    def model() -> Any:
        period = STEP if is_discrete else 0.0
        return SymbolicVectorSystem(
            state=[angle, rate], input=[torque], dynamics=dynamics, output=[sym.sin(angle)], time_period=period
        )

    diagram, _, log = watched(ExtendedKalmanFilter, model(), model())
    python, _ = run(diagram, log, False)
    compiled, simulator = run(diagram, log, True)
    assert not simulator._plan._program.num_callbacks
    np.testing.assert_array_equal(compiled, python)
    given = 0.3, np.array([0.7, -0.4]), np.diag([0.1, 0.2]), 0.5, 0.2
    exact = computed(observer_of(ExtendedKalmanFilter, model()), *given)
    monkeypatch.setattr(ObservedModel, "complex_tapes", lambda model: None)
    by_differences = computed(observer_of(ExtendedKalmanFilter, model()), *given)
    assert (exact != by_differences).any()
    np.testing.assert_allclose(exact, by_differences, rtol=1e-7, atol=1e-9)


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
