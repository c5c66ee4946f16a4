"""Dependencies are found by watching what a callback reads, and updated when it reads something else."""

import sys
import threading
from concurrent.futures import ThreadPoolExecutor

from framework_blocks import Accumulator, Scaled

from merganser.framework import DiagramBuilder, LeafSystem, Value


def test_an_output_that_reads_the_derivatives_depends_on_what_they_depend_on():
    class Accelerometer(Accumulator):
        def __init__(self):
            super().__init__()
            self.DeclareVectorOutputPort("rate", 1, self._calc_rate)

        def _calc_rate(self, context, output):
            output.SetFromVector(self.EvalTimeDerivatives(context).CopyToVector())

    system = Accelerometer()
    context = system.CreateDefaultContext()
    for value in (1.0, 2.0):
        system.get_input_port().FixValue(context, value)
        assert system.GetOutputPort("rate").Eval(context).tolist() == [value]
    assert system.GetDirectFeedthroughs() == [(0, 1)]


class Switch(LeafSystem):
    """y = u if the discrete state is positive, else time: which is read depends on the branch."""

    def __init__(self):
        super().__init__()
        self.count = 0
        self.DeclareVectorInputPort("u", 1)
        self.DeclareDiscreteState([0.0])
        self.DeclareVectorOutputPort("y", 1, self._calc)

    def _calc(self, context, output):
        self.count += 1
        if context.get_discrete_state(0)[0] > 0.0:
            output.SetFromVector(self.get_input_port().Eval(context))
        else:
            output[0] = context.get_time()


def test_a_read_in_another_branch_widens_what_was_learnt():
    switch = Switch()
    context = switch.CreateDefaultContext()
    y, u = switch.get_output_port(), switch.get_input_port()
    u.FixValue(context, 1.0)
    assert y.Eval(context)[0] == 0.0
    u.FixValue(context, 2.0)
    y.Eval(context)
    assert switch.count == 1  # u has never been read
    context.SetDiscreteState([1.0])
    assert y.Eval(context)[0] == 2.0
    u.FixValue(context, 3.0)
    assert y.Eval(context)[0] == 3.0
    assert switch.HasDirectFeedthrough(0, 0)


def test_what_one_context_has_learnt_holds_for_the_others_and_for_diagrams_around():
    switch, source = Switch(), Scaled()
    builder = DiagramBuilder()
    builder.AddNamedSystem("source", source)
    builder.AddNamedSystem("switch", switch)
    builder.Connect(source.get_output_port(), switch.get_input_port())
    builder.ExportInput(source.get_input_port(), "u")
    builder.ExportOutput(switch.get_output_port(), "y")
    diagram = builder.Build()
    first, second = diagram.CreateDefaultContext(), diagram.CreateDefaultContext()
    assert not diagram.HasDirectFeedthrough(0, 0)
    for context in (first, second):
        diagram.get_input_port().FixValue(context, 1.0)
        diagram.get_output_port().Eval(context)
        switch.GetMyContextFromRoot(context).SetDiscreteState([1.0])
        assert diagram.get_output_port().Eval(context).tolist() == [2.0]
        diagram.get_input_port().FixValue(context, 5.0)
        assert diagram.get_output_port().Eval(context).tolist() == [10.0]
    assert diagram.HasDirectFeedthrough(0, 0)


def test_asking_whether_an_input_has_a_value_is_a_read():
    for ask in (
        lambda s, c: s.get_input_port().HasValue(c),
        lambda s, c: s.EvalVectorInput(c, 0) is not None,
        lambda s, c: s.EvalAbstractInput(c, 0) is not None,
    ):
        system = LeafSystem()
        system.DeclareVectorInputPort("u", 1)
        y = system.DeclareAbstractOutputPort(
            "y", lambda: Value(False), lambda c, out, s=system, ask=ask: out.set_value(ask(s, c))
        )
        context = system.CreateDefaultContext()
        assert y.Eval(context) is False
        system.get_input_port().FixValue(context, 1.0)
        assert y.Eval(context) is True


def test_prerequisites_include_ports_declared_later():
    system = LeafSystem()
    y = system.DeclareVectorOutputPort(
        "y",
        1,
        lambda c, out: out.SetFromVector(system.GetInputPort("late").Eval(c)),
        {system.all_input_ports_ticket()},
    )
    system.CreateDefaultContext()
    late = system.DeclareVectorInputPort("late", 1)
    context = system.CreateDefaultContext()
    for value in (1.0, 2.0):
        late.FixValue(context, value)
        assert y.Eval(context).tolist() == [value]
    assert system.HasDirectFeedthrough(0, 0)


def test_threads_that_learn_at_the_same_time_miss_nothing():
    """All contexts share what is learnt; a value that is stale would be one of the step before."""

    class Sum(LeafSystem):
        def __init__(self, num_inputs):
            super().__init__()
            for n in range(num_inputs):
                self.DeclareVectorInputPort(f"u{n}", 1)
            self.DeclareVectorOutputPort("y", 1, self._calc)

        def _calc(self, context, output):
            total = context.get_time()
            for n in range(self.num_input_ports()):
                total += self.get_input_port(n).Eval(context)[0]
            output.SetFromVector([total])

    num_layers, num_threads = 6, 8
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        with ThreadPoolExecutor(num_threads) as threads:
            for _ in range(100):
                builder = DiagramBuilder()
                layer = [builder.AddSystem(Sum(0)), builder.AddSystem(Sum(0))]
                for _ in range(num_layers):
                    following = [builder.AddSystem(Sum(2)), builder.AddSystem(Sum(2))]
                    for system in following:
                        for n in range(2):
                            builder.Connect(layer[n].get_output_port(), system.get_input_port(n))
                    layer = following
                builder.ExportOutput(layer[0].get_output_port(), "y")
                diagram = builder.Build()
                contexts = [diagram.CreateDefaultContext() for _ in range(num_threads)]
                start = threading.Barrier(num_threads)

                def evaluate(context, diagram=diagram, start=start):
                    start.wait()
                    values = []
                    for time in (1.0, 2.0):
                        context.SetTime(time)
                        values.append(diagram.get_output_port().Eval(context)[0])
                    return values

                expected = sum(2.0**k for k in range(num_layers + 1))
                assert list(threads.map(evaluate, contexts)) == [[expected, 2.0 * expected]] * num_threads
    finally:
        sys.setswitchinterval(interval)
