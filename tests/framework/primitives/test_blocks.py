"""Single blocks, beyond the laws of all blocks."""

import numpy as np
import pytest

from merganser.framework import BasicVector, DiagramBuilder, TriggerType, Value
from merganser.framework.core.declarations.execution import execute
from merganser.framework.primitives import (
    Adder,
    AffineSystem,
    ConstantValueSource,
    ConstantVectorSource,
    Demultiplexer,
    Gain,
    Integrator,
    LinearSystem,
    LogVectorOutput,
    Multiplexer,
    PassThrough,
    RandomSource,
    VectorLog,
    VectorLogSink,
    ZeroOrderHold,
)


@pytest.mark.parametrize(
    "make",
    [
        lambda: Gain([1.0, 2.0], 2),
        lambda: Gain(np.nan, 2),
        lambda: Gain(1.0, -1),
        lambda: Gain(np.eye(2)),
        lambda: Adder(-1, 2),
        lambda: ConstantVectorSource([np.nan]),
        lambda: Demultiplexer(5, 2),
        lambda: Demultiplexer([]),
        lambda: Demultiplexer([1, 0]),
        lambda: Multiplexer([-1]),
        lambda: ZeroOrderHold(0.0, 1),
        lambda: ZeroOrderHold(0.1, 1, -1.0),
        lambda: ZeroOrderHold(np.nan, 1),
        lambda: AffineSystem(A=np.eye(2), B=np.ones((3, 1))),
        lambda: AffineSystem(A=np.ones((2, 3))),
        lambda: AffineSystem(C=np.eye(2), D=np.ones((3, 1))),
        lambda: AffineSystem(y0=[1.0], D=np.ones((3, 1))),
        lambda: LinearSystem(A=[[np.nan]]),
        lambda: LinearSystem(A=[[1.0]], time_period=-1.0),
        lambda: VectorLogSink(-1),
        lambda: VectorLogSink(1, -0.1),
        lambda: VectorLogSink(1, set()),
        lambda: VectorLogSink(1, {TriggerType.kInitialization}),
        lambda: VectorLogSink(1, {TriggerType.kPeriodic}),
        lambda: VectorLogSink(1, {TriggerType.kForced}, 0.1),
    ],
)
def test_arguments_without_sense_are_refused(make):
    with pytest.raises(ValueError):
        make()


@pytest.mark.parametrize(
    "make",
    [
        lambda: Gain("two", 2),
        lambda: Adder(2.0, 2),
        lambda: Integrator(),
        lambda: Integrator(2, initial_value=[1.0, 2.0]),
        lambda: PassThrough(),
        lambda: Multiplexer(),
        lambda: Demultiplexer(),
        lambda: ZeroOrderHold(0.1),
        lambda: ConstantValueSource("text"),
    ],
)
def test_arguments_of_the_wrong_type_are_refused(make):
    with pytest.raises(TypeError):
        make()


def test_constant_vector_differs_by_context():
    system = ConstantVectorSource([1.0, 2.0])
    context, other = system.CreateDefaultContext(), system.CreateDefaultContext()
    assert system.get_output_port().Eval(context).tolist() == [1.0, 2.0]
    system.get_mutable_source_value(context).SetFromVector([3.0, 4.0])
    assert system.get_source_value(context).value().tolist() == [3.0, 4.0]
    assert system.get_output_port().Eval(context).tolist() == [3.0, 4.0]
    assert system.get_output_port().Eval(other).tolist() == [1.0, 2.0]


def test_constant_value_is_a_copy():
    mine = [1]
    system = ConstantValueSource(Value(mine))
    mine.append(2)
    assert system.get_output_port().Eval(system.CreateDefaultContext()) == [1]


def test_integral_can_be_set():
    system = Integrator([1.0, 2.0])
    context = system.CreateDefaultContext()
    system.set_integral_value(context, [3.0, 4.0])
    assert system.get_output_port().Eval(context).tolist() == [3.0, 4.0]
    system.set_default_integral_value([5.0, 6.0])
    assert system.get_output_port().Eval(system.CreateDefaultContext()).tolist() == [5.0, 6.0]
    assert system.get_output_port().Eval(context).tolist() == [3.0, 4.0]
    for call in (
        lambda: system.set_integral_value(context, [1.0]),
        lambda: system.set_default_integral_value([1.0]),
    ):
        with pytest.raises(ValueError, match="'::Integrator' has size 2; got 1"):
            call()


def test_pass_through_without_input_gives_its_default():
    for system, default in ((PassThrough(2), [0.0, 0.0]), (PassThrough([1.0, 2.0]), [1.0, 2.0])):
        context = system.CreateDefaultContext()
        assert system.get_output_port().Eval(context).tolist() == default
        system.get_input_port().FixValue(context, [7.0, 8.0])
        assert system.get_output_port().Eval(context).tolist() == [7.0, 8.0]


