"""Systems converted to AutoDiffXd: the same structure, values with derivatives, and refusals that name the culprit."""

import copy
import pickle
import threading

import numpy as np
import pytest
from framework_blocks import Accumulator, EachSource, Scaled

from merganser.framework import (
    BasicVector,
    Context_,
    Diagram,
    Diagram_,
    DiagramBuilder,
    DiagramBuilder_,
    DiscreteUpdateEvent,
    InputPort_,
    LeafSystem,
    LeafSystem_,
    SystemScalarConverter,
    Value,
    ValueProducer,
    WitnessFunctionDirection,
)
from merganser.framework.autodiff import AutoDiffXd, ExtractGradient, ExtractValue, InitializeAutoDiff
from merganser.framework.primitives import (
    FirstOrderTaylorApproximation,
    Gain,
    Gain_,
    Integrator,
    Linearize,
    LinearSystem,
    LogVectorOutput,
    SharedPointerSystem,
)

TOLERANCE = 1e-13  # derivatives are exact but for rounding
HELD = threading.Lock()  # nothing can copy it


class Pendulum(LeafSystem):
    """A user's system, without a word about scalars: a damped pendulum with a torque, gravity being a parameter."""

    def __init__(self, length=2.0):
        super().__init__()
        self.length = length
        self.inertia = np.array([[length**2]])
        u = self.DeclareVectorInputPort("torque", 1)
        self.gravity = self.DeclareNumericParameter(BasicVector([9.81]))
        self.DeclareContinuousState(BasicVector([0.3, -0.2]), 1, 1, 0)
        self.DeclareDiscreteState([1.0])
        self.count = self.DeclareAbstractState(Value(0))
        self.energy = self.DeclareCacheEntry("energy", ValueProducer(lambda: Value(0.0), self._energy))
        self.DeclareVectorOutputPort("tip", 2, self._tip)
        self.DeclareVectorOutputPort("work", 1, lambda context, y: y.SetFromVector([self.energy.Eval(context)]))
        self.DeclareVectorOutputPort("constant", 1, lambda context, y: y.SetFromVector([self.length]))
        self.DeclareVectorOutputPort("power", 1, lambda c, y: y.SetAtIndex(0, u.Eval(c)[0] * self._state(c)[1]))
        self.DeclarePeriodicDiscreteUpdateEvent(0.1, 0.0, self._update)
        self.DeclareForcedUnrestrictedUpdateEvent(self._count)
        event = DiscreteUpdateEvent(system_callback=Pendulum._reset)
        self.lowest = self.MakeWitnessFunction(
            "lowest", WitnessFunctionDirection.kCrossesZero, lambda context: self._state(context)[0], event
        )

    def _state(self, context):
        return context.get_continuous_state_vector().value()

    def _energy(self, context, value):
        angle, speed = self._state(context)
        g = context.get_numeric_parameter(self.gravity)[0]
        value.set_value(0.5 * (self.inertia @ [speed])[0] * speed - g * self.length * np.cos(angle))

    def _tip(self, context, output):
        angle = self._state(context)[0]
        output.get_mutable_value()[:] = [self.length * np.sin(angle), -self.length * np.cos(angle)]

    def _update(self, context, discrete):
        discrete.set_value(0, context.get_discrete_state(0).value() * self._state(context)[0] + context.get_time())

    def _count(self, context, state):
        state.get_mutable_abstract_state(0).set_value(context.get_abstract_state(self.count).get_value() + 1)

    def _reset(self, context, event, discrete):
        discrete.set_value(0, [0.0])

    def DoGetWitnessFunctions(self, context):
        return [self.lowest]

    def DoCalcTimeDerivatives(self, context, derivatives):
        angle, speed = self._state(context)
        torque = self.get_input_port().Eval(context)[0]
        g = context.get_numeric_parameter(self.gravity)[0]
        acceleration = (torque - 0.1 * speed) / self.length**2 - g / self.length * np.sin(angle)
        derivatives.get_mutable_vector().SetFromVector([speed, acceleration])


