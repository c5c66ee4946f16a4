"""Linear and affine approximations against closed forms, whatever the callbacks make of complex numbers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from merganser.framework import (
    BasicVector,
    Diagram,
    DiagramBuilder,
    EventStatus,
    InputPort,
    InputPortSelection,
    LeafSystem,
    OutputPortSelection,
    Value,
)
from merganser.framework.primitives import (
    Adder,
    AffineSystem,
    FirstOrderTaylorApproximation,
    Gain,
    Integrator,
    Linearize,
    LinearSystem,
)

EXACT = 1e-15  # what the complex step achieves, relative
DIFFERENCED = 1e-9  # what central differences achieve, relative


class Pendulum(LeafSystem):
    """m l^2 theta'' = u - m g l sin(theta) - b theta'; the output is the position of the tip."""

    m, l, b, g = 1.5, 0.7, 0.2, 9.81

    def __init__(self) -> None:
        super().__init__()
        self.DeclareVectorInputPort("u", 1)
        self.DeclareContinuousState(1, 1, 0)
        self.DeclareVectorOutputPort("tip", 2, self._calc_tip)

    def DoCalcTimeDerivatives(self, context: Any, derivatives: Any) -> None:
        theta, omega = context.get_continuous_state_vector().CopyToVector()
        u = self.get_input_port().Eval(context)[0]
        torque = u - self.m * self.g * self.l * np.sin(theta) - self.b * omega
        derivatives.SetFromVector([omega, torque / (self.m * self.l**2)])

    def _calc_tip(self, context: Any, output: Any) -> None:
        theta = context.get_continuous_state_vector()[0]
        output.SetFromVector([self.l * np.sin(theta), -self.l * np.cos(theta)])


class Scalar(LeafSystem):
    """dx/dt = f(t, x, u), y = h(x, u)."""

    def __init__(self, f: Callable[..., Any], h: Callable[..., Any] = lambda x, u: x) -> None:
        super().__init__()
        self._f, self._h = f, h
        self.DeclareVectorInputPort("u", 1)
        self.DeclareContinuousState(1)
        self.DeclareVectorOutputPort("y", 1, self._calc)

    def DoCalcTimeDerivatives(self, context: Any, derivatives: Any) -> None:
        x = context.get_continuous_state_vector()[0]
        derivatives.SetFromVector([self._f(context.get_time(), x, self.get_input_port().Eval(context)[0])])

    def _calc(self, context: Any, output: Any) -> None:
        x = context.get_continuous_state_vector()[0]
        output.SetFromVector([self._h(x, self.get_input_port().Eval(context)[0])])


def operating_point(system: Any, x: Any, u: Any, time: float = 0.0) -> Any:
    context = system.CreateDefaultContext()
    context.SetTime(time)
    context.SetContinuousState(x)
    system.get_input_port().FixValue(context, u)
    return context


# ---------------------------------------------------------------------- closed forms


@pytest.mark.parametrize("theta", [0.0, 0.8, np.pi])
def test_a_pendulum_at_its_equilibria(theta: float) -> None:
    plant = Pendulum()
    m, l, b, g = plant.m, plant.l, plant.b, plant.g
    linear = Linearize(plant, operating_point(plant, [theta, 0.0], m * g * l * np.sin(theta)))
    assert type(linear) is LinearSystem and linear.time_period() == 0.0
    expected = [[0.0, 1.0], [-g / l * np.cos(theta), -b / (m * l * l)]]
    np.testing.assert_allclose(linear.A(), expected, rtol=EXACT, atol=1e-15)
    np.testing.assert_allclose(linear.B(), [[0.0], [1.0 / (m * l * l)]], rtol=EXACT)
    np.testing.assert_allclose(linear.C(), [[l * np.cos(theta), 0.0], [l * np.sin(theta), 0.0]], rtol=EXACT)
    np.testing.assert_allclose(linear.D(), np.zeros((2, 1)))


def test_an_affine_approximation_matches_value_and_slope_anywhere() -> None:
    """x' = x^3 u + sin(t) at t = 2, x = 1.5, u = -0.5; y = x u^2."""
    system = Scalar(lambda t, x, u: x**3 * u + np.sin(t), lambda x, u: x * u * u)
    affine = FirstOrderTaylorApproximation(system, operating_point(system, [1.5], -0.5, time=2.0))
    A, B = 3 * 1.5**2 * -0.5, 1.5**3
    f = 1.5**3 * -0.5 + np.sin(2.0)
    np.testing.assert_allclose([affine.A()[0, 0], affine.B()[0, 0]], [A, B], rtol=EXACT)
    np.testing.assert_allclose(affine.f0(), [f - A * 1.5 - B * -0.5], rtol=1e-14)
    np.testing.assert_allclose([affine.C()[0, 0], affine.D()[0, 0]], [0.25, -1.5], rtol=EXACT)
    np.testing.assert_allclose(affine.y0(), [1.5 * 0.25 - 0.25 * 1.5 - -1.5 * -0.5], atol=1e-14)


