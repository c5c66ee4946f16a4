"""Algebraic loops are refused, whole and by name; what is no loop is not refused."""

import re
from itertools import pairwise

import pytest
from framework_blocks import Accumulator, Scaled, Sum

from merganser.framework import AlgebraicLoopError, DiagramBuilder, LeafSystem


def ring(*systems):
    """A builder with the systems in a circle."""
    builder = DiagramBuilder()
    for number, system in enumerate(systems):
        builder.AddNamedSystem(f"s{number}", system)
    for before, after in zip(systems, (*systems[1:], systems[0])):
        builder.Connect(before.get_output_port(0), after.get_input_port(0))
    return builder


def wrapped(*systems):
    """The systems in series in a diagram of their own."""
    builder = DiagramBuilder()
    for number, system in enumerate(systems):
        builder.AddNamedSystem(f"inner{number}", system)
    for before, after in pairwise(systems):
        builder.Cascade(before, after)
    builder.ExportInput(systems[0].get_input_port(), "u")
    builder.ExportOutput(systems[-1].get_output_port(), "y")
    return builder.Build()


class Mode(LeafSystem):
    """y = u if the discrete state is positive, else 0; with default values it does not read u."""

    def __init__(self, start=0.0):
        super().__init__()
        self.DeclareVectorInputPort("u", 1)
        self.DeclareDiscreteState([start])
        self.DeclareVectorOutputPort("y", 1, self._calc)

    def _calc(self, context, output):
        direct = context.get_discrete_state(0)[0] > 0.0
        output.SetFromVector(self.get_input_port().Eval(context) if direct else [0.0])


@pytest.mark.parametrize("declared", [True, False], ids=["declared", "learnt"])
def test_a_loop_is_refused_and_listed_in_order(declared):
    builder = ring(*(Scaled(declared=declared) for _ in range(3)))
    with pytest.raises(AlgebraicLoopError) as caught:
        builder.Build()
    places = re.findall(r"(Input|Output) port '(\w)' \(index 0\) of system '::(s\d)'", str(caught.value))
    assert len(places) == 7 and places[0] == places[-1]
    order = [name for kind, _, name in places[:-1] if kind == "Output"]
    start = order.index("s0")
    assert order[start:] + order[:start] == ["s0", "s1", "s2"]
    assert "prerequisites_of_calc" in str(caught.value)


def test_a_system_connected_to_itself():
    with pytest.raises(AlgebraicLoopError, match="'::s0'"):
        ring(Scaled()).Build()
    ring(Accumulator()).Build()


def test_a_loop_through_nested_diagrams():
    with pytest.raises(AlgebraicLoopError, match=r"Input port 'u' .*'::s0'"):
        ring(wrapped(wrapped(Scaled(), Scaled())), wrapped(Scaled())).Build()


def test_only_what_is_on_the_loop_is_listed():
    builder = ring(Scaled(), Scaled())
    bystander = builder.AddNamedSystem("bystander", Scaled())
    builder.Connect(builder.GetSubsystemByName("s0").get_output_port(), bystander.get_input_port())
    with pytest.raises(AlgebraicLoopError) as caught:
        builder.Build()
    assert "bystander" not in str(caught.value)


def test_integrators_break_loops_without_saying_so():
    diagram = ring(Accumulator(start=1.0), Scaled(factor=-2.0)).Build()
    context = diagram.CreateDefaultContext()
    assert diagram.EvalTimeDerivatives(context)[0] == -2.0
    nested = ring(wrapped(Scaled(), Accumulator(start=1.0)), wrapped(Scaled(factor=-1.0))).Build()
    assert nested.EvalTimeDerivatives(nested.CreateDefaultContext())[0] == -2.0


def test_blocks_with_several_ports_are_no_loop_unless_the_ports_are():
    class Crossed(LeafSystem):
        """y0 = u0, y1 = u1: connecting y0 to u1 is fine."""

        def __init__(self):
            super().__init__()
            for index in range(2):
                port = self.DeclareVectorInputPort(f"u{index}", 1)
                self.DeclareVectorOutputPort(
                    f"y{index}", 1, lambda c, out, port=port: out.SetFromVector(1.0 + port.Eval(c))
                )

    builder = DiagramBuilder()
    system = builder.AddSystem(Crossed())
    builder.Connect(system.get_output_port(0), system.get_input_port(1))
    builder.ExportInput(system.get_input_port(0), "u")
    builder.ExportOutput(system.get_output_port(1), "y")
    diagram = builder.Build()
    context = diagram.CreateDefaultContext()
    diagram.get_input_port().FixValue(context, 5.0)
    assert diagram.get_output_port().Eval(context).tolist() == [7.0]
    assert diagram.GetDirectFeedthroughs() == [(0, 0)]