def test_pass_through_that_requires_its_input_names_the_port_that_is_not_connected():
    for system, value in ((PassThrough(2, True), [7.0, 8.0]), (PassThrough(Value("a"), input_required=True), "b")):
        assert system.input_required() and not PassThrough(2).input_required()
        context = system.CreateDefaultContext()
        with pytest.raises(RuntimeError, match=r"Input port 'u' .* is not connected"):
            system.get_output_port().Eval(context)
        system.get_input_port().FixValue(context, value)
        assert np.all(system.get_output_port().Eval(context) == np.array(value))


def test_zero_order_hold_samples_at_its_period():
    for system, old, new in (
        (ZeroOrderHold(0.2, 1, 0.5), [0.0], [3.0]),
        (ZeroOrderHold(0.2, Value("a"), 0.5), "a", "b"),
    ):
        assert (system.period(), system.offset()) == (0.2, 0.5)
        ((_, event),) = system._declared_events(None)
        assert (event.period, event.offset) == (0.2, 0.5)
        context = system.CreateDefaultContext()
        system.get_input_port().FixValue(context, new)
        assert system.get_output_port().Eval(context) == old
        execute(system._events_with(context, TriggerType.kPeriodic))
        assert system.get_output_port().Eval(context) == new


def test_held_vector_can_be_set():
    system = ZeroOrderHold(period_sec=0.1, vector_size=2)
    context = system.CreateDefaultContext()
    system.SetVectorState(context, [1.0, 2.0])
    assert system.get_output_port().Eval(context).tolist() == [1.0, 2.0]
    with pytest.raises(ValueError, match="'::ZeroOrderHold' has size 2"):
        system.SetVectorState(context, [1.0])


def test_multiplexer_gives_the_type_of_its_model():
    class Pair(BasicVector):
        pass

    system = Multiplexer(Pair([1.0, 2.0]))
    context = system.CreateDefaultContext()
    for index in range(2):
        system.get_input_port(index).FixValue(context, float(index))
    value = system.get_output_port().EvalBasicVector(context)
    assert type(value) is Pair and value.value().tolist() == [0.0, 1.0]


def test_a_demultiplexer_returns_its_sizes():
    assert Demultiplexer(3).get_output_ports_sizes() == [1, 1, 1]
    assert Demultiplexer(output_ports_sizes=[2, 1]).get_output_ports_sizes() == [2, 1]


def test_affine_system_gives_away_only_copies():
    system = AffineSystem(A=[[1.0, 2.0], [3.0, 4.0]], B=[[1.0], [0.0]], y0=[5.0])
    assert (system.num_states(), system.num_inputs(), system.num_outputs()) == (2, 1, 1)
    assert system.C().shape == (1, 2) and system.D().shape == (1, 1) and system.f0().shape == (2,)
    system.A()[:] = 0.0
    assert system.A().tolist() == [[1.0, 2.0], [3.0, 4.0]] and system.y0().tolist() == [5.0]
    assert system.time_period() == 0.0


@pytest.mark.parametrize("time_period", [0.0, 0.1])
def test_an_affine_system_starts_at_its_configured_state(time_period):
    system = LinearSystem(A=np.eye(2), C=np.eye(2), time_period=time_period)
    system.configure_default_state([1.0, 2.0])
    assert system.get_output_port().Eval(system.CreateDefaultContext()).tolist() == [1.0, 2.0]
    with pytest.raises(ValueError, match="2 state variables; got 1"):
        system.configure_default_state([1.0])


# ---------------------------------------------------------------------- logs


def test_log_grows_and_keeps_everything():
    log = VectorLog(2)
    count = 3 * VectorLog.kDefaultCapacity
    for k in range(count):
        log.AddData(0.1 * k, [k, -k])
    assert log.num_samples() == count and log.get_input_size() == 2
    np.testing.assert_array_equal(log.sample_times(), 0.1 * np.arange(count))
    np.testing.assert_array_equal(log.data(), np.vstack([np.arange(count), -np.arange(count)]))
    assert log.data().flags.f_contiguous
    log.Clear()
    assert log.num_samples() == 0 and log.data().shape == (2, 0)


def test_log_refuses_samples_of_another_size():
    log = VectorLog(2)
    log.Reserve(5000)
    log.AddData(0.0, [[1.0], [2.0]])
    with pytest.raises(ValueError, match="samples have 2 elements"):
        log.AddData(0.0, [1.0, 2.0, 3.0])
    assert log.num_samples() == 1
    log.AddData(1.0, [1j, 0.0])
    assert log.data().tolist() == [[1.0, 1j], [2.0, 0.0]]


