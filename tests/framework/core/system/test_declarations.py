"""Declarations of a leaf system, and errors for those that make no sense."""

import functools
import sys

import numpy as np
import pytest

from merganser.analysis import Simulator
from merganser.framework import (
    BasicVector,
    ContinuousStateIndex,
    DependencyTicket,
    DiagramBuilder,
    LeafSystem,
    PortDataType,
    PublishEvent,
    RandomDistribution,
    Value,
    ValueProducer,
    VectorSystem,
    kAbstractValued,
    kUseDefaultName,
    kVectorValued,
)


def nothing(context, output):
    pass


def test_ports_are_named_and_numbered():
    system = LeafSystem()
    u0 = system.DeclareVectorInputPort(kUseDefaultName, 2)
    named = system.DeclareVectorInputPort("torque", 3)
    abstract = system.DeclareAbstractInputPort(kUseDefaultName, Value(""))
    y0 = system.DeclareVectorOutputPort(kUseDefaultName, 4, nothing)
    assert [p.get_name() for p in (u0, named, abstract, y0)] == ["u0", "torque", "u2", "y0"]
    assert [p.get_index() for p in (u0, named, abstract, y0)] == [0, 1, 2, 0]
    assert [p.size() for p in (u0, named, abstract, y0)] == [2, 3, 0, 4]
    assert abstract.get_data_type() is PortDataType.kAbstractValued
    assert (system.num_input_ports(), system.num_output_ports()) == (3, 1)
    assert (system.num_total_inputs(), system.num_total_outputs()) == (5, 4)
    assert system.GetInputPort("torque") is named and system.get_input_port(1) is named
    assert named.get_system() is system
    assert system.HasInputPort("torque") and not system.HasOutputPort("torque")


def test_vector_ports_take_models_by_keyword_or_position():
    system = LeafSystem()
    model = BasicVector([1.0, 2.0])
    assert system.DeclareVectorInputPort("a", model).size() == 2
    assert system.DeclareVectorInputPort(name="b", model_vector=model).size() == 2
    assert system.DeclareVectorOutputPort("c", model, nothing).size() == 2
    assert system.DeclareVectorOutputPort(name="d", model_value=model, calc=nothing).size() == 2
    for declare in (
        lambda: system.DeclareVectorInputPort("e"),
        lambda: system.DeclareVectorInputPort("e", 2, model_vector=model),
        lambda: system.DeclareVectorOutputPort("e", calc=nothing),
    ):
        with pytest.raises(TypeError, match="takes either size or model_v"):
            declare()


@pytest.mark.parametrize(
    "declare, message",
    [
        (lambda s: s.DeclareVectorInputPort("u", 1), "already has an input port named 'u'"),
        (lambda s: s.DeclareVectorOutputPort("y", 1, nothing), "already has an output port named 'y'"),
        (lambda s: s.DeclareVectorInputPort("", 1), "non-empty"),
        (lambda s: s.DeclareVectorInputPort("v", -1), "size of port 'v': expected at least 0, got -1"),
        (lambda s: s.DeclareContinuousState(1, 2, 0), "cannot be split"),
        (lambda s: s.DeclarePeriodicPublishEvent(0.0, 0.0, print), "period > 0"),
        (lambda s: s.DeclarePeriodicPublishEvent(1.0, -1.0, print), "offset >= 0"),
        (lambda s: s.DeclarePeriodicPublishEvent(np.nan, 0.0, print), "period > 0"),
        (lambda s: s.DeclareVectorOutputPort("z", 1, nothing, {DependencyTicket(999)}), "not a ticket"),
    ],
)
def test_declarations_without_sense_are_refused_and_leave_no_trace(declare, message):
    system = LeafSystem()
    system.set_name("arm")
    system.DeclareVectorInputPort("u", 1)
    system.DeclareVectorOutputPort("y", 1, nothing)
    before = (
        system.num_input_ports(),
        system.num_output_ports(),
        len(system._sys_events),
        len(system._sys_cache_entries),
    )
    with pytest.raises(ValueError, match=message):
        declare(system)
    after = (
        system.num_input_ports(),
        system.num_output_ports(),
        len(system._sys_events),
        len(system._sys_cache_entries),
    )
    assert after == before


@pytest.mark.parametrize(
    "declare, message",
    [
        (lambda s: s.DeclareAbstractInputPort("u", "text"), "write Value"),
        (lambda s: s.DeclareVectorOutputPort("y", 1), "calc must be callable"),
        (lambda s: s.DeclarePerStepPublishEvent(None), "must be callable"),
        (lambda s: s.DeclareStateOutputPort("y", 0), "DeclareContinuousState"),
        (lambda s: s.DeclareContinuousState(1, 2), "takes"),
    ],
)
def test_declarations_of_the_wrong_type_are_refused(declare, message):
    with pytest.raises(TypeError, match=message):
        declare(LeafSystem())