class PendulumWithFeedback(Diagram):
    """A user's Diagram that keeps references to what is inside."""

    def __init__(self):
        super().__init__()
        inner = DiagramBuilder()
        self.pendulum = inner.AddNamedSystem("pendulum", Pendulum())
        for i in range(self.pendulum.num_output_ports()):
            inner.ExportOutput(self.pendulum.get_output_port(i))
        inner.ExportInput(self.pendulum.get_input_port(), "torque")
        builder = DiagramBuilder()
        nested = builder.AddNamedSystem("nested", inner.Build())
        self.gain = builder.AddNamedSystem("gain", Gain([-3.0]))
        SharedPointerSystem.AddToBuilder(builder, HELD)
        self.drive = builder.AddNamedSystem("drive", LinearSystem(D=[[2.0, 0.5]]))
        builder.Connect(nested.get_output_port(0), self.drive.get_input_port())
        builder.Connect(self.drive.get_output_port(), self.gain.get_input_port())
        builder.Connect(self.gain.get_output_port(), nested.get_input_port())
        self.log = LogVectorOutput(nested.get_output_port(1), builder, 0.1)
        builder.ExportOutput(nested.get_output_port(0), "tip")
        builder.BuildInto(self)


def variables(values):
    return InitializeAutoDiff(values).ravel()


def converted(system):
    """The system in AutoDiffXd, and its default context."""
    result = system.ToAutoDiffXd()
    return result, result.CreateDefaultContext()


def all_autodiff(values):
    return all(type(x) is AutoDiffXd for x in np.ravel(np.asarray(values, dtype=object)))


# ---------------------------------------------------------------------- what comes out


def test_plain_user_system_is_converted_with_all_its_callbacks():
    pendulum = Pendulum()
    system, context = converted(pendulum)
    system.get_input_port().FixValue(context, 0.7)
    context.SetContinuousState(variables([0.3, -0.2]))
    xdot = system.EvalTimeDerivatives(context).CopyToVector()
    g, length, angle = 9.81, 2.0, 0.3
    expected = [[0.0, 1.0], [-g / length * np.cos(angle), -0.1 / length**2]]
    np.testing.assert_allclose(ExtractGradient(xdot), expected, rtol=TOLERANCE)
    tip = system.GetOutputPort("tip").Eval(context)
    np.testing.assert_allclose(ExtractGradient(tip)[:, 0], [length * np.cos(angle), length * np.sin(angle)])
    work = system.GetOutputPort("work").Eval(context)
    np.testing.assert_allclose(ExtractGradient(work), [[g * length * np.sin(angle), -0.2 * length**2]])


def test_converted_system_computes_the_same_values():
    pendulum = Pendulum()
    context = pendulum.CreateDefaultContext()
    pendulum.get_input_port().FixValue(context, 0.7)
    system, autodiff = converted(pendulum)
    system.FixInputPortsFrom(pendulum, context, autodiff)
    for i in range(pendulum.num_output_ports()):
        ours = system.get_output_port(i).Eval(autodiff)
        assert all_autodiff(ours)
        np.testing.assert_array_equal(ExtractValue(ours).ravel(), pendulum.get_output_port(i).Eval(context))


def test_everything_in_the_context_has_the_scalar_type_whatever_was_put_in():
    system, context = converted(EachSource(declared=False))
    context.SetTime(2)
    context.SetContinuousState([1.0, 2.0, 3.0, 4.0])
    context.get_mutable_continuous_state_vector().get_mutable_value()[:2] = 5
    context.get_mutable_continuous_state_vector()[3] = np.float64(6.0)
    context.SetDiscreteState(1, [7.0, 8.0])
    context.get_mutable_discrete_state(0).SetZero()
    context.get_mutable_numeric_parameter(0).SetFromVector([9.0])
    system.get_input_port(0).FixValue(context, 1.5)
    numbers = [context.get_time(), *context.get_continuous_state_vector(), *system.get_input_port(0).Eval(context)]
    numbers += [*context.get_discrete_state(0), *context.get_discrete_state(1), *context.get_numeric_parameter(0)]
    assert all_autodiff(numbers)
    assert [x.value() for x in numbers] == [2.0, 5.0, 5.0, 3.0, 6.0, 1.5, 0.0, 7.0, 8.0, 9.0]


def test_in_place_arithmetic_on_context_arrays_keeps_memory_and_type():
    _, context = converted(Accumulator(2))
    values = context.get_mutable_continuous_state_vector().get_mutable_value()
    values += np.ones(2)
    values *= 2
    values.fill(context.get_continuous_state_vector()[0] + 1)
    assert all_autodiff(context.get_continuous_state_vector())
    assert context.get_continuous_state_vector()[1].value() == 3.0


