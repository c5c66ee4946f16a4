"""Values are recomputed only when something that they depend on has changed; counted, not timed."""

from itertools import pairwise

import pytest
from framework_blocks import Accumulator, EachSource, Scaled, Sum

from merganser.framework import BasicVector, DiagramBuilder, LeafSystem, Value, ValueProducer
from merganser.framework.core.context.dependencies import V

CHANGES = {
    "time": (lambda s, c: c.SetTime(1.0), {"time"}),
    "accuracy": (lambda s, c: c.SetAccuracy(0.1), {"accuracy"}),
    "continuous state": (lambda s, c: c.SetContinuousState([1.0, 2.0, 3.0, 4.0]), {"xc"}),
    "one discrete group": (lambda s, c: c.SetDiscreteState(0, [9.0]), {"xd0"}),
    "the other discrete group": (lambda s, c: c.get_mutable_discrete_state(1).SetAtIndex(0, 9.0), {"xd1"}),
    "all discrete groups": (lambda s, c: c.get_mutable_discrete_state(), {"xd0", "xd1"}),
    "one abstract state": (lambda s, c: c.SetAbstractState(1, "new"), {"xa1"}),
    "all abstract states": (lambda s, c: c.get_mutable_abstract_state(), {"xa0", "xa1"}),
    "the state": (lambda s, c: c.get_mutable_state(), {"xc", "xd0", "xd1", "xa0", "xa1"}),
    "one numeric parameter": (lambda s, c: c.get_mutable_numeric_parameter(0), {"pn0"}),
    "one abstract parameter": (lambda s, c: c.get_mutable_abstract_parameter(1), {"pa1"}),
    "all parameters": (lambda s, c: c.get_mutable_parameters(), {"pn0", "pn1", "pa0", "pa1"}),
    "an input": (lambda s, c: s.GetInputPort("w").FixValue(c, 3.0), {"w"}),
    "nothing": (lambda s, c: c.get_state(), set()),
    "time and continuous state": (lambda s, c: c.SetTimeAndContinuousState(1.0, [1.0] * 4), {"time", "xc"}),
}


@pytest.mark.parametrize("declared", [True, False], ids=["declared", "learnt"])
@pytest.mark.parametrize("name", CHANGES)
def test_only_what_depends_on_the_change_is_recomputed(name, declared):
    system = EachSource(declared)
    context = system.default_context()
    assert system.recomputed(context) == set()
    change, expected = CHANGES[name]
    change(system, context)
    if "time" in expected and not declared:
        expected = expected | {"nothing"}  # what reads nothing has its value from outside of the context, as of now
    assert system.recomputed(context) == expected
    assert system.recomputed(context) == set()


def test_changes_of_one_clone_leave_the_other_up_to_date():
    system = EachSource(declared=False)
    context = system.default_context()
    clone = context.Clone()
    system.recomputed(clone)
    clone.SetTime(5.0)
    assert system.recomputed(context) == set()
    assert system.recomputed(clone) == {"time", "nothing"}


def test_positions_and_velocities_are_distinguished():
    system = LeafSystem()
    counts = {"q": 0, "v": 0}
    state = system.DeclareContinuousState(1, 1, 0)

    def counter(name):
        def calc(context, output):
            counts[name] += 1

        return calc

    q = system.DeclareVectorOutputPort("q", 1, counter("q"), {system.q_ticket()})
    v = system.DeclareVectorOutputPort("v", 1, counter("v"), {system.v_ticket()})
    context = system.CreateDefaultContext()
    for expected in ({"q": 1, "v": 1}, {"q": 1, "v": 2}):
        q.Eval(context), v.Eval(context)
        assert counts == expected
        context.store.change(context.layout.down_nodes[V], context)
    context.SetContinuousState([1.0, 2.0])
    q.Eval(context), v.Eval(context)
    assert counts == {"q": 2, "v": 3} and state == 0


def wrapped(system, name):
    """`system` in a diagram of its own, its first input and output exported."""
    builder = DiagramBuilder()
    builder.AddSystem(system)
    builder.ExportInput(system.get_input_port(0), "u")
    builder.ExportOutput(system.get_output_port(0), "y")
    diagram = builder.Build()
    diagram.set_name(name)
    return diagram


def upstream_diagram():
    """left, right -> sum, with a Scaled in two diagrams before `a` and a bare Accumulator before `b`."""
    builder = DiagramBuilder()
    left, right, total = Scaled(), Accumulator(), Sum()
    before_a = builder.AddSystem(wrapped(wrapped(left, "one"), "two"))
    builder.AddNamedSystem("right", right)
    builder.AddNamedSystem("total", total)
    builder.Connect(before_a.get_output_port(), total.GetInputPort("a"))
    builder.Connect(right.get_output_port(), total.GetInputPort("b"))
    builder.ExportInput(before_a.get_input_port(), "left")
    builder.ExportInput(right.get_input_port(), "right")
    builder.ExportOutput(total.get_output_port(), "total")
    return builder.Build(), left, right, total