class Logistic(LeafSystem):
    """x[n+1] = r x (1 - x) + u in two groups, the second of which copies the first; y = x^2."""

    def __init__(self, status: EventStatus | None = None) -> None:
        super().__init__()
        self._status = status
        self.DeclareVectorInputPort("u", 1)
        self.DeclareDiscreteState(1)
        self.DeclareDiscreteState(1)
        self.DeclareVectorOutputPort("y", 1, self._calc)
        self.DeclarePeriodicDiscreteUpdateEvent(0.25, 0.0, self._update)

    def _update(self, context: Any, discrete_state: Any) -> EventStatus | None:
        x = context.get_discrete_state(0)[0]
        discrete_state.set_value(0, [2.5 * x * (1.0 - x) + self.get_input_port().Eval(context)[0]])
        discrete_state.set_value(1, [x])
        return self._status

    def _calc(self, context: Any, output: Any) -> None:
        output.SetFromVector([context.get_discrete_state(0)[0] ** 2])


def test_a_discrete_system_gets_its_period() -> None:
    system = Logistic()
    context = system.CreateDefaultContext()
    context.SetDiscreteState(0, [0.6])
    context.SetDiscreteState(1, [0.6])
    system.get_input_port().FixValue(context, 0.0)
    linear = Linearize(system, context)  # 0.6 is the fixed point of 2.5 x (1 - x)
    np.testing.assert_allclose(linear.A(), [[2.5 * (1 - 1.2), 0.0], [1.0, 0.0]], rtol=EXACT)
    np.testing.assert_allclose(linear.B(), [[1.0], [0.0]])
    np.testing.assert_allclose(linear.C(), [[1.2, 0.0]])
    assert linear.time_period() == 0.25
    assert context.get_discrete_state(0)[0] == 0.6
    context.SetDiscreteState(0, [0.5])
    with pytest.raises(RuntimeError, match=r"changes by up to 0\.125"):
        Linearize(system, context)
    affine = FirstOrderTaylorApproximation(system, context)
    np.testing.assert_allclose(affine.f0(), [0.625, 0.0], atol=1e-15)
    np.testing.assert_allclose([affine.y0()[0], affine.C()[0, 0]], [0.25 - 0.5, 1.0])


def test_a_failing_update_is_reported() -> None:
    system = Logistic(EventStatus.Failed(None, "no power"))
    context = system.CreateDefaultContext()
    system.get_input_port().FixValue(context, 0.0)
    with pytest.raises(RuntimeError, match="no power"):
        Linearize(system, context)


@pytest.mark.parametrize("period", [0.0, 0.5])
def test_a_linear_system_is_its_own_linearization(period: float) -> None:
    rng = np.random.default_rng(3)
    matrices = [rng.standard_normal(shape) for shape in ((3, 3), (3, 2), (2, 3), (2, 2))]
    system = LinearSystem(*matrices, period)
    context = system.CreateDefaultContext()
    system.get_input_port().FixValue(context, [0.0, 0.0])
    linear = Linearize(system, context)
    for found, given in zip((linear.A(), linear.B(), linear.C(), linear.D()), matrices, strict=True):
        np.testing.assert_allclose(found, given, rtol=1e-14)


def test_a_system_without_state_has_only_feedthrough() -> None:
    gain = Gain(3.0, 2)
    context = gain.CreateDefaultContext()
    gain.get_input_port().FixValue(context, [1.0, 2.0])
    linear = Linearize(gain, context)
    assert linear.num_states() == 0
    np.testing.assert_allclose(linear.D(), 3.0 * np.eye(2))


# ---------------------------------------------------------------------- callbacks that are not complex-safe

