"""Events: simultaneous updates see old values, statuses are collected, failures leave the state as it was."""

import pytest

from merganser.framework import (
    DiagramBuilder,
    DiscreteUpdateEvent,
    EventStatus,
    LeafSystem,
    PublishEvent,
    TriggerType,
    UnrestrictedUpdateEvent,
    Value,
)
from merganser.framework.core.declarations.execution import compute_updates, execute, make_updates


class Follower(LeafSystem):
    """Discrete state that takes over its input on forced updates."""

    def __init__(self, start):
        super().__init__()
        self.DeclareVectorInputPort("u", 1)
        self.DeclareStateOutputPort("y", self.DeclareDiscreteState([start]))
        self.DeclareForcedDiscreteUpdateEvent(self._update)

    def _update(self, context, discrete_state):
        discrete_state.set_value(0, self.get_input_port().Eval(context))


def swapping():
    """Two Followers, each following the other; with their diagram and a context."""
    builder = DiagramBuilder()
    a, b = builder.AddNamedSystem("a", Follower(1.0)), builder.AddNamedSystem("b", Follower(2.0))
    builder.Cascade(a, b)
    builder.Cascade(b, a)
    diagram = builder.Build()
    return diagram, diagram.CreateDefaultContext()


def discrete(context):
    return [context.get_discrete_state(i)[0] for i in range(context.num_discrete_state_groups())]


def recorder(*declarations):
    """A system whose handlers note their name; `declarations` are (method name, handler name) pairs."""
    system = LeafSystem()
    system.set_name("recorder")
    system.log = []
    for method, name in declarations:
        getattr(system, method)(lambda *_, name=name: system.log.append(name))
    return system


def test_simultaneous_updates_see_the_values_from_before():
    diagram, context = swapping()
    diagram.ExecuteForcedEvents(context)
    assert discrete(context) == [2.0, 1.0]


def test_updates_can_be_computed_without_being_made():
    diagram, context = swapping()
    following = diagram.AllocateDiscreteVariables()
    diagram.CalcForcedDiscreteVariableUpdate(context, following)
    assert [following.get_vector(i)[0] for i in range(2)] == [2.0, 1.0]
    assert discrete(context) == [1.0, 2.0]
    part = diagram.GetSubsystemByName("b")
    mine = part.AllocateDiscreteVariables()
    part.CalcForcedDiscreteVariableUpdate(part.GetMyContextFromRoot(context), mine)
    assert mine.value().tolist() == [1.0] and discrete(context) == [1.0, 2.0]


def test_several_updates_of_one_system_build_on_each_other():
    system = LeafSystem()
    system.DeclareDiscreteState([1.0])

    def double(context, discrete_state):
        assert context.get_discrete_state(0)[0] == 1.0
        discrete_state[0] = 2.0 * discrete_state[0]

    system.DeclareForcedDiscreteUpdateEvent(double)
    system.DeclareForcedDiscreteUpdateEvent(double)
    context = system.CreateDefaultContext()
    system.ExecuteForcedEvents(context)
    assert discrete(context) == [4.0]


def test_an_update_starts_from_the_present_values():
    system = LeafSystem()
    system.DeclareDiscreteState([1.0])
    system.DeclareForcedDiscreteUpdateEvent(lambda context, discrete_state: None)
    context = system.CreateDefaultContext()
    for value in (1.0, 5.0):
        context.SetDiscreteState([value])
        system.ExecuteForcedEvents(context)
        assert discrete(context) == [value]


def test_unrestricted_updates_change_every_kind_of_state():
    system = LeafSystem()
    system.DeclareContinuousState(1)
    system.DeclareDiscreteState([0.0])
    system.DeclareAbstractState(Value("old"))

    def update(context, state):
        state.get_mutable_continuous_state()[0] = 1.0
        state.get_mutable_discrete_state(0)[0] = 2.0
        state.get_mutable_abstract_state(0).set_value("new")

    system.DeclareForcedUnrestrictedUpdateEvent(update)
    context = system.CreateDefaultContext()
    state = context.get_state().Clone()
    system.CalcForcedUnrestrictedUpdate(context, state)
    assert state.get_abstract_state(0).get_value() == "new" and state.get_continuous_state()[0] == 1.0
    assert context.get_abstract_state(0).get_value() == "old" and discrete(context) == [0.0]
    system.ExecuteForcedEvents(context)
    assert context.get_continuous_state_vector()[0] == 1.0 and discrete(context) == [2.0]
    assert context.get_abstract_state(0).get_value() == "new"


