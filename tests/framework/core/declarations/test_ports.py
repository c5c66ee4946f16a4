"""Input and output ports: fixing, connecting, and what they say when something is missing or does not fit."""

from itertools import pairwise

import numpy as np
import pytest
from framework_blocks import Scaled, Sum

from merganser.framework import BasicVector, DiagramBuilder, LeafSystem, UnconnectedInputError, Value


class Echo(LeafSystem):
    """Passes a list on."""

    def __init__(self):
        super().__init__()
        self.DeclareAbstractInputPort("u", Value([]))
        self.DeclareAbstractOutputPort("y", lambda: Value([]), self._calc)

    def _calc(self, context, output):
        output.set_value(self.get_input_port().Eval(context))


def series(*systems):
    """The systems one after the other, the first input and the last output exported."""
    builder = DiagramBuilder()
    for system in systems:
        builder.AddSystem(system)
    for before, after in pairwise(systems):
        builder.Cascade(before, after)
    builder.ExportInput(systems[0].get_input_port(), "u")
    builder.ExportOutput(systems[-1].get_output_port(), "y")
    return builder.Build()


def named(name, system):
    system.set_name(name)
    return system


@pytest.mark.parametrize(
    "value",
    [[1.0, 2.0], (1, 2), np.array([[1.0], [2.0]]), BasicVector([1.0, 2.0]), Value(BasicVector([1.0, 2.0]))],
)
def test_vector_ports_take_any_vector_of_their_size(value):
    system = Scaled(2)
    context = system.CreateDefaultContext()
    system.get_input_port().FixValue(context, value)
    assert system.get_input_port().Eval(context).tolist() == [1.0, 2.0]
    assert system.get_output_port().Eval(context).tolist() == [2.0, 4.0]


def test_ports_of_one_element_take_a_number():
    system = Scaled(1)
    context = system.CreateDefaultContext()
    system.get_input_port().FixValue(context, 3)
    assert system.get_output_port().Eval(context).tolist() == [6.0]


def test_values_that_do_not_fit_are_refused_and_change_nothing():
    system = named("amplifier", Scaled(2))
    context = system.CreateDefaultContext()
    port = system.get_input_port()
    port.FixValue(context, [1.0, 2.0])
    for wrong in ([1.0], 1.0, np.zeros((2, 2)), []):
        with pytest.raises(
            ValueError, match=r"Input port 'u' \(index 0\) of system '::amplifier' has size 2"
        ):
            port.FixValue(context, wrong)
    for wrong in ("ab", ["a", "b"], Value("x")):
        with pytest.raises(TypeError, match="'::amplifier' takes numbers"):
            port.FixValue(context, wrong)
    with pytest.raises(TypeError, match="complex numbers in a context of floats"):
        port.FixValue(context, [1j, 0.0])
    assert port.Eval(context).tolist() == [1.0, 2.0]


def test_abstract_ports_check_types_and_copy():
    system = named("echo", Echo())
    context = system.CreateDefaultContext()
    port = system.get_input_port()
    mine = [1]
    port.FixValue(context, mine)
    mine.append(2)
    assert system.get_output_port().Eval(context) == [1]
    port.FixValue(context, Value([3]))
    assert system.get_output_port().Eval(context) == [3]
    with pytest.raises(TypeError, match=r"Input port 'u' .*'::echo' takes values of type list; got str"):
        port.FixValue(context, "text")


def test_ways_to_read_a_port():
    system = Scaled(2)
    context = system.CreateDefaultContext()
    u, y = system.get_input_port(), system.get_output_port()
    u.FixValue(context, [1.0, 2.0])
    for port, expected in ((u, [1.0, 2.0]), (y, [2.0, 4.0])):
        array = port.Eval(context)
        array[:] = 0.0  # a copy
        assert port.EvalBasicVector(context).value().tolist() == expected
        assert port.EvalAbstract(context).get_value().value().tolist() == expected
        assert port.Allocate().get_value().size() if port is y else port.Allocate().get_value().size == 2
    assert system.EvalVectorInput(context, 0).value().tolist() == [1.0, 2.0]
    assert system.EvalAbstractInput(context, 0).get_value().value().tolist() == [1.0, 2.0]