def logged(*arguments, **keywords):
    """A constant source with a log; returns diagram, sink and source."""
    builder = DiagramBuilder()
    source = builder.AddSystem(ConstantVectorSource([1.0, 2.0]))
    sink = LogVectorOutput(source.get_output_port(), builder, *arguments, **keywords)
    return builder.Build(), sink, source


def triggers(sink):
    return {(event.trigger, event.period) for event in sink._sys_events}


def test_when_a_sink_logs():
    forced, per_step = (TriggerType.kForced, 0.0), (TriggerType.kPerStep, 0.0)
    periodic = (TriggerType.kPeriodic, 0.1)
    assert triggers(logged()[1]) == {forced, per_step}
    assert triggers(logged(0.1)[1]) == triggers(logged(publish_period=0.1)[1]) == {forced, periodic}
    assert triggers(logged({TriggerType.kForced})[1]) == {forced}
    everything = {TriggerType.kPerStep, TriggerType.kPeriodic, TriggerType.kForced}
    assert triggers(logged(publish_triggers=everything, publish_period=0.1)[1]) == {
        forced,
        per_step,
        periodic,
    }
    assert triggers(VectorLogSink(2, publish_period=0.1)) == {forced, periodic}


def test_each_context_has_its_log():
    diagram, sink, source = logged()
    context, other = diagram.CreateDefaultContext(), diagram.CreateDefaultContext()
    for time in (0.0, 0.5):
        context.SetTime(time)
        source.get_mutable_source_value(source.GetMyContextFromRoot(context))[0] = time
        diagram.ForcedPublish(context)
    log = sink.FindLog(context)
    assert log.sample_times().tolist() == [0.0, 0.5]
    assert log.data().tolist() == [[0.0, 0.5], [2.0, 2.0]]
    assert sink.GetLog(sink.GetMyContextFromRoot(context)) is log is sink.FindMutableLog(context)
    assert sink.FindLog(other).num_samples() == 0
    clone = context.Clone()
    diagram.ForcedPublish(context)
    assert sink.FindLog(clone).num_samples() == 2 and log.num_samples() == 3
    sink.GetMutableLog(sink.GetMyContextFromRoot(clone)).Clear()
    assert sink.FindLog(clone).num_samples() == 0 and log.num_samples() == 3


def test_logging_is_no_change_of_state():
    diagram, sink, source = logged()
    context = diagram.CreateDefaultContext()
    assert context.is_stateless()
    source.get_output_port().Eval(source.GetMyContextFromRoot(context))
    invalid = context.store.invalid
    execute(diagram._events_with(context, TriggerType.kPerStep))
    assert context.store.invalid & ~invalid == 0 and sink.FindLog(context).num_samples() == 1


def test_log_of_the_wrong_context_is_refused():
    diagram, sink, _ = logged()
    context = diagram.CreateDefaultContext()
    with pytest.raises(ValueError, match="GetMyContextFromRoot"):
        sink.GetLog(context)
    with pytest.raises(ValueError, match="root context"):
        sink.FindLog(sink.GetMyContextFromRoot(context))
    with pytest.raises(ValueError, match="is not part of"):
        sink.FindLog(logged()[0].CreateDefaultContext())


def test_sink_without_input_names_its_port():
    sink = VectorLogSink(2)
    with pytest.raises(RuntimeError, match=r"Input port 'data' .* is not connected") as caught:
        sink.ForcedPublish(sink.CreateDefaultContext())
    assert "Forced publish event of system '::VectorLogSink'" in caught.value.__notes__[0]


@pytest.mark.parametrize("wrong", [np.nan, "1.0"])
def test_new_coefficients_pass_the_checks_of_the_first(wrong):
    system = AffineSystem(A=[[1.0]], y0=[2.0])
    with pytest.raises((ValueError, TypeError), match="UpdateCoefficients: A: "):
        system.UpdateCoefficients(A=[[wrong]], f0=[0.0])
    assert system.A() == [[1.0]]


def test_a_number_in_place_of_a_matrix_is_refused_with_the_shape_that_it_needs():
    with pytest.raises(ValueError, match=r"LinearSystem: A: expected a matrix, got the number 1; write \[\[1\]\]"):
        LinearSystem(1, 1, 1, 0)


def test_a_distribution_by_its_name_is_refused_with_those_there_are():
    with pytest.raises(TypeError, match=r"RandomDistribution \(kUniform, kGaussian or kExponential\), got 'gaussian'"):
        RandomSource("gaussian", 1, 0.1)