def test_unrestricted_updates_of_several_systems_all_start_from_the_state_before():
    """And land in the right place of the state of the diagram, which itself stays as it is."""
    builder = DiagramBuilder()
    for number in range(3):
        system = builder.AddNamedSystem(f"system {number}", LeafSystem())
        system.DeclareContinuousState(number + 1)
        system.DeclareDiscreteState([10.0 * number])
        system.DeclareAbstractState(Value(number))

        def update(context, state, system=system):
            x = state.get_mutable_continuous_state().get_mutable_vector()
            x.SetFromVector(x.CopyToVector() + 1.0)
            state.get_mutable_discrete_state(0)[0] += 0.5
            value = state.get_mutable_abstract_state(0)
            value.set_value(value.get_value() + 100)

        if number != 1:
            system.DeclareForcedUnrestrictedUpdateEvent(update)
    diagram = builder.Build()
    context = diagram.CreateDefaultContext()
    context.SetContinuousState([1.0, 2.0, 3.0, 4.0, 5.0, 6.0])
    state = context.get_state().Clone()
    for _ in range(2):  # what is in the room does not count
        diagram.CalcForcedUnrestrictedUpdate(context, state)
        assert list(state.get_continuous_state().CopyToVector()) == [2.0, 2.0, 3.0, 5.0, 6.0, 7.0]
        assert [state.get_discrete_state(i)[0] for i in range(3)] == [0.5, 10.0, 20.5]
        assert [state.get_abstract_state(i).get_value() for i in range(3)] == [100, 1, 102]
    assert list(context.get_continuous_state_vector().CopyToVector()) == [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]
    assert [context.get_abstract_state(i).get_value() for i in range(3)] == [0, 1, 2]


def test_order_of_forced_and_initialization_events():
    kinds = [("Publish", "p"), ("DiscreteUpdate", "d"), ("UnrestrictedUpdate", "u")]
    forced = [(f"DeclareForced{kind}Event", name) for kind, name in kinds]
    initial = [(f"DeclareInitialization{kind}Event", f"init {name}") for kind, name in kinds]
    system = recorder(*forced, *initial)
    context = system.CreateDefaultContext()
    system.ExecuteForcedEvents(context)
    assert system.log == ["u", "d", "p"]
    system.log.clear()
    system.ExecuteForcedEvents(context, publish=False)
    assert system.log == ["u", "d"]
    system.log.clear()
    system.ForcedPublish(context)
    assert system.log == ["p"]
    system.log.clear()
    system.ExecuteInitializationEvents(context)
    assert system.log == ["init u", "init d", "init p"]


def test_publishing_reaches_all_systems_of_a_diagram():
    builder = DiagramBuilder()
    systems = [recorder(("DeclareForcedPublishEvent", "p")) for _ in range(2)]
    for number, system in enumerate(systems):
        builder.AddNamedSystem(f"s{number}", system)
    diagram = builder.Build()
    diagram.ForcedPublish(diagram.CreateDefaultContext())
    assert [system.log for system in systems] == [["p"], ["p"]]


@pytest.mark.parametrize(
    "event_type, trigger, declare",
    [
        (PublishEvent, TriggerType.kPeriodic, lambda s, e: s.DeclarePeriodicEvent(0.1, 0.0, e)),
        (DiscreteUpdateEvent, TriggerType.kPerStep, lambda s, e: s.DeclarePerStepEvent(e)),
        (UnrestrictedUpdateEvent, TriggerType.kInitialization, lambda s, e: s.DeclareInitializationEvent(e)),
    ],
)
@pytest.mark.parametrize("with_system", [True, False])
def test_event_objects_know_what_triggered_them(event_type, trigger, declare, with_system):
    system, seen = LeafSystem(), []

    def callback(*arguments):
        seen.append(arguments)

    event = event_type(system_callback=callback) if with_system else event_type(callback)
    declare(system, event)
    context = system.CreateDefaultContext()
    execute(system._events_with(context, trigger))
    (arguments,) = seen
    assert (arguments[0] is system) == with_system
    assert arguments[with_system] is context
    assert arguments[with_system + 1].get_trigger_type() is trigger
    assert len(arguments) == 2 + with_system + (event_type is not PublishEvent)
    assert event.get_trigger_type() is TriggerType.kUnknown


def test_the_most_severe_status_is_kept():
    statuses = [
        EventStatus.DidNothing(),
        None,
        EventStatus.ReachedTermination(None, "there"),
        EventStatus.Succeeded(),
    ]
    system = LeafSystem()
    for status in statuses:
        system.DeclareForcedPublishEvent(lambda context, status=status: status)
    context = system.CreateDefaultContext()
    events = system._events_with(context, TriggerType.kForced)
    outcomes = [execute(events[:n]).severity() for n in range(5)]
    severity = EventStatus.Severity
    assert outcomes == [
        severity.kDidNothing, severity.kDidNothing, severity.kSucceeded, severity.kReachedTermination,
        severity.kReachedTermination,
    ]  # fmt: skip
    final = execute(events)
    assert final.reached_termination() and final.message() == "there" and final.system() is system
    assert statuses[2].system() is None  # the handler's own status is left alone


