"""Blocks that shape, delay, select and pack signals, beyond the laws of all blocks."""

import copy
import math
import pickle

import numpy as np
import pytest
import scipy.sparse

from merganser.analysis import Simulator
from merganser.framework import BasicVector, BusValue, DiagramBuilder, InputPortIndex, LeafSystem, Value
from merganser.framework.autodiff import AutoDiffXd
from merganser.framework.core.scalars.element_functions import left_to_right_product
from merganser.framework.math.element_functions import clamp, cos, sin
from merganser.framework.primitives import (
    BusCreator,
    BusSelector,
    ConstantVectorSource,
    DiscreteDerivative,
    DiscreteDerivative_,
    DiscreteTimeDelay,
    DiscreteTimeIntegrator,
    FirstOrderLowPassFilter,
    Gain,
    Linearize,
    LinearSystem,
    MatrixGain,
    PortSwitch,
    Saturation,
    Selector,
    SelectorParams,
    Sine,
    SparseMatrixGain,
    StateInterpolatorWithDiscreteDerivative,
    WrapToSystem,
    ZeroOrderHold,
)
from merganser.framework.symbolic import Expression, Variable


def selection(n, j, sizes=(1, 2)):
    inputs = [SelectorParams.InputPortParams(size=size) for size in sizes]
    selections = [SelectorParams.OutputSelection(input_port_index=n, input_offset=j)]
    return SelectorParams(inputs=inputs, outputs=[SelectorParams.OutputPortParams(selections=selections)])


@pytest.mark.parametrize(
    "make",
    [
        lambda: Sine([1.0], [1.0, 2.0], [1.0]),
        lambda: Sine([np.nan], [1.0], [1.0]),
        lambda: Sine(amplitude=[1.0, 2.0], frequency=1.0, phase=1.0, size=2),
        lambda: Sine(1.0, 1.0, 1.0, -1),
        lambda: Saturation([1.0, 3.0], [2.0, 2.0]),
        lambda: Saturation([1.0], [2.0, 3.0]),
        lambda: Saturation([], []),
        lambda: Saturation(0),
        lambda: MatrixGain([[np.nan]]),
        lambda: MatrixGain(np.zeros((1, 1, 1))),
        lambda: SparseMatrixGain(scipy.sparse.csc_matrix([[np.nan]])),
        lambda: DiscreteTimeIntegrator(0, 0.1),
        lambda: DiscreteTimeIntegrator(1, 0.0),
        lambda: DiscreteTimeDelay(0.0, 1, 1),
        lambda: DiscreteTimeDelay(0.1, -1, 1),
        lambda: DiscreteTimeDelay(0.1, 1, -1),
        lambda: DiscreteDerivative(0, 0.1),
        lambda: DiscreteDerivative(1, -0.1),
        lambda: StateInterpolatorWithDiscreteDerivative(0, 0.1),
        lambda: FirstOrderLowPassFilter(0.0),
        lambda: FirstOrderLowPassFilter(1.0, 0),
        lambda: FirstOrderLowPassFilter([]),
        lambda: FirstOrderLowPassFilter([1.0, -1.0]),
        lambda: PortSwitch(0),
        lambda: WrapToSystem(0),
        lambda: Selector(selection(2, 0)),
        lambda: Selector(selection(1, 2)),
        lambda: Selector(selection(0, -1)),
    ],
)
def test_arguments_without_sense_are_refused(make):
    with pytest.raises(ValueError):
        make()


@pytest.mark.parametrize(
    "make",
    [
        lambda: Sine(1.0, 2.0, 3.0),
        lambda: Sine([1.0], [1.0], [1.0], size=1),
        lambda: Sine([1.0], [1.0]),
        lambda: Saturation(min_value=[1.0]),
        lambda: Saturation([1.0], [2.0], [3.0]),
        lambda: SparseMatrixGain(3.0),
        lambda: DiscreteTimeDelay(0.1, 1),
        lambda: DiscreteTimeDelay(0.1, 1, 2, abstract_model_value=Value(1)),
        lambda: FirstOrderLowPassFilter([1.0], size=1),
        lambda: Selector([1, 2]),
    ],
)
def test_arguments_of_the_wrong_type_are_refused(make):
    with pytest.raises(TypeError):
        make()