def test_abstract_ports_are_no_vectors():
    system = Echo()
    context = system.CreateDefaultContext()
    u, y = system.get_input_port(), system.get_output_port()
    u.FixValue(context, [1])
    for call in (u.EvalBasicVector, y.EvalBasicVector, lambda c: system.EvalVectorInput(c, 0)):
        with pytest.raises(TypeError, match="carries an abstract value"):
            call(context)
    assert y.EvalAbstract(context).get_value() == [1]
    assert y.Allocate().get_value() == u.Allocate().get_value() == []


def test_unconnected_input_names_system_path_port_and_index():
    inner = named("robot", series(named("pid", Scaled())))
    diagram = named("station", series(inner))
    context = diagram.CreateDefaultContext()
    with pytest.raises(UnconnectedInputError) as caught:
        diagram.get_output_port().Eval(context)
    message = str(caught.value)
    assert message.startswith("Input port 'u' (index 0) of system '::station::robot::pid' is not connected")
    assert "FixValue" in message
    with pytest.raises(
        UnconnectedInputError, match=r"Input port 'u' \(index 0\) of system '::station' is not"
    ):
        diagram.get_input_port().Eval(context)


def test_unconnected_input_reads_as_none():
    system = Scaled()
    context = system.CreateDefaultContext()
    assert not system.get_input_port().HasValue(context)
    assert system.EvalVectorInput(context, 0) is None
    assert system.EvalAbstractInput(context, 0) is None
    system.get_input_port().FixValue(context, 1.0)
    assert system.get_input_port().HasValue(context)


def test_has_value_sees_through_diagrams():
    first, second = Scaled(), Scaled()
    diagram = series(named("a", first), named("b", second))
    context = diagram.CreateDefaultContext()
    parts = [system.GetMyContextFromRoot(context) for system in (first, second)]
    assert not diagram.get_input_port().HasValue(context)
    assert not first.get_input_port().HasValue(parts[0])
    assert second.get_input_port().HasValue(parts[1])
    diagram.get_input_port().FixValue(context, 1.0)
    assert diagram.get_input_port().HasValue(context) and first.get_input_port().HasValue(parts[0])


def test_fixing_an_exported_port_reaches_the_systems_inside():
    leaf = Scaled()
    diagram = series(series(series(leaf)))
    context = diagram.CreateDefaultContext()
    fixed = diagram.get_input_port().FixValue(context, 3.0)
    assert diagram.get_output_port().Eval(context).tolist() == [6.0]
    fixed.GetMutableVectorData()[0] = 5.0
    assert diagram.get_output_port().Eval(context).tolist() == [10.0]
    assert leaf.get_input_port().Eval(leaf.GetMyContextFromRoot(context)).tolist() == [5.0]
    assert diagram.get_input_port().Eval(context).tolist() == [5.0]


def test_fixing_takes_the_place_of_a_connection():
    first, second = Scaled(), Scaled()
    diagram = series(named("a", first), named("b", second))
    context = diagram.CreateDefaultContext()
    diagram.get_input_port().FixValue(context, 1.0)
    assert diagram.get_output_port().Eval(context).tolist() == [4.0]
    second.get_input_port().FixValue(second.GetMyContextFromRoot(context), 100.0)
    assert diagram.get_output_port().Eval(context).tolist() == [200.0]
    diagram.get_input_port().FixValue(context, 7.0)
    assert diagram.get_output_port().Eval(context).tolist() == [200.0]
    other = diagram.CreateDefaultContext()
    diagram.get_input_port().FixValue(other, 1.0)
    assert diagram.get_output_port().Eval(other).tolist() == [4.0]