def test_a_failed_update_changes_nothing_and_is_reported():
    for kind in ("DiscreteUpdate", "UnrestrictedUpdate"):
        diagram, context = swapping()
        b = diagram.GetSubsystemByName("b")
        getattr(b, f"DeclareForced{kind}Event")(lambda c, x, b=b: EventStatus.Failed(b, "jammed"))
        with pytest.raises(RuntimeError, match=r"system '::Diagram::b' failed at time 0.0 s: jammed"):
            diagram.ExecuteForcedEvents(context)
        assert discrete(context) == [1.0, 2.0]


def test_a_failed_publish_is_reported_after_all_have_been_called():
    system = LeafSystem()
    seen = []
    system.DeclareForcedPublishEvent(lambda context: EventStatus.Failed(None, "disk full"))
    system.DeclareForcedPublishEvent(lambda context: seen.append(1))
    with pytest.raises(RuntimeError, match=r"'::LeafSystem' failed at time 0.0 s: disk full"):
        system.ForcedPublish(system.CreateDefaultContext())
    assert seen == [1]


@pytest.mark.parametrize(
    "declare, text",
    [
        ("DeclareForcedDiscreteUpdateEvent", "Forced discrete update"),
        ("DeclareForcedUnrestrictedUpdateEvent", "Forced unrestricted update"),
        ("DeclareForcedPublishEvent", "Forced publish"),
    ],
)
def test_an_exception_names_system_event_and_time_and_leaves_the_state(declare, text):
    diagram, context = swapping()
    context.SetTime(0.5)

    def fail(mine, *values):
        for value in values:
            if declare == "DeclareForcedDiscreteUpdateEvent":
                value.set_value(0, [77.0])
        raise KeyError("lost")

    getattr(diagram.GetSubsystemByName("b"), declare)(fail)
    with pytest.raises(KeyError, match="lost") as caught:
        if declare == "DeclareForcedPublishEvent":
            diagram.ForcedPublish(context)
        else:
            diagram.ExecuteForcedEvents(context)
    assert caught.value.__notes__ == [
        f"while handling the {text} event of system '::Diagram::b' at time 0.5 s, by fail"
    ]
    assert discrete(context) == [1.0, 2.0]


def test_handlers_must_return_a_status_or_nothing():
    system = LeafSystem()
    system.DeclareForcedPublishEvent(lambda context: 5)
    with pytest.raises(
        TypeError, match="Forced publish event of system '::LeafSystem' must return an EventStatus"
    ):
        system.ForcedPublish(system.CreateDefaultContext())


def test_updates_write_through_to_the_diagram_and_outdate_what_depends_on_them():
    diagram, context = swapping()
    a = diagram.GetSubsystemByName("a")
    mine = a.GetMyContextFromRoot(context)
    assert a.get_output_port().Eval(mine)[0] == 1.0
    diagram.ExecuteForcedEvents(context)
    assert a.get_output_port().Eval(mine)[0] == 2.0
    assert mine.get_discrete_state(0)[0] == context.get_discrete_state(0)[0] == 2.0


@pytest.mark.parametrize("kind", ["DiscreteUpdate", "UnrestrictedUpdate"])
def test_a_question_leaves_what_is_still_to_be_updated(kind):
    """As after an interrupt between the handlers and the update."""
    system = LeafSystem()
    system.DeclareDiscreteState([1.0])

    def double(context, result):
        values = result if kind == "DiscreteUpdate" else result.get_mutable_discrete_state()
        values[0] = 2.0 * context.get_discrete_state_vector()[0]

    getattr(system, f"DeclareForced{kind}Event")(double)
    context = system.CreateDefaultContext()
    _, pending = compute_updates(system._events_with(context, TriggerType.kForced))
    context.SetDiscreteState([10.0])
    if kind == "DiscreteUpdate":
        room = context.get_discrete_state().Clone()
        system.CalcForcedDiscreteVariableUpdate(context, room)
    else:
        room = context.get_state().Clone()
        system.CalcForcedUnrestrictedUpdate(context, room)
        room = room.get_discrete_state()
    assert room[0] == 20.0 and discrete(context) == [10.0]
    make_updates(pending)
    assert discrete(context) == [2.0]
