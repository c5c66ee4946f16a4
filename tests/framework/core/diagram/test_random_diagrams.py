"""Random diagrams give what a plain recursive model gives, whatever is changed in between."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from merganser.framework import DiagramBuilder, LeafSystem

SIZE = 2


class Block(LeafSystem):
    """y = M u0 + N u1 + (1 + t) s, where s is its state, continuous or discrete; ds/dt = u0 - s."""

    def __init__(self, M, N, is_continuous):
        super().__init__()
        self.M, self.N, self.is_continuous = M, N, is_continuous
        for name in ("u0", "u1"):
            self.DeclareVectorInputPort(name, SIZE)
        if is_continuous:
            self.DeclareContinuousState(SIZE)
        else:
            self.DeclareDiscreteState(SIZE)
        self.DeclareVectorOutputPort("y", SIZE, self._calc)

    def state(self, context):
        return (
            context.get_continuous_state_vector() if self.is_continuous else context.get_discrete_state(0)
        ).value()

    def _calc(self, context, output):
        y = (1.0 + context.get_time()) * self.state(context)
        for index, matrix in enumerate((self.M, self.N)):
            if matrix.any():  # otherwise there is no feedthrough, and the input is not read
                y = y + matrix @ self.EvalVectorInput(context, index).value()
        output.SetFromVector(y)

    def DoCalcTimeDerivatives(self, context, derivatives):
        derivatives.SetFromVector(self.EvalVectorInput(context, 0).value() - self.state(context))


class Model:
    """The diagram without a framework: recursion over a list of wires."""

    def __init__(self, blocks, wires):
        self.blocks, self.wires = blocks, wires
        self.time = 0.0
        self.states = np.zeros((len(blocks), SIZE))
        self.external = np.zeros(SIZE)

    def input(self, i, port):
        source = self.wires[i, port]
        return self.external if source is None else self.output(source)

    def output(self, i):
        y = (1.0 + self.time) * self.states[i]
        for port, matrix in enumerate((self.blocks[i].M, self.blocks[i].N)):
            if matrix.any():
                y = y + matrix @ self.input(i, port)
        return y

    def derivatives(self):
        indices = [i for i, block in enumerate(self.blocks) if block.is_continuous]
        return {i: self.input(i, 0) - self.states[i] for i in indices}


def build(blocks, wires, draw):
    """The diagram, some neighbours of it grouped into nested diagrams; `y<i>` is exported for every block."""
    cut = draw(st.integers(0, len(blocks) - 1))
    builder, inside = DiagramBuilder(), DiagramBuilder()
    for i, block in enumerate(blocks):
        (inside if i < cut else builder).AddNamedSystem(f"b{i}", block)
    inner_inputs = {}
    for (i, port), source in wires.items():
        if i >= cut:
            continue
        if source is not None and source < cut:
            inside.Connect(blocks[source].get_output_port(), blocks[i].get_input_port(port))
        elif source in inner_inputs:
            inside.ConnectInput(inner_inputs[source], blocks[i].get_input_port(port))
        else:
            inner_inputs[source] = inside.ExportInput(blocks[i].get_input_port(port), f"from {source}")
    outputs = [block.get_output_port() for block in blocks]
    targets = []
    if cut:
        for i in range(cut):
            inside.ExportOutput(outputs[i], f"y{i}")
        inner = builder.AddNamedSystem("inner", inside.Build())
        outputs[:cut] = [inner.get_output_port(i) for i in range(cut)]
        targets = [(source, inner.get_input_port(index)) for source, index in inner_inputs.items()]
    targets += [(source, blocks[i].get_input_port(port)) for (i, port), source in wires.items() if i >= cut]
    for source, target in targets:
        if source is not None:
            builder.Connect(outputs[source], target)
        elif builder.num_input_ports():
            builder.ConnectInput("u", target)
        else:
            builder.ExportInput(target, "u")
    for i, output in enumerate(outputs):
        builder.ExportOutput(output, f"y{i}")
    return builder.Build()


@st.composite
def diagrams(draw):
    count = draw(st.integers(1, 6))
    random = np.random.default_rng(draw(st.integers(0, 2**32)))
    wires, blocks = {}, []
    for i in range(count):
        matrices = []
        for port in range(2):
            direct = draw(st.booleans())
            matrices.append(random.normal(size=(SIZE, SIZE)) if direct else np.zeros((SIZE, SIZE)))
            last = i if direct else count  # feedthrough only from earlier blocks, so that there is no loop
            wires[i, port] = draw(st.one_of(st.none(), st.integers(0, last - 1))) if last else None
        blocks.append(Block(*matrices, draw(st.booleans())))
    return build(blocks, wires, draw), Model(blocks, wires), random


@settings(max_examples=150, deadline=None, derandomize=True)
@given(diagrams(), st.lists(st.tuples(st.integers(0, 3), st.integers(0, 5)), max_size=12))
def test_values_are_those_of_a_plain_recursion(case, changes):
    diagram, model, random = case
    context = diagram.CreateDefaultContext()
    if diagram.num_input_ports():
        diagram.get_input_port().FixValue(context, model.external)
    for kind, which in [*changes, (0, 0)]:
        i = which % len(model.blocks)
        values = random.normal(size=SIZE)
        if kind == 0 and diagram.num_input_ports():
            model.external = values
            diagram.get_input_port().FixValue(context, values)
        elif kind == 1:
            model.time = abs(values[0])
            context.SetTime(model.time)
        elif kind == 2:
            model.states[i] = values
            block = model.blocks[i]
            mine = block.GetMyContextFromRoot(context)
            (mine.SetContinuousState if block.is_continuous else mine.SetDiscreteState)(values)
        else:
            context = context.Clone()
        number = which % diagram.num_output_ports()
        np.testing.assert_allclose(
            diagram.get_output_port(number).Eval(context), model.output(number), rtol=1e-12, atol=1e-12
        )
    for i in range(diagram.num_output_ports()):
        np.testing.assert_allclose(
            diagram.get_output_port(i).Eval(context), model.output(i), rtol=1e-12, atol=1e-12
        )
    diagram.EvalTimeDerivatives(context)
    for i, expected in model.derivatives().items():
        block = model.blocks[i]
        mine = block.EvalTimeDerivatives(block.GetMyContextFromRoot(context))
        np.testing.assert_allclose(mine.CopyToVector(), expected, rtol=1e-12, atol=1e-12)