def test_scalars_of_another_type_are_refused_where_they_are_put_in():
    _, context = converted(Accumulator(1))
    with pytest.raises(TypeError, match="AutoDiffXd: value must be a number, got str"):
        context.get_mutable_continuous_state_vector()[0] = "one"
    floats = Accumulator(1)
    with pytest.raises(TypeError, match=r"Input port 'u' .*'::Accumulator' cannot be fixed to AutoDiffXd in a context"):
        floats.get_input_port().FixValue(floats.CreateDefaultContext(), AutoDiffXd(1.0))


def test_diagram_keeps_names_wires_exports_and_its_own_references():
    original = PendulumWithFeedback()
    original.set_name("station")
    diagram = original.ToAutoDiffXd()
    assert diagram.GetSystemPathname() == "::station"
    assert diagram.pendulum.GetSystemPathname() == "::station::nested::pendulum"
    assert diagram.gain is diagram.GetSubsystemByName("gain")
    assert diagram.AreConnected(diagram.drive.get_output_port(), diagram.gain.get_input_port())
    assert diagram.GetOutputPort("tip").get_system() is diagram
    assert diagram.num_input_ports() == original.num_input_ports()
    assert diagram.GetSubsystemByName("SharedPointerSystem").get() is HELD
    everything = [diagram, *diagram.GetSystems(), *diagram.GetSubsystemByName("nested").GetSystems()]
    assert all(system._scalar is AutoDiffXd for system in everything)
    originals = [original, *original.GetSystems(), *original.GetSubsystemByName("nested").GetSystems()]
    assert all(system._scalar is float for system in originals) and not set(map(id, everything)) & set(
        map(id, originals)
    )


def test_a_converted_subsystem_is_independent():
    diagram = PendulumWithFeedback()
    pendulum = diagram.pendulum.ToAutoDiffXd()
    assert pendulum.GetSystemPathname() == "::pendulum"
    assert diagram.pendulum.GetSystemPathname() == "::PendulumWithFeedback::nested::pendulum"


def test_derivatives_of_a_diagram_are_limits_of_difference_quotients():
    original = PendulumWithFeedback()
    source = original.CreateDefaultContext()
    system, context = converted(original)
    context.SetTimeStateAndParametersFrom(source)
    x = source.get_continuous_state_vector().CopyToVector()
    context.SetContinuousState(variables(x))
    A = ExtractGradient(system.EvalTimeDerivatives(context).CopyToVector())
    step = 1e-6
    for j in range(2):
        columns = []
        for sign in (1.0, -1.0):
            source.SetContinuousState(x + sign * step * np.eye(2)[j])
            columns.append(original.EvalTimeDerivatives(source).CopyToVector())
        np.testing.assert_allclose(A[:, j], (columns[0] - columns[1]) / (2 * step), atol=1e-8)


@pytest.mark.parametrize("seed", range(3))
def test_jacobians_are_the_matrices_of_a_linear_approximation(seed):
    rng = np.random.default_rng(seed)
    builder = DiagramBuilder()
    a = builder.AddSystem(LinearSystem(*(rng.normal(size=shape) for shape in [(3, 3), (3, 2), (2, 3), (2, 2)])))
    b = builder.AddSystem(LinearSystem(*(rng.normal(size=shape) for shape in [(2, 2), (2, 2), (1, 2), (1, 2)])))
    builder.Connect(a.get_output_port(), b.get_input_port())
    builder.ExportInput(a.get_input_port())
    builder.ExportOutput(b.get_output_port())
    diagram = builder.Build()
    point = diagram.CreateDefaultContext()
    diagram.get_input_port().FixValue(point, np.zeros(2))
    expected = Linearize(diagram, point)
    system, context = converted(diagram)
    xu = variables(np.zeros(7))
    context.SetContinuousState(xu[:5])
    system.get_input_port().FixValue(context, xu[5:])
    AB = ExtractGradient(system.EvalTimeDerivatives(context).CopyToVector())
    CD = ExtractGradient(system.get_output_port().Eval(context))
    np.testing.assert_allclose(AB, np.hstack([expected.A(), expected.B()]), atol=1e-12)
    np.testing.assert_allclose(CD, np.hstack([expected.C(), expected.D()]), atol=1e-12)