UNSAFE = {
    "abs": (lambda x: abs(x) * x, lambda x: 2.0 * abs(x)),
    "np.abs": (lambda x: np.abs(x) ** 3, lambda x: 3.0 * x * abs(x)),
    "float": (lambda x: float(x) ** 2, lambda x: 2.0 * x),
    "real": (lambda x: x.real**2, lambda x: 2.0 * x),
    "np.sign": (lambda x: np.sign(x) * x * x, lambda x: 2.0 * abs(x)),
    "conjugate": (lambda x: x * np.conj(x), lambda x: 2.0 * x),
    "math.sin": (lambda x: __import__("math").sin(x), np.cos),
    "comparison": (lambda x: x**3 if x.item() > 0 else x, lambda x: 3.0 * x * x if x > 0 else 1.0),
    "np.maximum": (lambda x: np.maximum(x, 0.0) ** 2, lambda x: 2.0 * max(x, 0.0)),
    "safe": (lambda x: np.exp(x) * np.sqrt(2.0 + x), lambda x: np.exp(x) * (np.sqrt(2 + x) + 0.5 / np.sqrt(2 + x))),
}


@pytest.mark.parametrize("x0", [-0.7, 1.3])
@pytest.mark.parametrize("name", UNSAFE)
def test_callbacks_that_are_not_complex_safe_give_right_slopes(name: str, x0: float) -> None:
    function, slope = UNSAFE[name]
    system = Scalar(lambda t, x, u: function(x) + u)
    affine = FirstOrderTaylorApproximation(system, operating_point(system, [x0], 0.0))
    np.testing.assert_allclose(affine.A(), [[slope(x0)]], rtol=DIFFERENCED, atol=1e-10)
    np.testing.assert_allclose(affine.B(), [[1.0]], rtol=DIFFERENCED)
    if name == "safe":
        np.testing.assert_allclose(affine.A(), [[slope(x0)]], rtol=EXACT)


def test_a_small_wrong_slope_beside_large_ones_is_noticed() -> None:
    """The complex step of |x| x misses half of a slope that is 1e-6 of the largest in another row."""

    class Mixed(LeafSystem):
        def __init__(self) -> None:
            super().__init__()
            self.DeclareContinuousState(2)

        def DoCalcTimeDerivatives(self, context: Any, derivatives: Any) -> None:
            x, y = context.get_continuous_state_vector().CopyToVector()
            derivatives.SetFromVector([1e6 * y, abs(x) * x])

    system = Mixed()
    context = system.CreateDefaultContext()
    context.SetContinuousState([0.5, 0.0])
    A = FirstOrderTaylorApproximation(system, context).A()
    np.testing.assert_allclose(A, [[0.0, 1e6], [1.0, 0.0]], rtol=1e-8)


def test_rounding_noise_does_not_spoil_exact_derivatives() -> None:
    """f = (1e9 + x) - 1e9 has differences good to three digits only; the complex step is exact."""
    system = Scalar(lambda t, x, u: ((1e9 + x) - 1e9) + u)
    affine = FirstOrderTaylorApproximation(system, operating_point(system, [0.3], 0.0))
    assert affine.A()[0, 0] == pytest.approx(1.0, abs=1e-12)


def test_a_diagram_with_an_unsafe_block_inside() -> None:
    """x' = -x + 2 |u - x| at x = 0.5, u = 2, the nonlinear block in a diagram within the diagram."""

    class Magnitude(LeafSystem):
        def __init__(self) -> None:
            super().__init__()
            self.DeclareVectorInputPort("u", 1)
            self.DeclareVectorOutputPort("y", 1, self._calc)

        def _calc(self, context: Any, output: Any) -> None:
            output.SetFromVector([abs(float(self.get_input_port().Eval(context)[0]))])

    inner = DiagramBuilder()
    magnitude, gain = inner.AddSystem(Magnitude()), inner.AddSystem(Gain(2.0, 1))
    inner.Connect(magnitude.get_output_port(), gain.get_input_port())
    inner.ExportInput(magnitude.get_input_port(), "u")
    inner.ExportOutput(gain.get_output_port(), "y")
    builder = DiagramBuilder()
    block, state = builder.AddSystem(inner.Build()), builder.AddSystem(Integrator(1))
    error, rate, back = builder.AddSystem(Adder(2, 1)), builder.AddSystem(Adder(2, 1)), builder.AddSystem(Gain(-1.0, 1))
    builder.Connect(state.get_output_port(), back.get_input_port())
    builder.Connect(back.get_output_port(), error.get_input_port(1))
    builder.Connect(error.get_output_port(), block.get_input_port())
    builder.Connect(block.get_output_port(), rate.get_input_port(0))
    builder.Connect(back.get_output_port(), rate.get_input_port(1))
    builder.Connect(rate.get_output_port(), state.get_input_port())
    builder.ExportInput(error.get_input_port(0), "u")
    builder.ExportOutput(block.get_output_port(), "y")
    diagram = builder.Build()
    affine = FirstOrderTaylorApproximation(diagram, operating_point(diagram, [0.5], 2.0))
    assert type(affine) is AffineSystem
    slopes = [affine.A()[0, 0], affine.B()[0, 0], affine.C()[0, 0], affine.D()[0, 0]]
    np.testing.assert_allclose(slopes, [-3.0, 2.0, -2.0, 2.0], rtol=1e-8)