def test_mistyped_settings_are_named():
    with pytest.warns(UserWarning, match="SelectorParams has no setting 'ports'"):
        SelectorParams(ports=[])


# ---------------------------------------------------------------------- functions of elements


def test_sines_are_those_of_the_c_library():
    x = np.random.default_rng(0).normal(scale=50.0, size=200)
    assert sin(x).tolist() == [math.sin(v) for v in x]
    assert cos(x).tolist() == [math.cos(v) for v in x]
    assert np.isnan(sin(np.array([np.inf]))).all()


def test_products_are_summed_from_left_to_right():
    rng = np.random.default_rng(1)
    matrix, vector = rng.normal(size=(3, 9)), rng.normal(size=9)
    expected = []
    for row in matrix.tolist():
        total = row[0] * vector[0]
        for factor, x in zip(row[1:], vector[1:].tolist()):
            total = total + factor * x
        expected.append(total)
    assert left_to_right_product(matrix, vector).tolist() == expected
    assert left_to_right_product(np.zeros((2, 0)), np.zeros(0)).tolist() == [0.0, 0.0]


def test_clamp_of_derivatives_and_symbols():
    low, high = np.array([-1.0]), np.array([2.0])
    for value, slope in ((-2.0, 0.0), (-1.0, 1.0), (0.0, 1.0), (2.0, 1.0), (3.0, 0.0)):
        (y,) = clamp(np.array([AutoDiffXd(value, [1.0])]), low, high)
        assert (y.value(), y.derivatives().tolist()) == (min(max(value, -1.0), 2.0), [slope])
    u = Variable("u")
    (y,) = clamp(np.array([Expression(u)]), low, high)
    assert [y.Evaluate({u: v}) for v in (-2.0, 0.5, 3.0)] == [-1.0, 0.5, 2.0]
    assert clamp(np.array([3.0 + 1e-100j]), low, high).tolist() == [2.0]
    assert np.isnan(clamp(np.array([np.nan]), low, high)).all()


# ---------------------------------------------------------------------- Sine, Saturation, WrapToSystem


def test_sine_follows_the_time():
    system = Sine([2.0], [0.7], [0.3])
    context = system.CreateDefaultContext()
    context.SetTime(1.7)
    angle = 0.7 * 1.7 + 0.3
    expected = [2.0 * math.sin(angle), 2.0 * 0.7 * math.cos(angle), -(2.0 * 0.7 * 0.7) * math.sin(angle)]
    assert [system.get_output_port(i).Eval(context)[0] for i in range(3)] == expected


def test_first_output_of_a_sine_is_the_integral_of_the_second():
    builder = DiagramBuilder()
    wave = builder.AddSystem(Sine(1.5, 2.0, 0.4, 1))
    integrator = builder.AddSystem(LinearSystem(A=[[0.0]], B=[[1.0]], C=[[1.0]]))
    builder.Connect(wave.get_output_port(1), integrator.get_input_port())
    builder.ExportOutput(wave.get_output_port(0), "wave")
    builder.ExportOutput(integrator.get_output_port(), "integral")
    simulator = Simulator(builder.Build())
    simulator.get_mutable_integrator().set_target_accuracy(1e-9)
    simulator.AdvanceTo(1.0)
    diagram, context = simulator.get_system(), simulator.get_context()
    change = diagram.GetOutputPort("wave").Eval(context)[0] - 1.5 * math.sin(0.4)
    assert diagram.GetOutputPort("integral").Eval(context)[0] == pytest.approx(change, abs=1e-8)