def test_discrete_update_has_derivatives():
    system, context = converted(Pendulum())
    context.SetContinuousState(variables([0.3, -0.2]))
    context.SetDiscreteState([4.0])
    context.SetTime(AutoDiffXd(1.0, [10.0, 20.0]))
    updated = system.EvalUniquePeriodicDiscreteUpdate(context).value()
    assert updated[0].value() == pytest.approx(4.0 * 0.3 + 1.0)
    np.testing.assert_allclose(updated[0].derivatives(), [14.0, 20.0])


def test_forced_events_and_witness_functions_are_those_of_the_copy():
    original = Pendulum()
    system, context = converted(original)
    system.ExecuteForcedEvents(context)
    assert context.get_abstract_state(0).get_value() == 1
    (witness,) = system.GetWitnessFunctions(context)
    assert witness.get_system() is system
    assert witness.CalcWitnessValue(context) == 0.3


def test_values_are_kept_while_nothing_changes():
    system, context = converted(Scaled(declared=True))
    system.get_input_port().FixValue(context, 1.0)
    for _ in range(3):
        system.get_output_port().Eval(context)
    assert system.count == 1


def test_back_to_float_gives_the_same_system():
    original = PendulumWithFeedback()
    back = original.ToAutoDiffXd().ToScalarType[float]()
    assert type(back) is PendulumWithFeedback
    contexts = original.CreateDefaultContext(), back.CreateDefaultContext()
    xdots = [s.EvalTimeDerivatives(c).CopyToVector() for s, c in zip((original, back), contexts)]
    np.testing.assert_array_equal(*xdots)
    assert contexts[1].get_continuous_state_vector().CopyToVector().dtype == np.float64


def test_coefficients_with_derivatives_become_numbers_on_the_way_to_float():
    gain = Gain_[AutoDiffXd](np.array([AutoDiffXd(2.0, [1.0])]))
    context = gain.CreateDefaultContext()
    gain.get_input_port().FixValue(context, 3.0)
    assert gain.get_output_port().Eval(context)[0].derivatives().tolist() == [3.0]
    plain = gain.ToScalarType[float]()
    context = plain.CreateDefaultContext()
    plain.get_input_port().FixValue(context, 3.0)
    assert plain.get_output_port().Eval(context).tolist() == [6.0]


def test_taylor_approximation_of_what_was_converted_back():
    pendulum = Pendulum().ToAutoDiffXd().ToScalarType[float]()
    subsystem = Integrator(1).ToAutoDiffXd().ToScalarType[float]()
    context = subsystem.CreateDefaultContext()
    subsystem.get_input_port().FixValue(context, 0.0)
    assert FirstOrderTaylorApproximation(subsystem, context).B().tolist() == [[1.0]]
    assert pendulum.CreateDefaultContext().get_numeric_parameter(0)[0] == 9.81


# ---------------------------------------------------------------------- contexts


def test_contexts_of_objects_can_be_cloned_copied_and_pickled():
    diagram, context = converted(PendulumWithFeedback())
    context.SetContinuousState(variables([0.5, 0.1]))
    copied, copied_context = copy.deepcopy((diagram, context))
    loaded, loaded_context = pickle.loads(pickle.dumps((Gain_[AutoDiffXd](1.0, 1), 3)))
    assert isinstance(loaded, Gain_[AutoDiffXd]) and loaded_context == 3
    expected = ExtractGradient(diagram.EvalTimeDerivatives(context).CopyToVector())
    for system, other in ((diagram, context.Clone()), (copied, copied_context)):
        xdot = system.EvalTimeDerivatives(other).CopyToVector()
        assert all_autodiff(xdot)
        np.testing.assert_array_equal(ExtractGradient(xdot), expected)


def test_context_values_go_over_in_both_directions():
    pendulum = Pendulum()
    source = pendulum.CreateDefaultContext()
    source.SetTime(3.0)
    source.SetAccuracy(1e-3)
    source.SetContinuousState([1.0, 2.0])
    source.get_mutable_numeric_parameter(0)[0] = 1.62
    source.SetAbstractState(0, 7)
    _, context = converted(pendulum)
    context.SetTimeStateAndParametersFrom(source)
    assert context.get_time().value() == 3.0 and context.get_accuracy() == 1e-3
    assert context.get_abstract_state(0).get_value() == 7
    assert all_autodiff(context.get_continuous_state_vector())
    context.SetContinuousState(variables([4.0, 5.0]))
    source.SetTimeStateAndParametersFrom(context)
    assert source.get_continuous_state_vector().CopyToVector().tolist() == [4.0, 5.0]
    assert source.get_numeric_parameter(0)[0] == 1.62 and type(source.get_time()) is float


