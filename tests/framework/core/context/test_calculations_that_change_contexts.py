"""Callbacks that read or change contexts of other systems, or their own, while a value is computed."""

import pytest

from merganser.framework import AlgebraicLoopError, BasicVector, DiagramBuilder, LeafSystem
from merganser.framework.primitives import PassThrough


class Counted(LeafSystem):
    """y = f(context), counting the computations; its discrete state is a number."""

    def __init__(self, name, f=lambda context: context.get_discrete_state(0)[0]):
        super().__init__()
        self.set_name(name)
        self.DeclareVectorInputPort("u", 1)
        self.DeclareContinuousState(1)
        self.DeclareDiscreteState([0.0])
        self.DeclareNumericParameter(BasicVector([0.0]))
        self.count = 0
        self.f = f
        self.DeclareVectorOutputPort("y", 1, self.calc)

    def calc(self, context, output):
        self.count += 1
        output.SetAtIndex(0, self.f(context))


def diagram_of(*systems):
    builder = DiagramBuilder()
    for system in systems:
        builder.AddSystem(system)
    diagram = builder.Build()
    diagram.set_name("whole")
    context = diagram.CreateDefaultContext()
    return context, [system.GetMyContextFromRoot(context) for system in systems]


def value(system, root):
    return system.get_output_port().Eval(system.GetMyContextFromRoot(root))[0]


# -- reading elsewhere ---------------------------------------------------------------------------------


READS = {
    "time": (lambda c: c.get_time(), lambda root, c: root.SetTime(3.0)),
    "continuous state": (lambda c: c.get_continuous_state()[0], lambda root, c: c.SetContinuousState([3.0])),
    "discrete state": (lambda c: c.get_discrete_state(0)[0], lambda root, c: c.SetDiscreteState([3.0])),
    "parameter": (
        lambda c: c.get_numeric_parameter(0)[0], lambda root, c: c.get_mutable_numeric_parameter(0).SetAtIndex(0, 3.0),
    ),
    "input": (
        lambda c: c.system.get_input_port().Eval(c)[0],
        lambda root, c: c.system.get_input_port().FixValue(c, 3.0),
    ),
    "output": (lambda c: c.system.get_output_port().Eval(c)[0], lambda root, c: c.SetDiscreteState([3.0])),
}  # fmt: skip


@pytest.mark.parametrize("what", READS)
def test_what_a_callback_reads_of_another_system_is_watched(what):
    read, change = READS[what]
    other = Counted("other")
    watcher = Counted("watcher", lambda context: read(watcher.watched))
    behind = PassThrough(1)
    builder = DiagramBuilder()
    for system in (other, watcher, behind):
        builder.AddSystem(system)
    builder.Cascade(watcher, behind)
    root = builder.Build().CreateDefaultContext()
    watcher.watched = other.GetMyMutableContextFromRoot(root)
    other.get_input_port().FixValue(watcher.watched, 0.0)
    assert value(behind, root) == 0.0
    change(root, watcher.watched)
    assert value(behind, root) == 3.0
    assert value(behind, root) == 3.0 and watcher.count == 2


def test_what_is_read_elsewhere_is_not_taken_for_an_input_of_ones_own():
    other = Counted("other")
    other.DeclareVectorInputPort("many", 1)
    watcher = Counted("watcher", lambda context: watcher.watched.get_discrete_state(0)[0])
    root, (watched, _) = diagram_of(other, watcher)
    watcher.watched = watched
    assert value(watcher, root) == 0.0
    assert not watcher.HasDirectFeedthrough(0)


def test_systems_that_read_one_anothers_outputs_are_an_algebraic_loop():
    a = Counted("a", lambda context: value(b, a.root))
    b = Counted("b", lambda context: value(a, a.root))
    a.root, _ = diagram_of(a, b)
    with pytest.raises(AlgebraicLoopError, match="'::whole::a'"):
        value(a, a.root)


def test_a_callback_that_reads_nothing_is_asked_again_at_another_time():
    slider = Counted("slider", lambda context: slider.position)
    slider.position = 1.0
    root, _ = diagram_of(slider)
    assert value(slider, root) == 1.0
    slider.position = 2.0
    root.SetTime(0.1)
    assert value(slider, root) == 2.0


# -- changing what is elsewhere, or ones own -----------------------------------------------------------


CHANGES = {
    "continuous state": lambda c, u: c.SetContinuousState([u]),
    "its vector": lambda c, u: c.get_mutable_continuous_state().SetFromVector([u]),
    "discrete state": lambda c, u: c.SetDiscreteState([u]),
    "parameter": lambda c, u: c.get_mutable_numeric_parameter(0).SetAtIndex(0, u),
    "state": lambda c, u: c.get_mutable_state().get_mutable_discrete_state().get_mutable_vector().SetFromVector([u]),
    "input": lambda c, u: c.system.get_input_port().FixValue(c, u),
}