def test_limits_of_a_saturation_may_be_inputs():
    system = Saturation(input_size=2)
    system.set_name("limits")
    context = system.CreateDefaultContext()
    assert [system.get_max_value_port().get_name(), system.get_min_value_port().get_name()] == ["u1", "u2"]
    system.get_input_port(0).FixValue(context, [3.0, -3.0])
    output = system.get_output_port()
    with pytest.raises(RuntimeError, match="'::limits' has no limits: neither its input port 'u1'"):
        output.Eval(context)
    system.get_min_value_port().FixValue(context, [-1.0, -1.0])
    assert output.Eval(context).tolist() == [3.0, -1.0]
    system.get_max_value_port().FixValue(context, [2.0, 2.0])
    assert output.Eval(context).tolist() == [2.0, -1.0]
    system.get_max_value_port().FixValue(context, [2.0, -2.0])
    with pytest.raises(ValueError, match=r"'::limits': lower limits .* element 1 of input port 'u2' is -1.0"):
        output.Eval(context)
    with pytest.raises(RuntimeError, match="constant limits"):
        Saturation([1.0], [2.0]).get_min_value_port()


def test_wrapped_elements_land_in_their_interval():
    system = WrapToSystem(3)
    context = system.CreateDefaultContext()
    system.set_interval(1, 0.0, 1.0)
    system.set_interval(1, -1.0, 1.0)
    for value, expected in ((5.0, -1.0), (-1.0, -1.0), (1.0, -1.0), (0.25, 0.25)):
        system.get_input_port().FixValue(context, [5.0, value, -5.0])
        assert system.get_output_port().Eval(context).tolist() == [5.0, expected, -5.0]
    for interval in ((1.0, 1.0), (2.0, 1.0), (-np.inf, 1.0)):
        with pytest.raises(ValueError, match="low < high"):
            system.set_interval(0, *interval)
    with pytest.raises(IndexError, match="3 elements; cannot wrap element 3"):
        system.set_interval(3, 0.0, 1.0)


# ---------------------------------------------------------------------- gains and filters


def test_matrix_gain_is_a_linear_system():
    system = MatrixGain(D=[1.0, 2.0])
    assert isinstance(system, LinearSystem)
    assert system.D().tolist() == [[1.0], [2.0]] and system.num_states() == 0 and system.time_period() == 0.0


def test_sparse_gain_can_be_replaced_by_one_of_its_shape():
    system = SparseMatrixGain(scipy.sparse.csr_matrix([[1.0, 0.0, 2.0]]))
    system.set_D(2.0 * system.D())
    context = system.CreateDefaultContext()
    system.get_input_port().FixValue(context, [1.0, 2.0, 3.0])
    assert system.get_output_port().Eval(context).tolist() == [14.0]
    damaged = system.D()
    damaged.indices[0] = 7
    with pytest.raises(ValueError, match="indices"):
        system.set_D(damaged)
    with pytest.raises(ValueError, match=r"'::SparseMatrixGain': D must keep its shape \(1, 3\)"):
        system.set_D(scipy.sparse.csc_matrix((3, 1)))
    system.D().data[:] = 0.0
    assert system.D().toarray().tolist() == [[2.0, 0.0, 4.0]]


def test_a_low_pass_filter_returns_its_time_constants():
    same, different = FirstOrderLowPassFilter(time_constant=0.5, size=2), FirstOrderLowPassFilter([0.5, 0.6])
    assert same.get_time_constant() == 0.5 and different.get_time_constants_vector().tolist() == [0.5, 0.6]
    with pytest.raises(ValueError, match="different time constants"):
        different.get_time_constant()
    context = same.CreateDefaultContext()
    same.set_initial_output_value(context, [1.0, 2.0])
    assert same.get_output_port().Eval(context).tolist() == [1.0, 2.0]
    with pytest.raises(ValueError, match="'::FirstOrderLowPassFilter' has size 2; got 1"):
        same.set_initial_output_value(context, [1.0])


def test_step_response_of_a_low_pass_filter():
    system = FirstOrderLowPassFilter(0.5)
    simulator = Simulator(system)
    system.get_input_port().FixValue(simulator.get_mutable_context(), [3.0])
    simulator.get_mutable_integrator().set_target_accuracy(1e-9)
    simulator.AdvanceTo(1.0)
    output = system.get_output_port().Eval(simulator.get_context())
    assert output[0] == pytest.approx(3.0 * (1.0 - math.exp(-2.0)), abs=1e-8)