def test_room_for_results_has_the_scalar_type():
    system, context = converted(Pendulum())
    system.get_input_port().FixValue(context, 0.0)
    outputs = system.AllocateOutput()
    system.CalcOutput(context, outputs)
    derivatives = system.AllocateTimeDerivatives()
    system.CalcTimeDerivatives(context, derivatives)
    discrete = system.AllocateDiscreteVariables()
    for vector in (outputs.get_vector_data(0), derivatives.get_vector(), discrete.get_vector(0)):
        assert all_autodiff(vector)
    assert all_autodiff(system.AllocateInputVector(system.get_input_port()))


# ---------------------------------------------------------------------- refusals


class NotConvertible(LeafSystem):
    def __init__(self):
        super().__init__(converter=SystemScalarConverter())


class Locked(LeafSystem):
    def __init__(self):
        super().__init__()
        self.lock = threading.Lock()


class Referring(LeafSystem):
    def __init__(self, model):
        super().__init__()
        self.model = model


def station(leaf):
    inner, outer = DiagramBuilder(), DiagramBuilder()
    inner.AddNamedSystem("arm", leaf)
    outer.AddNamedSystem("cell", inner.Build())
    diagram = outer.Build()
    diagram.set_name("station")
    return diagram


@pytest.mark.parametrize(
    ("leaf", "reason"),
    [
        (
            NotConvertible,
            "system '::station::cell::arm' of type NotConvertible does not: its SystemScalarConverter has",
        ),
        (Locked, "system '::station::cell::arm' of type Locked does not: its attribute 'lock' .* cannot be copied"),
        (
            lambda: Referring(NotConvertible()),
            "the attribute 'model' of system '::station::cell::arm' refers to system '::NotConvertible'",
        ),
    ],
)
def test_what_cannot_be_converted_is_named_with_its_path(leaf, reason):
    diagram = station(leaf())
    with pytest.raises(RuntimeError, match=reason) as caught:
        diagram.ToAutoDiffXd()
    assert str(caught.value).startswith("System '::station' of type Diagram does not support scalar conversion to type")
    assert diagram.ToAutoDiffXdMaybe() is None
    assert diagram.ToScalarTypeMaybe[AutoDiffXd]() is None
    diagram.CreateDefaultContext()  # nothing has happened to it


def test_a_system_that_another_refers_to_is_converted_with_its_context():
    class Predicting(LeafSystem):
        def __init__(self, model):
            super().__init__()
            self.model, self.model_context = model, model.CreateDefaultContext()
            self.model_context.SetContinuousState([5.0])
            self.DeclareVectorInputPort("u", 1)
            self.DeclareVectorOutputPort("y", 1, self._calc)

        def _calc(self, context, output):
            self.model.get_input_port().FixValue(self.model_context, self.get_input_port().Eval(context))
            xdot = self.model.EvalTimeDerivatives(self.model_context)[0]
            output[0] = self.model_context.get_continuous_state_vector()[0] + xdot

    system, context = converted(Predicting(Accumulator(1)))
    system.get_input_port().FixValue(context, variables([2.0]))
    (y,) = system.get_output_port().Eval(context)
    assert y.value() == 7.0 and y.derivatives().tolist() == [1.0]


def test_callback_that_needs_floats_fails_aloud():
    class Casting(LeafSystem):
        def __init__(self):
            super().__init__()
            self.buffer = np.zeros(1)
            self.DeclareVectorInputPort("u", 1)
            self.DeclareVectorOutputPort("cast", 1, lambda c, y: y.SetFromVector([float(self._u(c)[0])]))
            self.DeclareVectorOutputPort("buffered", 1, self._buffered)

        def _u(self, context):
            return self.get_input_port().Eval(context)

        def _buffered(self, context, output):
            self.buffer[:] = self._u(context)
            output.SetFromVector(self.buffer)

    system, context = converted(Casting())
    system.get_input_port().FixValue(context, 1.0)
    for port in ("cast", "buffered"):
        with pytest.raises(TypeError, match="AutoDiffXd") as caught:
            system.GetOutputPort(port).Eval(context)
        assert "while computing output port" in caught.value.__notes__[0]