def test_a_change_upstream_reaches_through_nested_diagrams_and_no_further():
    diagram, left, right, total = upstream_diagram()
    context = diagram.CreateDefaultContext()
    diagram.GetInputPort("left").FixValue(context, 1.0)
    fixed = diagram.GetInputPort("right").FixValue(context, 1.0)

    def counts():
        assert diagram.get_output_port().Eval(context) is not None
        result = (left.count, right.count, total.count)
        left.count = right.count = total.count = 0
        return result

    left.count = right.count = total.count = 0
    assert counts() == (1, 1, 1)
    assert counts() == (0, 0, 0)
    diagram.GetInputPort("left").FixValue(context, 2.0)
    assert counts() == (1, 0, 1)
    fixed.GetMutableData()
    assert counts() == (0, 0, 0)  # no feedthrough from there
    context.SetContinuousState([4.0])
    assert counts() == (0, 1, 1)
    context.SetTime(1.0)
    assert counts() == (0, 0, 0)
    assert diagram.get_output_port().Eval(context).tolist() == [8.0]


def test_derivatives_are_recomputed_when_an_input_or_the_state_changes():
    class Decay(LeafSystem):
        count = 0

        def __init__(self):
            super().__init__()
            self.DeclareVectorInputPort("u", 1)
            self.DeclareContinuousState(1)

        def DoCalcTimeDerivatives(self, context, derivatives):
            self.count += 1
            derivatives[0] = self.EvalVectorInput(context, 0)[0] - context.get_continuous_state_vector()[0]

    system = Decay()
    context = system.CreateDefaultContext()
    fixed = system.get_input_port().FixValue(context, 3.0)
    assert system.EvalTimeDerivatives(context)[0] == 3.0
    context.SetTime(1.0)
    system.EvalTimeDerivatives(context)
    assert system.count == 1
    fixed.GetMutableVectorData()[0] = 5.0
    context.SetContinuousState([1.0])
    assert system.EvalTimeDerivatives(context)[0] == 4.0
    derivatives = system.AllocateTimeDerivatives()
    system.CalcTimeDerivatives(context, derivatives)
    assert derivatives[0] == 4.0 and system.count == 2


def test_entries_that_depend_on_entries():
    system = LeafSystem()
    counts = {"slow": 0}

    def calc_slow(context, value):
        counts["slow"] += 1
        value.set_value(10.0 * context.get_numeric_parameter(0)[0])

    system.DeclareNumericParameter(BasicVector([1.0]))
    slow = system.DeclareCacheEntry(
        "slow", ValueProducer(lambda: Value(0.0), calc_slow), {system.pn_ticket()}
    )
    ports = [
        system.DeclareVectorOutputPort(
            name, 1, lambda c, out: out.SetFromVector([slow.Eval(c)]), *prerequisites
        )
        for name, prerequisites in (("declared", [{slow.ticket()}]), ("learnt", []))
    ]
    context = system.CreateDefaultContext()
    for expected in (1, 2):
        assert [port.Eval(context)[0] for port in ports] == [10.0 * expected] * 2
        assert counts["slow"] == expected
        context.get_mutable_numeric_parameter(0)[0] = expected + 1.0


def test_an_exception_leaves_the_value_out_of_date_and_names_block_and_time():
    system = LeafSystem()
    system.set_name("fragile")
    calls = []

    def calc(context, output):
        calls.append(1)
        if context.get_time() < 2.0:
            raise ZeroDivisionError("no")
        output[0] = 5.0

    y = system.DeclareVectorOutputPort("y", 1, calc)
    context = system.CreateDefaultContext()
    context.SetTime(1.5)
    for _ in range(2):
        with pytest.raises(ZeroDivisionError) as caught:
            y.Eval(context)
        assert caught.value.__notes__ == [
            "while computing output port 'y' of system '::fragile' at time 1.5 s"
        ]
    assert len(calls) == 2
    context.SetTime(2.0)
    assert y.Eval(context)[0] == 5.0


def test_chains_may_be_longer_than_the_recursion_limit_of_python():
    builder = DiagramBuilder()
    blocks = [builder.AddSystem(Scaled(factor=1.0)) for _ in range(1500)]
    for before, after in pairwise(blocks):
        builder.Cascade(before, after)
    builder.ExportInput(blocks[0].get_input_port(), "u")
    diagram = builder.Build()
    context = diagram.CreateDefaultContext()
    last = blocks[-1]
    for value in (1.0, 2.0):
        diagram.get_input_port().FixValue(context, value)
        assert last.get_output_port().Eval(last.GetMyContextFromRoot(context))[0] == value