# ---------------------------------------------------------------------- discrete time


class Samples(LeafSystem):
    """t^2 as a vector, and as an abstract value."""

    def __init__(self):
        super().__init__()
        self.DeclareVectorOutputPort("vector", 1, lambda c, y: y.SetFromVector([c.get_time() ** 2]))
        self.DeclareAbstractOutputPort("value", lambda: Value(0.0), lambda c, y: y.set_value(c.get_time() ** 2))


def history(block, port="vector", times=range(6)):
    """The outputs of a block with a period of one second that gets t^2, just after each of the updates."""
    builder = DiagramBuilder()
    source = builder.AddSystem(Samples())
    builder.AddSystem(block)
    builder.Connect(source.GetOutputPort(port), block.get_input_port())
    simulator = Simulator(builder.Build())
    context = block.GetMyContextFromRoot(simulator.get_context())
    outputs = []
    for time in times:
        simulator.AdvanceTo(time + 0.5)
        outputs.append(np.ravel(block.get_output_port().Eval(context)).tolist())
    return [values[-1] for values in outputs]


def test_delayed_samples_are_those_of_before():
    assert history(DiscreteTimeDelay(1.0, 2, 1)) == [0.0, 0.0, 0.0, 1.0, 4.0, 9.0]
    assert history(DiscreteTimeDelay(1.0, 0, 1)) == history(ZeroOrderHold(1.0, 1))
    model = Value(-1.0)
    assert history(DiscreteTimeDelay(1.0, 2, model), "value") == [-1.0, -1.0, 0.0, 1.0, 4.0, 9.0]
    assert history(DiscreteTimeDelay(1.0, 0, abstract_model_value=model), "value") == [0, 1, 4, 9, 16, 25]


def test_discrete_integral_is_the_sum_of_samples():
    assert history(DiscreteTimeIntegrator(1, 1.0)) == [0.0, 1.0, 5.0, 14.0, 30.0, 55.0]
    system = DiscreteTimeIntegrator(size=2, time_step=0.5)
    context = system.CreateDefaultContext()
    system.set_integral_value(context=context, value=[1.0, 2.0])
    assert system.get_output_port().Eval(context).tolist() == [1.0, 2.0] and system.time_step() == 0.5
    with pytest.raises(ValueError, match="'::DiscreteTimeIntegrator' has size 2; got 1"):
        system.set_integral_value(context, [1.0])


def test_discrete_derivative_of_samples():
    differences = [0.0, 1.0, 3.0, 5.0, 7.0, 9.0]
    assert history(DiscreteDerivative(1, 1.0)) == differences
    assert history(DiscreteDerivative(1, 1.0, suppress_initial_transient=False)) == differences
    assert history(StateInterpolatorWithDiscreteDerivative(1, 1.0)) == differences


@pytest.mark.parametrize("suppress", [True, False])
def test_initial_transient_is_suppressed_on_request(suppress):
    system = DiscreteDerivative(1, 0.5, suppress)
    assert system.suppress_initial_transient() is suppress and system.time_step() == 0.5
    context = system.CreateDefaultContext()
    outputs = []
    for sample in (3.0, 5.0):
        system.get_input_port().FixValue(context, [sample])
        system.ExecuteForcedEvents(context)
        outputs.append(system.get_output_port().Eval(context)[0])
    assert outputs == [0.0 if suppress else 6.0, 4.0]
    system.set_input_history(context, [1.0], [0.0])
    assert system.get_output_port().Eval(context).tolist() == [2.0]
    with pytest.raises(ValueError, match="takes samples of 1 elements; got 2"):
        system.set_input_history(context, [1.0, 2.0])