def test_a_value_fixed_inside_wins_over_one_fixed_outside_in_either_order():
    for inner_first in (True, False):
        leaf = Scaled()
        diagram = series(series(leaf))
        context = diagram.CreateDefaultContext()
        fixes = [
            lambda leaf=leaf, c=context: leaf.get_input_port().FixValue(leaf.GetMyContextFromRoot(c), 10.0),
            lambda d=diagram, c=context: d.get_input_port().FixValue(c, 1.0),
        ]
        for fix in fixes if inner_first else reversed(fixes):
            fix()
        assert diagram.get_output_port().Eval(context).tolist() == [20.0]
        assert diagram.get_input_port().Eval(context).tolist() == [1.0]


def test_fixed_values_keep_the_type_of_the_port():
    class Pair(BasicVector):
        pass

    system = LeafSystem()
    port = system.DeclareVectorInputPort("u", Pair([1.0, 2.0]))
    context = system.CreateDefaultContext()
    port.FixValue(context, [3.0, 4.0])
    assert type(port.EvalBasicVector(context)) is Pair
    assert type(system.AllocateInputVector(port)) is Pair


def test_inputs_can_be_taken_over_from_another_context():
    one, two = Sum(), Sum()
    source, target = one.CreateDefaultContext(), two.CreateDefaultContext()
    one.GetInputPort("a").FixValue(source, 3.0)
    two.FixInputPortsFrom(one, source, target)
    assert two.GetInputPort("a").Eval(target).tolist() == [3.0]
    assert not two.GetInputPort("b").HasValue(target)


def test_exceptions_name_the_blocks_on_the_way():
    class Failing(Scaled):
        def _calc(self, context, output):
            raise ValueError("bad")

    diagram = named("root", series(named("first", Failing()), named("second", Scaled())))
    context = diagram.CreateDefaultContext()
    with pytest.raises(ValueError, match="bad") as caught:
        diagram.get_output_port().Eval(context)
    assert caught.value.__notes__ == [
        "while computing output port 'y' of system '::root::first' at time 0.0 s",
        "while computing output port 'y' of system '::root::second' at time 0.0 s",
    ]


def test_notes_about_a_long_chain_stay_readable():
    class Failing(Scaled):
        def _calc(self, context, output):
            raise ValueError("bad")

    diagram = series(named("f", Failing()), *(named(f"s{i}", Scaled()) for i in range(50)))
    with pytest.raises(ValueError) as caught:
        diagram.get_output_port().Eval(diagram.CreateDefaultContext())
    assert len(caught.value.__notes__) < 10 and "::f'" in caught.value.__notes__[0]


def test_calc_that_writes_the_wrong_size_is_reported_with_its_block():
    system = named("sensor", LeafSystem())
    y = system.DeclareVectorOutputPort("y", 2, lambda c, out: out.SetFromVector([1.0, 2.0, 3.0]))
    with pytest.raises(ValueError, match=r"size 2.*\(3,\)") as caught:
        y.Eval(system.CreateDefaultContext())
    assert "output port 'y' of system '::sensor'" in caught.value.__notes__[0]


def test_a_context_that_is_older_than_a_port_says_so():
    system = LeafSystem()
    context = system.CreateDefaultContext()
    port = system.DeclareVectorOutputPort("late", 1, lambda context, output: output.SetFromVector([1.0]))
    with pytest.raises(RuntimeError, match=r"'late' \(index 0\) of system .* was declared after this Context was made"):
        port.Eval(context)
    assert port.Eval(system.CreateDefaultContext()) == [1.0]


def test_index_errors_of_calculations_stay_what_they_are():
    system = LeafSystem()
    port = system.DeclareVectorOutputPort("y", 1, lambda context, output: [][1])
    with pytest.raises(IndexError):
        port.Eval(system.CreateDefaultContext())
