"""VectorSystem, BusValue, and vectors of a user's own type through ports."""

import copy

import numpy as np
import pytest

from merganser.framework import BasicVector, BusValue, DiagramBuilder, LeafSystem, Value, VectorSystem
from merganser.framework.primitives import SharedPointerSystem


class Recorder(VectorSystem):
    """One input, two states, three outputs; notes what is called."""

    def __init__(self, is_discrete, feedthrough=None):
        super().__init__(1, 3, direct_feedthrough=feedthrough)
        self.calls = []
        self.DeclareDiscreteState(2) if is_discrete else self.DeclareContinuousState(2)

    def DoCalcVectorOutput(self, context, input, state, output):
        self.calls.append("output")
        output[:] = np.resize(np.hstack([input, state]), 3)

    def DoCalcVectorTimeDerivatives(self, context, input, state, derivatives):
        self.calls.append("derivatives")
        derivatives[:] = state + input

    def DoCalcVectorDiscreteVariableUpdates(self, context, input, state, next_state):
        self.calls.append("update")
        next_state[:] = state + 2.0 * input


def test_continuous_vector_system_computes_on_arrays():
    system = Recorder(is_discrete=False)
    context = system.CreateDefaultContext()
    system.get_input_port().FixValue(context, 3.0)
    context.SetContinuousState([1.0, 2.0])
    np.testing.assert_array_equal(system.get_output_port().Eval(context), [3.0, 1.0, 2.0])
    np.testing.assert_array_equal(system.EvalTimeDerivatives(context).CopyToVector(), [4.0, 5.0])
    assert system.calls == ["output", "derivatives"]
    assert system.HasAnyDirectFeedthrough()


def test_discrete_vector_system_updates_on_forced_and_on_declared_events():
    system = Recorder(is_discrete=True)
    system.DeclarePeriodicDiscreteUpdateEvent(0.1, 0.0, system.CalcDiscreteUpdate)
    context = system.CreateDefaultContext()
    system.get_input_port().FixValue(context, 3.0)
    context.SetDiscreteState([1.0, 2.0])
    assert system.EvalUniquePeriodicDiscreteUpdate(context).value().tolist() == [7.0, 8.0]
    system.ExecuteForcedEvents(context)
    assert context.get_discrete_state_vector().value().tolist() == [7.0, 8.0]


def test_without_feedthrough_the_output_gets_no_input():
    system = Recorder(is_discrete=False, feedthrough=False)
    context = system.CreateDefaultContext()  # the input is not even connected
    context.SetContinuousState([1.0, 2.0])
    np.testing.assert_array_equal(system.get_output_port().Eval(context), [1.0, 2.0, 1.0])
    assert not system.HasAnyDirectFeedthrough()


def test_source_and_sink_have_one_port_only():
    assert VectorSystem(0, 2).num_input_ports() == VectorSystem(2, 0).num_output_ports() == 0
    with pytest.raises(RuntimeError, match="must override DoCalcVectorOutput"):
        (source := VectorSystem(0, 2)).get_output_port().Eval(source.CreateDefaultContext())


def test_mixed_state_is_refused():
    with pytest.raises(RuntimeError, match="either continuous state or one group"):
        Recorder(is_discrete=True).DeclareContinuousState(1)


def test_bus_keeps_copies_of_values_by_name():
    bus, numbers = BusValue(), [1, 2]
    bus.Set("numbers", Value(numbers))
    bus.Set("mass", Value(2.5))
    numbers.append(3)
    assert list(bus) == ["numbers", "mass"] and bus["numbers"] == [1, 2] and bus.Find("mass") == 2.5
    assert bus.Find("speed") is None
    with pytest.raises(KeyError):
        bus["speed"]
    with pytest.raises(TypeError, match="'mass' has type float; it cannot become a str"):
        bus.Set("mass", Value("heavy"))
    clone = copy.copy(bus)
    clone["numbers"].append(4)
    bus.Clear()
    assert list(bus) == [] and clone["numbers"] == [1, 2, 4]


def test_bus_travels_through_a_port():
    class Source(LeafSystem):
        def __init__(self):
            super().__init__()
            self.DeclareAbstractOutputPort("bus", lambda: Value(BusValue()), self._calc)

        def _calc(self, context, output):
            output.get_mutable_value().Set("time", Value(context.get_time()))

    source = Source()
    context = source.CreateDefaultContext()
    for time in (1.0, 2.0):
        context.SetTime(time)
        assert source.get_output_port().Eval(context)["time"] == time


class Pose2D(BasicVector):
    """A vector whose elements have names."""

    def __init__(self, x=0.0, y=0.0):
        super().__init__([x, y])

    @property
    def y(self):
        return self[1]


def test_vectors_keep_their_type_through_ports_state_and_fixed_inputs():
    class Block(LeafSystem):
        def __init__(self):
            super().__init__()
            self.DeclareVectorInputPort("u", Pose2D())
            self.DeclareDiscreteState(Pose2D(1.0, 2.0))
            self.DeclareVectorOutputPort("y", Pose2D(), self._calc)
            self.seen = []

        def _calc(self, context, output):
            u = self.EvalVectorInput(context, 0)
            self.seen = [type(v) for v in (u, context.get_discrete_state(0), output)]
            output.SetFromVector([u.y, context.get_discrete_state(0).y])

    builder = DiagramBuilder()
    first, second = builder.AddNamedSystem("first", Block()), builder.AddNamedSystem("second", Block())
    builder.Cascade(first, second)
    diagram = builder.Build()
    context = diagram.CreateDefaultContext()
    first.get_input_port().FixValue(first.GetMyContextFromRoot(context), Pose2D(5.0, 6.0))
    value = second.get_output_port().EvalBasicVector(second.GetMyContextFromRoot(context))
    assert type(value) is Pose2D and value.CopyToVector().tolist() == [2.0, 2.0]
    assert first.seen == second.seen == [Pose2D] * 3


def test_held_object_lives_with_the_diagram():
    builder, held = DiagramBuilder(), object()
    assert SharedPointerSystem.AddToBuilder(builder, held) is held
    assert builder.Build().GetSystems()[0].get() is held