@pytest.mark.parametrize("first", [math.inf, math.nan])
def test_a_first_sample_that_is_not_finite_is_suppressed_too(first):
    for scalar in (float, AutoDiffXd, Expression) if first == math.inf else (float, AutoDiffXd):
        system = DiscreteDerivative_[scalar](1, 0.5)
        context = system.CreateDefaultContext()
        for values in ((first, 0.0, 1.0), (3.0, first, 2.0)):  # the latest, the one before, how many
            for group, value in enumerate(values):
                context.SetDiscreteState(group, [scalar(value)])
            derivative = system.get_output_port().Eval(context)[0]
            number = {float: float, AutoDiffXd: AutoDiffXd.value, Expression: Expression.Evaluate}[scalar](derivative)
            assert number == 0.0 if values[2] == 1.0 else not math.isfinite(number)


def test_interpolated_state_starts_at_rest():
    system = StateInterpolatorWithDiscreteDerivative(2, 0.1)
    context = system.CreateDefaultContext()
    system.set_initial_position(context, [1.0, 2.0])
    system.get_input_port().FixValue(context, [3.0, 4.0])
    assert system.get_output_port().Eval(context).tolist() == [3.0, 4.0, 0.0, 0.0]
    system.set_initial_position(state=context.get_mutable_state(), position=[5.0, 6.0])
    assert [context.get_discrete_state(i).value().tolist() for i in range(3)] == [[5.0, 6.0], [5.0, 6.0], [2.0]]
    assert system.suppress_initial_transient()
    with pytest.raises(ValueError, match="StateInterpolatorWithDiscreteDerivative::DiscreteDerivative' takes"):
        system.set_initial_position(context, [1.0])
    with pytest.raises(TypeError, match="set_initial_position takes"):
        system.set_initial_position(context)


# ---------------------------------------------------------------------- switches and buses


def switched(**values):
    system = PortSwitch(2)
    system.set_name("switch")
    ports = {name: system.DeclareInputPort(name) for name in ("a", "b")}
    context = system.CreateDefaultContext()
    for name, value in values.items():
        ports[name].FixValue(context, value)
    return system, context, ports


def test_switch_passes_on_the_selected_input_only():
    system, context, ports = switched(b=[1.0, 2.0])
    selector, output = system.get_port_selector_input_port(), system.get_output_port()
    with pytest.raises(RuntimeError, match=r"'port_selector' .* is not connected"):
        output.Eval(context)
    selector.FixValue(context, ports["b"].get_index())
    assert output.Eval(context).tolist() == [1.0, 2.0]
    selector.FixValue(context, ports["a"].get_index())
    with pytest.raises(RuntimeError, match=r"Input port 'a' .* of system '::switch' is not connected"):
        output.Eval(context)
    with pytest.raises(TypeError, match="takes values of type InputPortIndex; got int"):
        selector.FixValue(context, 1)
    for wrong in (0, 3, -1):
        selector.FixValue(context, InputPortIndex(wrong))
        with pytest.raises(RuntimeError, match=rf"'::switch' selects input {wrong}, .*1 \('a'\), 2 \('b'\)"):
            output.Eval(context)
    assert system.GetDirectFeedthroughs() == [(0, 0), (1, 0), (2, 0)]


def test_switch_of_abstract_values():
    system = PortSwitch(Value("text"))
    port = system.DeclareInputPort("a")
    context = system.CreateDefaultContext()
    port.FixValue(context, "here")
    system.get_port_selector_input_port().FixValue(context, port.get_index())
    assert system.get_output_port().Eval(context) == "here"


def bus_of(**signals):
    bus = BusValue()
    for name, signal in signals.items():
        bus.Set(name, Value(signal))
    return bus