def test_conversion_to_the_same_scalar_is_refused():
    with pytest.raises(RuntimeError, match=r"scalar conversion to type float .its scalar type is float already"):
        Gain(1.0, 1).ToScalarType[float]()


def test_class_written_for_one_scalar_has_no_other():
    class Special(LeafSystem_[AutoDiffXd]):
        pass

    with pytest.raises(RuntimeError, match=r"Special.*derived from one for AutoDiffXd.*TemplateSystem"):
        Special().ToScalarType[float]()
    assert Special().get_system_scalar_converter().IsEmpty()


def test_diagrams_are_of_one_scalar_type():
    builder = DiagramBuilder_[AutoDiffXd]()
    with pytest.raises(TypeError, match="'::Gain' has the scalar type float, the diagram being built has AutoDiffXd"):
        builder.AddSystem(Gain(1.0, 1))
    builder.AddSystem(Gain_[AutoDiffXd](1.0, 1))
    with pytest.raises(TypeError, match="Diagram '::Diagram' has the scalar type float, the builder has AutoDiffXd"):
        builder.BuildInto(Diagram())
    diagram = builder.Build()
    assert isinstance(diagram, Diagram_[AutoDiffXd]) and diagram.GetSystemPathname() == "::Diagram"
    assert isinstance(diagram.CreateDefaultContext(), Context_[AutoDiffXd])
    assert isinstance(diagram.GetSystems()[0].get_input_port(), InputPort_[AutoDiffXd])


# ---------------------------------------------------------------------- converters


def test_converter_of_a_plain_system_and_of_a_diagram_that_contains_an_obstacle():
    pair = AutoDiffXd, float
    assert Pendulum().get_system_scalar_converter().IsConvertible[pair]()
    assert PendulumWithFeedback().get_system_scalar_converter().IsConvertible[pair]()
    assert not station(NotConvertible()).get_system_scalar_converter().IsConvertible[pair]()


def test_converter_with_functions_of_the_user():
    class Source(LeafSystem):
        def __init__(self, value, converter=None):
            super().__init__(converter)
            self.value = value
            self.DeclareVectorOutputPort("y", 1, lambda context, y: y.SetFromVector([value]))

    class AutoDiffSource(LeafSystem_[AutoDiffXd]):
        def __init__(self, other):
            super().__init__()
            self.value = AutoDiffXd(other.value, [1.0])
            self.DeclareVectorOutputPort("y", 1, lambda context, y: y.SetFromVector([self.value]))

    converter = SystemScalarConverter()
    converter.Add[AutoDiffXd, float](AutoDiffSource)
    assert not converter.IsEmpty() and not converter.IsConvertible[float, AutoDiffXd]()
    builder = DiagramBuilder()
    source, gain = builder.AddNamedSystem("source", Source(2.0, converter)), builder.AddSystem(Gain(3.0, 1))
    builder.Connect(source.get_output_port(), gain.get_input_port())
    builder.ExportOutput(gain.get_output_port())
    diagram, context = converted(builder.Build())
    assert type(diagram.GetSubsystemByName("source")) is AutoDiffSource
    (y,) = diagram.get_output_port().Eval(context)
    assert y.value() == 6.0 and y.derivatives().tolist() == [3.0]
    with pytest.raises(RuntimeError, match=r"'::Diagram::source' .* does not: its class is derived from one for"):
        diagram.ToScalarType[float]()


def test_exception_of_a_conversion_function_reaches_the_user_as_it_is():
    def fail(system):
        raise TypeError("my own mistake")

    converter = SystemScalarConverter()
    converter.Add[AutoDiffXd, float](fail)
    with pytest.raises(TypeError, match="my own mistake"):
        station(LeafSystem(converter)).ToAutoDiffXd()


def test_converter_can_be_filled_from_a_template_and_thinned():
    converter = SystemScalarConverter()
    converter.AddIfSupported[Gain_, AutoDiffXd, float]()
    assert converter.IsConvertible[AutoDiffXd, float]()
    converter.RemoveUnlessAlsoSupportedBy(SystemScalarConverter())
    assert converter.IsEmpty()
    with pytest.raises(RuntimeError, match="int is no scalar type"):
        converter.IsConvertible[int, float]()