# ---------------------------------------------------------------------- inputs and outputs


class TwoInTwoOut(LeafSystem):
    """x' = u0 u1, y0 = x + u0, y1 = x u1, with an abstract input and output beside."""

    def __init__(self) -> None:
        super().__init__()
        self.DeclareVectorInputPort("u0", 1)
        self.DeclareVectorInputPort("u1", 1)
        self.DeclareAbstractInputPort("label", Value("none"))
        self.DeclareContinuousState(1)
        self.DeclareVectorOutputPort("y0", 1, lambda c, y: y.SetFromVector(self._x(c) + self._u(c, 0)))
        self.DeclareVectorOutputPort("y1", 1, lambda c, y: y.SetFromVector(self._x(c) * self._u(c, 1)))
        self.DeclareAbstractOutputPort("name", lambda: Value("x"), lambda c, y: None)

    def _x(self, context: Any) -> Any:
        return context.get_continuous_state_vector().CopyToVector()

    def _u(self, context: Any, index: int) -> Any:
        return self.get_input_port(index).Eval(context)

    def DoCalcTimeDerivatives(self, context: Any, derivatives: Any) -> None:
        factor = 2.0 if self.GetInputPort("label").HasValue(context) else 1.0
        derivatives.SetFromVector(factor * self._u(context, 0) * self._u(context, 1))


def two_in_two_out() -> tuple[TwoInTwoOut, Any]:
    system = TwoInTwoOut()
    context = system.CreateDefaultContext()
    context.SetContinuousState([5.0])
    system.get_input_port(0).FixValue(context, 3.0)
    system.get_input_port(1).FixValue(context, 7.0)
    return system, context


def test_inputs_and_outputs_are_chosen_by_index() -> None:
    system, context = two_in_two_out()
    for u, y, B, C, D in ((0, 0, 7.0, 1.0, 1.0), (0, 1, 7.0, 7.0, 0.0), (1, 0, 3.0, 1.0, 0.0), (1, 1, 3.0, 7.0, 5.0)):
        ports = system.get_input_port(u).get_index(), system.get_output_port(y).get_index()
        affine = FirstOrderTaylorApproximation(system, context, *ports)
        assert [affine.B()[0, 0], affine.C()[0, 0], affine.D()[0, 0]] == [B, C, D]


def test_inputs_and_outputs_can_be_left_out() -> None:
    system, context = two_in_two_out()
    affine = FirstOrderTaylorApproximation(system, context, InputPortSelection.kNoInput, OutputPortSelection.kNoOutput)
    assert affine.num_inputs() == affine.num_outputs() == 0 and affine.f0() == [21.0]
    first = FirstOrderTaylorApproximation(
        system,
        context,
        input_port_index=InputPortSelection.kUseFirstInputIfItExists,
        output_port_index=OutputPortSelection.kUseFirstOutputIfItExists,
    )
    assert first.B() == [[7.0]] and first.D() == [[1.0]]


def test_an_abstract_input_keeps_its_value() -> None:
    system, context = two_in_two_out()
    system.GetInputPort("label").FixValue(context, Value("twice"))
    assert FirstOrderTaylorApproximation(system, context).B() == [[14.0]]


def test_abstract_ports_cannot_be_linearized() -> None:
    system, context = two_in_two_out()
    with pytest.raises(ValueError, match=r"Input port 'label' \(index 2\).* is abstract"):
        FirstOrderTaylorApproximation(system, context, 2)
    with pytest.raises(ValueError, match=r"Output port 'name' \(index 2\).* is abstract"):
        FirstOrderTaylorApproximation(system, context, 0, 2)


# ---------------------------------------------------------------------- operating points


def test_the_operating_point_must_be_an_equilibrium_to_linearize() -> None:
    plant = Pendulum()
    context = operating_point(plant, [1e-3, 0.0], 0.0)
    with pytest.raises(RuntimeError, match=r"'::Pendulum' is not an equilibrium: .* up to 0\.01401.* FirstOrderTaylor"):
        Linearize(plant, context)
    Linearize(plant, context, equilibrium_check_tolerance=0.1)