def test_signals_travel_by_bus():
    builder = DiagramBuilder()
    creator, selector = builder.AddSystem(BusCreator("bus")), builder.AddSystem(BusSelector("bus"))
    source = builder.AddSystem(ConstantVectorSource([1.0, 2.0]))
    builder.Connect(source.get_output_port(), creator.DeclareVectorInputPort("velocity", 2))
    builder.ExportInput(creator.DeclareAbstractInputPort("mode", Value("")), "mode")
    creator.DeclareVectorInputPort(name="unused", size=1)
    builder.Connect(creator.get_output_port(), selector.get_input_port())
    for port in (
        selector.DeclareAbstractOutputPort(name="mode", model_value=Value("")),
        selector.DeclareVectorOutputPort(name="velocity", size=2),
    ):
        builder.ExportOutput(port, port.get_name())
    diagram = builder.Build()
    context = diagram.CreateDefaultContext()
    diagram.GetInputPort("mode").FixValue(context, "fast")
    assert diagram.GetOutputPort("velocity").Eval(context).tolist() == [1.0, 2.0]
    assert diagram.GetOutputPort("mode").Eval(context) == "fast"
    bus = creator.get_output_port().Eval(creator.GetMyContextFromRoot(context))
    assert list(bus) == ["velocity", "mode"] and isinstance(bus["velocity"], BasicVector)
    diagram.GetInputPort("mode").FixValue(context, "slow")
    assert diagram.GetOutputPort("mode").Eval(context) == "slow"


@pytest.mark.parametrize(
    ("bus", "message"),
    [
        (bus_of(speed=BasicVector([1.0])), "no signal of that name on the bus. Did you mean 'speed'"),
        (bus_of(sped=BasicVector([1.0])), "expected a vector of size 2 on the bus, got a vector of size 1"),
        (bus_of(sped="text"), "expected a vector of size 2 on the bus, got a str"),
    ],
)
def test_bus_without_the_signal_is_refused_by_name(bus, message):
    system = BusSelector()
    system.DeclareVectorOutputPort("sped", 2)
    context = system.CreateDefaultContext()
    system.get_input_port().FixValue(context, bus)
    with pytest.raises(RuntimeError, match=rf"Output port 'sped' .* of system '::BusSelector': .*{message}"):
        system.get_output_port().Eval(context)


def test_abstract_outputs_of_a_bus_keep_their_type():
    system = BusSelector()
    system.DeclareAbstractOutputPort("a", Value(""))
    context = system.CreateDefaultContext()
    system.get_input_port().FixValue(context, bus_of(a=3))
    with pytest.raises(RuntimeError, match="expected a value of type str on the bus, got a int"):
        system.get_output_port().Eval(context)
    with pytest.raises(ValueError, match="already has an output port named 'a'"):
        system.DeclareAbstractOutputPort("a", Value(""))


def test_blocks_with_ports_of_their_own_can_be_copied():
    original = Selector(selection(1, 1))
    picker = BusSelector()
    picker.DeclareVectorOutputPort("a", 1)
    for make in (copy.deepcopy, lambda system: pickle.loads(pickle.dumps(system))):
        system, other = make(original), make(picker)
        context = system.CreateDefaultContext()
        system.get_input_port(1).FixValue(context, [3.0, 4.0])
        assert system.get_output_port().Eval(context).tolist() == [4.0]
        context = other.CreateDefaultContext()
        other.get_input_port().FixValue(context, bus_of(a=BasicVector([5.0])))
        assert other.get_output_port().Eval(context).tolist() == [5.0]


# ---------------------------------------------------------------------- linearization passes through


def test_blocks_are_linearized_exactly():
    builder = DiagramBuilder()
    gain = builder.AddSystem(Gain(2.0, 1))
    limits = builder.AddSystem(Saturation([-1.0], [1.0]))
    wrap = builder.AddSystem(WrapToSystem(1))
    wrap.set_interval(0, 0.0, 0.5)
    smooth = builder.AddSystem(FirstOrderLowPassFilter(0.25))
    for start, end in ((gain, limits), (limits, wrap), (wrap, smooth)):
        builder.Connect(start.get_output_port(), end.get_input_port())
    builder.ExportInput(gain.get_input_port(), "u")
    builder.ExportOutput(smooth.get_output_port(), "y")
    diagram = builder.Build()
    context = diagram.CreateDefaultContext()
    diagram.get_input_port().FixValue(context, [0.3])
    context.SetContinuousState([0.1])
    system = Linearize(diagram, context)
    assert (system.A().tolist(), system.B().tolist()) == ([[-4.0]], [[8.0]])