def test_unknown_ports_are_named_with_their_neighbours():
    system = LeafSystem()
    system.set_name("arm")
    system.DeclareVectorInputPort("desired_state", 1)
    system.DeclareVectorInputPort("torque", 1)
    with pytest.raises(ValueError, match=r"'::arm' has no input port named 'desired'.*'desired_state'"):
        system.GetInputPort("desired")
    with pytest.raises(IndexError, match=r"'::arm' has no input port 2: it has 2"):
        system.get_input_port(2)
    with pytest.raises(RuntimeError, match=r"2 input ports \('desired_state', 'torque'\)"):
        system.get_input_port()
    with pytest.raises(ValueError, match="None is defined"):
        system.GetOutputPort("y")


@pytest.mark.parametrize(
    "arguments, sizes, start",
    [
        ((3,), (0, 0, 3), [0.0, 0.0, 0.0]),
        ((2, 1, 0), (2, 1, 0), [0.0, 0.0, 0.0]),
        ((BasicVector([1.0, 2.0]),), (0, 0, 2), [1.0, 2.0]),
        ((BasicVector([1.0, 2.0]), 1, 1, 0), (1, 1, 0), [1.0, 2.0]),
    ],
)
def test_continuous_state_declarations(arguments, sizes, start):
    system = LeafSystem()
    assert system.DeclareContinuousState(*arguments) == ContinuousStateIndex(0)
    state = system.CreateDefaultContext().get_continuous_state()
    assert (state.num_q(), state.num_v(), state.num_z()) == sizes
    assert state.CopyToVector().tolist() == start
    assert system.num_continuous_states() == len(start)


def test_continuous_state_declarations_by_keyword():
    system = LeafSystem()
    system.DeclareContinuousState(num_q=2, num_v=1, num_z=1)
    assert system.CreateDefaultContext().get_continuous_state().num_q() == 2
    system.DeclareContinuousState(model_vector=BasicVector([1.0, 2.0]), num_q=1, num_v=1, num_z=0)
    assert system.CreateDefaultContext().get_continuous_state().num_v() == 1
    with pytest.raises(TypeError, match="unexpected argument 'num_x'"):
        system.DeclareContinuousState(num_x=1)


def test_state_output_ports_follow_the_state():
    system = LeafSystem()
    xc = system.DeclareStateOutputPort("xc", system.DeclareContinuousState(2))
    xd = system.DeclareStateOutputPort("xd", system.DeclareDiscreteState([1.0]))
    xa = system.DeclareStateOutputPort("xa", system.DeclareAbstractState(Value("off")))
    context = system.CreateDefaultContext()
    context.SetContinuousState([3.0, 4.0])
    context.SetAbstractState(0, "on")
    assert xc.Eval(context).tolist() == [3.0, 4.0]
    assert xd.Eval(context).tolist() == [1.0]
    assert xa.Eval(context) == "on"
    assert not system.HasAnyDirectFeedthrough()


def test_declarations_after_a_context_was_made_count_for_the_next_one():
    system = LeafSystem()
    system.DeclareDiscreteState([1.0])
    system.CreateDefaultContext()
    system.DeclareDiscreteState([2.0])
    assert system.CreateDefaultContext().get_discrete_state(1)[0] == 2.0


def test_defaults_may_be_set_by_overriding():
    class Custom(LeafSystem):
        def __init__(self):
            super().__init__()
            self.DeclareContinuousState(1)
            self.DeclareNumericParameter(BasicVector([2.0]))

        def SetDefaultParameters(self, context, parameters):
            parameters.get_mutable_numeric_parameter(0)[0] = 3.0

        def SetDefaultState(self, context, state):
            half = 0.5 * context.get_numeric_parameter(0)[0]
            state.get_mutable_continuous_state().SetFromVector([half])

    assert Custom().CreateDefaultContext().get_continuous_state_vector()[0] == 1.5


def test_continuous_state_without_derivatives_says_what_to_override():
    system = LeafSystem()
    system.set_name("drone")
    system.DeclareContinuousState(1)
    with pytest.raises(RuntimeError, match=r"'::drone' \(LeafSystem\).*override DoCalcTimeDerivatives"):
        system.EvalTimeDerivatives(system.CreateDefaultContext())


def test_subclass_may_forget_to_call_init():
    class Forgetful(LeafSystem):
        def __init__(self):
            self.DeclareVectorInputPort("u", 1)

    assert Forgetful().num_input_ports() == 1


def test_cache_entries_keep_their_value():
    system = LeafSystem()
    calls = []
    entry = system.DeclareCacheEntry(
        "square",
        ValueProducer(lambda: Value(0.0), lambda c, v: (calls.append(1), v.set_value(c.get_time() ** 2))),
    )
    context = system.CreateDefaultContext()
    context.SetTime(3.0)
    assert entry.is_out_of_date(context)
    assert entry.Eval(context) == entry.EvalAbstract(context).get_value() == 9.0
    assert len(calls) == 1 and not entry.is_out_of_date(context)
    assert system.get_cache_entry(entry.cache_index()) is entry


def test_event_handlers_must_be_event_objects_or_callables():
    system = LeafSystem()
    system.DeclarePeriodicEvent(0.1, 0.0, PublishEvent(lambda context, event: None))
    assert [event.period for event in system._sys_events] == [0.1]