def test_a_subsystem_is_linearized_in_the_context_of_its_diagram() -> None:
    """Time, the value of a connected input and that of a fixed one come from the diagram's context."""
    builder = DiagramBuilder()
    source = builder.AddSystem(Gain(2.0, 1))
    inner = builder.AddSystem(Scalar(lambda t, x, u: -np.sin(x) * u * (1.0 + t)))
    builder.Connect(source.get_output_port(), inner.get_input_port())
    builder.ExportInput(source.get_input_port(), "u")
    diagram = builder.Build()
    context = operating_point(diagram, [0.4], 3.0, time=4.0)
    part = diagram.GetSubsystemContext(inner, context)
    affine = FirstOrderTaylorApproximation(inner, part)
    np.testing.assert_allclose(affine.A(), [[-np.cos(0.4) * 6.0 * 5.0]], rtol=EXACT)
    np.testing.assert_allclose(affine.B(), [[-np.sin(0.4) * 5.0]], rtol=EXACT)


def test_inputs_fixed_inside_a_diagram_stay_fixed() -> None:
    builder = DiagramBuilder()
    inner = builder.AddSystem(Scalar(lambda t, x, u: x * u))
    diagram: Diagram = builder.Build()
    context = diagram.CreateDefaultContext()
    port: InputPort = inner.get_input_port()
    port.FixValue(diagram.GetSubsystemContext(inner, context), 5.0)
    np.testing.assert_allclose(FirstOrderTaylorApproximation(diagram, context).A(), [[5.0]])


def test_parameters_are_those_of_the_context() -> None:
    class Decay(LeafSystem):
        def __init__(self) -> None:
            super().__init__()
            self.DeclareNumericParameter(BasicVector([1.0]))
            self.DeclareContinuousState(1)

        def DoCalcTimeDerivatives(self, context: Any, derivatives: Any) -> None:
            rate = context.get_numeric_parameter(0)[0]
            derivatives.SetFromVector([-rate * context.get_continuous_state_vector()[0]])

    system = Decay()
    context = system.CreateDefaultContext()
    context.get_mutable_numeric_parameter(0).SetAtIndex(0, 4.0)
    np.testing.assert_allclose(Linearize(system, context).A(), [[-4.0]])


def test_the_context_given_is_not_changed() -> None:
    plant = Pendulum()
    context = operating_point(plant, [0.3, 0.1], 0.2, time=1.5)
    before = context.store.flat.copy()
    plant.EvalTimeDerivatives(context)
    evaluated = context.store.flat.copy(), context.store.invalid
    FirstOrderTaylorApproximation(plant, context)
    np.testing.assert_array_equal(context.store.flat, evaluated[0])
    assert context.store.invalid == evaluated[1] and before[0] == 1.5


def test_what_cannot_be_linearized_is_refused_with_its_reason() -> None:
    class Mixture(LeafSystem):
        def __init__(self, *declarations: str) -> None:
            super().__init__()
            if "continuous" in declarations:
                self.DeclareContinuousState(1)
            if "discrete" in declarations:
                self.DeclareDiscreteState(1)
            if "abstract" in declarations:
                self.DeclareAbstractState(Value(1))
            for period in (0.1, 0.2) if "periods" in declarations else ():
                self.DeclarePeriodicDiscreteUpdateEvent(period, 0.0, lambda context, xd: None)
            if "unrestricted" in declarations:
                self.DeclarePeriodicUnrestrictedUpdateEvent(0.1, 0.0, lambda context, x: None)

    for declarations, message in (
        (("continuous", "discrete"), "continuous and discrete state"),
        (("abstract",), "abstract state"),
        (("discrete",), "updates with 0 different periods"),
        (("discrete", "periods"), "updates with 2 different periods"),
        (("discrete", "periods", "unrestricted"), "unrestricted updates"),
    ):
        system = Mixture(*declarations)
        with pytest.raises(RuntimeError, match=message):
            Linearize(system, system.CreateDefaultContext())


def test_an_unconnected_input_is_named() -> None:
    plant = Pendulum()
    with pytest.raises(RuntimeError, match=r"Input port 'u'.*is not connected"):
        Linearize(plant, plant.CreateDefaultContext())


def test_slopes_that_are_not_finite_are_refused() -> None:
    system = Scalar(lambda t, x, u: np.sqrt(x) + u)
    with np.errstate(all="ignore"), pytest.raises(RuntimeError, match=r"derivatives .* are not finite"):
        FirstOrderTaylorApproximation(system, operating_point(system, [0.0], 0.0))


def test_the_context_of_another_system_is_refused() -> None:
    with pytest.raises(ValueError, match="was given the context of system"):
        Linearize(Pendulum(), Pendulum().CreateDefaultContext())