@pytest.mark.parametrize("what", CHANGES)
def test_a_calculation_may_change_the_context_of_a_system_that_it_does_not_read(what, caplog):
    other = Counted("other")

    def calc(context):
        CHANGES[what](meddler.other, context.get_discrete_state(0)[0])
        return 7.0

    meddler = Counted("meddler", calc)
    root, (meddler.other, mine) = diagram_of(other, meddler)
    assert value(other, root) == 0.0
    mine.SetDiscreteState([3.0])
    for _ in range(3):
        assert value(meddler, root) == 7.0
    assert meddler.count <= 2  # at first it is not known on what it depends
    assert value(other, root) == (3.0 if what in ("discrete state", "state") else 0.0)
    assert not caplog.records


def test_a_calculation_may_change_a_hidden_context_of_its_own_root(caplog):
    plant = Counted("plant")
    hidden = plant.CreateDefaultContext()

    def calc(context):
        hidden.SetDiscreteState([2.0 * context.get_time()])
        return plant.get_output_port().Eval(hidden)[0]

    controller = Counted("controller", calc)
    root, _ = diagram_of(controller)
    for time in (1.0, 2.0):
        root.SetTime(time)
        assert value(controller, root) == 2.0 * time
    assert controller.count == 2 and not caplog.records


@pytest.mark.parametrize("reads_first", [True, False])
def test_a_value_whose_calculation_changes_its_inputs_is_logged_once_and_not_stale(reads_first, caplog):
    def calc(context):
        before = context.get_discrete_state(0)[0]
        context.SetDiscreteState([before + 1.0])
        return before if reads_first else context.get_discrete_state(0)[0]

    system = Counted(f"counter_{reads_first}", calc)
    behind = PassThrough(1)
    builder = DiagramBuilder()
    builder.AddSystem(system)
    builder.AddSystem(behind)
    builder.Cascade(system, behind)
    diagram = builder.Build()
    diagram.set_name("whole")
    root = diagram.CreateDefaultContext()
    values = [value(behind, root) for _ in range(3)]
    assert values == [v + (not reads_first) for v in (0.0, 1.0, 2.0)] and system.count == 3
    (record,) = caplog.records
    message = record.getMessage()
    assert (record.name, record.levelname) == ("merganser.framework", "WARNING")
    for part in ("'y'", f"'::whole::counter_{reads_first}'", "changed the context"):
        assert part in message


def test_values_computed_before_a_change_within_an_evaluation_are_stale_after_it():
    """Nothing is known about dependencies yet when all of this happens in the first evaluation."""
    other = Counted("other")

    def calc(context):
        first = value(other, asker.root)
        asker.other.SetDiscreteState([first + 5.0])
        return first

    asker = Counted("asker", calc)
    asker.root, (asker.other, _) = diagram_of(other, asker)
    assert value(asker, asker.root) == 0.0
    assert value(other, asker.root) == 5.0


def test_an_evaluation_in_which_contexts_change_ends_in_a_chain_of_diamonds():
    builder = DiagramBuilder()

    def calc(context):
        context.SetDiscreteState([1.0])
        return context.get_discrete_state(0)[0]

    source = builder.AddSystem(Counted("source", calc))
    before = source
    for i in range(30):
        adder = LeafSystem()
        for name in "ab":
            adder.DeclareVectorInputPort(name, 1)

        def add(context, output, system=adder):
            output.SetAtIndex(0, 0.5 * sum(port.Eval(context)[0] for port in map(system.get_input_port, range(2))))

        adder.DeclareVectorOutputPort("y", 1, add)
        builder.AddNamedSystem(f"adder_{i}", adder)
        for index in range(2):
            builder.Connect(before.get_output_port(), adder.get_input_port(index))
        before = adder
    root = builder.Build().CreateDefaultContext()
    assert value(before, root) == 1.0 and value(before, root) == 1.0
    assert source.count == 2


def test_a_calculation_that_sets_the_state_as_it_is_changes_nothing(caplog):
    """State machines write their mode in every output, whether or not it has changed."""

    def calc(context):
        mode = context.get_discrete_state(0)[0]
        context.SetDiscreteState(0, [mode])
        return mode

    machine = Counted("machine", calc)
    root, (own,) = diagram_of(machine)
    assert [value(machine, root) for _ in range(3)] == [0.0, 0.0, 0.0] and machine.count == 1
    own.SetDiscreteState([2.0])
    assert value(machine, root) == 2.0 and machine.count == 2 and not caplog.records