def test_input_ports_by_data_type():
    system = LeafSystem()
    vector = system.DeclareInputPort("v", kVectorValued, 2)
    anything = system.DeclareInputPort(name=kUseDefaultName, type=kAbstractValued, size=0)
    noise = system.DeclareInputPort("n", kVectorValued, 1, RandomDistribution.kGaussian)
    assert [(p.get_name(), p.size()) for p in (vector, anything, noise)] == [("v", 2), ("u1", 0), ("n", 1)]
    assert noise.get_random_type() is RandomDistribution.kGaussian
    context = system.CreateDefaultContext()
    for value in (3, "text"):
        anything.FixValue(context, value)
        assert anything.Eval(context) == value
    with pytest.raises(TypeError, match="expected a PortDataType, got 3"):
        system.DeclareInputPort("w", 3, 1)
    with pytest.raises(ValueError, match="already has an input port named 'v'"):
        system.DeclareInputPort("v", kVectorValued, 1)


@pytest.mark.parametrize(
    "call",
    [
        lambda d: d.DeclareInputPort("a", kVectorValued, 1),
        lambda d: d.DeclareCacheEntry("a", ValueProducer(lambda: Value(0), ValueProducer.NoopCalc)),
        lambda d: d.get_cache_entry(0),
        lambda d: d.input_port_ticket(0),
        lambda d: d.output_port_ticket(0),
        lambda d: d.cache_entry_ticket(0),
        lambda d: d.discrete_state_ticket(0),
        lambda d: d.abstract_state_ticket(0),
        lambda d: d.numeric_parameter_ticket(0),
        lambda d: d.abstract_parameter_ticket(0),
    ],
)
def test_diagrams_refer_to_their_leaf_systems_for_declarations(call):
    builder = DiagramBuilder()
    builder.AddSystem(LeafSystem())
    diagram = builder.Build()
    diagram.set_name("station")
    with pytest.raises(RuntimeError, match=r"Diagram '::station' cannot .* that of its subsystems"):
        call(diagram)


class WithNamesOfItsOwn(LeafSystem):
    """Uses attributes that any program may choose for itself."""

    NAMES = (
        "_input_ports", "_output_ports", "_name", "_parent", "_events", "_constraints", "_start", "_converter",
        "_systems", "_connections", "_observe", "_refuse", "_expanded", "_subsystems", "_cache_entries",
        "_discrete_models",
    )  # fmt: skip

    def __init__(self):
        super().__init__()
        for name in self.NAMES:
            setattr(self, name, {"mine": name})
        self.DeclareVectorInputPort("u", 1)
        self.DeclareDiscreteState([0.0])
        self.DeclarePeriodicDiscreteUpdateEvent(0.1, 0.0, self.update)
        self.DeclareVectorOutputPort("y", 1, self.calc)

    def update(self, context, discrete):
        discrete.set_value(2.0 * self.get_input_port().Eval(context))

    def calc(self, context, output):
        output.SetFromVector(context.get_discrete_state_vector().value())


def test_attributes_of_systems_of_users_may_have_any_name():
    builder = DiagramBuilder()
    system = builder.AddNamedSystem("mine", WithNamesOfItsOwn())
    builder.ExportInput(system.get_input_port(), "u")
    builder.ExportOutput(system.get_output_port(), "y")
    diagram = builder.Build()
    diagram._systems = diagram._connections = diagram._input_ports = "mine"
    simulator = Simulator(diagram)
    context = simulator.get_mutable_context()
    diagram.get_input_port().FixValue(context, [3.0])
    simulator.AdvanceTo(0.25)
    assert diagram.get_output_port().Eval(context) == [6.0]
    assert system.GetSystemPathname() == "::Diagram::mine" and system.get_name() == "mine"
    assert all(getattr(system, name) == {"mine": name} for name in system.NAMES)
    for made in (LeafSystem(), VectorSystem(1, 1), diagram):
        ours = vars(made).keys() - {"_systems", "_connections", "_input_ports"}
        assert all(name.startswith("_sys_") for name in ours), ours


def steps_in_framework(work):
    """How many lines of this package Python goes through, each turn of a loop counted."""
    count = 0

    def trace(frame, event, argument):
        nonlocal count
        count += event == "line"
        return trace if "framework" in frame.f_code.co_filename else None

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        work()
    finally:
        sys.settrace(before)
    return count


def test_declaring_ports_and_finding_loops_take_linear_time():
    def declare(num_ports):
        system, builder = LeafSystem(), DiagramBuilder()
        for i in range(num_ports):
            port = system.DeclareVectorInputPort(f"input {i}", 1)
            system.DeclareVectorOutputPort(f"output {i}", 1, nothing, {port.ticket()})
        builder.AddSystem(system)
        builder.Connect(system.GetOutputPort("output 0"), system.GetInputPort("input 1"))
        builder.Build()

    few, many = (steps_in_framework(functools.partial(declare, num_ports)) for num_ports in (50, 200))
    assert many < 6 * few