def test_building_computes_nothing_where_no_loop_is_possible():
    builder = DiagramBuilder()
    systems = [builder.AddSystem(Scaled()) for _ in range(3)]
    for before, after in pairwise(systems):
        builder.Cascade(before, after)
    builder.Build()
    assert [system.count for system in systems] == [0, 0, 0]


def test_a_callback_that_cannot_cope_with_default_values_counts_as_direct():
    class Inverse(Scaled):
        def _calc(self, context, output):
            output[0] = 1.0 / [0.0, *self.get_input_port().Eval(context)].index(5.0)

    assert Inverse().GetDirectFeedthroughs() == [(0, 0)]
    with pytest.raises(AlgebraicLoopError):
        ring(Inverse(), Scaled()).Build()
    ring(Inverse(), Accumulator()).Build()


def test_a_loop_that_shows_only_in_another_branch_is_found_when_it_is_taken():
    mode, gain = Mode(), Scaled()
    diagram = ring(mode, gain).Build()
    context = diagram.CreateDefaultContext()
    y = gain.get_output_port()
    mine = gain.GetMyContextFromRoot(context)
    assert y.Eval(mine).tolist() == [0.0]
    mode.GetMyContextFromRoot(context).SetDiscreteState([1.0])
    for _ in range(2):
        with pytest.raises(AlgebraicLoopError) as caught:
            y.Eval(mine)
        assert re.findall(r"of system '::Diagram::(s\d)'", str(caught.value).split("(again)")[0])[:3] == [
            "s0",
            "s1",
            "s0",
        ]
    mode.GetMyContextFromRoot(context).SetDiscreteState([0.0])
    assert y.Eval(mine).tolist() == [0.0]


def test_a_loop_over_two_branches_that_never_meet_is_found_too():
    first, second = Mode(), Mode()
    diagram = ring(first, second).Build()
    context = diagram.CreateDefaultContext()
    parts = [system.GetMyContextFromRoot(context) for system in (first, second)]
    parts[0].SetDiscreteState([1.0])
    assert first.get_output_port().Eval(parts[0]).tolist() == [0.0]
    parts[0].SetDiscreteState([0.0])
    parts[1].SetDiscreteState([1.0])
    for _ in range(2):
        with pytest.raises(AlgebraicLoopError, match=r"'::Diagram::s0'(.|\n)*'::Diagram::s1'(.|\n)*again"):
            second.get_output_port().Eval(parts[1])


def test_a_long_loop_is_listed_without_running_out_of_stack():
    modes = [Mode(), *(Scaled(factor=1.0) for _ in range(600))]
    diagram = ring(*modes).Build()
    context = diagram.CreateDefaultContext()
    last = modes[-1]
    last.get_output_port().Eval(last.GetMyContextFromRoot(context))
    modes[0].GetMyContextFromRoot(context).SetDiscreteState([1.0])
    with pytest.raises(AlgebraicLoopError) as caught:
        last.get_output_port().Eval(last.GetMyContextFromRoot(context))
    assert str(caught.value).count("output port 'y'") == 602


def test_adding_up_a_loop_with_a_delay_is_fine():
    class Delay(LeafSystem):
        def __init__(self):
            super().__init__()
            self.DeclareVectorInputPort("u", 1)
            self.DeclareStateOutputPort("y", self.DeclareDiscreteState([1.0]))
            self.DeclareForcedDiscreteUpdateEvent(lambda c, xd: xd.set_value(self.get_input_port().Eval(c)))

    total, delay = Sum(), Delay()
    builder = ring(total, delay)
    builder.ExportInput(total.GetInputPort("b"), "b")
    builder.ExportOutput(total.get_output_port(), "y")
    diagram = builder.Build()
    context = diagram.CreateDefaultContext()
    diagram.get_input_port().FixValue(context, 1.0)
    for expected in (2.0, 3.0, 4.0):
        assert diagram.get_output_port().Eval(context).tolist() == [expected]
        diagram.ExecuteForcedEvents(context)
